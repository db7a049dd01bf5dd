"""Shared by exports and imports: client tokens that make them happen once, describe and list."""

from __future__ import annotations

import time
from typing import Any, TypeVar

from prejoin.engine.operations.database import Database
from prejoin.engine.store.interface import Session
from prejoin.engine.tables.artifacts import Transfer
from prejoin.engine.validation import Constraints
from prejoin.protocol.errors import DynamoDBError

_PAGE = 25
_TOKEN_SECONDS = 8 * 3600
T = TypeVar("T", bound=Transfer)


def find_repeated(session: Session, kind: type[T], token: str | None, request_text: str) -> T | None:
    """The export or import of an earlier request with the same token. Raise if that request was different."""
    for transfer in kind.all(session) if token is not None else ():
        # As at AWS, a client token is valid for eight hours.
        is_recent = time.time() - transfer.description["EndTime"] < _TOKEN_SECONDS
        if is_recent and transfer.description.get("ClientToken") == token:
            if transfer.request != request_text:
                raise DynamoDBError(
                    f"{kind.kind.title()}ConflictException",
                    f"The client token {token} was used with other parameters by {transfer.arn}",
                )
            return transfer
    return None


def describe_transfer(database: Database, kind: type[T], arn: str | None) -> dict[str, Any]:
    constraints = Constraints()
    constraints.require(f"{kind.kind}Arn", arn)
    constraints.finish()
    with database.store.reading(snapshot=True) as session:
        transfer = kind.find(session, str(arn))
    if transfer is None:
        raise DynamoDBError(f"{kind.kind.title()}NotFoundException", f"{kind.kind.title()} not found: {arn}")
    return transfer.description


def list_transfers(
    database: Database,
    kind: type[T],
    table_arn: str | None,
    page: tuple[str, int | None],
    token: str | None,
) -> tuple[list[T], dict[str, str]]:
    """A page of exports or imports, and the member with the token of the next page. `page` is the member with the
    number of entries and its content.
    """
    constraints = Constraints()
    constraints.between(*page, 1, _PAGE)
    constraints.finish()
    limit = page[1] or _PAGE
    with database.store.reading(snapshot=True) as session:
        transfers = [
            transfer
            for transfer in kind.all(session)
            if transfer.id > (token or "") and table_arn in (None, transfer.description["TableArn"])
        ]
    return transfers[:limit], {"NextToken": transfers[limit - 1].id} if len(transfers) > limit else {}
