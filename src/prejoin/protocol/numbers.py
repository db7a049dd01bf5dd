"""DynamoDB numbers: 38 digits, one canonical text each, exact arithmetic, and bytes that sort like the numbers."""

from __future__ import annotations

import decimal
import re
from functools import lru_cache
from typing import NamedTuple

from prejoin.protocol import limits
from prejoin.protocol.errors import TwoWordingsError, refuse

_FORM = re.compile(r"([+-]?)(?:([0-9]++)\.?([0-9]*+)|\.([0-9]++))(?:[eE]([+-]?[0-9]++))?")
_EXACT = decimal.Context(prec=400, Emax=999_999, Emin=-999_999)
_EXPONENT_DIGITS = 19
_KEPT_LENGTH = 200
_EXPONENTS = range(-(2**63), 2**63)
"""Exponents beyond these make a text invalid."""
_OVERFLOW = "Number overflow. Attempting to store a number with magnitude larger than supported range"
_UNDERFLOW = "Number underflow. Attempting to store a number with magnitude smaller than supported range"
_NOT_NUMERIC = "The parameter cannot be converted to a numeric value"


class Number(NamedTuple):
    """0.digits × 10^exponent. The digits neither begin nor end with a zero; zero has no digits."""

    negative: bool
    digits: str
    exponent: int


ZERO = Number(False, "", 0)


def parse(text: str) -> Number:
    """A number in the range that DynamoDB can store. Otherwise raises a ValidationException.

    >>> parse("-120.50")
    Number(negative=True, digits='1205', exponent=3)
    """
    match = _FORM.fullmatch(text)
    if not match:
        raise TwoWordingsError(f"{_NOT_NUMERIC}: {text}" if text else _NOT_NUMERIC, f"{_NOT_NUMERIC}: {text}")
    sign, integer_digits, fraction, bare, scale = match.groups()
    integer_digits, fraction = integer_digits or "", fraction or bare or ""
    mantissa = (integer_digits + fraction).lstrip("0")
    # For zero, only a written exponent must be within the range.
    exponent = len(mantissa) - len(fraction) if mantissa else 1
    if scale:
        # Far outside the range the exact exponent no longer matters, and int() of a huge text would be slow.
        magnitude = scale.lstrip("+-").lstrip("0")[: _EXPONENT_DIGITS + 1] or "0"
        written_exponent = -int(magnitude) if scale.startswith("-") else int(magnitude)
        if written_exponent not in _EXPONENTS:
            refuse(f"{_NOT_NUMERIC}: {text}")
        exponent += written_exponent
    if exponent - 1 > limits.NUMBER_EXPONENT_MAXIMUM:
        refuse(_OVERFLOW)
    if exponent - 1 < limits.NUMBER_EXPONENT_MINIMUM:
        refuse(_UNDERFLOW)
    digits = mantissa.rstrip("0")
    if not digits:
        return ZERO
    if len(digits) > limits.NUMBER_DIGITS:
        refuse("Attempting to store more than 38 significant digits in a Number")
    return Number(sign == "-", digits, exponent)


def render(number: Number) -> str:
    """The canonical text: no exponent, no leading zeros, no trailing zeros after the point."""
    _, digits, exponent = number
    if not digits:
        return "0"
    if exponent <= 0:
        text = "0." + "0" * -exponent + digits
    elif exponent >= len(digits):
        text = digits + "0" * (exponent - len(digits))
    else:
        text = digits[:exponent] + "." + digits[exponent:]
    return "-" + text if number.negative else text


def normalise(text: str) -> str:
    """The canonical text in which DynamoDB stores and returns this number.

    >>> normalise("00042"), normalise("1.50E2"), normalise("-0.0"), normalise("1e-3")
    ('42', '150', '0', '0.001')
    """
    # Leading or trailing zeros may make a text as long as a request: such a text is not cached.
    return _normalise(text) if len(text) < _KEPT_LENGTH else render(parse(text))


@lru_cache(maxsize=4096)
def _normalise(text: str) -> str:
    if text.isdecimal() and text.isascii() and len(text) <= limits.NUMBER_DIGITS and text[0] != "0":
        return text
    return render(parse(text))


