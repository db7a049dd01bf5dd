"""Follow the changes of DynamoDB tables by their streams."""

from __future__ import annotations

import multiprocessing
import os
import random
import shutil
import signal
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from prejoin import (
    Embedded,
    PipelineError,
    RefusedError,
    Server,
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
from prejoin.migrate.follow.affected_items import AffectedItems
from prejoin.migrate.follow.apply import Applier
from prejoin.migrate.follow.log import RowChange, SourceTransaction
from prejoin.migrate.follow.logs import begin_log, end_log
from prejoin.migrate.follow.streams import StreamsLog
from prejoin.migrate.load.contents import LargeContents
from prejoin.migrate.load.load import opened_table
from prejoin.migrate.load.state import LoadState
from prejoin.migrate.load.write import RowWriter
from prejoin.migrate.migration import Migration
from prejoin.migrate.source.dynamodb import DynamoDBSource
from prejoin.pipeline.throttle import WriteThrottle
from prejoin.protocol.errors import DynamoDBError
from tests.cli.conftest import Prejoin, prejoin  # noqa: F401 - a fixture
from tests.migrate.interrupt import interrupted
from tests.migrate.ledger_tables import FILE, TABLES, change, create_tables, put, send, write, write_tables_project

PLACE = TablePlace(db="table.db")


@pytest.fixture(scope="session")
def tables_template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("tables")
    write_tables_project(folder)
    with Embedded(str(folder / FILE)) as engine:
        create_tables(engine)
    return folder


@pytest.fixture
def project(tables_template: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    shutil.copytree(tables_template, tmp_path / "tables")
    monkeypatch.chdir(tmp_path / "tables")
    monkeypatch.setenv("PREJOIN_SOURCE", f"dynamodb:///{FILE}")
    return tmp_path / "tables"


@pytest.fixture
def app(project: Path) -> Iterator[Embedded]:
    """The engine of the application."""
    with Embedded(FILE) as engine:
        yield engine


@pytest.fixture
def loaded(app: Embedded) -> Iterator[Migration]:
    with open_migration() as migration:
        load_table(migration, PLACE, create=True, follow=True)
        yield migration


def enabled(engine: Embedded) -> list[str]:
    """The tables with a stream."""
    return [
        name
        for name in TABLES
        if send(engine, "DescribeTable", TableName=name)["Table"].get("StreamSpecification", {}).get("StreamEnabled")
    ]


def enable(engine: Embedded, table: str, view: str = "NEW_AND_OLD_IMAGES") -> None:
    send(engine, "UpdateTable", TableName=table, StreamSpecification={"StreamEnabled": True, "StreamViewType": view})


def disable(engine: Embedded, table: str) -> None:
    send(engine, "UpdateTable", TableName=table, StreamSpecification={"StreamEnabled": False})


def assert_equal(migration: Migration) -> None:
    migration.source.renew()
    found = verify_table(migration, PLACE, patterns=False)
    assert found.equal, found.differences[:5]


def test_changes_are_followed_until_both_sides_are_equal(app: Embedded, loaded: Migration) -> None:
    chance = random.Random(1)
    for _ in range(3):
        for _ in range(25):
            change(app, chance)
        result = follow_table(loaded, PLACE, until_caught_up=True)
        assert (result.caught_up, result.dead) == (True, 0)
        assert result.transactions > 20
        assert_equal(loaded)
    assert follow_table(loaded, PLACE, once=True).transactions == 0
    assert "by dynamodb; caught up" in migration_status().steps[4].detail


@pytest.mark.slow
def test_streams_are_enabled_as_said_and_disabled_by_the_cutover(app: Embedded) -> None:
    enable(app, "seats")
    said = []

    class Steps:
        def begin(self, activity: str, step: str = "") -> None:
            said.append((activity, enabled(app)))

        def update(self, detail: str) -> None: ...

        def result(self, summary: str) -> None: ...

    with open_migration() as migration:
        load_table(migration, PLACE, create=True, follow=True, progress=Steps())
        text = "keeping changes: creating " + " and ".join(f"the stream of the table {name}" for name in TABLES[:3])
        assert said[0] == (text, ["seats"])  # before it is done
        assert enabled(app) == list(TABLES)
        made = cut_over(migration, PLACE, by="Ann")
    assert enabled(app) == ["seats"]  # the application's own
    assert made.cutover.followed == "dynamodb"
    assert made.cutover.removed == tuple(f"the stream of the table {name}" for name in TABLES[:3])


def test_commands_follow_tables_to_the_cutover(app: Embedded, prejoin: Prejoin) -> None:  # noqa: F811
    place = ("--db", "table.db")
    ran = prejoin("migrate", "load", "--follow", *place)
    assert (ran.status, "the streams keep changes for 24 hours" in ran.err) == (0, True)
    assert "creating the stream of the table customers" in ran.err
    write(app, ("seats", 1))
    ran = prejoin("migrate", "follow", "--until-caught-up", *place)
    assert "1 transaction with 1 row written; caught up" in ran.err
    assert "prejoin migrate verify" in prejoin("migrate", "status").err
    ran = prejoin("migrate", "cutover", "--by", "Ann", *place)
    assert ran.status == 0, ran.err
    assert "- [x] removed from the database: the stream of the table seats" in Path("cutover-report.md").read_text()
    assert enabled(app) == []


def test_rollback_disables_what_a_killed_load_enabled(app: Embedded, monkeypatch: pytest.MonkeyPatch) -> None:
    def dying(self: DynamoDBSource) -> None:
        raise KeyboardInterrupt

    with open_migration() as migration:
        with monkeypatch.context() as patch:
            patch.setattr(DynamoDBSource, "renew", dying)
            with pytest.raises(KeyboardInterrupt):
                load_table(migration, PLACE, create=True, follow=True)
        assert enabled(app) == list(TABLES)
        roll_back(migration)
        assert enabled(app) == []


@pytest.mark.slow
def test_changes_during_the_load_are_not_lost(app: Embedded, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each page is written after newer changes of its items. Deleted ones do not come back."""
    chance, writing = random.Random(3), RowWriter.write

    def late(self: RowWriter, page: object) -> object:
        for _ in range(10):
            change(app, chance)
        return writing(self, page)  # type: ignore[arg-type]

    monkeypatch.setattr(RowWriter, "write", late)
    with open_migration() as migration:
        change(app, chance)  # after the copy that the command began with
        load_table(migration, PLACE, create=True, follow=True)
        follow_table(migration, PLACE, until_caught_up=True)
        assert_equal(migration)


@pytest.mark.slow
def test_follower_that_dies_repeats_its_round(
    app: Embedded, loaded: Migration, monkeypatch: pytest.MonkeyPatch
) -> None:
    def dying(self: object, *arguments: object) -> None:
        raise KeyboardInterrupt

    chance = random.Random(5)
    for patched in ((Applier, "apply"), (LoadState, "record_followed")):
        for _ in range(10):
            change(app, chance)
        with monkeypatch.context() as patch:
            patch.setattr(*patched, dying)
            with pytest.raises(KeyboardInterrupt):
                follow_table(loaded, PLACE, until_caught_up=True)
        change(app, chance)
        with open_migration() as another:
            follow_table(another, PLACE, until_caught_up=True)
            assert_equal(another)


def test_shards_that_close_are_read_before_their_children(project: Path) -> None:
    chance = random.Random(7)
    with Embedded(FILE, stream_shard_records=3) as app:
        for name in TABLES:
            enable(app, name)
        for _ in range(15):
            change(app, chance)
        with open_migration() as migration:
            load_table(migration, PLACE, create=True, follow=True)
            for _ in range(30):
                change(app, chance)
            follow_table(migration, PLACE, until_caught_up=True)
            assert_equal(migration)
        for number in range(10):
            put(app, "customers", {"id": 1, "email": "one@x.org", "name": f"name {number}"})
        with open_migration() as migration:  # another process continues in a shard that is closed by now
            assert follow_table(migration, PLACE, once=True).transactions == 10
            assert follow_table(migration, PLACE, once=True).transactions == 0
            assert_equal(migration)


def test_shards_are_read_in_whatever_order_they_are_listed(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    listed = StreamsLog._shards
    monkeypatch.setattr(StreamsLog, "_shards", lambda *arguments: reversed(list(listed(*arguments))))
    with Embedded(FILE, stream_shard_records=2) as app:
        for name in TABLES:
            enable(app, name)
        with open_migration() as migration:
            load_table(migration, PLACE, create=True, follow=True)
            for number in range(9):
                put(app, "customers", {"id": 1, "email": "one@x.org", "name": f"name {number}"})
            assert follow_table(migration, PLACE, once=True).transactions == 9
            assert_equal(migration)


def test_cutover_finds_a_change_that_the_stream_has_not_told(
    app: Embedded, loaded: Migration, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(StreamsLog, "_records", lambda *arguments: iter(()))  # AWS tells it a moment later
        write(app, ("seats", 1))
        with pytest.raises(RefusedError, match="the table differs from the database: 1 unexpected of Seat"):
            cut_over(loaded, PLACE, by="Ann")
    cut_over(loaded, PLACE, by="Ann")


@pytest.mark.slow
def test_item_that_another_row_took_over_is_kept_in_any_order(loaded: Migration, app: Embedded) -> None:
    """Shards have no common order: the new row of a seat may be told before the deletion of the old one."""
    old = {"id": 1, "room": "R1", "number": 1, "holder": "someone"}
    write(app, ("seats", 1), ("seats", old | {"id": 900, "holder": "heir"}))
    loaded.source.renew()
    gone = RowChange("seats", ({"id": "1", "room": "R1", "number": "1"},))
    came = RowChange("seats", ({"id": "900", "room": "R1", "number": "1"},))
    throttle = WriteThrottle()
    with opened_table(loaded, loaded.table, PLACE, throttle) as client, loaded.source.snapshot() as snapshot:
        applier = Applier(loaded, AffectedItems(loaded), client, throttle, LargeContents(client))
        for one in (came, gone):
            applier.apply(snapshot, (SourceTransaction("", (one,)),))
    assert_equal(loaded)


def test_unique_value_is_taken_when_it_is_free(loaded: Migration, app: Embedded) -> None:
    """The stream tells first that a customer took an address, and then that another gave it up."""
    write(app, ("customers", {"id": 1, "email": "c2@x.org", "name": "One"}))
    assert follow_table(loaded, PLACE, until_caught_up=True).dead == 1
    write(app, ("customers", {"id": 2, "email": "two@x.org", "name": "Two"}))
    assert follow_table(loaded, PLACE, until_caught_up=True).dead == 0
    assert_equal(loaded)


def test_stream_without_old_images_is_refused_before_anything_is_changed(app: Embedded) -> None:
    enable(app, "seats", "KEYS_ONLY")
    enable(app, "customers", "KEYS_ONLY")  # whose key is enough
    with open_migration() as migration:
        with pytest.raises(RefusedError) as caught:
            load_table(migration, PLACE, create=True, follow=True)
        found = caught.value.diagnostics[0]
        assert found.code == "PJ751"
        assert "the stream of seats has KEYS_ONLY, and keys of items need old values: number, room" in found.message
        assert enabled(app) == ["customers", "seats"]
        disable(app, "seats")
        load_table(migration, PLACE, create=True, follow=True)
        change(app, random.Random(2))
        write(app, ("customers", 3))
        follow_table(migration, PLACE, until_caught_up=True)
        assert_equal(migration)


def test_lost_changes_are_an_error_that_says_to_load_again(
    app: Embedded, loaded: Migration, monkeypatch: pytest.MonkeyPatch
) -> None:
    change(app, random.Random(1))
    clock = time.time

    def lost(why: str) -> None:
        with pytest.raises(PipelineError, match=why) as caught:
            follow_table(loaded, PLACE, once=True)
        assert caught.value.diagnostics[0].code == "PJ753"
        assert "load --follow --restart --force" in caught.value.diagnostics[0].fix

    with monkeypatch.context() as patch:
        patch.setattr(time, "time", lambda: clock() + 25 * 3600)
        lost("not read for a day, and DynamoDB keeps changes for 24 hours")
    disable(app, "seats")
    lost("changes of seats are lost: its stream was disabled")
    enable(app, "seats")  # another stream
    lost("changes of seats are lost: its stream was disabled")
    with open_migration() as migration:
        load_table(migration, PLACE, follow=True, restart=True, force=True)
        follow_table(migration, PLACE, until_caught_up=True)
        assert_equal(migration)


def test_follower_that_read_in_time_needs_no_record_to_continue(
    app: Embedded, loaded: Migration, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its last record may be trimmed, if nothing happened since. AWS refuses its number then."""
    sending = DynamoDBSource.send_to_streams

    def trimmed(self: DynamoDBSource, operation: str, body: Mapping[str, Any]) -> Any:
        if later > 24 and body.get("ShardIteratorType") == "AFTER_SEQUENCE_NUMBER":
            raise DynamoDBError("TrimmedDataAccessException")
        return sending(self, operation, body)

    monkeypatch.setattr(DynamoDBSource, "send_to_streams", trimmed)
    clock, later = time.time, 0
    monkeypatch.setattr(time, "time", lambda: clock() + later * 3600)
    write(app, ("seats", 1))
    follow_table(loaded, PLACE, until_caught_up=True)
    for _ in range(3):
        later += 20
        with open_migration() as another:
            assert follow_table(another, PLACE, until_caught_up=True).transactions == 0
    write(app, ("seats", 2))
    assert follow_table(loaded, PLACE, until_caught_up=True).transactions == 1
    assert_equal(loaded)


def test_records_from_before_the_load_may_be_trimmed(app: Embedded, monkeypatch: pytest.MonkeyPatch) -> None:
    clock, later = time.time, 0
    monkeypatch.setattr(time, "time", lambda: clock() + later * 3600)
    for name in TABLES:
        enable(app, name)
    write(app, ("seats", 1))
    write(app, ("seats", 2))
    later = 23
    with open_migration() as migration:
        load_table(migration, PLACE, create=True, follow=True)
        with monkeypatch.context() as patch:
            patch.setattr(StreamsLog.prepare, "__defaults__", (1,))  # one record of each table
            assert follow_table(migration, PLACE, once=True).transactions == 1
        later = 25
        write(app, ("seats", 3))
        assert follow_table(migration, PLACE, until_caught_up=True).transactions == 1
        assert_equal(migration)


def test_source_behind_a_server_is_followed(app: Embedded, monkeypatch: pytest.MonkeyPatch) -> None:
    with Server(app, port=0) as server:
        monkeypatch.setenv("PREJOIN_SOURCE", server.replace("http", "dynamodb"))
        with open_migration() as migration:
            load_table(migration, PLACE, create=True, follow=True)
            write(app, ("seats", 1), ("customers", {"id": 7, "email": "seven@x.org", "name": "Seven"}))
            assert follow_table(migration, PLACE, until_caught_up=True).transactions == 2
            assert_equal(migration)


# --- Kills ----------------------------------------------------------------------------------------------------------


def restore(before: Path) -> None:
    """Puts all files of the project back."""
    for left in Path().iterdir():
        shutil.rmtree(left) if left.is_dir() else left.unlink()
    shutil.copytree(before, ".", dirs_exist_ok=True)


@pytest.mark.slow
def test_load_killed_at_any_line_of_its_beginning_is_continued_or_rolled_back(project: Path, tmp_path: Path) -> None:
    shutil.copytree(project, tmp_path / "before")

    def load() -> None:
        with open_migration() as migration:
            load_table(migration, PLACE, create=True, follow=True)

    for line in interrupted((begin_log, StreamsLog.begin), lambda: restore(tmp_path / "before"), load):
        with Embedded(FILE) as app:
            write(app, ("seats", 1))
            with open_migration() as migration:
                if line % 2:
                    load_table(migration, PLACE, create=True, follow=True)
                    write(app, ("seats", 2))
                    follow_table(migration, PLACE, until_caught_up=True)
                    assert_equal(migration)
                roll_back(migration)
            assert enabled(app) == []


@pytest.mark.slow
def test_follower_and_cutover_killed_at_any_line_are_continued(project: Path, tmp_path: Path) -> None:
    with Embedded(FILE) as app, open_migration() as migration:
        load_table(migration, PLACE, create=True, follow=True)
        write(app, ("seats", 1), ("customers", {"id": 7, "email": "c8@x.org", "name": "Seven"}))
        write(app, ("seats", 2), ("customers", {"id": 8, "email": "c7@x.org", "name": "Eight"}))
    shutil.copytree(project, tmp_path / "before")

    def finish() -> None:
        with open_migration() as migration:
            cut_over(migration, PLACE, by="Ann")

    lines = (LoadState.record_followed, end_log, StreamsLog.end, cutover._finish)
    kills = 0
    for _ in interrupted(lines, lambda: restore(tmp_path / "before"), finish):
        kills += 1
        if not migration_status().steps[6].done:
            finish()
        with Embedded(FILE) as app, open_migration() as migration:
            assert enabled(app) == []
            assert_equal(migration)
    assert kills > 10


@pytest.mark.slow
def test_kills_at_random_points_while_the_application_writes(project: Path) -> None:
    """Load and follower are killed again and again. In the end both sides are equal."""
    fork, chance, kills = multiprocessing.get_context("fork"), random.Random(11), 0
    stop = fork.Event()

    def application() -> None:
        with Embedded(FILE) as app:
            writes = random.Random(12)
            while not stop.is_set():
                change(app, writes)

    def step() -> None:
        with open_migration() as migration:
            for rows in migration.rows:
                rows.page = 7
            load_table(migration, PLACE, create=True, follow=True)
            follow_table(migration, PLACE)

    writer = fork.Process(target=application)
    writer.start()
    try:
        while kills < 40:
            child = fork.Process(target=step)
            child.start()
            child.join(chance.random() * 2)
            assert child.is_alive(), child.exitcode
            os.kill(child.pid or 0, signal.SIGKILL)
            child.join()
            kills += 1
    finally:
        stop.set()
        writer.join()
    with open_migration() as migration:
        load_table(migration, PLACE, create=True, follow=True)
        result = follow_table(migration, PLACE, until_caught_up=True)
        assert (result.dead, result.caught_up) == (0, True)
        assert_equal(migration)
        cut_over(migration, PLACE, by="Ann")
