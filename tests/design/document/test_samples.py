"""Sample items are what the client stores: written for real, and compared key by key."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.design.document.test_laws import DOCUMENTS, solved
from tests.solutions import solve

from prejoin import Client, LargeValue
from prejoin.design.document.samples import sample_item, sample_values, varying
from prejoin.design.model import Design, Facet, Item, KeyAttribute, Slot, When
from prejoin.engine import Embedded
from prejoin.proof.package import load_package
from prejoin.types import STRING, Kind, Type
from prejoin.workload.contents import contents_of
from prejoin.workload.files import read_text
from prejoin.workload.model import Attribute, Entity, Workload
from prejoin.workload.samples import SampleContent, _text, state_attributes


def stored(design: Design, workload: Workload, entity: str, whens: list[When]) -> dict[str, dict[str, Any]]:
    """What is in the table after a sample was written, by its type: names and DynamoDB's own values."""
    described = workload.entity(entity)
    assert described is not None
    built = load_package(workload, design)
    values = {
        name: LargeValue.of(value) if isinstance(value, SampleContent) else value
        for name, value in sample_values(workload, described, design, when=whens).items()
    }
    with Embedded() as engine:
        client = Client(built.schema, design.table, engine)
        client.create_table()
        client.insert(built.classes[entity](**{built.fields[entity][n]: v for n, v in values.items()}))
        answer = json.loads(engine.send("Scan", json.dumps({"TableName": design.table}).encode()))
    return {item.get(design.type_attribute, {"S": ""})["S"]: item for item in answer["Items"]}


def plain(value: dict[str, Any]) -> object:
    ((kind, inside),) = value.items()
    if kind == "N":
        return float(inside)
    if kind in {"NS"}:
        return [float(one) for one in inside]
    if kind == "L":
        return [plain(one) for one in inside]
    return {n: plain(v) for n, v in inside.items()} if kind == "M" else inside


@pytest.mark.everyday(4)
@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda p: p.parent.name)
def test_a_sample_item_is_what_the_client_stores(path: Any) -> None:
    workload, design = solved(path)
    for item in design.items:
        whens = list({w.attribute: w for f in reversed(item.facets) for w in f.when}.values())
        sample = sample_item(design, workload, item)
        real = stored(design, workload, item.entity, whens)[item.tag]
        found = {name: plain(value) for name, value in real.items()}
        for content in contents_of(workload.entity(item.entity) or Entity("")):  # a sample has what tells something
            shown = sample.get(content.name, {})
            assert isinstance(shown, dict)
            assert shown.items() <= found[content.name].items()  # type: ignore[attr-defined]
            found[content.name] = shown
        assert found == sample


# --- Samples are such as the document says ----------------------------------------------------------------------------

EXAMPLES = Path(__file__).parents[3] / "examples"


def of(name: str, entity: str) -> tuple[Workload, Entity, Design]:
    workload, design = solved(EXAMPLES / name / "access-patterns.md")
    found = workload.entity(entity)
    assert found is not None
    return workload, found, design


@pytest.mark.parametrize("name", ["blog", "social"])
def test_attribute_of_a_state_is_absent_before_it(name: str) -> None:
    workload, post, design = of(name, "Post")
    assert sample_values(workload, post, design)["status"] == "PUBLISHED"
    assert "publishedAt" in sample_values(workload, post, design)
    for draft in (
        sample_values(workload, post, design, ["status"]),
        sample_values(workload, post, design, ["status", "publishedAt", "postId"]),
        sample_values(workload, post, design, when=[When("status", ("DRAFT",))]),
    ):
        assert draft["status"] == "DRAFT"
        assert "publishedAt" not in draft


def test_attribute_without_a_state_is_always_present() -> None:
    workload, post, _ = of("blog", "Post")
    (found,) = state_attributes(workload, post)
    assert (found.attribute, found.state, found.then, found.before) == (
        "publishedAt", "status", ("PUBLISHED",), frozenset({"DRAFT"})
    )  # fmt: skip
    text = (EXAMPLES / "blog" / "access-patterns.md").read_text("utf-8")
    for old, new in (
        ("userId, postId, title, content | create Post", "userId, postId, title, content, publishedAt | create Post"),
        ("update Post (status = PUBLISHED, publishedAt)", "update Post (publishedAt)"),
        ("postId, publishedAt | update Post (status = PUBLISHED", "postId, publishedAt, status | update Post (status"),
        ("`publishedAt` (datetime, optional", "`publishedAt` (datetime"),
    ):
        assert old in text
        other = read_text(text.replace(old, new), "md").workload
        entity = other.entity("Post")
        assert entity is not None
        assert list(state_attributes(other, entity)) == []


