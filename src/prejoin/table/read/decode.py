"""Decode responses into objects: items of one class all at once, others one by one, by their type tags."""

from __future__ import annotations

import types
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache, cached_property
from typing import Any, Literal, TypedDict

import msgspec

from prejoin.keys import TABLE, Facet, Template
from prejoin.protocol.decoders import json_decoder
from prejoin.table.codec.codec import Codec
from prejoin.table.codec.values import Json, encode_any
from prejoin.table.conversation import read_json
from prejoin.table.errors import CodecError
from prejoin.table.schema.bind import facet_tag
from prejoin.table.schema.schema import Schema


class Unmatched(msgspec.Struct, frozen=True):
    """An item of none of the requested classes. It keeps its place among the objects."""

    item: Json


class Unreadable(msgspec.Struct, frozen=True):
    """An item that does not fit its class, such as an older item without an attribute that was added since."""

    item: Json
    error: CodecError
    """Why it does not fit. It has the `entity`, the `key` and the `attribute`."""


class DecodedPage(msgspec.Struct):
    """The response to one Query or Scan."""

    objects: list[Any]
    """Objects and `Unmatched` items, in order."""
    start: Json | None
    """The key to continue after; None at the end."""
    body: bytes
    """The response itself. The keys of the items are decoded from it only if they are needed."""


class DecodedBatch(msgspec.Struct):
    """The response to one BatchGetItem."""

    objects: list[Any]
    keys: list[Json]
    unprocessed_keys: Json
    """The keys that DynamoDB did not process, as a request."""


class _ItemKind(msgspec.Struct, frozen=True):
    """The items with one type tag: their codec, the facet they are read by, and their facet in the table."""

    codec: Codec[Any]
    facet: Facet
    base: Facet
    partial: bool
    """Whether some attributes have to be taken from the keys."""


