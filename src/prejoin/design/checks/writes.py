"""Checks writes: each knows the keys of its items, and keeps index keys, copies and guards current."""

from __future__ import annotations

import math
from collections import Counter

from prejoin.design import codes
from prejoin.design.checks.bound_keys import BoundKey
from prejoin.design.checks.key_answers import answer
from prejoin.design.checks.report import Report
from prejoin.design.cost.assumptions import size_of
from prejoin.design.mapping.addressing import leaves, sought
from prejoin.design.mapping.facets import ending
from prejoin.design.model import TABLE, Call, Did, ItemAction, Operation, UpdateClause
from prejoin.keys import Lookup, Template, fields_of
from prejoin.protocol import limits
from prejoin.types import Kind
from prejoin.workload.checks.reporter import name_list
from prejoin.workload.grammar.values import write_value
from prejoin.workload.lookup import changes, identified
from prejoin.workload.model import Action, Attribute, Change, ChangeOp, Entity, Op, Value, Verb, Write
from prejoin.workload.optional_inputs import is_optional
from prejoin.workload.targets import NEW, checked_items, known, known_of_checked, search_attributes


def check_writes(r: Report) -> None:
    for write in r.writes:
        operation = r.design.operation(write.id)
        for action in write.actions:
            entity = r.workload.entity(action.entity)
            base = r.base(action.entity)
            if entity is None or base is None:
                continue
            _addressed(r, write, action, base)
            if action.updates:
                _index_keys(r, write, action, entity)
            if operation and operation.requests:
                _as_written(r, write, action, entity, operation)
        _looked_at(r, write)
        _repeated(r, write)
        _twice(r, write, operation)
        _size(r, write)
        if operation and operation.requests:
            _atomic(r, write, operation)
            _counters(r, write, operation)


def finds(r: Report, write: Write, action: Action, base: BoundKey) -> Lookup | None:
    """The question that finds an item before it is written, if its key is not known."""
    entity = base.entity
    is_known = set(base.form.attributes) <= known(r.workload, write, action)
    if action.verb in NEW or action.verb is Verb.EXPIRE or is_known:
        return None
    forms = [key.form for key in r.keys]
    names = sought(write, action, forms, entity, search_attributes(r.workload, write, action))
    keyed = {name for form in forms if form.entity == entity.name for name in form.attributes}
    return Lookup.of(entity.name, equal=sorted(names & keyed), needs=sorted(base.form.attributes))


def _addressed(r: Report, write: Write, action: Action, base: BoundKey) -> None:
    ask = finds(r, write, action, base)
    if ask is None:
        return
    lacking = sorted(set(base.form.attributes) - known(r.workload, write, action))
    answered = answer(r.keys, ask) if ask.equal else None
    found = answered.plan if answered else None
    if action.many and found:
        _check_consistent(r, write, base.entity, found.slot)
        return  # a list is read, then its items are written one by one
    # The caller is assumed to know the id of a single item.
    is_reached = found is not None or (not action.many and set(lacking) <= {a.name for a in base.entity.id})
    first = f"it has to be found first, in {found.slot}" if found else "no key finds it first"
    r.say(
        codes.KEY_NOT_GIVEN if is_reached else codes.NOT_REACHED,
        f"{write.id} writes {base.entity.name} without {name_list(lacking)} of its key `{base.text}`; {first}",
        f"give {name_list(lacking)} too",
        write.id,
    )


def _check_consistent(r: Report, write: Write, entity: Entity, slot: str) -> None:
    """A list that is found in an index, and not by a consistent read of the table."""
    if slot == TABLE:
        return
    message = f"{write.id} finds `{entity.name}` in {slot}, which may lack items that were written a moment ago"
    fix = "call its method again a moment later; or let them live under the item that they belong to"
    r.say(codes.STALE_LIST, message, fix, write.id)


