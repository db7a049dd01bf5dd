"""The repository: a class with one method for each access pattern, and its twin for those who await."""

from __future__ import annotations

from collections.abc import Iterator

from prejoin.design.model import Operation
from prejoin.render.python.layout import STEP, comment, docstring
from prejoin.render.python.method import Method, Module, Option
from prejoin.render.python.reads import read_method
from prejoin.render.python.writes import write_method
from prejoin.workload.model import OutOfScope, Pattern, Read, Verb, Workload


def repository_module(module: Module, methods: dict[str, Method]) -> list[str]:
    """The module of a repository."""
    workload, names = module.workload, module.names
    client = "AsyncClient" if module.aio else "Client"
    module.imports.name("prejoin.table", client)
    name = f"{'Async' if module.aio else ''}{names.title}Repository"
    title = workload.title or "the application"
    lines = [f"class {name}:", *docstring(f"What {title} asks of its table, and does to it.", indent=STEP), ""]
    lines += [f"{STEP}def __init__(self, db: {client}) -> None:", f"{STEP * 2}self.db = db"]
    for pattern in workload.patterns:
        method = methods.get(pattern.id)
        operation = module.design.operation(pattern.id)
        if method is not None and operation is not None:
            words = [*module.words(pattern, operation), *_safe(method)]
            lines += ["", *method.lines(words, module.aio)]
    absent = list(_absent(workload, module))
    if absent:
        lines += ["", *(line for text in absent for line in comment(text, STEP))]
    once = ", awaited" if module.aio else ""
    head = docstring(f"The access patterns of {title}, one method each{once}.")
    return [*head, "", *module.imports.lines(), "", "", *lines]


def _safe(method: Method) -> Iterator[str]:
    """That a write may be repeated, where it may."""
    for param in method.params:
        if param.meaning == Option("token"):
            yield f"Repeated with the same `{param.name}` within ten minutes, it is done once."


def methods_of(module: Module) -> dict[str, Method]:
    """The methods of all patterns that are served by the table, by the patterns' ids."""
    found: dict[str, Method] = {}
    for pattern in module.workload.patterns:
        operation = module.design.operation(pattern.id)
        if operation is None or reason(module.workload, pattern, operation):
            continue
        if isinstance(pattern, Read):
            found[pattern.id] = read_method(module, pattern, operation)
        else:
            found[pattern.id] = write_method(module, pattern, operation)
    return found


def reason(workload: Workload, pattern: Pattern, operation: Operation | None) -> str:
    """Why a pattern has no method; empty where it has one."""
    if any(isinstance(d.pin, OutOfScope) and d.pin.pattern == pattern.id for d in workload.decisions):
        return "it is answered by something else than this table"
    if operation is None:
        return "it is not in the design"
    if operation.problem:
        return operation.problem
    if not isinstance(pattern, Read) and all(a.verb is Verb.EXPIRE for a in pattern.actions):
        return "DynamoDB does it by itself"
    return ""


def _absent(workload: Workload, module: Module) -> Iterator[str]:
    for pattern in workload.patterns:
        why = reason(workload, pattern, module.design.operation(pattern.id))
        if why:
            yield f"{pattern.id}, {pattern.description or pattern.name or 'a pattern'}, is not here: {why}."
