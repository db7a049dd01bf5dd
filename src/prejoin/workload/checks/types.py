"""Checks that operations on an attribute suit its type, and that constants are values of it."""

from __future__ import annotations

import re
import uuid
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import date, datetime
from decimal import Decimal
from itertools import islice
from math import ceil, floor
from typing import Any, assert_never

from msgspec.structs import replace

from prejoin.constructs.registry import ending_of
from prejoin.types import Kind
from prejoin.workload import codes
from prejoin.workload.checks.reporter import Reporter
from prejoin.workload.conditions import all_leaves, leaves, tests_of, ways_to_hold
from prejoin.workload.constants import constant
from prejoin.workload.grammar.attributes import write_attribute
from prejoin.workload.grammar.values import UnquotedText, write_comparison, write_constant
from prejoin.workload.grammar.writes import write_actions
from prejoin.workload.lookup import alternatives, bindings, changes, touched_entities
from prejoin.workload.model import (
    Action,
    Attribute,
    Change,
    ChangeOp,
    Comparison,
    Entity,
    Input,
    Leaf,
    Op,
    Read,
    Result,
    Test,
    Value,
    Verb,
    Write,
)
from prejoin.workload.phrases import name_list
from prejoin.workload.program.input_types import attribute_of_input
from prejoin.workload.program.resolved_write import resolve_write
from prejoin.workload.read_result import Path
from prejoin.workload.tenants import own_id

_TTL = frozenset({Kind.NUMBER, Kind.INTEGER, Kind.DECIMAL, Kind.DATETIME})
_UNTEXTUAL = frozenset({Kind.NUMBER, Kind.INTEGER, Kind.DECIMAL, Kind.BOOLEAN})
_UNCONTAINING = _UNTEXTUAL | {Kind.DATE, Kind.DATETIME, Kind.UUID}
_COLLECTIONS = frozenset({Kind.LIST, Kind.SET})
_READ_FIX = (
    "keep the result of the comparison as an attribute that each write sets, such as `missing` or `isLow`, and ask for "
    "that; or read more and compare in your code"
)
_OTHER_ITEM_FIX = (
    "DynamoDB compares attributes of one item: give the value as an input, and compare it with both; or keep a copy of "
    "it in the item"
)
_CHANGE_FIX = (
    "give the value as an input, or write a constant; only `create` and `put` set an attribute to another one, because "
    "they get the whole object"
)
_VALUE_FIX = "give the value as an input"
_TTL_FIX = "keep the time in an attribute without `ttl`, too, and compare that; or give the value as an input"
_MOST_WAYS = 100
"""The ways in which a condition can be true that are looked at."""
_NULL_WORDS = frozenset({"null", "none", "nil"})
_NUMBER = re.compile(r"-?\d+(\.\d+)?([eE][-+]?\d{1,3})?\Z", re.ASCII)


def check_types(r: Reporter) -> None:
    for index, entity in enumerate(r.workload.entities):
        for at, attribute in enumerate(entity.attributes):
            _attribute(r, ("entities", index, "attributes", at), attribute)
            if attribute.type.kind is Kind.CONTENT and (ending := ending_of(entity)):
                message = f"{entity.name} expires by `{ending.name}`, which would leave the parts of `{attribute.name}`"
                fix = "take the `ttl` away and delete items with `delete_large`, or keep the content elsewhere"
                r.say(codes.CONTRADICTION, ("entities", index, "attributes", at), message, fix)
    for path, pattern in r.patterns():
        if isinstance(pattern, Read):
            _read(r, path, pattern)
        else:
            _write(r, path, pattern)


def _attribute(r: Reporter, path: Path, a: Attribute) -> None:
    type_ = a.type.of if a.type.kind in _COLLECTIONS and a.type.of else a.type
    if type_.kind is Kind.ENUM and not type_.values:
        r.say(codes.UNFIT_TYPE, path, f"`{a.name}` is an enum without members", "name them: `PENDING | SHIPPED`")
    if a.id:
        _id_attribute(r, path, a)
    if a.unique and not a.type.scalar:
        r.say(codes.UNFIT_TYPE, path, f"`{a.name}` is {a.type}, which cannot be unique", "use a string or a number")
    if a.ttl and a.type.kind not in _TTL:
        r.say(
            codes.UNFIT_TYPE, path, f"`{a.name}` is {a.type}; a TTL is seconds since 1970", "use `number` or `datetime`"
        )
    if a.default is not None:
        _default(r, path, a, a.default)
    _attribute_bounds(r, path, a)
    if a.references and not a.type.scalar and not (a.type.kind in _COLLECTIONS and a.type.of):
        r.say(
            codes.UNFIT_TYPE, path, f"`{a.name}` is {a.type}, which holds no id", "use the type of the id it refers to"
        )


