"""The highest and lowest values of an item's children are correct after every write, also with concurrency and faults."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any, cast

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.patterns.extremes import (
    ALONE,
    DAY,
    INDEXES,
    ORDER,
    SCHEMA,
    USER,
    Counting,
    Day,
    ExpectedExtremes,
    Order,
    User,
    write_orders,
    write_to_a_file,
)
from tests.patterns.faults import in_processes, items, made, with_every_fault, wrong
from tests.patterns.manual_clock import ManualClock
from tests.place import examples, fresh
from tests.table.both import Connect, Watched, both, waiting

from prejoin import (
    AlreadyExists,
    Changes,
    Client,
    ConditionFailed,
    Conflict,
    Counted,
    Entity,
    Highest,
    Key,
    Lowest,
    NotFound,
    Recounted,
    Schema,
    SchemaError,
    SoftDelete,
    Summed,
    TableError,
    TimeToLive,
    TooMany,
    TransactionCancelled,
    UnknownValue,
    VersionConflict,
    audit,
    once,
    receipts,
    recount,
    recount_all,
    repair,
    restore,
)
from prejoin.engine import Embedded

ONE, TWO, TEN = Decimal(1), Decimal(2), Decimal(10)
NOON = datetime(2026, 5, 4, 12, tzinfo=UTC)


@pytest.fixture(autouse=True)
def _at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Removes the wait for indexes, which are consistent here."""
    monkeypatch.setattr(sys.modules["prejoin.patterns.aggregates.recount"], "CATCH_UP", 0.0)


def shop(connect: Connect = waiting, schema: Schema = SCHEMA, **more: Any) -> Client:
    db = connect(schema, **more)
    for name in "12":
        db.insert(User(name, f"User {name}"))
    return db


def reached(db: Client, user_id: str = "1") -> tuple[Decimal | None, Decimal | None]:
    user = db.get(User, user_id=user_id, consistent=True)
    assert user is not None
    return user.largest, user.smallest


# --- Every path -----------------------------------------------------------------------------------------------------


@both
def test_insert_raises_the_highest_value_and_delete_keeps_it(connect: Connect) -> None:
    db = shop(connect)
    assert reached(db) == (None, None)
    for name, total in {"a": TWO, "b": TEN, "c": ONE}.items():
        db.insert(Order(name, "1", total))
    assert reached(db) == (TEN, ONE)
    db.delete(Order, order_id="b", read=True)
    assert reached(db) == (TEN, ONE)


@both
def test_zero_and_negative_values_count_and_none_does_not(connect: Connect) -> None:
    db = shop(connect)
    db.insert(Order("a", "1", None))
    assert reached(db) == (None, None)
    db.insert(Order("b", "1", Decimal(-3)))
    assert reached(db) == (-3, -3)
    db.insert(Order("c", "1", Decimal(0)))
    assert reached(db) == (0, -3)


@both
def test_update_that_raises_the_value_changes_the_parent_and_one_that_lowers_it_does_not(connect: Connect) -> None:
    db = shop(connect, ALONE)
    db.insert(Order("a", "1", TWO))
    with db.update(Order, order_id="a", user_id="1", status="OPEN", day=None) as order:
        order.total = TEN  # the old value is not needed
    assert reached(db) == (TEN, TWO)
    with db.update(Order, order_id="a", read=True) as order:
        order.total = ONE
    assert reached(db) == (TEN, ONE)
    with db.update(Order, order_id="a", read=True) as order:
        order.user_id = "2"
    assert reached(db, "2") == (ONE, ONE)


@both
def test_update_by_an_amount_needs_the_old_value(connect: Connect) -> None:
    db = shop(connect, ALONE)
    db.insert(Order("a", "1", TWO))
    known: dict[str, Any] = {"user_id": "1", "status": "OPEN", "day": None}
    with (
        pytest.raises(UnknownValue, match=r"needs the current value of total, because User\.largest"),
        db.update(Order, order_id="a", **known) as order,
    ):
        order.total += TEN  # type: ignore[operator]
    with db.update(Order, order_id="a", total=TWO, **known) as order:
        order.total += TEN  # type: ignore[operator]
    assert reached(db) == (12, TWO)
    db.apply(Order, Changes(adds={"total": ONE}), order_id="a", read=True)
    assert reached(db) == (13, TWO)


