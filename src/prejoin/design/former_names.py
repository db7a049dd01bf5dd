"""A design whose table is in use, for a document that renames entities, attributes or members of enums.

    in the document of NEW                                     in the design that is kept    in the result
    ### Customer, with `Renamed from: User`                    ### User                      ### Customer, type `User`
    `boughtAt` (datetime, renamed from placedAt)               ORDER#{placedAt}              ORDER#{boughtAt}
    `status` (OPEN | PAID renamed from DONE)                   when status is DONE           when status is PAID

The words of its keys and the types of its items stay. `renamed from` may stay in a document, so names that the design
has already are left alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from msgspec.structs import replace

from prejoin.design.model import Design, Facet, Item, design_with_names
from prejoin.keys import fields_of, renamed
from prejoin.workload.entity_names import entity_renames, with_entity_names
from prejoin.workload.model import Attribute, Entity, Workload


@dataclass(frozen=True)
class FormerNames:
    """The names in a workload of what has other names in a design."""

    entities: Mapping[str, str]
    """New names of entities, by those in the design."""
    attributes: Mapping[tuple[str, str], str]
    """New names of attributes, by the new name of the entity and the name in the design."""
    members: Mapping[tuple[str, str, str], str]
    """New names of members of enums, by the new name of the entity and of the attribute, and the former member."""

    @classmethod
    def of(cls, design: Design, workload: Workload) -> FormerNames:
        names = {item.entity for item in design.items}
        entities = entity_renames(names, [entity.name for entity in workload.entities], workload)
        in_design = design_with_names(design, entities)
        attributes: dict[tuple[str, str], str] = {}
        members: dict[tuple[str, str, str], str] = {}
        for entity in workload.entities:
            used = _attributes_of(in_design, entity.name)
            for attribute in entity.attributes:
                former = attribute.renamed_from
                if former in used and attribute.name not in used and entity.attribute(former) is None:
                    attributes[entity.name, former] = attribute.name
                for member, former_member in attribute.renamed_members:
                    members[entity.name, attribute.name, former_member] = member
        return cls(entities, attributes, members)

    def workload_in_former_names(self, workload: Workload) -> Workload:
        """The entities of a workload as the design names them."""
        entities = tuple(self._entity(entity) for entity in workload.entities)
        former = {new: old for old, new in self.entities.items()}
        return with_entity_names(replace(workload, entities=entities), former)

    def _entity(self, entity: Entity) -> Entity:
        former = {new: old for (owner, old), new in self.attributes.items() if owner == entity.name}
        attributes = [_with_former(attribute, former) for attribute in entity.attributes]
        unique = tuple(tuple(former.get(name, name) for name in group) for group in entity.unique)
        return replace(entity, attributes=tuple(attributes), unique=unique)

    def design_in_new_names(self, design: Design) -> Design:
        """The design in the names of the workload."""
        design = design_with_names(design, self.entities)
        if not self.attributes and not self.members:
            return design

        def name(entity: str, attribute: str) -> str:
            return self.attributes.get((entity, attribute), attribute)

        guards = [replace(g, attributes=tuple(name(g.entity, one) for one in g.attributes)) for g in design.guards]
        counters = [replace(c, attributes=tuple(name(c.entity, one) for one in c.attributes)) for c in design.counters]
        stores = [replace(store, attribute=name(store.entity, store.attribute)) for store in design.stores]
        return replace(
            design,
            items=tuple(self._item(item) for item in design.items),
            guards=tuple(guards),
            counters=tuple(counters),
            stores=tuple(stores),
            operations=(),
        )

    def _item(self, item: Item) -> Item:
        def name(attribute: str) -> str:
            return self.attributes.get((item.entity, attribute), attribute)

        return replace(
            item,
            attributes=tuple(map(name, item.attributes)),
            known=tuple(map(name, item.known)),
            facets=tuple(self._facet(item.entity, facet) for facet in item.facets),
        )

    def _facet(self, entity: str, facet: Facet) -> Facet:
        def template(text: str) -> str:
            return renamed(text, {one: self.attributes.get((entity, one), one) for one in fields_of(text)})

        conditions = []
        for when in facet.when:
            attribute = self.attributes.get((entity, when.attribute), when.attribute)
            values = tuple(self.members.get((entity, attribute, value), value) for value in when.values)
            conditions.append(replace(when, attribute=attribute, values=values))
        pk, sk = tuple(map(template, facet.pk)), tuple(map(template, facet.sk))
        return replace(facet, pk=pk, sk=sk, when=tuple(conditions))


def _with_former(attribute: Attribute, former: Mapping[str, str]) -> Attribute:
    """An attribute under its former name. Its enum has the former members, too."""
    members = [member for _, member in attribute.renamed_members]
    type_ = replace(attribute.type, values=(*attribute.type.values, *members)) if members else attribute.type
    return replace(
        attribute, name=former.get(attribute.name, attribute.name), type=type_, renamed_from="", renamed_members=()
    )


def _attributes_of(design: Design, entity: str) -> set[str]:
    """The attributes that a design has for an entity: those that were recorded, and those in its keys."""
    names: set[str] = set()
    for item in design.items:
        if item.entity == entity:
            names.update(item.known, item.attributes)
            for facet in item.facets:
                names.update(facet.fields, [when.attribute for when in facet.when])
    return names
