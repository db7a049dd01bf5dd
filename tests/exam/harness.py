"""Builds the documents of an exam and runs its cases, each on a table of its own, with both repositories."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

import msgspec
from tests.exam.documents import ACTING, DocumentText, Item, Row, Stored, Tenancy
from tests.solutions import solve

from prejoin import AsyncClient, Client, ConditionFailed, Embedded, TransactionCancelled
from prejoin.design.checks import check_design
from prejoin.diagnostics import Diagnostic, Severity
from prejoin.proof.package import LoadedPackage, load_package
from prejoin.proof.prove import prove
from prejoin.render.python.method import InputValue, KnownValue, Method, Option, Param, RecordValue
from prejoin.workload.files import read_text
from prejoin.workload.model import Workload

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
"""The time that methods are given."""
NOT_GIVEN = object()
"""The argument of an optional input that the caller leaves out."""


@dataclass(frozen=True, slots=True)
class Case:
    """A call of a row's method on a table."""

    row: Row
    label: str
    before: Stored
    arguments: Mapping[str, Any]
    """By the names of inputs, entities (`Ticket`, an item) and lists (`Ticket[]`, items; `ticketId[]`)."""
    after: Stored | None
    """The table that the document demands; None if it demands a refusal."""
    refusals: tuple[type[Exception], ...] = ()
    """Further errors that are a refusal here, beside failed conditions."""
    needs: str = ""
    """An input without which there is no such call; the method may take its value from an object."""


@dataclass(frozen=True, slots=True)
class Exam:
    """The cases of one document."""

    name: str
    document: DocumentText
    cases: Sequence[Case]

    @property
    def tenancy(self) -> Tenancy:
        return self.document.tenancy


@dataclass(frozen=True, slots=True)
class Plan:
    """An exam that is not made yet: making its cases takes longer than collecting the tests."""

    name: str
    tenancy: Tenancy
    make: Callable[[], Exam]

    def __str__(self) -> str:
        return f"{self.name}, {self.tenancy.name}"


@dataclass(frozen=True, slots=True)
class RowResult:
    """What became of a row: built or refused, and the cases that went wrong."""

    exam: Exam
    row: Row
    refused: str = ""
    """Why it cannot be built, or is not proven."""
    wrong: tuple[tuple[str, str], ...] = ()
    """The label of each case that went wrong, and how."""
    cases: int = 0

    @property
    def verdict(self) -> str:
        if self.row.contradiction:
            return "right" if self.refused.startswith("refused:") else "wrong"
        if self.refused:
            return "cannot be built"
        return "wrong" if self.wrong else "right"

    @property
    def texts(self) -> Iterator[str]:
        """A line for each distinct way in which the row went wrong, with the cases."""
        if self.verdict == "cannot be built":
            yield self.refused
        elif self.verdict == "wrong" and self.row.contradiction:
            yield f"a contradiction is not refused by check; {self.refused or 'it is built'}"
        else:
            labels: dict[str, list[str]] = {}
            for label, text in self.wrong:
                labels.setdefault(text, []).append(label)
            for text, cases in labels.items():
                yield f"{text} [{', '.join(cases)}]"


# --- Building -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class BuiltRow:
    package: LoadedPackage
    method: Method


def build(document: DocumentText, proven: bool = False) -> dict[Row, BuiltRow | str]:
    """The method of each row, or why there is none. Rows that cannot be built do not stop the others."""
    text = str(document)
    reading = read_text(text, "md")
    errors = [d for d in reading.diagnostics if d.severity is Severity.ERROR]
    if errors:
        return _without_refused(document, _by_row(document, errors, text), _told(errors[0]), proven)
    try:
        built = _built(document, reading.workload)
        if proven:
            built |= _unproven(document, reading.workload, built)
    except Exception as error:
        return _without_refused(document, {}, f"crashed: {type(error).__name__}: {error}", proven)
    return built


