"""How many items a read finds: cardinalities are resolved through composite ids, 1:1 relations and several levels."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace
from tests.design.tenancy import OWNER, keyed_by_tenant, with_line, with_tenant
from tests.design.workloads import workloads
from tests.place import examples
from tests.solutions import solve

from prejoin.design.checks import check_design
from prejoin.design.cost.assumptions import (
    assumptions,
    count_by,
    count_of,
    share_within,
    size_of,
    value_sizes,
    values_of,
)
from prejoin.design.cost.bill import bill
from prejoin.design.cost.objective import Objective, objective
from prejoin.design.mapping.map_patterns import map_patterns
from prejoin.design.model import Design, Projection
from prejoin.workload.checks import check
from prejoin.workload.files import read_file, read_text
from prejoin.workload.lookup import foreign_key
from prejoin.workload.model import Combine, Entity, Workload

ROOT = Path(__file__).parents[2]
DOCUMENTS = sorted([*ROOT.glob("examples/*/access-patterns.md"), *ROOT.glob("tests/corpus/*/access-patterns.md")])

HELPDESK = """
# Helpdesk

## Entities

### Tenant

- **Attributes**:
  - `tenantId` (ulid, generated)
- **Cardinality**: 2K total
- **Size**: 300 B

### Agent

- **Attributes**:
  - `tenantId` (ulid, id, → Tenant)
  - `agentId` (ulid, generated)
- **Cardinality**: 10 per Tenant
- **Size**: 300 B

### Settings

- **Attributes**:
  - `tenantId` (ulid, id, → Agent.tenantId)
  - `agentId` (ulid, id, → Agent.agentId)
- **Relationships**:
  - Agent 1:1 Settings via tenantId + agentId
- **Size**: 300 B

### Ticket

- **Attributes**:
  - `tenantId` (ulid, id, → Tenant)
  - `ticketId` (ulid, generated)
  - `assigneeId` (ulid, optional, → Agent.agentId)
  - `status` (OPEN | DONE)
- **Cardinality**: 20K per Tenant
- **Size**: 1.5 KB

### Comment

- **Attributes**:
  - `tenantId` (ulid, id, → Ticket.tenantId)
  - `ticketId` (ulid, id, → Ticket.ticketId)
  - `commentId` (ulid, generated)
- **Cardinality**: 80 per Ticket
- **Size**: 2 KB

### Reaction

- **Attributes**:
  - `tenantId` (ulid, id, → Tenant)
  - `ticketId` (ulid, id, → Comment.ticketId)
  - `commentId` (ulid, id, → Comment.commentId)
  - `emoji` (string, id)
- **Cardinality**: 3 per Comment
- **Size**: 100 B

## Access Patterns

### Reads

| ID | Entity | Input Parameters | Result | Sort | Paginated | Frequency | Multi-Entity |
| --- | --- | --- | --- | --- | --- | --- | --- |
| AP-001 | Ticket, Comment | tenantId, ticketId | Collection | - | No | 50/s | Collection |
| AP-002 | Comment | tenantId, ticketId | Collection | commentId ASC | No | 50/s | No |
"""


def helpdesk() -> Workload:
    return read_text(HELPDESK, "md").workload


def entity(workload: Workload, name: str) -> Entity:
    found = workload.entity(name)
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("name", "given", "number"),
    [
        ("Ticket", ["tenantId"], 20_000),
        ("Ticket", ["tenantId", "ticketId"], 1),
        ("Ticket", ["ticketId"], 1),  # generated: no two have the same
        ("Ticket", ["tenantId", "status"], 10_000),
        ("Ticket", ["tenantId", "assigneeId"], 1_000),  # of 20,000, half have one, among 10 agents
        ("Comment", ["tenantId", "ticketId"], 80),
        ("Comment", ["ticketId"], 80),
        ("Comment", ["tenantId"], 80 * 20_000),
        ("Reaction", ["tenantId", "ticketId", "commentId"], 3),
        ("Reaction", ["tenantId", "ticketId"], 3 * 80),
        ("Reaction", ["tenantId"], 3 * 80 * 20_000),
        ("Settings", ["tenantId"], 10),
        ("Settings", ["tenantId", "agentId"], 1),
    ],
)
def test_items_of_a_parent_are_counted_by_its_whole_id(name: str, given: list[str], number: int) -> None:
    workload = helpdesk()
    assert count_by(workload, entity(workload, name), given) == number


BLOG = """
# Blog

## Entities

### User

- **Attributes**:
  - `userId` (ulid, generated)
- **Cardinality**: 1K total

### Post

- **Attributes**:
  - `postId` (ulid, generated)
  - `userId` (ulid, immutable, → User)
- **Cardinality**: 10 per User

### Comment

- **Attributes**:
  - `commentId` (ulid, generated)
  - `postId` (ulid, immutable, → Post)
  - `userId` (ulid, immutable, {user})
