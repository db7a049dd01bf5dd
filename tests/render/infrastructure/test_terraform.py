"""Terraform and OpenTofu: the module matches the CloudFormation template."""

from __future__ import annotations

from pathlib import Path, PurePosixPath
from typing import Any

import pytest

from prejoin.design.model import TABLE, Design
from prejoin.render.infrastructure.options import Infrastructure
from prejoin.render.infrastructure.policies import STREAM
from prejoin.render.infrastructure.stack import stack_of
from prejoin.render.infrastructure.terraform import render_terraform
from prejoin.workload.model import Workload

from .documents import DOCUMENTS, SHOP, designed, named
from .hcl import read
from .options import ALL, KEY
from .test_cloudformation import ordered, table_of, tasks, template

CASES = [(DOCUMENTS[0], "plain"), *((path, "plain") for path in DOCUMENTS[1:]), *((SHOP, name) for name in ALL)]
ARN = "<aws_dynamodb_table.table.arn>"


def module(workload: Workload, design: Design, options: Infrastructure | None = None) -> dict[str, Any]:
    files = render_terraform(workload, design, options)
    found: dict[str, Any] = {}
    for text in files.values():
        found |= read(text)
    return found


def as_template(table: dict[str, Any]) -> dict[str, Any]:
    """A table of Terraform in CloudFormation's terms."""
    keys = [{"AttributeName": table["hash_key"], "KeyType": "HASH"}]
    keys += [{"AttributeName": table["range_key"], "KeyType": "RANGE"}] if "range_key" in table else []
    found: dict[str, Any] = {
        "BillingMode": table["billing_mode"],
        "AttributeDefinitions": [
            {"AttributeName": one["name"], "AttributeType": one["type"]} for one in table["attribute"]
        ],
        "KeySchema": keys,
        "PointInTimeRecoverySpecification": {
            "PointInTimeRecoveryEnabled": table["point_in_time_recovery"][0]["enabled"]
        },
        "DeletionProtectionEnabled": table["deletion_protection_enabled"],
    } | _units(table)
    if indexes := table.get("global_secondary_index"):
        found["GlobalSecondaryIndexes"] = [_index(one) | _units(one) for one in indexes]
    for one in table.get("ttl", ()):
        found["TimeToLiveSpecification"] = {"AttributeName": one["attribute_name"], "Enabled": one["enabled"]}
    for one in table.get("server_side_encryption", ()):
        found["SSESpecification"] = {"SSEEnabled": one["enabled"], "SSEType": "KMS"}
        if "kms_key_arn" in one:
            found["SSESpecification"]["KMSMasterKeyId"] = one["kms_key_arn"].replace(
                "<aws_kms_key.table.arn>", "TableKey.Arn"
            )
    if "stream_view_type" in table:
        found["StreamSpecification"] = {"StreamViewType": table["stream_view_type"]}
    if "table_class" in table:
        found["TableClass"] = table["table_class"]
    if "tags" in table:
        found["Tags"] = [{"Key": key, "Value": value} for key, value in table["tags"].items()]
    return found


def _index(one: dict[str, Any]) -> dict[str, Any]:
    schema = [{"AttributeName": k["attribute_name"], "KeyType": k["key_type"]} for k in one.get("key_schema", ())]
    sides = (("hash_key", "HASH"), ("range_key", "RANGE"))
    schema += [{"AttributeName": one[name], "KeyType": kind} for name, kind in sides if name in one]
    projection = {"ProjectionType": one["projection_type"]}
    projection |= {"NonKeyAttributes": one["non_key_attributes"]} if "non_key_attributes" in one else {}
    return {"IndexName": one["name"], "KeySchema": schema, "Projection": projection}


def _units(part: dict[str, Any]) -> dict[str, Any]:
    if "read_capacity" in part:
        units = {"ReadCapacityUnits": part["read_capacity"], "WriteCapacityUnits": part["write_capacity"]}
        return {"ProvisionedThroughput": units}
    names = {"max_read_request_units": "MaxReadRequestUnits", "max_write_request_units": "MaxWriteRequestUnits"}
    for one in part.get("on_demand_throughput", ()):
        return {"OnDemandThroughput": {names[name]: units for name, units in one.items()}}
    return {}


@pytest.mark.parametrize(("path", "name"), CASES, ids=lambda one: named(one) if isinstance(one, Path) else one)
def test_the_table_is_that_of_the_template(path: Path, name: str) -> None:
    workload, design = designed(path)
    (table,) = module(workload, design, ALL[name])["resource.aws_dynamodb_table.table"]
    wanted = table_of(template(workload, design, ALL[name]), design.table)
    assert as_template(table) == {key: value for key, value in wanted.items() if key != "TableName"}
    assert table["name"] == "<var.table_name>"


