"""CreateTable, UpdateTable, DescribeTable, DeleteTable, ListTables and DescribeLimits."""

from __future__ import annotations

import time
import uuid
from dataclasses import replace
from typing import Any

from prejoin.engine.items import rows
from prejoin.engine.operations.database import Database
from prejoin.engine.requests import CreateTableInput, ListTablesInput, RequestShape, TableInput, UpdateTableInput
from prejoin.engine.store.interface import Session
from prejoin.engine.tables.artifacts import add_backup
from prejoin.engine.tables.create import WARM, check_create_table, merged_limits, new_stream, read_definition
from prejoin.engine.tables.definition import (
    IndexDefinition,
    KeySchema,
    OnDemandLimits,
    TableDefinition,
    ThroughputChanges,
)
from prejoin.engine.tables.totals import NO_ITEMS, Totals
from prejoin.engine.tables.update import check_update_table, decreases_today, next_definition
from prejoin.engine.validation import Constraints, table_name
from prejoin.protocol.errors import DynamoDBError, not_found, refuse

_PAGE_OF_NAMES = 100
_MEMBERS_OF_DELETED = (
    *("TableName", "TableStatus", "ProvisionedThroughput", "TableSizeBytes", "ItemCount", "TableArn", "TableId"),
    *("DeletionProtectionEnabled", "BillingModeSummary", "TableClassSummary"),
)
"""The members of a description that DeleteTable returns: no keys, indexes or creation date."""


def create_table(database: Database, request: CreateTableInput) -> dict[str, Any]:
    table = new_table(database, request)
    with database.store.writing() as session:
        if database.catalog.get(session, table.name) is not None:
            raise DynamoDBError("ResourceInUseException", f"Table already exists: {table.name}")
        database.catalog.add(session, table)
    return {"TableDescription": describe(table, "CREATING", NO_ITEMS)}


def new_table(database: Database, request: CreateTableInput) -> TableDefinition:
    """Check a request for a new table, and return its definition."""
    table = read_definition(request, check_create_table(request))
    now = time.time()
    table = replace(
        table,
        uuid=str(uuid.uuid4()),
        created=now,
        on_demand_since=now if table.throughput is None else None,
        place=database.catalog.place,
    )
    specification = request.stream_specification
    if specification is not None and specification.stream_enabled:
        table = replace(table, streams=(new_stream(specification, now, 1, database.shard_records),))
    return table


def update_table(database: Database, request: UpdateTableInput) -> dict[str, Any]:
    """Change a table in one transaction, so that nobody sees a half-filled index."""
    name = check_update_table(request)
    with database.store.writing() as session:
        table = _find(database, session, name)
        # A new stream continues the sequence numbers of the table's earlier ones.
        last_record = session.last_record(table.id)
        change = next_definition(request, table, time.time(), last_record, database.shard_records)
        if change.deleted_index is not None:
            rows.drop_index(session, table, change.deleted_index)
        if change.created_index is not None:
            rows.fill_index(session, change.table, change.created_index)
        database.catalog.change(session, change.table)
        totals = database.counter.count(session, change.table)
    statuses = {} if change.created_index is None else {change.created_index.name: "CREATING"}
    if change.deleted_index is not None:
        # As at AWS, the response describes a change in progress, so a deleted index is still shown.
        statuses[change.deleted_index.name] = "DELETING"
        described_table = replace(change.table, indexes=table.indexes, attributes=table.attributes)
    else:
        described_table = change.table
    described_table = _during_update(table, described_table)
    key = change.table.encryption_key
    return {
        "TableDescription": describe(described_table, "UPDATING", totals, statuses)
        | _requested_limits(request)
        | _describe_encryption(key or table.encryption_key, changing=key != table.encryption_key)
    }


def describe_table(database: Database, request: TableInput) -> dict[str, Any]:
    name = table_name(request.table_name)
    with database.store.reading(snapshot=True) as session:
        table = _find(database, session, name)
        totals = database.counter.count(session, table)
    return {"Table": describe(table, "ACTIVE", totals)}


