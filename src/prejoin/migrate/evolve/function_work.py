"""`FunctionWork`: computes attributes and items of the next design by functions of the user.

Code of OLD goes on to change what a function computes from, and code of NEW may change what it has computed. A mark in
the item, `~computed`, has a fingerprint of what the function returned when the item was written or found, and one of
what the item held then. So of both it is known whether they have changed:

    function returns   the item has   what is done
    -                  nothing        it is written, and marked
    -                  a value        it is marked: code of NEW wrote it
    as marked          as marked      nothing
    another value      as marked      code of OLD wrote the object: the item is written
    as marked          another value  nothing: code of NEW wrote it
    another value      nothing        it is written
    another value      another value  if they are equal, it is marked; else it is reported

Items of another entity are inserted if they do not exist. In the same transaction the original gets a note of it,
`~computed~Address`, so that an item which code of NEW deletes is not made again. Nothing is deleted, and attributes
that the function does not return are never written.
"""

from __future__ import annotations

import hashlib
import sqlite3
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any, Literal

import msgspec
from msgspec.structs import replace

from prejoin.migrate.evolve.attribute_work import is_absent
from prejoin.migrate.evolve.functions import EntityFunction, FunctionError, computed_attributes
from prejoin.migrate.evolve.passes import PassOutcome, TablePasses
from prejoin.migrate.evolve.transition import CodeVersion, Transition
from prejoin.patterns.integrity.findings import Finding, values_of
from prejoin.pipeline.connection import TablePlace, connect
from prejoin.pipeline.progress import SILENT, Progress
from prejoin.protocol.errors import DynamoDBError
from prejoin.table.client.client import Client
from prejoin.table.codec.values import Json
from prejoin.table.condition.record import Compare, Condition, Exists, both
from prejoin.table.condition.render import Placeholders
from prejoin.table.errors import AlreadyExists, CodecError, ConditionFailed, Conflict, NotUnique, TableError
from prejoin.table.schema.bind import BoundEntity
from prejoin.table.schema.key_attributes import key_text
from prejoin.table.schema.pattern import BoundPattern
from prejoin.table.schema.schema import Schema
from prejoin.table.schema.visibility import is_expired
from prejoin.table.update.changes import Changes
from prejoin.table.write.actions import with_set
from prejoin.table.write.execute import write_one
from prejoin.table.write.from_call import rewrite
from prejoin.table.write.model import ItemAction, Write, key_texts
from prejoin.types import Kind
from prejoin.workload.model import Entity

MARK = "~computed"
"""The attribute with the mark."""
_CHECK = "check of functions"
_COMPUTE = "computed values"


class FunctionAction(Enum):
    """What is done with the result of a function."""

    NOTHING = "nothing"
    WRITE = "computed"
    MARK = "computed values marked"
    TRY_AGAIN = "try again"
    """The item was written since it was read: the next pass looks at it again."""
    CONFLICT = "conflict"


def decide(computed: str, stored: str, mark: str, *, is_empty: bool) -> FunctionAction:
    """What is to be done, by the fingerprints of what a function returns, and of what the item has.

    `mark` is the mark of the item, or empty; `is_empty` says whether the item has none of the attributes.
    """
    if not mark:
        # Values without a mark are those of the application: they stay.
        return FunctionAction.WRITE if is_empty and computed != stored else FunctionAction.MARK
    if mark.startswith(mark_of(computed, stored)):
        return FunctionAction.NOTHING
    if computed == stored:
        return FunctionAction.MARK
    computed_then, stored_then = mark.split(" ")[:2]
    if computed == computed_then:
        return FunctionAction.NOTHING  # only the item has changed: its new values are the application's
    if stored == stored_then or is_empty:
        return FunctionAction.WRITE  # only what it is computed from has changed
    return FunctionAction.CONFLICT


def mark_of(computed: str, stored: str) -> str:
    return f"{computed} {stored}"


