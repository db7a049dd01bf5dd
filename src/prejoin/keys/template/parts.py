"""The parts of a key template, text and fields, and the function that writes them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import msgspec

from prejoin.keys.errors import KeyValueError

from .codegen import FunctionSource
from .encoding import Encoding
from .shape import Shape, literal

Writer = Callable[[Mapping[str, object]], str]
"""From values by attribute to the text of a key."""


class KeyText(msgspec.Struct, frozen=True):
    """Constant text in every key of the template."""

    text: str

    @property
    def shape(self) -> Shape:
        return literal(self.text)


class KeyField(msgspec.Struct, frozen=True):
    """An attribute's place in a key."""

    attribute: str
    spec: str
    encoding: Encoding

    @property
    def name(self) -> str:
        """The attribute with its spec, as in `placed_at:day`. Values of derived fields can be given under this name."""
        return f"{self.attribute}:{self.spec}" if self.spec else self.attribute

    @property
    def shape(self) -> Shape:
        return self.encoding.shape

    @property
    def optional(self) -> bool:
        """Whether an item without the attribute also has a key."""
        return self.encoding.missing is not None

    def write(self, values: Mapping[str, object]) -> str:
        value = values.get(self.attribute)
        if value is None:
            value = values.get(self.name)
        if value is None and not (self.optional and self.attribute in values):
            raise KeyValueError(f"{self.attribute} has no value, and a key needs one")
        try:
            return str(self.encoding.encode(value))
        except KeyValueError as error:
            raise KeyValueError(f"{self.attribute}: {error}") from None


Part = KeyText | KeyField


def shape(parts: Sequence[Part]) -> Shape:
    return tuple(piece for part in parts for piece in part.shape)


def source(parts: Sequence[Part], code: FunctionSource) -> str:
    """The source of the parts' text, given `values` with every attribute. A missing one raises KeyError."""
    pieces = [
        repr(part.text) if isinstance(part, KeyText) else part.encoding.source(f"values[{part.attribute!r}]", code)
        for part in parts
    ]
    return " + ".join(pieces) or "''"


def writer(parts: Sequence[Part], label: str) -> Writer:
    """The function that writes these parts. It is created once, because a key is built for each item written or read.

    >>> from prejoin.types import STRING
    >>> from .encoding import default
    >>> from .separator import Separator
    >>> write = writer([KeyText("USER#"), KeyField("id", "", default(STRING, Separator()))], "key USER#{id}")
    >>> write({"id": "a b", "name": "Ann"})
    'USER#a$20b'
    >>> write({"id": 7})
    Traceback (most recent call last):
    prejoin.KeyValueError: key USER#{id}: id: 7 is not text
    """
    fields = [(part.attribute, part.encoding.encode) for part in parts if isinstance(part, KeyField)]
    texts = [""]
    for part in parts:
        if isinstance(part, KeyText):
            texts[-1] += part.text
        else:
            texts.append("")

    def carefully(values: Mapping[str, object]) -> str:
        """The same, for what may be given by the name of the field, or be an error to be told."""
        try:
            return "".join(part.text if isinstance(part, KeyText) else part.write(values) for part in parts)
        except KeyValueError as error:
            raise KeyValueError(f"{label}: {error}") from None

    if not fields:
        return lambda values: texts[0]
    if len(fields) == 1:
        return _one(texts, fields[0], carefully)
    if len(fields) == 2:
        return _two(texts, fields, carefully)
    return _several(texts, fields, carefully)


_Place = tuple[str, Callable[[object], str]]


def _one(texts: Sequence[str], field: _Place, carefully: Writer) -> Writer:
    (name, encode), (lead, tail) = field, texts

    def write(values: Mapping[str, object]) -> str:
        try:
            return f"{lead}{encode(values[name])}{tail}"
        except (KeyError, KeyValueError):
            return carefully(values)

    return write


def _two(texts: Sequence[str], fields: Sequence[_Place], carefully: Writer) -> Writer:
    ((name, encode), (name2, encode2)), (lead, middle, tail) = fields, texts

    def write(values: Mapping[str, object]) -> str:
        try:
            return f"{lead}{encode(values[name])}{middle}{encode2(values[name2])}{tail}"
        except (KeyError, KeyValueError):
            return carefully(values)

    return write


def _several(texts: Sequence[str], fields: Sequence[_Place], carefully: Writer) -> Writer:
    lead, *after = texts
    places = [(name, encode, text) for (name, encode), text in zip(fields, after, strict=True)]

    def write(values: Mapping[str, object]) -> str:
        try:
            return lead + "".join([f"{encode(values[name])}{text}" for name, encode, text in places])
        except (KeyError, KeyValueError):
            return carefully(values)

    return write
