"""Existing items: updates with their changes, deletes, and checks of what an earlier call has left."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import assert_never

from msgspec.structs import replace

from prejoin.constructs.registry import client_verb, hiding_constructs, maintained
from prejoin.design.mapping.addressing import unknown
from prejoin.design.mapping.repetition import passes_over_missing, settled_changes
from prejoin.render.python.conditions import as_lambda, comparison
from prejoin.render.python.layout import Part, call, in_parentheses, keyword
from prejoin.render.python.method import LOCAL
from prejoin.render.python.statements import Assign, Block, If, Manager, Statement, With
from prejoin.render.python.writes.item_conditions import where_options
from prejoin.render.python.writes.sources import StepSources
from prejoin.types import Kind
from prejoin.workload.field_names import free, identifier
from prejoin.workload.lookup import member_of
from prejoin.workload.model import Attribute, Change, ChangeOp, Op, Verb
from prejoin.workload.optional_inputs import is_only_change


@dataclass(frozen=True, slots=True)
class ChangeCode:
    """A change of an item's field."""

    field: str
    value: str
    operator: str = "="
    function: str = ""
    """The function that makes the new value of the stored one and this one: `add`."""
    param: str = ""
    """The parameter without which the change is left out; empty if there is none."""

    def statement(self, item: str) -> Assign:
        target = f"{item}.{self.field}"
        value = f"{self.function}({target}, {self.value})" if self.function else self.value
        return Assign(target, value, self.operator)


