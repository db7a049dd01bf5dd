"""Places inside an attribute, `address.city`, `lines[0].qty`: their names in the table, and how values are written."""

from __future__ import annotations

import types
import typing
from collections.abc import Mapping
from functools import lru_cache
from typing import Any, Literal

import msgspec

from prejoin.table.errors import CodecError, UnknownAttribute

from .codec import Codec, value_codec
from .values import Json, ValueCodec, is_record

Steps = tuple[str, *tuple[str | int, ...]]
"""A path in an item: an attribute, then names in maps and positions in lists."""

Last = Literal["field", "element", "entry"]


def path_text(path: Steps) -> str:
    """Return a path as it is written in Python.

    >>> path_text(("lines", 0, "qty"))
    'lines[0].qty'
    """
    return "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in path).lstrip(".")


class Place(msgspec.Struct, frozen=True):
    """Where a path leads."""

    name: str
    """As people read it, with the class: `Order.address.city`."""
    steps: Steps
    """As the table calls them."""
    value: ValueCodec
    optional: bool
    """Whether it may be absent."""
    last: Last = "field"
    """What the last step goes to: a field of a class, an element of a list, an entry of a map."""

    def encode(self, value: Any) -> Json:
        try:
            return self.value.encode(value)
        except CodecError as error:
            raise CodecError(f"{self.name}: {error}") from None


def place(codec: Codec[Any], path: Steps) -> Place:
    """The place that a path leads to, or UnknownAttribute.

    >>> from dataclasses import dataclass
    >>> @dataclass
    ... class Cart:
    ...     cart_id: str
    ...     lines: list[dict[str, int]]
    >>> found = place(Codec.of(Cart), ("lines", 3, "qty"))
    >>> found.steps, found.encode(2)
    (('lines', 3, 'qty'), {'N': '2'})
    """
    first, *rest = path
    attribute = codec.attribute(first)
    if not rest:
        return Place(f"{codec.name}.{first}", (attribute.wire,), attribute.value, attribute.optional)
    # Every element of a list is alike: one answer serves all positions.
    cls: type = codec.cls
    found = _inside(cls, (first, *(0 if isinstance(step, int) else step for step in rest)))
    steps = tuple(step if isinstance(step, int) else wire for step, wire in zip(rest, found.steps[1:], strict=True))
    return Place(f"{codec.name}.{path_text(path)}", (attribute.wire, *steps), found.value, found.optional, found.last)


def parent(path: Steps) -> Steps:
    """What has to be there for a place to be written: what it lies in; of a list, the element itself."""
    first, *rest = path
    return path if isinstance(path[-1], int) else (first, *rest[:-1])


@lru_cache(maxsize=1024)
def _inside(cls: type, path: Steps) -> Place:
    first, *rest = path
    hint = Codec.of(cls).attribute(first).field.hint
    steps: list[str | int] = []
    optional = False
    last: Last = "field"
    for at, step in enumerate(rest):
        wire, hint, optional, last = _step(f"{cls.__name__}.{path_text((first, *rest[:at]))}", hint, step)
        steps.append(wire)
    value = value_codec(hint)
    return Place(path_text(path), (first, *steps), value, optional or value.optional, last)


def _step(where: str, hint: Any, step: str | int) -> tuple[str | int, Any, bool, Last]:
    """One step into a type: what it is called in the table, what is there, whether it may be absent, what it is."""
    hint = _plain(hint)
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if hint in (Any, object, list, tuple, dict):
        return step, Any, True, "element" if isinstance(step, int) else "entry"
    if is_record(hint):
        if isinstance(step, int):
            raise UnknownAttribute(f"{where} is a {hint.__name__}: it has attributes, not elements")
        attribute = Codec.of(hint).attribute(step)
        return attribute.wire, attribute.field.hint, attribute.optional, "field"
    if origin in (list, tuple):
        if not isinstance(step, int):
            raise UnknownAttribute(
                f"{where} is a list and has no {step}: elements are [0], [1], …; += and appended() add to its end"
            )
        return step, arguments[0], False, "element"
    if origin in (dict, Mapping):
        if isinstance(step, int):
            raise UnknownAttribute(f'{where} is a map: its entries have names, as in ["name"]')
        return step, arguments[1], True, "entry"
    if origin in (set, frozenset):
        raise UnknownAttribute(f"{where} is a set and has no {step}: |= adds members, -= takes them away")
    raise UnknownAttribute(f"{where} has nothing inside that could be called {step}")


def _plain(hint: Any) -> Any:
    """A type without what is said beside it: that it may be None, and what annotations say."""
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin is typing.Annotated:
        return _plain(arguments[0])
    if isinstance(hint, typing.NewType):
        return _plain(hint.__supertype__)
    if origin in (typing.Union, types.UnionType):
        rest = [argument for argument in arguments if argument is not type(None)]
        if len(rest) == 1:
            return _plain(rest[0])
    return hint
