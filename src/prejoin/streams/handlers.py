"""StreamHandlers of typed changes, and how their failures are reported to Lambda."""

from __future__ import annotations

import inspect
import logging
from collections.abc import Awaitable, Callable, Iterator
from typing import Any, TypeVar

import msgspec

from prejoin.table.errors import ArgumentError
from prejoin.table.schema.schema import Schema

from .changes import ChangeKind, StreamChange, change_of
from .records import Event, StreamRecord, read_records

E = TypeVar("E")
Handler = Callable[[StreamChange[E]], Any]
H = TypeVar("H", bound=Callable[[Any], Any])

_log = logging.getLogger("prejoin.streams")
_ANY: Any = object()
_KINDS: tuple[ChangeKind, ...] = ("insert", "update", "delete")


class _Rule(msgspec.Struct, frozen=True):
    """The changes that a function handles."""

    entity: type
    kinds: tuple[ChangeKind, ...]
    function: Handler[Any]
    attribute: str = ""
    before: Any = _ANY
    after: Any = _ANY

    def fits(self, change: StreamChange[Any]) -> bool:
        if change.entity is not self.entity or change.kind not in self.kinds:
            return False
        if not self.attribute:
            return True
        if self.attribute not in change.changed:
            return False
        sides = ((self.before, change.old), (self.after, change.new))
        return all(
            expected_value is _ANY or getattr(image, self.attribute, None) == expected_value
            for expected_value, image in sides
        )


class StreamHandlers:
    """Functions that handle the changes of a stream, in order. An instance is a handler of Lambda.

    >>> from dataclasses import dataclass
    >>> from prejoin import Entity, Key
    >>> @dataclass
    ... class Order:
    ...     order_id: str
    ...     status: str
    >>> schema = Schema(Entity(Order, Key("ORDER#{order_id}", "ORDER")))
    >>> handlers = StreamHandlers(schema)
    >>> @handlers.changed(Order, "status", before="PAID", after="SHIPPED")
    ... def announce(change):
    ...     print(change.new.order_id, "is on its way")
    >>> def image(status):
    ...     key = {"pk": {"S": "ORDER#7"}, "sk": {"S": "ORDER"}}
    ...     return {**key, "entityType": {"S": "Order"}, "order_id": {"S": "7"}, "status": {"S": status}}
    >>> change = {"Keys": {}, "OldImage": image("PAID"), "NewImage": image("SHIPPED"), "SequenceNumber": "1"}
    >>> handlers({"Records": [{"eventID": "a", "eventName": "MODIFY", "dynamodb": change}]})
    7 is on its way
    {'batchItemFailures': []}
    """

    def __init__(self, schema: Schema) -> None:
        self._schema = schema
        self._rules: list[_Rule] = []

    def on(self, entity: type, *kinds: ChangeKind) -> Callable[[H], H]:
        """Return a decorator: the function handles changes of an entity, of these kinds or of all."""
        self._schema.entity(entity)
        if unknown := set(kinds) - set(_KINDS):
            raise ArgumentError(f"{unknown.pop()!r} is not a kind of change. Use {', '.join(map(repr, _KINDS))}")
        return self._adder_of(_Rule(entity, kinds or _KINDS, _ANY))

    def changed(self, entity: type, attribute: str, *, before: Any = _ANY, after: Any = _ANY) -> Callable[[H], H]:
        """Return a decorator: the function handles updates that change an attribute, from and to these values.

        The stream needs old images: StreamViewType NEW_AND_OLD_IMAGES.
        """
        self._schema.entity(entity).codec.attribute(attribute)
        return self._adder_of(_Rule(entity, ("update",), _ANY, attribute, before, after))

    def _adder_of(self, rule: _Rule) -> Callable[[H], H]:
        def add(function: H) -> H:
            self._rules.append(msgspec.structs.replace(rule, function=function))
            return function

        return add

    def handle(self, event: Event) -> int:
        """Handle the changes of an event and return their number. An error of a handler is raised, and ends it."""
        return sum(self._handle(record) for record in read_records(event))

    async def handle_async(self, event: Event) -> int:
        """Handle the changes of an event, as `handle` does, with handlers that may be coroutine functions."""
        return sum([await self._handle_async(record) for record in read_records(event)])

    def __call__(self, event: Event, context: object = None) -> dict[str, list[dict[str, str]]]:
        """Handle the event of a Lambda function. Return the failure in the form that Lambda expects.

        The event source mapping needs `FunctionResponseTypes: [ReportBatchItemFailures]`. After a failure nothing more
        is handled: Lambda delivers that record again, and all that follow it.
        """
        for record in read_records(event):
            try:
                self._handle(record)
            except Exception:
                return _failure(record)
        return _SUCCESS

    async def call_async(self, event: Event, context: object = None) -> dict[str, list[dict[str, str]]]:
        """Handle the event of a Lambda function, as calling the instance does, with coroutine functions."""
        for record in read_records(event):
            try:
                await self._handle_async(record)
            except Exception:
                return _failure(record)
        return _SUCCESS

    def _handle(self, record: StreamRecord) -> int:
        calls = list(self._calls(record))
        for function, change in calls:
            answer = function(change)
            # A coroutine that nobody awaits does nothing, and the change would be lost without a word.
            if inspect.isawaitable(answer):
                _discard(answer)
                name = getattr(function, "__name__", "a handler")
                raise ArgumentError(f"{name} is a coroutine function. Use handle_async() or call_async()")
        return bool(calls)

    async def _handle_async(self, record: StreamRecord) -> int:
        calls = list(self._calls(record))
        for function, change in calls:
            answer = function(change)
            if inspect.isawaitable(answer):
                await answer
        return bool(calls)

    def _calls(self, record: StreamRecord) -> Iterator[tuple[Handler[Any], StreamChange[Any]]]:
        change = change_of(self._schema, record)
        if change is not None:
            yield from ((rule.function, change) for rule in self._rules if rule.fits(change))


_SUCCESS: dict[str, list[dict[str, str]]] = {"batchItemFailures": []}


def _failure(record: StreamRecord) -> dict[str, list[dict[str, str]]]:
    _log.exception("the change %s failed. It and those after it will be delivered again", record.sequence)
    return {"batchItemFailures": [{"itemIdentifier": record.sequence}]}


def _discard(answer: Awaitable[Any]) -> None:
    if inspect.iscoroutine(answer):
        answer.close()  # no warning that it was never awaited
