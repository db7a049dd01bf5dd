"""Design → Schema: the one function that turns a design into what the run time works with."""

from __future__ import annotations

import keyword
import re
import unicodedata
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from inspect import signature
from typing import Any, Literal

import msgspec

from prejoin import keys
from prejoin.design.mapping.facets import ending, is_natural, planner_facets, unsaid_ending, when_values
from prejoin.design.model import Design, Facet, Item, ProjectionKind, Slot
from prejoin.patterns import Copy, TimeToLive, Unique
from prejoin.table import Client, Entity, Index, Key, Schema
from prejoin.types import Kind, Type
from prejoin.workload.model import Entity as Described
from prejoin.workload.model import Workload
from prejoin.workload.tenants import is_owned, tenant_field

_PYTHON: Mapping[Kind, Any] = {
    Kind.STRING: str,
    Kind.NUMBER: int | Decimal,
    Kind.INTEGER: int,
    Kind.DECIMAL: Decimal,
    Kind.BOOLEAN: bool,
    Kind.BINARY: bytes,
    Kind.DATE: date,
    Kind.DATETIME: datetime,
    Kind.UUID: uuid.UUID,
    Kind.ULID: str,
    Kind.MAP: dict[str, Any],
}


_OPTIONS = frozenset(
    name
    for method in (Client.get, Client.query, Client.count, Client.collect, Client.put, Client.apply, Client.delete)
    for name in signature(method).parameters
)
"""What the client's methods take beside attributes."""


@dataclass(frozen=True, slots=True)
class Built:
    """A schema, and the class of each entity with the names that its attributes have in Python."""

    schema: Schema
    classes: Mapping[str, type[Any]]
    names: Mapping[str, Mapping[str, str]]
    """By entity and attribute."""


def schema_of(design: Design, workload: Workload, clock: Callable[[], datetime] | None = None) -> Built:
    """The schema of a design, with a class for each entity of the workload. By the clock, items have ended or not."""
    names = {e.name: python_names(e) for e in workload.entities}
    classes = {e.name: _class(e, names[e.name]) for e in workload.entities}
    used = {facet.slot for facet in planner_facets(design, workload)}
    stored = [e for e in workload.entities if design.item(e.name)]
    entities = [_entity(e, design, classes[e.name], names[e.name], clock) for e in stored]
    base = design.slots[0]
    schema = Schema(
        *entities,
        # An index that nothing is in would be made for nothing, and its attributes have no types.
        indexes=[_index(slot) for slot in design.indexes if slot.name in used],
        pk=base.pk[0].name,
        sk=base.sk[0].name if base.sk else "sk",
        type_attribute=design.type_attribute,
        separator=design.separator,
        ttl=unsaid_ending(design, workload),
        tenant=tenant_field(workload, names),
        exempt=[classes[e.name] for e in stored if workload.tenant and not is_owned(workload, e.name)],
    )
    return Built(schema, classes, names)


def python_names(entity: Described) -> dict[str, str]:
    """A Python identifier for each attribute: its own name where that is one."""
    names: dict[str, str] = {}
    for attribute in entity.attributes:
        # Python takes two names that are written alike for one, and what begins with `_` is an object's own.
        name = unicodedata.normalize("NFKC", re.sub(r"\W", "_", attribute.name)).lstrip("_")
        if not name.isidentifier() or keyword.iskeyword(name):
            name = f"{name}_" if keyword.iskeyword(name) else f"a_{name}"
        while name in names.values() or name in _OPTIONS:
            name += "_"
        names[attribute.name] = name
    return names


def _class(entity: Described, names: Mapping[str, str]) -> type[Any]:
    required = [(names[a.name], python_type(a.type)) for a in entity.attributes if not a.optional]
    optional = [(names[a.name], python_type(a.type) | None, None) for a in entity.attributes if a.optional]
    return msgspec.defstruct(re.sub(r"\W", "_", entity.name), [*required, *optional], frozen=True)


def python_type(type_: Type) -> Any:
    """What an attribute of a type is in Python."""
    match type_.kind:
        case Kind.ENUM:
            return Literal[type_.values]
        case Kind.LIST:
            return list[python_type(type_.of)] if type_.of else list[Any]  # type: ignore[misc]
        case Kind.SET:
            return set[python_type(type_.of)] if type_.of else set[str]  # type: ignore[misc]
        case kind:
            return _PYTHON[kind]


def _index(slot: Slot) -> Index:
    projection = slot.projection
    held = projection.attributes if projection.kind is ProjectionKind.INCLUDE else projection.kind.value
    return Index(slot.name, [a.name for a in slot.pk], [a.name for a in slot.sk], held, slot.local)


def _entity(
    entity: Described,
    design: Design,
    cls: type[Any],
    names: Mapping[str, str],
    clock: Callable[[], datetime] | None,
) -> Entity[Any]:
    own = design.item(entity.name)
    assert own is not None  # asked for by the caller
    copies = [i for i in design.items if i.entity == entity.name and i.copy]
    guards = [Unique(*(names[a] for a in g.attributes)) for g in design.guards if g.entity == entity.name]
    ends = names.get(ending(design, entity))
    timed = [TimeToLive(ends, clock=clock) if clock else TimeToLive(ends)] if ends else []
    return Entity(
        cls,
        _key(own.facets[0], entity, names, design),
        _keys(own, entity, names, design),
        own.tag,
        {python: name for name, python in names.items() if python != name},
        [*(_copy(i, entity, names, design) for i in copies), *guards, *timed],
    )


def _copy(item: Item, entity: Described, names: Mapping[str, str], design: Design) -> Copy:
    held = [names[a] for a in item.attributes] if item.attributes else None
    return Copy(item.copy, _key(item.facets[0], entity, names, design), held, _keys(item, entity, names, design))


def _keys(item: Item, entity: Described, names: Mapping[str, str], design: Design) -> dict[str, Key]:
    """The keys of our making that an item has in indexes. On attributes as they stand there is nothing to be made."""
    return {f.slot: _key(f, entity, names, design) for f in item.facets[1:] if not _is_natural(f, design)}


def _is_natural(facet: Facet, design: Design) -> bool:
    slot = design.slot(facet.slot)
    return slot is not None and is_natural((*facet.pk, *facet.sk), (*slot.pk, *slot.sk))


def _key(facet: Facet, entity: Described, names: Mapping[str, str], design: Design) -> Key:
    when = [keys.When(names[w.attribute], when_values(w, entity)) for w in facet.when]
    texts = [keys.renamed(text, names) for text in (*facet.pk, *facet.sk)]
    return Key(texts[0], texts[1] if facet.sk else None, when or None, design.raw_keys)
