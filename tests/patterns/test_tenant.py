"""Tenants: keys that begin with the tenant, clients for one tenant, and an IAM policy from the same keys."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.place import examples, fresh
from tests.table.both import Connect, Watched, both, waiting

from prejoin import (
    AlreadyExists,
    Changes,
    Client,
    Copy,
    CursorError,
    Embedded,
    Entity,
    Get,
    Index,
    Key,
    Large,
    LargeValue,
    MemoryStore,
    NotUnique,
    OtherTenant,
    Schema,
    SchemaError,
    TableError,
    TransactionCancelled,
    Unique,
    delete_large,
    read_large,
    remove_garbage,
    store_large,
    tenant_policy,
)
from prejoin.keys import KeyValueError
from prejoin.patterns.large.large import large_pattern
from prejoin.table.read.cursor import Position, encode_cursor


@dataclass(frozen=True)
class User:
    tenant_id: str
    user_id: str
    email: str
    name: str = ""


@dataclass(frozen=True)
class Order:
    tenant_id: str
    user_id: str
    order_id: str
    status: str
    total: int = 0


USER = Entity(User, Key("TENANT#{tenant_id}#USER#{user_id}", "PROFILE"), patterns=[Unique("email")])
ORDER = Entity(
    Order,
    Key("TENANT#{tenant_id}#USER#{user_id}", "ORDER#{order_id}"),
    indexes={"gsi1": Key("TENANT#{tenant_id}#STATUS#{status}#{order_id:shard(2)}", "{order_id}")},
    patterns=[Copy("by-id", Key("TENANT#{tenant_id}#ORDER#{order_id}", "ORDER"))],
)
SCHEMA = Schema(USER, ORDER, indexes=[Index("gsi1")], tenant="tenant_id")

ANN = User("acme", "1", "ann@a.com", "Ann")
ART = Order("acme", "1", "7", "OPEN", 99)
BOB = User("globex", "1", "ann@a.com", "Bob")
BUY = Order("globex", "1", "7", "OPEN", 11)


@pytest.fixture
def shop(connect: Connect) -> Client:
    """A table with the same ids in two tenants."""
    db = connect(SCHEMA)
    for record in (ANN, ART, BOB, BUY):
        db.insert(record)
    return db


def of(db: Client, tenant: Any) -> Client:
    """The client of a tenant, sync or async."""
    if isinstance(db, Client):
        return db.tenant(tenant)
    return type(db)(db._client.tenant(tenant))


# --- The client of one tenant ---------------------------------------------------------------------------------------


@both
def test_every_read_is_limited_to_the_tenant(shop: Client) -> None:
    acme = of(shop, "acme")
    assert acme.get(User, user_id="1") == ANN
    assert acme.exists(User, user_id="1")
    assert list(acme.query(Order, status="OPEN")) == [ART]
    assert list(acme.query(Order, lambda o: (o.user_id == "1") & (o.order_id > "6"))) == [ART]
    assert [list(page) for page in acme.pages(Order, user_id="1")] == [[ART]]
    assert acme.count(Order, status="OPEN") == 1
    assert set(acme.collect((User, Order), user_id="1")) == {ANN, ART}
    assert acme.get_many(User, [{"user_id": "1"}, {"user_id": "2"}]) == [ANN, None]
    assert acme.get_together(Get(User, user_id="1"), Get(Order, user_id="1", order_id="7")) == (ANN, ART)
    assert acme.get(Order, order_id="7", consistent=True) == ART


@both
def test_every_write_is_limited_to_the_tenant(shop: Client) -> None:
    acme = of(shop, "acme")
    with acme.update(User, user_id="1") as user:
        user.name = "Anna"  # type: ignore[misc]
    assert acme.get(User, user_id="1") == replace(ANN, name="Anna")
    acme.apply(Order, Changes({"status": "DONE"}), user_id="1", order_id="7", read=True)
    acme.put(replace(ANN, name="Anni"), read=True)
    acme.delete_many(Order, [])
    assert acme.get(User, user_id="1") == replace(ANN, name="Anni")
    assert acme.get(Order, user_id="1", order_id="7") == replace(ART, status="DONE")
    acme.delete(Order, user_id="1", order_id="7", read=True)
    assert acme.get(Order, user_id="1", order_id="7") is None
    assert of(shop, "globex").get(User, user_id="1") == BOB
    assert of(shop, "globex").get(Order, user_id="1", order_id="7") == BUY


@both
def test_tenant_may_be_named_and_another_is_refused(shop: Client) -> None:
    acme = of(shop, "acme")
    assert acme.get(User, tenant_id="acme", user_id="1") == ANN
    assert list(acme.query(Order, lambda o: (o.tenant_id == "acme") & (o.status == "OPEN"))) == [ART]
    for call in (
        lambda: acme.get(User, tenant_id="globex", user_id="1"),
        lambda: acme.query(Order, lambda o: (o.tenant_id == "globex") & (o.status == "OPEN")),
        lambda: acme.query(Order, lambda o: o.tenant_id >= "a", status="OPEN"),
        lambda: acme.collect((User, Order), roles={Order: {"user_id": "tenant_id"}}, user_id="globex"),
        lambda: acme.get_many(User, [{"user_id": "1"}, {"tenant_id": "globex", "user_id": "1"}]),
        lambda: acme.get_together(Get(User, tenant_id="globex", user_id="1")),
        lambda: acme.insert(User("globex", "2", "x@y.com")),
        lambda: acme.put(BUY),
        lambda: acme.put(ART, was=BUY),
        lambda: acme.put_many([User("globex", "2", "x@y.com")]),
        lambda: acme.delete_many(Order, [BUY]),
        lambda: acme.delete(User, tenant_id="globex", user_id="1", email="ann@a.com"),
        lambda: acme.apply(Order, Changes({"total": 1}), tenant_id="globex", user_id="1", order_id="7"),
        lambda: acme.apply(Order, Changes({"tenant_id": "globex"}), user_id="1", order_id="7", read=True),
        lambda: acme.apply(User, Changes({"name": "x"}), upsert=True, tenant_id="globex", user_id="1", read=True),
    ):
        with pytest.raises(OtherTenant):
            call()
    assert of(shop, "globex").get(User, user_id="1") == BOB


@both
def test_operation_outside_of_a_tenant_is_refused(shop: Client) -> None:
    acme = of(shop, "acme")
    with pytest.raises(OtherTenant, match=r"everything\(\) cannot be confined to one tenant"):
        list(acme.everything(User))
    with pytest.raises(OtherTenant, match=r"call\(\)"):
        acme.call("Scan")
    with pytest.raises(OtherTenant, match="'acme', and was given 'globex'"):
        of(acme, "globex")
    assert of(acme, "acme").get(User, user_id="1") == ANN


def test_a_transaction_is_of_the_tenant_too() -> None:
    db = waiting(SCHEMA)
    acme = db.tenant("acme")
    db.insert(BOB)
    with acme.transaction() as tx:
        tx.insert(ANN)
        tx.insert(ART)
    with pytest.raises(OtherTenant), acme.transaction() as tx:
        tx.apply(Order, Changes({"total": 1}), user_id="1", order_id="7")
        tx.insert(BUY)
    assert acme.get(Order, user_id="1", order_id="7") == ART
    with pytest.raises(OtherTenant), acme.transaction() as tx:
        tx.check(User, tenant_id="globex", user_id="1")
    with acme.transaction() as tx:
        tx.check(User, user_id="1")
        with tx.update(Order, user_id="1", order_id="7") as order:
            order.total = 5
    assert acme.get(Order, user_id="1", order_id="7") == replace(ART, total=5)


def test_values_are_unique_in_a_tenant_and_not_beyond() -> None:
    db = waiting(SCHEMA)
    db.insert(ANN)
    db.insert(BOB)
    with pytest.raises(NotUnique):
        db.tenant("acme").insert(User("acme", "2", "ann@a.com"))


@both
def test_a_cursor_of_another_tenant_is_refused(connect: Connect) -> None:
    db = connect(SCHEMA)
    for tenant in ("acme", "globex"):
        for number in range(5):
            db.insert(Order(tenant, "1", str(number), "OPEN"))
    theirs = of(db, "globex").query(Order, user_id="1", limit=2).cursor
    with pytest.raises(CursorError):
        of(db, "acme").query(Order, user_id="1", limit=2, after=theirs)


def test_forged_cursor_is_refused() -> None:
    db = waiting(SCHEMA)
    for number in range(5):
        db.insert(Order("acme", "1", str(number), "OPEN"))
        db.insert(Order("globex", "1", str(number), "OPEN"))
    acme = db.tenant("acme")
    mine = acme.query(Order, user_id="1", limit=2).cursor
    assert mine
    import base64

    query = msgspec.json.decode(base64.urlsafe_b64decode(mine + "==="))[0]
    there: Any = SCHEMA.key(Order, tenant_id="globex", user_id="1", order_id="0")
    forged = encode_cursor(Position(query, 0, [there]))
    with pytest.raises(CursorError, match="outside of the range"):
        acme.query(Order, user_id="1", limit=2, after=forged)


def test_no_request_is_added_or_changed() -> None:
    calls: list[list[Any]] = []
    for bound in (False, True):
        seen = Watched()
        db = waiting(SCHEMA, observe=seen)
        client, more = (db.tenant("acme"), {}) if bound else (db, {"tenant_id": "acme"})
        client.insert(ANN)
        client.insert(ART)
        client.query(Order, status="OPEN", **more)
        client.get(User, user_id="1", **more)
        client.apply(Order, Changes({"total": 1}), user_id="1", order_id="7", **more)
        calls.append([(call.operation, {**call.request, "ClientRequestToken": ""}, call.units) for call in seen.calls])
    assert sorted(calls[0], key=repr) == sorted(calls[1], key=repr), "shards may be read in any order"
    assert len(calls[0]) > 4


def test_a_tenant_has_a_name_of_the_right_type() -> None:
    db = waiting(SCHEMA)
    with pytest.raises(KeyValueError, match="is not a tenant"):
        db.tenant("")
    with pytest.raises(KeyValueError, match="7 is not text"):
        db.tenant(7)


def test_a_schema_without_tenants_has_no_client_of_one() -> None:
    @dataclass
    class Note:
        note_id: str

    db = waiting(Schema(Entity(Note, Key("NOTE#{note_id}", "NOTE"))))
    with pytest.raises(SchemaError, match=r'Schema\(…, tenant="tenant_id"\)'):
        db.tenant("acme")


# --- No typed call can leave the tenant -----------------------------------------------------------------------------

NASTY = st.sampled_from(
    [
        "#",
        "##",
        "a",
        "a#",
        "a#USER",
        "a#USER#1",
        "#a",
        "$",
        "$23",
        "a$23",
        "*",
        "?",
        "a*",
        "${*}",
        "{tenant_id}",
        "TENANT",
    ]
) | st.sampled_from(["TENANT#a", "UNIQUE", " ", "\n", "\x00", "é", "e\u0301", "🙂", "\U0010ffff", "~", "A", "x" * 90])
IDS = (
    NASTY
    | st.builds(str.__add__, NASTY, NASTY)
    | st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=4)
)


@dataclass(frozen=True)
class Said:
    """Arguments of an adversary."""

    tenant: dict[str, str]
    user_id: str
    order_id: str
    other: str
    cursor: str | None


Try = Callable[[Client, Said], Any]


def _in_transaction(db: Client, said: Said, write: Callable[[Any], Any]) -> None:
    with db.transaction() as tx:
        write(tx)


def _updated(db: Client, said: Said, verb: str) -> None:
    with getattr(db, verb)(User, user_id=said.user_id, read=True, **said.tenant) as user:
        user.name, user.email = "changed", said.other


TRIES: dict[str, list[Try]] = {
    "get": [
        lambda db, s: db.get(User, user_id=s.user_id, **s.tenant),
        lambda db, s: db.get(Order, order_id=s.order_id, consistent=True, **s.tenant),
    ],
    "exists": [
        lambda db, s: db.get(User, user_id=s.user_id) if db.exists(User, user_id=s.user_id, **s.tenant) else None
    ],
    "query": [
        lambda db, s: db.query(Order, status="OPEN", limit=1, after=s.cursor, **s.tenant),
        lambda db, s: db.query(Order, lambda o: (o.user_id == s.user_id) & (o.order_id >= ""), **s.tenant),
        lambda db, s: db.query(Order, lambda o: (o.tenant_id == s.other) & (o.user_id == s.user_id)),
    ],
    "pages": [lambda db, s: list(db.pages(Order, user_id=s.user_id, size=1, after=s.cursor, **s.tenant))],
    "count": [lambda db, s: [None] * (db.count(Order, user_id=s.user_id, **s.tenant) - 2)],
    "collect": [
        lambda db, s: db.collect((User, Order), user_id=s.user_id, **s.tenant),
        lambda db, s: db.collect((User, Order), user_id=s.user_id, roles={Order: {"user_id": "tenant_id"}}),
    ],
    "get_many": [lambda db, s: db.get_many(User, [{"user_id": s.user_id, **s.tenant}, {"user_id": s.other}])],
    "get_together": [lambda db, s: db.get_together(Get(User, user_id=s.user_id, **s.tenant))],
    "everything": [lambda db, s: list(db.everything()), lambda db, s: list(db.everything(User, after=s.cursor))],
    "insert": [lambda db, s: db.insert(User(s.tenant.get("tenant_id", s.other), s.user_id, s.other))],
    "put": [
        lambda db, s: db.put(User(s.tenant.get("tenant_id", s.other), s.user_id, s.other, "changed"), read=True),
        lambda db, s: db.put(
            Order(s.other, s.user_id, s.order_id, "DONE"), was=Order(s.other, s.user_id, s.order_id, "OPEN")
        ),
    ],
    "update": [lambda db, s: _updated(db, s, "update")],
    "upsert": [lambda db, s: _updated(db, s, "upsert")],
    "apply": [
        lambda db, s: db.apply(Order, Changes({"total": 1}), user_id=s.user_id, order_id=s.order_id, **s.tenant),
        lambda db, s: db.apply(User, Changes({"tenant_id": s.other}), user_id=s.user_id, read=True),
    ],
    "delete": [
        lambda db, s: db.delete(User, user_id=s.user_id, read=True, **s.tenant),
        lambda db, s: db.delete(Order, user_id=s.user_id, order_id=s.order_id, read=True, **s.tenant),
    ],
    "insert_many": [lambda db, s: db.insert_many([User(s.other, s.user_id, s.other)])],
    "put_many": [lambda db, s: db.put_many([Order(s.other, s.user_id, s.order_id, "DONE")])],
    "delete_many": [lambda db, s: db.delete_many(Order, [{"user_id": s.user_id, "order_id": s.order_id, **s.tenant}])],
    "transaction": [
        lambda db, s: _in_transaction(db, s, lambda tx: tx.insert(User(s.other, s.user_id, s.other))),
        lambda db, s: _in_transaction(db, s, lambda tx: tx.delete(User, user_id=s.user_id, read=True, **s.tenant)),
        lambda db, s: _in_transaction(db, s, lambda tx: tx.check(User, user_id=s.user_id, **s.tenant)),
    ],
    "tenant": [lambda db, s: db.tenant(s.other).get(User, user_id=s.user_id)],
    "call": [
        lambda db, s: db.call("Scan"),
        lambda db, s: db.call("GetItem", {"Key": SCHEMA.key(User, tenant_id=s.other, user_id=s.user_id)}),
        lambda db, s: db.call("ExecuteStatement", {"Statement": "SELECT * FROM shop"}),
    ],
    "create_table": [lambda db, s: db.create_table(if_absent=True)],
    "describe": [lambda db, s: db.describe() and None],
    "drift": [lambda db, s: db.drift()],
    "add_indexes": [lambda db, s: db.add_indexes() and None],
}
"""Attempts by public method."""


def test_every_public_method_is_tried() -> None:
    public = {name for name in dir(Client) if not name.startswith("_")}
    assert set(TRIES) == public - {"close", "schema", "table"}


def _records(found: Any) -> Iterator[Any]:
    if isinstance(found, User | Order):
        yield found
    elif isinstance(found, dict):
        for one in found.values():
            yield from _records(one)
    elif hasattr(found, "__iter__") and not isinstance(found, str):
        for one in found:
            yield from _records(one)


def _others(db: Client, tenant: str) -> list[bytes]:
    """All items of other tenants, by their attributes or, for a guard, by the values in its key."""
    (guard,) = SCHEMA.entity(User).patterns[0].facets
    found = []
    for item in db.call("Scan")["Items"]:
        said = item.get("tenant_id", {}).get("S") or guard.pk.parse(item["pk"]["S"])["tenant_id"]  # type: ignore[arg-type, index]
        if said != tenant:
            found.append(msgspec.json.encode(item, order="sorted"))
    return sorted(found)


@settings(max_examples=examples(60))
@given(st.lists(IDS, min_size=2, max_size=2, unique=True), IDS, IDS, IDS, st.data())
def test_no_typed_call_leaves_the_tenant(
    tenants: list[str], user_id: str, order_id: str, email: str, data: st.DataObject
) -> None:
    mine, theirs = tenants
    db = waiting(SCHEMA, fresh())
    for tenant in tenants:
        db.insert(User(tenant, user_id, email))
        db.insert(Order(tenant, user_id, order_id, "OPEN"))
        db.insert(Order(tenant, user_id, order_id + "2", "OPEN"))
    before = _others(db, mine)
    assert len(before) == 6
    client = db.tenant(mine)
    cursor = db.tenant(theirs).query(Order, user_id=user_id, limit=1).cursor
    said = Said(
        data.draw(st.sampled_from([{}, {"tenant_id": theirs}, {"tenant_id": mine}])),
        user_id,
        order_id,
        data.draw(st.sampled_from([theirs, mine, email])),
        data.draw(st.sampled_from([None, cursor])),
    )
    for tried in [one for some in TRIES.values() for one in some]:
        found = None
        with contextlib.suppress(TableError, KeyValueError):
            found = tried(client, said)
        assert {record.tenant_id for record in _records(found)} <= {mine}
    assert _others(db, mine) == before


# --- Schemas --------------------------------------------------------------------------------------------------------


@dataclass
class Item:
    tenant_id: str
    item_id: str
    nick: str | None = None


@dataclass
class Other:
    tenant_id: str
    other_id: str


@dataclass
class Nobodys:
    item_id: str


@dataclass
class Perhaps:
    item_id: str
    tenant_id: str | None = None


WRONG: dict[str, tuple[Callable[[], Schema], str]] = {
    "no attribute": (
        lambda: Schema(Entity(Nobodys, Key("TENANT#{item_id}", "X")), tenant="tenant_id"),
        "Nobodys has no attribute tenant_id, which is the tenant",
    ),
    "optional": (
        lambda: Schema(Entity(Perhaps, Key("P#{item_id}", "X")), tenant="tenant_id"),
        "Perhaps.tenant_id is the tenant and must not be optional",
    ),
    "not in the key": (
        lambda: Schema(Entity(Item, Key("ITEM#{item_id}", "{tenant_id}")), tenant="tenant_id"),
        "write TENANT#{tenant_id}#ITEM#{item_id}",
    ),
    "not first": (
        lambda: Schema(Entity(Item, Key("ITEM#{item_id}#{tenant_id}", "X")), tenant="tenant_id"),
        "does not begin with the tenant",
    ),
    "constant": (lambda: Schema(Entity(Item, Key("ALL", "{tenant_id}#{item_id}")), tenant="tenant_id"), "TENANT#"),
    "folded": (
        lambda: Schema(Entity(Item, Key("T#{tenant_id:lower}#{tenant_id}#{item_id}", "X")), tenant="tenant_id"),
        "two tenants could share {tenant_id:lower}",
    ),
    "an index": (
        lambda: Schema(
            Entity(Item, Key("T#{tenant_id}", "I#{item_id}"), indexes={"gsi1": Key("NICK#{nick}", "I")}),
            indexes=[Index("gsi1")],
            tenant="tenant_id",
        ),
        "Item in gsi1: NICK#{nick}",
    ),
    "an attribute as index": (
        lambda: Schema(
            Entity(Item, Key("T#{tenant_id}", "I#{item_id}")), indexes=[Index("by-nick", pk="nick")], tenant="tenant_id"
        ),
        r"make the index on (tenant_id, nick)",
    ),
    "a copy": (
        lambda: Schema(
            Entity(Item, Key("T#{tenant_id}", "I#{item_id}"), patterns=[Copy("by-id", Key("ITEM#{item_id}", "X"))]),
            tenant="tenant_id",
        ),
        "copy by-id",
    ),
    "texts that tenants could have": (
        lambda: Schema(
            Entity(Item, Key("T#{tenant_id}#I#{item_id}", "X")),
            Entity(Other, Key("T#X#{tenant_id}", "O#{other_id}")),
            tenant="tenant_id",
        ),
        "Put the same text before {tenant_id} in both",
    ),
    "no text, beside a guard": (
        lambda: Schema(Entity(Item, Key("{tenant_id}#{item_id}", "X"), patterns=[Unique("nick")]), tenant="tenant_id"),
        "the keys of two tenants could begin alike",
    ),
    "raw at the end": (
        lambda: Schema(Entity(Item, Key("T#{tenant_id}", "I#{item_id}", raw=True)), tenant="tenant_id"),
        "put '#' after {tenant_id}",
    ),
    "raw beside escaped": (
        lambda: Schema(
            Entity(Item, Key("T#{tenant_id}#I", "I#{item_id}", raw=True)),
            Entity(Other, Key("T#{tenant_id}#O", "O#{other_id}")),
            tenant="tenant_id",
        ),
        "the keys of two tenants could begin alike",
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_schema_whose_tenants_could_share_items_is_refused(name: str) -> None:
    make, said = WRONG[name]
    with pytest.raises(SchemaError, match=re.escape(said)):
        make()


def test_a_tenant_may_be_a_whole_partition_or_several_attributes_of_an_index() -> None:
    schema = Schema(
        Entity(Item, Key("{tenant_id}", "I#{item_id}")),
        indexes=[Index("by-nick", pk=("tenant_id", "nick"))],
        tenant="tenant_id",
    )
    db = waiting(schema)
    db.insert(Item("acme", "1", "x"))
    db.insert(Item("globex", "1", "x"))
    assert list(db.tenant("acme").query(Item, nick="x")) == [Item("acme", "1", "x")]
    assert list(db.tenant("acme").query(Item)) == [Item("acme", "1", "x")]


def test_a_table_key_that_is_the_tenant_itself() -> None:
    schema = Schema(Entity(Item, Key("{tenant_id}", "I#{item_id}")), pk="tenant_id", tenant="tenant_id")
    db = waiting(schema)
    acme = db.tenant("acme")
    acme.insert(Item("acme", "1"))
    with pytest.raises(AlreadyExists):
        acme.insert(Item("acme", "1"))
    db.insert(Item("acme2", "1"))
    assert list(acme.query(Item)) == [Item("acme", "1")]
    with pytest.raises(OtherTenant):
        acme.get(Item, tenant_id="acme2", item_id="1")


# --- The policy -----------------------------------------------------------------------------------------------------

ARN = "arn:aws:dynamodb:eu-central-1:123456789012:table/shop"


def string_like(pattern: str, tags: dict[str, str] | None = None) -> re.Pattern[str]:
    """IAM's StringLike: `*` and `?` are wildcards, `${*}`, `${?}` and `${$}` are these characters, others are variables."""
    pieces = []
    for variable, char in re.findall(r"\$\{([^}]*)\}|(.)", pattern, re.DOTALL):
        if variable in ("*", "?", "$"):
            pieces.append(re.escape(variable))
        elif variable:
            # The value of a variable is text, never a pattern; a missing one makes the statement invalid.
            pieces.append(re.escape((tags or {})[variable.removeprefix("aws:PrincipalTag/")]))
        else:
            pieces.append({"*": ".*", "?": "."}.get(char, re.escape(char)))
    return re.compile("".join(pieces), re.DOTALL)


