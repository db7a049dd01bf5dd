"""A write as a small model: its items, the values that must be equal, and the constraints on the others.

From `update Account by fromAccountId (available -= amount)` with `fromAccountId.available >= amount` come one slot (the
account), an equality (its id is the input `fromAccountId`) and a constraint (its `available` is at least `amount`). A
variation breaks one of them. A case is built from what is left.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import Enum, auto
from typing import Any, assert_never

from msgspec.structs import replace

from prejoin.design.mapping.shared_values import agreements, shared_inputs
from prejoin.design.model import Operation
from prejoin.proof.belonging import Belonging, belonging
from prejoin.proof.brute_force import compare, value_of
from prejoin.proof.conditions import is_decisive, is_leaf_true, is_true, is_true_of_nothing
from prejoin.proof.constraints import Constraint, Variable, comparison
from prejoin.proof.data import Values
from prejoin.proof.sample_table import SampleTable
from prejoin.types import Kind, Type
from prejoin.workload.bounds import input_bounds, must_be_positive
from prejoin.workload.conditions import all_leaves, is_of_whole_item, leaves, operator_of, values_of
from prejoin.workload.follow_links import follow_links
from prejoin.workload.grammar.writes import write_checks
from prejoin.workload.lookup import can_be_input, changes, member_of, target
from prejoin.workload.model import (
    Absence,
    Action,
    Attribute,
    Change,
    ChangeOp,
    Comparison,
    Entity,
    Leaf,
    Op,
    Presence,
    Test,
    Value,
    Verb,
    Write,
)
from prejoin.workload.targets import (
    NEW,
    CheckedItem,
    actions_of,
    attribute_of_input,
    checked_items,
    checks_of,
    input_checks,
    links,
    ties_of_checked,
)
from prejoin.workload.tenants import is_owned

SEVERAL = 2
"""How many items a list has, unless a variation says otherwise."""

Place = tuple[int, int]
"""The position of an action, or of a checked item after them, and the number of the item in its list."""


class Break(Enum):
    """What a variation breaks."""

    NOTHING = auto()
    CONDITION = auto()
    """A condition is false, though its attribute has a value."""
    ATTRIBUTE = auto()
    """A condition is false, because its attribute is absent."""
    ITEM = auto()
    """An item that must exist does not, or one that must not exist does."""
    UNIQUE = auto()
    """Another item has the same unique values."""
    LINK = auto()
    """An item has another value than the input that it is known by."""
    AGREEMENT = auto()
    """Two objects of the call do not belong together."""
    VALUE = auto()
    """A value is beyond the bounds of its attribute."""
    AMOUNT = auto()
    """An amount is beyond its bounds, or not positive."""
    RESULT = auto()
    """The sum of the stored number and an amount is beyond its bounds."""


class Side(Enum):
    """How a value is beyond `n between low and high`."""

    BELOW = auto()
    ABOVE = auto()
    INVERTED = auto()
    """It is between the ends, but the first is above the second, so that no value is within."""


@dataclass(frozen=True, slots=True)
class Variation:
    """A case of a write. Without a text it is one that must succeed."""

    text: str = ""
    kind: Break = Break.NOTHING
    place: Place = (-1, 0)
    check: Test | None = None
    """The condition that is broken, or whose parts are tried."""
    names: tuple[str, ...] = ()
    """The attributes that are broken, or that are absent in a case of a condition."""
    value: Any = None
    """The value that is beyond a bound."""
    count: int = SEVERAL
    """The number of items of each list."""
    is_other: bool = False
    """Whether a put replaces an item, an upsert creates one, and values are at the other end of a condition."""
    is_again: bool = False
    """Whether the method is called again, for items of its lists that an index did not show the first time."""
    side: Side = Side.BELOW
    """How a value is beyond a range, if the condition that is broken is one."""
    decisive: Leaf | None = None
    """The part of the condition on which its truth depends."""
    decisive_truth: bool = True
    """Whether that part is true."""

    def breaks(self, kind: Break, place: Place) -> bool:
        return self.kind is kind and self.place == place


@dataclass(eq=False, slots=True)
class Slot:
    """One item of a case."""

    place: Place
    entity: Entity
    action: Action
    checks: tuple[Test, ...] = ()
    is_checked: bool = False
    """Whether it is only checked, and not written."""
    is_stored: bool = False
    """Whether it exists before the call."""
    before: Values | None = None
    """The item before the call; of one that does not exist, the values by which it is named."""
    record: Values | None = None
    """The object that the caller gives."""
    replaces: Place | None = None
    """The item of a deleted list whose id a new item has: in `delete Slot[]; create Slot[]` it is replaced."""

    @property
    def is_new(self) -> bool:
        return self.action.verb in NEW and not self.is_checked

    @property
    def compares_new(self) -> bool:
        """Whether conditions are about the new item, and not about the stored one."""
        return self.action.verb is Verb.CREATE and not self.is_checked


@dataclass(frozen=True, slots=True)
class Equality:
    """Two variables that have the same value."""

    one: Variable
    other: Variable
    place: Place
    """The item whose attribute it is about."""
    name: str
    is_link: bool = False
    """Whether the code compares the stored value with the input."""
    is_agreement: bool = False
    """Whether the method refuses objects for which it does not hold."""


def stored(place: Place, name: str) -> Variable:
    """The variable of an attribute before the write."""
    return ("stored", place, name)


def given(place: Place, name: str) -> Variable:
    """The variable of an attribute of an object that the caller gives."""
    return ("given", place, name)


def input_variable(name: str, index: int | None = None) -> Variable:
    """The variable of an input, or of one element of an input that is a list."""
    return ("input", name) if index is None else ("input", name, index)


@dataclass(frozen=True, slots=True)
class Constant:
    """A value that a condition is compared with, which is no variable."""

    value: Any


@dataclass(frozen=True, slots=True)
class Term:
    """A part of a condition, with what its truth depends on."""

    leaf: Leaf
    own: Variable | None = None
    """The variable of the attribute; None for a whole item, and for an attribute of an absent one."""
    sources: tuple[Variable | Constant, ...] = ()
    """What it is compared with."""
    is_there: bool = False
    """Whether the item exists, for a part about the whole item."""

    @property
    def variables(self) -> list[Variable]:
        others = [source for source in self.sources if not isinstance(source, Constant)]
        return others if self.own is None else [self.own, *others]

    @property
    def constants(self) -> list[Any]:
        return [source.value for source in self.sources if isinstance(source, Constant)]

    def truth(self, values: Mapping[Variable, Any]) -> bool:
        """Whether it is true for these values."""
        if self.own is None:
            return is_leaf_true(self.leaf, True if self.is_there else None, [])
        asked = [one.value if isinstance(one, Constant) else values[one] for one in self.sources]
        return is_leaf_true(self.leaf, values[self.own], asked)


@dataclass(slots=True)
class WriteModel:
    """The items, equalities and constraints of a case."""

    sample: SampleTable
    write: Write
    operation: Operation
    variation: Variation
    slots: list[Slot] = field(default_factory=list)
    actions: tuple[Action, ...] = ()
    checked: list[CheckedItem] = field(default_factory=list)
    lists: dict[int, Belonging] = field(default_factory=dict)
    """How the items of each list are known, by the position of its action; not of new items."""
    equalities: list[Equality] = field(default_factory=list)
    broken: list[Equality] = field(default_factory=list)
    """The equalities that the variation breaks."""
    constraints: list[Constraint] = field(default_factory=list)
    attributes: dict[Variable, list[Attribute]] = field(default_factory=dict)
    fixed: dict[Variable, Any] = field(default_factory=dict)
    """Variables that have a value beyond their bounds."""

    @classmethod
    def of(cls, sample: SampleTable, write: Write, operation: Operation, variation: Variation) -> WriteModel:
        model = cls(sample, write, operation, variation)
        model.actions = tuple(a for a in actions_of(sample.workload, write) if a.verb is not Verb.EXPIRE)
        model.checked = checked_items(sample.workload, write)
        model.lists = {
            at: belonging(sample.workload, write, model.actions, at)
            for at, action in enumerate(model.actions)
            if action.many and action.verb not in NEW
        }
        model.slots = list(model._slots())
        for equality in model._equalities():
            (model.broken if model._is_cut(equality) else model.equalities).append(equality)
        for slot in model.slots:
            model._name_attributes(slot)
        model.constraints = list(model._constraints())
        return model

    # --- Items ------------------------------------------------------------------------------------------------------

    def _slots(self) -> Iterator[Slot]:
        for at, action in enumerate(self.actions):
            entity = self.sample.entity(action.entity)
            for index in range(self.variation.count if action.many else 1):
                slot = Slot((at, index), entity, action, checks_of(self.write, action))
                slot.is_stored = self._is_stored(slot)
                deleted = self._deleted_list(slot)
                if deleted is not None and self.variation.is_other and index == 0:
                    slot.replaces = (deleted, 0)
                yield slot
        for at, item in enumerate(self.checked, len(self.actions)):
            slot = Slot((at, 0), item.entity, item.action, item.checks, is_checked=True)
            slot.is_stored = self._is_stored(slot)
            yield slot
        first = len(self.actions) + len(self.checked)
        for at, known in enumerate((known for known in self.lists.values() if known.between), first):
            entity = self.sample.entity(known.between)
            yield Slot((at, 0), entity, Action(Verb.DELETE, entity.name), is_checked=True, is_stored=True)

    def _between(self, belonging: Belonging) -> Place:
        """The place of the item that a list belongs to, of a list that is not written."""
        others = [known for known in self.lists.values() if known.between]
        return len(self.actions) + len(self.checked) + others.index(belonging), 0

    def _is_stored(self, slot: Slot) -> bool:
        """Whether the item of a slot exists before the call."""
        is_broken = self.variation.breaks(Break.ITEM, slot.place)
        exists, is_absent = whole_item_tests(slot.checks)
        if slot.entity.singleton:
            return True
        decisive = self.variation.decisive if self.variation.place == slot.place else None
        if decisive is not None and not decisive.attribute:
            return isinstance(decisive, Presence) is self.variation.decisive_truth
        if slot.is_checked:
            return is_absent is is_broken
        if self.is_done(slot):
            return is_broken if slot.action.verb is Verb.DELETE else not slot.is_new and not is_broken
        is_compared = self.variation.check is not None and self.variation.place == slot.place
        match slot.action.verb:
            case Verb.CREATE:
                return is_broken
            case Verb.PUT:
                needs = any(needs_item(check) for check in slot.checks)
                return is_compared or (needs or self.variation.is_other) is not is_broken
            case Verb.UPSERT:
                if is_absent:
                    return is_broken
                creates = self.variation.is_other and not exists
                can_create = not slot.action.many and slot.entity.name not in self.operation.found_first
                return is_compared or (not (creates and can_create) and not is_broken)
            case Verb.UPDATE | Verb.DELETE | Verb.EXPIRE:
                return not is_broken
            case _:
                assert_never(slot.action.verb)

    def is_done(self, slot: Slot) -> bool:
        """Whether the call finds an item as an earlier call has left it."""
        return self.variation.is_again and not slot.is_checked and not slot.action.many

    def _deleted_list(self, slot: Slot) -> int | None:
        """The position of the list that a write deletes beside the one that it creates: `delete X[]; create X[]`."""
        for at, known in self.lists.items():
            action = self.actions[at]
            is_same = action.entity == slot.entity.name and action.verb is Verb.DELETE
            if is_same and slot.compares_new and slot.action.many and not known.is_given:
                return at
        return None

    def slot(self, place: Place) -> Slot:
        return next(slot for slot in self.slots if slot.place == place)

    @property
    def input_checks(self) -> tuple[Test, ...]:
        """The conditions on inputs that are no attributes: `n > 0`."""
        return input_checks(self.write)

    @property
    def single(self) -> list[Slot]:
        return [slot for slot in self.slots if not slot.action.many]

    def own_attribute(self, slot: Slot, name: str) -> Variable:
        """The variable of an attribute that the caller knows of an item: of its object, or of the stored item."""
        return given(slot.place, name) if slot.is_new else stored(slot.place, name)

    # --- Equalities -------------------------------------------------------------------------------------------------

    def _equalities(self) -> Iterator[Equality]:
        for slot in self.slots:
            yield from self._tenant(slot)
            if slot.is_new:
                yield from self._of_new(slot)
            elif slot.action.many:
                yield from self._of_list(slot)
            else:
                yield from self._of_stored(slot)
        yield from self._agreements()
        yield from self._references()
        yield from self._followed()
        yield from self._params()
        yield from self._conditions()

    def _is_cut(self, equality: Equality) -> bool:
        broken = self.variation
        if equality.place != broken.place or equality.name not in broken.names:
            return False
        if broken.kind is Break.LINK:
            return not equality.is_agreement
        return broken.kind is Break.AGREEMENT

    def _tenant(self, slot: Slot) -> Iterator[Equality]:
        tenant = self.sample.workload.tenant
        if tenant and is_owned(self.sample.workload, slot.entity.name):
            name = tenant.attribute
            yield Equality(self.own_attribute(slot, name), input_variable(name), slot.place, name)
            if slot.is_new:
                yield Equality(given(slot.place, name), stored(slot.place, name), slot.place, name)

    def _of_new(self, slot: Slot) -> Iterator[Equality]:
        lists = {one.attribute for one in self.write.inputs if one.many}
        linked = links(self.sample.workload, self.write, slot.action, slot.entity)
        settled = {c.attribute for c in slot.action.changes if c.value and c.value.param != c.attribute}
        shared = {a.name for a in shared_inputs(self.sample.workload, self.write, slot.action)}
        for name, source in linked.items():
            if name in settled:
                continue
            if slot.action.many and source in lists:
                yield Equality(given(slot.place, name), input_variable(source, slot.place[1]), slot.place, name)
            elif name in shared or (source not in lists and self._is_first_with(slot, name)):
                is_agreement = name in shared and name in self.asked
                variable = input_variable(source)
                yield Equality(given(slot.place, name), variable, slot.place, name, is_agreement=is_agreement)
        for change in self.settled(slot):
            name, value = change.attribute, change.value
            if value is not None and value.param is not None:
                variable = self.value_variable(slot, value.param)
                yield Equality(given(slot.place, name), variable, slot.place, name, is_agreement=True)
        if slot.is_stored:
            base = self.sample.base(slot.entity)
            timed = {
                change.attribute for change in slot.action.changes if change.value and change.value.now is not None
            }
            for attribute in slot.entity.attributes:
                name = attribute.name
                if (attribute.id or name in base) and name not in timed:
                    yield Equality(given(slot.place, name), stored(slot.place, name), slot.place, name)
        if slot.replaces is not None:
            for attribute in slot.entity.id:
                name = attribute.name
                yield Equality(given(slot.place, name), stored(slot.replaces, name), slot.place, name)

    def _is_first_with(self, slot: Slot, name: str) -> bool:
        """Whether an input is the attribute of this new item; other items may have another one of the same name."""
        return next(iter(self._having_input(name)), None) is slot

    def _having_input(self, name: str) -> list[Slot]:
        """The single new items whose attribute an input can be."""
        new = [(slot, slot.entity.attribute(name)) for slot in self.single if slot.is_new]
        return [slot for slot, own in new if own and can_be_input(self.sample.workload, self.write, own)]

    @property
    def asked(self) -> set[str]:
        """The inputs that the method has a parameter for, beside its objects."""
        method = self.sample.package.methods.get(self.write.id)
        return {getattr(param.meaning, "input", "") for param in method.params} if method else set()

    def _of_stored(self, slot: Slot) -> Iterator[Equality]:
        lists = {one.attribute for one in self.write.inputs if one.many}
        base = self.sample.base(slot.entity)
        linked = links(self.sample.workload, self.write, slot.action, slot.entity)
        if slot.is_checked:
            item = CheckedItem(slot.entity, slot.checks, slot.action.by)
            linked |= ties_of_checked(self.sample.workload, self.write, item, ())
        for name, source in linked.items():
            if source in lists or _is_said(slot, name, source):
                continue
            # What the key holds beyond the id is as good as compared: with another value there is no such item.
            is_of_id = name in base and any(name == attribute.name for attribute in slot.entity.id)
            may_be_absent = slot.is_checked and not any(map(needs_item, slot.checks))
            compares = not may_be_absent and slot.action.verb is not Verb.UPSERT and not is_of_id
            yield Equality(stored(slot.place, name), input_variable(source), slot.place, name, is_link=compares)

    def _of_list(self, slot: Slot) -> Iterator[Equality]:
        at, index = slot.place
        known = self.lists[at]
        base = self.sample.base(slot.entity)
        for name, source in known.inputs.items():
            is_link = known.is_given and name not in base
            yield Equality(stored(slot.place, name), input_variable(source), slot.place, name, is_link)
        for name, (position, part) in known.parents.items():
            is_link = known.is_given and name not in base
            parent = self.own_attribute(self.slot((position, 0)), part)
            yield Equality(stored(slot.place, name), parent, slot.place, name, is_link)
        if known.over is not None:
            # All belong to the first item of the other list, so that the others have none.
            for name, part in known.over_attributes.items():
                yield Equality(stored(slot.place, name), stored((known.over, 0), part), slot.place, name)
        if known.between:
            place = self._between(known)
            for name, part in known.over_attributes.items():
                yield Equality(stored(slot.place, name), stored(place, part), slot.place, name)
            for name, source in known.between_inputs.items():
                yield Equality(stored(place, name), input_variable(source), place, name)
        lists = {one.attribute for one in self.write.inputs if one.many}
        linked = links(self.sample.workload, self.write, slot.action, slot.entity)
        for name, source in linked.items():
            if source in lists:
                yield Equality(stored(slot.place, name), input_variable(source, index), slot.place, name)

    def _agreements(self) -> Iterator[Equality]:
        for one in agreements(self.sample.workload, self.write, self.actions):
            for slot in self.slots:
                if slot.place[0] == one.part and not slot.is_checked:
                    owner = given((one.owner, 0), one.owner_attribute)
                    name = one.part_attribute
                    yield Equality(given(slot.place, name), owner, slot.place, name, is_agreement=True)

    def _references(self) -> Iterator[Equality]:
        """References between items of the write that no input says: they belong together in a usual call.

        A method takes the key of a checked item from a new item that refers to it.
        """
        workload = self.sample.workload
        counts: dict[str, int] = {}
        for slot in self.single:
            counts[slot.entity.name] = counts.get(slot.entity.name, 0) + 1
        for slot in self.slots:
            for other in self.single:
                if other is slot or counts[other.entity.name] > 1 or other.is_new or other.entity is slot.entity:
                    continue
                if slot.action.many and not slot.is_new:
                    continue
                refers = [a for a in slot.entity.attributes if _refers_to(target(workload, a), other.entity)]
                parts = [held[1].name for a in refers if (held := target(workload, a))]
                for attribute, part in zip(refers, parts, strict=True):
                    if parts.count(part) > 1 and attribute is not refers[parts.index(part)]:
                        continue
                    if slot.is_new and not slot.action.many:
                        pass
                    elif parts.count(part) > 1 or _is_changed(self.write, slot, attribute.name):
                        continue
                    variable = self.own_attribute(slot, attribute.name)
                    yield Equality(variable, stored(other.place, part), slot.place, attribute.name)

    def _followed(self) -> Iterator[Equality]:
        """Attributes of new items that follow those of an item of the write."""
        for link in follow_links(self.sample.workload):
            for slot in self.slots:
                for other in self.single:
                    if link.entity is slot.entity and link.source is other.entity and slot.is_new and not other.is_new:
                        for own, origin in link.attributes.items():
                            yield Equality(given(slot.place, own), stored(other.place, origin), slot.place, own)

    def _params(self) -> Iterator[Equality]:
        """Values that changes and conditions take from an object: `available -= amount` of a new Transfer."""
        for name in self.used_params():
            for slot in self._having_input(name)[:1] if not self._is_list(name) else ():
                yield Equality(input_variable(name), given(slot.place, name), slot.place, name)

    def _conditions(self) -> Iterator[Equality]:
        """The conditions that an attribute is equal to an input, unless the variation breaks them."""
        for slot in self.slots:
            for check in slot.checks:
                if not isinstance(check, Comparison) or check.op is not Op.EQ:
                    continue
                named = check.values[0].param
                is_broken = self.variation.check is check and self.variation.place == slot.place
                if named is None or is_broken or not slot.entity.attribute(check.attribute):
                    continue
                if self.is_done(slot) and not slot.compares_new:
                    continue
                if slot.compares_new or slot.is_stored:
                    make = given if slot.compares_new else stored
                    variable = self.value_variable(slot, named)
                    yield Equality(make(slot.place, check.attribute), variable, slot.place, check.attribute)

    def used_params(self) -> list[str]:
        """The inputs whose values conditions compare with, and changes set or add."""
        values = [value for leaf in all_leaves(self.write) for value in values_of(leaf)]
        values += [change.value for action in self.actions for change in action.changes if change.value]
        names = [value.param for value in values if value.param]
        return list(dict.fromkeys(names))

    def _is_list(self, name: str) -> bool:
        return any(one.attribute == name and one.many for one in self.write.inputs)

    def value_variable(self, slot: Slot, name: str) -> Variable:
        """The variable of an input, as an item uses it: of a list, the element with the number of the item."""
        if self._is_list(name) and slot.action.many:
            return input_variable(name, slot.place[1])
        return input_variable(name)

    # --- Constraints ------------------------------------------------------------------------------------------------

    def _name_attributes(self, slot: Slot) -> None:
        for attribute in slot.entity.attributes:
            like = like_attribute(slot.entity, attribute)
            self.attributes[stored(slot.place, attribute.name)] = [like]
            self.attributes[given(slot.place, attribute.name)] = [like]

    def attributes_of(self, variable: Variable) -> list[Attribute]:
        """The attributes that have the type of a variable."""
        if variable in self.attributes or variable[0] != "input":
            return self.attributes.get(variable, [])
        like = attribute_of_input(self.sample.workload, self.write, variable[1])
        return [like] if like else []

    def _constraints(self) -> Iterator[Constraint]:
        for slot in self.slots:
            if self.is_done(slot) and not slot.compares_new:
                yield from self._of_done(slot)
                continue
            for check in slot.checks:
                constraint = self._of_check(slot, check)
                if constraint is not None:
                    yield constraint
            yield from self._of_changes(slot)
            yield from self._of_settled(slot)
            if self.variation.place == slot.place:
                yield from self._of_break(slot)
                yield from self._of_bound(slot)
        for check in self.input_checks:
            is_broken = self.variation.check is check and self.variation.kind is Break.CONDITION
            if isinstance(check, Comparison):
                attribute = attribute_of_input(self.sample.workload, self.write, check.attribute)
                if attribute is not None:
                    variables = [input_variable(check.attribute)]
                    yield self._comparison(check, attribute, variables, self.slots[0], is_broken)
            else:
                yield self._combination(self.slots[0], check)

    def _of_check(self, slot: Slot, check: Test) -> Constraint | None:
        """The constraint of a condition on attributes; None if it says nothing of this item."""
        if is_of_whole_item(check):
            return None
        is_broken = self.variation.place == slot.place and self.variation.check is check
        if not slot.compares_new and not slot.is_stored:
            # An absent item has no values; a condition with parts may be true of it.
            return self._combination(slot, check) if is_broken and self.variation.decisive else None
        if not is_simple(check):
            return self._combination(slot, check)
        assert isinstance(check, Presence | Absence | Comparison)
        attribute = slot.entity.attribute(check.attribute)
        if attribute is None:
            return None
        variable = given(slot.place, attribute.name) if slot.compares_new else stored(slot.place, attribute.name)
        if is_broken and self.variation.kind is Break.ATTRIBUTE:
            return self._without_attribute(check, attribute, variable, slot)
        is_violated = is_broken and self.variation.kind is Break.CONDITION
        if is_violated and isinstance(check, Comparison) and check.op is Op.BETWEEN:
            return self._beyond_range(check, attribute, variable, slot)
        return self._comparison(check, attribute, [variable], slot, is_violated)

    # --- Conditions with parts --------------------------------------------------------------------------------------

    def _combination(self, slot: Slot, test: Test) -> Constraint:
        """The constraint of a condition with parts, or that compares two attributes."""
        terms = {id(leaf): self._term(slot, leaf) for leaf in leaves(test)}
        variables = tuple(dict.fromkeys(variable for term in terms.values() for variable in term.variables))
        constants = tuple(constant for term in terms.values() for constant in term.constants)
        tried = self.variation if self.variation.check is test else Variation()
        if tried.place != slot.place and tried.place[0] >= 0:
            tried = Variation()
        absent = {self._own_variable(slot, name) for name in tried.names}
        found_until = self._times_of_found(slot)

        def fits(*values: Any) -> bool:
            by_variable = dict(zip(variables, values, strict=True))

            def truth(leaf: Leaf) -> bool:
                return terms[id(leaf)].truth(by_variable)

            if any(by_variable.get(variable) is not None for variable in absent):
                return False
            expiries = [(by_variable.get(variable), now) for variable, now in found_until]
            if any(expiry is not None and expiry <= now for expiry, now in expiries):
                return False
            if is_true(test, truth) is (tried.kind in (Break.CONDITION, Break.ATTRIBUTE)):
                return False
            if tried.decisive is None:
                return True
            is_as_wanted = truth(tried.decisive) is tried.decisive_truth
            return is_as_wanted and is_decisive(test, tried.decisive, truth)

        return Constraint(self.text(test), variables, fits, constants)

    def _times_of_found(self, slot: Slot) -> list[tuple[Variable, Any]]:
        """The time to live of an item that a write has to find, with the time of the call: an expired one is not found.

        A put replaces an item without looking for it.
        """
        if slot.compares_new or slot.action.verb in (Verb.CREATE, Verb.PUT):
            return []
        ending = [attribute for attribute in slot.entity.attributes if attribute.ttl]
        return [(stored(slot.place, a.name), value_of(Value(now=0), a, self.sample.now)) for a in ending]

    def _own_variable(self, slot: Slot, name: str) -> Variable:
        return given(slot.place, name) if slot.compares_new else stored(slot.place, name)

    def _term(self, slot: Slot, leaf: Leaf) -> Term:
        """A part of a condition, with the variables that its truth depends on."""
        if leaf.entity and not leaf.attribute:
            return Term(leaf, is_there=slot.is_stored)
        if leaf.entity:
            attribute = slot.entity.attribute(leaf.attribute)
            own = self._own_variable(slot, leaf.attribute)
            is_there = slot.compares_new or slot.is_stored
        else:
            attribute = attribute_of_input(self.sample.workload, self.write, leaf.attribute)
            own, is_there = input_variable(leaf.attribute), True
            if attribute is not None:
                self.attributes.setdefault(own, []).append(attribute)
        assert attribute is not None  # checked in the document
        if not is_there:
            return Term(leaf)
        is_member = operator_of(leaf) is Op.CONTAINS and attribute.type.kind in (Kind.SET, Kind.LIST)
        like = member_of(attribute) if is_member else attribute
        sources: list[Variable | Constant] = []
        for value in values_of(leaf):
            if value.attribute is not None:
                sources.append(self._own_variable(slot, value.attribute))
            elif value.param is not None:
                variable = self.value_variable(slot, value.param)
                self.attributes.setdefault(variable, []).append(like)
                sources.append(variable)
            else:
                sources.append(Constant(value_of(value, like, self.sample.now)))
        return Term(leaf, own, tuple(sources))

    def _without_attribute(self, check: Leaf, attribute: Attribute, variable: Variable, slot: Slot) -> Constraint:
        """The attribute of a condition is absent, and the values that it is compared with are not."""
        params = [value.param for value in values_of(check) if value.param is not None]
        compared = [self.value_variable(slot, param) for param in params]
        for one in compared:
            self.attributes.setdefault(one, []).append(attribute)

        def is_absent(value: Any, *others: Any) -> bool:
            return value is None and None not in others

        return Constraint(self.text(check), (variable, *compared), is_absent)

    def _comparison(
        self, check: Leaf, attribute: Attribute, variables: list[Variable], slot: Slot, is_violated: bool
    ) -> Constraint:
        op, values = operator_of(check), values_of(check)
        like = member_of(attribute) if op is Op.CONTAINS and attribute.type.kind in (Kind.SET, Kind.LIST) else attribute
        constants = [value_of(value, like, self.sample.now) for value in values if value.param is None]
        params = [value.param for value in values if value.param is not None]
        if len(params) == len(values) or not params:
            for name in params:
                variable = self.value_variable(slot, name)
                self.attributes.setdefault(variable, []).append(like)
                variables.append(variable)
            constraint = comparison(self.text(check), op, variables, constants, is_violated)
            if is_violated and op not in (Op.EXISTS, Op.NOT_EXISTS):
                test = constraint.test
                # An absent attribute is another case.
                return Constraint(
                    constraint.text,
                    constraint.variables,
                    lambda value, *rest: value is not None and test(value, *rest),
                    constraint.constants,
                )
            return constraint
        return self._mixed(check, op, like, variables, slot, is_violated)

    def _mixed(
        self, check: Leaf, op: Op, like: Attribute, variables: list[Variable], slot: Slot, is_violated: bool
    ) -> Constraint:
        """A comparison with constants and inputs: `n between 1 and most`."""

        def test(value: Any, asked: list[Any]) -> bool:
            return compare(op, value, asked) is not is_violated

        return self._test_of_values(check, like, variables, slot, test)

    def _beyond_range(self, check: Comparison, attribute: Attribute, variable: Variable, slot: Slot) -> Constraint:
        """A value that is not within a range, on the side that the variation says."""
        side = self.variation.side

        def test(value: Any, asked: list[Any]) -> bool:
            low, high = asked
            match side:
                case Side.BELOW:
                    return bool(value < low <= high)
                case Side.ABOVE:
                    return bool(low <= high < value)
                case Side.INVERTED:
                    return bool(high <= value <= low and high < low)
                case _:
                    assert_never(side)

        return self._test_of_values(check, attribute, [variable], slot, test)

    def _test_of_values(
        self,
        check: Leaf,
        like: Attribute,
        variables: list[Variable],
        slot: Slot,
        test: Callable[[Any, list[Any]], bool],
    ) -> Constraint:
        """A constraint whose test gets the value of the first variable, and the values of a condition."""
        sources: list[Any] = []
        for value in values_of(check):
            if value.param is None:
                sources.append((None, value_of(value, like, self.sample.now)))
                continue
            variable = self.value_variable(slot, value.param)
            self.attributes.setdefault(variable, []).append(like)
            variables.append(variable)
            sources.append((len(variables) - 2, None))

        def test_values(value: Any, *rest: Any) -> bool:
            asked = [constant if at is None else rest[at] for at, constant in sources]
            if value is None or None in asked:
                return False
            try:
                return test(value, asked)
            except TypeError:
                return False

        constants = tuple(constant for at, constant in sources if at is None)
        return Constraint(self.text(check), tuple(variables), test_values, constants)

    def _of_changes(self, slot: Slot) -> Iterator[Constraint]:
        """Sums stay within their bounds, and a change should change something."""
        if slot.is_checked:
            return
        for change in changes(self.write, slot.action, slot.entity):
            attribute = slot.entity.attribute(change.attribute)
            if attribute is None or slot.is_new:
                continue
            variable = stored(slot.place, attribute.name)
            if change.op in (ChangeOp.ADD, ChangeOp.SUBTRACT):
                yield from self._of_sum(slot, attribute, change)
            elif change.op is ChangeOp.SET and slot.is_stored and not attribute.references:
                text = f"{slot.entity.name}.{attribute.name} changes"
                if change.value is not None and change.value.param is None:
                    constant = value_of(change.value, attribute, self.sample.now)
                    yield comparison(text, Op.NE, [variable], [constant], is_preferred=True)
                elif self.lists.get(slot.place[0]) is None or slot.place[1] == 0:
                    new = self.new_value(slot, change)
                    self.attributes.setdefault(new, []).append(like_attribute(slot.entity, attribute))
                    yield comparison(text, Op.NE, [variable, new], [], is_preferred=True)

    def settled(self, slot: Slot) -> list[Change]:
        """The changes that say which value an attribute of a new item has: `create Clinic (adminCount = 1)`."""
        if not slot.is_new:
            return []
        changed = [change for change in slot.action.changes if change.op is ChangeOp.SET and change.value is not None]
        return [change for change in changed if change.value and change.value.param != change.attribute]

    def _of_settled(self, slot: Slot) -> Iterator[Constraint]:
        """Constants of a new item, and its attributes that are equal: so they are in the object, unless that is broken.

        The time of the call replaces what the object has. So it is in the key of an item that is there already.
        """
        broken = self.variation
        for change in self.settled(slot):
            attribute, value = slot.entity.attribute(change.attribute), change.value
            if attribute is None or value is None or value.param is not None:
                continue
            own = given(slot.place, attribute.name)
            text = f"{slot.entity.name}.{attribute.name} is set"
            is_broken = broken.breaks(Break.AGREEMENT, slot.place) and broken.names == (attribute.name,)
            if value.attribute is not None:
                source = given(slot.place, value.attribute)
                yield comparison(text, Op.NE if is_broken else Op.EQ, [own, source], [])
                continue
            constant = value_of(value, attribute, self.sample.now)
            if value.now is None:
                yield comparison(text, Op.NE if is_broken else Op.EQ, [own], [constant])
            elif slot.is_stored and (attribute.id or attribute.name in self.sample.base(slot.entity)):
                yield comparison(text, Op.EQ, [stored(slot.place, attribute.name)], [constant])

    def _of_done(self, slot: Slot) -> Iterator[Constraint]:
        """The values that an earlier call has set; of a broken case, another value of the first."""
        is_broken = self.variation.breaks(Break.CONDITION, slot.place)
        for change in slot.action.changes if slot.action.verb is Verb.UPDATE else ():
            attribute = slot.entity.attribute(change.attribute)
            is_constant = change.op is ChangeOp.SET and change.value is not None and change.value.param is None
            if attribute is None or change.value is None or not is_constant:
                continue
            text = f"{slot.entity.name}.{attribute.name} is set already"
            constant = value_of(change.value, attribute, self.sample.now)
            yield comparison(text, Op.NE if is_broken else Op.EQ, [stored(slot.place, attribute.name)], [constant])
            is_broken = False

    def _of_bound(self, slot: Slot) -> Iterator[Constraint]:
        """The value of a variable that is beyond its bounds."""
        broken = self.variation
        if broken.kind is Break.AMOUNT:
            variable = self.value_variable(slot, broken.names[0])
        elif broken.kind is Break.VALUE and slot.is_new:
            variable = given(slot.place, broken.names[0])
        elif broken.kind is Break.VALUE:
            changed = changes(self.write, slot.action, slot.entity)
            change = next(change for change in changed if change.attribute == broken.names[0])
            variable = self.new_value(slot, change)
        else:
            return
        self.fixed[variable] = broken.value
        self.attributes.setdefault(variable, []).append(Attribute(broken.names[0], Type(Kind.NUMBER)))
        yield comparison(broken.text, Op.EQ, [variable], [broken.value])

    def _of_sum(self, slot: Slot, attribute: Attribute, change: Change) -> Iterator[Constraint]:
        """The sum of the stored number and an amount is within its bounds, unless the variation breaks that."""
        least, most = self.sample.generator.bounds(attribute)
        if not slot.is_stored and slot.action.verb is not Verb.UPSERT:
            least = most = None  # there is no sum
        sign = 1 if change.op is ChangeOp.ADD else -1
        named = change.value.param if change.value else None
        text = f"{attribute.name} {change.op} {named or (change.value.const if change.value else 1)}"
        variable = stored(slot.place, attribute.name)
        broken = self.variation
        is_broken = broken.breaks(Break.RESULT, slot.place) and broken.names == (attribute.name,)

        def test(value: Any, amount: Any) -> bool:
            total = ((value or 0) if slot.is_stored else 0) + sign * amount
            is_within = (least is None or total >= least) and (most is None or total <= most)
            return is_within is not is_broken

        if named is None:
            amount = 1 if change.value is None else value_of(change.value, attribute, self.sample.now)
            if least is not None or most is not None:
                yield Constraint(text, (variable,), lambda value: test(value, amount), (amount,))
            return
        source = self.value_variable(slot, named)
        self.attributes.setdefault(source, []).append(_unbounded(attribute))
        if not (broken.kind is Break.AMOUNT and broken.names == (named,)):
            yield from self._of_amount(change, named, source)
        if least is not None or most is not None:
            yield Constraint(text, (variable, source), test)

    def _of_amount(self, change: Change, name: str, variable: Variable) -> Iterator[Constraint]:
        """An amount is positive, unless the document allows others, and within its bounds.

        What is added may be negative, too. Cases do without that if the document says nothing of the amount.
        """
        least, most = input_bounds(self.sample.workload, self.write, name)
        is_compared = any(leaf.attribute == name for check in self.input_checks for leaf in leaves(check))
        is_usual = not is_compared and (least is None or least > 0)
        if must_be_positive(self.sample.workload, self.write, change) or is_usual:
            yield Constraint(f"{name} > 0", (variable,), lambda value: value > 0, (0,))
        if least is not None:
            yield comparison(f"{name} >= {least}", Op.GE, [variable], [least])
        if most is not None:
            yield comparison(f"{name} <= {most}", Op.LE, [variable], [most])

    def _of_break(self, slot: Slot) -> Iterator[Constraint]:
        """The values of a broken link or agreement differ."""
        text = self.variation.text
        for equality in self.broken:
            if equality.place == slot.place:
                yield comparison(text, Op.NE, [equality.one, equality.other], [])
        deleted = self._deleted_list(slot)
        if deleted is not None and self.variation.kind is Break.ITEM:
            # The item that is there already is not one of the list, which would be deleted.
            known = self.lists[deleted]
            names = [*known.inputs, *known.parents, *known.over_attributes]
            own = [stored(slot.place, name) for name in names]
            items = [given(slot.place, name) for name in names]

            def is_apart(*values: Any) -> bool:
                return values[: len(own)] != values[len(own) :]

            yield Constraint(text, (*own, *items), is_apart)

    def new_value(self, slot: Slot, change: Change) -> Variable:
        """The variable of the value that a change sets."""
        if change.value is not None and change.value.param is not None:
            return self.value_variable(slot, change.value.param)
        if any(one.attribute == change.attribute for one in self.write.inputs):
            return self.value_variable(slot, change.attribute)
        return ("set", slot.place[0], change.attribute)

    def text(self, check: Test) -> str:
        return write_checks((check,), frozenset(one.attribute for one in self.write.inputs))


# --- Conditions -----------------------------------------------------------------------------------------------------


def needs_item(check: Test) -> bool:
    """Whether a condition is false of an item that does not exist; `<>` is true of it."""
    return not is_true_of_nothing(check)


def whole_item_tests(checks: Iterable[Test]) -> tuple[bool, bool]:
    """Whether conditions say that the item exists, and that it does not."""
    whole = [check for check in checks if is_of_whole_item(check)]
    exists = any(isinstance(check, Presence) for check in whole)
    return exists, any(isinstance(check, Absence) for check in whole)


def is_simple(check: Test) -> bool:
    """Whether a condition compares one attribute with inputs and constants, or says that it is there or not."""
    is_leaf = isinstance(check, Presence | Absence | Comparison)
    return is_leaf and all(value.attribute is None for leaf in leaves(check) for value in values_of(leaf))


def _is_said(slot: Slot, name: str, source: str) -> bool:
    """Whether a condition compares an attribute with an input. Then the condition decides whether they are equal.

    An id names the item, whatever a condition says of it.
    """
    comparisons = [leaf for check in slot.checks for leaf in leaves(check) if isinstance(leaf, Comparison)]
    own = [leaf for leaf in comparisons if leaf.attribute == name and any(v.param == source for v in leaf.values)]
    is_fact = any(leaf in slot.checks and leaf.op is Op.EQ for leaf in own)
    return is_fact or (bool(own) and not any(name == attribute.name for attribute in slot.entity.id))


def is_unique(entity: Entity, name: str) -> bool:
    attribute = entity.attribute(name)
    return bool(attribute and attribute.unique) or any(name in group for group in entity.unique)


def like_attribute(entity: Entity, attribute: Attribute) -> Attribute:
    """The attribute, as unique if it is so together with others: a value that nobody has is sure to do."""
    return replace(attribute, unique=True) if is_unique(entity, attribute.name) else attribute


def _refers_to(held: tuple[Entity, Attribute] | None, entity: Entity) -> bool:
    return held is not None and held[0] is entity


def _is_changed(write: Write, slot: Slot, name: str) -> bool:
    """Whether an update changes an attribute: its input is the new value, and not the stored one."""
    return slot.action.updates and any(c.attribute == name for c in changes(write, slot.action, slot.entity))


def _unbounded(attribute: Attribute) -> Attribute:
    """An amount has the type of the attribute that it is added to, and not its bounds."""
    return Attribute(attribute.name, attribute.type)
