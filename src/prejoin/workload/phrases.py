"""Lists of names in messages and sentences."""

from __future__ import annotations

from collections.abc import Iterable, Sequence


def code_list(names: Iterable[str]) -> str:
    """Names with commas between them.

    >>> code_list(["User", "Order"])
    '`User`, `Order`'
    """
    return ", ".join(f"`{name}`" for name in names)


def name_list(names: Sequence[str], limit: int = 6) -> str:
    """Names with commas between them, cut after `limit`.

    >>> name_list(["User", "Order", "Item"], 2)
    '`User`, `Order` and 1 more'
    """
    listing = code_list(names[:limit])
    return f"{listing} and {len(names) - limit} more" if len(names) > limit else listing


def and_list(names: Iterable[str]) -> str:
    """Names with `and` before the last one.

    >>> and_list(["name", "email", "phone"])
    '`name`, `email` and `phone`'
    """
    *first, last = [f"`{name}`" for name in names]
    return f"{', '.join(first)} and {last}" if first else last
