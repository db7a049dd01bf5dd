"""The shop as an AWS Lambda function, behind an HTTP API of API Gateway (payload format 2.0).

The routes of the service, by the same rules, over the repository that does not await. It takes the base install of
prejoin and nothing else; `sam.yaml` deploys it.
"""

from __future__ import annotations

import base64
import datetime as dt
from collections.abc import Callable
from dataclasses import asdict, replace
from functools import cache
from typing import Annotated, Any, TypeVar
from uuid import UUID

import msgspec
from prejoin import Client, Page, TableError, TransactionCancelled, TransportError

import place
from checkout import WholeOrder, check_step, is_repeated, new_order, new_user, repeated, whole
from forms import Basket, Destination, NewUser, Offer, Step, mail, text
from refusals import Refused, invalid, no_such, refusal
from shop.entities import Address, Order, OrderStatus, Product, User
from shop.repository import ShopRepository
from shop.schema import SCHEMA

T = TypeVar("T")
Moment = Annotated[dt.datetime, msgspec.Meta(tz=True)]


class Asked(msgspec.Struct, frozen=True):
    """What may stand behind the `?`."""

    email: str = ""
    status: OrderStatus | None = None
    since: Moment | None = None
    until: Moment | None = None
    after: str | None = None
    limit: Annotated[int, msgspec.Meta(ge=1, le=100)] | None = None


class Event(msgspec.Struct, frozen=True, rename="camel"):
    """A request, as API Gateway tells it."""

    route_key: str
    is_base64_encoded: bool
    path_parameters: dict[str, str] = {}
    query_string_parameters: Asked = Asked()
    headers: dict[str, str] = {}
    body: str = ""

    def named(self, name: str) -> str:
        """A part of the path."""
        return text(name, self.path_parameters[name])

    @property
    def user_id(self) -> UUID:
        return msgspec.convert(self.path_parameters["user_id"], UUID)

    @property
    def asked(self) -> Asked:
        return self.query_string_parameters

    def form(self, kind: type[T]) -> T:
        body = base64.b64decode(self.body) if self.is_base64_encoded else self.body
        return msgspec.json.decode(body, type=kind)


class Answer(msgspec.Struct, frozen=True):
    status: int
    body: Any = None
    headers: dict[str, str] = {}


@cache
def repository() -> ShopRepository:
    """One for all invocations of an instance, which share its connections.

    The function has ten seconds: enough to try three times, and to say what came of it.
    """
    way = place.place(timeout=2, connect_timeout=1, attempts=3)
    db = Client(SCHEMA, place.table(), way, cursors=place.cursors())
    if place.ours_to_make():
        db.create_table(if_absent=True)
    return ShopRepository(db)


def handler(event: dict[str, Any], context: object) -> dict[str, Any]:
    """What Lambda calls."""
    answer = answered(event)
    if answer.body is None:
        return {"statusCode": answer.status}
    headers = {"content-type": "application/json", **answer.headers}
    return {"statusCode": answer.status, "headers": headers, "body": msgspec.json.encode(answer.body).decode()}


def answered(told: dict[str, Any]) -> Answer:
    try:
        event = msgspec.convert(told, Event, strict=False)
        route = ROUTES.get(event.route_key)
        if route is None:
            raise Refused(404, "no_such_route", f"nothing is there for {event.route_key}")
        return route(repository(), event)
    except Refused as error:
        refused = error
    except (TableError, TransportError) as error:
        refused = refusal(error)
    except msgspec.ValidationError as error:
        refused = invalid(str(error))
    except (msgspec.DecodeError, UnicodeError):
        refused = Refused(400, "unreadable", "the body is no JSON")
    return Answer(refused.status, refused.body, refused.headers)


# People


def register(shop: ShopRepository, event: Event) -> Answer:
    user = new_user(event.form(NewUser))
    shop.register(user)
    return Answer(201, user, {"location": f"/users/{user.user_id}"})


def sign_in(shop: ShopRepository, event: Event) -> Answer:
    user = shop.sign_in_by_email(mail(event.asked.email))
    if user is None:
        raise no_such("user", event.asked.email)
    return Answer(200, user)


def profile(shop: ShopRepository, event: Event) -> Answer:
    user = shop.user_profile(event.user_id)
    if user is None:
        raise no_such("user", event.user_id)
    return Answer(200, user)


def account(shop: ShopRepository, event: Event) -> Answer:
    asked = event.asked
    found = shop.everything_about_user(event.user_id, limit=asked.limit or 50, after=asked.after)
    if not found.items and not asked.after:
        raise no_such("user", event.user_id)
    parts = {"user": found.one(User), "addresses": found.all(Address), "orders": found.all(Order)}
    return Answer(200, {**parts, "after": found.cursor})


