"""Jobs: batches that are read and written one after the other, held to a rate, and continued after an interruption.

A job reads a batch, writes it, and saves its position. A job that was killed begins with the batch that it was writing:
so each job gives the same result if a batch is written twice.
"""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Coroutine, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypedDict, TypeVar

import msgspec

from prejoin.protocol.errors import DynamoDBError
from prejoin.table.conversation import Pause, Steps
from prejoin.table.errors import ArgumentError, Failure, PartlyWritten, Unprocessed
from prejoin.table.read.scan import Scan
from prejoin.transport.errors import TransportError

from .pace import Meter, Pace

if TYPE_CHECKING:
    from prejoin.table.client.async_client import AsyncClient
    from prejoin.table.client.client import Client

R = TypeVar("R")

BATCH_SIZE = 1_000
"""How many objects are written before the rate is looked at."""
FIRST_PART_SIZE = 25
_ATTEMPTS = 8
_THROTTLING_CODES = frozenset({"ProvisionedThroughputExceededException", "ThrottlingException", "RequestLimitExceeded"})


class BulkProgress(msgspec.Struct, frozen=True):
    """The state of a job, after a batch."""

    done: int
    """Objects that were read and dealt with, by earlier runs of the job too."""
    failed: int
    """How many of these could not be written."""
    read_units: float
    """Units that this run has consumed."""
    write_units: float
    resumed: bool
    """Whether an earlier run has done a part."""


class BulkOptions(TypedDict, total=False):
    """Options of all jobs."""

    position: str | os.PathLike[str]
    """A file for the position. The same job with the same file continues where it was interrupted."""
    progress: Callable[[BulkProgress], None]
    """Called after each batch."""
    failed: Callable[[Failure], None]
    """Called for each object that is refused, before the position is saved. Without it, PartlyWritten is raised."""
    read_units: float
    """The most read units a second."""
    write_units: float
    """The most write units a second."""


class Job(ABC):
    """The reads and writes of a job."""

    name: str
    """Identifies the job in the file with its position."""
    done = False

    @property
    @abstractmethod
    def position(self) -> Any:
        """The position after the batches that were read, as JSON."""

    @abstractmethod
    def resume(self, position: Any) -> None:
        """Continue after a position."""

    @abstractmethod
    def read(self) -> Steps[Sequence[Any]]:
        """Read the next batch, and set `done` with the last one."""

    @abstractmethod
    def write(self, batch: Sequence[Any]) -> Steps[list[Failure]]:
        """Write a part of a batch, and return what was refused. Positions are counted in this part."""

    def finish(self) -> None:  # noqa: B027 - most jobs have nothing to finish
        """Called after a batch is written, before its position is saved."""


class ObjectScan(Job):
    """A job over objects that a Scan reads: those of some classes, or all. Its position is a cursor."""

    def __init__(self, db: Client | AsyncClient, classes: Sequence[type[Any]], segments: int, *, hidden: bool) -> None:
        self._schema, self._table, cursors = db.schema, db.table, db._cursors
        self._scan_from: Callable[[str | None], Scan] = lambda after: Scan(
            db.schema, db.table, classes, segments, False, after, hidden, cursors
        )
        self._scan = self._scan_from(None)
        self._cursor: str | None = None

    @property
    def position(self) -> str | None:
        return self._cursor

    def resume(self, position: str | None) -> None:
        if position is not None:
            self._scan = self._scan_from(position)

    def read(self) -> Steps[Sequence[Any]]:
        page = yield from self._scan.next()
        self._cursor, self.done = page.cursor, self._scan.done
        return list(page.items)


class _Saved(msgspec.Struct):
    job: str
    position: Any
    done: int
    failed: int
    finished: bool


