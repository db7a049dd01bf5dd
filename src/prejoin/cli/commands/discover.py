"""`prejoin discover`: a document and a mapping from a relational database and the SQL that runs on it."""

from __future__ import annotations

import re
from pathlib import Path

import click

from prejoin.cli.command import command
from prejoin.cli.outcome import Line, Outcome
from prejoin.cli.progress import ProgressSteps
from prejoin.cli.text.messages import safe
from prejoin.cli.text.tables import titled
from prejoin.migrate.discover.discover import Discovery, discover_database
from prejoin.migrate.mapping.model import MAPPING
from prejoin.pipeline.document import DOCUMENT, check_writable, refuse_to_overwrite, write
from prejoin.pipeline.errors import Source
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
    folder.mkdir(parents=True, exist_ok=True)
    check_writable(document, mapping)
    with ProgressSteps(silent=as_json) as progress:
        found = discover_database(
            url,
            queries=queries,
            period=seconds,
            schema=schema,
            tables=tables,
            all_tables=all_tables,
            title=title,
            progress=progress,
        )
    write(document, found.document)
    write(mapping, found.mapping_text)
    notes = [
        f"wrote {document}: {contents(found.workload)}",
        f"wrote {mapping}: {quantity(len(found.mapping.entities), 'entity')}",
    ]
    if found.no_queries:
        notes.append(found.no_queries)
    if found.misfits:
        notes.append(f"{quantity(len(found.misfits), 'statement')} fit no key: see Not Served by a Key in {document}")
    if found.review:
        notes.append(f"{quantity(len(found.review), 'note')} to review: see To Review in {document}")
    notes.append(f"next: `prejoin check {document}`, then `prejoin design {document}`")
    return Outcome(
        result=_json(found, document, mapping),
        page=_page(found),
        sources=(Source("", "", found.unread),),
        notes=tuple(notes),
    )


def _seconds(text: str) -> float:
    match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*(s|min|h|d)", text)
    if match is None or not float(match[1]):
        raise click.BadParameter(f"`{text}` is no time", param_hint="--period")
    return float(match[1]) * _UNITS[match[2]]


def _page(found: Discovery) -> list[Line]:
    rows = []
    for name, one in found.mapping.entities.items():
        table = found.database.table(one.table)
        count = f"{table.rows:,}" if table else ""
        rows.append((safe(name), safe(one.table), count, str(sum(name in p.entities for p in found.workload.patterns))))
    return list(titled(("Entity", "Table", "Rows", "Patterns"), rows, ("bold", "", "", "")))


def _json(found: Discovery, document: Path, mapping: Path) -> dict[str, object]:
    return {
        "document": str(document),
        "mapping": str(mapping),
        "statements": found.statements,
        "entities": [
            {
                "name": name,
                "table": one.table,
                "rows": table.rows if (table := found.database.table(one.table)) else 0,
            }
            for name, one in found.mapping.entities.items()
        ],
        "patterns": [p.id for p in found.workload.patterns],
        "misfits": [{"sql": m.sql, "what": m.what, "instead": m.instead, "calls": m.calls} for m in found.misfits],
        "review": list(found.review),
        "left_out": dict(found.mapping.left_out),
    }
