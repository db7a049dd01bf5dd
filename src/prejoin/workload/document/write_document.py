"""Writes the Markdown document: `write_document(workload)`. It reads back as the same workload."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping

from prejoin.workload.document.columns import Column, TableKind, write_table
from prejoin.workload.document.read_document import read_document
from prejoin.workload.document.tables import (
    ATTRIBUTES,
    COLLECTIONS,
    CONTEXT_LABELS,
    DELETES,
    ENTITY_LABELS,
    NAME,
    READS,
    RELATIONSHIPS,
    WRITES,
)
from prejoin.workload.grammar.statements import write_pin
from prejoin.workload.model import Context, Decision, Entity, ItemCollection, Read, Section, Workload, Write
from prejoin.workload.shorthand import with_implied_names
from prejoin.workload.tenants import contract, expand


class UnwritableError(ValueError):
    """A workload has text that Markdown cannot carry; nothing was written."""


def write_document(workload: Workload) -> str:
    """The document of a workload.

    >>> write_document(Workload(title="Shop")).splitlines()[0]
    '# Shop'
    """
    workload = expand(with_implied_names(workload))
    document = "\n\n".join(part.strip("\n") for part in _parts(contract(workload)) if part.strip()) + "\n"
    reread = read_document(document).workload
    if reread != workload:
        advice = "take line breaks, backticks or leading marks such as `#`, `-` and `|` out of it"
        raise UnwritableError(f"{difference(workload, reread)} cannot be written in Markdown as it is; {advice}")
    return document


def difference(expected: object, actual: object, path: str = "") -> str:
    """The first part that does not read back as written."""
    if type(expected) is type(actual):
        names = getattr(expected, "__struct_fields__", ())
        for name in names:
            left, right = getattr(expected, name), getattr(actual, name)
            if left != right:
                return difference(left, right, f"{path}.{name}")
        if isinstance(expected, tuple) and isinstance(actual, tuple) and len(expected) == len(actual):
            for index, (left, right) in enumerate(zip(expected, actual, strict=True)):
                if left != right:
                    return difference(left, right, f"{path}[{index}]")
    return f"{path.lstrip('.')} ({expected!r:.80})"


def _parts(workload: Workload) -> Iterator[str]:
    """The parts of the document, from the title to the notes, with text of the author's own in its places."""
    yield f"# {workload.title}"
    header = dict(workload.header)
    if workload.status:
        header["Status"] = workload.status.value
    yield "\n".join(f"> {name}: {text}" for name, text in header.items())
    yield workload.prose.get("front", "")
    yield from own_sections(workload.sections, "")
    bodies = _bodies(workload)
    is_required = {"Context": workload.context is not None, "Access Patterns": _has_patterns(workload, bodies)}
    for name, body in bodies.items():
        parts = list(filter(str.strip, (workload.prose.get(name, ""), *body)))
        parts += own_sections(workload.sections, name)
        if parts or is_required.get(name):
            yield f"{'###' if name in _PATTERN_SECTIONS else '##'} {name}"
        yield from parts


def _bodies(workload: Workload) -> dict[str, list[str]]:
    """The known sections in order, each with its parts."""
    return {
        "Domain Overview": [workload.overview],
        "Context": [_context(workload.context)] if workload.context else [],
        "Entities": [_entity(entity) for entity in workload.entities],
        "Access Patterns": [],
        **{name: [_table(kind, workload)] for name, kind in _PATTERN_SECTIONS.items()},
        "Item Collection Candidates": [_table(COLLECTIONS, workload)],
        "Decisions": ["\n".join(map(_decision, workload.decisions))],
        "Notes and Decisions": [],
        "Notes": [workload.notes],
    }


_PATTERN_SECTIONS = {"Reads": READS, "Writes": WRITES, "Deletes": DELETES}


def _has_patterns(workload: Workload, bodies: Mapping[str, list[str]]) -> bool:
    """Whether a section of patterns has a table, or text of the author's own."""
    for name in _PATTERN_SECTIONS:
        if any(bodies[name]) or workload.prose.get(name) or any(own_sections(workload.sections, name)):
            return True
    return False


def own_sections(sections: Iterable[Section], after: str) -> Iterator[str]:
    """The author's own sections after a known one."""
    for section in sections:
        if section.after == after:
            yield f"{'#' * section.level} {section.title}"
            yield section.text


def _table(kind: TableKind, workload: Workload) -> str:
    rows = [_row(kind, item, workload) for item in getattr(workload, kind.field)]
    columns = list(kind.columns)
    if NAME in columns:
        columns.remove(NAME)
        columns.insert(2, NAME)  # it is printed beside the entity
    return write_table(columns, rows)


def _row(kind: TableKind, item: Read | Write | ItemCollection, workload: Workload) -> Mapping[str, str]:
    cells = {column.name: column.text_of(item, workload) for column in kind.columns}
    if isinstance(item, Read) and item.combine is None and len(item.entities) < 2:
        cells["Multi-Entity"] = "No"
    return {**cells, **item.verbatim}


def _context(context: Context) -> str:
    texts = {label.name: label.text_of(context) for label in CONTEXT_LABELS} | context.verbatim
    return "\n".join(_labelled_lines(texts, context.verbatim))


def _labelled_lines(texts: Mapping[str, str], kept_labels: Container[str] = ()) -> Iterator[str]:
    """A line for each label with a text, and for those that are kept without one."""
    for label, text in texts.items():
        if text or label in kept_labels:
            yield f"- **{label}**: {_inline(text)}"


def _entity(entity: Entity) -> str:
    entries = [*_list(ATTRIBUTES, entity), *_list(RELATIONSHIPS, entity)]
    texts = {label.name: label.text_of(entity) for label in _LINES}
    texts |= {name: text for name, text in entity.verbatim.items() if name not in _LISTS}
    entries += _labelled_lines(texts)
    parts = (f"### {entity.name}", entity.description, "\n".join(entries), entity.notes)
    return "\n\n".join(part for part in parts if part)


def _list(label: Column, entity: Entity) -> Iterator[str]:
    """A label with a list below it. Lines that were not read come last."""
    lines = [label.write(part) for part in getattr(entity, label.fields[0])]
    lines += filter(None, entity.verbatim.get(label.name, "").split("\n"))
    if lines:
        yield "\n".join([f"- **{label.name}**:", *(f"  - {_inline(line)}" for line in lines)])


_LISTS = frozenset({ATTRIBUTES.name, RELATIONSHIPS.name})
_LINES = [label for label in ENTITY_LABELS if label.name not in {*_LISTS, "Description"}]


def _decision(decision: Decision) -> str:
    parts = [part for part in (write_pin(decision.pin) if decision.pin else "", decision.text) if part]
    return f"- {_inline(' - '.join(parts))}"


def _inline(text: str) -> str:
    return text.replace("\n", "<br>")
