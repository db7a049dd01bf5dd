"""Reads the table-design document into a design, with a diagnostic for each part that is not exact.

The tables below Access Patterns are only compared: operations are mapped again from the keys.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from prejoin.design import codes
from prejoin.design.document import headings
from prejoin.design.document.added_keys import changed_keys
from prejoin.design.document.annotations import DesignReading
from prejoin.design.document.cells import read_code, read_prose
from prejoin.design.document.draft import DesignDraft, ItemDraft
from prejoin.design.document.operation_rows import stale_rows
from prejoin.design.document.tables import (
    ALL_FACETS,
    COLLECTIONS,
    CONFIGURATION,
    CONSTRUCTS,
    CONTENTS,
    COSTS,
    FACETS,
    INDEXES,
    ITEM_LABELS,
    SETTINGS,
    TABLES,
)
from prejoin.design.mapping.map_patterns import map_patterns
from prejoin.design.mapping.validate import misfits
from prejoin.design.model import Choice, ContentStore, Counter, Guard
from prejoin.diagnostics import has_errors, in_order
from prejoin.workload.document.columns import known_names
from prejoin.workload.document.markdown import ListItem, MarkdownBlock, MarkdownSection
from prejoin.workload.document.read_entities import split_label
from prejoin.workload.model import Workload
from prejoin.workload.read_result import Path

_SETTINGS = known_names(SETTINGS)
_LABELS = {label.name: label for label in ITEM_LABELS}
_LABEL_NAMES = known_names(ITEM_LABELS)
_TITLE = re.compile(r"(.*?)(?:(?<!\s)\s*+\(copy\s++(.*+)(?<=\))|(?<!\s)\s++/\s++(.*+))?", re.DOTALL)
_ABOUT = re.compile(r"(?:\*\*([^*`]+?):?\*\*|((`++).+?(?<!`)\3(?!`)))\s*+:?\s*+", re.DOTALL)
_INSTEAD = re.compile(r"(?:instead|alternative|rejected)\s*+:\s*+", re.IGNORECASE)


def read_document(text: str, workload: Workload) -> DesignReading:
    """The design in a document, for a workload; with mapped operations if there is no error.

    >>> read_document("# Shop", Workload(title="Shop")).diagnostics[0].code
    'PJ622'
    """
    draft = _read_draft(text)
    reading = draft.reading()
    design, places = reading.design, reading.places
    diagnostics = [*reading.diagnostics]
    if not {codes.UNREADABLE.id, codes.NO_SECTION.id} & {diagnostic.code for diagnostic in diagnostics}:
        # An entity without a key is not reported if its table could not be read.
        diagnostics += misfits(design, workload, places)
    if not has_errors(diagnostics):
        diagnostics += changed_keys(design, workload, draft.added_rows, draft.construct_rows)
    if not has_errors(diagnostics):
        design = map_patterns(design, workload)
        for at, operation in enumerate(design.operations):
            for row in draft.mapped.get(operation.pattern, ())[:1]:
                places.mark(("operations", at), row.first)
        diagnostics += stale_rows(design, workload, draft.mapped, draft.tables)
    return DesignReading(design, in_order(diagnostics), places, reading.kept)


def parse_document(text: str) -> DesignReading:
    """The design as written, without a workload and without operations."""
    return _read_draft(text).reading()


# --- Sections -------------------------------------------------------------------------------------------------------


def _read_draft(text: str) -> DesignDraft:
    draft = DesignDraft()
    if document := draft.parse(text):
        _, sections = document
        for section, below in draft.group(sections):
            _read_section(section, below, draft)
    return draft


def _read_section(section: MarkdownSection, below: list[MarkdownSection], draft: DesignDraft) -> None:
    title = draft.known_sections.find(section.title.text)
    if draft.is_front(section):
        draft.read_front(section)
    elif title is None:
        if near := draft.known_sections.near(section.title.text):
            draft.report_section(section.title, near)
        draft.keep_section(section, below)
    else:
        draft.seen.append(title)
        _SECTION_READERS.get(title, _read_blocks)(section, below, draft)


def _read_blocks(section: MarkdownSection, below: list[MarkdownSection], draft: DesignDraft) -> None:
    """Read the tables and lists of a section. Other text is kept."""
    title = draft.last_seen
    for block in section.blocks:
        if block.kind == "table" and title in _TABLE_READERS:
            _TABLE_READERS[title](block, title, draft)
        elif block.kind == "table" and title in TABLES:
            _read_table(block, title, draft)
        elif block.kind == "list" and title == headings.DECISIONS:
            for item in block.items:
                _read_decision(item, draft)
        elif block.kind == "list" and title == headings.REVIEW:
            _read_review(block, draft)
        else:
            draft.keep(title, block.raw)
    for subsection in below:
        draft.keep(title, subsection.whole)


def _read_review(block: MarkdownBlock, draft: DesignDraft) -> None:
    """The generated part of the review list is skipped; additions are kept."""
    additions = []
    for item in block.items:
        label = split_label(item.text)
        if not label or label[0].text not in headings.REVIEW_LABELS:
            additions.append(item.as_line())
    draft.keep(headings.REVIEW, "\n".join(additions))


def _read_table(block: MarkdownBlock, place: str, draft: DesignDraft) -> None:
    """Read a table whose rows are parts of the design."""
    kind = TABLES[place]
    items = draft.lists[kind.field]
    first = 1 if kind is INDEXES else 0  # the first slot is the table
    for row in draft.rows(block, place, kind):
        item = draft.read_row(row, kind, (kind.field, first + len(items)))
        draft.keep_cells(row, place, kind.row_name(item))
        items.append(item)
        if isinstance(item, Guard | Counter):
            draft.added_rows[item.item_name] = row
        elif place in CONSTRUCTS:
            draft.construct_rows[place].append(row)


def _read_settings(block: MarkdownBlock, place: str, draft: DesignDraft) -> None:
    for row in draft.rows(block, place, CONFIGURATION):
        title, value = row.cells["Setting"], row.cells["Value"]
        name = _SETTINGS.find(title.text)
        draft.keep_cells(row, place, name or title.text)
        if name is None:
            if near := _SETTINGS.near(title.text):
                draft.notes.say(codes.NEAR, title, f"`{title.text}` is not read", f"did you mean `{near}`?")
            draft.own_settings[title.text] = value.text
        elif name in draft.settings:
            draft.notes.say(codes.REPEATED, title, f"`{name}` is there twice", "leave one of them")
        else:
            draft.settings[name] = value


def _read_contents(block: MarkdownBlock, place: str, draft: DesignDraft) -> None:
    stores = draft.lists["stores"]
    for row in draft.rows(block, place, CONTENTS):
        content = draft.read_row(row, CONTENTS, ("stores", len(stores)))
        draft.keep_cells(row, place, content.name)
        if content.is_stored:
            stores.append(ContentStore(content.entity, content.attribute))


def _read_costs(block: MarkdownBlock, place: str, draft: DesignDraft) -> None:
    for row in draft.rows(block, place, COSTS):
        draft.keep_cells(row, place, row.cells["Most Expensive"].text)


def _read_operations(block: MarkdownBlock, place: str, draft: DesignDraft) -> None:
    for row in draft.rows(block, place, TABLES[place]):
        draft.tables.add(place)
        pattern = row.cells["ID"].text.strip("`* ")
        draft.keep_cells(row, place, pattern)
        draft.mapped.setdefault(pattern, []).append(row)


# --- Keys -----------------------------------------------------------------------------------------------------------


def _read_keys(section: MarkdownSection, below: list[MarkdownSection], draft: DesignDraft) -> None:
    for block in section.blocks:
        if block.kind != "table":
            draft.keep(headings.KEYS, block.raw)
            continue
        for row in draft.rows(block, headings.KEYS, ALL_FACETS):
            entity, copy = _item_name(row.cells["Entity"].text)
            item, path = draft.item_named(entity, copy, row.cells["Entity"])
            item.facets.append(draft.read_row(row, FACETS, (*path, "facets", len(item.facets))))
    place = headings.KEYS
    for head in below:
        if head.level > below[0].level:
            draft.keep(place, head.whole)
            continue
        place = f"{headings.KEYS}/{head.title.text}"
        _read_item(head, place, draft)


def _read_item(head: MarkdownSection, place: str, draft: DesignDraft) -> None:
    entity, copy = _item_name(head.title.text)
    if any((other.entity, other.copy) == (entity, copy) and other.tag is not None for other in draft.items):
        fix = "put its keys into one table; a second item of it is a copy, `### Order (copy by-user)`"
        draft.notes.say(codes.REPEATED, head.title, f"`{head.title.text}` is there twice", fix)
    item, path = draft.item_named(entity, copy, head.title)
    is_sample = False
    for block in head.blocks:
        if block.kind == "list":
            _read_labels(block, item, path, place, draft)
        elif block.kind == "table":
            for row in draft.rows(block, place, FACETS):
                facet = draft.read_row(row, FACETS, (*path, "facets", len(item.facets)))
                draft.keep_cells(row, place, facet.slot)
                item.facets.append(facet)
        elif not (is_sample and block.raw.lstrip().startswith("```json")):
            draft.keep(place, block.raw)
        is_sample = block.raw.strip() == headings.SAMPLE


def _read_labels(block: MarkdownBlock, item: ItemDraft, path: Path, place: str, draft: DesignDraft) -> None:
    own_lines = [line.as_line() for line in block.items if not _read_label(line, item, path, draft)]
    draft.keep(place, block.raw if len(own_lines) == len(block.items) else "\n".join(own_lines))


def _read_label(line: ListItem, item: ItemDraft, path: Path, draft: DesignDraft) -> bool:
    """Read one list item; False if it is the author's own."""
    label = split_label(line.text)
    if label is None:
        return False
    title, text = label
    name = _LABEL_NAMES.find(title.text)
    if name:
        fields = _LABELS[name].read_text(text, path, draft.notes) or {}
        for field, value in fields.items():
            setattr(item, field, value)
    elif near := _LABEL_NAMES.near(title.text):
        draft.notes.say(codes.NEAR, title, f"`{title.text}` is not read", f"did you mean `{near}`?")
    return name is not None


