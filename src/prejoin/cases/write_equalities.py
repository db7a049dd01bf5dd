"""The equalities of a write: variables that have the same value in a usual call.

From `update Account by fromAccountId` comes one: the id of the stored account is the input `fromAccountId`.
"""

from __future__ import annotations

from collections.abc import Iterator

from prejoin.cases.agreements import agreements, shared_inputs
from prejoin.cases.case_variation import Break
from prejoin.cases.slots import Equality, Slot, given, input_variable, stored
from prejoin.cases.write_model import WriteModel, needs_item
from prejoin.constructs.refreshed import refreshed_in
from prejoin.workload.conditions import leaves
from prejoin.workload.lookup import changes, target
from prejoin.workload.model import Attribute, Comparison, Entity, Op, Verb, Write
from prejoin.workload.program.resolved_write import CheckedItem
from prejoin.workload.tenants import is_owned


def write_equalities(model: WriteModel) -> Iterator[Equality]:
    """All equalities of a write; `build_model` sets those aside that the variation breaks."""
    for slot in model.slots:
        yield from _tenant_equalities(model, slot)
        # A new item is known by the object of the caller, a stored one by its key, and a list by what it belongs to.
        if slot.is_new:
            yield from _new_item_equalities(model, slot)
        elif slot.action.many:
            yield from _list_equalities(model, slot)
        else:
            yield from _stored_item_equalities(model, slot)
    yield from _agreement_equalities(model)
    yield from _reference_equalities(model)
    yield from _repeated_value_equalities(model)
    yield from _input_equalities(model)
    yield from _condition_equalities(model)


def _tenant_equalities(model: WriteModel, slot: Slot) -> Iterator[Equality]:
    tenant = model.sample.workload.tenant
    if tenant and is_owned(model.sample.workload, slot.entity.name):
        name = tenant.attribute
        yield Equality(model.own_attribute(slot, name), input_variable(name), slot.place, name)
        if slot.is_new:
            yield Equality(given(slot.place, name), stored(slot.place, name), slot.place, name)


def _new_item_equalities(model: WriteModel, slot: Slot) -> Iterator[Equality]:
    lists = model.resolved.list_inputs
    sources = slot.step.sources
    names_set_by_document = {c.attribute for c in slot.action.changes if c.value and c.value.param != c.attribute}
    shared_names = shared_inputs(model.sample.workload, model.write, slot.action)
    for name, source in sources.items():
        if name in names_set_by_document:
            continue
        if slot.action.many and source in lists:
            yield Equality(given(slot.place, name), input_variable(source, slot.place[1]), slot.place, name)
        elif name in shared_names or (source not in lists and _is_first_with(model, slot, name)):
            is_agreement = name in shared_names and name in model.inputs_with_parameter
            variable = input_variable(source)
            yield Equality(given(slot.place, name), variable, slot.place, name, is_agreement=is_agreement)
    for change in model.document_changes(slot):
        name, value = change.attribute, change.value
        if value is not None and value.param is not None:
            variable = model.value_variable(slot, value.param)
            yield Equality(given(slot.place, name), variable, slot.place, name, is_agreement=True)
    if slot.is_stored:
        base = model.sample.base(slot.entity)
        time_names = {
            change.attribute for change in slot.action.changes if change.value and change.value.now is not None
        }
        # An existing item with another number of its own would be refused because of its counter alone.
        counter = model.sample.design.counter(slot.entity.name)
        counter_names = counter.attributes if counter and slot.action.verb is Verb.CREATE else ()
        for attribute in slot.entity.attributes:
            name = attribute.name
            if (attribute.id or name in base or name in counter_names) and name not in time_names:
                yield Equality(given(slot.place, name), stored(slot.place, name), slot.place, name)
    if slot.replaces is not None:
        for attribute in slot.entity.id:
            name = attribute.name
            yield Equality(given(slot.place, name), stored(slot.replaces, name), slot.place, name)


def _is_first_with(model: WriteModel, slot: Slot, name: str) -> bool:
    """Whether an input is the attribute of this new item; other items may have another one of the same name."""
    return next(iter(model.slots_with_input(name)), None) is slot


def _stored_item_equalities(model: WriteModel, slot: Slot) -> Iterator[Equality]:
    lists = model.resolved.list_inputs
    base = model.sample.base(slot.entity)
    sources = dict(slot.step.sources)
    if slot.is_checked:
        sources |= CheckedItem(slot.step, slot.checks).ties(())
    for name, source in sources.items():
        if source in lists or _is_decided_by_condition(slot, name, source):
            continue
        # What the key holds beyond the id is as good as compared: with another value there is no such item.
        is_of_id = name in base and any(name == attribute.name for attribute in slot.entity.id)
        may_be_absent = slot.is_checked and not any(map(needs_item, slot.checks))
        compares = not may_be_absent and slot.action.verb is not Verb.UPSERT and not is_of_id
        yield Equality(stored(slot.place, name), input_variable(source), slot.place, name, is_link=compares)


