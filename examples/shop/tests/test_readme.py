"""The methods, routes and tests that the README names exist."""

from __future__ import annotations

import re
from pathlib import Path

from handler import ROUTES
from shop.repository import ShopRepository

HERE = Path(__file__).resolve().parent
ROWS = [
    row.strip("| ").split(" | ")
    for row in (HERE.parent / "README.md").read_text("utf-8").partition("## Counterparts")[2].splitlines()
    if row.count(" | ") == 3
][2:]


def test_readme_lists_exactly_the_methods() -> None:
    shown = {name for row in ROWS for name in re.findall(r"`(\w+)`", row[1])}
    assert shown == {name for name in vars(ShopRepository) if not name.startswith("_")}


def test_readme_lists_exactly_the_routes() -> None:
    shown = set()
    for _, _, route, _ in ROWS:
        if route != "the same":
            *methods, last = route.replace("`", "").split(", ")
            verb, path = last.split(" ")
            shown |= {f"{method} {path.partition('?')[0]}" for method in (*methods, verb)}
    assert shown == set(ROUTES)


def test_tests_in_the_readme_exist() -> None:
    tests = (HERE / "test_service.py").read_text("utf-8")
    for row in ROWS:
        assert f"def {row[3].strip('`')}(" in tests
