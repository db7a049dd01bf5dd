"""The equalities of a write: variables that have the same value in a usual call.

From `update Account by fromAccountId` comes one: the id of the stored account is the input `fromAccountId`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import product

from prejoin.cases.agreements import agreements, shared_inputs
from prejoin.cases.belonging import Belonging
from prejoin.cases.case_variation import Break
from prejoin.cases.slots import Equality, Slot, given_variable, input_variable, stored_variable
from prejoin.cases.write_model import WriteModel, needs_item
from prejoin.constructs.refreshed import refreshed_in
from prejoin.workload.conditions import leaves
from prejoin.workload.lookup import changes, target
from prejoin.workload.model import Comparison, Op, Test, Verb, Write
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
        yield Equality(model.own_attribute(slot, name), input_variable(name))
        if slot.is_new:
            yield Equality(given_variable(slot.place, name), stored_variable(slot.place, name))


def _new_item_equalities(model: WriteModel, slot: Slot) -> Iterator[Equality]:
    yield from _source_equalities(model, slot)
    for change in model.document_changes(slot):
        name, value = change.attribute, change.value
        if value is not None and value.param is not None:
            variable = model.value_variable(slot, value.param)
            yield Equality(given_variable(slot.place, name), variable, is_agreement=True)
    if slot.is_stored:
        for name in _names_of_existing_item(model, slot):
            yield Equality(given_variable(slot.place, name), stored_variable(slot.place, name))
    if slot.replaces is not None:
        for attribute in slot.entity.id:
            name = attribute.name
            yield Equality(given_variable(slot.place, name), stored_variable(slot.replaces, name))


def _source_equalities(model: WriteModel, slot: Slot) -> Iterator[Equality]:
    """The attributes of a new item that are inputs."""
    lists = model.resolved_write.list_inputs
    # `create Order (userId = ownerId)`: the attribute is the other input, in spite of its name.
    names_set_by_document = {c.attribute for c in slot.action.changes if c.value and c.value.param != c.attribute}
    shared_names = shared_inputs(model.sample.workload, model.write, slot.action)
    for name, source in slot.step.sources.items():
        if name in names_set_by_document:
            continue
        if slot.action.many and source in lists:
            yield Equality(given_variable(slot.place, name), input_variable(source, slot.place[1]))
        elif name in shared_names or (source not in lists and _is_first_with(model, slot, name)):
            is_agreement = name in shared_names and name in model.inputs_with_parameter
            variable = input_variable(source)
            yield Equality(given_variable(slot.place, name), variable, is_agreement=is_agreement)


def _names_of_existing_item(model: WriteModel, slot: Slot) -> list[str]:
    """The attributes in which a new item equals the one that it meets: those of its key."""
    names = {attribute.name for attribute in slot.entity.id} | set(model.sample.base(slot.entity))
    # An existing item with another number of its own would be refused because of its counter alone.
    counter = model.sample.design.counter(slot.entity.name)
    if counter and slot.action.verb is Verb.CREATE:
        names.update(counter.attributes)
    for change in slot.action.changes:
        if change.value and change.value.now is not None:
            names.discard(change.attribute)
    return [attribute.name for attribute in slot.entity.attributes if attribute.name in names]


def _is_first_with(model: WriteModel, slot: Slot, name: str) -> bool:
    """Whether an input is the attribute of this new item; other items may have another one of the same name."""
    return next(iter(model.slots_with_input(name)), None) is slot


def _stored_item_equalities(model: WriteModel, slot: Slot) -> Iterator[Equality]:
    lists = model.resolved_write.list_inputs
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
        yield Equality(stored_variable(slot.place, name), input_variable(source), is_link=compares)


def _list_equalities(model: WriteModel, slot: Slot) -> Iterator[Equality]:
    membership = model.lists[slot.place[0]]
    # Of given items the code compares what the key does not hold.
    compared_names = set(membership.own_names) if membership.is_given else set()
    compared_names -= set(model.sample.base(slot.entity))
    for name, source in membership.inputs.items():
        is_link = name in compared_names
        yield Equality(stored_variable(slot.place, name), input_variable(source), is_link)
    for name, (position, part) in membership.parents.items():
        is_link = name in compared_names
        parent = model.own_attribute(model.slot((position, 0)), part)
        yield Equality(stored_variable(slot.place, name), parent, is_link)
    yield from _list_owner_equalities(model, slot, membership)
    for name, source in slot.step.sources.items():
        if source in model.resolved_write.list_inputs:
            yield Equality(stored_variable(slot.place, name), input_variable(source, slot.place[1]))


def _list_owner_equalities(model: WriteModel, slot: Slot, membership: Belonging) -> Iterator[Equality]:
    """The attributes of a list's item that are those of an item of another list."""
    if membership.between:
        owner_place = model.place_between(membership)
    elif membership.over is not None:
        # All belong to the first item of the other list, so that the others have none.
        owner_place = (membership.over, 0)
    else:
        return
    for name, part in membership.over_attributes.items():
        yield Equality(stored_variable(slot.place, name), stored_variable(owner_place, part))
    for name, source in membership.between_inputs.items():
        yield Equality(stored_variable(owner_place, name), input_variable(source))


