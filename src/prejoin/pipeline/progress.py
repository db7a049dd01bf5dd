"""How a long step of the pipeline reports its progress: `Progress`, a protocol, and `SILENT`, which ignores reports."""

from __future__ import annotations

from typing import Protocol


class Progress(Protocol):
    """Receives reports from `design_table`, `prove_design` and `build_project`. All methods must return quickly."""

    def begin(self, activity: str, step: str = "") -> None:
        """An activity begins. A `step` (check, design, prove, test, render, write) consists of one or more."""

    def update(self, detail: str) -> None:
        """How far the current activity is."""

    def result(self, summary: str) -> None:
        """The result of the current step."""


class _Silent:
    def begin(self, activity: str, step: str = "") -> None: ...

    def update(self, detail: str) -> None: ...

    def result(self, summary: str) -> None: ...


SILENT: Progress = _Silent()
