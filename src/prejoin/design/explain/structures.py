"""Explains indexes and copies: their reads, contents and cost, and how a copy stays current."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain
from typing import assert_never

from prejoin.design.cost.bill import bill
from prejoin.design.cost.heat import hot_loads
from prejoin.design.explain.costs import Costs
from prejoin.design.explain.model import AboutCopy, AboutIndex, AboutKey
from prejoin.design.layout.index_keys import is_natural_index, other_form
from prejoin.design.layout.projection import WORTH, twin_of, with_projections, without_index
from prejoin.design.model import Design, ItemName, Operation, Projection, ProjectionKind, Slot
from prejoin.design.phrases import coded, listed, money, natural_order, verb
from prejoin.workload.model import Combine, Read, Result, Workload


def explain_indexes(
    workload: Workload, design: Design, keys: Sequence[AboutKey], costs: Costs
) -> tuple[AboutIndex, ...]:
    explanations = []
    for slot in design.indexes:
        index_keys = tuple(key for key in keys if key.slot == slot.name)
        patterns = tuple(natural_order(chain.from_iterable(key.patterns for key in index_keys)))
        dollars = costs.indexes[slot.name]
        sentences = tuple(_index_sentences(workload, design, slot, index_keys, patterns, dollars))
        projection = _projection_text(slot.projection)
        explanations.append(AboutIndex(slot.name, patterns, index_keys, projection, dollars, sentences))
    return tuple(explanations)


def _index_sentences(
    workload: Workload,
    design: Design,
    slot: Slot,
    index_keys: Sequence[AboutKey],
    patterns: Sequence[str],
    dollars: float,
) -> Iterator[str]:
    if patterns:
        need = verb(patterns, "needs it, because its inputs are", "need it, because their inputs are")
        yield f"{listed(patterns)} {need} not the key of the table."
    else:
        yield "No access pattern needs it."
    names = list(dict.fromkeys(key.entity for key in index_keys))
    if len(names) > 1:
        yield f"{listed(names)} share it, with different words in their keys."
    yield from _key_form_sentences(workload, design, slot)
    yield _projection_sentence(workload, design, slot, patterns)
    yield from _twin_sentences(workload, design, slot, patterns)
    yield f"It costs {money(dollars)} a month, for the additional writes and storage."


def _key_form_sentences(workload: Workload, design: Design, slot: Slot) -> Iterator[str]:
    """Why the keys of an index are attributes as they are, or texts, if both are possible."""
    other_design = other_form(design, workload, slot)
    if other_design is None:
        return
    is_natural = is_natural_index(design, slot)
    natural_design, text_design = (design, other_design) if is_natural else (other_design, design)
    natural_slot = natural_design.slot(slot.name)
    assert natural_slot is not None  # both forms have the index
    sides = [side for side in (natural_slot.pk, natural_slot.sk) if side]
    names = " / ".join(" + ".join(f"`{attribute.name}`" for attribute in side) for side in sides)
    saving_patterns = []
    for operation in natural_design.operations:
        text_operation = text_design.operation(operation.pattern)
        if text_operation is not None and len(operation.requests) < len(text_operation.requests):
            saving_patterns.append(operation.pattern)
    effect = f"save a request of {listed(saving_patterns)}" if saving_patterns else "save no request"
    price = _difference_words(float(bill(workload, text_design).total - bill(workload, natural_design).total))
    if is_natural:
        yield f"Its keys are the attributes {names} themselves: no key is stored in addition, and it needs no backfill."
        yield f"Compared with key templates, they {effect} and {price}."
    else:
        yield f"Its keys could be the attributes {names} themselves: these would {effect} and {price}."


def _difference_words(dollars_less: float) -> str:
    # Differences of less than a cent are not shown: both bills are estimates.
    if not round(dollars_less, 2):
        return "cost the same"
    return f"cost {money(abs(dollars_less))} a month {'less' if dollars_less > 0 else 'more'}"


def _projection_text(projection: Projection) -> str:
    attributes = f" {', '.join(projection.attributes)}" if projection.attributes else ""
    return f"{projection.kind.value}{attributes}"


def _projection_sentence(workload: Workload, design: Design, slot: Slot, patterns: Sequence[str]) -> str:
    match slot.projection.kind:
        case ProjectionKind.KEYS_ONLY:
            return "It projects keys only (KEYS_ONLY): its reads need no other attributes."
        case ProjectionKind.INCLUDE:
            return f"It projects {coded(slot.projection.attributes)} (INCLUDE): its reads need no other attributes."
        case ProjectionKind.ALL:
            reads = [name for name in patterns if _reads_whole_items(workload.pattern(name))]
            if reads:
                reason = f"{listed(reads)} {verb(reads, 'returns', 'return')} whole items"
            else:
                reason = _whole_items_reason(workload, design, slot)
            return f"It projects all attributes (ALL): {reason}."
        case _:
            assert_never(slot.projection.kind)


def _reads_whole_items(pattern: object) -> bool:
    return isinstance(pattern, Read) and not pattern.needs and pattern.result is not Result.COUNT


def _twin_sentences(workload: Workload, design: Design, slot: Slot, patterns: Sequence[str]) -> Iterator[str]:
    """What an index saves that holds less than another one with the same keys."""
    twin = twin_of(slot, design)
    if twin is None or slot.projection.kind is ProjectionKind.ALL:
        return
    pruned_design = without_index(slot, design, workload)
    comparisons = []
    for operation in design.operations:
        twin_operation = pruned_design.operation(operation.pattern)
        if operation.pattern not in patterns or twin_operation is None:
            continue
        if operation.units and twin_operation.units:
            twin_units = f"{twin_operation.units.read:g} units a call"
            comparisons.append(f"{operation.pattern} would read {twin_units} instead of {operation.units.read:g}")
    hot_reads = {load.read for load in hot_loads(workload, design)}
    has_more_hot_reads = any(load.read not in hot_reads for load in hot_loads(workload, pruned_design))
    limit = ", which is more than a partition takes" if has_more_hot_reads else ""
    yield f"{twin.name} has the same keys with more attributes: there, {listed(comparisons)}{limit}."


def _whole_items_reason(workload: Workload, design: Design, slot: Slot) -> str:
    """Why an index holds whole items although its reads need less."""
    narrow = with_projections(design, workload).slot(slot.name)
    if narrow is None or narrow.projection.kind is ProjectionKind.ALL:
        return f"fewer attributes would save less than {money(WORTH)} a month"
    return f"{_projection_text(narrow.projection)} would be enough for its reads, and cheaper"


def explain_copies(workload: Workload, design: Design, keys: Sequence[AboutKey], costs: Costs) -> tuple[AboutCopy, ...]:
    explanations = []
    for item in design.copies:
        copy_keys = tuple(key for key in keys if (key.entity, key.copy) == (item.entity, item.copy))
        patterns = tuple(natural_order(chain.from_iterable(key.patterns for key in copy_keys)))
        writers = tuple(operation.pattern for operation in design.operations if _writes_item(operation, item.item_name))
        dollars = costs.copies[item.name]
        sentences = tuple(_copy_sentences(workload, copy_keys, writers, dollars))
        explanations.append(AboutCopy(item.entity, item.copy, patterns, writers, copy_keys, dollars, sentences))
    return tuple(explanations)


def _writes_item(operation: Operation, name: ItemName) -> bool:
    return any(action.item == name for action in operation.actions)


def _copy_sentences(
    workload: Workload, copy_keys: Sequence[AboutKey], writers: Sequence[str], dollars: float
) -> Iterator[str]:
    table_key, *index_keys = copy_keys
    reads = table_key.patterns
    if reads:
        finds = f"{listed(reads)} {verb(reads, 'finds', 'find')}"
        yield f"It is a second item for each {table_key.entity}, where {finds} it in the table."
    yield from _copy_reason_sentences(workload, table_key, index_keys)
    if writers:
        writes = f"{listed(writers)} {verb(writers, 'writes', 'write')}"
        yield f"{writes} it in the same transaction as the item, so it is never stale."
    else:
        yield "No access pattern writes it; other writers of the item must write it, too."
    yield f"It costs {money(dollars)} a month, for storage and because writes in a transaction cost twice as much."


def _copy_reason_sentences(workload: Workload, table_key: AboutKey, index_keys: Sequence[AboutKey]) -> Iterator[str]:
    """Why this is a copy and not an index: a copy also has its own key in every index."""
    consistent_reads = [name for name in table_key.patterns if _is_consistent_read(workload.pattern(name))]
    collection_reads = [name for name in table_key.patterns if _is_collection_read(workload.pattern(name))]
    used_keys = [key for key in index_keys if key.patterns]
    if consistent_reads:
        reads = f"{listed(consistent_reads)} {verb(consistent_reads, 'reads', 'read')}"
        yield f"It is not an index, because {reads} consistently, which only the table allows."
    if collection_reads:
        reads = f"{listed(collection_reads)} {verb(collection_reads, 'reads', 'read')}"
        yield f"It is in the partition that {reads}, with the other items of the result."
    if used_keys:
        reads = listed(f"{listed(key.patterns)} in {key.slot}" for key in used_keys)
        yield f"It also serves {reads}: an item has one key in each index, and a copy has its own keys."
    elif not (consistent_reads or collection_reads):
        yield "An index would be one more structure as well, and eventually consistent."


def _is_consistent_read(pattern: object) -> bool:
    return isinstance(pattern, Read) and pattern.is_consistent


def _is_collection_read(pattern: object) -> bool:
    return isinstance(pattern, Read) and len(pattern.entities) > 1 and pattern.combine is not Combine.JOIN
