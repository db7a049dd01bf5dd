"""Compares the requests that a client sent with the documented ones: an oracle of its own, on parsed expressions.

It knows the data of `design.requests` and the expressions' grammar, and nothing of how either is made.
"""

from __future__ import annotations

import base64
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, assert_never

import pytest

import prejoin.proof.prove as prover
from prejoin.design.model import Call, Design, Did, Operation
from prejoin.design.requests.literal import (
    ItemRequest,
    KeyPart,
    LiteralRequest,
    ObjectRequest,
    PartRequest,
    ReadRequest,
    WriteRequest,
)
from prejoin.design.requests.lower import literal_requests, repeated_requests
from prejoin.design.requests.placeholders import (
    ConstantSource,
    EmptyListSource,
    InputSource,
    KeySource,
    OwnerSource,
    RoomSource,
    Source,
    StoredSource,
    TimeSource,
)
from prejoin.patterns.large.stores import MemoryStore
from prejoin.proof.sample_table import SampleTable
from prejoin.protocol.expressions.nodes import (
    And,
    Arithmetic,
    Between,
    Compare,
    DocumentPath,
    FunctionCall,
    In,
    Not,
    Or,
    Placeholder,
    RemoveAction,
)
from prejoin.protocol.expressions.parser import parse_condition, parse_projection, parse_update
from prejoin.protocol.expressions.text import condition_text, update_text
from prejoin.render.python.method import Method
from prejoin.table.client.observe import Call as SentCall
from prejoin.workload.model import Workload

Json = Mapping[str, Any]
PUT_OBJECT = "PutObject"
"""The request to a store for an object, which is recorded beside those to the table."""
Recorded = dict[str, list[tuple[Mapping[str, Any], list[SentCall]]]]
"""The arguments and requests of each call of a method, by pattern."""


@contextmanager
def recorded_calls() -> Iterator[Recorded]:
    """The requests that are sent while something is proven."""
    found: Recorded = {}
    pattern = [""]
    run, guarded, put = SampleTable.run, prover._prove_or_report, MemoryStore.put
    of_method: list[list[SentCall]] = []
    """The calls of the method that runs; empty between methods."""

    def recording_put(self: MemoryStore, key: str, data: bytes) -> None:
        for calls in of_method:
            calls.append(SentCall(PUT_OBJECT, {"Key": key}, {}, (key,)))
        put(self, key, data)

    def recording_run(
        self: SampleTable, method: Method, arguments: Mapping[str, Any], *more: Any, **options: Any
    ) -> Any:
        before = len(self.calls)
        of_method.append(self.calls)
        try:
            return run(self, method, arguments, *more, **options)
        finally:
            of_method.clear()
            found.setdefault(pattern[0], []).append((arguments, self.calls[before:]))

    def naming_guarded(proven: Any, prove_pattern: Any) -> Any:
        pattern[0] = proven.id
        return guarded(proven, prove_pattern)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(SampleTable, "run", recording_run)
        patch.setattr(MemoryStore, "put", recording_put)
        patch.setattr(prover, "_prove_or_report", naming_guarded)
        yield found


def differences(recorded: Recorded, workload: Workload, design: Design) -> list[str]:
    """What was sent and is not documented, or is documented and was never sent, a line for each kind of difference."""
    found: dict[str, str] = {}
    for pattern, calls in recorded.items():
        operation = design.operation(pattern)
        assert operation is not None
        first_calls = [call for call in calls if not call[0].get("again")]
        repeated_calls = [call for call in calls if call[0].get("again")]
        by_name = {
            pattern: (literal_requests(operation, workload, design), first_calls),
            f"{pattern} again": (repeated_requests(operation, workload, design), repeated_calls),
        }
        for name, (requests, same_calls) in by_name.items():
            assert_read_back(requests)
            sent: set[int] = set()
            for arguments, sequence in same_calls:
                for text in _of_call(requests, sequence, design, sent, "limit" in arguments):
                    found.setdefault(f"{name}: {_shape(text)}", f"{name}: {text}")
            for number, request in enumerate(requests):
                if same_calls and number not in sent and not _may_be_left_out(request, name != pattern):
                    found.setdefault(f"{name} {number}", f"{name}: {_call_of(request)} is documented and never sent")
    return list(found.values())


