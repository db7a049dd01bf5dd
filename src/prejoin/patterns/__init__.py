"""Patterns: what single tables do again and again, one file each, plugged into an entity by `patterns=[…]`."""

from .timestamps import Timestamps
from .version import Version

__all__ = ["Timestamps", "Version"]
