"""Plausible values for samples, the same for the same document: those of the design document, of seeds and of tests.

An item of number 1 is the usual one. Times are in the order in which they come, and an attribute that an item only gets
in a later state is absent before.
"""

from __future__ import annotations

import re
import uuid
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from hashlib import sha256
from typing import assert_never

import msgspec

from prejoin.constructs.registry import initial_values
from prejoin.keys.template.encoding import encode_datetime
from prejoin.types import Kind, Type
from prejoin.workload.conditions import facts
from prejoin.workload.lookup import changes, root
from prejoin.workload.model import (
    Absence,
    Action,
    Attribute,
    Change,
    ChangeOp,
    Comparison,
    Entity,
    Op,
    Workload,
    Write,
)

_START = datetime(2026, 1, 15, 10, 30, tzinfo=UTC)
_END = datetime(2099, 12, 31, tzinfo=UTC)
"""The TTL of samples, in the future."""
CROCKFORD = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
"""The letters of a ULID, in their order."""
_PEOPLE = ("ann", "bob", "cleo", "dan", "eve")
_WORDS = ("ash", "birch", "cedar", "elm", "fir")
_BEGINNINGS = frozenset({"begin", "begins", "born", "created", "from", "joined", "opened", "placed", "start", "starts"})
_BEGINNINGS |= {"started", "registered", "since"}
_ENDS = frozenset({"closed", "deleted", "due", "end", "ended", "ends", "expires", "finished", "to", "until"})


class SampleContent(bytes):
    """A content that is small enough to be in its item."""


def plausible_values(
    workload: Workload,
    entity: Entity,
    changed_names: Collection[str] = (),
    decided_values: Mapping[str, object] | None = None,
    required_names: Collection[str] = (),
) -> dict[str, object]:
    """The attributes of an item. Those in `others` have another value than in the first item.

    `known` has values that are decided, None for an absent attribute; the `needed` attributes are there in any state.
    """
    decided_values = decided_values or {}
    # A value is made from its origin, so that `Comment.userId` and `User.userId` of sample 1 are the same.
    origins = {a.name: _origin(workload, entity, a) for a in entity.attributes}
    numbers = _numbers(origins, changed_names)
    state_bound = tuple(state_attributes(workload, entity))
    state_attribute_of = {state_attribute.state: state_attribute for state_attribute in reversed(state_bound)}
    values: dict[str, object] = {}
    for attribute in entity.attributes:
        origin, number = origins[attribute.name], numbers[attribute.name]
        members = _members(attribute)
        state = state_attribute_of.get(attribute.name)
        if state is not None and members[0] in state.before:
            number += members.index(state.then[0])  # a sample that has every optional attribute
        elif state is None and (initial_state := _created_with(workload, entity, attribute)) in members:
            number += members.index(initial_state)
        values[attribute.name] = _value(attribute, f"{origin[0]}.{origin[1]}", origin[1], number)
    # Times of one item come one after the other: created, paid, closed.
    for name, delay in _delays(workload, entity).items():
        values[name] = _later(values[name], delay)
    values.update(initial_values(entity))  # whatever an object has, a new item has these
    values |= decided_values
    absent_names = {
        state_attribute.attribute
        for state_attribute in state_bound
        if _is_before(values.get(state_attribute.state), state_attribute)
    } - {*required_names, *decided_values}
    return {name: value for name, value in values.items() if value is not None and name not in absent_names}


def _members(attribute: Attribute) -> tuple[str, ...]:
    """The values of a type with few of them, as the document writes them, in the order of the samples."""
    if attribute.type.kind is Kind.BOOLEAN:
        return ("true", "false")
    return attribute.type.values


def _created_with(workload: Workload, entity: Entity, attribute: Attribute) -> str | None:
    """The constant that an attribute has in a new item: OPEN of `create Invoice (status = OPEN)`."""
    for write in workload.writes:
        for action in write.actions:
            for change in action.changes if action.is_new and action.entity == entity.name else ():
                if change.attribute == attribute.name:
                    return _constant(change)
    return None


def _is_before(value: object, coming: StateAttribute) -> bool:
    """Whether an item with a value of the state has not got the attribute yet."""
    text = str(value).lower() if isinstance(value, bool) else value
    return text in coming.before


def plausible_value(workload: Workload, entity: Entity, attribute: Attribute, number: int = 1) -> object:
    """The value of an attribute in the item of a number."""
    origin = _origin(workload, entity, attribute)
    value = _value(attribute, f"{origin[0]}.{origin[1]}", origin[1], number)
    return _later(value, _delays(workload, entity).get(attribute.name, 0))


def _delays(workload: Workload, entity: Entity) -> dict[str, int]:
    """For each time of an entity the number of those that come before: an event begins before it ends.

    A time that refers to or repeats that of another entity is equal to it.
    """
    times = [a for a in entity.attributes if a.type.kind in (Kind.DATE, Kind.DATETIME) and not a.ttl]
    own = [a for a in times if _origin(workload, entity, a) == (entity.name, a.name)]
    own.sort(key=lambda attribute: _stage(attribute.name))
    return {attribute.name: number for number, attribute in enumerate(own)}


