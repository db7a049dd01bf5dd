"""Literal requests of writes: each item with its expressions, and with the conditions that the client adds."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import assert_never

import msgspec

from prejoin.constructs.construct import OWNER, Vacancy
from prejoin.constructs.registry import construct_of, lines_of, maintained, present_tests, vacant_test
from prejoin.design.mapping.facets import is_natural, planner_facet
from prejoin.design.mapping.repetition import passes_over_missing
from prejoin.design.model import (
    TABLE,
    Call,
    Did,
    Item,
    ItemAction,
    ItemChange,
    ItemName,
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
from prejoin.design.requests.literal import ItemRequest, KeyPart, OperationRequests, WriteRequest, key_parts
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
from prejoin.keys import When, fields_of
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
from prejoin.protocol.expressions.text import all_of, either
from prejoin.workload.bounds import is_bounded
from prejoin.workload.conditions import holds_if_absent, is_of_whole_item, leaves, with_leaves
from prejoin.workload.model import (
    Absence,
    AllOf,
    AnyOf,
    ChangeOp,
    Comparison,
    Entity,
    Leaf,
    Op,
    Presence,
    Test,
    Write,
)
from prejoin.workload.program.resolved_write import resolve_write
from prejoin.workload.tenants import tenant_of

_IF_ABSENT = "there is no item"
"""The case of an action on an item that was read before."""


@dataclass(frozen=True, slots=True)
class WriteRequests(OperationRequests):
    """The literal writes of one operation."""

    def request(self, request: Request) -> WriteRequest:
        items: list[ItemRequest] = []
        for action in request.actions:
            # The copy and the unique values of an item that a put replaces may be others than those of the new one.
            is_exchanged = (action.item.copy or action.item.guard) and self._is_of_read_put(action)
            if is_exchanged and action.action is Did.PUT:
                delete = msgspec.structs.replace(action, action=Did.DELETE, conditions=())
                items.append(replace(self._item(delete), is_optional=True))
            items.append(self._item(action))
        return WriteRequest(request.call, tuple(items))

    # --- What an action is, beside the other actions of its operation -------------------------------------------------

    def _is_of_read_put(self, action: ItemAction) -> bool:
        """Whether an item of a construct is that of an item that is put and was read before."""
        for other in self.operation.actions:
            is_put = other.action is Did.PUT and other.item == ItemName(action.item.entity)
            if is_put and (other.is_read or self._may_replace(other)):
                return True
        return False

    def _is_of_read_upsert(self, action: ItemAction) -> bool:
        """Whether a copy is that of an item that an upsert may create, and that was read before."""
        own_actions = self._actions_beside(action, ItemName(action.item.entity))
        return any(own.is_read and _is_upsert(own) for own in own_actions)

    def _is_moved(self, action: ItemAction) -> bool:
        """Whether a copy is deleted and put again, because its key may change."""
        if not action.item.copy:
            return False
        return any(other.action is Did.PUT for other in self._actions_beside(action, action.item))

    def _may_replace(self, action: ItemAction) -> bool:
        """Whether an item of a list is one that the write deletes and creates anew."""
        is_new_in_list = action.many and action.item.is_own and action.requires_absence
        if not is_new_in_list or lines_of(self._entity(action)):
            return False
        same_items = self._actions_beside(action, action.item)
        return any(other.action is Did.DELETE and other.many for other in same_items)

    def _actions_beside(self, action: ItemAction, item: ItemName) -> list[ItemAction]:
        """The actions on an item in the request that an action is in."""
        for request in self.operation.requests:
            if action in request.actions:
                return [other for other in request.actions if other.item == item]
        return []

    def _is_in_transaction(self, action: ItemAction) -> bool:
        transactions = [request for request in self.operation.requests if request.call is Call.TRANSACT_WRITE]
        return any(action in request.actions for request in transactions)

    def _may_change_nothing(self, action: ItemAction) -> bool:
        """Whether an update has no changes if some optional values are not given, and another item is still written.

        A call in which nothing at all is given is refused before anything is sent.
        """
        is_update = action.action is Did.UPDATE and action.item.is_own and not _is_upsert(action)
        if not is_update or not _is_all_optional(action):
            return False
        for other in self.operation.actions:
            if not other.item.is_own or other is action or other.action is Did.CHECK:
                continue
            if not _is_all_optional(other) or _inputs(other) - _inputs(action):
                return True
        return False

    def _checked_write(self, action: ItemAction) -> ItemAction:
        """For a check before a list is written, the write whose conditions it has; else the action itself."""
        if action.action is not Did.CHECK:
            return action
        key = (action.item, action.pk, action.sk)
        for other in self.operation.actions:
            is_write = other.action is not Did.CHECK and not other.many
            if is_write and (other.item, other.pk, other.sk) == key:
                return other
        return action

    def _entity(self, action: ItemAction) -> Entity:
        entity = self.workload.entity(action.item.entity)
        assert entity is not None  # an item is of an entity of the workload
        return entity

    # --- An item ------------------------------------------------------------------------------------------------------

    def _item(self, action: ItemAction) -> ItemRequest:
        """The write of an item, with what is sent instead in another case."""
        item = self._item_as(action)
        if self._may_be_left_out(action):
            return replace(item, is_optional=True)
        alternative = self._alternative(action)
        if alternative is None:
            return item
        other_action, case = alternative
        return replace(item, otherwise=self._item_as(other_action), otherwise_when=case)

    def _may_be_left_out(self, action: ItemAction) -> bool:
        """Whether nothing is sent for an action in some cases."""
        if action.action is Did.DELETE:
            return self._is_moved(action)  # its key may be the same after the write
        # In a transaction the conditions of the update are still checked.
        return self._may_change_nothing(action) and not self._is_in_transaction(action)

    def _alternative(self, action: ItemAction) -> tuple[ItemAction, str] | None:
        """The action that is sent instead, and in which case."""
        match action.action:
            case Did.UPDATE:
                if action.item.is_own and action.is_read and _is_upsert(action):
                    return _as(action, Did.PUT, (Absence(),)), _IF_ABSENT
                if action.item.copy and self._is_of_read_upsert(action):
                    return _as(action, Did.PUT, ()), _IF_ABSENT
                if self._may_change_nothing(action):
                    check = _as(action, Did.CHECK, action.conditions)
                    return check, "none of the optional values is given"
            case Did.PUT:
                if action.is_read:
                    return _as(action, Did.PUT, (Absence(),)), _IF_ABSENT
                if self._may_replace(action):
                    replacement = msgspec.structs.replace(action, conditions=(), is_read=True)
                    return replacement, "the old list has an item with its key"
            case Did.DELETE | Did.CHECK:
                pass
            case _:
                assert_never(action.action)
        return None

    def _item_as(self, action: ItemAction) -> ItemRequest:
        """One action as a request: its expressions share their placeholders."""
        entity = self._entity(action)
        to = Placeholders(entity)
        update, defaults = self._update_with_defaults(action, entity, to)
        checked_write = self._checked_write(action)
        condition = self._condition(checked_write, entity, to)
        bounds = list(self._bounds(checked_write, entity, to))
        parts = [] if condition is None else [condition]
        parts += [part for case, part in bounds if not case]
        # The changes of a put are values that the document gives its item, which is sent as a whole.
        changes = action.changes if action.action is Did.UPDATE else ()
        optional_names = {change.attribute for change in changes if change.is_optional}
        optional_attributes = {attribute.name for attribute in entity.attributes if attribute.optional}
        item = ItemRequest(
            action.action,
            action.item,
            action.many,
            key_parts(self.design.slot(TABLE) or Slot(TABLE, ()), action.pk, action.sk),
            update=update,
            condition=all_of(parts),
            placeholders=to,
            optional=frozenset(optional_names - defaults.keys()),
            removable=frozenset({change.attribute for change in changes if change.is_removable}),
            nullable=frozenset((*action.known, *action.unchanged)) & optional_attributes,
            is_optional=self._may_be_absent(action, entity),
            defaults=defaults,
            sometimes=tuple((case, part) for case, part in bounds if case),
            is_passed_over=condition is not None and self._is_passed_over(action),
        )
        return self._with_put_attributes(item, action, entity)

    def _with_put_attributes(self, item: ItemRequest, action: ItemAction, entity: Entity) -> ItemRequest:
        """The request with what a put writes beside the attributes of the object: its type, and keys of indexes."""
        is_put = action.action is Did.PUT
        if is_put:
            item = replace(item, type_tag=self._tag(action, entity))
        if action.item.apart:
            bound = construct_of(entity, action.item, self.design)
            if bound is None:
                return item
            attributes = tuple(bound.put_attributes(self.design)) if is_put else ()
            return replace(item, times=bound.times(action.action), attributes=attributes)
        stored_item = self.design.item(action.item.entity, action.item.copy)
        if is_put and stored_item is not None:
            item = replace(item, index_keys=tuple(self._put_index_keys(action, stored_item, entity)))
        return item

    def _is_passed_over(self, action: ItemAction) -> bool:
        """Whether an item of a list is deleted if it is there, in a write that can be repeated."""
        if not action.many or not action.item.is_own or not isinstance(self.pattern, Write):
            return False
        steps = resolve_write(self.workload, self.pattern).written_steps
        passing_names = {step.entity.name for step in steps if passes_over_missing(step)}
        return action.action in (Did.DELETE, Did.UPDATE) and action.item.entity in passing_names

    def _tag(self, action: ItemAction, entity: Entity) -> str:
        own = self.design.item(entity.name)
        tag = own.tag if own else entity.name
        if bound := construct_of(entity, action.item, self.design):
            return f"{tag} {bound.tag(self.design)}"
        item = self.design.item(entity.name, action.item.copy)
        return item.tag if item else tag

    def _index_keys(self, item: Item, entity: Entity) -> Iterator[KeyPart]:
        """The keys of indexes that an item has beside its attributes."""
        for facet in item.facets[1:]:
            slot = self.design.slot(facet.slot)
            if slot is None or is_natural(facet.templates, slot.key_attributes):
                continue
            is_sparse = bool(planner_facet(self.design, entity, item, facet).when)
            # A local index has the partition key of the table.
            table_names = {part.name for part in slot.pk} if slot.local else set()
            for name, template in zip(slot.key_names, facet.templates, strict=False):
                if template != f"{{{name}}}" and name not in table_names:
                    yield KeyPart(name, template, is_sparse)

    def _put_index_keys(self, action: ItemAction, item: Item, entity: Entity) -> Iterator[KeyPart]:
        """The index keys of an item that is put: without those of indexes that its constants keep it out of."""
        changes = {change.attribute: change for change in action.changes}
        for part in self._index_keys(item, entity):
            change = changes.get(part.attribute)
            if change is None:
                yield part
            elif change.op is not ChangeOp.REMOVE:
                yield replace(part, is_optional=part.is_optional and change.is_removable)

    def _may_be_absent(self, action: ItemAction, entity: Entity) -> bool:
        """Whether a copy or an item of a construct need not exist: a copy in neither state, a guard of no value."""
        name = action.item
        if name.copy:
            item = self.design.item(name.entity, name.copy)
            whens = planner_facet(self.design, entity, item, item.facets[0]).when if item else ()
            return not all(_is_met_by_put(when, action) for when in whens)
        bound = construct_of(entity, name, self.design)
        if bound is None:
            return False
        is_changed = any(other.item == name and other is not action for other in self.operation.actions)
        return bound.may_be_missing or is_changed or self._is_of_read_put(action)

    # --- Its condition ------------------------------------------------------------------------------------------------

    def _condition(self, action: ItemAction, entity: Entity, to: Placeholders) -> Condition | None:
        """The ConditionExpression of an action: that of the document, and what the client adds."""
        bound = construct_of(entity, action.item, self.design)
        if bound is not None:
            vacancy = bound.vacancy(action, self.design)
            if vacancy is not None:
                return self._vacancy_condition(vacancy, to)
            return all_of(self._test(test, to) for test in action.conditions)
        if action.item.copy:
            return self._copy_condition(action, entity, to)
        return self._own_condition(action, entity, to)

    def _own_condition(self, action: ItemAction, entity: Entity, to: Placeholders) -> Condition | None:
        """The condition of an action on an entity's own item."""
        is_new = action.action is Did.PUT and action.requires_absence
        tests = self._own_tests(action, entity)
        parts = [self._own_test(test, action, entity, to) for test in tests]
        if _names_attribute(action) and self._must_be_shown(action, tests, entity):
            parts.append(FunctionCall("attribute_exists", (to.path(self._always(entity)),)))
        if not is_new:
            parts += self._preconditions(action, to, parts)
        may_be_no_item = any(test == Absence() or _allows_absence(action, test) for test in action.conditions)
        if action.action is not Did.PUT and not may_be_no_item and (parts or _is_upsert(action)):
            parts += [self._test(test, to) for test in present_tests(entity, self.design)]
        return all_of(parts)

    def _own_tests(self, action: ItemAction, entity: Entity) -> list[Test]:
        """The tests of an action, without what the client tests by an attribute that each item has."""
        tests = self._upsert_tests(action, entity) if _is_upsert(action) else list(action.conditions)
        if not _names_attribute(action):
            return tests
        tests = [test for test in tests if test != Presence()]
        vacant = vacant_test(entity, self.design)
        if vacant is not None and action.action is Did.PUT:
            return [_with_vacancy(test, vacant) for test in tests]
        return tests

    def _own_test(self, test: Test, action: ItemAction, entity: Entity, to: Placeholders) -> Condition:
        """A test of an entity's own item. Whether there is one depends on what is done: expired items may count."""
        vacant = vacant_test(entity, self.design)
        if isinstance(test, AnyOf) and _allows_absence(action, test):
            return self._absent_or(test, vacant, to)
        if test != Absence():
            return self._test(test, to)
        if not _is_upsert(action) and not _names_attribute(action):
            return self._vacant(vacant, to)
        lacks_attribute = FunctionCall("attribute_not_exists", (to.path(self._always(entity)),))
        return either(self._absent(to), lacks_attribute) if _is_upsert(action) else lacks_attribute

    def _upsert_tests(self, action: ItemAction, entity: Entity) -> list[Test]:
        """The tests of an upsert. An absent item fulfils those of a stored one; an item that was read is not absent.

        The client adds that by the key. An existence that the document names in a part of a condition is a test of an
        attribute that every item has.
        """
        tests: list[Test] = []
        for test in action.conditions:
            if not isinstance(test, AnyOf) or test.parts[0] != Absence():
                tests.append(test)
                continue
            stored_test = with_leaves(test.parts[1], partial(_by_attribute, self._always(entity)))
            if not action.is_read:
                tests.append(AnyOf((Absence(), stored_test)))
            else:
                tests += stored_test.parts if isinstance(stored_test, AllOf) else (stored_test,)
        return tests

    def _must_be_shown(self, action: ItemAction, tests: Sequence[Test], entity: Entity) -> bool:
        """Whether the existence of an item has a condition of its own, because no other one implies it."""
        if action.known:
            return False
        demands = [test for test in tests if not is_of_whole_item(test) and not holds_if_absent(test)]
        key_names = self._base(entity)
        for test in demands:
            if not key_names.issuperset(leaf.attribute for leaf in leaves(test)):
                return False
        return Presence() in action.conditions or bool(demands)

    def _base(self, entity: Entity) -> frozenset[str]:
        """The attributes in the key of an entity's own item."""
        return self._own_item(entity).facets[0].fields

    def _own_item(self, entity: Entity) -> Item:
        own = self.design.item(entity.name)
        assert own is not None  # it is written
        return own

    def _always(self, entity: Entity) -> str:
        """An attribute that every item has: of its key, unless there is only one item."""
        own = self._own_item(entity)
        tenant = tenant_of(self.workload, self.pattern) if self.pattern else ""
        facet = planner_facet(self.design, entity, own, own.facets[0])
        names = [name for name in facet.attributes if name != tenant]
        names += [attribute.name for attribute in entity.attributes if not attribute.optional]
        return names[0]

    def _bounds(self, action: ItemAction, entity: Entity, to: Placeholders) -> Iterator[tuple[str, Condition]]:
        """The conditions that keep a number within its bounds, each with the case in which it is sent."""
        for change in action.changes:
            attribute = entity.attribute(change.attribute)
            is_sum = change.op in (ChangeOp.ADD, ChangeOp.SUBTRACT) and action.item.is_own
            if not is_sum or attribute is None or not is_bounded(attribute) or change.value is None:
                continue
            yield from bound_conditions(change, change.value, attribute.bounds, to)

    def _preconditions(self, action: ItemAction, to: Placeholders, parts: Sequence[Condition]) -> Iterator[Condition]:
        """The comparisons with values that the caller knows, or that were read or found before."""
        present = FunctionCall("attribute_exists", (to.path(self.design.partition_key),))
        if action.is_read and present not in parts:
            yield present
        equalities = [test for test in action.conditions if isinstance(test, Comparison) and test.op is Op.EQ]
        compared_names = {test.attribute for test in equalities}
        known_names = [name for name in action.known if name not in compared_names]
        for name in (*known_names, *action.unchanged):
            yield Compare("=", to.path(name), to.value(StoredSource(name), f"{name}_before"))

    def _absent(self, to: Placeholders) -> FunctionCall:
        return FunctionCall("attribute_not_exists", (to.path(self.design.partition_key),))

    def _vacant(self, vacant: Test | None, to: Placeholders) -> Condition:
        """The condition that there is no item, or only one that counts as absent."""
        absent = self._absent(to)
        return either(absent, self._test(vacant, to)) if vacant is not None else absent

    def _absent_or(self, test: AnyOf, vacant: Test | None, to: Placeholders) -> Condition:
        """The condition of a check that is fulfilled if there is no item, or only one that counts as absent."""
        alternatives = [self._test(part, to) for part in test.parts if part != Absence()]
        return either(self._vacant(vacant, to), *alternatives)

    def _vacancy_condition(self, vacancy: Vacancy, to: Placeholders) -> Condition:
        """The condition that there is no item under a key, or only that of the item that is written."""
        is_own = Compare("=", to.path(OWNER), to.value(OwnerSource(*vacancy.owner), OWNER))
        return either(self._vacant(vacancy.vacant, to), is_own)

    def _copy_condition(self, action: ItemAction, entity: Entity, to: Placeholders) -> Condition | None:
        match action.action:
            case Did.UPDATE:
                return FunctionCall("attribute_exists", (to.path(self.design.partition_key),))
            case Did.DELETE:
                return None
            case Did.CHECK | Did.PUT:
                return self._copy_put_condition(action, entity, to)
            case _:
                assert_never(action.action)

    def _copy_put_condition(self, action: ItemAction, entity: Entity, to: Placeholders) -> Condition | None:
        """The condition that a copy does not replace that of another item, which may have the same key."""
        copy = self.design.item(entity.name, action.item.copy)
        assert copy is not None
        key_names = self._base(entity)
        if key_names <= copy.facets[0].fields:
            return None  # no other item can have a copy with this key
        vacant = self._vacant(vacant_test(entity, self.design), to)
        own = ItemName(entity.name)
        is_new = any(other.item == own and other.requires_absence for other in self.operation.actions)
        if is_new and not copy.whole:
            return vacant
        is_same = all_of([Compare("=", to.path(name), to.value(InputSource(name), name)) for name in sorted(key_names)])
        assert is_same is not None  # the key has an attribute that the copy's key has not
        return either(vacant, is_same)

    def _test(self, test: Test, to: Placeholders) -> Condition:
        return condition_of(test, self.design.partition_key, to)

    # --- Its update ---------------------------------------------------------------------------------------------------

    def _update_with_defaults(
        self, action: ItemAction, entity: Entity, to: Placeholders
    ) -> tuple[Update | None, dict[str, Operand]]:
        """The UpdateExpression of an action, and for optional values of an upsert what is set if they are not given."""
        if action.action is not Did.UPDATE:
            return None, {}
        update = self._update(action, entity, to)
        # What was read before is known to exist. If there was nothing, a put is sent instead.
        if _is_upsert(action) and not action.is_read:
            return self._upsert(action, entity, update, to)
        return update, {}

    def _update(self, action: ItemAction, entity: Entity, to: Placeholders) -> Update:
        actions: list[Action] = []
        if action.item.apart:
            tag = to.value(ConstantSource(self._tag(action, entity)), "type")
            actions.append(SetAction(to.path(self.design.type_attribute), tag))
        # The parts of the key that finds the item are the same after it.
        key_names = self._base(entity) if _is_upsert(action) else frozenset()
        # The client sets keys of indexes first.
        for change in sorted(action.changes, key=lambda change: not change.template):
            if change.attribute in key_names:
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
        item = self._own_item(entity)
        tag = to.value(ConstantSource(item.tag), "type")
        actions: list[Action] = [SetAction(to.path(self.design.type_attribute), tag)]
        # Attributes that are themselves the table's key are set by the key of the request.
        names = sorted(self._base(entity).difference(self.design.table_keys))
        actions += [SetAction(to.path(name), to.value(InputSource(name), name)) for name in names]
        index_keys = list(self._index_keys(item, entity))
        for part in index_keys:
            key_action = self._upsert_of_index_key(part, action, entity, to)
            if key_action is not None:
                actions.append(key_action)
        defaults = self._defaults(action, entity, to)
        changed_names = {change.attribute for change in action.changes}
        for name, operand in defaults.items():
            if name not in changed_names:
                actions.append(SetAction(to.path(name), operand))
        # The update already sets index keys; those above take its place.
        set_paths = {set_action.path for set_action in actions}
        index_key_names = {part.attribute for part in index_keys}
        for update_action in update.actions:
            is_index_key = to.names[str(update_action.path.steps[0])] in index_key_names
            if not is_index_key and update_action.path not in set_paths:
                actions.append(update_action)
        return Update(tuple(actions)), {name: first for name, first in defaults.items() if name in changed_names}

    def _upsert_of_index_key(
        self, part: KeyPart, action: ItemAction, entity: Entity, to: Placeholders
    ) -> SetAction | None:
        """How an upsert sets a key of an index; None if the key stays as it is."""
        changed_names = {change.attribute for change in action.changes}
        if part.is_optional and part.attribute not in changed_names:
            return None  # a new item is not in the index, and an existing one stays where it is
        value = to.value(KeySource(part.template), part.attribute)
        path = to.path(part.attribute)
        names = set(fields_of(part.template)) - self._base(entity)
        if names and names.isdisjoint(changed_names):
            return SetAction(path, FunctionCall("if_not_exists", (path, value)))
        return SetAction(path, value)

    def _defaults(self, action: ItemAction, entity: Entity, to: Placeholders) -> dict[str, Operand]:
        """The default of each attribute that an upsert may leave out, as what it is set to if it is absent."""
        # A later change of an attribute takes the place of an earlier one.
        changes = {change.attribute: change for change in action.changes}
        required_names = {change.attribute for change in changes.values() if not change.is_optional}
        defaults: dict[str, Operand] = {}
        for attribute in entity.attributes:
            name = attribute.name
            if attribute.default is None or name in required_names or name in self._base(entity):
                continue
            path = to.path(name)
            value = to.value(stored_constant(attribute.default, attribute), f"{name}_default")
            defaults[name] = FunctionCall("if_not_exists", (path, value))
        return defaults


