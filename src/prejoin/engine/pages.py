"""One page of a Query or a Scan: rows in key order from a position on, until the limit, 1 MB, or the end."""

from __future__ import annotations

from dataclasses import dataclass, field

import msgspec

from prejoin.engine import rows
from prejoin.engine.definition import Index, Table
from prejoin.engine.keys import stored_under
from prejoin.engine.store import Cursor
from prejoin.protocol import limits
from prejoin.protocol.keybytes import Range, after, beyond

_ANY = (1 << 31) - 1
_FEW = 1001
"""How many items are read before their sizes are looked at: most pages have no more."""
_AT_ONCE = 100


@dataclass(slots=True)
class Page:
    """The items of a page in order, as JSON; `more` says that the page was cut."""

    items: list[bytes] = field(default_factory=list)
    size: int = 0
    """What they count together, where that was asked for."""
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
    sized: bool = False
    """Whether the size of the page is asked for."""


def read_page(cursor: Cursor, cut: Cut) -> Page:
    """Read until the limit, or until the page holds 1 MB."""
    source, bounds, limit = _SOURCES[cut.index is None, cut.forward], _bounds(cut), cut.limit or _ANY
    page = Page()
    length = 0
    cursor.execute(f"SELECT item {source}", (*bounds, min(limit, _FEW), 0))
    # JSON is longer than the size that DynamoDB counts: what is within 1 MB as JSON is within it.
    while length < limits.PAGE_SIZE and (found := cursor.fetchmany(_AT_ONCE)):
        some = [content for (content,) in found]
        length += sum(map(len, some))
        page.items += some
    if length >= limits.PAGE_SIZE:
        page.items.clear()
        _read_on(cursor, source, bounds, limit, page)
    elif cut.sized or len(page.items) == _FEW < limit:
        summing = f"SELECT coalesce(sum(size), 0) FROM (SELECT size {source})"  # noqa: S608
        (page.size,) = cursor.execute(summing, (*bounds, len(page.items), 0)).fetchone()
        if len(page.items) == _FEW < limit:
            _read_on(cursor, source, bounds, limit, page)
    page.more = page.more or len(page.items) == limit
    if cut.whole_items:
        _fetch_whole(cursor, cut.table, page)
    return page


def _read_on(cursor: Cursor, source: str, bounds: tuple[bytes, bytes | None], limit: int, page: Page) -> None:
    """Add items to a page, up to the one that makes it 1 MB."""
    begin = len(page.items)
    cursor.execute(f"SELECT size, item {source}", (*bounds, limit - begin, begin))
    while found := cursor.fetchmany(_AT_ONCE):
        for size, content in found:
            page.items.append(content)
            page.size += size
            if page.size >= limits.PAGE_SIZE:
                page.more = True
                return


def _fetch_whole(cursor: Cursor, table: Table, page: Page) -> None:
    for number, content in enumerate(page.items):
        whole = rows.fetch(cursor, stored_under(table, rows.decode_item(content)))
        assert whole is not None, "an index entry has its item"
        page.fetched_units.append(whole.size)
        page.items[number] = whole.content


def segment_range(prefix: bytes, segment: int, total: int) -> Range:
    """The key bytes of one segment of a parallel scan: an equal share of the hashes.

    >>> segment_range(b"", 1, 3)
    Range(low=b'UUUU', high=b'\\xaa\\xaa\\xaa\\xaa')
    """
    first, last = (segment << 32) // total, (segment + 1 << 32) // total
    return Range(prefix + first.to_bytes(4), beyond(prefix + (last - 1).to_bytes(4)))


def _bounds(cut: Cut) -> tuple[bytes, bytes | None]:
    low, high = cut.bounds
    if cut.start is None:
        return low, high
    return (after(cut.start), high) if cut.forward else (low, cut.start)


_SOURCES = {
    (of_table, forward): f"FROM {'items' if of_table else 'entries'} WHERE key >= ? AND key < ? "
    f"ORDER BY key{'' if forward else ' DESC'} LIMIT ? OFFSET ?"
    for of_table in (True, False)
    for forward in (True, False)
}
"""Where to read, as SQL: of the table or of an index, forward or backward. All else are parameters."""
