"""What patterns do with large contents: the requests for parts in the table, and the objects in the bucket.

A write that gives an item a content stores its parts or objects, by requests of its own. A content is read by
`read_large` from an item that a read returned. So a role may read contents if a read of its own returns them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from prejoin.constructs.registry import added_in
from prejoin.design.model import Design
from prejoin.design.requests.contents import returned_contents
from prejoin.design.requests.literal import LiteralRequest, ObjectRequest, PartRequest
from prejoin.workload.contents import contents_of
from prejoin.workload.model import Model, Pattern, Read, Workload

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
    runs_everything: bool = False,
) -> Iterator[ContentUse]:
    """The large attributes that patterns with these requests use.

    `runs_everything` if they are all patterns: the application uses all contents, also by functions of the client.
    """
    stored_contents = {request.content for request in requests if isinstance(request, PartRequest | ObjectRequest)}
    for entity in workload.entities:
        if not design.item(entity.name):
            continue
        read_contents: set[str] = set()
        for pattern in patterns:
            if isinstance(pattern, Read):
                read_contents.update(returned_contents(design.operation(pattern.id), entity, design))
        for attribute in contents_of(entity):
            name = f"{entity.name}.{attribute.name}"
            use = ContentUse(entity.name, attribute.name, attribute.name in read_contents, name in stored_contents)
            if runs_everything:
                use = ContentUse(entity.name, attribute.name, reads=True, stores=True, removes=True)
            if use.reads or use.stores:
                yield use


def content_grants(uses: Iterable[ContentUse], design: Design) -> Iterator[Grant]:
    """The grants for contents in the table, beside those for the requests of patterns.

    Where contents are in a store now, there may be parts from before: the whole application reads these, too.
    """
    for use in uses:
        item = design.item(use.entity)
        assert item is not None  # `content_uses` leaves out entities that the design does not store
        keys = limits(leading_keys(item.facets[0].pk[0]))
        actions: list[str] = []
        if use.reads:
            # The item again, if its content was replaced meanwhile, and parts.
            actions += ["GetItem"]
            if use.removes or not design.in_store(use.entity, use.attribute):
                actions += ["Query"]
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
    folders: dict[str, str] = {}
    for bound in constructs:
        # Contents that are in parts in the table have no folder.
        if folder := bound.folder(design):
            folders[str(bound.item_name)] = folder
    return folders
