"""Run access patterns on both sides: the statement on the database, the method on the table, the same arguments."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, assert_never

import sqlglot
from sqlglot import exp

from prejoin.design.mapping.map_reads import followed
from prejoin.migrate.mapping.rows import EntityRows, Row, RowError
from prejoin.migrate.migration import Migration
from prejoin.migrate.queries.statement import DIALECTS, sql_of
from prejoin.migrate.source.connection import SourceSnapshot
from prejoin.migrate.verify.compare import (
    ItemDifference,
    attribute_differences,
    canonical,
    canonical_text,
    compare_items,
    shown,
    shown_key,
)
from prejoin.render.python.method import InputValue, Method
from prejoin.table.client.client import Client
from prejoin.workload.model import Combine, Direction, Entity, Op, Read, Result

MOST = 200
"""Items of an answer that are compared."""
_READ = 2 * MOST
"""Rows of a statement that are read."""
Sample = tuple[Row, Mapping[str, Any]]
"""A row, and the values that it became."""


@dataclass(frozen=True, slots=True)
class PatternComparison:
    """An access pattern on both sides."""

    pattern: str
    runs: int
    differences: tuple[ItemDifference, ...] = ()
    skipped: str = ""
    """Why it was not compared."""


def compare_pattern(
    migration: Migration, snapshot: SourceSnapshot, client: Client, pattern: str, samples: Sequence[Sample]
) -> PatternComparison:
    """Compares one pattern on sampled arguments."""
    read = migration.found.document.workload.pattern(pattern)
    method = migration.package.methods.get(pattern)
    source = migration.mapping.patterns.get(pattern)
    if not isinstance(read, Read) or method is None:
        return PatternComparison(pattern, 0, skipped="it is no read, or the design does not serve it")
    match read.combine:
        case Combine.COLLECTION:
            return _compare_collection(migration, snapshot, client, read, method, samples)
        case Combine.JOIN:
            pass
        case None:
            if len(read.entities) != 1:
                return PatternComparison(pattern, 0, skipped="it reads several entities")
        case _:
            assert_never(read.combine)
    if not set(read.entities) <= set(migration.mapping.entities):
        return PatternComparison(pattern, 0, skipped="one of its entities is not mapped")
    if any(not joined_columns(migration, read, name) for name in read.entities[1:]):
        return PatternComparison(pattern, 0, skipped="the columns of its join are not known")
    sql = source.sql if source else derived_sql(read, migration.of(read.entities[0]), snapshot)
    if not sql:
        return PatternComparison(pattern, 0, skipped="its SQL is not known")
    run = _Comparison(migration, snapshot, client, read, method, sql)
    found: list[ItemDifference] = []
    runs = 0
    for arguments, values in run.cases(samples):
        runs += 1
        found += run.compare(arguments, values)
    return PatternComparison(pattern, runs, tuple(found), "" if runs else "no row has all of its arguments")


def _compare_collection(
    migration: Migration,
    snapshot: SourceSnapshot,
    client: Client,
    read: Read,
    method: Method,
    samples: Sequence[Sample],
) -> PatternComparison:
    """Compares a read of an item with its children. It needs no SQL: the rows of children follow from references."""
    if not set(read.entities) <= set(migration.mapping.entities):
        return PatternComparison(read.id, 0, skipped="one of its entities is not mapped")
    parent, *children = [migration.of(name) for name in read.entities]
    ids = [a.name for a in parent.entity.id]
    links = [_links(child, parent.entity, ids) for child in children]
    if not all(links) or [i.attribute for i in read.inputs] != ids or any(i.constant or i.many for i in read.inputs):
        return PatternComparison(read.id, 0, skipped="it has other conditions than the id of its first entity")
    found: list[ItemDifference] = []
    for row, values in samples:
        arguments = {p.name: values[p.meaning.input] for p in method.params if isinstance(p.meaning, InputValue)}
        options = {p.name: MOST for p in method.params if p.name == "limit"}
        answer = migration.package.call(client, method, {**arguments, **options})
        if _more(answer):
            continue
        got: dict[str, list[tuple[tuple[Any, ...], Mapping[str, Any]]]] = {}
        for record in _flat(answer):
            entity, item = migration.package.values(record)
            own = migration.of(entity).entity.id
            got.setdefault(entity, []).append((tuple(item.get(a.name) for a in own), item))
        raw = {f"v{at}": row.values[name] for at, name in enumerate(ids)}
        wanted = {parent.entity.name: [row]}
        for child, columns in zip(children, links, strict=True):
            condition = " AND ".join(f"t.{snapshot.quote(c)} = :v{at}" for at, c in enumerate(columns))
            wanted[child.entity.name] = child.where(snapshot, condition, raw)
        for name, rows in wanted.items():
            expected = list(_converted(migration, migration.of(name), rows))
            for one in compare_items(name, expected, got.get(name, [])):
                place = f"{read.id} ({shown_key([values[i] for i in ids])}): {one.key}"
                found.append(ItemDifference("pattern", name, place, one.attribute or one.kind, one.expected, one.found))
    return PatternComparison(read.id, len(samples), tuple(found), "" if samples else "no row has its arguments")


def _links(child: EntityRows, parent: Entity, ids: Sequence[str]) -> list[str]:
    """The columns of a child that hold the id of its parent, in the order of the id; empty if they are not known."""
    columns = []
    for name in ids:
        whole = {f"{parent.name}.{name}"} | ({parent.name} if len(ids) == 1 else set())
        held = next((a.name for a in child.entity.attributes if a.references in whole), "")
        if held not in child.mapping.attributes or not child.mapping.source(held).column:
            return []
        columns.append(child.mapping.source(held).column)
    return columns


def _converted(
    migration: Migration, rows: EntityRows, found: Sequence[Row]
) -> Iterator[tuple[tuple[Any, ...], Mapping[str, Any]]]:
    for row in found:
        try:
            record = migration.package.record(rows.entity.name, rows.convert(row))
        except RowError:
            continue  # a dead letter, which the comparison of items reports
        values = migration.package.values(record)[1]
        yield tuple(values.get(a.name) for a in rows.entity.id), values


def _flat(answer: Any) -> list[Any]:
    """The objects of an answer with several entities."""
    if answer is None:
        return []
    if isinstance(answer, Mapping):
        return [one for part in answer.values() for one in _flat(part)]
    if isinstance(answer, tuple | list):
        return [one for part in answer for one in _flat(part)]
    return list(answer.items) if hasattr(answer, "cursor") else [answer]


class _Comparison:
    def __init__(
        self, migration: Migration, snapshot: SourceSnapshot, client: Client, read: Read, method: Method, sql: str
    ) -> None:
        self.migration = migration
        self.snapshot = snapshot
        self.client = client
        self.read = read
        self.method = method
        self.rows: EntityRows = migration.of(read.entities[0])
        self.entity = self.rows.entity
        tree = sqlglot.parse_one(sql, dialect=DIALECTS[snapshot.dialect])
        self.extreme = any(one.find(exp.Max, exp.Min) for one in tree.expressions)
        """Whether it computes MAX or MIN, which the first item of the answer has."""
        self.sql = sql if self.extreme or read.result is Result.COUNT else self._keys_only(tree)

    def _keys_only(self, tree: exp.Expr) -> str:
        """The statement, with the key of the entity's table as its columns."""
        if self.read.combine is Combine.JOIN:
            for join in tree.find_all(exp.Join):  # the method also returns items that refer to nothing
                join.set("side", "LEFT")
        wanted = self.rows.mapping.table.rpartition(".")[2].lower()
        table = next(t for t in tree.find_all(exp.Table) if t.name.lower() == wanted)
        columns = [exp.column(exp.to_identifier(c, quoted=True), table=table.alias_or_name) for c in self.rows.key]
        tree.set("expressions", [exp.alias_(c, f"prejoin_k{at}") for at, c in enumerate(columns)])
        return sql_of(tree, self.snapshot.dialect)

    def cases(self, samples: Sequence[Sample]) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
        """Arguments of the method, and the same as values of the statement."""
        given = [one for one in self.read.inputs if not one.constant and one.op not in (Op.EXISTS, Op.NOT_EXISTS)]
        seen = set()
        for at, (row, values) in enumerate(samples):
            other_row, other_values = samples[(at + 7) % len(samples)]
            arguments: dict[str, Any] = {}
            bound: dict[str, Any] = {}
            for param in self.method.params:
                meaning = param.meaning
                if not isinstance(meaning, InputValue):
                    continue
                one = next((i for i in given if i.attribute == meaning.input), None)
                name = meaning.input
                if one is None or values.get(name) is None or name not in row.values:
                    break
                mine, raw = values[name], row.values[name]
                if meaning.end:
                    sides = [
                        (values.get(name), row.values.get(name)),
                        (other_values.get(name), other_row.values.get(name)),
                    ]
                    sides = sorted((s for s in sides if s[0] is not None), key=_first)
                    mine, raw = sides[0] if meaning.end == "low" else sides[-1]
                if meaning.many:
                    mine, raw = [mine], [raw]
                    if other_values.get(name) not in (None, mine[0]):
                        mine, raw = [*mine, other_values[name]], [*raw, other_row.values[name]]
                if one.op is Op.BEGINS_WITH:
                    mine, raw = _prefix(mine), _prefix(raw)
                    if not mine or not raw:
                        break
                    raw += "%"
                arguments[param.name] = mine
                label = name if not meaning.end else f"{name}_{meaning.end}"
                bound[label] = raw
            else:
                text = canonical_text(arguments)
                if text not in seen:
                    seen.add(text)
                    yield arguments, bound
            if not self.method.params or not given:
                return

    def compare(self, arguments: dict[str, Any], bound: dict[str, Any]) -> list[ItemDifference]:
        given = ", ".join(f"{name}={shown_key([value])}" for name, value in arguments.items()) or "no arguments"
        place = f"{self.read.id} ({given})"
        usable = {name: value for name, value in bound.items() if f":{name}" in self.sql}
        options = {p.name: MOST for p in self.method.params if p.name == "limit"}
        answer = self.migration.package.call(self.client, self.method, {**arguments, **options})
        if self.extreme:
            return list(self._extreme(place, self.snapshot.value(self.sql, usable), _records(answer)))
        others: Sequence[Mapping[Any, Any]] = ()
        if self.read.combine is Combine.JOIN:
            answer, *others = answer
        if self.read.result is Result.COUNT:
            wanted = int(self.snapshot.value(self.sql, usable) or 0)
            return (
                []
                if wanted == answer
                else [ItemDifference("pattern", self.entity.name, place, "count", wanted, answer)]
            )
        keys = self.snapshot.rows(f"{self.sql} LIMIT {_READ}", usable)
        expected, rows = [], []
        for one in keys:
            row = self.rows.by_key(self.snapshot, [one[f"prejoin_k{at}"] for at in range(len(self.rows.key))])
            try:
                values = self.rows.convert(row) if row else None  # the mapping leaves some rows behind
            except RowError:
                continue  # a dead letter, which the comparison of items reports
            if row is not None and values is not None and self._begins(values, arguments):
                expected.append(values)
                rows.append(row)
        found = list(self._differences(place, expected, _records(answer), _more(answer)))
        for name, named in zip(self.read.entities[1:], others, strict=False):
            found += self._joined(place, name, rows[: len(_records(answer))], named)
        return found

    def _begins(self, values: Mapping[str, Any], arguments: Mapping[str, Any]) -> bool:
        """Whether a row has the prefixes of the arguments. LIKE ignores case in some databases, and a key never."""
        prefixes = [
            (p.meaning.input, arguments[p.name])
            for p in self.method.params
            if isinstance(p.meaning, InputValue) and p.name in arguments
            for i in self.read.inputs
            if i.attribute == p.meaning.input and i.op is Op.BEGINS_WITH
        ]
        return all(str(values.get(name, "")).startswith(prefix) for name, prefix in prefixes)

    def _extreme(self, place: str, computed: Any, records: Sequence[Any]) -> Iterator[ItemDifference]:
        """Compares MAX or MIN with the first item."""
        name = self.read.sort[0].attribute
        column = self.rows.mapping.source(name).column
        wanted = None if computed is None else self.rows.convert_one(name, {column: computed})
        got = self.migration.package.values(records[0])[1].get(name) if records else None
        if canonical(wanted) != canonical(got):
            yield _pattern(self.entity.name, place, name, shown(wanted), shown(got))

    def _joined(self, place: str, name: str, rows: Sequence[Row], named: Mapping[Any, Any]) -> Iterator[ItemDifference]:
        """Compares the items that those of the answer refer to with the rows that their rows refer to."""
        parent, links = self.migration.of(name), joined_columns(self.migration, self.read, name)
        references = {
            canonical_text(key): key for row in rows if None not in (key := [row.values[a] for a, _ in links])
        }
        columns = [column for _, column in links]
        found = list(parent.matching(self.snapshot, columns, list(references.values())))
        expected = list(_converted(self.migration, parent, found))
        got = []
        for record in named.values():
            values = self.migration.package.values(record)[1]
            got.append((tuple(values.get(a.name) for a in parent.entity.id), values))
        for one in compare_items(name, expected, got):
            yield _pattern(name, f"{place}: {one.key}", one.attribute or one.kind, one.expected, one.found)

    def _differences(
        self, place: str, expected: Sequence[Mapping[str, Any]], records: Sequence[Any], more: bool
    ) -> Iterator[ItemDifference]:
        name = self.entity.name
        ids = [a.name for a in self.entity.id]
        got = [self.migration.package.values(record)[1] for record in records]
        beyond = len(expected) == _READ  # there may be more rows than were read
        cut = more or len(got) == self.read.limit
        if beyond and len(got) >= len(expected):
            records, got, cut = records[: len(expected)], got[: len(expected)], True
        wanted = expected[: len(got)] if cut else expected
        order = [s.attribute for s in self.read.sort]
        if order:
            keys_wanted = [[canonical(v.get(a)) for a in order] for v in wanted]
            keys_got = [[canonical(v.get(a)) for a in order] for v in got]
            held = all(a in self.migration.package.holds(r) for r in records for a in order)
            if held and keys_wanted != keys_got:
                both = [[shown([v.get(a) for a in order]) for v in side[:5]] for side in (wanted, got)]
                yield _pattern(name, place, "order", *both)
        # Of more rows than were read, those that sort like the last one may come in any order.
        last = [canonical(expected[-1].get(a)) for a in order] if expected else []
        by_id = {canonical_text([v.get(i) for i in ids]): v for v in expected}
        seen = set()
        for record, values in zip(records, got, strict=True):
            text = canonical_text([values.get(i) for i in ids])
            seen.add(text)
            if text not in by_id:
                if beyond and [canonical(values.get(a)) for a in order] == last:
                    continue
                yield _pattern(name, place, "items", "no such row", shown_key([values.get(i) for i in ids]))
                continue
            holds = self.migration.package.holds(record)
            yield from attribute_differences(name, [place], by_id[text], values, holds)
        if not cut:
            for text, row in by_id.items():
                if text not in seen:
                    yield _pattern(name, place, "items", shown_key([row.get(i) for i in ids]), "not returned")