def _built(document: DocumentText, workload: Workload) -> dict[Row, BuiltRow | str]:
    design = solve(workload).design
    package = load_package(workload, design)
    errors = {d.about: _told(d) for d in check_design(design, workload) if d.severity is Severity.ERROR}
    built: dict[Row, BuiltRow | str] = {}
    for row in document.rows:
        pattern = document.pattern(row)
        operation = design.operation(pattern)
        if operation is None or not operation.served:
            problem = operation.problem if operation else "it is not in the design"
            built[row] = f"refused by design: {problem}"
        elif pattern in errors:
            built[row] = errors[pattern]
        else:
            built[row] = BuiltRow(package, package.methods[pattern])
    return built


def _unproven(
    document: DocumentText, workload: Workload, built: Mapping[Row, BuiltRow | str]
) -> dict[Row, BuiltRow | str]:
    """The rows that were built and that the proof does not accept."""
    proof = prove(workload, solve(workload).design, Embedded(), now=NOW)
    problems = {p.pattern: p.problem or p.wrong for p in proof.patterns if p.problem or p.wrong}
    rows = {document.pattern(row): row for row in document.rows if isinstance(built[row], BuiltRow)}
    return {row: f"not proven: {problems[pattern]}" for pattern, row in rows.items() if pattern in problems}


