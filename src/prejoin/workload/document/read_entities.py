"""Reads entities: a heading each, a description, and labelled lists."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from prejoin.types import Kind
from prejoin.workload import codes
from prejoin.workload.document.markdown import ListItem, MarkdownBlock, MarkdownSection, Text
from prejoin.workload.document.tables import ENTITY_LABELS, KnownNames
from prejoin.workload.grammar.attributes import read_attribute
from prejoin.workload.grammar.lexer import CellTokens, Inexact
from prejoin.workload.grammar.quantities import read_cardinality, read_size
from prejoin.workload.grammar.statements import read_relationship
from prejoin.workload.grammar.values import read_history, read_retention
from prejoin.workload.model import Attribute, Entity, Relationship
from prejoin.workload.read_result import Notes, Path

_LABELS = KnownNames(ENTITY_LABELS)
LABEL = re.compile(r"\*\*([^*\n]{1,60}?):?\*\*\s*+:?\s*+")
_TYPED_NAME = re.compile(r"`[^`]+`\s*\([^()]*\)")
_REFERENCE = re.compile(r"`[^`]++`\s*+\(\s*+(?:→|->)")
_BETWEEN = re.compile(r"\)\s*+,\s*+(?=`[^`]++`\s*+\()")
"""The separator of attributes on one line."""
_BARE_LABEL = re.compile(
    rf"[*_]{{0,2}}({'|'.join(ENTITY_LABELS)})(?:[*_]{{0,2}}\s*:[*_]{{0,2}}|[*_]{{1,2}})\s*", re.IGNORECASE
)
"""A known label without the stars, or with other marks: `Attributes:`, `__Attributes__:`, `*Attributes*:`."""
_RULES = frozenset({"Attributes", "Unique", "Excludes", "History", "Renamed from"})
"""Labels of lines that decide what is stored and what is refused. Others are figures and words."""
_NESTED = frozenset({Kind.MAP, Kind.LIST})
"""Types whose parts may be listed below the attribute."""


@dataclass(slots=True)
class _Draft:
    name: str
    attributes: list[Attribute] = field(default_factory=list)
    relationships: list[Relationship] = field(default_factory=list)
    fields: dict[str, object] = field(default_factory=dict)
    description: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    verbatim: dict[str, list[str]] = field(default_factory=dict)
    labels: set[str] = field(default_factory=set)
    """The labels that were read."""


def read_entity(head: MarkdownSection, below: Sequence[MarkdownSection], notes: Notes, path: Path) -> Entity:
    """Read one entity: its section and its subsections (`#### Attributes`)."""
    draft = _Draft(head.title.text.strip("`"))
    notes.places.mark(path, head.title)
    label = None
    for block in head.blocks:
        if label and block.kind == "list":
            _label(label, Text("", block.line, 1), block.items, draft, notes, path)
            label = None
            continue
        label = _heading_label(block)
        if label is not None:
            notes.mark_read(block.line)
        else:
            _block(block, draft, notes, path)
    for section in below:
        label = _LABELS.find(section.title.text)
        if label is None:
            draft.notes.append(f"{'#' * section.level} {section.title.text}\n\n{section.raw}".strip())
            continue
        for block in section.blocks:
            if block.kind == "list":
                _label(label, Text("", block.line, 1), block.items, draft, notes, path)
            elif block.kind == "paragraph":
                _label(label, block.text, (), draft, notes, path)
            else:
                draft.notes.append(block.raw)
    description = "\n\n".join(draft.description)
    return Entity(
        name=draft.name,
        attributes=tuple(draft.attributes),
        relationships=tuple(draft.relationships),
        notes="\n\n".join(draft.notes),
        verbatim={label: "\n".join(lines) for label, lines in draft.verbatim.items()},
        **{"description": description, **draft.fields},  # type: ignore[arg-type]
    )


def _heading_label(block: MarkdownBlock) -> str | None:
    """The label of a paragraph that has nothing else, `**Attributes**`: it is a heading for the list below it."""
    labelled = split_label(block.text, _BARE_LABEL) if block.kind == "paragraph" else None
    return _LABELS.find(labelled[0].text) if labelled and not labelled[1] else None


def _block(block: MarkdownBlock, draft: _Draft, notes: Notes, path: Path) -> None:
    if block.kind == "list":
        left = [item for item in block.items if not _entry(item, draft, notes, path)]
        if len(left) == len(block.items):
            draft.notes.append(block.raw)
        else:
            draft.notes.extend("- " + item.flat().replace("\n", "<br>") for item in left)
    elif block.kind == "paragraph" and (labelled := split_label(block.text, _BARE_LABEL)):
        if labelled[1]:
            _label_or_keep(labelled[0], labelled[1], (), draft, notes, path)
        else:  # a heading of the author's own, unless it is misspelt
            _report_misspelt(labelled[0], notes)
            draft.notes.append(block.raw)
    elif block.kind == "paragraph" and not (draft.attributes or draft.fields or draft.notes):
        draft.description.append(block.raw.strip())
    else:
        draft.notes.append(block.raw)


def _entry(item: ListItem, draft: _Draft, notes: Notes, path: Path) -> bool:
    """Read one list item; False if it is the author's own."""
    if labelled := split_label(item.text, _BARE_LABEL):
        _label_or_keep(labelled[0], labelled[1], item.items, draft, notes, path, item.rest)
        return True
    if is_attribute(item.text.text):  # it needs no label above it
        _attributes(item, draft, notes, path)
        return True
    return False


