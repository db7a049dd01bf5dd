"""The key conditions of a plan for given values. What the plan fixes is compiled into a function once."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime
from itertools import product
from typing import TYPE_CHECKING

from prejoin.keys.errors import KeyValueError
from prejoin.keys.facet import Facet, key_writer
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
from .scope import SortKeyScope

if TYPE_CHECKING:
    from .planner import Plan

Values = Mapping[str, object]
Conditions = Callable[[Values, datetime | None], tuple[KeyCondition, ...]]
_Sort = Callable[[Values, Bounds, KeyValue], KeyCondition | None]
"""From the values, the bounds of the range (if any) and the partition to the condition."""

_UNBOUNDED = Bounds()


def compile_conditions(found: Plan) -> Conditions:
    """The function from values to the conditions of a plan."""
    facet = found.facets[0]
    known = _known(found, facet)
    sort = _sort(found.scope, facet)
    within = found.within
    if found.fans:
        return _fanned(found, known, sort)
    partition = facet.pk_of
    if within is None:

        def still(values: Values, now: datetime | None) -> tuple[KeyCondition, ...]:
            values = known(values) if known else values
            condition = sort(values, _UNBOUNDED, partition(values))
            return () if condition is None else (condition,)

        return still
    op, name = within.op, within.attribute

    def moving(values: Values, now: datetime | None) -> tuple[KeyCondition, ...]:
        bounds = Bounds.of(op, values[name])
        values = known(values) if known else values
        condition = sort(values, bounds, partition(values))
        return () if condition is None else (condition,)

    return moving


def _known(found: Plan, facet: Facet) -> Callable[[Values], Values] | None:
    """From values by the lookup's names to values by the facet's attributes. None if these are the same."""
    lookup, within = found.lookup, found.within
    constants = {lookup.attribute(facet.entity, name): value for name, value in lookup.constants}
    if not lookup.roles and not constants and within is None:
        return None
    aside = within.attribute if within else ""  # a range is not a value

    def known(values: Values) -> Values:
        found = {**values, **constants}
        found.pop(aside, None)
        return found

    def translated(values: Values) -> Values:
        found = {lookup.attribute(facet.entity, name): value for name, value in values.items() if name != aside}
        return {**found, **constants}

    return translated if lookup.roles else known


def _sort(scope: SortKeyScope, facet: Facet) -> _Sort:
    sk = facet.sk
    if sk is None or scope.kind == "whole":
        return lambda values, bounds, pk: KeyCondition(pk)
    return _of_attributes(scope, sk) if isinstance(sk, Natural) else _of_template(scope, sk)


def _of_template(scope: SortKeyScope, sk: Template) -> _Sort:
    if scope.kind == "range":
        return compile_range(sk, scope.depth)
    if scope.kind == "span":
        return _of_span(scope, sk)
    op: Op = "=" if scope.kind == "exact" else "begins_with"
    head = checked_writer(sk.heading(scope.depth), "sort key", MOST_SK_BYTES)
    return lambda values, bounds, pk: KeyCondition(pk, op, head(values))


def _of_span(scope: SortKeyScope, sk: Template) -> _Sort:
    heading = sk.heading(scope.depth)

    def spanning(values: Values, bounds: Bounds, pk: KeyValue) -> KeyCondition | None:
        head = heading(values)
        low, high = head + scope.low, head + scope.high
        return span_condition(pk, low, after_prefix(high, sk) if scope.high_open else high, head, sk)

    return spanning


def _of_attributes(scope: SortKeyScope, sk: Natural) -> _Sort:
    head = sk.heading(scope.depth)
    if scope.kind == "range":
        return lambda values, bounds, pk: natural_range(sk, scope.depth, head(values), bounds, pk)
    if scope.kind == "prefix":
        return lambda values, bounds, pk: KeyCondition(pk, head=head(values))

    def exact(values: Values, bounds: Bounds, pk: KeyValue) -> KeyCondition:
        *first, last = head(values)
        return KeyCondition(pk, "=", last, head=tuple(first))

    return exact


def _fanned(found: Plan, known: Callable[[Values], Values] | None, sort: _Sort) -> Conditions:
    """One condition for each shard of each time bucket."""
    facet, within = found.facets[0], found.within
    assert isinstance(facet.pk, Template)  # only templates have derived fields
    split = {fan.field for fan in found.fans}
    parts = [_label(part) if isinstance(part, KeyField) and part in split else part for part in facet.pk.parts]
    text = facet.pk.text
    partition = key_writer(Template(text, tuple(parts), facet.pk.separator), "partition key", MOST_PK_BYTES)

    def fanned(values: Values, now: datetime | None) -> tuple[KeyCondition, ...]:
        bounds = Bounds.of(within.op, values[within.attribute]) if within else _UNBOUNDED
        values = known(values) if known else values
        keys = [partition({**values, **labels}) for labels in _labels(found, bounds, now)]
        first = sort(values, bounds, keys[0]) if keys else None
        if first is None:
            return ()
        op, low, high, head = first.op, first.low, first.high, first.head
        return tuple([KeyCondition(key, op, low, high, head) for key in keys])

    return fanned


def _label(field: KeyField) -> KeyField:
    """A field whose text is given directly, under the field's name."""
    return KeyField(field.name, "", Encoding("label", str, str, field.shape))


def _labels(found: Plan, bounds: Bounds, now: datetime | None) -> list[dict[str, str]]:
    """For each Query, the texts of the fields that split the partition."""
    fans = sorted(found.fans, key=lambda fan: not fan.bucket)
    labels: list[list[str]] = []
    for fan in fans:
        if fan.shards:
            labels.append(shard_labels(fan.field.encoding))
            continue
        end = bounds.high if bounds.high is not None else now
        if bounds.low is None or end is None:
            what = fan.field.attribute
            raise KeyValueError(f"{what} cuts the partition by {fan.bucket}: a range over it needs a start and an end")
        spans = list(buckets(fan.bucket, bounds.low, end))
        if not spans and bounds.high is None:
            what = fan.field.attribute
            raise KeyValueError(f"the range over {what} starts after {end}, the default end: give an end")
        labels.append(spans[::-1] if found.reverse else spans)
    names = [fan.field.name for fan in fans]
    return [dict(zip(names, choice, strict=True)) for choice in product(*labels)]
