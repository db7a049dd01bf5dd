"""Maps writes to requests: every item that a pattern touches, with copies, guards, index keys and conditions.

If the caller does not give enough, the operation reads first: the item itself, if its index keys, copies or guards need
more attributes; or a Query that finds the items, if their key is not known.
"""

from __future__ import annotations

from typing import assert_never

from msgspec.structs import replace

from prejoin.design.mapping.addressing import attributes_of, finding, held, placing, sought, unknown
from prejoin.design.mapping.facets import counter_templates, ending, history_key, planner_facets
from prejoin.design.mapping.map_reads import sort_condition
from prejoin.design.model import (
    TABLE,
    Call,
    Design,
    Did,
    Facet,
    Guard,
    Item,
    ItemAction,
    ItemName,
    Operation,
    Request,
    Slot,
)
from prejoin.keys import Plan, fields_of
from prejoin.keys.guard import guard_key
from prejoin.types import Kind
from prejoin.workload.bounds import has_bounded_sum
from prejoin.workload.conditions import is_of_whole_item
from prejoin.workload.grammar.values import write_comparison, write_value
from prejoin.workload.grammar.writes import write_checks
from prejoin.workload.lookup import changes
from prejoin.workload.model import (
    Absence,
    Action,
    AllOf,
    AnyOf,
    Change,
    ChangeOp,
    Comparison,
    Entity,
    Negation,
    Presence,
    Test,
    Verb,
    Workload,
    Write,
)
from prejoin.workload.optional_inputs import is_optional, source_of
from prejoin.workload.targets import (
    NEW,
    actions_of,
    checked_items,
    checks_of,
    input_checks,
    is_movable,
    is_resumable,
    is_tied_by_key,
    known,
    known_of_checked,
    links,
    list_source,
    read_lists,
    said_equal,
    search_attributes,
    ties_of_checked,
    unsettled_checks,
)


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
    groups: list[list[ItemAction]] = []
    first: list[ItemAction] = []
    before: list[Request] = []
    assumes: list[str] = []
    if unsettled := unsettled_checks(write):
        text = write_checks(unsettled, frozenset(i.attribute for i in write.inputs))
        remedy = "name the entity of the attribute: `Order.status = OPEN`"
        return Operation(write.id, problem=f"nothing says what the condition {text} is about", remedy=remedy)
    for between in read_lists(workload, write):
        entity = workload.entity(between.entity)
        facets = planner_facets(design, workload)
        searched = search_attributes(workload, write, between)
        found = finding(facets, entity, searched) if entity else None
        if entity is None or found is None:
            problem = f"no key finds {between.entity} by {_and(searched)}"
            return Operation(write.id, problem=problem, remedy=f"add a read of {between.entity} by {_and(searched)}")
        before.append(_found_by(workload, write, between, entity, found))
    for action in actions_of(workload, write):
        entity = workload.entity(action.entity)
        item = design.item(action.entity)
        if entity is None or item is None:
            problem = f"{action.entity} has no key in the design"
            return Operation(write.id, problem=problem, remedy=f"give {action.entity} a key in the table")
        if action.verb is Verb.EXPIRE:
            continue
        groups.append(_tied(workload, write, action, entity, design, _actions(write, action, entity, item, design)))
        names = known(workload, write, action)
        if missing := attributes_of(item.facets[0]) - names:
            facets = planner_facets(design, workload)
            searched = search_attributes(workload, write, action)
            found = finding(facets, entity, sought(write, action, facets, entity, searched))
            ids = {a.name for a in entity.id}
            if found is not None:
                before.append(_found_by(workload, write, action, entity, found))
                names |= _seen(found, entity)
            elif missing <= ids and not action.many:
                # The caller is assumed to know an id. Several items have to be given, or found.
                assumes.append(_assumed(missing, entity))
            else:
                return _not_addressed(write, entity, missing, names)
        # An upsert that may create an item creates its copies, too: it has to know which it is.
        copied = action.verb is Verb.UPSERT and any(i.entity == entity.name for i in design.copies)
        is_read = copied or bool(unknown(write, action, entity, design, names))
        if is_read:
            before.append(_read(item))
        first += _checked_first(write, action, entity, groups[-1], is_read)
    for checked in checked_items(workload, write):
        entity = checked.entity
        item = design.item(entity.name)
        if item is None:
            continue
        names = known_of_checked(workload, write, checked)
        if missing := attributes_of(item.facets[0]) - names:
            # Absence is checked by the item's own key: a read before the write would not guarantee it.
            found = None
            if not checked.must_be_absent:
                facets = planner_facets(design, workload)
                found = finding(facets, entity, sought(write, checked.action, facets, entity, names))
            if found is not None:
                before.append(found_by(found))
            elif missing <= {a.name for a in entity.id}:
                assumes.append(_assumed(missing, entity))
            else:
                return _not_addressed(write, entity, missing, names)
        pk, sk = _key(item.facets[0])
        ties = ties_of_checked(workload, write, checked, attributes_of(item.facets[0]))
        compared = [_condition(check, write, design) for check in checked.checks]
        compared += [f"{name} = {{{source}}}" for name, source in ties.items()]
        conditions = tuple(dict.fromkeys(compared))
        groups.append([ItemAction(Did.CHECK, item.entity, pk, sk, conditions=conditions)])
    if not write.actions:
        return Operation(
            write.id, problem="it does not say what it writes", remedy="name the items under Items Written"
        )
    requires = tuple(_condition(check, write, design) for check in input_checks(write))
    return Operation(write.id, (*before, *_requests(write, groups, first)), assumes=tuple(assumes), requires=requires)


