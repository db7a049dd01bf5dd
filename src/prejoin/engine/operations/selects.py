"""SELECT of PartiQL: the items that its condition selects, by a key or by a scan."""

from __future__ import annotations

from base64 import b64decode, b64encode
from itertools import product
from math import prod
from typing import Any

import msgspec
from msgspec.structs import replace

from prejoin.engine.items import rows
from prejoin.engine.items.capacity import Capacity
from prejoin.engine.items.keys import encode_key, storage_key
from prejoin.engine.items.read import PageQuery, check_key_values, key_range, lacks_attributes, read_page
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
_MIRRORED_OPERATORS = {"=": "=", "<": ">", "<=": ">=", ">": "<", ">=": "<="}


class CheckedStatement(msgspec.Struct, frozen=True):
    """A parsed statement, with the values of its literals and parameters."""

    statement: Statement
    values: Values
    consistent: bool = False
    show_on_failure: bool = False

    @property
    def reads(self) -> bool:
        return isinstance(self.statement, Select)


def parts_of(condition: Condition | None) -> tuple[Condition, ...]:
    """The conditions that all have to hold."""
    if isinstance(condition, And):
        return tuple(part for member in condition.parts for part in parts_of(member))
    return () if condition is None else (condition,)


def all_of(parts: list[Condition]) -> Condition | None:
    return parts[0] if len(parts) == 1 else And(tuple(parts)) if parts else None


def _key_condition_of(condition: Condition, values: Values) -> tuple[str, AttributeCondition] | None:
    """A condition on one attribute that a key can serve."""
    match condition:
        case Compare(operator, DocumentPath((str(name),)), Placeholder(operand)) if operator != "<>":
            return name, AttributeCondition(operator, [values[operand]])
        case Compare(operator, Placeholder(operand), DocumentPath((str(name),))) if operator != "<>":
            return name, AttributeCondition(_MIRRORED_OPERATORS[operator], [values[operand]])
        case Between(DocumentPath((str(name),)), Placeholder(low), Placeholder(high)):
            return name, AttributeCondition("BETWEEN", [values[low], values[high]])
        case FunctionCall("begins_with", (DocumentPath((str(name),)), Placeholder(operand))):
            return name, AttributeCondition("begins_with", [values[operand]])
    return None


def _equality_choices(condition: Condition, values: Values) -> tuple[str, list[Value]] | None:
    """The attribute that a condition compares, and the values to one of which it has to be equal.

    `a = 1`, `a IN (1, 2)` and `a = 1 OR a = 2` are such conditions, `a = 1 OR b = 2` is not.
    """
    match condition:
        case Compare("=", DocumentPath((str(name),)), Placeholder(operand)):
            return name, [values[operand]]
        case Compare("=", Placeholder(operand), DocumentPath((str(name),))):
            return name, [values[operand]]
        case In(DocumentPath((str(name),)), options):
            option_values = [values[option.name] for option in options if isinstance(option, Placeholder)]
            return (name, option_values) if len(option_values) == len(options) else None
        case Or(members):
            return _joint_choices([_equality_choices(member, values) for member in members])
    return None


def _joint_choices(choices: list[tuple[str, list[Value]] | None]) -> tuple[str, list[Value]] | None:
    """The values of all members of an OR; None if they are not about one attribute."""
    names: set[str] = set()
    joint_values: list[Value] = []
    for choice in choices:
        if choice is None:
            return None
        name, member_values = choice
        names.add(name)
        joint_values += member_values
    return (names.pop(), joint_values) if len(names) == 1 else None


def _split_condition(
    condition: Condition | None, values: Values, keys: KeySchema
) -> tuple[list[dict[str, AttributeCondition]], list[Condition]]:
    """The conditions that the key serves, for each partition in ascending order, and the others. The key serves none
    without all of its partition attributes.

    With the key (shop, day), `shop IN (1, 2) AND day > 5 AND paid` becomes `shop = 1 AND day > 5` and
    `shop = 2 AND day > 5`, and leaves `paid`.
    """
    choices: dict[str, list[Value]] = {}
    ranges: dict[str, AttributeCondition] = {}
    residual: list[Condition] = []
    partition = [attribute.name for attribute in keys.partition]
    sort = keys.sort[0].name if keys.sort else None
    for part in parts_of(condition):
        choice, key_condition = _equality_choices(part, values), _key_condition_of(part, values)
        if choice is not None and choice[0] in partition and choice[0] not in choices:
            choices[choice[0]] = choice[1]
        elif key_condition is not None and key_condition[0] == sort and not ranges:
            ranges[key_condition[0]] = key_condition[1]
        else:
            residual.append(part)
    if len(choices) < len(partition) or prod(map(len, choices.values())) > _MOST_PARTITIONS:
        return [], list(parts_of(condition))
    # Before the combinations are sorted by their key bytes: only values of a key's type have them.
    for attribute in keys.partition:
        check_key_values(attribute, choices[attribute.name])
    equalities = _sorted_partitions({name: choices[name] for name in partition})
    return [conditions | ranges for conditions in equalities], residual


