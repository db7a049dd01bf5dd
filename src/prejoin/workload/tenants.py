"""Tenants: the line `Tenant: tenantId` of the context, written out for every entity and pattern.

A document that has tenants need not repeat the tenant. `expand` adds it to the id of every entity, to the inputs of
every pattern and to everything that is unique; whatever reads a workload then sees an ordinary one. `contract` is the
opposite, for the document that is written.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar

from msgspec.structs import replace

from prejoin.types import STRING
from prejoin.workload.model import (
    Action,
    Attribute,
    Cardinality,
    Entity,
    Input,
    Pattern,
    Read,
    Relationship,
    Tenant,
    Workload,
    Write,
)
from prejoin.workload.read_result import Path, Places

_Pattern = TypeVar("_Pattern", Read, Write)


def is_owned(workload: Workload, name: str) -> bool:
    """Whether the items of an entity belong to a tenant: all of its keys begin with it."""
    return name in workload.owned


def has_tenant_folder(workload: Workload, entity: Entity) -> bool:
    """Whether the client keeps the objects of an entity in a folder for each tenant.

    So it does for the tenant's own record, unless all other entities are exempt: then the schema has no tenants.
    """
    is_record = bool(workload.owned) and entity is workload.tenant_entity
    return is_record or is_owned(workload, entity.name)


def is_scoped(workload: Workload, pattern: Pattern) -> bool:
    """Whether a pattern is for one tenant: it uses items of tenants, and changes no others."""
    for action in () if isinstance(pattern, Read) else pattern.actions:
        if workload.entity(action.entity) and not is_owned(workload, action.entity):
            return False
    return _concerns(workload, pattern)


def tenant_of(workload: Workload, pattern: Pattern) -> str:
    """The attribute that a tenant's client adds to a pattern; empty if the pattern is not for one tenant."""
    return workload.tenant.attribute if workload.tenant and is_scoped(workload, pattern) else ""


def common_tenant(workload: Workload, *names: str) -> tuple[str, ...]:
    """The tenant attribute that the items of some entities share; none without tenants."""
    return (workload.tenant.attribute,) if workload.tenant and workload.owned.issuperset(names) else ()


def own_id(workload: Workload, entity: Entity) -> tuple[Attribute, ...]:
    """The id of an entity within its tenant; the whole id without tenants."""
    if not is_owned(workload, entity.name):
        return entity.id
    return tuple(a for a in entity.id if workload.tenant and a.name != workload.tenant.attribute)


def tenant_field(workload: Workload, names: Mapping[str, Mapping[str, str]]) -> str:
    """The tenant attribute's name in Python; empty if no entity belongs to a tenant."""
    owned_names = [e.name for e in workload.entities if is_owned(workload, e.name)]
    return names[owned_names[0]][workload.tenant.attribute] if workload.tenant and owned_names else ""


def _concerns(workload: Workload, pattern: Pattern) -> bool:
    return not workload.owned.isdisjoint(pattern.entity_names)


# --- Written out ----------------------------------------------------------------------------------------------------


def expand(workload: Workload) -> Workload:
    """The workload with its tenant in every id, input and unique value that lacks it."""
    if workload.tenant is None:
        return workload
    # `Ticket (ticketId)` becomes `Ticket (tenantId, ticketId)`, `AP-001 ticketId` becomes `tenantId, ticketId`, and a
    # unique email is unique together with the tenant.
    expansion = _Expansion(workload, workload.tenant)
    return replace(
        workload,
        entities=tuple(map(expansion.entity, workload.entities)),
        reads=tuple(map(expansion.pattern, workload.reads)),
        writes=tuple(expansion.write(expansion.pattern(write)) for write in workload.writes),
        deletes=tuple(expansion.write(expansion.pattern(write)) for write in workload.deletes),
    )


