"""Key templates such as `ORDER#{placed_at}#{order_id}`: from values to keys and back, and whether two can collide."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cached_property
from typing import Protocol

import msgspec

from prejoin.keys.errors import KeyValueError, TemplateError
from prejoin.types import Type

from .parts import KeyField, KeyText, Part, Writer, shape, writer
from .separator import Separator
from .shape import ANYTHING, Shape, expression, meet
from .specs import encoding_for

_FIELD = re.compile(r"\{([^{}:?]+)(\?)?(?::([^{}]*))?\}")


class Template(msgspec.Struct, frozen=True, dict=True):
    """A key template, bound to the types of its attributes.

    >>> from prejoin.types import Kind, Type
    >>> types = {"user_id": Type(Kind.STRING), "n": Type(Kind.INTEGER)}
    >>> line = Template.of("USER#{user_id}#LINE#{n:04d}", types)
    >>> line.build({"user_id": "a#1", "n": 7})
    'USER#a$231#LINE#0007'
    >>> line.parse("USER#a$231#LINE#0007")
    {'user_id': 'a#1', 'n': 7}
    >>> line.prefix({"user_id": "1"})
    'USER#1#LINE#'
    """

    text: str
    parts: tuple[Part, ...]
    separator: Separator = Separator()
    raw: bool = False
    """Values are written unescaped, as in a table filled by other programs."""

    @classmethod
    def of(cls, text: str, types: Mapping[str, Type], separator: str = "#", raw: bool = False) -> Template:
        """Parse a template. Raise TemplateError for an unknown attribute or spec, or for fields that run together."""
        sep = Separator(separator)
        try:
            return cls(text, tuple(_parts(text, types, sep, raw)), sep, raw)
        except TemplateError as error:
            raise TemplateError(f"key template {text!r}: {error}") from None

    @cached_property
    def fields(self) -> tuple[KeyField, ...]:
        return tuple(part for part in self.parts if isinstance(part, KeyField))

    @cached_property
    def attributes(self) -> tuple[str, ...]:
        """The attributes in order, each once."""
        return tuple(dict.fromkeys(found.attribute for found in self.fields))

    @property
    def constant(self) -> bool:
        return not self.fields

    @cached_property
    def shape(self) -> Shape:
        return shape(self.parts)

    @property
    def columns(self) -> tuple[Shape, ...]:
        """The shape of each key attribute; a template is one attribute."""
        return (self.shape,)

    def build(self, values: Mapping[str, object]) -> str:
        """The key for these values. All attributes of the template are required; others are ignored."""
        return self.writer(values)

    @cached_property
    def writer(self) -> Writer:
        """`build` as one function, created once."""
        return self.heading(len(self.parts))

    def heading(self, count: int) -> Writer:
        """The function that writes the first `count` parts."""
        return writer(self.parts[:count], f"key {self.text}")

    def prefix(self, values: Mapping[str, object]) -> str:
        """The common beginning of all keys with these first values, up to the next field. It ends with a separator."""
        given = [values.get(found.attribute) is not None for found in self.fields]
        count = given.index(False) if False in given else len(given)
        if count == len(given):
            raise KeyValueError(f"key {self.text}: every field is given; that is a whole key, not a prefix")
        if any(given[count:]):
            late = self.fields[given.index(True, count)].attribute
            missing = self.fields[count].attribute
            raise KeyValueError(f"key {self.text}: {late} is given, but {missing}, which comes first, is not")
        return self.heading(self.parts.index(self.fields[count]))(values)

    def parse(self, key: str) -> dict[str, object]:
        """The values in a key, without derived ones. Any other text raises KeyValueError."""
        found = self._match(key)
        if found is None:
            raise KeyValueError(f"{key!r} is not a key of {self.text}")
        return found

    def matches(self, key: str) -> bool:
        return self._match(key) is not None

    @cached_property
    def _pattern(self) -> re.Pattern[str]:
        texts = [re.escape(p.text) if isinstance(p, KeyText) else f"({expression(p.shape)})" for p in self.parts]
        return re.compile("".join(texts))

    def _match(self, key: str) -> dict[str, object] | None:
        found = self._pattern.fullmatch(key)
        if not found:
            return None
        values: dict[str, object] = {}
        derived: list[tuple[KeyField, str]] = []
        try:
            for part, written in zip(self.fields, found.groups(), strict=True):
                if part.encoding.decode is None:
                    derived.append((part, written))
                    continue
                value = part.encoding.decode(written)
                # A text that no value encodes to ("2024-02-30", "B7", an unknown escape) is not a key.
                if part.encoding.encode(value) != written or values.setdefault(part.attribute, value) != value:
                    return None
            for part, written in derived:
                if not part.encoding.settled:
                    continue
                if part.attribute in values and part.write(values) != written:
                    return None
        except (ValueError, KeyError, IndexError, ArithmeticError):
            return None
        return values

    def __str__(self) -> str:
        return self.text


class Shaped(Protocol):
    """A key of one or more attributes, each with a shape."""

    @property
    def columns(self) -> tuple[Shape, ...]: ...


def disjoint(one: Shaped, other: Shaped) -> bool:
    """Whether no key of one can be a key of the other.

    >>> from prejoin.types import STRING
    >>> types = {"o": STRING, "i": STRING}
    >>> order, item = (Template.of(text, types) for text in ("ORDER#{o}", "ORDER#{o}#I#{i}"))
    >>> disjoint(order, item), disjoint(order, Template.of("{i}", {"i": STRING}))
    (True, True)
    >>> disjoint(order, Template.of("ORDER#{i}", {"i": STRING}))
    False
    """
    return any(not meet(ours, theirs) for ours, theirs in zip(one.columns, other.columns, strict=False))


def prefix_free(one: Template, other: Template) -> bool:
    """Whether no key of either template begins with the constant text that the other's keys begin with."""
    return not (meet(one.shape, leading(other) + ANYTHING) or meet(other.shape, leading(one) + ANYTHING))


