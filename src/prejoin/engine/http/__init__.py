"""The HTTP front: the engine behind a socket, for every SDK and the AWS CLI. What is answered is the engine's."""

from prejoin.engine.http.limits import Limits
from prejoin.engine.http.origin_policy import OriginPolicy
from prejoin.engine.http.server import Server
from prejoin.engine.http.signature import KeyPair

__all__ = ["KeyPair", "Limits", "OriginPolicy", "Server"]
