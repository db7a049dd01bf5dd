"""Turn an UpdateTable request into the next table definition, with all rules about what may change."""

from __future__ import annotations

from dataclasses import dataclass, replace

from prejoin.engine.requests import (
    GlobalIndexUpdate,
    IndexDeletion,
    IndexThroughput,
    OnDemandThroughput,
    SecondaryIndex,
    StreamSpecification,
    UpdateTableInput,
)
from prejoin.engine.tables.create import (
    check_attributes,
    check_encryption,
    check_index,
    check_indexes_together,
    check_limits,
    check_stream,
    check_stream_view,
    check_table_class,
    check_throughput,
    check_warm_throughput,
    encryption_key,
    global_index_keys,
    merged_limits,
    new_stream,
    read_index,
    throughput_of,
    warm_units,
)
from prejoin.engine.tables.definition import (
    IndexDefinition,
    KeyElement,
    KeySchema,
    OnDemandLimits,
    TableDefinition,
    ThroughputChanges,
)
from prejoin.engine.validation import Constraints, table_name
from prejoin.protocol import limits
from prejoin.protocol.errors import DynamoDBError, not_found, refuse

_INVALID = "One or more parameter values were invalid: "
_ONE_AT_A_TIME = "Subscriber limit exceeded: Only 1 online index can be created or deleted simultaneously per table"


@dataclass(frozen=True, slots=True)
class TableChange:
    """The new definition, the index to fill from the table's items, and the index whose entries to drop."""

    table: TableDefinition
    created: IndexDefinition | None = None
    deleted: IndexDefinition | None = None


def check_update_table(request: UpdateTableInput) -> str:
    """Check each member on its own. Return the table's name."""
    name = table_name(request.table_name)
    constraints = Constraints()
    constraints.one_of("billingMode", request.billing_mode, ("PROVISIONED", "PAY_PER_REQUEST"))
    check_throughput(constraints, "provisionedThroughput", request.provisioned_throughput)
    check_attributes(constraints, request.attribute_definitions)
    updates = request.global_secondary_index_updates or []
    for number, update in enumerate(updates, 1):
        where = f"globalSecondaryIndexUpdates.{number}.member"
        if update.create is not None:
            check_index(constraints, f"{where}.create", update.create, 8)
        if update.update is not None:
            constraints.name(f"{where}.update.indexName", update.update.index_name)
            wish = update.update
            if wish.on_demand_throughput is None and wish.warm_throughput is None:
                constraints.required(f"{where}.update.provisionedThroughput", wish.provisioned_throughput)
            check_throughput(constraints, f"{where}.update.provisionedThroughput", wish.provisioned_throughput)
            check_warm_throughput(constraints, f"{where}.update.warmThroughput", wish.warm_throughput)
        if update.delete is not None:
            constraints.name(f"{where}.delete.indexName", update.delete.index_name)
    check_warm_throughput(constraints, "warmThroughput", request.warm_throughput)
    check_encryption(constraints, request.encryption)
    check_stream(constraints, request.stream_specification)
    constraints.finish()
    throughput_of(request.provisioned_throughput)  # within bounds, whether the table exists or not
    check_table_class(request.table_class)
    check_stream_view(request.stream_specification)
    asked = (
        request.provisioned_throughput,
        request.billing_mode,
        request.deletion_protection_enabled,
        request.table_class,
        request.stream_specification,
        request.encryption,
        request.on_demand_throughput,
        request.warm_throughput,
    )
    if not updates and all(member is None for member in asked):
        refuse(
            "At least one of ProvisionedThroughput, BillingMode, UpdateStreamEnabled, GlobalSecondaryIndexUpdates, "
            "SSESpecification, ReplicaUpdates, MultiAccountReplicaReady, ReplicaTransitRoleArn, "
            "MultiRegionConsistency, DeletionProtectionEnabled, OnDemandThroughput, WarmThroughput or TableClass is "
            "required"
        )
    if request.global_secondary_index_updates == []:
        refuse(_INVALID + "List of GlobalSecondaryIndexUpdates is empty")
    if request.billing_mode == "PROVISIONED" and request.provisioned_throughput is None:
        refuse(_INVALID + "ProvisionedThroughput must be specified when BillingMode is PROVISIONED")
    _check_updates(updates)
    _check_one_concern(request, updates)
    return name


