"""ShardedCounter: numbers of an item that many writers add to, spread over several items."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Iterator, Mapping, Sequence
from dataclasses import dataclass
from random import randrange
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar, overload

from msgspec.structs import replace

from prejoin.keys import TABLE, Facet, Natural, TemplateError
from prejoin.keys.counter import SHARD, counter_key
from prejoin.patterns.bounds import BoundsPattern
from prejoin.patterns.copies import owner_form
from prejoin.table.codec.values import Json
from prejoin.table.condition.record import Compare, Exists, Or, both
from prejoin.table.conversation import ItemKeys, Request, Steps, pause
from prejoin.table.errors import ConditionFailed, SchemaError, TableError, Unanswered, VersionConflict
from prejoin.table.read.batch_get import ATTEMPTS, MOST_KEYS
from prejoin.table.read.page import Collection, Page
from prejoin.table.schema.bind import BoundEntity
from prejoin.table.schema.key_attributes import key_text
from prejoin.table.schema.pattern import BoundPattern, Pattern
from prejoin.table.schema.schema import Schema
from prejoin.table.update.computed import Sum
from prejoin.table.write.actions import add_other, delete_other, item_name
from prejoin.table.write.model import ItemAction, Write
from prejoin.types import Kind

from .sharded import MOST_SHARDS

if TYPE_CHECKING:
    from prejoin.table.client.async_client import AsyncClient
    from prejoin.table.client.client import Client

F = TypeVar("F")
_NUMBERS = (Kind.INTEGER, Kind.DECIMAL)


class ShardedCounter(Pattern):
    """Numbers of an item that more writers add to than one item takes: 1,000 write units a second.

    An update that adds to such a number (`page.views += 1`) adds to one of `shards` items, chosen at random, each in a
    partition of its own. The item itself is neither written nor checked, so its version and timestamps stay.
    `with_counts` reads the shards of objects, and returns the objects with the sums. Without it an object has the
    number that it was inserted with.

    Cost: an update costs what it costs without shards. `with_counts` costs half a read unit for each shard, or a whole
    one if `consistent`. A delete also deletes the shards, in a transaction: 2 write units for each.

    >>> from dataclasses import dataclass
    >>> from prejoin.engine import Embedded
    >>> from prejoin import Client, Entity, Key, Schema
    >>> @dataclass
    ... class Article:
    ...     article_id: str
    ...     views: int = 0
    >>> counter = ShardedCounter("views", shards=4)
    >>> schema = Schema(Entity(Article, Key("ARTICLE#{article_id}", "ARTICLE"), patterns=[counter]))
    >>> db = Client(schema, "news", Embedded())
    >>> db.create_table()
    >>> _ = db.insert(Article("1"))
    >>> for _ in range(10):
    ...     with db.update(Article, article_id="1") as article:
    ...         article.views += 1
    >>> with_counts(db, Article, db.get(Article, article_id="1"))
    Article(article_id='1', views=10)
    """

    def __init__(self, *attributes: str, shards: int, twin: str = "") -> None:
        self.attributes = attributes
        self.shards = shards
        self.twin = twin
        """The copy that has shards, too: the item of another design, for the time between two designs. Each addition
        is made to a shard of both."""

    def bind(self, entity: BoundEntity[Any]) -> BoundPattern:
        context = f"{entity.tag}, counter {', '.join(self.attributes)}"
        if not self.attributes or not 2 <= self.shards <= MOST_SHARDS:
            raise SchemaError(f"{context}: needs the name of a number, and from 2 to {MOST_SHARDS} shards")
        for name in self.attributes:
            if entity.codec.attribute(name).type.kind not in _NUMBERS:
                raise SchemaError(f"{context}: {name} must be int or Decimal, which add up exactly")
        facet = _shard_facet(entity, "", context)
        twin = _shard_facet(entity, self.twin, context) if self.twin else None
        if twin is not None and not {*twin.attributes} - {SHARD} <= set(entity.base.attributes):
            raise SchemaError(
                f"{context}: the key of the copy {self.twin} has other attributes than the key of the item"
            )
        names = {name: entity.codec.attribute(name).wire for name in self.attributes}
        return BoundCounter(names, self.shards, facet, twin)

    def __repr__(self) -> str:
        twin = f", twin={self.twin!r}" if self.twin else ""
        return f"ShardedCounter({', '.join(map(repr, self.attributes))}, shards={self.shards}{twin})"


def counted_mark(wire: str) -> str:
    """The attribute of a shard with the part of a number that the shard of the twin has, too."""
    return f"~{wire}"


def _shard_facet(entity: BoundEntity[Any], copy: str, context: str) -> Facet:
    """Return the key of the shards of an entity's own item, or of a copy."""
    tag, base = owner_form(entity, copy)
    pk, sk = base.pk, base.sk
    if sk is None or isinstance(pk, Natural) or isinstance(sk, Natural) or pk.raw:
        raise SchemaError(f"{context}: needs a partition and a sort key that are templates of prejoin")
    try:
        key = counter_key(tag, pk, sk, entity.codec.types, entity.binder.separator)
    except TemplateError as error:
        raise SchemaError(f"{context}: {error}") from None
    # A name that no query can use: reads never return a shard.
    return Facet(f"{tag} counter", TABLE, *key)


