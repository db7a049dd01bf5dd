"""Which method of generated code answers an access pattern, and which tests call it: read from the code itself.

So the matrix cannot tell of a method or a test that is not there.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath

Code = Mapping[PurePosixPath, str]
_WIDTH = 88


@dataclass(frozen=True, slots=True)
class Found:
    """A method in the code."""

    where: str
    """The file and the class: `shop/repository.py`, `ShopRepository`."""
    owner: str
    signature: str


def methods_in(code: Code) -> dict[str, Found]:
    """The methods of all classes, by name; of two of one name the one that is not async, else the first.

    >>> text = "class Repo:\\n    def order(self, order_id: str) -> Order | None: ..."
    >>> methods_in({PurePosixPath("repo.py"): text})["order"].signature
    'order(order_id: str) -> Order | None'
    """
    found: dict[str, Found] = {}
    for path, tree in _trees(code):
        for owner in ast.walk(tree):
            if not isinstance(owner, ast.ClassDef):
                continue
            for part in owner.body:
                if isinstance(part, ast.FunctionDef):
                    found.setdefault(part.name, Found(str(path), owner.name, _signature(part)))
    return found


def calls_in(code: Code) -> dict[str, list[str]]:
    """By the name of a method, the tests that call it: `tests/test_repository.py::test_order`."""
    found: dict[str, list[str]] = {}
    for path, tree in _trees(code):
        for function in ast.walk(tree):
            if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef) and function.name.startswith("test_"):
                for name in dict.fromkeys(_called(function)):
                    found.setdefault(name, []).append(f"{path}::{function.name}")
    return found


def _trees(code: Code) -> Iterator[tuple[PurePosixPath, ast.Module]]:
    for path in sorted(code):
        if path.suffix == ".py":
            yield path, ast.parse(code[path])


def _called(function: ast.FunctionDef | ast.AsyncFunctionDef) -> Iterator[str]:
    for part in ast.walk(function):
        if isinstance(part, ast.Call) and isinstance(part.func, ast.Attribute):
            yield part.func.attr


def _signature(function: ast.FunctionDef) -> str:
    """The head of a method as one calls it: on one line, or one for each parameter."""
    returns = f" -> {ast.unparse(function.returns)}" if function.returns else ""
    parts = list(_parameters(function.args))
    line = f"{function.name}({', '.join(parts)}){returns}"
    if len(line) <= _WIDTH:
        return line
    return "\n".join([f"{function.name}(", *(f"    {part}," for part in parts), f"){returns}"])


def _parameters(arguments: ast.arguments) -> Iterator[str]:
    placed = [*arguments.posonlyargs, *arguments.args]
    without = len(placed) - len(arguments.defaults)
    defaults: list[ast.expr | None] = [*(None for _ in range(without)), *arguments.defaults]
    for argument, default in zip(placed, defaults, strict=True):
        if argument.arg != "self":
            yield _parameter(argument, default)
        if arguments.posonlyargs and argument is arguments.posonlyargs[-1] and len(placed) > 1:
            yield "/"
    if arguments.vararg or arguments.kwonlyargs:
        yield f"*{_parameter(arguments.vararg, None) if arguments.vararg else ''}"
    for argument, default in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True):
        yield _parameter(argument, default)
    if arguments.kwarg:
        yield f"**{_parameter(arguments.kwarg, None)}"


def _parameter(argument: ast.arg, default: ast.expr | None) -> str:
    typed = f": {ast.unparse(argument.annotation)}" if argument.annotation else ""
    equals = " = " if typed else "="
    return f"{argument.arg}{typed}{equals + ast.unparse(default) if default else ''}"
