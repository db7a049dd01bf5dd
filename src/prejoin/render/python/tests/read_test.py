"""The generated test of a read: it finds one item of each entity, and another tenant finds nothing."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import assert_never
from uuid import UUID

from prejoin.cases.plain_data import plain_data
from prejoin.cases.plain_reads import PlainRead, plain_read, time_of_read
from prejoin.render.python.context import RenderContext
from prejoin.render.python.layout import STEP, WIDTH, Part, call, wide
from prejoin.render.python.method import InputValue, KnownValue, Method, Option, Param, RecordValue
from prejoin.render.python.names import single
from prejoin.render.python.statements import Assert, Assign, Block
from prejoin.render.python.tests.plan import NOW
from prejoin.render.python.tests.sample_body import SampleItem, TestBody
from prejoin.types import Kind
from prejoin.workload.model import Attribute, Op, Read
from prejoin.workload.program.resolved_read import ReturnKind, resolve_read
from prejoin.workload.samples import plausible_value


@dataclass(slots=True)
class PlannedRead:
    """The test of a read before it is written."""

    name: str
    text: str
    read: Read
    case: PlainRead
    now: datetime


def planned_read(context: RenderContext, method: Method) -> PlannedRead:
    """The test of a read. It raises `NothingFitsError` if no items satisfy its conditions."""
    read = method.pattern
    assert isinstance(read, Read)
    entities = [entity for entity in map(context.workload.entity, read.entities) if entity is not None]
    now = time_of_read(NOW, read, entities)
    sample = plain_data(context.workload, context.design, now, {})
    return PlannedRead(method.test_name, read.description or method.name, read, plain_read(sample, read), now)


def read_test(body: TestBody, planned: PlannedRead) -> Block:
    """The statements of the test."""
    return _ReadTest(body, planned).block()


@dataclass(slots=True)
class _ReadTest:
    body: TestBody
    planned: PlannedRead
    own: list[SampleItem] = field(default_factory=list)
    joined: list[SampleItem] = field(default_factory=list)

    def block(self) -> Block:
        body, case = self.body, self.planned.case
        tenants = [values.get(body.tenant) for _, values in (*case.items, *case.joined)]
        body.begin(next((tenant for tenant in tenants if tenant is not None), None))
        self.own = [body.item(entity, values) for entity, values in case.items]
        self.joined = [body.item(entity, values) for entity, values in case.joined]
        body.insert([*self.own, *self.joined])
        arguments = body.arguments(self._argument)
        self._call(arguments)
        for item in self.joined:
            self._assert_joined(item)
        self._assert_result()
        if body.tenant:
            self._ask_as_stranger(arguments)
        return body.block

    # --- Arguments --------------------------------------------------------------------------------------------------

    def _argument(self, param: Param) -> str | None:
        """An argument of the call; None for one that is left out."""
        match param.meaning:
            case InputValue(name, _, is_list):
                text = self._input(name)
                return f"[{text}]" if is_list else text
            case Option.NOW:
                return self.body.literal(self.planned.now)
            case Option() | RecordValue() | KnownValue():
                return None
            case _:
                assert_never(param.meaning)

    def _input(self, name: str) -> str:
        """The value of an input that finds the item."""
        position, attribute = self.planned.case.inputs[name]
        operators = {condition.attribute: condition.op for condition in self.planned.read.inputs}
        op, item = operators[name], self.own[position]
        value = item.values[attribute.name]
        match op:
            case Op.LT | Op.GT | Op.NE:
                return self.body.literal(_neighbour(value, -1 if op is Op.GT else 1, attribute))
            case Op.CONTAINS if attribute.type.kind in {Kind.LIST, Kind.SET}:
                return self.body.literal(next(iter(value)))
            case Op.BEGINS_WITH if attribute.type.kind not in {Kind.STRING, Kind.ENUM, Kind.ULID}:
                return self.body.literal(str(value)[:4])
            case Op.EQ | Op.LE | Op.GE | Op.BETWEEN | Op.BEGINS_WITH | Op.IN | Op.CONTAINS | Op.EXISTS | Op.NOT_EXISTS:
                return self.body.at(item, attribute.name)
            case _:
                assert_never(op)

    # --- The call and its result ------------------------------------------------------------------------------------

    def _call(self, arguments: list[Part]) -> None:
        """Calls the method. The result of a join is unpacked, in a line of its own if it does not fit."""
        body = self.body
        names = ", ".join(["found", *(f"{item.name}_found" for item in self.joined)])
        method = f"repository.{body.method.name}"
        if wide(f"{STEP}{names} = {method}(") > WIDTH:
            body.add(Assign("answer", call(method, *arguments)))
            body.add(Assign(names, "answer"))
        else:
            body.add(Assign(names, call(method, *arguments)))

    def _assert_joined(self, item: SampleItem) -> None:
        if self._view(item):
            self.body.add(Assert(f"[*{item.name}_found] == [{self._key(item)}]"))
        else:
            self.body.add(Assert(f"[*{item.name}_found.values()] == [{item.name}]"))

    def _assert_result(self) -> None:
        for test in self._tests(self.own[0], self._view(self.own[0])):
            self.body.add(Assert(test))

    def _tests(self, item: SampleItem, view: str) -> list[str]:
        """The tests of the result. Of a view, a field is compared."""
        match self.body.method.result.kind:
            case ReturnKind.COUNT:
                return [f"found == {len(self.own)}"]
            case ReturnKind.COLLECTION:
                return [f"found.all({self.body.cls(own.entity)}) == [{own.name}]" for own in self.own]
            case ReturnKind.ONE if view:
                return ["found is not None", f"found.{view} == {item.name}.{view}"]
            case ReturnKind.ONE:
                return [f"found == {item.name}"]
            case ReturnKind.LIST | ReturnKind.PAGE if view:
                return [f"[one.{view} for one in found] == [{item.name}.{view}]"]
            case ReturnKind.LIST | ReturnKind.PAGE:
                return [f"list(found) == [{item.name}]"]
            case ReturnKind.NOTHING:
                raise AssertionError("a read gives something")
            case _:
                assert_never(self.body.method.result.kind)

    def _ask_as_stranger(self, arguments: list[Part]) -> None:
        """Asserts that another tenant finds nothing."""
        body = self.body
        entity = self.own[0].entity
        attribute = single(body.context.workload, entity.name, body.tenant)
        tenant = body.literal(plausible_value(body.context.workload, entity, attribute, 2))
        body.add(Assign("stranger", call("everyone.of_tenant", tenant)))
        names = "nothing, *_" if self.joined else "nothing"
        body.add(Assign(names, call(f"stranger.{body.method.name}", *arguments)))
        match body.method.result.kind:
            case ReturnKind.ONE:
                test = "nothing is None"
            case ReturnKind.COUNT:
                test = "nothing == 0"
            case ReturnKind.LIST | ReturnKind.PAGE | ReturnKind.COLLECTION:
                test = "len(nothing) == 0"
            case ReturnKind.NOTHING:
                raise AssertionError("a read returns something")
            case _:
                assert_never(body.method.result.kind)
        body.add(Assert(test))

    def _key(self, item: SampleItem) -> str:
        """The key of a joined item in the result."""
        context = self.body.context
        joins = resolve_read(context.workload, self.planned.read).joins
        links = next(join.key_links for join in joins if join.entity is item.entity)
        ids = [f"{item.name}.{context.names.field(item.entity.name, link.other.name)}" for link in links]
        return ids[0] if len(ids) == 1 else f"({', '.join(ids)})"

    def _view(self, item: SampleItem) -> str:
        """A field of the view that a read returns; empty if it returns whole items."""
        context = self.body.context
        for view in context.views.values():
            if view.entity == item.entity.name and view.name in self.body.method.result.items:
                return context.names.field(item.entity.name, view.attributes[0])
        return ""


def _neighbour(value: object, direction: int, attribute: Attribute) -> object:
    """The next value below or above; for other types, a different one."""
    match value:
        case bool():
            return not value
        case int() | Decimal():
            return value + direction
        case datetime() | date():
            return value + timedelta(days=direction)
        case UUID():
            return UUID(int=min(max(value.int + direction, 0), 2**128 - 1))
        case str() if attribute.type.kind is Kind.ENUM:
            return next((v for v in attribute.type.values if v != value), value)
        case str():
            return f"{value}~" if direction > 0 else value[:-1] or value
        case _:
            return value
