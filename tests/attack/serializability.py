"""Attack: many clients on the same items, and their history checked for strict serializability.

Threads and processes append to lists and set registers through the typed client: single updates, conditional updates,
transactions, checks, batches, and every kind of consistent read. Some answers to writes are lost on the way. `checker`
then looks for anomalies. The histories are short (a few hundred transactions on fresh items): all that a longer one
would add is time.
"""

from __future__ import annotations

import random
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from multiprocessing import get_context
from typing import Any, Literal

from prejoin import Client, ConditionFailed, Conflict, Entity, Get, Key, Schema, TransactionCancelled, appended, size
from prejoin.transport import ConnectionFailed, OutcomeUnknown, Transport

from .checker import Anomaly, Append, Operation, Outcome, ReadList, ReadRegister, Transaction, Write, check
from .lossy import Lossy
from .places import file_place, reach, served_place
from .result import Result

LISTS, REGISTERS = 4, 3
THREADS, STEPS = 3, 30


@dataclass
class Log:
    """A list to append to."""

    round: str
    name: str
    values: list[int] = field(default_factory=list)


@dataclass
class Register:
    """A value to replace; 0 before it was ever written."""

    round: str
    name: str
    value: int = 0


SCHEMA = Schema(
    Entity(Log, Key("ROUND#{round}", "LOG#{name}")), Entity(Register, Key("ROUND#{round}", "REGISTER#{name}"))
)


def run(seconds: float, seed: int) -> Result:
    """Memory with threads; a file and a server with threads and processes; a third of the time each."""
    result = Result()
    third = seconds / 3
    _attack(result, "memory", third, seed, processes=0)
    with file_place() as place:
        _attack(result, place, third, seed + 1, processes=2)
    with served_place() as place:
        _attack(result, place, third, seed + 2, processes=2)
    return result


def _attack(result: Result, place: str, seconds: float, seed: int, processes: int) -> None:
    # Processes open the place for themselves, and stay for all rounds: starting one takes longer than a round.
    context = get_context("spawn")
    transport = reach(place)
    start(transport)
    with context.Pool(processes, _open, (place,)) if processes else _nothing() as pool:
        end = time.monotonic() + seconds
        turn = 0
        while turn == 0 or time.monotonic() < end:
            name = f"{seed}-{turn}"
            fill(transport, name)
            others = pool.map_async(_work_elsewhere, [(name, n + 1) for n in range(processes)]) if pool else None
            history = work(transport, name, 0)
            for part in others.get(120) if others else ():
                history += part
            history += final(transport, name)
            result.tries += len(history)
            kind = place if place == "memory" else "http" if place.startswith("http") else "file"
            result.findings += [f"serializability on {kind}, seed {name}: {one}" for one in check(history)]
            turn += 1
    transport.close()


@contextmanager
def _nothing() -> Iterator[None]:
    yield None


_transport: Any = None


def _open(place: str) -> None:
    global _transport
    _transport = reach(place)


def _work_elsewhere(task: tuple[str, int]) -> list[Transaction]:
    return work(_transport, *task)


def start(transport: Transport) -> None:
    """Creates the table."""
    Client(SCHEMA, "attack", transport).create_table()


def fill(transport: Transport, name: str) -> None:
    """Fresh lists and registers for one round."""
    db = Client(SCHEMA, "attack", transport)
    db.put_many([*(Log(name, str(n)) for n in range(LISTS)), *(Register(name, str(n)) for n in range(REGISTERS))])


def work(
    transport: Transport, name: str, process: int, threads: int = THREADS, steps: int = STEPS
) -> list[Transaction]:
    """What several threads of one process did in one round."""
    switch = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)  # threads take turns within one request, not only between requests
    try:
        with ThreadPoolExecutor(threads) as pool:
            found = pool.map(lambda n: _work(transport, name, process * 100 + n, steps), range(threads))
            return [transaction for part in found for transaction in part]
    finally:
        sys.setswitchinterval(switch)


def _work(transport: Transport, name: str, number: int, steps: int) -> list[Transaction]:
    lossy = Lossy(transport, random.Random(f"{name}/{number}/lost"))
    history = Worker(lossy, name, number).work(steps)
    lossy.finish()
    return history


def final(transport: Transport, name: str) -> list[Transaction]:
    """One more read of everything, after all writes: it shows what was lost."""
    worker = Worker(transport, name, 9999)
    worker.read_together(everything=True)
    return worker.history