def test_update_away_from_the_extreme_needs_no_old_value() -> None:
    one = Highest(User, "largest", of="total")
    db = shop(schema=Schema(USER, Entity(Order, ORDER.key, ORDER.indexes, patterns=[one]), indexes=INDEXES))
    db.insert(Order("a", "1", TWO))
    with db.update(Order, order_id="a") as order:
        order.total -= ONE  # type: ignore[operator]
    assert reached(db) == (TWO, None)


@both
def test_one_that_begins_to_count_may_be_a_record(connect: Connect) -> None:
    db = shop(connect, ALONE)
    db.insert(Order("a", "1", TEN, "CANCELLED"))
    assert reached(db) == (None, TEN)
    with db.update(Order, order_id="a", user_id="1", total=TEN) as order:
        order.status = "OPEN"
    assert reached(db) == (TEN, TEN)


@both
def test_put_raises_the_highest_value_without_was(connect: Connect) -> None:
    db = shop(connect, ALONE)
    db.put(Order("a", "1", TWO))
    db.put(Order("a", "1", TEN))
    assert reached(db) == (TEN, TWO)
    old = Order("a", "1", TEN)
    db.put(replace(old, total=Decimal(11)), was=old)
    assert reached(db) == (11, TWO)
    with pytest.raises(ConditionFailed):
        db.put(replace(old, total=Decimal(12)), was=old)
    db.put(Order("a", "2", ONE), read=True)
    assert reached(db, "2") == (ONE, ONE)


@both
def test_upsert_needs_all_deciding_values_or_reads_first(connect: Connect) -> None:
    db = shop(connect, ALONE)
    with pytest.raises(UnknownValue, match="read=True"), db.upsert(Order, order_id="a") as order:
        order.total = TEN
    with db.upsert(Order, order_id="a") as order:
        order.user_id, order.total, order.status, order.at, order.day = "1", TEN, "OPEN", NOON, "monday"
    with db.upsert(Order, order_id="a", read=True) as order:
        order.total = ONE
    assert reached(db) == (TEN, ONE)
    assert db.get(Day, day="monday") == Day("monday", TEN)


@both
def test_many_puts_set_the_record_and_many_deletes_leave_it(connect: Connect) -> None:
    db = shop(connect, ALONE)
    assert db.put_many([Order("a", "1", TEN)]) == 1
    db.delete_many(Order, [Order("a", "1", TEN)])
    assert db.get(Order, order_id="a") is None
    assert reached(db) == (TEN, TEN)


@both
@pytest.mark.parametrize("schema", [SCHEMA, ALONE])
def test_missing_parent_raises_not_found_and_writes_nothing(connect: Connect, schema: Schema) -> None:
    db = shop(connect, schema)
    with pytest.raises(NotFound, match="there is no User user_id='9'"):
        db.insert(Order("a", "9", TEN, day="today"))
    assert db.get(Order, order_id="a") is None
    assert db.get(Day, day="today") is None


@both
def test_parent_is_created_on_request(connect: Connect) -> None:
    db = shop(connect)
    db.insert(Order("a", None, TWO, day="monday"))
    db.insert(Order("b", None, TEN, day="monday"))
    db.insert(Order("c", None, ONE, day="monday"))
    assert db.get(Day, day="monday") == Day("monday", TEN)


@both
def test_dates_and_moments_have_a_latest(connect: Connect) -> None:
    @dataclass
    class Person:
        name: str
        seen: datetime | None = None
        first: date | None = None

    @dataclass
    class Visit:
        name: str
        at: datetime
        on: date

    db = connect(
        Schema(
            Entity(Person, Key("P#{name}", "P")),
            Entity(
                Visit,
                Key("P#{name}", "V#{at}"),
                patterns=[Highest(Person, "seen", of="at"), Lowest(Person, "first", of="on")],
            ),
        )
    )
    db.insert(Person("Ann"))
    for hours in (1, 30, 5):
        moment = NOON + timedelta(hours=hours)
        db.insert(Visit("Ann", moment, moment.date()))
    assert db.get(Person, name="Ann") == Person("Ann", NOON + timedelta(hours=30), NOON.date())


# --- Requests -------------------------------------------------------------------------------------------------------


