"""Renamed attributes of items: `decide` says what is to be done with the old name, the new name and their mark.

Code that knows both names writes both, and a mark with the same value (`patterns/mirror.py`). Code that knows one name
writes only that one:

    old name    new name    what happened                             what is done
    as marked   as marked   nothing                                   nothing; at the end the old one is removed
    changed     as marked   code of OLD wrote it                      the new one gets its value
    as marked   changed     code of NEW wrote it                      nothing; at the end the old one is removed
    changed     changed     equal, or nobody knows which is right     both are marked, or it is reported

An item without a mark was never written by code that knows both: an absent new name gets the value of the old one.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from typing import Any, assert_never

from prejoin.migrate.evolve.attribute_work import ItemChange, is_absent
from prejoin.migrate.evolve.same_version import rewrite_same_version
from prejoin.migrate.evolve.transition import CodeVersion, Transition
from prejoin.patterns.history import OBJECT, HistoryPattern
from prejoin.patterns.integrity.findings import Finding, same
from prejoin.patterns.mirror import mirror_mark
from prejoin.protocol.values import equal
from prejoin.table.codec.values import Json
from prejoin.table.condition.record import Compare, Condition, Exists, both
from prejoin.table.condition.render import Placeholders
from prejoin.table.errors import CodecError
from prejoin.table.schema.bind import BoundEntity
from prejoin.table.schema.schema import Schema
from prejoin.table.update.changes import Changes
from prejoin.table.write.model import Write


class RenameAction(Enum):
    """What is done with both names of an attribute."""

    NOTHING = "nothing"
    COPY = "renamed"
    """The new name gets the value of the old one, and both are marked."""
    REMOVE_OLD = "old names removed"
    CONFLICT = "conflict"


def decide(old: Json | None, new: Json | None, mark: Json | None, *, at_end: bool) -> RenameAction:
    """What is to be done with an item. At the end, code of NEW runs alone, and the old name is removed."""
    # One piece, because it is a table of decisions. The mark is the value that both names had when they were equal: a
    # name whose value is another one by now was written since. Where only the old one was, its value is copied again.
    is_marked = mark is not None
    are_equal = _same(old, new)
    has_old_changed = not (is_marked and _same(old, mark))
    has_new_changed = not (is_marked and _same(new, mark))
    if are_equal and (is_absent(old) or not has_old_changed or at_end):
        return RenameAction.REMOVE_OLD if at_end and (old is not None or is_marked) else RenameAction.NOTHING
    if are_equal:
        return RenameAction.COPY
    if not is_marked:
        if new is None:
            return RenameAction.COPY
        return RenameAction.NOTHING if old is None else RenameAction.CONFLICT
    if has_old_changed and has_new_changed:
        return RenameAction.CONFLICT
    if has_old_changed:
        return RenameAction.COPY
    return RenameAction.REMOVE_OLD if at_end else RenameAction.NOTHING


def _same(attribute: Json | None, other: Json | None) -> bool:
    """Whether two attributes are equal. A NULL is as good as an absent one."""
    if attribute is None or other is None or is_absent(attribute) or is_absent(other):
        return is_absent(attribute) and is_absent(other)
    return equal(attribute, other)


@dataclass(frozen=True)
class _Rename:
    """A renamed attribute of one entity."""

    entity: BoundEntity[Any]
    """In the schema of `prepare`."""
    old: str
    new: str
    """The fields of the class."""
    old_wire: str
    new_wire: str

    @property
    def mark(self) -> str:
        return mirror_mark(self.old_wire, self.new_wire)


class RenameWork:
    """What has to be done with the renamed attributes of items at one step of a change."""

    def __init__(self, transition: Transition, *, at_end: bool) -> None:
        self._at_end = at_end
        version = transition.prepare
        self.schema: Schema = version.package.schema
        """The schema of the code that reads the old name, and writes both."""
        self._own: dict[str, list[_Rename]] = {}
        self._versions: dict[str, list[_Rename]] = {}
        for entity, old, new in transition.renamed:
            rename = _bind(version, entity, old, new)
            self._own.setdefault(rename.entity.tag, []).append(rename)
            for pattern in rename.entity.patterns:
                if isinstance(pattern, HistoryPattern):
                    self._versions.setdefault(pattern.facet.entity, []).append(rename)

    def work(self, item: Json) -> Iterator[ItemChange | Finding]:
        """The changes of an item, and findings about names that nobody can decide about."""
        tag = item.get(self.schema.type_attribute, {}).get("S", "")
        for rename in self._own.get(tag, ()):
            old, new, mark = (item.get(name) for name in (rename.old_wire, rename.new_wire, rename.mark))
            match decide(old, new, mark, at_end=self._at_end):
                case RenameAction.COPY:
                    yield self._copy(rename, item)
                case RenameAction.REMOVE_OLD:
                    yield self._remove(rename, item)
                case RenameAction.CONFLICT:
                    reason = f"{rename.old_wire} and {rename.new_wire} were both changed"
                    yield Finding("renamed", tag, self.schema.item_key(item), item, None, reason=reason)
                case RenameAction.NOTHING:
                    pass
                case action:
                    assert_never(action)
        for rename in self._versions.get(tag, ()):
            yield from self._earlier_version(rename, item)

    def _copy(self, rename: _Rename, item: Json) -> ItemChange | Finding:
        """The write that gives both names the value of the old one, if both are as they were read."""
        entity = rename.entity
        attribute = entity.codec.attribute(rename.old)
        try:
            values = {}
            for name in entity.base.attributes:
                key_attribute = entity.codec.attribute(name)
                values[name] = key_attribute.value.decode(item[key_attribute.wire])
            old, new = item.get(rename.old_wire), item.get(rename.new_wire)
            value = None if old is None or is_absent(old) else attribute.value.decode(old)
            new_value = None if new is None or is_absent(new) else attribute.value.decode(new)
        except (KeyError, CodecError, ValueError, TypeError) as error:
            tag = item[self.schema.type_attribute]["S"]
            return Finding("damaged", tag, self.schema.item_key(item), item, None, reason=str(error))
        if not same(self.schema.facet_key(entity.base, values), self.schema.item_key(item)):
            return Finding("misplaced", entity.tag, self.schema.item_key(item), item, None)
        changes = Changes(removes=frozenset({rename.old})) if value is None else Changes({rename.old: value})
        condition = both(_is(rename.old, value), _is(rename.new, new_value))
        write = Write("update", entity, values, changes=changes, where=condition, read_first=True, visible=False)
        return ItemChange(RenameAction.COPY.value, write=rewrite_same_version(write, item))

    def _remove(self, rename: _Rename, item: Json) -> ItemChange:
        """The update that removes the old name and the mark, if nothing was written since."""
        placeholders = Placeholders()
        names = [name for name in (rename.old_wire, rename.mark) if name in item]
        text = f"REMOVE {', '.join(map(placeholders.name, names))}"
        names = [self.schema.type_attribute, rename.old_wire, rename.new_wire, rename.mark]
        tests = []
        for name in names:
            if name in item:
                tests.append(f"{placeholders.name(name)} = {placeholders.value(item[name])}")
            else:
                tests.append(f"attribute_not_exists({placeholders.name(name)})")
        return self._update(RenameAction.REMOVE_OLD, item, text, " AND ".join(tests), placeholders)

    def _earlier_version(self, rename: _Rename, item: Json) -> Iterator[ItemChange]:
        """The update of an earlier version of an item, which never changes by itself."""
        attributes = item.get(OBJECT, {}).get("M", {})
        has_old, has_new = rename.old_wire in attributes, rename.new_wire in attributes
        placeholders = Placeholders()
        old, new = (
            f"{placeholders.name(OBJECT)}.{placeholders.name(name)}" for name in (rename.old_wire, rename.new_wire)
        )
        if has_old and not has_new:
            condition = f"attribute_not_exists({new}) AND attribute_exists({old})"
            yield self._update(RenameAction.COPY, item, f"SET {new} = {old}", condition, placeholders)
        elif has_old and self._at_end:
            condition = f"attribute_exists({new})"
            yield self._update(RenameAction.REMOVE_OLD, item, f"REMOVE {old}", condition, placeholders)

    def _update(
        self, action: RenameAction, item: Json, text: str, condition: str, placeholders: Placeholders
    ) -> ItemChange:
        parameters = {"UpdateExpression": text, "ConditionExpression": condition, **placeholders.parameters()}
        return ItemChange(action.value, {"Key": self.schema.item_key(item), **parameters})


def _is(name: str, value: Any) -> Condition:
    return Exists((name,), present=False) if value is None else Compare((name,), "=", value)


def _bind(version: CodeVersion, entity: str, old: str, new: str) -> _Rename:
    package = version.package
    bound = package.schema.entity(package.classes[entity])
    fields = package.fields[entity]
    wires = [bound.codec.attribute(fields[name]).wire for name in (old, new)]
    return _Rename(bound, fields[old], fields[new], *wires)
