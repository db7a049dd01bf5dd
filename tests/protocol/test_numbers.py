"""Numbers: one canonical text each, exact arithmetic, and bytes that sort as the numbers do."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prejoin.protocol import numbers
from prejoin.protocol.errors import DynamoDBError


def outcome(call: Callable[[], object]) -> str:
    """The code of the DynamoDB error that a call raises; any other error fails the test."""
    try:
        call()
    except DynamoDBError as error:
        return error.code
    return "done"


digits = st.text("0123456789", min_size=1, max_size=38)


@st.composite
def number_texts(draw: st.DrawFn) -> str:
    """Numbers in all the ways people write them, within DynamoDB's range."""
    mantissa = draw(digits)
    point = draw(st.integers(0, len(mantissa)))
    text = (mantissa[:point] + "." + mantissa[point:]) if draw(st.booleans()) else mantissa
    if text == ".":
        text = "0"
    if draw(st.booleans()):
        text += draw(st.sampled_from(["e", "E", "E+", "e-"])) + str(draw(st.integers(0, 80)))
    return draw(st.sampled_from(["", "-", "+"])) + text


@given(number_texts())
def test_normalising_keeps_the_value(text: str) -> None:
    assert Decimal(numbers.normalise(text)) == Decimal(text)


@given(number_texts())
def test_normalising_twice_is_normalising_once(text: str) -> None:
    once = numbers.normalise(text)
    assert numbers.normalise(once) == once


@given(number_texts(), st.integers(0, 5))
def test_equal_numbers_have_one_text(text: str, zeros: int) -> None:
    sign = text[:1] if text[:1] in "+-" else ""
    padded = sign + "0" * zeros + text.removeprefix(sign)
    assert numbers.normalise(padded) == numbers.normalise(text)


@given(number_texts(), number_texts())
def test_key_bytes_sort_as_the_numbers_do(left: str, right: str) -> None:
    a, b = numbers.sortable(left), numbers.sortable(right)
    assert (a < b, a == b) == (Decimal(left) < Decimal(right), Decimal(left) == Decimal(right))


@given(number_texts(), number_texts())
def test_number_key_bytes_are_prefix_free(left: str, right: str) -> None:
    a, b = numbers.sortable(left), numbers.sortable(right)
    assert a == b or not b.startswith(a)


@given(st.integers(-(10**18), 10**18), st.integers(-(10**18), 10**18))
def test_sums_and_differences_are_exact(left: int, right: int) -> None:
    assert numbers.add(str(left), str(right)) == str(left + right)
    assert numbers.subtract(str(left), str(right)) == str(left - right)


@given(st.text())
def test_any_text_is_a_number_or_a_validation_error(text: str) -> None:
    assert outcome(lambda: numbers.normalise(text)) in ("done", "ValidationException")


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("", "The parameter cannot be converted to a numeric value"),
        ("1x", "The parameter cannot be converted to a numeric value: 1x"),
        ("NaN", "The parameter cannot be converted to a numeric value: NaN"),
        ("٣", "The parameter cannot be converted to a numeric value: ٣"),
        ("1" * 39, "Attempting to store more than 38 significant digits in a Number"),
        (
            "1E+126",
            "Number overflow. Attempting to store a number with magnitude larger than supported range",
        ),
        (
            "1E-131",
            "Number underflow. Attempting to store a number with magnitude smaller than supported range",
        ),
        (
            "1E99999999999",
            "Number overflow. Attempting to store a number with magnitude larger than supported range",
        ),
        (
            "1E9223372036854775807",
            "Number overflow. Attempting to store a number with magnitude larger than supported range",
        ),
        (
            "1E-9223372036854775808",
            "Number underflow. Attempting to store a number with magnitude smaller than supported range",
        ),
        ("0E126", "Number overflow. Attempting to store a number with magnitude larger than supported range"),
        ("-0.0E-131", "Number underflow. Attempting to store a number with magnitude smaller than supported range"),
    ],
)
def test_number_out_of_range_has_aws_message(text: str, complaint: str) -> None:
    with pytest.raises(DynamoDBError) as caught:
        numbers.normalise(text)
    assert caught.value.message == complaint


@pytest.mark.parametrize("exponent", ["9223372036854775808", "-9223372036854775809", "9" * 10_000])
@pytest.mark.parametrize("mantissa", ["1", "0"])
def test_exponent_over_64_bits_is_invalid(mantissa: str, exponent: str) -> None:
    text = f"{mantissa}E{exponent}"
    with pytest.raises(DynamoDBError) as caught:
        numbers.normalise(text)
    assert caught.value.message == f"The parameter cannot be converted to a numeric value: {text}"


@pytest.mark.parametrize("text", ["0E125", "0E-130", "-0E0", "0." + "0" * 200])
def test_a_zero_within_the_range_is_zero(text: str) -> None:
    assert numbers.normalise(text) == "0"


def test_the_extremes_of_the_range_are_stored() -> None:
    nines = "9." + "9" * 37
    for text in (f"{nines}E+125", f"-{nines}E+125", "1E-130", "-1E-130"):
        assert Decimal(numbers.normalise(text)) == Decimal(text)


def test_a_sum_of_more_than_38_digits_is_refused_not_rounded() -> None:
    with pytest.raises(DynamoDBError, match="Number overflow"):
        numbers.add("1E+125".replace("E+125", "0" * 125), "1")
