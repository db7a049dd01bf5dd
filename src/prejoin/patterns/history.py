"""Version history: each write keeps the version that it replaces, as an item of its own in the same transaction."""

from __future__ import annotations

from collections.abc import Awaitable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar, overload

from msgspec.structs import replace

from prejoin.keys import TABLE, Facet
from prejoin.table.codec.values import Json
from prejoin.table.condition.render import Placeholders
from prejoin.table.conversation import Request, Steps
from prejoin.table.errors import AlreadyExists, ConditionFailed, NotFound, SchemaError, TableError
from prejoin.table.read.get import get_item
from prejoin.table.read.plan import plan_read
from prejoin.table.schema.bind import BoundEntity
from prejoin.table.schema.declare import Key
from prejoin.table.schema.pattern import BoundPattern, Pattern
from prejoin.table.schema.schema import Schema
from prejoin.table.update.changes import Changes
from prejoin.table.write.actions import absent, delete_other, item_name, put_other
from prejoin.table.write.execute import write_one
from prejoin.table.write.from_call import check_known, rewrite
from prejoin.table.write.model import ItemAction, StoredObject, Write

from .clock import Clock, now
from .copies import owner_form
from .mirror import MirrorPattern
from .version import Version

if TYPE_CHECKING:
    from prejoin.table.client.async_client import AsyncClient
    from prejoin.table.client.client import Client

E = TypeVar("E")

MOST_VERSIONS = 10**12
OBJECT = "object"
"""The attribute that holds a version. It is a map, so that indexes on attributes do not see earlier versions."""


@dataclass(frozen=True)
class History(Pattern):
    """Keeps the earlier versions of an item. The entity needs a `Version`.

    An update, put or delete also writes the version that it replaces, in the same transaction. `key` is the key of the
    versions; it contains the version. `keep` is the number of earlier versions to keep, and `keep_for` how long each is
    kept (the schema needs a `ttl` attribute for it); by default, all are kept for ever.

    Cost: an update of an item of up to 1 KB costs 4 write units instead of 1, with `keep` 6. It needs the stored item:
    pass `read=True`, or `was=` to a put. That an item was deleted by its time to live is not recorded.

    >>> from dataclasses import dataclass
    >>> from prejoin.engine import Embedded
    >>> from prejoin import Client, Entity, history
    >>> @dataclass
    ... class Note:
    ...     note_id: str
    ...     text: str
    ...     version: int = 0
    >>> versions = History(Key("NOTE#{note_id}#HISTORY", "{version}"), keep=10)
    >>> note = Entity(Note, Key("NOTE#{note_id}", "NOTE"), patterns=[Version("version"), versions])
    >>> db = Client(Schema(note), "notes", Embedded())
    >>> db.create_table()
    >>> _ = db.insert(Note("1", "first"))
    >>> with db.update(Note, read=True, note_id="1") as draft:
    ...     draft.text = "second"
    >>> history(db, Note, note_id="1")
    [Note(note_id='1', text='first', version=1)]
    """

    key: Key
    keep: int | None = None
    keep_for: timedelta | None = None
    clock: Clock = now
    of: str = ""
    """The copy whose tag the versions have, instead of that of the item: the item of another design, for the time
    between two designs. `history` reads the versions of the item itself."""

    def bind(self, entity: BoundEntity[Any]) -> BoundPattern:
        binder = entity.binder
        version = next((pattern for pattern in binder.entity.patterns if isinstance(pattern, Version)), None)
        if version is None:
            raise SchemaError(f'{entity.tag} has a History, which needs a version. Add Version("version")')
        if self.keep is not None and self.keep < 1:
            raise SchemaError(f"{entity.tag}: a History keeps at least one version, not {self.keep}")
        facet = binder.facet(TABLE, self.key, "history")
        tag, owner_facet = owner_form(entity, self.of)
        base_names, version_name = set(owner_facet.attributes), version.attribute
        if set(facet.attributes) != {*base_names, version_name} or version_name in facet.pk.attributes:
            raise SchemaError(
                f"{entity.tag}: the key of a History consists of {', '.join(sorted(base_names))}, as its own key, and "
                f"of {version_name} in the sort key"
            )
        assert facet.sk is not None
        version_encoding = next(field.encoding for field in facet.sk.fields if field.attribute == version_name)
        if not version_encoding.ordered or version_encoding.descending:
            raise SchemaError(
                f"{entity.tag}: versions are stored in ascending order. Write {{{version_name}}} in their key"
            )
        # A name that no query can use: reads return the current version only.
        facet = replace(facet, entity=f"{tag} history", copy="")
        return HistoryPattern(self, facet, version_name, version_encoding.digits)


