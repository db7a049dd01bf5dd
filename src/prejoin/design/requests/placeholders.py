"""The placeholders of expressions, and where their values come from."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Literal

import msgspec

from prejoin.keys.template.encoding import encode_datetime
from prejoin.protocol.expressions.nodes import DocumentPath, Placeholder
from prejoin.types import Kind
from prejoin.workload.constants import constant
from prejoin.workload.model import Attribute, Entity


@dataclass(frozen=True, slots=True)
class InputSource:
    """An input of the pattern, or an attribute of an object that it is given."""

    name: str
    is_negative: bool = False
    in_seconds: bool = False
    """Whether a moment is stored as the seconds since 1970, as a TTL attribute is."""


@dataclass(frozen=True, slots=True)
class ConstantSource:
    """A value that is always the same, as it is stored."""

    text: str
    type_tag: Literal["S", "N", "BOOL", "SS", "NS", "L"] = "S"
    """Its type in DynamoDB: `S`, `N`, `BOOL`; `SS`, `NS` and `L` for a set or list with this element."""


@dataclass(frozen=True, slots=True)
class RoomSource:
    """The bound of a number less what is added to it, or plus what is taken away: `100 - quantity`."""

    bound: int
    sign: str
    input: str


@dataclass(frozen=True, slots=True)
class EmptyListSource:
    """An empty list."""


class TimeForm(StrEnum):
    """How a moment is stored."""

    MOMENT = "moment"
    """As text, as a datetime is."""
    SECOND = "second"
    """As text of whole seconds, in an attribute of strings."""
    DATE = "date"
    """As text, without the time of day."""
    EPOCH = "epoch"
    """As the number of seconds since 1970, as a TTL attribute is."""


@dataclass(frozen=True, slots=True)
class TimeSource:
    """The time of the call, with some seconds more or less."""

    seconds: int = 0
    form: TimeForm = TimeForm.MOMENT


@dataclass(frozen=True, slots=True)
class KeySource:
    """A text made of a key template."""

    template: str
    optional: tuple[str, ...] = ()
    """Attributes that the caller may leave out: the text then ends before the first of them."""


@dataclass(frozen=True, slots=True)
class StoredSource:
    """The value of an attribute as the caller knows it, or as it was read or found before."""

    attribute: str


@dataclass(frozen=True, slots=True)
class OwnerSource:
    """The key of the item that has a unique value, as a map."""

    pk: str
    sk: str


Source = (
    InputSource | ConstantSource | RoomSource | EmptyListSource | TimeSource | KeySource | StoredSource | OwnerSource
)


class Placeholders:
    """The placeholders of one expression or of all expressions of one item: `#status`, `:status`."""

    def __init__(self, entity: Entity | None = None) -> None:
        self.names: dict[str, str] = {}
        self.values: dict[str, Source] = {}
        self._entity = entity
        self._are_elements = False

    def of(self, entity: Entity | None) -> Placeholders:
        """The same placeholders, for attributes of another entity."""
        placeholders = Placeholders(entity)
        placeholders.names, placeholders.values = self.names, self.values
        return placeholders

    def of_elements(self) -> Placeholders:
        """The same placeholders, for constants that are elements of lists and sets."""
        placeholders = self.of(self._entity)
        placeholders._are_elements = True
        return placeholders

    def _attribute(self, name: str) -> Attribute | None:
        return self._entity.attribute(name) if self._entity else None

    def constant(self, text: str, name: str) -> ConstantSource:
        """A constant of the document, as the attribute of that name stores it."""
        attribute = self._attribute(name)
        if self._are_elements and attribute is not None and attribute.type.of is not None:
            attribute = msgspec.structs.replace(attribute, type=attribute.type.of)
        return stored_constant(text, attribute)

    def time_form(self, name: str) -> TimeForm:
        """How the attribute of that name stores a moment."""
        attribute = self._attribute(name)
        if attribute is None:
            return TimeForm.MOMENT
        if attribute.ttl or attribute.type.numeric:
            return TimeForm.EPOCH
        if attribute.type.kind is Kind.DATE:
            return TimeForm.DATE
        return TimeForm.SECOND if attribute.type.kind is Kind.STRING else TimeForm.MOMENT

    def is_moment_in_seconds(self, name: str) -> bool:
        """Whether the attribute of that name has moments, and stores them as the seconds since 1970."""
        attribute = self._attribute(name)
        return attribute is not None and attribute.ttl and attribute.type.kind is Kind.DATETIME

    def path(self, attribute: str) -> DocumentPath:
        return DocumentPath(tuple(self._name(step) for step in attribute.split(".")))

    def _name(self, attribute: str) -> str:
        for placeholder, name in self.names.items():
            if name == attribute:
                return placeholder
        placeholder = _free(f"#{_word(attribute)}", self.names)
        self.names[placeholder] = attribute
        return placeholder

    def value(self, source: Source, name: str) -> Placeholder:
        """The placeholder of a value; `name` is what it is called if nothing else is."""
        for placeholder, other_source in self.values.items():
            if other_source == source:
                return Placeholder(placeholder)
        placeholder = _free(f":{_word(name)}", self.values)
        self.values[placeholder] = source
        return Placeholder(placeholder)


def stored_constant(text: str, attribute: Attribute | None) -> ConstantSource:
    """A constant of a document as an attribute stores it.

    >>> from prejoin.types import Type
    >>> stored_constant("7", Attribute("stock", Type(Kind.INTEGER)))
    ConstantSource(text='7', type_tag='N')
    """
    if attribute is None:
        return ConstantSource(text)
    type_ = attribute.type
    if type_.kind is Kind.DATETIME:
        moment = constant(text, type_)
        assert isinstance(moment, datetime)
        if attribute.ttl:
            return ConstantSource(str(int(moment.timestamp())), "N")
        return ConstantSource(encode_datetime(moment))
    if type_.kind is Kind.BOOLEAN:
        return ConstantSource(text.lower(), "BOOL")
    if type_.kind is Kind.SET:
        return ConstantSource(text, "NS" if type_.of is not None and type_.of.numeric else "SS")
    if type_.kind is Kind.LIST:
        return ConstantSource(text, "L")
    return ConstantSource(text, "N" if type_.numeric else "S")


def _word(name: str) -> str:
    return re.sub(r"\W", "_", name, flags=re.ASCII)


def _free(name: str, used_names: Mapping[str, object]) -> str:
    """A name that is not used yet, with numbers behind it if necessary: `:status`, `:status2`, `:status3`."""
    free_name, number = name, 2
    while free_name in used_names:
        free_name, number = f"{name}{number}", number + 1
    return free_name
