"""`plan_transition`: the versions of the code between two designs of one table.

An index key or a copy can be read only if every running version of the code writes it, and all older items have it.
Code is deployed gradually, so two neighbouring versions run together for a time. Hence the order: write both, backfill,
read the new, write only the new. That makes two versions between OLD and NEW:

    prepare   writes the keys, copies and guards of both designs, and reads as OLD does
    switch    writes the keys and copies of both designs, and reads as NEW does

In each, what is not read is `write_only`. An entity with another key in the table has two items in both versions, its
own and a copy with all attributes; `switch` makes the copy the own item, and the own item the copy.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from dataclasses import replace as replace_version
from functools import cached_property

import msgspec
from msgspec.structs import replace

from prejoin.design.counters import keeps_counters, with_kept
from prejoin.design.mapping.addressing import placing
from prejoin.design.mapping.facets import is_natural
from prejoin.design.mapping.map_patterns import map_patterns
from prejoin.design.model import (
    TABLE,
    Call,
    Design,
    Facet,
    Item,
    MirroredAttribute,
    Operation,
    ReadMember,
    Request,
    Slot,
    design_with_names,
)
from prejoin.diagnostics import Diagnostic
from prejoin.keys import TemplateError, fields_of, renamed
from prejoin.migrate import codes
from prejoin.migrate.evolve.attribute_forms import (
    AttributeComparison,
    AttributeFill,
    RenamedMember,
    renamed_attributes,
    renamed_members,
)
from prejoin.pipeline.errors import InputError, Source
from prejoin.proof.package import LoadedPackage, load_package
from prejoin.render.python.package import Options
from prejoin.table.errors import SchemaError
from prejoin.workload.conditions import all_leaves, operator_of
from prejoin.workload.contents import contents_of
from prejoin.workload.entity_names import entity_renames, with_entity_names
from prejoin.workload.model import (
    RANGES,
    Entity,
    Read,
    Result,
    Workload,
)

TWIN = "twin"
"""The copy that is the item of an entity under its other key."""


@dataclass(frozen=True)
class CodeVersion:
    """One version of the application's code: a design, and the workload of its methods."""

    name: str
    workload: Workload
    design: Design

    @cached_property
    def package(self) -> LoadedPackage:
        """The generated package, loaded."""
        return load_package(self.workload, self.design, Options(asynchronous=False))


@dataclass(frozen=True)
class Transition:
    """The versions between two designs. Each may run beside the one before it and the one after it."""

    old: CodeVersion
    prepare: CodeVersion
    switch: CodeVersion
    new: CodeVersion
    needs_prepare: bool
    """Whether OLD cannot run beside `switch`."""
    needs_switch: bool
    """Whether `prepare` cannot run beside NEW."""
    notes: tuple[str, ...] = ()
    change: str = ""
    """The id of the change. It is the same for the way back from it."""
    fills: tuple[AttributeFill, ...] = ()
    """Attributes whose default has to be written into items that lack them."""
    verified: tuple[tuple[str, str], ...] = ()
    """Attributes, by entity, for which each item is looked at before NEW is deployed."""
    dropped: tuple[tuple[str, str], ...] = ()
    """Attributes, by entity, that `clean` removes from the items."""
    renamed: tuple[tuple[str, str, str], ...] = ()
    """Entity, name in OLD and name in NEW of attributes that are written under both names for a time."""
    renamed_members: tuple[RenamedMember, ...] = ()
    """Members of enums that are read under both names for a time."""
    in_new_names: Transition | None = None
    """The same transition with all entities in the names of NEW, if some have other names in OLD."""

    @property
    def for_items(self) -> Transition:
        """The transition for the work on items, in which an entity has the same name in all versions."""
        return self.in_new_names or self

    @property
    def moved(self) -> tuple[str, ...]:
        """The entities whose key in the table changes."""
        return tuple(item.entity for item in self.for_items.prepare.design.items if item.change)

    @property
    def versions(self) -> tuple[CodeVersion, ...]:
        """The versions to deploy, in order."""
        between = [self.prepare] * self.needs_prepare + [self.switch] * self.needs_switch
        return (*between, self.new)

    @property
    def needs_backfill(self) -> bool:
        """Whether items lack something that NEW reads, or have to be looked at before NEW is deployed."""
        return self.needs_prepare or bool(self.fills) or bool(self.verified)

    @property
    def before_backfill(self) -> CodeVersion:
        """The version that has to run alone before the backfill: the first that writes all that NEW reads."""
        if self.renamed_members:
            return self.switch
        return self.prepare if self.needs_prepare else self.old

    @property
    def added(self) -> tuple[Slot, ...]:
        """Indexes to add."""
        return tuple(one for one in self.new.design.indexes if self.old.design.slot(one.name) is None)

    @property
    def removed(self) -> tuple[Slot, ...]:
        """Indexes to remove."""
        return tuple(one for one in self.old.design.indexes if self.new.design.slot(one.name) is None)


