"""`ShadowReads`: the application reads from the database as before, and compares with the table in the background."""

from __future__ import annotations

import functools
import inspect
import queue
import random
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ParamSpec, TypeVar

from prejoin.migrate.verify.compare import canonical

P = ParamSpec("P")
R = TypeVar("R")


@dataclass(frozen=True, slots=True)
class ShadowDifference:
    """A read that had another answer from the table."""

    name: str
    """The function that was called."""
    arguments: tuple[Any, ...]
    named: Mapping[str, Any]
    old: Any
    """The answer of the database, in the form that was compared."""
    new: Any
    error: Exception | None = None
    """Why there is no answer of the table."""


@dataclass(slots=True)
class ShadowCounts:
    """The numbers of compared reads, by result."""

    equal: int = 0
    different: int = 0
    failed: int = 0
    """Reads of the table that raised an error."""
    dropped: int = 0
    """Reads that were not compared, because too many were waiting."""


class ShadowReads:
    """Compares reads of the database with reads of the table, without delaying or failing the application.

    >>> shadow = ShadowReads(report=print)
    >>> @shadow.compare(lambda id: {"id": id, "name": "Ann"})
    ... def user(id):
    ...     return {"id": id, "name": "Ann"}
    >>> user(7), shadow.wait(), shadow.counts.equal
    ({'id': 7, 'name': 'Ann'}, True, 1)

    The decorated function returns its own result. The other is called in a thread, with the same arguments, for a
    `share` of the calls. Where both differ, both are called again after `settle` seconds, because a follower is a
    moment behind. What differs still is passed to `report`. If `most` reads are waiting, further ones are not compared.
    """

    def __init__(
        self,
        report: Callable[[ShadowDifference], object],
        *,
        share: float = 1.0,
        settle: float = 2.0,
        most: int = 1000,
        workers: int = 1,
    ) -> None:
        self.counts = ShadowCounts()
        self._report = report
        self._share = share
        self._settle = settle
        self._waiting: queue.Queue[Callable[[], None]] = queue.Queue(most)
        self._lock = threading.Lock()
        for _ in range(workers):
            threading.Thread(target=self._work, name="prejoin-shadow", daemon=True).start()

    def compare(
        self,
        new: Callable[..., Any],
        *,
        old_form: Callable[[Any], Any] = lambda answer: answer,
        new_form: Callable[[Any], Any] = lambda answer: answer,
    ) -> Callable[[Callable[P, R]], Callable[P, R]]:
        """Decorates a function that reads the database. `new` reads the same from the table.

        `old_form` and `new_form` bring both answers into the same form: dicts, lists and plain values. Numbers are
        compared by value, sets and the keys of dicts without order, None as if it were absent.
        """

        def decorate(old: Callable[P, R]) -> Callable[P, R]:
            if inspect.iscoroutinefunction(old) or inspect.iscoroutinefunction(new):
                raise TypeError("shadow reads compare functions, not coroutines: decorate what they call")

            @functools.wraps(old)
            def read_both(*arguments: P.args, **keywords: P.kwargs) -> R:
                answer = old(*arguments, **keywords)
                if random.random() < self._share:  # noqa: S311 - a sample
                    form = canonical(old_form(answer))  # now: the caller may change its answer

                    def read_old() -> Any:
                        return canonical(old_form(old(*arguments, **keywords)))

                    def read_new() -> Any:
                        return canonical(new_form(new(*arguments, **keywords)))

                    call = (old.__qualname__, arguments, keywords)
                    self._submit(lambda: self._compare(call, form, read_old, read_new))
                return answer

            return read_both

        return decorate

    def wait(self, timeout: float = 60.0) -> bool:
        """Waits until all reads are compared. Returns whether they are."""
        end = time.monotonic() + timeout
        with self._waiting.all_tasks_done:
            while self._waiting.unfinished_tasks:
                seconds = end - time.monotonic()
                if seconds <= 0:
                    break
                self._waiting.all_tasks_done.wait(seconds)
            return not self._waiting.unfinished_tasks

    def _submit(self, task: Callable[[], None]) -> None:
        try:
            self._waiting.put_nowait(task)
        except queue.Full:
            with self._lock:
                self.counts.dropped += 1

    def _work(self) -> None:
        while True:
            task = self._waiting.get()
            try:
                task()
            finally:
                self._waiting.task_done()

    def _compare(
        self,
        call: tuple[str, tuple[Any, ...], Mapping[str, Any]],
        form: Any,
        read_old: Callable[[], Any],
        read_new: Callable[[], Any],
    ) -> None:
        old_answer, new_answer, error = form, None, None
        try:
            new_answer = read_new()
            if new_answer != old_answer:
                time.sleep(self._settle)
                old_answer, new_answer = read_old(), read_new()
        except Exception as problem:  # of either side: the application must not notice
            error = problem
        is_equal = error is None and new_answer == old_answer
        with self._lock:
            self.counts.failed += error is not None
            self.counts.equal += is_equal
            self.counts.different += error is None and not is_equal
        if not is_equal:
            self._report_difference(ShadowDifference(*call, old_answer, new_answer, error))

    def _report_difference(self, difference: ShadowDifference) -> None:
        try:
            self._report(difference)
        except Exception:  # a report that fails must not end the thread
            with self._lock:
                self.counts.failed += 1
