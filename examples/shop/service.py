"""The shop as a web service: `SHOP_DB=shop.db uvicorn service:app`, then http://127.0.0.1:8000/docs.

Each route calls one or two methods of the generated repository. Authentication is not included: put your own in front.
"""

from __future__ import annotations

import asyncio
import datetime as dt
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import asdict, dataclass, replace
from typing import Annotated, Generic, TypeVar
from uuid import UUID

from fastapi import Depends, FastAPI, Header, Query, Request, Response
from fastapi.responses import JSONResponse
from prejoin import AsyncClient, Page, TableError, TransactionCancelled, TransportError
from pydantic import AwareDatetime

import place
from checkout import WholeOrder, check_step, existing_order, is_duplicate, new_order, new_user, whole_order
from errors import HttpError, http_error, invalid, not_found
from forms import Basket, Destination, NewUser, Offer, Step, mail, text
from shop.async_repository import AsyncShopRepository
from shop.entities import Address, Order, OrderStatus, Product, User
from shop.schema import SCHEMA

T = TypeVar("T")


@asynccontextmanager
async def lifespan(app: FastAPI) -> AsyncIterator[dict[str, AsyncShopRepository]]:
    async with AsyncClient(SCHEMA, place.table(), place.place(), cursors=place.cursors()) as db:
        if place.creates_table():
            await db.create_table(if_absent=True)
        yield {"shop": AsyncShopRepository(db)}


app = FastAPI(title="Shop", lifespan=lifespan)


def repository(request: Request) -> AsyncShopRepository:
    shop: AsyncShopRepository = request.state.shop
    return shop


Shop = Annotated[AsyncShopRepository, Depends(repository)]
After = Annotated[str | None, Query(description="the `after` of the previous page")]
Limit = Annotated[int, Query(ge=1, le=100)]


@app.exception_handler(HttpError)
async def handle_http_error(request: Request, error: HttpError) -> JSONResponse:
    return JSONResponse(error.body, error.status, error.headers)


@app.exception_handler(TableError)
@app.exception_handler(TransportError)
async def handle_table_error(request: Request, error: TableError | TransportError) -> JSONResponse:
    return await handle_http_error(request, http_error(error))


@dataclass
class ListResponse(Generic[T]):
    """A page of a list. `after` is the cursor of the next page, null on the last one."""

    items: Sequence[T]
    after: str | None


@dataclass
class Account:
    """A page of a user's account. The user is on the last page, because addresses and orders sort before it."""

    user: User | None
    addresses: Sequence[Address]
    orders: Sequence[Order]
    after: str | None


# Users


@app.post("/users", status_code=201)
async def register(form: NewUser, shop: Shop, response: Response) -> User:
    user = new_user(form)
    await shop.register(user)
    response.headers["location"] = f"/users/{user.user_id}"
    return user


@app.get("/users")
async def sign_in(email: str, shop: Shop) -> User:
    user = await shop.sign_in_by_email(mail(email))
    if user is None:
        raise not_found("user", email)
    return user


@app.get("/users/{user_id}")
async def profile(user_id: UUID, shop: Shop) -> User:
    user = await shop.user_profile(user_id)
    if user is None:
        raise not_found("user", user_id)
    return user


@app.get("/users/{user_id}/account")
async def account(user_id: UUID, shop: Shop, after: After = None, limit: Limit = 50) -> Account:
    found = await shop.everything_about_user(user_id, limit=limit, after=after)
    if not found.items and not after:
        raise not_found("user", user_id)
    return Account(found.one(User), found.all(Address), found.all(Order), found.cursor)


@app.put("/users/{user_id}/addresses/{label}")
async def save_address(user_id: UUID, label: str, form: Destination, shop: Shop) -> Address:
    await profile(user_id, shop)  # users are never deleted, so this user still exists when the address is written
    address = Address(user_id=user_id, label=text("label", label), **asdict(form))
    await shop.save_address(address)
    return address


