"""CloudFormation: the template creates the table that the client expects; options are in their places."""

from __future__ import annotations

from pathlib import Path, PurePosixPath
from typing import Any

import pytest
from msgspec.structs import replace

from prejoin import Client
from prejoin.design.mapping.map_patterns import map_patterns
from prejoin.design.model import TABLE, Billing, Design, Facet, Item, KeyAttribute, Projection, ProjectionKind, Slot
from prejoin.engine import Embedded
from prejoin.proof.package import load_package
from prejoin.render.infrastructure.cloudformation import render_cloudformation
from prejoin.render.infrastructure.options import Infrastructure
from prejoin.workload.files import read_text
from prejoin.workload.model import Workload

from .documents import DOCUMENTS, SHOP, designed, named, read_template, resolved
from .options import ALL, KEY

FILE = PurePosixPath("template.yaml")
AFTERWARDS = {"TimeToLiveSpecification", "PointInTimeRecoverySpecification", "StreamSpecification", "TableName"}
"""Properties that CreateTable does not have, CloudFormation sends further requests for them; and streams, which the
embedded engine does not have."""


def template(workload: Workload, design: Design, options: Infrastructure | None = None) -> dict[str, Any]:
    (text,) = render_cloudformation(workload, design, options).values()
    return read_template(text)


def table_of(found: dict[str, Any], name: str) -> dict[str, Any]:
    properties: dict[str, Any] = resolved(found["Resources"]["Table"]["Properties"], name)
    return properties


def drifted(workload: Workload, design: Design, options: Infrastructure | None = None) -> list[str]:
    """The differences between a table from the template and the table that the client expects."""
    properties = table_of(template(workload, design, options), design.table)
    body = {name: value for name, value in properties.items() if name not in AFTERWARDS}
    with Embedded() as engine:
        client = Client(load_package(workload, design).schema, design.table, engine)
        client.call("CreateTable", {"TableName": design.table, **body})
        if ends := properties.get("TimeToLiveSpecification"):
            client.call("UpdateTimeToLive", {"TimeToLiveSpecification": ends})
        return [str(one) for one in client.drift()]


@pytest.mark.parametrize("path", DOCUMENTS, ids=named)
def test_template_creates_the_table_that_the_client_expects(path: Path) -> None:
    workload, design = designed(path)
    assert drifted(workload, design) == []


@pytest.mark.parametrize("options", ALL.values(), ids=ALL)
def test_options_change_nothing_that_the_run_time_sees(options: Infrastructure) -> None:
    workload, design = designed(SHOP)
    assert drifted(workload, design, options) == []


@pytest.mark.parametrize("path", DOCUMENTS, ids=named)
def test_the_same_design_gives_the_same_bytes(path: Path) -> None:
    workload, design = designed(path)
    assert dict(render_cloudformation(workload, design)) == dict(render_cloudformation(workload, design))


TASKS = """
# Tasks

## Entities

### Task

- **Attributes**:
  - `taskId` (string, id, generated)
  - `team` (string, immutable)
  - `state` (OPEN | DONE, mutable)
  - `rank` (integer, mutable)
  - `gone` (integer, ttl, optional)

## Access Patterns

### Reads

| ID | Entity | Description | Input Parameters | Result | Sort |
| --- | --- | --- | --- | --- | --- |
| AP-001 | Task | one | taskId | Single | |
| AP-002 | Task | of a team | team, state | Collection | rank ASC |
"""


def tasks() -> tuple[Workload, Design]:
    """A table whose keys are attributes, several of them in an index."""
    workload = read_text(TASKS, "md").workload
    several = (KeyAttribute("team"), KeyAttribute("state")), (KeyAttribute("rank", "N"), KeyAttribute("taskId"))
    slots = (Slot(TABLE, (KeyAttribute("taskId"),)), Slot("by-team", *several))
    facets = (Facet(TABLE, ("{taskId}",)), Facet("by-team", ("{team}", "{state}"), ("{rank}", "{taskId}")))
    design = Design("tasks", slots, (Item("Task", "Task", facets),), ttl_attribute="gone")
    return workload, map_patterns(design, workload)


