"""Designs that an expert would sign: partitions, copies, shards and prices, on small documents."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path

import pytest
from hypothesis import given, settings
from msgspec.structs import replace
from tests.design.workloads import workloads
from tests.place import examples
from tests.solutions import solve

from prejoin.design.checks import check_design
from prejoin.design.cost.bill import bill
from prejoin.design.cost.objective import objective
from prejoin.design.explain import explain
from prejoin.design.mapping.map_patterns import map_patterns
from prejoin.design.model import Design, Projection
from prejoin.design.solver.candidates import identifies
from prejoin.design.solver.program.integer_program import InfeasibleError
from prejoin.design.solver.solve import Solution
from prejoin.workload.files import read_file, read_text
from prejoin.workload.grammar.statements import read_pin
from prejoin.workload.model import Decision, Op, Workload

ROOT = Path(__file__).parents[2]
DOCUMENTS = sorted([*ROOT.glob("tests/corpus/*/access-patterns.md"), *ROOT.glob("examples/*/access-patterns.md")])
HEAD = """## Access Patterns

### Reads

| ID | Entity | Input Parameters | Result | Sort | Paginated | Frequency | Consistency |
| --- | --- | --- | --- | --- | --- | --- | --- |
"""
WRITES = """
### Writes

| ID | Entity | Input Parameters | Items Written | Transaction | Frequency |
| --- | --- | --- | --- | --- | --- |
"""
PARCELS = """# Parcels

## Entities

### Depot

- **Attributes**:
  - `depotId` (ulid, generated)
- **Cardinality**: ~500 total

### Parcel

- **Attributes**:
  - `parcelId` (ulid, generated)
  - `depotId` (ulid, immutable, → Depot)
  - `state` (WAITING | MOVING | DONE, mutable)
  - `fragile` (boolean, immutable)
  - `label` (string, immutable)
  - `weight` (integer, mutable)
  - `sentAt` (datetime, immutable)
- **Cardinality**: ~10M total
- **Size**: 400 B

"""


def designed(text: str, *decisions: str) -> tuple[Workload, Solution]:
    found = read_text(text, "md")
    assert not any(one.severity == "error" for one in found.diagnostics)
    pins = tuple(Decision(read_pin(text)) for text in decisions)
    workload = replace(found.workload, decisions=pins)
    return workload, solve(workload)


def parcels(*reads: str, writes: str = "", decisions: tuple[str, ...] = ()) -> tuple[Workload, Design]:
    rows = "".join(f"| AP-{number:03} | Parcel | {read} |\n" for number, read in enumerate(reads, 1))
    made = (
        "| AP-100 | Parcel | parcelId, depotId, state, fragile, label, weight, sentAt | create Parcel | No | 800/s |\n"
    )
    workload, solution = designed(f"{PARCELS}{HEAD}{rows}{WRITES}{made}{writes}", *decisions)
    return workload, solution.design


JOINED = """# Clinic

## Entities

### Owner

- **Attributes**:
  - `ownerId` (ulid, generated)
- **Cardinality**: ~5K total

### Pet

- **Attributes**:
  - `petId` (ulid, generated)
  - `ownerId` (ulid, immutable, → Owner)
  - `name` (string, immutable)
- **Cardinality**: ~3 per Owner, ~15K total

### Visit

- **Attributes**:
  - `visitId` (ulid, generated)
  - `petId` (ulid, immutable, → Pet)
  - `vet` (string, immutable)
  - `at` (datetime, immutable)
- **Cardinality**: ~100 per Pet

## Access Patterns

### Reads

