"""A facet: one way an entity is keyed, in the table itself, in an index, or by a copy."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property

import msgspec

from prejoin.keys.planner.key_condition import MOST_PK_BYTES, MOST_SK_BYTES, KeyValue, checked_writer
from prejoin.keys.template.encoding import plain
from prejoin.keys.template.natural import Natural
from prejoin.keys.template.template import Template

KeyForm = Template | Natural
"""The form of a partition or sort key: text from a template, or attributes as they are."""

TABLE = "table"
"""The slot of the table itself. Other slots are global secondary indexes, named by their names."""


class When(msgspec.Struct, frozen=True):
    """A condition of a sparse facet: the attribute has a value, one of some `values`, or no value (`absent`).

    >>> str(When("assignee")), str(When("status", frozenset({"OPEN"}))), str(When("assignee", absent=True))
    ('assignee is present', 'status = OPEN', 'assignee is absent')
    """

    attribute: str
    values: frozenset[object] | None = None
    absent: bool = False

    def holds(self, item: Mapping[str, object]) -> bool:
        value = plain(item.get(self.attribute))
        if value is None or (isinstance(value, set | frozenset) and not value):  # DynamoDB has no empty set
            return self.absent
        return not self.absent and (self.values is None or value in self.values)

    def implies(self, other: When) -> bool:
        """Whether every item that meets this condition meets the other one.

        >>> When("status", frozenset({"OPEN"})).implies(When("status")), When("status").implies(When("assignee"))
        (True, False)
        """
        if self.attribute != other.attribute or self.absent != other.absent:
            return False
        return other.values is None or (self.values is not None and self.values <= other.values)

    def __str__(self) -> str:
        if self.absent:
            return f"{self.attribute} is absent"
        if self.values is None:
            return f"{self.attribute} is present"
        return f"{self.attribute} = {' or '.join(sorted(map(str, self.values)))}"


class Facet(msgspec.Struct, frozen=True, dict=True):
    """One way an entity is keyed. In the table a key identifies one item; in an index several items may share one."""

    entity: str
    slot: str
    pk: KeyForm
    sk: KeyForm | None = None
    when: tuple[When, ...] = ()
    """The conditions of a sparse facet: all must hold for an item to be in it. Empty: every item is."""
    copy: str = ""
    """The name of the copy whose items these are; empty for the entity's own items."""
    holds: frozenset[str] | None = None
    """The attributes that are available besides the keys; None for all."""
    local: bool = False
    """Whether the slot is a local secondary index, which can be read consistently."""
    write_only: bool = False
    """Whether no read uses it: some items do not have its keys yet, or may not have them any more."""
    tag: str = ""
    """The type tag of the copy's items, if not `<entity>.<copy>`."""

    @cached_property
    def attributes(self) -> tuple[str, ...]:
        """The attributes that its keys are made of."""
        return tuple(dict.fromkeys(self.pk.attributes + (self.sk.attributes if self.sk else ())))

    @cached_property
    def readable(self) -> frozenset[str]:
        """The attributes that can be read back from its keys. A bucket or shard cannot: it is only derived from its
        attribute.
        """
        names: set[str] = set()
        for form in (self.pk, self.sk):
            if isinstance(form, Natural):
                names.update(form.attributes)
            elif form is not None:
                names.update(field.attribute for field in form.fields if not field.encoding.derived)
        return frozenset(names)

    @cached_property
    def key_attributes(self) -> frozenset[str]:
        """The attributes that are its keys as they are. DynamoDB refuses a filter by them."""
        return frozenset(name for form in (self.pk, self.sk) if isinstance(form, Natural) for name in form.attributes)

    @cached_property
    def placing(self) -> tuple[str, ...]:
        """The attributes that decide whether an item is in the facet, and where."""
        return tuple(dict.fromkeys((*self.attributes, *(when.attribute for when in self.when))))

    def has(self, item: Mapping[str, object]) -> bool:
        """Whether an item with these values is in the facet."""
        return all(when.holds(item) for when in self.when)

    def key(self, values: Mapping[str, object]) -> tuple[KeyValue, KeyValue | None]:
        """The partition key and sort key of an item with these values."""
        return self.pk_of(values), self.sk_of(values)

    @cached_property
    def pk_of(self) -> Callable[[Mapping[str, object]], KeyValue]:
        """The function from an item's values to its partition key, compiled once."""
        return key_writer(self.pk, "partition key", MOST_PK_BYTES)

    @cached_property
    def sk_of(self) -> Callable[[Mapping[str, object]], KeyValue | None]:
        """The function from an item's values to its sort key, compiled once."""
        return key_writer(self.sk, "sort key", MOST_SK_BYTES) if self.sk else lambda values: None

    def __str__(self) -> str:
        key = f"{self.pk} / {self.sk}" if self.sk else str(self.pk)
        copy = f", copy {self.copy}" if self.copy else ""
        when = f", when {' and '.join(map(str, self.when))}" if self.when else ""
        return f"{self.entity} in {self.slot}: {key}{copy}{when}"


def key_writer(form: KeyForm, label: str, limit: int) -> Callable[[Mapping[str, object]], KeyValue]:
    """The function from values to a key that DynamoDB accepts."""
    return checked_writer(form.writer, label, limit) if isinstance(form, Template) else form.writer
