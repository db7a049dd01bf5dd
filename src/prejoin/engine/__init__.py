"""An embedded DynamoDB: the same request and response bytes as AWS, in this process."""

from prejoin.engine.embedded import Embedded
from prejoin.engine.store.interface import Durability, OpenError

__all__ = ["Durability", "Embedded", "OpenError"]