def joined_columns(migration: Migration, read: Read, name: str) -> list[tuple[str, str]]:
    """The attributes that refer to a joined entity, each with the column of its table; empty if one is no column."""
    rows, parent = migration.of(read.entities[0]), migration.of(name)
    found = []
    for link in followed(read, migration.found.document.workload, name):
        known = link.own.name in rows.mapping.attributes and link.other.name in parent.mapping.attributes
        column = parent.mapping.source(link.other.name).column if known else ""
        if not column or "." in column:
            return []
        found.append((link.own.name, column))
    return found


def _sql_operator(op: Op) -> str:
    """The operator of SQL for a comparison with one value; empty if there is none that finds the same."""
    match op:
        case Op.EQ | Op.LT | Op.LE | Op.GT | Op.GE:
            return op.value
        case Op.NE:  # DynamoDB also finds items without the attribute
            return ""
        case Op.BETWEEN | Op.BEGINS_WITH | Op.IN | Op.CONTAINS | Op.EXISTS | Op.NOT_EXISTS:
            return ""
        case _:
            assert_never(op)


def derived_sql(read: Read, rows: EntityRows, snapshot: SourceSnapshot) -> str:
    """A statement for a read that was not found in the database, from its inputs and order; empty if there is none."""

    def column(attribute: str) -> str:
        source = rows.mapping.source(attribute) if attribute in rows.mapping.attributes else None
        plain = source and not (source.form or source.members or source.default or "." in source.column)
        return f"t.{snapshot.quote(source.column)}" if source and plain and source.column else ""

    conditions = []
    for one in read.inputs:
        name = column(one.attribute)
        sign = _sql_operator(one.op)
        if not name or one.constant or one.many or not sign:
            return ""
        conditions.append(f"{name} {sign} :{one.attribute}")
    order = [(column(s.attribute), s.direction) for s in read.sort]
    if read.combine or not conditions or not all(name for name, _ in order):
        return ""
    what = "count(*)" if read.result is Result.COUNT else "*"
    sql = f"SELECT {what} FROM {snapshot.quote(rows.mapping.table)} AS t WHERE {' AND '.join(conditions)}"  # noqa: S608
    words = [f"{name} {'DESC' if direction is Direction.DESC else 'ASC'}" for name, direction in order]
    return f"{sql} ORDER BY {', '.join(words)}" if words and read.result is not Result.COUNT else sql


def _prefix(value: Any) -> str:
    """The first half of a text, without characters that mean something in LIKE."""
    text = value if isinstance(value, str) else ""
    return re.split(r"[%_\\]", text[: max(1, len(text) // 2)])[0]


def _pattern(entity: str, place: str, attribute: str, expected: Any, answer: Any) -> ItemDifference:
    return ItemDifference("pattern", entity, place, attribute, expected, answer)


def _first(side: tuple[Any, Any]) -> Any:
    return side[0]


def _records(answer: Any) -> list[Any]:
    if answer is None:
        return []
    found = answer.items if hasattr(answer, "cursor") else answer if isinstance(answer, list) else [answer]
    return [one for one in found if one is not None]


def _more(answer: Any) -> bool:
    return getattr(answer, "cursor", None) is not None
