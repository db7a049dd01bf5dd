"""A design as a NoSQL Workbench data model: keys, indexes and projections, a facet and samples for each kind of item.

What the form has no place for (types, the keys of indexes, access patterns) stands in the model's description, from
where `design.workbench` reads it again.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import PurePosixPath

import msgspec

from prejoin.constructs.construct import AddedConstruct
from prejoin.constructs.registry import added_in
from prejoin.design.document.samples import sample_item, sample_values, varying
from prejoin.design.mapping.validate import must_fit
from prejoin.design.model import TABLE, Billing, Design, Item, KeyAttribute, ProjectionKind, Slot
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
from prejoin.types import Kind, Type
from prejoin.workload.model import Workload

_SETS = {"N": "NS", "B": "BS"}
"""The tags of sets, by those of their members. Other members are texts."""
PATH = PurePosixPath("workbench.json")


def render_workbench(workload: Workload, design: Design) -> Mapping[PurePosixPath, str]:
    """Renders the model; raises DesignError if the design does not fit the workload."""
    must_fit(design, workload)
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
    about = Metadata("", description=write_description(workload, design))
    model = DataModel(workload.title or design.table, about, (table,))
    return {PATH: msgspec.json.format(msgspec.json.encode(model), indent=2).decode() + "\n"}


# --- Keys -----------------------------------------------------------------------------------------------------------


def _keys(slot: Slot) -> WorkbenchKeys:
    (pk,) = slot.pk
    return WorkbenchKeys(_workbench_attribute(pk), _workbench_attribute(slot.sk[0]) if slot.sk else msgspec.UNSET)


def _workbench_attribute(attribute: KeyAttribute) -> WorkbenchAttribute:
    return WorkbenchAttribute(attribute.name, attribute.type)


def _index(slot: Slot) -> WorkbenchIndex:
    projection = slot.projection
    names = projection.attributes if projection.kind is ProjectionKind.INCLUDE else msgspec.UNSET
    return WorkbenchIndex(slot.name, _keys(slot), WorkbenchProjection(projection.kind.value, names))


def _attributes(design: Design, facets: tuple[TableFacet, ...]) -> Iterator[WorkbenchAttribute]:
    """All attributes but the table's key, each once: a name has one type in a model."""
    attribute_types = _key_types(design.indexes)
    for facet in facets:
        for sample in facet.table_data:
            for name, value in sample.items():
                attribute_types.setdefault(name, next(iter(value)))
    for name, type_ in attribute_types.items():
        if name not in design.table_keys:
            yield WorkbenchAttribute(name, type_)


def _key_types(slots: Iterable[Slot]) -> dict[str, str]:
    """The types of key attributes, by name."""
    types: dict[str, str] = {}
    for slot in slots:
        for attribute in slot.key_attributes:
            types[attribute.name] = attribute.type
    return types


# --- Items ----------------------------------------------------------------------------------------------------------


def _facets(workload: Workload, design: Design) -> Iterator[TableFacet]:
    for item in design.items:
        name = f"{item.entity}.{item.copy}" if item.copy else item.entity
        table_facet = item.facets[0]
        yield _facet(design, name, table_facet.templates, list(_samples(workload, design, item)))
    for bound in added_in(workload, design):
        if bound.item_name.guard and (guard_sample := _guard_sample(workload, design, bound)):
            name = f"{bound.entity.name}{GUARD}{'+'.join(bound.item_name.guard)}"
            yield _facet(design, name, *guard_sample)


def _facet(design: Design, name: str, texts: tuple[str, ...], samples: list[Sample]) -> TableFacet:
    alias = Alias(texts[0], texts[1] if len(texts) > 1 else msgspec.UNSET)
    names: dict[str, None] = {}
    for sample in samples:
        names |= dict.fromkeys(sample)
    other_names = tuple(name for name in names if name not in design.table_keys)
    return TableFacet(name, alias, tuple(samples), other_names)


def _samples(workload: Workload, design: Design, item: Item) -> Iterator[Sample]:
    """A sample item, one in the same partition, and one in another, so that the parts of the key show."""
    entity = workload.entity(item.entity)
    if entity is None:
        return
    table_facet = item.facets[0]
    neighbour_attributes = varying(entity, table_facet)
    key_attributes: list[str] = []
    for text in table_facet.templates:
        key_attributes += fields_of(text)
    key_types = _key_types(design.slots)
    types = entity.types
    seen_keys = set()
    for varying_attributes in ((), neighbour_attributes, tuple(key_attributes)):
        sample: Sample = {}
        for name, value in sample_item(design, workload, item, varying_attributes).items():
            sample[name] = dynamodb_value(value, types.get(name), key_types.get(name))
        key = tuple(str(sample.get(name)) for name in design.table_keys)
        if key not in seen_keys:
            seen_keys.add(key)
            yield sample


def _guard_sample(
    workload: Workload, design: Design, bound: AddedConstruct
) -> tuple[tuple[str, ...], list[Sample]] | None:
    slot = design.slot(TABLE)
    if slot is None:
        return None
    try:
        templates = bound.templates(design)
        values = sample_values(workload, bound.entity, design)
        sample: Sample = {}
        for template, name in zip(templates, slot.key_names, strict=True):
            sample[name] = {"S": template.build(values)}
    except (TemplateError, KeyValueError):
        return None
    return tuple(template.text for template in templates), [sample]


def dynamodb_value(value: object, type_: Type | None, key: str | None = None) -> dict[str, object]:
    """A value in DynamoDB's JSON.

    >>> dynamodb_value(19.5, Type(Kind.DECIMAL)), dynamodb_value(["a"], Type(Kind.SET, of=Type(Kind.STRING)))
    ({'N': '19.5'}, {'SS': ['a']})
    >>> dynamodb_value(["a"], Type(Kind.LIST, of=Type(Kind.STRING)))
    {'L': [{'S': 'a'}]}
    """
    kind = type_.kind if type_ else None
    if isinstance(value, bool):
        return {"BOOL": value}
    if isinstance(value, dict):
        return {"M": {str(name): dynamodb_value(member, None) for name, member in value.items()}}
    if isinstance(value, list):
        member_type = type_.of if type_ else None
        members = [dynamodb_value(element, member_type) for element in value]
        # DynamoDB has no empty set, so an empty one is written as a list.
        if kind is Kind.SET and members:
            return _set_value(members)
        return {"L": members}
    if isinstance(value, int | float):
        return {"N": str(value)}
    if kind is Kind.BINARY and key in {None, "B"}:
        return {"B": str(value)}
    return {"S": str(value)}


def _set_value(members: Sequence[dict[str, object]]) -> dict[str, object]:
    """A set of members of one type: the tag stands once, before the values."""
    tag = next(iter(members[0]))
    texts = [str(*member.values()) for member in members]
    return {_SETS.get(tag, "SS"): texts}
