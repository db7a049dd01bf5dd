"""Assemble the document: entities, access patterns with their SQL, misfits, and points to review."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import msgspec
from sqlglot import exp

from prejoin.migrate.discover.entities import Review, TableEntity, derive_entity
from prejoin.migrate.discover.reads import DiscoveredPattern, read_pattern
from prejoin.migrate.discover.scope import MisfitError
from prejoin.migrate.discover.writes import merge_updates, write_pattern
from prejoin.migrate.queries.statement import Statement, added, quoted_sql, readable
from prejoin.workload.model import (
    Combine,
    Entity,
    Input,
    Pattern,
    Rate,
    Read,
    Result,
    Section,
    Status,
    Workload,
    Write,
)
from prejoin.workload.shorthand import write_out
from prejoin.workload.stubs import obvious

MOST_SQL = 300
"""Characters of a statement in the document; the mapping has it whole."""
UPDATES = 3
"""Plain updates of one entity that are patterns of their own; more are merged."""
SQL = "SQL"
"""The column with the statement."""
_NOTES = (
    f"- The column {SQL} quotes the statement of each pattern; mapping.toml has those that can be run on both sides."
)


@dataclass(frozen=True, slots=True)
class Misfit:
    """A statement that no key serves, and what to do instead."""

    sql: str
    what: str
    instead: str
    calls: float
    rate: Rate | None


@dataclass(frozen=True, slots=True)
class Interpretation:
    """The patterns and misfits of the statements."""

    found: tuple[tuple[DiscoveredPattern, float, Rate | None], ...]
    """Patterns, with the calls and the rate of their statements."""
    misfits: tuple[Misfit, ...]


@dataclass(frozen=True, slots=True)
class DiscoveredDocument:
    workload: Workload
    sql: Mapping[str, str]
    """The statement of each pattern that `migrate verify` can run, by the pattern's id."""
    misfits: tuple[Misfit, ...]
    review: tuple[str, ...]


def interpret(statements: Iterable[Statement], entities: Mapping[str, TableEntity], dialect: str) -> Interpretation:
    """Each statement as a pattern, or as a misfit. Statements that became the same pattern are one."""
    found: list[tuple[DiscoveredPattern, float, Rate | None]] = []
    misfits: list[Misfit] = []
    for statement in statements:
        try:
            select = isinstance(statement.tree, exp.Query)
            one = (read_pattern if select else write_pattern)(statement, entities, dialect)
        except MisfitError as problem:
            sql = quoted_sql(statement, dialect)
            misfits.append(Misfit(sql, problem.what, problem.instead, statement.calls, statement.rate))
            continue
        found.append((one, statement.calls, statement.rate))
    merged = _merged(found)
    return Interpretation((*merged, *_second_requests(merged, entities)), tuple(misfits))


def _second_requests(
    patterns: Iterable[tuple[DiscoveredPattern, float, Rate | None]], entities: Mapping[str, TableEntity]
) -> list[tuple[DiscoveredPattern, float, Rate | None]]:
    """Reads by id of entities that are only joined: the second request of a join needs a key for them."""
    patterns = list(patterns)
    known = {
        (r.entities, frozenset(i.attribute for i in r.inputs))
        for f, _, _ in patterns
        if isinstance(r := f.pattern, Read)
    }
    added_reads: dict[str, tuple[DiscoveredPattern, float, Rate | None]] = {}
    for one, calls, rate in patterns:
        if not isinstance(one.pattern, Read) or one.pattern.combine is not Combine.JOIN:
            continue
        name = one.pattern.entities[1]
        ids = next(entity.id for entity in entities.values() if entity.name == name)
        if ((name,), frozenset(ids)) not in known:
            inputs = tuple(Input(attribute) for attribute in ids)
            words = f"{name} by {' and '.join(ids)}"
            read = Read("", "", (name,), words, inputs, Result.ONE, paginated=False)
            note = f"no statement reads {name} by its id alone; the join does, in its second request"
            added_reads.setdefault(name, (DiscoveredPattern(read, "", one.quoted, (note,)), calls, rate))
    return list(added_reads.values())


def _merged(
    patterns: Iterable[tuple[DiscoveredPattern, float, Rate | None]],
) -> list[tuple[DiscoveredPattern, float, Rate | None]]:
    groups: dict[bytes, tuple[DiscoveredPattern, float, Rate | None]] = {}
    for one, calls, rate in patterns:
        pattern = one.pattern
        compared = msgspec.structs.replace(pattern, needs=()) if isinstance(pattern, Read) else pattern
        key = msgspec.json.encode([type(pattern).__name__, compared])
        if key not in groups:
            groups[key] = (one, calls, rate)
            continue
        first, before, rated = groups[key]
        merged = first
        if isinstance(first.pattern, Read) and isinstance(pattern, Read):
            needs = dict.fromkeys((*first.pattern.needs, *pattern.needs))
            all_of_them = not first.pattern.needs or not pattern.needs
            read = msgspec.structs.replace(first.pattern, needs=() if all_of_them else tuple(needs))
            merged = replace(first, pattern=read, sql=first.sql or one.sql)
        groups[key] = (merged, before + calls, added(rated, rate))
    return list(groups.values())


