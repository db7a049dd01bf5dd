"""`ReadAs`: items hold a member of an enum under two words, and every read and condition takes both for one."""

from __future__ import annotations

import random
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Literal

import pytest

from prejoin import Client, CodecError, ConditionFailed, Entity, Index, Key, ReadAs, Schema, SchemaError, one_of
from prejoin.engine import Embedded

BEGIN = datetime(2026, 5, 1, tzinfo=UTC)


@dataclass
class Old:
    order_id: str
    user: str
    at: datetime
    status: Literal["OPEN", "DONE", "DONE2"]
    total: int = 0


@dataclass
class New:
    order_id: str
    user: str
    at: datetime
    status: Literal["OPEN", "PAID", "DONE2"]
    total: int = 0


PLACES = {
    "partition": {"gsi": Key("STATUS#{status}", "{at}#{order_id}")},
    "partition with shards": {"gsi": Key("STATUS#{status}#{order_id:shard(3)}", "{at}#{order_id}")},
    "partition by day": {"gsi": Key("STATUS#{status}#{at:day}", "{at}#{order_id}")},
    "partition by day with shards": {"gsi": Key("S#{status}#{at:day}#{order_id:shard(2)}", "{at}#{order_id}")},
    "sort key": {"gsi": Key("ALL", "STATUS#{status}#{at}#{order_id}")},
    "natural": {},
}


def client(cls: type[Any], place: str, engine: Embedded, *patterns: Any) -> Client:
    key = Key("ORDER#{order_id}", "ORDER")
    index = Index("gsi", pk="status", sk=("at", "order_id")) if place == "natural" else Index("gsi")
    keys = {**PLACES[place], "all": Key("USER#{user}", "{order_id}")}
    entity = Entity(cls, key, keys, tag="Order", patterns=patterns)
    return Client(Schema(entity, indexes=[index, Index("all")]), "shop", engine)


class Shop:
    """Orders that code with the old word and code with the new word wrote, and code that reads both."""

    def __init__(self, place: str, seed: int, count: int = 60) -> None:
        engine = Embedded()
        self.random = random.Random(seed)
        self.old, self.new = client(Old, place, engine), client(New, place, engine)
        self.old.create_table()
        self.readers = {
            Old: client(Old, place, engine, ReadAs("status", {"PAID": "DONE"})),
            New: client(New, place, engine, ReadAs("status", {"DONE": "PAID"})),
        }
        self.orders: list[tuple[datetime, str, str]] = []
        """The time, the id and the state in the old words."""
        for number in range(count):
            state = self.random.choice(("OPEN", "DONE", "DONE", "DONE2"))
            at = BEGIN + timedelta(hours=self.random.randrange(100))
            cls = self.random.choice((Old, New))
            self.add(cls, f"o{number:03}", at, state)

    def add(self, cls: type[Any], name: str, at: datetime, state: str) -> None:
        writer = self.old if cls is Old else self.new
        writer.insert(cls(name, "u", at, self.word(cls, state), len(self.orders)))
        self.orders.append((at, name, state))

    @staticmethod
    def word(cls: type[Any], state: str) -> Any:
        return "PAID" if cls is New and state == "DONE" else state

    def expected(self, state: str, since: datetime) -> list[str]:
        return [name for at, name, its in sorted(self.orders) if its == state and at >= since]


@pytest.mark.parametrize("cls", [Old, New])
@pytest.mark.parametrize("place", PLACES)
def test_query_reads_both_words_in_order(place: str, cls: type[Any]) -> None:
    shop = Shop(place, seed=len(place))
    db = shop.readers[cls]
    end = BEGIN + timedelta(days=9)
    for state in ("OPEN", "DONE", "DONE2"):
        word = shop.word(cls, state)
        for since in (BEGIN, BEGIN + timedelta(hours=50)):
            expected = shop.expected(state, since)
            for reverse in (False, True):
                for limit in (None, 1, 4, 100):
                    found = read_pages(db, cls, word, since, end, reverse=reverse, limit=limit)
                    names = expected[::-1] if reverse else expected
                    assert [order.order_id for order in found] == names, (state, reverse, limit)
                    assert {order.status for order in found} <= {word}
            assert db.count(cls, lambda order, since=since: order.at >= since, status=word, now=end) == len(expected)


