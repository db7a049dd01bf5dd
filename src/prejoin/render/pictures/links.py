"""Links between entities, from relationships and from references of attributes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import assert_never

from prejoin.workload.lookup import foreign_parts, target
from prejoin.workload.model import Attribute, Entity, Relationship, RelationshipKind, Workload


@dataclass(frozen=True, slots=True)
class RelationLink:
    """One `parent` has one or many `child`. The child's attributes `via` hold the parent's id, if known."""

    parent: str
    child: str
    via: tuple[str, ...] = ()
    many: bool = True
    """Many of the child."""
    mutual: bool = False
    """Many of the parent, too."""
    optional: bool = False


def links_of(workload: Workload) -> tuple[RelationLink, ...]:
    """Each link once, in the order of the document.

    >>> from prejoin.workload.model import Attribute, Entity
    >>> order = Entity("Order", attributes=(Attribute("orderId", id=True), Attribute("userId", references="User")))
    >>> links_of(Workload(entities=(Entity("User"), order)))
    (RelationLink(parent='User', child='Order', via=('userId',), many=True, mutual=False, optional=False),)
    """
    found: dict[tuple[str, str, tuple[str, ...]], RelationLink] = {}
    said = [link for entity in workload.entities for one in entity.relationships for link in _said(workload, one)]
    for link in (*said, *_referring(workload)):
        key = (link.parent, link.child, link.via)
        backwards = (link.child, link.parent, link.via)
        if not (key in found or (link.mutual and backwards in found)):
            found[key] = link
    return tuple(link for link in found.values() if not _told_better(link, found))


def _told_better(link: RelationLink, found: dict[tuple[str, str, tuple[str, ...]], RelationLink]) -> bool:
    """Whether a link has no attribute, and another between the same entities has."""
    return not link.via and any(
        other != link and other.via and {other.parent, other.child} == {link.parent, link.child}
        for other in found.values()
    )


def _said(workload: Workload, one: Relationship) -> Iterator[RelationLink]:
    left, right = workload.entity(one.left), workload.entity(one.right)
    if left is None or right is None:
        return
    match one.kind:
        case RelationshipKind.MANY_TO_MANY:
            yield from _links_between(workload, one)
        case RelationshipKind.HIERARCHY:
            yield RelationLink(one.left, one.right, one.via, optional=True)
        case RelationshipKind.ONE_TO_ONE:
            yield _link_to_child(one, right, many=False)
        case RelationshipKind.ONE_TO_MANY:
            yield _link_to_child(one, right, many=True)
        case _:
            assert_never(one.kind)


def _links_between(workload: Workload, one: Relationship) -> Iterator[RelationLink]:
    """The links of an N:N relationship: to the entity between the two sides, or one for both directions."""
    between = next((entity for name in one.via if (entity := workload.entity(name))), None)
    if between is None:
        yield RelationLink(one.left, one.right, one.via, mutual=True)
        return
    for side in dict.fromkeys((one.left, one.right)):
        names = [a.name for a in between.attributes if a.referenced_entity == side]
        links = [RelationLink(side, between.name, (name,)) for name in names]
        yield from links or [RelationLink(side, between.name)]


def _link_to_child(one: Relationship, right: Entity, many: bool) -> RelationLink:
    vias = [via for via in one.via if right.attribute(via)]
    if not vias and not one.via:
        vias = [a.name for a in right.attributes if a.referenced_entity == one.left][:1]
    via = tuple(vias) or one.via
    attribute = right.attribute(via[0]) if len(via) == 1 else None
    return RelationLink(one.left, one.right, via, many, optional=bool(attribute and attribute.optional))


def _referring(workload: Workload) -> Iterator[RelationLink]:
    """The links of references; several attributes that hold one id are one link."""
    for entity in workload.entities:
        order = [a.name for a in entity.attributes]
        for attribute in entity.attributes:
            owner = workload.entity(attribute.referenced_entity)
            if owner is None or not attribute.references:
                continue
            held = _held(workload, entity, attribute, owner)
            names = {a.name for a in entity.id}
            alone = (attribute.unique and len(held) == 1) or held == names
            optional = any(a.optional for a in entity.attributes if a.name in held)
            via = tuple(sorted(held, key=order.index))
            yield RelationLink(owner.name, entity.name, via, many=not alone, optional=optional)


def _held(workload: Workload, entity: Entity, attribute: Attribute, owner: Entity) -> frozenset[str]:
    """The attributes that hold the id of an entity together with one that refers to a part of it."""
    if len(owner.id) < 2:
        return frozenset({attribute.name})
    parts = {one.name: own.name for one, own in foreign_parts(workload, entity, owner, attribute)}
    held = target(workload, attribute)
    if held is None or not held[1].id or len(parts) < len(owner.id) - 1:
        return frozenset({attribute.name})
    return frozenset({attribute.name, *parts.values()})
