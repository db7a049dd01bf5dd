"""A document in loose prose: exact parts are read, the others get messages, and nothing is lost."""

from __future__ import annotations

import pytest

from prejoin.types import Kind
from prejoin.workload.document.read_document import read_document
from prejoin.workload.document.tables import TABLES
from prejoin.workload.document.write_document import write_document
from prejoin.workload.files import read_text
from prejoin.workload.model import Combine, Direction, Presence, Rate, Result, Under, Verb

LOOSE = """\
DynamoDB Access Patterns
========================

> Generated on: 2026-03-01
> Application: Recipe Box
> Status: DRAFT

Written after the workshop.

## Domain Overview

People keep recipes and rate each other's.

## Entities

### Cook

- **Description**: Someone with an account
- **Attributes**:
  - `cookId` (string) - unique identifier
  - `nick` (string) - unique
  - `since` (timestamp) - when they joined
- **Relationships**: Owns many Recipes
- **Cardinality**: ~1K-5K cooks
- **Lifecycle**: Created on sign-up. Never deleted.

### Recipe

- **Description**: What to do with the ingredients
- **Attributes**:
  - `recipeId` (string, id) - ULID
  - `cookId` (string) - who wrote it
  - `title` (string)
  - `addedAt` (datetime)
- **Relationships**: Belongs to a Cook.
- **Cardinality**: ~40 recipes per cook, ~100K total
- **Colour of the cover**: red

Ask Ines about the covers.

## Access Patterns

The numbers are guesses.

### Reads

| ID | Entity | Description | Input Parameters | Result | Sort | Paginated | Frequency | Consistency | Multi-Entity |
|----|--------|-------------|------------------|--------|------|-----------|-----------|-------------|--------------|
| AP-001 | Cook | Get a cook | cookId | Single | - | No | Hot | Eventual | No |
| AP-002 | Cook, Recipe | Cook with recipes | cookId | Collection | Recipe by addedAt DESC | No | Warm | Eventual | Yes |
| AP-003 | Recipe | Search by title | cookId, titlePrefix | Collection | newest first | No | Warm (a guess) | Eventual | No |

### Writes

| ID | Entity | Description | Input Parameters | Items Written | Transaction | Conditions | Frequency |
|----|--------|-------------|------------------|---------------|-------------|------------|-----------|
| AP-010 | Recipe | Add a recipe | cookId, title | Recipe + Cook update | Yes | Cook must exist | Warm |

## Item Collection Candidates

| Group | Entities | Access Patterns | Rationale |
|-------|----------|-----------------|-----------|
| Kitchen | Cook, Recipe | AP-002 | Shown together |

## Glossary

- *sous-vide*: slowly

## Notes and Decisions

- **Covers**: not stored here
- recipes live under their cook
"""


def test_exact_parts_are_read() -> None:
    workload = read_document(LOOSE).workload
    assert (workload.title, workload.header["Application"]) == ("DynamoDB Access Patterns", "Recipe Box")
    cook, recipe = workload.entities
    assert cook.description == "Someone with an account"
    assert [a.name for a in cook.attributes] == ["cookId", "nick"]
    assert recipe.attributes[3].type.kind is Kind.DATETIME
    assert (cook.cardinality[0].low, cook.cardinality[0].count) == (1_000, 5_000)
    assert [(c.count, c.per) for c in recipe.cardinality] == [(40, "Cook"), (100_000, "")]
    together = workload.reads[1]
    assert (together.combine, together.result) == (Combine.COLLECTION, Result.MANY)
    assert [(s.attribute, s.direction) for s in together.sort] == [("Recipe.addedAt", Direction.DESC)]
    assert workload.writes[0].atomic is True
    assert list(workload.writes[0].checks) == [Presence(entity="Cook")]
    assert workload.collections[0].patterns == ("AP-002",)
    assert workload.decisions[1].pin == Under("Recipe", "Cook")
    assert workload.reads[0].rate != Rate()


def test_each_place_that_is_not_exact_says_what_to_write() -> None:
    lines = LOOSE.split("\n")
    fixes = {}
    for d in read_text(LOOSE, "md").diagnostics:
        fixes.setdefault((d.code, lines[d.line - 1].strip()[:24].strip() if d.line else ""), d.fix)
    assert "write `datetime`" in fixes["PJ110", "- `since` (timestamp) -"]
    assert "`Cook 1:N Recipe via …`" in fixes["PJ111", "- **Relationships**: Own"]
    assert "`Cook 1:N Recipe via …`" in fixes["PJ111", "- **Relationships**: Bel"]
    assert fixes["PJ202", "| AP-003 | Recipe | Sear"] == "write `title begins_with`"
    assert "createdAt DESC" in fixes["PJ122", "| AP-003 | Recipe | Sear"]
    assert "250/s" in fixes["PJ124", "| AP-003 | Recipe | Sear"]
    assert "`create Recipe; update Cook (…)`" in fixes["PJ130", "| AP-010 | Recipe | Add"]
    assert "`cookId` (string, id)" in fixes["PJ210", "### Cook"]
    assert ("PJ127", "| AP-002 | Cook, Recipe") in fixes


