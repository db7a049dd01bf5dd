"""What each read needs of each entity's keys: what is given, the range and the order, by the entity's own names."""

from __future__ import annotations

import msgspec

from prejoin.design.map_reads import ask_of
from prejoin.keys import Ask
from prejoin.workload.model import OutOfScope, Read, Workload


class Tail(msgspec.Struct, frozen=True, order=True):
    """An attribute that the items come in the order of."""

    attribute: str
    descending: bool = False


class Need(msgspec.Struct, frozen=True):
    """What one read asks of the keys of one entity."""

    read: str
    entity: str
    given: frozenset[str]
    """Attributes whose value is known: by the caller, or as constants."""
    constants: tuple[tuple[str, str], ...] = ()
    tail: tuple[Tail, ...] = ()
    """The attribute of the range, then those of the order."""
    shared: bool = False
    """Other entities are asked for with it."""
    mingled: bool = False
    """Several entities in one order: the type comes after what they are sorted by."""


class Question(msgspec.Struct, frozen=True):
    """A read as the planner is asked it, and its needs, one for each entity."""

    read: Read
    ask: Ask
    needs: tuple[Need, ...]


def questions(workload: Workload) -> tuple[tuple[Question, ...], dict[str, str]]:
    """All reads in scope; and those that cannot be asked of any key, with the reason."""
    outside = {d.pin.pattern for d in workload.decisions if isinstance(d.pin, OutOfScope)}
    found, refused = [], {}
    for read in workload.reads:
        if read.id in outside:
            continue
        try:
            ask = ask_of(read, workload)
        except ValueError as problem:
            refused[read.id] = str(problem)
            continue
        found.append(Question(read, ask, tuple(_need(read, ask, name, workload) for name in ask.entities)))
    return tuple(found), refused


def _need(read: Read, ask: Ask, name: str, workload: Workload) -> Need:
    entity = workload.entity(name)
    assert entity is not None

    def own(asked: str) -> str | None:
        attribute = ask.attribute(name, asked)
        return attribute if entity.attribute(attribute) else None

    given = {own(one) for one in ask.equal - ask.filtered} - {None}
    constants = {(a, str(value)) for one, value in ask.constants if one not in ask.filtered and (a := own(one))}
    tail: dict[str, Tail] = {}
    if ask.within and (attribute := own(ask.within.attribute)):
        tail[attribute] = Tail(attribute)
    for order in ask.order:
        if order.entity in ("", name) and (attribute := own(order.attribute)) and attribute not in given:
            # The direction of the order counts; a range has none.
            tail[attribute] = Tail(attribute, order.descending)
    mingled = len(ask.entities) > 1 and (bool(ask.within) or any(not order.entity for order in ask.order))
    known = frozenset(given) | {a for a, _ in constants}
    return Need(
        read.id,
        name,
        known,  # type: ignore[arg-type]
        tuple(sorted(constants)),
        tuple(one for one in tail.values() if one.attribute not in known),
        len(ask.entities) > 1,
        mingled,
    )
