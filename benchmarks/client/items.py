"""The item of an order, which all contenders store with the same attributes and keys.

It imports nothing, because the start of processes that load it is measured.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from .adapter import Row
    from .workload import Order


def pk(user: str) -> str:
    return f"USER#{user}"


def sk(number: int) -> str:
    return f"ORDER#{number:06}"


def index_pk(status: str) -> str:
    return f"STATUS#{status}"


def item(order: Order) -> dict[str, Any]:
    """The item as Python values."""
    return {
        "pk": pk(order.user),
        "sk": sk(order.number),
        "gsi1pk": index_pk(order.status),
        "gsi1sk": order.placed,
        "entityType": "Order",
        "user": order.user,
        "number": order.number,
        "placed": order.placed,
        "status": order.status,
        "total": order.total,
        "note": order.note,
    }


def typed(order: Order) -> dict[str, dict[str, str]]:
    """The item as DynamoDB's JSON."""
    return {name: {"N": str(value)} if isinstance(value, int) else {"S": value} for name, value in item(order).items()}


def row(found: dict[str, Any]) -> Row:
    """The contents of an item of Python values, with any type of number."""
    number, total = int(found["number"]), int(found["total"])
    return [found["user"], number, found["placed"], found["status"], total, found["note"]]
