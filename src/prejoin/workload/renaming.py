"""Workloads with other names of entities: one traversal of the fields that are such names."""

from __future__ import annotations

from collections.abc import Callable

from msgspec.structs import replace

from prejoin.workload.conditions import with_leaves
from prejoin.workload.model import (
    Attribute,
    Cardinality,
    Condition,
    Context,
    Entity,
    Relationship,
    Uniqueness,
    Write,
)

Rename = Callable[[str], str]
"""The name of an entity in the other workload. A name that is no entity's stays as it is."""


def rename_tenant(context: Context | None, rename: Rename) -> Context | None:
    if context is None or context.tenant is None:
        return context
    exempt = tuple(map(rename, context.tenant.exempt))
    return replace(context, tenant=replace(context.tenant, entity=rename(context.tenant.entity), exempt=exempt))


def rename_references(attribute: Attribute, rename: Rename) -> Attribute:
    """An attribute whose references, copies and sources are of entities with other names."""

    def rename_path(text: str) -> str:
        """`User` or `User.name` with another name of the entity."""
        entity, dot, name = text.partition(".")
        return f"{rename(entity)}{dot}{name}"

    follows = attribute.follows
    return replace(
        attribute,
        references=rename_path(attribute.references),
        references_or=tuple(map(rename_path, attribute.references_or)),
        copy_of=rename_path(attribute.copy_of),
        snapshot_of=rename_path(attribute.snapshot_of),
        follows=replace(follows, source=rename_path(follows.source)) if follows else None,
    )


def rename_sides(relationship: Relationship, rename: Rename) -> Relationship:
    return replace(relationship, left=rename(relationship.left), right=rename(relationship.right))


def rename_owner(cardinality: Cardinality, rename: Rename) -> Cardinality:
    return replace(cardinality, per=rename(cardinality.per))


def rename_in_figures(entity: Entity, rename: Rename) -> Entity:
    """An entity whose cardinalities and relationships are about entities with other names."""
    return replace(
        entity,
        relationships=tuple(rename_sides(relationship, rename) for relationship in entity.relationships),
        cardinality=tuple(rename_owner(cardinality, rename) for cardinality in entity.cardinality),
    )


def rename_in_actions(write: Write, rename: Rename) -> Write:
    """A write whose actions and conditions are on entities with other names."""
    actions = tuple(replace(action, entity=rename(action.entity)) for action in write.actions)
    checks = tuple(rename_condition(condition, rename) for condition in write.checks)
    return replace(write, actions=actions, checks=checks)


def rename_condition(condition: Condition, rename: Rename) -> Condition:
    if isinstance(condition, Uniqueness):
        return replace(condition, entity=rename(condition.entity))
    return with_leaves(condition, lambda leaf: replace(leaf, entity=rename(leaf.entity)))
