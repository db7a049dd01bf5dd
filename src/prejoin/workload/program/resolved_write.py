"""What the access patterns of a workload mean: each write with its items, what is known of them, and their conditions.

A document names things, and leaves much to be understood. Here it is resolved, once for each write: `update Task
(status)` with the inputs `projectId, taskId` is one step on one item, whose id the inputs hold. `delete Task[]` with
the input `projectId` is a step on a list: the tasks that belong to the project which the write names. `Project exists`
is about an item that is not written. Checks, design, generated code, proof and documents ask these objects, and derive
nothing of it again.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property

from msgspec.structs import replace

from prejoin.workload.conditions import (
    all_leaves,
    entities_of,
    holds_if_absent,
    is_of_whole_item,
    leaves,
    params_of,
    tests_of,
    values_of,
)
from prejoin.workload.lookup import chain, changes, gives_object, means, root, target, touched_entities
from prejoin.workload.model import (
    Absence,
    Action,
    Change,
    ChangeOp,
    Comparison,
    Entity,
    Leaf,
    Op,
    Presence,
    Test,
    Value,
    Verb,
    Workload,
    Write,
)
from prejoin.workload.optional_inputs import source_of
from prejoin.workload.program.list_sources import ListSource, resolve_list, unwritten_list
from prejoin.workload.tenants import own_id


def resolve_write(workload: Workload, write: Write) -> ResolvedWrite:
    """A write of a workload as it is meant. It is resolved once, if it is the workload's own."""
    if workload.pattern(write.id) is not write:
        return ResolvedWrite(workload, write)
    key = ("write", write.id)
    if key not in workload.memo:
        workload.memo[key] = ResolvedWrite(workload, write)
    resolved_write: ResolvedWrite = workload.memo[key]
    return resolved_write


# Both classes are without slots: cached properties compute only what is asked, because the solver asks little of each
# of the many workloads that it tries.