def allowed(
    policy: dict[str, Any], action: str, resource: str, leading: list[str], tags: dict[str, str] | None = None
) -> bool:
    """Whether IAM allows a request: ForAllValues over the leading keys, at least one of which must exist."""
    for statement in policy["Statement"]:
        patterns = [
            string_like(one, tags) for one in statement["Condition"]["ForAllValues:StringLike"]["dynamodb:LeadingKeys"]
        ]
        null = statement["Condition"]["Null"]["dynamodb:LeadingKeys"] == "false"
        if (
            f"dynamodb:{action}" in statement["Action"]
            and resource in statement["Resource"]
            and (leading or not null)
            and all(any(pattern.fullmatch(key) for pattern in patterns) for key in leading)
        ):
            return True
    return False


def _keys(tenant: str, one: str, other: str) -> Iterator[tuple[str, str]]:
    """The partitions of items of a tenant, each with its table or index."""
    records = (User(tenant, one, other), Order(tenant, one, other, other))
    for record in records:
        values = {name: getattr(record, name) for name in record.__dataclass_fields__}
        for facet in SCHEMA.entity(type(record)).facets:
            yield ARN if facet.slot == "table" else f"{ARN}/index/{facet.slot}", str(facet.pk_of(values))


@given(st.lists(IDS, min_size=2, max_size=2, unique=True), IDS, IDS)
def test_a_policy_allows_the_items_of_a_tenant_and_none_of_another(tenants: list[str], one: str, other: str) -> None:
    mine, theirs = tenants
    policy = tenant_policy(SCHEMA, ARN, mine)
    for resource, key in _keys(mine, one, other):
        assert allowed(policy, "Query", resource, [key])
    own = [key for resource, key in _keys(mine, one, other) if resource == ARN]
    assert allowed(policy, "PutItem", ARN, own)
    for resource, key in _keys(theirs, one, other):
        assert not allowed(policy, "Query", resource, [key])
        assert not allowed(policy, "PutItem", ARN, [*own, key])


