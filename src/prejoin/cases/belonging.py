"""Which items a list of a write means, from the document alone.

`delete Project; delete Task[]` with the input `projectId` means the tasks whose `projectId` is that of the project. The
proof finds this by itself, and not by the functions from which the design and the code are made, so that a mistake in
those is noticed.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from prejoin.workload.conditions import all_leaves
from prejoin.workload.lookup import chain, changes, gives_object, target, touched_entities
from prejoin.workload.model import NEW, Action, Attribute, ChangeOp, Entity, Verb, Workload, Write
from prejoin.workload.tenants import common_tenant, own_id


@dataclass(frozen=True, slots=True)
class Belonging:
    """How the items of a list are known."""

    inputs: Mapping[str, str] = field(default_factory=dict)
    """Attributes that have the value of an input."""
    parents: Mapping[str, tuple[int, str]] = field(default_factory=dict)
    """Attributes that have the value of an attribute of a single item: the position of its action, and its name."""
    over: int | None = None
    """The position of another list whose items these belong to."""
    over_attributes: Mapping[str, str] = field(default_factory=dict)
    """Attributes that have the value of an attribute of the other list's item."""
    between: str = ""
    """The entity of a list that is not written, and whose items these belong to."""
    between_inputs: Mapping[str, str] = field(default_factory=dict)
    """Attributes of that entity that have the value of an input."""
    is_given: bool = False
    """Whether the caller gives the items, as objects or by their ids."""

    @property
    def own_names(self) -> list[str]:
        """The attributes of the list's items that say which items it means."""
        return [*self.inputs, *self.parents, *self.over_attributes]


def belonging(workload: Workload, write: Write, actions: Sequence[Action], at: int) -> Belonging:
    """How the items of an update or delete of many are known."""
    entity = workload.entity(actions[at].entity)
    assert entity is not None  # the write is served
    return _WrittenList(workload, write, actions, actions[at], entity).belonging()


