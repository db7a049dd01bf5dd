"""The store in a file: opening, forks, interrupts, checkpoints, checksums, and files of an older version."""

from __future__ import annotations

import asyncio
import ctypes
import json
import os
import re
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from functools import partial
from pathlib import Path
from typing import Any
from zlib import crc32

import pytest
from tests.attack.file_store import Interrupted, run_bit_flips, run_forks, run_signals

from prejoin.engine import Embedded, OpenError
from prejoin.engine.store.file import FileStore, fork, store
from prejoin.engine.store.file.format import APPLICATION_ID, item_checksum
from prejoin.engine.store.interface import DamageError, StoreError
from prejoin.protocol.errors import DynamoDBError

from .conftest import SHOP, item, refusal, send, values

pytestmark = pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
needs_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "shop.db"


@pytest.fixture
def shop(path: Path) -> Iterator[Embedded]:
    with Embedded(path) as engine:
        send(engine, "CreateTable", **SHOP)
        for number in range(5):
            send(engine, "PutItem", Item=item(pk="a", sk=str(number), city="Bern"))
        yield engine


# Forks


def in_child(work: Callable[[], object]) -> int:
    """The exit status of a forked process: 0 if the work is true, 2 if it raises."""
    pid = os.fork()
    if pid == 0:
        status = 2
        try:
            signal.alarm(60)
            status = 0 if work() else 1
        finally:
            os._exit(status)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


@pytest.mark.slow
@needs_fork
def test_no_acknowledged_write_is_lost_whoever_forks() -> None:
    assert run_forks(1, 1).findings == []


@needs_fork
def test_no_file_is_open_when_the_child_begins(shop: Embedded, path: Path) -> None:
    names = {str(path), f"{path}-wal", f"{path}-shm"}

    def is_open() -> bool:
        return not names.isdisjoint(
            os.path.realpath(f"/proc/self/fd/{number}") for number in os.listdir("/proc/self/fd")
        )

    if not Path("/proc/self/fd").exists():
        pytest.skip("needs /proc")
    assert is_open()
    assert in_child(lambda: not is_open()) == 0
    assert not is_open()
    assert send(shop, "Scan")["Count"] == 5


class Holding:
    """Another thread that holds a session of an engine until the end of the block."""

    def __init__(self, engine: Embedded) -> None:
        self._begun, self._end = threading.Event(), threading.Event()
        self._thread = threading.Thread(target=engine._store.read, args=(self._hold,))

    def _hold(self) -> None:
        self._begun.set()
        self._end.wait(60)

    def __enter__(self) -> None:
        self._thread.start()
        self._begun.wait(60)

    def __exit__(self, *_: object) -> None:
        self._end.set()
        self._thread.join()


@needs_fork
def test_child_forked_during_a_call_refuses_files(
    shop: Embedded, path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fork, "WAIT_SECONDS", 0.05)

    def refused() -> bool:
        error = refusal(send, shop, "PutItem", Item=item(pk="child", sk="1"))
        with pytest.raises(OpenError, match="forked while a call on a file was under way"):
            Embedded(tmp_path / "new.db")
        return error.code == "InternalServerError" and "forked while a call on a file was under way" in error.message

    with Holding(shop):
        assert in_child(lambda: refused() and in_child(refused) == 0) == 0
    send(shop, "PutItem", Item=item(pk="parent", sk="1"))
    assert in_child(lambda: send(shop, "Scan")["Count"] == 6) == 0


@needs_fork
def test_child_forked_inside_its_own_call_cannot_go_on_with_it(shop: Embedded) -> None:
    engine_store = shop._store

    def work() -> int:
        with engine_store.writing() as session:
            pid = os.fork()
            if pid == 0:
                status = 1
                try:
                    session.get(b"any key")
                except StoreError:
                    status = 0
                finally:
                    os._exit(status)
            return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])

    assert engine_store.write(work) == 0
    assert send(shop, "Scan")["Count"] == 5


