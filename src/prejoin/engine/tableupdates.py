"""From an UpdateTable request to the table's next definition: every rule about what may change, and how."""

from __future__ import annotations

from dataclasses import dataclass, replace

from prejoin.engine.checks import Constraints, table_name
from prejoin.engine.definition import Index, KeyAttribute, Table
from prejoin.engine.requests import GlobalIndexUpdate, IndexDeletion, IndexUpdate, SecondaryIndex, UpdateTable
from prejoin.engine.tabledefinitions import (
    TABLE_CLASSES,
    check_attributes,
    check_index,
    check_indexes_together,
    check_streams,
    check_throughput,
    read_index,
    throughput_of,
)
from prejoin.protocol import limits
from prejoin.protocol.errors import DynamoDBError, not_found, refuse

_INVALID = "One or more parameter values were invalid: "
_ONE_AT_A_TIME = "Subscriber limit exceeded: Only 1 online index can be created or deleted simultaneously per table"


@dataclass(frozen=True, slots=True)
class Change:
    """The definition to come, the index to fill from the table's items, and the one whose entries to drop."""

    table: Table
    created: Index | None = None
    deleted: Index | None = None


def check_update_table(request: UpdateTable) -> str:
    """Check the members one by one; returns the table's name."""
    name = table_name(request.table_name)
    constraints = Constraints()
    constraints.one_of("billingMode", request.billing_mode, ("PROVISIONED", "PAY_PER_REQUEST"))
    check_throughput(constraints, "provisionedThroughput", request.provisioned_throughput)
    check_attributes(constraints, request.attribute_definitions)
    constraints.one_of("tableClass", request.table_class, TABLE_CLASSES)
    updates = request.global_secondary_index_updates or []
    for number, update in enumerate(updates, 1):
        where = f"globalSecondaryIndexUpdates.{number}.member"
        if update.create is not None:
            check_index(constraints, f"{where}.create", update.create, 8)
        if update.update is not None:
            constraints.name(f"{where}.update.indexName", update.update.index_name)
            constraints.required(f"{where}.update.provisionedThroughput", update.update.provisioned_throughput)
            check_throughput(constraints, f"{where}.update.provisionedThroughput", update.update.provisioned_throughput)
        if update.delete is not None:
            constraints.name(f"{where}.delete.indexName", update.delete.index_name)
    constraints.finish()
    check_streams(request.stream_specification)
    asked = (
        request.provisioned_throughput,
        request.billing_mode,
        request.deletion_protection_enabled,
        request.table_class,
        request.stream_specification,
    )
    if not updates and all(member is None for member in asked):
        refuse(
            "At least one of ProvisionedThroughput, BillingMode, UpdateStreamEnabled, GlobalSecondaryIndexUpdates or "
            "SSESpecification or ReplicaUpdates is required"
        )
    if request.billing_mode == "PROVISIONED" and request.provisioned_throughput is None:
        refuse(_INVALID + "ProvisionedThroughput must be specified when BillingMode is PROVISIONED")
    _check_updates(updates)
    return name


def _actions(update: GlobalIndexUpdate) -> list[SecondaryIndex | IndexUpdate | IndexDeletion]:
    return [action for action in (update.update, update.create, update.delete) if action is not None]


def _check_updates(updates: list[GlobalIndexUpdate]) -> None:
    seen: set[str | None] = set()
    for update in updates:
        actions = _actions(update)
        if not actions:
            refuse(
                _INVALID + "One of GlobalSecondaryIndexUpdate.Update, GlobalSecondaryIndexUpdate.Create, "
                "GlobalSecondaryIndexUpdate.Delete must not be null"
            )
        for action in actions:
            if action.index_name in seen:
                refuse(
                    _INVALID + "Only one global secondary index update per index is allowed simultaneously. "
                    f"Index: {action.index_name}"
                )
            seen.add(action.index_name)
    if sum((update.create is not None) + (update.delete is not None) for update in updates) > 1:
        raise DynamoDBError("LimitExceededException", _ONE_AT_A_TIME)


