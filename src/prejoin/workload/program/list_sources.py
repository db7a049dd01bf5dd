"""Which items a step on a list means: by inputs that they belong to, or through the items of another list."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Set
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from prejoin.types import Kind
from prejoin.workload.lookup import attributes_referring_to, chain, means, target
from prejoin.workload.model import Action, Entity, RelationshipKind, Verb, Workload
from prejoin.workload.optional_inputs import source_of
from prejoin.workload.tenants import common_tenant, is_owned, own_id

if TYPE_CHECKING:
    from prejoin.workload.program.resolved_write import ResolvedWrite, Step


@dataclass(frozen=True, slots=True)
class ListSource:
    """How the items of a list are known: by inputs that they belong to, or through the items of another list.

    `delete Project; delete Task[]; delete File[]` with the input `projectId`: the tasks are those with that
    `projectId`, and the files those with the `taskId` of one of these tasks.
    """

    links: dict[str, str] = field(default_factory=dict)
    """Attributes of the items, with the input that holds their value."""
    over: str = ""
    """The entity of the other list; empty if the items are known by inputs."""
    over_links: dict[str, str] = field(default_factory=dict)
    """Attributes of the items, with the attribute of the other list's items that has the same value."""
    unwritten: dict[str, str] = field(default_factory=dict)
    """Attributes of the other list's items with their inputs, if the write does not write these items."""
    is_given: bool = False
    """Whether the caller gives the items: as objects, or by a list of ids."""
    ambiguous: tuple[str, ...] = ()
    """The attributes that could hold the id of the item that they belong to, if there are several."""

    @property
    def is_bound(self) -> bool:
        return bool(self.links or self.over or self.is_given) and not self.ambiguous


def resolve_list(step: Step) -> ListSource:
    """How the items of a step on an existing list are known."""
    # In this order: by an item that the write names; by ids or objects that the caller gives; by an input of the name
    # of an attribute; by the tenant, if the write is about all that a tenant has; through the items of another list.
    parents = _parent_links(step)
    if parents.ambiguous:
        return parents
    is_made = step.entity.name in step.write.created_names
    id_lists = {} if is_made else _given_ids(step)
    plain = _links_by_name(step, is_child=bool(parents.links))
    links = {**plain, **parents.links, **id_lists}
    is_given = bool(id_lists) or step.is_given_whole
    is_binding = any(_can_bind(step.workload, step.entity, name) for name in plain)
    if is_given or parents.links or is_binding or _is_of_tenant(step.of, links):
        return ListSource(links, is_given=is_given)
    return _over_list(step, links) or ListSource()


def unwritten_list(source: ListSource) -> Action | None:
    """The list that has to be read for another one, and is not written itself."""
    return Action(Verb.DELETE, source.over, many=True) if source.unwritten else None


def is_movable(entity: Entity, name: str, base: Iterable[str]) -> bool:
    """Whether an item of a list may have another value of an attribute by now, than when the list was read."""
    attribute = entity.attribute(name)
    return attribute is not None and attribute.mutable is not False and not attribute.id and name not in base


def _can_bind(workload: Workload, entity: Entity, name: str) -> bool:
    """Whether an attribute says to whom an item belongs: it refers to another item, or is a part of the id.

    It may also be one that never changes: the `username` of a session, if sessions refer to nothing else, or one that
    is marked immutable. Others only narrow a list. The tenant of an item binds nothing.
    """
    attribute = entity.attribute(name)
    if attribute is None or name in common_tenant(workload, entity.name):
        return False
    if attribute.id or len(chain(workload, entity, attribute)) > 1:
        return True
    # The colour of a car narrows a list of cars; the username of a session says whose session it is.
    has_references = any(other.references for other in entity.attributes)
    stays = attribute.mutable is False or (attribute.mutable is None and not has_references)
    return stays and attribute.type.kind not in (Kind.ENUM, Kind.BOOLEAN)


def _is_of_tenant(resolved_write: ResolvedWrite, links: Iterable[str]) -> bool:
    """Whether a list is all that a tenant has: the tenant's own item is the only other one that the write names.

    `delete Clinic; delete Room[]` is about all rooms. With another item, as in `update Staff (…); update Clinic (…);
    delete Shift[]`, the shifts are probably meant to be that item's, and nothing says so.
    """
    owner = resolved_write.workload.tenant_entity
    single = [action for action in resolved_write.write.actions if not action.many]
    if owner is None or not single or not list(links):
        return False
    return all(action.entity == owner.name for action in single)


