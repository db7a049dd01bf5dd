"""Literal requests as text, for documents: the expressions in DynamoDB's syntax, and what each `:value` is.

`#name` stands for the attribute `name`, unless the text says otherwise.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from itertools import chain
from typing import assert_never

from prejoin.design.model import TABLE, Call, Did
from prejoin.design.requests.literal import (
    ContentReading,
    ItemRequest,
    KeyPart,
    LiteralRequest,
    ObjectRequest,
    PartRequest,
    ReadRequest,
    WriteRequest,
)
from prejoin.design.requests.placeholders import (
    ConstantSource,
    EmptyListSource,
    InputSource,
    KeySource,
    OwnerSource,
    Placeholders,
    RoomSource,
    Source,
    StoredSource,
    TimeForm,
    TimeSource,
)
from prejoin.protocol.expressions.text import condition_text, operand_text, update_text
from prejoin.protocol.limits import BATCH_GET_KEYS
from prejoin.workload.grammar.quantities import write_size, write_span

_WIDTH = 24
"""The width of the column with the names of parameters."""


def requests_text(requests: Iterable[LiteralRequest]) -> str:
    """The requests of a pattern, one below the other."""
    return "\n".join(chain.from_iterable(map(_lines, requests)))


def readings_text(readings: Iterable[ContentReading]) -> str:
    """The requests that read large contents, one below the other."""
    lines: list[str] = []
    for reading in readings:
        if reading.key:
            lines.append(f"GetObject from the store {reading.content}, for each {write_size(reading.size)}")
            lines.append(_parameter("Key", f"the table's name/{reading.key}"))
        for request in reading.reads:
            lines += _read_lines(request)
    return "\n".join(lines)


def _lines(request: LiteralRequest) -> Iterator[str]:
    match request:
        case ReadRequest():
            yield from _read_lines(request)
        case WriteRequest():
            yield from _write_lines(request)
        case PartRequest():
            yield f"{Call.PUT} {_pieces_text(request)}"
            yield _parameter("key in Item", _key_text(request.key))
            yield _parameter("type in Item", json.dumps(request.type_tag, ensure_ascii=False))
            yield _parameter("data in Item", "the bytes of the part")
        case ObjectRequest():
            yield f"PutObject to the store {_pieces_text(request)}"
            yield _parameter("Key", f"the table's name/{request.folder}{request.key}")
        case _:
            assert_never(request)


def _pieces_text(request: PartRequest | ObjectRequest) -> str:
    """
    >>> _pieces_text(ObjectRequest("Document.body", 16_384, 8_388_608, False, "RG9j/", "{upload}/{part}"))
    'Document.body, for each 8 MB of a content of more than 16 KB after compression'
    """
    items = ", for each item" if request.is_list else ""
    large = f"a content of more than {write_size(request.inline)} after compression"
    return f"{request.content}{items}, for each {write_size(request.size)} of {large}"


def _parameter(name: str, text: str) -> str:
    return f"  {name.ljust(_WIDTH)}{text}"


def _read_lines(request: ReadRequest) -> Iterator[str]:
    index = "" if request.slot == TABLE else f" {request.slot}"
    yield f"{request.call}{index}{_repetition(request)}"
    if request.key:
        yield _parameter("Key", _key_text(request.key))
    if request.key_condition is not None:
        yield _parameter("KeyConditionExpression", condition_text(request.key_condition))
    if request.filter is not None:
        name = "FilterExpression" if request.call is Call.QUERY else "absent unless"
        yield _parameter(name, condition_text(request.filter))
    if request.projection:
        yield _parameter("ProjectionExpression", ", ".join(_placeholders_of(request)))
    yield from (_parameter("", option) for option in _read_options(request))
    yield from _legend(request.placeholders)
    if request.optional:
        yield _parameter("", f"left out if not given: {_names(request.optional)}")


def _read_options(request: ReadRequest) -> Iterator[str]:
    if request.is_backward:
        yield "ScanIndexForward = false"
    if request.is_consistent:
        yield "ConsistentRead = true"
    if request.is_count and request.call is Call.QUERY:
        yield "Select = COUNT"
    if request.limit is not None:
        unless = ", without the conditions of a filter" if request.is_limit_of_unfiltered else ""
        yield f"Limit = {request.limit}{unless}"


def _repetition(request: ReadRequest) -> str:
    if not request.repeated:
        return ""
    if request.call is Call.BATCH_GET:
        return f", with a key for {request.repeated}, up to {BATCH_GET_KEYS} in a request"
    if request.call is Call.TRANSACT_GET:
        return f", with a key for {request.repeated}"
    return f", for {request.repeated}"


def _placeholders_of(request: ReadRequest) -> list[str]:
    """The placeholders of the attributes in a projection."""
    by_attribute = {attribute: placeholder for placeholder, attribute in request.placeholders.names.items()}
    return [by_attribute[name] for name in request.projection]


def _write_lines(request: WriteRequest) -> Iterator[str]:
    if len(request.items) == 1 and request.call not in (Call.TRANSACT_WRITE, Call.BATCH_WRITE):
        yield from _item_lines(request.items[0], request.call)
        return
    yield request.call
    for item in request.items:
        yield from (f"  {line}" for line in _item_lines(item, item.action))


def _item_lines(item: ItemRequest, name: str) -> Iterator[str]:
    yield f"{name} {', '.join(_item_notes(item))}"
    yield _parameter("Key" if item.action is not Did.PUT else "key in Item", _key_text(item.key))
    if item.action is Did.PUT:
        yield from _put_lines(item)
    if item.update is not None:
        yield _parameter("UpdateExpression", update_text(item.update))
    if item.condition is not None:
        yield _parameter("ConditionExpression", condition_text(item.condition))
    if item.is_passed_over:
        yield _parameter("", "no error if there is no such item")
    for case, condition in item.sometimes:
        yield _parameter(f"  AND, if {case}", f" {condition_text(condition)}")
    yield from _legend(item.placeholders)
    yield from (_parameter("", text) for text in _absent_value_texts(item))
    if item.otherwise is not None:
        yield f"or, if {item.otherwise_when}:"
        yield from _item_lines(item.otherwise, item.otherwise.action)


def _item_notes(item: ItemRequest) -> Iterator[str]:
    """The item of a request, how many of it there are, and when it is left out."""
    yield str(item.item)
    if item.action is Did.DELETE and not item.item.is_own:
        yield "by its old values"
    if item.is_list:
        yield "for each"
    if item.times > 1:
        yield f"each of {item.times}"
    if item.is_optional:
        yield _optional_words(item)


def _put_lines(item: ItemRequest) -> Iterator[str]:
    """What a put writes beside the attributes of the object."""
    yield _parameter("type in Item", json.dumps(item.type_tag, ensure_ascii=False))
    if item.index_keys:
        yield _parameter("index keys in Item", _key_text(item.index_keys))
    for attribute in item.attributes:
        present = ", if there is one" if attribute.is_optional else ""
        yield _parameter(f"{attribute.name} in Item", f"{attribute.words}{present}")


def _absent_value_texts(item: ItemRequest) -> Iterator[str]:
    """What is sent for attributes without a value."""
    if item.optional:
        yield f"left out if not given: {_names(item.optional)}"
    for attribute, operand in item.defaults.items():
        yield f"if {attribute} is not given: SET #{attribute} = {operand_text(operand)}"
    if item.removable:
        yield f"REMOVE instead, if there is no value or the item is not in the index: {_names(item.removable)}"
    if item.nullable:
        yield f"attribute_not_exists instead, if there is no value: {_names(item.nullable)}"


def _optional_words(item: ItemRequest) -> str:
    if item.action is Did.UPDATE:
        return "if a value is given"
    is_old_copy = item.action is Did.DELETE and item.item.copy
    return "if there is one under another key" if is_old_copy else "where there is one"


def _names(names: Iterable[str]) -> str:
    return ", ".join(f"#{name}" for name in sorted(names))


def _key_text(parts: Iterable[KeyPart]) -> str:
    texts = [f"{part.attribute} = {part.template}{' (if it is in the index)' * part.is_optional}" for part in parts]
    return ", ".join(texts)


def _legend(placeholders: Placeholders) -> Iterator[str]:
    for placeholder, attribute in placeholders.names.items():
        if placeholder != f"#{attribute}":
            yield _parameter("", f"{placeholder} = {attribute}")
    for placeholder, source in sorted(placeholders.values.items(), key=lambda entry: entry[0]):
        yield _parameter("", f"{placeholder} = {source_text(source)}")


def source_text(source: Source) -> str:
    """What a value is, in a few words: `{quantity}` is an input."""
    match source:
        case InputSource():
            text = f"-{{{source.name}}}" if source.is_negative else f"{{{source.name}}}"
            return f"{text} in seconds since 1970" if source.in_seconds else text
        case ConstantSource():
            return _constant_text(source)
        case RoomSource():
            return f"{source.bound} {source.sign} {{{source.input}}}"
        case EmptyListSource():
            return "[]"
        case TimeSource():
            return _time_text(source)
        case KeySource():
            text = f'"{source.template}"'
            shorter = ", or begins_with what is before the first value that is not given"
            return f"{text}{shorter}" if source.optional else text
        case StoredSource():
            return f"the value of {source.attribute} as it is known, or was read before"
        case OwnerSource():
            return f"the key of the item as a map: {source.pk}{f', {source.sk}' if source.sk else ''}"
        case _:
            assert_never(source)


def _time_text(source: TimeSource) -> str:
    time = "the time of the call"
    if source.seconds != 0:
        time += f" {'-' if source.seconds < 0 else '+'} {write_span(abs(source.seconds))}"
    match source.form:
        case TimeForm.MOMENT:
            return time
        case TimeForm.SECOND:
            return f"{time}, to the second"
        case TimeForm.DATE:
            return f"{time}, as a date"
        case TimeForm.EPOCH:
            return f"{time}, in seconds since 1970"
        case _:
            assert_never(source.form)


def _constant_text(source: ConstantSource) -> str:
    text = json.dumps(source.text, ensure_ascii=False)
    match source.type_tag:
        case "N" | "BOOL":
            return source.text
        case "SS":
            return f"the set of {text}"
        case "NS":
            return f"the set of {source.text}"
        case "L":
            return f"[{text}]"
        case "S":
            return text
        case _:
            assert_never(source.type_tag)
