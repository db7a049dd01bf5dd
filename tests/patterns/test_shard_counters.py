"""Counts in shards: the sum is correct for any number of shards, earlier numbers, and concurrent writes."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.patterns.counting import again
from tests.patterns.faults import in_processes, items, made, with_every_fault
from tests.place import examples, fresh
from tests.table.both import Watched

from prejoin import (
    AsyncClient,
    Client,
    Counted,
    Entity,
    Key,
    Recounted,
    Schema,
    SchemaError,
    Summed,
    TableError,
    recount,
    recount_all,
    total,
)
from prejoin.engine import Embedded


@dataclass
class Video:
    channel: str
    video_id: str
    title: str = ""


@dataclass
class Like:
    channel: str
    video_id: str
    user_id: str
    stars: int = 1


def videos(shards: int) -> Schema:
    return Schema(
        Entity(Video, Key("CHANNEL#{channel}", "VIDEO#{video_id}")),
        Entity(
            Like,
            Key("VIDEO#{channel}#{video_id}", "LIKE#{user_id}"),
            patterns=[Counted(Video, "likes", shards=shards), Summed(Video, "stars", of="stars", shards=shards)],
        ),
    )


SCHEMA = videos(4)


def likes(db: Client, video_id: str = "1") -> tuple[Any, Any]:
    of = {"channel": "c", "video_id": video_id}
    return total(db, Video, "likes", consistent=True, **of), total(db, Video, "stars", consistent=True, **of)


def right(db: Client) -> bool:
    found = [one for page in db.everything(Like) for one in page]
    return all(
        likes(db, video) == (len(own), sum(one.stars for one in own))
        for video in ("1", "2")
        for own in [[one for one in found if one.video_id == video]]
    )


def test_sharded_counter_has_one_item_per_shard() -> None:
    db = made(SCHEMA, fresh())
    for number in range(40):
        db.insert(Like("c", "1", str(number), 2))
    assert likes(db) == (40, 80)
    keys = [(one["pk"]["S"], one["sk"]["S"]) for one in items(db._transport, "shop") if "n" in one]
    # 40 times one of 4: the chance that one is never chosen is 1 in 10 000
    assert {pk for pk, _ in keys} == {"CHANNEL#c"}
    assert {"~COUNTER#Video#likes#1#000", "~COUNTER#Video#stars#1#003"} & {sk for _, sk in keys}
    assert len(keys) <= 8


def test_the_shards_of_a_deleted_video_go_with_it() -> None:
    db = made(SCHEMA, fresh())
    for video in ("1", "2"):
        db.insert(Video("c", video))
        db.insert(Like("c", video, "me"))
    db.delete(Like, channel="c", video_id="1", user_id="me", stars=1)
    db.delete(Video, channel="c", video_id="1")
    left = [one["sk"]["S"] for one in items(db._transport, "shop") if "n" in one]
    assert sorted(sk.rsplit("#", 1)[0] for sk in left) == ["~COUNTER#Video#likes#2", "~COUNTER#Video#stars#2"]
    assert (likes(db, "1"), likes(db, "2")) == ((0, 0), (1, 1))


def test_item_with_a_sharded_count_cannot_move() -> None:
    db = made(SCHEMA, fresh())
    db.insert(Video("c", "1"))
    with (
        pytest.raises(TableError, match="the key of Video cannot change, because its shards of likes"),
        db.update(Video, channel="c", video_id="1", read=True) as video,
    ):
        video.channel = "d"
    assert db.get(Video, channel="c", video_id="1") == Video("c", "1")


def test_parent_need_not_exist_and_is_not_read() -> None:
    watched = Watched()
    db = Client(SCHEMA, "shop", fresh(), observe=watched)
    db.create_table()
    db.insert(Like("c", "1", "u"))
    kinds = [list(action) for action in watched.calls[-1].request["TransactItems"]]
    assert kinds == [["Put"], ["Update"], ["Update"]]
    assert watched.calls[-1].units == 6


def test_other_videos_of_the_channel_and_counts_of_similar_names_are_apart() -> None:
    db = made(SCHEMA, fresh())
    for video in ("1", "10", "1#0"):
        db.insert(Like("c", video, "u"))
    assert [likes(db, video) for video in ("1", "10", "1#0", "2")] == [(1, 1), (1, 1), (1, 1), (0, 0)]


def test_two_likes_in_one_transaction_that_meet_in_a_shard_are_one_action() -> None:
    db = made(videos(2), fresh())
    for start in range(0, 20, 5):
        with db.transaction() as tx:
            for number in range(start, start + 5):
                tx.insert(Like("c", "1", str(number)))
    assert likes(db) == (20, 20)


def test_more_shards_later_lose_nothing() -> None:
    transport = fresh()
    few = made(videos(2), transport)
    for number in range(10):
        few.insert(Like("c", "1", f"few {number}"))
    more = Client(videos(9), "shop", transport)
    for number in range(10):
        more.insert(Like("c", "1", f"more {number}"))
    assert likes(few) == likes(more) == (20, 20)
    assert recount(more, Video, channel="c", video_id="1") == []
    assert likes(few) == (20, 20)


def test_a_sum_is_one_query_of_half_a_unit() -> None:
    watched = Watched()
    db = Client(videos(16), "shop", fresh(), observe=watched)
    db.create_table()
    for number in range(60):
        db.insert(Like("c", "1", str(number)))
    assert total(db, Video, "likes", channel="c", video_id="1") == 60
    assert (watched.calls[-1].operation, watched.calls[-1].units) == ("Query", 0.5)


def test_async_client_sums() -> None:
    transport = fresh()
    made(SCHEMA, transport).insert(Like("c", "1", "u"))
    db = AsyncClient(SCHEMA, "shop", transport)
    assert asyncio.run(total(db, Video, "likes", channel="c", video_id="1")) == 1  # type: ignore[arg-type]


def test_total_needs_a_sharded_counter() -> None:
    db = made(SCHEMA, fresh())
    with pytest.raises(SchemaError, match=r"has no sharded count views \(it has likes, stars\)"):
        total(db, Video, "views", channel="c", video_id="1")


likings = st.tuples(st.sampled_from(["like", "unlike", "rate"]), st.sampled_from("abc"), st.integers(0, 5))


@given(st.lists(likings, max_size=12))
@settings(max_examples=examples(40))
def test_sum_equals_a_model_after_any_writes(writes: list[tuple[str, str, int]]) -> None:
    db = made(SCHEMA, fresh())
    for verb, user, stars in writes:
        of = {"channel": "c", "video_id": "12"[stars % 2], "user_id": user}
        if verb == "like":
            db.put(Like(**of, stars=stars), read=True)
        elif verb == "unlike":
            db.delete(Like, read=True, **of)
        elif db.exists(Like, **of):
            with db.update(Like, read=True, **of) as like:
                like.stars = stars
    assert right(db)


def like_often(number: int, path: str) -> None:
    with Client(SCHEMA, "shop", Embedded(path)) as db:
        _like(db, number)


def _like(db: Client, number: int) -> None:
    for at in range(12):
        again(lambda at=at: db.insert(Like("c", "1", f"{number}-{at}")))  # type: ignore[misc]
        if at % 3 == 0:
            again(lambda at=at: db.delete(Like, channel="c", video_id="1", user_id=f"{number}-{at}", read=True))  # type: ignore[misc]


def test_threads_lose_no_like() -> None:
    db = made(SCHEMA, Embedded())
    with ThreadPoolExecutor(4) as threads:
        list(threads.map(lambda number: _like(db, number), range(4)))
    assert likes(db) == (32, 32)


@pytest.mark.slow
def test_processes_lose_no_like(tmp_path: Path) -> None:
    path = str(tmp_path / "videos.db")
    with Embedded(path) as engine:
        made(SCHEMA, engine)
    in_processes(2, like_often, path)
    with Embedded(path) as engine:
        assert likes(Client(SCHEMA, "shop", engine)) == (16, 16)


def test_sum_is_right_after_any_lost_request() -> None:
    def begin() -> Any:
        db = made(SCHEMA, fresh())
        db.insert(Like("c", "1", "a", 3))
        return db._transport

    def act(transport: Any) -> None:
        db = Client(SCHEMA, "shop", transport)
        db.insert(Like("c", "1", "b"))
        db.put(Like("c", "1", "a", 5), read=True)
        recount(db, Video, channel="c", video_id="1")
        db.delete(Like, channel="c", video_id="1", user_id="a", read=True)

    def check(transport: Any) -> None:
        db = Client(SCHEMA, "shop", transport)
        assert right(db)
        assert recount(db, Video, channel="c", video_id="1") == []

    assert with_every_fault(begin, act, check) > 10


def test_wrong_sum_is_corrected() -> None:
    db = made(SCHEMA, fresh())
    db.insert(Video("c", "1"))
    db.insert(Like("c", "1", "a", 3))
    for sk in ("~COUNTER#Video#likes#1#002", "~COUNTER#Video#stars#1#001"):
        db.call("UpdateItem", {"Key": {"pk": {"S": "CHANNEL#c"}, "sk": {"S": sk}}, **_more(7)})
    assert likes(db) == (8, 10)
    key = {"channel": "c", "video_id": "1"}
    assert recount_all(db, Video) == [Recounted(Video, key, "likes", 8, 1), Recounted(Video, key, "stars", 10, 3)]
    assert likes(db) == (1, 3)
    assert recount(db, Video, channel="c", video_id="1") == []
    assert not [one for one in items(db._transport, "shop") if "recounting" in one]


def _more(amount: int) -> dict[str, Any]:
    tag = {":t": {"S": "Video counter"}, ":n": {"N": str(amount)}}
    return {
        "UpdateExpression": "SET entityType = if_not_exists(entityType, :t) ADD n :n",
        "ExpressionAttributeValues": tag,
    }


def test_a_table_without_a_sort_key_has_no_place_for_shards() -> None:
    @dataclass
    class Page:
        url: str

    @dataclass
    class Hit:
        url: str
        hit_id: str

    with pytest.raises(SchemaError, match="this table has none"):
        Schema(
            Entity(Page, Key("PAGE#{url}")),
            Entity(Hit, Key("HIT#{hit_id}"), patterns=[Counted(Page, "hits", shards=3)]),
        )


def test_shards_between_a_parent_and_its_children_are_skipped() -> None:
    @dataclass
    class Film:
        film_id: str

    @dataclass
    class Comment:
        film_id: str
        comment_id: str

    schema = Schema(
        Entity(Film, Key("FILM#{film_id}", "FILM")),
        Entity(Comment, Key("FILM#{film_id}", "COMMENT#{comment_id}"), patterns=[Counted(Film, "comments", shards=3)]),
    )
    db = made(schema, fresh())
    db.insert(Film("1"))
    for number in range(9):
        db.insert(Comment("1", str(number)))
    found = db.collect((Film, Comment), film_id="1")
    assert (found.one(Film), len(found.all(Comment)), found.unmatched) == (Film("1"), 9, ())
    assert len(db.query(Comment, film_id="1")) == 9
    assert sum(len(page) for page in db.everything()) == 10
