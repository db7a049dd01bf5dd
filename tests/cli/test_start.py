"""Commands import only the modules that they need, so that they start quickly."""

from __future__ import annotations

import subprocess
import sys
from importlib.util import find_spec

import pytest

LOADED = """
import sys
from prejoin.cli.run import run
run(sys.argv[1:])
print(*sorted(sys.modules))
"""
DESIGNER = {"prejoin.design.model", "prejoin.design.solver.solve", "prejoin.proof.prove", "highspy", "numpy"}
DOCUMENT = {"prejoin.workload.model", "prejoin.pipeline.document", "markdown_it", "yaml"}
COMMANDS = {"prejoin.cli.commands.serve", "prejoin.cli.commands.design", "prejoin.engine", "rich"}


@pytest.mark.parametrize(
    ("arguments", "not_loaded"),
    [
        (("--help",), DESIGNER | DOCUMENT | COMMANDS),
        (("serve", "--help"), DESIGNER | DOCUMENT | {"rich"}),
        (("schema", "envelope"), DESIGNER | DOCUMENT),
        (("explain", "PJ100"), DESIGNER | DOCUMENT),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_command_imports_only_the_modules_it_needs(arguments: tuple[str, ...], not_loaded: set[str]) -> None:
    assert [name for name in not_loaded if find_spec(name) is None] == []
    ran = subprocess.run([sys.executable, "-c", LOADED, *arguments], capture_output=True, text=True, check=True)
    assert set(ran.stdout.splitlines()[-1].split()) & not_loaded == set()