@dataclass(frozen=True, eq=False)
class ResolvedWrite:
    """A write with its steps and the items that it checks."""

    workload: Workload
    write: Write

    @cached_property
    def actions(self) -> tuple[Action, ...]:
        """The actions, each item once, because a DynamoDB transaction takes an item only once.

        Two updates of one entity mean two items if two inputs name them (follower and followed). Otherwise they mean
        one item and become one update.
        """
        actions: list[Action] = []
        for action in self.write.actions:
            # `update Account by fromId (…); update Account by toId (…)` are two items. Without `by`, two inputs that
            # each name an account mean two items, in the order of the inputs; otherwise both actions are on one item.
            twins = [other for other in self.write.actions if _is_again(other, action)]
            if len(twins) < 2:
                actions.append(action)
            elif len(names := self._naming_inputs(action.entity)) == len(twins):
                actions.append(replace(action, by=self._whole_id(action.entity, names[_position(twins, action)])))
            elif twins[0] is action:
                merged_changes = dict.fromkeys(change for twin in twins for change in twin.changes)
                actions.append(replace(action, changes=tuple(merged_changes)))
        return _children_first(self.workload, actions) if self.is_resumable else tuple(actions)

    @cached_property
    def steps(self) -> tuple[Step, ...]:
        """The steps on the items that the write names, in order. An action of an unknown entity is none."""
        steps = [self.step(action) for action in self.actions]
        return tuple(step for step in steps if step is not None)

    @cached_property
    def written_steps(self) -> tuple[Step, ...]:
        """The steps that send requests. Expiry sends none."""
        return tuple(step for step in self.steps if step.verb is not Verb.EXPIRE)

    def step(self, action: Action) -> Step | None:
        """An action of this write, or one that might be, as a step; None if there is no such entity."""
        entity = self.workload.entity(action.entity)
        return Step(self, action, entity) if entity is not None else None

    @cached_property
    def is_resumable(self) -> bool:
        """Whether the write changes or deletes a list item by item, so that an interrupted call can be repeated.

        Then the list comes before the items that it belongs to: the repeated call finds what is left of it.
        """
        return self.write.atomic is False and any(action.is_existing_list for action in self.write.actions)

    @cached_property
    def inputs(self) -> Mapping[str, None]:
        """The names of the inputs, in order."""
        return dict.fromkeys(item.attribute for item in self.write.inputs)

    @property
    def list_inputs(self) -> frozenset[str]:
        """The names of the inputs that are lists of values."""
        return self.write.list_inputs

    @cached_property
    def entities(self) -> tuple[Entity, ...]:
        """The entities of the column Entity, then those of the actions."""
        return tuple(touched_entities(self.workload, self.write))

    @cached_property
    def input_conditions(self) -> tuple[Test, ...]:
        """The conditions on inputs that are no attributes of the write's entities: `n > 0`."""
        return tuple(test for test in tests_of(self.write) if all(map(self._is_of_input, leaves(test))))

    def _is_of_input(self, leaf: Leaf) -> bool:
        return isinstance(leaf, Comparison) and not leaf.entity and leaf.attribute in self.inputs

    @cached_property
    def is_timed(self) -> bool:
        """Whether it depends on the time of the call: a value or a condition is relative to `now`."""
        values = [change.value for change in self.write.changes if change.value is not None]
        for leaf in all_leaves(self.write):
            values += values_of(leaf)
        return any(value.now is not None for value in values)

    @cached_property
    def unsettled_conditions(self) -> tuple[Test, ...]:
        """The conditions that are about no entity and no input, or about several. No write is built without them."""
        tests = [test for test in tests_of(self.write) if test not in self.input_conditions]
        return tuple(test for test in tests if not _is_settled(test))

    @cached_property
    def checked(self) -> tuple[CheckedItem, ...]:
        """The items that the write checks and does not write.

        `Account exists` for a transfer checks the accounts of both its references, `fromAccountId.status = OPEN` one of
        them.
        """
        conditions: dict[tuple[str, tuple[str, ...]], list[Test]] = {}
        for test in tests_of(self.write):
            if not _is_settled(test) or any(_is_about(test, action) for action in self.actions):
                continue
            leaf = next(leaves(test))
            for by in self._checked_ids(leaf):
                conditions.setdefault((leaf.entity, by), []).append(test)
        items: list[CheckedItem] = []
        for (name, by), tests in conditions.items():
            step = self.step(Action(Verb.UPDATE, name, by=by))
            if step is not None:
                items.append(CheckedItem(step, tuple(tests)))
        return tuple(items)

    def _checked_ids(self, leaf: Leaf) -> list[tuple[str, ...]]:
        """The inputs that hold the id of each item that a condition checks; nothing where one input names the item."""
        if leaf.by:
            return [self._whole_id(leaf.entity, leaf.by)]
        is_written = any(action.entity == leaf.entity for action in self.actions)
        names = [] if is_written else self._naming_inputs(leaf.entity)
        return [self._whole_id(leaf.entity, name) for name in names] if len(names) > 1 else [()]

    @cached_property
    def read_lists(self) -> tuple[Step, ...]:
        """The lists that the write reads, because another list belongs to their items, and does not write."""
        # A list that several others belong to is read once.
        lists: dict[str, Step] = {}
        # `delete File[]` with the input `projectId`: the files belong to tasks, which are read to find them.
        for action in self.write.actions:
            step = self.step(action)
            if step is None or not step.is_existing_list:
                continue
            between = unwritten_list(step.list_source)
            above = self.step(between) if between is not None else None
            if above is not None:
                lists[above.entity.name] = above
        return tuple(lists.values())

    @cached_property
    def unbound_lists(self) -> tuple[Step, ...]:
        """The lists of which nothing says which items they are."""
        lists = [step for step in self.steps if step.is_existing_list and step.verb is not Verb.EXPIRE]
        return tuple(step for step in lists if not step.list_source.is_bound)

    def _naming_inputs(self, name: str) -> list[str]:
        """The inputs that each name another item of an entity: `fromAccountId` and `toAccountId` of a transfer."""
        entity = self.workload.entity(name)
        # With `accountId` among the inputs, that is the account; the others are only attributes of something.
        own = own_id(self.workload, entity) if entity else ()
        if entity is None or len(own) != 1 or own[0].name in self.inputs:
            return []
        identity = root(self.workload, entity, own[0])
        return [source for source, places in self._places.items() if identity in places]

    @cached_property
    def _places(self) -> Mapping[str, list[tuple[str, str]]]:
        """The attributes whose values each input holds, along the references of the entities of the write."""
        places: dict[str, list[tuple[str, str]]] = {}
        for name in self.inputs:
            for entity in self.entities:
                attribute = entity.attribute(name)
                if attribute is not None:
                    places.setdefault(name, []).extend(chain(self.workload, entity, attribute))
        return places

    def _whole_id(self, name: str, source: str) -> tuple[str, ...]:
        """The inputs that hold the id of an item, if one of them holds all of it but the tenant."""
        entity = self.workload.entity(name)
        if entity is None or self.workload.tenant is None:
            return (source,)
        own = own_id(self.workload, entity)
        return tuple(source if part in own else self.workload.tenant.attribute for part in entity.id)


