"""Time to live: expired items are hidden at once, and deleted by DynamoDB some time later."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

from msgspec.structs import replace

from prejoin.table.codec.structs import or_none, through
from prejoin.table.codec.values import Json, ValueCodec
from prejoin.table.condition.record import Compare, Exists, Or
from prejoin.table.errors import CodecError, SchemaError
from prejoin.table.schema.bind import BoundEntity
from prejoin.table.schema.pattern import BoundPattern, Lifecycle, Pattern, Visibility
from prejoin.table.update.changes import Changes
from prejoin.table.update.computed import First
from prejoin.table.write.model import Write
from prejoin.types import Kind

from .clock import Clock, now


@dataclass(frozen=True)
class TimeToLive(Pattern):
    """An attribute, datetime or int (seconds since 1970), with the time at which an item expires; None for never.

    It is the time to live attribute of the table, stored as a number of seconds. If it has another name there, pass it
    as `Schema(ttl=…)`. DynamoDB deletes expired items within days, at no cost. Until then they are hidden: reads do not
    return them, updates do not find them, and inserts replace them.

    With `after`, an item that is inserted or put without a time expires after this time; with `renew`, each put and
    update renews it.

    Cost: nothing for writes. Reads are billed for expired items that are not deleted yet, and get reads the whole item.
    DynamoDB never deletes items that expired more than five years ago.

    >>> from dataclasses import dataclass
    >>> from prejoin.engine import Embedded
    >>> from prejoin import Client, Entity, Key, Schema
    >>> @dataclass
    ... class Session:
    ...     token: str
    ...     expires_at: datetime | None = None
    >>> time = [datetime(2026, 5, 4, 12, tzinfo=UTC)]
    >>> hour = TimeToLive("expires_at", after=timedelta(hours=1), clock=lambda: time[0])
    >>> db = Client(Schema(Entity(Session, Key("SESSION#{token}", "SESSION"), patterns=[hour])), "shop", Embedded())
    >>> db.create_table()
    >>> db.insert(Session("x")).expires_at
    datetime.datetime(2026, 5, 4, 13, 0, tzinfo=datetime.timezone.utc)
    >>> time[0] += timedelta(hours=1)
    >>> print(db.get(Session, token="x"))
    None
    """

    attribute: str
    after: timedelta | None = None
    renew: bool = False
    clock: Clock = now

    @property
    def lifecycle(self) -> Lifecycle:
        return Lifecycle(self.attribute, "expires", storage=epoch)

    def bind(self, entity: BoundEntity[Any]) -> BoundPattern:
        label = f"{entity.tag}.{self.attribute}"
        kind = entity.codec.attribute(self.attribute).type.kind
        if kind not in (Kind.DATETIME, Kind.INTEGER, Kind.NUMBER, Kind.DECIMAL):
            raise SchemaError(f"{label} is a time to live, and must be a datetime or a number")
        if self.attribute in entity.base.attributes:
            raise SchemaError(f"{label} is a time to live, and cannot be part of the key")
        if kind is Kind.DATETIME and any(self.attribute in facet.attributes for facet in entity.natural.values()):
            raise SchemaError(f"{label} is stored as a number, and is the key of an index itself. Make it an int")
        if self.renew and self.after is None:
            raise SchemaError(f"{label} has renew=True, which needs after=")
        if sum(lifecycle.end == "expires" for lifecycle in entity.lifecycles) > 1:
            raise SchemaError(f"{entity.tag} has two time to live attributes, and a table can have one")
        return Expiry(self.attribute, self.after, self.renew, self.clock, kind is Kind.DATETIME)


@dataclass(frozen=True)
class Expiry(BoundPattern):
    attribute: str
    after: timedelta | None
    renew: bool
    clock: Clock
    is_time: bool

    def rewrite(self, write: Write) -> Write:
        match write.verb:
            case "insert" | "put":
                time = write.values.get(self.attribute)
                if self.after is not None and (time is None or (self.renew and write.verb == "put")):
                    time = self.value(self.clock() + self.after)
                elif self.is_time and time is not None:
                    time = self.value(time)
                return replace(write, values={**write.values, self.attribute: time})
            case "update" | "upsert" if self.after is not None and self.attribute not in write.changes.names:
                time = self.value(self.clock() + self.after)
                if self.renew:
                    return replace(write, changes=_with_set(write.changes, self.attribute, time))
                if write.verb == "upsert":
                    return replace(
                        write, changes=_with_set(write.changes, self.attribute, First((self.attribute,), time))
                    )
                return write
            case _:
                return write

    def visibility(self) -> Visibility:
        now = self.value(self.clock())
        never_expires = Exists((self.attribute,), present=False)
        return Visibility(
            Or((never_expires, Compare((self.attribute,), ">", now))), Compare((self.attribute,), "<=", now)
        )

    def value(self, time: datetime) -> datetime | int:
        """Return a time as a value of the attribute, in whole seconds, as it is stored."""
        whole_seconds = seconds(time)
        return datetime.fromtimestamp(whole_seconds, UTC) if self.is_time else whole_seconds


def _with_set(changes: Changes, name: str, value: Any) -> Changes:
    return Changes({**changes.sets, name: value}, changes.adds, changes.removes, changes.deletes)


# --- How times are stored
# ----------------------------------------------------------------------------------------------


def epoch(value: ValueCodec) -> ValueCodec:
    """Return the codec that stores a date and time as a number of seconds. A number is stored as it is.

    >>> from prejoin.table.codec.values import codec_for
    >>> codec = epoch(codec_for(datetime))
    >>> codec.encode(datetime(2026, 5, 4, 12, tzinfo=UTC))
    {'N': '1777896000'}
    >>> codec.decode({"N": "1777896000"})
    datetime.datetime(2026, 5, 4, 12, 0, tzinfo=datetime.timezone.utc)
    """
    if value.type.kind is not Kind.DATETIME:
        return value
    wire = through(read_seconds, "N")

    def encode(time: Any) -> Json:
        return {"NULL": True} if time is None and value.optional else {"N": str(seconds(time))}

    def decode(json: Json) -> Any:
        if "NULL" in json and value.optional:
            return None
        try:
            return read_seconds(json["N"])
        except (KeyError, ValueError, ArithmeticError) as error:
            raise CodecError(f"{json!r} is not a time in seconds since 1970") from error

    return replace(value, encode=encode, decode=decode, wire=or_none(wire) if value.optional else wire)


def seconds(time: object) -> int:
    """Return a time in whole seconds since 1970, rounded down."""
    if not isinstance(time, datetime):
        raise CodecError(f"{time!r} is not a date and time")
    if time.tzinfo is None:
        raise CodecError(f"{time.isoformat()} has no time zone")
    return int(time.timestamp() // 1)


def read_seconds(text: str) -> datetime:
    """Return the time of a number of seconds since 1970."""
    return datetime.fromtimestamp(int(Decimal(text)), UTC)
