"""What reading both documents has in common: sections, the header below the title, and text that is kept."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, ClassVar

from prejoin.diagnostics import Code
from prejoin.workload.document.columns import KnownNames
from prejoin.workload.document.markdown import (
    DocumentTooLargeError,
    MarkdownBlock,
    MarkdownSection,
    Text,
    parse,
    whole_text,
)
from prejoin.workload.model import Section, Status
from prejoin.workload.read_result import Notes

MOST_CHARACTERS = 2_000_000
PATTERNS = "Access Patterns"
"""The section whose subsections are sections of their own in both documents."""


@dataclass(frozen=True, slots=True)
class DocumentCodes:
    """The codes of diagnostics about a document."""

    unreadable: Code
    heading: Code
    """A section whose title is close to a known one."""
    status: Code


@dataclass(slots=True)
class DocumentDraft:
    """The state of reading a document."""

    notes: Notes = field(default_factory=Notes)
    title: str = ""
    status: Status | None = None
    header: dict[str, str] = field(default_factory=dict)
    lists: defaultdict[str, list[Any]] = field(default_factory=lambda: defaultdict(list))
    """Parts of the model, by its field."""
    prose: defaultdict[str, list[str]] = field(default_factory=lambda: defaultdict(list))
    """Text between the parts of known sections, by the name of the section."""
    sections: list[Section] = field(default_factory=list)
    """The author's own sections."""
    seen: list[str] = field(default_factory=list)
    """The known sections so far, in order."""

    noun: ClassVar[str]
    """What the document is called in diagnostics."""
    codes: ClassVar[DocumentCodes]
    known_sections: ClassVar[KnownNames]
    header_line: ClassVar[re.Pattern[str]]

    @property
    def last_seen(self) -> str:
        return self.seen[-1] if self.seen else ""

    @property
    def kept_prose(self) -> dict[str, str]:
        return {place: "\n\n".join(texts) for place, texts in self.prose.items()}

    def keep(self, place: str, text: str) -> None:
        """Keep text of the author's own."""
        if text.strip():
            self.prose[place].append(text)

    def keep_section(self, section: MarkdownSection, below: list[MarkdownSection]) -> None:
        """Keep a section of the author's own."""
        text = whole_text(section, below)
        self.sections.append(Section(section.title.text, text, self.last_seen, max(section.level, 2)))

    def report_section(self, title: Text, near: str, replacement: str = "") -> None:
        message = f"the section `{title.text}` is not read"
        self.notes.say(self.codes.heading, title, message, f"did you mean `{near}`?", replacement)

    def is_front(self, section: MarkdownSection) -> bool:
        """Whether a section is the title and the text below it."""
        return section.level == 0 or (section.level == 1 and not self.title and not self.seen)

    def read_front(self, section: MarkdownSection) -> None:
        """Read the title, and the header lines below it: `> Status: DRAFT`."""
        if section.level == 1:
            self.title = section.title.text
            self.notes.places.mark(("title",), section.title)
        for block in section.blocks:
            matches = self.match_header(block, is_below_title=section.level == 1)
            kept_lines = []
            for number, (line, match) in enumerate(zip(block.raw.split("\n"), matches, strict=True), block.line):
                if match is None:
                    kept_lines.append(line)
                else:
                    self.read_header(match[1], Text(match[2], number, match.start(2) + 1))
            self.keep("front", "\n".join(kept_lines))

    def match_header(self, block: MarkdownBlock, is_below_title: bool) -> list[re.Match[str] | None]:
        """The match of each line that is a header line. The header is a quotation."""
        lines = block.raw.split("\n")
        if block.kind != "quote" or not is_below_title:
            return [None] * len(lines)
        return [self.header_line.match(line) for line in lines]

    def read_header(self, name: str, text: Text) -> None:
        """Read one line of the header."""
        self.header[name] = text.text

    def read_status(self, text: Text) -> bool:
        """Whether a text is a status."""
        try:
            self.status = Status(text.text.strip("*_` ").upper())
        except ValueError:
            message = f"`{text.text}` is not a status"
            self.notes.say(self.codes.status, text, message, "write `DRAFT`, `REVIEWED` or `APPROVED`")
            return False
        return True

    def parse(self, text: str) -> tuple[str, tuple[MarkdownSection, ...]] | None:
        """The source without marks of editors, and its sections; None, with a diagnostic, if it cannot be read."""
        source = text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")
        code = self.codes.unreadable
        if len(source) > MOST_CHARACTERS or "\0" in source:
            problem = "is not text" if "\0" in source else f"has more than {MOST_CHARACTERS:,} characters"
            self.notes.say(code, None, f"the {self.noun} {problem}", f"see `prejoin explain {code.id}`")
            return None
        try:
            return source, parse(source)
        except DocumentTooLargeError as problem:
            self.notes.say(code, problem.where, str(problem), f"split it; see `prejoin explain {code.id}`")
            return None

    def group(self, sections: tuple[MarkdownSection, ...]) -> Iterator[tuple[MarkdownSection, list[MarkdownSection]]]:
        """Sections with their subsections."""
        index = 0
        while index < len(sections):
            section = sections[index]
            index += 1
            below: list[MarkdownSection] = []
            known_title = self.known_sections.find(section.title.text)
            if section.level >= 2 and known_title != PATTERNS:
                while index < len(sections) and sections[index].level > section.level:
                    if self.stands_alone(sections[index], known_title):
                        break
                    below.append(sections[index])
                    index += 1
            yield section, below

    def stands_alone(self, section: MarkdownSection, above: str | None) -> bool:
        """Whether a deeper section is no part of the section above it."""
        return False