def design_id(version: CodeVersion) -> str:
    """A fingerprint of the keys, copies and guards of a design, and of the attributes that its items have."""
    design = version.design
    attributes = [[entity.name, _forms(entity)] for entity in version.workload.entities]
    parts = [design.slots, design.items, design.guards, design.counters, attributes]
    return hashlib.sha256(msgspec.json.encode(parts)).hexdigest()[:16]


def plan_transition(old: CodeVersion, new: CodeVersion, change: str = "") -> Transition:
    """The versions between two designs. Raises an `InputError` if a change cannot be made while the code runs.

    `change` is the id of the change that goes back from `old` to `new`; by default it is a new one.
    """
    change = change or hashlib.sha256(f"{design_id(old)} {design_id(new)}".encode()).hexdigest()[:12]
    names = renamed_entities(old, new)
    if not names:
        return _plan_transition(old, new, change)
    # The stored items do not depend on the names of entities. So each version is made in its own names.
    require_same_tenant(old, new, names)
    in_new_names = _plan_transition(with_names(old, names), new, change)
    in_old_names = _plan_transition(old, with_names(new, {now: was for was, now in names.items()}), change)
    renames = [f"{was} becomes {now}: its items stay as they are" for was, now in names.items()]
    return replace_version(
        in_new_names,
        old=old,
        prepare=in_old_names.prepare,
        notes=(*renames, *in_old_names.notes),
        in_new_names=in_new_names,
    )


def _plan_transition(old: CodeVersion, new: CodeVersion, change: str) -> Transition:
    """As `plan_transition`, of designs with the same names of entities."""
    found = _Comparison(old, new, change, AttributeComparison(old.design, new.design))
    found.settings()
    prepare_entities, switch_entities = found.entities()
    prepare_items, switch_items = found.items()
    found.require_none()
    # Code of OLD and `prepare` does not know entities that only NEW has, nor `switch` and NEW those that only OLD has.
    known_to_old = {name: one for name, one in prepare_entities.items() if old.workload.entity(name)}
    known_to_new = {name: one for name, one in switch_entities.items() if new.workload.entity(name)}
    found.meet_other_entities(old, new)
    found.meet_other_entities(new, old)
    prepare = CodeVersion(
        "prepare",
        _with_entities(old.workload, known_to_old),
        replace(
            old.design,
            slots=_slots(old.design, new.design),
            items=tuple(item for item in prepare_items if item.entity in known_to_old),
            guards=tuple(
                guard
                for guard in dict.fromkeys((*old.design.guards, *new.design.guards))
                if guard.entity in known_to_old
            ),
            counters=with_kept(old.design.counters, new.design.counters),
            stores=tuple(dict.fromkeys((*old.design.stores, *new.design.stores))),
        ),
    )
    with_all = replace(new.design, slots=_slots(new.design, old.design), items=switch_items)
    found.load(CodeVersion("switch", _with_entities(new.workload, switch_entities), with_all))
    items_of_new = tuple(item for item in switch_items if item.entity in known_to_new)
    switch = CodeVersion("switch", _with_entities(new.workload, known_to_new), replace(with_all, items=items_of_new))
    prepare, switch = found.mapped(prepare, old), found.mapped(switch, new)
    found.require_none()
    extra = [
        item
        for item in switch.design.items
        if item.whole or item.mirrored or any(facet.write_only for facet in item.facets)
    ]
    members = found.attributes.renamed_members
    grown = any(_class_of(prepare.workload.entity(one.name)) != _class_of(one) for one in old.workload.entities)
    more = [
        item
        for item in prepare.design.items
        if item.whole or item.next_attributes or any(f.write_only for f in item.facets)
    ]
    needs_prepare = bool(more) or grown or set(prepare.design.guards) != set(old.design.guards)
    attributes = found.attributes
    if members:
        found.require_only_members(needs_prepare, old, new)
    return Transition(
        old,
        prepare,
        switch,
        new,
        needs_prepare or bool(members),
        bool(extra) or bool(members),
        tuple(found.notes(prepare)),
        change,
        tuple(attributes.fills),
        tuple(attributes.verified),
        tuple(attributes.dropped),
        tuple(attributes.renamed),
        tuple(members),
    )


