"""Keys are chosen by the heat of their partitions, too: 1,000 write units and 3,000 read units a second for each."""

from __future__ import annotations

import pytest
from msgspec.structs import replace
from tests.design.brute_force import best_design
from tests.design.claims import false_claims
from tests.solutions import solve

from prejoin.design import codes
from prejoin.design.checks import check_design
from prejoin.design.cost.heat import Load, hot_loads, loads
from prejoin.design.cost.objective import IN_WORDS, objective
from prejoin.design.explain import explain
from prejoin.design.mapping.map_patterns import map_patterns
from prejoin.design.model import Design
from prejoin.diagnostics import Severity
from prejoin.workload.files import read_text
from prejoin.workload.model import Combine, Decision, Minimise, Workload

DOCUMENT = """# Market
{tenant}
## Entities

### Region

- **Attributes**:
  - `regionId` (string, generated)
- **Cardinality**: 8 total

### Category

- **Attributes**:
  - `categoryId` (string, generated)
- **Cardinality**: 2,000 total

### Listing

- **Attributes**:
  - `listingId` (string, generated)
  - `regionId` (string, immutable, → Region)
  - `categoryId` (string, immutable, → Category)
  - `state` (OPEN | SOLD, mutable)
  - `postedAt` (datetime, immutable)
- **Cardinality**: 4M total
- **Size**: 1 KB

## Access Patterns

### Reads

| ID | Entity | Input Parameters | Result | Sort | Paginated | Frequency |
| --- | --- | --- | --- | --- | --- | --- |
{reads}

### Writes

| ID | Entity | Input Parameters | Items Written | Transaction | Frequency |
| --- | --- | --- | --- | --- | --- |
{writes}
"""
CREATE = "| AP-010 | Listing | Listing | create Listing | No | 50/s |"
ONE = "| AP-001 | Listing | regionId, listingId | Single | - | No | {rate} |"
ALL = "| AP-002 | Listing | regionId | Collection | - | Yes (20) | 1/s |"
BOTH = "| AP-003 | Listing | regionId, categoryId | Collection | postedAt DESC | Yes (20) | {rate} |"
SORTED = "| AP-004 | Listing | regionId | Collection | categoryId | Yes (20) | 1/s |"


def market(*reads: str, writes: str = CREATE, tenant: str = "") -> Workload:
    text = DOCUMENT.format(reads="\n".join(reads), writes=writes, tenant=tenant)
    found = read_text(text, "md")
    assert not [one for one in found.diagnostics if one.severity is Severity.ERROR]
    return found.workload


def key(design: Design, slot: str = "table", entity: str = "Listing") -> str:
    item = design.item(entity)
    facet = item.facet(slot) if item else None
    return " / ".join((*facet.pk, *facet.sk)) if facet else ""


def hot(workload: Workload, design: Design) -> list[str]:
    return [one.message for one in check_design(design, workload) if one.code == codes.HOT.id]


TENANT = "\n## Context\n\n- **Tenant**: regionId → Region\n"
IN_TENANT = "| AP-001 | Listing | listingId | Single | - | No | {rate} |"
ALL_IN_TENANT = "| AP-002 | Listing | - | Collection | - | Yes (20) | 1/s |"


@pytest.mark.parametrize(
    ("cool", "warm"),
    [
        (market(ONE.format(rate="100/s"), ALL), market(ONE.format(rate="60,000/s"), ALL)),
        (
            market(IN_TENANT.format(rate="100/s"), ALL_IN_TENANT, tenant=TENANT),
            market(IN_TENANT.format(rate="60,000/s"), ALL_IN_TENANT, tenant=TENANT),
        ),
        (
            market(BOTH.format(rate="100/s"), SORTED, ONE.format(rate="1/s")),
            market(BOTH.format(rate="10,000/s"), SORTED, ONE.format(rate="1/s")),
        ),
    ],
    ids=["table", "tenant", "index"],
)
def test_hot_key_is_not_chosen_where_another_serves(cool: Workload, warm: Workload) -> None:
    """The keys that are best at low rates would be hot at high ones: an index more avoids that."""
    before, after = solve(cool).design, solve(warm).design
    assert hot(warm, map_patterns(before, warm))
    assert not hot(warm, after)
    assert not hot_loads(warm, after)
    assert len(after.indexes) == len(before.indexes) + 1
    assert objective(warm, after) < objective(warm, map_patterns(before, warm))


@pytest.mark.slow
def test_key_without_shards_is_preferred() -> None:
    """Both partitions serve the read. That of a region would need two shards, and that of a category none."""
    writes = CREATE.replace("50/s", "9,000/s")
    design = solve(market(BOTH.format(rate="10/s"), writes=writes)).design
    assert "shard" not in key(design) + key(design, "gsi1")
    assert solve(market(ALL, writes=writes)).design.operation("AP-002").requests[0].shards == 2  # type: ignore[union-attr]