def is_attribute(text: str) -> bool:
    """Whether a list item is meant as an attribute: as a whole, or up to its type, so that the rest is reported."""
    if _REFERENCE.match(text):
        return True
    start = _TYPED_NAME.match(text)
    for part in (text, start[0] if start else ""):
        try:
            if "(" in part:
                read_attribute(part)
                return True
        except Inexact:
            pass
    return False


def split_label(text: Text, bare: re.Pattern[str] | None = None) -> tuple[Text, Text] | None:
    """A label and the text after it, `**Size**: 400 B`; without the stars only for a known label."""
    match = LABEL.match(text.text) or (bare.match(text.text) if bare else None)
    if not match:
        return None
    return Text(match[1].strip(), text.line, text.column + match.start(1)), text.slice(match.end())


def _label_or_keep(
    title: Text, text: Text, items: tuple[ListItem, ...], draft: _Draft, notes: Notes, path: Path, rest: str = ""
) -> None:
    label = _LABELS.find(title.text)
    if label is None:
        _report_misspelt(title, notes)
        parts = (text.lines(), *(i.flat() for i in items), rest)
        draft.verbatim.setdefault(title.text, []).extend(part for part in parts if part)
        return
    notes.mark_read(title.line)
    if rest:
        draft.notes.append(rest)
    _label(label, text, items, draft, notes, path, title)


def _report_misspelt(title: Text, notes: Notes) -> None:
    if near := _LABELS.near(title.text):
        code = codes.LABEL.as_error if near in _RULES else codes.LABEL
        notes.say(code, title, f"`{title.text}` is not read", f"did you mean `{near}`?", near)


def _label(
    label: str,
    text: Text,
    items: tuple[ListItem, ...],
    draft: _Draft,
    notes: Notes,
    path: Path,
    title: Text | None = None,
) -> None:
    if label in draft.labels:
        # Probably the heading of another entity is missing: its attributes would be those of this one.
        message = f"`{draft.name}` has `{label}` twice"
        notes.say(codes.SAME_LABEL, title or text, message, "write it once; another entity begins with `### Name`")
    if label != "Relationships":
        draft.labels.add(label)
    entries = [ListItem(text), *items] if text else list(items)
    match label:
        case "Attributes":
            for item in entries:
                _attributes(item, draft, notes, path)
        case "Relationships":
            for item in entries:
                if LABEL.match(item.text.text):
                    continue  # a label at the wrong place, which is reported
                read = notes.attempt(codes.RELATIONSHIP, item.text, lambda t: read_relationship(t, draft.name))
                if read:
                    notes.places.mark((*path, "relationships", len(draft.relationships)), item.text)
                    draft.relationships.append(read)
                else:
                    draft.verbatim.setdefault(label, []).append(item.flat())
        case "Description" | "Owner" | "Lifecycle":
            whole = "\n".join(item.flat() for item in entries)
            draft.fields[label.lower()] = whole
        case _:
            _quantity(label, _joined(entries, text), draft, notes, path)


