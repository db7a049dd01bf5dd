"""Split a document by table: one table against several, and a document for each table."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path, PurePath

from prejoin.design.solver.program.integer_program import InfeasibleError
from prejoin.design.whatif.comparison import TableComparison, compare_tables
from prejoin.design.whatif.conflicts import conflicts
from prejoin.design.whatif.split import needs_own_table
from prejoin.pipeline import codes
from prejoin.pipeline.design.decisions import with_decisions
from prejoin.pipeline.design.design_table import ContradictionError, read_decisions
from prejoin.pipeline.document import DOCUMENT, Document, document_text, refuse_to_overwrite
from prejoin.pipeline.errors import InvalidArgumentError
from prejoin.pipeline.output_files import check_outputs, make_folder, write_file
from prejoin.pipeline.progress import SILENT, Progress
from prejoin.workload.model import Pin


def split_document(
    document: Document, decisions: Sequence[str | Pin] = (), *, progress: Progress = SILENT
) -> TableComparison:
    """Solves and prices one table, and a table for each need of the document and of `decisions`.

    Raises an `InvalidArgumentError` if there is no need, and a `ContradictionError` if decisions leave no design.
    """
    workload = with_decisions(document.workload, read_decisions(decisions, document.workload))
    if not needs_own_table(workload):
        message = f"{document.file} does not say which entities need a table of their own"
        fix = "write `Payment needs its own restore` under Decisions, or pass it with `--decide`"
        raise InvalidArgumentError(codes.NO_NEEDS, message, fix, document.file)
    progress.begin("designing one table and several")
    try:
        return compare_tables(workload)
    except InfeasibleError:
        raise ContradictionError(document, conflicts(workload, None)) from None


def split_files(comparison: TableComparison) -> dict[PurePath, str]:
    """The document of each table, by its path: `payment/access-patterns.md`."""
    files: dict[PurePath, str] = {}
    for number, part in enumerate(comparison.split.parts, 1):
        name = re.sub(r"\W", "-", part.name.lower())
        path = PurePath(name, DOCUMENT)
        path = PurePath(f"{name}-{number}", DOCUMENT) if path in files else path
        files[path] = document_text(part.workload, "md")
    return files


def write_split(comparison: TableComparison, folder: Path, *, force: bool = False) -> tuple[Path, ...]:
    """Writes the document of each table below a folder, and returns their paths.

    Raises a `RefusedError` before the first is written, if one of them exists and `force` is not given.
    """
    files = split_files(comparison)
    for path in () if force else files:
        refuse_to_overwrite(folder / path)
    check_outputs(folder, files)
    make_folder(folder)
    for path, text in files.items():
        write_file(folder, path, text)
    return tuple(folder / path for path in files)
