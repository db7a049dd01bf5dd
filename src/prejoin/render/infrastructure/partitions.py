"""Partitions that a role must not reach, though they begin like those of its own requests.

`USER#*` is the limit for the partitions `USER#{userId}`. IAM's `*` stands for any text, so it also lets through
`USER#{userId}#CART` and `USER#{userId}#USER#HISTORY`, though a role may have no request for these. Values in keys have
the separator escaped, so `USER#*#CART` fits no key of `USER#{userId}`, and can be taken away from the limit.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator
from typing import NamedTuple

from prejoin.constructs.registry import added_in, added_key, kept_items
from prejoin.design.mapping.facets import usable_facets
from prejoin.design.model import TABLE, Design
from prejoin.keys import Template
from prejoin.keys.template.shape import ANYTHING, Shape, literal, meet
from prejoin.workload.model import Workload

from .grants import leading_keys

_WILDCARD = re.compile(r"(\*|\$\{[*?$]\})")


class PartitionKey(NamedTuple):
    """The keys of one kind of partition, in the table or in an index."""

    place: str
    pattern: str
    """As a pattern of IAM: `USER#*`."""
    shape: Shape
    """The texts that the keys can be."""


def partition_keys(workload: Workload, design: Design) -> tuple[PartitionKey, ...]:
    """The keys of all partitions of a design whose items have templates: of entities, copies and constructs."""
    return tuple(PartitionKey(place, leading_keys(key.text), key.shape) for place, key in _templates(workload, design))


def _templates(workload: Workload, design: Design) -> Iterator[tuple[str, Template]]:
    for facet in usable_facets(design, workload):
        if isinstance(facet.pk, Template):
            yield facet.slot, facet.pk
    for construct in added_in(workload, design):
        if key := added_key(construct, design):
            yield TABLE, key[0]
    for entity, item in kept_items(workload, design):
        yield TABLE, Template.of(item.pk, entity.types, design.separator, design.raw_keys)


def other_partitions(
    limits: Collection[str], places: Collection[str], partitions: Iterable[PartitionKey]
) -> tuple[str, ...]:
    """The patterns of partitions that limits let through and that are no limit themselves.

    A pattern that also fits a key of the limits is left out: the requests for that key need it.
    """
    if not limits:
        return ()
    in_places = [partition for partition in partitions if partition.place in places]
    limit_shapes = [_pattern_shape(limit) for limit in limits]
    needed_shapes = [partition.shape for partition in in_places if partition.pattern in limits]
    unknown_limits = set(limits).difference(partition.pattern for partition in in_places)
    needed_shapes += map(_pattern_shape, unknown_limits)
    other_patterns: set[str] = set()
    for partition in in_places:
        is_let_through = any(meet(partition.shape, shape) for shape in limit_shapes)
        if is_let_through and not any(meet(_pattern_shape(partition.pattern), shape) for shape in needed_shapes):
            other_patterns.add(partition.pattern)
    return tuple(sorted(other_patterns))


def _pattern_shape(pattern: str) -> Shape:
    """The texts that a pattern of IAM is like.

    >>> meet(_pattern_shape("USER#*"), literal("USER#7#CART")), meet(_pattern_shape("a${*}"), literal("ab"))
    (True, False)
    """
    shape: Shape = ()
    for piece in _WILDCARD.split(pattern):
        if piece == "*":
            shape += ANYTHING
        elif piece.startswith("${"):
            shape += literal(piece[2])
        else:
            shape += literal(piece)
    return shape
