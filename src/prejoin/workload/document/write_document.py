"""Writes the Markdown document: `write_document(workload)`. It reads back as the same workload."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from prejoin.workload.conditions import leaves, values_of
from prejoin.workload.document.markdown import escape_cell, write_row
from prejoin.workload.document.read_document import read_document
from prejoin.workload.document.tables import COLLECTIONS, DELETES, NAME, READS, WRITES
from prejoin.workload.grammar.answers import write_combine, write_page, write_result, write_sort
from prejoin.workload.grammar.attributes import write_attribute
from prejoin.workload.grammar.inputs import write_inputs
from prejoin.workload.grammar.lexer import write_name
from prejoin.workload.grammar.quantities import write_cardinality, write_rate, write_size, write_span
from prejoin.workload.grammar.statements import write_pin, write_relationship, write_tenant
from prejoin.workload.grammar.values import write_history
from prejoin.workload.grammar.writes import write_actions, write_checks
from prejoin.workload.model import (
    Context,
    Decision,
    Entity,
    ItemCollection,
    Read,
    Workload,
    Write,
)
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
    again = read_document(document).workload
    if again != workload:
        advice = "take line breaks, backticks or leading marks such as `#`, `-` and `|` out of it"
        raise UnwritableError(f"{difference(workload, again)} cannot be written in Markdown as it is; {advice}")
    return document


def difference(wanted: object, got: object, path: str = "") -> str:
    """The first part that does not read back as written."""
    if type(wanted) is type(got):
        names = getattr(wanted, "__struct_fields__", ())
        for name in names:
            left, right = getattr(wanted, name), getattr(got, name)
            if left != right:
                return difference(left, right, f"{path}.{name}")
        if isinstance(wanted, tuple) and isinstance(got, tuple) and len(wanted) == len(got):
            for index, (left, right) in enumerate(zip(wanted, got, strict=True)):
                if left != right:
                    return difference(left, right, f"{path}[{index}]")
    return f"{path.lstrip('.')} ({wanted!r:.80})"


def _parts(w: Workload) -> Iterator[str]:
    yield f"# {w.title}"
    header = {**w.header, **({"Status": w.status.value} if w.status else {})}
    yield "\n".join(f"> {name}: {text}" for name, text in header.items())
    yield w.prose.get("front", "")
    yield from _own(w, "")
    tables = {
        "Reads": _table(READS, [_read(r, w) for r in w.reads]),
        "Writes": _table(WRITES, [_write(p, "Items Written", w) for p in w.writes]),
        "Deletes": _table(DELETES, [_write(p, "Items Deleted", w) for p in w.deletes]),
    }
    patterns = any(tables[name] or w.prose.get(name) or any(_own(w, name)) for name in tables)
    bodies = {
        "Domain Overview": [w.overview],
        "Context": [_context(w.context)] if w.context else [],
        "Entities": [_entity(e) for e in w.entities],
        "Access Patterns": [],
        **{name: [table] for name, table in tables.items()},
        "Item Collection Candidates": [_table(COLLECTIONS, [_collection(c) for c in w.collections])],
        "Decisions": ["\n".join(_decision(d) for d in w.decisions)],
        "Notes and Decisions": [],
        "Notes": [w.notes],
    }
    always = {"Context": w.context is not None, "Access Patterns": patterns}
    for name, body in bodies.items():
        parts = [part for part in (w.prose.get(name, ""), *body) if part.strip()]
        own = list(_own(w, name))
        if parts or own or always.get(name):
            yield f"{'###' if name in tables else '##'} {name}"
        yield from (*parts, *own)


def _own(w: Workload, after: str) -> Iterator[str]:
    """The author's own sections after a known one."""
    for section in w.sections:
        if section.after == after:
            yield f"{'#' * section.level} {section.title}"
            yield section.text


def _context(context: Context) -> str:
    percent = f"{context.analytics:g}%" if context.analytics is not None else None
    lines = {
        "Teams": context.teams,
        "Stage": context.stage,
        "Access patterns": context.patterns,
        "Analytics": percent,
        "Ad-hoc queries": _yes_no(context.ad_hoc),
        "GraphQL": _yes_no(context.graphql),
        "Experience": context.experience,
        "Tenant": write_tenant(context.tenant) if context.tenant else None,
        **context.verbatim,
    }
    return "\n".join(f"- **{label}**: {_inline(str(value))}" for label, value in lines.items() if value is not None)


