"""The progress line: on a terminal only, after a while, and removed at the end."""

from __future__ import annotations

import io
import sys

import pytest

from prejoin.cli import progress
from prejoin.cli.progress import ProgressLine


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
