"""For existing tests: a pytest plugin, and boto3 on the embedded engine. Importing it loads nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from prejoin.testing.mock import attach, mock_dynamodb
    from prejoin.testing.tables import create_table

__all__ = ["attach", "create_table", "mock_dynamodb"]


def __getattr__(name: str) -> Any:
    # Every pytest run loads the plugin and with it this package, so imports are lazy.
    if name in ("attach", "mock_dynamodb"):
        from prejoin.testing import mock

        return getattr(mock, name)
    if name == "create_table":
        from prejoin.testing.tables import create_table

        return create_table
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
