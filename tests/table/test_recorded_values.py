"""Attributes of drafts and conditions have no values: using one raises, and nothing is written."""

from __future__ import annotations

import asyncio
import copy
import json
import math
import pickle
from collections.abc import Callable
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime, timedelta
from itertools import product
from typing import Any

import msgspec
import pytest
from tests.place import fresh

from prejoin import (
    AsyncClient,
    Client,
    Entity,
    Key,
    NotAValue,
    Schema,
    TableError,
    add,
    appended,
    begins_with,
    between,
    contains,
    if_absent,
    one_of,
    prepended,
    size,
)


@dataclass
class Ticket:
    ticket_id: str
    subject: str = "Printer"
    n: int = 7
    price: float = 1.5
    open: bool = True
    at: datetime = datetime(2026, 5, 4, tzinfo=UTC)
    lines: list[str] = field(default_factory=lambda: ["a"])
    tags: set[str] = field(default_factory=set)
    extra: Any = None
    note: str | None = None
    data: bytes = b""
    parts: dict[str, Any] = field(default_factory=dict)


SCHEMA = Schema(Entity(Ticket, Key("TICKET#{ticket_id}", "TICKET")))


@pytest.fixture
def db() -> Client:
    client = Client(SCHEMA, "desk", fresh())
    client.create_table()
    client.insert(Ticket("1"))
    client.insert(Ticket("2", "Other", 100, lines=["z"]))
    return client


def first(value: Any) -> Any:
    """The first of several values."""
    one, *_ = value
    return one


AS_VALUES: dict[str, Callable[[Any], Any]] = {
    "f-string": lambda t: f"[URGENT] {t.subject}",
    "f-string with a width": lambda t: f"{t.subject:>20}",
    "f-string with repr": lambda t: f"[URGENT] {t.subject!r}",
    "f-string with =": lambda t: f"{t.subject=}",
    "repr of a list": lambda t: f"{[t.subject, 1]}",
    "percent": lambda t: "[URGENT] %s" % t.subject,  # noqa: UP031
    "percent repr": lambda t: "[URGENT] %r" % (t.subject,),  # noqa: UP031
    "format": lambda t: "[URGENT] {}".format(t.subject),  # noqa: UP032
    "str": lambda t: str(t.subject),
    "plus": lambda t: t.subject + "!",
    "plus, the other way round": lambda t: "!" + t.subject,
    "times": lambda t: t.subject * 2,
    "modulo": lambda t: t.subject % 3,
    "join": lambda t: ", ".join([t.subject, t.subject]),
    "method": lambda t: t.subject.upper(),
    "method with arguments": lambda t: t.subject.replace("P", "p"),
    "json": lambda t: json.dumps({"subject": t.subject}),
    "msgspec": lambda t: msgspec.json.encode({"subject": t.subject}).decode(),
    "a sum in f-string": lambda t: f"{t.n + 1}",
    "a sum with repr": lambda t: f"{t.n + 1!r}",
    "a sum in msgspec": lambda t: msgspec.json.encode(t.n + 1).decode(),
    "a comparison in msgspec": lambda t: msgspec.json.encode(t.n == 1).decode(),
    "a comparison in f-string": lambda t: f"{t.n > 1}",
    "a size in f-string": lambda t: f"{size(t.lines)}",
    "the draft in f-string": lambda t: f"{t}",
    "the draft with repr": lambda t: f"{t!r}",
    "another attribute": lambda t: t.n,
    "a comparison": lambda t: t.n == 1,
    "a size": lambda t: size(t.lines),
    "the draft": lambda t: t,
    "slice": lambda t: t.subject[1:3],
    "last": lambda t: t.lines[-1],
    "copy": lambda t: copy.copy(t.subject),
    "deepcopy": lambda t: copy.deepcopy(t.lines),
    "copy of the draft": lambda t: copy.copy(t).subject,
    "pickle": lambda t: pickle.dumps(t.subject),
    "asdict": lambda t: asdict(t),
    "replace": lambda t: replace(t, subject="x").subject,
    "vars": lambda t: vars(t)["subject"],
    "int": lambda t: int(t.n),
    "float": lambda t: float(t.price),
    "index": lambda t: ["a", "b"][t.n],
    "round": lambda t: round(t.price),
    "floor": lambda t: math.floor(t.price),
    "abs": lambda t: abs(t.n),
    "minus": lambda t: -t.n,
    "subtracted from": lambda t: 5 - t.n,
    "divided": lambda t: t.n / 2,
    "divmod": lambda t: divmod(t.n, 2),
    "power": lambda t: t.n**2,
    "bytes": lambda t: bytes(t.data),
    "later": lambda t: t.at + timedelta(days=1),
    "isoformat": lambda t: t.at.isoformat(),
    "sum": lambda t: sum([t.n, t.n]),
    "sum plus": lambda t: t.n + 1 + 2,
    "max": lambda t: max(t.n, 3),
    "sorted": lambda t: sorted([t.n, t.price]),
    "sorted lines": lambda t: sorted(t.lines),
    "len": lambda t: len(t.lines),
    "list": lambda t: list(t.lines),
    "unpacked": lambda t: first(t.lines),
    "loop": lambda t: [line for line in t.lines],  # noqa: C416
    "reversed": lambda t: list(reversed(t.lines)),
    "any": lambda t: any(t.lines),
    "append": lambda t: t.lines.append("b"),
    "set": lambda t: {t.subject},
    "dict": lambda t: {t.subject: 1},
    "lookup": lambda t: {"Printer": "P"}.get(t.subject),
    "if equal": lambda t: "yes" if t.subject == "Printer" else "no",
    "if": lambda t: "yes" if t.open else "no",
    "if a sum": lambda t: "yes" if t.n - 7 else "no",
    "if a sum is": lambda t: "yes" if t.n + 1 == 8 else "no",
    "if a size": lambda t: "yes" if size(t.lines) else "no",
    "or": lambda t: t.subject or "none",
    "not": lambda t: not t.open,
    "in the attribute": lambda t: "x" in t.tags,
    "in values": lambda t: t.subject in ("Printer", "Other"),
    "chained": lambda t: 1 < t.n < 5,
    "sets joined": lambda t: {"y"} | t.tags,
    "sets cut": lambda t: t.tags & {"x"},
    "in a list": lambda t: [t.subject],
    "in a map": lambda t: {"was": t.subject},
    "a sum in a list": lambda t: [t.n + 1],
    "an object made of it": lambda t: Ticket(t.subject),
}


