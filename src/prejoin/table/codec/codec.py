"""Convert objects to DynamoDB items and back: dataclasses, msgspec Structs and pydantic models."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache, cached_property
from typing import Any, Generic, TypeVar, cast

import msgspec

from prejoin.keys.template.codegen import FunctionSource
from prejoin.table.errors import CodecError, SchemaError, UnknownAttribute
from prejoin.types import Kind, Type

from .records import Default, Field, fields_of
from .structs import DecodedField, Wire, any_wire, source_of, struct_of
from .values import TEXT, Json, ValueCodec, codec_for, typed_coders

E = TypeVar("E")
V = TypeVar("V")


StoredAs = Callable[[ValueCodec], ValueCodec]
"""Changes how the values of an attribute are stored."""


class AttributeCodec(msgspec.Struct, frozen=True):
    """One attribute of an entity: its field, its name in the table, and the codec of its values."""

    field: Field
    wire: str
    value: ValueCodec

    @property
    def name(self) -> str:
        return self.field.name

    @property
    def type(self) -> Type:
        return self.value.type

    @property
    def optional(self) -> bool:
        return self.value.optional

    @property
    def required(self) -> bool:
        """Whether the constructor requires it."""
        return self.field.required

    @property
    def absent(self) -> Default | None:
        """The value for the constructor if an item lacks the attribute; None if there is no such value."""
        if not self.required:
            return None if self.field.records_given_fields else self.field.default
        if self.optional:
            return Default(None)
        return Default(factory=self.value.empty) if self.value.empty else None

    @property
    def slot(self) -> DecodedField:
        absent = self.absent
        is_required = self.required and absent is None
        parameter = "" if self.field.positional else self.field.parameter or self.name
        return DecodedField(parameter, self.wire, self.value.wire, is_required, absent)


class Codec(msgspec.Struct, Generic[E], frozen=True, dict=True, eq=False):
    """Turns objects of one class into items, and items into objects.

    >>> from dataclasses import dataclass
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
    attributes: Mapping[str, AttributeCodec]
    storage: Mapping[str, StoredAs] = {}
    nulls: frozenset[str] = frozenset()
    """Attributes whose None is written as DynamoDB's NULL. None of the others is left out."""

    @classmethod
    def of(
        cls,
        record: type[E],
        names: Mapping[str, str] | None = None,
        outer: tuple[type, ...] = (),
        storage: Mapping[str, StoredAs] | None = None,
    ) -> Codec[E]:
        """Return the codec of a class.

        `names` are the names in the table of attributes that have another name there. `storage` changes how attributes
        are stored. `outer` are the records that contain this one.
        """
        attributes = {}
        for field in fields_of(record):
            wire = (names or {}).get(field.name, field.wire)
            try:
                value = value_codec(field.hint, (*outer, record))
            except CodecError as error:
                raise SchemaError(f"{record.__name__}.{field.name}: {error}") from None
            if storage and field.name in storage:
                value = storage[field.name](value)
            _check_default(record, field, value)
            attributes[field.name] = AttributeCodec(field, wire, value)
        codec = cls(record, attributes, storage or {})
        for name in names or {}:
            codec.attribute(name)
        return codec

    @property
    def name(self) -> str:
        return self.cls.__name__

    @cached_property
    def types(self) -> dict[str, Type]:
        return {attribute.name: attribute.type for attribute in self.attributes.values()}

    def attribute(self, name: str) -> AttributeCodec:
        attribute = self.attributes.get(name)
        if attribute is None:
            from difflib import get_close_matches  # only for this message

            near = get_close_matches(name, self.attributes, 1)
            hint = f"did you mean {near[0]}?" if near else f"there are {', '.join(self.attributes)}"
            raise UnknownAttribute(f"{self.name} has no attribute {name}; {hint}")
        return attribute

    def view(self, into: type[V]) -> Codec[V]:
        """Return the codec of a class that has some attributes of this one."""
        codec = self._views.get(into)
        if codec is None:
            names = {field.name: self.attribute(field.name).wire for field in fields_of(into)}
            codec = Codec.of(into, names, storage=self.storage)
            for name, attribute in codec.attributes.items():
                if attribute.value.wire.tag != self.attributes[name].value.wire.tag:
                    raise SchemaError(
                        f"{into.__name__}.{name} is a {attribute.type}, and {self.name}.{name} is a {self.types[name]}"
                    )
            self._views[into] = codec
        return cast("Codec[V]", codec)

    @cached_property
    def _views(self) -> dict[type, Codec[Any]]:
        return {}

    def values(self, record: E) -> dict[str, Any]:
        """Return the attributes of an object, by name."""
        return self._values(record)

    @cached_property
    def _values(self) -> Callable[[E], dict[str, Any]]:
        parts = [f"{name!r}: record.{name}" for name in self.attributes]
        return FunctionSource().function("record", f"{{{', '.join(parts)}}}")

    def encode(self, record: E) -> Json:
        """Encode an object as an item. Attributes that are None are left out, except those in `nulls`."""
        return self.encode_values(self.values(record))

    def encode_values(self, values: Mapping[str, Any]) -> Json:
        """Encode attributes as an item."""
        if len(values) == len(self.attributes):
            try:
                return self._encode(values)
            except Exception:  # noqa: S110 - some value does not fit; the slow way below says which, and why
                pass
        item = {}
        writers = self._writers
        for name, value in values.items():
            writer = writers.get(name)
            if writer is None:
                self.attribute(name)
                continue
            wire, encode, is_set = writer
            if value is None:
                if not self.attributes[name].optional:
                    raise CodecError(f"{self.name}.{name} is None, but it is not optional")
                if name in self.nulls:
                    item[wire] = {"NULL": True}
            elif value or not is_set:  # DynamoDB has no empty set, so it is left out
                try:
                    item[wire] = encode(value)
                except CodecError as error:
                    raise CodecError(f"{self.name}.{name}: {error}") from None
        return item

    @cached_property
    def _encode(self) -> Callable[[Mapping[str, Any]], Json]:
        """Encodes all attributes at once, with compiled code. It raises any exception if a value does not fit."""
        code = FunctionSource()
        parts = []
        for name, attribute in self.attributes.items():
            encode, value, wire = code.constant(attribute.value.encode), code.new_name(), repr(attribute.wire)
            assignment = f"({value} := values[{name!r}])"
            if name in self.nulls:
                parts.append(f"{wire}: {{'NULL': True}} if {assignment} is None else {encode}({value})")
                continue
            if attribute.type.kind is Kind.SET:
                # DynamoDB has no empty set, so it is left out. `encode` refuses None if it is not optional.
                absent = f"not {assignment}" if attribute.optional else f"not {assignment} and {value} is not None"
                parts.append(f"**({{}} if {absent} else {{{wire}: {encode}({value})}})")
            elif attribute.optional:
                parts.append(f"**({{}} if {assignment} is None else {{{wire}: {encode}({value})}})")
            elif attribute.value is TEXT:
                parts.append(f"{wire}: {{'S': {value}}} if type({assignment}) is str else {encode}({value})")
            else:
                parts.append(f"{wire}: {encode}(values[{name!r}])")
        return code.function("values", f"{{{', '.join(parts)}}}")

    def encode_value(self, name: str, value: Any) -> Json:
        try:
            return self.attribute(name).value.encode(value)
        except CodecError as error:
            raise CodecError(f"{self.name}.{name}: {error}") from None

    def other_word(self, name: object, value: Any) -> str | None:
        """Return the other word by which items may hold a member of an enum; None for all other values."""
        attribute = self.attributes.get(name) if isinstance(name, str) else None
        if attribute is None or not attribute.value.other_words:
            return None
        word = getattr(value, "value", value)
        return attribute.value.other_words.get(word) if isinstance(word, str) else None

    @cached_property
    def _writers(self) -> dict[str, tuple[str, Callable[[Any], Json], bool]]:
        """For each attribute: its name in the table, its encoder, and whether it is a set."""
        return {
            attribute.name: (attribute.wire, attribute.value.encode, attribute.type.kind is Kind.SET)
            for attribute in self.attributes.values()
        }

    def decode(self, item: Mapping[str, Json]) -> E:
        """Decode an item. Attributes that the class does not have are ignored."""
        values = {}
        for attribute in self.attributes.values():
            parameter = attribute.field.parameter or attribute.name
            content = item.get(attribute.wire)
            if content is not None:
                try:
                    values[parameter] = attribute.value.decode(content)
                except CodecError as error:
                    raise _unfit(f"{self.name}.{attribute.name}: {error}", attribute.name) from None
            elif attribute.required:
                absent = attribute.absent
                if absent is None:
                    place = f"{self.name}.{attribute.name}"
                    raise _unfit(
                        f"the item has no {attribute.wire}, which {self.name} requires. Give {place} a default, or add "
                        "it to the items that lack it",
                        attribute.name,
                    )
                values[parameter] = absent()
        return self.cls(**values)

    def read(self, item: Mapping[str, Json], tag: str, key: Mapping[str, Json]) -> E:
        """Decode an item of the table. The CodecError of an item that does not fit names the item."""
        try:
            return self.decode(item)
        except CodecError as error:
            error_with_item = _unfit(f"{_item_name(tag, key)}: {error}", error.attribute)
        except (ValueError, TypeError) as error:  # from the constructor of the class
            error_with_item = _unfit(f"{_item_name(tag, key)} is no {self.name}: {error}", "")
            error_with_item.__cause__ = error
        error_with_item.entity, error_with_item.key, error_with_item.item = tag, key, item
        raise error_with_item

    @cached_property
    def _slots(self) -> tuple[DecodedField, ...]:
        return tuple(attribute.slot for attribute in self.attributes.values())

    @property
    def wire(self) -> Wire:
        """How an object of this class is decoded inside another object."""
        return Wire("M", self.struct, lambda at, code: source_of(self.cls, self._slots, at, code))

    def struct(self, *extra_fields: tuple[str, str, Any]) -> Any:
        """Return the struct that msgspec decodes items into: the attributes, and `extra_fields` (field, name, type)."""
        return struct_of(self._slots, *extra_fields)

    @cached_property
    def make(self) -> Callable[[Any], E]:
        """Makes an object from a decoded struct. If it raises, `decode` says why."""
        code = FunctionSource()
        return cast("Callable[[Any], E]", code.function("item", source_of(self.cls, self._slots, "item", code)))