def delete_table(database: Database, request: TableInput) -> dict[str, Any]:
    name = table_name(request.table_name)
    with database.store.writing() as session:
        table = _find(database, session, name)
        if table.protected:
            refuse(
                "Resource cannot be deleted as it is currently protected against deletion. Disable deletion "
                "protection first."
            )
        if table.recovery is not None:
            # As at AWS, a table with point-in-time recovery can be restored after it was deleted.
            add_backup(session, table, f"{name}$DeletedTableBackup", "SYSTEM")
        rows.drop_all(session, table.id)
        database.catalog.remove(session, table)
    description = describe(table, "DELETING", NO_ITEMS)
    return {
        "TableDescription": {member: description[member] for member in _MEMBERS_OF_DELETED if member in description}
    }


def list_tables(database: Database, request: ListTablesInput) -> dict[str, Any]:
    constraints = Constraints()
    constraints.between("limit", request.limit, 1, _PAGE_OF_NAMES)
    if request.exclusive_start_table_name is not None:
        constraints.name("exclusiveStartTableName", request.exclusive_start_table_name)
    constraints.finish()
    limit = request.limit or _PAGE_OF_NAMES
    with database.store.reading() as session:
        names = session.table_names(request.exclusive_start_table_name or "", limit + 1)
    response: dict[str, Any] = {"TableNames": names[:limit]}
    if len(names) > limit:
        response["LastEvaluatedTableName"] = names[limit - 1]
    return response


def describe_limits(database: Database, request: RequestShape) -> dict[str, Any]:
    """The default quotas of an AWS account."""
    return {
        "AccountMaxReadCapacityUnits": 80_000,
        "AccountMaxWriteCapacityUnits": 80_000,
        "TableMaxReadCapacityUnits": 40_000,
        "TableMaxWriteCapacityUnits": 40_000,
    }


def _find(database: Database, session: Session, name: str) -> TableDefinition:
    table = database.catalog.get(session, name)
    if table is None:
        raise not_found(f"Requested resource not found: Table: {name} not found")
    return table


def describe(
    table: TableDefinition, status: str, totals: Totals, statuses: dict[str, str] | None = None
) -> dict[str, Any]:
    """The TableDescription. `statuses` are those of indexes that are not active, unless the table is new."""
    is_new = status == "CREATING"
    description: dict[str, Any] = {
        "AttributeDefinitions": [
            {"AttributeName": attribute.name, "AttributeType": attribute.type} for attribute in table.attributes
        ],
        "TableName": table.name,
        "KeySchema": key_schema(table.keys),
        "TableStatus": status,
        "CreationDateTime": table.created,
        "ProvisionedThroughput": _throughput(table.throughput, table.changes),
        "TableSizeBytes": totals.items[1],
        "ItemCount": totals.items[0],
        "TableArn": table.arn,
        "TableId": table.uuid,
        "DeletionProtectionEnabled": table.protected,
    }
    # A table that was never on demand has no summary, as at AWS.
    if table.on_demand_since is not None:
        description["BillingModeSummary"] = {
            "BillingMode": "PAY_PER_REQUEST" if table.throughput is None else "PROVISIONED",
            **({} if is_new else {"LastUpdateToPayPerRequestDateTime": table.on_demand_since}),
        }
    if not is_new:
        description["WarmThroughput"] = _warm_throughput(table.warm or table.throughput)
    description |= _limits(table.on_demand)
    description |= _describe_streams(table)
    if table.table_class is not None:
        description["TableClassSummary"] = {"TableClass": table.table_class}
    description |= _describe_encryption(table.encryption_key)
    description |= _describe_restore(table)
    return description | _describe_indexes(table, status, totals, statuses)


def _describe_streams(table: TableDefinition) -> dict[str, Any]:
    """The members about streams. The label and ARN of the newest stream stay when it is disabled."""
    members: dict[str, Any] = {}
    if table.stream is not None:
        members["StreamSpecification"] = {"StreamEnabled": True, "StreamViewType": table.stream.view}
    if table.streams:
        newest = table.streams[-1]
        members |= {"LatestStreamLabel": newest.label, "LatestStreamArn": table.stream_arn(newest)}
    return members


def _describe_restore(table: TableDefinition) -> dict[str, Any]:
    """The RestoreSummary member of a description, if the table was restored."""
    if table.restored is None:
        return {}
    source = {"SourceBackupArn": table.restored.backup_arn} if table.restored.backup_arn else {}
    return {
        "RestoreSummary": {
            **source,
            "SourceTableArn": table.restored.table_arn,
            "RestoreDateTime": table.restored.moment,
            "RestoreInProgress": False,
        }
    }


