"""SELECT of PartiQL: the items that its condition selects, by a key or by a scan."""

from __future__ import annotations

from base64 import b64decode, b64encode
from itertools import product
from math import prod
from typing import Any

import msgspec

from prejoin.engine.items import rows
from prejoin.engine.items.capacity import Capacity
from prejoin.engine.items.keys import encode_key, storage_key
from prejoin.engine.items.read import PageQuery, key_range, lacks_attributes, read_page
from prejoin.engine.requests import Attributes, ExecuteStatementInput
from prejoin.engine.store.interface import Session
from prejoin.engine.tables.definition import IndexDefinition, KeySchema, TableDefinition
from prejoin.protocol import key_bytes, limits
from prejoin.protocol.errors import DynamoDBError, refuse
from prejoin.protocol.expressions import AttributeCondition, Condition, DocumentPath
from prejoin.protocol.expressions.evaluate import compile_condition
from prejoin.protocol.expressions.nodes import And, Between, Compare, FunctionCall, In, Or, Placeholder, Values
from prejoin.protocol.expressions.paths import read
from prejoin.protocol.key_bytes import Range, under
from prejoin.protocol.partiql import Select, Statement
from prejoin.protocol.prices import EVENTUAL, STRONG, read_units
from prejoin.protocol.values import Item, Value, canonical_item

_MOST_PARTITIONS = 50
"""AWS allows this number of values of a partition key. With more, the table is scanned."""
_MIRRORED = {"=": "=", "<": ">", "<=": ">=", ">": "<", ">=": "<="}


class CheckedStatement(msgspec.Struct, frozen=True):
    """A parsed statement, with the values of its literals and parameters."""

    statement: Statement
    values: Values
    consistent: bool = False
    show_on_failure: bool = False

    @property
    def reads(self) -> bool:
        return isinstance(self.statement, Select)


def parts_of(where: Condition | None) -> tuple[Condition, ...]:
    """The conditions that all have to hold."""
    if isinstance(where, And):
        return tuple(part for each in where.parts for part in parts_of(each))
    return () if where is None else (where,)


def all_of(parts: list[Condition]) -> Condition | None:
    return parts[0] if len(parts) == 1 else And(tuple(parts)) if parts else None


def _attribute_condition(part: Condition, values: Values) -> tuple[str, AttributeCondition] | None:
    """A condition on one attribute that a key can serve."""
    match part:
        case Compare(operator, DocumentPath((str(name),)), Placeholder(operand)) if operator != "<>":
            return name, AttributeCondition(operator, [values[operand]])
        case Compare(operator, Placeholder(operand), DocumentPath((str(name),))) if operator != "<>":
            return name, AttributeCondition(_MIRRORED[operator], [values[operand]])
        case Between(DocumentPath((str(name),)), Placeholder(low), Placeholder(high)):
            return name, AttributeCondition("BETWEEN", [values[low], values[high]])
        case FunctionCall("begins_with", (DocumentPath((str(name),)), Placeholder(operand))):
            return name, AttributeCondition("begins_with", [values[operand]])
    return None


def _choice(part: Condition, values: Values) -> tuple[str, list[Value]] | None:
    """An attribute, and the values of which a condition wants one."""
    match part:
        case Compare("=", DocumentPath((str(name),)), Placeholder(operand)):
            return name, [values[operand]]
        case Compare("=", Placeholder(operand), DocumentPath((str(name),))):
            return name, [values[operand]]
        case In(DocumentPath((str(name),)), options):
            named = [values[option.name] for option in options if isinstance(option, Placeholder)]
            return (name, named) if len(named) == len(options) else None
        case Or(parts):
            choices = [_choice(each, values) for each in parts]
            names = {None if choice is None else choice[0] for choice in choices}
            if len(names) == 1 and None not in names:
                return str(names.pop()), [value for choice in choices if choice is not None for value in choice[1]]
    return None


def _split(
    where: Condition | None, values: Values, keys: KeySchema
) -> tuple[list[dict[str, AttributeCondition]], list[Condition]]:
    """The conditions that the key serves, for each partition in ascending order, and the others. The key serves none
    without all of its partition attributes.
    """
    choices: dict[str, list[Value]] = {}
    ranges: dict[str, AttributeCondition] = {}
    rest: list[Condition] = []
    partition = [attribute.name for attribute in keys.partition]
    sort = keys.sort[0].name if keys.sort else None
    for part in parts_of(where):
        choice, served = _choice(part, values), _attribute_condition(part, values)
        if choice is not None and choice[0] in partition and choice[0] not in choices:
            choices[choice[0]] = choice[1]
        elif served is not None and served[0] == sort and not ranges:
            ranges[served[0]] = served[1]
        else:
            rest.append(part)
    if len(choices) < len(partition) or prod(map(len, choices.values())) > _MOST_PARTITIONS:
        return [], list(parts_of(where))
    found = {key_bytes.prefix(chosen): chosen for chosen in product(*(choices[name] for name in partition))}
    partitions = [
        {name: AttributeCondition("=", [value]) for name, value in zip(partition, chosen, strict=True)} | ranges
        for _, chosen in sorted(found.items())
    ]
    return partitions, rest


def whole_key(table: TableDefinition, where: Condition | None, values: Values) -> tuple[Item | None, Condition | None]:
    """The key of the one item that a condition selects, and the rest of the condition."""
    key: Item = {}
    rest: list[Condition] = []
    for part in parts_of(where):
        served = _attribute_condition(part, values)
        if served is not None and served[0] in table.keys.names and served[1].operator == "=" and served[0] not in key:
            key[served[0]] = served[1].operands[0]
        else:
            rest.append(part)
    return (key if len(key) == len(table.keys.names) else None), all_of(rest)