def _item_name(title: str) -> tuple[str, str]:
    """The entity and copy in a heading.

    >>> _item_name("Order (copy by-user)"), _item_name("`first name`")
    (('Order', 'by-user'), ('first name', ''))
    """
    if title.startswith("`") and (code := re.match(r"(`+)(?!`).+?(?<!`)\1(?!`)", title)):
        head, remainder = code[0], title[code.end() :]
        copy = re.fullmatch(r"\s*+\(copy\s++(.*)\)", remainder, re.DOTALL)
        return (read_code(head), read_code(copy[1])) if copy else (read_code(head + remainder), "")
    match = _TITLE.fullmatch(title)
    return (read_code(match[1]), read_code((match[2] or "")[:-1] or match[3] or "")) if match else (title, "")


def _read_collections(section: MarkdownSection, below: list[MarkdownSection], draft: DesignDraft) -> None:
    """Generated samples, below the name of their slot; everything else is kept."""
    _keep_own(section, below, draft, _is_sample_table)


def _is_sample_table(block: MarkdownBlock) -> bool:
    return block.kind == "table" and all(COLLECTIONS.names.find(cell.text) for cell in block.header)


def _read_requests(section: MarkdownSection, below: list[MarkdownSection], draft: DesignDraft) -> None:
    """Generated requests, below the id of their pattern; text beside them is kept."""
    _keep_own(section, below, draft, lambda block: block.raw.startswith("```"))


