"""The page `keys.md`: each key of the table and its indexes, with its items, readers and writers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import groupby
from typing import Any

from prejoin.constructs.construct import AddedConstruct, BoundConstruct, Construct, DesignSection
from prejoin.constructs.registry import CONSTRUCTS, added_in, lines_in
from prejoin.design.document.cells import write_code, write_list, write_prose, write_title, write_when
from prejoin.design.document.write_document import item_title
from prejoin.design.model import TABLE, Counter, Design, Did, Facet, Guard, Item, ItemName, Request, Slot
from prejoin.keys import TemplateError, fields_of
from prejoin.render.documents.tables import write_table
from prejoin.render.documents.titles import page_title
from prejoin.render.pictures.rows import facets_in
from prejoin.workload.lookup import changes
from prejoin.workload.model import Attribute, Entity, Verb, Workload

_COLUMNS = ("Sort Key", "Item", "Only When", "Read by", "Written by")
_GUARDS = ("Partition Key", "Sort Key", "Guards", "Written by")
_COUNTERS = ("Partition Key", "Sort Key", "Counts", "Shards", "Written by")
_ATTRIBUTES = ("Entity", "Attribute", "Stands in", "Changed by")


def key_map(workload: Workload, design: Design) -> str:
    """The page."""
    return "\n\n".join(filter(None, _KeyMap(workload, design).parts())) + "\n"


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
        for construct in CONSTRUCTS:
            if construct.section:
                yield from self._constructs(construct, construct.section)
        yield from self._attributes()

    def _slot(self, slot: Slot) -> Iterator[str]:
        name = f"Table {write_code(self.design.table)}" if slot.name == TABLE else f"Index {write_code(slot.name)}"
        yield f"## {name}"
        yield self._physical(slot)
        pairs = sorted(facets_in(self.design, slot), key=_key_of_pair)
        for pk, group in groupby(pairs, key=lambda pair: pair[1].pk):
            yield f"### {write_list(pk)}"
            rows = [self._row(slot, item, facet) for item, facet in group]
            yield write_table(_COLUMNS, rows, optional=["Sort Key", "Only When"])
        if not pairs:
            yield "It holds no items."

    def _physical(self, slot: Slot) -> str:
        names = slot.key_names
        text = f"Partition key {write_list(names[: len(slot.pk)])}"
        return f"{text}, sort key {write_list(names[len(slot.pk) :])}." if slot.sk else f"{text}."

    def _row(self, slot: Slot, item: Item, facet: Facet) -> Mapping[str, str]:
        return {
            "Sort Key": write_list(facet.sk),
            "Item": item_title(item),
            "Only When": write_when(facet.when),
            "Read by": write_prose(", ".join(readers(self.design, slot.name, item))),
            "Written by": self._writers(item.item_name),
        }

    def _writers(self, *items: ItemName) -> str:
        return write_prose(", ".join(writers(self.design, *items)))

    def _added(self) -> dict[ItemName, AddedConstruct]:
        """The constructs with items of their own, by the names of these."""
        return {bound.item_name: bound for bound in added_in(self.workload, self.design)}

    def _guards(self) -> Iterator[str]:
        if not self.design.guards:
            return
        yield "## Unique values"
        yield "Items that hold nothing: that one is there is what keeps a second one with the value away."
        constructs = self._added()
        rows = [self._guard(guard, constructs.get(guard.item_name)) for guard in self.design.guards]
        yield write_table(_GUARDS, rows, optional=["Sort Key"])

    def _guard(self, guard: Guard, bound: AddedConstruct | None) -> Mapping[str, str]:
        pk = sk = ""
        if bound:
            try:
                templates = bound.templates(self.design)
                pk, sk = templates[0].text, "".join(template.text for template in templates[1:])
            except TemplateError:
                pass  # the checks of the design report it
        return {
            "Partition Key": write_code(pk) if pk else "-",
            "Sort Key": write_code(sk) if sk else "-",
            "Guards": f"{write_title(guard.entity)}: {write_list(guard.attributes, ' + ')}",
            "Written by": self._writers(guard.item_name),
        }

    def _counters(self) -> Iterator[str]:
        if not self.design.counters:
            return
        yield "## Sharded counters"
        yield "Each holds a part of a number. The number is their sum, and that of the item itself."
        constructs = self._added()
        rows = [self._counter(counter, constructs.get(counter.item_name)) for counter in self.design.counters]
        yield write_table(_COUNTERS, rows)

    def _counter(self, counter: Counter, bound: AddedConstruct | None) -> Mapping[str, str]:
        pk, sk = bound.templates(self.design) if bound else (None, None)
        return {
            "Partition Key": write_code(pk.text) if pk else "-",
            "Sort Key": write_code(sk.text) if sk else "-",
            "Counts": f"{write_title(counter.entity)}: {write_list(counter.attributes, ' + ')}",
            "Shards": str(counter.shards),
            "Written by": self._writers(counter.item_name),
        }

    def _constructs(self, construct: Construct[Any], section: DesignSection) -> Iterator[str]:
        bound_constructs = [bound for bound in lines_in(self.workload, self.design) if bound.construct is construct]
        if bound_constructs:
            yield f"## {section.title.capitalize()}"
            yield section.map_introduction
            yield write_table(section.map_columns, [self._construct(bound, section) for bound in bound_constructs])

    def _construct(self, bound: BoundConstruct, section: DesignSection) -> Mapping[str, str]:
        names = [kept_item.name for kept_item in bound.items(self.design)] or [ItemName(bound.entity.name)]
        return {
            section.owner: write_title(bound.entity.name),
            **bound.design_row(self.design),
            "Written by": self._writers(*names),
        }

    def _attributes(self) -> Iterator[str]:
        rows = list(self._attributes_in_keys())
        if not rows:
            return
        yield "## Attributes in keys"
        yield "Where a value stands in a key, changing it moves the item: the old entry goes and a new one comes."
        yield write_table(_ATTRIBUTES, rows)

    def _attributes_in_keys(self) -> Iterator[Mapping[str, str]]:
        for entity in self.workload.entities:
            for attribute in entity.attributes:
                slots = list(self._slots_with(entity, attribute))
                if slots:
                    yield {
                        "Entity": write_title(entity.name),
                        "Attribute": write_code(attribute.name),
                        "Stands in": write_prose(", ".join(slots)),
                        "Changed by": write_prose(", ".join(changers(self.workload, entity, attribute.name))),
                    }

    def _slots_with(self, entity: Entity, attribute: Attribute) -> Iterator[str]:
        """The slots in whose keys an attribute stands."""
        for item in self.design.items:
            if item.entity != entity.name:
                continue
            copy_suffix = f" of copy {item.copy}" if item.copy else ""
            for facet in item.facets:
                if any(attribute.name in fields_of(text) for text in facet.templates):
                    yield f"{facet.slot}{copy_suffix}"


def _key_of_pair(pair: tuple[Item, Facet]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    return pair[1].pk, pair[1].sk


def readers(design: Design, slot: str, item: Item) -> list[str]:
    """The patterns that read an item in a slot."""
    pattern_ids: dict[str, None] = {}
    for operation in design.operations:
        for request in operation.requests:
            is_read_of_item = not request.actions and request.slot == slot and item.entity in request.entities
            if is_read_of_item and item in _target_items(design, request, item.entity):
                pattern_ids[operation.pattern] = None
    return list(pattern_ids)


def _target_items(design: Design, request: Request, entity: str) -> list[Item]:
    """The items of an entity that a request finds: the original or copies, by its key."""
    items: list[Item] = []
    exact_items: list[Item] = []
    for item in design.items:
        facet = item.facet(request.slot)
        if item.entity == entity and facet is not None:
            items.append(item)
            if facet.pk == (request.pk,):
                exact_items.append(item)
    # A read of several entities writes the key with the names of one of them: then the others match none.
    matching_items = exact_items or items
    copies = [item for item in matching_items if item.item_name in request.copies]
    return copies or [item for item in matching_items if not item.copy] or matching_items


def writers(design: Design, *items: ItemName) -> list[str]:
    """The patterns that write an item, a copy or a guard: one of some."""
    pattern_ids: dict[str, None] = {}
    for operation in design.operations:
        for request in operation.requests:
            for action in request.actions:
                if action.item in items and action.action is not Did.CHECK:
                    pattern_ids[operation.pattern] = None
    return list(pattern_ids)


def changers(workload: Workload, entity: Entity, attribute: str) -> list[str]:
    """The patterns that may change an attribute of existing items: updates, and puts that replace items."""
    ids = {attribute_of_id.name for attribute_of_id in entity.id}
    pattern_ids: dict[str, None] = {}
    for write in workload.changing:
        for action in write.actions:
            if action.entity != entity.name:
                continue
            changed_names = {change.attribute for change in changes(write, action, entity)}
            # A put that replaces an item may give it other values, except of its id: that names the item.
            is_replaced = action.verb is Verb.PUT and attribute not in ids
            if is_replaced or attribute in changed_names:
                pattern_ids[write.id] = None
    return list(pattern_ids)