TAGS = st.text("abAB01 _.:/=+-@", min_size=1, max_size=6)
"""Values that AWS accepts for a tag."""


@given(TAGS, IDS | TAGS, IDS, IDS)
def test_a_policy_by_tag_allows_no_other_tenant(tag: str, theirs: str, one: str, other: str) -> None:
    policy = tenant_policy(SCHEMA, ARN, tag="tenant")
    if " " not in tag:  # which is escaped in a key, and cannot be in a tag
        assert all(allowed(policy, "Query", where, [key], {"tenant": tag}) for where, key in _keys(tag, one, other))
    if theirs != tag:
        assert not any(
            allowed(policy, "Query", where, [key], {"tenant": tag}) for where, key in _keys(theirs, one, other)
        )


@dataclass
class Scan:
    tenant_id: str
    scan_id: str
    image: LargeValue | None = None


SCANS = Schema(
    Entity(Scan, Key("TENANT#{tenant_id}#SCAN#{scan_id}", "SCAN"), patterns=[Large("image", MemoryStore(), inline=0)]),
    tenant="tenant_id",
)
BUCKET = "arn:aws:s3:::scans"


def object_of(tenant: str, scan: str) -> str:
    pattern = large_pattern(SCANS, Scan, "image")
    owner = {"tenant_id": tenant, "scan_id": scan}
    return f"{BUCKET}/{pattern.object_key(SCANS, 'shop', owner, pattern.place(SCANS), '01K', 0)}"


