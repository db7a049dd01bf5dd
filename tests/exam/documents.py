"""Documents of the exams: entities, reads and the rows to examine, with each kind of tenancy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Tenancy:
    """How the document names its tenants."""

    name: str
    attribute: str = ""
    entity: str = ""

    @property
    def context(self) -> str:
        if not self.attribute:
            return ""
        arrow = f" → {self.entity}" if self.entity else ""
        return f"## Context\n\n- **Tenant**: {self.attribute}{arrow}\n"


NO_TENANT = Tenancy("no tenant")
PLAIN_TENANT = Tenancy("tenantId", "tenantId")
TENANT_ENTITY = Tenancy("clinicId → Clinic", "clinicId", "Clinic")
TENANCIES = (NO_TENANT, PLAIN_TENANT, TENANT_ENTITY)
ACTING = "north"
"""The tenant that calls the methods."""
OTHER = "south"
"""A tenant with the same ids, whose items never change."""


@dataclass(frozen=True, slots=True)
class EntityText:
    """An entity of a document. The attributes are lines without their bullet."""

    name: str
    attributes: Sequence[str]
    cardinality: str = "~100 total"

    def __str__(self) -> str:
        lines = "\n".join(f"  - {line}" for line in self.attributes)
        return f"### {self.name}\n\n- **Attributes**:\n{lines}\n- **Cardinality**: {self.cardinality}\n"


CLINIC = EntityText("Clinic", ("`clinicId` (string, natural)", "`title` (string, mutable)"))


@dataclass(frozen=True, slots=True)
class Row:
    """A write of a document. Its name is that of the generated method."""

    name: str
    entities: str
    inputs: str
    items: str
    conditions: str = "-"
    transaction: str = "Yes"
    contradiction: bool = False
    """Whether `check` has to refuse it."""

    @property
    def deletes(self) -> bool:
        return all(action.strip().startswith("delete") for action in self.items.split(";"))

    def __str__(self) -> str:
        return f"{self.inputs} | {self.items} | {self.transaction} | {self.conditions}"


@dataclass(frozen=True, slots=True)
class Read:
    """A read of a document: its entities and its inputs."""

    entities: str
    inputs: str
    result: str = "Single"
    consistency: str = "Eventual"

    @property
    def combine(self) -> str:
        return "Collection" if "," in self.entities else "No"


@dataclass(frozen=True, slots=True)
class DocumentText:
    """A document, without rows that `build` leaves out."""

    tenancy: Tenancy
    entities: Sequence[EntityText]
    reads: Sequence[Read]
    rows: Sequence[Row]

    def pattern(self, row: Row) -> str:
        """The id of a row's pattern."""
        return f"AP-{100 + self.rows.index(row)}"

    def __str__(self) -> str:
        entities = [*self.entities, *([CLINIC] if self.tenancy.entity else [])]
        reads = list(self.reads)
        if self.tenancy.entity:
            reads.append(Read("Clinic", "clinicId"))
        read_lines = [
            f"| AP-{number:03} | {read.entities} | Read {number} | {read.inputs} | {read.result} | - | No | 5/s "
            f"| {read.consistency} | {read.combine} |"
            for number, read in enumerate(reads, 1)
        ]
        writes = [self._line(row) for row in self.rows if not row.deletes]
        deletes = [self._line(row) for row in self.rows if row.deletes]
        parts = ["# Exam\n", self.tenancy.context, "## Entities\n", *map(str, entities), "## Access Patterns\n"]
        parts += ["### Reads\n", _READ_HEAD + "\n".join(read_lines) + "\n"]
        if writes:
            parts += ["### Writes\n", _WRITE_HEAD.format(items="Items Written") + "\n".join(writes) + "\n"]
        if deletes:
            parts += ["### Deletes\n", _WRITE_HEAD.format(items="Items Deleted") + "\n".join(deletes) + "\n"]
        return "\n".join(part for part in parts if part)

    def _line(self, row: Row) -> str:
        return (
            f"| {self.pattern(row)} | {row.entities} | {row.name} | {row.name} | {row.inputs} | {row.items} "
            f"| {row.transaction} | {row.conditions} | 1/s |"
        )


_READ_HEAD = """| ID | Entity | Description | Input Parameters | Result | Sort | Paginated | Frequency | Consistency | Multi-Entity |
| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |
"""
_WRITE_HEAD = """| ID | Entity | Name | Description | Input Parameters | {items} | Transaction | Conditions | Frequency |
| --- | --- | --- | --- | --- | --- | --- | --- | --- |
"""

Item = Mapping[str, Any]
"""The attributes of an item by the names of the document, without those that are absent."""
Stored = Sequence[tuple[str, Item]]
"""The items of a table, each with its entity."""


def for_tenants(tenancy: Tenancy, acting: Stored, other: Stored) -> list[tuple[str, Item]]:
    """The items of the tenant that calls, and those of another one; without tenants, only the first."""
    if not tenancy.attribute:
        return list(acting)
    items = [*_owned(tenancy, ACTING, acting), *_owned(tenancy, OTHER, other)]
    if tenancy.entity:
        items += [(tenancy.entity, {tenancy.attribute: name, "title": name}) for name in (ACTING, OTHER)]
    return items


def _owned(tenancy: Tenancy, tenant: str, items: Stored) -> list[tuple[str, Item]]:
    return [(entity, {tenancy.attribute: tenant, **item}) for entity, item in items]
