"""Document paths over items: read the value at a path, and project an item onto several paths."""

from __future__ import annotations

from typing import Any

from prejoin.protocol.expressions.nodes import DocumentPath, ProjectionExpression, Steps
from prejoin.protocol.values import Item, Value


def read(item: Item, steps: Steps) -> Value | None:
    """The value at a path, or None.

    >>> read({"a": {"L": [{"S": "x"}]}}, ("a", 0))
    {'S': 'x'}
    """
    value = item.get(steps[0])  # type: ignore[arg-type]
    for step in steps[1:]:
        if value is None:
            return None
        if isinstance(step, int):
            members = value.get("L")
            value = members[step] if members is not None and step < len(members) else None
        else:
            named = value.get("M")
            value = named.get(step) if named is not None else None
    return value


def project(item: Item, paths: tuple[DocumentPath, ...]) -> Item:
    """The parts of an item at these paths. Selected list members move together, in their order.

    >>> project({"a": {"L": [{"S": "x"}, {"S": "y"}, {"S": "z"}]}}, (DocumentPath(("a", 2)), DocumentPath(("a", 0))))
    {'a': {'L': [{'S': 'x'}, {'S': 'z'}]}}
    """
    if all(len(path.steps) == 1 for path in paths):
        return {name: item[name] for path in paths if (name := path.steps[0]) in item}
    tree: dict[str | int, Any] = {}
    for path in paths:
        branch = tree
        for step in path.steps:
            branch = branch.setdefault(step, {})
    return _members(item, tree)


def _members(named: dict[str, Value], tree: dict[str | int, Any]) -> dict[str, Value]:
    found: dict[str, Value] = {}
    for name, branch in tree.items():
        if isinstance(name, str) and name in named:
            value = _pruned(named[name], branch)
            if value is not None:
                found[name] = value
    return found


def _pruned(value: Value, tree: dict[str | int, Any]) -> Value | None:
    if not tree:
        return value
    if "M" in value:
        named = _members(value["M"], tree)
        return {"M": named} if named else None
    if "L" in value:
        members = value["L"]
        positions = sorted(step for step in tree if isinstance(step, int) and step < len(members))
        chosen = [_pruned(members[position], tree[position]) for position in positions]
        kept = [member for member in chosen if member is not None]
        return {"L": kept} if kept else None
    return None


def heads(projection: ProjectionExpression) -> frozenset[str]:
    """The top-level attributes of a projection."""
    return frozenset(str(path.steps[0]) for path in projection.paths)
