"""The constraints of a write on the values of its items and inputs, and how a variation breaks them.

From `fromAccountId.available >= amount` comes one on two variables: the stored number, and the input.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, assert_never

from prejoin.cases.amounts import amount_bounds, must_be_positive
from prejoin.cases.case_variation import Break, Side, Variation
from prejoin.cases.conditions import compare, elements_of, is_decisive, is_true, value_of
from prejoin.cases.constraints import Constraint, Part, Variable, comparison
from prejoin.cases.slots import Constant, Slot, Term, given_variable, input_variable, stored_variable
from prejoin.cases.write_model import WriteModel, is_simple, like_attribute
from prejoin.constructs.construct import DeclaredConstruct
from prejoin.constructs.registry import hiding_constructs, maintained
from prejoin.types import Kind, Type
from prejoin.workload.conditions import is_of_whole_item, leaves, operator_of, values_of
from prejoin.workload.lookup import changes, member_of
from prejoin.workload.model import Attribute, Change, ChangeOp, Comparison, Leaf, Op, Test, Value, Verb
from prejoin.workload.program.input_types import attribute_of_input


def write_constraints(model: WriteModel) -> Iterator[Constraint]:
    """All constraints of a write, with those that the variation breaks turned into their opposite."""
    for slot in model.slots:
        if model.is_done(slot) and not slot.compares_new:
            yield from _done_constraints(model, slot)
        else:
            yield from _slot_constraints(model, slot)
    for check in model.input_checks:
        yield from _input_constraints(model, check)


def _slot_constraints(model: WriteModel, slot: Slot) -> Iterator[Constraint]:
    """The constraints on one item: its conditions, its values, and what the variation breaks."""
    for check in slot.checks:
        yield from _check_constraints(model, slot, check)
    yield from _change_constraints(model, slot)
    yield from _document_value_constraints(model, slot)
    if model.variation.place == slot.place:
        # What the document wants is left out elsewhere; here is what the case wants instead.
        yield from _break_constraints(model, slot)
        yield from _bound_constraints(model, slot)


# --- Conditions -----------------------------------------------------------------------------------------------------


def _input_constraints(model: WriteModel, check: Test) -> Iterator[Constraint]:
    """The constraint of a condition on inputs that are no attributes: `n > 0`."""
    slot = model.slots[0]
    if not isinstance(check, Comparison):
        yield _combination(model, slot, check)
        return
    attribute = attribute_of_input(model.sample.workload, model.write, check.attribute)
    if attribute is not None:
        is_broken = model.variation.check is check and model.variation.kind is Break.CONDITION
        term = Term(check, input_variable(check.attribute), _sources(model, slot, check, attribute))
        yield _leaf_constraint(model, term, Break.CONDITION if is_broken else Break.NOTHING)


def _check_constraints(model: WriteModel, slot: Slot, check: Test) -> Iterator[Constraint]:
    """The constraint of a condition on attributes; none if it says nothing of this item."""
    if is_of_whole_item(check):
        return
    is_broken = model.variation.place == slot.place and model.variation.check is check
    if not slot.compares_new and not slot.is_stored:
        # An absent item has no values; a condition with parts may be true of it.
        if is_broken and model.variation.decisive:
            yield _combination(model, slot, check)
    elif not is_simple(check):
        yield _combination(model, slot, check)
    else:
        leaf = next(leaves(check))
        attribute = slot.entity.attribute(leaf.attribute)
        if attribute is not None:
            own = _own_variable(model, slot, attribute.name)
            term = Term(leaf, own, _sources(model, slot, leaf, attribute))
            kind = model.variation.kind if is_broken else Break.NOTHING
            yield _leaf_constraint(model, term, kind, model.variation.side)


def _leaf_constraint(model: WriteModel, term: Term, kind: Break, side: Side | None = None) -> Constraint:
    """The constraint of a condition on one attribute or input, which compares it with inputs and constants.

    What it is compared with has a value in every case. If the condition is broken, so has the attribute, because an
    absent one is a case of its own; with a side, the value is on that side of the range.
    """
    op = operator_of(term.leaf)

    def fits(value: Any, *source_values: Any) -> bool:
        operands = term.operands(source_values)
        if None in operands:
            return False
        if kind is Break.ATTRIBUTE:
            return value is None
        if kind is not Break.CONDITION:
            return _is_comparison_true(op, value, operands, True)
        if op in (Op.EXISTS, Op.NOT_EXISTS):
            return not compare(op, value, operands)
        if value is None:
            return False
        if op is Op.BETWEEN and side is not None:
            return _is_on_side(side, value, *operands)
        return _is_comparison_true(op, value, operands, False)

    constants = () if kind is Break.ATTRIBUTE else tuple(term.constants)
    return Constraint(model.text(term.leaf), tuple(term.variables), fits, constants)


def _is_comparison_true(op: Op, value: Any, operands: list[Any], truth: bool) -> bool:
    """Whether a comparison has this truth. One of values that cannot be compared has none."""
    try:
        return compare(op, value, elements_of(op, operands)) is truth
    except TypeError:
        return False


def _is_on_side(side: Side, value: Any, low: Any, high: Any) -> bool:
    """Whether a value is not within a range, on the side that the variation says."""
    try:
        match side:
            case Side.BELOW:
                return bool(value < low <= high)
            case Side.ABOVE:
                return bool(low <= high < value)
            case Side.INVERTED:
                return bool(high <= value <= low and high < low)
            case _:
                assert_never(side)
    except TypeError:
        return False


@dataclass(frozen=True, slots=True)
class _Combination:
    """A condition with parts, and what the variation asks of it."""

    test: Test
    terms: Mapping[int, Term]
    """The parts, by the identity of their leaves: two may be equal."""
    variables: tuple[Variable, ...]
    variation: Variation
    absent_variables: Collection[Variable]
    hiding_tests: Sequence[tuple[Variable, Callable[[Any], bool]]]

    def fits(self, *values: Any) -> bool:
        """Whether the condition is true or false as the variation says, by the values of the variables."""
        by_variable = dict(zip(self.variables, values, strict=True))
        if self._is_excluded(by_variable):
            return False

        def truth(leaf: Leaf) -> bool:
            return self.terms[id(leaf)].truth(by_variable)

        if is_true(self.test, truth) is (self.variation.kind in (Break.CONDITION, Break.ATTRIBUTE)):
            return False
        decisive = self.variation.decisive
        if decisive is None:
            return True
        is_as_wanted = truth(decisive) is self.variation.decisive_truth
        return is_as_wanted and is_decisive(self.test, decisive, truth)

    def _is_excluded(self, by_variable: Mapping[Variable, Any]) -> bool:
        """Whether an attribute has a value that has to be absent, or one that hides the item."""
        for variable in self.absent_variables:
            if by_variable.get(variable) is not None:
                return True
        return any(is_hiding(by_variable.get(variable)) for variable, is_hiding in self.hiding_tests)

    def parts(self) -> Iterator[Part]:
        """The tests that alone decide whether it fits."""
        for term in self.terms.values():
            yield Part(tuple(term.variables), term.truth_of)
        for variable in self.absent_variables:
            yield Part((variable,), lambda value: value is None)
        for variable, is_hiding in self.hiding_tests:
            yield Part((variable,), is_hiding)


def _combination(model: WriteModel, slot: Slot, test: Test) -> Constraint:
    """The constraint of a condition with parts, or that compares two attributes."""
    terms = {id(leaf): _term(model, slot, leaf) for leaf in leaves(test)}
    variables: dict[Variable, None] = {}
    constants: list[Any] = []
    for term in terms.values():
        variables |= dict.fromkeys(term.variables)
        constants += term.constants
    variation = _variation_of(model, slot, test)
    absent_variables = {_own_variable(model, slot, name) for name in variation.names}
    hiding_tests = _hiding_attributes(model, slot)
    combination = _Combination(test, terms, tuple(variables), variation, absent_variables, hiding_tests)
    return Constraint(
        model.text(test), combination.variables, combination.fits, tuple(constants), parts=tuple(combination.parts())
    )


def _variation_of(model: WriteModel, slot: Slot, test: Test) -> Variation:
    """What the variation asks of a condition: nothing if it is about another condition, or about another item."""
    variation = model.variation
    is_of_other_item = variation.place != slot.place and variation.place[0] >= 0
    return Variation() if variation.check is not test or is_of_other_item else variation


def _hiding_attributes(model: WriteModel, slot: Slot) -> list[tuple[Variable, Callable[[Any], bool]]]:
    """The attributes that may hide an item that a write has to find, each with the test whether a value does.

    A put replaces an item without looking for it.
    """
    if slot.compares_new or slot.action.verb in (Verb.CREATE, Verb.PUT):
        return []
    return [
        (stored_variable(slot.place, name), partial(_hides, model, bound, name))
        for bound in hiding_constructs(slot.entity)
        for name in bound.held_names - bound.maintained_names
    ]


def _hides(model: WriteModel, bound: DeclaredConstruct, name: str, value: Any) -> bool:
    return bound.is_hidden({name: value}, model.sample.now)


def _own_variable(model: WriteModel, slot: Slot, name: str) -> Variable:
    return given_variable(slot.place, name) if slot.compares_new else stored_variable(slot.place, name)


def _term(model: WriteModel, slot: Slot, leaf: Leaf) -> Term:
    """A part of a condition, with the variables that its truth depends on."""
    if leaf.entity and not leaf.attribute:
        return Term(leaf, is_there=slot.is_stored)
    if leaf.entity:
        if not slot.compares_new and not slot.is_stored:
            return Term(leaf)
        attribute = slot.entity.attribute(leaf.attribute)
        own = _own_variable(model, slot, leaf.attribute)
    else:
        attribute = attribute_of_input(model.sample.workload, model.write, leaf.attribute)
        own = input_variable(leaf.attribute)
        if attribute is not None:
            model.add_attribute(own, attribute)
    assert attribute is not None  # checked in the document
    return Term(leaf, own, _sources(model, slot, leaf, attribute))


def _sources(model: WriteModel, slot: Slot, leaf: Leaf, attribute: Attribute) -> tuple[Variable | Constant, ...]:
    """What an attribute is compared with. The variables get its type, or that of its members."""
    is_member = operator_of(leaf) is Op.CONTAINS and attribute.type.kind in (Kind.SET, Kind.LIST)
    like = member_of(attribute) if is_member else attribute
    sources: list[Variable | Constant] = []
    for value in values_of(leaf):
        if value.attribute is not None:
            sources.append(_own_variable(model, slot, value.attribute))
        elif value.param is not None:
            variable = model.value_variable(slot, value.param)
            model.add_attribute(variable, like)
            sources.append(variable)
        else:
            sources.append(Constant(value_of(value, like, model.sample.now)))
    return tuple(sources)


# --- Changes --------------------------------------------------------------------------------------------------------


def _change_constraints(model: WriteModel, slot: Slot) -> Iterator[Constraint]:
    """Sums stay within their bounds, and a change should change something."""
    if slot.is_checked or slot.is_new:
        return
    for change in changes(model.write, slot.action, slot.entity):
        attribute = slot.entity.attribute(change.attribute)
        if attribute is None:
            continue
        if change.op in (ChangeOp.ADD, ChangeOp.SUBTRACT):
            yield from _sum_constraints(model, slot, attribute, change)
        elif change.op is ChangeOp.SET and slot.is_stored and attribute.name not in maintained(slot.entity):
            # No stored item has a maintained attribute: the client sets it.
            yield from _new_value_constraints(model, slot, attribute, change)


def _new_value_constraints(model: WriteModel, slot: Slot, attribute: Attribute, change: Change) -> Iterator[Constraint]:
    """The wish that the value which a change sets is another one than before."""
    if attribute.references:
        return
    text = f"{slot.entity.name}.{attribute.name} changes"
    variable = stored_variable(slot.place, attribute.name)
    if change.value is not None and change.value.param is None:
        constant = value_of(change.value, attribute, model.sample.now)
        yield comparison(text, Op.NE, [variable], [constant], is_preferred=True)
    elif model.lists.get(slot.place[0]) is None or slot.place[1] == 0:
        new = model.new_value(slot, change)
        model.add_attribute(new, like_attribute(slot.entity, attribute))
        yield comparison(text, Op.NE, [variable, new], [], is_preferred=True)


def _document_value_constraints(model: WriteModel, slot: Slot) -> Iterator[Constraint]:
    """Constants of a new item, and its attributes that are equal: so they are in the object, unless that is broken.

    The time of the call replaces what the object has. So it is in the key of an item that is there already.
    """
    for change in model.document_changes(slot):
        attribute = slot.entity.attribute(change.attribute)
        if attribute is not None and change.value is not None:
            yield from _document_value_constraint(model, slot, attribute, change.value)


def _document_value_constraint(
    model: WriteModel, slot: Slot, attribute: Attribute, value: Value
) -> Iterator[Constraint]:
    own, text = given_variable(slot.place, attribute.name), f"{slot.entity.name}.{attribute.name} is set"
    is_broken = model.variation.breaks(Break.AGREEMENT, slot.place) and model.variation.names == (attribute.name,)
    op = Op.NE if is_broken else Op.EQ
    if value.param is not None:
        # Both may be attributes of the new item: the value has to fit both. `_break_constraints` breaks it.
        if not is_broken:
            yield comparison(text, Op.EQ, [own, model.value_variable(slot, value.param)], [])
    elif value.attribute is not None:
        yield comparison(text, op, [own, given_variable(slot.place, value.attribute)], [])
    elif value.now is None:
        yield comparison(text, op, [own], [value_of(value, attribute, model.sample.now)])
    elif slot.is_stored and (attribute.id or attribute.name in model.sample.base(slot.entity)):
        time = value_of(value, attribute, model.sample.now)
        yield comparison(text, Op.EQ, [stored_variable(slot.place, attribute.name)], [time])


def _done_constraints(model: WriteModel, slot: Slot) -> Iterator[Constraint]:
    """The values that an earlier call has set; of a broken case, another value of the first."""
    if slot.action.verb is not Verb.UPDATE:
        return
    op = Op.NE if model.variation.breaks(Break.CONDITION, slot.place) else Op.EQ
    for change in slot.action.changes:
        attribute, value = slot.entity.attribute(change.attribute), change.value
        if attribute is None or change.op is not ChangeOp.SET or value is None or value.param is not None:
            continue
        constant = value_of(value, attribute, model.sample.now)
        text = f"{slot.entity.name}.{attribute.name} is set already"
        yield comparison(text, op, [stored_variable(slot.place, attribute.name)], [constant])
        op = Op.EQ


@dataclass(frozen=True, slots=True)
class _Sum:
    """The sum of the stored number and an amount, which is within its bounds unless the variation breaks that."""

    sign: int
    has_stored_number: bool
    lowest: int | None
    highest: int | None
    is_broken: bool

    @property
    def is_bounded(self) -> bool:
        return self.lowest is not None or self.highest is not None

    def fits(self, value: Any, amount: Any) -> bool:
        number = value if self.has_stored_number and value is not None else 0
        return self._is_within(number + self.sign * amount) is not self.is_broken

    def _is_within(self, total: Any) -> bool:
        if self.lowest is not None and total < self.lowest:
            return False
        return self.highest is None or bool(total <= self.highest)


def _sum_constraints(model: WriteModel, slot: Slot, attribute: Attribute, change: Change) -> Iterator[Constraint]:
    """The constraints on a stored number and the amount that is added to it, or taken away."""
    value = change.value
    variable = stored_variable(slot.place, attribute.name)
    total = _sum_of(model, slot, attribute, change)
    if value is None or value.param is None:
        amount = 1 if value is None else value_of(value, attribute, model.sample.now)
        text = f"{attribute.name} {change.op} {1 if value is None else value.const}"
        if total.is_bounded:
            yield Constraint(text, (variable,), lambda number: total.fits(number, amount), (amount,))
        return
    source = model.value_variable(slot, value.param)
    # An amount has the type of the attribute that it is added to, and not its bounds.
    model.add_attribute(source, Attribute(attribute.name, attribute.type))
    if model.variation.kind is not Break.AMOUNT or model.variation.names != (value.param,):
        yield from _amount_constraints(model, change, value.param, source)
    if total.is_bounded:
        yield Constraint(f"{attribute.name} {change.op} {value.param}", (variable, source), total.fits)


def _sum_of(model: WriteModel, slot: Slot, attribute: Attribute, change: Change) -> _Sum:
    variation = model.variation
    lowest, highest = model.sample.generator.bounds(attribute)
    if not slot.is_stored and slot.action.verb is not Verb.UPSERT:
        lowest = highest = None  # there is no sum
    sign = 1 if change.op is ChangeOp.ADD else -1
    if variation.may_exceed_bounds and variation.place == slot.place:
        lowest = highest = None  # the broken condition says the same
    is_broken = variation.breaks(Break.RESULT, slot.place) and variation.names == (attribute.name,)
    return _Sum(sign, slot.is_stored, lowest, highest, is_broken)


def _amount_constraints(model: WriteModel, change: Change, name: str, variable: Variable) -> Iterator[Constraint]:
    """An amount is positive, unless the document allows others, and within its bounds.

    What is added may be negative, too. Cases do without that if the document says nothing of the amount.
    """
    lowest, highest = amount_bounds(model.sample.workload, model.write, name)
    is_compared = any(leaf.attribute == name for check in model.input_checks for leaf in leaves(check))
    # A case of a usual call has a usual amount, although the document allows any.
    is_usual = not is_compared and (lowest is None or lowest > 0)
    if must_be_positive(model.sample.workload, model.write, change) or is_usual:
        yield Constraint(f"{name} > 0", (variable,), lambda value: value > 0, (0,))
    if lowest is not None:
        yield comparison(f"{name} >= {lowest}", Op.GE, [variable], [lowest])
    if highest is not None:
        yield comparison(f"{name} <= {highest}", Op.LE, [variable], [highest])


# --- What the variation breaks --------------------------------------------------------------------------------------


def _break_constraints(model: WriteModel, slot: Slot) -> Iterator[Constraint]:
    """The values of a broken link or agreement differ."""
    for equality in model.broken_equalities:
        if equality.place == slot.place:
            yield comparison(model.variation.text, Op.NE, [equality.first, equality.second], [])
    deleted_position = model.deleted_list(slot)
    if deleted_position is not None and model.variation.kind is Break.ITEM:
        yield _constraint_outside_list(model, slot, deleted_position)


def _constraint_outside_list(model: WriteModel, slot: Slot, deleted_position: int) -> Constraint:
    """The item that is there already is not one of the list that the write deletes: then it would be gone."""
    names = model.lists[deleted_position].own_names
    stored_variables = [stored_variable(slot.place, name) for name in names]
    given_variables = [given_variable(slot.place, name) for name in names]

    def differs(*values: Any) -> bool:
        return values[: len(names)] != values[len(names) :]

    return Constraint(model.variation.text, (*stored_variables, *given_variables), differs)


def _bound_constraints(model: WriteModel, slot: Slot) -> Iterator[Constraint]:
    """The value of a variable that is beyond its bounds."""
    variation = model.variation
    if variation.kind is Break.AMOUNT:
        variable = model.value_variable(slot, variation.names[0])
    elif variation.kind is Break.VALUE and slot.is_new:
        variable = given_variable(slot.place, variation.names[0])
    elif variation.kind is Break.VALUE:
        slot_changes = changes(model.write, slot.action, slot.entity)
        change = next(change for change in slot_changes if change.attribute == variation.names[0])
        variable = model.new_value(slot, change)
    else:
        return
    model.values_beyond_bounds[variable] = variation.value
    model.add_attribute(variable, Attribute(variation.names[0], Type(Kind.NUMBER)))
    yield comparison(variation.text, Op.EQ, [variable], [variation.value])
