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
    KeyedValues,
    Values,
    bucket,
    canonical_text,
    compare_items,
    groups,
    shown_key,
)
from prejoin.migrate.verify.patterns import compare_pattern
from prejoin.migrate.verify.sides import PatternComparison, Sample, Sides, id_of
from prejoin.patterns.integrity.audit import audit
from prejoin.patterns.large.content import LargeContentError, stream_large
from prejoin.patterns.large.large import LargeValue
from prejoin.pipeline.connection import TablePlace
from prejoin.pipeline.progress import SILENT, Progress
from prejoin.pipeline.throttle import WriteThrottle
from prejoin.table.client.client import Client
from prejoin.table.errors import TableError
from prejoin.workload.model import Read

MAX_EXAMPLES = 1_000
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

    def add(self, difference: ItemDifference) -> None:
        self.counts[difference.entity, difference.kind] += 1
        if len(self.examples) < MAX_EXAMPLES:
            self.examples.append(difference)


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
    # Contents are compared by checksum, and not held in memory.
    migration = replace(migration, rows=tuple(rows.with_content_sums() for rows in migration.rows))
    with opened_table(migration, name, place, WriteThrottle()) as client, migration.source.snapshot() as snapshot:
        verification = _Verification(migration, client, snapshot, progress)
        entities = verification.compare_entities()
        verification.check_nulls()
        verification.audit_table()
        pattern_comparisons = verification.compare_patterns() if patterns else ()
        differences = verification.differences
        return VerifyResult(entities, tuple(differences.examples), dict(differences.counts), pattern_comparisons)


