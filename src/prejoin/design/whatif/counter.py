"""A counter as a proposal: a number in an item, kept by the writes, instead of a read that counts.

The number is an attribute of the entity that the counted items refer to, or an item for each value that is asked for.
If that value changes, the write that changes it has to know the old one: it takes one from a number, and adds one to
the other, on the condition that the old value is still there.
"""

from __future__ import annotations

from collections.abc import Iterator

import msgspec
from msgspec.structs import replace

from prejoin.design.solver.needs import writes_to
from prejoin.design.whatif.change import Change
from prejoin.design.whatif.edits import actions_on, changed_writes, changes_later, id_part, only_entity, with_steps
from prejoin.types import Kind, Type
from prejoin.workload.lookup import bare_name, changes, foreign_key
from prejoin.workload.model import (
    Action,
    Attribute,
    ChangeOp,
    Comparison,
    Entity,
    Input,
    Op,
    Read,
    Result,
    Value,
    Verb,
    Workload,
    Write,
)
from prejoin.workload.model import Change as AttributeChange


class _CountedItems(msgspec.Struct, frozen=True):
    """The items that a read counts, by the attributes that it gives."""

    entity: Entity
    inputs: tuple[Input, ...]
    by: tuple[Attribute, ...]
    moving: Attribute | None
    """The attribute among them that writes change."""

    @property
    def old_input(self) -> str:
        """The input of a write with the value before it; empty if no write changes one."""
        return f"old{self.moving.name[:1].upper()}{self.moving.name[1:]}" if self.moving else ""


class _Counter(msgspec.Struct, frozen=True):
    """The number in an item, and the read that gets it."""

    entity: Entity
    """The entity with the number."""
    number: str
    verb: Verb
    """How a write changes the number."""
    read: Read


def counter_changes(workload: Workload, read: Read) -> Iterator[Change]:
    """A number that is kept by the writes that create, move and delete the counted items."""
    items = _counted_items(workload, read)
    counter = _counter_of(workload, read, items) if items else None
    if items is None or counter is None or not _can_keep(workload, items, counter):
        return
    writes = changed_writes(workload, lambda write: _keep_number(write, items, counter))
    summary = f"a counter, `{counter.entity.name}.{counter.number}`, that the writes keep"
    yield Change(summary, entities=(counter.entity,), patterns=(counter.read, *writes))


def _counted_items(workload: Workload, read: Read) -> _CountedItems | None:
    """The items that a read counts, if it counts those of one entity with given values, of which one may change."""
    entity = only_entity(workload, read)
    if read.result is not Result.COUNT or entity is None:
        return None
    attributes = []
    for condition in read.inputs:
        attribute = entity.attribute(bare_name(condition.attribute))
        # A number counts one thing: a range or an optional input would need one for each combination.
        if condition.op is not Op.EQ or condition.optional or condition.filter:
            return None
        if attribute is None or attribute.optional:
            return None
        attributes.append(attribute)
    moving = [attribute for attribute in attributes if changes_later(workload, entity, attribute)]
    # One that changes moves an item from one number to another; two would move it between four.
    if len(moving) > 1:
        return None
    inputs = tuple(replace(condition, keeps=None) for condition in read.inputs)
    return _CountedItems(entity, inputs, tuple(attributes), moving[0] if moving else None)


def _counter_of(workload: Workload, read: Read, items: _CountedItems) -> _Counter | None:
    """A number in the item that the counted items refer to, or else in an item of its own."""
    name = f"{items.entity.name[:1].lower()}{items.entity.name[1:]}Count"
    key = frozenset(attribute.name for attribute in items.by)
    for owner in workload.entities if len(items.by) == 1 else ():
        # `Team.taskCount` is read with its team, and needs no item of its own.
        is_owner = len(owner.id) == 1 and foreign_key(workload, items.entity, owner) == key
        if is_owner and not owner.attribute(name):
            number = Attribute(name, Type(Kind.INTEGER), mutable=True, default="0")
            (owner_id,) = owner.id
            inputs = (replace(items.inputs[0], attribute=owner_id.name),)
            column = (owner_id.name, name)
            get = replace(read, entities=(owner.name,), result=Result.ONE, needs=column, inputs=inputs)
            with_number = replace(owner, attributes=(*owner.attributes, number))
            return _Counter(with_number, name, Verb.UPDATE, get)
    number = Attribute("number", Type(Kind.INTEGER), mutable=True)
    ids = tuple(id_part(attribute) for attribute in items.by)
    item = Entity(f"{items.entity.name}Count", attributes=(*ids, number), singleton=not ids, size=150)
    if workload.entity(item.name):
        return None
    get = replace(read, entities=(item.name,), result=Result.ONE, needs=(), inputs=items.inputs)
    return _Counter(item, "number", Verb.UPSERT, get)


