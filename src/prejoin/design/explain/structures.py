"""Explains indexes and copies: their reads, contents and cost, and how a copy stays current."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import assert_never

from prejoin.design.cost.bill import bill
from prejoin.design.cost.heat import hot_loads
from prejoin.design.explain.costs import Costs
from prejoin.design.explain.model import AboutCopy, AboutIndex, AboutKey
from prejoin.design.explain.phrases import coded, listed, money, natural_order, verb
from prejoin.design.layout.index_keys import is_natural_index, other_form
from prejoin.design.layout.projection import WORTH, twin_of, with_projections, without_index
from prejoin.design.model import Design, Projection, ProjectionKind, Slot
from prejoin.workload.model import Combine, Read, Result, Workload


def indexes(workload: Workload, design: Design, keys: Sequence[AboutKey], costs: Costs) -> tuple[AboutIndex, ...]:
    found = []
    for slot in design.indexes:
        there = tuple(key for key in keys if key.slot == slot.name)
        patterns = tuple(natural_order(read for key in there for read in key.patterns))
        dollars = costs.indexes[slot.name]
        said = tuple(_index_words(workload, design, slot, there, patterns, dollars))
        found.append(AboutIndex(slot.name, patterns, there, _projected(slot.projection), dollars, said))
    return tuple(found)


def _index_words(
    workload: Workload, design: Design, slot: Slot, there: Sequence[AboutKey], patterns: Sequence[str], dollars: float
) -> Iterator[str]:
    if patterns:
        gives = verb(patterns, "needs it, because its inputs are", "need it, because their inputs are")
        yield f"{listed(patterns)} {gives} not the key of the table."
    else:
        yield "No access pattern needs it."
    names = list(dict.fromkeys(key.entity for key in there))
    if len(names) > 1:
        yield f"{listed(names)} share it, with different words in their keys."
    yield from _form_words(workload, design, slot)
    yield _projection_words(workload, design, slot, patterns)
    yield from _twin_words(workload, design, slot, patterns)
    yield f"It costs {money(dollars)} a month, for the additional writes and storage."


def _form_words(workload: Workload, design: Design, slot: Slot) -> Iterator[str]:
    """Why the keys of an index are attributes as they are, or texts, if both are possible."""
    other = other_form(design, workload, slot)
    if other is None:
        return
    natural = is_natural_index(design, slot)
    here, there = (design, other) if natural else (other, design)
    named = here.slot(slot.name)
    assert named is not None  # both forms have the index
    names = " / ".join(" + ".join(f"`{a.name}`" for a in side) for side in (named.pk, named.sk) if side)
    saved = [
        one.pattern
        for one in here.operations
        if (as_text := there.operation(one.pattern)) and len(one.requests) < len(as_text.requests)
    ]
    less = float(bill(workload, there).total - bill(workload, here).total)
    effect = f"save a request of {listed(saved)}" if saved else "save no request"
    paid = f"cost {money(abs(less))} a month {'less' if less > 0 else 'more'}" if round(less, 2) else "cost the same"
    if natural:
        yield f"Its keys are the attributes {names} themselves: no key is stored in addition, and it needs no backfill."
        yield f"Compared with key templates, they {effect} and {paid}."
    else:
        yield f"Its keys could be the attributes {names} themselves: these would {effect} and {paid}."


def _projected(projection: Projection) -> str:
    more = f" {', '.join(projection.attributes)}" if projection.attributes else ""
    return f"{projection.kind.value}{more}"


def _projection_words(workload: Workload, design: Design, slot: Slot, patterns: Sequence[str]) -> str:
    match slot.projection.kind:
        case ProjectionKind.KEYS_ONLY:
            return "It projects keys only (KEYS_ONLY): its reads need no other attributes."
        case ProjectionKind.INCLUDE:
            return f"It projects {coded(slot.projection.attributes)} (INCLUDE): its reads need no other attributes."
        case ProjectionKind.ALL:
            reads = [r for p in patterns if isinstance(r := workload.pattern(p), Read)]
            whole = [r.id for r in reads if not r.needs and r.result is not Result.COUNT]
            if whole:
                return (
                    f"It projects all attributes (ALL): {listed(whole)} {verb(whole, 'returns', 'return')} whole items."
                )
            return f"It projects all attributes (ALL): {_all_the_same(workload, design, slot)}."
        case _:
            assert_never(slot.projection.kind)


def _twin_words(workload: Workload, design: Design, slot: Slot, patterns: Sequence[str]) -> Iterator[str]:
    """What an index saves that holds less than another one with the same keys."""
    twin = twin_of(slot, design)
    if twin is None or slot.projection.kind is ProjectionKind.ALL:
        return
    rest = without_index(slot, design, workload)
    units = {
        one.pattern: (one.units.read, other.units.read)
        for one in design.operations
        if one.pattern in patterns and one.units and (other := rest.operation(one.pattern)) and other.units
    }
    more = [
        f"{pattern} would read {there:g} units a call instead of {here:g}" for pattern, (here, there) in units.items()
    ]
    hot = {load.read for load in hot_loads(workload, rest)} - {load.read for load in hot_loads(workload, design)}
    limit = ", which is more than a partition takes" if hot else ""
    yield f"{twin.name} has the same keys with more attributes: there, {listed(more)}{limit}."


def _all_the_same(workload: Workload, design: Design, slot: Slot) -> str:
    """Why an index holds whole items although its reads need less."""
    narrow = with_projections(design, workload).slot(slot.name)
    if narrow is None or narrow.projection.kind is ProjectionKind.ALL:
        return f"fewer attributes would save less than {money(WORTH)} a month"
    return f"{_projected(narrow.projection)} would be enough for its reads, and cheaper"


def copies(workload: Workload, design: Design, keys: Sequence[AboutKey], costs: Costs) -> tuple[AboutCopy, ...]:
    found = []
    for item in design.copies:
        mine = tuple(key for key in keys if (key.entity, key.copy) == (item.entity, item.copy))
        patterns = tuple(natural_order(read for key in mine for read in key.patterns))
        name = item.name
        kept = tuple(o.pattern for o in design.operations if any(a.item == name for r in o.requests for a in r.actions))
        dollars = costs.copies[name]
        said = tuple(_copy_words(workload, design, mine, kept, dollars))
        found.append(AboutCopy(item.entity, item.copy, patterns, kept, mine, dollars, said))
    return tuple(found)


def _copy_words(
    workload: Workload, design: Design, mine: Sequence[AboutKey], kept: Sequence[str], dollars: float
) -> Iterator[str]:
    own, *others = mine
    reads = own.patterns
    if reads:
        finds = f"{listed(reads)} {verb(reads, 'finds', 'find')}"
        yield f"It is a second item for each {own.entity}, where {finds} it in the table."
    yield from _not_an_index(workload, own, others)
    if kept:
        writes = f"{listed(kept)} {verb(kept, 'writes', 'write')}"
        yield f"{writes} it in the same transaction as the item, so it is never stale."
    else:
        yield "No access pattern writes it; other writers of the item must write it, too."
    yield f"It costs {money(dollars)} a month, for storage and because writes in a transaction cost twice as much."


def _not_an_index(workload: Workload, own: AboutKey, others: Sequence[AboutKey]) -> Iterator[str]:
    """Why this is a copy and not an index: a copy also has its own key in every index."""
    strong = [r for r in own.patterns if _strong(workload.pattern(r))]
    beside = [r for r in own.patterns if _several(workload.pattern(r))]
    used = [key for key in others if key.patterns]
    if strong:
        reads = f"{listed(strong)} {verb(strong, 'reads', 'read')}"
        yield f"It is not an index, because {reads} consistently, which only the table allows."
    if beside:
        reads = f"{listed(beside)} {verb(beside, 'reads', 'read')}"
        yield f"It is in the partition that {reads}, with the other items of the result."
    if used:
        more = listed(f"{listed(key.patterns)} in {key.slot}" for key in used)
        yield f"It also serves {more}: an item has one key in each index, and a copy has its own keys."
    elif not (strong or beside):
        yield "An index would be one more structure as well, and eventually consistent."


def _strong(pattern: object) -> bool:
    return isinstance(pattern, Read) and pattern.is_consistent


def _several(pattern: object) -> bool:
    return isinstance(pattern, Read) and len(pattern.entities) > 1 and pattern.combine is not Combine.JOIN
