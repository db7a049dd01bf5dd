"""`NextForm`: what the next design of a table requires of each write."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest
from tests.place import fresh

from prejoin import Client, CodecError, Entity, Key, NextForm, Schema, SchemaError, if_absent


@dataclass
class User:
    user_id: str
    nick: str | None = None
    score: int = 0


def users(*forms: NextForm) -> Client:
    schema = Schema(Entity(User, Key("USER#{user_id}", "USER"), patterns=forms))
    client = Client(schema, "users", fresh())
    client.create_table()
    return client


def write(client: Client, verb: str, value: Any) -> None:
    """Writes the nick of the user 1 by a verb. The user exists before an update."""
    match verb:
        case "insert":
            client.insert(User("1", value))
        case "put":
            client.put(User("1", value))
        case "put_many":
            client.put_many([User("1", value)])
        case "update":
            client.insert(User("1", "OLD"))
            with client.update(User, user_id="1") as user:
                user.nick = value
        case "upsert":
            with client.upsert(User, user_id="1") as user:
                user.score = 1
                if value is not None:
                    user.nick = value
        case "upsert if absent":
            with client.upsert(User, user_id="1") as user:
                user.nick = if_absent(user.nick, value)
        case "transaction":
            with client.transaction() as transaction:
                transaction.insert(User("1", value))


def nick(client: Client) -> str | None:
    user = client.get(User, user_id="1")
    assert user is not None
    return user.nick


VERBS = ("insert", "put", "put_many", "update", "upsert", "transaction")


@pytest.mark.parametrize("verb", VERBS)
def test_required_attribute_is_never_left_out(verb: str) -> None:
    client = users(NextForm("nick", required=True))
    with pytest.raises(CodecError, match=r"User\.nick is None, and the next design of the table requires it"):
        write(client, verb, None)
    found = client.get(User, user_id="1")
    assert found is None or found.nick == "OLD"
    client = users(NextForm("nick", required=True))
    write(client, verb, "a")
    assert nick(client) == "a"


@pytest.mark.parametrize("verb", VERBS)
def test_default_is_written_instead_of_none(verb: str) -> None:
    client = users(NextForm("nick", required=True, default="?"))
    write(client, verb, None)
    assert client.call("Scan")["Items"][0]["nick"] == {"S": "?"}


@pytest.mark.parametrize("verb", [*VERBS, "upsert if absent"])
def test_only_values_of_the_next_design_are_written(verb: str) -> None:
    client = users(NextForm("nick", values=frozenset({"a", "OLD"})))
    with pytest.raises(CodecError, match=r"User\.nick is 'b', and the next design of the table accepts only OLD, a"):
        write(client, verb, "b")
    client = users(NextForm("nick", values=frozenset({"a", "OLD"})))
    write(client, verb, "a")
    assert nick(client) == "a"


def test_default_of_an_upsert_does_not_replace_a_stored_value() -> None:
    client = users(NextForm("nick", required=True, default="?"))
    client.insert(User("1", "a"))
    with client.upsert(User, user_id="1") as user:
        user.score = 2
    assert client.get(User, user_id="1") == User("1", "a", 2)


def test_stored_items_are_read_whatever_the_next_design_says() -> None:
    client = users(NextForm("nick", required=True, values=frozenset({"a"})))
    plain = Client(Schema(Entity(User, Key("USER#{user_id}", "USER"))), "users", client._transport)
    plain.insert(User("1"))
    assert client.get(User, user_id="1") == User("1")
    with client.update(User, user_id="1") as user:
        user.score = 5
    client.delete(User, user_id="1")
    assert client.get(User, user_id="1") is None


def test_attribute_of_the_key_is_refused() -> None:
    with pytest.raises(SchemaError, match=r"User\.user_id is part of the key"):
        users(NextForm("user_id", required=True))