def assert_read_back(requests: Iterable[LiteralRequest]) -> None:
    """The printed expressions are read as the same trees."""
    for request in requests:
        conditions: list[Any] = []
        if isinstance(request, ReadRequest):
            conditions += [request.key_condition, request.filter]
        elif isinstance(request, WriteRequest):
            for item in request.items:
                conditions += [item.condition, *(one for _, one in item.sometimes)]
                if item.update is not None:
                    sections = ("SET", "REMOVE", "ADD", "DELETE")
                    actions = sorted(item.update.actions, key=lambda one: sections.index(_section(one)))
                    read = sorted(
                        parse_update(update_text(item.update)).actions, key=lambda one: sections.index(_section(one))
                    )
                    assert read == actions
        for condition in filter(None, conditions):
            assert parse_condition(condition_text(condition), "documented") == condition


def _section(action: Any) -> str:
    return type(action).__name__.removesuffix("Action").upper()


def _shape(text: str) -> str:
    return re.sub(r"[0-9]+|'[^']*'", "", text)


def _may_be_left_out(request: LiteralRequest, is_again: bool) -> bool:
    if isinstance(request, PartRequest | ObjectRequest):
        return is_again  # the contents of repeated calls are small
    return isinstance(request, WriteRequest) and all(item.is_optional or item.is_list for item in request.items)


def _of_call(
    requests: Sequence[LiteralRequest], calls: Sequence[SentCall], design: Design, sent: set[int], has_limit: bool
) -> Iterator[str]:
    """How the requests of one call of a method differ from the documented ones, in their order."""
    position = 0
    for call in calls:
        # A request is sent once, if it is not one of several alike, and another page of a Query is not asked for.
        is_page = "ExclusiveStartKey" in call.request
        first = position - 1 if is_page else position
        candidates = [n for n in range(len(requests)) if n >= first or _is_repeated(requests[n])]
        wrong: list[str] = []
        for number in candidates:
            text = request_difference(requests[number], call, design, has_limit)
            if not text:
                position = max(position, number + 1)
                sent.add(number)
                break
            wrong.append(text)
        else:
            best = min(wrong, key=_rank) if wrong else "after the last documented request"
            yield f"{call.operation} {_brief(call)}: {best}"
            return


def _rank(text: str) -> int:
    return 1 if text.startswith("another operation") else 0


def _call_of(request: LiteralRequest) -> str:
    match request:
        case PartRequest():
            return "PutItem of a part"
        case ObjectRequest():
            return PUT_OBJECT
        case _:
            return request.call


def _is_repeated(request: LiteralRequest) -> bool:
    match request:
        case ReadRequest():
            return bool(request.repeated)
        case PartRequest() | ObjectRequest():
            return True  # a content is stored in several pieces
        case _:
            pass
    return any(item.is_list for item in request.items)


def _brief(call: SentCall) -> str:
    return str(call.key)[:60]


# --- One request ----------------------------------------------------------------------------------------------------

_SINGLE = {"PutItem": Did.PUT, "UpdateItem": Did.UPDATE, "DeleteItem": Did.DELETE}
_OUTSIDE = {
    "TableName", "IndexName", "Key", "Item", "KeyConditionExpression", "FilterExpression", "ProjectionExpression",
    "UpdateExpression", "ConditionExpression", "ExpressionAttributeNames", "ExpressionAttributeValues", "Limit",
    "ScanIndexForward", "ConsistentRead", "Select", "ExclusiveStartKey", "ReturnConsumedCapacity", "TransactItems",
    "RequestItems", "ClientRequestToken", "ReturnValuesOnConditionCheckFailure", "ReturnValues", "Keys",
}  # fmt: skip


def request_difference(documented: LiteralRequest, call: SentCall, design: Design, has_limit: bool = False) -> str:
    if unknown := call.request.keys() - _OUTSIDE:
        return f"nothing is known of {unknown}"
    match documented:
        case ReadRequest():
            return _read_difference(documented, call, design, has_limit)
        case WriteRequest():
            return _write_difference(documented, call, design)
        case PartRequest():
            return _part_difference(documented, call, design)
        case ObjectRequest():
            return _object_difference(documented, call, design)
        case _:
            assert_never(documented)


def _part_difference(documented: PartRequest, call: SentCall, design: Design) -> str:
    if call.operation != "PutItem" or "data" not in call.request["Item"]:
        return "another operation than the PutItem of a part"
    item = call.request["Item"]
    if item.get(design.type_attribute) != {"S": documented.type_tag}:
        return f"type {item.get(design.type_attribute)} for {documented.type_tag}"
    if len(base64.b64decode(item["data"]["B"])) > documented.size:
        return f"a part of more than {documented.size} bytes"
    return _key_difference(documented.key, {part.attribute: item[part.attribute] for part in documented.key})


