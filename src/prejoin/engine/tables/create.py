"""Turn a CreateTable request into a definition, with all rules about keys, attributes, indexes and projections."""

from __future__ import annotations

import time
from datetime import UTC, datetime

from prejoin.engine.requests import (
    AttributeDefinition,
    CreateTableInput,
    KeySchemaElement,
    OnDemandThroughput,
    ProvisionedThroughput,
    SecondaryIndex,
    SSESpecification,
    StreamSpecification,
    WarmThroughput,
)
from prejoin.engine.tables.definition import (
    IndexDefinition,
    KeyElement,
    KeySchema,
    OnDemandLimits,
    StreamDefinition,
    TableDefinition,
)
from prejoin.engine.tables.tags import check_tags, with_tags
from prejoin.engine.validation import Constraints, table_name
from prejoin.protocol import limits
from prejoin.protocol.errors import refuse

_INVALID = "One or more parameter values were invalid: "
_ACCOUNT = "arn:aws:kms:local:000000000000:"
_MANAGED_BY_AWS = _ACCOUNT + "key/00000000-0000-0000-0000-000000000000"
TABLE_CLASSES = ("STANDARD", "STANDARD_INFREQUENT_ACCESS")


def check_create_table(request: CreateTableInput) -> str:
    """Check each member on its own. Return the table's name."""
    if request.table_name is None:
        refuse("The parameter 'TableName' is required but was not present in the request")
    name = table_name(request.table_name, limits.TABLE_NAME_MINIMUM)
    constraints = Constraints()
    constraints.one_of("billingMode", request.billing_mode, ("PROVISIONED", "PAY_PER_REQUEST"))
    check_throughput(constraints, "provisionedThroughput", request.provisioned_throughput)
    constraints.require("attributeDefinitions", request.attribute_definitions)
    check_attributes(constraints, request.attribute_definitions)
    _check_key_schema(constraints, "keySchema", request.key_schema, 2)
    for member, indexes, key_limit in (
        ("globalSecondaryIndexes", request.global_secondary_indexes, 8),
        ("localSecondaryIndexes", request.local_secondary_indexes, 2),
    ):
        for number, index in enumerate(indexes or (), 1):
            check_index(constraints, f"{member}.{number}.member", index, key_limit)
    check_warm_throughput(constraints, "warmThroughput", request.warm_throughput)
    check_encryption(constraints, request.encryption)
    check_tags(constraints, request.tags)
    check_stream(constraints, request.stream_specification)
    constraints.finish()
    check_table_class(request.table_class)
    check_stream_view(request.stream_specification)
    return name


def check_table_class(table_class: str | None) -> None:
    if table_class is not None and table_class not in TABLE_CLASSES:
        refuse(
            "Invalid table-class parameter provided. Please try again with a valid table-class value: "
            f"[{', '.join(TABLE_CLASSES)}]."
        )


VIEWS = ("NEW_IMAGE", "OLD_IMAGE", "NEW_AND_OLD_IMAGES", "KEYS_ONLY")


def check_stream(constraints: Constraints, specification: StreamSpecification | None) -> None:
    if specification is not None:
        constraints.require("streamSpecification.streamEnabled", specification.stream_enabled)
        constraints.one_of("streamSpecification.streamViewType", specification.stream_view_type, VIEWS)


def check_stream_view(specification: StreamSpecification | None) -> None:
    """Check that a stream has a view if it is enabled, and none otherwise."""
    if specification is not None and specification.stream_enabled and specification.stream_view_type is None:
        refuse(_INVALID + "Table is being created with a stream enabled, StreamViewType must be specified")
    if specification is not None and not specification.stream_enabled and specification.stream_view_type is not None:
        refuse(_INVALID + "Table is being created with a stream disabled, UpdateViewType should not be specified")


def new_stream(specification: StreamSpecification, now: float, first: int, shard_records: int) -> StreamDefinition:
    label = datetime.fromtimestamp(now, UTC).isoformat(timespec="milliseconds").removesuffix("+00:00")
    return StreamDefinition(label, str(specification.stream_view_type), now, first, shard_records)


def check_attributes(constraints: Constraints, definitions: list[AttributeDefinition] | None) -> None:
    for number, definition in enumerate(definitions or (), 1):
        member_path = f"attributeDefinitions.{number}.member"
        constraints.require(f"{member_path}.attributeName", definition.attribute_name)
        check_attribute_name(constraints, f"{member_path}.attributeName", definition.attribute_name)
        constraints.require(f"{member_path}.attributeType", definition.attribute_type)
        constraints.one_of(f"{member_path}.attributeType", definition.attribute_type, ("B", "N", "S"))


