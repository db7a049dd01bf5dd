"""The inputs that a read is run with: those for which most is found, others, none at all, and the ends of ranges."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from prejoin.proof.data import Values
from prejoin.proof.reference import Reference
from prejoin.proof.sample_table import Bench
from prejoin.types import Kind
from prejoin.workload.model import RANGES, Input, Op, Result

Given = dict[str, Any]
_OTHERS = 2
"""Cases beside the one that finds most, for which something else is found."""


def cases(bench: Bench, asked: Reference) -> list[Given]:
    """What the caller gives, case by case; the first is the one for which most is found."""
    name = asked.entities[0]
    taken: list[Given] = []
    for item in bench.items.get(name, []):
        given = _from_item(bench, asked, item)
        if given is not None and given not in taken:
            taken.append(given)
    if not taken:
        return [_never(bench, asked, {})]
    found = [(len(asked.answer(bench.items, given)), given) for given in taken]
    if asked.read.result is Result.ONE:  # a method for one item refuses several
        found.sort(key=lambda one: (one[0] != 1, one[0]))
    else:
        found.sort(key=lambda one: -one[0])
    best = found[0][1]
    if not best:
        return [best]
    others = [given for count, given in found[1:] if count]
    chosen = [best]
    for given in [others[len(others) // 2], others[-1]] if others else []:
        if given not in chosen and len(chosen) <= _OTHERS:
            chosen.append(given)
    chosen += _ends(bench, asked, best)
    chosen += [{k: v for k, v in best.items() if k != i.attribute} for i in asked.read.inputs if i.optional]
    never = _never(bench, asked, best)
    return [*chosen, never] if never not in chosen else chosen


def _by_caller(one: Input) -> bool:
    return not one.values and one.op not in {Op.EXISTS, Op.NOT_EXISTS}


def _from_item(bench: Bench, asked: Reference, item: Values) -> Given | None:
    """Inputs that find an item. None where it has no value for one of them."""
    given: Given = {}
    for one in asked.read.inputs:
        name = asked.bound[one].get(asked.entities[0])
        if not _by_caller(one):
            continue
        if name is None or item.get(name) is None:
            name, value = _elsewhere(bench, asked, one)
            if name is None:
                if one.optional:
                    continue
                return None
        else:
            value = item[name]
        given[one.attribute] = _given(bench, asked, one, name, value)
    return given


def _elsewhere(bench: Bench, asked: Reference, one: Input) -> tuple[str | None, Any]:
    """The value of an input that only another of the entities has."""
    for entity, name in asked.bound[one].items():
        if entity != asked.entities[0]:
            for item in bench.items.get(entity, []):
                if item.get(name) is not None:
                    return name, item[name]
    return None, None


def _given(bench: Bench, asked: Reference, one: Input, name: str, value: Any) -> Any:
    if one.many:
        return [value, *(v for v in _all(bench, asked, one, name) if v != value)][:3]
    match one.op:
        case Op.BETWEEN:
            return (min(_all(bench, asked, one, name)), value)
        case Op.BEGINS_WITH:
            return str(value)[:4] or "a"
        case Op.CONTAINS:
            return next(iter(value), "")
        case Op.IN:
            return [value]
        case _:
            return value


def _all(bench: Bench, asked: Reference, one: Input, name: str) -> list[Any]:
    """The values that an attribute has in the data."""
    entity = next(e for e, n in asked.bound[one].items() if n == name)
    values: list[Any] = []
    for item in bench.items[entity]:
        if item.get(name) is not None and item[name] not in values:
            values.append(item[name])
    return values


def _ends(bench: Bench, asked: Reference, best: Given) -> list[Given]:
    """The ranges of the case that finds most, from one value to the same, over all there is, and past it."""
    found: list[Given] = []
    for one in asked.read.inputs:
        if one.op not in RANGES or not _by_caller(one) or one.attribute not in best:
            continue
        entity, name = next(iter(asked.bound[one].items()))
        free = {k: v for k, v in best.items() if k != one.attribute}
        same = asked.answer(bench.items, {**free, one.attribute: _whole(bench, asked, one, name)})
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


def _whole(bench: Bench, asked: Reference, one: Input, name: str) -> Any:
    values = sorted(_all(bench, asked, one, name))
    match one.op:
        case Op.BETWEEN:
            return (values[0], values[-1])
        case Op.BEGINS_WITH:
            return ""
        case Op.GT | Op.GE:
            return values[0]
        case _:
            return values[-1]


def _never(bench: Bench, asked: Reference, best: Given) -> Given:
    """The case with ids that nobody has: nothing is found, and nobody else's items either."""
    given = dict(best)
    for one in asked.read.inputs:
        bound = next(iter(asked.bound[one].items()), None)
        attribute = bench.entity(bound[0]).attribute(bound[1]) if bound else None
        if attribute is None or not _by_caller(one) or one.op is not Op.EQ:
            continue
        if attribute.type.kind in (Kind.ENUM, Kind.BOOLEAN) and given:
            continue
        taken = _all(bench, asked, one, attribute.name)
        value = taken[0] if taken else None
        for _ in range(20):
            value = bench.maker.value(attribute)
            if value not in taken:
                break
        given[one.attribute] = [value, *taken[:1]] if one.many else value
    return given
