"""Reads entities: a heading each, a description, and labelled lists."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import msgspec

from prejoin.types import Kind
from prejoin.workload import codes
from prejoin.workload.document.columns import Column, Fields, KnownNames, known_names
from prejoin.workload.document.markdown import ListItem, MarkdownBlock, MarkdownSection, Text
from prejoin.workload.document.tables import ATTRIBUTES, ENTITY_LABELS, RELATIONSHIPS, bare_label
from prejoin.workload.grammar.attributes import read_attribute
from prejoin.workload.grammar.lexer import Inexact
from prejoin.workload.model import Attribute, Entity, Relationship
from prejoin.workload.read_result import Notes, Path

_LABELS = {label.name: label for label in ENTITY_LABELS}
_NAMES = known_names(ENTITY_LABELS)
LABEL = re.compile(r"\*\*([^*\n]{1,60}?):?\*\*\s*+:?\s*+")
_TYPED_NAME = re.compile(r"`[^`]+`\s*\([^()]*\)")
_REFERENCE = re.compile(r"`[^`]++`\s*+\(\s*+(?:→|->)")
_BETWEEN = re.compile(r"\)\s*+,\s*+(?=`[^`]++`\s*+\()")
"""The separator of attributes on one line."""
_BARE_LABEL = bare_label(ENTITY_LABELS)
_NESTED_KINDS = frozenset({Kind.MAP, Kind.LIST})
"""Types whose parts may be listed below the attribute."""


def read_entity(head: MarkdownSection, below: Sequence[MarkdownSection], notes: Notes, path: Path) -> Entity:
    """Read one entity: its section and its subsections (`#### Attributes`)."""
    notes.places.mark(path, head.title)
    draft = _EntityDraft(head.title.text.strip("`"), notes, path)
    draft.read_blocks(head.blocks)
    for section in below:
        draft.read_subsection(section)
    return draft.entity()


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


def report_misspelt(title: Text, names: KnownNames, labels: Mapping[str, Column], notes: Notes) -> None:
    """Report a label that is close to a known one."""
    if near := names.near(title.text):
        code = codes.LABEL.as_error if labels[near].is_rule else codes.LABEL
        notes.say(code, title, f"`{title.text}` is not read", f"did you mean `{near}`?", near)


@dataclass(slots=True)
class _EntityDraft:
    """An entity that is being read."""

    name: str
    notes: Notes
    path: Path
    fields: Fields = field(default_factory=dict)
    attributes: list[Attribute] = field(default_factory=list)
    relationships: list[Relationship] = field(default_factory=list)
    description: list[str] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)
    verbatim: defaultdict[str, list[str]] = field(default_factory=lambda: defaultdict(list))
    labels: set[str] = field(default_factory=set)
    """The labels that were read."""

    def entity(self) -> Entity:
        fields: Fields = {"description": "\n\n".join(self.description), **self.fields}
        return Entity(
            name=self.name,
            attributes=tuple(self.attributes),
            relationships=tuple(self.relationships),
            notes="\n\n".join(self.remarks),
            verbatim={label: "\n".join(lines) for label, lines in self.verbatim.items()},
            **fields,
        )

    def read_blocks(self, blocks: Iterable[MarkdownBlock]) -> None:
        heading = None
        for block in blocks:
            if heading and block.kind == "list":
                self.read_label(heading, Text("", block.line, 1), block.items)
                heading = None
                continue
            heading = _heading_label(block)
            if heading:
                self.notes.mark_read(block.line)
            else:
                self.read_block(block)

    def read_subsection(self, section: MarkdownSection) -> None:
        name = _NAMES.find(section.title.text)
        if name is None:
            self.remarks.append(section.whole.strip())
            return
        for block in section.blocks:
            if block.kind == "list":
                self.read_label(_LABELS[name], Text("", block.line, 1), block.items)
            elif block.kind == "paragraph":
                self.read_label(_LABELS[name], block.text, ())
            else:
                self.remarks.append(block.raw)

    def read_block(self, block: MarkdownBlock) -> None:
        label_and_text = split_label(block.text, _BARE_LABEL) if block.kind == "paragraph" else None
        if block.kind == "list":
            own_items = [item for item in block.items if not self.read_item(item)]
            if len(own_items) == len(block.items):
                self.remarks.append(block.raw)
            else:
                self.remarks.extend(item.as_line() for item in own_items)
        elif label_and_text and label_and_text[1]:
            self.read_label_or_keep(label_and_text[0], ListItem(label_and_text[1]))
        elif label_and_text:  # a heading of the author's own, unless it is misspelt
            report_misspelt(label_and_text[0], _NAMES, _LABELS, self.notes)
            self.remarks.append(block.raw)
        elif block.kind == "paragraph" and not (self.attributes or self.fields or self.remarks):
            self.description.append(block.raw.strip())
        else:
            self.remarks.append(block.raw)

    def read_item(self, item: ListItem) -> bool:
        """Read one list item; False if it is the author's own."""
        if label_and_text := split_label(item.text, _BARE_LABEL):
            self.read_label_or_keep(label_and_text[0], replace(item, text=label_and_text[1]))
            return True
        if is_attribute(item.text.text):  # it needs no label above it
            self.read_attributes(item)
            return True
        return False

    def read_label_or_keep(self, title: Text, item: ListItem) -> None:
        """Read a list item without its label, which is `title`."""
        name = _NAMES.find(title.text)
        if name is None:
            report_misspelt(title, _NAMES, _LABELS, self.notes)
            self.verbatim[title.text].extend(filter(None, [item.flat()]))
            return
        self.notes.mark_read(title.line)
        if item.rest:
            self.remarks.append(item.rest)
        self.read_label(_LABELS[name], item.text, item.items, title)

    def read_label(self, label: Column, text: Text, items: tuple[ListItem, ...], title: Text | None = None) -> None:
        if label.name in self.labels:
            # Probably the heading of another entity is missing: its attributes would be those of this one.
            message = f"`{self.name}` has `{label.name}` twice"
            fix = "write it once; another entity begins with `### Name`"
            self.notes.say(codes.SAME_LABEL, title or text, message, fix)
        if label is not RELATIONSHIPS:
            self.labels.add(label.name)
        entries = [ListItem(text), *items] if text else list(items)
        if label is ATTRIBUTES:
            for item in entries:
                self.read_attributes(item)
        elif label is RELATIONSHIPS:
            for item in entries:
                self.read_relationship(item)
        elif label.code is None:
            self.fields |= label.fields_of("\n".join(item.flat() for item in entries))
        elif line := _join(entries, text):
            fields = label.read_text(line, self.path, self.notes, {"name": self.name})
            if fields is None:
                self.verbatim[label.name].append(line.lines())
            else:
                self.fields |= fields

    def read_relationship(self, item: ListItem) -> None:
        if LABEL.match(item.text.text):
            return  # a label at the wrong place, which is reported
        relationship = self.notes.attempt(
            codes.RELATIONSHIP, item.text, lambda line: RELATIONSHIPS.read(line, self.name)
        )
        if relationship is None:
            self.verbatim["Relationships"].append(item.flat())
            return
        self.notes.places.mark((*self.path, "relationships", len(self.relationships)), item.text)
        self.relationships.append(relationship)

    def read_attributes(self, item: ListItem) -> None:
        """Read the attributes of one line: `` `userId` (ulid, id), `name` (string) - as it is shown ``."""
        *texts, last = _split_attributes(item.text)
        for text in texts:
            self.read_attribute(ListItem(text))
        self.read_attribute(replace(item, text=last))

    def read_attribute(self, item: ListItem) -> None:
        attribute = self.notes.attempt(codes.ATTRIBUTE, item.text, read_attribute)
        if attribute is None:
            self.verbatim["Attributes"].append(item.flat())
            return
        self.notes.places.mark((*self.path, "attributes", len(self.attributes)), item.text)
        if attribute.type.kind in _NESTED_KINDS:
            _mark_all(item.items, self.notes)
        parts = [Text(attribute.text, 0, 0).lines(), *(part.flat() for part in item.items), item.rest]
        self.attributes.append(msgspec.structs.replace(attribute, text="\n".join(parts).strip()))


def _heading_label(block: MarkdownBlock) -> Column | None:
    """The label of a paragraph that has nothing else, `**Attributes**`: it is a heading for the list below it."""
    label_and_text = split_label(block.text, _BARE_LABEL) if block.kind == "paragraph" else None
    name = _NAMES.find(label_and_text[0].text) if label_and_text and not label_and_text[1] else None
    return _LABELS[name] if name else None


def _split_attributes(text: Text) -> Iterator[Text]:
    start = 0
    for comma in _BETWEEN.finditer(text.text):
        part = text.slice(start, comma.start() + 1)
        if not _TYPED_NAME.fullmatch(part.text):  # a comma in the text of an attribute
            break
        yield part
        start = comma.end()
    yield text.slice(start)


def _mark_all(items: Iterable[ListItem], notes: Notes) -> None:
    for item in items:
        notes.mark_read(item.text.line)
        _mark_all(item.items, notes)


def _join(entries: Sequence[ListItem], text: Text) -> Text:
    """The text of several list items in one line."""
    if len(entries) <= 1:
        return entries[0].text if entries else text
    position = entries[0].text
    return Text(", ".join(item.flat().replace("\n", ", ") for item in entries), position.line, position.column)
