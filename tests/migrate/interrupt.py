"""Kills a process before each line of some functions in turn, like `kill -9`, but at the same places in every run."""

from __future__ import annotations

import os
import shutil
import sys
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

from sqlalchemy.orm import Session, sessionmaker

from prejoin.migrate.migration import Migration

KILLED = 9


def interrupted(
    functions: tuple[Any, ...], fresh: Callable[[], None], step: Callable[[], object], every: int = 1
) -> Iterator[int]:
    """Runs a step in processes that are killed before its first line in these functions, its second, and so on.

    Yields after each kill. `fresh` prepares each attempt. It ends when the step completes. `every` skips lines.
    """
    codes = {function.__code__ for function in functions}
    line = 1 - every
    while True:
        line += every
        fresh()
        child = os.fork()
        if child == 0:
            _run(step, codes, line)
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        assert status in (0, KILLED), status
        if status == 0:
            return
        yield line


def restoring(files: tuple[str, ...], migration: Migration, sessions: sessionmaker[Session]) -> Callable[[], None]:
    """Returns a function that puts files and folders of the current folder back as they are now."""
    before = Path("before")
    before.mkdir()

    def close() -> None:
        migration.source.engine.dispose()
        sessions.kw["bind"].dispose()

    def restore() -> None:
        close()
        for name in files:
            shutil.rmtree(name) if Path(name).is_dir() else Path(name).unlink(missing_ok=True)
        for kept in before.iterdir():
            (shutil.copytree if kept.is_dir() else shutil.copy)(kept, kept.name)

    close()
    for name in files:
        if Path(name).exists():
            (shutil.copytree if Path(name).is_dir() else shutil.copy)(name, before / name)
    return restore


def _run(step: Callable[[], object], codes: set[CodeType], line: int) -> None:
    left = line

    def each_line(frame: FrameType, event: str, argument: Any) -> Any:
        nonlocal left
        if event == "line":
            left -= 1
            if left == 0:
                os._exit(KILLED)
        return each_line

    sys.settrace(lambda frame, event, argument: each_line if frame.f_code in codes else None)
    try:
        step()
    except BaseException:
        traceback.print_exc()
        os._exit(1)
    os._exit(0)
