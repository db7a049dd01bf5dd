"""A table filled with sample data, and the generated code to read and write it."""

from __future__ import annotations

import asyncio
import re
import weakref
from collections.abc import Coroutine, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, NamedTuple

from prejoin.cases.data import DataGenerator
from prejoin.cases.items import Values
from prejoin.cases.plain_data import PlainGenerator
from prejoin.cases.sample_data import SampleData, edge_generator
from prejoin.design.mapping.facets import planner_facets
from prejoin.design.model import Design
from prejoin.keys import KeyValueError
from prejoin.keys.content import PART_SIZE
from prejoin.patterns.large.content import store_large
from prejoin.patterns.large.large import LargeValue
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
from prejoin.workload.model import Accept, Workload

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
class SampleTable(SampleData):
    """A table filled with sample data, and the generated code to read and write it."""

    package: LoadedPackage
    client: Client
    async_client: AsyncClient
    unobserved: Client
    """Prepares and scans the table. Its calls are not in `calls`."""
    followed: Followed | None
    """The transport, if it tells what has changed in the table."""
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
        """Creates the table of a design and fills it with samples; with `edge_values`, with values hard on keys."""
        package = package or load_package(workload, design, clock=lambda: now)
        calls: list[Call] = []
        looked_at: dict[int, list[Json]] = {}
        proof_client = Client(package.schema, design.table, transport)

        def observe(call: Call) -> None:
            calls.append(call)
            # Items that a filter removes are charged, and the response has only their number. They are read again
            # at once, because a later write may change them.
            if call.operation == "Query" and {"FilterExpression", "Select"} & call.request.keys():
                looked_at[id(call)] = list(proof_client.call("Query", _whole(call.request))["Items"])

        client = Client(package.schema, design.table, transport, observe=observe)
        async_client = AsyncClient(package.schema, design.table, _Awaitable(transport), observe=observe)
        facets = planner_facets(design, workload)
        generator: DataGenerator
        if edge_values:
            generator = edge_generator(workload, design, facets, now, seed)
        else:
            generator = PlainGenerator(workload, now, seed, design=design)
        generator.make_content = LargeValue.of
        parameters = {pattern: method.inputs for pattern, method in package.methods.items()}
        change_source = transport if isinstance(transport, Followed) else None
        sample = cls(
            workload,
            design,
            now,
            facets,
            generator,
            parameters,
            package,
            client,
            async_client,
            proof_client,
            change_source,
            calls,
            looked_at,
        )
        stream_options: dict[str, Any] = {"StreamSpecification": STREAM} if change_source else {}
        proof_client.create_table(**stream_options)
        for name, items in generator.make_all().items():
            items[:] = [values for values in items if sample._write_item(name, values)]
        return sample

    def _write_item(self, entity: str, values: Values) -> bool:
        """Writes an item of the data. One that cannot be written is a finding about the design."""
        if self.design.item(entity) is None:
            self.unwritable.append(f"{entity} {values} cannot be written: the design has no key for it")
            return False
        counter = self.design.counter(entity)
        counted_names = [name for name in counter.attributes if values.get(name) is not None] if counter else []
        # Of a sharded counter a part of each number is in a shard, so that a read which forgets the shards is wrong.
        own = {**values, **{name: values[name] - _COUNTED for name in counted_names}}
        try:
            own |= self._store_contents(entity, values)
            self.unobserved.insert(self.package.record(entity, own))
            if counted_names:  # a part of each number is in a shard
                key = {name: values[name] for name in self.base(self.entity(entity))}
                cls, fields = self.package.classes[entity], self.package.fields[entity]
                with self.unobserved.update(cls, **self.package.named(entity, key)) as draft:
                    for name in counted_names:
                        setattr(draft, fields[name], getattr(draft, fields[name]) + _COUNTED)
        except REFUSALS as problem:
            self.unwritable.append(f"{entity} {values} cannot be written: {problem}")
            return False
        return True

    def _store_contents(self, entity: str, values: Values) -> Values:
        """Stores a content in parts for the first item that has one, and sets its value in the item."""
        stored_values: Values = {}
        cls, fields = self.package.classes[entity], self.package.fields[entity]
        for attribute in contents_of(self.entity(entity)):
            # One content in parts for each attribute is enough: each has hundreds of kilobytes.
            first = (entity, attribute.name) not in [content[:2] for content in self.contents]
            if first and attribute.name in values:
                base = {name: values[name] for name in self.base(self.entity(entity))}
                key, data = self.package.named(entity, base), self.generator.large_content(PART_SIZE)
                stored_values[attribute.name] = store_large(self.unobserved, cls, fields[attribute.name], data, **key)
                self.contents.append(StoredContent(entity, attribute.name, key, data))
        values |= stored_values
        return stored_values

    @property
    def out_of_scope(self) -> dict[str, str]:
        """The patterns that the document excludes from this table, with the reason."""
        reasons: dict[str, str] = {}
        for decision in self.workload.decisions:
            if isinstance(decision.pin, Accept):
                operation = self.design.operation(decision.pin.pattern)
                if operation is not None and not operation.served:
                    reasons[decision.pin.pattern] = f"{operation.problem}, which the document accepts"
        return {**reasons, **dict.fromkeys(self.workload.out_of_scope, "it is out of scope")}

    @contextmanager
    def watched(self) -> Iterator[list[Call]]:
        """The calls made inside the `with`."""
        watched_calls: list[Call] = []
        self.calls.clear()
        self.looked_at.clear()
        yield watched_calls
        watched_calls += self.calls

    def run(
        self, method: Method, arguments: Mapping[str, Any], tenant: Any = None, *, asynchronous: bool = False
    ) -> Any:
        """Calls a method of the repository, or of the async one.

        It raises what a method may raise, and `BrokenMethodError` for everything else.
        """
        try:
            if asynchronous:
                return self.result_of(self.package.call(self.async_client, method, arguments, tenant))
            return self.package.call(self.client, method, arguments, tenant)
        except (*REFUSALS, LookupError, ValueError):
            raise
        except Exception as error:
            raise BrokenMethodError(f"`{method.name}` raised {type(error).__name__}: {error}") from error

    def result_of(self, coroutine: Coroutine[Any, Any, Any]) -> Any:
        """The result of a coroutine of the async client."""
        return self._loop.run(coroutine)


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
    placeholders = re.findall(r"[#:]\w+", str(request["KeyConditionExpression"]))
    for member in ("ExpressionAttributeNames", "ExpressionAttributeValues"):
        body[member] = {name: value for name, value in request[member].items() if name in placeholders}
    return body
