"""The store in memory: keys in order whatever is done to them, and every session kept whole or not at all."""

from __future__ import annotations

import gc
import itertools
import os
import signal
import subprocess
import sys
import threading
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prejoin.engine import Embedded
from prejoin.engine.items import rows
from prejoin.engine.store import sorted_map
from prejoin.engine.store.interface import RangeScan, StoredRow, StoreError, packed_expiry
from prejoin.engine.store.memory import InMemoryStore
from prejoin.engine.store.sorted_map import SortedMap
from prejoin.protocol.key_bytes import EVERYTHING, Range
from prejoin.protocol.sizes import item_size

from .conftest import SHOP, item, send

keys = st.binary(min_size=1, max_size=2).map(lambda key: bytes(byte % 4 for byte in key))
bounds = st.builds(Range, st.binary(max_size=2), st.none() | st.binary(max_size=2))


@pytest.fixture
def small_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    """So that a few keys lie in many."""
    monkeypatch.setattr(sorted_map, "_CHUNK_LENGTH", 4)


@pytest.mark.usefixtures("small_chunks")
@given(changes=st.lists(st.tuples(keys, st.booleans())), bounds=bounds, forward=st.booleans(), limit=st.integers(1, 30))
def test_keys_are_in_order(changes: list[tuple[bytes, bool]], bounds: Range, forward: bool, limit: int) -> None:
    shelf = SortedMap()
    expected: set[bytes] = set()
    for key, there in changes:
        shelf.restore(key, StoredRow(1, key) if there else None)
        (expected.add if there else expected.discard)(key)
    low, high = bounds
    within = sorted(key for key in expected if low <= key and (high is None or key < high))
    assert shelf.keys(bounds, forward=forward, limit=limit) == (within if forward else within[::-1])[:limit]
    assert shelf.number(bounds) == len(within)
    assert shelf.values.keys() == expected
    shelf.repair()
    assert shelf.keys(EVERYTHING, limit=99) == sorted(expected)


def test_many_keys_are_in_order() -> None:
    shelf = SortedMap()
    every = [b"%05d" % (number * 7919 % 10_007) for number in range(10_007)]
    for key in every:
        shelf.add(key, StoredRow(1, key))
    for key in every[::2]:
        shelf.remove(key)
    assert shelf.keys(EVERYTHING, limit=99_999) == sorted(every[1::2])
    assert shelf.keys(EVERYTHING, forward=False, limit=3) == sorted(every[1::2])[-1:-4:-1]


@contextmanager
def undone(store: InMemoryStore, error: type[BaseException] = ValueError) -> Iterator[Any]:
    with pytest.raises(error), store.writing() as session:
        yield session
        raise error


def everything(store: InMemoryStore) -> object:
    with store.reading() as session:
        return (
            list(session.items(EVERYTHING)),
            list(session.contents(RangeScan("entries", EVERYTHING, True, 99))),
            session.expired_keys(0, 99, 99),
            [(name, session.table_version(name)) for name in session.table_names("", 99)],
            [session.token(token) for token in (b"old", b"new", b"third")],
        )


def test_error_rolls_back_everything() -> None:
    store = InMemoryStore()
    with store.writing() as session:
        session.put_expiring(b"a", None, StoredRow(1, b"1"), 10)
        session.put(b"b", None, StoredRow(1, b"2"))
        session.put_entry(b"e", StoredRow(1, b"1"), new=True)
        session.put_entry(b"f", StoredRow(1, b"1"), new=True)
        session.add_table("one", b"{}")
        session.keep_token(b"old", packed_expiry(5), 5)
        session.keep_token(b"new", packed_expiry(50), 50)
    before = everything(store)
    with undone(store) as session:
        session.put_expiring(b"a", StoredRow(1, b"1"), StoredRow(1, b"3"), 20)
        session.set_expiry(b"b", 7)
        session.clear_expiries(EVERYTHING)
        session.set_expiry(b"b", 8)
        session.delete(b"a")
        session.put(b"c", None, StoredRow(1, b"4"))
        session.move_entry(b"e", b"d", StoredRow(1, b"5"))
        session.put_entry(b"f", StoredRow(1, b"6"), new=False)
        session.delete_entry(b"f")
        session.change_table(1, b"[]")
        session.add_table("two", b"{}")
        session.remove_table(1)
        session.forget_tokens(20, 9)
        session.keep_token(b"new", packed_expiry(60) + b"x", 60)
        session.keep_token(b"third", packed_expiry(60), 60)
        session.clear("items", EVERYTHING)
        session.clear("entries", EVERYTHING)
    assert everything(store) == before


@pytest.mark.usefixtures("small_chunks")
@pytest.mark.parametrize("where", ["insort", "bisect_right", "bisect_left"])
def test_a_session_interrupted_anywhere_is_undone(where: str, monkeypatch: pytest.MonkeyPatch) -> None:
    store = InMemoryStore()
    with store.writing() as session:
        for key in (b"a", b"b", b"d"):
            session.put(key, None, StoredRow(1, key))
            session.put_entry(key, StoredRow(1, key), new=True)
    before = everything(store)
    for calls in range(12):
        real, left = getattr(sorted_map, where), [calls]

        def interrupt(*arguments: Any, real: Any = real, left: Any = left) -> Any:
            if not left[0]:
                raise KeyboardInterrupt
            left[0] -= 1
            return real(*arguments)

        with undone(store, KeyboardInterrupt) as session, monkeypatch.context() as patched:
            patched.setattr(sorted_map, where, interrupt)
            for key in (b"c", b"e", b"f"):
                session.put(key, None, StoredRow(1, key))
            session.delete(b"a")
            session.move_entry(b"b", b"z", StoredRow(1, b"b"))
        assert everything(store) == before


