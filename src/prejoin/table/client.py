"""The client: a schema bound to a table and a transport. Thin; it holds the conversations that the core describes."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from datetime import datetime
from types import TracebackType
from typing import Any, Generic, TypeVar, cast

import msgspec

from prejoin.keys import Order, Role
from prejoin.protocol.errors import DynamoDBError
from prejoin.transport import Transport

from .asking import Roles, planned, query_of
from .bind import Bound
from .calls import Call, Observer
from .core import Collection, Page, get_item, read_objects, write_all
from .definition import create_table
from .draft import Draft, changes_of
from .errors import TooMany
from .expressions import Where, recorded
from .reads import Request, Steps
from .schema import Schema
from .writes import Changes, Write, checked_changes

E = TypeVar("E")
R = TypeVar("R")


class Writer(ABC):
    """The writes. A client does each at once; a transaction gathers them."""

    def __init__(self, schema: Schema) -> None:
        self.schema = schema

    @abstractmethod
    def _write(self, write: Write) -> None: ...

    def insert(self, record: Any) -> None:
        """Writes a new item; AlreadyExists if there is one with its key."""
        entity = self.schema.entity(type(record))
        self._write(Write("insert", entity, entity.codec.values(record)))

    def put(self, record: E, *, was: E | None = None, where: Where[E] | None = None) -> None:
        """Writes an item, over what is there. With copies or unique attributes, give the item it replaces."""
        entity = self.schema.entity(type(record))
        before = None if was is None else entity.codec.values(was)
        condition = recorded(where, entity.codec)
        self._write(Write("put", entity, entity.codec.values(record), before, where=condition))

    def update(self, cls: type[E], /, *, where: Where[E] | None = None, **known: Any) -> Updating[E]:
        """An update written as assignments: `with db.update(Product, sku=sku) as p: p.stock -= 1`.

        Keywords are the attributes of the key, and any others that are known and to be checked. The item must be there.
        """
        return Updating(self, cls, where, known)

    def apply(self, cls: type[E], changes: Changes, /, *, where: Where[E] | None = None, **known: Any) -> None:
        """An update as data."""
        entity = self.schema.entity(cls)
        _check_names(entity, known)
        condition = recorded(where, entity.codec)
        changes = checked_changes(entity, changes)
        self._write(Write("update", entity, known, changes=changes, where=condition))

    def delete(self, cls: type[E], /, *, where: Where[E] | None = None, **known: Any) -> None:
        """Deletes an item. That it is not there is an error only where something is known or asked of it."""
        entity = self.schema.entity(cls)
        _check_names(entity, known)
        self._write(Write("delete", entity, known, where=recorded(where, entity.codec)))


def _check_names(entity: Bound[Any], known: Mapping[str, Any]) -> None:
    for name in known:
        entity.codec.attribute(name)


class Updating(Generic[E]):
    """An update being written: what is assigned inside the `with` is one UpdateItem at its end."""

    def __init__(self, writer: Writer, cls: type[E], where: Where[E] | None, known: Mapping[str, Any]) -> None:
        self._writer = writer
        self._cls = cls
        self._where = where
        self._known = known
        self._draft = Draft(writer.schema.entity(cls).codec)

    def __enter__(self) -> E:
        return cast("E", self._draft)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None:
            self._writer.apply(self._cls, changes_of(self._draft), where=self._where, **self._known)


class Transaction(Writer):
    """Writes that are done together or not at all, when the `with` ends."""

    def __init__(self, client: Client, token: str | None) -> None:
        super().__init__(client.schema)
        self._client = client
        self._token = token
        self._writes: list[Write] = []

    def _write(self, write: Write) -> None:
        self._writes.append(write)

    def check(self, cls: type[E], /, *, where: Where[E] | None = None, **known: Any) -> None:
        """Makes the transaction depend on an item that it does not write: it is there, and as is said."""
        entity = self.schema.entity(cls)
        _check_names(entity, known)
        self._write(Write("check", entity, known, where=recorded(where, entity.codec)))

    def __enter__(self) -> Transaction:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None:
            self._client._run(write_all(self.schema, self._client.table, self._writes, self._token))


class Client(Writer):
    """Typed access to one table.

    >>> from dataclasses import dataclass
    >>> from prejoin.engine import Embedded
    >>> from prejoin.table import Entity, Key
    >>> @dataclass
    ... class User:
    ...     user_id: str
    ...     name: str
    >>> db = Client(Schema(Entity(User, Key("USER#{user_id}", "PROFILE"))), "shop", Embedded())
    >>> db.create_table()
    >>> db.insert(User("42", "Alice"))
    >>> with db.update(User, user_id="42") as user:
    ...     user.name = "Alicia"
    >>> db.get(User, user_id="42")
    User(user_id='42', name='Alicia')
    """

    def __init__(self, schema: Schema, table: str, transport: Transport, *, observe: Observer | None = None) -> None:
        super().__init__(schema)
        self.table = table
        self._transport = transport
        self._observe = observe

    def create_table(self) -> None:
        """Creates the table with its indexes."""
        self._send(Request("CreateTable", create_table(self.schema, self.table)))

    def transaction(self, token: str | None = None) -> Transaction:
        """Writes in one transaction: `with db.transaction() as tx: tx.insert(…)`. A token makes it safe to repeat."""
        return Transaction(self, token)

    def get(self, cls: type[E], /, *, consistent: bool = False, **equal: Any) -> E | None:
        """One object by attributes that identify it: its key, or those of an index. None if there is none."""
        entity = self.schema.entity(cls)
        plan, values = planned(self.schema, (entity,), equal, consistent=consistent)
        if plan.operation == "GetItem":
            return cast("E | None", self._run(get_item(self.schema, self.table, plan, values)))
        query = query_of(self.schema, self.table, plan, values, entity.codec)
        found, *_ = self._run(read_objects(self.schema, query, 2, None))
        if len(found) > 1:
            raise TooMany(f"more than one {entity.tag} by {', '.join(equal)}: use query")
        return found[0] if found else None

    def query(
        self,
        cls: type[E],
        where: Where[E] | None = None,
        /,
        *,
        order: str | Iterable[str | Order] = (),
        reverse: bool = False,
        limit: int | None = None,
        after: str | None = None,
        filter: Where[E] | None = None,  # noqa: A002 - the word for it, and the only place it stands
        consistent: bool = False,
        now: datetime | None = None,
        **equal: Any,
    ) -> Page[E]:
        """Objects by attributes that a key serves: equality by keywords, and by `where`, with a range there.

        They come in the order of the keys, or in `order` ("placed_at", "-placed_at"), which a key must give; `reverse`
        turns either round. Without `limit`, all of them. `filter` tests what was read and paid for.
        """
        entity = self.schema.entity(cls)
        plan, values = planned(
            self.schema,
            (entity,),
            equal,
            recorded(where, entity.codec),
            order=[order] if isinstance(order, str) else order,
            consistent=consistent,
        )
        test = recorded(filter, entity.codec)
        if plan.operation == "GetItem" and test is None and after is None:
            found = self._run(get_item(self.schema, self.table, plan, values))
            return Page(() if found is None else (found,))
        query = query_of(self.schema, self.table, plan, values, entity.codec, reverse=reverse, where=test, now=now)
        items, cursor, unmatched = self._run(read_objects(self.schema, query, limit, after))
        return Page(items, cursor, unmatched)

    def collect(
        self,
        classes: tuple[type, ...],
        where: Where[Any] | None = None,
        /,
        *,
        roles: Roles | None = None,
        order: str | Iterable[str | Order] = (),
        reverse: bool = False,
        limit: int | None = None,
        after: str | None = None,
        consistent: bool = False,
        now: datetime | None = None,
        **equal: Any,
    ) -> Collection:
        """Objects of several classes that lie side by side, in one query: a user with the orders.

        A range in `where` is by the first class, and has to lie in the keys of all of them. An `Order` with an entity
        sorts the items of that one among themselves.

        Where a class calls an attribute by another name, `roles` says so: `roles={User: {"user_id": "id"}}`.
        """
        entities: tuple[Bound[Any], ...] = tuple(self.schema.entity(cls) for cls in classes)
        plan, values = planned(
            self.schema,
            entities,
            equal,
            recorded(where, entities[0].codec),
            order=[order] if isinstance(order, str) else order,
            consistent=consistent,
            roles=tuple(
                Role(self.schema.entity(cls).tag, name, attribute)
                for cls, names in (roles or {}).items()
                for name, attribute in names.items()
            ),
        )
        query = query_of(self.schema, self.table, plan, values, entities[0].codec, reverse=reverse, now=now)
        return Collection(*self._run(read_objects(self.schema, query, limit, after)))

    def _write(self, write: Write) -> None:
        self._run(write_all(self.schema, self.table, [write]))

    def _run(self, steps: Steps[R]) -> R:
        """Holds a conversation of the core: sends each request, hands back the answer or the error."""
        try:
            request = next(steps)
            while True:
                try:
                    answer = self._send(request)
                except DynamoDBError as error:
                    request = steps.throw(error)
                else:
                    request = steps.send(answer)
        except StopIteration as stop:
            return cast("R", stop.value)

    def _send(self, request: Request) -> dict[str, Any]:
        body = request.body
        if self._observe and request.operation != "CreateTable":
            body = {**body, "ReturnConsumedCapacity": "TOTAL"}
        response = msgspec.json.decode(
            self._transport.send(request.operation, msgspec.json.encode(body)), type=dict[str, Any]
        )
        if self._observe:
            self._observe(Call(request.operation, body, response, request.key))
        return response
