"""The request of each operation as a frozen struct, decoded from JSON. The names are those of AWS's API model."""

from __future__ import annotations

import msgspec

from prejoin.protocol.values import AttributeValue

Attributes = dict[str, AttributeValue]


# Every member may be missing, also one that an operation requires. AWS decodes a request first and looks for missing
# members later, together with other constraints (`Constraints.require`).
class RequestShape(msgspec.Struct, frozen=True, rename="pascal", kw_only=True, omit_defaults=True):
    """The base of all request structs. A null member counts as absent, and unknown members are ignored."""


class KeySchemaElement(RequestShape, frozen=True):
    attribute_name: str | None = None
    key_type: str | None = None


class AttributeDefinition(RequestShape, frozen=True):
    attribute_name: str | None = None
    attribute_type: str | None = None


class IndexProjection(RequestShape, frozen=True):
    projection_type: str | None = None
    non_key_attributes: list[str] | None = None


class ProvisionedThroughput(RequestShape, frozen=True):
    read_capacity_units: int | None = None
    write_capacity_units: int | None = None


class OnDemandThroughput(RequestShape, frozen=True):
    max_read_request_units: int | None = None
    max_write_request_units: int | None = None


class WarmThroughput(RequestShape, frozen=True):
    read_units_per_second: int | None = None
    write_units_per_second: int | None = None


class IndexThroughput(RequestShape, frozen=True):
    """The members with which a global index is created or updated."""

    index_name: str | None = None
    provisioned_throughput: ProvisionedThroughput | None = None
    on_demand_throughput: OnDemandThroughput | None = None
    warm_throughput: WarmThroughput | None = None


class SecondaryIndex(IndexThroughput, frozen=True):
    key_schema: list[KeySchemaElement] | None = None
    projection: IndexProjection | None = None


class StreamSpecification(RequestShape, frozen=True):
    stream_enabled: bool | None = None
    stream_view_type: str | None = None


class Tag(RequestShape, frozen=True):
    key: str | None = None
    value: str | None = None


class SSESpecification(RequestShape, frozen=True):
    enabled: bool | None = None
    # Names with acronyms in capitals, which `rename` cannot derive.
    type: str | None = msgspec.field(name="SSEType", default=None)
    key: str | None = msgspec.field(name="KMSMasterKeyId", default=None)


class CreateTableInput(RequestShape, frozen=True):
    table_name: str | None = None
    attribute_definitions: list[AttributeDefinition] | None = None
    key_schema: list[KeySchemaElement] | None = None
    billing_mode: str | None = None
    provisioned_throughput: ProvisionedThroughput | None = None
    global_secondary_indexes: list[SecondaryIndex] | None = None
    local_secondary_indexes: list[SecondaryIndex] | None = None
    on_demand_throughput: OnDemandThroughput | None = None
    warm_throughput: WarmThroughput | None = None
    tags: list[Tag] | None = None
    resource_policy: str | None = None
    deletion_protection_enabled: bool | None = None
    table_class: str | None = None
    stream_specification: StreamSpecification | None = None
    encryption: SSESpecification | None = msgspec.field(name="SSESpecification", default=None)


class IndexDeletion(RequestShape, frozen=True):
    index_name: str | None = None


class GlobalIndexUpdate(RequestShape, frozen=True):
    create: SecondaryIndex | None = None
    update: IndexThroughput | None = None
    delete: IndexDeletion | None = None


class UpdateTableInput(RequestShape, frozen=True):
    table_name: str | None = None
    attribute_definitions: list[AttributeDefinition] | None = None
    billing_mode: str | None = None
    provisioned_throughput: ProvisionedThroughput | None = None
    on_demand_throughput: OnDemandThroughput | None = None
    warm_throughput: WarmThroughput | None = None
    global_secondary_index_updates: list[GlobalIndexUpdate] | None = None
    deletion_protection_enabled: bool | None = None
    table_class: str | None = None
    stream_specification: StreamSpecification | None = None
    encryption: SSESpecification | None = msgspec.field(name="SSESpecification", default=None)


