"""The benchmark of patterns runs. What it measures is not asserted, what it counts is."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from patterns.measure import costs
from patterns.reads import PAGE, bucket_cases, shard_cases
from patterns.writes import write_cases
from prejoin.engine import Embedded

ROOT = Path(__file__).parents[2]


@pytest.mark.slow
def test_the_benchmark_runs_and_writes_nothing() -> None:
    page = ROOT / "benchmarks" / "patterns" / "README.md"
    before = page.read_text(encoding="utf-8")
    command = [sys.executable, "benchmarks/patterns", "--quick"]
    result = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, timeout=120)
    assert result.returncode == 0, result.stderr
    assert "newest 100, 4 shards" in result.stdout
    assert "all of 7 days, a bucket each day and 4 shards" in result.stdout
    assert page.read_text(encoding="utf-8") == before


@pytest.mark.slow
@pytest.mark.parametrize(("option", "way"), [("--bulk", "bulk_load, new=True"), ("--large", "Large, in parts")])
def test_each_way_writes_what_it_reads(option: str, way: str) -> None:
    command = [sys.executable, "benchmarks/patterns", option, "--quick"]
    result = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, timeout=120)
    assert result.returncode == 0, result.stderr
    assert way in result.stdout


@pytest.mark.slow
def test_the_benchmark_of_a_new_name_counts_requests_and_units() -> None:
    command = [sys.executable, "benchmarks/patterns", "--rename", "--quick"]
    result = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, timeout=120)
    assert result.returncode == 0, result.stderr
    rows = [[cell.strip() for cell in line.split("|")[1:5]] for line in result.stdout.splitlines()[2:]]
    # 150 comments: two reads of the user, a query, and 2 transactions of up to 99 comments with a check.
    assert rows == [["a transaction for each comment", "153", "6", "750"], ["refresh", "5", "8", "454"]]


def test_each_shard_and_each_day_is_a_request() -> None:
    with Embedded() as engine:
        shards = costs(shard_cases(2 * PAGE, [4]), {"here": engine}, 1)
        days = costs(bucket_cases(4, [7]), {"here": engine}, 1)
    assert (shards["all 1"].requests, shards["all 4"].requests, shards["page 4"].requests) == (1, 4, 4)
    assert (days["all one 7"].requests, days["all day 7"].requests) == (1, 7)


@pytest.mark.slow
def test_writes_of_patterns_match_their_guides() -> None:
    with Embedded() as engine:
        found = costs(write_cases(), {"here": engine}, 1)
    units = {name: cost.units for name, cost in found.items()}
    assert units["insert plain"] == units["insert Version"] == units["insert a sparse index, not in it"] == 1
    assert units["insert an index"] == units["insert an index in 8 shards"] == 2
    assert units["insert Unique"] == units["insert Copy"] == units["insert Counted"] == 4
    assert units["update Unique"] == units["update Counted"] == 1
    assert all(cost.requests == 1 for cost in found.values())