@needs_fork
def test_exit_of_a_child_that_may_not_use_the_file_leaves_the_log(
    shop: Embedded, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Python closes what is left when it ends. A connection of the parent must not be closed then."""
    monkeypatch.setattr(fork, "WAIT_SECONDS", 0.05)
    program = f"""
import os, sys, threading, time
from prejoin.engine import Embedded
from prejoin.engine.store.file import fork
fork.WAIT_SECONDS = 0.05
engine = Embedded({str(path)!r})
begun, end = threading.Event(), threading.Event()
thread = threading.Thread(target=engine._store.read, args=(lambda: (begun.set(), end.wait()),), daemon=True)
thread.start()
begun.wait()
reader, writer = os.pipe()
if os.fork():
    os._exit(0)
os.close(writer)
time.sleep(0.5)
sys.exit(0)
"""
    shop.close()
    subprocess.run([sys.executable, "-W", "ignore", "-c", program], check=True, timeout=60)
    with Embedded(path) as engine:
        send(engine, "PutItem", Item=item(pk="b", sk="1"))
        time.sleep(1)
        send(engine, "PutItem", Item=item(pk="b", sk="2"))
    with Embedded(path) as engine:
        assert send(engine, "Scan")["Count"] == 7


# Interrupts


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # one that struck in a finalizer
@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="needs timers")
def test_interrupts_at_any_moment_leave_nothing_behind() -> None:
    result = run_signals(1, 1)
    assert result.findings == []
    assert result.tries >= 200


@pytest.mark.slow
def test_exceptions_raised_in_threads_leave_nothing_behind(
    shop: Embedded, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(threading, "excepthook", lambda _: None)  # it may come when the thread is ending already

    def work() -> None:
        with suppress(Interrupted):
            while True:
                send(shop, "PutItem", Item=item(pk="thread", sk="1", city="Basel"))
                send(shop, "Query", KeyConditionExpression="pk = :p", ExpressionAttributeValues=values(p="a"))

    raise_in = ctypes.pythonapi.PyThreadState_SetAsyncExc
    for _ in range(60):
        threads = [threading.Thread(target=work) for _ in range(3)]
        for thread in threads:
            thread.start()
        time.sleep(0.003)
        for thread in threads:
            raise_in(ctypes.c_ulong(thread.ident or 0), ctypes.py_object(Interrupted))
        for thread in threads:
            thread.join(60)
            assert not thread.is_alive()
    with closing(sqlite3.connect(path, timeout=5, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        other.execute("ROLLBACK")
    send(shop, "PutItem", Item=item(pk="last", sk="1", city="Bern"))
    assert send(shop, "Scan", IndexName="by-city")["Count"] == send(shop, "Scan")["Count"]
    shop.close()
    assert not Path(f"{path}-wal").exists()


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="needs timers")
def test_interrupts_in_an_event_loop_leave_nothing_behind(shop: Embedded, monkeypatch: pytest.MonkeyPatch) -> None:
    # Python ignores an interrupt that strikes in a finalizer. pytest would format it, and be interrupted in that.
    monkeypatch.setattr(sys, "unraisablehook", lambda _: None)
    inside = False

    def interrupt(*_: Any) -> None:
        if inside:
            raise Interrupted

    async def work(turn: int) -> None:
        nonlocal inside
        # Again and again: one that comes while Python finalizes an object is ignored.
        signal.setitimer(signal.ITIMER_REAL, 0.0005 + turn * 0.0001, 0.02)
        try:
            inside = True
            while True:
                await shop.send_async("Scan", b'{"TableName":"shop"}')
                body = json.dumps({"TableName": "shop", "Item": item(pk="x", sk="1")})
                await shop.send_async("PutItem", body.encode())
        finally:
            inside = False

    handler = signal.signal(signal.SIGALRM, interrupt)
    try:
        for turn in range(60):
            with suppress(Interrupted):
                asyncio.run(work(turn))
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, handler)
    send(shop, "PutItem", Item=item(pk="last", sk="1"))
    assert send(shop, "GetItem", Key=item(pk="last", sk="1"))["Item"]


def test_page_that_was_not_read_to_its_end_does_not_hold_the_log(shop: Embedded, path: Path) -> None:
    send(shop, "Scan", Limit=1)
    refusal(send, shop, "Scan", FilterExpression="size(:x) > :x", ExpressionAttributeValues=values(x=1))
    with closing(sqlite3.connect(path)) as other:
        busy, log, done = other.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
    assert (busy, log, done) == (0, 0, 0)


# Checkpoints


def test_log_is_moved_into_the_file_while_nobody_can_write(
    shop: Embedded, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(store, "_LOG_BYTES", 200_000)
    others: list[str] = []
    real = FileStore._connect

    def connect(self: FileStore, session: Any) -> Any:
        """Whenever a connection is made beside one in use, as for a checkpoint, see whether anybody could write."""
        connection = real(self, session)
        with closing(sqlite3.connect(path, timeout=0, isolation_level=None)) as other:
            try:
                other.execute("BEGIN IMMEDIATE")
                others.append("free")
            except sqlite3.OperationalError:
                others.append("held")
        return connection

    monkeypatch.setattr(FileStore, "_connect", connect)
    longest = 0
    for number in range(700):
        send(shop, "PutItem", Item=item(pk="log", sk=str(number % 10), text="x" * 2000))
        longest = max(longest, Path(f"{path}-wal").stat().st_size)
    assert others
    assert set(others) == {"held"}
    assert 200_000 < longest < 3_000_000
    (automatic,) = shop._store.read(
        lambda: shop._store._current.session.execute("PRAGMA wal_autocheckpoint").fetchone()
    )  # type: ignore[attr-defined]
    assert automatic == 0


# Checksums


def flip(path: Path, text: bytes, other: bytes) -> None:
    """Change some bytes of a file that nobody uses."""
    content = path.read_bytes()
    assert content.count(text) >= 1
    path.write_bytes(content.replace(text, other))


@pytest.fixture
def damaged(path: Path) -> Path:
    """A file in which one item has other attributes than were written."""
    with Embedded(path) as engine:
        send(engine, "CreateTable", **SHOP)
        send(engine, "PutItem", Item=item(pk="a", sk="1", city="Bern", note="good one"))
        send(engine, "PutItem", Item=item(pk="b", sk="1", city="Bern", note="unharmed"))
    flip(path, b"good one", b"gooe one")
    return path


def test_damaged_item_is_named_and_the_others_are_readable(damaged: Path) -> None:
    with Embedded(damaged) as engine:
        error = refusal(send, engine, "GetItem", Key=item(pk="a", sk="1"))
        assert error.code == "InternalServerError"
        assert error.message == (
            'The item {"pk":{"S":"a"},"sk":{"S":"1"}} of table shop is damaged in the file. Put it again or delete it'
        )
        assert send(engine, "GetItem", Key=item(pk="b", sk="1"))["Item"]["note"] == {"S": "unharmed"}
        for operation in ("UpdateItem", "DeleteItem"):
            condition = {"ConditionExpression": "attribute_exists(pk)"}
            assert "damaged" in refusal(send, engine, operation, Key=item(pk="a", sk="1"), **condition).message
        assert engine.verify() == ['table shop: the item {"pk":{"S":"a"},"sk":{"S":"1"}} is damaged']


def test_damaged_item_in_a_page_is_named_if_all_is_verified(damaged: Path) -> None:
    with Embedded(damaged, verify_all=True) as engine:
        assert "The item" in refusal(send, engine, "Scan").message
        found = send(engine, "Query", KeyConditionExpression="pk = :p", ExpressionAttributeValues=values(p="b"))
        assert found["Count"] == 1


@pytest.mark.parametrize("remedy", ["PutItem", "DeleteItem"])
def test_damaged_item_can_be_replaced_or_deleted(damaged: Path, remedy: str) -> None:
    with Embedded(damaged, verify_all=True) as engine:
        if remedy == "PutItem":
            send(engine, "PutItem", Item=item(pk="a", sk="1", city="Basel"))
        else:
            send(engine, "DeleteItem", Key=item(pk="a", sk="1"))
        left = send(engine, "Scan")["Items"]
        cities = send(engine, "Scan", IndexName="by-city")["Items"]
        assert sorted(one["city"]["S"] for one in left) == sorted(one["city"]["S"] for one in cities)
        assert len(left) == (2 if remedy == "PutItem" else 1)
        assert engine.verify() == []


def test_item_under_the_key_of_another_is_damaged(shop: Embedded, path: Path) -> None:
    shop.close()
    with closing(sqlite3.connect(path)) as file:
        first, second = [key for (key,) in file.execute("SELECT key FROM items ORDER BY key LIMIT 2")]
        file.execute("DELETE FROM items WHERE key = ?", (first,))
        file.execute("UPDATE items SET key = ? WHERE key = ?", (first, second))
        file.commit()
    with Embedded(path) as engine:
        assert "is damaged" in refusal(send, engine, "GetItem", Key=item(pk="a", sk="0")).message
        assert engine.verify() != []


def test_damaged_index_entry_is_named(path: Path) -> None:
    with Embedded(path) as engine:
        send(engine, "CreateTable", **SHOP)
        send(engine, "PutItem", Item=item(pk="a", sk="1", city="Bern", name="good one"))
    with closing(sqlite3.connect(path)) as file:
        file.execute("UPDATE entries SET item = replace(item, 'good', 'gooe')")
        file.commit()
    with Embedded(path, verify_all=True) as engine:
        message = refusal(send, engine, "Scan", IndexName="by-city").message
        assert message.startswith('The entry of item {"pk":{"S":"a"},"sk":{"S":"1"}} in index by-city of table shop is')
        assert len(engine.verify()) == 1


@pytest.mark.parametrize("key", ["9000000000000000000", "'text'"])
def test_damage_that_changes_the_type_of_a_key_is_reported(damaged: Path, key: str) -> None:
    with closing(sqlite3.connect(damaged)) as file:
        file.execute(f"UPDATE items SET key = {key} WHERE key = (SELECT min(key) FROM items)")
        file.commit()
    with Embedded(damaged, verify_all=True) as engine:
        for pk in ("a", "b"):
            with suppress(DynamoDBError):
                send(engine, "GetItem", Key=item(pk=pk, sk="1"))
        assert engine.verify() != []


def test_damage_error_shows_a_key_that_is_null() -> None:
    assert str(DamageError("items", None, None)) == "damaged: b'None'"


def test_flipped_bits_never_give_wrong_results() -> None:
    result = run_bit_flips(0.5, 1)  # scripts/soak runs it for longer
    assert result.findings == []
    assert result.tries


def test_every_flipped_bit_of_a_table_name_is_reported(path: Path) -> None:
    """A name that is no longer UTF-8 is an error of Python's sqlite3 module, without a code of SQLite's."""
    with Embedded(path) as engine:
        send(engine, "CreateTable", **SHOP)
    whole = path.read_bytes()
    starts = [match.start() for match in re.finditer(b"shop", whole)]
    assert len(starts) >= 2  # in the table and in its unique index
    for position in (start + offset for start in starts for offset in range(4)):
        for bit in range(8):
            flipped = bytearray(whole)
            flipped[position] ^= 1 << bit
            path.write_bytes(flipped)
            with suppress(OpenError), Embedded(path) as engine:
                with suppress(DynamoDBError):
                    send(engine, "ListTables")
                assert engine.verify()


def test_verify_reports_nothing_for_intact_engine(shop: Embedded) -> None:
    assert shop.verify() == []
    with Embedded() as memory:
        send(memory, "CreateTable", **SHOP)
        send(memory, "PutItem", Item=item(pk="a", sk="1", city="Bern"))
        assert memory.verify() == []


def test_verify_returns_a_sentence_for_every_lost_page(shop: Embedded, path: Path) -> None:
    """SQLite's own check may fail by the damage instead of describing it."""
    shop.close()
    whole, opened = path.read_bytes(), 0
    for start in range(0, len(whole), 4096):
        path.write_bytes(whole[:start] + bytes(4096) + whole[start + 4096 :])
        with suppress(OpenError), Embedded(path) as engine:
            opened += 1
            assert engine.verify()
    assert opened


# Files of an older version

VERSION_3 = """
CREATE TABLE tables (
    id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL UNIQUE, revision INTEGER NOT NULL, definition BLOB NOT NULL
);
CREATE TABLE items (
    key BLOB PRIMARY KEY, size INTEGER NOT NULL, item BLOB NOT NULL, expires INTEGER
) WITHOUT ROWID;
CREATE INDEX expiring ON items (expires) WHERE expires IS NOT NULL;
CREATE TABLE entries (
    key BLOB PRIMARY KEY, size INTEGER NOT NULL, item BLOB NOT NULL
) WITHOUT ROWID;
CREATE TABLE tokens (
    token TEXT PRIMARY KEY, digest BLOB NOT NULL, answer BLOB NOT NULL, expires REAL NOT NULL
) WITHOUT ROWID;
CREATE INDEX forgetting ON tokens (expires);
PRAGMA user_version=3;
"""


def old_key(key: bytes, content: bytes, entry: int) -> bytes:
    """The key of an item or index entry as versions 3 and 4 had it: with another hash of the partition, and without a
    hash of the item's own key.
    """
    begin = 8 if entry else 4
    rest = key[begin + 4 :]
    if entry:
        stored = json.loads(content)
        own = stored["pk"]["S"].encode() + b"\x00\x00" + stored["sk"]["S"].encode()
        rest = rest[: -len(own) - 4] + own
    partition = rest[: rest.index(b"\x00\x00") + 2]
    return key[:begin] + (crc32(partition) * 2_654_435_761 & 0xFFFFFFFF).to_bytes(4) + rest


def make_version_4(path: Path) -> None:
    """Turn a file into one of version 4."""
    with closing(sqlite3.connect(path)) as file:
        file.create_function("old_key", 3, old_key)
        file.create_function("checksum", 3, item_checksum)
        for name, entry in (("items", 0), ("entries", 1)):
            file.execute(f"UPDATE {name} SET key = old_key(key, item, {entry})")
            file.execute(f"UPDATE {name} SET checksum = checksum(key, size, item)")
        file.execute("PRAGMA user_version=4")
        file.commit()


def make_version_3(path: Path, source: Path) -> None:
    """A file as version 3 of the format had it, with what another file holds."""
    with closing(sqlite3.connect(path)) as file:
        file.create_function("old_key", 3, old_key)
        file.executescript("PRAGMA journal_mode=WAL;" + VERSION_3)
        file.execute("ATTACH ? AS new", (str(source),))
        file.execute("INSERT INTO tables VALUES (40, 'gone', 1, x'')")  # ids are never used twice
        file.execute("DELETE FROM tables")
        file.execute("INSERT INTO tables SELECT id, name, revision, definition FROM new.tables")
        file.execute("INSERT INTO items SELECT old_key(key, item, 0), size, item, expires FROM new.items")
        file.execute("INSERT INTO entries SELECT old_key(key, item, 1), size, item FROM new.entries")
        file.execute("INSERT INTO tokens VALUES ('t', x'00', x'00', 9e9)")
        file.commit()


def test_file_of_version_3_is_brought_up_to_date(shop: Embedded, path: Path, tmp_path: Path) -> None:
    send(shop, "UpdateTimeToLive", TimeToLiveSpecification={"AttributeName": "until", "Enabled": True})
    send(shop, "PutItem", Item=item(pk="old", sk="1", until=1_900_000_000))
    before = send(shop, "Scan")
    shop.close()
    make_version_3(tmp_path / "old.db", path)
    for _ in range(2):
        with Embedded(tmp_path / "old.db") as engine:
            assert send(engine, "Scan") == before
            assert send(engine, "Scan", IndexName="by-city")["Count"] == 5
            assert engine.verify() == []
    with Embedded(tmp_path / "old.db") as engine:
        assert engine.expire(1_900_000_001) == 1
        send(engine, "CreateTable", **{**SHOP, "TableName": "next"})
    with closing(sqlite3.connect(tmp_path / "old.db")) as file:
        assert file.execute("SELECT id FROM tables WHERE name = 'next'").fetchone() == (41,)
        assert file.execute("PRAGMA integrity_check").fetchone() == ("ok",)


def test_file_of_version_4_is_brought_up_to_date(shop: Embedded, path: Path) -> None:
    for number in range(20):
        send(
            shop,
            "PutItem",
            Item=item(pk=f"p{number}", sk="1", city="Bern", g1pk=f"g{number % 3}", g1sk=-number, rank=1),
        )
    token = {"ClientRequestToken": "t", "TransactItems": [{"Put": {"TableName": "shop", "Item": item(pk="t", sk="1")}}]}
    send(shop, "TransactWriteItems", **token)
    reads: list[dict[str, Any]] = [{}, {"IndexName": "by-city"}, {"IndexName": "gsi1"}, {"IndexName": "by-rank"}]
    reads += [{"Segment": segment, "TotalSegments": 3} for segment in range(3)]
    before = [send(shop, "Scan", **read) for read in reads]
    shop.close()
    make_version_4(path)
    with Embedded(path) as engine:
        assert [send(engine, "Scan", **read) for read in reads] == before
        assert engine.verify() == []
        send(engine, "PutItem", Item=item(pk="t", sk="1", city="changed since"))
        send(engine, "TransactWriteItems", **token)  # the token is known, so nothing is written
        assert send(engine, "GetItem", Key=item(pk="t", sk="1"))["Item"]["city"] == {"S": "changed since"}


def test_damage_survives_an_upgrade(shop: Embedded, path: Path) -> None:
    shop.close()
    make_version_4(path)
    with closing(sqlite3.connect(path)) as file:
        third, fourth = [key for (key,) in file.execute("SELECT key FROM items ORDER BY key")][3:]
        file.execute("UPDATE items SET item = CAST(replace(item, 'Bern', 'Rome') AS BLOB) WHERE key = ?", (third,))
        file.execute("UPDATE items SET item = x'00' WHERE key = ?", (fourth,))
        file.commit()
    with Embedded(path) as engine:
        assert sum("is damaged" in finding for finding in engine.verify()) == 2
        assert send(engine, "GetItem", Key=item(pk="a", sk="0"))["Item"]["city"] == {"S": "Bern"}


def test_upgrade_that_is_interrupted_leaves_the_old_file(shop: Embedded, path: Path, tmp_path: Path) -> None:
    shop.close()
    old = tmp_path / "old.db"
    make_version_3(old, path)
    program = (
        "import sys\nfrom prejoin.engine.store.file import format\nimport os\n"
        "format.table_checksum = lambda *_: os._exit(9)\n"
        "from prejoin.engine import Embedded\nEmbedded(sys.argv[1])"
    )
    assert subprocess.run([sys.executable, "-c", program, str(old)], timeout=60).returncode == 9
    with closing(sqlite3.connect(old)) as file:
        assert file.execute("PRAGMA user_version").fetchone() == (3,)
    with Embedded(old) as engine:
        assert send(engine, "Scan")["Count"] == 5


# Opening


def files_in(folder: Path) -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in folder.iterdir() if file.is_file()}


