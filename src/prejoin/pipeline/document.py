"""Documents as the command gets them: by a path, or by standard input; read, with their text at hand to quote from."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path

import click

from prejoin.cli.outcome import Source
from prejoin.diagnostics import Diagnostic, Severity
from prejoin.workload import codes
from prejoin.workload.document.read_document import MOST_CHARACTERS
from prejoin.workload.files import Form, form_of, read_file, read_text
from prejoin.workload.model import Workload
from prejoin.workload.read_result import Places, Reading

FORMS: tuple[Form, ...] = ("md", "yaml", "json")
DEFAULT = "access-patterns.md"
"""The document's name, where none is given."""


@dataclass(frozen=True, slots=True)
class Document:
    file: str
    text: str
    reading: Reading

    @property
    def workload(self) -> Workload:
        return self.reading.workload

    @property
    def unusable(self) -> bool:
        """Nothing could be read at all."""
        return any(d.code in {codes.UNREADABLE.id, codes.DATA.id} for d in self.reading.diagnostics)

    def source(self, severities: frozenset[Severity] = frozenset(Severity)) -> Source:
        return Source(self.file, self.text, tuple(d for d in self.reading.diagnostics if d.severity in severities))


def load(file: str, form: Form | None = None) -> Document:
    """The document of a path or, for `-`, of standard input. What cannot be read is a message in it."""
    path = Path(file)
    if file == "-" or form is not None:
        return _given(file, path, form or "md")
    if path.is_dir():
        return Document(file, "", _unreadable(f"{file} is a folder", f"name a file in it, such as {path / DEFAULT}"))
    if form_of(path) is None and path.is_file():
        fix = "name it by what it holds, or say it: `--as md`, `--as yaml` or `--as json`"
        return Document(file, "", _unreadable(f"{file} is not .md, .yaml or .json", fix))
    reading = read_file(path)
    try:
        text = path.read_bytes().decode("utf-8", "replace") if path.is_file() else ""
    except OSError:
        text = ""
    return Document(file, text, reading)


def _given(file: str, path: Path, form: Form) -> Document:
    name = "standard input" if file == "-" else file
    most = 4 * MOST_CHARACTERS
    try:
        if file == "-":
            data = sys.stdin.buffer.read(most + 1)
        else:
            with path.open("rb") as stream:
                data = stream.read(most + 1)
        text = data.decode("utf-8")
    except UnicodeDecodeError as problem:
        return Document(file, "", _unreadable(f"{name} is not UTF-8 at byte {problem.start}", "save it as UTF-8"))
    except OSError as problem:
        message = f"{name} cannot be read: {problem.strerror or problem}"
        return Document(file, "", _unreadable(message, "check the path and its permissions"))
    if len(data) > most:
        return Document(file, "", _unreadable(f"{name} is larger than {most:,} bytes", "see `prejoin explain PJ100`"))
    return Document(file, text, read_text(text, form))


def _unreadable(message: str, fix: str) -> Reading:
    found: tuple[Diagnostic, ...] = (codes.UNREADABLE.at(None, message, fix),)
    return Reading(Workload(), found, Places())


def files_or_default(files: tuple[str, ...]) -> tuple[str, ...]:
    """The files given, or the document of the usual name where there is one."""
    if files:
        return files
    if Path(DEFAULT).is_file():
        return (DEFAULT,)
    raise click.UsageError(f"No file is given, and there is no `{DEFAULT}` here")
