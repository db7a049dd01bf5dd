"""One bill: a document for each kind of request in the background. Every place prints the same sum of the same lines."""

from __future__ import annotations

import math
import re
import sys
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from tests.solutions import solve

from prejoin.cli.text.design import design_page
from prejoin.cli.text.design_json import design_json
from prejoin.constructs import expiry, sharded_counter, unique
from prejoin.design.cost import assumptions
from prejoin.design.cost.assumed import assumed
from prejoin.design.cost.assumptions import Assumption
from prejoin.design.cost.background import BackgroundKind
from prejoin.design.cost.bill import Bill, bill
from prejoin.design.document.annotations import Validation
from prejoin.design.document.review import facts
from prejoin.design.document.write_document import write_document
from prejoin.design.mapping.map_patterns import map_patterns
from prejoin.design.model import Design
from prejoin.design.phrases import money
from prejoin.pipeline.design.design_table import DesignResult, design_table
from prejoin.render.documents.query_interfaces import query_interfaces
from prejoin.workload import contents
from prejoin.workload.files import read_file, read_text
from prejoin.workload.model import Workload

ROOT = Path(__file__).parents[2]
DOCUMENTS = sorted([*ROOT.glob("examples/*/access-patterns.md"), *ROOT.glob("tests/corpus/*/access-patterns.md")])
MONTH = 30 * 24 * 3600
WRITE = Decimal("0.625") / 1_000_000
READ = Decimal("0.125") / 1_000_000
KB = 1024

DOCUMENT = """
# Forum

## Entities

### User

- **Attributes**:
  - `userId` (uuid, generated)
  - `name` (string, mutable)
- **Cardinality**: 1000 total
- **Size**: 200 B

### Comment

- **Attributes**:
  - `userId` (uuid, id, → User)
  - `commentId` (ulid, generated)
  - `text` ({text}, mutable)
  - `author` (string, mutable{follows})
{more}- **Cardinality**: 50 per User
- **Size**: 400 B

## Access Patterns

### Reads

| ID | Entity | Description | Input Parameters | Result | Sort | Paginated | Frequency |
| --- | --- | --- | --- | --- | --- | --- | --- |
| AP-001 | User | a user | userId | Single | - | No | 10/s |
| AP-002 | Comment | of a user | userId | Collection | commentId DESC | Yes (20) | 5/s |

### Writes

| ID | Entity | Description | Input Parameters | Items Written | Transaction | Conditions | Frequency |
| --- | --- | --- | --- | --- | --- | --- | --- |
| AP-020 | User | sign up | User | create User | No | - | 1/month |
| AP-021 | User | rename | {rename} | No | - | 0.1/s |
| AP-022 | Comment | comment | Comment | create Comment | Yes | {condition} | 2/s |
| AP-023 | Comment | edit | userId, commentId, text | update Comment (text) | No | - | 1/s |

### Deletes

| ID | Entity | Description | Input Parameters | Items Deleted | Transaction | Conditions | Frequency |
| --- | --- | --- | --- | --- | --- | --- | --- |
| AP-030 | Comment | remove | userId, commentId | delete Comment | No | - | 0.5/s |

## Decisions

{decisions}
"""
PLAIN = {
    "text": "string",
    "follows": "",
    "more": "",
    "rename": "userId, name | update User (name)",
    "condition": "-",
    "decisions": "",
}
REFRESHED = {"follows": ", follows User.name", "condition": "User.name = author"}
STREAMED = {"follows": ", follows User.name within 10 seconds"}
CONTENT = {"text": "content, 2 MB"}
HISTORY = {"more": "  - `version` (integer, mutable)\n- **History**: 3 versions, 90 days\n"}
KINDS: dict[str, dict[str, str]] = {
    "nothing": {},
    "refresh": REFRESHED,
    "refresh after a put": {**REFRESHED, "rename": "User | put User"},
    "stream": STREAMED,
    "content in parts": CONTENT,
    "content in a store": {**CONTENT, "decisions": "- Comment.text in a store"},
    "content and stream": {**CONTENT, **STREAMED},
    "content and history": {**CONTENT, **HISTORY},
    "content in a store and history": {**CONTENT, **HISTORY, "decisions": "- Comment.text in a store"},
    "expiry": {"more": "  - `expiresAt` (datetime, immutable, ttl)\n"},
    "expiry and stream": {
        **STREAMED,
        "more": "  - `expiresAt` (datetime, immutable, ttl)\n  - `code` (string, unique)\n",
    },
}


