"""The cost of totals from a stream, on every DynamoDB; `tests/streams` has the other tests."""

from __future__ import annotations

from tests.place import fresh
from tests.streams.test_totals import SCHEMA, Game, Player, handlers

from prejoin import Call, Client


def test_cost_is_as_said() -> None:
    calls: list[Call] = []
    db = Client(SCHEMA, "arcade", fresh(), observe=calls.append)
    db.create_table()
    game = {**SCHEMA.entity(Game).codec.encode(Game("a", "ann", 5)), **SCHEMA.key(Game, game_id="a")}
    change = {"Keys": SCHEMA.key(Game, game_id="a"), "NewImage": {**game, "entityType": {"S": "Game"}}}
    record = {"eventID": "1", "eventName": "INSERT", "dynamodb": {**change, "SequenceNumber": "100000000000000000001"}}
    for expected in ([("GetItem", 1.0), ("TransactWriteItems", 5.0)], [("GetItem", 1.0)]):
        calls.clear()  # the contribution, and the total with its place on the board; when it comes again, nothing
        handlers(db).handle({"Records": [record]})
        assert [(call.operation, call.units) for call in calls] == expected
    assert db.get(Player, player="ann", consistent=True) == Player("ann", games=1, points=5, paid=Game("", "", 0).price)
