"""Run one access pattern by its id, with the generated code: `query` on sample data, or on a table that exists."""

from __future__ import annotations

import dataclasses
import shlex
import typing
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import Any

import msgspec

from prejoin.design.files import design_beside, read_design_file
from prejoin.design.mapping.map_patterns import map_patterns
from prejoin.design.model import Design
from prejoin.design.solver.program.integer_program import InfeasibleError
from prejoin.design.solver.solve import solve
from prejoin.diagnostics import Diagnostic, Severity
from prejoin.engine import Embedded
from prejoin.keys import KeyValueError, fields_of
from prejoin.pipeline import codes
from prejoin.pipeline.connection import TablePlace, connect
from prejoin.pipeline.design.design_file import checked_design, design_in_use, outdated_reasons, places_in
from prejoin.pipeline.document import Document, text_of
from prejoin.pipeline.errors import InputError, InvalidArgumentError, PipelineError, RefusedError, Source
from prejoin.pipeline.query.arguments import example, parameter, read_value, require_arguments
from prejoin.proof.package import LoadedPackage, load_package
from prejoin.proof.sample_table import SampleTable
from prejoin.protocol.errors import DynamoDBError
from prejoin.render.python.method import Method
from prejoin.render.python.package import Options, repository_methods, repository_tenant
from prejoin.render.python.repository import OF_TENANT
from prejoin.table.client.client import Client
from prejoin.table.client.observe import Call
from prejoin.table.errors import TableError
from prejoin.workload.lookup import suggest
from prejoin.workload.model import Pattern, Write
from prejoin.workload.optional_inputs import is_all_optional
from prejoin.workload.program.resolved_read import ReturnKind
from prejoin.workload.tenants import is_owned, is_scoped

ENTITY = "entity"
"""The name under which an item has its entity."""
_MOST_REASONS = 3
"""Differences between document and design that a message names."""


@dataclass(frozen=True)
class QueryDesign:
    """A document, the design that its queries run on, and the methods of the repository, by pattern."""

    document: Document
    design: Design
    file: str
    """The file of the design; the document, if it was designed just now."""
    diagnostics: tuple[Diagnostic, ...] = ()
    """A warning if the design is older than the document."""
    errors: tuple[Diagnostic, ...] = ()
    """The errors that `check` reports about a design in a file."""
    text: str = ""
    """The text of that file."""

    @property
    def source(self) -> Source:
        return Source(self.file, "", self.diagnostics)

    @cached_property
    def methods(self) -> Mapping[str, Method]:
        """The methods, by the ids of their patterns. Those of a tenant have the tenant as their first parameter."""
        workload = self.document.workload
        tenant = repository_tenant(workload, self.design)
        methods = repository_methods(workload, self.design)
        if tenant is None:
            return methods
        return {
            pattern_id: replace(method, params=(tenant, *method.params))
            if is_scoped(workload, method.pattern)
            else method
            for pattern_id, method in methods.items()
        }

    def method(self, pattern: str) -> Method:
        """The method of a pattern; an error that says why there is none."""
        workload, file = self.document.workload, self.document.file
        target = workload.pattern(pattern) or workload.pattern(pattern.upper())
        if target is None:
            near_id = suggest(pattern, [known_pattern.id for known_pattern in workload.patterns])
            fix = f"did you mean {near_id}?" if near_id else "`prejoin query` without a pattern lists them"
            raise InvalidArgumentError(codes.NO_TOPIC, f"there is no pattern {pattern} in {file}", fix)
        operation = self.design.operation(target.id)
        if operation is None or not operation.served:
            self.require_no_errors(target, in_sample_data=False)  # in the words of `check`
            why = operation.problem if operation else "it is out of scope"
            fix = (operation.remedy if operation else "") or "`prejoin design` shows a key that would serve it"
            raise PipelineError(codes.UNSERVED, f"{target.id} is not served: {why}", fix, file)
        if outside := self._outside_tenant():
            why = f"the keys of {' and '.join(outside[:_MOST_REASONS])} do not begin with the tenant"
            raise PipelineError(codes.UNSERVED, f"{target.id} is not served: {why}", _design_again(file), file)
        if target.id not in self.methods:
            message = f"{target.id} sends no request: DynamoDB deletes the items some time after they have expired"
            raise InvalidArgumentError(codes.NO_TOPIC, message, "run another pattern")
        return self.methods[target.id]

    def require_no_errors(self, pattern: Pattern, *, in_sample_data: bool) -> None:
        """Raises an `InputError` with the errors of the design that keep a pattern from running.

        On a table that exists they are those about the pattern, its entities, the indexes it uses, and the whole.
        Sample data has items of all entities with a key, so an error about any of them counts, too.
        """
        operation = self.design.operation(pattern.id)
        subjects = {"", pattern.id, *(request.slot for request in (operation.requests if operation else ()))}
        actions = pattern.actions if isinstance(pattern, Write) else ()
        entities = {*pattern.entities, *(action.entity for action in actions)}
        for item in self.design.items:
            if in_sample_data or item.entity in entities:
                subjects |= {item.entity, item.name, *(facet.slot for facet in item.facets)}
        errors = tuple(error for error in self.errors if error.about in subjects)
        if errors:
            raise InputError(Source(self.file, self.text, errors), note=f"{pattern.id} was not run")

    def _outside_tenant(self) -> list[str]:
        """Entities of a tenant whose keys do not begin with it, because the design is older than the tenant."""
        workload = self.document.workload
        if workload.tenant is None:
            return []
        keys = [(item.entity, part) for item in self.design.items for facet in item.facets for part in facet.pk]
        owned_keys = [(name, part) for name, part in keys if is_owned(workload, name)]
        return list(
            dict.fromkeys(name for name, part in owned_keys if fields_of(part)[:1] != (workload.tenant.attribute,))
        )


