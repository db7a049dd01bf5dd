"""Answers read into objects: items of one class all at once, others one by one, by what their tags say."""

from __future__ import annotations

import types
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache, cached_property
from typing import Any, Literal, TypedDict

import msgspec

from prejoin.keys import TABLE, Facet, Template
from prejoin.table.codec.codec import Codec
from prejoin.table.codec.values import Json, encode_any
from prejoin.table.conversation import read_json
from prejoin.table.errors import CodecError
from prejoin.table.schema.schema import Schema


class Unmatched(msgspec.Struct, frozen=True):
    """An item of no class that was asked for. It stands among the objects, where it was read."""

    item: Json


class Unreadable(msgspec.Struct, frozen=True):
    """An item of an entity that is no object of its class: an older one, without an attribute that was added since."""

    item: Json
    error: CodecError
    """What is wrong with it: `entity`, `key` and `attribute`, and a sentence."""


class Answer(msgspec.Struct):
    """What one Query or Scan answered."""

    found: list[Any]
    """Objects, and what is `Unmatched`, in order."""
    start: Json | None
    """Where the next one goes on."""
    body: bytes
    """As it came, for those who want to know the items' keys; most do not."""


class Batch(msgspec.Struct):
    """What one BatchGetItem answered."""

    found: list[Any]
    keys: list[Json]
    left: Json
    """What was not answered, and is to be asked again: a request as it was."""


class _Kind(msgspec.Struct, frozen=True):
    """Items of one tag: what they become, and the facet and the table's key they were found by."""

    codec: Codec[Any]
    facet: Facet
    base: Facet
    partial: bool
    """Whether some attributes are to be taken from the keys."""


