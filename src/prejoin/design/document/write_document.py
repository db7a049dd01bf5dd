"""Writes the table-design document: `write_document(design, workload)`. It reads back as the same design."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cached_property
from typing import Any

from msgspec.structs import replace

from prejoin.constructs.construct import AddedConstruct, Construct, DesignSection
from prejoin.constructs.registry import CONSTRUCTS, added_in, added_key, lines_in
from prejoin.design.cost.bill import bill
from prejoin.design.document import headings
from prejoin.design.document.added_keys import added_key_cells
from prejoin.design.document.annotations import Annotations, Validation
from prejoin.design.document.cells import (
    write_code,
    write_heading,
    write_list,
    write_name,
    write_prose,
    write_title,
)
from prejoin.design.document.operation_rows import Cells, rows_of
from prejoin.design.document.read_document import parse_document, read_document
from prejoin.design.document.review import ExpensiveLine, dearest, facts, structure_words
from prejoin.design.document.samples import plain, sample_item, sample_values, varying, written_key
from prejoin.design.document.tables import (
    COLLECTIONS,
    CONFIGURATION,
    CONTENTS,
    COSTS,
    COUNTERS,
    FACETS,
    GUARDS,
    INDEXES,
    ITEM_LABELS,
    READS,
    SETTINGS,
    SLOT_SETTINGS,
    VALIDATION,
    WRITES,
    PlacedContent,
)
from prejoin.design.document.tables import (
    CONSTRUCTS as CONSTRUCT_TABLES,
)
from prejoin.design.layout.growth import keeps
from prejoin.design.model import TABLE, Choice, Counter, Design, Guard, Item, ItemName, Slot
from prejoin.design.phrases import amount, money
from prejoin.design.requests.contents import content_readings
from prejoin.design.requests.lower import literal_requests, repeated_requests
from prejoin.design.requests.text import readings_text, requests_text
from prejoin.keys import KeyValueError, TemplateError
from prejoin.workload.contents import contents_of
from prejoin.workload.document.columns import TableKind, write_table
from prejoin.workload.document.write_document import UnwritableError, difference, own_sections
from prejoin.workload.model import Pattern, Status, Workload

_WIDEST = 48
"""Cells are padded up to this width, so that a long one does not widen the column."""


def write_document(
    design: Design, workload: Workload, kept: Annotations | None = None, validation: Sequence[Validation] = ()
) -> str:
    """The document of a design, with its authors' text and the results of checks.

    >>> from prejoin.design.model import KeyAttribute
    >>> shop = Design("shop", (Slot("table", (KeyAttribute("pk"),)),))
    >>> write_document(shop, Workload(title="Shop")).splitlines()[0]
    '# Shop: table design'
    """
    kept = kept or Annotations()
    document = _Document(design, workload, replace(kept, validation=tuple(validation) or kept.validation))
    text = "\n\n".join(part.strip("\n") for part in document.parts() if part.strip()) + "\n"
    reading = parse_document(text)
    if reading.design != replace(design, operations=()):
        path = difference(replace(design, operations=()), reading.design)
        raise UnwritableError(f"{path} cannot be written in a table-design document; write YAML or JSON")
    return text


def rewrite_document(
    text: str,
    design: Design,
    workload: Workload,
    source: str = "",
    validation: Sequence[Validation] = (),
    keeps_file: str | None = None,
    moves: str | None = None,
) -> str:
    """The document written again for a changed design, with all text of its authors.

    An approved document whose keys changed becomes a draft without its checks. If it only got additions, it stays
    approved and lists them as not reviewed. `keeps_file` is the design in use that it extends, and `moves` are the
    entities with another key than there; None leaves that line.
    """
    before = read_document(text, workload)
    kept = before.kept
    # Operations follow from the keys and decisions from the solver: a review of the keys is a review of both.
    if replace(before.design, operations=(), decisions=()) != replace(design, operations=(), decisions=()):
        kept = _without_review(kept, before.design, design)
    if moves is not None:
        header = {name: text for name, text in kept.header.items() if name != headings.MOVES}
        kept = replace(kept, header=({headings.MOVES: moves} if moves else {}) | header)
    keeps_line = kept.keeps if keeps_file is None else keeps_file
    kept = replace(kept, source=source or kept.source, keeps=keeps_line)
    return write_document(design, workload, kept, validation)


def _without_review(kept: Annotations, before: Design, after: Design) -> Annotations:
    """The annotations without results of checks and reviews that a change of the design made void."""
    header = dict(kept.header)
    earlier_additions = header.pop(headings.UNREVIEWED, "")
    if kept.status is not Status.APPROVED or not keeps(before, after):
        return replace(kept, status=Status.DRAFT, header=header, validation=())
    additions = [*([earlier_additions] if earlier_additions else []), *_addition_texts(before, after)]
    if additions:
        header[headings.UNREVIEWED] = "; ".join(additions)
    return replace(kept, header=header, validation=())


def _addition_texts(before: Design, after: Design) -> Iterator[str]:
    """The additions of a design, in a few words each."""
    yield from (slot.name for slot in after.indexes if before.slot(slot.name) is None)
    for item in after.items:
        former_item = before.item(item.entity, item.copy)
        if former_item is None:
            yield item_title(item)
            continue
        for facet in item.facets:
            if former_item.facet(facet.slot) is None:
                yield f"{item_title(item)} in {facet.slot}"
    for guard in after.guards:
        if guard not in before.guards:
            yield f"{write_title(guard.entity)}'s unique {' and '.join(guard.attributes)}"
    for counter in after.counters:
        if counter not in before.counters:
            yield f"{write_title(counter.entity)}'s counter in {counter.shards} shards"
    for store in after.stores:
        if store not in before.stores:
            yield f"{write_title(store.name)} in a store"


class _Document:
    def __init__(self, design: Design, workload: Workload, kept: Annotations) -> None:
        self.design = design
        self.workload = workload
        self.kept = kept
        self._unplaced_texts = dict(kept.prose)
        """Authors' text that is not placed yet."""

    def parts(self) -> Iterator[str]:
        kept = self.kept
        yield f"# {kept.title or _title(self.workload)}"
        header = {
            headings.STATUS: (kept.status or Status.DRAFT).value,
            headings.SOURCE: kept.source or "access-patterns.md",
            **({headings.KEEPS: kept.keeps} if kept.keeps else {}),
            headings.SUMMARY: self._summary(),
            **kept.header,
        }
        yield "\n".join(f"> {name}: {text}" for name, text in header.items())
        yield self._unplaced_texts.pop("front", "")
        yield from own_sections(kept.sections, "")
        bodies = {
            headings.REVIEW: self._review(),
            headings.CONFIGURATION: self._configuration(),
            headings.INDEXES: self._indexes(),
            headings.KEYS: self._keys(),
            headings.UNIQUE: self._guards(),
            headings.COUNTERS: self._counters(),
            headings.CONTENTS: self._contents(),
            **{
                construct.section.title: self._constructs(construct, construct.section)
                for construct in CONSTRUCTS
                if construct.section
            },
            headings.COLLECTIONS: self._collections(),
            headings.PATTERNS: iter(()),
            headings.READS: self._reads(),
            headings.WRITES: self._writes(headings.WRITES, self.workload.writes),
            headings.DELETES: self._writes(headings.DELETES, self.workload.deletes),
            headings.DECISIONS: iter(["\n".join(map(_decision, self.design.decisions))]),
            headings.VALIDATION: self._validation(),
            headings.REQUESTS: self._requests(),
        }
        for name, body in bodies.items():
            yield from self._section(name, [part for part in body if part.strip()])

    def _section(self, name: str, body: list[str]) -> Iterator[str]:
        is_always_written = name in {
            headings.CONFIGURATION,
            headings.INDEXES,
            headings.KEYS,
            headings.PATTERNS,
            headings.VALIDATION,
        }
        prose = self._unplaced_texts.pop(name, "")
        leftovers: list[str] = []
        for place in [place for place in self._unplaced_texts if place.startswith(f"{name}/")]:
            leftovers += self._text_without_place(place)
        own_texts = list(own_sections(self.kept.sections, name))
        if not (is_always_written or body or prose or leftovers or own_texts):
            return
        yield f"{'###' if name in _TABLES else '##'} {name}"
        if body or is_always_written:
            yield textwrap.fill(headings.INTRODUCTIONS.get(name, ""), 120)
        if name == headings.REVIEW:
            # The generated part is written again. The authors' additions come below it, before the next heading.
            yield from (*body, prose, *leftovers, *own_texts)
        else:
            yield from (prose, *body, *leftovers, *own_texts)

    def _text_without_place(self, place: str) -> Iterator[str]:
        """Text about an item or index that no longer exists. It is kept, for someone to move or delete."""
        text = self._unplaced_texts.pop(place, "")
        if text:
            yield f"{place.partition('/')[2]}:\n\n{text}"

    def _summary(self) -> str:
        design = self.design
        served_count = len(design.operations) - len(design.unserved)
        patterns = f"{served_count} of {len(design.operations)} access patterns served"
        return f"{', '.join(['1 table', *structure_words(design)])}; {patterns}"

    def _review(self) -> Iterator[str]:
        cost = bill(self.workload, self.design)
        lines: list[str] = []
        for label, sentences in facts(self.design, self.workload, cost, self.kept.validation):
            if len(sentences) == 1:
                lines.append(f"- **{label}**: {write_prose(sentences[0])}")
            else:
                lines += [f"- **{label}**:", *(f"  - {write_prose(sentence)}" for sentence in sentences)]
        yield "\n".join(lines)
        rows = [(line.name, self._cost(line)) for line in dearest(cost)]
        yield self._table(headings.REVIEW, COSTS, rows)

    def _cost(self, line: ExpensiveLine) -> Cells:
        pattern = self.workload.pattern(line.name)
        description = (pattern.description or pattern.name) if pattern else line.text
        units = [
            f"{amount(number)} {word}"
            for number, word in ((line.units.read, "read"), (line.units.write, "write"))
            if number
        ]
        return {
            "Most Expensive": write_prose(line.name),
            "What It Does": write_prose(description),
            "Times a Second": f"{line.rate:.3g}",
            "Units": " + ".join(units) or "-",
            "A Month": money(line.dollars),
        }

    # --- Keys -------------------------------------------------------------------------------------------------------

    def _configuration(self) -> Iterator[str]:
        base = self.design.slot(TABLE) or Slot(TABLE, ())
        texts = {
            setting.name: setting.text_of(base if setting in SLOT_SETTINGS else self.design) for setting in SETTINGS
        }
        if not base.purpose:
            del texts["Purpose"]
        texts |= self.kept.settings
        rows = [(name, {"Setting": name, "Value": text}) for name, text in texts.items()]
        yield self._table(headings.CONFIGURATION, CONFIGURATION, rows)

    def _indexes(self) -> Iterator[str]:
        yield self._table_of(headings.INDEXES, INDEXES, self.design.indexes, self._serves_cells) or headings.NO_INDEXES

    def _serves_cells(self, slot: Slot) -> Cells:
        """The patterns that read an index."""
        patterns = [
            operation.pattern
            for operation in self.design.operations
            if any(request.slot == slot.name for request in operation.requests)
        ]
        return {"Serves": write_prose(", ".join(patterns))}

    def _keys(self) -> Iterator[str]:
        for item in self.design.items:
            title = item_title(item)
            yield f"### {title}"
            yield self._unplaced_texts.pop(f"{headings.KEYS}/{title}", "")
            texts = {label.name: label.text_of(item) for label in ITEM_LABELS}
            yield "\n".join(f"- **{name}**: {text}" for name, text in texts.items() if text != "-")
            yield self._table_of(f"{headings.KEYS}/{title}", FACETS, item.facets)
            if sample := sample_item(self.design, self.workload, item):
                yield headings.SAMPLE
                yield f"```json\n{json.dumps(sample, indent=2, ensure_ascii=_has_surrogates(sample))}\n```"

    def _guards(self) -> Iterator[str]:
        yield self._table_of(headings.UNIQUE, GUARDS, self.design.guards, self._guard_key)

    def _guard_key(self, guard: Guard) -> Cells:
        """The key of a guard, with an example."""
        construct = self._constructs_by_item.get(guard.item_name)
        cells = added_key_cells(construct, self.design)
        if construct is None or not cells:
            return {}
        values = sample_values(self.workload, construct.entity, self.design)
        with suppress(KeyValueError):  # the reader reports that; here the example is omitted
            cells["Example"] = write_code(added_key(construct, self.design)[0].build(values))
        return cells

    def _counters(self) -> Iterator[str]:
        yield self._table_of(headings.COUNTERS, COUNTERS, self.design.counters, self._counter_key)

    def _counter_key(self, counter: Counter) -> Cells:
        return added_key_cells(self._constructs_by_item.get(counter.item_name), self.design)

    @cached_property
    def _constructs_by_item(self) -> Mapping[ItemName, AddedConstruct]:
        """The constructs that the design adds, by the names of their items."""
        return {construct.item_name: construct for construct in added_in(self.workload, self.design)}

    def _contents(self) -> Iterator[str]:
        contents = []
        entities = [entity for entity in self.workload.entities if self.design.item(entity.name)]
        for entity in entities:
            for attribute in contents_of(entity):
                is_stored = self.design.in_store(entity.name, attribute.name)
                contents.append(PlacedContent(entity.name, attribute.name, is_stored))
        yield self._table_of(headings.CONTENTS, CONTENTS, contents)

    def _constructs(self, construct: Construct[Any], section: DesignSection) -> Iterator[str]:
        rows = []
        for line in lines_in(self.workload, self.design):
            if line.construct is construct:
                name = line.entity.name
                rows.append((name, {"Entity": write_name(name), **line.design_row(self.design)}))
        yield self._table(section.title, CONSTRUCT_TABLES[section.title], rows)

    def _collections(self) -> Iterator[str]:
        """Sample items of each slot, in key order."""
        for slot in self.design.slots:
            sample_rows: list[tuple[list[str], list[str], str]] = []
            for item in self.design.items:
                sample_rows += self._sample_rows(slot, item)
            if not sample_rows:
                continue
            title = write_title(slot.name)
            yield f"### {title}"
            yield self._unplaced_texts.pop(f"{headings.COLLECTIONS}/{title}", "")
            # DynamoDB sorts texts by their bytes in UTF-8, Python by code points: that is the same order.
            rows = []
            for pk, sk, name in sorted(sample_rows):
                rows.append(("", {"Partition Key": write_list(pk), "Sort Key": write_list(sk), "Item": name}))
            yield self._table(f"{headings.COLLECTIONS}/{title}", COLLECTIONS, rows)

    def _sample_rows(self, slot: Slot, item: Item) -> Iterator[tuple[list[str], list[str], str]]:
        facet = item.facet(slot.name)
        entity = self.workload.entity(item.entity)
        if facet is None or entity is None:
            return
        varying_names = varying(entity, facet)
        for second in ((), varying_names) if varying_names else ((),):
            values = sample_values(self.workload, entity, self.design, second, facet.when)
            key = [str(plain(value)) for _, value in written_key(self.design, entity, slot, facet, values)]
            yield key[: len(slot.pk)], key[len(slot.pk) :], item_title(item)

    # --- What follows from them -------------------------------------------------------------------------------------

    def _reads(self) -> Iterator[str]:
        yield self._table(headings.READS, READS, self._rows_of(self.workload.reads))

    def _writes(self, name: str, patterns: Sequence[Pattern]) -> Iterator[str]:
        yield self._table(name, WRITES, self._rows_of(patterns))

    def _rows_of(self, patterns: Sequence[Pattern]) -> list[tuple[str, Cells]]:
        """The rows of patterns, each with its pattern."""
        rows: list[tuple[str, Cells]] = []
        for pattern in patterns:
            rows += [(pattern.id, row) for row in self._operation_rows(pattern)]
        return rows

    def _operation_rows(self, pattern: Pattern) -> Iterator[Cells]:
        operation = self.design.operation(pattern.id)
        if operation is not None:
            yield from rows_of(pattern, operation, self.design.partition_key)

    def _requests(self) -> Iterator[str]:
        for pattern in self.workload.patterns:
            operation = self.design.operation(pattern.id)
            if operation is None or not operation.served or not operation.requests:
                continue
            title = write_title(pattern.id)
            yield f"### {title}"
            yield self._unplaced_texts.pop(f"{headings.REQUESTS}/{title}", "")
            with suppress(KeyValueError, TemplateError):  # the reader reports that; here the requests are omitted
                yield f"```\n{requests_text(literal_requests(operation, self.workload, self.design))}\n```"
                if repeated_texts := repeated_requests(operation, self.workload, self.design):
                    yield f"{headings.REPEATED}\n\n```\n{requests_text(repeated_texts)}\n```"
                if readings := tuple(content_readings(operation, self.workload, self.design)):
                    yield f"{headings.READ_CONTENTS}\n\n```\n{readings_text(readings)}\n```"

    def _validation(self) -> Iterator[str]:
        yield self._table_of(headings.VALIDATION, VALIDATION, self.kept.validation) or headings.NOT_CHECKED

    def _table_of(
        self,
        place: str,
        kind: TableKind,
        items: Iterable[object],
        generate: Callable[[Any], Cells] = lambda item: {},
    ) -> str:
        """A table of parts of the design. `generate` gives the cells that no reader reads."""
        rows = []
        for item in items:
            texts = {column.name: column.text_of(item) for column in kind.columns if column.fields}
            rows.append((kind.row_name(item), {**texts, **generate(item)}))
        return self._table(place, kind, rows)

    def _table(self, place: str, kind: TableKind, rows: Iterable[tuple[str, Cells]]) -> str:
        """A table of named rows with the authors' additional columns."""
        texts = []
        for name, cells in rows:
            known_cells = {column.name: cells.get(column.name, "-") for column in kind.columns}
            texts.append(known_cells | self.kept.cells.get(f"{place}/{name}", {}))
        return write_table(kind.columns, texts, missing="-", widest=_WIDEST)