@dataclass(frozen=True, eq=False)
class Step:
    """What a write does with one item of an entity, or with each item of a list."""

    of: ResolvedWrite
    action: Action
    entity: Entity

    @property
    def workload(self) -> Workload:
        return self.of.workload

    @property
    def write(self) -> Write:
        return self.of.write

    @property
    def verb(self) -> Verb:
        return self.action.verb

    @property
    def is_list(self) -> bool:
        return self.action.many

    @property
    def is_new(self) -> bool:
        """Whether the caller gives whole items, which are created or replaced."""
        return self.action.is_new

    @property
    def is_existing_list(self) -> bool:
        """Whether it is about several items that exist."""
        return self.action.is_existing_list

    @cached_property
    def is_exchanged(self) -> bool:
        """Whether the write deletes a list of these items and creates it anew, so that some may be replaced."""
        # DynamoDB refuses a transaction with two actions on one item, so a replaced item has to be put instead.
        steps = [step for step in self.of.written_steps if step.entity is self.entity and step.is_list]
        return self.is_list and {step.verb for step in steps} == {Verb.CREATE, Verb.DELETE}

    def with_action(self, action: Action) -> Step:
        """Another action on items of the same entity, in the same write."""
        return Step(self.of, action, self.entity)

    # --- What it changes, and under which conditions ----------------------------------------------------------------

    @cached_property
    def changes(self) -> tuple[Change, ...]:
        """The changes of an update: those that the document names, or else the inputs that are attributes."""
        return changes(self.write, self.action, self.entity)

    @cached_property
    def changed(self) -> frozenset[str]:
        """The attributes that it changes."""
        return frozenset(change.attribute for change in self.changes)

    @cached_property
    def conditions(self) -> tuple[Test, ...]:
        """The conditions on its items."""
        return tuple(test for test in tests_of(self.write) if _is_about(test, self.action))

    @cached_property
    def set_by_document(self) -> tuple[Change, ...]:
        """The changes that say which value an attribute of a new item has: `create Clinic (adminCount = 1)`."""
        return tuple(filter(_is_set_by_document, self.action.changes)) if self.is_new else ()

    @cached_property
    def must_exist(self) -> bool:
        """Whether a condition says that the item exists."""
        return is_presence(self.conditions)

    @cached_property
    def must_be_absent(self) -> bool:
        """Whether a condition says that the item does not exist."""
        return is_absence(self.conditions)

    @cached_property
    def compared(self) -> frozenset[str]:
        """The attributes that its conditions are about."""
        return frozenset(leaf.attribute for test in self.conditions for leaf in leaves(test))

    # --- What the caller knows of the items before the write ----------------------------------------------------------

    @cached_property
    def known(self) -> frozenset[str]:
        """The attributes of the items whose values before the write are known to the caller."""
        if self.is_new or self.is_given_whole:
            return frozenset(self.entity.types)
        single = {name for name, type_ in self.entity.types.items() if len(type_.values) == 1}
        return frozenset(single.union(self.sources, self.fixed))

    @cached_property
    def search_attributes(self) -> frozenset[str]:
        """The attributes by which its items can be found.

        Of a list, those that say which items it means: a condition on them is checked for each, and selects none.
        """
        if not self.is_existing_list:
            return self.known
        return frozenset({*self.list_source.links, *self.list_source.over_links})

    @cached_property
    def is_given_whole(self) -> bool:
        """Whether the caller gives the objects that it changes or deletes.

        In `delete Slot[]; create Slot[]` the given objects are the new ones.
        """
        return gives_object(self.write, self.entity) and self.action.entity not in self.write.created_names

    @cached_property
    def sources(self) -> Mapping[str, str]:
        """The attributes of its items that come from an input, with the input."""
        if self.is_new:
            return {a.name: a.name for a in self.entity.attributes if a.name in self.of.inputs}
        return self.list_source.links if self.is_list else self.item_sources

    @cached_property
    def list_source(self) -> ListSource:
        """How the items of an existing list are known. A list that is not bound is an error of the document."""
        return resolve_list(self)

    @cached_property
    def repeated_for(self) -> str:
        """What its items are found for, each by a request of its own: an attribute of another list's items, or a list.

        Empty if one request finds all of them.
        """
        if not self.is_existing_list:
            return ""
        source = self.list_source
        if source.over:
            return f"{source.over}.{next(iter(source.over_links.values()))}"
        return next((name for name in source.links.values() if name in self.write.list_inputs), "")

    @cached_property
    def fixed(self) -> Mapping[str, Value]:
        """The values that conditions fix: a write with `status = DRAFT` knows the status.

        Of an upsert they fix nothing: the item may be absent. A condition beside an `or` fixes nothing, either.
        """
        values: dict[str, Value] = {}
        for test in self.conditions if self.verb is not Verb.UPSERT else ():
            if isinstance(test, Comparison) and test.op is Op.EQ and self.entity.attribute(test.attribute):
                value = test.values[0]
                if value.attribute is None:
                    values[test.attribute] = value
        return values

    @cached_property
    def item_sources(self) -> dict[str, str]:
        """The attributes of one existing item that come from an input: its id, and others that the input is about."""
        # 1. An input of the attribute's own name, unless it is a new value or is compared with the current one.
        names = {item.attribute: None for item in self.write.inputs if not item.optional}
        # A condition gives the current value of an attribute under another name, or as a constant.
        names_with_fixed_value = {name for name, value in self.fixed.items() if value.param != name}
        unfit_names = self._replaced_by_input | names_with_fixed_value | self._compared_with_own_input
        sources: dict[str, str] = {}
        for attribute in self.entity.attributes:
            name = attribute.name
            if name in names and name not in unfit_names and means(self.workload, self.write, self.entity, attribute):
                sources[name] = name
        # 2. The inputs after `by` are the id, whatever they are called.
        if self.action.by:
            return self._with_named_id(sources)
        # 3. An input that is an attribute of another entity of the write may hold the id: `Comment.postId` is that of
        # the post.
        for name in names:
            self._add_reference(name, sources)
        return sources

    def _with_named_id(self, sources: dict[str, str]) -> dict[str, str]:
        """The sources with the inputs after `by` for the parts of the id."""
        ids = self.entity.id_names
        other_sources = {name: source for name, source in sources.items() if name not in ids}
        if len(self.action.by) != len(ids):
            return other_sources
        return other_sources | dict(zip(ids, self.action.by, strict=True))

    def _add_reference(self, name: str, sources: dict[str, str]) -> None:
        """Adds the parts of the id that an input holds as an attribute of another entity of the write."""
        own = own_id(self.workload, self.entity)
        for other in self.of.entities:
            attribute = other.attribute(name) if other is not self.entity else None
            places = chain(self.workload, other, attribute) if attribute else []
            for part in self.entity.id:
                is_alone = own == (part,) and root(self.workload, self.entity, part) in places
                if (self.entity.name, part.name) in places or is_alone:
                    sources.setdefault(part.name, name)

    @cached_property
    def _compared_with_own_input(self) -> set[str]:
        """The attributes that conditions compare with the input of their name, and that may differ from it.

        With `Seat.holderId = holderId or heldUntil < now` the holder may be another one, with `rank < rank` it always
        is.
        """
        compared_names: set[str] = set()
        for test in self.conditions:
            compared_names.update(leaf.attribute for leaf in leaves(test) if leaf.attribute in params_of(leaf))
        return compared_names - self.fixed.keys() - {*self.entity.id_names}

    @cached_property
    def _replaced_by_input(self) -> set[str]:
        """The attributes whose input is a new value, not the current one.

        An upsert gives the value that an immutable attribute of an existing item has already.
        """
        fixed_names = {*self.entity.id_names}
        if self.verb is Verb.UPSERT:
            fixed_names.update(attribute.name for attribute in self.entity.attributes if attribute.mutable is False)
        return self.set_to_own_input - fixed_names

    @cached_property
    def set_to_own_input(self) -> set[str]:
        """The attributes whose new value is the input of their name.

        In `update Task (ownerId = newOwnerId)` the input `ownerId` is the owner before.
        """
        if self.verb is Verb.UPSERT:
            return set(self.changed)
        return {change.attribute for change in self.changes if source_of(change) == change.attribute}

    def needs_item(self, base: Iterable[str]) -> bool:
        """Whether a delete is refused if there is no item, although no condition says so.

        `base` are the attributes of the item's key in the table.
        """
        return self.verb is Verb.DELETE and (self.is_tied_by_key(base) or self.is_counted)

    @cached_property
    def is_counted(self) -> bool:
        """Whether a transaction deletes one item and adds to, or takes from, an attribute of another.

        After `delete Like; update Photo (likeCount -= 1)` the same call finds no like, and must not count it again.
        """
        if self.is_list or self.write.atomic is False:
            return False
        counting = {ChangeOp.ADD, ChangeOp.SUBTRACT, ChangeOp.APPEND}
        other_steps = [step for step in self.of.steps if step.action is not self.action]
        return any(change.op in counting for step in other_steps for change in step.changes)

    def is_tied_by_key(self, base: Iterable[str]) -> bool:
        """Whether the item's key in the table holds what the caller says of it beyond its id.

        In `delete Task` with the inputs `taskId, projectId`, where tasks live under their project, another project
        names an item that does not exist. So the delete must require that there is one, as it does where the project is
        compared.
        """
        if self.verb is Verb.UPSERT or self.is_new or self.is_list:
            return False
        ids = set(self.entity.id_names)
        return not {*self.sources, *self.fixed}.isdisjoint(set(base) - ids)


