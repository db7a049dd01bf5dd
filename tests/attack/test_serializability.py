"""The checker finds every kind of planted anomaly, accepts correct histories, and notices an engine that is wrong."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.attack.checker import (
    Append,
    Operation,
    Outcome,
    ReadList,
    ReadRegister,
    Transaction,
    Write,
    check,
)
from tests.attack.serializability import THREADS, anomalies

from prejoin.engine import Embedded


def transactions(*operations: Sequence[Operation], outcomes: str = "") -> list[Transaction]:
    """Transactions A, B, C … that all overlap. `outcomes`: a letter for each, `f` failed, `u` unknown, else ok."""
    named: dict[str, Outcome] = {"f": "failed", "u": "unknown"}
    return [
        Transaction(name, tuple(one), 0, 1, named.get(outcome, "ok"))
        for name, one, outcome in zip("ABCDEFGH", operations, outcomes.ljust(8), strict=False)
    ]


def in_turn(*operations: Sequence[Operation]) -> list[Transaction]:
    """The same, one after the other."""
    return [
        Transaction(one.name, one.operations, 2 * n, 2 * n + 1, one.outcome)
        for n, one in enumerate(transactions(*operations))
    ]


def x(*values: int) -> ReadList:
    return ReadList("x", values)


def y(*values: int) -> ReadList:
    return ReadList("y", values)


def to_x(value: int) -> Append:
    return Append("x", value)


def to_y(value: int) -> Append:
    return Append("y", value)


PLANTED: dict[str, tuple[str, list[Transaction]]] = {
    "writes in different orders": (
        "G0",
        transactions([to_x(1), to_y(1)], [to_x(2), to_y(2)], [x(1, 2)], [y(2, 1)]),
    ),
    "read of a failed transaction": ("G1a", transactions([to_x(1)], [x(1)], outcomes="f")),
    "read of half a transaction": ("G1b", transactions([to_x(1), to_x(2)], [x(1)], [x(1, 2)])),
    "each reads the other's write": ("G1c", transactions([to_x(1), y(1)], [to_y(1), x(1)])),
    "one key before, one after": ("G-single", transactions([to_x(1), to_y(1)], [x(1), y()])),
    "write skew": ("G2", transactions([x(), to_y(1)], [y(), to_x(1)], [x(1), y(1)])),
    "both append to the same version": ("lost update", transactions([x(), to_x(1)], [x(), to_x(2)], [x(1, 2)])),
    "both replace the same value": (
        "lost update",
        transactions([Write("r", 1)], [ReadRegister("r", 1), Write("r", 2)], [ReadRegister("r", 1), Write("r", 3)]),
    ),
    "stale read": ("real-time violation", in_turn([to_x(1)], [x(1)], [x()])),
    "acknowledged, never seen": ("real-time violation", in_turn([to_x(1)], [to_x(2)], [x(1)])),
    "acknowledged first, applied second": ("real-time violation", in_turn([to_x(1)], [to_x(2)], [x(2, 1)])),
    "stale read of a register": (
        "real-time violation",
        in_turn([Write("r", 1)], [ReadRegister("r", 1), Write("r", 2)], [ReadRegister("r", 1)]),
    ),
    "register never written, after a write": (
        "real-time violation",
        in_turn([Write("r", 1)], [ReadRegister("r", None)]),
    ),
    "registers before and after": (
        "G-single",
        transactions([Write("r", 1), Write("s", 1)], [ReadRegister("r", 1), ReadRegister("s", None)]),
    ),
    "failed write of a register": ("G1a", transactions([Write("r", 1)], [ReadRegister("r", 1)], outcomes="f")),
    "first of two values of a register": (
        "G1b",
        transactions([Write("r", 1), Write("r", 2)], [ReadRegister("r", 1)]),
    ),
    "applied twice": ("duplicate", transactions([to_x(1)], [x(1, 1)])),
    "value from nowhere": ("garbage", transactions([to_x(1)], [x(1, 7)])),
    "lists that do not fit": ("incompatible order", transactions([to_x(1)], [to_x(2)], [x(1)], [x(2)])),
    "not its own write": ("internal", transactions([to_x(1), x()])),
    "not its own register": ("internal", transactions([Write("r", 1), ReadRegister("r", None)])),
}


@pytest.mark.parametrize("planted", PLANTED)
def test_planted_anomaly_is_found_and_named(planted: str) -> None:
    name, history = PLANTED[planted]
    assert name in {anomaly.name for anomaly in check(history)}


CORRECT: dict[str, list[Transaction]] = {
    "unknown, and seen later": transactions([to_x(1)], [x()], [x(1)], outcomes="u"),
    "unknown, and never seen": [*in_turn([x()], [x()]), Transaction("U", (to_x(1),), 0, 0.5, "unknown")],
    "unknown, applied long after its answer was lost": [
        Transaction("U", (to_x(1),), 0, 1, "unknown"),
        *[Transaction(f"R{n}", (x(*seen),), n, n + 0.5) for n, seen in enumerate([(), (), (1,)], 2)],
    ],
    "unknown register": [
        Transaction("U", (Write("r", 1),), 0, 1, "unknown"),
        Transaction("R", (ReadRegister("r", None),), 2, 3),
    ],
    "failed, and never seen": transactions([to_x(1)], [x()], outcomes="f"),
    "a concurrent read may come before": transactions([to_x(1)], [x()], [x(1)]),
    "reads its own append": transactions([to_x(1), x(1)], [to_x(2), x(1, 2)]),
    "two appends at once": transactions([to_x(1), to_x(2)], [x(1, 2), to_x(3)], [x(1, 2, 3)]),
}


@pytest.mark.parametrize("correct", CORRECT)
def test_correct_history_has_no_anomaly(correct: str) -> None:
    assert check(CORRECT[correct]) == []


@st.composite
def serial_histories(draw: st.DrawFn) -> list[Transaction]:
    """Transactions executed one after the other, whose clients sent earlier and had their answers later."""
    lists: dict[str, tuple[int, ...]] = dict.fromkeys("xyz", ())
    registers: dict[str, int | None] = dict.fromkeys("rs")
    history = []
    for number in range(draw(st.integers(1, 25))):
        outcome: Outcome = draw(st.sampled_from(["ok", "ok", "ok", "failed", "unknown"]))
        takes_place = outcome == "ok" or (outcome == "unknown" and draw(st.booleans()))
        operations: list[Operation] = []
        before = dict(lists), dict(registers)
        for part, kind in enumerate(draw(st.lists(st.sampled_from(["append", "read", "write", "get"]), max_size=4))):
            key = draw(st.sampled_from("xyz" if kind in ("append", "read") else "rs"))
            value = 10 * number + part + 1
            match kind:
                case "append":
                    lists[key] += (value,)
                    operations.append(Append(key, value))
                case "read":
                    operations.append(ReadList(key, lists[key]))
                case "write":
                    registers[key] = value
                    operations.append(Write(key, value))
                case _:
                    operations.append(ReadRegister(key, registers[key]))
        if not takes_place:
            lists, registers = before
        early, late = draw(st.floats(0, 5)), draw(st.floats(0, 5))
        history.append(Transaction(f"T{number}", tuple(operations), number - early, number + late, outcome))
    return history


@given(serial_histories(), st.randoms(use_true_random=False))
def test_serial_history_has_no_anomaly(history: list[Transaction], chance: Random) -> None:
    chance.shuffle(history)
    assert check(history) == []


@given(st.lists(st.booleans(), min_size=1, max_size=12), st.data())
def test_stale_read_is_always_found(appends: list[bool], data: st.DataObject) -> None:
    """Appends and reads of one list, one after the other; then a read that lacks what was there before it."""
    there: tuple[int, ...] = (0,)
    operations: list[list[Operation]] = [[to_x(0)]]
    for number, is_append in enumerate(appends, 1):
        if is_append:
            there += (number,)
            operations.append([to_x(number)])
        else:
            operations.append([x(*there)])
    history = [Transaction(str(n), tuple(one), 2 * n, 2 * n + 1) for n, one in enumerate(operations)]
    assert check(history) == []
    stale = there[: data.draw(st.integers(0, len(there) - 1))]
    at = 2 * len(history)
    assert check([*history, Transaction("stale", (x(*stale),), at, at + 1)]) != []


# --- An engine that is wrong ----------------------------------------------------------------------------------------


class Wrong:
    """A transport that does something wrong with every fifth request of certain operations."""

    wrong_operations: tuple[str, ...] = ("UpdateItem", "TransactWriteItems")

    def __init__(self) -> None:
        self._engine = Embedded()
        self._count = 0

    def send(self, operation: str, body: bytes) -> bytes:
        self._count += operation in self.wrong_operations
        if operation in self.wrong_operations and self._count % 5 == 0:
            return self.wrong(operation, body)
        return self._engine.send(operation, body)

    def wrong(self, operation: str, body: bytes) -> bytes:
        return self._engine.send(operation, body)


class DropsWrite(Wrong):
    wrong_operations = ("TransactWriteItems",)

    def wrong(self, operation: str, body: bytes) -> bytes:
        return b"{}"


class ReadsStale(Wrong):
    """Answers some reads with an earlier answer to the same request."""

    wrong_operations = ("GetItem", "TransactGetItems")

    def __init__(self) -> None:
        super().__init__()
        self._earlier: dict[bytes, bytes] = {}

    def send(self, operation: str, body: bytes) -> bytes:
        answer = super().send(operation, body)
        if operation in self.wrong_operations:
            self._earlier.setdefault(body, answer)
        return answer

    def wrong(self, operation: str, body: bytes) -> bytes:
        return self._earlier.get(body) or self._engine.send(operation, body)


class AppliesHalf(Wrong):
    wrong_operations = ("TransactWriteItems",)

    def wrong(self, operation: str, body: bytes) -> bytes:
        request: dict[str, Any] = msgspec.json.decode(body)
        actions = request["TransactItems"]
        request["TransactItems"] = actions[: max(1, len(actions) // 2)]
        return self._engine.send(operation, msgspec.json.encode(request))


class AppliesTwice(Wrong):
    wrong_operations = ("UpdateItem",)

    def wrong(self, operation: str, body: bytes) -> bytes:
        self._engine.send(operation, body)
        return self._engine.send(operation, body)


class AppliesWhatItRefuses(Wrong):
    """Says that a transaction was cancelled, and applies its writes."""

    wrong_operations = ("TransactWriteItems",)

    def wrong(self, operation: str, body: bytes) -> bytes:
        request: dict[str, Any] = msgspec.json.decode(body)
        request["TransactItems"] = [one for one in request["TransactItems"] if "ConditionCheck" not in one]
        request.pop("ClientRequestToken", None)  # it belongs to the whole request
        self._engine.send(operation, msgspec.json.encode(request))
        return self._engine.send(operation, body)


WRONG = {
    DropsWrite: {"real-time violation"},
    ReadsStale: {"real-time violation"},
    AppliesHalf: {"G0", "G1c", "G-single", "G2"},
    AppliesTwice: {"duplicate", "internal"},
    AppliesWhatItRefuses: {"G1a", "duplicate"},
}


@pytest.mark.parametrize("engine", WRONG)
def test_wrong_engine_is_noticed(engine: type[Wrong]) -> None:
    found = {anomaly.name for seed in range(3) for anomaly in anomalies(engine(), seed)}
    assert found & WRONG[engine]


def test_right_engine_has_no_anomaly() -> None:
    assert anomalies(Wrong(), 1, threads=THREADS) == []
