"""Follow the changes of PostgreSQL and MariaDB, while an application writes."""

from __future__ import annotations

import json
import random
import shutil
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from tests.migrate.interrupt import interrupted
from tests.migrate.ledger import change, create_ledger, write_project
from tests.wide.databases import mariadb_server, postgres_server
from tests.wide.kills import survive

from prejoin import (
    PipelineError,
    RefusedError,
    TablePlace,
    cut_over,
    follow_table,
    load_table,
    migration_status,
    open_migration,
    roll_back,
    verify_table,
)
from prejoin.migrate import cutover
from prejoin.migrate.follow.logs import begin_log, end_log
from prejoin.migrate.follow.postgres import PostgresLog
from prejoin.migrate.migration import Migration

pytestmark = pytest.mark.wide
PLACE = TablePlace(db="table.db")


@dataclass
class Source:
    server: Any
    engine: sa.Engine
    url: str


@pytest.fixture(scope="module", params=["postgresql", "mariadb"])
def server(request: pytest.FixtureRequest) -> Iterator[Any]:
    with (postgres_server if request.param == "postgresql" else mariadb_server)() as found:
        yield found


@pytest.fixture
def source(server: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Source]:
    """A ledger in a database, and its project in the current folder."""
    engine = sa.create_engine(server.url)
    create_ledger(engine)
    monkeypatch.chdir(tmp_path)
    public = server.url.replace("+psycopg", "").replace("+pymysql", "")
    monkeypatch.setenv("PREJOIN_SOURCE", public)
    write_project(tmp_path)
    yield Source(server, engine, public)
    with engine.begin() as db:
        if engine.dialect.name == "postgresql":
            db.exec_driver_sql("SELECT pg_drop_replication_slot(slot_name) FROM pg_replication_slots")
            for name in db.exec_driver_sql("SELECT pubname FROM pg_publication").scalars().all():
                db.exec_driver_sql(f"DROP PUBLICATION {name}")
        db.exec_driver_sql("DROP TABLE customers, invoices, invoice_lines, seats, notes")
    engine.dispose()


def work(source: Source, chance: random.Random, transactions: int) -> None:
    for _ in range(transactions):
        with source.engine.begin() as db:
            change(db, chance)


def test_follow_makes_both_sides_equal(source: Source) -> None:
    chance = random.Random(1)
    with open_migration() as migration:
        load_table(migration, PLACE, create=True, follow=True)
        for _ in range(6):
            work(source, chance, 40)
            result = follow_table(migration, PLACE, until_caught_up=True)
            assert (result.caught_up, result.dead) == (True, 0)
            assert result.transactions > 20
            compared = verify_table(migration, PLACE)
            assert compared.equal, compared.differences[:5]
        assert follow_table(migration, PLACE, once=True).transactions == 0


def run(source: Source, *statements: str) -> None:
    """Runs statements in one transaction."""
    with source.engine.begin() as db:
        for one in statements:
            db.exec_driver_sql(one)


