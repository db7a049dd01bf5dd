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
    created_index: IndexDefinition | None = None
    deleted_index: IndexDefinition | None = None


def check_update_table(request: UpdateTableInput) -> str:
    """Check each member on its own. Return the table's name."""
    name = table_name(request.table_name)
    constraints = Constraints()
    constraints.one_of("billingMode", request.billing_mode, ("PROVISIONED", "PAY_PER_REQUEST"))
    check_throughput(constraints, "provisionedThroughput", request.provisioned_throughput)
    check_attributes(constraints, request.attribute_definitions)
    updates = request.global_secondary_index_updates or []
    for number, update in enumerate(updates, 1):
        member_path = f"globalSecondaryIndexUpdates.{number}.member"
        if update.create is not None:
            check_index(constraints, f"{member_path}.create", update.create, 8)
        if update.update is not None:
            constraints.name(f"{member_path}.update.indexName", update.update.index_name)
            throughput_request = update.update
            if throughput_request.on_demand_throughput is None and throughput_request.warm_throughput is None:
                constraints.require(
                    f"{member_path}.update.provisionedThroughput", throughput_request.provisioned_throughput
                )
            check_throughput(
                constraints, f"{member_path}.update.provisionedThroughput", throughput_request.provisioned_throughput
            )
            check_warm_throughput(
                constraints, f"{member_path}.update.warmThroughput", throughput_request.warm_throughput
            )
        if update.delete is not None:
            constraints.name(f"{member_path}.delete.indexName", update.delete.index_name)
    check_warm_throughput(constraints, "warmThroughput", request.warm_throughput)
    check_encryption(constraints, request.encryption)
    check_stream(constraints, request.stream_specification)
    constraints.finish()
    # From here on, rules about several members. AWS reports them one at a time, in this order, and most of them even if
    # the table does not exist.
    throughput_of(request.provisioned_throughput)
    check_table_class(request.table_class)
    check_stream_view(request.stream_specification)
    settings = (
        request.provisioned_throughput,
        request.billing_mode,
        request.deletion_protection_enabled,
        request.table_class,
        request.stream_specification,
        request.encryption,
        request.on_demand_throughput,
        request.warm_throughput,
    )
    if not updates and all(member is None for member in settings):
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
    _check_combination(request, updates)
    return name


