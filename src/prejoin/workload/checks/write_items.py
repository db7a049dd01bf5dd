"""Checks which items a write touches: lists, items that are named twice, and what its conditions are about."""

from __future__ import annotations

from prejoin.protocol import limits
from prejoin.workload import codes
from prejoin.workload.checks.reporter import Reporter, name_list
from prejoin.workload.conditions import all_leaves, is_of_whole_item, leaves, tests_of
from prejoin.workload.grammar.writes import write_checks
from prejoin.workload.lookup import having_attribute, target
from prejoin.workload.model import (
    Absence,
    Action,
    Leaf,
    Presence,
    Verb,
    Write,
)
from prejoin.workload.program.resolved_write import Step, resolve_write
from prejoin.workload.read_result import Path
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
    for step in resolve_write(r.workload, write).unbound_lists:
        r.say(codes.UNBOUND_LIST, (*path, "actions"), *_explain_unbound_list(r, step), step.entity.name)


def _explain_unbound_list(r: Reporter, step: Step) -> tuple[str, str]:
    """The message about a list that is not bound, and its fix."""
    entity, source = step.entity, step.list_source
    action = f"{step.verb} {entity.name}[]"
    if source.ambiguous and all(entity.attribute(name) for name in source.ambiguous):
        names = name_list(source.ambiguous)
        return (
            f"`{action}` may belong by {names}, and nothing says by which",
            f"write `{action} by {source.ambiguous[0]}`",
        )
    if source.ambiguous:
        message = f"`{action}` may belong to the item of {name_list(source.ambiguous)}, and nothing says to which"
        return message, "write each of them in a row of its own"
    id_names = [a.name for a in entity.id if not r.workload.tenant or a.name != r.workload.tenant.attribute]
    reference_names = [a.name for a in entity.attributes if a.references and a.name not in id_names]
    message = f"nothing says which {entity.name} `{action}` means: no input is the id of an item that they belong to"
    list_input = f"`{id_names[-1]}[]`" if id_names else f"`{entity.name}[]`"
    list_inputs = [item.attribute for item in step.write.inputs if item.many and item.attribute in reference_names]
    if list_inputs:
        attribute = entity.attribute(list_inputs[0])
        parent = attribute.referenced_entity if attribute else ""
        by_parent = f"write `{list_inputs[0]}` for one {parent}, or add `{parent}[]` to the row"
        fix = f"{by_parent}; or let the caller give {list_input}"
        return message, fix
    which_input = "the input" if len(reference_names) == 1 else "one of the inputs"
    parent_fix = f"add {which_input} {name_list(reference_names)}, or " if reference_names else ""
    return message, f"{parent_fix}let the caller give them: add {list_input} to the inputs"


def _long_lists(r: Reporter, path: Path, write: Write) -> None:
    """Lists of a transaction that have more items than it takes, by the numbers of the document."""
    resolved_write = resolve_write(r.workload, write)
    entity_names = {entity.name for entity in resolved_write.entities}
    for step in resolved_write.steps if write.atomic else ():
        entity = step.entity
        if not step.is_existing_list or step.list_source.is_given:
            continue
        referenced_entities = {
            attribute.referenced_entity
            for attribute in entity.attributes
            if attribute.references and attribute.name in resolved_write.inputs
        }
        counts = [
            number.count
            for number in entity.cardinality
            if number.count and number.per in entity_names | referenced_entities
        ]
        if counts and min(counts) >= limits.TRANSACTION_ACTIONS:
            number = f"{min(counts):,.0f}"
            message = f"`{step.verb} {entity.name}[]` is of {number} items, and a transaction takes at most 100"
            fix = "write `No` under Transaction: they are then written in batches, and what they belong to last"
            r.say(codes.LONG_LIST, (*path, "actions"), message, fix, entity.name)


def _children_of_given_items(r: Reporter, path: Path, write: Write) -> None:
    """Lists of the children of items that the caller gives, and that have to belong to another item.

    With `projectId, taskId[]` and `delete Task[]; delete File[]`, the files of a task of another project would be
    deleted, before the task is passed over. A transaction refuses it as a whole.
    """
    resolved_write = resolve_write(r.workload, write)
    if not resolved_write.is_resumable:
        return
    for step in resolved_write.steps:
        source = step.list_source if step.is_existing_list else None
        parent = r.workload.entity(source.over) if source and not source.unwritten else None
        parent_step = resolved_write.step(Action(step.verb, parent.name, many=True)) if parent else None
        if parent is None or parent_step is None:
            continue
        parent_source = parent_step.list_source
        id_names = {attribute.name for attribute in own_id(r.workload, parent)}
        tenant_names = {r.workload.tenant.attribute} if r.workload.tenant else set()
        ties = [name for name in parent_source.links if name not in id_names | tenant_names]
        if parent_source.is_given and ties:
            message = (
                f"`{step.verb} {step.entity.name}[]` is written before it is known that each given {parent.name} has "
                f"this `{ties[0]}`"
            )
            fix = f"write `Yes` under Transaction, or leave the input `{ties[0]}` out"
            r.say(codes.UNBOUND_LIST, (*path, "actions"), message, fix, step.entity.name)