def anomalies(transport: Transport, seed: int, threads: int = 1, steps: int = 60) -> list[Anomaly]:
    """One round on any transport, checked; for tests with transports that are wrong on purpose."""
    start(transport)
    fill(transport, str(seed))
    return check([*work(transport, str(seed), 0, threads, steps), *final(transport, str(seed))])


class Worker:
    """One thread: does random operations and writes down what it did and saw."""

    def __init__(self, transport: Transport, name: str, number: int) -> None:
        self._db = Client(SCHEMA, "attack", transport)
        self._round = name
        self._number = number
        self._random = random.Random(f"{name}/{number}")
        self._values = iter(range(number * 100_000 + 1, (number + 1) * 100_000))
        self._lists: dict[str, tuple[int, ...]] = {}
        """The last version of each list that this worker saw."""
        self._registers: dict[str, int] = {}
        self.history: list[Transaction] = []

    def work(self, steps: int) -> list[Transaction]:
        actions: list[Callable[[], None]] = [
            self.append_together,
            self.append_together,
            self.append_one,
            self.append_to_seen,
            self.append_where_another_is_as_seen,
            self.append_in_vain,
            self.exchange_registers,
            self.set_registers_in_a_batch,
            self.read_together,
            self.read_together,
            self.read_one,
            self.read_many,
            self.query,
        ]
        for _ in range(steps):
            self._random.choice(actions)()
        return self.history

    # --- Lists ------------------------------------------------------------------------------------------------------

    def append_together(self) -> None:
        """TransactWriteItems with an append to several lists, of one or two values each."""
        names = self._some(LISTS, 1, 3)
        writes = {name: [next(self._values) for _ in range(self._random.choice([1, 1, 2]))] for name in names}
        operations = [Append(f"log {name}", value) for name, values in writes.items() for value in values]
        with self._recorded(operations), self._db.transaction() as tx:
            for name, values in writes.items():
                with tx.update(Log, round=self._round, name=name) as log:
                    log.values = appended(log.values, values)

    def append_one(self) -> None:
        """UpdateItem that returns nothing, the old item or the new one."""
        name, value = self._one(LISTS), next(self._values)
        key = f"log {name}"
        returning: Literal["old", "new"] | None = self._random.choice([None, "old", "new"])
        operations: list[Operation] = [Append(key, value)]
        with self._recorded(operations):
            updating = self._db.update(Log, round=self._round, name=name, returning=returning)
            with updating as log:
                log.values = appended(log.values, [value])
            if returning is not None:
                seen = ReadList(key, tuple(updating.result.values))
                operations.insert(0 if returning == "old" else 1, seen)

    def append_to_seen(self) -> None:
        """UpdateItem on condition that the list is as this worker saw it."""
        name = self._one(LISTS)
        seen, value = self._seen(name), next(self._values)
        with (
            self._recorded([ReadList(f"log {name}", seen), Append(f"log {name}", value)]),
            self._db.update(Log, round=self._round, name=name, where=lambda log: log.values == list(seen)) as log,
        ):
            log.values = appended(log.values, [value])

    def append_where_another_is_as_seen(self) -> None:
        """A transaction that checks one list and appends to another: shows write skew."""
        one, two = self._some(LISTS, 2, 2)
        seen, value = self._seen(one), next(self._values)
        with self._recorded([ReadList(f"log {one}", seen), Append(f"log {two}", value)]), self._db.transaction() as tx:
            tx.check(Log, round=self._round, name=one, where=lambda log: log.values == list(seen))
            with tx.update(Log, round=self._round, name=two) as log:
                log.values = appended(log.values, [value])

    def append_in_vain(self) -> None:
        """A transaction whose last condition is false, so that nothing of it may be seen."""
        one, two, three = self._some(LISTS, 3, 3)
        operations = [Append(f"log {name}", next(self._values)) for name in (one, two)]
        with self._recorded(operations), self._db.transaction() as tx:
            for name, operation in zip((one, two), operations, strict=True):
                with tx.update(Log, round=self._round, name=name) as log:
                    log.values = appended(log.values, [operation.value])
            tx.check(Log, round=self._round, name=three, where=lambda log: size(log.values) > 100_000)

    # --- Registers --------------------------------------------------------------------------------------------------

    def exchange_registers(self) -> None:
        """One or two registers replaced on condition that they are as seen: alone or in a transaction."""
        names = self._some(REGISTERS, 1, 2)
        exchange = {name: (self._registers.get(name, 0), next(self._values)) for name in names}
        operations: list[Operation] = []
        for name, (old, new) in exchange.items():
            operations += [_read_register(name, old), Write(f"register {name}", new)]
        with self._recorded(operations):
            if len(names) == 1:
                (name,) = names
                old, new = exchange[name]
                with self._db.update(Register, round=self._round, name=name, value=old) as register:
                    register.value = new
            else:
                with self._db.transaction() as tx:
                    for name, (old, new) in exchange.items():
                        with tx.update(Register, round=self._round, name=name, value=old) as register:
                            register.value = new
            self._registers |= {name: new for name, (_, new) in exchange.items()}

    def set_registers_in_a_batch(self) -> None:
        """BatchWriteItem: each put is a transaction of its own."""
        values = {name: next(self._values) for name in self._some(REGISTERS, 1, 2)}
        start = time.monotonic()
        outcome = _outcome(lambda: self._db.put_many([Register(self._round, n, v) for n, v in values.items()]))
        for name, value in values.items():
            self._add([Write(f"register {name}", value)], start, outcome)

    # --- Reads ------------------------------------------------------------------------------------------------------

    def read_together(self, everything: bool = False) -> None:
        """TransactGetItems: all as of one moment."""
        lists = [str(n) for n in range(LISTS)] if everything else self._some(LISTS, 1, LISTS)
        registers = [str(n) for n in range(REGISTERS)] if everything else self._some(REGISTERS, 1, REGISTERS)
        gets = [Get(Log, round=self._round, name=name) for name in lists]
        start = time.monotonic()
        try:
            found: Sequence[Any] = self._db.get_together(
                *gets, *(Get(Register, round=self._round, name=name) for name in registers)
            )
        except Conflict:
            return
        self._add([self._saw(one) for one in found], start, "ok")

    def read_one(self) -> None:
        cls = self._random.choice([Log, Register])
        name = self._one(LISTS if cls is Log else REGISTERS)
        start = time.monotonic()
        self._add([self._saw(self._db.get(cls, round=self._round, name=name, consistent=True))], start, "ok")

    def read_many(self) -> None:
        """BatchGetItem: each item is a read of its own."""
        keys = [{"round": self._round, "name": name} for name in self._some(LISTS, 1, LISTS)]
        start = time.monotonic()
        for one in self._db.get_many(Log, keys, consistent=True):
            self._add([self._saw(one)], start, "ok")

    def query(self) -> None:
        """Query of all lists: DynamoDB promises each item, not all at one moment."""
        start = time.monotonic()
        for one in self._db.query(Log, round=self._round, consistent=True):
            self._add([self._saw(one)], start, "ok")

    def _seen(self, name: str) -> tuple[int, ...]:
        if name not in self._lists or self._random.random() < 0.5:
            start = time.monotonic()
            self._add([self._saw(self._db.get(Log, round=self._round, name=name, consistent=True))], start, "ok")
        return self._lists[name]

    def _saw(self, found: Log | Register | None) -> Operation:
        assert found is not None, "an item that was there before the round has gone"
        if isinstance(found, Log):
            self._lists[found.name] = tuple(found.values)
            return ReadList(f"log {found.name}", tuple(found.values))
        self._registers[found.name] = found.value
        return _read_register(found.name, found.value)

    # --- The history ------------------------------------------------------------------------------------------------

    @contextmanager
    def _recorded(self, operations: Sequence[Operation]) -> Iterator[None]:
        """Writes down a transaction with its outcome; the block may still add to its operations."""
        start = time.monotonic()
        outcome: Outcome = "ok"
        try:
            yield
        except (ConditionFailed, TransactionCancelled, Conflict, ConnectionFailed):
            outcome = "failed"
        except OutcomeUnknown:
            outcome = "unknown"
        self._add(operations, start, outcome)

    def _add(self, operations: Sequence[Operation], start: float, outcome: Outcome) -> None:
        name = f"T{self._number}.{len(self.history)}"
        self.history.append(Transaction(name, tuple(operations), start, time.monotonic(), outcome))

    def _one(self, count: int) -> str:
        return str(self._random.randrange(count))

    def _some(self, count: int, least: int, most: int) -> list[str]:
        return self._random.sample([str(n) for n in range(count)], self._random.randint(least, most))


def _read_register(name: str, value: int) -> ReadRegister:
    return ReadRegister(f"register {name}", value or None)


def _outcome(write: Callable[[], object]) -> Outcome:
    try:
        write()
    except (Conflict, ConnectionFailed):
        return "failed"
    except OutcomeUnknown:
        return "unknown"
    return "ok"
