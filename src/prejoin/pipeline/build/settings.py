"""The settings of a build: `prejoin.toml` beside the document, read and checked key by key."""

from __future__ import annotations

import keyword
import re
import sys
import tomllib
import types
import typing
from collections.abc import Iterator, Mapping
from enum import EnumType
from itertools import islice
from pathlib import Path
from typing import Any, Literal

import msgspec

from prejoin.diagnostics import Diagnostic, Span, in_order
from prejoin.pipeline import codes
from prejoin.render.infrastructure.errors import InfrastructureError
from prejoin.render.infrastructure.options import Infrastructure, Role
from prejoin.render.python.entities import Style
from prejoin.workload.lookup import suggest
from prejoin.workload.model import Model, Pattern, Workload

FILE = "prejoin.toml"
"""Its name, beside the document."""
Language = Literal["cloudformation", "terraform", "cdk-python", "cdk-typescript", "sst"]
KINDS = ("all", "reads", "writes")
"""Access patterns that a role may name together."""
_MOST_MESSAGES = 50
"""Messages about one file."""
_LONGEST_LINE = 5_000
"""Characters of a line. `tomllib` takes time that grows with the square of the parts of a dotted key."""
_RESERVED_FOLDERS = frozenset({"prejoin", "tests", "pictures", "terraform", "cdk", "infra"})
"""Folders beside the package, and what it imports."""


class Settings(Model, frozen=True):
    """The settings of a build: generated files, and properties of the table that the design does not decide."""

    style: Style = "dataclass"
    package: str = ""
    """The name of the Python package; made from the title where it is empty."""
    infrastructure: tuple[Language, ...] = ("cloudformation",)
    workbench: bool = False
    """Whether to generate a model for NoSQL Workbench, too."""
    tests: bool = True
    """Whether the generated tests are run before anything is written."""
    allow_unproven: bool = False
    """Whether patterns that the proof cannot run are built nevertheless, and marked as not proven."""
    table: Infrastructure = Infrastructure()
    roles: dict[str, str | tuple[str, ...]] = msgspec.field(default_factory=dict)
    """The access patterns of each role of the application, by their ids or their kind."""


class Overrides(msgspec.Struct, frozen=True, omit_defaults=True):
    """Options that come before the settings; None is not given.

    The record of a build keeps them, so that the next build without options generates the same files.
    """

    style: Style | None = None
    package: str | None = None
    infrastructure: tuple[Language, ...] | None = None
    workbench: bool | None = None
    tests: bool | None = None
    allow_unproven: bool | None = None

    def over(self, settings: Settings) -> Settings:
        return msgspec.structs.replace(settings, **self.given)

    @property
    def given(self) -> dict[str, Any]:
        return {name: value for name, value in msgspec.structs.asdict(self).items() if value is not None}

    def with_remembered(self, remembered: Overrides | None, settings: str | None) -> Overrides:
        """These options, and those of the last build that neither they nor prejoin.toml set."""
        if remembered is None:
            return self
        set_names = set_keys(settings)
        remembered_values = {name: value for name, value in remembered.given.items() if _key(name) not in set_names}
        return msgspec.structs.replace(self, **{**remembered_values, **self.given})

    def __str__(self) -> str:
        """The options as they are typed.

        >>> str(Overrides(style="msgspec", infrastructure=("sst", "terraform"), workbench=False))
        '--style msgspec --infrastructure sst --infrastructure terraform --no-workbench'
        """
        words: list[str] = []
        for name, value in self.given.items():
            if isinstance(value, bool):
                words.append(f"--{_key(name)}" if value else f"--no-{_key(name)}")
            else:
                values = [value] if isinstance(value, str) else value or ["none"]
                words += [f"--{name} {choice}" for choice in values]
        return " ".join(words)


class SettingsReading(Model, frozen=True):
    settings: Settings
    text: str = ""
    diagnostics: tuple[Diagnostic, ...] = ()


def settings_text(folder: Path) -> str | None:
    """The text of the settings file in a folder; None if there is no file."""
    try:
        return (folder / FILE).read_bytes().decode("utf-8", "replace")
    except FileNotFoundError:
        return None


def set_keys(text: str | None) -> frozenset[str]:
    """The names of the settings in a file; none if it is not TOML, which `read_settings` reports."""
    try:
        return frozenset(tomllib.loads(text or ""))
    except (tomllib.TOMLDecodeError, RecursionError):
        return frozenset()


