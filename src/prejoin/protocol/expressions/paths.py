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
            members_by_name = value.get("M")
            value = members_by_name.get(step) if members_by_name is not None else None
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


def _members(members: dict[str, Value], tree: dict[str | int, Any]) -> dict[str, Value]:
    selection: dict[str, Value] = {}
    for name, branch in tree.items():
        if isinstance(name, str) and name in members:
            value = _select(members[name], branch)
            if value is not None:
                selection[name] = value
    return selection


def _select(value: Value, tree: dict[str | int, Any]) -> Value | None:
    if not tree:
        return value
    if "M" in value:
        selection = _members(value["M"], tree)
        return {"M": selection} if selection else None
    if "L" in value:
        members = value["L"]
        positions = sorted(step for step in tree if isinstance(step, int) and step < len(members))
        selected_members = [_select(members[position], tree[position]) for position in positions]
        present_members = [member for member in selected_members if member is not None]
        return {"L": present_members} if present_members else None
    return None


def heads(projection: ProjectionExpression) -> frozenset[str]:
    """The top-level attributes of a projection."""
    return frozenset(str(path.steps[0]) for path in projection.paths)
