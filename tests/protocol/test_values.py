"""Values: what is valid, the canonical form, equality; and sizes."""

from __future__ import annotations

import base64
import copy
from collections.abc import Callable
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from prejoin.protocol.errors import DynamoDBError, newer_wording
from prejoin.protocol.sizes import changed_size, item_size, measured, value_size
from prejoin.protocol.values import canonical, canonical_item, equal


def test_numbers_are_normalised_however_deep() -> None:
    assert canonical({"M": {"a": {"L": [{"N": "01"}, {"NS": ["1.0", "2e1"]}]}}}) == {
        "M": {"a": {"L": [{"N": "1"}, {"NS": ["1", "20"]}]}}
    }


def test_members_that_are_null_count_as_absent() -> None:
    assert canonical({"S": "a", "N": None}) == {"S": "a"}


@pytest.mark.parametrize(
    ("value", "complaint"),
    [
        (
            {},
            "Supplied AttributeValue is empty, must contain exactly one of the supported datatypes",
        ),
        (
            {"S": "a", "N": "1"},
            "Supplied AttributeValue has more than one datatypes set, "
            "must contain exactly one of the supported datatypes",
        ),
        (
            {"NULL": False},
            "One or more parameter values were invalid: Null attribute value types must have the value of true",
        ),
        ({"SS": []}, "One or more parameter values were invalid: An string set  may not be empty"),
        ({"NS": []}, "One or more parameter values were invalid: An number set  may not be empty"),
        ({"BS": []}, "One or more parameter values were invalid: Binary sets should not be empty"),
        (
            {"SS": ["a", "a"]},
            "One or more parameter values were invalid: Input collection [a, a] contains duplicates.",
        ),
        (
            {"BS": ["/w==", "AA==", "AA=="]},
            "One or more parameter values were invalid: Input collection [/w==, AA==, AA==]of type BS contains "
            "duplicates.",
        ),
        ({"NS": ["1", "1.0"]}, "Input collection contains duplicates"),
    ],
)
def test_invalid_value_has_aws_message(value: dict[str, Any], complaint: str) -> None:
    with pytest.raises(DynamoDBError) as caught:
        canonical(value)
    assert (caught.value.code, caught.value.message) == ("ValidationException", complaint)


LAST = "Invalid last non-pad Base64 character dectected"


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("a", "Base64 encoded length is expected a multiple of 4 bytes but found: 1"),
        ("AAE", "Base64 encoded length is expected a multiple of 4 bytes but found: 3"),
        ("AAF=", LAST),
        ("AB==", LAST),
        ("=+/=", LAST),
        ("=AA=", "Invalid Base64 character"),
        ("####", "Invalid Base64 character"),
        ("====", "Invalid Base64 character"),
        ("é===", "Invalid Base64 character"),
        ("AA\n=", "Invalid Base64 character"),
    ],
)
def test_binary_that_is_not_base64_is_a_serialization_error(text: str, complaint: str) -> None:
    with pytest.raises(DynamoDBError) as caught:
        canonical({"B": text})
    assert (caught.value.code, caught.value.message) == ("SerializationException", complaint)


def _nested(levels: int) -> dict[str, Any]:
    value: dict[str, Any] = {"S": "deep"}
    for _ in range(levels):
        value = {"L": [value]}
    return value


def test_attribute_may_nest_32_levels() -> None:
    assert canonical(_nested(31)) == _nested(31)
    with pytest.raises(DynamoDBError, match="Nesting Levels"):
        canonical(_nested(32))
    with pytest.raises(DynamoDBError, match="Nesting Levels"):
        canonical(_nested(800))


@pytest.mark.parametrize("check", [canonical_item, measured])
def test_item_errors_come_in_order_name_depth_value(check: Callable[[Any], Any]) -> None:
    nameless, deep, wrong = {"": {"S": "x"}}, {"deep": _nested(32)}, {"wrong": {"M": {"": {"N": "x"}}}, "n": {"N": "x"}}
    for item, complaint in (
        ({**wrong, **deep, **nameless}, "Empty attribute name"),
        ({**wrong, **deep}, "Nesting Levels"),
        ({**wrong, "empty": {"M": {"l": _nested(30), "m": {"L": []}}}}, "Empty attribute name"),
        ({"n": {"N": "x"}, "shallow": _nested(31)}, "numeric value: x"),
    ):
        with pytest.raises(DynamoDBError, match=complaint):
            check(item)
    with pytest.raises(DynamoDBError) as caught:
        check({"bytes": {"B": "no base64"}, **deep})
    assert caught.value.code == "SerializationException"


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ({"SS": ["b", "é", "", "a", "\U0001f600", "\uffff", "B"]}, ["", "B", "a", "b", "é", "\uffff", "\U0001f600"]),
        ({"NS": ["10", "9.0", "-1", "1.5", "-1e1"]}, ["-10", "-1", "1.5", "9", "10"]),
        ({"BS": ["/w==", "AAA=", "", "AA==", "fw=="]}, ["", "AA==", "AAA=", "fw==", "/w=="]),
    ],
)
def test_a_set_is_kept_in_order(given: dict[str, Any], kept: list[str]) -> None:
    (name,) = given
    assert canonical(given) == {name: kept}
    assert measured({"in": {"M": {"it": given}}})[0] == {"in": {"M": {"it": {name: kept}}}}


