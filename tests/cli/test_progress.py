"""The progress line: on a terminal only, after a while, and removed at the end."""

from __future__ import annotations

import io
import sys
import threading

import pytest

from prejoin.cli import progress
from prejoin.cli.progress import ProgressLine, ProgressSteps


class Screen(io.StringIO):
    def isatty(self) -> bool:
        return True


def output_of(stream: io.StringIO, patience: float, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setattr(progress, "PATIENCE", patience)
    monkeypatch.setattr(sys, "stderr", stream)
    monkeypatch.setenv("TERM", "xterm")
    with ProgressLine() as caught:
        caught.begin("choosing keys")
        caught.update("2 indexes")
    return stream.getvalue()


def test_progress_line_shows_step_and_share_and_is_erased(monkeypatch: pytest.MonkeyPatch) -> None:
    text = output_of(Screen(), 0.0, monkeypatch)
    assert "0 s, choosing keys: 2 indexes …" in text
    assert text.endswith("\r\x1b[K")


def test_quick_or_piped_commands_show_no_progress(monkeypatch: pytest.MonkeyPatch) -> None:
    assert output_of(Screen(), 3600.0, monkeypatch) == ""
    assert output_of(io.StringIO(), 0.0, monkeypatch) == ""


class Pipe(io.StringIO):
    """A pipe that says when something was written."""

    def __init__(self) -> None:
        super().__init__()
        self.written = threading.Event()

    def write(self, text: str) -> int:
        count = super().write(text)
        self.written.set()
        return count


def test_long_step_reports_in_a_pipe_while_it_works(monkeypatch: pytest.MonkeyPatch) -> None:
    pipe = Pipe()
    monkeypatch.setattr(progress, "PIPE_PATIENCE", 0.01)
    monkeypatch.setattr(sys, "stderr", pipe)
    with ProgressSteps() as steps:
        steps.begin("pass 1", "backfill")
        steps.update("120 items read")
        assert pipe.written.wait(10)
        assert "0 s: pass 1: 120 items read" in pipe.getvalue()
    assert "backfill: pass 1, " in pipe.getvalue()


def test_silent_steps_report_nothing_in_a_pipe(monkeypatch: pytest.MonkeyPatch) -> None:
    pipe = Pipe()
    monkeypatch.setattr(progress, "PIPE_PATIENCE", 0.001)
    monkeypatch.setattr(sys, "stderr", pipe)
    with ProgressSteps(silent=True) as steps:
        steps.begin("pass 1", "backfill")
        assert not pipe.written.wait(0.05)
