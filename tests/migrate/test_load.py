"""Load: all rows as items with copies, guards and counts; resumable, idempotent, with dead letters."""

from __future__ import annotations

import gzip
import json
import os
import random
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from prejoin import (
    ConnectionFailed,
    Embedded,
    PipelineError,
    RefusedError,
    Server,
    TablePlace,
    audit,
    load_table,
    plan_load,
    verify_table,
)
from prejoin.migrate.load.export import export_items
from prejoin.migrate.load.write import RowWriter
from prejoin.migrate.mapping.rows import EntityRows
from prejoin.migrate.migration import Migration
from prejoin.pipeline.connection import connect
from prejoin.pipeline.throttle import WriteThrottle

Opened = Callable[[], Migration]
PLACE = TablePlace(db="table.db")


def items(migration: Migration, place: TablePlace = PLACE) -> list[dict[str, Any]]:
    with connect(migration.package.schema, migration.table, place) as client:
        return sorted(client.call("Scan")["Items"], key=lambda item: (item["pk"]["S"], item["sk"]["S"]))


def test_every_row_becomes_an_item_with_its_guards(opened: Opened) -> None:
    migration = opened()
    result = load_table(migration, PLACE, create=True)
    assert (result.dead, result.resumed) == (0, False)
    assert {e.entity: e.rows for e in result.entities}["Order"] == 60
    found = items(migration)
    tags = [item["entityType"]["S"] for item in found]
    assert tags.count("User") == tags.count("User unique email") == 20
    with connect(migration.package.schema, migration.table, PLACE) as client:
        assert list(audit(client)) == []
    user = next(item for item in found if item["pk"]["S"] == "USER#1" and item["entityType"]["S"] == "User")
    assert user["created_at"] == {"S": "2024-01-01T10:00:00.000000Z"}
    assert user["is_active"] == {"BOOL": True}
    assert user["prefs"] == {"M": {"tax": {"N": "7.5"}}}


def test_second_load_reads_nothing_and_restart_changes_nothing(opened: Opened) -> None:
    migration = opened()
    load_table(migration, PLACE, create=True)
    before = items(migration)
    again = load_table(migration, PLACE)
    assert (again.resumed, again.rows) == (True, 0)
    anew = load_table(migration, PLACE, restart=True, force=True)
    assert anew.dead == 0
    assert items(migration) == before


class KilledError(Exception):
    pass


