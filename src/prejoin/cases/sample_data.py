"""The data that cases are built beside, with the design that stores them. No table is needed for a case."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from itertools import chain

from prejoin.cases.data import DataGenerator
from prejoin.cases.items import Values
from prejoin.design.model import Design
from prejoin.keys import Facet, Natural
from prejoin.workload.model import Entity, Workload


@dataclass(slots=True)
class SampleData:
    """Items of a workload, to which cases add their own."""

    workload: Workload
    design: Design
    now: datetime
    """The time of all calls."""
    facets: Sequence[Facet]
    generator: DataGenerator
    parameters: Mapping[str, frozenset[str]]
    """For each pattern, the inputs that its method has a parameter for, beside its objects."""
    hidden: dict[tuple[str, ...], tuple[Entity, Values]] = field(default_factory=dict, kw_only=True)
    """The items that are in the table and not in the data, because a construct hides them, by their keys."""

    @property
    def items(self) -> Mapping[str, list[Values]]:
        """The items, by entity."""
        return self.generator.items

    @property
    def all_items(self) -> list[Values]:
        """The items of all entities."""
        return list(chain.from_iterable(self.items.values()))

    @property
    def tenant_name(self) -> str:
        """The attribute that holds the tenant of items; empty without tenants."""
        return self.workload.tenant.attribute if self.workload.tenant else ""

    def entity(self, name: str) -> Entity:
        entity = self.workload.entity(name)
        if entity is None:
            raise KeyError(name)
        return entity

    def base(self, entity: Entity) -> tuple[str, ...]:
        """The attributes in the key of an entity's items in the table."""
        facets = (f for f in self.facets if f.entity == entity.name and f.slot == "table" and not f.copy)
        return next(facets).attributes


def edge_generator(
    workload: Workload, design: Design, facets: Sequence[Facet], now: datetime, seed: int = 1
) -> DataGenerator:
    """A generator of edge values that the keys of a design can hold."""
    # Raw keys cannot hold the separator, and are refused with it: that is documented and needs no proof.
    without = design.separator if design.raw_keys else ""
    return DataGenerator(workload, now, seed, True, without, natural_keys(facets))


def natural_keys(facets: Iterable[Facet]) -> frozenset[str]:
    """The attributes that are keys by themselves, with nothing before or after them."""
    names: set[str] = set()
    for facet in facets:
        for form in (facet.pk, facet.sk):
            if isinstance(form, Natural) or (form is not None and form.raw and len(form.parts) == 1):
                names.update(form.attributes)
    return frozenset(names)