def _check_one_concern(request: UpdateTableInput, updates: list[GlobalIndexUpdate]) -> None:
    """Refuse combinations of changes that DynamoDB only accepts in separate requests."""
    asked = {
        "DeletionProtection": request.deletion_protection_enabled,
        "TableClass": request.table_class,
        "ProvisionedThroughput": request.provisioned_throughput,
        "BillingMode": request.billing_mode,
        "Stream": request.stream_specification,
        "Indexes": updates or None,
        "Encryption": request.encryption,
        "OnDemandThroughput": request.on_demand_throughput,
        "WarmThroughput": request.warm_throughput,
    }
    given = [concern for concern, wish in asked.items() if wish is not None]
    if given[0] in ("DeletionProtection", "TableClass") and len(given) > 1:
        refuse(_INVALID + f"{given[0]} modification must be the only operation in the request")
    if request.provisioned_throughput is not None and any(update.create or update.delete for update in updates):
        refuse(_INVALID + "You cannot create or delete index while updating table IOPS")


def _actions(update: GlobalIndexUpdate) -> list[IndexThroughput | IndexDeletion]:
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
        if len(actions) > 1:
            refuse(_INVALID + "Only one global secondary index action is allowed per GlobalSecondaryIndexUpdate object")
        for action in actions:
            if action.index_name in seen:
                refuse(
                    _INVALID + "Only one global secondary index update per index is allowed simultaneously. "
                    f"Index: {action.index_name}"
                )
            seen.add(action.index_name)
    if sum((update.create is not None) + (update.delete is not None) for update in updates) > 1:
        raise DynamoDBError("LimitExceededException", _ONE_AT_A_TIME)


def next_definition(
    request: UpdateTableInput, table: TableDefinition, now: float, last_record: int | None, shard_records: int
) -> TableChange:
    """Build the new definition, after checking the rules that depend on the current one.

    `last_record` is the sequence number of the newest stream record.
    """
    changed = _with_throughput(request, table, now)
    if request.stream_specification is not None:
        changed = _with_stream(request.stream_specification, changed, now, last_record, shard_records)
    if request.deletion_protection_enabled is not None:
        changed = replace(changed, protected=request.deletion_protection_enabled)
    if request.table_class is not None:
        changed = replace(changed, table_class=request.table_class)
    if request.encryption is not None:
        changed = replace(changed, encryption_key=encryption_key(request.encryption))
    created = deleted = None
    for update in request.global_secondary_index_updates or ():
        if update.create is not None:
            created = _created(request, update.create, changed)
            changed = replace(changed, indexes=(*changed.indexes, created))
        if update.delete is not None:
            deleted = _existing(table, update.delete.index_name, "delete")
            changed = replace(changed, indexes=tuple(index for index in changed.indexes if index is not deleted))
    return TableChange(replace(changed, attributes=_used_attributes(changed)), created, deleted)


_KEPT_SECONDS = 86_400
"""How long a disabled stream can still be read."""


def _with_stream(
    wish: StreamSpecification, table: TableDefinition, now: float, last_record: int | None, shard_records: int
) -> TableDefinition:
    current = table.stream
    kept = tuple(each for each in table.streams if each.ended is None or each.ended > now - _KEPT_SECONDS)
    if wish.stream_enabled:
        if current is not None:
            refuse("Table already has an enabled stream: TableName: " + table.name)
        first = 1 if last_record is None else last_record + 1
        # Labels have milliseconds, and no two streams of a table have the same.
        begin = max((now, *(each.created + 0.001 for each in kept)))
        return replace(table, streams=(*kept, new_stream(wish, begin, first, shard_records)))
    if current is None:
        refuse("Table has no stream to disable: TableName: " + table.name)
    last = current.first - 1 if last_record is None else max(last_record, current.first - 1)
    return replace(table, streams=(*kept[:-1], replace(current, ended=now, last=last)))