def workload_of(kind: str) -> Workload:
    reading = read_text(DOCUMENT.format(**{**PLAIN, **KINDS[kind]}), "md")
    assert [d for d in reading.diagnostics if d.severity == "error"] == []
    return reading.workload


def result_of(kind: str) -> DesignResult:
    return design_table(workload_of(kind), prove=False, alternatives=0)


def page_text(result: DesignResult) -> str:
    lines = design_page(result, Path("table-design.md"))
    return "\n".join("".join(part if isinstance(part, str) else part[0] for part in line) for line in lines)


# --- The lines ------------------------------------------------------------------------------------------------------


def refresh_dollars(is_read_first: bool = False) -> Decimal:
    """50 comments of 400 B in the table: 2 units each in a transaction, and 2 to check the user. Both are read.

    The client reads each comment first if it has a large content, or other things that are written with it.
    """
    writes = 50 * 2 + 2
    reads = 2 * 1 + math.ceil(50 * 400 / 4096) + (50 if is_read_first else 0)
    return Decimal("0.1") * MONTH * (writes * WRITE + reads * READ)


def lambda_dollars(records: str) -> Decimal:
    """A call for each item that is written: 100 ms with 128 MB."""
    return Decimal(records) * MONTH * (Decimal("0.20") / 1_000_000 + Decimal("0.0125") * Decimal("0.0000166667"))


def part_units() -> int:
    """2 MB in 8 parts of 240 KB and the rest, each with 300 B for its key and its item."""
    parts = [240 * KB] * 8 + [2 * KB * KB - 8 * 240 * KB]
    return sum(math.ceil((part + 300) / KB) for part in parts)


def collection_dollars(in_store: bool) -> Decimal:
    """Each of 50,000 comments is read, and the table is scanned or the objects are listed."""
    comments = 50_000
    if in_store:
        return comments * READ + Decimal(comments) / 1000 * Decimal("0.005") / 1000
    part = math.ceil(2 * KB * KB / 9) + 300
    stored = 1000 * 200 + comments * 400 + comments * 9 * part
    return (comments + Decimal(stored) / 4096 / 2) * READ


def expected_lines() -> dict[str, dict[BackgroundKind, Decimal]]:
    kinds = BackgroundKind
    refresh = refresh_dollars()
    in_parts = {
        kinds.WRITE_CONTENTS: 3 * MONTH * part_units() * WRITE,  # 2 new ones and an edit
        kinds.DELETE_CONTENTS: Decimal("1.5") * MONTH * part_units() * WRITE,  # an edit, and half a delete
        kinds.REMOVE_GARBAGE: collection_dollars(in_store=False),
    }
    written = Decimal(1) / MONTH + Decimal("0.1") + 2 + 1 + Decimal("0.5") + Decimal("0.1") * 50
    parts_written = Decimal("4.5") * 9
    left_gb = Decimal("1.5") * MONTH * 2 * KB * KB / 10**9  # an edit, and half a delete, of 2 MB
    return {
        "nothing": {},
        "refresh": {kinds.REFRESH: refresh},
        "refresh after a put": {kinds.REFRESH: refresh},
        "stream": {kinds.REFRESH: refresh, kinds.STREAM: lambda_dollars(str(written))},
        "content in parts": in_parts,
        "content in a store": {
            kinds.WRITE_CONTENTS: 3 * MONTH * Decimal("0.005") / 1000,
            kinds.DELETE_CONTENTS: Decimal(),
            kinds.REMOVE_GARBAGE: collection_dollars(in_store=True),
        },
        "content and stream": {
            **in_parts,
            kinds.REFRESH: refresh_dollars(is_read_first=True),
            # Lambda reads each of 4 shards 4 times a second.
            kinds.STREAM: lambda_dollars(str(min(16, written + parts_written))),
        },
        "content and history": {
            kinds.WRITE_CONTENTS: in_parts[kinds.WRITE_CONTENTS],
            kinds.LEAVE_CONTENTS: left_gb * Decimal("0.25"),
        },
        "content in a store and history": {
            kinds.WRITE_CONTENTS: 3 * MONTH * Decimal("0.005") / 1000,
            kinds.LEAVE_CONTENTS: left_gb * Decimal("0.023"),
        },
        "expiry": {kinds.EXPIRY: Decimal()},
        "expiry and stream": {
            kinds.REFRESH: refresh_dollars(is_read_first=True),
            kinds.EXPIRY: Decimal(),
            # Each comment is put, deleted and expires with the guard of its code.
            kinds.STREAM: lambda_dollars(str(written + 2 + Decimal("0.5") + 2 * 2)),
        },
    }


