"""Attributes that follow another entity: a refresh gives all items the source's values, also with concurrent writes."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

import pytest
from tests.patterns.faults import in_threads, with_every_fault
from tests.place import fresh
from tests.table.both import Connect, both, waiting

from prejoin import (
    AsyncClient,
    Call,
    Child,
    Client,
    ConditionFailed,
    Copy,
    Counted,
    Embedded,
    Entity,
    Finding,
    Follows,
    Index,
    Key,
    Schema,
    SchemaError,
    SoftDelete,
    StreamConsumer,
    StreamHandlers,
    TableError,
    TransactionCancelled,
    When,
    audit,
    keep_fresh,
    refresh,
    repair,
    restore,
)


@dataclass
class User:
    user_id: str
    name: str
    photo: str | None = None
    visits: int = 0


@dataclass
class Comment:
    post_id: str
    comment_id: str
    author_id: str
    author: str
    photo: str | None = None
    state: str = "NEW"
    gone: datetime | None = None


NAMES = {"author": "name", "photo": "photo"}
BY = {"user_id": "author_id"}
USER = Entity(User, Key("USER#{user_id}", "USER"))


def schema(*more: Any, checked: bool = True, sort: str = "COMMENT#{comment_id}") -> Schema:
    comment = Entity(
        Comment,
        Key("POST#{post_id}", "COMMENT#{comment_id}"),
        indexes={"gsi1": Key("USER#{author_id}", sort)},
        patterns=[Follows(User, NAMES, BY, checked), *more],
    )
    return Schema(USER, comment, indexes=[Index("gsi1")])


def begun(schema: Schema, comments: int, connect: Connect = waiting, **more: Any) -> Client:
    db = connect(schema, **more)
    db.insert(User("1", "Ann"))
    for at in range(comments):
        db.insert(comment(at))
    return db


def comment(at: int, author: str = "Ann") -> Comment:
    return Comment(f"p{at % 7}", f"{at:04}", "1", author)


def renamed(db: Client, name: str) -> None:
    with db.update(User, user_id="1") as user:
        user.name = name


def authors(db: Client) -> list[str]:
    return [one.author for page in db.pages(Comment, author_id="1") for one in page.items]


def _refresh(db: Client, **more: Any) -> Any:
    client = getattr(db, "_client", db)
    found = refresh(client, User, user_id="1", **more)
    return asyncio.run(found) if isinstance(client, AsyncClient) else found  # type: ignore[arg-type]


@both
@pytest.mark.parametrize(
    ("more", "sort"),
    [
        ((), "COMMENT#{comment_id}"),
        ((Copy("by_id", Key("COMMENT#{comment_id}", "C")),), "COMMENT#{author}#{comment_id}"),
        (
            (Copy("new", Key("NEW#{state}", "C#{comment_id}", when=[When("state", frozenset({"NEW"}))])),),
            "{comment_id}",
        ),
    ],
)
def test_refresh_updates_every_item_of_a_source(connect: Connect, more: tuple[Any, ...], sort: str) -> None:
    db = begun(schema(*more, sort=sort), 230, connect)
    db.insert(User("2", "Bob"))
    db.insert(Comment("p1", "other", "2", "Bob"))
    renamed(db, "Anne")
    reported: list[int] = []
    assert _refresh(db, progress=reported.append) == 230
    assert reported[-1] == 230
    assert reported == sorted(reported)
    assert _refresh(db) == 0
    assert authors(db) == ["Anne"] * 230
    assert findings(db) == []  # copies and index keys have the new name as well
    other = db.get(Comment, post_id="p1", comment_id="other")
    assert other is not None
    assert other.author == "Bob"


@both
def test_checked_insert_has_the_value_of_its_source(connect: Connect) -> None:
    db = begun(schema(), 1, connect)
    renamed(db, "Anne")
    with pytest.raises((ConditionFailed, TransactionCancelled)):
        db.insert(comment(1))
    db.insert(comment(1, "Anne"))
    with pytest.raises((ConditionFailed, TransactionCancelled)):
        db.insert(replace(comment(2, "Anne"), photo="new"))  # the user has none
    with pytest.raises((ConditionFailed, TransactionCancelled)):
        db.insert(Comment("p", "c", "nobody", "Ann"))
    assert authors(db) == ["Ann", "Anne"]


def test_unchecked_insert_costs_nothing_more_and_is_refreshed_later() -> None:
    calls: list[Call] = []
    db = begun(schema(checked=False), 1, observe=calls.append)
    renamed(db, "Anne")
    calls.clear()
    db.insert(comment(1, "Ann"))
    assert [(call.operation, call.units) for call in calls] == [("PutItem", 2)]  # the item, and its index
    assert refresh(db, User, user_id="1") == 2
    assert authors(db) == ["Anne"] * 2


def test_cost_is_as_said() -> None:
    calls: list[Call] = []
    no_index = Schema(
        USER,
        Entity(Reply, Key("USER#{user_id}", "REPLY#{reply_id}"), patterns=[Follows(User, {"name": "name"})]),
    )
    db = Client(no_index, "shop", fresh(), observe=calls.append)
    db.create_table()
    db.insert(User("1", "Ann"))
    calls.clear()
    for at in range(150):
        db.insert(Reply("1", f"{at:03}", "Ann"))
    assert {(call.operation, call.units) for call in calls} == {("TransactWriteItems", 4)}
    renamed(db, "Anne")
    calls.clear()
    assert refresh(db, User, user_id="1") == 150
    writes = [call.units for call in calls if call.operation == "TransactWriteItems"]
    assert writes == [2 * 99 + 2, 2 * 51 + 2]  # and the check of the source


@dataclass
class Reply:
    user_id: str
    reply_id: str
    name: str


def test_source_without_items_or_gone_is_nothing_to_do() -> None:
    db = begun(schema(), 0)
    assert refresh(db, User, user_id="1") == 0
    assert refresh(db, User, user_id="nobody") == 0
    with pytest.raises(SchemaError, match="no entity follows Comment"):
        refresh(db, Comment, post_id="p", comment_id="c")


def test_racing_renames_inserts_and_refreshes_end_right() -> None:
    db = begun(schema(), 40)

    def act(number: int) -> None:
        for at in range(8):
            with suppress(TableError):  # another writer was first: its value is checked at the end
                if number < 2:
                    renamed(db, f"Ann {number}.{at}")
                    refresh(db, User, user_id="1")
                else:
                    user = db.get(User, user_id="1", consistent=True)
                    assert user is not None
                    db.insert(comment(1000 * number + at, user.name))

    in_threads(4, act)
    refresh(db, User, user_id="1")
    user = db.get(User, user_id="1")
    assert user is not None
    assert len(authors(db)) >= 40
    assert set(authors(db)) == {user.name}


@pytest.mark.slow
def test_refresh_can_be_repeated_after_any_fault() -> None:
    def begin() -> Any:
        transport = fresh()
        renamed(begun(schema(), 5, transport=transport), "Anne")
        return transport

    def act(lossy: Any) -> None:
        refresh(Client(schema(), "shop", lossy), User, user_id="1")

    def check(transport: Any) -> None:
        db = Client(schema(), "shop", transport)
        assert set(authors(db)) in ({"Ann"}, {"Anne"}, {"Ann", "Anne"})
        refresh(db, User, user_id="1")
        assert authors(db) == ["Anne"] * 5

    assert with_every_fault(begin, act, check) >= 4


@pytest.mark.parametrize("checked", [True, False])
def test_stream_keeps_items_fresh(checked: bool) -> None:
    with Embedded() as engine:
        db = Client(schema(checked=checked), "shop", engine)
        db.create_table(StreamSpecification={"StreamEnabled": True, "StreamViewType": "NEW_AND_OLD_IMAGES"})
        handlers = StreamHandlers(db.schema)
        keep_fresh(handlers, db)
        consumer = StreamConsumer(engine, "shop", handlers)
        db.insert(User("1", "Ann"))
        for at in range(3):
            db.insert(comment(at))
        consumer.run()
        renamed(db, "Anne")
        with suppress(ConditionFailed, TransactionCancelled):
            db.insert(comment(3, "Ann"))  # by a writer that has read the old name
        with db.update(User, user_id="1") as user:
            user.visits += 1
        assert consumer.run() > 0
        assert authors(db) == ["Anne"] * (3 if checked else 4)
        while consumer.run():
            pass  # its own writes do not start another round
        assert set(authors(db)) == {"Anne"}


def test_stream_keeps_items_fresh_with_an_async_client() -> None:
    with Embedded() as engine:
        db = Client(schema(checked=False), "shop", engine)
        db.create_table(StreamSpecification={"StreamEnabled": True, "StreamViewType": "NEW_AND_OLD_IMAGES"})
        handlers = StreamHandlers(db.schema)
        keep_fresh(handlers, AsyncClient(db.schema, "shop", engine))
        stream = engine.changes("shop")
        db.insert(User("1", "Ann"))
        db.insert(comment(0))
        renamed(db, "Anne")
        db.insert(comment(1, "Ann"))
        asyncio.run(handlers.handle_async(stream.read()))
        assert authors(db) == ["Anne"] * 2


@pytest.mark.parametrize(
    ("follows", "message"),
    [
        (Follows(User, {"author": "name"}), "Comment has no attribute user_id"),
        (Follows(User, {"author": "visits"}, BY), "author is a string, and visits is a integer"),
        (Follows(User, {"author": "photo"}, BY), "may be absent"),
        (Follows(User, {"post_id": "name"}, BY), "a key never changes"),
        (Follows(Reply, {"author": "name"}, BY), "Reply is not an entity"),
        (Follows(User, {"author": "name"}, {"user_id": "photo"}), "Comment follows User: .*photo"),
    ],
)
def test_wrong_declaration_is_refused(follows: Follows, message: str) -> None:
    entity = Entity(Comment, Key("POST#{post_id}", "COMMENT#{comment_id}"), patterns=[follows])
    with pytest.raises(SchemaError, match=message):
        Schema(USER, entity)


@both
def test_audit_finds_outdated_items_and_repair_updates_them(connect: Connect) -> None:
    db = begun(schema(Copy("by_id", Key("COMMENT#{comment_id}", "C")), checked=False), 3, connect)
    db.insert(Comment("p", "free", "nobody", "Whoever"))  # without a source there is nothing to follow
    assert list(findings(db)) == []
    renamed(db, "Anne")
    db.insert(comment(3, "Anne"))
    found = findings(db)
    assert (
        sorted((one.kind, one.entity, one.found, one.expected) for one in found)
        == [("outdated", "Comment", {"author": {"S": "Ann"}}, {"author": {"S": "Anne"}})] * 3
    )
    assert [mended(db, one) for one in found] == [True] * 3
    assert [mended(db, one) for one in found] == [False] * 3  # nothing is left to do
    assert findings(db) == []
    assert authors(db) == ["Anne"] * 4


@both
def test_source_can_be_the_parent_that_counts_its_items(connect: Connect) -> None:
    db = begun(schema(Child(User, BY), Counted(User, "visits", by=BY)), 3, connect)
    renamed(db, "Anne")
    with pytest.raises((ConditionFailed, TransactionCancelled)):
        db.insert(comment(3, "Ann"))
    db.insert(comment(4, "Anne"))
    assert db.get(User, user_id="1") == User("1", "Anne", visits=4)


@both
@pytest.mark.parametrize("repaired", [False, True])
def test_item_marked_as_deleted_follows_too(connect: Connect, repaired: bool) -> None:
    db = begun(schema(SoftDelete("gone")), 2, connect)
    db.delete(Comment, post_id="p0", comment_id="0000", read=True)
    renamed(db, "Anne")
    if repaired:
        assert [mended(db, one) for one in findings(db)] == [True, True]
    else:
        assert _refresh(db) == 2
    assert findings(db) == []
    restore(db, Comment, post_id="p0", comment_id="0000")
    assert authors(db) == ["Anne", "Anne"]


@both
def test_item_of_a_source_marked_as_deleted_keeps_the_last_values(connect: Connect) -> None:
    @dataclass
    class Writer:
        user_id: str
        name: str
        gone: datetime | None = None

    follows = Follows(Writer, {"author": "name"}, by={"user_id": "author_id"}, checked=False)
    writer = Entity(Writer, Key("USER#{user_id}", "USER"), patterns=[SoftDelete("gone")])
    by_author = {"gsi1": Key("USER#{author_id}", "COMMENT#{comment_id}")}
    item = Entity(Comment, Key("POST#{post_id}", "COMMENT#{comment_id}"), indexes=by_author, patterns=[follows])
    db = connect(Schema(writer, item, indexes=[Index("gsi1")]))
    db.insert(Writer("1", "Ann"))
    db.insert(Comment("p", "c", "1", "Old"))
    assert [one.kind for one in findings(db)] == ["outdated"]
    db.delete(Writer, user_id="1")
    assert findings(db) == []
    restore(db, Writer, user_id="1")
    assert [one.kind for one in findings(db)] == ["outdated"]


def findings(db: Client) -> list[Finding]:
    client = getattr(db, "_client", db)
    if isinstance(client, AsyncClient):

        async def collected() -> list[Finding]:
            return [one async for one in audit(client)]

        return asyncio.run(collected())
    return list(audit(client))


def mended(db: Client, finding: Finding) -> bool:
    client = getattr(db, "_client", db)
    found = repair(client, finding)
    return asyncio.run(found) if isinstance(client, AsyncClient) else found  # type: ignore[arg-type]