def next_definition(request: UpdateTable, table: Table, now: float) -> Change:
    """The table as it will be, after the rules that need to know it."""
    changed = _with_throughput(request, table, now)
    if request.deletion_protection_enabled is not None:
        changed = replace(changed, protected=request.deletion_protection_enabled)
    if request.table_class is not None:
        changed = replace(changed, table_class=request.table_class)
    created = deleted = None
    for update in request.global_secondary_index_updates or ():
        if update.create is not None:
            created = _created(request, update.create, changed)
            changed = replace(changed, indexes=(*changed.indexes, created))
        if update.delete is not None:
            deleted = _existing(table, update.delete.index_name)
            changed = replace(changed, indexes=tuple(index for index in changed.indexes if index is not deleted))
    return Change(replace(changed, attributes=_used_attributes(changed)), created, deleted)


def _existing(table: Table, name: str | None) -> Index:
    index = table.by_name.get(name or "")
    if index is None or not index.is_global:
        raise not_found("Requested resource not found")
    return index


def _created(request: UpdateTable, wish: SecondaryIndex, table: Table) -> Index:
    if wish.index_name in table.by_name:
        refuse("Attempting to create an index which already exists")
    # The definitions given with the request must cover the new keys; those the table has do not count.
    types = {
        str(definition.attribute_name): str(definition.attribute_type)
        for definition in request.attribute_definitions or ()
    }
    known = {attribute.name: attribute.type for attribute in table.attributes}
    for name, kind in types.items():
        if known.get(name, kind) != kind:
            refuse(_INVALID + f"The type of key attribute {name} cannot change from {known[name]} to {kind}")
    number = max((index.number for index in table.indexes), default=-1) + 1
    index = read_index(number, wish, types, is_global=True, on_demand=table.throughput is None)
    if sum(index.is_global for index in table.indexes) >= limits.GLOBAL_INDEXES:
        raise DynamoDBError(
            "LimitExceededException",
            "Subscriber limit exceeded: Number of global secondary indexes exceeds per-table limit of "
            f"{limits.GLOBAL_INDEXES}",
        )
    check_indexes_together((*table.indexes, index))
    return index


def _used_attributes(table: Table) -> tuple[KeyAttribute, ...]:
    """Definitions are kept of exactly those attributes that some key uses."""
    every = [table.keys, *(index.keys for index in table.indexes)]
    used = dict.fromkeys(attribute for keys in every for attribute in keys.attributes)
    kept = [attribute for attribute in table.attributes if attribute in used]
    return tuple(dict.fromkeys((*kept, *used)))


def _with_throughput(request: UpdateTable, table: Table, now: float) -> Table:
    wanted = throughput_of(request.provisioned_throughput)
    was_on_demand = table.throughput is None
    on_demand = was_on_demand if request.billing_mode is None else request.billing_mode == "PAY_PER_REQUEST"
    if on_demand and wanted is not None:
        refuse(
            _INVALID + "Neither ReadCapacityUnits nor WriteCapacityUnits can be specified when BillingMode is "
            "PAY_PER_REQUEST"
        )
    if wanted is not None and wanted == table.throughput:
        read, write = wanted
        refuse(
            "The provisioned throughput for the table will not change. The requested value equals the current value. "
            f"Current ReadCapacityUnits provisioned for the table: {read}. Requested ReadCapacityUnits: {read}. "
            f"Current WriteCapacityUnits provisioned for the table: {write}. Requested WriteCapacityUnits: {write}. "
            "Refer to the Amazon DynamoDB Developer Guide for current limits and how to request higher limits."
        )
    indexes = {index.name: index for index in table.indexes}
    given: set[str] = set()
    for update in request.global_secondary_index_updates or ():
        if update.update is not None:
            index = _existing(table, update.update.index_name)
            if on_demand:
                refuse(
                    _INVALID + f"ProvisionedThroughput should not be specified for index: {index.name} when "
                    "BillingMode is PAY_PER_REQUEST"
                )
            indexes[index.name] = replace(index, throughput=throughput_of(update.update.provisioned_throughput))
            given.add(index.name)
        if update.delete is not None:
            given.add(str(update.delete.index_name))
    if on_demand and not was_on_demand:
        indexes = {name: replace(index, throughput=None) for name, index in indexes.items()}
    if was_on_demand and not on_demand:
        missing = [index.name for index in table.indexes if index.is_global and index.name not in given]
        if missing:
            refuse(_INVALID + f"ProvisionedThroughput must be specified for index: {','.join(missing)}")
    return replace(
        table,
        indexes=tuple(indexes.values()),
        throughput=None if on_demand else wanted or table.throughput,
        on_demand_since=now if on_demand and not was_on_demand else table.on_demand_since,
    )
