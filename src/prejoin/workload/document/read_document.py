"""Reads the Markdown document into a workload, with a diagnostic for each part that is not exact."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from prejoin.diagnostics import in_order
from prejoin.workload import codes
from prejoin.workload.contents import with_contents
from prejoin.workload.document.markdown import DocumentTooLargeError, ListItem, MarkdownSection, Text, parse, whole_text
from prejoin.workload.document.read_entities import read_entity, split_label
from prejoin.workload.document.read_patterns import read_table
from prejoin.workload.document.settle_names import settle
from prejoin.workload.document.tables import COLLECTIONS, CONTEXT_LABELS, READS, SECTIONS, WRITES, KnownNames, normal
from prejoin.workload.document.unread_columns import PatternTable, report_unread_columns
from prejoin.workload.document.unread_lines import Region, report_unread_lines, without_comments
from prejoin.workload.grammar.answers import read_yes_no
from prejoin.workload.grammar.lexer import Inexact
from prejoin.workload.grammar.quantities import read_count
from prejoin.workload.grammar.statements import PIN_FIX, read_pin, read_tenant
from prejoin.workload.model import (
    Context,
    Decision,
    Entity,
    Experience,
    ItemCollection,
    Read,
    Section,
    Stability,
    Stage,
    Status,
    Workload,
    Write,
)
from prejoin.workload.read_result import Notes, WorkloadReading
from prejoin.workload.tenants import expand, move_places

MOST_CHARACTERS = 2_000_000
_SECTIONS = KnownNames((*SECTIONS, "Notes and Decisions"))
_TABLES = {"Reads", "Writes", "Deletes"}
_ANYWHERE = _TABLES | {"Context", "Entities", "Access Patterns", "Item Collection Candidates", "Decisions"}
"""Sections that are read at any level, because nothing that the author writes for people hides them."""
_PATTERN_COLUMNS = KnownNames((*READS, *WRITES))
_COLLECTION_COLUMNS = KnownNames(COLLECTIONS)
_CONTEXT = KnownNames(CONTEXT_LABELS)
_BARE_CONTEXT_LABEL = re.compile(
    rf"[*_]{{0,2}}({'|'.join(CONTEXT_LABELS)})(?:[*_]{{0,2}}\s*:[*_]{{0,2}}|[*_]{{1,2}})\s*", re.IGNORECASE
)
_HEADER_LINE = re.compile(r"[>\s]*+(?:[-*]\s)?\s*+\**+([A-Za-z][\w \-]{0,40}?)\**+\s*+:\**+\s*+((?:.*\S)?)\s*\Z")
_PIN_WORDS = re.compile(
    r"\b(GSIs?|indexe?s?|under|lives?\s+with|keys?|cop(?:y|ies)|scan|filter|shards?|buckets?|structures?|minimi[sz]e"
    r"|second\s+request|scope|named)\b",
    re.IGNORECASE,
)


@dataclass(slots=True)
class _Document:
    """The state of reading."""

    notes: Notes = field(default_factory=Notes)
    title: str = ""
    status: Status | None = None
    overview: list[str] = field(default_factory=list)
    context: Context | None = None
    entities: list[Entity] = field(default_factory=list)
    reads: list[Read] = field(default_factory=list)
    writes: list[Write] = field(default_factory=list)
    deletes: list[Write] = field(default_factory=list)
    collections: list[ItemCollection] = field(default_factory=list)
    decisions: list[Decision] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)
    header: dict[str, str] = field(default_factory=dict)
    prose: dict[str, list[str]] = field(default_factory=dict)
    sections: list[Section] = field(default_factory=list)
    seen: list[str] = field(default_factory=list)
    """The known sections so far, in order."""
    headings: dict[str, Text] = field(default_factory=dict)
    """The first heading of each of them."""
    tables: list[PatternTable] = field(default_factory=list)
    regions: list[Region] = field(default_factory=list)
    """The lines of each section, with the known section that they belong to."""

    def keep(self, place: str, text: str) -> None:
        if text.strip():
            self.prose.setdefault(place, []).append(text)

    def workload(self) -> Workload:
        return Workload(
            title=self.title,
            status=self.status,
            overview="\n\n".join(self.overview),
            context=self.context,
            entities=tuple(self.entities),
            reads=tuple(self.reads),
            writes=tuple(self.writes),
            deletes=tuple(self.deletes),
            collections=tuple(self.collections),
            decisions=tuple(self.decisions),
            notes="\n\n".join(self.remarks),
            header=self.header,
            prose={place: "\n\n".join(texts) for place, texts in self.prose.items()},
            sections=tuple(self.sections),
        )


def read_document(source: str) -> WorkloadReading:
    """The workload in a document.

    >>> read_document("# Shop").workload.title
    'Shop'
    """
    document = _Document()
    notes = document.notes
    source = source.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")
    if len(source) > MOST_CHARACTERS or "\0" in source:
        problem = "is not text" if "\0" in source else f"has more than {MOST_CHARACTERS:,} characters"
        notes.say(codes.UNREADABLE, None, f"the document {problem}", "see `prejoin explain PJ100`")
        return WorkloadReading(Workload(), tuple(notes.diagnostics), notes.places)
    try:
        sections = parse(source)
    except DocumentTooLargeError as problem:
        notes.say(codes.UNREADABLE, problem.where, str(problem), "split it; see `prejoin explain PJ100`")
        return WorkloadReading(Workload(), tuple(notes.diagnostics), notes.places)
    for section, below in _grouped(sections):
        _section(section, below, document)
    if not document.title:
        notes.say(codes.NO_TITLE, None, "the document has no title", "begin it with `# ` and the application's name")
    for name, found in (
        ("Entities", document.entities),
        ("Access Patterns", document.reads or document.writes or document.deletes),
    ):
        if not found and not any(d.code == codes.NO_COLUMN.id for d in notes.diagnostics):
            _missing(name, document)
    report_unread_columns(document.tables, document.workload(), notes)
    report_unread_lines(source, document.regions, notes)
    written = with_contents(settle(document.workload()))
    workload = expand(written)
    move_places(notes.places, written, workload)
    return WorkloadReading(workload, in_order(notes.diagnostics), notes.places)


def _missing(name: str, document: _Document) -> None:
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


def _grouped(sections: tuple[MarkdownSection, ...]) -> Iterator[tuple[MarkdownSection, list[MarkdownSection]]]:
    """Sections with their subsections."""
    at = 0
    while at < len(sections):
        section = sections[at]
        at += 1
        below = []
        known = _SECTIONS.find(section.title.text)
        if section.level >= 2 and known != "Access Patterns":
            while at < len(sections) and sections[at].level > section.level:
                if _stands_alone(sections[at], known):
                    break
                below.append(sections[at])
                at += 1
        yield section, below


def _stands_alone(section: MarkdownSection, above: str | None) -> bool:
    """Whether a deeper section is a known one, at the wrong level, and not a part of the section above it."""
    title = _SECTIONS.find(section.title.text)
    if above == "Entities":
        # `### Notes` may be an entity, and below an entity it is the author's own. No entity has a table of patterns.
        return title in (_TABLES | {"Access Patterns", "Item Collection Candidates"}) and _is_about_patterns(section)
    return title in _ANYWHERE


def _is_about_patterns(section: MarkdownSection) -> bool:
    return _SECTIONS.find(section.title.text) == "Access Patterns" or any("|" in block.raw for block in section.blocks)


def _section(section: MarkdownSection, below: list[MarkdownSection], document: _Document) -> None:
    title = section.title
    last = below[-1].last if below else section.last
    name = _SECTIONS.find(title.text) or (document.seen[-1] if document.seen else "")
    document.regions.append(Region(title.line, last, name, own=_SECTIONS.find(title.text) is None))
    if section.level == 0 or (section.level == 1 and not document.title and not document.seen):
        _front(section, document)
        return
    known = _SECTIONS.find(title.text)
    if known is None:
        _own(section, below, document)
        return
    document.seen.append(known)
    document.headings.setdefault(known, title)
    handlers: dict[str, Callable[[MarkdownSection, list[MarkdownSection], _Document], None]] = {
        "Domain Overview": _overview,
        "Context": _context,
        "Entities": _entities,
        "Access Patterns": _access_patterns,
        "Item Collection Candidates": _patterns,
        "Decisions": _decisions,
        "Notes and Decisions": _decisions,
        "Notes": _remarks,
    }
    handlers.get(known, _patterns)(section, below, document)


def _own(section: MarkdownSection, below: list[MarkdownSection], document: _Document) -> None:
    """Keep a section of the author's own without reading it."""
    if near := _SECTIONS.near(section.title.text) or _begins_with_known(section.title.text):
        message = f"the section `{section.title.text}` is not read"
        document.notes.say(codes.HEADING, section.title, message, f"did you mean `{near}`?", near)
    for part in (section, *below):
        _own_tables(part, section.title.text, document)
    after = document.seen[-1] if document.seen else ""
    document.sections.append(Section(section.title.text, whole_text(section, below), after, max(section.level, 2)))