def test_hot_partition_that_no_key_avoids_is_told_with_its_arithmetic() -> None:
    workload = market("| AP-005 | Listing | state = OPEN | Collection | postedAt DESC | Yes (20) | 2,000/s |")
    solution = solve(workload)
    (told,) = hot(workload, solution.design)
    assert "2,000 reads/s of 2.5 units are 5,000 read units/s, of which 100% go to one partition" in told
    assert "5,000, and 3,000 is the limit" in told
    assert "hot partition 4" in IN_WORDS
    assert objective(workload, solution.design).hot == 1
    assert solution.chosen.least == objective(workload, solution.design).complexity == 5
    assert false_claims(workload, solution, explain(workload, solution)) == []


def test_reads_that_are_too_many_only_together_are_told() -> None:
    reads = [f"| AP-00{n} | Listing | state = OPEN | Collection | postedAt DESC | Yes (20) | 800/s |" for n in (5, 6)]
    alone, both = market(reads[0]), market(*reads)
    assert not hot(alone, solve(alone).design)
    (told,) = hot(both, solve(both).design)
    assert "`AP-005`, `AP-006`: together 4,000 read units/s on one partition of" in told
    assert "3,000 is the limit" in told


def test_writes_that_are_too_many_only_together_are_told() -> None:
    writes = f"{CREATE}\n| AP-011 | Region | Region | create Region | No | 50/s |".replace("50/s", "6,000/s")
    workload = market(ALL, writes=writes)
    together = replace(workload.reads[0], entities=("Region", "Listing"), combine=Combine.COLLECTION)
    workload = replace(workload, reads=(together,))
    (told,) = hot(workload, solve(workload).design)
    assert "writes of `Listing`, `Region`: together 1,500 write units/s on one partition of REGION#{regionId}" in told


def test_least_money_does_not_buy_a_hot_partition() -> None:
    workload = market(ONE.format(rate="60,000/s"), ALL)
    cheapest = solve(replace(workload, decisions=(Decision(Minimise("money")),))).design
    assert not hot_loads(workload, cheapest)


@pytest.mark.slow
def test_brute_force_finds_no_better_keys_for_hot_reads() -> None:
    workload = market(BOTH.format(rate="10,000/s"), SORTED, ONE.format(rate="1/s"))
    assert objective(workload, solve(workload).design) <= objective(workload, best_design(workload))


def test_no_single_item_is_hot_because_many_are_created() -> None:
    """`hottest 40%` is about the items of one parent: each item is created once."""
    writes = CREATE.replace("50/s", "4,000/s, hottest 40%")
    workload = market(IN_TENANT.format(rate="1/s"), writes=writes)
    design = solve(workload).design
    assert key(design) == "LISTING#{listingId} / LISTING"
    assert not hot(workload, design)
    replaced = replace(workload, writes=market(writes=writes.replace("create", "put")).writes)
    assert "1,600, and 1,000 is the limit" in hot(replaced, map_patterns(design, replaced))[0]


def test_shards_are_enough_for_transactions() -> None:
    """A transaction writes each item at twice the price, and one partition takes as many units as before."""
    writes = "| AP-010 | Listing, Category | Listing, Category | create Listing; create Category | Yes | 6,000/s |"
    workload = market(ALL, ONE.format(rate="1/s"), writes=writes)
    design = solve(workload).design
    (load,) = [one for one in loads(workload, design) if one.entity == "Listing" and not one.read]
    assert load.units == 12_000
    assert "{listingId:shard(2)}" in key(design)
    assert not [one for one in hot(workload, design) if one.startswith("Listing")]


def test_hot_partition_of_several_entities_stays_whole_and_is_told() -> None:
    """Shards would take the read apart: it is served, and the load of the writes is told."""
    workload = market(ALL, writes=CREATE.replace("50/s", "9,000/s"))
    together = replace(workload.reads[0], entities=("Region", "Listing"), combine=Combine.COLLECTION)
    workload = replace(workload, reads=(together,))
    design = solve(workload).design
    operation = design.operation("AP-002")
    assert operation
    assert operation.served
    assert "9,000 writes/s are 9,000 write units/s" in hot(workload, design)[0]


def test_load_that_just_fits_is_not_hot() -> None:
    """4,000 units in 4 shards are 1,000 each: fractions do not add up to more than the limit."""
    load = Load("Listing", "", "table", 0.0, 0.0, 0.0)
    for _ in range(10):
        load = load.with_write(400.0, 400.0, 0.25)
    assert not load.hot
    assert load.shards == 1
    assert Load("Listing", "", "table", 0.0, 0.0, 0.0).with_write(4_004, 4_004, 0.25).hot
