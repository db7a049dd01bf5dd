"""Sharded partitions are read as one, in order, in pages; their number can change while the table is in use."""

from __future__ import annotations

import asyncio
import inspect
import threading
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from random import Random, randrange
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.patterns.faults import Faulty, Lost
from tests.place import fresh
from tests.table.both import Connect, Watched, both

from prejoin import Client, CursorError, Entity, Index, Key, Resharded, Schema, SchemaError, reshard
from prejoin.engine import Embedded
from prejoin.keys import Template
from prejoin.types import Kind, Type


@dataclass(frozen=True)
class Score:
    game: str
    player: str
    points: int
    level: str = "easy"


@dataclass(frozen=True)
class Prize:
    game: str
    prize_id: str
    points: int


RANKED = Entity(
    Score, Key("PLAYER#{player}", "GAME#{game}"), {"gsi1": Key("GAME#{game}#{player:shard(4)}", "{points}")}
)
ONLY = {
    "text": Schema(RANKED, indexes=[Index("gsi1")]),
    "number": Schema(RANKED, indexes=[Index("gsi1", sk="points")]),
}
"""The sort key as a template, and as a number attribute."""


def filled(schema: Schema, records: list[Any], transport: Any = None, **more: Any) -> Client:
    db = Client(schema, "games", transport or fresh(), **more)
    db.create_table()
    db.put_many(records)
    return db


def of_points(points: list[int]) -> list[Score]:
    return [Score("chess", f"p{number}", each) for number, each in enumerate(points)]


def pages(db: Client, limit: int, **more: Any) -> Iterator[list[Score]]:
    cursor: str | None = None
    while True:
        page = db.query(Score, game="chess", limit=limit, after=cursor, **more)
        yield list(page)
        if (cursor := page.cursor) is None:
            return


POINTS = st.lists(st.integers(-3, 3) | st.integers(-(10**12), 10**12), max_size=25)


@pytest.mark.parametrize("sort_key", ONLY)
@given(points=POINTS, reverse=st.booleans(), limit=st.integers(1, 9))
def test_merged_shards_equal_a_sort_in_pages(sort_key: str, points: list[int], reverse: bool, limit: int) -> None:
    scores = of_points(points)
    db = filled(ONLY[sort_key], scores, Embedded())
    whole = list(db.query(Score, game="chess", reverse=reverse))
    assert sorted(whole, key=repr) == sorted(scores, key=repr), "each once"
    assert [score.points for score in whole] == sorted(points, reverse=reverse)
    found = list(pages(db, limit, reverse=reverse))
    assert [score for page in found for score in page] == whole, "equals come in the same order, however it is cut"
    assert all(len(page) == limit for page in found[:-1])


@given(points=POINTS, reverse=st.booleans())
def test_cursor_at_any_position_continues_there(points: list[int], reverse: bool) -> None:
    db = filled(ONLY["number"], of_points(points), Embedded())
    whole = list(db.query(Score, game="chess", reverse=reverse))
    for position in range(1, len(whole) + 1):
        page = db.query(Score, game="chess", reverse=reverse, limit=position)
        assert list(page) == whole[:position]
        if page.cursor:
            assert list(db.query(Score, game="chess", reverse=reverse, after=page.cursor)) == whole[position:]
        else:
            assert position == len(whole)


@given(points=POINTS, limit=st.integers(1, 6), hard=st.sets(st.integers(0, 24)))
def test_limit_with_a_filter_counts_returned_items(points: list[int], limit: int, hard: set[int]) -> None:
    scores = [replace(score, level="hard") if at in hard else score for at, score in enumerate(of_points(points))]
    db = filled(ONLY["number"], scores, Embedded())
    found = list(pages(db, limit, filter=lambda s: s.level == "hard"))
    expected = sorted(score.points for score in scores if score.level == "hard")
    assert all(len(page) == limit for page in found[:-1])
    assert [score.points for page in found for score in page] == expected
    assert db.count(Score, game="chess", filter=lambda s: s.level == "hard") == len(expected)