def read_pages(
    db: Client, cls: type[Any], word: str, since: datetime, end: datetime, *, reverse: bool, limit: int | None
) -> list[Any]:
    """All pages of a query by status, since a time."""
    found: list[Any] = []
    after = None
    while True:
        page = db.query(
            cls, lambda order: order.at >= since, status=word, now=end, reverse=reverse, limit=limit, after=after
        )
        found += page.items
        after = page.cursor
        if after is None:
            return found


@pytest.mark.parametrize("cls", [Old, New])
def test_conditions_and_filters_take_both_words(cls: type[Any]) -> None:
    shop = Shop("partition", seed=5)
    db, word = shop.readers[cls], shop.word(cls, "DONE")
    tests: dict[str, Any] = {
        "=": (lambda order: order.status == word, lambda state: state == "DONE"),
        "<>": (lambda order: order.status != word, lambda state: state != "DONE"),
        "in": (lambda order: one_of(order.status, [word, "OPEN"]), lambda state: state in ("DONE", "OPEN")),
        "not": (lambda order: ~one_of(order.status, [word, "OPEN"]), lambda state: state == "DONE2"),
        "and": (lambda order: (order.status == word) & (order.total >= 30), None),
    }
    for test, accepts in tests.values():
        found = {order.order_id for order in db.query(cls, user="u", filter=test)}
        if accepts is not None:
            assert found == {name for _, name, state in shop.orders if accepts(state)}
        for number, (at, name, state) in enumerate(shop.orders):
            is_accepted = accepts(state) if accepts else state == "DONE" and number >= 30
            assert (name in found) is is_accepted
            try:
                with db.update(cls, order_id=name, where=test, read=True) as order:
                    order.at = at
                assert is_accepted
            except ConditionFailed:
                assert not is_accepted


@pytest.mark.parametrize("cls", [Old, New])
@pytest.mark.parametrize("place", PLACES)
def test_writes_keep_one_index_entry_for_each_order(place: str, cls: type[Any]) -> None:
    """An order may have the word of one version as its attribute, and that of the other in its key: it is found."""
    shop = Shop(place, seed=9, count=30)
    db = shop.readers[cls]
    end = BEGIN + timedelta(days=9)
    for number, (at, name, state) in enumerate(list(shop.orders)):
        with db.update(cls, order_id=name, read=True) as order:
            order.at = at + timedelta(hours=1)
        if number % 3 == 0:
            state = "OPEN" if state == "DONE" else "DONE"
            with db.update(cls, order_id=name, read=True) as order:
                order.status = shop.word(cls, state)
        shop.orders[number] = (at + timedelta(hours=1), name, state)
    for reader_cls, reader in shop.readers.items():
        for state in ("OPEN", "DONE", "DONE2"):
            word = shop.word(reader_cls, state)
            found = read_pages(reader, reader_cls, word, BEGIN, end, reverse=False, limit=7)
            assert [order.order_id for order in found] == shop.expected(state, BEGIN)


def test_only_members_are_written() -> None:
    shop = Shop("partition", seed=1, count=1)
    with pytest.raises(CodecError, match="'DONE' is not one of OPEN, PAID"):
        shop.readers[New].insert(New("x", "u", BEGIN, "DONE"))  # type: ignore[arg-type]


@pytest.mark.parametrize("words", [{"PAID": "DONE"}, {"DONE": "OTHER"}, {"OPEN": "PAID"}])
def test_words_that_make_no_sense_are_refused(words: dict[str, str]) -> None:
    with pytest.raises(SchemaError, match="maps words that are no members"):
        client(New, "partition", Embedded(), ReadAs("status", words))


def test_attribute_twice_in_a_key_of_an_index_is_refused() -> None:
    """An update that changes one part of the key would leave the other word in the other part."""
    keys = {"gsi": Key("STATUS#{status}", "O#{status}#{at}#{order_id}")}
    read_as = ReadAs("status", {"DONE": "PAID"})
    entity = Entity(New, Key("ORDER#{order_id}", "ORDER"), keys, patterns=[read_as])
    with pytest.raises(SchemaError, match="twice"):
        Schema(entity, indexes=[Index("gsi")])


def test_attribute_in_the_key_of_the_table_is_refused() -> None:
    entity = Entity(New, Key("STATUS#{status}", "{order_id}"), patterns=[ReadAs("status", {"DONE": "PAID"})])
    with pytest.raises(SchemaError, match="is part of the key"):
        Schema(entity)