def _id_attribute(r: Reporter, path: Path, a: Attribute) -> None:
    # A key of DynamoDB is a string, a number or bytes.
    if not a.type.scalar or a.type.kind is Kind.BOOLEAN:
        message = f"`{a.name}` is {a.type}, which cannot identify an item"
        r.say(codes.UNFIT_TYPE, path, message, "use a string or a number")
    if a.optional:
        r.say(codes.CONTRADICTION, path, f"`{a.name}` identifies the item and is optional", "an id is always there")
    if a.mutable:
        r.say(codes.CONTRADICTION, path, f"`{a.name}` identifies the item and is mutable", "an id never changes")


def _attribute_bounds(r: Reporter, path: Path, a: Attribute) -> None:
    if (a.min is not None or a.max is not None) and not a.type.numeric:
        message = f"`{a.name}` is {a.type}, and `min` and `max` are for numbers"
        r.say(codes.UNFIT_TYPE, path, message, "take the bound away, or write `integer`; a size is written `50 B`")
    minimum, maximum = a.bounds
    if minimum is not None and maximum is not None and minimum > maximum:
        message = f"`{a.name}` is at least {minimum} and at most {maximum}, which no number is"
        r.say(codes.CONTRADICTION, path, message, f"write `min {min(minimum, maximum)}, max {max(minimum, maximum)}`")


def _default(r: Reporter, path: Path, a: Attribute, default: str) -> None:
    for flag, why in (
        (a.id, "identifies the item, and is always there"),
        (a.unique, "is unique, and all items without it would have the same"),
        (a.optional, "is optional, so an item may be without it"),
        (a.ttl, "is when an item ends, and an old one would end at once or never"),
    ):
        if flag:
            r.say(codes.CONTRADICTION, path, f"`{a.name}` has a default and {why}", "take the default away")
            return
    if not a.type.scalar or a.type.kind is Kind.BINARY:
        message = f"`{a.name}` is {a.type}, for which no default can be written"
        r.say(codes.UNFIT_TYPE, path, message, "mark it `optional` instead")
        return
    if not _is_nothing(r, path, Value(const=default), a, "mark it `optional` instead"):
        _constant(r, path, Value(const=default), a)


def _find_attribute(r: Reporter, entities: tuple[str, ...], name: str) -> Attribute | None:
    for entity_name, attribute_name in bindings(r.workload, entities, name).items():
        if entity := r.workload.entity(entity_name):
            return entity.attribute(attribute_name)
    return None


def _read(r: Reporter, path: Path, read: Read) -> None:
    for input_ in read.inputs:
        attribute = _find_attribute(r, read.entities, input_.attribute)
        if attribute:
            _input(r, (*path, "inputs"), input_, attribute, read.entities)
            _check_asks_expired(r, (*path, "inputs"), read, input_, attribute)
    _check_given_twice(r, (*path, "inputs"), read)
    for group in alternatives(read.inputs):
        for problem, fix in _find_problems_of_alternatives(r, read, group):
            r.say(codes.CONTRADICTION, (*path, "inputs"), problem, fix, group[0].attribute)
    for sort in read.sort:
        attribute = _find_attribute(r, read.entities, sort.attribute)
        if attribute and not attribute.type.scalar:
            message = f"`{attribute.name}` is {attribute.type}, which has no order"
            r.say(codes.UNFIT_TYPE, (*path, "sort"), message, "sort by a string, a number or a date")
    _check_result(r, path, read)


def _check_asks_expired(r: Reporter, path: Path, read: Read, input_: Input, a: Attribute) -> None:
    if read.id in r.out_of_scope or not _is_true_of_expired_only(a, input_.op, input_.values):
        return
    message = f"`{input_.attribute}` is the TTL attribute, and expired items are not found"
    fix = (
        f"ask for those that end soon, `{input_.attribute} <= now + 7 days`; or keep the time in another "
        "attribute than the `ttl`, which leaves the items there"
    )
    r.say(codes.ASKS_EXPIRED, path, message, fix, input_.attribute)


def _check_given_twice(r: Reporter, path: Path, read: Read) -> None:
    """Inputs that keys would have to take twice. A filter or an optional input may repeat an attribute."""
    names: set[str] = set()
    for input_ in read.inputs:
        if input_.filter or input_.optional:
            continue
        if input_.attribute in names:
            message = f"`{input_.attribute}` is given twice"
            r.say(codes.CONTRADICTION, path, message, "say it once; `between` takes both ends of a range")
        names.add(input_.attribute)


def _check_result(r: Reporter, path: Path, read: Read) -> None:
    match read.result:
        case Result.ONE:
            if read.paginated:
                fix = "write `No`, or `Collection`"
                r.say(codes.CONTRADICTION, (*path, "paginated"), "a `Single` has no pages", fix)
        case Result.COUNT:
            if read.needs or read.sort:
                part, fix = "attributes" if read.needs else "order", "leave it out, or write `Collection`"
                r.say(codes.CONTRADICTION, (*path, "result"), f"a `Count` has no {part}", fix)
        case Result.MANY | None:
            pass
        case _:
            assert_never(read.result)