@both
def test_a_range_over_shards_is_merged_and_counted(connect: Connect) -> None:
    db = connect(ONLY["number"])
    db.put_many(of_points(list(range(50))))
    found = db.query(Score, lambda s: s.points >= 40, game="chess", reverse=True)
    assert [score.points for score in found] == list(range(49, 39, -1))
    assert db.count(Score, game="chess") == 50
    assert db.count(Score, lambda s: s.points < 7, game="chess") == 7
    assert db.exists(Score, game="chess")
    assert not db.exists(Score, game="go")


@both
@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("limit", [1, 2, 7, None])
def test_several_classes_are_collected_over_shards(connect: Connect, limit: int | None, reverse: bool) -> None:
    schema = Schema(
        *(
            Entity(cls, Key(f"{cls.__name__}#{{{id_}}}", "X"), {"gsi1": Key("G#{game}#{points:shard(3)}", sk)})
            for cls, id_, sk in (
                (Score, "player", "{points:06d}#SCORE#{player}"),
                (Prize, "prize_id", "{points:06d}#PRIZE#{prize_id}"),
            )
        ),
        indexes=[Index("gsi1")],
    )
    db = connect(schema)
    records = [*of_points([5, 1, 9, 30, 7]), *(Prize("chess", f"z{number}", number * 3) for number in range(8))]
    db.put_many(records)
    found: list[Any] = []
    cursor: str | None = None
    while True:
        part = db.collect((Score, Prize), game="chess", limit=limit, after=cursor, reverse=reverse)
        found += part
        if (cursor := part.cursor) is None:
            break
    expected = sorted(records, key=lambda r: (r.points, type(r).__name__ == "Score"), reverse=reverse)
    assert found == expected


@both
def test_a_page_asks_each_shard_for_little_more_than_its_share(connect: Connect) -> None:
    watched = Watched()
    db = connect(ONLY["number"], observe=watched)
    db.put_many(of_points(list(range(400))))
    watched.calls.clear()
    assert len(db.query(Score, game="chess", limit=40)) == 40
    limits = [call.request["Limit"] for call in watched.calls]
    assert limits == [20] * 4, "a quarter each, and three deviations: not 40 each"
    watched.calls.clear()
    assert len(db.query(Score, game="chess", limit=1)) == 1
    assert [call.items for call in watched.calls] == [1] * 4


def test_a_shard_that_has_it_all_is_read_on() -> None:
    watched = Watched()
    label = Template.of("{player:shard(4)}", {"player": Type(Kind.STRING)}).build
    uneven = [Score("chess", player, at) for at in range(500) if label({"player": (player := f"p{at}")}) == "2"]
    db = filled(ONLY["number"], uneven, observe=watched)
    watched.calls.clear()
    assert list(db.query(Score, game="chess", limit=60)) == uneven[:60]
    assert len(watched.calls) == 5, "one more, for all that is missing"
    assert sum(call.items for call in watched.calls) == 60


def test_a_cursor_of_other_shards_is_refused() -> None:
    engine = fresh()
    cursor = filled(ONLY["number"], of_points([1, 2, 3]), engine).query(Score, game="chess", limit=1).cursor
    other = Client(sharded("8"), "games", engine)
    with pytest.raises(CursorError, match="of another query"):
        other.query(Score, game="chess", limit=1, after=cursor)


# At random


@dataclass(frozen=True)
class Click:
    user_id: str
    at: int
    salt: int = field(default_factory=lambda: randrange(2**32))


def test_stored_random_number_spreads_items_over_shards() -> None:
    clicks = Schema(
        Entity(Click, Key("USER#{user_id}", "CLICK#{at}"), {"gsi1": Key("CLICKS#{salt:shard(8)}", "{at}")}),
        indexes=[Index("gsi1")],
    )
    engine = fresh()
    db = Client(clicks, "games", engine)
    db.create_table()
    chance = Random(7)
    made = [Click("one very busy user", at, chance.randrange(2**32)) for at in range(400)]
    db.put_many(made)
    places = Counter(str(item["gsi1pk"]["S"]) for item in db.call("Scan")["Items"])
    assert len(places) == 8
    assert max(places.values()) < 80
    with db.update(Click, user_id="one very busy user", at=3, salt=made[3].salt) as click:
        click.salt = made[3].salt
    db.put(made[5])
    assert Counter(str(item["gsi1pk"]["S"]) for item in db.call("Scan")["Items"]) == places, "it stays where it is"
    assert list(db.query(Click, reverse=True)) == made[::-1]


