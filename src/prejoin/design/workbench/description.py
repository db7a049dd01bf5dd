"""The description of a model, with everything that the file format has no field for, in lines that can be read back.

It has the types of attributes, the keys of items and indexes, and the access patterns. The samples of NoSQL Workbench
list access patterns in their descriptions, too.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from msgspec.structs import replace

from prejoin.constructs.registry import added_constructs, lines_of
from prejoin.design.document.cells import (
    read_code,
    read_list,
    read_templates,
    read_when,
    split,
    write_code,
    write_list,
    write_templates,
    write_when,
)
from prejoin.design.model import TABLE, Design, Facet, Item, ItemName, Request, Slot
from prejoin.diagnostics import Severity
from prejoin.workload.document.read_document import read_document
from prejoin.workload.document.write_document import write_document
from prejoin.workload.grammar.attributes import write_attribute
from prejoin.workload.grammar.lexer import Inexact, write_name
from prejoin.workload.model import Entity, Read, Workload, Write
from prejoin.workload.starter import read_entity

ENTITIES = "Entities:"
PATTERNS = "## Access Patterns"
OPERATION = "Operation"
"""The column for people, which is not read."""
LEFT_OUT = "Not in this model:"
_KEYS = re.compile(
    r"Keys \(separator (`{1,9}.{1,20}?`{1,9}), type attribute (`{1,9}.{1,300}?`{1,9})(, values as they stand)?\):"
)
T = TypeVar("T")
P = TypeVar("P", Read, Write)


@dataclass(slots=True)
class Description:
    """The contents of a description. `separator` is empty if it has no keys."""

    overview: str = ""
    entities: dict[str, Entity] = field(default_factory=dict)
    facets: dict[tuple[str, str], list[Facet]] = field(default_factory=dict)
    """By entity and copy, in the order of the lines."""
    held: dict[tuple[str, str], tuple[str, ...]] = field(default_factory=dict)
    separator: str = ""
    type_attribute: str = ""
    raw: bool = False
    patterns: Workload = field(default_factory=Workload)
    """A workload with the reads, writes and deletes only."""
    wrong: list[tuple[str, str]] = field(default_factory=list)
    """Lines that could not be read, and why."""


# --- Written --------------------------------------------------------------------------------------------------------


def write_description(workload: Workload, design: Design) -> str:
    """The description of a design's model."""
    raw = ", values as they stand" if design.raw_keys else ""
    head = f"separator {write_code(design.separator)}, type attribute {write_code(design.type_attribute)}{raw}"
    blocks = {
        ENTITIES: [_entity_line(entity) for entity in workload.entities if entity.attributes],
        f"Keys ({head}):": [_key_line(item, facet) for item in design.items for facet in item.facets],
        LEFT_OUT: [*left_out(design), *_added_item_lines(workload, design)],
    }
    parts = [workload.overview.strip()]
    for title, lines in blocks.items():
        if lines:
            parts.append(f"{title}\n" + "\n".join(f"- {line}" for line in lines))
    parts.append(_pattern_tables(workload, design))
    return "\n\n".join(part for part in parts if part)


def left_out(design: Design) -> Iterator[str]:
    """The parts of a design that a model cannot hold, one sentence each."""
    for slot in design.indexes:
        if not in_form(slot):
            kind = "a local index" if slot.local else "an index whose key has several attributes"
            yield f"{write_code(slot.name)} is {kind}, and the form knows none"
    if design.ttl_attribute:
        yield f"{write_code(design.ttl_attribute)} is when an item ends (TTL)"


def _added_item_lines(workload: Workload, design: Design) -> Iterator[str]:
    """The sharded counters and the items of constructs, which have keys of their own."""
    for entity in workload.entities:
        if design.item(entity.name) is None:
            continue
        entity_code = write_code(entity.name)
        if counter := design.counter(entity.name):
            constructs = added_constructs(entity, design)
            construct = next(construct for construct in constructs if construct.item_name == counter.item_name)
            key = write_templates([template.text for template in construct.templates(design)])
            yield f"{write_list(counter.attributes)} of {entity_code} is the sum of {counter.shards} items, {key}"
        for line in lines_of(entity):
            for item in line.items(design):
                yield f"{item.plural} of {entity_code} are items, {write_templates((item.pk, item.sk))}"


def in_form(slot: Slot) -> bool:
    """Whether the file format has a field for the slot."""
    return not slot.local and len(slot.pk) == 1 and len(slot.sk) <= 1


def _entity_line(entity: Entity) -> str:
    # All attributes are in one line, so their descriptions are left out.
    attributes = [write_attribute(replace(attribute, text="")) for attribute in entity.attributes]
    return f"{write_name(entity.name)}: {', '.join(attributes)}"


def _key_line(item: Item, facet: Facet) -> str:
    when = f" when {write_when(facet.when)}" if facet.when else ""
    holding = f" holding {write_list(item.attributes)}" if item.attributes and facet is item.facets[0] else ""
    templates = write_templates(facet.templates)
    return f"{write_code(item.name)} in {write_code(facet.slot)}: {templates}{when}{holding}"


