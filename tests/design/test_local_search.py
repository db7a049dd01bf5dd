"""Designs that the integer program alone does not find: its prices do not know what an index will hold, and its search
may be cut short.
"""

from __future__ import annotations

from decimal import Decimal

import pytest
from msgspec.structs import replace
from tests.design.brute_force import best_design
from tests.solutions import solve

from prejoin.design.checks import check_design
from prejoin.design.cost.objective import objective
from prejoin.design.explain.explanation import claim_sentences, explain
from prejoin.design.model import ProjectionKind
from prejoin.diagnostics import Severity
from prejoin.workload.files import read_text
from prejoin.workload.model import AtMost, Decision, Under, Workload

NARROW = """# Things

## Entities

### Thing

- **Attributes**:
  - `thingId` (string, generated)
  - `state` (OPEN | DONE, mutable)
  - `at` (datetime, immutable)
  - `due` (datetime, optional, mutable)
  - `rank` (integer, immutable)
- **Cardinality**: 30,000 total
- **Size**: 3 KB

## Access Patterns

### Reads

| ID | Entity | Input Parameters | Result | Sort | Paginated | Frequency |
| --- | --- | --- | --- | --- | --- | --- |
| AP-001 | Thing | at >= | Collection | at ASC | Yes | 50/s |
| AP-002 | Thing | state, thingId, rank < | Collection | rank DESC | Yes | 50/s |
| AP-003 | Thing | state | Collection | - | Yes | 0.1/s |
| AP-004 | Thing | state, thingId, due >= | Collection (thingId, state) | due DESC | Yes | 0.1/s |

### Writes

| ID | Entity | Input Parameters | Items Written | Transaction | Conditions | Frequency |
| --- | --- | --- | --- | --- | --- | --- |
| AP-005 | Thing | thingId, state, at, due, rank | create Thing | No | - | 20/s |
| AP-006 | Thing | thingId, state | update Thing (state) | No | - | 20/s |
"""
TIED = """# Parts

## Entities

### Whole

- **Attributes**:
  - `wholeId` (string, natural)

### Part

- **Attributes**:
  - `wholeId` (string, natural, → Whole)
  - `partId` (string, natural)
  - `state` (OPEN | DONE, mutable)
  - `rank` (integer, immutable)
- **Size**: 3 KB

## Access Patterns

### Reads

| ID | Entity | Input Parameters | Result | Sort | Paginated | Frequency |
| --- | --- | --- | --- | --- | --- | --- |
| AP-001 | Part | wholeId, partId, rank >= | Collection | rank ASC | Yes | 5/s |
| AP-002 | Part | wholeId, state | Collection | rank ASC | Yes | 5/s |

### Writes

| ID | Entity | Input Parameters | Items Written | Transaction | Conditions | Frequency |
| --- | --- | --- | --- | --- | --- | --- |
| AP-003 | Part | wholeId, partId, state, rank | create Part | No | - | 5/s |
| AP-004 | Part | wholeId, partId, state | update Part (state) | No | - | 5/s |
"""
EXCHANGED = """# Lists

## Entities

### List

- **Attributes**:
  - `listId` (string, generated)
  - `state` (OPEN | DONE, mutable)
  - `rank` (integer, mutable)
- **Size**: 3 KB

### Entry

- **Attributes**:
  - `entryId` (string, generated)
  - `listId` (string, immutable, → List)
  - `state` (OPEN | DONE, mutable)
  - `at` (datetime, immutable)
  - `rank` (integer, immutable)
- **Size**: 200 B

## Access Patterns

### Reads

| ID | Entity | Input Parameters | Result | Sort | Paginated | Frequency | Multi-Entity |
| --- | --- | --- | --- | --- | --- | --- | --- |
| AP-001 | List | state, listId, rank < | Collection (listId, state) | rank DESC | Yes | 50/s | No |
| AP-002 | Entry | rank >= | Collection | rank ASC | Yes | 5/s | No |
| AP-003 | Entry | listId, at >= | Collection | at DESC | Yes (20) | 50/s | No |
| AP-004 | Entry | - | Collection (entryId, listId) | at DESC | Yes (20) | 50/s | No |
| AP-005 | Entry | entryId, listId, rank < | Collection | rank ASC | Yes (20) | 0.1/s | No |
| AP-006 | List, Entry | listId | Collection | - | Yes (20) | 5/s | Yes |

### Writes

| ID | Entity | Input Parameters | Items Written | Transaction | Conditions | Frequency |
| --- | --- | --- | --- | --- | --- | --- |
| AP-007 | List | listId, state, rank | create List | No | - | 5/s |
| AP-008 | Entry | entryId, listId, state, at, rank | create Entry | No | - | 0.1/s |
| AP-009 | Entry | entryId, state | update Entry (state) | No | - | 0.1/s |
"""
REPLACED = """# Things

## Entities

### Alpha

- **Attributes**:
  - `alphaId` (string, id)
  - `alphaState` (OPEN | DONE, mutable)
  - `alphaAt` (datetime, immutable)
- **Size**: 3 KB

### Beta

- **Attributes**:
  - `alphaId` (string, id, → Alpha)
  - `betaId` (string, id)
  - `betaState` (OPEN | DONE, mutable)
  - `betaAt` (datetime, immutable)
  - `betaRank` (integer, immutable)
- **Cardinality**: ~200 per Alpha
- **Size**: 3 KB

## Access Patterns

### Reads

| ID | Entity | Input Parameters | Result | Sort | Paginated | Frequency | Multi-Entity |
| --- | --- | --- | --- | --- | --- | --- | --- |
| R1 | Beta | betaState = OPEN, betaRank < | Collection | betaRank ASC | Yes | 5/s | No |
| R2 | Alpha | alphaId, alphaAt < | Collection | alphaAt DESC | Yes | 0.1/s | No |
| R3 | Beta | alphaId, betaId, betaAt < | Collection (alphaId, betaId) | betaAt DESC | Yes (20) | 5/s | No |
| R6 | Alpha, Beta | alphaId | Collection | - | Yes | 5/s | Yes |

### Writes

| ID | Entity | Input Parameters | Items Written | Transaction | Conditions | Frequency |
| --- | --- | --- | --- | --- | --- | --- |
| U1 | Alpha | alphaId, alphaState | update Alpha (alphaState) | No | - | 5/s |
| U2 | Beta | alphaId, betaId, betaState | update Beta (betaState) | No | - | 0.1/s |
"""
FILTERED = """# Tickets

## Entities

### Ticket

- **Attributes**:
  - `ticketId` (string, generated)
  - `teamId` (string, immutable)
  - `state` (OPEN | WAITING | SOLVED | CLOSED, mutable)
  - `openedAt` (datetime, immutable)
- **Cardinality**: 300 per teamId
- **Size**: 3 KB

## Access Patterns

### Reads

| ID | Entity | Input Parameters | Result | Sort | Paginated | Frequency |
| --- | --- | --- | --- | --- | --- | --- |
| AP-001 | Ticket | ticketId | Single | - | No | 1/s |
| AP-002 | Ticket | teamId, state | Collection | openedAt ASC | Yes (20) | 20/s |

### Writes

| ID | Entity | Input Parameters | Items Written | Transaction | Conditions | Frequency |
| --- | --- | --- | --- | --- | --- | --- |
| AP-003 | Ticket | ticketId, state | update Ticket (state) | No | - | 5/s |

## Decisions

- AP-002 may filter
"""


