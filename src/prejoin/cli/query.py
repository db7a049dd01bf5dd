"""`prejoin query`: one access pattern run by its id: the items as a table, what was sent, and the units it took."""

from __future__ import annotations

import dataclasses
import importlib
import inspect
import sys
import tempfile
import typing
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import click
import msgspec

from prejoin.cli import codes
from prejoin.cli.command import command
from prejoin.cli.designs import kept_design
from prejoin.cli.outcome import CommandError, Line, Outcome, Source
from prejoin.cli.output import table as columns
from prejoin.cli.schemas import connected
from prejoin.cli.show import counted, safe
from prejoin.cli.sources import Document, files_or_default, load
from prejoin.cli.status import Status
from prejoin.design.files import design_beside
from prejoin.design.map_patterns import map_patterns
from prejoin.design.model import Design
from prejoin.design.solve import solve
from prejoin.diagnostics import Severity, has_errors
from prejoin.engine import Embedded
from prejoin.proof.bench import Bench
from prejoin.render.python.method import Method
from prejoin.render.python.package import Options, package_name, render_python, repository_methods
from prejoin.table import Call, Client, TableError
from prejoin.workload.lookup import suggest
from prejoin.workload.model import Pattern

_PACKAGE = "prejoin_generated"
_LONGEST = 40


@command("query")
@click.argument("pattern")
@click.argument("arguments", metavar="[NAME=VALUE]...", nargs=-1)
@click.option("--for", "document", type=click.Path(), help="The document; access-patterns.md if not said.")
@click.option("--table", help="The name of the table; the design's if not said.")
@click.option("--db", type=click.Path(exists=True, dir_okay=False), help="A file of the embedded engine.")
@click.option("--endpoint", metavar="URL", help="A server that speaks DynamoDB's protocol.")
@click.option("--aws", is_flag=True, help="AWS itself.")
@click.option("--region", help="The region of AWS, if not the environment's.")
@click.option("--yes", is_flag=True, help="Write to a table that is not of this command's making, without asking.")
def query(
    pattern: str,
    arguments: tuple[str, ...],
    document: str | None,
    table: str | None,
    db: str | None,
    endpoint: str | None,
    aws: bool,
    region: str | None,
    yes: bool,
) -> Outcome:
    """Run an access pattern: `prejoin query AP-004 user_id=…`.

    Without a place it runs on a table made for it, in memory and full of data; arguments that are not given are then
    taken from the data. Values are written as in JSON, or as they are.
    """
    read = load(files_or_default((document,) if document else ())[0])
    if has_errors(read.reading.diagnostics):
        serious = frozenset({Severity.ERROR, Severity.WARNING})
        return Outcome(
            Status.FAILED, sources=(read.source(serious),), notes=("the document has errors; nothing was asked",)
        )
    design, said = _design(read)
    if design is None:
        return Outcome(Status.FAILED, sources=(said,), notes=("the design has errors; nothing was asked",))
    asked = _pattern(read, pattern)
    operation = design.operation(asked.id)
    if operation is None or not operation.served:
        why = operation.problem if operation else "it is out of scope"
        fix = operation.remedy if operation and operation.remedy else "`prejoin design` tells what would serve it"
        raise CommandError(codes.UNSERVED, f"{asked.id} is not served: {why}", fix, Status.FAILED, read.file)
    method = repository_methods(read.workload, design)[asked.id]
    given = _given(arguments, method)
    with _generated(read, design) as (repository, schema):
        if not (db or endpoint or aws):
            with Embedded() as engine:
                bench = Bench.ready(read.workload, design, engine, datetime.now(UTC))
                client = Client(schema, design.table, engine, observe=bench.calls.append)
                return _run(asked, method, repository, client, given, bench.calls, _example(bench, asked, method))
        if method.result == "None" and not yes:
            message, fix = f"{asked.id} would change the table", "say `--yes`"
            raise CommandError(codes.WOULD_CHANGE, message, fix, Status.REFUSED)
        calls: list[Call] = []
        with connected(schema, table or design.table, db, endpoint, region) as place:
            client = Client(schema, place.table, place._transport, observe=calls.append)
            return _run(asked, method, repository, client, given, calls, {})


def _design(read: Document) -> tuple[Design | None, Source]:
    """The design beside the document, None if that is broken; a new one where there is none."""
    beside = design_beside(Path(read.file))
    if beside.exists():
        kept, said = kept_design(str(beside), read.workload)
        return map_patterns(kept, read.workload) if kept else None, said
    return solve(read.workload).design, read.source()


def _pattern(read: Document, name: str) -> Pattern:
    found = read.workload.pattern(name) or read.workload.pattern(name.upper())
    if found is None:
        meant = suggest(name, [one.id for one in read.workload.patterns])
        fix = (
            f"did you mean {meant}?" if meant else f"it has {', '.join(one.id for one in read.workload.patterns[:12])}"
        )
        raise CommandError(codes.NO_TOPIC, f"there is no pattern {name} in {read.file}", fix, Status.MISUSED)
    return found


def _given(arguments: Sequence[str], method: Method) -> dict[str, str]:
    """The arguments by name."""
    known = [param.name for param in method.params]
    found: dict[str, str] = {}
    for text in arguments:
        name, equals, value = text.partition("=")
        if not equals:
            raise click.UsageError(f"`{text}` is not NAME=VALUE; it takes {', '.join(known) or 'nothing'}")
        if name not in known:
            meant = suggest(name, known)
            raise click.UsageError(f"it takes no {name}: " + (f"did you mean {meant}?" if meant else ", ".join(known)))
        found[name] = value
    return found


