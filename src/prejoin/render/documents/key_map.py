"""The page `keys.md`: each key of the table and its indexes, with its items, readers and writers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from prejoin.design.document.cells import write_code, write_list, write_prose, write_title, write_when
from prejoin.design.mapping.facets import counter_templates, history_key
from prejoin.design.model import TABLE, Counter, Design, Did, Facet, Guard, Item, ItemName, Request, Slot
from prejoin.keys import TemplateError, fields_of
from prejoin.keys.guard import guard_key
from prejoin.render.documents.tables import write_table
from prejoin.render.documents.titles import page_title
from prejoin.workload.grammar.values import write_history
from prejoin.workload.lookup import changes
from prejoin.workload.model import Entity, History, Verb, Workload

_COLUMNS = ("Sort Key", "Item", "Only When", "Read by", "Written by")
_GUARDS = ("Partition Key", "Sort Key", "Guards", "Written by")
_COUNTERS = ("Partition Key", "Sort Key", "Counts", "Shards", "Written by")
_HISTORIES = ("Partition Key", "Sort Key", "Versions of", "Keeps", "Written by")
_ATTRIBUTES = ("Entity", "Attribute", "Stands in", "Changed by")


def key_map(workload: Workload, design: Design) -> str:
    """The page."""
    return "\n\n".join(part for part in _KeyMap(workload, design).parts() if part) + "\n"


class _KeyMap:
    def __init__(self, workload: Workload, design: Design) -> None:
        self.workload = workload
        self.design = design

    def parts(self) -> Iterator[str]:
        yield page_title(self.workload, "keys")
        yield "> Access patterns: access-patterns.md\n> Table design: table-design.md"
        yield "All keys, the items under each, and the patterns that use them. This page is generated from the design."
        for slot in self.design.slots:
            yield from self._slot(slot)
        yield from self._guards()
        yield from self._counters()
        yield from self._histories()
        yield from self._attributes()

    def _slot(self, slot: Slot) -> Iterator[str]:
        name = f"Table {write_code(self.design.table)}" if slot.name == TABLE else f"Index {write_code(slot.name)}"
        yield f"## {name}"
        yield self._physical(slot)
        under: dict[tuple[str, ...], list[tuple[Item, Facet]]] = {}
        for item in self.design.items:
            if facet := item.facet(slot.name):
                under.setdefault(facet.pk, []).append((item, facet))
        for pk in sorted(under):
            yield f"### {write_list(pk)}"
            rows = [self._row(slot, item, facet) for item, facet in sorted(under[pk], key=lambda one: one[1].sk)]
            yield write_table(_COLUMNS, rows, optional=["Sort Key", "Only When"])
        if not under:
            yield "It holds no items."

    def _physical(self, slot: Slot) -> str:
        keys = [("Partition key", slot.pk), ("sort key", slot.sk)]
        told = [f"{word} {write_list(a.name for a in attributes)}" for word, attributes in keys if attributes]
        return f"{', '.join(told)}."

    def _row(self, slot: Slot, item: Item, facet: Facet) -> Mapping[str, str]:
        return {
            "Sort Key": write_list(facet.sk),
            "Item": titled(item),
            "Only When": write_when(facet.when),
            "Read by": write_prose(", ".join(readers(self.design, slot.name, item))),
            "Written by": write_prose(", ".join(writers(self.design, item_label(item)))),
        }

    def _guards(self) -> Iterator[str]:
        if not self.design.guards:
            return
        yield "## Unique values"
        yield "Items that hold nothing: that one is there is what keeps a second one with the value away."
        yield write_table(_GUARDS, [self._guard(guard) for guard in self.design.guards], optional=["Sort Key"])

    def _guard(self, guard: Guard) -> Mapping[str, str]:
        pk = sk = ""
        entity, own, base = (
            self.workload.entity(guard.entity),
            self.design.item(guard.entity),
            self.design.slot(TABLE),
        )
        if entity and own and guard.attributes:
            try:
                made = guard_key(own.tag, guard.attributes, entity.types, self.design.separator, bool(base and base.sk))
                pk, sk = (template.text if template else "" for template in made)
            except TemplateError:
                pass  # the checks say so
        name = f"{guard.entity}!{'+'.join(guard.attributes)}"
        return {
            "Partition Key": write_code(pk) if pk else "-",
            "Sort Key": write_code(sk) if sk else "-",
            "Guards": f"{write_title(guard.entity)}: {write_list(guard.attributes, ' + ')}",
            "Written by": write_prose(", ".join(writers(self.design, name))),
        }

    def _counters(self) -> Iterator[str]:
        if not self.design.counters:
            return
        yield "## Sharded counters"
        yield "Each holds a part of a number. The number is their sum, and that of the item itself."
        yield write_table(_COUNTERS, [self._counter(counter) for counter in self.design.counters])

    def _counter(self, counter: Counter) -> Mapping[str, str]:
        entity = self.workload.entity(counter.entity)
        pk, sk = counter_templates(self.design, entity) if entity else (None, None)
        return {
            "Partition Key": write_code(pk.text) if pk else "-",
            "Sort Key": write_code(sk.text) if sk else "-",
            "Counts": f"{write_title(counter.entity)}: {write_list(counter.attributes, ' + ')}",
            "Shards": str(counter.shards),
            "Written by": write_prose(", ".join(writers(self.design, counter.name))),
        }

    def _histories(self) -> Iterator[str]:
        kept = [(e, e.history) for e in self.workload.entities if e.history and self.design.item(e.name)]
        if kept:
            yield "## Version histories"
            yield "Each holds an earlier version of an item. Reads of the entity do not return it."
            yield write_table(_HISTORIES, [self._history(entity, history) for entity, history in kept])

    def _history(self, entity: Entity, history: History) -> Mapping[str, str]:
        pk, sk = history_key(self.design, entity)
        return {
            "Partition Key": write_code(pk),
            "Sort Key": write_code(sk),
            "Versions of": write_title(entity.name),
            "Keeps": write_history(history),
            "Written by": write_prose(", ".join(writers(self.design, str(ItemName(entity.name, history=True))))),
        }

    def _attributes(self) -> Iterator[str]:
        rows = list(self._standing())
        if not rows:
            return
        yield "## Attributes in keys"
        yield "Where a value stands in a key, changing it moves the item: the old entry goes and a new one comes."
        yield write_table(_ATTRIBUTES, rows)

    def _standing(self) -> Iterator[Mapping[str, str]]:
        for entity in self.workload.entities:
            for attribute in entity.attributes:
                found = [
                    f"{facet.slot}{f' of copy {item.copy}' if item.copy else ''}"
                    for item in self.design.items
                    if item.entity == entity.name
                    for facet in item.facets
                    if attribute.name in {name for text in (*facet.pk, *facet.sk) for name in fields_of(text)}
                ]
                if found:
                    yield {
                        "Entity": write_title(entity.name),
                        "Attribute": write_code(attribute.name),
                        "Stands in": write_prose(", ".join(found)),
                        "Changed by": write_prose(", ".join(changers(self.workload, entity, attribute.name))),
                    }


def titled(item: Item) -> str:
    title = write_title(item.entity)
    return f"{title} (copy {write_title(item.copy)})" if item.copy else title


def item_label(item: Item) -> str:
    """The name of an item in operations: `Order`, `Order/by-user`."""
    return f"{item.entity}/{item.copy}" if item.copy else item.entity


def readers(design: Design, slot: str, item: Item) -> list[str]:
    """The patterns that read an item in a slot."""
    found = []
    for operation in design.operations:
        for request in operation.requests:
            there = not request.actions and request.slot == slot and item.entity in request.entities
            if there and item in _meant(design, request, item.entity):
                found.append(operation.pattern)
    return list(dict.fromkeys(found))


def _meant(design: Design, request: Request, entity: str) -> list[Item]:
    """The items of an entity that a request finds: the original or copies, by its key."""
    stored = [(i, f) for i in design.items if i.entity == entity and (f := i.facet(request.slot))]
    # A read of several entities writes the key with the names of one of them: then the others match none.
    exact = [i for i, facet in stored if facet.pk == (request.pk,)] or [i for i, _ in stored]
    copied = [i for i in exact if item_label(i) in request.copies]
    return copied or [i for i in exact if not i.copy] or exact


def writers(design: Design, name: str) -> list[str]:
    """The patterns that write an item, a copy or a guard."""
    return [
        operation.pattern
        for operation in design.operations
        if any(
            action.item == name and action.action is not Did.CHECK
            for request in operation.requests
            for action in request.actions
        )
    ]


def changers(workload: Workload, entity: Entity, attribute: str) -> list[str]:
    """The patterns that may change an attribute of existing items: updates, and puts that replace items."""
    ids = {one.name for one in entity.id}
    found = []
    for write in (*workload.writes, *workload.deletes):
        for action in write.actions:
            replaced = action.verb is Verb.PUT and attribute not in ids
            if action.entity == entity.name and (
                replaced or attribute in {change.attribute for change in changes(write, action, entity)}
            ):
                found.append(write.id)
    return list(dict.fromkeys(found))
