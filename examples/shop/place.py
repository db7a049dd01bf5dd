"""The location of the shop's table, from environment variables.

SHOP_DB=shop.db             a file of the embedded engine; `memory` is lost with the process
SHOP_ENDPOINT=http://…      a server that speaks DynamoDB's protocol: `prejoin serve`, DynamoDB Local
neither                     AWS, with the region and credentials of the environment
SHOP_TABLE=…                a table name other than `shop`
SHOP_CURSOR_KEY=…           32 random bytes in hexadecimal, which sign the cursors of pages; `new,old` during a rotation
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from prejoin import AWS, Endpoint, Retries

from shop.schema import TABLE

if TYPE_CHECKING:
    from prejoin import Embedded, SignedCursors


def place(*, timeout: float = 10.0, connect_timeout: float = 3.0, attempts: int = 6) -> AWS | Endpoint | Embedded:
    """The transport for the configured location."""
    if path := os.environ.get("SHOP_DB"):
        from prejoin import Embedded  # only here: a Lambda function should not load SQLite

        return Embedded(None if path == "memory" else path)
    retries = Retries(attempts=attempts)
    if url := os.environ.get("SHOP_ENDPOINT"):
        return Endpoint(url, timeout=timeout, connect_timeout=connect_timeout, retries=retries)
    return AWS(timeout=timeout, connect_timeout=connect_timeout, retries=retries)


def table() -> str:
    """The name of the table."""
    return os.environ.get("SHOP_TABLE") or TABLE


def cursors() -> SignedCursors | None:
    """The signer of cursors; None without a key, so that anybody can forge one."""
    keys = [bytes.fromhex(key) for key in os.environ.get("SHOP_CURSOR_KEY", "").split(",") if key]
    if not keys:
        return None
    from prejoin import SignedCursors  # only here: loaded only with a key

    return SignedCursors(keys[0], previous=keys[1:])


def creates_table() -> bool:
    """Whether the program creates a missing table. On AWS `template.yaml` creates it, and the roles may not."""
    return bool(os.environ.get("SHOP_DB") or os.environ.get("SHOP_ENDPOINT"))
