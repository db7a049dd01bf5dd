"""From a form to an order, and from one status to the next: the shop's own rules, without HTTP and without a table."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from decimal import Decimal
from uuid import UUID, uuid4, uuid5

from prejoin import AlreadyExists, Collection, TransactionCancelled, ulid

from forms import Basket, NewUser, text
from refusals import Refused, busy, no_such
from shop.entities import Order, OrderItem, OrderStatus, Product, User

NEXT: dict[OrderStatus, OrderStatus] = {"PENDING": "PAID", "PAID": "SHIPPED", "SHIPPED": "DELIVERED"}
"""How an order moves along. One that was delivered or cancelled stays."""


@dataclass(kw_only=True)
class WholeOrder:
    """An order with its items."""

    order: Order
    items: list[OrderItem]

    @property
    def quantities(self) -> dict[str, int]:
        """Of each product, how many."""
        return {item.product_id: item.quantity for item in self.items}


def new_user(form: NewUser) -> User:
    return User(user_id=uuid4(), email=form.email, name=form.name, created_at=_now(), order_count=0)


def new_order(user_id: UUID, basket: Basket, products: Sequence[Product | None], key: str | None) -> WholeOrder:
    """An order at today's titles and prices. `products` are those of the basket's lines, in order."""
    order_id = _order_id(user_id, key)
    items = []
    for line, product in zip(basket.lines, products, strict=True):
        if product is None:
            raise Refused(422, "no_such_product", f"there is no product {line.product_id}")
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


def is_repeated(error: TransactionCancelled) -> bool:
    """Whether an order was not placed because it is there already."""
    return any(isinstance(failure, AlreadyExists) for failure in error.failures)


def repeated(found: Collection, wanted: WholeOrder) -> WholeOrder:
    """The order that is there already, if it is the one that is wanted."""
    order = found.one(Order)
    if order is None:
        raise busy()  # placed this very moment, and not to be seen everywhere yet
    there = WholeOrder(order=order, items=found.all(OrderItem))
    if there.quantities != wanted.quantities or order.ship_to != wanted.order.ship_to:
        raise Refused(422, "key_used", "this Idempotency-Key was used for another order")
    return there


def whole(order_id: str, found: Collection) -> WholeOrder:
    """What was read of an order, if there is one."""
    order = found.one(Order)
    if order is None:
        raise no_such("order", order_id)
    return WholeOrder(order=order, items=found.all(OrderItem))


def check_step(order: Order, status: OrderStatus) -> None:
    """Refuses a step that an order cannot take. That nobody takes another meanwhile is for the table to see to."""
    if not (order.status in ("PENDING", "PAID") if status == "CANCELLED" else NEXT.get(order.status) == status):
        raise Refused(409, "wrong_status", f"an order that is {order.status} does not become {status}")


def _order_id(user_id: UUID, key: str | None) -> str:
    """The id of a new order: a time and chance. With an Idempotency-Key, the same for the same user and key.

    The order is there then when the request is repeated, and is placed once for ever: longer than the ten minutes of
    a transaction's token, which also would have to be sent with the same time of day.
    """
    if key is None:
        return ulid()
    bits = uuid5(user_id, text("Idempotency-Key", key)).int
    return "".join("0123456789ABCDEFGHJKMNPQRSTVWXYZ"[bits >> shift & 31] for shift in range(125, -1, -5))


def _now() -> dt.datetime:
    return dt.datetime.now(dt.UTC)
