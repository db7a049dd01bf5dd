"""The inputs of a read in its method: parameters, and the tests of items."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import assert_never

from prejoin.render.python.conditions import any_of, as_lambda, comparison, recorded_attribute, value_text
from prejoin.render.python.context import RenderContext
from prejoin.render.python.layout import Part
from prejoin.render.python.method import LOCAL, InputValue, Param
from prejoin.render.python.names import plural, single
from prejoin.types import Kind
from prejoin.workload.field_names import RESERVED, free, identifier
from prejoin.workload.lookup import alternatives
from prejoin.workload.model import Attribute, Input, Op, Value
from prejoin.workload.program.resolved_read import Clause

_RESERVED = RESERVED | LOCAL | {"limit", "after", "now"}


@dataclass(frozen=True, slots=True)
class InputCode:
    """An input with its attribute and field, and its values as code."""

    clause: Clause
    attribute: Attribute
    field: str
    values: tuple[str, ...]

    @property
    def input(self) -> Input:
        return self.clause.input

    @property
    def is_optional(self) -> bool:
        return self.input.optional and not self.input.values

    @property
    def is_given(self) -> str:
        """The test whether an optional input is given; of a range, both ends."""
        return " and ".join(f"{name} is not None" for name in self.values)

    def test(self, context: RenderContext) -> Part:
        """The comparison of the input."""
        is_constant = any(value.attribute is None for value in self.input.values)
        return comparison(self.input.op, self.field, self.values, self.attribute, context, has_params=not is_constant)


def condition(inputs: Sequence[InputCode], context: RenderContext) -> Part:
    """A condition on the items: `lambda o: between(o.placed_at, low, high)`."""
    return as_lambda(tests_of(inputs, context))


def tests_of(inputs: Sequence[InputCode], context: RenderContext) -> list[Part]:
    """The tests of an item, all of which it has to pass. Alternatives are one test: `(a) | (b)`."""
    codes = iter(inputs)
    groups = alternatives(code.input for code in inputs)
    return [any_of([next(codes).test(context) for _ in group]) for group in groups]


class InputNames:
    """The parameters of a read's inputs, whose names differ."""

    def __init__(self, context: RenderContext, first_entity: str) -> None:
        self.context = context
        self.first_entity = first_entity
        self.params: list[Param] = []

    def code_of(self, clause: Clause) -> InputCode:
        """An input as code. Its parameters are added."""
        entity = self.first_entity if self.first_entity in clause.bound else next(iter(clause.bound))
        attribute = clause.bound[entity]
        field = self.context.names.field(entity, attribute.name)
        values: tuple[str, ...] = ()
        if clause.input.values:
            values = tuple(self._constant(value, entity, attribute) for value in clause.input.values)
        elif clause.input.op.arity:
            values = tuple(self._add_params(clause, entity, attribute))
        return InputCode(clause, attribute, field, values)

    def _constant(self, value: Value, entity: str, attribute: Attribute) -> str:
        """A value that an attribute is compared with, as code."""
        if value.attribute is None:
            return value_text(value, attribute, self.context)
        other = single(self.context.workload, entity, value.attribute)
        return recorded_attribute(self.context.names.field(entity, other.name), other, self.context)

    def _add_params(self, clause: Clause, entity: str, attribute: Attribute) -> list[str]:
        """Adds the parameters of an input, and gives their names."""
        is_optional = clause.input.optional
        type_ = input_type(clause.input, entity, attribute, self.context)
        names: list[str] = []
        for text, meaning in _meanings(clause, attribute):
            name = free(identifier(text, _RESERVED), [param.name for param in self.params])
            annotation_ = f"{type_} | None" if is_optional else type_
            self.params.append(Param(name, annotation_, meaning, "None" if is_optional else ""))
            names.append(name)
        return names


def _meanings(clause: Clause, attribute: Attribute) -> list[tuple[str, InputValue]]:
    """The parameters of an input, each with the words of its name."""
    name, condition_ = clause.name, clause.input
    if condition_.op is Op.BETWEEN:
        low, high = (InputValue(condition_.attribute, "low"), InputValue(condition_.attribute, "high"))
        return [(f"{name} from", low), (f"{name} to", high)]
    if condition_.many:
        return [(plural(identifier(name, ())), InputValue(condition_.attribute, many=True))]
    if condition_.op is Op.EQ:
        return [(name, InputValue(condition_.attribute))]
    words = f"{name} {_ending(condition_.op, attribute.type.numeric)}"
    return [(words, InputValue(condition_.attribute, many=condition_.op is Op.IN))]


def _ending(op: Op, is_number: bool) -> str:
    """The end of the name of a parameter that is not compared for equality: `placed_at_since`, `price_at_most`."""
    match op:
        case Op.NE:
            return "other_than"
        case Op.LT:
            return "below" if is_number else "before"
        case Op.LE:
            return "at_most" if is_number else "until"
        case Op.GT:
            return "above" if is_number else "after"
        case Op.GE:
            return "at_least" if is_number else "since"
        case Op.BEGINS_WITH:
            return "prefix"
        case Op.CONTAINS:
            return "containing"
        case Op.IN:
            return "in"
        case Op.EQ | Op.BETWEEN | Op.EXISTS | Op.NOT_EXISTS:
            raise AssertionError(f"{op} has no parameter, or two, or one with the name of its attribute")
        case _:
            assert_never(op)


def input_type(condition_: Input, entity: str, attribute: Attribute, context: RenderContext) -> str:
    """The type of the parameter for an input."""
    if condition_.op is Op.CONTAINS and attribute.type.kind in {Kind.LIST, Kind.SET}:
        return context.member_type(attribute.type)
    # DynamoDB compares prefixes and parts of texts; a date or an id is stored as one.
    if condition_.op in {Op.BEGINS_WITH, Op.CONTAINS}:
        return "str"
    type_ = context.type_of(entity, attribute)
    return context.sequence(type_) if condition_.many or condition_.op is Op.IN else type_