def _begins_with_known(title: str) -> str | None:
    """The known section whose name a title begins with: `Decisions of the team`."""
    return next((name for name in sorted(_ANYWHERE) if normal(title).startswith(f"{name.lower()} ")), None)


def _own_tables(section: MarkdownSection, title: str, document: _Document) -> None:
    """The tables in a section of the author's own are not read. Tables of patterns are reported."""
    for block in section.blocks:
        if block.kind != "table":
            continue
        document.notes.mark_read(block.line, block.height)
        columns = {_PATTERN_COLUMNS.find(cell.text) for cell in block.header}
        collections = {_COLLECTION_COLUMNS.find(cell.text) for cell in block.header}
        if {"ID", "Entity"} <= columns or {"Group", "Entities", "Access Patterns"} <= collections:
            where = Text(block.raw.split("\n")[0], block.line, 1)
            fix = "put `### Reads`, `### Writes` or `### Deletes` above them"
            message = f"the patterns below `{title}` are not read"
            if "ID" not in columns:
                fix = "put `## Item Collection Candidates` above it"
                message = f"the table below `{title}` is not read"
            document.notes.say(codes.STRAY_PATTERNS, where, message, fix)


def _front(section: MarkdownSection, document: _Document) -> None:
    """The title, and the header lines below it: `> Status: DRAFT`."""
    if section.level == 1:
        document.title = section.title.text
        document.notes.places.mark(("title",), section.title)
    for block in section.blocks:
        lines = [(block.line + i, line) for i, line in enumerate(block.raw.split("\n"))]
        uncommented = without_comments(block.raw).split("\n")
        matches = [(block.line + i, _HEADER_LINE.match(line)) for i, line in enumerate(uncommented)]
        has_status = any(m and m[1].lower() == "status" for _, m in matches)
        if not has_status and (section.level == 0 or block.kind != "quote"):
            document.keep("front", block.raw)
            continue
        left = []
        for (number, line), (_, match) in zip(lines, matches, strict=True):
            if match is None:
                left.append(line)
            elif match[1].lower() == "status":
                document.notes.mark_read(number)
                _status(Text(match[2], number, match.start(2) + 1), document)
            elif match[1].lower() == "tenant":
                document.notes.mark_read(number)
                _tenant(Text(match[2], number, match.start(2) + 1), document)
            else:
                document.header[match[1]] = match[2]
        document.keep("front", "\n".join(left))


