"""Variations of a case: each rule of a write broken alone, and each part of a condition decided both ways."""

from __future__ import annotations

from collections.abc import Iterator
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
from prejoin.workload.lookup import changes, unique_groups
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
            yield from _of_hidden(model, slot)
            yield from _of_item(model, slot, count)
            yield from _of_conditions(model, slot, count)
            yield from _of_links(model, slot, count)
            yield from _of_settled(model, slot, count)
            yield from _of_bounds(model, slot, count)
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
    model, variation = case.model, case.variation
    if not is_in_steps(model) or variation.place[0] < 0 or variation.kind is Break.AGREEMENT:
        return []
    broken_slot = model.slot(variation.place)
    if broken_slot.compares_new and variation.kind in (Break.CONDITION, Break.ATTRIBUTE):
        return []  # it is compared before anything is sent
    is_found = broken_slot.entity.name in case.operation.found_first and not broken_slot.is_new
    if is_found and variation.kind in (Break.LINK, Break.ITEM):
        return []  # it is not found, so that nothing is sent
    if model.lists and not broken_slot.action.many:
        return []  # before lists are written one by one, the other items are checked
    last = (_request_number(case, broken_slot.entity), variation.place[0])
    places = [(_request_number(case, step.entity), model.actions.index(step.action)) for step in case.steps]
    return [step for step, place in zip(case.steps, places, strict=True) if place < last]


def _request_number(case: WriteCase, entity: Entity) -> int:
    """The number of the request that writes the items of an entity. Updates are sent before batches."""
    for number, request in enumerate(case.operation.requests):
        written_actions = [action for action in request.actions if action.action is not Did.CHECK]
        if any(action.item.entity == entity.name for action in written_actions):
            return number
    return 0


def _of_hidden(model: WriteModel, slot: Slot) -> Iterator[Variation]:
    """The item is hidden, and nothing else is wrong: no write finds it, and none creates another with its key."""
    entity, verb = slot.entity, slot.action.verb
    is_after_others = is_in_steps(model) and len(model.slots) > 1
    if entity.singleton or is_after_others or slot.place[0] in model.lists or verb is Verb.PUT:
        return
    if slot.is_checked and not any(needs_item(check) for check in slot.checks):
        return
    if verb is Verb.DELETE and not slot.is_checked and not _must_exist(model, slot):
        return
    kind = Break.ITEM if verb is Verb.CREATE and not slot.is_checked else Break.NOTHING
    for bound in hiding_constructs(entity):
        # A write of a new item replaces one that counts as absent.
        is_replaced = verb in (Verb.CREATE, Verb.UPSERT) and bound.vacant(model.sample.design) is not None
        if slot.is_checked or not is_replaced:
            text = f"{_one(entity)} that {bound.hidden_words}"
            yield Variation(text, kind, slot.place, count=1, hiding=bound)


def _of_item(model: WriteModel, slot: Slot, count: int) -> Iterator[Variation]:
    """The item as a whole exists, or does not; or another has its unique values."""
    entity, verb = slot.entity, slot.action.verb
    _, is_absent = whole_item_tests(slot.checks)
    if slot.is_checked:
        if is_absent:
            yield Variation(f"{_one(entity)} that must not be there", Break.ITEM, slot.place, count=count)
        elif any(needs_item(check) for check in slot.checks) and not entity.singleton:
            yield Variation(f"no {entity.name} that it depends on", Break.ITEM, slot.place, count=count)
        return
    if entity.singleton:
        return
    if verb is Verb.CREATE or (verb is Verb.UPSERT and is_absent):
        yield Variation(f"{_one(entity)} that is there already", Break.ITEM, slot.place, count=count)
    elif _must_exist(model, slot):
        yield Variation(f"{_one(entity)} that is not there", Break.ITEM, slot.place, count=count)
    for group in unique_groups(entity) if verb is not Verb.DELETE else ():
        written_names = set(group)
        if slot.action.updates:
            written_names &= {change.attribute for change in changes(model.write, slot.action, entity)}
        if written_names:
            names = [name for name in group if name not in _tenant(model, entity)]
            text = f"{_one(entity)} with the {' and '.join(names)} of another"
            yield Variation(text, Break.UNIQUE, slot.place, names=group, count=count)