def _sorted_partitions(choices: dict[str, list[Value]]) -> list[dict[str, AttributeCondition]]:
    """Equalities for each combination of one value of each attribute, once, in the order of DynamoDB's keys."""
    by_key_bytes = {key_bytes.prefix(combination): combination for combination in product(*choices.values())}
    partitions = []
    for _, combination in sorted(by_key_bytes.items()):
        values = zip(choices, combination, strict=True)
        partitions.append({name: AttributeCondition("=", [value]) for name, value in values})
    return partitions


def whole_key(
    table: TableDefinition, condition: Condition | None, values: Values
) -> tuple[Item | None, Condition | None]:
    """The key of the one item that a condition selects, and the rest of the condition."""
    key: Item = {}
    residual: list[Condition] = []
    for part in parts_of(condition):
        name, value = _equality_of(part, values)
        if value is not None and name in table.keys.names and name not in key:
            key[name] = value
        else:
            residual.append(part)
    return (key if len(key) == len(table.keys.names) else None), all_of(residual)


def _equality_of(condition: Condition, values: Values) -> tuple[str, Value | None]:
    """The attribute and the value that a condition requires to be equal; no value if it is another condition."""
    key_condition = _key_condition_of(condition, values)
    if key_condition is None or key_condition[1].operator != "=":
        return "", None
    return key_condition[0], key_condition[1].operands[0]


def select(
    session: Session,
    table: TableDefinition,
    command: CheckedStatement,
    request: ExecuteStatementInput,
    capacity: Capacity,
) -> dict[str, Any]:
    """A page of the items that a SELECT finds, over the partitions that it names one after the other."""
    statement = command.statement
    assert isinstance(statement, Select)
    index = _index_to_read(table, statement, is_consistent=command.consistent)
    plan = _plan_reads(table, index, statement, command.values)
    token = request.next_token
    first, start = (0, None) if token is None else _continuation_of(table, index, token, plan.ranges)
    column_heads = frozenset(str(path.steps[0]) for path in statement.columns or ())
    needs_whole_items = lacks_attributes(table, index, column_heads)
    page_query = PageQuery(
        table, index, plan.ranges[first], start, request.limit, plan.forward, needs_whole_items, needs_size=True
    )
    factor = STRONG if command.consistent else EVENTUAL
    items, has_more = _read_ranges(session, page_query, plan.ranges[first:], factor, capacity)
    residual = all_of(plan.residual)
    test = None if residual is None else compile_condition(residual)
    selected_items = [item for item in items if test is None or test(item, command.values)]
    response: dict[str, Any] = {"Items": [_select_columns(item, statement.columns) for item in selected_items]}
    if has_more and not plan.has_one_item:
        last_position = {name: items[-1][name] for name in table.position_names(index)}
        response["NextToken"] = b64encode(msgspec.json.encode(last_position)).decode()
    return response


class _ReadPlan(msgspec.Struct, frozen=True):
    """What a SELECT reads: ranges of keys, one after the other, and the conditions to test on their items."""

    ranges: list[Range]
    forward: bool
    residual: list[Condition]
    has_one_item: bool
    """Whether the condition is on a whole key of the table, so that there is no next page."""


def _index_to_read(table: TableDefinition, statement: Select, *, is_consistent: bool) -> IndexDefinition | None:
    if statement.index is None:
        return None
    index = table.by_name.get(statement.index)
    if index is None:
        # Unlike the message of a Query, it has no name.
        refuse("The table does not have the specified index")
    if index.is_global and is_consistent:
        refuse("Consistent reads are not supported on global secondary indexes")
    return index


