"""Conditions broken on purpose: each has to be refused, with nothing written."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from prejoin.design.mapping.addressing import links
from prejoin.proof.arguments import (
    NoArgumentsError,
    check_agreement,
    refer_to_checked,
    tenant_of_steps,
    write_arguments,
)
from prejoin.proof.data import Values
from prejoin.proof.expected_table import State
from prejoin.proof.sample_table import REFUSALS, Bench
from prejoin.proof.write_cases import Case, NothingFitsError, Step, about, steps_of, violating
from prejoin.render.python.method import Method
from prejoin.table import Changes, ConditionFailed, TooMany, TransactionCancelled
from prejoin.workload.lookup import root, target
from prejoin.workload.model import Action, Check, CheckKind, Entity, Op, Verb

REFUSED = (ConditionFailed, TransactionCancelled)


def provoke(bench: Bench, state: State, fresh: Case, method: Method) -> tuple[tuple[str, ...], str]:
    """The conditions of a write that were broken, and what was wrong with one: it was done, or done in part."""
    tried: list[str] = []
    for what, case, steps, done in _broken(bench, state, fresh):
        try:
            check_agreement(case, steps)
            arguments = write_arguments(method, case, steps, bench.package.record)
        except NoArgumentsError:
            continue  # the broken item does not fit the others: no call of the method says so
        try:
            bench.calls.clear()
            bench.run(method, arguments, tenant_of_steps(case, steps))
        except REFUSED:
            pass
        except TooMany:
            continue
        except LookupError:
            if not case.found_first:
                raise
        except REFUSALS as problem:
            return tuple(tried), f"{what}: {problem}"
        except ValueError:
            if bench.calls:
                raise
            continue  # the broken item belongs to another than the rest: refused before anything was sent
        else:
            return tuple(tried), f"{what}, and it was not refused"
        for step in done:
            keep(bench, state, step)
        if wrong := state.difference():
            return tuple(tried), f"{what}: it was refused, and yet something was written: {wrong}"
        tried.append(what)
    return tuple(tried), ""


def _broken(bench: Bench, state: State, fresh: Case) -> Iterator[tuple[str, Case, Sequence[Step], Sequence[Step]]]:
    """Calls that break one condition: what is broken, the steps, and those of them that are done all the same."""
    case, first = steps_again(bench, state, fresh)
    for at, usual in enumerate(first):
        for break_ in _breaks(case, usual):
            try:
                case, steps = steps_again(bench, state, fresh)
            except NothingFitsError:
                continue
            if at >= len(steps):
                continue
            found = break_(bench, state, case, steps[at])
            if found is not None:
                what, step = found
                compared = {c.attribute for c in case.write.checks if break_ is _unmet and about(c, step.entity)}
                inputs = links(bench.workload, case.write, step.action, step.entity)
                variables = _changed(bench, step.entity, steps[at].item, step.item, inputs, compared)
                others = _follow(case, (other for other in steps if other is not steps[at]), variables)
                yield what, case, [step, *others], _done_before(state, case, step, steps[:at], others)
    for name in case.checked:
        case, steps = steps_again(bench, state, fresh)
        entity, item = bench.entity(name), case.checked[name]
        if name in case.absent:
            bench.maker.keep(entity, item)
            _place(bench, state, entity, item)
            yield f"{_one(entity)} that must not be there", case, steps, ()
            continue
        if name in case.found_first:
            continue  # nothing would be sent: it is not found
        nobody = bench.maker.another(entity, _same_tenant(bench, item))
        if nobody is not None:
            inputs = links(bench.workload, case.write, Action(Verb.UPDATE, name), entity)
            variables = _changed(bench, entity, item, nobody, inputs)
            steps = _follow(case, steps, variables)
            case.checked[name] = nobody
            yield f"no {name} that it depends on", case, refer_to_checked(case, steps), ()


def _breaks(case: Case, step: Step) -> list[_Break]:
    """The ways in which a step may break a condition."""
    verb, entity = step.action.verb, step.entity
    unique = entity.unique or any(a.unique and not a.id for a in entity.attributes)
    compared = any(check.values and about(check, entity) for check in case.write.checks)
    ways = (
        (_taken, verb is Verb.CREATE),
        (_missing, verb in (Verb.UPDATE, Verb.DELETE)),
        (_not_unique, unique and verb is not Verb.DELETE),
        (_unmet, compared and verb is not Verb.CREATE),
    )
    return [break_ for break_, possible in ways if possible]


_Break = Callable[[Bench, State, Case, Step], tuple[str, Step] | None]
"""Breaks a condition: says what is broken, and gives the step that does so."""
Variables = dict[tuple[str, str] | str, tuple[Any, Any]]
"""Old and new values, by the name of an input, or by the entity and attribute that they come from."""


def _changed(
    bench: Bench, entity: Entity, old: Values, new: Values, inputs: Mapping[str, str], aside: Collection[str] = ()
) -> Variables:
    """The variables of a call that are others where one item is another. What stands `aside` is only this item's."""
    found: Variables = {}
    for attribute in entity.attributes:
        name = attribute.name
        values = (old.get(name), new.get(name))
        if name not in aside and values[0] is not None and values[0] != values[1]:
            found[root(bench.workload, entity, attribute)] = values
            if name in inputs:
                found[inputs[name]] = values
    return found