def _must_exist(model: WriteModel, slot: Slot) -> bool:
    """Whether the write is refused if the item does not exist."""
    if slot.place[0] in model.lists and not model.lists[slot.place[0]].is_given:
        return False  # it would not be among the items of the list
    if slot.action.updates and _is_spread(model, slot):
        return False  # it writes shards, and not the item
    if slot.action.verb is Verb.UPDATE:
        return True
    if slot.place[0] in model.lists and not is_in_steps(model):
        return True  # a given item that does not belong to the others, because there is none
    if slot.action.verb is Verb.UPSERT:
        return whole_item_tests(slot.checks)[0]
    return any(needs_item(check) for check in slot.checks)


def _of_conditions(model: WriteModel, slot: Slot, count: int) -> Iterator[Variation]:
    """Each condition on an attribute, with another value, and with none."""
    if not slot.is_checked and _is_spread(model, slot):
        return
    for check in slot.checks:
        if is_of_whole_item(check):
            continue
        if is_simple(check):
            yield from _of_simple_condition(slot, check, count)
        else:
            yield from _of_parts(model, slot, check, count)


def _of_simple_condition(slot: Slot, check: Test, count: int) -> Iterator[Variation]:
    """A condition on one attribute, with another value, and with none."""
    leaf = next(leaves(check))
    attribute = slot.entity.attribute(leaf.attribute)
    if attribute is None or (slot.compares_new and _is_constant(slot, attribute)):
        return  # the document says both the value and the condition
    operator = operator_of(leaf)
    text = f"{leaf.by or slot.entity.name}.{attribute.name} not as the condition says"
    if operator is not Op.EXISTS:
        yield Variation(text, Break.CONDITION, slot.place, check, count=count)
    if operator is Op.BETWEEN:
        yield Variation(text, Break.CONDITION, slot.place, check, count=count, side=Side.ABOVE)
        # No case has constants as the ends that are the wrong way round.
        text = f"{leaf.by or slot.entity.name}.{attribute.name} between ends that are the wrong way round"
        yield Variation(text, Break.CONDITION, slot.place, check, count=count, side=Side.INVERTED)
    if attribute.optional and operator not in (Op.NE, Op.NOT_EXISTS):
        text = f"{leaf.by or slot.entity.name} without {attribute.name}, which the condition needs"
        yield Variation(text, Break.ATTRIBUTE, slot.place, check, count=count)


def _of_parts(model: WriteModel, slot: Slot, check: Test, count: int) -> Iterator[Variation]:
    """A condition with parts is false: by each of its parts, and where one of its attributes is absent."""
    text = f"`{model.text(check)}` does not hold"
    yield Variation(text, Break.CONDITION, slot.place, check, count=count)
    for leaf, truth in _decisive_leaves(slot, check, is_true=False):
        yield Variation(text, Break.CONDITION, slot.place, check, count=count, decisive=leaf, decisive_truth=truth)
    for name in _optional_attributes(slot, check):
        text = f"{slot.entity.name} without {name}, and `{model.text(check)}` does not hold"
        yield Variation(text, Break.ATTRIBUTE, slot.place, check, names=(name,), count=count)


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
            if is_of_whole_item(check) or is_simple(check):
                continue
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
    attributes = [slot.entity.attribute(name) for name in names if name]
    return [attribute.name for attribute in attributes if attribute is not None and attribute.optional]


def _is_constant(slot: Slot, attribute: Attribute) -> bool:
    """Whether the document sets an attribute of a new item, whatever the caller gives."""
    values = [change.value for change in slot.action.changes if change.attribute == attribute.name]
    return any(value is not None and value.param is None and value.attribute is None for value in values)


