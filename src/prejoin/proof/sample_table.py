"""A table filled with sample data, and the generated code to read and write it."""

from __future__ import annotations

import asyncio
import re
import weakref
from collections.abc import Coroutine, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, NamedTuple, assert_never

from prejoin.design.mapping.facets import planner_facets
from prejoin.design.model import Design
from prejoin.keys import Facet, KeyValueError, Natural
from prejoin.patterns.large.content import store_large
from prejoin.proof.data import DataGenerator, Values
from prejoin.proof.package import LoadedPackage, load_package
from prejoin.proof.table_content import STREAM, Followed
from prejoin.protocol.errors import DynamoDBError
from prejoin.render.python.method import Method
from prejoin.table.client.async_client import AsyncClient
from prejoin.table.client.client import Client
from prejoin.table.client.observe import Call
from prejoin.table.codec.values import Json
from prejoin.table.errors import TableError
from prejoin.transport import Transport
from prejoin.workload.contents import contents_of
from prejoin.workload.model import (
    Accept,
    AtMost,
    ContentPlace,
    CounterShards,
    Entity,
    FixedKey,
    IndexKeys,
    Minimise,
    Naming,
    OutOfScope,
    OwnTable,
    Spread,
    Under,
    Unproven,
    Without,
    Workload,
)

REFUSALS = (TableError, DynamoDBError, KeyValueError)
"""The errors of requests that the client or DynamoDB refuses."""
_OF_A_QUERY = (
    "TableName",
    "IndexName",
    "KeyConditionExpression",
    "ScanIndexForward",
    "ConsistentRead",
    "ExclusiveStartKey",
    "Limit",
)
"""The members of a Query that decide which items it reads."""
_COUNTED = 3
"""The amount added to each sharded counter of the data."""


class StoredContent(NamedTuple):
    """A content of some parts beside an item of the data."""

    entity: str
    attribute: str
    key: Mapping[str, Any]
    """The key of the item, by the names of its fields."""
    data: bytes


class BrokenMethodError(Exception):
    """A generated method raised an error that no input explains."""


