"""Soft delete: a delete sets a time in the item and hides it, until it is restored, purged or expired.

    - **Soft delete**: deletedAt, kept 30 days, unique values are released

`delete Note` is written out as `update Note (deletedAt = now)`, and the client does it by its `delete`. Reads leave
hidden items out by a filter, updates and checks do not find them, and a create does not replace them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, ClassVar

from msgspec.structs import replace

from prejoin.constructs.construct import (
    BoundConstruct,
    Construct,
    DesignSection,
    LineGrammar,
    Problem,
    SchemaCall,
)
from prejoin.design.model import Design
from prejoin.types import Kind
from prejoin.workload.codes import CATALOGUE
from prejoin.workload.conditions import leaves
from prejoin.workload.grammar.lexer import CellTokens, write_name
from prejoin.workload.grammar.quantities import write_span
from prejoin.workload.grammar.values import read_span
from prejoin.workload.model import (
    Absence,
    Action,
    Attribute,
    Change,
    Entity,
    Leaf,
    SoftDelete,
    Value,
    Verb,
    Write,
)

_CODE = CATALOGUE["PJ227"]
_FIX = "write `deletedAt`, `deletedAt, kept 30 days` or `deletedAt, unique values are released`"
_VISIBLE = 90.0
"""The per cent of the stored items that are assumed not to be deleted."""


class SoftDeleteConstruct(Construct[SoftDelete]):
    name = "soft_delete"
    grammar = LineGrammar(
        "Soft delete",
        "the attribute in which a delete sets its time, instead of deleting the item",
        (
            ("deletedAt", "reads and updates do not find the item any more; `restore` and `purge` of the client do"),
            (
                "deletedAt, kept 30 days",
                "DynamoDB deletes the item 30 days after its delete, by its `ttl`, which has to be optional",
                ("deletedAt; kept 30 days",),
            ),
            (
                "deletedAt, unique values are released",
                "others may take the unique values of a deleted item; without it they stay taken, so that it can be "
                "restored",
            ),
            ("deletedAt, kept 30 days, unique values are released", "both"),
        ),
    )
    section = DesignSection(
        "Soft Deletes",
        ("soft delete", "deleted items"),
        ("Entity", "Marks", "Unique Values", "Kept"),
        "A delete sets the time of the delete in the item. Queries leave such items out by a filter, and writes "
        "require that the attribute is absent.",
        "Items",
        ("Items", "Marks", "Unique Values", "Kept", "Written by"),
        "A deleted item stays under its keys, with the time of the delete. Reads of the entity do not return it.",
    )
    functions: ClassVar[Mapping[str, str]] = {
        "restore": "call `restore(db, Note, note_id=…)` of the client: it is no pattern of the document",
        "purge": "call `purge(db, Note, note_id=…)` of the client: it is no pattern of the document",
    }

    def read(self, text: str) -> SoftDelete:
        """
        >>> SoftDeleteConstruct().read("deletedAt, kept 30 days, unique values are released")
        SoftDelete(attribute='deletedAt', seconds=2592000, releases=True)
        """
        tokens = CellTokens(text)
        attribute = tokens.name("the attribute with the time of the delete")
        seconds, releases = None, False
        while tokens.separators():
            if tokens.word("kept"):
                seconds = read_span(tokens)
            elif tokens.words("unique values are released"):
                releases = True
            else:
                break
        tokens.expect_end(_FIX)
        return SoftDelete(attribute, seconds, releases)

    def write(self, value: SoftDelete) -> str:
        """
        >>> SoftDeleteConstruct().write(SoftDelete("deletedAt", 2_592_000))
        'deletedAt, kept 30 days'
        """
        retention = [f"kept {write_span(value.seconds)}"] if value.seconds is not None else []
        release = ["unique values are released"] if value.releases else []
        return ", ".join([write_name(value.attribute), *retention, *release])

    def bind(self, entity: Entity, value: SoftDelete) -> BoundConstruct:
        return DeletionMark(entity, self, value)


@dataclass(frozen=True, slots=True)
class DeletionMark(BoundConstruct):
    value: SoftDelete

    # The document

    def problems(self) -> Iterator[Problem]:
        yield from self._problems_of_mark()
        entity = self.entity
        if entity.singleton:
            message = f"there is only one `{entity.name}`, and a deleted one is in the way of the next"
            yield Problem(_CODE, message, "leave the soft delete out")
        # DynamoDB deletes an item by itself only at the time of its TTL attribute.
        if self.value.seconds is not None and self._ending is None:
            message = f"deleted items of `{entity.name}` are to expire, and it has no optional `ttl` attribute"
            yield Problem(_CODE, message, "add the attribute `` `expiresAt` (datetime, optional, mutable, ttl) ``")
        if self.value.seconds == 0:
            yield Problem(_CODE, f"the soft delete of `{entity.name}` keeps nothing", "leave it out")
        has_unique = bool(entity.unique) or any(attribute.unique for attribute in entity.attributes)
        if self.value.releases and not has_unique:
            message = f"`{entity.name}` has no unique values that could be released"
            yield Problem(_CODE, message, f"write only `{self.construct.write(replace(self.value, releases=False))}`")
        for attribute in entity.attributes:
            yield from _problems_beside_hidden_items(attribute)

    def _problems_of_mark(self) -> Iterator[Problem]:
        """What is wrong with the attribute for the time of the delete."""
        entity, name = self.entity, self.value.attribute
        mark = entity.attribute(name)
        if mark is None or mark.type.kind is not Kind.DATETIME or not mark.optional:
            message = f"`{entity.name}` has a soft delete, and no optional datetime `{name}` for its time"
            yield Problem(_CODE, message, f"add the attribute `` `{name}` (datetime, optional, mutable) ``")
        elif mark.id or mark.unique or mark.ttl or mark.repeats or mark.default is not None:
            message = f"`{name}` of `{entity.name}` is set by deletes"
            yield Problem(_CODE, message, f"write `` `{name}` (datetime, optional, mutable) ``")

    def write_problems(self, write: Write) -> Iterator[Problem]:
        """The parts of a write that set or test the time of the delete, which only deletes do."""
        name, mark = self.entity.name, self.value.attribute
        for action in write.actions:
            changed_names = {change.attribute for change in action.changes}
            if action.entity == name and mark in changed_names and not self._is_delete(action):
                message = f"{write.id} sets `{name}.{mark}`, which a delete sets"
                yield Problem(_CODE, message, f"write `delete {name}`; `restore` of the client removes it", "actions")
        for check in write.checks:
            for leaf in leaves(check):
                if (leaf.entity or write.first_entity) == name and leaf.attribute == mark:
                    message = f"{write.id} has a condition on `{name}.{mark}`, and no write finds a deleted item"
                    yield Problem(_CODE, message, "leave it out", "checks")

    def counter_obstacle(self, number: str) -> str:
        return f"a {self.entity.name} is only hidden by its delete, and an addition does not see that"

    # Writes

    @property
    def _ending(self) -> Attribute | None:
        """The attribute with the time at which DynamoDB deletes an item."""
        return next((a for a in self.entity.attributes if a.ttl and a.optional), None)

    @property
    def _marking(self) -> tuple[Change, ...]:
        """The changes of a delete."""
        marking = [Change(self.value.attribute, value=Value(now=0))]
        if self.value.seconds is not None and self._ending is not None:
            marking.append(Change(self._ending.name, value=Value(now=self.value.seconds)))
        return tuple(marking)

    def _is_delete(self, action: Action) -> bool:
        return action.verb is Verb.UPDATE and set(self._marking) == set(action.changes)

    @property
    def maintained_names(self) -> frozenset[str]:
        return frozenset({self.value.attribute})

    def rewrite(self, action: Action) -> Action:
        return replace(action, verb=Verb.UPDATE, changes=self._marking) if action.verb is Verb.DELETE else action

    def shorten(self, action: Action) -> Action:
        return replace(action, verb=Verb.DELETE, changes=()) if self._is_delete(action) else action

    def client_verb(self, action: Action) -> Verb:
        return Verb.DELETE if self._is_delete(action) else action.verb

    def function_actions(self) -> Iterator[Action]:
        """A restore, which takes released unique values again, and a purge."""
        unique_names = {a.name for a in self.entity.attributes if a.unique}.union(*self.entity.unique)
        released_names = sorted(unique_names.difference(self.entity.id_names)) if self.value.releases else []
        yield Action(Verb.UPDATE, self.entity.name, changes=(*self._marking, *map(Change, released_names)))
        yield Action(Verb.DELETE, self.entity.name)

    def frees_unique(self, action: Action) -> bool:
        return self.value.releases and self._is_delete(action)

    @property
    def releasing(self) -> frozenset[str]:
        return frozenset({self.value.attribute}) if self.value.releases else frozenset()

    # Reads and writes

    @property
    def visible(self) -> Leaf | None:
        return Absence(attribute=self.value.attribute)

    @property
    def visible_percent(self) -> float:
        return _VISIBLE

    @property
    def held_names(self) -> frozenset[str]:
        return frozenset({self.value.attribute})

    # Renderings

    def schema_calls(self, design: Design, twins: Iterable[str]) -> Iterator[SchemaCall]:
        options: list[tuple[str, object]] = []
        if self.value.seconds is not None:
            options.append(("keep", timedelta(seconds=self.value.seconds)))
        if self.value.releases:
            options.append(("release", True))
        yield SchemaCall("SoftDelete", (self.value.attribute,), options=tuple(options))

    def explanation(self, design: Design) -> Iterator[str]:
        mark = self.value.attribute
        yield (
            f"A delete sets `{mark}` and leaves the item, for the price of an update. Queries leave such items out by "
            f"a filter, and are billed for them: {100 - _VISIBLE:g} % of the items are assumed to be deleted. Writes "
            f"require that `{mark}` is absent."
        )

    def usage_words(self) -> str:
        expiry_words = ""
        if self.value.seconds is not None:
            expiry_words = f" DynamoDB deletes it {write_span(self.value.seconds)} later."
        return (
            f"is hidden by its delete.{expiry_words} `restore(db, …)` makes it visible again, and `purge(db, …)` "
            "deletes it for good. Both are in `prejoin`, and need the rights to get, update and delete its items."
        )

    def design_row(self, design: Design) -> Mapping[str, str]:
        return {
            "Marks": f"`{self.value.attribute}`",
            "Unique Values": "are released" if self.value.releases else "stay taken",
            "Kept": write_span(self.value.seconds) if self.value.seconds is not None else "until purged",
        }

    def removal_words(self) -> str:
        return (
            "has no soft delete in `{design}`. Items that were deleted become visible again, also those whose unique "
            "values were released: purge them before, and delete none until only `{design}` runs"
        )

    def addition_words(self) -> str:
        return (
            "has a soft delete in `{design}`. Code before it still finds the items that `{design}` has deleted, and "
            "deletes items for good: delete none until only `{design}` runs"
        )

    def change_words(self, before: BoundConstruct) -> str:
        assert isinstance(before, DeletionMark)
        if before.value.attribute != self.value.attribute:
            return (
                f"has the time of a delete in `{self.value.attribute}` in `{{design}}`. Items that were deleted become "
                "visible again: purge or restore them before, and delete none until only `{design}` runs"
            )
        if before.value.releases != self.value.releases:
            verb = "are released" if self.value.releases else "stay taken"
            return (
                f"has unique values that {verb} by a delete in `{{design}}`. A restore or purge does not know of items "
                "that were deleted otherwise: purge or restore them before, and delete none until only `{design}` runs"
            )
        return ""

    # The proof

    @property
    def initial(self) -> Mapping[str, Any]:
        return {self.value.attribute: None}

    @property
    def hidden_words(self) -> str:
        return "is hidden"

    def is_hidden(self, values: Mapping[str, Any], now: datetime) -> bool:
        return values.get(self.value.attribute) is not None

    def hidden_values(self, values: Mapping[str, Any], now: datetime) -> Mapping[str, Any]:
        hidden_values = {**values, self.value.attribute: now}
        if self.value.seconds is not None and self._ending is not None:
            end = now + timedelta(seconds=self.value.seconds)
            hidden_values[self._ending.name] = end if self._ending.type.kind is Kind.DATETIME else int(end.timestamp())
        return hidden_values

    def is_without_guards(self, values: Mapping[str, Any]) -> bool:
        return self.value.releases and values.get(self.value.attribute) is not None


def _problems_beside_hidden_items(attribute: Attribute) -> Iterator[Problem]:
    """Attributes that an entity cannot have, because something outside the item has to know of its delete."""
    if attribute.follows:
        message = f"`{attribute.name}` follows another attribute, and no refresh finds a deleted item"
        yield Problem(_CODE, message, "remove `follows`, or the soft delete")
    elif attribute.type.kind is Kind.CONTENT:
        message = f"`{attribute.name}` is a large content, which would stay when a deleted item expires"
        yield Problem(_CODE, message, "keep it in an entity of its own, or remove the soft delete")
