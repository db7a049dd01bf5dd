"""The part of a partition that a query reads: one entity, or several side by side with nothing else between."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import msgspec

from prejoin.keys.facet import Facet, KeyForm
from prejoin.keys.template.natural import Natural
from prejoin.keys.template.parts import KeyField, KeyText, Part, shape
from prejoin.keys.template.shape import ANYTHING, meet
from prejoin.keys.template.template import Template, alike

from .key_condition import after_prefix
from .lookup import Lookup, Within
from .match import FacetMatch, Mismatch


class SortKeyScope(msgspec.Struct, frozen=True):
    """The sort keys that are read, without values.

    `whole`: the partition. `exact`: one sort key. `prefix`: keys that begin with the first `depth` parts of the sort
    key. `range`: the same, with the next field in a range. `span`: from one entity's text to another's.
    """

    kind: Literal["whole", "exact", "prefix", "range", "span"]
    depth: int = 0
    low: str = ""
    high: str = ""
    high_open: bool = False
    """`high` is a prefix, and all keys with it are in the span."""


class _Edge(msgspec.Struct, frozen=True):
    """Where an entity lies after the common parts: at one text, or under a prefix."""

    text: str
    exact: bool

    def top(self, sk: KeyForm) -> str:
        assert isinstance(sk, Template) or self.exact  # a natural key has no constant text
        return self.text if self.exact or isinstance(sk, Natural) else after_prefix(self.text, sk)


def scope_of(matches: Sequence[FacetMatch], other_facets: Sequence[Facet], lookup: Lookup) -> SortKeyScope:
    """The smallest scope of whole prefixes that contains these facets and none of the others. Raises Mismatch if there
    is none.
    """
    sort_keys = [match.facet.sk for match in matches]
    if any(sk is None for sk in sort_keys):
        if len(matches) > 1 or other_facets:
            raise Mismatch("without a sort key a partition is a single item")
        return SortKeyScope("whole")
    templates = [sk for sk in sort_keys if sk]
    first_parts = templates[0].parts
    common_count = _common_part_count(matches, templates, lookup)
    _check_order(matches, templates, lookup)
    if lookup.within and not matches[0].filtered_range:
        depth = _range_depth(matches, common_count, lookup.within)
        _check_nothing_between(first_parts[:depth], other_facets)
        return SortKeyScope("range", depth)
    _check_adjacent(matches, templates, common_count)
    if all(common_count == len(sk.parts) for sk in templates):
        _check_nothing_between(first_parts, other_facets, exact=True)
        return SortKeyScope("exact", common_count)
    if len(matches) == 1:
        # one entity: its own prefix is the scope
        _check_nothing_between(first_parts[:common_count], other_facets)
        return SortKeyScope("prefix", common_count) if common_count else SortKeyScope("whole")
    return _span(templates, common_count, other_facets)


def _range_depth(matches: Sequence[FacetMatch], common_count: int, within: Within) -> int:
    """The number of parts before the range. All sort keys must share these, and the field of the range."""
    depth = matches[0].depth
    if any(match.depth != depth for match in matches) or common_count < depth + 1:
        raise Mismatch(f"their sort keys do not reach {within.attribute} by the same parts")
    return depth


def _common_part_count(matches: Sequence[FacetMatch], templates: Sequence[KeyForm], lookup: Lookup) -> int:
    """The number of first parts that all sort keys share: the known ones, and with a range one more field."""
    limit = min(match.depth for match in matches)
    if lookup.within and not matches[0].filtered_range:
        limit += 1
    return _shared_part_count(matches, templates, lookup, limit)


def _shared_part_count(matches: Sequence[FacetMatch], templates: Sequence[KeyForm], lookup: Lookup, limit: int) -> int:
    count = 0
    while count < limit and all(count < len(sk.parts) for sk in templates):
        parts_there = [sk.parts[count] for sk in templates]
        names = {
            lookup.name(match.facet.entity, part.attribute) if isinstance(part, KeyField) else ""
            for match, part in zip(matches, parts_there, strict=True)
        }
        if len(names) > 1 or not all(alike(parts_there[0], part) for part in parts_there):
            break
        count += 1
    return count


def _check_order(matches: Sequence[FacetMatch], templates: Sequence[KeyForm], lookup: Lookup) -> None:
    """Sorting several entities as one sequence requires equal key parts as far as the order reaches."""
    if len(matches) > 1 and any(not order.entity for order in lookup.order):
        reach = max(match.reach for match in matches)
        if _shared_part_count(matches, templates, lookup, reach) < reach:
            raise Mismatch("their sort keys differ before the end of the sort, so they are not in one order")


def _check_adjacent(matches: Sequence[FacetMatch], templates: Sequence[KeyForm], common_count: int) -> None:
    """Refuse keys of which only some items after the common parts are wanted: a condition has one range."""
    for match, sk in zip(matches, templates, strict=True):
        if _selects_items(match, sk.parts[common_count : match.depth]):
            raise Mismatch("with the given attributes, their keys are not adjacent")


def _selects_items(match: FacetMatch, parts: Sequence[Part]) -> bool:
    """Whether known values in these parts select among the items of a partition.

    Attributes that are also in the partition key select nothing more: `CUSTOMER#{name} / CUSTOMER#{name}`.
    """
    partition = {field.attribute for field in match.facet.pk.fields if not field.encoding.derived}
    return any(isinstance(part, KeyField) and part.attribute not in partition for part in parts)


def _span(templates: Sequence[KeyForm], common_count: int, other_facets: Sequence[Facet]) -> SortKeyScope:
    sk = templates[0]
    common_parts = sk.parts[:common_count]
    edges = [_edge(template, common_count) for template in templates]
    # Natural keys have one condition per attribute, so a prefix may end after any of them.
    ends_in_text = not common_parts or isinstance(common_parts[-1], KeyText) or isinstance(sk, Natural)
    open_edge = any(not edge.text and not edge.exact for edge in edges)
    # If nothing else is in it, the larger scope reads the same items by a simpler condition.
    if ends_in_text and (open_edge or not _facet_between(common_parts, other_facets)):
        _check_nothing_between(common_parts, other_facets)
        return SortKeyScope("prefix", common_count) if common_count else SortKeyScope("whole")
    low = min(edge.text for edge in edges)
    top_edge = max(edges, key=lambda edge: edge.top(sk))
    for other in other_facets:
        if _reaches(other, common_parts, low, top_edge.top(sk)):
            raise Mismatch(f"keys of {other.entity} lie between them")
    return SortKeyScope("span", common_count, low, top_edge.text, not top_edge.exact)


def _edge(template: KeyForm, common_count: int) -> _Edge:
    parts = template.parts[common_count:]
    text = parts[0].text if parts and isinstance(parts[0], KeyText) else ""
    return _Edge(text, exact=not any(isinstance(part, KeyField) for part in parts))


def _reaches(other: Facet, common_parts: Sequence[Part], low: str, high: str) -> bool:
    """Whether keys of another facet can lie between two texts that follow `common_parts`."""
    if other.sk is None or not meet(other.sk.shape, shape(tuple(common_parts)) + ANYTHING):
        return False
    parts = other.sk.parts
    if len(parts) < len(common_parts):
        return True
    if not all(alike(part, common_part) for part, common_part in zip(parts, common_parts, strict=False)):
        return True
    edge = _edge(other.sk, len(common_parts))
    return edge.text <= high and low <= (edge.top(other.sk) if edge.text or edge.exact else high)


def _facet_between(common_parts: Sequence[Part], other_facets: Sequence[Facet], exact: bool = False) -> Facet | None:
    wanted_shape = shape(tuple(common_parts)) + (() if exact else ANYTHING)
    for other in other_facets:
        if other.sk is None or meet(other.sk.shape, wanted_shape):
            return other
    return None


def _check_nothing_between(common_parts: Sequence[Part], other_facets: Sequence[Facet], exact: bool = False) -> None:
    if facet_between := _facet_between(common_parts, other_facets, exact):
        keys_text = f"copies of {facet_between.entity}" if facet_between.copy else f"keys of {facet_between.entity}"
        raise Mismatch(f"it would also read {keys_text} ({facet_between.sk})")
