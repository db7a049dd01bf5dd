"""Checks which items a write touches: lists, items that are named twice, and what its conditions are about."""

from __future__ import annotations

from collections.abc import Iterator
from typing import assert_never

from prejoin.protocol import limits
from prejoin.workload import codes
from prejoin.workload.checks.reporter import Reporter
from prejoin.workload.conditions import all_leaves, is_of_whole_item, leaves, tests_of
from prejoin.workload.grammar.writes import write_checks
from prejoin.workload.lookup import having_attribute, target
from prejoin.workload.model import (
    Action,
    Leaf,
    Verb,
    Write,
)
from prejoin.workload.phrases import name_list
from prejoin.workload.program.resolved_write import Step, resolve_write
from prejoin.workload.read_result import Path
from prejoin.workload.tenants import own_id


def check_write_items(r: Reporter) -> None:
    for path, write in r.patterns():
        if not isinstance(write, Write):
            continue
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
    entity, names = step.entity, step.list_source.ambiguous
    action = f"{step.verb} {entity.name}[]"
    if not names:
        message = (
            f"nothing says which {entity.name} `{action}` means: no input is the id of an item that they belong to"
        )
        return message, _fix_of_unbound_list(r, step)
    if all(entity.attribute(name) for name in names):
        message = f"`{action}` may belong by {name_list(names)}, and nothing says by which"
        return message, f"write `{action} by {names[0]}`"
    message = f"`{action}` may belong to the item of {name_list(names)}, and nothing says to which"
    return message, "write each of them in a row of its own"


def _fix_of_unbound_list(r: Reporter, step: Step) -> str:
    """How to say which items a list means: by the item that they belong to, or by their ids."""
    entity = step.entity
    id_names = [name for name in entity.id_names if name != r.workload.tenant_attribute]
    references = [a for a in entity.attributes if a.references and a.name not in id_names]
    list_input = f"`{id_names[-1]}[]`" if id_names else f"`{entity.name}[]`"
    for input_ in step.write.inputs:
        attribute = entity.attribute(input_.attribute)
        if input_.many and attribute in references and attribute is not None:
            parent = attribute.referenced_entity
            by_parent = f"write `{attribute.name}` for one {parent}, or add `{parent}[]` to the row"
            return f"{by_parent}; or let the caller give {list_input}"
    which_input = "the input" if len(references) == 1 else "one of the inputs"
    listing = name_list([attribute.name for attribute in references])
    parent_fix = f"add {which_input} {listing}, or " if references else ""
    return f"{parent_fix}let the caller give them: add {list_input} to the inputs"


def _long_lists(r: Reporter, path: Path, write: Write) -> None:
    """Lists of a transaction that have more items than it takes, by the numbers of the document."""
    resolved_write = resolve_write(r.workload, write)
    for step in resolved_write.steps if write.atomic else ():
        if not step.is_existing_list or step.list_source.is_given:
            continue
        counts = _counts_of_list(step)
        if counts and min(counts) >= limits.TRANSACTION_ACTIONS:
            number = f"{min(counts):,.0f}"
            message = f"`{step.verb} {step.entity.name}[]` is of {number} items, and a transaction takes at most 100"
            fix = "write `No` under Transaction: they are then written in batches, and what they belong to last"
            r.say(codes.LONG_LIST, (*path, "actions"), message, fix, step.entity.name)


def _counts_of_list(step: Step) -> list[float]:
    """The cardinalities of a list for the items that it may belong to."""
    owner_names = {entity.name for entity in step.of.entities}
    for attribute in step.entity.attributes:
        if attribute.references and attribute.name in step.of.inputs:
            owner_names.add(attribute.referenced_entity)
    return [figure.count for figure in step.entity.cardinality if figure.count and figure.per in owner_names]