class Reading:
    """How the answers to one question are read: the items of some facets, into their classes or into another."""

    def __init__(self, schema: Schema, facets: Iterable[Facet], into: type | None = None) -> None:
        self._schema = schema
        self._type = schema.type_attribute
        self._kinds = {facet_tag(facet): _kind(schema, facet, into) for facet in facets}
        self._hiding = {
            tag: entity
            for tag, kind in self._kinds.items()
            if (entity := schema.by_tag[kind.facet.entity]).patterns and entity.visible()
        }
        """By tag, entities whose items are not all shown. A Query or Scan has a filter for that."""

    @property
    def partial(self) -> bool:
        """Whether some attributes are to be taken from the keys."""
        return any(kind.partial for kind in self._kinds.values())

    @property
    def wires(self) -> set[str]:
        """The attributes that are wanted, as the table calls them."""
        names = {one.wire for kind in self._kinds.values() for one in kind.codec.attributes.values()}
        return {*names, *self.tested, self._type}

    @property
    def tested(self) -> set[str]:
        """The attributes that decide whether an item is shown, as the table calls them."""
        found = self._hiding.values()
        return {entity.codec.attribute(name).wire for entity in found for name in entity.tested}

    def page(self, body: bytes) -> Answer:
        """The answer to a Query or Scan."""
        fast = self._fast
        if fast is not None:
            try:
                answer = fast.decode_page(body)
                return Answer(list(map(fast.make, answer.Items)), answer.LastEvaluatedKey, body)
            except Exception:  # noqa: S110 - some item is no such object; below it is found out which, and why
                pass
        slices = _slices()(body)
        return Answer([self._read(item, self._object) for item in slices.Items], slices.LastEvaluatedKey, body)

    @cached_property
    def keeping(self) -> Reading:
        """The same, but an item that cannot be read becomes `Unreadable` where this one raises."""
        found = _Keeping.__new__(_Keeping)
        found.__dict__.update(self.__dict__)
        return found

    def item(self, body: bytes, key: Json | None = None) -> Any:
        """The answer to a GetItem: an object, None, or `Unmatched`. `key` is for messages, if the item lacks it."""
        fast = None if self._hiding else self._fast
        if fast is not None:
            try:
                found = fast.decode_item(body).Item
                return None if found is None else fast.make(found)
            except Exception:  # noqa: S110 - as above
                pass
        item = read_json(body).get("Item")
        return None if item is None else self.shown(item if key is None else {**key, **item})

    def slice(self, raw: msgspec.Raw, key: Json) -> Any:
        """The slice of an answer that is the item of a key; None if it is empty."""
        try:
            return self._one(raw) if memoryview(raw) else None
        except CodecError:
            return self.shown({**key, **read_json(raw)})

    def batch(self, body: bytes, names: tuple[str, ...]) -> Batch:
        """The answer to a BatchGetItem; `names` are the attributes that are the table's keys."""
        slices = _batches()(body)
        raws = [raw for items in slices.Responses.values() for raw in items]
        found = [self._one(raw) for raw in raws]
        return Batch(found, list(map(keys_in(names).decode, raws)), slices.UnprocessedKeys)

    def matched(self, found: Any, key: object) -> Any:
        """What stands under a key, if it is what it should be."""
        if type(found) is Unmatched:
            tag = next(iter(found.item[self._type].values()))
            raise CodecError(f"the item {key} is a {tag}, not a {' or '.join(self._kinds)}")
        return found

    def _one(self, raw: msgspec.Raw) -> Any:
        """An item that was asked for by its key; None if it is hidden."""
        return self.shown(read_json(raw)) if self._hiding else self._read(raw, self._named)

    def shown(self, item: Json) -> Any:
        """An item that was asked for by its key: an object, `Unmatched`, or None if it is hidden."""
        if self._hiding and self.hides(item):
            return None
        return self._named(item)

    def hides(self, item: Json) -> bool:
        """Whether an item that was asked for by its key is one that is not shown."""
        from prejoin.table.condition.visibility import is_hidden  # few entities have such items

        tag = item.get(self._type, {}).get("S") or next(iter(self._kinds))
        return tag in self._hiding and is_hidden(self._hiding[tag], item)

    def _read(self, raw: msgspec.Raw, slowly: Callable[[Json], Any]) -> Any:
        """One item of several kinds: its tag is looked at first, then it is decoded as what that says."""
        try:
            fast = self._readers[self._peek(raw).tag.S]
            return fast.make(fast.decode(raw))
        except Exception:
            return slowly(read_json(raw))

    def _object(self, item: Json) -> Any:
        """One item as an object, or `Unmatched`. What its tag says and it is not raises."""
        tag = item.get(self._type, {}).get("S")
        kind = self._kinds.get(tag) if tag is not None else self._untagged(item)
        if kind is None:
            return Unmatched(item)
        return self._made(kind, self._completed(kind, item) if kind.partial else item)

    def _named(self, item: Json) -> Any:
        """An item that was asked for by its key, so that it need not have a tag."""
        if self._type in item:
            return self._object(item)
        (kind,) = self._kinds.values()
        return self._made(kind, item)

    def _made(self, kind: _Kind, item: Json) -> Any:
        names = self._schema.keys(TABLE).names
        return kind.codec.read(item, kind.facet.entity, {name: item[name] for name in names if name in item})

    @cached_property
    def _fast(self) -> _Fast | None:
        """Reads all items of an answer at once, where they are of one kind."""
        if len(self._kinds) > 1:
            return None
        return next(iter(self._readers.values()), None)

    @cached_property
    def _readers(self) -> Mapping[str, _Fast]:
        return {tag: _Fast(kind.codec, self._type, tag) for tag, kind in self._kinds.items() if not kind.partial}

    @cached_property
    def _peek(self) -> Callable[[msgspec.Raw], Any]:
        tagged = msgspec.defstruct("Tagged", [("tag", _Text)], rename={"tag": self._type}, gc=False)
        return msgspec.json.Decoder(tagged).decode

    def _untagged(self, item: Json) -> _Kind | None:
        """The kind of an item without a tag (others wrote it, or an index holds no more than keys), by its key.

        In the table no two entities share one.
        """
        for kind in self._kinds.values():
            facet = kind.facet if kind.facet.slot == TABLE else kind.base
            if values_in(self._schema, facet, item) is not None:
                return kind
        return None

    def _completed(self, kind: _Kind, item: Json) -> Json:
        """An item with the attributes that an index has only as part of the keys."""
        known = dict[str, object]()
        for facet in (kind.base, kind.facet):
            known |= values_in(self._schema, facet, item) or {}
        wires = {name: one.wire for name, one in kind.codec.attributes.items()}
        return {wires[name]: encode_any(value) for name, value in known.items() if name in wires} | item


