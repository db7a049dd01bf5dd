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
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
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
from prejoin.migrate.source.reflect import fanout, judged_type
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
                copied = [_copy(self.send, name, database) for name in names or _all_names(self.send)]
            self.names = {one.table.name: one.name for one in copied}
            """The names of the tables by those of their copies."""
            if not copied:
                raise PipelineError(codes.NO_TABLES, f"{self.place} has no tables", "check the address")
            super().__init__(f"sqlite:///{self._file}")
            self.log = "dynamodb"
            event.listen(self.engine, "connect", _add_collation)
            with self.snapshot() as snapshot:
                self.described = Database(self.dialect, place_name(self.place), tuple(_related(snapshot, copied)))
            self._tables = {one.name: one for one in self.described.tables}
        except BaseException:
            self._transport.close()
            self._folder.cleanup()
            raise
        self.statements = QueryLog("the keys and indexes of the tables", tuple(_statements(copied)))

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
            for at in range(0, len(keys), _BATCH):
                some = keys[at : at + _BATCH]
                found = list(_batch(self.send, self.names[table], some))
                for key in some:
                    values = list(column_values(key, names).values())
                    database.execute(f"DELETE FROM {_quote(table)} WHERE {where}", values)  # noqa: S608 - quoted
                for item in found:
                    self._put(database, table, item)

    def _put(self, database: sqlite3.Connection, table: str, item: Item) -> None:
        """Copies an item. Attributes that no item had when the tables were described are not mapped, and left out."""
        _insert(database, table, column_values(item, (one.name for one in self._tables[table].columns)))

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
    whole: bool = True
    """Whether all numbers are integers."""
    binary: bool = False
    """Whether bytes are in a list, a map or a set."""
    size: int = 0


@dataclass(frozen=True)
class _Copied:
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


def _copy(send: Send, name: str, database: sqlite3.Connection) -> _Copied:
    described = send("DescribeTable", {"TableName": name})["Table"]
    key = _attributes(described["KeySchema"])
    numbers = {d["AttributeName"] for d in described["AttributeDefinitions"] if d["AttributeType"] == "N"}
    seen: dict[str, _AttributeSample] = {one: _AttributeSample() for one in key}
    copy = name.replace(".", "_")  # SQL, and so a mapping, reads a point as that between a schema and a table

    def column(attribute: str) -> str:
        return f"{_quote(attribute)} COLLATE {_NUMBERS}" if attribute in numbers else _quote(attribute)

    columns = ", ".join(map(column, key))
    try:
        database.execute(f"CREATE TABLE {_quote(copy)} ({columns}, PRIMARY KEY ({', '.join(map(_quote, key))}))")
    except sqlite3.OperationalError as problem:
        message = f"{name} has the name of another table, if points are `_` and upper case is lower case"
        raise PipelineError(codes.SOURCE, message, "name one of them: `?table=NAME`") from problem
    rows = 0
    for item in _items(send, name):
        rows += 1
        for attribute in item.keys() - seen.keys():
            seen[attribute] = _AttributeSample()
            database.execute(f"ALTER TABLE {_quote(copy)} ADD COLUMN {column(attribute)}")
        _insert(database, copy, {one: _stored(value, seen[one]) for one, value in item.items()})
    answer = send("DescribeTimeToLive", {"TableName": name}).get("TimeToLiveDescription", {})
    expiry = answer.get("AttributeName", "") if answer.get("TimeToLiveStatus") == "ENABLED" else ""
    columns_seen = tuple(_column(one, found, rows, one in key, one == expiry) for one, found in seen.items())
    size = sum(one.size or 0 for one in columns_seen) if rows else None
    indexes = [*(described.get("GlobalSecondaryIndexes") or ()), *(described.get("LocalSecondaryIndexes") or ())]
    table = Table(copy, columns_seen, key, rows=rows, row_size=size)
    return _Copied(name, table, tuple(dict.fromkeys(_attributes(one["KeySchema"]) for one in indexes)))


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
    wanted: Any = {table: {"Keys": keys, "ConsistentRead": True}}
    pause = _PAUSE
    while wanted:
        page = send("BatchGetItem", {"RequestItems": wanted})
        yield from page["Responses"].get(table, ())
        wanted = page.get("UnprocessedKeys")
        if wanted:
            time.sleep(pause)
            pause = min(pause * 2, _LONGEST_PAUSE)


def _insert(database: sqlite3.Connection, table: str, values: Mapping[str, Any]) -> None:
    columns, marks = ", ".join(map(_quote, values)), ", ".join("?" * len(values))
    sql = f"INSERT INTO {_quote(table)} ({columns}) VALUES ({marks})"  # noqa: S608 - quoted
    database.execute(sql, list(values.values()))


def column_values(item: Item, columns: Iterable[str]) -> dict[str, Any]:
    """The attributes of an item as the copy has them; None for those that it lacks."""
    seen = _AttributeSample()
    return {name: _stored(item[name], seen) if name in item else None for name in columns}


def _add_collation(database: sqlite3.Connection, *unused: object) -> None:
    """Lets a connection compare texts of numbers as numbers."""
    database.create_collation(_NUMBERS, _compared)


def _compared(one: str, other: str) -> int:
    """
    >>> _compared("9", "10"), _compared("-2", "-10"), _compared("1.5", "1.50")
    (-1, 1, 0)
    """
    if one.isdigit() and other.isdigit():
        left: Any = (len(one), one)
        right: Any = (len(other), other)
    else:
        left, right = Decimal(one), Decimal(other)
    return int(left > right) - int(left < right)


