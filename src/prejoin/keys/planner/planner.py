"""The planner: from what is asked to the index and key condition that answer it, at design and at run time.

A facet serves an ask when the partition's attributes are given, the rest of what is given comes first in the
sort key, the range comes next, the order asked for is that of the keys, and no other's key lies between.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from functools import cached_property
from itertools import product
from typing import Literal as Choice

import msgspec

from prejoin.keys.facet import TABLE, Facet
from prejoin.keys.template.parts import Field
from prejoin.keys.template.template import alike, disjoint

from .conditions import Conditions, compiled
from .key_condition import KeyCondition
from .lookup import Ask, Within
from .match import Fan, Fit, Misfit, fit
from .scope import Region, region_of

Operation = Choice["GetItem", "Query"]


class Plan(msgspec.Struct, frozen=True, dict=True):
    """How an ask is answered."""

    ask: Ask
    operation: Operation
    slot: str
    facets: tuple[Facet, ...]
    """One for each entity asked for, in the same order."""
    region: Region
    """What is read of the partition."""
    reverse: bool = False
    """Whether the keys are read in descending order, to give the order asked for."""
    fans: tuple[Fan, ...] = ()
    filtered: frozenset[str] = frozenset()
    """Attributes given that only a filter can take. Empty unless the ask allows it."""
    compared: frozenset[str] = frozenset()
    """Attributes given beside the whole key of one item: that is read, and is the answer if it has these values."""

    @cached_property
    def conditions(self) -> Conditions:
        """The function behind `conditions`, made once: a plan is kept and asked again and again."""
        return compiled(self)

    @property
    def within(self) -> Within | None:
        """The range, where the sort key takes it."""
        return self.ask.within if self.region.kind == "range" else None

    @cached_property
    def shards(self) -> int:
        """How many Queries read one time bucket (or all, where there are no buckets); merged by sort key."""
        count = 1
        for fan in self.fans:
            count *= fan.shards or 1
        return count

    @property
    def bucket(self) -> Fan | None:
        """The field that cuts the partition by time, if the ask spans several; one Query each, in order."""
        return next((fan for fan in self.fans if fan.bucket), None)

    @property
    def prefix(self) -> tuple[str, ...]:
        """The attributes that the sort key takes by equality."""
        sk = self.facets[0].sk
        parts = sk.parts[: self.region.depth] if sk else ()
        return tuple(part.attribute for part in parts if isinstance(part, Field))

    def __str__(self) -> str:
        fan = "".join(f", {fan.shards} shards" if fan.shards else f", each {fan.bucket}" for fan in self.fans)
        key = "; ".join(f"{facet.pk} / {facet.sk}" if facet.sk else str(facet.pk) for facet in self.facets)
        compared = f", compared by {', '.join(sorted(self.compared))}" if self.compared else ""
        return f"{self.operation} {self.slot}: {key}{' in reverse' if self.reverse else ''}{fan}{compared}"


class Reason(msgspec.Struct, frozen=True):
    """Why one facet, or several together, do not serve."""

    facets: tuple[Facet, ...]
    why: str

    def __str__(self) -> str:
        return f"{'; '.join(map(str, self.facets))}: {self.why}"


class Refusal(msgspec.Struct, frozen=True):
    """No key serves the ask: the keys there are, why each does not, and one that would."""

    ask: Ask
    reasons: tuple[Reason, ...]

    @property
    def remedy(self) -> str:
        """The key that would serve, in words."""
        pk = ", ".join(sorted(self.ask.given)) or "a constant"
        tail = [self.ask.within.attribute] if self.ask.within else []
        tail += [item.attribute for item in self.ask.order if item.attribute not in self.ask.given]
        sk = f" and the sort key starting with {', '.join(dict.fromkeys(tail))}" if tail else ""
        return f"a key with the partition made of {pk}{sk} would serve it"

    def __str__(self) -> str:
        found = "\n".join(f"  {reason}" for reason in self.reasons) or "  no keys at all"
        return f"no key serves {self.ask}: {self.remedy}.\n{found}"


def plan(facets: Sequence[Facet], ask: Ask) -> Plan | Refusal:
    """The best way to answer an ask. It wants all facets of the table, for others' keys may lie between.

    >>> from prejoin.types import STRING
    >>> from .template import Template
    >>> types = {"user_id": STRING, "order_id": STRING, "status": STRING}
    >>> def key(text): return Template.of(text, types)
    >>> facets = [
    ...     Facet("User", "table", key("USER#{user_id}"), key("PROFILE")),
    ...     Facet("Order", "table", key("USER#{user_id}"), key("ORDER#{order_id}")),
    ...     Facet("Order", "gsi1", key("STATUS#{status}"), key("{order_id}")),
    ... ]
    >>> orders = plan(facets, Ask.of("Order", equal=["user_id"], order=["-order_id"]))
    >>> print(orders)
    Query table: USER#{user_id} / ORDER#{order_id} in reverse
    >>> [str(condition) for condition in conditions(orders, {"user_id": "42"})]
    ['USER#42 / ORDER#*']
    >>> plan(facets, Ask.of("User", "Order", equal=["user_id"])).region.kind
    'whole'
    >>> plan(facets, Ask.of("User", equal=["user_id"])).operation
    'GetItem'
    >>> print(plan(facets, Ask.of("Order", equal=["user_id", "order_id", "status"])))
    GetItem table: USER#{user_id} / ORDER#{order_id}, compared by status
    >>> print(plan(facets, Ask.of("Order", equal=["status"], consistent=True)))
    no key serves Order by status, consistent: a key with the partition made of status would serve it.
      Order in table: USER#{user_id} / ORDER#{order_id}: its partition needs user_id
      Order in gsi1: STATUS#{status} / {order_id}: an index is never read consistently
    """
    reasons: list[Reason] = []
    fits: dict[tuple[str, str], list[Fit]] = {}
    bases = {(facet.entity, facet.copy): facet.readable for facet in facets if facet.slot == TABLE}
    for facet in facets:
        if facet.entity in ask.entities:
            # The table's key of an item, or of a copy, is in every index that has it.
            everywhere = bases.get((facet.entity, facet.copy), frozenset()) if facet.slot != TABLE else frozenset()
            try:
                fits.setdefault((facet.slot, facet.entity), []).append(fit(facet, ask, everywhere))
            except Misfit as misfit:
                reasons.append(Reason((facet,), str(misfit)))
    slots = list(dict.fromkeys([TABLE, *(facet.slot for facet in facets)]))
    plans: list[Plan] = []
    for slot in slots:
        for group in product(*(fits.get((slot, entity), ()) for entity in ask.entities)):
            try:
                plans.append(_join(facets, ask, slot, group))
            except Misfit as misfit:
                reasons.append(Reason(tuple(one.facet for one in group), str(misfit)))
    if not plans:
        return Refusal(ask, tuple(reasons))
    return min(plans, key=_price)  # the first of equals: the table before indexes, indexes in their order


def _price(found: Plan) -> tuple[int, int, int, bool]:
    filtered = len(found.filtered) + (found.ask.within is not None and found.within is None)
    return filtered, len(found.fans), found.shards, found.operation != "GetItem"


def _join(facets: Sequence[Facet], ask: Ask, slot: str, fits: tuple[Fit, ...]) -> Plan:
    if not fits:
        raise Misfit("no entity is asked for")
    first = fits[0]
    for other in fits[1:]:
        _same_partition(first, other, ask)
    if len({one.reverse for one in fits if any(o.entity in ("", one.facet.entity) for o in ask.order)}) > 1:
        raise Misfit("they are sorted in opposite directions")
    chosen = tuple(one.facet for one in fits)
    filtered = frozenset().union(*(one.filtered for one in fits))
    reverse = any(one.reverse for one in fits)
    if len(fits) == 1 and first.whole_key and slot == TABLE and not filtered and not ask.within:
        return Plan(ask, "GetItem", slot, chosen, Region("exact", first.depth), compared=first.compared)
    others = [f for f in facets if f.slot == slot and f not in chosen and not disjoint(f.pk, first.facet.pk)]
    region = region_of(fits, others, ask)
    return Plan(ask, "Query", slot, chosen, region, reverse, first.fans, filtered)


def _same_partition(one: Fit, other: Fit, ask: Ask) -> None:
    ours, theirs = one.facet.pk, other.facet.pk
    same = len(ours.parts) == len(theirs.parts) and all(
        alike(a, b)
        and (
            not (isinstance(a, Field) and isinstance(b, Field))
            or ask.name(one.facet.entity, a.attribute) == ask.name(other.facet.entity, b.attribute)
        )
        for a, b in zip(ours.parts, theirs.parts, strict=True)
    )
    if not same:
        raise Misfit("they are not in one partition")


def conditions(found: Plan, values: Mapping[str, object], *, now: datetime | None = None) -> tuple[KeyCondition, ...]:
    """The key conditions of a plan with these values, by the names the ask uses; one for each Query.

    The value of the range is one value, a pair for `between`, or Bounds. Of several conditions, each run of
    `plan.shards` is one time bucket, in the order of reading; none at all means that nothing can match. A
    range over time buckets without an end ends at `now`, if that is given, and is refused otherwise.
    """
    return found.conditions(values, now)