class _Expansion:
    def __init__(self, workload: Workload, tenant: Tenant) -> None:
        self._workload = workload
        self._tenant = tenant
        self._owner = workload.tenant_entity
        tenant_attributes = [a for e in workload.entities if (a := e.attribute(tenant.attribute))]
        # The type of the tenant is that of the entity Tenant, or of the first attribute that has its name.
        origin = self._owner.id[0] if self._owner and len(self._owner.id) == 1 else next(iter(tenant_attributes), None)
        self._type = origin.type if origin else STRING

    def entity(self, entity: Entity) -> Entity:
        tenant, owner = self._tenant.attribute, self._owner.name if self._owner else ""
        attributes = tuple(map(self._reference, entity.attributes))
        relationships = tuple(map(self._relationship, entity.relationships))
        if not is_owned(self._workload, entity.name):
            return replace(entity, attributes=attributes, relationships=relationships)
        groups = [group if tenant in group else (tenant, *group) for group in entity.unique]
        groups += [(tenant, a.name) for a in entity.attributes if a.unique and a.name != tenant]
        return replace(
            entity,
            attributes=self._with_tenant(entity, attributes),
            relationships=relationships,
            unique=tuple(dict.fromkeys(groups)),
            singleton=False,
            cardinality=(Cardinality(1, owner or tenant),) if entity.singleton else entity.cardinality,
        )

    def _with_tenant(self, entity: Entity, attributes: tuple[Attribute, ...]) -> tuple[Attribute, ...]:
        """The attributes with the tenant as a part of the id. Nothing is unique over all tenants."""
        tenant = self._tenant.attribute
        attributes = tuple(replace(attribute, unique=False) for attribute in attributes)
        if (own_attribute := entity.attribute(tenant)) is not None:
            tenant_id = self._as_id(own_attribute)
            return tuple(tenant_id if attribute.name == tenant else attribute for attribute in attributes)
        owner_name = self._owner.name if self._owner else ""
        return (Attribute(tenant, self._type, id=True, references=owner_name), *attributes)

    def _as_id(self, attribute: Attribute) -> Attribute:
        """The attribute of an entity that is its tenant, as a part of its id."""
        owner_name = self._owner.name if self._owner else ""
        # The tenant of a comment is the tenant of its ticket, which is the tenant itself.
        is_transitive = is_owned(self._workload, attribute.referenced_entity)
        other_reference = "" if is_transitive else attribute.references
        references = owner_name or other_reference
        tenant_id = replace(attribute, id=True, optional=False, unique=False, references=references)
        if owner_name or not other_reference:
            # They were alternatives to a reference that it does not have any more.
            tenant_id = replace(tenant_id, references_or=())
        return tenant_id

    def pattern(self, pattern: _Pattern) -> _Pattern:
        if not _concerns(self._workload, pattern):
            return pattern
        return replace(pattern, inputs=self._inputs(pattern.inputs))

    def _inputs(self, inputs: tuple[Input, ...]) -> tuple[Input, ...]:
        tenant = self._tenant.attribute
        # `Ticket.tenantId` is the tenant of the other entities of the read, too.
        tenant_names = {f"{name}.{tenant}" for name in self._workload.owned}
        inputs = tuple(replace(i, attribute=tenant) if i.attribute in tenant_names else i for i in inputs)
        return inputs if any(i.attribute == tenant for i in inputs) else (Input(tenant), *inputs)

    def write(self, write: Write) -> Write:
        return replace(write, actions=tuple(map(self._action, write.actions)))

    def _action(self, action: Action) -> Action:
        tenant = self._tenant.attribute
        if not action.by or tenant in action.by or not is_owned(self._workload, action.entity):
            return action
        entity = self._workload.entity(action.entity)
        names = list(entity.id_names) if entity else []
        # The inputs after `by` stand in the order of the id.
        at = names.index(tenant) if tenant in names else 0
        return replace(action, by=(*action.by[:at], tenant, *action.by[at:]))

    def _reference(self, attribute: Attribute) -> Attribute:
        """The reference with its attribute: `→ Agent` holds a part of the agent's id."""
        if attribute.name == self._tenant.attribute:
            return attribute
        reference, *alternatives = map(self._qualified_reference, (attribute.references, *attribute.references_or))
        return replace(attribute, references=reference, references_or=tuple(alternatives))

    def _qualified_reference(self, name: str) -> str:
        entity = self._workload.entity(name)
        id_attributes = own_id(self._workload, entity) if entity and is_owned(self._workload, entity.name) else ()
        return f"{name}.{id_attributes[0].name}" if len(id_attributes) == 1 else name

    def _relationship(self, relationship: Relationship) -> Relationship:
        tenant, via = self._tenant.attribute, relationship.via
        right = self._workload.entity(relationship.right)
        are_owned = is_owned(self._workload, relationship.left) and is_owned(self._workload, relationship.right)
        if not are_owned or right is None or not via or tenant in via:
            return relationship
        # Of N:N, `via` may name the entity in between.
        return replace(relationship, via=(tenant, *via)) if all(map(right.attribute, via)) else relationship