def _describe_indexes(
    table: TableDefinition, status: str, totals: Totals, statuses: dict[str, str] | None
) -> dict[str, list[dict[str, Any]]]:
    """The members with the descriptions of global and of local indexes, each only if there are some."""
    # The indexes of a new table are created with it, so they have its status.
    default_status = status if statuses is None else "ACTIVE"
    members: dict[str, list[dict[str, Any]]] = {}
    for index in sorted(table.indexes, key=lambda index: not index.is_global):
        member = "GlobalSecondaryIndexes" if index.is_global else "LocalSecondaryIndexes"
        index_status = (statuses or {}).get(index.name, default_status)
        index_totals = totals.entries.get(index.number, (0, 0))
        description = _describe_index(table, index, index_status, index_totals, is_new=status == "CREATING")
        members.setdefault(member, []).append(description)
    return members


def _describe_index(
    table: TableDefinition, index: IndexDefinition, status: str, totals: tuple[int, int], *, is_new: bool
) -> dict[str, Any]:
    """The description of an index. `is_new` says that it was created with its table, so it is not backfilled."""
    projection: dict[str, Any] = {"ProjectionType": index.projection}
    if index.included:
        projection["NonKeyAttributes"] = list(index.included)
    description: dict[str, Any] = {
        "IndexName": index.name,
        "KeySchema": key_schema(index.keys),
        "Projection": projection,
        "IndexSizeBytes": totals[1],
        "ItemCount": totals[0],
        "IndexArn": f"{table.arn}/index/{index.name}",
    }
    if index.is_global:
        description |= {"IndexStatus": status, "ProvisionedThroughput": _throughput(index.throughput, index.changes)}
        description |= _limits(index.on_demand)
        if not is_new:
            description["WarmThroughput"] = _warm_throughput(index.warm or index.throughput)
            if status == "CREATING":
                # AWS starts backfilling later, when the index has its resources.
                description["Backfilling"] = False
    return description


def key_schema(keys: KeySchema) -> list[dict[str, str]]:
    return [
        {"AttributeName": attribute.name, "KeyType": kind}
        for kind, attributes in (("HASH", keys.partition), ("RANGE", keys.sort))
        for attribute in attributes
    ]


def _warm_throughput(units: tuple[int, int] | None) -> dict[str, Any]:
    read, write = units or WARM
    return {"ReadUnitsPerSecond": read, "WriteUnitsPerSecond": write, "Status": "ACTIVE"}


def _throughput(units: tuple[int, int] | None, changes: ThroughputChanges) -> dict[str, Any]:
    read, write = units or (0, 0)
    times = {"LastIncreaseDateTime": changes.increased, "LastDecreaseDateTime": changes.decreased}
    return {
        **{member: moment for member, moment in times.items() if moment is not None},
        "NumberOfDecreasesToday": decreases_today(changes, time.time()),
        "ReadCapacityUnits": read,
        "WriteCapacityUnits": write,
    }


def _limits(limits: OnDemandLimits) -> dict[str, Any]:
    """The OnDemandThroughput member of a description, if there is a limit."""
    members = {"MaxReadRequestUnits": limits[0], "MaxWriteRequestUnits": limits[1]}
    set_members = {member: units for member, units in members.items() if units is not None}
    return {"OnDemandThroughput": set_members} if set_members else {}


def _requested_limits(request: UpdateTableInput) -> dict[str, Any]:
    """The limits that an update asks for. AWS repeats them, also a -1 that removes one."""
    return _limits(merged_limits((None, None), request.on_demand_throughput))


def _during_update(old: TableDefinition, new: TableDefinition) -> TableDefinition:
    """A table as AWS describes it while an update is in progress: with the units that it had before."""
    # AWS changes units in the background, and until then describes the former ones.
    units = {index.name: index.throughput for index in old.indexes}
    indexes = [replace(index, throughput=units.get(index.name, index.throughput)) for index in new.indexes]
    return replace(new, throughput=old.throughput or new.throughput, indexes=tuple(indexes))


def _describe_encryption(key: str | None, *, changing: bool = False) -> dict[str, dict[str, str]]:
    """The SSEDescription member of a TableDescription, if the table has an encryption key."""
    if key is None:
        return {}
    return {
        "SSEDescription": {
            "Status": "UPDATING" if changing else "ENABLED",
            "SSEType": "KMS",
            "KMSMasterKeyArn": key,
        }
    }
