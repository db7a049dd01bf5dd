"""One call of a write, made up: the items it is about, what the caller gives, and each item before and after."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import msgspec

from prejoin.design.mapping.addressing import NEW, actions_of, is_absence, links, looked_at
from prejoin.design.mapping.shared_values import Agreement, agreements, shared_inputs
from prejoin.design.model import Operation
from prejoin.proof.constants import value_of
from prejoin.proof.data import Values, identities
from prejoin.proof.reference import compare
from prejoin.proof.sample_table import Bench
from prejoin.table import Changes
from prejoin.types import Kind
from prejoin.workload.lookup import changes, member_of, target
from prejoin.workload.model import (
    Action,
    Attribute,
    Change,
    ChangeOp,
    Check,
    CheckKind,
    Entity,
    Op,
    Value,
    Verb,
    Workload,
    Write,
)

SEVERAL = 2
"""How many items stand for several."""
_ATTEMPTS = 4


class NothingFitsError(Exception):
    """There is no item that the write could be about, and none could be made."""


@dataclass(frozen=True, slots=True)
class Step:
    """What happens to one item: before and after, None where there is none."""

    action: Action
    entity: Entity
    before: Values | None
    after: Values | None
    changed: Changes = field(default_factory=Changes)

    @property
    def item(self) -> Values:
        """What its keys are made of: as it is, or, of a new one, as it will be."""
        return self.before if self.before is not None else self.after or {}


@dataclass(slots=True)
class Case:
    """One call of a pattern. Inputs are variables: all items agree in what they take from one."""

    bench: Bench
    write: Write
    operation: Operation
    turn: int = 0
    """Which of the items that would do is taken first: so that two cases are of different ones."""
    given: Values = field(default_factory=dict)
    checked: dict[str, Values] = field(default_factory=dict)
    """The items that are looked at and not written, by entity."""
    absent: set[str] = field(default_factory=set)
    """Of the entities that are checked, those of which there must be no item."""
    gone: list[tuple[Entity, Values]] = field(default_factory=list)
    """Items of the data that must not be there, and are deleted first."""
    made: list[tuple[Entity, Values]] = field(default_factory=list)
    """Items that had to be there first, and were not in the data."""
    lists: dict[str, list[Any]] = field(default_factory=dict)
    """The values of inputs that are lists."""
    new: list[tuple[Entity, Values]] = field(default_factory=list)
    """The items that it makes."""
    taken: list[Values] = field(default_factory=list)
    """The items of the data that it changes."""
    anew: bool = False
    """Whether what it is about is made for it: among what is there, nothing fits together."""

    @property
    def found_first(self) -> frozenset[str]:
        """The entities whose items are found first, by another key than their own."""
        return self.operation.found_first

    @property
    def read_first(self) -> frozenset[str]:
        """The entities whose items are read first."""
        return self.operation.read_first

    def param(self, name: str, like: Attribute) -> Any:
        """The value of an input that is no attribute: small, so that stock and balances suffice."""
        if name not in self.given:
            self.given[name] = 1 if like.type.numeric else self.bench.maker.value(like)
        return self.given[name]

    def value(self, value: Value, attribute: Attribute) -> Any:
        if value.param is not None:
            self.param(value.param, attribute)
        return value_of(value, attribute, self.bench.now, self.given)


def steps_of(case: Case, replacing: bool = False) -> list[Step]:
    """What the write does: items that are there are picked first, then new ones are made that belong to them.

    With `replacing`, what is put is an item that is there already.
    """
    first = case.turn
    for attempt in range(_ATTEMPTS):
        case.turn, case.anew = first + attempt, attempt == _ATTEMPTS - 1
        case.given.clear()
        case.lists.clear()
        case.checked.clear()
        case.absent.clear()
        case.gone.clear()
        case.taken.clear()
        case.new.clear()
        try:
            return _steps(case, replacing)
        except NothingFitsError:
            if case.anew:
                raise
    raise AssertionError("unreachable")


def _steps(case: Case, replacing: bool) -> list[Step]:
    bench = case.bench
    actions = [a for a in actions_of(bench.workload, case.write) if a.verb is not Verb.EXPIRE]
    found: dict[int, list[Step]] = {}
    for at, action in enumerate(actions):
        if action.verb not in NEW:
            entity = bench.entity(action.entity)
            taken = [s.before for steps in found.values() for s in steps if s.entity is entity]
            items = _pick(case, action, entity, taken)
            case.taken += items
            found[at] = [_change(case, action, entity, item) for item in items]
    together = agreements(bench.workload, case.write, actions)
    for at in _owners_first(bench.workload, actions, together):
        action = actions[at]
        entity = bench.entity(action.entity)
        owners = {
            one.part_attribute: (found[one.owner][0].after or {}).get(one.owner_attribute)
            for one in together
            if one.part == at and one.owner in found
        }
        replaced = _replaced(case, action, entity, owners) if replacing and action.verb is Verb.PUT else None
        if replaced is not None:
            found[at] = [replaced]
        else:
            found[at] = [Step(action, entity, None, item) for item in _make(case, action, entity, owners)]
    steps = [step for at in sorted(found) for step in found[at]]
    written = {step.entity.name for step in steps}
    conditions = [check for check in case.write.checks if check.entity not in written]
    for entity, own in looked_at(bench.workload, conditions):
        if is_absence(own):
            case.absent.add(entity.name)
            case.checked[entity.name] = _nobody(case, entity, steps)
        else:
            case.checked[entity.name] = _looked_at(case, entity, own, steps)
    return steps


def _owners_first(workload: Workload, actions: Sequence[Action], together: Sequence[Agreement]) -> list[int]:
    """The positions of the actions that make items, in an order in which each comes after those its items refer to."""
    left = [at for at, action in enumerate(actions) if action.verb in NEW]
    found: list[int] = []
    while left:
        waiting = {one.part for one in together if one.owner in left}
        names = {actions[at].entity for at in left}
        for at in left:
            entity = workload.entity(actions[at].entity)
            held = [target(workload, attribute) for attribute in entity.attributes] if entity else []
            if any(one[0].name in names - {actions[at].entity} for one in held if one):
                waiting.add(at)
        first = next((at for at in left if at not in waiting), left[0])
        found.append(first)
        left.remove(first)
    return found


# --- Which items ----------------------------------------------------------------------------------------------------


def _pick(case: Case, action: Action, entity: Entity, taken: list[Values | None]) -> list[Values]:
    """Items of the data that satisfy the conditions, and agree with what was picked before; else a new one."""
    linked = links(case.bench.workload, case.write, action, entity)
    single = {name: source for name, source in linked.items() if source not in case.lists}
    items = case.bench.items.get(entity.name, [])
    turned = items[case.turn % len(items) :] + items[: case.turn % len(items)] if items else []
    found = [i for i in turned if not any(i is t for t in taken) and _fits(case, entity, i, single)]
    if not found:
        found = [_provide(case, entity, single)]
    elif case.anew and not action.many and not entity.singleton:
        with suppress(NothingFitsError):  # of a type with few values there may be no other
            found = [_provide(case, entity, single)]
    first = found[0]
    many = {i.attribute for i in case.write.inputs if i.many}
    for name, source in single.items():
        if source not in many and first.get(name) is not None:
            case.given.setdefault(source, first[name])
    if not action.many:
        _bind(case, entity, first)
        return [first]
    alike = [i for i in found if all(i.get(n) == case.given.get(s, i.get(n)) for n, s in single.items())]
    chosen = alike if entity.name in case.found_first else alike[:SEVERAL]
    for name, source in linked.items():
        if source in many:
            case.lists[source] = [item.get(name) for item in chosen]
    return chosen


def _fits(case: Case, entity: Entity, item: Values, linked: dict[str, str]) -> bool:
    if any(source in case.given and item.get(name) != case.given[source] for name, source in linked.items()):
        return False
    return all(holds(case, c, entity, item) for c in case.write.checks)


def _bind(case: Case, entity: Entity, item: Values) -> None:
    """An input that a condition says is equal to an attribute is what the item has: `version = newestBefore`."""
    for check in case.write.checks:
        attribute = about(check, entity)
        said = check.values[0].param if check.op is Op.EQ and check.values else None
        if attribute is not None and said:
            case.given.setdefault(said, item.get(attribute.name))
        elif said and check.entity and check.entity not in {a.entity for a in case.write.actions}:
            looked_at = case.bench.entity(check.entity)
            for owner in _referred(case, entity, item, looked_at):
                case.given.setdefault(said, owner.get(check.attribute))


def _referred(case: Case, entity: Entity, item: Values, to: Entity) -> list[Values]:
    """The items of another entity that an item names."""
    found: list[Values] = []
    for attribute in entity.attributes:
        held = target(case.bench.workload, attribute)
        value = item.get(attribute.name)
        if held and held[0] is to and value is not None:
            parts = _parts(entity, attribute, to, held[1])
            found += [
                i
                for i in case.bench.items.get(to.name, [])
                if all(i.get(part) == item.get(own) for own, part in parts.items())
            ]
    return found


def _parts(entity: Entity, attribute: Attribute, to: Entity, part: Attribute) -> dict[str, str]:
    """The attributes that together name an item of another entity: the one that refers to it, and those called so."""
    others = {p.name: p.name for p in to.id if p is not part and entity.attribute(p.name)}
    return {attribute.name: part.name, **others}


def _provide(case: Case, entity: Entity, linked: dict[str, str]) -> Values:
    """An item put into the table for the write to be about."""
    wanted = {name: case.given[source] for name, source in linked.items() if source in case.given}
    for check in case.write.checks:
        attribute = about(check, entity)
        if attribute is not None:
            wanted[attribute.name] = satisfying(case, check, attribute)
    wanted = {name: value for name, value in wanted.items() if value is not None}
    item = case.bench.maker.another(entity, wanted) or _elsewhere(case, entity, wanted)
    case.bench.maker.keep(entity, item)
    case.made.append((entity, item))
    return item


def _make(case: Case, action: Action, entity: Entity, owners: Values) -> list[Values]:
    """New items: each takes what is given, and belongs to the items that were picked or made before."""
    linked = links(case.bench.workload, case.write, action, entity)
    counts = [len(case.lists[source]) for source in linked.values() if source in case.lists]
    found: list[Values] = []
    for index in range((max(counts) if counts else SEVERAL) if action.many else 1):
        wanted = {name: case.given[source] for name, source in linked.items() if source in case.given}
        wanted |= {name: value for name, value in owners.items() if value is not None}
        for name, source in linked.items():
            if source in case.lists and index < len(case.lists[source]):
                wanted[name] = case.lists[source][index]
        for change in action.changes:
            attribute = entity.attribute(change.attribute)
            if attribute and change.value and change.op is ChangeOp.SET:
                wanted[attribute.name] = case.value(change.value, attribute)
        item = _room(case, entity, wanted)
        case.bench.maker.reserve(entity, item)
        case.new.append((entity, item))
        found.append(item)
        for attribute in shared_inputs(case.bench.workload, case.write, action):
            if item.get(attribute.name) is not None:
                case.given.setdefault(attribute.name, item[attribute.name])
    if not action.many:
        for name, source in linked.items():
            if found[0].get(name) is not None:
                case.given.setdefault(source, found[0][name])
    return found


def _elsewhere(case: Case, entity: Entity, wanted: Values) -> Values:
    """A new item for a parent that was not there: among those that are, all ids may be taken."""
    for attribute in entity.attributes:
        held = target(case.bench.workload, attribute)
        if held is None or attribute.name in wanted or held[0] is entity:
            continue
        parent = case.bench.maker.add(held[0])
        if parent is not None:
            case.made.append((held[0], parent))
            item = case.bench.maker.another(entity, {**wanted, attribute.name: parent[held[1].name]})
            if item is not None:
                return item
    raise NothingFitsError(f"there is no room for another {entity.name}: all values of its id are taken")


def _room(case: Case, entity: Entity, wanted: Values) -> Values:
    """A new item also where all ids have been given out, as those of a type with few values are.

    It has an id that nothing has any more, or that of an item which is deleted before.
    """
    try:
        return case.bench.maker.another(entity, wanted) or _elsewhere(case, entity, wanted)
    except NothingFitsError:
        pass
    there = [*case.bench.items.get(entity.name, []), *(one for other, one in case.new if other is entity)]
    used = {identity for one in there for identity in identities(entity, one)}
    for _ in range(30):
        again = case.bench.maker.make(entity, wanted)
        if used.isdisjoint(identities(entity, again)):
            return again
    ids = [a.name for a in entity.id]
    for item in case.bench.items.get(entity.name, []):
        free = not any(item is one for _, one in (*case.gone, *case.made, *case.new)) and item not in case.taken
        if free and all(item.get(name) == value for name, value in wanted.items() if name in ids):
            case.gone.append((entity, item))
            return case.bench.maker.make(entity, {**wanted, **{name: item[name] for name in ids}})
    raise NothingFitsError(f"there is no room for another {entity.name}: all values of its id are taken")


def _replaced(case: Case, action: Action, entity: Entity, owners: Values) -> Step | None:
    """An item that is there, put again with other values; None where none fits what was picked before."""
    linked = links(case.bench.workload, case.write, action, entity)
    wanted = {name: case.given[source] for name, source in linked.items() if source in case.given} | owners
    items = [
        item
        for item in case.bench.items.get(entity.name, [])
        if all(item.get(n) == v for n, v in wanted.items() if (a := entity.attribute(n)) and (a.id or n in owners))
    ]
    if not items:
        return None
    before = items[case.turn % len(items)]
    for name, source in linked.items():
        if (attribute := entity.attribute(name)) and attribute.id and before.get(name) is not None:
            case.given.setdefault(source, before[name])
    base = case.bench.base(entity)
    kept = {a.name for a in entity.attributes if a.id or a.unique or a.name in base or a.references}
    kept |= {name for group in entity.unique for name in group}
    after = case.bench.maker.make(entity, {name: before[name] for name in kept if name in before})
    return Step(action, entity, before, {k: v for k, v in after.items() if k not in kept or k in before})


def _nobody(case: Case, entity: Entity, steps: Iterable[Step]) -> Values:
    """The item that must not be there, by what names it; one that is there is deleted first."""
    wanted = {a.name: case.given[a.name] for a in entity.id if a.name in case.given}
    for step in steps:
        item = step.after or step.before or {}
        for attribute in step.entity.attributes:
            held = target(case.bench.workload, attribute)
            if held and held[0] is entity and attribute.name in item:
                wanted.setdefault(held[1].name, item[attribute.name])
    ids = {a.name for a in entity.id}
    if ids <= wanted.keys():
        there = [i for i in case.bench.items.get(entity.name, []) if all(i.get(n) == wanted[n] for n in ids)]
        case.gone += [(entity, item) for item in there]
        found: Values | None = case.bench.maker.make(entity, wanted)
    else:
        found = case.bench.maker.another(entity, wanted)
    if found is None:
        raise NothingFitsError(f"the data has no room for another {entity.name}")
    for name in ids & found.keys():
        case.given.setdefault(name, found[name])
    return found


def _looked_at(case: Case, entity: Entity, checks: Sequence[Check], steps: Iterable[Step]) -> Values:
    """The item that conditions are about and that is not written: the one that the others refer to."""
    items = case.bench.items.get(entity.name, [])
    named = [i for s in steps for i in _referred(case, s.entity, s.after or s.before or {}, entity)]
    fitting = [i for i in items if all(holds(case, check, entity, i) for check in checks)]
    found = [i for i in named if any(i is one for one in fitting)] or fitting or [_provide(case, entity, {})]
    if named and found:
        return found[0]
    for item in found:
        if all(item.get(a.name) == case.given.get(a.name, item.get(a.name)) for a in entity.id):
            return item
    return found[0]


# --- Conditions -----------------------------------------------------------------------------------------------------


def about(check: Check, entity: Entity) -> Attribute | None:
    """The attribute of an entity that a comparison is about."""
    if check.kind is not CheckKind.COMPARE or check.op is None or check.entity not in {"", entity.name}:
        return None
    return entity.attribute(check.attribute)


def holds(case: Case, check: Check, entity: Entity, item: Values) -> bool:
    """Whether a condition holds for an item; what is not about it, holds."""
    attribute = about(check, entity)
    if attribute is None or check.op is None:
        return True
    if (
        attribute.name in item
        and check.op is Op.EQ
        and check.values
        and check.values[0].param not in {None, *case.given}
    ):
        return True  # whatever it is, the caller knows it
    return compare(check.op, item.get(attribute.name), [case.value(v, attribute) for v in check.values])


def satisfying(case: Case, check: Check, attribute: Attribute) -> Any:
    """A value for which a condition holds; None where any will do."""
    if not check.values or check.op in {Op.EXISTS, Op.NOT_EXISTS}:
        return None
    if check.op is Op.EQ and check.values[0].param not in {None, *case.given}:
        return None
    values = [case.value(v, attribute) for v in check.values]
    return next((v for v in _around(case, attribute, values) if compare(check.op or Op.EQ, v, values)), None)


def violating(case: Case, check: Check, attribute: Attribute) -> Any:
    """A value for which a condition does not hold; None where there is none."""
    if not check.values:
        return None
    values = [case.value(v, attribute) for v in check.values]
    return next((v for v in _around(case, attribute, values) if not compare(check.op or Op.EQ, v, values)), None)


def _around(case: Case, attribute: Attribute, values: list[Any]) -> list[Any]:
    """Values to try: those compared with, a little less and more, and any others."""
    found = list(values)
    if attribute.type.numeric and all(isinstance(v, int) or hasattr(v, "as_tuple") for v in values):
        least, most = attribute.bounds
        near = [v + step for v in values for step in (-1, 1)]
        found += [v for v in near if (least is None or v >= least) and (most is None or v <= most)]
    if attribute.type.kind is Kind.ENUM:
        return [*found, *attribute.type.values]
    return [*found, *(case.bench.maker.value(attribute) for _ in range(12))]


# --- What becomes of them -------------------------------------------------------------------------------------------


def _change(case: Case, action: Action, entity: Entity, item: Values) -> Step:
    if action.verb is Verb.DELETE:
        return Step(action, entity, item, None)
    after = dict(item)
    sets: Values = {}
    adds: Values = {}
    removes: set[str] = set()
    _move(case, action, entity, item)
    for change in changes(case.write, action, entity):
        attribute = entity.attribute(change.attribute)
        if attribute is None:
            continue
        name = attribute.name
        match change.op:
            case ChangeOp.ADD | ChangeOp.SUBTRACT:
                amount = (_value(case, change, attribute) or 1) * (1 if change.op is ChangeOp.ADD else -1)
                adds[name] = amount
                after[name] = after.get(name, 0) + amount
            case ChangeOp.REMOVE:
                removes.add(name)
                after.pop(name, None)
            case ChangeOp.APPEND:
                one = [_value(case, change, member_of(attribute))] if change.value else None
                more = one or case.bench.maker.value(attribute)
                old = after.get(name, set() if attribute.type.kind is Kind.SET else [])
                sets[name] = after[name] = old | set(more) if isinstance(old, set) else [*old, *more]
            case _:
                _draw_param(case, change, attribute, item)
                new = _value(case, change, attribute) if change.value else _other(case, entity, attribute, item)
                sets[name] = after[name] = new
    return Step(action, entity, item, after, Changes(sets, adds, frozenset(removes)))


def _value(case: Case, change: Change, attribute: Attribute) -> Any:
    return None if change.value is None else case.value(change.value, attribute)


def _draw_param(case: Case, change: Change, attribute: Attribute, item: Values) -> None:
    """Draws the input that an attribute is set to, other than its old value: a status does not move to itself."""
    name = change.value.param if change.value else None
    if name is None or name in case.given or attribute.type.numeric:
        return
    drawn = (case.bench.maker.value(attribute) for _ in range(20))
    case.given[name] = next((value for value in drawn if value != item.get(attribute.name)), item.get(attribute.name))


def _move(case: Case, action: Action, entity: Entity, item: Values) -> None:
    """Where an update says anew whom an item belongs to by several attributes, they are those of one that is there."""
    said = {c.attribute for c in changes(case.write, action, entity) if c.value is None and c.op is ChangeOp.SET}
    for attribute in (a for a in entity.attributes if a.name in said):
        held = target(case.bench.workload, attribute)
        parts = _parts(entity, attribute, *held) if held else {}
        if held is None or not len(parts.keys() & said) > 1:
            continue
        kept = {part: case.given.get(own, item.get(own)) for own, part in parts.items() if own not in said}
        owners = [
            o
            for o in case.bench.items.get(held[0].name, [])
            if all(o.get(part) == value for part, value in kept.items())
        ]
        owners.sort(key=lambda o: all(o.get(part) == item.get(own) for own, part in parts.items()))
        for own in (parts.keys() & said) if owners else ():
            case.given.setdefault(own, owners[0].get(parts[own]))


def _other(case: Case, entity: Entity, attribute: Attribute, item: Values) -> Any:
    """Another value than the old one, where the type has one; the same for all items of one call."""
    if attribute.name in case.given:
        return case.given[attribute.name]
    old = item.get(attribute.name)
    held = target(case.bench.workload, attribute)
    owners = case.bench.items.get(held[0].name, []) if held else []
    if held and owners:
        if any(about(c, held[0]) for c in case.write.checks):
            owners = [o for o in owners if all(holds(case, c, held[0], o) for c in case.write.checks)]
            owners = owners or [_provide(case, held[0], {})]
        others = [o[held[1].name] for o in owners if o.get(held[1].name) not in (None, old)]
        new = others[0] if others else old
    else:
        # Of values that are unique together one alone may be anybody's; one that nobody has is sure to do.
        together = any(attribute.name in group for group in entity.unique)
        drawn = msgspec.structs.replace(attribute, unique=True) if together else attribute
        new = case.bench.maker.value(drawn)
        for _ in range(20):
            if new != old and not _is_taken(case, entity, attribute, new):
                break
            new = case.bench.maker.value(drawn)
    case.given[attribute.name] = new
    return new


def _is_taken(case: Case, entity: Entity, attribute: Attribute, value: Any) -> bool:
    """Whether a unique value is another's already."""
    unique = attribute.unique or any(attribute.name in group for group in entity.unique)
    return unique and any(i.get(attribute.name) == value for i in case.bench.items.get(entity.name, []))