@dataclass(slots=True)
class SampleTable:
    """A table filled with sample data, and the generated code to read and write it."""

    workload: Workload
    design: Design
    now: datetime
    package: LoadedPackage
    client: Client
    async_client: AsyncClient
    unobserved: Client
    """Prepares and scans the table. Its calls are not in `calls`."""
    followed: Followed | None
    """The transport, if it tells what has changed in the table."""
    facets: Sequence[Facet]
    generator: DataGenerator
    calls: list[Call] = field(default_factory=list)
    looked_at: dict[int, list[Json]] = field(default_factory=dict)
    """The items that a Query with a filter or a count has read, by the `id` of its call in `calls`."""
    unwritable: list[str] = field(default_factory=list)
    """Items of the data that could not be written, and why."""
    contents: list[StoredContent] = field(default_factory=list)
    """One content in parts for each attribute that is a large content. Those of other items are small."""
    _loop: _EventLoop = field(default_factory=lambda: _EventLoop())

    @classmethod
    def create(
        cls,
        workload: Workload,
        design: Design,
        transport: Transport,
        now: datetime,
        seed: int = 1,
        edge_values: bool = False,
        package: LoadedPackage | None = None,
    ) -> SampleTable:
        """Creates the table of a design and fills it with data; with `edge_values`, such as are hard on keys."""
        package = package or load_package(workload, design, clock=lambda: now)
        calls: list[Call] = []
        looked_at: dict[int, list[Json]] = {}
        unobserved = Client(package.schema, design.table, transport)

        def observe(call: Call) -> None:
            calls.append(call)
            if call.operation == "Query" and {"FilterExpression", "Select"} & call.request.keys():
                looked_at[id(call)] = list(unobserved.call("Query", _whole(call.request))["Items"])

        client = Client(package.schema, design.table, transport, observe=observe)
        async_client = AsyncClient(package.schema, design.table, _Awaitable(transport), observe=observe)
        # Raw keys cannot hold the separator, and are refused with it: that is documented and needs no proof.
        facets = planner_facets(design, workload)
        generator = DataGenerator(
            workload, now, seed, edge_values, design.separator if design.raw_keys else "", natural_keys(facets)
        )
        followed = transport if isinstance(transport, Followed) else None
        sample = cls(
            workload,
            design,
            now,
            package,
            client,
            async_client,
            unobserved,
            followed,
            facets,
            generator,
            calls,
            looked_at,
        )
        more: dict[str, Any] = {"StreamSpecification": STREAM} if followed else {}
        unobserved.create_table(**more)
        for name, items in generator.make_all().items():
            items[:] = [values for values in items if sample._filled(name, values)]
        return sample

    def _filled(self, entity: str, values: Values) -> bool:
        """Writes an item of the data. One that cannot be written is a finding about the design."""
        counter = self.design.counter(entity)
        counted = [name for name in counter.attributes if values.get(name) is not None] if counter else []
        own = {**values, **{name: values[name] - _COUNTED for name in counted}}
        try:
            own |= self._store_contents(entity, values)
            self.unobserved.insert(self.package.record(entity, own))
            if counted:  # a part of each number is in a shard
                key = {name: values[name] for name in self.base(self.entity(entity))}
                cls, fields = self.package.classes[entity], self.package.fields[entity]
                with self.unobserved.update(cls, **self.package.named(entity, key)) as draft:
                    for name in counted:
                        setattr(draft, fields[name], getattr(draft, fields[name]) + _COUNTED)
        except REFUSALS as problem:
            self.unwritable.append(f"{entity} {values} cannot be written: {problem}")
            return False
        return True

    def _store_contents(self, entity: str, values: Values) -> Values:
        """Stores a content in parts for the first item that has one, and sets its value in the item."""
        stored: Values = {}
        cls, fields = self.package.classes[entity], self.package.fields[entity]
        for attribute in contents_of(self.entity(entity)):
            first = (entity, attribute.name) not in [one[:2] for one in self.contents]
            if first and attribute.name in values:
                base = {name: values[name] for name in self.base(self.entity(entity))}
                key, data = self.package.named(entity, base), self.generator.content()
                stored[attribute.name] = store_large(self.unobserved, cls, fields[attribute.name], data, **key)
                self.contents.append(StoredContent(entity, attribute.name, key, data))
        values |= stored
        return stored

    @property
    def items(self) -> Mapping[str, list[Values]]:
        """The items in the table, by entity."""
        return self.generator.items

    @property
    def out_of_scope(self) -> dict[str, str]:
        """The patterns that the document excludes from this table, with the reason."""
        found: dict[str, str] = {}
        for decision in self.workload.decisions:
            match decision.pin:
                case OutOfScope(pattern):
                    found[pattern] = "it is out of scope"
                case Accept(pattern):
                    operation = self.design.operation(pattern)
                    if operation is not None and not operation.served:
                        found[pattern] = f"{operation.problem}, which the document accepts"
                case (
                    Under()
                    | AtMost()
                    | Without()
                    | Spread()
                    | CounterShards()
                    | ContentPlace()
                    | FixedKey()
                    | Minimise()
                    | IndexKeys()
                    | Unproven()
                    | Naming()
                    | OwnTable()
                    | None
                ):
                    pass
                case _:
                    assert_never(decision.pin)
        return found

    @contextmanager
    def watched(self) -> Iterator[list[Call]]:
        """The calls made inside the `with`."""
        found: list[Call] = []
        self.calls.clear()
        self.looked_at.clear()
        yield found
        found += self.calls

    def entity(self, name: str) -> Entity:
        found = self.workload.entity(name)
        if found is None:
            raise KeyError(name)
        return found

    def base(self, entity: Entity) -> tuple[str, ...]:
        """The attributes in the key of an entity's items in the table."""
        facets = (f for f in self.facets if f.entity == entity.name and f.slot == "table" and not f.copy)
        return next(facets).attributes

    def run(
        self, method: Method, arguments: Mapping[str, Any], tenant: Any = None, *, asynchronous: bool = False
    ) -> Any:
        """Calls a method of the repository, or of the async one.

        It raises what a method may raise, and `BrokenMethodError` for everything else.
        """
        try:
            if asynchronous:
                return self.awaited(self.package.call(self.async_client, method, arguments, tenant))
            return self.package.call(self.client, method, arguments, tenant)
        except (*REFUSALS, LookupError, ValueError):
            raise
        except Exception as error:
            raise BrokenMethodError(f"`{method.name}` raised {type(error).__name__}: {error}") from error

    def awaited(self, coroutine: Coroutine[Any, Any, Any]) -> Any:
        """The result of a coroutine of the async client."""
        return self._loop.run(coroutine)


def natural_keys(facets: Iterable[Facet]) -> frozenset[str]:
    """The attributes that are keys by themselves, with nothing before or after them."""
    forms = [form for facet in facets for form in (facet.pk, facet.sk) if form]
    alone = [f for f in forms if isinstance(f, Natural) or (f.raw and len(f.parts) == 1)]
    return frozenset(name for form in alone for name in form.attributes)


class _Awaitable:
    """A transport for the async client. It answers at once, and depends on no event loop."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport
        self.lossless = getattr(transport, "lossless", False)

    async def send_async(self, operation: str, body: bytes) -> bytes:
        return self._transport.send(operation, body)


class _EventLoop:
    """Runs coroutines one by one; in a thread, if the caller has a running event loop."""

    def __init__(self) -> None:
        self._loop: asyncio.AbstractEventLoop | None = None

    def run(self, coroutine: Coroutine[Any, Any, Any]) -> Any:
        try:
            asyncio.get_running_loop()
        except RuntimeError:
            if self._loop is None:
                self._loop = asyncio.new_event_loop()
                # Not an `asyncio.Runner`: it runs its loop to close it, and this may happen while another loop runs.
                weakref.finalize(self, self._loop.close)
            return self._loop.run_until_complete(coroutine)
        with ThreadPoolExecutor(1) as pool:
            return pool.submit(asyncio.run, coroutine).result()


def _whole(request: Mapping[str, Any]) -> dict[str, Any]:
    """A Query for all items that another one reads, without its filter and without counting."""
    body = {name: request[name] for name in _OF_A_QUERY if name in request}
    used = re.findall(r"[#:]\w+", str(request["KeyConditionExpression"]))
    for member in ("ExpressionAttributeNames", "ExpressionAttributeValues"):
        body[member] = {name: value for name, value in request[member].items() if name in used}
    return body
