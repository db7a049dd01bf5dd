"""Every operation by its name: how its request is decoded, and what performs it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import msgspec

from prejoin.engine import requests
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
from prejoin.engine.operations.timetolive import describe_time_to_live, update_time_to_live
from prejoin.engine.operations.transactions import transact_get_items, transact_write_items

__all__ = ["LATER", "OPERATIONS", "Engine", "Operation"]

R = TypeVar("R", bound=requests.Request)


@dataclass(frozen=True, slots=True)
class Operation(Generic[R]):
    decoder: msgspec.json.Decoder[R]
    perform: Callable[[Engine, R], Answer]


def _operation(request: type[R], perform: Callable[[Engine, R], Answer]) -> Operation[R]:
    return Operation(msgspec.json.Decoder(request), perform)


OPERATIONS: dict[str, Operation[Any]] = {
    "CreateTable": _operation(requests.CreateTable, create_table),
    "UpdateTable": _operation(requests.UpdateTable, update_table),
    "DescribeTable": _operation(requests.TableNamed, describe_table),
    "DeleteTable": _operation(requests.TableNamed, delete_table),
    "ListTables": _operation(requests.ListTables, list_tables),
    "DescribeLimits": _operation(requests.Request, describe_limits),
    "UpdateTimeToLive": _operation(requests.UpdateTimeToLive, update_time_to_live),
    "DescribeTimeToLive": _operation(requests.TableNamed, describe_time_to_live),
    "GetItem": _operation(requests.GetItem, get_item),
    "PutItem": _operation(requests.PutItem, put_item),
    "UpdateItem": _operation(requests.UpdateItem, update_item),
    "DeleteItem": _operation(requests.DeleteItem, delete_item),
    "Query": _operation(requests.Query, query),
    "Scan": _operation(requests.Scan, scan),
    "BatchGetItem": _operation(requests.BatchGetItem, batch_get_item),
    "BatchWriteItem": _operation(requests.BatchWriteItem, batch_write_item),
    "TransactWriteItems": _operation(requests.TransactWriteItems, transact_write_items),
    "TransactGetItems": _operation(requests.TransactGetItems, transact_get_items),
}

LATER = frozenset(
    {
        *("ExecuteStatement", "BatchExecuteStatement", "ExecuteTransaction"),
        *("TagResource", "UntagResource", "ListTagsOfResource"),
        *("ListStreams", "DescribeStream", "GetShardIterator", "GetRecords"),
    }
)
"""Operations of DynamoDB that have their place here and are still to come: the error says so."""
