"""Patterns that the proof cannot run: every command reports them, and fails unless that is accepted."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import prejoin.pipeline.design.design_table as design_table
import prejoin.proof.prove as prover
from prejoin.proof.result import Proof
from prejoin.table.errors import SchemaError
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
    "arguments",
    [
        ("design", "--yes"),
        ("design",),
        ("design", "--explain"),
        ("design", "--why", "AP-020"),
        ("build", "--yes"),
        ("demo", "access-patterns.md"),
    ],
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
    assert "2 of 3 patterns proven, 1 not proven: AP-021; run" in prejoin("design").out
    assert "2 of 3 patterns answered" in prejoin("demo", "access-patterns.md").out


REASON = "there is no room for another Switch: all values of its id are taken"


@pytest.fixture(params=["option", "decision", "setting"])
def accepted(request: pytest.FixtureRequest, switches: Path) -> tuple[str, ...]:
    """The ways to accept that a pattern is not proven; the arguments of the command."""
    if request.param == "option":
        return ("--allow-unproven",)
    if request.param == "setting":
        switches.with_name("prejoin.toml").write_text("allow-unproven = true\n")
    else:
        switches.write_text(switches.read_text() + "\n## Decisions\n\n- AP-021 unproven\n")
    return ()


def test_build_goes_on_where_that_is_accepted(prejoin: Prejoin, switches: Path, accepted: tuple[str, ...]) -> None:
    ran = prejoin("build", "--yes", *accepted)
    assert ran.status == 0, ran.err
    assert "3 of 3 patterns served; 2 of 3 patterns proven, 1 not proven: AP-021." in ran.out
    assert f"PJ041: AP-021 is not proven: it could not be run, because {REASON}" in ran.err
    folder = switches.parent
    for module in ("repository", "async_repository"):
        code = (folder / "switches" / f"{module}.py").read_text()
        (before, marked) = code.split("Not proven: the proof could not run it, because there is no room for another")
        assert before.rindex("def three_of_two") > before.rindex("def new")
        assert "Not proven" not in marked
    design = (folder / "table-design.md").read_text()
    assert "| Proven by running      | 2 of 3" in design
    assert f"| AP-021  | it could not be run: {REASON} |" in design
    interfaces = (folder / "query-interfaces.md").read_text()
    assert "1 not proven: AP-021\n" in interfaces
    assert f"- **Not proven**: it could not be run, because {REASON}" in interfaces
    assert interfaces.count("(not proven)") == 1
    assert "# AP-021, `three_of_two`, has no test" in (folder / "tests" / "test_repository.py").read_text()


@pytest.mark.slow
def test_later_builds_do_not_call_it_proven(prejoin: Prejoin, switches: Path, accepted: tuple[str, ...]) -> None:
    """Nothing has changed; one file has to be written again; all are compared."""
    assert prejoin("build", "--yes", *accepted).status == 0
    summary = "2 of 3 patterns proven, 1 not proven: AP-021"
    unproven = [{"pattern": "AP-021", "reason": REASON}]
    for change in (False, True):
        for arguments in (("--yes",), ("--check",)):
            if change:
                (switches.parent / "keys.md").unlink(missing_ok=True)
            ran = prejoin("build", *arguments, "--format", "json")
            assert ran.json["result"]["proven"] is False
            assert ran.json["result"]["unproven"] == unproven
            if change:
                (switches.parent / "keys.md").unlink(missing_ok=True)
            assert summary in prejoin("build", *arguments).out
    (switches.parent / "keys.md").unlink(missing_ok=True)
    ran = prejoin("build", "--yes")
    assert "unchanged since it was proven" not in ran.err
    assert prejoin("build", "--check").status == 0


def test_build_stops_once_it_is_not_accepted_any_more(prejoin: Prejoin, switches: Path) -> None:
    assert prejoin("build", "--yes", "--allow-unproven").status == 0
    assert prejoin("build", "--yes").status == 0, "the option is remembered"
    ran = prejoin("build", "--yes", "--no-allow-unproven")
    assert ran.status == 1
    assert "error PJ032: AP-021 is not proven" in ran.err


def test_design_and_demo_go_on_likewise(prejoin: Prejoin, switches: Path) -> None:
    ran = prejoin("design", "--yes", "--allow-unproven")
    assert ran.status == 0
    assert "2 of 3 patterns proven, 1 not proven: AP-021" in ran.out
    assert "warning PJ041: AP-021 is not proven" in ran.err
    assert prejoin("build", "--yes").status == 1, "what was accepted for the design is not for the build"
    ran = prejoin("design", "--allow-unproven", "--format", "json")
    assert ran.json["ok"] is True
    assert ran.json["result"]["proof"]["right"] is False
    assert ran.json["result"]["proof"]["unproven"] == [{"pattern": "AP-021", "reason": REASON}]
    ran = prejoin("design", "--decide", "AP-021 unproven", "--yes", "--remember")
    assert ran.status == 0
    assert "- AP-021 unproven" in switches.read_text()
    assert prejoin("build", "--yes").status == 0
    ran = prejoin("demo", "access-patterns.md")
    assert ran.status == 0
    assert "2 of 3 patterns answered" in ran.out
    assert "warning PJ041" in ran.err


def proves(monkeypatch: pytest.MonkeyPatch, change: Callable[[Proof], Proof]) -> None:
    """Changes the result of the proof."""
    real = vars(design_table)["run_proof"]

    def run(*arguments: Any, **options: Any) -> Proof:
        return change(real(*arguments, **options))

    monkeypatch.setattr(design_table, "run_proof", run)


@pytest.mark.parametrize("command", ["design", "build"])
def test_a_wrong_result_is_always_an_error(
    prejoin: Prejoin, switches: Path, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    def wrong(proof: Proof) -> Proof:
        patterns = [replace(one, wrong="it lost an item") if one.pattern == "AP-020" else one for one in proof.patterns]
        return replace(proof, patterns=tuple(patterns))

    proves(monkeypatch, wrong)
    switches.write_text(switches.read_text() + "\n## Decisions\n\n- AP-020 unproven\n")
    ran = prejoin(command, "--yes", "--allow-unproven")
    assert ran.status == 1
    assert "error PJ032: AP-020 was run, and it lost an item" in ran.err
    ran = prejoin(command, "--yes", "--allow-unproven", "--format", "json")
    assert [d["code"] for d in ran.json["diagnostics"] if d["severity"] == "error"] == ["PJ032"]


@pytest.mark.parametrize("arguments", [(), ("--allow-unproven",)])
def test_a_design_without_a_table_is_one_error(
    prejoin: Prejoin, switches: Path, monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...]
) -> None:
    def refuse(*arguments: object, **options: object) -> None:
        raise SchemaError("two keys are the same")

    monkeypatch.setattr(prover, "load_package", refuse)
    monkeypatch.setattr(design_table, "run_proof", prover.prove)
    ran = prejoin("design", *arguments, "--format", "json")
    assert ran.status == 1
    errors = [d["message"] for d in ran.json["diagnostics"] if d["severity"] == "error"]
    cause = "no table can be made from the design: two keys are the same"
    assert errors == [f"nothing could be run, because {cause}; not proven: AP-001, AP-020 and AP-021"]
    assert ran.json["result"]["proof"]["findings"] == [cause]


def test_one_cause_is_one_message(prejoin: Prejoin, switches: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    proves(monkeypatch, lambda proof: Proof(tuple(replace(one, problem="of rain") for one in proof.patterns)))
    ran = prejoin("design", "--format", "json")
    errors = [d["message"] for d in ran.json["diagnostics"] if d["severity"] == "error"]
    patterns = "AP-001, AP-020 and AP-021"
    assert errors == [f"{patterns} are not proven: they could not be run, because of rain"]


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
    assert "test: 6 tests passed" in ran.err
