"""Reads the table-design document into a design, with a diagnostic for each part that is not exact.

The tables below Access Patterns are only compared: operations are mapped again from the keys.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from prejoin.design import codes
from prejoin.design.document import headings
from prejoin.design.document.annotations import DesignReading, Validation
from prejoin.design.document.cells import (
    read_code,
    read_key,
    read_list,
    read_local,
    read_number,
    read_place,
    read_projection,
    read_prose,
    read_slot,
    read_templates,
    read_when,
)
from prejoin.design.document.draft import DesignDraft, ItemDraft
from prejoin.design.document.operation_rows import stale_rows
from prejoin.design.mapping.map_patterns import map_patterns
from prejoin.design.mapping.validate import misfits
from prejoin.design.model import TABLE, Choice, ContentStore, Counter, Facet, Guard, Slot
from prejoin.diagnostics import has_errors, in_order
from prejoin.workload.document.markdown import (
    DocumentTooLargeError,
    ListItem,
    MarkdownBlock,
    MarkdownSection,
    Text,
    parse,
    whole_text,
)
from prejoin.workload.document.read_document import MOST_CHARACTERS
from prejoin.workload.document.read_entities import split_label
from prejoin.workload.document.tables import TableRow
from prejoin.workload.model import Section, Status, Workload
from prejoin.workload.read_result import Path

_SECTIONS = headings.names(*headings.SECTIONS)
_SETTINGS = headings.names(*headings.SETTINGS)
_LABELS = headings.names(*headings.LABELS)
_HEADER_LINE = re.compile(r"\s*+>?\s*+\**+([A-Za-z][\w \-]{0,40}?)\**+\s*+:\**+\s*+((?:.*\S)?)\s*\Z")
_TITLE = re.compile(r"(.*?)(?:(?<!\s)\s*+\(copy\s++(.*+)(?<=\))|(?<!\s)\s++/\s++(.*+))?", re.DOTALL)
_ABOUT = re.compile(r"(?:\*\*([^*`]+?):?\*\*|((`++).+?(?<!`)\3(?!`)))\s*+:?\s*+", re.DOTALL)
_INSTEAD = re.compile(r"(?:instead|alternative|rejected)\s*+:\s*+", re.IGNORECASE)


def read_document(text: str, workload: Workload) -> DesignReading:
    """The design in a document, for a workload; with mapped operations if there is no error.

    >>> read_document("# Shop", Workload(title="Shop")).diagnostics[0].code
    'PJ622'
    """
    draft = _parsed(text)
    found = draft.reading()
    said = [*found.diagnostics]
    if not any(d.code in {codes.UNREADABLE.id, codes.NO_SECTION.id} for d in said):
        # An entity without a key is not reported if its table could not be read.
        said += misfits(found.design, workload, found.places)
    design = found.design
    if not has_errors(said):
        design = map_patterns(design, workload)
        for at, operation in enumerate(design.operations):
            for row in draft.mapped.get(operation.pattern, ())[:1]:
                found.places.mark(("operations", at), row.first)
        said += stale_rows(design, workload, draft.mapped, draft.tables)
    return DesignReading(design, in_order(said), found.places, found.kept)


def parse_document(text: str) -> DesignReading:
    """The design as written, without a workload and without operations."""
    return _parsed(text).reading()


# --- Sections -------------------------------------------------------------------------------------------------------


def _parsed(text: str) -> DesignDraft:
    draft = DesignDraft()
    source = text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")
    if len(source) > MOST_CHARACTERS or "\0" in source:
        problem = "is not text" if "\0" in source else f"has more than {MOST_CHARACTERS:,} characters"
        draft.notes.say(codes.UNREADABLE, None, f"the design {problem}", "see `prejoin explain PJ620`")
        return draft
    try:
        sections = parse(source)
    except DocumentTooLargeError as problem:
        draft.notes.say(codes.UNREADABLE, problem.where, str(problem), "split it; see `prejoin explain PJ620`")
        return draft
    for section, below in _grouped(sections):
        _section(section, below, draft)
    return draft


def _grouped(sections: tuple[MarkdownSection, ...]) -> Iterator[tuple[MarkdownSection, list[MarkdownSection]]]:
    """Sections with their subsections."""
    at = 0
    while at < len(sections):
        section = sections[at]
        at += 1
        below: list[MarkdownSection] = []
        if section.level >= 2 and _SECTIONS.find(section.title.text) != headings.PATTERNS:
            while at < len(sections) and sections[at].level > section.level:
                below.append(sections[at])
                at += 1
        yield section, below


def _section(section: MarkdownSection, below: list[MarkdownSection], draft: DesignDraft) -> None:
    if section.level == 0 or (section.level == 1 and not draft.title and not draft.seen):
        _front(section, draft)
        return
    known = _SECTIONS.find(section.title.text)
    if known is None:
        if near := _SECTIONS.near(section.title.text):
            message = f"the section `{section.title.text}` is not read"
            draft.notes.say(codes.HEADING, section.title, message, f"did you mean `{near}`?")
        after = draft.seen[-1] if draft.seen else ""
        own = Section(section.title.text, whole_text(section, below), after, max(section.level, 2))
        draft.sections.append(own)
        return
    draft.seen.append(known)
    if known == headings.KEYS:
        _keys(section, below, draft)
        return
    if known == headings.COLLECTIONS:
        _collections(section, below, draft)
        return
    for block in section.blocks:
        if block.kind == "list" and known == headings.REVIEW:
            _reviewed(block, draft)
        elif block.kind == "table" and known in _TABLES:
            _TABLES[known](block, known, draft)
        elif block.kind == "list" and known == headings.DECISIONS:
            for entry in block.items:
                _decision(entry, draft)
        else:
            draft.keep(known, block.raw)
    for extra in below:
        draft.keep(known, f"{'#' * extra.level} {extra.title.text}\n\n{extra.raw}")


def _reviewed(block: MarkdownBlock, draft: DesignDraft) -> None:
    """The generated part of the review list is skipped; additions are kept."""
    labels = [split_label(entry.text) for entry in block.items]
    own = [
        entry for entry, label in zip(block.items, labels, strict=True) if not label or label[0].text not in _REVIEWED
    ]
    if own:
        draft.keep(headings.REVIEW, "\n".join("- " + entry.flat().replace("\n", "<br>") for entry in own))


def _costs(block: MarkdownBlock, place: str, draft: DesignDraft) -> None:
    for row in draft.rows(block, place, headings.COST_COLUMNS, "Most Expensive") or ():
        draft.own(place, row.cells["Most Expensive"].text, row)


def _front(section: MarkdownSection, draft: DesignDraft) -> None:
    """The title, and the header lines below it: `> Status: DRAFT`."""
    if section.level == 1:
        draft.title = section.title.text
        draft.notes.places.mark(("title",), section.title)
    for block in section.blocks:
        if section.level == 0 or block.kind != "quote":
            draft.keep("front", block.raw)
            continue
        left = []
        for at, line in enumerate(block.raw.split("\n")):
            match = _HEADER_LINE.match(line)
            if match is None:
                left.append(line)
            else:
                _header(match[1], Text(match[2], block.line + at, match.start(2) + 1), draft)
        draft.keep("front", "\n".join(left))


def _header(name: str, text: Text, draft: DesignDraft) -> None:
    match name.lower():
        case "status":
            try:
                draft.status = Status(text.text.strip("*_` ").upper())
            except ValueError:
                message = f"`{text.text}` is not a status"
                draft.notes.say(codes.STATUS, text, message, "write `DRAFT`, `REVIEWED` or `APPROVED`")
        case "access patterns":
            draft.source = text.text
        case "keeps":
            draft.keeps = text.text
        case "summary":
            pass  # it is counted again
        case _:
            draft.header[name] = text.text


def _configuration(block: MarkdownBlock, place: str, draft: DesignDraft) -> None:
    for row in draft.rows(block, place, headings.SETTING_COLUMNS, *headings.SETTING_COLUMNS) or ():
        name, value = row.cells["Setting"], row.cells.get("Value", Text("", row.first.line, row.first.column))
        known = _SETTINGS.find(name.text)
        draft.own(place, known or name.text, row)
        if known is None:
            if near := _SETTINGS.near(name.text):
                draft.notes.say(codes.NEAR, name, f"`{name.text}` is not read", f"did you mean `{near}`?")
            draft.own_settings[name.text] = value.text
        elif known in draft.settings:
            draft.notes.say(codes.REPEATED, name, f"`{known}` is there twice", "leave one of them")
        else:
            draft.settings[known] = value


def _indexes(block: MarkdownBlock, place: str, draft: DesignDraft) -> None:
    for row in draft.rows(block, place, headings.INDEX_COLUMNS, "Index", "Partition Key") or ():
        path: Path = ("slots", 1 + len(draft.indexes))
        slot = Slot(
            draft.cell(row, "Index", path, read_code, ""),
            draft.cell(row, "Partition Key", (*path, "pk"), read_key, ()),
            draft.cell(row, "Sort Key", (*path, "sk"), read_key, ()),
            draft.cell(row, "Projection", (*path, "projection"), read_projection, Slot("", ()).projection),
            draft.cell(row, "Purpose", (*path, "purpose"), read_prose, ""),
            draft.cell(row, "Kind", (*path, "local"), read_local, False),
        )
        draft.own(place, slot.name, row)
        draft.indexes.append(slot)


def _guards(block: MarkdownBlock, place: str, draft: DesignDraft) -> None:
    for row in draft.rows(block, place, headings.UNIQUE_COLUMNS, "Entity", "Attributes") or ():
        path: Path = ("guards", len(draft.guards))
        draft.notes.places.mark(path, row.first)
        guard = Guard(
            draft.cell(row, "Entity", (*path, "entity"), read_code, ""),
            draft.cell(row, "Attributes", (*path, "attributes"), lambda text: read_list(text, r"\+|,"), ()),
        )
        draft.own(place, guard.name, row)
        draft.guards.append(guard)


def _counters(block: MarkdownBlock, place: str, draft: DesignDraft) -> None:
    for row in draft.rows(block, place, headings.COUNTER_COLUMNS, "Entity", "Attributes", "Shards") or ():
        path: Path = ("counters", len(draft.counters))
        draft.notes.places.mark(path, row.first)
        counter = Counter(
            draft.cell(row, "Entity", (*path, "entity"), read_code, ""),
            draft.cell(row, "Attributes", (*path, "attributes"), lambda text: read_list(text, r"\+|,"), ()),
            draft.cell(row, "Shards", (*path, "shards"), read_number, 0),
        )
        draft.own(place, counter.name, row)
        draft.counters.append(counter)


def _contents(block: MarkdownBlock, place: str, draft: DesignDraft) -> None:
    for row in draft.rows(block, place, headings.CONTENT_COLUMNS, "Entity", "Attribute", "Place") or ():
        path: Path = ("stores", len(draft.stores))
        draft.notes.places.mark(path, row.first)
        content = ContentStore(
            draft.cell(row, "Entity", (*path, "entity"), read_code, ""),
            draft.cell(row, "Attribute", (*path, "attribute"), read_code, ""),
        )
        draft.own(place, content.name, row)
        if draft.cell(row, "Place", path, read_place, False):
            draft.stores.append(content)


def _histories(block: MarkdownBlock, place: str, draft: DesignDraft) -> None:
    for row in draft.rows(block, place, headings.HISTORY_COLUMNS, "Entity") or ():
        draft.own(place, draft.cell(row, "Entity", (), read_code, ""), row)


def _patterns(block: MarkdownBlock, place: str, draft: DesignDraft) -> None:
    columns = headings.READ_COLUMNS if place == headings.READS else headings.WRITE_COLUMNS
    for row in draft.rows(block, place, columns, "ID") or ():
        draft.tables.add(place)
        id_ = row.cells["ID"].text.strip("`* ")
        draft.own(place, id_, row)
        draft.mapped.setdefault(id_, []).append(row)


def _validation(block: MarkdownBlock, place: str, draft: DesignDraft) -> None:
    for row in draft.rows(block, place, headings.VALIDATION_COLUMNS, "Check", "Result") or ():
        path: Path = ("validation", len(draft.validation))
        check, result, detail = (draft.cell(row, c, path, read_prose, "") for c in headings.VALIDATION_COLUMNS)
        draft.own(place, check, row)
        draft.validation.append(Validation(check, result, detail))


_REVIEWED = frozenset(headings.REVIEW_LABELS)
_TABLES: dict[str, Callable[[MarkdownBlock, str, DesignDraft], None]] = {
    headings.REVIEW: _costs,
    headings.CONFIGURATION: _configuration,
    headings.INDEXES: _indexes,
    headings.UNIQUE: _guards,
    headings.COUNTERS: _counters,
    headings.CONTENTS: _contents,
    headings.HISTORIES: _histories,
    headings.READS: _patterns,
    headings.WRITES: _patterns,
    headings.DELETES: _patterns,
    headings.VALIDATION: _validation,
}


# --- Keys -----------------------------------------------------------------------------------------------------------


def _keys(section: MarkdownSection, below: list[MarkdownSection], draft: DesignDraft) -> None:
    for block in section.blocks:
        if block.kind != "table":
            draft.keep(headings.KEYS, block.raw)
            continue
        for row in draft.rows(block, headings.KEYS, headings.ALL_KEY_COLUMNS, "Entity", "Partition Key") or ():
            entity, copy = _item_name(row.cells["Entity"].text)
            stored, path = draft.stored(entity, copy, row.cells["Entity"])
            _facet(row, stored, path, draft)
    place = headings.KEYS
    for head in below:
        if head.level > below[0].level:
            draft.keep(place, f"{'#' * head.level} {head.title.text}\n\n{head.raw}")
            continue
        place = f"{headings.KEYS}/{head.title.text}"
        _item(head, place, draft)


def _item(head: MarkdownSection, place: str, draft: DesignDraft) -> None:
    entity, copy = _item_name(head.title.text)
    if any((i.entity, i.copy) == (entity, copy) and i.tag is not None for i in draft.items):
        fix = "put its keys into one table; a second item of it is a copy, `### Order (copy by-user)`"
        draft.notes.say(codes.REPEATED, head.title, f"`{head.title.text}` is there twice", fix)
    stored, path = draft.stored(entity, copy, head.title)
    sample = False
    for block in head.blocks:
        if block.kind == "list":
            _labels(block, stored, path, place, draft)
        elif block.kind == "table":
            for row in draft.rows(block, place, headings.KEY_COLUMNS, "Partition Key") or ():
                _facet(row, stored, path, draft)
                draft.own(place, stored.facets[-1].slot, row)
        elif not (sample and block.raw.lstrip().startswith("```json")):
            draft.keep(place, block.raw)
        sample = block.raw.strip() == headings.SAMPLE


def _labels(block: MarkdownBlock, stored: ItemDraft, path: Path, place: str, draft: DesignDraft) -> None:
    left = [entry for entry in block.items if not _label(entry, stored, path, draft)]
    if len(left) == len(block.items):
        draft.keep(place, block.raw)
    elif left:
        draft.keep(place, "\n".join("- " + entry.flat().replace("\n", "<br>") for entry in left))


def _label(entry: ListItem, stored: ItemDraft, path: Path, draft: DesignDraft) -> bool:
    """Read one list item; False if it is the author's own."""
    labelled = split_label(entry.text)
    if labelled is None:
        return False
    title, text = labelled
    label = _LABELS.find(title.text)
    if label == "Type":
        draft.notes.places.mark((*path, "tag"), text)
        stored.tag = read_code(text.text)
    elif label == "Holds":
        draft.notes.places.mark((*path, "attributes"), text)
        stored.attributes = draft.notes.attempt(codes.CELL, text, read_list) or ()
    elif label == "Attributes":
        draft.notes.places.mark((*path, "known"), text)
        stored.known = draft.notes.attempt(codes.CELL, text, read_list) or ()
    elif near := _LABELS.near(title.text):
        draft.notes.say(codes.NEAR, title, f"`{title.text}` is not read", f"did you mean `{near}`?")
    return label is not None