@dataclass(frozen=True)
class BoundCounter(BoundPattern):
    """The counter of one entity."""

    attributes: Mapping[str, str]
    """The attributes and their names in the table."""
    shards: int
    facet: Facet
    twin: Facet | None = None
    """The key of the shards under the other key of the entity, between two designs."""
    choose: Callable[[int], int] = randrange
    """Chooses a shard."""
    spreads: ClassVar[bool] = True

    @property
    def facets(self) -> tuple[Facet, ...]:  # type: ignore[override]
        return (self.facet,) if self.twin is None else (self.facet, self.twin)

    def check(self, schema: Schema) -> None:
        entity = next(
            candidate for candidate in schema.entities if any(pattern is self for pattern in candidate.patterns)
        )
        if any(lifecycle.end == "expires" for lifecycle in entity.lifecycles):
            raise SchemaError(f"{entity.tag} expires, and the shards of its counter would stay")
        for facet in entity.facets:
            if facet.entity == entity.tag and not self.attributes.keys().isdisjoint(facet.placing):
                raise SchemaError(
                    f"{entity.tag}, counter: {', '.join(self.attributes.keys() & set(facet.placing))} is part of a key "
                    f"in {facet.slot}, and the item does not know the sum of its shards"
                )
        for pattern in entity.patterns:
            if isinstance(pattern, BoundsPattern) and pattern.attribute in self.attributes:
                pattern.check_spread()

    def rewrite(self, write: Write) -> Write:
        match write.verb:
            case "put":
                # The object may have the sum instead of its own number: written, it would count twice.
                unchanged_numbers = [Compare((name,), "=", write.values[name]) for name in self.attributes]
                new_item = Exists((next(iter(write.entity.base.attributes)),), present=False)
                for same_number in unchanged_numbers:
                    write = replace(write, where=both(write.where, Or((new_item, same_number))))
                return write
            case "update" | "upsert" if not write.changes.names.isdisjoint(self.attributes):
                return self._spread(write)
            case _:
                return write

    def _spread(self, write: Write) -> Write:
        changes, tag = write.changes, write.entity.tag
        amounts: dict[str, Any] = {}
        for name in self.attributes.keys() & changes.names:
            change = changes.sets.get(name)
            if name in changes.adds:
                amounts[name] = changes.adds[name]
            elif isinstance(change, Sum) and change.path == (name,):
                amounts[name] = change.amount if change.sign == "+" else -change.amount
            else:
                raise TableError(f"{tag}.{name} is a sharded counter: an update can add to it, and nothing else")
            for pattern in write.entity.patterns:
                if isinstance(pattern, BoundsPattern) and pattern.attribute == name:
                    pattern.refuse_spread(amounts[name])
        if write.verb == "upsert":
            raise TableError(f"an upsert of {tag} would not create it, because {', '.join(amounts)} is sharded")
        other_changes = changes.only(changes.names - amounts.keys())
        write = replace(write, changes=other_changes, spread=amounts)
        if write.spares_item and (write.where is not None or write.asserted or write.returning):
            raise TableError(
                f"this update of {tag} writes shards of {', '.join(amounts)} and not the item, so it has no condition "
                "and returns nothing. To check the item, use tx.check in a transaction"
            )
        return replace(write, read_first=False) if write.spares_item else write

    def failed(self, write: Write, item: Json | None) -> ConditionFailed | None:
        if write.verb != "put" or not item:
            return None
        codec = write.entity.codec
        for name, wire in self.attributes.items():
            if wire not in item or codec.attribute(name).value.decode(item[wire]) != write.values[name]:
                return VersionConflict(
                    f"{item_name(write)} was inserted with another {name}, to which its shards add. Use update"
                )
        return None

    def expand(self, schema: Schema, write: Write) -> Iterator[ItemAction]:
        if write.spread:
            adds = {self.attributes[name]: amount for name, amount in write.spread.items()}
            if self.twin is not None:
                adds |= {counted_mark(wire): amount for wire, amount in adds.items()}
            shard = self.choose(self.shards)
            for facet in self.facets:
                key = schema.facet_key(facet, {**write.values, SHARD: shard})
                yield add_other(schema, write, key, adds, facet.entity)
        elif write.verb == "delete":
            for facet in self.facets:
                for shard in range(self.shards):
                    yield delete_other(schema, write, facet, {**write.values, SHARD: shard})

    def key(self, schema: Schema, values: Mapping[str, Any], shard: int) -> Json:
        """Return the key of a shard of the item with these key attributes."""
        return schema.facet_key(self.facet, {**values, SHARD: shard})


