"""A worker process, controlled by lines of JSON."""

from __future__ import annotations

import contextlib
import json
import subprocess
from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import Any, Self


class ContenderError(Exception):
    """A contender failed."""


class WorkerProcess:
    """A worker process. It sleeps while others are measured."""

    def __init__(self, name: str, command: Sequence[str], environment: Mapping[str, str], log: str) -> None:
        self._name = name
        # A file, because a full pipe would block the process.
        self._errors = open(log, "w+")  # noqa: SIM115
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            env=environment,
            text=True,
        )

    def wait(self) -> dict[str, Any]:
        """The next response."""
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            self._errors.seek(0)
            lines = self._errors.read().strip().splitlines()
            raise ContenderError(f"{self._name} ended: {lines[-1] if lines else 'without a message'}")
        response: dict[str, Any] = json.loads(line)
        if "failed" in response:
            raise ContenderError(f"{self._name}: {response['failed']}")
        return response

    def tell(self, do: str, **what: Any) -> None:
        assert self._process.stdin is not None
        with contextlib.suppress(BrokenPipeError):  # `wait` reports why the process ended
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
        self._errors.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.end()