def _existing(table: TableDefinition, name: str | None, verb: str) -> IndexDefinition:
    index = table.by_name.get(name or "")
    if index is None:
        raise not_found(f"Requested resource not found: Index {name} for table {table.name}")
    if not index.is_global:
        refuse(f"Cannot {verb} an index that is not a GlobalSecondaryIndex: {name}")
    return index


def _check_blocked(table: TableDefinition, wish: IndexThroughput) -> None:
    """Refuse units out of bounds for an index that does not exist, with a message of their own."""
    units = wish.provisioned_throughput
    if wish.index_name in table.by_name or units is None:
        return
    if max(units.read_capacity_units or 0, units.write_capacity_units or 0) > limits.PROVISIONED_UNITS:
        refuse(
            "This operation cannot be performed with given input values. Please contact DynamoDB service team for more "
            "info: Action Blocked: IndexUpdate"
        )


def _created(request: UpdateTableInput, wish: SecondaryIndex, table: TableDefinition) -> IndexDefinition:
    if wish.index_name in table.by_name:
        refuse("Attempting to create an index which already exists")
    # The request must define all attributes of the new key, even those that the table has already defined.
    types = {
        str(definition.attribute_name): str(definition.attribute_type)
        for definition in request.attribute_definitions or ()
    }
    if not types:
        refuse(_INVALID + f"AttributeDefinitions is not specified for index: {wish.index_name}")
    number = max((index.number for index in table.indexes), default=-1) + 1
    index = read_index(number, wish, global_index_keys(wish, types), is_global=True)
    for keys in (table.keys, *(other.keys for other in table.indexes)):
        _check_same_types(keys, index.keys)
    if table.throughput is None and index.throughput is not None:
        refuse(
            _INVALID + f"Neither ReadCapacityUnits nor WriteCapacityUnits can be specified for index: {index.name} "
            "when BillingMode is PAY_PER_REQUEST"
        )
    if table.throughput is not None and index.throughput is None:
        refuse(_INVALID + f"Both ReadCapacityUnits and WriteCapacityUnits must be specified for index: {index.name}")
    if sum(index.is_global for index in table.indexes) >= limits.GLOBAL_INDEXES:
        raise DynamoDBError(
            "LimitExceededException",
            "Subscriber limit exceeded: Number of global secondary indexes exceeds per-table limit of "
            f"{limits.GLOBAL_INDEXES}",
        )
    check_indexes_together((*table.indexes, index))
    return index


def _check_same_types(known: KeySchema, new: KeySchema) -> None:
    """Refuse a key attribute that another key already uses with another type."""
    types = {attribute.name: attribute.type for attribute in known.attributes}
    if any(types.get(attribute.name, attribute.type) != attribute.type for attribute in new.attributes):
        refuse(
            _INVALID + "Attributes cannot be redefined. Please check that your attribute has the same type as "
            f"previously defined. Existing schema: {_schema(known)} New schema: {_schema(new)}"
        )


def _schema(keys: KeySchema) -> str:
    elements = ", ".join(
        f"SchemaElement: key{{{attribute.name}:{attribute.type}:{role}}}"
        for role, attributes in (("HASH", keys.partition), ("RANGE", keys.sort))
        for attribute in attributes
    )
    return f"Schema:[{elements}]"


def _used_attributes(table: TableDefinition) -> tuple[KeyElement, ...]:
    """Keep the definitions of exactly the attributes that some key uses."""
    every = [table.keys, *(index.keys for index in table.indexes)]
    used = dict.fromkeys(attribute for keys in every for attribute in keys.attributes)
    kept = [attribute for attribute in table.attributes if attribute in used]
    return tuple(dict.fromkeys((*kept, *used)))


