"""`prejoin query`: one access pattern run by its id, with its items, requests and units."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Sequence
from dataclasses import replace

import click

from prejoin.cli.command import command, has_terminal
from prejoin.cli.documents import file_or_default, load
from prejoin.cli.outcome import ExitStatus, Outcome
from prejoin.cli.output import width_of
from prejoin.cli.prompt.line import ask
from prejoin.cli.text.messages import safe
from prejoin.cli.text.query import query_page
from prejoin.cli.text.tables import table as columns
from prejoin.pipeline import codes
from prejoin.pipeline.connection import TablePlace
from prejoin.pipeline.errors import InvalidArgumentError
from prejoin.pipeline.query.arguments import MissingArgumentsError
from prejoin.pipeline.query.query import QueryDesign, QueryResult, plain, query_design
from prejoin.pipeline.query.query import query as run_query
from prejoin.render.python.method import Method
from prejoin.workload.model import Pattern


@command("query", format_aware=True)
@click.argument("pattern", required=False)
@click.argument("arguments", metavar="[NAME=VALUE]...", nargs=-1)
@click.option("--limit", type=click.IntRange(min=1), help="The number of items on a page, for a paginated pattern.")
@click.option("--after", metavar="CURSOR", help="The page after this cursor.")
@click.option("--for", "document", type=click.Path(), help="The document (default: access-patterns.md).")
@click.option("--table", help="The name of the table (default: that of the design).")
@click.option("--db", type=click.Path(exists=True, dir_okay=False), help="A file of the embedded engine.")
@click.option("--endpoint", metavar="URL", help="A server that speaks the DynamoDB protocol.")
@click.option("--aws", is_flag=True, help="AWS itself.")
@click.option("--region", help="The AWS region, if not the one of the environment.")
@click.option("--yes", is_flag=True, help="Write to an existing table without asking.")
def query(
    pattern: str | None,
    arguments: tuple[str, ...],
    limit: int | None,
    after: str | None,
    document: str | None,
    table: str | None,
    db: str | None,
    endpoint: str | None,
    aws: bool,
    region: str | None,
    yes: bool,
    as_json: bool,
) -> Outcome:
    """Run an access pattern: `prejoin query AP-004 user_id=…`. Without a PATTERN, list them with their arguments.

    Without a place it runs on a new table in memory, with sample data, from which missing arguments are taken. Values
    are written as text or as JSON; a list as JSON, or as the same NAME several times.
    """
    if sum(map(bool, (db, endpoint, aws))) > 1:
        raise click.UsageError("a table is in one place: give one of `--db`, `--endpoint` and `--aws`")
    found = query_design(load(file_or_default(document)))
    if pattern is None:
        return replace(_listed(found), sources=(found.source,))
    place = TablePlace(db, endpoint, region) if db or endpoint or aws else None
    options = [*(["limit=" + str(limit)] if limit else []), *([f"after={after}"] if after else [])]
    given = _given((*arguments, *options), found.method(pattern))
    places = {"--for": document, "--table": table, "--db": db, "--endpoint": endpoint, "--region": region}
    flags = [word for name, value in places.items() if value for word in (name, value)]
    kept = [word for word in arguments if not word.lower().startswith("after=")]
    typed = [*kept, *flags, *(["--aws"] if aws else []), *(["--limit", str(limit)] if limit else [])]

    def confirm(pattern: Pattern) -> bool:
        if yes:
            return True
        return not as_json and has_terminal() and ask(f"{pattern.id} changes data in {place}. Run it?")

    try:
        result = run_query(found, pattern, given, place=place, table=table, confirm=confirm)
    except MissingArgumentsError as problem:
        samples = [f"{name}={sample}" for name, sample in problem.samples.items()]
        words = " ".join([*([shlex.join(typed)] if typed else []), *samples])
        fix = f"write `prejoin query {problem.pattern} {words}`"
        raise InvalidArgumentError(codes.MISUSED, problem.message, fix) from None
    return replace(_outcome(result, typed), sources=(found.source,))


def _given(words: Sequence[str], method: Method) -> dict[str, list[str]]:
    """The texts for each argument; of a list, several."""
    found: dict[str, list[str]] = {}
    for word in words:
        name, equals, value = word.partition("=")
        if not equals:
            takes = f"{method.pattern.id} takes {', '.join(param.name for param in method.params) or 'nothing'}"
            raise InvalidArgumentError(codes.MISUSED, f"`{word}` is not NAME=VALUE", takes)
        found.setdefault(name, []).append(value)
    return found


def _listed(found: QueryDesign) -> Outcome:
    """The patterns, with their arguments."""
    methods = found.methods
    rows = [(id_, safe(method.pattern.description or id_), _takes(method)) for id_, method in methods.items()]
    patterns = [
        {
            "id": id_,
            "description": method.pattern.description,
            "method": method.name,
            "takes": [
                {"name": one.name, "type": one.annotation, "optional": bool(one.default)} for one in method.params
            ],
        }
        for id_, method in methods.items()
    ]
    first = next(iter(methods), "AP-001")
    note = f"`prejoin query {first}` runs the first; missing arguments are taken from sample data"
    result = {"document": found.document.file, "patterns": patterns}
    return Outcome(result=result, page=columns(rows, ("bold", "", "dim")), notes=(note,))


def _takes(method: Method) -> str:
    return " ".join(f"[{param.name}]" if param.default else param.name for param in method.params)


def _outcome(result: QueryResult, typed: Sequence[str]) -> Outcome:
    """The outcome. `typed` are the words of the command line after the pattern, for a note that repeats them."""
    data = {
        "pattern": result.pattern.id,
        "method": result.method.name,
        "arguments": {name: plain(value) for name, value in result.arguments.items()},
        "made_up": sorted(result.made_up),
        "items": list(result.items),
        "cursor": result.cursor,
        "calls": [
            {"operation": c.operation, "index": c.index or None, "key": c.key, "units": c.units} for c in result.calls
        ],
        "units": result.units,
    }
    notes = []
    if result.cursor:
        added = [f"{name}={plain(value)}" for name, value in result.arguments.items() if name in result.made_up]
        again = shlex.join([result.pattern.id, *added, *typed, "--after", result.cursor])
        notes.append(f"there are more items: `prejoin query {again}`")
    return Outcome(ExitStatus.FINE, data, list(query_page(result, width_of(sys.stdout))), notes=tuple(notes))
