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

from prejoin.constructs.registry import CONSTRUCTS, lines_of
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
        return tuple(slot for slot in self.new.design.indexes if self.old.design.slot(slot.name) is None)

    @property
    def removed(self) -> tuple[Slot, ...]:
        """Indexes to remove."""
        return tuple(slot for slot in self.old.design.indexes if self.new.design.slot(slot.name) is None)


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
    comparison = _DesignComparison(old, new, change, AttributeComparison(old.design, new.design))
    comparison.compare_settings()
    prepare_entities, switch_entities = comparison.merge_entities()
    prepare_items, switch_items = comparison.merge_items()
    comparison.require_none()
    # Code of OLD and `prepare` does not know entities that only NEW has, nor `switch` and NEW those that only OLD has.
    known_to_old = {name: entity for name, entity in prepare_entities.items() if old.workload.entity(name)}
    known_to_new = {name: entity for name, entity in switch_entities.items() if new.workload.entity(name)}
    comparison.note_other_entities(old, new)
    comparison.note_other_entities(new, old)
    items_of_prepare = tuple(item for item in prepare_items if item.entity in known_to_old)
    prepare_design = _design_of_prepare(old.design, new.design, items_of_prepare)
    prepare = CodeVersion("prepare", _with_entities(old.workload, known_to_old), prepare_design)
    # Keys that collide are found with the items of all entities, also of those that `switch` does not know.
    with_all = replace(new.design, slots=_slots(new.design, old.design), items=switch_items)
    comparison.load(CodeVersion("switch", _with_entities(new.workload, switch_entities), with_all))
    items_of_switch = tuple(item for item in switch_items if item.entity in known_to_new)
    switch_design = replace(with_all, items=items_of_switch)
    switch = CodeVersion("switch", _with_entities(new.workload, known_to_new), switch_design)
    prepare, switch = comparison.with_operations(prepare, old), comparison.with_operations(switch, new)
    comparison.require_none()
    needs_prepare = _needs_prepare(old, prepare)
    needs_switch = any(_has_extra_keys(item) or item.mirrored for item in switch.design.items)
    attributes = comparison.attributes
    has_renamed_members = bool(attributes.renamed_members)
    if has_renamed_members:
        comparison.require_only_members(needs_prepare, old, new)
    return Transition(
        old=old,
        prepare=prepare,
        switch=switch,
        new=new,
        needs_prepare=needs_prepare or has_renamed_members,
        needs_switch=needs_switch or has_renamed_members,
        notes=tuple(comparison.notes(prepare)),
        change=change,
        fills=tuple(attributes.fills),
        verified=tuple(attributes.verified_attributes),
        dropped=tuple(attributes.dropped_attributes),
        renamed=tuple(attributes.attribute_renames),
        renamed_members=tuple(attributes.renamed_members),
    )


def _design_of_prepare(old: Design, new: Design, items: tuple[Item, ...]) -> Design:
    """The design of OLD with all that code of NEW needs to find: its indexes, guards, counters and stores."""
    names = {item.entity for item in items}
    guards = dict.fromkeys((*old.guards, *new.guards))
    return replace(
        old,
        slots=_slots(old, new),
        items=items,
        guards=tuple(guard for guard in guards if guard.entity in names),
        counters=with_kept(old.counters, new.counters),
        stores=tuple(dict.fromkeys((*old.stores, *new.stores))),
    )


def _needs_prepare(old: CodeVersion, prepare: CodeVersion) -> bool:
    """Whether `prepare` writes more than OLD, or has other classes."""
    if any(_has_extra_keys(item) or item.next_attributes for item in prepare.design.items):
        return True
    if set(prepare.design.guards) != set(old.design.guards):
        return True
    entities = old.workload.entities
    return any(_class_of(prepare.workload.entity(entity.name)) != _class_of(entity) for entity in entities)


def _has_extra_keys(item: Item) -> bool:
    """Whether an item is there, or has keys, only for code of the other design."""
    return item.whole or any(facet.write_only for facet in item.facets)


def renamed_entities(old: CodeVersion, new: CodeVersion) -> dict[str, str]:
    """The names in NEW of entities with another name in OLD. The way back is the same with both exchanged."""
    in_old, in_new = ([entity.name for entity in version.workload.entities] for version in (old, new))
    return entity_renames(in_old, in_new, new.workload, old.workload)


def renames_between(old: Workload, new: Workload) -> bool:
    """Whether entities, attributes or members of enums of a workload have another name in the next one."""
    names = entity_renames([entity.name for entity in old.entities], [entity.name for entity in new.entities], new, old)
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


