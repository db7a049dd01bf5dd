"""The keys of indexes after an update: set anew, removed, or the update refused. Never stale."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from prejoin.keys import Facet

from .errors import UnknownValue
from .physical import written
from .schema import Schema
from .values import Json
from .writes import Write


def index_changes(schema: Schema, write: Write) -> tuple[dict[str, Json], tuple[str, ...]]:
    """For an update, the key attributes of indexes to set, and those to remove."""
    sets: dict[str, Json] = {}
    removes: tuple[str, ...] = ()
    moved = touched(write)
    if not moved:
        return sets, removes
    changed, after = write.changes.whole, write.after
    for facet in moved:
        keys = schema.composed(facet)
        # Where not every item is in the index, an item enters or stays with both keys or with none.
        whole = bool(facet.when)
        pk = bool(keys.pk) and (whole or not changed.isdisjoint(facet.pk.attributes))
        sk = facet.sk is not None and bool(keys.sk) and (whole or not changed.isdisjoint(facet.sk.attributes))
        if any(when.attribute in after and not when.holds(after) for when in facet.when):
            removes += keys.names  # it leaves, whatever its key was
            continue
        if write.becomes is None:
            names = facet.pk.attributes if pk else ()
            names += facet.sk.attributes if sk and facet.sk else ()
            _check(write, facet, names + tuple(when.attribute for when in facet.when), after)
        if not facet.has(after):
            removes += keys.names
            continue
        if pk:
            sets |= written(keys.pk, facet.pk_of(after))
        if sk and (text := facet.sk_of(after)) is not None:
            sets |= written(keys.sk, text)
    return sets, removes


def touched(write: Write) -> list[Facet]:
    """The indexes whose keys, or membership, depend on what an update changes."""
    if not write.entity.indexes:
        return []
    changed = write.changes.whole
    return [facet for facet in write.entity.indexes.values() if not changed.isdisjoint(facet.placing)]


def _check(write: Write, facet: Facet, names: tuple[str, ...], after: Mapping[str, Any]) -> None:
    """Refuses an update after which a key, or whether there is one, would not be known."""
    if all(name in after for name in names):
        return
    for name in names:
        if name in write.changes.unknown:
            raise UnknownValue(
                f"{name} is part of the key of {write.entity.tag} in {facet.slot} and cannot be changed by an amount, "
                "for its new value is not known: set it to a value, or give read=True, and the item is read first"
            )
    write.need(names, after, f"its key in {facet.slot} ({facet.pk}{f' / {facet.sk}' if facet.sk else ''})")
