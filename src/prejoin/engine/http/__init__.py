"""The HTTP server: the engine behind a socket, for all SDKs and the AWS CLI."""

from prejoin.engine.http.limits import Limits
from prejoin.engine.http.origin_policy import OriginPolicy
from prejoin.engine.http.server import Server
from prejoin.engine.http.signature import KeyPair

__all__ = ["KeyPair", "Limits", "OriginPolicy", "Server"]
