"""A small workload with every construct, for tests of the proof."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

import msgspec

from prejoin.design.files import read_design
from prejoin.design.mapping.map_patterns import map_patterns
from prejoin.design.model import Design
from prejoin.engine import Embedded
from prejoin.proof.prove import prove
from prejoin.proof.result import Proof
from prejoin.workload.files import read_file
from prejoin.workload.model import Workload

NOW = datetime(2026, 11, 15, 12, tzinfo=UTC)
FOLDER = Path(__file__).parent


@cache
def league_workload() -> Workload:
    return read_file(FOLDER / "league.md").workload


@cache
def league_design(**changed: str) -> Design:
    """The design; with replacements of texts in its file, a broken one."""
    text = (FOLDER / "league.yaml").read_text(encoding="utf-8")
    for old, new in changed.items():
        assert old in text
        text = text.replace(old, new)
    found, problems = read_design(text, league_workload())
    assert found is not None, problems
    return map_patterns(found, league_workload())


Request = dict[str, Any]
ChangeRequest = Callable[[str, Request], Request | None]
ChangeResponse = Callable[[str, Request, Request], Request]


class Corrupting:
    """The embedded engine with changed requests or responses, which does not report changes of the table."""

    lossless = True

    def __init__(self, engine: Embedded, ask: ChangeRequest | None = None, tell: ChangeResponse | None = None) -> None:
        self._engine = engine
        self._ask = ask
        self._tell = tell

    def send(self, operation: str, body: bytes) -> bytes:
        request = msgspec.json.decode(body)
        if self._ask is not None:
            changed = self._ask(operation, request)
            request = request if changed is None else changed
        answer = self._engine.send(operation, msgspec.json.encode(request))
        if self._tell is None:
            return answer
        return msgspec.json.encode(self._tell(operation, request, msgspec.json.decode(answer)))


class CorruptingWithChanges(Corrupting):
    """The same, with reports of the changes of the table."""

    def changes(self, table: str) -> Iterable[Request]:
        return self._engine.changes(table)


def proof(
    design: Design | None = None,
    ask: ChangeRequest | None = None,
    tell: ChangeResponse | None = None,
    seed: int = 1,
    kind: type[Corrupting] = CorruptingWithChanges,
) -> Proof:
    with Embedded() as engine:
        return prove(league_workload(), design or league_design(), kind(engine, ask, tell), now=NOW, seed=seed)
