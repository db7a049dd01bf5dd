"""TransactGetItems: several objects, as they are at one moment."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Generic, TypeVar, overload

import msgspec

from prejoin.protocol.errors import DynamoDBError
from prejoin.table.conversation import ItemKeys, Request, Steps, pause
from prejoin.table.errors import Conflict, TableError, TooMany
from prejoin.table.schema.key_attributes import key_text
from prejoin.table.schema.schema import Schema

from .get import get_body
from .plan import ReadPlan, check_only_key, plan_read

E = TypeVar("E")
V = TypeVar("V")

MOST_GETS = 100
ATTEMPTS = 6


class Get(Generic[E]):
    """One object to read with others: the arguments of `get`.

    >>> Get(dict, user_id="42")
    Get(dict, user_id='42')
    """

    @overload
    def __init__(self, cls: type[E], /, *, into: None = None, **equal: Any) -> None: ...
    @overload
    def __init__(self: Get[V], cls: type[Any], /, *, into: type[V], **equal: Any) -> None: ...
    def __init__(self, cls: type[Any], /, *, into: type[Any] | None = None, **equal: Any) -> None:
        self.cls = cls
        self.into = into
        self.equal: Mapping[str, Any] = equal

    def __repr__(self) -> str:
        keywords = "".join(f", {name}={value!r}" for name, value in self.equal.items())
        return f"Get({self.cls.__name__}{keywords})"


def get_together(schema: Schema, table: str, gets: Sequence[Get[Any]]) -> Steps[tuple[Any, ...]]:
    """Read the objects, or None for each that does not exist, as they are at one moment."""
    if len(gets) > MOST_GETS:
        raise TooMany(f"get_together reads at most {MOST_GETS} objects, not {len(gets)}")
    if not gets:
        return ()
    reads = [_plan(schema, get) for get in gets]
    bodies = [
        get_body(schema, table, plan, values, () if plan.into is None else plan.decoder.wires) for plan, values in reads
    ]
    unique = _unique(bodies)
    key = ItemKeys([key_text(body["Key"]) for body in unique])
    request = Request("TransactGetItems", {"TransactItems": [{"Get": body} for body in unique]}, key, _decode)
    responses = yield from _send(request)
    return tuple(
        plan.decoder.require_match(
            plan.decoder.slice(responses[unique.index(body)].Item, body["Key"]), key_text(body["Key"])
        )
        for (plan, _), body in zip(reads, bodies, strict=True)
    )


def _unique(bodies: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return each request once, because DynamoDB refuses to read an item twice."""
    unique_bodies: list[dict[str, Any]] = []
    for body in bodies:
        if body not in unique_bodies:
            if any(body["Key"] == other["Key"] for other in unique_bodies):
                key = key_text(body["Key"])
                raise TableError(f"{key} is read twice, with different attributes. Read it once, with all of them")
            unique_bodies.append(body)
    return unique_bodies


def _plan(schema: Schema, get: Get[Any]) -> tuple[ReadPlan, dict[str, Any]]:
    plan, values = plan_read(schema, (schema.entity(get.cls),), get.equal, into=get.into)
    if plan.plan.operation != "GetItem":
        raise TableError(f"{get!r} does not give the key of the item in the table, and get_together reads by that only")
    check_only_key(plan, "get_together")
    return plan, values


class _Got(msgspec.Struct):
    Item: msgspec.Raw = msgspec.Raw()
    """Empty where there is none."""


class _Response(msgspec.Struct):
    Responses: list[_Got]


_decoder = msgspec.json.Decoder(_Response)


def _decode(body: bytes) -> list[_Got]:
    return _decoder.decode(body).Responses


def _send(request: Request) -> Steps[list[_Got]]:
    for attempt in range(ATTEMPTS):
        if attempt:
            yield pause(attempt)
        try:
            return (yield request)  # type: ignore[no-any-return]
        except DynamoDBError as error:
            if error.code != "TransactionCanceledException":
                raise
            reasons: Any = error.fields.get("CancellationReasons") or []
            codes = {reason.get("Code", "None") for reason in reasons} - {"None"}
            # A write to one of the items cancels the whole read. That is over a moment later, other reasons are not.
            if codes != {"TransactionConflict"}:
                raise TableError(f"{request.key} cannot be read together: {error.message}") from error
    raise Conflict(f"{request.key} was being written at each of {ATTEMPTS} attempts. Nothing was read")