# --- Left out -------------------------------------------------------------------------------------------------------


def contract(workload: Workload) -> Workload:
    """The workload without the repetition of its tenant; unchanged if it would not expand to the same."""
    if workload.tenant is None:
        return workload
    name = workload.tenant.attribute
    shorter = replace(
        workload,
        entities=tuple(_short_entity(workload, entity, name) for entity in workload.entities),
        reads=tuple(_short_pattern(workload, read, name) for read in workload.reads),
        writes=tuple(_short_pattern(workload, write, name) for write in workload.writes),
        deletes=tuple(_short_pattern(workload, write, name) for write in workload.deletes),
    )
    # A document may say something of its tenant that cannot be left out.
    return shorter if expand(shorter) == workload else workload


def _short_entity(workload: Workload, entity: Entity, tenant: str) -> Entity:
    attributes = [_short_reference(workload, attribute, tenant) for attribute in entity.attributes]
    if not is_owned(workload, entity.name):
        return replace(entity, attributes=tuple(attributes))
    # The opposite of what `expand` adds to unique values.
    short_groups = []
    for group in entity.unique:
        first, *own_names = group
        if first != tenant or not own_names:
            short_groups.append(group)
        elif len(own_names) > 1:
            short_groups.append(tuple(own_names))
        else:
            attributes = [replace(a, unique=True) if a.name == own_names[0] else a for a in attributes]
    if _has_implied_tenant(workload, entity, tenant):
        del attributes[0]
    return replace(
        entity,
        attributes=tuple(attributes),
        relationships=tuple(_short_relationship(relationship, tenant) for relationship in entity.relationships),
        unique=tuple(short_groups),
    )


def _has_implied_tenant(workload: Workload, entity: Entity, tenant: str) -> bool:
    """Whether the first attribute of an entity is what `expand` adds."""
    first = entity.attributes[0] if entity.attributes else None
    if first is None or len(entity.id) < 2:
        return False
    owner_name = workload.tenant_entity.name if workload.tenant_entity else ""
    return first == Attribute(tenant, first.type, id=True, references=owner_name)


def _short_relationship(relationship: Relationship, tenant: str) -> Relationship:
    via = relationship.via
    return replace(relationship, via=via[1:]) if len(via) > 1 and via[0] == tenant else relationship


def _short_reference(workload: Workload, attribute: Attribute, name: str) -> Attribute:
    if attribute.name == name:
        return attribute
    reference, *alternatives = (
        _short_name(workload, qualified_name) for qualified_name in (attribute.references, *attribute.references_or)
    )
    return replace(attribute, references=reference, references_or=tuple(alternatives))


def _short_name(workload: Workload, reference: str) -> str:
    owner, dot, field = reference.partition(".")
    entity = workload.entity(owner)
    if not dot or entity is None or not is_owned(workload, owner):
        return reference
    return owner if [a.name for a in own_id(workload, entity)] == [field] else reference


def _short_pattern(workload: Workload, pattern: _Pattern, name: str) -> _Pattern:
    if _concerns(workload, pattern) and pattern.inputs[:1] == (Input(name),):
        return replace(pattern, inputs=pattern.inputs[1:])
    return pattern


def move_places(places: Places, written_workload: Workload, expanded_workload: Workload) -> None:
    """Adjust the places of a document's parts for the attributes and inputs that `expand` inserts."""
    shifts: dict[Path, int] = {}
    for kind, field in (("entities", "attributes"), ("reads", "inputs"), ("writes", "inputs"), ("deletes", "inputs")):
        pairs = zip(getattr(written_workload, kind), getattr(expanded_workload, kind), strict=True)
        for index, (written_part, expanded_part) in enumerate(pairs):
            added_count = len(getattr(expanded_part, field)) - len(getattr(written_part, field))
            if added_count:
                shifts[kind, index, field] = added_count
    if shifts:
        places.spans = {_shift_path(path, shifts): span for path, span in places.spans.items()}


def _shift_path(path: Path, shifts: Mapping[Path, int]) -> Path:
    shift = shifts.get(path[:3], 0)
    if len(path) < 4 or not shift or not isinstance(path[3], int):
        return path
    return (*path[:3], path[3] + shift, *path[4:])
