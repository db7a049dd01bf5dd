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


@pytest.mark.parametrize("server", SERVERS)
def test_the_suite_passes_on(server: str, request: pytest.FixtureRequest) -> None:
    assert passed_on(server, request.getfixturevalue(SERVERS[server])) > 300
