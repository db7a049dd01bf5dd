"""Counts and sums of an item's children are correct after every write, also with concurrent writers and faults."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from datetime import datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.patterns.counting import (
    DAY,
    ORDER,
    SCHEMA,
    USER,
    Day,
    Order,
    User,
    add_and_remove,
    write_orders,
    wrong_counts,
)
from tests.patterns.faults import in_processes, made, with_every_fault, wrong
from tests.place import examples, fresh
from tests.table.both import Connect, Watched, both, waiting

from prejoin import (
    AlreadyExists,
    Changes,
    Client,
    ConditionFailed,
    Counted,
    Entity,
    Index,
    Key,
    NotFound,
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
    add,
    restore,
)
from prejoin.engine import Embedded

TEN, FIVE = Decimal(10), Decimal(5)


def shop(connect: Connect = waiting, **more: Any) -> Client:
    db = connect(SCHEMA, **more)
    for name in "123":
        db.insert(User(name, f"User {name}"))
    return db


def counts(db: Client, user_id: str = "1") -> tuple[int, int, Decimal]:
    user = db.get(User, user_id=user_id, consistent=True)
    assert user is not None
    return user.orders, user.open_orders, user.spent


# --- Every path -----------------------------------------------------------------------------------------------------


@both
def test_an_insert_counts_and_a_delete_takes_off(connect: Connect) -> None:
    db = shop(connect)
    db.insert(Order("a", "1", total=TEN))
    db.insert(Order("b", "1", "DONE", FIVE))
    assert counts(db) == (2, 1, Decimal(15))
    db.delete(Order, order_id="a", read=True)
    assert counts(db) == (1, 0, FIVE)
    db.delete(Order, order_id="b", user_id="1", status="DONE", total=FIVE, day=None, number=None)
    assert counts(db) == (0, 0, Decimal(0))
    assert wrong_counts(db) == []


@both
def test_put_with_was_changes_only_differences(connect: Connect) -> None:
    db = shop(connect)
    first = db.insert(Order("a", "1", total=TEN))
    second = replace(first, total=FIVE, status="DONE")
    db.put(second, was=first)
    assert counts(db) == (1, 0, FIVE)
    db.put(replace(second, user_id="2"), read=True)
    assert counts(db) == (0, 0, Decimal(0))
    assert counts(db, "2") == (1, 0, FIVE)
    db.put(Order("new", "2"), read=True)
    assert counts(db, "2") == (2, 1, FIVE)


@both
def test_put_without_was_is_refused(connect: Connect) -> None:
    db = shop(connect)
    with pytest.raises(UnknownValue, match="read=True"):
        db.put(Order("a", "1"))


def test_put_of_a_deleted_item_is_not_a_replacement() -> None:
    db = shop()
    first = db.insert(Order("a", "1"))
    db.delete(Order, order_id="a", read=True)
    with pytest.raises(NotFound):
        db.put(replace(first, total=TEN), was=first)
    assert counts(db) == (0, 0, Decimal(0))


@both
def test_an_update_enters_and_leaves_with_its_condition(connect: Connect) -> None:
    db = shop(connect)
    db.insert(Order("a", "1", total=TEN))
    with db.update(Order, order_id="a", read=True) as order:
        order.status = "CANCELLED"
    assert counts(db) == (1, 0, Decimal(0))
    with db.update(Order, order_id="a", read=True) as order:
        order.status = "DONE"
        order.total = FIVE
    assert counts(db) == (1, 0, FIVE)
    with db.update(Order, order_id="a", user_id="1", status="DONE", total=FIVE) as order:
        order.status = "OPEN"
    assert counts(db) == (1, 1, FIVE)


@both
def test_an_update_to_another_parent_moves_the_count(connect: Connect) -> None:
    db = shop(connect)
    db.insert(Order("a", "1", total=TEN))
    with db.update(Order, order_id="a", read=True) as order:
        order.user_id = "2"
    assert counts(db) == (0, 0, Decimal(0))
    assert counts(db, "2") == (1, 1, TEN)
    with db.update(Order, order_id="a", read=True) as order:
        order.user_id = None
    assert counts(db, "2") == (0, 0, Decimal(0))
    with (
        pytest.raises(NotFound, match="there is no User user_id='nobody'"),
        db.update(Order, order_id="a", read=True) as order,
    ):
        order.user_id = "nobody"
    found = db.get(Order, order_id="a")
    assert found is not None
    assert found.user_id is None


@both
def test_an_update_by_an_amount_needs_no_old_amount(connect: Connect) -> None:
    db = shop(connect)
    db.insert(Order("a", "1", total=TEN))
    with db.update(Order, order_id="a", user_id="1", status="OPEN") as order:
        order.total += FIVE  # type: ignore[operator]
    with db.update(Order, order_id="a", user_id="1", status="OPEN") as order:
        order.total -= Decimal(2)  # type: ignore[operator]
    db.apply(Order, Changes(adds={"total": Decimal(1)}), order_id="a", user_id="1", status="OPEN")
    assert counts(db) == (1, 1, Decimal(14))


@both
def test_update_of_uncounted_attributes_touches_no_parent(connect: Connect) -> None:
    watched = Watched()
    db = shop(connect, observe=watched)
    db.insert(Order("a", "1"))
    with db.update(Order, order_id="a", number=None) as order:
        order.number = "n1"
    said = str(watched.calls[-1].request)
    assert "USER#1" not in said


@both
def test_update_without_the_old_value_is_refused_with_a_message(connect: Connect) -> None:
    db = shop(connect)
    db.insert(Order("a", "1", total=TEN))
    with (
        pytest.raises(UnknownValue, match=r"User\.spent.*read=True"),
        db.update(Order, order_id="a", user_id="1", status="OPEN") as order,
    ):
        order.total = FIVE


@both
def test_wrong_known_value_raises_and_writes_nothing(connect: Connect) -> None:
    db = shop(connect)
    db.insert(Order("a", "1", total=TEN))
    with (
        pytest.raises(ConditionFailed),
        db.update(Order, order_id="a", user_id="1", status="OPEN", total=Decimal(11)) as order,
    ):
        order.total = FIVE
    with pytest.raises(ConditionFailed):
        db.delete(Order, order_id="a", user_id="2", status="OPEN", total=TEN, day=None, number=None)
    assert wrong_counts(db) == []


@both
def test_upsert_with_read_counts_a_new_item(connect: Connect) -> None:
    db = shop(connect)
    with pytest.raises(UnknownValue, match="read=True"), db.upsert(Order, order_id="a") as order:
        order.user_id = "1"
    for total in (TEN, FIVE):
        with db.upsert(Order, order_id="a", read=True) as order:
            order.user_id = "1"
            order.total = total
        assert counts(db) == (1, 1, total)


@both
def test_second_delete_does_not_change_the_count(connect: Connect) -> None:
    db = shop(connect)
    known: dict[str, Any] = {"user_id": "1", "status": "OPEN", "total": TEN, "day": None, "number": None}
    db.insert(Order("a", "1", total=TEN))
    db.insert(Order("b", "1"))
    db.delete(Order, order_id="a", **known)
    with pytest.raises(NotFound):
        db.delete(Order, order_id="a", **known)
    db.delete(Order, order_id="a", read=True)
    assert counts(db) == (1, 1, Decimal(0))


@both
def test_missing_parent_raises_not_found_and_writes_nothing(connect: Connect) -> None:
    db = shop(connect)
    with pytest.raises(NotFound, match="there is no User user_id='9'"):
        db.insert(Order("a", "9", day="today"))
    assert db.get(Order, order_id="a") is None
    assert db.get(Day, day="today") is None


@both
def test_one_without_a_parent_counts_nowhere(connect: Connect) -> None:
    db = shop(connect)
    db.insert(Order("a", None, total=TEN))
    assert wrong_counts(db) == []
    with db.update(Order, order_id="a", read=True) as order:
        order.user_id = "1"
    assert counts(db) == (1, 1, TEN)


@both
def test_a_parent_that_is_made_has_its_key_its_defaults_and_its_type(connect: Connect) -> None:
    db = shop(connect)
    db.insert(Order("a", None, day="monday"))
    assert db.get(Day, day="monday") == Day("monday", 1)
    db.insert(Order("b", None, day="monday"))
    db.delete(Order, order_id="a", read=True)
    db.delete(Order, order_id="b", read=True)
    assert db.get(Day, day="monday") == Day("monday", 0)
    db.delete(Day, day="monday")


@both
def test_many_are_counted_if_they_may_be_read_first(connect: Connect) -> None:
    db = shop(connect)
    for write in (lambda: db.put_many([Order("a", "1")]), lambda: db.delete_many(Order, [Order("a", "1")])):
        with pytest.raises(UnknownValue, match="read=True"):
            write()
    assert db.put_many([Order("a", "1"), Order("b", "1")], read=True) == 2
    assert db.delete_many(Order, [Order("a", "1")], read=True) == 1
    user = db.get(User, user_id="1")
    assert user
    assert user.orders == 1


def test_copies_of_the_parent_have_the_count_too() -> None:
    db = shop()
    db.insert(Order("a", "1"))
    assert wrong(SCHEMA, db._transport) == []


# --- Several writes in a transaction --------------------------------------------------------------------------------


@both
def test_two_orders_of_one_user_in_one_transaction_are_one_addition(connect: Connect) -> None:
    watched = Watched()
    db = shop(connect, observe=watched)
    with db.transaction() as tx:
        tx.insert(Order("a", "1", total=TEN, day="d"))
        tx.insert(Order("b", "1", total=FIVE, day="d"))
        tx.insert(Order("c", "2", total=FIVE, day="d"))
    assert watched.calls[-1].operation == "TransactWriteItems"
    # 3 orders, 2 users and a copy of each, 1 day
    assert len(watched.calls[-1].request["TransactItems"]) == 8
    assert counts(db) == (2, 2, Decimal(15))
    assert wrong_counts(db) == []


@both
def test_a_parent_is_made_and_changed_in_the_same_transaction_as_its_children(connect: Connect) -> None:
    db = shop(connect)
    with db.transaction() as tx:
        tx.insert(User("4", "Four"))
        tx.insert(Order("a", "4", total=TEN))
    with db.transaction() as tx:
        with tx.update(User, user_id="4") as user:
            user.name = "Vier"
        tx.insert(Order("b", "4"))
    with db.transaction() as tx:
        tx.check(User, user_id="4", where=lambda u: u.name == "Vier")
        tx.insert(Order("c", "4"))
    assert db.get(User, user_id="4") == User("4", "Vier", 3, 3, TEN)


@both
def test_an_order_that_cannot_be_written_is_not_counted(connect: Connect) -> None:
    db = shop(connect)
    db.insert(Order("a", "1", number="n"))
    with pytest.raises(AlreadyExists):
        db.insert(Order("a", "1"))
    with pytest.raises(TransactionCancelled), db.transaction() as tx:
        tx.insert(Order("b", "1"))
        tx.insert(Order("c", "1", number="n"))
    assert counts(db) == (1, 1, Decimal(0))


def test_count_of_counted_items() -> None:
    @dataclass
    class Country:
        country: str
        cities: int = 0

    @dataclass
    class City:
        country: str
        city: str

    schema = Schema(
        Entity(Country, Key("C#{country}", "C")),
        Entity(City, Key("C#{country}", "CITY#{city}"), patterns=[Counted(Country, "cities")]),
    )
    db = made(schema, fresh())
    with db.transaction() as tx:
        tx.insert(Country("de"))
        for name in ("Bonn", "Köln"):
            tx.insert(City("de", name))
    assert db.get(Country, country="de") == Country("de", 2)


# --- The parent -----------------------------------------------------------------------------------------------------


@both
def test_callers_cannot_write_a_count(connect: Connect) -> None:
    db = shop(connect)
    with pytest.raises(TableError, match=r"User.orders is maintained by each Order"):
        db.insert(User("5", orders=3))
    with pytest.raises(TableError, match="cannot be changed"), db.update(User, user_id="1") as user:
        user.orders = add(user.orders, 1)
    with pytest.raises(TableError, match="cannot be changed"), db.upsert(User, user_id="1") as user:
        user.orders = 7


@both
def test_a_put_of_a_parent_holds_only_for_the_counts_it_saw(connect: Connect) -> None:
    db = shop(connect)
    seen = db.get(User, user_id="1")
    assert seen is not None
    db.put(replace(seen, name="First"), was=seen)
    db.insert(Order("a", "1"))
    with pytest.raises(VersionConflict, match="has orders 1, not 0"):
        db.put(replace(seen, name="Second"), was=replace(seen, name="First"))
    again = db.get(User, user_id="1")
    assert again is not None
    db.put(replace(again, name="Third"), was=again)
    assert db.get(User, user_id="1") == User("1", "Third", 1, 1)
    with db.update(User, user_id="1") as user:
        user.name = "Fourth"
    assert wrong_counts(db) == []


@both
def test_a_parent_with_children_is_not_deleted(connect: Connect) -> None:
    db = shop(connect)
    db.insert(Order("a", "1"))
    with pytest.raises(ConditionFailed, match=r"User user_id='1' has 1 Order. Delete these first"):
        db.delete(User, user_id="1")
    db.delete(Order, order_id="a", read=True)
    db.delete(User, user_id="1")
    assert db.get(User, user_id="1") is None


def test_a_parent_whose_children_are_only_summed_is_never_deleted() -> None:
    @dataclass
    class Account:
        account_id: str
        balance: int = 0

    @dataclass
    class Entry:
        account_id: str
        entry_id: str
        amount: int

    schema = Schema(
        Entity(Account, Key("A#{account_id}", "A")),
        Entity(Entry, Key("A#{account_id}", "E#{entry_id}"), patterns=[Summed(Account, "balance", of="amount")]),
    )
    db = made(schema, fresh())
    db.insert(Account("1"))
    db.insert(Entry("1", "a", 5))
    db.insert(Entry("1", "b", -5))
    with pytest.raises(TableError, match=r'Add Counted\(Account, "…"\) to the patterns of Entry'):
        db.delete(Account, account_id="1")


# --- With other patterns --------------------------------------------------------------------------------------------


def test_soft_deleted_item_is_not_counted_until_restored() -> None:
    order = Entity(Order, ORDER.key, ORDER.indexes, patterns=[SoftDelete("deleted_at"), *ORDER.patterns])
    db = waiting(Schema(USER, DAY, order, indexes=[Index("gsi1"), Index("gsi2")]))
    db.insert(User("1"))
    db.insert(Order("a", "1", total=TEN))
    db.delete(Order, order_id="a", read=True)
    assert counts(db) == (0, 0, Decimal(0))
    restore(db, Order, order_id="a")
    assert counts(db) == (1, 1, TEN)


@dataclass
class Visit:
    user_id: str
    visit_id: str
    expires_at: datetime | None = None
    amount: float = 0.0
    day: int = 0


@pytest.mark.parametrize(
    ("patterns", "message"),
    [
        ([TimeToLive("expires_at"), Counted(User, "orders")], "when DynamoDB deletes a Visit by its expires_at"),
        ([Counted(Day, "orders")], r"by=\{'day': …\}|is a integer"),
        ([Counted(User, "name")], "User.name is a string, and must be a integer"),
        ([Summed(User, "spent", of="amount")], "It must be int or Decimal"),
        ([Counted(User, "orders", by={"id": "user_id"})], "id is not in the key of User"),
        ([Counted(User, "orders", by={"user_id": "who"})], "Visit has no attribute who"),
        ([Counted(Order, "orders")], "Order is not an entity of this schema"),
        ([Counted(User, "orders", shards=1)], "shards is 1, and must be from 2 to 99"),
        ([Counted(User, "orders", shards=4, create=True)], "Leave out create"),
    ],
)
def test_invalid_count_is_refused_by_the_schema(patterns: list[Any], message: str) -> None:
    with pytest.raises(SchemaError, match=message):
        Schema(USER, DAY, Entity(Visit, Key("U#{user_id}", "V#{visit_id}"), patterns=patterns))


def test_a_count_in_a_key_of_our_making_is_refused_and_one_in_an_index_of_its_own_is_sorted_by() -> None:
    @dataclass
    class Player:
        player_id: str
        league: str
        wins: int = 0

    @dataclass
    class Win:
        player_id: str
        match: str

    win = Entity(Win, Key("P#{player_id}", "W#{match}"), patterns=[Counted(Player, "wins")])
    ranked = Entity(Player, Key("P#{player_id}", "P"), indexes={"gsi1": Key("L#{league}", "{wins}")})
    with pytest.raises(SchemaError, match="wins is part of a key template of Player in gsi1"):
        Schema(ranked, win, indexes=[Index("gsi1")])
    schema = Schema(Entity(Player, Key("P#{player_id}", "P")), win, indexes=[Index("by-wins", pk="league", sk="wins")])
    db = made(schema, fresh())
    for name in ("a", "b"):
        db.insert(Player(name, "1"))
    db.insert(Win("b", "1"))
    assert [player.player_id for player in db.query(Player, league="1", order="-wins")] == ["b", "a"]


# --- Laws -----------------------------------------------------------------------------------------------------------

ids, users = st.sampled_from("abc"), st.sampled_from(["1", "2", None])
statuses = st.sampled_from(["OPEN", "DONE", "CANCELLED"])
totals = st.one_of(st.none(), st.integers(-3, 9).map(Decimal))
orders = st.builds(Order, ids, users, statuses, totals, st.sampled_from(["x", "y", None]), st.none())


@dataclass
class Step:
    verb: str
    order: Order
    amount: Decimal = field(default=Decimal(1))

    def run(self, db: Any, there: dict[str, Order]) -> None:
        """Runs the operation, and changes the expected orders."""
        order, old = self.order, there.get(self.order.order_id)
        match self.verb:
            case "insert":
                db.insert(order)
                there[order.order_id] = order
            case "put":
                db.put(order, read=True)
                there[order.order_id] = order
            case "replace" if old is not None:
                db.put(order, was=old)
                there[order.order_id] = order
            case "upsert":
                changes = Changes({"user_id": order.user_id, "status": order.status, "total": order.total})
                db.apply(Order, changes, order_id=order.order_id, read=True, upsert=True)
                made = old or Order(order.order_id, None)
                there[order.order_id] = replace(made, user_id=order.user_id, status=order.status, total=order.total)
            case "update" if old is not None:
                with db.update(Order, order_id=order.order_id, read=True) as draft:
                    draft.status, draft.total, draft.user_id, draft.day = (
                        order.status,
                        order.total,
                        order.user_id,
                        order.day,
                    )
                there[order.order_id] = order
            case "add" if old is not None and old.total is not None:
                db.apply(
                    Order,
                    Changes(adds={"total": self.amount}),
                    order_id=order.order_id,
                    user_id=old.user_id,
                    status=old.status,
                )
                there[order.order_id] = replace(old, total=old.total + self.amount)
            case "delete":
                db.delete(Order, order_id=order.order_id, read=True)
                there.pop(order.order_id, None)
            case _:
                pass


verbs = st.sampled_from(["insert", "put", "replace", "upsert", "update", "add", "delete"])
steps = st.builds(Step, verbs, orders, st.integers(-2, 4).map(Decimal))


@given(st.lists(steps, max_size=12))
@settings(max_examples=examples(60), suppress_health_check=[HealthCheck.too_slow])
def test_counts_equal_a_model_after_any_writes(writes: list[Step]) -> None:
    db = shop()
    there: dict[str, Order] = {}
    for step in writes:
        before = dict(there)
        try:
            step.run(db, there)
        except (AlreadyExists, NotFound):
            there = before
    found = {one.order_id: one for page in db.everything(Order) for one in page}
    assert found == there
    assert wrong_counts(db) == []


@given(st.lists(steps.filter(lambda s: s.verb != "add"), max_size=6, unique_by=lambda s: s.order.order_id))
@settings(max_examples=examples(40), suppress_health_check=[HealthCheck.too_slow])
def test_a_transaction_counts_all_or_nothing(writes: list[Step]) -> None:
    db = shop()
    there: dict[str, Order] = {}
    for order_id in "ab":
        there[order_id] = db.insert(Order(order_id, "1", total=TEN))
    after = dict(there)
    try:
        with db.transaction() as tx:
            for step in writes:
                step.run(tx, after)
    except (TransactionCancelled, NotFound, AlreadyExists):
        after = there
    assert {one.order_id: one for page in db.everything(Order) for one in page} == after
    assert wrong_counts(db) == []


# --- Concurrency and faults -----------------------------------------------------------------------------------------


def test_threads_lose_no_count() -> None:
    with Embedded() as engine:
        db = shop(transport=engine)
        with ThreadPoolExecutor(4) as threads:
            left = sum(threads.map(lambda number: write_orders(db, number, 9), range(4)))
        assert counts(db)[0] == left == 24
        assert wrong_counts(db) == []


@pytest.mark.slow
def test_processes_on_one_file_lose_no_count(tmp_path: Path) -> None:
    path = str(tmp_path / "shop.db")
    with Embedded(path) as engine:
        shop(transport=engine)
    left = in_processes(2, add_and_remove, path, 9)
    with Embedded(path) as engine:
        db = Client(SCHEMA, "shop", engine)
        assert counts(db)[0] == sum(left)
        assert wrong_counts(db) == []
        assert wrong(SCHEMA, engine) == []


def _two_orders(transport: Any) -> None:
    with Client(SCHEMA, "shop", transport).transaction() as tx:
        tx.insert(Order("a", "1", total=TEN, day="d"))
        tx.insert(Order("b", "1", total=FIVE))


def _changed(transport: Any) -> None:
    with Client(SCHEMA, "shop", transport).update(Order, order_id="z", read=True) as order:
        order.user_id, order.total, order.day = "2", FIVE, "e"


ACTS: list[Callable[[Any], object]] = [
    lambda transport: Client(SCHEMA, "shop", transport).insert(Order("a", "1", number="q")),
    _two_orders,
    _changed,
    lambda transport: Client(SCHEMA, "shop", transport).delete(Order, order_id="z", read=True),
    lambda transport: Client(SCHEMA, "shop", transport).put(Order("z", "2"), read=True),
]


@pytest.mark.parametrize("act", ACTS)
def test_counts_are_right_after_any_lost_request(act: Callable[[Any], object]) -> None:
    def begin() -> Any:
        db = shop()
        db.insert(Order("z", "1", total=TEN, day="d", number="n"))
        return db._transport

    def check(transport: Any) -> None:
        assert wrong_counts(Client(SCHEMA, "shop", transport)) == []
        assert wrong(SCHEMA, transport) == []

    assert with_every_fault(begin, act, check) >= 2


def test_repeated_write_after_a_lost_response_is_counted_once() -> None:
    """The token of a transaction makes a repetition safe: the same bytes are not applied again."""
    db = shop()
    kept: list[tuple[str, bytes]] = []

    class Recorded:
        def send(self, operation: str, body: bytes) -> bytes:
            kept.append((operation, body))
            return db._transport.send(operation, body)

    Client(SCHEMA, "shop", Recorded()).insert(Order("a", "1"))
    db._transport.send(*kept[-1])
    assert counts(db) == (1, 1, Decimal(0))


# --- Cost -----------------------------------------------------------------------------------------------------------


@dataclass
class Post:
    post_id: str
    comments: int = 0


@dataclass
class Comment:
    post_id: str
    comment_id: str
    text: str = ""


PLAIN = Schema(
    Entity(Post, Key("POST#{post_id}", "POST")),
    Entity(Comment, Key("POST#{post_id}", "COMMENT#{comment_id}"), patterns=[Counted(Post, "comments")]),
)


def costs(db: Client, watched: Watched) -> dict[str, float]:
    """Write units of each operation on a counted item."""
    db.insert(Post("1"))
    said = {}
    for name, act in {
        "insert": lambda: db.insert(Comment("1", "a")),
        "update": lambda: db.apply(Comment, Changes({"text": "hi"}), post_id="1", comment_id="a"),
        "delete": lambda: db.delete(Comment, post_id="1", comment_id="a"),
    }.items():
        act()
        said[name] = watched.calls[-1].units
    return said


def test_cost_is_as_documented() -> None:
    watched = Watched()
    assert costs(waiting(PLAIN, observe=watched), watched) == {"insert": 4.0, "update": 1.0, "delete": 4.0}
    assert "4 write units instead of 1" in (inspect.getdoc(Counted) or "")


def test_a_guard_that_frees_and_takes_again_is_one_action() -> None:
    """A transaction moves a number from one order to another."""
    db = shop()
    first = db.insert(Order("a", "1", number="n"))
    with db.transaction() as tx:
        tx.put(replace(first, number=None), was=first)
        tx.insert(Order("b", "1", number="n"))
    assert wrong(SCHEMA, db._transport) == []
    assert counts(db)[0] == 2


def test_more_than_a_transaction_takes_is_refused_before_the_call() -> None:
    watched = Watched()
    db = waiting(PLAIN, observe=watched)
    db.insert(Post("1"))
    sent = len(watched.calls)
    with pytest.raises(TooMany, match="at most 100 actions, and this one has 101"), db.transaction() as tx:
        for number in range(100):
            tx.insert(Comment("1", str(number)))
    assert len(watched.calls) == sent
    with db.transaction() as tx:
        for number in range(99):
            tx.insert(Comment("1", str(number)))
    assert db.get(Post, post_id="1") == Post("1", 99)