def _agreement_equalities(model: WriteModel) -> Iterator[Equality]:
    for agreement in agreements(model.sample.workload, model.write, model.actions):
        for slot in model.slots:
            if slot.place[0] == agreement.part and not slot.is_checked:
                # The owner is a single item, so the first one of its action.
                owner = given_variable((agreement.owner, 0), agreement.owner_attribute)
                name = agreement.part_attribute
                yield Equality(given_variable(slot.place, name), owner, is_agreement=True)


def _reference_equalities(model: WriteModel) -> Iterator[Equality]:
    """References between items of the write that no input says: they belong together in a usual call.

    A method takes the key of a checked item from a new item that refers to it.
    """
    # A reference to one of two accounts says nothing of which one.
    counts = Counter(slot.entity.name for slot in model.single)
    for slot in model.slots:
        if slot.action.many and not slot.is_new:
            continue
        for other in model.single:
            is_only_one = counts[other.entity.name] == 1 and other.entity is not slot.entity
            if is_only_one and not other.is_new:
                yield from _equalities_with(model, slot, other)


def _equalities_with(model: WriteModel, slot: Slot, other: Slot) -> Iterator[Equality]:
    """The references of an item to another one of the write."""
    names_by_part: dict[str, list[str]] = {}
    for attribute in slot.entity.attributes:
        target_key = target(model.sample.workload, attribute)
        if target_key is not None and target_key[0] is other.entity:
            names_by_part.setdefault(target_key[1].name, []).append(attribute.name)
    is_single_object = slot.is_new and not slot.action.many
    for part, names in names_by_part.items():
        # Of several references, which may mean different items, only that of an object is sure to be the first.
        if is_single_object or (len(names) == 1 and not _is_changed(model.write, slot, names[0])):
            variable = model.own_attribute(slot, names[0])
            yield Equality(variable, stored_variable(other.place, part))


def _repeated_value_equalities(model: WriteModel) -> Iterator[Equality]:
    """Attributes of new items that repeat those of an item of the write."""
    for bound in refreshed_in(model.sample.workload):
        slots = [slot for slot in model.slots if slot.is_new and slot.entity is bound.entity]
        sources = [slot for slot in model.single if not slot.is_new and slot.entity is bound.source]
        for slot, source in product(slots, sources):
            for own, origin in bound.attributes.items():
                # Where the variation breaks a condition on the source, the condition is what makes them equal.
                if not _is_broken_condition(model, source, origin):
                    yield Equality(given_variable(slot.place, own), stored_variable(source.place, origin))


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
            yield Equality(input_variable(name), given_variable(slot.place, name))


def _condition_equalities(model: WriteModel) -> Iterator[Equality]:
    """The conditions that an attribute is equal to an input, unless the variation breaks them."""
    for slot in model.slots:
        if not slot.compares_new and (model.is_done(slot) or not slot.is_stored):
            continue
        for check in slot.checks:
            is_broken = model.variation.check is check and model.variation.place == slot.place
            if isinstance(check, Comparison) and not is_broken:
                yield from _comparison_equalities(model, slot, check)


def _comparison_equalities(model: WriteModel, slot: Slot, comparison: Comparison) -> Iterator[Equality]:
    name, input_name = comparison.attribute, comparison.values[0].param if comparison.values else None
    if comparison.op is Op.EQ and input_name is not None and slot.entity.attribute(name):
        variable_of = given_variable if slot.compares_new else stored_variable
        yield Equality(variable_of(slot.place, name), model.value_variable(slot, input_name))


def _is_decided_by_condition(slot: Slot, name: str, source: str) -> bool:
    """Whether a condition compares an attribute with an input. Then the condition decides whether they are equal.

    An id names the item, whatever a condition says of it.
    """
    own: list[Comparison] = []
    for check in slot.checks:
        own += _comparisons_with(check, name, source)
    is_fact = any(leaf in slot.checks and leaf.op is Op.EQ for leaf in own)
    is_of_id = any(name == attribute.name for attribute in slot.entity.id)
    return is_fact or (bool(own) and not is_of_id)


def _comparisons_with(check: Test, name: str, source: str) -> Iterator[Comparison]:
    """The parts of a condition that compare an attribute with an input."""
    for leaf in leaves(check):
        if isinstance(leaf, Comparison) and leaf.attribute == name and any(v.param == source for v in leaf.values):
            yield leaf


def _is_changed(write: Write, slot: Slot, name: str) -> bool:
    """Whether an update changes an attribute: its input is the new value, and not the stored one."""
    return slot.action.updates and any(c.attribute == name for c in changes(write, slot.action, slot.entity))