def test_nothing_is_lost_when_it_is_written_again() -> None:
    workload = read_document(LOOSE).workload
    document = write_document(workload)
    assert read_document(document).workload == workload
    kept = ["Written after the workshop.", "Owns many Recipes", "- `since` (timestamp) - when they joined", "red"]
    kept += ["Ask Ines about the covers.", "The numbers are guesses.", "newest first", "Warm (a guess)"]
    kept += ["Recipe + Cook update", "*sous-vide*: slowly", "**Covers**: not stored here", "Generated on: 2026-03-01"]
    assert [text for text in kept if text not in document] == []


LENDING = """\
# Lending

## Entities

### Loan

**Attributes**

- `loanId` (string, id)
- `memberId` (string) → Member
- `dueAt` (datetime, mutable)

**Cardinality**

- ~40 per Member

**Rules**

- Nobody has more than `n` (see the statutes) loans
- `loanId` (of the old system) is printed on the slip
"""


def test_attribute_that_cannot_be_read_is_reported_and_not_taken_for_a_note() -> None:
    for text in (LENDING, LENDING.replace("**Attributes**\n\n", "")):
        reading = read_document(text)
        diagnostics = [d for d in reading.diagnostics if d.code == "PJ110"]
        assert [d.text for d in diagnostics] == ["`memberId` (string) → Member"]
        assert diagnostics[0].fix == "put the reference into the parenthesis: `(string, → Member)`"
        (loan,) = reading.workload.entities
        assert [one.name for one in loan.attributes] == ["loanId", "dueAt"]


def test_label_in_a_paragraph_is_a_heading_for_the_list_below_it() -> None:
    (loan,) = read_document(LENDING).workload.entities
    assert loan.cardinality
    assert "see the statutes" in write_document(read_document(LENDING).workload)
    assert "of the old system" in write_document(read_document(LENDING).workload)


def test_misspelt_label_in_a_paragraph_is_reported() -> None:
    reading = read_document(LENDING.replace("**Cardinality**", "**Cardinalty**"))
    assert [d.fix for d in reading.diagnostics if "Cardinalty" in d.message] == ["did you mean `Cardinality`?"]


def test_put_of_an_item_that_must_not_exist_is_a_create() -> None:
    row = "| AP-010 | Loan | Lend | Loan | put Loan, put Slip | Yes | {} | 3/s |\n"
    head = "| ID | Entity | Description | Input Parameters | Items Written | Transaction | Conditions | Frequency |\n"
    for condition, verbs in (
        ("Loan not exists", [Verb.CREATE, Verb.PUT]),
        ("Slip not exists", [Verb.PUT, Verb.CREATE]),
        ("-", [Verb.PUT, Verb.PUT]),
        ("Loan exists", [Verb.PUT, Verb.PUT]),
        ("Loan.returnedAt not exists", [Verb.PUT, Verb.PUT]),
    ):
        text = f"# Lending\n\n## Access Patterns\n\n### Writes\n\n{head}{'| --- ' * 8}|\n{row.format(condition)}"
        (lend,) = read_text(text, "md").workload.writes
        assert [action.verb for action in lend.actions] == verbs, condition


def test_attributes_can_be_on_one_line() -> None:
    attributes = "`id` (ulid, id), `size` (integer, min 0), `state` (NEW | OLD, optional)"
    reading = read_document(f"# Things\n\n## Entities\n\n### Thing\n\n- **Attributes**: {attributes}\n")
    (thing,) = reading.workload.entities
    assert [(a.name, a.type.kind, a.optional) for a in thing.attributes] == [
        ("id", Kind.ULID, False),
        ("size", Kind.INTEGER, False),
        ("state", Kind.ENUM, True),
    ]
    assert [d.code for d in reading.diagnostics] == ["PJ104"]  # there are no access patterns


def test_attributes_of_one_list_item_are_read_one_by_one() -> None:
    entity = "### Garage\n\n- `garageId` (uuid, id), `name` (string), `city` (string) - (where), `it` (is)\n"
    found = read_document(f"# Parking\n\n## Entities\n\n{entity}- `ownerId` (→ Owner), `spaces` (integer)\n")
    assert [(a.name, a.text) for a in found.workload.entities[0].attributes] == [
        ("garageId", ""),
        ("name", ""),
        ("city", "(where), `it` (is)"),
        ("spaces", ""),
    ]
    fixes = [d.fix for d in found.diagnostics if d.code == "PJ110"]
    assert fixes == ["write the type of the id before it: `(string, → …)`"]


@pytest.mark.parametrize("section", TABLES)
def test_a_row_without_a_cell_for_a_required_column_is_read(section: str) -> None:
    columns = [column.name for column in reversed(TABLES[section].columns)]
    table = f"| {' | '.join(columns)} |\n{'| --- ' * len(columns)}|\n| User |\n"
    reading = read_document(f"# Shop\n\n## {section}\n\n{table}")
    messages = [diagnostic.message for diagnostic in reading.diagnostics]
    assert any(message.startswith(f"this row has 1 cells, the table {len(columns)} columns") for message in messages)
    assert len(getattr(reading.workload, TABLES[section].field)) == 1
