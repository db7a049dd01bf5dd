"""Renaming a user with many comments: `refresh`, beside a transaction for each comment, as one would by hand."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from time import process_time

from common.figures import Figure, figure
from common.tables import table, times
from prejoin import Call, Client, Entity, Follows, Index, Key, Schema, refresh
from prejoin.transport import Credentials, Endpoint

TEXT = "x" * 150


@dataclass
class User:
    user_id: str
    name: str


@dataclass
class Comment:
    post_id: str
    comment_id: str
    user_id: str
    name: str
    text: str = TEXT


SCHEMA = Schema(
    Entity(User, Key("USER#{user_id}", "USER")),
    Entity(
        Comment,
        Key("POST#{post_id}", "COMMENT#{comment_id}"),
        indexes={"gsi1": Key("USER#{user_id}", "COMMENT#{comment_id}")},
        patterns=[Follows(User, {"name": "name"}, checked=False)],
    ),
    indexes=[Index("gsi1")],
)


def one_by_one(db: Client) -> None:
    """Each comment by itself, if the user still has this name."""
    user = db.get(User, user_id="1", consistent=True)
    assert user is not None
    for page in db.pages(Comment, user_id="1"):
        for one in page.items:
            with db.transaction() as tx:
                tx.check(User, user_id="1", where=lambda found: found.name == user.name)
                with tx.update(Comment, post_id=one.post_id, comment_id=one.comment_id) as comment:
                    comment.name = user.name


def at_once(db: Client) -> None:
    refresh(db, User, user_id="1")


WAYS: dict[str, Callable[[Client], None]] = {"a transaction for each comment": one_by_one, "refresh": at_once}


@dataclass(frozen=True)
class Cost:
    requests: int
    read: float
    write: float
    time: Figure


def rename_costs(port: int, count: int, repeats: int) -> dict[str, Cost]:
    """What each way takes, in turn: its requests and units, and the CPU time of this process."""
    calls: list[Call] = []
    endpoint = Endpoint(f"http://127.0.0.1:{port}", credentials=Credentials("a", "b"))
    db = Client(SCHEMA, "rename", endpoint, observe=calls.append)
    db.create_table()
    db.insert(User("1", "Ann"))
    db.put_many(Comment(f"p{at % 500}", f"{at:06}", "1", "Ann") for at in range(count))
    samples: dict[str, list[float]] = {way: [] for way in WAYS}
    counted: dict[str, tuple[int, float, float]] = {}
    for turn in range(repeats):
        for way, rename in WAYS.items():
            with db.update(User, user_id="1") as user:
                user.name = f"{way} {turn}"
            calls.clear()
            begin = process_time()
            rename(db)
            samples[way].append(process_time() - begin)
            written = sum(call.units for call in calls if call.operation == "TransactWriteItems")
            counted[way] = len(calls), sum(call.units for call in calls) - written, written
            names = {one.name for page in db.pages(Comment, user_id="1") for one in page.items}
            assert names == {f"{way} {turn}"}
    db.call("DeleteTable")
    endpoint.close()
    return {way: Cost(*counted[way], figure(found)) for way, found in samples.items()}


def report(found: dict[str, Cost]) -> str:
    base = next(iter(found.values())).time.median
    rows = [
        [
            way,
            f"{cost.requests:,}",
            f"{cost.read:,.0f}",
            f"{cost.write:,.0f}",
            f"{cost.time.median:.1f} s",
            times(base / cost.time.median),
        ]
        for way, cost in found.items()
    ]
    return table(["", "requests", "read units", "write units", "CPU time", "times less"], rows)