@pytest.mark.parametrize("how", AS_VALUES)
def test_attribute_of_draft_never_becomes_data(db: Client, how: str) -> None:
    before = db.get(Ticket, ticket_id="1")
    for to, read in product(("subject", "extra"), (False, True)):
        with pytest.raises((TableError, TypeError)), db.update(Ticket, ticket_id="1", read=read) as ticket:
            setattr(ticket, to, AS_VALUES[how](ticket))
        assert db.get(Ticket, ticket_id="1") == before


@pytest.mark.parametrize("how", [name for name in AS_VALUES if name not in {"another attribute", "a size"}])
def test_attribute_in_condition_never_becomes_value(db: Client, how: str) -> None:
    with pytest.raises((TableError, TypeError, ValueError, KeyError)):
        db.query(Ticket, ticket_id="1", filter=lambda t: t.extra == AS_VALUES[how](t))


@pytest.mark.parametrize(
    "change",
    [
        lambda t: setattr(t, "lines", appended(t.lines, [f"{t.subject!r}"])),
        lambda t: setattr(t, "lines", prepended(t.lines, [repr(t.subject)])),
        lambda t: setattr(t, "lines", t.lines + [str([t.subject])]),  # noqa: RUF005
        lambda t: setattr(t, "tags", t.tags | {repr(t.subject)}),
        lambda t: setattr(t, "note", if_absent(t.note, repr(t.subject))),
    ],
)
def test_repr_is_refused_in_computed_values(db: Client, change: Callable[[Any], None]) -> None:
    before = db.get(Ticket, ticket_id="1")
    with pytest.raises(NotAValue, match=r"contains the repr\(\)"), db.update(Ticket, ticket_id="1") as ticket:
        change(ticket)
    assert db.get(Ticket, ticket_id="1") == before


