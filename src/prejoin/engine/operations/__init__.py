"""Every operation by its name: how its request is decoded, and what performs it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Generic, TypeVar

import msgspec

from prejoin.engine.operations.batches import batch_get_item, batch_write_item
from prejoin.engine.operations.engine import Answer, Engine
from prejoin.engine.operations.items import delete_item, get_item, put_item, update_item
from prejoin.engine.operations.pages import query, scan
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
from prejoin.engine.request import structs as requests

__all__ = ["LATER", "OPERATIONS", "Engine", "Operation"]

R = TypeVar("R", bound=requests.Request)


@dataclass(frozen=True)
class Operation(Generic[R]):
    request: type[R]
    perform: Callable[[Engine, R], Answer]
    writes: bool = False

    @cached_property
    def decoder(self) -> msgspec.json.Decoder[R]:
        """Made when it is first asked for: few programs use all of them."""
        return msgspec.json.Decoder(self.request)


OPERATIONS: dict[str, Operation[Any]] = {
    "CreateTable": Operation(requests.CreateTable, create_table, writes=True),
    "UpdateTable": Operation(requests.UpdateTable, update_table, writes=True),
    "DescribeTable": Operation(requests.TableNamed, describe_table),
    "DeleteTable": Operation(requests.TableNamed, delete_table, writes=True),
    "ListTables": Operation(requests.ListTables, list_tables),
    "DescribeLimits": Operation(requests.Request, describe_limits),
    "UpdateTimeToLive": Operation(requests.UpdateTimeToLive, update_time_to_live, writes=True),
    "DescribeTimeToLive": Operation(requests.TableNamed, describe_time_to_live),
    "GetItem": Operation(requests.GetItem, get_item),
    "PutItem": Operation(requests.PutItem, put_item, writes=True),
    "UpdateItem": Operation(requests.UpdateItem, update_item, writes=True),
    "DeleteItem": Operation(requests.DeleteItem, delete_item, writes=True),
    "Query": Operation(requests.Query, query),
    "Scan": Operation(requests.Scan, scan),
    "BatchGetItem": Operation(requests.BatchGetItem, batch_get_item),
    "BatchWriteItem": Operation(requests.BatchWriteItem, batch_write_item, writes=True),
    "TransactWriteItems": Operation(requests.TransactWriteItems, transact_write_items, writes=True),
    "TransactGetItems": Operation(requests.TransactGetItems, transact_get_items),
}

LATER = frozenset(
    {
        *("ExecuteStatement", "BatchExecuteStatement", "ExecuteTransaction"),
        *("TagResource", "UntagResource", "ListTagsOfResource"),
        *("ListStreams", "DescribeStream", "GetShardIterator", "GetRecords"),
    }
)
"""Operations of DynamoDB that have their place here and are still to come: the error says so."""
