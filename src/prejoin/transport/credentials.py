"""What requests are signed with, where it is found, and when it is renewed."""

from __future__ import annotations

import os
from _thread import allocate_lock
from collections.abc import Callable, Mapping
from datetime import datetime
from time import time
from typing import Any

import msgspec

from prejoin.transport.errors import CredentialsMissing

_EARLY = 300.0
"""Seconds before they expire that credentials are renewed."""
_PATIENCE = 30.0
"""Seconds until the next try, where renewal failed or gave nothing newer and the old ones still hold."""
_ASK_AGAIN = 60.0


class Credentials(msgspec.Struct, frozen=True, repr_omit_defaults=True):
    """An access key and its secret; with a session token and an end where they are temporary.

    >>> Credentials("AKIDEXAMPLE", "wJalrXUtnFEMI")
    Credentials('AKIDEXAMPLE', …)
    """

    access_key: str
    secret_key: str
    token: str | None = None
    expires: datetime | None = None

    def __post_init__(self) -> None:
        for name, value in (("access key", self.access_key), ("secret key", self.secret_key), ("token", self.token)):
            # They go into headers: a line break, usually from a file read whole, would be another header.
            if value is not None and not (value.isascii() and value.isprintable() and value == value.strip() != ""):
                raise ValueError(f"the {name} has a character that none has, such as a space or line end at its end")

    def __repr__(self) -> str:
        return f"Credentials({self.access_key!r}, …)"


Source = Callable[[], Credentials]
"""Gives credentials, each time it is called the newest there are. It may block, and raises CredentialsMissing."""

DUMMY = Credentials("local", "local")
"""For a server on this machine, which takes any."""


def from_environment(environ: Mapping[str, str]) -> Credentials | None:
    """AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and AWS_SESSION_TOKEN.

    >>> from_environment({"AWS_ACCESS_KEY_ID": "AKID", "AWS_SECRET_ACCESS_KEY": "secret"})
    Credentials('AKID', …)
    """
    access_key, secret_key = environ.get("AWS_ACCESS_KEY_ID"), environ.get("AWS_SECRET_ACCESS_KEY")
    if not access_key and not secret_key:
        return None
    if not access_key or not secret_key:
        missing = "AWS_SECRET_ACCESS_KEY" if access_key else "AWS_ACCESS_KEY_ID"
        raise CredentialsMissing(f"half of the credentials is set: {missing} is not")
    try:
        return Credentials(access_key, secret_key, environ.get("AWS_SESSION_TOKEN") or None)
    except ValueError as error:
        raise CredentialsMissing(f"the credentials in the environment cannot be used: {error}") from None


def local_credentials() -> Credentials:
    """The environment's, or any: a server on this machine asks for a signature and does not check whose."""
    return from_environment(os.environ) or DUMMY


class CredentialChain:
    """The environment, else what botocore finds: profiles, SSO, the roles of a container or an instance."""

    def __init__(self) -> None:
        self._found: Any = None

    def __call__(self) -> Credentials:
        return from_environment(os.environ) or self._from_botocore()

    def _from_botocore(self) -> Credentials:
        try:
            from botocore.exceptions import BotoCoreError  # type: ignore[import-untyped]
            from botocore.session import Session  # type: ignore[import-untyped]
        except ImportError:
            raise CredentialsMissing(
                "no credentials: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or install the `aws` extra "
                "for profiles, SSO and roles, or give credentials=…"
            ) from None
        try:
            if self._found is None:
                self._found = Session().get_credentials()
            if self._found is None:
                raise CredentialsMissing(
                    "no credentials: neither AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY are set, nor is there "
                    "a profile, SSO session, container or instance role. Set them, or give credentials=…"
                )
            frozen = self._found.get_frozen_credentials()
        except BotoCoreError as error:
            raise CredentialsMissing(f"no credentials: {error}", cause=error) from error
        return Credentials(frozen.access_key, frozen.secret_key, frozen.token or None, self._expiry())

    def _expiry(self) -> datetime | None:
        if not hasattr(self._found, "refresh_needed"):
            return None
        known = getattr(self._found, "_expiry_time", None)
        if isinstance(known, datetime):
            return known
        # It is renewed by botocore, and when is botocore's secret: asking often costs nothing.
        return datetime.fromtimestamp(time() + _EARLY + _ASK_AGAIN).astimezone()


def static_source(credentials: Credentials) -> Source:
    """A source of these and no others."""
    return lambda: credentials


class CredentialCache:
    """The credentials in use: asked of their source once, and again before they expire or when they are refused."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._lock = allocate_lock()
        self._current: Credentials | None = None
        self._due: float | None = None

    def current(self, now: float) -> Credentials | None:
        """What to sign with, without waiting; None where the source has to be asked first."""
        due = self._due
        return self._current if due is None or now < due else None

    def renew(self, refused: Credentials | None = None) -> Credentials:
        """Ask the source, unless another thread just did. `refused` are those that the server does not take."""
        with self._lock:
            now = time()
            held = self._current
            known = self.current(now)
            if known is not None and known is not refused:
                return known
            try:
                found = self._source()
            except Exception:
                if held is None or held is refused or _end(held) <= now:
                    raise
                self._due = min(now + _PATIENCE, _end(held))
                return held
            if not isinstance(found, Credentials):
                raise CredentialsMissing(f"credentials=… gave {type(found).__name__}, not Credentials")
            end = _end(found)
            # Where the source has nothing that lasts longer, it is used as long as it lasts.
            due = end - _EARLY if end - _EARLY > now else min(now + _PATIENCE, end)
            self._current, self._due = found, None if found.expires is None else due
            return found

    def after_fork(self) -> None:
        """In a child: whichever thread held the lock is not here."""
        self._lock = allocate_lock()


def _end(credentials: Credentials) -> float:
    return float("inf") if credentials.expires is None else credentials.expires.timestamp()