def _looked_at(r: Report, write: Write) -> None:
    """Conditions on an item that is not written, and that the write does not identify."""
    for item in checked_items(r.workload, write):
        entity = item.entity
        known_names = known_of_checked(r.workload, write, item)
        made_up = any(a.generated for a in entity.id if a.name in known_names)  # unique by itself
        if made_up or item.must_be_absent or identified(entity, known_names):
            continue
        names = sorted({a.name for a in entity.id} - known_names)
        lacking = name_list(names)
        which = "it does not say which one is meant, and fails if there are several"
        r.say(
            codes.KEY_NOT_GIVEN,
            f"{write.id} has a condition on {entity.name}, whose {lacking} it does not give: {which}",
            f"give {lacking} too, or add the condition `{entity.name}.{names[0]} = …` with the input that holds it",
            write.id,
        )


def _index_keys(r: Report, write: Write, action: Action, entity: Entity) -> None:
    known_names = known(r.workload, write, action)
    changing = changes(write, action, entity)
    changed = {change.attribute for change in changing}
    sure = [change for change in changing if not is_optional(write, change)]
    moved: list[str] = []
    lacking: dict[tuple[str, ...], list[str]] = {}
    for key in r.keys:
        if key.item.entity != entity.name or (key.slot == TABLE and not key.item.copy):
            continue
        touched = changed & set(key.form.placing)
        if not touched or (not key.item.copy and leaves(key.facet, sure)):
            continue
        if key.slot != TABLE and key.slot not in moved:
            moved.append(key.slot)
        for form in key.forms:
            rest = set(form.attributes) - known_names - changed
            if isinstance(form, Template) and changed & set(form.attributes) and rest:
                lacking.setdefault(tuple(sorted(rest)), []).append(f"{form.text}` in {key.slot}")
    for more, places in lacking.items():
        where = ", ".join(f"`{place}" for place in dict.fromkeys(places))
        r.say(
            codes.REST_NOT_GIVEN,
            f"{write.id} changes {entity.name}, and {where} also needs {name_list(more)}",
            f"give {name_list(more)} too; without it, the item is read first",
            write.id,
        )
    if moved:
        r.say(
            codes.MOVES,
            f"{write.id} moves {entity.name} in {name_list(moved)}: two index writes each",
            "keep it if the index is worth it",
            write.id,
        )


# --- The operation that is written down -------------------------------------------------------------------------------


def _as_written(r: Report, write: Write, action: Action, entity: Entity, operation: Operation) -> None:
    done = [one for request in operation.requests for one in request.actions]
    own = [one for one in done if one.item == entity.name]
    if not own:
        return
    changed = changes(write, action, entity)
    names = {change.attribute for change in changed}
    for one in own:
        if one.action is Did.UPDATE and action.updates and one.changes:
            _rewritten(r, write, entity, one, names)
        chosen = action.verb is Verb.CREATE and not any(a.generated for a in entity.id)
        guarded = any(test.op == Op.NOT_EXISTS for test in one.tests)
        if one.action is Did.PUT and chosen and not guarded:
            fix = f"add the condition `attribute_not_exists({r.design.partition_key})`"
            r.say(codes.OVERWRITES, f"{write.id} puts a {entity.name} over an existing one", fix, write.id)
    _copies(r, write, action, entity, changed, {one.item for one in done})


def _rewritten(r: Report, write: Write, entity: Entity, one: ItemAction, changed: set[str]) -> None:
    for key in r.keys:
        if key.item.entity != entity.name or key.item.copy or key.slot == TABLE:
            continue
        attributes = (*key.place.pk, *key.place.sk)
        sparse = changed & {w.attribute for w in key.facet.when}
        for attribute, text in zip(attributes, (*key.facet.pk, *key.facet.sk), strict=True):
            if text == f"{{{attribute.name}}}" or not (changed & set(fields_of(text)) or sparse):
                continue
            if attribute.name not in {clause.attribute for clause in one.clauses}:
                r.say(
                    codes.STALE_INDEX,
                    f"{write.id} changes {name_list(sorted(changed & set(key.form.placing)))} without "
                    f"updating `{attribute.name}` of {key.slot}",
                    f"add `SET {attribute.name} = {text}`",
                    write.id,
                )


