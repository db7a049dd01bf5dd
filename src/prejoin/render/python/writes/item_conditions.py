"""The conditions on items, as lambdas that DynamoDB checks."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from msgspec.structs import replace

from prejoin.render.python.conditions import as_lambda, comparison, test_part
from prejoin.render.python.layout import Part, call, keyword
from prejoin.render.python.writes.loops import LoopValue
from prejoin.render.python.writes.sources import Sources, StepSources
from prejoin.workload.conditions import holds_if_absent, is_of_whole_item, leaves, operator_of, values_of
from prejoin.workload.model import Comparison, Leaf, Op, Test, Verb
from prejoin.workload.program.resolved_write import CheckedItem, is_range_of_inputs


def check_of(sources: Sources, item: CheckedItem) -> Part:
    """The check of an item that is not written."""
    values = sources.of(item.step)
    if sources.finds_checked(item):
        record = sources.variable_of(item)
        fields = {name: f"{record}.{values.field(name)}" for name in values.key}
    else:
        fields = {name: values.stored_value(name) for name in values.key}
    for name, source in item.ties(values.key).items():
        fields[name] = values.input(source, replace(values.attribute(name), optional=False))
    if item.must_be_absent:
        return call("tx.check_absent", values.cls, *values.keywords(fields))
    tests = ItemTests(values, fields).of(item.conditions)
    options = [keyword("where", as_lambda(tests))] if tests else []
    if tests and all(map(holds_if_absent, item.conditions)):
        options.append("or_absent=True")
    return call("tx.check", values.cls, *options, *values.keywords(fields))


def where_options(values: StepSources, key_values: Mapping[str, str]) -> list[Part]:
    """The `where` argument of a write: the condition on the item of a step, if there is one.

    `key_values` are the values that are given with the key, by attribute: those of the key and others.
    """
    step = values.step
    item_tests = ItemTests(values, key_values)
    tests = item_tests.of(step.conditions)
    if _requires_item(values) and not step.action.updates and not _implies_item(values, key_values):
        tests.append(_item_test(values, Op.EXISTS))
    if step.must_be_absent:
        tests.append(_item_test(values, Op.NOT_EXISTS))
    return [keyword("where", as_lambda(tests, item_tests.is_looped))] if tests else []


def _demanding_conditions(values: StepSources) -> list[Test]:
    """The conditions that are false of an absent item."""
    conditions = values.step.conditions
    return [test for test in conditions if not is_of_whole_item(test) and not holds_if_absent(test)]


def _requires_item(values: StepSources) -> bool:
    """Whether the write is refused if the item does not exist."""
    step = values.step
    if step.must_exist or _demanding_conditions(values):
        return True
    is_given = step.verb is Verb.DELETE and values.loop is not None and step.list_source.is_given
    return (is_given and step.write.atomic is not False) or step.needs_item(values.key)


def _implies_item(values: StepSources, key_values: Mapping[str, str]) -> bool:
    """Whether the tests of attributes are false of an absent item, so that they need no other test.

    An equality with the key is not compared, because another value is another key.
    """
    names = {*key_values}
    for test in _demanding_conditions(values):
        names.update(leaf.attribute for leaf in leaves(test))
    return not names.issubset(values.key)


def _item_test(values: StepSources, op: Op) -> Part:
    """The test that an item exists, or does not, by an attribute that every item has."""
    required_names = [attribute.name for attribute in values.entity.attributes if not attribute.optional]
    # Of its key, unless there is only one item.
    attribute = values.attribute([*values.key, *required_names][0])
    return comparison(op, values.field(attribute.name), (), attribute, values.context)


class ItemTests:
    """The tests of an item, without equalities with values that are given with the key: these are compared anyway."""

    def __init__(self, values: StepSources, key_values: Mapping[str, str]) -> None:
        self.values = values
        self.key_values = key_values
        self.is_looped = False
        """Whether the tests use variables of a loop."""

    def of(self, conditions: Iterable[Test]) -> list[Part]:
        return list(self._tests(conditions))

    def _tests(self, conditions: Iterable[Test]) -> Iterator[Part]:
        for condition in conditions:
            if not is_of_whole_item(condition) and not self._is_in_key(condition):
                yield test_part(condition, self._leaf_tests, self.values.context)

    def _is_in_key(self, test: Test) -> bool:
        """Whether a condition is an equality with the value that is given with the key."""
        if not isinstance(test, Comparison) or test.op is not Op.EQ or test.attribute not in self.key_values:
            return False
        value = self.values.compared_value(test.values[0], self.values.attribute(test.attribute))
        return value == self.key_values[test.attribute]

    def _leaf_tests(self, leaf: Leaf) -> list[Part]:
        context = self.values.context
        if not leaf.attribute:
            return [_item_test(self.values, operator_of(leaf))]
        attribute = self.values.attribute(leaf.attribute)
        operands = [self.values.compared_value(value, attribute) for value in values_of(leaf)]
        self.is_looped = self.is_looped or any(isinstance(operand, LoopValue) for operand in operands)
        field, is_given = self.values.field(attribute.name), is_given_value(self.values.sources, leaf)
        if isinstance(leaf, Comparison) and is_range_of_inputs(leaf):
            # If the ends of a `between` are the wrong way round, DynamoDB refuses the whole request.
            low, high = operands
            at_least = comparison(Op.GE, field, [low], attribute, context, is_given)
            return [at_least, comparison(Op.LE, field, [high], attribute, context, is_given)]
        return [comparison(operator_of(leaf), field, operands, attribute, context, is_given)]


def is_given_value(sources: Sources, leaf: Leaf) -> bool:
    """Whether the values of a condition are no constants; for `in`, whether they are one parameter, a list."""
    operands = values_of(leaf)
    names = {value.param for value in operands if value.param is not None}
    if operator_of(leaf) is Op.IN:
        return not names.isdisjoint(sources.resolved.list_inputs)
    return bool(names) or any(value.attribute is not None for value in operands)
