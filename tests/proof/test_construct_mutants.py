"""The proof finds a construct that the generated package lacks or has wrong, and a condition with parts that is rendered wrongly."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest
from tests.proof.code_mutants import mutants_of, mutated
from tests.proof.league import NOW, league_design, league_workload
from tests.proof.schema_mutants import mutants_of_schema
from tests.solutions import solve

from prejoin import TableError
from prejoin.design.model import Design
from prejoin.engine import Embedded
from prejoin.proof import package as packages
from prejoin.proof.prove import prove
from prejoin.proof.result import Proof
from prejoin.render.python.package import RenderedPackage, render_package
from prejoin.workload.files import read_text
from prejoin.workload.model import Workload

pytestmark = pytest.mark.slow
DOCUMENT = Path(__file__).with_name("constructs.md").read_text("utf-8")
CONSTRUCTS = (
    *("Unique(", "Copy(", "ShardedCounter(", "History(", "Follows(", "Large(", "TimeToLive(", "Bounds(", "Version("),
    *("tenant=", "when=", ":shard(", ":day"),
)
"""Each construct, as the schemas of the two documents write it."""
SAME = {"Index(projection=…) without 'entityType'"}
"""The client projects the type of items in any case."""
WRITES = ("W1", "W2", "W3", "W4", "W5", "W6", "W7", "W8", "W10", "D1", "D2")


@cache
def documents() -> Mapping[str, tuple[Workload, Design]]:
    reading = read_text(DOCUMENT, "md")
    assert [one for one in reading.diagnostics if one.severity == "error"] == []
    constructs = reading.workload
    return {"constructs": (constructs, solve(constructs).design), "league": (league_workload(), league_design())}


@cache
def rendered(name: str) -> RenderedPackage:
    return render_package(*documents()[name])


def proof_with(monkeypatch: pytest.MonkeyPatch, name: str, **modules: str) -> Proof:
    """The proof of a package with other modules than those that are rendered."""
    workload, design = documents()[name]
    package = replace(rendered(name), modules={**rendered(name).modules, **modules})
    monkeypatch.setattr(packages, "render_package", lambda *_: package)
    with Embedded() as engine:
        return prove(workload, design, engine, now=NOW)


def is_noticed(monkeypatch: pytest.MonkeyPatch, name: str, **modules: str) -> bool:
    try:
        return not proof_with(monkeypatch, name, **modules).right
    except (TableError, TypeError):
        return True  # no schema or method can be made of it


def test_both_documents_have_every_construct() -> None:
    schemas = "".join(rendered(name).modules["schema"] for name in documents())
    assert [text for text in CONSTRUCTS if text not in schemas] == []


@pytest.mark.parametrize("name", ["constructs", "league"])
def test_the_packages_without_a_mistake_are_proven(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    proof = proof_with(monkeypatch, name)
    assert [(one.pattern, one.wrong, one.problem) for one in proof.failed] == []
    assert proof.findings == ()


@pytest.mark.parametrize("name", ["constructs", "league"])
def test_every_mistake_in_a_schema_is_found(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    mutants = mutants_of_schema(rendered(name).modules["schema"])
    assert len(mutants) > 30
    unnoticed = [one.text for one in mutants if not is_noticed(monkeypatch, name, schema=one.source)]
    assert set(unnoticed) <= SAME


@pytest.mark.parametrize("pattern", WRITES)
def test_every_mistake_in_a_method_is_found(monkeypatch: pytest.MonkeyPatch, pattern: str) -> None:
    package = rendered("constructs")
    method = package.methods[pattern].name
    unnoticed = []
    for mutant in mutants_of(package.modules["repository"], method):
        modules = {name: mutated(package.modules[name], method, mutant) for name in ("repository", "async_repository")}
        if not is_noticed(monkeypatch, "constructs", **modules):
            unnoticed.append(mutant.text)
    assert unnoticed == []
