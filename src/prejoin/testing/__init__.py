"""For the tests people already have: a pytest plugin, and boto3 on the embedded engine. Light until it is used."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from prejoin.testing.mock import attach, mock_dynamodb
    from prejoin.testing.tables import create_table

__all__ = ["attach", "create_table", "mock_dynamodb"]


def __getattr__(name: str) -> Any:
    # The plugin is a module of this package and is loaded by every pytest run, so nothing is imported before its time.
    if name in ("attach", "mock_dynamodb"):
        from prejoin.testing import mock

        return getattr(mock, name)
    if name == "create_table":
        from prejoin.testing.tables import create_table

        return create_table
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
