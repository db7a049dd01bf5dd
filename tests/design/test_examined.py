"""What was found by looking at designs of new domains as a reviewer would, each as a small document."""

from __future__ import annotations

import pytest
from msgspec.structs import replace
from tests.solutions import solve

from prejoin import Embedded
from prejoin.design.checks import check_design
from prejoin.design.explain.explanation import explain_design
from prejoin.design.explain.relaxations import instead_of
from prejoin.design.explain.simplifications import simplifications
from prejoin.design.explain.workarounds import alternatives
from prejoin.design.mapping.map_patterns import map_patterns
from prejoin.design.model import TABLE
from prejoin.design.solver.conflicts import conflicts
from prejoin.proof.prove import prove
from prejoin.workload.files import read_text
from prejoin.workload.grammar.attributes import read_attribute
from prejoin.workload.model import Read, Workload

READS = """## Access Patterns

### Reads

| ID | Entity | Input Parameters | Result | Sort | Paginated | Frequency | Consistency |
| --- | --- | --- | --- | --- | --- | --- | --- |
"""
WRITES = """
### Writes

| ID | Entity | Input Parameters | Items Written | Transaction | Conditions | Frequency |
| --- | --- | --- | --- | --- | --- | --- |
"""


def workload(text: str) -> Workload:
    found = read_text(text, "md")
    assert not [one.message for one in found.diagnostics if one.severity == "error"]
    return found.workload


PATIENTS = """# Hospital

## Entities

### Patient

- **Attributes**:
  - `patientId` (uuid, generated)
  - `insuranceNo` (string, unique, immutable)
- **Cardinality**: ~3M total

"""


def test_key_of_the_table_is_the_id_where_an_index_costs_the_same() -> None:
    rows = "| AP-001 | Patient | patientId | Single | - | No | 100/s | Eventual |\n"
    rows += "| AP-002 | Patient | insuranceNo | Single | - | No | 20/s | Eventual |\n"
    design = solve(workload(PATIENTS + READS + rows)).design
    item = design.item("Patient")
    assert item is not None
    assert [(facet.slot, *facet.pk) for facet in item.facets] == [
        (TABLE, "PATIENT#{patientId}"),
        ("gsi1", "INSURANCE_NO#{insuranceNo}"),
    ]


SESSIONS = """# Parking

## Entities

### Session

- **Attributes**:
  - `sessionId` (ulid, generated)
  - `plate` (string, immutable)
  - `enteredAt` (datetime, immutable)
  - `leftAt` (datetime, optional, mutable)
- **Cardinality**: {cardinality}
- **Size**: 250 B

"""
OPEN = "| AP-001 | Session | plate, leftAt not exists | Single | - | No | 200/s | Eventual |\n"
ALL = "| AP-002 | Session | plate | Collection | enteredAt DESC | Yes (20) | 10/s | Eventual |\n"


def test_filter_that_nobody_accepted_reads_at_most_a_page() -> None:
    parking = workload(SESSIONS.replace("{cardinality}", "~3B total") + READS + OPEN + ALL)
    design = solve(parking).design
    read = design.operation("AP-001")
    assert read is not None
    assert read.requests[0].filters == ()
    assert read.units is not None
    assert read.units.read == 0.5
    assert "PJ582" not in {one.code for one in check_design(design, parking)}
    alone = [slot for slot in design.slots if slot.name != read.requests[0].slot]
    items = tuple(
        replace(item, facets=tuple(f for f in item.facets if f.slot != read.requests[0].slot)) for item in design.items
    )
    without = map_patterns(replace(design, slots=tuple(alone), items=items), parking).operation("AP-001")
    assert without is not None
    assert "read units, and $" in without.problem


def test_filter_of_a_small_collection_still_spares_an_index() -> None:
    parking = workload(SESSIONS.replace("{cardinality}", "~10K total") + READS + OPEN + ALL)
    design = solve(parking).design
    assert design.indexes == ()
    read = design.operation("AP-001")
    assert read is not None
    assert read.requests[0].filters == ("leftAt not exists",)


