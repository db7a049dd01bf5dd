"""Explains every key of a design: the reads it serves, and the reason for each attribute."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from typing import assert_never

from msgspec.structs import replace

from prejoin import keys
from prejoin.design.cost.assumptions import count_of
from prejoin.design.cost.estimates import Estimates
from prejoin.design.explain.model import AboutKey, Because, KeyPart
from prejoin.design.mapping.facets import planner_facets
from prejoin.design.mapping.map_reads import plan_read
from prejoin.design.model import TABLE, Design, ItemName, Request
from prejoin.design.phrases import coded, listed, natural_order, share, verb
from prejoin.keys import Plan, Refusal
from prejoin.workload.conditions import entities_of
from prejoin.workload.model import (
    Entity,
    Read,
    Workload,
)

_FIELD = re.compile(r"\{[^{}]*\}")


def plan_reads(workload: Workload, design: Design) -> dict[str, Plan]:
    """The plan of each read that is served."""
    facets = planner_facets(design, workload)
    operation_ids = {operation.pattern for operation in design.operations}
    read_plans = {}
    for read in workload.reads:
        read_plan = _plan(read, workload, facets) if read.id in operation_ids else None
        if read_plan is not None:
            read_plans[read.id] = read_plan
    return read_plans


def _plan(read: Read, workload: Workload, facets: Sequence[keys.Facet]) -> Plan | None:
    try:
        outcome = plan_read(read, workload, facets)
    except ValueError:
        return None
    return None if isinstance(outcome, Refusal) else outcome


def key_explanations(workload: Workload, design: Design, read_plans: Mapping[str, Plan]) -> tuple[AboutKey, ...]:
    """The explanations of all keys, in the order of the design's items."""
    shares = _shares_of_items(workload, design)
    explanations = []
    for facet in planner_facets(design, workload):
        entity = workload.entity(facet.entity)
        if entity is None:
            continue  # the parts of a content
        own_plans = {name: plan for name, plan in read_plans.items() if facet in plan.facets}
        share_of_items = shares.get((facet.entity, facet.copy, facet.slot), 1.0)
        further_patterns = _further_patterns(design, facet, read_plans)
        facts = _explain_key(entity, facet, own_plans, further_patterns, share_of_items)
        sentences = _sentences(facts, entity, _has_writes(workload, entity))
        explanations.append(replace(facts, text=tuple(sentences)))
    return tuple(explanations)


def _further_patterns(design: Design, facet: keys.Facet, read_plans: Mapping[str, Plan]) -> list[str]:
    """Patterns that use a key in a further request: writes that find an item first, and joins."""
    patterns = []
    for operation in design.operations:
        # The first request of a planned read is in its plan, with the reasons for each attribute.
        further_requests = operation.requests[1:] if operation.pattern in read_plans else operation.requests
        if any(_is_used(facet, request) for request in further_requests):
            patterns.append(operation.pattern)
    return natural_order(patterns)


def _is_used(facet: keys.Facet, request: Request) -> bool:
    """Whether a request reads by this key: the words are the same, the attribute names may differ."""
    if request.actions or request.slot != facet.slot or facet.entity not in request.entities:
        return False
    condition = request.sk
    start = key_shape(condition.low) if condition else ""
    sk = facet.sk.text if facet.sk else ""
    return key_shape(request.pk) == key_shape(facet.pk.text) and key_shape(sk).startswith(start)


def key_shape(template: str) -> str:
    """A key template without attribute names: two partitions are the same if their words are.

    >>> key_shape("USER#{userId}") == key_shape("USER#{followerId}")
    True
    """
    return _FIELD.sub("{}", template)


def _explain_key(
    entity: Entity,
    facet: keys.Facet,
    own_plans: Mapping[str, Plan],
    further_patterns: Sequence[str],
    share_of_items: float,
) -> AboutKey:
    partition: list[KeyPart] = []
    for field in facet.pk.fields:
        # Only the partition key: a further request may leave out the sort key.
        partition += _key_parts(entity, field, own_plans, further_patterns)
    sort: list[KeyPart] = []
    for field in facet.sk.fields if facet.sk else ():
        sort += _key_parts(entity, field, own_plans)
    return AboutKey(
        entity=entity.name,
        slot=facet.slot,
        pk=facet.pk.text,
        sk=facet.sk.text if facet.sk else "",
        copy=facet.copy,
        partition=tuple(partition),
        sort=tuple(sort),
        patterns=tuple(natural_order((*own_plans, *further_patterns))),
        share=share_of_items,
        sparse=" and ".join(map(_condition_text, facet.when)),
        tested=tuple(dict.fromkeys(when.attribute for when in facet.when)),
    )


