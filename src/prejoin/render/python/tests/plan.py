"""The tests of a write before they are written: one that does it, and one for each condition that refuses it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import assert_never

from prejoin.cases.bystanders import add_bystanders
from prejoin.cases.case import WriteCase
from prejoin.cases.case_variation import Break, Variation
from prejoin.cases.items import Values
from prejoin.cases.plain_data import plain_data
from prejoin.cases.sample_data import SampleData
from prejoin.cases.variations import accepted_parts, done_before, passed_over_items, violations
from prejoin.cases.write_cases import NothingFitsError, build_case
from prejoin.cases.write_model import WriteModel
from prejoin.constructs.registry import ending_in
from prejoin.render.python.context import RenderContext
from prejoin.render.python.method import Method
from prejoin.render.python.tests.names import (
    accepted_name,
    mismatch_of,
    name_of_test,
    parameter_of,
    passed_over_name,
    refusal_name,
)
from prejoin.workload.model import Entity, Write

NOW = datetime(2026, 1, 20, 12, tzinfo=UTC)
_FAR = NOW.replace(year=2099)
"""The time of writes that set when items expire: by the engine's own clock they have not."""


@dataclass(frozen=True, slots=True)
class PlannedTest:
    """A test of a write before it is written: its name, what it shows, and its case."""

    name: str
    text: str
    case: WriteCase
    bystanders: tuple[tuple[Entity, Values], ...] = ()
    """The last items that the case inserts: the call must leave them as they are."""

    @property
    def is_refused(self) -> bool:
        """Whether the table refuses the call. The method refuses amounts, and objects that do not belong together."""
        variation = self.case.variation
        return not variation.is_accepted and variation.kind not in (Break.AGREEMENT, Break.AMOUNT)

    @property
    def is_partial(self) -> bool:
        """Whether items before the refused one are written."""
        return bool(done_before(self.case))


def planned_tests(context: RenderContext, method: Method) -> list[PlannedTest]:
    """The tests of a write. The first does it, and each part of a condition may do it alone. Of the others each breaks
    one condition.

    It raises `NothingFitsError` if no items satisfy the conditions.
    """
    model = _case(context, method, Variation(count=1)).model
    tests = _DistinctTests(context, method)
    description = method.pattern.description or method.name
    for variation in accepted_parts(model):
        if variation.decisive is not None:
            is_first = not tests.planned
            tests.add(variation, *(("", description) if is_first else accepted_name(model, variation)))
    if not tests.planned:
        tests.add(Variation(), "", description)
    for variation in passed_over_items(model):
        tests.add(variation, *passed_over_name(model, variation))
    for variation in _refusals(model, method):
        words, text = refusal_name(model, variation, method)
        tests.add(variation, f"refuses_{words}", text)
    return tests.planned


class _DistinctTests:
    """The tests of a method. No two have the same items and inputs."""

    def __init__(self, context: RenderContext, method: Method) -> None:
        self.context = context
        self.method = method
        self.planned: list[PlannedTest] = []
        self._states: set[str] = set()

    def add(self, variation: Variation, words: str, text: str) -> None:
        """Adds a test, if there is such a case and no other test has it."""
        try:
            case = _case(self.context, self.method, replace(variation, count=1))
        except NothingFitsError:
            return  # the condition cannot be so alone: another one says the same
        state = repr((case.inputs, case.missing, [slot.record for slot in case.model.slots]))
        if state in self._states:
            return
        self._states.add(state)
        bystanders = _bystanders(case) if variation.is_accepted else ()
        name = self.method.test_name
        used = [test.name for test in self.planned]
        self.planned.append(
            PlannedTest(name_of_test(f"{name}_{words}" if words else name, used), text, case, bystanders)
        )


def _case(context: RenderContext, method: Method, variation: Variation) -> WriteCase:
    write = method.pattern
    operation = context.design.operation(write.id)
    assert isinstance(write, Write)
    assert operation is not None  # it has a method
    return build_case(_data(context, method), write, operation, variation)


def _data(context: RenderContext, method: Method) -> SampleData:
    entities = [context.workload.entity(name) for name in method.pattern.entities]
    expires = any(entity and ending_in(entity, context.design) for entity in entities)
    parameters = {method.pattern.id: method.inputs}
    return plain_data(context.workload, context.design, _FAR if expires else NOW, parameters)


def _refusals(model: WriteModel, method: Method) -> Iterator[Variation]:
    """One case for each condition, each of its parts, each attribute that may be absent, each attribute of an object
    that has to agree with the other arguments, and each amount that is too small or too large.
    """
    broken: set[object] = set()
    for variation in violations(model):
        if variation.hiding is not None:
            continue  # a method of the application hides no item
        match variation.kind:
            case Break.CONDITION:
                key: object = id(variation.check), variation.place, id(variation.decisive), variation.decisive_truth
            case Break.ATTRIBUTE:
                key = id(variation.check), variation.place, variation.names
            case Break.ITEM:
                key = variation.place
            case Break.UNIQUE:
                key = variation.place, variation.names
            case Break.AGREEMENT if mismatch_of(method, variation) is not None:
                key = variation.place[0], variation.names
            case Break.AMOUNT if parameter_of(method, variation.names[0]):
                key = variation.names, variation.value
            case Break.NOTHING | Break.LINK | Break.AGREEMENT | Break.VALUE | Break.AMOUNT | Break.RESULT:
                continue
            case _:
                assert_never(variation.kind)
        if (variation.kind, key) not in broken:
            broken.add((variation.kind, key))
            yield variation


def _bystanders(case: WriteCase) -> tuple[tuple[Entity, Values], ...]:
    """Adds items to a case that are much like those that it writes, and that the call must leave as they are.

    One of each entity, and one of another tenant.
    """
    count = len(case.missing)
    add_bystanders(case)
    passed_over = case.variation.place if case.variation.kind is Break.LINK else None
    foreign = [(slot.entity, slot.before) for slot in case.model.slots if slot.place == passed_over and slot.before]
    tenant = case.sample.workload.tenant
    entity_names = {slot.entity.name for slot in case.model.slots if not slot.is_checked}
    bystanders: dict[tuple[str, str], tuple[Entity, Values]] = {}
    for entity, item in case.missing[count:]:
        owner = repr(item.get(tenant.attribute)) if tenant else ""
        if entity.name in entity_names:
            bystanders.setdefault((entity.name, owner), (entity, item))
    case.missing[count:] = bystanders.values()
    return (*foreign, *bystanders.values())
