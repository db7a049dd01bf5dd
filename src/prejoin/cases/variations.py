"""Variations of a case: each rule of a write broken alone, and each part of a condition decided both ways."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any, assert_never

from prejoin.cases.amounts import amount_bounds, has_bounds, must_be_positive
from prejoin.cases.case import WriteCase, WriteStep
from prejoin.cases.case_variation import Break, Side, Variation
from prejoin.cases.slots import Slot
from prejoin.cases.write_model import WriteModel, is_simple, needs_item, whole_item_tests
from prejoin.constructs.registry import hiding_constructs
from prejoin.design.counters import is_spread
from prejoin.design.model import Did
from prejoin.types import Kind
from prejoin.workload.conditions import is_of_whole_item, leaves, operator_of, values_of
from prejoin.workload.lookup import changes, gives_object, unique_groups
from prejoin.workload.model import (
    Absence,
    AllOf,
    AnyOf,
    Attribute,
    Change,
    ChangeOp,
    Comparison,
    Entity,
    Leaf,
    Negation,
    Op,
    Presence,
    Test,
    Verb,
)
from prejoin.workload.tenants import tenant_of

_ADDING = (ChangeOp.ADD, ChangeOp.SUBTRACT)


def violations(model: WriteModel) -> Iterator[Variation]:
    """Each rule of a write, broken alone."""
    # Without a transaction the items of a list are written one by one. With one item it is clear which were.
    count = 1 if is_in_steps(model) else model.variation.count
    for slot in model.slots:
        if slot.place[1] == 0:
            yield from _Violations(model, slot, count).all()
    for check in model.input_checks:
        yield Variation(f"`{model.text(check)}` does not hold", Break.CONDITION, check=check, count=count)


def repetitions(model: WriteModel) -> Iterator[Variation]:
    """Calls with `again=True`, though the items are not as the write would have left them."""
    for slot in model.single:
        text = f"a repeated call, and {slot.entity.name} is not as the first has left it"
        if slot.is_checked or slot.is_new:
            continue
        kind = Break.ITEM if slot.action.verb is Verb.DELETE else Break.CONDITION
        yield Variation(text, kind, slot.place, is_again=True)
        if slot.action.verb is Verb.UPDATE:
            yield Variation(text, Break.ITEM, slot.place, is_again=True)


def is_in_steps(model: WriteModel) -> bool:
    """Whether the items are written by several requests, so that the first may be written before one is refused."""
    return model.write.atomic is False and (bool(model.lists) or not model.checked_items)


def done_before(case: WriteCase) -> list[WriteStep]:
    """The steps that are done before the broken one is refused: none in a transaction."""
    variation = case.variation
    # The method compares agreements and amounts before it sends anything.
    is_of_item = variation.place[0] >= 0 and variation.kind not in (Break.AGREEMENT, Break.AMOUNT)
    if not is_of_item or not is_in_steps(case.model) or _is_refused_first(case):
        return []
    broken_place = (_request_number(case, case.model.slot(variation.place).entity), variation.place[0])
    return [step for step in case.steps if _place_of_step(case, step) < broken_place]


def _place_of_step(case: WriteCase, step: WriteStep) -> tuple[int, int]:
    """The number of the request that writes an item, and the position of its action."""
    return _request_number(case, step.entity), case.model.actions.index(step.action)


def _is_refused_first(case: WriteCase) -> bool:
    """Whether the broken step is refused before anything is written."""
    model, kind = case.model, case.variation.kind
    slot = model.slot(case.variation.place)
    if slot.compares_new and kind in (Break.CONDITION, Break.ATTRIBUTE):
        return True  # it is compared before anything is sent
    is_found = slot.entity.name in case.operation.found_first and not slot.is_new
    if is_found and kind in (Break.LINK, Break.ITEM):
        return True  # it is not found, so that nothing is sent
    # Before lists are written one by one, the other items are checked.
    return bool(model.lists) and not slot.action.many


def _request_number(case: WriteCase, entity: Entity) -> int:
    """The number of the request that writes the items of an entity. Updates are sent before batches."""
    for number, request in enumerate(case.operation.requests):
        for action in request.actions:
            if action.action is not Did.CHECK and action.item.entity == entity.name:
                return number
    return 0


@dataclass(frozen=True, slots=True)
class _Violations:
    """The rules of a write about one of its items, each broken alone."""

    model: WriteModel
    slot: Slot
    count: int

    @property
    def entity(self) -> Entity:
        return self.slot.entity

    def all(self) -> Iterator[Variation]:
        yield from self._of_hiding()
        yield from self._of_checked_item() if self.slot.is_checked else self._of_written_item()
        # Shards of a counter are written without looking at their item.
        is_spread = _is_spread(self.model, self.slot)
        if self.slot.is_checked or not is_spread:
            yield from self._of_conditions()
        if self.slot.is_new or not is_spread:
            yield from self._of_links()
        yield from self._of_document_values()
        if not self.slot.is_checked:
            yield from self._of_bounds()
            yield from self._of_amounts()

    def _variation(
        self, text: str, kind: Break, check: Test | None = None, names: tuple[str, ...] = (), value: Any = None
    ) -> Variation:
        return Variation(text, kind, self.slot.place, check, names, value, self.count)

    # --- The item as a whole ----------------------------------------------------------------------------------------

    def _of_hiding(self) -> Iterator[Variation]:
        """The item is hidden, and nothing else is wrong: no write finds it, and none creates another with its key."""
        if not self._can_be_hidden():
            return
        verb = self.slot.action.verb
        # A create needs the hidden item in the way; for other writes it is only hidden.
        kind = Break.ITEM if verb is Verb.CREATE and not self.slot.is_checked else Break.NOTHING
        for bound in hiding_constructs(self.entity):
            # A write of a new item replaces one that counts as absent.
            is_replaced = verb in (Verb.CREATE, Verb.UPSERT) and bound.vacant(self.model.sample.design) is not None
            if self.slot.is_checked or not is_replaced:
                text = f"{_with_article(self.entity)} that {bound.hidden_words}"
                yield Variation(text, kind, self.slot.place, count=1, hiding=bound)

    def _can_be_hidden(self) -> bool:
        """Whether a write is refused if the item is hidden."""
        slot, model = self.slot, self.model
        if self.entity.singleton or slot.place[0] in model.lists or slot.action.verb is Verb.PUT:
            return False
        if is_in_steps(model) and len(model.slots) > 1:
            return False
        if slot.is_checked:
            return any(needs_item(check) for check in slot.checks)
        return slot.action.verb is not Verb.DELETE or self._must_exist()

    def _of_checked_item(self) -> Iterator[Variation]:
        """An item that is only checked exists, or does not."""
        _, is_absent = whole_item_tests(self.slot.checks)
        if is_absent:
            yield self._variation(f"{_with_article(self.entity)} that must not be there", Break.ITEM)
        elif any(needs_item(check) for check in self.slot.checks) and not self.entity.singleton:
            yield self._variation(f"no {self.entity.name} that it depends on", Break.ITEM)

    def _of_written_item(self) -> Iterator[Variation]:
        """The item exists, or does not; or another has its unique values."""
        if self.entity.singleton:
            return
        verb = self.slot.action.verb
        _, is_absent = whole_item_tests(self.slot.checks)
        if verb is Verb.CREATE or (verb is Verb.UPSERT and is_absent):
            yield self._variation(f"{_with_article(self.entity)} that is there already", Break.ITEM)
        elif self._must_exist():
            yield self._variation(f"{_with_article(self.entity)} that is not there", Break.ITEM)
        if verb is not Verb.DELETE:
            yield from self._of_unique_values()

    def _of_unique_values(self) -> Iterator[Variation]:
        changed_names = {change.attribute for change in changes(self.model.write, self.slot.action, self.entity)}
        for group in unique_groups(self.entity):
            if not self.slot.action.updates or not changed_names.isdisjoint(group):
                names = " and ".join(name for name in group if name != self.model.sample.tenant_name)
                text = f"{_with_article(self.entity)} with the {names} of another"
                yield self._variation(text, Break.UNIQUE, names=group)

    def _must_exist(self) -> bool:
        """Whether the write is refused if the item does not exist."""
        slot, model = self.slot, self.model
        belonging = model.lists.get(slot.place[0])
        if belonging is not None and not belonging.is_given:
            return False  # it would not be among the items of the list
        if model.passes_over(slot):
            return False
        if slot.action.updates and _is_spread(model, slot):
            return False  # it writes shards, and not the item
        if slot.action.verb is Verb.UPDATE:
            return True
        if belonging is not None and not is_in_steps(model):
            return True  # a given item that does not belong to the others, because there is none
        if slot.action.verb is Verb.UPSERT:
            return whole_item_tests(slot.checks)[0]
        return any(needs_item(check) for check in slot.checks) or self._is_counted()

    def _is_counted(self) -> bool:
        """Whether the item is deleted in a transaction that counts in another item."""
        slot, model = self.slot, self.model
        if slot.action.verb is not Verb.DELETE or slot.place[0] in model.lists or model.write.atomic is False:
            return False
        counting = {ChangeOp.ADD, ChangeOp.SUBTRACT, ChangeOp.APPEND}
        return any(change.op in counting for action in model.actions for change in action.changes)

    # --- Conditions -------------------------------------------------------------------------------------------------

    def _of_conditions(self) -> Iterator[Variation]:
        """Each condition on an attribute, with another value, and with none."""
        for check in self.slot.checks:
            if is_of_whole_item(check):
                continue
            if is_simple(check):
                yield from self._of_simple_condition(check)
            else:
                yield from self._of_parts(check)

    def _of_simple_condition(self, check: Test) -> Iterator[Variation]:
        """A condition on one attribute, with another value, and with none."""
        leaf = next(leaves(check))
        attribute = self.entity.attribute(leaf.attribute)
        if attribute is None or (self.slot.compares_new and _is_constant(self.slot, attribute)):
            return  # the document says both the value and the condition
        owner, operator = leaf.by or self.entity.name, operator_of(leaf)
        text = f"{owner}.{attribute.name} not as the condition says"
        if operator is not Op.EXISTS:
            yield self._variation(text, Break.CONDITION, check)
        if operator is Op.BETWEEN:
            yield replace(self._variation(text, Break.CONDITION, check), side=Side.ABOVE)
            # No case has constants as the ends that are the wrong way round.
            text = f"{owner}.{attribute.name} between ends that are the wrong way round"
            yield replace(self._variation(text, Break.CONDITION, check), side=Side.INVERTED)
        if attribute.optional and operator not in (Op.NE, Op.NOT_EXISTS):
            text = f"{owner} without {attribute.name}, which the condition needs"
            yield self._variation(text, Break.ATTRIBUTE, check)

    def _of_parts(self, check: Test) -> Iterator[Variation]:
        """A condition with parts is false: by each of its parts, and where one of its attributes is absent."""
        text = f"`{self.model.text(check)}` does not hold"
        variation = self._variation(text, Break.CONDITION, check)
        yield variation
        for leaf, truth in _decisive_leaves(self.slot, check, is_true=False):
            yield replace(variation, decisive=leaf, decisive_truth=truth)
        for name in _optional_attributes(self.slot, check):
            yield self._variation(f"{self.entity.name} without {name}, and {text}", Break.ATTRIBUTE, check, (name,))

    # --- What belongs together --------------------------------------------------------------------------------------

    def _of_links(self) -> Iterator[Variation]:
        """Items that do not belong to the others, and objects that do not."""
        # The client of one tenant fills it in. A write that is not for one tenant is given it in each object.
        tenant = tenant_of(self.model.sample.workload, self.model.write)
        for equality in self.model.equalities:
            if equality.place != self.slot.place or equality.name == tenant:
                continue
            text = f"{_with_article(self.entity)} with another {equality.name}"
            if equality.is_agreement:
                yield self._variation(f"{text} than the rest of the call", Break.AGREEMENT, names=(equality.name,))
            elif equality.is_link and not _passes_over_stranger(self.model, self.slot):
                yield self._variation(text, Break.LINK, names=(equality.name,))

    def _of_document_values(self) -> Iterator[Variation]:
        """New objects with another value than the document sets. `_of_links` breaks their other equalities."""
        for change in self.model.document_changes(self.slot):
            value = change.value
            if value is not None and (value.const is not None or value.attribute is not None):
                text = f"{_with_article(self.entity)} with another {change.attribute} than the write sets"
                yield self._variation(text, Break.AGREEMENT, names=(change.attribute,))

    # --- Bounds -----------------------------------------------------------------------------------------------------

    @property
    def _changes(self) -> dict[str, Change]:
        """The change of each attribute."""
        return {change.attribute: change for change in changes(self.model.write, self.slot.action, self.entity)}

    def _of_bounds(self) -> Iterator[Variation]:
        """Values and sums beyond the bounds of their attributes."""
        for attribute in filter(has_bounds, self.entity.attributes):
            name = f"{self.entity.name}.{attribute.name}"
            change = self._changes.get(attribute.name)
            if _is_set_by_caller(self.slot, attribute, change):
                for value, text in _values_beyond(attribute, attribute.bounds):
                    yield self._variation(f"{name} {text}", Break.VALUE, names=(attribute.name,), value=value)
            is_sum = change is not None and change.op in _ADDING
            if change is not None and is_sum and self.slot.is_stored and not _is_spread(self.model, self.slot):
                text = f"{name} beyond its bounds after {change.op}"
                yield self._variation(text, Break.RESULT, names=(attribute.name,))

    def _of_amounts(self) -> Iterator[Variation]:
        """Amounts of 0, negative ones, and those beyond the bounds of the attribute that the input is."""
        workload, write = self.model.sample.workload, self.model.write
        for change in self._changes.values():
            attribute = self.entity.attribute(change.attribute)
            name = change.value.param if change.value else None
            if attribute is None or change.op not in _ADDING or not name:
                continue
            amounts = _values_beyond(attribute, amount_bounds(workload, write, name))
            if must_be_positive(workload, write, change):
                amounts += [(_value_of_type(attribute, 0), "of 0"), (_value_of_type(attribute, -1), "of -1")]
            for value, text in amounts:
                yield self._variation(f"an amount `{name}` {text}", Break.AMOUNT, names=(name,), value=value)


def passed_over_items(model: WriteModel) -> Iterator[Variation]:
    """Deletes of given items of which the first is not there, or belongs to another: the others are deleted."""
    tenant = tenant_of(model.sample.workload, model.write)
    parents = {membership.over for membership in model.lists.values()}
    for slot in model.slots:
        is_given = model.passes_over(slot) and model.lists[slot.place[0]].is_given
        if not is_given or slot.place[1] or slot.place[0] in parents or slot.entity.singleton:
            continue
        yield Variation(kind=Break.ITEM, place=slot.place)
        for equality in model.equalities if _passes_over_stranger(model, slot) else ():
            if equality.place == slot.place and equality.is_link and equality.name != tenant:
                yield Variation(kind=Break.LINK, place=slot.place, names=(equality.name,))


def _passes_over_stranger(model: WriteModel, slot: Slot) -> bool:
    """Whether an item of another parent is passed over. A given object that says so itself is refused."""
    return model.passes_over(slot) and not gives_object(model.write, slot.entity)


def replaced_items(model: WriteModel) -> Iterator[Variation]:
    """Writes of whole items over hidden ones: a put replaces them, and a create those that count as absent.

    What a put leaves of an item that counts as absent, such as its guards, counts as absent, too.
    """
    if is_in_steps(model) and len(model.slots) > 1:
        return
    for slot in model.slots:
        entity, verb = slot.entity, slot.action.verb
        if slot.is_checked or slot.place[1] or slot.place[0] in model.lists or entity.singleton:
            continue
        for bound in hiding_constructs(entity):
            if verb is (Verb.PUT if bound.vacant(model.sample.design) is None else Verb.CREATE):
                yield Variation(place=slot.place, count=1, is_other=verb is Verb.PUT, hiding=bound)


def accepted_parts(model: WriteModel) -> Iterator[Variation]:
    """Cases in which a condition with parts is true: by each of them, and where one of its attributes is absent."""
    for slot in model.slots:
        if slot.place[1] or (not slot.is_checked and _is_spread(model, slot)):
            continue
        for check in slot.checks:
            if not is_of_whole_item(check) and not is_simple(check):
                yield from _accepted_parts_of(slot, check)


def _accepted_parts_of(slot: Slot, check: Test) -> Iterator[Variation]:
    for leaf, truth in _decisive_leaves(slot, check, is_true=True):
        yield Variation(place=slot.place, check=check, decisive=leaf, decisive_truth=truth)
    for name in _optional_attributes(slot, check):
        yield Variation(place=slot.place, check=check, names=(name,))


def _decisive_leaves(slot: Slot, check: Test, is_true: bool) -> Iterator[tuple[Leaf, bool]]:
    """The parts of a condition that can decide that it is true, or false, each with its own truth."""
    may_be_absent = slot.is_checked or slot.action.verb in (Verb.PUT, Verb.UPSERT)
    for leaf, truth in _leaves_with_truth(check, is_true):
        if leaf.attribute or (may_be_absent and not slot.entity.singleton):
            yield leaf, truth


def _leaves_with_truth(check: Test, is_true: bool) -> Iterator[tuple[Leaf, bool]]:
    """The parts of a condition, each as it has to be for the condition to be true, or false, because of it."""
    match check:
        case Presence() | Absence() | Comparison():
            yield check, is_true
        case AnyOf() | AllOf():
            for part in check.parts:
                yield from _leaves_with_truth(part, is_true)
        case Negation():
            yield from _leaves_with_truth(check.part, not is_true)
        case _:
            assert_never(check)


def _optional_attributes(slot: Slot, check: Test) -> list[str]:
    """The attributes in a condition that an item may lack."""
    names: dict[str, None] = {}
    for leaf in leaves(check):
        names |= dict.fromkeys([leaf.attribute, *(value.attribute or "" for value in values_of(leaf))])
    attributes = filter(None, map(slot.entity.attribute, names))
    return [attribute.name for attribute in attributes if attribute.optional]


def _is_constant(slot: Slot, attribute: Attribute) -> bool:
    """Whether the document sets an attribute of a new item, whatever the caller gives."""
    values = [change.value for change in slot.action.changes if change.attribute == attribute.name]
    return any(value is not None and value.param is None and value.attribute is None for value in values)


def _is_spread(model: WriteModel, slot: Slot) -> bool:
    """Whether an action writes shards of a counter, and not the item."""
    return is_spread(model.sample.design.counters, slot.step)


def _is_set_by_caller(slot: Slot, attribute: Attribute, change: Change | None) -> bool:
    """Whether the caller gives the value of an attribute: in an object, or as the new value of an update."""
    if change is not None and change.value is not None and change.value.param is None:
        return False
    if slot.is_new:
        return not attribute.id and change is None
    return change is not None and change.op is ChangeOp.SET


def _values_beyond(attribute: Attribute, bounds: tuple[int | None, int | None]) -> list[tuple[Any, str]]:
    """The values one below the least and one above the greatest, each with the bound that it breaks."""
    lowest, highest = bounds
    below = [] if lowest is None else [(_value_of_type(attribute, lowest - 1), f"below {lowest}")]
    above = [] if highest is None else [(_value_of_type(attribute, highest + 1), f"above {highest}")]
    return below + above


def _value_of_type(attribute: Attribute, number: int) -> Any:
    return Decimal(number) if attribute.type.kind is Kind.DECIMAL else number


def _with_article(entity: Entity) -> str:
    is_vowel = entity.name[0] in "AEIO" or entity.name.startswith(("Up", "Un"))
    return f"{'an' if is_vowel and not entity.name.startswith('Uni') else 'a'} {entity.name}"