@dataclass(frozen=True)
class _Place:
    """An entity in the schema by which its items are read or written."""

    entity: BoundEntity[Any]
    fields: Mapping[str, str]
    """The fields of the class, by the names in the document."""
    schema: Schema


@dataclass(frozen=True)
class _Result:
    """What a function computed for one item."""

    function: EntityFunction
    source: Json
    """The item that it was computed from."""
    values: Mapping[str, Any]
    """Attributes, by the fields of the class; those of the key, too, if it is another item."""
    wires: Mapping[str, Json]
    """The same attributes as they are stored, without those of the key. None is left out."""
    names: tuple[str, ...]
    """The fields that the function computes."""


class FunctionWork:
    """The work of the functions of a change at one step."""

    def __init__(self, transition: Transition, functions: Iterable[EntityFunction], client: Client) -> None:
        self.written: Counter[str] = Counter()
        self._client = client
        self._transition = transition
        before = transition.before_backfill
        self._sources: dict[str, list[EntityFunction]] = {}
        self._source_places: dict[str, _Place] = {}
        self._targets: dict[str, _Place] = {}
        for function in functions:
            place = _place(before, function.source)
            self._source_places[function.source] = place
            self._sources.setdefault(place.entity.tag, []).append(function)
            version = before if before.workload.entity(function.target) else transition.new
            self._targets[function.title] = _place(version, function.target)
        self._names: dict[str, frozenset[str]] = {}
        """The attributes that a function returns, which are the same for all items."""

    # --- Passes -----------------------------------------------------------------------------------------------------

    def check(self, progress: Progress) -> PassOutcome:
        """Calls the functions for all items, and writes nothing. Reports what cannot be used."""
        outcome = PassOutcome()
        progress.begin(_CHECK, _CHECK)
        read = 0
        with sqlite3.connect("") as keys:  # a temporary file
            keys.execute("CREATE TABLE computed (target TEXT PRIMARY KEY, source TEXT)")
            for items in self._pages():
                for item in items:
                    for result in self._results(item):
                        finding = result if isinstance(result, Finding) else self._collision(keys, result)
                        if finding is not None:
                            outcome.report(finding)
                read += len(items)
                progress.update(f"{read:,} items read")
        return outcome

    def run(self, passes: TablePasses, *, at_end: bool, keeps_new: bool = False) -> PassOutcome:
        """Writes what the functions compute, again and again until a pass meets no item that is written meanwhile.

        Code that does not know the computed attributes goes on to write items, and with it the results change. These
        items are left to the next step: otherwise no pass over a large table would be the last one.

        At the end, code of NEW runs alone, and the marks are removed soon: none is written for its own sake. With
        `keeps_new`, an item keeps its values if the function would return other ones, too, than when it was marked.
        """

        def run_pass(name: str) -> PassOutcome:
            outcome = PassOutcome()
            for items in passes.pages(name):
                results = (result for item in items for result in self._results(item))
                for _, (action, finding) in passes.each(
                    lambda result: self._settle(result, at_end, keeps_new), results
                ):
                    if finding is not None:
                        outcome.report(finding)
                    elif action is FunctionAction.TRY_AGAIN:
                        outcome.changes += 1
                passes.show(f"{passes.read:,} items read, {self.written[FunctionAction.WRITE.value]:,} computed")
            return outcome

        return passes.repeat(_COMPUTE, run_pass)

    def _pages(self) -> Iterator[list[Json]]:
        start: Json | None = None
        while start != {}:
            begin = {"ExclusiveStartKey": start} if start else {}
            page = self._client.call("Scan", {"ConsistentRead": True, **begin})
            yield page["Items"]
            start = page.get("LastEvaluatedKey") or {}

    # --- Results ----------------------------------------------------------------------------------------------------

    def _results(self, item: Json) -> Iterator[_Result | Finding]:
        """What the functions compute from an item, or findings about it."""
        tag = item.get(self._client.schema.type_attribute, {}).get("S", "")
        for function in self._sources.get(tag, ()):
            place = self._source_places[function.source]
            if is_expired(place.schema.ttl, item):
                continue
            values = values_of(place.entity, item)
            if values is None:
                continue  # the audit reports it
            try:
                for result in function(self._argument(function, place, values)):
                    yield self._result(function, item, values, result)
            except FunctionError as error:
                yield _finding(place.schema, item, str(error))

    def _argument(self, function: EntityFunction, place: _Place, values: Mapping[str, Any]) -> dict[str, Any]:
        entity = self._transition.old.workload.entity(function.source)
        assert entity is not None
        return {name: values[place.fields[name]] for name in _argument_names(entity)}

    def _result(
        self, function: EntityFunction, item: Json, source_values: Mapping[str, Any], result: Mapping[str, Any]
    ) -> _Result:
        """A result with its values checked. Raises a `FunctionError`."""
        place = self._targets[function.title]
        names_of_first = self._names.setdefault(function.title, frozenset(result))
        if names_of_first != result.keys():
            names = ", ".join(sorted(names_of_first ^ result.keys()))
            raise FunctionError(f"{function.name} does not return {names} for each object; None leaves a value out")
        base = place.entity.base.attributes
        values = self._by_field(function, place, result)
        if function.is_within:
            values |= {name: source_values[name] for name in base}
        lacking = [name for name in base if values.get(name) is None]
        if lacking:
            name = next(name for name, field in place.fields.items() if field == lacking[0])
            raise FunctionError(f"{function.name} returned no {name}, which is part of the key")
        result_names = tuple(sorted(name for name in values if name not in base))
        wires: dict[str, Json] = {}
        for field in (*result_names, *base):
            wire = _encode_value(place.entity, field, values[field], function)  # checks those of the key, too
            if wire is not None and field in result_names:
                wires[field] = wire
        if self._is_new(function):
            _require_record(place.entity, values, function)
        return _Result(function, item, values, wires, result_names)

    def _by_field(self, function: EntityFunction, place: _Place, result: Mapping[str, Any]) -> dict[str, Any]:
        """A result by the fields of the class. Raises a `FunctionError` if the function may not compute one of them."""
        new_names = computed_attributes(function.target, self._transition)
        values: dict[str, Any] = {}
        for name, value in result.items():
            field = place.fields.get(name)
            is_key = field in place.entity.base.attributes and not function.is_within
            if field is None or not (name in new_names or is_key):
                raise FunctionError(f"{function.name} returned {name}, which is no new attribute of {function.target}")
            values[field] = value
        return values

    def _is_new(self, function: EntityFunction) -> bool:
        """Whether a function makes items of an entity that OLD does not have."""
        return self._transition.old.workload.entity(function.target) is None

    def _collision(self, keys: sqlite3.Connection, result: _Result) -> Finding | None:
        """The finding about a result for which another object has given one, too."""
        place = self._targets[result.function.title]
        target = f"{result.function.title} {key_text(_key_of(place, result.values))}"
        source = key_text(place.schema.item_key(result.source))
        cursor = keys.execute("INSERT OR IGNORE INTO computed VALUES (?, ?)", (target, source))
        if cursor.rowcount:
            return None
        [(other,)] = keys.execute("SELECT source FROM computed WHERE target = ?", (target,)).fetchall()
        reason = f"{result.function.name} returned the same key for {other}"
        return _finding(place.schema, result.source, reason)

    # --- Writes -----------------------------------------------------------------------------------------------------

    def _settle(
        self, result: _Result | Finding, at_end: bool, keeps_new: bool
    ) -> tuple[FunctionAction, Finding | None]:
        """Does what is to be done with a result."""
        if isinstance(result, Finding):
            return FunctionAction.CONFLICT, result
        function = result.function
        place = self._targets[function.title]
        client = Client(place.schema, self._client.table, self._client._transport, observe=self._client._observe)
        item = result.source if function.is_within else self._read_target(client, place, result)
        if item is None and not self._is_new(function):
            reason = f"{function.name} computed attributes of a {function.target} that does not exist"
            return FunctionAction.CONFLICT, _finding(place.schema, result.source, reason)
        stored_values = _stored_values(place, result, item) if item else {}
        prints = fingerprint(result.wires), fingerprint(stored_values)
        action = self._action(place, result, item, prints, is_empty=not stored_values)
        if isinstance(action, str):
            return FunctionAction.CONFLICT, _finding(place.schema, result.source, action)
        if action is FunctionAction.CONFLICT and keeps_new:
            action = FunctionAction.MARK
        if action is FunctionAction.CONFLICT:
            reason = f"{', '.join(result.names)} and the values that {function.name} computes have both changed"
            return action, _finding(place.schema, item or result.source, reason)
        if action is FunctionAction.NOTHING or (action is FunctionAction.MARK and at_end):
            return FunctionAction.NOTHING, None
        return self._try_write(client, place, result, item, action, prints)

    def _try_write(
        self,
        client: Client,
        place: _Place,
        result: _Result,
        item: Json | None,
        action: FunctionAction,
        prints: tuple[str, str],
    ) -> tuple[FunctionAction, Finding | None]:
        """Writes a result, unless the item was written since it was read."""
        try:
            self._write(client, place, result, item, action, prints)
            self.written[action.value] += 1
        except NotUnique as error:
            return FunctionAction.CONFLICT, _finding(place.schema, result.source, str(error), "taken")
        except (ConditionFailed, Conflict, AlreadyExists):
            return FunctionAction.TRY_AGAIN, None
        except DynamoDBError as error:
            if error.code != "ConditionalCheckFailedException":
                raise
            return FunctionAction.TRY_AGAIN, None
        return action, None

    def _action(
        self, place: _Place, result: _Result, item: Json | None, prints: tuple[str, str], *, is_empty: bool
    ) -> FunctionAction | str:
        """What is to be done with a result; the reason if it cannot be used."""
        if item is None:
            # A note in the original says that the item existed: then somebody has deleted it.
            is_deleted = fingerprint(_key_of(place, result.values)) in _noted_keys(result)
            return FunctionAction.NOTHING if is_deleted else FunctionAction.WRITE
        mark = item.get(MARK, {}).get("S", "")
        if self._is_new(result.function):
            if not mark:
                return FunctionAction.NOTHING  # code of NEW has made the item
            if not mark.endswith(f" {_origin(place, result)}"):
                return f"{result.function.name} returned the key of an item that was made from another object"
        return decide(*prints, mark, is_empty=is_empty)

    def _read_target(self, client: Client, place: _Place, result: _Result) -> Json | None:
        answer = client.call("GetItem", {"Key": _key_of(place, result.values), "ConsistentRead": True})
        item: Json | None = answer.get("Item")
        return item

    def _write(
        self,
        client: Client,
        place: _Place,
        result: _Result,
        item: Json | None,
        action: FunctionAction,
        prints: tuple[str, str],
    ) -> None:
        """Writes the values and the mark, if the item is as it was read."""
        if action is FunctionAction.MARK:
            assert item is not None
            mark = f"{mark_of(*prints)} {_origin(place, result)}"
            client.call("UpdateItem", _mark_update(place, item, result.names, mark))
            return
        mark = f"{mark_of(prints[0], prints[0])} {_origin(place, result)}"
        original = self._note(place, result) if item is None else None
        entity = replace(place.entity, patterns=(*place.entity.patterns, _MarkPattern(mark, original)))
        if item is None:
            values = place.entity.codec.values(place.entity.codec.cls(**result.values))
            write = Write("insert", entity, values)
        else:
            key_values = {name: result.values[name] for name in entity.base.attributes}
            sets = {name: result.values[name] for name in result.names if name in result.wires}
            removes = frozenset(name for name in result.names if name not in result.wires)
            condition = self._as_read(place, result, item)
            changes = Changes(sets, removes=removes)
            write = Write(
                "update", entity, key_values, changes=changes, where=condition, read_first=True, visible=False
            )
        client._run(write_one(client.schema, client.table, rewrite(write)))

    def _note(self, place: _Place, result: _Result) -> dict[str, Any]:
        """The update of the original which notes that an item was made of it, if it is as it was read."""
        source = self._source_places[result.function.source]
        old = self._transition.old.workload.entity(result.function.source)
        assert old is not None
        placeholders = Placeholders()
        note = {"SS": [fingerprint(_key_of(place, result.values))]}
        text = f"ADD {placeholders.name(_note_name(result.function))} {placeholders.value(note)}"
        fields = [source.fields[name] for name in _argument_names(old)]
        names = [source.schema.type_attribute, *(source.entity.codec.attribute(name).wire for name in fields)]
        tests = [_is_as_read(result.source, name, placeholders) for name in dict.fromkeys(names)]
        key = {"Key": source.schema.item_key(result.source)}
        return {
            **key,
            "UpdateExpression": text,
            "ConditionExpression": " AND ".join(tests),
            **placeholders.parameters(),
        }

    def _as_read(self, place: _Place, result: _Result, item: Json) -> Condition:
        """The condition that the attributes are as they were read, and for the same item, what it is computed from."""
        names = list(result.names)
        if result.function.is_within:
            base = place.entity.base.attributes
            old = self._transition.old.workload.entity(result.function.source)
            assert old is not None
            fields = [place.fields[name] for name in _argument_names(old)]
            names += [name for name in fields if name not in base and name not in names]
        codec = place.entity.codec
        conditions: list[Condition] = []
        for name in names:
            stored_value = item.get(codec.attribute(name).wire)
            if stored_value is None:
                conditions.append(Exists((name,), present=False))
            elif not is_absent(stored_value):
                conditions.append(Compare((name,), "=", codec.attribute(name).value.decode(stored_value)))
        condition: Condition | None = None
        for part in conditions:
            condition = part if condition is None else both(condition, part)
        assert condition is not None
        return condition


