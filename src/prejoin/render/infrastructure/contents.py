"""What patterns do with large contents: the requests for parts in the table, and the objects in the bucket.

A content of an item is stored by the write that gives it to the item, and read by `read_large` from an item that a read
returned. So a role may store contents if it writes the attribute, and read them if a read of its own returns it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from prejoin.design.model import Call, Design, Did, ItemAction, Operation, ProjectionKind, Request
from prejoin.keys.content import object_folder
from prejoin.render.python.names import names_of
from prejoin.workload.contents import contents_of
from prejoin.workload.lookup import changes
from prejoin.workload.model import Entity, Model, Pattern, Read, Verb, Workload, Write

_NEW = frozenset({Verb.CREATE, Verb.PUT})
"""The verbs that write whole objects, with all their contents."""


class ContentUse(Model, frozen=True):
    """How the patterns of a role use one large attribute."""

    entity: str
    attribute: str
    reads: bool = False
    stores: bool = False
    removes: bool = False
    """Whether contents are replaced by `write_large` and deleted by `delete_large`, which no pattern calls."""


def content_uses(
    workload: Workload, design: Design, patterns: Sequence[Pattern], *, whole: bool = False
) -> Iterator[ContentUse]:
    """The large attributes that patterns use. `whole` if they are the whole application, which uses all of them."""
    for entity in workload.entities:
        if not design.item(entity.name):
            continue
        read = {name for one in patterns if isinstance(one, Read) for name in _read_contents(one, entity, design)}
        stored = {name for one in patterns if isinstance(one, Write) for name in _stored_contents(one, entity)}
        for attribute in contents_of(entity):
            use = ContentUse(entity.name, attribute.name, attribute.name in read, attribute.name in stored)
            if whole:
                use = ContentUse(entity.name, attribute.name, reads=True, stores=True, removes=True)
            if use.reads or use.stores:
                yield use


def content_operations(uses: Iterable[ContentUse], design: Design) -> Iterator[Operation]:
    """The requests for contents in the table. Where they are in a store now, there may be parts from before."""
    for use in uses:
        item = design.item(use.entity)
        assert item is not None  # one that is used
        pk = item.facets[0].pk[0]
        if use.reads:
            # Parts, and the item again if its content was replaced meanwhile.
            parts = Request(Call.QUERY, entities=(use.entity,), pk=pk)
            yield Operation("read contents", (parts, Request(Call.GET, entities=(use.entity,), pk=pk)))
        if use.stores and not design.in_store(use.entity, use.attribute):
            yield Operation("store contents", (_writes(Call.PUT, Did.PUT, use, pk),))
        if use.removes:
            refer, remove = _writes(Call.UPDATE, Did.UPDATE, use, pk), _writes(Call.BATCH_WRITE, Did.DELETE, use, pk)
            yield Operation("replace contents", (refer, remove))


def object_actions(uses: Iterable[ContentUse], folders: dict[tuple[str, str], str]) -> dict[str, tuple[str, ...]]:
    """The actions of S3 on the objects of contents, by folder."""
    actions: dict[str, tuple[str, ...]] = {}
    for use in uses:
        folder = folders.get((use.entity, use.attribute))
        if folder is not None:
            allowed = {"DeleteObject": use.removes, "GetObject": use.reads, "PutObject": use.stores}
            actions[folder] = tuple(action for action, needed in allowed.items() if needed)
    return actions


def content_folders(workload: Workload, design: Design) -> dict[tuple[str, str], str]:
    """The folder of the bucket, in that of the table, for each attribute whose contents are in the store."""
    fields = names_of(workload).fields
    folders: dict[tuple[str, str], str] = {}
    for one in design.stores:
        item = design.item(one.entity)
        assert item is not None  # one with contents
        folders[one.entity, one.attribute] = object_folder(item.tag, fields[one.entity][one.attribute])
    return folders


def _writes(call: Call, did: Did, use: ContentUse, pk: str) -> Request:
    return Request(call, actions=(ItemAction(did, use.entity, pk),))


def _read_contents(read: Read, entity: Entity, design: Design) -> Iterator[str]:
    """The large attributes of an entity in the results of a read."""
    operation = design.operation(read.id)
    for request in operation.requests if operation else ():
        if entity.name not in request.entities or request.count or request.counter:
            continue
        named = {name.rpartition(".")[2] for name in request.attributes}
        slot = design.slot(request.slot)
        projected = None
        if slot is not None and slot.projection.kind is not ProjectionKind.ALL:
            projected = slot.projection.attributes
        for attribute in contents_of(entity):
            if (not named or attribute.name in named) and (projected is None or attribute.name in projected):
                yield attribute.name


def _stored_contents(write: Write, entity: Entity) -> Iterator[str]:
    """The large attributes of an entity that a write gives a value."""
    for action in write.actions:
        if action.entity != entity.name:
            continue
        changed = {change.attribute for change in changes(write, action, entity)}
        for attribute in contents_of(entity):
            if action.verb in _NEW or attribute.name in changed:
                yield attribute.name
