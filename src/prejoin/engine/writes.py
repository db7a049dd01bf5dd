"""One write of one item, the same whether it comes alone, in a batch or in a transaction.

A request is first prepared, without the store, into a `Pending`; bound to its table it is a `Write`; performed in
an open transaction it gives an `Outcome`.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable
from typing import Any

import msgspec

from prejoin.engine import rows
from prejoin.engine.capacity import Capacity
from prejoin.engine.checks import expression_parameters
from prejoin.engine.definition import Table
from prejoin.engine.expiry import expiry
from prejoin.engine.keys import check_index_keys, check_scalar, item_key, key_bytes
from prejoin.engine.requests import ConditionCheck, DeleteItem, PutItem, UpdateItem, WriteOptions
from prejoin.engine.rows import Row, Version
from prejoin.protocol import limits
from prejoin.protocol.errors import condition_failed, invalid, refuse
from prejoin.protocol.expressions import (
    BoundCondition,
    BoundUpdate,
    Condition,
    Path,
    Substitutions,
    apply,
    bind_condition,
    bind_update,
    document_paths,
    evaluate,
)
from prejoin.protocol.expressions.nodes import Operand, Placeholder, SetAction
from prejoin.protocol.sizes import changed_size, item_size, measured
from prejoin.protocol.values import Item


class Pending(msgspec.Struct, frozen=True):
    """A checked write whose table is still to be found. `content` is a whole item to put, or a key."""

    kind: str
    table_name: str
    content: Item
    condition: BoundCondition | None = None
    update: BoundUpdate | None = None
    show_on_failure: bool = False
    size: int = 0
    nested: tuple[Path, ...] = ()
    """The paths into documents that its expressions read."""


class Write(msgspec.Struct, frozen=True):
    pending: Pending
    table: Table
    key: bytes


class Outcome(msgspec.Struct, frozen=True):
    """The item before and after, as stored."""

    before: Row | None
    after: Row | None


def prepare(request: WriteOptions, table_name: str) -> Pending:
    """Check a write as far as that goes without its table."""
    text, update_expression, legacy = request.condition_expression, None, None
    if isinstance(request, UpdateItem):
        update_expression, legacy = request.update_expression, request.attribute_updates
    names, values = request.expression_attribute_names, request.expression_attribute_values
    is_plain = text is None and update_expression is None
    if (
        (is_plain and not (names is None and values is None))
        or legacy is not None
        or request.expected is not None
        or request.conditional_operator is not None
    ):
        _check_parameters(request)
    content, size = measured(_content(request))
    if isinstance(request, PutItem) and size > limits.ITEM_SIZE:
        refuse("Item size has exceeded the maximum allowed size")
    if is_plain:
        return Pending(_KINDS[type(request)], table_name, content, size=size)
    substitutions = Substitutions(names, values)
    update = None if update_expression is None else bind_update(update_expression, substitutions)
    condition = None if text is None else bind_condition(text, substitutions)
    substitutions.finish()
    return Pending(
        _KINDS[type(request)],
        table_name,
        content,
        condition,
        update,
        request.return_values_on_condition_check_failure == "ALL_OLD",
        size,
        _nested(text, [condition.tree] if condition else ())
        + _nested(update_expression, update.tree.operands if update else ()),
    )


def _check_parameters(request: WriteOptions) -> None:
    expressions = {"ConditionExpression": request.condition_expression}
    legacy = {"Expected": request.expected, "ConditionalOperator": request.conditional_operator}
    if isinstance(request, UpdateItem):
        expressions = {"UpdateExpression": request.update_expression, **expressions}
        legacy = {"AttributeUpdates": request.attribute_updates, **legacy}
    names, values = request.expression_attribute_names, request.expression_attribute_values
    expression_parameters(expressions, legacy, names, values)


def _nested(text: str | None, trees: Iterable[Condition | Operand]) -> tuple[Path, ...]:
    """The paths into documents that an expression reads; most have none, and are not searched."""
    if text is None or not ("." in text or "[" in text):
        return ()
    return tuple(path for tree in trees for path in document_paths(tree) if len(path.steps) > 1)


def _content(request: WriteOptions) -> Any:
    """The item to put, or the key of the item to change."""
    if isinstance(request, PutItem):
        return request.item or {}
    return request.key or {}  # type: ignore[attr-defined]


_KINDS = {PutItem: "put", UpdateItem: "update", DeleteItem: "delete", ConditionCheck: "check"}


def bind(pending: Pending, table: Table) -> Write:
    """Check a write against its table."""
    if pending.kind == "put":
        key = item_key(table, pending.content)
        check_index_keys(table, pending.content)
    else:
        key = key_bytes(table, pending.content)
    if pending.nested:
        check_scalar(table, pending.nested)
    if pending.update is not None:
        _check_updated_paths(table, pending.update)
    return Write(pending, table, key)


def _check_updated_paths(table: Table, update: BoundUpdate) -> None:
    if _spares_indexes(table, update) or not update.tree.heads.isdisjoint(table.keys.names):
        return  # that it changes the key is the first thing wrong with it, and comes after its condition
    literals = {
        str(action.path.steps[0]): update.values[action.operand.name]
        for action in update.tree.actions
        if isinstance(action, SetAction) and isinstance(action.operand, Placeholder) and len(action.path.steps) == 1
    }
    check_index_keys(table, literals)
    check_scalar(table, update.tree.paths)


def perform(cursor: sqlite3.Cursor, write: Write, capacity: Capacity, *, transactional: bool = False) -> Outcome:
    """Read the item, test the condition, change the item and its index entries, charge the units."""
    pending, table, key = write.pending, write.table, write.key
    before = rows.fetch(cursor, key)
    old_item = None if before is None else _old_item(write, before)
    if pending.condition is not None and not evaluate(pending.condition, old_item or {}):
        shown = pending.show_on_failure and old_item is not None
        raise condition_failed(old_item if shown else None)
    if pending.kind == "check":
        capacity.wrote(before.size if before else 0, transactional=transactional)
        return Outcome(before, before)
    new_item = _changed(write, old_item)
    after = None if new_item is None else _row(pending, new_item, old_item, before)
    expires = None if table.ttl is None or new_item is None else expiry(new_item.get(table.ttl))
    rows.store(cursor, key, before, after, expires)
    capacity.wrote(max(before.size if before else 0, after.size if after else 0), transactional=transactional)
    if table.indexes:
        rows.update_indexes(
            cursor,
            table,
            key,
            None if before is None or old_item is None else Version(old_item, before),
            None if after is None or new_item is None else Version(new_item, after),
            capacity,
            stays=before is not None and pending.update is not None and _spares_indexes(table, pending.update),
        )
    return Outcome(before, after)


def _old_item(write: Write, before: Row) -> Item | None:
    """The item before the write, as much of it as is needed."""
    if write.pending.condition is not None or write.pending.kind == "update":
        return rows.decode_item(before.content)
    return write.table.decode_indexed(before.content) if write.table.indexes else None


def _changed(write: Write, old: Item | None) -> Item | None:
    """The item after the write; None where there is none any more."""
    pending = write.pending
    if pending.kind == "put":
        return pending.content
    if pending.kind == "delete":
        return None
    item = pending.content if old is None else old
    if pending.update is None:
        return item
    _check_key_stays(write.table, pending.update)
    changed = apply(pending.update, item)
    if _spares_indexes(write.table, pending.update):
        return changed
    for attribute, _ in write.table.index_attributes:
        value = changed.get(attribute.name)
        if value is not None and attribute.type not in value:
            refuse("The update expression attempted to update the secondary index key to unsupported type")
    check_index_keys(write.table, changed)
    return changed


def _spares_indexes(table: Table, update: BoundUpdate) -> bool:
    """Whether an update changes no attribute that is a key of an index."""
    return update.tree.heads.isdisjoint(table.index_names)


def _check_key_stays(table: Table, update: BoundUpdate) -> None:
    """Refuse an update of the key; only now, since a condition that fails comes first."""
    for name in table.keys.names:
        if name in update.tree.heads:
            refuse(
                "One or more parameter values were invalid: "
                f"Cannot update attribute {name}. This attribute is part of the key"
            )


def _row(pending: Pending, item: Item, old_item: Item | None, before: Row | None) -> Row:
    if pending.kind == "put":
        return Row(pending.size, rows.encode_item(item))
    if old_item is None or before is None or pending.update is None:
        size = item_size(item)
    else:
        size = before.size + changed_size(old_item, item, pending.update.tree.heads)
    if size > limits.ITEM_SIZE:
        raise invalid("Item size to update has exceeded the maximum allowed size")
    return Row(size, rows.encode_item(item))
