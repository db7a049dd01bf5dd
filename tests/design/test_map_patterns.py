"""Patterns mapped to operations: what the planner says is what is shown, and what no key serves is never skipped."""

from __future__ import annotations

import pytest
from msgspec.structs import replace
from tests.design.texts import changes_of, conditions_of, filters_of, sort_text
from tests.pipeline.conftest import EXAMPLES
from tests.shop import DESIGN, FOLDER, shop_design, shop_workload
from tests.solutions import solve

from prejoin.design.files import read_design, write_design
from prejoin.design.mapping.map_patterns import map_patterns
from prejoin.design.mapping.map_reads import ask_of
from prejoin.design.model import Call, Design, Did, Facet, Item, KeyAttribute, Operation, Slot, Units
from prejoin.engine import Embedded
from prejoin.proof.prove import prove
from prejoin.workload.files import read_file, read_text
from prejoin.workload.model import Workload


@pytest.fixture
def workload() -> Workload:
    return shop_workload()


@pytest.fixture
def design() -> Design:
    return shop_design()


def operation(design: Design, id_: str) -> Operation:
    found = design.operation(id_)
    assert found is not None
    return found


def test_every_pattern_has_an_operation(design: Design, workload: Workload) -> None:
    assert [o.pattern for o in design.operations] == [p.id for p in workload.patterns]
    assert all(o.served for o in design.operations)


def test_a_read_by_id_is_a_get_and_a_read_of_a_collection_one_query(design: Design) -> None:
    (get,) = operation(design, "AP-001").requests
    assert (get.call, get.slot, get.pk, sort_text(get)) == (Call.GET, "table", "USER#{userId}", "= PROFILE")
    (query,) = operation(design, "AP-007").requests
    assert (query.call, query.entities, sort_text(query)) == (Call.QUERY, ("Order", "OrderItem"), "")


def test_newest_first_reads_the_key_in_reverse_and_a_range_is_in_the_key(design: Design) -> None:
    (newest,) = operation(design, "AP-004").requests
    assert (newest.slot, sort_text(newest), newest.reverse, newest.limit) == ("gsi1", "begins_with ORDER#", True, 20)
    (period,) = operation(design, "AP-005").requests
    assert sort_text(period) == "between ORDER#{placedAt from} and ORDER#{placedAt to}$"


def test_the_last_week_over_all_users_is_a_query_a_day(design: Design) -> None:
    (week,) = operation(design, "AP-009").requests
    assert (week.slot, week.bucket, week.pk) == ("gsi4", "day", "ORDERS#{placedAt:day}")


def test_a_unique_attribute_is_a_guard_in_the_same_transaction(design: Design) -> None:
    (request,) = operation(design, "AP-020").requests
    assert request.call is Call.TRANSACT_WRITE
    assert [(a.action, str(a.item), conditions_of(a)) for a in request.actions] == [
        (Did.PUT, "User", ["attribute_not_exists(pk)"]),
        (Did.PUT, "User!email", ["attribute_not_exists(pk)"]),
    ]


def test_an_update_rewrites_the_index_keys_that_it_changes(design: Design) -> None:
    (request,) = operation(design, "AP-023").requests
    changes = changes_of(request.actions[0])
    assert "SET gsi3pk = STATUS#{status}" in changes
    assert not any("gsi1" in change or "gsi4" in change for change in changes)


def test_a_condition_stands_on_the_item_that_it_is_about(design: Design) -> None:
    (request,) = operation(design, "AP-022").requests
    product = next(a for a in request.actions if str(a.item) == "Product")
    assert conditions_of(product) == ["attribute_exists(pk)", "stock >= {quantity}"]


def test_a_pattern_that_no_key_serves_says_which_key_would(design: Design, workload: Workload) -> None:
    reads = list(workload.reads)
    by_total = replace(reads[3], sort=(replace(reads[3].sort[0], attribute="total"),))
    mapped = map_patterns(design, replace(workload, reads=(by_total,)))
    found = operation(mapped, "AP-004")
    assert not found.served
    assert "total" in found.remedy


def test_no_pattern_is_served_without_a_key_of_each_of_its_entities() -> None:
    """Also of those that a write only checks: without a key its condition would not be sent."""
    workload = read_file(EXAMPLES / "teams" / "access-patterns.md").workload
    design = solve(workload).design
    for entity in workload.entities:
        without = replace(design, items=tuple(item for item in design.items if item.entity != entity.name))
        for operation_without in map_patterns(without, workload).operations:
            whole = operation(design, operation_without.pattern)
            names = {action.item.entity for request in whole.requests for action in request.actions}
            if entity.name in names:
                assert not operation_without.served, (entity.name, operation_without.pattern)