@lru_cache(maxsize=4096)
def value(text: str) -> decimal.Decimal:
    """A canonical text as an exact decimal."""
    return decimal.Decimal(text)


def add(first: str, second: str) -> str:
    """The exact sum. More than 38 digits are refused rather than rounded, with DynamoDB's overflow message.

    >>> add("0.1", "0.2")
    '0.3'
    """
    if first.isdecimal() and second.isdecimal() and len(first) + len(second) < limits.NUMBER_DIGITS:
        return str(int(first) + int(second))  # the common case of counters; the result is canonical
    return _result(_EXACT.add(value(first), value(second)))


def subtract(first: str, second: str) -> str:
    """The exact difference."""
    return _result(_EXACT.subtract(value(first), value(second)))


def _result(number: decimal.Decimal) -> str:
    text = str(number)
    if len(text) > limits.NUMBER_DIGITS and len(number.normalize(_EXACT).as_tuple().digits) > limits.NUMBER_DIGITS:
        refuse(_OVERFLOW)  # AWS reports an overflow, whatever the magnitude
    return normalise(text)


@lru_cache(maxsize=4096)
def size(text: str) -> int:
    """The bytes that a canonical number counts in an item: one for each pair of digits around the point, one for the
    exponent, one for a minus.

    >>> size("0"), size("7"), size("15"), size("1.5"), size("-15")
    (1, 2, 2, 3, 3)
    """
    negative, digits, exponent = (False, text.rstrip("0"), len(text)) if text.isdecimal() else parse(text)
    if not digits:
        return 1
    # Pairs stand around the decimal point, so an odd exponent begins with half a pair.
    pairs = (len(digits) + (exponent & 1) + 1) // 2
    return 1 + pairs + negative


def hashable(text: str) -> bytes:
    """The bytes of a number that DynamoDB hashes if it is a partition key. Suites that were run on AWS show them.

    The exponent comes first, then pairs of digits around the decimal point as 1 to 100; a negative number is
    complemented and ends with 102.

    >>> hashable("0").hex(), hashable("15").hex(), hashable("1.5").hex(), hashable("-15").hex()
    ('80', 'c110', 'c10233', '3e5666')
    """
    negative, digits, exponent = parse(text)
    if not digits:
        return b"\x80"
    digits = "0" * (exponent & 1) + digits
    pairs = [int(digits[start : start + 2].ljust(2, "0")) for start in range(0, len(digits), 2)]
    first = (exponent + 1) // 2 - 64
    if not negative:
        return bytes((first & 0xFF, *(pair + 1 for pair in pairs)))
    return bytes((~first & 0xFF, *(101 - pair for pair in pairs))) + b"\x66" * (len(pairs) < _LONGEST)


_LONGEST = 20
"""The number of pairs that leave no room for the end of a negative number."""


@lru_cache(maxsize=4096)
def sortable(text: str) -> bytes:
    """Bytes that compare like the numbers. No number's bytes are a prefix of another's.

    A sign byte comes first, then the exponent, then pairs of digits as 1 to 100, then a zero byte. For negative numbers
    everything after the sign is complemented.

    >>> texts = ["-1E+125", "-2", "-1.5", "-1", "-1E-130", "0", "1E-130", "1", "1.5", "2", "10", "1E+125"]
    >>> texts == sorted(texts, key=sortable)
    True
    """
    number = parse(text)
    if not number.digits:
        return b"\x80"
    digits = number.digits + "0" * (len(number.digits) & 1)
    pairs = bytes(int(digits[start : start + 2]) + 1 for start in range(0, len(digits), 2))
    # Exponents run from -129 to 126; 256 of them fit one byte.
    body = bytes((number.exponent - 1 - limits.NUMBER_EXPONENT_MINIMUM,)) + pairs + b"\x00"
    if number.negative:
        return b"\x7f" + body.translate(_COMPLEMENT)
    return b"\x81" + body


_COMPLEMENT = bytes(255 - byte for byte in range(256))
