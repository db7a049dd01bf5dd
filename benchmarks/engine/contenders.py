"""Contenders as processes: started, told what to do, ended."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
from dataclasses import dataclass
from types import TracebackType
from typing import Any

from .ways import Way, command, environment


class ContenderError(Exception):
    """A contender that could not be started, or did not do what it was told."""


@dataclass(frozen=True)
class Setting:
    """What all contenders of a run share."""

    scratch: str
    requests: str
    first: list[tuple[str, dict[str, Any]]]
    table: str
    users: int
    large: bool


class Contender:
    """A way, in a process of its own that waits while others are measured."""

    def __init__(self, way: Way, setting: Setting, *, cold: bool = False) -> None:
        self.way = way
        order = {
            **vars(setting),
            "engine": way.engine,
            "client": way.client,
            "cold": cold,
            "network": os.readlink("/proc/self/ns/net") if way.engine == "local" else "",
        }
        # What it says on stderr goes to a file of the run, to be quoted if it fails.
        self._said = open(f"{setting.scratch}/{way.id}.log", "w+")  # noqa: SIM115
        self._process = subprocess.Popen(
            [*command(way), json.dumps(order)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._said,
            env=environment(),
            text=True,
        )

    def wait(self) -> dict[str, Any]:
        """Its next answer."""
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            self._said.seek(0)
            said = self._said.read().strip().splitlines()
            raise ContenderError(f"{self.way.name} ended: {said[-1] if said else 'without a word'}")
        answer: dict[str, Any] = json.loads(line)
        if "failed" in answer:
            raise ContenderError(f"{self.way.name}: {answer['failed']}")
        return answer

    def tell(self, do: str, **what: Any) -> None:
        assert self._process.stdin is not None
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

    def __enter__(self) -> Contender:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.end()