LADDER = """# Ladder

## Entities

### Player

- **Attributes**:
  - `playerId` (uuid, generated)
  - `rating` (integer, mutable, max=4000)
- **Cardinality**: ~5M total
- **Size**: 300 B

"""


def test_count_of_a_range_is_not_answered_by_one_counter_nor_by_an_absurd_scan() -> None:
    row = "| AP-001 | Player | rating > | Count | - | No | 5/s | Eventual |\n"
    ladder = workload(LADDER + READS + row)
    design = solve(ladder).design
    read = design.operation("AP-001")
    assert read is not None
    assert "a counter for each value of `rating`, or for each span" in read.remedy
    ways = alternatives(ladder, design, ladder.reads[0])
    assert len(ways) == 1  # a Scan for millions is no second one


GARAGES = """# Garages

## Entities

### Garage

- **Attributes**:
  - `garageId` (uuid, generated)
  - `lat` (decimal, immutable)
  - `lng` (decimal, immutable)
- **Cardinality**: ~20K total
- **Size**: 400 B

"""


def test_cell_of_a_geohash_holds_what_is_near() -> None:
    row = "| AP-001 | Garage | lat between, lng between | Collection | - | No | 100/s | Eventual |\n"
    garages = workload(GARAGES + READS + row)
    read = garages.reads[0]
    assert isinstance(read, Read)
    first = instead_of(garages, solve(garages), read)[0]
    assert "geohash" in first.text
    assert any("geohash begins_with (keeps 0.25%)" in line for line in first.take)
    assert first.dollars < 2000


def test_read_of_too_much_conflicts_with_no_write() -> None:
    row = "| AP-001 | Session | - | Collection | - | No | 1/day | Eventual |\n"
    write = "| AP-100 | Session | Session | create Session | No | - | 100/s |\n"
    parking = workload(SESSIONS.replace("{cardinality}", "unbounded") + READS + row + WRITES + write)
    assert not solve(parking).design.operations[0].served
    assert conflicts(parking) == ()


GAMES = """# Games

## Entities

### Player

- **Attributes**:
  - `playerId` (uuid, generated)
  - `games` (integer, mutable)
- **Cardinality**: ~1K total

### Game

- **Attributes**:
  - `gameId` (ulid, generated)
  - `whiteId` (uuid, immutable, → Player)
  - `blackId` (uuid, immutable, → Player)
  - `state` (RUNNING | OVER, mutable)
- **Cardinality**: ~10K total

"""


def test_two_items_of_an_entity_in_a_transaction_are_proven() -> None:
    row = "| AP-001 | Game | gameId | Single | - | No | 10/s | Eventual |\n"
    items = "update Game (state); update Player by whiteId (games += 1); update Player by blackId (games += 1)"
    write = f"| AP-100 | Game, Player | gameId, state, whiteId, blackId | {items} | Yes | - | 1/s |\n"
    games = workload(GAMES + READS + row + WRITES + write)
    design = solve(games).design
    for seed in range(1, 6):
        found = prove(games, design, Embedded(), seed=seed)
        assert [(one.pattern, one.wrong, one.problem) for one in found.failed] == []


LIKES = """# Likes

## Entities

### Like

- **Attributes**:
  - `videoId` (string, id)
  - `userId` (string, id)
- **Cardinality**: ~1B total
- **Size**: 100 B

### Note

- **Attributes**:
  - `noteId` (string, id)
  - `text` (string, mutable)
- **Cardinality**: ~1K total

"""


def test_explanation_of_single_items() -> None:
    rows = "| AP-001 | Like | videoId, userId | Single | - | No | 100/s | Eventual |\n"
    rows += "| AP-002 | Note | noteId | Single | - | No | 1/s | Eventual |\n"
    write = "| AP-100 | Like | videoId, userId | create Like | No | - | 9000/s, hottest 30% |\n"
    likes = workload(LIKES + READS + rows + WRITES + write)
    design = solve(likes).design
    assert "PJ570" not in {one.code for one in check_design(design, likes)}  # each item is created once
    explanation = explain_design(likes, design)
    like, note = explanation.entities
    assert "The partition key has `videoId` and `userId`, inputs of AP-001." in like.text
    assert any("`noteId` is assumed to be generated" in text for text in note.text)
    about = next(one for one in explanation.partitions if one.entity == "Like")
    assert about.items == 1


