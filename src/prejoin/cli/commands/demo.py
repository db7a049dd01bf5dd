"""`prejoin demo`: a document, its table, every access pattern answered on the embedded engine."""

from __future__ import annotations

import sys
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import click

from prejoin.cli.command import command
from prejoin.cli.commands.check import contents
from prejoin.cli.invocation import invocation
from prejoin.cli.outcome import CommandError, Line, Outcome, Source
from prejoin.cli.output import table, width_of
from prejoin.cli.progress import Progress
from prejoin.cli.status import Status
from prejoin.cli.text.messages import shown
from prejoin.cli.text.tables import SHORTEST, Row, cut, fitted, narrowed, titled
from prejoin.design.cost.bill import Bill, bill
from prejoin.design.explain.phrases import money
from prejoin.design.files import read_design_file
from prejoin.design.mapping.map_patterns import map_patterns
from prejoin.design.model import Design
from prejoin.design.solver.integer_program import InfeasibleError
from prejoin.design.solver.solve import solve
from prejoin.diagnostics import Diagnostic, Span, has_errors
from prejoin.engine import Embedded
from prejoin.pipeline import codes
from prejoin.pipeline.design import unproven
from prejoin.pipeline.design_document import titled as item_title
from prejoin.pipeline.design_file import places_of, structures
from prejoin.pipeline.document import load
from prejoin.pipeline.examples import DOCUMENT, folder, installed
from prejoin.proof.answer import Answer
from prejoin.proof.bench import Bench
from prejoin.proof.run import run_all
from prejoin.workload.model import Workload

_HEADER = ("Pattern", "", "Operation", "Index", "Key", "Items", "Units", "A month", "Right")
_CUT = (("Key", SHORTEST), ("", SHORTEST))
"""On a narrow terminal keys first, then descriptions."""
_LEAST = ("A month", "Items", "Key", "Index")
"""What goes where that is not enough."""


@command("demo")
@click.argument("document", required=False, type=click.Path())
@click.option("--design", "keys", type=click.Path(), help="A table design to run, instead of the one that is best.")
def demo(document: str | None, keys: str | None) -> Outcome:
    """Run a document: its table is designed, filled with data, and every access pattern is answered and checked.

    Without a DOCUMENT it is the shop. Nothing is written.
    """
    file = document or _near(folder() / "shop" / DOCUMENT)
    read = load(file, None)
    if has_errors(read.reading.diagnostics):
        return Outcome(Status.FAILED, sources=(read.source(),), notes=("the document has errors; nothing was run",))
    workload = read.workload
    started = time.perf_counter()
    if keys is not None:
        reading = read_design_file(Path(keys), workload)
        if has_errors(reading.diagnostics):
            return Outcome(Status.FAILED, sources=(_source(keys, reading.diagnostics),))
        found = map_patterns(reading.design, workload)
    else:
        try:
            with Progress() as progress:
                progress.begin("choosing keys")
                found = solve(workload, told=progress).design
        except InfeasibleError:
            note = f"what the document decides cannot all hold; `prejoin design {shown(file)}` tells why"
            raise CommandError(codes.CONTRADICTION, note, "change one of the decisions", Status.FAILED, file) from None
    designed = time.perf_counter() - started
    with Embedded() as engine:
        answers = list(run_all(Bench.ready(workload, found, engine, datetime.now(UTC))))
    took = time.perf_counter() - started - designed
    paid = bill(workload, found)
    failed = any(not answer.right for answer in answers)
    at = places_of(read)
    served = {operation.pattern for operation in found.operations if operation.served}
    said = tuple(_problem(a, a.pattern in served, at(a.pattern, "")) for a in answers if not a.right)
    return Outcome(
        Status.FAILED if failed else Status.FINE,
        result={
            "document": file,
            "table": found.table,
            "keys": _keys(found),
            "dollars": float(paid.total),
            "patterns": _figures(answers, paid),
        },
        page=_page(workload, found, answers, paid, file, (designed, took), solved=keys is None),
        sources=(Source(file, read.text, said),) if said else (),
    )


def _problem(answer: Answer, served: bool, span: Span | None) -> Diagnostic:
    if answer.problem and not served:
        fix = answer.remedy or "say in the Decisions what may be done, or that it is out of scope"
        return codes.UNSERVED.at(span, f"{answer.pattern} is not served: {answer.problem}", fix)
    return unproven(answer, span)


def _source(file: str, diagnostics: tuple[Diagnostic, ...]) -> Source:
    try:
        text = Path(file).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        text = ""
    return Source(file, text, diagnostics)


def _near(path: Path) -> str:
    """A path as it is seen from here."""
    return str(path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path)


def _keys(design: Design) -> list[dict[str, Any]]:
    return [
        {"entity": item.entity, "copy": item.copy, "slot": f.slot, "pk": " ".join(f.pk), "sk": " ".join(f.sk)}
        for item in design.items
        for f in item.facets
    ]


def _figures(answers: list[Answer], paid: Bill) -> list[dict[str, Any]]:
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


def _page(
    workload: Workload,
    design: Design,
    answers: list[Answer],
    paid: Bill,
    file: str,
    took: tuple[float, float],
    solved: bool,
) -> list[Line]:
    made = f", designed in {took[0] * 1000:.0f} ms" if solved else ""
    what = f"; {structures(design)}{made}."
    lines: list[Line] = [
        ((workload.title, "bold"), f": {contents(workload)}, from ", (shown(file), "bold"), what),
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
    asked = [a for a in answers if not a.outside]
    right = sum(a.right for a in asked)
    lines += [
        (
            (f"{right} of {len(asked)} patterns answered", "bold green" if right == len(asked) else "bold red"),
            f" on the embedded engine, each compared with the data itself, in {took[1] * 1000:.0f} ms; "
            f"{money(paid.total)} a month at the rates of the document.",
        ),
        (),
        *_next(file, answers),
    ]
    return lines


def _next(file: str, answers: list[Answer]) -> list[Line]:
    """What to try now."""
    first = next(
        (answer.pattern for answer in answers if answer.items > 1), answers[0].pattern if answers else "AP-001"
    )
    lines: list[Line] = [("What to try next:",)]
    place, about = f" {shown(file)}", f" --for {shown(file)}"
    rows: list[Row] = []
    if installed() and Path(file).is_relative_to(folder()):
        place = about = ""
        rows.append((f"{invocation()} init --example shop", "writes this document here"))
    rows += [
        (f"{invocation()} query {first}{about}", "asks one pattern, and shows what it finds, sends and costs"),
        (
            f"{invocation()} design{place}",
            "shows the keys with reasons; change a pattern in the document, and they change",
        ),
        (f"{invocation()} build{place}", "writes the code with tests, what deploys it, pages and pictures"),
    ]
    return lines + [("  ", *line) for line in table(rows, ("bold", ""))]


def _row(answer: Answer, paid: Bill) -> Row:
    if answer.problem:
        what = "out of scope" if answer.outside else "not served" if answer.remedy else "not run"
        return answer.pattern, answer.description, what, "", "", "", "", "", "-" if answer.outside else "✗"
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
