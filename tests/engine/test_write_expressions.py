"""Expressions of writes that were seen before: only what may differ is checked again, and all of that is."""

from __future__ import annotations

from typing import Any

import pytest

from prejoin.engine.items import write_expressions as programs
from prejoin.engine.items.write_expressions import compile_expressions
from prejoin.protocol.errors import DynamoDBError


@pytest.fixture(autouse=True)
def _forgotten() -> None:
    programs._programs.clear()


def number(text: str) -> dict[str, Any]:
    return {"N": text}


def refused(condition: str | None, update: str | None, names: Any, values: Any) -> str:
    with pytest.raises(DynamoDBError) as caught:
        compile_expressions(condition, update, names, values)
    return caught.value.message


def test_writes_differing_in_values_share_compiled_expressions() -> None:
    asked = ("attribute_exists(#k)", "SET #n = #n + :step", {"#k": "pk", "#n": "n"})
    first, values = compile_expressions(*asked, {":step": number("1")})
    again, others = compile_expressions(*asked, {":step": number("02")})
    assert again is first
    assert (values, others) == ({":step": number("1")}, {":step": number("2")})
    assert first.change is not None
    assert first.change({"n": number("40")}, others) == {"n": number("42")}


def test_other_names_compile_again() -> None:
    for name in ("a", "b", "a"):
        found, _ = compile_expressions("attribute_not_exists(#n)", None, {"#n": name}, None)
        assert (found.existence_of, found.must_exist) == (name, False)


def test_values_of_another_type_are_checked_anew() -> None:
    compile_expressions("begins_with(s, :b)", None, None, {":b": {"S": "x"}})
    assert "Incorrect operand type" in refused("begins_with(s, :b)", None, None, {":b": number("1")})


@pytest.mark.parametrize(
    ("value", "complaint"),
    [
        (number("x"), "cannot be converted to a numeric value: x for key :v"),
        ({"N": None}, "Supplied AttributeValue is empty"),
        ({"N": "1", "S": "1"}, "more than one datatypes set"),
        ({"S": "x" * 3_000_000}, "exceeds max size"),
    ],
)
def test_invalid_value_is_refused_from_cache_too(value: dict[str, Any], complaint: str) -> None:
    for right in (number("1"), {"S": "x"}):
        compile_expressions("a = :v", None, None, {":v": right})
    assert complaint in refused("a = :v", None, None, {":v": value})


def test_a_member_that_is_null_does_not_hide_the_type() -> None:
    given = {":b": {"S": "x", "N": None}}, {":b": {"S": None, "N": "1"}}
    assert compile_expressions("begins_with(s, :b)", None, None, given[0])[1] == {":b": {"S": "x"}}
    assert "Incorrect operand type" in refused("begins_with(s, :b)", None, None, given[1])


def test_bounds_are_compared_in_every_request() -> None:
    compile_expressions("n BETWEEN :a AND :b", None, None, {":a": number("1"), ":b": number("2")})
    wrong = {":a": number("3"), ":b": number("2")}
    assert "upper bound" in refused("n BETWEEN :a AND :b", None, None, wrong)


def test_unused_or_empty_placeholders_are_refused_each_time() -> None:
    for _ in range(2):
        compile_expressions("attribute_exists(a)", None, None, None)
        assert "unused" in refused("attribute_exists(a)", None, {"#n": "n"}, None)
        assert "must not be empty" in refused("attribute_exists(a)", None, {}, None)
        assert "must not be empty" in refused("attribute_exists(a)", None, None, {})


def test_presence_shortcut_needs_plain_condition() -> None:
    for text in ("attribute_exists(a.b)", "NOT attribute_exists(a)", "attribute_exists(a) AND b = c", "a = b"):
        assert compile_expressions(text, None, None, None)[0].existence_of == ""


def test_compiled_expression_cache_is_bounded() -> None:
    for at in range(programs._CACHED_EXPRESSIONS + 10):
        found, _ = compile_expressions(f"a{at} = :v", None, None, {":v": number("1")})
        assert found.condition is not None
        assert found.condition({f"a{at}": number("1")}, {":v": number("1")})
    assert len(programs._programs) <= programs._CACHED_EXPRESSIONS
