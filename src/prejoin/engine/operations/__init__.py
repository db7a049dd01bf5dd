"""All operations by name: the struct of the request, and the function that performs it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Generic, TypeVar

import msgspec

from prejoin.engine import requests
from prejoin.engine.operations.batches import batch_get_item, batch_write_item
from prejoin.engine.operations.database import Database, ResponseBody
from prejoin.engine.operations.items import delete_item, get_item, put_item, update_item
from prejoin.engine.operations.queries import query, scan
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

__all__ = ["NOT_IMPLEMENTED", "OPERATIONS", "Database", "OperationHandler"]

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
        return msgspec.json.Decoder(self.request)


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
}

NOT_IMPLEMENTED = frozenset(
    {
        *("ExecuteStatement", "BatchExecuteStatement", "ExecuteTransaction"),
        *("TagResource", "UntagResource", "ListTagsOfResource"),
        *("ListStreams", "DescribeStream", "GetShardIterator", "GetRecords"),
    }
)
"""Operations of DynamoDB that the engine does not have yet. The error says so."""
