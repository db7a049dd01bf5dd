"""Decoders of JSON that are made on first use, which may be in several threads at once."""

from __future__ import annotations

from _thread import allocate_lock  # a cold start does not load `threading`
from typing import Any

import msgspec

_making = allocate_lock()


def json_decoder(of: Any) -> msgspec.json.Decoder[Any]:
    """Return a decoder of a type.

    msgspec keeps what it knows of a struct in its class, and fills that in while other threads may run. A decoder that
    is made of it meanwhile ends the process with a segmentation fault, so decoders are made one after the other.
    """
    with _making:
        return msgspec.json.Decoder(of)