def _with_entities(workload: Workload, entities: dict[str, Entity]) -> Workload:
    """The workload with all entities of both designs, its own first."""
    names = dict.fromkeys((*(entity.name for entity in workload.entities), *entities))
    return replace(workload, entities=tuple(entities[name] for name in names))


def _with_entities_of(version: CodeVersion, other: CodeVersion) -> Workload:
    """The workload of a version, with the entities that only the other one has."""
    new_entities = [entity for entity in other.workload.entities if version.workload.entity(entity.name) is None]
    return replace(version.workload, entities=(*version.workload.entities, *new_entities))


def _class_of(entity: Entity | None) -> list[tuple[str, object, bool]]:
    """The attributes of an entity as its class has them, but for defaults."""
    return [(attribute.name, attribute.type, attribute.optional) for attribute in entity.attributes] if entity else []


def _forms(entity: Entity) -> list[tuple[str, object, bool, str | None]]:
    """The attributes that items of an entity have."""
    return [(attribute.name, attribute.type, attribute.optional, attribute.default) for attribute in entity.attributes]


def _slots(own: Design, other: Design) -> tuple[Slot, ...]:
    """The indexes of a design, and those of the other one for which keys have to be written."""
    slot_names = {facet.slot for item in other.items for facet in item.facets if not _is_natural(facet, other)}
    return (*own.slots, *(slot for slot in other.indexes if own.slot(slot.name) is None and slot.name in slot_names))


def _is_natural(facet: Facet, design: Design) -> bool:
    slot = design.slot(facet.slot)
    return slot is not None and is_natural((*facet.pk, *facet.sk), (*slot.pk, *slot.sk))


def _write_only_facets(item: Item, other: Item, design: Design) -> tuple[Facet, ...]:
    """The keys of an item in indexes where the item of the other design has none, as keys that are only written."""
    # Natural keys are attributes of the item: nobody has to write them for an index.
    return tuple(
        replace(facet, write_only=True)
        for facet in item.facets
        if other.facet(facet.slot) is None and not _is_natural(facet, design)
    )


def _key(facet: Facet) -> str:
    return " / ".join((*facet.pk, *facet.sk))