@pytest.mark.parametrize("given", ["", ":memory:"])
def test_name_that_is_no_path_is_refused(given: str) -> None:
    with pytest.raises(OpenError, match=r"use Embedded\(\) without one"):
        Embedded(given)


@pytest.mark.parametrize("name", ["file:x.db", "a?mode=memory", "100%25.db", "a#b.db", "with space.db", "naïve.db"])
def test_any_name_is_an_ordinary_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.chdir(tmp_path)
    with Embedded(name) as engine:
        send(engine, "CreateTable", **SHOP)
    assert list(files_in(tmp_path)) == [name]


def test_engine_stays_with_its_file_when_the_program_changes_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path)
    with Embedded("shop.db") as engine:
        send(engine, "CreateTable", **SHOP)
        monkeypatch.chdir(tmp_path / "elsewhere")
        with Holding(engine):  # so that a second connection is made
            assert send(engine, "ListTables")["TableNames"] == ["shop"]


def other_program(path: Path, *, version: int = 0, wal: bool = False, mark: int = 0) -> None:
    with closing(sqlite3.connect(path)) as file:
        file.execute(f"PRAGMA journal_mode={'WAL' if wal else 'DELETE'}")
        file.execute("CREATE TABLE items (whatever)")
        file.execute(f"PRAGMA user_version={version}")
        file.execute(f"PRAGMA application_id={mark}")
        file.commit()