@dataclass(frozen=True, eq=False)
class CheckedItem:
    """An item that a write checks and does not write."""

    step: Step
    """The step that would address the item in the same way."""
    conditions: tuple[Test, ...]

    @property
    def entity(self) -> Entity:
        return self.step.entity

    @property
    def by(self) -> tuple[str, ...]:
        """The inputs that hold its id, where the write names several items of the entity."""
        return self.step.action.by

    @cached_property
    def must_be_absent(self) -> bool:
        return is_absence(self.conditions)

    @cached_property
    def known(self) -> frozenset[str]:
        """The attributes of the item that the caller gives, or that a new item refers to."""
        names = set(self.step.known)
        workload = self.step.workload
        for action in self.step.write.actions if not self.by else ():
            # `create Order` with `customerId`, under the condition `Customer exists`: the new order says which
            # customer.
            new = workload.entity(action.entity) if action.is_new and not action.many else None
            for attribute in new.attributes if new else ():
                reference_target = target(workload, attribute)
                if reference_target is not None and reference_target[0] is self.entity:
                    names.add(reference_target[1].name)
        return frozenset(names)

    def ties(self, base: Iterable[str]) -> dict[str, str]:
        """The attributes beside the key that the item must have as an input says, with the input.

        In `update Task (…)` with the inputs `taskId, jobId, orgId` and the condition `Job.state = OPEN`, the job is one
        of that organisation. An item that may be absent is not compared.
        """
        if self.must_be_absent or all(holds_if_absent(test) for test in self.conditions):
            return {}
        # As an update without changes it would take the inputs as new values.
        deletion = self.step.with_action(replace(self.step.action, verb=Verb.DELETE))
        lists = self.step.of.list_inputs
        references = {a.name for a in self.entity.attributes if a.references and not a.id} - set(base)
        return {name: source for name, source in deletion.sources.items() if name in references and source not in lists}


