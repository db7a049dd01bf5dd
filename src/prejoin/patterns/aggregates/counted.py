"""How many, and how much: numbers of an item's children, kept in the item by the writes that change them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from prejoin.table.errors import SchemaError
from prejoin.table.schema.bind import Bound
from prejoin.table.schema.pattern import BoundPattern, Pattern

from .contribution import Kept, When
from .sharded import MOST_SHARDS, Sharded


@dataclass(frozen=True)
class Counted(Pattern):
    """An attribute of a parent that holds how many of these items it has.

    The parent is found by the attributes of its key, which the items have by the same names, or as `by` says:
    `by={"user_id": "buyer_id"}`. With `when`, an item counts only while that is true; one without a parent (None) does
    not. The parent has to be there, or the write is a NotFound and nothing is written; with `create=True` it is made.

    The count changes in the same transaction as the item: on insert, on delete, on a put or an update that changes what
    decides. What a write has to know of the old item is given to it and checked, or read (`read=True`). Several in one
    transaction are one addition, also to a parent that is written there itself. Nobody else can write the attribute,
    and a parent that has children is not deleted. `insert_many`, `put_many` and `delete_many` go in transactions, in
    which all children of one parent are one addition.

    Cost: an insert or delete is 4 write units where it was 1 (two items up to 1 KB, each twice in a transaction); an
    update that changes nothing of it costs nothing. Each parent takes some 500 of these writes in a second, of which
    those that meet wait for each other: for more, `shards` spreads the count over so many items beside the parent, of
    which a write adds to one; `total` reads them in one request. Then there is no attribute, and the parent is not
    looked at.

    >>> from dataclasses import dataclass
    >>> from prejoin.engine import Embedded
    >>> from prejoin.table import Client, Entity, Key, Schema
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
    when: When = None
    by: Mapping[str, str] = field(default_factory=dict)
    create: bool = False
    shards: int = 0

    def bind(self, entity: Bound[Any]) -> BoundPattern:
        if not self.shards:
            return Kept(self.create, entity, self.parent, self.attribute, "", self.when, self.by)
        return _sharded(entity, self, "")


@dataclass(frozen=True)
class Summed(Pattern):
    """An attribute of a parent that holds the sum of an attribute `of` these items; what is None counts for nothing.

    All that is said of `Counted` is true of it. An update by an amount (`order.total += 5`) needs no old value; one to
    a value does. Both numbers are int, or both are Decimal: floats do not add up.
    """

    parent: type[Any]
    attribute: str
    of: str
    when: When = None
    by: Mapping[str, str] = field(default_factory=dict)
    create: bool = False
    shards: int = 0

    def bind(self, entity: Bound[Any]) -> BoundPattern:
        entity.codec.attribute(self.of)
        if not self.shards:
            return Kept(self.create, entity, self.parent, self.attribute, self.of, self.when, self.by)
        return _sharded(entity, self, self.of)


def _sharded(entity: Bound[Any], said: Counted | Summed, of: str) -> Sharded:
    if said.create:
        raise SchemaError(
            f"{entity.tag}, {said.attribute}: with shards no parent is needed, so none is made: leave out create"
        )
    if not 2 <= said.shards <= MOST_SHARDS:
        raise SchemaError(f"{entity.tag}, {said.attribute} is spread over 2 to {MOST_SHARDS} shards, not {said.shards}")
    return Sharded(said.shards, entity, said.parent, said.attribute, of, said.when, said.by)
