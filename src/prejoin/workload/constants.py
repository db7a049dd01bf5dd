"""Converts the constants of a workload, which are text, to values of their attribute's type."""

from __future__ import annotations

import uuid
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import assert_never

from prejoin.types import Kind, Type


def constant(text: str, type_: Type) -> object:
    """The value of a constant; ValueError or ArithmeticError if it is not of that type.

    >>> constant("7", Type(Kind.INTEGER)), constant("true", Type(Kind.BOOLEAN)), constant("OPEN", Type(Kind.STRING))
    (7, True, 'OPEN')
    >>> constant("1e3", Type(Kind.INTEGER))
    1000
    """
    match type_.kind:
        case Kind.INTEGER:
            exact = Decimal(text)
            if exact != exact.to_integral_value():
                raise ValueError(f"{text} is not an integer")
            return int(exact)
        case Kind.NUMBER | Kind.DECIMAL:
            number = Decimal(text)
            return int(number) if type_.kind is Kind.NUMBER and number == int(number) else number
        case Kind.BOOLEAN:
            return text.lower() == "true"
        case Kind.DATE:
            return date.fromisoformat(text)
        case Kind.DATETIME:
            moment = datetime.fromisoformat(text)
            return moment if moment.tzinfo else moment.replace(tzinfo=UTC)
        case Kind.UUID:
            return uuid.UUID(text)
        case Kind.LIST | Kind.SET if type_.of:
            return constant(text, type_.of)  # one element: a read looks for one, a write adds one
        case (
            Kind.STRING
            | Kind.ULID
            | Kind.ENUM
            | Kind.BINARY
            | Kind.MAP
            | Kind.CONTENT
            | Kind.LIST
            | Kind.SET  # without a declared type of the elements
        ):
            return text
        case _:
            assert_never(type_.kind)


def constant_or_text(text: str, type_: Type) -> object:
    """The value of a constant, or the text if it is not of that type: a check reports that.

    >>> constant_or_text("7", Type(Kind.INTEGER)), constant_or_text("seven", Type(Kind.INTEGER))
    (7, 'seven')
    """
    try:
        return constant(text, type_)
    except (ValueError, ArithmeticError):
        return text


def constant_text(value: object) -> str:
    """A value as the text of a constant.

    >>> constant_text(True), constant_text(7), constant_text(constant("2024-01-02", Type(Kind.DATETIME)))
    ('true', '7', '2024-01-02T00:00:00+00:00')
    """
    match value:
        case bool():
            return str(value).lower()
        case date():
            return value.isoformat()
        case _:
            return str(value)