def check_attribute_name(constraints: Constraints, member: str, name: str | None) -> None:
    """Check the length of a name. Attributes of keys, projections and time to live have shorter names than others."""
    if name == "":
        constraints.fail(member, name, "Member must have length greater than or equal to 1")
    elif name is not None and len(name) > limits.KEY_NAME_LENGTH:
        constraints.fail(member, name, f"Member must have length less than or equal to {limits.KEY_NAME_LENGTH}")


def check_index(constraints: Constraints, member: str, index: SecondaryIndex, key_limit: int) -> None:
    constraints.name(f"{member}.indexName", index.index_name)
    _check_key_schema(constraints, f"{member}.keySchema", index.key_schema, key_limit)
    constraints.require(f"{member}.projection", index.projection)
    if index.projection is not None:
        kinds = ("ALL", "INCLUDE", "KEYS_ONLY")
        constraints.one_of(f"{member}.projection.projectionType", index.projection.projection_type, kinds)
        attribute_names = index.projection.non_key_attributes
        if attribute_names == []:
            constraints.fail(
                f"{member}.projection.nonKeyAttributes", "[]", "Member must have length greater than or equal to 1"
            )
        if attribute_names and len(attribute_names) > limits.INDEX_PROJECTED_ATTRIBUTES:
            constraints.fail(
                f"{member}.projection.nonKeyAttributes",
                f"[{', '.join(attribute_names)}]",
                f"Member must have length less than or equal to {limits.INDEX_PROJECTED_ATTRIBUTES}",
            )
        for number, name in enumerate(attribute_names or (), 1):
            check_attribute_name(constraints, f"{member}.projection.nonKeyAttributes.{number}.member", name)
    check_throughput(constraints, f"{member}.provisionedThroughput", index.provisioned_throughput)
    check_warm_throughput(constraints, f"{member}.warmThroughput", index.warm_throughput)


def check_warm_throughput(constraints: Constraints, member: str, warm: WarmThroughput | None) -> None:
    if warm is not None:
        constraints.at_least(f"{member}.readUnitsPerSecond", warm.read_units_per_second, 1)
        constraints.at_least(f"{member}.writeUnitsPerSecond", warm.write_units_per_second, 1)


def _check_key_schema(
    constraints: Constraints, member: str, elements: list[KeySchemaElement] | None, limit: int
) -> None:
    constraints.require(member, elements)
    if elements is None:
        return
    if not elements:
        constraints.fail(member, "[]", "Member must have length greater than or equal to 1")
    if len(elements) > limit:
        elements_text = ", ".join(
            f"KeySchemaElement(attributeName={element.attribute_name}, keyType={element.key_type})"
            for element in elements
        )
        constraints.fail(member, f"[{elements_text}]", f"Member must have length less than or equal to {limit}")
    for number, element in enumerate(elements, 1):
        constraints.require(f"{member}.{number}.member.attributeName", element.attribute_name)
        check_attribute_name(constraints, f"{member}.{number}.member.attributeName", element.attribute_name)
        constraints.require(f"{member}.{number}.member.keyType", element.key_type)
        constraints.one_of(f"{member}.{number}.member.keyType", element.key_type, ("HASH", "RANGE"))


def check_throughput(constraints: Constraints, member: str, throughput: ProvisionedThroughput | None) -> None:
    if throughput is not None:
        for name, units in (
            ("writeCapacityUnits", throughput.write_capacity_units),
            ("readCapacityUnits", throughput.read_capacity_units),
        ):
            constraints.require(f"{member}.{name}", units)
            constraints.at_least(f"{member}.{name}", units, 1)


