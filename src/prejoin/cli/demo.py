"""`prejoin demo`: a document, its table, every access pattern answered on the embedded engine."""

from __future__ import annotations

import sys
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import click

from prejoin.cli.check import contents
from prejoin.cli.command import command
from prejoin.cli.examples import DOCUMENT, folder, installed
from prejoin.cli.outcome import Line, Outcome, Source
from prejoin.cli.output import table, width_of
from prejoin.cli.show import coded, shown
from prejoin.cli.sources import load
from prejoin.cli.status import Status
from prejoin.design import codes
from prejoin.design.files import design_beside, read_design
from prejoin.design.map_patterns import map_patterns
from prejoin.design.model import Design
from prejoin.diagnostics import Diagnostic, has_errors
from prejoin.engine import Embedded
from prejoin.proof.answer import Answer
from prejoin.proof.bench import Bench
from prejoin.proof.run import run_all
from prejoin.workload.model import Workload

Row = tuple[str, ...]
_LONGEST = 64
_SHORTEST = 10
"""A key past this is cut in the middle; on a narrow terminal earlier."""


@command("demo")
@click.argument("document", required=False, type=click.Path())
def demo(document: str | None) -> Outcome:
    """Run a document: its table is made, filled with data, and every access pattern is answered and checked.

    Without a DOCUMENT it is the shop. The keys come from the table-design.yaml beside the document.
    """
    file = document or _near(folder() / "shop" / DOCUMENT)
    read = load(file, None)
    if has_errors(read.reading.diagnostics):
        return Outcome(Status.FAILED, sources=(read.source(),), notes=("the document has errors; nothing was run",))
    workload = read.workload
    path = design_beside(Path(file))
    design, problems = _design(path, workload)
    if design is None:
        return Outcome(Status.FAILED, sources=(Source(str(path), "", problems),))
    started = time.perf_counter()
    design = map_patterns(design, workload)
    with Embedded() as engine:
        answers = list(run_all(Bench.ready(workload, design, engine, datetime.now(UTC))))
    took = time.perf_counter() - started
    failed = any(not answer.right for answer in answers)
    return Outcome(
        Status.FAILED if failed else Status.FINE,
        result={"document": file, "table": design.table, "keys": _keys(design), "patterns": _figures(answers)},
        page=_page(workload, design, answers, file, took),
    )


def _near(path: Path) -> str:
    """A path as it is seen from here."""
    return str(path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path)


def _design(path: Path, workload: Workload) -> tuple[Design | None, tuple[Diagnostic, ...]]:
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as problem:
        fix = "write the keys into a table-design.yaml beside the document, as examples/shop does"
        return None, (
            codes.NO_DESIGN.at(None, f"{path.name} cannot be read: {getattr(problem, 'strerror', problem)}", fix),
        )
    return read_design(text, workload)


def _keys(design: Design) -> list[dict[str, Any]]:
    return [
        {"entity": item.entity, "copy": item.copy, "slot": f.slot, "pk": " ".join(f.pk), "sk": " ".join(f.sk)}
        for item in design.items
        for f in item.facets
    ]


def _figures(answers: list[Answer]) -> list[dict[str, Any]]:
    return [
        {
            "id": a.pattern,
            "description": a.description,
            "calls": [{"operation": c.operation, "index": c.index, "key": c.key, "units": c.units} for c in a.calls],
            "items": a.items,
            "units": a.units,
            "right": a.right,
            "wrong": a.wrong,
            "problem": a.problem,
            "remedy": a.remedy,
        }
        for a in answers
    ]


def _page(workload: Workload, design: Design, answers: list[Answer], file: str, took: float) -> list[Line]:
    indexes = f"one table and {len(design.indexes)} indexes" if design.indexes else "one table"
    lines: list[Line] = [
        ((workload.title, "bold"), f": {contents(workload)}, from ", (shown(file), "bold"), f"; {indexes}."),
        (),
    ]
    keys: list[Row] = [(k["entity"], k["slot"], k["pk"], k["sk"]) for k in _keys(design)]
    lines += _titled(("Entity", "In", "Partition key", "Sort key"), keys, ("bold", "cyan", "", ""))
    lines.append(())
    header = ("Pattern", "", "Operation", "Index", "Key", "Items", "Units", "Right")
    rows = _fitted(header, [_row(a) for a in answers], width_of(sys.stdout))
    lines += _titled(header, rows, ("bold", "", "green", "cyan", "", "", "", ""))
    lines.append(())
    for answer in (a for a in answers if not a.right):
        lines.append(((f"{answer.pattern}: ", "bold red"), answer.wrong or answer.problem))
        if answer.remedy:
            lines.append(("  fix: ", answer.remedy))
    right = sum(a.right for a in answers)
    lines += [
        (
            (f"{right} of {len(answers)} patterns answered", "bold green" if right == len(answers) else "bold red"),
            f" on the embedded engine, each compared with the data itself; in {took * 1000:.0f} ms.",
        ),
        coded(_next(file)),
    ]
    return lines


def _next(file: str) -> str:
    """What to try now."""
    if installed() and Path(file).is_relative_to(folder()):
        return "`prejoin init --example shop` writes this document here; change a pattern in it and `prejoin demo` it."
    return f"Change a pattern in {shown(file)} and run this again; `prejoin check {shown(file)}` tells what it lacks."


def _titled(header: Row, rows: list[Row], styles: tuple[str, ...]) -> list[Line]:
    first, *rest = table([header, *rows], styles)
    title = tuple((piece if isinstance(piece, str) else piece[0], "dim") for piece in first)
    return [title, *rest]


def _row(answer: Answer) -> Row:
    if answer.problem:
        return answer.pattern, answer.description, "not served" if answer.remedy else "not run", "", "", "", "", "✗"
    first, more = next(iter(answer.calls), None), len(answer.calls)
    if first is None:
        return answer.pattern, answer.description, "(TTL)", "", "", "", "", "✓"
    times = f" ×{more}" if more > 1 else ""
    return (
        answer.pattern,
        answer.description,
        first.operation + times,
        first.index or "-",
        _cut(first.key, _LONGEST),
        str(answer.items),
        f"{answer.units:g}",
        "✓" if answer.right else "✗",
    )


def _fitted(header: Row, rows: list[Row], width: int | None) -> list[Row]:
    """The rows cut to a terminal's width: keys first, then descriptions."""
    for column, shortest in ((header.index("Key"), _SHORTEST), (1, _SHORTEST)):
        widths = [max(len(row[at]) for row in (header, *rows)) + 2 for at in range(len(header))]
        if width is None or sum(widths) <= width:
            break
        longest = max(shortest, widths[column] - 2 - (sum(widths) - width))
        rows = [(*row[:column], _cut(row[column], longest), *row[column + 1 :]) for row in rows]
    return rows


def _cut(key: str, longest: int) -> str:
    """A key as it fits into a column.

    >>> _cut("USER#cd613e30-d8f1-4adf / ORDER#2026", 20)
    'USER#cd613e30…R#2026'
    """
    end = longest // 3
    return key if len(key) <= longest else f"{key[: longest - end - 1]}…{key[-end:]}"
