"""Relaxations: what an expert would propose, each solved and priced, with the lines that take it."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace
from tests.solutions import solve

from prejoin.design.explain import add_alternatives, explain
from prejoin.design.whatif.alternative import Alternative
from prejoin.design.whatif.attempt import WhatIf, price_of
from prejoin.design.whatif.change import apply_change
from prejoin.design.whatif.filters import filter_alternatives
from prejoin.design.whatif.read_edits import is_coordinate_range
from prejoin.design.whatif.relaxations import relax, relaxation_changes
from prejoin.engine import Embedded
from prejoin.proof.prove import prove
from prejoin.workload.checks import check
from prejoin.workload.files import read_file, read_text
from prejoin.workload.grammar.statements import read_pin
from prejoin.workload.model import Decision, Input, Op, Workload

ROOT = Path(__file__).parents[3]
PLACES = """
# Places

## Entities

### User

- **Attributes**:
  - `userId` (uuid, generated)
  - `name` (string, mutable)
- **Cardinality**: 10K total
- **Size**: 300 B

### Follow

- **Attributes**:
  - `followerId` (uuid, id, → User)
  - `followedId` (uuid, id, → User)
- **Cardinality**: 50 per User
- **Size**: 150 B

### Place

- **Attributes**:
  - `placeId` (uuid, generated)
  - `userId` (uuid, immutable, → User)
  - `lat` (decimal, immutable)
  - `lon` (decimal, immutable)
  - `kind` (SHOP | BAR, immutable)
  - `title` (string, immutable)
  - `tags` (set of string, optional, immutable)
  - `createdAt` (datetime, immutable)
- **Cardinality**: 1M total
- **Size**: 1 KB

## Access Patterns

### Reads

| ID | Entity | Input Parameters | Result | Sort | Paginated | Frequency | Multi-Entity |
| --- | --- | --- | --- | --- | --- | --- | --- |
| AP-001 | Place | placeId | Single | - | No | 5/s | No |
| AP-002 | {entity} | {inputs} | {result} | {sort} | {paginated} | 1/s | {combine} |

### Writes

| ID | Entity | Input Parameters | Items Written | Transaction | Conditions | Frequency |
| --- | --- | --- | --- | --- | --- | --- |
| AP-020 | Place | placeId, userId, lat, lon, kind, title, tags, createdAt | create Place | No | - | 1/s |
| AP-021 | User | userId, name | create User | No | - | 1/s |
| AP-022 | Follow | followerId, followedId | create Follow | No | - | 1/s |

### Deletes