def _copies(
    r: Report, write: Write, action: Action, entity: Entity, changed: tuple[Change, ...], done: set[str]
) -> None:
    names = {change.attribute for change in changed}
    for copy in r.design.copies:
        if copy.entity != entity.name or copy.name in done:
            continue
        held = set(copy.attributes) | {a for f in copy.facets for t in (*f.pk, *f.sk) for a in fields_of(t)}
        if not action.updates or not copy.attributes or names & held:
            r.say(
                codes.STALE_COPY,
                f"{write.id} writes {entity.name} without updating its copy `{copy.copy}`",
                f"add the {action.verb} of {copy.name} to the transaction",
                write.id,
            )
    for guard in r.design.guards:
        item = guard.name
        touches = action.verb in (Verb.CREATE, Verb.DELETE) or names & {*guard.attributes, ending(r.design, entity)}
        if guard.entity == entity.name and touches and item not in done:
            r.say(
                codes.STALE_COPY,
                f"{write.id} writes {entity.name} without the guard of {name_list(list(guard.attributes))}",
                "write the guard in the same transaction",
                write.id,
            )


def _twice(r: Report, write: Write, operation: Operation | None) -> None:
    said = {
        a.entity
        for at, a in enumerate(write.actions)
        if not a.many and any(_same(a, b) for b in write.actions[:at] if not b.many)
    }
    wanted = Counter(a.entity for a in write.actions)
    wanted.update(item.entity.name for item in checked_items(r.workload, write))
    changed = {
        c.attribute for a in write.actions if (entity := r.workload.entity(a.entity)) for c in changes(write, a, entity)
    }
    for request in operation.requests if operation else ():
        if request.call is not Call.TRANSACT_WRITE:
            continue
        # Earlier versions of an item have different keys, whose templates are the same.
        counted = Counter((a.item, a.pk, a.sk) for a in request.actions if not a.many and not a.target.history)
        for (item, pk, sk), times in counted.items():
            # A Delete and a Put under a changing key are two items: the old and the new one. For a sparse
            # copy only one of them is sent.
            moving = {*fields_of(pk), *fields_of(sk), *_sparse(r, item)}
            if times > max(1, wanted[item]) and not changed & moving:
                said.add(item)
    for item in sorted(said):
        r.say(
            codes.TWICE,
            f"{write.id} has two actions on the same {item} in one transaction",
            "make one action of them",
            write.id,
        )


def _sparse(r: Report, name: str) -> set[str]:
    """The attributes that decide whether a copy exists."""
    return {when.attribute for copy in r.design.copies if copy.name == name for when in copy.facets[0].when}


def _same(one: Action, other: Action) -> bool:
    """Whether two actions are on the same item, without a name that distinguishes them."""
    return one.entity == other.entity and one.by == other.by and one.verb is not Verb.CREATE


def _atomic(r: Report, write: Write, operation: Operation) -> None:
    calls = [request.call for request in operation.requests]
    batches = [request for request in operation.requests if request.call is Call.BATCH_WRITE]
    conditional = any(a.conditions for request in batches for a in request.actions)
    if batches and (write.atomic or conditional):
        what = "must be atomic" if write.atomic else "has conditions"
        r.say(codes.NOT_ATOMIC, f"{write.id} {what}, but is a BatchWriteItem", "use TransactWriteItems", write.id)
    elif write.atomic and len(write.actions) > 1 and len(calls) > 1 and Call.TRANSACT_WRITE not in calls:
        message = f"{write.id} must be atomic, but is {len(calls)} requests"
        r.say(codes.NOT_ATOMIC, message, "use TransactWriteItems", write.id)


def _counters(r: Report, write: Write, operation: Operation) -> None:
    for request in operation.requests:
        for one in request.actions:
            entity = r.workload.entity(one.target.entity)
            made = any(a.verb is Verb.CREATE for _, a in r.actions(entity.name)) if entity else False
            for clause in one.clauses:
                attribute = entity.attribute(clause.attribute) if entity else None
                if clause.needs_value and (attribute is None or attribute.optional or not made):
                    r.say(
                        codes.COUNTER,
                        f"{write.id}: `{clause}` fails on an item without `{clause.attribute}`",
                        _starting(clause, attribute),
                        write.id,
                    )


def _starting(clause: UpdateClause, attribute: Attribute | None) -> str:
    """How to write a change of an attribute that may be absent."""
    name = clause.attribute
    if attribute is not None and attribute.type.kind is Kind.SET:
        return f"use `ADD {name} {{{name}}}`, which starts from nothing"
    if clause.value.startswith("list_append"):
        return f"use `SET {name} = list_append(if_not_exists({name}, []), {{{name}}})`"
    return f"use `ADD {name} 1`, or `SET {name} = if_not_exists({name}, 0) + 1`"