def _can_keep(workload: Workload, items: _CountedItems, counter: _Counter) -> bool:
    """Whether the writes of the counted items can keep the number."""
    writes = writes_to(workload, items.entity)
    for write in writes:
        for action in actions_on(write, counter.entity):
            # Beside a change of the same item, the number has to become a part of it.
            if action.verb is not Verb.UPDATE or action.many or not action.changes or items.moving:
                return False
    return items.moving is None or _can_follow(writes, items)


def _can_follow(writes: list[Write], items: _CountedItems) -> bool:
    """Whether some write moves items, all of them one by one, and to a value that the caller gives."""
    moves = []
    for write in writes:
        action, *other_actions = actions_on(write, items.entity)
        # A put may create or replace, and a list has no known length: neither says what to add.
        if other_actions or action.many or action.verb not in (Verb.CREATE, Verb.UPDATE, Verb.DELETE):
            return False
        moves += _moves(write, action, items)
    are_known = all(move.op is ChangeOp.SET and (move.value is None or move.value.param) for move in moves)
    return bool(moves) and are_known


def _moves(write: Write, action: Action, items: _CountedItems) -> list[AttributeChange]:
    """The changes after which an item is counted elsewhere."""
    if items.moving is None:
        return []
    return [change for change in changes(write, action, items.entity) if change.attribute == items.moving.name]


# --- The writes of the counted items --------------------------------------------------------------------------------


def _keep_number(write: Write, items: _CountedItems, counter: _Counter) -> Write:
    """A write of counted items that changes the number in the same transaction."""
    action = next((action for action in actions_on(write, items.entity) if not action.many), None)
    steps = _steps(write, action, items, counter) if action else []
    if not steps or action is None:
        return write
    following = with_steps(write, steps)
    if items.moving is None or action.verb is Verb.CREATE:
        return following
    # The value before is an input, on the condition that it is still there.
    # The transaction subtracts where the item was, so it has to fail if the item has moved since.
    old_value = Value(param=items.old_input)
    unchanged_value = Comparison(entity=items.entity.name, attribute=items.moving.name, op=Op.EQ, values=(old_value,))
    inputs = tuple(dict.fromkeys((*following.inputs, Input(items.old_input))))
    return replace(following, inputs=inputs, checks=tuple(dict.fromkeys((*following.checks, unchanged_value))))


def _steps(write: Write, action: Action, items: _CountedItems, counter: _Counter) -> list[Action]:
    """One more or one less; or one less where an item was, and one more where it goes."""
    if action.verb is Verb.CREATE:
        return [_step(items, counter, ChangeOp.ADD)]
    moves = _moves(write, action, items)
    if action.verb is not Verb.DELETE and not moves:
        return []
    steps = [_step(items, counter, ChangeOp.SUBTRACT, items.old_input)]
    for move in moves[:1]:
        new_input = (move.value and move.value.param) or move.attribute
        steps.append(_step(items, counter, ChangeOp.ADD, new_input))
    return steps


def _step(items: _CountedItems, counter: _Counter, op: ChangeOp, moving_input: str = "") -> Action:
    """A change of the item that an input names, if it does not have the name of the attribute."""
    by: tuple[str, ...] = ()
    if items.moving and moving_input not in ("", items.moving.name):
        by = tuple(moving_input if attribute is items.moving else attribute.name for attribute in items.by)
    change = AttributeChange(counter.number, op, Value(const="1"))
    return Action(counter.verb, counter.entity.name, changes=(change,), by=by)