@pytest.mark.parametrize(
    "value",
    [
        lambda t: "yes" if t.n > 1 else "no",
        lambda t: "yes" if t.subject == "Printer" else "no",
        lambda t: "yes" if t.subject in ("a", "b") else "no",
        lambda t: f"{t.n > 1!r}",
        lambda t: str([t.n == 1]),
    ],
)
def test_comparison_in_update_says_to_get_the_item_first(db: Client, value: Callable[[Any], Any]) -> None:
    with pytest.raises(NotAValue, match="Get the item first"), db.update(Ticket, ticket_id="1") as ticket:
        ticket.extra = value(ticket)
    assert db.get(Ticket, ticket_id="1") == Ticket("1")


def test_message_has_a_fix(db: Client) -> None:
    with pytest.raises(NotAValue) as caught, db.update(Ticket, ticket_id="1") as ticket:
        ticket.subject = f"[URGENT] {ticket.subject}"
    assert str(caught.value) == (
        "Ticket.subject stands for an attribute inside an update. It has no value here and cannot be "
        "written as text. Get the item first, compute with its value, and pass subject=<that value> to the update, "
        "which fails if it has changed; or let DynamoDB compute: +=, -=, |=, add(), appended(), prepended(), "
        "if_absent()"
    )
    # The advice, followed:
    read = db.get(Ticket, ticket_id="1")
    assert read
    with db.update(Ticket, ticket_id="1", subject=read.subject) as ticket:
        ticket.subject = f"[URGENT] {read.subject}"
    found = db.get(Ticket, ticket_id="1")
    assert found
    assert found.subject == "[URGENT] Printer"


@pytest.mark.parametrize(
    ("where", "advice"),
    [
        (lambda t: t.subject in ("a", "b"), r"one_of\(x"),
        (lambda t: 1 < t.n < 5, r"between\(x"),
        (lambda t: "x" in t.tags, r"contains\(\)"),
        (lambda t: len(t.lines) > 1, r"size\(\)"),
        (lambda t: t.subject.startswith("x"), r"begins_with\(\)"),
    ],
)
def test_python_operator_in_a_condition_names_the_function_to_use(db: Client, where: Any, advice: str) -> None:
    with pytest.raises(NotAValue, match=advice):
        db.query(Ticket, ticket_id="1", filter=where)


def test_debuggers_can_show_draft_and_attributes(db: Client) -> None:
    with db.update(Ticket, ticket_id="1") as ticket:
        shown = [repr(ticket), repr(ticket.subject), repr(ticket.parts["a"]), repr(size(ticket.lines))]
        ticket.subject = "written after all"
    assert shown == [
        "<draft of Ticket>",
        "<recorded Ticket.subject>",
        "<recorded Ticket.parts.a>",
        "size(<recorded Ticket.lines>)",
    ]


FROM_ANOTHER: dict[str, Callable[[Any], Any]] = {
    "n": lambda other: other.n,
    "sum": lambda other: other.n + 1,
    "sum the other way round": lambda other: 1 + other.n,
    "difference": lambda other: other.n - 1,
    "add": lambda other: add(other.n, 1),
    "if_absent": lambda other: if_absent(other.n, 1),
}
LISTS_FROM_ANOTHER: dict[str, Callable[[Any], Any]] = {
    "plus": lambda other: other.lines + ["b"],  # noqa: RUF005 - not the same here
    "appended": lambda other: appended(other.lines, ["b"]),
    "prepended": lambda other: prepended(other.lines, ["b"]),
}


@pytest.mark.parametrize("how", [*FROM_ANOTHER, *LISTS_FROM_ANOTHER])
def test_draft_takes_nothing_of_another_item(db: Client, how: str) -> None:
    with (
        pytest.raises(TableError),
        db.transaction() as tx,
        tx.update(Ticket, ticket_id="1") as one,
        tx.update(Ticket, ticket_id="2") as other,
    ):
        if how in FROM_ANOTHER:
            one.n = FROM_ANOTHER[how](other)
        else:
            one.lines = LISTS_FROM_ANOTHER[how](other)
    assert db.get(Ticket, ticket_id="1") == Ticket("1")


