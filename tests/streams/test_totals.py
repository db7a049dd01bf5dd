"""Totals from a stream: each object counts once, also with repeated, late or lost records."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.patterns.faults import Faulty, Lost, in_threads

from prejoin import (
    ArgumentError,
    AsyncClient,
    Client,
    Contribution,
    Embedded,
    Entity,
    Index,
    Key,
    Schema,
    SchemaError,
    StreamConsumer,
    StreamHandlers,
    StreamTotals,
    contributions,
    keep_totals,
    rebuild_totals,
)


@dataclass
class Game:
    game_id: str
    player: str
    points: int
    price: Decimal = Decimal("0.5")
    finished: bool = True


@dataclass
class Player:
    player: str
    board: str = "all"
    games: int = 0
    points: int = 0
    paid: Decimal = Decimal(0)


SCHEMA = Schema(
    Entity(Game, Key("GAME#{game_id}", "GAME")),
    Entity(Player, Key("PLAYER#{player}", "PLAYER")),
    contributions(),
    indexes=[Index("board", pk="board", sk="points")],
)
SCORES = StreamTotals(
    Game,
    Player,
    by=lambda game: {"player": game.player} if game.finished else None,
    add=lambda game: {"games": 1, "points": game.points, "paid": game.price},
)


def arcade(engine: Embedded, view: str = "NEW_IMAGE") -> Client:
    db = Client(SCHEMA, "arcade", engine)
    db.create_table(StreamSpecification={"StreamEnabled": True, "StreamViewType": view})
    return db


def handlers(db: Any) -> StreamHandlers:
    found = StreamHandlers(SCHEMA)
    keep_totals(found, db, SCORES)
    return found


def totals(db: Client) -> dict[str, tuple[int, int, Decimal]]:
    """The totals in the table, without empty ones."""
    found = [one for page in db.everything(Player) for one in page.items]
    return {one.player: (one.games, one.points, one.paid) for one in found if one.games}


def counted(db: Client) -> dict[str, tuple[int, int, Decimal]]:
    """The totals by brute force."""
    found: dict[str, tuple[int, int, Decimal]] = {}
    for game in (one for page in db.everything(Game) for one in page.items if one.finished):
        games, points, paid = found.get(game.player, (0, 0, Decimal(0)))
        found[game.player] = (games + 1, points + game.points, paid + game.price)
    return found


Write = tuple[str, str, int, bool]
writes = st.lists(
    st.tuples(st.sampled_from("abc"), st.sampled_from(["ann", "bob"]), st.integers(-3, 9), st.booleans()), max_size=12
)


def played(db: Client, written: Sequence[Write]) -> None:
    """Writes games; deletes existing ones without points."""
    for game, player, points, finished in written:
        if points == 0:
            with suppress(Exception):
                db.delete(Game, game_id=game)
        else:
            db.put(Game(game, player, points, finished=finished))


@given(writes, st.randoms(use_true_random=False))
def test_totals_are_right_whatever_is_delivered_twice_or_late(written: list[Write], chance: Any) -> None:
    with Embedded() as engine:
        db = arcade(engine)
        changes = engine.changes("arcade", oldest=True)
        played(db, written)
        records = changes.read(1000)
        again = [one for one in records for _ in range(chance.choice([1, 1, 2]))]
        chance.shuffle(again)
        handle = handlers(db)
        while again:  # in batches of any size
            size = chance.randint(1, 4)
            handle.handle(again[:size])
            again = again[size:]
        assert totals(db) == counted(db)
        handle.handle(records)
        assert totals(db) == counted(db)
        assert rebuild_totals(db, SCORES) == 0


@given(writes, writes)
def test_rebuild_counts_objects_without_stream_records(before: list[Write], after: list[Write]) -> None:
    with Embedded() as engine:
        db = arcade(engine)
        played(db, before)  # as if before the stream, or lost
        changes = engine.changes("arcade")
        played(db, after)
        reported: list[int] = []
        rebuild_totals(db, SCORES, progress=reported.append)
        assert totals(db) == counted(db)
        assert rebuild_totals(db, SCORES) == 0
        handlers(db).handle(changes.read(1000))  # changes that the rebuild has seen already
        assert totals(db) == counted(db)


@pytest.mark.parametrize("applied", [True, False])
def test_a_handler_that_is_killed_anywhere_is_repeated(applied: bool) -> None:
    for at in range(1, 12):
        with Embedded() as engine:
            db = arcade(engine)
            changes = engine.changes("arcade", oldest=True)
            played(db, [("a", "ann", 5, True), ("b", "bob", 2, True), ("a", "bob", 4, True), ("b", "bob", 0, True)])
            records = changes.read(100)
            dead = Client(SCHEMA, "arcade", Faulty(engine, at, applied))
            with suppress(Lost):
                handlers(dead).handle(records)
            handlers(db).handle(records)
            assert totals(db) == counted(db) == {"bob": (1, 4, Decimal("0.5"))}


def test_concurrent_handlers_rebuilds_and_writers_agree_in_the_end() -> None:
    with Embedded() as engine:
        db = arcade(engine)
        changes = engine.changes("arcade", oldest=True)

        def change(number: int) -> None:
            if number < 2:
                played(db, [(f"{number}{at % 3}", "ann", at % 5, at % 4 > 0) for at in range(20)])
            else:
                rebuild_totals(db, SCORES)

        def deliver(number: int) -> None:
            handlers(db).handle(records[:: -1 if number else 1])

        in_threads(3, change)
        records = changes.read(1000)
        in_threads(2, deliver)
        assert totals(db) == counted(db)


def test_the_same_with_an_async_client() -> None:
    with Embedded() as engine:
        db = arcade(engine)
        changes = engine.changes("arcade", oldest=True)
        played(db, [("a", "ann", 5, True), ("b", "bob", 2, True), ("a", "bob", 4, True)])

        async def story() -> tuple[int, int]:
            client = AsyncClient(SCHEMA, "arcade", engine)
            done = await handlers(client).handle_async(changes.read(2))
            return done, await rebuild_totals(client, SCORES)

        assert asyncio.run(story()) == (2, 1)
        assert totals(db) == counted(db) == {"bob": (2, 6, Decimal("1.0"))}


def test_leaderboard_is_an_index_by_the_sum() -> None:
    with Embedded() as engine:
        db = arcade(engine)
        played(db, [("a", "ann", 5, True), ("b", "bob", 2, True), ("c", "bob", 9, True)])
        StreamConsumer(engine, "arcade", handlers(db)).run()
        found = db.query(Player, order="-points", board="all")
        assert [(one.player, one.points) for one in found] == [("bob", 11), ("ann", 5)]


def test_contribution_of_a_deleted_object_expires() -> None:
    with Embedded() as engine:
        db = arcade(engine)
        played(db, [("a", "ann", 5, True), ("a", "ann", 0, True)])
        StreamConsumer(engine, "arcade", handlers(db)).run()
        (mark,) = (one for page in db.everything(Contribution) for one in page.items)
        assert (mark.added, mark.expires_at is not None) == (None, True)


def test_wrong_uses_are_refused() -> None:
    bare = Schema(Entity(Game, Key("GAME#{game_id}", "GAME")), Entity(Player, Key("PLAYER#{player}", "PLAYER")))
    with Embedded() as engine:
        with pytest.raises(SchemaError, match=r"Add contributions\(\)"):
            keep_totals(StreamHandlers(bare), Client(bare, "arcade", engine), SCORES)
        db = arcade(engine, "KEYS_ONLY")
        played(db, [("a", "ann", 5, True)])
        with pytest.raises(ArgumentError, match="no new images"):
            StreamConsumer(engine, "arcade", handlers(db)).run()
