"""Converts writes and deletes of a corpus file into actions on items."""

from __future__ import annotations

import re
from collections.abc import Sequence

import msgspec

from corpus.reads import OWN, convert_description, convert_inputs, convert_rate, names_of_entities, own_columns
from corpus.source import Fields
from prejoin.types import Kind
from prejoin.workload.conditions import params_of
from prejoin.workload.grammar.lexer import WORD, Inexact
from prejoin.workload.grammar.writes import read_checks
from prejoin.workload.lookup import root
from prejoin.workload.model import (
    Absence,
    Action,
    Attribute,
    Change,
    ChangeOp,
    Comparison,
    Condition,
    Entity,
    Input,
    Presence,
    Uniqueness,
    Value,
    Verb,
    Workload,
    Write,
)

_GONE = {Verb.DELETE, Verb.EXPIRE}
_ACTIONS = {
    **dict.fromkeys(("create", "insert"), Verb.CREATE),
    **dict.fromkeys(("put", "replace"), Verb.PUT),
    "upsert": Verb.UPSERT,
    **dict.fromkeys(("update", "increment", "patch"), Verb.UPDATE),
    **dict.fromkeys(("delete", "remove"), Verb.DELETE),
    **dict.fromkeys(("ttl", "expire"), Verb.EXPIRE),
}
_VERBS = {
    **dict.fromkeys(("delete", "remove", "unlike", "unfollow", "leave", "drop", "expire", "clear"), Verb.DELETE),
    **dict.fromkeys(("update", "set", "change", "edit", "patch", "rename", "move", "mark", "modify"), Verb.UPDATE),
    **dict.fromkeys(("put", "save", "replace", "store"), Verb.PUT),
    "upsert": Verb.UPSERT,
}
_DOING = re.compile(r"(?:er|or|ing)(?![a-z])")
_COUNTER = re.compile(r"count(?:er)?s?\Z", re.IGNORECASE)


def is_delete(fields: Fields) -> bool:
    return _verb(fields) in _GONE


def _verb(fields: Fields) -> Verb:
    """The verb for the first entity, from the action or the first word of the name."""
    words = re.findall(r"[a-z]+", f"{fields.word('action')} {fields.word('kind')}".lower())
    verb = next((_ACTIONS[word] for word in words if word in _ACTIONS), None)
    if verb:
        return verb
    if fields.word("action") and not {"transaction", "transact", "batch"} & set(words):
        message = f"`{fields.word('action')}` is not create, put, update, delete, transaction or ttl"
        raise fields.error("action", message)
    first = re.match(r"[A-Za-z][a-z]*", fields.words("name"))
    return _VERBS.get(first[0].lower() if first else "", Verb.CREATE)


def convert_write(fields: Fields, workload: Workload) -> Write:
    entities = names_of_entities(fields, workload)
    given = convert_inputs(fields)
    actions = _Actions(fields, workload, entities, given).all()
    set_by_input = [c.attribute for a in actions for c in a.changes if c.op is ChangeOp.SET and c.value is None]
    inputs = _with(given, set_by_input)
    checks, words = _checks(fields, workload, entities, frozenset(i.attribute for i in inputs))
    inputs = _with(inputs, [name for check in checks for name in sorted(params_of(check))])
    rate, frequency = convert_rate(fields)
    fields.get("returns")
    return Write(
        id=fields.word("id"),
        name=fields.words("name"),
        entities=entities,
        description=convert_description(fields),
        inputs=inputs,
        actions=tuple(actions),
        # Sources name transactions; everything else writes item by item.
        atomic="transact" in fields.word("action").lower(),
        checks=checks,
        rate=rate,
        verbatim=own_columns(fields, dict(zip(OWN[1:], (frequency, words), strict=True))),
    )


def changed_attributes(entries: Sequence[Fields], attributes: dict[str, tuple[str, ...]]) -> dict[str, set[str]]:
    """The attributes of each entity that some pattern updates, and that are therefore mutable."""
    changed: dict[str, set[str]] = {name: set() for name in attributes}
    for fields in entries:
        names = [n for n in fields.names("entities") if n in attributes]
        verb = _verb(fields) if fields.word("kind") not in {"", "read"} else None
        for attribute in (*fields.names("sets"), *fields.names("removes")) if verb else ():
            holders = [n for n in names if attribute in attributes[n]]
            if verb in {Verb.CREATE, Verb.PUT} and len(holders) > 1:
                holders = holders[1:]
            if holders and not (verb in {Verb.CREATE, Verb.PUT} and holders[0] == names[0]):
                changed[holders[0]].add(attribute)
    return changed


def _with(inputs: tuple[Input, ...], names: Sequence[str]) -> tuple[Input, ...]:
    known = {i.attribute for i in inputs}
    return (*inputs, *(Input(name) for name in dict.fromkeys(names) if name not in known))


