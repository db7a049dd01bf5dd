"""Writes that type checkers accept, with the types of their results. `test_typing` checks it; it is not run."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime
from typing import assert_type

from prejoin import AsyncClient, AsyncTransaction, Changes, Client, Transaction, add, appended, if_absent


@dataclass
class Address:
    city: str
    zip: str | None = None


@dataclass
class Product:
    sku: str
    stock: int = 0
    price: float = 0.0
    color: str | None = None
    tags: set[str] = field(default_factory=set)
    log: list[str] = field(default_factory=list)
    address: Address = field(default_factory=lambda: Address("Bonn"))
    seen: datetime | None = None


@dataclass
class Basket:
    basket_id: str
    total: int = 0


def objects(db: Client, product: Product) -> None:
    assert_type(db.insert(product), Product)
    assert_type(db.put(product), Product)
    assert_type(db.put(product, was=product), Product)
    db.put(product, where=lambda p: (p.stock > 3) | (p.color == "red"))
    assert_type(db.delete(Product, sku="1"), None)
    assert_type(db.delete(Product, sku="1", returning="old"), Product | None)
    db.delete(Product, sku="1", where=lambda p: p.stock == 0)


def drafts(db: Client, now: datetime) -> None:
    with db.update(Product, sku="1", where=lambda p: p.stock >= 1) as product:
        assert_type(product, Product)
        product.stock -= 1
        product.stock = add(product.stock, 2)
        product.color = None
        product.color = if_absent(product.color, "red")
        product.log = appended(product.log, ["sold"])
        product.tags |= {"hot"}
        product.address.city = "Köln"
        product.address.zip = None
        product.seen = now
    update = db.update(Product, sku="1", returning="new")
    with update as product:
        product.price = 1.5
    assert_type(update.result, Product)
    with db.upsert(Basket, basket_id="1") as basket:
        basket.total = add(basket.total, 5)


def data(db: Client) -> None:
    assert_type(db.apply(Product, Changes({"stock": 1}), sku="1"), None)
    assert_type(db.apply(Product, Changes(adds={"stock": 1}), sku="1", returning="new"), Product)
    assert_type(db.apply(Product, Changes({"stock": 1}), sku="1", returning="old"), Product | None)
    assert_type(db.apply(Basket, Changes({"total": 1}), basket_id="1", upsert=True), None)


def transactions(db: Client, product: Product) -> None:
    with db.transaction(token="monday") as tx:
        assert_type(tx, Transaction)
        assert_type(tx.insert(Basket("1")), Basket)
        tx.put(product)
        with tx.update(Product, sku="2") as other:
            other.stock -= 1
        tx.check(Product, sku="3", where=lambda p: p.stock > 0)
        tx.delete(Basket, basket_id="2")


def batches(db: Client, products: Iterator[Product], operations: list[int]) -> None:
    assert_type(db.put_many(products, progress=operations.append), int)
    assert_type(db.put_many([Basket("1"), Product("2")]), int)
    assert_type(db.delete_many(Product, products), int)
    assert_type(db.delete_many(Product, [{"sku": "1"}]), int)


async def awaited(db: AsyncClient, product: Product) -> None:
    assert_type(await db.insert(product), Product)
    assert_type(await db.put(product, where=lambda p: p.stock > 3), Product)
    assert_type(await db.delete(Product, sku="1", returning="old"), Product | None)
    assert_type(await db.apply(Product, Changes({"stock": 1}), sku="1"), None)
    assert_type(await db.apply(Product, Changes({"stock": 1}), sku="1", returning="new"), Product)
    update = db.update(Product, sku="1", returning="old")
    async with update as draft:
        assert_type(draft, Product)
        draft.address.city = "Köln"
    assert_type(update.result, Product)
    async with db.transaction() as tx:
        assert_type(tx, AsyncTransaction)
        tx.insert(Basket("1"))
        with tx.update(Product, sku="2") as other:
            other.stock = add(other.stock, 1)
    assert_type(await db.put_many([product]), int)