def _twice(r: Reporter, path: Path, write: Write) -> None:
    """Two actions on one item. Two updates of one item are one; a list may be deleted and created anew."""
    steps = resolve_write(r.workload, write).written_steps
    for at, step in enumerate(steps):
        for other in steps[:at]:
            if not _is_same_item(step, other):
                continue
            name = step.entity.name
            message = f"`{other.verb} {name}` and `{step.verb} {name}` are about the same item"
            fix = "make one action of them, or name two items: `update Account by fromAccountId (…)`"
            if step.is_list:  # a transfer to the same account is in both lists
                message = f"an item may be in both lists, `{_text(other.action)}` and `{_text(step.action)}`"
                fix = "write each list in a row of its own"
            r.say(codes.ITEM_TWICE, (*path, "actions"), message, fix, name)


def _text(action: Action) -> str:
    return f"{action.verb} {action.entity}[]{' by ' if action.by else ''}{' + '.join(action.by)}"


def _is_same_item(step: Step, other: Step) -> bool:
    """Whether two steps may be about the same item, or about lists with the same items."""
    if step.entity is not other.entity or step.is_list != other.is_list or (step.is_new and other.is_new):
        return False
    if step.is_list:
        return not step.is_new and not other.is_new
    if step.is_new or other.is_new:
        # A new item beside an existing one is another if an input of its own names the existing one.
        existing = other if step.is_new else step
        return not existing.action.by and all(existing.sources.get(part.name) == part.name for part in step.entity.id)
    return step.action.by == other.action.by


def _contradictions(r: Reporter, path: Path, write: Write) -> None:
    """Conditions with which an action can never be done."""
    for step in resolve_write(r.workload, write).steps:
        item_tests = [test for test in step.conditions if is_of_whole_item(test)]
        must_exist = any(isinstance(test, Presence) for test in item_tests)
        must_be_absent = any(isinstance(test, Absence) for test in item_tests)
        name = step.entity.name
        if must_exist and must_be_absent:
            message, fix = f"`{name} exists` and `{name} not exists` exclude each other", "leave one of them out"
        elif step.verb is Verb.CREATE and must_exist:
            message = f"`create {name}` is refused if there is one, and `{name} exists` if there is none"
            fix = f"write `put {name}` to replace an existing one, or `update {name} (…)`; or leave the condition out"
        elif step.verb in (Verb.UPDATE, Verb.DELETE) and must_be_absent:
            message = f"`{step.verb} {name}` needs an item, and `{name} not exists` is refused if there is one"
            fix = f"write `create {name}`, or `upsert {name} (…)`; or leave the condition out"
        elif step.verb is Verb.CREATE and _has_whole_part(step):
            message = f"`create {name}` is refused if there is one, so no part of a condition can be about that"
            fix = f"leave that part out; or write `put {name}`, which may replace an existing one"
        else:
            continue
        r.say(codes.CONTRADICTION, (*path, "checks"), message, fix, name)


def _has_whole_part(step: Step) -> bool:
    """Whether a part of a condition, beside others, says that the item exists or does not."""
    other_tests = [test for test in step.conditions if not is_of_whole_item(test)]
    return any(not leaf.attribute for test in other_tests for leaf in leaves(test))


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
    inputs = write.input_names
    for test in tests_of(write):
        items = {(leaf.entity, leaf.by) for leaf in leaves(test)}
        if len(items) < 2:
            continue
        names = [by or entity or "inputs" for entity, by in items]
        text = write_checks((test,), inputs)
        listing = " and ".join(f"`{name}`" for name in sorted(names))
        message = f"`{text}` is about {listing}, and DynamoDB checks a condition for one item"
        fix = "write one row for each case, with the same items and one of the conditions"
        r.say(codes.SEVERAL_ITEMS, (*path, "checks"), message, fix)


def _open_references(r: Reporter, path: Path, write: Write) -> None:
    """References of an existing item and of a new one to the same entity, which the write names, too.

    Whether they have to be the same is for the author to say: a captured hold is of the account that is debited, but
    who comments on a post is not its author.
    """
    resolved_write = resolve_write(r.workload, write)
    new_entities = [step.entity for step in resolved_write.steps if step.is_new]
    for step in resolved_write.steps:
        if step.is_new or step.is_list or step.verb is Verb.EXPIRE:
            continue
        entity = step.entity
        changed_names = {change.attribute for change in step.action.changes}
        settled_names = {*step.sources, *changed_names, *step.compared}
        for attribute in entity.attributes:
            name = attribute.name
            reference_target = target(r.workload, attribute)
            if name not in resolved_write.inputs or name in settled_names or reference_target is None or attribute.id:
                continue
            new_names = [other.name for other in new_entities if other is not entity and other.attribute(name)]
            if reference_target[0] in resolved_write.entities and new_names:
                message = (
                    f"`{entity.name}.{name}` need not be the `{name}` of the new {name_list(new_names)}: "
                    "nothing says that they are the same"
                )
                fix = f"add the condition `{entity.name}.{name} = {name}`, if they have to be"
                r.say(codes.WHOSE, (*path, "checks"), message, fix, name)
