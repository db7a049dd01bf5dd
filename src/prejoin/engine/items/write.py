"""Write one item. PutItem, batches and transactions all come through here.

`prepare` checks a request without the store and returns a `PreparedWrite`. `bind` checks that against its table and
returns a `BoundWrite`. `perform` runs it in an open transaction and returns a `WriteResult`.
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


class WriteResult(msgspec.Struct, frozen=True):
    """The stored item before and after a write."""

    before: StoredRow | None
    after: StoredRow | None


def prepare(request: WriteOptions, table_name: str, *, newer_words: bool = False) -> PreparedWrite:
    """Check a write as far as possible without its table. `newer_words` is about the values of its expressions."""
    kind = _KINDS[type(request)]
    text = request.condition_expression
    update_expression = request.update_expression if kind == "update" else None  # type: ignore[attr-defined]
    content, size = measured((request.item if kind == "put" else request.key) or {})  # type: ignore[attr-defined]
    if kind == "put" and size > limits.ITEM_SIZE:
        raise UnprefixedError("Item size has exceeded the maximum allowed size")
    if text is None and update_expression is None:
        return PreparedWrite(kind, table_name, content, size)
    names, values = request.expression_attribute_names, request.expression_attribute_values
    found, bound = compile_expressions(text, update_expression, names, values, newer_words=newer_words)
    shown = request.return_values_on_condition_check_failure == "ALL_OLD"
    return PreparedWrite(kind, table_name, content, size, found, bound, shown)


def check_expressions(request: WriteOptions) -> None:
    """Check only the expressions of a write, even if its key is invalid."""
    text, update = (
        request.condition_expression,
        request.update_expression if isinstance(request, UpdateItemInput) else None,
    )
    if text is not None or update is not None:
        compile_expressions(text, update, request.expression_attribute_names, request.expression_attribute_values)


_KINDS = {PutItemInput: "put", UpdateItemInput: "update", DeleteItemInput: "delete", ConditionCheck: "check"}


def bind(prepared: PreparedWrite, table: TableDefinition) -> BoundWrite:
    """Check a write against its table."""
    if prepared.kind == "put":
        key = encode_item_key(table, prepared.content)
        check_index_keys(table, prepared.content)
    else:
        key = encode_key(table, prepared.content)
    found = prepared.expressions
    if found.nested:
        check_scalar(table, found.nested)
    if found.update is not None:
        _check_updated_paths(table, found, found.update, prepared.values)
    return BoundWrite(prepared, table, key)


def _check_updated_paths(table: TableDefinition, found: WriteExpressions, update: Update, values: Values) -> None:
    if _spares_indexes(table, update) or not update.heads.isdisjoint(table.keys.names):
        return  # changing the key is reported first, after the condition
    literals = {
        str(action.path.steps[0]): values[action.operand.name]
        for action in update.actions
        if isinstance(action, SetAction) and isinstance(action.operand, Placeholder) and len(action.path.steps) == 1
    }
    check_index_keys(table, literals, updated=not found.legacy)
    check_scalar(table, update.paths)


def perform(session: Session, write: BoundWrite, capacity: Capacity, *, transactional: bool = False) -> WriteResult:
    """Read the item, test the condition, change the item and its index entries, and count the units."""
    prepared, table, key = write.prepared, write.table, write.key
    kind, found = prepared.kind, prepared.expressions
    try:
        before = session.get(key)
    except DamageError:
        if kind not in ("put", "delete") or found.condition is not None:
            raise
        remove_damaged(session, table, key)  # the write replaces or deletes it in any case
        before = None
    old_item = None
    if found.condition is not None:
        if found.presence in table.keys.names:
            fulfilled = (before is not None) is found.present  # every existing item has its key attributes
        else:
            old_item = None if before is None else rows.decode_item(before.content)
            fulfilled = found.condition(old_item or {}, prepared.values)
        if not fulfilled:
            shown = prepared.show_on_failure and before is not None
            raise condition_failed(rows.decode_item(before.content) if shown and before is not None else None)
    if kind == "check":
        capacity.wrote(before.size if before else 0, transactional=transactional)
        return WriteResult(before, before)
    if before is None and found.update is not None and found.update.only_removes:
        _check_key_stays(table, found.update)
        capacity.wrote(0, transactional=transactional)
        return WriteResult(None, None)  # REMOVE and DELETE alone do not create an item
    if before is not None and old_item is None:
        if kind == "update":
            old_item = rows.decode_item(before.content)
        elif table.indexes:
            old_item = table.decode_indexed(before.content)
    stays = False
    if kind == "put":
        new_item: Item | None = prepared.content
        after: StoredRow | None = StoredRow(prepared.size, rows.encode_item(new_item))
    elif kind == "update":
        stays = found.update is None or _spares_indexes(table, found.update)
        new_item = _updated(write, old_item, stays)
        after = _row(found, new_item, old_item, before)
    else:
        new_item = after = None
    if after is None or new_item is None:
        if before is not None:
            session.delete(key)
    elif table.ttl is None:
        session.put(key, before, after)
    else:
        session.put_expiring(key, before, after, expiry(new_item.get(table.ttl)))
    capacity.wrote(max(before.size if before else 0, after.size if after else 0), transactional=transactional)
    if table.indexes:
        rows.update_indexes(
            session,
            table,
            key,
            None if before is None or old_item is None else ItemVersion(old_item, before),
            None if after is None or new_item is None else ItemVersion(new_item, after),
            capacity,
            stays=stays and before is not None,
        )
    if table.is_recorded:
        if table.stream is not None:
            record_change(session, table, table.stream, prepared.content, before, after)
        if table.recovery is not None:
            log_change(session, table, key, before, after)
    return WriteResult(before, after)


def _updated(write: BoundWrite, old: Item | None, stays: bool) -> Item:
    """The item after an update. `stays` says that no index key attribute changes."""
    prepared, table = write.prepared, write.table
    item = prepared.content if old is None else old
    change, update = prepared.expressions.change, prepared.expressions.update
    if change is None or update is None:
        return item
    _check_key_stays(table, update)
    changed = change(item, prepared.values)
    if stays:
        return changed
    legacy = prepared.expressions.legacy
    for attribute, _ in () if legacy else table.index_attributes:
        value = changed.get(attribute.name)
        if value is not None and attribute.type not in value:
            refuse("The update expression attempted to update the secondary index key to unsupported type")
    check_index_keys(table, changed, updated=not legacy)
    return changed


def _spares_indexes(table: TableDefinition, update: Update) -> bool:
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


def _row(found: WriteExpressions, item: Item, old_item: Item | None, before: StoredRow | None) -> StoredRow:
    if old_item is None or before is None or found.update is None:
        size = item_size(item)
    else:
        size = before.size + changed_size(old_item, item, found.update.heads)
    if size > limits.ITEM_SIZE:
        raise invalid("Item size to update has exceeded the maximum allowed size")
    return StoredRow(size, rows.encode_item(item))
