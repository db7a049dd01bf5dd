"""The price of large contents: in parts in the table, and in S3."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from typing import Final

from msgspec.structs import replace

from prejoin.constructs.contents import BESIDE_PART, content_count, part_count, part_size
from prejoin.constructs.registry import constructs_of, keeps_contents, leaves_contents
from prejoin.design.cost.assumptions import rate_of, replaced, usage_of
from prejoin.design.model import Design, Operation
from prejoin.design.requests.literal import ObjectRequest, PartRequest
from prejoin.design.requests.lower import literal_requests
from prejoin.keys.content import OBJECT_SIZE, PART_SIZE
from prejoin.protocol.prices import (
    EVENTUAL,
    GB,
    MONTH_SECONDS,
    STORAGE_GB_MONTH,
    WRITE_MILLION,
    dollars,
    read_units,
    write_units,
)
from prejoin.workload.contents import contents_of, typical_size
from prejoin.workload.lookup import changes
from prejoin.workload.model import Action, Attribute, Entity, Model, Verb, Workload, Write

PUT_THOUSAND: Final = Decimal("0.005")
"""Dollars per thousand PUT requests to S3 Standard in us-east-1."""
GET_THOUSAND: Final = Decimal("0.0004")
"""Dollars per thousand GET requests to S3 Standard in us-east-1. Transfer within the region is free."""
OBJECT_GB_MONTH: Final = Decimal("0.023")
"""Dollars per GB and month in S3 Standard in us-east-1."""
_PAGE: Final = 4
"""Parts that one Query reads."""


def part_units(size: int) -> float:
    """Write units of a content in parts.

    >>> part_units(100 * 1024), part_units(1024 * 1024)
    (101.0, 1029.0)
    """
    # Each part is an item, whose size is rounded up by itself.
    full_parts, remainder = divmod(size, PART_SIZE)
    return full_parts * write_units(PART_SIZE + BESIDE_PART) + (
        write_units(remainder + BESIDE_PART) if remainder else 0
    )


def content_fix(name: str, size: int) -> str:
    """The fix for an attribute that is too large for an item, with the price of both places.

    >>> content_fix("body", 2 * 1024 * 1024).partition(": ")[2]
    'a thousand writes cost $1.29 in parts in the table, and $0.005 in S3; a GB costs $0.25 or $0.023 a month'
    """
    parts = Decimal(str(part_units(size))) * WRITE_MILLION / 1000
    objects = PUT_THOUSAND * -(-size // OBJECT_SIZE)
    return (
        f"give `{name}` the type `content`, which is kept beside the item: a thousand writes cost ${parts:.2f} in "
        f"parts in the table, and ${objects:.3f} in S3; a GB costs ${STORAGE_GB_MONTH} or ${OBJECT_GB_MONTH} a month"
    )


class ContentCost(Model, frozen=True):
    """The contents of an attribute, in parts in the table or in an object store. Prices are for a month."""

    entity: str
    attribute: str
    size: int
    """Bytes of a typical content."""
    count: float
    """How many are referred to: by the items, and by the earlier versions that are kept."""
    rate: float
    """How many are stored in a second: with each new item, and with each update of the attribute."""
    stored: bool = False
    """Whether they are in an object store."""
    deletes: float = 0.0
    """How many are deleted in a second, because they were replaced or their item was deleted."""
    left: float = 0.0
    """How many more stay in a second, because nothing deletes the contents of versions that are dropped."""

    @property
    def name(self) -> str:
        """`Document.body`."""
        return f"{self.entity}.{self.attribute}"

    @property
    def part_count(self) -> int:
        """The parts of one content in the table."""
        return part_count(self.size)

    @property
    def part_size(self) -> int:
        return part_size(self.size)

    @property
    def object_count(self) -> int:
        """The objects of one content in a store, each a request that writes or reads it."""
        return -(-self.size // OBJECT_SIZE)

    @property
    def write_units(self) -> float:
        """Write units of one content; none in a store."""
        return 0 if self.stored else part_units(self.size)

    @property
    def read_units(self) -> float:
        """Read units of one content in parts, as a whole: four parts are a Query."""
        return sum(read_units(size, EVENTUAL) for size in _pages(self.size))

    @property
    def thousand_reads(self) -> Decimal:
        """The price of a thousand reads of a content. The document does not say how many there are in a month."""
        objects, parts = GET_THOUSAND * self.object_count, dollars(reads=1000 * self.read_units)
        return objects if self.stored else parts

    @property
    def written(self) -> Decimal:
        """The cost of writing."""
        return self._puts if self.stored else dollars(writes=self._writes * part_units(self.size))

    @property
    def deleted(self) -> Decimal:
        """The cost of deleting: a part takes as many units as it took to write it, and S3 does not charge for it."""
        units = self.deletes * MONTH_SECONDS * self.write_units
        return dollars(writes=units)

    @property
    def kept(self) -> Decimal:
        """The cost of storage. In the table it is also with the items."""
        return self._gb * self._gb_month

    @property
    def left_gb(self) -> float:
        """The GB that a month leaves, because nothing deletes them."""
        return self.left * MONTH_SECONDS * self.size / GB

    @property
    def left_dollars(self) -> Decimal:
        """The cost of a month's storage of what a month leaves. Each month adds as much."""
        return Decimal(str(self.left_gb)) * self._gb_month

    @property
    def parts(self) -> Decimal:
        """The price of writing, deleting and storage as parts in the table."""
        content = replace(self, stored=False)
        return content.written + content.deleted + content.kept + content.left_dollars

    @property
    def objects(self) -> Decimal:
        """The price of writing, deleting and storage in S3."""
        content = replace(self, stored=True)
        return content.written + content.kept + content.left_dollars

    @property
    def _writes(self) -> float:
        return self.rate * MONTH_SECONDS

    @property
    def _puts(self) -> Decimal:
        return Decimal(str(self._writes / 1000)) * self.object_count * PUT_THOUSAND

    @property
    def _gb_month(self) -> Decimal:
        return OBJECT_GB_MONTH if self.stored else STORAGE_GB_MONTH

    @property
    def _gb(self) -> Decimal:
        return Decimal(str(self.count * self.size / GB))


