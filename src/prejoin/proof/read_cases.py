"""Cases of a read: inputs that find most, others, optional ones left out, the ends of ranges, and unknown ids."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, assert_never

from prejoin.proof.brute_force import BruteForce
from prejoin.proof.data import Values
from prejoin.proof.sample_table import SampleTable
from prejoin.types import Kind
from prejoin.workload.model import RANGES, Input, Op, Result

Inputs = dict[str, Any]
_OTHERS = 2
"""Cases that find something, beside the first."""


def read_cases(sample: SampleTable, brute_force: BruteForce) -> list[Inputs]:
    """The inputs of each case. The first finds most; of a read of one item, exactly one if possible."""
    name = brute_force.entities[0]
    taken: list[Inputs] = []
    for item in sample.items.get(name, []):
        given = _from_item(sample, brute_force, item)
        if given is not None and given not in taken:
            taken.append(given)
    if not taken:
        return [_never(sample, brute_force, {})]
    found = [(len(brute_force.answer(sample.items, given)), given) for given in taken]
    match brute_force.read.result:
        case Result.ONE:  # a method for one item refuses several
            found.sort(key=lambda one: (one[0] != 1, one[0]))
        case Result.MANY | Result.COUNT | None:
            found.sort(key=lambda one: -one[0])
        case _:
            assert_never(brute_force.read.result)
    best = found[0][1]
    if not best:
        return [best]
    others = [given for count, given in found[1:] if count]
    chosen = [best]
    for given in [others[len(others) // 2], others[-1]] if others else []:
        if given not in chosen and len(chosen) <= _OTHERS:
            chosen.append(given)
    chosen += _ends(sample, brute_force, best)
    chosen += [{k: v for k, v in best.items() if k != i.attribute} for i in brute_force.read.inputs if i.optional]
    never = _never(sample, brute_force, best)
    return [*chosen, never] if never not in chosen else chosen


def _by_caller(one: Input) -> bool:
    return not one.values and one.op not in {Op.EXISTS, Op.NOT_EXISTS}


def _from_item(sample: SampleTable, brute_force: BruteForce, item: Values) -> Inputs | None:
    """Inputs that find an item; None if it lacks an attribute that is needed."""
    given: Inputs = {}
    for one in brute_force.read.inputs:
        name = brute_force.bound[one].get(brute_force.entities[0])
        if not _by_caller(one):
            continue
        if name is None or item.get(name) is None:
            name, value = _elsewhere(sample, brute_force, one)
            if name is None:
                if one.optional:
                    continue
                return None
        else:
            value = item[name]
        given[one.attribute] = _given(sample, brute_force, one, name, value)
    return given


def _elsewhere(sample: SampleTable, brute_force: BruteForce, one: Input) -> tuple[str | None, Any]:
    """The value of an input that only another entity of the read has."""
    for entity, name in brute_force.bound[one].items():
        if entity != brute_force.entities[0]:
            for item in sample.items.get(entity, []):
                if item.get(name) is not None:
                    return name, item[name]
    return None, None


def _given(sample: SampleTable, brute_force: BruteForce, one: Input, name: str, value: Any) -> Any:
    if one.many:
        return [value, *(v for v in _all(sample, brute_force, one, name) if v != value)][:3]
    match one.op:
        case Op.BETWEEN:
            return (min(_all(sample, brute_force, one, name)), value)
        case Op.BEGINS_WITH:
            return str(value)[:4] or "a"
        case Op.CONTAINS:
            return value[:1] if isinstance(value, str) else min(value, key=str, default="")
        case Op.IN:
            return [value]
        case Op.EQ | Op.NE | Op.LT | Op.LE | Op.GT | Op.GE | Op.EXISTS | Op.NOT_EXISTS:
            return value
        case _:
            assert_never(one.op)


def _range(one: Input, value: Any) -> Any:
    """Any value for an input that is not compared for equality."""
    match one.op:
        case Op.BETWEEN:
            return (value, value)
        case Op.IN:
            return [value]
        case Op.EQ | Op.NE | Op.LT | Op.LE | Op.GT | Op.GE | Op.BEGINS_WITH | Op.CONTAINS | Op.EXISTS | Op.NOT_EXISTS:
            return value
        case _:
            assert_never(one.op)


def _all(sample: SampleTable, brute_force: BruteForce, one: Input, name: str) -> list[Any]:
    """The different values of an attribute in the data."""
    entity = next(e for e, n in brute_force.bound[one].items() if n == name)
    values: list[Any] = []
    for item in sample.items[entity]:
        if item.get(name) is not None and item[name] not in values:
            values.append(item[name])
    return values


def _ends(sample: SampleTable, brute_force: BruteForce, best: Inputs) -> list[Inputs]:
    """The first case with other ranges: a single value, all values, and the ends."""
    found: list[Inputs] = []
    for one in brute_force.read.inputs:
        if one.op not in RANGES or not _by_caller(one) or one.attribute not in best:
            continue
        entity, name = next(iter(brute_force.bound[one].items()))
        free = {k: v for k, v in best.items() if k != one.attribute}
        same = brute_force.answer(sample.items, {**free, one.attribute: _whole(sample, brute_force, one, name)})
        values = sorted({v[name] for e, v in same if e == entity and v.get(name) is not None})
        if not values:
            continue
        if one.op is Op.BETWEEN:
            ends: Sequence[Any] = [(values[0], values[-1]), (values[0], values[0]), (values[-1], values[-1])]
        elif one.op is Op.BEGINS_WITH:
            ends = [str(values[-1]) or "a", str(values[0])[:1] or "a"]
        else:
            ends = [values[0], values[-1], values[len(values) // 2]]
        found += [{**free, one.attribute: end} for end in ends]
    return found


def _whole(sample: SampleTable, brute_force: BruteForce, one: Input, name: str) -> Any:
    values = sorted(_all(sample, brute_force, one, name))
    match one.op:
        case Op.BETWEEN:
            return (values[0], values[-1])
        case Op.BEGINS_WITH:
            return ""
        case Op.GT | Op.GE:
            return values[0]
        case Op.LT | Op.LE | Op.EQ | Op.NE | Op.IN | Op.CONTAINS | Op.EXISTS | Op.NOT_EXISTS:
            return values[-1]
        case _:
            assert_never(one.op)


def _never(sample: SampleTable, brute_force: BruteForce, best: Inputs) -> Inputs:
    """The first case with ids that do not exist: nothing may be found."""
    given = dict(best)
    for one in brute_force.read.inputs:
        bound = next(iter(brute_force.bound[one].items()), None)
        attribute = sample.entity(bound[0]).attribute(bound[1]) if bound else None
        if attribute is None or not _by_caller(one):
            continue
        if one.op is not Op.EQ:
            if one.attribute not in given and not one.optional:
                given[one.attribute] = _range(one, sample.generator.value(attribute))
            continue
        if attribute.type.kind in (Kind.ENUM, Kind.BOOLEAN) and given:
            continue
        taken = _all(sample, brute_force, one, attribute.name)
        value = taken[0] if taken else None
        for _ in range(20):
            value = sample.generator.value(attribute)
            if value not in taken:
                break
        given[one.attribute] = [value, *taken[:1]] if one.many else value
    return given
