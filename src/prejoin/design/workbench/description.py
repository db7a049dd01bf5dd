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
from prejoin.design.mapping.facets import counter_templates, history_key
from prejoin.design.model import TABLE, Design, Facet, Item, ItemName, Slot
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
class Described:
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
        ENTITIES: [_entity(e) for e in workload.entities if e.attributes],
        f"Keys ({head}):": [_key(design, item, facet) for item in design.items for facet in item.facets],
        LEFT_OUT: [*left_out(design), *_kept(workload, design)],
    }
    told = [f"{title}\n" + "\n".join(f"- {line}" for line in lines) for title, lines in blocks.items() if lines]
    return "\n\n".join(part for part in (workload.overview.strip(), *told, _patterns(workload, design)) if part)


def left_out(design: Design) -> Iterator[str]:
    """The parts of a design that a model cannot hold, one sentence each."""
    for slot in design.indexes:
        if not in_form(slot):
            what = "a local index" if slot.local else "an index whose key has several attributes"
            yield f"{write_code(slot.name)} is {what}, and the form knows none"
    if design.ttl_attribute:
        yield f"{write_code(design.ttl_attribute)} is when an item ends (TTL)"


def _kept(workload: Workload, design: Design) -> Iterator[str]:
    """The sharded counters and the histories, whose items have keys of their own."""
    for entity in filter(lambda one: design.item(one.name), workload.entities):
        if counter := design.counter(entity.name):
            pk, sk = (template.text for template in counter_templates(design, entity))
            what = f"{write_list(counter.attributes)} of {write_code(entity.name)}"
            yield f"{what} is the sum of {counter.shards} items, {write_templates((pk, sk))}"
        if entity.history:
            key = write_templates(history_key(design, entity))
            yield f"earlier versions of {write_code(entity.name)} are items, {key}"


def in_form(slot: Slot) -> bool:
    """Whether the file format has a field for the slot."""
    return not slot.local and len(slot.pk) == 1 and len(slot.sk) <= 1


def _entity(entity: Entity) -> str:
    return f"{write_name(entity.name)}: {', '.join(write_attribute(replace(a, text='')) for a in entity.attributes)}"


def _key(design: Design, item: Item, facet: Facet) -> str:
    name = item.name
    when = f" when {write_when(facet.when)}" if facet.when else ""
    held = f" holding {write_list(item.attributes)}" if item.attributes and facet is item.facets[0] else ""
    return f"{write_code(name)} in {write_code(facet.slot)}: {write_templates((*facet.pk, *facet.sk))}{when}{held}"


def _patterns(workload: Workload, design: Design) -> str:
    """The tables of the document, with the operation of each pattern."""
    mine = Workload(
        "-",
        reads=tuple(_with_operation(read, design) for read in workload.reads),
        writes=tuple(_with_operation(write, design) for write in workload.writes),
        deletes=tuple(_with_operation(delete, design) for delete in workload.deletes),
    )
    text = write_document(mine) if mine.patterns else ""
    return text[text.index(PATTERNS) :].strip() if text else ""


def _with_operation(pattern: P, design: Design) -> P:
    operation = design.operation(pattern.id)
    does = "; ".join(
        " ".join(filter(None, (r.call.value, f"on {write_code(r.slot)}" if r.pk else "", r.pk and write_code(r.pk),
                               r.sk and write_code(r.sk))))
        for r in (operation.requests if operation else ())
    )  # fmt: skip
    return replace(pattern, verbatim={**pattern.verbatim, OPERATION: does} if does else pattern.verbatim)


# --- Read -----------------------------------------------------------------------------------------------------------


def read_description(text: str) -> Described:
    """Read a description. Without any of the headings all of it is the overview.

    >>> told = read_description("A shop.\\n\\nEntities:\\n- User: userId (uuid, id)")
    >>> told.overview, [str(a.type) for a in told.entities["User"].attributes]
    ('A shop.', ['uuid'])
    """
    found = Described()
    block = ""
    overview: list[str] = []
    lines = text.splitlines()
    if PATTERNS in lines:
        at = lines.index(PATTERNS)
        lines, found.patterns = lines[:at], _read_patterns(found, lines[at:])
    for line in lines:
        bare = line.strip()
        if bare in {ENTITIES, LEFT_OUT}:
            block = bare
        elif keys := _KEYS.fullmatch(bare):
            block = "Keys:"
            found.separator, found.type_attribute = read_code(keys[1]), read_code(keys[2])
            found.raw = bool(keys[3])
        elif not block or not bare.startswith("- "):
            overview += [line] if not block or bare else []
        elif block == ENTITIES:
            entity = _attempt(found, bare[2:], read_entity)
            if entity is not None:
                found.entities.setdefault(entity.name, replace(entity, singleton=not entity.id))
        elif block == "Keys:":
            _attempt(found, bare[2:], lambda told: _read_key(found, told))
    found.overview = "\n".join(overview).strip()
    return found


def _read_patterns(found: Described, lines: Sequence[str]) -> Workload:
    # A document needs an entity; the real ones come from the model, so this one is a placeholder.
    reading = read_document("\n".join(["# -", "", "## Entities", "", "### Any", "", *lines]))
    problem = next((d for d in reading.diagnostics if d.severity is Severity.ERROR), None)
    if problem is not None:
        found.wrong.append((problem.text or PATTERNS, problem.message))
        return Workload()
    w = reading.workload
    return Workload(
        reads=tuple(_without_operation(read) for read in w.reads),
        writes=tuple(_without_operation(write) for write in w.writes),
        deletes=tuple(_without_operation(delete) for delete in w.deletes),
    )


def _without_operation(pattern: P) -> P:
    return replace(pattern, verbatim={name: text for name, text in pattern.verbatim.items() if name != OPERATION})


def _attempt(found: Described, line: str, read: Callable[[str], T]) -> T | None:
    try:
        return read(line)
    except Inexact as problem:
        found.wrong.append((line, problem.message))
        return None


def _read_key(found: Described, line: str) -> None:
    """Read a key line: `` `Order/by-user` in `gsi1`: `USER#{userId}`, `{status}` when `status` is `OPEN` holding
    `a`, `b` ``.
    """
    parts = [part for _, part in split(line, r"\s+in\s+|:\s+")]
    if len(parts) != 3:
        raise Inexact(f"`{line}` is not a key", "write `` `Order` in `gsi1`: `STATUS#{status}` ``")
    keys, _, held = _parted(parts[2], "holding")
    keys, _, when = _parted(keys, "when")
    texts = read_templates(keys)
    if not 1 <= len(texts) <= 2:
        raise Inexact(f"`{keys}` is not a key", "write one template for the partition key, one for the sort key")
    name = ItemName.parse(read_code(parts[0]))
    slot = read_code(parts[1])
    facet = Facet(slot, texts[:1], texts[1:], read_when(when))
    mine = found.facets.setdefault((name.entity, name.copy), [])
    if any(other.slot == slot for other in mine):
        raise Inexact(f"`{line}` stands twice", "say it once")
    mine[0:0] = [facet] if slot == TABLE else []
    mine += [] if slot == TABLE else [facet]
    if held:
        found.held[name.entity, name.copy] = read_list(held)


def _parted(text: str, word: str) -> tuple[str, str, str]:
    pieces = [piece for _, piece in split(text, rf"\s+{word}\s+")]
    return pieces[0], word, word.join(pieces[1:])
