"""Errors about keys: an invalid template, or a value that cannot be part of a key."""

from __future__ import annotations

from prejoin.errors import PrejoinError


class TemplateError(PrejoinError, ValueError):
    """An invalid key template. The message names the template, the place and a fix."""


class KeyValueError(PrejoinError, ValueError):
    """A value that cannot be part of a key: missing, of the wrong type, too large, or ambiguous."""
