"""Inputs with the name of an attribute that a condition compares with them: the condition says whether both are equal."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import product
from typing import Any

from tests.exam.documents import TENANCIES, DocumentText, EntityText, Item, Read, Row, Tenancy, for_tenants
from tests.exam.harness import Case, Exam, Plan

EVENT = EntityText("Event", ("`eventId` (string, natural)", "`sold` (integer, mutable)"))
SEAT = EntityText(
    "Seat",
    (
        "`eventId` (string, id, → Event)",
        "`number` (integer, natural)",
        "`status` (FREE | HELD | SOLD, mutable)",
        "`holderId` (string, optional, mutable)",
        "`price` (integer, optional, mutable)",
    ),
    "~50 per Event",
)
READS = (
    Read("Event", "eventId"),
    Read("Seat", "eventId, number"),
    Read("Seat", "eventId", "Collection"),
    Read("Seat", "holderId", "Collection"),
)
GIVEN = {"holderId": "ann", "price": 5}


@dataclass(frozen=True, slots=True)
class OwnInput:
    """A condition with an input of an attribute's name, and whether the attributes of a seat fulfil it."""

    text: str
    input: str
    holds: Callable[[Item], bool]


def _is_cheaper(seat: Item) -> bool:
    return "price" in seat and seat["price"] < 5


CONDITIONS = (
    OwnInput("Seat.holderId = holderId", "holderId", lambda seat: seat.get("holderId") == "ann"),
    OwnInput("Seat.holderId <> holderId", "holderId", lambda seat: seat.get("holderId") != "ann"),
    OwnInput("not (Seat.holderId = holderId)", "holderId", lambda seat: seat.get("holderId") != "ann"),
    OwnInput(
        "status = FREE or Seat.holderId = holderId",
        "holderId",
        lambda seat: seat.get("status") == "FREE" or seat.get("holderId") == "ann",
    ),
    OwnInput(
        "status = HELD and Seat.holderId = holderId or status = FREE",
        "holderId",
        lambda seat: seat.get("status") == "FREE" or (seat.get("status") == "HELD" and seat.get("holderId") == "ann"),
    ),
    OwnInput("Seat.price < price", "price", _is_cheaper),
    OwnInput(
        "status = FREE or Seat.price < price", "price", lambda seat: seat.get("status") == "FREE" or _is_cheaper(seat)
    ),
)
STEPS = (
    ("update", "update Seat (status = SOLD)", "No"),
    ("update both", "update Seat (status = SOLD); update Event (sold += 1)", "Yes"),
    ("delete", "delete Seat", "No"),
)


def plans(tenancies: Sequence[Tenancy] = TENANCIES) -> list[Plan]:
    return [Plan("own inputs", tenancy, partial(exam, tenancy)) for tenancy in tenancies]


def exam(tenancy: Tenancy) -> Exam:
    """Each condition with each step, on seats with each status, holder and price, and on none."""
    rows: list[Row] = []
    cases: list[Case] = []
    for (step, items, transaction), condition in product(STEPS, CONDITIONS):
        inputs = f"eventId, number, {condition.input}"
        row = Row(f"{step} {len(rows)}", "Seat, Event", inputs, items, condition.text, transaction)
        rows.append(row)
        cases += [_case(tenancy, row, step, condition, seat) for seat in _seats()]
    return Exam("own inputs", DocumentText(tenancy, (EVENT, SEAT), READS, rows), cases)


def _seats() -> list[Item | None]:
    seats: list[Item | None] = [None]
    for status, holder, price in product(("FREE", "HELD"), (None, "ann", "bob"), (None, 4, 5)):
        optional = {"holderId": holder, "price": price}
        present = {name: value for name, value in optional.items() if value is not None}
        seats.append({"eventId": "e1", "number": 1, "status": status, **present})
    return seats


def _case(tenancy: Tenancy, row: Row, step: str, condition: OwnInput, seat: Item | None) -> Case:
    event = {"eventId": "e1", "sold": 3}
    bystander = {"eventId": "e2", "number": 1, "status": "HELD", "holderId": "bob"}
    before = [("Event", event), ("Seat", bystander), *([("Seat", seat)] if seat else [])]
    # An update needs the item; a delete is done if the condition is true of none.
    is_accepted = condition.holds(seat or {}) and (seat is not None or step == "delete")
    after: list[tuple[str, Item]] = [("Seat", bystander)]
    after.append(("Event", {**event, "sold": 4} if step == "update both" else event))
    if seat is not None and step != "delete":
        after.append(("Seat", {**seat, "status": "SOLD"}))
    arguments: dict[str, Any] = {"eventId": "e1", "number": 1, condition.input: GIVEN[condition.input]}
    expected = for_tenants(tenancy, after, before) if is_accepted else None
    return Case(row, str(seat), for_tenants(tenancy, before, before), arguments, expected)
