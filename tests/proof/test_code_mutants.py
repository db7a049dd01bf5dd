"""The proof finds mistakes in generated code: in conditions, lists, changes and arguments, for every verb."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from functools import cache
from pathlib import Path

import pytest
from tests.proof.code_mutants import Mutant, mutants_of, mutated
from tests.solutions import solve

from prejoin.design.model import Design
from prejoin.engine import Embedded
from prejoin.proof.package import LoadedPackage
from prejoin.proof.prove import prove
from prejoin.proof.prove_writes import prove_write
from prejoin.proof.result import PatternProof
from prejoin.proof.sample_table import SampleTable
from prejoin.render.python.package import RenderedPackage, render_package
from prejoin.workload.files import read_text
from prejoin.workload.model import Workload, Write

NOW = datetime(2026, 11, 15, 12, tzinfo=UTC)
DOCUMENT = Path(__file__).with_name("market.md").read_text()
TENANT = DOCUMENT.replace("## Entities", "## Context\n\n- **Tenant**: tenantId\n\n## Entities", 1)
WRITES = [write.id for kind in ("writes", "deletes") for write in getattr(read_text(DOCUMENT, "md").workload, kind)]
EVERYDAY = {("W07", False), ("D5", True)}
"""Writes whose mutants are tried every day: one item with a condition, and a list with one."""


@cache
def market(has_tenant: bool) -> tuple[Workload, Design, RenderedPackage]:
    reading = read_text(TENANT if has_tenant else DOCUMENT, "md")
    assert [one for one in reading.diagnostics if one.severity == "error"] == []
    design = solve(reading.workload).design
    return reading.workload, design, render_package(reading.workload, design)


def proof_of(pattern: str, has_tenant: bool, mutant: Mutant) -> PatternProof:
    """The proof of a write whose method has a mistake, in both repositories."""
    workload, design, rendered = market(has_tenant)
    write = workload.pattern(pattern)
    assert isinstance(write, Write)
    method = rendered.methods[pattern].name
    modules = dict(rendered.modules)
    for name in ("repository", "async_repository"):
        modules[name] = mutated(modules[name], method, mutant)
    package = LoadedPackage(replace(rendered, modules=modules), workload)
    with Embedded() as engine:
        sample = SampleTable.create(workload, design, engine, NOW, edge_values=True, package=package)
        return prove_write(sample, write)


@pytest.mark.parametrize("has_tenant", [False, True], ids=["no tenant", "tenant"])
def test_the_code_without_a_mistake_is_proven(has_tenant: bool) -> None:
    workload, design, _ = market(has_tenant)
    with Embedded() as engine:
        proof = prove(workload, design, engine, now=NOW)
    assert [(one.pattern, one.wrong, one.problem) for one in proof.failed] == []
    assert proof.findings == ()


@pytest.mark.parametrize(
    ("pattern", "has_tenant"),
    [
        pytest.param(pattern, has_tenant, marks=() if (pattern, has_tenant) in EVERYDAY else pytest.mark.slow)
        for pattern in WRITES
        for has_tenant in (False, True)
    ],
)
def test_every_mistake_in_a_method_is_found(pattern: str, has_tenant: bool) -> None:
    rendered = market(has_tenant)[2]
    mutants = mutants_of(rendered.modules["repository"], rendered.methods[pattern].name)
    assert mutants
    unnoticed = {mutant.text for mutant in mutants if proof_of(pattern, has_tenant, mutant).right}
    assert unnoticed == set()


@pytest.mark.slow
@pytest.mark.parametrize(
    "now",
    [
        datetime(2026, 11, 18, 3, 2, tzinfo=UTC),
        datetime(2027, 1, 1, tzinfo=UTC),
        datetime(2028, 2, 29, 23, 59, 59, 999_999, tzinfo=UTC),
    ],
    ids=str,
)
def test_the_code_is_proven_at_any_time(now: datetime) -> None:
    workload, design, _ = market(has_tenant=True)
    with Embedded() as engine:
        proof = prove(workload, design, engine, now=now)
    assert [(one.pattern, one.wrong, one.problem) for one in proof.failed] == []
