"""Values as a workload writes them, in Python: constants by the type of their attribute, and times from now."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from prejoin.types import Kind
from prejoin.workload.constants import constant
from prejoin.workload.model import Attribute, Value


def value_of(value: Value, attribute: Attribute, now: datetime, given: dict[str, Any] | None = None) -> Any:
    """What a value stands for, where it is compared with an attribute or written into it."""
    if value.param is not None:
        return (given or {})[value.param]
    if value.now is not None:
        return _moment(now + timedelta(seconds=value.now), attribute)
    return constant(value.const or "", attribute.type)


def _moment(moment: datetime, attribute: Attribute) -> Any:
    match attribute.type.kind:
        case Kind.DATETIME:
            return moment.replace(microsecond=0) if attribute.ttl else moment
        case Kind.DATE:
            return moment.date()
        case Kind.STRING:
            return moment.isoformat(timespec="seconds").replace("+00:00", "Z")
        case _:
            return int(moment.timestamp())
