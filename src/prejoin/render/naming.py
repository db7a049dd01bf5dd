"""Python names for the entities and access patterns of a document.

What people write ("A user's orders, newest first") becomes what they would have typed (`user_orders`). Names are valid
whatever the document says: keywords, builtins, digits in front, other scripts, texts of any length, two of a kind.
"""

from __future__ import annotations

import keyword
import re
import unicodedata
from collections.abc import Collection, Iterable

from prejoin.workload.field_names import LONGEST, RESERVED, identifying, split_words
from prejoin.workload.model import Entity, Pattern, Read, Workload

_LEADING_ON = frozenset({"of", "by", "with", "in", "and", "or", "to", "for", "at", "on", "from", "as"})
_ASIDE = re.compile(r"\([^()]*\)|\[[^\[\]]*\]")
_CLAUSE = re.compile(r"[,;:.–—](?=\s|$)|\s-\s")


def method_name(pattern: Pattern, taken_names: Collection[str] = ()) -> str:
    """The method name of an access pattern: its name if it has one, else the first clause of its description.

    Where that is taken the whole description is tried, then the pattern's id is added.

    >>> method_name(Read("AP-004", description="A user's orders, newest first"))
    'user_orders'
    >>> method_name(Read("AP-005", description="A user's orders, newest first"), {"user_orders"})
    'user_orders_newest_first'
    >>> method_name(Read("AP-006", name="ordersByStatus")), method_name(Read("AP-007", description="Import"))
    ('orders_by_status', 'import_')
    """
    lead = "get" if isinstance(pattern, Read) else "do"
    text = _ASIDE.sub(" ", pattern.description)
    first = next(filter(split_words, _CLAUSE.split(text)), "")
    candidates = [_snake(words, lead) for words in map(split_words, (first, text)) if words]
    # A name that people gave is taken whole, also words that a description can do without.
    if split_words(pattern.name):
        candidates = [_snake(split_words(pattern.name, fillers=True), lead, keeps_end=True)]
    by_id = _snake(split_words(pattern.id), lead) or lead
    return _free([*candidates, f"{candidates[0]}_{by_id}" if candidates else by_id], taken_names)


def method_names(workload: Workload, taken_names: Iterable[str] = ()) -> dict[str, str]:
    """The method name of each access pattern, by the pattern's id; all are different."""
    used_names = set(taken_names)
    names: dict[str, str] = {}
    for pattern in workload.patterns:
        names[pattern.id] = method_name(pattern, used_names)
        used_names.add(names[pattern.id])
    return names


def class_name(entity: Entity, taken_names: Collection[str] = ()) -> str:
    """The class of an entity.

    >>> [class_name(Entity(name)) for name in ("OrderItem", "order item", "HTTPLog", "none", "3D model", "🙂")]
    ['OrderItem', 'OrderItem', 'HTTPLog', 'None_', 'The3DModel', 'Item']
    >>> class_name(Entity("user"), {"User"})
    'User2'
    """
    text = _ASIDE.sub(" ", entity.name)
    # Python compares names in this form: two that differ before would be one.
    text = unicodedata.normalize("NFKC", text) if split_words(text) else ""
    parts = [part for part in re.split(r"[^\w]+|_+", identifying(text)) if part]
    name = "".join(part[0].upper() + part[1:] for part in parts)[:LONGEST] or "Item"
    return _free([name if name.isidentifier() else f"The{name}"], taken_names)


def class_names(workload: Workload, taken_names: Iterable[str] = ()) -> dict[str, str]:
    """The class name of each entity; all are different, whatever their case."""
    used_names = set(taken_names)
    names: dict[str, str] = {}
    for entity in workload.entities:
        names[entity.name] = class_name(entity, used_names)
        used_names.add(names[entity.name])
    return names


def _snake(words: tuple[str, ...], lead: str, keeps_end: bool = False) -> str:
    while len(words) > 1 and len("_".join(words)) > LONGEST:
        words, keeps_end = words[:-1], False
    # A name that ends in "of" or "by" was cut, and reads as if it went on; unless somebody wants it so: "sign in".
    while len(words) > 1 and words[-1] in _LEADING_ON and not keeps_end:
        words = words[:-1]
    name = "_".join(words)[:LONGEST].rstrip("_")
    return name if not name or name.isidentifier() else f"{lead}_{name}"


def _free(names: list[str], taken_names: Collection[str]) -> str:
    """The first name that is free; if none is, the last one with a number."""
    lower_names = {name.lower() for name in taken_names}
    for name in map(_without_reserved, names):
        if name.lower() not in lower_names:
            return name
    last = _without_reserved(names[-1])
    # A method is numbered `orders_2`, a class `Order2`.
    joint = "_" if last.islower() else ""
    number = 2
    while f"{last}{joint}{number}".lower() in lower_names:
        number += 1
    return f"{last}{joint}{number}"


def _without_reserved(name: str) -> str:
    return f"{name}_" if name in RESERVED or keyword.iskeyword(name) else name