def save_address(shop: ShopRepository, event: Event) -> Answer:
    profile(shop, event)  # users are never deleted: who is there now is there when the address is written
    address = Address(user_id=event.user_id, label=event.named("label"), **asdict(event.form(Destination)))
    shop.save_address(address)
    return Answer(200, address)


def remove_address(shop: ShopRepository, event: Event) -> Answer:
    shop.remove_address(event.user_id, event.named("label"))
    return Answer(204)


# Orders


def place_order(shop: ShopRepository, event: Event) -> Answer:
    basket = event.form(Basket)
    products = [shop.product_page(line.product_id) for line in basket.lines]
    new = new_order(event.user_id, basket, products, event.headers.get("idempotency-key"))
    location = {"location": f"/orders/{new.order.order_id}"}
    try:
        shop.place_order(new.order, new.items)
    except TransactionCancelled as error:
        if not is_repeated(error):
            raise
        return Answer(201, repeated(shop.order_with_items(new.order.order_id), new), location)
    return Answer(201, new, location)


def user_orders(shop: ShopRepository, event: Event) -> Answer:
    """Newest first: all, those in one status, or those of a period."""
    asked, user_id = event.asked, event.user_id
    limit, after = asked.limit or 20, asked.after
    if asked.status and (asked.since or asked.until):
        raise invalid("orders are listed by status or by period, not by both")
    if asked.status:
        return listed(shop.user_orders_in_one_status(user_id, asked.status, limit=limit, after=after))
    if asked.since or asked.until:
        first, last = asked.since or dt.datetime(1970, 1, 1, tzinfo=dt.UTC), asked.until or dt.datetime.now(dt.UTC)
        return listed(shop.user_orders_of_period(user_id, first, last, limit=limit, after=after))
    return listed(shop.user_orders(user_id, limit=limit, after=after))


def order_with_items(shop: ShopRepository, event: Event) -> Answer:
    return Answer(200, _order(shop, event))


def move_order_along(shop: ShopRepository, event: Event) -> Answer:
    order, status = _order(shop, event).order, event.form(Step).status
    check_step(order, status)
    shop.move_order_along(order.order_id, order.user_id, order.placed_at, order.status, status)
    return Answer(200, replace(order, status=status))


def cancel_order(shop: ShopRepository, event: Event) -> Answer:
    found = _order(shop, event)
    order, back = found.order, found.quantities
    if order.status == "CANCELLED":
        return Answer(200, order)  # asked again: what was in it has been returned
    check_step(order, "CANCELLED")
    shop.cancel_order(order.order_id, order.user_id, order.placed_at, [*back], [*back.values()])
    return Answer(200, replace(order, status="CANCELLED"))


def _order(shop: ShopRepository, event: Event) -> WholeOrder:
    order_id = event.named("order_id")
    return whole(order_id, shop.order_with_items(order_id))


# The shop's own people


def orders_in_one_status(shop: ShopRepository, event: Event) -> Answer:
    asked = event.asked
    if asked.status is None:
        raise invalid("status is missing")
    return listed(shop.all_orders_in_one_status(asked.status, limit=asked.limit or 50, after=asked.after))


def orders_of_last_7_days(shop: ShopRepository, event: Event) -> Answer:
    return listed(shop.orders_of_last_7_days(limit=event.asked.limit or 100, after=event.asked.after))


def product_page(shop: ShopRepository, event: Event) -> Answer:
    product = shop.product_page(event.named("product_id"))
    if product is None:
        raise no_such("product", event.named("product_id"))
    return Answer(200, product)


def add_or_change_product(shop: ShopRepository, event: Event) -> Answer:
    product = Product(product_id=event.named("product_id"), **asdict(event.form(Offer)))
    shop.add_or_change_product(product)
    return Answer(200, product)


def listed(page: Page[Order]) -> Answer:
    return Answer(200, {"items": page.items, "after": page.cursor})


ROUTES: dict[str, Callable[[ShopRepository, Event], Answer]] = {
    "POST /users": register,
    "GET /users": sign_in,
    "GET /users/{user_id}": profile,
    "GET /users/{user_id}/account": account,
    "PUT /users/{user_id}/addresses/{label}": save_address,
    "DELETE /users/{user_id}/addresses/{label}": remove_address,
    "POST /users/{user_id}/orders": place_order,
    "GET /users/{user_id}/orders": user_orders,
    "GET /orders/{order_id}": order_with_items,
    "PATCH /orders/{order_id}": move_order_along,
    "POST /orders/{order_id}/cancellation": cancel_order,
    "GET /admin/orders": orders_in_one_status,
    "GET /admin/orders/last-7-days": orders_of_last_7_days,
    "GET /products/{product_id}": product_page,
    "PUT /products/{product_id}": add_or_change_product,
}
