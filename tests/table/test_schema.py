"""Schemas: what is accepted, and what is refused when a schema is built."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

import msgspec
import pytest
from tests.place import fresh

from prejoin import Client, Copy, Entity, Index, Key, Schema, SchemaError, Unique, UnknownAttribute, exists, one_of
from prejoin.keys import KeyValueError, When


@dataclass
class User:
    user_id: str
    email: str
    name: str | None = None


@dataclass
class Order:
    user_id: str
    order_id: str
    placed_at: datetime
    status: Literal["PENDING", "SHIPPED", "DONE"]
    count: int = 0


@dataclass
class Flag:
    flag_id: str
    on: bool = False
    count: str = ""


USER = Key("USER#{user_id}", "PROFILE")
ORDER = Key("USER#{user_id}", "ORDER#{order_id}")


def order(**options: Any) -> Entity[Order]:
    return Entity(Order, ORDER, **options)


def test_the_key_of_an_item_is_made_of_its_attributes() -> None:
    schema = Schema(Entity(User, USER), order(), pk="PK", sk="SK")
    assert schema.key(Order, user_id="4#2", order_id="7") == {"PK": {"S": "USER#4$232"}, "SK": {"S": "ORDER#7"}}
    with pytest.raises(UnknownAttribute, match="Order has no attribute orderid; did you mean order_id"):
        schema.key(Order, user_id="4", orderid="7")


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (
            lambda: Schema(Entity(User, USER), Entity(Order, Key("USER#{order_id}", "PROFILE"))),
            "could have the same key",
        ),
        (lambda: Schema(Entity(User, Key("U#{user_id}", "{name}"))), "the key in the table cannot have `when`"),
        (lambda: Schema(Entity(User, Key("U#{id}", "X"))), "User, key template 'U#{id}': there is no attribute id"),
        (
            lambda: Schema(Entity(User, USER), Entity(Order, Key("ORDER#{order_id}"))),
            "DynamoDB needs it for all keys, or for none",
        ),
        (
            lambda: Schema(order(indexes={"gsi1": Key("A", "B")})),
            "Order has a key for index gsi1, which the schema does",
        ),
        (lambda: Schema(Entity(User, USER), indexes=[Index("gsi1")]), "index gsi1 needs a pk attribute"),
        (lambda: Schema(Entity(User, USER), pk="email"), "User.email is named email in the table"),
        (lambda: Schema(Entity(User, USER, names={"name": "email"})), "two attributes with the name email"),
        (lambda: Schema(Entity(User, USER), Entity(User, Key("V#{user_id}", "X"))), "the same class or the same tag"),
        (lambda: Schema(Entity(User, Key("U#{user_id:shard(4)}", "X"))), "only in a derived form"),
        (lambda: Schema(order(), indexes=[Index("by-mail", pk="mail")]), "mail is missing"),
        (lambda: Schema(order(), indexes=[Index("by", pk=("status", "status"))]), "names an attribute twice"),
        (lambda: Schema(order(), indexes=[Index("by", pk=tuple("abcde"))]), "more than four attributes"),
        (
            lambda: Schema(order(indexes={"by": Key("A", "B")}), indexes=[Index("by", pk=("status", "count"))]),
            "an entity cannot have a key template for it",
        ),
        (
            lambda: Schema(order(), indexes=[Index("by", pk="count"), Index("by", pk="status")]),
            "index names must be unique",
        ),
        (lambda: Schema(order(), indexes=[Index("table", pk="count")]), "none can be table"),
        (lambda: Schema(Entity(Flag, Key("F#{flag_id}", "F")), indexes=[Index("on", pk="on")]), "on is a boolean"),
        (
            lambda: Schema(Entity(Flag, Key("F#{flag_id}", "F")), order(), indexes=[Index("by", pk="count")]),
            "count is a number for .*Order in by.* and text for|count is text for .*Flag in by",
        ),
        (
            lambda: Schema(
                order(indexes={"g": Key("{status}", "{count}", when=lambda o: o.status == "DONE")}),
                indexes=[Index("g", pk="status", sk="count")],
            ),
            "`when` cannot change that",
        ),
        (lambda: Schema(order(), indexes=[Index("l", local=True)]), "each need a sort key"),
        (lambda: Schema(order(), indexes=[Index("l", pk="status", sk="count", local=True)]), "Leave out pk"),
        (lambda: Schema(order(), indexes=[Index("l", sk=("status", "count"), local=True)]), "only a global index"),
        (
            lambda: Schema(order(indexes={"l": Key("A", "B")}), indexes=[Index("l", local=True)]),
            "its partition key is",
        ),
        (
            lambda: Schema(Entity(User, USER, indexes={"g": Key("N#{name?}", "U")}), indexes=[Index("g")]),
            "it cannot be missing",
        ),
        (
            lambda: Schema(Entity(User, USER, indexes={"g": Key("A", "U#{email?}")}), indexes=[Index("g")]),
            "email is not optional",
        ),
        (lambda: Schema(Entity(User, Key("U#{user_id}", "N#{name?}"))), "name is in the key of the table"),
        (
            lambda: Schema(Entity(User, USER, indexes={"g": Key("A", "{name?}")}), indexes=[Index("g")]),
            "it would be empty",
        ),
        (lambda: Schema(Entity(User, USER), ttl="email"), "a time to live is a number of seconds"),
        (
            lambda: Schema(Entity(Order, Key("{status}", "{order_id}")), Entity(User, Key("DONE", "{user_id}"))),
            "Order in table.*User in table.*could have the same key.*such as USER#",
        ),
        (
            lambda: Schema(
                Entity(User, Key("{user_id}", "X"), patterns=[Copy("by", Key("EMAIL#{email}", "{user_id}"))]),
                pk="user_id",
            ),
            "User.user_id is named user_id in the table",
        ),
        (
            lambda: Schema(order(patterns=[Copy("by-id", Key("USER#{user_id}", "ORDER#{order_id}"))])),
            "could have the same key",
        ),
        (
            lambda: Schema(order(indexes={"g": Key("A", "B", when=lambda o: o.count > 3)}), indexes=[Index("g")]),
            "cannot decide which items are in an index",
        ),
        (
            lambda: Schema(Entity(User, Key("UNIQUE#User#email#{user_id}", "UNIQUE"), patterns=[Unique("email")])),
            "the same key",
        ),
    ],
)
def test_a_schema_that_could_lose_or_mix_up_items_is_refused(build: Any, message: str) -> None:
    with pytest.raises(SchemaError, match=message.replace("{", "[{]").replace("?", "[?]")):
        build()


def test_an_index_shares_the_attributes_of_the_table_only_with_the_same_texts() -> None:
    inverted = Index("inverted", pk="sk", sk="pk")
    schema = Schema(order(indexes={"inverted": Key("ORDER#{order_id}", "USER#{user_id}")}), indexes=[inverted])
    assert schema.key(Order, user_id="4", order_id="7") == {"pk": {"S": "USER#4"}, "sk": {"S": "ORDER#7"}}
    with pytest.raises(SchemaError, match="the key attribute sk has one value in an item"):
        Schema(order(indexes={"inverted": Key("STATUS#{status}", "USER#{user_id}")}), indexes=[inverted])
    with pytest.raises(SchemaError, match="the key attribute pk has one value in an item"):
        Schema(order(indexes={"other": Key("ORDER#{order_id}", "X")}), indexes=[Index("other", pk="pk", sk="osk")])


def test_a_schema_has_a_type_attribute() -> None:
    with pytest.raises(SchemaError, match="no type attribute"):
        Schema(order(), type_attribute="")


def test_membership_is_declared_by_a_condition() -> None:
    def when(condition: Any) -> tuple[When, ...]:
        schema = Schema(order(indexes={"g": Key("A", "{placed_at}", when=condition)}), indexes=[Index("g")])
        return next(facet.when for facet in schema.facets if facet.slot == "g")

    assert when(lambda o: o.status != "DONE") == (When("status", frozenset({"PENDING", "SHIPPED"})),)
    assert when(lambda o: one_of(o.status, ["DONE"])) == (When("status", frozenset({"DONE"})),)
    assert when(lambda o: (o.status == "DONE") & exists(o.count)) == (
        When("status", frozenset({"DONE"})),
        When("count"),
    )
    assert when([When("count")]) == (When("count"),)


def test_an_optional_attribute_in_an_index_key_makes_it_sparse() -> None:
    schema = Schema(Entity(User, USER, indexes={"g": Key("NAME#{name}", "U")}), indexes=[Index("g")])
    assert [facet.when for facet in schema.facets if facet.slot == "g"] == [(When("name"),)]


def test_enum_values_exclude_collisions() -> None:
    user = Entity(User, Key("USER", "{user_id}"))
    schema = Schema(Entity(Order, Key("{status}", "{order_id}")), user)  # no status is USER
    assert schema.read_key("USER", "1") == (User, {"user_id": "1"})
    with pytest.raises(SchemaError, match="could have the same key"):  # an id can be USER
        Schema(Entity(Order, Key("{user_id}", "{order_id}")), user)


def test_a_key_is_read_back_as_its_entity_and_values() -> None:
    schema = Schema(
        Entity(User, USER, patterns=[Unique("email")]),
        order(patterns=[Copy("by-status", Key("STATUS#{status}", "{order_id}"))]),
    )
    assert schema.read_key("USER#4$232", "ORDER#7") == (Order, {"user_id": "4#2", "order_id": "7"})
    assert schema.read_key("USER#1", "PROFILE") == (User, {"user_id": "1"})
    with pytest.raises(KeyValueError, match=r"is not the key of an entity's own item; it is one of Order.*by-status"):
        schema.read_key("STATUS#DONE", "7")
    with pytest.raises(KeyValueError, match="'USER#1', 'X' is not the key of an entity's own item; they have User"):
        schema.read_key("USER#1", "X")


def test_a_schema_prints_as_its_key_map() -> None:
    schema = Schema(
        Entity(User, USER, patterns=[Unique("email")]),
        order(
            indexes={"gsi1": Key("OPEN", "{placed_at}", when=lambda o: o.status != "DONE")},
            patterns=[Copy("by-id", Key("ORDER#{order_id}", "ORDER"))],
        ),
        indexes=[Index("gsi1"), Index("by-status", pk="status", sk=("count", "placed_at"))],
    )
    assert str(schema).splitlines() == [
        "entity             in         partition key              sort key           when",
        "User               table      USER#{user_id}             PROFILE",
        "User unique email  table      UNIQUE#User#email#{email}  UNIQUE",
        "Order              table      USER#{user_id}             ORDER#{order_id}",
        "Order              gsi1       OPEN                       {placed_at}        status = PENDING or SHIPPED",
        "Order              by-status  status                     count + placed_at",
        "Order, copy by-id  table      ORDER#{order_id}           ORDER",
        "Order, copy by-id  by-status  status                     count + placed_at",
    ]


def test_the_table_is_created_as_the_schema_says() -> None:
    schema = Schema(
        Entity(User, USER),
        order(indexes={"gsi1": Key("STATUS#{status}", "{placed_at}")}),
        indexes=[Index("gsi1", projection=["status"]), Index("email-index", pk="email")],
    )
    engine = fresh()
    Client(schema, "shop", engine).create_table()
    described = msgspec.json.format(engine.send("DescribeTable", b'{"TableName": "shop"}'), indent=-1).decode()
    for text in ("gsi1pk", "gsi1sk", "email-index", '"NonKeyAttributes":["entityType","status"]', "PAY_PER_REQUEST"):
        assert text in described