def _stage(name: str) -> int:
    """The part of a life that a time is of, by its name: 0 for its beginning, 2 for its end.

    >>> [_stage(name) for name in ("createdAt", "paidAt", "dueAt", "startTime", "validUntil")]
    [0, 1, 2, 0, 2]
    """
    words = re.findall(r"[a-z]+", re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower())
    if _BEGINNINGS.intersection(words):
        return 0
    return 2 if _ENDS.intersection(words) else 1


def _later(value: object, hours: int) -> object:
    """A time some hours later, a date as many days."""
    match value:
        case datetime():
            return value + timedelta(hours=hours)
        case date():
            return value + timedelta(days=hours)
    return value


def _numbers(origins: Mapping[str, tuple[str, str]], changed_names: Collection[str]) -> dict[str, int]:
    """The number of each attribute's value: two roles of one entity, follower and followed, are two items.

    >>> roles = {"follower": ("User", "userId"), "followed": ("User", "userId")}
    >>> [_numbers(roles, others) for others in ([], ["follower"], ["follower", "followed"])]
    [{'follower': 1, 'followed': 2}, {'follower': 3, 'followed': 2}, {'follower': 2, 'followed': 3}]
    """
    # First each role gets a number of its own, then those that have to differ from the first item get the next free
    # one.
    first: dict[str, int] = {}
    for name, origin in origins.items():
        first[name] = 1 + sum(origins[other] == origin for other in first)
    numbers = {name: number + (name in changed_names) for name, number in first.items()}
    for name in numbers:
        if name in changed_names:
            taken_numbers = {numbers[other] for other in numbers if other != name and origins[other] == origins[name]}
            while numbers[name] in taken_numbers | {first[name]}:
                numbers[name] += 1
    return numbers


def _origin(workload: Workload, entity: Entity, attribute: Attribute) -> tuple[str, str]:
    """The origin of a value: the attribute that it refers to or repeats."""
    owner, _, name = next(iter(attribute.repeats), "").partition(".")
    return (owner, name) if name else root(workload, entity, attribute)


def _value(attribute: Attribute, seed: str, field: str, number: int) -> object:
    kind = attribute.type.kind
    if attribute.ttl and kind in {Kind.INTEGER, Kind.NUMBER, Kind.DECIMAL, Kind.DATETIME}:
        end = _END + timedelta(days=number)
        seconds = int(end.timestamp())
        return end if kind is Kind.DATETIME else Decimal(seconds) if kind is Kind.DECIMAL else seconds
    if kind is Kind.STRING:
        return _text(field, number)
    minimum, maximum = attribute.bounds
    if attribute.type.numeric and minimum is not None:
        # Numbers start at 1 where the bounds allow it, and begin again after the largest one.
        first = max(minimum, 1) if maximum is None or maximum >= 1 else minimum
        sample = first + (number - 1) % (maximum - first + 1 if maximum is not None and maximum >= first else number)
        return Decimal(sample) if kind is Kind.DECIMAL else sample
    return _value_of_type(attribute.type, seed, number)


def _text(field: str, number: int) -> str:
    low = field.lower()
    if "mail" in low:
        round_ = (number - 1) // len(_PEOPLE)
        return f"{_PEOPLE[(number - 1) % len(_PEOPLE)]}{round_ or ''}@example.com"
    if low.endswith(("date", "time")) or re.search(r"(?<=[a-z])At$|_at$", field):
        return encode_datetime(_moment(number))[:19] + "Z"
    words = re.sub(r"[\W_]+", "-", re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "-", field)).strip("-").lower()
    words = words.removesuffix("-id").removesuffix("-name") or "value"
    return f"{words}-{number}"


def _value_of_type(type_: Type, seed: str, number: int) -> object:
    # The same document gives the same samples everywhere; Python's own hash differs in each process.
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
            return "01KF" + "".join(CROCKFORD[byte % 32] for byte in digest[:22])
        case Kind.ENUM:
            return type_.values[(number - 1) % len(type_.values)] if type_.values else ""
        case Kind.LIST:
            return [_value_of_type(type_.of, seed, number)] if type_.of else [_WORDS[0]]
        case Kind.SET:
            return {_value_of_type(type_.of, seed, number)} if type_.of else {_WORDS[0]}
        case Kind.MAP:
            return {"key": _WORDS[0]}
        case Kind.STRING:
            return _WORDS[(number - 1) % len(_WORDS)]
        case _:
            assert_never(type_.kind)


def _moment(number: int) -> datetime:
    return _START + timedelta(days=number - 1, minutes=7 * (number - 1))


class StateAttribute(msgspec.Struct, frozen=True):
    """An attribute that an item gets in a certain state: a draft has no time of publication."""

    attribute: str
    state: str
    """The attribute with the state."""
    then: tuple[str, ...]
    """The states in which the item gets the attribute."""
    before: frozenset[str]
    """The states in which it cannot have it, because no write leads to them from those."""


