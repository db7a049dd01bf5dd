"""Patterns of single-table design, one module each. Add them to an entity with `patterns=[…]`.

A module never has the name of a function that it exports: the function would hide the module in this package.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from prejoin.patterns.aggregates.counted import Counted, Summed
    from prejoin.patterns.aggregates.highest import Highest, Lowest
    from prejoin.patterns.aggregates.recount import Recounted, recount, recount_all
    from prejoin.patterns.aggregates.sharded import total
    from prejoin.patterns.integrity.audit import audit
    from prejoin.patterns.integrity.expected import Finding
    from prejoin.patterns.integrity.repair import repair
    from prejoin.patterns.integrity.reshard import Resharded, reshard
    from prejoin.patterns.trees.move import MoveUnfinished, move, resume_moves
    from prejoin.patterns.trees.tree import Tree, ancestors, children, subtree

    from .cascade import delete_tree
    from .child import Child
    from .copies import Copy
    from .receipt import Receipt, TokenReused, once, receipts
    from .soft_delete import SoftDelete, purge, restore
    from .tenant import tenant_policy
    from .timestamps import Timestamps
    from .ttl import TimeToLive
    from .unique import Unique
    from .version import Version

__all__ = [
    "Child",
    "Copy",
    "Counted",
    "Finding",
    "Highest",
    "Lowest",
    "MoveUnfinished",
    "Receipt",
    "Recounted",
    "Resharded",
    "SoftDelete",
    "Summed",
    "TimeToLive",
    "Timestamps",
    "TokenReused",
    "Tree",
    "Unique",
    "Version",
    "ancestors",
    "audit",
    "children",
    "delete_tree",
    "move",
    "once",
    "purge",
    "receipts",
    "recount",
    "recount_all",
    "repair",
    "reshard",
    "restore",
    "resume_moves",
    "subtree",
    "tenant_policy",
    "total",
]

# Imported at first use: a program that declares one pattern does not import all.
_HOMES = {
    "integrity.audit": ("audit",),
    "cascade": ("delete_tree",),
    "child": ("Child",),
    "copies": ("Copy",),
    "aggregates.counted": ("Counted", "Summed"),
    "aggregates.highest": ("Highest", "Lowest"),
    "integrity.expected": ("Finding",),
    "trees.move": ("MoveUnfinished", "move", "resume_moves"),
    "receipt": ("Receipt", "TokenReused", "once", "receipts"),
    "aggregates.recount": ("Recounted", "recount", "recount_all"),
    "integrity.repair": ("repair",),
    "integrity.reshard": ("Resharded", "reshard"),
    "aggregates.sharded": ("total",),
    "soft_delete": ("SoftDelete", "purge", "restore"),
    "tenant": ("tenant_policy",),
    "timestamps": ("Timestamps",),
    "trees.tree": ("Tree", "ancestors", "children", "subtree"),
    "ttl": ("TimeToLive",),
    "unique": ("Unique",),
    "version": ("Version",),
}


def __getattr__(name: str) -> Any:
    for home, names in _HOMES.items():
        if name in names:
            from importlib import import_module

            return getattr(import_module(f"{__name__}.{home}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
