"""The methods and tests in the counterpart tables of the examples exist."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
READMES = sorted(path.with_name("README.md") for path in EXAMPLES.glob("*/access-patterns.md"))
_LINK = re.compile(r"\[`(?:(\w+)\.)?(\w+)`\]\(([^)#]+\.py)\)")
_HEADING = "Counterparts of tutorial code"
# Names of functions in tutorials.
FUNCTIONS = (
    *("createUser", "create_user", "getUser", "get_user", "updateUser", "get_user_by_email", "get_user_with_all"),
    *("createOrder", "create_order", "place_order", "getUserOrders", "get_user_orders", "getOrderWithItems"),
    *("getOrdersByStatus", "get_pending_orders", "updateOrderStatus", "getUserPosts"),
)


@cache
def functions(path: Path) -> frozenset[str]:
    """The functions and methods of a file; a method also as `Class.method`."""
    found = set[str]()
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            found.add(node.name)
        elif isinstance(node, ast.ClassDef):
            found |= {f"{node.name}.{one.name}" for one in node.body if isinstance(one, ast.FunctionDef)}
    return frozenset(found)


def rows(text: str, heading: str) -> list[list[str]]:
    """The rows of the tables below a heading, without their heads."""
    section = text.partition(f"# {heading}\n")[2]
    section = re.split(r"^#{1,2} ", section, maxsplit=1, flags=re.MULTILINE)[0]
    lines = [line for line in section.splitlines() if line.startswith("| ")]
    cells = [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines]
    return [one for one, after in zip(cells, [*cells[1:], [""]], strict=False) if "---" not in (one[0], after[0])]


def counterparts() -> list[list[str]]:
    return rows((EXAMPLES / "README.md").read_text("utf-8"), _HEADING)


@pytest.mark.parametrize("row", counterparts(), ids=lambda row: row[0])
def test_methods_and_tests_in_the_table_exist(row: list[str]) -> None:
    _, here, tested = row
    for example, name, place in _LINK.findall(here):
        assert name in functions(EXAMPLES / place), f"{place} has no {name}"
        assert place.startswith(f"{example}/")
    tests = _LINK.findall(tested)
    for _, name, place in tests:
        assert name.startswith("test_")
        assert name in functions(EXAMPLES / place), f"{place} has no {name}"
    assert tests


def test_table_has_all_functions_of_tutorials() -> None:
    listed = {name for row in counterparts() for name in re.findall(r"`([^`]+)`", row[0])}
    assert set(FUNCTIONS) - listed == set()
    assert len(counterparts()) > 50


def test_unknown_name_is_detected() -> None:
    here = functions(EXAMPLES / "shop" / "shop" / "repository.py")
    assert "register" in here
    assert "ShopRepository.register" in here
    assert "no_such_method" not in here


@pytest.mark.parametrize("path", READMES, ids=lambda path: path.parent.name)
def test_every_example_has_a_valid_table_of_counterparts(path: Path) -> None:
    table = rows(path.read_text("utf-8"), _HEADING)
    assert table
    methods = {
        name
        for code in path.parent.rglob("*.py")
        if path.parent / "tests" not in code.parents
        for name in functions(code)
    }
    tests = {name for code in (path.parent / "tests").glob("test_*.py") for name in functions(code)}
    for row in table:
        here = re.findall(r"`([\w.]+)`", row[1])
        tested = [name.rpartition("::")[2] for name in re.findall(r"`([\w./:]+)`", row[-1])]
        assert here
        assert tested
        assert set(here) - methods == set(), row[0]
        assert set(tested) - tests == set(), row[0]
