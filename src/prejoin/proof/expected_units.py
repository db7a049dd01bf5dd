"""The units that calls should use: the prediction of the design, for the sizes of the items in the table."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec.structs import replace

from prejoin.cases.write_cases import WriteCase, WriteStep
from prejoin.constructs.registry import CONSTRUCTS, ending_in
from prejoin.design.cost.footprint import EntryWrite, PageRead, entries_of, held
from prejoin.design.cost.units import sum_units
from prejoin.design.mapping.addressing import held as held_by
from prejoin.design.model import TABLE, Did, Operation
from prejoin.design.model import Call as Called
from prejoin.proof.expected_table import ExpectedTable
from prejoin.proof.sample_table import SampleTable
from prejoin.proof.table_content import Dump
from prejoin.protocol.prices import write_units as units_of
from prejoin.protocol.sizes import item_size
from prejoin.table.client.observe import Call
from prejoin.table.codec.values import Json
from prejoin.workload.model import Verb
from prejoin.workload.program.resolved_write import resolve_write

READS = frozenset({"GetItem", "Query", "BatchGetItem"})
_BATCH_READS = {"BatchGetItem", "TransactGetItems"}
"""Reads that are charged item by item."""


def read_units(sample: SampleTable, operation: Operation, calls: Sequence[Call], stored_items: Dump) -> float | None:
    """The units that a read should use for the items it reads; None if a call is not in the operation."""
    pages: dict[int, list[PageRead]] = {}
    for call in calls:
        sizes, number = _sizes(sample, call, stored_items), _request(operation, call)
        if sizes is None or number is None:
            return None
        page_reads = [PageRead(size) for size in sizes] if call.operation in _BATCH_READS else [PageRead(sum(sizes))]
        pages.setdefault(number, []).extend(page_reads)
    return sum_units(operation, pages, {}).read


def _request(operation: Operation, call: Call) -> int | None:
    positions = [at for at, r in enumerate(operation.requests) if r.call == call.operation]
    # Of two such calls one finds the item, and a consistent one reads it.
    same_consistency = [
        at for at in positions if operation.requests[at].consistent is bool(call.request.get("ConsistentRead"))
    ]
    return next(iter(same_consistency or positions), None)


def _keys_read(sample: SampleTable, call: Call) -> list[Json]:
    """The keys of the items that a call reads, or the items themselves."""
    match call.operation:
        case "Query":
            return sample.looked_at[id(call)] if id(call) in sample.looked_at else call.response["Items"]
        case "GetItem":
            return [call.request["Key"]]
        case "TransactGetItems":
            return [part["Get"]["Key"] for part in call.request["TransactItems"]]
        case "BatchGetItem":
            keys: list[Json] = call.request["RequestItems"][sample.design.table]["Keys"]
            return keys
        case _:
            raise AssertionError(f"{call.operation} reads no items")


def _sizes(sample: SampleTable, call: Call, stored_items: Dump) -> list[int] | None:
    """The size of each item that a call reads; 0 for one that does not exist."""
    slot = sample.design.slot(call.index or TABLE)
    if slot is None:
        return None
    items = _keys_read(sample, call)
    names = [k.name for k in (*sample.design.slots[0].pk, *sample.design.slots[0].sk)]
    sizes = []
    for item in items:
        item_in_table = stored_items.get(tuple(text for name in names for text in item[name].values()))
        part = held(slot, sample.design, item_in_table) if item_in_table is not None else None
        sizes.append(item_size(part) if part is not None else 0)
    return sizes


def write_units(
    sample: SampleTable, case: WriteCase, calls: Sequence[Call], before: ExpectedTable, parts: Sequence[Json]
) -> float | None:
    """The units that a write should use for its items before and after, with its reads and the parts of contents.

    Call it before `apply`.
    """
    own_calls = [call for call in calls if call.request.get("Item") not in parts]
    units = _item_units(sample, case, own_calls, before)
    return None if units is None else units + sum(units_of(item_size(part)) for part in parts)


def _item_units(sample: SampleTable, case: WriteCase, calls: Sequence[Call], before: ExpectedTable) -> float | None:
    """The units of a write, without the parts of contents."""
    if any(slot.replaces is not None for slot in case.model.slots):
        return None  # deleted and created under one key: charged once
    if case.variation.is_again:
        return None  # the price is that of the first call
    operation = _as_sent(case.operation, calls)
    pages: dict[int, list[PageRead]] = {}
    writes: dict[int, list[EntryWrite]] = {}
    for call in calls:
        if call.operation in READS:
            sizes, number = _sizes(sample, call, before.items), _request(operation, call)
            if sizes is None or number is None:
                return None
            pages.setdefault(number, []).append(PageRead(sum(sizes)))
    for step in case.steps:
        touched_names = set(step.changed.names)
        after, counter = step.after, sample.design.counter(step.entity.name)
        if counter and (after is None or touched_names & set(counter.attributes)):
            shards = [EntryWrite(TABLE, 1, 1)] * (1 if after else counter.shards)
            writes.setdefault(_counter_request(operation, step.entity.name), []).extend(shards)
            touched_names -= set(counter.attributes)
            if after and not touched_names:
                continue
            if after and step.before:  # the item keeps its own number
                after = {**after, **{name: step.before[name] for name in counter.attributes if name in step.before}}
        old = before.of(step.entity.name, step.before) if step.before is not None else {}
        new = before.of(step.entity.name, after) if after is not None else {}
        own = _tag(sample, step)
        items = [i for i in sample.design.items if i.entity == step.entity.name and i.copy]
        copies = {i.copy: held_by(i, sample.design, step.entity) for i in items}
        for key in old | new:
            old_item, new_item = old.get(key), new.get(key)
            item = old_item or new_item or {}
            number = _writing_request(sample, operation, item)
            if number is None:
                return None
            tag = item.get(sample.design.type_attribute)
            # An update to the same value is charged, too; so is a guard that expires with its item, and one of a put
            # that does not read first.
            guard = tag is not None and tag["S"].startswith(f"{own['S']} unique ")
            is_guard_of_update = guard and step.before is not None and step.after is not None
            ends = ending_in(step.entity, sample.design)
            is_put = step.action.verb is Verb.PUT
            is_rewritten = is_guard_of_update and (
                (is_put and not pages) or (ends and (is_put or ends in touched_names))
            )
            is_in_copy = any(
                touched_names & holds for name, holds in copies.items() if tag == {"S": f"{own['S']}.{name}"}
            )
            if old_item != new_item or tag == own or is_in_copy or is_rewritten:
                writes.setdefault(number, []).extend(entries_of(sample.design, old_item, new_item))
        kept_items, dropped_keys = before.beside(step.entity.name, step.before, step.after)
        for item in kept_items.values():
            number = _writing_request(sample, operation, item)
            if number is None:
                return None
            dropped_items = [before.items.get(key) for key in dropped_keys]
            sizes = [item_size(dropped_item) if dropped_item else 0 for dropped_item in dropped_items]
            writes.setdefault(number, []).extend(entries_of(sample.design, None, item))
            writes[number] += [EntryWrite(TABLE, size) for size in sizes]
    for number, size in _checked_first(case, operation, before):
        writes.setdefault(number, []).append(EntryWrite(TABLE, size, size, same=True))
    for checked_item in case.checked:
        stored_items = before.of(checked_item.entity.name, checked_item.values).values()
        size = item_size(next(iter(stored_items))) if checked_item.exists else 0
        number = next((at for at, r in enumerate(operation.requests) if r.call is Called.TRANSACT_WRITE), None)
        if number is None:
            return None  # a single write was sent, without the check
        writes.setdefault(number, []).append(EntryWrite("table", size, size, same=True))
    units = sum_units(operation, pages, writes)
    return units.read + units.write


def units_difference(calls: Sequence[Call], predicted_units: float | None) -> str:
    """How the units of calls differ from the predicted ones; empty if they do not, or if nothing is predicted."""
    used_units = sum(call.units for call in calls)
    if predicted_units is None or predicted_units == used_units:
        return ""
    return f"it used {used_units:g} units, and {predicted_units:g} were predicted"


def _checked_first(case: WriteCase, operation: Operation, before: ExpectedTable) -> Iterator[tuple[int, int]]:
    """The items that are checked before lists are written: the request, and their sizes.

    Unique values and earlier versions do not exist yet.
    """
    if not resolve_write(case.sample.workload, case.write).is_resumable:
        return
    for number, request in enumerate(operation.requests):
        checks = [action for action in request.actions if action.action is Did.CHECK]
        for step in case.steps if case.model.lists else ():
            name = step.entity.name
            checked_items = {action.item for action in checks if action.item.entity == name and not step.action.many}
            for item in checked_items:
                stored_items = before.of(name, step.before).values() if step.before is not None else ()
                yield number, next(map(item_size, stored_items), 0) if item.is_own else 0


def _as_sent(operation: Operation, calls: Sequence[Call]) -> Operation:
    """The operation, with a single write in place of a transaction that has only one item left."""
    write_calls = [call.operation for call in calls if call.operation not in READS]
    if len(write_calls) != 1 or write_calls[0] not in {Called.PUT, Called.UPDATE, Called.DELETE}:
        return operation
    requests = [
        replace(r, call=Called(write_calls[0])) if r.call is Called.TRANSACT_WRITE else r for r in operation.requests
    ]
    return replace(operation, requests=tuple(requests))


def _tag(sample: SampleTable, step: WriteStep) -> Json:
    item = sample.design.item(step.entity.name)
    return {"S": item.tag if item else step.entity.name}


def _counter_request(operation: Operation, entity: str) -> int:
    """The request that writes the shards of an entity's counter."""
    requests = enumerate(operation.requests)
    return next(at for at, r in requests if any(a.item.counter and a.item.entity == entity for a in r.actions))


def _writing_request(sample: SampleTable, operation: Operation, item: Json) -> int | None:
    """The request that writes an item, by the item's type."""
    tag = str(item.get(sample.design.type_attribute, {}).get("S", ""))
    for at, request in enumerate(operation.requests):
        for action in request.actions:
            if action.action is Did.CHECK:
                continue
            entity = action.item.entity
            own = sample.design.item(entity)
            name = own.tag if own else entity
            of_constructs = [f"{name} {construct.name}" for construct in CONSTRUCTS]
            if tag == name or tag.startswith((f"{name}.", f"{name} unique ", *of_constructs)):
                return at
    return None
