"""What each operation may be asked: one frozen struct a request, decoded from JSON as DynamoDB would."""

from __future__ import annotations

from typing import Any

import msgspec

from prejoin.protocol.values import AttributeValue

Attributes = dict[str, AttributeValue]


class Request(msgspec.Struct, frozen=True, rename="pascal", kw_only=True, omit_defaults=True):
    """Members that are absent and members that are null are the same; unknown members are ignored."""


class KeyElement(Request, frozen=True):
    attribute_name: str | None = None
    key_type: str | None = None


class AttributeDefinition(Request, frozen=True):
    attribute_name: str | None = None
    attribute_type: str | None = None


class Projection(Request, frozen=True):
    projection_type: str | None = None
    non_key_attributes: list[str] | None = None


class Throughput(Request, frozen=True):
    read_capacity_units: int | None = None
    write_capacity_units: int | None = None


class SecondaryIndex(Request, frozen=True):
    index_name: str | None = None
    key_schema: list[KeyElement] | None = None
    projection: Projection | None = None
    provisioned_throughput: Throughput | None = None


class StreamSpecification(Request, frozen=True):
    stream_enabled: bool | None = None


class Encryption(Request, frozen=True):
    enabled: bool | None = None
    type: str | None = msgspec.field(name="SSEType", default=None)
    key: str | None = msgspec.field(name="KMSMasterKeyId", default=None)


class CreateTable(Request, frozen=True):
    table_name: str | None = None
    attribute_definitions: list[AttributeDefinition] | None = None
    key_schema: list[KeyElement] | None = None
    billing_mode: str | None = None
    provisioned_throughput: Throughput | None = None
    global_secondary_indexes: list[SecondaryIndex] | None = None
    local_secondary_indexes: list[SecondaryIndex] | None = None
    deletion_protection_enabled: bool | None = None
    table_class: str | None = None
    stream_specification: StreamSpecification | None = None
    encryption: Encryption | None = msgspec.field(name="SSESpecification", default=None)


class IndexDeletion(Request, frozen=True):
    index_name: str | None = None


class IndexUpdate(Request, frozen=True):
    index_name: str | None = None
    provisioned_throughput: Throughput | None = None


class GlobalIndexUpdate(Request, frozen=True):
    create: SecondaryIndex | None = None
    update: IndexUpdate | None = None
    delete: IndexDeletion | None = None


class UpdateTable(Request, frozen=True):
    table_name: str | None = None
    attribute_definitions: list[AttributeDefinition] | None = None
    billing_mode: str | None = None
    provisioned_throughput: Throughput | None = None
    global_secondary_index_updates: list[GlobalIndexUpdate] | None = None
    deletion_protection_enabled: bool | None = None
    table_class: str | None = None
    stream_specification: StreamSpecification | None = None
    encryption: Encryption | None = msgspec.field(name="SSESpecification", default=None)


class TableNamed(Request, frozen=True):
    """DescribeTable, DeleteTable and DescribeTimeToLive ask for no more than a table."""

    table_name: str | None = None


class ListTables(Request, frozen=True):
    exclusive_start_table_name: str | None = None
    limit: int | None = None


class TimeToLive(Request, frozen=True):
    attribute_name: str | None = None
    enabled: bool | None = None


class UpdateTimeToLive(Request, frozen=True):
    table_name: str | None = None
    time_to_live_specification: TimeToLive | None = None


class Substituting(Request, frozen=True):
    """Members of every request with expressions."""

    expression_attribute_names: dict[str, str] | None = None
    expression_attribute_values: Attributes | None = None


class WriteOptions(Substituting, frozen=True):
    table_name: str | None = None
    condition_expression: str | None = None
    return_values: str | None = None
    return_values_on_condition_check_failure: str | None = None
    return_consumed_capacity: str | None = None
    return_item_collection_metrics: str | None = None
    expected: Any = None
    conditional_operator: Any = None


class PutItem(WriteOptions, frozen=True):
    item: Attributes | None = None


class DeleteItem(WriteOptions, frozen=True):
    key: Attributes | None = None


class UpdateItem(WriteOptions, frozen=True):
    key: Attributes | None = None
    update_expression: str | None = None
    attribute_updates: Any = None


class ConditionCheck(WriteOptions, frozen=True):
    key: Attributes | None = None


class GetItem(Request, frozen=True):
    table_name: str | None = None
    key: Attributes | None = None
    consistent_read: bool | None = None
    projection_expression: str | None = None
    expression_attribute_names: dict[str, str] | None = None
    return_consumed_capacity: str | None = None
    attributes_to_get: Any = None


class ReadPage(Substituting, frozen=True):
    """What Query and Scan share."""

    table_name: str | None = None
    index_name: str | None = None
    select: str | None = None
    limit: int | None = None
    consistent_read: bool | None = None
    exclusive_start_key: Attributes | None = None
    filter_expression: str | None = None
    projection_expression: str | None = None
    return_consumed_capacity: str | None = None
    attributes_to_get: Any = None
    conditional_operator: Any = None


class Query(ReadPage, frozen=True):
    key_condition_expression: str | None = None
    scan_index_forward: bool | None = None
    key_conditions: Any = None
    query_filter: Any = None


class Scan(ReadPage, frozen=True):
    segment: int | None = None
    total_segments: int | None = None
    scan_filter: Any = None


class KeysAndAttributes(Request, frozen=True):
    keys: list[Attributes] | None = None
    consistent_read: bool | None = None
    projection_expression: str | None = None
    expression_attribute_names: dict[str, str] | None = None
    attributes_to_get: Any = None


class BatchGetItem(Request, frozen=True):
    request_items: dict[str, KeysAndAttributes] | None = None
    return_consumed_capacity: str | None = None


class PutRequest(Request, frozen=True):
    item: Attributes | None = None


class DeleteRequest(Request, frozen=True):
    key: Attributes | None = None


class WriteRequest(Request, frozen=True):
    put_request: PutRequest | None = None
    delete_request: DeleteRequest | None = None


class BatchWriteItem(Request, frozen=True):
    request_items: dict[str, list[WriteRequest]] | None = None
    return_consumed_capacity: str | None = None
    return_item_collection_metrics: str | None = None


class TransactWrite(Request, frozen=True):
    put: PutItem | None = None
    update: UpdateItem | None = None
    delete: DeleteItem | None = None
    condition_check: ConditionCheck | None = None


class TransactWriteItems(Request, frozen=True):
    transact_items: list[TransactWrite] | None = None
    client_request_token: str | None = None
    return_consumed_capacity: str | None = None
    return_item_collection_metrics: str | None = None


class TransactGet(Request, frozen=True):
    get: GetItem | None = None


class TransactGetItems(Request, frozen=True):
    transact_items: list[TransactGet] | None = None
    return_consumed_capacity: str | None = None