# Another number of shards


def sharded(number: str) -> Schema:
    index = Key(f"GAME#{{game}}#{{player:shard({number})}}", "{points}")
    return Schema(
        Entity(Score, Key("PLAYER#{player}", "GAME#{game}"), {"gsi1": index}), indexes=[Index("gsi1", sk="points")]
    )


def in_order(db: Client) -> list[int]:
    return [score.points for score in db.query(Score, game="chess")]


@pytest.mark.parametrize(
    "way", [["8", "8 of 16", "16 of 16", "16"], ["16", "16 of 16", "4 of 16", "4"], ["9", "9 of 11", "11 of 11", "11"]]
)
def test_changing_the_number_of_shards_loses_nothing(way: list[str]) -> None:
    engine = fresh()
    scores = of_points(list(range(100)))
    before, both_read, both_written, after = (Client(sharded(number), "games", engine) for number in way)
    before.create_table()
    before.put_many(scores[:50])
    assert in_order(both_read) == list(range(50))
    # Old and new programs run at the same time, one step apart.
    both_written.put_many(scores[50:])
    assert in_order(both_read) == in_order(both_written) == list(range(100))
    reshard(both_written, Score)
    assert in_order(both_written) == in_order(after) == list(range(100))
    assert reshard(after, Score) == Resharded(read=100, moved=0)


def test_meanwhile_one_item_is_looked_for_in_all_shards() -> None:
    def found_by(number: str) -> Client:
        index = Key(f"GAME#{{game}}#{{player:shard({number})}}", "{points}#{player}")
        entity = Entity(Score, Key("PLAYER#{player}", "GAME#{game}#{level}"), {"gsi1": index})
        return Client(Schema(entity, indexes=[Index("gsi1")]), "games", engine, observe=watched)

    engine, watched = fresh(), Watched()
    found_by("2").create_table()
    found_by("2").put_many(of_points(list(range(20))))
    for number, requests in (("2", 1), ("7 of 7", 7)):
        for at in range(20):
            watched.calls.clear()
            found = found_by(number).query(Score, game="chess", player=f"p{at}", points=at)
            assert [score.points for score in found] == [at]
            assert len(watched.calls) == requests


@pytest.mark.parametrize(
    "declare",
    [
        lambda: Entity(Score, Key("G#{game}#{player:shard(4 of 8)}", "{player}")),
        lambda: Entity(Score, Key("P#{player}#{game:shard(8 of 8)}", "{game}")),
    ],
)
def test_in_the_key_of_the_table_the_number_is_for_good(declare: Any) -> None:
    with pytest.raises(SchemaError, match=r"number of shards in a key of the table can never change"):
        Schema(declare())


@pytest.mark.parametrize("done", [False, True])
def test_reshard_can_be_interrupted_and_repeated(done: bool) -> None:
    for calls in range(12):
        engine = Embedded()
        scores = of_points(list(range(20)))
        filled(sharded("2"), scores, engine)
        with pytest.raises(Lost):
            reshard(Client(sharded("5 of 5"), "games", Faulty(engine, calls + 1, done)), Score)
        db = Client(sharded("5 of 5"), "games", engine)
        assert in_order(db) == list(range(20))
        reshard(db, Score)
        assert in_order(Client(sharded("5"), "games", engine)) == list(range(20))


class ShortPages:
    """A DynamoDB with pages of three for scans."""

    def __init__(self) -> None:
        self.engine = Embedded()

    def send(self, operation: str, body: bytes) -> bytes:
        if operation == "Scan":
            body = body[:-1] + b',"Limit":3}'
        return self.engine.send(operation, body)


