"""Expressions that come again: whatever was kept of them, the answer is as the first time."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from prejoin.protocol.errors import DynamoDBError
from prejoin.protocol.expressions import (
    Substitutions,
    apply,
    bind_condition,
    bind_key_conditions,
    bind_projection,
    bind_update,
    evaluate,
    expression,
    key_conditions,
)


def _number(text: Any) -> dict[str, Any]:
    return {"N": str(text)}


def _refused(work: Callable[[], Any]) -> str:
    with pytest.raises(DynamoDBError) as caught:
        work()
    return caught.value.message


def test_each_request_has_its_own_values() -> None:
    for limit, expected in ((5, True), (3, False), (5, True)):
        bound = bind_condition("n < :most", Substitutions(None, {":most": _number(limit)}))
        assert evaluate(bound, {"n": _number(4)}) is expected
    for step, total in ((1, "5"), (-7, "-3"), (1, "5")):
        bound = bind_update("SET n = n + :step", Substitutions(None, {":step": _number(step)}))
        assert apply(bound, {"n": _number(4)}) == {"n": _number(total)}


def test_each_request_has_its_own_names() -> None:
    for name, expected in (("a", True), ("b", False), ("a", True)):
        bound = bind_condition("attribute_exists(#n)", Substitutions({"#n": name}))
        assert evaluate(bound, {"a": _number(1)}) is expected
    assert bind_projection("#n.x", Substitutions({"#n": "#n"})).paths[0].steps == ("#n", "x")


def test_other_value_type_is_checked_again() -> None:
    bind_condition("begins_with(s, :b)", Substitutions(None, {":b": {"S": "x"}}))
    again = Substitutions(None, {":b": _number(1)})
    assert "Incorrect operand type" in _refused(lambda: bind_condition("begins_with(s, :b)", again))


@pytest.mark.parametrize(
    ("text", "right", "wrong", "complaint"),
    [
        ("n BETWEEN :a AND :b", (1, 2), (2, 1), "upper bound to be greater than or equal to lower bound"),
        ("NOT (x = :a AND n BETWEEN :a AND :b)", (1, 1), (2, 1), "upper bound to be greater"),
    ],
)
def test_bounds_are_compared_each_time(text: str, right: Any, wrong: Any, complaint: str) -> None:
    for bounds in (right, right):
        bind_condition(text, Substitutions(None, {":a": _number(bounds[0]), ":b": _number(bounds[1])}))
    given = Substitutions(None, {":a": _number(wrong[0]), ":b": _number(wrong[1])})
    assert complaint in _refused(lambda: bind_condition(text, given))


def test_bounds_of_a_key_are_compared_each_time() -> None:
    text = "pk = :p AND sk BETWEEN :a AND :b"
    for low, high in ((1, 2), (3, 3)):
        given = Substitutions(None, {":p": {"S": "x"}, ":a": _number(low), ":b": _number(high)})
        assert key_conditions(bind_key_conditions(text, given))["sk"].operands == [_number(low), _number(high)]
    given = Substitutions(None, {":p": {"S": "x"}, ":a": _number(2), ":b": _number(1)})
    assert "upper bound" in _refused(lambda: bind_key_conditions(text, given))


def test_the_name_of_a_type_is_checked_each_time() -> None:
    text = "attribute_type(a, :t)"
    for name, expected in (("S", True), ("N", False)):
        bound = bind_condition(text, Substitutions(None, {":t": {"S": name}}))
        assert evaluate(bound, {"a": {"S": "x"}}) is expected
    given = Substitutions(None, {":t": {"S": "STRING"}})
    assert "Invalid attribute type name found" in _refused(lambda: bind_condition(text, given))


def test_unused_placeholder_is_refused_each_time() -> None:
    for _ in range(2):
        given = Substitutions({"#a": "a", "#c": "c"}, {":b": _number(1), ":d": _number(1)})
        bind_condition("#a = :b", given)
        assert _refused(given.finish).endswith("ExpressionAttributeNames unused in expressions: keys: {#c}")
        bind_condition("#c = :b", given)
        assert _refused(given.finish).endswith("ExpressionAttributeValues unused in expressions: keys: {:d}")
        bind_condition("#c = :d", given)
        given.finish()


def test_expression_cache_is_bounded() -> None:
    for number in range(2 * expression.MAX_CACHED):
        bound = bind_condition(f"a{number} = :v", Substitutions(None, {":v": _number(number)}))
        assert evaluate(bound, {f"a{number}": _number(number)})
    assert len(expression._forms) <= expression.MAX_CACHED


@pytest.mark.parametrize(
    "text",
    [" OR ".join(f"a{n} = :v" for n in range(140)), "NOT " * 80 + "a0 = :v", "a0 IN (" + ", ".join([":v"] * 100) + ")"],
)
def test_a_large_expression_means_the_same_each_time(text: str) -> None:
    for content, expected in (("1", True), ("2", False), ("1", True)):
        bound = bind_condition(text, Substitutions(None, {":v": _number(1)}))
        assert evaluate(bound, {"a0": _number(content)}) is expected
