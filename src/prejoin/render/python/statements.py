"""Python statements as data, and their lines.

An expression is a `Part`, which `layout` lays out. By itself it is a statement, too.

>>> block = [Assign("page", "query()"), If("page", [Return("page[0]")], [Raise("NotFound", '"nothing"')])]
>>> print(*lines_of(block), sep="\\n")
page = query()
if page:
    return page[0]
else:
    raise NotFound("nothing")
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import assert_never

from prejoin.render.python.layout import STEP, Group, Noted, Part, call, docstring, lay, with_prefix, with_suffix


@dataclass(frozen=True, slots=True)
class Assign:
    """`target = value`, or with another operator."""

    target: str
    value: Part
    operator: str = "="


@dataclass(frozen=True, slots=True)
class Return:
    value: Part


@dataclass(frozen=True, slots=True)
class Raise:
    error: str
    message: Part


@dataclass(frozen=True, slots=True)
class Assert:
    test: Part


@dataclass(frozen=True, slots=True)
class Iteration:
    """The head of a loop, or a clause of a comprehension: `for line in lines`."""

    target: str
    iterable: str

    def __str__(self) -> str:
        return f"for {self.target} in {self.iterable}"


@dataclass(frozen=True, slots=True)
class If:
    test: Part
    body: Block
    otherwise: Block = ()


@dataclass(frozen=True, slots=True)
class For:
    iteration: Iteration
    body: Block


@dataclass(frozen=True, slots=True)
class Manager:
    """A context manager, and the variable that holds what it gives."""

    value: Part
    name: str = ""

    @property
    def part(self) -> Part:
        return with_suffix(self.value, f" as {self.name}") if self.name else self.value


@dataclass(frozen=True, slots=True)
class With:
    managers: tuple[Manager, ...]
    body: Block
    is_async: bool = False


@dataclass(frozen=True, slots=True)
class Try:
    body: Block
    errors: str
    on_error: Block
    otherwise: Block


@dataclass(frozen=True, slots=True)
class Function:
    """A function with the paragraphs of its docstring."""

    name: str
    parameters: tuple[Part, ...]
    returns: str
    body: Block
    paragraphs: tuple[str, ...] = ()
    decorator: str = ""


BLANK = ""
"""An empty line."""

Statement = Part | Assign | Return | Raise | Assert | If | For | With | Try | Function
Block = Sequence[Statement]


def lines_of(block: Block, indent: str = "") -> Iterator[str]:
    """The lines of statements."""
    for statement in block:
        if statement == BLANK:
            yield ""
        else:
            yield from _lines_of(statement, indent)


def _lines_of(statement: Statement, indent: str) -> Iterator[str]:
    match statement:
        case str() | Group() | Noted():
            yield from lay(statement, indent)
        case Assign():
            yield from lay(with_prefix(f"{statement.target} {statement.operator} ", statement.value), indent)
        case Return():
            yield from lay(with_prefix("return ", statement.value), indent)
        case Raise():
            yield from lay(call(f"raise {statement.error}", statement.message), indent)
        case Assert():
            yield from lay(with_prefix("assert ", statement.test), indent)
        case If():
            yield from lay(with_prefix("if ", statement.test), indent, ":")
            yield from lines_of(statement.body, indent + STEP)
            if statement.otherwise:
                yield f"{indent}else:"
                yield from lines_of(statement.otherwise, indent + STEP)
        case For():
            yield f"{indent}{statement.iteration}:"
            yield from lines_of(statement.body, indent + STEP)
        case With():
            yield from _lines_of_with(statement, indent)
        case Try():
            yield f"{indent}try:"
            yield from lines_of(statement.body, indent + STEP)
            yield f"{indent}except {statement.errors}:"
            yield from lines_of(statement.on_error, indent + STEP)
            yield f"{indent}else:"
            yield from lines_of(statement.otherwise, indent + STEP)
        case Function():
            yield from _lines_of_function(statement, indent)
        case _:
            assert_never(statement)


def _lines_of_with(statement: With, indent: str) -> Iterator[str]:
    managers = tuple(manager.part for manager in statement.managers)
    opening = managers[0] if len(managers) == 1 else Group("(", managers, ")", loose=True)
    yield from lay(with_prefix("async with " if statement.is_async else "with ", opening), indent, ":")
    yield from lines_of(statement.body, indent + STEP)


def _lines_of_function(function: Function, indent: str) -> Iterator[str]:
    if function.decorator:
        yield f"{indent}@{function.decorator}"
    yield from lay(Group(f"def {function.name}(", function.parameters, f") -> {function.returns}:"), indent)
    if function.paragraphs:
        yield from docstring(*function.paragraphs, indent=indent + STEP)
    yield from lines_of(function.body, indent + STEP)
