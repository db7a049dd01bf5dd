"""Binds the keys of a design to the planner's facets, with a list of flaws instead of an exception.

Hand-written designs contain things that templates do not have, such as a date format, `{day:MM/DD/YY}`, or a rounded
number, `{score:floor}`. These are understood here, so that the rest of the key can still be checked.
"""

from __future__ import annotations

import re
from enum import Enum

import msgspec
from msgspec.structs import replace

from prejoin import keys
from prejoin.design.mapping.facets import planner_facet
from prejoin.design.model import Design, Facet, Item, Slot
from prejoin.keys import KeyField, KeyForm, KeyText, Template, TemplateError
from prejoin.types import STRING, Kind, Type
from prejoin.workload.model import Attribute, Entity, Workload

_FIELD = re.compile(r"\{(?P<name>[^{}:?]+)\??(?::(?P<spec>[^{}]*))?\}")
# There is one way to match each text: a repeated `M{1,2}` would backtrack exponentially.
_PICTURE = re.compile(r"(?:YY|[MDhmsS/. :TZ-])+")
_LOSSY = re.compile(r"floor|ceil|round|trunc")
_COARSER = ("Y", "M", "D", "h", "m", "s", "S")


class FlawKind(Enum):
    UNKNOWN = "unknown"
    """It names an unknown attribute."""
    UNREADABLE = "unreadable"
    """It cannot be parsed."""
    TOGETHER = "together"
    """Two values follow each other without a separator."""
    PICTURE = "picture"
    """A date format that does not sort by time."""
    LOSSY = "lossy"
    """A rounded number."""


class Flaw(msgspec.Struct, frozen=True):
    """A flaw of one template."""

    kind: FlawKind
    entity: str
    slot: str
    text: str
    about: str
    """The attribute and its format; for an unreadable template, the message."""
    attribute: str = ""


class BoundKey(msgspec.Struct, frozen=True):
    """A key of an item in a slot: as written, and as the planner's facet."""

    item: Item
    entity: Entity
    facet: Facet
    form: keys.Facet
    place: Slot

    @property
    def slot(self) -> str:
        return self.facet.slot

    @property
    def name(self) -> str:
        return self.item.name

    @property
    def text(self) -> str:
        return " / ".join(self.facet.templates)

    @property
    def forms(self) -> tuple[keys.KeyForm, ...]:
        """The partition key and, if there is one, the sort key."""
        return (self.form.pk, self.form.sk) if self.form.sk else (self.form.pk,)


def bind(design: Design, workload: Workload) -> tuple[tuple[BoundKey, ...], tuple[Flaw, ...]]:
    """All keys of a design that can be parsed, and the flaws of all keys."""
    keys_: list[BoundKey] = []
    flaws: list[Flaw] = []
    for item in design.items:
        entity = workload.entity(item.entity)
        if entity is None:
            continue
        for facet in item.facets:
            place = design.slot(facet.slot)
            if place is None or len(facet.pk) != len(place.pk) or len(facet.sk) != len(place.sk):
                continue
            binder = _Binder(design, entity, facet)
            key = binder.bind(item, place)
            flaws += binder.flaws
            if key is not None:
                keys_.append(key)
    return tuple(keys_), tuple(flaws)