def _with_throughput(request: UpdateTableInput, table: TableDefinition, now: float) -> TableDefinition:
    wanted = throughput_of(request.provisioned_throughput)
    was_on_demand = table.throughput is None
    on_demand = was_on_demand if request.billing_mode is None else request.billing_mode == "PAY_PER_REQUEST"
    if on_demand and wanted is not None:
        refuse(
            _INVALID + "Neither ReadCapacityUnits nor WriteCapacityUnits can be specified when BillingMode is "
            "PAY_PER_REQUEST"
        )
    _check_changes(table.throughput, wanted, "the table", "the table")
    indexes = {index.name: index for index in table.indexes}
    given: set[str] = set()
    for update in request.global_secondary_index_updates or ():
        if update.update is not None:
            wish = update.update
            _check_blocked(table, wish)
            index = _existing(table, wish.index_name, "update")
            if on_demand and wish.provisioned_throughput is not None:
                refuse(
                    _INVALID + f"The only Updates for index: {index.name} when TableThroughputMode is PAY_PER_REQUEST "
                    "can be to OnDemandThroughput, WarmThroughput"
                )
            units = throughput_of(wish.provisioned_throughput, index.name)
            _check_changes(index.throughput, units, f"index {index.name}", f"the index {index.name}")
            indexes[index.name] = replace(
                index,
                throughput=index.throughput if units is None else units,
                changes=_with_change(index.changes, index.throughput, units, now),
                on_demand=_next_limits(index.on_demand, wish.on_demand_throughput, f"index: {index.name}", on_demand),
                warm=warm_units(wish.warm_throughput, index.throughput, index.warm),
            )
            given.add(index.name)
        if update.delete is not None:
            given.add(str(update.delete.index_name))
    if on_demand and not was_on_demand:
        indexes = {name: replace(index, throughput=None) for name, index in indexes.items()}
    if was_on_demand and not on_demand:
        indexes = {name: replace(index, on_demand=(None, None)) for name, index in indexes.items()}
    if was_on_demand and not on_demand:
        missing = [index.name for index in table.indexes if index.is_global and index.name not in given]
        if missing:
            refuse(_INVALID + f"ProvisionedThroughput must be specified for index: {','.join(missing)}")
    return replace(
        table,
        indexes=tuple(indexes.values()),
        throughput=None if on_demand else wanted or table.throughput,
        changes=_with_change(table.changes, table.throughput, wanted, now),
        on_demand=_next_limits(table.on_demand, request.on_demand_throughput, "table", on_demand),
        warm=warm_units(request.warm_throughput, table.throughput, table.warm),
        on_demand_since=now if on_demand and not was_on_demand else table.on_demand_since,
    )


def _with_change(
    changes: ThroughputChanges, current: tuple[int, int] | None, requested: tuple[int, int] | None, now: float
) -> ThroughputChanges:
    """The changes after another one. Decreases are counted by the day."""
    if current is None or requested is None or current == requested:
        return changes
    rises = any(new > old for new, old in zip(requested, current, strict=True))
    falls = any(new < old for new, old in zip(requested, current, strict=True))
    today = decreases_today(changes, now)
    return ThroughputChanges(
        now if rises else changes.increased, now if falls else changes.decreased, today + 1 if falls else today
    )


def decreases_today(changes: ThroughputChanges, now: float) -> int:
    is_today = changes.decreased is not None and int(changes.decreased // _DAY) == int(now // _DAY)
    return changes.decreases if is_today else 0


_DAY = 86_400


def _next_limits(
    current: OnDemandLimits, wish: OnDemandThroughput | None, where: str, on_demand: bool
) -> OnDemandLimits:
    """The limits on demand after an update, in which -1 removes one."""
    asked = merged_limits((None, None), wish)
    if not on_demand:
        for member, units in zip(("MaxReadRequestUnits", "MaxWriteRequestUnits"), asked, strict=True):
            if units is not None:
                refuse(
                    _INVALID + f"{member} for OnDemandThroughput cannot be specified when the table BillingMode is "
                    "PROVISIONED"
                )
        return (None, None)
    check_limits(asked, where, least=-1)
    read, write = merged_limits(current, wish)
    return (None if read == -1 else read, None if write == -1 else write)


def _check_changes(current: tuple[int, int] | None, requested: tuple[int, int] | None, where: str, name: str) -> None:
    if requested is not None and requested == current:
        read, write = requested
        refuse(
            f"The provisioned throughput for {name} will not change. The requested value equals the current value. "
            f"Current ReadCapacityUnits provisioned for {where}: {read}. Requested ReadCapacityUnits: {read}. "
            f"Current WriteCapacityUnits provisioned for {where}: {write}. Requested WriteCapacityUnits: {write}. "
            "Refer to the Amazon DynamoDB Developer Guide for current limits and how to request higher limits."
        )