@app.delete("/users/{user_id}/addresses/{label}", status_code=204)
async def remove_address(user_id: UUID, label: str, shop: Shop) -> None:
    await shop.remove_address(user_id, text("label", label))


# Orders


@app.post("/users/{user_id}/orders", status_code=201)
async def place_order(
    user_id: UUID,
    basket: Basket,
    shop: Shop,
    response: Response,
    idempotency_key: Annotated[str | None, Header()] = None,
) -> WholeOrder:
    products = await asyncio.gather(*(shop.product_page(line.product_id) for line in basket.lines))
    new = new_order(user_id, basket, products, idempotency_key)
    order_id = new.order.order_id
    response.headers["location"] = f"/orders/{order_id}"
    try:
        await shop.place_order(new.order, new.items)
    except TransactionCancelled as error:
        if not is_duplicate(error):
            raise
        return existing_order(await shop.order_with_items(order_id), new)
    return new


@app.get("/users/{user_id}/orders")
async def user_orders(
    user_id: UUID,
    shop: Shop,
    status: OrderStatus | None = None,
    since: AwareDatetime | None = None,
    until: AwareDatetime | None = None,
    after: After = None,
    limit: Limit = 20,
) -> ListResponse[Order]:
    """A user's orders, newest first: all, those in one status, or those of a period."""
    if status and (since or until):
        raise invalid("orders are listed by status or by period, not by both")
    if status:
        return list_response(await shop.user_orders_in_one_status(user_id, status, limit=limit, after=after))
    if since or until:
        first, last = since or dt.datetime(1970, 1, 1, tzinfo=dt.UTC), until or dt.datetime.now(dt.UTC)
        return list_response(await shop.user_orders_of_period(user_id, first, last, limit=limit, after=after))
    return list_response(await shop.user_orders(user_id, limit=limit, after=after))


@app.get("/orders/{order_id}")
async def order_with_items(order_id: str, shop: Shop) -> WholeOrder:
    return whole_order(order_id, await shop.order_with_items(text("order_id", order_id)))


@app.patch("/orders/{order_id}")
async def move_order_along(order_id: str, step: Step, shop: Shop) -> Order:
    order = (await order_with_items(order_id, shop)).order
    check_step(order, step.status)
    await shop.move_order_along(order_id, order.user_id, order.placed_at, order.status, step.status)
    return replace(order, status=step.status)


@app.post("/orders/{order_id}/cancellation")
async def cancel_order(order_id: str, shop: Shop) -> Order:
    found = await order_with_items(order_id, shop)
    order, back = found.order, found.quantities
    if order.status == "CANCELLED":
        return order  # a repeated request: the stock was returned before
    check_step(order, "CANCELLED")
    await shop.cancel_order(order_id, order.user_id, order.placed_at, [*back], [*back.values()])
    return replace(order, status="CANCELLED")


# Staff


@app.get("/admin/orders")
async def orders_in_one_status(
    status: OrderStatus, shop: Shop, after: After = None, limit: Limit = 50
) -> ListResponse[Order]:
    return list_response(await shop.all_orders_in_one_status(status, limit=limit, after=after))


@app.get("/admin/orders/last-7-days")
async def orders_of_last_7_days(shop: Shop, after: After = None, limit: Limit = 100) -> ListResponse[Order]:
    return list_response(await shop.orders_of_last_7_days(limit=limit, after=after))


@app.get("/products/{product_id}")
async def product_page(product_id: str, shop: Shop) -> Product:
    product = await shop.product_page(text("product_id", product_id))
    if product is None:
        raise not_found("product", product_id)
    return product


@app.put("/products/{product_id}")
async def add_or_change_product(product_id: str, offer: Offer, shop: Shop) -> Product:
    product = Product(product_id=text("product_id", product_id), **asdict(offer))
    await shop.add_or_change_product(product)
    return product


def list_response(page: Page[T]) -> ListResponse[T]:
    return ListResponse(page.items, page.cursor)
