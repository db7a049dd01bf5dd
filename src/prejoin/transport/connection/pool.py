"""A pool of idle connections, shared by threads."""

from __future__ import annotations

import contextlib
from _thread import LockType, allocate_lock
from collections import deque
from time import monotonic
from typing import Generic, Protocol, TypeVar


class PooledConnection(Protocol):
    """A connection in the pool."""

    since: float
    """When it was last used, on the monotonic clock."""

    def is_quiet(self) -> bool:
        """Whether the server has neither closed it nor sent anything unexpected."""
        ...

    def close(self) -> None: ...


C = TypeVar("C", bound=PooledConnection)


class PoolExhausted(TimeoutError):  # noqa: N818 - named by the state
    """No connection became free in time: there are more parallel requests than the pool has places."""

    def __init__(self, size: int, patience: float) -> None:
        super().__init__(f"all {size} connections are in use, for {patience:g} seconds")


class Pool(Generic[C]):
    """A fixed number of places, each empty or with an idle connection. Connections in use are not in it.

    Taking and returning is one operation on a deque, which is atomic, so the usual case needs no lock. The most
    recently used connections are on the right, the empty places on the left.
    """

    def __init__(self, size: int, idle: float) -> None:
        self._size = size
        self._idle = idle
        self._swept = monotonic()
        self._places: deque[C | None] = deque([None] * size)
        self._waiting: deque[LockType] = deque()
        self._closed = False

    def take(self, patience: float) -> C | None:
        """An idle connection, or None for the right to open one. Either way `give` must follow."""
        try:
            place = self._places.pop()
        except IndexError:
            place = self._wait(patience)
        if place is None or (monotonic() - place.since < self._idle and place.is_quiet()):
            return place
        place.close()
        return None

    def give(self, connection: C | None) -> None:
        """Return a connection for reuse; None if it is not usable any more."""
        if connection is None:
            self._places.appendleft(None)
        else:
            now = connection.since = monotonic()
            self._places.append(connection)
            if now - self._swept > self._idle:
                self._swept = now
                self._sweep(now)
        if self._waiting:
            self._wake()
        if self._closed:
            self.close()

    def close(self) -> None:
        """Close idle connections now, and used ones when they are returned."""
        self._closed = True
        for _ in range(len(self._places)):
            try:
                place = self._places.pop()
            except IndexError:
                break
            if place is not None:
                place.close()
            self._places.appendleft(None)

    def forget(self) -> None:
        """In a forked child, drop the parent's connections. Closing our descriptors tells the server nothing."""
        places = self._places
        self._places = deque([None] * self._size)
        self._waiting = deque()
        for place in places:
            if place is not None:
                place.close()

    def _wait(self, patience: float) -> C | None:
        end = monotonic() + patience
        while True:
            # Queue first, then look again: a connection returned in between would otherwise be missed.
            turn = allocate_lock()
            turn.acquire()
            self._waiting.append(turn)
            try:
                place = self._places.pop()
            except IndexError:
                if turn.acquire(timeout=max(0.0, end - monotonic())):
                    try:
                        return self._places.pop()
                    except IndexError:
                        continue  # another thread was faster
                self._leave(turn)
                raise PoolExhausted(self._size, patience) from None
            self._leave(turn)
            return place

    def _leave(self, turn: LockType) -> None:
        try:
            self._waiting.remove(turn)
        except ValueError:
            self._wake()  # we were woken meanwhile, so wake the next one

    def _wake(self) -> None:
        with contextlib.suppress(IndexError):
            self._waiting.popleft().release()

    def _sweep(self, now: float) -> None:
        """Look at each place once, the least recently used first, and close connections that were idle too long."""
        for _ in range(len(self._places)):
            try:
                place = self._places.popleft()
            except IndexError:
                return
            if place is not None and now - place.since > self._idle:
                place.close()
                place = None
            self._places.append(place)
            if self._waiting:
                self._wake()
