"""The tests of tables and patterns on three servers: prejoin, dynoxide and moto. `known` lists their defects."""

from __future__ import annotations

import os
import re
import subprocess
import sys

import pytest

from .conftest import ROOT

pytestmark = pytest.mark.wide

SERVERS = {"prejoin": "url", "dynoxide": "other_url", "moto": "moto_url"}
"""The servers, with the fixtures that start them."""
SUITES = {
    "prejoin": ["tests/table", "tests/patterns"],
    "dynoxide": ["tests/table", "tests/patterns"],
    "moto": ["tests/table"],  # patterns need atomic writes, tokens and units, which moto lacks
}


def passed_on(server: str, url: str) -> int:
    """Runs the suites on a server, and returns the number of passed tests."""
    options = [
        "-p",
        "tests.wide.known",
        "-p",
        "no:cacheprovider",
        "-o",
        "addopts=--import-mode=importlib",
        "--tb=short",
    ]
    ran = subprocess.run(
        [sys.executable, "-m", "pytest", *options, *SUITES[server]],
        cwd=ROOT,
        env={**os.environ, "PREJOIN_SERVER": server, "PREJOIN_PLACE": url},
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert ran.returncode == 0, ran.stdout[-20_000:] + ran.stderr
    found = re.search(r"(\d+) passed", ran.stdout)
    assert found, ran.stdout
    return int(found[1])


COSTS = {
    "Large": "tests/patterns/test_large.py::test_cost_is_that_of_the_parts",
    "Large in a store": "tests/patterns/test_large.py::test_content_in_a_store_costs_no_units_beside_those_of_the_item",
    "Follows": "tests/patterns/test_follows.py::test_cost_is_as_said",
    "History": "tests/patterns/test_history.py::test_an_update_costs_what_is_said",
    "StreamTotals": "tests/patterns/test_totals.py::test_cost_is_as_said",
    "bulk": "tests/patterns/test_bulk_jobs.py::test_new_objects_with_copies_cost_half",
    "once": "tests/patterns/test_once.py::test_cost",
    "recipes": "tests/patterns/test_recipes.py::test_units_are_those_of_the_table",
}
"""The tests of stated costs. Those of other patterns are in the files of these."""


def test_stated_costs_are_those_of_another_engine(other_url: str) -> None:
    """dynoxide counts all units that these tests compare, so none of them is an exception there."""
    command = [sys.executable, "-m", "pytest", "-o", "addopts=--import-mode=importlib", "--tb=short", *COSTS.values()]
    environment = {**os.environ, "PREJOIN_PLACE": other_url}
    ran = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=600, check=False)
    assert ran.returncode == 0, ran.stdout[-20_000:] + ran.stderr
    assert "skipped" not in ran.stdout
    assert "xfailed" not in ran.stdout


@pytest.mark.parametrize("server", SERVERS)
def test_the_suite_passes_on(server: str, request: pytest.FixtureRequest) -> None:
    assert passed_on(server, request.getfixturevalue(SERVERS[server])) > 300
