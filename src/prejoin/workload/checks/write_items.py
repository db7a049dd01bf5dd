"""Checks which items a write touches: lists, items that are named twice, and what its conditions are about."""

from __future__ import annotations

from prejoin.protocol import limits
from prejoin.workload import codes
from prejoin.workload.checks.reporter import Reporter, name_list
from prejoin.workload.conditions import all_leaves, is_of_whole_item, leaves, tests_of
from prejoin.workload.grammar.writes import write_checks
from prejoin.workload.lookup import having_attribute, target, touched_entities
from prejoin.workload.model import (
    Absence,
    Action,
    Entity,
    Leaf,
    Presence,
    Verb,
    Write,
)
from prejoin.workload.read_result import Path
from prejoin.workload.targets import (
    NEW,
    ListSource,
    actions_of,
    checks_of,
    is_resumable,
    links,
    list_source,
    unbound_lists,
)
from prejoin.workload.tenants import own_id


def check_write_items(r: Reporter) -> None:
    for kind, writes in (("writes", r.workload.writes), ("deletes", r.workload.deletes)):
        for index, write in enumerate(writes):
            path: Path = (kind, index)
            _lists(r, path, write)
            _twice(r, path, write)
            _long_lists(r, path, write)
            _children_of_given_items(r, path, write)
            _contradictions(r, path, write)
            for leaf in all_leaves(write):
                _whose(r, path, write, leaf)
            _several_items(r, path, write)
            _open_references(r, path, write)


def _lists(r: Reporter, path: Path, write: Write) -> None:
    for action, entity, source in unbound_lists(r.workload, write):
        what = f"{action.verb} {entity.name}[]"
        r.say(codes.UNBOUND_LIST, (*path, "actions"), *_unbound(r, write, entity, source, what), entity.name)


def _unbound(r: Reporter, write: Write, entity: Entity, source: ListSource, what: str) -> tuple[str, str]:
    """The message about a list that is not bound, and its fix."""
    if source.ambiguous and all(entity.attribute(name) for name in source.ambiguous):
        names = name_list(source.ambiguous)
        return f"`{what}` may belong by {names}, and nothing says by which", f"write `{what} by {source.ambiguous[0]}`"
    if source.ambiguous:
        message = f"`{what}` may belong to the item of {name_list(source.ambiguous)}, and nothing says to which"
        return message, "write each of them in a row of its own"
    own = [a.name for a in entity.id if not r.workload.tenant or a.name != r.workload.tenant.attribute]
    refers = [a.name for a in entity.attributes if a.references and a.name not in own]
    message = f"nothing says which {entity.name} `{what}` means: no input is the id of an item that they belong to"
    given = f"`{own[-1]}[]`" if own else f"`{entity.name}[]`"
    several = [one.attribute for one in write.inputs if one.many and one.attribute in refers]
    if several:
        attribute = entity.attribute(several[0])
        parent = attribute.referenced_entity if attribute else ""
        fix = f"write `{several[0]}` for one {parent}, or add `{parent}[]` to the row; or let the caller give {given}"
        return message, fix
    one_of = "the input" if len(refers) == 1 else "one of the inputs"
    belonging = f"add {one_of} {name_list(refers)}, or " if refers else ""
    return message, f"{belonging}let the caller give them: add {given} to the inputs"


def _long_lists(r: Reporter, path: Path, write: Write) -> None:
    """Lists of a transaction that have more items than it takes, by the numbers of the document."""
    named = {entity.name for entity in touched_entities(r.workload, write)}
    inputs = {one.attribute for one in write.inputs}
    for action in actions_of(r.workload, write) if write.atomic else ():
        entity = r.workload.entity(action.entity)
        if entity is None or not action.many or action.verb in NEW:
            continue
        if list_source(r.workload, write, action, entity).is_given:
            continue
        held = {
            attribute.referenced_entity
            for attribute in entity.attributes
            if attribute.references and attribute.name in inputs
        }
        counts = [one.count for one in entity.cardinality if one.count and one.per in named | held]
        if counts and min(counts) >= limits.TRANSACTION_ACTIONS:
            number = f"{min(counts):,.0f}"
            message = f"`{action.verb} {entity.name}[]` is of {number} items, and a transaction takes at most 100"
            fix = "write `No` under Transaction: they are then written in batches, and what they belong to last"
            r.say(codes.LONG_LIST, (*path, "actions"), message, fix, entity.name)


