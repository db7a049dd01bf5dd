"""From a CreateTable request to a definition: every rule about keys, attributes, indexes and projections."""

from __future__ import annotations

from prejoin.engine.checks import Constraints, table_name
from prejoin.engine.definition import Index, KeyAttribute, Keys, Table
from prejoin.engine.requests import (
    AttributeDefinition,
    CreateTable,
    KeyElement,
    SecondaryIndex,
    StreamSpecification,
    Throughput,
)
from prejoin.protocol import limits
from prejoin.protocol.errors import refuse

_INVALID = "One or more parameter values were invalid: "
TABLE_CLASSES = ("STANDARD", "STANDARD_INFREQUENT_ACCESS")


def check_create_table(request: CreateTable) -> str:
    """Check the members one by one; returns the table's name."""
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
        ("localSecondaryIndexes", request.local_secondary_indexes, 2),
        ("globalSecondaryIndexes", request.global_secondary_indexes, 8),
    ):
        for number, index in enumerate(indexes or (), 1):
            check_index(constraints, f"{member}.{number}.member", index, most)
    constraints.one_of("tableClass", request.table_class, TABLE_CLASSES)
    constraints.finish()
    check_streams(request.stream_specification)
    return name


def check_streams(wish: StreamSpecification | None) -> None:
    if wish is not None and wish.stream_enabled:
        refuse("StreamSpecification: this engine has no streams yet")


def check_attributes(constraints: Constraints, definitions: list[AttributeDefinition] | None) -> None:
    for number, definition in enumerate(definitions or (), 1):
        where = f"attributeDefinitions.{number}.member"
        constraints.required(f"{where}.attributeName", definition.attribute_name)
        _check_attribute_name(constraints, f"{where}.attributeName", definition.attribute_name)
        constraints.required(f"{where}.attributeType", definition.attribute_type)
        constraints.one_of(f"{where}.attributeType", definition.attribute_type, ("B", "N", "S"))


def _check_attribute_name(constraints: Constraints, where: str, name: str | None) -> None:
    """Attributes of keys, and those that an index projects, have shorter names than others."""
    if name == "":
        constraints.fail(where, name, "Member must have length greater than or equal to 1")
    elif name is not None and len(name) > limits.KEY_NAME_LENGTH:
        constraints.fail(where, name, f"Member must have length less than or equal to {limits.KEY_NAME_LENGTH}")


def check_index(constraints: Constraints, where: str, index: SecondaryIndex, most: int) -> None:
    constraints.name(f"{where}.indexName", index.index_name)
    _check_key_schema(constraints, f"{where}.keySchema", index.key_schema, most)
    constraints.required(f"{where}.projection", index.projection)
    if index.projection is not None:
        kinds = ("ALL", "INCLUDE", "KEYS_ONLY")
        constraints.one_of(f"{where}.projection.projectionType", index.projection.projection_type, kinds)
        if index.projection.non_key_attributes == []:
            constraints.fail(
                f"{where}.projection.nonKeyAttributes", "[]", "Member must have length greater than or equal to 1"
            )
        for number, name in enumerate(index.projection.non_key_attributes or (), 1):
            _check_attribute_name(constraints, f"{where}.projection.nonKeyAttributes.{number}.member", name)
    check_throughput(constraints, f"{where}.provisionedThroughput", index.provisioned_throughput)


def _check_key_schema(constraints: Constraints, where: str, elements: list[KeyElement] | None, most: int) -> None:
    constraints.required(where, elements)
    if elements is None:
        return
    if not elements:
        constraints.fail(where, "[]", "Member must have length greater than or equal to 1")
    if len(elements) > most:
        shown = ", ".join(
            f"KeySchemaElement(attributeName={element.attribute_name}, keyType={element.key_type})"
            for element in elements
        )
        constraints.fail(where, f"[{shown}]", f"Member must have length less than or equal to {most}")
    for number, element in enumerate(elements, 1):
        constraints.required(f"{where}.{number}.member.attributeName", element.attribute_name)
        _check_attribute_name(constraints, f"{where}.{number}.member.attributeName", element.attribute_name)
        constraints.required(f"{where}.{number}.member.keyType", element.key_type)
        constraints.one_of(f"{where}.{number}.member.keyType", element.key_type, ("HASH", "RANGE"))


def check_throughput(constraints: Constraints, where: str, throughput: Throughput | None) -> None:
    if throughput is not None:
        for member, units in (
            ("writeCapacityUnits", throughput.write_capacity_units),
            ("readCapacityUnits", throughput.read_capacity_units),
        ):
            constraints.required(f"{where}.{member}", units)
            constraints.at_least(f"{where}.{member}", units, 1)


def read_definition(request: CreateTable, name: str) -> Table:
    """The definition, after the rules that span several members."""
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
    types = {
        str(definition.attribute_name): str(definition.attribute_type)
        for definition in request.attribute_definitions or ()
    }
    if len(types) < len(request.attribute_definitions or ()):
        refuse(_INVALID + "Duplicate AttributeName in AttributeDefinitions")
    keys = _keys(request.key_schema or [], types, is_table=True)
    used = set(keys.names)
    local = [
        _local_index(number, index, types, keys)
        for number, index in enumerate(_given(request.local_secondary_indexes, "LocalSecondaryIndexes"))
    ]
    if local and len(local) > limits.LOCAL_INDEXES:
        refuse(_INVALID + "Number of LocalSecondaryIndexes exceeds per-table limit of 5")
    globals_ = [
        read_index(len(local) + number, index, types, is_global=True, on_demand=on_demand)
        for number, index in enumerate(_given(request.global_secondary_indexes, "GlobalSecondaryIndexes"))
    ]
    if len(globals_) > limits.GLOBAL_INDEXES:
        refuse(_INVALID + "GlobalSecondaryIndex count exceeds the per-table limit of 20")
    indexes = (*local, *globals_)
    check_indexes_together(indexes)
    for index in indexes:
        used.update(index.keys.names)
    if used != set(types):
        if not indexes:
            refuse(
                _INVALID + "Number of attributes in KeySchema does not exactly match number of attributes "
                "defined in AttributeDefinitions"
            )
        unused = ", ".join(sorted(set(types) - used))
        refuse(
            _INVALID + "Some AttributeDefinitions are not used. AttributeDefinitions: "
            f"[{', '.join(types)}], keys used: [{', '.join(sorted(used))}], unused: [{unused}]"
        )
    return Table(
        id=0,
        name=name,
        uuid="",
        created=0.0,
        keys=keys,
        attributes=tuple(KeyAttribute(attribute, kind) for attribute, kind in types.items()),
        indexes=indexes,
        throughput=throughput,
        protected=bool(request.deletion_protection_enabled),
        table_class=request.table_class,
    )


