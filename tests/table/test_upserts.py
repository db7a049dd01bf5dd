"""Upserts: one request for existing and missing items, or a refusal."""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.place import fresh

from prejoin import (
    Call,
    Changes,
    Client,
    ConditionFailed,
    Copy,
    Entity,
    Index,
    Key,
    Schema,
    TableError,
    Unique,
    UnknownValue,
    add,
    appended,
    if_absent,
)
from prejoin.table.update.computed import First, Joined


@dataclass
class Page:
    site: str
    url: str
    title: str = ""
    hits: int = 0
    status: Literal["NEW", "LIVE", "GONE"] = "NEW"
    owner: str | None = None
    log: list[str] = field(default_factory=list)
    labels: frozenset[str] = frozenset()


@dataclass
class Session:
    session_id: str
    user_id: str
    seen: int


@dataclass
class User:
    user_id: str
    email: str
    logins: int = 0


SCHEMA = Schema(
    Entity(
        Page,
        Key("SITE#{site}", "PAGE#{url}"),
        indexes={
            "gsi1": Key("STATUS#{status}", "{site}#{url}"),
            "gsi2": Key("OWNER#{owner}", "TITLE#{title}"),
            "gsi3": Key("GONE", "{url}", when=lambda p: p.status == "GONE"),
        },
    ),
    Entity(Session, Key("SESSION#{session_id}", "SESSION"), indexes={"gsi1": Key("USER#{user_id}", "{seen}")}),
    Entity(
        User,
        Key("USER#{user_id}", "USER"),
        patterns=[Unique("email"), Copy("mail", Key("MAIL#{email}", "USER#{user_id}"))],
    ),
    indexes=[Index("gsi1"), Index("gsi2"), Index("gsi3")],
)


class Table:
    def __init__(self) -> None:
        self.calls: list[Call] = []
        self.db = Client(SCHEMA, "site", fresh(), observe=self.calls.append)
        self.db.create_table()
        self.calls.clear()

    def items(self) -> list[Any]:
        found = msgspec.json.decode(self.db._transport.send("Scan", b'{"TableName": "site"}'))["Items"]
        return sorted(found, key=lambda item: (item["pk"]["S"], item["sk"]["S"]))


def inserted(*records: Any) -> list[Any]:
    other = Table()
    for record in records:
        other.db.insert(record)
    return other.items()


@pytest.fixture
def table() -> Table:
    return Table()


def test_upsert_of_a_new_item_equals_an_insert(table: Table) -> None:
    with table.db.upsert(Page, site="s", url="/") as page:
        page.hits = add(page.hits, 1)
        page.log = appended(page.log, ["made"])
        page.labels |= {"x"}
    assert [call.operation for call in table.calls] == ["UpdateItem"]
    assert table.items() == inserted(Page("s", "/", hits=1, log=["made"], labels=frozenset({"x"})))


def test_upsert_of_an_existing_item_only_updates(table: Table) -> None:
    table.db.insert(Page("s", "/", "Home", 5, "LIVE", "ann"))
    with table.db.upsert(Page, site="s", url="/") as page:
        page.hits = add(page.hits, 1)
    assert table.items() == inserted(Page("s", "/", "Home", 6, "LIVE", "ann"))


def test_upsert_sets_index_keys_for_new_and_existing_items(table: Table) -> None:
    table.db.insert(Page("s", "/old", status="LIVE"))
    for url in ("/old", "/new"):
        table.db.apply(Page, Changes({"status": "GONE"}), site="s", url=url, upsert=True)
    gone = [Page("s", "/old", status="GONE"), Page("s", "/new", status="GONE")]
    assert table.items() == inserted(*gone)
    table.db.apply(Page, Changes({"owner": "ann", "title": "T"}), site="s", url="/third", upsert=True)
    third = Page("s", "/third", "T", owner="ann")
    assert table.items() == inserted(*gone, third)
    table.db.apply(Page, Changes({"owner": None, "status": "LIVE", "title": "T"}), site="s", url="/old", upsert=True)
    assert table.items() == inserted(Page("s", "/old", "T", status="LIVE"), gone[1], third)


def test_a_key_for_the_first_time_is_kept_with_the_value_it_is_made_of(table: Table) -> None:
    for user_id in ("1", "2"):
        with table.db.upsert(Session, session_id="a") as session:
            session.user_id = if_absent(session.user_id, user_id)
            session.seen = int(user_id)
    assert table.items() == inserted(Session("a", "1", 2))


def test_upsert_with_missing_values_or_stale_keys_is_refused(table: Table) -> None:
    with pytest.raises(UnknownValue, match=r"may create an item, which needs user_id. Set it"):
        table.db.apply(Session, Changes({"seen": 1}), session_id="a", upsert=True)
    with pytest.raises(UnknownValue, match="does not set title to a value, and its key in gsi2"):
        table.db.apply(Page, Changes({"owner": "ann"}), site="s", url="/", upsert=True)
    with (
        pytest.raises(UnknownValue, match="does not set seen to a value, and its key in gsi1"),
        table.db.upsert(Session, session_id="a") as session,
    ):
        session.user_id = "1"
        session.seen = add(session.seen, 1)
    with (
        pytest.raises(TableError, match=r"cannot be changed by an amount. Use add\(\)"),
        table.db.upsert(Page, site="s", url="/") as page,
    ):
        page.hits += 1
    with (
        pytest.raises(TableError, match="cannot change a part of log"),
        table.db.upsert(Page, site="s", url="/") as page,
    ):
        page.log[0] = "x"
    with pytest.raises(TableError, match="takes the key only"):
        table.db.apply(Page, Changes({"title": "x"}), site="s", url="/", status="NEW", upsert=True)
    with pytest.raises(UnknownValue, match=r"depends on the stored item. Pass read=True"):
        table.db.apply(User, Changes({"email": "e"}), user_id="1", upsert=True)
    assert table.calls == []


