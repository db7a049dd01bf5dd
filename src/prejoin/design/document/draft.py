"""The state of reading a table-design document, and the design and annotations built from it."""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import dataclass, field
from typing import Any

from prejoin.design import codes
from prejoin.design.document import headings
from prejoin.design.document.annotations import Annotations, DesignReading
from prejoin.design.document.tables import SETTINGS, SLOT_SETTINGS
from prejoin.design.model import TABLE, Design, Facet, Item, ItemName, KeyAttribute, Slot
from prejoin.diagnostics import in_order
from prejoin.workload.document.columns import (
    Fields,
    KnownNames,
    TableCodes,
    TableKind,
    TableRow,
    read_fields,
    read_rows,
)
from prejoin.workload.document.markdown import MarkdownBlock, Text
from prejoin.workload.document.sections import DocumentCodes, DocumentDraft
from prejoin.workload.read_result import Path

_TABLE_CODES = TableCodes(codes.NEAR, codes.NO_COLUMN, codes.TOO_MANY_CELLS)
_GENERATED = frozenset(
    re.sub(r"\s+", " ", text)
    for text in (
        *headings.INTRODUCTIONS.values(),
        *headings.FORMER_INTRODUCTIONS,
        headings.NO_INDEXES,
        headings.NOT_CHECKED,
        headings.SAMPLE,
        headings.REPEATED,
        headings.READ_CONTENTS,
    )
)


@dataclass(slots=True)
class ItemDraft:
    """An item under construction."""

    entity: str
    copy: str
    tag: str | None = None
    attributes: tuple[str, ...] = ()
    known: tuple[str, ...] = ()
    facets: list[Facet] = field(default_factory=list)

    def item(self) -> Item:
        tag = self.tag if self.tag is not None else f"{self.entity}.{self.copy}" if self.copy else self.entity
        return Item(self.entity, tag, tuple(self.facets), self.copy, self.attributes, self.known)


@dataclass(slots=True)
class DesignDraft(DocumentDraft):
    """A design under construction."""

    source: str = ""
    keeps: str = ""
    settings: dict[str, Text] = field(default_factory=dict)
    own_settings: dict[str, str] = field(default_factory=dict)
    items: list[ItemDraft] = field(default_factory=list)
    mapped: dict[str, list[TableRow]] = field(default_factory=dict)
    """The table rows of each pattern."""
    added_rows: dict[ItemName, TableRow] = field(default_factory=dict)
    """The rows of guards and counters."""
    construct_rows: defaultdict[str, list[TableRow]] = field(default_factory=lambda: defaultdict(list))
    """The rows of a construct's section, by its title."""
    tables: set[str] = field(default_factory=set)
    """Which of the tables Reads, Writes and Deletes exist."""
    cells: defaultdict[str, dict[str, str]] = field(default_factory=lambda: defaultdict(dict))
    """Cells in the author's own columns, by section and row."""

    noun = "design"
    codes = DocumentCodes(codes.UNREADABLE, codes.HEADING, codes.STATUS)
    known_sections = KnownNames({title: headings.synonyms(title) for title in headings.SECTIONS})
    header_line = re.compile(r"\s*+>?\s*+\**+([A-Za-z][\w \-]{0,40}?)\**+\s*+:\**+\s*+((?:.*\S)?)\s*\Z")

    def keep(self, place: str, text: str) -> None:
        """Keep text of the author's own, which no design generates."""
        if re.sub(r"\s+", " ", text.strip()) not in _GENERATED:
            super(DesignDraft, self).keep(place, text.strip("\n"))

    def read_header(self, name: str, text: Text) -> None:
        match name.lower():
            case "status":
                self.read_status(text)
            case "access patterns":
                self.source = text.text
            case "keeps":
                self.keeps = text.text
            case "summary":
                pass  # it is counted again
            case _:
                self.header[name] = text.text

    def rows(self, block: MarkdownBlock, place: str, kind: TableKind) -> tuple[TableRow, ...]:
        """The rows of a known table. A table without any of its columns is the author's own, and kept."""
        if not any(kind.names.find(cell.text) or kind.names.near(cell.text) for cell in block.header):
            self.keep(place, block.raw)
            return ()
        rows = read_rows(block, kind, self.notes, _TABLE_CODES)
        if rows is None:
            self.keep(place, block.raw)
        return rows or ()

    def read_row(self, row: TableRow, kind: TableKind, path: Path) -> Any:
        """The object of a row, by its path in the design."""
        self.notes.places.mark(path, row.first)
        fields, _ = read_fields(kind.columns, row, path, self.notes)
        return kind.row(**fields)

    def keep_cells(self, row: TableRow, place: str, name: str) -> None:
        """Keep the cells of a row in the author's own columns."""
        if row.own:
            self.cells[f"{place}/{name}"] |= row.own

    def item_named(self, entity: str, copy: str, title: Text) -> tuple[ItemDraft, Path]:
        """The item of an entity, or a copy of it, with its path. It is new if it is not there yet."""
        for number, item in enumerate(self.items):
            if (item.entity, item.copy) == (entity, copy):
                return item, ("items", number)
        self.items.append(ItemDraft(entity, copy))
        path = ("items", len(self.items) - 1)
        self.notes.places.mark(path, title)
        return self.items[-1], path

    def reading(self) -> DesignReading:
        is_readable = all(diagnostic.code != codes.UNREADABLE.id for diagnostic in self.notes.diagnostics)
        if is_readable and "Table name" not in self.settings:
            fix = "add `## Table Configuration` with a table: `| Setting | Value |`, `` | Table name | `shop` | ``"
            self.notes.say(codes.NO_SECTION, None, "the design does not name its table", fix)
        if is_readable and not self.items:
            fix = "add `## Keys` and below it a `###` for each entity, with a table of its keys"
            self.notes.say(codes.NO_SECTION, None, "the design has no keys", fix)
        design = self._design()
        annotations = Annotations(
            title=self.title,
            status=self.status,
            source=self.source,
            keeps=self.keeps,
            header=self.header,
            settings=self.own_settings,
            prose=self.kept_prose,
            cells=dict(self.cells),
            sections=tuple(self.sections),
            validation=tuple(self.lists["validation"]),
        )
        return DesignReading(design, in_order(self.notes.diagnostics), self.notes.places, annotations)

    def _design(self) -> Design:
        base: Fields = {"pk": (KeyAttribute("pk"),), "sk": (KeyAttribute("sk"),)}
        fields: Fields = {"table": ""}
        for setting in SETTINGS:
            text = self.settings.get(setting.name)
            if not text:
                continue
            if setting in SLOT_SETTINGS:
                base |= setting.read_text(text, ("slots", 0), self.notes) or {}
            else:
                fields |= setting.read_text(text, (), self.notes) or {}
        return Design(
            slots=(Slot(TABLE, **base), *self.lists["slots"]),
            items=tuple(item.item() for item in self.items),
            guards=tuple(self.lists["guards"]),
            counters=tuple(self.lists["counters"]),
            stores=tuple(self.lists["stores"]),
            decisions=tuple(self.lists["decisions"]),
            **fields,
        )
