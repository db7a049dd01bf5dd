"""Reads the Markdown document into a workload, with a diagnostic for each part that is not exact."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field, replace

from prejoin.diagnostics import in_order
from prejoin.workload import codes
from prejoin.workload.contents import with_contents
from prejoin.workload.document.columns import (
    Fields,
    KnownNames,
    TableCodes,
    TableKind,
    TableRow,
    known_names,
    normal,
    read_fields,
    read_rows,
)
from prejoin.workload.document.markdown import ListItem, MarkdownBlock, MarkdownSection, Text, whole_text
from prejoin.workload.document.read_entities import read_entity, report_misspelt, split_label
from prejoin.workload.document.sections import PATTERNS, DocumentCodes, DocumentDraft
from prejoin.workload.document.settle_names import settle
from prejoin.workload.document.tables import (
    COLLECTIONS,
    CONTEXT_LABELS,
    MEANING,
    NONE,
    PATTERN_TABLES,
    SECTIONS,
    TABLES,
    bare_label,
)
from prejoin.workload.document.unread_columns import PatternTable, report_unread_columns
from prejoin.workload.document.unread_lines import Region, report_unread_lines, without_comments
from prejoin.workload.grammar.statements import PIN_FIX, read_pin
from prejoin.workload.model import Combine, Context, Decision, Workload
from prejoin.workload.read_result import Path, WorkloadReading
from prejoin.workload.tenants import expand, move_places

_SECTIONS = KnownNames({**SECTIONS, "Notes and Decisions": ()})
_ANYWHERE = frozenset(TABLES) | {"Reads", "Context", "Entities", PATTERNS, "Decisions"}
"""Sections that are read at any level, because nothing that the author writes for people hides them."""
_PATTERN_COLUMNS = known_names(column for kind in PATTERN_TABLES for column in kind.columns)
_CONTEXT = known_names(CONTEXT_LABELS)
_CONTEXT_LABELS = {label.name: label for label in CONTEXT_LABELS}
_BARE_CONTEXT_LABEL = bare_label(CONTEXT_LABELS)
_TABLE_CODES = TableCodes(codes.COLUMN, codes.NO_COLUMN, codes.TOO_MANY_CELLS, codes.TOO_FEW_CELLS)
_PIN_WORDS = re.compile(
    r"\b(GSIs?|indexe?s?|under|lives?\s+with|keys?|cop(?:y|ies)|scan|filter|shards?|buckets?|structures?|minimi[sz]e"
    r"|second\s+request|scope|named)\b",
    re.IGNORECASE,
)


@dataclass(slots=True)
class _Document(DocumentDraft):
    """The state of reading access patterns."""

    context: Context | None = None
    texts: defaultdict[str, list[str]] = field(default_factory=lambda: defaultdict(list))
    """Parts of the overview and of the notes, by the field of the workload."""
    headings: dict[str, Text] = field(default_factory=dict)
    """The first heading of each known section."""
    tables: list[PatternTable] = field(default_factory=list)
    regions: list[Region] = field(default_factory=list)
    """The lines of each section, with the known section that they belong to."""

    noun = "document"
    codes = DocumentCodes(codes.UNREADABLE, codes.HEADING, codes.STATUS)
    known_sections = _SECTIONS
    header_line = re.compile(r"[>\s]*+(?:[-*]\s)?\s*+\**+([A-Za-z][\w \-]{0,40}?)\**+\s*+:\**+\s*+((?:.*\S)?)\s*\Z")

    def workload(self) -> Workload:
        fields: Fields = {name: tuple(parts) for name, parts in self.lists.items()}
        fields |= {name: "\n\n".join(parts) for name, parts in self.texts.items()}
        return Workload(
            title=self.title,
            status=self.status,
            context=self.context,
            header=self.header,
            prose=self.kept_prose,
            sections=tuple(self.sections),
            **fields,
        )

    def match_header(self, block: MarkdownBlock, is_below_title: bool) -> list[re.Match[str] | None]:
        """The match of each line that is a header line: in quotations, and in a block with a status."""
        matches = [self.header_line.match(line) for line in without_comments(block.raw).split("\n")]
        has_status = any(match and match[1].lower() == "status" for match in matches)
        if has_status or (is_below_title and block.kind == "quote"):
            return matches
        return [None] * len(matches)

    def read_header(self, name: str, text: Text) -> None:
        match name.lower():
            case "status":
                self.notes.mark_read(text.line)
                if not self.read_status(text):
                    self.header["Status"] = text.text
            case "tenant":
                self.notes.mark_read(text.line)
                self._read_tenant(text)
            case _:
                self.header[name] = text.text

    def _read_tenant(self, text: Text) -> None:
        """Read `> Tenant: tenantId`, which means the same as the line in the context."""
        fields = _CONTEXT_LABELS["Tenant"].read_text(text, ("context",), self.notes)
        if fields is None:
            self.header["Tenant"] = text.text
        else:
            self.context = Context(**fields)

    def stands_alone(self, section: MarkdownSection, above: str | None) -> bool:
        """Whether a deeper section is a known one, at the wrong level, and not a part of the section above it."""
        title = _SECTIONS.find(section.title.text)
        if above == "Entities":
            # `### Notes` may be an entity, and below an entity it is the author's own. No entity has a table of
            # patterns.
            return title in {*TABLES, PATTERNS} and _is_about_patterns(section)
        return title in _ANYWHERE


def read_document(source: str) -> WorkloadReading:
    """The workload in a document.

    >>> read_document("# Shop").workload.title
    'Shop'
    """
    document = _Document()
    notes = document.notes
    parts = document.parse(source)
    if parts is None:
        return WorkloadReading(Workload(), tuple(notes.diagnostics), notes.places)
    source, sections = parts
    for section, below in document.group(sections):
        _read_section(section, below, document)
    if not document.title:
        notes.say(codes.NO_TITLE, None, "the document has no title", "begin it with `# ` and the application's name")
    if all(diagnostic.code != codes.NO_COLUMN.id for diagnostic in notes.diagnostics):
        if not document.lists["entities"]:
            _report_missing("Entities", document)
        if not any(document.lists[kind.field] for kind in PATTERN_TABLES):
            _report_missing(PATTERNS, document)
    report_unread_columns(document.tables, document.workload(), notes)
    report_unread_lines(source, document.regions, notes)
    written_workload = with_contents(settle(document.workload()))
    workload = expand(written_workload)
    move_places(notes.places, written_workload, workload)
    return WorkloadReading(workload, in_order(notes.diagnostics), notes.places)


def _report_missing(name: str, document: _Document) -> None:
    """Report a required section that is missing or empty."""
    heading = document.headings.get(name)
    if heading is None:
        fix = f"add `## {name}`; `prejoin init` writes a document to start from"
        document.notes.say(codes.NO_SECTION, None, f"the document has no {name.lower()}", fix)
    elif name == "Entities":
        fix = "write a heading for each entity, `### Member`, and below it `- **Attributes**:` with a list"
        document.notes.say(codes.NO_SECTION, heading, f"no entity stands below `## {heading.text}`", fix)
    else:
        fix = "write `### Reads` and `### Writes`, with a table below each"
        document.notes.say(codes.NO_SECTION, heading, f"no table of patterns stands below `## {heading.text}`", fix)


def _is_about_patterns(section: MarkdownSection) -> bool:
    return _SECTIONS.find(section.title.text) == "Access Patterns" or any("|" in block.raw for block in section.blocks)


def _read_section(section: MarkdownSection, below: list[MarkdownSection], document: _Document) -> None:
    title = section.title
    last = below[-1].last if below else section.last
    known_title = _SECTIONS.find(title.text)
    document.regions.append(Region(title.line, last, known_title or document.last_seen, own=known_title is None))
    if document.is_front(section):
        document.read_front(section)
    elif known_title is None:
        _read_own_section(section, below, document)
    else:
        document.seen.append(known_title)
        document.headings.setdefault(known_title, title)
        _READERS[known_title](section, below, document)


def _read_own_section(section: MarkdownSection, below: list[MarkdownSection], document: _Document) -> None:
    """Keep a section of the author's own without reading it."""
    if near := _SECTIONS.near(section.title.text) or _begins_with_known(section.title.text):
        document.report_section(section.title, near, near)
    for part in (section, *below):
        _check_own_tables(part, section.title.text, document)
    document.keep_section(section, below)


