"""Expired items are hidden at once, deleted by DynamoDB later, and can be replaced in between."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.patterns.faults import in_threads, items, made, with_every_fault
from tests.patterns.manual_clock import ManualClock
from tests.place import fresh
from tests.table.both import Connect, both

from prejoin import (
    AlreadyExists,
    Call,
    Changes,
    Client,
    CodecError,
    ConditionFailed,
    Copy,
    Entity,
    Get,
    Index,
    Key,
    NotFound,
    NotServed,
    Schema,
    SchemaError,
    Timestamps,
    TimeToLive,
    TransactionCancelled,
    UnknownAttribute,
    Version,
    add,
)

HOUR = timedelta(hours=1)


@dataclass(frozen=True)
class Session:
    token: str
    user: str = "u"
    ends: datetime | None = None
    hits: int = 0


@dataclass(frozen=True)
class User:
    user: str


def schema(clock: ManualClock, **how: Any) -> Schema:
    return Schema(
        Entity(
            Session,
            Key("SESSION#{token}", "SESSION"),
            indexes={"gsi1": Key("USER#{user}", "SESSION#{token}")},
            patterns=[TimeToLive("ends", clock=clock, **how)],
        ),
        Entity(User, Key("USER#{user}", "USER"), indexes={"gsi1": Key("USER#{user}", "A")}),
        indexes=[Index("gsi1")],
    )


@both
def test_expired_item_is_hidden_from_every_read(connect: Connect, clock: ManualClock) -> None:
    db = connect(schema(clock))
    db.put_many([User("u"), *[Session(str(number), ends=clock() + number * HOUR) for number in range(1, 5)]])
    db.insert(Session("9"))
    clock.turn(hours=2)

    @dataclass
    class Line:
        token: str

    shown = ["3", "4", "9"]
    assert [db.get(Session, token=token) is not None for token in ("1", "2", "3", "9")] == [False, False, True, True]
    assert db.get(Session, token="2", into=Line) is None
    assert db.get(Session, token="3", into=Line) == Line("3")
    assert [db.exists(Session, token=token) for token in "239"] == [False, True, True]
    assert db.exists(Session, user="u")
    assert [one.token for one in db.query(Session, user="u")] == shown
    assert [one.token for one in db.query(Session, user="u", into=Line)] == shown
    assert [one.token for one in db.query(Session, user="u", reverse=True, limit=2)] == ["9", "4"]
    assert [one.token for one in db.query(Session, user="u", filter=lambda s: s.hits == 0)] == shown
    assert [one.token for page in db.pages(Session, user="u", size=1) for one in page] == shown
    assert db.count(Session, user="u") == 3
    assert [one and one.token for one in db.get_many(Session, [{"token": one} for one in "1239"])] == [
        None,
        None,
        "3",
        "9",
    ]
    assert db.get_together(Get(Session, token="2"), Get(Session, token="3"))[0] is None
    found = db.collect((User, Session), user="u")
    assert (found.one(User), [one.token for one in found.all(Session)]) == (User("u"), shown)
    everything = [one for page in db.everything() for one in page]
    assert sorted(one.token for one in everything if isinstance(one, Session)) == shown
    assert len([one for page in db.everything(hidden=True) for one in page]) == 6


@both
def test_expired_item_counts_as_missing(connect: Connect, clock: ManualClock) -> None:
    db = connect(schema(clock, after=HOUR))
    first = db.insert(Session("1", hits=5))
    assert first.ends == clock() + HOUR
    with pytest.raises(AlreadyExists):
        db.insert(Session("1"))
    clock.turn(hours=1)
    with pytest.raises(NotFound, match="there is no Session token='1'"):
        db.apply(Session, Changes({"hits": 6}), token="1")
    with pytest.raises(NotFound):
        db.apply(Session, Changes({"hits": 6}), token="1", read=True)
    with pytest.raises(ConditionFailed):
        db.apply(Session, Changes({}, {"hits": 6}), token="1", upsert=True)
    with pytest.raises(NotFound):
        db.delete(Session, token="1", hits=5)
    db.apply(Session, Changes({}, {"hits": 1}), token="1", upsert=True, read=True)
    assert db.get(Session, token="1") == Session("1", ends=clock() + HOUR, hits=1)
    clock.turn(hours=1)
    assert db.insert(Session("1")) == db.get(Session, token="1") == Session("1", ends=clock() + HOUR)
    clock.turn(hours=1)
    db.put(Session("1", hits=9))
    assert db.get(Session, token="1") == Session("1", ends=clock() + HOUR, hits=9)
    clock.turn(hours=1)
    db.delete(Session, token="1")
    db.delete(Session, token="1")


def test_in_a_transaction_too(clock: ManualClock) -> None:
    db = made(schema(clock), fresh())
    db.insert(Session("1", ends=clock() + HOUR))
    with db.transaction() as tx:
        tx.check(Session, token="1")
        tx.insert(Session("2"))
    clock.turn(hours=1)
    with pytest.raises(TransactionCancelled, match="there is no Session token='1'"), db.transaction() as tx:
        tx.check(Session, token="1")
        tx.insert(Session("3"))
    with db.transaction() as tx:
        tx.insert(Session("1"))
        tx.insert(Session("3"))


def test_a_time_of_its_own_counts_and_is_kept_in_whole_seconds(clock: ManualClock) -> None:
    db = made(schema(clock, after=HOUR), fresh())
    exact = clock() + timedelta(seconds=90, microseconds=7)
    written = db.insert(Session("1", ends=exact))
    assert written.ends == exact.replace(microsecond=0)
    assert db.get(Session, token="1") == written
    (item,) = items(db._transport, "shop")
    assert item["ends"] == {"N": str(int(exact.timestamp()))}
    clock.turn(seconds=89)
    assert db.get(Session, token="1") == written
    clock.turn(seconds=1)
    assert db.get(Session, token="1") is None


def test_renew_extends_the_time_at_each_put_and_update(clock: ManualClock) -> None:
    db = made(schema(clock, after=HOUR, renew=True), fresh())
    db.insert(Session("1"))
    for _ in range(3):
        clock.turn(minutes=40)
        with db.update(Session, token="1") as session:
            session.hits = add(session.hits, 1)  # type: ignore[misc]
    clock.turn(minutes=40)
    seen = db.get(Session, token="1")
    assert seen == Session("1", ends=clock() + timedelta(minutes=20), hits=3)
    assert db.put(replace(seen, hits=0)).ends == clock() + HOUR
    db.apply(Session, Changes({"ends": None}), token="1")
    assert db.get(Session, token="1") == Session("1")


def test_without_renewal_an_update_changes_nothing_of_it(clock: ManualClock) -> None:
    db = made(schema(clock, after=HOUR), fresh())
    first = db.insert(Session("1"))
    clock.turn(minutes=30)
    db.apply(Session, Changes({"hits": 1}), token="1")
    db.apply(Session, Changes({"hits": 2}), token="1", upsert=True)
    assert db.get(Session, token="1") == replace(first, hits=2)
    assert db.put(replace(first, hits=3)) == replace(first, hits=3)
    db.apply(Session, Changes({"hits": 2}), token="2", upsert=True)
    assert db.get(Session, token="2") == Session("2", ends=clock() + HOUR, hits=2)


def test_cursor_continues_although_time_advances(clock: ManualClock) -> None:
    db = made(schema(clock), fresh())
    db.put_many(Session(f"{number:02}", ends=clock() + (number % 5) * HOUR) for number in range(30))
    clock.turn(hours=1)
    page = db.query(Session, user="u", limit=4)
    tokens = [one.token for one in page]
    while page.cursor:
        clock.turn(seconds=1)
        page = db.query(Session, user="u", limit=4, after=page.cursor)
        assert len(page) == 4 or page.cursor is None
        tokens += [one.token for one in page]
    assert tokens == [f"{number:02}" for number in range(30) if number % 5 > 1]


def test_pages_of_mostly_expired_items_are_not_read_one_by_one(clock: ManualClock) -> None:
    calls: list[Call] = []
    place = fresh()
    db = made(schema(clock), place)
    db.put_many(Session(f"{number:03}", ends=clock() + HOUR) for number in range(250))
    db.insert(Session("999"))
    clock.turn(hours=1)
    watched = Client(db.schema, "shop", place, observe=calls.append)
    assert [one.token for one in watched.query(Session, user="u", limit=1)] == ["999"]
    assert watched.exists(Session, user="u")
    assert len(calls) <= 8


@given(st.lists(st.integers(0, 6), max_size=20), st.integers(1, 5), st.booleans(), st.integers(0, 6))
def test_pages_of_any_size_have_all_live_items(ends: list[int], size: int, reverse: bool, hours: int) -> None:
    clock = ManualClock()
    db = made(schema(clock), fresh())
    all_ = [Session(f"{at:02}", ends=None if hour == 6 else clock() + hour * HOUR) for at, hour in enumerate(ends)]
    db.put_many(all_)
    clock.turn(hours=hours)
    expected = [one for one in all_ if one.ends is None or one.ends > clock()]
    pages = list(db.pages(Session, user="u", size=size, reverse=reverse))
    assert [one for page in pages for one in page] == (expected[::-1] if reverse else expected)
    assert all(len(page) == size for page in pages[:-1])
    assert db.count(Session, user="u") == len(expected)


@dataclass(frozen=True)
class Code:
    code: str
    until: int = 0


def test_an_int_is_in_seconds_and_the_schema_may_name_the_attribute(clock: ManualClock) -> None:
    one = Schema(
        Entity(Code, Key("CODE#{code}", "CODE"), patterns=[TimeToLive("until", after=HOUR, clock=clock)]),
        Entity(Session, Key("SESSION#{token}", "SESSION"), patterns=[TimeToLive("ends", clock=clock)]),
        ttl="ttl",
    )
    db = made(one, fresh())
    assert db.drift() == []
    db.insert(Code("1", int((clock() + HOUR).timestamp())))
    db.insert(Session("1", ends=clock() + HOUR))
    assert all(item["ttl"] == {"N": str(int((clock() + HOUR).timestamp()))} for item in items(db._transport, "shop"))
    clock.turn(hours=1)
    assert db.get(Code, code="1") is None
    assert db.insert(Code("1", int((clock() + HOUR).timestamp()))).until == int((clock() + HOUR).timestamp())
    described = db.call("DescribeTimeToLive")["TimeToLiveDescription"]
    assert described == {"TimeToLiveStatus": "ENABLED", "AttributeName": "ttl"}


@dataclass(frozen=True)
class Other:
    other_id: str
    stops: datetime
    name: str = ""


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (
            lambda: [Entity(Session, Key("A#{token}", "A"), patterns=[TimeToLive("user")])],
            "must be a datetime or a number",
        ),
        (
            lambda: [Entity(Other, Key("A#{other_id}", "{stops}"), patterns=[TimeToLive("stops")])],
            r"Other\.stops is a time to live, and cannot be part of the key",
        ),
        (
            lambda: [Entity(Session, Key("A#{token}", "A"), patterns=[TimeToLive("ends", renew=True)])],
            "has renew=True, which needs after=",
        ),
        (
            lambda: [
                Entity(Session, Key("A#{token}", "A"), patterns=[TimeToLive("ends")]),
                Entity(Other, Key("B#{other_id}", "B"), patterns=[TimeToLive("stops")]),
            ],
            r"here are ends \(Session.ends\) and stops \(Other.stops\)\. Pass its name to the schema as ttl=",
        ),
        (
            lambda: [Entity(Session, Key("A#{token}", "A"), patterns=[TimeToLive("ends"), TimeToLive("ends")])],
            "two time to live attributes",
        ),
    ],
)
def test_invalid_time_to_live_is_refused(build: Any, message: str) -> None:
    with pytest.raises(SchemaError, match=message):
        Schema(*build())


def test_a_natural_key_cannot_be_a_time_stored_as_a_number() -> None:
    with pytest.raises(SchemaError, match=r"is the key of an index itself. Make it an int"):
        Schema(
            Entity(Other, Key("B#{other_id}", "B"), patterns=[TimeToLive("stops")]), indexes=[Index("by", pk="stops")]
        )
    with pytest.raises(UnknownAttribute, match="did you mean ends"):
        Schema(Entity(Session, Key("A#{token}", "A"), patterns=[TimeToLive("end")]))
    with pytest.raises(SchemaError, match=r"or declare TimeToLive\('stops'\)"):
        Schema(Entity(Other, Key("B#{other_id}", "B")), ttl="stops")


def test_an_index_without_the_attribute_cannot_tell_and_is_not_asked(clock: ManualClock) -> None:
    @dataclass
    class Line:
        token: str

    key = Key("SESSION#{token}", "SESSION")
    indexes = {"gsi1": Key("USER#{user}", "SESSION#{token}")}
    few = Schema(
        Entity(Session, key, indexes, patterns=[TimeToLive("ends", clock=clock)]),
        indexes=[Index("gsi1", projection="KEYS_ONLY")],
    )
    with pytest.raises(NotServed, match=r"gsi1.*it does not hold all attributes"):
        made(few, fresh()).query(Session, user="u", into=Line)
    more = Schema(
        Entity(Session, key, indexes, patterns=[TimeToLive("ends", clock=clock)]),
        indexes=[Index("gsi1", projection=["ends"])],
    )
    db = made(more, fresh())
    db.insert(Session("1", ends=clock() + HOUR))
    assert list(db.query(Session, user="u", into=Line)) == [Line("1")]
    clock.turn(hours=1)
    assert list(db.query(Session, user="u", into=Line)) == []


def test_cost_is_nothing_for_writes_and_hidden_items_for_reads(clock: ManualClock) -> None:
    calls: list[Call] = []
    db = Client(schema(clock, after=HOUR), "shop", fresh(), observe=calls.append)
    db.create_table()
    calls.clear()
    db.insert(User("u"))
    db.insert(Session("1"))
    assert [(call.operation, call.units) for call in calls] == [("PutItem", 2), ("PutItem", 2)]  # table and index
    clock.turn(hours=1)
    calls.clear()
    assert list(db.query(Session, user="u")) == []
    assert db.get(Session, token="1") is None
    assert [call.units for call in calls] == [0.5, 0.5]


def test_replacing_an_expired_item_resets_other_patterns(clock: ManualClock) -> None:
    @dataclass(frozen=True)
    class Draft:
        draft_id: str
        ends: datetime | None = None
        version: int = 0
        created_at: datetime | None = None

    patterns = [
        TimeToLive("ends", after=HOUR, clock=clock),
        Version(),
        Timestamps(updated=None, clock=clock),
        Copy("all", Key("DRAFTS", "{draft_id}")),
    ]
    db = made(Schema(Entity(Draft, Key("DRAFT#{draft_id}", "DRAFT"), patterns=patterns)), fresh())
    first = db.insert(Draft("1"))
    assert db.put(first, was=first).version == 2
    clock.turn(hours=1)
    assert db.put(Draft("1"), read=True) == Draft("1", clock() + HOUR, 1, clock())
    clock.turn(hours=1)
    assert db.insert(Draft("1")) == Draft("1", clock() + HOUR, 1, clock())


def test_one_of_concurrent_inserts_replaces_an_expired_item(clock: ManualClock) -> None:
    db = made(schema(clock, after=HOUR), fresh())
    db.insert(Session("1"))
    clock.turn(hours=1)

    def insert(number: int) -> bool:
        try:
            db.insert(Session("1", hits=number))
        except AlreadyExists:
            return False
        return True

    assert sum(in_threads(6, insert)) == 1


def test_write_can_be_repeated_after_any_lost_request(clock: ManualClock) -> None:
    one = schema(clock, after=HOUR)

    def begin() -> Any:
        transport = fresh()
        made(one, transport).insert(Session("1", hits=1, ends=clock() - HOUR))
        return transport

    def act(transport: Any) -> None:
        Client(one, "shop", transport).apply(Session, Changes({"hits": 2}), token="1", upsert=True, read=True)

    def check(transport: Any) -> None:
        act(transport)
        assert Client(one, "shop", transport).get(Session, token="1") == Session("1", ends=clock() + HOUR, hits=2)

    assert with_every_fault(begin, act, check) == 4


def test_damaged_times_are_reported(clock: ManualClock) -> None:
    db = made(schema(clock), fresh())
    item = {"pk": {"S": "SESSION#1"}, "sk": {"S": "SESSION"}, "token": {"S": "1"}, "ends": {"N": "99999999999999"}}
    db.call("PutItem", {"Item": item})
    with pytest.raises(CodecError, match="is not a time in seconds since 1970"):
        db.get(Session, token="1")
