"""Entities that have another name in the next design of a table: a workload and a design in the names of the other.

    in the document of NEW      in that of OLD      names of NEW in words of OLD
    ### Customer                ### User            {"Customer": "User"}
    - **Renamed from**: User

The stored form of an entity does not depend on its name in the document, but on its type and its keys. So two designs
of the same items differ in names only, and are compared in the names of one of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import chain
from typing import TypeVar

from msgspec.structs import replace

from prejoin.workload.model import Entity, Read, Workload, Write
from prejoin.workload.renaming import Rename, rename_in_actions, rename_in_figures, rename_references, rename_tenant

PatternOf = TypeVar("PatternOf", Read, Write)


def entity_renames(names_of_old: Iterable[str], names_of_new: Iterable[str], *workloads: Workload) -> dict[str, str]:
    """The names in NEW of entities that have another name there, by their names in OLD.

    `workloads` are those of both designs. The line of either of them says it, so that the way back needs none.
    """
    in_old, in_new = frozenset(names_of_old), frozenset(names_of_new)
    renames: dict[str, str] = {}
    for entity in chain.from_iterable(workload.entities for workload in workloads):
        for before, after in ((entity.renamed_from, entity.name), (entity.name, entity.renamed_from)):
            is_gone = before in in_old and before not in in_new
            is_new = after in in_new and after not in in_old
            if is_gone and is_new and after not in renames.values():
                renames.setdefault(before, after)
    return renames


def has_former_names(workload: Workload) -> bool:
    """Whether a document says of an entity, an attribute or a member of an enum that it had another name."""
    for entity in workload.entities:
        if entity.renamed_from:
            return True
        if any(attribute.renamed_from or attribute.renamed_members for attribute in entity.attributes):
            return True
    return False


def with_entity_names(workload: Workload, names: Mapping[str, str]) -> Workload:
    """The entities of a workload with other names. Its patterns and decisions are left out."""

    def rename(name: str) -> str:
        return names.get(name, name)

    context = workload.context
    if context and context.tenant:
        # The entity of the tenants may be the one that their id is named after, which a new name would not show.
        owner = workload.tenant_entity.name if workload.tenant_entity else ""
        context = rename_tenant(replace(context, tenant=replace(context.tenant, entity=owner)), rename)
    entities = tuple(_entity(entity, rename) for entity in workload.entities)
    return replace(
        workload, context=context, entities=entities, reads=(), writes=(), deletes=(), collections=(), decisions=()
    )


def pattern_with_names(pattern: PatternOf, names: Mapping[str, str]) -> PatternOf:
    """A pattern with other names of its entities."""

    def rename(name: str) -> str:
        return names.get(name, name)

    pattern = replace(pattern, entities=tuple(map(rename, pattern.entities)))
    return pattern if isinstance(pattern, Read) else rename_in_actions(pattern, rename)


def _entity(entity: Entity, rename: Rename) -> Entity:
    entity = rename_in_figures(entity, rename)
    relationships = [replace(r, via=tuple(map(rename, r.via))) for r in entity.relationships]
    return replace(
        entity,
        name=rename(entity.name),
        renamed_from="",
        attributes=tuple(rename_references(attribute, rename) for attribute in entity.attributes),
        relationships=tuple(relationships),
        excludes=tuple(map(rename, entity.excludes)),
    )