def _is_upsert(action: ItemAction) -> bool:
    is_update = action.action is Did.UPDATE and action.item.is_own
    return is_update and Presence() not in action.conditions


def _names_attribute(action: ItemAction) -> bool:
    """Whether the client tests the existence of the item by an attribute of its key: for a delete and a replacement.

    Others test the partition key of the table.
    """
    return action.action is Did.DELETE or (action.action is Did.PUT and not action.requires_absence)


def _with_vacancy(test: Test, vacant: Test) -> Test:
    """A test of a put, for which items that a create may replace count as absent."""
    return with_leaves(test, lambda leaf: AnyOf((leaf, vacant)) if leaf == Absence() else leaf)


def _by_attribute(name: str, leaf: Leaf) -> Leaf:
    """The existence of an item as that of an attribute, which every item has."""
    is_of_item = isinstance(leaf, Presence | Absence) and not leaf.attribute
    return msgspec.structs.replace(leaf, attribute=name) if is_of_item else leaf


def _allows_absence(action: ItemAction, test: Test) -> bool:
    """Whether a condition of an item that is not written is fulfilled if there is none."""
    return action.action is Did.CHECK and isinstance(test, AnyOf) and Absence() in test.parts


def _is_all_optional(action: ItemAction) -> bool:
    return bool(action.changes) and all(change.is_optional for change in action.changes)


