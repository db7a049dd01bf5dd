"""The names of generated Python: classes, fields, enum types, methods."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass

from prejoin.render.naming import class_name, class_names, method_names
from prejoin.types import Kind
from prejoin.workload.field_names import field_names, snake
from prejoin.workload.model import Attribute, Entity, Workload

_CLASSES = frozenset(
    {
        "Any",
        "AsyncClient",
        "BaseModel",
        "Client",
        "Collection",
        "Copy",
        "Decimal",
        "Embedded",
        "Entity",
        "Follows",
        "Get",
        "Index",
    }
    | {"Key", "Literal", "Page", "Schema", "Sequence", "Struct", "TooMany", "UUID", "Unique", "When"}
)
"""Classes that generated modules import."""


@dataclass(frozen=True, slots=True)
class Names:
    """The names of one workload."""

    title: str
    """The name of the application: `Shop`."""
    classes: Mapping[str, str]
    fields: Mapping[str, Mapping[str, str]]
    """By entity and attribute."""
    enums: Mapping[tuple[str, str], str]
    """The enum types, by entity and attribute."""
    methods: Mapping[str, str]
    """By pattern."""

    def field(self, entity: str, attribute: str) -> str:
        return self.fields[entity][attribute]

    def note(self, entity: str, attribute: str) -> str:
        """Why a field has another name than its attribute; empty if only the case differs."""
        field = self.fields[entity][attribute]
        if field.replace("_", "").lower() == unicodedata.normalize("NFKC", attribute).replace("_", "").lower():
            return "" if not field.endswith("_") else f"{attribute!r} has another meaning in Python"
        return f"{attribute!r} in the document"


def names_of(workload: Workload) -> Names:
    """Chooses all names; the same for the same workload."""
    title = class_name(Entity(short_title(workload)))
    own = {f"{title}Repository", f"Async{title}Repository"}
    classes = class_names(workload, {*_CLASSES, *own})
    fields = {e.name: field_names(e) for e in workload.entities}
    used_names = {*_CLASSES, *own, *classes.values()}
    enums: dict[tuple[str, str], str] = {}
    for entity in workload.entities:
        for attribute in entity.attributes:
            if attribute.type.kind is Kind.ENUM:
                # `OrderStatus`, for several entities may have an attribute of one name.
                name = class_name(Entity(f"{classes[entity.name]} {attribute.name}"), used_names)
                used_names.add(name)
                enums[entity.name, attribute.name] = name
    return Names(title, classes, fields, enums, method_names(workload, {"db", "now"}))


def short_title(workload: Workload) -> str:
    """The name of the application: its title without additions.

    >>> short_title(Workload("Flight fares: flights, bookings")), short_title(Workload("(draft)"))
    ('Flight fares', 'App')
    """
    words = re.split(r"[:,;(\[/–—]|\s-\s", workload.title)[0].split()
    return " ".join(words[:4]) if snake(" ".join(words)) else "App"


def plural(name: str) -> str:
    """The plural of a name.

    >>> plural("product_id"), plural("address"), plural("category"), plural("day")
    ('product_ids', 'addresses', 'categories', 'days')
    """
    name = name.rstrip("_")
    if name.endswith(("s", "x", "z", "ch", "sh")):
        return f"{name}es"
    if name.endswith("y") and name[-2:-1] not in "aeiou":
        return f"{name[:-1]}ies"
    return f"{name}s"


def single(workload: Workload, name: str, attribute: str) -> Attribute:
    """An attribute by entity and name; a missing one is a KeyError."""
    entity = workload.entity(name)
    found_attribute = entity.attribute(attribute) if entity else None
    if found_attribute is None:
        raise KeyError(f"{name}.{attribute}")
    return found_attribute
