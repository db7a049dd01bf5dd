"""Totals kept from a stream: counts and sums of objects, in which each object counts once, whatever is delivered.

A stream delivers at least once, and not always in order. So a handler does not add up changes. For each object, a
`Contribution` item holds what the object adds to a total at present, and the sequence number of its last change. A
change replaces the contribution and moves the total by the difference, in one transaction. A change that is not newer
than the last one does nothing. The total is the sum of all contributions at any time.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, overload

import msgspec

from prejoin.patterns.clock import Clock, now
from prejoin.patterns.ttl import TimeToLive
from prejoin.table.client.reads import get_steps
from prejoin.table.conversation import Steps, pause
from prejoin.table.errors import ArgumentError, ConditionFailed, Conflict, SchemaError, TransactionCancelled
from prejoin.table.options import Progress
from prejoin.table.schema.bind import BoundEntity
from prejoin.table.schema.declare import Entity, Key
from prejoin.table.schema.schema import Schema
from prejoin.table.update.changes import Changes
from prejoin.table.write.execute import write_all
from prejoin.table.write.from_call import insert_write, put_write, update_write
from prejoin.table.write.model import Write

from .changes import StreamChange
from .handlers import StreamHandlers

if TYPE_CHECKING:
    from prejoin.table.client.async_client import AsyncClient
    from prejoin.table.client.client import Client

ATTEMPTS = 10
"""How often a change is applied anew if another one of the same object was first."""
CONTRIBUTION_LIFETIME = timedelta(days=2)
"""How long the contribution of a deleted object is kept. A stream has records of the last 24 hours."""
Values = Mapping[str, Any]


class Contribution(msgspec.Struct, frozen=True, kw_only=True):
    """The contribution of one object to a total."""

    totals: str
    item: str
    """The key attributes of the object, as JSON."""
    sequence: str
    """The sequence number of the last change, 0 if none came from the stream. It has up to 40 digits, a number 38."""
    added: str | None = None
    """The key of the total and the amounts, as JSON; None if the object is not counted."""
    expires_at: datetime | None = None


def contributions(clock: Clock = now) -> Entity[Contribution]:
    """Return the entity of contributions, for the schema of a table with `StreamTotals`."""
    key = Key("TOTALS#{totals}#{item}", "CONTRIBUTION")
    return Entity(Contribution, key, patterns=[TimeToLive("expires_at", clock=clock)])


@dataclass(frozen=True)
class StreamTotals:
    """Totals of the objects of one class: `StreamTotals(Order, Sales, by=…, add=…)`.

    >>> from prejoin import Client, Embedded, StreamConsumer
    >>> @dataclass
    ... class Order:
    ...     order_id: str
    ...     country: str
    ...     total: int
    >>> @dataclass
    ... class Sales:
    ...     country: str
    ...     orders: int = 0
    ...     total: int = 0
    >>> schema = Schema(
    ...     Entity(Order, Key("ORDER#{order_id}", "ORDER")),
    ...     Entity(Sales, Key("SALES#{country}", "SALES")),
    ...     contributions(),
    ... )
    >>> engine = Embedded()
    >>> db = Client(schema, "shop", engine)
    >>> db.create_table(StreamSpecification={"StreamEnabled": True, "StreamViewType": "NEW_IMAGE"})
    >>> sales = StreamTotals(
    ...     Order,
    ...     Sales,
    ...     by=lambda order: {"country": order.country},
    ...     add=lambda order: {"orders": 1, "total": order.total},
    ... )
    >>> handlers = StreamHandlers(schema)
    >>> keep_totals(handlers, db, sales)
    >>> _ = db.insert(Order("1", "CH", 30)), db.insert(Order("2", "CH", 12))
    >>> StreamConsumer(engine, "shop", handlers).run()
    2
    >>> db.get(Sales, country="CH")
    Sales(country='CH', orders=2, total=42)
    """

    of: type[Any]
    """The class of the objects."""
    into: type[Any]
    """The class of the totals. A total that is not there is created, so other attributes need a default."""
    by: Callable[[Any], Values | None]
    """The key of the total that an object belongs to; None if it is not counted."""
    add: Callable[[Any], Values]
    """Returns the amount that an object adds to each attribute of the total."""
    name: str = ""
    """Distinguishes totals of the same two classes. By default it is made of their names."""

    @property
    def title(self) -> str:
        return self.name or f"{self.of.__name__}.{self.into.__name__}"


def keep_totals(handlers: StreamHandlers, db: Client | AsyncClient, *totals: StreamTotals) -> None:
    """Add handlers that keep totals. The stream needs new images.

    With an `AsyncClient`, use the methods of the handlers that await.
    """
    for total in totals:
        _check(db.schema, total)
        handlers.on(total.of)(_Handler(db, total).handle)


@overload
def rebuild_totals(db: Client, totals: StreamTotals, *, progress: Progress | None = None) -> int: ...
@overload
def rebuild_totals(db: AsyncClient, totals: StreamTotals, *, progress: Progress | None = None) -> Awaitable[int]: ...
def rebuild_totals(
    db: Client | AsyncClient, totals: StreamTotals, *, progress: Progress | None = None
) -> int | Awaitable[int]:
    """Count all objects of the table that are not counted as they are, and return how many these were.

    Use it for objects that were there before the stream, and after changes were lost. The table may be in use, and the
    handler may run. It scans the table; `progress` is called with the number of objects after each page. It may be
    repeated.
    """
    from prejoin.table.client.client import Client

    rebuilt = _Rebuild(db, totals, progress or (lambda _: None))
    return rebuilt.run(db) if isinstance(db, Client) else rebuilt.run_async(db)


class _Handler:
    """The handler of one total."""

    def __init__(self, db: Client | AsyncClient, totals: StreamTotals) -> None:
        self._db, self._totals = db, totals

    def handle(self, change: StreamChange[Any]) -> Any:
        if change.kind != "delete" and change.new is None:
            raise ArgumentError(f"the stream has no new images, which {self._totals.title} needs. Use NEW_IMAGE")
        if not change.sequence.isdigit():
            raise ArgumentError(f"the record has the sequence number {change.sequence!r}, which is not a number")
        schema = self._db.schema
        bound = schema.entity(change.entity)
        texts = [next(iter(change.key[name].values())) for name in schema.keys("table").names]
        key = schema.read_key(*texts)[1]
        item = _text(bound, {name: key[name] for name in bound.base.attributes})
        return self._db._run(
            _replace_contribution(schema, self._db.table, self._totals, item, change.sequence, change.new)
        )


class _Rebuild:
    def __init__(self, db: Client | AsyncClient, totals: StreamTotals, progress: Progress) -> None:
        self._bound = _check(db.schema, totals)
        self._schema, self._table, self._totals, self._progress = db.schema, db.table, totals, progress
        self._seen = 0

    def run(self, db: Client) -> int:
        pages = db.everything(self._totals.of, Contribution)
        return sum(db._run(self._item(item)) for page in pages for item in self._items(page.items))

    async def run_async(self, db: AsyncClient) -> int:
        pages: AsyncIterator[Any] = db.everything(self._totals.of, Contribution)
        count = 0
        async for page in pages:
            for item in self._items(page.items):
                count += await db._run(self._item(item))
        return count

    def _items(self, objects: Iterable[Any]) -> Iterator[str]:
        """Return the objects of a page, and those that are counted and may be gone."""
        for record in objects:
            if isinstance(record, Contribution):
                if record.totals == self._totals.title and record.added is not None:
                    yield record.item
            else:
                self._seen += 1
                yield _text(self._bound, {name: getattr(record, name) for name in self._bound.base.attributes})
        self._progress(self._seen)

    def _item(self, item: str) -> Steps[bool]:
        return _replace_contribution(self._schema, self._table, self._totals, item)


def _replace_contribution(
    schema: Schema, table: str, totals: StreamTotals, item: str, sequence: str | None = None, new: Any = None
) -> Steps[bool]:
    """Replace the contribution of an object, and return whether it has changed.

    Without a sequence number the object is read, after its contribution: if it changes meanwhile, either the
    contribution has a newer sequence number when it is written, or the change is still to come from the stream.
    """
    into, key = schema.entity(totals.into), {"totals": totals.title, "item": item}
    for attempt in range(ATTEMPTS):
        if attempt:
            yield pause(attempt)
        before: Contribution | None = yield from get_steps(schema, table, Contribution, key, True, None)
        if sequence is None:
            source = schema.entity(totals.of)
            new = yield from get_steps(schema, table, totals.of, _values(source, item), True, None)
        elif before is not None and int(sequence) <= int(before.sequence):
            return False  # delivered again, or later than a newer change
        new_amounts, old_amounts = _amounts_text(into, totals, new), before.added if before else None
        if sequence is None and new_amounts == old_amounts:
            return False
        # A rebuild keeps the number, so that changes which the stream has yet to deliver are newer.
        number = sequence or (before.sequence if before else "0")
        # A late record of a deleted object still finds its contribution, and does nothing.
        expires_at = now() + CONTRIBUTION_LIFETIME if new_amounts is None else None
        contribution = Contribution(**key, sequence=number, added=new_amounts, expires_at=expires_at)
        contribution_write = _contribution_write(schema, before, contribution)
        updates = _total_updates(schema, into, old_amounts, new_amounts)
        try:
            yield from write_all(schema, table, [contribution_write, *updates])
        except (ConditionFailed, TransactionCancelled) as error:
            if not _has_false_condition(error):
                raise
        else:
            return True
    raise Conflict(f"{item} was changed during each of {ATTEMPTS} attempts to count it. Nothing was written")


def _has_false_condition(error: ConditionFailed | TransactionCancelled) -> bool:
    """Return whether an item had changed, so that another attempt may succeed."""
    failures = error.failures if isinstance(error, TransactionCancelled) else (error,)
    return any(isinstance(failure, ConditionFailed) for failure in failures)


def _contribution_write(schema: Schema, before: Contribution | None, after: Contribution) -> Write:
    """Return the write of a contribution, on the condition that it has not changed since it was read."""
    if before is None:
        return insert_write(schema, after)
    return put_write(
        schema,
        after,
        None,
        lambda contribution: (contribution.sequence == before.sequence) & (contribution.added == before.added),
        False,
    )


def _total_updates(
    schema: Schema, into: BoundEntity[Any], old_amounts: str | None, new_amounts: str | None
) -> Iterator[Write]:
    """Return the writes that take a contribution from one total and add another, which may be to the same one."""
    amounts_by_total: dict[str, tuple[Values, dict[str, Any]]] = {}
    for text, sign in ((old_amounts, -1), (new_amounts, 1)):
        if text is None:
            continue
        values = _values(into, text)
        key = {name: values[name] for name in into.base.attributes if name in values}
        # One update if both are of the same total: a transaction cannot write an item twice.
        _, sums = amounts_by_total.setdefault(_text(into, key), (key, {}))
        for name in values.keys() - key.keys():
            sums[name] = sums.get(name, 0) + sign * values[name]
    for total, sums in amounts_by_total.values():
        amounts = {name: amount for name, amount in sums.items() if amount}
        if amounts:
            # An upsert: the first object of a total creates it.
            yield update_write(schema, into.codec.cls, Changes({}, amounts), None, total, False, None, True)


def _amounts_text(into: BoundEntity[Any], totals: StreamTotals, new: Any) -> str | None:
    """Return the amounts that an object adds, and the total, as text; None if it is not counted."""
    key = totals.by(new) if new is not None else None
    return None if key is None else _text(into, {**key, **totals.add(new)})


def _text(entity: BoundEntity[Any], values: Values) -> str:
    """Return attributes as JSON, in the order of their names."""
    return msgspec.json.encode(entity.codec.encode_values(values), order="sorted").decode()


def _values(entity: BoundEntity[Any], text: str) -> dict[str, Any]:
    item = msgspec.json.decode(text)
    attributes = entity.codec.attributes.values()
    return {
        attribute.name: attribute.value.decode(item[attribute.wire])
        for attribute in attributes
        if attribute.wire in item
    }


def _check(schema: Schema, totals: StreamTotals) -> BoundEntity[Any]:
    """Return the entity of the objects. Raise SchemaError if the schema lacks what totals need."""
    schema.entity(totals.into)
    if not any(entity.codec.cls is Contribution for entity in schema.entities):
        raise SchemaError(f"{totals.title} needs an entity in the schema. Add contributions() to it")
    return schema.entity(totals.of)
