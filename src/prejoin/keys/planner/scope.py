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
from .lookup import Lookup
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


def scope_of(matches: Sequence[FacetMatch], others: Sequence[Facet], lookup: Lookup) -> SortKeyScope:
    """The smallest scope of whole prefixes that contains these facets and none of the others. Raises Mismatch if there
    is none.
    """
    sks = [one.facet.sk for one in matches]
    if any(sk is None for sk in sks):
        if len(matches) > 1 or others:
            raise Mismatch("without a sort key a partition is a single item")
        return SortKeyScope("whole")
    templates = [sk for sk in sks if sk]
    first = templates[0].parts
    common = _common(matches, templates, lookup)
    _same_order(matches, templates, lookup)
    if lookup.within and not matches[0].filtered_range:
        if any(one.depth != matches[0].depth for one in matches) or common < matches[0].depth + 1:
            raise Mismatch(f"their sort keys do not reach {lookup.within.attribute} by the same parts")
        depth = matches[0].depth
        _nothing_between(first[:depth], others)
        return SortKeyScope("range", depth)
    if any(_chooses(one, sk.parts[common : one.depth]) for one, sk in zip(matches, templates, strict=True)):
        raise Mismatch("with the given attributes, their keys are not adjacent")
    if all(common == len(sk.parts) for sk in templates):
        _nothing_between(first, others, exact=True)
        return SortKeyScope("exact", common)
    if len(matches) == 1:
        # one entity: its own prefix is the scope
        _nothing_between(first[:common], others)
        return SortKeyScope("prefix", common) if common else SortKeyScope("whole")
    return _span(templates, common, others)


def _common(matches: Sequence[FacetMatch], templates: Sequence[KeyForm], lookup: Lookup) -> int:
    """The number of first parts that all sort keys share: the known ones, and with a range one more field."""
    most = min(one.depth for one in matches)
    if lookup.within and not matches[0].filtered_range:
        most += 1
    return _shared(matches, templates, lookup, most)


def _shared(matches: Sequence[FacetMatch], templates: Sequence[KeyForm], lookup: Lookup, most: int) -> int:
    count = 0
    while count < most and all(count < len(sk.parts) for sk in templates):
        here = [sk.parts[count] for sk in templates]
        names = {
            lookup.name(one.facet.entity, part.attribute) if isinstance(part, KeyField) else ""
            for one, part in zip(matches, here, strict=True)
        }
        if len(names) > 1 or not all(alike(here[0], part) for part in here):
            break
        count += 1
    return count


def _same_order(matches: Sequence[FacetMatch], templates: Sequence[KeyForm], lookup: Lookup) -> None:
    """Sorting several entities as one sequence requires equal key parts as far as the order reaches."""
    if len(matches) > 1 and any(not order.entity for order in lookup.order):
        reach = max(one.reach for one in matches)
        if _shared(matches, templates, lookup, reach) < reach:
            raise Mismatch("their sort keys differ before the end of the sort, so they are not in one order")


def _chooses(one: FacetMatch, parts: Sequence[Part]) -> bool:
    """Whether known values in these parts select among the items of a partition.

    Attributes that are also in the partition key select nothing more: `CUSTOMER#{name} / CUSTOMER#{name}`.
    """
    partition = {field.attribute for field in one.facet.pk.fields if not field.encoding.derived}
    return any(isinstance(part, KeyField) and part.attribute not in partition for part in parts)


def _fields(parts: Sequence[Part]) -> int:
    return sum(isinstance(part, KeyField) for part in parts)


def _span(templates: Sequence[KeyForm], common: int, others: Sequence[Facet]) -> SortKeyScope:
    sk = templates[0]
    head = sk.parts[:common]
    edges = [_edge(template, common) for template in templates]
    # Natural keys have one condition per attribute, so a prefix may end after any of them.
    ends_in_text = not head or isinstance(head[-1], KeyText) or isinstance(sk, Natural)
    open_edge = any(not edge.text and not edge.exact for edge in edges)
    # If nothing else is in it, the larger scope reads the same items by a simpler condition.
    if ends_in_text and (open_edge or not _between(head, others)):
        _nothing_between(head, others)
        return SortKeyScope("prefix", common) if common else SortKeyScope("whole")
    low = min(edge.text for edge in edges)
    top = max(edges, key=lambda edge: edge.top(sk))
    for other in others:
        if _reaches(other, head, low, top.top(sk)):
            raise Mismatch(f"keys of {other.entity} lie between them")
    return SortKeyScope("span", common, low, top.text, not top.exact)


def _edge(template: KeyForm, common: int) -> _Edge:
    rest = template.parts[common:]
    text = rest[0].text if rest and isinstance(rest[0], KeyText) else ""
    return _Edge(text, exact=not _fields(rest))


def _reaches(other: Facet, head: Sequence[Part], low: str, high: str) -> bool:
    """Whether keys of another facet can lie between two texts that follow `head`."""
    if other.sk is None or not meet(other.sk.shape, shape(tuple(head)) + ANYTHING):
        return False
    parts = other.sk.parts
    if len(parts) < len(head) or not all(alike(a, b) for a, b in zip(parts, head, strict=False)):
        return True
    edge = _edge(other.sk, len(head))
    return edge.text <= high and low <= (edge.top(other.sk) if edge.text or edge.exact else high)


def _between(head: Sequence[Part], others: Sequence[Facet], exact: bool = False) -> Facet | None:
    wanted = shape(tuple(head)) + (() if exact else ANYTHING)
    for other in others:
        if other.sk is None or meet(other.sk.shape, wanted):
            return other
    return None


def _nothing_between(head: Sequence[Part], others: Sequence[Facet], exact: bool = False) -> None:
    if other := _between(head, others, exact):
        what = f"copies of {other.entity}" if other.copy else f"keys of {other.entity}"
        raise Mismatch(f"it would also read {what} ({other.sk})")
