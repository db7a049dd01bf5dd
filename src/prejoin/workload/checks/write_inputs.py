"""Checks of the inputs of writes: each is a value that the caller gives, and a list of ids is for a list of items."""

from __future__ import annotations

from prejoin.workload import codes
from prejoin.workload.checks.reporter import Reporter
from prejoin.workload.grammar.inputs import write_inputs
from prejoin.workload.lookup import touched_entities
from prejoin.workload.model import Action, Entity, Input, Op, Write
from prejoin.workload.read_result import Path
from prejoin.workload.targets import NEW, actions_of
from prejoin.workload.tenants import own_id


def check_write_inputs(r: Reporter) -> None:
    for path, pattern in r.patterns():
        if isinstance(pattern, Write):
            for one in pattern.inputs:
                _check_operator(r, path, pattern, one)
            _check_lists_of_ids(r, path, pattern)


def _check_operator(r: Reporter, path: Path, write: Write, one: Input) -> None:
    """An input of a read may select items, `createdAt >= :since`. Those of a write only say which items it names."""
    if one.op is Op.EQ and not one.values and not one.filter:
        return
    text = write_inputs((Input(one.attribute, one.op, one.values),))
    owners = [entity.name for entity in touched_entities(r.workload, write) if entity.attribute(one.attribute)]
    lists = [action.entity for action in write.actions if action.many and action.verb not in NEW]
    message = f"`{text}` is an input of a write, and selects no items there"
    if owners and owners[0] in lists:
        fix = f"read those {owners[0]} first, and give them: `{_id_of(r, owners[0])}[]`"
    else:
        owner = owners[0] if owners else write.first_entity
        needs_value = not one.values and one.op not in (Op.EXISTS, Op.NOT_EXISTS)
        condition = f"{text} {one.attribute}" if needs_value else text
        fix = f"write it under Conditions, `{owner}.{condition}`; an input is only the name of a value"
    r.say(codes.INPUT_OPERATOR, (*path, "inputs"), message, fix, one.attribute)


def _id_of(r: Reporter, name: str) -> str:
    entity = r.workload.entity(name)
    own = own_id(r.workload, entity) if entity else ()
    return own[-1].name if own else name


def _check_lists_of_ids(r: Reporter, path: Path, write: Write) -> None:
    """`taskId[]` beside `delete Task`: the brackets are missing, or too many."""
    lists = {one.attribute for one in write.inputs if one.many}
    written_as_lists = {action.entity for action in write.actions if action.many}
    for action in actions_of(r.workload, write):
        entity = r.workload.entity(action.entity)
        if entity is None or action.many or action.verb in NEW or action.entity in written_as_lists:
            continue
        for name in sorted(lists & _id_inputs(r, action, entity)):
            message = f"`{name}[]` is several, and `{action.verb} {entity.name}` is about one item"
            fix = f"write `{action.verb} {entity.name}[]`, or the input `{name}`"
            r.say(codes.LIST_FOR_ONE, (*path, "inputs"), message, fix, name)


def _id_inputs(r: Reporter, action: Action, entity: Entity) -> set[str]:
    return {*action.by} or {attribute.name for attribute in own_id(r.workload, entity)}
