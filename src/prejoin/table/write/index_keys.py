"""The keys in indexes after an update. A key is set or removed; if it cannot be known, the update is refused."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from prejoin.keys import Facet, Natural
from prejoin.table.codec.values import Json
from prejoin.table.errors import UnknownValue
from prejoin.table.schema.key_attributes import key_json
from prejoin.table.schema.schema import Schema

from .model import Write


def index_changes(schema: Schema, write: Write, facets: Collection[Facet]) -> tuple[dict[str, Json], tuple[str, ...]]:
    """Return the key attributes to set, and those to remove, by an update of an item in these indexes."""
    sets: dict[str, Json] = {}
    removes: tuple[str, ...] = ()
    moved = affected(write, facets)
    if not moved:
        return sets, removes
    changed, after = write.changes.replaced, write.after
    for facet in moved:
        keys = schema.template_keys(facet)
        if facet.when and _leaves(facet, after):
            removes += keys.names
            continue
        pk, sk = _anew(facet, changed)
        if write.read_after is None:
            _check(write, facet, _made_of(facet, pk, sk), after)
        if facet.when and not facet.has(after):
            removes += keys.names
            continue
        if pk:
            sets |= key_json(keys.pk, facet.pk_of(after))
        if sk and (text := facet.sk_of(after)) is not None:
            sets |= key_json(keys.sk, text)
    return sets, removes


def affected(write: Write, facets: Collection[Facet]) -> list[Facet]:
    """Return the indexes whose keys or membership depend on the attributes that an update changes."""
    if not facets:
        return []
    changed = write.changes.replaced
    return [facet for facet in facets if not changed.isdisjoint(facet.placing)]


def key_dependencies(write: Write, facets: Collection[Facet]) -> set[str]:
    """Return the attributes of the stored item that the keys after an update depend on."""
    after = write.changes.after({})
    found: set[str] = set()
    for facet in affected(write, facets):
        if not _leaves(facet, after):
            found.update(_made_of(facet, *_anew(facet, write.changes.replaced)))
    return found.difference(after)


def _leaves(facet: Facet, after: Mapping[str, Any]) -> bool:
    """Return whether an item is no longer in an index, whatever its key was."""
    return any(when.attribute in after and not when.holds(after) for when in facet.when)


def _anew(facet: Facet, changed: frozenset[str]) -> tuple[bool, bool]:
    """Return whether the partition key and the sort key of an index have to be written."""
    # In a sparse index, an item has both keys or none.
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
    """Refuse an update after which a key in the index would not be known."""
    if all(name in after for name in names):
        return
    for name in names:
        if name in write.changes.unknown:
            raise UnknownValue(
                f"{name} is part of the key of {write.entity.tag} in {facet.slot}, and DynamoDB would compute its new "
                "value, so the key is not known. Set it to a value, or pass read=True"
            )
    write.need(names, after, f"its key in {facet.slot} ({facet.pk}{f' / {facet.sk}' if facet.sk else ''})")
