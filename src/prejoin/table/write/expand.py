"""All that a write has to write: the item itself, and what patterns add to it."""

from __future__ import annotations

from prejoin.table.schema.schema import Schema

from .actions import check_item, delete_item, put_item, update_item
from .cached_actions import formed
from .model import Action, Write
from .upsert import upsert_item

_OWN = {
    "insert": put_item,
    "put": put_item,
    "update": update_item,
    "upsert": upsert_item,
    "delete": delete_item,
    "check": check_item,
}


def expand(schema: Schema, write: Write) -> list[Action]:
    """All actions of a write. The entity's own item comes first, so that its failure is the one told."""
    own = _OWN[write.verb]
    if not write.entity.patterns:
        return [formed(schema, write, own)]
    actions = [own(schema, write)]
    for pattern in write.entity.patterns:
        write.need_before(pattern.depends(write), pattern.what)
        actions += pattern.expand(schema, write)
    return actions