def _tied(
    workload: Workload, write: Write, action: Action, entity: Entity, design: Design, actions: list[ItemAction]
) -> list[ItemAction]:
    """The actions on a list, with the condition that its items belong to the items that the write names.

    Those that the caller gives may be anybody's, and those that were found may have moved since.
    """
    if action.verb in NEW:
        return actions
    if not action.many:
        return _asserted(workload, write, action, entity, design, actions)
    source = list_source(workload, write, action, entity)
    item, key = design.item(entity.name), design.partition_key
    base = attributes_of(item.facets[0]) if item else set()
    lists = {one.attribute for one in write.inputs if one.many}
    ties = [
        f"{name} = {{{origin}}}"
        for name, origin in source.links.items()
        if name not in base and origin not in lists and (source.is_given or is_movable(entity, name, base))
    ]
    own = actions[0]
    if source.is_given and action.verb is Verb.DELETE and write.atomic is not False:
        ties.insert(0, f"attribute_exists({key})")  # what is not there does not belong to the parent
    return [replace(own, conditions=tuple(dict.fromkeys((*own.conditions, *ties)))), *actions[1:]]


def _asserted(
    workload: Workload, write: Write, action: Action, entity: Entity, design: Design, actions: list[ItemAction]
) -> list[ItemAction]:
    """The delete of an item with what the caller knows of it, which must be so.

    What the key holds needs no comparison, but the item must exist. After lists, the other values are checked before.
    """
    if action.verb is not Verb.DELETE:
        return actions
    item = design.item(entity.name)
    base = attributes_of(item.facets[0]) if item else set()
    own = actions[0]
    known_values: list[str] = []
    if is_resumable(write):
        linked = links(workload, write, action, entity)
        known_values = [f"{name} = {{{source}}}" for name, source in linked.items() if name not in base]
    if is_tied_by_key(workload, write, action, entity, base) and not own.conditions and not known_values:
        known_values = [f"attribute_exists({design.partition_key})"]
    return [replace(own, conditions=tuple(dict.fromkeys((*own.conditions, *known_values)))), *actions[1:]]


def entity_actions(write: Write, workload: Workload, design: Design, entity: Entity) -> list[tuple[Action, Request]]:
    """The effect of each action of a write on the items of one entity, as a transaction, however they are addressed.

    The design needs the items and guards of that entity only.
    """
    item = design.item(entity.name)
    found: list[tuple[Action, Request]] = []
    for action in actions_of(workload, write):
        whose = workload.entity(action.entity)
        if whose is None or action.verb is Verb.EXPIRE:
            continue
        if item is not None and whose is entity:
            actions = tuple(_actions(write, action, entity, item, design))
            found.append((action, Request(Call.TRANSACT_WRITE, entities=(entity.name,), actions=actions)))
    return found


def _assumed(missing: set[str], entity: Entity) -> str:
    return f"the caller knows {_and(missing)} of the {entity.name}"


def _not_addressed(write: Write, entity: Entity, missing: set[str], names: frozenset[str]) -> Operation:
    by = f"by {_and(names)}" if names else "at all"
    lacks = f"the key of {entity.name} is made of {_and(missing)}, which it does not give"
    other = f"find {entity.name} {by} by an index" if names else f"key {entity.name} by what it gives"
    return Operation(
        write.id, problem=f"{lacks}, and no key finds it {by}", remedy=f"give {_and(missing)} as well, or {other}"
    )


def _and(names: set[str] | frozenset[str]) -> str:
    return ", ".join(sorted(names))