@both
@pytest.mark.parametrize("schema", [SCHEMA, ALONE])
def test_new_extreme_needs_two_requests_and_other_writes_one(connect: Connect, schema: Schema) -> None:
    counted = Counting(fresh())
    db = shop(connect, schema, transport=counted)

    def requests(write: Callable[[], object]) -> int:
        before = counted.sent
        write()
        return counted.sent - before

    assert requests(lambda: db.insert(Order("a", "1", TEN))) == 2
    assert requests(lambda: db.insert(Order("b", "1", TEN))) == 1
    assert requests(lambda: db.insert(Order("c", "1", Decimal(11), at=NOON))) == 2  # two of three, at once
    assert requests(lambda: db.insert(Order("d", "1", Decimal(11), at=NOON))) == 1
    assert requests(lambda: db.insert(Order("e", "1"))) == 1
    with pytest.raises(AlreadyExists):
        requests(lambda: db.insert(Order("a", "1", Decimal(99))))
    assert reached(db) == (11, TEN)


def test_missing_parent_is_reported_after_one_request() -> None:
    counted = Counting(fresh())
    db = shop(schema=ALONE, transport=counted)
    before = counted.sent
    with pytest.raises(NotFound):
        db.insert(Order("a", "9", TEN))
    assert counted.sent == before + 1


def test_update_away_from_the_extreme_touches_no_parent() -> None:
    watched = Watched()
    db = shop(schema=ALONE, observe=watched)
    db.insert(Order("a", "1", TEN, at=NOON))
    for changes in (Changes({"note": "hi"}), Changes({"at": NOON - timedelta(days=1)})):
        db.apply(Order, changes, order_id="a", read=True)
        assert watched.calls[-1].operation == "UpdateItem"


# --- Several writes in a transaction --------------------------------------------------------------------------------


@both
def test_greater_of_two_values_in_one_transaction_counts(connect: Connect) -> None:
    watched = Watched()
    db = shop(connect, observe=watched)
    with db.transaction() as tx:
        for name, total in {"a": TWO, "b": TEN, "c": ONE}.items():
            tx.insert(Order(name, "1", total, day="d"))
    # 3 orders, a user and its copy, a day
    assert len(watched.calls[-1].request["TransactItems"]) == 6
    assert reached(db) == (TEN, ONE)
    assert db.get(User, user_id="1") == User("1", "User 1", 3, TEN, ONE)
    assert wrong(SCHEMA, db._transport) == []


@both
@pytest.mark.parametrize("schema", [SCHEMA, ALONE])
def test_a_parent_is_made_changed_and_checked_in_the_same_transaction(connect: Connect, schema: Schema) -> None:
    db = shop(connect, schema)
    with db.transaction() as tx:
        tx.insert(User("4", "Four"))
        tx.insert(Order("a", "4", TEN))
    assert reached(db, "4") == (TEN, TEN)
    with db.transaction() as tx:
        with tx.update(User, user_id="4", read=True) as user:
            user.name = "Vier"
        tx.insert(Order("b", "4", ONE))
        tx.insert(Order("c", "4", Decimal(11)))
    with db.transaction() as tx:
        tx.check(User, user_id="4", where=lambda u: u.name == "Vier")
        tx.insert(Order("d", "4", Decimal(12)))
    seen = db.get(User, user_id="4")
    assert seen is not None
    assert (seen.name, seen.largest, seen.smallest) == ("Vier", 12, ONE)
    with db.transaction() as tx:
        tx.put(seen, was=seen)
        tx.insert(Order("e", "4", Decimal(13)))
    assert reached(db, "4") == (13, ONE)
    assert wrong(schema, db._transport) == []


@both
def test_false_condition_on_the_parent_raises_and_writes_nothing(connect: Connect) -> None:
    db = shop(connect)
    with pytest.raises(TransactionCancelled) as caught, db.transaction() as tx:
        tx.check(User, user_id="1", where=lambda u: u.name == "nobody")
        tx.insert(Order("a", "1", TEN))
        tx.insert(Order("b", "2", TEN))
    (failure,) = caught.value.failures
    assert failure.position == 0
    assert str(failure).startswith("User user_id='1' does not fulfil the condition of this update: name == 'nobody' &")
    assert reached(db) == reached(db, "2") == (None, None)
    assert [one for page in db.everything(Order) for one in page] == []


@both
def test_other_failures_are_reported_as_usual(connect: Connect) -> None:
    db = shop(connect)
    db.insert(Order("a", "1", ONE))
    with pytest.raises(TransactionCancelled) as caught, db.transaction() as tx:
        tx.insert(Order("b", "1", TEN))
        tx.insert(Order("a", "2", TEN))
    # b failed only because a did.
    assert [(type(one), one.position) for one in caught.value.failures] == [(AlreadyExists, 1)]
    assert reached(db) == (ONE, ONE)