@dataclass(frozen=True, slots=True)
class QueryResult:
    """The result of a pattern, and its requests."""

    method: Method
    arguments: Mapping[str, Any]
    made_up: frozenset[str]
    """The arguments that were taken from the sample data."""
    items: tuple[dict[str, Any], ...]
    """Items as plain data, each with its entity."""
    cursor: str | None
    """Where the next page begins; None if there is none."""
    calls: tuple[Call, ...]

    @property
    def pattern(self) -> Pattern:
        return self.method.pattern

    @property
    def units(self) -> float:
        """Capacity units consumed."""
        return sum(call.units for call in self.calls)


def query_design(document: Document) -> QueryDesign:
    """The design that queries of a document run on: the one beside it, or a new one.

    Raises an `InputError` if the document or the design has errors.
    """
    document.require_no_errors("the document has errors; nothing was run")
    beside = design_beside(Path(document.file))
    if document.file and beside.exists():
        design = design_in_use(beside, document.workload, "the design has errors; nothing was run")
        design = map_patterns(design, document.workload)
        reading = read_design_file(beside, document.workload)
        diagnostics = checked_design(design, document.workload, places_in(reading))
        errors = tuple(diagnostic for diagnostic in diagnostics if diagnostic.severity is Severity.ERROR)
        warnings = tuple(_outdated_diagnostics(str(beside), document))
        return QueryDesign(document, design, str(beside), warnings, errors, text_of(beside))
    try:
        return QueryDesign(document, solve(document.workload).design, document.file)
    except InfeasibleError:
        message = f"the decisions of the document cannot all hold; `prejoin design {document.file}` says why"
        fix = "change one of the decisions"
        raise PipelineError(codes.CONTRADICTION, message, fix, document.file) from None


def run_pattern(
    document: Document | QueryDesign,
    pattern: str,
    arguments: Mapping[str, Any] | None = None,
    *,
    place: TablePlace | None = None,
    table: str | None = None,
    confirm: Callable[[Pattern], bool] = lambda pattern: True,
) -> QueryResult:
    """Runs an access pattern by its id, with the code that a build generates.

    `arguments` are values, or texts that are read as values of their types: `{"user_id": "42", "limit": "5"}`. Without
    a place, it runs on a new table in memory, full of sample data, from which missing arguments are taken. On a table
    that exists, a write is sent only if `confirm` returns True, and a `RefusedError` is raised otherwise.

    Raises an `InvalidArgumentError` for a pattern or an argument that does not exist, a `MissingArgumentsError`, and
    another `PipelineError` if the table does not accept the request.
    """
    query = document if isinstance(document, QueryDesign) else query_design(document)
    method = query.method(pattern)
    query.require_no_errors(method.pattern, in_sample_data=place is None)
    given_values = {parameter(method, name).name: value for name, value in (arguments or {}).items()}
    package = load_package(query.document.workload, query.design, Options(asynchronous=False))
    hints = _hints(package, method)
    values = {name: _value(name, value, hints[name]) for name, value in given_values.items()}
    if place is None:
        with _sample_table(query, package) as sample:
            needed_names = {param.name for param in method.params if not param.default} - set(values)
            sample_values = example(sample, method.pattern, method)
            write = method.pattern
            if not given_values and isinstance(write, Write) and is_all_optional(query.document.workload, write):
                needed_names |= set(sample_values)  # with none of them it would be refused
            made_up = {name: value for name, value in sample_values.items() if name in needed_names}
            values = {**made_up, **values}
            require_arguments(method, hints, values)
            return _run(method, package, sample.client, values, sample.calls, frozenset(made_up))
    require_arguments(method, hints, values)
    if method.result.kind is ReturnKind.NOTHING and not confirm(method.pattern):
        message = f"{method.pattern.id} would change data in {place}"
        raise RefusedError(codes.WOULD_CHANGE, message, "pass `--yes`")
    calls: list[Call] = []
    with connect(package.schema, table or query.design.table, place) as connected_client:
        client = Client(package.schema, connected_client.table, connected_client._transport, observe=calls.append)
        return _run(method, package, client, values, calls)


