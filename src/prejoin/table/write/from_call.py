"""From the arguments of a call to a `Write`: attributes, options and changes are checked here."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import combinations
from typing import Any, Literal, TypeVar, cast

from msgspec.structs import replace

from prejoin.table.codec.paths import path_text, place
from prejoin.table.condition.record import Where, recorded
from prejoin.table.errors import CodecError, TableError
from prejoin.table.options import NOT_GIVEN, Returning
from prejoin.table.schema.bind import BoundEntity
from prejoin.table.schema.schema import Schema
from prejoin.table.update.changes import At, Changes, Values, head, steps
from prejoin.table.update.computed import Computed, Joined, Members, Sum
from prejoin.types import NUMERIC, Kind

from .model import StoredObject, Write

E = TypeVar("E")

_OPTIONS = ("where", "read", "returning", "upsert")


def insert_write(schema: Schema, record: Any) -> Write:
    entity = schema.entity(type(record))
    return rewrite(Write("insert", entity, _values(schema, entity, record)))


def put_write(schema: Schema, record: E, was: E | None, where: Where[E] | None, read: bool) -> Write:
    entity = schema.entity(type(record))
    stored = None if was is None else StoredObject(_values(schema, entity, was))
    if read and was is not None:
        raise TableError("pass either was= or read=True, not both")
    if entity.unknown == "refuse" and not read:
        raise TableError(
            f"a put of {entity.tag} would delete attributes that {entity.tag} does not have. Use update, or pass "
            "read=True to put only if there are none"
        )
    condition = recorded(where, entity.codec)
    return rewrite(Write("put", entity, _values(schema, entity, record), stored, where=condition, read_first=read))


def update_write(
    schema: Schema,
    cls: type[E],
    changes: Changes,
    where: Where[E] | None,
    known: Mapping[str, Any],
    read: bool,
    returning: Returning,
    upsert: bool,
) -> Write:
    entity, known = check_known(schema, cls, known, where, read, returning, upsert)
    if upsert and len(known) > len(entity.base.attributes):
        more = ", ".join(name for name in known if name not in entity.base.attributes)
        raise TableError(
            f"an upsert of {entity.tag} takes the key only, because there may be no item that has {more}. Set it, or "
            "use where="
        )
    if schema.fence is not None:
        schema.fence.check_stays(changes.names)
    write = Write(
        "upsert" if upsert else "update",
        entity,
        known,
        None,
        check_changes(entity, changes, moves=bool(read) and not upsert),
        None if upsert else recorded(where, entity.codec),
        returning,
        bool(read),
        if_stored=recorded(where, entity.codec) if upsert else None,
    )
    return rewrite(write)


def check_write(
    schema: Schema, cls: type[E], where: Where[E] | None, known: Mapping[str, Any], or_absent: bool = False
) -> Write:
    entity, known = check_known(schema, cls, known, where)
    if or_absent and where is None:
        raise TableError(f"a check of {entity.tag} with or_absent=True and without a condition checks nothing")
    return Write("check", entity, known, where=recorded(where, entity.codec), or_absent=or_absent)


def absence_check(schema: Schema, cls: type[E], known: Mapping[str, Any]) -> Write:
    entity, known = check_known(schema, cls, known)
    if len(known) > len(entity.base.attributes):
        more = ", ".join(name for name in known if name not in entity.base.attributes)
        raise TableError(f"check_absent takes the key of {entity.tag} only. Leave out {more}")
    return Write("check_absent", entity, known)


def delete_write(
    schema: Schema,
    cls: type[E],
    where: Where[E] | None,
    known: Mapping[str, Any],
    read: bool,
    returning: Literal["old"] | None,
) -> Write:
    entity, known = check_known(schema, cls, known, where, read, returning)
    condition = recorded(where, entity.codec)
    write = Write("delete", entity, known, where=condition, returning=returning, read_first=bool(read))
    if read and condition is not None:
        # DynamoDB deletes nothing, and succeeds, if the condition is true of a missing item. Few deletes need this.
        from prejoin.table.condition.evaluate import holds

        write = replace(write, or_absent=holds(condition, entity.codec, {}))
    return rewrite(write)


def as_written(write: Write, record: E) -> E:
    """Return the object as it was written: another one if patterns changed it."""
    if not write.entity.patterns or all(value is getattr(record, name) for name, value in write.values.items()):
        return record
    codec = write.entity.codec
    return cast("E", codec.decode(codec.encode_values(write.values)))


def rewrite(write: Write) -> Write:
    """Return the write after the patterns of its entity have rewritten it."""
    for pattern in write.entity.patterns:
        write = pattern.rewrite(write)
        if write.spares_item:  # nothing of the item changes, so the other patterns have nothing to do
            break
    return write


def _values(schema: Schema, entity: BoundEntity[Any], record: Any) -> Mapping[str, Any]:
    """Return the attributes of an object; raise OtherTenant if it belongs to another tenant."""
    return schema.with_tenant(entity.codec.values(record), entity)


def check_known(
    schema: Schema, cls: type[E], known: Mapping[str, Any], *options: Any
) -> tuple[BoundEntity[E], Mapping[str, Any]]:
    """Return the entity and the known attributes. Refuse unknown names, and options that could be attributes."""
    entity = schema.entity(cls)
    attributes = entity.codec.attributes
    if not known.keys() <= attributes.keys():
        for name in known:
            entity.codec.attribute(name)
    if not attributes.keys().isdisjoint(_OPTIONS):
        for name, option in zip(_OPTIONS, options, strict=False):
            if name in attributes and option is not None and option is not NOT_GIVEN:
                raise TableError(
                    f"{name}= is an option, and {entity.tag} has an attribute of this name. Rename the attribute in "
                    "the class, and give its name in the table in names="
                )
    return entity, schema.with_tenant(known, entity)


# --- Changes
# -----------------------------------------------------------------------------------------------------------


def check_changes(entity: BoundEntity[Any], changes: Changes, *, moves: bool = False) -> Changes:
    """Return valid changes, in which an attribute set to None is removed. Raise an error for others."""
    codec = entity.codec
    if changes.adds or changes.deletes:
        changes = _without_empty_sets(changes)
    elif not changes.removes and _is_ordinary(entity, changes.sets):
        return changes
    said = changes.all
    if not said:
        raise TableError(f"this update of {entity.tag} changes nothing")
    base = entity.base.attributes
    for at in said:
        name = head(at)
        codec.attribute(name)
        if name in base and not moves:
            raise TableError(
                f"{name} is part of the key of {entity.tag}, so a change moves the item. Pass read=True: the item is "
                "deleted, and inserted with its new key, in one transaction"
            )
    if len(said) > 1:
        _check_apart(entity, said)
    sets: dict[At, Any] = {}
    emptied: list[At] = []
    for at, value in changes.sets.items():
        if value is None and _absent_if_none(entity, at):
            _check_removable(entity, at)
            emptied.append(at)
        elif isinstance(value, set | frozenset) and not value:
            # DynamoDB has no empty set: an empty set is an absent attribute, optional or not.
            emptied.append(at)
        else:
            if isinstance(value, Computed):
                _check_type(entity, at, type(value))
            sets[at] = value
    for at in changes.removes:
        _check_removable(entity, at)
    for at in (*changes.adds, *changes.deletes):
        _check_type(entity, at, Members if at in changes.deletes else Sum)
    if not emptied:
        return changes
    return Changes(sets, changes.adds, changes.removes.union(emptied), changes.deletes)


def _is_ordinary(entity: BoundEntity[Any], sets: Values) -> bool:
    """Return whether the changes only set values of attributes, as most updates do. These need no more checks."""
    codec, base = entity.codec, entity.base.attributes
    for at, value in sets.items():
        if type(at) is not str or at not in codec.attributes or at in base:
            return False
        if isinstance(value, Computed):
            _check_type(entity, at, type(value))
        elif value is None or isinstance(value, set | frozenset):
            return False
    return bool(sets)


def _without_empty_sets(changes: Changes) -> Changes:
    """Leave out additions and deletions of no members, because DynamoDB refuses empty sets."""
    adds, deletes = (
        {at: value for at, value in values.items() if value or not isinstance(value, set | frozenset)}
        for values in (changes.adds, changes.deletes)
    )
    if len(adds) == len(changes.adds) and len(deletes) == len(changes.deletes):
        return changes
    return Changes(changes.sets, adds, changes.removes, deletes)


def _check_apart(entity: BoundEntity[Any], said: list[At]) -> None:
    """Refuse two changes of the same path, or of a path inside another: DynamoDB does not accept them."""
    if len(set(said)) == len(said) and all(isinstance(at, str) for at in said):
        return
    for one, other in combinations(sorted(map(steps, said), key=len), 2):
        if other[: len(one)] == one:
            raise TableError(f"this update of {entity.tag} changes {path_text(one)} twice")


def _absent_if_none(entity: BoundEntity[Any], at: At) -> bool:
    """Return whether None means absent. In lists and maps it is a value."""
    return isinstance(at, str) or place(entity.codec, at).last == "field"


_COMPUTED: dict[type[Computed], tuple[frozenset[Kind], str]] = {
    Sum: (NUMERIC | {Kind.SET}, "a number, nor a set"),
    Joined: (frozenset({Kind.LIST}), "a list"),
    Members: (frozenset({Kind.SET}), "a set"),
}


def _check_type(entity: BoundEntity[Any], at: At, how: type[Computed]) -> None:
    """Refuse computed changes that do not fit the type: numbers are added, sets get members, lists are joined."""
    if how not in _COMPUTED:
        return
    kinds, what = _COMPUTED[how]
    codec = entity.codec
    value = codec.attribute(at).value if isinstance(at, str) else place(codec, at).value
    # An attribute of any type is a map here: DynamoDB checks it.
    if value.type.kind not in kinds and value.type.kind is not Kind.MAP:
        raise CodecError(f"{entity.tag}.{path_text(steps(at))} is not {what}, and cannot be changed in this way")


def _check_removable(entity: BoundEntity[Any], at: At) -> None:
    found = place(entity.codec, steps(at))
    if found.last == "field" and not found.optional:
        raise CodecError(f"{entity.tag}.{path_text(steps(at))} is required and cannot be removed")