def _begins_with_known(title: str) -> str | None:
    """The known section whose name a title begins with: `Decisions of the team`."""
    return next((name for name in sorted(_ANYWHERE) if normal(title).startswith(f"{name.lower()} ")), None)


def _check_own_tables(section: MarkdownSection, title: str, document: _Document) -> None:
    """The tables in a section of the author's own are not read. Tables of patterns are reported."""
    for block in section.blocks:
        if block.kind != "table":
            continue
        document.notes.mark_read(block.line, block.height)
        if {"ID", "Entity"} <= {_PATTERN_COLUMNS.find(cell.text) for cell in block.header}:
            message = f"the patterns below `{title}` are not read"
            fix = "put `### Reads`, `### Writes` or `### Deletes` above them"
        elif {"Group", "Entities", "Access Patterns"} <= {COLLECTIONS.names.find(cell.text) for cell in block.header}:
            message = f"the table below `{title}` is not read"
            fix = "put `## Item Collection Candidates` above it"
        else:
            continue
        document.notes.say(codes.STRAY_PATTERNS, block.first_line, message, fix)


def _read_texts(section: MarkdownSection, below: list[MarkdownSection], document: _Document) -> None:
    """Read a section that is text as a whole: the overview and the notes."""
    if text := whole_text(section, below):
        name = _SECTIONS.find(section.title.text)
        document.texts["notes" if name == "Notes" else "overview"].append(text)