def test_token_is_refused_and_a_receipt_is_taken() -> None:
    db = waiting(Schema(USER, DAY, ORDER, receipts(), indexes=INDEXES))
    db.insert(User("1"))
    with pytest.raises(TableError, match="use `once` to make it safe to repeat"), db.transaction(token="t") as tx:
        tx.insert(Order("a", "1", TEN))
    for _ in range(2):
        with once(db, "t") as tx:
            tx.insert(Order("a", "1", TEN))
    assert db.get(User, user_id="1") == User("1", "", 1, TEN, TEN)


# --- The parent -----------------------------------------------------------------------------------------------------


@both
def test_callers_cannot_write_the_attribute(connect: Connect) -> None:
    db = shop(connect, ALONE)
    with pytest.raises(TableError, match=r"User.largest is maintained by each Order.*must be None"):
        db.insert(User("5", largest=Decimal(0)))
    with pytest.raises(TableError, match="cannot be changed"), db.update(User, user_id="1") as user:
        user.largest = TEN
    seen = db.get(User, user_id="1")
    assert seen is not None
    db.insert(Order("a", "1", TEN))
    with pytest.raises(VersionConflict, match="has largest 10, not None"):
        db.put(seen, was=seen)
    now = db.get(User, user_id="1")
    assert now is not None
    db.put(replace(now, name="New"), was=now)
    assert reached(db) == (TEN, TEN)
    assert wrong(ALONE, db._transport) == []


@both
def test_a_parent_may_be_deleted_unless_its_children_are_counted(connect: Connect) -> None:
    db = shop(connect, ALONE)
    db.insert(Order("a", "1", TEN))
    db.delete(User, user_id="1", read=True)
    assert db.get(User, user_id="1") is None
    db = shop(connect)
    db.insert(Order("a", "1", TEN))
    with pytest.raises(ConditionFailed, match="has 1 Order"):
        db.delete(User, user_id="1", read=True)


def board(db: Client) -> list[str]:
    found = db.query(User, lambda u: cast("Decimal", u.largest) >= 0, order="-largest")
    return [user.user_id for user in found]


@both
def test_highest_value_can_be_in_index_keys_and_copies(connect: Connect) -> None:
    """Unlike a count, its value is known when it is written, so index keys may contain it."""
    db = shop(connect)
    db.insert(Order("a", "1", TWO))
    db.insert(Order("b", "2", TEN))
    assert board(db) == ["2", "1"]
    db.insert(Order("c", "1", Decimal(11)))
    assert board(db) == ["1", "2"]
    assert list(audit(Client(SCHEMA, "shop", db._transport))) == []


# --- With other patterns --------------------------------------------------------------------------------------------


def test_expired_item_keeps_the_highest_value(clock: ManualClock) -> None:
    @dataclass
    class Try:
        player: str
        number: int
        score: int
        expires_at: datetime | None = None

    ends = TimeToLive("expires_at", after=timedelta(days=1), clock=clock)
    schema = Schema(
        Entity(Player, Key("P#{player}", "P")),
        Entity(Try, Key("P#{player}", "T#{number}"), patterns=[ends, Highest(Player, "best", of="score")]),
    )
    db = made(schema, fresh())
    db.insert(Player("Ann"))
    db.insert(Try("Ann", 1, 7))
    clock.turn(days=2)
    assert not db.query(Try, player="Ann").items
    db.insert(Try("Ann", 1, 5))
    assert db.get(Player, player="Ann") == Player("Ann", best=7)


def test_restored_item_is_compared_with_the_highest_again() -> None:
    order = Entity(Order, ORDER.key, ORDER.indexes, patterns=[SoftDelete("deleted_at"), *ORDER.patterns])
    db = shop(schema=Schema(USER, DAY, order, indexes=INDEXES))
    db.insert(Order("a", "1", TEN))
    db.insert(Order("b", "1", TWO))
    db.delete(Order, order_id="a", read=True)
    assert reached(db) == (TEN, TWO)
    recount(db, User, user_id="1")
    assert reached(db) == (TWO, TWO)
    restore(db, Order, order_id="a")
    assert reached(db) == (TEN, TWO)


