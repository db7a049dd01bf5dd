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
    links: dict[tuple[str, str, tuple[str, ...]], RelationLink] = {}
    stated_links = [
        link
        for entity in workload.entities
        for relationship in entity.relationships
        for link in _stated_links(workload, relationship)
    ]
    for link in (*stated_links, *_reference_links(workload)):
        key = (link.parent, link.child, link.via)
        backwards = (link.child, link.parent, link.via)
        if not (key in links or (link.mutual and backwards in links)):
            links[key] = link
    return tuple(link for link in links.values() if not _has_better_link(link, links))


def _has_better_link(link: RelationLink, links: dict[tuple[str, str, tuple[str, ...]], RelationLink]) -> bool:
    """Whether a link has no attribute, and another between the same entities has."""
    return not link.via and any(
        other != link and other.via and {other.parent, other.child} == {link.parent, link.child}
        for other in links.values()
    )


def _stated_links(workload: Workload, relationship: Relationship) -> Iterator[RelationLink]:
    left, right = workload.entity(relationship.left), workload.entity(relationship.right)
    if left is None or right is None:
        return
    match relationship.kind:
        case RelationshipKind.MANY_TO_MANY:
            yield from _links_between(workload, relationship)
        case RelationshipKind.HIERARCHY:
            yield RelationLink(relationship.left, relationship.right, relationship.via, optional=True)
        case RelationshipKind.ONE_TO_ONE:
            yield _link_to_child(relationship, right, many=False)
        case RelationshipKind.ONE_TO_MANY:
            yield _link_to_child(relationship, right, many=True)
        case _:
            assert_never(relationship.kind)


def _links_between(workload: Workload, relationship: Relationship) -> Iterator[RelationLink]:
    """The links of an N:N relationship: to the entity between the two sides, or one for both directions."""
    between = next((entity for name in relationship.via if (entity := workload.entity(name))), None)
    if between is None:
        yield RelationLink(relationship.left, relationship.right, relationship.via, mutual=True)
        return
    for side in dict.fromkeys((relationship.left, relationship.right)):
        names = [a.name for a in between.attributes if a.referenced_entity == side]
        links = [RelationLink(side, between.name, (name,)) for name in names]
        yield from links or [RelationLink(side, between.name)]


def _link_to_child(relationship: Relationship, right: Entity, many: bool) -> RelationLink:
    via_names = [via for via in relationship.via if right.attribute(via)]
    if not via_names and not relationship.via:
        via_names = [a.name for a in right.attributes if a.referenced_entity == relationship.left][:1]
    via = tuple(via_names) or relationship.via
    attribute = right.attribute(via[0]) if len(via) == 1 else None
    return RelationLink(
        relationship.left, relationship.right, via, many, optional=bool(attribute and attribute.optional)
    )


def _reference_links(workload: Workload) -> Iterator[RelationLink]:
    """The links of references; several attributes that hold one id are one link."""
    for entity in workload.entities:
        order = [a.name for a in entity.attributes]
        for attribute in entity.attributes:
            owner = workload.entity(attribute.referenced_entity)
            if owner is None or not attribute.references:
                continue
            id_parts = _id_parts(workload, entity, attribute, owner)
            names = {a.name for a in entity.id}
            is_single = (attribute.unique and len(id_parts) == 1) or id_parts == names
            optional = any(a.optional for a in entity.attributes if a.name in id_parts)
            via = tuple(sorted(id_parts, key=order.index))
            yield RelationLink(owner.name, entity.name, via, many=not is_single, optional=optional)


def _id_parts(workload: Workload, entity: Entity, attribute: Attribute, owner: Entity) -> frozenset[str]:
    """The attributes that hold the id of an entity together with one that refers to a part of it."""
    if len(owner.id) < 2:
        return frozenset({attribute.name})
    parts = {
        part.name: attribute_of_part.name
        for part, attribute_of_part in foreign_parts(workload, entity, owner, attribute)
    }
    target_of_attribute = target(workload, attribute)
    if target_of_attribute is None or not target_of_attribute[1].id or len(parts) < len(owner.id) - 1:
        return frozenset({attribute.name})
    return frozenset({attribute.name, *parts.values()})
