"""The file format of NoSQL Workbench data models, version 3.0, as data. Unknown fields are ignored."""

from __future__ import annotations

from typing import Any

import msgspec

SERVICE = "Amazon DynamoDB"
VERSION = "3.0"
DATE = "Jan 01, 2026, 12:00 AM"
"""The format requires dates. A fixed one keeps the file of a model unchanged."""

Sample = dict[str, Any]
"""An item in DynamoDB's JSON: `{"pk": {"S": "USER#1"}}`."""


class WorkbenchPart(msgspec.Struct, frozen=True, rename="pascal"):
    """The base of all parts, with field names in Pascal case."""


class WorkbenchAttribute(WorkbenchPart, frozen=True):
    attribute_name: str
    attribute_type: str = "S"


class WorkbenchKeys(WorkbenchPart, frozen=True):
    partition_key: WorkbenchAttribute
    sort_key: WorkbenchAttribute | msgspec.UnsetType = msgspec.UNSET


class WorkbenchProjection(WorkbenchPart, frozen=True):
    projection_type: str = "ALL"
    non_key_attributes: tuple[str, ...] | msgspec.UnsetType = msgspec.UNSET


class WorkbenchIndex(WorkbenchPart, frozen=True):
    index_name: str
    key_attributes: WorkbenchKeys
    projection: WorkbenchProjection = WorkbenchProjection()


class Alias(WorkbenchPart, frozen=True):
    """The names of the keys in the view of a facet. People often write key templates there."""

    partition_key_alias: str = ""
    sort_key_alias: str | msgspec.UnsetType = msgspec.UNSET


class TableFacet(WorkbenchPart, frozen=True):
    """A view of some items of the table, with samples."""

    facet_name: str
    key_attribute_alias: Alias = Alias()
    table_data: tuple[Sample, ...] = ()
    non_key_attributes: tuple[str, ...] = ()
    data_access: dict[str, Any] = msgspec.field(default_factory=lambda: {"MySql": {}})


class WorkbenchTable(WorkbenchPart, frozen=True):
    table_name: str
    key_attributes: WorkbenchKeys
    non_key_attributes: tuple[WorkbenchAttribute, ...] = ()
    table_facets: tuple[TableFacet, ...] = ()
    global_secondary_indexes: tuple[WorkbenchIndex, ...] = ()
    table_data: tuple[Sample, ...] = ()
    """Samples without a facet."""
    data_access: dict[str, Any] = msgspec.field(default_factory=lambda: {"MySql": {}})
    billing_mode: str = "PROVISIONED"
    provisioned_capacity_settings: dict[str, Any] | msgspec.UnsetType = msgspec.UNSET


class Metadata(WorkbenchPart, frozen=True):
    author: str = ""
    date_created: str = DATE
    date_last_modified: str = DATE
    description: str = ""
    aws_service: str = msgspec.field(default=SERVICE, name="AWSService")
    version: str = VERSION


class DataModel(WorkbenchPart, frozen=True):
    model_name: str
    model_metadata: Metadata = Metadata()
    data_model: tuple[WorkbenchTable, ...] = ()


_SCALING = {
    "ScalableTargetRequest": {
        "MinCapacity": 1,
        "MaxCapacity": 10,
        "ServiceRole": "AWSServiceRoleForApplicationAutoScaling_DynamoDBTable",
    },
    "ScalingPolicyConfiguration": {"TargetValue": 70},
}
PROVISIONED: dict[str, Any] = {
    "ProvisionedThroughput": {"ReadCapacityUnits": 5, "WriteCapacityUnits": 5},
    "AutoScalingRead": _SCALING,
    "AutoScalingWrite": _SCALING,
}
"""The settings that Workbench writes for a provisioned table by default."""
