"""The units that calls should use: the prediction of the design, for the sizes of the items in the table."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec.structs import replace

from prejoin.design.cost.footprint import EntryWrite, MeasuredFootprint, PageRead, entries_of, held
from prejoin.design.cost.units import predict_units
from prejoin.design.mapping.addressing import held as held_by
from prejoin.design.mapping.facets import ending
from prejoin.design.model import TABLE, Did, Operation
from prejoin.design.model import Call as Called
from prejoin.proof.expected_table import ExpectedTable
from prejoin.proof.sample_table import SampleTable
from prejoin.proof.table_content import Dump
from prejoin.proof.write_cases import WriteCase, WriteStep
from prejoin.protocol.sizes import item_size
from prejoin.table.client.observe import Call
from prejoin.table.codec.values import Json
from prejoin.workload.model import Verb
from prejoin.workload.targets import is_resumable

_READS = {"GetItem", "Query", "BatchGetItem"}
_SEVERAL = {"BatchGetItem", "TransactGetItems"}
"""Reads that are charged item by item."""


def read_units(sample: SampleTable, operation: Operation, calls: Sequence[Call], there: Dump) -> float | None:
    """The units that a read should use for the items it reads; None if a call is not in the operation."""
    pages: dict[int, list[PageRead]] = {}
    for call in calls:
        sizes, number = _sizes(sample, call, there), _request(operation, call)
        if sizes is None or number is None:
            return None
        found = [PageRead(size) for size in sizes] if call.operation in _SEVERAL else [PageRead(sum(sizes))]
        pages.setdefault(number, []).extend(found)
    return predict_units(operation, sample.design, sample.workload, MeasuredFootprint(pages)).read


def _request(operation: Operation, call: Call) -> int | None:
    found = [at for at, r in enumerate(operation.requests) if r.call == call.operation]
    # Of two such calls one finds the item, and a consistent one reads it.
    alike = [at for at in found if operation.requests[at].consistent is bool(call.request.get("ConsistentRead"))]
    return next(iter(alike or found), None)


def _sizes(sample: SampleTable, call: Call, there: Dump) -> list[int] | None:
    """The size of each item that a call reads; 0 for one that does not exist."""
    slot = sample.design.slot(call.index or TABLE)
    if slot is None:
        return None
    match call.operation:
        case "Query":
            items = sample.looked_at[id(call)] if id(call) in sample.looked_at else call.response["Items"]
        case "GetItem":
            items = [call.request["Key"]]
        case "TransactGetItems":
            items = [one["Get"]["Key"] for one in call.request["TransactItems"]]
        case _:
            items = call.request["RequestItems"][sample.design.table]["Keys"]
    names = [k.name for k in (*sample.design.slots[0].pk, *sample.design.slots[0].sk)]
    found = []
    for item in items:
        whole = there.get(tuple(text for name in names for text in item[name].values()))
        part = held(slot, sample.design, whole) if whole is not None else None
        found.append(item_size(part) if part is not None else 0)
    return found


def write_units(case: WriteCase, calls: Sequence[Call], before: ExpectedTable) -> float | None:
    """The units that a write should use for its items before and after, with its reads. Call it before `apply`."""
    if any(slot.replaces is not None for slot in case.model.slots):
        return None  # deleted and created under one key: charged once
    if case.variation.is_again:
        return None  # the price is that of the first call
    sample, operation = case.sample, _as_sent(case.operation, calls)
    pages: dict[int, list[PageRead]] = {}
    written: dict[int, list[EntryWrite]] = {}
    for call in calls:
        if call.operation in _READS:
            sizes, number = _sizes(sample, call, before.items), _request(operation, call)
            if sizes is None or number is None:
                return None
            pages.setdefault(number, []).append(PageRead(sum(sizes)))
    for step in case.steps:
        touched = {*step.changed.sets, *step.changed.adds, *step.changed.removes}
        after, counter = step.after, sample.design.counter(step.entity.name)
        if counter and (after is None or touched & set(counter.attributes)):
            shards = [EntryWrite(TABLE, 1, 1)] * (1 if after else counter.shards)
            written.setdefault(_counting(operation, step.entity.name), []).extend(shards)
            touched -= set(counter.attributes)
            if after and not touched:
                continue
            if after and step.before:  # the item keeps its own number
                after = {**after, **{name: step.before[name] for name in counter.attributes if name in step.before}}
        old = before.of(step.entity.name, step.before) if step.before is not None else {}
        new = before.of(step.entity.name, after) if after is not None else {}
        own = _tag(sample, step)
        items = [i for i in sample.design.items if i.entity == step.entity.name and i.copy]
        copies = {i.copy: held_by(i, sample.design, step.entity) for i in items}
        for key in old | new:
            one, other = old.get(key), new.get(key)
            item = one or other or {}
            number = _writing(sample, operation, item)
            if number is None:
                return None
            tag = item.get(sample.design.type_attribute)
            # An update to the same value is charged, too; so is a guard that expires with its item, and one of a put
            # that does not read first.
            guard = tag is not None and tag["S"].startswith(f"{own['S']} unique ")
            stays = guard and step.before is not None and step.after is not None
            ends = ending(sample.design, step.entity)
            put = step.action.verb is Verb.PUT
            anew = stays and ((put and not pages) or (ends and (put or ends in touched)))
            copied = any(touched & holds for name, holds in copies.items() if tag == {"S": f"{own['S']}.{name}"})
            if one != other or tag == own or copied or anew:
                written.setdefault(number, []).extend(entries_of(sample.design, one, other))
        kept, dropped = before.versions(step.entity.name, step.before)
        for item in kept.values():
            number = _writing(sample, operation, item)
            if number is None:
                return None
            gone = [before.items.get(key) for key in dropped]
            sizes = [item_size(one) if one else 0 for one in gone]
            written.setdefault(number, []).extend(entries_of(sample.design, None, item))
            written[number] += [EntryWrite(TABLE, size) for size in sizes]
    for number, size in _checked_first(case, operation, before):
        written.setdefault(number, []).append(EntryWrite(TABLE, size, size, same=True))
    for checked in case.checked:
        stored = before.of(checked.entity.name, checked.values).values()
        size = item_size(next(iter(stored))) if checked.exists else 0
        number = next((at for at, r in enumerate(operation.requests) if r.call is Called.TRANSACT_WRITE), None)
        if number is None:
            return None  # a single write was sent, without the check
        written.setdefault(number, []).append(EntryWrite("table", size, size, same=True))
    found = predict_units(operation, sample.design, sample.workload, MeasuredFootprint(pages, written))
    return found.read + found.write


def units_difference(calls: Sequence[Call], predicted: float | None) -> str:
    """How the units of calls differ from the predicted ones; empty if they do not, or if nothing is predicted."""
    used = sum(call.units for call in calls)
    return "" if predicted in (None, used) else f"it used {used:g} units, and {predicted:g} were predicted"


def _checked_first(case: WriteCase, operation: Operation, before: ExpectedTable) -> Iterator[tuple[int, int]]:
    """The items that are checked before lists are written: the request, and their sizes.

    Unique values and earlier versions do not exist yet.
    """
    if not is_resumable(case.write):
        return
    for number, request in enumerate(operation.requests):
        checks = [action for action in request.actions if action.action is Did.CHECK]
        for step in case.steps if case.model.lists else ():
            name = step.entity.name
            checked = {action.item for action in checks if action.target.entity == name and not step.action.many}
            for item in checked:
                stored = before.of(name, step.before).values() if step.before is not None else ()
                yield number, next(map(item_size, stored), 0) if item == name else 0


def _as_sent(operation: Operation, calls: Sequence[Call]) -> Operation:
    """The operation, with a single write in place of a transaction that has only one item left."""
    sent = [call.operation for call in calls if call.operation not in _READS]
    if len(sent) != 1 or sent[0] not in {Called.PUT, Called.UPDATE, Called.DELETE}:
        return operation
    requests = [replace(r, call=Called(sent[0])) if r.call is Called.TRANSACT_WRITE else r for r in operation.requests]
    return replace(operation, requests=tuple(requests))


def _tag(sample: SampleTable, step: WriteStep) -> Json:
    item = sample.design.item(step.entity.name)
    return {"S": item.tag if item else step.entity.name}


def _counting(operation: Operation, entity: str) -> int:
    """The request that writes the shards of an entity's counter."""
    requests = enumerate(operation.requests)
    return next(at for at, r in requests if any(a.target.counter and a.target.entity == entity for a in r.actions))


def _writing(sample: SampleTable, operation: Operation, item: Json) -> int | None:
    """The request that writes an item, by the item's type."""
    tag = str(item.get(sample.design.type_attribute, {}).get("S", ""))
    for at, request in enumerate(operation.requests):
        for action in request.actions:
            if action.action is Did.CHECK:
                continue
            entity = action.target.entity
            own = sample.design.item(entity)
            name = own.tag if own else entity
            if tag == name or tag.startswith((f"{name}.", f"{name} unique ", f"{name} history")):
                return at
    return None
