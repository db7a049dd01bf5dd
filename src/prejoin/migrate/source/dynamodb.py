"""DynamoDB tables as a source: each table is a table of rows, with its attributes as columns.

The items are read once, in pages, into a temporary SQLite file. So all that reads rows (discovery, plan, load, verify)
reads them as from any database, and every command sees the tables as they are when it begins. A follower reads single
items again. Numbers keep all their digits, because the columns of the file have no types; those in keys are sorted as
numbers by a collation.
"""

from __future__ import annotations

import json
import sqlite3
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from decimal import Decimal
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from urllib.parse import parse_qs, urlsplit

import msgspec
from sqlalchemy import event

from prejoin.migrate import codes
from prejoin.migrate.queries.log import LoggedStatement, QueryLog
from prejoin.migrate.source.connection import SourceDatabase, SourceSnapshot
from prejoin.migrate.source.model import Column, Database, ForeignKey, Table
from prejoin.migrate.source.reflect import fanout, type_of_texts
from prejoin.pipeline.connection import TablePlace, open_streams, open_transport
from prejoin.pipeline.errors import InvalidArgumentError, PipelineError
from prejoin.protocol.errors import DynamoDBError
from prejoin.transport import TransportError
from prejoin.types import STRING, Kind, Type

FORMS = (
    "dynamodb://localhost:8000, dynamodb://eu-central-1 or dynamodb:///file.db, and ?table=NAME for some tables only"
)
_NUMBERS = "prejoin_numbers"
"""The collation of numbers in keys."""
_BATCH = 100
"""Keys of one BatchGetItem."""
_PAUSE, _LONGEST_PAUSE = 0.05, 5.0
"""Seconds before keys that were not processed are requested again."""
_SAMPLE = 200
"""Texts of an attribute that its type is judged by."""
_TYPES = {
    "BOOL": Type(Kind.BOOLEAN),
    "B": Type(Kind.BINARY),
    "L": Type(Kind.LIST),
    "M": Type(Kind.MAP),
    "SS": Type(Kind.SET, of=STRING),
    "NS": Type(Kind.SET, of=Type(Kind.DECIMAL)),
    "BS": Type(Kind.SET, of=STRING),
}

Item = Mapping[str, Mapping[str, Any]]
Send = Callable[[str, Mapping[str, Any]], Any]


