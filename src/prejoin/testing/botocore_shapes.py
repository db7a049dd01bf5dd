"""Compiled botocore shapes: which parameters are valid as they are, and where a response has binary values.

Both only say yes where botocore would. Everything they do not recognise is left to botocore, so they can be simple.
"""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Callable
from typing import Any

Check = Callable[[Any], bool]
Read = Callable[[Any], Any]


def plainly_valid(shape: Any) -> Check:
    """Return a function that says whether a value fits a shape and can go into the JSON unchanged."""
    return _check(shape, {})


def _check(shape: Any, checks: dict[str, Check]) -> Check:
    kind, minimum = shape.type_name, shape.metadata.get("min", 0)
    if _is_text(shape):
        return lambda value: type(value) is str
    if kind == "string":
        return lambda value: type(value) is str and len(value) >= minimum
    if kind in ("integer", "long"):
        return lambda value: type(value) is int and ("min" not in shape.metadata or value >= minimum)
    if kind == "boolean":
        return lambda value: type(value) is bool
    if kind == "blob":
        return lambda value: type(value) is bytes and len(value) >= minimum
    if kind not in ("structure", "map", "list") or shape.metadata.get("union") or shape.metadata.get("document"):
        return lambda value: False
    if shape.name in checks:
        return checks[shape.name]
    # A shape may contain itself, so its name refers to the check before that exists.
    finished_checks: list[Check] = []
    checks[shape.name] = lambda value: finished_checks[0](value)
    make = {"structure": _check_structure, "map": _check_map, "list": _check_list}[kind]
    finished_checks.append(make(shape, minimum, checks))
    checks[shape.name] = finished_checks[0]
    return finished_checks[0]


def _is_text(shape: Any) -> bool:
    """Return whether any text is valid."""
    return shape.type_name == "string" and not shape.metadata.get("min", 0)


def _check_structure(shape: Any, _: int, checks: dict[str, Check]) -> Check:
    members = {
        name: _check(member, checks)
        for name, member in shape.members.items()
        if member.serialization.get("name", name) == name and "location" not in member.serialization
    }
    texts = frozenset(name for name in members if _is_text(shape.members[name]))
    required_names = tuple(shape.metadata.get("required", ()))

    def check(value: Any) -> bool:
        if type(value) is not dict:
            return False
        for name in required_names:
            if name not in value:
                return False
        for name, inner in value.items():
            # Most members are text, for which a call is not worth it.
            if type(inner) is str and name in texts:
                continue
            member = members.get(name)
            if member is None or not member(inner):
                return False
        return True

    return check


def _check_map(shape: Any, minimum: int, checks: dict[str, Check]) -> Check:
    key, member = _check(shape.key, checks), _check(shape.value, checks)
    by_text = _is_text(shape.key)

    def check(value: Any) -> bool:
        if type(value) is not dict or len(value) < minimum:
            return False
        # Not all(): its generator would double the cost.
        for name, inner in value.items():
            if not (by_text and type(name) is str) and not key(name):
                return False
            if not member(inner):
                return False
        return True

    return check


def _check_list(shape: Any, minimum: int, checks: dict[str, Check]) -> Check:
    member = _check(shape.member, checks)

    def check(value: Any) -> bool:
        if type(value) not in (list, tuple) or len(value) < minimum:
            return False
        for inner in value:  # noqa: SIM110
            if not member(inner):
                return False
        return True

    return check


def binary_reader(shape: Any) -> Read | None:
    """Return a function that decodes the binary values of a response in place; None if it cannot have any."""
    return _read(shape, {})


def _read(shape: Any, readers: dict[str, Read]) -> Read | None:
    if shape.type_name == "blob":
        return b64decode
    if shape.type_name not in ("structure", "map", "list"):
        return None
    if shape.name in readers:
        return readers[shape.name]
    finished_readers: list[Read] = []
    readers[shape.name] = lambda value: finished_readers[0](value) if finished_readers else value
    read = _read_container(shape, readers)
    if read is not None:
        finished_readers.append(read)
        readers[shape.name] = read
    return read


def _read_container(shape: Any, readers: dict[str, Read]) -> Read | None:
    if shape.type_name == "structure":
        members: dict[str, Read] = {}
        for name, member in shape.members.items():
            read = _read(member, readers)
            if read is not None:
                members[name] = read
        return _structure_reader(members) if members else None
    inner = _read(shape.value if shape.type_name == "map" else shape.member, readers)
    if inner is None:
        return None
    return _map_reader(inner) if shape.type_name == "map" else _list_reader(inner)


def _structure_reader(members: dict[str, Read]) -> Read:
    def read(value: Any) -> Any:
        for name in value:
            member = members.get(name)
            if member is not None:
                value[name] = member(value[name])
        return value

    return read


def _map_reader(inner: Read) -> Read:
    def read(value: Any) -> Any:
        for name in value:
            value[name] = inner(value[name])
        return value

    return read


def _list_reader(inner: Read) -> Read:
    def read(value: Any) -> Any:
        value[:] = [inner(element) for element in value]
        return value

    return read
