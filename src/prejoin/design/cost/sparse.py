"""Sparse facets: which part of an entity's items is in one, and what a write does to that."""

from __future__ import annotations

import math
from collections.abc import Iterator

from prejoin import keys
from prejoin.design.cost.assumptions import PRESENT, values_of
from prejoin.design.model import Did, ItemAction
from prejoin.workload.model import Entity, Workload


def share_in(workload: Workload, entity: Entity, facet: keys.Facet) -> float:
    """The part of an entity's items that is in a facet."""
    return math.prod(_share(workload, entity, when) for when in _conditions(entity, facet))


def chances(workload: Workload, action: ItemAction, entity: Entity, facet: keys.Facet) -> tuple[float, float, float]:
    """The parts of the items written that are in a facet before and after, only after, and only before."""
    unmoved = stays = before = after = 1.0
    for when in _conditions(entity, facet):
        share = _share(workload, entity, when)
        change = next((c for c in action.changes if _about(c, when.attribute)), "")
        if action.action is Did.UPDATE and not change:
            unmoved *= share
            continue
        was, becomes = _before(action, when, entity, share), _after(change, when, entity, share)
        before, after = before * was, after * becomes
        # A change to an unknown value is to another one.
        stays *= was * becomes if becomes == 1.0 or when.values is None or len(when.values) > 1 else 0.0
    if action.action is Did.PUT:
        return 0.0, after, 0.0
    if action.action is Did.DELETE:
        return 0.0, 0.0, before
    if before == after == 1.0:
        return unmoved, 0.0, 0.0
    return unmoved * stays, unmoved * after * (1 - before), unmoved * before * (1 - after)


def changed_by(action: ItemAction, entity: Entity) -> set[str]:
    """The attributes that an action changes."""
    return {a.name for a in entity.attributes if any(_about(c, a.name) for c in action.changes)}


def _about(change: str, name: str) -> bool:
    return change == f"REMOVE {name}" or change.startswith((f"SET {name} = ", f"ADD {name} "))


def _conditions(entity: Entity, facet: keys.Facet) -> Iterator[keys.When]:
    """What an item has to have to be in a facet: what is said, and what its key cannot do without."""
    yield from facet.when
    said = {when.attribute for when in facet.when}
    for name in dict.fromkeys(name for form in (facet.pk, facet.sk) if form for name in _required(form)):
        attribute = entity.attribute(name)
        if attribute and attribute.optional and name not in said:
            yield keys.When(name)


def _required(form: keys.KeyForm) -> tuple[str, ...]:
    if isinstance(form, keys.Natural):
        return form.attributes
    return tuple(field.attribute for field in form.fields if not field.optional)


def _share(workload: Workload, entity: Entity, when: keys.When) -> float:
    if when.values is None:
        attribute = entity.attribute(when.attribute)
        return PRESENT if attribute and attribute.optional else 1.0
    return min(1.0, len(when.values) / values_of(workload, entity, when.attribute))


def _before(action: ItemAction, when: keys.When, entity: Entity, share: float) -> float:
    """The part of the items that fulfil a condition before a write: all or none where that is what the write asks."""
    start = f"{when.attribute} = "
    asked = next((c.removeprefix(start) for c in action.conditions if c.startswith(start)), "")
    return _fulfil(asked, when, entity, share)


def _after(change: str, when: keys.When, entity: Entity, share: float) -> float:
    """The part of the items that fulfil a condition after a change."""
    if change and when.values is None:
        return 0.0 if change.startswith("REMOVE ") else 1.0
    return _fulfil(change.removeprefix(f"SET {when.attribute} = "), when, entity, share)


def _fulfil(value: str, when: keys.When, entity: Entity, share: float) -> float:
    """All or none where the value is known, else the usual part."""
    value = value.strip('"')
    if when.values and value in {str(v) for v in when.values}:
        return 1.0
    attribute = entity.attribute(when.attribute)
    return 0.0 if when.values and attribute and value in attribute.type.values else share
