"""TLS contexts. `ssl` is imported only for https addresses, because it takes a fifth of a cold start."""

from __future__ import annotations

import os
from functools import cache
from typing import TYPE_CHECKING

from prejoin.transport.errors import NotConfigured
from prejoin.transport.request.exchange import Channel

if TYPE_CHECKING:
    from ssl import SSLContext


def context_for(channel: Channel) -> SSLContext:
    """The TLS context: the user's, or the system's certificate authorities."""
    return channel.settings.ssl_context or _default(os.environ.get("AWS_CA_BUNDLE") or None)


@cache
def _default(bundle: str | None) -> SSLContext:
    import ssl

    try:
        return ssl.create_default_context(cafile=bundle)
    except OSError as error:
        raise NotConfigured(f"AWS_CA_BUNDLE cannot be used: {bundle}: {error}", cause=error) from error