def objects_allowed(policy: dict[str, Any], resource: str, tags: dict[str, str] | None = None) -> bool:
    (statement,) = [one for one in policy["Statement"] if one["Sid"] == "Objects"]
    return any(string_like(one, tags).fullmatch(resource) for one in statement["Resource"])


@given(st.lists(IDS, min_size=2, max_size=2, unique=True), IDS)
def test_a_policy_allows_the_objects_of_a_tenant_and_none_of_another(tenants: list[str], scan: str) -> None:
    mine, theirs = tenants
    policy = tenant_policy(SCANS, ARN, mine, bucket_arn=BUCKET)
    assert objects_allowed(policy, object_of(mine, scan))
    assert not objects_allowed(policy, object_of(theirs, scan))


@given(TAGS, IDS | TAGS, IDS)
def test_a_policy_by_tag_allows_no_objects_of_another_tenant(tag: str, theirs: str, scan: str) -> None:
    policy = tenant_policy(SCANS, ARN, tag="tenant", bucket_arn=BUCKET)
    if re.fullmatch(r"[A-Za-z0-9_.-]+", tag):  # others are escaped in a key
        assert objects_allowed(policy, object_of(tag, scan), {"tenant": tag})
    if theirs != tag:
        assert not objects_allowed(policy, object_of(theirs, scan), {"tenant": tag})


