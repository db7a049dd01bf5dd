"""Items that reads hide: those that have expired, or that are marked as deleted.

Patterns say which items are visible. A Query or Scan gets a filter for it; an item that is read by its key is tested
here.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from prejoin.keys import Facet
from prejoin.table.codec.codec import Codec
from prejoin.table.codec.values import Json
from prejoin.table.condition.evaluate import holds
from prejoin.table.condition.record import Condition
from prejoin.table.condition.render import Placeholders, render_part

from .bind import BoundEntity, facet_tag


class VisibleItems(msgspec.Struct, frozen=True):
    """The conditions that the visible items with a type tag fulfil."""

    tag: str
    codec: Codec[Any]
    conditions: list[Condition]


def visible_items(by_tag: Mapping[str, BoundEntity[Any]], facets: Iterable[Facet]) -> tuple[VisibleItems, ...]:
    """Return the conditions for the facets whose entities hide items, as of now."""
    visible = []
    for facet in facets:
        entity = by_tag[facet.entity]
        conditions = entity.visible() if entity.patterns else []
        if conditions:
            visible.append(VisibleItems(facet_tag(facet), entity.codec, conditions))
    return tuple(visible)


def filter_text(
    visible: Iterable[VisibleItems], type_attribute: str, is_only_entity: bool, placeholders: Placeholders
) -> str:
    """Return a FilterExpression that hides items.

    If several entities are read (not `is_only_entity`), each condition applies to the items with its type tag only.
    """
    texts = []
    for items in visible:
        text = " AND ".join([render_part(condition, items.codec, placeholders) for condition in items.conditions])
        if not is_only_entity:
            # DynamoDB refuses redundant parentheses.
            inner = f"({text})" if len(items.conditions) > 1 else text
            text = f"({placeholders.name(type_attribute)} <> {placeholders.text(items.tag)} OR {inner})"
        texts.append(text)
    return " AND ".join(texts)


def is_expired(ttl: str, item: Mapping[str, Json]) -> bool:
    """Return whether the time to live of an item has passed. DynamoDB deletes each item at a time of its own."""
    end = item.get(ttl, {}).get("N") if ttl else None
    return end is not None and float(end) <= time.time()


def is_hidden(entity: BoundEntity[Any], item: Mapping[str, Json]) -> bool:
    """Return whether reads hide this item."""
    return bool(entity.patterns) and not all(holds(condition, entity.codec, item) for condition in entity.visible())


def is_vacant(entity: BoundEntity[Any], item: Mapping[str, Json]) -> bool:
    """Return whether an insert may replace this item, as if it were not there."""
    return any(holds(condition, entity.codec, item) for condition in entity.vacant())
