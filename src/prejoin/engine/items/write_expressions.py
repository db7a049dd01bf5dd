"""The compiled expressions of a write, cached. Writes that differ only in their values share one entry.

Checks of expressions depend on the texts, the names and the types of the values, with few exceptions. So if all of
these were seen before, only the values of a request need to be checked.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec

from prejoin.protocol.expressions import (
    BoundCondition,
    BoundUpdate,
    Change,
    Condition,
    DocumentPath,
    Substitutions,
    Test,
    Update,
    bind_condition,
    bind_update,
    checked_values,
    document_paths,
)
from prejoin.protocol.expressions.nodes import FunctionCall, Operand, Values

_CACHED_EXPRESSIONS = 2048
_CACHED_LENGTH = 4096
"""The length of texts and names together. Larger ones are rare and not cached, to bound the cache."""


class WriteExpressions(msgspec.Struct, frozen=True, eq=False):
    """A condition and an update without their values. Either may be missing."""

    condition: Test | None = None
    change: Change | None = None
    update: Update | None = None
    nested_paths: tuple[DocumentPath, ...] = ()
    """The paths into documents that they read."""
    existence_of: str = ""
    """The attribute, if the condition is just attribute_exists or attribute_not_exists, which is the most common case.
    """
    must_exist: bool = True
    """Whether that is attribute_exists."""
    legacy: bool = False
    """Whether they were translated from legacy parameters, which have their own messages."""


NO_EXPRESSIONS = WriteExpressions()


def compile_expressions(
    condition: str | None,
    update: str | None,
    names: dict[str, str] | None,
    values: Any,
    *,
    newer_words: bool = False,
) -> tuple[WriteExpressions, Values]:
    """Compile expressions, or find them in the cache, and check the values. Raise DynamoDB's errors."""
    # Of each value its placeholder and its type: a value is a dictionary with one member, named by its type.
    signature = (
        condition,
        update,
        None if names is None else tuple(names.items()),
        None if values is None else tuple([(name, *value) for name, value in values.items()]),
    )
    expressions = _programs.get(signature)
    if expressions is not None:
        return expressions, {} if values is None else checked_values(values, newer_words=newer_words)
    substitutions = Substitutions(names, values, newer_words=newer_words)
    bound_update = None if update is None else bind_update(update, substitutions)
    bound_condition = None if condition is None else bind_condition(condition, substitutions)
    substitutions.finish()
    expressions = _expressions_of(condition, bound_condition, update, bound_update)
    # The checks of a delicate expression depend on the values themselves, not only on their types.
    is_delicate = (bound_condition is not None and bound_condition.delicate) or (
        bound_update is not None and bound_update.delicate
    )
    if not is_delicate and _is_plain(signature):
        if len(_programs) >= _CACHED_EXPRESSIONS:
            # All at once: a program with so many different expressions has values in their texts, and does not use them
            # again.
            _programs.clear()
        _programs[signature] = expressions
    return expressions, substitutions.values


def _expressions_of(
    condition: str | None, bound_condition: BoundCondition | None, update: str | None, bound_update: BoundUpdate | None
) -> WriteExpressions:
    """The compiled expressions of a write, from its texts and their bound trees."""
    condition_run: Test | None = None
    change: Change | None = None
    update_tree: Update | None = None
    nested_paths: tuple[DocumentPath, ...] = ()
    existence_of, must_exist = "", True
    if bound_condition is not None:
        condition_run = bound_condition.run
        nested_paths += _nested_paths_of(condition, [bound_condition.tree])
        existence_of, must_exist = _existence_test_of(bound_condition.tree)
    if bound_update is not None:
        change, update_tree = bound_update.run, bound_update.tree
        nested_paths += _nested_paths_of(update, update_tree.operands)
    return WriteExpressions(condition_run, change, update_tree, nested_paths, existence_of, must_exist)


_programs: dict[tuple[Any, ...], WriteExpressions] = {}


def _is_plain(key: tuple[Any, ...]) -> bool:
    """Whether a cache key is small and complete. A value with a second, null member could be of either type."""
    condition, update, names, values = key
    texts = [condition or "", update or ""]
    for name_and_content in (*(names or ()), *(values or ())):
        texts += name_and_content
    return all(len(value) == 2 for value in values or ()) and sum(map(len, texts)) <= _CACHED_LENGTH


def _existence_test_of(tree: Condition) -> tuple[str, bool]:
    match tree:
        case FunctionCall("attribute_exists", (DocumentPath((str(name),)),)):
            return name, True
        case FunctionCall("attribute_not_exists", (DocumentPath((str(name),)),)):
            return name, False
    return "", True


def _nested_paths_of(text: str | None, trees: Iterable[Condition | Operand]) -> tuple[DocumentPath, ...]:
    """The paths into documents that an expression reads. Most texts have none, and are not searched."""
    if text is None or not ("." in text or "[" in text):
        return ()
    return tuple(path for tree in trees for path in document_paths(tree) if len(path.steps) > 1)
