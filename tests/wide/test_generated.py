"""Generated repositories on a DynamoDB that others wrote: every method gives and does there what brute force says."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path, PurePosixPath
from random import Random

import pytest
from tests.render.python.driving import NAMES, Driver, designed
from tests.render.python.test_package import RANDOM as EVERYDAY
from tests.render.python.test_package import faults, random_package
from tests.render.python.workloads import random_workload

from prejoin.design.solver.solve import solve
from prejoin.render.python import Options
from prejoin.render.python.entities import Style
from prejoin.transport import Endpoint

pytestmark = pytest.mark.wide
STYLES: list[Style] = ["dataclass", "msgspec"]
RANDOM = 30
TYPED = range(EVERYDAY, EVERYDAY + 30)


@pytest.mark.parametrize("aio", [False, True], ids=["called", "awaited"])
@pytest.mark.parametrize("name", NAMES)
def test_every_method_of_a_document_is_right_there(name: str, aio: bool, other_url: str, tmp_path: Path) -> None:
    with Endpoint(other_url) as there, Driver(*designed(name), tmp_path, aio=aio, at=there, harsh=aio) as driver:
        assert driver.wrong() == []


@pytest.mark.parametrize("seed", range(RANDOM))
def test_every_method_of_a_random_workload_is_right_there(seed: int, other_url: str, tmp_path: Path) -> None:
    workload = random_workload(Random(seed))
    design, options, aio = solve(workload).design, Options(style=STYLES[seed % 2]), seed % 4 > 1
    with Endpoint(other_url) as there, Driver(workload, design, tmp_path, options, aio, there, harsh=True) as driver:
        assert driver.wrong() == []


def test_code_of_random_workloads_is_linted_formatted_and_typed(tmp_path: Path) -> None:
    packages: dict[str, Mapping[PurePosixPath, str]] = {}
    for seed in TYPED:
        packages |= random_package(seed)
    assert faults(packages, tmp_path) == []
