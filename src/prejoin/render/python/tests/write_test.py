"""The generated test of a write: items, the call, and what is stored after it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, assert_never

from prejoin.cases.case import WriteCase, WriteStep
from prejoin.cases.case_variation import Break
from prejoin.cases.slots import Slot, given_variable, stored_variable
from prejoin.cases.variations import done_before
from prejoin.constructs.registry import client_verb
from prejoin.render.python.layout import STEP, WIDTH, call, in_parentheses, keyword, listing, string, wide, with_prefix
from prejoin.render.python.method import Option
from prejoin.render.python.statements import Assert, Assign, Block, Manager, With
from prejoin.render.python.tests.case_items import CaseItems
from prejoin.render.python.tests.names import mismatch_of, parameter_of
from prejoin.render.python.tests.plan import PlannedTest
from prejoin.render.python.tests.sample_body import SampleItem, TestBody
from prejoin.types import Kind
from prejoin.workload.field_names import free, snake
from prejoin.workload.lookup import changes
from prejoin.workload.model import Attribute, Change, ChangeOp, Verb


def write_test(body: TestBody, planned: PlannedTest) -> Block:
    """The statements of the test."""
    return _WriteTest(body, planned, CaseItems(body, planned.case)).block()


@dataclass(slots=True)
class _WriteTest:
    body: TestBody
    planned: PlannedTest
    items: CaseItems

    @property
    def case(self) -> WriteCase:
        return self.planned.case

    def block(self) -> Block:
        body = self.body
        body.begin(self.case.tenant)
        self.items.declare()
        method_call = call(f"repository.{body.method.name}", *body.arguments(self.items.argument))
        if self.case.variation.is_accepted:
            body.add(method_call)
            for step in self.case.steps:
                self._assert_stored(step)
            self._assert_bystanders()
            return body.block
        body.add(With((self._refusal(),), [method_call]))
        done_steps = done_before(self.case)
        for step in self.case.steps if done_steps else ():
            if any(step is done_step for done_step in done_steps):
                self._assert_stored(step)
            else:
                self._assert_unchanged(step)
        return body.block

    def _refusal(self) -> Manager:
        """The context manager that expects a refusal."""
        body = self.body
        if self.planned.is_refused:
            options = ["partly=True"] if self.planned.is_partial else []
            return Manager(call("refused", f"{body.whole}.db", *options))
        body.imports.module("pytest")
        body.imports.module("re")
        match = keyword("match", f"re.escape({string(self._refusal_message())})")
        return Manager(call("pytest.raises", "ValueError", match))

    def _refusal_message(self) -> str:
        """What the method says of the argument that it refuses; of an amount, the beginning."""
        variation = self.case.variation
        if variation.kind is Break.AMOUNT:
            parameter = parameter_of(self.body.method, variation.names[0])
            return f"{parameter} is {variation.value}, and must be "
        mismatch = mismatch_of(self.body.method, variation)
        assert mismatch is not None  # it is one of the refusals
        return mismatch.message

    # --- What is stored ---------------------------------------------------------------------------------------------

    def _assert_stored(self, step: WriteStep) -> None:
        """Asserts what a step has done to its item."""
        slot = self.items.slot_of(step)
        item = self.items.item_of(slot)
        name = self._read_again(step, slot)
        if step.after is None or client_verb(step.entity, step.action) is Verb.DELETE:
            self.body.add(Assert(f"{name} is None"))
        elif slot.is_new and item is not None:
            self._assert_new(name, step, item)
        else:
            self.body.add(Assert(f"{name} is not None"))
            for change in changes(self.case.write, step.action, step.entity):
                self._assert_change(name, slot, step, change)

    def _assert_unchanged(self, step: WriteStep) -> None:
        """Asserts that a step was not done."""
        slot = self.items.slot_of(step)
        name = self._read_again(step, slot)
        stored_item = self.items.stored_items.get(id(slot.before)) if slot.is_stored else None
        if stored_item is not None:
            self._assert_equal(name, stored_item.name)
        else:
            self.body.add(Assert(f"{name} is None"))

    def _assert_bystanders(self) -> None:
        """Asserts that the items beside those of the call are as they were."""
        body = self.body
        for entity, values in self.planned.bystanders:
            item = self.items.stored_items[id(values)]
            repository = "repository"
            if body.tenant and values.get(body.tenant, self.case.tenant) != self.case.tenant:
                repository = f"{body.whole}.of_tenant({body.literal(values[body.tenant])})"
            key = {attribute: body.at(item, attribute) for attribute in body.context.key_attributes(entity)}
            name = body.read(f"{item.name}_after", entity, key, repository)
            self._assert_equal(name, item.name)

    def _read_again(self, step: WriteStep, slot: Slot) -> str:
        """Reads the item of a step after the call; gives the variable."""
        item = self.items.item_of(slot)
        variable_of = given_variable if slot.is_new else stored_variable
        key: dict[str, str] = {}
        for attribute in self.body.context.key_attributes(step.entity):
            if item is not None and attribute in item.values:
                key[attribute] = self.body.at(item, attribute)
            else:
                key[attribute] = self.items.value(variable_of(slot.place, attribute), step.item.get(attribute))
        name = item.name if item else snake(step.entity.name)
        return self.body.read(f"{name}_after", step.entity, key)

    def _assert_new(self, name: str, step: WriteStep, item: SampleItem) -> None:
        """The object is stored, with the values that the document sets."""
        after = step.after or {}
        set_by_document: dict[str, Any] = {}
        for attribute in step.entity.attributes:
            value = after.get(attribute.name)
            if value != item.values.get(attribute.name):
                set_by_document[attribute.name] = value
        if not set_by_document:
            self._assert_equal(name, item.name)
        elif self._has_now:
            expectation = self.body.with_values(item.name, step.entity, set_by_document)
            self.body.add(Assert(with_prefix(f"{name} == ", expectation)))

    @property
    def _has_now(self) -> bool:
        return any(param.meaning == Option.NOW for param in self.body.method.params)

    # --- Changes ----------------------------------------------------------------------------------------------------

    def _assert_change(self, name: str, slot: Slot, step: WriteStep, change: Change) -> None:
        attribute = step.entity.attribute(change.attribute)
        is_moment = change.value is not None and change.value.now is not None
        if attribute is None or (is_moment and not self._has_now):
            return
        after = (step.after or {}).get(attribute.name)
        field = f"{name}.{self.body.context.names.field(step.entity.name, attribute.name)}"
        text = self._computed_value(slot, step, change, attribute)
        if text is None and isinstance(after, list):
            self.body.add(Assert(listing(map(self.body.literal, after), f"{field} == ")))
            return
        operator = "is" if after is None or attribute.type.kind is Kind.BOOLEAN else "=="
        expectation = self.body.literal(after) if text is None else text
        self._assert_equal(field, self._short_expectation(expectation, field, operator), operator)

    def _computed_value(self, slot: Slot, step: WriteStep, change: Change, attribute: Attribute) -> str | None:
        """The value after a change, from values of declared items; None if it is a literal."""
        match change.op:
            case ChangeOp.SET:
                if change.value is not None and change.value.param is None:
                    return None
                return self.items.text_of(self.case.model.new_value(slot, change))
            case ChangeOp.ADD | ChangeOp.SUBTRACT:
                before = self.items.text_of(stored_variable(slot.place, attribute.name))
                if before is None or change.value is None:
                    return None
                amount_added = step.changed.adds[attribute.name]
                number = amount_added if change.op is ChangeOp.ADD else -amount_added
                amount = self.items.value(self.case.model.new_value(slot, change), number)
                return f"{before} {change.op.value[0]} {amount}"
            case ChangeOp.REMOVE | ChangeOp.APPEND:
                return None
            case _:
                assert_never(change.op)

    def _short_expectation(self, expectation: str, field: str, operator: str) -> str:
        """What a field has to be. It has a variable if it is too long for the line."""
        body = self.body
        is_long = wide(f"{STEP}assert {field} {operator} {expectation}") > WIDTH
        if not is_long or wide(f"{STEP}expected = {expectation}") > WIDTH:
            return expectation
        variable = free("expected", body.names)
        body.names.append(variable)
        body.add(Assign(variable, expectation))
        return variable

    def _assert_equal(self, value: str, expectation: str, operator: str = "==") -> None:
        self.body.add(Assert(in_parentheses(value, f"{operator} {expectation}")))
