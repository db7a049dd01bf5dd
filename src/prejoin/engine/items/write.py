"""Write one item. PutItem, batches and transactions all come through here.

`prepare` checks a request without the store and returns a `PreparedWrite`. `bind` checks that against its table and
returns a `BoundWrite`. `perform` runs it in an open transaction and returns a `WriteOutcome`.
"""

from __future__ import annotations

import msgspec

from prejoin.engine.damage import remove_damaged
from prejoin.engine.items import rows
from prejoin.engine.items.capacity import Capacity
from prejoin.engine.items.changes import record_change
from prejoin.engine.items.keys import check_index_keys, check_scalar, encode_item_key, encode_key
from prejoin.engine.items.recovery import log_change
from prejoin.engine.items.rows import ItemVersion, expiry
from prejoin.engine.items.write_expressions import NO_EXPRESSIONS, WriteExpressions, compile_expressions
from prejoin.engine.requests import ConditionCheck, DeleteItemInput, PutItemInput, UpdateItemInput, WriteOptions
from prejoin.engine.store.interface import DamageError, Session, StoredRow
from prejoin.engine.tables.definition import TableDefinition
from prejoin.protocol import limits
from prejoin.protocol.errors import UnprefixedError, condition_failed, invalid, refuse
from prejoin.protocol.expressions import Update
from prejoin.protocol.expressions.nodes import Placeholder, SetAction, Values
from prejoin.protocol.sizes import changed_size, item_size, measured
from prejoin.protocol.values import Item


class PreparedWrite(msgspec.Struct, frozen=True):
    """A checked write whose table is not yet known. `content` is the item to put, or the key."""

    kind: str
    table_name: str
    content: Item
    size: int = 0
    expressions: WriteExpressions = NO_EXPRESSIONS
    values: Values = {}
    show_on_failure: bool = False


class BoundWrite(msgspec.Struct, frozen=True):
    """A write with its table and the key bytes of its item."""

    prepared: PreparedWrite
    table: TableDefinition
    key: bytes


class WriteOutcome(msgspec.Struct, frozen=True):
    """The stored item before and after a write."""

    before: StoredRow | None
    after: StoredRow | None


def prepare(request: WriteOptions, table_name: str, *, newer_words: bool = False) -> PreparedWrite:
    """Check a write as far as possible without its table. `newer_words` is about the values of its expressions."""
    kind = _KINDS[type(request)]
    condition = request.condition_expression
    update_expression = request.update_expression if kind == "update" else None  # type: ignore[attr-defined]
    content, size = measured((request.item if kind == "put" else request.key) or {})  # type: ignore[attr-defined]
    # The size of an update's result is known only when it is applied.
    if kind == "put" and size > limits.ITEM_SIZE:
        raise UnprefixedError("Item size has exceeded the maximum allowed size")
    if condition is None and update_expression is None:
        return PreparedWrite(kind, table_name, content, size)
    names, values = request.expression_attribute_names, request.expression_attribute_values
    expressions, used_values = compile_expressions(condition, update_expression, names, values, newer_words=newer_words)
    show_on_failure = request.return_values_on_condition_check_failure == "ALL_OLD"
    return PreparedWrite(kind, table_name, content, size, expressions, used_values, show_on_failure)


def check_expressions(request: WriteOptions) -> None:
    """Check only the expressions of a write, even if its key is invalid."""
    condition, update = (
        request.condition_expression,
        request.update_expression if isinstance(request, UpdateItemInput) else None,
    )
    if condition is not None or update is not None:
        compile_expressions(condition, update, request.expression_attribute_names, request.expression_attribute_values)


_KINDS = {PutItemInput: "put", UpdateItemInput: "update", DeleteItemInput: "delete", ConditionCheck: "check"}


def bind(write: PreparedWrite, table: TableDefinition) -> BoundWrite:
    """Check a write against its table."""
    if write.kind == "put":
        key = encode_item_key(table, write.content)
        # A put has the index keys of its item, and they can be checked now. An update has them only when it is applied.
        check_index_keys(table, write.content)
    else:
        key = encode_key(table, write.content)
    expressions = write.expressions
    if expressions.nested_paths:
        check_scalar(table, expressions.nested_paths)
    if expressions.update is not None:
        _check_updated_paths(table, expressions, expressions.update, write.values)
    return BoundWrite(write, table, key)


def _check_updated_paths(table: TableDefinition, expressions: WriteExpressions, update: Update, values: Values) -> None:
    if _keeps_index_keys(table, update) or not update.heads.isdisjoint(table.keys.names):
        # Changing the key is reported first, after the condition.
        return
    # DynamoDB checks values that an update assigns to a whole index key attribute before it tests the condition. What
    # follows from the item, such as the sum of two numbers, is checked after it.
    literals = {
        str(action.path.steps[0]): values[action.operand.name]
        for action in update.actions
        if isinstance(action, SetAction) and isinstance(action.operand, Placeholder) and len(action.path.steps) == 1
    }
    check_index_keys(table, literals, is_update=not expressions.legacy)
    check_scalar(table, update.paths)


