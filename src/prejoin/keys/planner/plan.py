"""Plans, and their key conditions for given values. What a plan fixes is compiled into a function once."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from functools import cached_property
from itertools import product
from typing import Literal

import msgspec

from prejoin.keys.errors import KeyValueError
from prejoin.keys.facet import Facet, When, key_writer
from prejoin.keys.template.encoding import Encoding
from prejoin.keys.template.natural import Natural, natural_range
from prejoin.keys.template.parts import KeyField
from prejoin.keys.template.specs import buckets, shard_labels
from prejoin.keys.template.template import Template

from .key_condition import (
    MOST_PK_BYTES,
    MOST_SK_BYTES,
    Bounds,
    KeyCondition,
    KeyValue,
    Op,
    after_prefix,
    checked_writer,
    compile_range,
    span_condition,
)
from .lookup import Lookup, Within
from .match import Fan
from .scope import SortKeyScope

Values = Mapping[str, object]
Conditions = Callable[[Values, datetime | None], tuple[KeyCondition, ...]]
_Sort = Callable[[Values, Bounds, KeyValue], KeyCondition | None]
"""From the values, the bounds of the range (if any) and the partition to the condition."""

_UNBOUNDED = Bounds()

Operation = Literal["GetItem", "Query"]


class Plan(msgspec.Struct, frozen=True, dict=True):
    """How a lookup is served."""

    lookup: Lookup
    operation: Operation
    slot: str
    facets: tuple[Facet, ...]
    """One for each entity of the lookup, in the same order."""
    scope: SortKeyScope
    """The part of the partition that is read."""
    reverse: bool = False
    """Whether the keys are read in descending order, to give the requested order."""
    fans: tuple[Fan, ...] = ()
    filtered: frozenset[str] = frozenset()
    """Given attributes that only a filter can take. Empty unless the lookup allows it."""
    compared: frozenset[str] = frozenset()
    """Attributes given besides the whole key of one item. The item is read, and is the result if it has these values.
    """
    tested: frozenset[When] = frozenset()
    """Conditions of the lookup that only a filter can test. Empty unless the lookup allows it."""

    @cached_property
    def conditions(self) -> Conditions:
        """The function behind `conditions`, compiled once: a plan is cached and used repeatedly."""
        return _compile(self)

    @property
    def within(self) -> Within | None:
        """The range, if the sort key takes it."""
        return self.lookup.within if self.scope.kind == "range" else None

    @cached_property
    def shards(self) -> int:
        """The number of Queries for one time bucket (or for everything, without buckets), merged by sort key."""
        count = 1
        for fan in self.fans:
            count *= fan.shards or 1
        return count

    @property
    def bucket(self) -> Fan | None:
        """The field that splits the partition by time, if the lookup spans several buckets: one Query for each."""
        return next((fan for fan in self.fans if fan.bucket), None)

    @property
    def prefix(self) -> tuple[str, ...]:
        """The attributes that the sort key takes by equality."""
        sk = self.facets[0].sk
        parts = sk.parts[: self.scope.depth] if sk else ()
        return tuple(part.attribute for part in parts if isinstance(part, KeyField))

    def __str__(self) -> str:
        fan = "".join(f", {fan.shards} shards" if fan.shards else f", each {fan.bucket}" for fan in self.fans)
        key = "; ".join(f"{facet.pk} / {facet.sk}" if facet.sk else str(facet.pk) for facet in self.facets)
        comparison_text = f", compared by {', '.join(sorted(self.compared))}" if self.compared else ""
        return f"{self.operation} {self.slot}: {key}{' in reverse' if self.reverse else ''}{fan}{comparison_text}"


def conditions(chosen: Plan, values: Mapping[str, object], *, now: datetime | None = None) -> tuple[KeyCondition, ...]:
    """The key conditions of a plan for these values, given by the lookup's names: one for each Query.

    The value of the range is one value, a pair for `between`, or Bounds. Of several conditions, each run of
    `plan.shards` is one time bucket, in the order of reading. No condition at all means that nothing can match. A range
    over time buckets without an end extends to `now`, or is refused if that is not given.
    """
    return chosen.conditions(values, now)


def _compile(plan: Plan) -> Conditions:
    """The function from values to the conditions of a plan."""
    facet = plan.facets[0]
    translate = _translation(plan, facet)
    condition_for = _sort_condition(plan)
    within = plan.within
    if plan.fans:
        return _compile_fans(plan, translate, condition_for)
    partition = facet.pk_of
    if within is None:

        def without_range(values: Values, now: datetime | None) -> tuple[KeyCondition, ...]:
            values = translate(values) if translate else values
            condition = condition_for(values, _UNBOUNDED, partition(values))
            return () if condition is None else (condition,)

        return without_range
    op, name = within.op, within.attribute

    def with_range(values: Values, now: datetime | None) -> tuple[KeyCondition, ...]:
        bounds = Bounds.of(op, values[name])
        values = translate(values) if translate else values
        condition = condition_for(values, bounds, partition(values))
        return () if condition is None else (condition,)

    return with_range


def _translation(plan: Plan, facet: Facet) -> Callable[[Values], Values] | None:
    """From values by the lookup's names to values by the facet's attributes. None if these are the same."""
    lookup, within = plan.lookup, plan.within
    constants = {lookup.attribute(facet.entity, name): value for name, value in lookup.constants}
    if not lookup.roles and not constants and within is None:
        return None
    range_name = within.attribute if within else ""  # a range is not a value

    def with_constants(values: Values) -> Values:
        translated_values = {**values, **constants}
        translated_values.pop(range_name, None)
        return translated_values

    def translate(values: Values) -> Values:
        translated_values = {
            lookup.attribute(facet.entity, name): value for name, value in values.items() if name != range_name
        }
        return {**translated_values, **constants}

    return translate if lookup.roles else with_constants


def _sort_condition(plan: Plan) -> _Sort:
    scope, sk = plan.scope, plan.facets[0].sk
    if sk is None or scope.kind == "whole":
        return lambda values, bounds, pk: KeyCondition(pk)
    if isinstance(sk, Natural):
        return _natural_sort_condition(scope, sk)
    other_templates = [facet.sk for facet in plan.facets[1:] if isinstance(facet.sk, Template)]
    return _template_condition(scope, sk, other_templates)


def _template_condition(scope: SortKeyScope, sk: Template, other_templates: Sequence[Template]) -> _Sort:
    if scope.kind == "range":
        return compile_range(sk, scope.depth, other_templates)
    if scope.kind == "span":
        return _span_sort_condition(scope, sk)
    op: Op = "=" if scope.kind == "exact" else "begins_with"
    head = checked_writer(sk.heading(scope.depth), "sort key", MOST_SK_BYTES)
    return lambda values, bounds, pk: KeyCondition(pk, op, head(values))


def _span_sort_condition(scope: SortKeyScope, sk: Template) -> _Sort:
    heading = sk.heading(scope.depth)

    def span(values: Values, bounds: Bounds, pk: KeyValue) -> KeyCondition | None:
        head = heading(values)
        low, high = head + scope.low, head + scope.high
        return span_condition(pk, low, after_prefix(high, sk) if scope.high_open else high, head, sk)

    return span


def _natural_sort_condition(scope: SortKeyScope, sk: Natural) -> _Sort:
    head = sk.heading(scope.depth)
    if scope.kind == "range":
        return lambda values, bounds, pk: natural_range(sk, scope.depth, head(values), bounds, pk)
    if scope.kind == "prefix":
        return lambda values, bounds, pk: KeyCondition(pk, head=head(values))

    def exact(values: Values, bounds: Bounds, pk: KeyValue) -> KeyCondition:
        *first, last = head(values)
        return KeyCondition(pk, "=", last, head=tuple(first))

    return exact


def _compile_fans(plan: Plan, translate: Callable[[Values], Values] | None, condition_for: _Sort) -> Conditions:
    """One condition for each shard of each time bucket."""
    facet, within = plan.facets[0], plan.within
    assert isinstance(facet.pk, Template)  # only templates have derived fields
    split_fields = {fan.field for fan in plan.fans}
    parts = tuple(
        _label_field(part) if isinstance(part, KeyField) and part in split_fields else part for part in facet.pk.parts
    )
    labelled_key = Template(facet.pk.text, parts, facet.pk.separator)
    partition = key_writer(labelled_key, "partition key", MOST_PK_BYTES)

    def for_each_fan(values: Values, now: datetime | None) -> tuple[KeyCondition, ...]:
        bounds = Bounds.of(within.op, values[within.attribute]) if within else _UNBOUNDED
        values = translate(values) if translate else values
        keys = [partition({**values, **labels}) for labels in _fan_labels(plan, bounds, now)]
        first_condition = condition_for(values, bounds, keys[0]) if keys else None
        if first_condition is None:
            return ()
        op, low, high, head = first_condition.op, first_condition.low, first_condition.high, first_condition.head
        return tuple([KeyCondition(key, op, low, high, head) for key in keys])

    return for_each_fan


def _label_field(field: KeyField) -> KeyField:
    """A field whose text is given directly, under the field's name."""
    return KeyField(field.name, "", Encoding("label", str, str, field.shape))


def _fan_labels(plan: Plan, bounds: Bounds, now: datetime | None) -> list[dict[str, str]]:
    """For each Query, the texts of the fields that split the partition."""
    fans = sorted(plan.fans, key=lambda fan: not fan.bucket)
    labels: list[list[str]] = []
    for fan in fans:
        if fan.shards:
            labels.append(shard_labels(fan.field.encoding))
            continue
        end = bounds.high if bounds.high is not None else now
        if bounds.low is None or end is None:
            raise KeyValueError(
                f"{fan.field.attribute} cuts the partition by {fan.bucket}: a range over it needs a start and an end"
            )
        bucket_labels = list(buckets(fan.bucket, bounds.low, end))
        if not bucket_labels and bounds.high is None:
            raise KeyValueError(
                f"the range over {fan.field.attribute} starts after {end}, the default end: give an end"
            )
        labels.append(bucket_labels[::-1] if plan.reverse else bucket_labels)
    names = [fan.field.name for fan in fans]
    return [dict(zip(names, choice, strict=True)) for choice in product(*labels)]
