"""A counter as a proposal: a number in an item, kept by the writes, instead of a read that counts.

The number is an attribute of the entity that the counted items refer to, or an item for each value that is asked for.
If that value changes, the write that changes it has to know the old one: it takes one from a number, and adds one to
the other, on the condition that the old value is still there.
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec.structs import replace

from prejoin.design.explain.document_changes import DocumentChange, changes_later, only_entity, with_entity, with_read
from prejoin.types import Kind, Type
from prejoin.workload.grammar.attributes import write_attribute
from prejoin.workload.grammar.inputs import write_inputs
from prejoin.workload.grammar.writes import write_actions, write_checks
from prejoin.workload.lookup import bare_name, changes, foreign_key
from prejoin.workload.model import (
    Action,
    Attribute,
    Change,
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


def counter(workload: Workload, read: Read) -> Iterator[DocumentChange]:
    """A number that is kept by the writes that create, move and delete the counted items."""
    entity = only_entity(workload, read)
    given = [replace(i, keeps=None) for i in read.inputs if i.op is Op.EQ and not i.optional and not i.filter]
    if read.result is not Result.COUNT or entity is None or len(given) != len(read.inputs):
        return
    held = [a for i in given if (a := entity.attribute(bare_name(i.attribute)))]
    moving = [a for a in held if changes_later(workload, entity, a)]
    if len(held) != len(given) or any(a.optional for a in held) or len(moving) > 1:
        return
    owner = next(
        (e for e in workload.entities if held and foreign_key(workload, entity, e) == frozenset(a.name for a in held)),
        None,
    )
    name = f"{entity.name[:1].lower()}{entity.name[1:]}Count"
    if owner is not None and len(held) == 1 and not owner.attribute(name):
        number = Attribute(name, Type(Kind.INTEGER), mutable=True, default="0")
        changed = with_entity(workload, replace(owner, attributes=(*owner.attributes, number)))
        counting, kind = owner.name, Verb.UPDATE
        needs = (*(a.name for a in owner.id), name)
        asked = replace(read, entities=(owner.name,), result=Result.ONE, needs=needs, inputs=_ids(owner, given))
        added: tuple[str, ...] = (f"{owner.name}: {write_attribute(number)}",)
    else:
        counted = f"{entity.name}Count"
        ids = tuple(replace(a, id=True, generated=None, unique=False, mutable=None) for a in held)
        number = Attribute("number", Type(Kind.INTEGER), mutable=True)
        tally = Entity(counted, attributes=(*ids, number), singleton=not ids, size=150)
        if workload.entity(counted):
            return
        changed = replace(workload, entities=(*workload.entities, tally))
        counting, kind, name = counted, Verb.UPSERT, "number"
        asked = replace(read, entities=(counted,), result=Result.ONE, needs=(), inputs=tuple(given))
        added = (f"### {counted}", *(f"- {write_attribute(a)}" for a in tally.attributes))
    writes = [w for w in (*workload.writes, *workload.deletes) if any(a.entity == entity.name for a in w.actions)]
    beside = [a for write in writes for a in write.actions if a.entity == counting]
    if any(a.verb is not Verb.UPDATE or a.many or not a.changes or moving for a in beside):
        return  # the number would be part of another kind of write
    kept = _CountedWrites(entity, Action(kind, counting), name, held, moving[0] if moving else None)
    if moving and not kept.can_follow(writes):
        return
    changed, lines = kept.by_writes(changed)
    changed = with_read(changed, asked)
    row = f"{read.id}: {asked.entities[0]} | {write_inputs(asked.inputs) or '-'} | Single"
    yield DocumentChange(f"a counter, `{counting}.{name}`, that the writes keep", changed, (*added, *lines, row))


class _CountedWrites:
    """The writes of the counted items, with the counter in the same transaction."""

    def __init__(
        self, entity: Entity, action: Action, number: str, held: list[Attribute], moving: Attribute | None
    ) -> None:
        self.entity = entity
        self.action = action
        self.number = number
        self.held = held
        self.moving = moving
        self.lines: list[str] = []

    def by_writes(self, workload: Workload) -> tuple[Workload, list[str]]:
        """The workload with these writes, and their rows."""
        writes, deletes = tuple(map(self._write, workload.writes)), tuple(map(self._write, workload.deletes))
        return replace(workload, writes=writes, deletes=deletes), self.lines

    def can_follow(self, writes: list[Write]) -> bool:
        """Whether some write moves items, all of them one by one, and to a value that the caller gives."""
        own = [(w, a) for w in writes for a in w.actions if a.entity == self.entity.name]
        moves = [change for write, action in own for change in self._moves(write, action)]
        known = all(c.op is ChangeOp.SET and (c.value is None or c.value.param) for c in moves)
        single = all(a.verb in (Verb.CREATE, Verb.UPDATE, Verb.DELETE) and not a.many for _, a in own)
        return bool(moves) and known and single and len({write.id for write, _ in own}) == len(own)

    def _moves(self, write: Write, action: Action) -> list[Change]:
        moving = self.moving.name if self.moving else ""
        return [one for one in changes(write, action, self.entity) if one.attribute == moving]

    def _write(self, write: Write) -> Write:
        own = next((a for a in write.actions if a.entity == self.entity.name and not a.many), None)
        if own is None:
            return write
        if own.verb is Verb.CREATE:
            return self._with(write, (self._step(ChangeOp.ADD),))
        old = f"old{self.moving.name[:1].upper()}{self.moving.name[1:]}" if self.moving else ""
        if own.verb is Verb.DELETE:
            return self._with(write, (self._step(ChangeOp.SUBTRACT, old),), old)
        if moves := self._moves(write, own):
            new = moves[0].value.param if moves[0].value and moves[0].value.param else moves[0].attribute
            return self._with(write, (self._step(ChangeOp.SUBTRACT, old), self._step(ChangeOp.ADD, new)), old)
        return write

    def _step(self, op: ChangeOp, moving: str = "") -> Action:
        """One more or one less; of the item that an input names, if it is not the attribute of that name."""
        by = tuple(moving if moving and a is self.moving else a.name for a in self.held)
        named = by if moving and self.moving and moving != self.moving.name else ()
        return replace(self.action, changes=(Change(self.number, op, Value(const="1")),), by=named)

    def _with(self, write: Write, steps: tuple[Action, ...], old: str = "") -> Write:
        inputs, checks = write.inputs, write.checks
        if old:
            assert self.moving is not None  # it has an old value
            inputs = tuple(dict.fromkeys((*inputs, Input(old))))
            same = Comparison(entity=self.entity.name, attribute=self.moving.name, op=Op.EQ, values=(Value(param=old),))
            checks = tuple(dict.fromkeys((*checks, same)))
        there = next((a for a in write.actions if a.entity == self.action.entity), None)
        if there is not None and not old:  # an item is written once in a transaction
            merged = replace(there, changes=(*there.changes, *steps[0].changes))
            actions = tuple(merged if a is there else a for a in write.actions)
        else:
            actions = (*write.actions, *steps)
        names = frozenset(i.attribute for i in inputs)
        rows = (write_inputs(inputs), write_actions(actions, names), "Yes", write_checks(checks, names))
        self.lines.append(f"{write.id}: {' | '.join(rows if old else rows[1:3])}")
        entities = tuple(dict.fromkeys((*write.entities, self.action.entity)))
        return replace(write, entities=entities, inputs=inputs, actions=actions, atomic=True, checks=checks)


def _ids(owner: Entity, given: list[Input]) -> tuple[Input, ...]:
    return tuple(replace(i, attribute=a.name) for i, a in zip(given, owner.id, strict=False))
