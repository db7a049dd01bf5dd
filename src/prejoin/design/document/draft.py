"""The state of reading a table-design document, and the design and annotations built from it."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from prejoin.design import codes
from prejoin.design.document import headings
from prejoin.design.document.annotations import Annotations, DesignReading, Validation
from prejoin.design.document.cells import (
    read_billing,
    read_code,
    read_key,
    read_optional,
    read_prose,
    read_separator,
)
from prejoin.design.model import TABLE, Choice, ContentStore, Counter, Design, Facet, Guard, Item, KeyAttribute, Slot
from prejoin.diagnostics import in_order
from prejoin.workload.document.markdown import MarkdownBlock, Text
from prejoin.workload.document.tables import TableCodes, TableRow, read_rows
from prejoin.workload.grammar.answers import read_yes_no
from prejoin.workload.model import Section, Status
from prejoin.workload.read_result import Notes, Path

T = TypeVar("T")
_SAY = TableCodes(codes.NEAR, codes.NO_COLUMN, codes.TOO_MANY_CELLS)
_GENERATED = frozenset(
    re.sub(r"\s+", " ", text)
    for text in (
        *headings.INTRODUCTIONS.values(),
        *headings.FORMER_INTRODUCTIONS,
        headings.NO_INDEXES,
        headings.NOT_CHECKED,
        headings.SAMPLE,
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
class DesignDraft:
    """A design under construction."""

    notes: Notes = field(default_factory=Notes)
    title: str = ""
    status: Status | None = None
    source: str = ""
    keeps: str = ""
    header: dict[str, str] = field(default_factory=dict)
    settings: dict[str, Text] = field(default_factory=dict)
    own_settings: dict[str, str] = field(default_factory=dict)
    indexes: list[Slot] = field(default_factory=list)
    items: list[ItemDraft] = field(default_factory=list)
    guards: list[Guard] = field(default_factory=list)
    counters: list[Counter] = field(default_factory=list)
    stores: list[ContentStore] = field(default_factory=list)
    decisions: list[Choice] = field(default_factory=list)
    validation: list[Validation] = field(default_factory=list)
    mapped: dict[str, list[TableRow]] = field(default_factory=dict)
    """The table rows of each pattern."""
    tables: set[str] = field(default_factory=set)
    """Which of the tables Reads, Writes and Deletes exist."""
    prose: dict[str, list[str]] = field(default_factory=dict)
    cells: dict[str, dict[str, str]] = field(default_factory=dict)
    sections: list[Section] = field(default_factory=list)
    seen: list[str] = field(default_factory=list)

    def keep(self, place: str, text: str) -> None:
        if text.strip() and re.sub(r"\s+", " ", text.strip()) not in _GENERATED:
            self.prose.setdefault(place, []).append(text.strip("\n"))

    def rows(self, block: MarkdownBlock, place: str, columns: Sequence[str], *must: str) -> tuple[TableRow, ...] | None:
        """The rows of a known table. A table without any of its columns is the author's own, and kept."""
        known = headings.names(*columns)
        if not any(known.find(cell.text) or known.near(cell.text) for cell in block.header):
            self.keep(place, block.raw)
            return ()
        found = read_rows(block, known, must, self.notes, _SAY)
        if found is None:
            self.keep(place, block.raw)
        return found

    def own(self, place: str, name: str, row: TableRow) -> None:
        if row.own:
            self.cells.setdefault(f"{place}/{name}", {}).update(row.own)

    def cell(self, row: TableRow, column: str, path: Path, read: Callable[[str], T], default: T) -> T:
        return self._read(row.cells.get(column), path, read, default)

    def stored(self, entity: str, copy: str, title: Text) -> tuple[ItemDraft, Path]:
        for at, item in enumerate(self.items):
            if (item.entity, item.copy) == (entity, copy):
                return item, ("items", at)
        self.items.append(ItemDraft(entity, copy))
        path = ("items", len(self.items) - 1)
        self.notes.places.mark(path, title)
        return self.items[-1], path

    def reading(self) -> DesignReading:
        design = self._design()
        if not self.items and not any(d.code == codes.UNREADABLE.id for d in self.notes.diagnostics):
            fix = "add `## Keys` and below it a `###` for each entity, with a table of its keys"
            self.notes.say(codes.NO_SECTION, None, "the design has no keys", fix)
        kept = Annotations(
            title=self.title,
            status=self.status,
            source=self.source,
            keeps=self.keeps,
            header=self.header,
            settings=self.own_settings,
            prose={place: "\n\n".join(texts) for place, texts in self.prose.items()},
            cells=self.cells,
            sections=tuple(self.sections),
            validation=tuple(self.validation),
        )
        return DesignReading(design, in_order(self.notes.diagnostics), self.notes.places, kept)

    def _design(self) -> Design:
        base = Slot(
            TABLE,
            self._setting("Partition key", ("slots", 0, "pk"), read_key, (KeyAttribute("pk"),)),
            self._setting("Sort key", ("slots", 0, "sk"), read_key, (KeyAttribute("sk"),)),
            purpose=self._setting("Purpose", ("slots", 0, "purpose"), read_prose, ""),
        )
        if "Table name" not in self.settings and not any(d.code == codes.UNREADABLE.id for d in self.notes.diagnostics):
            fix = "add `## Table Configuration` with a table: `| Setting | Value |`, `` | Table name | `shop` | ``"
            self.notes.say(codes.NO_SECTION, None, "the design does not name its table", fix)
        plain = Design("")
        return Design(
            table=self._setting("Table name", ("table",), read_code, ""),
            slots=(base, *self.indexes),
            items=tuple(item.item() for item in self.items),
            guards=tuple(self.guards),
            counters=tuple(self.counters),
            stores=tuple(self.stores),
            type_attribute=self._setting("Type attribute", ("type_attribute",), read_code, plain.type_attribute),
            separator=self._setting("Separator", ("separator",), read_separator, plain.separator),
            raw_keys=self._setting("Raw keys", ("raw_keys",), read_yes_no, plain.raw_keys),
            ttl_attribute=self._setting("TTL attribute", ("ttl_attribute",), read_optional, ""),
            billing=self._setting("Billing mode", ("billing",), read_billing, plain.billing),
            decisions=tuple(self.decisions),
        )

    def _setting(self, name: str, path: Path, read: Callable[[str], T], default: T) -> T:
        return self._read(self.settings.get(name), path, read, default)

    def _read(self, cell: Text | None, path: Path, read: Callable[[str], T], default: T) -> T:
        """The value of a cell; the default if it is empty, or cannot be read."""
        if not cell:
            return default
        self.notes.places.mark(path, cell)
        found = self.notes.attempt(codes.CELL, cell, read)
        return default if found is None else found
