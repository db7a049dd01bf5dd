"""The application of a walk: it writes objects through the generated packages, and tells the oracle."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from prejoin import Client, Embedded, history, refresh
from prejoin.keys.content import INLINE
from prejoin.patterns.large.content import read_large, store_large
from prejoin.table.errors import CodecError, NotFound
from prejoin.workload.model import Attribute
from tests.migrate.evolve.walks.oracle import Accepted, Code, Existence, Object, Oracle, Side
from tests.migrate.evolve.walks.studio import TABLE_NAME

TENANTS = ("busy", "loud")
QUIET = "quiet"
"""The tenant that nobody writes during a walk."""
FAR = 4_000_000_000
"""A time to live in the far future."""
KEPT_VERSIONS = 3


@dataclass
class Moment:
    """What the application has to know of the change under way."""

    change: str
    leaving: Side | None
    """The side that `clean` removes now."""


@dataclass
class Application:
    """Writes objects with any version of the code."""

    engine: Embedded
    oracle: Oracle
    random: random.Random
    moment: Callable[[], Moment]
    changed: frozenset[str] = frozenset()
    """The entities that differ in both designs."""
    time: int = 0
    reads: int = 0
    log: list[str] = field(default_factory=list)

    # --- Writes -----------------------------------------------------------------------------------------------------

    def write_each(self, code: Code) -> None:
        """Creates an object of each entity for each tenant."""
        for tenant in TENANTS:
            for create in (
                self._create_artist,
                self._create_track,
                self._create_note,
                self._create_session,
                self._create_file,
            ):
                self.time += 1
                create(code, tenant)

    def write(self, code: Code) -> None:
        """Creates, changes or deletes an object of a tenant."""
        self.time += 1
        tenant = self.random.choice(TENANTS)
        verbs: dict[str, list[Callable[[Code, str], None]]] = {
            "Artist": [self._create_artist, self._replace_artist, self._rename_artist, self._change_attribute],
            "Track": [self._create_track, self._change_status, self._play, self._change_attribute, self._refresh],
            "Note": [self._create_note, self._change_note, self._change_note],
            "Session": [self._create_session, self._change_device, self._change_device],
            "File": [self._create_file, self._change_title, self._change_content],
            "Remark": [self._create_remark],
        }
        # Most writes are to entities that change.
        entity = self.random.choice([*verbs, *sorted(self.changed) * 5])
        verb = self.random.choice(verbs[entity])
        is_delete = entity != "Remark" and self.random.random() < 0.2
        try:
            if is_delete:
                self._delete(code, tenant, entity)
            else:
                verb(code, tenant)
        except CodecError:
            # Code of a design that requires an attribute cannot read objects without it.
            if not any(map(self._has_other_attributes, ("Artist", "Track", "Note"))):
                raise
        except NotFound as refusal:
            # Code of a design with a copy is refused if other code wrote the item without it.
            if "the copy" not in str(refusal):
                raise

    def create(
        self,
        code: Code,
        entity: str,
        tenant: str,
        values: dict[str, Any],
        content: bytes | None = None,
        pattern: str = "",
    ) -> Object:
        """Creates an object. `values` has the names of the first design; the version gives the other attributes."""
        package = code.version.package
        key_name = f"{entity[0].lower()}{entity[1:]}Id"
        key = {"tenantId": tenant, key_name: values.pop("id", f"{entity[0].lower()}{self.time}")}
        if entity == "Remark":
            key = {"tenantId": tenant, "artistId": values.pop("artistId"), **key}
        given = self._given(code, entity, {**key, **values})
        client = self.client(code)
        if content is not None:
            owner = package.named(entity, key)
            given["body"] = store_large(client, package.classes[entity], "body", content, **owner)
        record = package.record(entity, given)
        patterns = {
            "Artist": "AP-100",
            "Track": "AP-110",
            "Note": "AP-120",
            "Session": "AP-130",
            "File": "AP-140",
            "Remark": "AP-150",
        }
        self._call(code, pattern or patterns[entity], tenant, dict(given), record)
        one = Object(entity, tenant, key, self._accepted(entity, given), frozenset(), content=content)
        self._finish(code, one, "create")
        self.oracle.objects.append(one)
        return one

    def _given(self, code: Code, entity: str, values: dict[str, Any]) -> dict[str, Any]:
        """The values of a new object by the names of its version: those given, and any for other attributes."""
        given: dict[str, Any] = {}
        described = code.application.workload.entity(entity)
        assert described is not None
        for attribute in described.attributes:
            name = self.oracle.name(entity, attribute.name)
            if name in values:
                given[attribute.name] = values[name]
            elif name not in ("version", "body"):
                value = self._any_value(code, entity, attribute)
                if value is not None:
                    given[attribute.name] = value
        if described.history:
            given["version"] = 0
        return given

    def _any_value(self, code: Code, entity: str, attribute: Attribute) -> Any:
        """A value of an attribute; None if the object is made without one."""
        item = code.version.design.item(entity)
        own = code.version.workload.entity(entity)
        its_own = own.attribute(attribute.name) if own else None
        must = [one.name for one in item.next_attributes if one.required] if item else []
        has_default = attribute.default is not None or (its_own is not None and its_own.default is not None)
        may_leave_out = has_default or (attribute.optional and attribute.name not in must)
        if may_leave_out and self.random.random() < 0.4:
            return None
        return f"v{self.time}"

    def _accepted(self, entity: str, given: dict[str, Any]) -> dict[str, Accepted]:
        """The values of a whole object, by the names of the first design."""
        values = {self.oracle.name(entity, name): value for name, value in given.items()}
        return {
            name: frozenset({values[name]}) if values.get(name) is not None else self.oracle.absent(entity, name)
            for name in self.oracle.attributes(entity)
            if name not in ("body", "version")
        }

    def _create_artist(self, code: Code, tenant: str) -> None:
        self.create(code, "Artist", tenant, self._new_artist(tenant))

    def _new_artist(self, tenant: str) -> dict[str, Any]:
        return {"name": f"n{self.time}", "email": f"{self.time}@{tenant}", "trackCount": 0}

    def _create_track(self, code: Code, tenant: str) -> None:
        is_counted = self.random.random() < 0.5
        artist = self._pick(code, "Artist", tenant, is_written=is_counted, is_blind=True)
        if artist is None:
            return
        (name,) = artist.values["name"]
        values = {
            "artistId": artist.key["artistId"],
            "artistName": name,
            "status": self._status(code),
            "plays": self.time,
        }
        if not is_counted:
            self.create(code, "Track", tenant, values)
            return
        # In one transaction with the artist.
        self.create(code, "Track", tenant, values, pattern="AP-113")
        (count,) = artist.values["trackCount"]
        artist.values["trackCount"] = frozenset({count + 1})
        self._finish(code, artist, "count the tracks of", is_blind=True)

    def _create_note(self, code: Code, tenant: str) -> None:
        self.create(code, "Note", tenant, {"text": f"t{self.time}"})

    def _create_session(self, code: Code, tenant: str) -> None:
        is_expired = self.random.random() < 0.2
        one = self.create(code, "Session", tenant, {"device": "d", "expiresAt": 1000 if is_expired else FAR})
        if is_expired:
            one.existence = Existence.NO
            one.sides = frozenset()

    def _create_file(self, code: Code, tenant: str) -> None:
        self.create(code, "File", tenant, {"title": f"t{self.time}"}, self._content())

    def _create_remark(self, code: Code, tenant: str) -> None:
        artist = self._pick(code, "Artist", tenant, is_written=False)
        if artist is not None and code.application.workload.entity("Remark") is not None:
            self.create(code, "Remark", tenant, {"artistId": artist.key["artistId"], "words": f"w{self.time}"})

    def _content(self) -> bytes:
        size = self.random.choice((10, INLINE * 2))
        return self.random.randbytes(size)

    def _status(self, code: Code) -> str:
        described = code.application.workload.entity("Track")
        assert described is not None
        status = described.attribute("status")
        assert status is not None
        item = code.version.design.item("Track")
        accepted = [one.values for one in item.next_attributes if one.name == "status" and one.values] if item else []
        return self.random.choice(accepted[0] if accepted else status.type.values)

    # --- Changes ----------------------------------------------------------------------------------------------------

    def _replace_artist(self, code: Code, tenant: str) -> None:
        if (one := self._pick(code, "Artist", tenant)) is None:
            return
        (name,) = one.values["name"]
        (count,) = one.values["trackCount"]
        kept = {"name": name, "trackCount": count}
        given = self._given(code, "Artist", {**one.key, **self._new_artist(tenant), **kept})
        self._call(code, "AP-101", tenant, {}, code.version.package.record("Artist", given))
        one.values = self._accepted("Artist", given)
        self._finish(code, one, "put")

    def _rename_artist(self, code: Code, tenant: str) -> None:
        """Changes one attribute without a read: it does no harm if another one has another name there."""
        if (one := self._pick(code, "Artist", tenant, is_blind=True)) is None:
            return
        self._call(code, "AP-102", tenant, {**one.key, "name": f"n{self.time}"})
        one.values["name"] = frozenset({f"n{self.time}"})
        self._finish(code, one, "change name of", is_blind=True)

    def _change_status(self, code: Code, tenant: str) -> None:
        if (one := self._pick(code, "Track", tenant)) is not None:
            self._change(code, one, "AP-111", "status", self._status(code))

    def _change_device(self, code: Code, tenant: str) -> None:
        if (one := self._pick(code, "Session", tenant)) is not None:
            self._change(code, one, "AP-131", "device", f"d{self.time}")

    def _change_title(self, code: Code, tenant: str) -> None:
        if (one := self._pick(code, "File", tenant)) is not None:
            self._change(code, one, "AP-141", "title", f"t{self.time}")

    def _change(self, code: Code, one: Object, pattern: str, name: str, value: str) -> None:
        self._call(code, pattern, one.tenant, {**one.key, name: value})
        one.values[name] = frozenset({value})
        self._finish(code, one, f"change {name} of")

    def _play(self, code: Code, tenant: str) -> None:
        if (one := self._pick(code, "Track", tenant)) is None:
            return
        self._call(code, "AP-112", tenant, {**one.key, "count": self.time})
        (plays,) = one.values["plays"]
        one.values["plays"] = frozenset({plays + self.time})
        sides, mark = one.sides, one.mark
        self._finish(code, one, "play")
        if code.version.design.counter("Track") is not None:
            # It was added to a shard of each side that the code writes, and the item was not written.
            one.sides, one.mark = sides & code.writes, mark

    def _change_attribute(self, code: Code, tenant: str) -> None:
        """Sets an attribute that no access pattern writes, with the client."""
        entity = self.random.choice(("Artist", "Track"))
        fixed = {"tenantId", "artistId", "trackId", "artistName", "status", "plays", "name", "trackCount"}
        described = code.application.workload.entity(entity)
        assert described is not None
        others = [attribute for attribute in described.attributes if attribute.name not in fixed]
        one = self._pick(code, entity, tenant)
        if one is None or not others:
            return
        attribute = self.random.choice(others)
        name = self.oracle.name(entity, attribute.name)
        value = f"{self.time}@{tenant}" if name == "email" else self._any_value(code, entity, attribute)
        if value is None and not attribute.optional:
            return
        self._update(code, one, {attribute.name: value})
        one.values[name] = frozenset({value}) if value is not None else self.oracle.absent(entity, name)
        self._finish(code, one, f"set {name} of")

    def _change_note(self, code: Code, tenant: str) -> None:
        if (one := self._pick(code, "Note", tenant)) is not None:
            self.change_note(code, one, f"t{self.time}")

    def change_note(self, code: Code, one: Object, text: str) -> None:
        described = code.application.workload.entity("Note")
        assert described is not None
        (name,) = [a.name for a in described.attributes if self.oracle.name("Note", a.name) == "text"]
        self._update(code, one, {name: text})
        one.versions = [dict(one.values), *one.versions][:KEPT_VERSIONS]
        one.values["text"] = frozenset({text})
        self._finish(code, one, "change")

    def _change_content(self, code: Code, tenant: str) -> None:
        if (one := self._pick(code, "File", tenant)) is None:
            return
        content = self._content()
        package = code.version.package
        cls, key = package.classes["File"], package.named("File", one.key)
        large = store_large(self.client(code), cls, "body", content, **key)
        self._update(code, one, {"body": large})
        one.content = content
        self._finish(code, one, "replace the content of")

    def _delete(self, code: Code, tenant: str, entity: str) -> None:
        one = self._pick(code, entity, tenant)
        if one is None or (entity == "Artist" and self._has_children(one)):
            return
        patterns = {"Track": "AP-200", "Note": "AP-201", "Session": "AP-202"}
        if entity in patterns:
            self._call(code, patterns[entity], tenant, dict(one.key))
        else:
            package = code.version.package
            self.client(code).delete(package.classes[entity], read=True, **package.named(entity, one.key))
        self.oracle.delete(code, one, self.time)
        self.log.append(f"{code.version.name} {code.change[:4]} delete {one.entity} {one.tenant} {one.key}")

    def _has_children(self, artist: Object) -> bool:
        children = [*self.oracle.of("Track", artist.tenant), *self.oracle.of("Remark", artist.tenant)]
        ids = [
            child.values["artistId"] if child.entity == "Track" else {child.key["artistId"]}
            for child in children
            if child.existence is not Existence.NO
        ]
        return any(artist.key["artistId"] in one for one in ids)

    def _refresh(self, code: Code, tenant: str) -> None:
        """Brings the names of tracks up to date, if the table has the index by which they are found."""
        slots = {slot.name for slot in code.application.design.indexes}
        if (one := self._pick(code, "Artist", tenant, is_written=False)) is None or not slots <= self.indexes():
            return
        if "Track" in self.oracle.two_sided:
            tracks = [track for track in self.oracle.of("Track", tenant) if track.existence is not Existence.NO]
            change = self.moment().change
            if not all(self.oracle.may_write(code, track, change) for track in tracks):
                return
            if any(track.mark not in ("", code.change) for track in tracks):
                return
            for track in tracks:
                # Only those with another name are written.
                sides = track.sides
                self._finish(code, track, "refresh")
                track.sides &= sides
        package = code.version.package
        refresh(self.client(code), package.classes["Artist"], **package.named("Artist", one.key))

    def set_attribute(self, code: Code, one: Object, attribute: str, value: str) -> None:
        """Gives an object a value that the next design requires."""
        self.time += 1
        self._update(code, one, {attribute: value})
        one.values[self.oracle.name(one.entity, attribute)] = frozenset({value})
        self._finish(code, one, f"correct {attribute} of")

    # --- Reads ------------------------------------------------------------------------------------------------------

    def read(self, code: Code) -> None:
        """Reads objects by their ids, where code of a version sees the newest state."""
        patterns = {"Artist": "AP-001", "Track": "AP-002", "Note": "AP-004", "Session": "AP-005", "File": "AP-006"}
        for entity, pattern in patterns.items():
            if code.version.design.counters and entity == "Track":
                continue  # checked at the end; another design may not count in shards
            tenant = self.random.choice(TENANTS)
            one = self._pick(code, entity, tenant, is_written=False)
            if one is None or (entity in self.oracle.two_sided and code.reads not in one.sides):
                continue
            try:
                record = self._call(code, pattern, tenant, dict(one.key))
            except CodecError:
                if code.reads == "first" or not self._has_other_attributes(entity):
                    raise
                continue
            assert record is not None, (code.version.name, one)
            self.check(code, one, record, is_final=False)

    def _has_other_attributes(self, entity: str) -> bool:
        both = [version.workload.entity(entity) for version in (self.oracle.first, self.oracle.second)]
        return None not in both and both[0] != both[1]

    def check(self, code: Code, one: Object, record: Any, is_final: bool = True) -> None:
        """Compares an object that was read with what it must be."""
        self.reads += 1
        if one.existence is Existence.MAYBE:
            return  # it stays as the last backfill has seen it: nobody saw the writes before its deletion
        entity, values = code.version.package.values(record)
        assert entity == one.entity
        described = code.application.workload.entity(entity)
        assert described is not None
        if one.existence is Existence.MAYBE:
            return  # of a deleted object that came back, any state may be left
        for attribute in described.attributes:
            name = self.oracle.name(entity, attribute.name)
            if name in one.key or name in ("version", "body"):
                continue
            if name == "artistName" and not is_final:
                continue  # it follows when it is refreshed
            accepted = self.names_of(one) if name == "artistName" else one.values[name]
            value = values.get(attribute.name)
            value = getattr(value, "value", value)
            assert value in accepted, (code.version.name, name, value, one)
        if one.content is not None:
            content = read_large(self.client(code), record, "body")
            assert content == one.content, (code.version.name, one.key)
        if is_final and described.history:
            self._check_history(code, one)

    def names_of(self, track: Object) -> Accepted:
        (artist_id,) = track.values["artistId"]
        (artist,) = [a for a in self.oracle.of("Artist", track.tenant) if a.key["artistId"] == artist_id]
        return artist.values["name"]

    def _check_history(self, code: Code, one: Object) -> None:
        package = code.version.package
        versions = history(self.client(code), package.classes["Note"], **package.named("Note", one.key))
        is_complete = len(versions) == len(one.versions)
        # Code of one design deletes the oldest version under its own key only.
        may_have_more = "Note" in self.oracle.moved and len(versions) > len(one.versions)
        assert is_complete or may_have_more, (versions, one)
        for record, expected in zip(versions, one.versions, strict=False):
            for attribute, value in package.values(record)[1].items():
                name = self.oracle.name("Note", attribute)
                if name not in one.key and name != "version":
                    assert value in expected[name], (attribute, value, one)

    # --- Requests ---------------------------------------------------------------------------------------------------

    def client(self, code: Code) -> Client:
        return Client(code.version.package.schema, TABLE_NAME, self.engine)

    def indexes(self) -> set[str]:
        described = self.client(Code(self.oracle.first, "first", frozenset(), self.oracle.first)).call("DescribeTable")
        return {one["IndexName"] for one in described["Table"].get("GlobalSecondaryIndexes") or ()}

    def _pick(
        self, code: Code, entity: str, tenant: str, is_written: bool = True, is_blind: bool = False
    ) -> Object | None:
        """An object that code may write. A blind write changes an attribute that is not renamed, and reads nothing."""
        change = self.moment().change
        is_free = not is_written or (is_blind and entity not in self.oracle.moved)
        objects = [
            one
            for one in self.oracle.of(entity, tenant)
            if one.existence is Existence.YES and (is_free or self.oracle.may_write(code, one, change))
        ]
        return self.random.choice(objects) if objects else None

    def _call(self, code: Code, pattern: str, tenant: str, values: dict[str, Any], record: Any = None) -> Any:
        package = code.version.package
        method = package.methods[pattern]
        names = {name: field_name for fields in package.fields.values() for name, field_name in fields.items()}
        arguments = {names.get(name, name): value for name, value in values.items()}
        arguments = {param.name: arguments.get(param.name, record) for param in method.params if not param.default}
        return package.call(self.client(code), method, arguments, tenant)

    def _update(self, code: Code, one: Object, values: dict[str, Any]) -> None:
        package = code.version.package
        cls, fields = package.classes[one.entity], package.fields[one.entity]
        with self.client(code).update(cls, read=True, **package.named(one.entity, one.key)) as draft:
            for name, value in values.items():
                setattr(draft, fields[name], value)

    def _finish(self, code: Code, one: Object, verb: str, is_blind: bool = False) -> None:
        leaving = self.moment().leaving
        if not is_blind or one.entity in self.oracle.moved:
            self.oracle.note_write(code, one, self.time, leaving)
        self.log.append(f"{code.version.name} {code.change[:4]} {verb} {one.entity} {one.tenant} {one.key}")