def write_document(
    title: str,
    entities: Mapping[str, TableEntity],
    interpreted: Interpretation | None,
    origins: Sequence[str],
    left_out: Mapping[str, str],
) -> DiscoveredDocument:
    """The workload of a database. Without statements, it has the obvious patterns of each entity."""
    review = Review()
    found = list(interpreted.found) if interpreted else []
    rates = {id(one): (calls, rate) for one, calls, rate in found}
    merged = merge_updates([one for one, _, _ in found], UPDATES)
    model = tuple(
        derive_entity(one, entities, _changed(one, merged, interpreted is not None), review)
        for one in entities.values()
    )
    if not found:
        workload = _obvious(model)
        seen = "No statement fits a key" if interpreted else "No statement was seen"
        review.add(f"{seen}: the access patterns are the obvious ones, without rates. Write down your own.")
        sql: dict[str, str] = {}
    else:
        workload, sql = _patterns(merged, rates, review)
    misfits = interpreted.misfits if interpreted else ()
    workload = msgspec.structs.replace(
        workload,
        title=title,
        status=Status.DRAFT,
        overview=_overview(origins, entities),
        entities=model,
        notes=_NOTES if found else "",
        sections=tuple(_sections(misfits, review, left_out)),
    )
    # Conditions name their entity, as those of a document that is read.
    return DiscoveredDocument(write_out(workload), sql, misfits, tuple(review.notes))


def _changed(one: TableEntity, found: Iterable[DiscoveredPattern], seen: bool) -> frozenset[str] | None:
    """The columns of a table that statements change; None if no statement writes to it."""
    writes = [f for f in found if isinstance(f.pattern, Write) and f.pattern.first_entity == one.name]
    if not seen or not writes:
        return None
    return frozenset(column for f in writes for table, column in f.column_changes if table == one.table.name)


def _obvious(model: tuple[Entity, ...]) -> Workload:
    base = Workload(entities=model)
    usual = obvious(base, {e.name for e in model})
    kinds: dict[str, Sequence[Pattern]] = {"reads": usual.reads, "writes": usual.writes, "deletes": usual.deletes}
    return msgspec.structs.replace(
        base, **{kind: _numbered(found, at) for at, (kind, found) in enumerate(kinds.items())}
    )


def _numbered(patterns: Sequence[Pattern], group: int) -> tuple[Pattern, ...]:
    """Reads from AP-001, writes from AP-401, deletes from AP-801: new ones can be added to each."""
    return tuple(msgspec.structs.replace(p, id=f"AP-{group * 400 + n:03}") for n, p in enumerate(patterns, 1))


def _patterns(
    found: Sequence[DiscoveredPattern], rates: Mapping[int, tuple[float, Rate | None]], review: Review
) -> tuple[Workload, dict[str, str]]:
    rated = any(rate for _, rate in rates.values())
    counted = len({calls for calls, _ in rates.values()}) > 1
    groups: list[list[DiscoveredPattern]] = [[], [], []]
    for one in found:
        pattern = one.pattern
        deletes = isinstance(pattern, Write) and pattern.actions[0].verb == "delete"
        groups[0 if isinstance(pattern, Read) else 2 if deletes else 1].append(one)
    kinds: list[tuple[Pattern, ...]] = []
    sql: dict[str, str] = {}
    for group, several in enumerate(groups):
        named = []
        for one in several:
            calls, rate = rates.get(id(one), (0.0, None))
            if rate is None and not rated and counted and calls:
                rate = Rate(weight=calls)
            pattern = msgspec.structs.replace(one.pattern, rate=readable(rate), verbatim={SQL: cell(one.quoted)})
            named.append(pattern)
        numbered = _numbered(named, group)
        for one, pattern in zip(several, numbered, strict=True):
            if one.sql:
                sql[pattern.id] = one.sql
            for note in one.notes:
                review.add(f"{pattern.id}: {note}.")
        kinds.append(numbered)
    if not rated:
        review.add(
            "The rates are not known: the log has no times. They are relative (`weight`); pass `--period` with the "
            "time that the log covers."
            if counted
            else "The rates are not known: fill in Frequency, or pass a log with times, or `--period`."
        )
    workload = Workload(reads=kinds[0], writes=kinds[1], deletes=kinds[2])  # type: ignore[arg-type]
    return workload, sql


def cell(sql: str) -> str:
    """A statement as code in one line of Markdown."""
    text = re.sub(r"\s+", " ", sql).replace("`", "").strip()
    return f"`{text if len(text) <= MOST_SQL else f'{text[: MOST_SQL - 1]}…'}`"


def _overview(origins: Sequence[str], entities: Mapping[str, TableEntity]) -> str:
    rows = sum(one.table.rows for one in entities.values())
    text = f"Derived by `prejoin discover` from a database of {len(entities)} tables with {rows:,} rows"
    text += f", and the statements of {', '.join(origins)}." if origins else "."
    return f"{text} The section To Review lists what was guessed; correct it before you design."


def _sections(misfits: Sequence[Misfit], review: Review, left_out: Mapping[str, str]) -> Iterable[Section]:
    if misfits:
        lines = ["These statements fit no key, and are not access patterns of this table.", ""]
        for one in sorted(misfits, key=lambda m: -m.calls):
            often = f" ({one.calls:,.0f} times)" if one.calls > 1 else ""
            what = one.what[:1].upper() + one.what[1:]
            lines += [f"- {cell(one.sql)}{often}", f"  - {what}. Instead: {one.instead}."]
        yield Section("Not Served by a Key", "\n".join(lines), after="Notes")
    if left_out:
        lines = ["These tables are not moved. `prejoin discover --table NAME` or `--all-tables` adds them.", ""]
        lines += [f"- {name}: {why}" for name, why in sorted(left_out.items())]
        yield Section("Tables Left Out", "\n".join(lines), after="Notes")
    if review.notes:
        lines = ["Guesses. Delete a line when you have checked it.", "", *(f"- {note}" for note in review.notes)]
        yield Section("To Review", "\n".join(lines), after="Notes")
