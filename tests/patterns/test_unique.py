"""Unique values: a guard item for each, in the same transaction as the item whose value it is."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.patterns.faults import in_processes, in_threads, is_right, items, made, on_a_file, with_every_fault, wrong
from tests.patterns.manual_clock import ManualClock
from tests.place import fresh
from tests.table.both import Connect, both

from prejoin import (
    AlreadyExists,
    AsyncClient,
    Call,
    Changes,
    Client,
    ConditionFailed,
    Conflict,
    Entity,
    Key,
    NotFound,
    NotUnique,
    Schema,
    SchemaError,
    TableError,
    TimeToLive,
    TooMany,
    TransactionCancelled,
    Unique,
    UnknownValue,
    Version,
    VersionConflict,
)
from prejoin.engine import Embedded


@dataclass(frozen=True)
class User:
    user_id: str
    email: str
    first: str = ""
    last: str = ""
    phone: str | None = None


SCHEMA = Schema(
    Entity(
        User,
        Key("USER#{user_id}", "PROFILE"),
        patterns=[Unique("email"), Unique("first", "last"), Unique("phone")],
    )
)


def named(number: int | str, email: str = "", phone: str | None = None) -> User:
    return User(str(number), email or f"{number}@x.com", f"first {number}", f"last {number}", phone)


def guards(db: Client, word: str = "") -> list[str]:
    found = (item["pk"]["S"] for item in items(db._transport, "shop"))
    return sorted(key.removeprefix("UNIQUE#User#") for key in found if key.startswith(f"UNIQUE#User#{word}"))


@pytest.fixture
def db() -> Client:
    return made(SCHEMA, fresh())


@both
def test_an_insert_takes_its_values_in_one_transaction(connect: Connect) -> None:
    calls: list[Call] = []
    db = connect(SCHEMA, observe=calls.append)
    calls.clear()
    db.insert(User("1", "a@b.com", "A", "B"))
    assert [call.operation for call in calls] == ["TransactWriteItems"]
    with pytest.raises(NotUnique, match=r"^another User has email 'a@b.com' already$"):
        db.insert(User("2", "a@b.com", "C", "D"))
    with pytest.raises(NotUnique, match="first 'A', last 'B'"):
        db.insert(User("2", "c@d.com", "A", "B"))
    assert db.get(User, user_id="2") is None
    db.insert(User("2", "A@b.com", "A", "b"))


def test_several_attributes_are_unique_together_and_do_not_run_into_each_other(db: Client) -> None:
    db.insert(User("1", "1", "a#b", "c"))
    db.insert(User("2", "2", "a", "b#c"))
    assert len(guards(db, "first+last")) == 2


def test_guard_is_named_by_attribute_names_of_the_table() -> None:
    """Designs and policies use the names of the table, not those of the class."""
    named_otherwise = Entity(
        User,
        Key("USER#{user_id}", "USER"),
        names={"first": "firstName", "last": "lastName"},
        patterns=[Unique("first", "last")],
    )
    db = made(Schema(named_otherwise), fresh())
    db.insert(User("1", "a@b.com", "A", "B"))
    assert guards(db) == ["firstName+lastName#A#B"]


@both
def test_a_value_can_change_if_the_old_one_is_known_and_is_free_then(connect: Connect) -> None:
    db = connect(SCHEMA)
    db.insert(named(1, "a@b.com"))
    with pytest.raises(UnknownValue, match="needs the current value of email, because the guard of unique email"):
        db.apply(User, Changes({"email": "new@b.com"}), user_id="1")
    with pytest.raises(ConditionFailed):
        db.apply(User, Changes({"email": "new@b.com"}), user_id="1", email="wrong@b.com")
    db.apply(User, Changes({"email": "new@b.com"}), user_id="1", email="a@b.com")
    db.insert(named(2, "a@b.com"))
    with pytest.raises(NotUnique):
        db.apply(User, Changes({"email": "new@b.com"}), user_id="2", read=True)
    db.apply(User, Changes({"email": "third@b.com"}), user_id="2", read=True)
    assert [db.get(User, user_id=one) for one in "12"] == [named(1, "new@b.com"), named(2, "third@b.com")]


def test_update_outside_of_a_pattern_needs_no_transaction() -> None:
    calls: list[Call] = []
    schema = Schema(Entity(User, Key("USER#{user_id}", "PROFILE"), patterns=[Unique("email")]))
    db = Client(schema, "shop", fresh(), observe=calls.append)
    db.create_table()
    db.insert(named(1))
    calls.clear()
    db.apply(User, Changes({"phone": "555"}), user_id="1")
    assert [call.operation for call in calls] == ["UpdateItem"]


def test_absent_value_needs_no_guard(db: Client) -> None:
    db.insert(named(1))
    db.insert(named(2))
    db.apply(User, Changes({"phone": "555"}), user_id="1", phone=None)
    with pytest.raises(NotUnique):
        db.apply(User, Changes({"phone": "555"}), user_id="2", phone=None)
    db.apply(User, Changes({"phone": None}), user_id="1", phone="555")
    db.apply(User, Changes({"phone": "555"}), user_id="2", phone=None)
    assert guards(db, "phone") == ["phone#555"]


@both
def test_a_delete_frees_the_values_of_that_item_only(connect: Connect) -> None:
    db = connect(SCHEMA)
    user = User("1", "a@b.com", "A", "B")
    db.insert(user)
    known: dict[str, Any] = {"email": "a@b.com", "first": "A", "last": "B", "phone": None}
    with pytest.raises(NotFound):
        db.delete(User, user_id="2", **known)
    with pytest.raises(UnknownValue, match="needs the current value of email"):
        db.delete(User, user_id="1")
    db.delete(User, user_id="1", **known)
    db.insert(user)
    db.delete(User, user_id="1", read=True)
    db.insert(replace(user, user_id="2"))


@both
def test_put_with_was_exchanges_unique_values(connect: Connect) -> None:
    db = connect(SCHEMA)
    user = db.insert(named(1))
    with pytest.raises(UnknownValue, match="may change email, and the guard of unique"):
        db.put(user)
    other = db.put(replace(user, email="z@b.com"), was=user)
    with pytest.raises(ConditionFailed):
        db.put(replace(user, email="y@b.com"), was=user)
    last = db.put(replace(other, phone="555"), read=True)
    db.put(named(2), read=True)
    with pytest.raises(NotUnique, match="phone '555'"):
        db.put(named(2, phone="555"), read=True)
    assert db.get(User, user_id="1") == last
    db.insert(named(3, "1@x.com"))


@both
def test_put_takes_a_unique_value_that_is_part_of_its_key(connect: Connect) -> None:
    """The key tells the value of the replaced item, but not whether there is one."""
    db = connect(Schema(Entity(User, Key("EMAIL#{email}", "USER#{user_id}"), patterns=[Unique("email")])))
    for _ in range(2):
        db.put(User("1", "a@b.com"))
    with pytest.raises(NotUnique, match=r"another User has email 'a@b\.com' already"):
        db.put(User("2", "a@b.com"))
    with pytest.raises(NotUnique):
        db.insert(User("2", "a@b.com"))
    assert db.get(User, email="a@b.com", user_id="2") is None


def test_an_upsert_reads_first(db: Client) -> None:
    changes = Changes({"email": "a@b.com", "first": "A", "last": "B"})
    with pytest.raises(UnknownValue, match="this upsert of User changes the guard of unique email"):
        db.apply(User, changes, user_id="1", upsert=True)
    for _ in range(2):
        db.apply(User, changes, user_id="1", upsert=True, read=True)
    with pytest.raises(NotUnique):
        db.apply(User, changes, user_id="2", upsert=True, read=True)
    assert guards(db) == ["email#a@b.com", "first+last#A#B"]


def test_batches_are_refused_with_an_alternative(db: Client) -> None:
    with pytest.raises(
        UnknownValue, match="Pass the object that it replaces as was=, or read=True, or use insert or update"
    ):
        db.put_many([named(1)])
    db.insert(named(1))
    with pytest.raises(UnknownValue, match="or read=True"):
        db.delete_many(User, [{"user_id": "1"}])
    assert wrong(SCHEMA, db._transport) == []


def test_transaction_failure_names_the_write_with_the_taken_value(db: Client) -> None:
    db.insert(named(1))
    with pytest.raises(TransactionCancelled) as cancelled, db.transaction() as tx:
        tx.insert(named(2))
        tx.insert(named(3, "1@x.com"))
    (failure,) = cancelled.value.failures
    assert isinstance(failure, NotUnique)
    assert failure.position == 1
    with pytest.raises(NotUnique, match="another User has email 'same' already"), db.transaction() as tx:
        tx.insert(named(4, "same"))
        tx.insert(named(5, "same"))
    assert len(guards(db)) == 2


def test_more_than_a_transaction_takes_is_refused_before_it_is_sent() -> None:
    calls: list[Call] = []
    db = Client(SCHEMA, "shop", fresh(), observe=calls.append)
    db.create_table()
    calls.clear()
    with pytest.raises(TooMany, match="at most 100 actions, and this one has 102"), db.transaction() as tx:
        for number in range(34):
            tx.insert(named(number))
    assert calls == []


def test_guards_are_never_returned(db: Client) -> None:
    db.insert(named(1))
    assert [list(page) for page in db.everything()] == [[named(1)]]
    assert [page.unmatched for page in db.everything()] == [()]


def test_cost() -> None:
    calls: list[Call] = []
    schema = Schema(Entity(User, Key("USER#{user_id}", "PROFILE"), patterns=[Unique("email")]))
    db = Client(schema, "shop", fresh(), observe=calls.append)
    db.create_table()

    def units(write: Any) -> float:
        calls.clear()
        write()
        return sum(call.units for call in calls if call.operation != "GetItem")

    assert units(lambda: db.insert(named(1))) == 4
    assert units(lambda: db.apply(User, Changes({"phone": "1"}), user_id="1")) == 1
    assert units(lambda: db.apply(User, Changes({"email": "new"}), user_id="1", email="1@x.com")) == 6
    assert units(lambda: db.delete(User, user_id="1", read=True)) == 4


def test_invalid_unique_is_refused() -> None:
    with pytest.raises(SchemaError, match=r"Unique\(\) of User needs the name of an attribute"):
        Schema(Entity(User, Key("USER#{user_id}", "PROFILE"), patterns=[Unique()]))
    assert repr(Unique("first", "last")) == "Unique('first', 'last')"


# --- Against a model ------------------------------------------------------------------------------------------------

WORDS = ["a", "b", "c"]
users = st.builds(
    User,
    st.sampled_from(["1", "2", "3"]),
    st.sampled_from(WORDS),
    st.sampled_from(WORDS),
    st.sampled_from(["x", "y"]),
    st.none() | st.sampled_from(["5", "6"]),
)
operations = st.lists(
    st.tuples(st.sampled_from(["insert", "put", "put was", "update", "upsert", "delete", "delete known"]), users),
    max_size=12,
)


def free(model: dict[str, User], user: User) -> bool:
    """Whether no other user has one of its values."""
    return not any(
        other.user_id != user.user_id
        and (
            other.email == user.email
            or (other.first, other.last) == (user.first, user.last)
            or (user.phone is not None and other.phone == user.phone)
        )
        for other in model.values()
    )


def do(db: Client, model: dict[str, User], verb: str, user: User) -> None:
    there = model.get(user.user_id)
    changes = Changes({name: getattr(user, name) for name in ("email", "first", "last", "phone")})
    match verb:
        case "insert":
            db.insert(user)
        case "put":
            db.put(user, read=True)
        case "put was":
            db.put(user, was=there or user)
        case "update":
            db.apply(User, changes, user_id=user.user_id, read=True)
        case "upsert":
            db.apply(User, changes, user_id=user.user_id, upsert=True, read=True)
        case "delete":
            db.delete(User, user_id=user.user_id, read=True)
        case _:
            known = there or user
            db.delete(
                User,
                user_id=user.user_id,
                email=known.email,
                first=known.first,
                last=known.last,
                phone=known.phone,
            )


def allowed(model: dict[str, User], verb: str, user: User) -> bool:
    there = user.user_id in model
    match verb:
        case "insert":
            return not there and free(model, user)
        case "put" | "upsert":
            return free(model, user)
        case "put was" | "update":
            return there and free(model, user)
        case "delete":
            return True
        case _:
            return there


@given(operations)
def test_unique_values_equal_a_dictionary_model(said: list[tuple[str, User]]) -> None:
    db = made(SCHEMA, fresh())
    model: dict[str, User] = {}
    for verb, user in said:
        if allowed(model, verb, user):
            do(db, model, verb, user)
            if verb.startswith("delete"):
                model.pop(user.user_id, None)
            else:
                model[user.user_id] = user
        else:
            with pytest.raises(ConditionFailed):
                do(db, model, verb, user)
    assert {one.user_id: one for page in db.everything(User, consistent=True) for one in page} == model
    assert wrong(SCHEMA, db._transport) == []


# --- Beside each other ----------------------------------------------------------------------------------------------


def test_one_of_concurrent_writers_gets_a_unique_value() -> None:
    db = made(SCHEMA, fresh())

    def insert(number: int) -> bool:
        try:
            db.insert(named(number, "one@x.com"))
        except NotUnique:
            return False
        return True

    assert sum(in_threads(8, insert)) == 1
    assert len(guards(db, "email")) == 1
    assert wrong(SCHEMA, db._transport) == []


def test_concurrent_exchanges_keep_values_unique() -> None:
    db = made(SCHEMA, fresh())
    for number in range(4):
        db.insert(named(number))

    def wander(number: int) -> None:
        for step in range(10):
            with suppress(NotUnique, Conflict):
                db.apply(User, Changes({"email": f"{(number + step) % 3}"}), user_id=str(number % 4), read=True)

    in_threads(6, wander)
    found = [one for page in db.everything(User, consistent=True) for one in page]
    assert len({one.email for one in found}) == 4
    assert wrong(SCHEMA, db._transport) == []


def take_all(number: int, file: str) -> int:
    with Client(SCHEMA, "shop", Embedded(file)) as db:
        got = 0
        for value in range(20):
            with suppress(NotUnique):
                db.insert(named(f"{number}-{value}", f"value {value}"))
                got += 1
        return got


@pytest.mark.slow
@on_a_file
def test_processes_on_one_file_share_values_out_among_them(tmp_path: Path) -> None:
    file = str(tmp_path / "shop.db")
    db = made(SCHEMA, Embedded(file))
    assert sum(in_processes(3, take_all, file)) == 20
    assert len(guards(db, "email")) == 20
    assert wrong(SCHEMA, db._transport) == []
    db.close()


# --- Faults ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "write",
    [
        lambda db: db.insert(named(2)),
        lambda db: db.put(named(1, "new", "5"), read=True),
        lambda db: db.apply(User, Changes({"email": "new", "phone": "5"}), user_id="1", read=True),
        lambda db: db.apply(
            User, Changes({"email": "new", "first": "", "last": ""}), user_id="3", upsert=True, read=True
        ),
        lambda db: db.delete(User, user_id="1", read=True),
    ],
    ids=["insert", "put", "update", "upsert", "delete"],
)
def test_values_and_guards_agree_after_any_lost_request(write: Any) -> None:
    def begin() -> Any:
        transport = fresh()
        made(SCHEMA, transport).insert(named(1))
        return transport

    def check(transport: Any) -> None:
        assert wrong(SCHEMA, transport) == []
        with suppress(AlreadyExists):  # an insert of which only the answer was lost
            write(Client(SCHEMA, "shop", transport))
        assert wrong(SCHEMA, transport) == []

    assert with_every_fault(begin, lambda lossy: write(Client(SCHEMA, "shop", lossy)), check) >= 2


def test_async_client_loses_nothing() -> None:
    def begin() -> Any:
        transport = fresh()
        made(SCHEMA, transport).insert(named(1))
        return transport

    def act(lossy: Any) -> None:
        db = AsyncClient(SCHEMA, "shop", lossy)
        asyncio.run(db.apply(User, Changes({"email": "new"}), user_id="1", read=True))

    assert with_every_fault(begin, act, is_right(SCHEMA)) == 4


# --- With a time to live --------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Invite:
    code: str
    email: str
    ends: datetime | None = None
    note: str = ""


def invites(clock: ManualClock) -> Schema:
    return Schema(
        Entity(
            Invite,
            Key("INVITE#{code}", "INVITE"),
            patterns=[Unique("email"), TimeToLive("ends", after=timedelta(hours=1), clock=clock)],
        )
    )


def test_a_guard_ends_with_its_item_and_is_free_at_once(clock: ManualClock) -> None:
    schema = invites(clock)
    db = made(schema, fresh())
    db.insert(Invite("1", "a@b.com"))
    assert wrong(schema, db._transport) == []
    with pytest.raises(NotUnique):
        db.insert(Invite("2", "a@b.com"))
    clock.turn(hours=1)
    db.insert(Invite("2", "a@b.com"))
    # The first is still there, hidden, and may be replaced; it has lost its value to the second.
    with pytest.raises(NotUnique):
        db.insert(Invite("1", "a@b.com"))
    with pytest.raises(NotUnique):
        db.put(Invite("1", "a@b.com"), read=True)
    db.put(Invite("1", "b@b.com"), read=True)
    with pytest.raises(NotUnique):
        db.insert(Invite("3", "a@b.com"))
    assert wrong(schema, db._transport) == []


def test_longer_lived_item_keeps_its_value_longer(clock: ManualClock) -> None:
    schema = invites(clock)
    db = made(schema, fresh())
    first = db.insert(Invite("1", "a@b.com"))
    assert first.ends is not None
    with pytest.raises(UnknownValue, match="needs the current value of email"):
        db.apply(Invite, Changes({"ends": first.ends + timedelta(hours=1)}), code="1")
    db.apply(Invite, Changes({"ends": first.ends + timedelta(hours=1)}), code="1", email="a@b.com")
    assert wrong(schema, db._transport) == []
    clock.turn(hours=1)
    with pytest.raises(NotUnique):
        db.insert(Invite("2", "a@b.com"))
    db.apply(Invite, Changes({"email": "b@b.com"}), code="1", read=True)
    db.insert(Invite("2", "a@b.com"))
    db.delete(Invite, code="1", read=True)
    assert wrong(schema, db._transport) == []


@given(
    st.lists(
        st.tuples(
            st.sampled_from(["insert", "put", "update", "delete", "renew", "wait"]),
            st.sampled_from(["1", "2"]),
            st.sampled_from(["a", "b"]),
        ),
        max_size=14,
    )
)
def test_no_two_visible_items_share_a_unique_value_at_any_time(operations: list[tuple[str, str, str]]) -> None:
    clock = ManualClock()
    schema = invites(clock)
    db = made(schema, fresh())
    for verb, code, email in operations:
        try:
            match verb:
                case "insert":
                    db.insert(Invite(code, email))
                case "put":
                    db.put(Invite(code, email), read=True)
                case "update":
                    db.apply(Invite, Changes({"email": email}), code=code, read=True)
                case "renew":
                    db.apply(Invite, Changes({"ends": clock() + timedelta(hours=2)}), code=code, read=True)
                case "delete":
                    db.delete(Invite, code=code, read=True)
                case _:
                    clock.turn(minutes=40)
        except ConditionFailed:
            pass
        found = [one for page in db.everything(Invite, consistent=True) for one in page]
        assert len({one.email for one in found}) == len(found)


# --- With versions --------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Page:
    page_id: str
    slug: str
    version: int = 0


def test_with_versions_a_put_is_refused_for_the_version_first() -> None:
    schema = Schema(Entity(Page, Key("PAGE#{page_id}", "PAGE"), patterns=[Version(), Unique("slug")]))
    db = made(schema, fresh())
    first = db.insert(Page("1", "home"))
    second = db.put(replace(first, slug="start"), was=first)
    assert second.version == 2
    with pytest.raises(TableError) as refused:
        db.put(replace(first, slug="late"), was=first)
    assert isinstance(refused.value, VersionConflict)
    assert wrong(schema, db._transport) == []


def test_two_exchange_their_values_in_one_transaction(db: Client) -> None:
    db.insert(named(1, "a"))
    db.insert(named(2, "b"))
    with db.transaction() as tx:
        tx.apply(User, Changes({"email": "b"}), user_id="1", email="a")
        tx.apply(User, Changes({"email": "a"}), user_id="2", email="b")
    assert [db.get(User, user_id=one) for one in "12"] == [named(1, "b"), named(2, "a")]
    assert wrong(SCHEMA, db._transport) == []
    with pytest.raises(TransactionCancelled), db.transaction() as tx:
        tx.apply(User, Changes({"email": "c"}), user_id="1", email="a")
        tx.insert(named(3, "a"))
    assert wrong(SCHEMA, db._transport) == []
