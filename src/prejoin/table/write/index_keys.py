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
    facets_to_write = affected_facets(write, facets)
    if not facets_to_write:
        return sets, removes
    changed_names, after = write.changes.replaced, write.after
    for facet in facets_to_write:
        keys = schema.template_keys(facet)
        # An item without the key attributes of an index is not in the index: to remove them takes it out.
        if facet.when and _leaves_index(facet, after):
            removes += keys.names
            continue
        pk, sk = _keys_to_write(facet, changed_names)
        if write.read_after is None:
            _check(write, facet, _key_sources(facet, pk, sk), after)
        if facet.when and not facet.has(after):
            removes += keys.names
            continue
        if pk:
            sets |= key_json(keys.pk, facet.pk_of(after))
        if sk and (text := facet.sk_of(after)) is not None:
            sets |= key_json(keys.sk, text)
    return sets, removes


def affected_facets(write: Write, facets: Collection[Facet]) -> list[Facet]:
    """Return the indexes whose keys or membership depend on the attributes that an update changes."""
    if not facets:
        return []
    changed_names = write.changes.replaced
    return [facet for facet in facets if not changed_names.isdisjoint(facet.placing)]


def key_dependencies(write: Write, facets: Collection[Facet]) -> set[str]:
    """Return the attributes of the stored item that the keys after an update depend on."""
    after = write.changes.after({})
    names: set[str] = set()
    for facet in affected_facets(write, facets):
        if not _leaves_index(facet, after):
            names.update(_key_sources(facet, *_keys_to_write(facet, write.changes.replaced)))
    return names.difference(after)


def _leaves_index(facet: Facet, after: Mapping[str, Any]) -> bool:
    """Return whether an item is no longer in an index, whatever its key was."""
    return any(when.attribute in after and not when.holds(after) for when in facet.when)


def _keys_to_write(facet: Facet, changed_names: frozenset[str]) -> tuple[bool, bool]:
    """Return whether the partition key and the sort key of an index have to be written."""
    # In a sparse index, an item has both keys or none.
    is_sparse = bool(facet.when)
    pk = not isinstance(facet.pk, Natural) and not facet.local
    sk = facet.sk is not None and not isinstance(facet.sk, Natural)
    return (
        pk and (is_sparse or not changed_names.isdisjoint(facet.pk.attributes)),
        sk and facet.sk is not None and (is_sparse or not changed_names.isdisjoint(facet.sk.attributes)),
    )


def _key_sources(facet: Facet, pk: bool, sk: bool) -> tuple[str, ...]:
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
