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
from prejoin.migrate.queries.statement import Statement, add_rates, quoted_sql, readable
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
    Verb,
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
class PatternUse:
    """A pattern, with the calls and the rate of its statements."""

    sql_pattern: DiscoveredPattern
    calls: float
    rate: Rate | None


@dataclass(frozen=True, slots=True)
class Interpretation:
    """The patterns and misfits of the statements."""

    uses: tuple[PatternUse, ...]
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
    uses: list[PatternUse] = []
    misfits: list[Misfit] = []
    for statement in statements:
        read_statement = read_pattern if isinstance(statement.tree, exp.Query) else write_pattern
        try:
            sql_pattern = read_statement(statement, entities, dialect)
        except MisfitError as problem:
            sql = quoted_sql(statement, dialect)
            misfits.append(Misfit(sql, problem.reason, problem.alternative, statement.calls, statement.rate))
            continue
        uses.append(PatternUse(sql_pattern, statement.calls, statement.rate))
    unique_uses = _merge_equal_patterns(uses)
    return Interpretation((*unique_uses, *_second_requests(unique_uses, entities)), tuple(misfits))


def _second_requests(uses: Sequence[PatternUse], entities: Mapping[str, TableEntity]) -> list[PatternUse]:
    """Reads by id of entities that are only joined: the second request of a join needs a key for them."""
    reads = [use.sql_pattern.pattern for use in uses if isinstance(use.sql_pattern.pattern, Read)]
    covered_reads = {(read.entities, frozenset(item.attribute for item in read.inputs)) for read in reads}
    by_name = {entity.name: entity for entity in entities.values()}
    requests: dict[str, PatternUse] = {}
    for use in uses:
        join = use.sql_pattern.pattern
        if not isinstance(join, Read) or join.combine is not Combine.JOIN:
            continue
        name = join.entities[1]
        ids = by_name[name].id
        if name in requests or ((name,), frozenset(ids)) in covered_reads:
            continue
        inputs = tuple(Input(attribute) for attribute in ids)
        words = f"{name} by {' and '.join(ids)}"
        read = Read("", "", (name,), words, inputs, Result.ONE, paginated=False)
        note = f"no statement reads {name} by its id alone; the join does, in its second request"
        sql_pattern = DiscoveredPattern(read, "", use.sql_pattern.quoted_sql, (note,))
        requests[name] = PatternUse(sql_pattern, use.calls, use.rate)
    return list(requests.values())


def _merge_equal_patterns(uses: Iterable[PatternUse]) -> list[PatternUse]:
    """One use for each pattern. Reads that differ only in the attributes that they need are one."""
    merged_uses: dict[bytes, PatternUse] = {}
    for use in uses:
        pattern = use.sql_pattern.pattern
        identity = msgspec.structs.replace(pattern, needs=()) if isinstance(pattern, Read) else pattern
        key = msgspec.json.encode([type(pattern).__name__, identity])
        earlier = merged_uses.get(key)
        if earlier is None:
            merged_uses[key] = use
        else:
            sql_pattern = _merge_needs(earlier.sql_pattern, use.sql_pattern)
            merged_uses[key] = PatternUse(sql_pattern, earlier.calls + use.calls, add_rates(earlier.rate, use.rate))
    return list(merged_uses.values())


def _merge_needs(first: DiscoveredPattern, second: DiscoveredPattern) -> DiscoveredPattern:
    """The first pattern, with the attributes that either of them needs. No needs mean that all are read."""
    if not isinstance(first.pattern, Read) or not isinstance(second.pattern, Read):
        return first
    needs: tuple[str, ...] = ()
    if first.pattern.needs and second.pattern.needs:
        needs = tuple(dict.fromkeys((*first.pattern.needs, *second.pattern.needs)))
    read = msgspec.structs.replace(first.pattern, needs=needs)
    return replace(first, pattern=read, sql=first.sql or second.sql)


def write_document(
    title: str,
    entities: Mapping[str, TableEntity],
    interpretation: Interpretation | None,
    origins: Sequence[str],
    left_out: Mapping[str, str],
) -> DiscoveredDocument:
    """The workload of a database. Without statements, it has the obvious patterns of each entity."""
    review = Review()
    uses = interpretation.uses if interpretation else ()
    misfits = interpretation.misfits if interpretation else ()
    patterns = merge_updates([use.sql_pattern for use in uses], UPDATES)
    writes = patterns if interpretation else []
    model = tuple(
        derive_entity(entity, entities, _columns_changed(entity, writes), review) for entity in entities.values()
    )
    sql: dict[str, str] = {}
    if uses:
        workload, sql = _workload_of(patterns, uses, review)
    else:
        workload = _obvious_workload(model)
        reason = "No statement fits a key" if interpretation else "No statement was seen"
        review.add(f"{reason}: the access patterns are the obvious ones, without rates. Write down your own.")
    workload = msgspec.structs.replace(
        workload,
        title=title,
        status=Status.DRAFT,
        overview=_overview(origins, entities),
        entities=model,
        notes=_NOTES if uses else "",
        sections=tuple(_sections(misfits, review, left_out)),
    )
    # Conditions name their entity, as those of a document that is read.
    return DiscoveredDocument(write_out(workload), sql, misfits, tuple(review.notes))


def _columns_changed(entity: TableEntity, patterns: Iterable[DiscoveredPattern]) -> frozenset[str] | None:
    """The columns of a table that statements change; None if no statement writes to it."""
    writes = [
        sql_pattern
        for sql_pattern in patterns
        if isinstance(sql_pattern.pattern, Write) and sql_pattern.pattern.first_entity == entity.name
    ]
    if not writes:
        return None
    changes = {change for sql_pattern in writes for change in sql_pattern.column_changes}
    return frozenset(column for table, column in changes if table == entity.table.name)


