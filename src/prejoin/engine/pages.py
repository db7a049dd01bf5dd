"""One page of a Query or a Scan: rows in key order from a position on, until the limit, 1 MB, or the end."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass, field
from zlib import crc32

from prejoin.engine import rows
from prejoin.engine.definition import Index, Table
from prejoin.engine.keyranges import KeyRange
from prejoin.engine.keys import ItemKey
from prejoin.engine.rows import Row
from prejoin.protocol import limits

_ANY = (1 << 31) - 1


@dataclass(slots=True)
class Page:
    """The rows of a page in order; `size` is what they count together; `more` says the page was cut."""

    rows: list[Row] = field(default_factory=list)
    size: int = 0
    more: bool = False
    fetched_units: list[int] = field(default_factory=list)
    """Sizes of whole items that a local index had to fetch from the table."""


@dataclass(frozen=True, slots=True)
class Cut:
    """What to read: a key range, or all of it; where to begin; how far; which way."""

    table: Table
    index: Index | None
    keys: KeyRange | None
    start: tuple[bytes, ...] | None
    limit: int | None
    forward: bool = True
    whole_items: bool = False
    """Fetch each item from the table, as a local index does for attributes it does not hold."""
    segment: tuple[int, int] | None = None
    """Of a parallel scan: which segment, of how many."""


def read_page(connection: sqlite3.Connection, cut: Cut) -> Page:
    """Read until the limit, or until the page holds 1 MB."""
    page = Page()
    for row, key in _rows(connection, cut):
        if cut.whole_items:
            whole = rows.fetch(connection, cut.table, key)
            assert whole is not None, "an index entry has its item"
            page.fetched_units.append(whole.size)
            page.rows.append(whole)
        else:
            page.rows.append(row)
        page.size += row.size
        if len(page.rows) == cut.limit or page.size >= limits.PAGE_SIZE:
            page.more = True
            break
    return page


def _rows(connection: sqlite3.Connection, cut: Cut) -> Iterator[tuple[Row, ItemKey]]:
    statement, parameters = _statement(cut)
    cursor = connection.execute(statement, parameters)
    try:
        for size, content, pk, sk in cursor:
            if cut.segment is not None and crc32(pk) % cut.segment[1] != cut.segment[0]:
                continue
            yield Row(size, content), ItemKey(pk, sk)
    finally:
        cursor.close()


def _statement(cut: Cut) -> tuple[str, list[int | bytes]]:
    """The SQL of a page. All of its text is ours; what comes from the request are parameters."""
    if cut.index is None:
        source, partition, sort, columns = "items WHERE tid = ?", "pk", "sk", ["pk", "sk"]
        parameters: list[int | bytes] = [cut.table.id]
    else:
        source, partition, sort = "entries WHERE tid = ? AND number = ?", "ipk", "isk"
        columns = ["ipk", "isk", "pk", "sk"]
        parameters = [cut.table.id, cut.index.number]
    where = ""
    if cut.keys is not None:
        columns = columns[1:]
        where += f" AND {partition} = ?"
        parameters.append(cut.keys.partition)
        low, high = cut.keys.sort
        if low:
            where += f" AND {sort} >= ?"
            parameters.append(low)
        if high is not None:
            where += f" AND {sort} < ?"
            parameters.append(high)
    if cut.start is not None:
        marks = ", ".join("?" * len(columns))
        where += f" AND ({', '.join(columns)}) {'>' if cut.forward else '<'} ({marks})"
        parameters += cut.start[-len(columns) :]
    direction = "" if cut.forward else " DESC"
    order = ", ".join(column + direction for column in columns)
    parameters.append(_ANY if cut.limit is None or cut.segment is not None else min(cut.limit, _ANY))
    return f"SELECT size, item, pk, sk FROM {source}{where} ORDER BY {order} LIMIT ?", parameters  # noqa: S608
