"""Sessions: found by their token, ended by time, and all of a user's ended at once.

The table has a hash of the token: whoever can read the table cannot use the sessions in it.
"""

from __future__ import annotations

import hashlib
import secrets
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from prejoin import Client, Entity, Index, Key, NotFound, Schema, TimeToLive


@dataclass(frozen=True)
class Session:
    token_hash: str
    user_id: str
    ends_at: datetime


SCHEMA = Schema(
    Entity(
        Session,
        Key("SESSION#{token_hash}", "SESSION"),
        indexes={"user": Key("USER#{user_id}", "SESSION#{token_hash}")},
        patterns=[TimeToLive("ends_at")],
    ),
    indexes=[Index("user")],
)


def sign_in(db: Client, user_id: str, lasts: timedelta = timedelta(days=30)) -> str:
    """Begin a session, and return its token."""
    token = secrets.token_urlsafe(32)
    db.insert(Session(_hash(token), user_id, datetime.now(UTC) + lasts))
    return token


def user_of(db: Client, token: str) -> str | None:
    """The user of a session; None if it has ended, whether DynamoDB has deleted it or not."""
    found = db.get(Session, token_hash=_hash(token))
    return found.user_id if found else None


def sign_out(db: Client, token: str) -> None:
    with suppress(NotFound):
        db.delete(Session, token_hash=_hash(token))


def sign_out_everywhere(db: Client, user_id: str) -> int:
    """End all sessions of a user, and return how many there were."""
    count = 0
    for page in db.pages(Session, user_id=user_id):
        for one in page.items:
            with suppress(NotFound):  # the index may still have a session that was deleted
                db.delete(Session, token_hash=one.token_hash)
                count += 1
    return count


def _hash(token: str) -> str:
    return hashlib.sha256(token.encode()).hexdigest()