def _plan_reads(table: TableDefinition, index: IndexDefinition | None, statement: Select, values: Values) -> _ReadPlan:
    """The ranges of a SELECT: one in each partition that its condition names, otherwise the whole table or index."""
    keys = table.keys if index is None else index.keys
    partitions, residual = _split_condition(statement.where, values, keys)
    descending = _descending_attributes(statement, keys, has_partition=bool(partitions))
    ranges = [key_range(table, index, conditions).bounds for conditions in partitions]
    if any(attribute.name in descending for attribute in keys.partition):
        ranges.reverse()
    if not ranges:
        ranges = [under(table.prefix if index is None else table.index_prefix(index))]
    forward = not any(attribute.name in descending for attribute in keys.sort)
    return _ReadPlan(ranges, forward, residual, len(partitions) == 1 and index is None and not table.keys.sort)


def _read_ranges(
    session: Session, page_query: PageQuery, ranges: list[Range], factor: float, capacity: Capacity
) -> tuple[list[Item], bool]:
    """The items of several ranges until a page is full, and whether there may be more. `page_query` has everything but
    the range. Its start is in the first one.
    """
    items: list[Item] = []
    size, start, has_more = 0, page_query.start, False
    for bounds in ranges:
        limit = None if page_query.limit is None else page_query.limit - len(items)
        page = read_page(session, replace(page_query, bounds=bounds, start=start, limit=limit))
        capacity.add(read_units(page.size, factor), page_query.index)
        for fetched_size in page.fetched_units:
            capacity.add(read_units(fetched_size, factor))
        items += map(rows.decode_item, page.items)
        size, start = size + page.size, None
        has_more = page.has_more or size >= limits.PAGE_SIZE
        if has_more:
            break
    return items, has_more


def _descending_attributes(statement: Select, keys: KeySchema, *, has_partition: bool) -> set[str]:
    """The key attributes in descending order."""
    if statement.order and not has_partition:
        refuse("Must have at least one non-optional hash key condition in WHERE clause when using ORDER BY clause.")
    for name, _ in statement.order:
        if name not in keys.names:
            refuse(f"Variable reference {name} in ORDER BY clause must be part of the primary key")
    return {name for name, is_descending in statement.order if is_descending}


def _continuation_of(
    table: TableDefinition, index: IndexDefinition | None, token: str, ranges: list[Range]
) -> tuple[int, bytes]:
    """The number of the range in which to continue, and the key bytes after which to continue."""
    try:
        start = canonical_item(msgspec.json.decode(b64decode(token, validate=True), type=Attributes))
        item_key = storage_key(table, start)
        place = item_key if index is None else table.entry_keys[index.number](start, item_key)
    except (ValueError, KeyError, AttributeError, msgspec.MsgspecError, DynamoDBError):
        # A token is the client's, and may be anything. One of another statement lies in none of the ranges.
        place = None
    for number, bounds in enumerate(ranges):
        if place is not None and bounds.low <= place and (bounds.high is None or place < bounds.high):
            return number, place
    return refuse("Invalid NextToken")


def _select_columns(item: Item, columns: tuple[DocumentPath, ...] | None) -> Item:
    """The selected attributes, each under the last name of its path."""
    if columns is None:
        return item
    attributes: Item = {}
    for path in columns:
        value = read(item, path.steps)
        if value is not None:
            attributes[_column_name(path)] = value
    return attributes


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
    table: TableDefinition, command: CheckedStatement, operation: str, prefix: str = ""
) -> tuple[bytes, Condition | None]:
    """The place of the one item that a SELECT names by its key, and the rest of its condition."""
    statement = command.statement
    assert isinstance(statement, Select)
    key, residual = whole_key(table, statement.where, command.values)
    if key is None or statement.index is not None:
        refuse(f"{prefix}Select statements within {operation} must specify the primary key in the where clause.")
    return encode_key(table, key), residual


def read_single(
    session: Session,
    place: bytes,
    residual: Condition | None,
    command: CheckedStatement,
    capacity: Capacity,
    factor: float,
) -> Item | None:
    """The item at a place, if it fulfils the rest of a SELECT's condition."""
    statement = command.statement
    assert isinstance(statement, Select)
    row = session.get(place)
    capacity.add(read_units(row.size if row else 0, factor))
    if row is None:
        return None
    item = rows.decode_item(row.content)
    if residual is not None and not compile_condition(residual)(item, command.values):
        return None
    return _select_columns(item, statement.columns)