def test_contents_of_tenants_are_in_their_folders_and_earlier_ones_are_found() -> None:
    store = MemoryStore()
    schema = Schema(
        Entity(Scan, Key("TENANT#{tenant_id}#SCAN#{scan_id}", "SCAN"), patterns=[Large("image", store, inline=0)]),
        tenant="tenant_id",
    )
    db = Client(schema, "shop", Embedded())
    db.create_table()
    key = {"tenant_id": "acme", "scan_id": "1"}
    value = store_large(db, Scan, "image", b"new", **key)
    assert value.place == "tenant"
    (new,) = store.keys("")
    assert "/acme!/" in new
    earlier = msgspec.structs.replace(value, place="objects", upload="01EARLIER")
    store.put(large_pattern(schema, Scan, "image").object_key(schema, "shop", key, "objects", "01EARLIER", 0), b"new")
    scan = db.insert(Scan(**key, image=earlier))
    assert read_large(db, scan, "image") == b"new"
    assert delete_large(db, Scan, **key)
    assert list(store.keys("")) == [new]
    assert remove_garbage(db, Scan, "image", older_than=timedelta(0)).done == 1


@pytest.mark.parametrize(
    ("schema", "bucket", "message"),
    [(SCANS, "scans", "not the ARN of a bucket"), (SCHEMA, BUCKET, "no tenant has large contents in a store")],
)
def test_a_bucket_that_no_policy_can_name_is_refused(schema: Schema, bucket: str, message: str) -> None:
    with pytest.raises(TableError, match=message):
        tenant_policy(schema, ARN, "acme", bucket_arn=bucket)