def _object_difference(documented: ObjectRequest, call: SentCall, design: Design) -> str:
    if call.operation != PUT_OBJECT:
        return f"another operation than {PUT_OBJECT}"
    key = f"{design.table}/{documented.folder}{documented.key}"
    return "" if is_instance(key, {"S": call.request["Key"]}) else f"the key {call.request['Key']} for {key}"


def _read_difference(documented: ReadRequest, call: SentCall, design: Design, has_limit: bool) -> str:
    if call.operation != documented.call:
        return f"another operation than {documented.call}"
    body = call.request
    if (body.get("IndexName") or "table") != documented.slot:
        return f"another index than {documented.slot}"
    match documented.call:
        case Call.QUERY:
            return _query_difference(documented, body, has_limit)
        case Call.GET:
            return _get_difference(documented, body, [body["Key"]], body)
        case Call.BATCH_GET:
            wanted = body["RequestItems"][design.table]
            return _get_difference(documented, wanted, wanted["Keys"], wanted)
        case _:
            gets = [one["Get"] for one in body["TransactItems"]]
            wrong = (_get_difference(documented, one, [one["Key"]], one) for one in gets)
            return next(filter(None, wrong), "")


def _query_difference(documented: ReadRequest, body: Json, has_limit: bool) -> str:
    assert documented.key_condition is not None
    bound = _Bound(documented.placeholders.names, documented.placeholders.values, body, documented.optional)
    key_text = condition_text(documented.key_condition)
    if wrong := bound.conditions(key_text, body["KeyConditionExpression"]):
        return f"key condition: {wrong}"
    filter_text = condition_text(documented.filter) if documented.filter else ""
    if wrong := bound.conditions(filter_text, body.get("FilterExpression", "")):
        return f"filter: {wrong}"
    if (body.get("ScanIndexForward") is False) is not documented.is_backward:
        return f"ScanIndexForward {body.get('ScanIndexForward')}"
    if bool(body.get("ConsistentRead")) is not documented.is_consistent:
        return f"ConsistentRead {body.get('ConsistentRead')}"
    if (body.get("Select") == "COUNT") is not documented.is_count:
        return f"Select {body.get('Select')}"
    # The caller may ask for less than is documented, and then the client does.
    is_limited = documented.limit is not None
    if documented.is_limit_of_unfiltered:
        filtered = re.findall(r"#\w+", body.get("FilterExpression", ""))
        names = {body["ExpressionAttributeNames"][name] for name in filtered}
        is_limited = is_limited and names.isdisjoint(documented.optional)
    if not has_limit and ("Limit" in body) is not is_limited:
        return f"Limit {body.get('Limit')} where {documented.limit} is documented"
    return _projection_difference(documented, body)


def _get_difference(documented: ReadRequest, body: Json, keys: Sequence[Json], projected: Json) -> str:
    for key in keys:
        if wrong := _key_difference(documented.key, key):
            return wrong
    if bool(body.get("ConsistentRead")) is not documented.is_consistent:
        return f"ConsistentRead {body.get('ConsistentRead')}"
    return _projection_difference(documented, projected)


def _projection_difference(documented: ReadRequest, body: Json) -> str:
    text, names = body.get("ProjectionExpression", ""), body.get("ExpressionAttributeNames", {})
    paths = parse_projection(text).paths if text else ()
    sent = {".".join(str(names.get(step, step)) for step in path.steps) for path in paths}
    named = set(documented.projection)
    return (
        ""
        if sent <= named and named - sent <= documented.optional
        else f"projection {sorted(sent)} for {documented.projection}"
    )


def _key_difference(documented: Sequence[KeyPart], key: Json) -> str:
    templates = {part.attribute: part.template for part in documented}
    if templates.keys() != key.keys():
        return f"key {sorted(key)} for {sorted(templates)}"
    for name, value in key.items():
        if not is_instance(templates[name], value):
            return f"key {name} = {value} for {templates[name]}"
    return ""