def _attributes(schema: Iterable[Mapping[str, str]]) -> tuple[str, ...]:
    return tuple(one["AttributeName"] for one in schema)


def _quote(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _stored(value: Mapping[str, Any], seen: _AttributeSample) -> Any:
    """A value for the file: texts and numbers as they are, bytes as bytes, lists, maps and sets as JSON."""
    ((tag, inner),) = value.items()
    seen.tags[tag] += 1
    stored: Any
    match tag:
        case "S":
            stored = inner
            if len(seen.texts) < _SAMPLE:
                seen.texts.append(inner)
        case "N":
            stored = inner
            seen.whole &= inner.lstrip("-").isdigit()
        case "B":
            stored = msgspec.convert(inner, bytes, strict=False)
        case "BOOL":
            stored = int(inner)
        case "NULL":
            return None
        case _:
            stored = _json(value, seen)
    seen.size += len(stored) if isinstance(stored, str | bytes) else 1
    return stored


def _json(value: Mapping[str, Any], seen: _AttributeSample) -> str:
    """A value as JSON text. Numbers keep all their digits."""
    ((tag, inner),) = value.items()
    match tag:
        case "N":
            return str(inner)
        case "L":
            return f"[{','.join(_json(one, seen) for one in inner)}]"
        case "M":
            return f"{{{','.join(f'{json.dumps(name)}:{_json(one, seen)}' for name, one in inner.items())}}}"
        case "NS":
            return f"[{','.join(inner)}]"
        case "B" | "BS":
            seen.binary = True
        case "NULL":
            return "null"
    return json.dumps(inner, ensure_ascii=False)


# --- Description ----------------------------------------------------------------------------------------------------


def _column(name: str, seen: _AttributeSample, rows: int, in_key: bool, expires: bool) -> Column:
    type_, guess = _type(seen)
    if seen.binary:
        guess = "it has bytes in a list, a map or a set, which become texts of base64"
    if expires:
        guess = "it is the time to live of its table: mark it `ttl`"
    present = sum(n for tag, n in seen.tags.items() if tag != "NULL")
    size = seen.size // max(rows, 1) if rows else None
    return Column(name, type_, "/".join(sorted(seen.tags)), not in_key and present < rows, False, size, guess)


def _type(seen: _AttributeSample) -> tuple[Type, str]:
    """The type of an attribute, and why it is a guess."""
    tags = seen.tags.keys() - {"NULL"}
    if len(tags) != 1:
        return STRING, "its values have several types: kept as text" if tags else "no item has a value"
    (tag,) = tags
    match tag:
        case "S":
            return judged_type(None, seen.texts, "sqlite", known=True)
        case "N":
            return Type(Kind.INTEGER if seen.whole else Kind.DECIMAL), ""
    return _TYPES[tag], ""


def _related(snapshot: SourceSnapshot, copied: Sequence[_Copied]) -> Iterator[Table]:
    """The tables with guessed references: an attribute with the name of another table's key, and values of it only."""
    parents = {one.table.key[0]: one.table for one in copied if len(one.table.key) == 1}
    for one in copied:
        table, columns, keys = one.table, list(one.table.columns), []
        for at, column in enumerate(columns):
            parent = parents.get(column.name)
            if parent is None or parent.name == table.name or not _contained(snapshot, table, parent, column.name):
                continue
            keys.append(ForeignKey((column.name,), parent.name, (column.name,)))
            columns[at] = replace(column, guess=f"all its values are keys of {parent.name}")
        found = replace(table, columns=tuple(columns), foreign_keys=tuple(keys))
        quoted = snapshot.quote(table.name)
        figures = {fk.columns: f for fk in keys if (f := fanout(snapshot, quoted, fk, table.rows))}
        yield replace(found, fanouts=figures)


def _contained(snapshot: SourceSnapshot, table: Table, parent: Table, column: str) -> bool:
    name, other, key = snapshot.quote(table.name), snapshot.quote(parent.name), snapshot.quote(column)
    inside = f"SELECT 1 FROM {other} AS p WHERE p.{key} = t.{key}"  # noqa: S608 - quoted by the dialect
    sql = f"SELECT count(*) FROM {name} AS t WHERE t.{key} IS NOT NULL AND NOT EXISTS ({inside})"  # noqa: S608
    return bool(table.rows) and snapshot.value(sql) == 0


def _statements(copied: Sequence[_Copied]) -> Iterator[LoggedStatement]:
    """The statements that keys and indexes serve: items by key, collections by partition, and writes."""
    for one in copied:
        table, key = _quote(one.table.name), one.table.key
        others = [c.name for c in one.table.columns if c.name not in key]
        exact = " AND ".join(f"{_quote(name)} = ?" for name in key)
        yield LoggedStatement(f"SELECT * FROM {table} WHERE {exact}")  # noqa: S608 - quoted, and never run on a server
        for partition, *sort in (*([key] if len(key) > 1 else []), *one.indexes):
            order = f" ORDER BY {_quote(sort[0])}" if sort else ""
            yield LoggedStatement(f"SELECT * FROM {table} WHERE {_quote(partition)} = ?{order}")  # noqa: S608
        names = ", ".join(_quote(c.name) for c in one.table.columns)
        yield LoggedStatement(f"INSERT INTO {table} ({names}) VALUES ({', '.join('?' * len(one.table.columns))})")  # noqa: S608
        if others:
            sets = ", ".join(f"{_quote(name)} = ?" for name in others)
            yield LoggedStatement(f"UPDATE {table} SET {sets} WHERE {exact}")  # noqa: S608
        yield LoggedStatement(f"DELETE FROM {table} WHERE {exact}")  # noqa: S608