def test_a_policy_names_the_table_and_its_indexes_and_no_scan() -> None:
    policy = tenant_policy(SCHEMA, ARN, "acme")
    assert msgspec.json.decode(msgspec.json.encode(policy)) == {
        "Version": "2012-10-17",
        "Statement": [
            {
                "Sid": "Items",
                "Effect": "Allow",
                "Action": [
                    "dynamodb:BatchGetItem",
                    "dynamodb:BatchWriteItem",
                    "dynamodb:ConditionCheckItem",
                    "dynamodb:DeleteItem",
                    "dynamodb:GetItem",
                    "dynamodb:PutItem",
                    "dynamodb:Query",
                    "dynamodb:UpdateItem",
                ],
                "Resource": [ARN],
                "Condition": {
                    "ForAllValues:StringLike": {
                        "dynamodb:LeadingKeys": ["TENANT#acme#*", "UNIQUE#User#tenant_id+email#acme#*"]
                    },
                    "Null": {"dynamodb:LeadingKeys": "false"},
                },
            },
            {
                "Sid": "Indexes",
                "Effect": "Allow",
                "Action": ["dynamodb:Query"],
                "Resource": [f"{ARN}/index/gsi1"],
                "Condition": {
                    "ForAllValues:StringLike": {"dynamodb:LeadingKeys": ["TENANT#acme#*"]},
                    "Null": {"dynamodb:LeadingKeys": "false"},
                },
            },
        ],
    }
    assert not allowed(policy, "Scan", ARN, [])
    assert not allowed(policy, "Query", ARN, [])


