"""Run writes: one action as a plain request, several as a transaction. Failures become exceptions."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import Any, cast

from prejoin.protocol.errors import DynamoDBError
from prejoin.protocol.limits import CLIENT_TOKEN_LENGTH, ITEM_SIZE
from prejoin.protocol.sizes import item_size
from prejoin.table.codec.values import Json
from prejoin.table.conversation import ItemKeys, Request, Steps, pause
from prejoin.table.errors import ConditionFailed, Conflict, ItemTooLarge, TableError, TransactionCancelled
from prejoin.table.schema.schema import Schema

from .actions import as_check, is_of_no_item, item_name, merge_actions
from .expand import expand
from .merge import NumberedWrite, add_pattern_writes
from .model import ItemAction, Write, check_actions
from .optimistic import first_attempt, next_attempt
from .read_first import is_stale, read_first, refuse_token

ATTEMPTS = 6
"""How often a write is sent that conflicts with others."""

_CONFLICTS = frozenset({"TransactionConflictException", "TransactionInProgressException"})
_LATER = frozenset({"TransactionConflict", "ThrottlingError", "ProvisionedThroughputExceeded"})
"""Cancellation reasons that are over a moment later."""
_TOO_LARGE = "exceeded the maximum allowed size"


def write_one(schema: Schema, table: str, write: Write) -> Steps[Any]:
    """Run one write, and return the object that it returns, if any."""
    if not write.missing_ok:
        return _write_one(schema, table, write)
    return _unless_missing(_write_one(schema, table, write))


def _unless_missing(steps: Steps[Any]) -> Steps[Any]:
    """Run a write, and return None if there is no item with its key and known values."""
    try:
        return (yield from steps)
    except ConditionFailed as error:
        if not is_of_no_item(error):
            raise
    return None


def _write_one(schema: Schema, table: str, write: Write) -> Steps[Any]:
    if write.entity.patterns:
        write = yield from prepare(schema, table, write)
    if write.read_first:
        return (yield from _read_and_run(schema, table, [write]))
    try:
        return (yield from run(schema, table, [write], None))
    except ConditionFailed as error:
        if not (yield from _remedy_causes(schema, table, error)):
            raise
    return (yield from run(schema, table, [write], None))


def write_all(
    schema: Schema, table: str, writes: Sequence[Write], token: str | None = None, only_check: bool = False
) -> Steps[None]:
    """Run writes in one transaction. With `only_check`, check whether they would be refused, and write nothing."""
    if not only_check:
        writes = yield from _prepare_all(schema, table, writes, token)
    for write in writes:
        if write.read_first:
            refuse_token(token)
            yield from _read_and_run(schema, table, writes, only_check)
            return
    if not writes:
        return
    try:
        yield from run(schema, table, writes, token, only_check)
    except (ConditionFailed, TransactionCancelled) as error:
        if not (yield from _remedy_causes(schema, table, error)):
            raise
        yield from run(schema, table, writes, token, only_check)


def prepare(schema: Schema, table: str, write: Write) -> Steps[Write]:
    """Send the requests of patterns that come before a write, and return the write to run."""
    for pattern in write.entity.patterns:
        steps = pattern.prepare(schema, table, write)
        if steps is not None:
            write = yield from steps
    return write


def _prepare_all(schema: Schema, table: str, writes: Sequence[Write], token: str | None) -> Steps[Sequence[Write]]:
    if token is None:
        ready = list(writes)
        for at, write in enumerate(writes):
            ready[at] = yield from prepare(schema, table, write)
        return ready
    for write in writes:
        if any(pattern.prepare(schema, table, write) is not None for pattern in write.entity.patterns):
            raise TableError(
                f"this transaction stores a large content of {write.entity.tag} under a new id, so a repetition with "
                "the same token would differ. Call store_large before, or leave out the token and use `once`"
            )
    return writes


def _remedy_causes(schema: Schema, table: str, error: ConditionFailed | TransactionCancelled) -> Steps[bool]:
    """Do what removes the causes of an error, and return whether there was anything to do."""
    remedies = [failure.remedy for failure in _conditions(error) if failure.remedy]
    for remedy in remedies:
        yield from remedy(schema, table)
    return bool(remedies)


def _conditions(error: ConditionFailed | TransactionCancelled) -> list[ConditionFailed]:
    return [failure for failure in _failures_in(error) if isinstance(failure, ConditionFailed)]


def _failures_in(error: ConditionFailed | TransactionCancelled) -> Sequence[TableError]:
    """Return the failures of a transaction; of a plain request, its only one."""
    return error.failures if isinstance(error, TransactionCancelled) else (error,)


def _read_and_run(schema: Schema, table: str, writes: Sequence[Write], only_check: bool = False) -> Steps[Any]:
    for attempt in range(ATTEMPTS):
        if attempt:
            yield pause(attempt)
        ready_writes = yield from read_first(schema, table, writes)
        try:
            return (yield from run(schema, table, ready_writes, None, only_check))
        except (ConditionFailed, TransactionCancelled) as error:
            has_remedy = yield from _remedy_causes(schema, table, error)
            if not has_remedy and not any(map(is_stale, _conditions(error))):
                raise
    raise Conflict(f"the item changed between read and write at each of {ATTEMPTS} attempts. Nothing was written")


def run(
    schema: Schema, table: str, writes: Sequence[Write | None], token: str | None, only_check: bool = False
) -> Steps[Any]:
    """Run writes whose items were read if they need it. None stands for a write that has nothing to do."""
    numbered_writes = add_pattern_writes(schema, writes)
    if only_check:
        return _check_known(schema, table, numbered_writes)
    for write, _ in numbered_writes:
        if write.decision is not None:
            return _run_optimistic(schema, table, numbered_writes, len(writes), token)
    return _run_known(schema, table, numbered_writes, len(writes), token)


def _run_optimistic(
    schema: Schema, table: str, numbered_writes: Sequence[NumberedWrite], count: int, token: str | None
) -> Steps[Any]:
    """Run writes of which some depend on the stored items: with their assumptions first, then as items were found."""
    writes = [write for write, _ in numbered_writes]
    if token is not None:
        raise _token_error(writes)
    numbers = [number for _, number in numbered_writes]
    sent_writes = [first_attempt(schema, write) for write in writes]
    for attempt in range(ATTEMPTS):
        if attempt > 1:  # the first failure returns the item, and is not a conflict
            yield pause(attempt)
        try:
            return (yield from _run_known(schema, table, list(zip(sent_writes, numbers, strict=True)), 0, token))
        except (ConditionFailed, TransactionCancelled) as error:
            failures = _failures_in(error)
            sent_writes, other_failures = next_attempt(schema, writes, sent_writes, failures)
            if count == 1 and other_failures:
                raise other_failures[0] from error.__cause__
            if other_failures or not failures:
                raise TransactionCancelled(other_failures) from error.__cause__
    items = ", ".join(item_name(write) for write in writes if write.decision)
    raise Conflict(f"{items} changed at each of {ATTEMPTS} attempts. Nothing was written")


def _token_error(writes: Sequence[Write]) -> TableError:
    """Return the error for a token with writes of which some depend on the stored items."""
    effect = next(write.decision.label for write in writes if write.decision)
    return TableError(
        f"this transaction {effect}, which depends on the stored item, so a repetition with the same token could "
        "differ. Leave out the token, and use `once` to make it safe to repeat"
    )


def _run_known(
    schema: Schema, table: str, numbered_writes: Sequence[NumberedWrite], count: int, token: str | None
) -> Steps[Any]:
    """Run writes that depend on nothing unknown. If the caller has one write (`count`), raise its first failure."""
    actions: Sequence[ItemAction] = [action for write, _ in numbered_writes for action in expand(schema, write)]
    if not actions:
        return None
    if len(actions) > len(numbered_writes):  # else these are the items of the writes themselves
        actions = merge_actions(actions)
    # A transaction costs twice as much as plain requests. Only a token and a check, which is no operation of its own,
    # need one for a single action.
    if len(actions) == 1 and token is None and actions[0].kind != "ConditionCheck":
        return (yield from _send_action(table, actions[0]))
    write = actions[0].write
    if write.returning:
        raise TableError(
            f"this {write.verb} of {write.entity.tag} writes several items in a transaction, and DynamoDB returns no "
            "items from that. Leave out returning=, and get the object after"
        )
    return (yield from _send_transaction(table, check_actions(actions), numbered_writes, count, token))


def _check_known(schema: Schema, table: str, numbered_writes: Sequence[NumberedWrite]) -> Steps[None]:
    """Check the conditions under which writes are not refused."""
    # A write with a decision fits every stored item.
    writes = [write for write, _ in numbered_writes if write.decision is None]
    actions = merge_actions([action for write in writes for action in expand(schema, write)])
    possible_checks = [as_check(schema, action) for action in actions]
    checks = [check for check in possible_checks if check is not None]
    if checks:
        yield from _send_transaction(table, check_actions(checks), numbered_writes, 0, None)


def _send_action(table: str, action: ItemAction) -> Steps[Any]:
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
            # The item is in the error, because every condition is sent with ReturnValuesOnConditionCheckFailure.
            if error.code == "ConditionalCheckFailedException":
                raise _failure(action, error.fields.get("Item"), 0) from error
            large = size_error(action, error.message) if error.code == "ValidationException" else None
            if large:
                raise large from error
            if error.code not in _CONFLICTS:
                raise
        else:
            if not returning:
                return None
            # DynamoDB does not return the item that it was given.
            item = answer.get("Attributes") if "ReturnValues" in body else body["Item"]
            return write.entity.codec.read(item, write.entity.tag, body.get("Key", {})) if item else None
    raise Conflict(f"{action} was in other transactions at each of {ATTEMPTS} attempts. Nothing was written")


def send_actions(table: str, actions: Sequence[ItemAction], writes: Sequence[Write]) -> Steps[None]:
    """Run the actions of several writes, which write different items, in one transaction."""
    yield from _send_transaction(table, check_actions(actions), list(zip(writes, itertools.count())), 0, None)


def _send_transaction(
    table: str, actions: Sequence[ItemAction], numbered_writes: Sequence[NumberedWrite], count: int, token: str | None
) -> Steps[None]:
    """Send actions in one transaction: again after a conflict, and without optional actions whose condition is false.

    If the caller has one write (`count`), raise its first failure, else TransactionCancelled.
    """
    current_actions = actions
    request = _transaction(table, actions, token)
    is_reduced = False
    for attempt in range(ATTEMPTS):
        if attempt and not is_reduced:
            yield pause(attempt)
        is_reduced = False
        try:
            yield request
        except DynamoDBError as error:
            if error.code != "TransactionCanceledException":
                if large := _first_size_error(error, actions):
                    raise large from error
                if error.code not in _CONFLICTS:
                    raise
                continue
            if is_temporary(error) and attempt < ATTEMPTS - 1:
                if current_actions is not actions:
                    # With the optional ones again, because their items may have changed.
                    current_actions, request = actions, _transaction(table, actions, token)
                continue
            required_actions = without_optional(current_actions, _reasons(error))
            if required_actions:
                is_reduced = True
                current_actions, request = required_actions, _reduced_transaction(table, required_actions, token)
                continue
            failures = _failures(current_actions, _reasons(error), numbered_writes)
            if count == 1 and failures:
                raise failures[0] from error
            raise TransactionCancelled(failures) from error
        else:
            return
    raise Conflict(f"{request.key} was being written at each of {ATTEMPTS} attempts. Nothing was written")


def _first_size_error(error: DynamoDBError, actions: Sequence[ItemAction]) -> ItemTooLarge | None:
    """Return the error for the first item that is too large, if DynamoDB refused a request for that."""
    if error.code != "ValidationException":
        return None
    return next(filter(None, map(size_error, actions)), None)


def _transaction(table: str, actions: Sequence[ItemAction], token: str | None) -> Request:
    body: dict[str, Any] = {
        "TransactItems": [{action.kind: {"TableName": table, **action.parameters}} for action in actions],
    }
    if token is not None:
        body["ClientRequestToken"] = token
    return Request("TransactWriteItems", body, ItemKeys(actions))


def _reduced_transaction(table: str, actions: Sequence[ItemAction], token: str | None) -> Request:
    """Return the transaction of the actions that are left, with a token of its own."""
    return _transaction(table, actions, token and _token_of_part(token, actions))


def without_optional(actions: Sequence[ItemAction], reasons: Sequence[Mapping[str, Any]]) -> list[ItemAction] | None:
    """Return the actions without the optional ones whose conditions were false; None if there are none of these."""
    failure_flags = [reason.get("Code") == "ConditionalCheckFailed" for reason in reasons]
    required_actions = [
        action for action, is_failed in zip(actions, failure_flags, strict=False) if not (is_failed and action.optional)
    ]
    return required_actions if len(required_actions) < len(failure_flags) else None


def _token_of_part(token: str, actions: Sequence[ItemAction]) -> str:
    """Return the token of a transaction without some actions. It is the same for each repetition of the caller.

    DynamoDB refuses a token that was used with another request.
    """
    import hashlib  # only duplicates of unique values need it

    text = "\n".join([token, *[str(action) for action in actions]])
    return hashlib.sha256(text.encode()).hexdigest()[:CLIENT_TOKEN_LENGTH]


def is_temporary(error: DynamoDBError) -> bool:
    """Return whether a transaction was cancelled for reasons that are over a moment later."""
    codes = {reason.get("Code", "None") for reason in _reasons(error)} - {"None"}
    return error.code in _CONFLICTS or (bool(codes) and codes <= _LATER)


def _reasons(error: DynamoDBError) -> list[dict[str, Any]]:
    return cast("list[dict[str, Any]]", error.fields.get("CancellationReasons") or [])


def _failures(
    actions: Sequence[ItemAction], reasons: Sequence[dict[str, Any]], numbered_writes: Sequence[NumberedWrite]
) -> list[TableError]:
    positions = {id(write): position for write, position in numbered_writes}
    failures: list[TableError] = []
    for action, reason in zip(actions, reasons, strict=False):
        code = reason.get("Code", "None")
        position = positions[id(action.write)]
        if code == "ConditionalCheckFailed":
            failures.append(_failure(action, reason.get("Item"), position))
        elif code != "None" and (large := size_error(action, reason.get("Message", ""))):
            failures.append(_about(large, action.write, position))
        elif code != "None":
            kind = Conflict if code == "TransactionConflict" else TableError
            failures.append(_about(kind(f"{action}: {code}: {reason.get('Message', '')}"), action.write, position))
    return failures


def size_error(action: ItemAction, message: str = "") -> ItemTooLarge | None:
    """Return the error for an item that is too large. It is called only when DynamoDB has refused a request.

    Only DynamoDB knows the size of an item after an update: then the `message` of its error says that it is too large.
    """
    if action.kind == "Update" and _TOO_LARGE in message:
        return ItemTooLarge(
            f"{item_name(action.write)} would be too large after this update: the limit is {ITEM_SIZE:,} bytes for the "
            f"item {action}"
        )
    item = action.parameters.get("Item")
    size = item_size(item) if item else 0
    if size <= ITEM_SIZE:
        return None
    error = ItemTooLarge(
        f"{item_name(action.write)} is too large: the item {action} has {size:,} bytes, and the limit is {ITEM_SIZE:,}"
    )
    error.size = size
    return error


def _failure(action: ItemAction, item: Json | None, position: int) -> ConditionFailed:
    error = action.failure(action.write, item)
    error.item, error.elsewhere = item, not action.own
    _about(error, action.write, position)
    return error


def _about(error: TableError, write: Write, position: int) -> TableError:
    error.write, error.position = write, position
    return error