def read_definition(request: CreateTableInput, name: str) -> TableDefinition:
    """Build the definition, after checking the rules that span several members.

    DynamoDB reports only the first violation, and tests that were written on AWS assert which one. So the order of the
    checks is part of what is emulated: billing, attributes, all key schemas (the table's, of local indexes, of global
    indexes), attributes that no key uses, then everything else about local and about global indexes, what indexes may
    have together, and at last the settings of the table.
    """
    on_demand = request.billing_mode == "PAY_PER_REQUEST"
    throughput = _billed_throughput(request, on_demand)
    types = _attribute_types(request.attribute_definitions or [])
    keys = _key_schema_of(request.key_schema or [], types, is_table=True)
    local_requests = _indexes_in_request(request.local_secondary_indexes, "LocalSecondaryIndexes")
    local_keys = [_local_keys(index_request, types, keys) for index_request in local_requests]
    global_requests = _indexes_in_request(request.global_secondary_indexes, "GlobalSecondaryIndexes")
    global_keys = [global_index_keys(index_request, types) for index_request in global_requests]
    _check_attributes_are_used(types, [keys, *local_keys, *global_keys])
    local_indexes = _read_local_indexes(local_requests, local_keys)
    global_indexes = _read_global_indexes(global_requests, global_keys, len(local_indexes), on_demand)
    indexes = (*local_indexes, *global_indexes)
    check_indexes_together(indexes)
    return TableDefinition(
        id=0,
        name=name,
        uuid="",
        created=0.0,
        keys=keys,
        attributes=tuple(KeyElement(attribute, kind) for attribute, kind in types.items()),
        indexes=indexes,
        throughput=throughput,
        on_demand=_limits_of_new(request.on_demand_throughput, "table", on_demand),
        warm=warm_units(request.warm_throughput, throughput, None),
        tags=with_tags((), request.tags or []),
        policy=None if request.resource_policy is None else (request.resource_policy, new_revision()),
        protected=bool(request.deletion_protection_enabled),
        table_class=request.table_class,
        encryption_key=encryption_key(request.encryption),
    )


def _billed_throughput(request: CreateTableInput, on_demand: bool) -> tuple[int, int] | None:
    """The provisioned units of a new table. It has some exactly if it is not on demand."""
    throughput = throughput_of(request.provisioned_throughput)
    if on_demand and throughput is not None:
        refuse(
            _INVALID + "Neither ReadCapacityUnits nor WriteCapacityUnits can be specified when BillingMode is "
            "PAY_PER_REQUEST"
        )
    if not on_demand and throughput is None:
        refuse(
            _INVALID + "ReadCapacityUnits and WriteCapacityUnits must both be specified when BillingMode is PROVISIONED"
        )
    return throughput


def _attribute_types(definitions: list[AttributeDefinition]) -> dict[str, str]:
    types: dict[str, str] = {}
    for definition in definitions:
        attribute = str(definition.attribute_name)
        if attribute in types:
            refuse(f"Attribute Name is duplicated: {attribute}")
        types[attribute] = str(definition.attribute_type)
    return types


def _read_local_indexes(requests: list[SecondaryIndex], schemas: list[KeySchema]) -> list[IndexDefinition]:
    indexes = [
        read_index(number, index_request, keys, is_global=False)
        for number, (index_request, keys) in enumerate(zip(requests, schemas, strict=True))
    ]
    if len(indexes) > limits.LOCAL_INDEXES:
        refuse(_INVALID + "Number of LocalSecondaryIndexes exceeds per-table limit of 5")
    return indexes


def _read_global_indexes(
    requests: list[SecondaryIndex], schemas: list[KeySchema], first_number: int, on_demand: bool
) -> list[IndexDefinition]:
    """The global indexes, which follow the local ones in the numbers of a table's indexes."""
    indexes = [
        read_index(number, index_request, keys, is_global=True)
        for number, (index_request, keys) in enumerate(zip(requests, schemas, strict=True), first_number)
    ]
    for index in indexes:
        if on_demand and index.throughput is not None:
            refuse(
                _INVALID + f"ProvisionedThroughput should not be specified for index: {index.name} "
                "when BillingMode is PAY_PER_REQUEST"
            )
        if not on_demand and index.throughput is None:
            refuse(_INVALID + f"ProvisionedThroughput is not specified for index: {index.name}")
    if len(indexes) > limits.GLOBAL_INDEXES:
        refuse(_INVALID + "GlobalSecondaryIndex count exceeds the per-table limit of 20")
    for index_request in requests:
        # Only checked here: `read_index` has already read the limits into the definition.
        _limits_of_new(index_request.on_demand_throughput, f"index: {index_request.index_name}", on_demand)
    return indexes


