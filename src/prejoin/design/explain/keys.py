"""Explains every key of a design: the reads it serves, and the reason for each attribute."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import assert_never

from msgspec.structs import replace

from prejoin import keys
from prejoin.design.cost.assumptions import count_of
from prejoin.design.cost.estimates import Estimates
from prejoin.design.explain.model import AboutKey, Because, KeyPart
from prejoin.design.explain.phrases import coded, listed, natural_order, share, verb
from prejoin.design.mapping.facets import planner_facets
from prejoin.design.mapping.map_reads import plan_read
from prejoin.design.model import TABLE, Design, ItemName, Request
from prejoin.keys import Plan, Refusal
from prejoin.workload.conditions import entities_of
from prejoin.workload.model import (
    Entity,
    Read,
    Workload,
)

_FIELD = re.compile(r"\{[^{}]*\}")


def plans(workload: Workload, design: Design) -> dict[str, Plan]:
    """The plan of each read that is served."""
    facets = planner_facets(design, workload)
    wanted = {operation.pattern for operation in design.operations}
    found = {}
    for read in workload.reads:
        answer = _planned(read, workload, facets) if read.id in wanted else None
        if answer is not None:
            found[read.id] = answer
    return found


def _planned(read: Read, workload: Workload, facets: Sequence[keys.Facet]) -> Plan | None:
    try:
        answer = plan_read(read, workload, facets)
    except ValueError:
        return None
    return None if isinstance(answer, Refusal) else answer


def key_explanations(workload: Workload, design: Design, planned: Mapping[str, Plan]) -> tuple[AboutKey, ...]:
    """The explanations of all keys, in the order of the design's items."""
    shares = _shares(workload, design)
    found = []
    for facet in planner_facets(design, workload):
        entity = workload.entity(facet.entity)
        if entity is None:
            continue  # the parts of a content
        mine = {name: plan for name, plan in planned.items() if facet in plan.facets}
        part = shares.get((facet.entity, facet.copy, facet.slot), 1.0)
        about = _about(entity, facet, mine, _also(design, facet, planned), part)
        found.append(replace(about, text=tuple(_sentences(about, entity, _is_written(workload, entity)))))
    return tuple(found)


def _also(design: Design, facet: keys.Facet, planned: Mapping[str, Plan]) -> list[str]:
    """Patterns that use a key in a further request: writes that find an item first, and joins."""
    found = []
    for operation in design.operations:
        for request in operation.requests[1 if operation.pattern in planned else 0 :]:
            same = not request.actions and request.slot == facet.slot and facet.entity in request.entities
            if same and _is_used(facet, request):
                found.append(operation.pattern)
    return natural_order(found)


def _is_used(facet: keys.Facet, request: Request) -> bool:
    """Whether a request uses this key: the words are the same, the attribute names may differ."""
    condition = request.sort_condition
    start = key_shape(condition.high or condition.low) if condition else ""
    sk = facet.sk.text if facet.sk else ""
    return key_shape(request.pk) == key_shape(facet.pk.text) and key_shape(sk).startswith(start)


def key_shape(template: str) -> str:
    """A key template without attribute names: two partitions are the same if their words are.

    >>> key_shape("USER#{userId}") == key_shape("USER#{followerId}")
    True
    """
    return _FIELD.sub("{}", template)


def _about(entity: Entity, facet: keys.Facet, mine: Mapping[str, Plan], also: Sequence[str], part: float) -> AboutKey:
    return AboutKey(
        entity=entity.name,
        slot=facet.slot,
        pk=facet.pk.text,
        sk=facet.sk.text if facet.sk else "",
        copy=facet.copy,
        partition=tuple(part for field in facet.pk.fields for part in _parts(entity, field, mine, also)),
        sort=tuple(part for field in (facet.sk.fields if facet.sk else ()) for part in _parts(entity, field, mine)),
        patterns=tuple(natural_order((*mine, *also))),
        share=part,
        sparse=" and ".join(map(_condition, facet.when)),
    )


def _condition(when: keys.When) -> str:
    """As the document writes it: `paid = false`."""
    values = when.values and frozenset(str(one).lower() if isinstance(one, bool) else one for one in when.values)
    return str(replace(when, values=values))


def _is_written(workload: Workload, entity: Entity) -> bool:
    """Whether a write changes or tests an item of an entity."""
    return any(
        entity.name
        in {*(a.entity for a in write.actions), *(name for one in write.checks for name in entities_of(one))}
        for write in (*workload.writes, *workload.deletes)
    )


