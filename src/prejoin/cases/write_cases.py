"""Cases of a write: each is built from scratch, with items of its own. The sample data stay beside them.

What the document says of a write becomes a model of equalities and constraints (`build_model`). A search finds values
for the constraints (`constraints`), and items are generated with these values. So a case exists unless the conditions
contradict each other, at any time and whatever the other data are.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, assert_never

from msgspec.structs import replace

from prejoin.cases.amounts import has_bounds
from prejoin.cases.build_model import build_model
from prejoin.cases.case_variation import Break, Variation
from prejoin.cases.conditions import value_of
from prejoin.cases.constraints import Constraint, ContradictionError, Part, Unknown, Variable, solve
from prejoin.cases.data import Values, entities_in_order, identities
from prejoin.cases.sample_data import SampleData
from prejoin.cases.slots import Slot, given, input_variable, stored
from prejoin.cases.write_model import WriteModel, like_attribute
from prejoin.constructs.registry import initial_values
from prejoin.design.model import Operation
from prejoin.types import Kind
from prejoin.workload.bounds import is_within
from prejoin.workload.constants import constant
from prejoin.workload.lookup import changes, foreign_parts, gives_object, member_of, target, unique_groups
from prejoin.workload.model import NEW, Action, Attribute, Change, ChangeOp, Entity, Value, Verb, Write

_ATTEMPTS = 8
"""How often a case is built anew, if a random reference makes one of its items belong to another."""


class _UnluckyError(Exception):
    """An item belongs to a list of the write, because a reference that was drawn leads there."""


class NothingFitsError(Exception):
    """No items fit the write: its conditions contradict each other, or a type has too few values."""


@dataclass(frozen=True, slots=True)
class StepChanges:
    """The attributes that an update changes, with their values."""

    sets: Values = field(default_factory=dict)
    adds: Values = field(default_factory=dict)
    removes: frozenset[str] = frozenset()

    @property
    def names(self) -> frozenset[str]:
        return frozenset((*self.sets, *self.adds, *self.removes))


@dataclass(frozen=True, slots=True)
class WriteStep:
    """One item of a write, before and after; None where it does not exist."""

    action: Action
    entity: Entity
    before: Values | None
    after: Values | None
    changed: StepChanges = field(default_factory=StepChanges)

    @property
    def item(self) -> Values:
        """The item that has the keys: the existing one, or the new one."""
        return self.before if self.before is not None else self.after or {}


@dataclass(frozen=True, slots=True)
class CheckedValues:
    """An item that a case checks and does not write."""

    entity: Entity
    values: Values
    exists: bool


@dataclass(slots=True)
class WriteCase:
    """One call of a write: its items before and after, and its inputs."""

    model: WriteModel
    inputs: Values = field(default_factory=dict)
    """The values of the inputs by their names; of an input that is a list, a list."""
    steps: list[WriteStep] = field(default_factory=list)
    checked: list[CheckedValues] = field(default_factory=list)
    missing: list[tuple[Entity, Values]] = field(default_factory=list)
    """Items that the case needs; they are written before the call."""
    obsolete: list[tuple[Entity, Values]] = field(default_factory=list)
    """Items of the data that must not exist; they are deleted before the call."""
    values: dict[Variable, Any] = field(default_factory=dict)
    """The values of the variables that stand for others."""
    roots: dict[Variable, Variable] = field(default_factory=dict)
    """For a variable, another one that has the same value."""

    @property
    def sample(self) -> SampleData:
        return self.model.sample

    @property
    def write(self) -> Write:
        return self.model.write

    @property
    def operation(self) -> Operation:
        return self.model.operation

    @property
    def variation(self) -> Variation:
        return self.model.variation

    def root(self, variable: Variable) -> Variable:
        """The variable that stands for all that have the same value as this one."""
        while (parent := self.roots.get(variable, variable)) != variable:
            variable = parent
        return variable

    def value(self, variable: Variable) -> Any:
        return self.values.get(self.root(variable))

    def list_items(self, at: int) -> list[Values]:
        """The items of the data that a list means, by a search through all of them."""
        belonging = self.model.lists[at]
        if belonging.is_given:
            return []
        required_values = {name: self.value(input_variable(source)) for name, source in belonging.inputs.items()}
        for name, (position, part) in belonging.parents.items():
            parent = self.model.slot((position, 0))
            required_values[name] = (parent.record or parent.before or {}).get(part)
        parents = self._list_parents(belonging.over) if belonging.over is not None else [{}]
        if belonging.between:
            inputs = {name: self.value(input_variable(source)) for name, source in belonging.between_inputs.items()}
            parents = [
                item
                for item in self.sample.items.get(belonging.between, [])
                if all(item.get(name) == value for name, value in inputs.items())
            ]
        entity = self.model.actions[at].entity
        return [
            item
            for item in self.sample.items.get(entity, [])
            if all(item.get(name) == value for name, value in required_values.items())
            and any(
                all(item.get(name) == parent.get(part) for name, part in belonging.over_attributes.items())
                for parent in parents
            )
        ]

    def _list_parents(self, at: int) -> list[Values]:
        """The items of a list that another one belongs to: also those that the caller gives."""
        if not self.model.lists[at].is_given:
            return self.list_items(at)
        return [slot.before for slot in self.model.slots if slot.place[0] == at and slot.before is not None]

    def object_slots(self, entity: str, many: bool, number: int) -> list[Slot]:
        """The items whose objects the caller gives as the argument of this number, among those of an entity."""
        actions = enumerate(self.model.actions)
        positions = [at for at, action in actions if action.entity == entity and action.many is many]
        new = [at for at in positions if self.model.actions[at].verb in NEW]
        position = (new or positions)[number]
        return [slot for slot in self.model.slots if slot.place[0] == position and not slot.is_checked]

    def object_values(self, slot: Slot) -> Values:
        """The values of an object that the caller gives: without optional ones that the document sets."""
        if slot.record is None:
            return slot.before or {}
        if self.variation.kind is Break.AGREEMENT:
            return slot.record
        optional = {attribute.name for attribute in slot.entity.attributes if attribute.optional}
        left_out = optional & {change.attribute for change in self.model.document_changes(slot)}
        return {name: value for name, value in slot.record.items() if name not in left_out}

    def new_value(self, entity: str, attribute: str) -> Any:
        """The value that an update sets, if it is no input."""
        sets = [step.changed.sets for step in self.steps if step.entity.name == entity]
        return next((values[attribute] for values in sets if attribute in values), None)

    @property
    def tenant(self) -> Any:
        """The tenant for whom the write is done; None if the table has none."""
        tenant = self.sample.workload.tenant
        return self.inputs.get(tenant.attribute) if tenant else None


def build_case(sample: SampleData, write: Write, operation: Operation, variation: Variation | None = None) -> WriteCase:
    """Builds a case. Its items are in the sample data, and in `missing`: they are still to be written to the table.

    It raises `NothingFitsError` if there is no such case.
    """
    for _ in range(_ATTEMPTS):
        builder = _CaseBuilder(build_model(sample, write, operation, variation or Variation()))
        try:
            return builder.build()
        except _UnluckyError:
            builder.undo()
        except ContradictionError as error:
            builder.undo()
            raise NothingFitsError(str(error)) from None
        except NothingFitsError:
            builder.undo()
            raise
    raise NothingFitsError("all items that could be generated belong to the lists of the write")


class _CaseBuilder:
    def __init__(self, model: WriteModel) -> None:
        self.model = model
        self.case = WriteCase(model)
        self.sample = model.sample
        self.generator = model.sample.generator
        self.root, self.value = self.case.root, self.case.value
        self.roots = self.case.roots
        for equality in model.equalities:
            self.roots[self.root(equality.first)] = self.root(equality.second)
        self.members: dict[Variable, list[Variable]] = {}
        variables = [*model.attributes, *self.roots, *self.roots.values()]
        variables += [variable for constraint in model.constraints for variable in constraint.variables]
        for variable in dict.fromkeys(variables):
            self.members.setdefault(self.root(variable), []).append(variable)
        self.values = self.case.values
        self._draws = 0
        self._present: set[str] | None = None
        """All values of the data, as texts; None until they are needed."""

    def undo(self) -> None:
        """Removes the items of a case that is not run from the data."""
        for entity, item in self.case.missing:
            items = self.sample.items[entity.name]
            items[:] = [kept_item for kept_item in items if kept_item is not item]
        for entity, item in self.case.obsolete:
            self.sample.items[entity.name].append(item)
            self.generator.reserve(entity, item)

    def build(self) -> WriteCase:
        self._solve()
        ranks = {entity.name: at for at, entity in enumerate(entities_in_order(self.sample.workload))}
        for slot in sorted(self.model.slots, key=lambda s: (ranks[s.entity.name], s.action.many, s.place)):
            self._fill_slot(slot)
        self._remove_others()
        self._choose_inputs()
        self._remove_rivals()
        steps = [step for slot in self.model.slots if not slot.is_checked for step in self._steps(slot)]
        # `delete Slot[]; create Slot[]`: what is deleted is gone before something of the same key is created.
        self.case.steps = sorted(steps, key=lambda step: step.after is not None)
        self.case.checked = [
            CheckedValues(slot.entity, slot.before or {}, slot.is_stored)
            for slot in self.model.slots
            if slot.is_checked and slot.checks
        ]
        if self.model.variation.kind is Break.UNIQUE:
            self._add_rival()
        return self.case

    # --- Values -----------------------------------------------------------------------------------------------------

    def _solve(self) -> None:
        unknowns: dict[Variable, Unknown] = {}
        constraints: list[Constraint] = []
        for constraint in self.model.constraints:
            roots = tuple(map(self.root, constraint.variables))
            parts = tuple(Part(tuple(map(self.root, part.variables)), part.test) for part in constraint.parts)
            constraints.append(
                Constraint(
                    constraint.text, roots, constraint.test, constraint.constants, constraint.is_preferred, parts
                )
            )
            unknowns |= {root: self._unknown(root) for root in roots if root not in unknowns}
        from_last = self.model.variation.is_other
        self.values |= solve(constraints, unknowns, self._draw, self.generator.bounds, from_last)

    def _unknown(self, root: Variable) -> Unknown:
        unknown = Unknown()
        members = self.members[root]
        for variable in members:
            unknown.attributes += self.model.attributes_of(variable)
            unknown.usual += self._usual_values(variable)
            if (version := self._version(variable)) is not None:
                unknown.only_values = (version,)
            if variable in self.model.values_beyond_bounds:
                unknown.only_values = (self.model.values_beyond_bounds[variable],)
        for variable in members if unknown.only_values else ():
            if variable[0] == "stored" and not self._can_be_stored(variable, unknown.only_values):
                raise NothingFitsError("an item with a value beyond its bounds is not stored")
        if not unknown.attributes:
            raise NothingFitsError(f"nothing says which type {root} has")
        only_items = all(self._is_of_item(variable) for variable in members)
        unknown.is_optional = only_items and all(a.optional for a in unknown.attributes)
        lists = self.model.resolved.list_inputs
        unknown.is_list = any(v == input_variable(name) for v in members for name in lists)
        return unknown

    def _usual_values(self, variable: Variable) -> list[Any]:
        if variable[0] not in ("stored", "given"):
            return []
        entity = self.model.slot(variable[1]).entity
        attribute = entity.attribute(variable[2])
        return self.generator.usual_values(entity, attribute) if attribute else []

    def _is_of_item(self, variable: Variable) -> bool:
        """Whether a variable is an attribute of an item.

        So is an input that the method takes from an object, unless others are compared with it or changed by it: then
        it has a value.
        """
        if variable[0] == "input":
            is_used = variable[1] in self.model.inputs_with_parameter or variable[1] in self.model.used_params()
            return not is_used and self._is_of_object(variable[1])
        return variable[0] in ("stored", "given")

    def _is_of_object(self, name: str) -> bool:
        return any(slot.is_new and slot.entity.attribute(name) for slot in self.model.slots)

    def _can_be_stored(self, variable: Variable, values: Sequence[Any] | None) -> bool:
        attributes = self.model.attributes_of(variable)
        return all(is_within(a, value) for a in attributes for value in values or () if has_bounds(a))

    def _version(self, variable: Variable) -> Any:
        """The version of a stored item, which was written once; None for another variable."""
        if variable[0] != "stored":
            return None
        entity = self.model.slot(variable[1]).entity
        # The only item stays, and has been written before.
        return None if entity.singleton else initial_values(entity).get(variable[2])

    def _draw(self, attribute: Attribute) -> Any:
        """A value of an attribute; for a reference, the id of an item of the data."""
        target_key = target(self.sample.workload, attribute) if not attribute.id else None
        ids = [item[target_key[1].name] for item in self.sample.items.get(target_key[0].name, [])] if target_key else []
        if ids:
            self._draws += 1
            return ids[self._draws % len(ids)]
        if not (attribute.id or attribute.unique):
            return self.generator.value(attribute)
        if self._present is None:
            items = [item for items in self.sample.items.values() for item in items]
            self._present = {repr(value) for item in items for value in item.values()}
        value = self.generator.unused_value(attribute, self._present)
        self._present.add(repr(value))
        return value

    # --- Items ------------------------------------------------------------------------------------------------------

    def _fill_slot(self, slot: Slot) -> None:
        """Generates the items of a slot: the stored one, and the object that the caller gives."""
        if slot.is_stored or not slot.is_new:
            slot.before = self._item(slot, "stored", keep=slot.is_stored)
        if slot.is_new:
            slot.record = self._item(slot, "given", keep=False)

    def _item(self, slot: Slot, kind: str, keep: bool) -> Values:
        make = stored if kind == "stored" else given
        required_values: Values = {}
        required_names: set[str] = set()
        for attribute in slot.entity.attributes:
            root = self.root(make(slot.place, attribute.name))
            if root in self.values:
                required_values[attribute.name] = self.values[root]
            elif len(self.members.get(root, ())) > 1:
                required_names.add(attribute.name)
        entity = _with_required(slot.entity, required_names)
        if slot.entity.singleton:
            item = self._only_item(slot, required_values, keep)
        elif kind == "given" and (slot.is_stored or slot.replaces is not None):
            item = self.generator.make(entity, required_values, fresh=True)
        else:
            item = self._item_with_free_id(entity, required_values)
            self.generator.reserve(slot.entity, item)
            if keep:
                self._keep(slot.entity, item)
        for name, value in item.items():
            self.values.setdefault(self.root(make(slot.place, name)), value)
        return item

    def _keep(self, entity: Entity, item: Values) -> None:
        self.generator.keep(entity, item)
        self.case.missing.append((entity, item))

    def _only_item(self, slot: Slot, required_values: Values, keep: bool) -> Values:
        """The only item of its entity, as it is if it fits; else another replaces it."""
        present = self.sample.items.get(slot.entity.name, [])
        fits = present and all(present[0].get(name) == value for name, value in required_values.items())
        if keep and present and (fits or initial_values(slot.entity)):  # another one would have the version after this
            for name, value in present[0].items():
                self.values[self.root(stored(slot.place, name))] = value
            return present[0]
        item = self.generator.make(slot.entity, required_values)
        if keep:
            for other in list(present):
                self._delete(slot.entity, other)
            self._keep(slot.entity, item)
        return item

    def _item_with_free_id(self, entity: Entity, required_values: Values) -> Values:
        """A new item, even if all ids have been used, as with a type of few values.

        It has an id that nothing has any more, or that of an item which is deleted before.
        """
        item = self.generator.another(entity, required_values) or self._item_of_new_parent(entity, required_values)
        if item is not None:
            return item
        own = [
            item
            for slot in self.model.slots
            for item in (slot.before, slot.record)
            if item and slot.entity.name == entity.name
        ]
        used_identities = {
            identity
            for candidate in (*self.sample.items.get(entity.name, []), *own)
            for identity in identities(entity, candidate)
        }
        for _ in range(30):
            item = self.generator.make(entity, required_values, fresh=True)
            if used_identities.isdisjoint(identities(entity, item)):
                return item
        ids = [a.name for a in entity.id]
        unique = set(identities(entity, required_values))
        for item in self.sample.items.get(entity.name, []):
            is_own = any(item is own_item for own_item in own) or any(
                item is missing_item for _, missing_item in self.case.missing
            )
            fits = unique.issubset(identities(entity, item))
            if (
                not is_own
                and fits
                and all(item.get(name) == required_values[name] for name in ids if name in required_values)
            ):
                self._delete(entity, item)
                return self.generator.make(
                    entity, {**required_values, **{name: item[name] for name in ids}}, fresh=True
                )
        raise NothingFitsError(f"there is no room for another {entity.name}: all values of its id are taken")

    def _delete(self, entity: Entity, item: Values) -> None:
        """Marks an item of the data as one that must not exist."""
        self.case.obsolete.append((entity, item))
        items = self.sample.items[entity.name]
        items[:] = [kept_item for kept_item in items if kept_item is not item]
        self.generator.release(entity, item)

    def _item_of_new_parent(self, entity: Entity, required_values: Values) -> Values | None:
        """A new item of a new parent, for the ids of the existing parents may all be taken."""
        for attribute in entity.attributes:
            target_key = target(self.sample.workload, attribute)
            if target_key is None or attribute.name in required_values or target_key[0].name == entity.name:
                continue
            parent = self.generator.another(target_key[0])
            if parent is None:
                continue
            self._keep(target_key[0], parent)
            item = self.generator.another(entity, {**required_values, attribute.name: parent[target_key[1].name]})
            if item is not None:
                return item
        return None

    def _remove_others(self) -> None:
        """Deletes items of the data that the call would mean as well.

        A list is of all that belong to the items of the row, and an item that is found by what the caller knows of it
        must be the only one.
        """
        for at, belonging in self.model.lists.items():
            for source in belonging.inputs.values():
                self._input(input_variable(source))  # of an empty list nothing has decided it
            own = [slot.before for slot in self.model.slots if slot.place[0] == at]
            entity = self.sample.entity(self.model.actions[at].entity)
            for item in self.case.list_items(at):
                if any(item is slot.before for slot in self.model.slots if slot.place[0] != at):
                    raise _UnluckyError(entity.name)
                if not any(item is own_item for own_item in own):
                    self._delete(entity, item)
        for slot in self.model.slots:
            if slot.is_new or slot.action.many or slot.entity.name not in self.model.operation.found_first:
                continue
            names = slot.step.known
            for item in list(self.sample.items.get(slot.entity.name, [])):
                before = slot.before or {}
                is_own = any(item is other.before for other in self.model.slots)
                if not is_own and all(item.get(name) == before.get(name) for name in names):
                    self._delete(slot.entity, item)

    # --- Inputs -----------------------------------------------------------------------------------------------------

    def _choose_inputs(self) -> None:
        """Gives every input a value that has none yet: new values, and inputs that no item has."""
        for slot in self.model.slots:
            if slot.action.updates and not slot.is_checked:
                self._move_to_other_parent(slot)
                for change in changes(self.model.write, slot.action, slot.entity):
                    self._choose_new_value(slot, change)
        lists = self.model.resolved.list_inputs
        for name in self._input_names():
            if name not in lists:
                self.case.inputs[name] = self._input(input_variable(name))
                continue
            if self.value(input_variable(name)) is not None:  # a condition compares with the whole list
                self.case.inputs[name] = self.value(input_variable(name))
                continue
            count = self.model.variation.count
            self.case.inputs[name] = [self._input(input_variable(name, index)) for index in range(count)]

    def _input_names(self) -> list[str]:
        names = [source.attribute for source in self.model.write.inputs]
        names += [v[1] for members in self.members.values() for v in members if v[0] == "input"]
        entities = [self.sample.entity(action.entity) for action in self.model.actions]
        objects = {entity.name for entity in entities if gives_object(self.model.write, entity)}
        return [name for name in dict.fromkeys(names) if name not in objects]

    def _input(self, variable: Variable) -> Any:
        root = self.root(variable)
        if self.values.get(root) is None:
            attributes = [a for member in self.members.get(root, [variable]) for a in self.model.attributes_of(member)]
            if attributes and root not in self.values:
                self.values[root] = 1 if attributes[0].type.numeric else self._draw(attributes[0])
        return self.values.get(root)

    def _move_to_other_parent(self, slot: Slot) -> None:
        """Moves an item to another parent of the data: all attributes that refer to it get the values of one."""
        set_changes = [c for c in changes(self.model.write, slot.action, slot.entity) if c.op is ChangeOp.SET]
        changes_by_name = {c.attribute: c for c in set_changes if c.value is None or c.value.param is not None}
        for attribute in slot.entity.attributes:
            target_key = target(self.sample.workload, attribute)
            if attribute.name not in changes_by_name or target_key is None:
                continue
            foreign_names = foreign_parts(self.sample.workload, slot.entity, target_key[0], attribute)
            parts = {attribute.name: target_key[1].name, **{own.name: part.name for part, own in foreign_names}}
            new = {
                own: self.root(self.model.new_value(slot, changes_by_name[own]))
                for own in parts
                if own in changes_by_name
            }
            before = slot.before or {}
            parent_values = {
                part: self.values[new[own]] if own in new else before.get(own)
                for own, part in parts.items()
                if own not in new or new[own] in self.values
            }
            owners = [
                owner
                for owner in self.sample.items.get(target_key[0].name, [])
                if all(owner.get(part) == value for part, value in parent_values.items())
            ]
            owners.sort(key=lambda o: all(o.get(part) == before.get(own) for own, part in parts.items()))
            for own, root in new.items() if owners else ():
                self.values.setdefault(root, owners[0].get(parts[own]))

    def _choose_new_value(self, slot: Slot, change: Change) -> None:
        attribute = slot.entity.attribute(change.attribute)
        if attribute is None or change.op is ChangeOp.REMOVE:
            return
        if change.op is not ChangeOp.SET and change.value is None and change.op is not ChangeOp.APPEND:
            return
        if change.value is not None and change.value.param is None:
            return
        root = self.root(self.model.new_value(slot, change))
        if root in self.values:
            return
        like = like_attribute(slot.entity, attribute)
        if change.op is ChangeOp.APPEND and change.value is not None:
            like = member_of(attribute)
        elif change.op in (ChangeOp.ADD, ChangeOp.SUBTRACT):
            self.values[root] = 1
            return
        old = (slot.before or {}).get(attribute.name)
        candidates = (self._draw(like) for _ in range(20))
        self.values[root] = next((value for value in candidates if value != old), old)

    # --- Steps ------------------------------------------------------------------------------------------------------

    def _steps(self, slot: Slot) -> Iterator[WriteStep]:
        action, entity = slot.action, slot.entity
        if self.model.is_done(slot):
            return
        if slot.is_new:
            after = {**(slot.record or {}), **self._values_set_by_document(slot)}
            before = slot.before if slot.is_stored and action.verb is Verb.PUT else None
            yield WriteStep(action, entity, before, {name: v for name, v in after.items() if v is not None})
        elif action.verb is Verb.DELETE:
            if slot.is_stored:
                yield WriteStep(action, entity, slot.before, None)
        else:
            yield self._step_of_update(slot)

    def _values_set_by_document(self, slot: Slot) -> Values:
        """The attributes of a new item that the document sets. The object may lack optional ones."""
        values: Values = {}
        for change in self.model.document_changes(slot):
            attribute = slot.entity.attribute(change.attribute)
            if attribute and change.value:
                values[attribute.name] = self._value(slot, change.value, attribute)
        return values

    def _value(self, slot: Slot, value: Value, attribute: Attribute) -> Any:
        if value.param is not None:
            return self._input(self.model.value_variable(slot, value.param))
        if value.attribute is not None:
            return (slot.record or {}).get(value.attribute)
        return value_of(value, attribute, self.sample.now)

    def _step_of_update(self, slot: Slot) -> WriteStep:
        """The step of an update or upsert."""
        entity, action = slot.entity, slot.action
        before = dict(slot.before or {})
        if not slot.is_stored:  # an upsert creates it: with its id, the defaults, and what it sets
            names = [*(a.name for a in entity.id), *slot.step.sources]
            defaults = {a.name: constant(a.default, a.type) for a in entity.attributes if a.default is not None}
            before = {**defaults, **{name: before[name] for name in names if name in before}}
        after = dict(before)
        sets: Values = {}
        adds: Values = {}
        removes: set[str] = set()
        for change in changes(self.model.write, action, entity):
            attribute = entity.attribute(change.attribute)
            if attribute is None:
                continue
            name = attribute.name
            match change.op:
                case ChangeOp.ADD | ChangeOp.SUBTRACT:
                    amount = 1 if change.value is None else self._value(slot, change.value, attribute)
                    amount = amount if change.op is ChangeOp.ADD else -amount
                    adds[name] = amount
                    after[name] = after.get(name, 0) + amount
                case ChangeOp.REMOVE:
                    removes.add(name)
                    after.pop(name, None)
                case ChangeOp.APPEND:
                    if change.value is not None:
                        members = [self._value(slot, change.value, member_of(attribute))]
                    else:
                        members = self.values[self.root(self.model.new_value(slot, change))]
                    old = after.get(name, set() if attribute.type.kind is Kind.SET else [])
                    sets[name] = after[name] = old | set(members) if isinstance(old, set) else [*old, *members]
                case ChangeOp.SET:
                    if change.value is not None:
                        new = self._value(slot, change.value, attribute)
                    else:
                        new = self.values[self.root(self.model.new_value(slot, change))]
                    sets[name] = after[name] = new
                case _:
                    assert_never(change.op)
        step_changes = StepChanges(sets, adds, frozenset(removes))
        return WriteStep(action, entity, slot.before if slot.is_stored else None, after, step_changes)

    def _remove_rivals(self) -> None:
        """Deletes items that have the unique values of an item of the case, before or after the write.

        The document may fix such a value, in a change or in a condition. Then the items of all cases have it.
        """
        for slot in self.model.slots:
            if slot.before is not None and slot.is_stored:
                self._remove_rivals_of(slot.entity, slot.before)
            for step in self._steps(slot) if not slot.is_checked else ():
                if step.after is not None:
                    self._remove_rivals_of(slot.entity, step.after)

    def _remove_rivals_of(self, entity: Entity, unique_values: Values) -> None:
        own = [slot.before for slot in self.model.slots]
        for item in list(self.sample.items.get(entity.name, [])):
            is_own = any(item is other for other in own)
            if not is_own and has_same_unique_values(entity, item, unique_values):
                self._delete(entity, item)

    def _add_rival(self) -> None:
        """Adds another item that has the unique values which a step gives to its item."""
        variation = self.model.variation
        slot = self.model.slot(variation.place)
        step = next(s for s in self._steps(slot))
        unique_values = {name: (step.after or {}).get(name) for name in variation.names}
        if None in unique_values.values():
            raise NothingFitsError("the item has no such unique values")
        for _ in range(10):
            rival = self.generator.make(slot.entity, unique_values, fresh=True)
            is_same = all(rival.get(a.name) == step.item.get(a.name) for a in slot.entity.id)
            taken_identities = {
                i for item in self.sample.items[slot.entity.name] for i in identities(slot.entity, item)
            }
            if is_same or not taken_identities.isdisjoint(identities(slot.entity, rival)):
                continue
            self._keep(slot.entity, rival)
            if any(rival is item for at in self.model.lists for item in self.case.list_items(at)):
                raise _UnluckyError(slot.entity.name)
            return
        raise NothingFitsError(f"there is no room for another {slot.entity.name}")


def has_same_unique_values(entity: Entity, item: Values, other: Values) -> bool:
    """Whether two items cannot be in the table together, because they have the same unique values."""
    for group in unique_groups(entity):
        values = [item.get(name) for name in group]
        if None not in values and values == [other.get(name) for name in group]:
            return True
    return False


def _with_required(entity: Entity, names: set[str]) -> Entity:
    """The entity, with some attributes that are not optional: the case gives them a value."""
    if not any(a.optional for a in entity.attributes if a.name in names):
        return entity
    attributes = tuple(replace(a, optional=False) if a.name in names else a for a in entity.attributes)
    return replace(entity, attributes=attributes)
