"""Cases of a read: inputs that find most, others, optional ones left out, the ends of ranges, and unknown ids."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, assert_never

from prejoin.cases.brute_force import BruteForce
from prejoin.cases.items import Values
from prejoin.cases.sample_data import SampleData
from prejoin.types import Kind
from prejoin.workload.model import RANGES, Input, Op, Result

Inputs = dict[str, Any]
_FURTHER_CASES = 2
"""Cases that find something, beside the first."""


def read_cases(sample: SampleData, brute_force: BruteForce) -> list[Inputs]:
    """The inputs of each case. The first finds most; of a read of one item, exactly one if possible."""
    name = brute_force.entities[0]
    candidates: list[Inputs] = []
    for item in sample.items.get(name, []):
        inputs = _from_item(sample, brute_force, item)
        if inputs is not None and inputs not in candidates:
            candidates.append(inputs)
    if not candidates:
        return [_inputs_without_result(sample, brute_force, {})]
    with_counts = [(len(brute_force.answer(sample.items, inputs)), inputs) for inputs in candidates]
    match brute_force.read.result:
        case Result.ONE:  # a method for one item refuses several
            with_counts.sort(key=lambda pair: (pair[0] != 1, pair[0]))
        case Result.MANY | Result.COUNT | None:
            with_counts.sort(key=lambda pair: -pair[0])
        case _:
            assert_never(brute_force.read.result)
    best = with_counts[0][1]
    if not best:
        return [best]
    nonempty = [inputs for count, inputs in with_counts[1:] if count]
    cases = [best]
    for inputs in [nonempty[len(nonempty) // 2], nonempty[-1]] if nonempty else []:
        if inputs not in cases and len(cases) <= _FURTHER_CASES:
            cases.append(inputs)
    cases += _hidden_item_case(sample, brute_force, cases)
    cases += _range_end_cases(sample, brute_force, best)
    cases += [{k: v for k, v in best.items() if k != i.attribute} for i in brute_force.read.inputs if i.optional]
    never = _inputs_without_result(sample, brute_force, best)
    return [*cases, never] if never not in cases else cases


def _hidden_item_case(sample: SampleData, brute_force: BruteForce, cases: Sequence[Inputs]) -> list[Inputs]:
    """Inputs that would find an item that a construct hides, if it were visible."""
    name = brute_force.entities[0]
    for entity, item in sample.hidden.values():
        inputs = _from_item(sample, brute_force, item) if entity.name == name else None
        if inputs is not None and inputs not in cases:
            return [inputs]
    return []


def _is_given_by_caller(source: Input) -> bool:
    return not source.values and source.op not in {Op.EXISTS, Op.NOT_EXISTS}


def _from_item(sample: SampleData, brute_force: BruteForce, item: Values) -> Inputs | None:
    """Inputs that find an item; None if it lacks an attribute that is needed."""
    inputs: Inputs = {}
    for source in brute_force.read.inputs:
        name = brute_force.bound[source].get(brute_force.entities[0])
        if not _is_given_by_caller(source):
            continue
        if name is None or item.get(name) is None:
            name, value = _value_of_other_entity(sample, brute_force, source)
            if name is None:
                if source.optional:
                    continue
                return None
        else:
            value = item[name]
        inputs[source.attribute] = _input_value(sample, brute_force, source, name, value)
    return inputs


def _value_of_other_entity(sample: SampleData, brute_force: BruteForce, source: Input) -> tuple[str | None, Any]:
    """The value of an input that only another entity of the read has."""
    for entity, name in brute_force.bound[source].items():
        if entity != brute_force.entities[0]:
            for item in sample.items.get(entity, []):
                if item.get(name) is not None:
                    return name, item[name]
    return None, None


def _input_value(sample: SampleData, brute_force: BruteForce, source: Input, name: str, value: Any) -> Any:
    if source.many:
        return [value, *(v for v in _present_values(sample, brute_force, source, name) if v != value)][:3]
    match source.op:
        case Op.BETWEEN:
            # The item may be hidden: then it is not among the data, and may be below all of them.
            return (min(value, *_present_values(sample, brute_force, source, name)), value)
        case Op.BEGINS_WITH:
            return str(value)[:4] or "a"
        case Op.CONTAINS:
            return value[:1] if isinstance(value, str) else min(value, key=str, default="")
        case Op.IN:
            return [value]
        case Op.EQ | Op.NE | Op.LT | Op.LE | Op.GT | Op.GE | Op.EXISTS | Op.NOT_EXISTS:
            return value
        case _:
            assert_never(source.op)


def _any_input_value(source: Input, value: Any) -> Any:
    """Any value for an input that is not compared for equality."""
    match source.op:
        case Op.BETWEEN:
            return (value, value)
        case Op.IN:
            return [value]
        case Op.EQ | Op.NE | Op.LT | Op.LE | Op.GT | Op.GE | Op.BEGINS_WITH | Op.CONTAINS | Op.EXISTS | Op.NOT_EXISTS:
            return value
        case _:
            assert_never(source.op)


def _present_values(sample: SampleData, brute_force: BruteForce, source: Input, name: str) -> list[Any]:
    """The different values of an attribute in the data."""
    entity = next(e for e, n in brute_force.bound[source].items() if n == name)
    values: list[Any] = []
    for item in sample.items[entity]:
        if item.get(name) is not None and item[name] not in values:
            values.append(item[name])
    return values


def _range_end_cases(sample: SampleData, brute_force: BruteForce, best: Inputs) -> list[Inputs]:
    """The first case with other ranges: a single value, all values, and the ends."""
    cases: list[Inputs] = []
    for source in brute_force.read.inputs:
        if source.op not in RANGES or not _is_given_by_caller(source) or source.attribute not in best:
            continue
        entity, name = next(iter(brute_force.bound[source].items()))
        free = {k: v for k, v in best.items() if k != source.attribute}
        answer = brute_force.answer(
            sample.items, {**free, source.attribute: _whole_range(sample, brute_force, source, name)}
        )
        values = sorted({v[name] for e, v in answer if e == entity and v.get(name) is not None})
        if not values:
            continue
        if source.op is Op.BETWEEN:
            ends: Sequence[Any] = [(values[0], values[-1]), (values[0], values[0]), (values[-1], values[-1])]
        elif source.op is Op.BEGINS_WITH:
            ends = [str(values[-1]) or "a", str(values[0])[:1] or "a"]
        else:
            ends = [values[0], values[-1], values[len(values) // 2]]
        cases += [{**free, source.attribute: end} for end in ends]
    return cases


def _whole_range(sample: SampleData, brute_force: BruteForce, source: Input, name: str) -> Any:
    values = sorted(_present_values(sample, brute_force, source, name))
    match source.op:
        case Op.BETWEEN:
            return (values[0], values[-1])
        case Op.BEGINS_WITH:
            return ""
        case Op.GT | Op.GE:
            return values[0]
        case Op.LT | Op.LE | Op.EQ | Op.NE | Op.IN | Op.CONTAINS | Op.EXISTS | Op.NOT_EXISTS:
            return values[-1]
        case _:
            assert_never(source.op)


def _inputs_without_result(sample: SampleData, brute_force: BruteForce, best: Inputs) -> Inputs:
    """The first case with ids that do not exist: nothing may be found."""
    inputs = dict(best)
    for source in brute_force.read.inputs:
        bound = next(iter(brute_force.bound[source].items()), None)
        attribute = sample.entity(bound[0]).attribute(bound[1]) if bound else None
        if attribute is None or not _is_given_by_caller(source):
            continue
        if source.op is not Op.EQ:
            if source.attribute not in inputs and not source.optional:
                inputs[source.attribute] = _any_input_value(source, sample.generator.value(attribute))
            continue
        if attribute.type.kind in (Kind.ENUM, Kind.BOOLEAN) and inputs:
            continue
        present_values = _present_values(sample, brute_force, source, attribute.name)
        value = present_values[0] if present_values else None
        for _ in range(20):
            value = sample.generator.value(attribute)
            if value not in present_values:
                break
        inputs[source.attribute] = [value, *present_values[:1]] if source.many else value
    return inputs
