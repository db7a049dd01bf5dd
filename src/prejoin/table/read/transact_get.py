"""Objects as they are at one moment: TransactGetItems."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Generic, TypeVar, overload

import msgspec

from prejoin.protocol.errors import DynamoDBError
from prejoin.table.backoff import pause
from prejoin.table.conversation import Request, Steps
from prejoin.table.errors import Conflict, TableError, TooMany
from prejoin.table.lazy import Lazy
from prejoin.table.schema.key_attributes import key_text
from prejoin.table.schema.schema import Schema

from .get import get_body
from .plan import Asked, planned

if TYPE_CHECKING:
    from prejoin.table.condition import key_remainder as comparing
else:
    comparing = Lazy("prejoin.table.condition.key_remainder")

E = TypeVar("E")
V = TypeVar("V")

MOST_GETS = 100
ATTEMPTS = 6


class Get(Generic[E]):
    """One object to be read with others: the arguments of `get`.

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
        given = "".join(f", {name}={value!r}" for name, value in self.equal.items())
        return f"Get({self.cls.__name__}{given})"


def get_together(schema: Schema, table: str, gets: Sequence[Get[Any]]) -> Steps[tuple[Any, ...]]:
    """The objects, each or None, as they were at one moment."""
    if len(gets) > MOST_GETS:
        raise TooMany(f"{len(gets)} objects: at most {MOST_GETS} are read in one transaction")
    if not gets:
        return ()
    planned_so = [_planned(schema, get) for get in gets]
    asked = [one for one, _ in planned_so]
    bodies = [
        get_body(schema, table, one, values, () if get.into is None else one.reading.wires)
        for (one, values), get in zip(planned_so, gets, strict=True)
    ]
    unique = _unique(bodies)
    key = ", ".join(key_text(body["Key"]) for body in unique)
    request = Request("TransactGetItems", {"TransactItems": [{"Get": body} for body in unique]}, key, _decode)
    answers = yield from _patiently(request)
    return tuple(
        one.reading.matched(one.reading.slice(answers[unique.index(body)].Item, body["Key"]), key_text(body["Key"]))
        for one, body in zip(asked, bodies, strict=True)
    )


def _unique(bodies: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Each request once: DynamoDB refuses to look at one item twice."""
    found: list[dict[str, Any]] = []
    for body in bodies:
        if body not in found:
            if any(body["Key"] == other["Key"] for other in found):
                key = key_text(body["Key"])
                raise TableError(f"{key} is asked for twice, with different attributes: ask once, for all of them")
            found.append(body)
    return found


def _planned(schema: Schema, get: Get[Any]) -> tuple[Asked, dict[str, Any]]:
    asked, values = planned(schema, (schema.entity(get.cls),), get.equal, into=get.into)
    if asked.plan.operation != "GetItem":
        raise TableError(f"{get!r} does not give the key of the item in the table, and only by that it is read so")
    if asked.plan.compared:
        raise comparing.refusal(asked.plan, "get_together")
    return asked, values


class _Got(msgspec.Struct):
    Item: msgspec.Raw = msgspec.Raw()
    """Empty where there is none."""


class _Answer(msgspec.Struct):
    Responses: list[_Got]


_decoder = msgspec.json.Decoder(_Answer)


def _decode(body: bytes) -> list[_Got]:
    return _decoder.decode(body).Responses


def _patiently(request: Request) -> Steps[list[_Got]]:
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
            if codes != {"TransactionConflict"}:
                raise TableError(f"{request.key} could not be read together: {error.message}") from error
    raise Conflict(f"others were writing {request.key} each of {ATTEMPTS} times; nothing was read")
