"""Where the shop's table is, as the environment says it.

SHOP_DB=shop.db             a file, or `memory`: a DynamoDB in this process
SHOP_ENDPOINT=http://…      a server that speaks DynamoDB's protocol: `prejoin serve`, DynamoDB Local
neither of them             AWS, with the region and the credentials of the environment
SHOP_TABLE=…                the table's name, if it is not the design's
SHOP_CURSOR_KEY=…           32 random bytes in hexadecimal that sign the cursors of pages; `new,old` while it changes
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from prejoin import AWS, Endpoint, Retries

from shop.schema import TABLE

if TYPE_CHECKING:
    from prejoin import Embedded, SignedCursors


def place(*, timeout: float = 10.0, connect_timeout: float = 3.0, attempts: int = 6) -> AWS | Endpoint | Embedded:
    """The way to the table, and how patient one is with it."""
    if path := os.environ.get("SHOP_DB"):
        from prejoin import Embedded  # an SQLite engine is nothing that a Lambda should load

        return Embedded(None if path == "memory" else path)
    retries = Retries(attempts=attempts)
    if url := os.environ.get("SHOP_ENDPOINT"):
        return Endpoint(url, timeout=timeout, connect_timeout=connect_timeout, retries=retries)
    return AWS(timeout=timeout, connect_timeout=connect_timeout, retries=retries)


def table() -> str:
    """The name of the table."""
    return os.environ.get("SHOP_TABLE") or TABLE


def cursors() -> SignedCursors | None:
    """How the cursors of pages are signed. Without a key they are not: then anybody can make one."""
    keys = [bytes.fromhex(key) for key in os.environ.get("SHOP_CURSOR_KEY", "").split(",") if key]
    if not keys:
        return None
    from prejoin import SignedCursors  # not every function gives out pages

    return SignedCursors(keys[0], previous=keys[1:])


def ours_to_make() -> bool:
    """Whether the table is made here if it is not there. On AWS a template makes it, and this program may not."""
    return bool(os.environ.get("SHOP_DB") or os.environ.get("SHOP_ENDPOINT"))
