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
    constraints.required("attributeDefinitions", request.attribute_definitions)
    check_attributes(constraints, request.attribute_definitions)
    _check_key_schema(constraints, "keySchema", request.key_schema, 2)
    for member, indexes, most in (
        ("globalSecondaryIndexes", request.global_secondary_indexes, 8),
        ("localSecondaryIndexes", request.local_secondary_indexes, 2),
    ):
        for number, index in enumerate(indexes or (), 1):
            check_index(constraints, f"{member}.{number}.member", index, most)
    check_warm_throughput(constraints, "warmThroughput", request.warm_throughput)
    check_encryption(constraints, request.encryption)
    check_tags(constraints, request.tags)
    check_stream(constraints, request.stream_specification)
    constraints.finish()
    check_table_class(request.table_class)
    check_stream_view(request.stream_specification)
    return name


def check_table_class(wish: str | None) -> None:
    if wish is not None and wish not in TABLE_CLASSES:
        refuse(
            "Invalid table-class parameter provided. Please try again with a valid table-class value: "
            f"[{', '.join(TABLE_CLASSES)}]."
        )


VIEWS = ("NEW_IMAGE", "OLD_IMAGE", "NEW_AND_OLD_IMAGES", "KEYS_ONLY")


def check_stream(constraints: Constraints, wish: StreamSpecification | None) -> None:
    if wish is not None:
        constraints.required("streamSpecification.streamEnabled", wish.stream_enabled)
        constraints.one_of("streamSpecification.streamViewType", wish.stream_view_type, VIEWS)


def check_stream_view(wish: StreamSpecification | None) -> None:
    """Check that a stream has a view if it is enabled, and none otherwise."""
    if wish is not None and wish.stream_enabled and wish.stream_view_type is None:
        refuse(_INVALID + "Table is being created with a stream enabled, StreamViewType must be specified")
    if wish is not None and not wish.stream_enabled and wish.stream_view_type is not None:
        refuse(_INVALID + "Table is being created with a stream disabled, UpdateViewType should not be specified")


def new_stream(wish: StreamSpecification, now: float, first: int, shard_records: int) -> StreamDefinition:
    label = datetime.fromtimestamp(now, UTC).isoformat(timespec="milliseconds").removesuffix("+00:00")
    return StreamDefinition(label, str(wish.stream_view_type), now, first, shard_records)


def check_attributes(constraints: Constraints, definitions: list[AttributeDefinition] | None) -> None:
    for number, definition in enumerate(definitions or (), 1):
        where = f"attributeDefinitions.{number}.member"
        constraints.required(f"{where}.attributeName", definition.attribute_name)
        check_attribute_name(constraints, f"{where}.attributeName", definition.attribute_name)
        constraints.required(f"{where}.attributeType", definition.attribute_type)
        constraints.one_of(f"{where}.attributeType", definition.attribute_type, ("B", "N", "S"))


def check_attribute_name(constraints: Constraints, member: str, name: str | None) -> None:
    """Check the length of a name. Attributes of keys, projections and time to live have shorter names than others."""
    if name == "":
        constraints.fail(member, name, "Member must have length greater than or equal to 1")
    elif name is not None and len(name) > limits.KEY_NAME_LENGTH:
        constraints.fail(member, name, f"Member must have length less than or equal to {limits.KEY_NAME_LENGTH}")


def check_index(constraints: Constraints, member: str, index: SecondaryIndex, most: int) -> None:
    constraints.name(f"{member}.indexName", index.index_name)
    _check_key_schema(constraints, f"{member}.keySchema", index.key_schema, most)
    constraints.required(f"{member}.projection", index.projection)
    if index.projection is not None:
        kinds = ("ALL", "INCLUDE", "KEYS_ONLY")
        constraints.one_of(f"{member}.projection.projectionType", index.projection.projection_type, kinds)
        included = index.projection.non_key_attributes
        if included == []:
            constraints.fail(
                f"{member}.projection.nonKeyAttributes", "[]", "Member must have length greater than or equal to 1"
            )
        if included and len(included) > limits.INDEX_PROJECTED_ATTRIBUTES:
            constraints.fail(
                f"{member}.projection.nonKeyAttributes",
                f"[{', '.join(included)}]",
                f"Member must have length less than or equal to {limits.INDEX_PROJECTED_ATTRIBUTES}",
            )
        for number, name in enumerate(included or (), 1):
            check_attribute_name(constraints, f"{member}.projection.nonKeyAttributes.{number}.member", name)
    check_throughput(constraints, f"{member}.provisionedThroughput", index.provisioned_throughput)
    check_warm_throughput(constraints, f"{member}.warmThroughput", index.warm_throughput)