def _given_ids(step: Step) -> dict[str, str]:
    """The parts of an id that the caller gives as lists: `taskId[]`."""
    entity, workload = step.entity, step.workload
    lists = step.of.list_inputs
    id_inputs = {part.name: part.name for part in entity.id if part.name in lists}
    if id_inputs:
        return id_inputs
    for part in own_id(workload, entity):
        for name in lists:
            for other_entity in step.of.entities:
                attribute = other_entity.attribute(name)
                if attribute and (entity.name, part.name) in chain(workload, other_entity, attribute):
                    id_inputs[part.name] = name
    return id_inputs


def _parent_links(step: Step) -> ListSource:
    """The attributes of a list's items that refer to other items which the write names.

    Not those that the write changes: `create Booking; update Seat[] (soldIn = bookingId)` is about seats that no
    booking has yet.
    """
    workload = step.workload
    links: dict[str, str] = {}
    new_values = {(change.attribute, source_of(change)) for change in step.changes}
    for parent, sources in _named_items(step.of):
        if parent is workload.tenant_entity and is_owned(workload, step.entity.name):
            continue  # all items refer to their tenant: see `_is_of_tenant`
        references = _references(step, parent)
        if references is None:
            continue
        if isinstance(references, tuple):
            return ListSource(ambiguous=references)
        # `delete Project; delete Task[]` with the input `projectId`: {`projectId`: `projectId`} of the tasks.
        parent_links = {references[part]: source for part, source in sources.items()}
        if not new_values.isdisjoint(parent_links.items()):
            continue
        if any(links.get(name, source) != source for name, source in parent_links.items()):
            # Two items of one entity are named: nothing says to which of them the list belongs.
            return ListSource(ambiguous=tuple(sorted(set(sources.values()))))
        links |= parent_links
    return ListSource(links)


def _named_items(resolved_write: ResolvedWrite) -> Iterator[tuple[Entity, dict[str, str]]]:
    """The single items that a write names, with the input of each part of their ids.

    They are those that it writes, and those of the column Entity.
    """
    single_inputs = resolved_write.write.input_names - resolved_write.write.list_inputs
    for step in (*resolved_write.steps, *_steps_on_other_entities(resolved_write)):
        if step.is_list or not step.entity.id:
            continue
        # A new item is named by the attributes of its object; an existing one by what the inputs say of its id.
        ids = {name: name for name in step.entity.id_names}
        if not step.is_new:
            ids = {name: step.item_sources.get(name, "") for name in ids}
        if single_inputs.issuperset(ids.values()):
            yield step.entity, ids


def _steps_on_other_entities(resolved_write: ResolvedWrite) -> Iterator[Step]:
    """Steps that would address the items of the column Entity that no action writes."""
    written_names = {action.entity for action in resolved_write.write.actions}
    for name in resolved_write.write.entities:
        step = resolved_write.step(Action(Verb.UPDATE, name)) if name not in written_names else None
        if step is not None:
            yield step


def _references(step: Step, parent: Entity) -> dict[str, str] | tuple[str, ...] | None:
    """The attribute of an entity that holds each part of a parent's id; None if it does not refer to the parent.

    If several attributes could hold a part (sender and receiver), a tuple of them, unless `by` names one.
    """
    own_parts = own_id(step.workload, parent)
    holders: dict[str, str] = {}
    for part in parent.id:
        if part not in own_parts:
            if step.entity.attribute(part.name) is None:
                return None
            holders[part.name] = part.name  # the tenant
            continue
        candidates = _holders_of_part(step, parent, part.name)
        if not candidates:
            return None
        if len(candidates) > 1:
            return tuple(candidates)
        holders[part.name] = candidates[0]
    return holders


def _holders_of_part(step: Step, parent: Entity, part: str) -> list[str]:
    """The attributes that hold a part of a parent's id, as far as the document tells them apart.

    First those after `by`, then that of the same name as the part, then those after `via` of a relationship.
    """
    # A message has a sender and a receiver. `delete Message[] by senderId` says by which the list belongs.
    referring = attributes_referring_to(step.workload, step.entity, parent.name, part)
    names = [attribute.name for attribute in referring]
    for preferred_names in (step.action.by, (part,), _related_attributes(step.entity, parent)):
        preferred_holders = [name for name in names if name in preferred_names]
        if preferred_holders:
            return preferred_holders
    return names


