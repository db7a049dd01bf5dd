"""Maps writes to requests: every item that a pattern touches, with copies, guards, index keys and conditions.

If the caller does not give enough, the operation reads first: the item itself, if its index keys, copies or guards need
more attributes; or a Query that finds the items, if their key is not known.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import chain
from typing import assert_never

from msgspec.structs import replace

from prejoin.constructs.registry import all_constructs, hidden_filters, visible_tests
from prejoin.design.mapping.addressing import (
    copies_of,
    creates_outside,
    finding,
    held,
    key_of,
    may_lack,
    placing,
    required_by,
    sought,
    unknown,
)
from prejoin.design.mapping.facets import planner_facets
from prejoin.design.mapping.preconditions import equals_input, with_preconditions
from prejoin.design.model import (
    TABLE,
    Call,
    Design,
    Did,
    Facet,
    InputGroup,
    Item,
    ItemAction,
    ItemChange,
    Operation,
    Request,
    When,
)
from prejoin.keys import Plan, fields_of
from prejoin.keys.planner.placeholders import SortCondition, sort_condition
from prejoin.types import Kind
from prejoin.workload.bounds import has_bounded_sum
from prejoin.workload.conditions import holds_if_absent, is_of_whole_item, opposite, with_leaves
from prejoin.workload.grammar.writes import write_checks
from prejoin.workload.model import (
    NEW,
    Absence,
    Action,
    AllOf,
    AnyOf,
    Change,
    ChangeOp,
    Entity,
    Input,
    Presence,
    Test,
    Value,
    Verb,
    Workload,
    Write,
)
from prejoin.workload.optional_inputs import is_optional
from prejoin.workload.program.list_sources import is_movable
from prejoin.workload.program.resolved_write import CheckedItem, ResolvedWrite, Step, resolve_write


def _effect_of(verb: Verb) -> Did:
    """The effect of an action on the item of its entity."""
    match verb:
        case Verb.CREATE | Verb.PUT:
            return Did.PUT
        case Verb.UPDATE | Verb.UPSERT:
            return Did.UPDATE
        case Verb.DELETE:
            return Did.DELETE
        case Verb.EXPIRE:
            raise AssertionError("no request expires an item")
        case _:
            assert_never(verb)


def _single_call(effect: Did) -> Call:
    """The call that writes one item, outside of a transaction."""
    match effect:
        case Did.PUT:
            return Call.PUT
        case Did.UPDATE:
            return Call.UPDATE
        case Did.DELETE:
            return Call.DELETE
        case Did.CHECK:
            raise AssertionError("only a transaction checks an item")
        case _:
            assert_never(effect)


def map_write(write: Write, workload: Workload, design: Design) -> Operation:
    """The operation of a write or delete. Expiry needs no request."""
    try:
        return _WriteMapper(resolve_write(workload, write), design).operation()
    except _NotMappedError as problem:
        return Operation(write.id, problem=problem.problem, remedy=problem.remedy)


class _NotMappedError(Exception):
    """A write that no requests can do with the keys of a design, or that does not say what it means."""

    def __init__(self, problem: str, remedy: str) -> None:
        super().__init__(problem)
        self.problem = problem
        self.remedy = remedy


class _WriteMapper:
    """Collects the requests of a write, item by item."""

    def __init__(self, resolved_write: ResolvedWrite, design: Design) -> None:
        self._resolved_write = resolved_write
        self._workload = resolved_write.workload
        self._design = design
        self._groups: list[list[ItemAction]] = []
        """The actions of each step, first that on the item itself; and the checks."""
        self._finds: list[Request] = []
        self._reads: dict[int, Request] = {}
        """The reads of items before they are written, by the position of the group."""
        self._checks_first: list[ItemAction] = []
        self._assumptions: list[str] = []

    def operation(self) -> Operation:
        write, unclear = self._resolved_write.write, self._resolved_write.unsettled_conditions
        if unclear:
            text = write_checks(unclear, frozenset(self._resolved_write.inputs))
            remedy = "name the entity of the attribute: `Order.status = OPEN`"
            raise _NotMappedError(f"nothing says what the condition {text} is about", remedy)
        for step in self._resolved_write.read_lists:
            self._find_list(step)
        for action in self._resolved_write.actions:
            self._add_action(action)
        for checked_item in self._resolved_write.checked:
            self._add_check(checked_item)
        if not write.actions:
            raise _NotMappedError("it does not say what it writes", "name the items under Items Written")
        requests = _requests(self._resolved_write, self._groups, self._checks_first, self._reads)
        requires = tuple(_condition(test) for test in self._resolved_write.input_conditions)
        return Operation(write.id, (*self._finds, *requests), assumes=tuple(self._assumptions), requires=requires)

    def _find_list(self, step: Step) -> None:
        """A list that is read, but not written: it leads to items that are."""
        plan = finding(planner_facets(self._design, self._workload), step.entity, step.search_attributes)
        if plan is None:
            description = f"{step.entity.name} by {_and(step.search_attributes)}"
            raise _NotMappedError(f"no key finds {description}", f"add a read of {description}")
        self._finds.append(_found_by(step, plan))

    def _add_action(self, action: Action) -> None:
        """An item that is written: how it is addressed, what is read before, and under which conditions."""
        step, item = self._resolved_write.step(action), self._design.item(action.entity)
        if step is None or item is None:
            raise _without_key(action.entity)
        if step.verb is Verb.EXPIRE:
            return
        actions = _with_ties(step, item, _actions(step, item, self._design))
        plan = self._find(step, item, step.known, step.search_attributes)
        names = step.known | (_visible_attributes(plan, step.entity) if plan is not None else frozenset())
        if step.is_given_whole and step.is_list:
            # The objects need not be as they are stored.
            names = item.facets[0].fields.union(step.sources)
        # An upsert that may create an item creates its copies, too: it has to know which it is.
        is_copied = step.verb is Verb.UPSERT and bool(copies_of(step.entity, self._design))
        is_read = is_copied or bool(unknown(step, self._design, names))
        if is_read:
            self._reads[len(self._groups)] = _read(item)
        actions[0] = with_preconditions(actions[0], step, self._design, is_read, plan)
        self._groups.append(actions)
        self._checks_first += _checked_first(step, actions, is_read)

    def _add_check(self, checked_item: CheckedItem) -> None:
        """An item that is only checked, in the transaction of the write."""
        item = self._design.item(checked_item.entity.name)
        if item is None:
            raise _without_key(checked_item.entity.name)
        # Absence is checked by the item's own key: a read before the write would not guarantee it.
        search_names = frozenset() if checked_item.must_be_absent else checked_item.known
        self._find(checked_item.step, item, checked_item.known, search_names)
        self._groups.append([_check(checked_item, item)])

    def _find(self, step: Step, item: Item, known_names: frozenset[str], search_names: frozenset[str]) -> Plan | None:
        """The plan that finds the items of a step; None if their key is known, or is assumed to be."""
        missing = item.facets[0].fields - known_names
        if not missing:
            return None
        facets = planner_facets(self._design, self._workload)
        plan = finding(facets, step.entity, sought(step, facets, search_names))
        if plan is not None:
            self._finds.append(_found_by(step, plan))
            return plan
        # The caller is assumed to know an id. Several items have to be given, or found.
        if step.is_list or not missing <= {part.name for part in step.entity.id}:
            raise _not_addressed(step.entity, missing, known_names)
        self._assumptions.append(f"the caller knows {_and(missing)} of the {step.entity.name}")
        return None


def _without_key(entity: str) -> _NotMappedError:
    return _NotMappedError(f"{entity} has no key in the design", f"give {entity} a key in the table")


def _check(checked_item: CheckedItem, item: Item) -> ItemAction:
    """The check of an item that is not written. It must exist, unless its conditions are true without it."""
    pk, sk = key_of(item.facets[0])
    ties = [equals_input(name, source) for name, source in checked_item.ties(item.facets[0].fields).items()]
    conditions: list[Test] = [*map(_condition, checked_item.conditions), *ties]
    visible = visible_tests(checked_item.entity)
    absences = (Absence(), *map(opposite, visible))  # an item that is hidden counts as absent
    if checked_item.must_be_absent:
        tests: tuple[Test, ...] = (AnyOf(absences),) if visible else (Absence(),)
    elif conditions and all(map(holds_if_absent, checked_item.conditions)):
        all_conditions = conditions[0] if len(conditions) == 1 else AllOf(tuple(conditions))
        tests = (AnyOf((*absences, all_conditions)),)
    else:
        tests = tuple(dict.fromkeys((Presence(), *conditions, *visible)))
    return ItemAction(Did.CHECK, item.item_name, pk, sk, conditions=tests)


def _with_ties(step: Step, item: Item, actions: list[ItemAction]) -> list[ItemAction]:
    """The actions on a list, with the condition that its items belong to the items that the write names.

    Those that the caller gives may be anybody's, and those that were found may have moved since.
    """
    if step.is_new:
        return actions
    if not step.is_list:
        return _with_assertions(step, item, actions)
    source, base = step.list_source, item.facets[0].fields
    lists = step.of.list_inputs
    ties: list[Test] = []
    if source.is_given and step.verb is Verb.DELETE and step.write.atomic is not False:
        ties.append(Presence())  # what is not there does not belong to the parent
    for name, origin in source.links.items():
        is_open = source.is_given or is_movable(step.entity, name, base)
        if name not in base and origin not in lists and is_open:
            ties.append(equals_input(name, origin))
    return [_with_conditions(actions[0], ties), *actions[1:]]


def _with_assertions(step: Step, item: Item, actions: list[ItemAction]) -> list[ItemAction]:
    """The delete of an item with what the caller knows of it, which must be so.

    What the key holds needs no comparison, but the item must exist. After lists, the other values are checked before.
    """
    if step.verb is not Verb.DELETE:
        return actions
    base = item.facets[0].fields
    known_values: list[Test] = []
    if step.of.is_resumable:
        known_values = [equals_input(name, source) for name, source in step.sources.items() if name not in base]
    if step.needs_item(base) and not known_values and all(map(holds_if_absent, actions[0].conditions)):
        known_values = [Presence()]
    return [_with_conditions(actions[0], known_values), *actions[1:]]


def _with_conditions(action: ItemAction, conditions: list[Test]) -> ItemAction:
    return replace(action, conditions=tuple(dict.fromkeys((*action.conditions, *conditions))))


def entity_actions(write: Write, workload: Workload, design: Design, entity: Entity) -> list[tuple[Step, Request]]:
    """The effect of each step of a write on the items of one entity, as a transaction, however they are addressed.

    The design needs the items and guards of that entity only.
    """
    item = design.item(entity.name)
    requests: list[tuple[Step, Request]] = []
    for step in resolve_write(workload, write).steps:
        if item is not None and step.entity is entity and step.verb is not Verb.EXPIRE:
            actions = tuple(_actions(step, item, design))
            requests.append((step, Request(Call.TRANSACT_WRITE, entities=(entity.name,), actions=actions)))
    return requests


def _not_addressed(entity: Entity, missing: frozenset[str], names: frozenset[str]) -> _NotMappedError:
    by = f"by {_and(names)}" if names else "at all"
    lacks = f"the key of {entity.name} is made of {_and(missing)}, which it does not give"
    other = f"find {entity.name} {by} by an index" if names else f"key {entity.name} by what it gives"
    return _NotMappedError(f"{lacks}, and no key finds it {by}", f"give {_and(missing)} as well, or {other}")


def _and(names: frozenset[str]) -> str:
    return ", ".join(sorted(names))


def _found_by(step: Step, plan: Plan) -> Request:
    """The Query that finds the items of a step.

    There is one for each id of a list that the caller gives, or for each item of another list that they belong to.
    """
    request = found_by(plan, step.workload)
    if not step.is_list:
        return request
    # A list in the table is read consistently: an index may lack items that were written a moment ago.
    if request.slot == TABLE:
        request = replace(request, consistent=True)
    return replace(request, each=step.repeated_for)


def found_by(plan: Plan, workload: Workload) -> Request:
    """The Query that finds the items to write, if their key is not given."""
    filters: list[InputGroup] = [(Input(name),) for name in sorted(plan.filtered)]
    if plan.operation == "Query":  # a GetItem has no filter
        filters += hidden_filters(workload, plan.lookup.entities)
    return Request(
        Call(plan.operation),
        plan.slot,
        plan.lookup.entities,
        plan.facets[0].pk.text,
        sort_condition(plan),
        plan.shards,
        plan.bucket.bucket if plan.bucket else "",
        filters=tuple(filters),
    )


def _visible_attributes(plan: Plan, entity: Entity) -> frozenset[str]:
    """The known attributes of an item that was found: those in the index."""
    facet = plan.facets[0]
    return frozenset(entity.types) if facet.holds is None else facet.holds | facet.readable


def _read(item: Item) -> Request:
    pk, sk = key_of(item.facets[0])
    return Request(Call.GET, entities=(item.entity,), pk=pk, sk=_equal_key(sk), consistent=True)


def _requests(
    resolved_write: ResolvedWrite,
    groups: list[list[ItemAction]],
    checks_first: list[ItemAction],
    reads: dict[int, Request],
) -> tuple[Request, ...]:
    """One request if the write is atomic; else one for each action, and batches for those without conditions.

    `reads` are the items that are read first, by the positions of their groups: just before they are written.
    A write that can be repeated checks the single items first, so that nothing is written if it is refused.
    """
    checks = [group[0] for group in groups if group[0].action is Did.CHECK]
    if resolved_write.is_resumable:
        return _separate_requests(groups, [*checks, *checks_first], checks_first, reads)
    if resolved_write.write.atomic is False and not checks:
        return _separate_requests(groups, [], [], reads)
    if not groups:
        return ()
    entities = tuple(action.entity for action in resolved_write.write.actions)
    return (*reads.values(), _request(entities, list(chain.from_iterable(groups))))


def transaction(actions: list[ItemAction]) -> Request:
    entities = tuple(str(action.item) for action in actions)
    return Request(Call.TRANSACT_WRITE, entities=entities, actions=tuple(actions))


def _separate_requests(
    groups: list[list[ItemAction]],
    checks: list[ItemAction],
    checks_first: list[ItemAction],
    reads: dict[int, Request],
) -> tuple[Request, ...]:
    """The requests of a write that is not atomic, after the checks in one transaction."""
    requests: list[Request] = []
    if checks:
        # An item that was read for its check is read again for its write.
        checked_items = {action.item for action in checks_first}
        requests += [read for position, read in reads.items() if groups[position][0].item in checked_items]
        requests.append(transaction(checks))
    for position, group in enumerate(groups):
        own = group[0]
        if own.action is Did.CHECK:
            continue
        if position in reads:
            requests.append(reads[position])
        if not _can_be_batched(group):
            requests.append(_request((own.item.entity,), group, is_for_each=True))
            continue
        # Consecutive batches become one.
        former_batch: tuple[ItemAction, ...] = ()
        if requests and requests[-1].call is Call.BATCH_WRITE:
            former_batch = requests.pop().actions
        batch = (*former_batch, own)
        names = tuple(str(action.item) for action in batch)
        requests.append(Request(Call.BATCH_WRITE, entities=names, actions=batch))
    return tuple(requests)


def _can_be_batched(group: list[ItemAction]) -> bool:
    """Whether the actions on an item can be a part of a BatchWriteItem, which has no conditions and no updates."""
    own = group[0]
    return len(group) == 1 and own.many and own.action is not Did.UPDATE and not own.conditions


def _checked_first(step: Step, actions: list[ItemAction], is_read: bool) -> list[ItemAction]:
    """The checks of a single item before lists are written: of all that may refuse to write it."""
    if step.is_list or (step.verb is Verb.DELETE and not actions[0].conditions):
        return []
    is_bounded = step.verb is Verb.UPSERT and has_bounded_sum(step)
    refusing = [action for action in actions if action.conditions or (is_bounded and action.item.is_own)]
    if refusing and is_read and actions[0] not in refusing:
        refusing.insert(0, actions[0])  # it must not have changed since it was read
    return [replace(action, action=Did.CHECK, changes=()) for action in refusing]


def _request(entities: tuple[str, ...], actions: list[ItemAction], is_for_each: bool = False) -> Request:
    """A single call for one item, a transaction for several. With `many`, one such request for each item."""
    first = actions[0]
    if len(actions) == 1 and first.action is not Did.CHECK and (is_for_each or not first.many):
        call = _single_call(first.action)
        return Request(call, entities=entities, pk=first.pk, sk=_equal_key(first.sk), actions=tuple(actions))
    return Request(Call.TRANSACT_WRITE, entities=entities, actions=tuple(actions))


def _actions(step: Step, item: Item, design: Design) -> list[ItemAction]:
    """The effect of a step: on the item itself, on its copies, and on the items of its constructs.

    `update User (email)` of a user with a unique email and a copy is an Update of the user, a Delete of the guard of
    the old email and a Put of that of the new one, and an Update of the copy.
    """
    entity = step.entity
    constructs = tuple(all_constructs(entity, design))
    diverted_names: frozenset[str] = frozenset().union(*(bound.diverted_names(step.action) for bound in constructs))
    knowledge = _Knowledge(step, tuple(change for change in step.changes if change.attribute not in diverted_names))
    actions: list[ItemAction] = []
    if knowledge.changed or not step.changes:
        actions.append(_own_action(knowledge, item, design))
    changes = {change.attribute: _change(change, step) for change in step.changes}
    for bound in constructs:
        if bound.precedes_copies:
            actions += bound.expand(step.action, changes, design)
    for copy in copies_of(entity, design):
        actions += _copy(copy, held(copy, design, entity), knowledge, design)
    for bound in constructs:
        if not bound.precedes_copies:
            actions += bound.expand(step.action, changes, design)
    return actions


def _own_action(knowledge: _Knowledge, item: Item, design: Design) -> ItemAction:
    """The effect of a step on the item itself."""
    step = knowledge.step
    pk, sk = key_of(item.facets[0])
    object_conditions: tuple[Test, ...] = ()
    if step.verb is Verb.CREATE:
        object_conditions = tuple(_condition(test) for test in step.conditions if not is_of_whole_item(test))
    return ItemAction(
        _effect_of(step.verb),
        item.item_name,
        pk,
        sk,
        step.is_list,
        _item_changes(knowledge.changed, knowledge, item, design),
        _conditions(step),
        object_conditions,
    )


def _item_changes(
    changes: Iterable[Change], knowledge: _Knowledge, item: Item, design: Design
) -> tuple[ItemChange, ...]:
    """The changes of an item or a copy, and of its index keys."""
    return (*(_change(change, knowledge.step) for change in changes), *_index_keys(knowledge, item, design))


class _Knowledge:
    """The values of an item before and after a write, as far as known, to decide whether it enters a sparse index."""

    def __init__(self, step: Step, changes: tuple[Change, ...]) -> None:
        self.step = step
        self.changed = changes
        self.names = {change.attribute for change in changes}
        self._before = {name: value.const for name, value in step.fixed.items()}
        self._after = {c.attribute: c.value.const for c in changes if c.value and c.op is ChangeOp.SET}
        self._removed_names = {change.attribute for change in changes if change.op is ChangeOp.REMOVE}
        self.optional = {change.attribute for change in changes if is_optional(step.write, change)}

    def was_in(self, facet: Facet) -> bool:
        """Whether an item may have been in a facet before the write."""
        for when in facet.when:
            value = self._before.get(when.attribute)
            if when.values and value is not None and value not in when.values:
                return False
        return True

    def is_surely_in(self, facet: Facet) -> bool:
        """Whether an item is in a facet after the write, whatever the caller gives and the item was."""
        if not all(map(self._is_surely_true, facet.when)):
            return False
        entity = self.step.entity
        optional_names = {attribute.name for attribute in entity.attributes if attribute.optional}
        set_names = self._after.keys() - self.optional
        return not may_lack(facet, entity) or optional_names & placing(facet) <= set_names

    def _is_surely_true(self, when: When) -> bool:
        """Whether a condition of a sparse facet is true after the write."""
        name = when.attribute
        if when.absent:
            return name in self._removed_names
        if name not in self.names:
            return bool(when.values) and self._before.get(name) in when.values
        is_set = name in self._after and name not in self.optional
        return is_set and (not when.values or self._after[name] in when.values)

    def will_be_in(self, facet: Facet) -> bool:
        """Whether an item may be in a facet after the write."""
        if not self._removed_names.isdisjoint(required_by(facet)):
            return False
        return not any(map(self._is_surely_false, facet.when))

    def _is_surely_false(self, when: When) -> bool:
        """Whether a condition of a sparse facet is false after the write."""
        name = when.attribute
        is_removed = name in self._removed_names
        if when.absent:
            return name in self.names and name not in self.optional and not is_removed
        value = self._after.get(name)
        return is_removed or (value is not None and bool(when.values) and value not in when.values)


def _copy(copy: Item, held_names: frozenset[str], knowledge: _Knowledge, design: Design) -> list[ItemAction]:
    """The actions on a copy: put and deleted with its item, updated, or moved if its key changes."""
    step, facet = knowledge.step, copy.facets[0]
    put = ItemAction(Did.PUT, copy.item_name, *key_of(facet), step.action.many)
    deletes = [replace(put, action=Did.DELETE)] if knowledge.was_in(facet) else []
    if step.verb in NEW:
        if creates_outside(facet, step):
            return []
        deciding_names = {when.attribute for when in facet.when}
        deciding_changes = [change for change in knowledge.changed if change.attribute in deciding_names]
        return [replace(put, changes=tuple(_change(change, step) for change in deciding_changes))]
    if step.verb is Verb.DELETE:
        return deletes
    if knowledge.names & placing(facet):
        return [*deletes, put] if knowledge.will_be_in(facet) else deletes
    changes = [change for change in knowledge.changed if change.attribute in held_names]
    if not changes:
        return []
    return [replace(put, action=Did.UPDATE, changes=_item_changes(changes, knowledge, copy, design))]


def _conditions(step: Step) -> tuple[Test, ...]:
    """The conditions that DynamoDB checks for the item of an action.

    Those on a new item are compared with its object before anything is sent. An upsert creates an absent item, whatever
    its comparisons say.
    """
    own = [_condition(test) for test in step.conditions]
    visible = visible_tests(step.entity)
    match step.verb:
        case Verb.CREATE:
            return (Absence(),)
        case Verb.UPDATE:
            return tuple(dict.fromkeys((Presence(), *own, *visible)))
        case Verb.UPSERT if own and Presence() not in own and Absence() not in own:
            stored_test = own[0] if len(own) == 1 else AllOf(tuple(own))
            return tuple(dict.fromkeys((AnyOf((Absence(), stored_test)), *visible)))
        case Verb.UPSERT:
            return tuple(dict.fromkeys((*own, *visible)))
        case Verb.DELETE if own:
            return tuple(dict.fromkeys((*own, *visible)))
        case Verb.PUT | Verb.DELETE | Verb.EXPIRE:
            return tuple(dict.fromkeys(own))
        case _:
            assert_never(step.verb)


def _condition(test: Test) -> Test:
    """A condition of a write as one of the item that it is about: the item is known, and is not named."""
    return with_leaves(test, lambda leaf: replace(leaf, entity="", implied=False, by=""))


def _change(change: Change, step: Step) -> ItemChange:
    attribute = step.entity.attribute(change.attribute)
    # What is appended to an absent list is the list.
    is_appended = change.op is ChangeOp.APPEND
    may_be_left = change.op is not ChangeOp.REMOVE and is_optional(step.write, change)
    may_be_absent = step.verb is Verb.UPSERT or is_appended or attribute is None or attribute.optional
    return ItemChange(
        change.attribute,
        change.op,
        change.value or _usual_value(change),
        is_optional=may_be_left,
        is_removable=may_be_left and change.op is ChangeOp.SET and attribute is not None and attribute.optional,
        is_set=attribute is not None and attribute.type.kind is Kind.SET,
        is_from_zero=may_be_absent,
    )


def _usual_value(change: Change) -> Value | None:
    """The value of a change that the document does not name."""
    match change.op:
        case ChangeOp.REMOVE:
            return None
        case ChangeOp.SET | ChangeOp.APPEND:
            return Value(param=change.attribute)
        case ChangeOp.ADD | ChangeOp.SUBTRACT:
            return Value(const="1")
        case _:
            assert_never(change.op)


def _index_keys(knowledge: _Knowledge, item: Item, design: Design) -> list[ItemChange]:
    """The index keys that a change rewrites, or removes if the item leaves a sparse index."""
    key_changes = []
    own = design.item(item.entity)
    # An upsert sets the parts of the key that finds the item, which are the same after it.
    changed_names = knowledge.names - (own.facets[0].fields if own is not None else set())
    for facet in item.facets[1:]:
        slot = design.slot(facet.slot)
        # An item has all keys of a sparse index, or none.
        is_sparse = bool(facet.when) or may_lack(facet, knowledge.step.entity)
        sparse_names = placing(facet) if is_sparse else set()
        for attribute, text in zip(slot.key_names if slot else (), facet.templates, strict=False):
            deciding = changed_names & ({*fields_of(text)} | sparse_names)
            if not deciding or text == f"{{{attribute}}}":
                continue
            if not knowledge.will_be_in(facet):
                key_changes.append(ItemChange(attribute, ChangeOp.REMOVE))
                continue
            is_removable = is_sparse and not knowledge.is_surely_in(facet)
            is_left = deciding <= knowledge.optional
            key_changes.append(ItemChange(attribute, template=text, is_optional=is_left, is_removable=is_removable))
    return key_changes


def _equal_key(sk: str) -> SortCondition | None:
    return SortCondition("=", sk) if sk else None
