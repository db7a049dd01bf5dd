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

_OPTIONS = ("where", "read", "returning", "upsert", "missing_ok")


def insert_write(schema: Schema, record: Any) -> Write:
    entity = schema.entity(type(record))
    return rewrite(Write("insert", entity, _values(schema, entity, record)))


def put_write(schema: Schema, record: E, was: E | None, predicate: Where[E] | None, read: bool) -> Write:
    entity = schema.entity(type(record))
    stored_object = None if was is None else StoredObject(_values(schema, entity, was))
    if read and was is not None:
        raise TableError("pass either was= or read=True, not both")
    if entity.unknown == "refuse" and not read:
        raise TableError(
            f"a put of {entity.tag} would delete attributes that {entity.tag} does not have. Use update, or pass "
            "read=True to put only if there are none"
        )
    condition = recorded(predicate, entity.codec)
    return rewrite(
        Write("put", entity, _values(schema, entity, record), stored_object, where=condition, read_first=read)
    )


def update_write(
    schema: Schema,
    cls: type[E],
    changes: Changes,
    predicate: Where[E] | None,
    known_values: Mapping[str, Any],
    read: bool,
    returning: Returning,
    upsert: bool,
) -> Write:
    entity, known_values = check_known(schema, cls, known_values, predicate, read, returning, upsert)
    if upsert and len(known_values) > len(entity.base.attributes):
        names = ", ".join(name for name in known_values if name not in entity.base.attributes)
        raise TableError(
            f"an upsert of {entity.tag} takes the key only, because there may be no item that has {names}. Set it, or "
            "use where="
        )
    if schema.fence is not None:
        schema.fence.check_stays(changes.names)
    write = Write(
        "upsert" if upsert else "update",
        entity,
        known_values,
        None,
        check_changes(entity, changes, moves=bool(read) and not upsert),
        None if upsert else recorded(predicate, entity.codec),
        returning,
        bool(read),
        if_stored=recorded(predicate, entity.codec) if upsert else None,
    )
    return rewrite(write)


def check_write(
    schema: Schema, cls: type[E], predicate: Where[E] | None, known_values: Mapping[str, Any], or_absent: bool = False
) -> Write:
    entity, known_values = check_known(schema, cls, known_values, predicate)
    if or_absent and predicate is None:
        raise TableError(f"a check of {entity.tag} with or_absent=True and without a condition checks nothing")
    return Write("check", entity, known_values, where=recorded(predicate, entity.codec), or_absent=or_absent)


def absence_check(schema: Schema, cls: type[E], known_values: Mapping[str, Any]) -> Write:
    entity, known_values = check_known(schema, cls, known_values)
    if len(known_values) > len(entity.base.attributes):
        names = ", ".join(name for name in known_values if name not in entity.base.attributes)
        raise TableError(f"check_absent takes the key of {entity.tag} only. Leave out {names}")
    return Write("check_absent", entity, known_values)


def delete_write(
    schema: Schema,
    cls: type[E],
    predicate: Where[E] | None,
    known_values: Mapping[str, Any],
    read: bool,
    returning: Literal["old"] | None,
    missing_ok: bool = False,
) -> Write:
    entity, known_values = check_known(schema, cls, known_values, predicate, read, returning, None, missing_ok or None)
    condition = recorded(predicate, entity.codec)
    write = Write(
        "delete",
        entity,
        known_values,
        where=condition,
        returning=returning,
        read_first=bool(read),
        missing_ok=missing_ok,
    )
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
    schema: Schema, cls: type[E], known_values: Mapping[str, Any], *options: Any
) -> tuple[BoundEntity[E], Mapping[str, Any]]:
    """Return the entity and the known attributes. Refuse unknown names, and options that could be attributes."""
    entity = schema.entity(cls)
    attributes = entity.codec.attributes
    if not known_values.keys() <= attributes.keys():
        for name in known_values:
            entity.codec.attribute(name)
    if not attributes.keys().isdisjoint(_OPTIONS):
        for name, option in zip(_OPTIONS, options, strict=False):
            if name in attributes and option is not None and option is not NOT_GIVEN:
                raise TableError(
                    f"{name}= is an option, and {entity.tag} has an attribute of this name. Rename the attribute in "
                    "the class, and give its name in the table in names="
                )
    return entity, schema.with_tenant(known_values, entity)


# --- Changes ----------------------------------------------------------------------------------------------------------


