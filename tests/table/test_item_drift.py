"""Drift of items: a schema of another design says so, before reads silently find nothing."""

from __future__ import annotations

import asyncio
import json
import pickle
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest
from tests.place import DynamoDB, fresh

from prejoin import AsyncClient, Client, Difference, Entity, Index, Key, Schema, UnfitTable
from prejoin.table.client.observe import Call
from prejoin.table.schema.pattern import STATE_TAG


@dataclass
class Student:
    school: str
    student_id: str
    klass: str
    email: str
    until: int | None = None


@dataclass
class Room:
    school: str
    room_id: str


def schema(**indexes: Key) -> Schema:
    """Students by id and by indexes, and rooms, which no design changes."""
    return keyed(Key("S#{school}#STUDENT#{student_id}", "STUDENT"), **indexes)


def keyed(key: Key, **indexes: Key) -> Schema:
    return Schema(
        Entity(Student, key, indexes=indexes),
        Entity(Room, Key("S#{school}#ROOM#{room_id}", "ROOM")),
        indexes=[Index(name) for name in ("gsi1", "gsi2") if name in indexes],
        ttl="until",
        tenant="school",
    )


KLASS, EMAIL = Key("S#{school}#KLASS#{klass}", "{student_id}"), Key("S#{school}#EMAIL#{email}", "{student_id}")
LIVE = schema(gsi1=KLASS, gsi2=EMAIL)
EXCHANGED = schema(gsi1=EMAIL, gsi2=KLASS)
MOVED = keyed(Key("S#{school}#PUPIL#{student_id}", "PUPIL"), gsi1=KLASS, gsi2=EMAIL)


def student(number: int, until: int | None = None) -> Student:
    return Student(f"school {number % 3}", f"n{number}", "5a", f"{number}@x", until)


def filled(number: int = 40, design: Schema = LIVE) -> DynamoDB:
    """A table of a design with students and rooms of three schools."""
    place = fresh()
    db = Client(design, "school", place)
    db.create_table()
    db.put_many([student(one) for one in range(number)])
    db.put_many([Room(f"school {one % 3}", f"r{one}") for one in range(9)])
    return place


def found(design: Schema, place: DynamoDB, sample: int = 100) -> list[tuple[str, str]]:
    return [(one.kind, one.what) for one in Client(design, "school", place).drift(sample=sample)]


# --- Drift ------------------------------------------------------------------------------------------------------------


def test_a_table_of_the_same_design_does_not_differ() -> None:
    assert found(LIVE, filled()) == []


def test_exchanged_indexes_differ_although_the_description_agrees() -> None:
    place = filled()
    db = Client(EXCHANGED, "school", place)
    assert not db.tenant("school 1").query(Student, klass="5a").items  # silently
    differences = db.drift()
    assert [(one.kind, one.what) for one in differences] == [
        ("item keys", "Student in gsi1, 40 of 40 items"),
        ("item keys", "Student in gsi2, 40 of 40 items"),
    ]
    first = differences[0]
    assert first.found.partition("#KLASS#5a / ")[1]
    assert first.wanted.partition("#EMAIL#")[1]
    assert "use its schema, or bring the table to this design with `prejoin evolve`" in str(first)
    assert db.drift(sample=0) == []


def test_another_key_in_the_table_differs() -> None:
    assert found(MOVED, filled()) == [("item keys", "Student, 40 of 40 items")]


def test_async_client_finds_the_same() -> None:
    place = filled()

    async def main() -> list[Difference]:
        return await AsyncClient(EXCHANGED, "school", place).drift()

    assert {(one.kind, one.what) for one in asyncio.run(main())} == set(found(EXCHANGED, place))


def test_a_missing_index_key_differs() -> None:
    place = filled(design=schema(gsi1=KLASS))
    Client(LIVE, "school", place).add_indexes()
    assert found(LIVE, place) == [("item keys", "Student in gsi2, 40 of 40 items")]
    (difference,) = Client(LIVE, "school", place).drift()
    assert difference.found == "none"
    assert "repair() of what audit() finds" in difference.fix


