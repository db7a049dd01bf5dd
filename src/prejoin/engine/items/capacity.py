"""Consumed capacity, counted for each table and index, and rendered as ReturnConsumedCapacity requires."""

from __future__ import annotations

from typing import Any

from prejoin.engine.tables.definition import IndexDefinition, TableDefinition
from prejoin.protocol.prices import write_units


class Capacity:
    """The units that one request consumed on one table."""

    __slots__ = ("_indexes", "_table", "_units")
    counts = True

    def __init__(self, table: TableDefinition) -> None:
        self._table = table
        self._units = 0.0
        self._indexes: dict[int, float] = {}

    def add(self, units: float, index: IndexDefinition | None = None) -> None:
        if index is None:
            self._units += units
        else:
            self._indexes[index.number] = self._indexes.get(index.number, 0.0) + units

    def wrote(self, size: int, index: IndexDefinition | None = None, *, transactional: bool = False) -> None:
        """Count the write of an item or index entry of this size."""
        self.add(write_units(size, transactional=transactional), index)

    @property
    def table_name(self) -> str:
        return self._table.name

    @property
    def total(self) -> float:
        return self._units + sum(self._indexes.values())

    def render(self, detail: str, name: str | None, *, kind: str | None = None) -> dict[str, Any]:
        """The ConsumedCapacity object. `kind`, Read or Write, adds the member that transactions have.

        `name` is the table as the request names it, which may be by its ARN.
        """
        rendered: dict[str, Any] = {"TableName": name or self._table.name, **_units(self.total, kind)}
        if detail == "INDEXES":
            rendered["Table"] = _units(self._units, kind)
            # AWS lists only indexes that consumed units.
            for member, is_global in (("GlobalSecondaryIndexes", True), ("LocalSecondaryIndexes", False)):
                indexes = {
                    index.name: _units(self._indexes[index.number], kind)
                    for index in self._table.indexes
                    if index.is_global is is_global and index.number in self._indexes
                }
                if indexes:
                    rendered[member] = indexes
        return rendered


class UncountedCapacity(Capacity):
    """Counts nothing, for requests that do not return consumed capacity."""

    counts = False

    def add(self, units: float, index: IndexDefinition | None = None) -> None:
        pass

    def wrote(self, size: int, index: IndexDefinition | None = None, *, transactional: bool = False) -> None:
        pass


def capacity_counter(table: TableDefinition, detail: str | None) -> Capacity:
    """A counter for a request: a real one only if the request returns consumed capacity."""
    return Capacity(table) if is_requested(detail) else UncountedCapacity(table)


class Capacities:
    """The units of a request over several tables."""

    def __init__(self, detail: str | None) -> None:
        self._detail = detail
        self._by_table: dict[int, Capacity] = {}

    def of(self, table: TableDefinition) -> Capacity:
        capacity = self._by_table.get(table.id)
        if capacity is None:
            capacity = self._by_table[table.id] = capacity_counter(table, self._detail)
        return capacity

    def render(self, request_names: dict[str, str], *, kind: str | None = None) -> dict[str, Any]:
        """The ConsumedCapacity member of a response, or nothing if it was not requested.

        `request_names` has for each table the name or ARN in the request.
        """
        if not is_requested(self._detail):
            return {}
        rendered = [
            capacity.render(self._detail or "TOTAL", request_names.get(capacity.table_name), kind=kind)
            for capacity in self._by_table.values()
        ]
        return {"ConsumedCapacity": rendered}


def is_requested(detail: str | None) -> bool:
    return detail is not None and detail != "NONE"


def consumed_capacity(capacity: Capacity, detail: str | None, name: str | None) -> dict[str, Any]:
    """The ConsumedCapacity member of a response about one table, or nothing if it was not requested."""
    return {"ConsumedCapacity": capacity.render(detail or "TOTAL", name)} if is_requested(detail) else {}


def _units(units: float, kind: str | None) -> dict[str, float]:
    rendered = {"CapacityUnits": units}
    if kind is not None:
        rendered[f"{kind}CapacityUnits"] = units
    return rendered
