"""Modules imported when something of them is first used: what a program does not use it does not wait for."""

from __future__ import annotations

from typing import Any


class Lazy:
    """A module that is not imported yet. Once something of it was used, that is as quick as if it had been.

    >>> times = Lazy("datetime")
    >>> times.date(2026, 5, 4).isoformat(), vars(times).keys() - {"_name"}
    ('2026-05-04', {'date'})

    An `import` in a function would take longer than some of our functions do. To a type checker it is the module:
    `if TYPE_CHECKING: from . import asks`, and `else: asks = Lazy(…)`.
    """

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, name: str) -> Any:
        from importlib import import_module

        found = getattr(import_module(self._name), name)
        setattr(self, name, found)
        return found