def test_interrupted_write_leaves_item(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*_: Any, **__: Any) -> None:
        raise KeyboardInterrupt

    with Embedded() as dynamodb:
        send(dynamodb, "CreateTable", **SHOP)
        send(dynamodb, "PutItem", Item=item(pk="a", sk="1", name="old"))
        with monkeypatch.context() as patched, pytest.raises(KeyboardInterrupt):
            patched.setattr(rows, "update_indexes", interrupt)
            send(dynamodb, "PutItem", Item=item(pk="a", sk="1", name="new"))
        assert send(dynamodb, "GetItem", Key=item(pk="a", sk="1"))["Item"]["name"] == {"S": "old"}
        assert send(dynamodb, "Scan")["Items"] == [item(pk="a", sk="1", name="old")]


def test_interrupted_rollback_is_finished_by_next_session(monkeypatch: pytest.MonkeyPatch) -> None:
    store = InMemoryStore()
    real = SortedMap.restore

    def interrupt(self: SortedMap, key: bytes, value: Any) -> None:
        if key == b"b":
            raise KeyboardInterrupt
        real(self, key, value)

    with monkeypatch.context() as patched:
        patched.setattr(SortedMap, "restore", interrupt)
        with pytest.raises(KeyboardInterrupt), store.writing() as session:
            for key in (b"a", b"b", b"c"):
                session.put(key, None, StoredRow(1, key))
            raise ValueError
    with store.reading() as session:
        assert list(session.items(EVERYTHING)) == []


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # one that struck in a finalizer
@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="needs timers")
def test_interrupts_at_any_moment_leave_whole_transactions_and_no_lock(monkeypatch: pytest.MonkeyPatch) -> None:
    # Python ignores an interrupt that strikes in a finalizer. pytest would format it, and be interrupted in that.
    monkeypatch.setattr(sys, "unraisablehook", lambda _: None)

    def interrupt(*_: Any) -> None:
        raise KeyboardInterrupt

    handler = signal.signal(signal.SIGALRM, interrupt)
    try:
        with Embedded() as dynamodb:
            send(dynamodb, "CreateTable", **SHOP)
            for turn in range(100):
                try:
                    signal.setitimer(signal.ITIMER_REAL, 0.002)
                    for number in itertools.count():
                        items = [item(pk=f"{turn}-{number}", sk=f"{part}", city="Bern") for part in range(3)]
                        puts = [{"Put": {"TableName": "shop", "Item": whole}} for whole in items]
                        send(dynamodb, "TransactWriteItems", TransactItems=puts)
                except KeyboardInterrupt:
                    pass
            found, cities = (send(dynamodb, "Scan", Select="COUNT", IndexName=name) for name in (None, "by-city"))
            assert found["Count"] == cities["Count"] > 0
            assert found["Count"] % 3 == 0
            table = send(dynamodb, "DescribeTable", TableName="shop")["Table"]
            assert (table["ItemCount"], table["TableSizeBytes"]) == counted(dynamodb)
    finally:
        signal.signal(signal.SIGALRM, handler)


def counted(dynamodb: Embedded) -> tuple[int, int]:
    """The number of items, and their size, as a Scan finds them."""
    items = send(dynamodb, "Scan", TableName="shop")["Items"]
    return len(items), sum(map(item_size, items))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_forked_child_sees_no_partial_write() -> None:
    store, begun, end = InMemoryStore(), threading.Event(), threading.Event()

    def write() -> None:
        with store.writing() as session:
            session.put(b"a", None, StoredRow(1, b"1"))
            begun.set()
            end.wait()

    def read() -> StoredRow | None:
        with store.reading() as session:
            return session.get(b"a")

    writer = threading.Thread(target=store.write, args=(write,))
    writer.start()
    begun.wait()
    child = os.fork()
    if child == 0:
        os._exit(0 if store.read(read) is None else 1)
    end.set()
    writer.join()
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert store.read(read) == StoredRow(1, b"1")


def test_closed_store_raises_error() -> None:
    store = InMemoryStore()
    store.close()
    with pytest.raises(StoreError, match="closed"), store.reading():
        pass
    with pytest.raises(StoreError, match="closed"), store.writing():
        pass


@pytest.mark.parametrize("how", ["closed", "left"])
def test_engine_memory_is_freed(how: str) -> None:
    dynamodb = Embedded()
    send(dynamodb, "CreateTable", **SHOP)
    send(dynamodb, "PutItem", Item=item(pk="a", sk="1"))
    with dynamodb._store.reading() as session:
        held = weakref.ref(session)
    del session
    gc.disable()  # which would find it some day
    try:
        if how == "closed":
            dynamodb.close()
        else:
            del dynamodb
        assert held() is None
    finally:
        gc.enable()


def test_a_program_that_stays_in_memory_does_not_load_sqlite() -> None:
    program = "import sys; from prejoin.engine import Embedded; Embedded().send('ListTables', b'{}'); "
    program += "print('sqlite3' in sys.modules)"
    ran = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True)
    assert ran.stdout == "False\n"
