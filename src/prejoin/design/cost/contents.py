"""The price of large contents: in parts in the table, and in S3."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from typing import Final

from prejoin.design.cost.assumptions import CONTENT, count_of, per_second
from prejoin.protocol.limits import KB
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
from prejoin.workload.contents import contents_of
from prejoin.workload.lookup import changes
from prejoin.workload.model import Attribute, Entity, Model, Verb, Workload

PART: Final = 240 * KB
"""Bytes of a part in the table, as `Large` writes it."""
PUT_THOUSAND: Final = Decimal("0.005")
"""Dollars per thousand PUT requests to S3 Standard in us-east-1."""
OBJECT_GB_MONTH: Final = Decimal("0.023")
"""Dollars per GB and month in S3 Standard in us-east-1."""
_OBJECT: Final = 8 * KB * KB
_OF_PART: Final = 300
"""Bytes of a part beside its content: its key, and the item that it is for."""
_PAGE: Final = 4
"""Parts that one Query reads."""


def part_units(size: int) -> float:
    """Write units of a content in parts.

    >>> part_units(100 * KB), part_units(1024 * KB)
    (101.0, 1029.0)
    """
    whole, rest = divmod(size, PART)
    return whole * write_units(PART + _OF_PART) + (write_units(rest + _OF_PART) if rest else 0)


def content_fix(name: str, size: int) -> str:
    """The fix for an attribute that is too large for an item, with the price of both places.

    >>> content_fix("body", 2 * 1024 * KB).partition(": ")[2]
    'a thousand writes cost $1.29 in parts in the table, and $0.005 in S3; a GB costs $0.25 or $0.023 a month'
    """
    parts = Decimal(str(part_units(size))) * WRITE_MILLION / 1000
    objects = PUT_THOUSAND * -(-size // _OBJECT)
    return (
        f"give `{name}` the type `content`, which is kept beside the item: a thousand writes cost ${parts:.2f} in "
        f"parts in the table, and ${objects:.3f} in S3; a GB costs ${STORAGE_GB_MONTH} or ${OBJECT_GB_MONTH} a month"
    )


class ContentCost(Model, frozen=True):
    """The contents of an attribute, in parts in the table."""

    entity: str
    attribute: str
    size: int
    """Bytes of a typical content."""
    count: float
    rate: float
    """How many are stored in a second: with each new item, and with each update of the attribute."""

    @property
    def name(self) -> str:
        """`Document.body`."""
        return f"{self.entity}.{self.attribute}"

    @property
    def parts(self) -> int:
        return -(-self.size // PART)

    @property
    def part_size(self) -> int:
        return -(-self.size // self.parts) + _OF_PART

    @property
    def write_units(self) -> float:
        """Write units of one content."""
        return part_units(self.size)

    @property
    def read_units(self) -> float:
        """Read units of one content, as a whole: four parts are a Query."""
        return sum(read_units(size, EVENTUAL) for size in _pages(self.size))

    @property
    def dollars(self) -> Decimal:
        """The cost of writing in a month. That of storage is with the items."""
        return dollars(writes=self.rate * MONTH_SECONDS * self.write_units)

    @property
    def stored(self) -> Decimal:
        """The cost of storage in a month."""
        return dollars(gb_months=self.count * self.size / GB)

    @property
    def objects(self) -> Decimal:
        """What S3 would cost in a month: requests that write, and storage."""
        puts = Decimal(str(self.rate * MONTH_SECONDS / 1000)) * -(-self.size // _OBJECT) * PUT_THOUSAND
        return puts + Decimal(str(self.count * self.size / GB)) * OBJECT_GB_MONTH


def contents(workload: Workload) -> tuple[ContentCost, ...]:
    """The large contents of a document, in its order."""
    return tuple(one for entity in workload.entities for one in entity_contents(workload, entity))


def entity_contents(workload: Workload, entity: Entity) -> Iterator[ContentCost]:
    """The large contents of an entity."""
    for attribute in contents_of(entity):
        count, rate = float(count_of(workload, entity)), _rate(workload, entity, attribute)
        yield ContentCost(entity.name, attribute.name, attribute.size or CONTENT, count, rate)


def _rate(workload: Workload, entity: Entity, attribute: Attribute) -> float:
    return sum(
        per_second(write.rate)
        for write in workload.writes
        for action in write.actions
        if action.entity == entity.name
        and (
            action.verb in (Verb.CREATE, Verb.PUT)
            or any(change.attribute == attribute.name for change in changes(write, action, entity))
        )
    )


def _pages(size: int) -> Iterator[int]:
    """Bytes of each page of a content."""
    for start in range(0, size, _PAGE * PART):
        whole = min(size - start, _PAGE * PART)
        yield whole + -(-whole // PART) * _OF_PART
