"""`prejoin convert` and NoSQL Workbench: a design there and back, and a foreign model."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from tests.cli.conftest import Prejoin

SHOP = Path(__file__).parents[2] / "examples" / "shop"


@pytest.fixture
def design(here: Path) -> Path:
    for name in ("access-patterns.md", "table-design.md"):
        shutil.copy(SHOP / name, here / name)
    return here / "table-design.md"


def test_design_round_trips_through_workbench(prejoin: Prejoin, design: Path, here: Path) -> None:
    ran = prejoin("convert", "table-design.md", "--to", "workbench", "-o", "model.json")
    assert (ran.status, "wrote model.json" in ran.err) == (0, True)
    (here / "back").mkdir()
    ran = prejoin("convert", "model.json", "-o", "back/table-design.md")
    assert ran.status == 0
    assert "wrote back/table-design.md and back/access-patterns.md" in ran.err
    before, after = (
        json.loads(prejoin("convert", path, "--to", "json").out) for path in (design, "back/table-design.md")
    )
    assert after["items"] == before["items"]
    assert prejoin("check", "back/access-patterns.md").status == 0
    assert prejoin("check", "back/table-design.md").status == 0


def test_neither_of_the_two_files_is_overwritten(prejoin: Prejoin, design: Path, here: Path) -> None:
    prejoin("convert", "table-design.md", "--to", "workbench", "-o", "model.json")
    assert prejoin("convert", "table-design.md", "--to", "workbench", "-o", "model.json").status == 4
    before = (here / "access-patterns.md").read_bytes()
    assert prejoin("convert", "model.json", "-o", "other.md").status == 4
    assert not (here / "other.md").exists()
    assert (here / "access-patterns.md").read_bytes() == before


def test_without_a_file_the_text_is_printed(prejoin: Prejoin, design: Path) -> None:
    ran = prejoin("convert", "table-design.md", "--to", "workbench", "--format", "json")
    model = json.loads(ran.json["result"]["text"])
    assert model["DataModel"][0]["TableName"] == "shop"
    Path("model.json").write_text(json.dumps(model), encoding="utf-8")
    assert prejoin("convert", "model.json", "--to", "md").out.startswith("# Shop: table design")


def test_a_text_that_the_description_of_a_model_cannot_carry_is_named(
    prejoin: Prejoin, design: Path, here: Path
) -> None:
    data = json.loads(prejoin("convert", "access-patterns.md", "--to", "json").out)
    data["reads"][1]["description"] = "Sign in\n by e-mail"
    (here / "access-patterns.json").write_text(json.dumps(data), encoding="utf-8")
    (here / "access-patterns.md").unlink()
    ran = prejoin("convert", "table-design.md", "--to", "yaml", "-o", "table-design.yaml")
    assert ran.status == 0, ran.err
    ran = prejoin("convert", "table-design.yaml", "--to", "workbench")
    assert ran.status == 1
    assert "error PJ006: reads[1].description" in ran.err
    assert "fix: change that text" in ran.err


def test_invalid_arguments_are_reported(prejoin: Prejoin, design: Path, here: Path) -> None:
    assert prejoin("convert", "access-patterns.md", "--to", "workbench").status == 2
    assert prejoin("convert", "table-design.md", "--to", "workbench", "-o", "model.md").status == 2
    assert prejoin("convert", "table-design.md", "--to", "md", "--table", "x").status == 2
    (here / "model.json").write_text('{"ModelName": "x", "DataModel": [{"TableName": 5}]}', encoding="utf-8")
    ran = prejoin("convert", "model.json", "--to", "md")
    assert ran.status == 1
    assert "PJ640" in ran.err
    assert ran.out == ""
