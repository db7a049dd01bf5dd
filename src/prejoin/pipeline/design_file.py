"""Designs as the command gets them: which files are designs, what they are for, and where each part stands."""

from __future__ import annotations

import re
from dataclasses import dataclass
from dataclasses import replace as with_other
from pathlib import Path

from msgspec.structs import replace

from prejoin.cli.outcome import Source
from prejoin.design.checks import At, check_design, new_attributes
from prejoin.design.document.annotations import Reading
from prejoin.design.document.read_document import parse_document
from prejoin.design.explain.phrases import count, listed
from prejoin.design.files import design_beside, read_design_file, read_design_text
from prejoin.design.mapping.map_patterns import map_patterns
from prejoin.design.model import Design
from prejoin.design.solver.broken_decisions import beyond, unmet
from prejoin.diagnostics import Diagnostic, Severity, Span, has_errors, in_order
from prejoin.pipeline.codes import NO_PATTERNS
from prejoin.pipeline.document import DEFAULT, Document, load
from prejoin.workload.files import form_of
from prejoin.workload.grammar.statements import write_pin
from prejoin.workload.model import Spread, Status, Workload

_HEADING = re.compile(r"^##+ *(?:Table Configuration|(?:Global )?Secondary Indexes|Key Design)", re.MULTILINE | re.I)
_SLOTS = re.compile(r'^(?:slots:|[^\S\n]*+"slots"\s*+:)', re.MULTILINE)
_PATTERNS = (DEFAULT, "access-patterns.yaml", "access-patterns.yml", "access-patterns.json")


@dataclass(frozen=True, slots=True)
class DesignFile:
    """A design, the document it is for, and all that is to be said about it."""

    file: str
    text: str
    reading: Reading
    document: Document
    diagnostics: tuple[Diagnostic, ...]

    @property
    def design(self) -> Design:
        return self.reading.design

    @property
    def unusable(self) -> bool:
        """Nothing could be read at all."""
        return not self.design.items and has_errors(self.diagnostics)

    @property
    def fails(self) -> bool:
        """It is not one for its access patterns; how good it is, is another question."""
        return has_errors(self.reading.diagnostics) or has_errors(self.document.reading.diagnostics)

    @property
    def contents(self) -> str:
        """What there is, in words."""
        design = self.design
        parts = [
            (len({i.entity for i in design.items}), "entity", "entities"),
            (len(design.indexes), "index", "indexes"),
        ]
        parts += [(len(design.copies), "copy", "copies"), (len(design.operations), "access pattern", "access patterns")]
        return ", ".join(count(number, one, many) for number, one, many in parts if number)

    def source(self, severities: frozenset[Severity] = frozenset(Severity)) -> Source:
        return Source(self.file, self.text, tuple(d for d in self.diagnostics if d.severity in severities))


def is_design(file: str) -> bool:
    """Whether a file holds a table design, and not access patterns: by its name, or by what stands in it."""
    path = Path(file)
    if file == "-" or not path.is_file():
        return path.name.startswith("table-design")
    if path.name.startswith("table-design"):
        return True
    text = _text(path)
    form = form_of(path)
    return bool(_HEADING.search(text)) and "## Entities" not in text if form == "md" else bool(_SLOTS.search(text))


def load_design(file: str, patterns: str | None = None) -> DesignFile:
    """A design with its document: the one that is given, or named in the design, or beside it."""
    path = Path(file)
    text = _text(path)
    document = load(patterns or _patterns(path, text))
    reading = read_design_file(path, document.workload)
    said = [*reading.diagnostics]
    if has_errors(document.reading.diagnostics):
        # What would be said about names that could not be read there would only mislead.
        message = f"the access patterns that it is for, {document.file}, have errors or cannot be read"
        fix = f"see `prejoin check {document.file}`, or name others with `--for FILE`"
        said = [NO_PATTERNS.at(None, message, fix)] if reading.design.items else said
    elif not has_errors(said):
        if not reading.design.operations:
            reading = with_other(reading, design=map_patterns(reading.design, document.workload))
        said += check_design(reading.design, document.workload, places_in(reading))
    return DesignFile(file, text, reading, document, in_order(said))