def check_functions(
    transition: Transition,
    functions: Iterable[EntityFunction],
    place: TablePlace,
    table: str | None = None,
    progress: Progress = SILENT,
) -> PassOutcome:
    """Calls functions for all items of a table, and reports those for which one cannot be used. Writes nothing."""
    with connect(transition.old.package.schema, table or transition.old.design.table, place) as client:
        return FunctionWork(transition, functions, client).check(progress)


class _MarkPattern(BoundPattern):
    """Writes the mark together with the item."""

    completes = True

    def __init__(self, mark: str, original: dict[str, Any] | None = None) -> None:
        self._mark: Json = {"S": mark}
        self._original = original
        """The update of the object that it is computed from, if that is another item."""

    def expand(self, schema: Schema, write: Write) -> Iterable[ItemAction]:
        if self._original is not None:
            yield ItemAction(
                "Update", self._original, key_texts(self._original["Key"]), write, _source_changed, own=False
            )

    def complete(self, schema: Schema, write: Write, action: ItemAction) -> ItemAction:
        parameters = action.parameters
        if "Item" in parameters:
            return replace(action, parameters={**parameters, "Item": {**parameters["Item"], MARK: self._mark}})
        placeholders = Placeholders.continued(parameters)
        expression = with_set(
            parameters["UpdateExpression"], f"{placeholders.name(MARK)} = {placeholders.value(self._mark)}"
        )
        return replace(action, parameters={**parameters, **placeholders.parameters(), "UpdateExpression": expression})


