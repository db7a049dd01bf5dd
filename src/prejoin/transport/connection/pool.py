"""Connections kept for the next request, shared by threads. What a connection is, is the driver's affair."""

from __future__ import annotations

import contextlib
from _thread import LockType, allocate_lock
from collections import deque
from time import monotonic
from typing import Generic, Protocol, TypeVar


class PooledConnection(Protocol):
    """What the pool asks of a connection."""

    since: float
    """When it was last used, on the monotonic clock."""

    def is_quiet(self) -> bool:
        """Whether the server has neither closed it nor said anything unasked."""
        ...

    def close(self) -> None: ...


C = TypeVar("C", bound=PooledConnection)


class PoolExhausted(TimeoutError):  # noqa: N818 - it says what is the case
    """There was no connection to be had: more requests at once than the pool has places."""

    def __init__(self, size: int, patience: float) -> None:
        super().__init__(f"all {size} connections are in use, for {patience:g} seconds")


class Pool(Generic[C]):
    """A fixed number of places, each empty or with an idle connection; what is not here is in use.

    Taking and giving back are one operation on a deque, which is atomic, so the usual case needs no lock. The places
    on the right are the warmest, the empty ones are on the left.
    """

    def __init__(self, size: int, idle: float) -> None:
        self._size = size
        self._idle = idle
        self._swept = monotonic()
        self._places: deque[C | None] = deque([None] * size)
        self._waiting: deque[LockType] = deque()
        self._closed = False

    def take(self, patience: float) -> C | None:
        """An idle connection, or None: the right to open one. Either way `give` has to follow."""
        try:
            place = self._places.pop()
        except IndexError:
            place = self._wait(patience)
        if place is None or (monotonic() - place.since < self._idle and place.is_quiet()):
            return place
        place.close()
        return None

    def give(self, connection: C | None) -> None:
        """Back into its place, to be used again; None where there is nothing left to use."""
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
        """Close what is idle, now, and what is in use, when it comes back."""
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
        """In a forked child: the connections are the parent's. Closing our end of them tells the server nothing."""
        places = self._places
        self._places = deque([None] * self._size)
        self._waiting = deque()
        for place in places:
            if place is not None:
                place.close()

    def _wait(self, patience: float) -> C | None:
        end = monotonic() + patience
        while True:
            # In line first, then another look: whoever gives back in between sees us.
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
                        continue  # someone was quicker
                self._leave(turn)
                raise PoolExhausted(self._size, patience) from None
            self._leave(turn)
            return place

    def _leave(self, turn: LockType) -> None:
        try:
            self._waiting.remove(turn)
        except ValueError:
            self._wake()  # we were called meanwhile: the next one shall have it

    def _wake(self) -> None:
        with contextlib.suppress(IndexError):
            self._waiting.popleft().release()

    def _sweep(self, now: float) -> None:
        """Look at each place once, from the coldest on, and close what has been idle too long."""
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