def test_keys_that_no_policy_can_confine_are_refused() -> None:
    entity = Entity(Item, Key("T#{tenant_id}", "I#{item_id}"))
    several = Schema(entity, indexes=[Index("by-nick", pk=("tenant_id", "nick"))], tenant="tenant_id")
    with pytest.raises(SchemaError, match="several attributes"):
        tenant_policy(several, ARN, "acme")
    slash = Schema(Entity(Item, Key("T/{tenant_id}", "I/{item_id}")), separator="/", tenant="tenant_id")
    assert tenant_policy(slash, ARN, "a/b")
    with pytest.raises(SchemaError, match="reach into the keys of others"):
        tenant_policy(slash, ARN, tag="tenant")
    with pytest.raises(SchemaError, match="has no tenants"):
        tenant_policy(Schema(entity), ARN, "acme")


@pytest.mark.parametrize(
    ("arn", "how", "message"),
    [
        ("arn:aws:dynamodb:*:123456789012:table/shop", {"tenant": "a"}, "not the ARN of one table"),
        (ARN, {}, "pass either"),
        (ARN, {"tenant": "a", "tag": "b"}, "pass either"),
        (ARN, {"tag": "a}b"}, "not the name of a tag"),
    ],
)
def test_a_policy_is_for_one_table_and_one_tenant(arn: str, how: dict[str, str], message: str) -> None:
    with pytest.raises(TableError, match=message):
        tenant_policy(SCHEMA, arn, **how)  # type: ignore[arg-type]


