"""`prejoin audit`: what a table holds that is not as its schema says, and with `--repair`, that mended."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from typing import Any

import click

from prejoin.cli.command import command
from prejoin.cli.outcome import CommandError, Line, Outcome
from prejoin.cli.output import say, show
from prejoin.cli.status import Status
from prejoin.cli.text.messages import counted, safe
from prejoin.engine import Embedded
from prejoin.patterns import Finding
from prejoin.patterns import audit as find
from prejoin.patterns import repair as mend
from prejoin.pipeline import codes
from prejoin.pipeline.connection import connected, load_schema, place_options, schema_argument
from prejoin.table import Client

SECONDS = 2.0
"""Between two words on how far it is."""


@command("audit")
@schema_argument
@place_options
@click.option("--segments", type=click.IntRange(1, 1000), default=1, show_default=True, help="Parts read side by side.")
@click.option("--repair", is_flag=True, help="Mend what is found, after saying what that is and asking.")
@click.option("--yes", is_flag=True, help="Do not ask.")
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
    """Say what is in a table and not as its schema says: copies, guards, counters, index keys; and mend it.

    MODULE:NAME is the schema: `shop.tables:schema`. The whole table is read, and may be in use. A file (`--db`) is
    checked for damage first, all tables of it. The exit status is 1 when something is found, and stays so.
    """
    with connected(load_schema(schema), table, db, endpoint, region) as client:
        if damage := _damage(client):
            if not as_json:
                show([(("file", "bold red"), safe(f": {text}")) for text in damage])
            return _damaged(db or "", table, damage)
        progress = _Progress()
        findings: list[Finding] = []
        for finding in find(client, segments=segments, progress=progress):
            findings.append(finding)
            if not as_json:
                show([_line(finding)])
        mended = _mended(client, findings, table, yes) if repair and findings else frozenset[int]()
    left = len(findings) - len(mended)
    return Outcome(
        Status.FAILED if left else Status.FINE,
        result={
            "table": table,
            "items": progress.items,
            "damage": [],
            "findings": [_told(finding, at in mended) for at, finding in enumerate(findings)],
        },
        notes=(_summary(table, progress.items, findings, len(mended), repair),),
    )


def _damage(client: Client) -> list[str]:
    """What is damaged in the file that holds the table. Other places look after themselves."""
    place = client._transport
    return place.verify() if isinstance(place, Embedded) else []


def _damaged(file: str, table: str, damage: list[str]) -> Outcome:
    """The outcome for a damaged file. Its items are not compared with the schema: they cannot be trusted."""
    note = (
        f"{file} is damaged in {counted(len(damage), 'place')}; put these items again or delete them, and run it again"
    )
    result = {"table": table, "items": 0, "damage": damage, "findings": []}
    return Outcome(Status.FAILED, result=result, notes=(note,))


def _mended(client: Client, findings: Sequence[Finding], table: str, yes: bool) -> frozenset[int]:
    """Which of the findings were mended, if that is wanted."""
    able = [at for at, finding in enumerate(findings) if finding.mendable]
    if not able:
        return frozenset()
    kinds = _kinds(findings[at] for at in able)
    if not yes:
        try:
            wanted = click.confirm(f"Mend {kinds} in {table}?", err=True)
        except click.Abort:
            wanted = False
        if not wanted:
            message, fix = f"{kinds} in {table} would be mended", "answer y, or say `--yes`"
            raise CommandError(codes.WOULD_CHANGE, message, fix, Status.REFUSED)
    return frozenset(at for at in able if mend(client, findings[at]))


def _line(finding: Finding) -> Line:
    return (
        (finding.kind, "bold yellow" if finding.mendable else "bold red"),
        safe(str(finding).removeprefix(finding.kind)),
    )


def _told(finding: Finding, mended: bool) -> dict[str, Any]:
    return {
        "kind": finding.kind,
        "entity": finding.entity,
        "key": finding.key,
        "found": finding.found,
        "expected": finding.expected,
        "fix": finding.fix,
        "reason": finding.reason,
        "mendable": finding.mendable,
        "mended": mended,
    }


def _kinds(findings: Iterable[Finding]) -> str:
    """How many there are of each kind: `2 drifted, 1 missing`."""
    kinds = [finding.kind for finding in findings]
    return ", ".join(f"{kinds.count(kind)} {kind}" for kind in dict.fromkeys(kinds))


def _summary(table: str, items: int, findings: Sequence[Finding], mended: int, repair: bool) -> str:
    read = f"{table}: {counted(items, 'item')} read"
    if not findings:
        return f"{read}, all as the schema says"
    said = f"{read}, {_kinds(findings)}"
    if repair:
        rest = len(findings) - mended
        left = f", {rest} left: changed meanwhile, or for somebody to decide who knows what was meant" if rest else ""
        return f"{said}; {mended} mended{left}"
    return f"{said}; `--repair` mends what can be"


class _Progress:
    """Tells now and then how far it is."""

    def __init__(self) -> None:
        self.items = 0
        self._next = time.monotonic() + SECONDS

    def __call__(self, items: int) -> None:
        self.items = items
        if time.monotonic() >= self._next:
            say(f"{items:,} items read")
            self._next = time.monotonic() + SECONDS
