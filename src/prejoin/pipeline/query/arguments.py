"""The arguments of an access pattern: read as values of their types, or taken from the sample data."""

from __future__ import annotations

import types
import typing
from collections.abc import Mapping, Sequence
from datetime import date, datetime, time
from decimal import Decimal
from enum import Enum
from typing import Any, Literal
from uuid import UUID

import msgspec

from prejoin.cases.brute_force import BruteForce
from prejoin.cases.read_cases import read_cases
from prejoin.cases.write_cases import NothingFitsError, build_case
from prejoin.keys import KeyValueError
from prejoin.pipeline import codes
from prejoin.pipeline.errors import InvalidArgumentError
from prejoin.proof.arguments import read_arguments, write_arguments
from prejoin.proof.expected_table import ExpectedTable
from prejoin.proof.sample_table import SampleTable
from prejoin.render.python.method import Method, Param
from prejoin.workload.lookup import suggest
from prejoin.workload.model import Pattern, Read, Write

_EXAMPLES: Mapping[Any, tuple[str, str]] = {
    UUID: ("a UUID", "a33f6f6a-1438-43f5-819d-1bd3d93e1841"),
    datetime: ("a time with its zone", "2026-01-15T10:30:00Z"),
    date: ("a date", "2026-01-15"),
    time: ("a time of day", "10:30:00"),
    Decimal: ("a number", "12.50"),
    int: ("a whole number", "5"),
    float: ("a number", "1.5"),
    bool: ("true or false", "true"),
    bytes: ("bytes in Base64", "aGVsbG8="),
    str: ("a text", "…"),
}


_LONGEST = 60
"""Characters of a value that a message repeats."""


class MissingArgumentsError(InvalidArgumentError):
    """Arguments are missing: `samples` has a value for each, as it is written."""

    def __init__(self, pattern: str, hints: Mapping[str, Any]) -> None:
        self.pattern = pattern
        self.samples = {name: _sample(hint) for name, hint in hints.items()}
        self.message = f"{pattern} needs {'; '.join(f'{name}, {type_words(hint)}' for name, hint in hints.items())}"
        pairs = ", ".join(f"{name}={sample}" for name, sample in self.samples.items())
        super().__init__(codes.MISUSED, self.message, f"pass {pairs}")


def parameter(method: Method, name: str) -> Param:
    """The parameter of a method, by its name or that of the document: `user_id` or `userId`."""
    params_by_name = {_fold_name(param.name): param for param in method.params}
    names = [param.name for param in method.params]
    param = params_by_name.get(_fold_name(name))
    if param is None:
        near_name = suggest(name, names)
        fix = (
            f"did you mean {near_name}?" if near_name else f"{method.pattern.id} takes {', '.join(names) or 'nothing'}"
        )
        raise misuse_error(f"{method.pattern.id} takes no {name}", fix)
    return param


def misuse_error(message: str, fix: str) -> InvalidArgumentError:
    return InvalidArgumentError(codes.MISUSED, message, fix)


def _fold_name(name: str) -> str:
    return name.replace("_", "").replace("-", "").lower()


def require_arguments(method: Method, hints: Mapping[str, Any], values: Mapping[str, Any]) -> None:
    """Raises a `MissingArgumentsError` if a parameter without a default has no value."""
    names = [param.name for param in method.params if not param.default and param.name not in values]
    if names:
        raise MissingArgumentsError(method.pattern.id, {name: hints[name] for name in names})


def read_value(name: str, texts: Sequence[str], hint: Any) -> Any:
    """The value of a parameter from texts: as they are, or as JSON. A list takes several texts, or one with JSON."""
    kind = _bare(hint)
    if _items(kind) is not None and not (len(texts) == 1 and texts[0].lstrip().startswith("[")):
        values = [read_value(name, [text], _items(kind)) for text in texts]
        return frozenset(values) if typing.get_origin(kind) in (set, frozenset) else values
    if len(texts) > 1:
        raise misuse_error(f"{name} is given {len(texts)} times", "it takes one value")
    (text,) = texts
    if hint is not kind and text == "null":
        return None
    try:
        return msgspec.convert(text, kind, strict=False)
    except msgspec.ValidationError:
        try:
            return msgspec.json.decode(text.encode(), type=kind, strict=False)
        except msgspec.MsgspecError as problem:
            raise _unreadable(name, text, kind, problem) from None


