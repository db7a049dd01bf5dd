"""Key attributes of the table and its indexes: their names, their types, and their values in DynamoDB JSON."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property

import msgspec

from prejoin.keys import TABLE, Facet, KeyForm, KeyValue, KeyValueError, Natural, Scalar, Tag
from prejoin.keys.planner.key_condition import SAFE_PK, SAFE_SK
from prejoin.keys.template.codegen import FunctionSource
from prejoin.keys.template.parts import source
from prejoin.protocol import limits
from prejoin.table.errors import SchemaError

from .declare import Index, Key


class KeyAttributes(msgspec.Struct, frozen=True, dict=True):
    """The names of the key attributes of the table or of an index, which may have several of each kind."""

    pk: tuple[str, ...]
    sk: tuple[str, ...] = ()

    @cached_property
    def names(self) -> tuple[str, ...]:
        return self.pk + self.sk


def index_attributes(index: Index, templates: Sequence[Key], table: KeyAttributes) -> KeyAttributes:
    """Return the key attributes of an index; `templates` are those of entities for it."""
    pk, sk = _names_of(index, index.pk), _names_of(index, index.sk)
    if len(pk) > limits.INDEX_PARTITION_ATTRIBUTES or len(sk) > limits.INDEX_SORT_ATTRIBUTES:
        raise SchemaError(f"index {index.name} has more than four attributes in its partition key or its sort key")
    if templates and (len(pk) > 1 or len(sk) > 1):
        raise SchemaError(
            f"index {index.name} is on several attributes, so an entity cannot have a key template for it"
        )
    if index.local:
        return _local(index, pk, sk, templates, table)
    if not templates:
        if not pk:
            raise SchemaError(f"index {index.name} needs a pk attribute, or an entity with a key for it")
        return KeyAttributes(pk, sk)
    has_sort = all_or_none(f"index {index.name}", templates)
    return KeyAttributes(pk or (f"{index.name}pk",), (sk or (f"{index.name}sk",)) if has_sort else ())


def _local(
    index: Index, pk: Sequence[str], sk: tuple[str, ...], templates: Sequence[Key], table: KeyAttributes
) -> KeyAttributes:
    if pk and tuple(pk) != table.pk:
        raise SchemaError(
            f"{index.name} is a local index, so its partition key is that of the table, {table.pk[0]}. Leave out pk"
        )
    if not table.sk or not (templates or sk):
        raise SchemaError(f"{index.name} is a local index, so the table and the index each need a sort key")
    if len(sk) > 1:
        raise SchemaError(
            f"{index.name} is a local index, and only a global index can have several attributes in a key"
        )
    return KeyAttributes(table.pk, sk or (f"{index.name}sk",))


def _names_of(index: Index, names: str | Sequence[str]) -> tuple[str, ...]:
    attributes = ((names,) if names else ()) if isinstance(names, str) else tuple(names)
    if len(set(attributes)) < len(attributes):
        raise SchemaError(f"index {index.name} names an attribute twice")
    return attributes


def all_or_none(place: str, keys: Sequence[Key]) -> bool:
    """Return whether keys have a sort key; raise SchemaError if only some have."""
    with_sort = {key.sk is not None for key in keys}
    if len(with_sort) > 1:
        raise SchemaError(
            f"some keys of {place} have a sort key and some have none. DynamoDB needs it for all keys, or for none"
        )
    return True in with_sort


def template_keys(facet: Facet, keys: KeyAttributes) -> KeyAttributes:
    """Return the key attributes of a facet that hold text from a template."""
    has_template = not isinstance(facet.pk, Natural) and not facet.local
    return KeyAttributes(keys.pk if has_template else (), () if isinstance(facet.sk, Natural) else keys.sk)


def key_types(keys: Mapping[str, KeyAttributes], facets: Iterable[Facet]) -> dict[str, Tag]:
    """Return the type of each key attribute; raise SchemaError if facets disagree, or if none uses an index."""
    tags_by_name: dict[str, tuple[Tag, Facet]] = {}
    for facet in facets:
        names = keys[facet.slot]
        tags = (*_tags(facet.pk), *(_tags(facet.sk) if facet.sk else ()))
        for name, tag in zip(names.names, tags, strict=True):
            first, other = tags_by_name.setdefault(name, (tag, facet))
            if first != tag:
                raise SchemaError(
                    f"the key attribute {name} is {_WORDS[first]} for {other} and {_WORDS[tag]} for {facet}. It must "
                    "have one type"
                )
    for slot, names in keys.items():
        if slot == TABLE:  # a schema may have no entities
            continue
        if unused_names := [name for name in names.names if name not in tags_by_name]:
            raise SchemaError(f"no entity has all attributes of index {slot}: {', '.join(unused_names)} is missing")
    return {name: tag for name, (tag, _) in tags_by_name.items()}


_WORDS: Mapping[Tag, str] = {"S": "text", "N": "a number", "B": "binary"}


def _tags(form: KeyForm) -> tuple[Tag, ...]:
    return form.tags if isinstance(form, Natural) else ("S",)


KeyWriter = Callable[[Mapping[str, object]], dict[str, dict[str, str]]]
"""From the values of an item to its key attributes in a facet."""


def key_writer(facet: Facet, keys: KeyAttributes) -> KeyWriter:
    """Return a function that writes the keys of a facet, and raises for keys that DynamoDB does not accept."""
    pk_of, sk_of = facet.pk_of, facet.sk_of

    def write(values: Mapping[str, object]) -> dict[str, dict[str, str]]:
        sk = sk_of(values)
        return key_json(keys.pk, pk_of(values)) | ({} if sk is None else key_json(keys.sk, sk))

    return write


def quick_writer(facet: Facet, keys: KeyAttributes, careful: KeyWriter) -> KeyWriter:
    """Return the same as compiled code, for keys of two texts. It calls `careful` for all others."""
    if isinstance(facet.pk, Natural) or isinstance(facet.sk, Natural) or facet.sk is None:
        return careful
    code, (pk, sk) = FunctionSource(), keys.names
    texts = f"(p := {source(facet.pk.parts, code)}) and (s := {source(facet.sk.parts, code)})"
    attributes = f"{{{pk!r}: {{'S': p}}, {sk!r}: {{'S': s}}}}"
    text = f"{attributes} if {texts} and len(p) + len(s) <= {_SAFE} else {code.constant(careful)}(values)"
    return code.attempt("values", text, careful, KeyError, KeyValueError)


_SAFE = min(SAFE_PK, SAFE_SK)
"""Keys with this many characters together are within the limits of each."""


def wire(value: Scalar) -> dict[str, str]:
    """Return a key value in DynamoDB JSON.

    >>> wire("USER#1"), wire(7), wire(b"\\x01")
    ({'S': 'USER#1'}, {'N': '7'}, {'B': 'AQ=='})
    """
    if isinstance(value, str):
        return {"S": value}
    if isinstance(value, bytes):
        from base64 import b64encode  # only for binary keys

        return {"B": b64encode(value).decode()}
    return {"N": str(value)}


def key_json(names: Iterable[str], value: KeyValue) -> dict[str, dict[str, str]]:
    """Return a partition key or sort key as attributes."""
    parts = value if isinstance(value, tuple) else (value,)
    return {name: wire(part) for name, part in zip(names, parts, strict=True)}


def key_text(key: Mapping[str, Mapping[str, str]]) -> str:
    """Return a key in DynamoDB JSON as text.

    >>> key_text({"pk": {"S": "USER#1"}, "at": {"N": "7"}})
    'USER#1 / 7'
    """
    return " / ".join(text for value in key.values() for text in value.values())