def _find_problems_of_alternatives(r: Reporter, read: Read, group: tuple[Input, ...]) -> Iterator[tuple[str, str]]:
    """Messages and fixes for inputs of which one is enough."""
    if group[-1].either:
        yield f"nothing follows `or` after `{group[-1].attribute}`", "write the other condition, or leave `or` out"
    if len(group) == 1:
        return
    if unfit_input := next((input_ for input_ in group if input_.optional or input_.many or not input_.filter), None):
        obstacle = "optional" if unfit_input.optional else "a list" if unfit_input.many else "not a filter"
        message = f"`{unfit_input.attribute}` is {obstacle}, and one of several conditions of which one is enough"
        yield message, "write `filter status = OPEN or priority = HIGH`"
    if len({frozenset(bindings(r.workload, read.entities, input_.attribute)) for input_ in group}) > 1:
        names = " or ".join(f"`{input_.attribute}`" for input_ in group)
        yield f"{names}: these are attributes of different entities", "compare attributes of the same entity"


def _is_true_of_expired_only(a: Attribute, op: Op, values: tuple[Value, ...]) -> bool:
    """Whether a comparison is true only for expired items."""
    is_upper_bound = op in {Op.LT, Op.LE, Op.BETWEEN}
    return a.ttl and is_upper_bound and bool(values) and all(v.now is not None and v.now <= 0 for v in values)


def _input(r: Reporter, path: Path, input_: Input, a: Attribute, entities: tuple[str, ...]) -> None:
    if unfit := _explain_unfit(input_.op, input_.values, a, is_read=True):
        r.say(codes.UNFIT_TYPE, path, *unfit)
    _check_range(r, path, input_.op, input_.values, a)
    if input_.many and input_.op is not Op.EQ:
        r.say(codes.CONTRADICTION, path, f"`{a.name}[]` is a list of values and has an operator", f"write `{a.name}[]`")

    def check_related(name: str) -> None:
        _check_related_filter(r, path, input_, a, name, entities)

    absence_fix = _absence_fix(a.name, input_.op)
    _check_values(r, path, input_.op, input_.values, a, entities, _READ_FIX, absence_fix, check_related)
    _check_bounds(r, path, input_.op, input_.values, a)


def _check_values(
    r: Reporter,
    path: Path,
    op: Op,
    values: tuple[Value, ...],
    a: Attribute,
    entities: tuple[str, ...],
    fix: str,
    absence_fix: str,
    check_related: Callable[[str], None],
) -> None:
    """The values that an attribute is compared with; `check_related` checks those that are other attributes."""
    is_partial = op in (Op.BEGINS_WITH, Op.CONTAINS)
    for value in values:
        if value.attribute is not None:
            check_related(value.attribute)
        elif _is_nothing(r, path, value, a, absence_fix):
            continue
        elif not _compares_attributes(r, path, value, a, entities, fix):
            _constant(r, path, value, _without_bounds_for_ranges(a, op), is_partial)


def _check_related_filter(
    r: Reporter, path: Path, input_: Input, a: Attribute, name: str, entities: tuple[str, ...]
) -> None:
    """A read that compares two attributes: no key can do that, so it has to be a filter, of one entity."""
    if not input_.filter:
        message = f"`{name}` is an attribute, and no key compares two attributes"
        fix = f"write `filter {a.name} {input_.op} {name}`: the others are read and discarded; or {_READ_FIX}"
        r.say(codes.CONSTANT, path, message, fix, name)
    elif len(entities) > 1:
        message = f"`{a.name} {input_.op} {name}` is about one entity, and the read has {len(entities)}"
        r.say(codes.CONSTANT, path, message, _READ_FIX, name)
    else:
        entity = r.workload.entity(entities[0]) if entities else None
        _check_related(r, path, input_.op, a, entity.attribute(name) if entity else None, name)


def _write(r: Reporter, path: Path, write: Write) -> None:
    for action in write.actions:
        entity = r.workload.entity(action.entity)
        if entity is None:
            continue
        for change in changes(write, action, entity):
            if attribute := entity.attribute(change.attribute):
                _change(r, (*path, "actions"), write, action, entity, change, attribute)
    for leaf in all_leaves(write):
        if isinstance(leaf, Comparison):
            _comparison(r, (*path, "checks"), write, leaf)
    for test in tests_of(write) if write.id not in r.out_of_scope else ():
        _check_expired(r, (*path, "checks"), write, test)


