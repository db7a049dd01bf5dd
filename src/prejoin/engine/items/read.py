"""Read one page of a Query or Scan: from key conditions to a range of key bytes, then rows until the limit or 1 MB."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import msgspec

from prejoin.engine.items import rows
from prejoin.engine.items.keys import check_not_empty, storage_key
from prejoin.engine.store.interface import RangeScan, Session
from prejoin.engine.store.key_layout import partition_bytes
from prejoin.engine.tables.definition import IndexDefinition, KeyElement, KeySchema, TableDefinition
from prejoin.protocol import key_bytes, limits
from prejoin.protocol.errors import refuse
from prejoin.protocol.expressions import AttributeCondition
from prejoin.protocol.key_bytes import Range, after, beyond
from prejoin.protocol.values import Value

_TYPE_MISMATCH = "One or more parameter values were invalid: Condition parameter type does not match schema type"


class PartitionRange(msgspec.Struct, frozen=True):
    """The common first bytes of all keys in one partition, and a range of key bytes within it."""

    partition: bytes
    bounds: Range


def key_range(
    table: TableDefinition, index: IndexDefinition | None, conditions: dict[str, AttributeCondition]
) -> PartitionRange:
    """The range that the key conditions select.

    Every partition attribute needs an equality. Sort attributes are given from left to right without gaps, and only the
    last one may have a condition other than equality.
    """
    keys = table.keys if index is None else index.keys
    _check_key_conditions(keys, conditions)
    prefix = table.prefix if index is None else table.index_prefix(index)
    partition = partition_bytes(prefix, [conditions[attribute.name].operands[0] for attribute in keys.partition])
    sort_conditions = [conditions[attribute.name] for attribute in keys.sort if attribute.name in conditions]
    if not sort_conditions:
        return PartitionRange(partition, key_bytes.under(partition))
    *equalities, last_condition = sort_conditions
    sort_prefix = partition + key_bytes.prefix([condition.operands[0] for condition in equalities])
    # The conditions before the last one are equalities, so their values are a prefix of the key bytes. In an index the
    # item's own key comes after its sort key.
    bounds = key_bytes.compare_range(sort_prefix, last_condition.operator, last_condition.operands, last=index is None)
    return PartitionRange(partition, bounds)


def _check_key_conditions(keys: KeySchema, conditions: dict[str, AttributeCondition]) -> None:
    """Refuse conditions that are not one range of one partition. DynamoDB reports only the first mistake, in this
    order: the number of conditions, then types and values, then operators, then missing attributes.
    """
    if len(conditions) > max(2, len(keys.attributes)):
        refuse(
            f"The number of query conditions ({len(conditions)}) exceeds the number of key attributes defined in the "
            f"schema ({len(keys.attributes)})"
        )
    for attribute in keys.attributes:
        if attribute.name in conditions:
            _check_condition(attribute, conditions[attribute.name])
    if len(keys.attributes) == 1 and len(conditions) > 1:
        refuse("Query key condition not supported")
    if len(keys.partition) > 1 or len(keys.sort) > 1:
        _check_composite_conditions(keys, conditions)
    for attribute in keys.partition:
        condition = conditions.get(attribute.name)
        if condition is None:
            refuse(f"Query condition missed key schema element: {attribute.name}")
        if condition.operator != "=":
            refuse("Query key condition not supported")
    sort_conditions = [attribute.name for attribute in keys.sort if attribute.name in conditions]
    if len(conditions) == len(keys.partition) + len(sort_conditions):
        return
    # Some condition is on an attribute that is not of the key.
    if keys.sort and not sort_conditions:
        refuse(f"Query condition missed key schema element: {keys.sort[0].name}")
    refuse("Query key condition not supported")


def _check_composite_conditions(keys: KeySchema, conditions: dict[str, AttributeCondition]) -> None:
    """The rules for an index with several partition or sort attributes, which have their own messages."""
    names_with_equality = {name for name, condition in conditions.items() if condition.operator == "="}
    missing = [attribute.name for attribute in keys.partition if attribute.name not in names_with_equality]
    if missing:
        refuse(f"HASH key attributes {', '.join(missing)} must have equality conditions specified in the query")
    unequal_names: list[str] = []
    for attribute in keys.sort:
        if attribute.name in conditions and unequal_names:
            refuse(
                f"RANGE key attributes {', '.join(unequal_names)} must have equality conditions specified in the query "
                f"because a condition is present on key attribute {attribute.name}"
            )
        if attribute.name not in names_with_equality:
            unequal_names.append(attribute.name)


def _check_condition(attribute: KeyElement, condition: AttributeCondition) -> None:
    if not condition.operands:
        refuse(key_bytes.NOT_INDEXABLE)
    if condition.operator != "begins_with":
        check_key_values(attribute, condition.operands)
    elif any(attribute.type not in value for value in condition.operands):
        refuse(_TYPE_MISMATCH)
    # Bytes of numbers are ordered by value, so a prefix of digits is no range.
    if condition.operator == "begins_with" and attribute.type == "N":
        refuse(_TYPE_MISMATCH)


def check_key_values(attribute: KeyElement, values: Sequence[Value]) -> None:
    """Refuse values that the key attribute of no item can have."""
    for value in values:
        if attribute.type not in value:
            refuse(_TYPE_MISMATCH)
        check_not_empty(attribute, value)


_NO_LIMIT = (1 << 31) - 1
_UNSIZED_ITEMS = 1001
"""The number of items that are read before their sizes are added up. Most pages have fewer."""


@dataclass(slots=True)
class RowPage:
    """The items of a page in order, as JSON. `has_more` says that the page ended before the range did."""

    items: list[bytes] = field(default_factory=list)
    size: int = 0
    """The sum of the item sizes, if it was requested."""
    has_more: bool = False
    fetched_units: list[int] = field(default_factory=list)
    """Sizes of whole items that a local index fetched from the table."""


class PageQuery(msgspec.Struct, frozen=True):
    """The range to read: key bytes, the position to start after, the limit and the direction."""

    table: TableDefinition
    index: IndexDefinition | None
    bounds: Range
    start: bytes | None
    limit: int | None
    forward: bool = True
    whole_items: bool = False
    """Fetch each item from the table, as a local index does for attributes that it does not project."""
    needs_size: bool = False
    """Whether the size of the page is needed."""


def lacks_attributes(table: TableDefinition, index: IndexDefinition | None, names: frozenset[str]) -> bool:
    """Whether a local index does not project some of these attributes. A global index refuses them."""
    projected_names = None if index is None else table.projected_attributes(index)
    if index is None or projected_names is None or names <= projected_names:
        return False
    if index.is_global:
        refuse(
            "One or more parameter values were invalid: "
            f"Global secondary index {index.name} does not project [{', '.join(sorted(names - projected_names))}]"
        )
    return True


def read_page(session: Session, query: PageQuery) -> RowPage:
    """Read up to the limit, or until the page holds 1 MB."""
    limit = query.limit or _NO_LIMIT
    scan = RangeScan(
        "items" if query.index is None else "entries",
        _remaining_range(query),
        query.forward,
        min(limit, _UNSIZED_ITEMS),
    )
    page = RowPage()
    length = 0
    # The JSON is longer than the size that DynamoDB counts, so a page below 1 MB of JSON is below the limit.
    for contents in session.contents(scan):
        length += sum(map(len, contents))
        page.items += contents
        if length >= limits.PAGE_SIZE:
            break
    if length >= limits.PAGE_SIZE:
        page.items.clear()
        _continue_until_full(session, scan, limit, page)
    elif query.needs_size or len(page.items) == _UNSIZED_ITEMS < limit:
        page.size = session.size(scan)
        if len(page.items) == _UNSIZED_ITEMS < limit:
            _continue_until_full(session, scan, limit, page)
    page.has_more = page.has_more or len(page.items) == limit
    if query.whole_items:
        _fetch_whole_items(session, query.table, page)
    return page


def _continue_until_full(session: Session, scan: RangeScan, limit: int, page: RowPage) -> None:
    """Add items to a page, up to the one that makes it 1 MB."""
    longer = RangeScan(scan.keyspace, scan.bounds, scan.forward, limit)
    for row in session.rows(longer, len(page.items)):
        page.items.append(row.content)
        page.size += row.size
        if page.size >= limits.PAGE_SIZE:
            page.has_more = True
            return


def _fetch_whole_items(session: Session, table: TableDefinition, page: RowPage) -> None:
    for number, content in enumerate(page.items):
        # A local index lies in the partition of its items, so DynamoDB fetches what the index lacks, and charges for
        # each item.
        row = session.get(storage_key(table, rows.decode_item(content)))
        assert row is not None, "an index entry has its item"
        page.fetched_units.append(row.size)
        page.items[number] = row.content


def segment_range(prefix: bytes, segment: int, total: int) -> Range:
    """The key bytes of one segment of a parallel scan: an equal share of the hash values.

    >>> segment_range(b"", 1, 3)
    Range(low=b'UUUU', high=b'\\xaa\\xaa\\xaa\\xaa')
    """
    # In whole numbers, so that segments have neither gaps nor overlaps.
    first, last = (segment << 32) // total, (segment + 1 << 32) // total
    return Range(prefix + first.to_bytes(4), beyond(prefix + (last - 1).to_bytes(4)))


def _remaining_range(query: PageQuery) -> Range:
    low, high = query.bounds
    if query.start is None:
        return query.bounds
    # A range excludes its end, so backwards the start itself is the end.
    return Range(after(query.start), high) if query.forward else Range(low, query.start)
