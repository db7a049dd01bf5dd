"""Updates and projections: what they make of an item, and what is refused."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prejoin.protocol.errors import DynamoDBError
from prejoin.protocol.expressions import Substitutions, apply, bind_projection, bind_update, project
from prejoin.protocol.values import Item

VALUES: dict[str, Any] = {
    ":1": {"N": "1"},
    ":s": {"S": "new"},
    ":ab": {"SS": ["a", "b"]},
    ":xy": {"SS": ["x", "y"]},
    ":l": {"L": [{"S": "z"}]},
    ":empty": {"L": []},
}
NAMES = {"#c": "count", "#list": "list", "#map": "map"}


def update(text: str, item: Item) -> Item:
    before = copy.deepcopy(item)
    changed = apply(bind_update(text, Substitutions(NAMES, VALUES)), item)
    assert item == before, "the item given is left as it was"
    return changed


@pytest.mark.parametrize(
    ("text", "before", "after"),
    [
        ("SET a = :s", {}, {"a": {"S": "new"}}),
        ("SET a = b, b = a", {"a": {"N": "1"}, "b": {"N": "2"}}, {"a": {"N": "2"}, "b": {"N": "1"}}),
        ("SET n = n + :1", {"n": {"N": "41"}}, {"n": {"N": "42"}}),
        ("SET n = n - :1", {"n": {"N": "0"}}, {"n": {"N": "-1"}}),
        ("SET n = (n + :1)", {"n": {"N": "1"}}, {"n": {"N": "2"}}),
        ("SET n = if_not_exists(n, :1) + :1", {}, {"n": {"N": "2"}}),
        ("SET #list = list_append(:l, #list)", {"list": {"L": []}}, {"list": {"L": [{"S": "z"}]}}),
        (
            "SET #list = list_append(if_not_exists(#list, :empty), :l)",
            {},
            {"list": {"L": [{"S": "z"}]}},
        ),
        ("SET #map.k = :1", {"map": {"M": {}}}, {"map": {"M": {"k": {"N": "1"}}}}),
        ("SET #list[0] = :1", {"list": {"L": [{"S": "a"}]}}, {"list": {"L": [{"N": "1"}]}}),
        ("SET #list[7] = :1", {"list": {"L": [{"S": "a"}]}}, {"list": {"L": [{"S": "a"}, {"N": "1"}]}}),
        ("REMOVE a, absent", {"a": {"N": "1"}, "b": {"N": "2"}}, {"b": {"N": "2"}}),
        (
            "REMOVE #list[0], #list[2]",
            {"list": {"L": [{"S": "a"}, {"S": "b"}, {"S": "c"}]}},
            {"list": {"L": [{"S": "b"}]}},
        ),
        ("REMOVE #list[5]", {"list": {"L": [{"S": "a"}]}}, {"list": {"L": [{"S": "a"}]}}),
        ("ADD #c :1", {}, {"count": {"N": "1"}}),
        ("ADD #c :1", {"count": {"N": "1.5"}}, {"count": {"N": "2.5"}}),
        ("ADD tags :ab", {"tags": {"SS": ["b", "c"]}}, {"tags": {"SS": ["a", "b", "c"]}}),
        ("ADD tags :ab", {}, {"tags": {"SS": ["a", "b"]}}),
        ("DELETE tags :ab", {"tags": {"SS": ["b", "c"]}}, {"tags": {"SS": ["c"]}}),
        ("DELETE tags :ab", {"tags": {"SS": ["b"]}, "k": {"N": "1"}}, {"k": {"N": "1"}}),
        ("DELETE tags :ab", {}, {}),
        ("SET a = :1 REMOVE b ADD c :1", {"b": {"N": "0"}}, {"a": {"N": "1"}, "c": {"N": "1"}}),
        ("set a = :1 remove b", {"b": {"N": "0"}}, {"a": {"N": "1"}}),
    ],
)
def test_update_result(text: str, before: Item, after: Item) -> None:
    assert update(text, before) == after


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("SET n = absent + :1", "The provided expression refers to an attribute that does not exist in the item"),
        ("SET n = s + :1", "An operand in the update expression has an incorrect data type"),
        ("ADD s :1", "An operand in the update expression has an incorrect data type"),
        ("DELETE s :ab", "An operand in the update expression has an incorrect data type"),
        ("SET absent.a = :1", "The document path provided in the update expression is invalid for update"),
        ("SET s.a = :1", "The document path provided in the update expression is invalid for update"),
        ("SET s[0] = :1", "The document path provided in the update expression is invalid for update"),
        ("REMOVE absent.a", "The document path provided in the update expression is invalid for update"),
    ],
)
def test_an_update_that_does_not_fit_the_item_is_refused(text: str, complaint: str) -> None:
    with pytest.raises(DynamoDBError) as caught:
        update(text, {"s": {"S": "text"}})
    assert caught.value.message == complaint


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("", "The expression can not be empty;"),
        ("INVALID SYNTAX HERE", 'Syntax error; token: "INVALID", near: "INVALID SYNTAX"'),
        ("SET a = :1 SET b = :1", 'The "SET" section can only be used once in an update expression;'),
        ("SET count = :1", "Attribute name is a reserved keyword; reserved keyword: count"),
        ("SET a = foo(b)", "Invalid function name; function: foo"),
        ("SET a = size(b)", "The function is not allowed in an update expression; function: size"),
        (
            "SET a = list_append(list_append(:l, :l), :l)",
            "The function is not allowed to be used this way in an expression; function: list_append",
        ),
        *(
            (
                f"SET a = {value}",
                "The function is not allowed to be used this way in an expression; function: list_append",
            )
            for value in ("list_append(b, :l) + :1", ":1 - list_append(:l, b)", "if_not_exists(b, list_append(:l, c))")
        ),
        ("SET _a = :1", 'Syntax error; token: "_", near: "SET _a"'),
        ("SET in = :1", 'Syntax error; token: "in", near: "SET in ="'),
        ("SET a = foo(status)", "Invalid function name; function: foo"),
        (
            "SET a = if_not_exists(b, b)",
            "The first operand must be distinct from the remaining operands for this operator or function; "
            "operator: if_not_exists, first operand: [b]",
        ),
        ("SET a = ((b))", "The expression has redundant parentheses;"),
        ("SET a = ((b)) + :1", "The expression has redundant parentheses;"),
        ("SET a = ((b)).c", "The expression has redundant parentheses;"),
        ("SET a = ((b + c))", "The expression has redundant parentheses;"),
        ("SET a = (((b) + (c)))", "The expression has redundant parentheses;"),
        ("SET a = ((b + c)) + c", "The expression has redundant parentheses;"),
        ("SET a = ((b + c)), d = (", "The expression has redundant parentheses;"),
        (f"SET a = b + {'(' * 100}c{')' * 100}", "The expression has redundant parentheses;"),
        ("SET a = ((b + c)", 'Syntax error; token: "<EOF>", near: ")"'),
        ("SET a = ((b + c) + b)", 'Syntax error; token: "+", near: ") + b"'),
        ("SET a = (b + c) + c", 'Syntax error; token: "+", near: ") + c"'),
        ("SET a = _f(b)", 'Syntax error; token: "_", near: "= _f"'),
        ("SET 7a = :1", 'Syntax error; token: "7", near: "SET 7a"'),
        ("SET a[01] = :1", 'Syntax error; token: "1", near: "01]"'),
        ("REMOVE a[2147483648]", "List index is not within the allowable range; index: [2147483648]"),
        (
            "SET a = :1, a.b = :1",
            "Two document paths overlap with each other; must remove or rewrite one of these paths; "
            "path one: [a], path two: [a, b]",
        ),
        (
            "SET a = if_not_exists(b), a.b = :1",
            "Two document paths overlap with each other; must remove or rewrite one of these paths; "
            "path one: [a], path two: [a, b]",
        ),
        (
            "SET a = list_append(b, :1), c = if_not_exists(d) ADD e :s",
            "Incorrect operand type for operator or function; operator: ADD, operand type: STRING, "
            "typeSet: ALLOWED_FOR_ADD_OPERAND",
        ),
        (
            "SET a.b = :1, a[0] = :1",
            "Two document paths conflict with each other; must remove or rewrite one of these paths; "
            "path one: [a, b], path two: [a, [0]]",
        ),
        (
            "ADD a :s",
            "Incorrect operand type for operator or function; operator: ADD, operand type: STRING, "
            "typeSet: ALLOWED_FOR_ADD_OPERAND",
        ),
        (
            "SET a = b + :s",
            "Incorrect operand type for operator or function; operator or function: +, operand type: S",
        ),
        (
            "SET a = list_append(b, :1)",
            "Incorrect operand type for operator or function; operator or function: list_append, operand type: N",
        ),
    ],
)
def test_invalid_update_has_aws_message(text: str, complaint: str) -> None:
    with pytest.raises(DynamoDBError) as caught:
        update(text, {})
    assert caught.value.message == f"Invalid UpdateExpression: {complaint}"


def outcome(call: Callable[[], object]) -> str:
    """The code of the DynamoDB error that a call raises; any other error fails the test."""
    try:
        call()
    except DynamoDBError as error:
        return error.code
    return "done"


fragments = st.sampled_from(
    [
        *"()[].,:#=+- 0a",
        *("SET ", "REMOVE ", "ADD ", "DELETE ", "a", "b", "#c", ":1", ":ab", "if_not_exists(", "list_append("),
        *("SET a = :1", "REMOVE #list[0]", "[0]", "n + :1"),
    ]
)
ITEM: Item = {
    "a": {"M": {"b": {"L": [{"N": "1"}]}}},
    "n": {"N": "1"},
    "list": {"L": [{"S": "x"}]},
    "b": {"SS": ["a"]},
}


@given(st.one_of(st.text(max_size=60), st.lists(fragments, max_size=25).map("".join)))
def test_any_text_is_an_update_or_a_validation_error(text: str) -> None:
    assert outcome(lambda: update(text, ITEM)) in ("done", "ValidationException")


@given(st.one_of(st.text(max_size=60), st.lists(fragments, max_size=25).map("".join)))
def test_any_text_is_a_projection_or_a_validation_error(text: str) -> None:
    assert outcome(lambda: project(ITEM, bind_projection(text, Substitutions(NAMES)).paths)) in (
        "done",
        "ValidationException",
    )


def test_projection_keeps_document_structure() -> None:
    item: Item = {
        "a": {"M": {"x": {"N": "1"}, "y": {"N": "2"}}},
        "list": {"L": [{"S": "0"}, {"M": {"k": {"S": "1"}, "j": {"S": "2"}}}, {"S": "3"}]},
        "s": {"S": "t"},
    }
    projection = bind_projection("a.x, #list[2], #list[1].k, absent, s.nil", Substitutions(NAMES))
    assert project(item, projection.paths) == {
        "a": {"M": {"x": {"N": "1"}}},
        "list": {"L": [{"M": {"k": {"S": "1"}}}, {"S": "3"}]},
    }
