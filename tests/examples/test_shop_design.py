"""The shop's design in `examples/` is up to date. `python -m tests.examples.test_shop_design` writes it."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

import pytest

from prejoin.cli.run import run

SHOP = Path(__file__).resolve().parents[2] / "examples" / "shop"
DESIGN = SHOP / "table-design.md"


def written(folder: Path) -> str:
    """The design that is written for the shop now."""
    shutil.copy(SHOP / "access-patterns.md", folder)
    assert run(["design", str(folder / "access-patterns.md"), "--yes"]) == 0
    return (folder / DESIGN.name).read_text("utf-8")


@pytest.mark.slow
def test_the_design_of_the_shop_is_what_would_be_written(tmp_path: Path) -> None:
    assert DESIGN.read_text("utf-8") == written(tmp_path), (
        f"write it anew: python -m tests.examples.{Path(__file__).stem}"
    )


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as place:
        DESIGN.write_text(written(Path(place)), "utf-8")