class DynamoDBSource(SourceDatabase):
    """DynamoDB tables, copied into a temporary file."""

    def __init__(self, url: str) -> None:
        self.place, names = read_address(url)
        self._address = url
        self._transport = open_transport(self.place)
        self._streams: Any = None
        self._folder = TemporaryDirectory(prefix="prejoin-dynamodb-")
        self._file = Path(self._folder.name) / "items.db"
        try:
            with self._writing() as database:
                copies = [_copy(self.send, name, database) for name in names or _all_names(self.send)]
            self.names = {copy.table.name: copy.name for copy in copies}
            """The names of the tables by those of their copies."""
            if not copies:
                raise PipelineError(codes.NO_TABLES, f"{self.place} has no tables", "check the address")
            super().__init__(f"sqlite:///{self._file}")
            self.log = "dynamodb"
            event.listen(self.engine, "connect", _add_collation)
            with self.snapshot() as snapshot:
                tables = tuple(_with_references(snapshot, copies))
            self.described = Database(self.dialect, place_name(self.place), tables)
            self._tables = {table.name: table for table in tables}
        except BaseException:
            self._transport.close()
            self._folder.cleanup()
            raise
        self.statements = QueryLog("the keys and indexes of the tables", tuple(_statements(copies)))

    def __str__(self) -> str:
        return self._address

    def close(self) -> None:
        super().close()
        self._transport.close()
        if self._streams is not None:
            self._streams.close()
        self._folder.cleanup()

    def send(self, operation: str, body: Mapping[str, Any]) -> Any:
        return msgspec.json.decode(self._transport.send(operation, msgspec.json.encode(body)))

    def send_to_streams(self, operation: str, body: Mapping[str, Any]) -> Any:
        if self._streams is None:
            self._streams = open_streams(self.place)
        return msgspec.json.decode(self._streams.send(operation, msgspec.json.encode(body)))

    def renew(self) -> None:
        """Copies all items again."""
        with self._writing() as database:
            for name in self._tables:
                database.execute(f"DELETE FROM {_quote(name)}")  # noqa: S608 - quoted
                for item in _items(self.send, self.names[name]):
                    self._put(database, name, item)

    def read_again(self, table: str, keys: Sequence[Item]) -> None:
        """Copies single items again, or removes those that do not exist any more."""
        names = self._tables[table].key
        where = " AND ".join(f"{_quote(name)} = ?" for name in names)
        with self._writing() as database:
            for start in range(0, len(keys), _BATCH):
                batch = keys[start : start + _BATCH]
                items = list(_batch(self.send, self.names[table], batch))
                for key in batch:
                    values = list(column_values(key, names).values())
                    database.execute(f"DELETE FROM {_quote(table)} WHERE {where}", values)  # noqa: S608 - quoted
                for item in items:
                    self._put(database, table, item)

    def _put(self, database: sqlite3.Connection, table: str, item: Item) -> None:
        """Copies an item. Attributes that no item had when the tables were described are not mapped, and left out."""
        _insert(database, table, column_values(item, (column.name for column in self._tables[table].columns)))

    @contextmanager
    def _writing(self) -> Iterator[sqlite3.Connection]:
        """The copy, in one transaction."""
        database = sqlite3.connect(self._file)
        _add_collation(database)
        try:
            with database:
                yield database
        except (DynamoDBError, TransportError) as problem:
            fix = f"check the address, the names of the tables and your permissions; write {FORMS}"
            raise PipelineError(codes.UNREADABLE, f"{self.place}: {problem}", fix) from problem
        finally:
            database.close()


def read_address(url: str) -> tuple[TablePlace, tuple[str, ...]]:
    """The place of a URL, and the tables that it names.

    >>> read_address("dynamodb://localhost:8000?table=users")
    (TablePlace(db=None, endpoint='http://localhost:8000', region=None, store=None), ('users',))
    >>> read_address("dynamodb://eu-central-1")[0].region
    'eu-central-1'
    """
    parts = urlsplit(url)
    tables = tuple(parse_qs(parts.query).get("table", ()))
    try:
        if parts.port is not None:
            return TablePlace(endpoint=f"http://{parts.hostname}:{parts.port}"), tables
    except ValueError:
        raise InvalidArgumentError(codes.SOURCE, "the port of the URL is not a number", f"write {FORMS}") from None
    if parts.hostname:
        return TablePlace(region=parts.hostname), tables
    path = parts.path.removeprefix("/")
    if not Path(path).is_file():
        raise PipelineError(codes.SOURCE, f"there is no file `{path}`", f"write {FORMS}")
    return TablePlace(db=path), tables


def place_name(place: TablePlace) -> str:
    return Path(place.db).stem if place.db else "application"


# --- Copying --------------------------------------------------------------------------------------------------------


@dataclass
class _AttributeSample:
    """The observed values of one attribute."""

    tags: Counter[str] = field(default_factory=Counter)
    texts: list[str] = field(default_factory=list)
    is_integer: bool = True
    """Whether all numbers are integers."""
    has_bytes: bool = False
    """Whether bytes are in a list, a map or a set."""
    size: int = 0


@dataclass(frozen=True)
class _TableCopy:
    """A table that was copied."""

    name: str
    """In DynamoDB."""
    table: Table
    indexes: tuple[tuple[str, ...], ...]
    """The key of each index: partition, then sort attribute."""


