"""`count` and `exists`, which decode no objects and transfer little."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from tests.table.both import Connect, Watched, both

from prejoin import Entity, Index, Key, NotServed, Schema, between

T = datetime(2026, 5, 4, 12, tzinfo=UTC)


@dataclass(frozen=True)
class Visit:
    page: str
    visit_id: str
    at: datetime
    seconds: int
    text: str = ""


SCHEMA = Schema(
    Entity(
        Visit,
        Key("PAGE#{page}", "{visit_id}"),
        indexes={"gsi1": Key("DAY#{at:day}#{visit_id:shard(3)}", "{at}"), "gsi2": Key("S#{seconds}", "{visit_id}")},
    ),
    indexes=[Index("gsi1"), Index("gsi2", projection="KEYS_ONLY")],
)
VISITS = [Visit("home" if i % 3 else "shop", f"v{i:02}", T + timedelta(hours=4 * i), i % 5) for i in range(30)]


def site(connect: Connect) -> tuple[Any, Watched]:
    watched = Watched()
    db = connect(SCHEMA, observe=watched)
    for visit in VISITS:
        db.insert(visit)
    watched.calls.clear()
    return db, watched


@both
def test_a_count_is_that_of_the_query(connect: Connect) -> None:
    db, watched = site(connect)
    assert db.count(Visit, page="home") == 20
    assert db.count(Visit, lambda v: v.visit_id < "v10", page="home") == 6
    assert db.count(Visit, page="home", filter=lambda v: v.seconds == 1) == sum(
        visit.page == "home" and visit.seconds == 1 for visit in VISITS
    )
    assert db.count(Visit, page="nowhere") == 0
    assert db.count(Visit, page="home", visit_id="v01") == 1
    assert all("Items" not in call.response for call in watched.calls)
    assert watched.calls[0].items == 20


@both
def test_a_count_goes_over_all_pages_shards_and_days(connect: Connect) -> None:
    db, watched = site(connect)
    for number in range(3):
        db.put(Visit("long", f"x{number}", T, 0, "x" * 390_000))
        db.put(Visit("long", f"y{number}", T, 0, "y" * 390_000))
    watched.calls.clear()
    assert db.count(Visit, page="long") == 6
    assert len(watched.calls) > 1, "more than a megabyte is more than one page"
    since, until = T, T + timedelta(days=2)
    expected = 6 + sum(since <= visit.at <= until for visit in VISITS)
    assert db.count(Visit, lambda v: between(v.at, since, until)) == expected


@both
def test_an_index_that_holds_nothing_else_can_be_counted(connect: Connect) -> None:
    db, watched = site(connect)
    assert db.count(Visit, seconds=3) == 6
    assert watched.calls[-1].index == "gsi2"
    with pytest.raises(NotServed, match="its partition needs"):
        db.count(Visit, text="x")


@both
def test_exists_reads_as_little_as_possible(connect: Connect) -> None:
    db, watched = site(connect)
    assert db.exists(Visit, page="home", visit_id="v01", consistent=True) is True
    assert db.exists(Visit, page="home", visit_id="v99") is False
    assert db.exists(Visit, page="home") is True
    assert db.exists(Visit, seconds=4) is True
    assert db.exists(Visit, seconds=77) is False
    got = watched.calls[0]
    assert (got.operation, list(got.response["Item"])) == ("GetItem", ["entityType"])
    assert [call.request.get("Limit") for call in watched.calls[2:]] == [1, 1, 1]
    assert all("Items" not in call.response for call in watched.calls)
    with pytest.raises(NotServed, match="an index is never read consistently"):
        db.exists(Visit, seconds=4, consistent=True)