@overload
def with_counts(db: Client, cls: type[Any], found: F, *, consistent: bool = False) -> F: ...
@overload
def with_counts(db: AsyncClient, cls: type[Any], found: F, *, consistent: bool = False) -> Coroutine[Any, Any, F]: ...
def with_counts(db: Client | AsyncClient, cls: type[Any], found: Any, *, consistent: bool = False) -> Any:
    """Return what a read found, with the sums of the sharded counters of `cls`: an object or None, a list, a page, or a
    collection, whose other objects stay as they are. Objects of a view need the attributes of the key.

    It reads all shards of all objects, with a BatchGetItem for each hundred.
    """
    return db._run(_with_counts(db.schema, db.table, schema_counter(db.schema, cls), cls, found, consistent))


def schema_counter(schema: Schema, cls: type[Any]) -> BoundCounter:
    """Return the sharded counter of a class."""
    counter = next((pattern for pattern in schema.entity(cls).patterns if isinstance(pattern, BoundCounter)), None)
    if counter is None:
        raise SchemaError(f"{cls.__name__} has no ShardedCounter")
    return counter


def _with_counts(
    schema: Schema, table: str, counter: BoundCounter, cls: type[Any], result: Any, consistent: bool
) -> Steps[Any]:
    if isinstance(result, Collection | Page):
        records = result.items
    else:
        records = tuple(result) if isinstance(result, list) else (result,)
    # A collection has objects of other entities, too. Everything else may have views of this one, which count as well.
    positions = []
    for position, record in enumerate(records):
        if record is not None and (type(record) is cls or not isinstance(result, Collection)):
            positions.append(position)
    entity = schema.entity(cls)
    sums = yield from _sums(schema, table, counter, entity, [records[position] for position in positions], consistent)
    counted_records = list(records)
    for position, record_sums in zip(positions, sums, strict=True):
        counted_records[position] = _with_sums(entity, counter, records[position], record_sums)
    if isinstance(result, Collection):
        return replace(result, items=tuple(counted_records))
    if isinstance(result, Page):
        return Page(tuple(counted_records), result.cursor, result.unmatched, result.unreadable)
    return counted_records if isinstance(result, list) else counted_records[0]


def _sums(
    schema: Schema,
    table: str,
    counter: BoundCounter,
    entity: BoundEntity[Any],
    objects: Sequence[Any],
    consistent: bool,
) -> Steps[list[dict[str, Any]]]:
    """Read the shards of objects, and return the sums by attribute."""
    names = schema.keys(TABLE).names
    owners: dict[str, int] = {}
    keys: list[Json] = []
    for position, record in enumerate(objects):
        values = schema.with_tenant({name: getattr(record, name) for name in entity.base.attributes}, entity)
        for shard in range(counter.shards):
            keys.append(counter.key(schema, values, shard))
            owners[keys[-1][names[0]]["S"]] = position
    sums: list[dict[str, Any]] = [{} for _ in objects]
    for item in (yield from _read_shards(table, keys, consistent)):
        record_sums = sums[owners[item[names[0]]["S"]]]
        for name, wire in counter.attributes.items():
            if wire in item:
                record_sums[name] = record_sums.get(name, 0) + entity.codec.attribute(name).value.decode(item[wire])
    return sums


def _read_shards(table: str, keys: list[Json], consistent: bool) -> Steps[list[Json]]:
    items: list[Json] = []
    attempt = 0
    while keys:
        batch, keys = keys[:MOST_KEYS], keys[MOST_KEYS:]
        batch_request: dict[str, Any] = {"Keys": batch, **({"ConsistentRead": True} if consistent else {})}
        answer = yield Request(
            "BatchGetItem", {"RequestItems": {table: batch_request}}, ItemKeys([*map(key_text, batch)])
        )
        items += answer["Responses"].get(table, [])
        unread_keys = answer.get("UnprocessedKeys", {}).get(table, {}).get("Keys", [])
        attempt = attempt + 1 if len(unread_keys) == len(batch) else 0
        if attempt == ATTEMPTS:
            raise Unanswered(f"{len(unread_keys)} shards were not read: DynamoDB had no capacity", unread_keys)
        if unread_keys:
            yield pause(attempt)
        keys = unread_keys + keys
    return items


def _with_sums(entity: BoundEntity[Any], counter: BoundCounter, record: Any, sums: Mapping[str, Any]) -> Any:
    """Return the object with the sums of its shards added to its own numbers."""
    codec = entity.codec if type(record) is entity.codec.cls else entity.codec.view(type(record))
    values = codec.values(record)
    totals = {name: (values[name] or 0) + amount for name, amount in sums.items() if name in values}
    return codec.decode(codec.encode_values({**values, **totals})) if totals else record