def _change(
    r: Reporter, path: Path, write: Write, action: Action, entity: Entity, change: Change, attribute: Attribute
) -> None:
    if not action.updates and not (action.is_new and change.op is ChangeOp.SET):
        _report_senseless(r, path, write, action, change)
    if change.is_sum and not attribute.type.numeric:
        message = f"`{attribute.name}` is {attribute.type}, which cannot count"
        r.say(codes.UNFIT_TYPE, path, message, "make it a number")
    has_value = _changed_value(r, path, write, action, entity, change, attribute)
    if not has_value or not action.updates:
        return
    if change.op is ChangeOp.REMOVE:
        _check_removable(r, path, entity, attribute)
    # An upsert sets the immutable attributes of the item that it may create.
    is_first_value = action.verb is Verb.UPSERT and change.op is ChangeOp.SET and not attribute.id
    if not (is_first_value and attribute.mutable is False):
        _check_changeable(r, path, write, action, entity, attribute)


def _check_removable(r: Reporter, path: Path, entity: Entity, attribute: Attribute) -> None:
    if attribute.optional or attribute.id or attribute.default is not None:
        return
    optional_attribute = write_attribute(replace(attribute, optional=True, text=""))
    message = f"`{entity.name}.{attribute.name}` is removed, and it is not marked optional"
    r.say(codes.CONTRADICTION, path, message, f"mark it: `` {optional_attribute} ``", attribute.name)


def _changed_value(
    r: Reporter, path: Path, write: Write, action: Action, entity: Entity, change: Change, attribute: Attribute
) -> bool:
    """Check the value of a change. Returns whether it may be a value: otherwise nothing else of it is checked."""
    if change.op is ChangeOp.APPEND and attribute.type.kind not in _COLLECTIONS:
        message = f"`{attribute.name}` is {attribute.type}, to which nothing can be appended"
        r.say(codes.UNFIT_TYPE, path, message, "make it a list or a set")
        return True
    if change.value is None:
        return True
    if change.value.attribute is not None:
        _source(r, path, action, entity, attribute, change.value.attribute)
        return True
    if _is_nothing(r, path, change.value, attribute, f"write `remove {attribute.name}`"):
        return False
    if _is_of_list(r, path, write, action, change, attribute):
        return False
    if not _compares_attributes(r, path, change.value, attribute, (entity.name,), _CHANGE_FIX):
        # An increment need not be within the bounds.
        _constant(r, path, change.value, _without_bounds(attribute) if change.is_sum else attribute)
    return True


def _source(r: Reporter, path: Path, action: Action, entity: Entity, attribute: Attribute, name: str) -> None:
    """An attribute of a new item that is set to another one: `create Invoice (due = total)`."""
    source = entity.attribute(name)
    set_changes = [change for change in action.changes if change.op is ChangeOp.SET and change.value is not None]
    if not source:
        fix = "name an attribute of the same item"
        r.say(codes.UNKNOWN_ATTRIBUTE, path, f"there is no attribute `{name}`", fix, name)
    elif not action.is_new:
        message = f"`{name}` is an attribute, and `{attribute.name}` can be set only to an input or a constant"
        r.say(codes.CONSTANT, path, message, _CHANGE_FIX, name)
    elif any(change.attribute == name for change in set_changes):
        message = f"`{attribute.name}` is set to `{name}`, which is set to it"
        r.say(codes.CONTRADICTION, path, message, "set one of them to an input or a constant", name)
    elif source.type == attribute.type and source.ttl is not attribute.ttl and not attribute.type.numeric:
        message = f"{_stored_times(source, attribute)}: the value cannot be taken over"
        r.say(codes.UNFIT_TYPE, path, message, _VALUE_FIX, name)
    elif source.type != attribute.type or source.type.kind is Kind.CONTENT:
        message = (
            f"`{attribute.name}` is {attribute.type} and `{name}` is {source.type}: the value cannot be taken over"
        )
        quoting_fix = _quoting_fix(name, attribute, "the text itself")
        r.say(codes.UNFIT_TYPE, path, message, f"keep both with the same type; or {_VALUE_FIX}{quoting_fix}", name)
    elif source.optional and not attribute.optional:
        message = f"`{attribute.name}` is always there, and `{name}`, which it is set to, may be absent"
        fix = f"mark `{attribute.name}` optional; or {_VALUE_FIX}"
        r.say(codes.CONTRADICTION, path, message, fix, name)


def _comparison(r: Reporter, path: Path, write: Write, check: Comparison) -> None:
    """A comparison in a condition of a write."""
    names = (check.entity,) if check.entity else _known_names(r, write)
    attribute = _find_attribute(r, names, check.attribute)
    if any(check in leaves(test) for test in resolve_write(r.workload, write).input_conditions):
        attribute = attribute_of_input(r.workload, write, check.attribute)
    if attribute is None:
        return
    op, values = check.op, check.values

    def check_related(name: str) -> None:
        entity = r.workload.entity(check.entity)
        _check_related(r, path, op, attribute, entity.attribute(name) if entity else None, name)

    absence_fix = _absence_fix(check.attribute, op)
    _check_values(r, path, op, values, attribute, names, _OTHER_ITEM_FIX, absence_fix, check_related)
    if unfit := _explain_unfit(op, values, attribute):
        r.say(codes.UNFIT_TYPE, path, *unfit, check.attribute)
    _check_range(r, path, op, values, attribute)
    _check_bounds(r, path, op, values, attribute)


