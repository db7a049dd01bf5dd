"""Which items a join follows from those that it finds, from the document alone.

The generated code takes them from the resolved read. The proof finds them by itself, so that a mistake in that is
noticed.
"""

from __future__ import annotations

from prejoin.workload.lookup import bare_name, chain, target, targets
from prejoin.workload.model import Attribute, Combine, Entity, Op, Read, Workload


def joined_entities(workload: Workload, read: Read) -> list[Entity]:
    """The entities that a join follows from the items of the first one; none of another read."""
    names = read.entities[1:] if read.combine is Combine.JOIN else ()
    return [entity for entity in map(workload.entity, names) if entity is not None]


def join_links(workload: Workload, read: Read, other: Entity) -> dict[str, str]:
    """For each attribute by which a join finds an item, the attribute of the first entity that holds its value.

    >>> from prejoin.workload.model import Attribute
    >>> user = Entity("User", attributes=(Attribute("userId", id=True),))
    >>> author = Attribute("authorId", references="User")
    >>> post = Entity("Post", attributes=(Attribute("postId", id=True), author))
    >>> join_links(Workload("Blog", entities=(user, post)), Read("R", entities=("Post", "User")), user)
    {'userId': 'authorId'}
    """
    first = workload.entity(read.entities[0])
    lead = _leading_attribute(workload, read, first, other) if first else None
    if first is None or lead is None:
        return {}
    lead_part = next(part for entity, part in targets(workload, lead) if entity is other)
    if not lead_part.id:
        return {lead_part.name: lead.name}
    links: dict[str, str] = {}
    for part in other.id:
        own = lead if part is lead_part else _holder_beside(workload, first, lead, other, part)
        if own is not None:
            links[part.name] = own.name
    return links


def _leading_attribute(workload: Workload, read: Read, first: Entity, other: Entity) -> Attribute | None:
    """The attribute that a join follows: the one that the document names, or the first that the caller does not give.

    Where the caller gives all of them, it is the first one that holds no tenant.
    """
    if read.via:
        return first.attribute(bare_name(read.via))
    tenant = _tenant_name(workload)
    inputs = _required_inputs(read)
    leading = [a for a in first.attributes if any(entity is other for entity, _ in targets(workload, a))]
    return min(leading, key=lambda a: (a.name in inputs, a.name == tenant), default=None)


def _required_inputs(read: Read) -> set[str]:
    """The inputs that the caller gives in every call, and by which the key finds items."""
    inputs: set[str] = set()
    for source in read.inputs:
        if source.op is Op.EQ and not source.optional and not source.filter:
            inputs.add(bare_name(source.attribute))
    return inputs


def _tenant_name(workload: Workload) -> str:
    return workload.tenant.attribute if workload.tenant else ""


def _holder_beside(
    workload: Workload, first: Entity, lead: Attribute, other: Entity, part: Attribute
) -> Attribute | None:
    """The attribute with another part of the id of which `lead` holds one.

    It is one that a relation names with it. Otherwise, of `fromTenant, fromAgent, toTenant, toAgent`, the second agent
    belongs to the second tenant.
    """
    if part.name == _tenant_name(workload) and first.attribute(part.name):
        return first.attribute(part.name)
    place = (other.name, part.name)
    holders = [a for a in first.attributes if place in chain(workload, first, a)[1:] and a is not lead]
    if not holders:
        return first.attribute(part.name)
    related_names = _names_in_relation_with(first, other, lead)
    for holder in holders:
        if holder.name in related_names:
            return holder
    alike = [a for a in first.attributes if target(workload, a) == target(workload, lead)]
    position = alike.index(lead)
    return holders[position] if position < len(holders) else holders[0]


def _names_in_relation_with(first: Entity, other: Entity, lead: Attribute) -> set[str]:
    """The attributes that a relation of the two entities names together with one."""
    names: set[str] = set()
    for relationship in (*other.relationships, *first.relationships):
        is_theirs = {relationship.left, relationship.right} == {first.name, other.name}
        if is_theirs and lead.name in relationship.via:
            names |= set(relationship.via)
    return names
