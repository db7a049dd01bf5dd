"""Compile an update into a function that applies it. All operands are read from the item before the update."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

from prejoin.protocol import limits, numbers
from prejoin.protocol.errors import invalid
from prejoin.protocol.expressions.nodes import (
    Action,
    AddAction,
    Arithmetic,
    DeleteAction,
    DocumentPath,
    FunctionCall,
    Operand,
    Placeholder,
    RemoveAction,
    SetAction,
    Steps,
    Update,
    Values,
)
from prejoin.protocol.expressions.paths import read
from prejoin.protocol.values import Item, Value, kind, set_of

Change = Callable[[Item, Values], Item]
Get = Callable[[Item, Values], Value]
Effect = Callable[[Item, Values], Value | None]

_MISSING = "The provided expression refers to an attribute that does not exist in the item"
_TYPE = "An operand in the update expression has an incorrect data type"
_NESTING = "Nesting Levels have exceeded supported limits"
_PATH = "The document path provided in the update expression is invalid for update"


def compile_update(update: Update, *, mismatch: str = _TYPE) -> Change:
    """A function that returns the item after the update. The given item is not changed.

    `mismatch` is the message if ADD or DELETE finds a value of another type.

    >>> add = compile_update(Update((AddAction(DocumentPath(("n",)), Placeholder(":two")),)))
    >>> add({"n": {"N": "40"}}, {":two": {"N": "2"}})
    {'n': {'N': '42'}}
    """
    steps = [(action.path, _effect(action, mismatch)) for action in update.actions]
    document_names = {str(path.steps[0]) for path in update.paths if len(path.steps) > 1}

    def change(item: Item, values: Values) -> Item:
        writes: list[tuple[DocumentPath, Value]] = []
        removals: list[DocumentPath] = []
        for path, effect in steps:
            value = effect(item, values)
            if value is None:
                removals.append(path)
            elif value is not _NO_CHANGE:
                writes.append((path, value))
        for path, value in writes:
            if len(path.steps) + _levels(value) > limits.NESTING:
                raise invalid(_NESTING)
        new_item = dict(item)
        if document_names:
            _change_documents(new_item, document_names, writes, removals)
            return new_item
        for path, value in writes:
            new_item[str(path.steps[0])] = value
        for path in removals:
            new_item.pop(str(path.steps[0]), None)
        return new_item

    return change


def _change_documents(
    new_item: Item, document_names: set[str], writes: list[tuple[DocumentPath, Value]], removals: list[DocumentPath]
) -> None:
    for name in document_names:
        if name in new_item:
            new_item[name] = _clone(new_item[name])
    # Positions refer to the list before the update, so append from the front and remove from the back. For the same
    # reason the parents of removals are found before anything is written.
    writes.sort(key=lambda write: _position(write[0]))
    removals.sort(key=_position, reverse=True)
    parents = [(_parent(new_item, path), path.steps[-1]) for path in removals]
    for path, value in writes:
        _put(_parent(new_item, path), path.steps[-1], value)
    for parent, step in parents:
        _remove(parent, step)


def _effect(action: Action, mismatch: str) -> Effect:
    """The new value at an action's path: a value, None to remove it, or `_UNCHANGED`."""
    match action:
        case SetAction(_, operand):
            return _getter(operand)
        case RemoveAction():
            return lambda item, values: None
        case AddAction(path, Placeholder(name)):
            return lambda item, values: _add(read(item, path.steps), values[name], mismatch)
        case DeleteAction(path, Placeholder(name)):

            def delete(item: Item, values: Values) -> Value | None:
                existing = read(item, path.steps)
                if existing is None:
                    _parent(item, path)
                    return _NO_CHANGE
                return _difference(existing, values[name], mismatch)

            return delete
    raise AssertionError(action)


_NO_CHANGE: Value = {}


def _levels(value: Value) -> int:
    """The nesting depth of lists and maps in a value."""
    members = value["M"].values() if "M" in value else value.get("L")
    return 0 if members is None else 1 + max(map(_levels, members), default=0)


def _position(path: DocumentPath) -> int:
    step = path.steps[-1]
    return step if isinstance(step, int) else -1


def _getter(operand: Operand) -> Get:
    match operand:
        case Placeholder(name):
            return lambda item, values: values[name]
        case DocumentPath(steps):
            return lambda item, values: _existing(item, steps)
        case FunctionCall("if_not_exists", (DocumentPath(steps), fallback)):
            get_fallback = _getter(fallback)

            def if_not_exists(item: Item, values: Values) -> Value:
                value = read(item, steps)
                return value if value is not None else get_fallback(item, values)

            return if_not_exists
        case FunctionCall("list_append", (first, second)):
            get_first, get_second = _getter(first), _getter(second)
            return lambda item, values: _append(get_first(item, values), get_second(item, values))
        case Arithmetic(sign, first, second):
            get_first, get_second = _getter(first), _getter(second)
            combine = numbers.add if sign == "+" else numbers.subtract
            return lambda item, values: _combine(combine, get_first(item, values), get_second(item, values))
    raise AssertionError(operand)


def _existing(item: Item, steps: Steps) -> Value:
    value = read(item, steps)
    if value is None:
        raise invalid(_MISSING)
    return value


def _append(first: Value, second: Value) -> Value:
    if "L" not in first or "L" not in second:
        raise invalid(_TYPE)
    return {"L": [*first["L"], *second["L"]]}


def _combine(combine: Callable[[str, str], str], first: Value, second: Value) -> Value:
    if "N" not in first or "N" not in second:
        raise invalid(_TYPE)
    return {"N": combine(first["N"], second["N"])}


def _add(existing: Value | None, value: Value, mismatch: str) -> Value:
    """ADD: a number to a number, members to a set or list. Without an existing value, the value itself.

    Only AttributeUpdates may add to a list.
    """
    if existing is None:
        return value
    name = kind(value)
    if name not in existing:
        raise invalid(mismatch)
    if name == "N":
        return {"N": numbers.add(existing["N"], value["N"])}
    if name == "L":
        return _append(existing, value)
    return {name: set_of(name, [*existing[name], *value[name]])}


def _difference(existing: Value, value: Value, mismatch: str) -> Value | None:
    """DELETE: the set without these members; None if none are left, because a set is never empty."""
    name = kind(value)
    if name not in existing:
        raise invalid(mismatch)
    remaining = [member for member in existing[name] if member not in value[name]]
    return {name: remaining} if remaining else None


def _parent(item: Item, path: DocumentPath) -> Any:
    """The map or list that contains the last step of a path."""
    container: Any = item
    steps = path.steps
    for step, following in pairwise(steps):
        try:
            value = container[step]
            container = value["L" if isinstance(following, int) else "M"]
        except (KeyError, IndexError, TypeError):
            raise invalid(_PATH) from None
    return container


def _put(parent: Any, step: str | int, value: Value) -> None:
    if isinstance(step, int) and step >= len(parent):
        parent.append(value)
    else:
        parent[step] = value


def _remove(parent: Any, step: str | int) -> None:
    if isinstance(step, str):
        parent.pop(step, None)
    elif step < len(parent):
        del parent[step]


def _clone(value: Value) -> Value:
    if "M" in value:
        return {"M": {name: _clone(member) for name, member in value["M"].items()}}
    if "L" in value:
        return {"L": [_clone(member) for member in value["L"]]}
    return value