def workload(text: str) -> Workload:
    read = read_text(text, "md")
    assert all(one.severity is not Severity.ERROR for one in read.diagnostics)
    return read.workload


@pytest.mark.slow
def test_key_is_chosen_that_makes_room_for_a_narrow_index() -> None:
    """`state / thingId, rank` serves AP-003 as well, so that only AP-004 is left in the index by `due`."""
    things = workload(NARROW)
    design = solve(things).design
    assert objective(things, design) <= objective(things, best_design(things))
    by_due = next(f.slot for f in design.items[0].facets if "due" in "".join((*f.pk, *f.sk)))
    slot = design.slot(by_due)
    assert slot
    assert slot.projection.kind is not ProjectionKind.ALL


@pytest.mark.everyday(1)
@pytest.mark.parametrize(("document", "pin"), [(EXCHANGED, Under("Entry", "List")), (REPLACED, Under("Beta", "Alpha"))])
def test_keys_in_table_and_index_change_together_for_a_narrow_index(document: str, pin: Under) -> None:
    """Items beside their parent in the table leave an index whose reads all name the attributes they want."""
    free = workload(document)
    decided = replace(free, decisions=(Decision(pin),))
    assert objective(free, solve(free).design) <= objective(free, solve(decided).design)


@pytest.mark.slow
def test_more_indexes_instead_of_a_guard_are_compared_too() -> None:
    """An index more and a guard of the key less are of the same complexity: the bill decides."""
    parts = workload(TIED)
    found, best = objective(parts, solve(parts).design), objective(parts, best_design(parts))
    assert found.complexity == best.complexity == Decimal(2)
    assert found <= best


