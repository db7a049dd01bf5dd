"""Bodies of requests. Each validates itself, because both FastAPI and msgspec decode it."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal

from errors import invalid
from shop.entities import OrderStatus


@dataclass(kw_only=True)
class NewUser:
    email: str
    name: str

    def __post_init__(self) -> None:
        self.email = mail(self.email)
        text("name", self.name)


@dataclass(kw_only=True)
class Destination:
    """The fields of an address that an order copies."""

    street: str
    city: str
    postcode: str

    def __post_init__(self) -> None:
        text("street", self.street)
        text("city", self.city)
        text("postcode", self.postcode)


@dataclass(kw_only=True)
class Line:
    product_id: str
    quantity: int

    def __post_init__(self) -> None:
        text("product_id", self.product_id)
        number("quantity", self.quantity, 1, 1000)


@dataclass(kw_only=True)
class Basket:
    """A new order."""

    ship_to: Destination
    lines: list[Line]

    def __post_init__(self) -> None:
        number("the number of lines", len(self.lines), 1, 40)  # the document's limit: a transaction takes 100 items
        if len({line.product_id for line in self.lines}) < len(self.lines):
            raise invalid("a product is in this order twice: add up its quantities")


@dataclass(kw_only=True)
class Offer:
    """The data of a product."""

    name: str
    price: Decimal
    stock: int

    def __post_init__(self) -> None:
        text("name", self.name)
        if not self.price.is_finite() or not 0 <= self.price < 1_000_000 or self.price != round(self.price, 2):
            raise invalid("price is an amount of money below 1000000, with at most two decimals")
        number("stock", self.stock, 0, 1_000_000_000)


@dataclass(kw_only=True)
class Step:
    """A status change of an order."""

    status: OrderStatus


def text(name: str, value: str) -> str:
    """Returns the value if it has 1 to 200 characters, which fits a key. Raises an `HttpError` otherwise."""
    if not value.strip() or len(value) > 200:
        raise invalid(f"{name} is a text of 1 to 200 characters")
    return value


def number(name: str, value: int, least: int, most: int) -> int:
    """Returns the value if it is within its bounds. Raises an `HttpError` otherwise."""
    if not least <= value <= most:
        raise invalid(f"{name} is from {least} to {most}")
    return value


def mail(address: str) -> str:
    """An e-mail address in lower case, as it is stored and compared.

    >>> mail(" Ann@Example.com")
    'ann@example.com'
    """
    found = text("email", address).strip().lower()
    before, _, behind = found.partition("@")
    if not before or not behind or " " in found:
        raise invalid(f"{found!r} is no e-mail address")
    return found
