"""Schemas of designs: keys of several attributes, attributes as keys, tables without a sort key, copies."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
from msgspec.structs import replace
from tests.proof.facets import design_facets, schema_facets

from prejoin.design.mapping.map_patterns import map_patterns
from prejoin.design.model import Design, Facet, Item, KeyAttribute, Projection, ProjectionKind, Slot, When
from prejoin.engine import Embedded
from prejoin.keys import TemplateError
from prejoin.proof.package import load_package
from prejoin.proof.prove import prove, prove_patterns
from prejoin.proof.sample_table import SampleTable
from prejoin.render.python.names import names_of
from prejoin.render.python.schema import schema_module
from prejoin.table.admin.table_request import create_table
from prejoin.workload.files import read_text
from prejoin.workload.model import Workload

NOW = datetime(2026, 11, 15, 12, tzinfo=UTC)
DOCUMENT = """
# Tasks

## Entities

### Task

- **Attributes**:
  - `taskId` (string, id, generated)
  - `team` (string, immutable)
  - `state` (OPEN | DONE, mutable)
  - `rank` (integer, mutable)
  - `dueAt` (datetime, mutable, optional)
  - `text` (string, mutable)

## Access Patterns

### Reads

| ID | Entity | Description | Input Parameters | Result | Sort |
| --- | --- | --- | --- | --- | --- |
| AP-001 | Task | one | taskId | Single | |
| AP-002 | Task | of a team | team, state | Collection | rank ASC |
| AP-003 | Task | important ones | team, state, rank >= | Collection | rank ASC |
| AP-004 | Task | one, if it is of the team | taskId, team | Single | |

### Writes

| ID | Entity | Description | Input Parameters | Items Written |
| --- | --- | --- | --- | --- |
| AP-020 | Task | make | team | create Task |
| AP-021 | Task | do | taskId, state | update Task (state) |
| AP-022 | Task | rank | taskId, rank | update Task (rank) |
"""
PK, SK = (KeyAttribute("pk"),), (KeyAttribute("sk"),)
FLAT = Slot("table", (KeyAttribute("taskId"),))
SEVERAL = Slot(
    "by-team", (KeyAttribute("team"), KeyAttribute("state")), (KeyAttribute("rank", "N"), KeyAttribute("taskId"))
)
NATURAL = Facet("by-team", ("{team}", "{state}"), ("{rank}", "{taskId}"))


@pytest.fixture
def workload() -> Workload:
    return read_text(DOCUMENT, "md").workload


def proven(workload: Workload, design: Design) -> list[tuple[str, str]]:
    """The patterns that are not proven."""
    with Embedded() as engine:
        answers = list(prove_patterns(SampleTable.create(workload, map_patterns(design, workload), engine, NOW)))
    assert [a.pattern for a in answers] == [p.id for p in workload.patterns]
    return [(a.pattern, a.wrong or a.problem) for a in answers if not a.right]


def agrees(workload: Workload, design: Design) -> None:
    """Asserts that the schema has the facets of the design."""
    assert schema_facets(workload, design) == design_facets(workload, design)


def test_attributes_can_be_keys_of_the_table_and_an_index(workload: Workload) -> None:
    design = Design("tasks", (FLAT, SEVERAL), (Item("Task", "Task", (Facet("table", ("{taskId}",)), NATURAL)),))
    table = create_table(load_package(workload, design).schema, "tasks")
    assert table["KeySchema"] == [{"AttributeName": "taskId", "KeyType": "HASH"}]
    (index,) = table["GlobalSecondaryIndexes"]
    assert [one["AttributeName"] for one in index["KeySchema"]] == ["team", "state", "rank", "taskId"]
    assert {"AttributeName": "rank", "AttributeType": "N"} in table["AttributeDefinitions"]
    assert proven(workload, design) == []
    agrees(workload, design)


LOCAL = (
    Slot("table", PK, SK),
    Slot("by-rank", PK, (KeyAttribute("rank", "N"),), local=True),
    Slot("lsi2", PK, (KeyAttribute("lsi2sk"),), local=True),
)


TEAMS = """
# Tasks

## Entities

### Task

- **Attributes**:
  - `team` (string, id, natural)
  - `taskId` (string, id, generated)
  - `state` (OPEN | DONE, mutable)
  - `rank` (integer, mutable)

## Access Patterns

### Reads

| ID | Entity | Description | Input Parameters | Result | Sort | Consistency |
| --- | --- | --- | --- | --- | --- | --- |
| AP-001 | Task | one | team, taskId | Single | | |
| AP-002 | Task | of a team | team | Collection | rank ASC | Strong |
| AP-003 | Task | important ones | team, rank >= | Collection | rank DESC | |
| AP-004 | Task | in a state | team, state | Collection | rank ASC | |

### Writes

