"""The constraints of a write on the values of its items and inputs, and how a variation breaks them.

From `fromAccountId.available >= amount` comes one on two variables: the stored number, and the input.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, assert_never

from prejoin.cases.amounts import amount_bounds, must_be_positive
from prejoin.cases.case_variation import Break, Side, Variation
from prejoin.cases.conditions import compare, is_decisive, is_true, value_of
from prejoin.cases.constraints import Constraint, Part, Variable, comparison
from prejoin.cases.slots import Constant, Slot, Term, given, input_variable, stored
from prejoin.cases.write_model import WriteModel, is_simple, like_attribute
from prejoin.constructs.construct import DeclaredConstruct
from prejoin.constructs.registry import hiding_constructs, maintained
from prejoin.types import Kind, Type
from prejoin.workload.conditions import is_of_whole_item, leaves, operator_of, values_of
from prejoin.workload.lookup import changes, member_of
from prejoin.workload.model import Absence, Attribute, Change, ChangeOp, Comparison, Leaf, Op, Presence, Test, Verb
from prejoin.workload.program.input_types import attribute_of_input


def write_constraints(model: WriteModel) -> Iterator[Constraint]:
    """All constraints of a write, with those that the variation breaks turned into their opposite."""
    for slot in model.slots:
        if model.is_done(slot) and not slot.compares_new:
            yield from _done_constraints(model, slot)
            continue
        for check in slot.checks:
            constraint = _check_constraint(model, slot, check)
            if constraint is not None:
                yield constraint
        yield from _change_constraints(model, slot)
        yield from _document_value_constraints(model, slot)
        if model.variation.place == slot.place:
            yield from _break_constraints(model, slot)
            yield from _bound_constraints(model, slot)
    for check in model.input_checks:
        is_broken = model.variation.check is check and model.variation.kind is Break.CONDITION
        if isinstance(check, Comparison):
            attribute = attribute_of_input(model.sample.workload, model.write, check.attribute)
            if attribute is not None:
                variables = [input_variable(check.attribute)]
                yield _comparison(model, check, attribute, variables, model.slots[0], is_broken)
        else:
            yield _combination(model, model.slots[0], check)


def _check_constraint(model: WriteModel, slot: Slot, check: Test) -> Constraint | None:
    """The constraint of a condition on attributes; None if it says nothing of this item."""
    if is_of_whole_item(check):
        return None
    is_broken = model.variation.place == slot.place and model.variation.check is check
    if not slot.compares_new and not slot.is_stored:
        # An absent item has no values; a condition with parts may be true of it.
        return _combination(model, slot, check) if is_broken and model.variation.decisive else None
    if not is_simple(check):
        return _combination(model, slot, check)
    assert isinstance(check, Presence | Absence | Comparison)
    attribute = slot.entity.attribute(check.attribute)
    if attribute is None:
        return None
    variable = given(slot.place, attribute.name) if slot.compares_new else stored(slot.place, attribute.name)
    if is_broken and model.variation.kind is Break.ATTRIBUTE:
        return _without_attribute(model, check, attribute, variable, slot)
    is_violated = is_broken and model.variation.kind is Break.CONDITION
    if is_violated and isinstance(check, Comparison) and check.op is Op.BETWEEN:
        return _beyond_range(model, check, attribute, variable, slot)
    return _comparison(model, check, attribute, [variable], slot, is_violated)


def _combination(model: WriteModel, slot: Slot, test: Test) -> Constraint:
    """The constraint of a condition with parts, or that compares two attributes."""
    terms = {id(leaf): _term(model, slot, leaf) for leaf in leaves(test)}
    variables = tuple(dict.fromkeys(variable for term in terms.values() for variable in term.variables))
    constants = tuple(constant for term in terms.values() for constant in term.constants)
    variation = model.variation if model.variation.check is test else Variation()
    if variation.place != slot.place and variation.place[0] >= 0:
        variation = Variation()
    absent_variables = {_own_variable(model, slot, name) for name in variation.names}
    hiding_tests = _hiding_attributes(model, slot)

    def fits(*values: Any) -> bool:
        by_variable = dict(zip(variables, values, strict=True))

        def truth(leaf: Leaf) -> bool:
            return terms[id(leaf)].truth(by_variable)

        if any(by_variable.get(variable) is not None for variable in absent_variables):
            return False
        if any(is_gone(by_variable.get(variable)) for variable, is_gone in hiding_tests):
            return False
        if is_true(test, truth) is (variation.kind in (Break.CONDITION, Break.ATTRIBUTE)):
            return False
        if variation.decisive is None:
            return True
        is_as_wanted = truth(variation.decisive) is variation.decisive_truth
        return is_as_wanted and is_decisive(test, variation.decisive, truth)

    parts = [Part(tuple(term.variables), term.truth_of) for term in terms.values()]
    parts += [Part((variable,), lambda value: value is None) for variable in absent_variables]
    parts += [Part((variable,), is_gone) for variable, is_gone in hiding_tests]
    return Constraint(model.text(test), variables, fits, constants, parts=tuple(parts))


def _hiding_attributes(model: WriteModel, slot: Slot) -> list[tuple[Variable, Callable[[Any], bool]]]:
    """The attributes that may hide an item that a write has to find, each with the test whether a value does.

    A put replaces an item without looking for it.
    """
    if slot.compares_new or slot.action.verb in (Verb.CREATE, Verb.PUT):
        return []
    return [
        (stored(slot.place, name), partial(_hides, model, bound, name))
        for bound in hiding_constructs(slot.entity)
        for name in bound.held_names - bound.maintained_names
    ]


def _hides(model: WriteModel, bound: DeclaredConstruct, name: str, value: Any) -> bool:
    return bound.is_hidden({name: value}, model.sample.now)


def _own_variable(model: WriteModel, slot: Slot, name: str) -> Variable:
    return given(slot.place, name) if slot.compares_new else stored(slot.place, name)


def _term(model: WriteModel, slot: Slot, leaf: Leaf) -> Term:
    """A part of a condition, with the variables that its truth depends on."""
    if leaf.entity and not leaf.attribute:
        return Term(leaf, is_there=slot.is_stored)
    if leaf.entity:
        attribute = slot.entity.attribute(leaf.attribute)
        own = _own_variable(model, slot, leaf.attribute)
        is_there = slot.compares_new or slot.is_stored
    else:
        attribute = attribute_of_input(model.sample.workload, model.write, leaf.attribute)
        own, is_there = input_variable(leaf.attribute), True
        if attribute is not None:
            model.attributes.setdefault(own, []).append(attribute)
    assert attribute is not None  # checked in the document
    if not is_there:
        return Term(leaf)
    is_member = operator_of(leaf) is Op.CONTAINS and attribute.type.kind in (Kind.SET, Kind.LIST)
    like = member_of(attribute) if is_member else attribute
    sources: list[Variable | Constant] = []
    for value in values_of(leaf):
        if value.attribute is not None:
            sources.append(_own_variable(model, slot, value.attribute))
        elif value.param is not None:
            variable = model.value_variable(slot, value.param)
            model.attributes.setdefault(variable, []).append(like)
            sources.append(variable)
        else:
            sources.append(Constant(value_of(value, like, model.sample.now)))
    return Term(leaf, own, tuple(sources))


def _without_attribute(
    model: WriteModel, check: Leaf, attribute: Attribute, variable: Variable, slot: Slot
) -> Constraint:
    """The attribute of a condition is absent, and the values that it is compared with are not."""
    params = [value.param for value in values_of(check) if value.param is not None]
    operands = [model.value_variable(slot, param) for param in params]
    for operand in operands:
        model.attributes.setdefault(operand, []).append(attribute)

    def is_absent(value: Any, *operand_values: Any) -> bool:
        return value is None and None not in operand_values

    return Constraint(model.text(check), (variable, *operands), is_absent)


def _comparison(
    model: WriteModel, check: Leaf, attribute: Attribute, variables: list[Variable], slot: Slot, is_violated: bool
) -> Constraint:
    op, values = operator_of(check), values_of(check)
    like = member_of(attribute) if op is Op.CONTAINS and attribute.type.kind in (Kind.SET, Kind.LIST) else attribute
    constants = [value_of(value, like, model.sample.now) for value in values if value.param is None]
    params = [value.param for value in values if value.param is not None]
    # Only inputs, or only constants: the search takes both as they are. A mixture needs to know which is where.
    if len(params) == len(values) or not params:
        for name in params:
            variable = model.value_variable(slot, name)
            model.attributes.setdefault(variable, []).append(like)
            variables.append(variable)
        constraint = comparison(model.text(check), op, variables, constants, is_violated)
        if is_violated and op not in (Op.EXISTS, Op.NOT_EXISTS):
            test = constraint.test
            # An absent attribute is another case.
            return Constraint(
                constraint.text,
                constraint.variables,
                lambda value, *operands: value is not None and test(value, *operands),
                constraint.constants,
            )
        return constraint
    return _mixed_comparison(model, check, op, like, variables, slot, is_violated)


def _mixed_comparison(
    model: WriteModel, check: Leaf, op: Op, like: Attribute, variables: list[Variable], slot: Slot, is_violated: bool
) -> Constraint:
    """A comparison with constants and inputs: `n between 1 and most`."""

    def test(value: Any, operands: list[Any]) -> bool:
        return compare(op, value, operands) is not is_violated

    return _test_of_values(model, check, like, variables, slot, test)


def _beyond_range(
    model: WriteModel, check: Comparison, attribute: Attribute, variable: Variable, slot: Slot
) -> Constraint:
    """A value that is not within a range, on the side that the variation says."""
    side = model.variation.side

    def test(value: Any, operands: list[Any]) -> bool:
        low, high = operands
        match side:
            case Side.BELOW:
                return bool(value < low <= high)
            case Side.ABOVE:
                return bool(low <= high < value)
            case Side.INVERTED:
                return bool(high <= value <= low and high < low)
            case _:
                assert_never(side)

    return _test_of_values(model, check, attribute, [variable], slot, test)


def _test_of_values(
    model: WriteModel,
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
            sources.append((None, value_of(value, like, model.sample.now)))
            continue
        variable = model.value_variable(slot, value.param)
        model.attributes.setdefault(variable, []).append(like)
        variables.append(variable)
        sources.append((len(variables) - 2, None))

    def test_values(value: Any, *input_values: Any) -> bool:
        operands = [constant if at is None else input_values[at] for at, constant in sources]
        if value is None or None in operands:
            return False
        try:
            return test(value, operands)
        except TypeError:
            return False

    constants = tuple(constant for at, constant in sources if at is None)
    return Constraint(model.text(check), tuple(variables), test_values, constants)


def _change_constraints(model: WriteModel, slot: Slot) -> Iterator[Constraint]:
    """Sums stay within their bounds, and a change should change something."""
    if slot.is_checked:
        return
    for change in changes(model.write, slot.action, slot.entity):
        attribute = slot.entity.attribute(change.attribute)
        if attribute is None or slot.is_new:
            continue
        if change.op is ChangeOp.SET and attribute.name in maintained(slot.entity):
            continue  # no stored item has it: the client sets it
        variable = stored(slot.place, attribute.name)
        if change.op in (ChangeOp.ADD, ChangeOp.SUBTRACT):
            yield from _sum_constraints(model, slot, attribute, change)
        elif change.op is ChangeOp.SET and slot.is_stored and not attribute.references:
            text = f"{slot.entity.name}.{attribute.name} changes"
            if change.value is not None and change.value.param is None:
                constant = value_of(change.value, attribute, model.sample.now)
                yield comparison(text, Op.NE, [variable], [constant], is_preferred=True)
            elif model.lists.get(slot.place[0]) is None or slot.place[1] == 0:
                new = model.new_value(slot, change)
                model.attributes.setdefault(new, []).append(like_attribute(slot.entity, attribute))
                yield comparison(text, Op.NE, [variable, new], [], is_preferred=True)


def _document_value_constraints(model: WriteModel, slot: Slot) -> Iterator[Constraint]:
    """Constants of a new item, and its attributes that are equal: so they are in the object, unless that is broken.

    The time of the call replaces what the object has. So it is in the key of an item that is there already.
    """
    variation = model.variation
    for change in model.document_changes(slot):
        attribute, value = slot.entity.attribute(change.attribute), change.value
        if attribute is None or value is None:
            continue
        own = given(slot.place, attribute.name)
        text = f"{slot.entity.name}.{attribute.name} is set"
        is_broken = variation.breaks(Break.AGREEMENT, slot.place) and variation.names == (attribute.name,)
        if value.param is not None:
            # Both may be attributes of the new item: the value has to fit both. `_break_constraints` breaks it.
            if not is_broken:
                yield comparison(text, Op.EQ, [own, model.value_variable(slot, value.param)], [])
            continue
        if value.attribute is not None:
            source = given(slot.place, value.attribute)
            yield comparison(text, Op.NE if is_broken else Op.EQ, [own, source], [])
            continue
        constant = value_of(value, attribute, model.sample.now)
        if value.now is None:
            yield comparison(text, Op.NE if is_broken else Op.EQ, [own], [constant])
        elif slot.is_stored and (attribute.id or attribute.name in model.sample.base(slot.entity)):
            yield comparison(text, Op.EQ, [stored(slot.place, attribute.name)], [constant])


def _done_constraints(model: WriteModel, slot: Slot) -> Iterator[Constraint]:
    """The values that an earlier call has set; of a broken case, another value of the first."""
    is_broken = model.variation.breaks(Break.CONDITION, slot.place)
    for change in slot.action.changes if slot.action.verb is Verb.UPDATE else ():
        attribute = slot.entity.attribute(change.attribute)
        is_constant = change.op is ChangeOp.SET and change.value is not None and change.value.param is None
        if attribute is None or change.value is None or not is_constant:
            continue
        text = f"{slot.entity.name}.{attribute.name} is set already"
        constant = value_of(change.value, attribute, model.sample.now)
        yield comparison(text, Op.NE if is_broken else Op.EQ, [stored(slot.place, attribute.name)], [constant])
        is_broken = False


def _bound_constraints(model: WriteModel, slot: Slot) -> Iterator[Constraint]:
    """The value of a variable that is beyond its bounds."""
    variation = model.variation
    if variation.kind is Break.AMOUNT:
        variable = model.value_variable(slot, variation.names[0])
    elif variation.kind is Break.VALUE and slot.is_new:
        variable = given(slot.place, variation.names[0])
    elif variation.kind is Break.VALUE:
        slot_changes = changes(model.write, slot.action, slot.entity)
        change = next(change for change in slot_changes if change.attribute == variation.names[0])
        variable = model.new_value(slot, change)
    else:
        return
    model.values_beyond_bounds[variable] = variation.value
    model.attributes.setdefault(variable, []).append(Attribute(variation.names[0], Type(Kind.NUMBER)))
    yield comparison(variation.text, Op.EQ, [variable], [variation.value])


def _sum_constraints(model: WriteModel, slot: Slot, attribute: Attribute, change: Change) -> Iterator[Constraint]:
    """The sum of the stored number and an amount is within its bounds, unless the variation breaks that."""
    lowest, highest = model.sample.generator.bounds(attribute)
    if not slot.is_stored and slot.action.verb is not Verb.UPSERT:
        lowest = highest = None  # there is no sum
    sign = 1 if change.op is ChangeOp.ADD else -1
    input_name = change.value.param if change.value else None
    text = f"{attribute.name} {change.op} {input_name or (change.value.const if change.value else 1)}"
    variable = stored(slot.place, attribute.name)
    variation = model.variation
    is_broken = variation.breaks(Break.RESULT, slot.place) and variation.names == (attribute.name,)

    def test(value: Any, amount: Any) -> bool:
        total = ((value or 0) if slot.is_stored else 0) + sign * amount
        is_within = (lowest is None or total >= lowest) and (highest is None or total <= highest)
        return is_within is not is_broken

    if input_name is None:
        amount = 1 if change.value is None else value_of(change.value, attribute, model.sample.now)
        if lowest is not None or highest is not None:
            yield Constraint(text, (variable,), lambda value: test(value, amount), (amount,))
        return
    source = model.value_variable(slot, input_name)
    model.attributes.setdefault(source, []).append(_without_bounds(attribute))
    if not (variation.kind is Break.AMOUNT and variation.names == (input_name,)):
        yield from _amount_constraints(model, change, input_name, source)
    if lowest is not None or highest is not None:
        yield Constraint(text, (variable, source), test)


def _amount_constraints(model: WriteModel, change: Change, name: str, variable: Variable) -> Iterator[Constraint]:
    """An amount is positive, unless the document allows others, and within its bounds.

    What is added may be negative, too. Cases do without that if the document says nothing of the amount.
    """
    lowest, highest = amount_bounds(model.sample.workload, model.write, name)
    is_compared = any(leaf.attribute == name for check in model.input_checks for leaf in leaves(check))
    is_usual = not is_compared and (lowest is None or lowest > 0)
    if must_be_positive(model.sample.workload, model.write, change) or is_usual:
        yield Constraint(f"{name} > 0", (variable,), lambda value: value > 0, (0,))
    if lowest is not None:
        yield comparison(f"{name} >= {lowest}", Op.GE, [variable], [lowest])
    if highest is not None:
        yield comparison(f"{name} <= {highest}", Op.LE, [variable], [highest])


def _break_constraints(model: WriteModel, slot: Slot) -> Iterator[Constraint]:
    """The values of a broken link or agreement differ."""
    text = model.variation.text
    for equality in model.broken_equalities:
        if equality.place == slot.place:
            yield comparison(text, Op.NE, [equality.first, equality.second], [])
    deleted_position = model.deleted_list(slot)
    if deleted_position is not None and model.variation.kind is Break.ITEM:
        # The item that is there already is not one of the list, which would be deleted.
        membership = model.lists[deleted_position]
        names = [*membership.inputs, *membership.parents, *membership.over_attributes]
        own = [stored(slot.place, name) for name in names]
        items = [given(slot.place, name) for name in names]

        def is_apart(*values: Any) -> bool:
            return values[: len(own)] != values[len(own) :]

        yield Constraint(text, (*own, *items), is_apart)


def _without_bounds(attribute: Attribute) -> Attribute:
    """An amount has the type of the attribute that it is added to, and not its bounds."""
    return Attribute(attribute.name, attribute.type)