@contextmanager
def _generated(read: Document, design: Design) -> Iterator[tuple[type[Any], Any]]:
    """The repository and the schema, as they would be generated, imported from a folder that is gone afterwards."""
    files = render_python(read.workload, design, Options(_PACKAGE, asynchronous=False))
    with tempfile.TemporaryDirectory() as folder:
        for path, text in files.items():
            place = Path(folder) / path
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_text(text, encoding="utf-8")
        sys.path.insert(0, folder)
        try:
            module = importlib.import_module(f"{package_name(read.workload, Options(_PACKAGE))}.repository")
            schema = importlib.import_module(f"{_PACKAGE}.schema").SCHEMA
            classes = [c for c in vars(module).values() if inspect.isclass(c) and c.__module__ == module.__name__]
            yield classes[0], schema
        finally:
            sys.path.remove(folder)
            for name in [name for name in sys.modules if name.split(".")[0] == _PACKAGE]:
                del sys.modules[name]


def _run(
    asked: Pattern,
    method: Method,
    repository: type[Any],
    client: Client,
    given: Mapping[str, str],
    calls: list[Call],
    example: Mapping[str, Any],
) -> Outcome:
    function = getattr(repository(client), method.name)
    hints = typing.get_type_hints(function)
    values: dict[str, Any] = {}
    for param in method.params:
        if param.name in given:
            values[param.name] = _value(param.name, given[param.name], hints[param.name])
        elif param.name in example:
            values[param.name] = example[param.name]
        elif not param.default:
            wanted = ", ".join(one.name for one in method.params if not one.default)
            raise click.UsageError(f"{param.name} is missing: {asked.id} takes {wanted}")
    calls.clear()
    try:
        answer = function(**values)
    except TableError as problem:
        raise CommandError(codes.REFUSED, str(problem), "look at the values given", Status.FAILED) from None
    items = _items(answer)
    used = sum(call.units for call in calls)
    sent = [{"operation": c.operation, "index": c.index or None, "key": c.key, "units": c.units} for c in calls]
    result = {
        "pattern": asked.id,
        "method": method.name,
        "arguments": {name: msgspec.to_builtins(value, enc_hook=_plain) for name, value in values.items()},
        "items": items,
        "cursor": getattr(answer, "cursor", None),
        "calls": sent,
        "units": used,
    }
    return Outcome(Status.FINE, result, list(_page(asked, method, values, items, calls, used)), notes=_notes(answer))


def _value(name: str, text: str, hint: Any) -> Any:
    """A value as its parameter wants it: as it is, or else read as JSON."""
    try:
        return msgspec.convert(text, hint, strict=False)
    except msgspec.ValidationError:
        try:
            return msgspec.json.decode(text.encode(), type=hint, strict=False)
        except msgspec.MsgspecError as problem:
            raise click.UsageError(f"{name}: {problem}") from None


def _example(bench: Bench, asked: Pattern, method: Method) -> dict[str, Any]:
    """Values of the data for the parameters of a pattern, by the names that these have."""
    found: dict[str, Any] = {}
    for name in asked.entities:
        for item in bench.items.get(name, ())[:1]:
            entity = bench.entity(name)
            for attribute in entity.attributes:
                if attribute.name in item:
                    found.setdefault(attribute.name, item[attribute.name])
    bare = {_folded(name): value for name, value in found.items()}
    return {param.name: bare[_folded(param.name)] for param in method.params if _folded(param.name) in bare}


def _folded(name: str) -> str:
    return name.replace("_", "").lower()


def _items(answer: Any) -> list[dict[str, Any]]:
    """What was found, as plain data."""
    if answer is None:
        return []
    if isinstance(answer, int):
        return [{"count": answer}]
    found = answer.items if hasattr(answer, "cursor") else answer if isinstance(answer, list | tuple) else [answer]
    return [_record(one) for one in found]


def _record(one: Any) -> dict[str, Any]:
    if dataclasses.is_dataclass(one):
        plain = {field.name: getattr(one, field.name) for field in dataclasses.fields(one)}
        return {"entity": type(one).__name__, **msgspec.to_builtins(plain, enc_hook=_plain)}
    return {"value": msgspec.to_builtins(one, enc_hook=_plain)}


def _plain(value: Any) -> Any:
    return sorted(value) if isinstance(value, set | frozenset) else str(value)


def _page(
    asked: Pattern,
    method: Method,
    values: Mapping[str, Any],
    items: Sequence[Mapping[str, Any]],
    calls: Sequence[Call],
    used: float,
) -> Iterator[Line]:
    said = ", ".join(f"{name}={value!s}" for name, value in values.items())
    yield ((f"{asked.id} ", "bold"), safe(asked.description or asked.id), (f"  {method.name}({safe(said)})", "dim"))
    yield ()
    names = list(dict.fromkeys(name for item in items for name in item))
    if items:
        rows = [names, *([_cell(item.get(name)) for name in names] for item in items)]
        first, *rest = columns(rows, ("bold", *[""] * len(names)))
        yield [(piece if isinstance(piece, str) else piece[0], "dim") for piece in first]
        yield from rest
        yield ()
    for call in calls:
        where = f" on {call.index}" if call.index else ""
        yield ((f"{call.operation}{where}", "green"), f"  {safe(call.key)}  {call.units:g} units")
    yield (f"{counted(len(items), 'item')}, {counted(len(calls), 'request')}, {used:g} units.",)


def _cell(value: Any) -> str:
    text = safe("" if value is None else str(value))
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"


def _notes(answer: Any) -> tuple[str, ...]:
    cursor = getattr(answer, "cursor", None)
    return (f"there is more: after={cursor}",) if cursor else ()