@dataclass
class Player:
    player: str
    name: str = ""
    points: int = 0
    best: int | None = None
    ends_at: datetime | None = None


@dataclass
class Game:
    player: str
    game: str
    score: int
    note: str = ""
    share: float = 0.0
    team: str = ""


@dataclass
class Team:
    team: str
    best: int | None = None
    strong: int = 0


@pytest.mark.parametrize(
    ("patterns", "message"),
    [
        ([Highest(Player, "name", of="note")], "Game.note is a string. It must be a number, date or datetime"),
        ([Highest(Player, "best", of="share")], "Player.best is a integer, and must be a number"),
        ([Lowest(Player, "points", of="score")], r"Player.points must be optional.*points: … \| None = None"),
        ([Highest(Player, "best", of="scores")], "Game has no attribute scores"),
        ([Highest(Player, "best", of="score", by={"player": "who"})], "Game has no attribute who"),
        ([Highest(Player, "best", of="score"), Lowest(Player, "best", of="score")], "best is declared twice"),
        ([Highest(Player, "best", of="score"), Summed(Player, "best", of="score")], "best is declared twice"),
    ],
)
def test_invalid_highest_is_refused_by_the_schema(patterns: list[Any], message: str) -> None:
    with pytest.raises(TableError, match=message):
        Schema(Entity(Player, Key("P#{player}", "P")), Entity(Game, Key("P#{player}", "G#{game}"), patterns=patterns))


IN_A_TEAM = {"team": "name"}


@pytest.mark.parametrize(
    ("patterns", "message"),
    [
        ([TimeToLive("ends_at")], "Player expires by ends_at, which would leave each Game without a parent"),
        (
            [Highest(Team, "best", of="best", by=IN_A_TEAM)],
            "Player.best is maintained by each Game.*Declare that for Game",
        ),
        ([Counted(Team, "strong", when=lambda p: p.best > 10, by=IN_A_TEAM)], "cannot decide how a Player counts"),
    ],
)
def test_highest_in_an_expiring_or_counted_parent_is_refused(patterns: list[Any], message: str) -> None:
    """The counts of the parent in other items would have to change with it."""
    with pytest.raises(SchemaError, match=message):
        Schema(
            Entity(Team, Key("T#{team}", "T")),
            Entity(Player, Key("P#{player}", "P"), patterns=patterns),
            Entity(Game, Key("P#{player}", "G#{game}"), patterns=[Highest(Player, "best", of="score")]),
        )


def test_several_parents_have_their_own() -> None:
    """The advice of the error above."""
    schema = Schema(
        Entity(Team, Key("T#{team}", "T")),
        Entity(Player, Key("P#{player}", "P")),
        Entity(
            Game,
            Key("P#{player}", "G#{game}"),
            patterns=[Highest(Player, "best", of="score"), Highest(Team, "best", of="score")],
        ),
    )
    db = made(schema, fresh())
    db.insert(Team("red"))
    for player, score in {"Ann": 3, "Bob": 7}.items():
        db.insert(Player(player))
        db.insert(Game(player, "1", score, team="red"))
    assert db.get(Player, player="Ann") == Player("Ann", best=3)
    assert db.get(Team, team="red") == Team("red", 7)


# --- Recount --------------------------------------------------------------------------------------------------------


def test_recount_uses_the_existing_children() -> None:
    db = shop()
    db.insert(Order("a", "1", TEN, at=NOON, day="d"))
    db.insert(Order("b", "1", TWO))
    db.delete(Order, order_id="a", read=True)
    assert recount(db, User, user_id="1") == [
        Recounted(User, {"user_id": "1"}, "largest", TEN, TWO),
        Recounted(User, {"user_id": "1"}, "latest", NOON, None),
    ]
    assert db.get(User, user_id="1") == User("1", "User 1", 1, TWO, TWO)
    assert recount(db, User, user_id="1") == []
    assert [str(one) for one in recount_all(db, Day)] == ["Day day='d': largest was 10, and is None"]
    assert list(audit(db)) == []
    assert wrong(SCHEMA, db._transport) == []


