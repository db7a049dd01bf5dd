"""Backups, continuous backups, and tables restored from them."""

from __future__ import annotations

import time
import uuid
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from prejoin.engine.backup_requests import (
    BackupInput,
    CreateBackupInput,
    ListBackupsInput,
    RestoreFromBackupInput,
    RestoreInput,
    RestoreToPointInTimeInput,
)
from prejoin.engine.items import rows
from prejoin.engine.items.copy import copy_items
from prejoin.engine.items.recovery import items_at, stop_log
from prejoin.engine.operations.database import Database
from prejoin.engine.operations.tables import describe
from prejoin.engine.requests import SecondaryIndex, TableInput, UpdateContinuousBackupsInput
from prejoin.engine.store.interface import Session, StoredRow
from prejoin.engine.tables.artifacts import Backup, add_backup, backup_number, remove_backup
from prejoin.engine.tables.create import check_limits, check_throughput, encryption_key, merged_limits, throughput_of
from prejoin.engine.tables.definition import NO_CHANGES, IndexDefinition, Restored, TableDefinition, id_bytes
from prejoin.engine.tables.totals import Totals
from prejoin.engine.validation import Constraints, table_name
from prejoin.protocol import limits
from prejoin.protocol.errors import DynamoDBError, refuse
from prejoin.protocol.key_bytes import under

_RECOVERY_DAYS = 35
_DAY_SECONDS = 86_400
_PAGE = 100
_TYPES = ("USER", "SYSTEM", "AWS_BACKUP", "ALL")
_INVALID = "One or more parameter values were invalid: "


def create_backup(database: Database, request: CreateBackupInput) -> dict[str, Any]:
    constraints = Constraints()
    constraints.table("tableName", request.table_name)
    constraints.name("backupName", request.backup_name)
    constraints.finish()
    with database.store.writing() as session:
        table = find_table(database, session, table_name(request.table_name))
        backup = add_backup(session, table, str(request.backup_name), "USER")
    return {"BackupDetails": _details(backup, "CREATING")}


def describe_backup(database: Database, request: BackupInput) -> dict[str, Any]:
    with database.store.reading(snapshot=True) as session:
        return {"BackupDescription": _describe(_find_backup(session, request), "AVAILABLE")}


def delete_backup(database: Database, request: BackupInput) -> dict[str, Any]:
    with database.store.writing() as session:
        backup = _find_backup(session, request)
        remove_backup(session, backup)
    return {"BackupDescription": _describe(backup, "DELETED")}


def list_backups(database: Database, request: ListBackupsInput) -> dict[str, Any]:
    constraints = Constraints()
    constraints.between("limit", request.limit, 1, _PAGE)
    constraints.one_of("backupType", request.backup_type, _TYPES)
    constraints.finish()
    name = None if request.table_name is None else table_name(request.table_name)
    with database.store.reading(snapshot=True) as session:
        backups = [backup for backup in Backup.all(session) if _is_listed(backup, request, name)]
    limit = request.limit or _PAGE
    response: dict[str, Any] = {"BackupSummaries": [_summary(backup) for backup in backups[:limit]]}
    if len(backups) > limit:
        response["LastEvaluatedBackupArn"] = backups[limit - 1].arn
    return response


def _is_listed(backup: Backup, request: ListBackupsInput, name: str | None) -> bool:
    """Whether a list of backups of one table, or of all without `name`, has this one."""
    if name is not None and backup.table.name != name:
        return False
    if request.backup_type not in (None, "ALL", backup.type):
        return False
    low, high = request.time_range_lower_bound, request.time_range_upper_bound
    if (low is not None and backup.created < low) or (high is not None and backup.created >= high):
        return False
    start = request.exclusive_start_backup_arn
    return start is None or backup.id > start.rpartition("/")[2]


def _find_backup(session: Session, request: BackupInput | RestoreFromBackupInput) -> Backup:
    constraints = Constraints()
    constraints.require("backupArn", request.backup_arn)
    constraints.finish()
    arn = str(request.backup_arn)
    backup = Backup.find(session, arn)
    if backup is None:
        raise DynamoDBError("BackupNotFoundException", f"Backup not found: {arn}")
    return backup


