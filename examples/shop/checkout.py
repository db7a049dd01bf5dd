"""The rules of the shop, without HTTP and without a table: new orders, repeated orders, status changes."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from decimal import Decimal
from uuid import UUID, uuid4, uuid5

from prejoin import AlreadyExists, Collection, TransactionCancelled, ulid

from errors import HttpError, busy, not_found
from forms import Basket, NewUser, text
from shop.entities import Order, OrderItem, OrderStatus, Product, User

NEXT: dict[OrderStatus, OrderStatus] = {"PENDING": "PAID", "PAID": "SHIPPED", "SHIPPED": "DELIVERED"}
"""The status after each status. An order that was delivered or cancelled keeps its status."""


@dataclass(kw_only=True)
class WholeOrder:
    """An order with its items."""

    order: Order
    items: list[OrderItem]

    @property
    def quantities(self) -> dict[str, int]:
        """The quantity of each product, by its id."""
        return {item.product_id: item.quantity for item in self.items}


def new_user(form: NewUser) -> User:
    return User(user_id=uuid4(), email=form.email, name=form.name, created_at=_now(), order_count=0)


def new_order(user_id: UUID, basket: Basket, products: Sequence[Product | None], key: str | None) -> WholeOrder:
    """Makes an order at the current titles and prices. `products` are in the order of the basket's lines."""
    order_id = _order_id(user_id, key)
    items = []
    for line, product in zip(basket.lines, products, strict=True):
        if product is None:
            raise HttpError(422, "no_such_product", f"there is no product {line.product_id}")
        items.append(
            OrderItem(
                order_id=order_id,
                product_id=line.product_id,
                title=product.name,
                unit_price=product.price,
                quantity=line.quantity,
            )
        )
    order = Order(
        order_id=order_id,
        user_id=user_id,
        placed_at=_now(),
        status="PENDING",
        total=sum((item.unit_price * item.quantity for item in items), Decimal(0)),
        ship_to=asdict(basket.ship_to),
    )
    return WholeOrder(order=order, items=items)


def is_duplicate(error: TransactionCancelled) -> bool:
    """Whether an order was refused because it exists."""
    return any(isinstance(failure, AlreadyExists) for failure in error.failures)


def existing_order(found: Collection, wanted: WholeOrder) -> WholeOrder:
    """The existing order with the same id. Raises an `HttpError` if its contents are not those of the request."""
    order = found.one(Order)
    if order is None:
        raise busy()  # a concurrent request placed it, and an eventually consistent read does not find it yet
    existing = WholeOrder(order=order, items=found.all(OrderItem))
    if existing.quantities != wanted.quantities or order.ship_to != wanted.order.ship_to:
        raise HttpError(422, "key_used", "this Idempotency-Key was used for another order")
    return existing


def whole_order(order_id: str, found: Collection) -> WholeOrder:
    """The order in the result of a read. Raises an `HttpError` if there is none."""
    order = found.one(Order)
    if order is None:
        raise not_found("order", order_id)
    return WholeOrder(order=order, items=found.all(OrderItem))


def check_step(order: Order, status: OrderStatus) -> None:
    """Raises an `HttpError` for a status that cannot follow. The condition of the write handles concurrent changes."""
    if not (order.status in ("PENDING", "PAID") if status == "CANCELLED" else NEXT.get(order.status) == status):
        raise HttpError(409, "wrong_status", f"an order that is {order.status} does not become {status}")


def _order_id(user_id: UUID, key: str | None) -> str:
    """The id of a new order: a ULID, or a hash of the user and the Idempotency-Key.

    With a key, a repeated request finds the existing order at any time. The token of a transaction expires after ten
    minutes, and requires an identical request, including its time.
    """
    if key is None:
        return ulid()
    bits = uuid5(user_id, text("Idempotency-Key", key)).int
    return "".join("0123456789ABCDEFGHJKMNPQRSTVWXYZ"[bits >> shift & 31] for shift in range(125, -1, -5))


def _now() -> dt.datetime:
    return dt.datetime.now(dt.UTC)