def select(
    session: Session,
    table: TableDefinition,
    checked: CheckedStatement,
    request: ExecuteStatementInput,
    capacity: Capacity,
) -> dict[str, Any]:
    """A page of the items that a SELECT finds, over the partitions that it names one after the other."""
    statement = checked.statement
    assert isinstance(statement, Select)
    index = None if statement.index is None else table.by_name.get(statement.index)
    if statement.index is not None and index is None:
        refuse("The table does not have the specified index")  # unlike Query, it is not named
    if index is not None and index.is_global and checked.consistent:
        refuse("Consistent reads are not supported on global secondary indexes")
    keys = table.keys if index is None else index.keys
    partitions, rest = _split(statement.where, checked.values, keys)
    descending = _descending(statement, keys, has_partition=bool(partitions))
    ranges = [key_range(table, index, conditions).bounds for conditions in partitions]
    if any(attribute.name in descending for attribute in keys.partition):
        ranges.reverse()
    forward = not any(attribute.name in descending for attribute in keys.sort)
    if not partitions:
        ranges = [under(table.prefix if index is None else table.index_prefix(index))]
    first, start = (0, None) if request.next_token is None else _position(table, index, request.next_token, ranges)
    whole = lacks_attributes(table, index, frozenset(str(path.steps[0]) for path in statement.columns or ()))
    factor = STRONG if checked.consistent else EVENTUAL
    items: list[Item] = []
    size, more = 0, False
    for bounds in ranges[first:]:
        limit = None if request.limit is None else request.limit - len(items)
        page = read_page(session, PageQuery(table, index, bounds, start, limit, forward, whole, sized=True))
        capacity.add(read_units(page.size, factor), index)
        for fetched in page.fetched_units:
            capacity.add(read_units(fetched, factor))
        items += map(rows.decode_item, page.items)
        size, start = size + page.size, None
        more = page.more or size >= limits.PAGE_SIZE
        if more:
            break
    test = None if not rest else compile_condition(all_of(rest))  # type: ignore[arg-type]
    found = [item for item in items if test is None or test(item, checked.values)]
    response: dict[str, Any] = {"Items": [_columns(item, statement.columns) for item in found]}
    if more and not (len(partitions) == 1 and index is None and not table.keys.sort):
        last = {name: items[-1][name] for name in table.position_names(index)}
        response["NextToken"] = b64encode(msgspec.json.encode(last)).decode()
    return response


def _descending(statement: Select, keys: KeySchema, *, has_partition: bool) -> set[str]:
    """The key attributes in descending order."""
    if statement.order and not has_partition:
        refuse("Must have at least one non-optional hash key condition in WHERE clause when using ORDER BY clause.")
    for name, _ in statement.order:
        if name not in keys.names:
            refuse(f"Variable reference {name} in ORDER BY clause must be part of the primary key")
    return {name for name, is_descending in statement.order if is_descending}


def _position(
    table: TableDefinition, index: IndexDefinition | None, token: str, ranges: list[Range]
) -> tuple[int, bytes]:
    """The number of the range in which to continue, and the key bytes after which to continue."""
    try:
        start = canonical_item(msgspec.json.decode(b64decode(token, validate=True), type=Attributes))
        position = storage_key(table, start)
        place = position if index is None else table.entry_keys[index.number](start, position)
    except (ValueError, KeyError, AttributeError, msgspec.MsgspecError, DynamoDBError):
        place = None
    for number, bounds in enumerate(ranges):
        if place is not None and bounds.low <= place and (bounds.high is None or place < bounds.high):
            return number, place
    return refuse("Invalid NextToken")


def _columns(item: Item, columns: tuple[DocumentPath, ...] | None) -> Item:
    """The selected attributes, each under the last name of its path."""
    if columns is None:
        return item
    found: Item = {}
    for path in columns:
        value = read(item, path.steps)
        if value is not None:
            found[_column_name(path)] = value
    return found


def _column_name(path: DocumentPath) -> str:
    """The name of a column: the last name of its path, with the positions behind it.

    >>> _column_name(DocumentPath(("a", "b", 0)))
    'b[0]'
    """
    name = ""
    for step in path.steps:
        name = f"{name}[{step}]" if isinstance(step, int) else step
    return name


def selected_place(
    table: TableDefinition, checked: CheckedStatement, operation: str, prefix: str = ""
) -> tuple[bytes, Condition | None]:
    """The place of the one item that a SELECT names by its key, and the rest of its condition."""
    statement = checked.statement
    assert isinstance(statement, Select)
    key, rest = whole_key(table, statement.where, checked.values)
    if key is None or statement.index is not None:
        refuse(f"{prefix}Select statements within {operation} must specify the primary key in the where clause.")
    return encode_key(table, key), rest


def read_single(
    session: Session, place: bytes, rest: Condition | None, checked: CheckedStatement, capacity: Capacity, factor: float
) -> Item | None:
    """The item at a place, if it fulfils the rest of a SELECT's condition."""
    statement = checked.statement
    assert isinstance(statement, Select)
    row = session.get(place)
    capacity.add(read_units(row.size if row else 0, factor))
    if row is None:
        return None
    item = rows.decode_item(row.content)
    if rest is not None and not compile_condition(rest)(item, checked.values):
        return None
    return _columns(item, statement.columns)
