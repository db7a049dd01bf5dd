"""The table after each write, compared by its changes or by a scan, with the same result."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any

import msgspec
import pytest
from tests.proof.league import NOW, Corrupting, CorruptingWithChanges, Request, league_design, league_workload, proof

from prejoin.engine import Embedded
from prejoin.proof.prove import prove
from prejoin.proof.result import Proof

pytestmark = pytest.mark.slow


class Meddling(Corrupting):
    """Changes an unrelated event together with the first update."""

    fault = "PutItem"
    done = False

    def send(self, operation: str, body: bytes) -> bytes:
        if not self.done and b"UpdateExpression" in body:
            self.done = True
            self._meddle()
        return super().send(operation, body)

    def _meddle(self) -> None:
        items = self._call("Scan", {})["Items"]
        event = next(item for item in items if item["entityType"]["S"] == "Event")
        key = {"Key": {name: event[name] for name in ("pk", "sk")}}
        requests = {
            "PutItem": {"Item": {**event, "points": {"N": "-1"}}},
            "DeleteItem": key,
            "UpdateItem": {**key, "UpdateExpression": "SET planted = points"},
        }
        self._call(self.fault, requests[self.fault])

    def _call(self, operation: str, request: Request) -> Any:
        body = msgspec.json.encode({"TableName": "league", **request})
        return msgspec.json.decode(self._engine.send(operation, body))


class MeddlingWithChanges(Meddling, CorruptingWithChanges):
    """The same, with reports of the changes of the table."""


@pytest.mark.parametrize("fault", ["PutItem", "DeleteItem", "UpdateItem"])
@pytest.mark.parametrize("kind", [Meddling, MeddlingWithChanges])
def test_change_of_an_item_that_a_write_is_not_about_is_found(
    kind: type[Meddling], fault: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kind, "fault", fault)
    found = proof(kind=kind)
    assert {one.pattern for one in found.failed} == {"W1"}, "the writes that follow are not to blame"
    assert found.failed[0].wrong.startswith("Event EVENT#")


def test_both_ways_of_comparison_give_the_same_proof() -> None:
    assert _summary(proof(kind=Corrupting)) == _summary(proof(kind=CorruptingWithChanges))


def _summary(found: Proof) -> list[tuple[Any, ...]]:
    """The proof without parts that differ between runs, such as tokens of requests."""
    return [(p.pattern, p.given, p.cases, p.refused, p.right, p.units, p.items) for p in found.patterns]


def test_number_of_scans_does_not_grow_with_the_writes() -> None:
    seen: Counter[str] = Counter()

    class Counting(CorruptingWithChanges):
        def send(self, operation: str, body: bytes) -> bytes:
            seen[operation] += 1
            return super().send(operation, body)

    assert proof(kind=Counting).right
    assert seen["Scan"] == 3, "at the start, at the end, and by the audit"


def test_change_that_the_engine_does_not_tell_is_a_finding() -> None:
    class Silent(MeddlingWithChanges):
        def changes(self, table: str) -> Iterable[Request]:
            return _Hiding(super().changes(table))

    with Embedded() as engine:
        found = prove(league_workload(), league_design(), Silent(engine), now=NOW)
    assert [one for one in found.findings if "the engine's stream does not tell it" in one]


class _Hiding:
    """The changes without those of existing events."""

    def __init__(self, changes: Iterable[Request]) -> None:
        self._changes = changes

    def __iter__(self) -> Iterator[Request]:
        return (one for one in self._changes if one["eventName"] != "MODIFY" or "Event" not in str(one["dynamodb"]))
