"""Sample items with plausible values and their real keys. They are the same for the same design."""

from __future__ import annotations

import base64
import re
import uuid
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from hashlib import sha256
from typing import assert_never

import msgspec

from prejoin.design.model import Design, Facet, Item, Slot, When
from prejoin.keys import KeyValueError, Template, TemplateError, fields_of
from prejoin.keys.template.encoding import encode_datetime
from prejoin.types import Kind, Type
from prejoin.workload.constants import constant
from prejoin.workload.lookup import changes, root
from prejoin.workload.model import VERSION, Action, Attribute, Change, ChangeOp, Entity, Verb, Workload, Write

Values = Mapping[str, object]
_START = datetime(2026, 1, 15, 10, 30, tzinfo=UTC)
_END = datetime(2099, 12, 31, tzinfo=UTC)
"""The TTL of samples, in the future."""
_CROCKFORD = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
_PEOPLE = ("ann", "bob", "cleo", "dan", "eve")
_WORDS = ("ash", "birch", "cedar", "elm", "fir")


class SampleContent(bytes):
    """A content that is small enough to be in its item."""


def sample_values(
    workload: Workload, entity: Entity, design: Design, second: Iterable[str] = (), when: Iterable[When] = ()
) -> dict[str, object]:
    """The attributes of a sample item. Those in `second` have another value than in the first sample."""
    others = frozenset(second)
    origins = {a.name: _origin(workload, entity, a) for a in entity.attributes}
    numbers = _numbers(origins, others)
    coming = tuple(state_attributes(workload, entity))
    grown = {one.state: one for one in reversed(coming)}
    values: dict[str, object] = {}
    for attribute in entity.attributes:
        origin, number = origins[attribute.name], numbers[attribute.name]
        if (state := grown.get(attribute.name)) and attribute.type.values[0] in state.before:
            number += attribute.type.values.index(state.then[0])  # a sample that has every optional attribute
        values[attribute.name] = _value(attribute, f"{origin[0]}.{origin[1]}", origin[1], number)
    if entity.history and entity.attribute(VERSION):
        values[VERSION] = 1  # whatever an object has, a new item has this one
    for name in _trees(design, entity):
        values[name] = f"/docs/{2025 + (name in others)}"
    there = tuple(when)
    for one in there:
        known = entity.attribute(one.attribute)
        if known and one.values:
            try:
                values[one.attribute] = constant(one.values[0], known.type)
            except (ValueError, ArithmeticError):
                continue  # the attribute cannot have this value: checks report that
    needed = _needed(design, entity).union(one.attribute for one in there if not one.absent)
    absent = {one.attribute for one in coming if values.get(one.state) in one.before}
    absent |= {one.attribute for one in there if one.absent}
    return {name: value for name, value in values.items() if name not in absent or name in needed}


def _numbers(origins: Mapping[str, tuple[str, str]], others: frozenset[str]) -> dict[str, int]:
    """The number of each attribute's value: two roles of one entity, follower and followed, are two items.

    >>> roles = {"follower": ("User", "userId"), "followed": ("User", "userId")}
    >>> [_numbers(roles, frozenset(others)) for others in ([], ["follower"], ["follower", "followed"])]
    [{'follower': 1, 'followed': 2}, {'follower': 3, 'followed': 2}, {'follower': 2, 'followed': 3}]
    """
    first: dict[str, int] = {}
    for name, origin in origins.items():
        first[name] = 1 + sum(origins[other] == origin for other in first)
    found = {name: number + (name in others) for name, number in first.items()}
    for name in found:
        if name in others:
            taken = {found[other] for other in found if other != name and origins[other] == origins[name]}
            while found[name] in taken | {first[name]}:
                found[name] += 1
    return found


def _origin(workload: Workload, entity: Entity, attribute: Attribute) -> tuple[str, str]:
    """The origin of a value: the attribute that it refers to or repeats."""
    owner, _, name = next(iter(attribute.repeats), "").partition(".")
    return (owner, name) if name else root(workload, entity, attribute)


def sample_item(design: Design, workload: Workload, item: Item, second: Iterable[str] = ()) -> dict[str, object]:
    """A stored item in JSON: keys, type, attributes. `second` as in `sample_values`."""
    entity = workload.entity(item.entity)
    if entity is None:
        return {}
    whens = {w.attribute: w for facet in reversed(item.facets) for w in facet.when}
    values = sample_values(workload, entity, design, second, whens.values())
    kept = held_attributes(design, item) if item.attributes else set(values)
    held = {name: plain(value) for name, value in values.items() if name in kept}
    found: dict[str, object] = {}
    for facet in item.facets:
        slot = design.slot(facet.slot)
        if slot and _is_there(facet, values):
            found |= dict(written_key(design, entity, slot, facet, values))
    return {**found, design.type_attribute: item.tag, **{n: v for n, v in held.items() if n not in found}}