@pytest.mark.parametrize(
    ("value", "newer"),
    [
        ({"N": ""}, "The parameter cannot be converted to a numeric value: "),
        ({"N": "x"}, "The parameter cannot be converted to a numeric value: x"),
        (
            {"NULL": False},
            "One or more parameter values were invalid: Null attribute value types must have the value of true",
        ),
        (
            {"SS": ["d", "a", "d", "c", "b"]},
            'One or more parameter values were invalid: Input collection ["a", "d", "d", "c", "b"] contains duplicates.',
        ),
        (
            {"BS": ["/w==", "AA==", "AA=="]},
            'One or more parameter values were invalid: Input collection ["AA==","/w==","AA=="]of type BS contains '
            "duplicates.",
        ),
        ({"NS": ["2", "1", "2"]}, "One or more parameter values were invalid: Input collection contains duplicates."),
    ],
)
def test_some_errors_have_newer_wording(value: dict[str, Any], newer: str) -> None:
    with pytest.raises(DynamoDBError) as caught:
        canonical(value)
    assert newer_wording(caught.value).message == newer


@pytest.mark.parametrize("value", [{"M": {"": {"S": "x"}}}, {"L": [{"M": {"": {"S": "x"}}}]}])
def test_a_name_is_never_empty(value: Any) -> None:
    with pytest.raises(DynamoDBError, match="Empty attribute name"):
        canonical(value)
    with pytest.raises(DynamoDBError, match="Empty attribute name"):
        canonical_item({"": {"S": "x"}})


def test_sets_are_equal_in_any_order_also_inside_a_map() -> None:
    assert equal({"M": {"a": {"SS": ["x", "y"]}}}, {"M": {"a": {"SS": ["y", "x"]}}})
    assert not equal({"SS": ["x", "y"]}, {"SS": ["x", "z"]})
    assert not equal({"L": [{"S": "x"}, {"S": "y"}]}, {"L": [{"S": "y"}, {"S": "x"}]})
    assert not equal({"S": "1"}, {"N": "1"})


@pytest.mark.parametrize(
    ("value", "size"),
    [
        ({"S": "abc"}, 3),
        ({"S": "é"}, 2),
        ({"S": ""}, 0),
        ({"B": "AAEC"}, 3),
        ({"B": "AAE="}, 2),
        ({"B": "AA=="}, 1),
        ({"BOOL": False}, 1),
        ({"NULL": True}, 1),
        ({"N": "0"}, 1),
        ({"N": "123"}, 3),
        ({"N": "-123"}, 4),
        ({"SS": ["a", "bc"]}, 3),
        ({"NS": ["1", "2"]}, 4),
        ({"L": []}, 3),
        ({"L": [{"S": "a"}]}, 5),
        ({"M": {"k": {"S": "a"}}}, 6),
    ],
)
def test_value_size(value: dict[str, Any], size: int) -> None:
    assert value_size(value) == size


def test_an_item_counts_names_and_values() -> None:
    assert item_size({"näme": {"S": "abc"}}) == 5 + 3


numbers = st.integers(-(10**40), 10**40).map(str) | st.sampled_from(["01.50", "1e3", "-0", "0.00001", "1" * 38])
texts = st.text(max_size=6)
binaries = st.binary(max_size=4).map(lambda content: base64.b64encode(content).decode())
scalars = st.one_of(
    texts.map(lambda text: {"S": text}),
    numbers.map(lambda text: {"N": text}),
    binaries.map(lambda text: {"B": text}),
    st.booleans().map(lambda truth: {"BOOL": truth}),
    st.just({"NULL": True}),
    st.just({"S": "a", "N": None}),
    st.lists(texts, min_size=1, max_size=3, unique=True).map(lambda members: {"SS": members}),
    st.lists(st.integers(0, 99).map(str), min_size=1, max_size=3, unique=True).map(lambda members: {"NS": members}),
    st.lists(binaries, min_size=1, max_size=3, unique=True).map(lambda members: {"BS": members}),
)
nested = st.recursive(
    scalars,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3).map(lambda members: {"L": members}),
        st.dictionaries(texts, inner, max_size=3).map(lambda members: {"M": members}),
    ),
    max_leaves=6,
)
items = st.dictionaries(texts, nested, max_size=5)


def _outcome(work: Callable[[], Any]) -> Any:
    try:
        return work()
    except DynamoDBError as error:
        return error.message


@given(items)
def test_measured_equals_canonical_form_and_size(item: Any) -> None:
    before = copy.deepcopy(item)

    def apart() -> Any:
        canonical_form = canonical_item(item)
        return canonical_form, item_size(canonical_form)

    assert _outcome(lambda: measured(item)) == _outcome(apart)
    assert item == before


@given(items)
def test_json_is_longer_than_counted_size(item: Any) -> None:
    found = _outcome(lambda: measured(item))
    if not isinstance(found, str):
        canonical_form, size = found
        assert len(msgspec.json.encode(canonical_form)) > size


@given(items, items)
def test_changed_size_is_difference_of_sizes(one: Any, other: Any) -> None:
    found = _outcome(lambda: (measured(one), measured(other)))
    if not isinstance(found, str):
        (before, size), (after, larger) = found
        assert changed_size(before, after, {*before, *after}) == larger - size
