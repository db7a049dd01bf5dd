"""Documents of access patterns in files: read with their diagnostics, and written without losing anything."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path, PurePath

from prejoin.diagnostics import Diagnostic, Severity, has_errors
from prejoin.pipeline import codes
from prejoin.pipeline.errors import InputError, InvalidArgumentError, PipelineError, RefusedError, Source
from prejoin.pipeline.output_files import check_outputs, write_file
from prejoin.pipeline.summary import contents
from prejoin.workload.codes import DATA, UNREADABLE
from prejoin.workload.document.sections import MOST_CHARACTERS
from prejoin.workload.document.write_document import UnwritableError
from prejoin.workload.files import Form, form_of, read_file, read_text, write_text
from prejoin.workload.model import Workload
from prejoin.workload.read_result import Places, WorkloadReading
from prejoin.workload.shorthand import write_out

FORMS: tuple[Form, ...] = ("md", "yaml", "json")
DOCUMENT = "access-patterns.md"
"""The usual name of a document."""
DESIGN = "table-design"
"""How the name of a design's file begins."""
_HEADING = re.compile(r"^##+ *(?:Table Configuration|(?:Global )?Secondary Indexes|Key Design)", re.MULTILINE | re.I)
_SLOTS = re.compile(r'^(?:slots:|[^\S\n]*+"slots"\s*+:)', re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Document:
    """A document as it was read: its workload, its text to quote from, and its diagnostics."""

    file: str
    """The path as it was given; `-` is standard input, and empty a workload that comes from no file."""
    text: str
    reading: WorkloadReading

    @classmethod
    def of(cls, workload: Workload) -> Document:
        """A document for a workload that was made in Python."""
        return cls("", "", WorkloadReading(write_out(workload), (), Places()))

    @property
    def workload(self) -> Workload:
        return self.reading.workload

    @property
    def diagnostics(self) -> tuple[Diagnostic, ...]:
        return self.reading.diagnostics

    @property
    def unusable(self) -> bool:
        """Whether nothing could be read at all."""
        return any(d.code in {UNREADABLE.id, DATA.id} for d in self.diagnostics)

    def source(self, *severities: Severity) -> Source:
        """The document with its diagnostics; of these severities, if some are given."""
        return Source(self.file, self.text, self.diagnostics).only(*(severities or Severity))

    def require_no_errors(self, note: str) -> None:
        """Raises an `InputError` with the errors and warnings, if there is an error."""
        if has_errors(self.diagnostics):
            raise InputError(self.source(Severity.ERROR, Severity.WARNING), note=note)


# --- Reading --------------------------------------------------------------------------------------------------------


def read_document(path: str | os.PathLike[str], form: Form | None = None) -> Document:
    """Reads a document in Markdown, YAML or JSON; its form is taken from the file's name, unless it is given.

    A file that cannot be read is a diagnostic of the result, too, not an exception.
    """
    file, path = os.fspath(path), Path(path)
    if form is not None:
        try:
            with path.open("rb") as stream:
                return parse_document(stream.read(4 * MOST_CHARACTERS + 1), form, file)
        except OSError as problem:
            message = f"{file} cannot be read: {problem.strerror or problem}"
            return _unreadable(file, message, "check the path and its permissions")
    if path.is_dir():
        return _unreadable(file, f"{file} is a folder", f"name a file in it, such as {path / DOCUMENT}")
    if form_of(path) is None and path.is_file():
        fix = "use one of these suffixes, or pass `--as md`, `--as yaml` or `--as json`"
        return _unreadable(file, f"{file} is not .md, .yaml or .json", fix)
    if path.is_file() and is_design(path):
        return _unreadable(
            file, f"{file} is a table design", f"pass its access patterns, such as {path.with_name(DOCUMENT)}"
        )
    reading = read_file(path)
    return Document(file, text_of(path), reading)


def parse_document(data: bytes, form: Form = "md", file: str = "-") -> Document:
    """A document from bytes, such as those of standard input (`-`)."""
    name, maximum_bytes = "standard input" if file == "-" else file, 4 * MOST_CHARACTERS
    if len(data) > maximum_bytes:
        return _unreadable(file, f"{name} is larger than {maximum_bytes:,} bytes", "see `prejoin explain PJ100`")
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as problem:
        return _unreadable(file, f"{name} is not UTF-8 at byte {problem.start}", "save it as UTF-8")
    return Document(file, text, read_text(text, form))


def _unreadable(file: str, message: str, fix: str) -> Document:
    return Document(file, "", WorkloadReading(Workload(), (UNREADABLE.at(None, message, fix),), Places()))


def text_of(path: Path) -> str:
    """The text of a file, to quote from; empty if it cannot be read."""
    try:
        return path.read_bytes().decode("utf-8", "replace") if path.is_file() else ""
    except OSError:
        return ""


def is_design(file: str | os.PathLike[str]) -> bool:
    """Whether a file holds a table design and not access patterns, by its name or its contents."""
    path = Path(file)
    if path.name.startswith(DESIGN):
        return True
    if os.fspath(file) == "-" or not path.is_file():
        return False
    text = text_of(path)
    if form_of(path) == "md":
        return bool(_HEADING.search(text)) and "## Entities" not in text
    return bool(_SLOTS.search(text))


# --- Writing --------------------------------------------------------------------------------------------------------


@contextmanager
def report_unwritable(file: str, fix: str) -> Iterator[None]:
    """Turns an `UnwritableError` of a writer into a `PipelineError` about a file."""
    try:
        yield
    except UnwritableError as problem:
        raise PipelineError(codes.UNWRITABLE, str(problem), fix, file) from None


def document_text(workload: Workload, form: Form, file: str = "") -> str:
    """A workload as the text of a document. `file` is named if it cannot be written in this form."""
    with report_unwritable(file, "change that text, or write YAML or JSON"):
        return write_text(workload, form)


def output_form(path: Path) -> Form:
    """The form of a file that is to be written, from its name."""
    if path.is_dir():
        fix = f"name a file in it, such as {path / DOCUMENT}"
        raise InvalidArgumentError(codes.MISUSED, f"{path} is a folder", fix, str(path))
    form = form_of(path)
    if form is None:
        message = f"{path} does not end in .md, .yaml or .json, so its form is not known"
        raise InvalidArgumentError(codes.MISUSED, message, "give it one of these endings", str(path))
    return form


def refuse_to_overwrite(path: Path) -> None:
    """Raises a `RefusedError` that describes what is at the path, if something is."""
    if path.is_dir():
        raise InvalidArgumentError(codes.MISUSED, f"{path} is a folder", "name a file in it", str(path))
    if path.exists() or path.is_symlink():
        fix = "give another path, or replace it with `--force`"
        raise RefusedError(codes.WOULD_OVERWRITE, f"{path} already exists: {_path_text(path)}", fix, str(path))


def _path_text(path: Path) -> str:
    try:
        status = path.stat()
    except OSError:
        return "a broken link"
    if not path.is_file():
        return "not a regular file"
    change_time = datetime.fromtimestamp(status.st_mtime).strftime("%Y-%m-%d %H:%M")
    workload = read_document(path).workload if form_of(path) else Workload()
    contents_text = f"“{workload.title}”, {contents(workload)}; " if workload != Workload() else ""
    return f"{contents_text}{status.st_size:,} bytes, changed {change_time}"


def write(path: Path, text: str) -> None:
    """Writes a file that the user named. Its folder may be reached by links; the file itself must not be a link."""
    write_file(path.parent, PurePath(path.name), text)


def check_writable(*paths: Path) -> None:
    """Raises the error that `write` would raise for one of the files, before the first is written."""
    for path in paths:
        check_outputs(path.parent, [PurePath(path.name)])


def lost_words(before: str, after: str) -> list[str]:
    """The words of a text that its rewrite does not have as often, such as those of a comment."""
    missing = Counter(re.findall(r"\w+", before)) - Counter(re.findall(r"\w+", after))
    return list(missing)


def save_original(path: Path, before: str) -> Path:
    """Saves the old text of a file beside it, as `NAME.orig`, and returns that path."""
    check_writable(path)
    number = 0
    while os.path.lexists(aside := path.with_name(f"{path.name}.orig{number or ''}")):
        number += 1
    write(aside, before)
    return aside
