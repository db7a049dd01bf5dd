"""Conditions: what they mean over an item, and how DynamoDB words what is wrong with them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prejoin.protocol.errors import DynamoDBError
from prejoin.protocol.expressions import Substitutions, bind_condition, evaluate
from prejoin.protocol.expressions.parser import parse_condition
from prejoin.protocol.values import Item

ITEM: Item = {
    "pk": {"S": "a"},
    "n": {"N": "5"},
    "s": {"S": "hello"},
    "b": {"B": "AAEC"},
    "ok": {"BOOL": True},
    "nil": {"NULL": True},
    "tags": {"SS": ["x", "y"]},
    "nums": {"NS": ["1", "2"]},
    "list": {"L": [{"S": "x"}, {"N": "2"}, {"M": {"deep": {"S": "z"}}}]},
    "map": {"M": {"a": {"N": "1"}, "b c": {"S": "q"}}},
}
VALUES: dict[str, Any] = {
    ":4": {"N": "4"},
    ":5": {"N": "5.0"},
    ":6": {"N": "6"},
    ":h": {"S": "he"},
    ":hello": {"S": "hello"},
    ":x": {"S": "x"},
    ":z": {"S": "z"},
    ":bin": {"B": "AAE="},
    ":t": {"BOOL": True},
    ":yx": {"SS": ["y", "x"]},
    ":2": {"N": "2"},
    ":S": {"S": "S"},
    ":NULL": {"S": "NULL"},
}
NAMES = {"#s": "s", "#bc": "b c", "#map": "map", "#list": "list"}


def decide(text: str, item: Item = ITEM) -> bool:
    return evaluate(bind_condition(text, Substitutions(NAMES, VALUES)), item)


@pytest.mark.parametrize(
    ("text", "size"), [("", 0), ("plain", 5), ("größe", 5), ("é\U0001f600", 3), ("\U0001f600" * 2, 4)]
)
def test_the_size_of_a_text_is_in_utf_16_units(text: str, size: int) -> None:
    values = Substitutions(values={":size": {"N": str(size)}})
    assert evaluate(bind_condition("size(t) = :size", values), {"t": {"S": text}})


@pytest.mark.parametrize(
    "text",
    [
        "n = :5",
        "n <> :4",
        "n > :4 AND n < :6",
        "n >= :5 and n <= :5",
        ":4 < n",
        "n BETWEEN :4 AND :6",
        "n IN (:4, :5)",
        "n BETWEEN :4 AND :6 AND s = :hello",
        "NOT n = :4",
        "NOT (n = :4 OR n = :6)",
        "n = :4 OR n = :5",
        "n = :5 OR n = :4 AND n = :6",
        "(n = :4 OR n = :5) AND s = :hello",
        "absent <> :4",
        "NOT absent = :4",
        "attribute_exists(n) AND attribute_not_exists(absent)",
        "attribute_exists(#map.a) AND attribute_not_exists(#map.zzz)",
        "#map.a < :4",
        "#list[0] = :x",
        "#list[2].deep = :z",
        "attribute_not_exists(#list[9])",
        "begins_with(#s, :h)",
        "begins_with(b, :bin)",
        "contains(s, :h)",
        "contains(tags, :x)",
        "contains(nums, :2)",
        "contains(#list, :x)",
        "contains(#list, :2)",
        "tags = :yx",
        "ok = :t",
        "size(s) = :5",
        "size(tags) = :2",
        "size(#list) < :4",
        "size(#map) = :2",
        "attribute_type(s, :S)",
        "attribute_type(nil, :NULL)",
        "(n) = (:5)",
    ],
)
def test_condition_is_true(text: str) -> None:
    assert decide(text)


@pytest.mark.parametrize(
    "text",
    [
        "absent = :4",
        "absent < :4",
        "absent = another",
        "n = :hello",
        "s > :5",
        "n = :4 AND n = :5",
        "n = :4 OR n = :6 AND n = :5",
        "begins_with(n, :h)",
        "contains(absent, :h)",
        "contains(n, :5)",
        "size(n) > :4",
        "size(absent) < :6",
        "attribute_type(absent, :S)",
        "n IN (:hello, absent)",
    ],
)
def test_condition_is_false_without_error(text: str) -> None:
    assert not decide(text)


def test_a_condition_on_no_item_sees_no_attributes() -> None:
    assert decide("attribute_not_exists(pk)", {})


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("", "The expression can not be empty;"),
        ("n", 'Syntax error; token: "<EOF>", near: "n"'),
        ("n = 5", 'Syntax error; token: "5", near: "= 5"'),
        ("n == :5", 'Syntax error; token: "=", near: "== :5"'),
        ("!!! what", 'Syntax error; token: "!", near: "!!"'),
        ("n = :5 )", 'Syntax error; token: ")", near: ":5 )"'),
        ("(n = :5", 'Syntax error; token: "<EOF>", near: ":5"'),
        ("status = :5", "Attribute name is a reserved keyword; reserved keyword: status"),
        ("remove = :5", 'Syntax error; token: "remove", near: "remove ="'),
        ("n = m.SET", 'Syntax error; token: "SET", near: ".SET"'),
        ("((n = :5))", "The expression has redundant parentheses;"),
        # Once closed, they are reported before a syntax error, but not while the operator is looked for.
        ("((n = :5)).d", "The expression has redundant parentheses;"),
        ("((n)) = :5 d", "The expression has redundant parentheses;"),
        ("n BETWEEN ((n)).d AND :5", "The expression has redundant parentheses;"),
        ("n = :5 AND ((n = :5)) AND (", "The expression has redundant parentheses;"),
        ("n = :5 AND (", 'Syntax error; token: "<EOF>", near: "("'),
        ("((n)).d = :5", 'Syntax error; token: ".", near: ").d"'),
        ("size(((n)).d) = :5", 'Syntax error; token: ".", near: ").d"'),
        ("(n)[0] = :5", 'Syntax error; token: "[", near: ")[0"'),
        ("foo(n)", "Invalid function name; function: foo"),
        # Of names, functions and positions that are not allowed, the first is reported.
        ("status = foo(n)", "Attribute name is a reserved keyword; reserved keyword: status"),
        ("foo(status) = n", "Invalid function name; function: foo"),
        ("n = l[99999999999] AND status = n", "List index is not within the allowable range; index: [99999999999]"),
        ("size(n) AND foo(n)", "The function is not allowed to be used this way in an expression; function: size"),
        (
            "if_not_exists(n, n) = :5",
            "The function is not allowed in a condition expression; function: if_not_exists",
        ),
        ("_n = :5", 'Syntax error; token: "_", near: "_n"'),
        ("n[4294967296] = :5", "List index is not within the allowable range; index: [4294967296]"),
        (
            "size(n)",
            "The function is not allowed to be used this way in an expression; function: size",
        ),
        (
            "attribute_exists(n) = :t",
            "The function is not allowed to be used this way in an expression; function: attribute_exists",
        ),
        (
            "#nope = :5",
            "An expression attribute name used in the document path is not defined; attribute name: #nope",
        ),
        (
            "n = :nope",
            "An expression attribute value used in expression is not defined; attribute value: :nope",
        ),
        (
            "attribute_exists(n, s)",
            "Incorrect number of operands for operator or function; "
            "operator or function: attribute_exists, number of operands: 2",
        ),
        (
            "attribute_exists(:5)",
            "Operator or function requires a document path; operator or function: attribute_exists",
        ),
        (
            "begins_with(s, :5)",
            "Incorrect operand type for operator or function; operator or function: begins_with, operand type: N",
        ),
        (
            "attribute_type(s, :h)",
            "Invalid attribute type name found; type: he, valid types: {B,NULL,SS,BOOL,L,BS,N,NS,S,M}",
        ),
        (
            "n = n",
            "The first operand must be distinct from the remaining operands for this operator or function; "
            "operator: =, first operand: [n]",
        ),
        (
            "n BETWEEN :6 AND :4",
            "The BETWEEN operator requires upper bound to be greater than or equal to lower bound; "
            "lower bound operand: AttributeValue: {N:6}, upper bound operand: AttributeValue: {N:4}",
        ),
        (
            "n BETWEEN :4 AND :h",
            "The BETWEEN operator requires same data type for lower and upper bounds; "
            "lower bound operand: AttributeValue: {N:4}, upper bound operand: AttributeValue: {S:he}",
        ),
        (
            "x" * 5000,
            "Expression size has exceeded the maximum allowed size; expression size: 5000",
        ),
    ],
)
def test_invalid_condition_has_aws_message(text: str, complaint: str) -> None:
    with pytest.raises(DynamoDBError) as caught:
        decide(text)
    assert caught.value.message == f"Invalid ConditionExpression: {complaint}"


def test_deep_parentheses_raise_error_without_crash() -> None:
    with pytest.raises(DynamoDBError, match="redundant parentheses"):
        parse_condition("(" * 2000 + "n=:5" + ")" * 2000)
    with pytest.raises(DynamoDBError, match="Syntax error"):
        parse_condition("(" * 4000)


@pytest.mark.parametrize("text", ["NOT " * 900 + "n=:5", "NOT(a=:x AND " * 250 + "n=:5" + ")" * 250])
def test_stack_depth_is_limited_by_operator_count(text: str) -> None:
    with pytest.raises(DynamoDBError, match="too many operators; operator count: 301"):
        parse_condition(text)


@pytest.mark.parametrize("text", ["NOT " * 298 + "n = :5", "n = :4 OR (" * 149 + "n = :5" + ")" * 149])
def test_deepest_allowed_condition_is_evaluated(text: str) -> None:
    assert decide(text)


def test_long_and_chain_is_flat() -> None:
    assert decide(" OR ".join(["n = :4"] * 149 + ["n = :5"]))


def test_an_expression_has_at_most_300_operators() -> None:
    with pytest.raises(DynamoDBError) as caught:
        decide(" OR ".join(["n = :4"] * 151))
    assert caught.value.message == (
        "Invalid ConditionExpression: The expression contains too many operators; operator count: 301"
    )


def test_placeholders_that_no_expression_uses_are_refused() -> None:
    substitutions = Substitutions({"#a": "a", "#b": "b"}, {":v": {"N": "1"}})
    bind_condition("#a = :v", substitutions)
    with pytest.raises(DynamoDBError) as caught:
        substitutions.finish()
    assert caught.value.message == ("Value provided in ExpressionAttributeNames unused in expressions: keys: {#b}")


def outcome(call: Callable[[], object]) -> str:
    """The code of the DynamoDB error that a call raises; any other error fails the test."""
    try:
        call()
    except DynamoDBError as error:
        return error.code
    return "decided"


fragments = st.sampled_from(
    [
        *'()[].,:#=<>+-!"\\ \n\t0a',
        *("AND", "OR", "NOT", "BETWEEN", "IN", "a", "#s", ":4", "size(", "contains(", "SET ", "REMOVE ", "ADD "),
        *("attribute_exists(", "if_not_exists(", "list_append(", "[0]", "<>", "<=", "é", "\ud83d", "\x00"),
    ]
)


@given(st.one_of(st.text(max_size=60), st.lists(fragments, max_size=30).map("".join)))
def test_any_text_is_a_condition_or_a_validation_error(text: str) -> None:
    assert outcome(lambda: decide(text)) in ("decided", "ValidationException")


comparisons = st.sampled_from(["n = :5", "n = :4", "s = :hello", "attribute_exists(absent)"])


@given(
    st.recursive(
        comparisons,
        lambda part: st.one_of(st.tuples(part, st.sampled_from(["AND", "OR"]), part), st.tuples(st.just("NOT"), part)),
        max_leaves=12,
    )
)
def test_and_or_not_mean_what_pythons_do(tree: Any) -> None:
    truth = {"n = :5": True, "n = :4": False, "s = :hello": True, "attribute_exists(absent)": False}

    def text(node: Any) -> str:
        if isinstance(node, str):
            return node
        return " ".join(part if part in ("AND", "OR", "NOT") else _bracketed(text(part), part) for part in node)

    def _bracketed(inner: str, part: Any) -> str:
        return inner if isinstance(part, str) else f"({inner})"

    def python(node: Any) -> bool:
        if isinstance(node, str):
            return truth[node]
        if len(node) == 2:
            return not python(node[1])
        left, operator, right = node
        return (python(left) and python(right)) if operator == "AND" else (python(left) or python(right))

    assert decide(text(tree)) == python(tree)
