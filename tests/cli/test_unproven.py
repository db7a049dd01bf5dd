"""Patterns that the proof cannot run: every command reports them, and fails."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.conftest import Prejoin

DOCUMENT = """\
# Switches

## Entities

### Switch

- **Attributes**:
  - `state` (ON | OFF, natural)
  - `count` (integer, mutable)

## Access Patterns

### Reads

| ID | Entity | Description | Input Parameters | Result |
| --- | --- | --- | --- | --- |
| AP-001 | Switch | Switch | state | Single |

### Writes

| ID | Entity | Description | Input Parameters | Items Written | Transaction | Conditions |
| --- | --- | --- | --- | --- | --- | --- |
| AP-020 | Switch | New | state, count | create Switch | No | - |
| AP-021 | Switch | Three of two | first, second, third | THREE | Yes | - |
"""
THREE = "; ".join(f"update Switch by {name} (count += 1)" for name in ("first", "second", "third"))


@pytest.fixture
def switches(here: Path) -> Path:
    """A document with two switches, and a pattern that changes three."""
    path = here / "access-patterns.md"
    path.write_text(DOCUMENT.replace("THREE", THREE))
    return path


@pytest.mark.parametrize(
    "arguments", [("design", "--yes"), ("design",), ("build", "--yes"), ("demo", "access-patterns.md")]
)
def test_a_pattern_that_cannot_be_run_is_not_proven(
    prejoin: Prejoin, switches: Path, arguments: tuple[str, ...]
) -> None:
    ran = prejoin(*arguments)
    assert ran.status == 1
    output = ran.out + ran.err
    assert (
        "error PJ032: AP-021 is not proven: it could not be run, because there is no room for another Switch" in output
    )
    assert "Proven:" not in output
    ran = prejoin(*arguments, "--format", "json")
    assert ran.status == 1
    assert ran.json["ok"] is False
    assert [d["code"] for d in ran.json["diagnostics"] if d["severity"] == "error"] == ["PJ032"]


def test_it_counts_as_one_of_the_patterns(prejoin: Prejoin, switches: Path) -> None:
    ran = prejoin("design", "--format", "json")
    assert ran.json["result"]["proof"]["right"] is False
    assert "Not proven: 2 of 3 patterns run" in prejoin("design").out
    assert "2 of 3 patterns answered" in prejoin("demo", "access-patterns.md").out


def test_runnable_patterns_are_proven(prejoin: Prejoin, switches: Path) -> None:
    """All switches exist, so the proof deletes one before it inserts one."""
    switches.write_text(
        "".join(line for line in switches.read_text().splitlines(keepends=True) if "AP-021" not in line)
    )
    ran = prejoin("design")
    assert "Proven: 2 patterns run" in ran.out
    assert ran.status == 0


@pytest.mark.parametrize(
    ("write", "fix"),
    [
        ("put Switch (count += 1)", "update Switch (count += 1)"),
        ("create Switch (count -= 1)", "update Switch (count -= 1)"),
        ("put Switch (remove count)", "update Switch (remove count)"),
        ("delete Switch (count = 0)", "delete Switch"),
    ],
)
def test_update_without_changes_is_refused_with_a_fix(prejoin: Prejoin, switches: Path, write: str, fix: str) -> None:
    row = f"| AP-022 | Switch | Odd | state | {write} | No | - |\n"
    sound = DOCUMENT[: DOCUMENT.index("| AP-021")].replace("integer, mutable", "integer, optional, mutable")
    switches.write_text(sound + row)
    ran = prejoin("check", "access-patterns.md", "--format", "json")
    assert ran.status == 1
    errors = [d for d in ran.json["diagnostics"] if d["severity"] == "error"]
    assert [(d["code"], d["fix"]) for d in errors] == [("PJ212", f"write `{fix}`")]
    switches.write_text(sound + row.replace(write, fix))
    assert prejoin("check", "access-patterns.md").status == 0


MOVE = """\
# Moves

## Entities

### Ticket

- **Attributes**:
  - `ticketId` (ulid, generated)
  - `status` (NEW | OPEN, mutable)

### StatusCount

- **Attributes**:
  - `status` (NEW | OPEN, natural)
  - `tickets` (integer, mutable)

## Access Patterns

### Reads

| ID | Entity | Description | Input Parameters | Result |
| --- | --- | --- | --- | --- |
| AP-001 | Ticket | Ticket by id | ticketId | Single |
| AP-002 | StatusCount | Count of a status | status | Single |

### Writes

| ID | Entity | Description | Input Parameters | Items Written | Transaction | Conditions |
| --- | --- | --- | --- | --- | --- | --- |
| AP-020 | Ticket, StatusCount | Move | ticketId, oldStatus, newStatus | MOVED | Yes | Ticket.status = oldStatus |
"""
MOVED = "; ".join(
    (
        "update Ticket (status = newStatus)",
        "update StatusCount by oldStatus (tickets -= 1)",
        "update StatusCount by newStatus (tickets += 1)",
    )
)


def test_move_between_two_values_is_proven_and_its_generated_test_passes(prejoin: Prejoin, here: Path) -> None:
    """The new status always differs: there are only two counters, and a call changes both."""
    (here / "access-patterns.md").write_text(MOVE.replace("MOVED", MOVED))
    ran = prejoin("build", "--yes")
    assert ran.status == 0, ran.err
    assert "3 of 3 patterns served and proven" in ran.out
    assert "test: 3 tests passed" in ran.err
