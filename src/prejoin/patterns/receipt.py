"""Done once: writes that may be repeated by a token, for as long as a receipt of them is kept.

DynamoDB's own token makes a transaction safe to repeat for ten minutes. A receipt is an item that is written in the
same transaction: as long as it is there, the same again does nothing, and says so.

Cost: the receipt is one more item in a transaction, so 2 write units (of up to 1 KB), and the writes beside it cost
what they cost in a transaction, twice the units. A repeat costs the same units for nothing written, and 1 read unit for
the receipt. Limits: a transaction takes 100 items, of which the receipt is one.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from datetime import datetime, timedelta
from types import TracebackType
from typing import TYPE_CHECKING, Any, overload

import msgspec

from prejoin.protocol.errors import DynamoDBError
from prejoin.protocol.limits import ITEM_SIZE
from prejoin.table.client.reads import get_steps
from prejoin.table.client.transaction import WriteList
from prejoin.table.condition.record import recorded
from prejoin.table.conversation import Steps, pause
from prejoin.table.errors import ConditionFailed, Conflict, SchemaError, TableError, TooMany, TransactionCancelled
from prejoin.table.schema.bind import Bound
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
    """That something was done. An ordinary entity: `db.get(Receipt, token=…)` tells whether and what."""

    token: str
    fingerprint: str
    """Of what was written, so that a token is not taken for other writes."""
    attempt: str
    """Who wrote it, for whom the answer was lost on the way."""
    expires_at: datetime
    result: str | None = None
    """What the caller had to say about it, as JSON."""


def receipts(key: Key | None = None, *, tenant: str = "", clock: Clock = now) -> Entity[Any]:
    """The entity of receipts, for the schema. In a schema with tenants, say which attribute that is.

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
    """A transaction that is done once, however often it is tried with the same token.

    A repeat writes nothing: `repeated` is true then, and `result` is what the first had set it to. The same token with
    other writes is an error, TokenReused. What is compared is all that the writes say; where that differs from try to
    try, because ids or times are made on the way, give the request itself as `content`, and that is compared.

    `keep` is how long a repeat is recognised. In a schema with tenants, use the client of one.

    >>> from dataclasses import dataclass
    >>> from prejoin.engine import Embedded
    >>> from prejoin.table import Client
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
    """Writes gathered, and a receipt of them."""

    def __init__(self, db: Any, token: str, keep: timedelta, content: object, known: Mapping[str, Any]) -> None:
        super().__init__(db.schema, db.table, None)
        if not token:
            raise TableError("a token is a text that stands for this request and no other, and is not empty")
        if keep <= timedelta():
            raise TableError(f"a receipt that is kept for {keep} is none: give keep= a longer time")
        self._client = db
        entity = _receipts_of(db.schema)
        self._cls: type[Receipt] = entity.codec.cls
        self._clock = next(one.clock for one in entity.binder.entity.patterns if isinstance(one, TimeToLive))
        fence = db.schema.fence
        self._key = {**({} if fence is None else fence.filled({})), **known, "token": token}
        self._keep = keep
        self._content = content
        self._said: list[object] = []
        self._result: Any = None
        self.repeated = False
        """Whether it had been done before, so that nothing was written."""

    @property
    def result(self) -> Any:
        """What is to be remembered, as JSON can tell it; of a repeat, what the first one had set."""
        return self._result

    @result.setter
    def result(self, value: Any) -> None:
        if len(msgspec.json.encode(value)) > LARGEST_RESULT:
            raise TooMany(f"a result of more than {LARGEST_RESULT} bytes: keep it in an item, and its key here")
        self._result = value

    # What is said is noted as it was said: patterns add versions and times, which differ when it is repeated.

    def insert(self, record: Any) -> Any:
        self._said.append(["insert", record])
        return super().insert(record)

    def put(self, record: Any, *, was: Any = None, where: Any = None, read: bool = False) -> Any:
        self._said.append(["put", record, was, self._condition(type(record), where)])
        return super().put(record, was=was, where=where, read=read)

    def apply(self, cls: type[Any], changes: Any, /, *, where: Any = None, **how: Any) -> Any:
        self._said.append(["apply", cls.__name__, changes, self._condition(cls, where), how])
        return super().apply(cls, changes, where=where, **how)

    def delete(self, cls: type[Any], /, *, where: Any = None, **how: Any) -> Any:
        self._said.append(["delete", cls.__name__, self._condition(cls, where), how])
        return super().delete(cls, where=where, **how)

    def check(self, cls: type[Any], /, *, where: Any = None, **known: Any) -> None:
        self._said.append(["check", cls.__name__, self._condition(cls, where), known])
        super().check(cls, where=where, **known)

    def check_absent(self, cls: type[Any], /, **key: Any) -> None:
        self._said.append(["check_absent", cls.__name__, key])
        super().check_absent(cls, **key)

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
        # The receipt comes last, so that failures are told by the positions that the caller's writes have.
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
                # A repeat fails by its receipt, and often by what the first has written: the receipt decides.
                found = yield from self._find(unknown)
                if found is not None:
                    self._compare(receipt, found)
                    return
                if unknown is None or not _is_contended(error):
                    raise
                raise unknown from error
            except (TableError, TransportError, DynamoDBError):
                if unknown is None:
                    raise
                break
        found = yield from self._find(unknown)
        if found is None:
            assert unknown is not None
            raise unknown
        self._compare(receipt, found)

    def _find(self, unknown: OutcomeUnknown | None) -> Steps[Receipt | None]:
        """The receipt, if there is one. Where it cannot be read, the outcome is unknown."""
        try:
            return (yield from get_steps(self.schema, self._table, self._cls, self._key, True, None))  # type: ignore[no-any-return]
        except (TransportError, DynamoDBError) as error:
            raise unknown or OutcomeUnknown(
                f"the receipt of {self._key['token']!r} could not be read, so it is unknown whether its writes were "
                f"applied before: {error}. Repeat them with the same token",
                operation="TransactWriteItems",
                cause=error,
            ) from error

    def _compare(self, ours: Receipt, found: Receipt) -> None:
        if found.attempt == ours.attempt:
            return  # an answer was lost, and it was done
        if found.fingerprint != ours.fingerprint:
            raise TokenReused(
                f"the token {ours.token!r} stands for other writes, done before: take a new one, or if these are the "
                "same but for ids and times made on the way, give content= what was asked"
            )
        self.repeated = True
        self._result = None if found.result is None else msgspec.json.decode(found.result)


class Once(_Once):
    """A transaction that is done once, when the `with` ends."""

    def __enter__(self) -> Once:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None:
            self._client._run(self._steps())


class AsyncOnce(_Once):
    """A transaction that is done once, when the `async with` ends."""

    async def __aenter__(self) -> AsyncOnce:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None:
            await self._client._run(self._steps())


def _is_contended(error: TableError) -> bool:
    """Whether a transaction failed by writes under way. After a lost answer these may be its own first attempt."""
    failures = error.failures if isinstance(error, TransactionCancelled) else (error,)
    return not failures or any(isinstance(one, Conflict) for one in failures)


def _receipts_of(schema: Schema) -> Bound[Any]:
    for entity in schema.entities:
        if issubclass(entity.codec.cls, Receipt):
            return entity
    raise SchemaError("the schema has no receipts: add receipts() to its entities")


def fingerprint(content: object) -> str:
    """A short text that stands for what is written, the same in every process.

    >>> fingerprint({"b": {2, 1}, "a": 1}) == fingerprint({"a": 1, "b": {1, 2}})
    True
    """
    import hashlib  # when something is done, and not before

    return hashlib.blake2b(repr(_ordered(content)).encode(), digest_size=16).hexdigest()


def _ordered(value: object) -> object:
    """A value in which nothing depends on the order of sets and maps."""
    if isinstance(value, Mapping):
        return "map", sorted((repr(_ordered(name)), _ordered(one)) for name, one in value.items())
    if isinstance(value, set | frozenset):
        return "set", sorted(repr(_ordered(one)) for one in value)
    if isinstance(value, list | tuple):
        return [_ordered(one) for one in value]
    if isinstance(value, bytes | bytearray):
        return bytes(value)
    names = getattr(value, "__struct_fields__", None) or getattr(value, "__dataclass_fields__", None)
    names = names or getattr(type(value), "model_fields", None)
    if names and not isinstance(value, type):
        return type(value).__name__, [(name, _ordered(getattr(value, name))) for name in names]
    return value
