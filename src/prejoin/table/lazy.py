"""Lazy modules for the methods of the clients: a cold start imports only what its first call needs."""

from __future__ import annotations

from typing import Any


class Lazy:
    """A module that is imported at the first use of a name. After that, the name is an ordinary attribute.

    >>> times = Lazy("datetime")
    >>> times.date(2026, 5, 4).isoformat(), vars(times).keys() - {"_name"}
    ('2026-05-04', {'date'})

    An `import` statement in a method would run at each call, and take longer than some calls. For type checkers it is
    the module itself: `if TYPE_CHECKING: from . import query`, and `else: query = Lazy(…)`.
    """

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, name: str) -> Any:
        from importlib import import_module

        found = getattr(import_module(self._name), name)
        setattr(self, name, found)
        return found