def _details(backup: Backup, status: str) -> dict[str, Any]:
    return {
        "BackupArn": backup.arn,
        "BackupName": backup.name,
        "BackupSizeBytes": backup.size,
        "BackupStatus": status,
        "BackupType": backup.type,
        "BackupCreationDateTime": backup.created,
    }


def _summary(backup: Backup) -> dict[str, Any]:
    table = backup.table
    return {
        "TableName": table.name,
        "TableId": table.uuid,
        "TableArn": table.arn,
        **_details(backup, "AVAILABLE"),
    }


_TABLE_MEMBERS = ("TableName", "TableId", "TableArn", "TableSizeBytes", "KeySchema", "ItemCount", "OnDemandThroughput")
_INDEX_MEMBERS = ("IndexName", "KeySchema", "Projection", "ProvisionedThroughput", "OnDemandThroughput")
_UNITS = ("ReadCapacityUnits", "WriteCapacityUnits")


def _describe(backup: Backup, status: str) -> dict[str, Any]:
    table = backup.table
    description = describe(table, "ACTIVE", Totals((backup.number, backup.size), {}))
    source = {member: description[member] for member in _TABLE_MEMBERS if member in description} | {
        "TableCreationDateTime": table.created,
        "ProvisionedThroughput": _units_of(description),
        "BillingMode": "PAY_PER_REQUEST" if table.throughput is None else "PROVISIONED",
    }
    features: dict[str, Any] = {}
    for member in ("GlobalSecondaryIndexes", "LocalSecondaryIndexes"):
        if member in description:
            features[member] = [
                {
                    name: _units_of(index) if name == "ProvisionedThroughput" else index[name]
                    for name in _INDEX_MEMBERS
                    if name in index
                }
                for index in description[member]
            ]
    if table.stream is not None:
        features["StreamDescription"] = description["StreamSpecification"]
    if table.ttl is not None:
        features["TimeToLiveDescription"] = {"TimeToLiveStatus": "ENABLED", "AttributeName": table.ttl}
    if "SSEDescription" in description:
        features["SSEDescription"] = description["SSEDescription"]
    return {
        "BackupDetails": _details(backup, status),
        "SourceTableDetails": source,
        "SourceTableFeatureDetails": features,
    }


def _units_of(description: dict[str, Any]) -> dict[str, int]:
    return {member: description["ProvisionedThroughput"][member] for member in _UNITS}


# --- Continuous backups ----------------------------------------------------------------------------------------------


def describe_continuous_backups(database: Database, request: TableInput) -> dict[str, Any]:
    name = table_name(request.table_name)
    with database.store.reading() as session:
        return _continuous_backups(find_table(database, session, name))


def update_continuous_backups(database: Database, request: UpdateContinuousBackupsInput) -> dict[str, Any]:
    name = table_name(request.table_name)
    specification = request.point_in_time_recovery_specification
    constraints = Constraints()
    constraints.require("pointInTimeRecoverySpecification", specification)
    if specification is not None:
        member_path = "pointInTimeRecoverySpecification"
        constraints.require(f"{member_path}.pointInTimeRecoveryEnabled", specification.enabled)
        constraints.between(
            f"{member_path}.recoveryPeriodInDays", specification.recovery_period_in_days, 1, _RECOVERY_DAYS
        )
    constraints.finish()
    assert specification is not None
    with database.store.writing() as session:
        table = find_table(database, session, name)
        # Turning it on again changes only the number of days.
        since = time.time() if table.recovery is None else table.recovery[0]
        recovery = (since, specification.recovery_period_in_days or _RECOVERY_DAYS) if specification.enabled else None
        if recovery is None:
            stop_log(session, table)
        table = replace(table, recovery=recovery)
        database.catalog.change(session, table)
    return _continuous_backups(table)


def find_table(database: Database, session: Session, name: str) -> TableDefinition:
    table = database.catalog.get(session, name)
    if table is None:
        raise DynamoDBError("TableNotFoundException", f"Table not found: {name}")
    return table


