"""Patterns: what single tables do again and again, one file each, plugged into an entity by `patterns=[…]`.

A file is named after its pattern, or after what its functions do: a function's own name would hide it here.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .auditing import audit
    from .cascade import delete_tree
    from .child import Child
    from .copies import Copy
    from .counted import Counted, Summed
    from .highest import Highest, Lowest
    from .judge import Finding
    from .moves import MoveUnfinished, move, resume_moves
    from .receipt import Receipt, TokenReused, once, receipts
    from .recounting import Recounted, recount, recount_all
    from .repairing import repair
    from .resharding import Resharded, reshard
    from .shard_counters import total
    from .soft_delete import SoftDelete, purge, restore
    from .tenant import tenant_policy
    from .timestamps import Timestamps
    from .tree import Tree, ancestors, children, subtree
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

# A cold start is for the user to wait for: who declares one pattern does not import all.
_HOMES = {
    "auditing": ("audit",),
    "cascade": ("delete_tree",),
    "child": ("Child",),
    "copies": ("Copy",),
    "counted": ("Counted", "Summed"),
    "highest": ("Highest", "Lowest"),
    "judge": ("Finding",),
    "moves": ("MoveUnfinished", "move", "resume_moves"),
    "receipt": ("Receipt", "TokenReused", "once", "receipts"),
    "recounting": ("Recounted", "recount", "recount_all"),
    "repairing": ("repair",),
    "resharding": ("Resharded", "reshard"),
    "shard_counters": ("total",),
    "soft_delete": ("SoftDelete", "purge", "restore"),
    "tenant": ("tenant_policy",),
    "timestamps": ("Timestamps",),
    "tree": ("Tree", "ancestors", "children", "subtree"),
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