def read_settings(text: str) -> SettingsReading:
    """Reads settings, with diagnostics for all that cannot be used.

    >>> reading = read_settings('styel = "msgspec"')
    >>> [(diagnostic.code, diagnostic.line, diagnostic.fix) for diagnostic in reading.diagnostics]
    [('PJ051', 1, 'did you mean `style`?')]
    """
    for number, line in enumerate(text.splitlines(), 1):
        if len(line) > _LONGEST_LINE:
            message = f"line {number} has more than {_LONGEST_LINE:,} characters"
            fix = "write lists on several lines"
            return SettingsReading(Settings(), text, (codes.TOML.at(Span(number, 1), message, fix),))
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as problem:
        at = re.search(r"\(at line (\d+), column (\d+)\)", str(problem))
        span = Span(int(at[1]), int(at[2])) if at else Span(max(len(text.splitlines()), 1), 1)
        message = re.sub(r" \(at [^()]*\)$", "", str(problem))
        fix = 'see https://toml.io: `key = "text"`, `key = 5`, `key = true`, `key = ["a", "b"]`'
        return SettingsReading(Settings(), text, (codes.TOML.at(span, f"it is not TOML: {_small(message)}", fix),))
    except RecursionError:
        return SettingsReading(
            Settings(), text, (codes.TOML.at(None, "it is nested too deep", "write fewer brackets"),)
        )
    values: dict[str, Any] = {}
    # Each message searches its position in the text, so very many messages take long.
    diagnostics = [*islice(_read(data, Settings, (), text, values), _MOST_MESSAGES)]
    settings = Settings(**values)
    diagnostics += _package_diagnostics(settings.package, _span(text, ("package",)))
    return SettingsReading(settings, text, in_order(diagnostics))


def check_roles(reading: SettingsReading, workload: Workload) -> Iterator[Diagnostic]:
    """Diagnostics for access patterns that a role names and the document lacks."""
    pattern_ids = [pattern.id for pattern in workload.patterns]
    for role, role_patterns in reading.settings.roles.items():
        for name in role_patterns if isinstance(role_patterns, tuple) else ():
            if name not in pattern_ids:
                near = suggest(name, pattern_ids)
                fix = f"did you mean `{near}`?" if near else f"there are {', '.join(pattern_ids)}"
                span = _span(reading.text, ("roles", role), name)
                yield codes.SETTING.at(span, f"the role {role} names {name}, which is no access pattern", fix)


def misnamed(package: str) -> str:
    """Why a package cannot have this name; empty if it can.

    >>> misnamed("shop"), misnamed("my-shop")
    ('', '`my-shop` is not a name in Python')
    """
    if not package.isidentifier() or keyword.iskeyword(package):
        return f"`{package}` is not a name in Python"
    if package in sys.stdlib_module_names or package in _RESERVED_FOLDERS:
        return f"`{package}` is the name of something else that Python would find there"
    return ""


def infrastructure_of(settings: Settings, workload: Workload, served_ids: frozenset[str]) -> Infrastructure:
    """The options of the infrastructure, with its roles. A kind of patterns stands for those that are served."""
    kinds: dict[str, tuple[Pattern, ...]] = {"reads": workload.reads, "writes": workload.changing}
    roles = []
    for name, role_patterns in settings.roles.items():
        if isinstance(role_patterns, str):
            kind_patterns = tuple(pattern.id for pattern in kinds.get(role_patterns, ()) if pattern.id in served_ids)
            if role_patterns in kinds and not kind_patterns:  # a role that names none would be one for all
                raise InfrastructureError(f"the role {name} is for {role_patterns}, and there are none", "leave it out")
            role_patterns = kind_patterns
        roles.append(Role(name, role_patterns))
    return msgspec.structs.replace(settings.table, roles=tuple(roles))


# --- Reading --------------------------------------------------------------------------------------------------------


def _read(
    data: Mapping[str, Any], model: type[Model], path: tuple[str, ...], text: str, values: dict[str, Any]
) -> Iterator[Diagnostic]:
    """Puts valid values into `found`, by their names in Python; yields diagnostics for the others."""
    fields = {_key(field.name): field for field in msgspec.structs.fields(model)}
    if model is Infrastructure:
        del fields["roles"]  # they have a section of their own
    hints = typing.get_type_hints(model)
    for key, value in data.items():
        place = (*path, key)
        span = _span(text, place)
        if key not in fields:
            yield codes.NO_SETTING.at(span, f"there is no setting `{'.'.join(place)}`", _suggestion(key, fields))
            continue
        name, kind = fields[key].name, hints[fields[key].name]
        if place == ("roles",):
            values[name] = {}
            yield from _read_roles(value, text, values[name])
        elif isinstance(kind, type) and issubclass(kind, Model) and isinstance(value, dict):
            part: dict[str, Any] = {}
            yield from _read(value, kind, place, text, part)
            values[name] = kind(**part)
        elif _holds(value, kind):
            values[name] = msgspec.convert(value, kind)
        else:
            yield codes.SETTING.at(span, f"`{'.'.join(place)}` is {_value_text(value)}", _allowed_values(kind, value))


