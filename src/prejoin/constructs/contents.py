"""Large contents: a value that no item is large enough for is in pieces beside its item, which refers to it.

    - `body` (binary, mutable, 2 MB)

The pieces are parts of 240 KB in the item's collection or, where the design has a store for them, objects of 8 MB. A
write that gives the item a content stores the pieces first, and then the item with a reference. So a reader finds the
old content or the new one. No write deletes pieces. Those of a content that was replaced, whose item was deleted, or
whose item could not be written, are deleted by `remove_garbage` of the client.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Set
from dataclasses import dataclass

from prejoin.constructs.construct import (
    AddedConstruct,
    ContentPieces,
    DeclaredConstruct,
    ExpectedPiece,
    SchemaCall,
    Usage,
)
from prejoin.design.model import Design, ItemName
from prejoin.keys import Facet, Template, TemplateError, fields_of
from prejoin.keys.content import INLINE, OBJECT_SIZE, PART, PART_SIZE, UPLOAD, object_folder, part_facet, part_sort_key
from prejoin.workload.contents import contents_of, typical_size
from prejoin.workload.field_names import field_names
from prejoin.workload.model import Attribute, Entity, Verb

BESIDE_PART = 300
"""Bytes of a part beside its content: its key, and the item that it is for."""
_UPLOAD = "01K9ZV1Q"
"""The id of an upload, for samples."""


def large_contents_of(entity: Entity, design: Design, lines: tuple[DeclaredConstruct, ...]) -> Iterator[LargeContent]:
    """The large contents of an entity, in parts or in the design's store."""
    for attribute in contents_of(entity):
        yield LargeContent(entity, lines, attribute)


def content_count(attribute: Attribute, lines: Iterable[DeclaredConstruct], usage: Usage) -> float:
    """How many contents are referred to: by the items, and by the earlier versions that replaced one."""
    replaced_items = usage.written(Verb.UPDATE, Verb.DELETE)
    if not replaced_items:
        return usage.count
    # A version has the content of the next one, unless the write that replaced it gave the item another content.
    share = usage.replaced(attribute.name) / replaced_items
    total = usage.count
    for line in lines:
        if line.keeps_contents:
            total += share * line.stored_count(usage)
    return total


def part_count(size: int) -> int:
    """The parts of one content in the table.

    >>> part_count(100_000), part_count(1_000_000)
    (1, 5)
    """
    return -(-size // PART_SIZE)


def part_size(size: int) -> int:
    """The bytes of a part of a content, on average."""
    return -(-size // part_count(size)) + BESIDE_PART


@dataclass(frozen=True, slots=True)
class LargeContent(AddedConstruct):
    """An attribute of an entity whose content is in pieces beside the item."""

    attribute: Attribute

    # Writes

    def prepare(self, written: Set[str], design: Design) -> Iterator[ContentPieces]:
        if self.attribute.name not in written:
            return
        name = str(self.item_name)
        if folder := self.folder(design):
            yield ContentPieces(name, INLINE, OBJECT_SIZE, folder=folder)
        else:
            yield ContentPieces(name, INLINE, PART_SIZE, sk=self._sort_key(design).text, tag=self.tag(design))

    # The design

    def _is_in_store(self, design: Design) -> bool:
        return design.in_store(self.entity.name, self.attribute.name)

    @property
    def _field(self) -> str:
        """The field of the attribute, by which the client stores its pieces."""
        names: dict[str, str] | None = self.entity.memo.get("fields")
        if names is None:
            names = field_names(self.entity)
            self.entity.memo["fields"] = names
        return names[self.attribute.name]

    @property
    def item_name(self) -> ItemName:
        return ItemName(self.entity.name, content=self.attribute.name)

    def folder(self, design: Design) -> str:
        if not self._is_in_store(design):
            return ""
        item = design.item(self.entity.name)
        assert item is not None  # the entity of a construct has an item
        return object_folder(item.tag, self._field)

    def beside(self, item: Facet, design: Design) -> Iterator[Facet]:
        own = design.item(self.entity.name)
        if own is not None and item.sk is not None:
            sorting = item.sk.attributes
            yield part_facet(own.tag, self._field, item.pk, sorting, self.entity.types, design.separator)

    def templates(self, design: Design) -> tuple[Template, ...]:
        item = design.item(self.entity.name)
        if item is None or self._is_in_store(design):
            return ()
        base = item.facets[0] if item.facets else None
        if base is None or len(base.pk) != 1 or not base.sk:
            raise TemplateError(f"a part of {self.item_name} is in no partition with a template")
        (pk,) = base.pk
        memo_key = ("content partition", pk, design.separator)
        partition: Template | None = self.entity.memo.get(memo_key)
        if partition is None:  # the solver maps thousands of designs of the same few contents
            partition = Template.of(pk, self.entity.types, design.separator)
            self.entity.memo[memo_key] = partition
        return partition, self._sort_key(design)

    def _sort_key(self, design: Design) -> Template:
        item = design.item(self.entity.name)
        assert item is not None  # the entity of a construct has an item
        pk, sk = item.facets[0].pk, item.facets[0].sk
        memo_key = ("content", self.attribute.name, item.tag, pk, sk, design.separator)
        key: Template | None = self.entity.memo.get(memo_key)
        if key is None:
            partition = [name for text in pk for name in fields_of(text)]
            sorting = [name for text in sk for name in fields_of(text)]
            key = part_sort_key(item.tag, self._field, partition, sorting, self.entity.types, design.separator)
            self.entity.memo[memo_key] = key
        return key

    @property
    def sample(self) -> Mapping[str, object]:
        return {UPLOAD: _UPLOAD, PART: 0}

    @property
    def has_own_word(self) -> bool:
        return True

    def tag(self, design: Design) -> str:
        return f"part {self._field}"

    @property
    def item_size(self) -> int:
        return part_size(typical_size(self.attribute))

    @property
    def size_words(self) -> str:
        return ""  # it follows from the size of the content

    def stored_count(self, usage: Usage) -> float:
        return content_count(self.attribute, self.declared, usage) * part_count(typical_size(self.attribute))

    # Renderings

    @property
    def note(self) -> str:
        return f"part of {self.attribute.name}"

    def schema_calls(self, design: Design, twins: Iterable[str]) -> Iterator[SchemaCall]:
        variables = ("store",) if self._is_in_store(design) else ()
        options = [("twin", copy) for copy in twins]
        yield SchemaCall("Large", (self.attribute.name,), variables=variables, options=tuple(options))

    # The proof

    def kept_pieces(self, upload: str, data: bytes, design: Design) -> Iterator[ExpectedPiece]:
        if self._is_in_store(design):
            return
        pk, sk = self.templates(design)
        for number, start in enumerate(range(0, len(data), PART_SIZE)):
            fields = {UPLOAD: upload, PART: number}
            yield ExpectedPiece(pk, sk, f"part {self._field}", fields, data[start : start + PART_SIZE])
