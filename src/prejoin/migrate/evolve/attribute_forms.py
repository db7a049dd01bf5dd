"""Compares the attributes of two designs: what each is in the versions between, and what its items need.

An attribute is required, has a default, is optional, or is in one of the designs only. `prepare` has to read what OLD
and NEW write, and has to write what NEW can read:

    OLD        NEW        `prepare`                          items, before NEW is deployed
    required   optional   optional                           -
    default    required   as OLD                             get the default of OLD
    default    optional   as OLD                             get the default of OLD
    optional   default    optional, writes the default       get the default of NEW
    optional   required   optional, refuses to leave it out  are verified: one without it is reported
    -          default    as NEW                             get the default of NEW

and the same for the values of an enum: `prepare` reads the members of both designs, and refuses to write one that NEW
does not have.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Literal

from msgspec.structs import replace

from prejoin.constructs.registry import maintained
from prejoin.design.mapping.addressing import placing
from prejoin.design.model import TABLE, Design, Facet, Item, NextAttribute, ProjectionKind
from prejoin.diagnostics import Diagnostic
from prejoin.keys import fields_of
from prejoin.migrate import codes
from prejoin.types import STRING, Kind, Type
from prejoin.workload.model import Attribute, Entity

_OTHER_WAY = "add an attribute with another name, fill it, and drop the old one in a later change"

_OTHER_ID = (
    "keep it, add another entity with the new id, and an attribute for it to entities that refer to this one; "
    "`prejoin evolve backfill --function` computes both"
)


@dataclass(frozen=True)
class AttributeFill:
    """An attribute that items may lack although they have a value for it: the default of one of the designs."""

    entity: str
    attribute: str
    default_of: Literal["OLD", "NEW"]
    only_before_new: bool = False
    """Whether NEW leaves the attribute out on purpose, so that an item without it stays as it is once NEW runs."""


@dataclass(frozen=True)
class RenamedMember:
    """A member of an enum that has another name in NEW."""

    entity: str
    attribute: str
    old: str
    new: str

    def __str__(self) -> str:
        return f"{self.old} of {self.entity}.{self.attribute}"


@dataclass
class AttributeComparison:
    """The differences of the attributes of two designs."""

    old: Design
    new: Design
    refusals: list[Diagnostic] = field(default_factory=list)
    fills: list[AttributeFill] = field(default_factory=list)
    verified_attributes: list[tuple[str, str]] = field(default_factory=list)
    """Attributes, by entity, for which each item is looked at before NEW is deployed."""
    dropped_attributes: list[tuple[str, str]] = field(default_factory=list)
    """Attributes, by entity, that NEW does not have."""
    attribute_renames: list[tuple[str, str, str]] = field(default_factory=list)
    """Entity, name in OLD and name in NEW of renamed attributes."""
    renamed_members: list[RenamedMember] = field(default_factory=list)
    next_attributes: dict[str, list[NextAttribute]] = field(default_factory=dict)
    """What `prepare` requires of its writes, by entity."""
    notes: list[str] = field(default_factory=list)

    def entities(self, old: Entity, new: Entity) -> tuple[Entity, Entity]:
        """The entity in `prepare` and in `switch`."""
        prepare: list[Attribute] = []
        switch: list[Attribute] = []
        new_names = renamed_attributes(old, new)
        for name in dict.fromkeys(attribute.name for attribute in (*old.attributes, *new.attributes)):
            was, now = old.attribute(name), new.attribute(name)
            if name in new_names.values():
                continue
            if was and name in new_names:
                now = new.attribute(new_names[name])
                assert now is not None
                self._rename(old, was, now)
                prepare += [was, _as_mirror(now)]
                switch += [_as_mirror(was), now]
                continue
            if was and now:
                versions = self._versions_of(old, was, now)
                prepare.append(versions[0])
                switch.append(versions[1])
                continue
            only = was or now
            assert only is not None
            self._check_single(only, "OLD" if was else "NEW", old, new)
            prepare.append(only)
            switch.append(only)
        return replace(old, attributes=tuple(prepare)), replace(new, attributes=tuple(switch))

    # --- In one of the designs --------------------------------------------------------------------------------------

    def _check_single(self, only: Attribute, side: Literal["OLD", "NEW"], old: Entity, new: Entity) -> None:
        entity = old.name
        is_required = only.id or not (only.optional or only.default is not None)
        name = f"{entity}.{only.name}"
        if is_required and side == "OLD":
            message = f"{name} is required, and code of NEW does not write it"
            self._refuse(message, "make it optional in a change before this one, and drop it in this one")
        elif is_required:
            message = f"{name} is required, and code of OLD does not write it"
            way = "make it optional, or give it a default; the change after this one can require it"
            for attribute in old.attributes:
                if attribute.type == only.type and new.attribute(attribute.name) is None:
                    way += f". If it is the new name of {attribute.name}, write `renamed from {attribute.name}`"
                    break
            self._refuse(message, way)
        elif side == "NEW" and only.default is not None:
            self.fills.append(AttributeFill(entity, only.name, "NEW"))
        elif side == "OLD" and only.type.kind is Kind.CONTENT:
            self.notes.append(f"the contents of {name} stay: delete them with code of OLD before the change")
        elif side == "OLD":
            self.dropped_attributes.append((entity, only.name))

    # --- Renamed ----------------------------------------------------------------------------------------------------

    def _rename(self, old: Entity, was: Attribute, now: Attribute) -> None:
        name = f"{old.name}.{was.name}"
        special = [
            word
            for word, is_special in (
                ("an id", was.id or now.id),
                ("the TTL attribute", was.ttl or now.ttl),
                ("a set", was.type.kind is Kind.SET),
                ("a content", was.type.kind is Kind.CONTENT),
                ("the version of a history", bool(old.history) and was.name in maintained(old)),
                ("a sharded counter", any(was.name in counter.attributes for counter in self.old.counters)),
                ("kept equal to another attribute", bool(was.follows or now.follows)),
            )
            if is_special
        ]
        if special:
            message = f"{name} is {special[0]}, and cannot be renamed while the code runs"
            self._refuse(message, f"keep its name, or {_OTHER_WAY}")
        elif (was.type, was.optional, was.default) != (now.type, now.optional, now.default):
            message = f"{name} becomes {now.name}, and gets another type, default or `optional`"
            self._refuse(message, "rename it in one change, and make the other change before or after it")
        self.attribute_renames.append((old.name, was.name, now.name))

    # --- In both ----------------------------------------------------------------------------------------------------

    def _versions_of(self, old: Entity, was: Attribute, now: Attribute) -> tuple[Attribute, Attribute]:
        members = renamed_members(was, now)
        if members:
            self._rename_members(old, was, now, members)
            return was, now
        readable = type_of_both(was.type, now.type)
        if readable is None or was.id != now.id or was.ttl != now.ttl:
            self._refuse_other_form(f"{old.name}.{now.name}", was, now)
            return was, now
        is_in_key = is_placing(old.name, was.name, self.old) or is_placing(old.name, now.name, self.new)
        if is_in_key and {was.type.kind, now.type.kind} == {Kind.INTEGER, Kind.DECIMAL}:
            # Keys hold integers and decimals in different forms.
            message = f"{old.name}.{now.name} is {was.type} in OLD and {now.type} in NEW, and it is part of a key"
            self._refuse(message, _OTHER_WAY)
        prepare = self._with_new_default(old.name, replace(was, type=readable), now, is_in_key=is_in_key)
        becomes_required = was.optional and not now.optional
        lost_values = _lost_values(was.type, now.type)
        if becomes_required or lost_values:
            self._require(old, now, becomes_required, lost_values)
        return prepare, now

    def _refuse_other_form(self, name: str, was: Attribute, now: Attribute) -> None:
        """Refuses an attribute of which no code can read what both designs write."""
        fix = _OTHER_WAY
        if was.id and now.id:
            fix = _OTHER_ID
        elif was.type.kind is Kind.INTEGER and now.type.kind is Kind.NUMBER:
            fix = "make it a decimal, which holds every integer"
        self._refuse(f"{name} is {_description(was)} in OLD and {_description(now)} in NEW", fix)

    def _with_new_default(self, entity: str, was: Attribute, now: Attribute, *, is_in_key: bool) -> Attribute:
        """The attribute of `prepare`, optional or with a default as NEW needs it. Notes defaults to be written."""
        if was.optional and not now.optional:
            if now.default is not None:
                self.fills.append(AttributeFill(entity, now.name, "NEW"))
            return replace(was, default=now.default)
        if was.default is not None and was.default != now.default:
            # Items without it mean the default of OLD, which code of NEW does not know.
            if now.optional and is_in_key:
                message = f"{entity}.{now.name} has a default in OLD, is optional in NEW, and is part of a key"
                self._refuse(message, "drop the default in a change before this one, so that each item has a value")
            only_before_new = now.optional or now.default is not None
            self.fills.append(AttributeFill(entity, now.name, "OLD", only_before_new))
        elif now.optional and was.default is None:
            return replace(was, optional=True)
        return was

    def _rename_members(self, old: Entity, was: Attribute, now: Attribute, members: Mapping[str, str]) -> None:
        """Notes members with another name in NEW. Keys that cannot have both names are refused."""
        name = f"{old.name}.{now.name}"
        words = " and ".join(f"{before} becomes {after}" for before, after in members.items())
        in_new_names = tuple(members.get(value, value) for value in was.type.values)
        default = members.get(was.default, was.default) if was.default is not None else None
        forms = [(frozenset(in_new_names), was.optional, default, was.id), (frozenset(now.type.values), now.optional)]
        if forms[0] != (*forms[1], now.default, now.id):
            message = f"{name}: {words}, and it gets other members, another default or `optional`"
            self._refuse(message, "rename in one change, and make the other change before or after it")
        obstacles = [
            *(["it follows another attribute"] if was.follows or now.follows else []),
            *obstacles_to_two_words(old.name, was.name, self.old),
            *obstacles_to_two_words(old.name, now.name, self.new),
        ]
        if obstacles:
            first = next(iter(members.items()))
            fix = (
                f"rename it in two changes: add {first[1]} to the enum, let the application write it and correct the "
                f"items, then drop {first[0]}"
            )
            self._refuse(f"{name}: {words}, and {obstacles[0]}", fix)
        self.renamed_members += [RenamedMember(old.name, now.name, *pair) for pair in members.items()]

    def _require(self, old: Entity, now: Attribute, is_required: bool, lost_values: tuple[str, ...]) -> None:
        """Notes what `prepare` must not write any more, and which items are verified."""
        name = f"{old.name}.{now.name}"
        must_be_verified = bool(lost_values) or now.default is None
        if must_be_verified:
            if old.history:
                message = f"versions in the history of {old.name} may not fit {now.name} of NEW"
                way = "give it a default in NEW" if not lost_values else "keep the members of the enum"
                self._refuse(message, way)
            self.verified_attributes.append((old.name, now.name))
        values = now.type.values if lost_values else ()
        self.next_attributes.setdefault(old.name, []).append(NextAttribute(now.name, is_required, values))
        if is_required and now.default is None:
            self.notes.append(f"`prepare` refuses writes that leave out {name}: the application has to give it")
        if lost_values:
            self.notes.append(f"`prepare` refuses to write {' and '.join(lost_values)} as {name}")

    def _refuse(self, message: str, fix: str) -> None:
        self.refusals.append(codes.CHANGED_ATTRIBUTE.at(None, message, fix))


def renamed_attributes(old: Entity, new: Entity) -> dict[str, str]:
    """The names in NEW of renamed attributes, by their names in OLD. The way back is the same with both exchanged."""

    def is_renamed(before: str, after: str) -> bool:
        is_in_both = old.attribute(after) is not None or new.attribute(before) is not None
        return not is_in_both and old.attribute(before) is not None and new.attribute(after) is not None

    forward = {now.renamed_from: now.name for now in new.attributes if now.renamed_from}
    back = {was.name: was.renamed_from for was in old.attributes if was.renamed_from}
    return {before: after for before, after in (back | forward).items() if is_renamed(before, after)}


def renamed_members(was: Attribute, now: Attribute) -> dict[str, str]:
    """The names in NEW of renamed members of an enum, by their names in OLD. The way back is the same."""
    if was.type.kind is not Kind.ENUM or now.type.kind is not Kind.ENUM:
        return {}
    in_old, in_new = frozenset(was.type.values), frozenset(now.type.values)
    forward = {former: member for member, former in now.renamed_members}
    back = dict(was.renamed_members)
    old_only, new_only = in_old - in_new, in_new - in_old
    return {before: after for before, after in (back | forward).items() if before in old_only and after in new_only}


def obstacles_to_two_words(entity: str, attribute: str, design: Design) -> Iterator[str]:
    """Reasons why a member of an enum cannot have two names for a time.

    A query of an index by the member reads both keys. But an item has one key in the table, a copy is found by its key,
    and a guard excludes one value.
    """
    for item in design.items:
        if item.entity == entity:
            for facet in item.facets:
                yield from _obstacles_in_key(attribute, item, facet, design)
    if any(guard.entity == entity and attribute in guard.attributes for guard in design.guards):
        yield "it is unique, alone or with others"


def _obstacles_in_key(attribute: str, item: Item, facet: Facet, design: Design) -> Iterator[str]:
    is_in_pk, is_in_sk = _is_in(attribute, facet.pk), _is_in(attribute, facet.sk)
    if not (is_in_pk or is_in_sk):
        return
    slot = design.slot(facet.slot)
    if item.copy or facet.slot == TABLE:
        yield f"it is part of a key of {'the copy ' if item.copy else ''}{item.name}"
    elif is_in_pk and is_in_sk:
        yield f"it is twice in the key in {facet.slot}"
    elif slot and slot.projection.kind is not ProjectionKind.ALL:
        yield f"it is part of a key in {slot.name}, which does not hold all attributes"


def _is_in(attribute: str, templates: tuple[str, ...]) -> bool:
    return any(attribute in fields_of(text) for text in templates)


def _as_mirror(attribute: Attribute) -> Attribute:
    """The other name of an attribute, which is only written."""
    return replace(attribute, optional=True, default=None, unique=False, follows=None, copy_of="", snapshot_of="")


def type_of_both(was: Type, now: Type) -> Type | None:
    """The type that reads what both designs write; None if there is none."""
    if was == now:
        return was
    kinds = was.kind, now.kind
    if kinds == (Kind.ENUM, Kind.ENUM):
        return replace(was, values=tuple(dict.fromkeys((*was.values, *now.values))))
    if set(kinds) == {Kind.ENUM, Kind.STRING}:
        return STRING
    return now if kinds == (Kind.INTEGER, Kind.DECIMAL) else None


def _lost_values(was: Type, now: Type) -> tuple[str, ...]:
    """The values, in words, that NEW does not accept any more."""
    if now.kind is not Kind.ENUM:
        return ()
    if was.kind is Kind.ENUM:
        return tuple(value for value in was.values if value not in now.values)
    return ("other texts",)


def is_placing(entity: str, attribute: str, design: Design) -> bool:
    """Whether an attribute is part of a key, or of a unique value."""
    for item in design.items:
        if item.entity == entity and any(attribute in placing(facet) for facet in item.facets):
            return True
    return any(guard.entity == entity and attribute in guard.attributes for guard in design.guards)


def _description(attribute: Attribute) -> str:
    flags = [name for name, is_set in (("id", attribute.id), ("ttl", attribute.ttl)) if is_set]
    return " ".join([str(attribute.type), *flags])
