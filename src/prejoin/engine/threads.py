"""The threads in which the requests of an event loop wait, if they must."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from concurrent.futures import ThreadPoolExecutor

_READERS = 4


class Threads:
    """Two pools, made when they are first needed: one thread for writes, a few for reads.

    Writes wait for each other anyway. A read never stands behind a write that waits for another process. The threads
    of the event loop are left to the program.
    """

    def __init__(self) -> None:
        self._pools: dict[bool, ThreadPoolExecutor] = {}
        self._process = 0

    def pool(self, *, writes: bool) -> ThreadPoolExecutor:
        from concurrent.futures import ThreadPoolExecutor  # few programs need it

        if self._process != os.getpid():  # threads do not survive a fork
            self._pools, self._process = {}, os.getpid()
        if writes not in self._pools:
            name = "prejoin-writes" if writes else "prejoin-reads"
            self._pools[writes] = ThreadPoolExecutor(1 if writes else _READERS, name)
        return self._pools[writes]

    def close(self) -> None:
        """Start no more threads. What runs is not waited for."""
        if self._process == os.getpid():
            for pool in self._pools.values():
                pool.shutdown(wait=False)
        self._pools = {}
