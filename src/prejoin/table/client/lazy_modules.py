"""The modules that methods of clients import at their first call: a cold start imports only what its first call needs.

This is the one place of lazy imports in `table/client`. The reads and writes themselves import at the top of their
files.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any


class Lazy:
    """A module that is imported at the first use of a name. After that, the name is an ordinary attribute.

    >>> times = Lazy("datetime")
    >>> times.date(2026, 5, 4).isoformat(), vars(times).keys() - {"_name"}
    ('2026-05-04', {'date'})

    An `import` statement in a method would run at each call, and take longer than some calls.
    """

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, name: str) -> Any:
        from importlib import import_module

        attribute = getattr(import_module(self._name), name)
        setattr(self, name, attribute)
        return attribute


if TYPE_CHECKING:  # for type checkers these are the modules themselves
    from prejoin.table.read import arguments as arguments
    from prejoin.table.read import batch_get as batch_get
    from prejoin.table.read import query as query
    from prejoin.table.read import scan as scan
    from prejoin.table.read import transact_get as transact_get
    from prejoin.table.write import batch as batch
    from prejoin.table.write import execute as execute
    from prejoin.table.write import from_call as from_call

    from . import observe as observe
    from . import transaction as transaction
    from . import update as update
else:
    arguments = Lazy("prejoin.table.read.arguments")
    batch_get = Lazy("prejoin.table.read.batch_get")
    query = Lazy("prejoin.table.read.query")
    scan = Lazy("prejoin.table.read.scan")
    transact_get = Lazy("prejoin.table.read.transact_get")
    batch = Lazy("prejoin.table.write.batch")
    execute = Lazy("prejoin.table.write.execute")
    from_call = Lazy("prejoin.table.write.from_call")
    observe = Lazy("prejoin.table.client.observe")
    transaction = Lazy("prejoin.table.client.transaction")
    update = Lazy("prejoin.table.client.update")
