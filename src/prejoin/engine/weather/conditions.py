"""Conditions of bad weather, as a test, the command line and the admin endpoint give them."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from prejoin.engine.operations import OPERATIONS

EVERY_OPERATION = "*"
"""Stands for every operation."""
_MAX_DELAY = 3600
"""Seconds: no client waits longer."""


class Conditions(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """The bad weather of some tables. By default nothing is bad.

    A chance is a number from 0 (never) to 1 (always). What happens by chance follows from `seed`.
    """

    tables: tuple[str, ...] = ()
    """The tables that it is about; all, if there is none."""
    seed: int = 0
    faults: int | None = None
    """After this number of errors, lost responses, conflicts and shortened batches the weather is good."""
    read_lag: float = 0.0
    """Seconds by which reads of a table lag, unless they are consistent."""
    index_lag: float | dict[str, float] = 0.0
    """Seconds by which reads of global indexes lag, of all or by name."""
    page_items: int | None = None
    """The number of items in a page of Query and Scan."""
    conflicts: float = 0.0
    """The chance that a transaction, or the write of an item, meets another transaction."""
    unprocessed: float = 0.0
    """The chance that an item of a batch is not processed."""
    errors: dict[str, dict[str, float]] = {}
    """For an operation, the chance of each error: `{"PutItem": {"InternalServerError": 0.1}}`."""
    lost: dict[str, float] = {}
    """For an operation, the chance that it is performed and its response is lost."""
    delays: dict[str, float] = {}
    """Seconds that an operation takes longer, at most an hour."""
    throttling: bool = False
    """Whether requests are throttled that exceed the throughput of a table, an index or a partition."""
    partitions: int = 1
    """The number of partitions of a table or index. Each has an equal share of its throughput."""
    partition_reads: float = 3000.0
    partition_writes: float = 1000.0
    """The units that a partition performs in a second, whatever the throughput of its table."""
    burst_seconds: float = 300.0
    """The seconds for which unused throughput is kept. At first all of it is there."""
    adaptive: bool = True
    """Whether a busy partition may use the throughput of the others, and a busy partition key gets a partition of its
    own.
    """

    def __post_init__(self) -> None:
        self._check_chances()
        self._check_seconds()
        counts: dict[str, float | None] = {
            "partitions": self.partitions,
            "page_items": self.page_items,
            "faults": self.faults,
            "partition_reads": self.partition_reads,
            "partition_writes": self.partition_writes,
        }
        for name, count in counts.items():
            if count is not None and count <= 0:
                raise ValueError(f"{name} is at least 1, not {count}")
        _check_operations((*self.errors, *self.lost, *self.delays))

    def _check_chances(self) -> None:
        chances = {"conflicts": self.conflicts, "unprocessed": self.unprocessed}
        chances |= {f"lost[{operation!r}]": chance for operation, chance in self.lost.items()}
        for operation, errors in self.errors.items():
            chances |= {f"errors[{operation!r}][{code!r}]": chance for code, chance in errors.items()}
            # At most one error happens to a request: one random number decides which.
            if sum(errors.values()) > 1:
                raise ValueError(f"the chances of the errors of {operation} add up to more than 1")
        for name, chance in chances.items():
            if not 0 <= chance <= 1:
                raise ValueError(f"{name} is a chance from 0 to 1, not {chance}")

    def _check_seconds(self) -> None:
        seconds = {"read_lag": self.read_lag, "burst_seconds": self.burst_seconds}
        seconds |= self.index_lag if isinstance(self.index_lag, dict) else {"index_lag": self.index_lag}
        seconds |= {f"delays[{operation!r}]": time for operation, time in self.delays.items()}
        for name, time in seconds.items():
            # Not `time < 0`, which is false for NaN.
            if not time >= 0:
                raise ValueError(f"{name} is a number of seconds, not {time}")
        for operation, time in self.delays.items():
            if time > _MAX_DELAY:
                raise ValueError(f"delays[{operation!r}] is at most {_MAX_DELAY} seconds, not {time}")

    @property
    def lags(self) -> bool:
        """Whether any read lags."""
        return self.read_lag > 0 or self.index_lag not in (0, {})

    @property
    def longest_lag(self) -> float:
        by_index = list(self.index_lag.values()) if isinstance(self.index_lag, dict) else [self.index_lag]
        return max([self.read_lag, *by_index])


def _check_operations(names: Iterable[str]) -> None:
    for name in names:
        if name != EVERY_OPERATION and name not in OPERATIONS:
            raise ValueError(f'{name!r} is no operation of DynamoDB; "{EVERY_OPERATION}" is every operation')


_decoder = msgspec.json.Decoder(Conditions | list[Conditions])


def read_conditions(text: str | bytes) -> list[Conditions]:
    """The conditions in a JSON document: one object, or a list of objects for different tables. Raise ValueError.

    >>> read_conditions('{"index_lag": 2}')[0].index_lag
    2.0
    """
    try:
        conditions = _decoder.decode(text)
    except msgspec.MsgspecError as error:
        raise ValueError(f"the weather cannot be read: {error}") from None
    return conditions if isinstance(conditions, list) else [conditions]
