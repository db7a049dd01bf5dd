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
    _, known = check_known(db.schema, cls, key)
    return db._run(_tree(db.schema, db.table, cls, known, _Counter(progress)))


class _Counter:
    """Counts the deleted items, and reports the progress."""

    def __init__(self, progress: Progress | None) -> None:
        self.count = 0
        self._progress = progress

    def __call__(self, more: int) -> None:
        self.count += more
        if self._progress:
            self._progress(self.count)


def _tree(schema: Schema, table: str, cls: type[Any], key: Mapping[str, Any], counter: _Counter) -> Steps[int]:
    write = delete_write(schema, cls, None, key, True, None)
    owned = _owned(schema, cls)
    for _ in range(ATTEMPTS):
        for owner in owned:
            yield from _children(schema, table, owner, key, counter)
        try:
            yield from write_one(schema, table, write)
        except NotFound:
            return counter.count
        except ConditionFailed as error:
            # A child was inserted since, and is deleted next. Other conditions are not handled here.
            if not any(_has_some(owner, error) for owner in owned):
                raise
        else:
            counter(1)
            return counter.count
    raise Conflict(f"children were inserted at each of {ATTEMPTS} attempts. The item was not deleted; try again later")


def _owned(schema: Schema, cls: type[Any]) -> list[ParentPattern]:
    """Return the patterns of the children that are deleted with an item."""
    found: list[ParentPattern] = []
    for owner in schema.entity(cls).patterns:
        if isinstance(owner, ParentPattern) and any(
            isinstance(one, ChildPattern) and one.parent == owner.parent
            for one in schema.entity(owner.child.codec.cls).patterns
        ):
            if not owner.count:
                raise owner.uncounted()
            if not any(one.child is owner.child and one.parent == owner.parent for one in found):
                found.append(owner)
    return found


def _children(
    schema: Schema, table: str, owner: ParentPattern, key: Mapping[str, Any], counter: _Counter
) -> Steps[None]:
    cls, names = owner.child.codec.cls, owner.parent.names
    base = schema.entity(cls).base.attributes
    arguments = QueryArguments(
        None, {own: key[name] for name, own in names.items()}, limit=TRANSACTION_ACTIONS, consistent=True
    )
    while True:
        page = yield from query(schema, table, cls, arguments)
        if not page.items:
            return
        keys = [{name: getattr(one, name) for name in base} for one in page.items]
        if _owned(schema, cls):
            for one in keys:
                yield from _tree(schema, table, cls, one, counter)
        else:
            yield from _delete_all(schema, table, cls, keys, counter)


def _delete_all(
    schema: Schema, table: str, cls: type[Any], keys: list[dict[str, Any]], counter: _Counter, most: int = 25
) -> Steps[None]:
    """Delete items in transactions of as many as fit."""
    for start in range(0, len(keys), most):
        some = keys[start : start + most]
        try:
            yield from write_all(schema, table, [delete_write(schema, cls, None, one, True, None) for one in some])
        except TooMany:
            if len(some) == 1:
                raise
            yield from _delete_all(schema, table, cls, some, counter, len(some) // 2)
        else:
            counter(len(some))


def _has_some(owner: ParentPattern, error: ConditionFailed) -> bool:
    return error.item is not None and bool(owner.stored(error.item, owner.count))
