"""Finds the entity whose id an attribute holds, from names, parents and relationships. Uncertain ones are left out."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

_GENERIC = frozenset({"id", "key", "name", "type", "date", "time", "status", "state", "code", "number"})
"""Names that do not identify an entity."""
_IDENTIFYING = re.compile(r"(?:id|key|sku|uuid|username|handle|slug|email|token)\Z", re.IGNORECASE)

_MADE_UP = frozenset({"id", "uuid", "ulid", "guid", "ksuid"})


@dataclass(slots=True)
class Shape:
    """The parts of an entity that matter for references."""

    name: str
    id: tuple[str, ...]
    attributes: tuple[str, ...]
    parent: str = ""
    relationship: str = ""
    constants: frozenset[str] = frozenset()
    """Attributes with one fixed value, which refer to nothing."""
    read_with: frozenset[tuple[str, str]] = frozenset()
    """Inputs of reads of this entity and another, with the other's name: both have the same value."""
    found: dict[str, str] = field(default_factory=dict)
    """The target of each attribute, `User` or `Photo.photoId`."""

    def mentions(self, other: str) -> bool:
        return other == self.parent or re.search(rf"\b{re.escape(other)}\b", self.relationship) is not None


def find_references(entities: Sequence[Shape]) -> None:
    """Fills in `found` of each entity.

    >>> user = Shape("User", ("userId",), ("userId",))
    >>> ids = ("followerId", "followeeId")
    >>> follow = Shape("Follow", ids, ids, relationship="M:N User-User")
    >>> find_references([user, follow])
    >>> follow.found
    {'followerId': 'User', 'followeeId': 'User'}
    """
    owners = _owners(entities)
    by_name = {e.name: e for e in entities}
    for entity in entities:
        beside = _beside(entity, by_name)
        for attribute in entity.attributes:
            if attribute in entity.constants:
                continue
            owner = _same_name(entity, attribute, owners, beside)
            if owner is None and attribute not in owners and not _named_after(attribute, entity):
                owner = _role(attribute, owners, entities)
            if owner:
                entity.found[attribute] = _written(*owner)
        _by_relationship(entity, entities, owners)


Owner = tuple[Shape, str]


def _beside(entity: Shape, by_name: Mapping[str, Shape]) -> set[str]:
    """Attributes that are also part of the id of its parent, or of an entity in the same read."""
    parent = by_name.get(entity.parent)
    found = set(parent.id) if parent else set()
    return found | {a for a, other in entity.read_with if other in by_name and a in by_name[other].id}


def _written(owner: Shape, attribute: str) -> str:
    return owner.name if len(owner.id) == 1 else f"{owner.name}.{attribute}"


def _owners(entities: Sequence[Shape]) -> dict[str, Owner]:
    """The entity that owns each identifying attribute: the same attribute of others holds its id."""
    names = dict.fromkeys(a for e in entities for a in e.id)
    found: dict[str, Owner] = {}
    for name in names:
        if owner := _one([e for e in entities if e.id == (name,) and name not in e.constants], name):
            found[name] = owner, name
    for name in names:
        if name in found:
            continue
        holders = [e for e in entities if name in e.id and name not in e.constants]
        if _role(name, found, entities) and not any(_named_after(name, e) for e in holders):
            continue
        # Its owner is the entity that it is named after, or whose other parts of the id all come from elsewhere.
        # An edge between two entities owns neither of their ids.
        own = [
            e
            for e in holders
            if _named_after(name, e) or (not _between(e) and all(o in found for o in e.id if o != name))
        ]
        if owner := _one(own, name):
            found[name] = owner, name
    return found


def _between(entity: Shape) -> bool:
    return re.match(r"[MN]:[MN]\b", entity.relationship) is not None