class _Actions:
    """The actions of one write."""

    def __init__(self, fields: Fields, workload: Workload, entities: Sequence[str], given: Sequence[Input]) -> None:
        self.fields = fields
        self.workload = workload
        self.entities = [e for e in map(workload.entity, entities) if e]
        self.first = self.entities[0]
        self.given = {i.attribute for i in given}
        self.verb = _verb(fields)
        self.step = -1 if self.verb in _GONE else 1
        self.changes = self._assigned()

    def all(self) -> list[Action]:
        return [action for entity in self.entities for action in self._of(entity)]

    def _assigned(self) -> dict[str, list[Change]]:
        """Each attribute that is set or removed, with the entity it belongs to."""
        found: dict[str, list[Change]] = {}
        for name, op in (
            *((n, ChangeOp.SET) for n in self.fields.names("sets")),
            *((n, ChangeOp.REMOVE) for n in self.fields.names("removes")),
        ):
            holders = [e for e in self.entities if e.attribute(name)]
            if not holders:
                raise self.fields.error("sets" if op is ChangeOp.SET else "removes", f"no entity of it has `{name}`")
            if self.verb in {Verb.CREATE, Verb.PUT} and len(holders) > 1:
                holders = holders[1:]  # a new item has all attributes anyway
            change = Change(name, op)
            if op is ChangeOp.SET and (attribute := holders[0].attribute(name)) and self._counts(attribute):
                change = self._counted(name)
            found.setdefault(holders[0].name, []).append(change)
        return found

    def _of(self, entity: Entity) -> list[Action]:
        changes = self.changes.get(entity.name, [])
        if entity is self.first:
            if self.verb is Verb.UPSERT:
                return [self._upsert(entity, changes)]
            if self.verb is Verb.UPDATE:
                changes = changes or self._mutable(entity) or _anything(entity)
                return self._updates(entity, changes) if changes else [Action(Verb.PUT, entity.name)]
            many = self.verb in _GONE and not self._addressed(entity)
            return [Action(self.verb, entity.name, many, tuple(changes))]
        if changes:
            return self._updates(entity, changes)
        verb = Verb.PUT if self.verb in {Verb.UPDATE, Verb.UPSERT} else self.verb
        if self.verb is not Verb.UPDATE and self._belongs(entity):
            return [Action(verb, entity.name, self._several(entity) or not self._addressed(entity))]
        mutable = self._mutable(entity)
        if mutable:
            return self._updates(entity, mutable)
        return [Action(verb, entity.name, not self._addressed(entity))]

    def _upsert(self, entity: Entity, changes: Sequence[Change]) -> Action:
        """An upsert, if it sets enough to create the item; otherwise a put, which has all attributes."""
        sets = {change.attribute for change in changes}
        needed = [a for a in entity.attributes if not (a.id or a.optional or a.default is not None)]
        unique = bool(entity.unique) or any(a.unique for a in entity.attributes if not a.id)
        if not sets or unique or not all(a.name in sets for a in needed) or not self._addressed(entity):
            return Action(Verb.PUT, entity.name)
        return Action(Verb.UPSERT, entity.name, changes=tuple(changes))

    def _updates(self, entity: Entity, changes: Sequence[Change]) -> list[Action]:
        ids = [root(self.workload, entity, a) for a in entity.id]
        sides = dict.fromkeys(
            a.name
            for e in self.entities
            for a in e.attributes
            if a.name in self.given and root(self.workload, e, a) in ids
        )
        counts = all(c.op in {ChangeOp.ADD, ChangeOp.SUBTRACT} for c in changes)
        if counts and len(entity.id) == 1 and len(sides) == len(changes) == 2:
            whose = _ends([c.attribute for c in changes], list(sides))
            return [Action(Verb.UPDATE, entity.name, changes=(c,), by=(whose[c.attribute],)) for c in changes]
        many = not self._addressed(entity) and self.verb in _GONE and any(map(self._several, self.entities))
        return [Action(Verb.UPDATE, entity.name, many, tuple(changes))]

    def _addressed(self, entity: Entity) -> bool:
        """Whether the inputs contain the id, by its own names or by attributes with the same values."""
        roots = {root(self.workload, e, a) for e in self.entities for a in e.attributes if a.name in self.given}
        return all(a.name in self.given or root(self.workload, entity, a) in roots for a in entity.id)

    def _belongs(self, entity: Entity) -> bool:
        """Whether it holds the first entity's id, as an order's items do."""
        return any(a.references.partition(".")[0] == self.first.name for a in entity.attributes)

    def _several(self, entity: Entity) -> bool:
        return entity is not self.first and self._belongs(entity) and len(entity.id) > len(self.first.id)

    def _mutable(self, entity: Entity) -> list[Change]:
        """Attributes that an update without listed changes can change; of several counters, those it names."""
        mutable = [a for a in entity.attributes if a.mutable and not a.id]
        spoken = " ".join((self.fields.words("name"), self.fields.words("description"), *self.given)).lower()
        counters = [a for a in mutable if self._counts(a)]
        named = [a for a in counters if _COUNTER.sub("", a.name.lower())[:5] in spoken]
        left = [a for a in mutable if a not in counters or a in named or not named]
        return [self._counted(a.name) if self._counts(a) else Change(a.name) for a in left]

    def _counts(self, attribute: Attribute) -> bool:
        """Whether a number is a count of items that the write adds or removes."""
        other = len(self.entities) > 1 and self.verb is not Verb.UPDATE
        return other and attribute.type.numeric and _COUNTER.search(attribute.name) is not None

    def _counted(self, name: str) -> Change:
        return Change(name, ChangeOp.ADD if self.step > 0 else ChangeOp.SUBTRACT, Value(const="1"))


