"""Audit and repair: every kind of damage is found and repaired, and nothing is found in a correct table in use."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.patterns.faults import Faulty, Lost, in_threads, items
from tests.place import examples, fresh

from prejoin import (
    AsyncClient,
    Call,
    Changes,
    Child,
    Client,
    Copy,
    Counted,
    Entity,
    Finding,
    Index,
    Key,
    OtherTenant,
    Schema,
    SoftDelete,
    Summed,
    TableError,
    TimeToLive,
    Tree,
    Unique,
    Version,
    audit,
    move,
    repair,
    total,
)
from prejoin.engine import Embedded


@dataclass(frozen=True)
class User:
    user_id: str
    email: str
    roles: frozenset[str] = frozenset()
    orders: int = 0
    version: int = 0


@dataclass(frozen=True)
class Order:
    user_id: str
    order_id: str
    status: str
    total: Decimal = Decimal("1.50")
    note: str | None = None
    text: str = ""


SCHEMA = Schema(
    Entity(User, Key("USER#{user_id}", "PROFILE"), patterns=[Unique("email"), Version("version")]),
    Entity(
        Order,
        Key("USER#{user_id}", "ORDER#{order_id}"),
        indexes={"gsi1": Key("STATUS#{status}", "{order_id}"), "gsi2": Key("NOTE#{note}", "{order_id}")},
        patterns=[Copy("by-id", Key("ORDER#{order_id}", "ORDER")), Child(User), Counted(User, "orders")],
    ),
    indexes=[Index("gsi1"), Index("gsi2")],
)

ANN = User("1", "ann@a.com", frozenset({"x", "y", "z"}))
BOB = User("2", "bob@a.com")
ORDER = Order("1", "7", "OPEN", note="n")


@pytest.fixture
def db() -> Client:
    return filled()


def filled(transport: Any = None, **more: Any) -> Client:
    db = Client(SCHEMA, "shop", transport or fresh(), **more)
    db.create_table()
    for record in (ANN, BOB, ORDER, Order("1", "8", "DONE"), Order("2", "9", "OPEN")):
        db.insert(record)
    return db


def key(pk: str, sk: str) -> dict[str, Any]:
    return {"pk": {"S": pk}, "sk": {"S": sk}}


def stored(db: Client, pk: str, sk: str) -> dict[str, Any]:
    return dict(db.call("GetItem", {"Key": key(pk, sk), "ConsistentRead": True}).get("Item") or {})


def put(db: Client, item: dict[str, Any]) -> None:
    db.call("PutItem", {"Item": item})


def change(db: Client, pk: str, sk: str, **attributes: Any) -> None:
    """Changes an item without the schema; None removes an attribute."""
    item = {**stored(db, pk, sk), **attributes}
    put(db, {name: value for name, value in item.items() if value is not None})


def delete(db: Client, pk: str, sk: str) -> None:
    db.call("DeleteItem", {"Key": key(pk, sk)})


def summary(findings: list[Finding]) -> list[tuple[str, str, str]]:
    return sorted((finding.kind, finding.entity, finding.key["pk"]["S"]) for finding in findings)


def dump(db: Client) -> list[dict[str, Any]]:
    return sorted(items(db._transport, "shop"), key=lambda item: (item["pk"]["S"], item["sk"]["S"]))


# --- Nothing wrong --------------------------------------------------------------------------------------------------


def test_in_a_table_that_is_right_nothing_is_found(db: Client) -> None:
    with db.update(Order, user_id="1", order_id="7", read=True) as order:
        order.status, order.note = "PAID", None  # type: ignore[misc]
    with db.update(User, user_id="1", read=True) as user:
        user.email = "new@a.com"  # type: ignore[misc]
    db.delete(Order, user_id="1", order_id="8", read=True)
    assert list(audit(db)) == []
    assert list(audit(db, segments=3)) == []


def test_async_client_audits_and_repairs(db: Client) -> None:
    delete(db, "UNIQUE#User#email#ann@a.com", "UNIQUE")

    async def main() -> list[Any]:
        client = AsyncClient(SCHEMA, "shop", db._transport)  # type: ignore[arg-type]
        found = [finding async for finding in audit(client)]
        mended = [await repair(client, finding) for finding in found]
        return [len(found), mended, [finding async for finding in audit(client)]]

    assert asyncio.run(main()) == [1, [True], []]


def test_audit_reports_progress(db: Client) -> None:
    reported: list[int] = []
    list(audit(db, progress=reported.append))
    assert reported[-1] == len(dump(db))


def test_expired_item_is_not_repaired() -> None:
    @dataclass(frozen=True)
    class Session:
        token: str
        user: str
        expires_at: datetime

    entity = Entity(
        Session,
        Key("SESSION#{token}", "SESSION"),
        patterns=[TimeToLive("expires_at"), Unique("user"), Copy("by-user", Key("USER#{user}", "SESSION"))],
    )
    schema = Schema(entity)
    db = Client(schema, "shop", fresh())
    db.create_table()
    now = datetime.now(UTC)
    db.insert(Session("old", "a", now - timedelta(hours=1)))
    db.insert(Session("new", "b", now + timedelta(hours=1)))
    delete(db, "USER#a", "SESSION")  # DynamoDB deleted it
    delete(db, "SESSION#old", "SESSION")
    assert list(audit(db)) == []
    delete(db, "USER#b", "SESSION")
    assert summary(list(audit(db))) == [("missing", "Session.by-user", "USER#b")]


def test_audit_expects_the_items_of_patterns_of_soft_deleted_items() -> None:
    @dataclass(frozen=True)
    class Page:
        page_id: str
        url: str
        deleted_at: datetime | None = None

    patterns: dict[bool, list[Any]] = {
        release: [SoftDelete("deleted_at", release=release), Unique("url"), Copy("by-url", Key("URL#{url}", "PAGE"))]
        for release in (False, True)
    }
    for several in patterns.values():
        db = Client(Schema(Entity(Page, Key("PAGE#{page_id}", "PAGE"), patterns=several)), "shop", fresh())
        db.create_table()
        db.insert(Page("1", "/a"))
        db.delete(Page, page_id="1", read=True)
        assert list(audit(db)) == []


@dataclass(frozen=True)
class Video:
    video_id: str


@dataclass(frozen=True)
class Like:
    video_id: str
    user_id: str
    stars: int = 1


@dataclass(frozen=True)
class File:
    drive: str
    path: str


def likes(shards: int) -> Schema:
    """A schema with items of patterns that belong to no other item: shards of counts, the journal of a move."""
    return Schema(
        Entity(Video, Key("VIDEO#{video_id}", "VIDEO")),
        Entity(
            Like,
            Key("VIDEO#{video_id}", "LIKE#{user_id}"),
            indexes={"gsi1": Key(f"LIKES#{{user_id:shard({shards})}}", "{user_id}#{video_id}")},
            patterns=[Counted(Video, "likes", shards=4), Summed(Video, "stars", of="stars", shards=2)],
        ),
        Entity(File, Key("DRIVE#{drive}", "FILE#{path:tree}"), patterns=[Tree("path")]),
        indexes=[Index("gsi1")],
    )


@pytest.fixture
def videos() -> Client:
    db = Client(likes(2), "shop", fresh())
    db.create_table()
    db.insert(Video("7"))
    for number in range(9):
        db.insert(Like("7", str(number), number))
    db.put_many([File("d", path) for path in ("/a", "/a/b", "/c")])
    move(db, File, "/a", "/x", drive="d")
    return db


def test_items_of_patterns_are_not_reported_as_damage(videos: Client) -> None:
    assert list(audit(videos)) == []


def test_sharded_count_is_compared_and_repaired(videos: Client) -> None:
    shard = next(item for item in dump(videos) if item["sk"]["S"].startswith("~COUNTER#Video#likes"))
    change(videos, shard["pk"]["S"], shard["sk"]["S"], n={"N": "1000"})
    (finding,) = audit(videos)
    assert (finding.kind, finding.entity, finding.expected) == ("miscounted", "Video", {"likes": {"N": "9"}})
    assert repair(videos, finding)
    assert list(audit(videos)) == []
    assert total(videos, Video, "likes", video_id="7") == 9


def test_with_another_number_of_shards_index_keys_are_found_and_written_anew(videos: Client) -> None:
    db = Client(likes(8), "shop", videos._transport)
    findings = list(audit(db))
    assert {(finding.kind, finding.entity) for finding in findings} == {("index keys", "Like")}
    assert all(repair(db, finding) for finding in findings)
    assert list(audit(db)) == []


# --- Every kind of damage -------------------------------------------------------------------------------------------

DAMAGE: dict[str, tuple[Callable[[Client], Any], list[tuple[str, str, str]]]] = {
    "a copy that drifted": (
        lambda db: change(db, "ORDER#7", "ORDER", status={"S": "LOST"}),
        [("drifted", "Order.by-id", "ORDER#7")],
    ),
    "a copy that lost an attribute": (
        lambda db: change(db, "ORDER#7", "ORDER", note=None),
        [("drifted", "Order.by-id", "ORDER#7")],
    ),
    "an item changed without its copy": (
        lambda db: change(db, "USER#1", "ORDER#7", total={"N": "2"}),
        [("drifted", "Order.by-id", "ORDER#7")],
    ),
    "a copy that is not there": (lambda db: delete(db, "ORDER#7", "ORDER"), [("missing", "Order.by-id", "ORDER#7")]),
    "a guard that is not there": (
        lambda db: delete(db, "UNIQUE#User#email#ann@a.com", "UNIQUE"),
        [("missing", "User unique email", "UNIQUE#User#email#ann@a.com")],
    ),
    "a guard whose owner changed": (
        lambda db: change(db, "USER#1", "PROFILE", email={"S": "new"}),
        [
            ("missing", "User unique email", "UNIQUE#User#email#new"),
            ("orphaned", "User unique email", "UNIQUE#User#email#ann@a.com"),
        ],
    ),
    "a guard whose owner is gone": (
        lambda db: [delete(db, "USER#2", "PROFILE"), delete(db, "USER#2", "ORDER#9"), delete(db, "ORDER#9", "ORDER")],
        [("orphaned", "User unique email", "UNIQUE#User#email#bob@a.com")],
    ),
    "an index key that is stale": (
        lambda db: change(db, "USER#1", "ORDER#7", gsi1pk={"S": "STATUS#OLD"}),
        [("index keys", "Order", "USER#1")],
    ),
    "an index key that is missing": (
        lambda db: change(db, "USER#1", "ORDER#7", gsi1pk=None, gsi1sk=None),
        [("index keys", "Order", "USER#1")],
    ),
    "an index key that should not be there": (
        lambda db: change(db, "USER#1", "ORDER#8", gsi2pk={"S": "NOTE#x"}, gsi2sk={"S": "8"}),
        [("index keys", "Order", "USER#1")],
    ),
    "an index key of another entity": (
        lambda db: change(db, "USER#1", "PROFILE", gsi1pk={"S": "STATUS#OPEN"}, gsi1sk={"S": "1"}),
        [("index keys", "User", "USER#1")],
    ),
    "a count that is off": (
        lambda db: change(db, "USER#1", "PROFILE", orders={"N": "17"}),
        [("miscounted", "User", "USER#1")],
    ),
    "an item deleted without its copy": (
        lambda db: delete(db, "USER#1", "ORDER#7"),
        [("miscounted", "User", "USER#1"), ("orphaned", "Order.by-id", "ORDER#7")],
    ),
}


@pytest.mark.parametrize("name", DAMAGE)
def test_damage_is_found_and_repaired(name: str) -> None:
    damage, expected = DAMAGE[name]
    db = filled()
    damage(db)
    findings = list(audit(db))
    assert summary(findings) == expected
    assert all(finding.mendable for finding in findings)
    assert [repair(db, finding) for finding in findings] == [True] * len(findings)
    assert list(audit(db)) == []


def test_repair_restores_the_table() -> None:
    names = [name for name, (_, expected) in DAMAGE.items() if "orphaned" not in {kind for kind, _, _ in expected}]
    for name in names:
        if name == "an item changed without its copy":
            continue  # its value is unknown
        db = filled()
        before = dump(db)
        DAMAGE[name][0](db)
        assert dump(db) != before
        for finding in audit(db):
            repair(db, finding)
        assert dump(db) == before, name


HOPELESS: dict[str, tuple[Callable[[Client], Any], list[tuple[str, str, str]]]] = {
    "an item that is no such object": (
        lambda db: change(db, "USER#2", "PROFILE", orders={"S": "many"}),
        [("damaged", "User", "USER#2")],
    ),
    "a copy that does not tell of what": (
        lambda db: put(db, {**key("ORDER#x", "ORDER"), "entityType": {"S": "Order.by-id"}}),
        [("damaged", "Order.by-id", "ORDER#x")],
    ),
    "an item under a key of another": (
        lambda db: put(db, {**stored(db, "USER#2", "PROFILE"), **key("USER#3", "PROFILE")}),
        [("misplaced", "User", "USER#3")],
    ),
    "an item of nobody": (
        lambda db: put(db, {**key("THING#1", "THING"), "entityType": {"S": "Thing"}}),
        [("unknown", "Thing", "THING#1")],
    ),
    "an item that tells nothing": (lambda db: put(db, key("THING#1", "THING")), [("unknown", "", "THING#1")]),
    "two with one unique value": (
        lambda db: change(db, "USER#2", "PROFILE", email={"S": "ann@a.com"}),
        [
            ("orphaned", "User unique email", "UNIQUE#User#email#bob@a.com"),
            ("taken", "User unique email", "UNIQUE#User#email#ann@a.com"),
        ],
    ),
    "a child without a parent": (
        lambda db: [delete(db, "USER#2", "PROFILE"), delete(db, "UNIQUE#User#email#bob@a.com", "UNIQUE")],
        [("parentless", "Order", "USER#2"), ("parentless", "Order", "USER#2")],
    ),
}


@pytest.mark.parametrize("name", HOPELESS)
def test_ambiguous_findings_are_reported_and_not_repaired(name: str) -> None:
    damage, expected = HOPELESS[name]
    db = filled()
    damage(db)
    before = dump(db)
    findings = list(audit(db))
    assert summary(findings) == expected
    for finding in findings:
        if not finding.mendable:
            with pytest.raises(TableError, match="A program cannot decide that"):
                repair(db, finding)
    assert dump(db) == before


def test_an_item_that_others_wrote_without_a_tag_is_judged_by_its_key(db: Client) -> None:
    change(db, "USER#2", "PROFILE", entityType=None)
    assert list(audit(db)) == []
    delete(db, "UNIQUE#User#email#bob@a.com", "UNIQUE")
    assert summary(list(audit(db))) == [("missing", "User unique email", "UNIQUE#User#email#bob@a.com")]


def test_finding_has_a_problem_and_a_fix(db: Client) -> None:
    change(db, "USER#1", "ORDER#7", gsi1pk={"S": "STATUS#OLD"})
    (finding,) = audit(db)
    assert str(finding) == "index keys: Order USER#1 / ORDER#7: write the keys of its attributes"
    assert finding.found is not None
    assert finding.expected is not None
    assert finding.found["gsi1pk"] == {"S": "STATUS#OLD"}
    assert finding.expected["gsi1pk"] == {"S": "STATUS#OPEN"}


def test_a_client_of_one_tenant_does_not_audit_them_all() -> None:
    @dataclass
    class Note:
        tenant_id: str
        note_id: str

    schema = Schema(Entity(Note, Key("T#{tenant_id}", "NOTE#{note_id}")), tenant="tenant_id")
    db = Client(schema, "shop", fresh())
    db.create_table()
    with pytest.raises(OtherTenant, match="Scan"):
        list(audit(db.tenant("acme")))


# --- What changes meanwhile -----------------------------------------------------------------------------------------

MEANWHILE: dict[str, tuple[str, Callable[[Client], Any]]] = {
    "the copy was written": ("a copy that drifted", lambda db: change(db, "ORDER#7", "ORDER", status={"S": "OTHER"})),
    "the item was written": (
        "a copy that drifted",
        lambda db: db.apply(Order, Changes({"total": Decimal(7)}), user_id="1", order_id="7"),
    ),
    "an attribute was added": (
        "a copy that lost an attribute",
        lambda db: change(db, "ORDER#7", "ORDER", extra={"S": "x"}, note={"S": "z"}),
    ),
    "the guard was taken": (
        "a guard that is not there",
        lambda db: db.insert(User("5", "ann@a.com")),
    ),
    "the owner came back": (
        "a guard whose owner is gone",
        lambda db: put(db, {**key("USER#2", "PROFILE"), "entityType": {"S": "User"}}),
    ),
    "the index key was written": (
        "an index key that is stale",
        lambda db: db.apply(Order, Changes({"status": "PAID"}), user_id="1", order_id="7", read=True),
    ),
}


@pytest.mark.parametrize("name", MEANWHILE)
def test_repair_never_overwrites_newer_items(name: str) -> None:
    damage, meanwhile = MEANWHILE[name]
    db = filled()
    DAMAGE[damage][0](db)
    (finding,) = audit(db)
    meanwhile(db)
    before = dump(db)
    assert repair(db, finding) is False
    assert dump(db) == before


def test_count_that_was_repaired_meanwhile_stays(db: Client) -> None:
    change(db, "USER#1", "PROFILE", orders={"N": "17"})
    (finding,) = audit(db)
    assert repair(db, finding) is True
    assert repair(db, finding) is False
    found = db.get(User, user_id="1")
    assert found
    assert found.orders == 2


def test_nothing_is_found_while_others_write() -> None:
    """The audit reads pages and related items at different times, while all of them are written."""
    db = filled(Embedded())
    stop = threading.Event()
    written = [0]

    def write(number: int) -> None:
        client = Client(SCHEMA, "shop", db._transport)
        at = 0
        while not stop.is_set():
            at += 1
            order = Order("1", f"{number}-{at % 3}", "OPEN", Decimal(at), f"n{at}")
            client.put(order, read=True)
            with client.update(User, user_id=str(number + 1), read=True) as user:
                user.email = f"{number}-{at}@a.com"  # type: ignore[misc]
            client.delete(Order, user_id="1", order_id=order.order_id, read=True)
            written[0] += 1

    def look(_: int) -> list[Finding]:
        try:
            return [finding for _ in range(12) for finding in audit(db)]
        finally:
            stop.set()

    *_, found = in_threads(3, lambda number: look(number) if number == 2 else write(number))
    assert written[0] > 3
    assert found == []
    assert list(audit(db)) == []


def test_audit_finds_damage_during_other_writes() -> None:
    db = filled(Embedded())
    delete(db, "UNIQUE#User#email#bob@a.com", "UNIQUE")
    stop = threading.Event()

    def write() -> None:
        client = Client(SCHEMA, "shop", db._transport)
        at = 0
        while not stop.is_set():
            at += 1
            client.apply(Order, Changes({"note": f"n{at}"}), user_id="1", order_id="7", read=True)

    thread = threading.Thread(target=write)
    thread.start()
    try:
        assert summary(list(audit(db))) == [("missing", "User unique email", "UNIQUE#User#email#bob@a.com")]
    finally:
        stop.set()
        thread.join()


@pytest.mark.parametrize("applied", [False, True])
def test_repair_continues_after_a_lost_request(applied: bool) -> None:
    at = 0
    while True:
        at += 1
        db = filled(Embedded())
        for name in ("a copy that drifted", "a guard whose owner changed", "an index key that is stale"):
            DAMAGE[name][0](db)
        faulty = Faulty(db._transport, at, applied)
        dying = Client(SCHEMA, "shop", faulty)
        try:
            for finding in audit(dying):
                repair(dying, finding)
        except Lost:
            pass
        for finding in audit(db):
            repair(db, finding)
        assert list(audit(db)) == []
        if not faulty.lost:
            break
    assert at > 10


# --- Any damage -----------------------------------------------------------------------------------------------------

_INDEXES = ("gsi1pk", "gsi1sk", "gsi2pk", "gsi2sk")


@settings(max_examples=examples(40))
@given(st.data())
def test_any_damage_is_repaired(data: st.DataObject) -> None:
    """Copies, guards, index keys and counts are lost, changed and invented; entities stay as they are."""
    db = filled()
    before = dump(db)
    for _ in range(data.draw(st.integers(1, 4))):
        item = data.draw(st.sampled_from(dump(db)))
        pk, sk, tag = item["pk"]["S"], item["sk"]["S"], item["entityType"]["S"]
        if tag == "Order":
            name = data.draw(st.sampled_from(_INDEXES))
            change(db, pk, sk, **{name: data.draw(st.sampled_from([None, {"S": "wrong"}]))})
        elif tag == "User":
            change(db, pk, sk, orders={"N": str(data.draw(st.integers(-3, 9)))})
        elif data.draw(st.booleans()):
            delete(db, pk, sk)
        elif tag == "Order.by-id":
            change(db, pk, sk, total={"N": str(data.draw(st.integers(0, 9)))})
        else:
            copy = data.draw(st.sampled_from(["UNIQUE#User#email#old", "UNIQUE#User#email#older"]))
            put(db, {**item, "pk": {"S": copy}})
    for finding in list(audit(db)):
        assert finding.mendable
        assert repair(db, finding)
    assert dump(db) == before
    assert list(audit(db)) == []


# --- What it costs --------------------------------------------------------------------------------------------------


def test_cost() -> None:
    calls: list[Call] = []
    db = filled(observe=calls.append)
    calls.clear()
    assert list(audit(db)) == []
    # The page, nothing beside it that is not in it, and of each user the orders.
    assert [call.operation for call in calls] == ["Scan", "Query", "Query"]
    assert all(call.units == 0.5 for call in calls[1:])
    delete(db, "ORDER#7", "ORDER")
    calls.clear()
    (finding,) = audit(db)
    operations = [call.operation for call in calls]
    assert operations[:2] == ["Scan", "BatchGetItem"]
    assert sorted(operations[2:]) == ["Query", "Query", "TransactGetItems", "TransactGetItems"]
    calls.clear()
    assert repair(db, finding)
    assert [(call.operation, call.units) for call in calls] == [("TransactWriteItems", 4.0)]


def test_many_pages_are_read_one_after_the_other() -> None:
    db = Client(SCHEMA, "shop", fresh())
    db.create_table()
    db.insert(ANN)
    for number in range(40):
        db.insert(Order("1", f"{number:03}", "OPEN", text="x" * 30_000))
    delete(db, "ORDER#020", "ORDER")
    calls: list[Call] = []
    client = Client(SCHEMA, "shop", db._transport, observe=calls.append)
    assert summary(list(audit(client))) == [("missing", "Order.by-id", "ORDER#020")]
    assert sum(call.operation == "Scan" for call in calls) > 1


def test_an_item_with_more_attributes_than_a_condition_compares_is_left_alone(db: Client) -> None:
    change(db, "USER#1", "ORDER#7", gsi1pk={"S": "OLD"}, **{f"more{number}": {"S": "x"} for number in range(130)})
    (finding,) = audit(db)
    with pytest.raises(TableError, match="Repair it by hand"):
        repair(db, finding)