def _check_attributes_are_used(types: dict[str, str], schemas: list[KeySchema]) -> None:
    """Refuse attribute definitions that no key uses. DynamoDB checks this before anything else about indexes."""
    used_names = dict.fromkeys(name for keys in schemas for name in keys.names)
    if len(used_names) == len(types):
        return
    if len(schemas) == 1:
        refuse(
            _INVALID + "Number of attributes in KeySchema does not exactly match number of attributes "
            "defined in AttributeDefinitions"
        )
    refuse(
        _INVALID + "Some AttributeDefinitions are not used. "
        f"AttributeDefinitions: [{', '.join(types)}], keys used: [{', '.join(used_names)}]"
    )


def _indexes_in_request(indexes: list[SecondaryIndex] | None, member: str) -> list[SecondaryIndex]:
    if indexes is not None and not indexes:
        refuse(_INVALID + f"List of {member} is empty")
    return indexes or []


def _key_schema_of(elements: list[KeySchemaElement], types: dict[str, str], *, is_table: bool = False) -> KeySchema:
    names = [str(element.attribute_name) for element in elements]
    # Of a table, DynamoDB compares the numbers first, and has another message for that.
    if is_table and len(names) > len(types):
        refuse("Invalid KeySchema: Some index key attribute have no definition")
    if not set(names) <= set(types):
        refuse(
            _INVALID + "Some index key attributes are not defined in AttributeDefinitions. "
            f"Keys: [{', '.join(names)}], AttributeDefinitions: [{', '.join(types)}]"
        )
    # AWS words the same mistakes differently for the keys of a table and of an index.
    if len(set(names)) < len(names):
        refuse(
            "Both the Hash Key and the Range Key element in the KeySchema have the same name"
            if is_table
            else "The KeySchema contains multiple key attributes with the same name"
        )
    kinds = [element.key_type for element in elements]
    # The order of the roles comes last. An index may have several attributes of each.
    if kinds[0] != "HASH":
        refuse("Invalid KeySchema: The first KeySchemaElement is not a HASH key type")
    if len(kinds) == 2 and kinds[1] != "RANGE" and is_table:
        refuse("Invalid KeySchema: The second KeySchemaElement is not a RANGE key type")
    attributes = [KeyElement(name, types[name]) for name in names]
    partitions = kinds.count("HASH")
    if kinds != ["HASH"] * partitions + ["RANGE"] * (len(kinds) - partitions):
        refuse(_INVALID + "All HASH key attributes must precede RANGE key attributes in the KeySchema")
    return KeySchema(tuple(attributes[:partitions]), tuple(attributes[partitions:]))


def _local_keys(index: SecondaryIndex, types: dict[str, str], table_keys: KeySchema) -> KeySchema:
    if not table_keys.sort:
        refuse(
            _INVALID + "Table KeySchema does not have a range key, which is required when specifying a "
            "LocalSecondaryIndex"
        )
    keys = _key_schema_of(index.key_schema or [], types, is_table=True)
    if not keys.sort:
        refuse(_INVALID + f"Index KeySchema does not have a range key for index: {index.index_name}")
    if keys.partition != table_keys.partition:
        refuse(
            _INVALID + "Index KeySchema does not have the same leading hash key as table KeySchema for index: "
            f"{index.index_name}. index hash key: {keys.partition[0].name}, "
            f"table hash key: {table_keys.partition[0].name}"
        )
    return keys


def global_index_keys(index: SecondaryIndex, types: dict[str, str]) -> KeySchema:
    """The key schema of a global index."""
    keys = _key_schema_of(index.key_schema or [], types)
    for attributes, limit, role in (
        (keys.partition, limits.INDEX_PARTITION_ATTRIBUTES, "HASH"),
        (keys.sort, limits.INDEX_SORT_ATTRIBUTES, "RANGE"),
    ):
        if len(attributes) > limit:
            refuse(_INVALID + f"The KeySchema exceeds the maximum allowed number of {role} key attributes")
    return keys


def read_index(number: int, index: SecondaryIndex, keys: KeySchema, *, is_global: bool) -> IndexDefinition:
    projection = index.projection
    kind = projection.projection_type if projection else None
    if kind is None:
        refuse(_INVALID + "Unknown ProjectionType: null")
    attribute_names = (projection.non_key_attributes if projection else None) or []
    if attribute_names and kind != "INCLUDE":
        refuse(_INVALID + f"ProjectionType is {kind}, but NonKeyAttributes is specified")
    if kind == "INCLUDE" and not attribute_names:
        refuse(_INVALID + "ProjectionType is INCLUDE, but NonKeyAttributes is not specified")
    for number_of_name, name in enumerate(attribute_names):
        if name in attribute_names[:number_of_name]:
            refuse(_INVALID + f"Duplicate element in NonKeyAttributes: {name}")
    throughput = throughput_of(index.provisioned_throughput, index.index_name)
    return IndexDefinition(
        number,
        str(index.index_name),
        keys,
        is_global,
        kind,
        tuple(attribute_names),
        throughput,
        on_demand=merged_limits((None, None), index.on_demand_throughput),
        warm=warm_units(index.warm_throughput, throughput, None),
    )