class TableInput(RequestShape, frozen=True):
    """The request of DescribeTable, DeleteTable and DescribeTimeToLive: just a table name."""

    table_name: str | None = None


class ResourceInput(RequestShape, frozen=True):
    """The request of ListTagsOfResource and GetResourcePolicy: the ARN of a table."""

    resource_arn: str | None = None


class TagResourceInput(ResourceInput, frozen=True):
    tags: list[Tag] | None = None


class UntagResourceInput(ResourceInput, frozen=True):
    tag_keys: list[str] | None = None


class ResourcePolicyInput(ResourceInput, frozen=True):
    policy: str | None = None
    expected_revision_id: str | None = None


class PointInTimeRecovery(RequestShape, frozen=True):
    enabled: bool | None = msgspec.field(name="PointInTimeRecoveryEnabled", default=None)
    recovery_period_in_days: int | None = None


class UpdateContinuousBackupsInput(TableInput, frozen=True):
    point_in_time_recovery_specification: PointInTimeRecovery | None = None


class ContributorInsightsInput(TableInput, frozen=True):
    index_name: str | None = None
    contributor_insights_action: str | None = None
    contributor_insights_mode: str | None = None


class ListStreamsInput(TableInput, frozen=True):
    exclusive_start_stream_arn: str | None = None
    limit: int | None = None


class ShardFilter(RequestShape, frozen=True):
    type: str | None = None
    shard_id: str | None = None


class DescribeStreamInput(RequestShape, frozen=True):
    stream_arn: str | None = None
    exclusive_start_shard_id: str | None = None
    limit: int | None = None
    shard_filter: ShardFilter | None = None


class GetShardIteratorInput(RequestShape, frozen=True):
    stream_arn: str | None = None
    shard_id: str | None = None
    shard_iterator_type: str | None = None
    sequence_number: str | None = None


class GetRecordsInput(RequestShape, frozen=True):
    shard_iterator: str | None = None
    limit: int | None = None


class StatementInput(RequestShape, frozen=True):
    """A statement of a batch or transaction."""

    statement: str | None = None
    parameters: list[AttributeValue] | None = None
    consistent_read: bool | None = None
    return_values_on_condition_check_failure: str | None = None


class ExecuteStatementInput(StatementInput, frozen=True):
    next_token: str | None = None
    limit: int | None = None
    return_consumed_capacity: str | None = None


class BatchExecuteStatementInput(RequestShape, frozen=True):
    statements: list[StatementInput] | None = None
    return_consumed_capacity: str | None = None


class ExecuteTransactionInput(RequestShape, frozen=True):
    transact_statements: list[StatementInput] | None = None
    client_request_token: str | None = None
    return_consumed_capacity: str | None = None


class NamedInput(RequestShape, frozen=True):
    """The ARN or name of a thing that does not exist: a bulk operation, a global table …"""

    bulk_operation_arn: str | None = None
    global_table_name: str | None = None
    stream_arn: str | None = None
    table_name: str | None = None


class ListTablesInput(RequestShape, frozen=True):
    exclusive_start_table_name: str | None = None
    limit: int | None = None


class TimeToLiveSpecification(RequestShape, frozen=True):
    attribute_name: str | None = None
    enabled: bool | None = None


class UpdateTimeToLiveInput(RequestShape, frozen=True):
    table_name: str | None = None
    time_to_live_specification: TimeToLiveSpecification | None = None


class LegacyCondition(RequestShape, frozen=True):
    """One attribute of KeyConditions, QueryFilter or ScanFilter."""

    attribute_value_list: list[AttributeValue] | None = None
    comparison_operator: str | None = None


class ExpectedAttribute(LegacyCondition, frozen=True):
    """One attribute of Expected."""

    value: AttributeValue | None = None
    exists: bool | None = None


class AttributeUpdate(RequestShape, frozen=True):
    """One attribute of AttributeUpdates."""

    value: AttributeValue | None = None
    action: str | None = None


