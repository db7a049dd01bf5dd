"""`rewrite_same_version`: a write of `prejoin evolve` to an item with a history is no new version of it."""

from __future__ import annotations

from msgspec.structs import replace

from prejoin.patterns.history import HistoryPattern
from prejoin.patterns.version import VersionPattern
from prejoin.table.codec.values import Json
from prejoin.table.condition.record import Compare, Exists, both
from prejoin.table.update.changes import Changes
from prejoin.table.write.from_call import rewrite
from prejoin.table.write.model import Write


def rewrite_same_version(write: Write, item: Json) -> Write:
    """Returns an update after the patterns of its entity have rewritten it, but for those that count versions.

    An update by the application puts the version that it replaces into the history, and deletes the oldest one. The
    backfill must do neither: the number stays, with the condition that it is as it was read. `item` is the item as it
    was read.
    """
    history = next((pattern for pattern in write.entity.patterns if isinstance(pattern, HistoryPattern)), None)
    if history is None:
        return rewrite(write)
    for pattern in write.entity.patterns:
        if not isinstance(pattern, VersionPattern):
            write = pattern.rewrite(write)
    attribute = write.entity.codec.attribute(history.version)
    value = item.get(attribute.wire)
    if value is None:  # an item from before the entity had versions: there is none to keep
        return replace(write, where=both(write.where, Exists((history.version,), present=False)))
    number = attribute.value.decode(value)
    changes = write.changes
    new_changes = Changes({**changes.sets, history.version: number}, changes.adds, changes.removes, changes.deletes)
    return replace(write, changes=new_changes, where=both(write.where, Compare((history.version,), "=", number)))
