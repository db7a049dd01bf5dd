"""Validates that a design fits a workload: names exist and keys are complete. It does not judge quality."""

from __future__ import annotations

import re
from collections.abc import Iterator

from prejoin import keys
from prejoin.constructs.registry import lines_of
from prejoin.design.codes import NO_TEMPLATE, NOT_A_DESIGN, REPEATED
from prejoin.design.counters import MOST_SHARDS, obstacle
from prejoin.design.mapping.facets import is_natural, planner_facet
from prejoin.design.model import TABLE, ContentStore, Counter, Design, Facet, Guard, Item, KeyAttribute, Slot
from prejoin.diagnostics import Code, Diagnostic
from prejoin.keys import TemplateError, fields_of
from prejoin.keys.guard import guard_key
from prejoin.workload.contents import contents_of
from prejoin.workload.lookup import suggest
from prejoin.workload.model import Entity, Workload
from prejoin.workload.read_result import Path, Places

_MOST_ATTRIBUTES = 4
"""The most attributes in a key of an index. A key of the table has one."""
_KEY_TYPES = frozenset({"S", "N", "B"})
_PLACEHOLDER = re.compile(r"<(\w+)>|\$\{(\w+)\}|\[(\w+)\]|:(\w+)\b")


class DesignError(ValueError):
    """A design does not fit the workload."""


def must_fit(design: Design, workload: Workload) -> None:
    """Raise DesignError if a design does not fit a workload."""
    problems = misfits(design, workload)
    for first in problems[:1]:
        others_text = f" (and {len(problems) - 1} more, which `misfits` tells)" if len(problems) > 1 else ""
        raise DesignError(f"the design does not fit its access patterns, {first.message}{others_text}: {first.fix}")


def misfits(design: Design, workload: Workload, places: Places | None = None) -> tuple[Diagnostic, ...]:
    """The diagnostics about a design that does not fit a workload; none if it fits."""
    return tuple(_Fitting(design, workload, places or Places()).all())


