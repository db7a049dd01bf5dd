"""What can be wrong with a key: the template itself, or a value that is to stand in it."""

from __future__ import annotations

from prejoin.errors import PrejoinError


class TemplateError(PrejoinError, ValueError):
    """A key template that cannot work. The message names the template, the place and what helps."""


class KeyValueError(PrejoinError, ValueError):
    """A value that cannot stand in a key: missing, of another type, too large, or not told apart by it."""
