"""Table designs in files: read with their diagnostics, for the document of access patterns that they belong to."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from dataclasses import replace as with_other
from pathlib import Path

from msgspec.structs import replace

from prejoin.design.checks import At, check_design, new_attributes, taken_names
from prejoin.design.codes import NOT_A_DESIGN
from prejoin.design.document.annotations import DesignReading
from prejoin.design.document.read_document import parse_document
from prejoin.design.files import design_beside, read_design_file, read_design_text
from prejoin.design.former_names import FormerNames
from prejoin.design.mapping.map_patterns import map_patterns
from prejoin.design.model import Design, ItemName, Operation
from prejoin.design.phrases import count, listed
from prejoin.design.solver.constraints import constraints_of
from prejoin.design.solver.violations import ignored_decisions, violations
from prejoin.diagnostics import Diagnostic, Severity, Span, has_errors, in_order
from prejoin.pipeline.codes import NO_PATTERNS, UNSERVED
from prejoin.pipeline.document import DOCUMENT, Document, read_document, text_of
from prejoin.pipeline.errors import InputError, Source
from prejoin.proof.package import refused_schema
from prejoin.workload.files import form_of
from prejoin.workload.grammar.statements import write_pin
from prejoin.workload.model import Spread, Status, Workload

_DOCUMENTS = (DOCUMENT, "access-patterns.yaml", "access-patterns.yml", "access-patterns.json")


@dataclass(frozen=True, slots=True)
class DesignFile:
    """A design as it was read: the document it belongs to, and all diagnostics about it."""

    file: str
    text: str
    reading: DesignReading
    document: Document
    diagnostics: tuple[Diagnostic, ...]

    @property
    def design(self) -> Design:
        return self.reading.design

    @property
    def unusable(self) -> bool:
        """Whether nothing could be read at all."""
        return not self.design.items and has_errors(self.diagnostics)

    @property
    def fails(self) -> bool:
        """Whether the design or its document has errors, so that one does not fit the other."""
        return has_errors(self.reading.diagnostics) or has_errors(self.document.reading.diagnostics)

    @property
    def is_in_use(self) -> bool:
        """Whether its keys stay: it is approved, or was made to keep another design."""
        annotations = self.reading.kept
        return annotations.status is Status.APPROVED or bool(annotations.keeps)

    @property
    def contents(self) -> str:
        """The contents of the design: `3 entities, 1 index, 4 access patterns`."""
        design = self.design
        parts = [
            (len({item.entity for item in design.items}), "entity", "entities"),
            (len(design.indexes), "index", "indexes"),
        ]
        parts += [(len(design.copies), "copy", "copies"), (len(design.operations), "access pattern", "access patterns")]
        return ", ".join(count(number, singular, plural) for number, singular, plural in parts if number)

    def source(self, *severities: Severity) -> Source:
        """The design with its diagnostics; of these severities, if some are given."""
        return Source(self.file, self.text, self.diagnostics).only(*(severities or Severity))


def read_design(path: str | os.PathLike[str], document: str | os.PathLike[str] | None = None) -> DesignFile:
    """Reads a design and its document: the one that is given, or is named in the design, or lies beside it.

    A file that cannot be read is a diagnostic of the result, too, not an exception.
    """
    file, path = os.fspath(path), Path(path)
    text = text_of(path)
    patterns = read_document(document or _document_of(path, text))
    reading = read_design_file(path, patterns.workload)
    diagnostics = [*reading.diagnostics]
    if has_errors(patterns.diagnostics):
        # Diagnostics about names that could not be read in the document would only mislead.
        message = f"its access patterns, {patterns.file}, have errors or cannot be read"
        fix = f"see `prejoin check {patterns.file}`, or name others with `--for FILE`"
        diagnostics = [NO_PATTERNS.at(None, message, fix)] if reading.design.items else diagnostics
    elif not has_errors(diagnostics):
        if not reading.design.operations:
            reading = with_other(reading, design=map_patterns(reading.design, patterns.workload))
        diagnostics += checked_design(reading.design, patterns.workload, places_in(reading))
    return DesignFile(file, text, reading, patterns, in_order(diagnostics))


def checked_design(design: Design, workload: Workload, at: At) -> tuple[Diagnostic, ...]:
    """All diagnostics about a design that was read without errors: those of the checks, and what keeps it from running.

    `check` prints them, and `query` refuses a pattern that one of them is an error about.
    """
    diagnostics = list(check_design(design, workload, at))
    diagnostics += _refused_schema(design, workload, at)
    reported_ids = {diagnostic.about for diagnostic in diagnostics if diagnostic.severity is Severity.ERROR}
    for operation in find_unserved(workload, design):
        if operation.pattern not in reported_ids:
            fix = operation.remedy or "`prejoin design` shows a key that would serve it"
            message = f"{operation.pattern} is not served: {operation.problem}"
            diagnostics.append(UNSERVED.at(at(operation.pattern, ""), message, fix, about=operation.pattern))
    return in_order(diagnostics)


def _refused_schema(design: Design, workload: Workload, at: At) -> list[Diagnostic]:
    """The error about a design from which the client makes no table."""
    problem = refused_schema(workload, design)
    if not problem:
        return []
    entity = re.split(r"\W", problem)[0]
    fix = "change the key; `prejoin design` shows one that works"
    return [NOT_A_DESIGN.at(at(entity, ""), f"no table can be made from the design: {problem}", fix)]


def find_unserved(workload: Workload, design: Design) -> tuple[Operation, ...]:
    """The patterns that no key serves, unless a decision accepts that."""
    aside = constraints_of(workload).aside
    return tuple(
        operation for operation in design.operations if not operation.served and operation.pattern not in aside
    )


def design_in_use(path: str | os.PathLike[str], workload: Workload, note: str = "") -> Design:
    """Reads a design whose table is in use, for a workload that has grown since: it may lack new entities.

    Raises an `InputError` with this note if the design has errors.
    """
    file, path = os.fspath(path), Path(path)
    reading = read_design_file(path, Workload())
    names = {item.entity for item in reading.design.items}
    former_names = FormerNames.of(reading.design, workload)
    former_workload = former_names.workload_in_former_names(workload)
    former_workload = replace(
        former_workload, entities=tuple(entity for entity in former_workload.entities if entity.name in names)
    )
    text = text_of(path)
    if reading.design.items:
        reading = read_design_text(text, former_workload, form_of(path) or "md")
    diagnostics = [*reading.diagnostics]
    if not has_errors(diagnostics):
        diagnostics += _refused_schema(reading.design, former_workload, places_in(reading))
    if has_errors(diagnostics):
        raise InputError(Source(file, text, tuple(diagnostics)).only(Severity.ERROR), note=note)
    return former_names.design_in_new_names(replace(reading.design, operations=(), decisions=()))


def in_names_of(design: Design, workload: Workload) -> Design:
    """A design in the names of a workload that renames entities, attributes or members of enums."""
    return FormerNames.of(design, workload).design_in_new_names(design)


def new_since_design(document: Document) -> tuple[Diagnostic, ...]:
    """Diagnostics about attributes that the design beside a document lacks, if its keys are in use."""
    if not Path(document.file).is_file():
        return ()
    path = design_beside(Path(document.file))
    if not path.is_file() or form_of(path) != "md":
        return ()
    reading = parse_document(text_of(path))
    if reading.kept.status is not Status.APPROVED and not reading.kept.keeps:
        return ()
    design, workload, at = reading.design, document.workload, places_of(document)
    return (*taken_names(design, workload, at), *new_attributes(design, workload, design, at))


def outdated_reasons(file: str, workload: Workload) -> tuple[str, ...]:
    """Access patterns that a design lacks and decisions that it does not follow, a phrase each.

    Rates and sizes are not compared: they change what a design costs, not what it answers.
    """
    reading = read_design_file(Path(file), workload)
    design = reading.design
    # Operations are planned again for all patterns; only those that the file lists have a place in it.
    listed_ids = {
        operation.pattern for at, operation in enumerate(design.operations) if reading.places.find(("operations", at))
    }
    # A design written by hand may list no patterns at all.
    lacking = (
        [f"it lacks {pattern.id}" for pattern in workload.patterns if pattern.id not in listed_ids]
        if listed_ids
        else []
    )
    ignored_pins = [decision.pin for decision in violations(design, workload)]
    ignored_pins += [
        decision.pin for decision in ignored_decisions(design, workload) if not isinstance(decision.pin, Spread)
    ]
    return (*lacking, *(f"it does not follow `{write_pin(pin)}`" for pin in dict.fromkeys(ignored_pins)))


def places_in(reading: DesignReading) -> At:
    """The place of an entity (in a slot), an index or a pattern in the file of a design."""
    design, places = reading.design, reading.places

    def at(name: str, slot: str) -> Span | None:
        for number, item in enumerate(design.items):
            if item.name == name:
                numbers = [facet_number for facet_number, facet in enumerate(item.facets) if facet.slot == slot]
                return places.find(("items", number, "facets", *numbers) if numbers else ("items", number))
        for kind, names in (
            ("slots", [slot_in_design.name for slot_in_design in design.slots]),
            ("operations", [operation.pattern for operation in design.operations]),
        ):
            if name in names:
                return places.find((kind, names.index(name)))
        return None

    return at


def places_of(document: Document) -> At:
    """The place of an entity, an attribute (`Order.status`), a pattern or a decision in a document."""
    workload, places = document.workload, document.reading.places
    paths: dict[str, tuple[str | int, ...]] = {
        document_entity.name: ("entities", number) for number, document_entity in enumerate(workload.entities)
    }
    for number, entity in enumerate(workload.entities):
        for position, attribute in enumerate(entity.attributes):
            paths[f"{entity.name}.{attribute.name}"] = ("entities", number, "attributes", position)
    paths |= {read.id: ("reads", number) for number, read in enumerate(workload.reads)}
    for kind, writes in (("writes", workload.writes), ("deletes", workload.deletes)):
        paths |= {write.id: (kind, number) for number, write in enumerate(writes)}
    paths |= {
        write_pin(decision.pin): ("decisions", number)
        for number, decision in enumerate(workload.decisions)
        if decision.pin
    }

    def at(name: str, slot: str) -> Span | None:
        path = paths.get(name) or paths.get(ItemName.parse(name).entity)
        return places.find(path) if path else None

    return at


def _document_of(path: Path, text: str) -> Path:
    """The document of a design: the one it names, if that exists; else the one beside it."""
    document_name = parse_document(text).kept.source if form_of(path) == "md" else ""
    if document_name and (beside := path.parent / document_name).is_file():
        return beside
    candidates = [path.with_name(name) for name in _DOCUMENTS if path.with_name(name).is_file()]
    return candidates[0] if candidates else path.parent / (document_name or DOCUMENT)


def structures(design: Design) -> str:
    """The structures of a design: `one table, 2 indexes and 1 copy`.

    >>> structures(Design("shop"))
    'one table'
    """
    parts = [count(len(design.indexes), "index", "indexes")] if design.indexes else []
    parts += [count(len(design.copies), "copy", "copies")] if design.copies else []
    parts += ["an object store"] if design.stores else []
    return listed(["one table", *parts])
