"""What patterns do with large contents: the requests for parts in the table, and the objects in the bucket.

A write that gives an item a content stores its parts or objects, by requests of its own. A content is read by
`read_large` from an item that a read returned. So a role may read contents if a read of its own returns them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from prejoin.constructs.registry import added_in
from prejoin.design.model import Design, ProjectionKind
from prejoin.design.requests.literal import LiteralRequest, ObjectRequest, PartRequest
from prejoin.workload.contents import contents_of
from prejoin.workload.model import Entity, Model, Pattern, Read, Workload

from .grants import Grant, leading_keys, limits


class ContentUse(Model, frozen=True):
    """How the patterns of a role use one large attribute."""

    entity: str
    attribute: str
    reads: bool = False
    stores: bool = False
    removes: bool = False
    """Whether contents are replaced by `write_large` and deleted by `delete_large`, which no pattern calls."""

    @property
    def name(self) -> str:
        """`Document.body`."""
        return f"{self.entity}.{self.attribute}"


def content_uses(
    workload: Workload,
    design: Design,
    patterns: Sequence[Pattern],
    requests: Iterable[LiteralRequest],
    *,
    whole: bool = False,
) -> Iterator[ContentUse]:
    """The large attributes that patterns with these requests use.

    `whole` if they are the whole application, which uses all of them.
    """
    stored_contents = {request.content for request in requests if isinstance(request, PartRequest | ObjectRequest)}
    for entity in workload.entities:
        if not design.item(entity.name):
            continue
        read = {
            name
            for pattern in patterns
            if isinstance(pattern, Read)
            for name in _read_contents(pattern, entity, design)
        }
        for attribute in contents_of(entity):
            name = f"{entity.name}.{attribute.name}"
            use = ContentUse(entity.name, attribute.name, attribute.name in read, name in stored_contents)
            if whole:
                use = ContentUse(entity.name, attribute.name, reads=True, stores=True, removes=True)
            if use.reads or use.stores:
                yield use


def content_grants(uses: Iterable[ContentUse], design: Design) -> Iterator[Grant]:
    """The grants for contents in the table, beside those for the requests of patterns.

    Where contents are in a store now, there may be parts from before.
    """
    for use in uses:
        item = design.item(use.entity)
        assert item is not None  # one that is used
        keys = limits(leading_keys(item.facets[0].pk[0]))
        actions: list[str] = []
        if use.reads:
            # Parts, and the item again if its content was replaced meanwhile.
            actions += ["Query", "GetItem"]
        if use.removes:
            actions += ["UpdateItem", "BatchWriteItem"]
            if not design.in_store(use.entity, use.attribute):
                actions += ["PutItem"]
        for action in actions:
            yield Grant(action, keys=keys)


def object_actions(uses: Iterable[ContentUse], folders: Mapping[str, str]) -> dict[str, tuple[str, ...]]:
    """The actions of S3 on the objects of contents, by folder."""
    actions: dict[str, tuple[str, ...]] = {}
    for use in uses:
        folder = folders.get(use.name)
        if folder is not None:
            is_needed = {"DeleteObject": use.removes, "GetObject": use.reads, "PutObject": use.stores}
            actions[folder] = tuple(action for action, is_used in is_needed.items() if is_used)
    return actions


def content_folders(workload: Workload, design: Design) -> dict[str, str]:
    """The folder of the bucket, in that of the table, for each attribute whose contents are in the store."""
    constructs = added_in(workload, design)
    return {str(bound.item_name): folder for bound in constructs if (folder := bound.folder(design))}


def _read_contents(read: Read, entity: Entity, design: Design) -> Iterator[str]:
    """The large attributes of an entity in the results of a read."""
    operation = design.operation(read.id)
    for request in operation.requests if operation else ():
        if entity.name not in request.entities or request.count or request.counter:
            continue
        requested_names = {name.rpartition(".")[2] for name in request.attributes}
        slot = design.slot(request.slot)
        projected_names = None
        if slot is not None and slot.projection.kind is not ProjectionKind.ALL:
            projected_names = slot.projection.attributes
        for attribute in contents_of(entity):
            if (not requested_names or attribute.name in requested_names) and (
                projected_names is None or attribute.name in projected_names
            ):
                yield attribute.name
