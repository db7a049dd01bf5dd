"""Binds the keys of a design to the planner's facets, with a list of flaws instead of an exception.

Hand-written designs contain things that templates do not have, such as a date format, `{day:MM/DD/YY}`, or a rounded
number, `{score:floor}`. These are understood here, so that the rest of the key can still be checked.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from enum import Enum

import msgspec
from msgspec.structs import replace

from prejoin import keys
from prejoin.design.mapping.facets import planner_facet
from prejoin.design.model import Design, Facet, Item, Slot
from prejoin.keys import KeyField, KeyForm, Template, TemplateError
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

    what: FlawKind
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
        return " / ".join((*self.facet.pk, *self.facet.sk))

    @property
    def forms(self) -> tuple[keys.KeyForm, ...]:
        """The partition key and, if there is one, the sort key."""
        return (self.form.pk, self.form.sk) if self.form.sk else (self.form.pk,)


def bind(design: Design, workload: Workload) -> tuple[tuple[BoundKey, ...], tuple[Flaw, ...]]:
    """All keys of a design that can be parsed, and the flaws of all keys."""
    bound: list[BoundKey] = []
    flaws: list[Flaw] = []
    for item in design.items:
        entity = workload.entity(item.entity)
        if entity is None:
            continue
        for facet in item.facets:
            place = design.slot(facet.slot)
            if place is None or len(facet.pk) != len(place.pk) or len(facet.sk) != len(place.sk):
                continue
            facets = _bound(design, entity, item, facet, place, flaws)
            if facets:
                bound.append(facets)
    return tuple(bound), tuple(flaws)


def _bound(design: Design, entity: Entity, item: Item, facet: Facet, place: Slot, flaws: list[Flaw]) -> BoundKey | None:
    changed_types: dict[str, Type] = {}
    known = entity.types

    def plain(text: str) -> str:
        """The template in our syntax, with a flaw for each difference."""

        def say(what: FlawKind, about: str, attribute: str = "") -> None:
            flaws.append(Flaw(what, entity.name, facet.slot, text, about, attribute))

        def field(match: re.Match[str]) -> str:
            name, spec = match["name"], match["spec"] or ""
            if name not in known and name not in changed_types:
                say(FlawKind.UNKNOWN, name)
                changed_types[name] = STRING
            if spec and _PICTURE.fullmatch(spec):
                changed_types[name] = Type(Kind.DATE)
                if not sorts(spec):
                    say(FlawKind.PICTURE, f"{name}:{spec}", name)
                return f"{{{name}}}"
            words = [word.strip() for word in spec.split(",")]
            lossy = [word for word in words if _LOSSY.fullmatch(word)]
            if lossy:
                say(FlawKind.LOSSY, f"{name}:{lossy[0]}")
                remainder = ",".join(word for word in words if word not in lossy)
                return f"{{{name}:{remainder}}}" if remainder else f"{{{name}}}"
            return match[0]

        written = _FIELD.sub(field, text)
        return _apart(written, {**known, **changed_types}, design, lambda about: say(FlawKind.TOGETHER, about))

    pk, sk = tuple(map(plain, facet.pk)), tuple(map(plain, facet.sk))
    attributes = tuple(replace(a, type=changed_types.get(a.name, a.type)) for a in entity.attributes)
    attributes += tuple(Attribute(name, type_) for name, type_ in changed_types.items() if name not in known)
    shown = replace(entity, attributes=attributes)
    try:
        form = planner_facet(design, shown, item, replace(facet, pk=pk, sk=sk))
        form = replace(form, pk=_in_order(form.pk), sk=form.sk and _in_order(form.sk), local=place.local)
    except TemplateError as problem:
        flaws.append(Flaw(FlawKind.UNREADABLE, entity.name, facet.slot, " / ".join((*pk, *sk)), str(problem)))
        return None
    return BoundKey(item, shown, facet, form, place)


def sorts(picture: str) -> bool:
    """Whether a date format sorts by time: a four-digit year first, then parts of two digits.

    >>> sorts("YYYY-MM-DD"), sorts("MM/DD/YY"), sorts("YYYY-M-D")
    (True, False, False)
    """
    parts = re.findall(r"Y+|M+|D+|h+|m+|s+|S+", picture)
    ranks = [_COARSER.index(part[0]) for part in parts]
    return ranks == list(range(len(ranks))) and parts[:1] == ["YYYY"] and all(len(p) == 2 for p in parts[1:6])


def _apart(text: str, types: dict[str, Type], design: Design, say: Callable[[str], None]) -> str:
    """The template with a separator after each value of variable width that has none."""
    found, end = "", 0
    for match in _FIELD.finditer(text):
        found += text[end : match.end()]
        end = match.end()
        follows = text[end : end + 1]
        loose = follows == "{" or (follows not in ("", design.separator) and not design.raw_keys)
        if loose and not _fixed(match[0], types, design):
            say(match["name"])
            found += design.separator
    return found + text[end:]


def _fixed(field: str, types: dict[str, Type], design: Design) -> bool:
    try:
        (only,) = Template.of(field, types, design.separator, design.raw_keys).fields
    except (TemplateError, ValueError):
        return True  # reported by another check
    return only.encoding.width is not None


def _in_order(form: KeyForm) -> KeyForm:
    """A raw key whose text counts as ordered: the separator in a value is reported by another check."""
    if not isinstance(form, Template) or not form.raw:
        return form
    parts = tuple(
        replace(part, encoding=replace(part.encoding, ordered=True))
        if isinstance(part, KeyField) and part.encoding.prefixes
        else part
        for part in form.parts
    )
    return replace(form, parts=parts)
