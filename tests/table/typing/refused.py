"""Mistakes that type checkers find. `test_typing` checks it; it is not run."""

# ruff: noqa: B018

from __future__ import annotations

from tests.table.typing.accepted import Line, Order, User

from prejoin import AsyncClient, Client, Get


def reads(db: Client) -> None:
    db.get(User, user_id="1").email  # expect: error
    db.query(Order, lambda o: o.totl > 3)  # expect: error
    db.query(Order, lambda o: o.total > "3")  # expect: error
    db.query(Order, user_id="1", filter=lambda o: o.note.upper)  # expect: error
    db.query(Order, user_id="1", limit="3")  # expect: error
    db.query(Order, user_id="1", into=Line)[0].note  # expect: error
    db.query(Order, user_id="1", into=3)  # expect: error
    db.query("Order", user_id="1")  # expect: error
    db.get_many(User, [{"user_id": "1"}])[0].email  # expect: error
    db.get_many(User, ["1"])  # expect: error
    user, order = db.get_together(Get(User, user_id="1"))  # expect: error
    db.collect((User, Order), user_id="1").one(User).email  # expect: error
    found: list[User] = list(db.query(Order, user_id="1"))  # expect: error
    for page in db.everything(User):
        page[0].total  # expect: error
    print(user, order, found)


async def awaited(db: AsyncClient) -> None:
    db.query(Order, user_id="1")[0]  # expect: error
    await db.query(Order, lambda o: o.totl > 3)  # expect: error
    (await db.get(User, user_id="1")).email  # expect: error
    (await db.query(Order, user_id="1", into=Line))[0].note  # expect: error
    for page in db.pages(Order, user_id="1"):  # expect: error
        print(page)