def _list_equalities(model: WriteModel, slot: Slot) -> Iterator[Equality]:
    at, index = slot.place
    membership = model.lists[at]
    base = model.sample.base(slot.entity)
    for name, source in membership.inputs.items():
        is_link = membership.is_given and name not in base
        yield Equality(stored(slot.place, name), input_variable(source), slot.place, name, is_link)
    for name, (position, part) in membership.parents.items():
        is_link = membership.is_given and name not in base
        parent = model.own_attribute(model.slot((position, 0)), part)
        yield Equality(stored(slot.place, name), parent, slot.place, name, is_link)
    if membership.over is not None:
        # All belong to the first item of the other list, so that the others have none.
        for name, part in membership.over_attributes.items():
            yield Equality(stored(slot.place, name), stored((membership.over, 0), part), slot.place, name)
    if membership.between:
        place = model.place_between(membership)
        for name, part in membership.over_attributes.items():
            yield Equality(stored(slot.place, name), stored(place, part), slot.place, name)
        for name, source in membership.between_inputs.items():
            yield Equality(stored(place, name), input_variable(source), place, name)
    lists = model.resolved.list_inputs
    for name, source in slot.step.sources.items():
        if source in lists:
            yield Equality(stored(slot.place, name), input_variable(source, index), slot.place, name)


def _agreement_equalities(model: WriteModel) -> Iterator[Equality]:
    for agreement in agreements(model.sample.workload, model.write, model.actions):
        for slot in model.slots:
            if slot.place[0] == agreement.part and not slot.is_checked:
                owner = given((agreement.owner, 0), agreement.owner_attribute)
                name = agreement.part_attribute
                yield Equality(given(slot.place, name), owner, slot.place, name, is_agreement=True)


def _reference_equalities(model: WriteModel) -> Iterator[Equality]:
    """References between items of the write that no input says: they belong together in a usual call.

    A method takes the key of a checked item from a new item that refers to it.
    """
    workload = model.sample.workload
    counts: dict[str, int] = {}
    for slot in model.single:
        counts[slot.entity.name] = counts.get(slot.entity.name, 0) + 1
    for slot in model.slots:
        for other in model.single:
            if other is slot or counts[other.entity.name] > 1 or other.is_new or other.entity is slot.entity:
                continue
            if slot.action.many and not slot.is_new:
                continue
            refers = [a for a in slot.entity.attributes if _refers_to(target(workload, a), other.entity)]
            parts = [target_key[1].name for a in refers if (target_key := target(workload, a))]
            for attribute, part in zip(refers, parts, strict=True):
                if parts.count(part) > 1 and attribute is not refers[parts.index(part)]:
                    continue
                if slot.is_new and not slot.action.many:
                    pass
                elif parts.count(part) > 1 or _is_changed(model.write, slot, attribute.name):
                    continue
                variable = model.own_attribute(slot, attribute.name)
                yield Equality(variable, stored(other.place, part), slot.place, attribute.name)


def _repeated_value_equalities(model: WriteModel) -> Iterator[Equality]:
    """Attributes of new items that repeat those of an item of the write."""
    for bound in refreshed_in(model.sample.workload):
        for slot in model.slots:
            for other in model.single:
                is_linked = bound.entity is slot.entity and bound.source is other.entity
                if is_linked and slot.is_new and not other.is_new:
                    for own, origin in bound.attributes.items():
                        if _is_broken_condition(model, other, origin):
                            continue  # the condition is what makes them equal
                        yield Equality(given(slot.place, own), stored(other.place, origin), slot.place, own)


def _is_broken_condition(model: WriteModel, slot: Slot, name: str) -> bool:
    """Whether the variation breaks a condition on an attribute of this item."""
    variation = model.variation
    if variation.check is None or not variation.breaks(Break.CONDITION, slot.place):
        return False
    return any(leaf.attribute == name for leaf in leaves(variation.check))


def _input_equalities(model: WriteModel) -> Iterator[Equality]:
    """Values that changes and conditions take from an object: `available -= amount` of a new Transfer."""
    for name in model.used_params():
        for slot in model.slots_with_input(name)[:1] if not model._is_list(name) else ():
            yield Equality(input_variable(name), given(slot.place, name), slot.place, name)


def _condition_equalities(model: WriteModel) -> Iterator[Equality]:
    """The conditions that an attribute is equal to an input, unless the variation breaks them."""
    for slot in model.slots:
        for check in slot.checks:
            if not isinstance(check, Comparison) or check.op is not Op.EQ:
                continue
            input_name = check.values[0].param
            is_broken = model.variation.check is check and model.variation.place == slot.place
            if input_name is None or is_broken or not slot.entity.attribute(check.attribute):
                continue
            if model.is_done(slot) and not slot.compares_new:
                continue
            if slot.compares_new or slot.is_stored:
                make = given if slot.compares_new else stored
                variable = model.value_variable(slot, input_name)
                yield Equality(make(slot.place, check.attribute), variable, slot.place, check.attribute)


def _is_decided_by_condition(slot: Slot, name: str, source: str) -> bool:
    """Whether a condition compares an attribute with an input. Then the condition decides whether they are equal.

    An id names the item, whatever a condition says of it.
    """
    comparisons = [leaf for check in slot.checks for leaf in leaves(check) if isinstance(leaf, Comparison)]
    own = [leaf for leaf in comparisons if leaf.attribute == name and any(v.param == source for v in leaf.values)]
    is_fact = any(leaf in slot.checks and leaf.op is Op.EQ for leaf in own)
    return is_fact or (bool(own) and not any(name == attribute.name for attribute in slot.entity.id))


def _refers_to(target_key: tuple[Entity, Attribute] | None, entity: Entity) -> bool:
    return target_key is not None and target_key[0] is entity


def _is_changed(write: Write, slot: Slot, name: str) -> bool:
    """Whether an update changes an attribute: its input is the new value, and not the stored one."""
    return slot.action.updates and any(c.attribute == name for c in changes(write, slot.action, slot.entity))
