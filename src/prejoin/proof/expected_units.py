"""What the units of a call should be: the design's prediction, told the sizes of the items that there are."""

from __future__ import annotations

import re
from collections.abc import Sequence

from msgspec.structs import replace

from prejoin.design.cost.footprint import EntryWrite, MeasuredFootprint, PageRead, entries_of, held
from prejoin.design.cost.units import predict_units
from prejoin.design.mapping.addressing import held as held_by
from prejoin.design.mapping.facets import ending
from prejoin.design.model import TABLE, Operation
from prejoin.design.model import Call as Called
from prejoin.proof.expected_table import Dump, Json, State
from prejoin.proof.sample_table import Bench
from prejoin.proof.write_cases import Case, Step
from prejoin.protocol.sizes import item_size
from prejoin.table import Call
from prejoin.workload.model import Verb

_READS = {"GetItem", "Query", "BatchGetItem"}
_SEVERAL = {"BatchGetItem", "TransactGetItems"}
"""Reads whose items count one by one."""
_OF_A_QUERY = (
    "TableName",
    "IndexName",
    "KeyConditionExpression",
    "ScanIndexForward",
    "ConsistentRead",
    "ExclusiveStartKey",
    "Limit",
)
"""What decides which items a Query looks at."""


def read_units(bench: Bench, operation: Operation, calls: Sequence[Call], there: Dump) -> float | None:
    """The units that a read should have used, by what it looked at. None where it was not the operation that ran."""
    pages: dict[int, list[PageRead]] = {}
    for call in calls:
        sizes, number = _sizes(bench, call, there), _request(operation, call)
        if sizes is None or number is None:
            return None
        found = [PageRead(size) for size in sizes] if call.operation in _SEVERAL else [PageRead(sum(sizes))]
        pages.setdefault(number, []).extend(found)
    return predict_units(operation, bench.design, bench.workload, MeasuredFootprint(pages)).read


def _request(operation: Operation, call: Call) -> int | None:
    found = [at for at, r in enumerate(operation.requests) if r.call == call.operation]
    # Of two that are alike one finds the item, and one reads it as it is.
    alike = [at for at in found if operation.requests[at].consistent is bool(call.request.get("ConsistentRead"))]
    return next(iter(alike or found), None)


def _sizes(bench: Bench, call: Call, there: Dump) -> list[int] | None:
    """The bytes of each item that a call looked at; an item that is not there is looked at, too."""
    slot = bench.design.slot(call.index or TABLE)
    if slot is None:
        return None
    match call.operation:
        case "Query":
            items = _looked_at(bench, call)
        case "GetItem":
            items = [call.request["Key"]]
        case "TransactGetItems":
            items = [one["Get"]["Key"] for one in call.request["TransactItems"]]
        case _:
            items = call.request["RequestItems"][bench.design.table]["Keys"]
    names = [k.name for k in (*bench.design.slots[0].pk, *bench.design.slots[0].sk)]
    found = []
    for item in items:
        whole = there.get(tuple(text for name in names for text in item[name].values()))
        part = held(slot, bench.design, whole) if whole is not None else None
        found.append(item_size(part) if part is not None else 0)
    return found


def _looked_at(bench: Bench, call: Call) -> list[Json]:
    """What a Query looked at: where it gave only a number, or left something out, it is asked again for all of it."""
    request = call.request
    if not {"FilterExpression", "Select"} & set(request):
        return list(call.response["Items"])
    body = {name: request[name] for name in _OF_A_QUERY if name in request}
    for member in ("ExpressionAttributeNames", "ExpressionAttributeValues"):
        texts = re.findall(r"[#:]\w+", str(request["KeyConditionExpression"]))
        body[member] = {name: value for name, value in request[member].items() if name in texts}
    return list(bench.unobserved.call("Query", body)["Items"])


def write_units(case: Case, steps: Sequence[Step], calls: Sequence[Call], before: State, there: Dump) -> float | None:
    """The units that a write should have used, by what became of each item; what it read first counts, too."""
    bench, operation = case.bench, _as_sent(case.operation, calls)
    pages: dict[int, list[PageRead]] = {}
    written: dict[int, list[EntryWrite]] = {}
    for call in calls:
        if call.operation in _READS:
            sizes, number = _sizes(bench, call, there), _request(operation, call)
            if sizes is None or number is None:
                return None
            pages.setdefault(number, []).append(PageRead(sum(sizes)))
    for step in steps:
        old = before.of(step.entity.name, step.before) if step.before is not None else {}
        new = before.of(step.entity.name, step.after) if step.after is not None else {}
        own = _tag(bench, step)
        touched = {*step.changed.sets, *step.changed.adds, *step.changed.removes}
        items = [i for i in bench.design.items if i.entity == step.entity.name and i.copy]
        copies = {i.copy: held_by(i, bench.design, step.entity) for i in items}
        for key in old | new:
            one, other = old.get(key), new.get(key)
            item = one or other or {}
            number = _writing(bench, operation, item)
            if number is None:
                return None
            tag = item.get(bench.design.type_attribute)
            # What is set to the value that it has is written, too; and so is a guard, which ends when its item does.
            guard = tag is not None and tag["S"].startswith(f"{own['S']} unique ")
            ends = guard and step.before is not None and step.after is not None and ending(bench.design, step.entity)
            anew = ends and (step.action.verb is Verb.PUT or ends in touched)
            copied = any(touched & holds for name, holds in copies.items() if tag == {"S": f"{own['S']}.{name}"})
            if one != other or tag == own or copied or anew:
                written.setdefault(number, []).extend(entries_of(bench.design, one, other))
    for name, values in case.checked.items():
        size = 0 if name in case.absent else item_size(next(iter(before.of(name, values).values())))
        number = next(at for at, r in enumerate(operation.requests) if r.call is Called.TRANSACT_WRITE)
        written.setdefault(number, []).append(EntryWrite("table", size, size, same=True))
    found = predict_units(operation, bench.design, bench.workload, MeasuredFootprint(pages, written))
    return found.read + found.write


def _as_sent(operation: Operation, calls: Sequence[Call]) -> Operation:
    """The operation, with a plain call for a transaction of which one item is left: no unique value, no copy of it."""
    sent = [call.operation for call in calls if call.operation not in _READS]
    if len(sent) != 1 or sent[0] not in {Called.PUT, Called.UPDATE, Called.DELETE}:
        return operation
    requests = [replace(r, call=Called(sent[0])) if r.call is Called.TRANSACT_WRITE else r for r in operation.requests]
    return replace(operation, requests=tuple(requests))


def _tag(bench: Bench, step: Step) -> Json:
    item = bench.design.item(step.entity.name)
    return {"S": item.tag if item else step.entity.name}


def _writing(bench: Bench, operation: Operation, item: Json) -> int | None:
    """The request that writes an item, by what the item is."""
    tag = str(item.get(bench.design.type_attribute, {}).get("S", ""))
    for at, request in enumerate(operation.requests):
        for action in request.actions:
            entity = action.item.partition("/")[0].partition("!")[0]
            own = bench.design.item(entity)
            name = own.tag if own else entity
            if tag == name or tag.startswith((f"{name}.", f"{name} unique ")):
                return at
    return None
