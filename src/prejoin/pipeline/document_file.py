"""Documents that a command writes: not over another file unless told to, and nothing lost by a rewrite."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path, PurePath

from prejoin.cli.commands.check import contents
from prejoin.cli.outcome import CommandError
from prejoin.cli.status import Status
from prejoin.pipeline import codes
from prejoin.pipeline.document import DEFAULT, load
from prejoin.pipeline.output_files import check_outputs, write_file
from prejoin.workload.document.write_document import UnwritableError
from prejoin.workload.files import Form, form_of, write_text
from prejoin.workload.model import Workload


@contextmanager
def written_for(file: str, fix: str) -> Iterator[None]:
    """Says of a file what a form cannot carry, and what to do instead."""
    try:
        yield
    except UnwritableError as problem:
        raise CommandError(codes.UNWRITABLE, str(problem), fix, Status.FAILED, file) from None


def as_text(workload: Workload, form: Form, file: str = "") -> str:
    with written_for(file, "change that text, or write YAML or JSON"):
        return write_text(workload, form)


def form_for(path: Path) -> Form:
    if path.is_dir():
        fix = f"name a file in it, such as {path / DEFAULT}"
        raise CommandError(codes.MISUSED, f"{path} is a folder", fix, Status.MISUSED, str(path))
    form = form_of(path)
    if form is None:
        message = f"{path} does not end in .md, .yaml or .json, so it is not clear what to write"
        raise CommandError(codes.MISUSED, message, "name it by what it shall hold", Status.MISUSED, str(path))
    return form


def refuse_to_overwrite(path: Path) -> None:
    """Stops where something is at the path, and says what that is."""
    if path.is_dir():
        message = f"{path} is a folder"
        raise CommandError(codes.MISUSED, message, "name a file in it", Status.MISUSED, str(path))
    if path.exists() or path.is_symlink():
        message = f"{path} is there already: {_described(path)}"
        raise CommandError(
            codes.WOULD_OVERWRITE, message, "give another path, or replace it with `--force`", Status.REFUSED, str(path)
        )


def _described(path: Path) -> str:
    try:
        status = path.stat()
    except OSError:
        return "a link that leads nowhere"
    if not path.is_file():
        return "not a plain file"
    changed = datetime.fromtimestamp(status.st_mtime).strftime("%Y-%m-%d %H:%M")
    workload = load(str(path)).workload if form_of(path) else Workload()
    what = f"“{workload.title}”, {contents(workload)}; " if workload != Workload() else ""
    return f"{what}{status.st_size:,} bytes, changed {changed}"


def write(path: Path, text: str) -> None:
    """Writes a file that the user named. Its folder is taken as it is; the file itself must not be a link."""
    write_file(path.parent, PurePath(path.name), text)


def check_writable(*paths: Path) -> None:
    """Refuses files that `write` would refuse, before the first of several is written."""
    for path in paths:
        check_outputs(path.parent, [PurePath(path.name)])


def lost(before: str, after: str) -> list[str]:
    """The words of a text that another one does not have as often: what a rewrite would lose."""
    missing = Counter(re.findall(r"\w+", before)) - Counter(re.findall(r"\w+", after))
    return list(missing)


def keep_original(path: Path, before: str) -> Path:
    """Puts a text aside, beside its file, under a name that is free. Refuses if the file cannot be rewritten."""
    check_writable(path)
    number = 0
    while os.path.lexists(aside := path.with_name(f"{path.name}.orig{number or ''}")):
        number += 1
    write(aside, before)
    return aside
