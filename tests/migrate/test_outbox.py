"""The outbox: sessions of SQLAlchemy record what they change, and the follower writes it. On SQLite."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from sqlalchemy.orm import Session, selectinload, sessionmaker

from prejoin import (
    Embedded,
    NotRecordedError,
    PipelineError,
    RefusedError,
    TablePlace,
    follow_table,
    load_table,
    open_migration,
    record_rows,
    verify_table,
)
from prejoin.migrate.follow.apply import Applier
from prejoin.migrate.follow.outbox import OutboxLog
from prejoin.migrate.load.state import LoadState
from prejoin.migrate.migration import Migration
from prejoin.pipeline.connection import connect
from prejoin.protocol.errors import DynamoDBError
from tests.migrate.ledger_app import OUTBOX, Customer, Invoice, InvoiceLine, Seat, Tag

PLACE = TablePlace(db="table.db")


def left(db: Session) -> int:
    return int(db.execute(sa.select(sa.func.count()).select_from(OUTBOX)).scalar_one())


def caught_up(ledger: Migration) -> Any:
    result = follow_table(ledger, PLACE, until_caught_up=True)
    assert (result.caught_up, result.dead) == (True, 0)
    compared = verify_table(ledger, PLACE, patterns=False)
    assert compared.equal, compared.differences[:5]
    return result


def test_changes_of_objects_are_followed(sessions: sessionmaker[Session], ledger: Migration) -> None:
    with sessions.begin() as db:
        db.add(Customer(id=50, email="new@x.org", name="new"))
        db.get_one(Seat, 1).holder = "ann"
        db.delete(db.get_one(Seat, 2))
        db.get_one(InvoiceLine, 3).invoice_id = 4  # from one list to another
        db.get_one(Customer, 5).name = "in the join of an invoice"
        db.get_one(Invoice, 6).state = "DRAFT"  # no longer an item
    result = caught_up(ledger)
    assert result.transactions > 0
    with sessions() as db:
        assert left(db) == 0


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, int]]:
    """The writes that are sent from now on, and the number of their items."""
    found: list[tuple[str, int]] = []
    send = Embedded.send

    def sending(self: Embedded, operation: str, body: bytes, *more: Any, **named: Any) -> Any:
        request = json.loads(body)
        if operation == "BatchWriteItem":
            found.append((operation, sum(map(len, request["RequestItems"].values()))))
        elif operation == "TransactWriteItems":
            found.append((operation, len(request["TransactItems"])))
        return send(self, operation, body, *more, **named)

    monkeypatch.setattr(Embedded, "send", sending)
    return found


def test_rows_that_were_changed_alone_need_no_transaction(
    sessions: sessionmaker[Session], ledger: Migration, sent: list[tuple[str, int]]
) -> None:
    caught_up(ledger)  # its first rows are of one transaction
    sent.clear()
    for n in range(1, 8):
        with sessions.begin() as db:
            db.get_one(Seat, n).holder = f"alone {n}"
    with sessions.begin() as db:
        db.get_one(Seat, 8).holder = db.get_one(Seat, 9).holder = "together"
    with sessions.begin() as db:
        db.get_one(Seat, 7).holder = "again"
    with sessions.begin() as db:
        db.get_one(Seat, 10).number = 1_000  # another key: a delete and a put
    caught_up(ledger)
    assert sorted(sent) == [("BatchWriteItem", 7), ("TransactWriteItems", 4)]


def test_unique_values_that_are_passed_on_are_followed(sessions: sessionmaker[Session], ledger: Migration) -> None:
    """The rows are too many for one transaction, and each takes the value of a row that is written after it."""
    with sessions.begin() as db:
        db.add_all([Customer(id=n, email=f"c{n}@x.org", name="new") for n in range(100, 250)])
    caught_up(ledger)
    with sessions.begin() as db:
        for n in range(100, 250):
            db.get_one(Customer, n).name = "changed"
        db.flush()
        for n, email in ((249, "free@x.org"), (101, "c249@x.org"), (100, "c101@x.org")):
            db.get_one(Customer, n).email = email
            db.flush()
    assert caught_up(ledger).split > 0


def test_batch_that_is_refused_is_written_in_transactions(
    sessions: sessionmaker[Session], ledger: Migration, monkeypatch: pytest.MonkeyPatch
) -> None:
    """DynamoDB refuses the whole batch for one item."""
    caught_up(ledger)
    send = Embedded.send
    refusals: list[str] = []

    def refusing(self: Embedded, operation: str, body: bytes, *more: Any, **named: Any) -> Any:
        if operation == "BatchWriteItem":
            refusals.append(operation)
            raise DynamoDBError("ValidationException", "one item is not valid")
        return send(self, operation, body, *more, **named)

    monkeypatch.setattr(Embedded, "send", refusing)
    for n in range(1, 4):
        with sessions.begin() as db:
            db.get_one(Seat, n).holder = f"alone {n}"
    caught_up(ledger)
    assert refusals == ["BatchWriteItem"]


def test_null_is_followed_as_the_mapping_says(sessions: sessionmaker[Session]) -> None:
    mapping = Path("mapping.toml").read_text(encoding="utf-8")
    stored_as_null = mapping.replace('holder = "holder"', 'holder = { column = "holder", null = "null" }')
    Path("mapping.toml").write_text(stored_as_null, encoding="utf-8")
    with open_migration() as migration:
        load_table(migration, PLACE, create=True, outbox=True)
        with sessions.begin() as db:
            db.get_one(Seat, 1).holder = "ann"
            db.get_one(Seat, 3).holder = None
        caught_up(migration)
        with sessions.begin() as db:
            db.get_one(Seat, 1).holder = None
        caught_up(migration)
        with connect(migration.package.schema, migration.table, PLACE) as client:
            seats = [one for one in client.call("Scan")["Items"] if one["entityType"]["S"] == "Seat"]
        assert {tuple(one["holder"]) for one in seats} >= {("NULL",)}


@pytest.mark.slow
def test_changed_keys_leave_no_item_behind(sessions: sessionmaker[Session], ledger: Migration) -> None:
    caught_up(ledger)
    with sessions.begin() as db:
        db.get_one(Seat, 3).number = 300
        db.get_one(Customer, 7).id = 700
    with sessions() as db:
        seat = db.get_one(Seat, 4)
        db.commit()  # which expires the old values
        seat.room = "R9"
        db.commit()
    caught_up(ledger)


@pytest.mark.slow
def test_rows_that_only_the_flush_changes_are_followed(sessions: sessionmaker[Session], ledger: Migration) -> None:
    caught_up(ledger)
    with sessions.begin() as db:
        invoices = {n: db.get_one(Invoice, n, options=[selectinload(Invoice.lines)]) for n in range(1, 6)}
        invoices[1].lines.clear()  # orphans are deleted
        moved = invoices[2].lines.pop()
        invoices[3].lines.append(moved)  # its foreign key is set
        invoices[4].lines.append(InvoiceLine(id=40, position=2, label="new"))
        db.delete(invoices[5])  # and its lines
    result = caught_up(ledger)
    assert result.rows == 5
    with sessions() as db:
        assert db.get(InvoiceLine, 1) is None
        assert db.get_one(InvoiceLine, 2).invoice_id == 3


def test_rolled_back_changes_are_not_recorded(sessions: sessionmaker[Session], ledger: Migration) -> None:
    caught_up(ledger)
    with sessions() as db:
        db.get_one(Seat, 1).holder = "nobody"
        db.flush()
        db.rollback()
        assert left(db) == 0


def test_links_without_objects_are_recorded(sessions: sessionmaker[Session]) -> None:
    def recorded(db: Session) -> list[Any]:
        rows = db.execute(sa.select(OUTBOX.c.images).where(OUTBOX.c.table_name == "tagged")).scalars()
        return [json.loads(text) for text in rows]

    with sessions.begin() as db:
        db.get_one(Customer, 1).tags = [db.get_one(Tag, 1), db.get_one(Tag, 2)]
    with sessions.begin() as db:
        assert recorded(db) == [{"customer_id": 1, "tag_id": 1}, {"customer_id": 1, "tag_id": 2}]
        db.connection().execute(sa.delete(OUTBOX))
        db.delete(db.get_one(Customer, 1))
    with sessions() as db:
        assert {"customer_id": 1, "tag_id": 2} in recorded(db)


def test_statement_that_the_outbox_would_miss_is_refused(sessions: sessionmaker[Session], ledger: Migration) -> None:
    caught_up(ledger)
    with sessions() as db:
        with pytest.raises(NotRecordedError, match="invoices"):
            db.execute(sa.update(Invoice).values(state="PAID"))
        rows = [dict(row._mapping) for row in db.execute(sa.select(Invoice.__table__))]
        record_rows(db, "invoices", rows)
        db.execute(sa.update(Invoice).values(state="PAID"))
        with pytest.raises(NotRecordedError):
            db.execute(sa.delete(Invoice))
        db.commit()
    caught_up(ledger)


def test_recorded_rows_need_all_columns_of_keys(sessions: sessionmaker[Session], ledger: Migration) -> None:
    caught_up(ledger)
    with sessions.begin() as db:
        record_rows(db, "seats", [{"id": 1}])
    with pytest.raises(PipelineError, match="lacks the column 'room' of seats") as caught:
        follow_table(ledger, PLACE, once=True)
    assert caught.value.diagnostics[0].code == "PJ752"


def test_application_without_an_outbox_is_refused(sessions: sessionmaker[Session]) -> None:
    with sessions.begin() as db:
        db.connection().execute(sa.text("DROP TABLE prejoin_outbox"))
    with open_migration() as migration, pytest.raises(RefusedError) as caught:
        load_table(migration, PLACE, create=True, outbox=True)
    assert caught.value.diagnostics[0].code == "PJ750"


def test_sqlite_has_no_log(sessions: sessionmaker[Session]) -> None:
    with open_migration() as migration, pytest.raises(RefusedError) as caught:
        load_table(migration, PLACE, create=True, follow=True)
    assert caught.value.diagnostics[0].code == "PJ750"
    assert "--outbox" in caught.value.diagnostics[0].fix


def test_transaction_is_written_in_one_request(
    sessions: sessionmaker[Session], ledger: Migration, monkeypatch: pytest.MonkeyPatch
) -> None:
    caught_up(ledger)
    sent: list[list[str]] = []
    send = Embedded.send

    def sending(self: Embedded, operation: str, body: bytes, *more: Any, **named: Any) -> Any:
        if operation == "TransactWriteItems":
            sent.append(sorted(kind for one in json.loads(body)["TransactItems"] for kind in one))
        assert operation not in ("PutItem", "DeleteItem")
        return send(self, operation, body, *more, **named)

    monkeypatch.setattr(Embedded, "send", sending)
    with sessions.begin() as db:
        db.get_one(Seat, 1).holder = "ann"
        db.flush()
        db.get_one(Seat, 2).id = 200
        db.get_one(Seat, 3).number = 300
    follow_table(ledger, PLACE, until_caught_up=True)
    assert sent == [["Delete", "Put", "Put", "Put"]]


def random_change(db: Session, chance: random.Random) -> None:
    def some(cls: type[Any]) -> Any:
        return chance.choice(db.execute(sa.select(cls).order_by(cls.id)).scalars().all())

    new = chance.randrange(1_000, 10**9)
    match chance.randrange(7):
        case 0:
            db.add(Customer(id=new, email=f"{new}@x.org", name="new"))
        case 1:
            db.delete(some(Seat))
            db.add(Seat(id=new, room="R1", number=new))
        case 2:
            some(Seat).number = new
        case 3:
            some(Invoice).state = chance.choice(["DRAFT", "OPEN", "PAID"])
        case 4:
            some(InvoiceLine).invoice_id = some(Invoice).id
        case 5:
            some(Customer).email = f"{new}@y.org"
        case _:
            some(Invoice).customer_id = some(Customer).id


@pytest.mark.everyday(1)
@pytest.mark.parametrize("seed", range(3))
def test_follower_can_be_killed_at_any_point(
    sessions: sessionmaker[Session], ledger: Migration, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    chance = random.Random(seed)

    def dying(self: Any, *arguments: Any) -> Any:
        raise KeyboardInterrupt

    def dying_later(patched: type[Any], name: str) -> Any:
        real = getattr(patched, name)

        def run(self: Any, *arguments: Any) -> Any:
            real(self, *arguments)
            raise KeyboardInterrupt

        return run

    for patched in ((Applier, "_send"), (Applier, "apply"), (LoadState, "record_followed"), (OutboxLog, "confirm")):
        for _ in range(6):
            with sessions.begin() as db:
                random_change(db, chance)
        with monkeypatch.context() as patch:
            patch.setattr(*patched, dying if chance.random() < 0.5 else dying_later(*patched))
            with pytest.raises(KeyboardInterrupt):
                follow_table(ledger, PLACE, until_caught_up=True)
        with sessions.begin() as db:
            random_change(db, chance)
    caught_up(ledger)
