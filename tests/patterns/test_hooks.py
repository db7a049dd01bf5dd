"""The hooks of patterns: each is documented, called by the table, and used by a pattern."""

from __future__ import annotations

import ast
import inspect
from functools import cache
from pathlib import Path

import pytest

import prejoin
from prejoin.table.schema import pattern
from prejoin.table.schema.pattern import BoundPattern, Pattern

PACKAGE = Path(prejoin.__file__).parent
METHODS = [
    (cls, name)
    for cls in (Pattern, BoundPattern)
    for name, value in vars(cls).items()
    if inspect.isfunction(value) or isinstance(value, property)
]


def test_hooks_are_found() -> None:
    names = [name for _, name in METHODS]
    assert names[:3] == ["lifecycle", "storage", "bind"]
    assert {"rewrite", "expand", "also", "visibility"} <= set(names)


@pytest.mark.parametrize(("cls", "name"), METHODS, ids=lambda one: getattr(one, "__name__", one))
def test_hook_is_documented_called_and_used(cls: type[object], name: str) -> None:
    assert inspect.getdoc(getattr(cls, name))
    assert f"`{name}`" in (pattern.__doc__ or "") or f"`Pattern.{name}`" in (pattern.__doc__ or "")
    callers = [*PACKAGE.glob("table/**/*.py"), *PACKAGE.glob("patterns/integrity/*.py")]
    assert any(name in _attributes(path) for path in callers)
    assert any(name in _methods(path) for path in PACKAGE.glob("patterns/**/*.py"))


@cache
def _attributes(path: Path) -> set[str]:
    """The names that a module looks up in objects: `pattern.rewrite(…)`."""
    return {node.attr for node in ast.walk(ast.parse(path.read_text("utf-8"))) if isinstance(node, ast.Attribute)}


@cache
def _methods(path: Path) -> set[str]:
    """The names of the methods of a module's subclasses of patterns."""
    classes = [
        node for node in ast.parse(path.read_text("utf-8")).body if isinstance(node, ast.ClassDef) and node.bases
    ]
    return {node.name for cls in classes for node in cls.body if isinstance(node, ast.FunctionDef)}
