"""Decoders of JSON that are made on first use, which may be in several threads at once."""

from __future__ import annotations

import os
from _thread import RLock  # a cold start does not load `threading`; a signal's handler may make decoders, too
from typing import Any

import msgspec

_making = RLock()
if hasattr(os, "register_at_fork"):  # a child never starts with a lock, or a struct, that another thread left half done
    os.register_at_fork(before=_making.acquire, after_in_parent=_making.release, after_in_child=_making.release)


def json_decoder(of: Any) -> msgspec.json.Decoder[Any]:
    """Return a decoder of a type.

    msgspec keeps what it knows of a struct in its class, and fills that in while other threads may run. A decoder that
    is made of it meanwhile ends the process with a segmentation fault, so decoders are made one after the other.
    """
    with _making:
        return msgspec.json.Decoder(of)