def _found_by(workload: Workload, write: Write, action: Action, entity: Entity, found: Plan) -> Request:
    """The Query that finds the items of an action; one for each item of another list, if they belong to its items."""
    request = found_by(found)
    # A list in the table is read consistently: an index may lack items that were written a moment ago.
    if action.many and request.slot == TABLE:
        request = replace(request, consistent=True)
    source = list_source(workload, write, action, entity) if action.many else None
    if source is None or not source.over:
        return request
    return replace(request, each=f"{source.over}.{next(iter(source.over_links.values()))}")


def found_by(found: Plan) -> Request:
    """The Query that finds the items to write, if their key is not given."""
    return Request(
        Call(found.operation),
        found.slot,
        found.lookup.entities,
        found.facets[0].pk.text,
        sort_condition(found),
        found.shards,
        found.bucket.bucket if found.bucket else "",
        filters=tuple(f"{name} = {{{name}}}" for name in sorted(found.filtered)),
    )


def _seen(found: Plan, entity: Entity) -> frozenset[str]:
    """The known attributes of an item that was found: those in the index."""
    facet = found.facets[0]
    return frozenset(a.name for a in entity.attributes) if facet.holds is None else facet.holds | facet.readable


def _read(item: Item) -> Request:
    pk, sk = _key(item.facets[0])
    return Request(Call.GET, entities=(item.entity,), pk=pk, sk=_eq(sk), consistent=True)


def _requests(write: Write, groups: list[list[ItemAction]], first: list[ItemAction]) -> tuple[Request, ...]:
    """One request if the write is atomic; else one for each action, and batches for those without conditions.

    A write that can be repeated checks the single items first, so that nothing is written if it is refused.
    """
    entities = tuple(a.entity for a in write.actions)
    checks = [group[0] for group in groups if group[0].action is Did.CHECK]
    if is_resumable(write):
        groups = [group for group in groups if group[0].action is not Did.CHECK]
        checks += first
    elif write.atomic is not False or checks:
        return (_request(entities, [a for group in groups for a in group]),) if groups else ()
    requests: list[Request] = []
    if checks:
        requests.append(_request(tuple(action.item for action in checks), checks))
    for group in groups:
        own = group[0]
        if len(group) == 1 and own.many and own.action is not Did.UPDATE and not own.conditions:
            before = requests[-1] if requests and requests[-1].call is Call.BATCH_WRITE else None
            batch = (*(before.actions if before else ()), own)
            requests = requests[:-1] if before else requests
            requests.append(Request(Call.BATCH_WRITE, entities=tuple(a.item for a in batch), actions=batch))
        else:
            requests.append(_request((own.target.entity,), group, many=True))
    return tuple(requests)


def _checked_first(
    write: Write, action: Action, entity: Entity, actions: list[ItemAction], is_read: bool
) -> list[ItemAction]:
    """The checks of a single item before lists are written: of all that may refuse to write it."""
    if action.many or (action.verb is Verb.DELETE and not actions[0].conditions):
        return []
    is_bounded = action.verb is Verb.UPSERT and has_bounded_sum(write, action, entity)
    refusing = [one for one in actions if one.conditions or (is_bounded and one.item == entity.name)]
    if refusing and is_read and actions[0] not in refusing:
        refusing.insert(0, actions[0])  # it must not have changed since it was read
    return [replace(one, action=Did.CHECK, changes=()) for one in refusing]


def _request(entities: tuple[str, ...], actions: list[ItemAction], many: bool = False) -> Request:
    """A single call for one item, a transaction for several. With `many`, one such request for each item."""
    first = actions[0]
    if len(actions) == 1 and first.action is not Did.CHECK and (many or not first.many):
        call = _single_call(first.action)
        return Request(call, entities=entities, pk=first.pk, sk=_eq(first.sk), actions=tuple(actions))
    return Request(Call.TRANSACT_WRITE, entities=entities, actions=tuple(actions))


