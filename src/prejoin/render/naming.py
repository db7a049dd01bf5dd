"""Python names for the entities and access patterns of a document.

What people write ("A user's orders, newest first") becomes what they would have typed (`user_orders`). Names are valid
whatever the document says: keywords, builtins, digits in front, other scripts, texts of any length, two of a kind.
"""

from __future__ import annotations

import builtins
import keyword
import re
import unicodedata
from collections.abc import Collection, Iterable
from functools import lru_cache

from prejoin.workload.model import Entity, Pattern, Read, Workload

LONGEST = 48
"""The most characters of a name. A longer one is cut between words."""
RESERVED = frozenset(
    {*keyword.kwlist, *(name for name in dir(builtins) if not name.startswith("_")), "self", "cls", "of_tenant"}
)
"""Reserved names: a method `list` would change the meaning of `list[Order]` in the methods below it."""
_FILLERS = frozenset({"a", "an", "the", "their", "its", "his", "her"})
_LEADING_ON = frozenset({"of", "by", "with", "in", "and", "or", "to", "for", "at", "on", "from", "as"})
_ASIDE = re.compile(r"\([^()]*\)|\[[^\[\]]*\]")
_CLAUSE = re.compile(r"[,;:.–—](?=\s|$)|\s-\s")
_POSSESSIVE = re.compile(r"(?<=\w)['’](?:s\b)?")
_E_MAIL = re.compile(r"\b(e)-(?=mail)", re.IGNORECASE)
_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")


def method_name(pattern: Pattern, taken: Collection[str] = ()) -> str:
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
    first = next((part for part in _CLAUSE.split(text) if _words(part)), "")
    tries = [_snake(_words(part), lead) for part in (first, text) if _words(part)]
    if _words(pattern.name):  # that is taken whole
        tries = [_snake(_words(pattern.name, fillers=True), lead, whole=True)]
    by_id = _snake(_words(pattern.id), lead) or lead
    return _free([*tries, f"{tries[0]}_{by_id}" if tries else by_id], taken)


def method_names(workload: Workload, taken: Iterable[str] = ()) -> dict[str, str]:
    """The method name of each access pattern, by the pattern's id; all are different."""
    used = set(taken)
    found: dict[str, str] = {}
    for pattern in workload.patterns:
        found[pattern.id] = method_name(pattern, used)
        used.add(found[pattern.id])
    return found


def class_name(entity: Entity, taken: Collection[str] = ()) -> str:
    """The class of an entity.

    >>> [class_name(Entity(name)) for name in ("OrderItem", "order item", "HTTPLog", "none", "3D model", "🙂")]
    ['OrderItem', 'OrderItem', 'HTTPLog', 'None_', 'The3DModel', 'Item']
    >>> class_name(Entity("user"), {"User"})
    'User2'
    """
    text = unicodedata.normalize("NFKC", _ASIDE.sub(" ", entity.name) if _words(_ASIDE.sub(" ", entity.name)) else "")
    parts = [part for part in re.split(r"[^\w]+|_+", _identifying(text)) if part]
    name = "".join(part[0].upper() + part[1:] for part in parts)[:LONGEST] or "Item"
    return _free([name if name.isidentifier() else f"The{name}"], taken)


def class_names(workload: Workload, taken: Iterable[str] = ()) -> dict[str, str]:
    """The class name of each entity; all are different, whatever their case."""
    used = set(taken)
    found: dict[str, str] = {}
    for entity in workload.entities:
        found[entity.name] = class_name(entity, used)
        used.add(found[entity.name])
    return found


def snake(text: str) -> str:
    """A text in snake case; it may be a reserved name.

    >>> snake("orderItemId"), snake("HTTPStatus"), snake("e-mail"), snake("größe")
    ('order_item_id', 'http_status', 'email', 'größe')
    """
    return "_".join(_words(text, fillers=True))


@lru_cache(maxsize=4096)  # each file of a package names the same things again
def _words(text: str, fillers: bool = False) -> tuple[str, ...]:
    text = unicodedata.normalize("NFKC", text)
    text = _E_MAIL.sub(r"\1", _POSSESSIVE.sub("", text))
    words = tuple(word.lower() for word in re.split(r"[^\w]+|_+", _HUMP.sub("_", _identifying(text))) if word)
    return tuple(word for word in words if fillers or word not in _FILLERS) or words


def _identifying(text: str) -> str:
    """The text with spaces in place of invalid characters: some marks and numerals are letters only to `\\w`."""
    return "".join(char if f"a{char}".isidentifier() else " " for char in text)


def _snake(words: tuple[str, ...], lead: str, whole: bool = False) -> str:
    while len(words) > 1 and len("_".join(words)) > LONGEST:
        words, whole = words[:-1], False
    # A name that ends in "of" or "by" was cut, and reads as if it went on; unless somebody wants it so: "sign in".
    while len(words) > 1 and words[-1] in _LEADING_ON and not whole:
        words = words[:-1]
    name = "_".join(words)[:LONGEST].rstrip("_")
    return name if not name or name.isidentifier() else f"{lead}_{name}"


def _free(names: list[str], taken: Collection[str]) -> str:
    """The first name that is free; if none is, the last one with a number."""
    folded = {name.lower() for name in taken}
    valid = [f"{name}_" if name in RESERVED or keyword.iskeyword(name) else name for name in names]
    tries = [*valid, *(f"{valid[-1]}{'_' * valid[-1].islower()}{number}" for number in range(2, len(folded) + 3))]
    return next(name for name in tries if name.lower() not in folded)
