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

    @property
    def entities(self) -> frozenset[str]:
        return frozenset((self.parent, self.child))

    @property
    def is_loop(self) -> bool:
        """Whether it leads from an entity to itself."""
        return self.parent == self.child


def links_of(workload: Workload) -> tuple[RelationLink, ...]:
    """Each link once, in the order of the document.

    >>> from prejoin.workload.model import Attribute, Entity
    >>> order = Entity("Order", attributes=(Attribute("orderId", id=True), Attribute("userId", references="User")))
    >>> links_of(Workload(entities=(Entity("User"), order)))
    (RelationLink(parent='User', child='Order', via=('userId',), many=True, mutual=False, optional=False),)
    """
    all_links: list[RelationLink] = []
    for entity in workload.entities:
        for relationship in entity.relationships:
            all_links += _stated_links(workload, relationship)
    all_links += _reference_links(workload)
    links: dict[tuple[str, str, tuple[str, ...]], RelationLink] = {}
    for link in all_links:
        key = (link.parent, link.child, link.via)
        backwards = (link.child, link.parent, link.via)
        if not (key in links or (link.mutual and backwards in links)):
            links[key] = link
    linked_pairs = {link.entities for link in links.values() if link.via}
    # A link without an attribute says less than another between the same entities that has one.
    return tuple(link for link in links.values() if link.via or link.entities not in linked_pairs)


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
    between = next(filter(None, map(workload.entity, relationship.via)), None)
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
            names = {id_attribute.name for id_attribute in entity.id}
            # An id that is unique, or the whole id of the entity, is in one item: the link leads to one.
            is_single = (attribute.unique and len(id_parts) == 1) or id_parts == names
            via = tuple(sorted(id_parts, key=order.index))
            optional = any(part.optional for part in entity.attributes if part.name in id_parts)
            yield RelationLink(owner.name, entity.name, via, many=not is_single, optional=optional)


def _id_parts(workload: Workload, entity: Entity, attribute: Attribute, owner: Entity) -> frozenset[str]:
    """The attributes that hold the id of an entity together with one that refers to a part of it."""
    if len(owner.id) < 2:
        return frozenset({attribute.name})
    parts = [attribute_of_part.name for _, attribute_of_part in foreign_parts(workload, entity, owner, attribute)]
    target_of_attribute = target(workload, attribute)
    if target_of_attribute is None or not target_of_attribute[1].id or len(parts) < len(owner.id) - 1:
        return frozenset({attribute.name})
    return frozenset({attribute.name, *parts})
