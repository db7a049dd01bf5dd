"""Constants of a workload are text; here they become values of their attribute's type."""

from __future__ import annotations

import uuid
from datetime import UTC, date, datetime
from decimal import Decimal

from prejoin.types import Kind, Type


def constant(text: str, type_: Type) -> object:
    """The value that a text stands for; ValueError or ArithmeticError where it is none of that type.

    >>> constant("7", Type(Kind.INTEGER)), constant("true", Type(Kind.BOOLEAN)), constant("OPEN", Type(Kind.STRING))
    (7, True, 'OPEN')
    """
    match type_.kind:
        case Kind.INTEGER:
            return int(text)
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
            return constant(text, type_.of)  # one member: that is what is looked for, or added
        case _:
            return text


def constant_or_text(text: str, type_: Type) -> object:
    """The value that a text stands for, or the text where it is none of that type: another check tells of that.

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