def _keep_own(
    section: MarkdownSection,
    below: list[MarkdownSection],
    draft: DesignDraft,
    is_generated: Callable[[MarkdownBlock], bool],
) -> None:
    """Keep the blocks of a section that are not generated, by the title of the subsection."""
    places = [draft.last_seen, *(f"{draft.last_seen}/{subsection.title.text}" for subsection in below)]
    for place, part in zip(places, (section, *below), strict=True):
        for block in part.blocks:
            if not is_generated(block):
                draft.keep(place, block.raw)


def _read_decision(item: ListItem, draft: DesignDraft) -> None:
    decisions = draft.lists["decisions"]
    draft.notes.places.mark(("decisions", len(decisions)), item.text)
    line = item.text.text
    match = _ABOUT.match(line)
    about = (match[1].strip() if match[1] else read_code(match[2])) if match else ""
    text = _with(read_prose(line[match.end() :] if match else line), item.rest)
    decisions.append(Choice(about, text, tuple(map(_alternative, item.items))))


def _alternative(item: ListItem) -> str:
    text = read_prose(_INSTEAD.sub("", item.text.text, count=1))
    return _with(text, *(below.flat() for below in item.items), item.rest)


def _with(text: str, *paragraphs: str) -> str:
    """A text with further paragraphs."""
    return "\n".join((text, *(part for part in paragraphs if part)))


_SECTION_READERS = {
    headings.KEYS: _read_keys,
    headings.COLLECTIONS: _read_collections,
    headings.REQUESTS: _read_requests,
}
"""The sections that have subsections, or are generated."""
_TABLE_READERS = {
    headings.REVIEW: _read_costs,
    headings.CONFIGURATION: _read_settings,
    headings.CONTENTS: _read_contents,
    headings.READS: _read_operations,
    headings.WRITES: _read_operations,
    headings.DELETES: _read_operations,
}
"""Tables whose rows are no parts of the design as they are."""
