"""A parent deleted with all that belongs to it: children first, and the parent when it has none."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Mapping
from typing import TYPE_CHECKING, Any, overload

from prejoin.protocol.limits import TRANSACTION_ACTIONS
from prejoin.table.conversation import Steps
from prejoin.table.errors import ConditionFailed, Conflict, NotFound, TooMany
from prejoin.table.read.arguments import QueryArguments
from prejoin.table.read.query import query
from prejoin.table.schema.schema import Schema
from prejoin.table.write.execute import ATTEMPTS, write_all, write_one
from prejoin.table.write.from_call import delete_write

from .child import Belonging
from .parents import Owner

if TYPE_CHECKING:
    from prejoin.table import AsyncClient, Client

Progress = Callable[[int], None]
"""Told how many have been deleted."""


@overload
def delete_tree(db: Client, cls: type[Any], /, *, progress: Progress | None = None, **key: Any) -> int: ...
@overload
def delete_tree(
    db: AsyncClient, cls: type[Any], /, *, progress: Progress | None = None, **key: Any
) -> Coroutine[Any, Any, int]: ...
def delete_tree(db: Client | AsyncClient, cls: type[Any], /, *, progress: Progress | None = None, **key: Any) -> Any:
    """Deletes an item and all that are declared to be its `Child`, and theirs; returns how many it deleted.

    Not in one transaction, and so of any size: children are deleted in transactions of some, with all that their
    patterns keep, and an item only when it has none left, which its count says. So there is never a child without a
    parent, whenever it is stopped, and whatever others insert meanwhile; to go on, call it again.

    Cost: a consistent Query of the children, and for each a read and a delete in a transaction (2 write units for 1
    KB), with what its patterns add; the counts of a transaction are one write of the parent.
    """
    schema = db.schema
    for name in key:
        schema.entity(cls).codec.attribute(name)
    known = key if schema.fence is None else schema.fence.filled(key)
    return db._run(_tree(schema, db.table, cls, known, _Told(progress)))


class _Told:
    """How many have been deleted so far."""

    def __init__(self, progress: Progress | None) -> None:
        self.count = 0
        self._progress = progress

    def __call__(self, more: int) -> None:
        self.count += more
        if self._progress:
            self._progress(self.count)


def _tree(schema: Schema, table: str, cls: type[Any], key: Mapping[str, Any], told: _Told) -> Steps[int]:
    write = delete_write(schema, cls, None, key, True, None)
    owned = _owned(schema, cls)
    for _ in range(ATTEMPTS):
        for owner in owned:
            yield from _children(schema, table, owner, key, told)
        try:
            yield from write_one(schema, table, write)
        except NotFound:
            return told.count
        except ConditionFailed as error:
            # Others gave it a child meanwhile: that one is next. What is not the child's count is not ours to mend.
            if not any(_has_some(owner, error) for owner in owned):
                raise
        else:
            told(1)
            return told.count
    raise Conflict(f"others gave it children each of {ATTEMPTS} times: it is there still, and can be deleted later")


def _owned(schema: Schema, cls: type[Any]) -> list[Owner]:
    """The children that are deleted with an item."""
    found: list[Owner] = []
    for owner in schema.entity(cls).patterns:
        if isinstance(owner, Owner) and any(
            isinstance(one, Belonging) and one.parent == owner.parent
            for one in schema.entity(owner.child.codec.cls).patterns
        ):
            if not owner.count:
                raise owner.uncounted()
            if not any(one.child is owner.child and one.parent == owner.parent for one in found):
                found.append(owner)
    return found


def _children(schema: Schema, table: str, owner: Owner, key: Mapping[str, Any], told: _Told) -> Steps[None]:
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
                yield from _tree(schema, table, cls, one, told)
        else:
            yield from _together(schema, table, cls, keys, told)


def _together(
    schema: Schema, table: str, cls: type[Any], keys: list[dict[str, Any]], told: _Told, most: int = 25
) -> Steps[None]:
    """Deletes items in transactions, each of as many as go into one."""
    for start in range(0, len(keys), most):
        some = keys[start : start + most]
        try:
            yield from write_all(schema, table, [delete_write(schema, cls, None, one, True, None) for one in some])
        except TooMany:
            if len(some) == 1:
                raise
            yield from _together(schema, table, cls, some, told, len(some) // 2)
        else:
            told(len(some))


def _has_some(owner: Owner, error: ConditionFailed) -> bool:
    return error.item is not None and bool(owner.stored(error.item, owner.count))
