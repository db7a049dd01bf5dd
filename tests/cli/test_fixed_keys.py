"""Keys that follow from a design: all commands refuse a design in which somebody changed one, and none replaces it."""

from __future__ import annotations

from pathlib import Path

import pytest

from prejoin.pipeline.build.record import RECORD
from tests.cli.conftest import Prejoin

DOCUMENT = """\
# Wiki

## Entities

### Page

- **Attributes**:
  - `pageId` (string, natural)
  - `slug` (string, unique, mutable)
  - `title` (string, mutable)
  - `views` (integer, mutable)
  - `version` (integer, mutable)
- **History**: 3 versions

## Access Patterns

### Reads

| ID | Entity | Description | Input Parameters | Result |
| --- | --- | --- | --- | --- |
| AP-001 | Page | A page | pageId | Single |

### Writes

| ID | Entity | Description | Input Parameters | Items Written | Transaction | Conditions |
| --- | --- | --- | --- | --- | --- | --- |
| AP-010 | Page | Add a page | Page | create Page | Yes | - |
"""
COUNTED = DOCUMENT.replace("- **History**: 3 versions\n", "").replace(
    "## Access Patterns", "## Decisions\n\n- Page.views in 4 shards\n\n## Access Patterns"
)
CHANGES = {
    "the partition of a guard": (DOCUMENT, "`UNIQUE#Page#slug#{slug}`", "`SLUG#{slug}`"),
    "the sort key of a guard": (DOCUMENT, "| `UNIQUE` |", "| `U` |"),
    "the partition of versions": (DOCUMENT, "#HISTORY`", "#VERSIONS`"),
    "the sort key of shards": (COUNTED, "`COUNTER#Page`", "`SUM#Page`"),
}


@pytest.mark.parametrize("status", ["DRAFT", "APPROVED"])
@pytest.mark.parametrize("what", CHANGES)
def test_no_command_replaces_a_fixed_key(here: Path, prejoin: Prejoin, what: str, status: str) -> None:
    document, before, after = CHANGES[what]
    (here / "access-patterns.md").write_text(document, "utf-8")
    prejoin("design", "--yes")
    design = here / "table-design.md"
    text = design.read_text("utf-8")
    assert before in text
    changed = text.replace(before, after).replace("> Status: DRAFT", f"> Status: {status}")
    design.write_text(changed, "utf-8")
    (here / RECORD).unlink()
    for command in (
        ("check", "table-design.md"),
        ("query", "AP-001"),
        ("design", "--yes"),
        ("build", "--yes", "--no-tests"),
    ):
        ran = prejoin(*command)
        assert ran.status != 0, command
        assert design.read_text("utf-8") == changed, command
    assert "PJ631" in prejoin("check", "table-design.md").out


def test_a_key_column_may_be_left_out(here: Path, prejoin: Prejoin) -> None:
    """People delete the columns that they do not need."""
    (here / "access-patterns.md").write_text(DOCUMENT, "utf-8")
    prejoin("design", "--yes")
    design = here / "table-design.md"
    lines = design.read_text("utf-8").split("\n")
    at = lines.index("## Unique Values")
    table = [number for number, line in enumerate(lines) if number > at and line.startswith("|")][:3]
    for number in table:
        lines[number] = "|".join(lines[number].split("|")[:3]) + "|"
    design.write_text("\n".join(lines), "utf-8")
    assert "PJ631" not in prejoin("check", "table-design.md").out