def _known_names(r: Reporter, write: Write) -> tuple[str, ...]:
    """The entities of a write that exist."""
    return tuple(entity.name for entity in touched_entities(r.workload, write))


def _check_related(r: Reporter, path: Path, op: Op, a: Attribute, other: Attribute | None, name: str) -> None:
    """A comparison of two attributes of one item. DynamoDB compares values of the same type."""
    if other is None:
        r.say(
            codes.UNKNOWN_ATTRIBUTE, path, f"there is no attribute `{name}`", "name an attribute of the same item", name
        )
        return
    if not op.is_relation:
        message = f"`{op}` compares `{a.name}` with an input or a constant, and `{name}` is an attribute"
        fix = f"write comparisons, such as `{a.name} >= {name}`; or give the value as an input"
        r.say(codes.UNFIT_TYPE, path, message, fix, name)
        return
    is_numeric = a.type.numeric and other.type.numeric
    is_comparable = a.type.kind is other.type.kind or is_numeric
    if not is_comparable or not a.type.scalar:
        message = f"`{a.name}` is {a.type} and `{name}` is {other.type}: DynamoDB compares values of one type"
        r.say(codes.UNFIT_TYPE, path, message, "keep both with the same type", name)
    elif a.ttl is not other.ttl and not is_numeric:
        r.say(
            codes.UNFIT_TYPE, path, f"{_stored_times(a, other)}: DynamoDB compares values of one type", _TTL_FIX, name
        )


def _stored_times(a: Attribute, other: Attribute) -> str:
    ending, time = (a, other) if a.ttl else (other, a)
    return f"`{ending.name}` is the TTL attribute and stored in seconds, and `{time.name}` is stored as a text"


def _check_expired(r: Reporter, path: Path, write: Write, test: Test) -> None:
    """A condition with a part that is true only for expired items, which updates and deletes do not find.

    A put replaces an item without looking for it, so that `put Lock` with `expiresAt <= now` takes a lock over. Beside
    an `or` such a part is superfluous, and `not (expiresAt < now)` is true for all items that are found.
    """
    ways = list(islice(ways_to_hold(test), _MOST_WAYS))
    asking_leaves = [_first_asking_for_expired(r, write, way) for way in ways]
    leaf = next(filter(None, asking_leaves), None)
    if leaf is None:
        return
    message = f"`{leaf.attribute}` is the TTL attribute, and an expired item is not found"
    fix = "leave the condition out: `create` replaces an item that has expired, and nothing else finds it"
    is_of_new_item = (leaf.entity or write.first_entity) in write.created_names
    if is_of_new_item or not all(asking_leaves):
        r.say(codes.ASKS_EXPIRED, path, message, fix, leaf.attribute)
        return
    fix += "; or compare another attribute, without `ttl`"
    r.say(codes.CONTRADICTION, path, f"{message}: the condition is never true", fix, leaf.attribute)


def _first_asking_for_expired(r: Reporter, write: Write, way: Iterable[tuple[Leaf, bool]]) -> Leaf | None:
    """The first part of a condition that holds in one way only for expired items; None if there is none."""
    for leaf, is_true in way:
        if is_true and _asks_for_expired(r, write, leaf):
            return leaf
    return None


def _asks_for_expired(r: Reporter, write: Write, leaf: Leaf) -> bool:
    """Whether a comparison is true only for expired items."""
    if not isinstance(leaf, Comparison):
        return False
    names = (leaf.entity,) if leaf.entity else _known_names(r, write)
    attribute = _find_attribute(r, names, leaf.attribute)
    return attribute is not None and _is_true_of_expired_only(attribute, leaf.op, leaf.values)


def _explain_unfit(op: Op, values: tuple[Value, ...], a: Attribute, is_read: bool = False) -> tuple[str, str] | None:
    """Why a condition cannot be asked of an attribute's type, and what to write instead; None if it can.

    DynamoDB orders texts, numbers and bytes, and finds a part only in a text, a list or a set.
    """
    kind = a.type.kind
    if op.tests_presence:
        return None
    if op is Op.CONTAINS and kind is not Kind.CONTENT:
        if kind in _UNCONTAINING:
            return f"`{a.name}` is {a.type}, which contains nothing", f"write `{a.name} = …`"
        return None
    # An input is compared with a value of its own type, which a condition may do with any type.
    is_typed_equality = not is_read and not op.is_range and all(value.param is not None for value in values)
    if not a.type.scalar and not is_typed_equality:
        return f"`{a.name}` is {a.type}, which cannot be compared", _uncomparable_fix(a, is_read)
    return _explain_unordered(op, values, a) if op.is_range else None