@contextmanager
def _sample_table(query: QueryDesign, package: LoadedPackage) -> Iterator[SampleTable]:
    with Embedded() as engine:
        # The data is the same all day, so that a cursor of one page leads to the next.
        now = datetime.now(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
        yield SampleTable.create(query.document.workload, query.design, engine, now, package=package)


def _hints(package: LoadedPackage, method: Method) -> dict[str, Any]:
    """The types of the parameters of a method, and of the tenant."""
    tenant = getattr(package.repository, OF_TENANT, None)
    method_hints = typing.get_type_hints(getattr(package.repository, method.name))
    return {**(typing.get_type_hints(tenant) if tenant else {}), **method_hints}


def _value(name: str, value: Any, hint: Any) -> Any:
    if isinstance(value, str):
        return read_value(name, [value], hint)
    if isinstance(value, list) and value and all(isinstance(text, str) for text in value):
        return read_value(name, value, hint)
    return value


def _run(
    method: Method,
    package: LoadedPackage,
    client: Client,
    values: Mapping[str, Any],
    calls: list[Call],
    made_up: frozenset[str] = frozenset(),
) -> QueryResult:
    tenant = package.rendered.tenant
    ordered_values = {param.name: values[param.name] for param in method.params if param.name in values}
    calls.clear()
    try:
        package_method = package.methods[method.pattern.id]
        answer = package.call(
            client, package_method, ordered_values, ordered_values.get(tenant.name) if tenant else None
        )
    except (TableError, KeyValueError, LookupError, ValueError, DynamoDBError) as refusal:
        if isinstance(refusal, DynamoDBError) and refusal.code != "ValidationException":
            raise  # it is about the place, not about the arguments
        message = str(refusal.args[0] if isinstance(refusal, LookupError) and refusal.args else refusal)
        fix = "check the values, and whether the table is the one of this design"
        raise PipelineError(codes.REFUSED, message, fix) from None
    return QueryResult(method, ordered_values, made_up, tuple(_items(answer)), _cursor(answer), tuple(calls))


def _outdated_diagnostics(file: str, document: Document) -> Iterator[Diagnostic]:
    reasons = outdated_reasons(file, document.workload)
    if reasons:
        others_text = f", and {len(reasons) - _MOST_REASONS} more" if len(reasons) > _MOST_REASONS else ""
        message = f"{file} is older than {document.file}: {'; '.join(reasons[:_MOST_REASONS])}{others_text}"
        yield codes.OUTDATED.at(None, message, _design_again(document.file))


def _design_again(file: str) -> str:
    return f"`prejoin design {shlex.quote(file)}` shows the design of the document as it is now"


# --- Results as plain data ------------------------------------------------------------------------------------------


def plain(value: Any) -> Any:
    """A value as JSON has it."""
    return msgspec.to_builtins(value, enc_hook=_plain)


def _plain(value: Any) -> Any:
    return sorted(value) if isinstance(value, set | frozenset) else str(value)


def _items(answer: Any) -> list[dict[str, Any]]:
    if answer is None:
        return []
    if isinstance(answer, int):
        return [{"count": answer}]
    if isinstance(answer, Mapping):
        return [item for value in answer.values() for item in _items(value)]
    if isinstance(answer, tuple):  # the items of a read, and those that they refer to
        return [item for part in answer for item in _items(part)]
    results = answer.items if hasattr(answer, "cursor") else answer if isinstance(answer, list) else [answer]
    return [_record(result) for result in results]


def _record(result: Any) -> dict[str, Any]:
    if dataclasses.is_dataclass(result):
        values = {field.name: getattr(result, field.name) for field in dataclasses.fields(result)}
        return {ENTITY: type(result).__name__, **plain(values)}
    return {"value": plain(result)}


def _cursor(answer: Any) -> str | None:
    page = answer[0] if isinstance(answer, tuple) and answer else answer
    return getattr(page, "cursor", None)
