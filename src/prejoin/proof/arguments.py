"""The arguments of repository methods: from the inputs of a read, or from the items of a write."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from prejoin.design.mapping.addressing import NEW, links
from prejoin.design.mapping.shared_values import shared_inputs
from prejoin.proof.write_cases import WriteCase, WriteStep
from prejoin.render.python.method import InputValue, KnownValue, Method, Option, Param, RecordValue
from prejoin.table.update.changes import Changes
from prejoin.workload.follow_links import follow_links
from prejoin.workload.lookup import target
from prejoin.workload.model import Action, ChangeOp, Op, Value, Verb

Record = Callable[[str, Mapping[str, Any]], Any]
"""Makes an object of an entity from values by the document's names."""


class NoArgumentsError(Exception):
    """No arguments of the method describe these items: values that would have to agree do not."""


def read_arguments(method: Method, inputs: Mapping[str, Any], now: datetime) -> dict[str, Any]:
    """The arguments by which a method reads with these inputs."""
    found: dict[str, Any] = {}
    for param in method.params:
        match param.meaning:
            case InputValue(name, end) if name in inputs:
                value = inputs[name]
                found[param.name] = value[0] if end == "low" else value[1] if end == "high" else value
            case Option("now"):
                found[param.name] = now
    return found


def write_arguments(method: Method, case: WriteCase, steps: Sequence[WriteStep], record: Record) -> dict[str, Any]:
    """The arguments by which a method does these steps."""
    found = {param.name: _argument(param, case, steps, record) for param in method.params}
    optional = {param.name for param in method.params if param.default}
    return {name: value for name, value in found.items() if value is not None or name not in optional}


def tenant_of_steps(case: WriteCase, steps: Sequence[WriteStep]) -> Any:
    """The tenant for whom a write is done; None if the table has none."""
    tenant = case.sample.workload.tenant
    if tenant is None:
        return None
    items = [item for step in steps for item in (step.after, step.before) if item and tenant.attribute in item]
    return items[0][tenant.attribute] if items else case.inputs.get(tenant.attribute)


def refer_to_checked(case: WriteCase, steps: Sequence[WriteStep]) -> list[WriteStep]:
    """The steps, with references to the items that the write checks: methods take the keys of these from there.

    Attributes that follow such an item have its values.
    """
    return [_referring(case, step) for step in steps]


def _referring(case: WriteCase, step: WriteStep) -> WriteStep:
    named: dict[str, Any] = {}
    for attribute in step.entity.attributes:
        held = target(case.sample.workload, attribute)
        for name, item in case.checked.items():
            ids = {a.name for a in case.sample.entity(name).id}
            own = held[1].name if held and held[0].name == name else attribute.name if attribute.name in ids else ""
            if own and attribute.name in (step.after or {}):
                named[attribute.name] = item.get(own)
    for one in follow_links(case.sample.workload):
        if one.entity is step.entity and one.source.name in case.checked:
            source = case.checked[one.source.name]
            named |= {own: source.get(origin) for own, origin in one.attributes.items()}
            case.inputs |= {own: named[own] for own in one.attributes if own in case.inputs}
    if step.action.verb in NEW:
        after = {**(step.after or {}), **named}
        return replace(step, after={name: value for name, value in after.items() if value is not None})
    sets = {n: v for n, v in named.items() if n in step.changed.sets}
    changed = Changes({**step.changed.sets, **sets}, step.changed.adds, step.changed.removes)
    return replace(step, changed=changed, after={**step.after, **sets} if step.after else None)


def check_agreement(case: WriteCase, steps: Sequence[WriteStep]) -> None:
    """Raises `NoArgumentsError` where one input would need two values: a broken item may not fit the others."""
    for one in case.write.inputs:
        name = one.attribute
        values = list(_values(name, case, steps))
        if one.many:
            new = [s.after.get(name) for s in steps if s.action.verb in NEW and s.action.many and s.after]
            if new and values and sorted(map(str, new)) != sorted(map(str, values)):
                raise NoArgumentsError(name)
            continue
        values += [s.after[name] for s in steps if s.after and name in s.after and _shares(case, s, name)]
        if any(value != values[0] for value in values):
            raise NoArgumentsError(name)


def _shares(case: WriteCase, step: WriteStep, name: str) -> bool:
    """Whether a new item takes an attribute from the input of that name. Of many, each may have its own value."""
    if step.action.verb not in NEW:
        return False
    shared = shared_inputs(case.sample.workload, case.write, step.action)
    return not step.action.many or any(attribute.name == name for attribute in shared)


def _argument(param: Param, case: WriteCase, steps: Sequence[WriteStep], record: Record) -> Any:
    match param.meaning:
        case Option(name):
            return case.sample.now if name == "now" else None
        case RecordValue(entity, many):
            own = [s for s in steps if s.entity.name == entity]
            new = [record(entity, s.after or {}) for s in own if s.action.verb in NEW]
            records = new or [record(entity, s.item) for s in own]
            return records if many else records[0]
        case KnownValue(entity, attribute, many, new_):
            if entity in case.checked:
                return case.checked[entity].get(attribute)
            own = [s for s in steps if s.entity.name == entity and s.action.verb not in NEW]
            values = [_new(s, attribute) if new_ else s.item.get(attribute) for s in own]
            return values if many else values[0]
        case InputValue(name, _, many):
            compared = any(c.op is Op.EQ and Value(param=name) in c.values for c in case.write.checks)
            if compared and name in case.inputs:
                return case.inputs[name]  # a condition compares with it: the items may have something else
            values = list(_values(name, case, steps))
            if many:
                return values or [case.inputs[name]] * max(1, sum(s.action.many for s in steps))
            return values[0] if values else case.inputs.get(name)


def _values(name: str, case: WriteCase, steps: Sequence[WriteStep]) -> Iterator[Any]:
    """The values of an input, from the items that take theirs from it."""
    workload = case.sample.workload
    several = any(one.many for one in case.write.inputs if one.attribute == name)
    for step in steps:
        linked = links(workload, case.write, step.action, step.entity)
        attribute = next((a for a, source in linked.items() if source == name), None)
        if attribute is not None and step.action.verb not in NEW and (step.action.many or not several):
            yield step.item.get(attribute)
    for entity, item in case.checked.items():
        linked = links(workload, case.write, Action(Verb.UPDATE, entity), case.sample.entity(entity))
        yield from (item.get(a) for a, source in linked.items() if source == name)
    if not several:
        for step in steps:
            if step.action.updates and name in step.changed.sets and name not in case.lists:
                yield _new(step, name)


def _new(step: WriteStep, attribute: str) -> Any:
    """The argument for an attribute: its new value, or the value to append."""
    new, old = step.changed.sets.get(attribute), (step.before or {}).get(attribute)
    appended = any(c.attribute == attribute and c.op is ChangeOp.APPEND for c in step.action.changes)
    return new[len(old) :] if appended and isinstance(new, list) and old else new
