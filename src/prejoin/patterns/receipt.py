"""Idempotent writes: a transaction with a token is applied once, as long as its receipt exists.

DynamoDB's own token makes a transaction safe to repeat for ten minutes. A receipt is an item that is written in the
same transaction: as long as it exists, a repetition writes nothing.

Cost: the receipt is one more item in a transaction, 2 write units (up to 1 KB), and the other writes cost twice the
units, as in any transaction. A repetition costs the same write units, and 1 read unit for the receipt. A transaction
has at most 100 items, including the receipt.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from datetime import datetime, timedelta
from types import TracebackType
from typing import TYPE_CHECKING, Any, NamedTuple, overload

import msgspec

from prejoin.protocol.errors import DynamoDBError
from prejoin.protocol.limits import ITEM_SIZE
from prejoin.table.client.reads import get_steps
from prejoin.table.client.transaction import WriteList
from prejoin.table.condition.record import recorded
from prejoin.table.conversation import Steps, pause
from prejoin.table.errors import ConditionFailed, Conflict, SchemaError, TableError, TooMany, TransactionCancelled
from prejoin.table.schema.bind import BoundEntity
from prejoin.table.schema.declare import Entity, Key
from prejoin.table.schema.schema import Schema
from prejoin.table.write.execute import write_all
from prejoin.table.write.from_call import insert_write
from prejoin.transport.errors import OutcomeUnknown, TransportError

from .clock import Clock, now
from .ttl import TimeToLive

if TYPE_CHECKING:
    from prejoin.table.client.async_client import AsyncClient
    from prejoin.table.client.client import Client

ATTEMPTS = 3
"""How often it is sent where the answer is lost. The receipt makes that safe."""
LARGEST_RESULT = ITEM_SIZE - 10_000
"""In bytes; the rest of the receipt is the token, and small."""


class TokenReused(TableError):  # noqa: N818 - the family is named by what happened
    """A token that stands for other writes already. Nothing was written."""


class Receipt(msgspec.Struct, frozen=True, kw_only=True):
    """The record of a transaction that was applied. An ordinary entity: `db.get(Receipt, token=…)` finds it."""

    token: str
    fingerprint: str
    """The fingerprint of the writes, so that a token is not reused for others."""
    attempt: str
    """Identifies the attempt that wrote it, in case its response was lost."""
    expires_at: datetime
    result: str | None = None
    """The result that the caller stored with it, as JSON."""


def receipts(key: Key | None = None, *, tenant: str = "", clock: Clock = now) -> Entity[Any]:
    """Return the entity of receipts, for the schema. In a schema with tenants, pass the tenant attribute.

    >>> receipts().key.pk, receipts(tenant="shop_id").key.pk
    ('ONCE#{token}', 'TENANT#{shop_id}#ONCE#{token}')
    """
    cls: type[Any] = Receipt
    if tenant:
        cls = msgspec.defstruct("Receipt", [(tenant, str)], bases=(Receipt,), frozen=True, kw_only=True)
    key = key or Key(f"TENANT#{{{tenant}}}#ONCE#{{token}}" if tenant else "ONCE#{token}", "ONCE")
    return Entity(cls, key, patterns=[TimeToLive("expires_at", clock=clock)])


@overload
def once(db: Client, token: str, *, keep: timedelta = ..., content: object = ..., **known: Any) -> Once: ...
@overload
def once(db: AsyncClient, token: str, *, keep: timedelta = ..., content: object = ..., **known: Any) -> AsyncOnce: ...
def once(
    db: Client | AsyncClient,
    token: str,
    *,
    keep: timedelta = timedelta(days=7),
    content: object = None,
    **known: Any,
) -> Once | AsyncOnce:
    """Return a transaction that is applied once, even if it is repeated with the same token.

    A repetition writes nothing: `repeated` is true then, and `result` is that of the first one. The same token with
    other writes raises TokenReused. If the writes differ between repetitions, because of generated ids or times, pass
    the request itself as `content`, which is compared instead.

    `keep` is how long the receipt is kept. In a schema with tenants, use the client of a tenant.

    >>> from dataclasses import dataclass
    >>> from prejoin.engine import Embedded
    >>> from prejoin import Client
    >>> @dataclass
    ... class Order:
    ...     order_id: str
    ...     total: int
    >>> schema = Schema(Entity(Order, Key("ORDER#{order_id}", "ORDER")), receipts())
    >>> db = Client(schema, "shop", Embedded())
    >>> db.create_table()
    >>> for _ in range(2):
    ...     with once(db, "request-8") as tx:
    ...         _ = tx.insert(Order("7", 99))
    ...         tx.result = "7"
    ...     tx.repeated, tx.result
    (False, '7')
    (True, '7')
    """
    from prejoin.table.client.client import Client

    return (Once if isinstance(db, Client) else AsyncOnce)(db, token, keep, content, known)


class _Once(WriteList):
    """Collected writes, and their receipt."""

    _call = "once(db, …)"

    def __init__(self, db: Any, token: str, keep: timedelta, content: object, tenant_values: Mapping[str, Any]) -> None:
        super().__init__(db.schema, db.table, None)
        if not token:
            raise TableError("the token is empty. It must identify this request")
        if keep <= timedelta():
            raise TableError(f"keep is {keep}, and must be longer than nothing")
        self._client = db
        entity = _receipts_of(db.schema)
        self._cls: type[Receipt] = entity.codec.cls
        self._clock = next(
            pattern.clock for pattern in entity.binder.entity.patterns if isinstance(pattern, TimeToLive)
        )
        self._key = {**db.schema.with_tenant({}), **tenant_values, "token": token}
        self._keep = keep
        self._content = content
        self._said: list[object] = []
        self._result: Any = None
        self.repeated = False
        """Whether it was a repetition, so that nothing was written."""

    @property
    def result(self) -> Any:
        """A result to store with the receipt, as JSON; for a repetition, the result of the first one."""
        return self._result

    @result.setter
    def result(self, value: Any) -> None:
        if len(msgspec.json.encode(value)) > LARGEST_RESULT:
            raise TooMany(f"the result has more than {LARGEST_RESULT} bytes. Store it in an item, and its key here")
        self._result = value

    # The arguments are compared as they were given: patterns add versions and times, which differ between repetitions.

    def insert(self, record: Any) -> Any:
        self._said.append(["insert", self._with_tag(record)])
        return super().insert(record)

    def put(self, record: Any, *, was: Any = None, where: Any = None, read: bool = False) -> Any:
        self._said.append(["put", self._with_tag(record), self._with_tag(was), self._condition(type(record), where)])
        return super().put(record, was=was, where=where, read=read)

    def apply(self, cls: type[Any], changes: Any, /, *, where: Any = None, **how: Any) -> Any:
        self._said.append(["apply", self._tag(cls), changes, self._condition(cls, where), how])
        return super().apply(cls, changes, where=where, **how)

    def delete(self, cls: type[Any], /, *, where: Any = None, **how: Any) -> Any:
        self._said.append(["delete", self._tag(cls), self._condition(cls, where), how])
        return super().delete(cls, where=where, **how)

    def check(self, cls: type[Any], /, *, where: Any = None, **known: Any) -> None:
        self._said.append(["check", self._tag(cls), self._condition(cls, where), known])
        super().check(cls, where=where, **known)

    def check_absent(self, cls: type[Any], /, **key: Any) -> None:
        self._said.append(["check_absent", self._tag(cls), key])
        super().check_absent(cls, **key)

    def _tag(self, cls: type[Any]) -> str:
        """The name of a class for the fingerprint: its type tag, which stays if the class is renamed."""
        return self.schema.entity(cls).tag

    def _with_tag(self, record: Any) -> object:
        """The attributes of an object, with the type tag in place of the name of its class."""
        if record is None:
            return None
        return _NamedRecord(self._tag(type(record)), record)

    def _condition(self, cls: type[Any], where: Any) -> object:
        return recorded(where, self.schema.entity(cls).codec)

    def _steps(self) -> Steps[None]:
        receipt = self._cls(
            **self._key,
            fingerprint=fingerprint(self._said if self._content is None else self._content),
            attempt=os.urandom(8).hex(),
            expires_at=self._clock() + self._keep,
            result=None if self._result is None else msgspec.json.encode(self._result).decode(),
        )
        # The receipt is last, so that failures have the positions of the caller's writes.
        writes = [*self._writes, insert_write(self.schema, receipt)]
        unknown: OutcomeUnknown | None = None
        for attempt in range(1, ATTEMPTS + 1):
            if attempt > 1:
                yield pause(attempt - 1)
            try:
                yield from write_all(self.schema, self._table, writes)
                return
            except OutcomeUnknown as error:
                unknown = error
            except (TransactionCancelled, ConditionFailed, Conflict) as error:
                # A repetition fails by its receipt, and often by other conditions: the receipt decides.
                stored_receipt = yield from self._find(unknown)
                if stored_receipt is not None:
                    self._compare(receipt, stored_receipt)
                    return
                if unknown is None or not _is_contended(error):
                    raise
                raise unknown from error
            except (TableError, TransportError, DynamoDBError):
                if unknown is None:
                    raise
                break
        stored_receipt = yield from self._find(unknown)
        if stored_receipt is None:
            assert unknown is not None
            raise unknown
        self._compare(receipt, stored_receipt)

    def _find(self, unknown: OutcomeUnknown | None) -> Steps[Receipt | None]:
        """Return the receipt, or None. Raise OutcomeUnknown if it cannot be read."""
        try:
            return (yield from get_steps(self.schema, self._table, self._cls, self._key, True, None))  # type: ignore[no-any-return]
        except (TransportError, DynamoDBError) as error:
            raise unknown or OutcomeUnknown(
                f"the receipt of {self._key['token']!r} could not be read, so it is unknown whether its writes were "
                f"applied before: {error}. Repeat them with the same token",
                operation="TransactWriteItems",
                cause=error,
            ) from error

    def _compare(self, attempted: Receipt, stored_receipt: Receipt) -> None:
        if stored_receipt.attempt == attempted.attempt:
            return  # the response was lost, and the writes were applied
        if stored_receipt.fingerprint != attempted.fingerprint:
            raise TokenReused(
                f"the token {attempted.token!r} was used for other writes. Use a new one; or if only generated ids and "
                "times differ, pass the request as content="
            )
        self.repeated = True
        self._result = None if stored_receipt.result is None else msgspec.json.decode(stored_receipt.result)


class Once(_Once):
    """A transaction that is applied once, at the end of the `with` block."""

    def __enter__(self) -> Once:
        self._entered = True
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None:
            self._client._run(self._steps())


class AsyncOnce(_Once):
    """A transaction that is applied once, at the end of the `async with` block."""

    async def __aenter__(self) -> AsyncOnce:
        self._entered = True
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None:
            await self._client._run(self._steps())


def _is_contended(error: TableError) -> bool:
    """Whether a transaction failed by writes under way. After a lost answer these may be its own first attempt."""
    failures = error.failures if isinstance(error, TransactionCancelled) else (error,)
    return not failures or any(isinstance(cause, Conflict) for cause in failures)


def _receipts_of(schema: Schema) -> BoundEntity[Any]:
    for entity in schema.entities:
        if issubclass(entity.codec.cls, Receipt):
            return entity
    raise SchemaError("the schema has no receipts: add receipts() to its entities")


def fingerprint(content: object) -> str:
    """Return a short text that identifies content, the same in every process.

    >>> fingerprint({"b": {2, 1}, "a": 1}) == fingerprint({"a": 1, "b": {1, 2}})
    True
    """
    import hashlib  # when something is done, and not before

    return hashlib.blake2b(repr(_in_order(content)).encode(), digest_size=16).hexdigest()


class _NamedRecord(NamedTuple):
    """An object, and the name that its class has in a fingerprint."""

    name: str
    record: Any


def _in_order(value: object) -> object:
    """A value in which nothing depends on the order of sets and maps."""
    if isinstance(value, _NamedRecord):
        content = _in_order(value.record)
        return (value.name, *content[1:]) if isinstance(content, tuple) else content
    if isinstance(value, Mapping):
        return "map", sorted((repr(_in_order(name)), _in_order(item)) for name, item in value.items())
    if isinstance(value, set | frozenset):
        return "set", sorted(repr(_in_order(member)) for member in value)
    if isinstance(value, list | tuple):
        return [_in_order(member) for member in value]
    if isinstance(value, bytes | bytearray):
        return bytes(value)
    names = getattr(value, "__struct_fields__", None) or getattr(value, "__dataclass_fields__", None)
    names = names or getattr(type(value), "model_fields", None)
    if names and not isinstance(value, type):
        return type(value).__name__, [(name, _in_order(getattr(value, name))) for name in names]
    return value