def test_keys_of_other_versions_of_the_code_are_no_difference() -> None:
    """While a table changes, old code runs beside new code, and both may start at any time."""
    write_only = Key(EMAIL.pk, EMAIL.sk, write_only=True)
    before, prepare = schema(gsi1=KLASS), schema(gsi1=KLASS, gsi2=write_only)
    place = filled(design=before)
    Client(prepare, "school", place).add_indexes()
    assert found(prepare, place) == []  # not filled yet, and not read
    Client(prepare, "school", place).put(student(1))
    assert found(before, place) == [("extra index", "the index gsi2")]


def test_items_that_are_not_of_the_schema_are_left_out() -> None:
    place = filled(0)
    db = Client(LIVE, "school", place)
    tags: list[dict[str, Any]] = [{}, {LIVE.type_attribute: {"S": STATE_TAG}}, {LIVE.type_attribute: {"S": "Student2"}}]
    for number, tag in enumerate(tags):
        db.call("PutItem", {"Item": {"pk": {"S": f"OTHER#{number}"}, "sk": {"S": "X"}, **tag}})
    expired = {**Client(LIVE, "school", place).schema.key(Student, school="s", student_id="1"), "until": {"N": "1"}}
    db.call("PutItem", {"Item": {**expired, LIVE.type_attribute: {"S": "Student"}}})
    assert found(LIVE, place) == []
    assert found(MOVED, place) == []


def test_items_that_cannot_be_read_are_a_difference() -> None:
    place = filled(3)
    key = LIVE.key(Student, school="s", student_id="1")
    Client(LIVE, "school", place).call("PutItem", {"Item": {**key, LIVE.type_attribute: {"S": "Student"}}})
    (difference,) = Client(LIVE, "school", place).drift()
    assert (difference.kind, difference.what) == ("items", "Student, 1 of 4 items")
    assert "give new attributes a default" in difference.fix


@pytest.mark.parametrize(("sample", "limits"), [(100, [25] * 4), (6, [2, 2, 1, 1]), (1, [1]), (0, [])])
def test_a_bounded_number_of_items_is_read(sample: int, limits: list[int]) -> None:
    place, calls = filled(200), list[Call]()
    Client(LIVE, "school", place, observe=calls.append).drift(sample=sample)
    scans = [call for call in calls if call.operation == "Scan"]
    # They are sent at the same time, so any of them may be observed first.
    assert sorted([call.request["Limit"] for call in scans], reverse=True) == limits
    assert sum(len(call.response["Items"]) for call in scans) <= sample


def test_the_client_of_a_tenant_reads_no_items_of_others() -> None:
    place, calls = filled(), list[Call]()
    tenant = Client(EXCHANGED, "school", place, observe=calls.append).tenant("school 1")
    assert tenant.drift() == []
    assert {call.operation for call in calls} == {"DescribeTable", "DescribeTimeToLive"}


def test_a_table_with_other_key_attributes_is_not_scanned() -> None:
    place = fresh()
    Client(Schema(Entity(Room, Key("{school}", "{room_id}")), pk="a", sk="b"), "school", place).create_table()
    assert ("keys", "the table") in found(LIVE, place)


# --- Verify -----------------------------------------------------------------------------------------------------------

Act = Callable[[Any], Any]


def _transaction(db: Client) -> None:
    with db.transaction() as tx:
        tx.insert(student(100))


def _update(db: Client) -> None:
    with db.update(Student, school="school 1", student_id="n1") as changed:
        changed.klass = "6b"


ACTS: dict[str, Act] = {
    "get": lambda db: db.get(Student, school="school 1", student_id="n1"),
    "get_many": lambda db: db.get_many(Student, [{"school": "school 1", "student_id": "n1"}]),
    "query": lambda db: db.query(Student, school="school 1", klass="5a"),
    "count": lambda db: db.count(Student, school="school 1", klass="5a"),
    "everything": lambda db: list(db.everything()),
    "insert": lambda db: db.insert(student(100)),
    "put": lambda db: db.put(student(100)),
    "put_many": lambda db: db.put_many([student(100)]),
    "update": _update,
    "delete": lambda db: db.delete(Student, school="school 1", student_id="n1", read=True),
    "transaction": _transaction,
}
TENANT_ACTS = {name: act for name, act in ACTS.items() if name != "everything"}


def contents(place: DynamoDB) -> list[str]:
    items = Client(LIVE, "school", place).call("Scan")["Items"]
    return sorted(json.dumps(item, sort_keys=True) for item in items)