class HistoryPattern(BoundPattern):
    """The history of one entity."""

    label = "its history"

    def __init__(self, pattern: History, facet: Facet, version: str, digits: int) -> None:
        self.facets = (facet,)
        self.facet = facet
        self.of = pattern.of
        """The copy whose versions these are; empty if they are those of the item itself."""
        self.keep = pattern.keep
        self.version = version
        self.clock = pattern.clock
        self.most = 10**digits - 1 if digits else MOST_VERSIONS
        self._declared = pattern

    def check(self, schema: Schema) -> None:
        if self._declared.keep_for is not None and not schema.ttl:
            raise SchemaError('a History with keep_for needs a time to live attribute: Schema(…, ttl="expires_at")')

    def depends(self, write: Write) -> Iterable[str]:
        return sorted(write.entity.codec.attributes) if write.verb in ("put", "update", "upsert", "delete") else ()

    def expand(self, schema: Schema, write: Write) -> Iterator[ItemAction]:
        if write.verb not in ("put", "update", "delete"):
            return
        if write.stored:
            replaced_values = write.stored.values
        elif write.verb == "put":
            return  # a put without a stored object creates the item
        else:
            replaced_values = write.before
        # An item from before the entity had versions has none to keep.
        if not replaced_values or not replaced_values.get(self.version):
            return
        if self.version in write.changes.sets:
            return  # only another number for the same version
        placeholders = Placeholders()
        item = self._item(schema, write.entity, replaced_values)
        condition = absent(schema, placeholders)
        yield put_other(schema, write, item, condition, placeholders, self.facet, self._version_exists)
        oldest = replaced_values[self.version] - (self._declared.keep or replaced_values[self.version])
        if oldest > 0:
            yield delete_other(schema, write, self.facet, {**replaced_values, self.version: oldest})

    def key(self, schema: Schema, values: Mapping[str, Any], version: int) -> Json:
        """Return the key of a version."""
        return schema.facet_key(self.facet, {**values, self.version: version})

    def _item(self, schema: Schema, entity: BoundEntity[Any], values: Mapping[str, Any]) -> Json:
        for pattern in entity.patterns:
            if isinstance(pattern, MirrorPattern):
                # Code that knows one name may have changed it since: a version has the value that this code reads.
                values = {**values, pattern.target: values[pattern.source]}
        item: Json = {OBJECT: {"M": entity.codec.encode_values(values)}}
        if self._declared.keep_for is not None:
            end = self.clock() + self._declared.keep_for
            item[schema.ttl] = {"N": str(int(end.timestamp()))}
        return item | schema.facet_key(self.facet, values) | {schema.type_attribute: {"S": self.facet.entity}}

    def _version_exists(self, write: Write, _: Json | None) -> ConditionFailed:
        error = AlreadyExists(
            f"the history of {item_name(write)} has this version already, of an earlier item with the same key. "
            "Repeat the write"
        )
        error.remedy = partial(self._continue_versions, write)
        return error

    def _continue_versions(self, write: Write, schema: Schema, table: str) -> Steps[None]:
        """Let the versions of an item continue after those of a deleted item with the same key.

        An insert cannot do so for nothing: it would have to look for them.
        """
        entity = write.entity
        key_values = {name: write.before[name] for name in (*entity.base.attributes, *self.facet.attributes)}
        newest = yield from _History(schema, table, entity.codec.cls, key_values, self.of).read(1)
        if not newest:
            return
        key_values = {name: key_values[name] for name in (*entity.base.attributes, self.version)}
        renumbering = Changes({self.version: getattr(newest[0], self.version) + 1})
        try:
            update = Write("update", entity, key_values, changes=renumbering, read_first=True, visible=write.visible)
            yield from write_one(schema, table, update)
        except ConditionFailed:
            return  # it was written since: the write that is repeated finds out


@overload
def history(db: Client, cls: type[E], /, *, limit: int | None = None, **key: Any) -> list[E]: ...
@overload
def history(db: AsyncClient, cls: type[E], /, *, limit: int | None = None, **key: Any) -> Awaitable[list[E]]: ...
def history(db: Client | AsyncClient, cls: type[Any], /, *, limit: int | None = None, **key: Any) -> Any:
    """Return the earlier versions of an item, the newest first; without the current one. `limit` is how many."""
    return db._run(_history_of(db, cls, key).read(limit))


@overload
def version_of(db: Client, cls: type[E], version: int, /, **key: Any) -> E | None: ...
@overload
def version_of(db: AsyncClient, cls: type[E], version: int, /, **key: Any) -> Awaitable[E | None]: ...
def version_of(db: Client | AsyncClient, cls: type[Any], version: int, /, **key: Any) -> Any:
    """Return a version of an item, the current one or an earlier one; None if it is not kept."""
    return db._run(_history_of(db, cls, key).version(version))