def _is_met_by_put(when: When, action: ItemAction) -> bool:
    """Whether the constants of a put say that its item has one of the values of a condition."""
    values = [change.value for change in action.changes if change.attribute == when.attribute]
    constants = {value.const for value in values if value is not None}
    return action.action is Did.PUT and bool(constants) and constants <= {str(value) for value in when.values or ()}


def _inputs(action: ItemAction) -> set[str]:
    """The inputs of the changes of an action."""
    parameters = {change.value.param for change in action.changes if change.value is not None}
    return {name for name in parameters if name is not None}


def _as(action: ItemAction, did: Did, conditions: tuple[Test, ...]) -> ItemAction:
    """An action on the same item without changes. A check keeps the comparisons with known values."""
    if did is Did.CHECK:
        return msgspec.structs.replace(action, action=did, conditions=conditions, changes=(), is_read=False)
    changes = action.changes if action.action is did is Did.PUT else ()
    return ItemAction(did, action.item, action.pk, action.sk, action.many, changes, conditions, action.compared)


def _change(change: ItemChange, is_counted: bool, to: Placeholders) -> Action:
    """A change as a part of an UpdateExpression. Only `ADD` starts from nothing, so a counter subtracts by it, too."""
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
            members = to.value(source_of(change.value, change.attribute, to), name)
            if change.is_set:
                return AddAction(path, members)
            former: Operand = path
            if change.is_from_zero:
                former = FunctionCall("if_not_exists", (path, to.value(EmptyListSource(), "empty")))
            return SetAction(path, FunctionCall("list_append", (former, members)))
        case ChangeOp.ADD | ChangeOp.SUBTRACT:
            is_negative = change.op is ChangeOp.SUBTRACT and (change.is_from_zero or is_counted)
            amount = to.value(source_of(change.value, change.attribute, to, is_negative), name)
            if change.is_from_zero or is_counted:
                return AddAction(path, amount)
            return SetAction(path, Arithmetic("-" if change.op is ChangeOp.SUBTRACT else "+", path, amount))
        case _:
            assert_never(change.op)