def _parts(
    entity: Entity, field: keys.KeyField, mine: Mapping[str, Plan], also: Sequence[str] = ()
) -> Iterator[KeyPart]:
    """The reasons for a field in a key, each with its reads."""
    if field.encoding.derived:
        yield KeyPart(field.name, Because.SPREAD)
        return
    why: dict[Because, list[str]] = {Because.GIVEN: list(also)} if also else {}
    for read, plan in mine.items():
        asked = plan.lookup.name(entity.name, field.attribute)
        if asked in plan.lookup.given - plan.filtered:
            why.setdefault(Because.GIVEN, []).append(read)
            continue
        if plan.within and asked == plan.within.attribute:
            why.setdefault(Because.RANGE, []).append(read)
        if any(asked == order.attribute and order.entity in ("", entity.name) for order in plan.lookup.order):
            why.setdefault(Because.ORDER, []).append(read)
    for because, reads in sorted(why.items(), key=lambda one: list(Because).index(one[0])):
        yield KeyPart(field.attribute, because, tuple(natural_order(reads)))
    if not why:
        attribute = entity.attribute(field.attribute)
        yield KeyPart(field.attribute, Because.UNIQUE if attribute and attribute.id else Because.ABOVE)


def _shares(workload: Workload, design: Design) -> dict[tuple[str, str, str], float]:
    """The fraction of an entity's items in each slot, as billed."""
    found = {}
    for item, slot, entries, _ in Estimates(design, workload).stored():
        name = ItemName.parse(item)
        if (entity := workload.entity(name.entity)) and not name.apart:
            found[name.entity, name.copy, slot] = min(1.0, entries / count_of(workload, entity))
    return found


# --- In words -------------------------------------------------------------------------------------------------------


def _sentences(about: AboutKey, entity: Entity, written: bool) -> Iterator[str]:
    yield from _partition_words(about, entity, written)
    yield from _sort_words(about)
    if about.sparse:
        much = f", an assumed {share(about.share)} of them" if about.share < 1 else ""
        yield f"Only items where {about.sparse} have this key{much}. The others cost nothing here."


def _partition_words(about: AboutKey, entity: Entity, written: bool) -> Iterator[str]:
    kept = [part for part in about.partition if part.because is not Because.SPREAD]
    reads = natural_order(read for part in kept for read in part.patterns)
    names = coded(dict.fromkeys(part.attribute for part in kept))
    cut = "".join(f", split by `{p.attribute}`" for p in about.partition if p.because is Because.SPREAD)
    if not kept and entity.singleton:
        yield "There is only one item, so its key needs no attribute."
    elif not kept:
        asked = f", because {listed(about.patterns)} {verb(about.patterns, 'gives', 'give')} no id"
        yield f"All items share one partition key{cut}{asked if about.patterns else ''}."
    elif reads:
        yield f"The partition key has {names}, {verb(kept, 'an input', 'inputs')} of {listed(reads)}{cut}."
    elif about.slot == TABLE and not about.copy:
        used = (
            "No read uses it; writes find the item by it." if written else "No pattern uses it; it comes from the id."
        )
        yield f"The partition key has {names}{cut}. {used}"
    else:
        yield f"The partition key has {names}{cut}."


def _sort_words(about: AboutKey) -> Iterator[str]:
    """One sentence with the reason for each attribute of the sort key."""
    said: list[tuple[list[str], list[str]]] = []
    for part in about.sort:
        why = _why(part)
        if said and said[-1][0] == [part.attribute]:
            said[-1][1].append(why)
        elif said and said[-1][1] == [why]:
            said[-1][0].append(part.attribute)
        else:
            said.append(([part.attribute], [why]))
    if said:
        yield f"The sort key has {'; then '.join(f'{coded(names)}, {listed(why)}' for names, why in said)}."


def _why(part: KeyPart) -> str:
    reads = listed(part.patterns)
    match part.because:
        case Because.GIVEN:
            return f"an input of {reads}"
        case Because.RANGE:
            return f"for the range of {reads}"
        case Because.ORDER:
            return f"for the order of {reads}"
        case Because.UNIQUE:
            return "to make the key unique"
        case Because.ABOVE:
            return "from the id of a parent or a decided key"
        case Because.SPREAD:
            return "to spread the writes"
        case _:
            assert_never(part.because)
