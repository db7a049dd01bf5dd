"""TypeScript values and calls as lines of code."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from .layout import Lines, laid_out

WIDTH = 80
STEP = "  "
_IDENTIFIER = re.compile(r"[A-Za-z_$][A-Za-z0-9_$]*")


class TypeScriptRaw:
    """An expression: `this.table.tableArn`."""

    def __init__(self, text: str) -> None:
        self.text = text


class TypeScriptCall:
    """A call, or a `new`, whose last argument is an object: `new iam.PolicyStatement({ … })`."""

    def __init__(self, opening: str, values: Mapping[str, Any]) -> None:
        self.opening = opening
        self.values = values


def call_lines(opening: str, values: Mapping[str, Any], closing: str = ");", room: int = WIDTH) -> Lines:
    """A call with an object as its last argument, in the width of a line.

    >>> call_lines("f(", {"name": "a", "size": 1})
    ['f({ name: "a", size: 1 });']
    >>> call_lines("f(", {"name": "a", "size": 1}, room=20)
    ['f({', '  name: "a",', '  size: 1,', '});']
    """
    parts = [_member(name, value, room - len(STEP)) for name, value in values.items()]
    return laid_out(f"{opening}{{ ", parts, f" }}{closing}", room, STEP)


def string_literal(text: str) -> str:
    r"""A string literal. Invisible characters are escaped.

    >>> print(string_literal('say "hi"'), string_literal("a\u202eb"))
    "say \"hi\"" "a\u202eb"
    """
    # A JSON string is one of TypeScript. Characters that change the direction of text would hide code from readers.
    json_text = json.dumps(text, ensure_ascii=False)
    return "".join(char if char.isprintable() else json.dumps(char)[1:-1] for char in json_text)


def camel(name: str) -> str:
    """A Python name in camel case.

    >>> camel("table_arn"), camel("gsi_1")
    ('tableArn', 'gsi1')
    """
    return re.sub(r"(?<!_)_++([a-z0-9])", lambda match: match[1].upper(), name)


def _member(name: str, value: Any, room: int) -> Lines:
    # A variable of the same name says both.
    if isinstance(value, TypeScriptRaw) and value.text == name:
        return [name]
    key = name if _IDENTIFIER.fullmatch(name) else string_literal(name)
    # `__proto__: …` would set the prototype of the object. In brackets it is a name like others.
    return _value(value, room, f"[{string_literal(name)}]: " if name == "__proto__" else f"{key}: ")


def _value(value: Any, room: int, lead: str = "") -> Lines:
    """A named value and a comma, in the width that is left."""
    inner, space = room - len(STEP), room - 1
    match value:
        case TypeScriptRaw():
            return [f"{lead}{value.text}"]
        case TypeScriptCall():
            return call_lines(f"{lead}{value.opening}", value.values, ")", space)
        case bool():
            return [f"{lead}{'true' if value else 'false'}"]
        case int():
            return [f"{lead}{value}"]
        case str():
            return [f"{lead}{string_literal(value)}"]
        case Mapping():
            return call_lines(lead, value, "", space)
        case _:
            return laid_out(f"{lead}[", [_value(element, inner) for element in value], "]", space, STEP)
