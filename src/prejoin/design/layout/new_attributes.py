"""Attributes that a document has got since its design was written: items that are in the table lack them."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec
from msgspec.structs import replace

from prejoin.design.model import TABLE, Design, Item
from prejoin.keys import fields_of
from prejoin.workload.model import Attribute, Workload


class Addition(msgspec.Struct, frozen=True):
    """A new attribute of an entity that has items already."""

    entity: str
    attribute: Attribute
    keyed: tuple[str, ...] = ()
    """The indexes whose keys it is part of, or whose items it decides about."""

    @property
    def readable(self) -> bool:
        """Whether an item without it can be read."""
        return self.attribute.optional or self.attribute.default is not None


def with_known(item: Item, workload: Workload) -> Item:
    """An item that records the attributes which its entity has now."""
    entity = workload.entity(item.entity)
    return replace(item, known=tuple(a.name for a in entity.attributes)) if entity else item


def recorded(design: Design, workload: Workload) -> Design:
    """A design that records the attributes of each entity."""
    items = tuple(item if item.copy else with_known(item, workload) for item in design.items)
    return replace(design, items=items)


def additions(before: Design, workload: Workload, after: Design | None = None) -> Iterator[Addition]:
    """The attributes that are new since a design was written, where it records those it was written for.

    `after` is the design that is to take its place, whose index keys may be made of them.
    """
    for item in before.items:
        entity = workload.entity(item.entity)
        if entity is None or item.copy or not item.known:
            continue
        own = [i for i in (after or before).items if i.entity == item.entity]
        for attribute in entity.attributes:
            if attribute.name in item.known or attribute.id:
                continue
            keyed = dict.fromkeys(
                facet.slot
                for one in own
                for facet in one.facets
                if attribute.name in {n for text in (*facet.pk, *facet.sk) for n in fields_of(text)}
                or attribute.name in {when.attribute for when in facet.when}
                if facet.slot != TABLE
            )
            yield Addition(entity.name, attribute, tuple(keyed))
