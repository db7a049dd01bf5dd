"""Checks of the values that writes change and compare: what would have no effect, and what could never be true."""

from __future__ import annotations

from collections import Counter
from decimal import Decimal

from prejoin.types import Kind
from prejoin.workload import codes
from prejoin.workload.bounds import must_be_positive
from prejoin.workload.checks.reporter import Reporter
from prejoin.workload.conditions import leaves
from prejoin.workload.grammar.writes import write_checks
from prejoin.workload.lookup import unique_groups
from prejoin.workload.model import (
    Comparison,
    Op,
    Verb,
    Write,
)
from prejoin.workload.program.input_types import attribute_of_input
from prejoin.workload.program.resolved_write import is_absence, resolve_write
from prejoin.workload.read_result import Path


def check_write_values(r: Reporter) -> None:
    for path, pattern in r.patterns():
        if isinstance(pattern, Write):
            _check_changed_twice(r, path, pattern)
            _check_amounts(r, path, pattern)
            _check_absent_items(r, path, pattern)
            _check_unique_values(r, path, pattern)


def _check_changed_twice(r: Reporter, path: Path, write: Write) -> None:
    """`update Seat (n = 1, n = 2)`: DynamoDB changes an attribute once in a request."""
    for action in resolve_write(r.workload, write).actions:
        parts = [action]
        if action.updates and not action.by and not action.many:
            # Two updates of one item become one, which has the changes of both.
            item = (action.verb, action.entity, (), False)
            parts = [other for other in write.actions if (other.verb, other.entity, other.by, other.many) == item]
        counts = Counter(change.attribute for part in parts for change in part.changes)
        for name in [name for name, count in counts.items() if count > 1]:
            message = f"`{action.verb} {action.entity}` changes `{name}` twice"
            fix = f"write one change of `{name}`"
            r.say(codes.CONTRADICTION, (*path, "actions"), message, fix, name)


def _check_unique_values(r: Reporter, path: Path, write: Write) -> None:
    """`create Ticket[] (code = now)`: all items of a list would get the same value, and it is unique."""
    lists = write.list_inputs
    for action in write.actions:
        entity = r.workload.entity(action.entity)
        if entity is None or not action.many:
            continue
        values = {change.attribute: change.value for change in action.changes if change.value is not None}
        tenant = r.workload.tenant_attribute
        shared_values = {name for name, value in values.items() if value.attribute is None and value.param not in lists}
        for group in unique_groups(entity):
            if set(group) - {tenant} <= shared_values:
                name = next(attribute_name for attribute_name in group if attribute_name != tenant)
                message = f"`{name}` is unique, and `{action.verb} {entity.name}[]` sets it to the same value in each"
                fix = "leave it to the objects, or take `unique` away"
                r.say(codes.CONTRADICTION, (*path, "actions"), message, fix, name)


def _check_amounts(r: Reporter, path: Path, write: Write) -> None:
    """A condition that allows only amounts of 0 or less for `-= n`, which has to be more than 0."""
    for change in [change for action in write.actions for change in action.changes]:
        if not must_be_positive(r.workload, write, change):
            continue
        for check in resolve_write(r.workload, write).input_conditions:
            if not isinstance(check, Comparison) or not change.value:
                continue
            if check.attribute == change.value.param and _is_never_positive(r, write, check):
                text = write_checks((check,), frozenset())
                name = check.attribute
                message = (
                    f"the `{name}` of `{change.attribute} -= {name}` is more than 0, and `{text}` allows no such amount"
                )
                fix = f"write `{change.attribute} += …` to add it, or give it a least value: `{name} >= -100`"
                r.say(codes.CONTRADICTION, (*path, "checks"), message, fix, name)


def _is_never_positive(r: Reporter, write: Write, check: Comparison) -> bool:
    const = check.values[0].const if check.values else None
    if const is None or check.op not in (Op.LT, Op.LE):
        return False
    try:
        number = Decimal(const)
    except ArithmeticError:
        return False  # not a number: another check reports it
    attribute = attribute_of_input(r.workload, write, check.attribute)
    is_integer = attribute is not None and attribute.type.kind is Kind.INTEGER
    return number <= 0 or (is_integer and number < 1) or (is_integer and check.op is Op.LT and number <= 1)


def _check_absent_items(r: Reporter, path: Path, write: Write) -> None:
    """With `Tally not exists`, an upsert or a checked item has no stored item that another condition could be about."""
    resolved_write = resolve_write(r.workload, write)
    groups = [(item.entity.name, item.conditions, "") for item in resolved_write.checked]
    for step in resolved_write.steps:
        if step.verb is Verb.UPSERT:
            fix = f"write `create {step.entity.name}`, whose conditions are about the new item; or "
            groups.append((step.entity.name, step.conditions, fix))
    for name, conditions, fix in groups:
        for test in conditions if is_absence(conditions) else ():
            names = [leaf.attribute for leaf in leaves(test) if leaf.attribute]
            if names:
                text = write_checks((test,), frozenset(resolved_write.inputs))
                message = f"`{text}` is about the stored {name}, and with `{name} not exists` there is none"
                r.say(codes.CONTRADICTION, (*path, "checks"), message, f"{fix}leave one of them out", names[0])
