"""The client's reference page lists every method with its parameters, every error with its base, and every name."""

from __future__ import annotations

import inspect
import re
from pathlib import Path
from typing import Any, get_overloads

import pytest

import prejoin
from prejoin import AsyncClient, AsyncTransaction, Client, TableError, Transaction
from prejoin._exports import HOMES

NAMES = [name for name, home in HOMES.items() if home.startswith("prejoin.table.")]
PAGE = (Path(__file__).parents[2] / "docs" / "reference" / "client.md").read_text(encoding="utf-8")
TABLES = re.findall(r"^\| Method \|.*\n(?:^\|.*\n)+", PAGE, re.MULTILINE)
METHODS = dict(re.findall(r"^\| `(\w+)(\([^`]*\))` \|", "".join(TABLES), re.MULTILINE))


def methods(cls: type) -> dict[str, Any]:
    return {name: one for name, one in inspect.getmembers(cls, inspect.isfunction) if not name.startswith("_")}


def parameters(method: Any) -> str:
    """The names of a method's parameters, as the page has them: `(cls, *, into, **equal)`."""
    found, star = [], False
    for one in list(inspect.signature(method).parameters.values())[1:]:
        star = star or one.kind is one.VAR_POSITIONAL
        if one.kind is one.KEYWORD_ONLY and not star:
            found.append("*")
            star = True
        found.append(f"{ {one.VAR_POSITIONAL: '*', one.VAR_KEYWORD: '**'}.get(one.kind, '') }{one.name}")
    return f"({', '.join(found)})"


def test_reference_lists_every_method_with_its_parameters() -> None:
    there = {**methods(Transaction), **methods(Client)}
    assert {name: parameters(method) for name, method in there.items()} == METHODS


def declared(cls: type) -> dict[str, list[str]]:
    """The signatures of each method, overloads first, with the type names of the sync client."""
    return {
        name: [str(inspect.signature(one)).replace("Async", "") for one in (*get_overloads(method), method)]
        for name, method in methods(cls).items()
    }


@pytest.mark.parametrize(("awaited", "waited"), [(AsyncClient, Client), (AsyncTransaction, Transaction)])
def test_async_methods_have_the_signatures_of_the_sync_ones(awaited: type, waited: type) -> None:
    assert declared(awaited) == declared(waited)


def test_reference_lists_every_error_with_its_base() -> None:
    rows = re.findall(r"^\| `(\w+)` \| (`[^|]+`) \|", PAGE, re.MULTILINE)
    errors = {
        name: ", ".join(f"`{base.__name__}`" for base in getattr(prejoin, name).__bases__)
        for name in NAMES
        if isinstance(getattr(prejoin, name), type)
        and issubclass(getattr(prejoin, name), TableError)
        and name != "TableError"
    }
    assert dict(rows) == errors


def test_reference_lists_every_name() -> None:
    missing = [name for name in NAMES if not re.search(rf"`[^`]*\b{name}\b[^`]*`", PAGE)]
    assert missing == []
