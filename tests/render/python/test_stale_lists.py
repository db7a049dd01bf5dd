"""Lists that a write finds in an index: what the index does not show yet is written by calling the method again."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import pytest
from tests.solutions import solve

from prejoin import Client, ConditionFailed, Embedded, TransactionCancelled
from prejoin.proof.package import LoadedPackage, load_package
from prejoin.workload.files import read_text

DOCUMENT = """\
# Surgery

## Entities

### Appointment

- **Attributes**:
  - `appointmentId` (string, natural)
  - `status` (BOOKED | CANCELLED, mutable)

### Slot

- **Attributes**:
  - `roomId` (string, natural)
  - `hour` (integer, natural)
  - `appointmentId` (string, immutable, → Appointment)
- **Cardinality**: ~3 per Appointment

## Access Patterns

### Reads

| ID | Entity | Name | Input Parameters | Result | Frequency |
| --- | --- | --- | --- | --- | --- |
| AP-001 | Appointment | appointment | appointmentId | Single | 5/s |
| AP-002 | Slot | slot | roomId, hour | Single | 5/s |
| AP-003 | Slot | slots | appointmentId | Collection | 5/s |

### Writes

| ID | Entity | Name | Input Parameters | Items Written | Transaction | Conditions | Frequency |
| --- | --- | --- | --- | --- | --- | --- | --- |
| AP-010 | Appointment, Slot | book | Appointment, Slot[] | create Appointment; create Slot[] | Yes | - | 1/s |
| AP-011 | Appointment, Slot | cancel | appointmentId | update Appointment (status = CANCELLED); delete Slot[] | {atomic} | status = BOOKED | 1/s |
| AP-012 | Appointment, Slot | remove | appointmentId | delete Appointment; delete Slot[] | {atomic} | Appointment exists | 1/s |
"""


@dataclass
class Surgery:
    package: LoadedPackage
    engine: Embedded
    db: Client

    def book(self, appointment: str, *hours: int) -> None:
        new = self.package.record("Appointment", {"appointmentId": appointment, "status": "BOOKED"})
        slots = [
            self.package.record("Slot", {"roomId": "r", "hour": hour, "appointmentId": appointment}) for hour in hours
        ]
        self.call("AP-010", appointment=new, slots=slots)

    def call(self, pattern: str, **arguments: Any) -> Any:
        return self.package.call(self.db, self.package.methods[pattern], arguments)

    def hours(self, appointment: str) -> list[int]:
        return [slot.hour for slot in self.call("AP-003", appointment_id=appointment)]


@contextmanager
def surgery(atomic: str) -> Iterator[Surgery]:
    workload = read_text(DOCUMENT.format(atomic=atomic), "md").workload
    design = solve(workload).design
    package = load_package(workload, design)
    engine = Embedded()
    db = Client(package.schema, design.table, engine)
    db.create_table()
    yield Surgery(package, engine, db)


@pytest.mark.parametrize("atomic", ["Yes", "No"])
@pytest.mark.parametrize("pattern", ["AP-011", "AP-012"])
def test_what_an_index_did_not_show_is_deleted_by_calling_again(atomic: str, pattern: str) -> None:
    with surgery(atomic) as desk:
        desk.book("other", 9)
        with desk.engine.weather(desk.db.table, index_lag=math.inf) as weather:
            desk.book("a", 1, 2)
            desk.call(pattern, appointment_id="a")
            weather.catch_up()
        assert desk.hours("a") == [1, 2]
        desk.call(pattern, appointment_id="a", again=True)
        assert desk.hours("a") == []
        desk.book("b", 1, 2)  # the hours are free
        assert desk.hours("other") == [9]


@pytest.mark.parametrize("atomic", ["Yes", "No"])
@pytest.mark.parametrize("pattern", ["AP-011", "AP-012"])
def test_calling_again_is_refused_before_the_first_call(atomic: str, pattern: str) -> None:
    with surgery(atomic) as desk:
        desk.book("a", 1, 2)
        with pytest.raises((ConditionFailed, TransactionCancelled)):
            desk.call(pattern, appointment_id="a", again=True)
        assert desk.hours("a") == [1, 2]


@pytest.mark.parametrize("atomic", ["Yes", "No"])
def test_method_says_that_the_index_may_be_stale(atomic: str) -> None:
    with surgery(atomic) as desk:
        method = desk.package.methods["AP-011"]
        assert method.remarks == (
            "An index may lack Slot items that were written a moment ago: call it again with `again=True` a moment "
            "later for those",
        )


def test_new_item_is_checked_before_a_list_that_may_be_stale() -> None:
    """A call with `again=True` finds the item that the first call has created, and deletes what is left of the list."""
    row = "| AP-013 | Appointment, Slot | rebook | Appointment | create Appointment; delete Slot[] | No | - | 1/s |\n"
    workload = read_text(DOCUMENT.format(atomic="No") + row, "md").workload
    package = load_package(workload, solve(workload).design)
    method = package.methods["AP-013"]
    position = method.body.index("    with self.db.transaction(only_check=True) as tx:")
    assert method.body[position - 1] == "if not again:"
    assert method.body[position + 1] == "        tx.insert(appointment)"
    with Embedded() as engine:
        db = Client(package.schema, "surgery", engine)
        db.create_table()
        rebook = getattr(package.repository(db), method.name)
        appointment = package.record("Appointment", {"appointmentId": "a", "status": "BOOKED"})
        rebook(appointment)
        with pytest.raises(TransactionCancelled, match="exists already"):
            rebook(appointment)
        rebook(appointment, again=True)


def test_interrupted_call_is_repeated() -> None:
    """Without a transaction the appointment is deleted last: a second call finds the rest of its slots."""
    with surgery("No") as desk:
        desk.book("a", *range(60))
        sent: list[str] = []

        class InterruptedCallError(Exception):
            pass

        def interrupt(call: Any) -> None:
            sent.append(call.operation)
            if sent.count("BatchWriteItem") == 2:
                raise InterruptedCallError

        client = Client(desk.package.schema, desk.db.table, desk.engine, observe=interrupt)
        method = desk.package.methods["AP-012"]
        with pytest.raises(InterruptedCallError):
            desk.package.call(client, method, {"appointment_id": "a"})
        left = len(desk.hours("a"))
        assert 0 < left < 60
        assert desk.call("AP-001", appointment_id="a") is not None
        desk.call("AP-012", appointment_id="a")
        assert desk.hours("a") == []
        assert desk.call("AP-001", appointment_id="a") is None


def test_list_of_more_than_a_hundred_without_a_transaction() -> None:
    with surgery("No") as desk:
        desk.book("a", *range(90))
        for hour in range(90, 140):
            desk.db.insert(desk.package.record("Slot", {"roomId": "r", "hour": hour, "appointmentId": "a"}))
        desk.call("AP-012", appointment_id="a")
        assert desk.hours("a") == []