def test_a_cancelled_transaction_of_a_tenant_says_why_as_any_other() -> None:
    acme = waiting(SCHEMA).tenant("acme")
    acme.insert(ANN)
    with pytest.raises(TransactionCancelled) as failed, acme.transaction() as tx:
        tx.insert(ART)
        tx.insert(ANN)
    assert failed.value.failures[0].position == 1


# --- Entities that belong to no tenant ------------------------------------------------------------------------------


@dataclass(frozen=True)
class Company:
    tenant_id: str
    slug: str


@dataclass(frozen=True)
class Plan:
    plan_id: str
    price: int


COMPANY = Entity(
    Company,
    Key("TENANT#{tenant_id}", "COMPANY"),
    indexes={"gsi1": Key("SLUG#{slug}", "COMPANY")},
    patterns=[Unique("slug")],
)
PLAN = Entity(Plan, Key("PLAN#{plan_id}", "PLAN"), indexes={"gsi1": Key("ALL#PLAN", "{plan_id}")})
MIXED = Schema(COMPANY, PLAN, USER, ORDER, indexes=[Index("gsi1")], tenant="tenant_id", exempt=[Company, Plan])


@pytest.fixture
def mixed(connect: Connect) -> Client:
    db = connect(MIXED)
    for record in (Company("acme", "a"), Company("globex", "g"), Plan("free", 0), Plan("pro", 9), ANN, BOB):
        db.insert(record)
    return db


@both
def test_all_tenants_read_shared_items(mixed: Client) -> None:
    acme = of(mixed, "acme")
    assert acme.get(Plan, plan_id="pro") == Plan("pro", 9)
    first = acme.query(Plan, limit=1)
    assert list(first) == [Plan("free", 0)]
    assert list(acme.query(Plan, after=first.cursor)) == [Plan("pro", 9)]
    with acme.transaction() as tx:
        tx.check(Plan, plan_id="pro")
        tx.insert(ART)
    assert acme.get(Order, user_id="1", order_id="7") == ART


@both
def test_no_tenant_writes_shared_items(mixed: Client) -> None:
    acme = of(mixed, "acme")
    with pytest.raises(OtherTenant):
        acme.insert(Plan("free2", 1))
    with pytest.raises(OtherTenant):
        acme.delete(Plan, plan_id="free")
    with pytest.raises(OtherTenant), acme.update(Plan, plan_id="free") as plan:
        plan.price = 5  # type: ignore[misc]
    assert mixed.get(Plan, plan_id="free") == Plan("free", 0)


@both
def test_a_tenant_reaches_its_own_record_and_no_other(mixed: Client) -> None:
    acme = of(mixed, "acme")
    assert acme.get(Company) == Company("acme", "a")
    assert acme.get(Company, slug="g") is None
    with pytest.raises(OtherTenant):
        acme.get(Company, tenant_id="globex")
    assert mixed.get(Company, slug="g") == Company("globex", "g")
    with pytest.raises(NotUnique):
        mixed.insert(Company("third", "a"))


def test_shared_key_that_could_belong_to_a_tenant_is_refused() -> None:
    plan = Entity(Plan, Key("TENANT#{plan_id}#PLAN", "PLAN"))
    with pytest.raises(SchemaError, match="could equal one of"):
        Schema(plan, USER, tenant="tenant_id", exempt=[Plan])
    with pytest.raises(SchemaError, match="exempt names Company, which is not an entity"):
        Schema(USER, tenant="tenant_id", exempt=[Company])


def test_policy_lets_a_tenant_read_shared_items() -> None:
    policy = tenant_policy(MIXED, ARN, "acme")
    assert allowed(policy, "GetItem", ARN, ["PLAN#pro"])
    assert allowed(policy, "BatchGetItem", ARN, ["PLAN#pro", "TENANT#acme#USER#1"])
    assert not allowed(policy, "PutItem", ARN, ["PLAN#pro"])
    assert allowed(policy, "Query", f"{ARN}/index/gsi1", ["ALL#PLAN"])
    assert not allowed(policy, "Query", f"{ARN}/index/gsi1", ["SLUG#g"])
    assert not allowed(policy, "GetItem", ARN, ["TENANT#globex"])
    assert not allowed(policy, "PutItem", ARN, ["UNIQUE#Company#slug#g"])
