"""Patterns: what single tables do again and again, one file each, plugged into an entity by `patterns=[…]`."""

from .audit import audit
from .child import Child
from .copies import Copy
from .counted import Counted, Summed
from .delete_tree import delete_tree
from .highest import Highest, Lowest
from .judge import Finding
from .moves import MoveUnfinished, move, resume_moves
from .once import Receipt, TokenReused, once, receipts
from .recount import Recounted, recount, recount_all
from .repair import repair
from .reshard import Resharded, reshard
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
