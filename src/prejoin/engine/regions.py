"""Tables apart by the region and account of the caller, as AWS and moto keep them: one engine for each."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable

from prejoin.engine.embedded import Embedded

# That of moto, and of many examples.
_ACCOUNT = "123456789012"
_NUMBER = re.compile(r"\d{12}")


class Regions:
    """The engines of regions and accounts. The first caller gets the `home` engine, others get new ones in memory.

    An access key of twelve digits is an account's number, as in LocalStack. Every other key is of account 123456789012.
    """

    def __init__(self, home: Embedded, make: Callable[[], Embedded] = Embedded) -> None:
        self._home = home
        self._make = make
        self._engines: dict[tuple[str, str], Embedded] = {}
        self._lock = threading.Lock()

    def at(self, region: str, access_key: str) -> Embedded:
        """The engine of a caller."""
        account = access_key if _NUMBER.fullmatch(access_key) else _ACCOUNT
        # No lock for the usual case: an engine that was added stays until all are closed.
        engine = self._engines.get((region, account))
        return engine if engine is not None else self._add(region, account)

    def _add(self, region: str, account: str) -> Embedded:
        with self._lock:
            engine = self._engines.get((region, account))
            # Looked up again with the lock: another thread may have added it.
            if engine is None:
                engine = self._make() if self._engines else self._home
                engine.locate(region, account)
                self._engines[region, account] = engine
            return engine

    def close(self) -> None:
        """Close the engines that were made here, all but the home."""
        with self._lock:
            for engine in self._engines.values():
                if engine is not self._home:
                    engine.close()
            self._engines.clear()
