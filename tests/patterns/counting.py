"""A shop with counts and sums, a tree with counts, and functions that check them by brute force."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Any

from prejoin import (
    Child,
    Client,
    Conflict,
    Copy,
    Counted,
    Entity,
    Index,
    Key,
    Schema,
    Summed,
    TransactionCancelled,
    Unique,
)
from prejoin.engine import Embedded


@dataclass
class User:
    user_id: str
    name: str = ""
    orders: int = 0
    open_orders: int = 0
    spent: Decimal = Decimal(0)


@dataclass
class Day:
    day: str
    orders: int = 0


@dataclass
class Order:
    order_id: str
    user_id: str | None
    status: str = "OPEN"
    total: Decimal | None = None
    day: str | None = None
    number: str | None = None
    deleted_at: datetime | None = None


USER = Entity(
    User,
    Key("USER#{user_id}", "USER"),
    patterns=[Copy("by-name", Key("NAMES", "{user_id}"), attributes=["orders"])],
)
DAY = Entity(Day, Key("DAY#{day}", "DAY"))
ORDER = Entity(
    Order,
    Key("ORDER#{order_id}", "ORDER"),
    indexes={"gsi1": Key("USER#{user_id}", "ORDER#{order_id}"), "gsi2": Key("DAY#{day}", "ORDER#{order_id}")},
    patterns=[
        Unique("number"),
        Counted(User, "orders"),
        Counted(User, "open_orders", when=lambda o: (o.status != "DONE") & (o.status != "CANCELLED")),
        Summed(User, "spent", of="total", when=lambda o: o.status != "CANCELLED"),
        Counted(Day, "orders", create=True),
    ],
)
SCHEMA = Schema(USER, DAY, ORDER, indexes=[Index("gsi1"), Index("gsi2")])


@dataclass
class Folder:
    folder_id: str
    files: int = 0


@dataclass
class File:
    folder_id: str
    file_id: str
    notes: int = 0


@dataclass
class Note:
    folder_id: str
    file_id: str
    note_id: str
    text: str | None = None


TREE = Schema(
    Entity(Folder, Key("FOLDER#{folder_id}", "FOLDER")),
    Entity(File, Key("FOLDER#{folder_id}", "FILE#{file_id}"), patterns=[Child(Folder), Counted(Folder, "files")]),
    Entity(
        Note,
        Key("FOLDER#{folder_id}", "NOTE#{file_id}#{note_id}"),
        patterns=[Child(File), Counted(File, "notes"), Unique("text")],
    ),
)


def all_of(db: Client, *classes: type[Any]) -> list[Any]:
    return [one for page in db.everything(*classes, consistent=True) for one in page]


def wrong_counts(db: Client) -> list[str]:
    """The wrong counts of the shop, compared with a count of all orders."""
    found: Sequence[Order] = all_of(db, Order)
    problems = []
    for user in all_of(db, User):
        own = [order for order in found if order.user_id == user.user_id]
        opened = [order for order in own if order.status not in ("DONE", "CANCELLED")]
        spent = sum((order.total or Decimal(0) for order in own if order.status != "CANCELLED"), Decimal(0))
        if (user.orders, user.open_orders, user.spent) != (len(own), len(opened), spent):
            problems.append(f"{user}, but there are {own}")
    days = {order.day for order in found} - {None}
    counted = {day.day: day.orders for day in all_of(db, Day)}
    problems += [
        f"{day} has {counted.get(str(day))} of {found}"
        for day in {*days, *counted}
        if counted.get(str(day), 0) != sum(order.day == day for order in found)
    ]
    known = {user.user_id for user in all_of(db, User)}
    problems += [f"{order} has no user" for order in found if order.user_id is not None and order.user_id not in known]
    return problems


def wrong_tree(db: Client) -> list[str]:
    """The orphans and wrong counts of the tree."""
    folders, files, notes = all_of(db, Folder), all_of(db, File), all_of(db, Note)
    files_in = Counter(one.folder_id for one in files)
    notes_in = Counter((one.folder_id, one.file_id) for one in notes)
    problems = [f"{one} of {files}" for one in folders if one.files != files_in[one.folder_id]]
    problems += [f"{one} of {notes}" for one in files if one.notes != notes_in[one.folder_id, one.file_id]]
    orphans = [*(files_in.keys() - {one.folder_id for one in folders})]
    orphans += notes_in.keys() - {(one.folder_id, one.file_id) for one in files}
    return problems + [f"{one} is not there, and has children" for one in orphans]


def add_and_remove(number: int, path: str, times: int) -> int:
    """Inserts orders of one user into a shared file and deletes every third; returns how many are left."""
    with Client(SCHEMA, "shop", Embedded(path)) as db:
        return write_orders(db, number, times)


def write_orders(db: Client, number: int, times: int) -> int:
    left = 0
    for at in range(times):
        again(lambda at=at: db.insert(Order(f"{number}-{at}", "1", total=Decimal(at), day="today")))  # type: ignore[misc]
        left += 1
        if at % 3 == 2:
            again(lambda at=at: db.delete(Order, order_id=f"{number}-{at}", read=True))  # type: ignore[misc]
            left -= 1
        elif at % 4 == 1:
            again(lambda at=at: db.put(Order(f"{number}-{at}", "1", "DONE", Decimal(7), "today"), read=True))  # type: ignore[misc]
    return left


def again(write: Callable[[], object]) -> None:
    """Repeats a write until it succeeds without a conflict."""
    while True:
        try:
            write()
        except Conflict:
            continue
        except TransactionCancelled as error:
            if not all(isinstance(one, Conflict) for one in error.failures):
                raise
        else:
            return
