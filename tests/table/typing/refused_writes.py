"""Mistakes in writes that type checkers find. `test_typing` checks it; it is not run."""

# ruff: noqa: B018

from __future__ import annotations

from tests.table.typing.accepted_writes import Address, Product

from prejoin import AsyncClient, Changes, Client, add, appended


def objects(db: Client, product: Product) -> None:
    db.insert(product).total  # expect: error
    db.put(product, where=lambda p: p.stok > 3)  # expect: error
    db.put(product, where=lambda p: p.stock > "3")  # expect: error
    db.delete(Product, sku="1", returning="old").sku  # expect: error
    db.delete(Product, sku="1", returning="new")  # expect: error
    db.delete("Product", sku="1")  # expect: error


def drafts(db: Client) -> None:
    with db.update(Product, sku="1") as product:
        product.stok = 1  # expect: error
        product.stock = "1"  # expect: error
        product.stock = None  # expect: error
        product.stock = add(product.stock, "1")  # expect: error
        product.log = appended(product.log, [1])  # expect: error
        product.address = "Köln"  # expect: error
        product.address.town = "Köln"  # expect: error
        product.address.city = 7  # expect: error
        product.address = Address(7)  # expect: error
    with db.update(Product, sku="1", returning="newest") as product:  # expect: error
        pass
    with db.upsert(Product, sku="1", returning="old") as product:  # expect: error
        pass
    product.update  # expect: error


def data(db: Client) -> None:
    db.apply(Product, {"stock": 1}, sku="1")  # expect: error
    db.apply(Product, Changes({"stock": 1}), sku="1", returning="old").stock  # expect: error
    db.apply(Product, Changes({"stock": 1}), sku="1", returning="both")  # expect: error


def transactions(db: Client, product: Product) -> None:
    with db.transaction(token=7) as tx:  # expect: error
        tx.check(Product, sku="3", where=lambda p: p.stok > 0)  # expect: error
        tx.get(Product, sku="3")  # expect: error
        with tx.update(Product, sku="2") as other:
            other.stock = "none"  # expect: error


def batches(db: Client) -> None:
    db.put_many(7)  # expect: error
    db.delete_many(Product, 7)  # expect: error


async def awaited(db: AsyncClient, product: Product) -> None:
    db.insert(product).sku  # expect: error
    (await db.delete(Product, sku="1", returning="old")).sku  # expect: error
    with db.update(Product, sku="1") as draft:  # expect: error
        draft
    async with db.update(Product, sku="1") as draft:
        draft.stock = "1"  # expect: error
    with db.transaction() as tx:  # expect: error
        tx