def leading(template: Template) -> Shape:
    first = template.parts[0] if template.parts else None
    return first.shape if isinstance(first, KeyText) else ()


def alike(one: Part, other: Part) -> bool:
    """Whether two parts write the same text for the same value."""
    if isinstance(one, KeyField) and isinstance(other, KeyField):
        return one.encoding == other.encoding
    return one == other


def fields_of(text: str) -> tuple[str, ...]:
    """The attributes in a template's text.

    >>> fields_of("ORDER#{placed_at:day}#{order_id}")
    ('placed_at', 'order_id')
    """
    return tuple(dict.fromkeys(found[1] for found in _FIELD.finditer(text)))


def renamed(text: str, names: Mapping[str, str]) -> str:
    """A template's text with other attribute names.

    >>> renamed("ORDER#{placedAt:day}", {"placedAt": "placed_at"})
    'ORDER#{placed_at:day}'
    """
    return _FIELD.sub(lambda m: m[0].replace(m[1], names[m[1]], 1), text)


def _parts(text: str, types: Mapping[str, Type], separator: Separator, raw: bool) -> list[Part]:
    if not text:
        raise TemplateError("it is empty, and DynamoDB does not accept empty keys")
    parts: list[Part] = []
    end = 0
    for found in _FIELD.finditer(text):
        if found.start() > end:
            parts.append(_literal(text[end : found.start()], separator, raw))
        parts.append(_field(found, text, types, separator, raw))
        end = found.end()
    if end < len(text):
        parts.append(_literal(text[end:], separator, raw))
    if len(parts) == 1 and isinstance(parts[0], KeyField) and parts[0].encoding.missing == "":
        raise TemplateError(
            f"without a value of {parts[0].attribute} it would be empty, and DynamoDB does not accept empty keys: "
            "put a word or another attribute beside it"
        )
    return parts


def _literal(text: str, separator: Separator, raw: bool) -> KeyText:
    for brace in "{}":
        if brace in text:
            raise TemplateError(
                f"{text!r} has a {brace!r} that is not part of a field such as {{user_id}} or {{n:06d}}"
            )
    if separator.escape in text and not raw:
        raise TemplateError(f"{separator.escape!r} in {text!r} starts an escape; leave it out")
    return KeyText(text)


def _field(found: re.Match[str], text: str, types: Mapping[str, Type], separator: Separator, raw: bool) -> KeyField:
    attribute, spec = found[1], found[3] or ""
    if attribute not in types:
        from difflib import get_close_matches  # only after a typo

        near = get_close_matches(attribute, types, 1)
        hint = f"did you mean {near[0]}?" if near else f"there are {', '.join(types)}"
        raise TemplateError(f"there is no attribute {attribute}; {hint}")
    stop = text[found.end() : found.end() + 1]
    if stop and stop != separator.char and not raw:
        raise TemplateError(f"{found[0]} must be followed by {separator.char!r} or end the key, or values run together")
    try:
        encoding = encoding_for(spec, types[attribute], separator, raw, stop.replace("{", ""), bool(found[2]))
    except TemplateError as error:
        raise TemplateError(f"{found[0]}: {error}") from None
    if stop == "{" and encoding.width is None:
        raise TemplateError(f"{found[0]} has no fixed width, so the end of the value cannot be found")
    return KeyField(attribute, spec, encoding)