def _status(text: Text, document: _Document) -> None:
    try:
        document.status = Status(text.text.strip("*_` ").upper())
    except ValueError:
        message = f"`{text.text}` is not a status"
        document.notes.say(codes.STATUS, text, message, "write `DRAFT`, `REVIEWED` or `APPROVED`")
        document.header["Status"] = text.text


def _tenant(text: Text, document: _Document) -> None:
    """`> Tenant: tenantId` below the title means the same as the line in the context."""
    document.notes.places.mark(("context", "tenant"), text)
    tenant = document.notes.attempt(codes.TENANTS, text, read_tenant)
    if tenant is None:
        document.header["Tenant"] = text.text
    else:
        document.context = Context(tenant=tenant)


def _overview(section: MarkdownSection, below: list[MarkdownSection], document: _Document) -> None:
    if raw := whole_text(section, below):
        document.overview.append(raw)


def _remarks(section: MarkdownSection, below: list[MarkdownSection], document: _Document) -> None:
    if raw := whole_text(section, below):
        document.remarks.append(raw)


# --- Context --------------------------------------------------------------------------------------------------------


def _context(section: MarkdownSection, below: list[MarkdownSection], document: _Document) -> None:
    fields: dict[str, object] = {}
    verbatim: dict[str, str] = {}
    for block in section.blocks:
        if block.kind != "list":
            document.keep("Context", block.raw)
            continue
        for item in block.items:
            labelled = split_label(item.text, _BARE_CONTEXT_LABEL)
            if labelled is None:
                document.keep("Context", "- " + item.flat().replace("\n", "<br>"))
                continue
            _context_line(labelled[0], labelled[1], item, fields, verbatim, document)
    for extra in below:
        document.keep("Context", whole_text(extra, []))
    above = document.context  # the tenant may be below the title
    fields.setdefault("tenant", above.tenant if above else None)
    document.context = Context(**fields, verbatim=verbatim)  # type: ignore[arg-type]


def _context_line(
    title: Text,
    text: Text,
    item: ListItem,
    fields: dict[str, object],
    verbatim: dict[str, str],
    document: _Document,
) -> None:
    label = _CONTEXT.find(title.text)
    if label is None:
        if near := _CONTEXT.near(title.text):
            code = codes.LABEL.as_error if near == "Tenant" else codes.LABEL
            document.notes.say(code, title, f"`{title.text}` is not read", f"did you mean `{near}`?", near)
    else:
        document.notes.places.mark(("context", _FIELDS[label][0]), text)
        # Ignoring a tenant line would give a table without tenants.
        code = codes.TENANTS if label == "Tenant" else codes.WORDING
        value = document.notes.attempt(code, text, _FIELDS[label][1])
        if value is not None:
            fields[_FIELDS[label][0]] = value
            return
    verbatim[label or title.text] = "\n".join(
        p for p in (text.lines(), *(i.flat() for i in item.items), item.rest) if p
    )