def _source_changed(write: Write, item: Json | None) -> ConditionFailed:
    return ConditionFailed("the object that it is computed from was written since")


def function_marks(titles: Iterable[str]) -> frozenset[str]:
    """The attributes in which functions leave their marks and notes, for the names in the state of a table."""
    targets = [title.split(" to ")[-1] for title in titles]
    return frozenset([MARK, *(f"{MARK}~{target}" for target in targets)]) if targets else frozenset()


def _note_name(function: EntityFunction) -> str:
    return f"{MARK}~{function.target}"


def _argument_names(entity: Entity) -> list[str]:
    """The attributes that a function gets: contents may be too large for memory."""
    return [attribute.name for attribute in entity.attributes if attribute.type.kind is not Kind.CONTENT]


def _noted_keys(result: _Result) -> list[str]:
    """The fingerprints of the keys of items that were made from an object."""
    names: list[str] = result.source.get(_note_name(result.function), {}).get("SS", [])
    return names


def _stored_values(place: _Place, result: _Result, item: Json) -> dict[str, Json]:
    """The attributes of a result as an item has them, by field. None is left out."""
    values = {}
    for name in result.names:
        value = item.get(place.entity.codec.attribute(name).wire)
        if value is not None and not is_absent(value):
            values[name] = value
    return values


