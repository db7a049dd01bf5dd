"""Compare rows with items by checksums, then by attributes where the checksums differ.

Both sides are read once, in any order, and summed up by bucket: the number of items, and the sum of their digests. Sums
do not depend on the order, so memory is the number of buckets, however many rows there are. Only the buckets that
differ are read again and compared attribute by attribute, in groups that fit into memory.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any
from uuid import UUID

from prejoin.patterns.large.large import LargeValue

BUCKETS = 4096
GROUP = 200_000
"""Items that are compared in memory at a time."""
_MODULUS = 1 << 128

Values = Mapping[str, Any]
Item = tuple[str, tuple[Any, ...], Values]
"""Entity, id, values."""
KeyedValues = tuple[tuple[Any, ...], Values]
"""Id, values."""


@dataclass(frozen=True, slots=True)
class ItemDifference:
    """One difference between the database and the table."""

    kind: str
    """`missing` item, `unexpected` item, `different` attribute, `twice` for rows with one id, `unconverted` row,
    `unreadable` item, `drifted` copies or keys, `pattern` with another answer.
    """
    entity: str
    key: str
    attribute: str = ""
    expected: Any = None
    """The value of the database, as it should be stored."""
    found: Any = None

    def __str__(self) -> str:
        place = f"{self.entity} {self.key}"
        match self.kind:
            case "missing":
                return f"missing: {place} is in the database, and not in the table"
            case "unexpected":
                return f"unexpected: {place} is in the table, and not in the database"
            case "different":
                return f"different: {place}: {self.attribute} is {self.found!r}, and should be {self.expected!r}"
            case "pattern":
                return f"pattern: {place}: {self.attribute}: {self.found!r}, and should be {self.expected!r}"
        return f"{self.kind}: {place}: {self.found}"


@dataclass(slots=True)
class Checksums:
    """Counts and sums of digests, by bucket."""

    counts: list[int] = field(default_factory=lambda: [0] * BUCKETS)
    sums: list[int] = field(default_factory=lambda: [0] * BUCKETS)

    def add(self, key: Sequence[Any], values: Values) -> None:
        text = canonical_text(key)
        number = bucket(text)
        digest = hashlib.blake2b(f"{text}\n{canonical_text(values)}".encode(), digest_size=16).digest()
        self.counts[number] += 1
        # A sum and not XOR, by which two equal items of a bucket would cancel each other.
        self.sums[number] = (self.sums[number] + int.from_bytes(digest)) % _MODULUS

    @property
    def total(self) -> int:
        return sum(self.counts)

    def differing(self, other: Checksums) -> list[int]:
        """The buckets whose items differ."""
        return [number for number in range(BUCKETS) if self._bucket_sum(number) != other._bucket_sum(number)]

    def _bucket_sum(self, number: int) -> tuple[int, int]:
        return self.counts[number], self.sums[number]


def bucket(key_text: str) -> int:
    return int.from_bytes(hashlib.blake2b(key_text.encode(), digest_size=4).digest()) % BUCKETS


def groups(buckets: Sequence[int], rows: Checksums, items: Checksums) -> Iterator[frozenset[int]]:
    """Buckets in groups whose items fit into memory."""
    group: set[int] = set()
    group_size = 0
    for number in buckets:
        bucket_size = rows.counts[number] + items.counts[number]
        if group and group_size + bucket_size > GROUP:
            yield frozenset(group)
            group, group_size = set(), 0
        group.add(number)
        group_size += bucket_size
    if group:
        yield frozenset(group)


def compare_items(
    entity: str, expected_items: Iterable[KeyedValues], stored_items: Iterable[KeyedValues]
) -> Iterator[ItemDifference]:
    """The differences between two sets of items."""
    rows: dict[str, KeyedValues] = {}
    for key, values in expected_items:
        text = canonical_text(key)
        if text in rows:
            yield ItemDifference("twice", entity, shown_key(key), found="several rows became this item; one is there")
        rows[text] = key, values
    for key, values in stored_items:
        text = canonical_text(key)
        if text not in rows:
            yield ItemDifference("unexpected", entity, shown_key(key))
            continue
        yield from attribute_differences(entity, key, rows.pop(text)[1], values)
    for key, _ in rows.values():
        yield ItemDifference("missing", entity, shown_key(key))


def attribute_differences(
    entity: str, key: Sequence[Any], row_values: Values, item_values: Values, only: frozenset[str] | None = None
) -> Iterator[ItemDifference]:
    """The attributes that differ between an item and its row; with `only`, of these attributes."""
    names = {*row_values, *item_values}
    if only is not None:
        names &= only
    for name in sorted(names):
        row_value, item_value = row_values.get(name), item_values.get(name)
        if canonical(row_value) != canonical(item_value):
            yield ItemDifference("different", entity, shown_key(key), name, shown(row_value), shown(item_value))


def shown_key(key: Sequence[Any]) -> str:
    return ", ".join(str(shown(part)) for part in key)


def shown(value: Any) -> Any:
    """A value for people and for JSON."""
    match value:
        case None | bool() | int() | str():
            return value
        case Decimal() | float():
            return _number(Decimal(str(value)))
        case bytes():
            return f"0x{value.hex()}"
        case datetime():
            return value.astimezone(UTC).isoformat()
        case LargeValue():
            return f"{value.size:,} bytes with SHA-256 {value.sha256}"
        case set() | frozenset():
            return sorted((shown(member) for member in value), key=str)
        case list() | tuple():
            return [shown(member) for member in value]
        case Mapping():
            return {str(name): shown(member) for name, member in value.items()}
    return str(value)


def canonical_text(value: Any) -> str:
    return json.dumps(canonical(value), sort_keys=True, ensure_ascii=False, separators=(",", ":"))


def canonical(value: Any) -> Any:
    """A value in the form that is compared: what DynamoDB does not tell apart is equal.

    >>> canonical(Decimal("9.90")) == canonical(Decimal("9.9")), canonical({"a": set()}), canonical({2, 1})
    (True, {}, ['1', '2'])
    """
    # One piece, because the order of the cases matters: bool is an int, and datetime is a date.
    match value:
        case bool() | None:
            return value
        case int() | Decimal():
            # Numbers are texts, so that 1 and "1" differ by their mark and 38 digits stay exact.
            return _number(value)
        case float():
            return _number(Decimal(repr(value)))
        case str():
            return f"'{value}"
        case bytes():
            return f"bytes {value.hex()}"
        case datetime():
            return f"'{value.astimezone(UTC).isoformat()}"
        case date() | UUID():
            return f"'{value}"
        case LargeValue():
            # Neither the place of a content nor its compression matters.
            return f"content {value.size} {value.sha256}"
        case set() | frozenset():
            return sorted((canonical(member) for member in value), key=str)
        case list() | tuple():
            return [canonical(member) for member in value]
        case Mapping():
            return {str(name): canonical(member) for name, member in value.items() if not _is_absent(member)}
    return f"'{value}"


def _is_absent(value: Any) -> bool:
    """Whether an attribute is not stored: neither None nor an empty set is."""
    return value is None or (isinstance(value, set) and not value)


def _number(value: int | Decimal) -> str:
    number = Decimal(value)
    return "0" if not number else f"{number.normalize():f}"
