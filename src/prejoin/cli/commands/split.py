"""`prejoin split`: one table against several, and a document for each table."""

from __future__ import annotations

from pathlib import Path

import click

from prejoin.cli.command import command
from prejoin.cli.documents import file_or_default, load
from prejoin.cli.outcome import Line, Outcome
from prejoin.cli.progress import ProgressLine
from prejoin.cli.text.design_json import tables_json
from prejoin.cli.text.messages import with_code_style
from prejoin.cli.text.tables import Row, table_with_titles
from prejoin.design.phrases import listed, money
from prejoin.design.whatif.comparison import TableComparison, TablePrice
from prejoin.pipeline.design.split import split_document, write_split


@command("split")
@click.argument("document", required=False, type=click.Path(allow_dash=True))
@click.option(
    "--decide", "sentences", multiple=True, help='A need that the document lacks: "Payment needs its own restore".'
)
@click.option(
    "-o", "--output", type=click.Path(path_type=Path, file_okay=False), help="The folder for a document of each table."
)
@click.option("--force", is_flag=True, help="Overwrite documents in that folder.")
def split(document: str | None, sentences: tuple[str, ...], output: Path | None, force: bool) -> Outcome:
    """Compare one table with several for the entities of DOCUMENT (access-patterns.md) that need a table of their own.

    Both are designed and priced. With -o a document for each table is written, which is then designed and built
    by itself.
    """
    read = load(file_or_default(document))
    read.require_no_errors("the document has errors; nothing was split")
    with ProgressLine() as progress:
        comparison = split_document(read, sentences, progress=progress)
    files = write_split(comparison, output, force=force) if output else ()
    result = {"document": read.file, **tables_json(comparison), "files": [str(path) for path in files]}
    return Outcome(result=result, page=_page(comparison), notes=tuple(f"wrote {path}" for path in files))


def _page(comparison: TableComparison) -> list[Line]:
    rows: list[Row] = [("one table", "", "", *_figures(comparison.one))]
    rows += [
        (part.name, listed(part.entities), listed(part.needs), *_figures(table))
        for part, table in zip(comparison.split.parts, comparison.several, strict=True)
    ]
    header: Row = ("Table", "Entities", "Needs its own", "GSIs", "Copies", "A month", "Not served")
    lines = [*table_with_titles(header, rows, ("bold", "", "cyan", "", "", "green", "red")), ()]
    crossings: list[Row] = [
        (crossing.pattern, crossing.loss, listed(crossing.entities)) for crossing in comparison.split.crossings
    ]
    if crossings:
        lines += [*table_with_titles(("Over several tables", "Loses one", "Entities"), crossings, ("bold", "", "")), ()]
    return [*lines, *(with_code_style(sentence) for sentence in comparison.text)]


def _figures(table: TablePrice) -> tuple[str, str, str, str]:
    return str(table.indexes), str(table.copies), money(table.dollars), listed(table.unserved)