def _bare(hint: Any) -> Any:
    """A type without its None."""
    if typing.get_origin(hint) in (typing.Union, types.UnionType):
        kinds = [argument for argument in typing.get_args(hint) if argument is not type(None)]
        return kinds[0] if len(kinds) == 1 else hint
    return hint


def _items(kind: Any) -> Any:
    """The type of the items of a list; None if it is not a list."""
    origin = typing.get_origin(kind)
    if isinstance(origin, type) and issubclass(origin, Sequence | set | frozenset):
        return typing.get_args(kind)[0]
    return None


def _unreadable(name: str, text: str, kind: Any, problem: Exception) -> InvalidArgumentError:
    short_text = text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"
    if values := _values(kind):
        near_value = suggest(text, values)
        message = f"{name}: `{short_text}` is not one of {', '.join(values)}"
        return misuse_error(
            message, f"did you mean {near_value}?" if near_value else f"write one of them: {name}={values[0]}"
        )
    if kind in _EXAMPLES:
        noun, _ = _EXAMPLES[kind]
        return misuse_error(f"{name}: `{short_text}` is not {noun}", f"write it as in {name}={_sample(kind)}")
    reason = str(problem) if isinstance(problem, msgspec.ValidationError) else f"`{short_text}` is not JSON, {problem}"
    return misuse_error(f"{name}: {reason}", f"it is {type_words(kind)}")


def _sample(hint: Any) -> str:
    kind = _bare(hint)
    if values := _values(kind):
        return values[0]
    if kind in _EXAMPLES:
        return _EXAMPLES[kind][1]
    return f"'{_object(kind)}'"


def _object(hint: Any) -> str:
    """A sample of the JSON for a parameter, with its required fields.

    >>> from dataclasses import dataclass
    >>> @dataclass
    ... class Seat:
    ...     slug: str
    ...     at: datetime
    ...     note: str = ""
    >>> _object(list[Seat])
    '[{"slug": "…", "at": "2026-01-15T10:30:00Z"}]'
    """
    kind = _bare(hint)
    if (inner := _items(kind)) is not None:
        return f"[{_object(inner)}]"
    if kind in (int, float, bool):
        return _sample(kind)
    if kind in _EXAMPLES or _values(kind):
        return f'"{_sample(kind)}"'
    hints = typing.get_type_hints(kind) if isinstance(kind, type) else {}
    pairs = [f'"{field.encode_name}": {_object(hints[field.name])}' for field in _fields(kind) if field.required]
    return f"{{{', '.join(pairs) or '…'}}}"


def _fields(kind: Any) -> Sequence[Any]:
    """The fields of an entity's class."""
    try:
        return tuple(msgspec.inspect.type_info(kind).fields)  # type: ignore[attr-defined]
    except (AttributeError, TypeError):
        return ()


def _values(kind: Any) -> list[str]:
    if typing.get_origin(kind) is Literal:
        return [str(value) for value in typing.get_args(kind)]
    return [str(member.value) for member in kind] if isinstance(kind, type) and issubclass(kind, Enum) else []


def type_words(hint: Any) -> str:
    """The type of a parameter in words.

    >>> type_words(int | None), type_words(list[str]), type_words(Literal["a", "b"])
    ('a whole number', 'a list, each a text', 'a or b')
    """
    kind = _bare(hint)
    if values := _values(kind):
        return " or ".join(values)
    if kind in _EXAMPLES:
        return _EXAMPLES[kind][0]
    if (inner := _items(kind)) is not None:
        return f"a list, each {type_words(inner)}"
    fields = [field.name for field in _fields(kind)]
    return f"a JSON object with {', '.join(fields)}" if fields else "JSON"


# --- Sample --------------------------------------------------------------------------------------------------------


def example(sample: SampleTable, pattern: Pattern, method: Method) -> dict[str, Any]:
    """Arguments for which a read finds something, or a write succeeds. Those that are not known are left out."""
    try:
        if isinstance(pattern, Read):
            inputs = read_cases(sample, BruteForce(pattern, sample.workload, sample.now))[0]
            return read_arguments(method, inputs, sample.now)
        operation = sample.design.operation(pattern.id)
        if not isinstance(pattern, Write) or operation is None:
            return {}
        case = build_case(sample, pattern, operation)
        ExpectedTable(sample).prepare(case)
        arguments = write_arguments(method, case, sample.package.record)
    except (NothingFitsError, LookupError, KeyValueError):
        return {}
    return {name: value for name, value in arguments.items() if value is not None}
