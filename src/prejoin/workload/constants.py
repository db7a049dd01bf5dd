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
        case _:
            return text