def _one(candidates: Sequence[Shape], attribute: str) -> Shape | None:
    """The only candidate that is not another one's child; of several, the one that the attribute is named after."""
    names = {e.name for e in candidates}
    top = [e for e in candidates if e.parent not in names or e.parent == e.name]
    if len(top) > 1:
        top = [e for e in top if _named_after(attribute, e)]
    return top[0] if len(top) == 1 else None


def _plain(name: str) -> str:
    return name.replace("_", "").replace("-", "").lower()


def _named_after(attribute: str, entity: Shape) -> bool:
    return _plain(attribute) in {_plain(entity.name), f"{_plain(entity.name)}id"}


def _same_name(entity: Shape, attribute: str, owners: dict[str, Owner], beside: set[str]) -> Owner | None:
    """The target of `Order.customerId`, if `customerId` identifies a Customer."""
    owner = owners.get(attribute)
    if owner is None or owner[0] is entity:
        return None
    certain = (
        attribute in entity.id
        or entity.mentions(owner[0].name)
        or _named_after(attribute, owner[0])
        or attribute in beside
    )
    likely = attribute.lower() not in _GENERIC and _IDENTIFYING.search(attribute)
    return owner if certain or likely else None


def _role(attribute: str, owners: dict[str, Owner], entities: Sequence[Shape]) -> Owner | None:
    """The target of `likingUsername`, if `username` identifies a User; of `userId`, if a User has the id `id`."""
    endings = [(_plain(e.name) + _plain(e.id[0]), (e, e.id[0])) for e in entities if len(e.id) == 1]
    endings += [(_plain(name), owner) for name, owner in owners.items() if name.lower() not in _GENERIC]
    matches = [(len(ending), owner) for ending, owner in endings if _ends_with_word(attribute, ending)]
    best = max((length for length, _ in matches), default=0)
    found = {owner[0].name: owner for length, owner in matches if length == best}
    return next(iter(found.values())) if len(found) == 1 else None


def looks_generated(attribute: str, of: str = "", alone: bool = True) -> bool:
    """Whether an identifying attribute has the name of a generated id: of any entity, or of the entity `of`.

    As one of several parts it is the entity's own only if the entity's name ends with it: a device's log has the id of
    a device.

    >>> list(filter(looks_generated, ("orderId", "OrderID", "id", "token_uuid", "paid", "username", "isbn")))
    ['orderId', 'OrderID', 'id', 'token_uuid']
    >>> looks_generated("equipId", "Equipment"), looks_generated("authorId", "TimelineEntry")
    (True, False)
    >>> looks_generated("deviceId", "DeviceLog", alone=False)
    False
    """
    *words, last = _words(attribute) or [""]
    stem, name = "".join(words), _plain(of)
    return last in _MADE_UP and (not of or (stem in name if alone else name.endswith(stem)))


def _words(attribute: str) -> list[str]:
    return [w.lower() for w in re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z0-9]+|[A-Z]", attribute)]


def _ends_with_word(attribute: str, ending: str) -> bool:
    """Whether the attribute ends with these letters, at the beginning of a word."""
    words = _words(attribute)
    return any("".join(words[at:]) == ending for at in range(len(words)))


def _by_relationship(entity: Shape, entities: Sequence[Shape], owners: dict[str, Owner]) -> None:
    """Resolves `M:N User-User`: the unresolved parts of the id hold the ids of both sides."""
    match = re.search(r"\b[MN]:[MN]\s+(\w+)\s*-\s*(\w+)", entity.relationship)
    known = {e.name: e for e in entities if len(e.id) == 1}
    if not match or match[1] not in known or match[2] not in known or entity.name in {match[1], match[2]}:
        return
    sides = [match[1], match[2]]
    for reference in entity.found.values():
        if reference in sides:
            sides.remove(reference)
    left = [a for a in entity.id if a not in entity.found and owners.get(a, (entity, a))[0] is entity]
    if len(left) == len(sides) and len(set(sides)) == 1:
        entity.found |= dict.fromkeys(left, sides[0])