class ItemDecoder:
    """Decodes the items of some facets into their classes, or into another class with some of the attributes."""

    def __init__(self, schema: Schema, facets: Iterable[Facet], into: type | None = None) -> None:
        self._schema = schema
        self._type = schema.type_attribute
        self._kinds = {facet_tag(facet): _item_kind(schema, facet, into) for facet in facets}
        entities = {tag: schema.by_tag[kind.facet.entity] for tag, kind in self._kinds.items()}
        self._hiding = {tag: entity for tag, entity in entities.items() if entity.patterns and entity.visible()}
        """By tag, the entities that hide some items. A Query or Scan has a filter for these."""

    @property
    def partial(self) -> bool:
        """Whether some attributes have to be taken from the keys."""
        return any(kind.partial for kind in self._kinds.values())

    @property
    def wires(self) -> set[str]:
        """The attributes to read, by their names in the table."""
        names = {attribute.wire for kind in self._kinds.values() for attribute in kind.codec.attributes.values()}
        return {*names, *self.tested_wires, self._type}

    @property
    def tested_wires(self) -> set[str]:
        """The attributes that decide whether an item is visible, by their names in the table."""
        entities = self._hiding.values()
        return {entity.codec.attribute(name).wire for entity in entities for name in entity.tested_names}

    def page(self, body: bytes) -> DecodedPage:
        """Decode the response to a Query or Scan."""
        compiled_decoder = self._fast
        if compiled_decoder is not None:
            try:
                answer = compiled_decoder.decode_page(body)
                return DecodedPage(list(map(compiled_decoder.make, answer.Items)), answer.LastEvaluatedKey, body)
            except Exception:  # noqa: S110 - some item does not fit; the slow way below says which, and why
                pass
        slices = _slices()(body)
        return DecodedPage(
            [self._decode(item, self._decode_by_tag) for item in slices.Items], slices.LastEvaluatedKey, body
        )

    @cached_property
    def keeping(self) -> ItemDecoder:
        """The same decoder, but it returns `Unreadable` items instead of raising."""
        decoder = _KeepingDecoder.__new__(_KeepingDecoder)
        decoder.__dict__.update(self.__dict__)
        return decoder

    def item(self, body: bytes, key: Json | None = None) -> Any:
        """Decode the response to a GetItem: an object, None, or `Unmatched`. `key` is for error messages."""
        compiled_decoder = None if self._hiding else self._fast
        if compiled_decoder is not None:
            try:
                struct = compiled_decoder.decode_item(body).Item
                return None if struct is None else compiled_decoder.make(struct)
            except Exception:  # noqa: S110 - as above
                pass
        # With a projection the response may lack the key, which error messages name.
        item = read_json(body).get("Item")
        return None if item is None else self.decode_visible(item if key is None else {**key, **item})

    def slice(self, raw: msgspec.Raw, key: Json) -> Any:
        """Decode the item of a key from its slice of a response; None if the slice is empty."""
        try:
            return self._decode_raw(raw) if memoryview(raw) else None
        except CodecError:
            return self.decode_visible({**key, **read_json(raw)})

    def batch(self, body: bytes, names: tuple[str, ...]) -> DecodedBatch:
        """Decode the response to a BatchGetItem; `names` are the key attributes of the table."""
        slices = _batches()(body)
        raws = [raw for items in slices.Responses.values() for raw in items]
        objects = [self._decode_raw(raw) for raw in raws]
        return DecodedBatch(objects, list(map(keys_in(names).decode, raws)), slices.UnprocessedKeys)

    def require_match(self, result: Any, key: object) -> Any:
        """Return what was found under a key; raise CodecError if it is an item of another entity."""
        if type(result) is Unmatched:
            tag = next(iter(result.item[self._type].values()))
            raise CodecError(f"the item {key} is a {tag}, not a {' or '.join(self._kinds)}")
        return result

    def _decode_raw(self, raw: msgspec.Raw) -> Any:
        """Decode an item that was read by its key; None if it is hidden."""
        return self.decode_visible(read_json(raw)) if self._hiding else self._decode(raw, self._decode_by_key)

    def decode_visible(self, item: Json) -> Any:
        """Decode an item that was read by its key: an object, `Unmatched`, or None if it is hidden."""
        if self._hiding and self.hides(item):
            return None
        return self._decode_by_key(item)

    def hides(self, item: Json) -> bool:
        """Return whether an item that was read by its key is hidden."""
        # Not at the top: a cold start does not need conditions, and only few entities hide items.
        from prejoin.table.schema.visibility import is_hidden

        tag = item.get(self._type, {}).get("S") or next(iter(self._kinds))
        return tag in self._hiding and is_hidden(self._hiding[tag], item)

    def _decode(self, raw: msgspec.Raw, slowly: Callable[[Json], Any]) -> Any:
        """Decode one item of several kinds: peek at its type tag, then use the decoder of that kind."""
        # The raw item is read twice in C, first for its tag only. That is faster than to decode it into a dict.
        try:
            compiled_decoder = self._readers[self._peek(raw).tag.S]
            return compiled_decoder.make(compiled_decoder.decode(raw))
        except Exception:
            return slowly(read_json(raw))

    def _decode_by_tag(self, item: Json) -> Any:
        """Decode one item into an object, or `Unmatched`; raise CodecError if it does not fit its type tag."""
        tag = item.get(self._type, {}).get("S")
        kind = self._kinds.get(tag) if tag is not None else self._kind_by_key(item)
        if kind is None:
            return Unmatched(item)
        return self._build(kind, self._with_key_values(kind, item) if kind.partial else item)

    def _decode_by_key(self, item: Json) -> Any:
        """Decode an item that was read by its key, which may have no type tag."""
        if self._type in item:
            return self._decode_by_tag(item)
        (kind,) = self._kinds.values()
        return self._build(kind, item)

    def _build(self, kind: _ItemKind, item: Json) -> Any:
        names = self._schema.keys(TABLE).names
        return kind.codec.read(item, kind.facet.entity, {name: item[name] for name in names if name in item})

    @cached_property
    def _fast(self) -> _CompiledDecoder | None:
        """Decodes all items of a response at once, if they are of one kind."""
        if len(self._kinds) > 1:
            return None
        return next(iter(self._readers.values()), None)

    @cached_property
    def _readers(self) -> Mapping[str, _CompiledDecoder]:
        return {
            tag: _CompiledDecoder(kind.codec, self._type, tag) for tag, kind in self._kinds.items() if not kind.partial
        }

    @cached_property
    def _peek(self) -> Callable[[msgspec.Raw], Any]:
        tag_struct = msgspec.defstruct("Tagged", [("tag", _Text)], rename={"tag": self._type}, gc=False)
        return json_decoder(tag_struct).decode

    def _kind_by_key(self, item: Json) -> _ItemKind | None:
        """Return the kind of an item without a type tag, by its key.

        Such an item was written by another program, or the index projects only keys. No two entities share a key.
        """
        for kind in self._kinds.values():
            facet = kind.facet if kind.facet.slot == TABLE else kind.base
            if values_in(self._schema, facet, item) is not None:
                return kind
        return None

    def _with_key_values(self, kind: _ItemKind, item: Json) -> Json:
        """Return an item with the attributes that the index has only as part of its keys."""
        values = dict[str, object]()
        for facet in (kind.base, kind.facet):
            values |= values_in(self._schema, facet, item) or {}
        wires = {name: attribute.wire for name, attribute in kind.codec.attributes.items()}
        return {wires[name]: encode_any(value) for name, value in values.items() if name in wires} | item