@pytest.mark.parametrize("wal", [False, True])
@pytest.mark.parametrize("version", [0, 3, 4, 999])
def test_file_of_another_program_is_left_as_it_is(path: Path, version: int, wal: bool) -> None:
    other_program(path, version=version, wal=wal)
    before = files_in(path.parent)
    with pytest.raises(OpenError, match=r"shop\.db is a database of another program"):
        Embedded(path)
    assert files_in(path.parent) == before


def test_file_without_our_tables_is_damaged_and_left_as_it_is(path: Path) -> None:
    other_program(path, version=4, mark=APPLICATION_ID)
    before = files_in(path.parent)
    with pytest.raises(OpenError, match=r"shop\.db is damaged: it lacks the tables entries, tables, tokens"):
        Embedded(path)
    assert files_in(path.parent) == before


@pytest.mark.parametrize("kept_open", [False, True])
def test_file_created_concurrently_is_not_called_foreign(
    path: Path, monkeypatch: pytest.MonkeyPatch, kept_open: bool
) -> None:
    others: list[Embedded] = []

    class Overtaken(sqlite3.Connection):
        """After the first mark is read, another process makes the tables."""

        def execute(self, *arguments: Any) -> sqlite3.Cursor:
            result = super().execute(*arguments)
            if arguments[0] == "PRAGMA user_version" and not others:
                monkeypatch.undo()
                others.append(Embedded(path))
                if not kept_open:
                    others[0].close()
            return result

    with closing(sqlite3.connect(path)) as empty:
        empty.execute("PRAGMA journal_mode=WAL")
        if kept_open:
            empty.execute("SELECT name FROM sqlite_master")  # makes the log
        else:
            empty.close()
        monkeypatch.setattr(sqlite3, "connect", partial(sqlite3.connect, factory=Overtaken))
        Embedded(path).close()
    assert others
    others[0].close()