# --- Context --------------------------------------------------------------------------------------------------------


def _read_context(section: MarkdownSection, below: list[MarkdownSection], document: _Document) -> None:
    fields: Fields = {"tenant": document.context.tenant if document.context else None}  # it may be below the title
    verbatim: dict[str, str] = {}
    for block in section.blocks:
        if block.kind != "list":
            document.keep("Context", block.raw)
            continue
        for item in block.items:
            label_and_text = split_label(item.text, _BARE_CONTEXT_LABEL)
            if label_and_text is None:
                document.keep("Context", item.as_line())
                continue
            title, text = label_and_text
            name = _CONTEXT.find(title.text)
            values = _CONTEXT_LABELS[name].read_text(text, ("context",), document.notes) if name else None
            if name is None:
                report_misspelt(title, _CONTEXT, _CONTEXT_LABELS, document.notes)
            if values is None:
                verbatim[name or title.text] = replace(item, text=text).flat()
            else:
                fields |= values
    for subsection in below:
        document.keep("Context", whole_text(subsection, []))
    document.context = Context(**fields, verbatim=verbatim)


# --- Entities and patterns ------------------------------------------------------------------------------------------


def _read_entities(section: MarkdownSection, below: list[MarkdownSection], document: _Document) -> None:
    for block in section.blocks:
        document.keep("Entities", block.raw)
    entities = document.lists["entities"]
    at = 0
    while at < len(below):
        head = below[at]
        at += 1
        deeper = []
        while at < len(below) and below[at].level > head.level:
            deeper.append(below[at])
            at += 1
        entities.append(read_entity(head, deeper, document.notes, ("entities", len(entities))))


def _read_access_patterns(section: MarkdownSection, below: list[MarkdownSection], document: _Document) -> None:
    for block in section.blocks:
        if block.kind == "table":
            fix = "put `### Reads`, `### Writes` or `### Deletes` above it"
            message = "this table does not say what kind of patterns it has"
            document.notes.say(codes.STRAY_PATTERNS, block.first_line, message, fix)
            document.notes.mark_read(block.line, block.height)
        document.keep(PATTERNS, block.raw)


