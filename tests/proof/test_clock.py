"""The proof does not depend on the clock: not on the time of the machine, and on no particular `now`."""

from __future__ import annotations

import sys
import time
from datetime import UTC, datetime, timedelta, tzinfo
from pathlib import Path
from typing import Any

import pytest
from tests.solutions import solve

from prejoin.engine import Embedded
from prejoin.proof.prove import prove
from prejoin.proof.result import Proof
from prejoin.workload.files import read_file, read_text
from prejoin.workload.model import Workload

ROOT = Path(__file__).parents[2]
INSTANTS = [
    datetime(2026, 11, 18, 2, 58, tzinfo=UTC),
    datetime(2026, 11, 18, 3, 2, tzinfo=UTC),
    datetime(2026, 12, 31, 23, 59, 59, 999_999, tzinfo=UTC),
    datetime(2028, 2, 29, tzinfo=UTC),
    datetime(2028, 2, 29, 12, 30, 15, 250_000, tzinfo=UTC),
    datetime(2028, 3, 1, tzinfo=UTC),
    datetime(2100, 1, 1, tzinfo=UTC),
]
CLINIC = """
# Clinic

## Entities

### Owner

- **Attributes**: `ownerId` (ulid, generated), `name` (string, mutable)

### Appointment

- **Attributes**:
  - `appointmentId` (ulid, generated)
  - `ownerId` (ulid, immutable, → Owner)
  - `day` (date, immutable)
  - `startsAt` (datetime, mutable)
  - `status` (BOOKED | CANCELLED, mutable)
  - `forgottenAt` (datetime, ttl, mutable)

## Access Patterns

### Reads

| ID | Entity | Description | Input Parameters | Result | Sort |
| --- | --- | --- | --- | --- | --- |
| AP-001 | Appointment | One | appointmentId | Single | |
| AP-002 | Appointment | Of the last week | ownerId, startsAt >= now - 7 days | Collection | startsAt DESC |
| AP-003 | Appointment | On a day | ownerId, day | Collection | |
| AP-004 | Appointment | That are over | ownerId, filter startsAt < now | Count | |
| AP-005 | Owner | Owner | ownerId | Single | |

### Writes

| ID | Entity | Description | Input Parameters | Items Written | Conditions |
| --- | --- | --- | --- | --- | --- |
| AP-020 | Appointment | Book | Appointment | create Appointment | Owner exists |
| AP-021 | Appointment | Close | appointmentId | update Appointment (status = CANCELLED) | startsAt <= now |
| AP-022 | Appointment | Move | appointmentId, startsAt | update Appointment (startsAt) | status = BOOKED |
| AP-023 | Appointment | Forget | appointmentId | update Appointment (forgottenAt = now + 1 hours) | - |
"""


def proven(workload: Workload, **options: Any) -> Proof:
    with Embedded() as engine:
        return prove(workload, solve(workload).design, engine, **options)


@pytest.mark.everyday(2)
@pytest.mark.parametrize("name", ["clinic", "shop", "documents", "files", "organisation", "metrics", "social"])
@pytest.mark.parametrize("now", [*INSTANTS[:1], *(pytest.param(one, marks=pytest.mark.slow) for one in INSTANTS[1:])])
def test_a_document_is_proven_at_every_time(name: str, now: datetime) -> None:
    path = ROOT / "examples" / name / "access-patterns.md"
    workload = read_text(CLINIC, "md").workload if name == "clinic" else read_file(path).workload
    proof = proven(workload, now=now)
    assert [(one.pattern, one.wrong, one.problem) for one in proof.failed] == []
    assert proof.findings == ()


class _AnyDatetime(type):
    """Makes every datetime an instance of the class that replaces it."""

    def __instancecheck__(cls, value: object) -> bool:
        return isinstance(value, datetime)


def set_clock(monkeypatch: pytest.MonkeyPatch, now: datetime) -> None:
    """Sets the clock of the machine, as far as prejoin can see."""
    shift = now.timestamp() - time.time()
    real = time.time

    class Shifted(datetime, metaclass=_AnyDatetime):
        @classmethod
        def now(cls, tz: tzinfo | None = None) -> datetime:  # type: ignore[override]
            return datetime.now(tz) + timedelta(seconds=shift)

    monkeypatch.setattr(time, "time", lambda: real() + shift)
    for name, module in list(sys.modules.items()):
        if name.startswith("prejoin.") and vars(module).get("datetime") is datetime:
            monkeypatch.setattr(module, "datetime", Shifted)


def test_the_proof_is_the_same_whenever_it_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every figure of it, and every input."""
    workload = read_text(CLINIC, "md").workload
    results = []
    for moment in (None, *INSTANTS):
        with monkeypatch.context() as patches:
            if moment is not None:
                set_clock(patches, moment)
            proof = proven(workload)
        assert proof.right
        requests = [(one.pattern, one.given, one.cases, one.pages, one.refused, one.units) for one in proof.patterns]
        keys = [call.keys for one in proof.patterns for call in one.calls]
        results.append((requests, keys, proof.items))
    assert all(result == results[0] for result in results)