def _ends(counters: Sequence[str], sides: Sequence[str]) -> dict[str, str]:
    """The end of an edge that each of two counters belongs to: followers are counted on the followed user.

    >>> _ends(["followerCount", "followingCount"], ["followerId", "followeeId"])
    {'followerCount': 'followeeId', 'followingCount': 'followerId'}
    """
    doing = [side for side in sides if _DOING.search(side)]
    first, second = sides if sides[-1:] != doing else reversed(sides)  # actor and target
    counts_doers = [name for name in counters if not re.search(r"ings?(?![a-z])", name)]
    order = (second, first) if counts_doers[:1] == list(counters[:1]) else (first, second)
    return dict(zip(counters, order, strict=True))


def _anything(entity: Entity) -> list[Change]:
    """The changes of an unspecified update: all attributes that are not part of the id."""
    return [Change(a.name) for a in entity.attributes if not a.id and a.mutable is not False]


# --- Conditions -------------------------------------------------------------------------------------------------------


def _checks(
    fields: Fields, workload: Workload, entities: Sequence[str], inputs: frozenset[str]
) -> tuple[tuple[Condition, ...], str]:
    """The exact conditions, and the other ones as words."""
    found: list[Condition] = []
    words: list[str] = []
    text = fields.words("condition")
    for part in (p.strip() for p in re.split(r"[,;]", text) if p.strip()):
        checks = _exact(part, workload, entities, inputs)
        found += checks or []
        words += [] if checks else [part]
    return tuple(found), "; ".join(words)


def _exact(part: str, workload: Workload, entities: Sequence[str], inputs: frozenset[str]) -> list[Condition] | None:
    if match := re.fullmatch(r"(?:only |at most )?one (\w+) per .+", part, re.IGNORECASE):
        name = next((e.name for e in workload.entities if e.name.lower() == match[1].lower()), None)
        return [Absence(entity=name)] if name else None
    try:
        checks = read_checks(part, inputs)
    except Inexact:
        return None
    found = []
    for check in checks:
        exact = _resolved(check, workload, entities)
        if exact is None:
            return None
        found.append(exact)
    return found or None


def _resolved(check: Condition, workload: Workload, entities: Sequence[str]) -> Condition | None:
    """The condition with the names of the entities; None if a name is not found, or if it has parts."""
    if not isinstance(check, Presence | Absence | Comparison | Uniqueness):
        return None
    entity = next((e for e in workload.entities if e.name.lower() == check.entity.lower()), None)
    if check.entity and entity is None:
        return None
    if not check.attribute:
        return msgspec.structs.replace(check, entity=entity.name if entity else entities[0])
    holders = [entity] if entity else [e for e in map(workload.entity, entities) if e]
    for holder in holders:
        if attribute := _attribute(holder, check.attribute):
            name = holder.name if entity or holder.name != entities[0] else ""
            found = msgspec.structs.replace(check, entity=name, attribute=attribute.name)
            if not isinstance(found, Comparison):
                return found
            values = tuple(_input_or_constant(v, attribute) for v in found.values)
            return msgspec.structs.replace(found, values=values)
    return None


def _attribute(entity: Entity, name: str) -> Attribute | None:
    """The attribute with the name, ignoring case, or ending with it: `token` of `sessionToken`."""
    exact = [a for a in entity.attributes if a.name.lower() == name.lower()]
    ending = [a for a in entity.attributes if a.name.lower().endswith(name.lower())]
    return exact[0] if exact else ending[0] if len(ending) == 1 else None


def _input_or_constant(value: Value, attribute: Attribute) -> Value:
    """A word that is neither a member of an enum nor a number is an input: `Currency >= minAmount`."""
    word = value.const or ""
    upper = word.isupper() or word.lower() in {"true", "false"}
    member = attribute.type.kind is Kind.ENUM and word in attribute.type.values
    if WORD.match(word) and not member and not upper:
        return Value(param=word)
    return value if value.const is None else Value(const=str(word))