def test_accepted_filter_is_not_used_where_a_natural_key_is_cheaper() -> None:
    """With a filter the partition is still the best that is given, and not the state. As attributes, the index's keys
    spare the update a read, so that the key with the state is both cheaper and as good.
    """
    tickets = workload(FILTERED)
    design = solve(tickets).design
    strict = replace(tickets, decisions=())
    assert objective(tickets, design) == objective(strict, solve(strict).design)
    assert [(facet.pk, facet.sk) for facet in design.items[0].facets[1:]] == [
        (("{teamId}",), ("{state}", "{openedAt}"))
    ]


def test_bill_with_narrow_indexes_is_not_called_the_lowest() -> None:
    """What indexes hold is improved step by step, and that proves nothing."""
    said = "it is not established that no other keys of this complexity have a lower bill"
    things = workload(NARROW)
    assert said in " ".join(claim_sentences(things, solve(things)))
    whole = replace(things, reads=tuple(replace(read, needs=()) for read in things.reads))
    assert said not in " ".join(claim_sentences(whole, solve(whole)))


FIRST = """# Things

## Entities

### Thing

- **Attributes**:
  - `thingId` (string, generated)
  - `state` (OPEN | DONE, mutable)
  - `at` (datetime, immutable)
  - `rank` (integer, immutable)
- **Cardinality**: 30,000 total
- **Size**: 3 KB

## Access Patterns

### Reads

| ID | Entity | Input Parameters | Result | Sort | Paginated | Frequency |
| --- | --- | --- | --- | --- | --- | --- |
| AP-001 | Thing | rank < | Collection | rank ASC | Yes (20) | 50/s |
| AP-002 | Thing | - | Collection (thingId, state) | at ASC | Yes | 5/s |
| AP-003 | Thing | - | Collection | - | Yes (20) | 0.1/s |

### Writes

| ID | Entity | Input Parameters | Items Written | Transaction | Conditions | Frequency |
| --- | --- | --- | --- | --- | --- | --- |
| AP-005 | Thing | Thing | create Thing | No | - | 4,000/s |
"""


def test_key_that_holds_what_a_read_wants_is_compared_with_a_sparse_one() -> None:
    """An index of all states has more entries than one of open things, but needs no attribute beside its keys."""
    row = "| AP-002 | Thing | state = OPEN, rank >= | Collection (thingId, state) | rank DESC | Yes | 5/s |\n"
    before, after = FIRST.index("| AP-002"), FIRST.index("| AP-003")
    text = (FIRST[:before] + row + FIRST[after:]).replace("3 KB", "200 B").replace("4,000/s", "5/s")
    design = solve(workload(text)).design
    assert [(facet.pk, facet.sk) for facet in design.items[0].facets[1:]] == [(("{state}",), ("{rank}",))]
    assert [slot.projection.kind for slot in design.indexes] == [ProjectionKind.KEYS_ONLY]


def test_indexes_change_places_where_the_first_one_need_not_answer_a_read_of_whole_items() -> None:
    """Both indexes answer AP-003, and clients take the first. As the second, the one by time holds two attributes."""
    design = solve(workload(FIRST)).design
    item = design.item("Thing")
    assert item is not None
    ranked, timed = item.facets[1:]
    assert "rank" in ranked.sk[0]
    assert "at" in timed.sk[0]
    held = [slot.projection.kind for slot in design.indexes]
    assert held == [ProjectionKind.ALL, ProjectionKind.INCLUDE]


NUMBERS = """# Plants

## Entities

### Bed

- **Attributes**:
  - `bedId` (string, generated)
  - `state` (OPEN | DONE, mutable)
  - `rank` (integer, mutable)
- **Size**: 3 KB

### Plant

- **Attributes**:
  - `bedId` (string, natural, → Bed)
  - `plantId` (string, natural)
  - `state` (OPEN | DONE, mutable)
  - `at` (datetime, immutable)
  - `label` (string, unique, immutable)
- **Size**: 200 B

## Access Patterns

### Reads

| ID | Entity | Input Parameters | Result | Sort | Paginated | Frequency |
| --- | --- | --- | --- | --- | --- | --- |
| AP-001 | Plant | at < | Collection (bedId, plantId) | at DESC | Yes | 0.1/s |
| AP-002 | Bed | bedId, state = OPEN, rank >= | Collection | rank DESC | Yes | 0.1/s |

### Writes

| ID | Entity | Input Parameters | Items Written | Transaction | Conditions | Frequency |
| --- | --- | --- | --- | --- | --- | --- |
| AP-010 | Bed | Bed | create Bed | No | - | 0.1/s |
| AP-011 | Plant | Plant | create Plant | No | - | 4,000/s |
| AP-012 | Plant | label, state | update Plant (state) | No | - | 4,000/s |
"""


