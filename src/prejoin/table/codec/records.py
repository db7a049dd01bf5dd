"""The fields of dataclasses, msgspec Structs and pydantic models, in one form."""

from __future__ import annotations

import sys
import typing
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import msgspec

from prejoin.table.errors import SchemaError


class Default(msgspec.Struct, frozen=True):
    """The default of a field: a value, or a factory."""

    value: Any = None
    factory: Callable[[], Any] | None = None

    def __call__(self) -> Any:
        return self.value if self.factory is None else self.factory()


class Field(msgspec.Struct, frozen=True):
    """One field of a record."""

    name: str
    hint: Any
    wire: str
    """Its name in the table, as the class declares it."""
    required: bool
    """Whether the constructor requires it."""
    default: Default | None = None
    """Its default; None if it is required."""
    parameter: str = ""
    """Its name in the constructor, if different."""
    positional: bool = False
    """Whether the constructor accepts it by position."""
    records_given_fields: bool = False
    """Whether the object records which fields were given, so that absent attributes must not be given."""


def is_record(hint: Any) -> bool:
    return isinstance(hint, type) and (
        hasattr(hint, "__dataclass_fields__") or issubclass(hint, msgspec.Struct) or _is_model(hint)
    )


def fields_of(record: Any) -> Iterator[Field]:
    """Yield the fields of a class.

    >>> class User(msgspec.Struct, rename="camel"):
    ...     user_id: str
    ...     name: str = "?"
    >>> [(field.name, field.wire, field.required) for field in fields_of(User)]
    [('user_id', 'userId', True), ('name', 'name', False)]
    """
    if not is_record(record):
        raise SchemaError(f"{record!r} is not a dataclass, msgspec Struct or pydantic model")
    if _is_model(record):
        return _model_fields(record)
    hints = typing.get_type_hints(record, include_extras=True)
    if issubclass(record, msgspec.Struct):
        return _struct_fields(record, hints)
    return _dataclass_fields(record, hints)


def _dataclass_fields(record: Any, hints: dict[str, Any]) -> Iterator[Field]:
    import dataclasses  # a program with dataclasses has imported it

    missing = dataclasses.MISSING
    items = [item for item in dataclasses.fields(record) if item.init]
    code = getattr(record.__init__, "__code__", None)
    in_order = code is not None and code.co_varnames[1 : code.co_argcount] == tuple(item.name for item in items)
    for item in items:
        default = None
        if item.default_factory is not missing:
            default = Default(factory=item.default_factory)
        elif item.default is not missing:
            default = Default(item.default)
        yield Field(item.name, hints[item.name], item.name, default is None, default, positional=in_order)


def _struct_fields(record: type[msgspec.Struct], hints: dict[str, Any]) -> Iterator[Field]:
    in_order = record.__match_args__ == record.__struct_fields__
    for item in msgspec.structs.fields(record):
        default = None
        if item.default_factory is not msgspec.NODEFAULT:
            default = Default(factory=item.default_factory)
        elif item.default is not msgspec.NODEFAULT:
            default = Default(item.default)
        yield Field(item.name, hints[item.name], item.encode_name, default is None, default, positional=in_order)


def _is_model(hint: Any) -> bool:
    # A program with models has imported pydantic; others must not load it.
    pydantic = sys.modules.get("pydantic")
    return pydantic is not None and isinstance(hint, type) and issubclass(hint, pydantic.BaseModel)


def _model_fields(model: Any) -> Iterator[Field]:
    by_name = model.model_config.get("populate_by_name") or model.model_config.get("validate_by_name")
    for name, item in model.model_fields.items():
        hint = typing.Annotated[(item.annotation, *item.metadata)] if item.metadata else item.annotation
        parameter = name if by_name else item.validation_alias or item.alias or name
        if not isinstance(parameter, str):
            raise SchemaError(
                f"{model.__name__}.{name} is validated by {parameter}. Give it one alias, or set populate_by_name"
            )
        wire = item.serialization_alias or item.alias or name
        default = None if item.is_required() else Default(factory=partial(_default, item))
        yield Field(name, hint, wire, default is None, default, parameter, records_given_fields=True)


def _default(item: Any) -> Any:
    # A default that depends on other fields is not known here.
    return None if item.default_factory_takes_validated_data else item.get_default(call_default_factory=True)
