"""Compiled decoding: msgspec structs in the shape of DynamoDB JSON, and generated code that makes objects from them.

msgspec decodes a whole response into structs in C. The code that takes the values out of the structs is generated once
per class, as `dataclasses` generates `__init__`. An item that does not fit raises; `values` then decodes it slowly,
with an error that says why.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from keyword import iskeyword
from typing import Any

import msgspec

from prejoin.keys.template.codegen import FunctionSource

from .records import Default

Take = Callable[[str, "FunctionSource"], str]
"""From the source of a decoded value to the source of the Python value."""


class Wire(msgspec.Struct, frozen=True):
    """How the values of one type are decoded."""

    tag: str
    """The type tag, `S`, `N`, …; empty for a value of any type."""
    content: Callable[[], Any]
    """Returns the type that msgspec decodes under the tag. Most types are never decoded, so it is a function."""
    take: Take | None = None
    """Converts the decoded value, if it is not the Python value yet."""
    optional: bool = False

    @property
    def type(self) -> Any:
        """The type that msgspec decodes a value into."""
        return _tagged_struct(self.tag, self.content(), self.optional) if self.tag else Any

    def source(self, at: str, code: FunctionSource) -> str:
        """Return the source of the Python value, from that of the decoded value."""
        if not self.tag:
            assert self.take
            return self.take(at, code)
        content = f"{at}.{self.tag}"
        if self.take is None:
            return content
        if not self.optional:
            return self.take(content, code)
        name = code.new_name()
        return f"(None if ({name} := {content}) is None else {self.take(name, code)})"


def plain(tag: str, content: Any) -> Wire:
    """Return the wire of a type that msgspec decodes itself."""
    return Wire(tag, lambda: content)


def through(function: Callable[[Any], Any], tag: str, content: Any = str) -> Wire:
    """Return the wire of a type whose decoded content a function converts."""
    return Wire(tag, lambda: content, lambda at, code: f"{code.constant(function)}({at})")


def any_wire(function: Callable[[Any], Any]) -> Wire:
    """Return the wire of any type: a function converts the DynamoDB JSON."""
    return Wire("", lambda: Any, lambda at, code: f"{code.constant(function)}({at})")


def or_none(wire: Wire) -> Wire:
    return Wire(wire.tag, wire.content, wire.take, optional=True)


def list_of(inner: Wire, container: type) -> Wire:
    def take(at: str, code: FunctionSource) -> str:
        element = code.new_name()
        text = f"[{inner.source(element, code)} for {element} in {at}]"
        return text if container is list else f"{code.constant(container)}({text})"

    return Wire("L", lambda: list[inner.type], take)  # type: ignore[name-defined]


def map_of(inner: Wire) -> Wire:
    def take(at: str, code: FunctionSource) -> str:
        name, value = code.new_name(), code.new_name()
        return f"{{{name}: {inner.source(value, code)} for {name}, {value} in {at}.items()}}"

    return Wire("M", lambda: dict[str, inner.type], take)  # type: ignore[name-defined]


def set_of(inner: Wire, container: type) -> Wire:
    """Return the wire of a set, whose members have no tags."""
    take = inner.take
    if take is None:
        return Wire(inner.tag + "S", lambda: container[inner.content()])  # type: ignore[index]

    def take_members(at: str, code: FunctionSource) -> str:
        member = code.new_name()
        return f"{code.constant(container)}([{take(member, code)} for {member} in {at}])"

    return Wire(inner.tag + "S", lambda: list[inner.content()], take_members)  # type: ignore[misc]


class DecodedField(msgspec.Struct, frozen=True):
    """An attribute of a class, for decoding."""

    parameter: str
    """Its name in the constructor; empty if it is given by position."""
    wire_name: str
    wire: Wire
    is_required: bool
    """Whether every item must have it."""
    default: Default | None = None
    """Its value if an item lacks it; None if the constructor has the default."""


def struct_of(slots: Sequence[DecodedField], *extra_fields: tuple[str, str, Any]) -> type[msgspec.Struct]:
    """Return the struct for items: a field for each attribute, and `extra_fields` (field, name in the table, type)."""
    fields: list[Any] = [(field, type_) for field, _, type_ in extra_fields]
    fields += [(f"a{at}", slot.wire.type) for at, slot in enumerate(slots) if slot.is_required]
    fields += [(f"a{at}", slot.wire.type, None) for at, slot in enumerate(slots) if not slot.is_required]
    rename = {f"a{at}": slot.wire_name for at, slot in enumerate(slots)} | {
        field: wire for field, wire, _ in extra_fields
    }
    return msgspec.defstruct("Item", fields, rename=rename, gc=False)


def source_of(make: Callable[..., Any], slots: Sequence[DecodedField], at: str, code: FunctionSource) -> str:
    """Return the source that calls `make` with the values of a decoded item.

    >>> name = DecodedField("name", "n", plain("S", str), True)
    >>> age = DecodedField("age", "a", through(int, "N"), False, Default(0))
    >>> slots = [name, age]
    >>> text = source_of(dict, slots, "item", code := FunctionSource())
    >>> text
    'c4(name=item.a0.S, age=c3 if (v1 := item.a1) is None else c2(v1.N))'
    >>> code.function("item", text)(msgspec.json.decode(b'{"n": {"S": "Ann"}}', type=struct_of(slots)))
    {'name': 'Ann', 'age': 0}
    """
    parts = [_argument(slot, f"{at}.a{number}", code) for number, slot in enumerate(slots)]
    return f"{code.constant(make)}({', '.join(parts)})"


def _argument(slot: DecodedField, field: str, code: FunctionSource) -> str:
    if slot.is_required:
        return _named_argument(slot.parameter, slot.wire.source(field, code))
    name = code.new_name()
    value = slot.wire.source(name, code)
    if slot.default is None:
        return f"**({{}} if ({name} := {field}) is None else {{{slot.parameter!r}: {value}}})"
    absent = code.constant(slot.default.factory or slot.default.value) + "()" * (slot.default.factory is not None)
    return _named_argument(slot.parameter, f"{absent} if ({name} := {field}) is None else {value}")


def _named_argument(parameter: str, value: str) -> str:
    if not parameter:
        return value
    ordinary = parameter.isidentifier() and not iskeyword(parameter)
    return f"{parameter}={value}" if ordinary else f"**{{{parameter!r}: {value}}}"


@cache
def _tagged_struct(tag: str, content: Any, optional: bool) -> type[msgspec.Struct]:
    """Return the struct of `{"S": …}`, or if it is optional, also of `{"NULL": true}`."""
    if not optional:
        return msgspec.defstruct(tag, [(tag, content)], gc=False)
    fields = [(tag, content | None, None), ("NULL", bool, False)]
    return msgspec.defstruct(tag, fields, forbid_unknown_fields=True, gc=False)