def _follow(case: Case, steps: Iterable[Step], variables: Variables) -> list[Step]:
    """The steps, with the items that they would be about if these variables had their new values."""
    for name, item in case.checked.items():
        case.checked[name] = _renewed(case, case.bench.entity(name), Action(Verb.UPDATE, name), item, variables)
    for variable, (old, new) in variables.items():
        if isinstance(variable, str) and variable in case.given and case.given[variable] == old:
            case.given[variable] = new
    found = []
    for step in steps:
        before, after = (
            item and _renewed(case, step.entity, step.action, item, variables) for item in (step.before, step.after)
        )
        inputs = {name: name for name in step.changed.sets}
        sets = _renewed_values(case, step.entity, dict(step.changed.sets), inputs, variables)
        changed = Changes(sets, step.changed.adds, step.changed.removes)
        found.append(replace(step, before=before, after=after, changed=changed))
    return found


def _renewed(case: Case, entity: Entity, action: Action, item: Values, variables: Variables) -> Values:
    return _renewed_values(case, entity, item, links(case.bench.workload, case.write, action, entity), variables)


def _renewed_values(
    case: Case, entity: Entity, values: Values, inputs: Mapping[str, str], variables: Variables
) -> Values:
    new: Values = {}
    for attribute in entity.attributes:
        name = attribute.name
        for variable in (inputs.get(name, ""), root(case.bench.workload, entity, attribute)):
            if variable in variables and values.get(name) == variables[variable][0]:
                new[name] = variables[variable][1]
    return {**values, **new} if new else values


def _done_before(state: State, case: Case, step: Step, earlier: Sequence[Step], others: Sequence[Step]) -> list[Step]:
    """The steps that are done before the broken one is refused: none in a transaction."""
    done: list[Step] = []
    if case.write.atomic is not False or case.checked:
        return done
    for one, other in zip(earlier, others, strict=False):
        taken = other.before is None and not state.items.keys().isdisjoint(state.of(other.entity.name, other.item))
        if one.action is step.action or other.before is not one.before or taken:
            break  # it is refused itself
        done.append(other)
    return done


def _same_tenant(bench: Bench, item: Values) -> Values:
    tenant = bench.workload.tenant
    return {tenant.attribute: item[tenant.attribute]} if tenant and tenant.attribute in item else {}


def steps_again(bench: Bench, state: State, fresh: Case) -> tuple[Case, list[Step]]:
    """A case as right as the first, on the data as it is now."""
    case = Case(bench, fresh.write, fresh.operation, fresh.turn)
    steps = refer_to_checked(case, steps_of(case))
    supply(bench, state, case)
    return case, steps


def supply(bench: Bench, state: State, case: Case) -> None:
    """Puts into the table what has to be there first, and deletes what must not be there."""
    for entity, item in case.made:
        _place(bench, state, entity, item)
    case.made.clear()
    for entity, item in case.gone:
        key = bench.package.named(entity.name, {name: item.get(name) for name in bench.base(entity)})
        bench.unobserved.delete(bench.package.classes[entity.name], read=True, **key)
        kept = bench.maker.made[entity.name]
        kept[:] = [one for one in kept if one is not item]
        bench.maker.release(entity, item)
        state.replace(entity.name, item, None)
    case.gone.clear()


def keep(bench: Bench, state: State, step: Step) -> None:
    """Follows a step that was done, in the data and in what the table should hold."""
    items = bench.maker.made[step.entity.name]
    if step.before is not None:
        items[:] = [i for i in items if i is not step.before]
    if step.after is not None:
        items.append(step.after)
        bench.maker.reserve(step.entity, step.after)
    state.replace(step.entity.name, step.before, step.after)


def _place(bench: Bench, state: State, entity: Entity, item: Values) -> None:
    """Puts an item into the table: a new one, or the only one there is."""
    record = bench.package.record(entity.name, item)
    bench.unobserved.put(record) if entity.singleton else bench.unobserved.insert(record)
    state.replace(entity.name, None, item)


def _taken(bench: Bench, state: State, case: Case, step: Step) -> tuple[str, Step] | None:
    """A new item with the key of one that is there."""
    if step.action.verb is not Verb.CREATE:
        return None
    own = step.item
    ids = {a.name for a in step.entity.id} | set(bench.base(step.entity))
    siblings = [item for entity, item in case.new if entity is step.entity and any(item[n] != own[n] for n in ids)]
    # What tells the new items apart has to do so afterwards.
    apart = {(n, item.get(n)) for item in siblings for n in ids if item.get(n) != own.get(n)}
    other = next(
        (i for i in bench.items.get(step.entity.name, []) if apart.isdisjoint((n, i.get(n)) for n in ids)), None
    )
    if other is None:
        return None
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
    nobody = bench.maker.another(entity, _same_tenant(bench, step.before))
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
