"""The planner: from a lookup to the index and key condition that serve it. Designer and client use the same one.

A facet serves a lookup if the attributes of its partition key are given, the other given attributes come first in the
sort key, the range comes next, the keys have the requested order, and no other keys lie between.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

import msgspec

from prejoin.keys.facet import TABLE, Facet
from prejoin.keys.template.parts import KeyField
from prejoin.keys.template.template import alike, disjoint

from .lookup import Lookup
from .match import FacetMatch, Mismatch, match_facet
from .plan import Plan
from .scope import SortKeyScope, scope_of


class Reason(msgspec.Struct, frozen=True):
    """Why one facet, or several together, do not serve a lookup."""

    facets: tuple[Facet, ...]
    why: str

    def __str__(self) -> str:
        return f"{'; '.join(map(str, self.facets))}: {self.why}"


class Refusal(msgspec.Struct, frozen=True):
    """No key serves the lookup: the existing keys, why each does not, and a key that would."""

    lookup: Lookup
    reasons: tuple[Reason, ...]

    @property
    def remedy(self) -> str:
        """The key that would serve the lookup, in words."""
        return remedy(self.lookup)

    def __str__(self) -> str:
        found = "\n".join(f"  {reason}" for reason in self.reasons) or "  no keys at all"
        return f"no key serves {self.lookup}: {self.remedy}.\n{found}"


def remedy(lookup: Lookup, owner: str = "") -> str:
    """The key that would serve a lookup, in words; or what to ask for instead, if none would.

    >>> remedy(Lookup.of("Order", equal=["user_id"], order=["-placed_at"]))
    'a key with the partition made of user_id and the sort key starting with placed_at would serve it'
    >>> remedy(Lookup.of("Order", equal=["user_id"], within=("total", ">="), order=["-placed_at"]))
    'no key gives a range of total in the order of placed_at: make the range a filter, or sort by total first'
    """
    order = [item.attribute for item in lookup.order if item.attribute not in lookup.given]
    ranged = [lookup.within.attribute] if lookup.within else []
    if ranged and order and ranged != order[:1]:
        other = f"make the range a filter, or sort by {ranged[0]} first"
        return f"no key gives a range of {ranged[0]} in the order of {order[0]}: {other}"
    pk = ", ".join(sorted(lookup.given)) or "a constant"
    sk = f" and the sort key starting with {', '.join(dict.fromkeys(ranged + order))}" if ranged + order else ""
    return f"a key{owner} with the partition made of {pk}{sk} would serve it"


def plan(facets: Sequence[Facet], lookup: Lookup) -> Plan | Refusal:
    """The best plan for a lookup. It needs all facets of the table, because keys of other entities may lie between.

    >>> from prejoin.types import STRING
    >>> from prejoin.keys import Template, conditions
    >>> types = {"user_id": STRING, "order_id": STRING, "status": STRING}
    >>> def key(text): return Template.of(text, types)
    >>> facets = [
    ...     Facet("User", "table", key("USER#{user_id}"), key("PROFILE")),
    ...     Facet("Order", "table", key("USER#{user_id}"), key("ORDER#{order_id}")),
    ...     Facet("Order", "gsi1", key("STATUS#{status}"), key("{order_id}")),
    ... ]
    >>> orders = plan(facets, Lookup.of("Order", equal=["user_id"], order=["-order_id"]))
    >>> print(orders)
    Query table: USER#{user_id} / ORDER#{order_id} in reverse
    >>> [str(condition) for condition in conditions(orders, {"user_id": "42"})]
    ['USER#42 / ORDER#*']
    >>> plan(facets, Lookup.of("User", "Order", equal=["user_id"])).scope.kind
    'whole'
    >>> plan(facets, Lookup.of("User", equal=["user_id"])).operation
    'GetItem'
    >>> print(plan(facets, Lookup.of("Order", equal=["user_id", "order_id", "status"])))
    GetItem table: USER#{user_id} / ORDER#{order_id}, compared by status
    >>> print(plan(facets, Lookup.of("Order", equal=["status"], consistent=True)))
    no key serves Order by status, consistent: a key with the partition made of status would serve it.
      Order in table: USER#{user_id} / ORDER#{order_id}: its partition needs user_id
      Order in gsi1: STATUS#{status} / {order_id}: an index is never read consistently
    """
    reasons: list[Reason] = []
    matches: dict[tuple[str, str], list[FacetMatch]] = {}
    bases = {(facet.entity, facet.copy): facet.readable for facet in facets if facet.slot == TABLE}
    for facet in facets:
        if facet.entity in lookup.entities:
            # Every index contains the table's key of its items and copies.
            everywhere = bases.get((facet.entity, facet.copy), frozenset()) if facet.slot != TABLE else frozenset()
            try:
                if facet.write_only:
                    raise Mismatch("it is only written, not read")
                matches.setdefault((facet.slot, facet.entity), []).append(match_facet(facet, lookup, everywhere))
            except Mismatch as mismatch:
                reasons.append(Reason((facet,), str(mismatch)))
    slots = list(dict.fromkeys([TABLE, *(facet.slot for facet in facets)]))
    plans: list[Plan] = []
    for slot in slots:
        for group in product(*(matches.get((slot, entity), ()) for entity in lookup.entities)):
            try:
                plans.append(_join(facets, lookup, slot, group))
            except Mismatch as mismatch:
                reasons.append(Reason(tuple(one.facet for one in group), str(mismatch)))
    if not plans:
        return Refusal(lookup, tuple(reasons))
    return min(plans, key=_price)  # of equals the first: the table before indexes, indexes in order


def _price(found: Plan) -> tuple[int, int, int, bool, bool]:
    filtered = len(found.filtered) + len(found.tested) + (found.lookup.within is not None and found.within is None)
    # A facet with all items comes first, so that the plan of a query does not change with the values given.
    some = any(when.values is not None for facet in found.facets for when in facet.when)
    return filtered, len(found.fans), found.shards, found.operation != "GetItem", some


def _join(facets: Sequence[Facet], lookup: Lookup, slot: str, matches: tuple[FacetMatch, ...]) -> Plan:
    if not matches:
        raise Mismatch("no entity is asked for")
    first = matches[0]
    for other in matches[1:]:
        _same_partition(first, other, lookup)
    if len({one.reverse for one in matches if any(o.entity in ("", one.facet.entity) for o in lookup.order)}) > 1:
        raise Mismatch("they are sorted in opposite directions")
    chosen = tuple(one.facet for one in matches)
    filtered = frozenset().union(*(one.filtered for one in matches))
    reverse = any(one.reverse for one in matches)
    if len(matches) == 1 and first.whole_key and slot == TABLE and not filtered and not lookup.within:
        scope = SortKeyScope("exact", first.depth)
        return Plan(lookup, "GetItem", slot, chosen, scope, compared=first.compared, tested=first.tested)
    others = [f for f in facets if f.slot == slot and f not in chosen and not disjoint(f.pk, first.facet.pk)]
    scope = scope_of(matches, others, lookup)
    tested = frozenset().union(*(one.tested for one in matches))
    return Plan(lookup, "Query", slot, chosen, scope, reverse, first.fans, filtered, tested=tested)


def _same_partition(one: FacetMatch, other: FacetMatch, lookup: Lookup) -> None:
    ours, theirs = one.facet.pk, other.facet.pk
    same = len(ours.parts) == len(theirs.parts) and all(
        alike(a, b)
        and (
            not (isinstance(a, KeyField) and isinstance(b, KeyField))
            or lookup.name(one.facet.entity, a.attribute) == lookup.name(other.facet.entity, b.attribute)
        )
        for a, b in zip(ours.parts, theirs.parts, strict=True)
    )
    if not same:
        raise Mismatch("they are not in one partition")
