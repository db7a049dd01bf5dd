"""Attributes that follow those of other entities: their source, and the reference that leads to it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec
from msgspec.structs import replace

from prejoin.workload.lookup import foreign_parts, target
from prejoin.workload.memo import remembered
from prejoin.workload.model import Attribute, Entity, Workload


class FollowLink(msgspec.Struct, frozen=True):
    """Attributes of one entity that follow attributes of the same item of another."""

    entity: Entity
    source: Entity
    attributes: Mapping[str, str]
    """For each attribute of the entity, that of the source."""
    by: Mapping[str, str]
    """For each part of the source's id, the attribute of the entity that holds it."""
    within: int | None = None
    """Seconds after which a change of the source has arrived, by a stream; None if the application refreshes it."""


def follow_links(workload: Workload) -> tuple[FollowLink, ...]:
    """All links of a workload. An attribute whose source or reference is not clear is left out."""
    found: dict[tuple[object, ...], tuple[FollowLink, dict[str, str]]] = {}
    for entity in workload.entities:
        for attribute in entity.attributes:
            if attribute.follows is None:
                continue
            source, by = source_of(workload, attribute), reference_of(workload, entity, attribute)
            if source is None or by is None:
                continue
            within = attribute.follows.within
            key = (entity.name, source[0].name, tuple(by.items()), within)
            one = found.setdefault(key, (FollowLink(entity, source[0], {}, by, within), {}))
            one[1][attribute.name] = source[1].name
    return tuple(replace(one, attributes=attributes) for one, attributes in found.values())


def source_of(workload: Workload, attribute: Attribute) -> tuple[Entity, Attribute] | None:
    """The attribute that another one follows; None if there is none."""
    owner, _, name = attribute.follows.source.partition(".") if attribute.follows else ("", "", "")
    entity = workload.entity(owner)
    found = entity.attribute(name) if entity else None
    return (entity, found) if entity and found else None


def leads(workload: Workload, entity: Entity, attribute: Attribute) -> Sequence[Attribute]:
    """The attributes that hold an id of the entity whose attribute is followed."""
    source = source_of(workload, attribute)
    return _holders(workload, entity).get(source[0].name, []) if source else []


@remembered
def _holders(workload: Workload, entity: Entity) -> Mapping[str, list[Attribute]]:
    """The attributes of an entity that hold an id, by the entity that it is of."""
    found: dict[str, list[Attribute]] = {}
    for one in entity.attributes:
        if held := target(workload, one):
            found.setdefault(held[0].name, []).append(one)
    return found


def reference_of(workload: Workload, entity: Entity, attribute: Attribute) -> Mapping[str, str] | None:
    """For each part of the source's id, the attribute that holds it; None if that is not clear."""
    source = source_of(workload, attribute)
    return _reference(workload, entity, source[0], attribute.follows.via) if source and attribute.follows else None


@remembered
def _reference(workload: Workload, entity: Entity, source: Entity, via: str) -> Mapping[str, str] | None:
    """For each part of a source's id, the attribute that holds it. `via` is one of them; empty if none is named."""
    options = _holders(workload, entity).get(source.name, [])
    if via:
        named = entity.attribute(via)
        held = target(workload, named) if named else None
        options = [named] if named and held and held[0] is source else []
    parts = [held[1].name for one in options if (held := target(workload, one))]
    if not options or len(set(parts)) < len(parts):
        return None
    beside = {part.name: own.name for part, own in foreign_parts(workload, entity, source, options[0])}
    found = {**beside, **dict(zip(parts, (one.name for one in options), strict=True))}
    ids = [a.name for a in source.id]
    return {name: found[name] for name in ids} if found.keys() == set(ids) else None