def check_indexes_together(indexes: tuple[IndexDefinition, ...]) -> None:
    names_seen: set[str] = set()
    for index in indexes:
        if index.name in names_seen:
            refuse(_INVALID + f"Duplicate index name: {index.name}")
        names_seen.add(index.name)
    if sum(len(index.included) for index in indexes) > limits.PROJECTED_ATTRIBUTES:
        refuse(_INVALID + "Number of NonKeyAttributes over all indexes exceeds the limit of 100")


def throughput_of(throughput: ProvisionedThroughput | None, index: str | None = None) -> tuple[int, int] | None:
    """Read and write units, within DynamoDB's bounds. `index` is the name of the index that has them."""
    if throughput is None:
        return None
    read, write = throughput.read_capacity_units or 0, throughput.write_capacity_units or 0
    for member, units in (("ReadCapacityUnits", read), ("WriteCapacityUnits", write)):
        if units > limits.PROVISIONED_UNITS:
            context = "" if index is None else f" for index {index}"
            refuse(f"Given value {units} for {member} is out of bounds{context}")
    return read, write


_LIMITS = (("MaxReadRequestUnits", 0), ("MaxWriteRequestUnits", 1))


def _limits_of_new(requested_limits: OnDemandThroughput | None, target: str, on_demand: bool) -> OnDemandLimits:
    """The limits of a new table or index, which have to be on demand."""
    new_limits = merged_limits((None, None), requested_limits)
    for member, place in _LIMITS:
        if new_limits[place] is not None and not on_demand:
            refuse(
                _INVALID + f"{member} for OnDemandThroughput cannot be specified when table BillingMode is PROVISIONED."
            )
    check_limits(new_limits, target, minimum=1)
    return new_limits


def check_limits(on_demand_limits: OnDemandLimits, target: str, minimum: int) -> None:
    for member, place in _LIMITS:
        units = on_demand_limits[place]
        if units is not None and (units < minimum or units == 0):
            refuse(_INVALID + f"Requested {member} for OnDemandThroughput for {target} is outside of valid range")


def merged_limits(current: OnDemandLimits, requested_limits: OnDemandThroughput | None) -> OnDemandLimits:
    """The limits after a change, which keeps those that it does not mention."""
    if requested_limits is None:
        return current
    read, write = requested_limits.max_read_request_units, requested_limits.max_write_request_units
    return (current[0] if read is None else read, current[1] if write is None else write)


WARM = (12_000, 4_000)
"""Reads and writes per second that a new on-demand table can take."""


def warm_units(
    requested_units: WarmThroughput | None, throughput: tuple[int, int] | None, current: tuple[int, int] | None
) -> tuple[int, int] | None:
    """The warm throughput that a request asks for; None for the default."""
    if requested_units is None or (
        requested_units.read_units_per_second is None and requested_units.write_units_per_second is None
    ):
        return current
    # A request may have only one of both.
    read, write = current or throughput or WARM
    return requested_units.read_units_per_second or read, requested_units.write_units_per_second or write


def new_revision() -> str:
    """An identifier of a revision of a resource policy, which are numbers in text."""
    return str(time.time_ns() // 1_000_000)


def check_encryption(constraints: Constraints, specification: SSESpecification | None) -> None:
    if specification is not None:
        constraints.one_of("sSESpecification.sSEType", specification.type, ("AES256", "KMS"))


def encryption_key(specification: SSESpecification | None) -> str | None:
    """The ARN of the table's encryption key. None means a key owned by AWS, which descriptions do not show.

    Nothing is encrypted: the engine only stores and returns the setting.

    >>> encryption_key(SSESpecification(enabled=True, key="alias/shop"))
    'arn:aws:kms:local:000000000000:alias/shop'
    """
    if specification is None or not specification.enabled:
        return None
    if specification.key is None:
        return _MANAGED_BY_AWS
    if specification.key.startswith("arn:"):
        return specification.key
    return _ACCOUNT + (specification.key if specification.key.startswith("alias/") else f"key/{specification.key}")