def _attributes(item: ListItem, draft: _Draft, notes: Notes, path: Path) -> None:
    """Read the attributes of one line: `` `userId` (ulid, id), `name` (string) - as it is shown ``."""
    texts = list(_one_by_one(item.text))
    for text in texts[:-1]:
        _attribute(ListItem(text), draft, notes, path)
    _attribute(replace(item, text=texts[-1]), draft, notes, path)


def _one_by_one(text: Text) -> Iterator[Text]:
    start = 0
    for comma in _BETWEEN.finditer(text.text):
        part = text.slice(start, comma.start() + 1)
        if not _TYPED_NAME.fullmatch(part.text):  # a comma in the text of an attribute
            break
        yield part
        start = comma.end()
    yield text.slice(start)


def _attribute(item: ListItem, draft: _Draft, notes: Notes, path: Path) -> None:
    read = notes.attempt(codes.ATTRIBUTE, item.text, read_attribute)
    if read is None:
        draft.verbatim.setdefault("Attributes", []).append(item.flat())
        return
    notes.places.mark((*path, "attributes", len(draft.attributes)), item.text)
    if read.type.kind in _NESTED:
        _mark_all(item.items, notes)
    more = [i.flat() for i in item.items] + ([item.rest] if item.rest else [])
    text = "\n".join([Text(read.text, 0, 0).lines(), *more]).strip()
    draft.attributes.append(Attribute(**{**{f: getattr(read, f) for f in read.__struct_fields__}, "text": text}))


def _mark_all(items: Iterable[ListItem], notes: Notes) -> None:
    for item in items:
        notes.mark_read(item.text.line)
        _mark_all(item.items, notes)


def _quantity(label: str, text: Text, draft: _Draft, notes: Notes, path: Path) -> None:
    if not text:
        return
    notes.places.mark((*path, label.lower()), text)
    fields: dict[str, object] | None = None
    if label == "Cardinality":
        if read := notes.attempt(codes.QUANTITY, text, lambda t: read_cardinality(t, draft.name)):
            fields = {"singleton": read[0], "cardinality": read[1]}
    elif label == "Size":
        if (size := notes.attempt(codes.QUANTITY, text, read_size)) is not None:
            fields = {"size": size}
    elif label == "Retention":
        if (kept := notes.attempt(codes.QUANTITY, text, read_retention)) is not None:
            fields = {"retention": kept}
    elif label == "History":
        if history := notes.attempt(codes.QUANTITY.as_error, text, read_history):
            fields = {"history": history}
    elif label == "Unique":
        if groups := notes.attempt(codes.WORDING.as_error, text, _groups):
            fields = {"unique": groups}
    elif label == "Renamed from":
        if former := notes.attempt(codes.WORDING.as_error, text, _former_name):
            fields = {"renamed_from": former}
    elif names := notes.attempt(codes.WORDING.as_error, text, read_names):
        fields = {"excludes": names}
    if fields is None:
        draft.verbatim.setdefault(label, []).append(text.lines())
    else:
        draft.fields |= fields


def _joined(entries: Iterable[ListItem], first: Text) -> Text:
    found = list(entries)
    if len(found) <= 1:
        return found[0].text if found else first
    where = found[0].text
    return Text(", ".join(i.flat().replace("\n", ", ") for i in found), where.line, where.column)


def _groups(text: str) -> tuple[tuple[str, ...], ...]:
    """Attributes that are unique together: `tenantId + slug, tenantId + number`."""
    tokens = CellTokens(text)
    groups = []
    while not tokens.done:
        group = [tokens.name("an attribute")]
        while tokens.sign("+"):
            group.append(tokens.name("an attribute"))
        groups.append(tuple(group))
        if not tokens.separators():
            tokens.expect_end("write `tenantId + slug` for attributes that are unique together")
    return tuple(groups)


def _former_name(text: str) -> str:
    """The name that an entity had in the design before."""
    tokens = CellTokens(text)
    name = tokens.name("the name that the entity had before")
    tokens.expect_end("write one name: the one that the entity had in the design before this one")
    return name


def read_names(text: str) -> tuple[str, ...]:
    """Names separated by commas, plus signs or `and`."""
    tokens = CellTokens(text)
    names = []
    while not tokens.done:
        names.append(tokens.name("a name"))
        if not tokens.separators() and not tokens.sign("+", "/") and not tokens.word("and"):
            tokens.expect_end("separate names by commas")
    return tuple(names)