def test_file_of_a_newer_version_is_refused(shop: Embedded, path: Path) -> None:
    shop.close()
    with closing(sqlite3.connect(path)) as file:
        file.execute("PRAGMA user_version=6")
    before = files_in(path.parent)
    with pytest.raises(OpenError, match="another version of prejoin: its format, 6, is newer than 5"):
        Embedded(path)
    assert files_in(path.parent) == before


def test_log_of_another_program_beside_the_file_is_refused(shop: Embedded, path: Path, tmp_path: Path) -> None:
    shop.close()
    other = tmp_path / "other.db"
    with closing(sqlite3.connect(other)) as file:
        file.execute("PRAGMA journal_mode=WAL")
        file.execute("CREATE TABLE notes (text)")
        file.commit()
        Path(f"{path}-wal").write_bytes(Path(f"{other}-wal").read_bytes())
    before = path.read_bytes()
    with pytest.raises(OpenError, match=r"shop\.db"):
        Embedded(path)
    assert path.read_bytes() == before


@pytest.mark.parametrize("index", [False, True])
def test_file_copied_with_its_log_is_whole(shop: Embedded, path: Path, tmp_path: Path, index: bool) -> None:
    copied = tmp_path / "copied.db"
    for suffix in ("", "-wal", *(["-shm"] if index else [])):
        Path(f"{copied}{suffix}").write_bytes(Path(f"{path}{suffix}").read_bytes())
    with Embedded(copied) as engine:
        assert send(engine, "Scan")["Count"] == 5