def check_warm_throughput(constraints: Constraints, member: str, warm: WarmThroughput | None) -> None:
    if warm is not None:
        constraints.at_least(f"{member}.readUnitsPerSecond", warm.read_units_per_second, 1)
        constraints.at_least(f"{member}.writeUnitsPerSecond", warm.write_units_per_second, 1)


def _check_key_schema(
    constraints: Constraints, member: str, elements: list[KeySchemaElement] | None, most: int
) -> None:
    constraints.required(member, elements)
    if elements is None:
        return
    if not elements:
        constraints.fail(member, "[]", "Member must have length greater than or equal to 1")
    if len(elements) > most:
        shown = ", ".join(
            f"KeySchemaElement(attributeName={element.attribute_name}, keyType={element.key_type})"
            for element in elements
        )
        constraints.fail(member, f"[{shown}]", f"Member must have length less than or equal to {most}")
    for number, element in enumerate(elements, 1):
        constraints.required(f"{member}.{number}.member.attributeName", element.attribute_name)
        check_attribute_name(constraints, f"{member}.{number}.member.attributeName", element.attribute_name)
        constraints.required(f"{member}.{number}.member.keyType", element.key_type)
        constraints.one_of(f"{member}.{number}.member.keyType", element.key_type, ("HASH", "RANGE"))


def check_throughput(constraints: Constraints, member: str, throughput: ProvisionedThroughput | None) -> None:
    if throughput is not None:
        for name, units in (
            ("writeCapacityUnits", throughput.write_capacity_units),
            ("readCapacityUnits", throughput.read_capacity_units),
        ):
            constraints.required(f"{member}.{name}", units)
            constraints.at_least(f"{member}.{name}", units, 1)


def read_definition(request: CreateTableInput, name: str) -> TableDefinition:
    """Build the definition, after checking the rules that span several members."""
    on_demand = request.billing_mode == "PAY_PER_REQUEST"
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
    types: dict[str, str] = {}
    for definition in request.attribute_definitions or ():
        attribute = str(definition.attribute_name)
        if attribute in types:
            refuse(f"Attribute Name is duplicated: {attribute}")
        types[attribute] = str(definition.attribute_type)
    keys = _keys(request.key_schema or [], types, is_table=True)
    local_wishes = _indexes_in(request.local_secondary_indexes, "LocalSecondaryIndexes")
    local_keys = [_local_keys(wish, types, keys) for wish in local_wishes]
    global_wishes = _indexes_in(request.global_secondary_indexes, "GlobalSecondaryIndexes")
    global_keys = [global_index_keys(wish, types) for wish in global_wishes]
    _check_all_used(types, [keys, *local_keys, *global_keys])
    local = [
        read_index(number, wish, its, is_global=False)
        for number, (wish, its) in enumerate(zip(local_wishes, local_keys, strict=True))
    ]
    if len(local) > limits.LOCAL_INDEXES:
        refuse(_INVALID + "Number of LocalSecondaryIndexes exceeds per-table limit of 5")
    globals_ = [
        read_index(number, wish, its, is_global=True)
        for number, (wish, its) in enumerate(zip(global_wishes, global_keys, strict=True), len(local))
    ]
    for index in globals_:
        if on_demand and index.throughput is not None:
            refuse(
                _INVALID + f"ProvisionedThroughput should not be specified for index: {index.name} "
                "when BillingMode is PAY_PER_REQUEST"
            )
        if not on_demand and index.throughput is None:
            refuse(_INVALID + f"ProvisionedThroughput is not specified for index: {index.name}")
    if len(globals_) > limits.GLOBAL_INDEXES:
        refuse(_INVALID + "GlobalSecondaryIndex count exceeds the per-table limit of 20")
    for wish in global_wishes:
        _new_limits(wish.on_demand_throughput, f"index: {wish.index_name}", on_demand)
    indexes = (*local, *globals_)
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
        on_demand=_new_limits(request.on_demand_throughput, "table", on_demand),
        warm=warm_units(request.warm_throughput, throughput, None),
        tags=with_tags((), request.tags or []),
        policy=None if request.resource_policy is None else (request.resource_policy, new_revision()),
        protected=bool(request.deletion_protection_enabled),
        table_class=request.table_class,
        encryption_key=encryption_key(request.encryption),
    )