| ID | Entity | Description | Input Parameters | Items Written |
| --- | --- | --- | --- | --- |
| AP-020 | Task | make | team, taskId | create Task |
| AP-021 | Task | rank | team, taskId, rank | update Task (rank) |
| AP-022 | Task | remove | team, taskId | delete Task |
"""


@pytest.mark.parametrize("said", [True, False])
def test_local_indexes_have_the_partitions_of_the_table_in_another_order(said: bool) -> None:
    workload = read_text(TEAMS, "md").workload
    pk = ("TEAM#{team}",)
    facets = (Facet("table", pk, ("TASK#{taskId}",)), Facet("lsi2", pk, ("{state}#{rank}#{taskId}",)))
    facets += (Facet("by-rank", pk, ("{rank}",)),) if said else ()
    design = Design("tasks", LOCAL, (Item("Task", "Task", facets),))
    table = create_table(load_package(workload, design).schema, "tasks")
    assert [one["IndexName"] for one in table["LocalSecondaryIndexes"]] == ["by-rank", "lsi2"]
    assert "GlobalSecondaryIndexes" not in table
    assert proven(workload, design) == []
    agrees(workload, design)
    written = "\n".join(schema_module(workload, design, names_of(workload)))
    assert 'Index("by-rank", sk="rank", local=True), Index("lsi2", local=True)' in written


@pytest.mark.slow
def test_data_that_is_hard_on_keys_has_no_empty_ones(workload: Workload) -> None:
    by_text = Slot("by-text", (KeyAttribute("text"),), (KeyAttribute("taskId"),))
    facets = (Facet("table", ("{taskId}",)), NATURAL, Facet("by-text", ("{text}",), ("{taskId}",)))
    design = map_patterns(Design("tasks", (FLAT, SEVERAL, by_text), (Item("Task", "Task", facets),)), workload)
    for seed in range(4):
        with Embedded() as engine:
            proof = prove(workload, design, engine, now=NOW, seed=seed)
        assert proof.findings == ()
        assert [(a.pattern, a.wrong, a.problem) for a in proof.failed] == []


def test_minimal_design_agrees_with_its_schema(workload: Workload) -> None:
    design = Design("tasks", (FLAT, SEVERAL), (Item("Task", "Task", (Facet("table", ("{taskId}",)),)),))
    assert proven(workload, design) == []
    agrees(workload, design)


def test_copies_are_in_indexes(workload: Workload) -> None:
    slots = (Slot("table", PK, SK), Slot("gsi1", (KeyAttribute("g1p"),), (KeyAttribute("g1s"),)))
    own = Item("Task", "Task", (Facet("table", ("TASK#{taskId}",), ("TASK",)),))
    listed = Facet("gsi1", ("TEAM#{team}#OPEN",), ("{rank}#{taskId}",), (When("state", ("OPEN",)),))
    done = Facet("gsi1", ("TEAM#{team}#DONE",), ("{rank}#{taskId}",), (When("state", ("DONE",)),))
    copies = [
        Item("Task", f"Task.{name}", (Facet("table", (f"{name.upper()}#{{taskId}}",), (name,)), facet), name)
        for name, facet in (("open", listed), ("done", done))
    ]
    design = Design("tasks", slots, (own, *copies))
    agrees(workload, design)
    assert proven(asked_by_constants(), design) == []


def asked_by_constants() -> Workload:
    text = DOCUMENT.replace("team, state |", "team, state = OPEN |").replace(
        "team, state, rank", "team, state = DONE, rank"
    )
    assert text != DOCUMENT
    return read_text(text, "md").workload


def test_narrow_index_and_copy_match_the_client(workload: Workload) -> None:
    keys_only = Projection(ProjectionKind.KEYS_ONLY)
    slots = (
        Slot("table", PK, SK),
        Slot("gsi1", (KeyAttribute("g1p"),), (KeyAttribute("g1s"),), keys_only),
        Slot("gsi2", (KeyAttribute("team"),), (), Projection(ProjectionKind.INCLUDE, ("text",))),
    )
    items: tuple[Any, ...] = (
        Item("Task", "Task", (Facet("table", ("TASK#{taskId}",), ("TASK",)), Facet("gsi1", ("ALL",), ("{dueAt}",)))),
        Item(
            "Task",
            "Task.slim",
            (Facet("table", ("SLIM#{taskId}",), ("S",)), Facet("gsi1", ("TEAM#{team}",), ("{dueAt?}#{rank}",))),
            "slim",
            ("text",),
        ),
    )
    agrees(workload, Design("tasks", slots, items))


def test_a_key_of_several_attributes_that_are_made_is_refused(workload: Workload) -> None:
    made = replace(NATURAL, pk=("TEAM#{team}", "{state}"))
    design = Design("tasks", (FLAT, SEVERAL), (Item("Task", "Task", (Facet("table", ("{taskId}",)), made)),))
    with pytest.raises(TemplateError, match="made of attributes as they stand"):
        load_package(workload, design)
