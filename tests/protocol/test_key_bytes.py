"""Key bytes: order of whole keys, and ranges that hold exactly the keys that fulfil the condition."""

from __future__ import annotations

import base64
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from prejoin.protocol import key_bytes
from prejoin.protocol.values import Value, ordered

strings = st.text(st.sampled_from("\x00\x01 #ab\x7fé\uffff\U0001f600"), min_size=1, max_size=4).map(
    lambda text: {"S": text}
)
binaries = st.binary(min_size=1, max_size=3).map(lambda content: {"B": base64.b64encode(content).decode()})
numbers = st.integers(-1200, 1200).map(lambda number: {"N": str(number)})
keys = st.one_of(
    *(st.lists(kind, min_size=1, max_size=1) for kind in (strings, binaries, numbers)),
    st.tuples(strings, strings, strings).map(list),
    st.tuples(numbers, strings).map(list),
    st.tuples(binaries, numbers).map(list),
)


def _order(key: list[Value]) -> list[Any]:
    return [ordered(value) for value in key]


def _types(key: list[Value]) -> list[list[str]]:
    return [list(value) for value in key]


@given(keys, keys)
def test_key_bytes_sort_as_the_attributes_do_one_after_another(left: list[Value], right: list[Value]) -> None:
    if _types(left) != _types(right):
        return
    a, b = key_bytes.joined(left), key_bytes.joined(right)
    assert (a < b, a == b) == (_order(left) < _order(right), left == right)


def _fulfils(value: Value, operator: str, operands: list[Value]) -> bool:
    mine, bounds = ordered(value), [ordered(operand) for operand in operands]
    match operator:
        case "=":
            return bool(mine == bounds[0])
        case "<":
            return bool(mine < bounds[0])
        case "<=":
            return bool(mine <= bounds[0])
        case ">":
            return bool(mine > bounds[0])
        case ">=":
            return bool(mine >= bounds[0])
        case "BETWEEN":
            return bool(bounds[0] <= mine <= bounds[1])
    return bool(mine.startswith(bounds[0]))


def _inside(content: bytes, bounds: key_bytes.Range) -> bool:
    return content >= bounds.low and (bounds.high is None or content < bounds.high)


@given(
    st.sampled_from([strings, binaries, numbers]).flatmap(lambda kind: st.lists(kind, min_size=3, max_size=3)),
    st.sampled_from(["=", "<", "<=", ">", ">=", "BETWEEN", "begins_with"]),
)
def test_a_range_holds_exactly_the_keys_that_fulfil_its_condition(values: list[Value], operator: str) -> None:
    value, *operands = values
    if operator == "begins_with" and "N" in value:
        return
    bounds = key_bytes.compare_range(b"", operator, operands, last=True)
    assert _inside(key_bytes.plain(value), bounds) == _fulfils(value, operator, operands)


@given(
    st.tuples(strings, numbers, strings),
    st.tuples(strings, numbers, strings),
    numbers,
    st.sampled_from(["=", "<", "<=", ">", ">=", "BETWEEN"]),
)
def test_a_range_on_a_middle_attribute_stays_inside_the_attributes_before_it(
    key: tuple[Value, ...], other: tuple[Value, ...], upper: Value, operator: str
) -> None:
    bounds = key_bytes.compare_range(key_bytes.prefix([other[0]]), operator, [other[1], upper], last=False)
    expected = key[0] == other[0] and _fulfils(key[1], operator, [other[1], upper])
    assert _inside(key_bytes.joined(list(key)), bounds) == expected


@given(st.tuples(strings, strings), st.tuples(strings, strings))
def test_begins_with_on_a_middle_attribute_finds_all_that_follow(
    key: tuple[Value, Value], prefix: tuple[Value, Value]
) -> None:
    bounds = key_bytes.compare_range(b"", "begins_with", [prefix[0]], last=False)
    assert _inside(key_bytes.joined(list(key)), bounds) == key[0]["S"].startswith(prefix[0]["S"])
