"""Literal requests of reads, of patterns and of the writes that find or read their items first."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import assert_never

from prejoin.constructs.registry import hidden_filters, hidden_inputs, present_tests
from prejoin.design.model import (
    TABLE,
    Call,
    Design,
    InputGroup,
    Operation,
    ProjectionKind,
    Request,
    Slot,
)
from prejoin.design.requests.conditions import (
    comparison,
    condition_of,
)
from prejoin.design.requests.literal import ReadRequest, key_parts, partition_parts
from prejoin.design.requests.placeholders import (
    ConstantSource,
    KeySource,
    Placeholders,
)
from prejoin.keys import fields_of
from prejoin.keys.planner.placeholders import SortCondition
from prejoin.protocol.expressions.nodes import (
    Between,
    Compare,
    Condition,
    FunctionCall,
    Or,
)
from prejoin.protocol.expressions.text import all_of, any_of
from prejoin.workload.conditions import leaves
from prejoin.workload.lookup import bare_name, bindings
from prejoin.workload.model import (
    Input,
    Op,
    Read,
    Result,
    Value,
    Workload,
)


class ReadRequests:
    """The literal reads of one operation."""

    def __init__(self, operation: Operation, workload: Workload, design: Design) -> None:
        self.operation = operation
        self.workload = workload
        self.design = design
        self.pattern = workload.pattern(operation.pattern)

    def request(self, request: Request) -> ReadRequest:
        made = self._request(request)
        for name in made.projection:
            made.placeholders.path(name)
        return made

    def _request(self, request: Request) -> ReadRequest:
        slot = self.design.slot(request.slot) or Slot(request.slot, ())
        to = Placeholders()
        hidden = tuple(hidden_filters(self.workload, request.entities))
        own_filters = tuple(group for group in request.filters if group not in hidden)
        filters, optional = self._filters(request, own_filters, to)
        repeated = _repetition(request)
        if request.call is Call.GET and not repeated and self._is_of_list(request):
            repeated = f"each {request.entities[0]}"
        match request.call:
            case Call.QUERY:
                condition = _key_condition(slot, request, self._left_out(), to)
                # Of a read with a filter the client counts the items that are left. Hidden items are few.
                may_be_unfiltered = bool(own_filters) and all(is_optional(group) for group in own_filters)
                has_own_filter = bool(own_filters) and not may_be_unfiltered
                return ReadRequest(
                    request.call,
                    request.slot,
                    key_condition=condition,
                    filter=all_of([*filters, *self._visibilities(request, to)]),
                    projection=self._projection(request),
                    placeholders=to,
                    limit=None if has_own_filter or request.each else self._limit(request),
                    is_limit_of_unfiltered=may_be_unfiltered,
                    is_backward=request.reverse,
                    is_consistent=request.consistent,
                    is_count=request.count,
                    repeated=repeated,
                    optional=optional,
                )
            case Call.GET | Call.BATCH_GET | Call.TRANSACT_GET:
                sort = request.sk.low if request.sk else ""
                # DynamoDB has no filter here: an item that is hidden counts as absent. Writes have it as a condition.
                visible = self._visibilities(request, to) if isinstance(self.pattern, Read) else ()
                return ReadRequest(
                    request.call,
                    request.slot,
                    key=key_parts(slot, request.pk, sort),
                    filter=all_of([*filters, *visible]),
                    projection=self._projection(request),
                    placeholders=to,
                    optional=optional,
                    is_consistent=request.consistent and request.call is not Call.TRANSACT_GET,
                    repeated=repeated,
                )
            case Call.PUT | Call.UPDATE | Call.DELETE | Call.BATCH_WRITE | Call.TRANSACT_WRITE:
                raise AssertionError(f"{request.call} is no read")
            case _:
                assert_never(request.call)

    def _left_out(self) -> frozenset[str]:
        """The inputs of a read that the caller may leave out."""
        inputs = self.pattern.inputs if isinstance(self.pattern, Read) else ()
        return frozenset(bare_name(one.attribute) for one in inputs if one.optional)

    def _limit(self, request: Request) -> int | None:
        """The number of items after which a query stops; two for one item, to see whether it is the only one."""
        if request.count:
            return None
        if isinstance(self.pattern, Read):
            is_first = request is self.operation.requests[0]
            if self.pattern.result is Result.COUNT:
                return None
            if is_first and self.pattern.result is Result.ONE and not request.limit:
                return 2
            return request.limit
        return request.limit if self._is_of_list(request) else 2

    def _is_of_list(self, request: Request) -> bool:
        """Whether a request finds or reads the items of a list that is written."""
        actions = (action for other in self.operation.requests for action in other.actions)
        return any(action.many and action.item.entity in request.entities for action in actions)

    def _filters(
        self, request: Request, groups: Sequence[InputGroup], to: Placeholders
    ) -> tuple[list[Condition], frozenset[str]]:
        found: list[Condition] = []
        optional: set[str] = set()
        for group in groups:
            condition = self._filter(group, request, to)
            found.append(condition)
            if is_optional(group):
                optional.update(bare_name(one.attribute) for one in group)
        return found, frozenset(optional)

    def _filter(self, group: InputGroup, request: Request, to: Placeholders) -> Condition:
        """A group of inputs of which one is enough; for several entities, of the items of those that have it."""
        conditions: list[Condition] = []
        for entity in self._bound_entities(group, request):
            parts = [self._input(one, entity, to) for one in group]
            condition = any_of(parts)
            assert condition is not None  # a group has an input
            if len(request.entities) > 1:
                condition = self._of_type(entity, condition, to)
            conditions.append(condition)
        whole = all_of(conditions)
        assert whole is not None  # an input is bound to an attribute
        return whole

    def _bound_entities(self, group: InputGroup, request: Request) -> list[str]:
        bound = bindings(self.workload, request.entities, group[0].attribute)
        return list(bound) or list(request.entities[:1])

    def _input(self, one: Input, entity: str, to: Placeholders) -> Condition:
        bound = bindings(self.workload, (entity,), one.attribute)
        attribute = bound.get(entity, bare_name(one.attribute))
        to = to.of(self.workload.entity(entity))
        values = one.values
        if not values and one.op.arity:
            name = bare_name(one.attribute)
            # Two conditions on one attribute have two inputs.
            is_range = one.op in (Op.LT, Op.LE, Op.GT, Op.GE)
            names: tuple[str, ...] = (f"{name} {one.op}",) if is_range else (name,)
            if one.op is Op.BETWEEN:
                names = (f"{name} from", f"{name} to")
            values = tuple(Value(param=each) for each in names)
        return comparison(attribute, one.op, values, to)

    def _of_type(self, entity: str, condition: Condition, to: Placeholders) -> Condition:
        item = self.design.item(entity)
        tag = to.value(ConstantSource(item.tag if item else entity), entity)
        other = Compare("<>", to.path(self.design.type_attribute), tag)
        return Or((other, condition))

    def _visibilities(self, request: Request, to: Placeholders) -> Iterator[Condition]:
        """The conditions for the items that a query returns: those that no construct hides."""
        for name in request.entities:
            entity = self.workload.entity(name)
            if entity is None:
                continue
            conditions = [comparison(test.attribute, test.op, test.values, to) for test in hidden_inputs(entity)]
            own, partition_key = to.of(entity), self.design.partition_key
            conditions += [condition_of(test, partition_key, own) for test in present_tests(entity, self.design)]
            if condition := all_of(conditions):
                yield self._of_type(name, condition, to) if len(request.entities) > 1 else condition

    def _projection(self, request: Request) -> tuple[str, ...]:
        """The attributes that a request names, if it does not return whole items.

        An index that holds less than the items has other attributes in its keys only, and returns what it has.
        """
        slot = self.design.slot(request.slot)
        is_test = request.count and request.call is Call.GET
        if not (request.attributes or is_test) or request.counter or slot is None:
            return ()
        if slot.projection.kind is not ProjectionKind.ALL or (request.count and not is_test):
            return ()
        names = {*request.attributes, self.design.type_attribute}
        if request.call is Call.GET:
            names |= self._compared(request)
        for entity in map(self.workload.entity, request.entities):
            if entity is None:
                continue
            names.update(test.attribute for test in hidden_inputs(entity))
            names.update(leaf.attribute for test in present_tests(entity, self.design) for leaf in leaves(test))
        if request.call in (Call.QUERY, Call.BATCH_GET):
            table = self.design.slot(TABLE) or slot
            names.update(part.name for key in (slot, table) for part in (*key.pk, *key.sk))
        return tuple(sorted(names))

    def _compared(self, request: Request) -> set[str]:
        """The attributes with which an item is compared after it was read by its key."""
        names: set[str] = set()
        for group in request.filters:
            for one in group:
                bound = bindings(self.workload, request.entities[:1], one.attribute)
                names.update(bound.values() or (bare_name(one.attribute),))
        return names


def is_optional(group: InputGroup) -> bool:
    """Whether the caller may leave out all values of a filter."""
    return all(one.optional for one in group)


def _repetition(request: Request) -> str:
    texts = []
    if request.shards > 1:
        texts.append(f"each of {request.shards} shards")
    if request.bucket:
        texts.append(f"each {request.bucket}")
    if request.each:
        texts.append(f"each {request.each}")
    return ", ".join(texts)


def _key_condition(slot: Slot, request: Request, left_out: frozenset[str], to: Placeholders) -> Condition | None:
    parts: list[Condition] = [
        Compare("=", to.path(part.attribute), to.value(KeySource(part.template), part.attribute))
        for part in partition_parts(slot, request.pk)
    ]
    if request.sk is not None:
        parts += _sort_conditions([part.name for part in slot.sk], request.sk, left_out, to)
    return all_of(parts)


def _sort_conditions(
    names: Sequence[str], condition: SortCondition, left_out: frozenset[str], to: Placeholders
) -> Iterator[Condition]:
    for name, template in zip(names, condition.head, strict=False):
        yield Compare("=", to.path(name), to.value(KeySource(template), name))
    if not condition.op or len(condition.head) >= len(names):
        return  # a design that does not fit has a key with more parts than the index
    name = names[len(condition.head)]
    path = to.path(name)
    if condition.op == "between":
        low = to.value(KeySource(condition.low), f"{name}_from")
        yield Between(path, low, to.value(KeySource(condition.high), f"{name}_to"))
    else:
        # Values that the caller leaves out shorten the beginning of a key, but not an end of a range.
        may_be_shorter = condition.op in ("=", "begins_with")
        optional = tuple(field for field in fields_of(condition.low) if field in left_out and may_be_shorter)
        value = to.value(KeySource(condition.low, optional), name)
        if condition.op == "begins_with":
            yield FunctionCall("begins_with", (path, value))
        else:
            yield Compare(condition.op, path, value)