def value_codec(hint: Any, outer: tuple[type, ...] = ()) -> ValueCodec:
    """Return the codec of a type hint that may contain records. `outer` are the records that contain the hint."""
    return codec_for(hint, lambda cls: _record_codec(cls, outer))


def _record_codec(cls: type, outer: tuple[type, ...]) -> ValueCodec:
    if cls in outer:
        # A recursive record: its codec does not exist yet, so it is looked up when the first value is coded.
        def write(value: Any) -> Json:
            return _codec_of(cls).encode(value)

        def read(item: Json) -> Any:
            return _codec_of(cls).decode(item)

        encode, decode = typed_coders((cls,), cls.__name__, write, "M", read)
        return ValueCodec(Type(Kind.MAP), encode, decode, any_wire(decode))
    codec: Codec[Any] = Codec.of(cls, outer=outer)
    encode, decode = typed_coders((cls,), cls.__name__, codec.encode, "M", codec.decode)
    return ValueCodec(Type(Kind.MAP), encode, decode, codec.wire)


@cache
def _codec_of(cls: type) -> Codec[Any]:
    return Codec.of(cls)


def _unfit(message: str, attribute: str) -> CodecError:
    error = CodecError(message)
    error.attribute = attribute
    return error


def _item_name(tag: str, key: Mapping[str, Json]) -> str:
    return f"{tag} {' / '.join(text for value in key.values() for text in value.values())}"


def _check_default(record: type, field: Field, value: ValueCodec) -> None:
    """Refuse defaults that would replace a stored None or empty set, which are not in the item."""
    if field.required or not (value.optional or value.empty):
        return
    default = field.default() if field.default else None
    if default is not None if value.optional else default:
        empty_value = "None" if value.optional else "an empty set"
        raise SchemaError(
            f"{record.__name__}.{field.name} can be {empty_value}, which is not stored, so it would be read as its "
            f"default {default!r}. Make {empty_value} the default"
        )
