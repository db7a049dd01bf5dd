"""What a table is asked, and tells, about the key it is encrypted with. Nothing is encrypted: that is for the disk."""

from __future__ import annotations

from prejoin.engine.request.checks import Constraints
from prejoin.engine.request.structs import Encryption

_ACCOUNT = "arn:aws:kms:local:000000000000:"
_MANAGED_BY_AWS = _ACCOUNT + "key/00000000-0000-0000-0000-000000000000"


def check_encryption(constraints: Constraints, wish: Encryption | None) -> None:
    if wish is not None:
        constraints.one_of("sSESpecification.sSEType", wish.type, ("AES256", "KMS"))


def key_of(wish: Encryption | None) -> str | None:
    """The ARN of the key that a table is to have; None is one that AWS owns, of which no description tells.

    >>> key_of(Encryption(enabled=True, key="alias/shop"))
    'arn:aws:kms:local:000000000000:alias/shop'
    """
    if wish is None or not wish.enabled:
        return None
    if wish.key is None:
        return _MANAGED_BY_AWS
    if wish.key.startswith("arn:"):
        return wish.key
    return _ACCOUNT + (wish.key if wish.key.startswith("alias/") else f"key/{wish.key}")


def described(key: str | None, *, changing: bool = False) -> dict[str, dict[str, str]]:
    """The member of a TableDescription about the key, where there is something to tell."""
    if key is None:
        return {}
    return {
        "SSEDescription": {
            "Status": "UPDATING" if changing else "ENABLED",
            "SSEType": "KMS",
            "KMSMasterKeyArn": key,
        }
    }