def _children_of_given_items(r: Reporter, path: Path, write: Write) -> None:
    """Lists of the children of items that the caller gives, and that have to belong to another item.

    With `projectId, taskId[]` and `delete Task[]; delete File[]`, the files of a task of another project would be
    deleted, before the task is passed over. A transaction refuses it as a whole.
    """
    if not is_resumable(write):
        return
    for action in actions_of(r.workload, write):
        entity = r.workload.entity(action.entity)
        if entity is None or not action.many or action.verb in NEW:
            continue
        source = list_source(r.workload, write, action, entity)
        parent = r.workload.entity(source.over)
        if parent is None or source.unwritten:
            continue
        given = list_source(r.workload, write, Action(action.verb, parent.name, many=True), parent)
        own = {attribute.name for attribute in own_id(r.workload, parent)}
        tenant = {r.workload.tenant.attribute} if r.workload.tenant else set()
        ties = [name for name in given.links if name not in own | tenant]
        if given.is_given and ties:
            message = (
                f"`{action.verb} {entity.name}[]` is written before it is known that each given {parent.name} has this "
                f"`{ties[0]}`"
            )
            fix = f"write `Yes` under Transaction, or leave the input `{ties[0]}` out"
            r.say(codes.UNBOUND_LIST, (*path, "actions"), message, fix, entity.name)


def _twice(r: Reporter, path: Path, write: Write) -> None:
    """Two actions on one item. Two updates of one item are one; a list may be deleted and created anew."""
    actions = [a for a in actions_of(r.workload, write) if a.verb is not Verb.EXPIRE]
    for at, action in enumerate(actions):
        for other in actions[:at]:
            if action.entity == other.entity and _is_same_item(r, write, action, other):
                message = f"`{other.verb} {other.entity}` and `{action.verb} {action.entity}` are about the same item"
                fix = "make one action of them, or name two items: `update Account by fromAccountId (…)`"
                if action.many:  # a transfer to the same account is in both lists
                    message = f"an item may be in both lists, `{_text(other)}` and `{_text(action)}`"
                    fix = "write each list in a row of its own"
                r.say(codes.ITEM_TWICE, (*path, "actions"), message, fix, action.entity)


def _text(action: Action) -> str:
    return f"{action.verb} {action.entity}[]{' by ' if action.by else ''}{' + '.join(action.by)}"


def _is_same_item(r: Reporter, write: Write, one: Action, other: Action) -> bool:
    entity = r.workload.entity(one.entity)
    if entity is None or one.many != other.many or (one.verb in NEW and other.verb in NEW):
        return False
    if one.many:
        return one.verb not in NEW and other.verb not in NEW
    if one.verb in NEW or other.verb in NEW:
        # A new item beside an existing one is another if an input of its own names the existing one.
        existing = other if one.verb in NEW else one
        ids = links(r.workload, write, existing, entity)
        return not existing.by and all(ids.get(a.name) == a.name for a in entity.id)
    return one.by == other.by


