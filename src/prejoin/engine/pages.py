"""One page of a Query or a Scan: rows in key order from a position on, until the limit, 1 MB, or the end."""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass, field
from operator import itemgetter

import msgspec

from prejoin.engine import rows
from prejoin.engine.definition import Index, Table
from prejoin.engine.keys import stored_under
from prejoin.protocol import limits
from prejoin.protocol.keybytes import Range, after, beyond

_ANY = (1 << 31) - 1
_FETCHED = 1000


Found = tuple[int, bytes]
"""An item's size and its JSON."""


@dataclass(slots=True)
class Page:
    """The rows of a page in order; `size` is what they count together; `more` says the page was cut."""

    rows: list[Found] = field(default_factory=list)
    size: int = 0
    more: bool = False
    fetched_units: list[int] = field(default_factory=list)
    """Sizes of whole items that a local index had to fetch from the table."""


class Cut(msgspec.Struct, frozen=True):
    """What to read: a range of key bytes; after which of them to begin; how far; which way."""

    table: Table
    index: Index | None
    bounds: Range
    start: bytes | None
    limit: int | None
    forward: bool = True
    whole_items: bool = False
    """Fetch each item from the table, as a local index does for attributes it does not hold."""


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
    for number, (_, content) in enumerate(page.rows):
        whole = rows.fetch(connection, stored_under(table, rows.decode_item(content)))
        assert whole is not None, "an index entry has its item"
        page.fetched_units.append(whole.size)
        page.rows[number] = (whole.size, whole.content)


def segment_range(prefix: bytes, segment: int, total: int) -> Range:
    """The key bytes of one segment of a parallel scan: an equal share of the hashes.

    >>> segment_range(b"", 1, 3)
    Range(low=b'UUUU', high=b'\\xaa\\xaa\\xaa\\xaa')
    """
    first, last = (segment << 32) // total, (segment + 1 << 32) // total
    return Range(prefix + first.to_bytes(4), beyond(prefix + (last - 1).to_bytes(4)))


def _statement(cut: Cut) -> tuple[str, tuple[bytes, bytes | None]]:
    low, high = cut.bounds
    if cut.start is not None:
        low, high = (after(cut.start), high) if cut.forward else (low, cut.start)
    return _STATEMENTS[cut.index is None, cut.forward], (low, high)


_STATEMENTS = {
    (of_table, forward): f"SELECT size, item FROM {'items' if of_table else 'entries'} "  # noqa: S608
    f"WHERE key >= ? AND key < ? ORDER BY key{'' if forward else ' DESC'}"
    for of_table in (True, False)
    for forward in (True, False)
}