def _uncomparable_fix(a: Attribute, is_read: bool) -> str:
    """What to write instead of a comparison with a list, a set, a map or a content."""
    is_collection = a.type.kind in _COLLECTIONS
    if not is_read:
        return f"write `{a.name} contains …`" if is_collection else f"write `{a.name} exists`"
    fix = f"write `filter {a.name} contains`" if is_collection else "ask by another attribute"
    if a.type.kind is Kind.LIST and a.type.of is not None and a.type.of.numeric:
        fix += "; if it is a vector, ask a vector index for similar ones, and leave the read out here"
    return fix


def _explain_unordered(op: Op, values: tuple[Value, ...], a: Attribute) -> tuple[str, str] | None:
    """Why values of a type have no ranges, or none that begin with a text; None if they have."""
    if op is Op.BEGINS_WITH and (a.type.kind in _UNTEXTUAL or a.ttl):  # a TTL is stored as a number
        return f"`{a.name}` is {a.type}; `begins_with` is for text", "write `between`"
    if a.type.kind is Kind.BOOLEAN:
        return f"`{a.name}` is {a.type}, which has no range", "write `= true` or `= false`"
    return _explain_members(op, values, a) if a.type.kind is Kind.ENUM else None


def _explain_members(op: Op, values: tuple[Value, ...], a: Attribute) -> tuple[str, str]:
    """The message about a range of an enum, and the members that are probably meant.

    DynamoDB would compare letters: of `LOW | MID | HIGH`, `LOW` and `HIGH` are both below `MID`.
    """
    constants = [value.const for value in values if value.const is not None]
    is_complete = len(constants) == len(values)
    members = _members_in_range(op, constants, a.type.values) if constants and is_complete else ()
    message = f"`{a.name}` is {a.type}: its members are compared as letters, and have no other order"
    listing = ", ".join(map(write_constant, members or a.type.values[:2]))
    return message, f"name those that you mean: `{a.name} in ({listing})`; or keep a number for the order"


def _members_in_range(op: Op, constants: Sequence[str], members: tuple[str, ...]) -> tuple[str, ...]:
    """The members of an enum that a range would have in the order of the document; none if that is unclear.

    >>> _members_in_range(Op.GE, ["MID"], ("LOW", "MID", "HIGH"))
    ('MID', 'HIGH')
    """
    first, last = constants[0], constants[-1]
    if op is Op.BEGINS_WITH:
        return tuple(member for member in members if member.startswith(first))
    if not set(constants).issubset(members):
        return ()
    start, end = members.index(first), members.index(last)
    match op:
        case Op.GE:
            return members[start:]
        case Op.GT:
            return members[start + 1 :]
        case Op.LE:
            return members[: start + 1]
        case Op.LT:
            return members[:start]
        case Op.BETWEEN:
            return members[start : end + 1]
        case Op.EQ | Op.NE | Op.IN | Op.CONTAINS | Op.EXISTS | Op.NOT_EXISTS:
            return ()
        case _:
            assert_never(op)


def _report_senseless(r: Reporter, path: Path, write: Write, action: Action, change: Change) -> None:
    """A change without effect: of an item that is replaced or deleted."""
    inputs = write.input_names
    if action.is_new:
        message = f"`{action.verb} {action.entity}` writes a whole item; `{change.op}` changes an existing item"
        fix = f"write `{write_actions((replace(action, verb=Verb.UPDATE),), inputs)}`"
    else:
        message = f"`{action.verb} {action.entity}` leaves no item whose `{change.attribute}` could change"
        fix = f"write `{write_actions((replace(action, changes=()),), inputs)}`"
    r.say(codes.CONTRADICTION, path, message, fix)


def _check_changeable(r: Reporter, path: Path, write: Write, action: Action, entity: Entity, a: Attribute) -> None:
    name = f"`{entity.name}.{a.name}`"
    if a.id:
        message = f"{name} identifies the item and cannot change"
        r.say(codes.CHANGED_ID, path, message, "delete the item and create another")
    elif a.mutable is False:
        fix = "mark it `mutable`, or leave the change out"
        mutable_names = [name for name in _changed_names(write, action, entity) if not _is_immutable(entity, name)]
        if not action.changes and mutable_names:
            fix = f"list what changes: `{action.verb} {entity.name} ({', '.join(mutable_names)})`; or mark it `mutable`"
        r.say(codes.IMMUTABLE, path, f"{name} is marked immutable", fix)
    elif a.mutable is None:
        fix = f"mark it: `` {write_attribute(replace(a, mutable=True, text=''))} ``"
        r.say(codes.NOT_MARKED_MUTABLE, path, f"{name} changes and is not marked mutable", fix)


def _changed_names(write: Write, action: Action, entity: Entity) -> list[str]:
    return [change.attribute for change in changes(write, action, entity)]


def _is_immutable(entity: Entity, name: str) -> bool:
    attribute = entity.attribute(name)
    return attribute is not None and attribute.mutable is False