def renamed_entities(old: CodeVersion, new: CodeVersion) -> dict[str, str]:
    """The names in NEW of entities with another name in OLD. The way back is the same with both exchanged."""
    in_old, in_new = ([entity.name for entity in version.workload.entities] for version in (old, new))
    return entity_renames(in_old, in_new, new.workload, old.workload)


def renames_between(old: Workload, new: Workload) -> bool:
    """Whether entities, attributes or members of enums of a workload have another name in the next one."""
    names = entity_renames([one.name for one in old.entities], [one.name for one in new.entities], new, old)
    for entity in old.entities:
        now = new.entity(names.get(entity.name, entity.name))
        if now is None:
            continue
        if renamed_attributes(entity, now):
            return True
        for attribute in entity.attributes:
            other = now.attribute(attribute.name)
            if other and renamed_members(attribute, other):
                return True
    return bool(names)


def with_names(version: CodeVersion, names: Mapping[str, str]) -> CodeVersion:
    """The entities and items of a version with other names, for comparison. It has no methods."""
    design = replace(design_with_names(version.design, names), operations=())
    return CodeVersion(version.name, with_entity_names(version.workload, names), design)


def require_same_tenant(old: CodeVersion, new: CodeVersion, names: Mapping[str, str]) -> None:
    """Raises an `InputError` if the entity of the tenants is another one only because of its name."""
    was, now = old.workload.tenant_entity, new.workload.tenant_entity
    name = names.get(was.name) if was else None
    if name is None or (now and now.name == name) or new.workload.tenant is None:
        return
    message = f"{name} is the entity of the tenants in {old.name}, and not in {new.name}"
    fix = f"write `- **Tenant**: {new.workload.tenant.attribute} → {name}` under Context"
    raise InputError(
        Source(new.name, "", (codes.OTHER_TABLE.at(None, message, fix),)),
        note="these changes need another way; nothing was done",
    )


def _with_entities(workload: Workload, merged: dict[str, Entity]) -> Workload:
    """The workload with all entities of both designs, its own first."""
    names = dict.fromkeys((*(entity.name for entity in workload.entities), *merged))
    return replace(workload, entities=tuple(merged[name] for name in names))


def _with_entities_of(version: CodeVersion, other: CodeVersion) -> Workload:
    """The workload of a version, with the entities that only the other one has."""
    added = [one for one in other.workload.entities if version.workload.entity(one.name) is None]
    return replace(version.workload, entities=(*version.workload.entities, *added))


def _class_of(entity: Entity | None) -> list[tuple[str, object, bool]]:
    """The attributes of an entity as its class has them, but for defaults."""
    return [(one.name, one.type, one.optional) for one in entity.attributes] if entity else []


def _forms(entity: Entity) -> list[tuple[str, object, bool, str | None]]:
    """The attributes that items of an entity have."""
    return [(one.name, one.type, one.optional, one.default) for one in entity.attributes]


def _slots(own: Design, other: Design) -> tuple[Slot, ...]:
    """The indexes of a design, and those of the other one for which keys have to be written."""
    written = {facet.slot for item in other.items for facet in item.facets if not _is_natural(facet, other)}
    return (*own.slots, *(one for one in other.indexes if own.slot(one.name) is None and one.name in written))


