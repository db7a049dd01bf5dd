"""A lookup: which entities are read, by which attributes and in what order. It has no values."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property

import msgspec

from prejoin.keys.facet import When

RANGE_OPS = frozenset({"<", "<=", ">", ">=", "between", "begins_with"})


class Within(msgspec.Struct, frozen=True):
    """A range over one attribute, by operator."""

    attribute: str
    op: str


class Order(msgspec.Struct, frozen=True):
    """An attribute that the result is sorted by, or a derived value of it (`name:lower`).

    With an entity, only its items are sorted this way, among themselves.
    """

    attribute: str
    descending: bool = False
    entity: str = ""


class AttributeRole(msgspec.Struct, frozen=True):
    """An entity's own name for an attribute of the lookup: `user_id` may be the `id` of User."""

    entity: str
    name: str
    attribute: str


class Lookup(msgspec.Struct, frozen=True, dict=True):
    """A read by the names of its attributes only, so that the designer can plan without values.

    A name is an attribute, or an attribute with a spec (`email:lower`, `placed_at:day`) if the given value is equal
    only after the spec is applied.

    >>> Lookup.of("Order", equal=["user_id"], within=("placed_at", ">="), order=["-placed_at"]).order
    (Order(attribute='placed_at', descending=True, entity=''),)
    """

    entities: tuple[str, ...]
    equal: frozenset[str] = frozenset()
    """Attributes given with one value each."""
    constants: frozenset[tuple[str, object]] = frozenset()
    """Attributes whose value is already known. They count as given, and may imply a sparse facet."""
    within: Within | None = None
    order: tuple[Order, ...] = ()
    consistent: bool = False
    filtered: frozenset[str] = frozenset()
    """Given attributes that may be left to a filter, because the caller allowed it."""
    needs: frozenset[str] | None = None
    """The attributes needed in the result; None for all."""
    roles: tuple[AttributeRole, ...] = ()
    only: frozenset[When] = frozenset()
    """Further conditions of the result, by the entity's own attributes. Sparse facets meet them; filters test the
    rest, of the attributes in `filtered`."""
    optional: frozenset[str] = frozenset()
    """Attributes in `equal` that a caller may leave out: a plan holds whichever of them are given."""

    @classmethod
    def of(
        cls,
        *entities: str,
        equal: Iterable[str] = (),
        constants: Iterable[tuple[str, object]] = (),
        within: Within | tuple[str, str] | None = None,
        order: Iterable[str | Order] = (),
        consistent: bool = False,
        filtered: Iterable[str] = (),
        needs: Iterable[str] | None = None,
        roles: Iterable[AttributeRole | tuple[str, str, str]] = (),
        only: Iterable[When] = (),
        optional: Iterable[str] = (),
    ) -> Lookup:
        """A lookup from ordinary lists. An order may be text, with `-` before the attribute for descending."""
        return cls(
            entities,
            frozenset(equal),
            frozenset(constants),
            Within(*within) if isinstance(within, tuple) else within,
            tuple(_order(item) for item in order),
            consistent,
            frozenset(filtered),
            None if needs is None else frozenset(needs),
            tuple(AttributeRole(*role) if isinstance(role, tuple) else role for role in roles),
            frozenset(only),
            frozenset(optional),
        )

    @cached_property
    def given(self) -> frozenset[str]:
        return self.equal | {name for name, _ in self.constants}

    @cached_property
    def _names(self) -> dict[tuple[str, str], str]:
        return {(role.entity, role.attribute): role.name for role in self.roles}

    @cached_property
    def _attributes(self) -> dict[tuple[str, str], str]:
        return {(role.entity, role.name): role.attribute for role in self.roles}

    def name(self, entity: str, attribute: str) -> str:
        """The lookup's name for an entity's attribute."""
        return self._names.get((entity, attribute), attribute)

    def attribute(self, entity: str, name: str) -> str:
        """An entity's own name for an attribute of the lookup."""
        bare, colon, spec = name.partition(":")
        return self._attributes.get((entity, bare), bare) + colon + spec

    def __str__(self) -> str:
        criteria = sorted(self.equal) + [f"{name} = {value}" for name, value in sorted(self.constants, key=str)]
        if self.within:
            criteria.append(f"{self.within.attribute} {self.within.op}")
        criteria += sorted(map(str, self.only))
        text = " and ".join(self.entities) + (f" by {', '.join(criteria)}" if criteria else ", all of them")
        if self.order:
            text += " sorted by " + ", ".join(
                f"{item.attribute}{' descending' if item.descending else ''}" for item in self.order
            )
        return text + (", consistent" if self.consistent else "")


def _order(item: str | Order) -> Order:
    if isinstance(item, Order):
        return item
    return Order(item.removeprefix("-"), item.startswith("-"))