def _without_bounds_for_ranges(a: Attribute, op: Op) -> Attribute:
    """The attribute as its values are compared: a condition that its bounds imply is superfluous, and no mistake."""
    return a if op.is_equality else _without_bounds(a)


def _without_bounds(a: Attribute) -> Attribute:
    return replace(a, min=None, max=None)


def _check_bounds(r: Reporter, path: Path, op: Op, values: tuple[Value, ...], a: Attribute) -> None:
    """A comparison that is true for no number within the bounds of its attribute."""
    numbers = [Decimal(value.const) for value in values if value.const is not None and _NUMBER.match(value.const)]
    if not a.type.numeric or not numbers or len(numbers) != len(values):
        return
    minimum, maximum = a.bounds
    lowest, highest = _whole_numbers_in_range(op, numbers[0], numbers[-1])
    if maximum is not None and lowest is not None and lowest > maximum:
        bound, fix = f"at most {maximum}", f"raise the bound: `max {lowest}`"
    elif minimum is not None and highest is not None and highest < minimum:
        bound, fix = f"at least {minimum}", f"lower the bound: `min {highest}`"
    else:
        return
    comparison = f"{a.name} {write_comparison(op, values, frozenset())}"
    message = f"`{comparison}` is never true, because `{a.name}` is {bound}"
    r.say(codes.CONSTANT, path, message, f"{fix}; or change the comparison", a.name)


def _whole_numbers_in_range(op: Op, first: Decimal, last: Decimal) -> tuple[int | None, int | None]:
    """The lowest and the highest whole number for which a comparison is true; None without an end.

    >>> _whole_numbers_in_range(Op.GT, Decimal("2.5"), Decimal("2.5"))
    (3, None)
    """
    match op:
        case Op.GE:
            return ceil(first), None
        case Op.GT:
            return floor(first) + 1, None
        case Op.LE:
            return None, floor(first)
        case Op.LT:
            return None, ceil(first) - 1
        case Op.BETWEEN:
            return ceil(first), floor(last)
        case Op.EQ | Op.NE | Op.IN | Op.BEGINS_WITH | Op.CONTAINS | Op.EXISTS | Op.NOT_EXISTS:
            return None, None
        case _:
            assert_never(op)


def _check_range(r: Reporter, path: Path, op: Op, values: tuple[Value, ...], a: Attribute) -> None:
    """A range whose first end is above the second: DynamoDB would refuse each request with it."""
    if op is not Op.BETWEEN or len(values) != 2 or a.type.kind is Kind.ENUM:
        return
    low, high = values
    if _is_inverted(low, high, a):
        comparison = f"{a.name} {write_comparison(op, values, frozenset())}"
        swapped_comparison = f"{a.name} {write_comparison(op, (high, low), frozenset())}"
        r.say(codes.CONTRADICTION, path, f"no value is within `{comparison}`", f"write `{swapped_comparison}`", a.name)


def _is_inverted(low: Value, high: Value, a: Attribute) -> bool:
    if low.now is not None and high.now is not None:
        return low.now > high.now
    if low.const is None or high.const is None:
        return False
    element = replace(a, type=a.type.of) if a.type.kind in _COLLECTIONS and a.type.of else a
    if _problem(low.const, element) or _problem(high.const, element):
        return False
    ends: list[Any] = [constant(low.const, a.type), constant(high.const, a.type)]
    return bool(ends[0] > ends[1])


def _compares_attributes(
    r: Reporter, path: Path, value: Value, a: Attribute, entities: tuple[str, ...], fix: str
) -> bool:
    """Whether a value is the name of another attribute, which is reported. In quotes it is a text."""
    const = value.const or ""
    owner, dot, name = const.rpartition(".")
    if a.type.kind is Kind.ENUM and const in a.type.values:
        return False
    holders = r.workload.entities_named([owner] if dot else entities)
    if not any(holder.attribute(name) for holder in holders):
        return False
    if _problem(const, a) is None and not isinstance(const, UnquotedText):
        return False
    if fix is _CHANGE_FIX:
        message = f"`{const}` is an attribute, and `{a.name}` can be set only to an input or a constant"
    elif name == a.name and (not dot or owner in entities):
        message = f"`{a.name}` is compared with itself"
        # `version = version` in a write means the input, which is missing.
        missing_input = f"add `{a.name}` to the Input Parameters; or " if fix is _OTHER_ITEM_FIX else ""
        fix = f"{missing_input}compare it with another attribute, an input or a constant"
    else:
        message = f"`{const}` is no attribute of the item whose `{a.name}` is compared"
    r.say(codes.CONSTANT, path, message, fix + _quoting_fix(const, a, "the text itself"), const)
    return True


def _quoting_fix(text: str, a: Attribute, noun: str) -> str:
    """How a word is written that is meant as a text, if its attribute is one."""
    return f'; {noun} is written `"{text}"`' if a.type.kind is Kind.STRING else ""