def is_presence(conditions: Iterable[Test]) -> bool:
    """Whether the conditions say that an item must exist."""
    return any(isinstance(test, Presence) and is_of_whole_item(test) for test in conditions)


def is_absence(conditions: Iterable[Test]) -> bool:
    """Whether the conditions say that an item must not exist."""
    return any(isinstance(test, Absence) and is_of_whole_item(test) for test in conditions)


def is_range_of_inputs(condition: Comparison) -> bool:
    """Whether the ends of a range are known only at the call, so that the first may be above the second."""
    if condition.op is not Op.BETWEEN:
        return False
    is_constant = all(value.const is not None for value in condition.values)
    is_moment = all(value.now is not None for value in condition.values)
    return not (is_constant or is_moment)


def _is_set_by_document(change: Change) -> bool:
    return change.op is ChangeOp.SET and change.value is not None and change.value.param != change.attribute


def _is_about(test: Test, action: Action) -> bool:
    """Whether a condition is about the items of an action. All parts of one are about the same item."""
    return all(leaf.entity == action.entity and (not leaf.by or leaf.by in action.by) for leaf in leaves(test))


def _is_settled(test: Test) -> bool:
    """Whether a condition is about one item."""
    items = {(leaf.entity, leaf.by) for leaf in leaves(test)}
    return len(items) == 1 and "" not in entities_of(test)


