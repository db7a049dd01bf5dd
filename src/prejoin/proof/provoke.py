"""Conditions broken on purpose: each has to be refused, with nothing written."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from prejoin.proof.bench import REFUSALS, Bench
from prejoin.proof.data import Values
from prejoin.proof.doing import do, send
from prejoin.proof.state import State
from prejoin.proof.steps import Case, NothingFitsError, Step, about, steps_of, violating
from prejoin.table import ConditionFailed, TransactionCancelled
from prejoin.workload.lookup import target
from prejoin.workload.model import Check, CheckKind, Entity, Op, Verb

REFUSED = (ConditionFailed, TransactionCancelled)


def provoke(bench: Bench, state: State, fresh: Case) -> tuple[tuple[str, ...], str]:
    """The conditions of a write that were broken, and what was wrong with one: it was done, or done in part."""
    tried: list[str] = []
    for what, case, steps in _broken(bench, state, fresh):
        try:
            if len(steps) > 1 and case.write.atomic is False and not case.checked:
                send(case, bench.client, steps[0])  # each is alone: the broken one comes first
            else:
                do(case, steps)
        except REFUSED:
            pass
        except REFUSALS as problem:
            return tuple(tried), f"{what}: {problem}"
        else:
            return tuple(tried), f"{what}, and it was not refused"
        if wrong := state.difference():
            return tuple(tried), f"{what}: it was refused, and yet something was written: {wrong}"
        tried.append(what)
    return tuple(tried), ""


def _broken(bench: Bench, state: State, fresh: Case) -> Iterator[tuple[str, Case, Sequence[Step]]]:
    """Calls of the write that differ from right ones in one thing."""
    actions = len(steps_again(bench, state, fresh)[1])
    for at in range(actions):
        for break_ in (_taken, _missing, _not_unique, _unmet):
            try:
                case, steps = steps_again(bench, state, fresh)
            except NothingFitsError:
                continue
            if at >= len(steps):
                continue
            found = break_(bench, state, case, steps[at])
            if found is not None:
                what, step = found
                yield what, case, [step, *(s for s in steps if s is not steps[at])]
    for name in steps_again(bench, state, fresh)[0].checked:
        case, steps = steps_again(bench, state, fresh)
        entity = bench.entity(name)
        if name in case.absent:
            item = case.checked[name]
            bench.maker.keep(entity, item)
            _place(bench, state, entity, item)
            yield f"{_one(entity)} that must not be there", case, steps
            continue
        if name in case.found_first:
            continue  # nothing would be sent: it is not found
        nobody = bench.maker.another(entity)
        if name in case.checked and nobody is not None:
            case.checked[name] = nobody
            yield f"no {name} that it depends on", case, steps


def steps_again(bench: Bench, state: State, fresh: Case) -> tuple[Case, list[Step]]:
    """A case as right as the first, on the data as it is now."""
    case = Case(bench, fresh.write, fresh.operation, fresh.turn)
    steps = steps_of(case)
    supply(bench, state, case)
    return case, steps


def supply(bench: Bench, state: State, case: Case) -> None:
    """Puts into the table what has to be there first, and deletes what must not be there."""
    for entity, item in case.made:
        _place(bench, state, entity, item)
    case.made.clear()
    for entity, item in case.gone:
        base = next(f for f in bench.facets if f.entity == entity.name and f.slot == "table" and not f.copy)
        key = bench.named(entity.name, {name: item.get(name) for name in base.attributes})
        bench.client.delete(bench.built.classes[entity.name], read=True, **key)
        kept = bench.maker.made[entity.name]
        kept[:] = [one for one in kept if one is not item]
        bench.maker.release(entity, item)
        state.replace(entity.name, item, None)
    case.gone.clear()


def _place(bench: Bench, state: State, entity: Entity, item: Values) -> None:
    """Puts an item into the table: a new one, or the only one there is."""
    record = bench.record(entity.name, item)
    bench.client.put(record) if entity.singleton else bench.client.insert(record)
    state.replace(entity.name, None, item)


def _taken(bench: Bench, state: State, case: Case, step: Step) -> tuple[str, Step] | None:
    """A new item with the key of one that is there."""
    if step.action.verb is not Verb.CREATE or not bench.items.get(step.entity.name):
        return None
    other = bench.items[step.entity.name][0]
    base = next(f for f in bench.facets if f.entity == step.entity.name and f.slot == "table" and not f.copy)
    ids = {a.name for a in step.entity.id} | set(base.attributes)
    after = {**(step.after or {}), **{name: other[name] for name in ids if name in other}}
    return f"{_one(step.entity)} that is there already", replace(step, after=after)


def _missing(bench: Bench, state: State, case: Case, step: Step) -> tuple[str, Step] | None:
    """A change of an item that is not there."""
    entity = step.entity
    if step.before is None or entity.singleton or entity.name in case.found_first:
        return None
    asked = [c for c in case.write.checks if c.entity == entity.name or (not c.entity and _is_first(case, entity))]
    if step.action.verb is Verb.DELETE and not any(_is_of_something(c) for c in asked):
        return None
    if step.action.verb is Verb.PUT:
        return None
    nobody = bench.maker.another(entity)
    if nobody is None:
        return None
    return f"{_one(entity)} that is not there", replace(step, before=nobody)


def _is_of_something(check: Check) -> bool:
    """Whether a condition is false where there is nothing: what is not there is unlike everything."""
    compared = check.kind is CheckKind.COMPARE and check.op not in (Op.NE, Op.NOT_EXISTS)
    return compared or check.kind is CheckKind.EXISTS


def _is_first(case: Case, entity: Entity) -> bool:
    first = case.write.entities[0] if case.write.entities else case.write.actions[0].entity
    return first == entity.name


def _not_unique(bench: Bench, state: State, case: Case, step: Step) -> tuple[str, Step] | None:
    """A value that another item has, of an attribute that is unique."""
    entity = step.entity
    groups = [(a.name,) for a in entity.attributes if a.unique and not a.id] + list(entity.unique)
    for group in groups:
        written = set(group) & set(step.changed.sets) if step.before is not None else set(group)
        others = [i for i in bench.items.get(entity.name, []) if i is not step.before and set(group) <= set(i)]
        if step.after is None or not written or not others or step.action.verb is Verb.DELETE:
            continue
        taken = {name: others[0][name] for name in group}
        what = f"{_one(entity)} with the {' and '.join(group)} of another"
        if step.action.verb is not Verb.UPDATE:
            return what, replace(step, after={**step.after, **taken})
        if written == set(group):
            return what, _setting(step, taken)
    return None


def _setting(step: Step, values: Values) -> Step:
    sets: dict[str, Any] = {**dict(step.changed.sets), **values}
    return replace(step, changed=type(step.changed)(sets, step.changed.adds, step.changed.removes))


def _unmet(bench: Bench, state: State, case: Case, step: Step) -> tuple[str, Step] | None:
    """An item for which a condition does not hold."""
    if step.before is None:
        return None
    for check in case.write.checks:
        attribute = about(check, step.entity)
        if attribute is None:
            continue
        value = violating(case, check, attribute)
        if value is None:
            continue
        known = {**step.before, attribute.name: value}
        own = {a.name for a in step.entity.id if target(bench.workload, a) is None}
        kept = {n: v for n, v in known.items() if n not in own and not _unique(step.entity, n)}
        item = bench.maker.another(step.entity, kept)
        if item is None:
            continue
        bench.maker.keep(step.entity, item)
        _place(bench, state, step.entity, item)
        return f"{step.entity.name}.{attribute.name} not as the condition says", replace(step, before=item)
    return None


def _one(entity: Entity) -> str:
    return f"{'an' if entity.name[0] in 'AEIOU' else 'a'} {entity.name}"


def _unique(entity: Entity, name: str) -> bool:
    attribute = entity.attribute(name)
    return bool(attribute and attribute.unique) or any(name in group for group in entity.unique)