def _write_difference(documented: WriteRequest, call: SentCall, design: Design) -> str:
    if call.operation == "TransactWriteItems":
        sent = [(Did(kind), body) for one in call.request["TransactItems"] for kind, body in one.items()]
        if documented.call is not Call.TRANSACT_WRITE:
            return f"another operation than {documented.call}"
    elif call.operation == "BatchWriteItem":
        if documented.call is not Call.BATCH_WRITE:
            return f"another operation than {documented.call}"
        requests = call.request["RequestItems"][design.table]
        kinds = {"PutRequest": Did.PUT, "DeleteRequest": Did.DELETE}
        sent = [(kinds[kind], body) for one in requests for kind, body in one.items()]
    elif call.operation in _SINGLE:
        calls = {documented.call, *(f"{one.otherwise.action}Item" for one in documented.items if one.otherwise)}
        if call.operation not in calls and documented.call is not Call.TRANSACT_WRITE:
            return f"another operation than {documented.call}"
        sent = [(_SINGLE[call.operation], call.request)]
    else:
        return f"another operation than {documented.call}"
    return _items_difference(documented.items, sent, design)


def _items_difference(documented: Sequence[ItemRequest], sent: Sequence[tuple[Did, Json]], design: Design) -> str:
    """How items differ: each that was sent is an instance of one that is documented, in their order."""
    used: dict[int, int] = {}
    sent_times: Counter[int] = Counter()
    for kind, body in sent:
        wrong: list[str] = []
        for number, item in enumerate(documented):
            if number in used and not item.is_list and sent_times[number] >= item.times:
                continue
            text = item_difference(item, kind, body, design)
            if not text:
                used.setdefault(number, len(used))
                sent_times[number] += 1
                break
            wrong.append(text)
        else:
            return f"{kind}: " + (max(wrong, key=_closeness) if wrong else "more items than are documented")
    for number, item in enumerate(documented):
        if not item.is_list and 0 < sent_times[number] < item.times:
            return f"{item.action} of {item.item} was sent {sent_times[number]} times, and {item.times} are documented"
    missing = [one for number, one in enumerate(documented) if number not in used]
    for item in missing:
        if not item.is_list and not item.is_optional:
            return f"{item.action} of {item.item} is documented, and was not sent"
    # A list that replaces another is written item by item with it.
    numbers = [number for number in used if not documented[number].is_list]
    return "" if numbers == sorted(numbers) else f"the items are in the order {numbers}"


def _closeness(text: str) -> int:
    return next((rank for rank, word in enumerate(("another action", "key")) if text.startswith(word)), 9)


def item_difference(documented: ItemRequest, kind: Did, body: Json, design: Design) -> str:
    """How an item differs from what is documented, or from what is in another case."""
    wrong = _one_difference(documented, kind, body, design)
    if wrong and documented.otherwise is not None:
        other = item_difference(documented.otherwise, kind, body, design)
        return other if wrong.startswith("another action") else other and wrong
    return wrong


def _one_difference(documented: ItemRequest, kind: Did, body: Json, design: Design) -> str:
    if kind is not documented.action:
        return f"another action than {documented.action}"
    table = {part.attribute for part in documented.key}
    key = body["Key"] if "Key" in body else {name: body["Item"][name] for name in table}
    if wrong := _key_difference(documented.key, key):
        return wrong
    bound = _Bound(
        documented.placeholders.names, documented.placeholders.values, body, documented.optional, documented.nullable
    )
    if kind is Did.PUT and (wrong := _put_difference(documented, body["Item"], design)):
        return f"{documented.item}: {wrong}"
    if documented.update is not None and (wrong := bound.updates(documented, body["UpdateExpression"])):
        return f"{documented.item}: update: {wrong}"
    condition = condition_text(documented.condition) if documented.condition else ""
    sometimes = [condition_text(one) for _, one in documented.sometimes]
    if wrong := bound.conditions(condition, body.get("ConditionExpression", ""), sometimes):
        return f"{documented.item}: condition: {wrong}"
    return ""


def _put_difference(documented: ItemRequest, item: Json, design: Design) -> str:
    if item.get(design.type_attribute) != {"S": documented.type_tag}:
        return f"type {item.get(design.type_attribute)} for {documented.type_tag}"
    for part in documented.index_keys:
        if part.attribute not in item:
            if not part.is_optional:
                return f"it lacks {part.attribute}"
        elif not is_instance(part.template, item[part.attribute]):
            return f"{part.attribute} = {item[part.attribute]} for {part.template}"
    names = {part.attribute for part in documented.index_keys}
    made = {key.name for slot in design.indexes for key in (*slot.pk, *slot.sk)}
    own = {key.name for slot in design.indexes for key in (*slot.pk, *slot.sk) if re.match(r"gsi\d|lsi\d", key.name)}
    if extra := (item.keys() & made & own) - names:
        return f"it has {sorted(extra)}"
    if documented.item.apart:
        needed = {attribute.name for attribute in documented.attributes if not attribute.is_optional}
        others = item.keys() - {part.attribute for part in documented.key} - {design.type_attribute}
        if not needed <= others or others - {attribute.name for attribute in documented.attributes}:
            return f"it has {sorted(others)} for {[attribute.name for attribute in documented.attributes]}"
    return ""


