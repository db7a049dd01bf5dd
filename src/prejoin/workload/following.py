"""Attributes that follow those of other entities: their source, and the reference that leads to it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import msgspec

from prejoin.workload.lookup import foreign_parts, target
from prejoin.workload.model import Attribute, Entity, Workload


class Following(msgspec.Struct, frozen=True):
    """Attributes of one entity that follow attributes of the same item of another."""

    entity: Entity
    source: Entity
    attributes: Mapping[str, str]
    """For each attribute of the entity, that of the source."""
    by: Mapping[str, str]
    """For each part of the source's id, the attribute of the entity that holds it."""
    within: int | None = None
    """Seconds after which a change of the source has arrived, by a stream; None if the application refreshes it."""


def followings(workload: Workload) -> tuple[Following, ...]:
    """All that follows in a workload. An attribute whose source or reference is not clear is left out."""
    found: dict[tuple[str, str, tuple[tuple[str, str], ...], int | None], Following] = {}
    for entity in workload.entities:
        for attribute in entity.attributes:
            if attribute.follows is None:
                continue
            source, by = source_of(workload, attribute), reference_of(workload, entity, attribute)
            if source is None or by is None:
                continue
            within = attribute.follows.within
            key = (entity.name, source[0].name, tuple(by.items()), within)
            before = found[key].attributes if key in found else {}
            attributes = {**before, attribute.name: source[1].name}
            found[key] = Following(entity, source[0], attributes, by, within)
    return tuple(found.values())


def source_of(workload: Workload, attribute: Attribute) -> tuple[Entity, Attribute] | None:
    """The attribute that another one follows; None if there is none."""
    owner, _, name = attribute.follows.source.partition(".") if attribute.follows else ("", "", "")
    entity = workload.entity(owner)
    found = entity.attribute(name) if entity else None
    return (entity, found) if entity and found else None


def leads(workload: Workload, entity: Entity, attribute: Attribute) -> Iterator[Attribute]:
    """The attributes that hold an id of the entity whose attribute is followed."""
    source = source_of(workload, attribute)
    for one in entity.attributes:
        held = target(workload, one)
        if source and held and held[0] is source[0]:
            yield one


def reference_of(workload: Workload, entity: Entity, attribute: Attribute) -> Mapping[str, str] | None:
    """For each part of the source's id, the attribute that holds it; None if that is not clear."""
    source, via = source_of(workload, attribute), attribute.follows.via if attribute.follows else ""
    options = [one for one in leads(workload, entity, attribute) if not via or one.name == via]
    parts = [held[1].name for one in options if (held := target(workload, one))]
    if source is None or not options or len(set(parts)) < len(parts):
        return None
    beside = {part.name: own.name for part, own in foreign_parts(workload, entity, source[0], options[0])}
    found = {**beside, **dict(zip(parts, (one.name for one in options), strict=True))}
    ids = [a.name for a in source[0].id]
    return {name: found[name] for name in ids} if found.keys() == set(ids) else None
