"""`TablePasses`: goes through a table page by page while the application writes, and keeps the position in its record.

A pass changes an item only if it is as it was read. After an interruption it goes on with the page that it was at;
doing a page twice does nothing more. A step repeats its pass until one of them finds nothing to do: that one has
verified the table.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from enum import Enum
from typing import TypeVar

from prejoin.migrate import codes
from prejoin.migrate.evolve.record import ChangeStatus, Hold, StepStatus, TableRecord, now
from prejoin.patterns.integrity.audit import is_race
from prejoin.patterns.integrity.findings import Finding
from prejoin.pipeline.errors import RefusedError
from prejoin.pipeline.progress import Progress
from prejoin.pipeline.throttle import WriteThrottle
from prejoin.protocol.errors import DynamoDBError
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
        self.change.done = [step_name for step_name in self.change.done if not step_name.startswith(f"{step}, pass ")]

    def pages(self, name: str) -> Iterator[list[Json]]:
        """The pages of the table, from where the pass was interrupted."""
        start = self.position(name)  # None at the beginning; empty after the last page
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

    def settle(
        self,
        name: str,
        tasks_of: Callable[[list[Json], PassOutcome], Iterable[T]],
        settle: Callable[[T], Enum | Finding | None],
        no_action: Enum,
        counts: Counter[str],
    ) -> PassOutcome:
        """Goes through the table once, and settles the tasks of each page.

        `settle` returns the action that was done, `no_action`, a finding for a person, or None if an item is not as it
        was read any more: the next pass looks at it again. `counts` counts the actions.
        """
        outcome = PassOutcome()
        for page in self.pages(name):
            for _, result in self.each(settle, tasks_of(page, outcome)):
                if isinstance(result, Finding):
                    outcome.report(result)
                elif result is not no_action:
                    outcome.changes += 1
                    if result is not None:
                        counts[result.value] += 1
                self.show(f"{self.read:,} items read, {outcome.changes:,} done")
        return outcome

    def write(self, actions: Sequence[Mapping[str, Json]]) -> bool:
        """Sends actions of a transaction, one alone as a plain call. Returns False if an item is not as it was read."""
        table = self.client.table
        bodies = [(kind, {"TableName": table, **body}) for action in actions for kind, body in action.items()]
        # A transaction consumes twice the units of a plain write, and a condition alone can only be in a transaction.
        try:
            if len(bodies) == 1 and bodies[0][0] != "ConditionCheck":
                kind, body = bodies[0]
                self.client.call(f"{kind}Item", body)
            else:
                self.client.call("TransactWriteItems", {"TransactItems": [{kind: body} for kind, body in bodies]})
        except DynamoDBError as error:
            if not is_race(error):
                raise
            return False
        return True

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
        self.change.done = [step_name for step_name in self.change.done if step_name not in (name, *parts)]
        self.change.done += [name] if is_decided else []
        self._hold.renew(force=True)