@dataclass
class _DesignComparison:
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

    def compare_settings(self) -> None:
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

    def merge_entities(self) -> tuple[dict[str, Entity], dict[str, Entity]]:
        """The entities of `prepare` and of `switch`: each has those of both designs, with the attributes of both."""
        old, new = self.old.workload, self.new.workload
        prepare: dict[str, Entity] = {}
        switch: dict[str, Entity] = {}
        for entity in old.entities:
            now = new.entity(entity.name)
            versions = self.attributes.entities(entity, now) if now else (entity, entity)
            prepare[entity.name], switch[entity.name] = versions
        new_entities = {entity.name: entity for entity in new.entities if entity.name not in prepare}
        self.refusals += self.attributes.refusals
        return prepare | new_entities, switch | new_entities

    # --- Items ------------------------------------------------------------------------------------------------------

    def merge_items(self) -> tuple[tuple[Item, ...], tuple[Item, ...]]:
        """The items of `prepare` and of `switch`."""
        prepare: list[Item] = []
        switch: list[Item] = []
        old, new = self.old.design, self.new.design
        for name in dict.fromkeys((item.entity, item.copy) for item in (*old.items, *new.items)):
            was, now = old.item(*name), new.item(*name)
            if was and now:
                self._add_of_both(was, now, prepare, switch)
            elif was:
                prepare.append(was)
                switch.append(_as_unread_copy(was, old) if was.copy and new.item(was.entity) else was)
            elif now:
                prepare.append(_as_unread_copy(now, new) if now.copy and old.item(now.entity) else now)
                switch.append(now)
        self._add_attribute_changes(prepare, switch)
        return tuple(prepare), tuple(switch)

    def _add_attribute_changes(self, prepare: list[Item], switch: list[Item]) -> None:
        """Adds to items what their attributes need while both names and both forms are in use."""
        next_attributes = self.attributes.next_attributes
        for number, item in enumerate(prepare):
            if not item.copy and item.entity in next_attributes:
                prepare[number] = replace(item, next_attributes=tuple(next_attributes[item.entity]))
        for member in self.attributes.renamed_members:
            _add_read_member(prepare, member.entity, ReadMember(member.attribute, member.new, member.old))
            _add_read_member(switch, member.entity, ReadMember(member.attribute, member.old, member.new))
        for entity, old_name, new_name in self.attributes.attribute_renames:
            _add_mirror(prepare, entity, MirroredAttribute(old_name, new_name))
            _add_mirror(switch, entity, MirroredAttribute(new_name, old_name))

    def _add_of_both(self, was: Item, now: Item, prepare: list[Item], switch: list[Item]) -> None:
        """Adds an item that both designs have, with the same key in the table or with another one."""
        in_old_names = self._with_old_names(now)
        if was.facets[0] != in_old_names.facets[0] or was.tag != now.tag:
            self._add_moved(was, now, prepare, switch)
            return
        prepare_facets, switch_facets = self._facets(was, now)
        attributes: tuple[str, ...] = ()  # all of them, if one of the designs has all
        if was.attributes and now.attributes:
            attributes = tuple(dict.fromkeys((*was.attributes, *now.attributes)))
        if was.copy and set(was.attributes) != set(in_old_names.attributes):
            message = f"the copy {now.name} holds other attributes in NEW"
            self.refusals.append(codes.CHANGED_KEY.at(None, message, "give the copy another name in NEW"))
        prepare.append(replace(was, facets=prepare_facets, attributes=attributes))
        switch.append(replace(now, facets=switch_facets, attributes=attributes))

    def _with_old_names(self, now: Item) -> Item:
        """An item of NEW in the words of OLD: renamed attributes and members have their old names."""
        members = {(member.attribute, member.new): member.old for member in self.attributes.renamed_members}
        if members:
            now = replace(now, facets=tuple(_with_members(facet, members) for facet in now.facets))
        names = {new: old for entity, old, new in self.attributes.attribute_renames if entity == now.entity}
        if not names:
            return now
        attributes = tuple(names.get(name, name) for name in now.attributes)
        return replace(now, attributes=attributes, facets=tuple(_with_names(facet, names) for facet in now.facets))

    def _facets(self, was: Item, now: Item) -> tuple[tuple[Facet, ...], tuple[Facet, ...]]:
        """The facets of one item in `prepare` and in `switch`: all of both, those of the other one write-only."""
        for facet, in_old_names in zip(now.facets, self._with_old_names(now).facets, strict=True):
            before = was.facet(facet.slot)
            if before is not None and before != in_old_names:
                message = f"{now.name} has the key {_key(before)} in {facet.slot} in OLD, and {_key(facet)} in NEW"
                fix = "an item has one key in an index: put the new one into another index, such as one with a new name"
                self.refusals.append(codes.CHANGED_KEY.at(None, message, fix))
        return (
            was.facets + _write_only_facets(now, was, self.new.design),
            now.facets + _write_only_facets(was, now, self.old.design),
        )

    def _add_moved(self, was: Item, now: Item, prepare: list[Item], switch: list[Item]) -> None:
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
        self._refuse_with_move(now)
        guards = tuple(guard.attributes for guard in self.old.design.guards if guard.entity == now.entity)
        entity = self.old.workload.entity(now.entity)
        has_history = entity is not None and entity.history is not None
        for version, own, other, design in ((prepare, was, now, self.new.design), (switch, now, was, self.old.design)):
            twin = replace(_as_unread_copy(other, design), copy=TWIN, attributes=(), known=(), change=self.change)
            version += [own, replace(twin, unique=guards, has_history=has_history)]

    def _refuse_with_move(self, now: Item) -> None:
        """Refuses what cannot change together with the key of an entity, or cannot move with it."""
        for reason in self._changes_beside_move(now.entity):
            message = f"the key of {now.entity} changes, and {reason}"
            fix = "make two changes: one of them first, the other one when it is finished"
            self.refusals.append(codes.CHANGED_KEY.at(None, message, fix))
        self._refuse_under_key(now)

    def _changes_beside_move(self, name: str) -> Iterator[str]:
        """The changes of an entity beside its key."""
        yield from self._guard_changes(name)
        was, now = self.old.workload.entity(name), self.new.workload.entity(name)
        if was and now:
            for construct in CONSTRUCTS:
                if getattr(was, construct.name) != getattr(now, construct.name):
                    yield f"its {construct.grammar.label.lower()} changes, too"
        if self.old.design.counter(name) != self.new.design.counter(name):
            yield "its sharded counter changes, too"
        old_contents = {content.name for content in contents_of(was)} if was else set()
        new_contents = {content.name for content in contents_of(now)} if now else set()
        for content in sorted(old_contents ^ new_contents):
            yield f"{content} is a content in one of the designs only"
        yield from self._renames_of(name)

    def _guard_changes(self, name: str) -> Iterator[str]:
        old_guards = {guard.attributes for guard in self.old.design.guards if guard.entity == name}
        new_guards = {guard.attributes for guard in self.new.design.guards if guard.entity == name}
        for attributes in sorted(old_guards ^ new_guards):
            place = self.new.name if attributes in new_guards else self.old.name
            is_unique = "is unique" if len(attributes) == 1 else "are unique together"
            yield f"{' and '.join(attributes)} {is_unique} in {place} only"

    def _renames_of(self, name: str) -> Iterator[str]:
        for entity, old_name, new_name in self.attributes.attribute_renames:
            if entity == name:
                yield f"{old_name} is renamed to {new_name}"
        for member in self.attributes.renamed_members:
            if member.entity == name:
                yield f"a member is renamed to {member.new}"

    def _refuse_under_key(self, now: Item) -> None:
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
            in_store = [content.name for content in contents if version.design.in_store(name, content.name)]
            if in_store:
                reasons.append(f"the contents of {in_store[0]} are in a store, in {version.name} under its key")
        for reason in reasons:
            message = f"the key of {name} changes, and {reason}"
            fix = f"keep the key; or give it to a new entity, and let the application write both and read {name} still"
            self.refusals.append(codes.CHANGED_KEY.at(None, message, fix))

    def load(self, version: CodeVersion) -> CodeVersion | None:
        """The version with its operations. It is refused if its items could have the same key."""
        try:
            with_operations = CodeVersion(
                version.name, version.workload, map_patterns(version.design, version.workload)
            )
            with_operations.package  # noqa: B018 - loading it says whether its schema can work
        except (SchemaError, TemplateError) as problem:
            fix = self._name_hint() or "give one of them another word in its key"
            refusal = codes.MIXED_ITEMS.at(None, f"the items of OLD and NEW collide: {problem}", fix)
            if refusal not in self.refusals:
                self.refusals.append(refusal)
            return None
        return with_operations

    # --- Reads ------------------------------------------------------------------------------------------------------

    def with_operations(self, between: CodeVersion, end: CodeVersion) -> CodeVersion:
        """The version with its operations. Its reads must be those of OLD or NEW, which meet the same items."""
        version = self.load(between)
        if version is None:
            return between
        end_design = map_patterns(end.design, end.workload)
        for expected_operation in end_design.operations:
            now = version.design.operation(expected_operation.pattern)
            if now is None or list(_reads(now, end.workload)) != list(_reads(expected_operation, end.workload)):
                pattern = expected_operation.pattern
                message = f"{pattern} of {end.name} would meet items of the other design in its query"
                fix = "put the new items under other words, or into other indexes"
                if now and now.problem:
                    fix = now.problem
                self.refusals.append(codes.MIXED_ITEMS.at(None, message, fix))
        return version

    def _name_hint(self) -> str:
        """How to say that an entity is an old one with another name, if its items have the same type."""
        old_names: dict[str, str] = {}
        for item in self.old.design.items:
            if self.new.workload.entity(item.entity) is None:
                old_names[item.tag] = item.entity
        for item in self.new.design.items:
            old_name = old_names.get(item.tag)
            if old_name and not item.copy:
                return (
                    f"if {item.entity} is the new name of {old_name}, write `- **Renamed from**: {old_name}` below "
                    f"`### {item.entity}`; else give it another type and another key"
                )
        return ""

    def note_other_entities(self, reader: CodeVersion, other: CodeVersion) -> None:
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
            return  # `with_operations` says that keys collide
        for read in reader.workload.reads:
            before, now = reader.design.operation(read.id), with_other.operation(read.id)
            is_same = before and now and list(_reads(before, reader.workload)) == list(_reads(now, reader.workload))
            if before is None or not before.served or is_same:
                continue
            self._note_read(read, reader, other, " or ".join(names))

    def _note_read(self, read: Read, reader: CodeVersion, other: CodeVersion, entities: str) -> None:
        if read.result is Result.COUNT or (read.limit and not read.paginated):
            pattern = f"{read.id} of {reader.name}"
            message = f"{pattern} would count items of {entities}, which {other.name} has in that partition"
            fix = (
                f"give {entities} another partition key, or let {read.id} read the items instead of a count or a limit"
            )
            self.refusals.append(codes.MIXED_ITEMS.at(None, message, fix))
            return
        self.passed_over.append(
            f"{read.id} of {reader.name} meets items of {entities} and passes over them: its pages may be shorter"
        )

    def require_only_members(self, needs_prepare: bool, old: CodeVersion, new: CodeVersion) -> None:
        """Refuses changes beside renamed members that need a backfill before `switch`: theirs is after it.

        Reads in the order of a member are refused, too: while items have both names, there is no such order.
        """
        members = self.attributes.renamed_members
        if (
            needs_prepare
            or self.attributes.fills
            or self.attributes.verified_attributes
            or self.attributes.attribute_renames
        ):
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
        yield from self._entity_notes()
        before, after = self.old.package.methods, prepare.package.methods
        for pattern, method in before.items():
            now = after.get(pattern)
            if now is not None and [param.name for param in now.params] != [param.name for param in method.params]:
                yield f"in `prepare`, {now.name} ({pattern}) takes {', '.join(param.name for param in now.params)}"

    def _entity_notes(self) -> Iterator[str]:
        """Notes about entities that only one of the designs has, and about constructs of the others."""
        old, new = self.old.workload, self.new.workload
        removed_names = [entity.name for entity in old.entities if new.entity(entity.name) is None]
        added_names = [entity.name for entity in new.entities if old.entity(entity.name) is None]
        for name in removed_names:
            yield f"{name} is not in `{self.new.name}`. Its items stay in the table, and are not read any more"
        if removed_names and added_names:
            old_name, new_name = removed_names[0], added_names[0]
            yield (
                f"if {new_name} is the new name of {old_name}, write `- **Renamed from**: {old_name}` below it. If "
                f"{' and '.join(removed_names)} became {' and '.join(added_names)}: keep {old_name} in this change, "
                f"make the items of {new_name} with `--function`, and leave {old_name} out in a later change"
            )
        for entity in old.entities:
            now_entity = new.entity(entity.name)
            for words in _construct_notes(entity, now_entity) if now_entity else ():
                yield f"{entity.name} {words.format(design=self.new.name)}"