def _is_again(action: Action, other: Action) -> bool:
    """Whether two actions update the same entity, and neither names its item."""
    # Two creates of one entity are two items, and two deletes a mistake that a check reports.
    is_same = action.entity == other.entity and action.verb is other.verb and action.updates
    return is_same and not (action.by or other.by or action.many or other.many)


def _position(actions: list[Action], action: Action) -> int:
    return next(at for at, other in enumerate(actions) if other is action)


def _children_first(workload: Workload, actions: list[Action]) -> tuple[Action, ...]:
    """The lists, each before the one that its items belong to; then the other actions."""
    lists = [action for action in actions if action.is_existing_list]
    other_actions = [action for action in actions if action not in lists]
    ordered_lists: list[Action] = []
    while lists:
        # `delete Project; delete Task[]; delete File[]`: first the files, then the tasks. With a cycle any order is as
        # good.
        parents = {name for action in lists for name in _referred_entities(workload, action)}
        first = next((action for action in lists if action.entity not in parents), lists[0])
        lists.remove(first)
        ordered_lists.append(first)
    return (*ordered_lists, *other_actions)


def _referred_entities(workload: Workload, action: Action) -> set[str]:
    """The entities that an action's entity refers to, without itself."""
    entity = workload.entity(action.entity)
    names = {attribute.referenced_entity for attribute in entity.attributes} if entity else set()
    return names - {action.entity}
