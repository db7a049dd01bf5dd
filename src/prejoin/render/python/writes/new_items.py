"""New items: the values that the document sets, and the conditions on their objects."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from msgspec.structs import replace

from prejoin.render.python.conditions import failed_comparison
from prejoin.render.python.entities import with_other_values
from prejoin.render.python.layout import Part, call
from prejoin.render.python.writes.item_conditions import is_given_value, where_options
from prejoin.render.python.writes.sources import StepSources
from prejoin.workload.conditions import operator_of, values_of
from prejoin.workload.model import Attribute, Comparison, Leaf, Op, Value, Verb


@dataclass(frozen=True, slots=True)
class DocumentValue:
    """A value that the document sets for an attribute of a new item."""

    attribute: Attribute
    value: Value
    text: str
    """The value as code."""

    @property
    def is_moment(self) -> bool:
        return self.value.now is not None

    @property
    def is_completed(self) -> bool:
        """Whether the method sets it. Other values are only compared with those of the object.

        An object may lack an optional attribute. Nobody knows the time of the call before, so that `now` replaces what
        the object has.
        """
        return self.attribute.optional or self.is_moment


class NewItem:
    """The object of a new item, or that of a loop over several."""

    def __init__(self, values: StepSources) -> None:
        self.values = values
        loop = values.loop
        self.record = loop.record if loop else values.sources.records[values.step].name

    def field(self, attribute: str) -> str:
        return f"{self.record}.{self.values.field(attribute)}"

    def document_values(self) -> Iterator[DocumentValue]:
        for change in self.values.step.set_by_document:
            attribute = self.values.entity.attribute(change.attribute)
            if attribute is None or change.value is None:
                continue
            if change.value.attribute is not None:
                yield DocumentValue(attribute, change.value, self.field(change.value.attribute))
            else:
                yield DocumentValue(attribute, change.value, self.values.value(change.value, attribute))

    def with_document_values(self) -> Part:
        """The object with the values that the method sets."""
        context = self.values.context
        values = [value for value in self.document_values() if value.is_completed]
        if not values:
            return self.record
        fields = [(self.values.field(value.attribute.name), value.text) for value in values]
        return with_other_values(self.record, fields, context.style, context.imports)

    def write(self, writer: str) -> Part:
        """The call that writes the object."""
        record = self.with_document_values()
        if self.values.step.verb is Verb.CREATE:
            return call(f"{writer}.insert", record)
        options = where_options(self.values, {})
        if self.values.entity.name in self.values.sources.operation.read_first:
            options.append("read=True")
        return call(f"{writer}.put", record, *options)

    # --- Conditions, which are checked before anything is sent --------------------------------------------------------

    def opposite_of(self, leaf: Leaf) -> str:
        """The opposite of a test of the object, in Python."""
        attribute = self.values.attribute(leaf.attribute)
        if isinstance(leaf, Comparison) and leaf.values[0].attribute is not None:
            return self._failed_relation(leaf.op, attribute, self.values.attribute(leaf.values[0].attribute))
        operands = [self.values.value(value, attribute) for value in values_of(leaf)]
        is_given = is_given_value(self.values.sources, leaf)
        return failed_comparison(operator_of(leaf), self._value_of(attribute), operands, attribute, is_given)

    def _failed_relation(self, op: Op, attribute: Attribute, other: Attribute) -> str:
        """The opposite of a comparison of two attributes of the object."""
        operand = self._value_of(other)
        opposite = failed_comparison(op, self._value_of(attribute), [operand], attribute)
        if not other.optional:
            return opposite
        # DynamoDB finds an absent attribute unlike everything, and every other comparison with it false.
        return f"{operand} is not None and ({opposite})" if op is Op.NE else f"{operand} is None or {opposite}"

    def _value_of(self, attribute: Attribute) -> str:
        """The value of an attribute that is written: that of the document, or that of the object."""
        texts = {value.attribute.name: value.text for value in self.document_values()}
        return texts.get(attribute.name, self.field(attribute.name))

    def other_values(self) -> Iterator[tuple[Attribute, tuple[str, ...], str]]:
        """The attributes with another value than the document sets: the tests, and the message of the refusal."""
        for value in self.document_values():
            if value.is_moment:
                continue
            field = self.field(value.attribute.name)
            is_given = value.value.const is None
            required_attribute = replace(value.attribute, optional=False)
            differs = failed_comparison(Op.EQ, field, [value.text], required_attribute, is_given)
            tests = (f"{field} is not None", f"and {differs}") if value.attribute.optional else (differs,)
            yield value.attribute, tests, f"{field} is not {value.text}"