class _Binder:
    """Translates the templates of one key to our syntax, and collects their flaws.

    `{createdAt:YYYY-MM-DD}#{score:floor}` becomes `{createdAt}#{score}`, with `createdAt` as a date and the flaw that
    `score` is rounded.
    """

    def __init__(self, design: Design, entity: Entity, facet: Facet) -> None:
        self._design = design
        self._entity = entity
        self._facet = facet
        self._types = dict(entity.types)
        """The types of attributes as the templates use them, those of unknown ones included."""
        self.flaws: list[Flaw] = []

    def bind(self, item: Item, place: Slot) -> BoundKey | None:
        pk, sk = tuple(map(self._plain, self._facet.pk)), tuple(map(self._plain, self._facet.sk))
        attributes = [replace(attribute, type=self._types[attribute.name]) for attribute in self._entity.attributes]
        known_names = self._entity.types.keys()
        attributes += [Attribute(name, type_) for name, type_ in self._types.items() if name not in known_names]
        entity = replace(self._entity, attributes=tuple(attributes))
        try:
            form = planner_facet(self._design, entity, item, replace(self._facet, pk=pk, sk=sk))
            form = replace(form, pk=_in_order(form.pk), sk=form.sk and _in_order(form.sk), local=place.local)
        except TemplateError as problem:
            self._say(FlawKind.UNREADABLE, " / ".join((*pk, *sk)), str(problem))
            return None
        return BoundKey(item, entity, self._facet, form, place)

    def _say(self, kind: FlawKind, text: str, about: str, attribute: str = "") -> None:
        self.flaws.append(Flaw(kind, self._entity.name, self._facet.slot, text, about, attribute))

    def _plain(self, text: str) -> str:
        """A template in our syntax, with a flaw for each difference."""
        plain_text = _FIELD.sub(lambda match: self._field(text, match[0], match["name"], match["spec"] or ""), text)
        return self._with_separators(text, plain_text)

    def _field(self, text: str, field: str, name: str, spec: str) -> str:
        """A field of a template in our syntax."""
        if name not in self._types:
            self._say(FlawKind.UNKNOWN, text, name)
            self._types[name] = STRING
        if spec and _PICTURE.fullmatch(spec):
            self._types[name] = Type(Kind.DATE)
            if not sorts(spec):
                self._say(FlawKind.PICTURE, text, f"{name}:{spec}", name)
            return f"{{{name}}}"
        words = [word.strip() for word in spec.split(",")]
        lossy_words = list(filter(_LOSSY.fullmatch, words))
        if not lossy_words:
            return field
        self._say(FlawKind.LOSSY, text, f"{name}:{lossy_words[0]}")
        remainder = ",".join(word for word in words if word not in lossy_words)
        return f"{{{name}:{remainder}}}" if remainder else f"{{{name}}}"

    def _with_separators(self, text: str, plain_text: str) -> str:
        """The template with a separator after each value of variable width that has none."""
        result, end = "", 0
        for match in _FIELD.finditer(plain_text):
            result += plain_text[end : match.end()]
            end = match.end()
            following = plain_text[end : end + 1]
            is_loose = following == "{" or (following not in ("", self._design.separator) and not self._design.raw_keys)
            if is_loose and not self._has_fixed_width(match[0]):
                self._say(FlawKind.TOGETHER, text, match["name"])
                result += self._design.separator
        return result + plain_text[end:]

    def _has_fixed_width(self, field: str) -> bool:
        try:
            template = Template.of(field, self._types, self._design.separator, self._design.raw_keys)
        except (TemplateError, ValueError):
            return True  # reported by another check
        (only_field,) = template.fields
        return only_field.encoding.width is not None


def sorts(picture: str) -> bool:
    """Whether a date format sorts by time: a four-digit year first, then parts of two digits.

    >>> sorts("YYYY-MM-DD"), sorts("MM/DD/YY"), sorts("YYYY-M-D")
    (True, False, False)
    """
    parts = re.findall(r"Y+|M+|D+|h+|m+|s+|S+", picture)
    ranks = [_COARSER.index(part[0]) for part in parts]
    return ranks == list(range(len(ranks))) and parts[:1] == ["YYYY"] and all(len(p) == 2 for p in parts[1:6])


def _in_order(form: KeyForm) -> KeyForm:
    """A raw key whose text counts as ordered: the separator in a value is reported by another check."""
    if not isinstance(form, Template) or not form.raw:
        return form
    return replace(form, parts=tuple(map(_ordered_part, form.parts)))


def _ordered_part(part: KeyText | KeyField) -> KeyText | KeyField:
    if isinstance(part, KeyField) and part.encoding.prefixes:
        return replace(part, encoding=replace(part.encoding, ordered=True))
    return part