def _facet(row: TableRow, stored: ItemDraft, path: Path, draft: DesignDraft) -> None:
    here: Path = (*path, "facets", len(stored.facets))
    draft.notes.places.mark(here, row.first)
    facet = Facet(
        draft.cell(row, "Table or Index", (*here, "slot"), read_slot, TABLE),
        draft.cell(row, "Partition Key", (*here, "pk"), read_templates, ()),
        draft.cell(row, "Sort Key", (*here, "sk"), read_templates, ()),
        draft.cell(row, "Only When", (*here, "when"), read_when, ()),
    )
    stored.facets.append(facet)


def _item_name(title: str) -> tuple[str, str]:
    """The entity and copy in a heading.

    >>> _item_name("Order (copy by-user)"), _item_name("`first name`")
    (('Order', 'by-user'), ('first name', ''))
    """
    if title.startswith("`") and (code := re.match(r"(`+)(?!`).+?(?<!`)\1(?!`)", title)):
        head, rest = code[0], title[code.end() :]
        copy = re.fullmatch(r"\s*+\(copy\s++(.*)\)", rest, re.DOTALL)
        return (read_code(head), read_code(copy[1])) if copy else (read_code(head + rest), "")
    match = _TITLE.fullmatch(title)
    return (read_code(match[1]), read_code((match[2] or "")[:-1] or match[3] or "")) if match else (title, "")