def _related_attributes(entity: Entity, parent: Entity) -> set[str]:
    """The attributes that a relationship of two entities names."""
    names: set[str] = set()
    for relationship in (*parent.relationships, *entity.relationships):
        is_between = {relationship.left, relationship.right} == {parent.name, entity.name}
        if is_between and relationship.kind is not RelationshipKind.MANY_TO_MANY:
            names.update(relationship.via)
    return names


def _links_by_name(step: Step, is_child: bool) -> dict[str, str]:
    """The attributes of a list's items that an input of the same name is about.

    If the items are not children of an item that the write names, an input that is a reference binds the attribute that
    refers to the same: `delete Animal[]; delete Visit[]` with the input `ownerId`.
    """
    inputs = {item.attribute for item in step.write.inputs if not item.many and not item.optional}
    links = {name: name for name in _selecting_names(step) if name in inputs}
    id_names = {part.name for part in own_id(step.workload, step.entity)}
    if id_names <= links.keys():
        # `delete Folder; delete Folder[]`: the whole id is that of the single item, not of its children.
        links = {name: source for name, source in links.items() if name not in id_names}
    if not is_child:
        for name, source in _links_by_reference(step, inputs - links.keys()).items():
            links.setdefault(name, source)
    return links


def _selecting_names(step: Step) -> Iterator[str]:
    """The attributes of a list's items that an input of the same name selects, if it is given."""
    workload, entity = step.workload, step.entity
    for attribute in entity.attributes:
        name = attribute.name
        if name not in step.write.input_names or name in step.set_to_own_input:
            continue
        # A condition that compares with the input refuses items that differ; it does not select the others.
        is_selected = name not in step.compared or _can_bind(workload, entity, name)
        if is_selected and means(workload, step.write, entity, attribute):
            yield name


def _links_by_reference(step: Step, inputs: Set[str]) -> dict[str, str]:
    """The attributes of a list's items that refer to the same as an input of another name."""
    links: dict[str, str] = {}
    for name in sorted(inputs):
        origin = _own_reference(step.of, name)
        referring = attributes_referring_to(step.workload, step.entity, *origin) if origin else ()
        if len(referring) == 1 and referring[0].name not in step.set_to_own_input:
            links.setdefault(referring[0].name, name)
    return links


def _own_reference(resolved_write: ResolvedWrite, name: str) -> tuple[str, str] | None:
    """The id that an input refers to, as an attribute of the write's entities; None if it is no reference."""
    for entity in resolved_write.entities:
        attribute = entity.attribute(name)
        if attribute and attribute.references and (reference_target := target(resolved_write.workload, attribute)):
            return reference_target[0].name, reference_target[1].name
    return None


def _over_list(step: Step, links: dict[str, str]) -> ListSource | None:
    """The list through which another one is known: the files of the tasks of a project.

    It is one that the write changes or deletes, too, or else one that is only read.
    """
    for other in step.of.steps:
        if other.entity is step.entity or not other.is_existing_list:
            continue
        # `delete Task[]; delete File[]`: the files are those of the tasks.
        references = _references(step, other.entity)
        if isinstance(references, tuple):
            return ListSource(ambiguous=references)
        if references is not None:
            return ListSource(links, other.entity.name, _over_links(references, links))
    return _over_read_list(step, links)


def _over_read_list(step: Step, links: dict[str, str]) -> ListSource | None:
    """A list that the write only reads, because the items of another one belong to its items."""
    written_names = {other.entity for other in step.write.actions}
    for parent in step.workload.entities:
        references = _references(step, parent) if parent.name not in written_names else None
        # An update would take its inputs as new values.
        parent_step = step.of.step(Action(Verb.DELETE, parent.name, many=True))
        if references is None or isinstance(references, tuple) or parent_step is None:
            continue
        # The list in between has to be known by inputs itself: one list of a list is enough.
        parent_source = _parent_links(parent_step)
        sources = {**_links_by_name(parent_step, is_child=bool(parent_source.links)), **parent_source.links}
        is_bound = parent_source.links or any(_can_bind(step.workload, parent, name) for name in sources)
        if not parent_source.ambiguous and is_bound:
            return ListSource(links, parent.name, _over_links(references, links), sources)
    return None


def _over_links(references: dict[str, str], links: dict[str, str]) -> dict[str, str]:
    """The attributes that refer to the other list's items, without those that inputs hold."""
    return {name: part for part, name in references.items() if name not in links}