# --- Expressions ----------------------------------------------------------------------------------------------------


class _Bound:
    """The names and values of a documented expression and of a sent one."""

    def __init__(
        self,
        names: Mapping[str, str],
        values: Mapping[str, Source],
        body: Json,
        optional: frozenset[str] = frozenset(),
        nullable: frozenset[str] = frozenset(),
    ) -> None:
        self.names, self.values = names, values
        self.sent_names = body.get("ExpressionAttributeNames", {})
        self.sent_values = body.get("ExpressionAttributeValues", {})
        self.optional, self.nullable = optional, nullable
        self.inputs: dict[Source, Any] = {}

    def conditions(self, documented: str, sent: str, sometimes: Iterable[str] = ()) -> str:
        left = list(_conjuncts(parse_condition(documented, "documented"))) if documented else []
        right = list(_conjuncts(parse_condition(sent, "sent"))) if sent else []
        remaining = list(right)
        missing = []
        for part in left:
            match_ = next((other for other in remaining if self.is_same(part, other)), None)
            if match_ is not None:
                remaining.remove(match_)
            elif not self._is_left_out(part):
                missing.append(condition_text(part))
        for text in sometimes:
            part = parse_condition(text, "documented")
            match_ = next((other for other in remaining if self.is_same(part, other)), None)
            if match_ is not None:
                remaining.remove(match_)
        if not missing and not remaining:
            return ""
        return f"documented {missing or '-'}, sent {[self._shown(one) for one in remaining] or '-'}"

    def _is_left_out(self, part: Any) -> bool:
        return bool(self._attributes(part)) and self._attributes(part) <= self.optional

    def _attributes(self, node: Any) -> set[str]:
        return {self.names[step] for step in re.findall(r"#\w+", condition_text(node))}

    def _shown(self, node: Any) -> str:
        text = condition_text(node)
        text = re.sub(r"#\w+", lambda found: str(self.sent_names[found[0]]), text)
        return re.sub(r":\w+", lambda found: repr(self.sent_values[found[0]])[:60], text)

    def updates(self, documented: ItemRequest, sent: str) -> str:
        assert documented.update is not None
        actions = parse_update(update_text(documented.update)).actions
        remaining = {self._path(one.path, self.sent_names): one for one in parse_update(sent).actions}
        for action in actions:
            name = self._path(action.path, self.names)
            other = remaining.pop(name, None)
            if other is None:
                if name not in documented.optional:
                    return f"{name} is documented, and was not sent"
            elif name in documented.defaults and self.is_same(
                documented.defaults[name], getattr(other, "operand", None)
            ):
                continue
            elif isinstance(other, RemoveAction):
                if not isinstance(action, RemoveAction) and name not in documented.removable:
                    return f"{name} was removed"
            elif type(other) is not type(action):
                return f"{name}: {type(other).__name__} for {type(action).__name__}"
            elif not self.is_same(action.operand, other.operand):  # type: ignore[union-attr]
                return f"{name}: {other.operand} {self.sent_values}"
        return f"sent {sorted(remaining)}" if remaining else ""

    def _path(self, path: DocumentPath, names: Mapping[str, str]) -> str:
        return ".".join(str(names.get(step, step)) if isinstance(step, str) else str(step) for step in path.steps)

    def is_same(self, documented: Any, sent: Any) -> bool:
        match documented, sent:
            case Compare("=", DocumentPath() as path, Placeholder(name)), FunctionCall("attribute_not_exists", _):
                is_known = isinstance(self.values[name], InputSource | StoredSource)
                own = self._path(path, self.names)
                return is_known and own in self.nullable and self.is_same(path, sent.arguments[0])
            case Compare("=", DocumentPath() as path, Placeholder(name)), FunctionCall("begins_with", arguments):
                # The whole key, or its beginning if the caller leaves out a value.
                source = self.values[name]
                is_shorter = isinstance(source, KeySource) and bool(source.optional)
                return is_shorter and self.is_same(path, arguments[0]) and self.is_same(Placeholder(name), arguments[1])
            case (And(), And()) | (Or(), Or()):
                return self._same_parts(_flat(documented), _flat(sent))
            case Not(ours), Not(theirs):
                return self.is_same(ours, theirs)
            case Compare(op, left, right), Compare(other, sent_left, sent_right):
                return op == other and self.is_same(left, sent_left) and self.is_same(right, sent_right)
            case Arithmetic(op, left, right), Arithmetic(other, sent_left, sent_right):
                return op == other and self.is_same(left, sent_left) and self.is_same(right, sent_right)
            case Between(), Between():
                pairs = ((documented.operand, sent.operand), (documented.low, sent.low), (documented.high, sent.high))
                return all(self.is_same(one, other) for one, other in pairs)
            case In(operand, options), In(sent_operand, sent_options):
                return self.is_same(operand, sent_operand) and self._same_parts(options, sent_options)
            case FunctionCall(function, ours), FunctionCall(sent_function, theirs):
                same = function == sent_function and len(ours) == len(theirs)
                return same and all(self.is_same(one, other) for one, other in zip(ours, theirs, strict=True))
            case DocumentPath(), DocumentPath():
                return self._path(documented, self.names) == self._path(sent, self.sent_names)
            case Placeholder(name), Placeholder(sent_name):
                return self._is_value(self.values[name], self.sent_values[sent_name])
            case _:
                return False

    def _same_parts(self, documented: Iterable[Any], sent: Iterable[Any]) -> bool:
        remaining = list(sent)
        for part in documented:
            match_ = next((other for other in remaining if self.is_same(part, other)), None)
            if match_ is None:
                return False
            remaining.remove(match_)
        return not remaining

    def _is_value(self, source: Source, value: Json) -> bool:
        match source:
            case KeySource(template, optional):
                shorter = [template.partition(f"{{{name}")[0] for name in optional]
                return any(is_instance(each, value) for each in (template, *shorter))
            case ConstantSource():
                return _is_constant(source, value)
            case EmptyListSource():
                return value == {"L": []}
            case OwnerSource(pk, sk):
                parts = list(value.get("M", {}).values())
                templates = [pk, sk] if sk else [pk]
                return len(parts) == len(templates) and all(map(is_instance, templates, parts))
            case InputSource() | StoredSource() | TimeSource() | RoomSource():
                # One source has one value in an item.
                return self.inputs.setdefault(source, value) == value
            case _:
                raise AssertionError(source)


