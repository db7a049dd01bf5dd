"""Objects and items: a dataclass or msgspec Struct as the attributes of a DynamoDB item, and back."""

from __future__ import annotations

import dataclasses
import typing
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cached_property
from typing import Any, Generic, TypeVar

import msgspec

from prejoin.types import Kind, Type

from .errors import CodecError, SchemaError, UnknownAttribute
from .values import Json, ValueCodec, codec_for, is_record

E = TypeVar("E")


@dataclass(frozen=True)
class Attribute:
    """One attribute of an entity: its name in Python, its name in the table, and how its values are written."""

    name: str
    wire: str
    value: ValueCodec
    required: bool

    @property
    def type(self) -> Type:
        return self.value.type

    @property
    def optional(self) -> bool:
        return self.value.optional


@dataclass(frozen=True)
class Codec(Generic[E]):
    """A class and its attributes.

    >>> @dataclass
    ... class User:
    ...     user_id: str
    ...     name: str | None = None
    >>> codec = Codec.of(User)
    >>> codec.encode(User("42"))
    {'user_id': {'S': '42'}}
    >>> codec.decode({"user_id": {"S": "42"}, "name": {"S": "Alice"}})
    User(user_id='42', name='Alice')
    """

    cls: type[E]
    attributes: Mapping[str, Attribute]

    @classmethod
    def of(cls, record: type[E], names: Mapping[str, str] | None = None) -> Codec[E]:
        """The codec of a class; `names` gives attributes another name in the table."""
        if not is_record(record):
            raise SchemaError(f"{record!r} is not a dataclass or msgspec Struct")
        hints = typing.get_type_hints(record, include_extras=True)
        attributes = {}
        for name, wire, required in _fields(record):
            wire = (names or {}).get(name, wire)
            try:
                value = codec_for(hints[name])
            except CodecError as error:
                raise SchemaError(f"{record.__name__}.{name}: {error}") from None
            attributes[name] = Attribute(name, wire, value, required)
        codec = cls(record, attributes)
        for name in names or {}:
            codec.attribute(name)
        return codec

    @property
    def name(self) -> str:
        return self.cls.__name__

    @cached_property
    def types(self) -> dict[str, Type]:
        return {attribute.name: attribute.type for attribute in self.attributes.values()}

    def attribute(self, name: str) -> Attribute:
        found = self.attributes.get(name)
        if found is None:
            near = get_close_matches(name, self.attributes, 1)
            hint = f"did you mean {near[0]}?" if near else f"there are {', '.join(self.attributes)}"
            raise UnknownAttribute(f"{self.name} has no attribute {name}; {hint}")
        return found

    def values(self, record: E) -> dict[str, Any]:
        """An object's attributes by name."""
        return {name: getattr(record, name) for name in self.attributes}

    def encode(self, record: E) -> Json:
        """An object as attributes of an item. What is None is left out."""
        return self.encode_values(self.values(record))

    def encode_values(self, values: Mapping[str, Any]) -> Json:
        item = {}
        for name, value in values.items():
            attribute = self.attribute(name)
            if value is None:
                if not attribute.optional:
                    raise CodecError(f"{self.name}.{name} is None, and it is not optional")
            elif not (attribute.type.kind is Kind.SET and not value):  # DynamoDB has no empty set: absent is empty
                item[attribute.wire] = self.encode_value(name, value)
        return item

    def encode_value(self, name: str, value: Any) -> Json:
        try:
            return self.attribute(name).value.encode(value)
        except CodecError as error:
            raise CodecError(f"{self.name}.{name}: {error}") from None

    def decode(self, item: Mapping[str, Json]) -> E:
        """An item as an object. What it has beside the class's attributes is left aside."""
        values = {}
        for attribute in self.attributes.values():
            found = item.get(attribute.wire)
            if found is not None:
                try:
                    values[attribute.name] = attribute.value.decode(found)
                except CodecError as error:
                    raise CodecError(f"{self.name}.{attribute.name}: {error}") from None
            elif attribute.required:
                values[attribute.name] = self._absent(attribute)
        return self.cls(**values)

    def _absent(self, attribute: Attribute) -> Any:
        if attribute.optional:
            return None
        if attribute.type.kind is Kind.SET:
            return attribute.value.decode({_set_tag(attribute): []})
        raise CodecError(f"the item has no {attribute.wire}, and {self.name} needs one")


def _set_tag(attribute: Attribute) -> str:
    of = attribute.type.of
    if of is None or not of.numeric:
        return "BS" if of and of.kind is Kind.BINARY else "SS"
    return "NS"


def _fields(record: Any) -> Iterable[tuple[str, str, bool]]:
    """Name, name in the table, and whether the constructor needs it."""
    if issubclass(record, msgspec.Struct):
        for field in msgspec.structs.fields(record):
            yield field.name, field.encode_name, field.required
        return
    for item in dataclasses.fields(record):
        if item.init:
            missing = dataclasses.MISSING
            yield item.name, item.name, item.default is missing and item.default_factory is missing
