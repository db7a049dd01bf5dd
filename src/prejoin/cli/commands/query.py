"""`prejoin query`: one access pattern run by its id: the items as a table, what was sent, and the units it took."""

from __future__ import annotations

import re
import shlex
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import click

from prejoin.cli.command import command
from prejoin.cli.outcome import CommandError, Outcome, Source
from prejoin.cli.output import table as columns
from prejoin.cli.output import width_of
from prejoin.cli.prompt.approval import ask
from prejoin.cli.status import Status
from prejoin.cli.text.messages import safe
from prejoin.cli.text.query import cursor_of, items_of, page, plain
from prejoin.design.files import design_beside
from prejoin.design.mapping.map_patterns import map_patterns
from prejoin.design.model import Design
from prejoin.design.solver.integer_program import InfeasibleError
from prejoin.design.solver.solve import solve
from prejoin.diagnostics import Diagnostic, Severity, has_errors
from prejoin.engine import Embedded
from prejoin.keys import KeyValueError
from prejoin.pipeline import codes
from prejoin.pipeline.connection import connected
from prejoin.pipeline.design_file import kept_design, outdated
from prejoin.pipeline.document import Document, files_or_default, load
from prejoin.pipeline.generated_package import Code, generated
from prejoin.pipeline.query_arguments import example, given, missing, read_value
from prejoin.proof.bench import Bench
from prejoin.protocol.errors import DynamoDBError
from prejoin.render.python.method import Method
from prejoin.render.python.package import repository_methods, repository_tenant
from prejoin.table import Call, Client, TableError
from prejoin.workload.lookup import suggest
from prejoin.workload.model import Pattern
from prejoin.workload.tenants import is_owned, is_scoped

_FEW = 3
"""Differences between document and design that a message names."""