def test_state_that_can_be_left_and_entered_again_is_ignored() -> None:
    text = (EXAMPLES / "blog" / "access-patterns.md").read_text("utf-8")
    row = "| AP-024 | Comment, Post |"
    back = "| AP-026 | Post | Take it back | postId | update Post (status = DRAFT) | No | - | Cold |\n"
    workload = read_text(text.replace(row, back + row), "md").workload
    entity = workload.entity("Post")
    assert entity is not None
    assert [one.before for one in state_attributes(workload, entity)] == [frozenset()]


@pytest.mark.parametrize("others", [[], ["follower"], ["followed"], ["follower", "followed"]])
def test_roles_of_one_entity_are_two_items(others: list[str]) -> None:
    workload, follow, design = of("social", "Follow")
    first = sample_values(workload, follow, design)
    values = sample_values(workload, follow, design, others)
    assert values["follower"] != values["followed"]
    assert {name for name in ("follower", "followed") if values[name] != first[name]} == set(others)


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.parent.name)
def test_two_samples_have_no_unique_value_in_common(path: Path) -> None:
    workload, design = solved(path)
    for item in design.items:
        entity = workload.entity(item.entity)
        assert entity is not None
        groups = [(a.name,) for a in entity.attributes if a.unique] + [tuple(a.name for a in entity.id), *entity.unique]
        for facet in item.facets:
            if second := varying(entity, facet):
                one, other = (sample_values(workload, entity, design, names, facet.when) for names in ((), second))
                for group in filter(None, groups):
                    assert [one.get(n) for n in group] != [other.get(n) for n in group], (
                        item.entity,
                        facet.slot,
                        group,
                    )


def test_unique_values_differ_between_samples() -> None:
    assert len({_text("email", number) for number in range(1, 11)}) == 10


REMINDERS = """
# Reminders

## Entities

### Reminder

- **Attributes**:
  - `reminderId` (string, natural)
  - `endsAt` (datetime)
  - `startsAt` (datetime)
  - `state` (SENDING | WAITING | DONE, mutable)
  - `sent` (boolean, mutable)
  - `sentAt` (datetime, optional, mutable)

## Access Patterns

### Reads

| ID | Entity | Description | Input Parameters | Result |
| --- | --- | --- | --- | --- |
| AP-001 | Reminder | A reminder | reminderId | Single |

### Writes

| ID | Entity | Description | Input Parameters | Items Written | Conditions |
| --- | --- | --- | --- | --- | --- |
| AP-020 | Reminder | Plan | reminderId, endsAt, startsAt, sent | create Reminder (state = WAITING) | - |
| AP-021 | Reminder | Send | reminderId, sentAt | update Reminder (sent = true, sentAt) | - |
"""


def reminder(second: list[str], when: list[When]) -> dict[str, object]:
    workload = read_text(REMINDERS, "md").workload
    entity = workload.entity("Reminder")
    assert entity is not None
    return sample_values(workload, entity, solve(workload).design, second, when)


def test_an_unsent_reminder_has_no_time_at_which_it_was_sent() -> None:
    sent = reminder([], [])
    assert sent["sent"] is True
    assert "sentAt" in sent
    for unsent in (reminder(["sent"], []), reminder([], [When("sent", ("false",))])):
        assert unsent["sent"] is False
        assert "sentAt" not in unsent


STATES = Path(__file__).parents[2] / "render" / "python" / "documents" / "states.md"
LATER = {
    "nothing else": "",
    "in its state": "| AP-027 | Reminder | Correct | reminderId, sentAt | update Reminder (sentAt) | No | state = SENT | 1/s |",
    "in any state": "| AP-027 | Reminder | Correct | reminderId, sentAt | update Reminder (sentAt) | No | - | 1/s |",
}


@pytest.mark.parametrize("later", LATER)
def test_a_reminder_that_is_created_unsent_has_no_time_at_which_it_was_sent(later: str) -> None:
    """Its object is given whole but for its state, and sending it requires that it has no time."""
    workload = read_text(f"{STATES.read_text('utf-8')}{LATER[later]}\n", "md").workload
    entity = workload.entity("Reminder")
    assert entity is not None
    for when in ([], [When("state", ("UNSENT",))]):
        values = sample_values(workload, entity, solve(workload).design, when=when)
        assert (values["state"] == "SENT") == ("sentAt" in values) == (not when)


