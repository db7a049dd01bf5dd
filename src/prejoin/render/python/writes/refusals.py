"""What a method refuses before anything is sent: objects that do not belong together, and conditions."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from msgspec.structs import replace

from prejoin.design.mapping.shared_values import agreements, shared_inputs
from prejoin.render.python.conditions import failed_comparison, failed_test
from prejoin.render.python.layout import in_parentheses, string
from prejoin.render.python.method import ArgumentMismatch, InputValue
from prejoin.render.python.statements import Block, For, If, Raise, Statement
from prejoin.render.python.writes.item_conditions import is_given_value
from prejoin.render.python.writes.loops import Loop
from prejoin.render.python.writes.new_items import NewItem
from prejoin.render.python.writes.sources import Sources, ValueSources
from prejoin.workload.conditions import is_of_whole_item, operator_of, values_of
from prejoin.workload.grammar.writes import write_checks
from prejoin.workload.model import Attribute, Leaf, Test, Verb
from prejoin.workload.program.input_types import attribute_of_input
from prejoin.workload.program.resolved_write import Step


@dataclass(frozen=True, slots=True)
class Disagreement:
    """An attribute of a new object that does not agree with another value."""

    mismatch: ArgumentMismatch
    tests: tuple[str, ...]
    is_with_argument: bool = True
    """Whether the other value is another argument or said by the document, and not that of the list's first object."""

    @property
    def refusal(self) -> If:
        return If(in_parentheses(*self.tests), [Raise("ValueError", string(self.mismatch.message))])


@dataclass(frozen=True, slots=True)
class Belonging:
    """The checks that objects belong together, and the mismatches that they find."""

    block: Block
    mismatches: tuple[ArgumentMismatch, ...]


def belonging(sources: Sources) -> Belonging:
    """The checks that refuse objects which do not belong together."""
    block: list[Statement] = []
    mismatches: list[ArgumentMismatch] = []
    for step in sources.records:
        item = _new_item(sources, step)
        disagreements = [*_other_values(sources, item), *_disagreements(sources, item)]
        block += _in_loop(item.values.loop, [disagreement.refusal for disagreement in disagreements])
        mismatches += [disagreement.mismatch for disagreement in disagreements if disagreement.is_with_argument]
    return Belonging(block, tuple(mismatches))


def _new_item(sources: Sources, step: Step) -> NewItem:
    loop = sources.over(sources.records[step], step.entity) if step.is_list else None
    return NewItem(sources.of(step, loop))


def _in_loop(loop: Loop | None, block: Block) -> Block:
    return [For(loop.iteration, block)] if loop and block else block


def _other_values(sources: Sources, item: NewItem) -> Iterator[Disagreement]:
    """The attributes with another value than the document sets."""
    record = sources.steps.index(item.values.step)
    for attribute, tests, message in item.other_values():
        yield Disagreement(ArgumentMismatch(record, attribute.name, message), tests)


def _disagreements(sources: Sources, item: NewItem) -> Iterator[Disagreement]:
    """The attributes that have another value than those of another object, an input, or the others of the list."""
    step = item.values.step
    record = sources.steps.index(step)
    first = f"{sources.records[step].name}[0]"
    expectations = _expectations(sources, step)
    shared_names = {attribute.name for attribute in shared_inputs(step)}
    for attribute in step.entity.attributes:
        field = item.field(attribute.name)
        expectation = expectations.get(attribute.name, "")
        is_of_list = not expectation and attribute.name in shared_names and item.values.loop is not None
        if is_of_list:
            expectation = f"{first}.{item.values.field(attribute.name)}"
        if expectation and attribute.name != sources.tenant:
            mismatch = ArgumentMismatch(record, attribute.name, f"{field} is not {expectation}")
            yield Disagreement(mismatch, (field, f"!= {expectation}"), not is_of_list)


def _expectations(sources: Sources, step: Step) -> dict[str, str]:
    """The values that attributes of a new object must have, as those of another object or as a parameter."""
    params = {p.meaning.input: p.name for p in sources.params.values() if isinstance(p.meaning, InputValue)}
    expectations: dict[str, str] = {}
    for attribute in shared_inputs(step):
        if attribute.name in params:
            expectations[attribute.name] = params[attribute.name]
    for agreement in agreements(sources.steps):
        if sources.steps[agreement.part] is step:
            owner = sources.steps[agreement.owner]
            field = sources.context.names.field(owner.entity.name, agreement.owner_attribute)
            expectations[agreement.part_attribute] = f"{sources.records[owner].name}.{field}"
    return expectations


# --- Conditions -------------------------------------------------------------------------------------------------------


def refused_conditions(sources: Sources) -> list[Statement]:
    """The conditions on inputs, on new items, and on the objects that the caller gives."""
    return [*_strangers(sources), *_inputs(sources), *_new_items(sources)]


def _strangers(sources: Sources) -> Iterator[Statement]:
    """Refuses objects which do not belong to the items that the write names."""
    for step in sources.steps:
        if step.is_new or not step.is_list or not step.is_given_whole:
            continue
        loop = sources.over(sources.record(step), step.entity)
        values = sources.of(step)
        refusals: list[Statement] = []
        for name, source in step.sources.items():
            attribute = step.entity.attribute(name)
            if attribute is None or name == sources.tenant:
                continue
            field = f"{loop.record}.{values.field(name)}"
            text = values.input(source, replace(attribute, optional=False))
            message = string(f"{field} is not {text}")
            refusals.append(If(f"{field} != {text}", [Raise("ConditionFailed", message)]))
        if refusals:
            sources.context.imports.name("prejoin", "ConditionFailed")
            yield For(loop.iteration, refusals)


def _inputs(sources: Sources) -> Iterator[Statement]:
    values = ValueSources(sources, None)

    def opposite_of(leaf: Leaf) -> str:
        attribute = _type_of_input(sources, leaf.attribute)
        operands = [values.value(value, attribute) for value in values_of(leaf)]
        is_given = is_given_value(sources, leaf)
        return failed_comparison(
            operator_of(leaf), values.input(leaf.attribute, attribute), operands, attribute, is_given
        )

    yield from _refusals(sources, sources.resolved.input_conditions, opposite_of)


def _type_of_input(sources: Sources, name: str) -> Attribute:
    attribute = attribute_of_input(sources.context.workload, sources.write, name)
    assert attribute is not None  # checked in the document
    return replace(attribute, optional=False)


def _new_items(sources: Sources) -> Iterator[Statement]:
    for step in sources.records:
        conditions = [test for test in step.conditions if not is_of_whole_item(test)]
        if step.verb is Verb.CREATE and conditions:
            item = _new_item(sources, step)
            yield from _in_loop(item.values.loop, list(_refusals(sources, conditions, item.opposite_of)))


def _refusals(sources: Sources, conditions: Iterable[Test], opposite_of: Callable[[Leaf], str]) -> Iterator[If]:
    for condition in conditions:
        sources.context.imports.name("prejoin", "ConditionFailed")
        text = write_checks((condition,), frozenset(sources.inputs))
        message = string(f"not fulfilled: {text}")
        yield If(in_parentheses(failed_test(condition, opposite_of)), [Raise("ConditionFailed", message)])
