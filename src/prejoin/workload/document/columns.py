"""The columns and labels of the document: their names, the other names they are known by, and how near a miss was."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from difflib import get_close_matches

READS = (
    "ID", "Entity", "Description", "Input Parameters", "Result", "Sort", "Paginated", "Frequency", "Consistency",
    "Multi-Entity",
)  # fmt: skip
WRITES = (
    "ID", "Entity", "Description", "Input Parameters", "Items Written", "Transaction", "Conditions", "Frequency",
)  # fmt: skip
DELETES = tuple("Items Deleted" if column == "Items Written" else column for column in WRITES)
COLLECTIONS = ("Group", "Entities", "Access Patterns", "Rationale")
ENTITY_LABELS = (
    "Description", "Attributes", "Relationships", "Cardinality", "Size", "Unique", "Excludes", "Owner", "Lifecycle",
)  # fmt: skip
CONTEXT_LABELS = ("Teams", "Stage", "Access patterns", "Analytics", "Ad-hoc queries", "GraphQL", "Experience", "Tenant")
SECTIONS = (
    "Domain Overview", "Context", "Entities", "Access Patterns", "Reads", "Writes", "Deletes",
    "Item Collection Candidates", "Decisions", "Notes",
)  # fmt: skip
NAME = "Name"
"""A column of its own where patterns have names."""

_OTHER_NAMES = {
    "input parameters": ("input", "inputs", "parameters", "input parameter"),
    "result": ("result type", "returns"),
    "sort": ("sort required", "order", "sort order"),
    "paginated": ("pagination", "pages"),
    "frequency": ("rate",),
    "multi-entity": ("multi entity", "multientity", "multiple entities"),
    "items written": ("items deleted", "items", "writes"),
    "items deleted": ("items written", "items", "deletes"),
    "transaction": ("transactional", "atomic"),
    "conditions": ("condition",),
    "entity": ("entities",),
    "entities": ("entity",),
    "group": ("collection", "item collection", "name"),
    "access patterns": ("patterns",),
    "rationale": ("reason", "why"),
    "domain overview": ("overview", "domain"),
    "item collection candidates": ("item collections",),
    "decisions": ("decisions and pins", "pins"),
    "reads": ("read patterns", "read"),
    "writes": ("write patterns", "write"),
    "deletes": ("delete patterns", "delete"),
    "cardinality": ("volume", "count"),
    "size": ("item size",),
    "relationships": ("relationship", "relations"),
}


def normal(title: str) -> str:
    return re.sub(r"\s+", " ", title.replace("*", "").replace("`", "")).strip(" :.").lower()


class Names:
    """A set of known names, found under any of the names they go by."""

    def __init__(self, known: Iterable[str], others: Mapping[str, Sequence[str]] = _OTHER_NAMES) -> None:
        self.known = tuple(known)
        self.by_name: Mapping[str, str] = {
            **{other: name for name in self.known for other in others.get(name.lower(), ())},
            **{normal(name): name for name in self.known},
        }

    def find(self, title: str) -> str | None:
        return self.by_name.get(normal(title))

    def near(self, title: str) -> str | None:
        """The known name that a title was probably meant to be."""
        match = get_close_matches(normal(title)[:60], self.by_name, 1, 0.8)
        return self.by_name[match[0]] if match else None
