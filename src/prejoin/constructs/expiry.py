"""Expiry: an item has expired when the time in its `ttl` attribute has passed, and DynamoDB deletes it some time later.

    - `expiresAt` (datetime, ttl)

Until DynamoDB has deleted it, the client does as if it had: reads leave an expired item out, updates and checks do not
find it, and a create replaces it. The client adds these tests to its requests by itself, so that operations do not list
them, and every index and copy holds the attribute.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from prejoin.constructs.construct import DeclaredConstruct, SchemaCall
from prejoin.design.model import Design
from prejoin.types import Kind
from prejoin.workload.model import Absence, AnyOf, Attribute, Comparison, Entity, Op, Test, Value

EXPIRY = 2_592_000
"""Seconds until an item is assumed to expire: 30 days."""
_MOMENTS = frozenset({Kind.DATETIME, Kind.INTEGER, Kind.NUMBER, Kind.DECIMAL})
"""Types of a TTL attribute: a time, or the seconds since 1970. DynamoDB ignores others."""
_TIME_SINCE_EXPIRY = timedelta(hours=1)
"""The time since which the hidden items of a proof have expired."""


def expiry_of(entity: Entity) -> Expiry | None:
    """The expiry of an entity, by the flag of an attribute."""
    attribute = next((attribute for attribute in entity.attributes if attribute.ttl), None)
    return Expiry(entity, attribute) if attribute is not None else None


@dataclass(frozen=True, slots=True)
class Expiry(DeclaredConstruct):
    """The expiry of an entity's items. It is at work in a design whose TTL attribute is that of the entity."""

    attribute: Attribute

    def _is_in(self, design: Design) -> bool:
        return self.attribute.name == design.ttl_attribute and self.attribute.type.kind in _MOMENTS

    # The document

    def counter_obstacle(self, number: str) -> str:
        return f"a {self.entity.name} expires, and the shards of `{number}` would stay"

    # Reads and writes

    @property
    def held_names(self) -> frozenset[str]:
        return frozenset({self.attribute.name})

    def present(self, design: Design) -> Test | None:
        if not self._is_in(design):
            return None
        name = self.attribute.name
        later = Comparison(attribute=name, op=Op.GT, values=(Value(now=0),))
        return AnyOf((Absence(attribute=name), later))

    def vacant(self, design: Design) -> Test | None:
        if not self._is_in(design):
            return None
        return Comparison(attribute=self.attribute.name, op=Op.LE, values=(Value(now=0),))

    # The design

    @property
    def ending(self) -> Attribute:
        return self.attribute

    @property
    def retention(self) -> int:
        return EXPIRY

    # Renderings

    def schema_calls(self, design: Design, twins: Iterable[str]) -> Iterator[SchemaCall]:
        if self._is_in(design):
            yield SchemaCall("TimeToLive", (self.attribute.name,))

    def presence_words(self, entities: str, design: Design) -> str:
        if not self._is_in(design):
            return ""
        return f"Expired items of {entities} count as absent: the client compares the time."

    def expiry_words(self) -> str:
        name = self.attribute.name
        return f"DynamoDB deletes each {self.entity.name} some time after its `{name}`; no request is needed."

    # The proof

    @property
    def hidden_words(self) -> str:
        return "has expired"

    def is_hidden(self, values: Mapping[str, Any], now: datetime) -> bool:
        end = values.get(self.attribute.name)
        if end is None:
            return False
        seconds = end.timestamp() if isinstance(end, datetime) else end
        return int(seconds) <= int(now.timestamp())

    def hidden_values(self, values: Mapping[str, Any], now: datetime) -> Mapping[str, Any]:
        end = now.replace(microsecond=0) - _TIME_SINCE_EXPIRY
        is_time = self.attribute.type.kind is Kind.DATETIME
        return {**values, self.attribute.name: end if is_time else int(end.timestamp())}