def _contradictions(r: Reporter, path: Path, write: Write) -> None:
    """Conditions with which an action can never be done."""
    for action in actions_of(r.workload, write):
        whole = [check for check in checks_of(write, action) if is_of_whole_item(check)]
        exists = any(isinstance(check, Presence) for check in whole)
        is_absent = any(isinstance(check, Absence) for check in whole)
        name = action.entity
        if exists and is_absent:
            message, fix = f"`{name} exists` and `{name} not exists` exclude each other", "leave one of them out"
        elif action.verb is Verb.CREATE and exists:
            message = f"`create {name}` is refused if there is one, and `{name} exists` if there is none"
            fix = f"write `put {name}` to replace an existing one, or `update {name} (…)`; or leave the condition out"
        elif action.verb in (Verb.UPDATE, Verb.DELETE) and is_absent:
            message = f"`{action.verb} {name}` needs an item, and `{name} not exists` is refused if there is one"
            fix = f"write `create {name}`, or `upsert {name} (…)`; or leave the condition out"
        elif action.verb is Verb.CREATE and _has_whole_part(write, action):
            message = f"`create {name}` is refused if there is one, so no part of a condition can be about that"
            fix = f"leave that part out; or write `put {name}`, which may replace an existing one"
        else:
            continue
        r.say(codes.CONTRADICTION, (*path, "checks"), message, fix, name)


def _has_whole_part(write: Write, action: Action) -> bool:
    """Whether a part of a condition, beside others, says that the item exists or does not."""
    combined = [check for check in checks_of(write, action) if not is_of_whole_item(check)]
    return any(not leaf.attribute for check in combined for leaf in leaves(check))


def _whose(r: Reporter, path: Path, write: Write, check: Leaf) -> None:
    name = check.attribute or check.entity
    if (check.entity and check.attribute) or r.workload.entity(check.entity) or not name:
        return
    owners = having_attribute(r.workload, write, name)
    if len(owners) > 1:
        message = f"{name_list(owners)} have `{name}`, and the condition does not say which of them it is about"
        r.say(codes.WHOSE_CONDITION, (*path, "checks"), message, f"write `{owners[0]}.{name}`", name)


def _several_items(r: Reporter, path: Path, write: Write) -> None:
    """An `or` or a `not (…)` whose parts are about several items, or about an item and an input."""
    inputs = frozenset(one.attribute for one in write.inputs)
    for test in tests_of(write):
        items = {(leaf.entity, leaf.by) for leaf in leaves(test)}
        if len(items) < 2:
            continue
        names = [by or entity or "inputs" for entity, by in items]
        text = write_checks((test,), inputs)
        about = " and ".join(f"`{name}`" for name in sorted(names))
        message = f"`{text}` is about {about}, and DynamoDB checks a condition for one item"
        fix = "write one row for each case, with the same items and one of the conditions"
        r.say(codes.SEVERAL_ITEMS, (*path, "checks"), message, fix)


def _open_references(r: Reporter, path: Path, write: Write) -> None:
    """References of an existing item and of a new one to the same entity, which the write names, too.

    Whether they have to be the same is for the author to say: a captured hold is of the account that is debited, but
    who comments on a post is not its author.
    """
    actions = actions_of(r.workload, write)
    entities = {entity.name: entity for entity in touched_entities(r.workload, write)}
    inputs = {one.attribute for one in write.inputs}
    new = [entities[a.entity] for a in actions if a.verb in NEW and a.entity in entities]
    for action in actions:
        entity = entities.get(action.entity)
        if entity is None or action.verb in NEW or action.many or action.verb is Verb.EXPIRE:
            continue
        bound = links(r.workload, write, action, entity)
        changed = {change.attribute for change in action.changes}
        compared = {leaf.attribute for check in checks_of(write, action) for leaf in leaves(check)}
        for attribute in entity.attributes:
            name = attribute.name
            held = target(r.workload, attribute)
            if name not in inputs or name in {*bound, *changed, *compared} or held is None or attribute.id:
                continue
            others = [other.name for other in new if other is not entity and other.attribute(name)]
            if held[0].name in entities and others:
                message = (
                    f"`{entity.name}.{name}` need not be the `{name}` of the new {name_list(others)}: "
                    "nothing says that they are the same"
                )
                fix = f"add the condition `{entity.name}.{name} = {name}`, if they have to be"
                r.say(codes.WHOSE, (*path, "checks"), message, fix, name)
