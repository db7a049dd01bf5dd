"""The names of generated Python: classes, fields, enum types, methods."""

from __future__ import annotations

import keyword
import re
import unicodedata
from collections.abc import Collection, Mapping
from dataclasses import dataclass

from prejoin.render.naming import LONGEST, RESERVED, class_name, class_names, method_names, snake
from prejoin.types import Kind
from prejoin.workload.model import Attribute, Entity, Workload

OPTIONS = frozenset(
    {"after", "consistent", "filter", "into", "limit", "now", "order", "progress", "read", "returning", "reverse"}
    | {"roles", "upsert", "was", "where"}
)
"""Keywords of the client's methods. Attributes are given by keyword, too, and must not have these names."""
_TYPES = frozenset({"bool", "bytes", "dict", "dt", "int", "list", "set", "str"})
"""Names in annotations. A field with such a name would change their meaning."""
_MODELS = frozenset(
    {"construct", "copy", "dict", "fields", "from_orm", "json", "schema", "validate"}
    | {f"model_{name}" for name in ("computed_fields", "config", "construct", "copy", "dump", "dump_json", "extra")}
    | {f"model_{name}" for name in ("fields", "fields_set", "json_schema", "parametrized_name", "post_init")}
    | {f"model_{name}" for name in ("rebuild", "validate", "validate_json", "validate_strings")}
)
"""Attributes of every pydantic model."""
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
    taken = {*_CLASSES, *own, *classes.values()}
    enums: dict[tuple[str, str], str] = {}
    for entity in workload.entities:
        for attribute in entity.attributes:
            if attribute.type.kind is Kind.ENUM:
                name = class_name(Entity(f"{classes[entity.name]} {attribute.name}"), taken)
                taken.add(name)
                enums[entity.name, attribute.name] = name
    return Names(title, classes, fields, enums, method_names(workload, {"db", "now"}))


def short_title(workload: Workload) -> str:
    """The name of the application: its title without additions.

    >>> short_title(Workload("Flight fares: flights, bookings")), short_title(Workload("(draft)"))
    ('Flight fares', 'App')
    """
    words = re.split(r"[:,;(\[/–—]|\s-\s", workload.title)[0].split()
    return " ".join(words[:4]) if snake(" ".join(words)) else "App"


def field_names(entity: Entity) -> dict[str, str]:
    """The field of each attribute, in snake case.

    >>> names = ["flightNo", "flight_no", "class", "2nd", "limit"]
    >>> field_names(Entity("Flight", attributes=tuple(map(Attribute, names))))
    {'flightNo': 'flight_no', 'flight_no': 'flight_no_2', 'class': 'class_', '2nd': 'a_2nd', 'limit': 'limit_'}
    """
    found: dict[str, str] = {}
    for attribute in entity.attributes:
        found[attribute.name] = free(identifier(attribute.name, _TYPES | _MODELS | OPTIONS), found.values())
    return found


def identifier(text: str, reserved: Collection[str] = RESERVED) -> str:
    """A valid Python name for any text."""
    name = snake(text)[:LONGEST].rstrip("_") or "value"
    if not name.isidentifier():
        name = f"a_{name}"
    return f"{name}_" if keyword.iskeyword(name) or name in reserved or name in {"self", "cls"} else name


def free(name: str, taken: Collection[str]) -> str:
    """The name, with a number if it is taken."""
    number = 2
    found = name
    while found in taken:
        found = f"{name.rstrip('_')}_{number}"
        number += 1
    return found


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
    found = entity.attribute(attribute) if entity else None
    if found is None:
        raise KeyError(f"{name}.{attribute}")
    return found