SOCIAL = """\
# Social

## Entities

### User

- **Attributes**:
  - `username` (string, natural)
  - `motto` (string, mutable)
  - `age` (integer, mutable)

### Follow

- **Attributes**:
  - `followed` (string, natural, → User)
  - `follower` (string, natural, → User)
  - `since` (datetime, immutable)
- **Cardinality**: ~100 per User

## Access Patterns

### Reads

| ID | Entity | Description | Input Parameters | Result | Sort | Paginated | Frequency | Consistency | Multi-Entity |
| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |
| AP-001 | Follow, User | Followers | followed | Collection (since, motto) | - | Yes (20) | Hot | Eventual | Join |
| AP-002 | User | Some users | username[] | Collection | - | No | Hot | Eventual | No |
| AP-003 | User | One, in a transaction | username | Single | - | No | Hot | Transactional | No |
| AP-004 | Follow | All, in a transaction | followed | Collection | - | No | Hot | Transactional | No |
| AP-005 | User | One, if of age | username, filter age >= 18 | Single | - | No | Hot | Eventual | No |
| AP-006 | User | One, if of this age | username, age | Single | - | No | Hot | Eventual | No |
"""


def social() -> Design:
    workload = read_text(SOCIAL, "md").workload
    slots = (Slot("table", (KeyAttribute("pk"),), (KeyAttribute("sk"),)),)
    user = Item("User", "User", (Facet("table", ("USER#{username}",), ("PROFILE",)),))
    follow = Item("Follow", "Follow", (Facet("table", ("USER#{followed}",), ("FOLLOWER#{follower}",)),))
    return map_patterns(Design("social", slots, (user, follow)), workload)


def test_a_join_is_a_second_request_by_what_the_first_one_found() -> None:
    first, second = operation(social(), "AP-001").requests
    assert (first.call, first.pk, sort_text(first)) == (Call.QUERY, "USER#{followed}", "begins_with FOLLOWER#")
    assert (second.call, second.pk, sort_text(second)) == (Call.BATCH_GET, "USER#{follower}", "= PROFILE")
    assert (second.each, second.entities, second.attributes) == ("follower", ("User",), ("motto", "username"))
    assert operation(social(), "AP-001").units == Units(read=0.5 + 20 * 0.5)


def test_a_list_of_ids_is_a_batch_and_a_transaction_reads_items_by_key() -> None:
    (many,) = operation(social(), "AP-002").requests
    assert (many.call, many.each) == (Call.BATCH_GET, "username")
    (one,) = operation(social(), "AP-003").requests
    assert one.call is Call.TRANSACT_GET
    assert operation(social(), "AP-003").units == Units(read=2)
    assert "by their keys" in operation(social(), "AP-004").problem


def test_inputs_beside_the_whole_key_are_compared_with_the_item() -> None:
    (filtered,) = operation(social(), "AP-005").requests
    assert filters_of(filtered) == ["age >= 18"]
    (compared,) = operation(social(), "AP-006").requests
    assert (compared.call, filters_of(compared)) == (Call.GET, ["age = {age}"])
    assert operation(social(), "AP-006").units == Units(read=0.5)


def test_every_operation_says_what_it_uses(design: Design) -> None:
    assert all(o.units and (o.units.read > 0) != (o.units.write > 0) for o in design.operations[:11])
    assert operation(design, "AP-020").units == Units(write=2 * 2 + 2), (
        "a user and a guard, and the user in two indexes"
    )


def test_a_pattern_out_of_scope_is_not_mapped(design: Design, workload: Workload) -> None:
    text = (FOLDER / "access-patterns.md").read_text() + "\n## Decisions\n\n- AP-009 is out of scope\n"
    mapped = map_patterns(design, read_text(text, "md").workload)
    assert mapped.operation("AP-009") is None


