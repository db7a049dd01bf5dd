"""Attacks on the file store: forks, interrupts at any moment, and bits flipped in the file.

Each function runs for about the given time, and returns how much it tried and what it found wrong.
"""

from __future__ import annotations

import json
import multiprocessing
import os
import random
import signal
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
import warnings
from collections.abc import Callable
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

from prejoin.engine import Embedded, OpenError
from prejoin.protocol.errors import DynamoDBError

from .result import Result

TABLE: dict[str, Any] = {
    "TableName": "attacked",
    "BillingMode": "PAY_PER_REQUEST",
    "AttributeDefinitions": [
        {"AttributeName": name, "AttributeType": kind} for name, kind in {"pk": "S", "sk": "N", "g": "S"}.items()
    ],
    "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}, {"AttributeName": "sk", "KeyType": "RANGE"}],
    "GlobalSecondaryIndexes": [
        {
            "IndexName": "by-g",
            "KeySchema": [{"AttributeName": "g", "KeyType": "HASH"}],
            "Projection": {"ProjectionType": "ALL"},
        }
    ],
}
Items = dict[tuple[str, str], dict[str, Any]]


def send(engine: Embedded, operation: str, **members: Any) -> Any:
    return json.loads(engine.send(operation, json.dumps({"TableName": "attacked", **members}).encode()))


def item(pk: str, sk: int, **more: str) -> dict[str, Any]:
    return {"pk": {"S": pk}, "sk": {"N": str(sk)}, **{name: {"S": text} for name, text in more.items()}}


def put(engine: Embedded, pk: str, sk: int) -> None:
    send(engine, "PutItem", Item=item(pk, sk, g=f"g{sk % 5}"))


def every_item(engine: Embedded, index: str | None = None) -> Items:
    found: Items = {}
    start: dict[str, Any] | None = None
    while True:
        answer = send(engine, "Scan", IndexName=index, ExclusiveStartKey=start)
        found.update({(one["pk"]["S"], one["sk"]["N"]): one for one in answer["Items"]})
        start = answer.get("LastEvaluatedKey")
        if start is None:
            return found


def wrong_in(path: Path, acknowledged: set[tuple[str, str]]) -> list[str]:
    """What is wrong with a file that nobody uses any more: lost writes, indexes that disagree, damage."""
    with closing(sqlite3.connect(path)) as file:
        (checked,) = file.execute("PRAGMA integrity_check").fetchone()
    found = [] if checked == "ok" else [f"integrity_check: {checked}"]
    with Embedded(path) as engine:
        items, entries = every_item(engine), every_item(engine, "by-g")
        found += engine.verify()
    if items != entries:
        found.append(f"the index has {len(entries)} entries of {len(items)} items")
    if lost := acknowledged - set(items):
        found.append(f"lost {len(lost)} of {len(acknowledged)} acknowledged writes: {sorted(lost)[:3]}")
    return found


# Forks


def run_forks(seconds: float, seed: int) -> Result:
    """Fork in every way with an engine open, while threads and other processes use the file; look for lost writes."""
    result, chance, end = Result(), random.Random(seed), time.monotonic() + seconds
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*fork.*", category=DeprecationWarning)
        while True:
            for scenario in (_workers, _daemon, _beside_threads, _grandchildren, _pool, _preexec):
                with tempfile.TemporaryDirectory() as folder:
                    path = Path(folder) / "forked.db"
                    acknowledged = scenario(path, chance, result)
                    result.tries += 1
                    result.findings += [f"{scenario.__name__}: {text}" for text in wrong_in(path, acknowledged)]
                if time.monotonic() > end and result.tries >= 6:
                    return result


class _Child:
    """A forked process that does some work and says which writes were acknowledged."""

    def __init__(self, work: Callable[[Callable[[str, int], None]], None]) -> None:
        reader, writer = os.pipe()
        self._reader = reader
        self.pid = os.fork()
        if self.pid == 0:
            status = 1
            try:
                os.close(reader)
                signal.alarm(60)
                work(lambda pk, sk: os.write(writer, f"{pk} {sk}\n".encode()) and None)
                status = 0
            except BaseException as error:
                with suppress(OSError):
                    os.write(2, f"{type(error).__name__}: {error}\n".encode())
            finally:
                os._exit(status)
        os.close(writer)

    def acknowledged(self, result: Result, what: str) -> set[tuple[str, str]]:
        with open(self._reader, encoding="utf-8") as said:
            lines = said.read().splitlines()
        _, status = os.waitpid(self.pid, 0)
        if status:
            result.findings.append(f"{what}: a child ended with {os.waitstatus_to_exitcode(status)}")
        return {(pk, sk) for pk, sk in (line.split() for line in lines)}