def test_audit_finds_values_never_reached_and_repair_lowers_nothing() -> None:
    db = shop()
    db.insert(Order("a", "1", TEN))
    db.delete(Order, order_id="a", read=True)
    assert list(audit(db)) == []
    bare = Schema(USER, DAY, Entity(Order, ORDER.key, ORDER.indexes), indexes=INDEXES)
    Client(bare, "shop", db._transport).insert(Order("b", "1", ONE, at=NOON, day="d"))
    found = [one for one in audit(db) if one.kind == "miscounted"]
    (finding,) = found
    assert (finding.found, finding.expected) == (
        {"orders": {"N": "0"}, "smallest": {"N": "10"}},
        {"orders": {"N": "1"}, "smallest": {"N": "1"}, "latest": {"S": "2026-05-04T12:00:00.000000Z"}},
    )
    assert repair(db, finding)
    assert db.get(User, user_id="1") == User("1", "User 1", 1, TEN, ONE, NOON)
    assert [str(one) for one in recount_all(db, Day)] == ["Day day='d': largest was None, and is 1"]
    assert list(audit(db)) == []


def test_a_child_that_is_no_record_is_noticed_by_a_recount_under_way() -> None:
    """It is lower than the stored value, and higher than the value that was counted before it came."""
    db = shop(schema=ALONE)
    db.insert(Order("a", "1", TEN))
    db.delete(Order, order_id="a")

    class Late(Counting):
        """Another order is inserted after the children were read."""

        def send(self, operation: str, body: bytes) -> bytes:
            answer = super().send(operation, body)
            if operation == "Query" and not db.get(Order, order_id="b"):
                db.insert(Order("b", "1", TWO))
            return answer

    recount(Client(ALONE, "shop", Late(db._transport)), User, user_id="1")
    assert reached(db) == (TWO, TWO)
    assert not [item for item in items(db._transport, "shop") if "recounting" in item]


# --- Laws -----------------------------------------------------------------------------------------------------------

ids, users = st.sampled_from("abc"), st.sampled_from(["1", "2", "9", None])
totals = st.one_of(st.none(), st.integers(-4, 4).map(Decimal))
times = st.one_of(st.none(), st.integers(0, 3).map(lambda hours: NOON + timedelta(hours=hours)))
orders = st.builds(
    Order, ids, users, totals, st.sampled_from(["OPEN", "CANCELLED"]), times, st.sampled_from(["x", None])
)
verbs = st.sampled_from(["insert", "put", "replace", "upsert", "update", "add", "delete"])
steps = st.tuples(verbs, orders)


def run(db: Any, there: dict[str, Order], verb: str, order: Order) -> Order | None:
    """Runs the operation; returns the order after it, None if there is none."""
    old = there.get(order.order_id)
    match verb:
        case "insert":
            db.insert(order)
        case "put":
            db.put(order, read=True)
        case "replace" if old is not None:
            db.put(order, was=old)
        case "upsert":
            changes = Changes({"user_id": order.user_id, "total": order.total, "day": order.day})
            db.apply(Order, changes, order_id=order.order_id, read=True, upsert=True)
            return replace(old or Order(order.order_id, None), user_id=order.user_id, total=order.total, day=order.day)
        case "update" if old is not None:
            with db.update(Order, order_id=order.order_id, read=True) as draft:
                draft.status, draft.total, draft.user_id = order.status, order.total, order.user_id
            return replace(old, status=order.status, total=order.total, user_id=order.user_id)
        case "add" if old is not None and old.total is not None and order.total is not None:
            db.apply(Order, Changes(adds={"total": order.total}), order_id=order.order_id, read=True)
            return replace(old, total=old.total + order.total)
        case "delete":
            db.delete(Order, order_id=order.order_id, read=True)
            return None
        case _:
            return old
    return order


@pytest.mark.parametrize("schema", [SCHEMA, ALONE])
@given(st.lists(steps, max_size=10))
@settings(max_examples=examples(40), suppress_health_check=[HealthCheck.too_slow])
def test_extreme_equals_a_model_after_any_writes(schema: Schema, writes: list[tuple[str, Order]]) -> None:
    db = shop(schema=schema)
    ever = ExpectedExtremes()
    for verb, order in writes:
        try:
            after = run(db, ever.there, verb, order)
        except (AlreadyExists, NotFound):
            continue
        if after is None:
            ever.there.pop(order.order_id, None)
        else:
            ever.put(after)
    assert {one.order_id: one for page in db.everything(Order) for one in page} == ever.there
    assert ever.wrong(db) == []
    assert wrong(schema, db._transport) == []
    assert list(audit(db)) == []


