"""The planner: from a lookup to the index and key condition that serve it. Designer and client use the same one.

A facet serves a lookup if the attributes of its partition key are given, the other given attributes come first in the
sort key, the range comes next, the keys have the requested order, and no other keys lie between.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations, product

import msgspec

from prejoin.keys.facet import TABLE, Facet, When
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
        reasons_text = "\n".join(f"  {reason}" for reason in self.reasons) or "  no keys at all"
        return f"no key serves {self.lookup}: {self.remedy}.\n{reasons_text}"


def remedy(lookup: Lookup, owner: str = "") -> str:
    """The key that would serve a lookup, in words; or what to ask for instead, if none would.

    >>> remedy(Lookup.of("Order", equal=["user_id"], order=["-placed_at"]))
    'a key with the partition made of user_id and the sort key starting with placed_at would serve it'
    >>> remedy(Lookup.of("Order", equal=["user_id"], within=("total", ">="), order=["-placed_at"]))
    'no key gives a range of total in the order of placed_at: make the range a filter, or sort by total first'
    """
    order_names = [item.attribute for item in lookup.order if item.attribute not in lookup.given]
    range_names = [lookup.within.attribute] if lookup.within else []
    if range_names and order_names and range_names != order_names[:1]:
        advice = f"make the range a filter, or sort by {range_names[0]} first"
        return f"no key gives a range of {range_names[0]} in the order of {order_names[0]}: {advice}"
    pk = ", ".join(sorted(lookup.given)) or "a constant"
    sort_names = ", ".join(dict.fromkeys(range_names + order_names))
    sk = f" and the sort key starting with {sort_names}" if sort_names else ""
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

    A key that needs an optional attribute does not serve the lookup, because it may be left out.

    >>> isinstance(plan(facets, Lookup.of("Order", equal=["status"], optional=["status"])), Refusal)
    True
    """
    if lookup.optional:
        return _plan_with_optional(facets, lookup)
    return _plan(facets, lookup)


def _plan_with_optional(facets: Sequence[Facet], lookup: Lookup) -> Plan | Refusal:
    """The plan for whichever of the optional attributes are given: these are more of the same key, or filters."""
    all_given = _plan(facets, lookup)
    if isinstance(all_given, Refusal):
        return all_given
    none_given = _plan(facets, _with_optional_names(lookup, ()))
    if all_given.filtered >= lookup.optional:
        # A value that is only a filter does not tell the shard that is made of it.
        if isinstance(none_given, Refusal) or none_given.shards == all_given.shards:
            return all_given
        return msgspec.structs.replace(none_given, lookup=lookup, filtered=none_given.filtered | lookup.optional)
    if isinstance(none_given, Refusal):
        return none_given
    in_key = sorted(lookup.optional - all_given.filtered)
    name_choices = (names for size in range(len(lookup.optional) + 1) for names in combinations(in_key, size))
    if all(_have_same_key(none_given, _plan(facets, _with_optional_names(lookup, names))) for names in name_choices):
        return all_given
    return msgspec.structs.replace(none_given, lookup=lookup, filtered=none_given.filtered | lookup.optional)


def _with_optional_names(lookup: Lookup, names: Sequence[str]) -> Lookup:
    """The lookup with some of the optional attributes."""
    return msgspec.structs.replace(
        lookup,
        equal=(lookup.equal - lookup.optional).union(names),
        filtered=(lookup.filtered - lookup.optional).union(names),
        optional=frozenset(),
    )


def _have_same_key(first: Plan, other: Plan | Refusal) -> bool:
    if isinstance(other, Refusal) or other.filtered - first.filtered:
        return False
    return (first.operation, first.slot, first.facets) == (other.operation, other.slot, other.facets)


