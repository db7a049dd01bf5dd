"""Work as a number: calls of functions, which a busy machine does not change."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import FrameType
from typing import Any


def calls(function: Callable[..., object], *arguments: Any) -> int:
    """How many calls of functions, Python's and built-in ones, `function(*arguments)` makes."""
    count = 0

    def profile(_frame: FrameType, event: str, _argument: object) -> None:
        nonlocal count
        if event in ("call", "c_call"):
            count += 1

    before = sys.getprofile()
    sys.setprofile(profile)
    try:
        function(*arguments)
    finally:
        sys.setprofile(before)
    return count
