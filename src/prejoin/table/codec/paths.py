"""Paths inside an attribute, such as `address.city` or `lines[0].qty`: their names in the table, and their codecs."""

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
    """The target of a path."""

    name: str
    """For messages, with the class: `Order.address.city`."""
    steps: Steps
    """The path with the names in the table."""
    value: ValueCodec
    optional: bool
    """Whether it may be absent."""
    last: Last = "field"
    """The kind of the last step: a field of a class, an element of a list, or an entry of a map."""

    def encode(self, value: Any) -> Json:
        try:
            return self.value.encode(value)
        except CodecError as error:
            raise CodecError(f"{self.name}: {error}") from None


def place(codec: Codec[Any], path: Steps) -> Place:
    """Return the target of a path; raise UnknownAttribute if there is none.

    >>> from dataclasses import dataclass
    >>> @dataclass
    ... class Cart:
    ...     cart_id: str
    ...     lines: list[dict[str, int]]
    >>> found = place(Codec.of(Cart), ("lines", 3, "qty"))
    >>> found.steps, found.encode(2)
    (('lines', 3, 'qty'), {'N': '2'})
    """
    first, *inner_steps = path
    attribute = codec.attribute(first)
    if not inner_steps:
        return Place(f"{codec.name}.{first}", (attribute.wire,), attribute.value, attribute.optional)
    # All elements of a list have the same type, so one result serves all positions.
    cls: type = codec.cls
    target = _inside(cls, (first, *(0 if isinstance(step, int) else step for step in inner_steps)))
    steps = tuple(
        step if isinstance(step, int) else wire for step, wire in zip(inner_steps, target.steps[1:], strict=True)
    )
    return Place(
        f"{codec.name}.{path_text(path)}", (attribute.wire, *steps), target.value, target.optional, target.last
    )


def parent(path: Steps) -> Steps:
    """Return the path that must exist for a change: the parent, or in a list the element itself."""
    first, *inner_steps = path
    return path if isinstance(path[-1], int) else (first, *inner_steps[:-1])


@lru_cache(maxsize=1024)
def _inside(cls: type, path: Steps) -> Place:
    first, *inner_steps = path
    hint = Codec.of(cls).attribute(first).field.hint
    steps: list[str | int] = []
    optional = False
    last: Last = "field"
    for at, step in enumerate(inner_steps):
        wire, hint, optional, last = _step(f"{cls.__name__}.{path_text((first, *inner_steps[:at]))}", hint, step)
        steps.append(wire)
    value = value_codec(hint)
    return Place(path_text(path), (first, *steps), value, optional or value.optional, last)


def _step(location: str, hint: Any, step: str | int) -> tuple[str | int, Any, bool, Last]:
    """Return one step into a type: the name in the table, the type there, whether it is optional, and its kind."""
    hint = _plain(hint)
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if hint in (Any, object, list, tuple, dict):
        return step, Any, True, "element" if isinstance(step, int) else "entry"
    if is_record(hint):
        if isinstance(step, int):
            raise UnknownAttribute(f"{location} is a {hint.__name__}, which has attributes, not elements")
        attribute = Codec.of(hint).attribute(step)
        return attribute.wire, attribute.field.hint, attribute.optional, "field"
    if origin in (list, tuple):
        if not isinstance(step, int):
            raise UnknownAttribute(
                f"{location} is a list and has no {step}. Its elements are [0], [1], …; "
                "+= and appended() add to its end"
            )
        return step, arguments[0], False, "element"
    if origin in (dict, Mapping):
        if isinstance(step, int):
            raise UnknownAttribute(f'{location} is a map, and its entries have names: ["name"]')
        return step, arguments[1], True, "entry"
    if origin in (set, frozenset):
        raise UnknownAttribute(f"{location} is a set and has no {step}. |= adds members, -= removes them")
    raise UnknownAttribute(f"{location} has no {step} inside")


def _plain(hint: Any) -> Any:
    """Return a type hint without annotations and without None."""
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin is typing.Annotated:
        return _plain(arguments[0])
    if isinstance(hint, typing.NewType):
        return _plain(hint.__supertype__)
    if origin in (typing.Union, types.UnionType):
        members = [argument for argument in arguments if argument is not type(None)]
        if len(members) == 1:
            return _plain(members[0])
    return hint
