"""Counted and Summed: an attribute of a parent that holds the number, or a sum, of its children."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from prejoin.table.errors import SchemaError
from prejoin.table.schema.bind import BoundEntity
from prejoin.table.schema.pattern import BoundPattern, Pattern

from .contribution import CountCondition, ParentAggregate
from .sharded import MOST_SHARDS, ShardedAggregate


@dataclass(frozen=True)
class Counted(Pattern):
    """An attribute of a parent that holds the number of its children.

    The parent is found by the attributes of its key, which the children have with the same names, or with those in
    `by`: `by={"user_id": "buyer_id"}`. A child whose attribute is None has no parent. With `when`, a child counts only
    while the condition is true. A missing parent raises NotFound; with `create=True` it is created.

    The count changes in the same transaction as the child. A write that changes it needs the current values of the
    attributes that decide: pass them, or `read=True`. In one transaction, several changes of a parent are one addition.
    Only this pattern can write the attribute, and a parent with children cannot be deleted. `insert_many`, `put_many`
    and `delete_many` use transactions, with one addition for all children of a parent.

    Cost: an insert or delete costs 4 write units instead of 1 (two items of up to 1 KB in a transaction); an update
    that does not change the count costs nothing more. A parent takes about 500 such writes per second. For more,
    `shards` spreads the count over items beside the parent: each write adds to one of them, and `total` reads all with
    one request. Then the parent has no attribute for it, and is not checked.

    >>> from dataclasses import dataclass
    >>> from prejoin.engine import Embedded
    >>> from prejoin import Client, Entity, Key, Schema
    >>> @dataclass
    ... class User:
    ...     user_id: str
    ...     orders: int = 0
    >>> @dataclass
    ... class Order:
    ...     user_id: str
    ...     order_id: str
    >>> schema = Schema(
    ...     Entity(User, Key("USER#{user_id}", "USER")),
    ...     Entity(Order, Key("USER#{user_id}", "ORDER#{order_id}"), patterns=[Counted(User, "orders")]),
    ... )
    >>> db = Client(schema, "shop", Embedded())
    >>> db.create_table()
    >>> _ = db.insert(User("42")), db.insert(Order("42", "a")), db.insert(Order("42", "b"))
    >>> db.delete(Order, user_id="42", order_id="a")
    >>> db.get(User, user_id="42")
    User(user_id='42', orders=1)
    >>> db.insert(Order("43", "c"))
    Traceback (most recent call last):
    prejoin.NotFound: there is no User user_id='43'
    """

    parent: type[Any]
    attribute: str
    when: CountCondition = None
    by: Mapping[str, str] = field(default_factory=dict)
    create: bool = False
    shards: int = 0

    def bind(self, entity: BoundEntity[Any]) -> BoundPattern:
        if not self.shards:
            return ParentAggregate(self.create, entity, self.parent, self.attribute, "", self.when, self.by)
        return _bind_sharded(entity, self, "")


@dataclass(frozen=True)
class Summed(Pattern):
    """An attribute of a parent that holds the sum of an attribute `of` its children. None counts as 0.

    It works as `Counted`. An update by an amount (`order.total += 5`) needs no current value; one to a value does. Both
    attributes must be int, or both Decimal, because sums of floats are not exact.
    """

    parent: type[Any]
    attribute: str
    of: str
    when: CountCondition = None
    by: Mapping[str, str] = field(default_factory=dict)
    create: bool = False
    shards: int = 0

    def bind(self, entity: BoundEntity[Any]) -> BoundPattern:
        entity.codec.attribute(self.of)
        if not self.shards:
            return ParentAggregate(self.create, entity, self.parent, self.attribute, self.of, self.when, self.by)
        return _bind_sharded(entity, self, self.of)


def _bind_sharded(entity: BoundEntity[Any], pattern: Counted | Summed, summed_name: str) -> ShardedAggregate:
    if pattern.create:
        raise SchemaError(f"{entity.tag}, {pattern.attribute}: a count in shards needs no parent. Leave out create")
    if not 2 <= pattern.shards <= MOST_SHARDS:
        raise SchemaError(
            f"{entity.tag}, {pattern.attribute}: shards is {pattern.shards}, and must be from 2 to {MOST_SHARDS}"
        )
    return ShardedAggregate(
        pattern.shards, entity, pattern.parent, pattern.attribute, summed_name, pattern.when, pattern.by
    )