def ordered() -> tuple[Workload, Design]:
    """A table with a local index, and names that are difficult in every language."""
    workload = read_text(TASKS.replace("`team`", '`te"am ${ö}`').replace("| team,", '| te"am ${ö},'), "md").workload
    hard = workload.entities[0].attributes[1].name
    slots = (
        Slot(TABLE, (KeyAttribute("pk"),), (KeyAttribute("sk"),)),
        Slot("by.rank-1", (KeyAttribute("pk"),), (KeyAttribute("rank", "N"),), local=True),
        Slot("gsi_1", (KeyAttribute(hard),), (KeyAttribute("rank", "N"),), Projection(ProjectionKind.KEYS_ONLY)),
    )
    facets = (
        Facet(TABLE, ("TASK#{taskId}",), ("TASK",)),
        Facet("by.rank-1", ("TASK#{taskId}",), ("{rank}",)),
        Facet("gsi_1", (f"{{{hard}}}",), ("{rank}",)),
    )
    return workload, map_patterns(Design("12-tasks", slots, (Item("Task", "Task", facets),)), workload)


def test_names_of_any_kind_and_local_indexes_are_taken_by_the_engine() -> None:
    workload, design = ordered()
    body = table_of(template(workload, design), "12-tasks")
    assert [one["IndexName"] for one in body["LocalSecondaryIndexes"]] == ["by.rank-1"]
    with Embedded() as engine:
        client = Client(load_package(tasks()[0], tasks()[1]).schema, "12-tasks", engine)
        client.call(
            "CreateTable", {name: value for name, value in body.items() if name not in AFTERWARDS - {"TableName"}}
        )
        made = client.call("DescribeTable", {"TableName": "12-tasks"})["Table"]
    assert made["KeySchema"] == body["KeySchema"]
    assert made["LocalSecondaryIndexes"][0]["KeySchema"] == body["LocalSecondaryIndexes"][0]["KeySchema"]
    assert made["GlobalSecondaryIndexes"][0]["Projection"] == {"ProjectionType": "KEYS_ONLY"}


def test_keys_of_several_attributes_and_of_numbers_are_as_the_run_time_expects_them() -> None:
    workload, design = tasks()
    assert drifted(workload, design) == []
    properties = table_of(template(workload, design), "tasks")
    assert {"AttributeName": "rank", "AttributeType": "N"} in properties["AttributeDefinitions"]
    assert properties["TimeToLiveSpecification"] == {"AttributeName": "gone", "Enabled": True}


def test_table_is_retained_and_protected_by_default() -> None:
    workload, design = designed(SHOP)
    table = template(workload, design)["Resources"]["Table"]
    assert (table["DeletionPolicy"], table["UpdateReplacePolicy"]) == ("Retain", "Retain")
    properties = table["Properties"]
    assert properties["DeletionProtectionEnabled"] is True
    assert properties["PointInTimeRecoverySpecification"] == {"PointInTimeRecoveryEnabled": True}
    assert properties["SSESpecification"] == {"SSEEnabled": True, "SSEType": "KMS"}
    bare = template(workload, design, ALL["bare"])["Resources"]["Table"]
    assert (bare["DeletionPolicy"], bare["Properties"]["DeletionProtectionEnabled"]) == ("Delete", False)
    assert "SSESpecification" not in bare["Properties"]
    assert bare["Properties"]["OnDemandThroughput"] == {"MaxReadRequestUnits": 500, "MaxWriteRequestUnits": 100}


def test_a_provisioned_table_scales_with_each_of_its_indexes() -> None:
    workload, design = designed(SHOP)
    found = template(workload, design, ALL["provisioned"])["Resources"]
    targets = [one["Properties"] for one in found.values() if one["Type"].endswith("ScalableTarget")]
    places = {(resolved(one["ResourceId"], "shop"), one["ScalableDimension"]) for one in targets}
    assert places == {
        (f"table/shop{place}", f"dynamodb:{kind}:{units}CapacityUnits")
        for place, kind in (("", "table"), *((f"/index/{slot.name}", "index") for slot in design.indexes))
        for units in ("Read", "Write")
    }
    assert {(one["MinCapacity"], one["MaxCapacity"]) for one in targets} == {(10, 400), (2, 50)}
    scaling = [one["Properties"] for one in found.values() if one["Type"].endswith("ScalingPolicy")]
    assert {one["ScalingTargetId"]["Ref"] for one in scaling} == {
        name for name, one in found.items() if one["Type"].endswith("ScalableTarget")
    }
    table = found["Table"]["Properties"]
    units = {"ReadCapacityUnits": 10, "WriteCapacityUnits": 2}
    assert [table["ProvisionedThroughput"]] + [
        one["ProvisionedThroughput"] for one in table["GlobalSecondaryIndexes"]
    ] == [units] * (1 + len(design.indexes))