def _is_natural(facet: Facet, design: Design) -> bool:
    slot = design.slot(facet.slot)
    return slot is not None and is_natural((*facet.pk, *facet.sk), (*slot.pk, *slot.sk))


def _key(facet: Facet) -> str:
    return " / ".join((*facet.pk, *facet.sk))


@dataclass
class _Comparison:
    """Compares two designs, and collects the changes that are refused."""

    old: CodeVersion
    new: CodeVersion
    change: str
    attributes: AttributeComparison
    refusals: list[Diagnostic] = field(default_factory=list)
    passed_over: list[str] = field(default_factory=list)
    """Notes on reads that meet items of entities which only the other design has."""

    def require_none(self) -> None:
        if self.refusals:
            raise InputError(
                Source(self.new.name, "", tuple(self.refusals)), note="these changes need another way; nothing was done"
            )

    # --- Table ------------------------------------------------------------------------------------------------------

    def settings(self) -> None:
        old, new = self.old.design, self.new.design
        for name, was, now in (
            ("name", old.table, new.table),
            ("keys", old.slots[0].pk + old.slots[0].sk, new.slots[0].pk + new.slots[0].sk),
            ("type attribute", old.type_attribute, new.type_attribute),
            ("separator", old.separator, new.separator),
            ("raw keys", old.raw_keys, new.raw_keys),
            ("TTL attribute", old.ttl_attribute, new.ttl_attribute),
        ):
            if was != now:
                fix = "keep it, or make a new table and load it as from any other database"
                self.refusals.append(codes.OTHER_TABLE.at(None, f"the table has another {name} in NEW", fix))
        for counter in old.counters:
            if new.item(counter.entity) and not keeps_counters((counter,), new):
                message = f"the sharded counter of {counter.entity} loses shards in NEW, and the numbers in them"
                fix = f"keep it: `{counter.entity}.{counter.attributes[0]} in {counter.shards} shards`"
                self.refusals.append(codes.OTHER_TABLE.at(None, message, fix))
        for store in old.stores:
            if new.item(store.entity) and store not in new.stores:
                message = f"{store.name} is in parts in NEW, and items refer to objects in a store"
                self.refusals.append(codes.OTHER_TABLE.at(None, message, f"keep it: `{store.name} in a store`"))
        for slot in new.indexes:
            was_slot = old.slot(slot.name)
            if was_slot is None and slot.local:
                message = f"{slot.name} is a local index, which is only created with its table"
                self.refusals.append(codes.CHANGED_INDEX.at(None, message, "make it a global index"))
            elif was_slot is not None and replace(was_slot, purpose="") != replace(slot, purpose=""):
                message = f"the index {slot.name} has other keys or another projection in NEW"
                fix = "DynamoDB cannot change an index: give it another name in NEW"
                self.refusals.append(codes.CHANGED_INDEX.at(None, message, fix))

    # --- Attributes -------------------------------------------------------------------------------------------------

    def entities(self) -> tuple[dict[str, Entity], dict[str, Entity]]:
        """The entities of `prepare` and of `switch`: each has those of both designs, with the attributes of both."""
        old, new = self.old.workload, self.new.workload
        prepare: dict[str, Entity] = {}
        switch: dict[str, Entity] = {}
        for entity in old.entities:
            now = new.entity(entity.name)
            both = self.attributes.entities(entity, now) if now else (entity, entity)
            prepare[entity.name], switch[entity.name] = both
        added = {one.name: one for one in new.entities if one.name not in prepare}
        self.refusals += self.attributes.refusals
        return prepare | added, switch | added

    # --- Items ------------------------------------------------------------------------------------------------------

    def items(self) -> tuple[tuple[Item, ...], tuple[Item, ...]]:
        """The items of `prepare` and of `switch`."""
        prepare: list[Item] = []
        switch: list[Item] = []
        old, new = self.old.design, self.new.design
        next_attributes = self.attributes.next_attributes
        for name in dict.fromkeys((i.entity, i.copy) for i in (*old.items, *new.items)):
            was, now = old.item(*name), new.item(*name)
            same = self._with_old_names(now) if now else None
            if was and now and same and was.facets[0] == same.facets[0] and was.tag == now.tag:
                facets = self._facets(was, now)
                attributes = tuple(dict.fromkeys((*was.attributes, *now.attributes)))
                attributes = attributes if was.attributes and now.attributes else ()
                if was.copy and set(was.attributes) != set(same.attributes):
                    message = f"the copy {now.name} holds other attributes in NEW"
                    self.refusals.append(codes.CHANGED_KEY.at(None, message, "give the copy another name in NEW"))
                prepare.append(replace(was, facets=facets[0], attributes=attributes))
                switch.append(replace(now, facets=facets[1], attributes=attributes))
            elif was and now:
                self._moved(was, now, prepare, switch)
            elif was:
                prepare.append(was)
                switch.append(_unread(was, old) if was.copy and new.item(was.entity) else was)
            elif now:
                prepare.append(_unread(now, new) if now.copy and old.item(now.entity) else now)
                switch.append(now)
        for number, item in enumerate(prepare):
            if not item.copy and item.entity in next_attributes:
                prepare[number] = replace(item, next_attributes=tuple(next_attributes[item.entity]))
        for member in self.attributes.renamed_members:
            _add_read_member(prepare, member.entity, ReadMember(member.attribute, member.new, member.old))
            _add_read_member(switch, member.entity, ReadMember(member.attribute, member.old, member.new))
        for entity, old_name, new_name in self.attributes.renamed:
            _add_mirror(prepare, entity, MirroredAttribute(old_name, new_name))
            _add_mirror(switch, entity, MirroredAttribute(new_name, old_name))
        return tuple(prepare), tuple(switch)

    def _with_old_names(self, now: Item) -> Item:
        """An item of NEW in the words of OLD: renamed attributes and members have their old names."""
        members = {(one.attribute, one.new): one.old for one in self.attributes.renamed_members}
        if members:
            now = replace(now, facets=tuple(_with_members(facet, members) for facet in now.facets))
        names = {new: old for entity, old, new in self.attributes.renamed if entity == now.entity}
        if not names:
            return now
        attributes = tuple(names.get(name, name) for name in now.attributes)
        return replace(now, attributes=attributes, facets=tuple(_renamed(facet, names) for facet in now.facets))

    def _facets(self, was: Item, now: Item) -> tuple[tuple[Facet, ...], tuple[Facet, ...]]:
        """The facets of one item in `prepare` and in `switch`: all of both, those of the other one write-only."""
        for facet, same in zip(now.facets, self._with_old_names(now).facets, strict=True):
            before = was.facet(facet.slot)
            if before is not None and before != same:
                message = f"{now.name} has the key {_key(before)} in {facet.slot} in OLD, and {_key(facet)} in NEW"
                fix = "an item has one key in an index: put the new one into another index, such as one with a new name"
                self.refusals.append(codes.CHANGED_KEY.at(None, message, fix))
        added = [f for f in now.facets if was.facet(f.slot) is None and not _is_natural(f, self.new.design)]
        dropped = [f for f in was.facets if now.facet(f.slot) is None and not _is_natural(f, self.old.design)]
        return (
            (*was.facets, *(replace(one, write_only=True) for one in added)),
            (*now.facets, *(replace(one, write_only=True) for one in dropped)),
        )

    def _moved(self, was: Item, now: Item, prepare: list[Item], switch: list[Item]) -> None:
        """An item whose key in the table changes: it stays, and its copy has the new key; then the other way round."""
        if was.copy:
            message = f"the copy {now.name} has another key or type in NEW"
            fix = f"keep its key and its type, `{was.tag}`; or give the copy another name and key in NEW"
            self.refusals.append(codes.CHANGED_KEY.at(None, message, fix))
            return
        if was.facets[0] == now.facets[0]:
            message = f"{now.entity} has the type {was.tag} in OLD and {now.tag} in NEW, with the same key"
            self.refusals.append(codes.CHANGED_KEY.at(None, message, "keep the type"))
            return
        if was.tag == now.tag:
            message = f"the key of {now.entity} changes from {_key(was.facets[0])} to {_key(now.facets[0])}"
            fix = f"both items exist for a time: give {now.entity} another type in NEW, such as `{now.tag}2`"
            self.refusals.append(codes.CHANGED_KEY.at(None, message, fix))
        self._moved_with(now)
        guards = tuple(guard.attributes for guard in self.old.design.guards if guard.entity == now.entity)
        entity = self.old.workload.entity(now.entity)
        has_history = entity is not None and entity.history is not None
        for version, own, other, design in ((prepare, was, now, self.new.design), (switch, now, was, self.old.design)):
            twin = replace(_unread(other, design), copy=TWIN, attributes=(), known=(), change=self.change)
            version += [own, replace(twin, unique=guards, has_history=has_history)]

    def _moved_with(self, now: Item) -> None:
        """Refuses what cannot change together with the key of an entity, or cannot move with it."""
        name = now.entity
        together: list[str] = []
        old_guards, new_guards = (
            {guard.attributes for guard in design.guards if guard.entity == name}
            for design in (self.old.design, self.new.design)
        )
        for attributes in sorted(old_guards ^ new_guards):
            place = self.new.name if attributes in new_guards else self.old.name
            is_unique = "is unique" if len(attributes) == 1 else "are unique together"
            together.append(f"{' and '.join(attributes)} {is_unique} in {place} only")
        was_entity, now_entity = self.old.workload.entity(name), self.new.workload.entity(name)
        if was_entity and now_entity and was_entity.history != now_entity.history:
            together.append("its history changes, too")
        if self.old.design.counter(name) != self.new.design.counter(name):
            together.append("its sharded counter changes, too")
        contents = [
            {one.name for one in contents_of(entity)} if entity else set[str]() for entity in (was_entity, now_entity)
        ]
        together += [f"{content} is a content in one of the designs only" for content in contents[0] ^ contents[1]]
        together += [f"{old} is renamed to {new}" for entity, old, new in self.attributes.renamed if entity == name]
        members = [one for one in self.attributes.renamed_members if one.entity == name]
        together += [f"a member is renamed to {one.new}" for one in members]
        for reason in together:
            message = f"the key of {name} changes, and {reason}"
            fix = "make two changes: one of them first, the other one when it is finished"
            self.refusals.append(codes.CHANGED_KEY.at(None, message, fix))
        self._stored_under_key(now)

    def _stored_under_key(self, now: Item) -> None:
        """Refuses what is stored under the key of an entity, and cannot be carried over to another one."""
        name = now.entity
        reasons: list[str] = []
        was = self.old.design.item(name)
        assert was is not None  # it moves
        has_other_attributes = set(placing(was.facets[0])) != set(placing(now.facets[0]))
        for version in (self.old, self.new):
            entity = version.workload.entity(name)
            contents = contents_of(entity) if entity else ()
            if has_other_attributes and version.design.counter(name):
                reasons.append(f"additions to its counter in {version.name} do not know the attributes of both keys")
            if has_other_attributes and contents:
                reasons.append(f"uploads of its contents in {version.name} do not know the attributes of both keys")
            in_store = [one.name for one in contents if version.design.in_store(name, one.name)]
            if in_store:
                reasons.append(f"the contents of {in_store[0]} are in a store, in {version.name} under its key")
        for reason in reasons:
            message = f"the key of {name} changes, and {reason}"
            fix = f"keep the key; or give it to a new entity, and let the application write both and read {name} still"
            self.refusals.append(codes.CHANGED_KEY.at(None, message, fix))

    def load(self, version: CodeVersion) -> CodeVersion | None:
        """The version with its operations. It is refused if its items could have the same key."""
        try:
            found = CodeVersion(version.name, version.workload, map_patterns(version.design, version.workload))
            found.package  # noqa: B018 - loading it says whether its schema can work
        except (SchemaError, TemplateError) as problem:
            fix = self._name_hint() or "give one of them another word in its key"
            refusal = codes.MIXED_ITEMS.at(None, f"the items of OLD and NEW collide: {problem}", fix)
            if refusal not in self.refusals:
                self.refusals.append(refusal)
            return None
        return found

    # --- Reads ------------------------------------------------------------------------------------------------------

    def mapped(self, between: CodeVersion, end: CodeVersion) -> CodeVersion:
        """The version with its operations. Its reads must be those of OLD or NEW, which meet the same items."""
        found = self.load(between)
        if found is None:
            return between
        expected = map_patterns(end.design, end.workload)
        for one in expected.operations:
            now = found.design.operation(one.pattern)
            if now is None or list(_reads(now, end.workload)) != list(_reads(one, end.workload)):
                message = f"{one.pattern} of {end.name} would meet items of the other design in its query"
                fix = (
                    now.problem if now and now.problem else "put the new items under other words, or into other indexes"
                )
                self.refusals.append(codes.MIXED_ITEMS.at(None, message, fix))
        return found

    def _name_hint(self) -> str:
        """How to say that an entity is an old one with another name, if its items have the same type."""
        gone = {item.tag: item.entity for item in self.old.design.items if not self.new.workload.entity(item.entity)}
        for item in self.new.design.items:
            if item.tag in gone and not item.copy:
                return (
                    f"if {item.entity} is the new name of {gone[item.tag]}, write `- **Renamed from**: "
                    f"{gone[item.tag]}` below `### {item.entity}`; else give it another type and another key"
                )
        return ""

    def meet_other_entities(self, reader: CodeVersion, other: CodeVersion) -> None:
        """Notes the reads of a version that meet items of entities which only the other one has.

        The client passes over items of types that it does not know. So a page may be shorter, and the next one goes on.
        But a count counts them, and the first N items of a query are not N of the entity: such reads are refused.
        """
        names = [entity.name for entity in other.workload.entities if reader.workload.entity(entity.name) is None]
        if not names:
            return
        items = (*reader.design.items, *(item for item in other.design.items if item.entity in names))
        design = replace(reader.design, slots=_slots(reader.design, other.design), items=items)
        try:
            with_other = map_patterns(design, _with_entities_of(reader, other))
        except (SchemaError, TemplateError):
            return  # `mapped` says that keys collide
        for read in reader.workload.reads:
            before, now = reader.design.operation(read.id), with_other.operation(read.id)
            is_same = before and now and list(_reads(before, reader.workload)) == list(_reads(now, reader.workload))
            if before is None or not before.served or is_same:
                continue
            met = " or ".join(names)
            if read.result is Result.COUNT or (read.limit and not read.paginated):
                message = (
                    f"{read.id} of {reader.name} would count items of {met}, which {other.name} has in that partition"
                )
                fix = f"give {met} another partition key, or let {read.id} read the items instead of a count or a limit"
                self.refusals.append(codes.MIXED_ITEMS.at(None, message, fix))
            else:
                self.passed_over.append(
                    f"{read.id} of {reader.name} meets items of {met} and passes over them: its pages may be shorter"
                )

    def require_only_members(self, needs_prepare: bool, old: CodeVersion, new: CodeVersion) -> None:
        """Refuses changes beside renamed members that need a backfill before `switch`: theirs is after it.

        Reads in the order of a member are refused, too: while items have both names, there is no such order.
        """
        members = self.attributes.renamed_members
        if needs_prepare or self.attributes.fills or self.attributes.verified or self.attributes.renamed:
            message = f"{members[0]} gets another name, and other changes need a backfill before that"
            fix = "rename it in a change of its own, before or after this one"
            self.refusals.append(codes.CHANGED_ATTRIBUTE.at(None, message, fix))
        for member in members:
            for version in (old, new):
                if (pattern := _ordered_by(version.workload, member.entity, member.attribute)) is not None:
                    message = f"{member} gets another name, and {pattern} of {version.name} sorts or compares by it"
                    fix = (
                        f"rename it in two changes: add {member.new} to the enum, let the application write it and "
                        f"correct the items, then drop {member.old}"
                    )
                    self.refusals.append(codes.CHANGED_ATTRIBUTE.at(None, message, fix))
        self.require_none()

    def notes(self, prepare: CodeVersion) -> Iterator[str]:
        yield from self.passed_over
        yield from self.attributes.notes
        old, new = self.old.workload, self.new.workload
        gone = [one.name for one in old.entities if new.entity(one.name) is None]
        came = [one.name for one in new.entities if old.entity(one.name) is None]
        for name in gone:
            yield f"{name} is not in `{self.new.name}`. Its items stay in the table, and are not read any more"
        if gone and came:
            yield (
                f"if {came[0]} is the new name of {gone[0]}, write `- **Renamed from**: {gone[0]}` below it. If "
                f"{' and '.join(gone)} became {' and '.join(came)}: keep {gone[0]} in this change, make the items of "
                f"{came[0]} with `--function`, and leave {gone[0]} out in a later change"
            )
        for entity in old.entities:
            now_entity = new.entity(entity.name)
            if entity.history and now_entity and not now_entity.history:
                yield (
                    f"{entity.name} has no history in `{self.new.name}`. Its versions stay in the table, and are not "
                    "read any more"
                )
        before, after = self.old.package.methods, prepare.package.methods
        for pattern, method in before.items():
            now = after.get(pattern)
            if now is not None and [p.name for p in now.params] != [p.name for p in method.params]:
                yield f"in `prepare`, {now.name} ({pattern}) takes {', '.join(p.name for p in now.params)}"