# --- Repeated attributes, size ----------------------------------------------------------------------------------------


def _repeated(r: Report, write: Write) -> None:
    for action in write.actions:
        entity = r.workload.entity(action.entity)
        if entity is None or not action.updates:
            continue
        for change in changes(write, action, entity):
            for other in r.workload.entities:
                for attribute in other.attributes:
                    if attribute.copy_of != f"{entity.name}.{change.attribute}":
                        continue
                    # In this write, or in a separate one that goes through the copies.
                    together = any(a.entity == other.name and a.verb is not Verb.DELETE for a in write.actions)
                    if not together and not r.changers(other, attribute.name):
                        r.say(
                            codes.STALE_ATTRIBUTE,
                            f"{write.id} changes {entity.name}.{change.attribute}, and "
                            f"{other.name}.{attribute.name}, a copy of it, is not updated",
                            _copied(write, change, other, attribute.name),
                            write.id,
                        )


def _copied(write: Write, change: Change, other: Entity, name: str) -> str:
    """How a write keeps copies of changed attributes current."""
    snapshot = f"mark it `snapshot of` instead of `copy of`, if `{name}` is to stay as it was"
    if change.op is not ChangeOp.SET:
        return f"{snapshot}; or set it in a write of its own: `update {other.name}[] ({name})`"
    inputs = frozenset(i.attribute for i in write.inputs)
    value = write_value(change.value or Value(param=change.attribute), inputs)
    return f"add `update {other.name}[] ({name} = {value})` to what {write.id} writes; or {snapshot}"


def _versions(entity: Entity, action: Action) -> int:
    """The number of earlier versions that an action puts and deletes with an item."""
    if entity.history is None or action.verb not in (Verb.UPDATE, Verb.DELETE):
        return 0
    return 1 if entity.history.versions is None else 2


def _size(r: Report, write: Write) -> None:
    """Check the limits of a transaction: 100 actions and 4 MB."""
    total, size, unknown = 0, 0, ""
    alone = len(write.actions) == 1
    for action in write.actions:
        entity = r.workload.entity(action.entity)
        if entity is None:
            continue
        copies = sum(item.entity == entity.name for item in r.design.items)
        guards = sum(guard.entity == entity.name for guard in r.design.guards)
        each = max(1, copies) + (guards if not action.updates else 0) + _versions(entity, action)
        if not write.atomic and not (alone and each > 1):
            return
        if action.many:
            most = _most(entity)
            if most is None:
                unknown = unknown or entity.name
                most = 1
            if not write.atomic:
                most = 1  # many, each in its own transaction
            each *= most
        total += each
        size += each * size_of(entity)
    if total > limits.TRANSACTION_ACTIONS or size > limits.TRANSACTION_SIZE:
        r.say(
            codes.TRANSACTION_TOO_LARGE,
            f"{write.id} is a transaction of {total} actions and {size / limits.MB:.1f} MB; 100 and 4 MB are allowed",
            "write fewer at a time, or not in one transaction",
            write.id,
        )
    elif unknown and write.atomic:
        r.say(
            codes.TRANSACTION_MAY_BE,
            f"{write.id} writes many {unknown} in one transaction, without a limit on their number",
            f"declare it under Cardinality of {unknown}: `at most 50 per …`",
            write.id,
        )


def _most(entity: Entity) -> int | None:
    counts = [math.ceil(c.count) for c in entity.cardinality if c.per and c.count]
    return min(counts, default=None)


def check_appends(r: Report) -> None:
    """Lists that grow within one item."""
    for entity in r.workload.entities:
        grown: dict[str, list[str]] = {}
        for write, action in r.actions(entity.name):
            for change in action.changes:
                if change.op is ChangeOp.APPEND:
                    grown.setdefault(change.attribute, []).append(write.id)
        for name, by in grown.items():
            r.say(
                codes.LARGE_ATTRIBUTE,
                f"{entity.name}.{name} grows with every {name_list(by)}, and an item has at most 400 KB",
                "make each element an item, or keep only the last few",
                entity.name,
            )
