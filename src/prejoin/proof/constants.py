"""Values as a workload writes them, in Python: constants by the type of their attribute, and times from now."""

from __future__ import annotations

import uuid
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any

from prejoin.types import Kind
from prejoin.workload.model import Attribute, Value


def value_of(value: Value, attribute: Attribute, now: datetime, given: dict[str, Any] | None = None) -> Any:
    """What a value stands for, where it is compared with an attribute or written into it."""
    if value.param is not None:
        return (given or {})[value.param]
    if value.now is not None:
        return _moment(now + timedelta(seconds=value.now), attribute)
    return constant(value.const or "", attribute)


def _moment(moment: datetime, attribute: Attribute) -> Any:
    match attribute.type.kind:
        case Kind.DATETIME:
            return moment
        case Kind.DATE:
            return moment.date()
        case Kind.STRING:
            return moment.isoformat(timespec="seconds").replace("+00:00", "Z")
        case _:
            return int(moment.timestamp())


def constant(text: str, attribute: Attribute) -> Any:
    match attribute.type.kind:
        case Kind.INTEGER:
            return int(text)
        case Kind.NUMBER | Kind.DECIMAL:
            number = Decimal(text)
            return int(number) if attribute.type.kind is Kind.NUMBER and number == int(number) else number
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
