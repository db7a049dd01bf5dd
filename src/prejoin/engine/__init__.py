"""The embedded DynamoDB: the same bytes in and out as AWS's, in this process."""

from prejoin.engine.embedded import Embedded
from prejoin.engine.store.interface import Durability, OpenError

__all__ = ["Durability", "Embedded", "OpenError"]