def contents(workload: Workload, design: Design) -> tuple[ContentCost, ...]:
    """The large contents of the entities of a design, in document order."""
    lines: list[ContentCost] = []
    for entity in workload.entities:
        if design.item(entity.name):
            lines += entity_contents(workload, design, entity)
    return tuple(lines)


def entity_contents(workload: Workload, design: Design, entity: Entity) -> Iterator[ContentCost]:
    """The large contents of an entity."""
    for attribute in contents_of(entity):
        replaced_contents = replaced(workload, entity, attribute.name)
        yield ContentCost(
            entity.name,
            attribute.name,
            typical_size(attribute),
            content_count(attribute, constructs_of(entity), usage_of(workload, entity)),
            _write_rate(workload, entity, attribute),
            design.in_store(entity.name, attribute.name),
            0.0 if keeps_contents(entity) else replaced_contents,
            replaced_contents if leaves_contents(entity) else 0.0,
        )


def stored_contents(operation: Operation, workload: Workload, design: Design) -> tuple[ContentCost, ...]:
    """The large contents that the requests of an operation store before its items."""
    names = {
        request.content
        for request in literal_requests(operation, workload, design)
        if isinstance(request, PartRequest | ObjectRequest)
    }
    return tuple(content for content in contents(workload, design) if content.name in names)


def _write_rate(workload: Workload, entity: Entity, attribute: Attribute) -> float:
    """How many contents are written in a second."""

    def is_written(write: Write, action: Action) -> bool:
        return action.verb in (Verb.CREATE, Verb.PUT) or _changes(write, action, entity, attribute)

    return rate_of(workload, entity, is_written)


def _changes(write: Write, action: Action, entity: Entity, attribute: Attribute) -> bool:
    """Whether an update changes an attribute."""
    return action.updates and any(change.attribute == attribute.name for change in changes(write, action, entity))


def _pages(size: int) -> Iterator[int]:
    """Bytes of each page of a content."""
    for start in range(0, size, _PAGE * PART_SIZE):
        # A page has four parts, and is rounded up as a whole.
        batch_size = min(size - start, _PAGE * PART_SIZE)
        yield batch_size + -(-batch_size // PART_SIZE) * BESIDE_PART
