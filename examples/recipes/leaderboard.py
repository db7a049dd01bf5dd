"""A leaderboard: points are added in one write, and an index by points has the order.

The key of the index is the attribute itself, so DynamoDB can add to it without a read. All players of a game are in one
partition of the index, which takes 1,000 writes a second: divide a busier game, and merge the tops.
"""

from __future__ import annotations

from dataclasses import dataclass

from prejoin import Client, Entity, Index, Key, Schema, add


@dataclass
class Score:
    game: str
    player: str
    points: int = 0


SCHEMA = Schema(
    Entity(Score, Key("GAME#{game}", "PLAYER#{player}")),
    indexes=[Index("board", pk="game", sk="points")],
)


def win(db: Client, game: str, player: str, points: int) -> None:
    with db.upsert(Score, game=game, player=player) as score:
        score.points = add(score.points, points)


def top(db: Client, game: str, players: int = 10) -> list[Score]:
    return list(db.query(Score, game=game, order="-points", limit=players))


def rank(db: Client, score: Score) -> int:
    """The place of a player, 1 for the first. It reads all entries above: show it to a player, not in a list."""
    return db.count(Score, lambda one: one.points > score.points, game=score.game) + 1