_TABLES = frozenset({headings.READS, headings.WRITES, headings.DELETES})


def item_title(item: Item) -> str:
    """The heading of an item: its entity and its copy."""
    title = write_title(item.entity)
    return f"{title} (copy {write_title(item.copy)})" if item.copy else title


def _title(workload: Workload) -> str:
    title = " ".join(workload.title.split())
    return f"{write_heading(title)}: {headings.TITLE}" if title else headings.TITLE.capitalize()


def _decision(choice: Choice) -> str:
    """A decision, `- **Order**: lives under its user.`, with its alternatives below."""
    is_bold = choice.about and not set(choice.about) & set("*`\\_[]<>\n") and choice.about == choice.about.strip(" :")
    about = f"**{choice.about}**" if is_bold and write_code(choice.about)[1] != '"' else write_code(choice.about)
    text = write_prose(choice.text) if choice.text else write_code("")
    alternatives = [
        f"  - Instead: {write_prose(alternative) if alternative else write_code('')}"
        for alternative in choice.alternatives
    ]
    return "\n".join([f"- {about}: {text}", *alternatives])


def _has_surrogates(sample: Mapping[str, object]) -> bool:
    text = json.dumps(sample, ensure_ascii=False)
    return any("\ud800" <= char <= "\udfff" for char in text)
