"""Rows as the bytes of puts, in compiled code. Objects that are only made to be written cost most of a load's CPU time.

The encoder does in one step what `EntityRows.convert`, the constructor of the class and the client's `put_many` do one
after the other, and with the same parts: converters, codec and keys. It serves entities whose put is made of the row
alone. For a row that does not fit it raises, and the general way finds out why.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from prejoin.keys.template.codegen import FunctionSource
from prejoin.migrate.mapping.rows import EntityRows, Row
from prejoin.proof.package import LoadedPackage
from prejoin.protocol.limits import ITEM_SIZE
from prejoin.table.codec.codec import Codec
from prejoin.table.write.actions import whole_item
from prejoin.table.write.model import Write, key_texts

EncodedPut = tuple[tuple[str, ...], msgspec.Raw]
"""The key of an item, and its PutRequest for BatchWriteItem."""
RowEncoder = Callable[[Row], EncodedPut]


def row_encoder(package: LoadedPackage, rows: EntityRows) -> RowEncoder | None:
    """The encoder of an entity's rows; None if a put needs more than the row.

    A row that cannot be encoded raises any exception.
    """
    schema, name = package.schema, rows.entity.name
    entity = schema.entity(package.classes[name])
    if entity.patterns or entity.unknown != "replace" or rows.mapping.children:
        return None
    values_of = _values(rows, entity.codec, package.fields[name])
    if values_of is None:
        return None

    def encode(row: Row) -> EncodedPut:
        item, key = whole_item(schema, Write("put", entity, values_of(row.values)))
        request = msgspec.json.encode({"PutRequest": {"Item": item}})
        if len(request) > ITEM_SIZE:  # JSON is never shorter than the size that DynamoDB counts
            raise ValueError("the item may be too large")
        return key_texts(key), msgspec.Raw(request)

    return encode


def _values(
    rows: EntityRows, codec: Codec[Any], fields: Mapping[str, str]
) -> Callable[[Mapping[str, Any]], dict[str, Any]] | None:
    """From the values of a row to those of an object of the class; None if the mapping lacks a required attribute."""
    code = FunctionSource()
    mapped_values = {fields[value.name]: value for value in rows.values}
    member_codes = []
    for field, attribute in codec.attributes.items():
        default, mapped_value = attribute.field.default, mapped_values.get(field)
        if mapped_value is None:
            if default is None:
                return None
            member_codes.append(f"{field!r}: {code.constant(default)}()")
            continue
        convert, value = code.constant(mapped_value.convert), code.new_name()
        if mapped_value.source.default is not None:
            absent = f"{convert}({code.constant(mapped_value.source.default)})"
        elif default is None or not (mapped_value.attribute.optional or mapped_value.attribute.default is not None):
            absent = f"{code.constant(_refuse)}()"
        elif default.factory is not None:
            absent = f"{code.constant(default.factory)}()"
        else:
            absent = code.constant(default.value)
        # `row_values` is the argument of the generated function. An attribute that the row lacks is None in it.
        lookup = f"({value} := row_values[{mapped_value.name!r}])"
        member_codes.append(f"{field!r}: {absent} if {lookup} is None else {convert}({value})")
    return code.function("row_values", f"{{{', '.join(member_codes)}}}")


def _refuse() -> Any:
    raise ValueError("a required attribute is NULL")