def _check_all_used(types: dict[str, str], every: list[KeySchema]) -> None:
    """Refuse attribute definitions that no key uses. DynamoDB checks this before anything else about indexes."""
    used = dict.fromkeys(name for keys in every for name in keys.names)
    if len(used) == len(types):
        return
    if len(every) == 1:
        refuse(
            _INVALID + "Number of attributes in KeySchema does not exactly match number of attributes "
            "defined in AttributeDefinitions"
        )
    refuse(
        _INVALID + "Some AttributeDefinitions are not used. "
        f"AttributeDefinitions: [{', '.join(types)}], keys used: [{', '.join(used)}]"
    )


def _indexes_in(indexes: list[SecondaryIndex] | None, member: str) -> list[SecondaryIndex]:
    if indexes is not None and not indexes:
        refuse(_INVALID + f"List of {member} is empty")
    return indexes or []


def _keys(elements: list[KeySchemaElement], types: dict[str, str], *, is_table: bool = False) -> KeySchema:
    names = [str(element.attribute_name) for element in elements]
    if is_table and len(names) > len(types):
        refuse("Invalid KeySchema: Some index key attribute have no definition")
    if not set(names) <= set(types):
        refuse(
            _INVALID + "Some index key attributes are not defined in AttributeDefinitions. "
            f"Keys: [{', '.join(names)}], AttributeDefinitions: [{', '.join(types)}]"
        )
    if len(set(names)) < len(names):
        refuse(
            "Both the Hash Key and the Range Key element in the KeySchema have the same name"
            if is_table
            else "The KeySchema contains multiple key attributes with the same name"
        )
    kinds = [element.key_type for element in elements]
    if kinds[0] != "HASH":
        refuse("Invalid KeySchema: The first KeySchemaElement is not a HASH key type")
    if len(kinds) == 2 and kinds[1] != "RANGE" and is_table:
        refuse("Invalid KeySchema: The second KeySchemaElement is not a RANGE key type")
    attributes = [KeyElement(name, types[name]) for name in names]
    partitions = kinds.count("HASH")
    if kinds != ["HASH"] * partitions + ["RANGE"] * (len(kinds) - partitions):
        refuse(_INVALID + "All HASH key attributes must precede RANGE key attributes in the KeySchema")
    return KeySchema(tuple(attributes[:partitions]), tuple(attributes[partitions:]))


def _local_keys(index: SecondaryIndex, types: dict[str, str], table: KeySchema) -> KeySchema:
    if not table.sort:
        refuse(
            _INVALID + "Table KeySchema does not have a range key, which is required when specifying a "
            "LocalSecondaryIndex"
        )
    keys = _keys(index.key_schema or [], types, is_table=True)
    if not keys.sort:
        refuse(_INVALID + f"Index KeySchema does not have a range key for index: {index.index_name}")
    if keys.partition != table.partition:
        refuse(
            _INVALID + "Index KeySchema does not have the same leading hash key as table KeySchema for index: "
            f"{index.index_name}. index hash key: {keys.partition[0].name}, "
            f"table hash key: {table.partition[0].name}"
        )
    return keys


def global_index_keys(index: SecondaryIndex, types: dict[str, str]) -> KeySchema:
    """The key schema of a global index."""
    keys = _keys(index.key_schema or [], types)
    for attributes, most, role in (
        (keys.partition, limits.INDEX_PARTITION_ATTRIBUTES, "HASH"),
        (keys.sort, limits.INDEX_SORT_ATTRIBUTES, "RANGE"),
    ):
        if len(attributes) > most:
            refuse(_INVALID + f"The KeySchema exceeds the maximum allowed number of {role} key attributes")
    return keys