def _read_roles(data: Any, text: str, roles: dict[str, str | tuple[str, ...]]) -> Iterator[Diagnostic]:
    fix = 'write `name = ["AP-001", "AP-002"]`, or `"all"`, `"reads"` or `"writes"` for the patterns'
    if not isinstance(data, dict):
        yield codes.SETTING.at(_span(text, ("roles",)), f"`roles` is {_value_text(data)}", fix)
        return
    for name, role_patterns in data.items():
        if isinstance(role_patterns, str) and role_patterns in KINDS:
            roles[name] = role_patterns
        elif (
            isinstance(role_patterns, list)
            and role_patterns
            and all(isinstance(pattern_id, str) for pattern_id in role_patterns)
        ):
            roles[name] = tuple(role_patterns)
        else:
            span = _span(text, ("roles", name))
            yield codes.SETTING.at(span, f"the role `{name}` runs {_value_text(role_patterns)}", fix)


def _key(name: str) -> str:
    """A field's name in the file."""
    return name.replace("_", "-")


def _suggestion(key: str, names: Mapping[str, Any]) -> str:
    near = suggest(_key(key), names)
    return f"did you mean `{near}`?" if near else f"there are {', '.join(f'`{name}`' for name in names)}"


def _allowed_values(kind: Any, value: Any) -> str:
    """The values that a setting takes."""
    inner = [argument for argument in typing.get_args(kind) if argument not in (type(None), Ellipsis)]
    if typing.get_origin(kind) in (typing.Union, types.UnionType):
        (kind,) = inner
        inner = list(typing.get_args(kind))
    if kind is bool:
        return "write `true` or `false`"
    if kind is int:
        return "write a whole number"
    if kind is str:
        return "write a text in quotes"
    if typing.get_origin(kind) is tuple:
        wrong_elements = (
            [element for element in value if not _holds(element, inner[0])] if isinstance(value, list) else []
        )
        return (
            _allowed_values(inner[0], wrong_elements[0])
            if wrong_elements
            else f"write a list: {_allowed_values(inner[0], '')}"
        )
    if isinstance(kind, EnumType) or typing.get_origin(kind) is Literal:
        names = [str(member) for member in (typing.get_args(kind) or list(kind))]
        near = suggest(str(value), names)
        listed_names = ", ".join(f'`"{name}"`' for name in names)
        return f'did you mean `"{near}"`?' if near else f"write one of {listed_names}"
    if isinstance(kind, type) and issubclass(kind, Model):
        return f"write a table: {', '.join(f'`{_key(field.name)}`' for field in msgspec.structs.fields(kind))}"
    return 'write a table of texts: `{ team = "orders" }`'


def _holds(value: Any, kind: Any) -> bool:
    try:
        msgspec.convert(value, kind)
    except msgspec.ValidationError:
        return False
    return True


def _value_text(value: Any) -> str:
    text = msgspec.json.encode(value, enc_hook=str).decode()
    return f"`{text}`" if len(text) <= 60 else f"`{text[:59]}…`"


def _small(message: str) -> str:
    return message[:1].lower() + message[1:]


def _package_diagnostics(package: str, span: Span | None) -> Iterator[Diagnostic]:
    if package and (problem := misnamed(package)):
        yield codes.SETTING.at(span, problem, "give the package another name: small letters, digits and _")


def _span(text: str, path: tuple[str, ...], value: str = "") -> Span | None:
    """The place of a key, or of the inline table that has it; with a value, the place of that value."""
    section: tuple[str, ...] = ()
    best: tuple[int, Span] | None = None
    for number, line in enumerate(text.splitlines(), 1):
        if head := re.match(r"\s*\[\[?([^\]]+)\]", line):
            section = tuple(part.strip().strip("\"'") for part in head[1].split("."))
            key, at = section, line.index(head[1]) + 1
        elif pair := re.match(r"(\s*+)([\w.\"'-][^=]*)=", line):
            key, at = (*section, *(part.strip().strip("\"'") for part in pair[2].split("."))), len(pair[1]) + 1
        else:
            key, at = (), 0
        if key and key == path[: len(key)] and (best is None or len(key) > best[0]):
            best = len(key), Span(number, at, line[at - 1 :].split("=")[0].strip().rstrip("]"))
        if value and best and best[0] == len(path) and f'"{value}"' in line:
            return Span(number, line.index(f'"{value}"') + 2, value)
    return best[1] if best else None