class JobRun:
    """One run of a job: its rate, its position and its progress."""

    def __init__(self, job: Job, options: BulkOptions) -> None:
        for name in ("read_units", "write_units"):
            if (rate := options.get(name)) is not None and not rate > 0:  # type: ignore[operator]
                raise ArgumentError(f"{name} is {rate}, and has to be a number of units above 0")
        self._job = job
        self._options = options
        self._reads, self._writes = Pace(options.get("read_units")), Pace(options.get("write_units"))
        self._meter = Meter(self._reads, self._writes)
        self._count = self._failed = self._written = 0
        self._file = Path(options["position"]) if "position" in options else None
        self._resumed = self._open()

    @property
    def done(self) -> bool:
        return self._job.done

    @property
    def result(self) -> BulkProgress:
        return BulkProgress(self._count, self._failed, self._reads.units, self._writes.units, self._resumed)

    def read(self) -> Steps[Sequence[Any]]:
        yield from _wait(self._reads)
        return (yield from self._meter.measure(self._job.read()))

    def write(self, batch: Sequence[Any]) -> Steps[None]:
        """Write a batch in parts that consume about half a second of the rate, and save the position."""
        failures: list[Failure] = []
        start = 0
        while start < len(batch):
            yield from _wait(self._writes)
            part = batch[start : start + self._part_size()]
            part_failures = yield from self._meter.measure(self._write_part(part))
            failures += [failure._replace(position=self._count + failure.position) for failure in part_failures]
            self._count += len(part)
            self._written += len(part)
            start += len(part)
        self._report(failures)
        self._job.finish()
        self._save()
        if progress := self._options.get("progress"):
            progress(self.result)

    def _part_size(self) -> int:
        """Return how many objects consume about half a second of the rate, by what the earlier ones have consumed."""
        rate = self._writes.rate
        if rate is None:
            return BATCH_SIZE
        units_per_object = self._writes.units / max(1, self._written)
        if not units_per_object:
            return FIRST_PART_SIZE
        return max(1, min(BATCH_SIZE, int(rate / 2 / units_per_object)))

    def _write_part(self, part: Sequence[Any]) -> Steps[list[Failure]]:
        """Write a part, and write objects again later for which the table has no capacity left."""
        failures: list[Failure] = []
        pending = list(range(len(part)))
        for attempt in range(_ATTEMPTS):
            is_last = attempt == _ATTEMPTS - 1
            try:
                batch_failures = yield from self._job.write([part[position] for position in pending])
            except (Unprocessed, DynamoDBError) as error:
                if is_last or not _is_throttled(error):
                    raise
                # It is not known which objects were written. Writing one twice gives the same items.
            else:
                throttled_positions = []
                for failure in batch_failures:
                    is_throttled = _is_throttled(failure.error)
                    if _is_general(failure.error) and (is_last or not is_throttled):
                        raise failure.error
                    position = pending[failure.position]
                    if is_throttled:
                        throttled_positions.append(position)
                    else:
                        failures.append(failure._replace(position=position))
                pending = throttled_positions
            if not pending:
                break
            yield Pause(min(0.5 * 2**attempt, 20))
        return sorted(failures, key=lambda failure: failure.position)

    def _report(self, failures: list[Failure]) -> None:
        report = self._options.get("failed")
        if failures and report is None:
            raise PartlyWritten(self._count - self._failed - len(failures), failures)
        for failure in failures:
            self._failed += 1
            report(failure)  # type: ignore[misc] # it is not None here

    def _open(self) -> bool:
        if self._file is None or not self._file.exists():
            return False
        try:
            saved_state = msgspec.json.decode(self._file.read_bytes(), type=_Saved)
        except msgspec.DecodeError as error:
            raise ArgumentError(f"{self._file} is not the position of a job: {error}") from None
        if saved_state.job != self._job.name:
            raise ArgumentError(
                f"{self._file} is the position of another job ({saved_state.job}), not of this one ({self._job.name}). "
                "Name another file, or delete it to begin again"
            )
        self._count, self._failed = saved_state.done, saved_state.failed
        self._job.resume(saved_state.position)
        self._job.done = saved_state.finished
        return True

    def _save(self) -> None:
        if self._file is None:
            return
        saved_state = _Saved(self._job.name, self._job.position, self._count, self._failed, self._job.done)
        temporary = self._file.with_name(f"{self._file.name}.tmp")
        with temporary.open("wb") as file:
            file.write(msgspec.json.encode(saved_state))
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(self._file)


def _is_throttled(error: Exception) -> bool:
    return isinstance(error, Unprocessed) or (isinstance(error, DynamoDBError) and error.code in _THROTTLING_CODES)


def _is_general(error: Exception) -> bool:
    """Return whether an error is not about one object: the table cannot be reached, or refuses the caller."""
    return isinstance(error, TransportError) or (
        isinstance(error, DynamoDBError) and error.code != "ValidationException"
    )


def _wait(pace: Pace) -> Steps[None]:
    if (delay := pace.ahead()) > 0:
        yield Pause(delay)


def run_job(
    job: Job, options: BulkOptions, source: Client | AsyncClient, target: Client | AsyncClient | None = None
) -> Any:
    """Run a job to its end: now with a Client, or as a coroutine with an AsyncClient."""
    from prejoin.table.client.client import Client

    go: Callable[..., Any] = _waiting if isinstance(source, Client) else _awaiting
    return go(JobRun(job, options), source._run, (target or source)._run)


def _waiting(run: JobRun, read: Callable[[Any], Any], write: Callable[[Any], Any]) -> BulkProgress:
    while not run.done:
        write(run.write(read(run.read())))
    return run.result


async def _awaiting(
    run: JobRun, read: Callable[[Any], Coroutine[Any, Any, Any]], write: Callable[[Any], Coroutine[Any, Any, Any]]
) -> BulkProgress:
    while not run.done:
        await write(run.write(await read(run.read())))
    return run.result