class _Fitting:
    def __init__(self, design: Design, workload: Workload, places: Places) -> None:
        self._design = design
        self._workload = workload
        self._places = places

    def all(self) -> Iterator[Diagnostic]:
        design = self._design
        if not re.fullmatch(r"[A-Za-z0-9_.-]{3,255}", design.table):
            fix = "use 3 to 255 letters, digits, `_`, `-` and `.`"
            yield self._say(("table",), f"`{design.table}` cannot be the name of a table", fix)
        try:
            keys.Separator(design.separator)
        except TemplateError as problem:
            yield self._say(("separator",), str(problem), "`#` is what most tables have")
            return  # no template can be read
        yield from self._slots()
        for at, item in enumerate(design.items):
            yield from self._item(item, ("items", at))
        for at, guard in enumerate(design.guards):
            yield from self._guard(guard, ("guards", at))
        for at, counter in enumerate(design.counters):
            yield from self._counter(counter, ("counters", at))
        for at, store in enumerate(design.stores):
            yield from self._store(store, ("stores", at))
        for entity in self._workload.entities:
            yield from self._constructs(entity)
        for entity in self._workload.entities:
            if design.item(entity.name) is None:
                fix = "add it to the items, with a key in the table"
                yield self._say((), f"the entity `{entity.name}` has no item", fix)

    def _slots(self) -> Iterator[Diagnostic]:
        names = [slot.name for slot in self._design.slots]
        if not names or names[0] != TABLE:
            yield self._say(("slots",), "the first slot is not the table", f"name it `{TABLE}`")
        for at, slot in enumerate(self._design.slots):
            if slot.name in names[:at]:
                yield self._say(("slots", at), f"there are two slots `{slot.name}`", "name each once", REPEATED)
            yield from self._slot(slot, ("slots", at))

    def _slot(self, slot: Slot, path: Path) -> Iterator[Diagnostic]:
        most_attributes = 1 if slot.name == TABLE else _MOST_ATTRIBUTES
        if not 1 <= len(slot.pk) <= most_attributes or len(slot.sk) > most_attributes:
            number = "one attribute" if most_attributes == 1 else f"one to {most_attributes} attributes"
            yield self._say(path, f"a key of `{slot.name}` has {number}", "name them with their types, `pk` (S)")
        if slot.local and not self._is_order_of_table(slot):
            pk = _names(self._design.slots[0].pk)
            fix = f"give it the partition key {pk} and one attribute to sort by; the table needs one too"
            yield self._say(
                path, f"`{slot.name}` is a local index, and not the table's partitions in another order", fix
            )
        if len(set(slot.key_names)) < len(slot.key_names):
            yield self._say(path, f"`{slot.name}` has two key attributes of one name", "name each once")
        untyped_names = [key.name for key in slot.key_attributes if key.type not in _KEY_TYPES or not key.name]
        for name in untyped_names[:1]:
            fix = "the types are S, N and B"
            yield self._say(path, f"`{name}` of `{slot.name}` is not an attribute with a type", fix)

    def _is_order_of_table(self, slot: Slot) -> bool:
        """Whether a local index has the partitions of the table, sorted by one attribute."""
        table = self._design.slots[0]
        return slot is not table and slot.pk == table.pk and bool(table.sk) and len(slot.sk) == 1

    def _item(self, item: Item, path: Path) -> Iterator[Diagnostic]:
        entity = self._workload.entity(item.entity)
        title = f"{item.entity} (copy {item.copy})" if item.copy else item.entity
        if entity is None:
            yield self._no_entity(item.entity, path)
        yield from self._item_alone(item, title, path)
        if entity is not None:
            for name in item.attributes:
                yield from self._attribute(name, entity, (*path, "attributes"))
        slot_names: set[str] = set()
        for number, facet in enumerate(item.facets):
            facet_path = (*path, "facets", number)
            if facet.slot in slot_names:
                yield self._say(facet_path, f"`{title}` has two keys in `{facet.slot}`", "give it one", REPEATED)
            slot_names.add(facet.slot)
            misplacement = self._misplacement(facet, item, title, facet_path)
            if misplacement is not None:
                yield misplacement
            elif entity is not None:
                yield from self._facet(facet, item, entity, facet_path)

    def _item_alone(self, item: Item, title: str, path: Path) -> Iterator[Diagnostic]:
        """What is wrong with an item, whatever its entity is."""
        if self._design.item(item.entity, item.copy) is not item:
            yield self._say(path, f"`{title}` is there twice", "name the second one as a copy", REPEATED)
        if item.copy and self._design.item(item.entity) is None:
            message = f"there is a copy of `{item.entity}`, and no item"
            yield self._say(path, message, "give the entity a key of its own")
        if not item.tag:
            yield self._say((*path, "tag"), f"`{title}` has no type", f"call it `{item.entity}`")
        if not item.facets or item.facets[0].slot != TABLE:
            yield self._say(path, f"the first facet of `{title}` is not in the table", f"begin with slot `{TABLE}`")
        elif not item.copy and item.facets[0].when:
            message = f"the key of `{title}` in the table has a condition, and all items are in the table"
            yield self._say((*path, "facets", 0), message, "leave `when` to indexes and copies")

    def _misplacement(self, facet: Facet, item: Item, title: str, path: Path) -> Diagnostic | None:
        """Why a key cannot be in its slot; None if it can."""
        slot = self._design.slot(facet.slot)
        if slot is None:
            names = ", ".join(slot.name for slot in self._design.slots)
            return self._say(path, f"there is no slot `{facet.slot}`", f"the slots are {names}")
        if (len(facet.pk), len(facet.sk)) != (len(slot.pk), len(slot.sk)):
            message = f"`{title}` has another number of keys in `{slot.name}` than that has attributes"
            return self._say(path, message, "give one each")
        # The items of a local index are stored in the partition of the table.
        if slot.local and facet.pk != item.facets[0].pk:
            message = f"`{slot.name}` is a local index, and `{title}` has another partition there than in the table"
            return self._say(path, message, f"give it `{' + '.join(item.facets[0].pk)}`")
        return None

    def _facet(self, facet: Facet, item: Item, entity: Entity, path: Path) -> Iterator[Diagnostic]:
        slot = self._design.slot(facet.slot)
        problems: list[Diagnostic] = []
        for field, texts, attributes in (
            ("pk", facet.pk, slot.pk if slot else ()),
            ("sk", facet.sk, slot.sk if slot else ()),
        ):
            # An attribute that is itself a key may have a name that no template can contain.
            if is_natural(texts, attributes) and all(entity.attribute(key.name) for key in attributes):
                continue
            for text in texts:
                problems += self._template(text, entity, (*path, field))
        for when in facet.when:
            problems += self._attribute(when.attribute, entity, (*path, "when"))
        yield from problems
        if problems:
            return
        try:
            planner_facet(self._design, entity, item, facet)
        except TemplateError as problem:
            yield self._say((*path, "pk"), str(problem), "name the key attributes of the index like these")

    def _template(self, text: str, entity: Entity, path: Path) -> Iterator[Diagnostic]:
        try:
            keys.Template.of(text, entity.types, self._design.separator, self._design.raw_keys)
        except TemplateError as problem:
            yield self._say(path, str(problem), f"name attributes of `{entity.name}`")
            return
        for placeholder in _PLACEHOLDER.finditer(text):
            name = next(group for group in placeholder.groups() if group)
            if entity.attribute(name) and name not in fields_of(text):
                message = f"`{placeholder[0]}` in `{text}` is a text, not the value of `{name}`"
                yield self._say(path, message, f"write `{text.replace(placeholder[0], f'{{{name}}}')}`", NO_TEMPLATE)

    def _guard(self, guard: Guard, path: Path) -> Iterator[Diagnostic]:
        entity = self._workload.entity(guard.entity)
        if entity is None:
            yield self._no_entity(guard.entity, path)
            return
        if not guard.attributes:
            yield self._say(
                path, f"no attributes are given for the unique value of `{guard.entity}`", "name its attributes"
            )
            return
        for name in guard.attributes:
            yield from self._attribute(name, entity, path)
        if not entity.types.keys() >= set(guard.attributes):
            return
        try:
            guard_key(entity.name, guard.attributes, entity.types, self._design.separator)
        except TemplateError as problem:
            yield self._say(path, str(problem), "make something else unique: a text, a number, a date")

    def _counter(self, counter: Counter, path: Path) -> Iterator[Diagnostic]:
        entity, item = self._workload.entity(counter.entity), self._design.item(counter.entity)
        if entity is None:
            yield self._no_entity(counter.entity, path)
            return
        if not counter.attributes or not 2 <= counter.shards <= MOST_SHARDS:
            fix = f"name the numbers, and give it from 2 to {MOST_SHARDS} shards"
            yield self._say(path, f"the counter of `{entity.name}` cannot be written", fix)
        if item and item.facets and not self._has_text_keys(item):
            fix = "leave the counter out, or give the table a partition and a sort key of texts"
            yield self._say(path, f"a shard of `{entity.name}` has no key", fix)
        for name in counter.attributes:
            yield from self._attribute(name, entity, path)
            attribute = entity.attribute(name)
            if attribute and (why := obstacle(self._workload, entity, attribute)):
                yield self._say(path, f"`{entity.name}.{name}` cannot be a sharded counter: {why}", "leave it out")

    def _store(self, store: ContentStore, path: Path) -> Iterator[Diagnostic]:
        entity = self._workload.entity(store.entity)
        if entity is None:
            yield self._no_entity(store.entity, path)
            return
        yield from self._attribute(store.attribute, entity, path)
        attribute = entity.attribute(store.attribute)
        if attribute and attribute not in contents_of(entity):
            yield self._say(path, f"`{store.name}` is no large content", "leave it out: it is in its item")

    def _constructs(self, entity: Entity) -> Iterator[Diagnostic]:
        item, design = self._design.item(entity.name), self._design
        if item is None or not item.facets or not design.slots:
            return
        for bound in lines_of(entity):
            name = bound.construct.name
            for construct_item in bound.items(design):
                if not self._has_text_keys(item):
                    fix = f"leave the {name} out, or give the table a partition and a sort key of texts"
                    yield self._say((), f"an {construct_item.note} of `{entity.name}` has no key", fix)
                if bound.ends and not design.ttl_attribute:
                    fix = "name a TTL attribute in the table configuration, such as `expiresAt`"
                    message = f"{construct_item.plural} of `{entity.name}` end, and the table has no TTL attribute"
                    yield self._say((), message, fix)

    def _has_text_keys(self, item: Item) -> bool:
        """Whether items beside an item, such as the shards of a counter, can have keys made of its key."""
        base = self._design.slots[0]
        return not self._design.raw_keys and bool(base.sk) and not is_natural(item.facets[0].pk, base.pk)

    def _attribute(self, name: str, entity: Entity, path: Path) -> Iterator[Diagnostic]:
        if entity.attribute(name) is None:
            near = suggest(name, entity.types)
            fix = f"did you mean `{near}`?" if near else f"there are {', '.join(entity.types)}"
            yield self._say(path, f"`{entity.name}` has no attribute `{name}`", fix)

    def _no_entity(self, name: str, path: Path) -> Diagnostic:
        near = suggest(name, (e.name for e in self._workload.entities))
        fix = f"did you mean `{near}`?" if near else "name one of its entities"
        return self._say(path, f"there is no entity `{name}` in the workload", fix)

    def _say(self, path: Path, message: str, fix: str, code: Code = NOT_A_DESIGN) -> Diagnostic:
        return code.at(self._places.find(path), message, fix)


def _names(attributes: tuple[KeyAttribute, ...]) -> str:
    return " + ".join(f"`{attribute.name}`" for attribute in attributes)
