"""Credentials: where they come from, and when they are renewed."""

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
"""Credentials are renewed this many seconds before they expire."""
_PATIENCE = 30.0
"""Seconds until the next attempt, if renewal failed or gave nothing newer and the old ones are still valid."""
_ASK_AGAIN = 60.0


class Credentials(msgspec.Struct, frozen=True, repr_omit_defaults=True):
    """An access key and its secret; temporary ones have a session token and an expiry.

    >>> Credentials("AKIDEXAMPLE", "wJalrXUtnFEMI")
    Credentials('AKIDEXAMPLE', …)
    """

    access_key: str
    secret_key: str
    token: str | None = None
    expires: datetime | None = None

    def __post_init__(self) -> None:
        for name, value in (("access key", self.access_key), ("secret key", self.secret_key), ("token", self.token)):
            # They go into headers, where a line break (often from a file read as a whole) would start another header.
            if value is not None and not (value.isascii() and value.isprintable() and value == value.strip() != ""):
                raise ValueError(f"the {name} contains an invalid character, such as a space or line end at its end")

    def __repr__(self) -> str:
        return f"Credentials({self.access_key!r}, …)"


Source = Callable[[], Credentials]
"""Returns the newest credentials each time it is called. It may block, and raises CredentialsMissing."""

DUMMY = Credentials("local", "local")
"""For a server on this machine, which accepts any."""


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
        raise CredentialsMissing(f"incomplete credentials: {missing} is not")
    try:
        return Credentials(access_key, secret_key, environ.get("AWS_SESSION_TOKEN") or None)
    except ValueError as error:
        raise CredentialsMissing(f"the credentials in the environment cannot be used: {error}") from None


def local_credentials() -> Credentials:
    """The environment's credentials, or dummy ones: a server on this machine requires a signature but does not check
    it.
    """
    return from_environment(os.environ) or DUMMY


class CredentialChain:
    """The environment, or else botocore's sources: profiles, SSO, the roles of a container or an instance."""

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
        expiry = getattr(self._found, "_expiry_time", None)
        if isinstance(expiry, datetime):
            return expiry
        # botocore renews them at a time of its own. Asking it often is cheap.
        return datetime.fromtimestamp(time() + _EARLY + _ASK_AGAIN).astimezone()


def static_source(credentials: Credentials) -> Source:
    """A source that always returns these credentials."""
    return lambda: credentials


class CredentialCache:
    """The credentials in use. They are fetched once, and again before they expire or when they are refused."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._lock = allocate_lock()
        self._current: Credentials | None = None
        self._due: float | None = None

    def current(self, now: float) -> Credentials | None:
        """The credentials to sign with, without waiting; None if the source has to be called first."""
        due = self._due
        return self._current if due is None or now < due else None

    def renew(self, refused: Credentials | None = None) -> Credentials:
        """Call the source, unless another thread just did. `refused` are credentials that the server rejected."""
        with self._lock:
            now = time()
            previous = self._current
            usable = self.current(now)
            if usable is not None and usable is not refused:
                return usable
            try:
                credentials = self._source()
            except Exception:
                if previous is None or previous is refused or _end(previous) <= now:
                    raise
                self._due = min(now + _PATIENCE, _end(previous))
                return previous
            if not isinstance(credentials, Credentials):
                raise CredentialsMissing(f"credentials=… gave {type(credentials).__name__}, not Credentials")
            end = _end(credentials)
            # If the source has nothing that lasts longer, use it until it expires.
            due = end - _EARLY if end - _EARLY > now else min(now + _PATIENCE, end)
            self._current, self._due = credentials, None if credentials.expires is None else due
            return credentials

    def after_fork(self) -> None:
        """In a forked child, replace the lock, which another thread of the parent may have held."""
        self._lock = allocate_lock()


def _end(credentials: Credentials) -> float:
    return float("inf") if credentials.expires is None else credentials.expires.timestamp()
