"""Single items beside a list: if one of them is refused, nothing is written, with and without a transaction."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from tests.exam.documents import TENANCIES, DocumentText, EntityText, Item, Read, Row, Tenancy, for_tenants
from tests.exam.harness import Case, Exam, Plan

Table = dict[tuple[str, str], Item]
"""The items of a tenant by entity and id."""

ENTITIES = (
    EntityText("Shelf", ("`shelfId` (string, natural)", "`status` (OPEN | CLOSED, mutable)")),
    EntityText(
        "Box",
        (
            "`boxId` (string, natural)",
            "`shelfId` (string, mutable, → Shelf)",
            "`status` (OPEN | CLOSED, mutable)",
            "`left` (integer, mutable, min 0, max 9)",
            "`code` (string, mutable, unique)",
        ),
    ),
    EntityText(
        "Thing",
        ("`thingId` (string, natural)", "`boxId` (string, immutable, → Box)", "`state` (NEW | DONE, mutable)"),
        "~5 per Box",
    ),
    EntityText(
        "Log",
        (
            "`logId` (string, natural)",
            "`boxId` (string, immutable, → Box)",
            "`status` (SEEN | UNSEEN, mutable)",
            "`slug` (string, mutable, unique)",
        ),
        "~5 per Box",
    ),
    EntityText(
        "Tally", ("`boxId` (string, id, → Box)", "`count` (integer, mutable, min 0, max 9)"), "at most 1 per Box"
    ),
)
READS = (
    Read("Shelf", "shelfId"),
    Read("Box", "boxId"),
    Read("Box", "code"),
    Read("Thing", "thingId"),
    Read("Thing", "boxId", "Collection"),
    Read("Log", "logId"),
    Read("Log", "slug"),
    Read("Tally", "boxId"),
)
SHELF, BOX, TALLY = ("Shelf", "s1"), ("Box", "b1"), ("Tally", "b1")
LOG: Item = {"logId": "new", "boxId": "b1", "status": "SEEN", "slug": "new"}
STORED: Table = {
    SHELF: {"shelfId": "s1", "status": "OPEN"},
    BOX: {"boxId": "b1", "shelfId": "s1", "status": "OPEN", "left": 5, "code": "c1"},
    ("Box", "b2"): {"boxId": "b2", "shelfId": "s1", "status": "OPEN", "left": 0, "code": "c2"},
    **{("Thing", f"t{n}"): {"thingId": f"t{n}", "boxId": "b1", "state": "NEW"} for n in (1, 2, 3)},
    ("Thing", "other"): {"thingId": "other", "boxId": "b2", "state": "NEW"},
    ("Log", "other"): {"logId": "other", "boxId": "b2", "status": "UNSEEN", "slug": "taken"},
    TALLY: {"boxId": "b1", "count": 5},
    ("Tally", "b2"): {"boxId": "b2", "count": 9},
}

Change = Callable[[Table], Table]


def _set(key: tuple[str, str], **values: Any) -> Change:
    """The item with other values; created if it is not there."""
    return lambda table: {**table, key: {**table.get(key, {}), **values}}


def _add(key: tuple[str, str], name: str, amount: int) -> Change:
    return lambda table: {**table, key: {**table[key], name: table[key][name] + amount}}


def _gone(key: tuple[str, str]) -> Change:
    return lambda table: {other: item for other, item in table.items() if other != key}


def _all(*changes: Change) -> Change:
    def apply(table: Table) -> Table:
        for change in changes:
            table = change(table)
        return table

    return apply


@dataclass(frozen=True, slots=True)
class Form:
    """Single items, what becomes of them, and the states of the table in which they are refused."""

    items: str
    inputs: str
    change: Change
    refused: Mapping[str, Change] = field(default_factory=dict)
    accepted: Mapping[str, Change] = field(default_factory=dict)
    conditions: str = "-"
    arguments: Mapping[str, Any] = field(default_factory=dict)


_NO_BOX = {"no box": _gone(BOX)}
_CLOSED = {"box closed": _set(BOX, status="CLOSED")}
_EMPTY = {"box empty": _set(BOX, left=0)}
_NEW_LOG = _all(_gone(("Log", "new")), _set(("Log", "new"), **LOG))
_LOG_EXISTS = {"log exists": _set(("Log", "new"), **{**LOG, "status": "UNSEEN", "slug": "older"})}
_SLUG_TAKEN = {"slug taken": _set(("Log", "third"), **{**LOG, "logId": "third", "boxId": "b2"})}
_TAKE = _add(BOX, "left", -1)

FORMS = (
    Form("delete Box", "boxId", _gone(BOX), {}, _NO_BOX),
    Form("delete Box", "boxId", _gone(BOX), _NO_BOX, {}, "Box exists"),
    Form("delete Box", "boxId", _gone(BOX), {**_CLOSED, **_NO_BOX}, {}, "Box.status = OPEN"),
    Form("delete Box", "boxId", _gone(BOX), _CLOSED, _NO_BOX, "Box.status <> CLOSED"),
    Form("delete Box", "boxId, shelfId", _gone(BOX), {"moved": _set(BOX, shelfId="s2")}, arguments={"shelfId": "s1"}),
    Form(
        "delete Box",
        "boxId, shelfId",
        _gone(BOX),
        {"shelf closed": _set(SHELF, status="CLOSED")},
        {},
        "Shelf.status = OPEN",
        {"shelfId": "s1"},
    ),
    Form("update Box (left -= 1)", "boxId", _TAKE, {**_EMPTY, **_NO_BOX}, {"last": _set(BOX, left=1)}),
    Form("update Box (left -= n)", "boxId, n", _add(BOX, "left", -3), {"few": _set(BOX, left=2)}, arguments={"n": 3}),
    Form("update Box (left += 4)", "boxId", _add(BOX, "left", 4), {"full": _set(BOX, left=6), **_NO_BOX}),
    Form("update Box (status = CLOSED)", "boxId", _set(BOX, status="CLOSED"), _NO_BOX),
    Form(
        "update Box (code)",
        "boxId, code",
        _set(BOX, code="c3"),
        {"code taken": _set(("Box", "b2"), code="c3"), **_NO_BOX},
        arguments={"code": "c3"},
    ),
    Form("create Log", "boxId, Log", _NEW_LOG, {**_LOG_EXISTS, **_SLUG_TAKEN}, _NO_BOX),
    Form("create Log", "boxId, Log", _NEW_LOG, {**_LOG_EXISTS, **_SLUG_TAKEN, **_NO_BOX}, {}, "Box exists"),
    Form("put Log", "boxId, Log", _NEW_LOG, _SLUG_TAKEN, _LOG_EXISTS),
    Form(
        "put Log",
        "boxId, Log",
        _NEW_LOG,
        {"seen": _set(("Log", "new"), **{**LOG, "slug": "older"}), **_SLUG_TAKEN},
        _LOG_EXISTS,
        "Log.status <> SEEN",
    ),
    Form(
        "upsert Tally (count += 4)",
        "boxId",
        lambda table: _set(TALLY, boxId="b1", count=table.get(TALLY, {"count": 0})["count"] + 4)(table),
        {"full": _set(TALLY, count=6)},
        {"no tally": _gone(TALLY)},
    ),
    Form(
        "create Log; update Box (left -= 1)",
        "boxId, Log",
        _all(_NEW_LOG, _TAKE),
        {**_LOG_EXISTS, **_SLUG_TAKEN, **_EMPTY, **_NO_BOX},
    ),
    Form(
        "update Box (left -= 1); create Log",
        "boxId, Log",
        _all(_NEW_LOG, _TAKE),
        {**_LOG_EXISTS, **_SLUG_TAKEN, **_EMPTY, **_NO_BOX},
    ),
    Form(
        "delete Box; create Log",
        "boxId, Log",
        _all(_gone(BOX), _NEW_LOG),
        {**_LOG_EXISTS, **_CLOSED, **_NO_BOX},
        {},
        "Box.status = OPEN",
    ),
)
LISTS: Mapping[str, Callable[[Item], Item | None]] = {
    "delete Thing[]": lambda thing: None,
    "update Thing[] (state = DONE)": lambda thing: {**thing, "state": "DONE"},
}


def _written(table: Table, change: Callable[[Item], Item | None]) -> Table:
    """The table after the things of the box were changed."""
    after: Table = {}
    for key, item in table.items():
        changed = change(item) if key[0] == "Thing" and item["boxId"] == "b1" else item
        if changed is not None:
            after[key] = changed
    return after


def beside_lists(tenancy: Tenancy, transaction: str) -> Exam:
    """Each form with each list, in the states in which it is accepted, and in those in which it is refused."""
    rows: list[Row] = []
    cases: list[Case] = []
    for items, change in LISTS.items():
        for form in FORMS:
            names = [part.split()[1].removesuffix("[]") for part in f"{form.items}; {items}".split("; ")]
            entities = ", ".join(dict.fromkeys(names))
            name = f"row {len(rows)}"
            row = Row(name, entities, form.inputs, f"{form.items}; {items}", form.conditions, transaction)
            rows.append(row)
            arguments = {"boxId": "b1", "Log": for_tenants(tenancy, [("Log", LOG)], ())[0][1], **form.arguments}
            for label, prepare in {"usual": lambda table: table, **form.accepted}.items():
                before = prepare(STORED)
                cases.append(_case(tenancy, row, label, before, arguments, form.change(_written(before, change))))
            for label, prepare in form.refused.items():
                cases.append(_case(tenancy, row, label, prepare(STORED), arguments, None))
    return Exam(f"beside lists, {transaction}", DocumentText(tenancy, ENTITIES, READS, rows), cases)


def _case(
    tenancy: Tenancy, row: Row, label: str, before: Table, arguments: Mapping[str, Any], after: Table | None
) -> Case:
    other = _entries(STORED)
    expected = None if after is None else for_tenants(tenancy, _entries(after), other)
    return Case(row, label, for_tenants(tenancy, _entries(before), other), arguments, expected)


def _entries(table: Table) -> list[tuple[str, Item]]:
    return [(entity, item) for (entity, _), item in table.items()]


def plans(tenancies: Sequence[Tenancy] = TENANCIES) -> list[Plan]:
    return [
        Plan(f"beside lists, {transaction}", tenancy, partial(beside_lists, tenancy, transaction))
        for tenancy in tenancies
        for transaction in ("Yes", "No")
    ]
