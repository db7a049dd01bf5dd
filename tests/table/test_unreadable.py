"""Items that do not fit their class, such as old ones without a new attribute."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest
from tests.place import fresh
from tests.table.both import Connect, awaited, waiting

from prejoin import Client, CodecError, Counted, Entity, Get, Index, Key, Page, Schema, Unreadable, audit


@dataclass
class Desk:
    desk_id: str
    tickets: int = 0


@dataclass
class Ticket:
    desk_id: str
    ticket_id: str
    language: str
    subject: str = ""

    def __post_init__(self) -> None:
        if self.subject == "forbidden":
            raise ValueError("this subject is forbidden")


@dataclass
class Brief:
    ticket_id: str
    language: str


SCHEMA = Schema(
    Entity(Desk, Key("DESK#{desk_id}", "DESK")),
    Entity(
        Ticket,
        Key("DESK#{desk_id}", "TICKET#{ticket_id}"),
        indexes={"gsi1": Key("LANGUAGE", "{ticket_id}")},
        patterns=[Counted(Desk, "tickets")],
    ),
    indexes=[Index("gsi1")],
)
KEY = {"pk": {"S": "DESK#1"}, "sk": {"S": "TICKET#2"}}
OLD = {**KEY, "entityType": {"S": "Ticket"}, "desk_id": {"S": "1"}, "ticket_id": {"S": "2"}}
INDEXED = {"gsi1pk": {"S": "LANGUAGE"}, "gsi1sk": {"S": "2"}}
MESSAGE = (
    "Ticket DESK#1 / TICKET#2: the item has no language, which Ticket requires. Give Ticket.language a default, or "
    "add it to the items that lack it"
)


@pytest.fixture(params=[waiting, awaited])
def db(request: pytest.FixtureRequest) -> Client:
    connect: Connect = request.param
    transport = fresh()
    client = connect(SCHEMA, transport)
    client.insert(Desk("1"))
    client.insert(Ticket("1", "1", "de"))
    client.insert(Ticket("1", "3", "en"))
    client.call("PutItem", {"Item": {**OLD, **INDEXED}})
    return client


READS: dict[str, Callable[[Client], Any]] = {
    "get": lambda db: db.get(Ticket, desk_id="1", ticket_id="2"),
    "get consistently": lambda db: db.get(Ticket, desk_id="1", ticket_id="2", consistent=True),
    "get many": lambda db: db.get_many(Ticket, [{"desk_id": "1", "ticket_id": str(at)} for at in range(5)]),
    "get together": lambda db: db.get_together(Get(Ticket, desk_id="1", ticket_id="2")),
    "query": lambda db: db.query(Ticket, desk_id="1"),
    "query of one": lambda db: db.query(Ticket, desk_id="1", ticket_id="2"),
    "pages": lambda db: list(db.pages(Ticket, desk_id="1", size=1)),
    "index": lambda db: db.query(Ticket, order="ticket_id"),
    "collect": lambda db: db.collect((Desk, Ticket), desk_id="1"),
    "everything": lambda db: list(db.everything()),
    "update": lambda db: db.delete(Ticket, desk_id="1", ticket_id="2", read=True),
}
INTO: dict[str, Callable[[Client], Any]] = {
    "get": lambda db: db.get(Ticket, desk_id="1", ticket_id="2", into=Brief),
    "get many": lambda db: db.get_many(Ticket, [{"desk_id": "1", "ticket_id": "2"}], into=Brief),
    "get together": lambda db: db.get_together(Get(Ticket, desk_id="1", ticket_id="2", into=Brief)),
    "query": lambda db: db.query(Ticket, desk_id="1", into=Brief),
    "query of one": lambda db: db.query(Ticket, desk_id="1", ticket_id="2", into=Brief),
}


@pytest.mark.parametrize("how", READS)
def test_error_names_item_and_attribute(db: Client, how: str) -> None:
    with pytest.raises(CodecError) as caught:
        READS[how](db)
    error = caught.value
    assert (error.entity, error.attribute, error.key) == ("Ticket", "language", KEY)
    assert error.item
    assert error.item.items() >= OLD.items()
    assert str(error) == MESSAGE
    again = pickle.loads(pickle.dumps(error))
    assert (again.key, again.attribute) == (KEY, "language")


@pytest.mark.parametrize("how", INTO)
def test_error_names_item_also_where_only_some_attributes_are_read(db: Client, how: str) -> None:
    with pytest.raises(CodecError) as caught:
        INTO[how](db)
    assert (caught.value.entity, caught.value.attribute, caught.value.key) == ("Ticket", "language", KEY)
    assert "DESK#1 / TICKET#2" in str(caught.value)


def test_value_of_wrong_type_is_named(db: Client) -> None:
    db.call("PutItem", {"Item": {**OLD, "language": {"N": "7"}}})
    with pytest.raises(CodecError, match=r"Ticket DESK#1 / TICKET#2: Ticket\.language") as caught:
        db.query(Ticket, desk_id="1")
    assert caught.value.attribute == "language"


def test_item_that_class_itself_refuses_is_named(db: Client) -> None:
    db.call("PutItem", {"Item": {**OLD, "language": {"S": "de"}, "subject": {"S": "forbidden"}}})
    with pytest.raises(CodecError, match="TICKET#2 is no Ticket: this subject is forbidden") as caught:
        db.query(Ticket, desk_id="1")
    assert caught.value.key == KEY
    assert isinstance(caught.value.__cause__, ValueError)
    assert len(db.query(Ticket, desk_id="1", unreadable="keep").unreadable) == 1


def check(page: Any, good: list[str]) -> None:
    assert [one.ticket_id for one in page if isinstance(one, Ticket)] == good
    (bad,) = page.unreadable
    assert isinstance(bad, Unreadable)
    assert bad.item.items() >= OLD.items()
    assert (bad.error.attribute, bad.error.key, str(bad.error)) == ("language", KEY, MESSAGE)
    assert page.unmatched == ()


def test_unreadable_items_are_kept_beside_the_others(db: Client) -> None:
    check(db.query(Ticket, desk_id="1", unreadable="keep"), ["1", "3"])
    check(db.query(Ticket, desk_id="1", reverse=True, unreadable="keep"), ["3", "1"])
    check(db.query(Ticket, order="ticket_id", unreadable="keep"), ["1", "3"])
    check(db.query(Ticket, desk_id="1", ticket_id="2", unreadable="keep"), [])
    check(db.collect((Desk, Ticket), desk_id="1", unreadable="keep"), ["1", "3"])
    (page,) = db.everything(unreadable="keep")
    check(page, ["1", "3"])
    (page,) = db.everything(Ticket, unreadable="keep")
    check(page, ["1", "3"])


def test_unreadable_items_count_as_any_other_in_pages(db: Client) -> None:
    pages: list[Page[Ticket]] = list(db.pages(Ticket, desk_id="1", size=1, unreadable="keep"))
    assert [[one.ticket_id for one in page] for page in pages if page or page.unreadable] == [["1"], [], ["3"]]
    assert [len(page.unreadable) for page in pages if page or page.unreadable] == [0, 1, 0]


def test_unreadable_items_stand_at_their_place_among_many(db: Client) -> None:
    keys = [{"desk_id": "1", "ticket_id": at} for at in "3241"]
    one, bad, none, other = db.get_many(Ticket, keys, unreadable="keep")
    assert (one, none, other) == (Ticket("1", "3", "en"), None, Ticket("1", "1", "de"))
    assert isinstance(bad, Unreadable)
    assert bad.error.attribute == "language"


def test_damaged_item_does_not_change_other_errors(db: Client) -> None:
    db.query(Ticket, desk_id="1", unreadable="keep")
    with pytest.raises(CodecError):
        db.query(Ticket, desk_id="1")


def test_audit_lists_unreadable_items_with_their_reason() -> None:
    client = waiting(SCHEMA)
    client.insert(Desk("1"))
    client.insert(Ticket("1", "1", "de"))
    client.call("PutItem", {"Item": {**OLD, **INDEXED}})
    findings = [finding for finding in audit(client) if finding.kind == "damaged"]
    assert [str(finding) for finding in findings] == [
        "damaged: Ticket DESK#1 / TICKET#2: its attributes do not fit its class: correct them, or delete it "
        f"({MESSAGE.partition(': ')[2]})"
    ]
