"""The base of every exception that prejoin raises at run time."""

from __future__ import annotations

from prejoin._exports import HOMES


class PrejoinError(Exception):
    """Any error of prejoin: of the client (`TableError`), of keys, of the transport, or DynamoDB's own.

    >>> from prejoin import NotServed, TableError
    >>> issubclass(TableError, PrejoinError), NotServed
    (True, <class 'prejoin.NotServed'>)
    """

    __module__ = "prejoin"

    def __init_subclass__(cls, **arguments: object) -> None:
        # Tracebacks name public errors as people import them: `prejoin.NotServed`.
        super().__init_subclass__(**arguments)
        if cls.__module__.startswith("prejoin.") and cls.__name__ in HOMES:
            cls.__module__ = "prejoin"