def _collections(section: MarkdownSection, below: list[MarkdownSection], draft: DesignDraft) -> None:
    """Generated samples, below the name of their slot; everything else is kept."""
    place = headings.COLLECTIONS
    for one in (section, *below):
        place = place if one is section else f"{headings.COLLECTIONS}/{one.title.text}"
        for block in one.blocks:
            known = headings.names(*headings.COLLECTION_COLUMNS)
            if block.kind != "table" or not all(known.find(cell.text) for cell in block.header):
                draft.keep(place, block.raw)


def _decision(entry: ListItem, draft: DesignDraft) -> None:
    draft.notes.places.mark(("decisions", len(draft.decisions)), entry.text)
    line = entry.text.text
    match = _ABOUT.match(line)
    about = (match[1].strip() if match[1] else read_code(match[2])) if match else ""
    text = read_prose(line[match.end() :] if match else line)
    draft.decisions.append(Choice(about, _with(text, entry.rest), tuple(_alternative(one) for one in entry.items)))


def _alternative(entry: ListItem) -> str:
    text = read_prose(_INSTEAD.sub("", entry.text.text, count=1))
    return _with(text, *(below.flat() for below in entry.items), entry.rest)


def _with(text: str, *more: str) -> str:
    """A text with further paragraphs."""
    return "\n".join((text, *(part for part in more if part)))
