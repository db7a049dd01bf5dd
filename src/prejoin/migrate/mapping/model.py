"""`mapping.toml` as data: where each attribute of an entity comes from. Read and written here.

An attribute is a column (`email = "mail"`) or a table of settings
(`placed_at = { column = "placed", as = "epoch-ms", zone = "Europe/Zurich" }`).
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Literal

import msgspec

from prejoin.diagnostics import Span
from prejoin.migrate import codes
from prejoin.pipeline.errors import PipelineError

MAPPING = "mapping.toml"
"""The usual name of a mapping."""


class Part(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True, rename="kebab"):
    """The base of the parts of a mapping."""


NullForm = Literal["absent", "null"]
"""The form of NULL: an item without the attribute, or DynamoDB's NULL."""


class AttributeSource(Part, frozen=True):
    """Where the value of an attribute comes from: one of `column`, `sql` and `value`."""

    column: str = ""
    """A column of the table, or `join.column`."""
    sql: str = ""
    """An expression in the SQL of the source."""
    value: Any = None
    """The same value for all items."""
    form: str = msgspec.field(default="", name="as")
    """The form of the stored values, if the type of the attribute does not say it: `epoch`, `epoch-ms`, `json`, …"""
    zone: str = ""
    """The zone of times that are stored without one."""
    default: Any = None
    """The value for NULL."""
    members: dict[str, str] = {}
    """The member of the enum for each stored value."""
    null: NullForm | None = None
    """The form of NULL, if it differs from the entity's."""


Source = str | AttributeSource


class Join(Part, frozen=True):
    """A row of another table, at most one for each row: LEFT JOIN."""

    table: str
    on: dict[str, str]
    """Columns of that table, each with the column of the entity's table that it equals."""


class Children(Part, frozen=True):
    """Rows of another table that become a list of maps in the item."""

    table: str
    on: dict[str, str]
    """Columns of that table, each with the column of the entity's table that it equals."""
    attributes: dict[str, Source]
    order: tuple[str, ...] = ()
    """Columns that the list is sorted by."""


class EntityMapping(Part, frozen=True):
    """The rows that become items of an entity."""

    table: str
    attributes: dict[str, Source] = {}
    where: str = ""
    """A condition in the SQL of the source, for a part of the rows."""
    key: tuple[str, ...] = ()
    """Columns that identify a row and that rows are read in order of; the primary key by default."""
    zone: str = ""
    joins: dict[str, Join] = {}
    children: dict[str, Children] = {}
    """By the attribute that holds the list."""
    null: NullForm = "absent"
    """The form of NULL in attributes without their own."""
    ignore: tuple[str, ...] = ()
    """Columns that are left behind knowingly."""

    @property
    def related(self) -> tuple[Join | Children, ...]:
        """The other tables whose rows are part of the items."""
        return (*self.joins.values(), *self.children.values())

    def source(self, attribute: str) -> AttributeSource:
        return as_source(self.attributes[attribute])

    def null_form(self, source: AttributeSource) -> NullForm:
        return source.null or self.null


class PatternSource(Part, frozen=True):
    sql: str
    """The statement that the pattern replaces, with parameters named after its inputs."""


class TableMapping(Part, frozen=True):
    """All of `mapping.toml`."""

    source: str = ""
    """The URL of the database, without a password."""
    zone: str = ""
    """The zone of all times that are stored without one."""
    entities: dict[str, EntityMapping] = {}
    patterns: dict[str, PatternSource] = {}
    left_out: dict[str, str] = {}
    """Tables that are not moved, with the reason."""


def as_source(source: Source) -> AttributeSource:
    return AttributeSource(column=source) if isinstance(source, str) else source


def read_mapping(path: str | Path = MAPPING) -> TableMapping:
    """Reads `mapping.toml`. Raises a `PipelineError` that says where it is wrong."""
    file = str(path)
    try:
        text = Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as problem:
        why = getattr(problem, "strerror", None) or str(problem)
        fix = "`prejoin discover URL` writes one; name another with `--mapping`"
        raise PipelineError(codes.MAPPING, f"{file} cannot be read: {why}", fix, file) from None
    try:
        return msgspec.convert(tomllib.loads(text), TableMapping)
    except tomllib.TOMLDecodeError as problem:
        position = re.search(r"line (\d+), column (\d+)", str(problem))
        span = Span(int(position[1]), int(position[2])) if position else None
        raise PipelineError(codes.MAPPING, f"it is not TOML: {problem}", "correct it", file, span, text) from None
    except msgspec.ValidationError as problem:
        place, why = _misfit(tomllib.loads(text), problem)
        why = why.replace("Object contains unknown field", "there is no setting")
        why = why.replace("Object missing required field", "it lacks")
        fix = "the guide to mappings lists the settings"
        raise PipelineError(codes.MAPPING, f"{place}{why}", fix, file, text=text) from None


def _misfit(data: dict[str, Any], problem: msgspec.ValidationError) -> tuple[str, str]:
    """Names the invalid entity and the reason: msgspec does not name keys of a dict."""
    entities = data.get("entities")
    for name, section in entities.items() if isinstance(entities, dict) else ():
        try:
            msgspec.convert(section, EntityMapping)
        except msgspec.ValidationError as entity_problem:
            return f"entities.{name}: ", str(entity_problem).replace(" - at `$`", "").replace("`$.", "`")
    return "", str(problem)


def write_mapping(mapping: TableMapping) -> str:
    """The text of `mapping.toml`.

    >>> print(write_mapping(TableMapping("sqlite:///a.db", entities={"User": EntityMapping("users", {"id": "id"})})))
    # How rows become items. `prejoin migrate plan` checks it, and shows items beside their rows.
    source = "sqlite:///a.db"
    <BLANKLINE>
    [entities.User]
    table = "users"
    <BLANKLINE>
    [entities.User.attributes]
    id = "id"
    <BLANKLINE>
    """
    head = "# How rows become items. `prejoin migrate plan` checks it, and shows items beside their rows."
    return "\n".join([head, *_lines(msgspec.to_builtins(mapping), ())]) + "\n"


_INLINE = frozenset({"attributes", "left-out"})
"""Tables whose values stand in one line each."""


def _lines(table: Mapping[str, Any], path: tuple[str, ...]) -> Iterator[str]:
    is_inline = bool(path) and path[-1] in _INLINE
    own_names = [name for name, value in table.items() if is_inline or not isinstance(value, Mapping) or name == "on"]
    # In TOML the values of a table come before the tables in it.
    for name in own_names:
        yield f"{_key(name)} = {_value(table[name])}"
    for name, value in table.items():
        if name in own_names or not value:
            continue
        table_path = (*path, name)
        # A table with nothing but tables, such as `entities`, needs no header.
        if name in _INLINE or any(not isinstance(member, Mapping) for member in value.values()):
            yield from ("", f"[{'.'.join(map(_key, table_path))}]")
        yield from _lines(value, table_path)


def _key(text: str) -> str:
    return text if re.fullmatch(r"[A-Za-z0-9_-]+", text) else json.dumps(text, ensure_ascii=False)


def _value(value: Any) -> str:
    match value:
        case bool():
            return "true" if value else "false"
        case str():
            return json.dumps(value, ensure_ascii=False)
        case list() | tuple():
            return f"[{', '.join(map(_value, value))}]"
        case Mapping():
            return f"{{ {', '.join(f'{_key(key)} = {_value(value)}' for key, value in value.items())} }}"
    return str(value)
