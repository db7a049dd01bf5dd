"""Two conditions on one attribute: an error names both if no value satisfies them, by enumeration of the values."""

from __future__ import annotations

import operator
from collections.abc import Callable
from itertools import product

import pytest

from prejoin.workload.files import read_text

DOCUMENT = """# Things

## Entities

### Thing

- **Attributes**: `thingId` (string, natural), `value` (TYPE, optional, mutable), `note` (string, mutable)

## Access Patterns

### Reads

| ID | Entity | Input Parameters | Result |
| --- | --- | --- | --- |
| AP-001 | Thing | thingId | Single |

### Writes

| ID | Entity | Input Parameters | Items Written | Transaction | Conditions |
| --- | --- | --- | --- | --- | --- |
| AP-020 | Thing | INPUTS | WRITE | No | CONDITIONS |
"""
Values = list[int | str | None]
Numbers = Callable[[int, int], bool]


def number_conditions() -> dict[str, Callable[[int | str | None], bool]]:
    """Conditions on an integer, with what they say."""
    conditions: dict[str, Callable[[int | str | None], bool]] = {
        "value exists": lambda value: value is not None,
        "value not exists": lambda value: value is None,
        "value <> 3": lambda value: value != 3,
        "value in (2, 3)": lambda value: value in (2, 3),
        "value between 3 and 4": lambda value: value in (3, 4),
        "not (value > 3)": lambda value: not (isinstance(value, int) and value > 3),
        "value < 1 or value > 4": lambda value: isinstance(value, int) and (value < 1 or value > 4),
    }
    operators: dict[str, Numbers] = {
        "=": operator.eq,
        "<": operator.lt,
        "<=": operator.le,
        ">": operator.gt,
        ">=": operator.ge,
    }
    for (sign, compares), limit in product(operators.items(), (2, 3)):
        conditions[f"value {sign} {limit}"] = lambda value, compares=compares, limit=limit: (
            isinstance(value, int) and compares(value, limit)
        )
    return conditions


ENUM_CONDITIONS: dict[str, Callable[[int | str | None], bool]] = {
    "value exists": lambda value: value is not None,
    "value not exists": lambda value: value is None,
    "value = A": lambda value: value == "A",
    "value = B": lambda value: value == "B",
    "value <> A": lambda value: value != "A",
    "value in (A, B)": lambda value: value in ("A", "B"),
    "value in (B, C)": lambda value: value in ("B", "C"),
    "value in (C)": lambda value: value == "C",
    "not (value = B)": lambda value: value != "B",
    "value = A or value = C": lambda value: value in ("A", "C"),
}
WAYS = {
    "update": ("thingId, note", "update Thing (note)"),
    "delete": ("thingId", "delete Thing"),
    "create": ("Thing", "create Thing"),
}


def contradictions(type_: str, way: str, conditions: str) -> list[str]:
    inputs, action = WAYS[way]
    text = DOCUMENT.replace("TYPE", type_).replace("INPUTS", inputs).replace("WRITE", action)
    reading = read_text(text.replace("CONDITIONS", conditions), "md")
    return [one.message.replace("Thing.", "") for one in reading.diagnostics if one.code == "PJ212"]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(
    ("type_", "conditions", "values"),
    [
        ("integer", number_conditions(), [None, *range(-2, 9)]),
        ("A | B | C", ENUM_CONDITIONS, [None, "A", "B", "C"]),
    ],
)
def test_an_error_names_two_conditions_that_no_value_satisfies(
    way: str, type_: str, conditions: dict[str, Callable[[int | str | None], bool]], values: Values
) -> None:
    number = 0
    for first, second in product(conditions, conditions):
        if first == second:
            continue
        messages = contradictions(type_, way, f"{first}; {second}")
        is_satisfiable = any(conditions[first](value) and conditions[second](value) for value in values)
        expected = [] if is_satisfiable else [f"`{first}` and `{second}` are never true together"]
        assert messages == expected, (first, second)
        number += not is_satisfiable
    assert number > 10


@pytest.mark.parametrize(
    ("type_", "conditions", "is_contradiction"),
    [
        ("string", 'value begins_with "A"; value = "B"', True),
        ("string", 'value begins_with "A"; value > "Az"', False),
        ("string", 'value contains "x"; value between "b" and "ba"', False),
        ("string", 'value contains "x"; value in ("a", "b")', True),
        ("decimal", "value > 3; value < 4", False),
        ("integer", "value > 3; value < 4", True),
        ("date", 'value > "2026-01-19"; value < "2026-01-20"', True),
        ("datetime", 'value > "2026-01-19T10:00:00Z"; value < "2026-01-19T10:00:01Z"', False),
        ("boolean", "value = true; value = false", True),
        ("integer", "value = given; value <> given", False),
    ],
)
def test_the_order_of_a_type_decides(type_: str, conditions: str, is_contradiction: bool) -> None:
    messages = contradictions(type_, "update", conditions)
    assert bool(messages) is is_contradiction, messages


def test_conditions_on_several_items_do_not_contradict() -> None:
    text = (
        DOCUMENT.replace("TYPE", "integer").replace("INPUTS", "thingId, n").replace("WRITE", "update Thing (note = x)")
    )
    for conditions, is_contradiction in (("n > 5; n < 3", True), ("n > 5; value < 3", False)):
        reading = read_text(text.replace("CONDITIONS", conditions).replace("note = x", "value += n"), "md")
        messages = [one.message for one in reading.diagnostics if one.code == "PJ212"]
        assert bool(messages) is is_contradiction, messages


@pytest.mark.parametrize("ends", ["a and b", "5 and b", "a and 5", "5 and 2", "2 and 5"])
@pytest.mark.parametrize("kind", ["integer", "list of integer", "set of number", "date", "list of string"])
def test_a_range_of_any_type_is_checked(kind: str, ends: str) -> None:
    """Ends that are no values of the type are reported; none breaks the check."""
    text = DOCUMENT.replace("TYPE", kind).replace("INPUTS", "thingId").replace("WRITE", "update Thing (note = x)")
    reading = read_text(text.replace("CONDITIONS", f"value between {ends}"), "md")
    fits = ends == "2 and 5" and "integer" in kind
    assert not fits or all(d.code != "PJ212" for d in reading.diagnostics)