@dataclass(frozen=True, slots=True)
class ItemWrite:
    """The write of an existing item, or of each item of a list."""

    values: StepSources
    is_together: bool
    """Whether it is a part of a transaction."""

    @property
    def is_async(self) -> bool:
        return self.values.context.aio and not self.is_together

    @property
    def writer(self) -> str:
        return "tx" if self.is_together else "self.db"

    def block(self) -> Block:
        values, step = self.values, self.values.step
        fields = self._fields()
        compared_fields = {name: fields[name] for name in fields if name not in self._conditions_only}
        where_arguments = where_options(values, compared_fields)
        arguments = [values.cls, *where_arguments]
        if values.entity.name in values.sources.operation.read_first:
            arguments.append("read=True")
        arguments += values.keywords(fields)
        if not self.is_update:
            if self._may_be_refused_as_missing(where_arguments, fields):
                arguments.append("missing_ok=True")
            return [call(f"{'await ' if self.is_async else ''}{self.writer}.delete", *arguments)]
        changes = self.changes(fields)
        verb = Verb.UPDATE if step.must_exist else step.verb
        manager = Manager(call(f"{self.writer}.{verb}", *arguments), self._variable())
        if not self._may_be_left_out(changes):
            return [With((manager,), self._assignments(changes, manager.name), self.is_async)]
        # An update without changes is refused, and the other actions have theirs.
        update = With((manager,), self._assignments(changes, manager.name), self.is_async)
        check: Block = ()
        if self.is_together and step.verb is Verb.UPDATE:  # its conditions hold, whatever is given
            check = [call("tx.check", values.cls, *where_arguments, *values.keywords(fields))]
        return [If(is_any_given(change.param for change in changes), [update], check)]

    def _fields(self) -> dict[str, str]:
        """The attributes that are given with the key, as they are compared."""
        values, step = self.values, self.values.step
        fields = values.arguments()
        if unknown(step, values.context.design, step.known - self._conditions_only):
            return fields
        return {name: value for name, value in fields.items() if name not in self._conditions_only}

    @property
    def _conditions_only(self) -> set[str]:
        """The attributes whose value is a condition of the write, and says nothing of which item is meant.

        Where a missing item is passed over, an item with another value refuses the write nevertheless.
        """
        step = self.values.step
        if not passes_over_missing(step):
            return set()
        return step.fixed.keys() - {*step.sources, *self.values.key}

    def _may_be_refused_as_missing(self, conditions: list[Part], fields: Mapping[str, str]) -> bool:
        """Whether the client would refuse the delete of a missing item of a list, which the write passes over."""
        values = self.values
        is_tied = not set(values.key).issuperset(fields)
        is_compared = is_tied or bool(conditions) or bool(hiding_constructs(values.entity))
        return not self.is_together and passes_over_missing(values.step) and is_compared

    def _variable(self) -> str:
        """The variable of the item."""
        sources, loop = self.values.sources, self.values.loop
        # A later action may have a parameter of the name of its input.
        inputs = map(identifier, sources.inputs)
        used_names = [*LOCAL, *sources.params, *sources.locals, *inputs]
        if loop:
            used_names.append(loop.record)
        return free(identifier(self.values.cls), used_names)

    @property
    def _needs_value(self) -> bool:
        """Whether the write has one optional input and nothing else, so that it has to be given."""
        return is_only_change(self.values.context.workload, self.values.sources.write)

    def _may_be_left_out(self, changes: Iterable[ChangeCode]) -> bool:
        """Whether the item is not updated if no optional input is given."""
        return all(change.param for change in changes) and len(self.values.sources.steps) > 1 and not self._needs_value

    def _assignments(self, changes: list[ChangeCode], item: str) -> Block:
        is_tested = self._may_be_left_out(changes) and len({change.param for change in changes}) == 1
        block: list[Statement] = []
        for change in changes:
            if change.param and not self._needs_value and not is_tested:
                block.append(If(is_any_given([change.param]), [change.statement(item)]))
            else:
                block.append(change.statement(item))
        return block

    # --- Changes ----------------------------------------------------------------------------------------------------

    @property
    def is_update(self) -> bool:
        """Whether the client updates the item, and does not delete it."""
        return (
            self.values.step.action.updates
            and client_verb(self.values.entity, self.values.step.action) is not Verb.DELETE
        )

    def changes(self, fields: Mapping[str, str]) -> list[ChangeCode]:
        """The changes of an update. `fields` are the attributes that are given with the key."""
        return [self._change(change, attribute) for change, attribute in self._changed_attributes(fields)]

    def _changed_attributes(self, fields: Mapping[str, str]) -> Iterator[tuple[Change, Attribute]]:
        step, entity = self.values.step, self.values.entity
        # An upsert sets the attributes of its key by itself, and the client writes those that it maintains.
        excluded_names = {*maintained(entity)}
        if step.verb is Verb.UPSERT:
            excluded_names.update(fields)
        for change in step.changes:
            attribute = entity.attribute(change.attribute)
            if attribute is not None and attribute.name not in excluded_names:
                yield change, attribute

    def _change(self, change: Change, attribute: Attribute) -> ChangeCode:
        field = self.values.field(attribute.name)
        match change.op:
            case ChangeOp.REMOVE:
                return ChangeCode(field, "None")
            case ChangeOp.ADD | ChangeOp.SUBTRACT:
                code = self._addition(field, change, attribute)
            case ChangeOp.APPEND:
                code = self._addition_of_members(field, change, attribute)
            case ChangeOp.SET if change.value is not None:
                code = ChangeCode(field, self.values.value(change.value, attribute))
            case ChangeOp.SET:
                code = ChangeCode(field, self.values.new_value(attribute))
            case _:
                assert_never(change.op)
        return dataclasses.replace(code, param=self.values.sources.optional_param(change))

    def _addition(self, field: str, change: Change, attribute: Attribute) -> ChangeCode:
        amount = self._amount(change, attribute)
        # `+=` needs a number in the item. Where there may be none, `add` counts it as 0.
        if not attribute.optional and self.values.step.verb is not Verb.UPSERT:
            return ChangeCode(field, amount, change.op.value)
        self.values.context.imports.name("prejoin", "add")
        sign = "-" if change.op is ChangeOp.SUBTRACT else ""
        return ChangeCode(field, f"{sign}{amount}", function="add")

    def _amount(self, change: Change, attribute: Attribute) -> str:
        return self.values.value(change.value, replace(attribute, optional=False)) if change.value else "1"

    def amounts(self) -> Iterator[tuple[Change, str]]:
        """The changes that add or subtract a value of the caller, with the amounts."""
        if not self.is_update:
            return
        for change, attribute in self._changed_attributes(self.values.arguments()):
            if change.op in (ChangeOp.ADD, ChangeOp.SUBTRACT) and change.value and change.value.param:
                yield change, self._amount(change, attribute)

    def _addition_of_members(self, field: str, change: Change, attribute: Attribute) -> ChangeCode:
        is_set = attribute.type.kind is Kind.SET
        if change.value is None:
            members = self.values.new_value(attribute)
        else:
            member = self.values.value(change.value, member_of(attribute))
            members = f"{{{member}}}" if is_set else f"[{member}]"
        function = "add" if is_set else "appended"
        self.values.context.imports.name("prejoin", function)
        return ChangeCode(field, members, function=function)


def is_any_given(params: Iterable[str]) -> Part:
    """The test that at least one of some optional inputs is given."""
    first, *further = [f"{param} is not NOT_GIVEN" for param in dict.fromkeys(params)]
    return in_parentheses(first, *(f"or {test}" for test in further))


def check_of_result(values: StepSources) -> Part:
    """The check that an item is as the write has left it."""
    fields = {name: value for name, value in values.arguments().items() if name in values.key}
    if values.step.verb is Verb.DELETE:
        return call("tx.check_absent", values.cls, *values.keywords(fields))
    tests: list[Part] = []
    for change in settled_changes(values.step):
        attribute = values.attribute(change.attribute)
        op, operands = Op.NOT_EXISTS, list[str]()
        if change.op is not ChangeOp.REMOVE and change.value is not None:
            op, operands = Op.EQ, [values.value(change.value, attribute)]
        tests.append(comparison(op, values.field(attribute.name), operands, attribute, values.context))
    return call("tx.check", values.cls, keyword("where", as_lambda(tests)), *values.keywords(fields))
