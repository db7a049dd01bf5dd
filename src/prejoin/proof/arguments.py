"""The arguments of repository methods: from the inputs of a read, or from a case of a write."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any, Literal, assert_never

from prejoin.cases.case import WriteCase
from prejoin.render.python.method import InputValue, KnownValue, Method, Option, RecordValue

Record = Callable[[str, Mapping[str, Any]], Any]
"""Makes an object of an entity from values by the document's names."""


def read_arguments(method: Method, inputs: Mapping[str, Any], now: datetime) -> dict[str, Any]:
    """The arguments by which a method reads with these inputs."""
    arguments: dict[str, Any] = {}
    for param in method.params:
        match param.meaning:
            case InputValue(name, end) if name in inputs:
                arguments[param.name] = _end_of_range(inputs[name], end)
            case Option.NOW:
                arguments[param.name] = now
            case InputValue() | Option() | RecordValue() | KnownValue():
                pass  # left out, or an argument of writes
            case _:
                assert_never(param.meaning)
    return arguments


def _end_of_range(value: Any, end: Literal["", "low", "high"]) -> Any:
    """One end of a range that a method takes as two arguments; any other value as it is."""
    match end:
        case "low":
            return value[0]
        case "high":
            return value[1]
        case "":
            return value
        case _:
            assert_never(end)


def write_arguments(method: Method, case: WriteCase, record: Record) -> dict[str, Any]:
    """The arguments by which a method does what a case says."""
    numbers: Counter[RecordValue] = Counter()
    arguments: dict[str, Any] = {}
    for param in method.params:
        if isinstance(param.meaning, RecordValue):
            # Two parameters for objects of one entity are those of its actions in their order.
            value = _object(param.meaning, numbers[param.meaning], case, record)
            numbers[param.meaning] += 1
        else:
            value = _argument(param.meaning, case)
        if value is not None or not param.default:
            arguments[param.name] = value
    return arguments


def _object(meaning: RecordValue, number: int, case: WriteCase, record: Record) -> Any:
    """The object or objects of the action that comes as this one among those of its kind."""
    slots = case.object_slots(meaning.entity, meaning.many, number)
    objects = [record(meaning.entity, case.object_values(slot)) for slot in slots]
    return objects if meaning.many else objects[0]


def _argument(meaning: InputValue | KnownValue | Option, case: WriteCase) -> Any:
    """The value of a parameter that is no object; None for one that the call leaves out."""
    match meaning:
        case Option.NOW:
            return case.sample.now
        case Option.AGAIN:
            return case.variation.is_again or None
        case Option.LIMIT | Option.AFTER | Option.TOKEN:
            return None
        case KnownValue(entity, attribute, _, True):
            return case.new_value(entity, attribute)
        case KnownValue(entity, attribute, is_list):
            values = [value for _, value in case.known_values(entity, attribute)]
            return values if is_list else values[0]
        case InputValue(name):
            return case.inputs.get(name)
        case _:
            assert_never(meaning)