- **Cardinality**: 100 per Post
"""


@pytest.mark.parametrize(
    ("user", "number"),
    [
        ("→ User", 1),  # who commented: one of the users, whoever wrote the post
        ("→ Post.userId", 100),  # who wrote the post: all its comments have the same
        ("→ User, copy of Post.userId", 100),
    ],
)
def test_an_attribute_of_the_parents_name_need_not_be_the_parents(user: str, number: int) -> None:
    workload = read_text(BLOG.format(user=user), "md").workload
    assert count_by(workload, entity(workload, "Comment"), ["postId"]) == 100
    assert count_by(workload, entity(workload, "Comment"), ["postId", "userId"]) == number


def test_one_to_one_relations_have_as_many_items_as_their_other_side() -> None:
    workload = helpdesk()
    assert count_of(workload, entity(workload, "Settings")) == 20_000
    said = next(one for one in assumptions(workload) if (one.about, one.what) == ("Settings", "the number of items"))
    assert said.value == "20,000"


SENSORS = """
# Sensors

## Entities

### Device

- **Attributes**:
  - `deviceId` (uuid, generated)
- **Cardinality**: 5M total

### Config

- **Attributes**:
  - `configId` (uuid, generated)
  - `deviceId` (uuid, unique, immutable, → Device)

### Alarm

- **Attributes**:
  - `alarmId` (uuid, generated)
  - `deviceId` (uuid, immutable, → Device)

### Sample

- **Attributes**:
  - `deviceId` (uuid, id, → Device)
  - `at` (datetime, natural){ttl}
- **Cardinality**: unbounded per Device{retention}
- **Size**: 200 B

## Access Patterns

### Reads

| ID | Entity | Input Parameters | Result | Sort | Paginated | Frequency |
| --- | --- | --- | --- | --- | --- | --- |
| AP-001 | Sample | deviceId, {asked} | Collection | at DESC | Yes (50) | 1/s |

### Writes