def _all_names(send: Send) -> Iterator[str]:
    body: dict[str, Any] = {}
    while True:
        page = send("ListTables", body)
        yield from page["TableNames"]
        if "LastEvaluatedTableName" not in page:
            return
        body = {"ExclusiveStartTableName": page["LastEvaluatedTableName"]}


def _copy(send: Send, name: str, database: sqlite3.Connection) -> _TableCopy:
    """Copies a table, and describes it by the values of its items."""
    description = send("DescribeTable", {"TableName": name})["Table"]
    key = _attribute_names(description["KeySchema"])
    definitions = description["AttributeDefinitions"]
    numbers = {definition["AttributeName"] for definition in definitions if definition["AttributeType"] == "N"}
    copy_name = name.replace(".", "_")  # SQL, and so a mapping, reads a point as that between a schema and a table
    _create_table(database, name, copy_name, key, numbers)
    samples = {attribute: _AttributeSample() for attribute in key}
    rows = 0
    for item in _items(send, name):
        rows += 1
        for attribute in item.keys() - samples.keys():
            # Items of a table have different attributes, so its columns are known when the last item is read.
            samples[attribute] = _AttributeSample()
            database.execute(f"ALTER TABLE {_quote(copy_name)} ADD COLUMN {_column_sql(attribute, numbers)}")
        _insert(
            database,
            copy_name,
            {attribute: _column_value(value, samples[attribute]) for attribute, value in item.items()},
        )
    ttl = _ttl_attribute(send, name)
    columns = tuple(
        _column(attribute, sample, rows, attribute in key, attribute == ttl) for attribute, sample in samples.items()
    )
    size = sum(column.size or 0 for column in columns) if rows else None
    indexes = [*(description.get("GlobalSecondaryIndexes") or ()), *(description.get("LocalSecondaryIndexes") or ())]
    index_keys = dict.fromkeys(_attribute_names(index["KeySchema"]) for index in indexes)
    return _TableCopy(name, Table(copy_name, columns, key, rows=rows, row_size=size), tuple(index_keys))


def _create_table(
    database: sqlite3.Connection, name: str, copy_name: str, key: Sequence[str], numbers: Collection[str]
) -> None:
    columns = ", ".join(_column_sql(attribute, numbers) for attribute in key)
    primary_key = ", ".join(map(_quote, key))
    try:
        database.execute(f"CREATE TABLE {_quote(copy_name)} ({columns}, PRIMARY KEY ({primary_key}))")
    except sqlite3.OperationalError as problem:
        message = f"{name} has the name of another table, if points are `_` and upper case is lower case"
        raise PipelineError(codes.SOURCE, message, "name one of them: `?table=NAME`") from problem


def _column_sql(attribute: str, numbers: Collection[str]) -> str:
    return f"{_quote(attribute)} COLLATE {_NUMBERS}" if attribute in numbers else _quote(attribute)


def _ttl_attribute(send: Send, table: str) -> str:
    """The attribute with the time to live; empty if it is not enabled."""
    ttl = send("DescribeTimeToLive", {"TableName": table}).get("TimeToLiveDescription", {})
    return str(ttl.get("AttributeName", "")) if ttl.get("TimeToLiveStatus") == "ENABLED" else ""


def _items(send: Send, table: str) -> Iterator[Item]:
    body: dict[str, Any] = {"TableName": table, "ConsistentRead": True}
    while True:
        page = send("Scan", body)
        yield from page["Items"]
        if "LastEvaluatedKey" not in page:
            return
        body["ExclusiveStartKey"] = page["LastEvaluatedKey"]


def _batch(send: Send, table: str, keys: Sequence[Item]) -> Iterator[Item]:
    """The items of up to 100 keys that exist."""
    request_items: Any = {table: {"Keys": keys, "ConsistentRead": True}}
    pause = _PAUSE
    while request_items:
        page = send("BatchGetItem", {"RequestItems": request_items})
        yield from page["Responses"].get(table, ())
        # DynamoDB returns keys instead of items when a response has 16 MB, or the table is throttled.
        request_items = page.get("UnprocessedKeys")
        if request_items:
            time.sleep(pause)
            pause = min(pause * 2, _LONGEST_PAUSE)