def _actions(write: Write, action: Action, entity: Entity, item: Item, design: Design) -> list[ItemAction]:
    did = _effect_of(action.verb)
    changed = changes(write, action, entity)
    counter = design.counter(entity.name)
    spread = tuple(c for c in changed if counter and action.updates and c.attribute in counter.attributes)
    changed = tuple(c for c in changed if c not in spread)
    pk, sk = _key(item.facets[0])
    conditions = _conditions(write, action, design)
    knowledge = _Knowledge(write, action, entity, changed)
    written = tuple(_change(c, write, entity) for c in changed) + tuple(_index_keys(knowledge, item, design))
    compared: tuple[str, ...] = ()
    if action.verb is Verb.CREATE:
        own = [check for check in checks_of(write, action) if not is_of_whole_item(check)]
        compared = tuple(_condition(check, write, design) for check in own)
    found = [ItemAction(did, entity.name, pk, sk, action.many, written, conditions, compared)]
    if counter and (spread or action.verb is Verb.DELETE):
        partition, sort = counter_templates(design, entity)
        adds = tuple(_change(c, write, entity) for c in spread)
        shard = ItemAction(did, counter.name, partition.text, sort.text, action.many, adds)
        found = [*found, shard] if changed or not spread else [shard]
    for copy in (i for i in design.items if i.entity == entity.name and i.copy):
        found += _copy(copy, held(copy, design, entity), action, knowledge, design)
    for guard in (g for g in design.guards if g.entity == entity.name):
        found += _guard(guard, action, changed, entity, design)
    if entity.history and action.verb in (Verb.UPDATE, Verb.DELETE):
        found += _version(action, entity, design)
    return found


class _Knowledge:
    """The values of an item before and after a write, as far as known, to decide whether it enters a sparse index."""

    def __init__(self, write: Write, action: Action, entity: Entity, changed: tuple[Change, ...]) -> None:
        self.write = write
        self.entity = entity
        self.changed = changed
        self.names = {c.attribute for c in changed}
        self._before = {name: value.const for name, value in said_equal(write, action, entity).items()}
        self._after = {c.attribute: c.value.const for c in changed if c.value and c.op is ChangeOp.SET}
        self._gone = {c.attribute for c in changed if c.op is ChangeOp.REMOVE}
        self._optional = {c.attribute for c in changed if is_optional(write, c)}

    def was_in(self, facet: Facet) -> bool:
        """Whether an item may have been in a facet before the write."""
        return not any(
            w.values and self._before.get(w.attribute, w.values[0]) not in (*w.values, None) for w in facet.when
        )

    def will_be_in(self, facet: Facet) -> bool:
        """Whether an item may be in a facet after the write."""
        for when in facet.when:
            value = self._after.get(when.attribute)
            gone = when.attribute in self._gone
            if when.absent:
                if when.attribute in self.names and when.attribute not in self._optional and not gone:
                    return False
            elif gone or (value is not None and when.values and value not in when.values):
                return False
        return True


def _copy(copy: Item, holds: frozenset[str], action: Action, knowledge: _Knowledge, design: Design) -> list[ItemAction]:
    """The actions on a copy: put and deleted with its item, updated, or moved if its key changes."""
    facet = copy.facets[0]
    pk, sk = _key(facet)
    name = copy.name
    if action.verb in NEW:
        return [ItemAction(Did.PUT, name, pk, sk, action.many)]
    if action.verb is Verb.DELETE:
        return [ItemAction(Did.DELETE, name, pk, sk, action.many)] if knowledge.was_in(facet) else []
    if knowledge.names & placing(facet):
        left = [ItemAction(Did.DELETE, name, pk, sk, action.many)] if knowledge.was_in(facet) else []
        return left + ([ItemAction(Did.PUT, name, pk, sk, action.many)] if knowledge.will_be_in(facet) else [])
    written = tuple(_change(c, knowledge.write, knowledge.entity) for c in knowledge.changed if c.attribute in holds)
    if not written:
        return []
    written += tuple(_index_keys(knowledge, copy, design))
    return [ItemAction(Did.UPDATE, name, pk, sk, action.many, written)]


def _guard(
    guard: Guard, action: Action, changed: tuple[Change, ...], entity: Entity, design: Design
) -> list[ItemAction]:
    """The actions on a guard: put with a new item, deleted with it, exchanged if the value changes."""
    own = design.item(entity.name)
    tag = own.tag if own else entity.name
    templates = guard_key(tag, guard.attributes, entity.types, design.separator, bool(design.slots[0].sk))
    pk, sk = (template.text if template else "" for template in templates)
    name = design.partition_key
    item = guard.name
    put = ItemAction(Did.PUT, item, pk, sk, action.many, conditions=(f"attribute_not_exists({name})",))
    if action.verb in NEW:
        return [put]
    if action.verb is Verb.DELETE:
        return [ItemAction(Did.DELETE, item, pk, sk, action.many)]
    if {c.attribute for c in changed} & set(guard.attributes):
        return [ItemAction(Did.DELETE, item, pk, sk, action.many), put]
    if ending(design, entity) in {c.attribute for c in changed}:
        return [replace(put, conditions=())]  # it expires with its item, whose it is already
    return []


