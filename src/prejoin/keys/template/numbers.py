"""Numbers as text that sorts like the numbers: negative, decimal, up to DynamoDB's 38 digits.

    -1000   -i8999~       0      A0        19.99   B19.99
    -7      -l2~          0.05   A0.05     42      B42
    -0.5    -l9.4~        7      A7        1000    D1000

A number starts with a letter for the count of digits before the point, so that shorter numbers sort first. Then come
the digits, without padding. A negative number starts with `-`, which sorts below all letters. Its letter counts in the
opposite direction, each of its digits is complemented (0 to 9, 9 to 0), and a final `~`, which sorts above digits and
the point, puts -19.99 before -19.9. The text is unique for each number, so it can be decoded again. This follows the
usual order-preserving encoding of variable-length numbers, as in FoundationDB's tuple layer, with readable characters.
"""

from __future__ import annotations

from decimal import Decimal

from prejoin.keys.errors import KeyValueError

MAX_DIGITS = 38
_LENGTHS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijkl"
_COMPLEMENT = str.maketrans("0123456789", "9876543210")


def complement(text: str) -> str:
    """Complement every digit (0 to 9, 9 to 0), which reverses the order. It is its own inverse.

    >>> complement("2024-06-01")
    '7975-93-98'
    """
    return text.translate(_COMPLEMENT)


def encode_number(value: int | Decimal) -> str:
    """Encode a number as described above.

    >>> [encode_number(Decimal(n)) for n in ("0", "7", "42", "19.99", "1000")]
    ['A0', 'A7', 'B42', 'B19.99', 'D1000']
    >>> numbers = [Decimal(n) for n in ("-100", "-19.99", "-19.9", "-19", "-0.5", "0", "0.05", "9", "10")]
    >>> [encode_number(n) for n in numbers] == sorted(encode_number(n) for n in numbers)
    True
    """
    number = Decimal(value)
    if not number.is_finite():
        raise KeyValueError(f"{value} cannot be part of a key")
    if abs(number.adjusted()) > 2 * MAX_DIGITS and number:
        raise _too_long(value)
    # Not abs(number): arithmetic rounds to the context's 28 digits.
    integer_digits, _, fraction = f"{number.copy_abs():f}".partition(".")
    integer_digits, fraction = integer_digits.lstrip("0") or "0", fraction.rstrip("0")
    if len(integer_digits) > MAX_DIGITS or len(fraction) > MAX_DIGITS:
        raise _too_long(value)
    digits = f"{integer_digits}.{fraction}" if fraction else integer_digits
    if number >= 0:
        return _LENGTHS[len(integer_digits) - 1] + digits
    # "~" sorts above digits and point: of two negative numbers the one with more decimals is the smaller.
    return f"-{_LENGTHS[MAX_DIGITS - len(integer_digits)]}{complement(digits)}~"


def decode_number(text: str) -> int | Decimal:
    """Decode a number. Without decimals it becomes an int.

    >>> [decode_number(encode_number(Decimal(n))) for n in ("-19.99", "-7", "0", "12.5")]
    [Decimal('-19.99'), -7, 0, Decimal('12.5')]
    """
    digits = "-" + complement(text[2:-1]) if text.startswith("-") else text[1:]
    return Decimal(digits) if "." in digits else int(digits)


def _too_long(value: int | Decimal) -> KeyValueError:
    return KeyValueError(f"{value} has more than {MAX_DIGITS} digits before or after the point")


def negate(value: int | Decimal) -> int | Decimal:
    """The negated number, exactly."""
    return -value if isinstance(value, int) else value.copy_negate()