def _new(path: Path) -> tuple[Embedded, set[tuple[str, str]]]:
    engine = Embedded(path)
    send(engine, "CreateTable", **TABLE)
    put(engine, "parent", 0)
    return engine, {("parent", "0")}


def _writes(engine: Embedded, name: str, number: int) -> Callable[[Callable[[str, int], None]], None]:
    def work(say: Callable[[str, int], None]) -> None:
        for at in range(number):
            put(engine, name, at)
            say(name, at)

    return work


def _other_process(path: Path) -> None:
    program = (
        "import sys; from prejoin.engine import Embedded\n"
        "with Embedded(sys.argv[1]) as e: e.send('Scan', b'{\"TableName\":\"attacked\"}')"
    )
    subprocess.run([sys.executable, "-c", program, str(path)], check=True, timeout=60)


def _workers(path: Path, chance: random.Random, result: Result) -> set[tuple[str, str]]:
    """A server that loads the application before it forks its workers; the parent writes, or leaves first."""
    engine, done = _new(path)
    children = [_Child(_writes(engine, f"w{number}", 15)) for number in range(chance.randint(2, 4))]
    if chance.random() < 0.5:
        for at in range(1, 6):
            put(engine, "parent", at)
            done.add(("parent", str(at)))
    engine.close()
    _other_process(path)
    for child in children:
        done |= child.acknowledged(result, "workers")
    return done


def _daemon(path: Path, chance: random.Random, result: Result) -> set[tuple[str, str]]:
    """A process that opens, forks and leaves without closing, while others open and close the file."""

    def start(say: Callable[[str, int], None]) -> None:
        engine, _ = _new(path)
        say("parent", 0)
        if os.fork() == 0:
            for at in range(20):
                put(engine, "daemon", at)
                say("daemon", at)
                time.sleep(chance.random() * 0.01)
            os._exit(0)

    child = _Child(start)
    time.sleep(0.1)
    done: set[tuple[str, str]] = set()
    with suppress(subprocess.CalledProcessError):  # the table may not be there yet
        _other_process(path)
    done |= child.acknowledged(result, "daemon")
    return done


def _beside_threads(path: Path, chance: random.Random, result: Result) -> set[tuple[str, str]]:
    """Forks while other threads of the parent write and read."""
    engine, done = _new(path)
    stop = threading.Event()

    def write(name: str) -> None:
        at = 0
        while not stop.is_set():
            put(engine, name, at)
            done.add((name, str(at)))
            send(engine, "Scan", IndexName="by-g")
            at += 1

    threads = [threading.Thread(target=write, args=(f"t{number}",)) for number in range(2)]
    for thread in threads:
        thread.start()
    children = []
    for number in range(5):
        time.sleep(chance.random() * 0.01)
        children.append(_Child(_writes(engine, f"c{number}", 3)))
    found = [child.acknowledged(result, "beside threads") for child in children]
    stop.set()
    for thread in threads:
        thread.join(60)
        if thread.is_alive():
            result.findings.append("beside threads: a thread of the parent hangs")
    engine.close()
    return done.union(*found)


def _grandchildren(path: Path, chance: random.Random, result: Result) -> set[tuple[str, str]]:
    engine, done = _new(path)

    def work(say: Callable[[str, int], None]) -> None:
        _writes(engine, "child", 3)(say)
        if os.fork() == 0:
            _writes(engine, "grandchild", 8)(say)
            os._exit(0)
        _writes(engine, "after", 3)(say)

    child = _Child(work)
    if chance.random() < 0.5:
        engine.close()
    done |= child.acknowledged(result, "grandchildren")
    engine.close()
    return done


def _written_by_pool(arguments: tuple[int, int]) -> tuple[str, str]:
    number, at = arguments
    put(_POOLED[0], f"pool{number}", at)
    return f"pool{number}", str(at)


_POOLED: list[Embedded] = []