| ID | Entity | Input Parameters | Items Written | Transaction | Conditions | Frequency |
| --- | --- | --- | --- | --- | --- | --- |
| AP-020 | Sample | deviceId, at | put Sample | No | - | 500/s |
"""
DAY = 86_400


def sensors(ttl: str = "", retention: str = "", asked: str = "at between") -> Workload:
    return read_text(SENSORS.format(ttl=ttl, retention=retention, asked=asked), "md").workload


@pytest.mark.parametrize(
    ("ttl", "retention", "days"),
    [
        ("", "", 365),
        ("\n  - `expiresAt` (integer, ttl)", "", 30),
        ("\n  - `expiresAt` (integer, ttl)", "\n- **Retention**: 2 weeks", 14),
        ("", "\n- **Retention**: 5 years", 5 * 365),
    ],
)
def test_unbounded_entities_grow_with_their_writes_for_the_time_they_are_kept(
    ttl: str, retention: str, days: int
) -> None:
    workload = sensors(ttl, retention)
    assert count_of(workload, entity(workload, "Sample")) == 500 * days * DAY
    kept = [one.value for one in assumptions(workload) if one.what == "the time that an item is kept"]
    assert kept == ([] if retention else [f"{days} days"])


def test_entities_follow_the_counts_of_their_relations() -> None:
    workload = sensors()
    assert count_of(workload, entity(workload, "Config")) == 5_000_000, "its reference is unique"
    assert count_of(workload, entity(workload, "Alarm")) == 5_000_000, "each belongs to a device"


@pytest.mark.parametrize(("keeps", "share"), [("", 0.1), (" (keeps 1%)", 0.01)])
def test_a_range_finds_the_part_that_the_document_gives(keeps: str, share: float) -> None:
    workload = sensors(asked=f"at between{keeps}")
    assert share_within(workload, entity(workload, "Sample"), workload.reads[0].inputs[1]) == share


@pytest.mark.parametrize(
    ("asked", "devices", "key"),
    [
        ("at between", 100, "DEVICE#{deviceId}#{at:month}"),  # 31 GB for a device in a year
        ("at between", 1, "DEVICE#{deviceId}#{at:day}"),
        ("at between", 5_000_000, "DEVICE#{deviceId}"),
        ("at <=", 100, "DEVICE#{deviceId}"),  # no start: which months there are is not known
    ],
)
def test_a_collection_that_outgrows_its_partition_is_split_by_time(asked: str, devices: int, key: str) -> None:
    text = SENSORS.format(ttl="", retention="", asked=asked).replace("5M total", f"{devices} total")
    workload = read_text(text, "md").workload
    item = solve(workload).design.item("Sample")
    assert item is not None
    assert item.facets[0].pk == (key,)


def test_values_are_counted_where_they_come_from() -> None:
    workload = helpdesk()
    assert values_of(workload, entity(workload, "Comment"), "tenantId") == 2_000
    assert values_of(workload, entity(workload, "Reaction"), "tenantId") == 2_000
    assert values_of(workload, entity(workload, "Reaction"), "ticketId") == 40_000_000


def test_a_foreign_key_is_all_of_the_others_id() -> None:
    workload = helpdesk()
    ticket, comment, agent = (entity(workload, name) for name in ("Ticket", "Comment", "Agent"))
    assert foreign_key(workload, comment, ticket) == {"tenantId", "ticketId"}
    assert foreign_key(workload, ticket, agent) == {"tenantId", "assigneeId"}
    assert foreign_key(workload, ticket, agent, {"assigneeId"}) is None
    assert foreign_key(workload, comment, agent) is None, "it has the tenant's id and no agent's"


def test_a_tenant_that_is_an_attribute_only_is_part_of_the_foreign_key() -> None:
    """There need not be an entity Tenant."""
    text = HELPDESK.replace(" (ulid, id, → Tenant)", " (ulid, id)").replace(
        " (ulid, id, → Ticket.tenantId)", " (ulid, id)"
    )
    workload = read_text(text, "md").workload
    assert count_by(workload, entity(workload, "Comment"), ["tenantId", "ticketId"]) == 80


@pytest.mark.slow
def test_the_checks_count_by_the_whole_id_too() -> None:
    workload = helpdesk()
    said = [*check(workload), *check_design(solve(workload).design, workload)]
    assert {d.code for d in said} & {"PJ314", "PJ541"} == set()
    longer = replace(workload, entities=tuple(replace(e, size=20_000) for e in workload.entities))
    assert "PJ530" in {d.code for d in check_design(solve(longer).design, longer)}, "80 of 20 KB are more than a page"


def assert_tenant_changes_no_price(workload: Workload) -> None:
    """One tenant in front of every key changes no price: what is read, written and stored is the same."""
    joins = [read.id for read in workload.reads if read.combine is Combine.JOIN]  # these follow ids of one part only
    before = replace(
        workload,
        entities=tuple(replace(e, size=size_of(e)) for e in workload.entities),
        reads=tuple(read for read in workload.reads if read.id not in joins),
    )
    solved = solve(before).design
    plain = map_patterns(
        replace(solved, slots=tuple(replace(s, projection=Projection()) for s in solved.slots)), before
    )
    for tenant in (with_tenant(before), with_line(before)):
        _assert_same_price(before, plain, tenant)


def _assert_same_price(before: Workload, plain: Design, tenant: Workload) -> None:
    tenanted = keyed_by_tenant(plain, tenant)
    ours, theirs = bill(before, plain), bill(tenant, tenanted)
    assert {o.pattern: o.problem for o in tenanted.operations if not o.served} == {
        o.pattern: o.problem for o in plain.operations if not o.served
    }
    # A write that does not give the id of its item finds it by the tenant, once there is one.
    unclear = {o.pattern for o in plain.operations if o.assumes}
    units, with_it = ({p.pattern: p.units for p in b.patterns if p.pattern not in unclear} for b in (ours, theirs))
    assert with_it == units
    assert theirs.kept == ours.kept


@pytest.mark.everyday(4)
@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda p: p.parent.name)
def test_a_tenant_changes_no_price_of_a_document(path: Path) -> None:
    assert_tenant_changes_no_price(read_file(path).workload)


@given(workloads())
@settings(max_examples=examples(25))
def test_a_tenant_changes_no_price_of_any_workload(workload: Workload) -> None:
    assert_tenant_changes_no_price(workload)


def assert_as_good_with_a_tenant(workload: Workload) -> None:
    """The workload with one tenant in every id, solved anew: as much is served, with as many structures, for as much.

    Joins, projections and writes that find their items first are part of it.
    """
    before = replace(workload, decisions=(), entities=tuple(replace(e, size=size_of(e)) for e in workload.entities))
    ours = objective(before, solve(before).design)
    for after in (with_tenant(before), with_line(before)):
        _assert_as_good(before, ours, after)


def _assert_as_good(before: Workload, ours: Objective, after: Workload) -> None:
    theirs = objective(after, solve(after).design)
    # There may be fewer: all items of a tenant have a partition by nature, all items do not.
    # A write that names two items of an entity by one part of their ids assumes the other part, which is the tenant.
    assert (theirs.unserved, theirs.complexity) <= (ours.unserved, ours.complexity)
    # The tenant is in the keys of the table and of an index, beside items that keep their size.
    longer = 2 * (len(f"{OWNER}#") + max(value_sizes(entity(after, OWNER)).values()) + 1)
    share = Decimal(longer) / min(size_of(e) for e in before.entities)
    if theirs.complexity == ours.complexity:
        assert ours.dollars * (1 - share) <= theirs.dollars <= ours.dollars * (1 + share)


@pytest.mark.slow
@pytest.mark.parametrize("path", DOCUMENTS[::3], ids=lambda p: p.parent.name)
def test_a_document_solved_with_a_tenant_is_as_good(path: Path) -> None:
    assert_as_good_with_a_tenant(read_file(path).workload)


@pytest.mark.slow
@given(st.integers(2, 5_000))
@settings(max_examples=5)
def test_the_number_of_tenants_does_not_change_what_one_ticket_has(tenants: int) -> None:
    workload = helpdesk()
    fewer = tuple(
        replace(e, cardinality=(replace(e.cardinality[0], count=tenants),)) if e.name == "Tenant" else e
        for e in workload.entities
    )
    found = bill(replace(workload, entities=fewer), solve(replace(workload, entities=fewer)).design)
    assert [one.units for one in found.patterns] == [
        one.units for one in bill(workload, solve(workload).design).patterns
    ]
