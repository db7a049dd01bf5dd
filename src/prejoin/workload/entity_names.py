"""Entities that have another name in the next design of a table: a workload and a design in the names of the other.

    in the document of NEW      in that of OLD      names of NEW in words of OLD
    ### Customer                ### User            {"Customer": "User"}
    - **Renamed from**: User

The stored form of an entity does not depend on its name in the document, but on its type and its keys. So two designs
of the same items differ in names only, and are compared in the names of one of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TypeVar

from msgspec.structs import replace

from prejoin.workload.conditions import with_leaves
from prejoin.workload.model import (
    Attribute,
    Cardinality,
    Condition,
    Entity,
    Read,
    Relationship,
    Uniqueness,
    Workload,
    Write,
)

PatternOf = TypeVar("PatternOf", Read, Write)


def entity_renames(names_of_old: Iterable[str], names_of_new: Iterable[str], *workloads: Workload) -> dict[str, str]:
    """The names in NEW of entities that have another name there, by their names in OLD.

    `workloads` are those of both designs. The line of either of them says it, so that the way back needs none.
    """
    in_old, in_new = frozenset(names_of_old), frozenset(names_of_new)
    renames: dict[str, str] = {}
    for entity in (entity for workload in workloads for entity in workload.entities):
        for before, after in ((entity.renamed_from, entity.name), (entity.name, entity.renamed_from)):
            is_gone = before in in_old and before not in in_new
            is_new = after in in_new and after not in in_old
            if is_gone and is_new and after not in renames.values():
                renames.setdefault(before, after)
    return renames


def has_former_names(workload: Workload) -> bool:
    """Whether a document says of an entity, an attribute or a member of an enum that it had another name."""
    for entity in workload.entities:
        if entity.renamed_from or any(
            attribute.renamed_from or attribute.renamed_members for attribute in entity.attributes
        ):
            return True
    return False


def with_entity_names(workload: Workload, names: Mapping[str, str]) -> Workload:
    """The entities of a workload with other names. Its patterns and decisions are left out."""
    context = workload.context
    if context and context.tenant:
        tenant, owner = context.tenant, workload.tenant_entity
        exempt = tuple(names.get(name, name) for name in tenant.exempt)
        tenant = replace(tenant, entity=names.get(owner.name, owner.name) if owner else "", exempt=exempt)
        context = replace(context, tenant=tenant)
    entities = tuple(_entity(entity, names) for entity in workload.entities)
    return replace(
        workload, context=context, entities=entities, reads=(), writes=(), deletes=(), collections=(), decisions=()
    )


def pattern_with_names(pattern: PatternOf, names: Mapping[str, str]) -> PatternOf:
    """A pattern with other names of its entities."""
    entities = tuple(names.get(name, name) for name in pattern.entities)
    if isinstance(pattern, Read):
        return replace(pattern, entities=entities)
    actions = tuple(replace(action, entity=names.get(action.entity, action.entity)) for action in pattern.actions)
    checks = tuple(_condition(condition, names) for condition in pattern.checks)
    return replace(pattern, entities=entities, actions=actions, checks=checks)


def _condition(condition: Condition, names: Mapping[str, str]) -> Condition:
    if isinstance(condition, Uniqueness):
        return replace(condition, entity=names.get(condition.entity, condition.entity))
    return with_leaves(condition, lambda leaf: replace(leaf, entity=names.get(leaf.entity, leaf.entity)))


def _entity(entity: Entity, names: Mapping[str, str]) -> Entity:
    return replace(
        entity,
        name=names.get(entity.name, entity.name),
        renamed_from="",
        attributes=tuple(_attribute(attribute, names) for attribute in entity.attributes),
        relationships=tuple(_relationship(relationship, names) for relationship in entity.relationships),
        cardinality=tuple(_cardinality(cardinality, names) for cardinality in entity.cardinality),
        excludes=tuple(names.get(name, name) for name in entity.excludes),
    )


def _attribute(attribute: Attribute, names: Mapping[str, str]) -> Attribute:
    follows = attribute.follows
    return replace(
        attribute,
        references=_path(attribute.references, names),
        references_or=tuple(_path(path, names) for path in attribute.references_or),
        copy_of=_path(attribute.copy_of, names),
        snapshot_of=_path(attribute.snapshot_of, names),
        follows=replace(follows, source=_path(follows.source, names)) if follows else None,
    )


def _path(text: str, names: Mapping[str, str]) -> str:
    """`User` or `User.name` with another name of the entity."""
    entity, dot, attribute = text.partition(".")
    return f"{names.get(entity, entity)}{dot}{attribute}"


def _relationship(relationship: Relationship, names: Mapping[str, str]) -> Relationship:
    via = tuple(names.get(name, name) for name in relationship.via)
    return replace(
        relationship,
        left=names.get(relationship.left, relationship.left),
        right=names.get(relationship.right, relationship.right),
        via=via,
    )


def _cardinality(cardinality: Cardinality, names: Mapping[str, str]) -> Cardinality:
    return replace(cardinality, per=names.get(cardinality.per, cardinality.per))