def _is_of_list(r: Reporter, path: Path, write: Write, action: Action, change: Change, a: Attribute) -> bool:
    """Whether a value is the name of an attribute of objects that are given as a list, which is reported."""
    const = change.value.const if change.value and change.value.const else ""
    if _problem(const, a) is None:
        return False
    for input_ in write.inputs:
        entity = r.workload.entity(input_.attribute) if input_.many else None
        if entity and entity.attribute(const):
            message = f"`{const}` is an attribute of each {entity.name} of the list, and no input"
            r.say(codes.CONSTANT, path, message, _list_fix(r, action, change, entity, const), const)
            return True
    return False


def _list_fix(r: Reporter, action: Action, change: Change, entity: Entity, name: str) -> str:
    """How a write gets the value of a change that it expects in each object of a list."""
    if not action.many:
        change_by_input = replace(change, value=Value(param="amount"))
        text = write_actions((replace(action, changes=(change_by_input,)),), frozenset({"amount"}))
        return f"give the value as an input of its own: `{text}`"
    if action.entity != entity.name:
        return f"add `{name}[]` to the inputs, beside `{entity.name}[]`, with the ids of the items to change"
    id_attributes = own_id(r.workload, entity)
    id_name = id_attributes[-1].name if id_attributes else name
    return f"give ids and values in place of `{entity.name}[]`: `{id_name}[], {name}[]`"


def _is_nothing(r: Reporter, path: Path, value: Value, a: Attribute, fix: str) -> bool:
    """Whether a value is `null` or `None` without quotes, which is reported: it would be a text.

    An absent attribute is not a value in DynamoDB.
    """
    const = value.const or ""
    if const.lower() not in _NULL_WORDS or const in a.type.values or not isinstance(const, UnquotedText):
        return False
    message = f"`{const}` would be the text of that name, and not an absent `{a.name}`"
    r.say(codes.CONSTANT, path, message, fix + _quoting_fix(const, a, "the text"), const)
    return True


def _absence_fix(name: str, op: Op) -> str:
    return f"write `{name} exists`" if op is Op.NE else f"write `{name} not exists`"


def _constant(r: Reporter, path: Path, value: Value, a: Attribute, is_partial: bool = False) -> None:
    if value.now is not None and a.type.kind not in _TTL | {Kind.DATE, Kind.STRING}:
        r.say(
            codes.CONSTANT, path, f"`{a.name}` is {a.type}, and `now` is a time", "compare it with a value of its type"
        )
    if value.const is None or is_partial:
        return
    problem = _problem(value.const, a)
    if problem:
        r.say(codes.CONSTANT, path, f"`{value.const}` is not {problem[0]}, as `{a.name}` is", problem[1])


def _problem(const: str, a: Attribute) -> tuple[str, str] | None:
    """What a constant should be for the type of its attribute, and what to write; None if it is that."""
    kind = a.type.kind
    match kind:
        case Kind.ENUM:
            if const not in a.type.values:
                return "a member of the enum", f"the members are {name_list(list(a.type.values))}"
        case Kind.NUMBER | Kind.INTEGER | Kind.DECIMAL:
            return _problem_of_number(const, a)
        case Kind.BOOLEAN:
            if const.lower() not in {"true", "false"}:
                return "`true` or `false`", "write `true` or `false`"
        case Kind.UUID:
            if not _is_read_by(uuid.UUID, const):
                return "a UUID", "write it as `00000000-0000-0000-0000-000000000000`"
        case Kind.DATE | Kind.DATETIME:
            if not _is_read_by(date.fromisoformat if kind is Kind.DATE else datetime.fromisoformat, const):
                return f"a {kind}", "write it as `2024-01-15`, or `2024-01-15T10:30:00Z` in quotes"
        case Kind.STRING | Kind.ULID | Kind.BINARY | Kind.LIST | Kind.SET | Kind.MAP | Kind.CONTENT:
            pass  # any text
        case _:
            assert_never(kind)
    return None


def _problem_of_number(const: str, a: Attribute) -> tuple[str, str] | None:
    if not _NUMBER.match(const):
        return "a number", "write a number; the name of an input has to be among the inputs"
    number = Decimal(const)
    if a.type.kind is Kind.INTEGER and ("." in const or number != number.to_integral_value()):
        return "an integer", "write it without a fraction"
    minimum, maximum = a.bounds
    if minimum is not None and number < minimum:
        return f"at least {minimum}", f"write a larger number, or lower the bound: `min {floor(number)}`"
    if maximum is not None and number > maximum:
        return f"at most {maximum}", f"write a smaller number, or raise the bound: `max {ceil(number)}`"
    return None


def _is_read_by(read: Callable[[str], object], text: str) -> bool:
    """Whether a text is read without an error."""
    try:
        read(text)
    except ValueError:
        return False
    return True
