"""The compiled expressions of a write, cached. Writes that differ only in their values share one entry.

Checks of expressions depend on the texts, the names and the types of the values, with few exceptions. So if all of
these were seen before, only the values of a request need to be checked.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec

from prejoin.protocol.expressions import (
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

_KEPT = 2048
_SMALL = 4096
"""The length of texts and names together. Larger ones are rare and not cached, to bound the cache."""


class WriteExpressions(msgspec.Struct, frozen=True, eq=False):
    """A condition and an update without their values. Either may be missing."""

    condition: Test | None = None
    change: Change | None = None
    update: Update | None = None
    nested: tuple[DocumentPath, ...] = ()
    """The paths into documents that they read."""
    presence: str = ""
    """The attribute, if the condition is just attribute_exists or attribute_not_exists, which is the most common case.
    """
    present: bool = True
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
    key = (
        condition,
        update,
        None if names is None else tuple(names.items()),
        None if values is None else tuple([(name, *value) for name, value in values.items()]),
    )
    found = _programs.get(key)
    if found is not None:
        return found, {} if values is None else checked_values(values, newer_words=newer_words)
    substitutions = Substitutions(names, values, newer_words=newer_words)
    changed = None if update is None else bind_update(update, substitutions)
    tested = None if condition is None else bind_condition(condition, substitutions)
    substitutions.finish()
    presence, present = ("", True) if tested is None else _presence(tested.tree)
    found = WriteExpressions(
        None if tested is None else tested.run,
        None if changed is None else changed.run,
        None if changed is None else changed.tree,
        _nested(condition, [tested.tree] if tested else ()) + _nested(update, changed.tree.operands if changed else ()),
        presence,
        present,
    )
    if not (tested and tested.delicate) and not (changed and changed.delicate) and _is_plain(key):
        if len(_programs) >= _KEPT:
            _programs.clear()
        _programs[key] = found
    return found, substitutions.values


_programs: dict[tuple[Any, ...], WriteExpressions] = {}


def _is_plain(key: tuple[Any, ...]) -> bool:
    """Whether a cache key is small and complete. A value with a second, null member could be of either type."""
    condition, update, names, values = key
    texts = [condition or "", update or ""]
    for pair in (*(names or ()), *(values or ())):
        texts += pair
    return all(len(value) == 2 for value in values or ()) and sum(map(len, texts)) <= _SMALL


def _presence(tree: Condition) -> tuple[str, bool]:
    match tree:
        case FunctionCall("attribute_exists", (DocumentPath((str(name),)),)):
            return name, True
        case FunctionCall("attribute_not_exists", (DocumentPath((str(name),)),)):
            return name, False
    return "", True


def _nested(text: str | None, trees: Iterable[Condition | Operand]) -> tuple[DocumentPath, ...]:
    """The paths into documents that an expression reads. Most texts have none, and are not searched."""
    if text is None or not ("." in text or "[" in text):
        return ()
    return tuple(path for tree in trees for path in document_paths(tree) if len(path.steps) > 1)
