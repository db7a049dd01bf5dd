"""The installed package contains the documents of the examples, which `init` and `demo` read, and nothing else of them."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from prejoin.pipeline import examples

ROOT = Path(__file__).parents[2]


@pytest.mark.slow
def test_the_wheel_has_the_document_of_each_example_and_all_that_the_package_reads(tmp_path: Path) -> None:
    build = "import sys, hatchling.build; hatchling.build.build_wheel(sys.argv[1])"
    subprocess.run([sys.executable, "-c", build, str(tmp_path)], cwd=ROOT, check=True, capture_output=True)
    (wheel,) = tmp_path.glob("*.whl")
    names = set(zipfile.ZipFile(wheel).namelist())
    shipped = {name for name in names if name.startswith("prejoin/examples/")}
    assert shipped == {f"prejoin/examples/{name}/{examples.DOCUMENT}" for name in examples.names()}
    inside = ROOT / "src"
    there = {str(p.relative_to(inside)) for p in inside.rglob("*") if p.is_file() and "__pycache__" not in p.parts}
    assert there <= names
