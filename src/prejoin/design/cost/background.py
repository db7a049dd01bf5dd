"""The requests that no access pattern sends, but that keep the items of a design right: `background(…)`.

Each has a line of its own in the bill: refreshes of items that repeat values of others, the function that reads the
stream, large contents that are written, replaced and collected, those that nothing deletes, and items that expire.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from decimal import Decimal
from enum import StrEnum
from typing import Final

from msgspec.structs import replace

from prejoin.constructs.registry import ending_of, keeps_contents, lines_in
from prejoin.design.cost.assumptions import FUNCTION, GARBAGE, created, per_second, size_of, usage_of
from prejoin.design.cost.contents import ContentCost
from prejoin.design.cost.estimates import Estimates
from prejoin.design.cost.refreshes import Refresh, refreshes
from prejoin.design.model import TABLE, Design, Did, Operation, Units
from prejoin.design.phrases import amount
from prejoin.protocol.limits import PARTITION_WRITE_UNITS
from prejoin.protocol.prices import MONTH_SECONDS, STRONG, dollars, read_units
from prejoin.workload.model import Entity, Model, Workload

INVOCATION_MILLION: Final = Decimal("0.20")
"""Dollars per million calls of a Lambda function in us-east-1."""
GB_SECOND: Final = Decimal("0.0000166667")
"""Dollars per GB-second of a Lambda function in us-east-1, x86. Lambda reads the stream of a table for nothing."""
LIST_THOUSAND: Final = Decimal("0.005")
"""Dollars per thousand listings of S3 Standard in us-east-1."""
_LISTED: Final = 1_000
"""Objects in one listing."""
_POLLS: Final = 4
"""How often a second Lambda reads a shard of a stream. It calls the function once for all records that it finds."""
_SHARDS: Final = 4
"""Shards of the stream of a new table on demand: one for each of its partitions."""
_EXACT: Final = Decimal("0.000001")


class BackgroundKind(StrEnum):
    REFRESH = "refresh"
    STREAM = "stream"
    WRITE_CONTENTS = "write contents"
    DELETE_CONTENTS = "delete contents"
    REMOVE_GARBAGE = "remove garbage"
    LEAVE_CONTENTS = "leave contents"
    EXPIRY = "expiry"


class BackgroundCost(Model, frozen=True):
    """What one kind of request in the background costs in a month."""

    kind: BackgroundKind
    about: str
    """An entity, or attributes: `Comment.author`."""
    text: str
    """What happens, for people."""
    rate: float
    """How often a second it happens."""
    units: Units
    """Units of one time."""
    dollars: Decimal


def background(workload: Workload, design: Design, large: Sequence[ContentCost]) -> tuple[BackgroundCost, ...]:
    """The requests in the background of a mapped design, with `large` contents."""
    figures = Estimates(design, workload)
    all_refreshes = refreshes(workload, design)
    contents: list[BackgroundCost] = []
    for content in large:
        contents += _content_lines(workload, figures, content)
    expiry_lines = tuple(_expiry_lines(workload, design))
    lines = (*map(_refresh_line, all_refreshes), *contents, *expiry_lines)
    if any(refresh.bound.within is not None for refresh in all_refreshes):
        most_calls = _most_calls(workload, design)
        records = _part_records(large) + _expired_records(workload, design)
        records += _records(workload, design, figures, all_refreshes, most_calls - records)
        return (*lines, _stream_line(min(records, most_calls)))
    return lines


# --- Refreshes ------------------------------------------------------------------------------------------------------


def _refresh_line(refresh: Refresh) -> BackgroundCost:
    entity, source = refresh.bound.entity.name, refresh.bound.source.name
    names = [f"{entity}.{name}" for name in refresh.bound.attributes]
    text = f"refresh the {entity} items of each {source} that changed"
    if refresh.unchanged_sources:
        text = f"no write changes {refresh.unchanged_sources}"
    return BackgroundCost(
        BackgroundKind.REFRESH, ", ".join(names), text, refresh.rate, refresh.units, refresh.dollars.quantize(_EXACT)
    )


def _part_records(large: Sequence[ContentCost]) -> float:
    """The parts of contents that are written and deleted in a second."""
    total = 0.0
    for content in large:
        if not content.stored:
            total += content.rate * content.part_count + content.deletes * content.part_count
    return total


def _records(
    workload: Workload, design: Design, figures: Estimates, all_refreshes: Sequence[Refresh], most_calls: float
) -> float:
    """The items of the table that refreshes and patterns write in a second: each is a record of the stream.

    It counts up to `most`: the solver prices hundreds of designs, and more records do not make more calls.
    """
    total = sum(refresh.rate * refresh.items * _written_items(figures, refresh.operation) for refresh in all_refreshes)
    for pattern in workload.changing:
        operation = design.operation(pattern.id)
        if total < most_calls and operation and operation.served:
            total += per_second(pattern.rate) * _written_items(figures, operation)
    return total


def _written_items(figures: Estimates, operation: Operation) -> float:
    total = 0.0
    for request in operation.requests:
        # A condition check writes nothing, so the stream has no record of it.
        changing = replace(request, actions=tuple(a for a in request.actions if a.action is not Did.CHECK))
        total += sum(entry.times for entry in figures.entries(operation, changing) if entry.slot == TABLE)
    return total


def _most_calls(workload: Workload, design: Design) -> float:
    """The most calls a second of the function that reads the stream: one for each time that a shard is read."""
    write_units = 0.0
    for pattern in workload.patterns:
        operation = design.operation(pattern.id)
        if operation and operation.served and operation.units:
            write_units += per_second(pattern.rate) * operation.units.write
    # A shard of the stream belongs to a partition of the table, and on demand the table grows by its writes.
    return _POLLS * max(_SHARDS, -(-write_units // PARTITION_WRITE_UNITS))


def _stream_line(calls: float) -> BackgroundCost:
    """The Lambda function that reads the stream. With few records it is called for each, with many for several."""
    month = Decimal(str(calls * MONTH_SECONDS))
    # A call and its time: reading a stream from Lambda is free.
    price = month * (INVOCATION_MILLION / 1_000_000 + Decimal(str(FUNCTION)) * GB_SECOND)
    text = "call the Lambda function that reads the stream"
    return BackgroundCost(BackgroundKind.STREAM, "the stream", text, calls, Units(), price.quantize(_EXACT))


# --- Large contents -------------------------------------------------------------------------------------------------


def _content_lines(workload: Workload, figures: Estimates, content: ContentCost) -> Iterator[BackgroundCost]:
    entity = workload.entity(content.entity)
    assert entity is not None  # the contents are of entities of the workload
    place = (
        "in the object store" if content.stored else f"in {content.part_count} part{'s' * (content.part_count != 1)}"
    )
    yield BackgroundCost(
        BackgroundKind.WRITE_CONTENTS,
        content.name,
        f"write a content {place}",
        content.rate,
        Units(write=content.write_units),
        content.written.quantize(_EXACT),
    )
    if content.deletes:
        yield BackgroundCost(
            BackgroundKind.DELETE_CONTENTS,
            content.name,
            "delete a content that was replaced, or whose item was deleted",
            content.deletes,
            Units(write=content.write_units),
            content.deleted.quantize(_EXACT),
        )
    if not keeps_contents(entity):  # earlier versions refer to contents, and `remove_garbage` is refused
        yield _garbage_line(figures, entity, content)
    if content.left:
        yield BackgroundCost(
            BackgroundKind.LEAVE_CONTENTS,
            content.name,
            f"store contents of dropped versions, which nothing deletes: {amount(content.left_gb)} GB more each month",
            content.left,
            Units(),
            content.left_dollars.quantize(_EXACT),
        )


def _garbage_line(figures: Estimates, entity: Entity, content: ContentCost) -> BackgroundCost:
    """A run of `remove_garbage`: it scans the table or lists the objects, and reads each item with a content."""
    reads = content.count * read_units(size_of(entity), STRONG)
    listings = 0.0
    if content.stored:
        listings = max(1.0, content.count * content.object_count / _LISTED)
    else:
        scanned_bytes = sum(entries * size for _, slot, entries, size in figures.stored() if slot == TABLE)
        reads += read_units(round(scanned_bytes))
    # One run each 30 days, as both guides that name it say.
    rate = 1 / GARBAGE
    runs = Decimal(MONTH_SECONDS) / GARBAGE
    price = runs * (dollars(reads=reads) + Decimal(str(listings)) * LIST_THOUSAND / 1_000)
    text = "`remove_garbage`: delete contents to which no item refers"
    return BackgroundCost(
        BackgroundKind.REMOVE_GARBAGE, content.name, text, rate, Units(read=round(reads, 6)), price.quantize(_EXACT)
    )


# --- Items that expire ----------------------------------------------------------------------------------------------


def _expiry_lines(workload: Workload, design: Design) -> Iterator[BackgroundCost]:
    """The items that DynamoDB deletes by their time to live. It does not charge for that."""
    for entity in workload.entities:
        if design.item(entity.name) and ending_of(entity) is not None:
            text = f"expire a {entity.name} (TTL), for which DynamoDB does not charge"
            rate = created(workload, entity)
            yield BackgroundCost(BackgroundKind.EXPIRY, entity.name, text, rate, Units(), Decimal())


def _expired_records(workload: Workload, design: Design) -> float:
    """The items that DynamoDB deletes in a second by their time to live: each is a record of the stream.

    Copies and guards of an item have its time, and versions have one of their own.
    """
    items = Counter([*(item.entity for item in design.items), *(guard.entity for guard in design.guards)])
    total = sum(line.expiry_rate(usage_of(workload, line.entity)) for line in lines_in(workload, design))
    for entity in workload.entities:
        if ending_of(entity) is not None:
            total += created(workload, entity) * items[entity.name]
    return total