| ID | Entity | Input Parameters | Result | Sort | Paginated | Frequency | Consistency | Multi-Entity |
| --- | --- | --- | --- | --- | --- | --- | --- | --- |
| AP-001 | Pet | ownerId | Collection | name ASC | No | 10/s | CONSISTENCY | No |
| AP-002 | Pet | petId | Single | - | No | 10/s | Eventual | No |
| AP-003 | Visit, Pet | vet | Collection | at DESC | Yes (20) | 10/s | Eventual | Join via petId |
"""


def test_joined_items_are_keyed_by_their_ids() -> None:
    """The key of the table finds a hundred in one request; an index needs a Query for each."""
    workload, solution = designed(JOINED.replace("CONSISTENCY", "Eventual"))
    _, second = solution.design.operations[2].requests
    assert (second.call, second.slot, second.pk) == ("BatchGetItem", "table", "PET#{petId}")
    assert objective(workload, solution.design).queries_each == 0


def test_join_that_queries_for_each_item_is_said() -> None:
    """A strong read takes the key of the table, so the join is left with an index."""
    workload, solution = designed(JOINED.replace("CONSISTENCY", "Strong"))
    _, second = solution.design.operations[2].requests
    assert (second.call, second.slot) == ("Query", "gsi1")
    assert objective(workload, solution.design).queries_each == 1
    (about,) = (one for one in explain(workload, solution).patterns if one.pattern == "AP-003")
    said = " ".join(about.text)
    assert "Then for each `petId`: One Query on gsi1" in said
    assert "about 20 more requests, one after the other" in said


@pytest.mark.parametrize("beside", ["state", "fragile", "state, fragile", "label", "state, label"])
def test_partition_is_what_identifies_best(beside: str) -> None:
    """At 800 writes a second a partition of one state would need shards, and each read several Queries."""
    _, design = parcels(f"depotId, {beside} | Collection | sentAt DESC | Yes (20) | 10/s | Eventual")
    (request,) = design.operations[0].requests
    assert "{depotId}" in request.pk
    assert (request.shards, request.bucket) == (1, "")


def test_enum_is_a_partition_if_nothing_else_is_given() -> None:
    read = "state | Collection | sentAt DESC | Yes (20) | 10/s | Eventual"
    _, design = parcels(read)
    assert design.operations[0].requests[0].pk == "STATE#{state}"
    more = (
        "| AP-101 | Parcel | parcelId, depotId, state, fragile, label, weight, sentAt | create Parcel | No | 900/s |\n"
    )
    _, design = parcels(read, writes=more)
    assert design.operations[0].requests[0].pk == "STATE#{state}#{parcelId:shard(2)}"


@given(workloads())
@settings(max_examples=examples(25))
def test_every_partition_is_the_best_for_one_of_its_reads(workload: Workload) -> None:
    solution = solve(workload)
    for placed in solution.chosen.placed:
        if placed.slot and placed.candidate.pk:
            entity = workload.entity(placed.entity)
            assert entity is not None
            ranks = [identifies(workload, entity, name) for name in placed.candidate.pk]
            given_names = {a.name for a in entity.attributes if identifies(workload, entity, a.name) > max(ranks)}
            reads = [r for r in workload.patterns if placed.entity in r.entities]
            assert any(
                not given_names & {i.attribute for i in r.inputs if i.op is Op.EQ and not i.filter} for r in reads
            )


def test_name_within_a_parent_is_no_partition() -> None:
    document = """# Code

## Entities

### Owner

- **Attributes**:
  - `ownerId` (ulid, generated)

### Repository

- **Attributes**:
  - `ownerId` (ulid, natural, → Owner)
  - `name` (string, natural)
  - `stars` (integer, mutable)

"""
    row = "| AP-001 | Repository | ownerId, name | Single | - | No | 10/s | Eventual |\n"
    row += "| AP-002 | Repository | ownerId | Collection | stars DESC | Yes (20) | 10/s | Eventual |\n"
    _, solution = designed(document + HEAD + row)
    assert all("{ownerId}" in facet.pk[0] for item in solution.design.items for facet in item.facets)


PAGES = """# Pages

## Entities

### Page

- **Attributes**:
  - `pageId` (string, natural)
  - `views` (integer, mutable)
  - `title` (string, mutable)
- **Cardinality**: ~1M total