def _insert(database: sqlite3.Connection, table: str, values: Mapping[str, Any]) -> None:
    columns, marks = ", ".join(map(_quote, values)), ", ".join("?" * len(values))
    sql = f"INSERT INTO {_quote(table)} ({columns}) VALUES ({marks})"  # noqa: S608 - quoted
    database.execute(sql, list(values.values()))


def column_values(item: Item, columns: Iterable[str]) -> dict[str, Any]:
    """The attributes of an item as the copy has them; None for those that it lacks."""
    sample = _AttributeSample()  # not looked at: the columns are described already
    return {name: _column_value(item[name], sample) if name in item else None for name in columns}


def _add_collation(database: sqlite3.Connection, *unused: object) -> None:
    """Lets a connection compare texts of numbers as numbers."""
    database.create_collation(_NUMBERS, _compare_numbers)


def _compare_numbers(first: str, second: str) -> int:
    """Compares the texts of two numbers, as a collation of SQLite does.

    >>> _compare_numbers("9", "10"), _compare_numbers("-2", "-10"), _compare_numbers("1.5", "1.50")
    (-1, 1, 0)
    """
    if first.isdigit() and second.isdigit():  # DynamoDB writes no leading zeros, so the longer one is greater
        first_order: Any = (len(first), first)
        second_order: Any = (len(second), second)
    else:
        first_order, second_order = Decimal(first), Decimal(second)
    return int(first_order > second_order) - int(first_order < second_order)


def _attribute_names(key_schema: Iterable[Mapping[str, str]]) -> tuple[str, ...]:
    return tuple(element["AttributeName"] for element in key_schema)