@overload
def restore_version(db: Client, cls: type[E], version: int, /, **key: Any) -> E: ...
@overload
def restore_version(db: AsyncClient, cls: type[E], version: int, /, **key: Any) -> Awaitable[E]: ...
def restore_version(db: Client | AsyncClient, cls: type[Any], version: int, /, **key: Any) -> Any:
    """Write an earlier version of an item anew, as its next version, and return it. A deleted item exists again.

    Raise NotFound if the version is not kept, and VersionConflict if the item was written at the same time.
    """
    return db._run(_history_of(db, cls, key).restore(version))


def compare_versions(db: Client | AsyncClient, one: E, other: E) -> dict[str, tuple[Any, Any]]:
    """Return the attributes in which two objects of an entity differ, with both values."""
    codec = db.schema.entity(type(one)).codec
    if type(one) is not type(other):
        raise TableError(f"a {type(one).__name__} and a {type(other).__name__} cannot be compared")
    before, after = codec.values(one), codec.values(other)
    return {name: (value, after[name]) for name, value in before.items() if value != after[name]}


def _history_of(db: Client | AsyncClient, cls: type[Any], key: Mapping[str, Any]) -> _History:
    return _History(db.schema, db.table, cls, key)


class _History:
    """The history of one item."""

    def __init__(self, schema: Schema, table: str, cls: type[Any], key: Mapping[str, Any], of: str = "") -> None:
        self._schema, self._table = schema, table
        self._entity, self._known = check_known(schema, cls, key)
        patterns = (candidate for candidate in self._entity.patterns if isinstance(candidate, HistoryPattern))
        pattern = next((pattern for pattern in patterns if pattern.of == of), None)
        if pattern is None:
            raise TableError(f"{self._entity.tag} has no History. Add it to its patterns")
        self._pattern = pattern

    def read(self, limit: int | None) -> Steps[list[Any]]:
        names = self._schema.keys(TABLE)
        (pk,), (sk,) = names.pk, names.sk
        first, last = (self._pattern.key(self._schema, self._known, number) for number in (1, self._pattern.most))
        body: dict[str, Any] = {
            "TableName": self._table,
            "KeyConditionExpression": "#pk = :pk AND #sk BETWEEN :first AND :last",
            "ExpressionAttributeNames": {"#pk": pk, "#sk": sk},
            "ExpressionAttributeValues": {":pk": first[pk], ":first": first[sk], ":last": last[sk]},
            "ScanIndexForward": False,
            "ConsistentRead": True,
        }
        items: list[Json] = []
        while limit is None or len(items) < limit:
            limit_parameter = {"Limit": limit - len(items)} if limit is not None else {}
            page = yield Request("Query", body | limit_parameter)
            items += page["Items"]
            if "LastEvaluatedKey" not in page:
                break
            body["ExclusiveStartKey"] = page["LastEvaluatedKey"]
        return [self._object(item) for item in items]

    def version(self, number: int) -> Steps[Any]:
        # The current version first: it may move into the history meanwhile, but not back.
        current = yield from self._current()
        if current is not None and getattr(current, self._pattern.version) == number:
            return current
        return (yield from self._earlier(number))

    def restore(self, number: int) -> Steps[Any]:
        current = yield from self._current()
        record = yield from self._earlier(number)
        if record is None:
            if current is not None and getattr(current, self._pattern.version) == number:
                return current
            raise NotFound(f"version {number} of {self._entity.tag} is not kept")
        codec, attribute = self._entity.codec, self._pattern.version
        values = codec.values(record)
        if current is not None:
            current_values = codec.values(current)
            # The version pattern increments the version of the put: that of the current object.
            values = values | {attribute: current_values[attribute]}
            write = rewrite(Write("put", self._entity, values, StoredObject(current_values)))
        else:
            newest = yield from self.read(1)
            write = rewrite(Write("insert", self._entity, values))
            # A new item begins with version 1, and the versions of this one continue.
            write = replace(write, values={**write.values, attribute: getattr(newest[0], attribute) + 1})
        yield from write_one(self._schema, self._table, write)
        return codec.decode(codec.encode_values(write.values))

    def _current(self) -> Steps[Any]:
        plan, values = plan_read(self._schema, (self._entity,), self._known, consistent=True, into=None)
        return (yield from get_item(self._schema, self._table, plan, values))

    def _earlier(self, number: int) -> Steps[Any]:
        key = self._pattern.key(self._schema, self._known, number)
        response = yield Request("GetItem", {"TableName": self._table, "Key": key, "ConsistentRead": True})
        return self._object(response["Item"]) if "Item" in response else None

    def _object(self, item: Json) -> Any:
        return self._entity.codec.read(item[OBJECT]["M"], self._entity.tag, {})
