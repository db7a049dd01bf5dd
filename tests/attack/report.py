"""The table of tries and findings, as text and in docs/reliability.md."""

from __future__ import annotations

import platform
import sqlite3
import sys
import time
from dataclasses import dataclass
from pathlib import Path

from .places import ROOT

PAGE = ROOT / "docs" / "reliability.md"
BEGIN = "<!-- scripts/soak --attack --write-report: begin -->"
END = "<!-- scripts/soak --attack --write-report: end -->"
LONGEST = 300
"""Characters of a finding that are shown in a table."""


@dataclass(frozen=True)
class Row:
    name: str
    description: str
    counts: str
    tries: int
    findings: tuple[str, ...]
    seconds: float


@dataclass(frozen=True)
class Run:
    rows: tuple[Row, ...]
    seconds: float
    seed: int

    @property
    def findings(self) -> list[str]:
        return [finding for row in self.rows for finding in row.findings]


def as_text(run: Run) -> str:
    """The table for a terminal."""
    cells = [("Attack", "Tries", "", "Findings", "Seconds")]
    cells += [(r.name, f"{r.tries:,}", r.counts, str(len(r.findings)), f"{r.seconds:.0f}") for r in run.rows]
    widths = [max(len(row[column]) for row in cells) for column in range(5)]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in cells]
    found = [f"  {finding[:LONGEST]}" for finding in run.findings]
    return "\n".join([*lines, "", *found, f"Seed {run.seed}, {_versions()}."]) + "\n"


def as_markdown(run: Run) -> str:
    """The table for the page."""
    lines = ["| Attack | What it does | Tries | Findings |", "| --- | --- | ---: | ---: |"]
    lines += [f"| {r.name} | {r.description} | {r.tries:,} {r.counts} | {len(r.findings)} |" for r in run.rows]
    said = (
        f"Run on {time.strftime('%d %B %Y', time.gmtime())}: {run.seconds:.0f} seconds, seed {run.seed}, {_versions()}."
    )
    found = [f"- {finding[:LONGEST].replace('|', chr(92) + '|')}" for finding in run.findings]
    return "\n".join([*lines, "", said, *(["", "Findings:", "", *found] if found else [])])


def write(run: Run, page: Path = PAGE) -> None:
    """Replaces the table in the page; all other text stays as it is."""
    page.write_text(replaced(page.read_text(encoding="utf-8"), as_markdown(run)), encoding="utf-8")


def replaced(text: str, table: str) -> str:
    before, begin, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise ValueError(f"the page lacks {BEGIN} … {END}")
    return f"{before}{BEGIN}\n\n{table}\n\n{END}{after}"


def _versions() -> str:
    return f"Python {platform.python_version()}, SQLite {sqlite3.sqlite_version}, {sys.platform}"
