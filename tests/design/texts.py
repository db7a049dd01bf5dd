"""The parts of operations as text, for tests that compare them."""

from __future__ import annotations

from prejoin.design.model import ItemAction, Request
from prejoin.design.operation_text import change_text, condition_text, filter_text


def changes_of(action: ItemAction) -> list[str]:
    return [change_text(change) for change in action.changes]


def conditions_of(action: ItemAction) -> list[str]:
    return [condition_text(test, "pk") for test in action.conditions]


def filters_of(request: Request) -> list[str]:
    return [filter_text(group) for group in request.filters]


def sort_text(request: Request) -> str:
    """The condition on the sort key; empty for the whole partition."""
    return str(request.sk or "")