AUCTIONS = """# Auctions

## Entities

### Campaign

- **Attributes**:
  - `campaignId` (uuid, generated)
  - `spent` (integer, mutable, default=0)
- **Cardinality**: ~10K total

### Bid

- **Attributes**:
  - `auctionId` (ulid, id)
  - `campaignId` (uuid, id, → Campaign)
  - `price` (integer, immutable)
- **Cardinality**: ~10 per auctionId, 1B total
- **Size**: 100 B

### Click

- **Attributes**:
  - `clickId` (ulid, generated)
  - `campaignId` (uuid, immutable, → Campaign)
- **Cardinality**: ~100K per Campaign
- **Size**: 100 B

"""
CLICK = """| AP-101 | Click, Campaign | clickId, campaignId, cost | create Click; update Campaign (spent += cost) | Yes | - | 1/s |
"""


def test_application_sorts_a_small_collection_if_that_is_much_cheaper() -> None:
    row = "| AP-001 | Bid | auctionId | Collection, limit 2 | price DESC | No | 100/s | Strong |\n"
    write = "| AP-100 | Bid | Bid | put Bid | No | - | 5000/s |\n"
    auctions = workload(AUCTIONS + READS + row + WRITES + write)
    solution = solve(auctions)
    assert len(solution.design.copies) == 1  # no index is read strongly
    (found,) = simplifications(auctions, solution)
    assert "if the application of AP-001 sorts about 10 items itself: 0 GSIs and 0 copies" in found.text
    assert found.dollars < -10_000


def test_counter_is_kept_by_a_write_that_changes_its_item_already() -> None:
    row = "| AP-001 | Click | campaignId | Count | - | No | 10/s | Eventual |\n"
    clicks = workload(AUCTIONS + READS + row + WRITES + CLICK)
    first = instead_of(clicks, solve(clicks), clicks.reads[0])[0]
    assert "AP-101: create Click; update Campaign (spent += cost, clickCount += 1) | Yes" in first.take


MATCHES = """# Matches

## Entities

### Match

- **Attributes**:
  - `matchId` (ulid, generated)
  - `state` (PLANNED | LIVE | FINISHED, mutable)
- **Cardinality**: ~1M total
- **Size**: 350 B

"""


@pytest.mark.parametrize(("said", "served"), [("", False), (" (keeps 0.01%)", True)])
def test_document_can_say_how_many_have_a_constant(said: str, served: bool) -> None:
    row = f"| AP-001 | Match | state = LIVE{said} | Collection | - | No | 100/s | Eventual |\n"
    read = solve(workload(MATCHES + READS + row)).design.operations[0]
    assert read.served == served
    if not served:
        assert "`state = LIVE (keeps 1%)`" in read.remedy


LOANS = """# Loans

## Entities

### Book

- **Attributes**:
  - `isbn` (string, natural)

### Loan

- **Attributes**:
  - `loanId` (ulid, generated)
  - `copyId` (string, immutable)
  - `cardNo` (string, immutable)

## Access Patterns

### Reads

| ID | Entity | Input Parameters | Result | Sort | Paginated | Frequency | Multi-Entity |
| --- | --- | --- | --- | --- | --- | --- | --- |
| AP-001 | Loan, Book | cardNo | Collection | - | Yes (20) | 1/s | Join |
"""


def test_join_without_a_reference_is_not_told_to_be_a_join() -> None:
    (found,) = [one for one in read_text(LOANS, "md").diagnostics if one.code == "PJ313"]
    assert "no attribute of `Loan` says which `Book` is meant" in found.message
    assert "→ Book" in found.fix


@pytest.mark.parametrize("text", ["`a` (integer, max=853, default 0)", "`a` (integer, max 853, default=0)"])
def test_bounds_and_defaults_are_written_alike(text: str) -> None:
    found = read_attribute(text)
    assert (found.max, found.default) == (853, "0")