def _construct_notes(was: Entity, now: Entity) -> Iterator[str]:
    """What constructs say of an entity whose lines change."""
    before = {bound.construct: bound for bound in lines_of(was)}
    after = {bound.construct: bound for bound in lines_of(now)}
    notes = [bound.removal_words() for construct, bound in before.items() if construct not in after]
    for construct, bound in after.items():
        earlier = before.get(construct)
        notes.append(bound.change_words(earlier) if earlier is not None else bound.addition_words())
    yield from filter(None, notes)


def _with_names(facet: Facet, names: Mapping[str, str]) -> Facet:
    """A key with other names of attributes."""

    def text(template: str) -> str:
        return renamed(template, {name: names.get(name, name) for name in fields_of(template)})

    when = tuple(
        replace(condition, attribute=names.get(condition.attribute, condition.attribute)) for condition in facet.when
    )
    return replace(facet, pk=tuple(map(text, facet.pk)), sk=tuple(map(text, facet.sk)), when=when)


def _with_members(facet: Facet, names: Mapping[tuple[str, str], str]) -> Facet:
    """A key with other names of members of enums in its conditions."""
    when = tuple(
        replace(condition, values=tuple(names.get((condition.attribute, value), value) for value in condition.values))
        for condition in facet.when
    )
    return replace(facet, when=when)


