"""Documents that a command gets as arguments: a path, `-` for standard input, or the file of the usual name."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from prejoin.pipeline.document import DOCUMENT, Document, parse_document, read_document
from prejoin.workload.document.sections import MOST_CHARACTERS
from prejoin.workload.files import Form


def load(file: str, form: Form | None = None) -> Document:
    """Reads a document from a path or, for `-`, from standard input."""
    if file == "-":
        return parse_document(sys.stdin.buffer.read(4 * MOST_CHARACTERS + 1), form or "md")
    return read_document(file, form)


def file_or_default(file: str | None) -> str:
    """The file that was given, or `access-patterns.md`."""
    if not file and not Path(DOCUMENT).is_file():
        raise click.UsageError(f"No file is given, and there is no `{DOCUMENT}` here")
    return file or DOCUMENT