| ID | Entity | Input Parameters | Items Deleted | Transaction | Conditions | Frequency |
| --- | --- | --- | --- | --- | --- | --- |
| AP-030 | Place | placeId, userId, kind | delete Place | No | - | Cold |
"""


def places(
    inputs: str,
    result: str = "Collection",
    sort: str = "-",
    paginated: str = "Yes (20)",
    entity: str = "Place",
    combine: str = "No",
) -> Workload:
    text = PLACES.format(inputs=inputs, result=result, sort=sort, paginated=paginated, entity=entity, combine=combine)
    reading = read_text(text, "md")
    assert [d for d in reading.diagnostics if d.severity == "error"] == []
    return reading.workload


RELAXED = {
    "counter of all": (places("-", "Count", paginated="No"), "a counter, `PlaceCount.number`", "upsert PlaceCount"),
    "counter by kind": (places("kind", "Count", paginated="No"), "a counter, `PlaceCount.number`", "`kind`"),
    "geohash": (places("lat between, lon between"), "a geohash", "geohash begins_with"),
    "words": (places("title contains (keeps 0.1%)", sort="createdAt DESC"), "an item for each word", "### PlaceWord"),
    "tags": (places("tags contains (keeps 0.1%)", sort="createdAt DESC"), "an item for each member", "### PlaceTag"),
    "each": (
        places("userId in (keeps 0.01%)", sort="createdAt DESC"),
        "a Query for each `userId`",
        "AP-002: userId[] | No under Paginated",
    ),
    "pages": (places("-", paginated="No"), "pages of 50 items", "Yes (50)"),
    "required": (
        places("userId?, kind?, title?", sort="createdAt DESC"),
        "`userId` always given",
        "AP-002: userId, kind?, title?",
    ),
    "feed": (
        places("followerId", sort="Place.createdAt DESC", entity="Follow, Place", combine="Join"),
        "a feed, written for each of about 50 readers",
        "### PlaceFeed",
    ),
}


@pytest.mark.parametrize("name", RELAXED)
def test_a_read_that_is_not_served_has_a_priced_proposal(name: str) -> None:
    workload, what, line = RELAXED[name]
    solution = solve(workload)
    assert not solution.design.operation("AP-002").served  # type: ignore[union-attr]
    found = relax(WhatIf(workload, solution), workload.reads[1])
    assert found, "nothing is proposed"
    assert found[0].text.startswith(what)
    assert any(line in one for one in found[0].take)
    (change, *_) = relaxation_changes(workload, workload.reads[1])
    changed = apply_change(workload, change)
    after = solve(changed).design
    assert found[0].dollars == pytest.approx(price_of(changed, after) - price_of(workload, solution.design))
    assert all(operation.served for operation in after.operations)


@pytest.mark.parametrize("name", RELAXED)
@pytest.mark.everyday(2)
def test_what_is_proposed_can_be_proven(name: str) -> None:
    workload, _, _ = RELAXED[name]
    (change, *_) = relaxation_changes(workload, workload.reads[1])
    changed = apply_change(workload, change)
    assert [d for d in check(changed) if d.severity == "error"] == []
    with Embedded() as engine:
        proof = prove(changed, solve(changed).design, engine)
    assert [(one.pattern, one.wrong, one.problem) for one in proof.failed] == []


@pytest.mark.parametrize(
    ("inputs", "what"),
    [
        ("lat between, lon between", "geographic search"),
        ("title contains (keeps 0.1%)", "full-text search"),
        ("kind?, title?, userId?", "search by any combination"),
    ],
)
def test_what_another_service_does_better_is_named_without_a_price(inputs: str, what: str) -> None:
    workload = places(inputs)
    last = relax(WhatIf(workload, solve(workload)), workload.reads[1])[-1]
    assert last.text.startswith(what)
    assert "not priced" in last.text
    assert last.take == ("AP-002 is out of scope",)


def test_a_filter_on_a_small_collection_is_proposed_in_place_of_an_index() -> None:
    workload = read_file(ROOT / "examples/shop/access-patterns.md").workload
    solution = solve(workload)
    explanation = add_alternatives(WhatIf(workload, solution), explain(workload, solution), most=0)
    (first, *_) = explanation.relaxations
    assert first in filter_alternatives(WhatIf(workload, solution))
    assert first.take == ("AP-006 may filter",)
    taken = taking(workload, first)
    after = solve(taken).design
    assert price_of(taken, after) - price_of(workload, solution.design) == pytest.approx(first.dollars)
    assert len(after.indexes) + len(after.copies) - first.structures == len(solution.design.indexes)
    assert first.dollars < 0


def taking(workload: Workload, one: Alternative) -> Workload:
    return replace(workload, decisions=(*workload.decisions, *(Decision(read_pin(line)) for line in one.take)))


@pytest.mark.parametrize(("users", "proposed"), [(100_000, True), (100, False)])
def test_a_filter_is_proposed_only_on_a_small_collection(users: int, proposed: bool) -> None:
    workload = places("userId, title", sort="createdAt DESC")
    both = workload.reads[1]
    entities = tuple(
        replace(e, cardinality=(replace(e.cardinality[0], count=users),)) if e.name == "User" else e
        for e in workload.entities
    )
    reads = (*workload.reads, replace(both, id="AP-003", inputs=both.inputs[:1]))
    workload = replace(workload, entities=entities, reads=reads)
    assert bool(filter_alternatives(WhatIf(workload, solve(workload)))) is proposed


@pytest.mark.parametrize("name", ["lat", "lon", "long", "homeLat", "home_lng", "latitude", "shopLongitude"])
def test_coordinates_are_known_by_their_names(name: str) -> None:
    assert is_coordinate_range(Input(name, Op.BETWEEN))


@pytest.mark.parametrize("name", ["latestAt", "translatedAt", "platform", "longText", "calories", "along"])
def test_other_names_are_no_coordinates(name: str) -> None:
    assert not is_coordinate_range(Input(name, Op.BETWEEN))