def _pattern_tables(workload: Workload, design: Design) -> str:
    """The tables of the document, with the operation of each pattern."""
    pattern_workload = Workload(
        "-",
        reads=tuple(_with_operation(read, design) for read in workload.reads),
        writes=tuple(_with_operation(write, design) for write in workload.writes),
        deletes=tuple(_with_operation(delete, design) for delete in workload.deletes),
    )
    text = write_document(pattern_workload) if pattern_workload.patterns else ""
    return text[text.index(PATTERNS) :].strip() if text else ""


def _with_operation(pattern: P, design: Design) -> P:
    operation = design.operation(pattern.id)
    text = "; ".join(map(_request_text, operation.requests)) if operation else ""
    return replace(pattern, verbatim={**pattern.verbatim, OPERATION: text} if text else pattern.verbatim)


def _request_text(request: Request) -> str:
    words = [request.call.value]
    if request.pk:
        words += [f"on {write_code(request.slot)}", write_code(request.pk)]
    if request.sk:
        words.append(write_code(str(request.sk)))
    return " ".join(words)


# --- Read -----------------------------------------------------------------------------------------------------------


def read_description(text: str) -> Description:
    """Read a description. Without any of the headings all of it is the overview.

    >>> description = read_description("A shop.\\n\\nEntities:\\n- User: userId (uuid, id)")
    >>> description.overview, [str(attribute.type) for attribute in description.entities["User"].attributes]
    ('A shop.', ['uuid'])
    """
    description = Description()
    block = ""
    overview: list[str] = []
    lines = text.splitlines()
    if PATTERNS in lines:
        start = lines.index(PATTERNS)
        lines, pattern_lines = lines[:start], lines[start:]
        description.patterns = _read_patterns(description, pattern_lines)
    for line in lines:
        bare_line = line.strip()
        if bare_line in {ENTITIES, LEFT_OUT}:
            block = bare_line
        elif keys := _KEYS.fullmatch(bare_line):
            block = "Keys:"
            description.separator, description.type_attribute = read_code(keys[1]), read_code(keys[2])
            description.raw = bool(keys[3])
        elif not block or not bare_line.startswith("- "):
            # Text between the lists belongs to the overview; empty lines do only where it begins.
            if not block or bare_line:
                overview.append(line)
        else:
            _read_list_line(description, block, bare_line.removeprefix("- "))
    description.overview = "\n".join(overview).strip()
    return description


def _read_list_line(description: Description, block: str, line: str) -> None:
    """Read a line of a list. Those of LEFT_OUT are for people."""
    if block == ENTITIES:
        entity = _attempt(description, line, read_entity)
        if entity is not None:
            description.entities.setdefault(entity.name, replace(entity, singleton=not entity.id))
    elif block == "Keys:":
        _attempt(description, line, lambda text: _read_key(description, text))


def _read_patterns(description: Description, lines: Sequence[str]) -> Workload:
    # A document needs an entity; the real ones come from the model, so this one is a placeholder.
    reading = read_document("\n".join(["# -", "", "## Entities", "", "### Any", "", *lines]))
    problem = next((diagnostic for diagnostic in reading.diagnostics if diagnostic.severity is Severity.ERROR), None)
    if problem is not None:
        description.wrong.append((problem.text or PATTERNS, problem.message))
        return Workload()
    workload = reading.workload
    return Workload(
        reads=tuple(_without_operation(read) for read in workload.reads),
        writes=tuple(_without_operation(write) for write in workload.writes),
        deletes=tuple(_without_operation(delete) for delete in workload.deletes),
    )


def _without_operation(pattern: P) -> P:
    return replace(pattern, verbatim={name: text for name, text in pattern.verbatim.items() if name != OPERATION})


def _attempt(description: Description, line: str, read: Callable[[str], T]) -> T | None:
    try:
        return read(line)
    except Inexact as problem:
        description.wrong.append((line, problem.message))
        return None


def _read_key(description: Description, line: str) -> None:
    """Read a key line: `` `Order/by-user` in `gsi1`: `USER#{userId}`, `{status}` when `status` is `OPEN` holding
    `a`, `b` ``.
    """
    parts = [part for _, part in split(line, r"\s+in\s+|:\s+")]
    if len(parts) != 3:
        raise Inexact(f"`{line}` is not a key", "write `` `Order` in `gsi1`: `STATUS#{status}` ``")
    keys, holding = _split_at_word(parts[2], "holding")
    keys, when = _split_at_word(keys, "when")
    texts = read_templates(keys)
    if not 1 <= len(texts) <= 2:
        raise Inexact(f"`{keys}` is not a key", "write one template for the partition key, one for the sort key")
    name = ItemName.parse(read_code(parts[0]))
    facet = Facet(read_code(parts[1]), texts[:1], texts[1:], read_when(when))
    facets = description.facets.setdefault((name.entity, name.copy), [])
    if any(other.slot == facet.slot for other in facets):
        raise Inexact(f"`{line}` stands twice", "say it once")
    # An item's first facet is its key in the table, whatever the order of the lines.
    facets.insert(0 if facet.slot == TABLE else len(facets), facet)
    if holding:
        description.held[name.entity, name.copy] = read_list(holding)


def _split_at_word(text: str, word: str) -> tuple[str, str]:
    """The text before and behind the first such word outside of backticks."""
    pieces = [piece for _, piece in split(text, rf"\s+{word}\s+")]
    return pieces[0], word.join(pieces[1:])
