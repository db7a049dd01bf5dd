"""The command as this user can type it: `prejoin` where the shell finds it, else its path, `.venv/bin/prejoin`."""

from __future__ import annotations

import re
import shlex
import shutil
import sys
from pathlib import Path

_NAME = "prejoin"
_COMMAND = re.compile(rf"`{_NAME} (?=[a-z-])")


def invocation() -> str:
    """The words before a command's name, quoted for a shell."""
    called = Path(sys.argv[0])
    if called.stem != _NAME or not called.is_file():
        return _NAME  # started from Python, such as by a test
    found = shutil.which(_NAME)
    if found and Path(found).samefile(called):
        return _NAME
    absolute, here = called.absolute(), Path.cwd()
    return shlex.quote(str(absolute.relative_to(here) if absolute.is_relative_to(here) else absolute))


def runnable(text: str) -> str:
    """A text whose commands in backticks can be copied into the shell. Messages are written with plain `prejoin`.

    Applied where messages are shown, so that the packages with messages do not depend on how the command was started.
    """
    if not _COMMAND.search(text):
        return text
    name = invocation()
    return _COMMAND.sub(lambda _: f"`{name} ", text)
