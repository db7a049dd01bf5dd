"""Sharded counters of an item: sums are correct, the item is not written, and writes that break them are refused."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, replace
from datetime import datetime
from decimal import Decimal
from typing import Any

import pytest
from tests.patterns.faults import items
from tests.place import DynamoDB, fresh
from tests.table.both import Watched

from prejoin import (
    AsyncClient,
    Client,
    Entity,
    History,
    Index,
    Key,
    Page,
    Schema,
    SchemaError,
    ShardedCounter,
    TableError,
    Timestamps,
    TimeToLive,
    Version,
    VersionConflict,
    history,
    with_counts,
)


@dataclass
class Post:
    blog: str
    post_id: str
    title: str = ""
    views: int = 0
    paid: Decimal = Decimal(0)


@dataclass
class Comment:
    blog: str
    comment_id: str


@dataclass
class Seen:
    blog: str
    post_id: str
    views: int


def blog(shards: int = 3, **options: Any) -> Schema:
    counter = ShardedCounter("views", "paid", shards=shards)
    return Schema(
        Entity(Post, Key("BLOG#{blog}", "POST#{post_id}"), patterns=[counter]),
        Entity(Comment, Key("BLOG#{blog}", "COMMENT#{comment_id}")),
        **options,
    )


def see(db: Client, post_id: str = "1", times: int = 1) -> None:
    for _ in range(times):
        with db.update(Post, blog="b", post_id=post_id) as post:
            post.views += 1


def found(db: Client, post_id: str = "1") -> Any:
    return with_counts(db, Post, db.get(Post, blog="b", post_id=post_id, consistent=True), consistent=True)


@pytest.fixture
def place() -> DynamoDB:
    return fresh()


@pytest.fixture
def watched() -> Watched:
    return Watched()


@pytest.fixture
def db(place: DynamoDB, watched: Watched) -> Client:
    made = Client(blog(), "blog", place, observe=watched)
    made.create_table()
    made.insert(Post("b", "1", views=100))
    return made


def stored(place: DynamoDB) -> list[Any]:
    return sorted(items(place, "blog"), key=lambda item: item["pk"]["S"])


def test_additions_go_to_shards_in_partitions_of_their_own(db: Client, place: DynamoDB) -> None:
    see(db, times=30)
    own, *shards = stored(place)
    assert own["views"] == {"N": "100"}
    assert {item["pk"]["S"] for item in shards} == {f"BLOG#b#1#COUNTER#{shard}" for shard in range(3)}
    assert sum(int(item["views"]["N"]) for item in shards) == 30
    assert found(db).views == 130


def test_update_is_one_plain_request_and_a_sum_half_a_unit_for_each_shard(db: Client, watched: Watched) -> None:
    see(db)
    assert (watched.calls[-1].operation, watched.calls[-1].units) == ("UpdateItem", 1.0)
    with_counts(db, Post, db.get(Post, blog="b", post_id="1"))
    assert (watched.calls[-1].operation, watched.calls[-1].units) == ("BatchGetItem", 1.5)


@dataclass
class Video:
    video_id: str
    views: int = 0
    version: int = 0
    created_at: datetime | None = None
    updated_at: datetime | None = None


@pytest.mark.parametrize("first", [True, False])
def test_addition_leaves_version_times_and_history_alone(place: DynamoDB, watched: Watched, first: bool) -> None:
    counter = ShardedCounter("views", shards=2)
    others = [Version("version"), Timestamps(), History(Key("VIDEO#{video_id}#HISTORY", "{version}"))]
    patterns = [counter, *others] if first else [*others, counter]
    schema = Schema(Entity(Video, Key("VIDEO#{video_id}", "VIDEO"), patterns=patterns))
    db = Client(schema, "videos", place, observe=watched)
    db.create_table()
    before = db.insert(Video("1"))
    watched.calls.clear()
    with db.update(Video, video_id="1", read=True) as video:
        video.views += 5
    assert [call.operation for call in watched.calls] == ["UpdateItem"]
    assert with_counts(db, Video, db.get(Video, video_id="1"), consistent=True) == replace(before, views=5)
    assert history(db, Video, video_id="1") == []


def test_two_numbers_are_added_to_one_shard(db: Client, place: DynamoDB) -> None:
    with db.update(Post, blog="b", post_id="1") as post:
        post.views -= 2
        post.paid += Decimal("0.25")
    assert found(db) == Post("b", "1", views=98, paid=Decimal("0.25"))
    assert len(stored(place)) == 2


def test_other_changes_are_written_to_the_item_in_the_same_transaction(db: Client) -> None:
    with db.update(Post, blog="b", post_id="1") as post:
        post.title = "new"
        post.views += 1
    assert found(db) == Post("b", "1", "new", 101)


def test_transaction_adds_and_checks_the_item(db: Client) -> None:
    with db.transaction() as tx:
        tx.insert(Comment("b", "c"))
        with tx.update(Post, blog="b", post_id="1") as post:
            post.views += 5
    assert found(db).views == 105


def test_delete_deletes_the_shards(db: Client, place: DynamoDB) -> None:
    see(db, times=20)
    db.delete(Post, blog="b", post_id="1")
    assert stored(place) == []


def test_counts_of_lists_pages_views_and_collections(db: Client) -> None:
    db.insert(Post("b", "2"))
    db.insert(Comment("b", "c"))
    see(db, "1", 2)
    see(db, "2", 3)
    assert with_counts(db, Post, None) is None
    page = with_counts(db, Post, db.query(Post, blog="b", limit=1))
    assert isinstance(page, Page)
    assert [one.views for one in page] == [102]
    assert page.cursor
    keys = [{"blog": "b", "post_id": one} for one in ("2", "3", "1")]
    assert [one and one.views for one in with_counts(db, Post, db.get_many(Post, keys))] == [3, None, 102]
    assert with_counts(db, Post, db.get(Post, blog="b", post_id="2", into=Seen)) == Seen("b", "2", 3)
    together = with_counts(db, Post, db.collect((Post, Comment), blog="b"))
    assert [one.views for one in together.all(Post)] == [102, 3]
    assert together.all(Comment) == [Comment("b", "c")]


def test_more_than_a_batch_of_shards_is_read(place: DynamoDB) -> None:
    db = Client(blog(60), "blog", place)
    db.create_table()
    db.insert_many(Post("b", str(number)) for number in range(3))
    for number in range(3):
        see(db, str(number), number)
    assert [one.views for one in with_counts(db, Post, db.query(Post, blog="b"))] == [0, 1, 2]


def test_async_client_sums_too(db: Client, place: DynamoDB) -> None:
    see(db, times=2)

    async def read() -> Any:
        client = AsyncClient(db.schema, db.table, place)
        return await with_counts(client, Post, await client.get(Post, blog="b", post_id="1"))

    assert asyncio.run(read()).views == 102


def test_counters_of_tenants_are_in_their_partitions(place: DynamoDB) -> None:
    shared = Client(blog(tenant="blog"), "blog", place)
    shared.create_table()
    db = shared.tenant("b")
    db.insert(Post("b", "1"))
    with db.update(Post, post_id="1") as post:
        post.views += 1
    assert with_counts(db, Post, db.query(Post))[0].views == 1
    assert all(item["pk"]["S"].startswith("BLOG#b") for item in stored(place))


def test_put_of_a_sum_is_refused(db: Client) -> None:
    see(db)
    post = db.get(Post, blog="b", post_id="1")
    assert post is not None
    db.put(Post(post.blog, post.post_id, "title", post.views))
    db.put(Post("b", "new"))
    with pytest.raises(VersionConflict, match="inserted with another views, to which its shards add"):
        db.put(found(db))
    assert found(db) == Post("b", "1", "title", 101)


@pytest.mark.parametrize(
    ("options", "changed", "message"),
    [
        ({}, "set", "an update can add to it, and nothing else"),
        ({"upsert": True}, "add", "an upsert of Post would not create it"),
        ({"where": lambda post: post.title == "a"}, "add", "use tx.check in a transaction"),
        ({"title": "a"}, "add", "use tx.check in a transaction"),
        ({"returning": "new"}, "add", "returns nothing"),
    ],
)
def test_refused_updates(db: Client, place: DynamoDB, options: dict[str, Any], changed: str, message: str) -> None:
    with pytest.raises(TableError, match=message), db.update(Post, blog="b", post_id="1", **options) as post:
        if changed == "set":
            post.views = 1
        else:
            post.views += 1
    assert len(stored(place)) == 1


@dataclass
class Ad:
    ad_id: str
    clicks: int = 0
    note: str = ""
    ends: datetime | None = None


@pytest.mark.parametrize(
    ("patterns", "key", "message"),
    [
        ([ShardedCounter("clicks", shards=1)], "AD", "from 2 to 99 shards"),
        ([ShardedCounter(shards=4)], "AD", "needs the name of a number"),
        ([ShardedCounter("note", shards=4)], "AD", "must be int or Decimal"),
        ([ShardedCounter("clicks", shards=4), TimeToLive("ends")], "AD", "the shards of its counter would stay"),
        ([ShardedCounter("clicks", shards=4)], "AD#{clicks}", "is part of a key in table"),
    ],
)
def test_refused_declarations(patterns: list[Any], key: str, message: str) -> None:
    with pytest.raises(SchemaError, match=message):
        Schema(Entity(Ad, Key("AD#{ad_id}", key), patterns=patterns))


def test_index_by_the_number_is_refused() -> None:
    counter = ShardedCounter("clicks", shards=4)
    with pytest.raises(SchemaError, match="clicks is part of a key in top, and the item does not know the sum"):
        Schema(
            Entity(Ad, Key("AD#{ad_id}", "AD"), indexes={"top": Key("ADS", "{clicks}")}, patterns=[counter]),
            indexes=[Index("top")],
        )


def test_class_without_a_counter_is_named(db: Client) -> None:
    with pytest.raises(SchemaError, match="Comment has no ShardedCounter"):
        with_counts(db, Comment, None)
