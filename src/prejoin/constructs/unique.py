"""Unique values: a guard item whose key has the values, written in the same transaction as the item that has them.

DynamoDB refuses a second item with the same key, so a put of the guard that requires its absence refuses a second item
with the same values. A guard holds the key of its item, so that nothing deletes or replaces the guard of another one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Set
from dataclasses import dataclass
from typing import Any, assert_never

from prejoin.constructs.construct import (
    OWNER,
    AddedConstruct,
    Companion,
    DeclaredConstruct,
    PutAttribute,
    SchemaCall,
    Usage,
    Vacancy,
)
from prejoin.design.model import TABLE, Design, Did, Guard, ItemAction, ItemChange, ItemName
from prejoin.keys import Template
from prejoin.keys.guard import guard_key
from prejoin.workload.conditions import leaves
from prejoin.workload.model import Absence, Action, Entity, Test, Verb

GUARD_SIZE = 200
"""Bytes of a guard: its key and that of its item."""


def unique_values_of(entity: Entity, design: Design, declared: tuple[DeclaredConstruct, ...]) -> Iterator[UniqueValues]:
    """The unique values of an entity that a design has guards for."""
    for guard in design.guards:
        # A guard of an attribute that the document lacks is reported, and has no key.
        if guard.entity == entity.name and set(guard.attributes) <= entity.types.keys():
            yield UniqueValues(entity, declared, guard)


@dataclass(frozen=True, slots=True)
class UniqueValues(AddedConstruct):
    """The values of one or more attributes that at most one item of an entity has."""

    guard: Guard

    # Writes

    def located_by(self, action: Action, changed: Set[str], design: Design) -> frozenset[str]:
        """The old values, by which the guard is found.

        A guard expires with its item and may then belong to another: to put or exchange it needs the expiry, too.
        """
        values, ends = frozenset(self.guard.attributes), self._ends(design)
        match action.verb:
            case Verb.PUT:  # it replaces an item that may have released its values
                return values | ends.union(*(construct.releasing for construct in self.declared))
            case Verb.DELETE:
                return values
            case Verb.UPDATE | Verb.UPSERT:
                if not changed.isdisjoint(values):
                    return values | ends
                return values if not changed.isdisjoint(ends) or self._is_freed_by(action) else frozenset()
            case Verb.CREATE | Verb.EXPIRE:
                return frozenset()
            case _:
                assert_never(action.verb)

    def expand(self, action: Action, changes: Mapping[str, ItemChange], design: Design) -> Iterator[ItemAction]:
        """The guard is put with a new item, deleted with it, and exchanged if its values change."""
        match action.verb:
            case Verb.CREATE | Verb.PUT:
                yield self._put(action, design)
            case Verb.DELETE:
                yield self._delete(action, design)
            case Verb.UPDATE | Verb.UPSERT:
                if self._is_freed_by(action):
                    yield self._delete(action, design)
                elif not changes.keys().isdisjoint(self.guard.attributes):
                    yield self._delete(action, design)
                    yield self._put(action, design)
                elif not changes.keys().isdisjoint(self._ends(design)):
                    yield self._put(action, design, is_renewed=True)
            case Verb.EXPIRE:
                pass  # a guard expires with its item
            case _:
                assert_never(action.verb)

    def _put(self, action: Action, design: Design, is_renewed: bool = False) -> ItemAction:
        """The put of a guard. If it is renewed, it is that of the item already."""
        conditions = () if is_renewed else (Absence(),)
        return ItemAction(Did.PUT, self.item_name, *self._key(design), action.many, conditions=conditions)

    def _delete(self, action: Action, design: Design) -> ItemAction:
        return ItemAction(Did.DELETE, self.item_name, *self._key(design), action.many)

    def _is_freed_by(self, action: Action) -> bool:
        return any(construct.frees_unique(action) for construct in self.declared)

    def _ends(self, design: Design) -> frozenset[str]:
        """The attribute by which the item and its guard end, if there is one."""
        return frozenset(leaf.attribute for test in self._vacant(design) for leaf in leaves(test))

    def _vacant(self, design: Design) -> list[Test]:
        """What is true of the items that count as absent. A guard has the attributes that it is about."""
        return [test for construct in self.declared if (test := construct.vacant(design)) is not None]

    def vacancy(self, action: ItemAction, design: Design) -> Vacancy:
        own = design.item(self.entity.name)
        assert own is not None  # the guard is that of an item
        facet = own.facets[0]
        owner = facet.pk[0], facet.sk[0] if facet.sk else ""
        vacant = self._vacant(design) if action.action is Did.PUT else []
        return Vacancy(owner, vacant[0] if vacant else None)

    def put_attributes(self, design: Design) -> Iterator[PutAttribute]:
        item, table = design.item(self.entity.name), design.slot(TABLE)
        assert item is not None  # the guard is that of an item
        assert table is not None  # a design has a table
        key: dict[str, str] = {}
        for part, text in zip((*table.pk, *table.sk), (*item.facets[0].pk, *item.facets[0].sk), strict=False):
            key[part.name] = text
        yield PutAttribute(OWNER, f"the map {{{', '.join(map(': '.join, key.items()))}}}")
        for name in sorted(self._ends(design)):
            yield PutAttribute(name, "as the item has it", is_optional=True)

    @property
    def may_be_missing(self) -> bool:
        optional = {attribute.name for attribute in self.entity.attributes if attribute.optional}
        return not optional.isdisjoint(self.guard.attributes)

    # The design

    @property
    def item_name(self) -> ItemName:
        return self.guard.item_name

    def templates(self, design: Design) -> tuple[Template, ...]:
        item, table = design.item(self.entity.name), design.slot(TABLE)
        tag = item.tag if item else self.entity.name
        is_sorted = bool(table and table.sk)
        memo_key = ("unique", tag, self.guard.attributes, design.separator, is_sorted)
        templates: tuple[Template, ...] | None = self.entity.memo.get(memo_key)
        if templates is None:  # the solver maps thousands of designs of the same few guards
            pk, sk = guard_key(tag, self.guard.attributes, self.entity.types, design.separator, is_sorted)
            templates = (pk, sk) if sk else (pk,)
            self.entity.memo[memo_key] = templates
        return templates

    def _key(self, design: Design) -> tuple[str, str]:
        pk, *sk = (template.text for template in self.templates(design))
        return pk, sk[0] if sk else ""

    def tag(self, design: Design) -> str:
        return f"unique {', '.join(self.guard.attributes)}"

    @property
    def item_size(self) -> int:
        return GUARD_SIZE

    @property
    def size_words(self) -> str:
        return "the size of the item that makes a value unique"

    def stored_count(self, usage: Usage) -> float:
        return usage.count

    # Renderings

    @property
    def note(self) -> str:
        return f"guard of {' + '.join(self.guard.attributes)}"

    def schema_calls(self, design: Design, twins: Iterable[str]) -> Iterator[SchemaCall]:
        yield SchemaCall("Unique", self.guard.attributes)

    def explanation(self, design: Design) -> Iterator[str]:
        names = [f"`{name}`" for name in self.guard.attributes]
        listing = names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
        is_one = len(names) == 1
        yield (
            f"{listing} {'is' if is_one else 'together are'} unique: a guard item with the "
            f"{'value' if is_one else 'values'} as its key is written in the same transaction."
        )

    # The proof

    def companions(self, values: Mapping[str, Any], design: Design) -> Iterator[Companion]:
        is_released = any(construct.is_without_guards(values) for construct in self.declared)
        if is_released or any(values.get(name) is None for name in self.guard.attributes):
            return
        item, table = design.item(self.entity.name), design.slot(TABLE)
        assert item is not None  # it is an item of the table
        names = self.guard.attributes
        pk, sk = guard_key(item.tag, names, self.entity.types, design.separator, bool(table and table.sk))
        yield Companion(pk, sk, f"unique {', '.join(names)}", tuple(self._ends(design)))