def check_changes(entity: BoundEntity[Any], changes: Changes, *, moves: bool = False) -> Changes:
    """Return valid changes, in which an attribute set to None is removed. Raise an error for others."""
    if changes.adds or changes.deletes:
        changes = _without_empty_sets(changes)
    elif not changes.removes and _is_ordinary(entity, changes.sets):
        return changes
    targets = changes.all
    if not targets:
        raise TableError(f"this update of {entity.tag} changes nothing")
    for at in targets:
        _check_target(entity, at, moves)
    if len(targets) > 1:
        _check_separate(entity, targets)
    sets, removals = _split_removals(entity, changes.sets)
    for at in changes.removes:
        _check_removable(entity, at)
    for at in (*changes.adds, *changes.deletes):
        _check_type(entity, at, Members if at in changes.deletes else Sum)
    if not removals:
        return changes
    return Changes(sets, changes.adds, changes.removes.union(removals), changes.deletes)


def _check_target(entity: BoundEntity[Any], at: At, moves: bool) -> None:
    """Refuse a change of an unknown attribute, and of the key unless the update may move the item."""
    name = head(at)
    entity.codec.attribute(name)
    if name in entity.base.attributes and not moves:
        raise TableError(
            f"{name} is part of the key of {entity.tag}, so a change moves the item. Pass read=True: the item is "
            "deleted, and inserted with its new key, in one transaction"
        )


def _split_removals(entity: BoundEntity[Any], sets: Values) -> tuple[dict[At, Any], list[At]]:
    """Return the values to set, and the targets to remove because their new value is stored as an absent attribute."""
    remaining: dict[At, Any] = {}
    removals: list[At] = []
    for at, value in sets.items():
        if value is None and _is_absent_if_none(entity, at):
            _check_removable(entity, at)
            removals.append(at)
        elif _is_empty_set(value):
            # DynamoDB has no empty set: an empty set is an absent attribute, optional or not.
            removals.append(at)
        else:
            if isinstance(value, Computed):
                _check_type(entity, at, type(value))
            remaining[at] = value
    return remaining, removals


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
    adds = {at: value for at, value in changes.adds.items() if not _is_empty_set(value)}
    deletes = {at: value for at, value in changes.deletes.items() if not _is_empty_set(value)}
    if len(adds) == len(changes.adds) and len(deletes) == len(changes.deletes):
        return changes
    return Changes(changes.sets, adds, changes.removes, deletes)


def _is_empty_set(value: object) -> bool:
    return isinstance(value, set | frozenset) and not value


def _check_separate(entity: BoundEntity[Any], targets: list[At]) -> None:
    """Refuse two changes of the same path, or of a path inside another: DynamoDB does not accept them."""
    if len(set(targets)) == len(targets) and all(isinstance(at, str) for at in targets):
        return
    for path, longer_path in combinations(sorted(map(steps, targets), key=len), 2):
        if longer_path[: len(path)] == path:
            raise TableError(f"this update of {entity.tag} changes {path_text(path)} twice")


def _is_absent_if_none(entity: BoundEntity[Any], at: At) -> bool:
    """Return whether None means absent. In lists and maps it is a value."""
    return isinstance(at, str) or place(entity.codec, at).last == "field"


_COMPUTED_KINDS: dict[type[Computed], tuple[frozenset[Kind], str]] = {
    Sum: (NUMERIC | {Kind.SET}, "a number, nor a set"),
    Joined: (frozenset({Kind.LIST}), "a list"),
    Members: (frozenset({Kind.SET}), "a set"),
}


def _check_type(entity: BoundEntity[Any], at: At, how: type[Computed]) -> None:
    """Refuse computed changes that do not fit the type: numbers are added, sets get members, lists are joined."""
    if how not in _COMPUTED_KINDS:
        return
    kinds, description = _COMPUTED_KINDS[how]
    codec = entity.codec
    value = codec.attribute(at).value if isinstance(at, str) else place(codec, at).value
    # An attribute of any type is a map here: DynamoDB checks it.
    if value.type.kind not in kinds and value.type.kind is not Kind.MAP:
        raise CodecError(f"{entity.tag}.{path_text(steps(at))} is not {description}, and cannot be changed in this way")


def _check_removable(entity: BoundEntity[Any], at: At) -> None:
    target = place(entity.codec, steps(at))
    if target.last == "field" and not target.optional:
        raise CodecError(f"{entity.tag}.{path_text(steps(at))} is required and cannot be removed")