@pytest.mark.parametrize("act", ACTS.values(), ids=ACTS)
def test_the_first_call_on_a_table_of_another_design_is_refused(act: Act) -> None:
    place = filled()
    before = contents(place)
    with pytest.raises(UnfitTable, match="item keys of Student in gsi1, 40 of 40 items: found ") as raised:
        act(Client(EXCHANGED, "school", place, verify=True))
    assert contents(place) == before
    assert len(raised.value.differences) == 2
    again = pickle.loads(pickle.dumps(raised.value))
    assert (str(again), again.differences) == (str(raised.value), raised.value.differences)
    act(Client(LIVE, "school", place, verify=True))


@pytest.mark.parametrize("act", TENANT_ACTS.values(), ids=TENANT_ACTS)
def test_the_client_of_a_tenant_is_verified_with_its_client(act: Act) -> None:
    place, calls = filled(), list[Call]()
    with pytest.raises(UnfitTable):
        act(Client(EXCHANGED, "school", place, verify=True).tenant("school 1"))
    db = Client(LIVE, "school", place, verify=True, observe=calls.append)
    act(db.tenant("school 1"))
    act_again = db.tenant("school 2").get(Student, student_id="n2")
    assert act_again is not None
    assert [call.operation for call in calls].count("Scan") == 4  # once for all tenants


def test_a_table_is_verified_once() -> None:
    place, calls = filled(), list[Call]()
    db = Client(LIVE, "school", place, verify=True, observe=calls.append)
    assert not calls
    for _ in range(3):
        assert db.get(Student, school="school 1", student_id="n1")
    # The first GetItem is for the state of the table.
    assert [call.operation for call in calls] == ["DescribeTable", *["Scan"] * 4, "GetItem", *["GetItem"] * 3]
    calls.clear()
    wrong = Client(EXCHANGED, "school", place, verify=True, observe=calls.append)
    for _ in range(3):
        with pytest.raises(UnfitTable):
            wrong.get(Student, school="school 1", student_id="n1")
    assert [call.operation for call in calls] == ["DescribeTable", *["Scan"] * 4, "GetItem"]


def test_without_verify_nothing_more_is_sent() -> None:
    place, calls = filled(), list[Call]()
    Client(LIVE, "school", place, observe=calls.append).get(Student, school="school 1", student_id="n1")
    assert [call.operation for call in calls] == ["GetItem"]


def test_calls_about_the_table_itself_are_not_verified() -> None:
    place = fresh()
    db = Client(LIVE, "school", place, verify=True)
    assert db.describe() is None
    with pytest.raises(UnfitTable, match="the table is missing"):
        db.get(Student, school="s", student_id="1")
    db = Client(LIVE, "school", place, verify=True)
    db.create_table()
    assert db.add_indexes() == ()
    assert db.drift() == []
    assert db.get(Student, school="s", student_id="1") is None


def test_a_missing_index_is_refused_and_one_more_is_not() -> None:
    place = filled(design=schema(gsi1=KLASS))
    with pytest.raises(UnfitTable, match="the index gsi2 is missing"):
        Client(LIVE, "school", place, verify=True).get(Student, school="school 1", student_id="n1")
    both = filled()
    db = Client(schema(gsi1=KLASS), "school", both, verify=True)
    assert db.get(Student, school="school 1", student_id="n1")


def test_async_client_verifies_once_for_calls_at_the_same_time() -> None:
    place, calls = filled(), list[Call]()

    async def main() -> list[Any]:
        db = AsyncClient(LIVE, "school", place, verify=True, observe=calls.append)
        tenants = [db.tenant(f"school {number}") for number in range(3)]
        right = await asyncio.gather(*(one.get(Student, student_id=f"n{at}") for at, one in enumerate(tenants)))
        wrong = AsyncClient(EXCHANGED, "school", place, verify=True)
        with pytest.raises(UnfitTable):
            await wrong.get(Student, school="school 1", student_id="n1")
        async with AsyncClient(LIVE, "school", place, verify=True).transaction() as tx:
            tx.insert(student(100))
        return list(right)

    assert all(asyncio.run(main()))
    assert [call.operation for call in calls].count("Scan") == 4