def _version(action: Action, entity: Entity, design: Design) -> list[ItemAction]:
    """The actions on earlier versions: the replaced one is put, and one that is too many is deleted."""
    pk, sk = history_key(design, entity)
    item = str(ItemName(entity.name, history=True))
    kept = ItemAction(Did.PUT, item, pk, sk, action.many, conditions=(f"attribute_not_exists({design.partition_key})",))
    limited = entity.history and entity.history.versions is not None
    return [kept, ItemAction(Did.DELETE, item, pk, sk, action.many)] if limited else [kept]


def _conditions(write: Write, action: Action, design: Design) -> tuple[str, ...]:
    """The conditions that DynamoDB checks for the item of an action.

    Those on a new item are compared with its object before anything is sent. An upsert creates an absent item, whatever
    its comparisons say.
    """
    key = design.partition_key
    own = [_condition(check, write, design) for check in checks_of(write, action)]
    match action.verb:
        case Verb.CREATE:
            return (f"attribute_not_exists({key})",)
        case Verb.UPDATE:
            return tuple(dict.fromkeys((f"attribute_exists({key})", *own)))
        case Verb.UPSERT if own and not any(f"exists({key})" in text for text in own):
            return tuple(dict.fromkeys(f"attribute_not_exists({key}) or {text}" for text in own))
        case Verb.PUT | Verb.UPSERT | Verb.DELETE | Verb.EXPIRE:
            return tuple(dict.fromkeys(own))
        case _:
            assert_never(action.verb)


def _condition(test: Test, write: Write, design: Design) -> str:
    """A condition as text. One that has parts is in parentheses, and is read as a whole."""
    inputs = frozenset(i.attribute for i in write.inputs)
    match test:
        case Presence():
            return f"attribute_exists({test.attribute or design.partition_key})"
        case Absence():
            return f"attribute_not_exists({test.attribute or design.partition_key})"
        case Comparison():
            return f"{test.attribute} {write_comparison(test.op, test.values, inputs, test.entity)}"
        case AnyOf():
            return f"({' or '.join(_condition(part, write, design) for part in test.parts)})"
        case AllOf():
            return f"({' and '.join(_condition(part, write, design) for part in test.parts)})"
        case Negation():
            text = _condition(test.part, write, design)
            return f"not {text}" if text.startswith("(") else f"not ({text})"
        case _:
            assert_never(test)


def _change(change: Change, write: Write, entity: Entity) -> str:
    inputs = frozenset(i.attribute for i in write.inputs)
    value = write_value(change.value, inputs) if change.value else f"{{{change.attribute}}}"
    if change.op is not ChangeOp.REMOVE and is_optional(write, change):
        return f"SET {change.attribute} = {{{source_of(change)}?}}"
    match change.op:
        case ChangeOp.REMOVE:
            return f"REMOVE {change.attribute}"
        case ChangeOp.SET:
            return f"SET {change.attribute} = {value}"
        case ChangeOp.APPEND:
            attribute = entity.attribute(change.attribute)
            if attribute and attribute.type.kind is Kind.SET:
                return f"ADD {change.attribute} {value}"
            # A missing list counts as empty.
            return f"SET {change.attribute} = list_append(if_not_exists({change.attribute}, []), {value})"
        case ChangeOp.ADD:
            return f"ADD {change.attribute} {value}"
        case ChangeOp.SUBTRACT:
            return f"ADD {change.attribute} -{value}"
        case _:
            assert_never(change.op)


def _index_keys(knowledge: _Knowledge, item: Item, design: Design) -> list[str]:
    """The index keys that a change rewrites, or removes if the item leaves a sparse index."""
    found = []
    for facet in item.facets[1:]:
        slot = design.slot(facet.slot)
        sparse = {w.attribute for w in facet.when}
        for attribute, text in _parts(slot, facet) if slot else ():
            if knowledge.names & (set(fields_of(text)) | sparse) and text != f"{{{attribute}}}":
                leaves = not knowledge.will_be_in(facet)
                found.append(f"REMOVE {attribute}" if leaves else f"SET {attribute} = {text}")
    return found


def _parts(slot: Slot, facet: Facet) -> list[tuple[str, str]]:
    attributes = [k.name for k in (*slot.pk, *slot.sk)]
    return list(zip(attributes, (*facet.pk, *facet.sk), strict=False))


def _key(facet: Facet) -> tuple[str, str]:
    return facet.pk[0], facet.sk[0] if facet.sk else ""


def _eq(sk: str) -> str:
    return f"= {sk}" if sk else ""