def test_with_read_it_is_an_insert_or_an_update(table: Table) -> None:
    for count in (1, 2):
        with table.db.upsert(User, user_id="1", read=True) as user:
            user.email = f"{count}@b.com"
            user.logins = add(user.logins, 1)
        assert table.items() == inserted(User("1", f"{count}@b.com", count))
    assert [call.operation for call in table.calls] == ["GetItem", "TransactWriteItems"] * 2
    with table.db.upsert(Page, site="s", url="/", read=True) as page:
        page.owner = "ann"
    with table.db.upsert(Page, site="s", url="/", read=True) as page:
        page.title = "T"
    assert table.items() == inserted(User("1", "2@b.com", 2), Page("s", "/", "T", owner="ann"))


def test_an_upsert_can_have_a_condition_and_return_the_object(table: Table) -> None:
    def counted() -> int:
        upsert = table.db.upsert(Page, site="s", url="/", returning="new")
        with upsert as page:
            page.hits = add(page.hits, 1)
        return upsert.result.hits

    assert [counted(), counted()] == [1, 2]
    for url in ("/", "/read"):
        read = table.db.upsert(Page, site="s", url=url, returning="new", read=True)
        with read as page:
            page.title = "T"
        assert read.result == table.db.get(Page, site="s", url=url)
    table.db.delete(Page, site="s", url="/read")
    with pytest.raises(ConditionFailed, match="Page site='s', url='/' does not fulfil the condition of this upsert"):
        table.db.apply(Page, Changes({"hits": 0}), site="s", url="/", upsert=True, where=lambda p: p.hits == 1)
    # The condition is about the stored item. If there is none, it is created.
    for url, first in (("/x", False), ("/z", True)):
        table.db.apply(
            Page, Changes({"hits": 0}), site="s", url=url, upsert=True, where=lambda p: p.hits == 1, read=first
        )
        assert table.db.get(Page, site="s", url=url) is not None
        table.db.delete(Page, site="s", url=url)
    with table.db.transaction() as tx:
        tx.apply(Page, Changes(adds={"hits": 3}), site="s", url="/", upsert=True)
        tx.apply(Page, Changes(adds={"hits": 3}), site="s", url="/y", upsert=True)
    assert table.items() == inserted(Page("s", "/", "T", hits=5), Page("s", "/y", hits=3))


TITLES, STATUSES = st.sampled_from(["", "T", "a#b"]), st.sampled_from(["NEW", "LIVE", "GONE"])
SETS: dict[str, st.SearchStrategy[Any]] = {
    "title": TITLES | st.builds(First, st.just(("title",)), TITLES),
    "status": STATUSES | st.builds(First, st.just(("status",)), STATUSES),
    "owner": st.none() | st.sampled_from(["ann", "bob"]) | st.builds(First, st.just(("owner",)), st.just("eve")),
    "log": st.builds(Joined, st.just(("log",)), st.lists(st.just("x"), max_size=2)),
}
ADDS = {"hits": st.integers(-2, 2), "labels": st.frozensets(st.sampled_from("ab"), min_size=1)}
PAGES = st.builds(Page, st.just("s"), st.just("/"), TITLES, st.integers(0, 3), STATUSES, st.none() | st.just("ann"))
ENGINE = fresh()
_count = iter(range(10**9))


def stored(*records: Page) -> Client:
    db = Client(SCHEMA, f"site{next(_count)}", ENGINE)
    db.create_table()
    for record in records:
        db.insert(record)
    return db


def items(db: Client) -> list[Any]:
    found = msgspec.json.decode(ENGINE.send("Scan", msgspec.json.encode({"TableName": db.table})))["Items"]
    for item in found:
        item.get("labels", {"SS": []})["SS"].sort()
    return sorted(found, key=str)


def upserted(page: Page | None, sets: dict[str, Any], adds: dict[str, Any]) -> Page:
    new = page or Page("s", "/")
    values: dict[str, Any] = {}
    for name, value in sets.items():
        old = getattr(new, name)
        match value:
            case First(_, first):
                values[name] = first if page is None or old is None else old
            case Joined(_, elements):
                values[name] = [*old, *elements]
            case _:
                values[name] = value
    values |= {"hits": new.hits + adds.get("hits", 0), "labels": new.labels | adds.get("labels", frozenset())}
    return replace(new, **values)


@settings(suppress_health_check=[HealthCheck.too_slow])
@given(st.none() | PAGES, st.fixed_dictionaries({}, optional=SETS), st.fixed_dictionaries({}, optional=ADDS))
def test_upsert_equals_an_insert_or_is_refused(page: Page | None, sets: dict[str, Any], adds: dict[str, Any]) -> None:
    db = stored(*([page] if page else []))
    before = items(db)
    if not sets and not adds:
        return
    try:
        db.apply(Page, Changes(sets, adds), site="s", url="/", upsert=True)
    except UnknownValue:
        assert items(db) == before
        db.apply(Page, Changes(sets, adds), site="s", url="/", upsert=True, read=True)
    expected = json.dumps(items(stored(upserted(page, sets, adds))), sort_keys=True)
    assert json.dumps(items(db), sort_keys=True) == expected
