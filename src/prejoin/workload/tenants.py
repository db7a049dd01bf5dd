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


def is_scoped(workload: Workload, pattern: Pattern) -> bool:
    """Whether a pattern is for one tenant: it uses items of tenants, and changes no others."""
    actions = () if isinstance(pattern, Read) else pattern.actions
    if any(workload.entity(a.entity) and not is_owned(workload, a.entity) for a in actions):
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
    owned = [e.name for e in workload.entities if is_owned(workload, e.name)]
    return names[owned[0]][workload.tenant.attribute] if workload.tenant and owned else ""


def _concerns(workload: Workload, pattern: Pattern) -> bool:
    actions = () if isinstance(pattern, Read) else pattern.actions
    return any(is_owned(workload, name) for name in (*pattern.entities, *(a.entity for a in actions)))


# --- Written out ----------------------------------------------------------------------------------------------------


def expand(workload: Workload) -> Workload:
    """The workload with its tenant in every id, input and unique value that lacks it."""
    if workload.tenant is None:
        return workload
    one = _Expansion(workload, workload.tenant)
    return replace(
        workload,
        entities=tuple(map(one.entity, workload.entities)),
        reads=tuple(map(one.pattern, workload.reads)),
        writes=tuple(one.write(one.pattern(write)) for write in workload.writes),
        deletes=tuple(one.write(one.pattern(write)) for write in workload.deletes),
    )


class _Expansion:
    def __init__(self, workload: Workload, tenant: Tenant) -> None:
        self._workload = workload
        self._tenant = tenant
        self._owner = workload.tenant_entity
        named = [a for e in workload.entities if (a := e.attribute(tenant.attribute))]
        origin = self._owner.id[0] if self._owner and len(self._owner.id) == 1 else next(iter(named), None)
        self._type = origin.type if origin else STRING

    def entity(self, entity: Entity) -> Entity:
        tenant, name = self._tenant.attribute, entity.name
        attributes = tuple(map(self._reference, entity.attributes))
        relationships = tuple(map(self._relationship, entity.relationships))
        if not is_owned(self._workload, name):
            return replace(entity, attributes=attributes, relationships=relationships)
        single = [(tenant, a.name) for a in entity.attributes if a.unique and a.name != tenant]
        groups = [group if tenant in group else (tenant, *group) for group in entity.unique]
        attributes = tuple(replace(a, unique=False) for a in attributes)
        found = entity.attribute(tenant)
        refers = self._owner.name if self._owner else ""
        if found is None:
            attributes = (Attribute(tenant, self._type, id=True, references=refers), *attributes)
        else:
            # The tenant of a comment is the tenant of its ticket, which is the tenant itself.
            through = is_owned(self._workload, found.referenced_entity)
            other = "" if through else found.references
            own = replace(found, id=True, optional=False, unique=False, references=refers or other)
            if refers or not other:
                own = replace(own, references_or=())  # alternatives to a reference that it does not have any more
            attributes = tuple(own if a.name == tenant else a for a in attributes)
        each = (Cardinality(1, refers or tenant),) if entity.singleton else entity.cardinality
        return replace(
            entity,
            attributes=attributes,
            relationships=relationships,
            unique=tuple(dict.fromkeys((*groups, *single))),
            singleton=False,
            cardinality=each,
        )

    def pattern(self, pattern: _Pattern) -> _Pattern:
        if not _concerns(self._workload, pattern):
            return pattern
        return replace(pattern, inputs=self._inputs(pattern.inputs))

    def _inputs(self, inputs: tuple[Input, ...]) -> tuple[Input, ...]:
        tenant = self._tenant.attribute
        # `Ticket.tenantId` is the tenant of the other entities of the read, too.
        own = {f"{name}.{tenant}" for name in self._workload.owned}
        found = tuple(replace(i, attribute=tenant) if i.attribute in own else i for i in inputs)
        return found if any(i.attribute == tenant for i in found) else (Input(tenant), *found)

    def write(self, write: Write) -> Write:
        return replace(write, actions=tuple(map(self._action, write.actions)))

    def _action(self, action: Action) -> Action:
        tenant = self._tenant.attribute
        if not action.by or tenant in action.by or not is_owned(self._workload, action.entity):
            return action
        entity = self._workload.entity(action.entity)
        names = [a.name for a in entity.id] if entity else []
        at = names.index(tenant) if tenant in names else 0
        return replace(action, by=(*action.by[:at], tenant, *action.by[at:]))

    def _reference(self, attribute: Attribute) -> Attribute:
        """The reference with its attribute: `→ Agent` holds a part of the agent's id."""
        if attribute.name == self._tenant.attribute:
            return attribute
        first, *others = map(self._held, (attribute.references, *attribute.references_or))
        return replace(attribute, references=first, references_or=tuple(others))

    def _held(self, name: str) -> str:
        entity = self._workload.entity(name)
        own = own_id(self._workload, entity) if entity and is_owned(self._workload, entity.name) else ()
        return f"{name}.{own[0].name}" if len(own) == 1 else name

    def _relationship(self, one: Relationship) -> Relationship:
        tenant = self._tenant.attribute
        right = self._workload.entity(one.right)
        both = is_owned(self._workload, one.left) and is_owned(self._workload, one.right)
        if not both or not one.via or tenant in one.via or not right or not all(map(right.attribute, one.via)):
            return one
        return replace(one, via=(tenant, *one.via))


