"""Builds the model of a case: its items, then the equalities, then the constraints."""

from __future__ import annotations

from collections.abc import Iterator
from typing import assert_never

from prejoin.cases.belonging import belonging
from prejoin.cases.case_variation import Break, Variation
from prejoin.cases.sample_data import SampleData
from prejoin.cases.slots import Equality, Slot, given_variable, stored_variable
from prejoin.cases.write_constraints import write_constraints
from prejoin.cases.write_equalities import write_equalities
from prejoin.cases.write_model import WriteModel, like_attribute, needs_item, whole_item_tests
from prejoin.design.model import Operation
from prejoin.workload.model import Action, Presence, Verb, Write
from prejoin.workload.program.resolved_write import Step, resolve_write


def build_model(sample: SampleData, write: Write, operation: Operation, variation: Variation) -> WriteModel:
    """The model of a case: `Variation()` is a call that must succeed, any other breaks one thing."""
    model = WriteModel(sample, write, operation, variation)
    resolved_write = resolve_write(sample.workload, write)
    model.steps = [*resolved_write.written_steps]
    model.actions = tuple(step.action for step in model.steps)
    model.checked_items = resolved_write.checked
    model.lists = {
        at: belonging(sample.workload, write, model.actions, at)
        for at, step in enumerate(model.steps)
        if step.is_existing_list
    }
    model.slots = list(_make_slots(model))
    # The equalities ask for the slots by their places, and the constraints for the types of the variables: so this
    # order. A broken equality is no equality: `write_constraints` makes an inequality of it.
    for equality in write_equalities(model):
        (model.broken_equalities if _is_cut(model, equality) else model.equalities).append(equality)
    for slot in model.slots:
        _name_attributes(model, slot)
    model.constraints = list(write_constraints(model))
    return model


def _make_slots(model: WriteModel) -> Iterator[Slot]:
    """The items of the case: of the actions, then the items that are only checked, then the owners of lists."""
    for at, step in enumerate(model.steps):
        for index in range(model.variation.count if step.is_list else 1):
            slot = Slot((at, index), step, step.conditions)
            slot.is_stored = _is_stored(model, slot)
            deleted_position = model.deleted_list(slot)
            if deleted_position is not None and model.variation.is_other and index == 0:
                slot.replaces = (deleted_position, 0)
            yield slot
    for at, item in enumerate(model.checked_items, len(model.actions)):
        slot = Slot((at, 0), item.step, item.conditions, is_checked=True)
        slot.is_stored = _is_stored(model, slot)
        yield slot
    # A list may belong to items of an entity that is not written: one of these has to exist for the list to be found.
    position = len(model.actions) + len(model.checked_items)
    for membership in model.lists.values():
        if membership.between:
            owner = model.sample.entity(membership.between)
            step = Step(model.resolved_write, Action(Verb.DELETE, owner.name), owner)
            yield Slot((position, 0), step, is_checked=True, is_stored=True)
            position += 1


def _is_stored(model: WriteModel, slot: Slot) -> bool:
    """Whether the item of a slot exists before the call."""
    variation = model.variation
    is_broken = variation.breaks(Break.ITEM, slot.place)
    # The only item of its entity exists in every case: no case can be built in which it does not.
    if slot.entity.singleton:
        return True
    decisive = variation.decisive if variation.place == slot.place else None
    # Where the truth depends on `X exists` alone, that decides, and not what the verb usually finds.
    if decisive is not None and not decisive.attribute:
        return isinstance(decisive, Presence) is variation.decisive_truth
    if slot.is_checked:
        _, is_absent = whole_item_tests(slot.checks)
        return is_absent is is_broken
    if model.is_done(slot):
        return is_broken if slot.action.verb is Verb.DELETE else not slot.is_new and not is_broken
    return _is_found(model, slot, is_broken)


def _is_found(model: WriteModel, slot: Slot, is_broken: bool) -> bool:
    """Whether a verb usually finds its item; the opposite if that is broken."""
    # A condition can be compared only where there is an item.
    is_compared = model.variation.check is not None and model.variation.place == slot.place
    match slot.action.verb:
        case Verb.CREATE:
            return is_broken
        case Verb.PUT:
            is_needed = any(needs_item(check) for check in slot.checks)
            return is_compared or (is_needed or model.variation.is_other) is not is_broken
        case Verb.UPSERT if whole_item_tests(slot.checks)[1]:
            return is_broken
        case Verb.UPSERT:
            return is_compared or not (is_broken or _is_created_by_upsert(model, slot))
        case Verb.UPDATE | Verb.DELETE | Verb.EXPIRE:
            return not is_broken
        case _:
            assert_never(slot.action.verb)


def _is_created_by_upsert(model: WriteModel, slot: Slot) -> bool:
    """Whether an upsert creates its item in this case. It cannot if it has to find the item, or all of a list."""
    must_exist, _ = whole_item_tests(slot.checks)
    can_create = not slot.action.many and slot.entity.name not in model.operation.found_first
    return model.variation.is_other and not must_exist and can_create


def _is_cut(model: WriteModel, equality: Equality) -> bool:
    """Whether the variation breaks an equality."""
    variation = model.variation
    if equality.place != variation.place or equality.name not in variation.names:
        return False
    if variation.kind is Break.LINK:
        return not equality.is_agreement
    return variation.kind is Break.AGREEMENT


def _name_attributes(model: WriteModel, slot: Slot) -> None:
    """Records which attribute gives the variables of an item their type."""
    for attribute in slot.entity.attributes:
        like = like_attribute(slot.entity, attribute)
        model.attributes[stored_variable(slot.place, attribute.name)] = [like]
        model.attributes[given_variable(slot.place, attribute.name)] = [like]