def test_an_on_demand_table_has_no_scaling_and_no_units() -> None:
    workload, design = designed(SHOP)
    found = template(workload, design)["Resources"]
    assert sorted({one["Type"] for one in found.values()}) == ["AWS::DynamoDB::Table", "AWS::IAM::ManagedPolicy"]
    assert "ProvisionedThroughput" not in found["Table"]["Properties"]
    again = template(workload, replace(design, billing=Billing.PROVISIONED))["Resources"]
    assert len(again) > len(found)


def test_a_customers_key_is_made_or_taken() -> None:
    workload, design = designed(SHOP)
    made = template(workload, design, ALL["provisioned"])["Resources"]
    assert made["TableKey"]["Properties"]["EnableKeyRotation"] is True
    assert made["Table"]["Properties"]["SSESpecification"]["KMSMasterKeyId"] == {"Fn::GetAtt": "TableKey.Arn"}
    taken = template(workload, design, ALL["key of others"])["Resources"]
    assert "TableKey" not in taken
    assert taken["Table"]["Properties"]["SSESpecification"]["KMSMasterKeyId"] == KEY
    keyed = taken["ApplicationPolicy"]["Properties"]["PolicyDocument"]["Statement"][-1]
    assert (keyed["Sid"], keyed["Resource"]) == ("Key", [KEY])


def test_each_role_has_a_policy_and_an_output() -> None:
    workload, design = designed(SHOP)
    found = template(workload, design, ALL["provisioned"])
    names = [name for name, one in found["Resources"].items() if one["Type"] == "AWS::IAM::ManagedPolicy"]
    assert names == ["FrontDeskPolicy", "EverythingPolicy", "StreamConsumerPolicy"]
    arns = {f"{name}Arn" for name in names}
    assert {"TableName", "TableArn", "StreamArn", *arns} == set(found["Outputs"])


def test_the_stream_has_a_policy_and_a_mapping_for_its_function() -> None:
    workload, design = designed(SHOP)
    found = template(workload, design, ALL["provisioned"])
    mapping = found["Resources"]["StreamMapping"]
    assert mapping["Condition"] == "HasStreamFunction"
    assert found["Conditions"] == {"HasStreamFunction": {"Fn::Not": [{"Fn::Equals": [{"Ref": "StreamFunction"}, ""]}]}}
    assert mapping["Properties"] == {
        "EventSourceArn": {"Fn::GetAtt": "Table.StreamArn"},
        "FunctionName": {"Ref": "StreamFunction"},
        "StartingPosition": "TRIM_HORIZON",
        "FunctionResponseTypes": ["ReportBatchItemFailures"],
        "BisectBatchOnFunctionError": True,
        "MaximumRetryAttempts": 100,
    }
    statements = found["Resources"]["StreamConsumerPolicy"]["Properties"]["PolicyDocument"]["Statement"]
    assert statements[0] == {
        "Sid": "ReadStream",
        "Effect": "Allow",
        "Action": [f"dynamodb:{one}" for one in ("DescribeStream", "GetRecords", "GetShardIterator", "ListStreams")],
        "Resource": [{"Fn::GetAtt": "Table.StreamArn"}],
    }
    assert not {"StreamMapping", "StreamConsumerPolicy"} & set(template(workload, design)["Resources"])


@pytest.mark.slow
def test_references_of_a_template_exist() -> None:
    workload, design = designed(SHOP)
    for options in ALL.values():
        found = template(workload, design, options)
        there = {*found["Resources"], *found["Parameters"]}
        assert {name.partition(".")[0] for name in _referred(found)} <= there


def _referred(part: Any) -> list[str]:
    match part:
        case {"Ref": str(name)} | {"Fn::GetAtt": str(name)}:
            return [name]
        case dict():
            return [name for one in part.values() for name in _referred(one)]
        case list():
            return [name for one in part for name in _referred(one)]
    return []


def test_a_title_of_any_kind_is_a_text_in_the_template() -> None:
    workload, design = designed(SHOP)
    title = 'A "shop": ü #1\n- yes'
    found = template(replace(workload, title=title), design)
    assert found["Description"] == 'The table of A "shop": ü #1 - yes'


def test_cloudformation_functions_have_the_short_form() -> None:
    workload, design = designed(SHOP)
    text = render_cloudformation(workload, design)[FILE]
    assert "TableName: !Ref TableName\n" in text
    assert "- !GetAtt Table.Arn\n" in text
    assert text.startswith("# Written by prejoin")
    assert all(len(line) <= 120 for line in text.splitlines())
