"""Update blocks and transactions that are never entered warn, because they write nothing."""

from __future__ import annotations

import asyncio
import warnings
from dataclasses import dataclass

import pytest

from prejoin import AsyncClient, Client, Embedded, Entity, Key, Schema, SchemaError


@dataclass
class User:
    user_id: str
    name: str


SCHEMA = Schema(Entity(User, Key("USER#{user_id}", "PROFILE")))


def test_update_that_is_never_entered_warns() -> None:
    db = Client(SCHEMA, "app", Embedded())
    with pytest.warns(
        RuntimeWarning, match=r"db.update\(User, …\) wrote nothing, because it was never entered"
    ) as found:
        db.update(User, user_id="42")
    assert found[0].filename == __file__
    with pytest.warns(RuntimeWarning, match="never entered"):
        db.upsert(User, user_id="42")


def test_async_update_that_is_never_entered_warns() -> None:
    async def main() -> None:
        AsyncClient(SCHEMA, "app", Embedded()).update(User, user_id="42")

    with pytest.warns(RuntimeWarning, match="never entered"):
        asyncio.run(main())


def test_transaction_with_writes_that_is_never_entered_warns() -> None:
    db = Client(SCHEMA, "app", Embedded())
    with pytest.warns(RuntimeWarning, match=r"db.transaction\(\) wrote nothing"):
        db.transaction().insert(User("42", "Ann"))


def test_entered_or_refused_blocks_do_not_warn() -> None:
    db = Client(SCHEMA, "app", Embedded())
    db.create_table()
    db.insert(User("42", "Ann"))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with db.update(User, user_id="42") as user:
            user.name = "Bea"
        with db.transaction() as tx:
            tx.insert(User("43", "Cy"))
        db.transaction()  # nothing to write
        with pytest.raises(SchemaError):
            db.update(int, user_id="42")
