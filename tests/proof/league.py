"""A small workload with one of each: what a proof of it does not see, it would see nowhere."""

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
    """The design; with texts of its file replaced by others, one that is broken."""
    text = (FOLDER / "league.yaml").read_text(encoding="utf-8")
    for old, new in changed.items():
        assert old in text
        text = text.replace(old, new)
    found, problems = read_design(text, league_workload())
    assert found is not None, problems
    return map_patterns(found, league_workload())


Request = dict[str, Any]
Lie = Callable[[str, Request], Request | None]
Tale = Callable[[str, Request, Request], Request]


class Lying:
    """The embedded engine behind somebody who changes what is asked, or what is answered; its changes are not told."""

    lossless = True

    def __init__(self, engine: Embedded, ask: Lie | None = None, tell: Tale | None = None) -> None:
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


class LyingAndTelling(Lying):
    """The same, and it tells what has changed in the table."""

    def changes(self, table: str) -> Iterable[Request]:
        return self._engine.changes(table)


def proof(
    design: Design | None = None,
    ask: Lie | None = None,
    tell: Tale | None = None,
    seed: int = 1,
    kind: type[Lying] = LyingAndTelling,
) -> Proof:
    with Embedded() as engine:
        return prove(league_workload(), design or league_design(), kind(engine, ask, tell), now=NOW, seed=seed)
