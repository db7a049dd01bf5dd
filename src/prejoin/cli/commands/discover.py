"""`prejoin discover`: a document and a mapping from a relational database and the SQL that runs on it."""

from __future__ import annotations

import re
from pathlib import Path

import click

from prejoin.cli.command import command
from prejoin.cli.outcome import Line, Outcome
from prejoin.cli.progress import ProgressSteps
from prejoin.cli.text.messages import safe
from prejoin.cli.text.tables import table_with_titles
from prejoin.migrate.discover.discover import Discovery, discover_database
from prejoin.migrate.mapping.model import MAPPING
from prejoin.pipeline.document import DOCUMENT, check_writable, refuse_to_overwrite, write
from prejoin.pipeline.errors import Source
from prejoin.pipeline.output_files import make_folder
from prejoin.pipeline.summary import contents, quantity

_UNITS = {"s": 1, "min": 60, "h": 3600, "d": 86_400}


@command("discover", format_aware=True)
@click.argument("url", required=False)
@click.option(
    "--queries", multiple=True, type=click.Path(), help="A file of SQL, or a query log; several are added up."
)
@click.option("--period", metavar="TIME", help="The time that the files cover, for rates: 90s, 30min, 6h, 7d.")
@click.option("--schema", help="The schema of the database, if not the default one.")
@click.option("--table", "tables", multiple=True, metavar="NAME", help="A table to include though no query uses it.")
@click.option("--all-tables", is_flag=True, help="Include all tables, also those that no query uses.")
@click.option("--title", help="The name of the application.")
@click.option(
    "--to", "folder", type=click.Path(file_okay=False, path_type=Path), default=".", help="The output folder."
)
@click.option("--force", is_flag=True, help="Overwrite existing files.")
def discover(
    url: str | None,
    queries: tuple[str, ...],
    period: str | None,
    schema: str | None,
    tables: tuple[str, ...],
    all_tables: bool,
    title: str | None,
    folder: Path,
    force: bool,
    as_json: bool,
) -> Outcome:
    """Derive access-patterns.md and mapping.toml from a relational database, or from DynamoDB tables.

    URL is sqlite:///shop.db, postgresql://user@host/shop, mysql://user@host/shop or dynamodb://localhost:8000; without
    one, the variable PREJOIN_SOURCE. The database is only read. Queries come from pg_stat_statements or the performance
    schema, or from files: SQL, the logs of PostgreSQL, MySQL and MariaDB, of Django and SQLAlchemy.
    """
    document, mapping = folder / DOCUMENT, folder / MAPPING
    seconds = _seconds(period) if period else None
    if not force:
        refuse_to_overwrite(document)
        refuse_to_overwrite(mapping)
    make_folder(folder)
    check_writable(document, mapping)
    with ProgressSteps(silent=as_json) as progress:
        discovery = discover_database(
            url,
            queries=queries,
            period=seconds,
            schema=schema,
            tables=tables,
            all_tables=all_tables,
            title=title,
            progress=progress,
        )
    write(document, discovery.document)
    write(mapping, discovery.mapping_text)
    notes = [
        f"wrote {document}: {contents(discovery.workload)}",
        f"wrote {mapping}: {quantity(len(discovery.mapping.entities), 'entity')}",
    ]
    if discovery.no_queries:
        notes.append(discovery.no_queries)
    if discovery.misfits:
        notes.append(
            f"{quantity(len(discovery.misfits), 'statement')} fit no key: see Not Served by a Key in {document}"
        )
    if discovery.review:
        notes.append(f"{quantity(len(discovery.review), 'note')} to review: see To Review in {document}")
    notes.append(f"next: `prejoin check {document}`, then `prejoin design {document}`")
    return Outcome(
        result=_json(discovery, document, mapping),
        page=_page(discovery),
        sources=(Source("", "", discovery.unread),),
        notes=tuple(notes),
    )


def _seconds(text: str) -> float:
    match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*(s|min|h|d)", text)
    if match is None or not float(match[1]):
        raise click.BadParameter(f"`{text}` is no time", param_hint="--period")
    return float(match[1]) * _UNITS[match[2]]


def _page(discovery: Discovery) -> list[Line]:
    rows = []
    for name, entity in discovery.mapping.entities.items():
        table = discovery.database.table(entity.table)
        count = f"{table.rows:,}" if table else ""
        rows.append(
            (
                safe(name),
                safe(entity.table),
                count,
                str(sum(name in pattern.entities for pattern in discovery.workload.patterns)),
            )
        )
    return list(table_with_titles(("Entity", "Table", "Rows", "Patterns"), rows, ("bold", "", "", "")))


def _json(discovery: Discovery, document: Path, mapping: Path) -> dict[str, object]:
    return {
        "document": str(document),
        "mapping": str(mapping),
        "statements": discovery.statements,
        "entities": [
            {
                "name": name,
                "table": entity.table,
                "rows": table.rows if (table := discovery.database.table(entity.table)) else 0,
            }
            for name, entity in discovery.mapping.entities.items()
        ],
        "patterns": [pattern.id for pattern in discovery.workload.patterns],
        "misfits": [
            {"sql": misfit.sql, "what": misfit.what, "instead": misfit.instead, "calls": misfit.calls}
            for misfit in discovery.misfits
        ],
        "review": list(discovery.review),
        "left_out": dict(discovery.mapping.left_out),
    }