def _of_links(model: WriteModel, slot: Slot, count: int) -> Iterator[Variation]:
    """Items that do not belong to the others, and objects that do not."""
    if not slot.is_new and _is_spread(model, slot):
        return
    # The client of one tenant fills it in. A write that is not for one tenant is given it in each object.
    tenant = tenant_of(model.sample.workload, model.write)
    for equality in model.equalities:
        if equality.place != slot.place or equality.name == tenant:
            continue
        names = (equality.name,)
        if equality.is_agreement:
            text = f"{_one(slot.entity)} with another {equality.name} than the rest of the call"
            yield Variation(text, Break.AGREEMENT, slot.place, names=names, count=count)
        elif equality.is_link:
            text = f"{_one(slot.entity)} with another {equality.name}"
            yield Variation(text, Break.LINK, slot.place, names=names, count=count)


def _of_settled(model: WriteModel, slot: Slot, count: int) -> Iterator[Variation]:
    """New objects with another value than the document sets. Other equalities of theirs are broken by `_of_links`."""
    for change in model.document_changes(slot):
        if change.value is not None and (change.value.const is not None or change.value.attribute is not None):
            text = f"{_one(slot.entity)} with another {change.attribute} than the write sets"
            yield Variation(text, Break.AGREEMENT, slot.place, names=(change.attribute,), count=count)


def _of_bounds(model: WriteModel, slot: Slot, count: int) -> Iterator[Variation]:
    """Values, sums and amounts beyond the bounds of their attributes."""
    if slot.is_checked:
        return
    change_by_name = {change.attribute: change for change in changes(model.write, slot.action, slot.entity)}
    for attribute in filter(has_bounds, slot.entity.attributes):
        name = f"{slot.entity.name}.{attribute.name}"
        change = change_by_name.get(attribute.name)
        if _is_set_by_caller(slot, attribute, change):
            for value, text in _values_beyond(attribute, attribute.bounds):
                names = (attribute.name,)
                yield Variation(f"{name} {text}", Break.VALUE, slot.place, names=names, value=value, count=count)
        if change is not None and change.op in _ADDING and slot.is_stored and not _is_spread(model, slot):
            text = f"{name} beyond its bounds after {change.op}"
            yield Variation(text, Break.RESULT, slot.place, names=(attribute.name,), count=count)
    for change in change_by_name.values():
        changed_attribute = slot.entity.attribute(change.attribute)
        if changed_attribute is not None and change.op in _ADDING and change.value and change.value.param:
            yield from _of_amounts(model, slot, changed_attribute, change, count)


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


def _of_amounts(model: WriteModel, slot: Slot, attribute: Attribute, change: Change, count: int) -> Iterator[Variation]:
    """Amounts of 0, negative ones, and those beyond the bounds of the attribute that the input is."""
    name = change.value.param if change.value and change.value.param else ""
    wrong = _values_beyond(attribute, amount_bounds(model.sample.workload, model.write, name))
    if must_be_positive(model.sample.workload, model.write, change):
        wrong += [(_value_of_type(attribute, 0), "of 0"), (_value_of_type(attribute, -1), "of -1")]
    for value, text in wrong:
        yield Variation(f"an amount `{name}` {text}", Break.AMOUNT, slot.place, names=(name,), value=value, count=count)


def _values_beyond(attribute: Attribute, bounds: tuple[int | None, int | None]) -> list[tuple[Any, str]]:
    """The values one below the least and one above the greatest, each with the bound that it breaks."""
    lowest, highest = bounds
    below = [] if lowest is None else [(_value_of_type(attribute, lowest - 1), f"below {lowest}")]
    above = [] if highest is None else [(_value_of_type(attribute, highest + 1), f"above {highest}")]
    return below + above


def _value_of_type(attribute: Attribute, number: int) -> Any:
    return Decimal(number) if attribute.type.kind is Kind.DECIMAL else number


def _tenant(model: WriteModel, entity: Entity) -> tuple[str, ...]:
    tenant = model.sample.workload.tenant
    return (tenant.attribute,) if tenant else ()


def _one(entity: Entity) -> str:
    is_vowel = entity.name[0] in "AEIO" or entity.name.startswith(("Up", "Un"))
    return f"{'an' if is_vowel and not entity.name.startswith('Uni') else 'a'} {entity.name}"
