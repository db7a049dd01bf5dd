"""Violations: calls of a write that break one of its conditions. Each has to be refused, with nothing written."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from operator import itemgetter
from typing import Any

from prejoin.design.counters import is_spread
from prejoin.design.mapping.addressing import links
from prejoin.proof.arguments import (
    NoArgumentsError,
    check_agreement,
    refer_to_checked,
    tenant_of_steps,
    write_arguments,
)
from prejoin.proof.data import Values
from prejoin.proof.expected_table import ExpectedTable
from prejoin.proof.sample_table import REFUSALS, SampleTable
from prejoin.proof.write_cases import NothingFitsError, WriteCase, WriteStep, about, steps_of, violating
from prejoin.render.python.method import Method
from prejoin.table.errors import ConditionFailed, TooMany, TransactionCancelled
from prejoin.table.update.changes import Changes
from prejoin.workload.lookup import root, target
from prejoin.workload.model import VERSION, Action, Check, CheckKind, Entity, Op, Verb


@dataclass(frozen=True, slots=True)
class ConditionViolation:
    """A call of a write that breaks one condition."""

    text: str
    """The broken condition: `an Order that is there already`."""
    case: WriteCase
    steps: Sequence[WriteStep]
    done: Sequence[WriteStep] = ()
    """The steps that are done before the call is refused: only those of writes without a transaction."""


def prove_violations(
    sample: SampleTable, expected: ExpectedTable, usual: WriteCase, method: Method
) -> tuple[tuple[str, ...], str]:
    """Breaks the conditions of a write one by one; gives those that were refused, and what was wrong with one."""
    refused: list[str] = []
    for one in _violations(sample, expected, usual):
        try:
            check_agreement(one.case, one.steps)
            arguments = write_arguments(method, one.case, one.steps, sample.package.record)
        except NoArgumentsError:
            continue  # the item that breaks the condition does not fit the others: the method cannot be called so
        try:
            sample.calls.clear()
            sample.run(method, arguments, tenant_of_steps(one.case, one.steps))
        except (ConditionFailed, TransactionCancelled):
            pass
        except TooMany:
            continue
        except LookupError:
            if not one.case.found_first:
                raise
        except REFUSALS as error:
            return tuple(refused), f"{one.text}: {error}"
        except ValueError:
            if sample.calls:
                raise
            continue  # the method itself refuses objects that do not belong together, before anything is sent
        else:
            return tuple(refused), f"{one.text}, and it was not refused"
        for step in one.done:
            expected.apply(step)
        if wrong := expected.difference():
            return tuple(refused), f"{one.text}: it was refused, and yet something was written: {wrong}"
        refused.append(one.text)
    return tuple(refused), ""


def _violations(sample: SampleTable, expected: ExpectedTable, usual: WriteCase) -> Iterator[ConditionViolation]:
    case, usual_steps = _next_case(expected, usual)
    for at, step in enumerate(usual_steps):
        for violate in _possible_violations(case, step):
            try:
                case, steps = _next_case(expected, usual)
            except NothingFitsError:
                continue
            if at < len(steps) and (found := violate(sample, expected, case, steps[at])):
                text, broken = found
                compared = {c.attribute for c in case.write.checks if violate is _unmet and about(c, broken.entity)}
                inputs = dict(links(sample.workload, case.write, broken.action, broken.entity))
                # `create Change (at = changedAt)`: its key may have the value of an input of another name.
                inputs |= {c.attribute: c.value.param for c in broken.action.changes if c.value and c.value.param}
                changed = _changed_variables(sample, broken.entity, steps[at].item, broken.item, inputs, compared)
                rest = [other for other in steps if other is not steps[at]]
                others = _substitute(case, rest, changed)
                done = _done_before(expected, case, broken, at, list(zip(rest, others, strict=True)))
                yield ConditionViolation(text, case, [broken, *others], done)
    for name in case.checked:
        case, steps = _next_case(expected, usual)
        entity, item = sample.entity(name), case.checked[name]
        if name in case.absent:
            sample.generator.keep(entity, item)
            expected.insert(entity, item)
            yield ConditionViolation(f"{_one(entity)} that must not be there", case, steps)
            continue
        if name in case.found_first:
            continue  # nothing would be sent: it is not found
        unknown = sample.generator.another(entity, _same_tenant(sample, item))
        if unknown is not None:
            inputs = links(sample.workload, case.write, Action(Verb.UPDATE, name), entity)
            steps = _substitute(case, steps, _changed_variables(sample, entity, item, unknown, inputs))
            case.checked[name] = unknown
            yield ConditionViolation(f"no {name} that it depends on", case, refer_to_checked(case, steps))


def _next_case(expected: ExpectedTable, usual: WriteCase) -> tuple[WriteCase, list[WriteStep]]:
    """A case that breaks no condition, on the data as it is now."""
    case = WriteCase(usual.sample, usual.write, usual.operation, usual.turn)
    steps = refer_to_checked(case, steps_of(case))
    expected.prepare(case)
    return case, steps


# --- A call of which one item is another ------------------------------------------------------------------------------
#
# A call says each value once: who comments on a post that does not exist gives the same post in the comment and in the
# update of its counter. So where the item of one step is another, the items of the other steps follow it.

Variables = dict[tuple[str, str] | str, tuple[Any, Any]]
"""Old and new values, by the name of an input, or by the entity and attribute that they come from."""


def _changed_variables(
    sample: SampleTable,
    entity: Entity,
    old: Values,
    new: Values,
    inputs: Mapping[str, str],
    aside: Collection[str] = (),
) -> Variables:
    """The variables of a call that change with one item; the attributes `aside` are its own."""
    found: Variables = {}
    for attribute in entity.attributes:
        name = attribute.name
        values = (old.get(name), new.get(name))
        if name not in aside and values[0] is not None and values[0] != values[1]:
            found[root(sample.workload, entity, attribute)] = values
            if name in inputs:
                found[inputs[name]] = values
    return found


def _substitute(case: WriteCase, steps: Iterable[WriteStep], changed: Variables) -> list[WriteStep]:
    """The steps with the new values of variables; the inputs and checked items of the case get them, too."""
    for name, item in case.checked.items():
        linked = links(case.sample.workload, case.write, Action(Verb.UPDATE, name), case.sample.entity(name))
        case.checked[name] = _substituted(case, case.sample.entity(name), item, linked, changed)
    for variable, (old, new) in changed.items():
        if isinstance(variable, str) and variable in case.inputs and case.inputs[variable] == old:
            case.inputs[variable] = new
    found = []
    for step in steps:
        linked = links(case.sample.workload, case.write, step.action, step.entity)
        before, after = (
            item and _substituted(case, step.entity, item, linked, changed) for item in (step.before, step.after)
        )
        named = {name: name for name in step.changed.sets}
        sets = _substituted(case, step.entity, dict(step.changed.sets), named, changed)
        changes = Changes(sets, step.changed.adds, step.changed.removes)
        found.append(replace(step, before=before, after=after, changed=changes))
    return found


def _substituted(
    case: WriteCase, entity: Entity, values: Values, inputs: Mapping[str, str], changed: Variables
) -> Values:
    """Values of an item with the new values of variables; the same object if it has none of them."""
    new: Values = {}
    for attribute in entity.attributes:
        name = attribute.name
        for variable in (inputs.get(name, ""), root(case.sample.workload, entity, attribute)):
            if variable in changed and values.get(name) == changed[variable][0]:
                new[name] = changed[variable][1]
    return {**values, **new} if new else values


def _done_before(
    expected: ExpectedTable,
    case: WriteCase,
    broken: WriteStep,
    at: int,
    others: Sequence[tuple[WriteStep, WriteStep]],
) -> list[WriteStep]:
    """The steps that are done before the broken one is refused, in the order of their requests: none in a transaction.

    `at` is the broken step's place in the write, and each other step is given as it was and as it is.
    """
    done: list[WriteStep] = []
    if case.write.atomic is not False or case.checked:
        return done
    last = (_request_number(case, broken), at)
    places = [(_request_number(case, one), n + (n >= at)) for n, (one, _) in enumerate(others)]
    for place, (one, other) in sorted(zip(places, others, strict=True), key=itemgetter(0)):
        there = expected.items.keys() & expected.of(other.entity.name, other.item).keys()
        if place > last or one.action is broken.action:
            break
        if other.before is not one.before or (other.before is None and there):
            break  # it is refused itself
        done.append(other)
    return done


def _request_number(case: WriteCase, step: WriteStep) -> int:
    """The number of the request that writes the item of a step. Updates are sent before batches."""
    for number, request in enumerate(case.operation.requests):
        if any(action.target.entity == step.entity.name for action in request.actions):
            return number
    return 0


def _same_tenant(sample: SampleTable, item: Values) -> Values:
    tenant = sample.workload.tenant
    return {tenant.attribute: item[tenant.attribute]} if tenant and tenant.attribute in item else {}


# --- Ways to break a condition ----------------------------------------------------------------------------------------

_Violate = Callable[[SampleTable, ExpectedTable, WriteCase, WriteStep], tuple[str, WriteStep] | None]
"""Breaks a condition: gives its text, and the step that breaks it; None where the data has no item for that."""


def _possible_violations(case: WriteCase, step: WriteStep) -> list[_Violate]:
    verb, entity = step.action.verb, step.entity
    unique = entity.unique or any(a.unique and not a.id for a in entity.attributes)
    compared = any(check.values and about(check, entity) for check in case.write.checks)
    ways = (
        (_taken, verb is Verb.CREATE),
        (_missing, verb in (Verb.UPDATE, Verb.DELETE)),
        (_not_unique, unique and verb is not Verb.DELETE),
        (_unmet, compared and verb is not Verb.CREATE),
    )
    return [violate for violate, possible in ways if possible]


def _taken(
    sample: SampleTable, expected: ExpectedTable, case: WriteCase, step: WriteStep
) -> tuple[str, WriteStep] | None:
    """A new item with the key of an existing one."""
    ids = {a.name for a in step.entity.id} | set(sample.base(step.entity))
    # Other new items of the same entity have to remain different from it.
    siblings = [item for entity, item in case.new if entity is step.entity]
    theirs = {(n, item.get(n)) for item in siblings for n in ids if item.get(n) != step.item.get(n)}
    # Ids that are not the same stay so: a transaction writes both users of a follow, and each item only once.
    different = len({step.item.get(n) for n in ids})
    items = [i for i in sample.items.get(step.entity.name, []) if len({i.get(n) for n in ids}) >= different]
    other = next((item for item in items if theirs.isdisjoint((n, item.get(n)) for n in ids)), None)
    if other is None:
        return None
    after = {**(step.after or {}), **{name: other[name] for name in ids if name in other}}
    return f"{_one(step.entity)} that is there already", replace(step, after=after)


def _missing(
    sample: SampleTable, expected: ExpectedTable, case: WriteCase, step: WriteStep
) -> tuple[str, WriteStep] | None:
    """A change of an item that does not exist."""
    entity = step.entity
    if step.before is None or entity.singleton or entity.name in case.found_first:
        return None
    if is_spread(sample.design.counters, case.write, step.action, entity):
        return None  # it writes shards, and not the item
    own = [c for c in case.write.checks if c.entity == entity.name or (not c.entity and _is_first(case, entity))]
    if step.action.verb is Verb.DELETE and not any(_needs_item(check) for check in own):
        return None
    # Other attributes stay: what they refer to may be written in the same transaction, each item once.
    kept = {a.name: step.before[a.name] for a in entity.attributes if not a.id and a.name in step.before}
    kept = {name: value for name, value in kept.items() if not _unique(entity, name)}
    unknown = sample.generator.another(entity, {**kept, **_same_tenant(sample, step.before)})
    return None if unknown is None else (f"{_one(entity)} that is not there", replace(step, before=unknown))


def _needs_item(check: Check) -> bool:
    """Whether a condition is false of an item that does not exist; `<>` is true of it."""
    compared = check.kind is CheckKind.COMPARE and check.op not in (Op.NE, Op.NOT_EXISTS)
    return compared or check.kind is CheckKind.EXISTS


def _is_first(case: WriteCase, entity: Entity) -> bool:
    return case.write.first_entity == entity.name


def _not_unique(
    sample: SampleTable, expected: ExpectedTable, case: WriteCase, step: WriteStep
) -> tuple[str, WriteStep] | None:
    """A unique value that another item has."""
    entity = step.entity
    groups = [(a.name,) for a in entity.attributes if a.unique and not a.id] + list(entity.unique)
    for group in groups:
        written = set(group) & set(step.changed.sets) if step.before is not None else set(group)
        if step.after is None or not written:
            continue
        # Items of two tenants may have the same id: with the tenant of the other it would be that item.
        same = {name: step.after.get(name) for a in entity.id if (name := a.name) not in group}
        others = [
            i
            for i in sample.items.get(entity.name, [])
            if i is not step.before and set(group) <= set(i) and any(i.get(name) != same[name] for name in same)
        ]
        if not others:
            continue
        taken = {name: others[0][name] for name in group}
        what = f"{_one(entity)} with the {' and '.join(group)} of another"
        if not step.action.updates:
            return what, replace(step, after={**step.after, **taken})
        if written == set(group):
            changes = Changes({**step.changed.sets, **taken}, step.changed.adds, step.changed.removes)
            return what, replace(step, changed=changes)
    return None


def _unmet(
    sample: SampleTable, expected: ExpectedTable, case: WriteCase, step: WriteStep
) -> tuple[str, WriteStep] | None:
    """An item for which a condition does not hold."""
    if step.before is None:
        return None
    for check in case.write.checks:
        attribute = about(check, step.entity)
        if attribute is None:
            continue
        if step.entity.history and attribute.name == VERSION:
            # An item begins with version 1, so the caller has another one, of an item that was written since.
            case.inputs[str(check.values[0].param)] = step.before[VERSION] + 1
            return f"another version of {_one(step.entity)}", step
        value = violating(case, check, attribute)
        if value is None:
            continue
        known = {**step.before, attribute.name: value}
        own = {a.name for a in step.entity.id if target(sample.workload, a) is None}
        kept = {n: v for n, v in known.items() if n not in own and not _unique(step.entity, n)}
        item = sample.generator.another(step.entity, {**kept, **_same_tenant(sample, step.before)})
        if item is None:
            continue
        sample.generator.keep(step.entity, item)
        expected.insert(step.entity, item)
        return f"{step.entity.name}.{attribute.name} not as the condition says", replace(step, before=item)
    return None


def _one(entity: Entity) -> str:
    return f"{'an' if entity.name[0] in 'AEIOU' else 'a'} {entity.name}"


def _unique(entity: Entity, name: str) -> bool:
    attribute = entity.attribute(name)
    return bool(attribute and attribute.unique) or any(name in group for group in entity.unique)