def _flat(condition: Any) -> Iterator[Any]:
    """The parts of `a OR (b OR c)`, which are those of `a OR b OR c`."""
    for part in condition.parts:
        if type(part) is type(condition):
            yield from _flat(part)
        else:
            yield part


def _conjuncts(condition: Any) -> tuple[Any, ...]:
    return condition.parts if isinstance(condition, And) else (condition,)


def _is_constant(source: ConstantSource, value: Json) -> bool:
    (kind, stored), *_ = value.items()
    if kind != source.type_tag:
        return False
    match kind:
        case "N":
            return float(stored) == float(source.text)
        case "BOOL":
            return source.text in ("true", "false") and stored is (source.text == "true")
        case "SS" | "NS":
            return list(stored) == [source.text]
        case "L":
            return len(stored) == 1 and source.text in stored[0].values()
        case _:
            return bool(stored == source.text)


def is_instance(template: str, value: Json, separator: str = "") -> bool:
    """Whether a key value can be made of a template: its texts are there, in their places.

    With a separator, no value has it. That is so if values are escaped, and in a key that is not an attribute itself.
    """
    (kind, text), *_ = value.items()
    if kind != "S":
        return re.fullmatch(r"\{[^{}]*\}", template) is not None
    for words in ("the last key below ", "the first key above "):
        if template.startswith(words):
            start = template.removeprefix(words).partition("{")[0]
            return bool(text.startswith(start[:-1]))
    parts = re.split(r"(\{[^{}]*\}|…)", template)
    is_escaped = separator and any(part and part[0] != "{" for part in parts)
    any_value = f"[^{re.escape(separator)}]*" if is_escaped else ".*"
    pattern = "".join(any_value if part[:1] in ("{", "…") else re.escape(part) for part in parts)
    return re.fullmatch(pattern, text, re.DOTALL) is not None


__all__ = ["Operation", "differences", "recorded_calls"]
