"""Aggregates: the share of an item in the aggregate of its parent, and how writes change it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from decimal import Decimal
from typing import Any

from msgspec.structs import replace

from prejoin.patterns.parents import Entities, Parent, ParentPattern, parent_of
from prejoin.table.codec.values import Json
from prejoin.table.condition.evaluate import holds
from prejoin.table.condition.record import And, Condition, Exists, Not, Or, Path, Relate, Size, both, recorded
from prejoin.table.errors import SchemaError, UnknownValue
from prejoin.table.schema.bind import BoundEntity, is_natural
from prejoin.table.schema.pattern import BoundPattern
from prejoin.table.schema.schema import Schema
from prejoin.table.update.changes import Changes
from prejoin.table.update.computed import HiddenName, Sum
from prejoin.table.write.model import Write
from prejoin.types import Kind

Number = int | Decimal
CountCondition = Callable[[Any], Any] | None
"""A condition on the child: it counts only while this is true."""
Share = tuple[dict[str, Any], Number]
"""The key of a parent, and an amount."""

RECOUNTING = HiddenName("recounting")
"""The mark that a recount sets. Each write that changes a count removes it, so the recount notices the write."""


class Aggregate(BoundPattern):
    """An aggregate of the items of one entity, for each of their parents.

    The share of an item is the amount it adds. An item without a parent, or for which `when` is false, has none.
    """

    parent: Parent
    zero: Any = 0
    """The aggregate of no items."""
    lasts = False
    """Whether the aggregate stays right when DynamoDB deletes an expired item."""

    def __init__(
        self,
        entity: BoundEntity[Any],
        cls: type[Any],
        attribute: str,
        of: str,
        when: CountCondition,
        by: Mapping[str, str],
    ) -> None:
        self.entity, self.cls, self.attribute, self.of, self._by = entity, cls, attribute, of, by
        self.label = f"{cls.__name__}.{attribute}"
        self._when = self._while_not_deleted(recorded(when, entity.codec))
        self._tested = tuple(dict.fromkeys(_attributes_in(self._when))) if self._when is not None else ()

    def link(self, entities: Entities) -> Mapping[type[Any], BoundPattern]:
        context = f"{self.entity.tag}, {self.cls.__name__}.{self.attribute}"
        self.parent = parent_of(self.entity, self.cls, self._by, entities, context)
        return self.settle(context)

    def settle(self, context: str) -> Mapping[type[Any], BoundPattern]:
        """Check the aggregate when the parent is known, and return the patterns for the parent.

        `context` is for errors.
        """
        return {}

    def counts(self, parent: Parent) -> bool:
        return not self.of and self._when is None and parent == self.parent

    @property
    def _placing(self) -> tuple[str, ...]:
        """The attributes that decide where an item counts, and whether."""
        return (*self.parent.names.values(), *self._tested)

    @property
    def deciding_names(self) -> tuple[str, ...]:
        return (*self._placing, self.of) if self.of else self._placing

    def share(self, values: Mapping[str, Any]) -> Share | None:
        """Return the share of an item with these values; None if it does not count."""
        key = self.parent.key(values)
        if key is None or not self.fulfils_condition(values):
            return None
        amount = values[self.of] if self.of else 1
        return (key, amount) if amount else None

    def fulfils_condition(self, values: Mapping[str, Any]) -> bool:
        """Return whether an item with these values fulfils `when`."""
        codec = self.entity.codec
        return self._when is None or holds(
            self._when, codec, codec.encode_values({name: values[name] for name in self._tested})
        )

    def combine(self, total: Any, amount: Any) -> Any:
        """Return the aggregate with one more share."""
        return total + amount

    def with_records(self, total: Any, records: Iterable[Any]) -> Any:
        """Return the aggregate with the shares of more objects."""
        for record in records:
            share = self.share(self.entity.codec.values(record))
            if share is not None:
                total = self.combine(total, share[1])
        return total

    def from_attribute(self, value: Any) -> Any:
        """Return the aggregate for the value of its attribute."""
        return self.zero if value is None else value

    def json(self, value: Any) -> Json:
        return {"N": str(value)}

    def is_wrong(self, stored_total: Any, counted_total: Any) -> bool:
        """Return whether the stored aggregate is wrong, given the counted one."""
        return bool(stored_total != counted_total)

    def _while_not_deleted(self, when: Condition | None) -> Condition | None:
        """Return `when` with the condition that the item is not marked as deleted."""
        if self.entity.expiry and not self.lasts:
            raise SchemaError(
                f"{self.cls.__name__}.{self.attribute} would be wrong when DynamoDB deletes a {self.entity.tag} by its "
                f"{self.entity.expiry}, because nothing else is written then. Leave out one of the patterns"
            )
        mark = self.entity.deletion_mark
        return both(when, Exists((mark,), present=False)) if mark else when

    # --- Writes -------------------------------------------------------------------------------------

    def rewrite(self, write: Write) -> Write:
        # A second delete must not change the count. If the item is read first, it is known to exist.
        if write.verb == "delete" and not write.read_first:
            return replace(write, where=both(write.where, _exists_condition(write.entity)))
        return write

    def depends(self, write: Write) -> tuple[str, ...]:
        match write.verb:
            case "update":
                if not self._changes_share(write):
                    return ()
                return self.deciding_names if self._amount(write) is None else self._placing
            case "put" | "delete" | "upsert":
                return self.deciding_names
            case _:
                return ()

    def shares(self, write: Write) -> Iterable[Share]:
        """Return the parents, and the amounts by which a write changes them."""
        write.need_before(self.depends(write), self.label)
        match write.verb:
            case "insert":
                return self._share_changes({}, write.values)
            case "put" | "upsert" if write.stored is None:
                raise UnknownValue(
                    f"this {write.verb} of {write.entity.tag} changes {self.cls.__name__}.{self.attribute} only if it "
                    "creates an item, which is not known. Use insert or update, or pass read=True"
                )
            case "put":
                return self._share_changes(write.before, write.values)
            case "update" if self._changes_share(write):
                amount = self._amount(write)
                if amount is None:
                    after = known_after(write)
                    write.need(self.deciding_names, after, self.label)
                    return self._share_changes(write.before, after)
                share = self.share({**write.before, self.of: amount})
                return () if share is None else (share,)
            case "delete":
                return self._share_changes(write.before, {})
            case _:
                return ()

    def _share_changes(self, before: Mapping[str, Any], after: Mapping[str, Any]) -> Iterator[Share]:
        old_share = self.share(before) if before else None
        new_share = self.share(after) if after else None
        if old_share is not None and new_share is not None and old_share[0] == new_share[0]:
            if old_share[1] != new_share[1]:
                yield new_share[0], new_share[1] - old_share[1]
            return
        if old_share is not None:
            yield old_share[0], -old_share[1]
        if new_share is not None:
            yield new_share

    def _changes_share(self, write: Write) -> bool:
        return not write.changes.names.isdisjoint(self.deciding_names)

    def _amount(self, write: Write) -> Number | None:
        """Return the amount by which an update changes the share, if it gives an amount: `order.total += 5`."""
        changes = write.changes
        if not self.of or not changes.names.isdisjoint(self._placing):
            return None
        amount: Number
        if self.of in changes.adds:
            amount = changes.adds[self.of]
            return amount
        change = changes.sets.get(self.of)
        if not isinstance(change, Sum) or change.path != (self.of,):
            return None
        amount = change.amount
        return amount if change.sign == "+" else -amount


class ParentAggregate(Aggregate):
    """An aggregate in an attribute of the parent."""

    stays = True
    """Whether a parent with children must not be deleted."""

    def __init__(self, create: bool, *args: Any) -> None:
        super().__init__(*args)
        self.create = create

    def settle(self, context: str) -> Mapping[type[Any], BoundPattern]:
        entity, name = self.parent.entity, self.attribute
        attribute, expected_kind = entity.codec.attribute(name), self.kind(context)
        if attribute.type.kind is not expected_kind:
            raise SchemaError(f"{context}: {entity.tag}.{name} is a {attribute.type}, and must be a {expected_kind}")
        self.check_place(context)
        if any(attribute.wire == RECOUNTING for attribute in entity.codec.attributes.values()):
            raise SchemaError(f"{context}: {entity.tag} has an attribute {RECOUNTING}, which `recount` uses")
        if self.create:
            self._check_creatable(context)
        return {self.cls: self.owner()}

    def _check_creatable(self, context: str) -> None:
        """Refuse `create` for a parent that needs more than its key and the aggregate."""
        entity = self.parent.entity
        present = {*entity.base.attributes, self.attribute}
        attributes = [attribute for attribute in entity.codec.attributes.values() if not attribute.optional]
        missing = [attribute.name for attribute in attributes if attribute.required and attribute.name not in present]
        if missing:
            raise SchemaError(
                f"{context}: create=True creates a {entity.tag} from its key, and it requires {', '.join(missing)}. "
                "Give these defaults"
            )

    def kind(self, context: str) -> Kind:
        """Return the kind that the attribute must have."""
        if not self.of:
            return Kind.INTEGER
        summed_type = self.entity.codec.attribute(self.of).type
        if summed_type.kind not in (Kind.INTEGER, Kind.DECIMAL):
            raise SchemaError(
                f"{context}: {self.entity.tag}.{self.of} is a {summed_type}. It must be int or Decimal, which add up "
                "exactly"
            )
        return summed_type.kind

    def check_place(self, context: str) -> None:
        """Refuse an attribute that cannot be maintained."""
        entity, name = self.parent.entity, self.attribute
        copies = [facet for facet in entity.facets if facet.copy and not is_natural(facet)]
        for facet in (entity.base, *entity.indexes.values(), *copies):
            if name in facet.placing:
                owner_text = f"its copy {facet.copy}" if facet.copy else entity.tag
                raise SchemaError(
                    f"{context}: {name} is part of a key template of {owner_text} in {facet.slot}, and DynamoDB cannot "
                    "add to a number in a text. Use an index on the attribute itself: "
                    f'Index("…", pk="…", sk="{entity.codec.attribute(name).wire}")'
                )

    def owner(self) -> BoundPattern:
        """Return the pattern of the parent."""
        return ParentPattern(self.entity, self.parent, self.attribute)

    def also(self, schema: Schema, write: Write) -> Iterator[Write]:
        for key, amount in self.shares(write):
            changes = Changes(adds={self.attribute: amount}, removes=frozenset({RECOUNTING}))
            yield Write("upsert" if self.create else "update", schema.entity(self.cls), key, changes=changes)


def known_after(write: Write) -> Mapping[str, Any]:
    """Return the known attributes after an update. An attribute that is changed inside is known only if it was read."""
    after, changes = write.after, write.changes
    if write.read_after is not None or not changes.nested:
        return after
    changed_inside = {path[0] for path in changes.all if not isinstance(path, str)}
    return {name: value for name, value in after.items() if name not in changed_inside}


def _exists_condition(entity: BoundEntity[Any]) -> Condition:
    """Return the condition that an item exists: it has an attribute that all items have."""
    required_names = [attribute.name for attribute in entity.codec.attributes.values() if not attribute.optional]
    # A key of constants has no attributes.
    names = [*entity.base.attributes, *required_names]
    return Exists((names[0],))


def _attributes_in(condition: Condition) -> Iterator[str]:
    """Yield the attributes in a condition."""
    match condition:
        case And(items) | Or(items):
            for part in items:
                yield from _attributes_in(part)
        case Not(item):
            yield from _attributes_in(item)
        case Relate(first, _, second):
            for side in (first, second):
                if isinstance(side, Path):
                    yield side._path[0]
                elif isinstance(side, Size):
                    yield side.path[0]
        case _:
            yield condition.path[0]  # type: ignore[attr-defined]
