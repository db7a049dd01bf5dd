"""All attacks: name, function, one line. A function is `run(seconds, seed) -> Result`, imported when it is run."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import cast

from .result import Result


@dataclass(frozen=True)
class Attack:
    name: str
    function: str
    """`module:function`, below `tests.attack`."""
    description: str = ""
    counts: str = ""
    """What one try is."""

    def load(self) -> Callable[[float, int], Result]:
        module, _, function = self.function.partition(":")
        return cast(Callable[[float, int], Result], getattr(import_module(f"tests.attack.{module}"), function))


ATTACKS = (
    Attack("kills", "kills:run", "writers killed by SIGKILL on one file, then every operation accounted for", "kills"),
    Attack(
        "server kills",
        "server_kills:run",
        "`prejoin serve` killed while clients write; what each was told is so",
        "kills",
    ),
    Attack(
        "serializability",
        "serializability:run",
        "threads and processes on the same items; histories checked for strict serializability",
        "transactions",
    ),
    Attack("transfers", "transfers:run", "money moved between accounts by several processes; the sum holds", "moves"),
    Attack("patterns", "patterns:run", "uniqueness, counters, copies, records, versions … under races", "writes"),
    Attack("cancellations", "cancellations:run", "asyncio tasks cancelled at random points", "tasks"),
    Attack("keys", "keys:run", "hostile values in keys, compared with brute force", "values"),
    Attack("documents", "documents:run", "mutated documents: messages, never a traceback", "documents"),
    Attack("cursors", "cursors:run", "forged, cut and mutated cursors", "cursors"),
    Attack("requests", "requests:run", "hostile HTTP requests to a server", "requests"),
    Attack(
        "operations",
        "operations:run",
        "hostile requests of every operation of the engine, also behind HTTP and in bad weather",
        "requests",
    ),
    Attack("readers", "readers:run", "time for each byte of every reader", "inputs"),
    Attack("faults", "faults:run", "a proxy with TLS that breaks every step of a request", "calls"),
    Attack("forks", "file_store:run_forks", "processes that fork with a file open", "forks"),
    Attack("signals", "file_store:run_signals", "interrupts during reads and writes of a file", "signals"),
    Attack(
        "bit flips",
        "file_store:run_bit_flips",
        "bits flipped in a file that is read with `verify_all`: told, never served",
        "flips",
    ),
)


def attack(name: str) -> Attack:
    for one in ATTACKS:
        if one.name == name:
            return one
    raise KeyError(f"there is no attack {name!r}; there are {', '.join(one.name for one in ATTACKS)}")
