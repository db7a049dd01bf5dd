"""The expressions of a write, ready to run. Writes that differ in nothing but their values share one program.

What is checked of expressions depends on their texts, on the names and on the types of the values, with few exceptions;
so where all these were seen before, one look finds the program, and of the request only its values are checked.
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
"""Characters of texts and names. Larger programs are rare and not kept, so that what is kept is bounded."""


class WriteExpressions(msgspec.Struct, frozen=True, eq=False):
    """A condition and an update, either of which may be missing, without their values."""

    condition: Test | None = None
    change: Change | None = None
    update: Update | None = None
    nested: tuple[DocumentPath, ...] = ()
    """The paths into documents that they read."""
    presence: str = ""
    """The attribute of which the condition is that it is there, or not, and nothing else: the commonest of all."""
    present: bool = True


NO_EXPRESSIONS = WriteExpressions()


def compile_expressions(
    condition: str | None, update: str | None, names: dict[str, str] | None, values: Any
) -> tuple[WriteExpressions, Values]:
    """The program of these expressions and the values it runs with, or what DynamoDB refuses about them."""
    key = (
        condition,
        update,
        None if names is None else tuple(names.items()),
        None if values is None else tuple([(name, *value) for name, value in values.items()]),
    )
    found = _programs.get(key)
    if found is not None:
        return found, {} if values is None else checked_values(values)
    substitutions = Substitutions(names, values)
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
    """Whether a key tells all that matters, and is small. A value with a second member, null, may be of either type."""
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
    """The paths into documents that an expression reads; most have none, and are not searched."""
    if text is None or not ("." in text or "[" in text):
        return ()
    return tuple(path for tree in trees for path in document_paths(tree) if len(path.steps) > 1)
