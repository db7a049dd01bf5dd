"""Documented requests are those that are sent, where constructs and lists meet: documents that random ones led to."""

from __future__ import annotations

import pytest
from tests.proof.documented_requests import differences, recorded_calls
from tests.proof.league import NOW
from tests.solutions import solve

from prejoin.design.model import Did
from prejoin.design.requests.literal import ReadRequest
from prejoin.design.requests.lower import literal_requests
from prejoin.engine import Embedded
from prejoin.proof.prove import prove
from prejoin.workload.files import read_text
from prejoin.workload.model import Workload

DOCUMENT = """
# Shelves

{context}

## Entities

### Shelf

- **Attributes**:
  - `shelfId` (string, natural)
  - `state` (OPEN | DONE, mutable)
  - `note` (string, optional, mutable)
  - `hits` (integer, mutable, default=0)
{shelf}
- **Cardinality**: ~50 total

### Book

- **Attributes**:
{book}
  - `name` (string, immutable)
  - `hits` (integer, mutable, default=0)
- **Cardinality**: ~20 per Shelf
{line}

## Access Patterns

### Reads

| ID | Entity | Description | Input Parameters | Result | Sort | Paginated | Frequency |
| --- | --- | --- | --- | --- | --- | --- | --- |
| AP-001 | Book | of a shelf | shelfId | Collection | {sort} | Yes | 5/s |

### Writes

| ID | Entity | Description | Input Parameters | Items Written | Transaction | Conditions | Frequency |
| --- | --- | --- | --- | --- | --- | --- | --- |
| AP-020 | Shelf | put up | Shelf | create Shelf | No | - | 1/s |
| AP-021 | Book | add | Book | create Book | Yes | {condition} | 1/s |
| AP-022 | Book | change | {write} | 1/s |

## Decisions

{decisions}
"""
PLAIN = {
    "context": "",
    "shelf": "",
    "book": "  - `bookId` (string, natural)\n  - `shelfId` (string, immutable, → Shelf)",
    "line": "",
    "sort": "-",
    "condition": "-",
    "write": "bookId | update Book (hits += 1) | No | -",
    "decisions": "",
}
EXPIRING = "  - `until` (integer, optional, ttl, mutable)"
CASES: dict[str, dict[str, str]] = {
    "a list of ids, each found by a Query": {
        "book": "  - `bookId` (string, generated)\n  - `shelfId` (string, immutable, → Shelf)",
        "write": "bookId[] | update Book[] (hits += 1) | Yes | -",
        "decisions": "- Book has key `SHELF#{shelfId}` and `BOOK#{name}#{bookId}`\n"
        "- Book has key `BOOK#{bookId}` and `SHELF#{shelfId}` in byId",
    },
    "a check that allows an expired item": {
        "shelf": EXPIRING,
        "condition": "not (Shelf.note begins_with draft)",
    },
    "a check that allows an expired item, of two parts": {
        "shelf": EXPIRING,
        "condition": "Shelf.note not exists or not (Shelf.note begins_with draft)",
    },
    "a list that is replaced, not in a transaction": {
        "write": "shelfId, Book[] | delete Book[]; create Book[] | No | -",
    },
    "a list that is replaced in a transaction": {
        "write": "shelfId, Book[] | delete Book[]; create Book[] | Yes | -",
    },
    "a list that is replaced, of expiring items": {
        "book": f"{PLAIN['book']}\n{EXPIRING}",
        "write": "shelfId, Book[] | delete Book[]; create Book[] | Yes | -",
    },
    "a guard whose id names the tenant last": {
        "context": "## Context\n\n- **Tenant**: shelfId → Shelf",
        "book": "  - `bookId` (string, natural)\n  - `shelfId` (string, id, immutable, → Shelf)",
        "decisions": "- Book has key `SHELF#{shelfId}` and `BOOK#{name}#{bookId}`",
    },
    "two items that are read first": {
        "book": f"{PLAIN['book']}\n  - `version` (integer, mutable)",
        "line": "- **History**: 2 versions",
        "write": "fromId, toId, n | update Book by fromId (hits -= n); update Book by toId (hits += n) | Yes | -",
    },
    "an upsert that sets a part of its key": {
        "book": f"{PLAIN['book']}\n  - `lender` (string, optional, mutable)",
        "write": "bookId, shelfId, name | upsert Book (shelfId, name, hits += 1) | No | -",
        "decisions": "- Book has key `SHELF#{shelfId}` and `BOOK#{bookId}`\n"
        "- Book has key `LENDER#{shelfId}#{lender}` and `BOOK#{bookId}` in lent",
    },
}


