"""Writes carried out: one action as a plain call, several as a transaction; a failure as what it means."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, cast

import msgspec

from prejoin.protocol.errors import DynamoDBError
from prejoin.protocol.limits import ITEM_SIZE
from prejoin.protocol.sizes import item_size
from prejoin.table.backoff import pause
from prejoin.table.codec.values import Json
from prejoin.table.conversation import Request, Steps
from prejoin.table.errors import ConditionFailed, Conflict, ItemTooLarge, TableError, TransactionCancelled
from prejoin.table.lazy import Lazy
from prejoin.table.schema.schema import Schema

from .actions import merged, named
from .expand import expand
from .merge import Placed, with_others
from .model import Action, Write, checked_actions
from .read_first import overtaken, read_first, refuse_token

if TYPE_CHECKING:
    from . import extremes
else:
    extremes = Lazy("prejoin.table.write.extremes")

ATTEMPTS = 6
"""How often a write is tried that others get in the way of."""

_CONFLICTS = frozenset({"TransactionConflictException", "TransactionInProgressException"})
_LATER = frozenset({"TransactionConflict", "ThrottlingError", "ProvisionedThroughputExceeded"})
"""Reasons for which a transaction is cancelled that are gone a moment later."""
_TOO_LARGE = "exceeded the maximum allowed size"


def write_one(schema: Schema, table: str, write: Write) -> Steps[Any]:
    """One write; the object that it is to return, if it is to return one."""
    if write.read:
        return (yield from _reading_first(schema, table, [write]))
    return (yield from perform(schema, table, [write], None))


def write_all(schema: Schema, table: str, writes: Sequence[Write], token: str | None = None) -> Steps[None]:
    """Writes that are done together or not at all."""
    for write in writes:
        if write.read:
            refuse_token(token)
            yield from _reading_first(schema, table, writes)
            return
    if writes:
        yield from perform(schema, table, writes, token)


def _reading_first(schema: Schema, table: str, writes: Sequence[Write]) -> Steps[Any]:
    for attempt in range(ATTEMPTS):
        if attempt:
            yield pause(attempt)
        known = yield from read_first(schema, table, writes)
        try:
            return (yield from perform(schema, table, known, None))
        except (ConditionFailed, TransactionCancelled) as error:
            failures = error.failures if isinstance(error, TransactionCancelled) else (error,)
            if not any(isinstance(one, ConditionFailed) and overtaken(one) for one in failures):
                raise
    raise Conflict(f"what was read had been changed by others each of {ATTEMPTS} times; nothing was written")


def perform(schema: Schema, table: str, writes: Sequence[Write | None], token: str | None) -> Steps[Any]:
    placed = with_others(schema, writes)
    for write, _ in placed:
        if write.extremes:
            return _supposing(schema, table, placed, len(writes), token)
    return _carry_out(schema, table, placed, len(writes), token)


def _supposing(schema: Schema, table: str, placed: Sequence[Placed], count: int, token: str | None) -> Steps[Any]:
    """Writes of which some are decided by what is there: tried as it is supposed to be, then as it was found."""
    if token is not None:
        raise TableError(
            "a token makes a transaction safe to repeat because it is the same each time; one that may set the highest "
            "or lowest of something is made of what is there, and may differ: write a receipt with it, by `once`"
        )
    writes = [write for write, _ in placed]
    tried = [extremes.supposed(schema, write) if write.extremes else write for write in writes]
    for attempt in range(ATTEMPTS):
        if attempt > 1:  # the first failure tells what is there, and is nobody's fault
            yield pause(attempt)
        again = [(write, position) for write, (_, position) in zip(tried, placed, strict=True)]
        try:
            return (yield from _carry_out(schema, table, again, 0, token))
        except (ConditionFailed, TransactionCancelled) as error:
            failures = error.failures if isinstance(error, TransactionCancelled) else (error,)
            tried, other = extremes.otherwise(schema, writes, tried, failures)
            if count == 1 and other:
                raise other[0] from error.__cause__
            if other or not failures:
                raise TransactionCancelled(other) from error.__cause__
    others = ", ".join(named(write) for write in writes if write.extremes)
    raise Conflict(f"others were changing {others} each of {ATTEMPTS} times; nothing was written")


def _carry_out(schema: Schema, table: str, placed: Sequence[Placed], count: int, token: str | None) -> Steps[Any]:
    """Writes, all of which is known. Where the caller has one, `count`, its first failure is told; else all are."""
    actions: Sequence[Action] = [action for write, _ in placed for action in expand(schema, write)]
    if not actions:
        return None
    if len(actions) > len(placed):  # else there are none but the own items of these
        actions = merged(actions)
    if len(actions) == 1 and token is None and actions[0].kind != "ConditionCheck":
        return (yield from _alone(table, actions[0]))
    write = actions[0].write
    if write.returning:
        raise TableError(
            f"this {write.verb} of {write.entity.tag} is a transaction, for it writes several items, and DynamoDB "
            "returns nothing from one: get the object afterwards"
        )
    return (yield from _together(table, checked_actions(actions), placed, count, token))


def _alone(table: str, action: Action) -> Steps[Any]:
    write = action.write
    body = {"TableName": table, **action.parameters}
    returning = write.returning
    if returning and (action.kind, returning) != ("Put", "new"):
        body["ReturnValues"] = f"ALL_{returning.upper()}"
    request = Request(f"{action.kind}Item", body, str(action))
    for attempt in range(ATTEMPTS):
        if attempt:
            yield pause(attempt)
        try:
            answer = yield request
        except DynamoDBError as error:
            if error.code == "ConditionalCheckFailedException":
                raise _failure(action, error.fields.get("Item"), 0) from error
            if error.code == "ValidationException" and (large := too_large(action, error.message)):
                raise large from error
            if error.code not in _CONFLICTS:
                raise
        else:
            if not returning:
                return None
            # DynamoDB does not repeat what it was given.
            item = answer.get("Attributes") if "ReturnValues" in body else body["Item"]
            return write.entity.codec.read(item, write.entity.tag, body.get("Key", {})) if item else None
    raise Conflict(f"{action} was part of others' transactions each of {ATTEMPTS} times; nothing was written")


def _together(
    table: str, actions: Sequence[Action], placed: Sequence[Placed], count: int, token: str | None
) -> Steps[None]:
    body: dict[str, Any] = {
        "TransactItems": [{action.kind: {"TableName": table, **action.parameters}} for action in actions],
    }
    if token is not None:
        body["ClientRequestToken"] = token
    request = Request("TransactWriteItems", body, _Keys(actions))
    for attempt in range(ATTEMPTS):
        if attempt:
            yield pause(attempt)
        try:
            yield request
        except DynamoDBError as error:
            if error.code == "TransactionCanceledException":
                if passing(error) and attempt < ATTEMPTS - 1:
                    continue
                failures = _failures(actions, _reasons(error), placed)
                if count == 1 and failures:
                    raise failures[0] from error
                raise TransactionCancelled(failures) from error
            if error.code == "ValidationException" and (large := next(filter(None, map(too_large, actions)), None)):
                raise large from error
            if error.code not in _CONFLICTS:
                raise
        else:
            return
    raise Conflict(f"others were writing {request.key} each of {ATTEMPTS} times; nothing was written")


class _Keys(msgspec.Struct, frozen=True):
    """The keys of a transaction, written out only for those who ask."""

    actions: Sequence[Action]

    def __str__(self) -> str:
        return ", ".join(map(str, self.actions))


def passing(error: DynamoDBError) -> bool:
    """Whether a transaction was cancelled for what is gone a moment later: of it nothing was written."""
    codes = {reason.get("Code", "None") for reason in _reasons(error)} - {"None"}
    return error.code in _CONFLICTS or (bool(codes) and codes <= _LATER)


def _reasons(error: DynamoDBError) -> list[dict[str, Any]]:
    return cast("list[dict[str, Any]]", error.fields.get("CancellationReasons") or [])


def _failures(
    actions: Sequence[Action], reasons: Sequence[dict[str, Any]], placed: Sequence[Placed]
) -> list[TableError]:
    positions = {id(write): position for write, position in placed}
    failures: list[TableError] = []
    for action, reason in zip(actions, reasons, strict=False):
        code = reason.get("Code", "None")
        position = positions[id(action.write)]
        if code == "ConditionalCheckFailed":
            failures.append(_failure(action, reason.get("Item"), position))
        elif code != "None" and (large := too_large(action, reason.get("Message", ""))):
            failures.append(_about(large, action.write, position))
        elif code != "None":
            kind = Conflict if code == "TransactionConflict" else TableError
            failures.append(_about(kind(f"{action}: {code}: {reason.get('Message', '')}"), action.write, position))
    return failures


def too_large(action: Action, message: str = "") -> ItemTooLarge | None:
    """The error for an item that is larger than DynamoDB takes. Sizes are looked at when a request was refused.

    The size of an item after an update is known to DynamoDB only, so `message` says that it was too large.
    """
    if action.kind == "Update" and _TOO_LARGE in message:
        return ItemTooLarge(
            f"{named(action.write)} would be too large after this update: DynamoDB takes {ITEM_SIZE:,} bytes for the "
            f"item {action}"
        )
    item = action.parameters.get("Item")
    size = item_size(item) if item else 0
    if size <= ITEM_SIZE:
        return None
    error = ItemTooLarge(
        f"{named(action.write)} is too large: the item {action} has {size:,} bytes, and DynamoDB takes {ITEM_SIZE:,}"
    )
    error.size = size
    return error


def _failure(action: Action, item: Json | None, position: int) -> ConditionFailed:
    found = action.failure(action.write, item)
    found.item, found.elsewhere = item, not action.own
    _about(found, action.write, position)
    return found


def _about(error: TableError, write: Write, position: int) -> TableError:
    error.write, error.position = write, position
    return error