"""


@pytest.mark.parametrize(
    ("change", "advice"),
    [("views += 1, title", "in a queue"), ("views", "in a queue"), ("title", "in a queue")],
)
def test_one_hot_item_is_not_split_but_told(change: str, advice: str) -> None:
    row = "| AP-001 | Page | pageId | Single | - | No | 10/s | Eventual |\n"
    write = f"| AP-100 | Page | pageId, title, views | update Page ({change}) | No | 20000/s, hottest 20% |\n"
    workload, solution = designed(PAGES + HEAD + row + WRITES + write)
    assert solution.design.items[0].facets[0].pk == ("PAGE#{pageId}",)
    (found,) = [d for d in check_design(solution.design, workload) if d.code == "PJ570"]
    assert "4,000, and 1,000 is the limit" in found.message
    assert advice in found.fix


MANY = (
    "parcelId | Single | - | No | 10/s | Eventual",
    "depotId | Collection | sentAt DESC | Yes (20) | 10/s | Eventual",
    "depotId | Collection | weight DESC | Yes (20) | 10/s | Eventual",
    "depotId, state | Collection | sentAt DESC | Yes (20) | 10/s | Eventual",
    "label | Collection | sentAt DESC | Yes (20) | 10/s | Eventual",
)


def test_indexes_are_preferred_to_copies() -> None:
    _, design = parcels(*MANY)
    assert not design.copies
    assert len(design.indexes) == 4


@pytest.mark.parametrize("most", range(4))
def test_copy_is_in_the_table_and_serves_a_read(most: int) -> None:
    """An item is not stored twice to gain index keys, and its own key does not serve what its copy serves."""
    workload, design = parcels(*MANY, decisions=(f"at most {most} GSIs",))
    assert len(design.copies) == 4 - most
    assert all(operation.served for operation in design.operations)
    for copy in design.copies:
        assert [facet.slot for facet in copy.facets] == ["table"]
        without = replace(design, items=tuple(item for item in design.items if item is not copy))
        assert not all(operation.served for operation in map_patterns(without, workload).operations)


def test_strong_read_by_another_key_needs_a_copy() -> None:
    strong = (
        "parcelId | Single | - | No | 10/s | Strong",
        "label | Collection | sentAt DESC | Yes (20) | 10/s | Strong",
    )
    _, design = parcels(*strong)
    assert not design.indexes
    assert len(design.copies) == 1
    assert all(operation.served for operation in design.operations)


def test_key_of_the_table_may_begin_with_what_never_changes() -> None:
    document = PARCELS.replace("~10M", "~1M")
    row = "| AP-001 | Parcel | label | Collection | sentAt DESC | Yes (20) | 10/s | Eventual |\n"
    write = "| AP-100 | Parcel | parcelId, depotId, label, sentAt | create Parcel | No | 8/s |\n"
    _, solution = designed(document + HEAD + row + WRITES + write)
    assert not solution.design.indexes
    assert solution.exact


def whole(workload: Workload, design: Design) -> Decimal:
    """The bill with whole items in all indexes."""
    slots = tuple(replace(slot, projection=Projection()) for slot in design.slots)
    return bill(workload, map_patterns(replace(design, slots=slots), workload)).total


@pytest.mark.parametrize("path", DOCUMENTS[::4], ids=lambda path: path.parent.name)
def test_solver_adds_up_the_printed_bill(path: Path) -> None:
    """Two designs for a document differ in the bill by as much as in the figures of the solver."""
    workload = read_file(path).workload
    one = solve(workload)
    for sentence in ("at most 1 GSIs", "no copies", "minimise money"):
        try:
            other = solve(replace(workload, decisions=(*workload.decisions, Decision(read_pin(sentence)))))
        except InfeasibleError:
            continue
        if other.chosen.unserved == one.chosen.unserved:
            said = Decimal(other.chosen.money - one.chosen.money) / 100
            assert abs(whole(workload, other.design) - whole(workload, one.design) - said) < Decimal("0.05")


def test_keys_share_an_index_as_the_bill_wants_it() -> None:
    """An index of reads that name their attributes holds less if no other key is in it."""
    workload = read_file(ROOT / "examples" / "blog" / "access-patterns.md").workload
    solution = solve(workload)
    assert any(slot.projection.attributes for slot in solution.design.indexes)
    assert objective(workload, solution.design).dollars < whole(workload, solution.design) * Decimal("0.8")