@dataclass(frozen=True, slots=True)
class _WrittenList:
    """A list of a write, among all its actions."""

    workload: Workload
    write: Write
    actions: Sequence[Action]
    action: Action
    entity: Entity

    def belonging(self) -> Belonging:
        """How its items are known: by parents and inputs, else by the items of another list."""
        # What the document says of single items and inputs comes first. Only if that is nothing but the tenant, the
        # items are those of another list.
        tenant = next(iter(common_tenant(self.workload, self.entity.name)), "")
        parents = self._parent_values()
        inputs = self._input_values(parents)
        is_given = self._is_given()
        is_known = is_given or any(
            name != tenant and _says_whose(self.workload, self.entity, name) for name in (*parents, *inputs)
        )
        if not is_known:
            references_of_inputs = self._input_references()
            inputs |= references_of_inputs
            is_known = bool(references_of_inputs.keys() - {tenant})
        if tenant and tenant not in parents:
            inputs.setdefault(tenant, tenant)
        if is_known:
            return Belonging(inputs, parents, is_given=is_given)
        return self._belonging_to_list(inputs, parents) or self._belonging_to_unwritten(inputs, parents)

    # --- Parents and inputs -----------------------------------------------------------------------------------------

    def _parent_values(self) -> dict[str, tuple[int, str]]:
        """The attributes that hold the id of a single item of the write, with its position and that attribute."""
        new_values = self._new_values()
        parents: dict[str, tuple[int, str]] = {}
        for position, action in enumerate(self.actions):
            parent = self.workload.entity(action.entity)
            # Nothing that exists belongs to an item which is only created now.
            if parent is None or action.many or action.verb is Verb.CREATE or not self._names_item(action, parent):
                continue
            key_attributes = self._references(parent)
            if key_attributes is None or self._names_other(action, key_attributes):
                continue
            # `update Task[] (projectId)` moves tasks to the project: the id is their new value, and not whose they are.
            if not any(new_values.get(own) in (part, *action.by) for part, own in key_attributes.items()):
                parents |= {own: (position, part) for part, own in key_attributes.items()}
        return parents

    def _input_values(self, parents: Collection[str]) -> dict[str, str]:
        """The attributes that have the value of an input, with that input; not those that hold an id of `parents`."""
        new_values = self._new_values()
        inputs: dict[str, str] = {}
        for name in self.write.entities:
            parent = self.workload.entity(name)
            if parent is None or name in self._written_entities or not self._is_identified(parent):
                continue
            key_attributes = self._references(parent) or {}
            # Of an entity that is only named, the inputs hold the id.
            if not any(new_values.get(own) == part for part, own in key_attributes.items()):
                inputs |= {own: part for part, own in key_attributes.items()}
        inputs |= {name: name for name in self._own_inputs()}
        return {name: source for name, source in inputs.items() if name not in parents}

    def _own_inputs(self) -> list[str]:
        """The attributes of the items that inputs of the same name are about."""
        other_names = self._names_of_new_values() | self._only_compared_names()
        names = [a.name for a in self.entity.attributes if a.name in self._single_inputs - other_names]
        own = {a.name for a in own_id(self.workload, self.entity)}
        # The whole id is that of a single item, not of a list.
        return [name for name in names if name not in own] if own <= set(names) else names

    def _names_of_new_values(self) -> set[str]:
        """The inputs that are new values: those that the update sets, and those of items that are not of the list."""
        own_changes = {name for name, source in self._new_values().items() if name == source}
        # `update Task[] (status)` sets the input `status`: it does not say which tasks are meant.
        return own_changes | (self._foreign_names() - {a.name for a in self.entity.id})

    def _foreign_names(self) -> set[str]:
        """The attributes of new items, and those that changes of other entities set."""
        names: set[str] = set()
        for action in self.write.actions:
            entity = self.workload.entity(action.entity)
            if action.verb in NEW and entity is not None:
                names |= {a.name for a in entity.attributes if not a.id and not a.references}
            # What an item of another entity gets is a new value, and no item of the list has it yet.
            if action.entity != self.entity.name:
                names |= {change.attribute for change in action.changes}
        return names

    def _only_compared_names(self) -> set[str]:
        """The attributes that conditions compare, and that do not say whose the items are."""
        compared_names = {leaf.attribute for leaf in all_leaves(self.write) if leaf.entity == self.entity.name}
        return {name for name in compared_names if not _says_whose(self.workload, self.entity, name)}

    def _is_given(self) -> bool:
        """Whether the caller gives the items, as objects or by their ids."""
        if any(action.entity == self.entity.name and action.verb in NEW for action in self.actions):
            return False  # the objects, or their ids, are those of the new items
        if gives_object(self.write, self.entity):
            return True
        ids = {(self.entity.name, part.name) for part in own_id(self.workload, self.entity)}
        lists = [source.attribute for source in self.write.inputs if source.many]
        return any(ids & set(chain(self.workload, *place)) for place in self._attributes_named(lists))

    def _input_references(self) -> dict[str, str]:
        """The attributes that refer to the same item as an input: `delete Visit[]` with the input `ownerId`."""
        names: dict[str, str] = {}
        inputs = [source.attribute for source in self.write.inputs if not source.many]
        for _, attribute in self._attributes_named(inputs):
            target_key = target(self.workload, attribute)
            if target_key is not None:
                holders = _holders(self.workload, self.entity, target_key[0].name, target_key[1].name)
                # Of two attributes that refer to it, the document does not say which one is meant.
                if len(holders) == 1:
                    names.setdefault(holders[0], attribute.name)
        return names

    def _attributes_named(self, inputs: Sequence[str]) -> Iterator[tuple[Entity, Attribute]]:
        """The attributes of the write's entities with the names of inputs."""
        for name in inputs:
            for entity in touched_entities(self.workload, self.write):
                attribute = entity.attribute(name)
                if attribute is not None:
                    yield entity, attribute

    # --- Items of other lists ---------------------------------------------------------------------------------------

    def _belonging_to_list(self, inputs: Mapping[str, str], parents: Mapping[str, tuple[int, str]]) -> Belonging | None:
        """How the items are known that belong to those of another list of the write."""
        for position, action in enumerate(self.actions):
            parent = self.workload.entity(action.entity)
            if parent is None or parent is self.entity or not action.many or action.verb in NEW:
                continue
            key_attributes = self._references(parent)
            if key_attributes is not None:
                links = {own: part for part, own in key_attributes.items() if own not in inputs and own not in parents}
                return Belonging(inputs, parents, position, links)
        return None

    def _belonging_to_unwritten(self, inputs: Mapping[str, str], parents: Mapping[str, tuple[int, str]]) -> Belonging:
        """A list whose items belong to those of another one, which is not written: files of the tasks of a project."""
        for parent in self.workload.entities:
            key_attributes = self._references(parent) if parent.name not in self._written_entities else None
            parent_inputs = self._inputs_about(parent)
            if key_attributes is not None and parent_inputs:
                links = {own: part for part, own in key_attributes.items() if own not in inputs}
                return Belonging(inputs, over_attributes=links, between=parent.name, between_inputs=parent_inputs)
        return Belonging(inputs, parents)

    def _inputs_about(self, parent: Entity) -> dict[str, str]:
        """The inputs that say which items of an entity are meant, with the tenant; none if they do not say whose."""
        tenant = self.workload.tenant.attribute if self.workload.tenant else ""
        names = [a.name for a in parent.attributes if a.name in self._single_inputs and a.name != tenant]
        if not any(_says_whose(self.workload, parent, name) for name in names):
            return {}
        if parent.attribute(tenant):
            names.append(tenant)
        return {name: name for name in names}

    # --- What the document says -------------------------------------------------------------------------------------

    @property
    def _single_inputs(self) -> set[str]:
        return {source.attribute for source in self.write.inputs if not source.many}

    @property
    def _written_entities(self) -> set[str]:
        return {action.entity for action in self.write.actions}

    def _references(self, parent: Entity) -> dict[str, str] | None:
        return references(self.workload, self.entity, parent, self.action.by)

    def _is_identified(self, parent: Entity) -> bool:
        """Whether the inputs hold the id of an item that is not written."""
        return bool(parent.id) and all(part.name in self._single_inputs for part in parent.id)

    def _names_item(self, action: Action, parent: Entity) -> bool:
        """Whether the inputs of a write name the item of an action."""
        return set(action.by) <= self._single_inputs if action.by else bool(parent.id)

    def _names_other(self, parent: Action, key_attributes: Mapping[str, str]) -> bool:
        """Whether the list is said to belong to another item of the entity: `delete Transfer[] by fromAccountId`."""
        own_names = set(self.action.by)
        return bool(own_names and parent.by) and not own_names & set(parent.by) & set(key_attributes.values())

    def _new_values(self) -> dict[str, str | None]:
        """The attributes that an update changes, with the input that holds the new value; None for other values."""
        sources: dict[str, str | None] = {}
        for change in changes(self.write, self.action, self.entity):
            if change.value is not None:
                sources[change.attribute] = change.value.param
            else:
                sources[change.attribute] = None if change.op is ChangeOp.REMOVE else change.attribute
        return sources


