"""All operations by name: the struct of the request, and the function that performs it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Generic, TypeVar

import msgspec

from prejoin.engine import backup_requests, requests
from prejoin.engine.operations.absent_resources import (
    describe_endpoints,
    describe_kinesis_destination,
    describe_replica_scaling,
    empty_list,
    find_no_kinesis_stream,
    missing_resource,
)
from prejoin.engine.operations.backups import (
    create_backup,
    delete_backup,
    describe_backup,
    describe_continuous_backups,
    list_backups,
    restore_table_from_backup,
    restore_table_to_point_in_time,
    update_continuous_backups,
)
from prejoin.engine.operations.batches import batch_get_item, batch_write_item
from prejoin.engine.operations.database import Database, ResponseBody
from prejoin.engine.operations.exports import describe_export, export_table, list_exports
from prejoin.engine.operations.imports import describe_import, import_table, list_imports
from prejoin.engine.operations.items import delete_item, get_item, put_item, update_item
from prejoin.engine.operations.partiql import batch_execute_statement, execute_statement, execute_transaction
from prejoin.engine.operations.queries import query, scan
from prejoin.engine.operations.settings import (
    delete_resource_policy,
    describe_contributor_insights,
    get_resource_policy,
    list_contributor_insights,
    list_tags_of_resource,
    put_resource_policy,
    tag_resource,
    untag_resource,
    update_contributor_insights,
)
from prejoin.engine.operations.streams import describe_stream, get_records, get_shard_iterator, list_streams
from prejoin.engine.operations.tables import (
    create_table,
    delete_table,
    describe_limits,
    describe_table,
    list_tables,
    update_table,
)
from prejoin.engine.operations.time_to_live import describe_time_to_live, update_time_to_live
from prejoin.engine.operations.transactions import transact_get_items, transact_write_items
from prejoin.protocol.decoders import json_decoder

__all__ = ["NOT_IMPLEMENTED", "OPERATIONS", "STREAM_OPERATIONS", "Database", "OperationHandler"]

R = TypeVar("R", bound=requests.RequestShape)


@dataclass(frozen=True)
class OperationHandler(Generic[R]):
    """How an operation is decoded and performed."""

    request: type[R]
    perform: Callable[[Database, R], ResponseBody]
    writes: bool = False

    @cached_property
    def decoder(self) -> msgspec.json.Decoder[R]:
        """Created on first use, because few programs use all operations."""
        return json_decoder(self.request)


_NO_BULK_OPERATION = missing_resource(
    "bulkOperationArn", "bulk_operation_arn", "ResourceNotFoundException", "Requested resource not found: {}"
)
_NO_GLOBAL_TABLE = missing_resource(
    "globalTableName",
    "global_table_name",
    "GlobalTableNotFoundException",
    "Global table not found: Global table with name: '{}' does not exist.",
)

OPERATIONS: dict[str, OperationHandler[Any]] = {
    "CreateTable": OperationHandler(requests.CreateTableInput, create_table, writes=True),
    "UpdateTable": OperationHandler(requests.UpdateTableInput, update_table, writes=True),
    "DescribeTable": OperationHandler(requests.TableInput, describe_table),
    "DeleteTable": OperationHandler(requests.TableInput, delete_table, writes=True),
    "ListTables": OperationHandler(requests.ListTablesInput, list_tables),
    "DescribeLimits": OperationHandler(requests.RequestShape, describe_limits),
    "UpdateTimeToLive": OperationHandler(requests.UpdateTimeToLiveInput, update_time_to_live, writes=True),
    "DescribeTimeToLive": OperationHandler(requests.TableInput, describe_time_to_live),
    "GetItem": OperationHandler(requests.GetItemInput, get_item),
    "PutItem": OperationHandler(requests.PutItemInput, put_item, writes=True),
    "UpdateItem": OperationHandler(requests.UpdateItemInput, update_item, writes=True),
    "DeleteItem": OperationHandler(requests.DeleteItemInput, delete_item, writes=True),
    "Query": OperationHandler(requests.QueryInput, query),
    "Scan": OperationHandler(requests.ScanInput, scan),
    "BatchGetItem": OperationHandler(requests.BatchGetItemInput, batch_get_item),
    "BatchWriteItem": OperationHandler(requests.BatchWriteItemInput, batch_write_item, writes=True),
    "TransactWriteItems": OperationHandler(requests.TransactWriteItemsInput, transact_write_items, writes=True),
    "TransactGetItems": OperationHandler(requests.TransactGetItemsInput, transact_get_items),
    "ExecuteStatement": OperationHandler(requests.ExecuteStatementInput, execute_statement, writes=True),
    "BatchExecuteStatement": OperationHandler(
        requests.BatchExecuteStatementInput, batch_execute_statement, writes=True
    ),
    "ExecuteTransaction": OperationHandler(requests.ExecuteTransactionInput, execute_transaction, writes=True),
    "ListStreams": OperationHandler(requests.ListStreamsInput, list_streams),
    "DescribeStream": OperationHandler(requests.DescribeStreamInput, describe_stream),
    "GetShardIterator": OperationHandler(requests.GetShardIteratorInput, get_shard_iterator),
    "GetRecords": OperationHandler(requests.GetRecordsInput, get_records),
    "TagResource": OperationHandler(requests.TagResourceInput, tag_resource, writes=True),
    "UntagResource": OperationHandler(requests.UntagResourceInput, untag_resource, writes=True),
    "ListTagsOfResource": OperationHandler(requests.ResourceInput, list_tags_of_resource),
    "PutResourcePolicy": OperationHandler(requests.ResourcePolicyInput, put_resource_policy, writes=True),
    "GetResourcePolicy": OperationHandler(requests.ResourceInput, get_resource_policy),
    "DeleteResourcePolicy": OperationHandler(requests.ResourcePolicyInput, delete_resource_policy, writes=True),
    "DescribeContinuousBackups": OperationHandler(requests.TableInput, describe_continuous_backups),
    "UpdateContinuousBackups": OperationHandler(
        requests.UpdateContinuousBackupsInput, update_continuous_backups, writes=True
    ),
    "DescribeContributorInsights": OperationHandler(requests.ContributorInsightsInput, describe_contributor_insights),
    "UpdateContributorInsights": OperationHandler(
        requests.ContributorInsightsInput, update_contributor_insights, writes=True
    ),
    "ListContributorInsights": OperationHandler(requests.TableInput, list_contributor_insights),
    "DescribeEndpoints": OperationHandler(requests.RequestShape, describe_endpoints),
    "DescribeKinesisStreamingDestination": OperationHandler(requests.TableInput, describe_kinesis_destination),
    "EnableKinesisStreamingDestination": OperationHandler(requests.NamedInput, find_no_kinesis_stream),
    "UpdateKinesisStreamingDestination": OperationHandler(requests.NamedInput, find_no_kinesis_stream),
    "DisableKinesisStreamingDestination": OperationHandler(requests.NamedInput, find_no_kinesis_stream),
    "DescribeTableReplicaAutoScaling": OperationHandler(requests.TableInput, describe_replica_scaling),
    "CreateBackup": OperationHandler(backup_requests.CreateBackupInput, create_backup, writes=True),
    "DescribeBackup": OperationHandler(backup_requests.BackupInput, describe_backup),
    "ListBackups": OperationHandler(backup_requests.ListBackupsInput, list_backups),
    "DeleteBackup": OperationHandler(backup_requests.BackupInput, delete_backup, writes=True),
    "RestoreTableFromBackup": OperationHandler(
        backup_requests.RestoreFromBackupInput, restore_table_from_backup, writes=True
    ),
    "RestoreTableToPointInTime": OperationHandler(
        backup_requests.RestoreToPointInTimeInput, restore_table_to_point_in_time, writes=True
    ),
    "ExportTableToPointInTime": OperationHandler(backup_requests.ExportTableInput, export_table, writes=True),
    "DescribeExport": OperationHandler(backup_requests.ExportInput, describe_export),
    "ListExports": OperationHandler(backup_requests.ListExportsInput, list_exports),
    "ImportTable": OperationHandler(backup_requests.ImportTableInput, import_table, writes=True),
    "DescribeImport": OperationHandler(backup_requests.ImportInput, describe_import),
    "ListImports": OperationHandler(backup_requests.ListImportsInput, list_imports),
    "ListBulkOperations": OperationHandler(requests.RequestShape, empty_list("BulkOperationsSummaryList")),
    "ListGlobalTables": OperationHandler(requests.RequestShape, empty_list("GlobalTables")),
    "DescribeBulkOperation": OperationHandler(requests.NamedInput, _NO_BULK_OPERATION),
    "CancelBulkOperation": OperationHandler(requests.NamedInput, _NO_BULK_OPERATION),
    "DescribeGlobalTable": OperationHandler(requests.NamedInput, _NO_GLOBAL_TABLE),
    "DescribeGlobalTableSettings": OperationHandler(requests.NamedInput, _NO_GLOBAL_TABLE),
    "UpdateGlobalTable": OperationHandler(requests.NamedInput, _NO_GLOBAL_TABLE),
    "UpdateGlobalTableSettings": OperationHandler(requests.NamedInput, _NO_GLOBAL_TABLE),
}

STREAM_OPERATIONS = frozenset({"ListStreams", "DescribeStream", "GetShardIterator", "GetRecords"})
"""Operations of a service of their own, DynamoDB Streams."""
NOT_IMPLEMENTED = frozenset(
    {
        *("StartBulkPutItems", "CreateGlobalTable", "UpdateTableReplicaAutoScaling", "SearchVectors"),
    }
)
"""Operations of DynamoDB that the engine does not have yet. The error says so."""