class _Verification:
    def __init__(self, migration: Migration, client: Client, snapshot: SourceSnapshot, progress: Progress) -> None:
        self.migration = migration
        self.client = client
        self.snapshot = snapshot
        self.progress = progress
        self.differences = _Differences()
        self.samples: dict[str, list[Sample]] = {}

    def compare_entities(self) -> tuple[EntityComparison, ...]:
        """Compares checksums, then the items of buckets that differ."""
        # The table is read after the snapshot of the database was taken: changes in between are differences.
        row_sums = self._sum_rows()
        item_sums = self._sum_items()
        comparisons = []
        for rows in self.migration.rows:
            name = rows.entity.name
            buckets = row_sums[name].differing(item_sums[name])
            comparisons.append(EntityComparison(name, row_sums[name].total, item_sums[name].total, len(buckets)))
            for group in groups(buckets, row_sums[name], item_sums[name]):
                self._compare_buckets(rows, group)
        return tuple(comparisons)

    def _sum_rows(self) -> dict[str, Checksums]:
        self.progress.begin("reading the database", "rows")
        sums = {rows.entity.name: Checksums() for rows in self.migration.rows}
        for rows in self.migration.rows:
            for name, key, values in self._expected_items(rows, report=True):
                sums[name].add(key, values)
        self.progress.result(f"{sum(checksums.total for checksums in sums.values()):,} rows")
        return sums

    def _sum_items(self) -> dict[str, Checksums]:
        self.progress.begin("reading the table", "items")
        sums = {rows.entity.name: Checksums() for rows in self.migration.rows}
        for name, key, values in self._stored_items(report=True):
            if name in sums:
                sums[name].add(key, values)
        self.progress.result(f"{sum(checksums.total for checksums in sums.values()):,} items")
        return sums

    def _compare_buckets(self, rows: EntityRows, buckets: frozenset[int]) -> None:
        """Reads both sides again, and compares the items of some buckets."""
        name = rows.entity.name
        self.progress.begin(f"comparing {name}", "compare")
        expected_items = _in_buckets(self._expected_items(rows), name, buckets)
        stored_items = _in_buckets(self._stored_items(), name, buckets)
        for difference in compare_items(name, expected_items, stored_items):
            self.differences.add(difference)

    def _expected_items(self, rows: EntityRows, report: bool = False) -> Iterator[Item]:
        """The items that the rows should have become. With `report`, problems are noted and samples taken."""
        name = rows.entity.name
        package = self.migration.package
        sampler = _Sampler(name)
        if report:
            self.samples[name] = sampler.samples
        for page in rows.pages(self.snapshot):
            for row in page:
                try:
                    values: Values = package.values(package.record(name, rows.convert(row)))[1]
                except (RowError, TypeError, ValueError) as problem:
                    if report:
                        reason = problem.reason if isinstance(problem, RowError) else str(problem)
                        difference = ItemDifference("unconverted", name, shown_key(row.key), found=reason)
                        self.differences.add(difference)
                    continue
                if report:
                    sampler.add((row, values))
                yield name, id_of(rows.entity, values), values

    def _stored_items(self, report: bool = False) -> Iterator[Item]:
        """The objects in the table. With `report`, unreadable items and contents are noted."""
        package = self.migration.package
        entities = {entity.name: entity for entity in self.migration.query.document.workload.entities}
        for page in self.client.everything(hidden=True, unreadable="keep", consistent=True):
            for record in page.items:
                name, values = package.values(record)
                key = id_of(entities[name], values)
                if report:
                    self._read_contents(name, key, record, values)
                yield name, key, values
            if report:
                key_names = self.client.schema.keys(TABLE).names
                for unreadable in page.unreadable:
                    key_texts = [str(text) for name in key_names for text in unreadable.item[name].values()]
                    difference = ItemDifference("unreadable", "", " / ".join(key_texts), found=str(unreadable.error))
                    self.differences.add(difference)

    def check_nulls(self) -> None:
        """Compares the form of NULL with the mapping, where it is stored. Objects do not show it: both are None."""
        if not any(rows.nulls for rows in self.migration.rows):
            return
        self.progress.begin("checking NULL", "nulls")
        schema, package = self.client.schema, self.migration.package
        rows_by_tag = {schema.entity(package.classes[rows.entity.name]).tag: rows for rows in self.migration.rows}
        start: dict[str, Any] = {}
        while True:
            page = self.client.call("Scan", {"ConsistentRead": True, **start})
            for item in page["Items"]:
                rows = rows_by_tag.get(item.get(schema.type_attribute, {}).get("S", ""))
                if rows is not None:
                    self._check_item_nulls(rows, item)
            if "LastEvaluatedKey" not in page:
                return
            start = {"ExclusiveStartKey": page["LastEvaluatedKey"]}

    def _check_item_nulls(self, rows: EntityRows, item: dict[str, Any]) -> None:
        name, package = rows.entity.name, self.migration.package
        entity = self.client.schema.entity(package.classes[name])
        wrong_forms = []  # attribute, form as the mapping says, form as stored
        for attribute, field_name in package.fields[name].items():
            stored_form = _form_of(item.get(entity.codec.attribute(field_name).wire))
            null_form, other_form = ("NULL", "absent") if attribute in rows.nulls else ("absent", "NULL")
            if stored_form == other_form:
                wrong_forms.append((attribute, null_form, stored_form))
        if not wrong_forms:
            return
        try:
            record = entity.codec.decode(item)
        except TableError:
            return  # unreadable, which is reported already
        # A copy is an item of the same type under another key: only the item itself is compared.
        own_key = self.client.schema.facet_key(entity.base, entity.codec.values(record))
        if own_key.items() <= item.items():
            key = shown_key(id_of(rows.entity, package.values(record)[1]))
            for attribute, null_form, stored_form in wrong_forms:
                self.differences.add(ItemDifference("different", name, key, attribute, null_form, stored_form))

    def _read_contents(self, entity: str, key: tuple[Any, ...], record: Any, values: Values) -> None:
        """Reads the large contents of an object. The end of a content compares its checksum."""
        for name, value in values.items():
            if not isinstance(value, LargeValue):
                continue
            content = stream_large(self.client, record, self.migration.package.fields[entity][name])
            try:
                deque(content, maxlen=0)
            except LargeContentError as problem:
                self.differences.add(ItemDifference("unreadable", entity, shown_key(key), name, found=str(problem)))

    def audit_table(self) -> None:
        """Compares copies, guards and index keys with the items that they belong to."""
        self.progress.begin("checking copies, guards and index keys", "audit")
        for finding in audit(self.client):
            key = " / ".join(str(text) for value in finding.key.values() for text in value.values())
            self.differences.add(ItemDifference("drifted", finding.entity, key, found=str(finding)))

    def compare_patterns(self) -> tuple[PatternComparison, ...]:
        reads = [read for read in self.migration.query.document.workload.reads if isinstance(read, Read)]
        sides = Sides(self.migration, self.snapshot, self.client)
        comparisons = []
        for number, read in enumerate(reads, 1):
            self.progress.begin("running access patterns", "patterns")
            self.progress.update(f"{read.id}, {number} of {len(reads)}")
            samples = self.samples.get(read.entities[0], []) if read.entities else []
            comparison = compare_pattern(sides, read.id, samples)
            for difference in comparison.differences:
                self.differences.add(difference)
            comparisons.append(comparison)
        run_count = sum(comparison.runs > 0 for comparison in comparisons)
        self.progress.result(f"{run_count} patterns compared")
        return tuple(comparisons)


class _Sampler:
    """Keeps some of the rows of an entity, each with the same probability: reservoir sampling.

    The first rows fill the sample. The n-th one replaces one of them with the probability `SAMPLES / n`.
    """

    def __init__(self, entity: str) -> None:
        self.samples: list[Sample] = []
        self._row_count = 0
        self._random = random.Random(entity)  # noqa: S311 - the same samples in each run

    def add(self, sample: Sample) -> None:
        self._row_count += 1
        position = self._random.randrange(self._row_count)
        if len(self.samples) < SAMPLES:
            self.samples.append(sample)
        elif position < SAMPLES:
            self.samples[position] = sample


def _in_buckets(items: Iterator[Item], entity: str, buckets: frozenset[int]) -> list[KeyedValues]:
    """The items of an entity whose ids are in some buckets."""
    selection = []
    for name, key, values in items:
        if name == entity and bucket(canonical_text(key)) in buckets:
            selection.append((key, values))
    return selection


def _form_of(value: dict[str, Any] | None) -> str:
    """How an attribute is stored: `absent`, `NULL` or with a `value`."""
    if value is None:
        return "absent"
    return "NULL" if "NULL" in value else "value"