@pytest.mark.parametrize("kind", KINDS)
def test_each_kind_of_request_in_the_background_has_a_line(kind: str) -> None:
    workload = workload_of(kind)
    found = bill(workload, solve(workload).design)
    expected = expected_lines()[kind]
    assert {line.kind for line in found.background} == expected.keys()
    for line in found.background:
        assert float(line.dollars) == pytest.approx(float(expected[line.kind]), rel=1e-4, abs=1e-6)


# --- The sum --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
def test_every_place_prints_the_sum_of_the_lines(kind: str) -> None:
    result = result_of(kind)
    found: Bill = result.bill
    lines = (*found.patterns, *found.background, *found.storage)
    assert found.total == sum(line.dollars for line in lines)
    data = design_json(result)
    rows = [row for group in ("patterns", "background", "kept") for row in data["bill"][group]]
    assert sum(row["dollars"] for row in rows) == pytest.approx(float(found.total))
    assert data["bill"]["total"] == data["score"]["dollars"] == float(found.total)
    printed = money(found.total)
    page = page_text(result)
    assert f"for {printed} a month" in page
    assert f"{printed} a month on demand" in write_document(result.design, result.workload)
    assert f"It costs {printed} a month:" in " ".join(result.explanation.text)
    assert f"{printed} a month, " in query_interfaces(result.workload, result.design, {})
    assert result.explanation.dollars == pytest.approx(float(found.total))
    assert not re.search("beside the (access )?patterns", page)
    for line in found.background:
        assert line.text in page


# --- Sentences ------------------------------------------------------------------------------------------------------

NOTHING = ["nothing: the document says all of it"]
NO_RISK = ["the checks have no error and no warning"]


def sentences(workload: Workload, design: Design, validation: tuple[Validation, ...] = ()) -> dict[str, list[str]]:
    return dict(facts(design, workload, bill(workload, design), validation))


def test_nothing_is_assumed_if_the_document_gives_all_figures() -> None:
    workload = workload_of("nothing")
    assert sentences(workload, solve(workload).design)["Assumed"] == NOTHING


@pytest.mark.parametrize("kind", ["stream", "content in parts", "content in a store"])
def test_what_the_document_cannot_say_is_assumed(kind: str) -> None:
    workload = workload_of(kind)
    assert sentences(workload, solve(workload).design)["Assumed"] != NOTHING


def test_nothing_is_a_risk_if_there_is_no_warning() -> None:
    workload = workload_of("nothing")
    assert sentences(workload, solve(workload).design)["Risks"] == NO_RISK


def test_a_warning_about_the_access_patterns_is_a_risk() -> None:
    reading = read_file(ROOT / "tests" / "corpus" / "nose_eac" / "access-patterns.md")
    risks = sentences(reading.workload, solve(reading.workload).design)["Risks"]
    warnings = [one for one in reading.diagnostics if one.severity == "warning"]
    assert warnings
    for warning in warnings:
        assert f"{warning.code}: {warning.message}" in risks


def test_what_the_proof_did_not_confirm_is_a_risk() -> None:
    workload = workload_of("nothing")
    unproven = (Validation("Not proven", "AP-021", "it could not be run"),)
    assert sentences(workload, solve(workload).design, unproven)["Risks"] == ["Not proven: AP-021, it could not be run"]


def test_an_attribute_whose_source_no_write_changes_is_not_refreshed() -> None:
    text = DOCUMENT.format(**{**PLAIN, **STREAMED, "rename": "User | create User"})
    workload = read_text(text, "md").workload
    design = solve(workload).design
    (line,) = (line for line in bill(workload, design).background if line.kind is BackgroundKind.REFRESH)
    assert (line.text, line.rate) == ("no write changes User.name", 0.0)
    assert "nothing for Comment.author: no write changes User.name" in sentences(workload, design)["Price"]
    page = query_interfaces(workload, design, {})
    assert "- `Comment.author`: no write changes User.name; nothing a month" in page
    assert "; no write changes User.name, so it costs nothing." in page


