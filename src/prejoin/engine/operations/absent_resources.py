"""Operations about things outside of one engine: bulk operations, replicas in other regions, Kinesis streams.

There are none here. So lists are empty, and a thing that is asked for by its name is not found, as in a new account.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from prejoin.engine.operations.database import Database
from prejoin.engine.requests import NamedInput, RequestShape, TableInput
from prejoin.engine.validation import Constraints, table_name
from prejoin.protocol.errors import DynamoDBError, not_found

Operation = Callable[[Database, Any], dict[str, Any]]


def empty_list(member: str) -> Operation:
    """A list of things of which there are none."""

    def list_nothing(database: Database, request: RequestShape) -> dict[str, Any]:
        return {member: []}

    return list_nothing


def missing_resource(member: str, field: str, code: str, message: str) -> Operation:
    """An operation on a thing that does not exist. `field` is the member of the request that names it."""

    def find_nothing(database: Database, request: NamedInput) -> dict[str, Any]:
        name = getattr(request, field)
        constraints = Constraints()
        constraints.require(member, name)
        constraints.finish()
        raise DynamoDBError(code, message.format(name))

    return find_nothing


def describe_kinesis_destination(database: Database, request: TableInput) -> dict[str, Any]:
    return {"TableName": _existing(database, request), "KinesisDataStreamDestinations": []}


def find_no_kinesis_stream(database: Database, request: NamedInput) -> dict[str, Any]:
    """Enable, update or disable a destination. There is no Kinesis here, so no stream has the given ARN."""
    constraints = Constraints()
    constraints.require("streamArn", request.stream_arn)
    constraints.finish()
    _existing(database, request)
    raise not_found(f"Requested resource not found: Kinesis data stream: {request.stream_arn} not found")


def describe_replica_scaling(database: Database, request: TableInput) -> dict[str, Any]:
    return {
        "TableAutoScalingDescription": {
            "TableName": _existing(database, request),
            "TableStatus": "ACTIVE",
            "Replicas": [],
        }
    }


def describe_endpoints(database: Database, request: RequestShape) -> dict[str, Any]:
    """The address of a client's next requests. A server answers this itself, with its own address."""
    return {"Endpoints": [{"Address": "localhost", "CachePeriodInMinutes": 1440}]}


def _existing(database: Database, request: TableInput | NamedInput) -> str:
    name = table_name(request.table_name)
    with database.store.reading() as session:
        if database.catalog.get(session, name) is None:
            raise not_found(f"Requested resource not found: Table: {name} not found")
    return name
