"""Rows that were read or written last, kept beside a store that nobody else can change."""

from __future__ import annotations

import msgspec

_MOST = 8192
_SMALL = 4096
"""Bytes: all that is kept is within 32 MB."""


class Row(msgspec.Struct, frozen=True, gc=False):
    """An item as it is stored and answered: the size DynamoDB counts, and its JSON."""

    size: int
    content: bytes


class Recent(dict[bytes, Row]):
    """Rows by key. To ask SQLite for one takes longer than all else that a read does."""

    def keep(self, key: bytes, row: Row | None) -> None:
        """What lies under a key now; None is nothing."""
        if row is None or len(row.content) > _SMALL:
            self.pop(key, None)
            return
        if len(self) >= _MOST:
            self.clear()
        self[key] = row