def test_keys_of_several_attributes_are_a_key_schema_and_ask_for_a_provider_that_knows_it() -> None:
    workload, design = tasks()
    found = module(workload, design)
    (table,) = found["resource.aws_dynamodb_table.table"]
    wanted = table_of(template(workload, design), "tasks")
    assert as_template(table)["GlobalSecondaryIndexes"] == wanted["GlobalSecondaryIndexes"]
    (providers,) = found["terraform"][0]["required_providers"]
    assert providers["aws"]["version"] == ">= 6.29"


def test_names_of_any_kind_and_local_indexes_are_in_the_module() -> None:
    workload, design = ordered()
    (table,) = module(workload, design)["resource.aws_dynamodb_table.table"]
    (local,) = table["local_secondary_index"]
    assert local == {"name": "by.rank-1", "range_key": "rank", "projection_type": "ALL"}
    assert table["global_secondary_index"][0]["hash_key"] == 'te"am ${ö}'


@pytest.mark.parametrize("name", ALL)
def test_policies_are_those_of_the_roles(name: str) -> None:
    workload, design = designed(SHOP)
    found = module(workload, design, ALL[name])
    written = {key.rpartition(".")[2]: one[0] for key, one in found.items() if "aws_iam_policy" in key}
    policies = stack_of(workload, design, ALL[name]).every_policy
    assert len(written) == len(policies)
    for policy, one in zip(policies, written.values(), strict=True):
        assert one["description"] == policy.text
        statements = [s for s in one["policy"]["Statement"] if s["Sid"] != "Key"]
        assert [s["Sid"] for s in statements] == [s.sid for s in policy.statements]
        assert [s.get("Condition", {}) for s in statements] == [s.condition for s in policy.statements]
        assert [s["Resource"] for s in statements] == [list(map(arn, s.places)) for s in policy.statements]


def arn(place: str) -> str:
    if place == STREAM:
        return "<aws_dynamodb_table.table.stream_arn>"
    return ARN if place == TABLE else f"${{{ARN[1:-1]}}}/index/{place}"


def test_the_stream_has_a_mapping_for_each_of_its_functions() -> None:
    workload, design = designed(SHOP)
    found = module(workload, design, ALL["provisioned"])
    (mapping,) = found["resource.aws_lambda_event_source_mapping.stream"]
    assert mapping["for_each"] == "<var.stream_functions>"
    assert mapping["function_name"] == "<each.value>"
    assert mapping["function_response_types"] == ["ReportBatchItemFailures"]
    assert "variable.stream_functions" in found
    assert not [name for name in module(workload, design) if "stream" in name]


def test_table_is_protected_and_scaling_is_ignored() -> None:
    workload, design = designed(SHOP)
    (table,) = module(workload, design, ALL["provisioned"])["resource.aws_dynamodb_table.table"]
    assert table["lifecycle"] == [{"prevent_destroy": True, "ignore_changes": ["<read_capacity>", "<write_capacity>"]}]
    (bare,) = module(workload, design, ALL["bare"])["resource.aws_dynamodb_table.table"]
    assert "lifecycle" not in bare


def test_a_provisioned_table_scales_with_each_of_its_indexes() -> None:
    workload, design = designed(SHOP)
    found = module(workload, design, ALL["provisioned"])
    targets = [one[0] for key, one in found.items() if "appautoscaling_target" in key]
    name = "${aws_dynamodb_table.table.name}"
    assert {one["resource_id"] for one in targets} == {
        f"table/{name}{place}" for place in ("", *(f"/index/{slot.name}" for slot in design.indexes))
    }
    assert len(targets) == 2 * (1 + len(design.indexes))
    assert len([key for key in found if "appautoscaling_policy" in key]) == len(targets)


def test_existing_kms_key_is_used() -> None:
    workload, design = designed(SHOP)
    found = module(workload, design, ALL["key of others"])
    assert "resource.aws_kms_key.table" not in found
    assert found["resource.aws_iam_policy.application"][0]["policy"]["Statement"][-1]["Resource"] == [KEY]


def test_files_are_where_people_look_for_them() -> None:
    workload, design = designed(SHOP)
    names = ["versions.tf", "variables.tf", "main.tf", "policies.tf", "outputs.tf"]
    assert list(render_terraform(workload, design)) == [PurePosixPath("terraform", name) for name in names]
