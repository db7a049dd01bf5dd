"""Cases of a write: the items that a call is about, its inputs, and each item before and after."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any

import msgspec

from prejoin.design.mapping.addressing import NEW, actions_of, is_absence, links, looked_at
from prejoin.design.mapping.shared_values import Agreement, agreements, shared_inputs
from prejoin.design.model import Operation
from prejoin.proof.brute_force import compare, value_of
from prejoin.proof.data import Values, identities
from prejoin.proof.sample_table import SampleTable
from prejoin.table.update.changes import Changes
from prejoin.types import Kind
from prejoin.workload.constants import constant
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
from prejoin.workload.tenants import common_tenant

SEVERAL = 2
"""How many items a write of many writes."""
_ATTEMPTS = 4


class NothingFitsError(Exception):
    """No item fits the write, and none could be generated."""


@dataclass(frozen=True, slots=True)
class WriteStep:
    """One item of a write, before and after; None where it does not exist."""

    action: Action
    entity: Entity
    before: Values | None
    after: Values | None
    changed: Changes = field(default_factory=Changes)

    @property
    def item(self) -> Values:
        """The item that has the keys: the existing one, or the new one."""
        return self.before if self.before is not None else self.after or {}


@dataclass(slots=True)
class WriteCase:
    """One call of a write. All items that take a value from the same input have the same value."""

    sample: SampleTable
    write: Write
    operation: Operation
    turn: int = 0
    """The index of the first item to use, so that two cases use different ones."""
    inputs: Values = field(default_factory=dict)
    checked: dict[str, Values] = field(default_factory=dict)
    """The items that are checked and not written, by entity."""
    absent: set[str] = field(default_factory=set)
    """The checked entities whose item must not exist."""
    obsolete: list[tuple[Entity, Values]] = field(default_factory=list)
    """Items of the data that must not exist; they are deleted before the call."""
    missing: list[tuple[Entity, Values]] = field(default_factory=list)
    """Items that the case needs and the data does not have; they are written before the call."""
    lists: dict[str, list[Any]] = field(default_factory=dict)
    """The values of inputs that are lists."""
    new: list[tuple[Entity, Values]] = field(default_factory=list)
    """The items that the call creates."""
    taken: list[Values] = field(default_factory=list)
    """The items of the data that the call changes."""
    anew: bool = False
    """Whether its items are generated for it, because no items of the data fit together."""

    @property
    def found_first(self) -> frozenset[str]:
        """The entities whose items the operation finds by an index first."""
        return self.operation.found_first

    @property
    def read_first(self) -> frozenset[str]:
        """The entities whose items the operation reads first."""
        return self.operation.read_first

    def param(self, name: str, like: Attribute) -> Any:
        """The value of an input that is no attribute. Numbers are small, so that stock and balances suffice."""
        if name not in self.inputs:
            self.inputs[name] = 1 if like.type.numeric else self.sample.generator.value(like)
        return self.inputs[name]

    def value(self, value: Value, attribute: Attribute) -> Any:
        if value.param is not None:
            self.param(value.param, attribute)
        return value_of(value, attribute, self.sample.now, self.inputs)


def steps_of(case: WriteCase, replacing: bool = False) -> list[WriteStep]:
    """The steps of a case. Existing items are picked first; then new ones are generated that belong to them.

    With `replacing`, a put replaces an existing item.
    """
    first = case.turn
    for attempt in range(_ATTEMPTS):
        case.turn, case.anew = first + attempt, attempt == _ATTEMPTS - 1
        case.inputs.clear()
        case.lists.clear()
        case.checked.clear()
        case.absent.clear()
        case.obsolete.clear()
        case.taken.clear()
        case.new.clear()
        try:
            return _steps(case, replacing)
        except NothingFitsError:
            if case.anew:
                raise
    raise AssertionError("unreachable")


def _steps(case: WriteCase, replacing: bool) -> list[WriteStep]:
    sample = case.sample
    actions = [a for a in actions_of(sample.workload, case.write) if a.verb is not Verb.EXPIRE]
    found: dict[int, list[WriteStep]] = {}
    for at, action in enumerate(actions):
        if action.verb not in NEW:
            entity = sample.entity(action.entity)
            if replacing and (created := _upserted(case, action, entity)):
                found[at] = [created]
                continue
            taken = [s.before for steps in found.values() for s in steps if s.entity is entity]
            items = _pick(case, action, entity, taken)
            case.taken += items
            found[at] = [_change(case, action, entity, item) for item in items]
    together = agreements(sample.workload, case.write, actions)
    for at in _owners_first(sample.workload, actions, together):
        action = actions[at]
        entity = sample.entity(action.entity)
        owners = {
            one.part_attribute: (found[one.owner][0].after or {}).get(one.owner_attribute)
            for one in together
            if one.part == at and one.owner in found
        }
        replaced = _replaced(case, action, entity, owners) if replacing and action.verb is Verb.PUT else None
        if replaced is not None:
            found[at] = [replaced]
        else:
            found[at] = [WriteStep(action, entity, None, item) for item in _make(case, action, entity, owners)]
    steps = [step for at in sorted(found) for step in found[at]]
    written = {step.entity.name for step in steps}
    conditions = [check for check in case.write.checks if check.entity not in written]
    for entity, own in looked_at(sample.workload, conditions):
        if is_absence(own):
            case.absent.add(entity.name)
            case.checked[entity.name] = _nobody(case, entity, steps)
        else:
            case.checked[entity.name] = _looked_at(case, entity, own, steps)
    return steps


def _upserted(case: WriteCase, action: Action, entity: Entity) -> WriteStep | None:
    """The item that an upsert creates: its id, the defaults, and what the upsert sets. None if it changes one."""
    tested = any(check.entity in {"", entity.name} for check in case.write.checks)
    if action.verb is not Verb.UPSERT or action.many or entity.singleton or tested or entity.name in case.found_first:
        return None
    linked = links(case.sample.workload, case.write, action, entity)
    item = case.sample.generator.another(
        entity, {name: case.inputs[source] for name, source in linked.items() if source in case.inputs}
    )
    if item is None:
        return None
    case.sample.generator.reserve(entity, item)
    defaults = {a.name: constant(a.default, a.type) for a in entity.attributes if a.default is not None}
    known = {name: item[name] for name in (*(a.name for a in entity.id), *linked) if name in item}
    for name, source in linked.items():
        if name in known:
            case.inputs.setdefault(source, known[name])
    step = _change(case, action, entity, {**defaults, **known})
    case.new.append((entity, step.after or {}))
    return replace(step, before=None)


def _owners_first(workload: Workload, actions: Sequence[Action], together: Sequence[Agreement]) -> list[int]:
    """The positions of the actions that create items; each comes after those that its items refer to."""
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


def _pick(case: WriteCase, action: Action, entity: Entity, taken: list[Values | None]) -> list[Values]:
    """Items of the data that satisfy the conditions and agree with the items picked before; otherwise a new one."""
    linked = links(case.sample.workload, case.write, action, entity)
    single = {name: source for name, source in linked.items() if source not in case.lists}
    items = case.sample.items.get(entity.name, [])
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
            case.inputs.setdefault(source, first[name])
    if not action.many:
        _bind(case, entity, first)
        return [first]
    alike = [i for i in found if all(i.get(n) == case.inputs.get(s, i.get(n)) for n, s in single.items())]
    chosen = alike if entity.name in case.found_first else alike[:SEVERAL]
    for name, source in linked.items():
        if source in many:
            case.lists[source] = [item.get(name) for item in chosen]
    return chosen


def _fits(case: WriteCase, entity: Entity, item: Values, linked: dict[str, str]) -> bool:
    if any(source in case.inputs and item.get(name) != case.inputs[source] for name, source in linked.items()):
        return False
    return all(holds(case, c, entity, item) for c in case.write.checks)


def _bind(case: WriteCase, entity: Entity, item: Values) -> None:
    """Gives an input that a condition compares for equality the value of the item: `version = newestBefore`."""
    for check in case.write.checks:
        attribute = about(check, entity)
        said = check.values[0].param if check.op is Op.EQ and check.values else None
        if attribute is not None and said:
            case.inputs.setdefault(said, item.get(attribute.name))
        elif said and check.entity and check.entity not in {a.entity for a in case.write.actions}:
            looked_at = case.sample.entity(check.entity)
            for owner in _referred(case, entity, item, looked_at):
                case.inputs.setdefault(said, owner.get(check.attribute))


def _referred(case: WriteCase, entity: Entity, item: Values, to: Entity) -> list[Values]:
    """The items of another entity that an item refers to."""
    found: list[Values] = []
    for attribute in entity.attributes:
        held = target(case.sample.workload, attribute)
        value = item.get(attribute.name)
        if held and held[0] is to and value is not None:
            parts = _parts(entity, attribute, to, held[1])
            found += [
                i
                for i in case.sample.items.get(to.name, [])
                if all(i.get(part) == item.get(own) for own, part in parts.items())
            ]
    return found


def _parts(entity: Entity, attribute: Attribute, to: Entity, part: Attribute) -> dict[str, str]:
    """The attributes that together refer to an item of another entity: a reference, and attributes named as its id."""
    others = {p.name: p.name for p in to.id if p is not part and entity.attribute(p.name)}
    return {attribute.name: part.name, **others}


def _provide(case: WriteCase, entity: Entity, linked: dict[str, str]) -> Values:
    """Generates an item for the write to change or check."""
    wanted = {name: case.inputs[source] for name, source in linked.items() if source in case.inputs}
    for check in case.write.checks:
        attribute = about(check, entity)
        if attribute is not None:
            wanted[attribute.name] = satisfying(case, check, attribute)
    wanted = {name: value for name, value in wanted.items() if value is not None}
    if case.anew:
        wanted = {**_unused_inputs(case, entity, linked), **wanted}
    item = case.sample.generator.another(entity, wanted) or _item_of_new_parent(case, entity, wanted)
    case.sample.generator.keep(entity, item)
    case.missing.append((entity, item))
    return item


def _unused_inputs(case: WriteCase, entity: Entity, linked: dict[str, str]) -> Values:
    """Values of inputs that no item has yet: another item of the write may have them in its id."""
    named = [a for name in linked if (a := entity.attribute(name)) and not (a.id or a.references or a.optional)]
    there = [value for items in case.sample.items.values() for item in items for value in item.values()]
    found: Values = {}
    for attribute in named:
        drawn = (case.sample.generator.value(msgspec.structs.replace(attribute, unique=True)) for _ in range(40))
        value = next((one for one in drawn if one not in there), None)
        found |= {} if value is None else {attribute.name: value}  # of a type with few values there may be none
    return found


def _make(case: WriteCase, action: Action, entity: Entity, owners: Values) -> list[Values]:
    """Generates new items; each takes the inputs, and belongs to the items picked or generated before."""
    linked = links(case.sample.workload, case.write, action, entity)
    counts = [len(case.lists[source]) for source in linked.values() if source in case.lists]
    found: list[Values] = []
    for index in range((max(counts) if counts else SEVERAL) if action.many else 1):
        wanted = {name: case.inputs[source] for name, source in linked.items() if source in case.inputs}
        wanted |= {name: value for name, value in owners.items() if value is not None}
        for name, source in linked.items():
            if source in case.lists and index < len(case.lists[source]):
                wanted[name] = case.lists[source][index]
        for change in action.changes:
            attribute = entity.attribute(change.attribute)
            if attribute and change.value and change.op is ChangeOp.SET:
                wanted[attribute.name] = case.value(change.value, attribute)
        item = _room(case, entity, wanted)
        case.sample.generator.reserve(entity, item)
        case.new.append((entity, item))
        found.append(item)
        for attribute in shared_inputs(case.sample.workload, case.write, action):
            if item.get(attribute.name) is not None:
                case.inputs.setdefault(attribute.name, item[attribute.name])
    if not action.many:
        for name, source in linked.items():
            if found[0].get(name) is not None:
                case.inputs.setdefault(source, found[0][name])
    return found


def _item_of_new_parent(case: WriteCase, entity: Entity, values: Values) -> Values:
    """A new item of a new parent, for the ids of the existing parents may all be taken."""
    for attribute in entity.attributes:
        held = target(case.sample.workload, attribute)
        if held is None or attribute.name in values or held[0] is entity:
            continue
        parent = case.sample.generator.add(held[0])
        if parent is not None:
            case.missing.append((held[0], parent))
            item = case.sample.generator.another(entity, {**values, attribute.name: parent[held[1].name]})
            if item is not None:
                return item
    raise NothingFitsError(f"there is no room for another {entity.name}: all values of its id are taken")


def _room(case: WriteCase, entity: Entity, wanted: Values) -> Values:
    """A new item, even if all ids have been used, as with a type of few values.

    It has an id that nothing has any more, or that of an item which is deleted before.
    """
    try:
        return case.sample.generator.another(entity, wanted) or _item_of_new_parent(case, entity, wanted)
    except NothingFitsError:
        pass
    there = [*case.sample.items.get(entity.name, []), *(one for other, one in case.new if other is entity)]
    used = {identity for one in there for identity in identities(entity, one)}
    for _ in range(30):
        again = case.sample.generator.make(entity, wanted, fresh=True)
        if used.isdisjoint(identities(entity, again)):
            return again
    ids = [a.name for a in entity.id]
    unique = set(identities(entity, wanted))
    for item in case.sample.items.get(entity.name, []):
        free = not any(item is one for _, one in (*case.obsolete, *case.missing, *case.new)) and item not in case.taken
        if (
            free
            and unique.issubset(identities(entity, item))
            and all(item.get(name) == value for name, value in wanted.items() if name in ids)
        ):
            case.obsolete.append((entity, item))
            return case.sample.generator.make(entity, {**wanted, **{name: item[name] for name in ids}}, fresh=True)
    raise NothingFitsError(f"there is no room for another {entity.name}: all values of its id are taken")


def _replaced(case: WriteCase, action: Action, entity: Entity, owners: Values) -> WriteStep | None:
    """A put that replaces an existing item; None if none fits the items picked before."""
    linked = links(case.sample.workload, case.write, action, entity)
    wanted = {name: case.inputs[source] for name, source in linked.items() if source in case.inputs} | owners
    items = [
        item
        for item in case.sample.items.get(entity.name, [])
        if all(item.get(n) == v for n, v in wanted.items() if (a := entity.attribute(n)) and (a.id or n in owners))
        and _belongs(case, entity, item)
    ]
    if not items:
        return None
    before = items[case.turn % len(items)]
    for name, source in linked.items():
        if (attribute := entity.attribute(name)) and attribute.id and before.get(name) is not None:
            case.inputs.setdefault(source, before[name])
    base = case.sample.base(entity)
    kept = {a.name for a in entity.attributes if a.id or a.unique or a.name in base or a.references}
    kept |= {name for group in entity.unique for name in group}
    after = case.sample.generator.make(entity, wanted | {name: before[name] for name in kept if name in before})
    return WriteStep(action, entity, before, {k: v for k, v in after.items() if k not in kept or k in before})


def _belongs(case: WriteCase, entity: Entity, item: Values) -> bool:
    """Whether the items that an item refers to fulfil the conditions of the write on them."""
    for name in {check.entity for check in case.write.checks} - {"", entity.name}:
        other = case.sample.entity(name)
        referred = [one for one in _referred(case, entity, item, other) if _fits(case, other, one, {})]
        if not referred and any(held[0] is other for a in entity.id if (held := target(case.sample.workload, a))):
            return False
    return True


def _nobody(case: WriteCase, entity: Entity, steps: Iterable[WriteStep]) -> Values:
    """An item that must not exist; one that exists is deleted first."""
    wanted = {a.name: case.inputs[a.name] for a in entity.id if a.name in case.inputs}
    for step in steps:
        item = step.after or step.before or {}
        for attribute in step.entity.attributes:
            held = target(case.sample.workload, attribute)
            if held and held[0] is entity and attribute.name in item:
                wanted.setdefault(held[1].name, item[attribute.name])
    ids = {a.name for a in entity.id}
    if ids <= wanted.keys():
        there = [i for i in case.sample.items.get(entity.name, []) if all(i.get(n) == wanted[n] for n in ids)]
        case.obsolete += [(entity, item) for item in there]
        found: Values | None = case.sample.generator.make(entity, wanted)
    else:
        found = case.sample.generator.another(entity, wanted)
    if found is None:
        raise NothingFitsError(f"the data has no room for another {entity.name}")
    for name in ids & found.keys():
        case.inputs.setdefault(name, found[name])
    return found


def _looked_at(case: WriteCase, entity: Entity, checks: Sequence[Check], steps: Sequence[WriteStep]) -> Values:
    """The item that the write checks without writing it: one that the other items refer to."""
    written = [s.after or s.before or {} for s in steps]
    shared = common_tenant(case.sample.workload, entity.name)
    tenant = {name: item[name] for name in shared for item in written if name in item}
    items = [i for i in case.sample.items.get(entity.name, []) if all(i.get(n) == v for n, v in tenant.items())]
    named = [i for s, item in zip(steps, written, strict=True) for i in _referred(case, s.entity, item, entity)]
    fitting = [i for i in items if all(holds(case, check, entity, i) for check in checks)]
    found = [i for i in named if any(i is one for one in fitting)] or fitting
    if not found:
        case.inputs |= tenant
        found = [_provide(case, entity, {name: name for name in tenant})]
    if named and found:
        return found[0]
    for item in found:
        if all(item.get(a.name) == case.inputs.get(a.name, item.get(a.name)) for a in entity.id):
            return item
    return found[0]


# --- Conditions -----------------------------------------------------------------------------------------------------


def about(check: Check, entity: Entity) -> Attribute | None:
    """The attribute of an entity that a comparison is about."""
    if check.kind is not CheckKind.COMPARE or check.op is None or check.entity not in {"", entity.name}:
        return None
    return entity.attribute(check.attribute)


def holds(case: WriteCase, check: Check, entity: Entity, item: Values) -> bool:
    """Whether a condition holds for an item. A condition on another entity does."""
    attribute = about(check, entity)
    if attribute is None or check.op is None:
        return True
    if check.op is Op.EQ and check.values and check.values[0].param not in {None, *case.inputs}:
        return attribute.name in item  # whatever it is, the caller knows it
    return compare(check.op, item.get(attribute.name), [case.value(v, attribute) for v in check.values])


def satisfying(case: WriteCase, check: Check, attribute: Attribute) -> Any:
    """A value for which a condition holds; None if any does."""
    if not check.values or check.op in {Op.EXISTS, Op.NOT_EXISTS}:
        return None
    if check.op is Op.EQ and check.values[0].param not in {None, *case.inputs}:
        return case.sample.generator.value(attribute)  # any value; the caller knows it
    values = [case.value(v, attribute) for v in check.values]
    return next((v for v in _around(case, attribute, values) if compare(check.op or Op.EQ, v, values)), None)


def violating(case: WriteCase, check: Check, attribute: Attribute) -> Any:
    """A value for which a condition does not hold; None if there is none."""
    if not check.values:
        return None
    values = [case.value(v, attribute) for v in check.values]
    return next((v for v in _around(case, attribute, values) if not compare(check.op or Op.EQ, v, values)), None)


def _around(case: WriteCase, attribute: Attribute, values: list[Any]) -> list[Any]:
    """Values to try: the compared ones, one less and one more, and random ones."""
    found = list(values)
    if attribute.type.numeric and all(isinstance(v, int) or hasattr(v, "as_tuple") for v in values):
        least, most = case.sample.generator.bounds(attribute)
        near = [v + step for v in values for step in (-1, 1)]
        found += [v for v in near if (least is None or v >= least) and (most is None or v <= most)]
    if attribute.type.kind is Kind.ENUM:
        return [*found, *attribute.type.values]
    return [*found, *(case.sample.generator.value(attribute) for _ in range(12))]


# --- Changes -------------------------------------------------------------------------------------------


def _change(case: WriteCase, action: Action, entity: Entity, item: Values) -> WriteStep:
    if action.verb is Verb.DELETE:
        return WriteStep(action, entity, item, None)
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
                amount = 1 if change.value is None else case.value(change.value, attribute)
                amount = amount if change.op is ChangeOp.ADD else -amount
                adds[name] = amount
                after[name] = after.get(name, 0) + amount
            case ChangeOp.REMOVE:
                removes.add(name)
                after.pop(name, None)
            case ChangeOp.APPEND:
                one = [_value(case, change, member_of(attribute))] if change.value else None
                more = one or case.sample.generator.value(attribute)
                old = after.get(name, set() if attribute.type.kind is Kind.SET else [])
                sets[name] = after[name] = old | set(more) if isinstance(old, set) else [*old, *more]
            case _:
                _draw_param(case, change, attribute, item)
                new = _value(case, change, attribute) if change.value else _other(case, entity, attribute, item)
                sets[name] = after[name] = new
    return WriteStep(action, entity, item, after, Changes(sets, adds, frozenset(removes)))


def _value(case: WriteCase, change: Change, attribute: Attribute) -> Any:
    return None if change.value is None else case.value(change.value, attribute)


def _draw_param(case: WriteCase, change: Change, attribute: Attribute, item: Values) -> None:
    """Draws the input that an attribute is set to, other than its old value: a status does not move to itself."""
    name = change.value.param if change.value else None
    if name is None or name in case.inputs or attribute.type.numeric:
        return
    drawn = (case.sample.generator.value(attribute) for _ in range(20))
    case.inputs[name] = next((value for value in drawn if value != item.get(attribute.name)), item.get(attribute.name))


def _move(case: WriteCase, action: Action, entity: Entity, item: Values) -> None:
    """Moves an item to an existing parent, if the update changes several attributes that refer to it."""
    said = {c.attribute for c in changes(case.write, action, entity) if c.value is None and c.op is ChangeOp.SET}
    for attribute in (a for a in entity.attributes if a.name in said):
        held = target(case.sample.workload, attribute)
        parts = _parts(entity, attribute, *held) if held else {}
        if held is None or not len(parts.keys() & said) > 1:
            continue
        kept = {part: case.inputs.get(own, item.get(own)) for own, part in parts.items() if own not in said}
        owners = [
            o
            for o in case.sample.items.get(held[0].name, [])
            if all(o.get(part) == value for part, value in kept.items())
        ]
        owners.sort(key=lambda o: all(o.get(part) == item.get(own) for own, part in parts.items()))
        for own in (parts.keys() & said) if owners else ():
            case.inputs.setdefault(own, owners[0].get(parts[own]))


def _other(case: WriteCase, entity: Entity, attribute: Attribute, item: Values) -> Any:
    """A value other than the old one, if the type has one; the same for all items of a call."""
    if attribute.name in case.inputs:
        return case.inputs[attribute.name]
    old = item.get(attribute.name)
    held = target(case.sample.workload, attribute)
    # The rest of the other item's id stays: it is one of the same tenant.
    parts = _parts(entity, attribute, *held) if held else {}
    kept = {part: own for own, part in parts.items() if own != attribute.name}
    owners = [
        owner
        for owner in (case.sample.items.get(held[0].name, []) if held else [])
        if all(owner.get(part) == item.get(own) for part, own in kept.items())
    ]
    if held and owners:
        if any(about(c, held[0]) for c in case.write.checks):
            owners = [o for o in owners if all(holds(case, c, held[0], o) for c in case.write.checks)]
            owners = owners or [_provide(case, held[0], kept)]
        others = [o[held[1].name] for o in owners if o.get(held[1].name) not in (None, old)]
        new = others[0] if others else old
    else:
        # Of values that are unique together one alone may be anybody's; one that nobody has is sure to do.
        together = any(attribute.name in group for group in entity.unique)
        drawn = msgspec.structs.replace(attribute, unique=True) if together else attribute
        new = case.sample.generator.value(drawn)
        for _ in range(20):
            if new != old and not _is_taken(case, entity, attribute, new):
                break
            new = case.sample.generator.value(drawn)
    case.inputs[attribute.name] = new
    return new


def _is_taken(case: WriteCase, entity: Entity, attribute: Attribute, value: Any) -> bool:
    """Whether another item has a unique value."""
    unique = attribute.unique or any(attribute.name in group for group in entity.unique)
    return unique and any(i.get(attribute.name) == value for i in case.sample.items.get(entity.name, []))
