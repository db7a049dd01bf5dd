"""Mutants of generated schemas: each is one line about a construct that a renderer could forget or get wrong."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from dataclasses import dataclass

_INTERNAL = frozenset({"names", "tag", "checked"})
"""Arguments that name things: another value is a schema for another table, and none is an error of types."""


@dataclass(frozen=True, slots=True)
class SchemaMutant:
    """A change of the schema's syntax tree."""

    text: str
    source: str


def mutants_of_schema(source: str) -> list[SchemaMutant]:
    """All mutants of the call of `Schema` in a module."""
    mutants: list[SchemaMutant] = []
    for number, node in enumerate(ast.walk(ast.parse(source))):
        for text, change in _changes(node):
            tree = ast.parse(source)
            changed = list(ast.walk(tree))[number]
            change(changed)
            mutants.append(SchemaMutant(text, ast.unparse(ast.fix_missing_locations(tree))))
    return mutants


Change = Callable[[ast.AST], None]


def _changes(node: ast.AST) -> Iterator[tuple[str, Change]]:
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name):
        return
    for keyword in node.keywords:
        name = keyword.arg or ""
        if name in _INTERNAL:
            continue
        text = f"{node.func.id}({name}=…)"
        match keyword.value:
            case ast.List(elements):
                for at, element in enumerate(elements):
                    yield f"{text} without {ast.unparse(element)[:60]}", _without_element(name, at)
            case ast.Dict(keys):
                for at, key in enumerate(keys):
                    yield f"{text} without {ast.unparse(key) if key else ''}", _without_key(name, at)
            case _:
                yield f"{text} dropped", _without_keyword(name)
                if isinstance(keyword.value, ast.Constant) and type(keyword.value.value) is int:
                    yield f"{text} off by one", _off_by_one(name)
    if node.func.id == "Key":
        for at, argument in enumerate(node.args):
            if isinstance(argument, ast.Constant):
                yield f"{ast.unparse(node)[:70]}: without the fields of {argument.value!r}", _constant_key(at)


def _keyword(node: ast.AST, name: str) -> ast.keyword:
    assert isinstance(node, ast.Call)
    return next(keyword for keyword in node.keywords if keyword.arg == name)


def _without_element(name: str, at: int) -> Change:
    def change(node: ast.AST) -> None:
        value = _keyword(node, name).value
        assert isinstance(value, ast.List)
        del value.elts[at]

    return change


def _without_key(name: str, at: int) -> Change:
    def change(node: ast.AST) -> None:
        value = _keyword(node, name).value
        assert isinstance(value, ast.Dict)
        del value.keys[at]
        del value.values[at]

    return change


def _without_keyword(name: str) -> Change:
    def change(node: ast.AST) -> None:
        assert isinstance(node, ast.Call)
        node.keywords = [keyword for keyword in node.keywords if keyword.arg != name]

    return change


def _off_by_one(name: str) -> Change:
    def change(node: ast.AST) -> None:
        value = _keyword(node, name).value
        assert isinstance(value, ast.Constant)
        value.value += 1

    return change


def _constant_key(at: int) -> Change:
    def change(node: ast.AST) -> None:
        assert isinstance(node, ast.Call)
        argument = node.args[at]
        assert isinstance(argument, ast.Constant)
        argument.value = "ALL"

    return change
