"""Literal requests of reads, of patterns and of the writes that find or read their items first."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import assert_never

from prejoin.constructs.registry import hidden_filters, hidden_inputs, present_tests
from prejoin.design.model import Call, InputGroup, ProjectionKind, Request, Slot
from prejoin.design.requests.conditions import comparison, condition_of
from prejoin.design.requests.literal import OperationRequests, ReadRequest, key_parts, partition_parts
from prejoin.design.requests.placeholders import ConstantSource, KeySource, Placeholders
from prejoin.keys import fields_of
from prejoin.keys.planner.placeholders import SortCondition
from prejoin.protocol.expressions.nodes import Between, Compare, Condition, FunctionCall, Or
from prejoin.protocol.expressions.text import all_of, any_of
from prejoin.workload.conditions import leaves
from prejoin.workload.lookup import bare_name, bindings
from prejoin.workload.model import Input, Op, Read, Result, Value


@dataclass(frozen=True, slots=True)
class ReadRequests(OperationRequests):
    """The literal reads of one operation."""

    def request(self, request: Request) -> ReadRequest:
        match request.call:
            case Call.QUERY:
                read = self._query(request, Placeholders())
            case Call.GET | Call.BATCH_GET | Call.TRANSACT_GET:
                read = self._get(request, Placeholders())
            case Call.PUT | Call.UPDATE | Call.DELETE | Call.BATCH_WRITE | Call.TRANSACT_WRITE:
                raise AssertionError(f"{request.call} is no read")
            case _:
                assert_never(request.call)
        for name in read.projection:
            read.placeholders.path(name)
        return read

    def _query(self, request: Request, to: Placeholders) -> ReadRequest:
        groups = self._own_filters(request)
        filters = [self._filter(group, request, to) for group in groups]
        slot = self.design.slot(request.slot) or Slot(request.slot, ())
        condition = _key_condition(slot, request, self._optional_inputs(), to)
        # Of a read with a filter the client counts the items that are left. Hidden items are few.
        may_be_unfiltered = bool(groups) and all(map(is_optional, groups))
        is_limited = (not groups or may_be_unfiltered) and not request.each
        return ReadRequest(
            request.call,
            request.slot,
            key_condition=condition,
            filter=all_of([*filters, *self._visibilities(request, to)]),
            projection=self._projection(request),
            placeholders=to,
            limit=self._limit(request) if is_limited else None,
            is_limit_of_unfiltered=may_be_unfiltered,
            is_backward=request.reverse,
            is_consistent=request.consistent,
            is_count=request.count,
            repeated=_repetition(request),
            optional=_optional_names(groups),
        )

    def _get(self, request: Request, to: Placeholders) -> ReadRequest:
        groups = self._own_filters(request)
        filters = [self._filter(group, request, to) for group in groups]
        # DynamoDB has no filter here: an item that is hidden counts as absent. Writes have it as a condition.
        if isinstance(self.pattern, Read):
            filters += self._visibilities(request, to)
        repetition = _repetition(request)
        if request.call is Call.GET and not repetition and self._is_of_list(request):
            repetition = f"each {request.entities[0]}"
        slot = self.design.slot(request.slot) or Slot(request.slot, ())
        return ReadRequest(
            request.call,
            request.slot,
            key=key_parts(slot, request.pk, request.sk.low if request.sk else ""),
            filter=all_of(filters),
            projection=self._projection(request),
            placeholders=to,
            optional=_optional_names(groups),
            # TransactGetItems is always consistent, and has no such option.
            is_consistent=request.consistent and request.call is not Call.TRANSACT_GET,
            repeated=repetition,
        )

    def _own_filters(self, request: Request) -> list[InputGroup]:
        """The filters of the document, without those that hide items."""
        hiding_groups = list(hidden_filters(self.workload, request.entities))
        return [group for group in request.filters if group not in hiding_groups]

    def _optional_inputs(self) -> frozenset[str]:
        """The inputs of a read that the caller may leave out."""
        inputs = self.pattern.inputs if isinstance(self.pattern, Read) else ()
        return frozenset(bare_name(input_.attribute) for input_ in inputs if input_.optional)

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
        return any(action.many and action.item.entity in request.entities for action in self.operation.actions)

    def _filter(self, group: InputGroup, request: Request, to: Placeholders) -> Condition:
        """A group of inputs of which one is enough; for several entities, of the items of those that have it."""
        conditions: list[Condition] = []
        for entity in self._bound_entities(group, request):
            condition = any_of([self._input(input_, entity, to) for input_ in group])
            if len(request.entities) > 1:
                condition = self._of_type(entity, condition, to)
            conditions.append(condition)
        group_condition = all_of(conditions)
        assert group_condition is not None  # an input is bound to an attribute
        return group_condition

    def _bound_entities(self, group: InputGroup, request: Request) -> list[str]:
        attributes = bindings(self.workload, request.entities, group[0].attribute)
        return list(attributes) or list(request.entities[:1])

    def _input(self, input_: Input, entity: str, to: Placeholders) -> Condition:
        attributes = bindings(self.workload, (entity,), input_.attribute)
        attribute = attributes.get(entity, bare_name(input_.attribute))
        values = input_.values or _values_of_caller(input_)
        return comparison(attribute, input_.op, values, to.of(self.workload.entity(entity)))

    def _of_type(self, entity: str, condition: Condition, to: Placeholders) -> Condition:
        item = self.design.item(entity)
        tag = to.value(ConstantSource(item.tag if item else entity), entity)
        has_other_type = Compare("<>", to.path(self.design.type_attribute), tag)
        return Or((has_other_type, condition))

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
        # Select = COUNT returns no attributes. A GetItem that counts still has to look at its item.
        is_counted_get = request.count and request.call is Call.GET
        returns_whole_items = not request.attributes and not is_counted_get
        if slot is None or request.counter or returns_whole_items or (request.count and not is_counted_get):
            return ()
        if slot.projection.kind is not ProjectionKind.ALL:
            return ()
        names = {*request.attributes, self.design.type_attribute, *self._hiding_names(request)}
        if request.call is Call.GET:
            names |= self._compared_names(request)
        if request.call in (Call.QUERY, Call.BATCH_GET):
            names.update(slot.key_names, self.design.table_keys)
        return tuple(sorted(names))

    def _hiding_names(self, request: Request) -> Iterator[str]:
        """The attributes by which constructs hide items of a request."""
        for entity in map(self.workload.entity, request.entities):
            if entity is None:
                continue
            for input_ in hidden_inputs(entity):
                yield input_.attribute
            for test in present_tests(entity, self.design):
                yield from (leaf.attribute for leaf in leaves(test))

    def _compared_names(self, request: Request) -> set[str]:
        """The attributes with which an item is compared after it was read by its key."""
        names: set[str] = set()
        for input_ in request.tested_inputs:
            attributes = bindings(self.workload, request.entities[:1], input_.attribute)
            names.update(attributes.values() or (bare_name(input_.attribute),))
        return names


def _values_of_caller(input_: Input) -> tuple[Value, ...]:
    """The values that the caller gives for an input. Two conditions on one attribute have two inputs."""
    name = bare_name(input_.attribute)
    match input_.op:
        case Op.EXISTS | Op.NOT_EXISTS:
            return ()
        case Op.LT | Op.LE | Op.GT | Op.GE:
            return (Value(param=f"{name} {input_.op}"),)
        case Op.BETWEEN:
            return Value(param=f"{name} from"), Value(param=f"{name} to")
        case Op.EQ | Op.NE | Op.IN | Op.BEGINS_WITH | Op.CONTAINS:
            return (Value(param=name),)
        case _:
            assert_never(input_.op)


def _optional_names(groups: Sequence[InputGroup]) -> frozenset[str]:
    """The attributes of the filters that the caller may leave out."""
    names: set[str] = set()
    for group in groups:
        if is_optional(group):
            names.update(bare_name(input_.attribute) for input_ in group)
    return frozenset(names)


def is_optional(group: InputGroup) -> bool:
    """Whether the caller may leave out all values of a filter."""
    return all(input_.optional for input_ in group)


def _repetition(request: Request) -> str:
    texts = []
    if request.shards > 1:
        texts.append(f"each of {request.shards} shards")
    if request.bucket:
        texts.append(f"each {request.bucket}")
    if request.each:
        texts.append(f"each {request.each}")
    return ", ".join(texts)


def _key_condition(slot: Slot, request: Request, optional_inputs: frozenset[str], to: Placeholders) -> Condition | None:
    parts: list[Condition] = [
        Compare("=", to.path(part.attribute), to.value(KeySource(part.template), part.attribute))
        for part in partition_parts(slot, request.pk)
    ]
    if request.sk is not None:
        parts += _sort_conditions([part.name for part in slot.sk], request.sk, optional_inputs, to)
    return all_of(parts)


def _sort_conditions(
    names: Sequence[str], condition: SortCondition, optional_inputs: frozenset[str], to: Placeholders
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
        fields = fields_of(condition.low) if may_be_shorter else ()
        optional = tuple(field for field in fields if field in optional_inputs)
        value = to.value(KeySource(condition.low, optional), name)
        if condition.op == "begins_with":
            yield FunctionCall("begins_with", (path, value))
        else:
            yield Compare(condition.op, path, value)