def held_attributes(design: Design, item: Item) -> set[str]:
    """The attributes of a copy: the listed ones, and those of its keys and of its item's keys."""
    own = design.item(item.entity)
    facets = (*item.facets, *(own.facets[:1] if own else ()))
    return {*item.attributes, *(name for f in facets for text in (*f.pk, *f.sk) for name in fields_of(text))}


def written_key(
    design: Design, entity: Entity, slot: Slot, facet: Facet, values: Values
) -> Iterator[tuple[str, object]]:
    """The attributes of a key with their values; the template if the values make no key."""
    attributes = (*slot.pk, *slot.sk)
    for attribute, text in zip(attributes, (*facet.pk, *facet.sk), strict=False):
        if text == f"{{{attribute.name}}}" and attribute.name in values:
            yield attribute.name, plain(values[attribute.name])  # the attribute is the key
            continue
        try:
            template = Template.of(text, entity.types, design.separator, design.raw_keys)
            yield attribute.name, template.build({**dict.fromkeys(fields_of(text)), **values})
        except (TemplateError, KeyValueError):
            yield attribute.name, text


def varying(entity: Entity, facet: Facet) -> tuple[str, ...]:
    """The attributes that differ between two items of one partition: those of the sort key alone."""
    fixed = {name for text in facet.pk for name in fields_of(text)} | {w.attribute for w in facet.when}
    unique = [(a.name,) for a in entity.attributes if a.unique] + [tuple(a.name for a in entity.id), *entity.unique]
    if any(group and set(group) <= fixed for group in unique):
        return ()  # there is only one such item
    names = dict.fromkeys(name for text in facet.sk for name in fields_of(text))
    found = [name for name in names if name not in fixed and entity.attribute(name)]
    if found:  # the second sample is another item, so unique values differ, too
        for group in unique:
            if group and not set(group) & set(found):
                found += [name for name in group if name not in fixed][:1]
    return tuple(dict.fromkeys(found))


def plain(value: object) -> object:
    """A value in JSON, in its stored form."""
    match value:
        case datetime():
            return encode_datetime(value)
        case date():
            return value.isoformat()
        case Decimal():
            return int(value) if value == value.to_integral_value() else float(value)
        case uuid.UUID():
            return str(value)
        case SampleContent():
            return {"place": "item", "size": len(value), "sha256": sha256(value).hexdigest()}
        case bytes():
            return base64.b64encode(value).decode()
        case list() | set():
            return [plain(one) for one in value]
        case _:
            return value


def _is_there(facet: Facet, values: Values) -> bool:
    for when in facet.when:
        value = values.get(when.attribute)
        if when.absent:
            if value is not None:
                return False
            continue
        text = plain(value)
        text = str(text).lower() if isinstance(text, bool) else str(text)
        if value is None or (when.values and text not in when.values):
            return False
    return True


def _value(attribute: Attribute, seed: str, field: str, number: int) -> object:
    kind = attribute.type.kind
    if attribute.ttl and kind in {Kind.INTEGER, Kind.NUMBER, Kind.DECIMAL, Kind.DATETIME}:
        end = _END + timedelta(days=number)
        seconds = int(end.timestamp())
        return end if kind is Kind.DATETIME else Decimal(seconds) if kind is Kind.DECIMAL else seconds
    if kind is Kind.STRING:
        return _text(field, number)
    least, most = attribute.bounds
    if attribute.type.numeric and least is not None:
        first = max(least, 1) if most is None or most >= 1 else least
        found = first + (number - 1) % (most - first + 1 if most is not None and most >= first else number)
        return Decimal(found) if kind is Kind.DECIMAL else found
    return _typed(attribute.type, seed, number)


def _text(field: str, number: int) -> str:
    low = field.lower()
    if "mail" in low:
        again = (number - 1) // len(_PEOPLE)
        return f"{_PEOPLE[(number - 1) % len(_PEOPLE)]}{again or ''}@example.com"
    if low.endswith(("date", "time")) or re.search(r"(?<=[a-z])At$|_at$", field):
        return encode_datetime(_moment(number))[:19] + "Z"
    words = re.sub(r"[\W_]+", "-", re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "-", field)).strip("-").lower()
    words = words.removesuffix("-id").removesuffix("-name") or "value"
    return f"{words}-{number}"


