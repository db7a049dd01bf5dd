"""A design as a NoSQL Workbench data model: keys, indexes and projections, a facet and samples for each kind of item.

What the form has no place for (types, the keys of indexes, access patterns) stands in the model's description, from
where `design.workbench` reads it again.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath

import msgspec

from prejoin.design.document.samples import sample_item, sample_values, varying
from prejoin.design.mapping.validate import must_fit
from prejoin.design.model import TABLE, Billing, Design, Guard, Item, KeyAttribute, ProjectionKind, Slot
from prejoin.design.workbench.description import in_form, write_description
from prejoin.design.workbench.file_format import (
    PROVISIONED,
    Alias,
    DataModel,
    Metadata,
    Sample,
    TableFacet,
    WorkbenchAttribute,
    WorkbenchIndex,
    WorkbenchKeys,
    WorkbenchProjection,
    WorkbenchTable,
)
from prejoin.design.workbench.read_model import GUARD
from prejoin.keys import KeyValueError, TemplateError, fields_of
from prejoin.keys.guard import guard_key
from prejoin.types import Kind, Type
from prejoin.workload.model import Workload

_SETS = {"N": "NS", "B": "BS"}


PATH = PurePosixPath("workbench.json")


@dataclass(frozen=True, slots=True)
class WorkbenchOptions:
    author: str = ""


def render_workbench(
    workload: Workload, design: Design, options: WorkbenchOptions | None = None
) -> Mapping[PurePosixPath, str]:
    """Renders the model; raises DesignError if the design does not fit the workload."""
    must_fit(design, workload)
    options = options or WorkbenchOptions()
    facets = tuple(_facets(workload, design))
    table = WorkbenchTable(
        design.table,
        _keys(design.slots[0]),
        tuple(_attributes(design, facets)),
        facets,
        tuple(_index(slot) for slot in design.indexes if in_form(slot)),
        billing_mode=design.billing.value,
        provisioned_capacity_settings=PROVISIONED if design.billing is Billing.PROVISIONED else msgspec.UNSET,
    )
    about = Metadata(options.author, description=write_description(workload, design))
    model = DataModel(workload.title or design.table, about, (table,))
    return {PATH: msgspec.json.format(msgspec.json.encode(model), indent=2).decode() + "\n"}


# --- Keys -----------------------------------------------------------------------------------------------------------


def _keys(slot: Slot) -> WorkbenchKeys:
    (pk,) = slot.pk
    return WorkbenchKeys(_named(pk), _named(slot.sk[0]) if slot.sk else msgspec.UNSET)


def _named(attribute: KeyAttribute) -> WorkbenchAttribute:
    return WorkbenchAttribute(attribute.name, attribute.type)


def _index(slot: Slot) -> WorkbenchIndex:
    projection = slot.projection
    names = projection.attributes if projection.kind is ProjectionKind.INCLUDE else msgspec.UNSET
    return WorkbenchIndex(slot.name, _keys(slot), WorkbenchProjection(projection.kind.value, names))


def _attributes(design: Design, facets: tuple[TableFacet, ...]) -> Iterator[WorkbenchAttribute]:
    """All attributes but the table's key, each once: a name has one type in a model."""
    found = {a.name: a.type for slot in design.indexes for a in (*slot.pk, *slot.sk)}
    for facet in facets:
        for sample in facet.table_data:
            for name, value in sample.items():
                found.setdefault(name, next(iter(value)))
    own = {a.name for a in (*design.slots[0].pk, *design.slots[0].sk)}
    yield from (WorkbenchAttribute(name, type_) for name, type_ in found.items() if name not in own)


# --- Items ----------------------------------------------------------------------------------------------------------


def _facets(workload: Workload, design: Design) -> Iterator[TableFacet]:
    for item in design.items:
        name = f"{item.entity}.{item.copy}" if item.copy else item.entity
        own = item.facets[0]
        yield _facet(design, name, (*own.pk, *own.sk), list(_samples(workload, design, item)))
    for guard in design.guards:
        found = _guarded(workload, design, guard)
        if found:
            name = f"{guard.entity}{GUARD}{'+'.join(guard.attributes)}"
            yield _facet(design, name, *found)


def _facet(design: Design, name: str, texts: tuple[str, ...], samples: list[Sample]) -> TableFacet:
    alias = Alias(texts[0], texts[1] if len(texts) > 1 else msgspec.UNSET)
    own = {a.name for a in (*design.slots[0].pk, *design.slots[0].sk)}
    others = dict.fromkeys(key for sample in samples for key in sample if key not in own)
    return TableFacet(name, alias, tuple(samples), tuple(others))


def _samples(workload: Workload, design: Design, item: Item) -> Iterator[Sample]:
    """A sample item, one in the same partition, and one in another, so that the parts of the key show."""
    entity = workload.entity(item.entity)
    if entity is None:
        return
    own = item.facets[0]
    beside = varying(entity, own)
    elsewhere = tuple(name for text in (*own.pk, *own.sk) for name in fields_of(text))
    keys = {a.name: a.type for slot in design.slots for a in (*slot.pk, *slot.sk)}
    types = entity.types
    seen = set()
    for second in ((), beside, elsewhere):
        plain = sample_item(design, workload, item, second)
        sample = {name: stored(value, types.get(name), keys.get(name)) for name, value in plain.items()}
        key = tuple(str(sample.get(a.name)) for a in (*design.slots[0].pk, *design.slots[0].sk))
        if key not in seen:
            seen.add(key)
            yield sample


def _guarded(workload: Workload, design: Design, guard: Guard) -> tuple[tuple[str, ...], list[Sample]] | None:
    entity, item = workload.entity(guard.entity), design.item(guard.entity)
    slot = design.slot(TABLE)
    if entity is None or item is None or slot is None:
        return None
    try:
        pk, sk = guard_key(item.tag, guard.attributes, entity.types, design.separator, bool(slot.sk))
        values = sample_values(workload, entity, design)
        found = [(pk, slot.pk[0]), *([(sk, slot.sk[0])] if sk else [])]
        sample = {attribute.name: {"S": template.build(values)} for template, attribute in found}
    except (TemplateError, KeyValueError):
        return None
    return tuple(template.text for template, _ in found), [sample]


def stored(value: object, type_: Type | None, key: str | None = None) -> dict[str, object]:
    """A value in DynamoDB's JSON.

    >>> stored(19.5, Type(Kind.DECIMAL)), stored(["a"], Type(Kind.SET, of=Type(Kind.STRING)))
    ({'N': '19.5'}, {'SS': ['a']})
    >>> stored(["a"], Type(Kind.LIST, of=Type(Kind.STRING)))
    {'L': [{'S': 'a'}]}
    """
    kind = type_.kind if type_ else None
    if isinstance(value, bool):
        return {"BOOL": value}
    if isinstance(value, dict):
        return {"M": {str(name): stored(one, None) for name, one in value.items()}}
    if isinstance(value, list):
        inside = [stored(one, type_.of if type_ else None) for one in value]
        if kind is Kind.SET and inside:
            tag = next(iter(inside[0]))
            return {_SETS.get(tag, "SS"): [str(next(iter(one.values()))) for one in inside]}
        return {"L": inside}
    if isinstance(value, int | float):
        return {"N": str(value)}
    if kind is Kind.BINARY and key in {None, "B"}:
        return {"B": str(value)}
    return {"S": str(value)}
