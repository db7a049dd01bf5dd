"""Unique values over items that had the same value before: each guard belongs to one item, and others do not touch it.

Code without the unique value writes two items with the same value. An audit with the unique value then gives the guard
to one of them, the owner; the other one is the duplicate.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.patterns.faults import in_threads, items, with_every_fault
from tests.patterns.manual_clock import ManualClock
from tests.place import fresh
from tests.table.both import Connect, awaited, both, waiting

from prejoin import (
    Call,
    Changes,
    Client,
    ConditionFailed,
    Entity,
    Key,
    NotUnique,
    Schema,
    SoftDelete,
    TimeToLive,
    TransactionCancelled,
    Unique,
    audit,
    purge,
    repair,
    restore,
)


@dataclass(frozen=True)
class User:
    tenant: str
    user_id: str
    email: str | None
    place: str = "here"
    name: str = ""
    ends: datetime | None = None
    deleted_at: datetime | None = None


KEY = Key("TENANT#{tenant}#USER#{user_id}", "USER")
FORMS: dict[str, tuple[tuple[str, ...], list[Any], str]] = {
    "plain": (("email",), [], ""),
    "group": (("email", "place"), [], ""),
    "tenant": (("email",), [], "tenant"),
    "expiring": (("email",), [TimeToLive("ends", after=timedelta(days=1))], ""),
    "renewed": (("email",), [TimeToLive("ends", after=timedelta(days=1), renew=True)], ""),
}


def schemas(form: str) -> tuple[Schema, Schema]:
    """The schema without the unique value, and the one with it."""
    attributes, patterns, tenant = FORMS[form]
    old = Schema(Entity(User, KEY, patterns=patterns), tenant=tenant)
    return old, Schema(Entity(User, KEY, patterns=[Unique(*attributes), *patterns]), tenant=tenant)


def user(number: str, email: str | None = "x", tenant: str = "t1") -> User:
    return User(tenant, number, email)


def known(one: User) -> dict[str, Any]:
    return {"tenant": one.tenant, "user_id": one.user_id}


def values(one: User) -> dict[str, Any]:
    return {"email": one.email, "place": one.place}


def guards(db: Any) -> dict[str, str]:
    """The owners of guards, by their keys."""
    return {
        item["pk"]["S"]: item["owner"]["M"]["pk"]["S"]
        for item in items(db._transport, "shop")
        if item["pk"]["S"].startswith("UNIQUE#")
    }


def mend(db: Client) -> list[str]:
    """Repairs until nothing changes; returns the findings that need a decision."""
    while wrong := [finding for finding in audit(db) if finding.mendable]:
        for finding in wrong:
            repair(db, finding)
    return [finding.kind for finding in audit(db)]


class Sent:
    """A transport that notes its requests, also those that fail."""

    def __init__(self, inner: Any) -> None:
        self._inner = inner
        self.operations: list[str] = []

    def send(self, operation: str, body: bytes) -> bytes:
        self.operations.append(operation)
        return bytes(self._inner.send(operation, body))

    async def send_async(self, operation: str, body: bytes) -> bytes:
        return self.send(operation, body)


class Duplicates:
    """A table with two users of one value, and three others that nobody touches."""

    def __init__(self, form: str, connect: Connect) -> None:
        old, new = schemas(form)
        self.transport = fresh()
        self.sent = Sent(self.transport)
        self.db = connect(new, self.sent)
        before = Client(old, "shop", self.transport)
        pair = [before.insert(user("a")), before.insert(user("b"))]
        before.insert(user("c", "y"))
        before.insert(user("d", None))
        before.insert(user("e", "x", "t2") if form == "tenant" else user("e", "z", "t2"))
        self.plain = Client(new, "shop", self.transport)
        assert mend(self.plain) == ["taken"]
        owned = next(owner for key, owner in guards(self.plain).items() if key.endswith(("#x", "#x#here")))
        if form == "tenant":
            owned = guards(self.plain)["UNIQUE#User#tenant+email#t1#x"]
        self.owner = next(one for one in pair if owned.endswith(f"#{one.user_id}"))
        self.duplicate = next(one for one in pair if one is not self.owner)
        self.sent.operations.clear()

    def bystanders(self) -> list[dict[str, Any]]:
        """All items but those of the pair, and the guards of values that only the duplicate gets."""
        pair = {f"TENANT#t1#USER#{one}" for one in ("a", "b", "m")}
        rest = [one for one in items(self.transport, "shop") if one["pk"]["S"] not in pair]
        return [one for one in rest if "#new" not in one["pk"]["S"]]


Act = Callable[[Any, User], object]
LEAVES: dict[str, Act] = {
    "update, known": lambda db, one: db.apply(
        User, Changes({"email": "new"}), **known(one), **values(one), ends=one.ends
    ),
    "update, read": lambda db, one: db.apply(User, Changes({"email": "new"}), **known(one), read=True),
    "update to None": lambda db, one: db.apply(User, Changes({"email": None}), **known(one), read=True),
    "put, was": lambda db, one: db.put(replace(one, email="new"), was=one),
    "put, read": lambda db, one: db.put(replace(one, email="new"), read=True),
    "upsert": lambda db, one: db.apply(User, Changes({"email": "new"}), **known(one), upsert=True, read=True),
    "delete, known": lambda db, one: db.delete(User, **known(one), **values(one)),
    "delete, read": lambda db, one: db.delete(User, **known(one), read=True),
    "put many": lambda db, one: db.put_many([replace(one, email="new")], read=True),
    "delete many": lambda db, one: db.delete_many(User, [known(one)], read=True),
    "key and value": lambda db, one: db.apply(User, Changes({"user_id": "m", "email": "new"}), **known(one), read=True),
}


def in_transaction(act: Act) -> Act:
    def run(db: Any, one: User) -> None:
        with db.transaction() as tx:
            tx.insert(user("g", "new of g"))
            act(tx, one)

    return run


ACTS = {
    **LEAVES,
    **{f"transaction, {name}": in_transaction(act) for name, act in LEAVES.items() if "many" not in name},
}


by_form = pytest.mark.parametrize(
    ("form", "connect"), [*((form, waiting) for form in FORMS), ("plain", awaited), ("renewed", awaited)]
)


@by_form
def test_a_duplicate_leaves_the_guard_of_its_owner(form: str, connect: Connect) -> None:
    for name, act in ACTS.items():
        found = Duplicates(form, connect)
        before = found.bystanders()
        act(found.db, found.duplicate)
        after = [one for one in found.bystanders() if one["pk"]["S"] != "TENANT#t1#USER#g"]
        assert after == before, name  # the guard of the owner is among them
        assert list(audit(found.plain)) == [], name
        with pytest.raises(NotUnique):
            found.plain.insert(user("f"))
        assert found.sent.operations.count("TransactWriteItems") == 2, name


@by_form
def test_an_owner_takes_its_guard_with_it(form: str, connect: Connect) -> None:
    for name, act in ACTS.items():
        found = Duplicates(form, connect)
        act(found.db, found.owner)
        assert found.sent.operations.count("TransactWriteItems") == 1, name
        assert [finding.kind for finding in audit(found.plain)] == ["missing"], name
        assert mend(found.plain) == [], name
        duplicate = f"TENANT#t1#USER#{found.duplicate.user_id}"
        assert list(guards(found.plain).values()).count(duplicate) == 1, name


STAYS: dict[str, Act] = {
    "put, read": lambda db, one: db.put(replace(one, name="N"), read=True),
    "update": lambda db, one: db.apply(User, Changes({"name": "N"}), **known(one), read=True),
    "put many": lambda db, one: db.put_many([replace(one, name="N")], read=True),
    "end": lambda db, one: db.apply(
        User, Changes({"ends": datetime.now(UTC) + timedelta(days=2)}), **known(one), read=True
    ),
}


@by_form
def test_a_duplicate_can_be_changed_without_its_value(form: str, connect: Connect) -> None:
    for name, act in STAYS.items():
        found = Duplicates(form, connect)
        before = found.bystanders()
        act(found.db, found.duplicate)
        assert found.bystanders() == before, name
        assert [finding.kind for finding in audit(found.plain)] == ["taken"], name
        stored = found.plain.get(User, **known(found.duplicate))
        assert stored is not None
        assert stored.name == ("" if name == "end" else "N")


def test_a_duplicate_near_its_end_is_not_renewed() -> None:
    """By another clock it may have expired, and the owner may be one that took the value since."""
    clock = ManualClock()
    expiring = TimeToLive("ends", after=timedelta(hours=1), clock=clock)
    transport = fresh()
    old, new = (Schema(Entity(User, KEY, patterns=patterns)) for patterns in ([expiring], [Unique("email"), expiring]))
    before = Client(old, "shop", transport)
    before.create_table()
    before.insert(user("a"))
    db = Client(new, "shop", transport)
    ends = clock() + timedelta(days=1)
    db.insert(replace(user("b"), ends=ends))
    clock.turn(minutes=30)
    db.apply(User, Changes({"name": "N", "ends": clock() + timedelta(minutes=30)}), **known(user("a")), read=True)
    clock.turn(minutes=20)
    with pytest.raises(NotUnique):
        db.apply(User, Changes({"ends": ends}), **known(user("a")), read=True)
    db.delete(User, **known(user("a")), read=True)
    assert len(guards(db)) == 1


@both
def test_a_duplicate_keeps_no_guard_if_its_key_changes(connect: Connect) -> None:
    found = Duplicates("plain", connect)
    before = found.bystanders()
    found.db.apply(User, Changes({"user_id": "m"}), **known(found.duplicate), read=True)
    assert found.bystanders() == before
    assert found.plain.get(User, tenant="t1", user_id="m") == replace(found.duplicate, user_id="m")
    assert [finding.kind for finding in audit(found.plain)] == ["taken"]


@both
@pytest.mark.parametrize("release", [False, True])
@pytest.mark.parametrize("keep", [None, timedelta(days=3)])
def test_a_duplicate_is_marked_as_deleted_restored_and_purged(
    connect: Connect, release: bool, keep: timedelta | None
) -> None:
    patterns = [SoftDelete(release=release, keep=keep), TimeToLive("ends")]
    transport = fresh()
    new = Schema(Entity(User, KEY, patterns=[Unique("email"), *patterns]))
    db = connect(new, transport)
    before = Client(Schema(Entity(User, KEY, patterns=patterns)), "shop", transport)
    before.insert(user("a"))
    before.insert(user("b"))
    plain = Client(new, "shop", transport)
    assert mend(plain) == ["taken"]
    (owned,) = guards(plain).items()
    duplicate = user("b" if owned[1].endswith("#a") else "a")
    db.delete(User, **known(duplicate), read=True)
    assert plain.get(User, **known(duplicate)) is None
    assert guards(plain) == dict([owned])
    if release:
        with pytest.raises(NotUnique):
            call(restore(db, User, **known(duplicate)))
    call(purge(db, User, **known(duplicate)))
    assert guards(plain) == dict([owned])
    assert list(audit(plain)) == []


def call(result: Any) -> None:
    if result is not None:
        asyncio.run(result)


def test_both_of_a_pair_change_in_one_transaction() -> None:
    for acts in (("delete, known", "delete, known"), ("delete, read", "update, read"), ("update to None", "put, read")):
        found = Duplicates("plain", waiting)
        with found.db.transaction() as tx:
            for act, one in zip(acts, (found.duplicate, found.owner), strict=True):
                LEAVES[act](tx, one)
        assert not [key for key in guards(found.plain) if key.endswith("#x")]
        assert list(audit(found.plain)) == []


def test_a_third_item_takes_the_value_only_from_the_owner() -> None:
    for who, is_free in (("owner", True), ("duplicate", False), ("both", True)):
        found = Duplicates("plain", waiting)
        pair = {"owner": [found.owner], "duplicate": [found.duplicate], "both": [found.duplicate, found.owner]}[who]

        def exchange(found: Duplicates = found, pair: list[User] = pair) -> None:
            with found.db.transaction() as tx:
                for one in pair:
                    tx.delete(User, **known(one), email="x")
                tx.insert(user("f"))

        if is_free:
            exchange()
            assert guards(found.plain)["UNIQUE#User#email#x"].endswith("#f")
        else:
            with pytest.raises(TransactionCancelled, match="another User has email 'x' already"):
                exchange()
            assert found.plain.get(User, **known(found.duplicate)) == found.duplicate


def test_a_transaction_with_a_token_is_applied_once() -> None:
    found = Duplicates("plain", waiting)
    for _ in range(2):
        with found.db.transaction("token") as tx:
            tx.apply(User, Changes({"email": "new"}), **known(found.duplicate), email="x")
    assert list(audit(found.plain)) == []
    with pytest.raises(ConditionFailed), found.db.transaction("other") as tx:
        tx.apply(User, Changes({"email": "newer"}), **known(found.duplicate), email="x")


def test_a_check_allows_what_a_duplicate_may_do() -> None:
    found = Duplicates("expiring", waiting)
    stored = list(items(found.transport, "shop"))
    for act in ("delete, read", "put, read", "update, read"):
        with found.db.transaction(only_check=True) as tx:
            LEAVES[act](tx, found.duplicate)
    with found.db.transaction(only_check=True) as tx:
        STAYS["end"](tx, found.duplicate)
    assert list(items(found.transport, "shop")) == stored


def test_nothing_is_lost_with_any_request() -> None:
    found: list[Duplicates] = []

    def begin() -> Any:
        found.append(Duplicates("plain", waiting))
        return found[-1].transport

    def act(lossy: Any) -> None:
        LEAVES["update, read"](Client(found[-1].plain.schema, "shop", lossy), found[-1].duplicate)

    def check(_: Any) -> None:
        assert guards(found[-1].plain)["UNIQUE#User#email#x"].endswith(f"#{found[-1].owner.user_id}")
        assert {finding.kind for finding in audit(found[-1].plain)} <= {"taken"}

    assert with_every_fault(begin, act, check) == 6


def test_a_guard_of_the_item_itself_is_no_other() -> None:
    """Code without the unique value changes a value and leaves the guard, then the item gets the value again."""
    old, new = schemas("plain")
    transport = fresh()
    after = Client(new, "shop", transport)
    after.create_table()
    before = Client(old, "shop", transport)
    after.insert(user("a", "x"))
    for is_deleted in (False, True):
        if is_deleted:
            before.delete(User, **known(user("a")))
        else:
            before.apply(User, Changes({"email": "y"}), **known(user("a")))
        after.put(user("a", "x"), read=True)
        assert list(audit(after)) == []
    with pytest.raises(NotUnique):
        after.insert(user("b", "x"))


ALL = [f"{number}" for number in range(6)]


@given(
    st.lists(st.tuples(st.sampled_from(ALL), st.sampled_from("xyz")), min_size=2, max_size=6, unique_by=lambda x: x[0]),
    st.lists(
        st.tuples(
            st.sampled_from(["insert", "put", "update", "delete", "repair", "old update", "old delete"]),
            st.sampled_from(ALL),
            st.sampled_from("xyz"),
        ),
        max_size=12,
    ),
)
def test_guards_of_items_with_their_values_stay_in_any_order(
    first: list[tuple[str, str]], steps: list[tuple[str, str, str]]
) -> None:
    """No write by code with the unique value removes the guard of another item, beside code without it."""
    old, new = schemas("plain")
    transport = fresh()
    before, after = Client(old, "shop", transport), Client(new, "shop", transport)
    before.create_table()
    before.insert_many([user(number, email) for number, email in first])
    for verb, number, email in steps:
        one = user(number, email)
        held = guards(after)
        try:
            match verb:
                case "insert":
                    after.insert(one)
                case "put":
                    after.put(one, read=True)
                case "update":
                    after.apply(User, Changes({"email": email}), **known(one), read=True)
                case "delete":
                    after.delete(User, **known(one), read=True)
                case "repair":
                    mend(after)
                case "old update":
                    before.apply(User, Changes({"email": email}), **known(one))
                case _:
                    before.delete(User, **known(one))
        except ConditionFailed:
            assert guards(after) == held
        if verb != "repair":
            others = {key: owner for key, owner in held.items() if not owner.endswith(f"#{number}")}
            assert others.items() <= guards(after).items()
    assert set(mend(after)) <= {"taken"}
    stored = {one.user_id: one.email for page in after.everything(User, consistent=True) for one in page}
    assert {key[-1] for key in guards(after)} == set(stored.values())
    assert all(stored[owner[-1]] == key[-1] for key, owner in guards(after).items())


def test_concurrent_duplicates_leave_one_guard() -> None:
    old, new = schemas("plain")
    transport = fresh()
    before = Client(old, "shop", transport)
    before.create_table()
    before.insert_many([user(f"{number}") for number in range(8)])
    db = Client(new, "shop", transport)
    assert mend(db) == ["taken"] * 7
    (owner,) = guards(db).values()

    def leave(number: int) -> None:
        if not owner.endswith(f"#{number}"):
            db.apply(User, Changes({"email": f"{number}"}), **known(user(f"{number}")), read=True)

    in_threads(8, leave)
    assert guards(db)["UNIQUE#User#email#x"] == owner
    assert list(audit(db)) == []


def test_many_duplicates_are_deleted_at_once() -> None:
    calls: list[Call] = []
    old, new = schemas("plain")
    transport = fresh()
    before = Client(old, "shop", transport)
    before.create_table()
    before.insert_many([user(f"{number}", f"{number % 10}") for number in range(40)])
    db = Client(new, "shop", transport, observe=calls.append)
    assert mend(db) == ["taken"] * 30
    held = guards(db)
    owners = {owner.rpartition("#")[2] for owner in held.values()}
    db.delete_many(User, [known(user(f"{number}")) for number in range(40) if f"{number}" not in owners], read=True)
    assert guards(db) == held
    assert list(audit(db)) == []
