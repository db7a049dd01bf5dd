"""The proof finds a mistake in the documented effects of a write: on the item itself, its copies, and those of each construct."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from msgspec.structs import replace
from tests.solutions import solve

import prejoin.proof.prove as prover
from prejoin.design.model import Design, Did, ItemAction, ItemName, Operation
from prejoin.engine import Embedded
from prejoin.proof.package import load_package
from prejoin.proof.prove import prove
from prejoin.workload.files import read_file
from prejoin.workload.model import Workload

pytestmark = pytest.mark.slow
ROOT = Path(__file__).parents[2]
DOCUMENTS = {
    "constructs": ROOT / "tests/proof/constructs.md",
    "league": ROOT / "tests/proof/league.md",
    "market": ROOT / "tests/proof/market.md",
    "notes": ROOT / "tests/constructs/notes.md",
    "files": ROOT / "examples/files/access-patterns.md",
}
SAME = {("D4", "Delete File!path")}
"""A list that replaces another: the guard that goes is documented with the old item and with the new one."""
_OTHER_EFFECTS = {Did.PUT: Did.DELETE, Did.DELETE: Did.PUT, Did.UPDATE: Did.DELETE, Did.CHECK: Did.UPDATE}

MISTAKES: dict[str, Callable[[ItemAction], ItemAction | None]] = {
    "left out": lambda action: None,
    "under another key": lambda action: replace(action, pk=f"X{action.pk}"),
    "with another effect": lambda action: replace(action, action=_OTHER_EFFECTS[action.action]),
}


def designed(document: str) -> tuple[Workload, Design]:
    workload = read_file(DOCUMENTS[document]).workload
    return workload, solve(workload).design


def with_mistake(
    operation: Operation, position: int, mistake: Callable[[ItemAction], ItemAction | None]
) -> tuple[Operation, ItemAction | None]:
    """The operation with a mistake in one action, and that action; None if it has none that can be changed so."""
    requests = []
    changed: ItemAction | None = None
    number = 0
    for request in operation.requests:
        actions: list[ItemAction] = []
        for action in request.actions:
            mistaken = mistake(action) if number == position else action
            if mistaken is None and len(request.actions) == 1:
                mistaken = action  # a request has an action
            if mistaken is not action:
                changed = action
            if mistaken is not None:
                actions.append(mistaken)
            number += 1
        requests.append(replace(request, actions=tuple(actions)))
    return replace(operation, requests=tuple(requests)), changed


def unnoticed(monkeypatch: pytest.MonkeyPatch, document: str, mistake: str) -> Iterator[tuple[str, str]]:
    """The mistakes that are not found, by their patterns: one action of each operation at a time."""
    workload, design = designed(document)
    monkeypatch.setattr(prover, "load_package", lambda *_: load_package(workload, design))
    most = max(sum(len(request.actions) for request in one.requests) for one in design.operations)
    for position in range(most):
        operations = [with_mistake(one, position, MISTAKES[mistake]) for one in design.operations]
        with Embedded() as engine:
            proof = prove(workload, replace(design, operations=tuple(one for one, _ in operations)), engine)
        wrong = {one.pattern for one in proof.failed}
        for operation, changed in operations:
            if changed is not None and operation.pattern not in wrong:
                yield operation.pattern, f"{changed.action} {changed.item}"


def test_the_documents_have_every_kind_of_item() -> None:
    kinds = set()
    for document in DOCUMENTS:
        for operation in designed(document)[1].operations:
            for request in operation.requests:
                kinds |= {(action.action, kind_of(action.item)) for action in request.actions}
    assert kinds >= {(effect, kind) for effect in (Did.PUT, Did.DELETE) for kind in ("copy", "guard", "history")}
    assert kinds >= {(Did.UPDATE, "counter"), (Did.UPDATE, "own"), (Did.CHECK, "own")}


def kind_of(item: ItemName) -> str:
    if item.construct:
        return item.construct
    kinds = {"copy": item.copy, "guard": item.guard, "counter": item.counter}
    return next((kind for kind, value in kinds.items() if value), "own")


@pytest.mark.parametrize("mistake", MISTAKES)
@pytest.mark.parametrize("document", DOCUMENTS)
def test_every_mistake_in_an_effect_is_found(monkeypatch: pytest.MonkeyPatch, document: str, mistake: str) -> None:
    assert set(unnoticed(monkeypatch, document, mistake)) <= SAME