def _pool(path: Path, chance: random.Random, result: Result) -> set[tuple[str, str]]:
    engine, done = _new(path)
    _POOLED[:] = [engine]
    with multiprocessing.get_context("fork").Pool(3) as pool:
        jobs = [(number, at) for number in range(3) for at in range(8)]
        waiting = pool.map_async(_written_by_pool, jobs)
        put(engine, "parent", 1)
        done |= set(waiting.get(timeout=60)) | {("parent", "1")}
    _POOLED.clear()
    engine.close()
    return done


def _preexec(path: Path, chance: random.Random, result: Result) -> set[tuple[str, str]]:
    engine, done = _new(path)
    for at in range(3):
        subprocess.run(["true"], preexec_fn=lambda: None, check=True, timeout=60)
        put(engine, "spawned", at)
        done.add(("spawned", str(at)))
    engine.close()
    return done


# Interrupts


class Interrupted(KeyboardInterrupt):
    """What a signal raises, wherever the program is. asyncio lets only a KeyboardInterrupt through."""


def run_signals(seconds: float, seed: int, path: Path | None = None) -> Result:
    """Interrupt reads, writes and transactions at any moment. At once another connection must be able to write; in the
    end a write must work and a read must be current.
    """
    result, chance, end = Result(), random.Random(seed), time.monotonic() + seconds
    inside = False

    def interrupt(*_: Any) -> None:
        if inside:
            raise Interrupted

    # Python ignores an interrupt that strikes in a finalizer. pytest would format it, and be interrupted in that.
    before, hook = signal.signal(signal.SIGALRM, interrupt), sys.unraisablehook
    sys.unraisablehook = lambda _: None
    try:
        while time.monotonic() < end or result.tries == 0:
            with tempfile.TemporaryDirectory() as folder:
                path = Path(folder) / "interrupted.db"
                engine, acknowledged = _new(path)
                whole: dict[str, int] = {}
                for number in range(200):
                    work = chance.choice([_one_write, _transaction, _read, _read, _scan])
                    signal.setitimer(signal.ITIMER_REAL, chance.random() ** 2 * 0.002 + 0.00002, 0.003)
                    try:
                        inside = True
                        while True:
                            work(engine, f"s{number}", acknowledged, whole)
                    except Interrupted:
                        inside = False
                    finally:
                        inside = False
                    result.tries += 1
                    signal.setitimer(signal.ITIMER_REAL, 0)
                    if _is_locked(path):
                        result.findings.append(f"after signal {number} of seed {seed} the file stays locked")
                result.findings += _after_interrupts(engine, path, acknowledged, whole)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
        sys.unraisablehook = hook
    return result


def _is_locked(path: Path) -> bool:
    """Whether another connection has to wait for a write to end."""
    with closing(sqlite3.connect(path, timeout=0, isolation_level=None)) as other:
        try:
            other.execute("BEGIN IMMEDIATE")
        except sqlite3.OperationalError:
            return True
        other.execute("ROLLBACK")
    return False


Done = set[tuple[str, str]]


def _one_write(engine: Embedded, name: str, acknowledged: Done, whole: dict[str, int]) -> None:
    at = random.randrange(1000)
    put(engine, name, at)
    acknowledged.add((name, str(at)))


def _transaction(engine: Embedded, name: str, acknowledged: Done, whole: dict[str, int]) -> None:
    number = whole[name] = whole.get(name, 0) + 1
    items = [item(f"tx-{name}-{number}", at, g="g1") for at in range(3)]
    send(engine, "TransactWriteItems", TransactItems=[{"Put": {"TableName": "attacked", "Item": one}} for one in items])
    acknowledged.update((one["pk"]["S"], one["sk"]["N"]) for one in items)


def _read(engine: Embedded, name: str, acknowledged: Done, whole: dict[str, int]) -> None:
    send(
        engine,
        "Query",
        KeyConditionExpression="pk = :p",
        ExpressionAttributeValues={":p": {"S": "parent"}},
        ConsistentRead=True,
    )
    send(engine, "GetItem", Key=item("parent", 0), ConsistentRead=True)


def _scan(engine: Embedded, name: str, acknowledged: Done, whole: dict[str, int]) -> None:
    send(engine, "Scan", IndexName="by-g", Limit=150)


