"""The shop as an AWS Lambda function, behind an HTTP API of API Gateway (payload format 2.0).

It has the routes and rules of the service, with the synchronous repository, and needs the base install of prejoin
only. `sam.yaml` deploys it.
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
from checkout import WholeOrder, check_step, existing_order, is_duplicate, new_order, new_user, whole_order
from errors import HttpError, http_error, invalid, not_found
from forms import Basket, Destination, NewUser, Offer, Step, mail, text
from shop.entities import Address, Order, OrderStatus, Product, User
from shop.repository import ShopRepository
from shop.schema import SCHEMA

T = TypeVar("T")
Moment = Annotated[dt.datetime, msgspec.Meta(tz=True)]


class QueryParameters(msgspec.Struct, frozen=True):
    """The query string of any route."""

    email: str = ""
    status: OrderStatus | None = None
    since: Moment | None = None
    until: Moment | None = None
    after: str | None = None
    limit: Annotated[int, msgspec.Meta(ge=1, le=100)] | None = None


class Event(msgspec.Struct, frozen=True, rename="camel"):
    """A request from API Gateway."""

    route_key: str
    is_base64_encoded: bool
    path_parameters: dict[str, str] = {}
    query_string_parameters: QueryParameters = QueryParameters()
    headers: dict[str, str] = {}
    body: str = ""

    def path_parameter(self, name: str) -> str:
        """A parameter of the path, validated."""
        return text(name, self.path_parameters[name])

    @property
    def user_id(self) -> UUID:
        return msgspec.convert(self.path_parameters["user_id"], UUID)

    @property
    def query(self) -> QueryParameters:
        return self.query_string_parameters

    def form(self, kind: type[T]) -> T:
        body = base64.b64decode(self.body) if self.is_base64_encoded else self.body
        return msgspec.json.decode(body, type=kind)


class Response(msgspec.Struct, frozen=True):
    status: int
    body: Any = None
    headers: dict[str, str] = {}


@cache
def repository() -> ShopRepository:
    """The repository. All invocations of an instance share it and its connections.

    The function's timeout is ten seconds: enough for three attempts and an error response.
    """
    transport = place.place(timeout=2, connect_timeout=1, attempts=3)
    db = Client(SCHEMA, place.table(), transport, cursors=place.cursors())
    if place.creates_table():
        db.create_table(if_absent=True)
    return ShopRepository(db)


def handler(event: dict[str, Any], context: object) -> dict[str, Any]:
    """The entry point of the function."""
    response = respond(event)
    if response.body is None:
        return {"statusCode": response.status}
    headers = {"content-type": "application/json", **response.headers}
    return {"statusCode": response.status, "headers": headers, "body": msgspec.json.encode(response.body).decode()}


def respond(raw: dict[str, Any]) -> Response:
    try:
        event = msgspec.convert(raw, Event, strict=False)
        route = ROUTES.get(event.route_key)
        if route is None:
            raise HttpError(404, "no_such_route", f"nothing is there for {event.route_key}")
        return route(repository(), event)
    except HttpError as error:
        problem = error
    except (TableError, TransportError) as error:
        problem = http_error(error)
    except msgspec.ValidationError as error:
        problem = invalid(str(error))
    except (msgspec.DecodeError, UnicodeError):
        problem = HttpError(400, "unreadable", "the body is no JSON")
    return Response(problem.status, problem.body, problem.headers)


# Users


def register(shop: ShopRepository, event: Event) -> Response:
    user = new_user(event.form(NewUser))
    shop.register(user)
    return Response(201, user, {"location": f"/users/{user.user_id}"})


def sign_in(shop: ShopRepository, event: Event) -> Response:
    user = shop.sign_in_by_email(mail(event.query.email))
    if user is None:
        raise not_found("user", event.query.email)
    return Response(200, user)


def profile(shop: ShopRepository, event: Event) -> Response:
    user = shop.user_profile(event.user_id)
    if user is None:
        raise not_found("user", event.user_id)
    return Response(200, user)


def account(shop: ShopRepository, event: Event) -> Response:
    query = event.query
    found = shop.everything_about_user(event.user_id, limit=query.limit or 50, after=query.after)
    if not found.items and not query.after:
        raise not_found("user", event.user_id)
    parts = {"user": found.one(User), "addresses": found.all(Address), "orders": found.all(Order)}
    return Response(200, {**parts, "after": found.cursor})


def save_address(shop: ShopRepository, event: Event) -> Response:
    profile(shop, event)  # users are never deleted, so this user still exists when the address is written
    address = Address(user_id=event.user_id, label=event.path_parameter("label"), **asdict(event.form(Destination)))
    shop.save_address(address)
    return Response(200, address)


def remove_address(shop: ShopRepository, event: Event) -> Response:
    shop.remove_address(event.user_id, event.path_parameter("label"))
    return Response(204)


# Orders


def place_order(shop: ShopRepository, event: Event) -> Response:
    basket = event.form(Basket)
    products = [shop.product_page(line.product_id) for line in basket.lines]
    new = new_order(event.user_id, basket, products, event.headers.get("idempotency-key"))
    location = {"location": f"/orders/{new.order.order_id}"}
    try:
        shop.place_order(new.order, new.items)
    except TransactionCancelled as error:
        if not is_duplicate(error):
            raise
        return Response(201, existing_order(shop.order_with_items(new.order.order_id), new), location)
    return Response(201, new, location)


def user_orders(shop: ShopRepository, event: Event) -> Response:
    """A user's orders, newest first: all, those in one status, or those of a period."""
    query, user_id = event.query, event.user_id
    limit, after = query.limit or 20, query.after
    if query.status and (query.since or query.until):
        raise invalid("orders are listed by status or by period, not by both")
    if query.status:
        return list_response(shop.user_orders_in_one_status(user_id, query.status, limit=limit, after=after))
    if query.since or query.until:
        first, last = query.since or dt.datetime(1970, 1, 1, tzinfo=dt.UTC), query.until or dt.datetime.now(dt.UTC)
        return list_response(shop.user_orders_of_period(user_id, first, last, limit=limit, after=after))
    return list_response(shop.user_orders(user_id, limit=limit, after=after))