def restorable(table: TableDefinition, now: float) -> tuple[float, float]:
    """The earliest and the latest moment that a table can be restored to."""
    if table.recovery is None:
        raise DynamoDBError(
            "PointInTimeRecoveryUnavailableException", f"Point in time recovery is not enabled for table '{table.name}'"
        )
    since, days = table.recovery
    return max(since, now - days * _DAY_SECONDS), now


def _continuous_backups(table: TableDefinition) -> dict[str, Any]:
    description: dict[str, Any] = {"PointInTimeRecoveryStatus": "DISABLED"}
    if table.recovery is not None:
        earliest, latest = restorable(table, time.time())
        description = {
            "PointInTimeRecoveryStatus": "ENABLED",
            "RecoveryPeriodInDays": table.recovery[1],
            "EarliestRestorableDateTime": earliest,
            "LatestRestorableDateTime": latest,
        }
    return {
        "ContinuousBackupsDescription": {
            "ContinuousBackupsStatus": "ENABLED",
            "PointInTimeRecoveryDescription": description,
        }
    }


# --- Restored tables -------------------------------------------------------------------------------------------------


def restore_table_from_backup(database: Database, request: RestoreFromBackupInput) -> dict[str, Any]:
    target = _check_target(request)
    with database.store.writing() as session:
        backup = _find_backup(session, request)
        items = session.items(under(id_bytes(backup_number(session, backup))))
        source = Restored(backup.created, backup.table.arn, backup.arn)
        return _create_restored_table(database, session, request, target, backup.table, source, items)


def restore_table_to_point_in_time(database: Database, request: RestoreToPointInTimeInput) -> dict[str, Any]:
    target = _check_target(request)
    source_name = request.source_table_name if request.source_table_name is not None else request.source_table_arn
    if source_name is None:
        refuse(_INVALID + "SourceTableName or SourceTableArn must be specified")
    if bool(request.use_latest_restorable_time) == (request.restore_date_time is not None):
        refuse(_INVALID + "Exactly one of RestoreDateTime and UseLatestRestorableTime must be specified")
    with database.store.writing() as session:
        table = find_table(database, session, table_name(source_name))
        earliest, latest = restorable(table, time.time())
        moment = latest if request.restore_date_time is None else request.restore_date_time
        if not earliest <= moment <= latest:
            raise DynamoDBError(
                "InvalidRestoreTimeException",
                "The specified RestoreDateTime is not between EarliestRestorableDateTime and LatestRestorableDateTime",
            )
        source = Restored(moment, table.arn, None)
        return _create_restored_table(
            database, session, request, target, table, source, items_at(session, table, moment)
        )


def _check_target(request: RestoreInput) -> str:
    constraints = Constraints()
    constraints.name("targetTableName", request.target_table_name)
    constraints.one_of("billingModeOverride", request.billing_mode_override, ("PROVISIONED", "PAY_PER_REQUEST"))
    check_throughput(constraints, "provisionedThroughputOverride", request.provisioned_throughput_override)
    if request.encryption_override is not None:
        constraints.one_of("sSESpecificationOverride.sSEType", request.encryption_override.type, ("AES256", "KMS"))
    for kind, overrides in (
        ("global", request.global_secondary_index_override),
        ("local", request.local_secondary_index_override),
    ):
        for number, override in enumerate(overrides or (), 1):
            member_path = f"{kind}SecondaryIndexOverride.{number}.member"
            constraints.name(f"{member_path}.indexName", override.index_name)
            check_throughput(constraints, f"{member_path}.provisionedThroughput", override.provisioned_throughput)
    constraints.finish()
    return table_name(request.target_table_name, limits.TABLE_NAME_MINIMUM)


