"""Numbers, sizes, rates and money in words."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from decimal import Decimal

_PERIODS = ((1, "a second"), (60, "a minute"), (3600, "an hour"), (86_400, "a day"), (2_592_000, "a month"))
_SPLIT = re.compile(r"(\d+)")


def listed(names: Iterable[str]) -> str:
    """
    >>> listed(["a"]), listed(["a", "b", "c"])
    ('a', 'a, b and c')
    """
    *first, last = list(names) or [""]
    return f"{', '.join(first)} and {last}" if first else last


def coded(names: Iterable[str]) -> str:
    """
    >>> coded(["userId", "status"])
    '`userId` and `status`'
    """
    return listed(f"`{name}`" for name in names)


def verb(of: Sequence[object], one: str, many: str) -> str:
    """
    >>> verb(["AP-1"], "reads", "read"), verb(["AP-1", "AP-2"], "reads", "read")
    ('reads', 'read')
    """
    return one if len(of) == 1 else many


def natural_order(names: Iterable[str]) -> list[str]:
    """Unique names in order, with numbers in them by value.

    >>> natural_order(["AP10", "AP2", "AP2"])
    ['AP2', 'AP10']
    """
    return sorted(
        set(names), key=lambda name: [(p.isdigit(), int(p) if p.isdigit() else p) for p in _SPLIT.split(name)]
    )


def count(number: float, one: str, many: str = "") -> str:
    """
    >>> count(1, "item"), count(2_000_000, "item"), count(2, "entry", "entries"), count(1.01, "unit")
    ('1 item', '2,000,000 items', '2 entries', '1 unit')
    """
    text = amount(number)
    return f"{text} {one if text == '1' else many or one + 's'}"


def amount(number: float) -> str:
    """
    >>> amount(4440), amount(0.5), amount(1234.56), amount(0.00042)
    ('4,440', '0.5', '1,235', '0.00042')
    """
    if number == int(number) or number >= 100:
        return f"{round(number):,}"
    return f"{number:.2g}" if number < 1 else f"{number:.1f}".removesuffix(".0")


def size(number: float) -> str:
    """
    >>> size(400), size(2048), size(3_500_000)
    ('400 B', '2 KB', '3.5 MB')
    """
    if number < 1024:
        return f"{amount(number)} B"
    for unit, scale in (("KB", 1024.0), ("MB", 1e6), ("GB", 1e9), ("TB", 1e12)):
        if number < 1000 * scale or unit == "TB":
            return f"{amount(number / scale)} {unit}"
    raise AssertionError


def rate(per_second: float) -> str:
    """A rate, in the shortest period in which it happens at least once.

    >>> rate(20), rate(0.1), rate(0.0001)
    ('20 times a second', '6 times a minute', '8.6 times a day')
    """
    for seconds, name in _PERIODS:
        times = round(per_second * seconds, 9)
        if times >= 1:
            return f"once {name}" if times == 1 else f"{amount(times)} times {name}"
    return "less than once a month" if per_second else "never"


def money(dollars: Decimal | float) -> str:
    """
    >>> money(Decimal("1234.5")), money(3.14159), money(0.004), money(0)
    ('$1,234', '$3.14', 'less than a cent', 'nothing')
    >>> money(Decimal("140.535")) == money(140.535)
    True
    """
    if isinstance(dollars, float):
        dollars = Decimal(repr(dollars))  # a price is printed the same whether a sum or a line has it
    if dollars < 0:
        return f"-{money(-dollars)}"
    if dollars == 0:
        return "nothing"
    if dollars < Decimal("0.01"):
        return "less than a cent"
    return f"${dollars:,.0f}" if dollars >= 1000 else f"${dollars:,.2f}"


def share(part: float) -> str:
    """
    >>> share(1.0), share(0.25), share(0.001)
    ('100 %', '25 %', '0.1 %')
    """
    return f"{amount(part * 100)} %"
