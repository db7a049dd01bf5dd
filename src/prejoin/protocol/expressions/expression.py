"""Compiled expressions, cached. Text is parsed, its names are substituted, and the tree is compiled to a function; each
request only adds its values.

Programs send a few expressions again and again. The binder's checks depend on the names and the types of the values,
with few exceptions. So under the same names and types an expression need not be checked again.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from functools import partial
from typing import Any, Generic, TypeVar

import msgspec

from prejoin.protocol.expressions.bind import ExpressionBinder
from prejoin.protocol.expressions.nodes import Between, Condition, DocumentPath, FunctionCall, Placeholder, Values
from prejoin.protocol.expressions.substitutions import Substitutions

T = TypeVar("T")
R = TypeVar("R")

MAX_CACHED = 2048
_SMALL_TREE, _SMALL_NAMES = 256, 4096
"""Larger ones are rare and not cached, so that the cache is bounded."""


class CompiledExpression(msgspec.Struct, Generic[T, R], frozen=True):
    """An expression without its values. The tree contains only placeholders of values; `run` is the compiled tree."""

    tree: T
    run: R
    names: tuple[str, ...]
    """The placeholders that it uses, of names and of values."""
    values: tuple[str, ...]
    delicate: tuple[Condition, ...]
    """The parsed conditions whose validity depends on the values, not only on their types."""


class BoundExpression(msgspec.Struct, Generic[T, R], frozen=True):
    """A checked expression with the values of a request."""

    tree: T
    run: R
    values: Values
    delicate: bool = False
    """Whether other values of the same types may be refused."""


class ExpressionKind(msgspec.Struct, Generic[T, R], frozen=True):
    """A kind of expression: how it is parsed, checked and compiled."""

    parse: Callable[[str, str], T]
    check: Callable[[ExpressionBinder, T], Any]
    compile: Callable[[T], R]

    def bind(self, text: str, parameter: str, substitutions: Substitutions) -> BoundExpression[T, R]:
        """Bind the expression in this text to its names and values, or raise DynamoDB's error."""
        key = (parameter, text, *substitutions.shape)
        form: CompiledExpression[T, R] | None = _forms.get(key)
        if form is None:
            parsed_tree = self.parse(text, parameter)
            self.check(ExpressionBinder(substitutions, parameter), parsed_tree)
            form = self._form(key, parsed_tree, substitutions.names)
        else:
            substitutions.use(form.names, form.values)
            for condition in form.delicate:
                ExpressionBinder(substitutions, parameter).condition(condition)
        return BoundExpression(form.tree, form.run, substitutions.values, bool(form.delicate))

    def _form(self, key: tuple[Any, ...], parsed_tree: T, given_names: dict[str, str]) -> CompiledExpression[T, R]:
        tree: T = _with_names(given_names, parsed_tree)
        nodes = _nodes(parsed_tree)
        form = CompiledExpression(
            tree,
            self.compile(tree),
            tuple(
                {step for node in nodes if isinstance(node, DocumentPath) for step in node.steps if step in given_names}
            ),
            tuple({node.name for node in nodes if isinstance(node, Placeholder)}),
            tuple(node for node in nodes if isinstance(node, Between) or _is_type_test(node)),
        )
        _, _, names, values = key
        if len(nodes) + len(values) <= _SMALL_TREE and sum(map(len, itertools.chain(*names))) <= _SMALL_NAMES:
            if len(_forms) >= MAX_CACHED:
                _forms.clear()
            _forms[key] = form
        return form


_forms: dict[tuple[Any, ...], CompiledExpression[Any, Any]] = {}


def _is_type_test(node: Any) -> bool:
    return isinstance(node, FunctionCall) and node.function == "attribute_type"


def _with_names(names: dict[str, str], node: Any) -> Any:
    """A parsed tree with names instead of their placeholders."""
    if isinstance(node, DocumentPath):
        return DocumentPath(tuple([names.get(step, step) if isinstance(step, str) else step for step in node.steps]))
    if isinstance(node, tuple):
        return tuple(map(partial(_with_names, names), node))
    parts = _parts(node)
    return type(node)(*map(partial(_with_names, names), parts)) if parts else node


def _nodes(tree: Any) -> list[Any]:
    """All nodes of a tree. Iterative, because a tree may be deep."""
    nodes, waiting = [], [tree]
    while waiting:
        node = waiting.pop()
        waiting += _parts(node)
        if isinstance(node, msgspec.Struct):
            nodes.append(node)
    return nodes


def _parts(node: Any) -> tuple[Any, ...]:
    """The children of a node. Paths and placeholders are leaves."""
    if isinstance(node, tuple):
        return node
    if isinstance(node, msgspec.Struct) and not isinstance(node, DocumentPath | Placeholder):
        return tuple([getattr(node, member) for member in node.__struct_fields__])
    return ()