def _share(text: str) -> float:
    match = re.fullmatch(r"~?\s*(\d{1,3}(?:\.\d{1,6})?)\s*%", text.strip(), re.ASCII)
    if not match or float(match[1]) > 100:
        raise Inexact(f"`{text}` is not a share", "write per cent: `10%`", 0, text)
    return float(match[1])


def _one_of(kind: type[Stage] | type[Stability] | type[Experience]) -> Callable[[str], object]:
    def read(text: str) -> object:
        try:
            return kind(text.strip().lower())
        except ValueError:
            choices = " or ".join(f"`{k.value}`" for k in kind)
            raise Inexact(f"`{text}` is not one of the choices", f"write {choices}", 0, text) from None

    return read


_FIELDS: dict[str, tuple[str, Callable[[str], object]]] = {
    "Teams": ("teams", read_count),
    "Stage": ("stage", _one_of(Stage)),
    "Access patterns": ("patterns", _one_of(Stability)),
    "Analytics": ("analytics", _share),
    "Ad-hoc queries": ("ad_hoc", read_yes_no),
    "GraphQL": ("graphql", read_yes_no),
    "Experience": ("experience", _one_of(Experience)),
    "Tenant": ("tenant", read_tenant),
}


# --- Entities and patterns ------------------------------------------------------------------------------------------


def _entities(section: MarkdownSection, below: list[MarkdownSection], document: _Document) -> None:
    for block in section.blocks:
        document.keep("Entities", block.raw)
    at = 0
    while at < len(below):
        head = below[at]
        at += 1
        deeper = []
        while at < len(below) and below[at].level > head.level:
            deeper.append(below[at])
            at += 1
        path = ("entities", len(document.entities))
        document.entities.append(read_entity(head, deeper, document.notes, path))


def _access_patterns(section: MarkdownSection, below: list[MarkdownSection], document: _Document) -> None:
    for block in section.blocks:
        if block.kind == "table":
            where = Text(block.raw.split("\n")[0], block.line, 1)
            fix = "put `### Reads`, `### Writes` or `### Deletes` above it"
            document.notes.say(codes.STRAY_PATTERNS, where, "this table does not say what kind of patterns it has", fix)
            document.notes.mark_read(block.line, block.height)
        document.keep("Access Patterns", block.raw)


def _patterns(section: MarkdownSection, below: list[MarkdownSection], document: _Document) -> None:
    known = _SECTIONS.find(section.title.text) or ""
    kind = "collections" if known == "Item Collection Candidates" else known.lower()
    found: list[Read | Write | ItemCollection] = getattr(document, kind)
    for block in section.blocks:
        if block.kind != "table":
            document.keep(known, block.raw)
            continue
        rows = read_table(block, kind, document.notes, len(found))
        found.extend(rows)
        if kind != "collections":
            document.tables.append(PatternTable(kind, block))
        if not rows and block.rows:
            document.keep(known, block.raw)
    for extra in below:
        _own_tables(extra, extra.title.text, document)
        document.keep(known, f"{'#' * extra.level} {extra.title.text}\n\n{extra.raw}")


# --- Decisions ------------------------------------------------------------------------------------------------------


def _decisions(section: MarkdownSection, below: list[MarkdownSection], document: _Document) -> None:
    remarks = _SECTIONS.find(section.title.text) == "Notes and Decisions"
    for block in section.blocks:
        if block.kind != "list":
            document.keep("Decisions", block.raw)
            continue
        for item in block.items:
            document.notes.places.mark(("decisions", len(document.decisions)), item.text)
            decision = _decision(item)
            if decision.pin is not None:
                document.notes.mark_read(item.text.line)
            document.decisions.append(decision)
            if not remarks and decision.pin is None and _PIN_WORDS.search(item.text.text):
                document.notes.say(
                    codes.DECISION,
                    item.text,
                    "this is kept as a note; the designer does not act on it",
                    PIN_FIX,
                )
    for extra in below:
        document.keep("Decisions", f"{'#' * extra.level} {extra.title.text}\n\n{extra.raw}")


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
        head, found, tail = text.partition(dash)
        if found and (pin := read_pin(head)):
            return Decision(pin, tail.strip())
    return Decision(text=text)