def _entity(e: Entity) -> str:
    lists = {
        "Attributes": [write_attribute(a) for a in e.attributes],
        "Relationships": [write_relationship(r) for r in e.relationships],
    }
    lines = {
        "Cardinality": write_cardinality(e.singleton, e.cardinality),
        "Size": write_size(e.size) if e.size is not None else "",
        "Retention": write_span(e.retention) if e.retention is not None else "",
        "History": write_history(e.history) if e.history else "",
        "Unique": ", ".join(" + ".join(write_name(n) for n in group) for group in e.unique),
        "Excludes": ", ".join(write_name(n) for n in e.excludes),
        "Owner": e.owner,
        "Lifecycle": e.lifecycle,
        "Renamed from": write_name(e.renamed_from) if e.renamed_from else "",
    }
    entries = []
    for label, found in lists.items():
        found = [*found, *(line for line in e.verbatim.get(label, "").split("\n") if line)]
        if found:
            entries.append(f"- **{label}**:\n" + "\n".join(f"  - {_inline(line)}" for line in found))
    for label, line in {**lines, **{k: v for k, v in e.verbatim.items() if k not in lists}}.items():
        if line:
            entries.append(f"- **{label}**: {_inline(line)}")
    return "\n\n".join(part for part in (f"### {e.name}", e.description, "\n".join(entries), e.notes) if part)


def _read(r: Read, workload: Workload) -> Mapping[str, str]:
    return {
        **_head(r, workload),
        "Result": write_result(r.result, r.needs, r.limit) if r.result else "",
        "Sort": write_sort(r.sort) or "-",
        "Paginated": "" if r.paginated is None else write_page(r.paginated, r.page),
        "Consistency": r.consistency or "",
        "Multi-Entity": write_combine(r.combine, r.via) if r.combine else "No" if len(r.entities) < 2 else "",
        **r.verbatim,
    }


def _write(p: Write, items: str, workload: Workload) -> Mapping[str, str]:
    inputs = frozenset(i.attribute for i in p.inputs) | _attribute_names(p, workload)
    return {
        **_head(p, workload),
        items: write_actions(p.actions, inputs),
        "Transaction": _yes_no(p.atomic) or "",
        "Conditions": write_checks(p.checks, inputs) or "-",
        **p.verbatim,
    }


def _attribute_names(p: Read | Write, workload: Workload) -> frozenset[str]:
    """Attributes of a pattern's entities: a constant of such a name is in quotes, because it is not the attribute."""
    actions = () if isinstance(p, Read) else p.actions
    entities = [workload.entity(name) for name in (*p.entities, *(action.entity for action in actions))]
    names = {attribute.name for entity in entities if entity for attribute in entity.attributes}
    checks = () if isinstance(p, Read) else p.checks
    values = [value for one in p.inputs for value in one.values]
    values += [value for check in checks for leaf in leaves(check) for value in values_of(leaf)]
    values += [change.value for action in actions for change in action.changes if change.value]
    # An input that is missing is written `:name`, which only a name that is not among them is.
    return frozenset(names) - {value.param for value in values if value.param}


def _head(p: Read | Write, workload: Workload) -> Mapping[str, str]:
    return {
        "ID": p.id,
        "Entity": ", ".join(write_name(e) for e in p.entities),
        NAME: p.name,
        "Description": p.description,
        "Input Parameters": write_inputs(p.inputs, _attribute_names(p, workload)) or "-",
        "Frequency": write_rate(p.rate) if p.rate else "",
    }


def _collection(c: ItemCollection) -> Mapping[str, str]:
    names = {"Group": c.name, "Entities": ", ".join(write_name(e) for e in c.entities)}
    return {**names, "Access Patterns": ", ".join(c.patterns), "Rationale": c.text, **c.verbatim}


def _table(columns: Sequence[str], rows: Sequence[Mapping[str, str]]) -> str:
    """A table with the given columns, then those of the author's own that any row has."""
    if not rows:
        return ""
    extra = dict.fromkeys(name for row in rows for name, text in row.items() if text and name not in columns)
    header = [*columns, *extra]
    if NAME in extra:
        header.remove(NAME)
        header.insert(2, NAME)
    cells = [[escape_cell(row.get(name, "")) for name in header] for row in rows]
    return "\n".join([write_row(header), write_row("---" for _ in header), *(write_row(row) for row in cells)])


def _decision(decision: Decision) -> str:
    parts = [part for part in (write_pin(decision.pin) if decision.pin else "", decision.text) if part]
    return f"- {_inline(' - '.join(parts))}"


def _inline(text: str) -> str:
    return text.replace("\n", "<br>")


def _yes_no(value: bool | None) -> str | None:
    return None if value is None else "Yes" if value else "No"
