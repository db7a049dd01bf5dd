"""Consume the stream of an embedded engine: each change at least once, from where the last run ended."""

from __future__ import annotations

import os
from pathlib import Path
from threading import Event as Stop

from prejoin.engine import Embedded

from .handlers import StreamHandlers

_AT_ONCE = 100


class StreamConsumer:
    """Passes the changes of a table to handlers, in order, and remembers its position in a file.

    The position is saved after each batch. A change that was handled right before a crash is handled again: `once(db,
    change.id)` makes that harmless. An error of a handler is raised; the next run begins with the same batch.
    """

    def __init__(
        self, engine: Embedded, table: str, handlers: StreamHandlers, checkpoint: str | os.PathLike[str] | None = None
    ) -> None:
        """Begin at the position in the file `checkpoint`; without one, at the oldest change that is kept."""
        self._handlers = handlers
        self._checkpoint = Path(checkpoint) if checkpoint is not None else None
        self._changes = engine.changes(table, after=self._read_position(), oldest=True)

    def run(self, stop: Stop | None = None, wait: float = 0.2) -> int:
        """Handle all changes that there are, and return their number. With `stop`, wait for more until it is set."""
        total = 0
        while not (stop and stop.is_set()):
            position = self._changes.position
            batch = self._changes.read(_AT_ONCE)
            if batch:
                try:
                    total += self._handlers.handle(batch)
                except BaseException:
                    # Reading has moved the position: back, so that the next run begins with the same batch.
                    self._changes.position = position
                    raise
                self._save()
            elif stop is None:
                break
            else:
                stop.wait(wait)
        return total

    def _read_position(self) -> str | None:
        if self._checkpoint is None or not self._checkpoint.exists():
            return None
        return self._checkpoint.read_text(encoding="utf-8").strip()

    def _save(self) -> None:
        if self._checkpoint is None:
            return
        # A file that takes the place of another: a crash leaves the old position or the new one, never half of it.
        temporary_file = self._checkpoint.with_name(f".{self._checkpoint.name}.{os.getpid()}")
        temporary_file.write_text(self._changes.position, encoding="utf-8")
        temporary_file.replace(self._checkpoint)