@pytest.mark.slow
def test_numbers_of_indexes_of_one_complexity_are_compared_by_what_the_indexes_hold() -> None:
    """The guard of a key is as complex as a second index, with which the first holds keys only."""
    plants = workload(NUMBERS)
    design = solve(plants).design
    assert [slot.projection.kind for slot in design.indexes] == [ProjectionKind.KEYS_ONLY, ProjectionKind.ALL]
    assert objective(plants, design) <= objective(plants, best_design(plants))


HEATED = """# Desks

## Entities

### Desk

- **Attributes**:
  - `deskId` (string, natural)
  - `rank` (integer, mutable)
- **Cardinality**: 200 total
- **Size**: 3 KB

### Task

- **Attributes**:
  - `taskId` (string, generated)
  - `due` (datetime, optional, mutable)
- **Size**: 3 KB

## Access Patterns

### Reads

| ID | Entity | Input Parameters | Result | Sort | Paginated | Frequency |
| --- | --- | --- | --- | --- | --- | --- |
| AP-001 | Desk | rank >= | Collection | rank ASC | Yes | 5/s |
| AP-002 | Task | due >= | Collection (taskId, due) | due ASC | Yes | 50/s |

### Writes

| ID | Entity | Input Parameters | Items Written | Transaction | Conditions | Frequency |
| --- | --- | --- | --- | --- | --- | --- |
| AP-010 | Desk | Desk | create Desk | No | - | 5/s |
| AP-011 | Task | Task | create Task | No | - | 20/s |
"""


def test_index_is_not_shared_if_its_whole_items_would_make_a_partition_hot() -> None:
    tasks = workload(HEATED)
    solution = solve(tasks)
    assert objective(tasks, solution.design).hot == 0
    held = sorted(slot.projection.kind for slot in solution.design.indexes)
    assert held == [ProjectionKind.ALL, ProjectionKind.KEYS_ONLY]


def test_bound_is_claimed_if_a_partition_is_hot_because_of_what_its_index_holds() -> None:
    limits = (Decision(AtMost("GSIs", 1)), Decision(AtMost("copies", 0)))
    tasks = replace(workload(HEATED), decisions=limits)
    solution = solve(tasks)
    assert objective(tasks, solution.design).complexity == 5
    assert claim_sentences(tasks, solution)[0].endswith(
        "need a complexity of at least 1, if each index held only what its reads want."
    )


MOVING = """# Players

## Entities

### Player

- **Attributes**:
  - `playerId` (string, natural)
  - `score` (integer, mutable)
  - `biography` (string)
- **Cardinality**: 30,000 total
- **Size**: 3 KB

## Access Patterns

### Reads

| ID | Entity | Input Parameters | Result | Sort | Paginated | Frequency |
| --- | --- | --- | --- | --- | --- | --- |
| AP-001 | Player | - | Collection{wanted} | score DESC | Yes (20) | 5/s |

### Writes

| ID | Entity | Input Parameters | Items Written | Transaction | Conditions | Frequency |
| --- | --- | --- | --- | --- | --- | --- |
| AP-010 | Player | playerId, score | update Player (score) | No | - | 200/s |
"""


@pytest.mark.parametrize(("wanted", "shards"), [("", True), (" (playerId, score)", False)])
def test_narrow_index_needs_no_shards(wanted: str, shards: bool) -> None:
    """A new score deletes and puts an entry of the index: 6 units of a whole item, 2 of its key."""
    design = solve(workload(MOVING.format(wanted=wanted))).design
    item = design.item("Player")
    assert item is not None
    assert [":shard(" in text for text in item.facets[1].pk] == [shards]


def test_hot_read_of_few_attributes_gets_a_narrow_index_beside_the_one_of_whole_items() -> None:
    """Whole items would be 15,000 read units a second of one partition, their keys are 1,000."""
    text = MOVING.format(wanted=" (playerId, score)").replace("5/s", "2,000/s").replace("200/s", "20/s")
    whole = "| AP-002 | Player | - | Collection | score DESC | Yes (20) | 1/s |\n\n### Writes"
    players = workload(text.replace("\n### Writes", whole))
    solution = solve(players)
    design = solution.design
    assert [slot.projection.kind for slot in design.indexes] == [ProjectionKind.KEYS_ONLY, ProjectionKind.ALL]
    used = [operation.requests[0].slot for operation in design.operations]
    assert used == ["gsi1", "gsi2", "table"]
    assert objective(players, design).hot == 0
    assert [one.code for one in check_design(design, players) if one.severity is not Severity.HINT] == []
    assert any(
        "gsi2 has the same keys with more attributes: there, AP-001 would read 7.5 units a call instead of 0.5" in words
        for words in explain(players, solution).indexes[0].text
    )