def _origin(place: _Place, result: _Result) -> str:
    """The fingerprint of the key of the object that a result is computed from."""
    return fingerprint(place.schema.item_key(result.source))


def _is_as_read(item: Json, name: str, placeholders: Placeholders) -> str:
    return (
        f"{placeholders.name(name)} = {placeholders.value(item[name])}"
        if name in item
        else f"attribute_not_exists({placeholders.name(name)})"
    )


def fingerprint(values: Mapping[str, Json]) -> str:
    """A fingerprint of attributes as they are stored."""
    return hashlib.sha256(msgspec.json.encode(sorted(values.items()))).hexdigest()[:16]


def _mark_update(place: _Place, item: Json, names: Iterable[str], mark: str) -> dict[str, Any]:
    placeholders = Placeholders()
    text = f"SET {placeholders.name(MARK)} = {placeholders.value({'S': mark})}"
    wires = [place.schema.type_attribute, *(place.entity.codec.attribute(name).wire for name in names)]
    tests = [_is_as_read(item, wire, placeholders) for wire in wires]
    key = {"Key": place.schema.item_key(item)}
    return {**key, "UpdateExpression": text, "ConditionExpression": " AND ".join(tests), **placeholders.parameters()}


def _encode_value(entity: BoundEntity[Any], name: str, value: Any, function: EntityFunction) -> Json | None:
    """A value as it is stored; None for None. Raises a `FunctionError` if it is none of the attribute's type."""
    attribute = entity.codec.attribute(name)
    if value is None:
        if not attribute.optional and attribute.absent is None:
            raise FunctionError(f"{function.name} returned no {attribute.wire}")
        return None
    try:
        wire: Json = attribute.value.encode(value)
        is_same = attribute.value.decode(wire) == value
    except (CodecError, ValueError, TypeError, AttributeError) as error:
        raise FunctionError(f"{function.name} returned a wrong {attribute.wire}: {str(error)[:200]}") from None
    if not is_same:
        raise FunctionError(f"{function.name} returned {str(value)[:50]!r} as {attribute.wire}, which has another type")
    return wire


def _require_record(entity: BoundEntity[Any], values: Mapping[str, Any], function: EntityFunction) -> None:
    try:
        entity.codec.values(entity.codec.cls(**values))
    except (TypeError, ValueError, TableError) as error:
        raise FunctionError(f"{function.name} returned no whole {function.target}: {str(error)[:200]}") from None


def _key_of(place: _Place, values: Mapping[str, Any]) -> Json:
    return place.schema.item_key(place.schema.facet_key(place.entity.base, values))


def _finding(schema: Schema, item: Json, reason: str, kind: Literal["computed", "taken"] = "computed") -> Finding:
    tag = item.get(schema.type_attribute, {}).get("S", "")
    return Finding(kind, tag, schema.item_key(item), item, None, reason=reason)


def _place(version: CodeVersion, entity: str) -> _Place:
    package = version.package
    return _Place(package.schema.entity(package.classes[entity]), package.fields[entity], package.schema)