# --- Left out -------------------------------------------------------------------------------------------------------


def contract(workload: Workload) -> Workload:
    """The workload without the repetition of its tenant; unchanged if it would not expand to the same."""
    tenant = workload.tenant
    if tenant is None:
        return workload
    name = tenant.attribute
    owner = workload.tenant_entity
    refers = owner.name if owner else ""
    shorter = replace(
        workload,
        entities=tuple(_short_entity(workload, e, name, refers) for e in workload.entities),
        reads=tuple(_short_pattern(workload, read, name) for read in workload.reads),
        writes=tuple(_short_pattern(workload, write, name) for write in workload.writes),
        deletes=tuple(_short_pattern(workload, write, name) for write in workload.deletes),
    )
    return shorter if expand(shorter) == workload else workload


def _short_entity(workload: Workload, entity: Entity, name: str, refers: str) -> Entity:
    attributes = [_short_reference(workload, a, name) for a in entity.attributes]
    if not is_owned(workload, entity.name):
        return replace(entity, attributes=tuple(attributes))
    alone = {group[1] for group in entity.unique if len(group) == 2 and group[0] == name}
    attributes = [replace(a, unique=True) if a.name in alone else a for a in attributes]
    first = entity.attributes[0] if entity.attributes else None
    if first and len(entity.id) > 1 and first == Attribute(name, first.type, id=True, references=refers):
        attributes = attributes[1:]
    return replace(
        entity,
        attributes=tuple(attributes),
        relationships=tuple(
            replace(r, via=r.via[1:]) if len(r.via) > 1 and r.via[0] == name else r for r in entity.relationships
        ),
        unique=tuple(
            group[1:] if group[0] == name and len(group) > 2 else group
            for group in entity.unique
            if not (len(group) == 2 and group[0] == name)
        ),
    )


def _short_reference(workload: Workload, attribute: Attribute, name: str) -> Attribute:
    if attribute.name == name:
        return attribute
    first, *others = (_short_name(workload, one) for one in (attribute.references, *attribute.references_or))
    return replace(attribute, references=first, references_or=tuple(others))


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


def move_places(places: Places, written: Workload, expanded: Workload) -> None:
    """Adjust the places of a document's parts for the inputs that `expand` inserts."""
    moved: dict[tuple[str | int, ...], int] = {}
    for kind, field in (("entities", "attributes"), *((kind, "inputs") for kind in ("reads", "writes", "deletes"))):
        for at, (old, new) in enumerate(zip(getattr(written, kind), getattr(expanded, kind), strict=True)):
            added = len(getattr(new, field)) - len(getattr(old, field))
            if added:
                moved[kind, at, field] = added
    if moved:
        places.spans = {_moved(path, moved): span for path, span in places.spans.items()}


def _moved(path: Path, moved: Mapping[Path, int]) -> Path:
    added = moved.get(path[:3], 0)
    if len(path) < 4 or not added or not isinstance(path[3], int):
        return path
    return (*path[:3], path[3] + added, *path[4:])