@command("query")
@click.argument("pattern", required=False)
@click.argument("arguments", metavar="[NAME=VALUE]...", nargs=-1)
@click.option("--limit", type=click.IntRange(min=1), help="At most so many items, for a pattern that gives pages.")
@click.option("--after", metavar="CURSOR", help="The page after the one that ended with this cursor.")
@click.option("--for", "document", type=click.Path(), help="The document; access-patterns.md if not said.")
@click.option("--table", help="The name of the table; the design's if not said.")
@click.option("--db", type=click.Path(exists=True, dir_okay=False), help="A file of the embedded engine.")
@click.option("--endpoint", metavar="URL", help="A server that speaks DynamoDB's protocol.")
@click.option("--aws", is_flag=True, help="AWS itself.")
@click.option("--region", help="The region of AWS, if not the environment's.")
@click.option("--yes", is_flag=True, help="Write to a table that is not of this command's making, without asking.")
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
    """Run an access pattern: `prejoin query AP-004 user_id=…`. Without a PATTERN, list them with what each takes.

    Without a place it runs on a table made for it, in memory and full of data; arguments that are not given are then
    taken from the data. Values are written as they are, or as JSON; a list is one in JSON, or the NAME several times.
    """
    if sum(map(bool, (db, endpoint, aws))) > 1:
        raise click.UsageError("a table is in one place: give one of `--db`, `--endpoint` and `--aws`")
    read = load(files_or_default((document,) if document else ())[0])
    if has_errors(read.reading.diagnostics):
        serious = frozenset({Severity.ERROR, Severity.WARNING})
        note = "the document has errors; nothing was asked"
        return Outcome(Status.FAILED, sources=(read.source(serious),), notes=(note,))
    design, said = _design(read)
    if design is None:
        return Outcome(Status.FAILED, sources=(said,), notes=("the design has errors; nothing was asked",))
    stale = Source(said.file, "", tuple(_outdated(said.file, read)))
    methods = _methods(read, design)
    if pattern is None:
        return replace(_listed(read, methods), sources=(stale,))
    asked = _pattern(read, pattern)
    method = _method(read, design, methods, asked)
    options = [*(["limit=" + str(limit)] if limit else []), *([f"after={after}"] if after else [])]
    texts = given((*arguments, *options), method)
    places = {"--for": document, "--table": table, "--db": db, "--endpoint": endpoint, "--region": region}
    flags = [word for name, value in places.items() if value for word in (name, value)]
    kept = [word for word in arguments if not word.lower().startswith("after=")]
    typed = (*kept, *flags, *(["--aws"] if aws else []), *(["--limit", str(limit)] if limit else []))
    with generated(read.workload, design) as code:
        hints = code.hints(method)
        values = {name: read_value(name, text, hints[name]) for name, text in texts.items()}
        if not (db or endpoint or aws):
            with Embedded() as engine:
                # The same data all day, so that a cursor of one page leads to the next.
                now = datetime.now(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
                bench = Bench.ready(read.workload, design, engine, now)
                client = Client(code.schema, design.table, engine, observe=bench.calls.append)
                found = example(bench, asked, method, code.record)
                needed = {param.name for param in method.params if not param.default} - set(values)
                made_up = {name: value for name, value in found.items() if name in needed}
                outcome = _run(method, code, client, {**made_up, **values}, bench.calls, typed, frozenset(made_up))
                return replace(outcome, sources=(stale,))
        if problem := missing(method, hints, values, typed):
            raise problem
        if method.result == "None" and not yes:
            _permitted(asked, db or endpoint or "AWS", as_json)
        calls: list[Call] = []
        with connected(code.schema, table or design.table, db, endpoint, region) as place:
            client = Client(code.schema, place.table, place._transport, observe=calls.append)
            return replace(_run(method, code, client, values, calls, typed), sources=(stale,))


def _design(read: Document) -> tuple[Design | None, Source]:
    """The design beside the document, None if that is broken; a new one where there is none."""
    beside = design_beside(Path(read.file))
    if beside.exists():
        kept, said = kept_design(str(beside), read.workload)
        return map_patterns(kept, read.workload) if kept else None, said
    try:
        return solve(read.workload).design, read.source()
    except InfeasibleError:
        note = f"what the document decides cannot all hold; `prejoin design {read.file}` tells why"
        raise CommandError(codes.CONTRADICTION, note, "change one of the decisions", Status.FAILED, read.file) from None


def _methods(read: Document, design: Design) -> dict[str, Method]:
    """The methods, with the tenant among the parameters of those that are asked for one."""
    tenant = repository_tenant(read.workload, design)
    found = repository_methods(read.workload, design)
    if tenant is None:
        return found
    return {
        id_: replace(method, params=(tenant, *method.params)) if is_scoped(read.workload, method.pattern) else method
        for id_, method in found.items()
    }


def _pattern(read: Document, name: str) -> Pattern:
    found = read.workload.pattern(name) or read.workload.pattern(name.upper())
    if found is None:
        meant = suggest(name, [one.id for one in read.workload.patterns])
        fix = f"did you mean {meant}?" if meant else "`prejoin query` without a pattern lists them"
        raise CommandError(codes.NO_TOPIC, f"there is no pattern {name} in {read.file}", fix, Status.MISUSED)
    return found


def _method(read: Document, design: Design, methods: Mapping[str, Method], asked: Pattern) -> Method:
    operation = design.operation(asked.id)
    if operation is None or not operation.served:
        why = operation.problem if operation else "it is out of scope"
        fix = operation.remedy if operation and operation.remedy else "`prejoin design` tells what would serve it"
        raise CommandError(codes.UNSERVED, f"{asked.id} is not served: {why}", fix, Status.FAILED, read.file)
    if outside := _outside_tenant(read, design):
        why = f"the keys of {' and '.join(outside[:_FEW])} do not begin with the tenant"
        fix = f"`prejoin design {shlex.quote(read.file)}` shows the design of the document as it is now"
        raise CommandError(codes.UNSERVED, f"{asked.id} is not served: {why}", fix, Status.FAILED, read.file)
    if asked.id not in methods:
        message = f"{asked.id} sends nothing: DynamoDB does it by itself, some time after the items have expired"
        raise CommandError(codes.NO_TOPIC, message, "ask another pattern", Status.MISUSED)
    return methods[asked.id]


def _outside_tenant(read: Document, design: Design) -> list[str]:
    """The entities of tenants whose keys do not begin with the tenant: the design is older than the tenant's line."""
    tenant = read.workload.tenant
    if tenant is None:
        return []
    first = re.compile(rf"[^{{]*\{{{re.escape(tenant.attribute)}[}}:]")
    keys = [(item.entity, facet.pk) for item in design.items for facet in item.facets]
    owned = [(name, pk) for name, pk in keys if is_owned(read.workload, name)]
    return list(dict.fromkeys(name for name, pk in owned if not all(map(first.match, pk))))


def _listed(read: Document, methods: Mapping[str, Method]) -> Outcome:
    """The patterns that can be asked, with what each takes."""
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
    note = (
        f"`prejoin query {next(iter(methods), 'AP-001')}` asks the first; what is not given is taken from made-up data"
    )
    result = {"document": read.file, "patterns": patterns}
    return Outcome(result=result, page=columns(rows, ("bold", "", "dim")), notes=(note,))


def _takes(method: Method) -> str:
    return " ".join(f"[{param.name}]" if param.default else param.name for param in method.params)


def _permitted(asked: Pattern, place: str, as_json: bool) -> None:
    somebody = not as_json and sys.stdin.isatty() and sys.stdout.isatty()
    if somebody and ask(f"{asked.id} changes what is in {place}. Do it?"):
        return
    message = f"{asked.id} would change what is in {place}"
    raise CommandError(codes.WOULD_CHANGE, message, "say `--yes`", Status.REFUSED)


def _outdated(file: str, read: Document) -> Iterator[Diagnostic]:
    """A warning where the design is older than what the document asks and decides."""
    if file == read.file:
        return  # it was designed just now
    reasons = outdated(file, read.workload)
    if reasons:
        more = f", and {len(reasons) - _FEW} more" if len(reasons) > _FEW else ""
        message = f"{file} is older than {read.file}: {'; '.join(reasons[:_FEW])}{more}"
        fix = f"`prejoin design {shlex.quote(read.file)}` shows the design of the document as it is now"
        yield codes.OUTDATED.at(None, message, fix)


def _run(
    method: Method,
    code: Code,
    client: Client,
    values: Mapping[str, Any],
    calls: list[Call],
    typed: Sequence[str],
    made_up: frozenset[str] = frozenset(),
) -> Outcome:
    """Runs the pattern. `typed` are the words of the command line after the pattern, for messages that repeat them."""
    if problem := missing(method, code.hints(method), values, typed):
        raise problem
    ordered = {param.name: values[param.name] for param in method.params if param.name in values}
    calls.clear()
    try:
        answer = code.call(client, method, ordered)
    except (TableError, KeyValueError, LookupError, ValueError, DynamoDBError) as refusal:
        if isinstance(refusal, DynamoDBError) and refusal.code != "ValidationException":
            raise  # it is about the place, and not about what was asked
        message = str(refusal.args[0] if isinstance(refusal, LookupError) and refusal.args else refusal)
        fix = "look at the values given, and whether the table is the one of this design"
        raise CommandError(codes.REFUSED, message, fix, Status.FAILED) from None
    items, cursor = items_of(answer), cursor_of(answer)
    asked = method.pattern
    sent = [{"operation": c.operation, "index": c.index or None, "key": c.key, "units": c.units} for c in calls]
    result = {
        "pattern": asked.id,
        "method": method.name,
        "arguments": {name: plain(value) for name, value in ordered.items()},
        "made_up": sorted(made_up),
        "items": items,
        "cursor": cursor,
        "calls": sent,
        "units": sum(call.units for call in calls),
    }
    lines = list(page(asked, method, ordered, items, calls, width_of(sys.stdout), made_up))
    notes = []
    if cursor:
        added = [f"{name}={plain(values[name])}" for name in ordered if name in made_up]
        notes.append(f"there is more: `prejoin query {shlex.join([asked.id, *added, *typed, '--after', cursor])}`")
    return Outcome(Status.FINE, result, lines, notes=tuple(notes))