def order_with_items(shop: ShopRepository, event: Event) -> Response:
    return Response(200, _order(shop, event))


def move_order_along(shop: ShopRepository, event: Event) -> Response:
    order, status = _order(shop, event).order, event.form(Step).status
    check_step(order, status)
    shop.move_order_along(order.order_id, order.user_id, order.placed_at, order.status, status)
    return Response(200, replace(order, status=status))


def cancel_order(shop: ShopRepository, event: Event) -> Response:
    found = _order(shop, event)
    order, back = found.order, found.quantities
    if order.status == "CANCELLED":
        return Response(200, order)  # a repeated request: the stock was returned before
    check_step(order, "CANCELLED")
    shop.cancel_order(order.order_id, order.user_id, order.placed_at, [*back], [*back.values()])
    return Response(200, replace(order, status="CANCELLED"))


def _order(shop: ShopRepository, event: Event) -> WholeOrder:
    order_id = event.path_parameter("order_id")
    return whole_order(order_id, shop.order_with_items(order_id))


# Staff


def orders_in_one_status(shop: ShopRepository, event: Event) -> Response:
    query = event.query
    if query.status is None:
        raise invalid("status is missing")
    return list_response(shop.all_orders_in_one_status(query.status, limit=query.limit or 50, after=query.after))


def orders_of_last_7_days(shop: ShopRepository, event: Event) -> Response:
    return list_response(shop.orders_of_last_7_days(limit=event.query.limit or 100, after=event.query.after))


def product_page(shop: ShopRepository, event: Event) -> Response:
    product = shop.product_page(event.path_parameter("product_id"))
    if product is None:
        raise not_found("product", event.path_parameter("product_id"))
    return Response(200, product)


def add_or_change_product(shop: ShopRepository, event: Event) -> Response:
    product = Product(product_id=event.path_parameter("product_id"), **asdict(event.form(Offer)))
    shop.add_or_change_product(product)
    return Response(200, product)


def list_response(page: Page[Order]) -> Response:
    return Response(200, {"items": page.items, "after": page.cursor})


ROUTES: dict[str, Callable[[ShopRepository, Event], Response]] = {
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