class _KeepingDecoder(ItemDecoder):
    """A decoder that returns unreadable items beside the others."""

    def _build(self, kind: _ItemKind, item: Json) -> Any:
        try:
            return super()._build(kind, item)
        except CodecError as error:
            return Unreadable(item, error)


def values_in(schema: Schema, facet: Facet, item: Json) -> dict[str, object] | None:
    """Return the values in an item's key of a facet; None if the key is not of this facet."""
    keys = schema.keys(facet.slot)
    values: dict[str, object] = {}
    for part, names in ((facet.pk, keys.pk), (facet.sk, keys.sk)):
        # Items outside of a sparse index lack its key attributes.
        if any(name not in item for name in names):
            return None
        if isinstance(part, Template):
            text = item[names[0]].get("S", "")
            if not part.matches(text):
                return None
            values |= part.parse(text)
    return values


class _Text(msgspec.Struct, gc=False):
    S: str


class _Slices(msgspec.Struct):
    Items: list[msgspec.Raw]
    LastEvaluatedKey: Json | None = None


class _Batch(msgspec.Struct):
    Responses: dict[str, list[msgspec.Raw]]
    UnprocessedKeys: Json = {}


@cache
def _slices() -> Callable[[bytes], _Slices]:
    return json_decoder(_Slices).decode


@cache
def _batches() -> Callable[[bytes], _Batch]:
    return json_decoder(_Batch).decode


class _CompiledDecoder:
    """Decodes items of one class and type tag with compiled code. Raises any exception if an item does not fit."""

    def __init__(self, codec: Codec[Any], type_attribute: str, tag: str) -> None:
        self.make = codec.make
        tag_struct = msgspec.defstruct("Tag", [("S", Literal[tag])], gc=False)
        self._struct = codec.struct(("tag", type_attribute, tag_struct))

    @cached_property
    def decode(self) -> Callable[[msgspec.Raw], Any]:
        return json_decoder(self._struct).decode

    @cached_property
    def decode_page(self) -> Callable[[bytes], Any]:
        items = types.GenericAlias(list, (self._struct,))
        fields: list[Any] = [("Items", items), ("LastEvaluatedKey", Json | None, None)]
        return json_decoder(msgspec.defstruct("Page", fields)).decode

    @cached_property
    def decode_item(self) -> Callable[[bytes], Any]:
        fields = [("Item", self._struct | None, None)]
        return json_decoder(msgspec.defstruct("Got", fields)).decode


@cache
def keys_in(names: tuple[str, ...]) -> Any:
    """Return a decoder that reads only these attributes of an item."""
    key: Any = TypedDict("key", dict.fromkeys(names, dict[str, str]))  # type: ignore[misc]
    return json_decoder(key)


@cache
def page_keys(names: tuple[str, ...]) -> Any:
    """Return a decoder that reads only these attributes of all items of a page."""
    items = types.GenericAlias(list, (keys_in(names).type,))
    return json_decoder(msgspec.defstruct("Keys", [("Items", items)]))


def is_partial(schema: Schema, facet: Facet) -> bool:
    """Return whether an index has some attributes only as part of its keys, because it does not project them."""
    return facet.slot != TABLE and facet.holds is not None and schema.indexes[facet.slot].projection != "ALL"


def _item_kind(schema: Schema, facet: Facet, into: type | None) -> _ItemKind:
    entity = schema.by_tag[facet.entity]
    table_facets = [candidate for candidate in entity.facets if candidate.slot == TABLE]
    base = next(candidate for candidate in table_facets if candidate.copy == facet.copy)
    codec = entity.codec if into is None else entity.codec.view(into)
    return _ItemKind(codec, facet, base, is_partial(schema, facet))


def split(results: Sequence[Any]) -> tuple[tuple[Any, ...], tuple[Json, ...], tuple[Unreadable, ...]]:
    """Split what was read into objects, items of other classes, and unreadable items."""
    if _NO_OBJECTS.isdisjoint(map(type, results)):
        return tuple(results), (), ()
    objects = tuple(result for result in results if type(result) not in _NO_OBJECTS)
    unmatched_items = tuple(result.item for result in results if type(result) is Unmatched)
    return objects, unmatched_items, tuple(result for result in results if type(result) is Unreadable)


_NO_OBJECTS = frozenset({Unmatched, Unreadable})
