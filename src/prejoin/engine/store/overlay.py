"""Rows as they were a while ago: the stored rows, and over them those that have changed since."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from heapq import merge

from prejoin.engine.store.interface import StoredRow

Overlay = dict[bytes, StoredRow | None]
"""Rows by key that differ from the stored ones. None is a row that did not exist."""


def apply_overlay(
    stored_rows: Iterable[tuple[bytes, StoredRow]], overlay: Overlay
) -> Iterator[tuple[bytes, StoredRow]]:
    """Stored rows in key order, as they were according to an overlay.

    >>> a, b = StoredRow(1, b"{}"), StoredRow(2, b"{}")
    >>> [key for key, row in apply_overlay([(b"1", a), (b"3", b)], {b"2": a, b"3": None})]
    [b'1', b'2']
    """
    unchanged_rows = ((key, row) for key, row in stored_rows if key not in overlay)
    earlier_rows = ((key, row) for key, row in sorted(overlay.items(), key=lambda pair: pair[0]) if row is not None)
    return merge(unchanged_rows, earlier_rows, key=lambda pair: pair[0])
