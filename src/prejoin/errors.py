"""The base of every exception that prejoin raises at run time."""

from __future__ import annotations


class PrejoinError(Exception):
    """Any error of prejoin: of the client (`TableError`), of keys, of the transport, or DynamoDB's own.

    >>> from prejoin.table import TableError
    >>> issubclass(TableError, PrejoinError)
    True
    """