def _condition_text(when: keys.When) -> str:
    """As the document writes it: `paid = false`."""
    if not when.values:
        return str(when)
    values = frozenset(str(value).lower() if isinstance(value, bool) else value for value in when.values)
    return str(replace(when, values=values))


def _has_writes(workload: Workload, entity: Entity) -> bool:
    """Whether a write changes or tests an item of an entity."""
    for write in workload.changing:
        if any(action.entity == entity.name for action in write.actions):
            return True
        if any(entity.name in entities_of(check) for check in write.checks):
            return True
    return False


def _key_parts(
    entity: Entity, field: keys.KeyField, own_plans: Mapping[str, Plan], further_patterns: Sequence[str] = ()
) -> Iterator[KeyPart]:
    """The reasons for a field in a key, each with its reads."""
    if field.encoding.derived:
        yield KeyPart(field.name, Because.SPREAD)
        return
    reasons: dict[Because, list[str]] = {Because.GIVEN: list(further_patterns)} if further_patterns else {}
    for read, plan in own_plans.items():
        for because in _reasons_of_plan(entity, field, plan):
            reasons.setdefault(because, []).append(read)
    for because in Because:
        if because in reasons:
            yield KeyPart(field.attribute, because, tuple(natural_order(reasons[because])))
    if not reasons:
        attribute = entity.attribute(field.attribute)
        yield KeyPart(field.attribute, Because.UNIQUE if attribute and attribute.id else Because.ABOVE)


def _reasons_of_plan(entity: Entity, field: keys.KeyField, plan: Plan) -> list[Because]:
    """What a read takes a field of its key for. A field whose value is given needs no other reason."""
    # The read may call the attribute by another name, for example that of the reference to it.
    attribute = plan.lookup.name(entity.name, field.attribute)
    if attribute in plan.lookup.given - plan.filtered:
        return [Because.GIVEN]
    reasons = []
    if plan.within and attribute == plan.within.attribute:
        reasons.append(Because.RANGE)
    if any(attribute == order.attribute and order.entity in ("", entity.name) for order in plan.lookup.order):
        reasons.append(Because.ORDER)
    return reasons


def _shares_of_items(workload: Workload, design: Design) -> dict[tuple[str, str, str], float]:
    """The fraction of an entity's items in each slot, as billed."""
    shares = {}
    for item, slot, entries, _ in Estimates(design, workload).stored():
        name = ItemName.parse(item)
        entity = workload.entity(name.entity)
        if entity is not None and not name.apart:
            shares[name.entity, name.copy, slot] = min(1.0, entries / count_of(workload, entity))
    return shares


# --- In words -------------------------------------------------------------------------------------------------------


def _sentences(key: AboutKey, entity: Entity, has_writes: bool) -> Iterator[str]:
    yield _partition_sentence(key, entity, has_writes)
    yield from _sort_sentence(key)
    if key.sparse:
        fraction = f", an assumed {share(key.share)} of them" if key.share < 1 else ""
        yield f"Only items where {key.sparse} have this key{fraction}. The others cost nothing here."


def _partition_sentence(key: AboutKey, entity: Entity, has_writes: bool) -> str:
    parts = [part for part in key.partition if part.because is not Because.SPREAD]
    split = "".join(f", split by `{part.attribute}`" for part in key.partition if part.because is Because.SPREAD)
    if not parts:
        if entity.singleton:
            return "There is only one item, so its key needs no attribute."
        reason = f", because {listed(key.patterns)} {verb(key.patterns, 'gives', 'give')} no id" if key.patterns else ""
        return f"All items share one partition key{split}{reason}."
    names = coded(dict.fromkeys(part.attribute for part in parts))
    if reads := natural_order(chain.from_iterable(part.patterns for part in parts)):
        return f"The partition key has {names}, {verb(parts, 'an input', 'inputs')} of {listed(reads)}{split}."
    text = f"The partition key has {names}{split}."
    if key.slot != TABLE or key.copy:
        return text
    if has_writes:
        return f"{text} No read uses it; writes find the item by it."
    return f"{text} No pattern uses it; it comes from the id."


def _sort_sentence(key: AboutKey) -> Iterator[str]:
    """One sentence with the reason for each attribute of the sort key.

    Neighbours with the same attribute, or with the same reason, share a clause: an attribute that is in the key for
    the range and for the order of a read is named once.
    """
    clauses: list[tuple[list[str], list[str]]] = []
    for part in key.sort:
        reason = _reason_words(part)
        names, reasons = clauses[-1] if clauses else ([], [])
        if names == [part.attribute]:
            reasons.append(reason)
        elif reasons == [reason]:
            names.append(part.attribute)
        else:
            clauses.append(([part.attribute], [reason]))
    if clauses:
        yield f"The sort key has {'; then '.join(f'{coded(names)}, {listed(reasons)}' for names, reasons in clauses)}."


def _reason_words(part: KeyPart) -> str:
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
