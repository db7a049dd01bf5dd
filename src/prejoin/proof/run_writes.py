"""Writes run for real: items picked and made, written through the client, and read back."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import reduce
from operator import and_
from typing import Any

from prejoin.proof.answer import Answer
from prejoin.proof.bench import Bench
from prejoin.proof.constants import value_of
from prejoin.proof.data import Values
from prejoin.proof.reference import compare
from prejoin.proof.run_reads import test
from prejoin.table import Changes, TableError
from prejoin.types import Kind
from prejoin.workload.lookup import changes, target
from prejoin.workload.model import Action, Attribute, Change, ChangeOp, Check, CheckKind, Entity, Verb, Write

_NEW = {Verb.CREATE, Verb.PUT}
_SEVERAL = 2
"""How many items stand for several."""


class _NothingFitsError(Exception):
    """There is no item in the data that the write could be about."""


@dataclass(slots=True)
class _Case:
    """One call of a pattern: the items it is about, and what the caller gives."""

    bench: Bench
    write: Write
    chosen: dict[str, list[Values]] = field(default_factory=dict)
    given: Values = field(default_factory=dict)

    def param(self, name: str, like: Attribute) -> Any:
        """The value of an input that is no attribute: small, so that stock and balances suffice."""
        if name not in self.given:
            self.given[name] = 1 if like.type.numeric else self.bench.maker.value(like)
        return self.given[name]


@dataclass(frozen=True, slots=True)
class _Step:
    """What happens to one item: before and after, None where there is none."""

    action: Action
    entity: Entity
    before: Values | None
    after: Values | None
    changed: Changes = field(default_factory=Changes)


def run_write(bench: Bench, write: Write) -> Answer:
    """One write: done, and each item that it touched read back."""
    operation = bench.design.operation(write.id)
    if operation is None or not operation.served:
        problem, remedy = (operation.problem, operation.remedy) if operation else ("it is out of scope", "")
        return Answer(write.id, write.description, problem=problem, remedy=remedy)
    if all(a.verb is Verb.EXPIRE for a in write.actions):
        return Answer(write.id, write.description)  # DynamoDB's own doing: nothing is sent
    case = _Case(bench, write)
    try:
        steps = _steps(case)
        with bench.watched() as calls:
            _do(case, steps)
    except _NothingFitsError as problem:
        return Answer(write.id, write.description, problem=str(problem))
    except TableError as problem:
        return Answer(write.id, write.description, given=case.given, problem=str(problem))
    for step in steps:
        _keep(bench, step)
    written = sum(call.items for call in calls)
    return Answer(write.id, write.description, tuple(calls), written, case.given, _difference(bench, steps))


# --- What is written ------------------------------------------------------------------------------------------------


def _steps(case: _Case) -> list[_Step]:
    actions = [a for a in case.write.actions if a.verb is not Verb.EXPIRE]
    made = {a.entity for a in actions if a.verb in _NEW}
    for action in actions:
        if action.verb not in _NEW and action.entity not in made and action.entity not in case.chosen:
            case.chosen[action.entity] = _pick(case, action)
    steps: list[_Step] = []
    for action in actions:
        entity = case.bench.entity(action.entity)
        if action.verb in _NEW:
            steps += [_Step(action, entity, None, item) for item in _make(case, action, entity)]
            continue
        # A second role of the same entity (who follows, who is followed) is a second item.
        again = sum(s.entity is entity for s in steps) if action.by else 0
        items = case.chosen[action.entity]
        for item in items if action.many or not action.by else items[again : again + 1]:
            steps.append(_change(case, action, entity, item))
    return steps


def _pick(case: _Case, action: Action) -> list[Values]:
    """Items of the data that satisfy the conditions, and belong to what was picked before."""
    entity = case.bench.entity(action.entity)
    roles = sum(a.entity == action.entity for a in case.write.actions if a.by)
    wanted = max(_SEVERAL if action.many else 1, roles)
    found = [item for item in case.bench.items.get(entity.name, []) if _fits(case, entity, item)]
    if len(found) < wanted and not action.many:
        raise _NothingFitsError(f"the data has no {entity.name} that it could be about")
    return found[:wanted]


def _fits(case: _Case, entity: Entity, item: Values) -> bool:
    for attribute in entity.attributes:
        held = target(case.bench.workload, attribute)
        if held and held[0].name in case.chosen and held[0] is not entity:
            owners = {str(i.get(held[1].name)) for i in case.chosen[held[0].name]}
            if attribute.name in item and str(item[attribute.name]) not in owners:
                return False
    return all(_holds(case, c, entity, item) for c in case.write.checks)


def _holds(case: _Case, check: Check, entity: Entity, item: Values) -> bool:
    attribute = entity.attribute(check.attribute) if check.entity in {"", entity.name} else None
    if check.kind is not CheckKind.COMPARE or attribute is None or check.op is None:
        return True
    if attribute.name not in item:
        return False
    return compare(check.op, item[attribute.name], _operands(case, check, attribute))


def _operands(case: _Case, check: Check, attribute: Attribute) -> list[Any]:
    for value in check.values:
        if value.param is not None:
            case.param(value.param, attribute)
    return [value_of(v, attribute, case.bench.now, case.given) for v in check.values]


def _make(case: _Case, action: Action, entity: Entity) -> list[Values]:
    """New items, that refer to those the write is about."""
    found = []
    for index in range(_SEVERAL if action.many else 1):
        known: Values = {}
        for attribute in entity.attributes:
            held = target(case.bench.workload, attribute)
            if held and (owner := _owner(case, attribute, held[0], index)):
                known[attribute.name] = owner.get(held[1].name)
        for change in action.changes:
            attribute_ = entity.attribute(change.attribute)
            if attribute_ and change.value and change.op is ChangeOp.SET:
                known[attribute_.name] = _value(case, change, attribute_)
        item = case.bench.maker.add(entity, known)
        if item is None:
            raise _NothingFitsError(f"the data has no room for another {entity.name}")
        found.append(item)
    case.chosen.setdefault(entity.name, []).extend(found)
    return found


def _owner(case: _Case, attribute: Attribute, entity: Entity, index: int) -> Values | None:
    """The item of the entity that a new item refers to by an attribute: of several roles, the one that is meant."""
    owners = case.chosen.get(entity.name, [])
    roles = [a.by for a in case.write.actions if a.entity == entity.name and a.by]
    if roles:
        index = next((at for at, by in enumerate(roles) if attribute.name in by), len(owners))
        return owners[index] if index < len(owners) else None
    return owners[min(index, len(owners) - 1)] if owners else None


def _value(case: _Case, change: Change, attribute: Attribute) -> Any:
    if change.value is None:
        return None
    if change.value.param is not None:
        case.param(change.value.param, attribute)
    return value_of(change.value, attribute, case.bench.now, case.given)


def _change(case: _Case, action: Action, entity: Entity, item: Values) -> _Step:
    if action.verb is Verb.DELETE:
        return _Step(action, entity, item, None)
    after = dict(item)
    sets: Values = {}
    adds: Values = {}
    removes: set[str] = set()
    for change in changes(case.write, action, entity):
        attribute = entity.attribute(change.attribute)
        if attribute is None:
            continue
        name = attribute.name
        match change.op:
            case ChangeOp.ADD | ChangeOp.SUBTRACT:
                amount = _value(case, change, attribute) * (1 if change.op is ChangeOp.ADD else -1)
                adds[name] = amount
                after[name] = after.get(name, 0) + amount
            case ChangeOp.REMOVE:
                removes.add(name)
                after.pop(name, None)
            case ChangeOp.APPEND:
                more = [_value(case, change, attribute)] if change.value else case.bench.maker.value(attribute)
                old = after.get(name, set() if attribute.type.kind is Kind.SET else [])
                sets[name] = after[name] = old | set(more) if isinstance(old, set) else [*old, *more]
            case _:
                new = _value(case, change, attribute) if change.value else _other(case, attribute, item.get(name))
                sets[name] = after[name] = new
    return _Step(action, entity, item, after, Changes(sets, adds, frozenset(removes)))


def _other(case: _Case, attribute: Attribute, old: Any) -> Any:
    """Another value than the old one, where the type has one; the same for all items of one call."""
    if attribute.name in case.given:
        return case.given[attribute.name]
    new = case.bench.maker.value(attribute)
    for _ in range(20):
        if new != old:
            break
        new = case.bench.maker.value(attribute)
    case.given[attribute.name] = new
    return new


# --- Doing it -------------------------------------------------------------------------------------------------------


def _do(case: _Case, steps: list[_Step]) -> None:
    bench = case.bench
    outside = [c for c in case.write.checks if c.entity and c.entity not in {s.entity.name for s in steps}]
    if len(steps) == 1 and not outside:
        _send(case, bench.client, steps[0])
        return
    if case.write.atomic is False and not outside:
        for step in steps:
            _send(case, bench.client, step)
        return
    with bench.client.transaction() as transaction:
        for step in steps:
            _send(case, transaction, step)
        for check in outside:
            entity = bench.entity(check.entity)
            item = (case.chosen.get(entity.name) or _pick(case, Action(Verb.UPDATE, entity.name)))[0]
            known = bench.named(entity.name, {a.name: item[a.name] for a in entity.id})
            transaction.check(bench.built.classes[entity.name], where=_where(case, entity, [check]), **known)


def _send(case: _Case, writer: Any, step: _Step) -> None:
    bench, entity = case.bench, step.entity
    cls = bench.built.classes[entity.name]
    if step.action.verb is Verb.CREATE or (step.action.verb is Verb.PUT and _guarded(bench, entity)):
        writer.insert(bench.record(entity.name, step.after or {}))
        return
    where = _where(case, entity, case.write.checks)
    if step.action.verb is Verb.PUT:
        writer.put(bench.record(entity.name, step.after or {}), where=where)
        return
    known = bench.named(entity.name, _known(bench, entity, step))
    if step.action.verb is Verb.DELETE:
        writer.delete(cls, where=where, **known)
        return
    changed = Changes(
        bench.named(entity.name, dict(step.changed.sets)),
        bench.named(entity.name, dict(step.changed.adds)),
        frozenset(bench.named(entity.name, dict.fromkeys(step.changed.removes))),
    )
    writer.apply(cls, changed, where=where, **known)


def _guarded(bench: Bench, entity: Entity) -> bool:
    return any(g.entity == entity.name for g in bench.design.guards) or any(
        i.entity == entity.name for i in bench.design.copies
    )


def _known(bench: Bench, entity: Entity, step: _Step) -> Values:
    """What an application has to know of an item that it changes: its key, and what its other keys are made of."""
    facets = [f for f in bench.facets if f.entity == entity.name]
    needed = {name for f in facets if f.slot == "table" for name in f.attributes}
    touched = step.changed.names
    for facet in facets:
        if touched & set(facet.attributes):
            needed |= set(facet.attributes) - touched
    for guard in bench.design.guards:
        if guard.entity == entity.name and (step.after is None or touched & set(guard.attributes)):
            needed |= set(guard.attributes)
    before = step.before or {}
    return {name: before[name] for name in sorted(needed) if name in before}


def _where(case: _Case, entity: Entity, checks: Any) -> Callable[[Any], Any] | None:
    own = []
    for check in checks:
        attribute = entity.attribute(check.attribute) if check.entity in {"", entity.name} else None
        if check.kind is CheckKind.COMPARE and attribute is not None and check.op is not None:
            own.append(
                (check.op, case.bench.built.names[entity.name][attribute.name], _operands(case, check, attribute))
            )
    if not own:
        return None
    return lambda record: reduce(and_, (test(op, getattr(record, name), values) for op, name, values in own))


# --- Looking at what came of it -------------------------------------------------------------------------------------


def _keep(bench: Bench, step: _Step) -> None:
    items = bench.items[step.entity.name]
    if step.before is not None:
        items[:] = [i for i in items if i is not step.before]
        if step.after is not None:
            items.append(step.after)


def _difference(bench: Bench, steps: list[_Step]) -> str:
    """What is not as it should be after the write; empty where all is."""
    for step in steps:
        item = step.after or step.before or {}
        base = next(f for f in bench.facets if f.entity == step.entity.name and f.slot == "table")
        key = bench.named(step.entity.name, {name: item[name] for name in base.attributes})
        record = bench.client.get(bench.built.classes[step.entity.name], consistent=True, **key)
        found = bench.values(record)[1] if record is not None else None
        if found != (step.after and {k: v for k, v in step.after.items() if v is not None}):
            return f"{step.entity.name} is {found} instead of {step.after}"
    return ""
