"""The sort key condition of a plan before values are known, with placeholders for them.

It is computed by the code that computes the condition for values, so that a document shows what the client sends:

    >>> from prejoin.keys import Facet, Lookup, plan
    >>> from prejoin.types import STRING
    >>> types = {"userId": STRING, "day": STRING, "id": STRING}
    >>> keys = (Template.of(text, types) for text in ("USER#{userId}", "ORDER#{day}#{id}"))
    >>> since = plan([Facet("Order", "table", *keys)], Lookup.of("Order", equal=["userId"], within=("day", ">=")))
    >>> print(sort_condition(since))
    between ORDER#{day} and ORDER$
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from prejoin.keys.template.natural import Natural
from prejoin.keys.template.parts import KeyField, KeyText, Part
from prejoin.keys.template.template import Template, renamed

from .key_condition import Bounds, RangeForm, after_prefix, just_below, shortened, span_condition
from .plan import Plan

BELOW = "the last key below "
"""Before an end of a range that is the greatest possible key below a text."""
ABOVE = "the first key above "
"""Before an end of a range whose last character is moved one up."""


class SortCondition(msgspec.Struct, frozen=True):
    """A condition on a sort key: an operator, and one text or two, with placeholders such as `{day}`.

    A range with two ends that the caller gives has `{day from}` and `{day to}`. `…` stands for the greatest characters,
    up to the size of a key.
    """

    op: str = ""
    """As in DynamoDB, in small letters: `=`, `<=`, `>=`, `between`, `begins_with`; for keys that are attributes as
    they are, also `<` and `>`. Empty if only the first attributes are compared."""
    low: str = ""
    high: str = ""
    head: tuple[str, ...] = ()
    """In a sort key of several attributes, the values of the first ones; `op` applies to the next."""

    def __str__(self) -> str:
        texts = [f"= {value}" for value in self.head]
        if self.op:
            texts.append(f"{self.op} {self.low}" + (f" and {self.high}" if self.op == "between" else ""))
        return ", ".join(texts)

    def with_names(self, names: dict[str, str]) -> SortCondition:
        """The condition with other attributes in its placeholders."""
        head = tuple(renamed(text, names) for text in self.head)
        return SortCondition(self.op, renamed(self.low, names), renamed(self.high, names), head)


def sort_condition(plan: Plan) -> SortCondition | None:
    """The condition of a plan on the sort key; None if it reads whole partitions."""
    sk, scope = plan.facets[0].sk, plan.scope
    if sk is None or scope.kind == "whole":
        return None
    if isinstance(sk, Natural):
        return _natural_condition(plan, sk)
    fence = key_text(sk.parts[: scope.depth])
    match scope.kind:
        case "exact":
            return SortCondition("=", fence)
        case "prefix":
            return SortCondition("begins_with", fence)
        case "span":
            low, high = fence + scope.low, fence + scope.high
            high = after_prefix(high, sk) if scope.high_open else high
            condition = span_condition("", low, high, fence, sk)
            if condition is None:
                return None
            return SortCondition(condition.op, shortened(str(condition.low)), shortened(str(condition.high)))
        case "range":
            return _range_condition_text(plan, sk, fence)


def key_text(parts: Sequence[Part]) -> str:
    """The parts of a key, with placeholders for values."""
    return "".join(part.text if isinstance(part, KeyText) else f"{{{part.name}}}" for part in parts)


def _natural_condition(plan: Plan, sk: Natural) -> SortCondition:
    head = tuple(f"{{{part.name}}}" for part in sk.parts[: plan.scope.depth])
    match plan.scope.kind:
        case "range" if plan.within is not None:
            texts = _bound_names(plan.within.op, sk.parts[plan.scope.depth])
            return SortCondition(plan.within.op, texts[0], texts[-1] if len(texts) > 1 else "", head)
        case "exact":
            return SortCondition("=", head[-1], head=head[:-1])
        case _:
            return SortCondition(head=head)


_LOW, _HIGH = "{0}", "{1}"
"""Stand for the values of a range while its condition is computed, which compares them with each other."""


def _range_condition_text(plan: Plan, sk: Template, fence: str) -> SortCondition | None:
    within, field = plan.within, sk.parts[plan.scope.depth]
    assert within is not None  # the scope is a range
    assert isinstance(field, KeyField)
    other_templates = [facet.sk for facet in plan.facets[1:] if isinstance(facet.sk, Template)]
    form = RangeForm.of(sk, plan.scope.depth, other_templates)
    names = _bound_names(within.op, field)
    marks = (_HIGH, _LOW) if form.descending else (_LOW, _HIGH)
    bounds = Bounds.of(within.op, marks if len(names) > 1 else marks[0])
    condition = form.condition("", bounds, fence, lambda mark: f"{fence}{mark}")
    if condition is None or not condition.op:
        return None
    name_of_mark: dict[str, str] = dict(zip(marks, names, strict=False))
    low = _end_text(str(condition.low), fence, name_of_mark)
    high = _end_text(str(condition.high), fence, name_of_mark)
    return SortCondition(condition.op, low, high)


def _bound_names(op: str, field: KeyField) -> tuple[str, ...]:
    """The placeholders for the values of a range."""
    spec = f":{field.spec}" if field.spec else ""
    if op == "between":
        return f"{{{field.attribute} from{spec}}}", f"{{{field.attribute} to{spec}}}"
    return (f"{{{field.name}}}",)


def _end_text(end: str, fence: str, names: dict[str, str]) -> str:
    """An end of a range for people: without filling, and with words where the last character of a value is moved."""
    for mark, name in names.items():
        key = fence + mark
        if end in (just_below(fence, key, is_fixed=True), just_below(fence, key, is_fixed=False)):
            return f"{BELOW}{fence}{name}"
        if end == key[:-1] + chr(ord(key[-1]) + 1):
            return f"{ABOVE}{fence}{name}"
        if end.startswith(key):
            return shortened(fence + name + end[len(key) :])
    return shortened(end)