def _renamed(facet: Facet, names: Mapping[str, str]) -> Facet:
    """A key with other names of attributes."""

    def text(template: str) -> str:
        return renamed(template, {name: names.get(name, name) for name in fields_of(template)})

    when = tuple(replace(one, attribute=names.get(one.attribute, one.attribute)) for one in facet.when)
    return replace(facet, pk=tuple(map(text, facet.pk)), sk=tuple(map(text, facet.sk)), when=when)


def _with_members(facet: Facet, names: Mapping[tuple[str, str], str]) -> Facet:
    """A key with other names of members of enums in its conditions."""
    when = tuple(
        replace(one, values=tuple(names.get((one.attribute, value), value) for value in one.values))
        for one in facet.when
    )
    return replace(facet, when=when)


def _add_mirror(items: list[Item], entity: str, mirrored: MirroredAttribute) -> None:
    for number, item in enumerate(items):
        if item.entity == entity and not item.copy:
            items[number] = replace(item, mirrored=(*item.mirrored, mirrored))


def _add_read_member(items: list[Item], entity: str, read_member: ReadMember) -> None:
    for number, item in enumerate(items):
        if item.entity == entity and not item.copy:
            items[number] = replace(item, read_members=(*item.read_members, read_member))


def _unread(item: Item, design: Design) -> Item:
    """An item of the other design as a copy: written whole by each write, and not read."""
    facets = tuple(replace(f, write_only=True) for f in item.facets if f.slot == TABLE or not _is_natural(f, design))
    own = design.item(item.entity)
    tag = f"{own.tag}.{item.copy}" if own and item.copy else item.tag
    return replace(item, tag=tag, facets=facets, whole=True)


def _ordered_by(workload: Workload, entity: str, attribute: str) -> str | None:
    """The id of a pattern that needs an order of the values of an attribute; None if there is none."""
    for read in workload.reads:
        if entity in read.entities:
            ranges = [one.attribute for one in read.inputs if one.op in RANGES]
            if attribute in (*ranges, *(one.attribute for one in read.sort)):
                return read.id
    for write in (*workload.writes, *workload.deletes):
        for leaf in all_leaves(write):
            is_same = (leaf.entity or write.first_entity) == entity and leaf.attribute == attribute
            if is_same and operator_of(leaf) in RANGES:
                return write.id
    return None


def _reads(operation: Operation, workload: Workload) -> Iterator[Request]:
    """The requests by which an operation finds items. Writes also get items by their own key, which always works."""
    read = isinstance(workload.pattern(operation.pattern), Read)
    kinds: Iterable[Call] = (Call.QUERY, Call.GET, Call.BATCH_GET, Call.TRANSACT_GET) if read else (Call.QUERY,)
    return (request for request in operation.requests if request.call in kinds)