@pytest.mark.parametrize(
    "where",
    [
        lambda t, other: t.n == other.n,
        lambda t, other: t.n < size(other.lines),
        lambda t, other: size(t.lines) == size(other.lines),
        lambda t, other: between(t.n, other.n, 5),
        lambda t, other: one_of(t.n, [other.n]),
        lambda t, other: contains(t.tags, other.subject),
        lambda t, other: begins_with(t.subject, other.subject),
    ],
)
def test_condition_takes_nothing_of_another_item(db: Client, where: Any) -> None:
    """Otherwise it would be compared with the item's own attribute of the same name."""
    with db.update(Ticket, ticket_id="2") as other:
        with pytest.raises(TableError):
            db.query(Ticket, ticket_id="1", filter=lambda t: where(t, other))
        other.n = 1


def test_attributes_of_one_item_are_compared_by_dynamodb(db: Client) -> None:
    assert len(db.query(Ticket, ticket_id="1", filter=lambda t: t.n > t.price)) == 1
    assert len(db.query(Ticket, ticket_id="1", filter=lambda t: size(t.lines) > t.n)) == 0


def test_draft_is_not_key_or_value_of_another_request(db: Client) -> None:
    with db.update(Ticket, ticket_id="1") as ticket:
        for use in (
            lambda: db.get(Ticket, ticket_id=ticket.subject),
            lambda: db.put(Ticket("3", ticket.subject)),
            lambda: db.put(Ticket("3", extra=ticket.subject)),
            lambda: db.put(Ticket("3", extra=[ticket.n + 1])),
            lambda: db.put(Ticket(ticket.subject)),
            lambda: db.put(ticket),
            lambda: db.query(Ticket, ticket_id=ticket.subject),
            lambda: db.delete(Ticket, ticket_id=ticket.subject),
        ):
            with pytest.raises((TableError, TypeError, ValueError)):
                use()
        ticket.n += 1
    assert {one.ticket_id for page in db.everything(Ticket) for one in page} == {"1", "2"}


def test_draft_refuses_changes_after_its_block(db: Client) -> None:
    with db.update(Ticket, ticket_id="1") as ticket:
        ticket.n += 1
    for late in (
        lambda: setattr(ticket, "subject", "late"),
        lambda: setattr(ticket.extra, "a", 1),
        lambda: delattr(ticket, "extra"),
        lambda: ticket.n + 1,
    ):
        with pytest.raises(TableError, match="was sent at the end of its block"):
            late()


def test_draft_of_failed_block_refuses_changes(db: Client) -> None:
    with pytest.raises(ZeroDivisionError), db.update(Ticket, ticket_id="1") as ticket:
        ticket.n //= 0 if False else 1 // 0
    with pytest.raises(TableError, match="end of its block"):
        ticket.subject = "late"


def test_one_sum_may_be_assigned_twice(db: Client) -> None:
    with db.update(Ticket, ticket_id="1") as ticket:
        more = ticket.n + 1
        ticket.n = more
        ticket.extra = more
    assert db.get(Ticket, ticket_id="1") == Ticket("1", n=8, extra=8)


def test_update_is_entered_once(db: Client) -> None:
    update = db.update(Ticket, ticket_id="1")
    with update as ticket:
        ticket.n += 1
    with pytest.raises(TableError, match="begin another update"), update as ticket:
        ticket.n += 1
    assert db.get(Ticket, ticket_id="1", consistent=True) == Ticket("1", n=8)


def test_wrong_kind_of_with_raises_with_a_hint() -> None:
    asyncio.run(wrong_kind_of_with())


async def wrong_kind_of_with() -> None:
    awaited, waited = AsyncClient(SCHEMA, "desk", fresh()), Client(SCHEMA, "desk", fresh())
    with pytest.raises(TypeError, match=r"`async with db\.update"), awaited.update(Ticket, ticket_id="1"):
        pass
    with pytest.raises(TypeError, match=r"`with db\.update"):
        async with waited.update(Ticket, ticket_id="1"):
            pass
