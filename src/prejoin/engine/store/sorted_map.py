"""The dictionaries of the store in memory: one that is ordered by key, and one that is not.

`restore` of both undoes a change that may have been interrupted at any point.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from typing import Any

from prejoin.protocol.key_bytes import Range

_CHUNK_LENGTH = 512
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
        number = bisect_right(self._least, key) - 1
        chunk = self._chunks[number]
        insort(chunk, key)
        # In halves, so that the next keys have room on both sides.
        if len(chunk) > _CHUNK_LENGTH:
            second_half = chunk[_CHUNK_LENGTH // 2 :]
            self._chunks[number : number + 1] = [chunk[: _CHUNK_LENGTH // 2], second_half]
            self._least.insert(number + 1, second_half[0])

    def remove(self, key: bytes) -> None:
        """Remove an existing key."""
        number = bisect_right(self._least, key) - 1
        chunk = self._chunks[number]
        del chunk[bisect_left(chunk, key)]
        # The first chunk stays when it is empty. Its bound is below every key, so each key has a chunk.
        if not chunk and number:
            del self._chunks[number], self._least[number]
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
        copy = SortedMap()
        copy.values, copy._least = self.values.copy(), self._least.copy()
        copy._chunks = [chunk.copy() for chunk in self._chunks]
        return copy

    def repair(self) -> None:
        """Rebuild the order of keys, which an interrupted change may have left inconsistent."""
        # The dictionary is always complete: only the order may have been left in the middle of a change.
        keys = sorted(self.values)
        self._chunks = [keys[at : at + _CHUNK_LENGTH // 2] for at in range(0, len(keys), _CHUNK_LENGTH // 2)] or [[]]
        self._least = [b"", *(chunk[0] for chunk in self._chunks[1:])]

    def number(self, bounds: Range) -> int:
        """The number of keys in a range."""
        low, high = bounds
        first = bisect_right(self._least, low) - 1
        last = len(self._chunks) - 1 if high is None else bisect_right(self._least, high) - 1
        # Only the first and the last chunk are searched.
        full_chunks = sum(map(len, self._chunks[first:last]))
        end = len(self._chunks[last]) if high is None else bisect_left(self._chunks[last], high)
        return max(0, full_chunks + end - bisect_left(self._chunks[first], low))

    def keys(self, bounds: Range, *, forward: bool = True, limit: int) -> list[bytes]:
        """The first keys of a range, or the last ones backwards from its end."""
        return self._first_keys(bounds, limit) if forward else self._last_keys(bounds, limit)

    def _first_keys(self, bounds: Range, limit: int) -> list[bytes]:
        low, high = bounds
        keys: list[bytes] = []
        for number in range(bisect_right(self._least, low) - 1, len(self._chunks)):
            chunk = self._chunks[number]
            begin = 0 if keys else bisect_left(chunk, low)
            # The last key of a chunk is compared first: mostly the whole chunk lies in the range, and no search is
            # needed.
            end = len(chunk) if high is None or not chunk or chunk[-1] < high else bisect_left(chunk, high)
            keys += chunk[begin : min(end, begin + limit - len(keys))]
            if end < len(chunk) or len(keys) == limit:
                break
        return keys

    def _last_keys(self, bounds: Range, limit: int) -> list[bytes]:
        low, high = bounds
        keys: list[bytes] = []
        last = len(self._chunks) if high is None else bisect_right(self._least, high)
        for number in range(last - 1, -1, -1):
            chunk = self._chunks[number]
            begin = bisect_left(chunk, low)
            end = len(chunk) if high is None else bisect_left(chunk, high)
            keys += chunk[max(begin, end - (limit - len(keys))) : end][::-1]
            if begin or len(keys) == limit:
                break
        return keys