class _Keeping(Reading):
    """How answers are read where unreadable items are wanted beside the others."""

    def _made(self, kind: _Kind, item: Json) -> Any:
        try:
            return super()._made(kind, item)
        except CodecError as error:
            return Unreadable(item, error)


def values_in(schema: Schema, facet: Facet, item: Json) -> dict[str, object] | None:
    """The values that an item's key of a facet is made of; None if it is no such key."""
    keys = schema.keys(facet.slot)
    found: dict[str, object] = {}
    for part, names in ((facet.pk, keys.pk), (facet.sk, keys.sk)):
        if any(name not in item for name in names):
            return None
        if isinstance(part, Template):
            text = item[names[0]].get("S", "")
            if not part.matches(text):
                return None
            found |= part.parse(text)
    return found


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
    return msgspec.json.Decoder(_Slices).decode


@cache
def _batches() -> Callable[[bytes], _Batch]:
    return msgspec.json.Decoder(_Batch).decode


class _Fast:
    """The compiled way to read items of one class and tag. It raises whatever it likes where one is not so."""

    def __init__(self, codec: Codec[Any], type_attribute: str, tag: str) -> None:
        self.make = codec.make
        tagged = msgspec.defstruct("Tag", [("S", Literal[tag])], gc=False)
        self._struct = codec.struct(("tag", type_attribute, tagged))

    @cached_property
    def decode(self) -> Callable[[msgspec.Raw], Any]:
        return msgspec.json.Decoder(self._struct).decode

    @cached_property
    def decode_page(self) -> Callable[[bytes], Any]:
        items = types.GenericAlias(list, (self._struct,))
        fields: list[Any] = [("Items", items), ("LastEvaluatedKey", Json | None, None)]
        return msgspec.json.Decoder(msgspec.defstruct("Page", fields)).decode

    @cached_property
    def decode_item(self) -> Callable[[bytes], Any]:
        fields = [("Item", self._struct | None, None)]
        return msgspec.json.Decoder(msgspec.defstruct("Got", fields)).decode


@cache
def keys_in(names: tuple[str, ...]) -> Any:
    """Decodes items to no more than these attributes."""
    key: Any = TypedDict("key", dict.fromkeys(names, dict[str, str]))  # type: ignore[misc]
    return msgspec.json.Decoder(key)


@cache
def page_keys(names: tuple[str, ...]) -> Any:
    """The same for all items of an answer."""
    items = types.GenericAlias(list, (keys_in(names).type,))
    return msgspec.json.Decoder(msgspec.defstruct("Keys", [("Items", items)]))


def is_partial(schema: Schema, facet: Facet) -> bool:
    """Whether items have some attributes there only as part of the keys: it is an index that does not hold them."""
    return facet.slot != TABLE and facet.holds is not None and schema.indexes[facet.slot].projection != "ALL"


def facet_tag(facet: Facet) -> str:
    """What the type attribute of the items of a facet says."""
    return f"{facet.entity}.{facet.copy}" if facet.copy else facet.entity


def _kind(schema: Schema, facet: Facet, into: type | None) -> _Kind:
    entity = schema.by_tag[facet.entity]
    base = next(one for one in entity.facets if one.slot == TABLE and one.copy == facet.copy)
    codec = entity.codec if into is None else entity.codec.view(into)
    return _Kind(codec, facet, base, is_partial(schema, facet))


def split(found: Sequence[Any]) -> tuple[tuple[Any, ...], tuple[Json, ...], tuple[Unreadable, ...]]:
    """The objects, the items that are of none of the classes, and those that could not be read."""
    if _NO_OBJECTS.isdisjoint(map(type, found)):
        return tuple(found), (), ()
    objects = tuple(one for one in found if type(one) not in _NO_OBJECTS)
    unmatched = tuple(one.item for one in found if type(one) is Unmatched)
    return objects, unmatched, tuple(one for one in found if type(one) is Unreadable)


_NO_OBJECTS = frozenset({Unmatched, Unreadable})