def _plan(facets: Sequence[Facet], lookup: Lookup) -> Plan | Refusal:
    """The best plan if all attributes of the lookup are given."""
    reasons: list[Reason] = []
    matches: dict[tuple[str, str], list[FacetMatch]] = {}
    bases = {(facet.entity, facet.copy): facet.readable for facet in facets if facet.slot == TABLE}
    for facet in facets:
        if facet.entity in lookup.entities:
            # Every index contains the table's key of its items and copies.
            in_table_key = bases.get((facet.entity, facet.copy), frozenset()) if facet.slot != TABLE else frozenset()
            try:
                if facet.write_only:
                    raise Mismatch("it is only written, not read")
                matches.setdefault((facet.slot, facet.entity), []).append(match_facet(facet, lookup, in_table_key))
            except Mismatch as mismatch:
                reasons.append(Reason((facet,), str(mismatch)))
    slots = list(dict.fromkeys([TABLE, *(facet.slot for facet in facets)]))
    plans: list[Plan] = []
    for slot in slots:
        for matches_of_slot in product(*(matches.get((slot, entity), ()) for entity in lookup.entities)):
            try:
                plans.append(_join(facets, lookup, slot, matches_of_slot))
            except Mismatch as mismatch:
                reasons.append(Reason(tuple(match.facet for match in matches_of_slot), str(mismatch)))
    if not plans:
        return Refusal(lookup, tuple(reasons))
    return min(plans, key=_price)  # of equals the first: the table before indexes, indexes in order


def _price(plan: Plan) -> tuple[int, int, int, bool, bool]:
    filter_count = len(plan.filtered) + len(plan.tested) + (plan.lookup.within is not None and plan.within is None)
    # A facet with all items comes first, so that the plan of a query does not change with the values given.
    has_part_of_items = any(when.values is not None for facet in plan.facets for when in facet.when)
    return filter_count, len(plan.fans), plan.shards, plan.operation != "GetItem", has_part_of_items


def _join(facets: Sequence[Facet], lookup: Lookup, slot: str, matches: tuple[FacetMatch, ...]) -> Plan:
    if not matches:
        raise Mismatch("no entity is asked for")
    first = matches[0]
    for other in matches[1:]:
        _check_same_partition(first, other, lookup)
    _check_directions(matches, lookup)
    chosen_facets = tuple([match.facet for match in matches])
    filter_names = frozenset[str]().union(*[match.filtered for match in matches])
    reverse = any(match.reverse for match in matches)
    # In an index several items may have one key, and GetItem has no filter.
    is_one_item = len(matches) == 1 and first.whole_key and slot == TABLE
    if is_one_item and not filter_names and not lookup.within:
        scope = SortKeyScope("exact", first.depth)
        return Plan(lookup, "GetItem", slot, chosen_facets, scope, compared=first.compared, tested=first.tested)
    neighbours = _neighbours(facets, slot, chosen_facets)
    scope = scope_of(matches, neighbours, lookup)
    tested_conditions = frozenset[When]().union(*[match.tested for match in matches])
    return Plan(
        lookup, "Query", slot, chosen_facets, scope, reverse, first.fans, filter_names, tested=tested_conditions
    )


def _neighbours(facets: Sequence[Facet], slot: str, chosen_facets: Sequence[Facet]) -> list[Facet]:
    """The facets whose keys may be in the same partition, and so between those that are read."""
    partition = chosen_facets[0].pk
    facets_in_slot = [facet for facet in facets if facet.slot == slot and facet not in chosen_facets]
    return [facet for facet in facets_in_slot if not disjoint(facet.pk, partition)]


def _check_directions(matches: Sequence[FacetMatch], lookup: Lookup) -> None:
    """Refuse facets whose keys would have to be read in opposite directions. Facets without an order go either way."""
    directions = set()
    for match in matches:
        if any(order.entity in ("", match.facet.entity) for order in lookup.order):
            directions.add(match.reverse)
    if len(directions) > 1:
        raise Mismatch("they are sorted in opposite directions")


def _check_same_partition(first: FacetMatch, other: FacetMatch, lookup: Lookup) -> None:
    first_parts, other_parts = first.facet.pk.parts, other.facet.pk.parts
    is_same = len(first_parts) == len(other_parts)
    for first_part, other_part in zip(first_parts, other_parts, strict=False):
        if isinstance(first_part, KeyField) and isinstance(other_part, KeyField):
            first_name = lookup.name(first.facet.entity, first_part.attribute)
            is_same = is_same and first_name == lookup.name(other.facet.entity, other_part.attribute)
        is_same = is_same and alike(first_part, other_part)
    if not is_same:
        raise Mismatch("they are not in one partition")
