"""A workload and its design with a tenant in front of every key, for tests that compare prices with and without one."""

from __future__ import annotations

from typing import TypeVar

from msgspec.structs import replace

from prejoin.design.cost.assumptions import size_of
from prejoin.design.mapping.map_patterns import map_patterns
from prejoin.design.model import Design, Facet, Projection
from prejoin.workload.lookup import target
from prejoin.workload.model import Attribute, Cardinality, Context, Entity, Input, Read, Tenant, Workload, Write
from prejoin.workload.tenants import expand

OWNER, ID = "Workspace", "workspaceId"
_Pattern = TypeVar("_Pattern", Read, Write)


def with_tenant(workload: Workload, count: int = 1) -> Workload:
    """Every id begins with the tenant's, every pattern gives it; `count` tenants share the items evenly."""
    tenant = Entity(OWNER, attributes=(Attribute(ID, id=True),), cardinality=(Cardinality(count),), size=100)
    return replace(
        workload,
        entities=(tenant, *(_entity(workload, entity) for entity in workload.entities)),
        reads=tuple(map(_asked, workload.reads)),
        writes=tuple(map(_asked, workload.writes)),
        deletes=tuple(map(_asked, workload.deletes)),
    )


def with_line(workload: Workload) -> Workload:
    """The workload of a document that says `Tenant: workspaceId → Workspace`, and has one such tenant."""
    tenant = Entity(OWNER, attributes=(Attribute(ID, id=True),), cardinality=(Cardinality(1),), size=100)
    sized = tuple(replace(entity, size=size_of(entity)) for entity in workload.entities)
    context = replace(workload.context or Context(), tenant=Tenant(ID, OWNER))
    return expand(replace(workload, context=context, entities=(tenant, *sized)))


def _entity(workload: Workload, entity: Entity) -> Entity:
    own = []
    for attribute in entity.attributes:
        found = target(workload, attribute)
        own.append(replace(attribute, references=f"{found[0].name}.{found[1].name}") if found else attribute)
    first = Attribute(ID, id=True, references=OWNER)
    # The size stays that of the item without a tenant, so that the same bytes are priced.
    return replace(entity, attributes=(first, *own), singleton=False, size=size_of(entity))


def _asked(pattern: _Pattern) -> _Pattern:
    return replace(pattern, inputs=(Input(ID), *pattern.inputs))


def keyed_by_tenant(design: Design, workload: Workload) -> Design:
    """The design with the tenant first in every partition key, mapped for a workload that has tenants."""
    items = tuple(replace(item, facets=tuple(map(_facet, item.facets))) for item in design.items)
    slots = tuple(replace(slot, projection=Projection()) for slot in design.slots)
    return map_patterns(replace(design, items=items, slots=slots), workload)


def _facet(facet: Facet) -> Facet:
    (pk,) = facet.pk
    return replace(facet, pk=(f"W#{{{ID}}}#{pk}",))
