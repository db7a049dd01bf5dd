"""One page of a Query or a Scan: rows in key order from a position on, until the limit, 1 MB, or the end."""

from __future__ import annotations

from dataclasses import dataclass, field

import msgspec

from prejoin.engine.items import rows
from prejoin.engine.items.keys import stored_under
from prejoin.engine.store.interface import Session, Stretch
from prejoin.engine.tables.definition import Index, Table
from prejoin.protocol import limits
from prejoin.protocol.keybytes import Range, after, beyond

_ANY = (1 << 31) - 1
_FEW = 1001
"""How many items are read before their sizes are looked at: most pages have no more."""


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


def read_page(session: Session, cut: Cut) -> Page:
    """Read until the limit, or until the page holds 1 MB."""
    limit = cut.limit or _ANY
    stretch = Stretch("items" if cut.index is None else "entries", _bounds(cut), cut.forward, min(limit, _FEW))
    page = Page()
    length = 0
    # JSON is longer than the size that DynamoDB counts: what is within 1 MB as JSON is within it.
    for some in session.contents(stretch):
        length += sum(map(len, some))
        page.items += some
        if length >= limits.PAGE_SIZE:
            break
    if length >= limits.PAGE_SIZE:
        page.items.clear()
        _read_on(session, stretch, limit, page)
    elif cut.sized or len(page.items) == _FEW < limit:
        page.size = session.size(stretch)
        if len(page.items) == _FEW < limit:
            _read_on(session, stretch, limit, page)
    page.more = page.more or len(page.items) == limit
    if cut.whole_items:
        _fetch_whole(session, cut.table, page)
    return page


def _read_on(session: Session, stretch: Stretch, limit: int, page: Page) -> None:
    """Add items to a page, up to the one that makes it 1 MB."""
    longer = Stretch(stretch.shelf, stretch.bounds, stretch.forward, limit)
    for row in session.rows(longer, len(page.items)):
        page.items.append(row.content)
        page.size += row.size
        if page.size >= limits.PAGE_SIZE:
            page.more = True
            return


def _fetch_whole(session: Session, table: Table, page: Page) -> None:
    for number, content in enumerate(page.items):
        whole = session.get(stored_under(table, rows.decode_item(content)))
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


def _bounds(cut: Cut) -> Range:
    low, high = cut.bounds
    if cut.start is None:
        return cut.bounds
    return Range(after(cut.start), high) if cut.forward else Range(low, cut.start)
