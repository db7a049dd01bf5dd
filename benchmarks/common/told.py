"""A process that does what it is told: a line of JSON for each order and each answer."""

from __future__ import annotations

import contextlib
import json
import subprocess
from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import Any, Self


class ContenderError(Exception):
    """A contender that could not be started, or did not do what it was told."""


class Told:
    """Started, told what to do, ended. It waits while others are measured."""

    def __init__(self, name: str, command: Sequence[str], environment: Mapping[str, str], log: str) -> None:
        self._name = name
        # What it says on stderr goes to a file of the run, to be quoted if it fails.
        self._said = open(log, "w+")  # noqa: SIM115
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._said,
            env=environment,
            text=True,
        )

    def wait(self) -> dict[str, Any]:
        """Its next answer."""
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            self._said.seek(0)
            said = self._said.read().strip().splitlines()
            raise ContenderError(f"{self._name} ended: {said[-1] if said else 'without a word'}")
        answer: dict[str, Any] = json.loads(line)
        if "failed" in answer:
            raise ContenderError(f"{self._name}: {answer['failed']}")
        return answer

    def tell(self, do: str, **what: Any) -> None:
        assert self._process.stdin is not None
        with contextlib.suppress(BrokenPipeError):  # what it died of is said when its answer is waited for
            self._process.stdin.write(json.dumps({"do": do, **what}) + "\n")
            self._process.stdin.flush()

    def ask(self, do: str, **what: Any) -> dict[str, Any]:
        self.tell(do, **what)
        return self.wait()

    def end(self) -> None:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        with contextlib.suppress(BrokenPipeError):
            self._process.stdin.close()
        self._process.wait(40)
        self._process.stdout.close()
        self._said.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.end()