def workload_of(case: str) -> Workload:
    reading = read_text(DOCUMENT.format(**{**PLAIN, **CASES[case]}), "md")
    assert [one for one in reading.diagnostics if one.severity == "error"] == []
    return reading.workload


@pytest.mark.parametrize("case", CASES)
def test_the_requests_are_those_that_are_sent(case: str) -> None:
    workload = workload_of(case)
    design = solve(workload).design
    assert [operation.problem for operation in design.operations if not operation.served] == []
    with Embedded() as engine, recorded_calls() as recorded:
        proof = prove(workload, design, engine, now=NOW)
    assert [(one.pattern, one.wrong, one.problem) for one in proof.failed] == []
    assert proof.findings == ()
    assert [one.pattern for one in proof.patterns if one.units != one.predicted] == []
    assert differences(recorded, workload, design) == []


def test_each_id_of_a_list_is_found_by_a_query_of_its_own() -> None:
    workload = workload_of("a list of ids, each found by a Query")
    design = solve(workload).design
    operation = design.operation("AP-022")
    assert operation is not None
    first = literal_requests(operation, workload, design)[0]
    assert isinstance(first, ReadRequest)
    assert first.repeated == "each bookId"


COPIED = """
# Shelves

## Entities

### Shelf

- **Attributes**:
  - `shelfId` (string, natural)
  - `room` (string, immutable)
  - `state` (string, optional, mutable)
  - `hits` (integer, mutable, default=0)
- **Cardinality**: ~50 total

## Access Patterns

### Reads

| ID | Entity | Description | Input Parameters | Result | Consistency | Frequency |
| --- | --- | --- | --- | --- | --- | --- |
| AP-001 | Shelf | by its id | shelfId | Single | Strong | 5/s |
| AP-002 | Shelf | of a group | {key} | Collection | Strong | 5/s |

### Writes

| ID | Entity | Description | Input Parameters | Items Written | Transaction | Conditions | Frequency |
| --- | --- | --- | --- | --- | --- | --- | --- |
| AP-020 | Shelf | write | {write} | - | 1/s |
"""
COPY_KEYS = {"of an attribute that never changes": "room", "of one that changes": "state"}
WRITES_OF_COPIED = {
    "upsert": "shelfId, room, state | upsert Shelf (room, state, hits += 1) | -",
    "upsert of a number": "shelfId, room | upsert Shelf (room, hits += 1) | -",
    "update": "shelfId, state | update Shelf (state, hits += 1) | -",
    "removal": "shelfId | update Shelf (remove state, hits += 1) | -",
    "put": "Shelf | put Shelf | -",
    "create": "Shelf | create Shelf | -",
    "delete": "shelfId | delete Shelf | -",
}


@pytest.mark.parametrize("key", COPY_KEYS.values(), ids=list(COPY_KEYS))
@pytest.mark.parametrize("write", WRITES_OF_COPIED.values(), ids=list(WRITES_OF_COPIED))
def test_writes_of_items_with_a_copy(key: str, write: str) -> None:
    workload = read_text(COPIED.format(key=key, write=write), "md").workload
    design = solve(workload).design
    assert [item.entity for item in design.copies] == ["Shelf"]
    with Embedded() as engine, recorded_calls() as recorded:
        proof = prove(workload, design, engine, now=NOW)
    assert [(answer.pattern, answer.wrong, answer.problem) for answer in proof.failed] == []
    assert [answer.pattern for answer in proof.patterns if answer.units != answer.predicted] == []
    assert differences(recorded, workload, design) == []


def test_a_removed_key_attribute_takes_the_copy_away() -> None:
    workload = read_text(COPIED.format(key="state", write=WRITES_OF_COPIED["removal"]), "md").workload
    operation = solve(workload).design.operation("AP-020")
    assert operation is not None
    copies = [action.action for action in operation.requests[-1].actions if action.item.copy]
    assert copies == [Did.DELETE]