def _without_refused(
    document: DocumentText, refused: dict[Row, str], problem: str, proven: bool
) -> dict[Row, BuiltRow | str]:
    """Builds the rows that are not refused. If it is not known which row has the problem, each half is built."""
    rows = [row for row in document.rows if row not in refused]
    built: dict[Row, BuiltRow | str] = dict(refused)
    if refused:
        parts = [rows] if rows else []
    elif len(rows) > 1:
        parts = [rows[: len(rows) // 2], rows[len(rows) // 2 :]]
    else:
        return dict.fromkeys(rows, problem)
    for part in parts:
        built |= build(replace(document, rows=part), proven)
    return built


def _by_row(document: DocumentText, errors: Iterable[Diagnostic], text: str) -> dict[Row, str]:
    lines = text.splitlines()
    rows = {document.pattern(row): row for row in document.rows}
    found: dict[Row, str] = {}
    for error in errors:
        line = lines[error.line - 1] if error.line else ""
        row = rows.get(line.removeprefix("| ").split(" |")[0])
        if row is not None:
            found.setdefault(row, _told(error))
    return found


def _told(diagnostic: Diagnostic) -> str:
    return f"refused: {diagnostic.code} {diagnostic.message}"


# --- Running --------------------------------------------------------------------------------------------------------


class AskedError(Exception):
    """The method has a parameter for something that the document does not give."""


def examine(exam: Exam, proven: bool = False) -> list[RowResult]:
    """The result of each row."""
    built = build(exam.document, proven)
    results: list[RowResult] = []
    for row in exam.document.rows:
        cases = [case for case in exam.cases if case.row is row]
        method = built[row]
        if isinstance(method, str):
            results.append(RowResult(exam, row, refused=method, cases=len(cases)))
            continue
        wrong = [(case.label, text) for case in cases if (text := run(exam, case, method))]
        results.append(RowResult(exam, row, wrong=tuple(wrong), cases=len(cases)))
    return results


def failures(plan: Plan, proven: bool = False) -> list[str]:
    """A line for each way in which a row goes wrong; with `proven`, also if the proof does not accept it."""
    wrong = [result for result in examine(plan.make(), proven) if result.verdict != "right"]
    return [f"{result.row}: {text}" for result in wrong for text in result.texts]


def run(exam: Exam, case: Case, built: BuiltRow) -> str:
    """How a call goes wrong; empty if it does what the document says, with both repositories."""
    tenant = ACTING if exam.tenancy.attribute else None
    if case.needs and case.needs not in [
        p.meaning.input for p in built.method.params if isinstance(p.meaning, InputValue)
    ]:
        return ""
    try:
        arguments = {p.name: v for p in built.method.params if (v := _argument(p, case, built)) is not NOT_GIVEN}
    except AskedError as asked:
        return str(asked)
    texts: list[str] = []
    for asynchronous in (False, True):
        engine, client = _filled(built.package, case.before)
        before = _content(engine)
        error: Exception | None = None
        try:
            if asynchronous:
                async_client = AsyncClient(built.package.schema, "exam", engine)
                _LOOP.run_until_complete(built.package.call(async_client, built.method, arguments, tenant))
            else:
                built.package.call(client, built.method, arguments, tenant)
        except Exception as raised:
            error = raised
        texts.append(_judge(case, built, error, before, _content(engine)))
        engine.close()
    if texts[0] and not texts[1]:
        return f"{texts[0]} (sync only)"
    return texts[0] or (f"{texts[1]} (async only)" if texts[1] else "")


_LOOP = asyncio.new_event_loop()
Content = dict[str, Any]
_UUID = re.compile("00000000-0000-0000-0000-0{8,}")
"""The beginning of the ids in exams, which messages leave out."""


def _judge(case: Case, built: BuiltRow, error: Exception | None, before: Content, after: Content) -> str:
    if error is not None:
        if not _is_refusal(error, case.refusals):
            return f"{type(error).__name__}: {str(error)[:160]}"
        if case.after is not None:
            return f"refused, must be accepted: {type(error).__name__}"
        return f"refused, and the table changed: {_difference(before, after)}" if after != before else ""
    if case.after is None:
        return f"accepted, must be refused: {_difference(before, after)}"
    engine, _ = _filled(built.package, case.after)
    expected = _content(engine)
    engine.close()
    return f"accepted, and the table is not as it must be: {_difference(expected, after)}" if after != expected else ""


def _is_refusal(error: Exception, others: tuple[type[Exception], ...]) -> bool:
    if isinstance(error, TransactionCancelled):
        return bool(error.failures) and all(isinstance(failure, ConditionFailed) for failure in error.failures)
    return isinstance(error, (ConditionFailed, *others))


def _difference(expected: Content, actual: Content) -> str:
    parts = [f"+ {key}" for key in actual if key not in expected]
    parts += [f"- {key}" for key in expected if key not in actual]
    for key in expected.keys() & actual.keys():
        old, new = expected[key], actual[key]
        changed = [f"{n} {old.get(n)} -> {new.get(n)}" for n in sorted({*old, *new}) if old.get(n) != new.get(n)]
        parts += [f"{key}: {', '.join(changed)}"] if changed else []
    return _UUID.sub("…", "; ".join(sorted(parts)))[:300] or "no change"


def _filled(package: LoadedPackage, items: Stored) -> tuple[Embedded, Client]:
    engine = Embedded()
    client = Client(package.schema, "exam", engine)
    client.create_table()
    for entity, item in items:
        client.insert(package.record(entity, item))
    return engine, client


def _content(engine: Embedded) -> Content:
    """All items of the table as DynamoDB has them, by their keys; sets in order."""
    answer = msgspec.json.decode(engine.send("Scan", b'{"TableName": "exam", "ConsistentRead": true}'))
    content: Content = {}
    for item in answer["Items"]:
        plain = {name: _plain(value) for name, value in item.items()}
        content[" ".join(str(plain.get(name)) for name in ("pk", "sk"))] = plain
    assert len(content) == len(answer["Items"])
    return content


def _plain(value: Any) -> Any:
    (kind, inner), *_ = value.items()
    return sorted(inner) if kind in ("SS", "NS", "BS") else inner


def _argument(param: Param, case: Case, built: BuiltRow) -> Any:
    """The argument for a parameter, from what the case gives by the names of the document."""
    given = case.arguments
    match param.meaning:
        case Option(name):
            return NOW if name == "now" else NOT_GIVEN
        case RecordValue(entity, many):
            name = f"{entity}[]" if many else entity
            if name in given:
                items: Sequence[Item] = given[name] if many else [given[name]]
                records = [built.package.record(entity, item) for item in items]
                return records if many else records[0]
        case InputValue(name, _, many):
            for key in (f"{name}[]",) if many else (name,):
                if key in given:
                    return given[key]
            objects = [item for item in given.values() if isinstance(item, Mapping) and name in item]
            if objects and not many:
                return objects[0][name]
        case KnownValue(entity, attribute, False, False):
            for stored_entity, item in case.before:
                if stored_entity == entity and all(item.get(n, v) == v for n, v in given.items()) and attribute in item:
                    return item[attribute]
    if param.default:
        return NOT_GIVEN
    raise AskedError(f"asks for {param.name}: {param.annotation} ({type(param.meaning).__name__})")
