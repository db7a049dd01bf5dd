"""The file of a NoSQL Workbench data model, version 3.0, as plain data. What is not here is ignored in a file."""

from __future__ import annotations

from typing import Any

import msgspec

SERVICE = "Amazon DynamoDB"
VERSION = "3.0"
DATE = "Jan 01, 2026, 12:00 AM"
"""The form wants dates; the day's own would make another file of the same model each day."""

Sample = dict[str, Any]
"""An item in DynamoDB's JSON: `{"pk": {"S": "USER#1"}}`."""


class WorkbenchPart(msgspec.Struct, frozen=True, rename="pascal"):
    """What all parts of the file have in common: names as DynamoDB writes them."""


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
    """What the keys are called in the view of a facet; people write there what they are made of."""

    partition_key_alias: str = ""
    sort_key_alias: str | msgspec.UnsetType = msgspec.UNSET


class TableFacet(WorkbenchPart, frozen=True):
    """A view of some items of the table, and their samples."""

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
    """Samples that are in no facet."""
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
"""What Workbench itself writes for a provisioned table that nobody has set figures for."""
