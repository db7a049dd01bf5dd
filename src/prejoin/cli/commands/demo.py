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
from prejoin.cli.text.tables import SHORTEST, Row, cut, drop_columns, fit_columns, table, table_with_titles
from prejoin.design.cost.bill import Bill
from prejoin.design.model import Design
from prejoin.design.phrases import money
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
_LEFT_OUT_FIRST = ("A month", "Items", "Key", "Index")
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
        demonstration = demonstrate(read_document(file), keys, progress=progress)
    source = demonstration.source
    return Outcome(
        ExitStatus.FINE if demonstration.fine else ExitStatus.FAILED,
        result={
            "document": file,
            "table": demonstration.design.table,
            "keys": _keys(demonstration.design),
            "dollars": float(demonstration.bill.total),
            "patterns": _figures(demonstration.answers, demonstration.bill),
        },
        page=_page(demonstration, is_solved=keys is None),
        sources=(source,) if source.diagnostics else (),
    )


def _near(path: Path) -> str:
    """A path relative to the current folder, if it is inside."""
    return str(path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path)


def _keys(design: Design) -> list[dict[str, Any]]:
    return [
        {
            "entity": item.entity,
            "copy": item.copy,
            "slot": facet.slot,
            "pk": " ".join(facet.pk),
            "sk": " ".join(facet.sk),
        }
        for item in design.items
        for facet in item.facets
    ]


def _figures(answers: Sequence[PatternProof], bill: Bill) -> list[dict[str, Any]]:
    return [
        {
            "id": answer.pattern,
            "description": answer.description,
            "calls": [
                {"operation": call.operation, "index": call.index, "key": call.key, "units": call.units}
                for call in answer.calls
            ],
            "items": answer.items,
            "units": answer.units,
            "dollars": float(cost.dollars) if (cost := bill.pattern(answer.pattern)) else None,
            "right": answer.right,
            "wrong": answer.wrong,
            "problem": answer.problem,
            "remedy": answer.remedy,
        }
        for answer in answers
    ]


def _page(demonstration: Demonstration, is_solved: bool) -> list[Line]:
    design = demonstration.design
    workload, file = demonstration.document.workload, demonstration.document.file
    design_time = f", designed in {demonstration.design_seconds * 1000:.0f} ms" if is_solved else ""
    summary = f"; {structures(design)}{design_time}."
    keys: list[Row] = [
        (item_title(item), facet.slot, " ".join(facet.pk), " ".join(facet.sk))
        for item in design.items
        for facet in item.facets
    ]
    return [
        ((workload.title, "bold"), f": {contents(workload)}, from ", (file_name(file), "bold"), summary),
        (),
        *table_with_titles(("Entity", "In", "Partition key", "Sort key"), keys, ("bold", "cyan", "", "")),
        (),
        *_pattern_table(demonstration.answers, demonstration.bill),
        (),
        _verdict(demonstration),
        (),
        *_next(file, demonstration.answers),
    ]


def _pattern_table(answers: Sequence[PatternProof], bill: Bill) -> list[Line]:
    """The patterns. On a narrow terminal columns are cut; if that is not enough, some are left out."""
    width = width_of(sys.stdout)
    rows = [_row(answer, bill) for answer in answers]
    cut_rows = fit_columns(_HEADER, rows, width, [(_HEADER.index(title), shortest) for title, shortest in _CUT])
    header, _ = drop_columns(_HEADER, cut_rows, width, _LEFT_OUT_FIRST)
    # Cut again from the whole texts: without the columns that were left out, there is more room.
    positions = [_HEADER.index(title) for title in header]
    cut_to = [(header.index(title), shortest) for title, shortest in _CUT if title in header]
    rows = fit_columns(header, [tuple(row[position] for position in positions) for row in rows], width, cut_to)
    styles = {"Pattern": "bold", "Operation": "green", "Index": "cyan"}
    return table_with_titles(header, rows, tuple(styles.get(title, "") for title in header))


def _verdict(demonstration: Demonstration) -> Line:
    in_scope = [answer for answer in demonstration.answers if not answer.out_of_scope]
    right = sum(answer.right for answer in in_scope)
    style = "bold green" if right == len(in_scope) else "bold red"
    run_time = f"{demonstration.run_seconds * 1000:.0f} ms"
    price = f"{money(demonstration.bill.total)} a month at the rates of the document"
    return (
        (f"{right} of {len(in_scope)} patterns answered", style),
        f" on the embedded engine, each compared with the data itself, in {run_time}; {price}.",
    )


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


def _row(answer: PatternProof, bill: Bill) -> Row:
    if answer.problem:
        verdict = "out of scope" if answer.out_of_scope else "not served" if answer.remedy else "not run"
        return answer.pattern, answer.description, verdict, "", "", "", "", "", "-" if answer.out_of_scope else "✗"
    first, call_count = next(iter(answer.calls), None), len(answer.calls)
    if first is None:
        return answer.pattern, answer.description, "(TTL)", "", "", "", "", "", "✓"
    times = f" ×{call_count}" if call_count > 1 else ""
    cost = bill.pattern(answer.pattern)
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
