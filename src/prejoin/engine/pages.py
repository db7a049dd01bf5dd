"""One page of a Query or a Scan: rows in key order from a position on, until the limit, 1 MB, or the end."""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass, field
from operator import itemgetter
from zlib import crc32

import msgspec

from prejoin.engine import rows
from prejoin.engine.definition import Index, Table
from prejoin.engine.keyranges import KeyRange
from prejoin.engine.keys import ItemKey
from prejoin.protocol import limits

_ANY = (1 << 31) - 1
_FETCHED = 1000


Found = tuple[int, bytes, *tuple[bytes, ...]]
"""An item's size and its JSON; then, only where the whole item is to be fetched, the key bytes it has in the table."""


@dataclass(slots=True)
class Page:
    """The rows of a page in order; `size` is what they count together; `more` says the page was cut."""

    rows: list[Found] = field(default_factory=list)
    size: int = 0
    more: bool = False
    fetched_units: list[int] = field(default_factory=list)
    """Sizes of whole items that a local index had to fetch from the table."""


class Cut(msgspec.Struct, frozen=True):
    """What to read: a key range, or all of it; where to begin; how far; which way."""

    table: Table
    index: Index | None
    keys: KeyRange | None
    start: tuple[int | bytes, ...] | None
    limit: int | None
    forward: bool = True
    whole_items: bool = False
    """Fetch each item from the table, as a local index does for attributes it does not hold."""
    segment: tuple[int, int] | None = None
    """Of a parallel scan: which segment, of how many."""


def read_page(connection: sqlite3.Connection, cut: Cut) -> Page:
    """Read until the limit, or until the page holds 1 MB."""
    statement, parameters = _statement(cut)
    cursor = connection.execute(statement, parameters)
    page = Page()
    limit = cut.limit or _ANY
    try:
        while not page.more and (found := cursor.fetchmany(min(_FETCHED, limit - len(page.rows)))):
            _take(page, found)
            page.more = page.more or len(page.rows) == limit
    finally:
        cursor.close()
    if cut.whole_items:
        _fetch_whole(connection, cut.table, page)
    return page


def _take(page: Page, found: list[Found]) -> None:
    """Add rows to a page, up to the one that makes it 1 MB."""
    size = page.size + sum(map(_SIZE, found))
    if size < limits.PAGE_SIZE:
        page.size = size
        page.rows += found
        return
    for row in found:
        page.rows.append(row)
        page.size += row[0]
        if page.size >= limits.PAGE_SIZE:
            page.more = True
            return


_SIZE = itemgetter(0)


def _fetch_whole(connection: sqlite3.Connection, table: Table, page: Page) -> None:
    for number, (_, _, *key) in enumerate(page.rows):
        pk, sk = key
        whole = rows.fetch(connection, table, ItemKey(crc32(pk), pk, sk))
        assert whole is not None, "an index entry has its item"
        page.fetched_units.append(whole.size)
        page.rows[number] = (whole.size, whole.content)


def segment_range(segment: int, total: int) -> tuple[int, int]:
    """The hashes of one segment of a parallel scan, from the first up to, not including, the last.

    >>> segment_range(0, 1), segment_range(1, 3)
    ((0, 4294967296), (1431655765, 2863311530))
    """
    return (segment << 32) // total, (segment + 1 << 32) // total


def _statement(cut: Cut) -> tuple[str, list[int | bytes]]:
    """The SQL of a page. All of its text is ours; what comes from the request are parameters."""
    parameters: list[int | bytes]
    if cut.index is None:
        source, hashed, partition, sort, columns = "items WHERE tid = ?", "hash", "pk", "sk", ["sk"]
        parameters = [cut.table.id]
    else:
        source, hashed, partition, sort = "entries WHERE tid = ? AND number = ?", "ihash", "ipk", "isk"
        columns = ["isk", "pk", "sk"]
        parameters = [cut.table.id, cut.index.number]
    where = ""
    if cut.keys is not None:
        where += f" AND {hashed} = ? AND {partition} = ?"
        parameters += (crc32(cut.keys.partition), cut.keys.partition)
        low, high = cut.keys.sort
        if low:
            where += f" AND {sort} >= ?"
            parameters.append(low)
        if high is not None:
            where += f" AND {sort} < ?"
            parameters.append(high)
    else:
        columns = [hashed, partition, *columns]
        if cut.segment is not None:
            where += f" AND {hashed} >= ? AND {hashed} < ?"
            parameters += segment_range(*cut.segment)
    if cut.start is not None:
        marks = ", ".join("?" * len(columns))
        where += f" AND ({', '.join(columns)}) {'>' if cut.forward else '<'} ({marks})"
        parameters += cut.start[-len(columns) :]
    direction = "" if cut.forward else " DESC"
    order = ", ".join(column + direction for column in columns)
    wanted = "size, item, pk, sk" if cut.whole_items else "size, item"
    return f"SELECT {wanted} FROM {source}{where} ORDER BY {order}", parameters  # noqa: S608
