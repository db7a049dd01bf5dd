"""What msgspec decodes items into: structs in the shape of DynamoDB JSON, and the code that makes objects of them.

An answer becomes structs in one call, in C; the code that takes the values out of them is written once per class, as
`dataclasses` writes `__init__`. What does not fit raises, and is then read again slowly, by `values`, which says why.
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
"""From the source of what stands under a tag to the source of the Python value."""


class Wire(msgspec.Struct, frozen=True):
    """How the values of one type stand in an answer."""

    tag: str
    """`S`, `N`, …; empty for a value of any type."""
    content: Callable[[], Any]
    """The type that msgspec reads under the tag. A function, for most types are never read."""
    take: Take | None = None
    """Where that is not the Python value yet."""
    optional: bool = False

    @property
    def type(self) -> Any:
        """What msgspec decodes such a value into."""
        return _tagged(self.tag, self.content(), self.optional) if self.tag else Any

    def source(self, at: str, code: FunctionSource) -> str:
        """The source of the Python value, of that of the decoded one."""
        if not self.tag:
            assert self.take
            return self.take(at, code)
        content = f"{at}.{self.tag}"
        if self.take is None:
            return content
        if not self.optional:
            return self.take(content, code)
        found = code.fresh()
        return f"(None if ({found} := {content}) is None else {self.take(found, code)})"


def plain(tag: str, content: Any) -> Wire:
    """A value that msgspec reads as it is."""
    return Wire(tag, lambda: content)


def through(function: Callable[[Any], Any], tag: str, content: Any = str) -> Wire:
    """A value made of what is read by one more function."""
    return Wire(tag, lambda: content, lambda at, code: f"{code.constant(function)}({at})")


def anything(function: Callable[[Any], Any]) -> Wire:
    """A value of any type, made by a function of its DynamoDB JSON."""
    return Wire("", lambda: Any, lambda at, code: f"{code.constant(function)}({at})")


def or_none(wire: Wire) -> Wire:
    return Wire(wire.tag, wire.content, wire.take, optional=True)


def list_of(inner: Wire, made: type) -> Wire:
    def take(at: str, code: FunctionSource) -> str:
        one = code.fresh()
        text = f"[{inner.source(one, code)} for {one} in {at}]"
        return text if made is list else f"{code.constant(made)}({text})"

    return Wire("L", lambda: list[inner.type], take)  # type: ignore[name-defined]


def map_of(inner: Wire) -> Wire:
    def take(at: str, code: FunctionSource) -> str:
        name, one = code.fresh(), code.fresh()
        return f"{{{name}: {inner.source(one, code)} for {name}, {one} in {at}.items()}}"

    return Wire("M", lambda: dict[str, inner.type], take)  # type: ignore[name-defined]


def set_of(inner: Wire, made: type) -> Wire:
    """A set: its members stand there without a tag each."""
    take = inner.take
    if take is None:
        return Wire(inner.tag + "S", lambda: made[inner.content()])  # type: ignore[index]

    def taken(at: str, code: FunctionSource) -> str:
        one = code.fresh()
        return f"{code.constant(made)}([{take(one, code)} for {one} in {at}])"

    return Wire(inner.tag + "S", lambda: list[inner.content()], taken)  # type: ignore[misc]


class Slot(msgspec.Struct, frozen=True):
    """An attribute of a class, as its items are read."""

    parameter: str
    """What the constructor calls it; empty where it knows it by its position."""
    wire_name: str
    wire: Wire
    needed: bool
    """Whether every item has it."""
    default: Default | None = None
    """What it is where an item does not have it; None where the constructor knows."""


def struct_of(slots: Sequence[Slot], *more: tuple[str, str, Any]) -> type[msgspec.Struct]:
    """The struct that items are decoded into: a field for each attribute, and `more` (field, wire name, type)."""
    fields: list[Any] = [(field, type_) for field, _, type_ in more]
    fields += [(f"a{at}", slot.wire.type) for at, slot in enumerate(slots) if slot.needed]
    fields += [(f"a{at}", slot.wire.type, None) for at, slot in enumerate(slots) if not slot.needed]
    rename = {f"a{at}": slot.wire_name for at, slot in enumerate(slots)} | {field: wire for field, wire, _ in more}
    return msgspec.defstruct("Item", fields, rename=rename, gc=False)


def source_of(make: Callable[..., Any], slots: Sequence[Slot], at: str, code: FunctionSource) -> str:
    """The source of the object that `make` makes of a decoded item.

    >>> slots = [Slot("name", "n", plain("S", str), True), Slot("age", "a", through(int, "N"), False, Default(0))]
    >>> text = source_of(dict, slots, "item", code := FunctionSource())
    >>> text
    'c4(name=item.a0.S, age=c3 if (v1 := item.a1) is None else c2(v1.N))'
    >>> code.function("item", text)(msgspec.json.decode(b'{"n": {"S": "Ann"}}', type=struct_of(slots)))
    {'name': 'Ann', 'age': 0}
    """
    parts = [_argument(slot, f"{at}.a{number}", code) for number, slot in enumerate(slots)]
    return f"{code.constant(make)}({', '.join(parts)})"


def _argument(slot: Slot, field: str, code: FunctionSource) -> str:
    if slot.needed:
        return _said(slot.parameter, slot.wire.source(field, code))
    found = code.fresh()
    value = slot.wire.source(found, code)
    if slot.default is None:
        return f"**({{}} if ({found} := {field}) is None else {{{slot.parameter!r}: {value}}})"
    absent = code.constant(slot.default.factory or slot.default.value) + "()" * (slot.default.factory is not None)
    return _said(slot.parameter, f"{absent} if ({found} := {field}) is None else {value}")


def _said(parameter: str, value: str) -> str:
    if not parameter:
        return value
    ordinary = parameter.isidentifier() and not iskeyword(parameter)
    return f"{parameter}={value}" if ordinary else f"**{{{parameter!r}: {value}}}"


@cache
def _tagged(tag: str, content: Any, optional: bool) -> type[msgspec.Struct]:
    """`{"S": …}`; where it is optional, also `{"NULL": true}`."""
    if not optional:
        return msgspec.defstruct(tag, [(tag, content)], gc=False)
    fields = [(tag, content | None, None), ("NULL", bool, False)]
    return msgspec.defstruct(tag, fields, forbid_unknown_fields=True, gc=False)
