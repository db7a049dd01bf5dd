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
from prejoin.pipeline.query.query import QueryDesign, QueryResult, plain, query_design, run_pattern
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
    place = _place(db, endpoint, aws, region)
    design = query_design(load(file_or_default(document)))
    if pattern is None:
        return replace(_pattern_list(design), sources=(design.source,))
    options = [*(["limit=" + str(limit)] if limit else []), *([f"after={after}"] if after else [])]
    texts = _argument_texts((*arguments, *options), design.method(pattern))
    # The words of the command line after the pattern, for messages with a command to copy; without the cursor.
    repeated_words = [word for word in arguments if not word.lower().startswith("after=")]
    values = {"--for": document, "--table": table, "--db": db, "--endpoint": endpoint, "--region": region}
    for option, value in values.items():
        if value:
            repeated_words += [option, value]
    if aws:
        repeated_words.append("--aws")
    if limit:
        repeated_words += ["--limit", str(limit)]

    def confirm(pattern: Pattern) -> bool:
        if yes:
            return True
        return not as_json and has_terminal() and ask(f"{pattern.id} changes data in {place}. Run it?")

    try:
        result = run_pattern(design, pattern, texts, place=place, table=table, confirm=confirm)
    except MissingArgumentsError as problem:
        samples = [f"{name}={sample}" for name, sample in problem.samples.items()]
        words = " ".join([*map(shlex.quote, repeated_words), *samples])
        fix = f"write `prejoin query {problem.pattern} {words}`"
        raise InvalidArgumentError(codes.MISUSED, problem.message, fix) from None
    return replace(_outcome(result, repeated_words), sources=(design.source,))


def _place(db: str | None, endpoint: str | None, aws: bool, region: str | None) -> TablePlace | None:
    """The place of the table; None for a new one in memory."""
    if sum(map(bool, (db, endpoint, aws))) > 1:
        raise click.UsageError("a table is in one place: give one of `--db`, `--endpoint` and `--aws`")
    return TablePlace(db, endpoint, region) if db or endpoint or aws else None


def _argument_texts(words: Sequence[str], method: Method) -> dict[str, list[str]]:
    """The texts for each argument; of a list, several."""
    texts: dict[str, list[str]] = {}
    for word in words:
        name, equals, value = word.partition("=")
        if not equals:
            takes = f"{method.pattern.id} takes {', '.join(param.name for param in method.params) or 'nothing'}"
            raise InvalidArgumentError(codes.MISUSED, f"`{word}` is not NAME=VALUE", takes)
        texts.setdefault(name, []).append(value)
    return texts


def _pattern_list(design: QueryDesign) -> Outcome:
    """The patterns, with their arguments."""
    methods = design.methods
    rows = [
        (pattern_id, safe(method.pattern.description or pattern_id), _takes(method))
        for pattern_id, method in methods.items()
    ]
    patterns = [
        {
            "id": id_,
            "description": method.pattern.description,
            "method": method.name,
            "takes": [
                {"name": param.name, "type": param.annotation, "optional": bool(param.default)}
                for param in method.params
            ],
        }
        for id_, method in methods.items()
    ]
    first = next(iter(methods), "AP-001")
    note = f"`prejoin query {first}` runs the first; missing arguments are taken from sample data"
    result = {"document": design.document.file, "patterns": patterns}
    return Outcome(result=result, page=columns(rows, ("bold", "", "dim")), notes=(note,))


def _takes(method: Method) -> str:
    return " ".join(f"[{param.name}]" if param.default else param.name for param in method.params)


def _outcome(result: QueryResult, repeated_words: Sequence[str]) -> Outcome:
    """The outcome. `typed` are the words of the command line after the pattern, for a note that repeats them."""
    data = {
        "pattern": result.pattern.id,
        "method": result.method.name,
        "arguments": {name: plain(value) for name, value in result.arguments.items()},
        "made_up": sorted(result.made_up),
        "items": list(result.items),
        "cursor": result.cursor,
        "calls": [
            {"operation": call.operation, "index": call.index or None, "key": call.key, "units": call.units}
            for call in result.calls
        ],
        "units": result.units,
    }
    notes = []
    if result.cursor:
        samples = [f"{name}={plain(value)}" for name, value in result.arguments.items() if name in result.made_up]
        words = shlex.join([result.pattern.id, *samples, *repeated_words, "--after", result.cursor])
        notes.append(f"there are more items: `prejoin query {words}`")
    return Outcome(ExitStatus.FINE, data, list(query_page(result, width_of(sys.stdout))), notes=tuple(notes))
