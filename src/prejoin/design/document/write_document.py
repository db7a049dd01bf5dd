"""Writes the table-design document: `write_document(design, workload)`. It reads back as the same design."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Iterator, Mapping, Sequence

from msgspec.structs import replace

from prejoin.design.cost.bill import bill
from prejoin.design.document import headings
from prejoin.design.document.annotations import Annotations, Validation
from prejoin.design.document.cells import (
    write_code,
    write_heading,
    write_key,
    write_list,
    write_name,
    write_projection,
    write_prose,
    write_templates,
    write_title,
    write_when,
)
from prejoin.design.document.operation_rows import Cells, read_rows_of, write_rows_of
from prejoin.design.document.read_document import parse_document, read_document
from prejoin.design.document.review import ExpensiveLine, dearest, facts
from prejoin.design.document.samples import plain, sample_item, sample_values, varying, written_key
from prejoin.design.explain.phrases import amount, money
from prejoin.design.layout.growth import keeps
from prejoin.design.mapping.facets import counter_templates, history_key
from prejoin.design.model import TABLE, Choice, Counter, Design, Facet, Guard, Item, Slot
from prejoin.keys import KeyValueError, TemplateError
from prejoin.keys.guard import guard_key
from prejoin.workload.contents import contents_of
from prejoin.workload.document.markdown import escape_cell, write_row
from prejoin.workload.document.write_document import UnwritableError, difference
from prejoin.workload.grammar.values import write_history
from prejoin.workload.model import Attribute, Entity, History, Pattern, Status, Workload

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
    again = parse_document(text)
    if again.design != replace(design, operations=()):
        where = difference(replace(design, operations=()), again.design)
        raise UnwritableError(f"{where} cannot be written in a table-design document; write YAML or JSON")
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
    if replace(before.design, operations=(), decisions=()) != replace(design, operations=(), decisions=()):
        status, header = Status.DRAFT, {name: said for name, said in kept.header.items() if name != headings.UNREVIEWED}
        if kept.status is Status.APPROVED and keeps(before.design, design):
            known = [kept.header[headings.UNREVIEWED]] if headings.UNREVIEWED in kept.header else []
            status, added = Status.APPROVED, [*known, *_added(before.design, design)]
            header |= {headings.UNREVIEWED: "; ".join(added)} if added else {}
        kept = replace(kept, status=status, header=header, validation=())
    if moves is not None:
        header = {name: text for name, text in kept.header.items() if name != headings.MOVES}
        kept = replace(kept, header=({headings.MOVES: moves} if moves else {}) | header)
    keeps_line = kept.keeps if keeps_file is None else keeps_file
    kept = replace(kept, source=source or kept.source, keeps=keeps_line)
    return write_document(design, workload, kept, validation)


def _added(before: Design, after: Design) -> Iterator[str]:
    """The additions of a design, in a few words each."""
    yield from (slot.name for slot in after.indexes if before.slot(slot.name) is None)
    for item in after.items:
        was = before.item(item.entity, item.copy)
        if was is None:
            yield item_title(item)
        else:
            new = [facet.slot for facet in item.facets if was.facet(facet.slot) is None]
            yield from (f"{item_title(item)} in {slot}" for slot in new)
    new_guards = [guard for guard in after.guards if guard not in before.guards]
    yield from (f"{write_title(guard.entity)}'s unique {' and '.join(guard.attributes)}" for guard in new_guards)
    new_counters = [counter for counter in after.counters if counter not in before.counters]
    yield from (f"{write_title(one.entity)}'s counter in {one.shards} shards" for one in new_counters)
    yield from (f"{write_title(one.name)} in a store" for one in after.stores if one not in before.stores)


class _Document:
    def __init__(self, design: Design, workload: Workload, kept: Annotations) -> None:
        self.design = design
        self.workload = workload
        self.kept = kept
        self._left = dict(kept.prose)
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
        yield self._left.pop("front", "")
        yield from self._own("")
        bodies = {
            headings.REVIEW: self._review(),
            headings.CONFIGURATION: self._configuration(),
            headings.INDEXES: self._indexes(),
            headings.KEYS: self._keys(),
            headings.UNIQUE: self._guards(),
            headings.COUNTERS: self._counters(),
            headings.CONTENTS: self._contents(),
            headings.HISTORIES: self._histories(),
            headings.COLLECTIONS: self._collections(),
            headings.PATTERNS: iter(()),
            headings.READS: self._reads(),
            headings.WRITES: self._writes(headings.WRITES, self.workload.writes),
            headings.DELETES: self._writes(headings.DELETES, self.workload.deletes),
            headings.DECISIONS: iter(["\n".join(map(_decision, self.design.decisions))]),
            headings.VALIDATION: self._validation(),
        }
        for name, body in bodies.items():
            yield from self._section(name, [part for part in body if part.strip()])

    def _section(self, name: str, body: list[str]) -> Iterator[str]:
        always = name in {
            headings.CONFIGURATION,
            headings.INDEXES,
            headings.KEYS,
            headings.PATTERNS,
            headings.VALIDATION,
        }
        prose = self._left.pop(name, "")
        left = [text for place in list(self._left) if place.startswith(f"{name}/") for text in self._homeless(place)]
        own = list(self._own(name))
        if not (always or body or prose or left or own):
            return
        yield f"{'###' if name in _TABLES else '##'} {name}"
        if body or always:
            yield textwrap.fill(headings.INTRODUCTIONS.get(name, ""), 120)
        if name == headings.REVIEW:
            # The generated part is written again. The authors' additions come below it, before the next heading.
            yield from (*body, prose, *left, *own)
        else:
            yield from (prose, *body, *left, *own)

    def _own(self, after: str) -> Iterator[str]:
        """The authors' own sections after a known one."""
        for section in self.kept.sections:
            if section.after == after:
                yield f"{'#' * section.level} {section.title}"
                yield section.text

    def _homeless(self, place: str) -> Iterator[str]:
        """Text about an item or index that no longer exists. It is kept, for someone to move or delete."""
        text = self._left.pop(place, "")
        if text:
            yield f"{place.partition('/')[2]}:\n\n{text}"

    def _summary(self) -> str:
        design = self.design
        counts = [(1, "table"), (len(design.indexes), "index"), (len(design.copies), "copy")]
        counts += [(len(design.guards), "guard"), (len(design.counters), "sharded counter")]
        counts += [(1 if design.stores else 0, "object store")]
        served = sum(operation.served for operation in design.operations)
        patterns = f"{served} of {len(design.operations)} access patterns served"
        return ", ".join(_counted(n, word) for n, word in counts if n) + f"; {patterns}"

    def _review(self) -> Iterator[str]:
        cost = bill(self.workload, self.design)
        lines = []
        for label, said in facts(self.design, self.workload, cost, self.kept.validation):
            texts = [write_prose(one) for one in said]
            lines += (
                [f"- **{label}**: {texts[0]}"] if len(texts) == 1 else [f"- **{label}**:", *(f"  - {t}" for t in texts)]
            )
        yield "\n".join(lines)
        rows = [(one.name, self._cost(one)) for one in dearest(cost)]
        yield self._table(headings.REVIEW, headings.COST_COLUMNS, rows)

    def _cost(self, one: ExpensiveLine) -> Cells:
        pattern = self.workload.pattern(one.name)
        described = (pattern.description or pattern.name) if pattern else one.text
        units = [f"{amount(n)} {word}" for n, word in ((one.units.read, "read"), (one.units.write, "write")) if n]
        return {
            "Most Expensive": write_prose(one.name),
            "What It Does": write_prose(described) if described else "-",
            "Times a Second": f"{one.rate:.3g}",
            "Units": " + ".join(units) or "-",
            "A Month": money(one.dollars),
        }

    # --- Keys -------------------------------------------------------------------------------------------------------

    def _configuration(self) -> Iterator[str]:
        design = self.design
        base = design.slot(TABLE) or Slot(TABLE, ())
        values = (
            write_code(design.table),
            design.billing.value,
            write_key(base.pk),
            write_key(base.sk),
            write_code(design.type_attribute),
            write_code(design.separator),
            "Yes" if design.raw_keys else "No",
            write_code(design.ttl_attribute) if design.ttl_attribute else "-",
            write_prose(base.purpose),
        )
        rows = {**dict(zip(headings.SETTINGS, values, strict=True)), **self.kept.settings}
        if not base.purpose:
            del rows["Purpose"]
        cells = [(name, {"Setting": name, "Value": value}) for name, value in rows.items()]
        yield self._table(headings.CONFIGURATION, headings.SETTING_COLUMNS, cells)

    def _indexes(self) -> Iterator[str]:
        rows = [(slot.name, self._index(slot)) for slot in self.design.indexes]
        yield self._table(headings.INDEXES, headings.INDEX_COLUMNS, rows) if rows else headings.NO_INDEXES

    def _index(self, slot: Slot) -> Cells:
        serves = [o.pattern for o in self.design.operations if any(r.slot == slot.name for r in o.requests)]
        return {
            "Index": write_code(slot.name),
            "Kind": "local" if slot.local else "-",
            "Partition Key": write_key(slot.pk),
            "Sort Key": write_key(slot.sk),
            "Projection": write_projection(slot.projection),
            "Serves": write_prose(", ".join(serves)),
            "Purpose": write_prose(slot.purpose),
        }

    def _keys(self) -> Iterator[str]:
        for item in self.design.items:
            title = item_title(item)
            yield f"### {title}"
            yield self._left.pop(f"{headings.KEYS}/{title}", "")
            labels = [f"- **Type**: {write_code(item.tag)}"]
            if item.attributes:
                labels.append(f"- **Holds**: {write_list(item.attributes)}")
            if item.known:
                labels.append(f"- **Attributes**: {write_list(item.known)}")
            yield "\n".join(labels)
            place = f"{headings.KEYS}/{title}"
            yield self._table(place, headings.KEY_COLUMNS, [(f.slot, _facet(f)) for f in item.facets])
            if sample := sample_item(self.design, self.workload, item):
                yield headings.SAMPLE
                yield f"```json\n{json.dumps(sample, indent=2, ensure_ascii=_has_surrogates(sample))}\n```"

    def _guards(self) -> Iterator[str]:
        rows = [(g.name, self._guard(g)) for g in self.design.guards]
        yield self._table(headings.UNIQUE, headings.UNIQUE_COLUMNS, rows)

    def _guard(self, guard: Guard) -> Cells:
        pk = sk = example = ""
        entity, own = self.workload.entity(guard.entity), self.design.item(guard.entity)
        if entity and own and guard.attributes:
            base = self.design.slot(TABLE)
            values = sample_values(self.workload, entity, self.design)
            try:
                templates = guard_key(
                    own.tag, guard.attributes, entity.types, self.design.separator, bool(base and base.sk)
                )
                pk, sk = (template.text if template else "" for template in templates)
                example = templates[0].build(values)
            except (TemplateError, KeyValueError):
                pass  # the reader reports that; here the example is omitted
        return {
            "Entity": write_name(guard.entity),
            "Attributes": write_list(guard.attributes, " + "),
            "Partition Key": write_code(pk) if pk else "-",
            "Sort Key": write_code(sk) if sk else "-",
            "Example": write_code(example) if example else "-",
        }

    def _counters(self) -> Iterator[str]:
        rows = [(counter.name, self._counter(counter)) for counter in self.design.counters]
        yield self._table(headings.COUNTERS, headings.COUNTER_COLUMNS, rows)

    def _counter(self, counter: Counter) -> Cells:
        entity = self.workload.entity(counter.entity)
        pk, sk = counter_templates(self.design, entity) if entity else (None, None)
        return {
            "Entity": write_name(counter.entity),
            "Attributes": write_list(counter.attributes, " + "),
            "Shards": str(counter.shards),
            "Partition Key": write_code(pk.text) if pk else "-",
            "Sort Key": write_code(sk.text) if sk else "-",
        }

    def _contents(self) -> Iterator[str]:
        found = [(e, a) for e in self.workload.entities if self.design.item(e.name) for a in contents_of(e)]
        rows = [(f"{entity.name}.{a.name}", self._content(entity, a)) for entity, a in found]
        yield self._table(headings.CONTENTS, headings.CONTENT_COLUMNS, rows)

    def _content(self, entity: Entity, attribute: Attribute) -> Cells:
        stored = self.design.in_store(entity.name, attribute.name)
        return {
            "Entity": write_name(entity.name),
            "Attribute": write_name(attribute.name),
            "Place": headings.STORE if stored else headings.PARTS,
        }

    def _histories(self) -> Iterator[str]:
        kept = [(e, e.history) for e in self.workload.entities if e.history and self.design.item(e.name)]
        rows = [(entity.name, self._history(entity, history)) for entity, history in kept]
        yield self._table(headings.HISTORIES, headings.HISTORY_COLUMNS, rows)

    def _history(self, entity: Entity, history: History) -> Cells:
        pk, sk = history_key(self.design, entity)
        return {
            "Entity": write_name(entity.name),
            "Keeps": write_history(history),
            "Partition Key": write_code(pk),
            "Sort Key": write_code(sk),
        }

    def _collections(self) -> Iterator[str]:
        """Sample items of each slot, in key order."""
        for slot in self.design.slots:
            rows = sorted(row for item in self.design.items for row in self._pictured(slot, item))
            if not rows:
                continue
            title = write_title(slot.name)
            yield f"### {title}"
            yield self._left.pop(f"{headings.COLLECTIONS}/{title}", "")
            cells = [
                ("", {"Partition Key": write_list(pk), "Sort Key": write_list(sk), "Item": item})
                for pk, sk, item in rows
            ]
            yield self._table(f"{headings.COLLECTIONS}/{title}", headings.COLLECTION_COLUMNS, cells)

    def _pictured(self, slot: Slot, item: Item) -> Iterator[tuple[list[str], list[str], str]]:
        facet = item.facet(slot.name)
        entity = self.workload.entity(item.entity)
        if facet is None or entity is None:
            return
        others = varying(entity, facet)
        for second in ((), others) if others else ((),):
            values = sample_values(self.workload, entity, self.design, second, facet.when)
            key = [str(plain(v)) for _, v in written_key(self.design, entity, slot, facet, values)]
            yield key[: len(slot.pk)], key[len(slot.pk) :], item_title(item)

    # --- What follows from them -------------------------------------------------------------------------------------

    def _reads(self) -> Iterator[str]:
        rows = [(p.id, row) for p in self.workload.reads for row in self._mapped(p)]
        yield self._table(headings.READS, headings.READ_COLUMNS, rows)

    def _writes(self, name: str, patterns: Sequence[Pattern]) -> Iterator[str]:
        rows = [(p.id, row) for p in patterns for row in self._mapped(p)]
        yield self._table(name, headings.WRITE_COLUMNS, rows)

    def _mapped(self, pattern: Pattern) -> Iterator[Cells]:
        operation = self.design.operation(pattern.id)
        if operation is not None:
            rows_of = read_rows_of if pattern in self.workload.reads else write_rows_of
            yield from rows_of(pattern, operation)

    def _validation(self) -> Iterator[str]:
        rows = [
            (v.check, {"Check": write_prose(v.check), "Result": write_prose(v.result), "Detail": write_prose(v.detail)})
            for v in self.kept.validation
        ]
        yield self._table(headings.VALIDATION, headings.VALIDATION_COLUMNS, rows) if rows else headings.NOT_CHECKED

    def _table(self, place: str, columns: Sequence[str], rows: Sequence[tuple[str, Cells]]) -> str:
        """A table with the authors' additional columns."""
        if not rows:
            return ""
        own = [self.kept.cells.get(f"{place}/{name}", {}) for name, _ in rows]
        header = [*columns, *dict.fromkeys(title for cells in own for title in cells)]
        used = [c for c in header if c not in _OPTIONAL or any(row.get(c, "-") not in {"", "-"} for _, row in rows)]
        cells = [
            [escape_cell({**row, **extra}.get(c, "" if c in extra else "-")) for c in used]
            for (_, row), extra in zip(rows, own, strict=True)
        ]
        return _aligned([escape_cell(c) for c in used], cells)