def read_index(number: int, index: SecondaryIndex, keys: KeySchema, *, is_global: bool) -> IndexDefinition:
    projection = index.projection
    kind = projection.projection_type if projection else None
    if kind is None:
        refuse(_INVALID + "Unknown ProjectionType: null")
    included = (projection.non_key_attributes if projection else None) or []
    if included and kind != "INCLUDE":
        refuse(_INVALID + f"ProjectionType is {kind}, but NonKeyAttributes is specified")
    if kind == "INCLUDE" and not included:
        refuse(_INVALID + "ProjectionType is INCLUDE, but NonKeyAttributes is not specified")
    for number_of_name, name in enumerate(included):
        if name in included[:number_of_name]:
            refuse(_INVALID + f"Duplicate element in NonKeyAttributes: {name}")
    throughput = throughput_of(index.provisioned_throughput, index.index_name)
    return IndexDefinition(
        number,
        str(index.index_name),
        keys,
        is_global,
        kind,
        tuple(included),
        throughput,
        on_demand=merged_limits((None, None), index.on_demand_throughput),
        warm=warm_units(index.warm_throughput, throughput, None),
    )


def check_indexes_together(indexes: tuple[IndexDefinition, ...]) -> None:
    seen: set[str] = set()
    for index in indexes:
        if index.name in seen:
            refuse(_INVALID + f"Duplicate index name: {index.name}")
        seen.add(index.name)
    if sum(len(index.included) for index in indexes) > limits.PROJECTED_ATTRIBUTES:
        refuse(_INVALID + "Number of NonKeyAttributes over all indexes exceeds the limit of 100")


def throughput_of(throughput: ProvisionedThroughput | None, index: str | None = None) -> tuple[int, int] | None:
    """Read and write units, within DynamoDB's bounds. `index` is the name of the index that has them."""
    if throughput is None:
        return None
    read, write = throughput.read_capacity_units or 0, throughput.write_capacity_units or 0
    for member, units in (("ReadCapacityUnits", read), ("WriteCapacityUnits", write)):
        if units > limits.PROVISIONED_UNITS:
            where = "" if index is None else f" for index {index}"
            refuse(f"Given value {units} for {member} is out of bounds{where}")
    return read, write


_LIMITS = (("MaxReadRequestUnits", 0), ("MaxWriteRequestUnits", 1))


def _new_limits(wish: OnDemandThroughput | None, where: str, on_demand: bool) -> OnDemandLimits:
    """The limits of a new table or index, which have to be on demand."""
    found = merged_limits((None, None), wish)
    for member, place in _LIMITS:
        if found[place] is not None and not on_demand:
            refuse(
                _INVALID + f"{member} for OnDemandThroughput cannot be specified when table BillingMode is PROVISIONED."
            )
    check_limits(found, where, least=1)
    return found


def check_limits(wish: OnDemandLimits, where: str, least: int) -> None:
    for member, place in _LIMITS:
        units = wish[place]
        if units is not None and (units < least or units == 0):
            refuse(_INVALID + f"Requested {member} for OnDemandThroughput for {where} is outside of valid range")


def merged_limits(current: OnDemandLimits, wish: OnDemandThroughput | None) -> OnDemandLimits:
    """The limits after a change, which keeps those that it does not mention."""
    if wish is None:
        return current
    read, write = wish.max_read_request_units, wish.max_write_request_units
    return (current[0] if read is None else read, current[1] if write is None else write)


WARM = (12_000, 4_000)
"""Reads and writes per second that a new on-demand table can take."""


def warm_units(
    wish: WarmThroughput | None, throughput: tuple[int, int] | None, current: tuple[int, int] | None
) -> tuple[int, int] | None:
    """The warm throughput that a request asks for; None for the default."""
    if wish is None or (wish.read_units_per_second is None and wish.write_units_per_second is None):
        return current
    read, write = current or throughput or WARM
    return wish.read_units_per_second or read, wish.write_units_per_second or write


def new_revision() -> str:
    """An identifier of a revision of a resource policy, which are numbers in text."""
    return str(time.time_ns() // 1_000_000)


def check_encryption(constraints: Constraints, wish: SSESpecification | None) -> None:
    if wish is not None:
        constraints.one_of("sSESpecification.sSEType", wish.type, ("AES256", "KMS"))


def encryption_key(wish: SSESpecification | None) -> str | None:
    """The ARN of the table's encryption key. None means a key owned by AWS, which descriptions do not show.

    Nothing is encrypted: the engine only stores and returns the setting.

    >>> encryption_key(SSESpecification(enabled=True, key="alias/shop"))
    'arn:aws:kms:local:000000000000:alias/shop'
    """
    if wish is None or not wish.enabled:
        return None
    if wish.key is None:
        return _MANAGED_BY_AWS
    if wish.key.startswith("arn:"):
        return wish.key
    return _ACCOUNT + (wish.key if wish.key.startswith("alias/") else f"key/{wish.key}")
