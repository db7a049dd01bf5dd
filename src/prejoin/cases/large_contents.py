"""Large contents in cases: the values that the caller gives, made too large for their items."""

from __future__ import annotations

from collections.abc import Iterator, MutableMapping
from typing import Any

from prejoin.cases.case import WriteCase
from prejoin.cases.slots import Slot
from prejoin.design.requests.contents import given_attributes
from prejoin.keys.content import PART_SIZE
from prejoin.workload.contents import contents_of


def enlarge_contents(case: WriteCase) -> None:
    """Gives a case contents of two parts in place of its small ones."""
    generator = case.sample.generator
    small = [value for slot in case.model.slots if not slot.is_checked for value in _given_contents(case, slot)]
    for value in small:
        large = generator.make_content(generator.large_content(PART_SIZE))
        for values in _all_values(case):
            values.update({name: large for name, other in values.items() if other is value})


def _given_contents(case: WriteCase, slot: Slot) -> Iterator[Any]:
    """The contents that the caller gives to one item."""
    given_names = given_attributes(slot.step)
    names = [attribute.name for attribute in contents_of(slot.entity) if attribute.name in given_names]
    for name in names:
        value = slot.record.get(name) if slot.record is not None else case.new_value(slot.entity.name, name)
        if value is not None:
            yield value


def _all_values(case: WriteCase) -> Iterator[MutableMapping[str, Any]]:
    """Where a case has values that the caller gives."""
    yield case.inputs
    for slot in case.model.slots:
        if slot.record is not None:
            yield slot.record
    for step in case.steps:
        yield step.changed.sets
        if step.after is not None:
            yield step.after
