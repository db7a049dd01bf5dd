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
    script = Path(sys.argv[0])
    if script.stem != _NAME or not script.is_file():
        return _NAME  # started from Python, such as by a test
    command_on_path = shutil.which(_NAME)
    if command_on_path and Path(command_on_path).samefile(script):
        return _NAME
    absolute, folder = script.absolute(), Path.cwd()
    return shlex.quote(str(absolute.relative_to(folder) if absolute.is_relative_to(folder) else absolute))


def runnable(text: str) -> str:
    """A text whose commands in backticks can be copied into the shell. Messages are written with plain `prejoin`.

    Applied where messages are shown, so that the packages with messages do not depend on how the command was started.
    """
    if not _COMMAND.search(text):
        return text
    name = invocation()
    return _COMMAND.sub(lambda _: f"`{name} ", text)