def _children_of_given_items(r: Reporter, path: Path, write: Write) -> None:
    """Lists of the children of items that the caller gives, and that have to belong to another item.

    With `projectId, taskId[]` and `delete Task[]; delete File[]`, the files of a task of another project would be
    deleted, before the task is passed over. A transaction refuses it as a whole.
    """
    resolved_write = resolve_write(r.workload, write)
    if not resolved_write.is_resumable:
        return
    for step in resolved_write.steps:
        parent_step = _written_parent_list(step) if step.is_existing_list else None
        if parent_step is None or not parent_step.list_source.is_given:
            continue
        parent = parent_step.entity
        ids = {attribute.name for attribute in own_id(r.workload, parent)} | {r.workload.tenant_attribute}
        ties = [name for name in parent_step.list_source.links if name not in ids]
        if ties:
            message = (
                f"`{step.verb} {step.entity.name}[]` is written before it is known that each given {parent.name} has "
                f"this `{ties[0]}`"
            )
            fix = f"write `Yes` under Transaction, or leave the input `{ties[0]}` out"
            r.say(codes.UNBOUND_LIST, (*path, "actions"), message, fix, step.entity.name)


def _written_parent_list(step: Step) -> Step | None:
    """The list through which the items of another one are known, if the write writes it, too."""
    source = step.list_source
    if not source.over or source.unwritten:
        return None
    return step.of.step(Action(step.verb, source.over, many=True))


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
    if not step.is_new and not other.is_new:
        return step.action.by == other.action.by
    # A new item beside an existing one is another if an input of its own names the existing one.
    existing = other if step.is_new else step
    return not existing.action.by and all(existing.sources.get(name) == name for name in step.entity.id_names)


def _contradictions(r: Reporter, path: Path, write: Write) -> None:
    """Conditions with which an action can never be done."""
    for step in resolve_write(r.workload, write).steps:
        if problem := _contradiction(step):
            r.say(codes.CONTRADICTION, (*path, "checks"), *problem, step.entity.name)


def _contradiction(step: Step) -> tuple[str, str] | None:
    """Why an action can never be done, and what to write instead; None if it can."""
    name = step.entity.name
    if step.must_exist and step.must_be_absent:
        return f"`{name} exists` and `{name} not exists` exclude each other", "leave one of them out"
    match step.verb:
        case Verb.CREATE if step.must_exist:
            message = f"`create {name}` is refused if there is one, and `{name} exists` if there is none"
            fix = f"write `put {name}` to replace an existing one, or `update {name} (…)`; or leave the condition out"
            return message, fix
        case Verb.CREATE if _has_whole_part(step):
            message = f"`create {name}` is refused if there is one, so no part of a condition can be about that"
            return message, f"leave that part out; or write `put {name}`, which may replace an existing one"
        case Verb.UPDATE | Verb.DELETE if step.must_be_absent:
            message = f"`{step.verb} {name}` needs an item, and `{name} not exists` is refused if there is one"
            return message, f"write `create {name}`, or `upsert {name} (…)`; or leave the condition out"
        case Verb.CREATE | Verb.PUT | Verb.UPDATE | Verb.UPSERT | Verb.DELETE | Verb.EXPIRE:
            return None
        case _:
            assert_never(step.verb)


def _has_whole_part(step: Step) -> bool:
    """Whether a part of a condition, beside others, says that the item exists or does not."""
    for test in step.conditions:
        if not is_of_whole_item(test) and any(not leaf.attribute for leaf in leaves(test)):
            return True
    return False


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
    for step in resolve_write(r.workload, write).steps:
        if step.is_new or step.is_list or step.verb is Verb.EXPIRE:
            continue
        entity = step.entity
        for name in _open_names(step):
            new_names = _new_entities_with(step, name)
            if new_names:
                message = (
                    f"`{entity.name}.{name}` need not be the `{name}` of the new {name_list(new_names)}: "
                    "nothing says that they are the same"
                )
                fix = f"add the condition `{entity.name}.{name} = {name}`, if they have to be"
                r.say(codes.WHOSE, (*path, "checks"), message, fix, name)


def _open_names(step: Step) -> Iterator[str]:
    """The references to items of the write that are inputs, and that nothing compares, changes or fixes."""
    settled_names = {change.attribute for change in step.action.changes}.union(step.sources, step.compared)
    for attribute in step.entity.attributes:
        is_open = attribute.name in step.of.inputs and attribute.name not in settled_names and not attribute.id
        reference_target = target(step.workload, attribute) if is_open else None
        if reference_target is not None and reference_target[0] in step.of.entities:
            yield attribute.name


def _new_entities_with(step: Step, name: str) -> list[str]:
    """The entities of new items of the same write that have an attribute of a name."""
    other_entities = (other.entity for other in step.of.steps if other.is_new and other.entity is not step.entity)
    return [entity.name for entity in other_entities if entity.attribute(name)]
