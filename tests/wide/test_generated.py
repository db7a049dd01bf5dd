"""Generated repositories on another local DynamoDB, compared with brute force."""

from __future__ import annotations

import json
from collections.abc import Mapping
from itertools import count
from pathlib import Path, PurePosixPath
from random import Random

import pytest
from msgspec.structs import replace
from tests.proof.league import NOW
from tests.render.python.driving import NAMES, designed
from tests.render.python.test_package import RANDOM as EVERYDAY
from tests.render.python.test_package import faults, random_package
from tests.render.python.workloads import random_workload

from prejoin.design.model import Design
from prejoin.design.solver.solve import solve
from prejoin.proof.prove import prove
from prejoin.render.python import Options
from prejoin.render.python.entities import Style
from prejoin.transport import Endpoint
from prejoin.workload.model import Workload

pytestmark = pytest.mark.wide
STYLES: list[Style] = ["dataclass", "msgspec"]
RANDOM = 30
_numbers = count(1)
TYPED = range(EVERYDAY, EVERYDAY + 30)


def unproven_there(workload: Workload, design: Design, url: str, options: Options | None = None) -> list[object]:
    """The patterns that are not proven on a server; deletes its table."""
    table = f"generated-{next(_numbers)}"
    with Endpoint(url) as there:
        proof = prove(workload, replace(design, table=table), there, now=NOW, options=options)
        there.send("DeleteTable", json.dumps({"TableName": table}).encode())
    served = {operation.pattern for operation in design.operations if operation.served}
    failed = [(a.pattern, a.wrong, a.problem) for a in proof.failed if a.pattern in served]
    return [*failed, *proof.findings]


@pytest.mark.parametrize("name", NAMES)
def test_documents_are_proven_there(name: str, other_url: str) -> None:
    workload, design = designed(name)
    if any(len(slot.pk) > 1 or len(slot.sk) > 1 for slot in design.slots):
        pytest.skip("keys of several attributes, new since 2025, are not supported there")
    assert unproven_there(workload, design, other_url) == []


@pytest.mark.parametrize("seed", range(RANDOM))
def test_random_workloads_are_proven_there(seed: int, other_url: str) -> None:
    workload = random_workload(Random(seed))
    options = Options(style=STYLES[seed % 2])
    assert unproven_there(workload, solve(workload).design, other_url, options) == []


def test_code_of_random_workloads_is_linted_formatted_and_typed(tmp_path: Path) -> None:
    packages: dict[str, Mapping[PurePosixPath, str]] = {}
    for seed in TYPED:
        packages |= random_package(seed)
    assert faults(packages, tmp_path) == []