@pytest.mark.parametrize("form", ["yaml", "json"])
def test_a_design_is_written_and_read_back(design: Design, workload: Workload, form: str) -> None:
    assert read_design(write_design(design, form), workload, form) == (design, ())  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("old", "new", "part"),
    [
        ("entity: Address", "entity: Adress", "there is no entity `Adress`"),
        ("{label}", "{lable}", "lable"),
        ("slot: gsi4", "slot: gsi9", "there is no slot `gsi9`"),
        ("  - entity: Product\n", "  - entity: User\n", "the entity `Product` has no item"),
        ("name: table", "name: tabel", "the first slot is not the table"),
        ("table: shop", "tabel: shop", "unknown field `tabel`"),
        ("table: shop", "table: [", "this is not a design"),
    ],
)
def test_a_file_that_is_no_design_for_the_workload_says_why(workload: Workload, old: str, new: str, part: str) -> None:
    text = DESIGN.read_text()
    assert old in text
    found, problems = read_design(text.replace(old, new), workload)
    assert found is None
    assert part in " ".join(p.message for p in problems)


TALK = """
# Talk

## Entities

### Room

- **Attributes**:
  - `roomId` (string, natural)
  - `mood` (string, mutable)

### Message

- **Attributes**:
  - `roomId` (string, id, natural, → Room)
  - `messageId` (string, id, generated)
  - `at` (datetime, immutable)
  - `rank` (integer, mutable)
  - `mood` (string, mutable)

## Access Patterns

### Reads

| ID | Entity | Description | Input Parameters | Result | Sort | Multi-Entity |
| --- | --- | --- | --- | --- | --- | --- |
"""


def talk(row: str) -> tuple[Workload, Operation]:
    latest = "| AP-002 | Message | latest | roomId | Collection | at DESC | No |"
    workload = read_text(f"{TALK}| AP-001 | {row} |\n{latest}\n", "md").workload
    return workload, operation(solve(workload).design, "AP-001")


def test_count_needs_no_order() -> None:
    workload, found = talk("Message | how many | roomId | Count | rank DESC | No")
    assert found.served
    assert ask_of(workload.reads[0], workload).order == ()
    with Embedded() as engine:
        proof = prove(workload, solve(workload).design, engine)
    assert proof.right


@pytest.mark.parametrize("inputs", ["roomId, filter mood", "roomId, mood <>", "roomId, rank? >="])
def test_a_read_of_several_kinds_of_items_may_have_a_filter(inputs: str) -> None:
    workload, found = talk(f"Room, Message | of a mood | {inputs} | Collection | - | Yes")
    assert found.served
    assert len(found.requests[0].filters) == 1
    with Embedded() as engine:
        assert prove(workload, solve(workload).design, engine).right


TICKETS = """# Tickets

## Entities

### Agent

- **Attributes**:
  - `tenantId` (ulid, natural)
  - `agentId` (ulid, {agent})

### Ticket

- **Attributes**:
  - `ticketId` (ulid, generated)
  - `status` (OPEN | DONE, immutable)
  - `assigneeId` (ulid, immutable, → Agent.agentId)
{tenant}
## Access Patterns

### Reads

| ID | Entity | Input Parameters | Result | Sort | Paginated | Frequency | Multi-Entity |
| --- | --- | --- | --- | --- | --- | --- | --- |
| AP-001 | Ticket, Agent | status | Collection | - | Yes (20) | 5/s | Join |
{more}"""
BY_AGENT = "| AP-002 | Agent | agentId | Single | - | No | 5/s | No |\n"


def tickets(agent: str = "generated", tenant: str = "", more: str = "") -> Operation:
    workload = read_text(TICKETS.format(agent=agent, tenant=tenant, more=more), "md").workload
    found = solve(workload).design.operation("AP-001")
    assert found is not None
    return found


def test_a_join_follows_all_parts_of_a_composite_id() -> None:
    for line in ("  - `tenantId` (ulid, immutable)\n", "  - `owner` (ulid, immutable, → Agent.tenantId)\n"):
        held = line.split("`")[1]
        second = tickets(tenant=line).requests[1]
        assert (second.call, second.pk, second.each) == (
            Call.BATCH_GET,
            f"TENANT#{{{held}}}#AGENT#{{assigneeId}}",
            "assigneeId",
        )


def test_a_join_that_holds_a_part_of_an_id_says_what_is_missing() -> None:
    for found in (tickets(), tickets(agent="id", more=BY_AGENT)):
        assert found.problem == "`assigneeId` of Ticket is not the whole id of Agent"
        assert found.remedy == "give Ticket the rest of it: an attribute with `→ Agent.tenantId`"
    assert [r.call for r in tickets(more=BY_AGENT).requests] == [Call.QUERY, Call.QUERY], (
        "it is generated: no other has it"
    )
