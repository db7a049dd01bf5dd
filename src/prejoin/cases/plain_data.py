"""Data of examples and tests: the items that the design document shows, and further ones beside them."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from prejoin.cases.data import DataGenerator
from prejoin.cases.items import Values, names_item
from prejoin.cases.sample_data import SampleData
from prejoin.design.document.samples import sample_values
from prejoin.design.mapping.facets import planner_facets
from prejoin.design.model import Design
from prejoin.workload.model import Attribute, Entity, Workload
from prejoin.workload.samples import SampleContent, plausible_value

_MOST_NUMBERS = 30
"""The numbers that are tried for a value that nothing has yet: a type may have few."""


@dataclass(slots=True)
class PlainGenerator(DataGenerator):
    """Makes the samples of the document: the first item of an entity is the one in its seed."""

    design: Design | None = None
    _item_counts: dict[str, int] = field(default_factory=dict)
    _value_counts: dict[str, int] = field(default_factory=dict)
    _usual: dict[str, Values] = field(default_factory=dict)

    def make(self, entity: Entity, values: Values | None = None, fresh: bool = False) -> Values:
        """The next item of an entity, with these values. It differs from the first in its ids and references."""
        number = 1 if entity.singleton else self._item_counts.get(entity.name, 0) + 1
        self._item_counts[entity.name] = number
        required_values = dict(values or {})
        assert self.design is not None
        if number > 1:
            self._choose_tenant(entity, required_values)
            for attribute in entity.attributes:
                self._follow(entity, attribute, required_values, {})
        item = sample_values(self.workload, entity, self.design, known=required_values)
        for attribute in entity.attributes if number > 1 else ():
            is_free = attribute.name in item and attribute.name not in required_values
            if is_free and self._differs(entity, attribute):
                item[attribute.name] = plausible_value(self.workload, entity, attribute, number)
        for name, value in item.items():
            if isinstance(value, SampleContent):
                item[name] = self.make_content(bytes(value))
        return item

    def _differs(self, entity: Entity, attribute: Attribute) -> bool:
        """Whether two items have different values of an attribute: of the id, a unique one, or a reference."""
        if self.workload.tenant and attribute.name == self.workload.tenant.attribute:
            return False
        return bool(attribute.references) or names_item(entity, attribute.name)

    def usual_values(self, entity: Entity, attribute: Attribute) -> list[Any]:
        """The value of the first item, for an attribute that many items may share."""
        if self._differs(entity, attribute):
            return []
        if entity.name not in self._usual:
            assert self.design is not None
            self._usual[entity.name] = sample_values(self.workload, entity, self.design)
        value = self._usual[entity.name].get(attribute.name)
        return [] if value is None else [value]

    def value(self, attribute: Attribute) -> Any:
        """The next value of an attribute."""
        number = self._value_counts[attribute.name] = self._value_counts.get(attribute.name, 0) + 1
        return self._value_of_number(attribute, number)

    def unused_value(self, attribute: Attribute, used_texts: Collection[str]) -> Any:
        """The first value that is not among the used ones, which are texts."""
        value = None
        for number in range(1, _MOST_NUMBERS):
            value = self._value_of_number(attribute, number)
            if repr(value) not in used_texts:
                break
        return value

    def _value_of_number(self, attribute: Attribute, number: int) -> Any:
        for entity in self.workload.entities:
            own = entity.attribute(attribute.name)
            if own is not None and own.type == attribute.type:
                return plausible_value(self.workload, entity, own, number)
        anywhere = Entity("", attributes=(attribute,))
        return plausible_value(self.workload, anywhere, attribute, number)


def plain_data(workload: Workload, design: Design, now: datetime, parameters: dict[str, frozenset[str]]) -> SampleData:
    """Data of a test, in which there is nothing yet but what its case needs."""
    generator = PlainGenerator(workload, now, design=design)
    generator.items |= {entity.name: [] for entity in workload.entities}
    return SampleData(workload, design, now, planner_facets(design, workload), generator, parameters)