def _typed(type_: Type, seed: str, number: int) -> object:
    digest = sha256(f"{seed}.{number}".encode("utf-8", "surrogatepass")).digest()
    match type_.kind:
        case Kind.INTEGER | Kind.NUMBER:
            return number
        case Kind.DECIMAL:
            return Decimal(1900 + 50 * number) / 100
        case Kind.BOOLEAN:
            return number % 2 == 1
        case Kind.BINARY:
            return digest[:8]
        case Kind.CONTENT:
            return SampleContent(_WORDS[(number - 1) % len(_WORDS)].encode())
        case Kind.DATE:
            return _moment(number).date()
        case Kind.DATETIME:
            return _moment(number)
        case Kind.UUID:
            return uuid.UUID(bytes=digest[:16], version=4)
        case Kind.ULID:
            return "01KF" + "".join(_CROCKFORD[byte % 32] for byte in digest[:22])
        case Kind.ENUM:
            return type_.values[(number - 1) % len(type_.values)] if type_.values else ""
        case Kind.LIST:
            return [_typed(type_.of, seed, number)] if type_.of else [_WORDS[0]]
        case Kind.SET:
            return {_typed(type_.of, seed, number)} if type_.of else {_WORDS[0]}
        case Kind.MAP:
            return {"key": _WORDS[0]}
        case Kind.STRING:
            return _WORDS[(number - 1) % len(_WORDS)]
        case _:
            assert_never(type_.kind)


def _moment(number: int) -> datetime:
    return _START + timedelta(days=number - 1, minutes=7 * (number - 1))


def _needed(design: Design, entity: Entity) -> set[str]:
    """The attributes that the keys of an item require; `{attribute?}` is optional."""
    texts = [t for item in design.items if item.entity == entity.name for f in item.facets for t in (*f.pk, *f.sk)]
    return {name for text in texts for name in fields_of(text) if f"{{{name}?" not in text}


def _trees(design: Design, entity: Entity) -> set[str]:
    """The attributes that keys write as paths."""
    texts = [t for item in design.items if item.entity == entity.name for f in item.facets for t in (*f.pk, *f.sk)]
    found = (field for text in texts for field in re.findall(r"\{([^{}:?]+)\??:([^{}]*)\}", text))
    return {name for name, spec in found if re.search(r"\btree\b", spec)}


class StateAttribute(msgspec.Struct, frozen=True):
    """An attribute that an item gets in a certain state: a draft has no time of publication."""

    attribute: str
    state: str
    """The attribute with the state."""
    then: tuple[str, ...]
    """The states in which the item gets the attribute."""
    before: frozenset[str]
    """The states in which it cannot have it, because no write leads back to them."""


def state_attributes(workload: Workload, entity: Entity) -> Iterator[StateAttribute]:
    """The attributes of an entity that come with a state.

    Every update that sets such an attribute sets the state, too, and no write gives it when the item is created.
    """
    every = [
        (write, action)
        for write in (*workload.writes, *workload.deletes)
        for action in write.actions
        if action.entity == entity.name
    ]
    updates = [
        {change.attribute: change for change in changes(write, action, entity)}
        for write, action in every
        if action.updates
    ]
    for attribute in entity.attributes:
        setting = [one for one in updates if (change := one.get(attribute.name)) and change.op is not ChangeOp.REMOVE]
        if not attribute.optional or not setting or any(_gives(write, action, attribute) for write, action in every):
            continue
        for state in entity.attributes:
            reached = [_constant(one[state.name]) for one in updates if state.name in one]
            then = [_constant(one[state.name]) if state.name in one else None for one in setting]
            if state.type.kind is Kind.ENUM and {*reached, *then} <= {*state.type.values}:
                before = frozenset(state.type.values) - {*reached}
                yield StateAttribute(attribute.name, state.name, tuple(filter(None, then)), before)


def _gives(write: Write, action: Action, attribute: Attribute) -> bool:
    """Whether an item may have an attribute when it is created."""
    given = {one.attribute for one in write.inputs} | {change.attribute for change in action.changes}
    return action.verb in (Verb.CREATE, Verb.PUT) and bool(given & {attribute.name, action.entity})


def _constant(change: Change) -> str | None:
    """The constant that a change sets an attribute to; None if the document gives none."""
    return change.value.const if change.op is ChangeOp.SET and change.value else None
