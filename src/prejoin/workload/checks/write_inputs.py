"""Checks of the inputs of writes: each is a value that the caller gives, and a list of ids is for a list of items."""

from __future__ import annotations

from msgspec.structs import replace

from prejoin.types import Kind
from prejoin.workload import codes
from prejoin.workload.checks.reporter import Reporter
from prejoin.workload.conditions import leaves
from prejoin.workload.grammar.inputs import write_inputs
from prejoin.workload.grammar.writes import write_actions, write_checks
from prejoin.workload.lookup import touched_entities
from prejoin.workload.model import Comparison, Input, Op, Write
from prejoin.workload.optional_inputs import source_of
from prejoin.workload.program.resolved_write import Step, resolve_write
from prejoin.workload.read_result import Path
from prejoin.workload.tenants import own_id


def check_write_inputs(r: Reporter) -> None:
    for path, pattern in r.patterns():
        if isinstance(pattern, Write):
            for input_ in pattern.inputs:
                _check_operator(r, path, pattern, input_)
            _check_lists_of_ids(r, path, pattern)
            _check_lists_of_values(r, path, pattern)
            _check_lists_given_twice(r, path, pattern)


def _check_operator(r: Reporter, path: Path, write: Write, input_: Input) -> None:
    """An input of a read may select items, `createdAt >= :since`. Those of a write only say which items it names."""
    if input_.op is Op.EQ and not input_.values and not input_.filter:
        return
    text = write_inputs((Input(input_.attribute, input_.op, input_.values),))
    owners = [entity.name for entity in touched_entities(r.workload, write) if entity.attribute(input_.attribute)]
    lists = [action.entity for action in write.actions if action.is_existing_list]
    message = f"`{text}` is an input of a write, and selects no items there"
    if owners and owners[0] in lists:
        fix = f"read those {owners[0]} first, and give them: `{_id_of(r, owners[0])}[]`"
    else:
        owner = owners[0] if owners else write.first_entity
        needs_value = not input_.values and not input_.op.tests_presence
        condition = f"{text} {input_.attribute}" if needs_value else text
        fix = f"write it under Conditions, `{owner}.{condition}`; an input is only the name of a value"
    r.say(codes.INPUT_OPERATOR, (*path, "inputs"), message, fix, input_.attribute)


def _id_of(r: Reporter, name: str) -> str:
    """The attribute that the caller gives to name an item of an entity."""
    entity = r.workload.entity(name)
    own = own_id(r.workload, entity) if entity else ()
    return own[-1].name if own else name


def _check_lists_of_ids(r: Reporter, path: Path, write: Write) -> None:
    """`taskId[]` beside `delete Task`: the brackets are missing, or too many."""
    written_as_lists = {action.entity for action in write.actions if action.many}
    for step in resolve_write(r.workload, write).steps:
        name_of_entity = step.entity.name
        if step.is_list or step.is_new or name_of_entity in written_as_lists:
            continue
        for name in sorted(write.list_inputs & _id_inputs(step)):
            message = f"`{name}[]` is several, and `{step.verb} {name_of_entity}` is about one item"
            fix = f"write `{step.verb} {name_of_entity}[]`, or the input `{name}`"
            r.say(codes.LIST_FOR_ONE, (*path, "inputs"), message, fix, name)


def _check_lists_of_values(r: Reporter, path: Path, write: Write) -> None:
    """`n[]` beside `update Order (total += n)`: the change and the comparison of one item take one value."""
    for step in resolve_write(r.workload, write).steps:
        if not step.is_list:
            _check_lists_in_changes(r, path, step)
            _check_lists_in_conditions(r, path, step)


def _check_lists_in_changes(r: Reporter, path: Path, step: Step) -> None:
    for change in step.changes if step.action.changes else ():
        attribute = step.entity.attribute(change.attribute)
        name = source_of(change)
        is_list_given = name in step.write.list_inputs
        if name and is_list_given and attribute is not None and attribute.type.kind not in (Kind.LIST, Kind.SET):
            text = write_actions((replace(step.action, changes=(change,)),), step.write.input_names)
            message = f"`{name}[]` is several, and `{text}` takes one value"
            r.say(codes.LIST_FOR_ONE, (*path, "inputs"), message, f"write the input `{name}`", name)


def _check_lists_in_conditions(r: Reporter, path: Path, step: Step) -> None:
    for test in step.conditions:
        for leaf in leaves(test):
            if isinstance(leaf, Comparison) and leaf.op is not Op.IN:
                _check_lists_in_comparison(r, path, step.write, leaf)


def _check_lists_in_comparison(r: Reporter, path: Path, write: Write, comparison: Comparison) -> None:
    for value in comparison.values:
        if value.param is None or value.param not in write.list_inputs:
            continue
        text = write_checks((comparison,), write.input_names)
        message = f"`{value.param}[]` is several, and `{text}` compares with one value"
        fix = f"write the input `{value.param}`"
        if comparison.op is Op.EQ:
            fix += f", or `{comparison.attribute} in ({value.param})`"
        r.say(codes.LIST_FOR_ONE, (*path, "inputs"), message, fix, value.param)


def _check_lists_given_twice(r: Reporter, path: Path, write: Write) -> None:
    """`Item[], qty[]` beside `update Item[] (…)`: each object has its `qty` already."""
    for step in resolve_write(r.workload, write).steps:
        if not (step.is_existing_list and step.is_given_whole):
            continue
        for input_ in write.inputs:
            if input_.many and step.entity.attribute(input_.attribute):
                _report_list_given_twice(r, path, step, input_.attribute)


def _report_list_given_twice(r: Reporter, path: Path, step: Step, name: str) -> None:
    id_attribute = own_id(r.workload, step.entity)[-1]
    message = f"`{step.entity.name}[]` has the `{name}` of each item, and `{name}[]` gives it again"
    fix = f"give ids in place of the objects: `{id_attribute.name}[], {name}[]`"
    r.say(codes.CONTRADICTION, (*path, "inputs"), message, fix, name)


def _id_inputs(step: Step) -> set[str]:
    return {*step.action.by} or {attribute.name for attribute in own_id(step.workload, step.entity)}