def _add_mirror(items: list[Item], entity: str, mirror: MirroredAttribute) -> None:
    for number, item in enumerate(items):
        if item.entity == entity and not item.copy:
            items[number] = replace(item, mirrored=(*item.mirrored, mirror))


def _add_read_member(items: list[Item], entity: str, read_member: ReadMember) -> None:
    for number, item in enumerate(items):
        if item.entity == entity and not item.copy:
            items[number] = replace(item, read_members=(*item.read_members, read_member))


def _as_unread_copy(item: Item, design: Design) -> Item:
    """An item of the other design as a copy: written whole by each write, and not read."""
    facets = tuple(
        replace(facet, write_only=True)
        for facet in item.facets
        if facet.slot == TABLE or not _is_natural(facet, design)
    )
    own_item = design.item(item.entity)
    tag = f"{own_item.tag}.{item.copy}" if own_item and item.copy else item.tag
    return replace(item, tag=tag, facets=facets, whole=True)


def _ordered_by(workload: Workload, entity: str, attribute: str) -> str | None:
    """The id of a pattern that needs an order of the values of an attribute; None if there is none."""
    for read in workload.reads:
        if entity in read.entities:
            ranges = [read_input.attribute for read_input in read.inputs if read_input.op in RANGES]
            if attribute in (*ranges, *(sort.attribute for sort in read.sort)):
                return read.id
    for write in workload.changing:
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
