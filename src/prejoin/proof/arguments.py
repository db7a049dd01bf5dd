"""The arguments of repository methods: from the inputs of a read, or from a case of a write."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any, assert_never

from prejoin.cases.case import WriteCase
from prejoin.render.python.method import InputValue, KnownValue, Method, Option, Param, RecordValue

Record = Callable[[str, Mapping[str, Any]], Any]
"""Makes an object of an entity from values by the document's names."""


def read_arguments(method: Method, inputs: Mapping[str, Any], now: datetime) -> dict[str, Any]:
    """The arguments by which a method reads with these inputs."""
    arguments: dict[str, Any] = {}
    for param in method.params:
        match param.meaning:
            case InputValue(name, end):
                if name in inputs:
                    value = inputs[name]
                    arguments[param.name] = value[0] if end == "low" else value[1] if end == "high" else value
            case Option():
                if param.meaning is Option.NOW:
                    arguments[param.name] = now
            case RecordValue() | KnownValue():
                pass  # arguments of writes
            case _:
                assert_never(param.meaning)
    return arguments


def write_arguments(method: Method, case: WriteCase, record: Record) -> dict[str, Any]:
    """The arguments by which a method does what a case says."""
    objects: dict[RecordValue, int] = {}
    arguments: dict[str, Any] = {}
    for param in method.params:
        if isinstance(param.meaning, RecordValue):
            number = objects.get(param.meaning, 0)
            objects[param.meaning] = number + 1
            value = _object(param.meaning, number, case, record)
        else:
            value = _argument(param, case)
        if value is not None or not param.default:
            arguments[param.name] = value
    return arguments


def _object(meaning: RecordValue, number: int, case: WriteCase, record: Record) -> Any:
    """The object or objects of the action that comes as this one among those of its kind."""
    slots = case.object_slots(meaning.entity, meaning.many, number)
    objects = [record(meaning.entity, case.object_values(slot)) for slot in slots]
    return objects if meaning.many else objects[0]


def _argument(param: Param, case: WriteCase) -> Any:
    match param.meaning:
        case Option.NOW:
            return case.sample.now
        case Option.AGAIN:
            return case.variation.is_again or None
        case Option.LIMIT | Option.AFTER | Option.TOKEN | RecordValue():
            return None
        case KnownValue(entity, attribute, many, is_new_value):
            if is_new_value:
                return case.new_value(entity, attribute)
            slots = [s for s in case.model.slots if s.entity.name == entity and not s.is_new]
            values = [(slot.before or {}).get(attribute) for slot in slots]
            return values if many else values[0]
        case InputValue(name, _, _):
            return case.inputs.get(name)
        case _:
            assert_never(param.meaning)
