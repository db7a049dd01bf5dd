"""The units that calls should use: the prediction of the design, for the sizes of the items in the table."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from msgspec.structs import replace

from prejoin.cases.case import WriteCase, WriteStep
from prejoin.cases.items import Values
from prejoin.constructs.registry import CONSTRUCTS, ending_in
from prejoin.design.cost.footprint import EntryWrite, PageRead, entries_of, held
from prejoin.design.cost.units import sum_units
from prejoin.design.mapping.addressing import held as held_by
from prejoin.design.model import TABLE, Did, Operation
from prejoin.design.model import Call as Called
from prejoin.proof.expected_table import ExpectedTable
from prejoin.proof.sample_table import SampleTable
from prejoin.proof.table_content import Dump, Key
from prejoin.protocol.prices import write_units as units_of
from prejoin.protocol.sizes import item_size
from prejoin.table.client.observe import Call
from prejoin.table.codec.values import Json
from prejoin.workload.model import Verb
from prejoin.workload.program.resolved_write import resolve_write

READS = frozenset({"GetItem", "Query", "BatchGetItem"})
_BATCH_READS = {"BatchGetItem", "TransactGetItems"}
"""Reads that are charged item by item."""
_SINGLE_WRITES = (Called.PUT, Called.UPDATE, Called.DELETE)


def read_units(sample: SampleTable, operation: Operation, calls: Sequence[Call], stored_items: Dump) -> float | None:
    """The units that a read should use for the items it reads; None if a call is not in the operation."""
    pages: dict[int, list[PageRead]] = {}
    for call in calls:
        sizes, number = _sizes(sample, call, stored_items), _request(operation, call)
        if sizes is None or number is None:
            return None
        # DynamoDB rounds up each item of a batch to 4 KB, and the sum of a Query's page.
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
            # A filter removes items from the response after they were read and charged.
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
    sizes = []
    for item in items:
        item_in_table = stored_items.get(_key_of(sample, item))
        # An index charges for the attributes that it holds, the table for the whole item.
        part = held(slot, sample.design, item_in_table) if item_in_table is not None else None
        sizes.append(item_size(part) if part is not None else 0)
    return sizes


def _key_of(sample: SampleTable, item: Json) -> Key:
    return tuple(text for name in sample.design.table_keys for text in item[name].values())


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
    charges = _WriteCharges(sample, case, _with_single_writes(case.operation), before, _written_alone(sample, calls))
    try:
        charges.add_reads(calls)
        for step in case.steps:
            charges.add_step(step)
        charges.add_checks_before_lists()
        charges.add_checked_items()
    except _NotInOperationError:
        return None
    units = sum_units(charges.operation, charges.pages, charges.writes)
    return units.read + units.write


class _NotInOperationError(Exception):
    """No request of the operation reads or writes an item, so nothing is predicted."""


@dataclass
class _WriteCharges:
    """What the requests of a write read and write, by the position of the request in the operation."""

    sample: SampleTable
    case: WriteCase
    operation: Operation
    """The requests of the write, then each as a single write: see `_with_single_writes`."""
    before: ExpectedTable
    single_keys: frozenset[Key]
    """The keys of the items that were written by a request of their own."""
    pages: dict[int, list[PageRead]] = field(default_factory=dict)
    writes: dict[int, list[EntryWrite]] = field(default_factory=dict)

    def add_reads(self, calls: Sequence[Call]) -> None:
        for call in calls:
            if call.operation not in READS:
                continue
            sizes, number = _sizes(self.sample, call, self.before.items), _request(self.operation, call)
            if sizes is None or number is None:
                raise _NotInOperationError
            self.pages.setdefault(number, []).append(PageRead(sum(sizes)))

    def add_step(self, step: WriteStep) -> None:
        """Adds the items that a step writes: shards of a counter, the item with what belongs to it, and versions."""
        touched_names = set(step.changed.names)
        after = step.after
        counter = self.sample.design.counter(step.entity.name)
        if counter and (after is None or touched_names & set(counter.attributes)):
            # The caller knows no shard: one is drawn for an addition, and all are deleted with the item.
            shards = [EntryWrite(TABLE, 1, 1)] * (1 if after else counter.shards)
            self._add(_counter_request(self.operation, step.entity.name), shards)
            touched_names -= set(counter.attributes)
            if after and not touched_names:
                return
            if after and step.before:  # the item keeps its own number
                after = {**after, **{name: step.before[name] for name in counter.attributes if name in step.before}}
        self._add_changed_items(step, after, touched_names)
        self._add_kept_items(step)

    def _add_changed_items(self, step: WriteStep, after: Values | None, touched_names: set[str]) -> None:
        """Adds the item, its copies and its guards, as far as a request writes them."""
        name = step.entity.name
        old_items = self.before.of(name, step.before) if step.before is not None else {}
        new_items = self.before.of(name, after) if after is not None else {}
        written_tags = self._tags_written_by(step, touched_names)
        for key in old_items | new_items:
            old_item, new_item = old_items.get(key), new_items.get(key)
            item = old_item or new_item or {}
            number = self._writing_request(item)
            if key in self.single_keys:
                number += len(self.operation.requests) // 2
            tag = item.get(self.sample.design.type_attribute)
            # An update to the same value is charged, too.
            is_written = old_item != new_item or tag in written_tags
            if is_written or self._is_rewritten_guard(step, tag, touched_names):
                self._add(number, entries_of(self.sample.design, old_item, new_item))

    def _tags_written_by(self, step: WriteStep, touched_names: set[str]) -> list[Json]:
        """The type tags of the item and of its copies that hold a changed attribute."""
        own_tag = _tag(self.sample, step)
        tags = [own_tag]
        for item in self.sample.design.items:
            if item.entity != step.entity.name or not item.copy:
                continue
            if touched_names & held_by(item, self.sample.design, step.entity):
                tags.append({"S": f"{own_tag['S']}.{item.copy}"})
        return tags

    def _is_rewritten_guard(self, step: WriteStep, tag: Json | None, touched_names: set[str]) -> bool:
        """Whether a guard is written that stays the same: it expires with its item, or a put did not read first."""
        is_update = step.before is not None and step.after is not None
        if tag is None or not is_update or not tag["S"].startswith(f"{_tag(self.sample, step)['S']} unique "):
            return False
        is_put = step.action.verb is Verb.PUT
        ttl = ending_in(step.entity, self.sample.design)
        is_expiring_guard_touched = bool(ttl) and (is_put or ttl in touched_names)
        return is_expiring_guard_touched or (is_put and not self.pages)

    def _add_kept_items(self, step: WriteStep) -> None:
        """Adds the earlier versions that the step keeps, and those that it drops for them."""
        kept_items, dropped_keys = self.before.beside(step.entity.name, step.before, step.after)
        for item in kept_items.values():
            number = self._writing_request(item)
            # A delete is charged for the size of the item before; one of an item that is not there costs a unit.
            dropped_items = [self.before.items.get(key) for key in dropped_keys]
            sizes = [item_size(dropped_item) if dropped_item else 0 for dropped_item in dropped_items]
            self._add(number, entries_of(self.sample.design, None, item))
            self._add(number, [EntryWrite(TABLE, size) for size in sizes])

    def add_checks_before_lists(self) -> None:
        """Adds the items that are checked before lists are written.

        Unique values and earlier versions do not exist yet.
        """
        write = resolve_write(self.case.sample.workload, self.case.write)
        if not write.is_resumable or not self.case.model.lists:
            return
        for number, request in enumerate(self.case.operation.requests):
            checked_items = [action.item for action in request.actions if action.action is Did.CHECK]
            for step in self.case.steps:
                if step.action.many:
                    continue
                for item in {item for item in checked_items if item.entity == step.entity.name}:
                    size = self._stored_size(step.entity.name, step.before) if item.is_own else 0
                    self._add(number, [EntryWrite(TABLE, size, size, same=True)])

    def add_checked_items(self) -> None:
        """Adds the items that a transaction checks. A single write is sent without such a check."""
        transactions = (at for at, r in enumerate(self.operation.requests) if r.call is Called.TRANSACT_WRITE)
        number = next(transactions, None)
        for item in self.case.checked:
            # DynamoDB has no condition on another item beside a single PutItem, UpdateItem or DeleteItem.
            if number is None:
                raise _NotInOperationError
            size = self._stored_size(item.entity.name, item.values) if item.exists else 0
            self._add(number, [EntryWrite(TABLE, size, size, same=True)])

    def _stored_size(self, name: str, values: Values | None) -> int:
        """The size of an item in the table; 0 if there is none."""
        stored_items = self.before.of(name, values) if values is not None else {}
        return next(map(item_size, stored_items.values()), 0)

    def _writing_request(self, item: Json) -> int:
        number = _writing_request(self.sample, self.operation, item)
        if number is None:
            raise _NotInOperationError
        return number

    def _add(self, number: int, entries: Iterable[EntryWrite]) -> None:
        self.writes.setdefault(number, []).extend(entries)


def units_difference(calls: Sequence[Call], predicted_units: float | None) -> str:
    """How the units of calls differ from the predicted ones; empty if they do not, or if nothing is predicted."""
    used_units = sum(call.units for call in calls)
    if predicted_units is None or predicted_units == used_units:
        return ""
    return f"it used {used_units:g} units, and {predicted_units:g} were predicted"


def _written_alone(sample: SampleTable, calls: Sequence[Call]) -> frozenset[Key]:
    """The keys of the items that a PutItem, UpdateItem or DeleteItem has written.

    A transaction that has only one item left is sent as such a call: of a task without a unique value, for example.
    """
    keys: set[Key] = set()
    for call in calls:
        if call.operation in _SINGLE_WRITES:
            keys.add(_key_of(sample, call.request.get("Key") or call.request["Item"]))
    return frozenset(keys)


def _with_single_writes(operation: Operation) -> Operation:
    """The operation with its requests twice: as they are, and with a single write in place of each transaction."""
    writes = [replace(r, call=Called.UPDATE) if r.call is Called.TRANSACT_WRITE else r for r in operation.requests]
    return replace(operation, requests=(*operation.requests, *writes))


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
            # A copy has the tag `Entity.copy`, a guard `Entity unique …`, and an item of a construct its name in it.
            of_constructs = [f"{name} {construct.name}" for construct in CONSTRUCTS]
            if tag == name or tag.startswith((f"{name}.", f"{name} unique ", *of_constructs)):
                return at
    return None