def _given(indexes: list[SecondaryIndex] | None, member: str) -> list[SecondaryIndex]:
    if indexes is not None and not indexes:
        refuse(_INVALID + f"List of {member} is empty")
    return indexes or []


def _keys(elements: list[KeyElement], types: dict[str, str], *, is_table: bool = False) -> Keys:
    names = [str(element.attribute_name) for element in elements]
    if is_table and len(names) > len(types):
        refuse("Invalid KeySchema: Some index key attribute have no definition")
    if not set(names) <= set(types):
        refuse(
            _INVALID + "Some index key attributes are not defined in AttributeDefinitions. "
            f"Keys: [{', '.join(names)}], AttributeDefinitions: [{', '.join(types)}]"
        )
    if len(set(names)) < len(names):
        refuse("Both the Hash Key and the Range Key element in the KeySchema have the same name")
    kinds = [element.key_type for element in elements]
    if kinds[0] != "HASH":
        refuse("Invalid KeySchema: The first KeySchemaElement is not a HASH key type")
    if len(kinds) == 2 and kinds[1] != "RANGE" and is_table:
        refuse("Invalid KeySchema: The second KeySchemaElement is not a RANGE key type")
    attributes = [KeyAttribute(name, types[name]) for name in names]
    partitions = kinds.count("HASH")
    if kinds != ["HASH"] * partitions + ["RANGE"] * (len(kinds) - partitions):
        refuse("Invalid KeySchema: All HASH key elements must come before the RANGE key elements")
    return Keys(tuple(attributes[:partitions]), tuple(attributes[partitions:]))


def _local_index(number: int, index: SecondaryIndex, types: dict[str, str], table: Keys) -> Index:
    if not table.sort:
        refuse(
            _INVALID + "Table KeySchema does not have a range key, which is required when specifying a "
            "LocalSecondaryIndex"
        )
    found = read_index(number, index, types, is_global=False)
    if not found.keys.sort:
        refuse(_INVALID + f"Index KeySchema does not have a range key for index: {found.name}")
    if found.keys.partition != table.partition:
        refuse(
            _INVALID + "Index KeySchema does not have the same leading hash key as table KeySchema for index: "
            f"{found.name}. index hash key: {found.keys.partition[0].name}, "
            f"table hash key: {table.partition[0].name}"
        )
    return found


def read_index(
    number: int, index: SecondaryIndex, types: dict[str, str], *, is_global: bool, on_demand: bool = False
) -> Index:
    keys = _keys(index.key_schema or [], types, is_table=not is_global)
    for attributes, most, role in (
        (keys.partition, limits.INDEX_PARTITION_ATTRIBUTES, "HASH"),
        (keys.sort, limits.INDEX_SORT_ATTRIBUTES, "RANGE"),
    ):
        if len(attributes) > most:
            refuse(
                _INVALID + f"Number of {role} key attributes exceeds the limit of {most} for index: {index.index_name}"
            )
    projection = index.projection
    kind = projection.projection_type if projection else None
    if kind is None:
        refuse(_INVALID + "Unknown ProjectionType: null")
    included = (projection.non_key_attributes if projection else None) or []
    if included and kind != "INCLUDE":
        refuse(_INVALID + f"ProjectionType is {kind}, but NonKeyAttributes is specified")
    if kind == "INCLUDE" and not included:
        refuse(_INVALID + "ProjectionType is INCLUDE, but NonKeyAttributes is not specified")
    if len(set(included)) < len(included):
        refuse(_INVALID + f"Duplicate attribute in NonKeyAttributes of index: {index.index_name}")
    throughput = throughput_of(index.provisioned_throughput)
    if on_demand and throughput is not None:
        refuse(
            _INVALID + f"ProvisionedThroughput should not be specified for index: {index.index_name} "
            "when BillingMode is PAY_PER_REQUEST"
        )
    if is_global and not on_demand and throughput is None:
        refuse(_INVALID + f"ProvisionedThroughput must be specified for index: {index.index_name}")
    return Index(number, str(index.index_name), keys, is_global, kind, tuple(included), throughput)


def check_indexes_together(indexes: tuple[Index, ...]) -> None:
    seen: set[str] = set()
    for index in indexes:
        if index.name in seen:
            refuse(_INVALID + f"Duplicate index name: {index.name}")
        seen.add(index.name)
    if sum(len(index.included) for index in indexes) > limits.PROJECTED_ATTRIBUTES:
        refuse(_INVALID + "Number of NonKeyAttributes over all indexes exceeds the limit of 100")


def throughput_of(throughput: Throughput | None) -> tuple[int, int] | None:
    if throughput is None:
        return None
    return throughput.read_capacity_units or 0, throughput.write_capacity_units or 0