def _read_tables(section: MarkdownSection, below: list[MarkdownSection], document: _Document) -> None:
    """Read a section of tables: of patterns, or of item collections."""
    title = document.last_seen
    kind = TABLES[title]
    for block in section.blocks:
        if block.kind != "table":
            document.keep(title, block.raw)
            continue
        document.notes.mark_read(block.line, block.height)
        rows = read_rows(block, kind, document.notes, _TABLE_CODES) or ()
        for row in rows:
            _read_row(row, kind, document)
        if kind is not COLLECTIONS:
            document.tables.append(PatternTable(kind, block))
        if block.rows and not rows:
            document.keep(title, block.raw)
    for subsection in below:
        _check_own_tables(subsection, subsection.title.text, document)
        document.keep(title, subsection.whole)


def _read_row(row: TableRow, kind: TableKind, document: _Document) -> None:
    notes = document.notes
    path: Path = (kind.field, len(document.lists[kind.field]))
    notes.places.mark(path, row.first)
    fields, inexact = read_fields(kind.columns, row, path, notes, NONE)
    if not MEANING.isdisjoint(inexact):
        notes.places.incomplete.add(path)
    if fields.get("combine") is True:
        fix = "write `Collection` (side by side under one id) or `Join` (the first names the second)"
        notes.say(codes.COMBINE_HOW, row.cells["Multi-Entity"], "`Yes` is read as `Collection`", fix, "Collection")
        fields["combine"] = Combine.COLLECTION
    elif fields.get("combine") is False:
        fields["combine"] = None
    if kind is not COLLECTIONS and not row.cells.get("Input Parameters"):
        fix = "write the attributes that the caller knows, or `-` for none"
        message = f"{fields.get('id') or 'this pattern'} does not say its inputs"
        notes.say(codes.NO_INPUTS, row.cells["ID"], message, fix)
    document.lists[kind.field].append(kind.row(**fields, verbatim={**row.own, **inexact}))


# --- Decisions ------------------------------------------------------------------------------------------------------


def _read_decisions(section: MarkdownSection, below: list[MarkdownSection], document: _Document) -> None:
    decisions = document.lists["decisions"]
    for block in section.blocks:
        if block.kind != "list":
            document.keep("Decisions", block.raw)
            continue
        for item in block.items:
            document.notes.places.mark(("decisions", len(decisions)), item.text)
            decision = _decision(item)
            decisions.append(decision)
            if decision.pin is not None:
                document.notes.mark_read(item.text.line)
            elif document.last_seen == "Decisions" and _PIN_WORDS.search(item.text.text):
                message = "this is kept as a note; the designer does not act on it"
                document.notes.say(codes.DECISION, item.text, message, PIN_FIX)
    for subsection in below:
        document.keep("Decisions", subsection.whole)


def _decision(item: ListItem) -> Decision:
    """The decision of a list item. What stands below it is a part of its reason."""
    below = item.flat().removeprefix(item.text.lines()).strip("\n")
    decision = read_decision(item.text.lines())
    if not below:
        return decision
    if decision.pin is None:
        return Decision(text=item.flat())
    return Decision(decision.pin, "\n".join(part for part in (decision.text, below) if part))


def read_decision(text: str) -> Decision:
    """A pin, a pin with its reason (`no copies - they drift`), or a note."""
    if pin := read_pin(text):
        return Decision(pin)
    for dash in (" - ", " – ", " — "):
        head, separator, tail = text.partition(dash)
        if separator and (pin := read_pin(head)):
            return Decision(pin, tail.strip())
    return Decision(text=text)


_READERS: dict[str, Callable[[MarkdownSection, list[MarkdownSection], _Document], None]] = {
    "Domain Overview": _read_texts,
    "Context": _read_context,
    "Entities": _read_entities,
    PATTERNS: _read_access_patterns,
    **dict.fromkeys(TABLES, _read_tables),
    "Decisions": _read_decisions,
    "Notes and Decisions": _read_decisions,
    "Notes": _read_texts,
}