def kept_design(file: str, workload: Workload) -> tuple[Design | None, Source]:
    """A design that is in use, for a workload that has grown since: entities that are new need not be in it."""
    path = Path(file)
    reading = read_design_file(path, Workload())
    names = {item.entity for item in reading.design.items}
    then = replace(
        workload,
        entities=tuple(entity for entity in workload.entities if entity.name in names),
        reads=(),
        writes=(),
        deletes=(),
        decisions=(),
    )
    text = _text(path)
    if reading.design.items:
        reading = read_design_text(text, then, form_of(path) or "md")
    errors = tuple(d for d in reading.diagnostics if d.severity is Severity.ERROR)
    found = None if errors else replace(reading.design, operations=(), decisions=())
    return found, Source(file, text, errors)


def new_since_approval(document: Document) -> tuple[Diagnostic, ...]:
    """What is to be said of attributes that the approved design beside a document does not know."""
    if document.file == "-" or not Path(document.file).is_file():
        return ()
    path = design_beside(Path(document.file))
    if not path.is_file() or form_of(path) != "md":
        return ()
    reading = parse_document(_text(path))
    if reading.kept.status is not Status.APPROVED:
        return ()
    return tuple(new_attributes(reading.design, document.workload, reading.design, places_of(document)))


def outdated(file: str, workload: Workload) -> tuple[str, ...]:
    """Access patterns that a design lacks and decisions that it does not follow, in words.

    Rates and sizes are not compared: they change what a design costs, and not what it answers.
    """
    reading = read_design_file(Path(file), workload)
    design = reading.design
    # Operations are planned anew for all patterns; those that the file lists have a place in it.
    known = {one.pattern for at, one in enumerate(design.operations) if reading.places.find(("operations", at))}
    # A design by hand may list no patterns at all.
    found = [f"it lacks {one.id}" for one in workload.patterns if one.id not in known] if known else []
    broken = [one.pin for one in beyond(design, workload)]
    broken += [one.pin for one in unmet(design, workload) if not isinstance(one.pin, Spread)]
    return (*found, *(f"it does not follow `{write_pin(pin)}`" for pin in dict.fromkeys(broken)))


def places_in(reading: Reading) -> At:
    """Where a design's file speaks of an entity (in a slot), an index or a pattern."""
    design, places = reading.design, reading.places

    def at(name: str, slot: str) -> Span | None:
        entity, _, copy = name.partition("/")
        for number, item in enumerate(design.items):
            if item.entity == entity and item.copy == copy:
                numbers = [n for n, facet in enumerate(item.facets) if facet.slot == slot]
                return places.find(("items", number, "facets", *numbers) if numbers else ("items", number))
        for kind, names in (
            ("slots", [one.name for one in design.slots]),
            ("operations", [one.pattern for one in design.operations]),
        ):
            if name in names:
                return places.find((kind, names.index(name)))
        return None

    return at


def places_of(document: Document) -> At:
    """Where a document speaks of an entity or a pattern, or decides something: for messages about its design."""
    w, places = document.workload, document.reading.places
    known = {entity.name: ("entities", number) for number, entity in enumerate(w.entities)}
    known |= {read.id: ("reads", number) for number, read in enumerate(w.reads)}
    for kind, writes in (("writes", w.writes), ("deletes", w.deletes)):
        known |= {write.id: (kind, number) for number, write in enumerate(writes)}
    known |= {write_pin(one.pin): ("decisions", number) for number, one in enumerate(w.decisions) if one.pin}

    def at(name: str, slot: str) -> Span | None:
        found = known.get(name) or known.get(name.partition("/")[0])
        return places.find(found) if found else None

    return at


def _patterns(path: Path, text: str) -> str:
    """The document of a design: the one it names, if it is there; else the one beside it."""
    named = parse_document(text).kept.source if form_of(path) == "md" else ""
    if named and (beside := path.parent / named).is_file():
        return str(beside)
    found = [path.with_name(name) for name in _PATTERNS if path.with_name(name).is_file()]
    return str(found[0] if found else path.parent / (named or DEFAULT))


def _text(path: Path) -> str:
    try:
        return path.read_bytes().decode("utf-8", "replace")
    except OSError:
        return ""


def structures(design: Design) -> str:
    """What a table is made of, in words.

    >>> structures(Design("shop"))
    'one table'
    """
    parts = [count(len(design.indexes), "index", "indexes")] if design.indexes else []
    parts += [count(len(design.copies), "copy", "copies")] if design.copies else []
    return listed(["one table", *parts])