def test_unusable_paths_raise_readable_error(tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    cases = {
        folder: "is a folder, not a file",
        tmp_path / "missing" / "shop.db": "there is no folder",
        Path("/dev/null"): "is not a regular file",
        tmp_path / "null\0.db": "null character",
        tmp_path / "half \ud800.db": "half of a surrogate pair",
    }
    for place, said in cases.items():
        with pytest.raises(OpenError, match=said):
            Embedded(place)
    assert list(tmp_path.iterdir()) == [folder]


@pytest.mark.skipif(not hasattr(os, "getuid") or os.getuid() != 0, reason="becomes another user")
def test_path_without_permission_raises_readable_error(shop: Embedded, path: Path, tmp_path: Path) -> None:
    shop.close()
    tmp_path.chmod(0o755)
    path.chmod(0o444)
    program = (
        "import os, sys\nfrom prejoin.engine import Embedded, OpenError\n"
        "os.setgid(65534); os.setuid(65534)\n"
        "try: Embedded(sys.argv[1])\nexcept OpenError as error: print(error)"
    )
    for folder in tmp_path.parents:
        if folder.stat().st_mode & 0o005 != 0o005:
            pytest.skip("the temporary folder is private")
    before = files_in(tmp_path)
    for place in (path, tmp_path / "new.db"):
        said = subprocess.run([sys.executable, "-c", program, str(place)], capture_output=True, text=True, timeout=60)
        assert f"{place} cannot be" in said.stdout, said.stderr
    assert files_in(tmp_path) == before


def test_full_disk_raises_readable_error(path: Path) -> None:
    program = f"""
import json, resource, signal, sys
from prejoin.engine import Embedded, OpenError
from prejoin.protocol.errors import DynamoDBError
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (1000, resource.RLIM_INFINITY))
try: Embedded({str(path)!r})
except OpenError as error: print(error)
resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, resource.RLIM_INFINITY))
engine = Embedded({str(path)!r})
engine.send("CreateTable", {json.dumps(SHOP).encode()!r})
try:
    for number in range(100):
        body = {{"TableName": "shop", "Item": {{"pk": {{"S": "a"}}, "sk": {{"S": str(number)}}, "t": {{"S": "x" * 20000}}}}}}
        engine.send("PutItem", json.dumps(body).encode())
except DynamoDBError as error: print(error.message)
resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
engine.send("PutItem", b'{{"TableName":"shop","Item":{{"pk":{{"S":"a"}},"sk":{{"S":"last"}}}}}}')
print(engine.verify())
"""
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)
    opened, written, verified = ran.stdout.splitlines()
    assert opened.startswith(f"{path} cannot be read or written"), ran.stderr
    assert f"{path} cannot be read or written" in written
    assert verified == "[]"


