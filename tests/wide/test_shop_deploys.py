"""cfn-lint accepts the shop's SAM template."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from .conftest import tool

pytestmark = pytest.mark.wide

SHOP = Path(__file__).resolve().parents[2] / "examples" / "shop"


def test_cfn_lint_finds_nothing_in_the_template_of_the_function() -> None:
    lint = tool("infrastructure/bin/cfn-lint")
    ran = subprocess.run(
        [lint.absolute(), "sam.yaml", "template.yaml"], cwd=SHOP, capture_output=True, text=True, check=False
    )
    assert (ran.returncode, ran.stdout) == (0, "")
