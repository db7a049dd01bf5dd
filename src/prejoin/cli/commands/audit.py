"""`prejoin audit`: the items of a table compared with its schema and, with `--repair`, repaired."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from typing import Any

import click

from prejoin.cli.command import command, place_options, schema_argument
from prejoin.cli.outcome import ExitStatus, Line, Outcome
from prejoin.cli.output import say, show
from prejoin.cli.text.messages import safe
from prejoin.engine import Embedded
from prejoin.migrate.codes import OTHER_CHANGE
from prejoin.migrate.evolve.items import FOLDER
from prejoin.migrate.evolve.record import record_place
from prejoin.patterns.integrity.audit import audit as audit_table
from prejoin.patterns.integrity.findings import Finding
from prejoin.patterns.integrity.repair import repair as repair_finding
from prejoin.pipeline import codes
from prejoin.pipeline.connection import TablePlace, connect, load_schema
from prejoin.pipeline.errors import RefusedError
from prejoin.pipeline.summary import quantity
from prejoin.table.client.client import Client

SECONDS = 2.0
"""Seconds between two reports of progress."""


@command("audit", format_aware=True)
@schema_argument
@place_options
@click.option(
    "--segments",
    type=click.IntRange(1, 1000),
    default=1,
    show_default=True,
    help="Parts that are read in parallel.",
)
@click.option("--repair", is_flag=True, help="Repair the findings, after asking.")
@click.option("--yes", is_flag=True, help="Repair without asking.")
def audit(
    schema: str,
    table: str,
    db: str | None,
    endpoint: str | None,
    region: str | None,
    segments: int,
    repair: bool,
    yes: bool,
    as_json: bool,
) -> Outcome:
    """Compare copies, guards, counters and index keys of a table with its schema, and repair them.

    MODULE:NAME is the schema: `shop.tables:schema`. The whole table is read, and may be in use. A file (`--db`) is
    checked for damage first, with all of its tables. The exit status is 1 if a finding is not repaired. A table that
    is in a change, or whose items have the keys of another design, is not repaired.
    """
    if db and endpoint:
        raise click.UsageError("A table is in one place: give `--db` or `--endpoint`")
    with connect(load_schema(schema), table, TablePlace(db, endpoint, region)) as client:
        if damage := _damage(client):
            if not as_json:
                show([(("file", "bold red"), safe(f": {text}")) for text in damage])
            return _damage_outcome(db or "", table, damage)
        if repair:
            _require_design_in_force(client)
        progress = _Progress()
        findings: list[Finding] = []
        for finding in audit_table(client, segments=segments, progress=progress):
            findings.append(finding)
            if not as_json:
                show([_line(finding)])
        repaired_numbers = _repair_findings(client, findings, table, yes) if repair and findings else frozenset[int]()
    remaining = len(findings) - len(repaired_numbers)
    return Outcome(
        ExitStatus.FAILED if remaining else ExitStatus.FINE,
        result={
            "table": table,
            "items": progress.items,
            "damage": [],
            "findings": [_finding_json(finding, number in repaired_numbers) for number, finding in enumerate(findings)],
        },
        notes=(_summary(table, progress.items, findings, len(repaired_numbers), repair),),
    )


def _damage(client: Client) -> list[str]:
    """The damage in a file of the embedded engine."""
    place = client._transport
    return place.verify() if isinstance(place, Embedded) else []


def _damage_outcome(file: str, table: str, damage: list[str]) -> Outcome:
    """The outcome for a damaged file, whose items are not compared with the schema."""
    note = (
        f"{file} is damaged in {quantity(len(damage), 'place')}; put or delete these items, and run the command again"
    )
    result = {"table": table, "items": 0, "damage": damage, "findings": []}
    return Outcome(ExitStatus.FAILED, result=result, notes=(note,))


def _require_design_in_force(client: Client) -> None:
    """Raises a `RefusedError` if the table has another design than the schema: a repair would write its keys."""
    change = record_place(client, FOLDER).read().change
    if change is not None:
        message = f"the table {client.table} is in a change, {change.text}, and a repair knows only one of the designs"
        folders = f"{change.source_name} {change.target_name}"
        fix = f"`prejoin evolve backfill {folders}` repairs it; or finish the change first"
        raise RefusedError(OTHER_CHANGE, message, fix)
    for difference in client.drift():
        if difference.of_another_design:
            fix = "run the command with the schema of the design that the table has"
            raise RefusedError(OTHER_CHANGE, f"the keys of {difference.what} are of another design", fix)


def _repair_findings(client: Client, findings: Sequence[Finding], table: str, yes: bool) -> frozenset[int]:
    """The numbers of the findings that were repaired."""
    mendable = [number for number, finding in enumerate(findings) if finding.mendable]
    if not mendable:
        return frozenset()
    kinds = _kinds(findings[number] for number in mendable)
    if not yes:
        try:
            is_confirmed = click.confirm(f"Repair {kinds} in {table}?", err=True)
        except click.Abort:
            is_confirmed = False
        if not is_confirmed:
            message, fix = f"{kinds} in {table} would be repaired", "answer y, or pass `--yes`"
            raise RefusedError(codes.WOULD_CHANGE, message, fix)
    return frozenset(number for number in mendable if repair_finding(client, findings[number]))


def _line(finding: Finding) -> Line:
    return (
        (finding.kind, "bold yellow" if finding.mendable else "bold red"),
        safe(f": {finding.detail}"),
    )


def _finding_json(finding: Finding, is_repaired: bool) -> dict[str, Any]:
    return {
        "kind": finding.kind,
        "entity": finding.entity,
        "key": finding.key,
        "by": finding.by or None,
        "holder": finding.holder or None,
        "found": finding.found,
        "expected": finding.expected,
        "fix": finding.fix,
        "reason": finding.reason,
        "mendable": finding.mendable,
        "mended": is_repaired,
    }


def _kinds(findings: Iterable[Finding]) -> str:
    """How many there are of each kind: `2 drifted, 1 missing`."""
    kinds = [finding.kind for finding in findings]
    return ", ".join(f"{kinds.count(kind)} {kind}" for kind in dict.fromkeys(kinds))


def _summary(table: str, items: int, findings: Sequence[Finding], repaired_count: int, repair: bool) -> str:
    head = f"{table}: {quantity(items, 'item')} read"
    if not findings:
        return f"{head}, all match the schema"
    summary = f"{head}, {_kinds(findings)}"
    if repair:
        remaining = len(findings) - repaired_count
        tail = f", {remaining} left: they have changed meanwhile, or need your decision" if remaining else ""
        return f"{summary}; {repaired_count} repaired{tail}"
    return f"{summary}; `--repair` repairs what it can"


class _Progress:
    """Reports the number of items every two seconds."""

    def __init__(self) -> None:
        self.items = 0
        self._next = time.monotonic() + SECONDS

    def __call__(self, items: int) -> None:
        self.items = items
        if time.monotonic() >= self._next:
            say(f"{items:,} items read")
            self._next = time.monotonic() + SECONDS