def test_a_time_that_may_be_set_in_any_state_is_always_present() -> None:
    text = f"{STATES.read_text('utf-8')}{LATER['in any state']}\n".replace("sentAt not exists", "-")
    workload = read_text(text, "md").workload
    entity = workload.entity("Reminder")
    assert entity is not None
    assert list(state_attributes(workload, entity)) == []


TICKETS = """
# Tickets

## Entities

### Ticket

- **Attributes**:
  - `ticketId` (string, natural)
  - `status` (OPEN | HELD | SOLD | REFUNDED | CANCELLED, mutable)
  - `holder` (string, optional, mutable)
  - `heldUntil` (datetime, optional, mutable)
  - `soldAt` (datetime, optional, mutable)
  - `refundedAt` (datetime, optional, mutable)
  - `reason` (string, optional, mutable)
  - `note` (string, optional, mutable)

## Access Patterns

### Reads

| ID | Entity | Description | Input Parameters | Result |
| --- | --- | --- | --- | --- |
| AP-001 | Ticket | A ticket | ticketId | Single |

### Writes

| ID | Entity | Description | Input Parameters | Items Written | Conditions |
| --- | --- | --- | --- | --- | --- |
| AP-020 | Ticket | Issue | Ticket | create Ticket | - |
| AP-021 | Ticket | Hold | ticketId, holder, heldUntil | update Ticket (status = HELD, holder, heldUntil) | status = OPEN |
| AP-022 | Ticket | Sell | ticketId | update Ticket (status = SOLD, soldAt = now, remove heldUntil) | status = HELD |
| AP-023 | Ticket | Refund | ticketId | update Ticket (status = REFUNDED, refundedAt = now) | status = SOLD |
| AP-024 | Ticket | Cancel | ticketId, reason | update Ticket (status = CANCELLED, reason) | status in (OPEN, HELD) |
| AP-025 | Ticket | Note | ticketId, note | update Ticket (note) | - |
"""

WHILE = {
    "OPEN": set(),
    "HELD": {"holder", "heldUntil"},
    "SOLD": {"holder", "soldAt"},
    "REFUNDED": {"holder", "soldAt", "refundedAt"},
    "CANCELLED": {"holder", "heldUntil", "reason"},
}


@pytest.mark.parametrize("status", WHILE)
def test_a_sample_has_what_it_may_have_in_its_state(status: str) -> None:
    workload = read_text(TICKETS, "md").workload
    ticket = workload.entity("Ticket")
    assert ticket is not None
    values = sample_values(workload, ticket, solve(workload).design, when=[When("status", (status,))])
    assert values.keys() - {"ticketId", "status", "note"} == WHILE[status]


def test_times_are_in_the_order_in_which_they_come() -> None:
    values = reminder([], [])
    assert str(values["startsAt"]) < str(values["sentAt"]) < str(values["endsAt"])


def test_a_sample_has_the_values_with_which_its_entity_is_created() -> None:
    assert reminder([], [])["state"] == "WAITING"
    assert reminder(["state"], [])["state"] == "DONE"


def test_a_sample_of_a_copy_has_what_the_conditions_of_its_indexes_test() -> None:
    entity = Entity(
        "Task",
        attributes=(
            Attribute("taskId", STRING, id=True),
            Attribute("title", STRING),
            Attribute("status", Type(Kind.ENUM, values=("OPEN", "DONE"))),
        ),
    )
    base = Facet("table", ("TASK#{taskId}",), ("TASK",))
    index = Facet("gsi1", ("OPEN",), ("{taskId}",), (When("status", ("OPEN",)),))
    copy = Item("Task", "Task lookup", (Facet("table", ("TITLE#{title}",), ("TASK",)), index), "lookup", ("title",))
    pk, sk = (KeyAttribute("PK"),), (KeyAttribute("SK"),)
    slots = (Slot("table", pk, sk), Slot("gsi1", (KeyAttribute("GSI1PK"),), (KeyAttribute("GSI1SK"),)))
    design = Design("tasks", slots, (Item("Task", "Task", (base,)), copy))
    sample = sample_item(design, Workload(entities=(entity,)), copy)
    assert sample["status"] == "OPEN"
    assert sample.keys() == {"PK", "SK", "GSI1PK", "GSI1SK", "entityType", "taskId", "title", "status"}