@given(st.lists(steps.filter(lambda step: step[0] != "add"), max_size=5, unique_by=lambda step: step[1].order_id))
@settings(max_examples=examples(40), suppress_health_check=[HealthCheck.too_slow])
def test_a_transaction_reaches_all_or_nothing(writes: list[tuple[str, Order]]) -> None:
    db = shop()
    ever = ExpectedExtremes()
    for order_id in "ab":
        ever.put(db.insert(Order(order_id, "1", ONE)))
    before = dict(ever.there)
    try:
        with db.transaction() as tx:
            after = [(order.order_id, run(tx, before, verb, order)) for verb, order in writes]
    except (TransactionCancelled, NotFound, AlreadyExists):
        after = []
    for order_id, order in after:
        if order is None:
            ever.there.pop(order_id, None)
        else:
            ever.put(order)
    assert {one.order_id: one for page in db.everything(Order) for one in page} == ever.there
    assert ever.wrong(db) == []
    assert wrong(SCHEMA, db._transport) == []


# --- Concurrency and faults -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("schema", [SCHEMA, ALONE])
def test_threads_lose_no_record(schema: Schema) -> None:
    with Embedded() as engine:
        db = shop(schema=schema, transport=engine)
        with ThreadPoolExecutor(4) as threads:
            totals = [one for some in threads.map(lambda number: write_orders(db, number, 6), range(4)) for one in some]
        assert reached(db) == (max(totals), min(totals))
        assert wrong(schema, engine) == []


@pytest.mark.slow
def test_processes_on_one_file_lose_no_record(tmp_path: Path) -> None:
    path = str(tmp_path / "shop.db")
    with Embedded(path) as engine:
        shop(transport=engine)
    totals = [one for some in in_processes(2, write_to_a_file, path, 6) for one in some]
    with Embedded(path) as engine:
        db = Client(SCHEMA, "shop", engine)
        assert reached(db) == (max(totals), min(totals))
        assert wrong(SCHEMA, engine) == []
        assert list(audit(db)) == []


class Meanwhile:
    """A transport that runs a function before some requests."""

    def __init__(self, inner: Any, happens: Callable[[], object], times: int) -> None:
        self._inner, self._happens, self._left = inner, happens, times

    def send(self, operation: str, body: bytes) -> bytes:
        if self._left:
            self._left -= 1
            self._happens()
        answer: bytes = self._inner.send(operation, body)
        return answer


@pytest.mark.parametrize("total", [1000, -1000, 2, -2])
def test_conflicting_write_is_repeated(total: int) -> None:
    """Another writer sets extremes before each of our requests: ours is not one any more, or replaces another."""
    db = shop(schema=ALONE)
    totals, numbers = [total], iter([1, 3, 5, 7])

    def other() -> None:
        number = next(numbers)
        for one in (number, -number):
            totals.append(one)
            db.insert(Order(f"other {one}", "1", Decimal(one)))

    Client(ALONE, "shop", Meanwhile(db._transport, other, 4)).insert(Order("a", "1", Decimal(total)))
    assert reached(db) == (max(totals), min(totals))
    assert len(totals) > 4
    assert wrong(ALONE, db._transport) == []


def test_value_lowered_meanwhile_is_reached_again() -> None:
    """One of two is the highest value; then a recount finds that the greater order is gone."""
    db = shop(schema=ALONE)
    db.insert(Order("a", "1", TEN))
    happens = iter([lambda: None, lambda: (db.delete(Order, order_id="a"), recount(db, User, user_id="1"))])
    Client(ALONE, "shop", Meanwhile(db._transport, lambda: next(happens)(), 2)).insert(Order("b", "1", TWO))
    assert reached(db) == (TWO, TWO)


def test_endless_changes_raise_conflict_and_write_nothing() -> None:
    db = shop(schema=ALONE)
    numbers = iter(range(1000))

    def other() -> None:
        with db.update(User, user_id="1", read=True) as user:
            user.name = f"name {next(numbers)}"  # so that its copy moves each time

    with pytest.raises(Conflict, match=r"User user_id='1' changed at each of 6 attempts. Nothing was written"):
        Client(ALONE, "shop", Meanwhile(db._transport, other, 1000)).insert(Order("a", "1", TEN))
    assert reached(db) == (None, None)
    assert db.get(Order, order_id="a") is None


