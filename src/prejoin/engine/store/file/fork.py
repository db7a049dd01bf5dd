"""Forks: SQLite connections must not be carried into a child process.

SQLite keeps the state of its locks in the memory of the process. A child inherits that state but not the locks, so a
connection opened before the fork, or a new one beside it, works without locks and loses writes. A thread inside SQLite
at the moment of the fork may also leave one of SQLite's mutexes locked in the child for ever. See
https://www.sqlite.org/howtocorrupt.html, section 2.6.

So every connection of every store is closed before a fork, and reopened on both sides when it is next needed:

1. Before the fork: close the gate. Running calls finish, for at most a few seconds, and no new one starts. Then close
   all connections.
2. After it, in the parent: open the gate.
3. After it, in the child: if step 1 finished, create new locks and open the gate. Otherwise the stores refuse to work.

No lock is needed: the gate is a list, closed by an append and opened by a pop, and both are atomic.
"""

from __future__ import annotations

import os
import threading
import time
import weakref
from typing import TYPE_CHECKING

from prejoin.engine.store.interface import StoreError

if TYPE_CHECKING:
    from prejoin.engine.store.file.store import FileStore

WAIT_SECONDS = 5.0
"""How long a fork waits for running calls of other threads."""

FORK_MESSAGE = (
    "this process was forked while a call on a file was under way, so it must not touch such files. "
    "Fork when no other thread uses the engine, or start the process with spawn or subprocess"
)


class Fork:
    """A running fork, or the fork that created this process."""

    __slots__ = ("pid", "safe", "thread")

    def __init__(self) -> None:
        self.pid, self.thread = os.getpid(), threading.get_ident()
        self.safe = False
        """Whether all connections were closed."""


gate: list[Fork] = []
"""Empty while the stores may be used. If it is not empty, call `pass_gate`."""

_stores: dict[int, weakref.ref[FileStore]] = {}


def register(store: FileStore) -> None:
    """Have a store close its connections before each fork."""
    identity = id(store)
    _stores[identity] = weakref.ref(store, lambda _: _stores.pop(identity, None))


def _every_store() -> list[FileStore]:
    return [store for reference in list(_stores.values()) if (store := reference()) is not None]


def pass_gate() -> None:
    """Wait until a fork in the parent is over. In a child that cannot use SQLite, raise StoreError."""
    while gate:
        try:
            fork = gate[0]
        except IndexError:
            return
        if fork.pid != os.getpid():
            _after_in_child()
            if gate:
                raise StoreError(FORK_MESSAGE)
        elif fork.thread == threading.get_ident():
            raise StoreError("this thread is about to fork")
        else:
            time.sleep(0.001)


def _close_before_fork() -> None:
    gate.append(fork := Fork())
    if gate[0].pid != fork.pid:
        # In a child that may not use SQLite, its children may not either.
        return
    deadline = time.monotonic() + WAIT_SECONDS
    while threads := [thread for store in _every_store() for thread in store.threads_inside()]:
        # This thread forks in the middle of a call, from a signal handler: the call cannot end before the fork.
        if fork.thread in threads or time.monotonic() > deadline:
            return
        time.sleep(0.001)
    for store in _every_store():
        store.close_sessions()
    fork.safe = True


def _after_in_child() -> None:
    safe = all(fork.safe for fork in gate)
    for store in _every_store():
        store.begin_in_child(safe=safe)
    if safe:
        gate.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_close_before_fork, after_in_parent=gate.pop, after_in_child=_after_in_child)