def test_load_continues_after_a_failure_at_every_page(opened: Opened, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each run is killed after a page was written, before or after it was recorded."""
    migration = opened()
    for rows in migration.rows:
        rows.page = 7
    write, writes = RowWriter.write, iter(range(10_000))

    def dying(self: RowWriter, page: Any) -> Any:
        written = write(self, page)
        if next(writes) % 3 == 2:
            raise KilledError
        return written

    monkeypatch.setattr(RowWriter, "write", dying)
    runs = 0
    while True:
        runs += 1
        try:
            result = load_table(migration, PLACE, create=True)
        except KilledError:
            continue
        break
    assert runs > 10
    assert result.dead == 0
    assert verify_table(migration, PLACE).equal


def recorded() -> int:
    """Rows that a load has recorded as written."""
    if not Path(".prejoin-migrate/state.db").is_file():
        return -1
    with closing(sqlite3.connect(".prejoin-migrate/state.db", timeout=30)) as db:
        try:
            return int(db.execute("SELECT coalesce(sum(rows), 0) FROM progress").fetchone()[0])
        except sqlite3.OperationalError:
            return -1


@pytest.mark.slow
def test_load_survives_being_killed_at_random_points(shop: Path, opened: Opened) -> None:
    command = [sys.executable, "-m", "prejoin", "migrate", "load", "--db", "table.db"]
    with sqlite3.connect("shop.db") as db:
        rows = [(n, n % 20 + 1, "PAID", 1, "2025-01-01T00:00:00", None) for n in range(1000, 40_000)]
        db.executemany("INSERT INTO orders VALUES (?, ?, ?, ?, ?, ?)", rows)
    db.close()
    chance, kills = random.Random(7), 0
    while kills < 12:
        before = recorded()
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        while process.poll() is None and recorded() == before:
            time.sleep(0.01)
        time.sleep(chance.random() * 0.3)
        if process.poll() is None:
            os.kill(process.pid, signal.SIGKILL)
            kills += 1
        if process.wait() == 0:
            break
    assert subprocess.run(command, capture_output=True).returncode == 0
    assert kills > 2
    assert verify_table(opened(), PLACE).equal


def test_dead_letters_have_row_reason_and_code_and_can_be_replayed(shop: Path, opened: Opened) -> None:
    with sqlite3.connect("shop.db") as db:
        db.execute("UPDATE orders SET placed_at = 'soon' WHERE id = 7")
        db.execute("PRAGMA ignore_check_constraints = 1")
        db.execute("UPDATE orders SET status = 'LOST' WHERE id = 8")
        db.execute("INSERT INTO products VALUES ('BIG', ?, 1, 1, 'x', NULL)", ("x" * 500_000,))
    db.close()
    result = load_table(opened(), PLACE, create=True)
    assert result.dead == 3
    letters = [json.loads(line) for line in Path(result.dead_file).read_text(encoding="utf-8").splitlines()]
    found = {(one["entity"], *one["key"]): (one["code"], one["reason"]) for one in letters}
    assert found["Order", 7] == ("PJ720", "placed_at: 'soon' is not a time")
    assert found["Order", 8] == ("PJ720", "status: 'LOST' is not one of PAID, PENDING, SHIPPED")
    assert found["Product", "BIG"][0] == "PJ723"
    assert next(one for one in letters if one["key"] == [7])["row"]["user_id"]
    with sqlite3.connect("shop.db") as db:
        db.execute("UPDATE orders SET placed_at = '2025-05-05T00:00:00', status = 'PAID' WHERE id IN (7, 8)")
        db.execute("DELETE FROM products WHERE sku = 'BIG'")
    db.close()
    again = load_table(opened(), PLACE, replay=True)
    assert (again.dead, again.dead_file) == (0, "")
    assert verify_table(opened(), PLACE).equal


def test_taken_unique_value_is_a_dead_letter(shop: Path, opened: Opened) -> None:
    with sqlite3.connect("shop.db") as db:
        db.execute("UPDATE users SET email = 'U1@x.org' WHERE id = 2")
    db.close()
    text = Path("mapping.toml").read_text(encoding="utf-8")
    changed = text.replace('email = "email"', 'email = { column = "email", as = "lower" }')
    assert changed != text
    Path("mapping.toml").write_text(changed, encoding="utf-8")
    result = load_table(opened(), PLACE, create=True)
    assert result.dead == 1
    assert '"PJ722"' in Path(result.dead_file).read_text(encoding="utf-8")


def test_table_with_items_is_refused(opened: Opened) -> None:
    migration = opened()
    load_table(migration, PLACE, create=True, state="one")
    with pytest.raises(RefusedError) as caught:
        load_table(migration, PLACE, state="two")
    assert caught.value.diagnostics[0].code == "PJ730"


def test_state_of_another_mapping_is_refused(shop: Path, opened: Opened) -> None:
    load_table(opened(), PLACE, create=True)
    Path("mapping.toml").write_text(
        Path("mapping.toml").read_text(encoding="utf-8").replace('zone = "UTC"', 'zone = "Europe/Zurich"'),
        encoding="utf-8",
    )
    with pytest.raises(RefusedError) as caught:
        load_table(opened(), PLACE)
    assert caught.value.diagnostics[0].code == "PJ731"


def test_second_process_is_refused(opened: Opened) -> None:
    from prejoin.migrate.load.state import LoadState

    with LoadState(".prejoin-migrate"), pytest.raises(RefusedError) as caught:
        load_table(opened(), PLACE, create=True)
    assert caught.value.diagnostics[0].code == "PJ732"


def test_missing_table_says_how_to_create_it(opened: Opened) -> None:
    with pytest.raises(PipelineError, match="no table"):
        load_table(opened(), PLACE)


def test_rate_holds_writers_back() -> None:
    slept: list[float] = []
    throttle = WriteThrottle(100, sleep=slept.append)

    class Call:
        operation = "PutItem"
        units = 50.0

    throttle.observe(Call())  # type: ignore[arg-type]
    throttle.wait()
    assert slept
    assert 0.4 < slept[0] <= 0.5


def test_reads_are_not_counted_as_writes() -> None:
    throttle = WriteThrottle()

    class Call:
        operation = "Scan"
        units = 50.0

    throttle.observe(Call())  # type: ignore[arg-type]
    assert throttle.units == 0


@pytest.mark.slow
def test_snapshot_does_not_see_later_writes(shop: Path, opened: Opened, monkeypatch: pytest.MonkeyPatch) -> None:
    with sqlite3.connect("shop.db") as db:
        db.execute("PRAGMA journal_mode=WAL")
    db.close()
    migration = opened()
    pages = EntityRows.pages

    def writing(self: EntityRows, *arguments: Any) -> Iterator[Any]:
        with sqlite3.connect("shop.db") as other:
            other.execute("DELETE FROM order_items")
        other.close()
        yield from pages(self, *arguments)

    monkeypatch.setattr(EntityRows, "pages", writing)
    result = load_table(migration, PLACE, create=True)
    assert {e.entity: e.rows for e in result.entities}["OrderItem"] > 0


def test_plan_measures_units_and_shows_items(opened: Opened) -> None:
    migration = opened()
    plan = plan_load(migration, rate=10)
    loaded = load_table(migration, PLACE, create=True)
    assert plan.units == pytest.approx(loaded.units)
    assert plan.rows == loaded.rows
    assert plan.seconds == pytest.approx(plan.units / 10)
    users = next(one for one in plan.entities if one.entity == "User")
    assert users.items_per_row == 2
    assert users.row is not None
    assert users.row["email"] == "u1@x.org"
    assert {"S": "USER#1"} in [item["pk"] for item in users.items]


def test_files_hold_all_items_of_the_table(opened: Opened) -> None:
    migration = opened()
    result = export_items(migration, "out", state="export")
    load_table(migration, PLACE, create=True)
    texts = [gzip.decompress(Path(file).read_bytes()).decode() for file in result.files]
    lines = [json.loads(line)["Item"] for text in texts for line in text.splitlines()]
    assert sorted(lines, key=lambda item: (item["pk"]["S"], item["sk"]["S"])) == items(migration)
    assert lines != items(migration), "a partition would be written in one go"
    with pytest.raises(RefusedError):
        export_items(migration, "out", state="export")


@pytest.mark.parametrize("operation", ["ImportTable", "StartBulkPutItems"])
def test_requests_beside_the_files_are_those_of_aws(opened: Opened, operation: str) -> None:
    import botocore.session
    from botocore.validate import ParamValidator

    export_items(opened(), "out", state="export")
    name = {"ImportTable": "import-table.json", "StartBulkPutItems": "start-bulk-put-items.json"}[operation]
    request = json.loads((Path("out") / name).read_text(encoding="utf-8"))
    shape = botocore.session.get_session().get_service_model("dynamodb").operation_model(operation).input_shape
    assert shape is not None
    assert request.keys() <= shape.members.keys()
    report = ParamValidator().validate({**request, "ClientToken": "1"}, shape)
    assert not report.has_errors(), report.generate_report()


def test_rows_of_different_pages_with_the_same_id_are_dead_letters(opened: Opened) -> None:
    text = Path("mapping.toml").read_text(encoding="utf-8")
    assert '\nsku = "sku"' in text
    head, product, rest = text.partition("[entities.Product.attributes]")
    Path("mapping.toml").write_text(
        head + product + rest.replace('\nsku = "sku"', '\nsku = { column = "sku", as = "lower" }', 1), encoding="utf-8"
    )
    with sqlite3.connect("shop.db") as db:
        (sku,) = db.execute("SELECT sku FROM products ORDER BY sku LIMIT 1").fetchone()
        other = sku.lower() if sku != sku.lower() else sku.upper()
        db.execute("INSERT INTO products SELECT ?, title, price, 999, category, photo FROM products LIMIT 1", (other,))
    db.close()
    migration = opened()
    assert [one.entity.name for one in migration.rows if not one.keeps_key] == ["Product"]
    migration.of("Product").page = 1
    for _ in range(2):  # a second run of the same pages finds the same rows
        result = load_table(migration, PLACE, create=True, force=True, restart=True)
        assert result.dead == 1
    letter = json.loads(Path(result.dead_file).read_text(encoding="utf-8"))
    assert (letter["code"], letter["entity"]) == ("PJ724", "Product")
    assert letter["key"] in ([sku], [other])


def test_rows_are_read_in_pages_by_composite_keys(opened: Opened) -> None:
    migration = opened()
    rows = migration.of("OrderItem")
    rows.page = 3
    with migration.source.snapshot() as snapshot:
        keys = [row.key for page in rows.pages(snapshot) for row in page]
        total = snapshot.value("SELECT count(*) FROM order_items")
        rest = [row.key for page in rows.pages(snapshot, keys[9]) for row in page]
    assert len(keys) == len(set(keys)) == total
    assert rest == keys[10:]


def test_throttled_batch_is_sent_again(opened: Opened, monkeypatch: pytest.MonkeyPatch) -> None:
    from prejoin.table.client.client import Client
    from prejoin.table.errors import Unprocessed

    put_many, calls = Client.put_many, iter(range(1000))

    def failing(self: Client, records: Any, *more: Any, **named: Any) -> int:
        if next(calls) == 0:
            raise Unprocessed("no capacity", 0, iter(()))
        return put_many(self, records, *more, **named)

    monkeypatch.setattr(Client, "put_many", failing)
    monkeypatch.setattr(time, "sleep", lambda seconds: None)
    assert load_table(opened(), PLACE, create=True).dead == 0


def test_load_through_a_server_with_several_threads(opened: Opened) -> None:
    migration = opened()
    for rows in migration.rows:
        rows.page = 40
    with Embedded() as engine, Server(engine, port=0, in_memory=True) as url:
        place = TablePlace(endpoint=url)
        with pytest.raises(PipelineError, match="no table"):
            load_table(migration, place)
        result = load_table(migration, place, create=True, workers=3)
        assert (result.dead, result.units > 0) == (0, True)
        assert verify_table(migration, place).equal


def test_server_that_stops_is_an_error_and_the_load_continues(opened: Opened, monkeypatch: pytest.MonkeyPatch) -> None:
    migration = opened()
    write, calls = RowWriter.write, iter(range(1000))

    def failing(self: RowWriter, page: Any) -> Any:
        if next(calls) == 2:
            raise ConnectionFailed("gone", operation="BatchWriteItem", attempts=3, cause=OSError())
        return write(self, page)

    monkeypatch.setattr(RowWriter, "write", failing)
    with pytest.raises(PipelineError) as caught:
        load_table(migration, PLACE, create=True)
    assert caught.value.diagnostics[0].code == "PJ021"
    assert load_table(migration, PLACE).resumed
    assert verify_table(migration, PLACE, patterns=False).equal