def test_missing_copy_is_reported() -> None:
    db = shop(schema=ALONE)
    (copy,) = [item for item in items(db._transport, "shop") if item["sk"] == {"S": "1"}]
    db.call("DeleteItem", {"Key": {"pk": copy["pk"], "sk": copy["sk"]}})
    with pytest.raises(NotFound, match="the copy by-name of User user_id='1' is not there"):
        db.insert(Order("a", "1", TEN))
    assert db.get(Order, order_id="a") is None


def _several(transport: Any) -> None:
    with Client(SCHEMA, "shop", transport).transaction() as tx:
        tx.insert(Order("a", "1", TEN, day="d"))
        tx.insert(Order("b", "2", TWO, day="e"))


def _changed(transport: Any) -> None:
    with Client(SCHEMA, "shop", transport).update(Order, order_id="z", read=True) as order:
        order.user_id, order.total, order.day = "2", TEN, "e"


ACTS: list[Callable[[Any], object]] = [
    lambda transport: Client(SCHEMA, "shop", transport).insert(Order("a", "1", TEN)),
    _several,
    _changed,
    lambda transport: Client(SCHEMA, "shop", transport).put(Order("z", "1", TEN, day="d"), read=True),
]


@pytest.mark.parametrize("act", ACTS)
def test_extreme_is_right_after_any_lost_request(act: Callable[[Any], object]) -> None:
    def begin() -> Any:
        db = shop()
        db.insert(Order("z", "1", ONE, day="d"))
        return db._transport

    def check(transport: Any) -> None:
        db, ever = Client(SCHEMA, "shop", transport), ExpectedExtremes()
        ever.put(Order("z", "1", ONE, day="d"))
        for order in [one for page in db.everything(Order, consistent=True) for one in page]:
            ever.put(order)
        assert ever.wrong(db) == []
        assert wrong(SCHEMA, transport) == []

    assert with_every_fault(begin, act, check) >= 4


# --- Cost -----------------------------------------------------------------------------------------------------------


@dataclass
class Post:
    post_id: str
    likes: int | None = None
    comments: int = 0


@dataclass
class Comment:
    post_id: str
    comment_id: str
    likes: int = 0
    text: str = ""


def plain(*more: Any) -> Schema:
    return Schema(
        Entity(Post, Key("POST#{post_id}", "POST")),
        Entity(
            Comment, Key("POST#{post_id}", "COMMENT#{comment_id}"), patterns=[Highest(Post, "likes", of="likes"), *more]
        ),
    )


def test_cost_is_as_documented() -> None:
    watched = Watched()
    db = waiting(plain(), observe=watched)
    db.insert(Post("1"))
    key: dict[str, Any] = {"post_id": "1", "comment_id": "a"}
    costs = {}
    for name, act in {
        "record": lambda: db.insert(Comment("1", "a", 5)),
        "insert": lambda: db.insert(Comment("1", "b", 4)),
        "raised": lambda: db.apply(Comment, Changes({"likes": 6}), **key),
        "lowered": lambda: db.apply(Comment, Changes({"likes": -1}), read=True, **key),
        "text": lambda: db.apply(Comment, Changes({"text": "hi"}), **key),
        "delete": lambda: db.delete(Comment, **key),
    }.items():
        act()
        costs[name] = watched.calls[-1].units
    assert costs == {"record": 4.0, "insert": 4.0, "raised": 4.0, "lowered": 1.0, "text": 1.0, "delete": 1.0}
    assert "4 write units instead of 1" in " ".join((inspect.getdoc(Highest) or "").split())


def test_extreme_costs_nothing_with_a_count() -> None:
    watched = Watched()
    db = waiting(plain(Counted(Post, "comments")), observe=watched)
    db.insert(Post("1"))
    for likes in (1, 0):
        db.insert(Comment("1", str(likes), likes))
        assert watched.calls[-1].units == 4.0


def test_more_than_a_transaction_takes_is_refused_before_the_call() -> None:
    watched = Watched()
    db = waiting(plain(), observe=watched)
    db.insert(Post("1"))
    sent = len(watched.calls)
    with pytest.raises(TooMany, match="at most 100 actions, and this one has 101"), db.transaction() as tx:
        for number in range(100):
            tx.insert(Comment("1", str(number), number))
    assert len(watched.calls) == sent
    with db.transaction() as tx:
        for number in range(99):
            tx.insert(Comment("1", str(number), number))
    assert db.get(Post, post_id="1") == Post("1", 98)