def requests(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """Records the kinds of actions of each transaction."""
    from prejoin import Embedded

    found: list[list[str]] = []
    send = Embedded.send

    def sending(self: Embedded, operation: str, body: bytes, *more: Any, **named: Any) -> Any:
        if operation == "TransactWriteItems":
            found.append([kind for one in json.loads(body)["TransactItems"] for kind in one])
        elif operation in ("PutItem", "DeleteItem"):
            found.append([operation.removesuffix("Item")])
        return send(self, operation, body, *more, **named)

    monkeypatch.setattr(Embedded, "send", sending)
    return found


def test_transactions_of_the_source_stay_whole(source: Source, monkeypatch: pytest.MonkeyPatch) -> None:
    with open_migration() as migration:
        load_table(migration, PLACE, create=True, follow=True)
        sent = requests(monkeypatch)
        run(source, "UPDATE seats SET holder = 'ann' WHERE id <= 30")
        follow_table(migration, PLACE, until_caught_up=True)
        assert sent == [["Put"] * 30]
        sent.clear()
        run(source, "UPDATE seats SET id = id + 1000, number = number + 100 WHERE id = 7")
        follow_table(migration, PLACE, until_caught_up=True)
        assert sorted(map(sorted, sent)) == [["Delete", "Put"]]


def test_transaction_that_is_too_large_is_divided_and_counted(source: Source) -> None:
    rows = ", ".join(f"({n}, 'big', {n}, NULL)" for n in range(5000, 5250))
    with open_migration() as migration:
        load_table(migration, PLACE, create=True, follow=True)
        run(source, f"INSERT INTO seats VALUES {rows}")
        result = follow_table(migration, PLACE, until_caught_up=True)
        assert (result.rows, result.dead) == (250, 0)
        assert result.split > 0
        assert verify_table(migration, PLACE).equal


def test_exchanged_unique_values_are_followed(source: Source) -> None:
    with open_migration() as migration:
        load_table(migration, PLACE, create=True, follow=True)
        run(
            source,
            "UPDATE customers SET email = 'moving' WHERE id = 1",
            "UPDATE customers SET email = 'c1@x.org' WHERE id = 2",
            "UPDATE customers SET email = 'c2@x.org' WHERE id = 1",
        )
        result = follow_table(migration, PLACE, until_caught_up=True)
        assert (result.dead, result.split) == (0, 0)
        assert verify_table(migration, PLACE).equal
        rows = ", ".join(f"({n}, '{n}@x.org', 'many')" for n in range(1000, 1150))
        run(source, f"INSERT INTO customers VALUES {rows}")
        follow_table(migration, PLACE, until_caught_up=True)
        run(  # 150 exchanges are too many for one transaction
            source,
            "UPDATE customers SET email = concat('moving ', email) WHERE id >= 1000",
            "UPDATE customers SET email = concat(1000 + (id - 999) % 150, '@x.org') WHERE id >= 1000".replace(
                "%", "%%"
            ),
        )
        result = follow_table(migration, PLACE, until_caught_up=True)
        assert (result.dead, result.split > 0) == (0, True)
        assert verify_table(migration, PLACE).equal


def test_changes_during_the_load_are_not_lost(source: Source, monkeypatch: pytest.MonkeyPatch) -> None:
    """The load is killed again and again, and each run reads another snapshot. Deleted rows do not come back."""
    from prejoin.migrate.load.write import RowWriter

    chance, write = random.Random(3), RowWriter.write

    def dying(self: RowWriter, page: Any) -> Any:
        work(source, chance, 5)
        written = write(self, page)
        if chance.random() < 0.4:
            raise KeyboardInterrupt
        return written

    monkeypatch.setattr(RowWriter, "write", dying)
    with open_migration() as migration:
        for rows in migration.rows:
            rows.page = 7
        runs = 0
        while True:
            try:
                runs += 1
                load_table(migration, PLACE, create=True, follow=True)
                break
            except KeyboardInterrupt:
                with pytest.raises(PipelineError, match="the load is not finished"):
                    follow_table(migration, PLACE, once=True)
        assert runs > 2
        assert follow_table(migration, PLACE, until_caught_up=True).dead == 0
        compared = verify_table(migration, PLACE)
        assert compared.equal, compared.differences[:5]


def test_row_that_fits_no_item_is_a_dead_letter_until_it_is_corrected(source: Source) -> None:
    with open_migration() as migration:
        load_table(migration, PLACE, create=True, follow=True)
        run(source, "UPDATE invoices SET state = 'LOST' WHERE id = 3")
        result = follow_table(migration, PLACE, until_caught_up=True)
        assert result.dead == 1
        assert "'LOST' is not one of OPEN, PAID" in Path(result.dead_file).read_text(encoding="utf-8")
        run(source, "UPDATE invoices SET state = 'PAID' WHERE id = 3")
        assert follow_table(migration, PLACE, until_caught_up=True).dead == 0
        assert verify_table(migration, PLACE).equal


def test_follower_that_dies_after_writing_repeats_its_round(source: Source, monkeypatch: pytest.MonkeyPatch) -> None:
    from prejoin.migrate.follow.apply import Applier
    from prejoin.migrate.load.state import LoadState

    chance = random.Random(5)
    with open_migration() as migration:
        load_table(migration, PLACE, create=True, follow=True)

        def dying(self: Any, *arguments: Any) -> Any:
            raise KeyboardInterrupt

        for patched in ((Applier, "apply"), (LoadState, "record_followed"), (type(log_of(migration)), "confirm")):
            work(source, chance, 30)
            with monkeypatch.context() as patch:
                patch.setattr(*patched, dying)
                with pytest.raises(KeyboardInterrupt):
                    follow_table(migration, PLACE, until_caught_up=True)
            work(source, chance, 10)
            follow_table(migration, PLACE, until_caught_up=True)
            assert verify_table(migration, PLACE).equal


def log_of(migration: Any) -> Any:
    from prejoin.migrate.follow.logs import open_log
    from prejoin.migrate.load.state import LoadState

    with LoadState(".prejoin-migrate", lock=False) as state:
        return open_log(migration, state, {})


def test_truncated_table_is_emptied(source: Source) -> None:
    with open_migration() as migration:
        load_table(migration, PLACE, create=True, follow=True)
        run(source, "TRUNCATE TABLE seats")
        run(source, "INSERT INTO seats VALUES (1, 'R1', 1, 'bob')")
        follow_table(migration, PLACE, until_caught_up=True)
        compared = verify_table(migration, PLACE)
        assert compared.equal, compared.differences[:3]
        assert {e.entity: e.items for e in compared.entities}["Seat"] == 1


def test_unrelated_changes_move_the_position(source: Source) -> None:
    with open_migration() as migration:
        load_table(migration, PLACE, create=True, follow=True)
        run(source, *(f"INSERT INTO notes VALUES ({n}, 'other')" for n in range(500)))
        result = follow_table(migration, PLACE, until_caught_up=True)
        assert (result.transactions, result.caught_up) == (0, True)
        assert result.behind < 20_000


def test_database_that_is_down_is_waited_for(source: Source) -> None:
    chance = random.Random(8)
    with open_migration() as migration:
        load_table(migration, PLACE, create=True, follow=True)
        work(source, chance, 20)
        source.server.kill()
        source.engine.dispose()
        with pytest.raises(PipelineError) as caught:
            follow_table(migration, PLACE, until_caught_up=True, patience=0)
        assert caught.value.diagnostics[0].code == "PJ701"
        starter = threading.Timer(0.5, source.server.start)
        starter.start()
        try:
            assert follow_table(migration, PLACE, until_caught_up=True).caught_up
        finally:
            starter.join()
        assert verify_table(migration, PLACE).equal


def test_load_without_changes_cannot_be_followed(source: Source) -> None:
    with open_migration() as migration:
        load_table(migration, PLACE, create=True)
        with pytest.raises(PipelineError) as caught:
            follow_table(migration, PLACE, once=True)
        assert caught.value.diagnostics[0].code == "PJ754"
        with pytest.raises(RefusedError) as refused:
            load_table(migration, PLACE, follow=True)
        assert refused.value.diagnostics[0].code == "PJ754"


# --- PostgreSQL -----------------------------------------------------------------------------------------------------


def only_postgres(source: Source) -> None:
    if source.engine.dialect.name != "postgresql":
        pytest.skip("about PostgreSQL")


def test_replica_identity_is_required_before_anything_is_created(source: Source) -> None:
    only_postgres(source)
    run(source, "ALTER TABLE seats REPLICA IDENTITY DEFAULT")
    with open_migration() as migration, pytest.raises(RefusedError) as caught:
        load_table(migration, PLACE, create=True, follow=True)
    found = caught.value.diagnostics[0]
    assert found.code == "PJ751"
    assert "(seats: number, room)" in found.message
    assert "ALTER TABLE seats REPLICA IDENTITY FULL;" in found.fix
    with source.engine.connect() as db:
        assert db.exec_driver_sql("SELECT count(*) FROM pg_publication").scalar() == 0
        assert db.exec_driver_sql("SELECT count(*) FROM pg_replication_slots").scalar() == 0


def test_lost_slot_is_an_error(source: Source) -> None:
    only_postgres(source)
    with open_migration() as migration:
        load_table(migration, PLACE, create=True, follow=True)
        run(source, "SELECT pg_drop_replication_slot(slot_name) FROM pg_replication_slots")
        for step in (
            lambda: follow_table(migration, PLACE, once=True),
            lambda: load_table(migration, PLACE, follow=True),  # would begin a new log, after the rows that are loaded
        ):
            with pytest.raises(PipelineError) as caught:
                step()
            assert caught.value.diagnostics[0].code == "PJ753"


def test_transaction_that_no_snapshot_sees_yet_is_left_for_later(source: Source) -> None:
    """With a synchronous standby that does not respond, the log has commits that no snapshot contains."""
    only_postgres(source)
    with open_migration() as migration:
        load_table(migration, PLACE, create=True, follow=True)
        with source.engine.connect().execution_options(isolation_level="AUTOCOMMIT") as db:
            db.exec_driver_sql("ALTER SYSTEM SET synchronous_standby_names = 'nobody'")
            db.exec_driver_sql("SELECT pg_reload_conf()")
            committing = threading.Thread(target=run, args=(source, "UPDATE seats SET holder = 'x' WHERE id = 1"))
            committing.start()
            waiting = "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'SyncRep'"
            while not db.exec_driver_sql(waiting).scalar():
                time.sleep(0.01)
            try:
                assert follow_table(migration, PLACE, once=True).transactions == 0
            finally:
                db.exec_driver_sql("ALTER SYSTEM RESET synchronous_standby_names")
                db.exec_driver_sql("SELECT pg_reload_conf()")
                committing.join()
        assert follow_table(migration, PLACE, until_caught_up=True).transactions == 1
        assert verify_table(migration, PLACE).equal


def created(source: Source) -> tuple[int, int]:
    """The number of replication slots and publications."""
    with source.engine.connect() as db:
        counts = [
            int(db.exec_driver_sql(f"SELECT count(*) FROM {name}").scalar_one())
            for name in ("pg_replication_slots", "pg_publication")
        ]
    source.engine.dispose()
    return counts[0], counts[1]


def begun_anew(source: Source, migration: Migration, loaded: bool) -> None:
    """Removes the traces of earlier attempts, and loads."""
    run(source, "SELECT pg_drop_replication_slot(slot_name) FROM pg_replication_slots")
    with source.engine.begin() as db:
        for name in db.exec_driver_sql("SELECT pubname FROM pg_publication").scalars().all():
            db.exec_driver_sql(f"DROP PUBLICATION {name}")
    for left in ("table.db", ".prejoin-migrate", "cutover-report.md"):
        shutil.rmtree(left) if Path(left).is_dir() else Path(left).unlink(missing_ok=True)
    if loaded:
        load_table(migration, PLACE, create=True, follow=True)
    migration.source.engine.dispose()  # connections do not survive the fork
    source.engine.dispose()


def test_load_killed_at_any_line_of_its_beginning_is_followed_or_rolled_back(source: Source) -> None:
    only_postgres(source)
    chance = random.Random(6)
    with open_migration() as migration:
        for line in interrupted(
            (begin_log, PostgresLog.begin),
            lambda: begun_anew(source, migration, loaded=False),
            lambda: load_table(migration, PLACE, create=True, follow=True),
        ):
            if line % 2:
                work(source, chance, 5)
                load_table(migration, PLACE, create=True, follow=True)
                work(source, chance, 5)
                follow_table(migration, PLACE, until_caught_up=True)
                assert verify_table(migration, PLACE, patterns=False).equal
            roll_back(migration)
            assert created(source) == (0, 0)


@pytest.mark.parametrize("end", ["cutover", "rollback"])
def test_end_killed_at_any_line_leaves_no_slot(source: Source, end: str) -> None:
    only_postgres(source)
    with open_migration() as migration:

        def finish() -> object:
            return cut_over(migration, PLACE, by="Ann") if end == "cutover" else roll_back(migration)

        for _ in interrupted(
            (cutover._finish, end_log, PostgresLog.end), lambda: begun_anew(source, migration, loaded=True), finish
        ):
            if migration_status().steps[6].done:
                with pytest.raises(RefusedError, match="was cut over"):  # killed after the last effect
                    finish()
            else:
                finish()
            assert created(source) == (0, 0)


# --- MariaDB --------------------------------------------------------------------------------------------------------


def only_mariadb(source: Source) -> None:
    if source.engine.dialect.name == "postgresql":
        pytest.skip("about MariaDB")


def refused(source: Source) -> Any:
    with open_migration() as migration, pytest.raises(RefusedError) as caught:
        load_table(migration, PLACE, create=True, follow=True)
    return caught.value.diagnostics[0]


def test_log_with_other_settings_is_refused(source: Source) -> None:
    only_mariadb(source)
    run(source, "SET GLOBAL binlog_row_metadata = 'NO_LOG'")
    try:
        found = refused(source)
    finally:
        run(source, "SET GLOBAL binlog_row_metadata = 'FULL'")
    assert found.code == "PJ750"
    assert "binlog_row_metadata is NO_LOG" in found.message
    assert "binlog_row_metadata = FULL" in found.fix


def test_cascades_that_are_not_logged_are_refused(source: Source) -> None:
    only_mariadb(source)
    run(
        source,
        "ALTER TABLE invoices ADD CONSTRAINT to_customer FOREIGN KEY (customer_id) REFERENCES customers (id) ON DELETE CASCADE",
    )
    try:
        found = refused(source)
    finally:
        run(source, "ALTER TABLE invoices DROP CONSTRAINT to_customer")
    assert found.code == "PJ752"
    assert "invoices: the foreign key to_customer has ON DELETE CASCADE" in found.message


def test_key_of_a_type_that_the_log_tells_otherwise_is_refused(source: Source) -> None:
    only_mariadb(source)
    run(source, "DELETE FROM seats", "ALTER TABLE seats MODIFY number BIT(4) NOT NULL")
    found = refused(source)
    assert found.code == "PJ752"
    assert "seats.number is part of a key" in found.message


def test_purged_log_is_an_error(source: Source) -> None:
    only_mariadb(source)
    with open_migration() as migration:
        load_table(migration, PLACE, create=True, follow=True)
        run(source, "FLUSH BINARY LOGS")
        run(source, "UPDATE seats SET holder = 'x' WHERE id = 1")
        with source.engine.connect() as db:
            while len(logs := db.exec_driver_sql("SHOW BINARY LOGS").all()) > 1:  # until a checkpoint allows it
                db.exec_driver_sql(f"PURGE BINARY LOGS TO '{logs[-1][0]}'")
        with pytest.raises(PipelineError) as caught:
            follow_table(migration, PLACE, once=True)
        assert caught.value.diagnostics[0].code == "PJ753"


def test_binary_keys_and_texts_are_followed(source: Source) -> None:
    """The log has BINARY without its trailing zeros, and texts in the character set of their column."""
    only_mariadb(source)
    run(
        source,
        "DELETE FROM seats",
        "ALTER TABLE seats MODIFY id BINARY(4) NOT NULL",
        "ALTER TABLE seats MODIFY room VARCHAR(20) CHARACTER SET latin1 NOT NULL",
        "INSERT INTO seats VALUES (X'01000000', 'Zürich', 1, NULL), (X'00000000', 'b', 2, NULL), (X'01020304', 'c', 3, NULL)",
    )
    with open_migration() as migration:
        load_table(migration, PLACE, create=True, follow=True)
        run(source, "UPDATE seats SET holder = 'x', number = number + 10 WHERE number <> 3")
        run(source, "DELETE FROM seats WHERE number = 3", "INSERT INTO seats VALUES (X'02000000', 'Köln', 5, NULL)")
        assert follow_table(migration, PLACE, until_caught_up=True).rows == 4
        compared = verify_table(migration, PLACE, patterns=False)
        assert compared.equal, compared.differences[:5]


# --- Kills ----------------------------------------------------------------------------------------------------------


def test_killed_at_random_points_both_sides_are_equal(
    server: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A few kills; `scripts/soak --kills 300` does more."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PREJOIN_SOURCE", "")  # restored afterwards
    found = survive(server, kills=5, seed=11)
    assert sum(found.kills.values()) >= 5
    assert found.transactions > 0
    assert (found.differences, found.dead) == ((), 0)
