"""`prejoin demo`: the table of a document, and every access pattern run on the embedded engine."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from prejoin.cli.command import command
from prejoin.cli.invocation import invocation
from prejoin.cli.outcome import ExitStatus, Line, Outcome
from prejoin.cli.output import width_of
from prejoin.cli.progress import ProgressLine
from prejoin.cli.text.messages import file_name
from prejoin.cli.text.tables import SHORTEST, Row, cut, fitted, narrowed, table, titled
from prejoin.design.cost.bill import Bill
from prejoin.design.explain.phrases import money
from prejoin.design.model import Design
from prejoin.pipeline.demonstration import Demonstration, demonstrate
from prejoin.pipeline.design.design_document import titled as item_title
from prejoin.pipeline.design.design_file import structures
from prejoin.pipeline.document import DOCUMENT, read_document
from prejoin.pipeline.examples import folder, installed
from prejoin.pipeline.summary import contents
from prejoin.proof.result import PatternProof

_HEADER = ("Pattern", "", "Operation", "Index", "Key", "Items", "Units", "A month", "Right")
_CUT = (("Key", SHORTEST), ("", SHORTEST))
"""Columns that are cut on a narrow terminal, in this order."""
_LEAST = ("A month", "Items", "Key", "Index")
"""Columns that are left out if that is not enough, in this order."""


@command("demo")
@click.argument("document", required=False, type=click.Path())
@click.option("--design", "keys", type=click.Path(), help="A table design to run, instead of the best one.")
def demo(document: str | None, keys: str | None) -> Outcome:
    """Design the table of DOCUMENT, fill it with data, and run and check every access pattern.

    Without a DOCUMENT it is the example shop. Nothing is written.
    """
    file = document or _near(folder() / "shop" / DOCUMENT)
    with ProgressLine() as progress:
        found = demonstrate(read_document(file), keys, progress=progress)
    source = found.source
    return Outcome(
        ExitStatus.FINE if found.fine else ExitStatus.FAILED,
        result={
            "document": file,
            "table": found.design.table,
            "keys": _keys(found.design),
            "dollars": float(found.bill.total),
            "patterns": _figures(found.answers, found.bill),
        },
        page=_page(found, solved=keys is None),
        sources=(source,) if source.diagnostics else (),
    )


def _near(path: Path) -> str:
    """A path relative to the current folder, if it is inside."""
    return str(path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path)


def _keys(design: Design) -> list[dict[str, Any]]:
    return [
        {"entity": item.entity, "copy": item.copy, "slot": f.slot, "pk": " ".join(f.pk), "sk": " ".join(f.sk)}
        for item in design.items
        for f in item.facets
    ]


def _figures(answers: Sequence[PatternProof], paid: Bill) -> list[dict[str, Any]]:
    return [
        {
            "id": a.pattern,
            "description": a.description,
            "calls": [{"operation": c.operation, "index": c.index, "key": c.key, "units": c.units} for c in a.calls],
            "items": a.items,
            "units": a.units,
            "dollars": float(cost.dollars) if (cost := paid.pattern(a.pattern)) else None,
            "right": a.right,
            "wrong": a.wrong,
            "problem": a.problem,
            "remedy": a.remedy,
        }
        for a in answers
    ]


def _page(found: Demonstration, solved: bool) -> list[Line]:
    design, answers, paid = found.design, found.answers, found.bill
    workload, file = found.document.workload, found.document.file
    made = f", designed in {found.design_seconds * 1000:.0f} ms" if solved else ""
    what = f"; {structures(design)}{made}."
    lines: list[Line] = [
        ((workload.title, "bold"), f": {contents(workload)}, from ", (file_name(file), "bold"), what),
        (),
    ]
    rows: list[Row] = [
        (item_title(item), facet.slot, " ".join(facet.pk), " ".join(facet.sk))
        for item in design.items
        for facet in item.facets
    ]
    lines += titled(("Entity", "In", "Partition key", "Sort key"), rows, ("bold", "cyan", "", ""))
    lines.append(())
    width = width_of(sys.stdout)
    rows = [_row(a, paid) for a in answers]
    header, _ = narrowed(_HEADER, fitted(_HEADER, rows, width, [(_HEADER.index(t), n) for t, n in _CUT]), width, _LEAST)
    kept = [_HEADER.index(title) for title in header]
    cut_to = [(header.index(title), least) for title, least in _CUT if title in header]
    rows = fitted(header, [tuple(row[at] for at in kept) for row in rows], width, cut_to)
    styles = {"Pattern": "bold", "Operation": "green", "Index": "cyan"}
    lines += titled(header, rows, tuple(styles.get(title, "") for title in header))
    lines.append(())
    in_scope = [a for a in answers if not a.out_of_scope]
    right = sum(a.right for a in in_scope)
    lines += [
        (
            (f"{right} of {len(in_scope)} patterns answered", "bold green" if right == len(in_scope) else "bold red"),
            f" on the embedded engine, each compared with the data itself, in {found.run_seconds * 1000:.0f} ms; "
            f"{money(paid.total)} a month at the rates of the document.",
        ),
        (),
        *_next(file, answers),
    ]
    return lines


def _next(file: str, answers: Sequence[PatternProof]) -> list[Line]:
    """The next commands."""
    first = next(
        (answer.pattern for answer in answers if answer.items > 1), answers[0].pattern if answers else "AP-001"
    )
    lines: list[Line] = [("What to try next:",)]
    place, about = f" {file_name(file)}", f" --for {file_name(file)}"
    rows: list[Row] = []
    if installed() and Path(file).is_relative_to(folder()):
        place = about = ""
        rows.append((f"{invocation()} init --example shop", "writes this document here"))
    rows += [
        (f"{invocation()} query {first}{about}", "runs one pattern, and shows its items, requests and cost"),
        (
            f"{invocation()} design{place}",
            "shows the keys with reasons; change a pattern in the document, and they change",
        ),
        (f"{invocation()} build{place}", "generates code with tests, infrastructure, documents and pictures"),
    ]
    return lines + [("  ", *line) for line in table(rows, ("bold", ""))]


def _row(answer: PatternProof, paid: Bill) -> Row:
    if answer.problem:
        what = "out of scope" if answer.out_of_scope else "not served" if answer.remedy else "not run"
        return answer.pattern, answer.description, what, "", "", "", "", "", "-" if answer.out_of_scope else "✗"
    first, more = next(iter(answer.calls), None), len(answer.calls)
    if first is None:
        return answer.pattern, answer.description, "(TTL)", "", "", "", "", "", "✓"
    times = f" ×{more}" if more > 1 else ""
    cost = paid.pattern(answer.pattern)
    return (
        answer.pattern,
        answer.description,
        first.operation + times,
        first.index or "-",
        cut(first.key),
        str(answer.items),
        f"{answer.units:g}",
        money(cost.dollars) if cost else "-",
        "✓" if answer.right else "✗",
    )