def _create_restored_table(
    database: Database,
    session: Session,
    request: RestoreInput,
    name: str,
    original: TableDefinition,
    source: Restored,
    items: Iterable[tuple[bytes, StoredRow]],
) -> dict[str, Any]:
    """Create a table with these items. The indexes are filled anew, because some may be left out."""
    if database.catalog.get(session, name) is not None:
        raise DynamoDBError("TableAlreadyExistsException", f"Table already exists: {name}")
    # The id of the new table is known only when it is stored. Its rows are copied under that id.
    copy_items(items, session, database.catalog.add(session, _restored_definition(request, name, original, source)))
    table = find_table(database, session, name)
    for index in table.indexes:
        rows.fill_index(session, table, index)
    description = describe(table, "CREATING", database.counter.count(session, table))
    # A table is restored when the response is sent. AWS only begins then, and says so.
    description["RestoreSummary"] = {**description["RestoreSummary"], "RestoreInProgress": True}
    return {"TableDescription": description}


def _restored_definition(
    request: RestoreInput, name: str, original: TableDefinition, source: Restored
) -> TableDefinition:
    """The restored table. Tags, streams, time to live, policies and recovery are not restored, as at AWS."""
    now = time.time()
    throughput, on_demand_since = original.throughput, original.on_demand_since
    if request.billing_mode_override == "PAY_PER_REQUEST":
        if request.provisioned_throughput_override is not None:
            refuse(
                _INVALID + "Neither ReadCapacityUnits nor WriteCapacityUnits can be specified when BillingMode is "
                "PAY_PER_REQUEST"
            )
        throughput, on_demand_since = None, now
    elif request.provisioned_throughput_override is not None:
        throughput = throughput_of(request.provisioned_throughput_override)
    elif request.billing_mode_override == "PROVISIONED" and throughput is None:
        refuse(_INVALID + "ProvisionedThroughputOverride must be specified when BillingModeOverride is PROVISIONED")
    indexes = (
        *_restored_indexes(original, request.global_secondary_index_override, throughput, is_global=True),
        *_restored_indexes(original, request.local_secondary_index_override, throughput, is_global=False),
    )
    key = request.encryption_override
    check_limits(merged_limits((None, None), request.on_demand_throughput_override), "table", minimum=1)
    return replace(
        original,
        name=name,
        uuid=str(uuid.uuid4()),
        created=now,
        indexes=tuple(sorted(indexes, key=lambda index: index.number)),
        throughput=throughput,
        on_demand_since=on_demand_since,
        on_demand=merged_limits(original.on_demand, request.on_demand_throughput_override),
        encryption_key=original.encryption_key if key is None else encryption_key(key),
        attributes=_needed_attributes(original, indexes),
        changes=NO_CHANGES,
        ttl=None,
        protected=False,
        tags=(),
        policy=None,
        recovery=None,
        insights=(),
        streams=(),
        restored=source,
    )


def _needed_attributes(original: TableDefinition, indexes: tuple[IndexDefinition, ...]) -> Any:
    """The attribute definitions that are still needed."""
    names = {name for keys in (original.keys, *(index.keys for index in indexes)) for name in keys.names}
    return tuple(attribute for attribute in original.attributes if attribute.name in names)


def _restored_indexes(
    original: TableDefinition,
    overrides: list[SecondaryIndex] | None,
    throughput: tuple[int, int] | None,
    *,
    is_global: bool,
) -> list[IndexDefinition]:
    """The indexes of one kind: all, or those that are given."""
    original_indexes = {index.name: index for index in original.indexes if index.is_global is is_global}
    if overrides is None:
        indexes = list(original_indexes.values())
    else:
        unknown_names = [
            str(override.index_name) for override in overrides if override.index_name not in original_indexes
        ]
        if unknown_names:
            refuse(_INVALID + f"Index {unknown_names[0]} does not exist in the source table")
        units_by_name = {override.index_name: throughput_of(override.provisioned_throughput) for override in overrides}
        indexes = [
            replace(original_indexes[str(name)], throughput=units or original_indexes[str(name)].throughput)
            for name, units in units_by_name.items()
        ]
    if not is_global:
        return indexes
    # On demand, an index has no units. Otherwise one without units of its own gets those of the table.
    return [replace(index, throughput=throughput and (index.throughput or throughput)) for index in indexes]
