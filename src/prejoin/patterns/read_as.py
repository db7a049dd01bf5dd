"""A renamed member of an enum: items hold it under its old or its new name, for the time between two designs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from msgspec.structs import replace

from prejoin.table.codec.structs import or_none, through
from prejoin.table.codec.values import Json, ValueCodec
from prejoin.table.errors import SchemaError
from prejoin.table.schema.bind import BoundEntity
from prejoin.table.schema.pattern import BoundPattern, Pattern
from prejoin.types import Kind


@dataclass(frozen=True)
class ReadAs(Pattern):
    """Words in the table that are read as members of an enum, although the enum does not have them.

    It is for the time between two designs: `prejoin evolve` writes it into the code of a change that renames a member.
    Conditions and filters accept both words, and a query by the member reads both keys of an index. Writes only write
    the member. The attribute is in no key of the table, of a copy or of a unique value.

    Cost: a second query, where the attribute is in the key of an index.

    >>> from dataclasses import make_dataclass
    >>> from typing import Literal
    >>> from prejoin.engine import Embedded
    >>> from prejoin import Client, Entity, Key, Schema
    >>> Order = make_dataclass("Order", [("order_id", str), ("status", Literal["OPEN", "PAID"])])
    >>> key = Key("ORDER#{order_id}", "ORDER")
    >>> db = Client(Schema(Entity(Order, key, patterns=[ReadAs("status", {"DONE": "PAID"})])), "shop", Embedded())
    >>> db.create_table()
    >>> item = {"pk": {"S": "ORDER#1"}, "sk": {"S": "ORDER"}, "entityType": {"S": "Order"}}
    >>> _ = db.call("PutItem", {"Item": {**item, "order_id": {"S": "1"}, "status": {"S": "DONE"}}})
    >>> db.get(Order, order_id="1")
    Order(order_id='1', status='PAID')
    """

    attribute: str
    words: Mapping[str, str]
    """The words, each with the member that it is read as."""

    @property
    def storage(self) -> Mapping[str, Callable[[ValueCodec], ValueCodec]]:
        return {self.attribute: self._with_words}

    def _with_words(self, value: ValueCodec) -> ValueCodec:
        members = value.type.values
        if value.type.kind is not Kind.ENUM or not {*self.words.values()} <= {*members} or {*self.words} & {*members}:
            raise SchemaError(f"ReadAs({self.attribute!r}, …) maps words that are no members of the enum to members")

        def decode(json: Json) -> Any:
            member = self.words.get(json.get("S", ""))
            return value.decode(json if member is None else {"S": member})

        def read(word: str) -> Any:
            return value.decode({"S": self.words.get(word, word)})

        wire = through(read, "S")
        return replace(
            value,
            # Keys of indexes may have these words, too. `encode` does not accept them.
            type=replace(value.type, values=(*members, *self.words)),
            decode=decode,
            wire=or_none(wire) if value.optional else wire,
            other_words={member: word for word, member in self.words.items()},
        )

    def bind(self, entity: BoundEntity[Any]) -> BoundPattern:
        if self.attribute in entity.base.attributes:
            raise SchemaError(f"{entity.tag}.{self.attribute} is part of the key, so its members have one name each")
        for facet in entity.indexes.values():
            if facet.sk and self.attribute in facet.pk.attributes and self.attribute in facet.sk.attributes:
                # A write that changes the sort key only would leave the other word in the partition key.
                raise SchemaError(
                    f"{entity.tag}.{self.attribute} is twice in a key of {facet.slot}: keep it in one part"
                )
        return BoundPattern()
