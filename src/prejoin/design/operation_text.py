"""The changes, conditions and filters of operations as text.

Braces are around the inputs of a pattern, quotes around texts that are constant, and attributes stand for themselves:
`SET status = "SENT"`, `stock >= {quantity}`, `paid < total`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from typing import assert_never

from prejoin.design.model import InputGroup, ItemChange, Operation
from prejoin.design.phrases import count
from prejoin.workload.grammar.quantities import write_span
from prejoin.workload.grammar.values import write_constant
from prejoin.workload.lookup import bare_name
from prejoin.workload.model import (
    Absence,
    AllOf,
    AnyOf,
    ChangeOp,
    Comparison,
    Input,
    Negation,
    Op,
    Presence,
    Test,
    Value,
)


def change_text(change: ItemChange) -> str:
    """A change as a clause of an update expression."""
    name = change.attribute
    if change.template:
        return f"SET {name} = {change.template}"
    value = _value_text(change.value) if change.value else ""
    match change.op:
        case ChangeOp.SET:
            return f"SET {put_text(change)}"
        case ChangeOp.REMOVE:
            return f"REMOVE {name}"
        case ChangeOp.APPEND:
            if change.is_set:
                return f"ADD {name} {value}"
            present = f"if_not_exists({name}, [])" if change.is_from_zero else name
            return f"SET {name} = list_append({present}, {value})"
        case ChangeOp.ADD:
            return f"ADD {name} {value}" if change.is_from_zero else f"SET {name} = {name} + {value}"
        case ChangeOp.SUBTRACT:
            return f"ADD {name} -{value}" if change.is_from_zero else f"SET {name} = {name} - {value}"
        case _:
            assert_never(change.op)


def put_text(change: ItemChange) -> str:
    """A value that an item is put with, or that an update sets."""
    value = _value_text(change.value) if change.value else ""
    return f"{change.attribute} = {value}{', if it is given' * change.is_optional}"


def condition_text(test: Test, key: str = "") -> str:
    """A condition; `key` is the partition key, whose presence is that of the item."""
    match test:
        case Presence():
            return f"attribute_exists({test.attribute or key})"
        case Absence():
            return f"attribute_not_exists({test.attribute or key})"
        case Comparison():
            return _comparison_text(test.attribute, test.op, test.values)
        case AnyOf():
            return f"({' or '.join(condition_text(part, key) for part in test.parts)})"
        case AllOf():
            return f"({' and '.join(condition_text(part, key) for part in test.parts)})"
        case Negation():
            text = condition_text(test.part, key)
            return f"not {text}" if text.startswith("(") else f"not ({text})"
        case _:
            assert_never(test)


def condition_words(test: Test) -> str:
    """A condition in a sentence about its item: `it exists`, `status = FREE`."""
    match test:
        case Presence():
            return f"it has {test.attribute}" if test.attribute else "it exists"
        case Absence():
            return f"it has no {test.attribute}" if test.attribute else "it does not exist"
        case Comparison():
            values = [_value_text(value, write_constant) for value in test.values]
            return f"{test.attribute} {_with_operator(test.op, values)}"
        case AnyOf():
            return f"({' or '.join(map(condition_words, test.parts))})"
        case AllOf():
            return f"({' and '.join(map(condition_words, test.parts))})"
        case Negation():
            words = condition_words(test.part)
            return f"not {words}" if words.startswith("(") else f"not ({words})"
        case _:
            assert_never(test)


def filter_words(group: InputGroup) -> str:
    """A filter in a sentence."""
    words = " or ".join(map(_input_words, group))
    return f"({words})" if len(group) > 1 else words


def _input_words(condition: Input) -> str:
    name = bare_name(condition.attribute)
    values = [_value_text(value, write_constant) for value in _values_of(condition)]
    return f"{name} {_with_operator(condition.op, values)}"


def _with_operator(op: Op, values: Sequence[str]) -> str:
    """An operator with its values, as in documents of access patterns."""
    if op is Op.IN:
        return f"in ({', '.join(values)})"
    return f"{op} {' and '.join(values)}".rstrip()


def filter_text(group: InputGroup) -> str:
    """A filter; if one of several is enough, in parentheses: `(status = "OPEN" or priority = {priority})`.

    >>> filter_text((Input("Order.status"),)), filter_text((Input("total", Op.GE), Input("note", Op.EXISTS)))
    ('status = {status}', '(total >= {total} or attribute_exists(note))')
    """
    text = " or ".join(map(_input_text, group))
    return f"({text})" if len(group) > 1 else text


def _input_text(condition: Input) -> str:
    return _comparison_text(bare_name(condition.attribute), condition.op, _values_of(condition))


def _values_of(condition: Input) -> tuple[Value, ...]:
    """The values of a condition. Those that the document does not say are inputs."""
    name = bare_name(condition.attribute)
    if condition.values or not condition.op.arity:
        return condition.values
    names = (f"{name} from", f"{name} to") if condition.op is Op.BETWEEN else (name,)
    return tuple(Value(param=one) for one in names)


def _comparison_text(name: str, op: Op, values: tuple[Value, ...]) -> str:
    texts = [_value_text(value) for value in values]
    match op:
        case Op.EXISTS:
            return f"attribute_exists({name})"
        case Op.NOT_EXISTS:
            return f"attribute_not_exists({name})"
        case Op.BEGINS_WITH:
            return f"begins_with({name}, {texts[0]})"
        case Op.CONTAINS:
            return f"contains({name}, {texts[0]})"
        case Op.IN:
            return f"{name} in ({', '.join(texts)})"
        case Op.BETWEEN:
            return f"{name} between {' and '.join(texts)}"
        case Op.EQ | Op.NE | Op.LT | Op.LE | Op.GT | Op.GE:
            return f"{name} {op} {texts[0]}"
        case _:
            assert_never(op)


def _value_text(value: Value, constant_text: Callable[[str], str] | None = None) -> str:
    if value.attribute is not None:
        return value.attribute
    if value.now is not None:
        if value.now == 0:
            return "now"
        return f"now {'-' if value.now < 0 else '+'} {write_span(abs(value.now))}"
    if value.param is not None:
        return f"{{{value.param}}}"
    return (constant_text or _constant_text)(value.const or "")


def _constant_text(constant: str) -> str:
    """A constant in quotes, unless it is a number or a boolean."""
    is_plain = constant in ("true", "false") or _NUMBER.fullmatch(constant)
    return constant if is_plain else json.dumps(constant, ensure_ascii=False)


_NUMBER = re.compile(r"-?\d+(\.\d+)?", re.ASCII)


def shape(operation: Operation) -> str:
    """The requests in a few words: `Query gsi1`, `TransactWriteItems of 4`."""
    words: list[str] = []
    for request in operation.requests:
        if request.actions:
            many = any(action.many for action in request.actions)
            several = len(request.actions) > 1 or many
            items = f" of {len(request.actions)}{' or more' if many else ''}" if several else ""
            words.append(f"{request.call}{items}")
        else:
            shards = f"{count(request.shards, 'shard')} of " if request.shards > 1 else ""
            bucket = f" by {request.bucket}" if request.bucket else ""
            words.append(f"{request.call} {shards}{request.slot}{bucket}")
    return ", then ".join(words)
