"""Apply a bound update to an item. All operands are read from the item as it was before the update."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

from prejoin.protocol import limits, numbers
from prejoin.protocol.errors import invalid
from prejoin.protocol.expressions.nodes import (
    AddAction,
    Arithmetic,
    Call,
    DeleteAction,
    Literal,
    Operand,
    Path,
    RemoveAction,
    SetAction,
    Update,
)
from prejoin.protocol.expressions.paths import read
from prejoin.protocol.values import Item, Value, kind

_MISSING = "The provided expression refers to an attribute that does not exist in the item"
_TYPE = "An operand in the update expression has an incorrect data type"
_NESTING = "Nesting Levels have exceeded supported limits"
_PATH = "The document path provided in the update expression is invalid for update"


def apply(update: Update, item: Item) -> Item:
    """The item after the update; the given item stays as it is.

    >>> apply(Update((AddAction(Path(("n",)), Literal({"N": "2"})),)), {"n": {"N": "40"}})
    {'n': {'N': '42'}}
    """
    writes: list[tuple[Path, Value]] = []
    removals: list[Path] = []
    for action in update.actions:
        match action:
            case SetAction(path, operand):
                writes.append((path, _resolve(operand, item)))
            case RemoveAction(path):
                removals.append(path)
            case AddAction(path, Literal(value)):
                writes.append((path, _added(read(item, path.steps), value)))
            case DeleteAction(path, Literal(value)):
                existing = read(item, path.steps)
                if existing is None:
                    _parent(item, path)
                    continue
                left = _difference(existing, value)
                if left is None:
                    removals.append(path)
                else:
                    writes.append((path, left))
    for path, value in writes:
        if len(path.steps) + _levels(value) > limits.NESTING:
            raise invalid(_NESTING)
    changed = dict(item)
    if all(len(action.path.steps) == 1 for action in update.actions):
        for path, value in writes:
            changed[str(path.steps[0])] = value
        for path in removals:
            changed.pop(str(path.steps[0]), None)
        return changed
    for name in {path.steps[0] for path in update.paths if len(path.steps) > 1}:
        if name in changed:
            changed[str(name)] = _clone(changed[str(name)])
    # Positions are those of the list before the update: extend from the front, remove from the back.
    writes.sort(key=lambda write: _position(write[0]))
    removals.sort(key=_position, reverse=True)
    parents = [(_parent(changed, path), path.steps[-1]) for path in removals]
    for path, value in writes:
        _put(_parent(changed, path), path.steps[-1], value)
    for parent, step in parents:
        _remove(parent, step)
    return changed


def _levels(value: Value) -> int:
    """How many lists and maps lie within one another in a value."""
    members = value["M"].values() if "M" in value else value.get("L")
    return 0 if members is None else 1 + max(map(_levels, members), default=0)


def _position(path: Path) -> int:
    step = path.steps[-1]
    return step if isinstance(step, int) else -1


def _resolve(operand: Operand, item: Item) -> Value:
    match operand:
        case Literal(value):
            return value
        case Path(steps):
            found = read(item, steps)
            if found is None:
                raise invalid(_MISSING)
            return found
        case Call("if_not_exists", (Path(steps), fallback)):
            found = read(item, steps)
            return found if found is not None else _resolve(fallback, item)
        case Call("list_append", (first, second)):
            left, right = _resolve(first, item), _resolve(second, item)
            if "L" not in left or "L" not in right:
                raise invalid(_TYPE)
            return {"L": [*left["L"], *right["L"]]}
        case Arithmetic(sign, first, second):
            left, right = _resolve(first, item), _resolve(second, item)
            if "N" not in left or "N" not in right:
                raise invalid(_TYPE)
            combine = numbers.add if sign == "+" else numbers.subtract
            return {"N": combine(left["N"], right["N"])}
    raise AssertionError(operand)


def _added(existing: Value | None, value: Value) -> Value:
    """ADD: a number to a number, members to a set; on nothing, the value itself."""
    if existing is None:
        return value
    name = kind(value)
    if name not in existing:
        raise invalid(_TYPE)
    if name == "N":
        return {"N": numbers.add(existing["N"], value["N"])}
    return {name: [*existing[name], *(member for member in value[name] if member not in existing[name])]}


def _difference(existing: Value, value: Value) -> Value | None:
    """DELETE: the set without these members; None when none is left, for a set is never empty."""
    name = kind(value)
    if name not in existing:
        raise invalid(_TYPE)
    left = [member for member in existing[name] if member not in value[name]]
    return {name: left} if left else None


def _parent(item: Item, path: Path) -> Any:
    """The map or list that holds the last step of a path."""
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