def _after_interrupts(engine: Embedded, path: Path, acknowledged: Done, whole: dict[str, int]) -> list[str]:
    found: list[str] = []
    program = (
        "import sys; from prejoin.engine import Embedded\n"
        "with Embedded(sys.argv[1]) as e: e.send('PutItem', sys.argv[2].encode())"
    )
    body = json.dumps({"TableName": "attacked", "Item": item("other", 1, g="g1")})
    try:
        subprocess.run([sys.executable, "-c", program, str(path), body], check=True, timeout=30)
        if "Item" not in send(engine, "GetItem", Key=item("other", 1), ConsistentRead=True):
            found.append("a consistent read does not see the write of another process")
    except subprocess.SubprocessError:
        found.append("another process cannot write: a lock is left behind")
    begun = time.monotonic()
    put(engine, "last", 1)
    if time.monotonic() - begun > 4:
        found.append("a write had to wait for a lock that is left behind")
    items = every_item(engine)
    for name, number in whole.items():
        for at in range(1, number + 1):
            parts = [(f"tx-{name}-{at}", str(part)) in items for part in range(3)]
            if any(parts) and not all(parts):
                found.append(f"half a transaction: {name} {at}")
    engine.close()
    left = [suffix for suffix in ("-wal", "-shm") if Path(f"{path}{suffix}").exists()]
    if left:
        found.append(f"a connection is still open after close: {left}")
    return found + wrong_in(path, acknowledged | {("last", "1"), ("other", "1")})


# Bits flipped


def run_bit_flips(seconds: float, seed: int, *, verify_all: bool = True) -> Result:
    """Flip one bit of a file at a time: every answer is right, or an error, or `verify` tells of the damage.

    A finding is an answer that is wrong where neither the answer nor, if an item is missing, `verify` says so.
    """
    result, chance, end = Result(), random.Random(seed), time.monotonic() + seconds
    with tempfile.TemporaryDirectory() as folder:
        original, path = Path(folder) / "whole.db", Path(folder) / "flipped.db"
        with Embedded(original) as engine:
            send(engine, "CreateTable", **TABLE)
            for at in range(60):
                send(engine, "PutItem", Item=item(f"p{at % 7}", at, g=f"g{at % 5}", text=f"{at} " * 40))
            expected = every_item(engine)
        content = original.read_bytes()
        while time.monotonic() < end or result.tries < 20:
            position, bit = chance.randrange(len(content)), chance.randrange(8)
            flipped = bytearray(content)
            flipped[position] ^= 1 << bit
            path.write_bytes(flipped)
            for suffix in ("-wal", "-shm"):
                Path(f"{path}{suffix}").unlink(missing_ok=True)
            result.tries += 1
            for text in _wrong_answers(path, expected, verify_all=verify_all):
                result.findings.append(f"byte {position}, bit {bit}: {text}")
    return result


def _wrong_answers(path: Path, expected: Items, *, verify_all: bool) -> list[str]:
    found: list[str] = []
    missing: list[str] = []
    try:
        engine = Embedded(path, verify_all=verify_all)
    except OpenError as error:
        return [] if str(path) in str(error) else [f"an error without the path: {error}"]
    with engine:
        for key, whole in expected.items():
            try:
                answer = send(engine, "GetItem", Key={"pk": whole["pk"], "sk": whole["sk"]}).get("Item")
            except DynamoDBError as error:
                if error.code == "ResourceNotFoundException":
                    missing.append("the table is not found")
                elif error.code != "InternalServerError" or "The engine failed" in error.message:
                    found.append(f"GetItem: {error}")
                continue
            if answer is None:
                missing.append(f"GetItem of {key} finds nothing")
            elif answer != whole:
                found.append(f"GetItem of {key} is wrong")
        for index in (None, "by-g"):
            try:
                items = every_item(engine, index)
            except DynamoDBError as error:
                if error.code == "ResourceNotFoundException":
                    missing.append("the table is not found")
                elif error.code != "InternalServerError" or "The engine failed" in error.message:
                    found.append(f"Scan: {error}")
                continue
            if verify_all and any(expected.get(key) != one for key, one in items.items()):
                found.append(f"Scan of {index} gives a wrong item")
            if len(items) < len(expected):
                missing.append(f"Scan of {index} gives {len(items)} items")
        if missing and not engine.verify():
            found += missing
    return found