@pytest.mark.parametrize("length", [1, 50, 100, 2000, 4096, 5000, 9000, 12_288, -1])
def test_truncated_file_raises_readable_error(shop: Embedded, path: Path, length: int) -> None:
    expected = send(shop, "Scan")
    shop.close()
    path.write_bytes(path.read_bytes()[:length])
    before = path.read_bytes()
    try:
        engine = Embedded(path)
    except OpenError as error:
        said, changed = str(error), path.read_bytes() != before
    else:
        with engine:
            said = told_of_damage(engine) if engine.verify() or send(engine, "Scan") != expected else str(path)
        changed = False
    assert str(path) in said
    assert not changed


def told_of_damage(engine: Embedded) -> str:
    try:
        send(engine, "Scan")
        return str(engine.verify())
    except DynamoDBError as error:
        return error.message


# Bounded memory


def test_oldest_tokens_are_forgotten_when_there_are_too_many(monkeypatch: pytest.MonkeyPatch, path: Path) -> None:
    monkeypatch.setattr("prejoin.engine.operations.client_tokens.MAX_TOKENS", 20)
    monkeypatch.setattr("prejoin.engine.operations.client_tokens._FORGETTING_TOKENS", 5)
    for engine in (Embedded(), Embedded(path)):
        with engine:
            send(engine, "CreateTable", **SHOP)

            def count(token: str, engine: Embedded = engine) -> None:
                add = {
                    "TableName": "shop",
                    "Key": item(pk="n", sk="1"),
                    "UpdateExpression": "ADD n :one",
                    "ExpressionAttributeValues": values(one=1),
                }
                send(engine, "TransactWriteItems", TransactItems=[{"Update": add}], ClientRequestToken=token)

            for number in range(40):
                count(f"token-{number}")
            count("token-39")
            assert send(engine, "GetItem", Key=item(pk="n", sk="1"))["Item"]["n"] == {"N": "40"}
            count("token-0")
            assert send(engine, "GetItem", Key=item(pk="n", sk="1"))["Item"]["n"] == {"N": "41"}


def test_dropped_tables_are_not_remembered(shop: Embedded) -> None:
    for number in range(20):
        send(shop, "CreateTable", **{**SHOP, "TableName": f"table-{number}"})
        send(shop, "DescribeTable", TableName=f"table-{number}")
        send(shop, "DeleteTable", TableName=f"table-{number}")
    assert len(shop._engine.catalog._known) == 1
