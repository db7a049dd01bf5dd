"""`verify_table`: compares the rows of the database with the items of the table, and access patterns on both sides."""

from __future__ import annotations

import random
from collections import Counter, deque
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

from prejoin.keys import TABLE
from prejoin.migrate.load.load import opened_table
from prejoin.migrate.mapping.rows import EntityRows, RowError
from prejoin.migrate.migration import Migration
from prejoin.migrate.source.connection import SourceSnapshot
from prejoin.migrate.verify.compare import (
    Checksums,
    Item,
    ItemDifference,
    Values,
    bucket,
    canonical_text,
    compare_items,
    groups,
    shown_key,
)
from prejoin.migrate.verify.patterns import PatternComparison, Sample, compare_pattern
from prejoin.patterns.integrity.audit import audit
from prejoin.patterns.large.content import LargeContentError, stream_large
from prejoin.patterns.large.large import LargeValue
from prejoin.pipeline.connection import TablePlace
from prejoin.pipeline.progress import SILENT, Progress
from prejoin.pipeline.throttle import WriteThrottle
from prejoin.table.client.client import Client
from prejoin.table.errors import TableError
from prejoin.workload.model import Read

MOST = 1_000
"""Differences that are kept; all are counted."""
SAMPLES = 20
"""Rows of each entity that give arguments to access patterns."""


@dataclass(frozen=True, slots=True)
class EntityComparison:
    entity: str
    rows: int
    items: int
    buckets: int
    """Buckets whose checksums differ."""


@dataclass(slots=True)
class _Differences:
    """Differences, the first ones kept and all counted."""

    examples: list[ItemDifference] = field(default_factory=list)
    counts: Counter[tuple[str, str]] = field(default_factory=Counter)

    def add(self, one: ItemDifference) -> None:
        self.counts[one.entity, one.kind] += 1
        if len(self.examples) < MOST:
            self.examples.append(one)


@dataclass(frozen=True, slots=True)
class VerifyResult:
    entities: tuple[EntityComparison, ...]
    differences: tuple[ItemDifference, ...]
    """The first thousand."""
    counts: dict[tuple[str, str], int]
    """All of them, by entity and kind."""
    patterns: tuple[PatternComparison, ...]

    @property
    def equal(self) -> bool:
        return not self.counts


def verify_table(
    migration: Migration,
    place: TablePlace,
    *,
    table: str | None = None,
    patterns: bool = True,
    progress: Progress = SILENT,
) -> VerifyResult:
    """Compares all rows with all items, copies and guards with their items, and the answers of access patterns.

    Large contents are read, and compared by checksum. Nothing is written on either side. While the application writes,
    recent changes are differences.
    """
    name = table or migration.table
    migration = replace(migration, rows=tuple(one.summed() for one in migration.rows))
    with opened_table(migration, name, place, WriteThrottle()) as client, migration.source.snapshot() as snapshot:
        run = _Verification(migration, client, snapshot, progress)
        entities = run.items()
        run.nulls()
        run.integrity()
        compared = run.patterns() if patterns else ()
        return VerifyResult(entities, tuple(run.found.examples), dict(run.found.counts), compared)


