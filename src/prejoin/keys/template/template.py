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
        return tuple(dict.fromkeys(field.attribute for field in self.fields))

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
        is_given = [values.get(field.attribute) is not None for field in self.fields]
        count = is_given.index(False) if False in is_given else len(is_given)
        if count == len(is_given):
            raise KeyValueError(f"key {self.text}: every field is given; that is a whole key, not a prefix")
        if any(is_given[count:]):
            late = self.fields[is_given.index(True, count)].attribute
            missing = self.fields[count].attribute
            raise KeyValueError(f"key {self.text}: {late} is given, but {missing}, which comes first, is not")
        return self.heading(self.parts.index(self.fields[count]))(values)

    def parse(self, key: str) -> dict[str, object]:
        """The values in a key, without derived ones. Any other text raises KeyValueError."""
        values = self._match(key)
        if values is None:
            raise KeyValueError(f"{key!r} is not a key of {self.text}")
        return values

    def matches(self, key: str) -> bool:
        return self._match(key) is not None

    @cached_property
    def _pattern(self) -> re.Pattern[str]:
        texts = [
            re.escape(part.text) if isinstance(part, KeyText) else f"({expression(part.shape)})" for part in self.parts
        ]
        return re.compile("".join(texts))

    def _match(self, key: str) -> dict[str, object] | None:
        match = self._pattern.fullmatch(key)
        if not match:
            return None
        values: dict[str, object] = {}
        derived_texts: list[tuple[KeyField, str]] = []
        try:
            for field, text in zip(self.fields, match.groups(), strict=True):
                if field.encoding.decode is None:
                    derived_texts.append((field, text))
                    continue
                value = field.encoding.decode(text)
                # A text that no value encodes to ("2024-02-30", "B7", an unknown escape) is not a key.
                if field.encoding.encode(value) != text or values.setdefault(field.attribute, value) != value:
                    return None
            for field, text in derived_texts:
                if not field.encoding.settled:
                    continue
                if field.attribute in values and field.write(values) != text:
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


def disjoint(first: Shaped, other: Shaped) -> bool:
    """Whether no key of one can be a key of the other.

    >>> from prejoin.types import STRING
    >>> types = {"o": STRING, "i": STRING}
    >>> order, item = (Template.of(text, types) for text in ("ORDER#{o}", "ORDER#{o}#I#{i}"))
    >>> disjoint(order, item), disjoint(order, Template.of("{i}", {"i": STRING}))
    (True, True)
    >>> disjoint(order, Template.of("ORDER#{i}", {"i": STRING}))
    False
    """
    return any(
        not meet(first_shape, other_shape)
        for first_shape, other_shape in zip(first.columns, other.columns, strict=False)
    )


def prefix_free(first: Template, other: Template) -> bool:
    """Whether no key of either template begins with the constant text that the other's keys begin with."""
    return not (meet(first.shape, leading(other) + ANYTHING) or meet(other.shape, leading(first) + ANYTHING))


def leading(template: Template) -> Shape:
    first = template.parts[0] if template.parts else None
    return first.shape if isinstance(first, KeyText) else ()


def alike(first: Part, other: Part) -> bool:
    """Whether two parts write the same text for the same value."""
    if isinstance(first, KeyField) and isinstance(other, KeyField):
        return first.encoding == other.encoding
    return first == other


def fields_of(text: str) -> tuple[str, ...]:
    """The attributes in a template's text.

    >>> fields_of("ORDER#{placed_at:day}#{order_id}")
    ('placed_at', 'order_id')
    """
    return tuple(dict.fromkeys(match[1] for match in _FIELD.finditer(text)))


def renamed(text: str, names: Mapping[str, str]) -> str:
    """A template's text with other attribute names.

    >>> renamed("ORDER#{placedAt:day}", {"placedAt": "placed_at"})
    'ORDER#{placed_at:day}'
    """
    return _FIELD.sub(lambda match: match[0].replace(match[1], names[match[1]], 1), text)


def _parts(text: str, types: Mapping[str, Type], separator: Separator, raw: bool) -> list[Part]:
    if not text:
        raise TemplateError("it is empty, and DynamoDB does not accept empty keys")
    parts: list[Part] = []
    end = 0
    for match in _FIELD.finditer(text):
        if match.start() > end:
            parts.append(_literal(text[end : match.start()], separator, raw))
        parts.append(_field(match, text, types, separator, raw))
        end = match.end()
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


def _field(match: re.Match[str], text: str, types: Mapping[str, Type], separator: Separator, raw: bool) -> KeyField:
    attribute, spec = match[1], match[3] or ""
    if attribute not in types:
        from difflib import get_close_matches  # only after a typo

        close_names = get_close_matches(attribute, types, 1)
        hint = f"did you mean {close_names[0]}?" if close_names else f"there are {', '.join(types)}"
        raise TemplateError(f"there is no attribute {attribute}; {hint}")
    stop = text[match.end() : match.end() + 1]
    if stop and stop != separator.char and not raw:
        raise TemplateError(f"{match[0]} must be followed by {separator.char!r} or end the key, or values run together")
    try:
        encoding = encoding_for(spec, types[attribute], separator, raw, stop.replace("{", ""), bool(match[2]))
    except TemplateError as error:
        raise TemplateError(f"{match[0]}: {error}") from None
    if stop == "{" and encoding.width is None:
        raise TemplateError(f"{match[0]} has no fixed width, so the end of the value cannot be found")
    return KeyField(attribute, spec, encoding)
