"""`plan_load`: what a load would read and write, how long it would take, what it would cost, and sample items.

Units and sizes are measured, not estimated: some rows of each entity are loaded into an engine in memory, with all
copies, guards and index keys.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from prejoin.engine import Embedded
from prejoin.migrate.load.contents import LargeContents
from prejoin.migrate.load.state import DeadLetter, row_json
from prejoin.migrate.load.write import RowWriter
from prejoin.migrate.mapping.rows import EntityRows
from prejoin.migrate.migration import Migration
from prejoin.migrate.source.connection import SourceSnapshot
from prejoin.pipeline.progress import SILENT, Progress
from prejoin.pipeline.throttle import WriteThrottle
from prejoin.protocol.prices import GB, STORAGE_GB_MONTH, WRITE_MILLION
from prejoin.protocol.sizes import measured
from prejoin.table.client.client import Client

SAMPLE = 100
"""Rows of each entity that are tried."""
USUAL_RATE = 4000.0
"""Write units a second that a new on-demand table takes."""


@dataclass(frozen=True, slots=True)
class EntityPlan:
    """The load of one entity."""

    entity: str
    table: str
    rows: int
    items_per_row: float
    """Items written for a row: itself, its copies and its guards."""
    units_per_row: float
    bytes_per_row: float
    row: Mapping[str, Any] | None
    """A row, by attribute."""
    items: tuple[Mapping[str, Any], ...]
    """The items that it becomes, as DynamoDB stores them."""
    dead: tuple[DeadLetter, ...]
    """Rows of the sample that cannot be loaded."""

    @property
    def units(self) -> float:
        return self.rows * self.units_per_row


@dataclass(frozen=True, slots=True)
class LoadPlan:
    entities: tuple[EntityPlan, ...]
    rate: float
    """Write units a second that the duration is computed for."""

    @property
    def rows(self) -> int:
        return sum(entity.rows for entity in self.entities)

    @property
    def units(self) -> float:
        return sum(entity.units for entity in self.entities)

    @property
    def seconds(self) -> float:
        return self.units / self.rate

    @property
    def dollars(self) -> Decimal:
        """The price of the writes, on demand, in us-east-1."""
        return (Decimal(str(self.units)) * WRITE_MILLION / 1_000_000).quantize(Decimal("0.01"))

    @property
    def bytes(self) -> float:
        return sum(entity.rows * entity.bytes_per_row for entity in self.entities)

    @property
    def storage_dollars(self) -> Decimal:
        """The price of the stored items for a month, without indexes."""
        return (Decimal(str(self.bytes)) * STORAGE_GB_MONTH / GB).quantize(Decimal("0.01"))


def plan_load(migration: Migration, *, rate: float | None = None, progress: Progress = SILENT) -> LoadPlan:
    """Measures a load with samples of the rows. Nothing is written to the target."""
    progress.begin("trying samples", "plan")
    with migration.source.snapshot() as snapshot:
        entities = tuple(_entity_plan(migration, snapshot, rows) for rows in migration.rows)
    return LoadPlan(entities, rate or USUAL_RATE)


def _entity_plan(migration: Migration, snapshot: SourceSnapshot, rows: EntityRows) -> EntityPlan:
    sample = next(rows.pages(snapshot), [])[:SAMPLE]
    throttle = WriteThrottle()
    with Embedded() as engine:
        client = Client(migration.package.schema, "plan", engine, observe=throttle.observe)
        client.create_table()
        writer = RowWriter(client, migration.package, rows, throttle, LargeContents(client))
        first_result = writer.write(sample[:1])
        # Only one row so far: the items that it becomes are shown beside it.
        first_items = client.call("Scan")["Items"] if sample else []
        result = writer.write(sample[1:])
        units = throttle.units
        items = _scan(client)
    dead = (*first_result.dead, *result.dead)
    loadable = max(len(sample) - len(dead), 1)
    size = sum(measured(item)[1] for item in items)
    return EntityPlan(
        entity=rows.entity.name,
        table=rows.mapping.table,
        rows=rows.count(snapshot),
        items_per_row=len(items) / loadable,
        units_per_row=units / loadable,
        bytes_per_row=size / loadable,
        row=row_json(sample[0].values) if sample else None,
        items=tuple(first_items),
        dead=dead,
    )


def _scan(client: Client) -> list[dict[str, Any]]:
    items: list[dict[str, Any]] = []
    page = client.call("Scan")
    items += page["Items"]
    while "LastEvaluatedKey" in page:
        page = client.call("Scan", {"ExclusiveStartKey": page["LastEvaluatedKey"]})
        items += page["Items"]
    return items