OTHER: dict[str, Any] = {
    "RATE": 3.0,
    "HOT": 3 * assumptions.HOT,
    "WARM": 3 * assumptions.WARM,
    "COLD": 3 * assumptions.COLD,
    "ITEMS": 33_000,
    "RETENTION": 70_000_000,
    "EXPIRY": 7_000_000,
    "SEVERAL": 11,
    "LISTED": 23,
    "VALUES": 41,
    "RANGE": 0.3,
    "KEPT": 0.2,
    "PRESENT": 0.2,
    "BUCKETS": 13,
    "CONTENT_SIZE": 5_000_000,
    "GARBAGE": 86_400,
    "FUNCTION": 0.05,
    "GUARD_SIZE": 900,
    "SHARD_SIZE": 700,
    "_SIZE": 300,
    "_LARGE": 1_800,
    "_SET": 900,
}
"""Another value for each figure that is assumed where a document gives none."""


def with_other(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """Give an assumed figure another value, in all modules that use it."""
    owners = (assumptions, expiry, contents, unique, sharded_counter)
    defining = next(module for module in owners if hasattr(module, name))
    usual = getattr(defining, name)
    modules = [module for key, module in sys.modules.items() if key.startswith("prejoin.")]
    for module in modules:
        if getattr(module, name, None) == usual:
            monkeypatch.setattr(module, name, OTHER[name])


def unlisted(read: Callable[[], Workload], monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The assumed figures that change the bill of a design, but are in no assumption that is listed."""
    design = solve(read()).design

    def outcome() -> tuple[Decimal, tuple[Assumption, ...]]:
        workload = read()
        mapped = map_patterns(design, workload)
        return bill(workload, mapped).total, assumed(workload, mapped)

    usual_total, usual_list = outcome()
    missing = []
    for name in OTHER:
        with monkeypatch.context() as patch:
            with_other(patch, name)
            total, listed = outcome()
        if total != usual_total and listed == usual_list:
            missing.append(name)
    return missing


@pytest.mark.parametrize("kind", KINDS)
def test_every_figure_that_is_assumed_is_listed(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """If another value of an assumed figure changes the bill, it also changes the list of assumptions."""
    assert unlisted(lambda: workload_of(kind), monkeypatch) == []


TICKETS = """
# Desk

## Entities

### Ticket

- **Attributes**:
  - `ticketId` (ulid, generated)
  - `heldSince` (datetime, optional, mutable)
  - `note` (string, optional, mutable)
  - `state` (OPEN | HELD | DONE, mutable)
  - `openedAt` (datetime, immutable)
- **Cardinality**: ~10M total
- **Size**: 700 B

## Access Patterns

### Reads

| ID | Entity | Description | Input Parameters | Result | Sort | Paginated | Frequency |
| --- | --- | --- | --- | --- | --- | --- | --- |
| AP-001 | Ticket | One | ticketId | Single | - | No | 60/s |
| AP-002 | Ticket | Some | {inputs} | Collection | heldSince ASC | Yes (50) | 1/s |
| AP-003 | Ticket | Noted | note exists (keeps 50%) | Collection | - | Yes (50) | 1/min |

### Writes

| ID | Entity | Description | Input Parameters | Items Written | Transaction | Conditions | Frequency |
| --- | --- | --- | --- | --- | --- | --- | --- |
| AP-010 | Ticket | Open | Ticket | create Ticket | No | - | 10/s |
| AP-013 | Ticket | Note several | ticketId[], note | update Ticket[] (note) | No | - | 1/s |
"""
"""Both lists read one index of all tickets, with a filter, unless a key answers the inputs of the first."""
INPUTS = (
    *("heldSince exists", "heldSince not exists", "filter heldSince exists", "note contains", "state !="),
    *("state != DONE", "state in", "state in (OPEN, HELD)", "state = OPEN", "state?", "filter openedAt >="),
    *("heldSince exists or state = OPEN", "heldSince <", "heldSince < now", "note begins_with", "note?"),
)


@pytest.mark.parametrize("inputs", INPUTS)
def test_every_figure_that_is_assumed_for_a_filter_is_listed(inputs: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def read() -> Workload:
        return read_text(TICKETS.format(inputs=inputs), "md").workload

    assert unlisted(read, monkeypatch) == []


@pytest.mark.slow
@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.parent.name)
def test_every_figure_that_is_assumed_for_a_document_is_listed(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert unlisted(lambda: read_file(path).workload, monkeypatch) == []


@pytest.mark.parametrize("guide", ["design.md", "patterns/large.md"])
def test_guides_say_how_often_garbage_is_collected(guide: str) -> None:
    text = (Path(__file__).parents[2] / "docs" / "guides" / guide).read_text("utf-8")
    (days,) = re.findall(r"`remove_garbage`,? every (\d+) days", text)
    assert int(days) * 86_400 == assumptions.GARBAGE
