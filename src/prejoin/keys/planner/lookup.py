"""A question about keys, without values: which entities, by which attributes, in what order."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property

import msgspec

RANGE_OPS = frozenset({"<", "<=", ">", ">=", "between", "begins_with"})


class Within(msgspec.Struct, frozen=True):
    """A range over one attribute, by operator."""

    attribute: str
    op: str


class Order(msgspec.Struct, frozen=True):
    """An attribute the answer is sorted by, or what a spec makes of it (`name:lower`).

    With an entity, only its items are sorted so, among themselves.
    """

    attribute: str
    descending: bool = False
    entity: str = ""


class AttributeRole(msgspec.Struct, frozen=True):
    """What an entity calls the attribute that is asked by `name`: for User, `user_id` may be its `id`."""

    entity: str
    name: str
    attribute: str


class Lookup(msgspec.Struct, frozen=True, dict=True):
    """What is asked: names only, so that a designer can ask before there is any value.

    A name is an attribute, or an attribute with a spec (`email:lower`, `placed_at:day`) where what is given
    is equal only after the spec is applied.

    >>> Lookup.of("Order", equal=["user_id"], within=("placed_at", ">="), order=["-placed_at"]).order
    (Order(attribute='placed_at', descending=True, entity=''),)
    """

    entities: tuple[str, ...]
    equal: frozenset[str] = frozenset()
    """Attributes given with one value each."""
    constants: frozenset[tuple[str, object]] = frozenset()
    """Attributes whose value is known already now. They are given, too, and may imply a sparse facet."""
    within: Within | None = None
    order: tuple[Order, ...] = ()
    consistent: bool = False
    filtered: frozenset[str] = frozenset()
    """Given attributes that may be left to a filter, because the caller said so."""
    needs: frozenset[str] | None = None
    """The attributes wanted in the answer; None: all of them."""
    roles: tuple[AttributeRole, ...] = ()

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
    ) -> Lookup:
        """An ask from ordinary lists; an order may be text, with `-` before an attribute for descending."""
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
        """What the ask calls an entity's attribute."""
        return self._names.get((entity, attribute), attribute)

    def attribute(self, entity: str, name: str) -> str:
        """What an entity calls the attribute that the ask calls `name`."""
        bare, colon, spec = name.partition(":")
        return self._attributes.get((entity, bare), bare) + colon + spec

    def __str__(self) -> str:
        by = sorted(self.equal) + [f"{name} = {value}" for name, value in sorted(self.constants, key=str)]
        if self.within:
            by.append(f"{self.within.attribute} {self.within.op}")
        text = " and ".join(self.entities) + (f" by {', '.join(by)}" if by else ", all of them")
        if self.order:
            text += " sorted by " + ", ".join(
                f"{item.attribute}{' descending' if item.descending else ''}" for item in self.order
            )
        return text + (", consistent" if self.consistent else "")


def _order(item: str | Order) -> Order:
    if isinstance(item, Order):
        return item
    return Order(item.removeprefix("-"), item.startswith("-"))