_TABLES = frozenset({headings.READS, headings.WRITES, headings.DELETES})
_OPTIONAL = frozenset({"Only When", "Remarks", "Over", "Detail", "Purpose", "Serves", "Action", "Kind"})
"""Columns that are omitted if they are empty."""


def item_title(item: Item) -> str:
    """The heading of an item: its entity and its copy."""
    title = write_title(item.entity)
    return f"{title} (copy {write_title(item.copy)})" if item.copy else title


def _title(workload: Workload) -> str:
    title = " ".join(workload.title.split())
    return f"{write_heading(title)}: {headings.TITLE}" if title else headings.TITLE.capitalize()


def _counted(count: int, word: str) -> str:
    """
    >>> _counted(2, "index"), _counted(1, "copy"), _counted(3, "copy")
    ('2 indexes', '1 copy', '3 copies')
    """
    plurals = {"index": "indexes", "copy": "copies"}
    return f"{count} {word if count == 1 else plurals.get(word, word + 's')}"


def _facet(facet: Facet) -> Mapping[str, str]:
    return {
        "Table or Index": facet.slot if facet.slot == TABLE else write_code(facet.slot),
        "Partition Key": write_templates(facet.pk),
        "Sort Key": write_templates(facet.sk),
        "Only When": write_when(facet.when),
    }


def _decision(choice: Choice) -> str:
    """A decision, `- **Order**: lives under its user.`, with its alternatives below."""
    bold = choice.about and not set(choice.about) & set("*`\\_[]<>\n") and choice.about == choice.about.strip(" :")
    about = f"**{choice.about}**" if bold and write_code(choice.about)[1] != '"' else write_code(choice.about)
    text = write_prose(choice.text) if choice.text else write_code("")
    instead = [f"  - Instead: {write_prose(one) if one else write_code('')}" for one in choice.alternatives]
    return "\n".join([f"- {about}: {text}", *instead])


def _aligned(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    widths = [
        max(3, *(min(len(row[at]), _WIDEST) for row in (header, *rows)))  # `---` needs three
        for at in range(len(header))
    ]
    lines = [header, ["-" * width for width in widths], *rows]
    return "\n".join(write_row(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) for row in lines)


def _has_surrogates(sample: Mapping[str, object]) -> bool:
    text = json.dumps(sample, ensure_ascii=False)
    return any("\ud800" <= char <= "\udfff" for char in text)