def perform(session: Session, write: BoundWrite, capacity: Capacity, *, transactional: bool = False) -> WriteOutcome:
    """Read the item, test the condition, change the item and its index entries, and count the units."""
    # Every write runs this, and each call of a further function costs it almost one percent. So there are few steps.
    table, prepared = write.table, write.prepared
    try:
        before = session.get(write.key)
    except DamageError:
        if _needs_former_item(prepared):
            raise
        # The write replaces or deletes the item, whatever it was. This is how a user repairs a damaged file.
        remove_damaged(session, table, write.key)
        before = None
    old_size = 0 if before is None else before.size
    old_item = None if prepared.expressions.condition is None else _test_condition(write, before)
    if prepared.kind == "check":
        capacity.wrote(old_size, transactional=transactional)
        return WriteOutcome(before, before)
    update = prepared.expressions.update
    if before is None and update is not None and update.only_removes:
        # REMOVE and DELETE alone do not create an item. DynamoDB counts a write nevertheless.
        _check_key_stays(table, update)
        capacity.wrote(0, transactional=transactional)
        return WriteOutcome(None, None)
    if before is not None and old_item is None:
        # Decoded only if something needs it: most puts and deletes need nothing of the former item.
        if prepared.kind == "update":
            old_item = rows.decode_item(before.content)
        elif table.indexes:
            old_item = table.decode_indexed(before.content)
    version, keeps_entry_keys = _change_item(session, write, old_item, before)
    after = None if version is None else version.row
    # A write costs the units of the larger version: making an item smaller is not cheaper.
    capacity.wrote(old_size if after is None else max(old_size, after.size), transactional=transactional)
    if table.indexes:
        old_version = None if before is None or old_item is None else ItemVersion(old_item, before)
        rows.update_indexes(session, table, write.key, old_version, version, capacity, keep_entry_key=keeps_entry_keys)
    if table.is_recorded:
        _record(session, write, before, after)
    return WriteOutcome(before, after)


def _needs_former_item(prepared: PreparedWrite) -> bool:
    """Whether a write depends on the content of the item before it."""
    return prepared.kind not in ("put", "delete") or prepared.expressions.condition is not None


def _test_condition(write: BoundWrite, before: StoredRow | None) -> Item | None:
    """Raise DynamoDB's error if the condition is false. Return the existing item, if it had to be decoded."""
    prepared = write.prepared
    expressions = prepared.expressions
    assert expressions.condition is not None, "only a write with a condition is tested"
    old_item = None
    if expressions.existence_of in write.table.keys.names:
        # Every existing item has its key attributes, so the most common condition of all needs no decoding.
        is_fulfilled = (before is not None) is expressions.must_exist
    else:
        old_item = None if before is None else rows.decode_item(before.content)
        is_fulfilled = expressions.condition(old_item or {}, prepared.values)
    if is_fulfilled:
        return old_item
    if before is None or not prepared.show_on_failure:
        raise condition_failed(None)
    raise condition_failed(rows.decode_item(before.content))


def _change_item(
    session: Session, write: BoundWrite, old_item: Item | None, before: StoredRow | None
) -> tuple[ItemVersion | None, bool]:
    """Put or delete the item. Return it as it is now, and whether all of its index entries keep their keys."""
    prepared, table = write.prepared, write.table
    if prepared.kind == "delete":
        if before is not None:
            session.delete(write.key)
        return None, False
    keeps_entry_keys = False
    if prepared.kind == "put":
        version = ItemVersion(prepared.content, StoredRow(prepared.size, rows.encode_item(prepared.content)))
    else:
        expressions = prepared.expressions
        keeps_indexes = expressions.update is None or _keeps_index_keys(table, expressions.update)
        new_item = _apply_update(write, old_item, keeps_indexes)
        version = ItemVersion(new_item, _row_of(expressions, new_item, old_item, before))
        # A new item has no entries yet whose keys could be kept.
        keeps_entry_keys = keeps_indexes and before is not None
    if table.ttl is None:
        session.put(write.key, before, version.row)
    else:
        session.put_expiring(write.key, before, version.row, expiry(version.item.get(table.ttl)))
    return version, keeps_entry_keys


def _record(session: Session, write: BoundWrite, before: StoredRow | None, after: StoredRow | None) -> None:
    """Add a write to the stream of its table and to the log of point-in-time recovery."""
    table = write.table
    if table.stream is not None:
        record_change(session, table, table.stream, write.prepared.content, before, after)
    if table.recovery is not None:
        log_change(session, table, write.key, before, after)


def _apply_update(write: BoundWrite, old_item: Item | None, keeps_indexes: bool) -> Item:
    """The item after an update. `keeps_indexes` says that no index key attribute changes."""
    write_request, table = write.prepared, write.table
    base_item = write_request.content if old_item is None else old_item
    change, update = write_request.expressions.change, write_request.expressions.update
    if change is None or update is None:
        return base_item
    _check_key_stays(table, update)
    new_item = change(base_item, write_request.values)
    if keeps_indexes:
        return new_item
    legacy = write_request.expressions.legacy
    # A value of the wrong type has another message here than in `check_index_keys`.
    for attribute, _ in () if legacy else table.index_attributes:
        value = new_item.get(attribute.name)
        if value is not None and attribute.type not in value:
            refuse("The update expression attempted to update the secondary index key to unsupported type")
    check_index_keys(table, new_item, is_update=not legacy)
    return new_item


def _keeps_index_keys(table: TableDefinition, update: Update) -> bool:
    """Whether an update leaves all index key attributes unchanged."""
    return update.heads.isdisjoint(table.index_names)


def _check_key_stays(table: TableDefinition, update: Update) -> None:
    """Refuse an update of a key attribute. DynamoDB reports a failed condition first."""
    for name in table.keys.names:
        if name in update.heads:
            refuse(
                "One or more parameter values were invalid: "
                f"Cannot update attribute {name}. This attribute is part of the key"
            )


def _row_of(expressions: WriteExpressions, item: Item, old_item: Item | None, before: StoredRow | None) -> StoredRow:
    if old_item is None or before is None or expressions.update is None:
        size = item_size(item)
    else:
        # Only attributes that the update names can have changed their size. Measuring the others again takes longer.
        size = before.size + changed_size(old_item, item, expressions.update.heads)
    if size > limits.ITEM_SIZE:
        raise invalid("Item size to update has exceeded the maximum allowed size")
    return StoredRow(size, rows.encode_item(item))
