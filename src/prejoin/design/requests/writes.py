"""Literal requests of writes: each item with its expressions, and with the conditions that the client adds."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import assert_never

import msgspec

from prejoin.constructs.construct import OWNER, Vacancy
from prejoin.constructs.registry import construct_of, lines_of, maintained, present_tests, vacant_test
from prejoin.design.mapping.facets import is_natural, planner_facet
from prejoin.design.model import (
    TABLE,
    Call,
    Design,
    Did,
    Item,
    ItemAction,
    ItemChange,
    ItemName,
    Operation,
    Request,
    Slot,
)
from prejoin.design.requests.conditions import (
    bound_conditions,
    condition_of,
    operand_of,
    source_of,
    value_name,
)
from prejoin.design.requests.literal import ItemRequest, KeyPart, WriteRequest, key_parts
from prejoin.design.requests.placeholders import (
    ConstantSource,
    EmptyListSource,
    InputSource,
    KeySource,
    OwnerSource,
    Placeholders,
    StoredSource,
    stored_constant,
)
from prejoin.keys import fields_of
from prejoin.protocol.expressions.nodes import (
    Action,
    AddAction,
    Arithmetic,
    Compare,
    Condition,
    FunctionCall,
    Operand,
    RemoveAction,
    SetAction,
    Update,
)
from prejoin.protocol.expressions.text import all_of, any_of, either
from prejoin.workload.bounds import is_bounded
from prejoin.workload.conditions import holds_if_absent, is_of_whole_item, leaves, with_leaves
from prejoin.workload.model import (
    Absence,
    AnyOf,
    ChangeOp,
    Comparison,
    Entity,
    Op,
    Presence,
    Test,
    Workload,
)
from prejoin.workload.tenants import tenant_of


class WriteRequests:
    """The literal writes of one operation."""

    def __init__(self, operation: Operation, workload: Workload, design: Design) -> None:
        self.operation = operation
        self.workload = workload
        self.design = design
        self.pattern = workload.pattern(operation.pattern)

    def request(self, request: Request) -> WriteRequest:
        return WriteRequest(request.call, tuple(self._items(request)))

    def _items(self, request: Request) -> Iterator[ItemRequest]:
        for action in request.actions:
            # The copy and the unique values of an item that a put replaces may be others than those of the new one.
            is_exchanged = (action.item.copy or action.item.guard) and self._is_of_read_put(action)
            if is_exchanged and action.action is Did.PUT:
                old = msgspec.structs.replace(action, action=Did.DELETE, conditions=())
                yield replace(self._item(old), is_optional=True)
            yield self._item(action)

    def _is_of_read_put(self, action: ItemAction) -> bool:
        """Whether an item of a construct is that of an item that is put and was read before."""
        others = [other for request in self.operation.requests for other in request.actions]
        own = [one for one in others if one.item.is_own and one.item.entity == action.item.entity]
        return any(one.action is Did.PUT and (one.is_read or self._may_replace(one, self._entity(one))) for one in own)

    def _is_of_read_upsert(self, action: ItemAction) -> bool:
        """Whether a copy is that of an item that an upsert may create, and that was read before."""
        own = [other for other in self._together_with(action) if other.item == ItemName(action.item.entity)]
        return any(other.is_read and self._is_upsert(other) for other in own)

    def _is_moved(self, action: ItemAction) -> bool:
        """Whether a copy is deleted and put again, because its key may change."""
        others = [other for other in self._together_with(action) if other.item == action.item]
        return bool(action.item.copy) and any(other.action is Did.PUT for other in others)

    def _together_with(self, action: ItemAction) -> tuple[ItemAction, ...]:
        """The actions of the request that an action is in."""
        return next((request.actions for request in self.operation.requests if action in request.actions), ())

    def _item(self, action: ItemAction) -> ItemRequest:
        made = self._item_as(action)
        if made.otherwise is not None:
            return made
        entity = self._entity(action)
        if action.action is Did.UPDATE and action.item.is_own and action.is_read and self._is_upsert(action):
            new = _as(action, Did.PUT, (Absence(),))
            return replace(made, otherwise=self._item_as(new), otherwise_when="there is no item")
        if action.action is Did.UPDATE and action.item.copy and self._is_of_read_upsert(action):
            new = _as(action, Did.PUT, ())
            return replace(made, otherwise=self._item_as(new), otherwise_when="there is no item")
        if action.action is Did.DELETE and self._is_moved(action):
            return replace(made, is_optional=True)  # its key may be the same after the write
        if action.action is Did.PUT and action.is_read:
            new = _as(action, Did.PUT, (Absence(),))
            return replace(made, otherwise=self._item_as(new), otherwise_when="there is no item")
        if action.action is Did.PUT and self._may_replace(action, entity):
            old = msgspec.structs.replace(action, conditions=(), is_read=True)
            return replace(made, otherwise=self._item_as(old), otherwise_when="the old list has an item with its key")
        if self._may_change_nothing(action):
            if not any(r.call is Call.TRANSACT_WRITE and action in r.actions for r in self.operation.requests):
                return replace(made, is_optional=True)
            check = self._item_as(_as(action, Did.CHECK, action.conditions))
            return replace(made, otherwise=check, otherwise_when="none of the optional values is given")
        return made

    def _may_change_nothing(self, action: ItemAction) -> bool:
        """Whether an update has no changes if some optional values are not given, and another item is still written.

        A call in which nothing at all is given is refused before anything is sent.
        """
        is_update = action.action is Did.UPDATE and not self._is_upsert(action) and action.item.is_own
        if not is_update or not action.changes or not _is_all_optional(action):
            return False
        others = [
            other
            for request in self.operation.requests
            for other in request.actions
            if other.item.is_own and other is not action and other.action is not Did.CHECK
        ]
        return any(not _is_all_optional(other) or _inputs(other) - _inputs(action) for other in others)

    def _entity(self, action: ItemAction) -> Entity:
        entity = self.workload.entity(action.item.entity)
        assert entity is not None  # an item is of an entity of the workload
        return entity

    def _item_as(self, action: ItemAction) -> ItemRequest:
        table = self.design.slot(TABLE) or Slot(TABLE, ())
        entity = self._entity(action)
        to = Placeholders(entity)
        update: Update | None = None
        defaults: dict[str, Operand] = {}
        optional = {change.attribute for change in action.changes if change.is_optional}
        removable = {change.attribute for change in action.changes if change.is_removable}
        if action.action is Did.UPDATE:
            update = self._update(action, entity, to)
            if self._is_upsert(action) and not action.is_read:
                update, defaults = self._upsert(action, entity, update, to)
                optional -= defaults.keys()
        written = self._written(action)
        condition = self._condition(written, entity, to)
        sometimes = tuple(self._bounds(written, entity, to))
        always = [part for case, part in sometimes if not case]
        item = self.design.item(action.item.entity, action.item.copy)
        bound = construct_of(entity, action.item, self.design) if action.item.apart else None
        is_put = action.action is Did.PUT
        optional_attributes = {a.name for a in entity.attributes if a.optional}
        return ItemRequest(
            action.action,
            action.item,
            action.many,
            key_parts(table, action.pk, action.sk),
            self._tag(action, entity) if is_put else "",
            tuple(self._index_keys(item, entity)) if is_put and item and not action.item.apart else (),
            update,
            all_of([*([condition] if condition else []), *always]),
            to,
            frozenset(optional),
            frozenset(removable),
            frozenset((*action.known, *action.unchanged)) & optional_attributes,
            self._may_be_absent(action, entity),
            defaults,
            tuple((case, part) for case, part in sometimes if case),
            times=bound.times(action.action) if bound else 1,
            attributes=tuple(bound.put_attributes(self.design)) if bound and is_put else (),
        )

    def _written(self, action: ItemAction) -> ItemAction:
        """For a check before a list is written, the write whose conditions it has; else the action itself."""
        if action.action is not Did.CHECK:
            return action
        others = (other for request in self.operation.requests for other in request.actions)
        same = (one for one in others if one.action is not Did.CHECK and not one.many and one.item == action.item)
        return next((one for one in same if (one.pk, one.sk) == (action.pk, action.sk)), action)

    def _may_replace(self, action: ItemAction, entity: Entity) -> bool:
        """Whether an item of a list is one that the write deletes and creates anew."""
        if not (action.many and action.item.is_own and action.requires_absence) or lines_of(entity):
            return False
        others = [other for other in self._together_with(action) if other.item == action.item]
        return any(other.action is Did.DELETE and other.many for other in others)

    def _tag(self, action: ItemAction, entity: Entity) -> str:
        name, own = action.item, self.design.item(entity.name)
        tag = own.tag if own else entity.name
        if bound := construct_of(entity, name, self.design):
            return f"{tag} {bound.tag(self.design)}"
        item = self.design.item(entity.name, name.copy)
        return item.tag if item else tag

    def _index_keys(self, item: Item, entity: Entity) -> Iterator[KeyPart]:
        for facet in item.facets[1:]:
            slot = self.design.slot(facet.slot)
            if slot is None or is_natural((*facet.pk, *facet.sk), (*slot.pk, *slot.sk)):
                continue
            is_sparse = bool(planner_facet(self.design, entity, item, facet).when)
            names = [part.name for part in (*slot.pk, *slot.sk)]
            for name, template in zip(names, (*facet.pk, *facet.sk), strict=False):
                if template != f"{{{name}}}" and not (slot.local and name in {p.name for p in slot.pk}):
                    yield KeyPart(name, template, is_sparse)

    def _may_be_absent(self, action: ItemAction, entity: Entity) -> bool:
        """Whether a copy or an item of a construct need not exist: a copy in neither state, a guard of no value."""
        name = action.item
        if name.copy:
            item = self.design.item(name.entity, name.copy)
            return item is not None and bool(planner_facet(self.design, entity, item, item.facets[0]).when)
        bound = construct_of(entity, name, self.design)
        if bound is None:
            return False
        is_changed = any(
            other.item == name and other is not action
            for request in self.operation.requests
            for other in request.actions
        )
        return bound.may_be_missing or is_changed or self._is_of_read_put(action)

    def _condition(self, action: ItemAction, entity: Entity, to: Placeholders) -> Condition | None:
        """The ConditionExpression of an action: that of the document, and what the client adds."""
        vacant, present = vacant_test(entity, self.design), present_tests(entity, self.design)
        name = action.item
        if bound := construct_of(entity, name, self.design):
            vacancy = bound.vacancy(action, self.design)
            if vacancy is not None:
                return self._vacancy_condition(vacancy, to)
            return all_of(self._test(test, to) for test in action.conditions)
        if name.copy:
            return self._copy_condition(action, entity, to)
        parts: list[Condition] = []
        tests = list(action.conditions)
        is_new = action.action is Did.PUT and action.requires_absence
        by_attribute = action.action is Did.DELETE or (action.action is Did.PUT and not is_new)
        if by_attribute:
            tests = [test for test in tests if test != Presence()]
        if vacant is not None and action.action is Did.PUT and not is_new:
            tests = [_with_vacancy(test, vacant) for test in tests]
        for test in tests:
            if isinstance(test, AnyOf) and _is_check_that_allows_absence(action, test):
                parts.append(self._absent_or(test, vacant, to))
            elif test == Absence() and self._is_upsert(action):
                key_absent = FunctionCall("attribute_not_exists", (to.path(self._always(entity)),))
                parts.append(either(self._absent(to), key_absent))
            elif test == Absence() and vacant is not None and not by_attribute:
                parts.append(self._vacant(vacant, to))
            elif test == Absence() and by_attribute:
                parts.append(FunctionCall("attribute_not_exists", (to.path(self._always(entity)),)))
            else:
                parts.append(self._test(test, to))
        if by_attribute and self._must_be_shown(action, tests, entity):
            parts.append(FunctionCall("attribute_exists", (to.path(self._always(entity)),)))
        if not is_new:
            parts += self._preconditions(action, to, parts)
        is_about_absence = any(
            test == Absence() or _is_check_that_allows_absence(action, test) for test in action.conditions
        )
        if action.action is not Did.PUT and not is_about_absence and (parts or self._is_upsert(action)):
            parts += [self._test(test, to) for test in present]
        return all_of(parts)

    def _must_be_shown(self, action: ItemAction, tests: Sequence[Test], entity: Entity) -> bool:
        """Whether the existence of an item has a condition of its own, because no other one implies it."""
        base = self._base(entity)
        demanding = [test for test in tests if not is_of_whole_item(test) and not holds_if_absent(test)]
        is_implied = any(not {leaf.attribute for leaf in leaves(test)} <= base for test in demanding)
        is_required = Presence() in action.conditions or bool(demanding)
        return is_required and not is_implied and not action.known

    def _base(self, entity: Entity) -> set[str]:
        own = self.design.item(entity.name)
        assert own is not None  # it is written
        facet = own.facets[0]
        return {name for text in (*facet.pk, *facet.sk) for name in fields_of(text)}

    def _always(self, entity: Entity) -> str:
        """An attribute that every item has: of its key, unless there is only one item."""
        own = self.design.item(entity.name)
        assert own is not None  # it is written
        tenant = tenant_of(self.workload, self.pattern) if self.pattern else ""
        facet = planner_facet(self.design, entity, own, own.facets[0])
        names = [name for name in facet.attributes if name != tenant]
        return [*names, *(a.name for a in entity.attributes if not a.optional)][0]

    def _bounds(self, action: ItemAction, entity: Entity, to: Placeholders) -> Iterator[tuple[str, Condition]]:
        """The conditions that keep a number within its bounds, each with the case in which it is sent."""
        for change in action.changes:
            attribute = entity.attribute(change.attribute)
            is_sum = change.op in (ChangeOp.ADD, ChangeOp.SUBTRACT) and action.item.is_own
            if not is_sum or attribute is None or not is_bounded(attribute) or change.value is None:
                continue
            yield from bound_conditions(change, change.value, attribute.bounds, to)

    def _is_upsert(self, action: ItemAction) -> bool:
        is_update = action.action is Did.UPDATE and action.item.is_own
        return is_update and Presence() not in action.conditions

    def _preconditions(self, action: ItemAction, to: Placeholders, parts: Sequence[Condition]) -> Iterator[Condition]:
        """The comparisons with values that the caller knows, or that were read or found before."""
        present = FunctionCall("attribute_exists", (to.path(self.design.partition_key),))
        if action.is_read and present not in parts:
            yield present
        compared = {test.attribute for test in action.conditions if isinstance(test, Comparison) and test.op is Op.EQ}
        known = [name for name in action.known if name not in compared]
        for name in (*known, *action.unchanged):
            yield Compare("=", to.path(name), to.value(StoredSource(name), f"{name}_before"))

    def _absent(self, to: Placeholders) -> FunctionCall:
        return FunctionCall("attribute_not_exists", (to.path(self.design.partition_key),))

    def _vacant(self, vacant: Test | None, to: Placeholders) -> Condition:
        """The condition that there is no item, or only one that counts as absent."""
        absent = self._absent(to)
        return either(absent, self._test(vacant, to)) if vacant is not None else absent

    def _absent_or(self, test: AnyOf, vacant: Test | None, to: Placeholders) -> Condition:
        """The condition of a check that is fulfilled if there is no item, or only one that counts as absent."""
        stored = [self._test(part, to) for part in test.parts if part != Absence()]
        return either(self._vacant(vacant, to), *stored)

    def _vacancy_condition(self, vacancy: Vacancy, to: Placeholders) -> Condition:
        """The condition that there is no item under a key, or only that of the item that is written."""
        is_own = Compare("=", to.path(OWNER), to.value(OwnerSource(*vacancy.owner), OWNER))
        return either(self._vacant(vacancy.vacant, to), is_own)

    def _copy_condition(self, action: ItemAction, entity: Entity, to: Placeholders) -> Condition | None:
        own, copy = self.design.item(entity.name), self.design.item(entity.name, action.item.copy)
        assert own is not None
        assert copy is not None
        match action.action:
            case Did.UPDATE:
                return FunctionCall("attribute_exists", (to.path(self.design.partition_key),))
            case Did.DELETE:
                return None
            case Did.CHECK | Did.PUT:
                pass
            case _:
                assert_never(action.action)
        key_names = {name for text in (*own.facets[0].pk, *own.facets[0].sk) for name in fields_of(text)}
        copy_names = {name for text in (*copy.facets[0].pk, *copy.facets[0].sk) for name in fields_of(text)}
        if key_names <= copy_names:
            return None  # no other item can have a copy with this key
        vacant = self._vacant(vacant_test(entity, self.design), to)
        is_new = any(
            other.item.is_own and other.item.entity == entity.name and other.requires_absence
            for request in self.operation.requests
            for other in request.actions
        )
        if is_new and not copy.whole:
            return vacant
        same = [Compare("=", to.path(name), to.value(InputSource(name), name)) for name in sorted(key_names)]
        return any_of(part for part in (vacant, all_of(same)) if part is not None)

    def _test(self, test: Test, to: Placeholders) -> Condition:
        return condition_of(test, self.design.partition_key, to)

    def _update(self, action: ItemAction, entity: Entity, to: Placeholders) -> Update:
        actions: list[Action] = []
        if action.item.apart:
            tag = to.value(ConstantSource(self._tag(action, entity)), "type")
            actions.append(SetAction(to.path(self.design.type_attribute), tag))
        # The client sets keys of indexes first.
        ordered = sorted(action.changes, key=lambda change: not change.template)
        # The parts of the key that finds the item are the same after it.
        itself = self._base(entity) if action.item.is_own and self._is_upsert(action) else set()
        for change in ordered:
            if change.attribute in itself:
                continue
            is_counted = change.op is ChangeOp.ADD and change.attribute in maintained(entity)
            actions.append(_change(change, action.item.apart or is_counted, to))
        return Update(tuple(actions))

    def _upsert(
        self, action: ItemAction, entity: Entity, update: Update, to: Placeholders
    ) -> tuple[Update, dict[str, Operand]]:
        """The update of an item that may not exist: it sets what a new item has, too.

        An attribute with a default that the caller may leave out is set to it, if it is absent.
        """
        item = self.design.item(entity.name)
        assert item is not None  # it is written
        base = self._base(entity)
        table = self.design.slot(TABLE) or Slot(TABLE, ())
        itself = {part.name for part in (*table.pk, *table.sk)}
        changes = {change.attribute: change for change in action.changes}
        tag = to.value(ConstantSource(item.tag), "type")
        actions: list[Action] = [SetAction(to.path(self.design.type_attribute), tag)]
        own_names = sorted(base - itself)
        actions += [SetAction(to.path(name), to.value(InputSource(name), name)) for name in own_names]
        index_keys = {part.attribute for part in self._index_keys(item, entity)}
        for part in self._index_keys(item, entity):
            names = {name.rstrip("?") for name in fields_of(part.template)} - base
            changed = names & changes.keys()
            if part.is_optional and part.attribute not in changes:
                continue  # a new item is not in the index, and an existing one stays where it is
            value = to.value(KeySource(part.template), part.attribute)
            path = to.path(part.attribute)
            if names and not changed:
                actions.append(SetAction(path, FunctionCall("if_not_exists", (path, value))))
            else:
                actions.append(SetAction(path, value))
        defaults: dict[str, Operand] = {}
        for attribute in entity.attributes:
            change = changes.get(attribute.name)
            if attribute.default is None or attribute.name in base or (change and not change.is_optional):
                continue
            path = to.path(attribute.name)
            value = to.value(stored_constant(attribute.default, attribute), f"{attribute.name}_default")
            first = FunctionCall("if_not_exists", (path, value))
            if change:
                defaults[attribute.name] = first
            else:
                actions.append(SetAction(path, first))
        changed_actions = [each for each in update.actions if to.names[str(each.path.steps[0])] not in index_keys]
        done = {each.path for each in actions}
        return Update((*actions, *(each for each in changed_actions if each.path not in done))), defaults


def _with_vacancy(test: Test, vacant: Test) -> Test:
    """A test of a put, for which items that a create may replace count as absent."""
    return with_leaves(test, lambda leaf: AnyOf((leaf, vacant)) if leaf == Absence() else leaf)


def _is_check_that_allows_absence(action: ItemAction, test: Test) -> bool:
    """Whether a condition of an item that is not written is fulfilled if there is none."""
    return action.action is Did.CHECK and isinstance(test, AnyOf) and Absence() in test.parts


def _is_all_optional(action: ItemAction) -> bool:
    return bool(action.changes) and all(change.is_optional for change in action.changes)


def _inputs(action: ItemAction) -> set[str]:
    """The inputs of the changes of an action."""
    values = [change.value for change in action.changes]
    return {value.param for value in values if value is not None and value.param is not None}


def _as(action: ItemAction, did: Did, conditions: tuple[Test, ...]) -> ItemAction:
    return msgspec.structs.replace(
        action, action=did, conditions=conditions, changes=(), known=action.known if did is Did.CHECK else (),
        unchanged=action.unchanged if did is Did.CHECK else (), is_read=False,
    )  # fmt: skip


def _change(change: ItemChange, is_counted: bool, to: Placeholders) -> Action:
    path = to.path(change.attribute)
    if change.template:
        return SetAction(path, to.value(KeySource(change.template), change.attribute))
    if change.op is ChangeOp.REMOVE or change.value is None:
        return RemoveAction(path)
    name = value_name(change.value, change.attribute)
    match change.op:
        case ChangeOp.SET:
            return SetAction(path, operand_of(change.value, change.attribute, to))
        case ChangeOp.APPEND:
            added = to.value(source_of(change.value, change.attribute, to), name)
            if change.is_set:
                return AddAction(path, added)
            old: Operand = path
            if change.is_from_zero:
                old = FunctionCall("if_not_exists", (path, to.value(EmptyListSource(), "empty")))
            return SetAction(path, FunctionCall("list_append", (old, added)))
        case ChangeOp.ADD | ChangeOp.SUBTRACT:
            is_negative = change.op is ChangeOp.SUBTRACT and (change.is_from_zero or is_counted)
            amount = to.value(source_of(change.value, change.attribute, to, is_negative), name)
            if change.is_from_zero or is_counted:
                return AddAction(path, amount)
            return SetAction(path, Arithmetic("-" if change.op is ChangeOp.SUBTRACT else "+", path, amount))
        case _:
            assert_never(change.op)
