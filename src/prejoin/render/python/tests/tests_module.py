"""Renders `tests/test_repository.py`: tests that call each method on the embedded engine.

A write has one test that does it, and one for each condition, in which it is refused. The items and arguments are those
of the cases (`prejoin.cases`) that the proof builds, with the values of the seed.
"""

from __future__ import annotations

from collections.abc import Container, Mapping
from dataclasses import dataclass

from prejoin.cases.write_cases import NothingFitsError
from prejoin.render.python.context import RenderContext
from prejoin.render.python.layout import Imports, call, comment, docstring, keyword, string
from prejoin.render.python.method import Method
from prejoin.render.python.seed import maker
from prejoin.render.python.statements import BLANK, Assert, Assign, Function, Raise, Return, Statement, Try, lines_of
from prejoin.render.python.tests.plan import PlannedTest, planned_tests
from prejoin.render.python.tests.read_test import PlannedRead, planned_read, read_test
from prejoin.render.python.tests.sample_body import TestBody
from prejoin.render.python.tests.write_test import write_test
from prejoin.workload.contents import contents_of
from prejoin.workload.field_names import identifier
from prejoin.workload.model import Attribute, Entity, Read


@dataclass(frozen=True, slots=True)
class MethodTests:
    """The tests of a method; or the reason why it has none."""

    method: Method
    tests: tuple[PlannedTest | PlannedRead, ...] = ()
    reason: str = ""

    @property
    def names(self) -> list[str]:
        return [test.name for test in self.tests]


def tests_of(context: RenderContext, methods: Mapping[str, Method], untested: Container[str]) -> dict[str, MethodTests]:
    """The tests of each method, by the ids of their patterns."""
    tests: dict[str, MethodTests] = {}
    for pattern, method in methods.items():
        if pattern in untested:
            tests[pattern] = MethodTests(method, reason="it is not proven, and a test of it fails")
            continue
        try:
            if isinstance(method.pattern, Read):
                tests[pattern] = MethodTests(method, (planned_read(context, method),))
            else:
                tests[pattern] = MethodTests(method, tuple(planned_tests(context, method)))
        except NothingFitsError as error:
            tests[pattern] = MethodTests(method, reason=str(error))
    return tests


def tests_module(context: RenderContext, tests_by_pattern: Mapping[str, MethodTests], package: str) -> list[str]:
    """The lines of the module. A remark says why a method has no test."""
    imports = Imports()
    block: list[Statement] = [BLANK, BLANK, _ready(context, imports, package)]
    tests = [test for method_tests in tests_by_pattern.values() for test in method_tests.tests]
    refusals = [test for test in tests if isinstance(test, PlannedTest) and test.is_refused]
    if refusals:
        is_partial = any(test.is_partial for test in refusals)
        block += [BLANK, BLANK, _refusal_helper(is_partial, imports)]
    for pattern, method_tests in tests_by_pattern.items():
        if method_tests.reason:
            remark = f"{pattern}, `{method_tests.method.name}`, has no test: {method_tests.reason}."
            block += [BLANK, BLANK, *comment(remark)]
        for test in method_tests.tests:
            block += [BLANK, BLANK, _test(TestBody(context, method_tests.method, imports, package), test)]
    for entity in context.workload.entities:
        for attribute in contents_of(entity):
            block += [BLANK, BLANK, _content_test(context, entity, attribute, imports, package)]
    title = context.workload.title or "the application"
    head = docstring(f"Every access pattern of {title}, run on an empty table.")
    return [*head, "", *imports.lines(package), *lines_of(block)]


def _ready(context: RenderContext, imports: Imports, package: str) -> Function:
    """The function that makes a repository on an empty table."""
    repository = f"{context.names.title}Repository"
    imports.name("prejoin", "Embedded", "Client")
    imports.name(f"{package}.repository", repository)
    name = schema = "SCHEMA"
    if context.design.stores:
        imports.name("prejoin", "MemoryStore")
        name, schema = "schema", "schema(MemoryStore())"
    imports.name(f"{package}.schema", name, "TABLE")
    client = Assign("db", f"Client({schema}, TABLE, Embedded())")
    block: list[Statement] = [client, "db.create_table()", Return(f"{repository}(db)")]
    return Function("ready", (), repository, block, ("A repository on an empty table.",))


def _test(body: TestBody, planned: PlannedTest | PlannedRead) -> Function:
    block = read_test(body, planned) if isinstance(planned, PlannedRead) else write_test(body, planned)
    return Function(planned.name, (), "None", block, (f"{body.method.pattern.id}: {planned.text}",))


def _refusal_helper(is_partial: bool, imports: Imports) -> Function:
    """The assertion that a write is refused. It needs no pytest: `prejoin build` may run without."""
    imports.name("collections.abc", "Iterator")
    imports.name("contextlib", "contextmanager")
    imports.name("prejoin", "ConditionFailed", "TransactionCancelled")
    parameters = ["db: Client"]
    words = ["A call that is refused and writes nothing."]
    if is_partial:
        parameters += ["*", "partly: bool = False"]
        words.append("With `partly`, items before the refused one may be written: the write is no transaction")
    is_unchanged = 'db.call("Scan")["Items"] == before'
    block: list[Statement] = [
        Assign("before", 'db.call("Scan")["Items"]'),
        Try(
            ["yield"],
            "(ConditionFailed, TransactionCancelled)",
            [Assert(f"{'partly or ' if is_partial else ''}{is_unchanged}")],
            [Raise("AssertionError", '"it was not refused"')],
        ),
    ]
    return Function("refused", tuple(parameters), "Iterator[None]", block, tuple(words), "contextmanager")


def _content_test(
    context: RenderContext, entity: Entity, attribute: Attribute, imports: Imports, package: str
) -> Function:
    """The test of a large content."""
    names, fields = context.names, context.names.fields[entity.name]
    cls, field = names.classes[entity.name], fields[attribute.name]
    imports.name("prejoin", "read_large", "write_large")
    imports.name(f"{package}.entities", cls)
    imports.name(package, "seed")
    key = [keyword(fields[name], f"record.{fields[name]}") for name in context.key_attributes(entity)]
    block: list[Statement] = [
        Assign("db", "ready().db"),
        Assign("record", f"seed.{maker(names, entity)}()"),
        "db.insert(record)",
        Assign("content", "bytes(range(256)) * 4096"),
        call("write_large", "db", cls, string(field), "content", *key),
        Assign("found", call("db.get", cls, *key)),
        Assert("found is not None"),
        Assert(f"read_large(db, found, {string(field)}) == content"),
    ]
    where = "an object store" if context.design.in_store(entity.name, attribute.name) else "parts beside its item"
    text = f"{entity.name}.{attribute.name}: a content of 1 MB, in {where}"
    return Function(f"test_content_of_{identifier(cls)}_{field}", (), "None", block, (text,))
