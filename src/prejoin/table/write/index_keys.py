"""The keys of indexes after an update: set anew, removed, or the update refused. Never stale."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from prejoin.keys import Facet, Natural
from prejoin.table.codec.values import Json
from prejoin.table.errors import UnknownValue
from prejoin.table.schema.key_attributes import written
from prejoin.table.schema.schema import Schema

from .model import Write


def index_changes(schema: Schema, write: Write, facets: Collection[Facet]) -> tuple[dict[str, Json], tuple[str, ...]]:
    """For an update of an item that is in these indexes, the key attributes to set, and those to remove."""
    sets: dict[str, Json] = {}
    removes: tuple[str, ...] = ()
    moved = touched(write, facets)
    if not moved:
        return sets, removes
    changed, after = write.changes.whole, write.after
    for facet in moved:
        keys = schema.composed(facet)
        if facet.when and _leaves(facet, after):
            removes += keys.names
            continue
        pk, sk = _anew(facet, changed)
        if write.becomes is None:
            _check(write, facet, _made_of(facet, pk, sk), after)
        if facet.when and not facet.has(after):
            removes += keys.names
            continue
        if pk:
            sets |= written(keys.pk, facet.pk_of(after))
        if sk and (text := facet.sk_of(after)) is not None:
            sets |= written(keys.sk, text)
    return sets, removes


def touched(write: Write, facets: Collection[Facet]) -> list[Facet]:
    """Of these indexes, those in which keys, or membership, depend on what an update changes."""
    if not facets:
        return []
    changed = write.changes.whole
    return [facet for facet in facets if not changed.isdisjoint(facet.placing)]


def decided_by(write: Write, facets: Collection[Facet]) -> set[str]:
    """Of the item that is there, the attributes that the keys after an update depend on."""
    after = write.changes.after({})
    found: set[str] = set()
    for facet in touched(write, facets):
        if not _leaves(facet, after):
            found.update(_made_of(facet, *_anew(facet, write.changes.whole)))
    return found.difference(after)


def _leaves(facet: Facet, after: Mapping[str, Any]) -> bool:
    """Whether an item is not in an index any more, whatever its key was."""
    return any(when.attribute in after and not when.holds(after) for when in facet.when)


def _anew(facet: Facet, changed: frozenset[str]) -> tuple[bool, bool]:
    """Whether the partition key of an index has to be written, and the sort key: those of our making."""
    # Where not every item is in the index, an item enters or stays with both keys or with none.
    whole = bool(facet.when)
    pk = not isinstance(facet.pk, Natural) and not facet.local
    sk = facet.sk is not None and not isinstance(facet.sk, Natural)
    return (
        pk and (whole or not changed.isdisjoint(facet.pk.attributes)),
        sk and facet.sk is not None and (whole or not changed.isdisjoint(facet.sk.attributes)),
    )


def _made_of(facet: Facet, pk: bool, sk: bool) -> tuple[str, ...]:
    names = facet.pk.attributes if pk else ()
    names += facet.sk.attributes if sk and facet.sk else ()
    return names + tuple([when.attribute for when in facet.when]) if facet.when else names


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
