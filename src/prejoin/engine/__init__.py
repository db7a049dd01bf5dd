"""The embedded DynamoDB: the same bytes in and out as AWS's, in this process, on SQLite."""

from prejoin.engine.embedded import Embedded
from prejoin.engine.store import Durability

__all__ = ["Durability", "Embedded"]
