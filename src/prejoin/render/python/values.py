"""Types and values as Python code, with the imports that they need."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import assert_never

from prejoin.render.python.layout import Imports, quote, string
from prejoin.types import Kind, Type
from prejoin.workload.constants import constant
from prejoin.workload.model import Attribute, Value
from prejoin.workload.samples import SampleContent

_UNITS = ((86_400, "days"), (3600, "hours"), (60, "minutes"), (1, "seconds"))


def annotation(type_: Type, imports: Imports, enum: str = "") -> str:
    """The annotation of a type; `enum` is the name of an enum type."""
    match type_.kind:
        case Kind.ENUM:
            if enum:
                return enum
            imports.name("typing", "Literal")
            return f"Literal[{', '.join(map(string, type_.values))}]"
        case Kind.NUMBER | Kind.DECIMAL:
            imports.name("decimal", "Decimal")
            return "int | Decimal" if type_.kind is Kind.NUMBER else "Decimal"
        case Kind.DATE | Kind.DATETIME:
            imports.module("datetime as dt")
            return f"dt.{type_.kind}"
        case Kind.UUID:
            imports.name("uuid", "UUID")
            return "UUID"
        case Kind.MAP:
            imports.name("typing", "Any")
            return "dict[str, Any]"
        case Kind.CONTENT:
            imports.name("prejoin", "LargeValue")
            return "LargeValue"
        case Kind.LIST:
            if type_.of is None:
                imports.name("typing", "Any")
            return f"list[{annotation(type_.of, imports) if type_.of else 'Any'}]"
        case Kind.SET:
            return f"set[{annotation(type_.of, imports) if type_.of else 'str'}]"
        case Kind.STRING | Kind.ULID:
            return "str"
        case Kind.INTEGER:
            return "int"
        case Kind.BOOLEAN:
            return "bool"
        case Kind.BINARY:
            return "bytes"
        case _:
            assert_never(type_.kind)


def literal(value: object, imports: Imports) -> str:
    """A value as a literal."""
    match value:
        case str():
            return string(value)
        case SampleContent():
            imports.name("prejoin", "LargeValue")
            return f"LargeValue.of({quote(repr(bytes(value)))})"
        # A bool is an int, too: `repr` gives True, not 1.
        case bool() | int() | bytes() | None:
            return repr(value) if not isinstance(value, bytes) else quote(repr(value))
        case Decimal():
            imports.name("decimal", "Decimal")
            return f'Decimal("{value}")'
        # A datetime is a date, too, and so it comes first.
        case datetime():
            imports.module("datetime as dt")
            moment = value.astimezone(UTC)
            parts = [moment.year, moment.month, moment.day, moment.hour, moment.minute, moment.second]
            # A time is written as short as people would: without zeros at the end.
            while len(parts) > 3 and not parts[-1] and not moment.microsecond:
                parts.pop()
            parts += [moment.microsecond] if moment.microsecond else []
            return f"dt.datetime({', '.join(map(str, parts))}, tzinfo=dt.UTC)"
        case date():
            imports.module("datetime as dt")
            return f"dt.date({value.year}, {value.month}, {value.day})"
        case uuid.UUID():
            imports.name("uuid", "UUID")
            return f'UUID("{value}")'
        case list():
            return f"[{', '.join(literal(element, imports) for element in value)}]"
        # Sorted, because the order of a set differs from run to run; `{}` would be a dictionary.
        case set() | frozenset():
            return f"{{{', '.join(sorted(literal(element, imports) for element in value))}}}" if value else "set()"
        case Mapping():
            return f"{{{', '.join(f'{string(str(k))}: {literal(v, imports)}' for k, v in value.items())}}}"
        case _:
            raise TypeError(f"no literal for {value!r}")


def constant_text(text: str, attribute: Attribute, imports: Imports) -> str:
    """A constant of the document as a literal of its attribute's type."""
    return literal(constant(text, attribute.type), imports)


def moment_text(value: Value, attribute: Attribute, imports: Imports) -> str:
    """A time relative to `now`, in the type of its attribute: `now - dt.timedelta(days=7)`."""
    imports.module("datetime as dt")
    seconds = value.now or 0
    moment = f"now {'-' if seconds < 0 else '+'} dt.timedelta({_span(abs(seconds))})" if seconds else "now"
    inner = f"({moment})" if seconds else moment
    match attribute.type.kind:
        case Kind.DATETIME:
            return moment
        case Kind.DATE:
            return f"{inner}.date()"
        case Kind.STRING:
            return f'{inner}.isoformat(timespec="seconds").replace("+00:00", "Z")'
        case (
            Kind.NUMBER
            | Kind.INTEGER
            | Kind.DECIMAL
            | Kind.BOOLEAN
            | Kind.BINARY
            | Kind.UUID
            | Kind.ULID
            | Kind.LIST
            | Kind.MAP
            | Kind.SET
            | Kind.ENUM
            | Kind.CONTENT
        ):
            return f"int({inner}.timestamp())"
        case _:
            assert_never(attribute.type.kind)


def _span(seconds: int) -> str:
    size, unit = next(pair for pair in _UNITS if seconds % pair[0] == 0)
    return f"{unit}={seconds // size}"
