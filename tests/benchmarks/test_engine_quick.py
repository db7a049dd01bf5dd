"""The engine's benchmark runs, for the ways that are ours. What it measures is not asserted: this machine is shared."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from engine.workload import SCHEMA, TABLE, item, order
from prejoin import Call, Client
from prejoin.engine import Embedded

ROOT = Path(__file__).parents[2]


def test_items_equal_those_of_the_typed_client() -> None:
    seen: list[Call] = []
    with Embedded() as engine:
        db = Client(SCHEMA, TABLE, engine, observe=seen.append)
        db.create_table()
        db.put(order("u000001", 7))
    assert seen[-1].request["Item"] == item(order("u000001", 7))


@pytest.mark.slow
def test_the_benchmark_compares_all_our_ways_and_writes_nothing() -> None:
    page = ROOT / "benchmarks" / "engine" / "README.md"
    before = page.read_text(encoding="utf-8")
    command = [sys.executable, "benchmarks/engine", "--quick", "--ours"]
    result = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, timeout=120)
    assert result.returncode == 0, result.stderr
    assert "left out" not in result.stderr
    _, _, ratios = result.stdout.partition("Times as fast")
    rows = {cells[1].strip(): cells[2:-1] for line in ratios.splitlines() if len(cells := line.split("|")) > 2}
    kept = ("call to object", "bytes in and out")
    for way in (*kept, *(f"{way}, on a file" for way in kept), "boto3 through the adapter"):
        assert all(re.fullmatch(r"[\d.e+*-]+×\**|-", cell.strip()) for cell in rows[f"prejoin, {way}"])
    assert {cell.strip() for cell in rows["prejoin serve, boto3"]} == {"**1.0×**"}
    assert page.read_text(encoding="utf-8") == before


@pytest.mark.slow
def test_the_cost_of_a_stream_is_measured_in_memory_and_on_a_file() -> None:
    command = [sys.executable, "benchmarks/engine", "--streams", "--quick"]
    result = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, timeout=120)
    assert result.returncode == 0, result.stderr
    assert len(re.findall(r"^\| (?:in memory|on a file), (?:one|no) index +\| +-?\d+% \|", result.stdout, re.M)) == 4