def references(
    workload: Workload, entity: Entity, parent: Entity, preferred_names: Collection[str]
) -> dict[str, str] | None:
    """For each part of a parent's id, the attribute of an entity that holds it; None if it does not refer to it.

    Of several attributes that could hold a part it is a preferred one, if any of them can.
    """
    own = own_id(workload, parent)
    key_attributes: dict[str, str] = {}
    for part in parent.id:
        if part in own:
            name = _holder(workload, entity, parent, part.name, preferred_names)
        else:  # the tenant
            name = part.name if entity.attribute(part.name) is not None else ""
        if not name:
            return None
        key_attributes[part.name] = name
    return key_attributes


def _holder(workload: Workload, entity: Entity, parent: Entity, part: str, preferred_names: Collection[str]) -> str:
    """The attribute that holds a part of a parent's id; empty if none does.

    After the preferred ones come the one with the name of the part, and those that a relationship names.
    """
    # Two attributes may refer to the same entity, as the sender and the receiver of a message.
    holders = _holders(workload, entity, parent.name, part)
    for names in (preferred_names, (part,), _relationship_names(entity, parent)):
        for name in holders:
            if name in names:
                return name
    return holders[0] if holders else ""


def _holders(workload: Workload, entity: Entity, parent: str, part: str) -> list[str]:
    """The attributes that refer to an attribute of another entity, perhaps through others."""
    return [a.name for a in entity.attributes if (parent, part) in chain(workload, entity, a)[1:]]


def _relationship_names(entity: Entity, parent: Entity) -> set[str]:
    """The attributes that the relationships of two entities name."""
    names: set[str] = set()
    for relationship in (*parent.relationships, *entity.relationships):
        if {relationship.left, relationship.right} == {parent.name, entity.name}:
            names.update(relationship.via)
    return names


def _says_whose(workload: Workload, entity: Entity, name: str) -> bool:
    """Whether an attribute is a part of the id, or holds the id of another item.

    One that never changes is as good.
    """
    attribute = entity.attribute(name)
    if attribute is None:
        return False
    return attribute.id or attribute.mutable is not True or target(workload, attribute) is not None