def _quote(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _column_value(value: Mapping[str, Any], sample: _AttributeSample) -> Any:
    """A value for the file: texts and numbers as they are, bytes as bytes, lists, maps and sets as JSON."""
    ((tag, inner),) = value.items()
    sample.tags[tag] += 1
    column_value: Any
    match tag:
        case "S":
            column_value = inner
            if len(sample.texts) < _SAMPLE:
                sample.texts.append(inner)
        case "N":
            column_value = inner
            sample.is_integer &= inner.lstrip("-").isdigit()
        case "B":
            column_value = msgspec.convert(inner, bytes, strict=False)
        case "BOOL":
            column_value = int(inner)
        case "NULL":
            return None
        case _:
            column_value = _json(value, sample)
    sample.size += len(column_value) if isinstance(column_value, str | bytes) else 1
    return column_value


def _json(value: Mapping[str, Any], sample: _AttributeSample) -> str:
    """A value as JSON text. Numbers keep all their digits."""
    ((tag, inner),) = value.items()
    match tag:
        case "N":
            return str(inner)
        case "L":
            return f"[{','.join(_json(element, sample) for element in inner)}]"
        case "M":
            members = (f"{json.dumps(name)}:{_json(member, sample)}" for name, member in inner.items())
            return f"{{{','.join(members)}}}"
        case "NS":
            return f"[{','.join(inner)}]"
        case "B" | "BS":
            sample.has_bytes = True
        case "NULL":
            return "null"
    return json.dumps(inner, ensure_ascii=False)


# --- Description ----------------------------------------------------------------------------------------------------


def _column(name: str, sample: _AttributeSample, rows: int, in_key: bool, is_ttl: bool) -> Column:
    type_, guess = _type(sample)
    if sample.has_bytes:
        guess = "it has bytes in a list, a map or a set, which become texts of base64"
    if is_ttl:
        guess = "it is the time to live of its table: mark it `ttl`"
    present = sum(count for tag, count in sample.tags.items() if tag != "NULL")
    size = sample.size // max(rows, 1) if rows else None
    return Column(name, type_, "/".join(sorted(sample.tags)), not in_key and present < rows, False, size, guess)


def _type(sample: _AttributeSample) -> tuple[Type, str]:
    """The type of an attribute, and why it is a guess."""
    tags = sample.tags.keys() - {"NULL"}
    if len(tags) != 1:
        return STRING, "its values have several types: kept as text" if tags else "no item has a value"
    (tag,) = tags
    match tag:
        case "S":
            return type_of_texts(None, sample.texts, "sqlite", is_text=True)
        case "N":
            return Type(Kind.INTEGER if sample.is_integer else Kind.DECIMAL), ""
    return _TYPES[tag], ""


def _with_references(snapshot: SourceSnapshot, copies: Sequence[_TableCopy]) -> Iterator[Table]:
    """The tables with guessed references: an attribute with the name of another table's key, and values of it only."""
    parents = {copy.table.key[0]: copy.table for copy in copies if len(copy.table.key) == 1}
    for table in (copy.table for copy in copies):
        columns, foreign_keys = [], []
        for column in table.columns:
            parent = parents.get(column.name)
            is_other_table = parent is not None and parent.name != table.name
            if parent is not None and is_other_table and _has_only_keys_of(parent, snapshot, table, column.name):
                foreign_keys.append(ForeignKey((column.name,), parent.name, (column.name,)))
                columns.append(replace(column, guess=f"all its values are keys of {parent.name}"))
            else:
                columns.append(column)
        quoted_name = snapshot.quote(table.name)
        fanouts = {fk.columns: fanout(snapshot, quoted_name, fk, table.rows) for fk in foreign_keys}
        yield replace(
            table,
            columns=tuple(columns),
            foreign_keys=tuple(foreign_keys),
            fanouts={fk_columns: figures for fk_columns, figures in fanouts.items() if figures is not None},
        )


def _has_only_keys_of(parent: Table, snapshot: SourceSnapshot, table: Table, column: str) -> bool:
    """Whether all values of a column are keys of another table. An empty table says nothing."""
    name, parent_name, key = snapshot.quote(table.name), snapshot.quote(parent.name), snapshot.quote(column)
    parent_row = f"SELECT 1 FROM {parent_name} AS p WHERE p.{key} = t.{key}"  # noqa: S608 - quoted by the dialect
    sql = f"SELECT count(*) FROM {name} AS t WHERE t.{key} IS NOT NULL AND NOT EXISTS ({parent_row})"  # noqa: S608
    return bool(table.rows) and snapshot.value(sql) == 0


def _statements(copies: Sequence[_TableCopy]) -> Iterator[LoggedStatement]:
    """The statements that keys and indexes serve: items by key, collections by partition, and writes."""
    for copy in copies:
        table, key = _quote(copy.table.name), copy.table.key
        columns = [column.name for column in copy.table.columns]
        key_condition = " AND ".join(f"{_quote(name)} = ?" for name in key)
        yield LoggedStatement(f"SELECT * FROM {table} WHERE {key_condition}")  # noqa: S608 - quoted, and never run on a server
        collections = [key, *copy.indexes] if len(key) > 1 else copy.indexes
        for partition, *sort in collections:
            order = f" ORDER BY {_quote(sort[0])}" if sort else ""
            yield LoggedStatement(f"SELECT * FROM {table} WHERE {_quote(partition)} = ?{order}")  # noqa: S608
        names, marks = ", ".join(map(_quote, columns)), ", ".join("?" * len(columns))
        yield LoggedStatement(f"INSERT INTO {table} ({names}) VALUES ({marks})")  # noqa: S608
        assignments = ", ".join(f"{_quote(name)} = ?" for name in columns if name not in key)
        if assignments:
            yield LoggedStatement(f"UPDATE {table} SET {assignments} WHERE {key_condition}")  # noqa: S608
        yield LoggedStatement(f"DELETE FROM {table} WHERE {key_condition}")  # noqa: S608
