"""`TablePasses`: goes through a table page by page while the application writes, and keeps the position in its record.

A pass changes an item only if it is as it was read. After an interruption it goes on with the page that it was at;
doing a page twice does nothing more. A step repeats its pass until one of them finds nothing to do: that one has
verified the table.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import TypeVar

from prejoin.migrate import codes
from prejoin.migrate.evolve.record import ChangeStatus, Hold, StepStatus, TableRecord, now
from prejoin.patterns.integrity.findings import Finding
from prejoin.pipeline.errors import RefusedError
from prejoin.pipeline.progress import Progress
from prejoin.pipeline.throttle import WriteThrottle
from prejoin.table.client.client import Client
from prejoin.table.codec.values import Json
from prejoin.table.schema.schema import Schema

T = TypeVar("T")
R = TypeVar("R")

WORKERS = 8
"""Requests that are under way at the same time, if the table is on a server."""
MOST_PASSES = 20
"""How often the table is gone through until nothing is wrong. Two are usual; more if items change all the time."""
MOST_SHOWN = 1000
"""Findings that are kept; all are counted."""


@dataclass
class PassOutcome:
    """What one pass over the table did, and what it leaves to a person."""

    changes: int = 0
    """Changes that were made, or that have to be tried again."""
    undecided: list[Finding] = field(default_factory=list)
    """Findings that no program can decide about, at most a thousand."""
    undecided_count: int = 0
    """All of these findings."""

    def report(self, finding: Finding) -> None:
        """Adds a finding that no program can decide about."""
        self.undecided_count += 1
        if len(self.undecided) < MOST_SHOWN:
            self.undecided.append(finding)

    def include(self, other: PassOutcome) -> None:
        """Adds the findings of another pass."""
        self.undecided = [*self.undecided, *other.undecided][:MOST_SHOWN]
        self.undecided_count += other.undecided_count


class TablePasses:
    """The passes of one process over a table."""

    def __init__(
        self, client: Client, throttle: WriteThrottle, progress: Progress, record: TableRecord, hold: Hold
    ) -> None:
        self.client = client
        self.read = 0
        """Items that were read."""
        self._throttle = throttle
        self._progress = progress
        self._record = record
        self._hold = hold
        self._workers = WORKERS if getattr(client._transport, "concurrent", False) else 1

    @property
    def change(self) -> ChangeStatus:
        """The change that is under way."""
        assert self._record.change is not None  # until it is finished
        return self._record.change

    def client_of(self, schema: Schema) -> Client:
        """A client of the same table with another schema."""
        return Client(schema, self.client.table, self.client._transport, observe=self._throttle.observe)

    # --- Passes -----------------------------------------------------------------------------------------------------

    def repeat(self, step: str, run_pass: Callable[[str], PassOutcome]) -> PassOutcome:
        """Runs a pass again and again until it finds nothing to do. Returns the outcome of the last one."""
        for number in range(1, MOST_PASSES + 1):
            name = f"{step}, pass {number}"
            if name in self.change.done:
                continue
            self.begin(step, f"pass {number}")
            # A pass that was interrupted does not know what its first part found.
            is_whole = self.position(name) is None
            if is_whole:
                self.save(name, None, 0)  # so that `status` shows it
            outcome = run_pass(name)
            self.finish(name)
            if is_whole and not outcome.changes:
                self._forget_passes(step)
                return outcome
        self._forget_passes(step)
        self._hold.renew(force=True)
        message = f"items changed again and again during {MOST_PASSES} passes; the table is not verified"
        raise RefusedError(codes.STEP_MISSING, message, "run the command again, best at a time with fewer writes")

    def _forget_passes(self, step: str) -> None:
        """Lets the next run of a step look at the whole table again."""
        self.change.done = [one for one in self.change.done if not one.startswith(f"{step}, pass ")]

    def pages(self, name: str) -> Iterator[list[Json]]:
        """The pages of the table, from where the pass was interrupted."""
        start = self.position(name)
        while start != {}:
            begin = {"ExclusiveStartKey": start} if start else {}
            page = self.client.call("Scan", {"ConsistentRead": True, **begin})
            self.read += len(page["Items"])
            yield page["Items"]
            start = page.get("LastEvaluatedKey") or {}
            self.save(name, start, len(page["Items"]))

    def each(self, work: Callable[[T], R], tasks: Iterable[T]) -> Iterator[tuple[T, R]]:
        """Does each task, several at the same time if the table is on a server; yields each with its result.

        If the hold is lost, the tasks that have not begun are dropped.
        """

        def do(task: T) -> R:
            self._throttle.wait()
            return work(task)

        if self._workers == 1:
            for task in tasks:
                # Before the task: this process may have slept, and another one may work by now.
                self._hold.renew()
                yield task, do(task)
            return
        tasks = list(tasks)
        self._hold.renew()
        with ThreadPoolExecutor(self._workers) as threads:
            for task, result in zip(tasks, threads.map(do, tasks), strict=True):
                yield task, result
                self._hold.renew()

    def begin(self, step: str, activity: str = "") -> None:
        """Shows that a step begins."""
        self._progress.begin(activity or step, step)

    def show(self, text: str) -> None:
        """Shows how far the pass is."""
        self._progress.update(text)

    # --- State ------------------------------------------------------------------------------------------------------

    def position(self, name: str) -> Json | None:
        """The key after which a pass goes on; None at the beginning."""
        return self.change.step.position if self.change.step.name == name else None

    def save(self, name: str, position: Json | None, read: int) -> None:
        """Saves how far a pass came, and how many items of its last page it has read."""
        is_new = self.change.step.name != name
        began = now() if is_new else self.change.step.began
        already_read = 0 if is_new else self.change.step.read
        self.change.step = StepStatus(name, position, already_read + read, began)
        self._hold.renew(force=True)

    def finish(self, name: str, parts: tuple[str, ...] = (), *, is_decided: bool = True) -> None:
        """Records a step as finished, unless it left something undecided. The next run does its parts again."""
        self.change.step = StepStatus()
        self.change.done = [one for one in self.change.done if one not in (name, *parts)]
        self.change.done += [name] if is_decided else []
        self._hold.renew(force=True)
