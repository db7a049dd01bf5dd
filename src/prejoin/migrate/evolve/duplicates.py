"""Items that share a value which the new design makes unique: `find_duplicates` lists them, a `DuplicateRule` decides.

Only one of several items with the same value can have its guard. `find_duplicates` reads the whole table before the
change. During the backfill, `DuplicateDecisions` decides which of two items has the guard, and writes a report of the
items without one:

    {"unique": "User unique email", "guard": {"pk": …}, "owner": {"pk": …}, "key": {"pk": …}, "decided": true}

`owner` is the key of the item that has the guard, and `key` that of the other one. A file of such lines is also a rule:
the `owner` of each line is to have the guard. Nothing is written but guards.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Literal, TextIO, assert_never

import msgspec

from prejoin.migrate.evolve.transition import Transition
from prejoin.migrate.evolve.twins import pair_kinds
from prejoin.patterns.integrity.findings import Finding, Judge, same, values_of
from prejoin.patterns.unique import UniquePattern
from prejoin.pipeline import codes
from prejoin.pipeline.connection import TablePlace, connect
from prejoin.pipeline.errors import InvalidArgumentError, PipelineError
from prejoin.pipeline.progress import SILENT, Progress
from prejoin.table.client.client import Client
from prejoin.table.codec.values import Json
from prejoin.table.schema.bind import facet_tag
from prejoin.table.schema.key_attributes import key_text
from prejoin.table.schema.schema import Schema

LISTED = 300
"""Items that are listed by their keys; all are counted."""
_BATCH = 1000
"""Rows that are written to the temporary file at a time."""
_FIRST = "keep-first"
_OLDEST = "keep-oldest:"


def guard_tags(schema: Schema) -> dict[str, str]:
    """The type tags of guards, each with the type tag of its entity."""
    return {
        facet_tag(facet): entity.tag
        for entity in schema.entities
        for pattern in entity.patterns
        if isinstance(pattern, UniquePattern)
        for facet in pattern.facets
    }


def added_guards(transition: Transition) -> dict[str, str]:
    """The type tags of the guards that the new design adds, each with the type tag of its entity.

    An entity that gets another key has the same unique values as before, with other guards.
    """
    old = guard_tags(transition.old.package.schema)
    schema = transition.before_backfill.package.schema
    kinds = {tag for kind in pair_kinds(transition) for tag in kind.tags}
    return {tag: entity for tag, entity in guard_tags(schema).items() if tag not in old and entity not in kinds}


# --- Before the change ----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class DuplicateGroup:
    """Items with the same value."""

    unique: str
    """The type tag of the guard: `User unique email`."""
    guard: Json
    """The key of the guard, which holds the value."""
    count: int
    items: tuple[Json, ...]
    """The keys of the items, as many as are listed."""

    def __str__(self) -> str:
        remainder = f" and {self.count - len(self.items):,} more" if self.count > len(self.items) else ""
        return f"{self.unique} {key_text(self.guard)}: {', '.join(map(key_text, self.items))}{remainder}"


@dataclass(frozen=True)
class DuplicateReport:
    """The items of a table that share a value which becomes unique."""

    read: int
    """Items of the table that were read."""
    groups: int = 0
    items: int = 0
    """Items in groups."""
    listed: tuple[DuplicateGroup, ...] = ()


def find_duplicates(
    transition: Transition, place: TablePlace, table: str | None = None, progress: Progress = SILENT
) -> DuplicateReport | None:
    """Reads all items of a table, and finds those that share a value. None if the new design adds no unique value."""
    if not added_guards(transition):
        return None
    with connect(transition.old.package.schema, table or transition.old.design.table, place) as client:
        return duplicates_in(client, transition, progress)


def duplicates_in(client: Client, transition: Transition, progress: Progress = SILENT) -> DuplicateReport:
    """As `find_duplicates`, for the table of a client.

    SQLite sorts the values in a temporary file, some 200 bytes for each, so memory does not grow with the table.
    """
    schema, tags = transition.before_backfill.package.schema, added_guards(transition)
    progress.begin("looking for duplicates", "duplicates")
    with TemporaryDirectory(prefix="prejoin-") as folder:
        database = sqlite3.connect(Path(folder) / "values.db")
        try:
            # A file that is deleted in any case needs no journal.
            database.execute("PRAGMA journal_mode = OFF")
            database.execute("PRAGMA synchronous = OFF")
            database.execute("CREATE TABLE held (tag TEXT, guard TEXT, item TEXT)")
            read = _collect(client, schema, tags, database, progress)
            return _report(database, read)
        finally:
            database.close()


def _collect(
    client: Client, schema: Schema, tags: Mapping[str, str], database: sqlite3.Connection, progress: Progress
) -> int:
    """Writes the guards that items should have into the temporary file. Returns the number of items that were read."""
    judge = Judge(schema)
    rows: list[tuple[str, str, str]] = []
    read = 0
    start: Json | None = None
    while start != {}:
        page = client.call("Scan", {"ExclusiveStartKey": start} if start else {})
        for item in page["Items"]:
            # As text: SQLite has no type for keys, and sorted JSON of equal keys is equal.
            key = _text(judge.key_of(item))
            rows += [(tag, _text(guard), key) for tag, guard in _guards(judge, item, tags)]
        if len(rows) >= _BATCH:
            database.executemany("INSERT INTO held VALUES (?, ?, ?)", rows)
            rows.clear()
        read += len(page["Items"])
        progress.update(f"{read:,} items read")
        start = page.get("LastEvaluatedKey") or {}
    database.executemany("INSERT INTO held VALUES (?, ?, ?)", rows)
    return read


def _guards(judge: Judge, item: Json, tags: Mapping[str, str]) -> Iterator[tuple[str, Json]]:
    """The type tags and keys of the guards that an item should have."""
    entity = judge.kind(item)[0]
    if entity is None or entity.tag not in tags.values() or judge.is_expired(item):
        return
    values = values_of(entity, item)
    if values is None or not same(judge.schema.facet_key(entity.base, values), judge.key_of(item)):
        return
    for pattern in entity.patterns:
        if isinstance(pattern, UniquePattern) and facet_tag(pattern.facets[0]) in tags:
            for guard in pattern.expected(judge.schema, values):
                yield facet_tag(pattern.facets[0]), judge.key_of(guard)


def _report(database: sqlite3.Connection, read: int) -> DuplicateReport:
    database.execute("CREATE INDEX by_guard ON held (guard, item)")
    groups_sql = "SELECT tag, guard, count(*) AS number FROM held GROUP BY guard HAVING count(*) > 1"
    groups, items = database.execute(f"SELECT count(*), coalesce(sum(number), 0) FROM ({groups_sql})").fetchone()  # noqa: S608
    groups_with_items: list[DuplicateGroup] = []
    remaining_items = LISTED
    for tag, guard, count in database.execute(f"{groups_sql} ORDER BY guard LIMIT ?", (LISTED,)):
        rows = database.execute("SELECT item FROM held WHERE guard = ? ORDER BY item LIMIT ?", (guard, remaining_items))
        keys = tuple(msgspec.json.decode(text) for (text,) in rows)
        groups_with_items.append(DuplicateGroup(tag, msgspec.json.decode(guard), count, keys))
        remaining_items -= len(keys)
        if remaining_items <= 0:
            break
    return DuplicateReport(read, groups, items, tuple(groups_with_items))


def _text(key: Json) -> str:
    return msgspec.json.encode(key, order="sorted").decode()


# --- During the backfill --------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class DuplicateRule:
    """Which of several items with the same value has the guard."""

    kind: Literal["first", "oldest", "list"]
    """The first one that got it, the one with the lowest value of an attribute, or the one in a list."""
    attribute: str = ""
    """By its name in the document."""
    owners: Mapping[str, str] = field(default_factory=dict)
    """The keys of items that are to have a guard, by the key of the guard."""


class _RuleLine(msgspec.Struct):
    guard: Json
    owner: Json


def read_rule(text: str, transition: Transition) -> DuplicateRule:
    """The rule of an option: `keep-first`, `keep-oldest:ATTRIBUTE`, or the name of a file.

    Raises an `InvalidArgumentError` if no entity has the attribute, or if the file cannot be read.
    """
    if text == _FIRST:
        return DuplicateRule("first")
    if text.startswith(_OLDEST):
        attribute = text.removeprefix(_OLDEST)
        schema = transition.before_backfill.package.schema
        entities = [schema.by_tag[tag] for tag in dict.fromkeys(guard_tags(schema).values())]
        if not any(_attribute_name(entity, attribute) for entity in entities):
            names = ", ".join(entity.codec.cls.__name__ for entity in entities) or "no entity"
            message = f"no entity with a unique value has the attribute {attribute!r}"
            raise InvalidArgumentError(codes.MISUSED, message, f"name an attribute of {names}")
        return DuplicateRule("oldest", attribute)
    return DuplicateRule("list", owners=_read_owners(Path(text)))


def _read_owners(file: Path) -> dict[str, str]:
    owners: dict[str, str] = {}
    fix = f"write `{_FIRST}`, `{_OLDEST}ATTRIBUTE`, or a file of lines as `--duplicates-report` writes"
    try:
        with file.open("rb") as lines:
            for number, line in enumerate(lines, 1):
                if not line.strip():
                    continue
                rule_line = msgspec.json.decode(line, type=_RuleLine)
                owner = _text(rule_line.owner)
                if owners.setdefault(_text(rule_line.guard), owner) != owner:
                    message = f"line {number} gives {key_text(rule_line.guard)} to another item than a line before it"
                    raise InvalidArgumentError(codes.MISUSED, message, "leave one of them", str(file))
    except (OSError, msgspec.DecodeError) as error:
        message = f"`--duplicates {file}` is no rule, and no file of owners: {error}"
        raise InvalidArgumentError(codes.MISUSED, message, fix) from error
    return owners


def _attribute_name(entity: Any, attribute: str) -> str:
    """The name in the class of an attribute of the document; empty if the entity does not have it."""
    names = [codec.name for codec in entity.codec.attributes.values() if attribute in (codec.name, codec.wire)]
    return names[0] if names else ""


Decision = Literal["moves", "stays", "open"]


@dataclass
class DuplicateDecisions:
    """Decides about pairs of items with the same value: one has the guard, and the other one was found without.

    Each pass over the table decides about all pairs. A guard moves only to an older item, or to the one that a list
    names, so it stays with the oldest.
    """

    rule: DuplicateRule | None = None
    report: Path | None = None
    kept: int = 0
    """Items without a guard, about which the rule has decided."""
    listed: list[Finding] = field(default_factory=list)
    _lines: TextIO | None = None

    def __post_init__(self) -> None:
        if self.report is not None and not self.report.absolute().parent.is_dir():
            message = f"there is no folder {self.report.parent} for the report"
            raise InvalidArgumentError(codes.MISUSED, message, "make the folder, or name another file")

    def begin_pass(self) -> None:
        """Forgets what the pass before found."""
        self.close()
        self.kept = 0
        self.listed = []
        if self.report is not None:
            try:
                self._lines = self._part.open("w", encoding="utf-8")
            except OSError as error:
                message = f"the report cannot be written: {error}"
                raise PipelineError(codes.CANNOT_WRITE, message, "name another file", str(self.report)) from error

    def decide(self, client: Client, finding: Finding) -> Decision:
        """Says whether the guard moves to the item that was found without; `open` if the rule does not decide."""
        rule = self.rule
        if rule is None or not finding.holder or finding.owner is None:
            return "open"
        match rule.kind:
            case "list":
                owner = rule.owners.get(_text(finding.key))
                if owner == _text(finding.by):
                    return "moves"
                return "stays" if owner == _text(finding.holder) else "open"
            case "first":
                return "stays"
            case "oldest":
                return self._decide_by_age(client, finding, rule.attribute)
            case _:
                assert_never(rule.kind)

    def _decide_by_age(self, client: Client, finding: Finding, attribute: str) -> Decision:
        entity = client.schema.by_tag[guard_tags(client.schema)[finding.entity]]
        name = _attribute_name(entity, attribute)
        holder = client.call("GetItem", {"Key": finding.holder, "ConsistentRead": True}).get("Item")
        values, of_holder = values_of(entity, finding.owner or {}), values_of(entity, holder or {})
        if values is None or of_holder is None or not name:
            return "open"
        is_older = _is_before(values[name], finding.by, of_holder[name], finding.holder)
        return "moves" if is_older else "stays"

    def note(self, finding: Finding, is_decided: bool) -> None:
        """Enters an item without a guard in the report."""
        self.kept += is_decided
        if is_decided and len(self.listed) < LISTED:
            self.listed.append(finding)
        if self._lines is not None:
            line = {
                "unique": finding.entity,
                "guard": finding.key,
                "owner": finding.holder or None,
                "key": finding.by,
                "decided": is_decided,
            }
            self._lines.write(msgspec.json.encode(line).decode() + "\n")

    def finish(self) -> None:
        """Writes the report of the last pass."""
        self.close()
        if self.report is not None:
            os.replace(self._part, self.report)

    def close(self) -> None:
        if self._lines is not None:
            self._lines.close()
            self._lines = None

    @property
    def _part(self) -> Path:
        assert self.report is not None
        return self.report.with_name(f"{self.report.name}.part")


def _is_before(age: Any, key: Json, other_age: Any, other_key: Json) -> bool:
    """Whether an item comes before another one: by its age, without one last, and else by its key."""
    if age is None or other_age is None or age == other_age:
        return (age is None, _text(key)) < (other_age is None, _text(other_key))
    return bool(age < other_age)
