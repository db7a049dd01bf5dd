"""AWS's JavaScript SDK, plain and document client: runs `js/shop.mjs`, which contains the assertions."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from .conftest import tool

pytestmark = pytest.mark.wide

SCRIPT = Path(__file__).parent / "js" / "shop.mjs"


def test_the_javascript_sdk(url: str) -> None:
    # Next to its node_modules, where Node looks for them.
    script = tool("js/node_modules").parent / SCRIPT.name
    shutil.copy(SCRIPT, script)
    ran = subprocess.run(["node", str(script), url], capture_output=True, text=True, timeout=120, check=False)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    steps = re.findall(r'^  async "(.+?)"\(\)', SCRIPT.read_text(encoding="utf-8"), re.MULTILINE)
    assert ran.stdout.splitlines() == [f"ok {step}" for step in steps]