def state_attributes(workload: Workload, entity: Entity) -> Iterator[StateAttribute]:
    """The attributes of an entity that come with a state.

    An update that sets such an attribute sets the state, too, and no write names it when the item is created. An
    object that is created whole could have it, but a ticket is not sold when it is new. Other updates that set it are
    of items in certain states, or the first one requires that the item does not have it yet.
    """
    actions = workload.actions_on(entity.name)
    updates = [_Update.of(write, action, entity) for write, action in actions if action.updates]
    for attribute in entity.attributes:
        is_given = any(_gives(write, action, entity, attribute) for write, action in actions)
        if not attribute.optional or is_given:
            continue
        setting_updates = [update for update in updates if update.sets(attribute.name)]
        for state in entity.attributes:
            state_attribute = _bound_to(attribute, state, setting_updates, updates)
            if state_attribute is not None:
                yield state_attribute


def _bound_to(
    attribute: Attribute, state: Attribute, setting_updates: Sequence[_Update], updates: Sequence[_Update]
) -> StateAttribute | None:
    """The attribute as one that comes with a state; None if it may come in any state."""
    members = frozenset(_members(state))
    if not {update.target(state) for update in updates if state.name in update.changes} <= members:
        return None
    first_states: list[str] = []
    later_states: set[str] = set()
    is_absent_before = has_unknown_states = False
    for update in setting_updates:
        target, origins = update.target(state), update.origins(state)
        if target is not None:
            first_states.append(target)
            is_absent_before |= attribute.name in update.absent_before
        elif origins < members:
            later_states |= origins
        else:
            has_unknown_states = True
    if not first_states or (has_unknown_states and not is_absent_before):
        return None
    states_having_it = _states_with(attribute, state, {*first_states, *later_states}, updates)
    return StateAttribute(attribute.name, state.name, tuple(first_states), members - states_having_it)


def _states_with(attribute: Attribute, state: Attribute, having: set[str], updates: Sequence[_Update]) -> set[str]:
    """The states in which an item may have an attribute: those that lead on from the states in which it gets it."""
    # DRAFT → PUBLISHED → ARCHIVED, where publishing sets `publishedAt`: PUBLISHED and ARCHIVED have it, DRAFT has not.
    ahead = list(having)
    while ahead:
        current = ahead.pop()
        for update in updates:
            target = update.target(state)
            if target is None or target in having or attribute.name in update.removed:
                continue
            if current in update.origins(state):
                having.add(target)
                ahead.append(target)
    return having


@dataclass(frozen=True, slots=True)
class _Update:
    """An update of an item: what it changes, and the conditions that are true of the item before."""

    changes: Mapping[str, Change]
    comparisons: tuple[Comparison, ...]
    absent_before: frozenset[str]

    @classmethod
    def of(cls, write: Write, action: Action, entity: Entity) -> _Update:
        comparisons: list[Comparison] = []
        absent_before: set[str] = set()
        for fact in facts(write):
            if (fact.entity or write.first_entity) != entity.name:
                continue
            if isinstance(fact, Comparison):
                comparisons.append(fact)
            elif isinstance(fact, Absence):
                absent_before.add(fact.attribute)
        changes_by_name = {change.attribute: change for change in changes(write, action, entity)}
        return cls(changes_by_name, tuple(comparisons), frozenset(absent_before))

    @property
    def removed(self) -> set[str]:
        return {name for name, change in self.changes.items() if change.op is ChangeOp.REMOVE}

    def sets(self, name: str) -> bool:
        return name in self.changes and name not in self.removed

    def target(self, state: Attribute) -> str | None:
        """The state in which it leaves the item; None if it leaves the state, or the document does not say."""
        return _constant(self.changes[state.name]) if state.name in self.changes else None

    def origins(self, state: Attribute) -> set[str]:
        """The states in which its conditions allow the item to be."""
        # Without a condition on the state, an update may find the item in any of them.
        allowed_states = set(_members(state))
        for comparison in self.comparisons:
            constants = {value.const for value in comparison.values if value.const is not None}
            if comparison.attribute != state.name or len(constants) != len(comparison.values):
                continue
            if comparison.op.is_equality:
                allowed_states &= constants
            elif comparison.op is Op.NE:
                allowed_states -= constants
        return allowed_states


def _gives(write: Write, action: Action, entity: Entity, attribute: Attribute) -> bool:
    """Whether an item has an attribute when it is created, because the write names it.

    The input `Ticket` stands for all attributes, and names none.
    """
    if not action.is_new:
        return False
    changed_names = {change.attribute for change in action.changes}
    is_whole = changed_names.union(write.input_names) >= entity.types.keys()
    return attribute.name in changed_names or (attribute.name in write.input_names and not is_whole)


def _constant(change: Change) -> str | None:
    """The constant that a change sets an attribute to; None if the document gives none."""
    return change.value.const if change.op is ChangeOp.SET and change.value else None