class ExpressionParameters(RequestShape, frozen=True):
    """The members that every request with expressions has."""

    expression_attribute_names: dict[str, str] | None = None
    expression_attribute_values: Attributes | None = None


class WriteOptions(ExpressionParameters, frozen=True):
    """The members that all writes of one item share."""

    table_name: str | None = None
    condition_expression: str | None = None
    return_values: str | None = None
    return_values_on_condition_check_failure: str | None = None
    return_consumed_capacity: str | None = None
    return_item_collection_metrics: str | None = None
    expected: dict[str, ExpectedAttribute] | None = None
    conditional_operator: str | None = None


class PutItemInput(WriteOptions, frozen=True):
    item: Attributes | None = None


class DeleteItemInput(WriteOptions, frozen=True):
    key: Attributes | None = None


class UpdateItemInput(WriteOptions, frozen=True):
    key: Attributes | None = None
    update_expression: str | None = None
    attribute_updates: dict[str, AttributeUpdate] | None = None


class ConditionCheck(WriteOptions, frozen=True):
    key: Attributes | None = None


class GetItemInput(RequestShape, frozen=True):
    table_name: str | None = None
    key: Attributes | None = None
    consistent_read: bool | None = None
    projection_expression: str | None = None
    expression_attribute_names: dict[str, str] | None = None
    return_consumed_capacity: str | None = None
    attributes_to_get: list[str] | None = None


class ReadOptions(ExpressionParameters, frozen=True):
    """The members that Query and Scan share."""

    table_name: str | None = None
    index_name: str | None = None
    select: str | None = None
    limit: int | None = None
    consistent_read: bool | None = None
    exclusive_start_key: Attributes | None = None
    filter_expression: str | None = None
    projection_expression: str | None = None
    return_consumed_capacity: str | None = None
    attributes_to_get: list[str] | None = None
    conditional_operator: str | None = None


class QueryInput(ReadOptions, frozen=True):
    key_condition_expression: str | None = None
    scan_index_forward: bool | None = None
    key_conditions: dict[str, LegacyCondition] | None = None
    query_filter: dict[str, LegacyCondition] | None = None


class ScanInput(ReadOptions, frozen=True):
    segment: int | None = None
    total_segments: int | None = None
    scan_filter: dict[str, LegacyCondition] | None = None


class KeysAndAttributes(RequestShape, frozen=True):
    keys: list[Attributes] | None = None
    consistent_read: bool | None = None
    projection_expression: str | None = None
    expression_attribute_names: dict[str, str] | None = None
    attributes_to_get: list[str] | None = None


class BatchGetItemInput(RequestShape, frozen=True):
    request_items: dict[str, KeysAndAttributes] | None = None
    return_consumed_capacity: str | None = None


class PutRequest(RequestShape, frozen=True):
    item: Attributes | None = None


class DeleteRequest(RequestShape, frozen=True):
    key: Attributes | None = None


class WriteRequest(RequestShape, frozen=True):
    put_request: PutRequest | None = None
    delete_request: DeleteRequest | None = None


class BatchWriteItemInput(RequestShape, frozen=True):
    request_items: dict[str, list[WriteRequest]] | None = None
    return_consumed_capacity: str | None = None
    return_item_collection_metrics: str | None = None


class TransactWriteItem(RequestShape, frozen=True):
    put: PutItemInput | None = None
    update: UpdateItemInput | None = None
    delete: DeleteItemInput | None = None
    condition_check: ConditionCheck | None = None


class TransactWriteItemsInput(RequestShape, frozen=True):
    transact_items: list[TransactWriteItem] | None = None
    client_request_token: str | None = None
    return_consumed_capacity: str | None = None
    return_item_collection_metrics: str | None = None


class TransactGetItem(RequestShape, frozen=True):
    get: GetItemInput | None = None


class TransactGetItemsInput(RequestShape, frozen=True):
    transact_items: list[TransactGetItem] | None = None
    return_consumed_capacity: str | None = None
