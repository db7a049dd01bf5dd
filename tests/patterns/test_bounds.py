"""Bounds: no write stores a number below its least value or above its greatest."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from itertools import count, product
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.patterns.test_bulk import all_of
from tests.table.both import Connect, Watched, both, waiting

from prejoin import (
    Bounds,
    Changes,
    Client,
    CodecError,
    ConditionFailed,
    Copy,
    Entity,
    Index,
    Key,
    NotFound,
    PartlyWritten,
    Schema,
    SchemaError,
    ShardedCounter,
    SoftDelete,
    TableError,
    TransactionCancelled,
    Unique,
    Version,
    add,
    bulk_delete,
    bulk_load,
    bulk_update,
    delete_collection,
    if_absent,
    with_counts,
)
from prejoin.table.write.actions import update_item
from prejoin.table.write.from_call import update_write

LEAST, GREATEST = 2, 10


@dataclass
class Whole:
    item_id: str
    number: int
    note: str = ""


@dataclass
class MaybeWhole:
    item_id: str
    number: int | None = None
    note: str = ""


@dataclass
class Exact:
    item_id: str
    number: Decimal
    note: str = ""


@dataclass
class MaybeExact:
    item_id: str
    number: Decimal | None = None
    note: str = ""


@dataclass
class Rough:
    item_id: str
    number: float
    note: str = ""


CLASSES = (Whole, MaybeWhole, Exact, MaybeExact, Rough)
OPTIONAL = (MaybeWhole, MaybeExact)
BOUNDS: tuple[dict[str, int], ...] = ({"min": LEAST}, {"max": GREATEST}, {"min": LEAST, "max": GREATEST})
VALUES = (LEAST - 1, LEAST, LEAST + 3, GREATEST, GREATEST + 1)
"""Below, at the least, inside, at the greatest, above."""


def stored_numbers(db: Client) -> list[int]:
    return sorted(item.number for item in all_of(db, Whole))


def schema_of(cls: type[Any], bounds: dict[str, Any], *more: Any) -> Schema:
    return Schema(Entity(cls, Key("ITEM#{item_id}", "ITEM"), patterns=[Bounds("number", **bounds), *more]))


def typed(cls: type[Any], number: float | None) -> Any:
    if number is None:
        return None
    if cls in (Exact, MaybeExact):
        return Decimal(number)
    return float(number) if cls is Rough else number


def is_within(number: float | None, bounds: dict[str, int]) -> bool:
    return number is None or bounds.get("min", number) <= number <= bounds.get("max", number)


# --- Values that are given


def insert(db: Client, cls: type[Any], item_id: str, value: Any) -> None:
    db.insert(cls(item_id, value))


def put(db: Client, cls: type[Any], item_id: str, value: Any) -> None:
    db.put(cls(item_id, value))


def put_reading(db: Client, cls: type[Any], item_id: str, value: Any) -> None:
    db.put(cls(item_id, value), read=True)


def insert_many(db: Client, cls: type[Any], item_id: str, value: Any) -> None:
    db.insert_many([cls(item_id, value)])


def put_many(db: Client, cls: type[Any], item_id: str, value: Any) -> None:
    db.put_many([cls(item_id, value)])


def insert_in_transaction(db: Client, cls: type[Any], item_id: str, value: Any) -> None:
    with db.transaction() as tx:
        tx.insert(cls(f"{item_id}b", typed(cls, LEAST)))
        tx.insert(cls(item_id, value))


def put_in_transaction(db: Client, cls: type[Any], item_id: str, value: Any) -> None:
    with db.transaction() as tx:
        tx.insert(cls(f"{item_id}b", typed(cls, LEAST)))
        tx.put(cls(item_id, value))


def upsert(db: Client, cls: type[Any], item_id: str, value: Any) -> None:
    with db.upsert(cls, item_id=item_id) as item:
        item.number = value


def upsert_if_absent(db: Client, cls: type[Any], item_id: str, value: Any) -> None:
    with db.upsert(cls, item_id=item_id) as item:
        item.number = if_absent(item.number, value)


def set_value(db: Client, cls: type[Any], item_id: str, value: Any) -> None:
    with db.update(cls, item_id=item_id) as item:
        item.number = value


def set_reading(db: Client, cls: type[Any], item_id: str, value: Any) -> None:
    with db.update(cls, item_id=item_id, read=True) as item:
        item.number = value


def apply_value(db: Client, cls: type[Any], item_id: str, value: Any) -> None:
    db.apply(cls, Changes({"number": value}), item_id=item_id)


def set_in_transaction(db: Client, cls: type[Any], item_id: str, value: Any) -> None:
    with db.transaction() as tx:
        tx.insert(cls(f"{item_id}b", typed(cls, LEAST)))
        with tx.update(cls, item_id=item_id) as item:
            item.number = value


NEW = (insert, put, put_reading, insert_many, put_many, insert_in_transaction, put_in_transaction, upsert)
EXISTING = (set_value, set_reading, apply_value, set_in_transaction, upsert, put, put_in_transaction)


@both
@pytest.mark.parametrize("cls", CLASSES)
def test_a_given_value_beyond_a_bound_is_refused_before_anything_is_sent(connect: Connect, cls: type[Any]) -> None:
    item_ids = map(str, count())
    for bounds in BOUNDS:
        watched = Watched()
        db = connect(schema_of(cls, bounds), observe=watched)
        for write, is_new, value in [
            *product((*NEW, upsert_if_absent), [True], VALUES),
            *product(EXISTING, [False], VALUES),
        ]:
            item_id = next(item_ids)
            before = None if is_new else cls(item_id, typed(cls, LEAST))
            if before is not None:
                db.insert(before)
            watched.calls.clear()
            given_value = typed(cls, value)
            if is_within(value, bounds):
                write(db, cls, item_id, given_value)
                assert db.get(cls, item_id=item_id) == cls(item_id, given_value), (write, bounds, value)
            else:
                bound = "its least value is" if value < LEAST else "its greatest value is"
                with pytest.raises(
                    CodecError, match=rf"^{cls.__name__}.number is {given_value}, and {bound} \d"
                ) as error:
                    write(db, cls, item_id, given_value)
                assert isinstance(error.value, ValueError)
                assert error.value.attribute == "number"
                assert watched.calls == []
                assert db.get(cls, item_id=item_id) == before


@both
@pytest.mark.parametrize("cls", OPTIONAL)
def test_an_absent_value_is_within_all_bounds(connect: Connect, cls: type[Any]) -> None:
    for bounds in BOUNDS:
        db = connect(schema_of(cls, bounds))
        for write in NEW[:-1]:
            write(db, cls, write.__name__, None)
            assert db.get(cls, item_id=write.__name__) == cls(write.__name__)
        for write in EXISTING[:4]:
            db.put(cls(write.__name__, typed(cls, LEAST)))
            write(db, cls, write.__name__, None)
            assert db.get(cls, item_id=write.__name__) == cls(write.__name__)


# --- Results that DynamoDB computes


def plus(db: Client, cls: type[Any], item_id: str, amount: Any) -> None:
    with db.update(cls, item_id=item_id) as item:
        item.number += amount


def minus(db: Client, cls: type[Any], item_id: str, amount: Any) -> None:
    with db.update(cls, item_id=item_id) as item:
        item.number -= -amount


def plus_reading(db: Client, cls: type[Any], item_id: str, amount: Any) -> None:
    with db.update(cls, item_id=item_id, read=True) as item:
        item.number += amount


def plus_in_transaction(db: Client, cls: type[Any], item_id: str, amount: Any) -> None:
    with db.transaction() as tx:
        tx.put(cls(f"{item_id}b", typed(cls, LEAST)))
        with tx.update(cls, item_id=item_id) as item:
            item.number += amount


def plus_with_condition(db: Client, cls: type[Any], item_id: str, amount: Any) -> None:
    with db.update(cls, item_id=item_id, where=lambda i: (i.note == "") | (i.note == "x")) as item:
        item.number += amount


def added(db: Client, cls: type[Any], item_id: str, amount: Any) -> None:
    with db.update(cls, item_id=item_id) as item:
        item.number = add(item.number, amount)


def added_by_upsert(db: Client, cls: type[Any], item_id: str, amount: Any) -> None:
    with db.upsert(cls, item_id=item_id) as item:
        item.number = add(item.number, amount)


def added_by_reading_upsert(db: Client, cls: type[Any], item_id: str, amount: Any) -> None:
    with db.upsert(cls, item_id=item_id, read=True) as item:
        item.number = add(item.number, amount)


def applied(db: Client, cls: type[Any], item_id: str, amount: Any) -> None:
    db.apply(cls, Changes(adds={"number": amount}), item_id=item_id)


def added_in_transaction(db: Client, cls: type[Any], item_id: str, amount: Any) -> None:
    with db.transaction() as tx:
        tx.put(cls(f"{item_id}b", typed(cls, LEAST)))
        with tx.upsert(cls, item_id=item_id) as item:
            item.number = add(item.number, amount)


FROM_STORED = (plus, minus, plus_reading, plus_in_transaction, plus_with_condition)
FROM_ZERO = (added, applied)
CREATING = (added_by_upsert, added_by_reading_upsert, added_in_transaction)
AMOUNTS = (-4, -3, -1, 0, 1, 5, 6, 9, 10, 11)

Operation = Callable[[Client, type[Any], str, Any], None]


def refused(error: BaseException) -> list[BaseException]:
    return list(error.failures) if isinstance(error, TransactionCancelled) else [error]


def check_addition(
    db: Client, cls: type[Any], operation: Operation, before: Any, result: int, amount: int, bounds: dict[str, int]
) -> None:
    """Add an amount, and compare with what the bounds say about the result."""
    if before is None:
        db.delete(cls, item_id="1")
    else:
        db.put(before)
    if is_within(result, bounds):
        operation(db, cls, "1", typed(cls, amount))
        after = db.get(cls, item_id="1")
        assert after == cls("1", typed(cls, result)), (operation, before, amount)
        return
    with pytest.raises((ConditionFailed, TransactionCancelled)) as error:
        operation(db, cls, "1", typed(cls, amount))
    (cause,) = refused(error.value)
    assert isinstance(cause, ConditionFailed)
    bound = "its least value is 2" if result < LEAST else "its greatest value is 10"
    assert bound in str(cause)
    assert "item_id='1'" in str(cause)
    assert db.get(cls, item_id="1") == before, (operation, before, amount)


@pytest.mark.everyday(6)
@both
@pytest.mark.parametrize("cls", CLASSES)
def test_a_result_beyond_a_bound_is_refused_by_a_condition(connect: Connect, cls: type[Any]) -> None:
    for bounds in BOUNDS:
        db = connect(schema_of(cls, bounds))
        operations = (*FROM_STORED, *FROM_ZERO, *CREATING)
        for operation, amount in product(operations, AMOUNTS):
            before = cls("1", typed(cls, LEAST + 3))
            check_addition(db, cls, operation, before, LEAST + 3 + amount, amount, bounds)


@both
@pytest.mark.parametrize("cls", OPTIONAL)
def test_an_absent_number_counts_as_0(connect: Connect, cls: type[Any]) -> None:
    for bounds in BOUNDS:
        db = connect(schema_of(cls, bounds))
        for operation, amount in product((*FROM_ZERO, *CREATING), AMOUNTS):
            check_addition(db, cls, operation, cls("1"), amount, amount, bounds)


@pytest.mark.everyday(6)
@both
@pytest.mark.parametrize("cls", CLASSES)
def test_a_new_item_of_an_upsert_begins_at_0(connect: Connect, cls: type[Any]) -> None:
    for bounds in BOUNDS:
        db = connect(schema_of(cls, bounds))
        for operation, amount in product(CREATING, AMOUNTS):
            check_addition(db, cls, operation, None, amount, amount, bounds)


@both
def test_an_update_of_a_missing_item_is_not_found(connect: Connect) -> None:
    db = connect(schema_of(Whole, BOUNDS[2]))
    for operation in (plus, minus, plus_with_condition, added):
        with pytest.raises(NotFound):
            operation(db, Whole, "1", -100)


@given(st.integers(0, 20), st.lists(st.integers(-8, 8), max_size=12))
def test_any_sequence_of_additions_stays_within_the_bounds(first: int, amounts: list[int]) -> None:
    db = waiting(schema_of(Whole, {"min": 0, "max": 20}))
    db.insert(Whole("1", first))
    stored = first
    for amount in amounts:
        try:
            plus(db, Whole, "1", amount)
            stored += amount
        except ConditionFailed:
            assert not 0 <= stored + amount <= 20
        found = db.get(Whole, item_id="1")
        assert found is not None
        assert found.number == stored
        assert 0 <= stored <= 20


def test_a_difference_of_more_than_38_digits_is_rounded_into_the_bounds() -> None:
    db = waiting(schema_of(Exact, {"max": 10**30, "min": -(10**30)}))
    nines = "9" * 30
    for sign, bound in (("", "its greatest value"), ("-", "its least value")):
        db.put(Exact("1", Decimal(f"{sign}{nines}")))
        plus(db, Exact, "1", Decimal(f"{sign}0.5"))
        with pytest.raises(ConditionFailed, match=bound):
            plus(db, Exact, "1", Decimal(f"{sign}0.5000000001"))
        assert db.get(Exact, item_id="1") == Exact("1", Decimal(f"{sign}{nines}.5"))


def test_the_sum_of_another_attribute_is_within_the_bounds() -> None:
    @dataclass
    class Order:
        item_id: str
        number: int
        total: int

    db = waiting(schema_of(Order, BOUNDS[2]))
    for total, amount in product(range(12), range(-4, 5)):
        db.put(Order("1", LEAST, total))

        def change(amount: int = amount) -> None:
            with db.update(Order, item_id="1") as order:
                order.number = order.total + amount

        if is_within(total + amount, BOUNDS[2]):
            change()
            assert db.get(Order, item_id="1") == Order("1", total + amount, total)
        else:
            with pytest.raises(ConditionFailed):
                change()
            assert db.get(Order, item_id="1") == Order("1", LEAST, total)


def test_values_that_are_no_numbers_are_left_to_the_codec() -> None:
    db = waiting(schema_of(Exact, BOUNDS[2]))
    wrong: Any
    for wrong in ("5", None, Decimal("NaN"), Decimal("sNaN"), [1]):
        with pytest.raises(CodecError, match="number"):
            db.insert(Exact("1", wrong))
    db.insert(Exact("1", Decimal(5)))
    for wrong in ("5", Decimal("NaN")):
        with pytest.raises(TableError):
            added(db, Exact, "1", wrong)
    assert db.get(Exact, item_id="1") == Exact("1", Decimal(5))


def test_an_upsert_does_not_create_an_item_with_a_default_beyond_the_bounds() -> None:
    @dataclass
    class Counted:
        item_id: str
        number: int = 0
        note: str = ""

    db = waiting(schema_of(Counted, {"min": 1}))
    with (
        pytest.raises(CodecError, match=r"Counted\.number is 0, and its least value is 1"),
        db.upsert(Counted, item_id="1") as item,
    ):
        item.note = "x"
    assert db.get(Counted, item_id="1") is None


def test_other_attributes_change_without_a_condition_of_the_bounds() -> None:
    plain = Schema(Entity(Whole, Key("ITEM#{item_id}", "ITEM")))
    actions = []
    for schema in (plain, schema_of(Whole, BOUNDS[2])):
        write = update_write(schema, Whole, Changes({"note": "x"}), None, {"item_id": "1"}, False, None, upsert=False)
        actions.append(update_item(schema, write).parameters)
    assert actions[0] == actions[1]


# --- With other patterns, and in bulk


@dataclass
class Seat:
    item_id: str
    number: int
    email: str = ""
    version: int = 0


def test_bounds_combine_with_unique_values_versions_and_copies() -> None:
    patterns = [
        Bounds("number", min=LEAST, max=GREATEST),
        Unique("email"),
        Version(),
        Copy("by-mail", Key("MAIL#{email}", "SEAT")),
    ]
    db = waiting(Schema(Entity(Seat, Key("ITEM#{item_id}", "ITEM"), patterns=patterns)))
    stored = db.insert(Seat("1", 5, "a@x"))
    with pytest.raises(CodecError):
        db.insert(Seat("2", 11, "b@x"))
    for amount in (-4, 6):
        with pytest.raises((ConditionFailed, TransactionCancelled)), db.update(Seat, item_id="1", read=True) as seat:
            seat.number += amount
    assert db.get(Seat, item_id="1") == stored
    with db.update(Seat, item_id="1", read=True) as seat:
        seat.number += 5
    assert db.get(Seat, item_id="1") == Seat("1", 10, "a@x", 2)
    db.insert(Seat("2", 2, "b@x"))  # its guard is free


def test_a_number_in_an_index_key_is_read_first_and_stays_within_its_bounds() -> None:
    schema = Schema(
        Entity(
            Whole,
            Key("ITEM#{item_id}", "ITEM"),
            {"gsi1": Key("NUMBERS", "{number:02d}#{item_id}")},
            patterns=[Bounds("number", max=10)],
        ),
        indexes=[Index("gsi1")],
    )
    db = waiting(schema)
    db.insert(Whole("1", 9))
    with db.update(Whole, item_id="1", read=True) as item:
        item.number += 1
    for amount in (1, 100):  # of which 110 does not even fit into the key
        with pytest.raises(ConditionFailed, match="greatest"), db.update(Whole, item_id="1", read=True) as item:
            item.number += amount
    assert list(db.query(Whole, lambda item: item.number >= 0)) == [Whole("1", 10)]


def test_a_number_in_the_key_moves_within_its_bounds() -> None:
    schema = Schema(Entity(Whole, Key("ITEM#{item_id}", "{number}"), patterns=[Bounds("number", max=10)]))
    db = waiting(schema)
    db.insert(Whole("1", 9))
    for write in (lambda item: 11, lambda item: item.number + 2):
        with pytest.raises((CodecError, ConditionFailed)), db.update(Whole, item_id="1", number=9, read=True) as item:
            item.number = write(item)
    with db.update(Whole, item_id="1", number=9, read=True) as item:
        item.number += 1
    assert list(db.query(Whole, item_id="1")) == [Whole("1", 10)]


@dataclass
class Marked:
    item_id: str
    number: int
    deleted_at: datetime | None = None


def test_a_deleted_item_is_not_found_whatever_its_number() -> None:
    db = waiting(schema_of(Marked, BOUNDS[2], SoftDelete("deleted_at")))
    db.insert(Marked("1", LEAST))
    db.delete(Marked, item_id="1")
    with pytest.raises(NotFound):
        plus(db, Marked, "1", -1)


@pytest.mark.parametrize("existing", ["keep", "replace", "fail"])
def test_loads_report_objects_beyond_the_bounds_and_write_the_others(existing: Any) -> None:
    db = waiting(schema_of(Whole, BOUNDS[2]))
    objects = [Whole(str(number), number) for number in (2, 0, 1, *range(3, 13))]
    with pytest.raises(PartlyWritten) as error:
        bulk_load(db, objects, existing=existing)
    assert {failure.given.number for failure in error.value.failures} == {0, 1, 11, 12}
    assert all(isinstance(failure.error, CodecError) for failure in error.value.failures)
    assert stored_numbers(db) == list(range(2, 11))


def test_bulk_changes_stay_within_the_bounds_and_deletes_read_nothing_first() -> None:
    watched = Watched()
    db = waiting(schema_of(Whole, BOUNDS[2]), observe=watched)
    db.put_many([Whole(str(number), number) for number in range(2, 11)])
    with pytest.raises(PartlyWritten) as error:
        bulk_update(db, Whole, lambda item: Whole(item.item_id, item.number + 3))
    assert len(error.value.failures) == 3
    assert stored_numbers(db) == [5, 6, 7, 8, 8, 9, 9, 10, 10]
    watched.calls.clear()
    assert bulk_delete(db, Whole).done == 9
    assert {call.operation for call in watched.calls} == {"Scan", "BatchWriteItem"}


def test_a_collection_is_deleted_without_reading_each_item() -> None:
    watched = Watched()
    db = waiting(Schema(Entity(Whole, Key("ITEM", "{item_id}"), patterns=[Bounds("number", min=0)])), observe=watched)
    db.put_many([Whole(str(number), number) for number in range(5)])
    watched.calls.clear()
    delete_collection(db, Whole)
    assert "GetItem" not in {call.operation for call in watched.calls}
    assert stored_numbers(db) == []


# --- Sharded counters


@dataclass
class Page:
    item_id: str
    number: int = 0
    note: str = ""


def test_a_sharded_counter_has_no_greatest_value() -> None:
    for bounds in (BOUNDS[1], BOUNDS[2]):
        with pytest.raises(SchemaError, match=r"Page\.number is a sharded counter, and its greatest value 10 cannot"):
            schema_of(Page, bounds, ShardedCounter("number", shards=4))


def test_nothing_is_taken_from_a_sharded_counter_with_a_least_value() -> None:
    db = waiting(schema_of(Page, {"min": 0}, ShardedCounter("number", shards=4)))
    with pytest.raises(CodecError):
        db.insert(Page("1", -1))
    db.insert(Page("1", 3))
    plus(db, Page, "1", 2)
    with pytest.raises(TableError, match="whose least value 0 cannot be checked when 1 is taken away"):
        plus(db, Page, "1", -1)
    with pytest.raises(TableError, match="sharded counter"), db.update(Page, item_id="1") as page:
        page.number -= 1
        page.note = "x"
    assert with_counts(db, Page, db.get(Page, item_id="1")) == Page("1", 5)


# --- Declarations


@pytest.mark.parametrize(
    ("pattern", "message"),
    [
        (Bounds("note", min=1), "Whole.note has bounds, and must be an int, a Decimal or a float"),
        (Bounds("number"), "Whole.number: give its bounds, min= or max= or both"),
        (Bounds("number", min=3, max=2), "its least value is 3, which is more than its greatest, 2"),
        (Bounds("number", min=0.5), "must be numbers"),
        (Bounds("number", max="many"), "must be numbers"),  # type: ignore[arg-type]
    ],
)
def test_bounds_that_do_not_fit_are_refused(pattern: Bounds, message: str) -> None:
    with pytest.raises(SchemaError, match=message):
        Schema(Entity(Whole, Key("ITEM#{item_id}", "ITEM"), patterns=[pattern]))


def test_a_declaration_shows_its_bounds() -> None:
    assert repr(Bounds("number", min=1)) == "Bounds('number', min=1)"
    assert repr(Bounds("number", max=Decimal(9))) == "Bounds('number', max=Decimal('9'))"


def test_bounds_of_a_decimal_may_be_fractions() -> None:
    db = waiting(schema_of(Exact, {"min": Decimal("0.01"), "max": 0.5}))
    with pytest.raises(CodecError):
        db.insert(Exact("1", Decimal("0.009")))
    db.insert(Exact("1", Decimal("0.01")))
    plus(db, Exact, "1", Decimal("0.49"))
    with pytest.raises(ConditionFailed):
        plus(db, Exact, "1", Decimal("0.01"))
