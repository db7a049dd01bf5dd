"""Delete a parent with its children: children first, then the parent."""

from __future__ import annotations

from collections.abc import Coroutine, Mapping
from typing import TYPE_CHECKING, Any, overload

from prejoin.protocol.limits import TRANSACTION_ACTIONS
from prejoin.table.conversation import Steps
from prejoin.table.errors import ConditionFailed, Conflict, NotFound, TooMany
from prejoin.table.options import Progress
from prejoin.table.read.arguments import QueryArguments
from prejoin.table.read.query import query
from prejoin.table.schema.schema import Schema
from prejoin.table.write.execute import ATTEMPTS, write_all, write_one
from prejoin.table.write.from_call import check_known, delete_write

from .child import ChildPattern
from .parents import ParentPattern

if TYPE_CHECKING:
    from prejoin.table.client.async_client import AsyncClient
    from prejoin.table.client.client import Client


@overload
def delete_tree(db: Client, cls: type[Any], /, *, progress: Progress | None = None, **key: Any) -> int: ...
@overload
def delete_tree(
    db: AsyncClient, cls: type[Any], /, *, progress: Progress | None = None, **key: Any
) -> Coroutine[Any, Any, int]: ...
def delete_tree(db: Client | AsyncClient, cls: type[Any], /, *, progress: Progress | None = None, **key: Any) -> Any:
    """Delete an item and all items that declare it as their parent with `Child`, recursively. Return how many.

    It is not one transaction, so the tree can have any size. Children are deleted in transactions of several, with
    their copies and guards, and a parent only when its count says that it has no children left. So no child is ever
    without a parent, even if it is interrupted or other writers insert children. To continue, call it again. `progress`
    is called with the number of deleted items.

    Cost: a consistent Query of the children; for each child a read, and a delete in a transaction (2 write units for 1
    KB), with the items of its patterns; and for each transaction one write of the parent.
    """
    _, key_values = check_known(db.schema, cls, key)
    return db._run(_delete_tree(db.schema, db.table, cls, key_values, _DeletionCounter(progress)))


class _DeletionCounter:
    """Counts the deleted items, and reports the progress."""

    def __init__(self, progress: Progress | None) -> None:
        self.count = 0
        self._progress = progress

    def __call__(self, number: int) -> None:
        self.count += number
        if self._progress:
            self._progress(self.count)


def _delete_tree(
    schema: Schema, table: str, cls: type[Any], key: Mapping[str, Any], counter: _DeletionCounter
) -> Steps[int]:
    write = delete_write(schema, cls, None, key, True, None)
    child_patterns = _deleted_children(schema, cls)
    for _ in range(ATTEMPTS):
        for child_pattern in child_patterns:
            yield from _delete_children(schema, table, child_pattern, key, counter)
        try:
            yield from write_one(schema, table, write)
        except NotFound:
            return counter.count
        except ConditionFailed as error:
            # A child was inserted since, and is deleted next. Other conditions are not handled here.
            if not any(_has_children(child_pattern, error) for child_pattern in child_patterns):
                raise
        else:
            counter(1)
            return counter.count
    raise Conflict(f"children were inserted at each of {ATTEMPTS} attempts. The item was not deleted; try again later")


def _deleted_children(schema: Schema, cls: type[Any]) -> list[ParentPattern]:
    """Return the patterns of the children that are deleted with an item."""
    child_patterns: list[ParentPattern] = []
    for pattern in schema.entity(cls).patterns:
        if not isinstance(pattern, ParentPattern) or not _is_declared_child(schema, pattern):
            continue
        if not pattern.count:
            raise pattern.missing_count_error()
        # A child with Child and Counted has put two of them here.
        if not any(earlier.child is pattern.child and earlier.parent == pattern.parent for earlier in child_patterns):
            child_patterns.append(pattern)
    return child_patterns


def _is_declared_child(schema: Schema, parent_pattern: ParentPattern) -> bool:
    """Return whether the children have `Child`; else they only count, and stay when the parent is deleted."""
    patterns = schema.entity(parent_pattern.child.codec.cls).patterns
    return any(isinstance(pattern, ChildPattern) and pattern.parent == parent_pattern.parent for pattern in patterns)


def _delete_children(
    schema: Schema, table: str, owner: ParentPattern, key: Mapping[str, Any], counter: _DeletionCounter
) -> Steps[None]:
    cls, names = owner.child.codec.cls, owner.parent.names
    base = schema.entity(cls).base.attributes
    equal = {child_name: key[name] for name, child_name in names.items()}
    arguments = QueryArguments(None, equal, limit=TRANSACTION_ACTIONS, consistent=True)
    # Always the first page: its items are deleted before it is read again.
    while True:
        page = yield from query(schema, table, cls, arguments)
        if not page.items:
            return
        keys = [{name: getattr(child, name) for name in base} for child in page.items]
        if _deleted_children(schema, cls):
            for child_key in keys:
                yield from _delete_tree(schema, table, cls, child_key, counter)
        else:
            yield from _delete_all(schema, table, cls, keys, counter)


def _delete_all(
    schema: Schema, table: str, cls: type[Any], keys: list[dict[str, Any]], counter: _DeletionCounter, size: int = 25
) -> Steps[None]:
    """Delete items in transactions of as many as fit."""
    for start in range(0, len(keys), size):
        batch = keys[start : start + size]
        try:
            deletes = [delete_write(schema, cls, None, child_key, True, None) for child_key in batch]
            yield from write_all(schema, table, deletes)
        except TooMany:
            if len(batch) == 1:
                raise
            yield from _delete_all(schema, table, cls, batch, counter, len(batch) // 2)
        else:
            counter(len(batch))


def _has_children(owner: ParentPattern, error: ConditionFailed) -> bool:
    return error.item is not None and bool(owner.number_in(error.item, owner.count))
