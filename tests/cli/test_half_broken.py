"""No command crashes on a half-broken document: it reports what is wrong, with a documented exit status."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from tests.cli.conftest import Prejoin
from tests.cli.half_broken import half_broken

ROOT = Path(__file__).parents[2]
EXAMPLES = sorted(ROOT.glob("examples/*/access-patterns.md"))
COMMANDS = (
    ("check",),
    ("design", "--no-proof", "--time-limit", "5"),
    ("design", "--explain", "--time-limit", "5"),
    ("design", "--no-proof", "--why", "AP-001", "--time-limit", "5"),
    ("design", "--no-proof", "--frontier", "--time-limit", "2"),
    ("build", "--yes", "--no-tests"),
    ("query",),
    ("query", "AP-001"),
    ("query", "AP-020"),
)
DOCUMENTED = {0, 1, 2, 4}


def run_on_half_broken(prejoin: Prejoin, seed: int) -> None:
    chance = random.Random(seed)
    text = half_broken(chance.choice(EXAMPLES).read_text("utf-8"), chance)
    Path("access-patterns.md").write_text(text, "utf-8")
    checked = prejoin("check")
    commands = COMMANDS if checked.status == 0 else COMMANDS[:2]
    command = chance.choice(commands)
    ran = prejoin(*command)
    said = f"{command} of seed {seed}: {ran.status}\n{ran.out}\n{ran.err}"
    assert {checked.status, ran.status} <= DOCUMENTED, said
    if ran.status:
        assert ran.out + ran.err, f"no message: {said}"


@pytest.mark.everyday(6)
@pytest.mark.parametrize("seed", range(40))
def test_no_command_crashes_on_a_half_broken_document(prejoin: Prejoin, here: Path, seed: int) -> None:
    run_on_half_broken(prejoin, seed)