def _obvious_workload(model: tuple[Entity, ...]) -> Workload:
    base = Workload(entities=model)
    patterns = obvious(base, {entity.name for entity in model})
    return msgspec.structs.replace(
        base,
        reads=_with_ids(patterns.reads, _READS),
        writes=_with_ids(patterns.writes, _WRITES),
        deletes=_with_ids(patterns.deletes, _DELETES),
    )


_READS, _WRITES, _DELETES = 0, 400, 800


def _with_ids(patterns: Sequence[Pattern], start: int) -> tuple[Pattern, ...]:
    """Reads from AP-001, writes from AP-401, deletes from AP-801: new ones can be added to each."""
    numbers = range(start + 1, start + 1 + len(patterns))
    return tuple(
        msgspec.structs.replace(pattern, id=f"AP-{number:03}")
        for pattern, number in zip(patterns, numbers, strict=True)
    )


def _workload_of(
    patterns: Sequence[DiscoveredPattern], uses: Sequence[PatternUse], review: Review
) -> tuple[Workload, dict[str, str]]:
    """The workload of some patterns, and the statements that can be run, by the ids of their patterns."""
    rates = _rates_of(uses)
    groups: dict[int, list[DiscoveredPattern]] = {_READS: [], _WRITES: [], _DELETES: []}
    for sql_pattern in patterns:
        groups[_group_of(sql_pattern.pattern)].append(sql_pattern)
    numbered_patterns: dict[int, tuple[Pattern, ...]] = {}
    sql: dict[str, str] = {}
    for start, group in groups.items():
        rated_patterns = [
            msgspec.structs.replace(
                sql_pattern.pattern,
                rate=readable(rates.get(id(sql_pattern))),
                verbatim={SQL: cell(sql_pattern.quoted_sql)},
            )
            for sql_pattern in group
        ]
        numbered_patterns[start] = _with_ids(rated_patterns, start)
        for sql_pattern, pattern in zip(group, numbered_patterns[start], strict=True):
            if sql_pattern.sql:
                sql[pattern.id] = sql_pattern.sql
            for note in sql_pattern.notes:
                review.add(f"{pattern.id}: {note}.")
    _review_rates(uses, review)
    reads, writes, deletes = numbered_patterns.values()
    return Workload(reads=reads, writes=writes, deletes=deletes), sql  # type: ignore[arg-type]


def _group_of(pattern: Pattern) -> int:
    if isinstance(pattern, Read):
        return _READS
    return _DELETES if pattern.actions[0].verb is Verb.DELETE else _WRITES


def _has_rates(uses: Iterable[PatternUse]) -> bool:
    return any(use.rate for use in uses)


def _has_counts(uses: Iterable[PatternUse]) -> bool:
    """Whether some statements were seen more often than others."""
    return len({use.calls for use in uses}) > 1


def _rates_of(uses: Sequence[PatternUse]) -> dict[int, Rate]:
    """The rate of each pattern, by its identity. Without times, the counts are weights."""
    if _has_rates(uses):
        return {id(use.sql_pattern): use.rate for use in uses if use.rate}
    if _has_counts(uses):
        return {id(use.sql_pattern): Rate(weight=use.calls) for use in uses if use.calls}
    return {}


def _review_rates(uses: Sequence[PatternUse], review: Review) -> None:
    if _has_rates(uses):
        return
    review.add(
        "The rates are not known: the log has no times. They are relative (`weight`); pass `--period` with the "
        "time that the log covers."
        if _has_counts(uses)
        else "The rates are not known: fill in Frequency, or pass a log with times, or `--period`."
    )


def cell(sql: str) -> str:
    """A statement as code in one line of Markdown."""
    text = re.sub(r"\s+", " ", sql).replace("`", "").strip()
    return f"`{text if len(text) <= MOST_SQL else f'{text[: MOST_SQL - 1]}…'}`"


def _overview(origins: Sequence[str], entities: Mapping[str, TableEntity]) -> str:
    rows = sum(entity.table.rows for entity in entities.values())
    text = f"Derived by `prejoin discover` from a database of {len(entities)} tables with {rows:,} rows"
    text += f", and the statements of {', '.join(origins)}." if origins else "."
    return f"{text} The section To Review lists what was guessed; correct it before you design."


def _sections(misfits: Sequence[Misfit], review: Review, left_out: Mapping[str, str]) -> Iterable[Section]:
    if misfits:
        lines = ["These statements fit no key, and are not access patterns of this table.", ""]
        for misfit in sorted(misfits, key=lambda misfit: -misfit.calls):
            frequency = f" ({misfit.calls:,.0f} times)" if misfit.calls > 1 else ""
            reason = misfit.what[:1].upper() + misfit.what[1:]
            lines += [f"- {cell(misfit.sql)}{frequency}", f"  - {reason}. Instead: {misfit.instead}."]
        yield Section("Not Served by a Key", "\n".join(lines), after="Notes")
    if left_out:
        lines = ["These tables are not moved. `prejoin discover --table NAME` or `--all-tables` adds them.", ""]
        lines += [f"- {name}: {reason}" for name, reason in sorted(left_out.items())]
        yield Section("Tables Left Out", "\n".join(lines), after="Notes")
    if review.notes:
        lines = ["Guesses. Delete a line when you have checked it.", "", *(f"- {note}" for note in review.notes)]
        yield Section("To Review", "\n".join(lines), after="Notes")
