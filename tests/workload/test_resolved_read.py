"""A read with its names resolved: roles of inputs, attributes under other names, joins, and what is returned."""

from __future__ import annotations

import pytest

from prejoin.workload.files import read_text
from prejoin.workload.grammar.inputs import read_inputs
from prejoin.workload.program.resolved_read import ResolvedRead, ReturnKind, Role, resolve_read, role_of

DOCUMENT = """# Tickets

## Entities

### User

- **Attributes**:
  - `id` (string, natural)
  - `name` (string)

### Ticket

- **Attributes**:
  - `ticketId` (string, generated)
  - `userId` (string, → User)
  - `helperId` (string, → User)
  - `status` (OPEN | DONE, mutable)
  - `createdAt` (datetime, immutable)

## Access Patterns

### Reads

| ID | Entity | Input Parameters | Result | Sort | Paginated | Frequency | Multi-Entity |
| --- | --- | --- | --- | --- | --- | --- | --- |
| AP-001 | Ticket | {inputs} | {result} | {sort} | {paginated} | Warm | No |
| AP-002 | User, Ticket | User.id | Collection | Ticket.createdAt DESC | Yes (20) | Warm | Collection |
| AP-003 | Ticket, User | userId | Collection | createdAt | No | Warm | Join |
| AP-004 | Ticket, User | ticketId | Single | - | No | Warm | Join via helperId |

## Decisions

- AP-001 may filter
"""


def resolved(
    id_: str, inputs: str = "userId", result: str = "Collection", sort: str = "-", paginated: str = "No"
) -> ResolvedRead:
    workload = read_text(DOCUMENT.format(inputs=inputs, result=result, sort=sort, paginated=paginated), "md").workload
    read = next(read for read in workload.reads if read.id == id_)
    return resolve_read(workload, read)


@pytest.mark.parametrize(
    ("text", "role"),
    [
        ("userId", Role.EQUAL),
        ("status = OPEN", Role.EQUAL),
        ("userId[]", Role.EQUAL),
        ("userId?", Role.OPTIONAL),
        ("createdAt between", Role.RANGE),
        ("createdAt last 7 days", Role.RANGE),
        ("createdAt? between", Role.FILTER),
        ("status exists", Role.MEMBERSHIP),
        ("status not exists", Role.MEMBERSHIP),
        ("status in (OPEN, DONE)", Role.MEMBERSHIP),
        ("status in", Role.FILTER),
        ("status <> OPEN", Role.FILTER),
        ("name contains", Role.FILTER),
        ("filter userId", Role.FILTER),
        ("filter status exists", Role.FILTER),
        ("filter createdAt >=", Role.FILTER),
    ],
)
def test_role_of_an_input(text: str, role: Role) -> None:
    assert [role_of(one) for one in read_inputs(text)] == [role]


@pytest.mark.parametrize(
    ("inputs", "result", "paginated", "kind"),
    [
        ("userId", "Collection", "Yes (20)", ReturnKind.PAGE),
        ("userId", "Collection", "No", ReturnKind.LIST),
        ("ticketId[]", "Collection", "No", ReturnKind.LIST),
        ("ticketId", "Single", "No", ReturnKind.ONE),
        ("userId", "Count", "-", ReturnKind.COUNT),
    ],
)
def test_what_a_read_of_one_entity_returns(inputs: str, result: str, paginated: str, kind: ReturnKind) -> None:
    assert resolved("AP-001", inputs, result, paginated=paginated).returns is kind


def test_a_collection_names_the_attribute_of_each_entity() -> None:
    read = resolved("AP-002")
    (clause,) = read.clauses
    assert read.returns is ReturnKind.COLLECTION
    assert clause.name == "id"
    assert {entity: attribute.name for entity, attribute in clause.bound.items()} == {"User": "id"}
    assert [(order.entity, order.attribute, order.descending) for order in read.lookup.order] == [
        ("Ticket", "createdAt", True)
    ]


def test_a_join_finds_the_first_entity_and_follows_the_others() -> None:
    read = resolved("AP-003")
    assert read.names == ("Ticket",)
    (join,) = read.joins
    # The reference that is not an input leads to the other entity.
    assert [(link.own.name, link.other.name, link.given) for link in join.links] == [("helperId", "id", False)]
    (named,) = resolved("AP-004").joins
    assert [link.own.name for link in named.key_links] == ["helperId"]


def test_a_count_has_no_order() -> None:
    assert resolved("AP-001", result="Count", sort="createdAt").order == ()


def test_a_decision_lets_every_value_be_a_filter() -> None:
    read = resolved("AP-001", "userId, status = OPEN")
    assert read.accepted == {"filter"}
    assert read.lookup.filtered == {"userId", "status"}
    assert resolved("AP-003").lookup.filtered == frozenset()


def test_a_read_of_the_workload_is_resolved_once() -> None:
    read = resolved("AP-001")
    assert resolve_read(read.workload, read.read) is read
