"""The dictionaries of the store in memory: one that is ordered by key, and one that is not.

`restore` of both undoes a change that may have been interrupted at any point.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from typing import Any

from prejoin.protocol.key_bytes import Range

_MOST = 512
"""The number of keys in a chunk before it is split. Inserting into so few is fast."""


class UndoableDict(dict[Any, Any]):
    """A dictionary without a meaningful order."""

    def restore(self, name: Any, value: Any) -> None:
        """Restore an earlier value; None removes the key."""
        if value is None:
            self.pop(name, None)
        else:
            self[name] = value

    def copy(self) -> UndoableDict:
        return UndoableDict(self)


class SortedMap:
    """Values by key, ordered by key. The keys lie in chunks; each chunk has a lower bound.

    >>> mapping = SortedMap()
    >>> for key in (b"b", b"a", b"c"):
    ...     mapping.restore(key, "value of " + key.decode())
    >>> mapping.keys(Range(b"a", b"c"), forward=False, limit=9)
    [b'b', b'a']
    """

    __slots__ = ("_chunks", "_least", "values")

    def __init__(self) -> None:
        self.values: dict[bytes, Any] = {}
        self._chunks: list[list[bytes]] = [[]]
        self._least = [b""]

    def add(self, key: bytes, value: Any) -> None:
        """Add a new key."""
        self.values[key] = value
        at = bisect_right(self._least, key) - 1
        chunk = self._chunks[at]
        insort(chunk, key)
        if len(chunk) > _MOST:
            later = chunk[_MOST // 2 :]
            self._chunks[at : at + 1] = [chunk[: _MOST // 2], later]
            self._least.insert(at + 1, later[0])

    def remove(self, key: bytes) -> None:
        """Remove an existing key."""
        at = bisect_right(self._least, key) - 1
        chunk = self._chunks[at]
        del chunk[bisect_left(chunk, key)]
        if not chunk and at:
            del self._chunks[at], self._least[at]
        del self.values[key]

    def restore(self, key: bytes, value: Any) -> None:
        """Restore an earlier value; None removes the key."""
        if value is None:
            if key in self.values:
                self.remove(key)
        elif key in self.values:
            self.values[key] = value
        else:
            self.add(key, value)

    def copy(self) -> SortedMap:
        copied = SortedMap()
        copied.values, copied._least = self.values.copy(), self._least.copy()
        copied._chunks = [chunk.copy() for chunk in self._chunks]
        return copied

    def repair(self) -> None:
        """Rebuild the order of keys, which an interrupted change may have left inconsistent."""
        keys = sorted(self.values)
        self._chunks = [keys[at : at + _MOST // 2] for at in range(0, len(keys), _MOST // 2)] or [[]]
        self._least = [b"", *(chunk[0] for chunk in self._chunks[1:])]

    def number(self, bounds: Range) -> int:
        """The number of keys in a range."""
        low, high = bounds
        first = bisect_right(self._least, low) - 1
        last = len(self._chunks) - 1 if high is None else bisect_right(self._least, high) - 1
        whole = sum(map(len, self._chunks[first:last]))
        end = len(self._chunks[last]) if high is None else bisect_left(self._chunks[last], high)
        return max(0, whole + end - bisect_left(self._chunks[first], low))

    def keys(self, bounds: Range, *, forward: bool = True, limit: int) -> list[bytes]:
        """The first keys of a range, or the last ones backwards from its end."""
        return self._first(bounds, limit) if forward else self._last(bounds, limit)

    def _first(self, bounds: Range, limit: int) -> list[bytes]:
        low, high = bounds
        found: list[bytes] = []
        for at in range(bisect_right(self._least, low) - 1, len(self._chunks)):
            chunk = self._chunks[at]
            begin = 0 if found else bisect_left(chunk, low)
            end = len(chunk) if high is None or not chunk or chunk[-1] < high else bisect_left(chunk, high)
            found += chunk[begin : min(end, begin + limit - len(found))]
            if end < len(chunk) or len(found) == limit:
                break
        return found

    def _last(self, bounds: Range, limit: int) -> list[bytes]:
        low, high = bounds
        found: list[bytes] = []
        last = len(self._chunks) if high is None else bisect_right(self._least, high)
        for at in range(last - 1, -1, -1):
            chunk = self._chunks[at]
            begin = bisect_left(chunk, low)
            end = len(chunk) if high is None else bisect_left(chunk, high)
            found += chunk[max(begin, end - (limit - len(found))) : end][::-1]
            if begin or len(found) == limit:
                break
        return found