def test_scan_continues_from_its_progress_and_segments_share_the_work() -> None:
    transport = ShortPages()
    filled(sharded("2"), of_points(list(range(20))), transport)
    db = Client(sharded("5"), "games", transport)
    reported: list[Resharded] = []
    whole = reshard(db, Score, progress=reported.append)
    assert (reported[-1], whole.cursor, whole.read) == (whole, None, 20)
    assert [one.read for one in reported[:3]] == [3, 6, 9]
    rest = reshard(db, Score, after=reported[1].cursor)
    assert rest == Resharded(read=14, moved=0)
    parts = [reshard(db, Score, segment=segment, segments=3) for segment in range(3)]
    assert sum(part.read for part in parts) == 20
    with pytest.raises(CursorError):
        reshard(db, Score, segments=2, after=reported[1].cursor)
    with pytest.raises(ValueError, match="has to be from 0 to below 3"):
        reshard(db, Score, segment=3, segments=3)


@both
def test_reshard_with_both_clients(connect: Connect) -> None:
    schema = sharded("3")
    db = connect(schema)
    db.put_many(of_points([1, 2]))
    found = reshard(getattr(db, "_client", db), Score)
    assert (asyncio.run(found) if inspect.iscoroutine(found) else found) == Resharded(read=2, moved=0)


def test_items_enter_and_leave_sparse_indexes_that_were_declared_later() -> None:
    later = Schema(
        Entity(
            Score,
            Key("PLAYER#{player}", "GAME#{game}"),
            {"gsi1": Key("HARD", "{points}", when=lambda s: s.level == "hard")},
        ),
        indexes=[Index("gsi1", sk="points")],
    )
    db = filled(later, [replace(score, level="hard") for score in of_points([1, 2, 3])])
    for item in db.call("Scan")["Items"]:
        del item["gsi1pk"]
        db.call("PutItem", {"Item": item})
    assert not db.query(Score, level="hard")
    assert reshard(db, Score) == Resharded(read=3, moved=3)
    assert [score.points for score in db.query(Score, level="hard")] == [1, 2, 3]


def test_concurrent_writes_are_never_undone() -> None:
    engine = Embedded()
    filled(sharded("2"), of_points(list(range(40))), engine)
    new = sharded("6 of 6")
    over = threading.Event()
    failed: list[BaseException] = []

    def write() -> None:
        db, chance = Client(new, "games", engine), Random(3)
        try:
            while not over.is_set():
                player = f"p{chance.randrange(40)}"
                points = chance.randrange(10**6)
                with db.update(Score, player=player, game="chess") as score:
                    score.points = points
        except BaseException as error:
            failed.append(error)

    threads = [threading.Thread(target=write) for _ in range(2)]
    for thread in threads:
        thread.start()
    for _ in range(3):
        reshard(Client(new, "games", engine), Score)
    over.set()
    for thread in threads:
        thread.join()
    assert not failed
    stored = Client(new, "games", engine).call("Scan")["Items"]
    assert len(stored) == 40
    settled = Client(sharded("6"), "games", engine)
    assert reshard(settled, Score).moved == 0
    assert sorted(in_order(settled)) == sorted(int(item["points"]["N"]) for item in stored)


# What it costs


def test_cost_of_an_item_that_moves_in_an_index() -> None:
    watched = Watched()
    filled(sharded("2"), of_points(list(range(10))), engine := fresh())
    db = Client(sharded("5"), "games", engine, observe=watched)
    moved = reshard(db, Score).moved
    writes = [call for call in watched.calls if call.operation == "UpdateItem"]
    assert len(writes) == moved > 0
    assert {call.units for call in writes} == {3.0}, "1 for the item, 1 to leave the index, 1 to enter it"


def test_an_empty_shard_costs_half_a_unit() -> None:
    watched = Watched()
    db = filled(ONLY["number"], of_points([1]), observe=watched)
    watched.calls.clear()
    db.query(Score, game="chess", limit=20)
    assert [call.units for call in watched.calls] == [0.5] * 4