class _Verification:
    def __init__(self, migration: Migration, client: Client, snapshot: SourceSnapshot, progress: Progress) -> None:
        self.migration = migration
        self.client = client
        self.snapshot = snapshot
        self.progress = progress
        self.found = _Differences()
        self.samples: dict[str, list[Sample]] = {}

    def items(self) -> tuple[EntityComparison, ...]:
        """Compares checksums, then the items of buckets that differ."""
        self.progress.begin("reading the database", "rows")
        rows = {one.entity.name: Checksums() for one in self.migration.rows}
        for one in self.migration.rows:
            for _, key, values in self._rows(one, report=True):
                rows[one.entity.name].add(key, values)
        self.progress.result(f"{sum(c.total for c in rows.values()):,} rows")
        self.progress.begin("reading the table", "items")
        items = {name: Checksums() for name in rows}
        for entity, key, values in self._items(report=True):
            if entity in items:
                items[entity].add(key, values)
        self.progress.result(f"{sum(c.total for c in items.values()):,} items")
        compared = []
        for one in self.migration.rows:
            name = one.entity.name
            differing = rows[name].differing(items[name])
            compared.append(EntityComparison(name, rows[name].total, items[name].total, len(differing)))
            for group in groups(differing, rows[name], items[name]):
                self._compare(one, group)
        return tuple(compared)

    def _compare(self, rows: EntityRows, group: frozenset[int]) -> None:
        name = rows.entity.name
        self.progress.begin(f"comparing {name}", "compare")
        expected = [(k, v) for _, k, v in self._rows(rows) if bucket(canonical_text(k)) in group]
        found = [(k, v) for e, k, v in self._items() if e == name and bucket(canonical_text(k)) in group]
        for one in compare_items(name, expected, found):
            self.found.add(one)

    def _rows(self, rows: EntityRows, report: bool = False) -> Iterator[Item]:
        """The items that the rows should have become."""
        name, package = rows.entity.name, self.migration.package
        ids = [a.name for a in rows.entity.id]
        chance = random.Random(name)  # noqa: S311 - the same samples in each run
        seen = 0
        sample = self.samples.setdefault(name, [])
        for page in rows.pages(self.snapshot):
            for row in page:
                try:
                    values: Values = package.values(package.record(name, rows.convert(row)))[1]
                except (RowError, TypeError, ValueError) as problem:
                    if report:
                        reason = problem.reason if isinstance(problem, RowError) else str(problem)
                        self.found.add(ItemDifference("unconverted", name, shown_key(row.key), found=reason))
                    continue
                if report:
                    seen += 1
                    at = chance.randrange(seen)
                    if len(sample) < SAMPLES:
                        sample.append((row, values))
                    elif at < SAMPLES:
                        sample[at] = (row, values)
                yield name, tuple(values.get(i) for i in ids), values

    def _items(self, report: bool = False) -> Iterator[Item]:
        """The objects in the table."""
        package, workload = self.migration.package, self.migration.found.document.workload
        ids = {e.name: [a.name for a in e.id] for e in workload.entities}
        for page in self.client.everything(hidden=True, unreadable="keep", consistent=True):
            for record in page.items:
                entity, values = package.values(record)
                key = tuple(values.get(i) for i in ids[entity])
                if report:
                    self._read_contents(entity, key, record, values)
                yield entity, key, values
            if report:
                names = self.client.schema.keys(TABLE).names
                for bad in page.unreadable:
                    shown = " / ".join(str(text) for name in names for text in bad.item[name].values())
                    self.found.add(ItemDifference("unreadable", "", shown, found=str(bad.error)))

    def nulls(self) -> None:
        """Compares the form of NULL with the mapping, where it is stored. Objects do not show it: both are None."""
        if not any(one.nulls for one in self.migration.rows):
            return
        self.progress.begin("checking NULL", "nulls")
        schema, package = self.client.schema, self.migration.package
        entities = {schema.entity(package.classes[one.entity.name]).tag: one for one in self.migration.rows}
        start: dict[str, Any] = {}
        while True:
            page = self.client.call("Scan", {"ConsistentRead": True, **start})
            for item in page["Items"]:
                rows = entities.get(item.get(schema.type_attribute, {}).get("S", ""))
                if rows is not None:
                    self._item_nulls(rows, item)
            if "LastEvaluatedKey" not in page:
                return
            start = {"ExclusiveStartKey": page["LastEvaluatedKey"]}

    def _item_nulls(self, rows: EntityRows, item: dict[str, Any]) -> None:
        name, package = rows.entity.name, self.migration.package
        entity = self.client.schema.entity(package.classes[name])
        wires = {a: entity.codec.attribute(field).wire for a, field in package.fields[name].items()}
        wrong = [a for a, wire in wires.items() if _stored(item.get(wire)) == ("absent" if a in rows.nulls else "NULL")]
        try:
            record = entity.codec.decode(item) if wrong else None
        except TableError:
            return  # unreadable, which is reported already
        if record is None:
            return
        values = package.values(record)[1]
        if self.client.schema.facet_key(entity.base, entity.codec.values(record)).items() <= item.items():
            key = shown_key([values.get(a.name) for a in rows.entity.id])
            for a in wrong:
                wanted = "NULL" if a in rows.nulls else "absent"
                self.found.add(ItemDifference("different", name, key, a, wanted, _stored(item.get(wires[a]))))

    def _read_contents(self, entity: str, key: tuple[Any, ...], record: Any, values: Values) -> None:
        """Reads the large contents of an object. The end of a content compares its checksum."""
        for name in (n for n, value in values.items() if isinstance(value, LargeValue)):
            try:
                deque(stream_large(self.client, record, self.migration.package.fields[entity][name]), maxlen=0)
            except LargeContentError as problem:
                self.found.add(ItemDifference("unreadable", entity, shown_key(key), name, found=str(problem)))

    def integrity(self) -> None:
        """Compares copies, guards and index keys with the items that they belong to."""
        self.progress.begin("checking copies, guards and index keys", "audit")
        for finding in audit(self.client):
            key = " / ".join(str(text) for value in finding.key.values() for text in value.values())
            self.found.add(ItemDifference("drifted", finding.entity, key, found=str(finding)))

    def patterns(self) -> tuple[PatternComparison, ...]:
        reads = [p for p in self.migration.found.document.workload.reads if isinstance(p, Read)]
        compared = []
        for number, read in enumerate(reads, 1):
            self.progress.begin("running access patterns", "patterns")
            self.progress.update(f"{read.id}, {number} of {len(reads)}")
            samples = self.samples.get(read.entities[0], []) if read.entities else []
            one = compare_pattern(self.migration, self.snapshot, self.client, read.id, samples)
            for difference in one.differences:
                self.found.add(difference)
            compared.append(one)
        self.progress.result(f"{sum(bool(one.runs) for one in compared)} patterns compared")
        return tuple(compared)


def _stored(value: dict[str, Any] | None) -> str:
    """How an attribute is stored: `absent`, `NULL` or with a `value`."""
    if value is None:
        return "absent"
    return "NULL" if "NULL" in value else "value"