def _check_combination(request: UpdateTableInput, updates: list[GlobalIndexUpdate]) -> None:
    """Refuse combinations of changes that DynamoDB only accepts in separate requests."""
    requested_changes = {
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
    concerns = [concern for concern, setting in requested_changes.items() if setting is not None]
    if concerns[0] in ("DeletionProtection", "TableClass") and len(concerns) > 1:
        refuse(_INVALID + f"{concerns[0]} modification must be the only operation in the request")
    if request.provisioned_throughput is not None and any(update.create or update.delete for update in updates):
        refuse(_INVALID + "You cannot create or delete index while updating table IOPS")


def _actions(update: GlobalIndexUpdate) -> list[IndexThroughput | IndexDeletion]:
    return [action for action in (update.update, update.create, update.delete) if action is not None]


def _check_updates(updates: list[GlobalIndexUpdate]) -> None:
    index_names: set[str | None] = set()
    for update in updates:
        actions = _actions(update)
        if not actions:
            refuse(
                _INVALID + "One of GlobalSecondaryIndexUpdate.Update, GlobalSecondaryIndexUpdate.Create, "
                "GlobalSecondaryIndexUpdate.Delete must not be null"
            )
        # The API's model has three optional members of which exactly one has to be there.
        if len(actions) > 1:
            refuse(_INVALID + "Only one global secondary index action is allowed per GlobalSecondaryIndexUpdate object")
        for action in actions:
            if action.index_name in index_names:
                refuse(
                    _INVALID + "Only one global secondary index update per index is allowed simultaneously. "
                    f"Index: {action.index_name}"
                )
            index_names.add(action.index_name)
    if sum((update.create is not None) + (update.delete is not None) for update in updates) > 1:
        raise DynamoDBError("LimitExceededException", _ONE_AT_A_TIME)


def next_definition(
    request: UpdateTableInput, table: TableDefinition, now: float, last_record: int | None, shard_records: int
) -> TableChange:
    """Build the new definition, after checking the rules that depend on the current one.

    `last_record` is the sequence number of the newest stream record.
    """
    # The billing mode comes first, because it decides whether a new index needs units.
    new_table = _with_throughput(request, table, now)
    if request.stream_specification is not None:
        new_table = _with_stream(request.stream_specification, new_table, now, last_record, shard_records)
    if request.deletion_protection_enabled is not None:
        new_table = replace(new_table, protected=request.deletion_protection_enabled)
    if request.table_class is not None:
        new_table = replace(new_table, table_class=request.table_class)
    if request.encryption is not None:
        new_table = replace(new_table, encryption_key=encryption_key(request.encryption))
    created_index = deleted_index = None
    for update in request.global_secondary_index_updates or ():
        if update.create is not None:
            created_index = _new_index(request, update.create, new_table)
            new_table = replace(new_table, indexes=(*new_table.indexes, created_index))
        if update.delete is not None:
            deleted_index = _existing_global_index(table, update.delete.index_name, "delete")
            new_table = replace(
                new_table, indexes=tuple(index for index in new_table.indexes if index is not deleted_index)
            )
    return TableChange(replace(new_table, attributes=_used_attributes(new_table)), created_index, deleted_index)


_KEPT_SECONDS = 86_400
"""How long a disabled stream can still be read."""


def _with_stream(
    specification: StreamSpecification, table: TableDefinition, now: float, last_record: int | None, shard_records: int
) -> TableDefinition:
    current = table.stream
    readable_streams = tuple(
        stream for stream in table.streams if stream.ended is None or stream.ended > now - _KEPT_SECONDS
    )
    if specification.stream_enabled:
        if current is not None:
            refuse("Table already has an enabled stream: TableName: " + table.name)
        first = 1 if last_record is None else last_record + 1
        # Labels have milliseconds, and no two streams of a table have the same.
        created = max((now, *(stream.created + 0.001 for stream in readable_streams)))
        return replace(table, streams=(*readable_streams, new_stream(specification, created, first, shard_records)))
    if current is None:
        refuse("Table has no stream to disable: TableName: " + table.name)
    # A stream without records ends before its first number.
    last = current.first - 1 if last_record is None else max(last_record, current.first - 1)
    return replace(table, streams=(*readable_streams[:-1], replace(current, ended=now, last=last)))


def _existing_global_index(table: TableDefinition, name: str | None, verb: str) -> IndexDefinition:
    index = table.by_name.get(name or "")
    if index is None:
        raise not_found(f"Requested resource not found: Index {name} for table {table.name}")
    if not index.is_global:
        refuse(f"Cannot {verb} an index that is not a GlobalSecondaryIndex: {name}")
    return index


def _check_units_of_missing_index(table: TableDefinition, request: IndexThroughput) -> None:
    """Refuse units out of bounds for an index that does not exist, with a message of their own."""
    units = request.provisioned_throughput
    if request.index_name in table.by_name or units is None:
        return
    if max(units.read_capacity_units or 0, units.write_capacity_units or 0) > limits.PROVISIONED_UNITS:
        refuse(
            "This operation cannot be performed with given input values. Please contact DynamoDB service team for more "
            "info: Action Blocked: IndexUpdate"
        )


def _new_index(request: UpdateTableInput, index_request: SecondaryIndex, table: TableDefinition) -> IndexDefinition:
    if index_request.index_name in table.by_name:
        refuse("Attempting to create an index which already exists")
    # The request must define all attributes of the new key, even those that the table has already defined.
    types = {
        str(definition.attribute_name): str(definition.attribute_type)
        for definition in request.attribute_definitions or ()
    }
    if not types:
        refuse(_INVALID + f"AttributeDefinitions is not specified for index: {index_request.index_name}")
    number = max((index.number for index in table.indexes), default=-1) + 1
    index = read_index(number, index_request, global_index_keys(index_request, types), is_global=True)
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


def _check_same_types(existing_keys: KeySchema, new_keys: KeySchema) -> None:
    """Refuse a key attribute that another key already uses with another type."""
    types = {attribute.name: attribute.type for attribute in existing_keys.attributes}
    if any(types.get(attribute.name, attribute.type) != attribute.type for attribute in new_keys.attributes):
        refuse(
            _INVALID + "Attributes cannot be redefined. Please check that your attribute has the same type as "
            f"previously defined. Existing schema: {_schema(existing_keys)} New schema: {_schema(new_keys)}"
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
    schemas = [table.keys, *(index.keys for index in table.indexes)]
    used_attributes = dict.fromkeys(attribute for keys in schemas for attribute in keys.attributes)
    remaining_attributes = [attribute for attribute in table.attributes if attribute in used_attributes]
    return tuple(dict.fromkeys((*remaining_attributes, *used_attributes)))


def _with_throughput(request: UpdateTableInput, table: TableDefinition, now: float) -> TableDefinition:
    """The table and its indexes with another billing mode, other units or other limits.

    As DynamoDB does, this checks the table first, then each index in the order of the request, and only then whether
    all indexes have the units that provisioned throughput requires.
    """
    requested_units = throughput_of(request.provisioned_throughput)
    was_on_demand = table.throughput is None
    on_demand = was_on_demand if request.billing_mode is None else request.billing_mode == "PAY_PER_REQUEST"
    if on_demand and requested_units is not None:
        refuse(
            _INVALID + "Neither ReadCapacityUnits nor WriteCapacityUnits can be specified when BillingMode is "
            "PAY_PER_REQUEST"
        )
    _check_units_differ(table.throughput, requested_units, "the table", "the table")
    indexes = _with_index_updates(request, table, now, on_demand)
    if on_demand and not was_on_demand:
        indexes = [replace(index, throughput=None) for index in indexes]
    if was_on_demand and not on_demand:
        indexes = [replace(index, on_demand=(None, None)) for index in indexes]
        _check_all_indexes_have_units(request, table)
    return replace(
        table,
        indexes=tuple(indexes),
        throughput=None if on_demand else requested_units or table.throughput,
        changes=_record_throughput_change(table.changes, table.throughput, requested_units, now),
        on_demand=_limits_after_update(table.on_demand, request.on_demand_throughput, "table", on_demand),
        warm=warm_units(request.warm_throughput, table.throughput, table.warm),
        on_demand_since=now if on_demand and not was_on_demand else table.on_demand_since,
    )


def _with_index_updates(
    request: UpdateTableInput, table: TableDefinition, now: float, on_demand: bool
) -> list[IndexDefinition]:
    """The indexes of a table, those that the request updates with their new units and limits."""
    indexes = {index.name: index for index in table.indexes}
    for update in request.global_secondary_index_updates or ():
        if update.update is not None:
            index = _updated_index(update.update, table, now, on_demand)
            indexes[index.name] = index
    return list(indexes.values())


def _updated_index(
    index_request: IndexThroughput, table: TableDefinition, now: float, on_demand: bool
) -> IndexDefinition:
    _check_units_of_missing_index(table, index_request)
    index = _existing_global_index(table, index_request.index_name, "update")
    if on_demand and index_request.provisioned_throughput is not None:
        refuse(
            _INVALID + f"The only Updates for index: {index.name} when TableThroughputMode is PAY_PER_REQUEST "
            "can be to OnDemandThroughput, WarmThroughput"
        )
    units = throughput_of(index_request.provisioned_throughput, index.name)
    _check_units_differ(index.throughput, units, f"index {index.name}", f"the index {index.name}")
    limits_after = _limits_after_update(
        index.on_demand, index_request.on_demand_throughput, f"index: {index.name}", on_demand
    )
    return replace(
        index,
        throughput=index.throughput if units is None else units,
        changes=_record_throughput_change(index.changes, index.throughput, units, now),
        on_demand=limits_after,
        warm=warm_units(index_request.warm_throughput, index.throughput, index.warm),
    )


def _check_all_indexes_have_units(request: UpdateTableInput, table: TableDefinition) -> None:
    """Refuse to provision a table without units for each of its global indexes. One that it deletes needs none."""
    named_indexes: set[str | None] = set()
    for update in request.global_secondary_index_updates or ():
        if update.update is not None:
            named_indexes.add(update.update.index_name)
        if update.delete is not None:
            named_indexes.add(update.delete.index_name)
    missing_names = [index.name for index in table.indexes if index.is_global and index.name not in named_indexes]
    if missing_names:
        refuse(_INVALID + f"ProvisionedThroughput must be specified for index: {','.join(missing_names)}")


def _record_throughput_change(
    changes: ThroughputChanges, current: tuple[int, int] | None, requested_units: tuple[int, int] | None, now: float
) -> ThroughputChanges:
    """The changes after another one. Decreases are counted by the day."""
    if current is None or requested_units is None or current == requested_units:
        return changes
    rises = any(new > old for new, old in zip(requested_units, current, strict=True))
    falls = any(new < old for new, old in zip(requested_units, current, strict=True))
    today = decreases_today(changes, now)
    return ThroughputChanges(
        now if rises else changes.increased, now if falls else changes.decreased, today + 1 if falls else today
    )


def decreases_today(changes: ThroughputChanges, now: float) -> int:
    is_today = changes.decreased is not None and int(changes.decreased // _DAY) == int(now // _DAY)
    return changes.decreases if is_today else 0


_DAY = 86_400


def _limits_after_update(
    current: OnDemandLimits, requested_limits: OnDemandThroughput | None, target: str, on_demand: bool
) -> OnDemandLimits:
    """The limits on demand after an update, in which -1 removes one."""
    explicit_limits = merged_limits((None, None), requested_limits)
    if not on_demand:
        for member, units in zip(("MaxReadRequestUnits", "MaxWriteRequestUnits"), explicit_limits, strict=True):
            if units is not None:
                refuse(
                    _INVALID + f"{member} for OnDemandThroughput cannot be specified when the table BillingMode is "
                    "PROVISIONED"
                )
        return (None, None)
    check_limits(explicit_limits, target, minimum=-1)
    read, write = merged_limits(current, requested_limits)
    return (None if read == -1 else read, None if write == -1 else write)


def _check_units_differ(
    current: tuple[int, int] | None, requested_units: tuple[int, int] | None, owner: str, owner_name: str
) -> None:
    if requested_units is not None and requested_units == current:
        read, write = requested_units
        refuse(
            f"The provisioned throughput for {owner_name} will not change. "
            "The requested value equals the current value. "
            f"Current ReadCapacityUnits provisioned for {owner}: {read}. Requested ReadCapacityUnits: {read}. "
            f"Current WriteCapacityUnits provisioned for {owner}: {write}. Requested WriteCapacityUnits: {write}. "
            "Refer to the Amazon DynamoDB Developer Guide for current limits and how to request higher limits."
        )
