"""Patterns together: any set of them on one entity, and after each write the table holds what a dict of objects says."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from tests.place import examples, fresh

from prejoin import (
    Child,
    Client,
    ConditionFailed,
    Copy,
    Counted,
    Entity,
    Follows,
    Highest,
    History,
    Index,
    Key,
    Schema,
    ShardedCounter,
    SoftDelete,
    Summed,
    Timestamps,
    TransactionCancelled,
    Unique,
    Version,
    audit,
    bulk_load,
    bulk_update,
    refresh,
    restore,
    with_counts,
)
from prejoin.table.schema.pattern import Pattern


@dataclass(frozen=True)
class User:
    user_id: str
    name: str
    orders: int = 0
    spent: int = 0
    best: int | None = None


@dataclass(frozen=True)
class Order:
    order_id: str
    user_id: str
    code: str
    status: str
    total: int
    user_name: str
    views: int = 0
    version: int = 0
    created_at: datetime | None = None
    updated_at: datetime | None = None
    deleted_at: datetime | None = None


MAINTAINED = ("version", "created_at", "updated_at", "deleted_at")
PATTERNS: dict[str, Callable[[], Pattern]] = {
    "unique": lambda: Unique("code"),
    "copy": lambda: Copy("by-status", Key("COPY#{status}", "ORDER#{order_id}")),
    "child": lambda: Child(User),
    "counted": lambda: Counted(User, "orders"),
    "summed": lambda: Summed(User, "spent", of="total", when=lambda order: order.status == "OPEN"),
    "highest": lambda: Highest(User, "best", of="total"),
    "history": lambda: History(Key("ORDER#{order_id}#HISTORY", "{version:06}"), keep=2),
    "version": Version,
    "timestamps": Timestamps,
    "soft": lambda: SoftDelete(release=True),
    "follows": lambda: Follows(User, {"user_name": "name"}),
    "views": lambda: ShardedCounter("views", shards=2),
}
VERBS = ("insert", "insert two", "put", "update", "move", "view", "delete", "restore", "rename", "load", "bulk")
USERS = ("1", "2")
writes = st.tuples(
    st.sampled_from(VERBS), st.sampled_from("abc"), st.sampled_from(USERS), st.sampled_from("pq"), st.integers(1, 5)
)


def schema_of(names: Sequence[str]) -> Schema:
    """A schema with these patterns, in this order. A history needs versions."""
    wanted = dict.fromkeys((*names, *(["version"] if "history" in names else [])))
    indexes = {"gsi1": Key("STATUS#{status}", "{order_id}"), "gsi2": Key("USER#{user_id}", "{order_id}")}
    order = Entity(Order, Key("ORDER#{order_id}", "ORDER"), indexes, patterns=[PATTERNS[name]() for name in wanted])
    return Schema(Entity(User, Key("USER#{user_id}", "USER")), order, indexes=[Index("gsi1"), Index("gsi2")])


class Shop:
    """Writes to a table, and the same to a dict."""

    def __init__(self, names: Sequence[str]) -> None:
        self.names = names
        self.db = Client(schema_of(names), "shop", fresh())
        self.db.create_table()
        self.users = {user: f"name {user}" for user in USERS}
        self.orders: dict[str, Order] = {}
        self.deleted: dict[str, Order] = {}
        for user, name in self.users.items():
            self.db.insert(User(user, name))

    def write(self, verb: str, order_id: str, user: str, code: str, total: int) -> None:
        db, new = self.db, Order(order_id, user, code, "OPEN" if total > 2 else "DONE", total, self.users[user])
        stored = self.orders.get(order_id)
        # An id with a history is not inserted again: restore_version() continues it.
        ended = "history" in self.names and not self.deleted.keys().isdisjoint({order_id, "d"})
        match verb:
            case "insert" if not ended:
                db.insert(new)
                self.orders[order_id] = new
                self.deleted.pop(order_id, None)
            case "insert two" if not ended:
                other = replace(new, order_id="d")
                with db.transaction() as tx:
                    tx.insert(new)
                    tx.insert(other)
                self.orders |= {order_id: new, "d": other}
                self.deleted.pop("d", None)
                self.deleted.pop(order_id, None)
            case "put" if stored:
                was = db.get(Order, order_id=order_id, consistent=True)
                assert was is not None
                db.put(replace(new, version=was.version), was=was)
                self.orders[order_id] = replace(new, views=stored.views if "views" in self.names else 0)
            case "update" | "move":
                changes: dict[str, Any] = {"total": total, "status": new.status, "code": code}
                if verb == "move":
                    changes = {"user_id": user, "user_name": self.users[user]}
                with db.update(Order, order_id=order_id, read=True) as draft:
                    for name, value in changes.items():
                        setattr(draft, name, value)
                self.orders[order_id] = replace(self.orders[order_id], **changes)
            case "view" if stored:
                with db.update(Order, order_id=order_id, read=True) as draft:
                    draft.views += total  # type: ignore[misc]
                self.orders[order_id] = replace(stored, views=stored.views + total)
            case "delete" if stored:
                db.delete(Order, order_id=order_id, read=True)
                self.deleted[order_id] = self.orders.pop(order_id)
            case "restore" if "soft" in self.names:
                restore(db, Order, order_id=order_id)
                self.orders[order_id] = self.deleted.pop(order_id)
            case "rename" if "follows" in self.names:
                name = f"name {code}{total}"
                with db.update(User, user_id=user) as author:
                    author.name = name  # type: ignore[misc]
                self.users[user] = name
                refresh(db, User, user_id=user)
                for orders in (self.orders, self.deleted):
                    orders |= {k: replace(v, user_name=name) for k, v in orders.items() if v.user_id == user}
            case "load" if not stored and order_id not in self.deleted and "unique" not in self.names:
                bulk_load(db, [new])
                self.orders[order_id] = new
            case "bulk":
                bulk_update(db, Order, lambda order: replace(order, total=total))
                self.orders = {k: replace(v, total=total) for k, v in self.orders.items()}

    def check(self) -> None:
        assert list(audit(self.db)) == []
        found = {o.order_id: o for page in self.db.everything(Order, consistent=True) for o in page.items}
        if "views" in self.names:
            found = {o.order_id: o for o in with_counts(self.db, Order, list(found.values()), consistent=True)}
        assert {k: _given(v) for k, v in found.items()} == {k: _given(v) for k, v in self.orders.items()}
        for user in USERS:
            own = [order for order in self.orders.values() if order.user_id == user]
            assert {o.order_id for o in self.db.query(Order, user_id=user)} == {o.order_id for o in own}
            parent = self.db.get(User, user_id=user, consistent=True)
            assert parent is not None
            assert "counted" not in self.names or parent.orders == len(own)
            assert "summed" not in self.names or parent.spent == sum(o.total for o in own if o.status == "OPEN")


def _given(order: Order) -> dict[str, Any]:
    """The attributes that no pattern maintains."""
    return {name: value for name, value in asdict(order).items() if name not in MAINTAINED}


@settings(max_examples=examples(300))
@given(st.lists(st.sampled_from(list(PATTERNS)), unique=True, min_size=2), st.lists(writes, min_size=3, max_size=12))
def test_any_patterns_together_keep_the_table_right(
    names: list[str], steps: list[tuple[str, str, str, str, int]]
) -> None:
    shop = Shop(names)
    for step in steps:
        before = shop.orders, shop.deleted
        shop.orders, shop.deleted = dict(shop.orders), dict(shop.deleted)
        try:
            shop.write(*step)
        except (ConditionFailed, TransactionCancelled):  # nothing has changed then
            shop.orders, shop.deleted = before
        shop.check()
