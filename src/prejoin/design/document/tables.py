"""The columns of the tables of a table design, its settings, and the labels of items."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from operator import attrgetter, itemgetter
from typing import Any

from prejoin.design import codes
from prejoin.design.document import cells, headings
from prejoin.design.document.annotations import Validation
from prejoin.design.model import TABLE, Counter, Facet, Guard, Slot
from prejoin.workload.document.columns import Column, TableKind
from prejoin.workload.document.tables import write_yes_no
from prejoin.workload.grammar.answers import read_yes_no


def _column(
    name: str,
    field: str = "",
    read: Callable[[str], Any] = str,
    write: Callable[[Any], str] = str,
    *,
    is_required: bool = False,
    if_used: bool = False,
    place: str | None = None,
) -> Column:
    fields = (field,) if field else ()
    return Column(name, fields, read, write, codes.CELL, headings.synonyms(name), is_required, if_used, "-", place)


def _generated_columns(*names: str) -> tuple[Column, ...]:
    """Columns that are written anew with the design."""
    return tuple(map(_column, names))


def _write_slot(name: str) -> str:
    return name if name == TABLE else cells.write_code(name)


def _write_optional(name: str) -> str:
    return cells.write_code(name) if name else "-"


def _read_together(text: str) -> tuple[str, ...]:
    """Attributes that are unique together, or counted in the same shards."""
    return cells.read_list(text, r"\+|,")


_write_together = partial(cells.write_list, between=" + ")
_REMARKS = _column("Remarks", if_used=True)
_ENTITY = _column("Entity", "entity", cells.read_code, cells.write_name, is_required=True)

# --- Keys -----------------------------------------------------------------------------------------------------------

SLOT_SETTINGS = (
    _column("Partition key", "pk", cells.read_key, cells.write_key),
    _column("Sort key", "sk", cells.read_key, cells.write_key),
    _column("Purpose", "purpose", cells.read_prose, cells.write_prose),
)
"""The settings of the slot of the table."""
_PARTITION_KEY, _SORT_KEY, _PURPOSE = SLOT_SETTINGS
SETTINGS = (
    _column("Table name", "table", cells.read_code, cells.write_code),
    _column("Billing mode", "billing", cells.read_billing),
    _PARTITION_KEY,
    _SORT_KEY,
    _column("Type attribute", "type_attribute", cells.read_code, cells.write_code),
    _column("Separator", "separator", cells.read_separator, cells.write_code),
    _column("Raw keys", "raw_keys", read_yes_no, write_yes_no),
    _column("TTL attribute", "ttl_attribute", cells.read_optional, _write_optional),
    _PURPOSE,
)
CONFIGURATION = TableKind("settings", (_column("Setting", is_required=True), _column("Value", is_required=True)), dict)
INDEXES = TableKind(
    "slots",
    (
        _column("Index", "name", cells.read_code, cells.write_code, is_required=True, place=""),
        _column("Kind", "local", cells.read_local, lambda is_local: "local" if is_local else "-", if_used=True),
        _column("Partition Key", "pk", cells.read_key, cells.write_key, is_required=True),
        _column("Sort Key", "sk", cells.read_key, cells.write_key),
        _column("Projection", "projection", cells.read_projection, cells.write_projection),
        _column("Serves", if_used=True),
        _column("Purpose", "purpose", cells.read_prose, cells.write_prose, if_used=True),
    ),
    partial(Slot, name="", pk=()),
)
FACETS = TableKind(
    "facets",
    (
        _column("Table or Index", "slot", cells.read_slot, _write_slot),
        _column("Partition Key", "pk", cells.read_templates, cells.write_templates, is_required=True),
        _column("Sort Key", "sk", cells.read_templates, cells.write_templates),
        _column("Only When", "when", cells.read_when, cells.write_when, if_used=True),
    ),
    partial(Facet, slot=TABLE, pk=()),
    attrgetter("slot"),
)
"""The keys of one item."""
ALL_FACETS = replace(FACETS, columns=(_column("Entity", is_required=True), *FACETS.columns))
"""The keys of all entities in one table."""
ITEM_LABELS = (
    _column("Type", "tag", cells.read_code, cells.write_code),
    _column("Holds", "attributes", cells.read_list, cells.write_list),
    _column("Attributes", "known", cells.read_list, cells.write_list),
)

# --- Items of constructs --------------------------------------------------------------------------------------------

GUARDS = TableKind(
    "guards",
    (
        _ENTITY,
        _column("Attributes", "attributes", _read_together, _write_together, is_required=True),
        *_generated_columns("Partition Key", "Sort Key", "Example"),
    ),
    partial(Guard, entity="", attributes=()),
)
COUNTERS = TableKind(
    "counters",
    (
        _ENTITY,
        _column("Attributes", "attributes", _read_together, _write_together, is_required=True),
        _column("Shards", "shards", cells.read_number, is_required=True),
        *_generated_columns("Partition Key", "Sort Key"),
    ),
    partial(Counter, entity="", attributes=(), shards=0),
)


@dataclass(frozen=True, slots=True)
class PlacedContent:
    """A large content with its place: an object store, or parts beside its item."""

    entity: str = ""
    attribute: str = ""
    is_stored: bool = False

    @property
    def name(self) -> str:
        return f"{self.entity}.{self.attribute}"


CONTENTS = TableKind(
    "stores",
    (
        _ENTITY,
        _column("Attribute", "attribute", cells.read_code, cells.write_name, is_required=True),
        _column("Place", "is_stored", cells.read_place, cells.write_place, is_required=True, place=""),
    ),
    PlacedContent,
)
CONSTRUCTS = {
    title: TableKind(
        "constructs",
        (_ENTITY, *_generated_columns(*section.columns[1:])),
        partial(dict, entity=""),
        itemgetter("entity"),
    )
    for title, section in headings.CONSTRUCT_SECTIONS.items()
}

# --- What follows from them -----------------------------------------------------------------------------------------

COSTS = TableKind(
    "costs",
    (
        _column("Most Expensive", is_required=True),
        *_generated_columns("What It Does", "Times a Second", "Units", "A Month"),
    ),
    dict,
)
COLLECTIONS = TableKind("collections", _generated_columns("Partition Key", "Sort Key", "Item"), dict)
_ID = _column("ID", is_required=True)
READS = TableKind(
    "reads",
    (
        _ID,
        *_generated_columns(
            "Description", "Operation", "Table or Index", "Partition Key", "Sort Key", "Parameters", "Units"
        ),
        _REMARKS,
    ),
    dict,
)
WRITES = TableKind(
    "writes",
    (
        _ID,
        *_generated_columns("Description", "Operation"),
        _column("Action", if_used=True),
        *_generated_columns("Item", "Partition Key", "Sort Key", "Changes", "Conditions", "Units"),
        _REMARKS,
    ),
    dict,
)
VALIDATION = TableKind(
    "validation",
    (
        _column("Check", "check", cells.read_prose, cells.write_prose, is_required=True, place=""),
        _column("Result", "result", cells.read_prose, cells.write_prose, is_required=True, place=""),
        _column("Detail", "detail", cells.read_prose, cells.write_prose, if_used=True, place=""),
    ),
    partial(Validation, check="", result=""),
    attrgetter("check"),
)
TABLES = {
    headings.REVIEW: COSTS,
    headings.CONFIGURATION: CONFIGURATION,
    headings.INDEXES: INDEXES,
    headings.UNIQUE: GUARDS,
    headings.COUNTERS: COUNTERS,
    headings.CONTENTS: CONTENTS,
    **CONSTRUCTS,
    headings.READS: READS,
    headings.WRITES: WRITES,
    headings.DELETES: WRITES,
    headings.VALIDATION: VALIDATION,
}
"""The tables by their sections."""
