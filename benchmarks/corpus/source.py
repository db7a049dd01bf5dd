"""Reads corpus files: strict YAML, each field with its position for messages. It does not interpret fields."""

from __future__ import annotations

from collections.abc import Container, Hashable, Mapping
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path

import yaml

from prejoin.workload.document.columns import KnownNames

MOST_BYTES = 2_000_000
_NOTHING = frozenset({"", "-", "–", "—", "n/a", "none"})
"""Texts that mean an empty cell in the document."""


class CorpusError(ValueError):
    """A field of a corpus file cannot be converted."""


@dataclass(slots=True)
class Fields:
    """The fields of one mapping. `rest()` has those that were not read."""

    data: dict[str, object]
    where: str
    """`shop.yaml: access_patterns[3] (AP4)`."""
    read: set[str] = field(default_factory=set)

    def error(self, name: str, problem: str) -> CorpusError:
        return CorpusError(f"{self.where}: {name}: {problem}")

    def get(self, name: str) -> object:
        self.read.add(name)
        return self.data.get(name)

    def words(self, name: str) -> str:
        """The field as one line of prose."""
        return in_words(self.get(name))

    def word(self, name: str) -> str:
        """A name or another short text; a number as its digits."""
        value = self.get(name)
        if value is None:
            return ""
        if isinstance(value, bool) or not isinstance(value, str | int | float):
            raise self.error(
                name, f"{in_words(value) or value!r} is not a text; put it in quotes if it is meant as one"
            )
        return str(value).strip()

    def names(self, name: str) -> tuple[str, ...]:
        """A list of names; a single one needs no brackets."""
        value = self.get(name)
        found = [] if value is None else value if isinstance(value, list) else [value]
        for one in found:
            if not isinstance(one, str) or not one.strip():
                raise self.error(name, f"{one!r} is not a name; put it in quotes if it is meant as one")
        return tuple(str(one).strip() for one in found)

    def number(self, name: str) -> float | None:
        value = self.get(name)
        if value is None:
            return None
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < 1e15:
            raise self.error(name, f"{value!r} is not a number that can be meant")
        return value

    def whole(self, name: str) -> int | None:
        value = self.number(name)
        if value is not None and value != int(value):
            raise self.error(name, f"{value!r} is not a whole number")
        return None if value is None else int(value)

    def flag(self, name: str) -> bool | None:
        value = self.get(name)
        if value is not None and not isinstance(value, bool):
            raise self.error(name, f"{value!r} is neither true nor false")
        return value

    def mapping(self, name: str) -> dict[str, object]:
        value = self.get(name)
        if value is None:
            return {}
        if not isinstance(value, dict):
            raise self.error(name, "is not a mapping")
        return _texts(value, f"{self.where}: {name}")

    def fields(self, name: str) -> Fields:
        return Fields(self.mapping(name), f"{self.where}: {name}")

    def entries(self, name: str, called: str) -> list[Fields]:
        """A list of mappings. Messages identify each by its field `called`."""
        value = self.get(name)
        if value is None:
            return []
        if not isinstance(value, list):
            raise self.error(name, "is not a list")
        found = []
        for index, one in enumerate(value):
            where = f"{self.where}: {name}[{index}]"
            if not isinstance(one, dict):
                raise CorpusError(f"{where}: is not a mapping")
            data = _texts(one, where)
            label = data.get(called)
            found.append(Fields(data, f"{where} ({label})" if label else where))
        return found

    def rest(self) -> dict[str, str]:
        """The fields that were not read, as prose by title: `field_notes` is `Field notes`."""
        left = {name: in_words(value) for name, value in self.data.items() if name not in self.read}
        return {name.replace("_", " ").capitalize(): text for name, text in left.items() if text}


def in_words(value: object) -> str:
    """Any value as one line.

    >>> in_words({"Name": 50, "Tags": ["a", "b"]})
    'Name: 50; Tags: a, b'
    """
    if value is None:
        return ""
    if isinstance(value, dict):
        return "; ".join(f"{in_words(k)}: {in_words(v)}" for k, v in value.items())
    if isinstance(value, list):
        return ", ".join(in_words(one) for one in value)
    if isinstance(value, date):
        return value.isoformat()
    text = str(value).lower() if isinstance(value, bool) else " ".join(str(value).split())
    return "" if text.lower() in _NOTHING else text


def own_titles(rest: Mapping[str, str], names: KnownNames, taken: Container[str]) -> dict[str, str]:
    """Titles for extra labels or columns that cannot be mistaken for known ones.

    >>> own_titles({"Sizes": "large"}, KnownNames({"Size": ()}), ())
    {'Sizes in words': 'large'}
    """
    found: dict[str, str] = {}
    for title, text in rest.items():
        while title in taken or title in found or names.find(title) or names.near(title):
            title = f"{title} in words"
        found[title] = text
    return found


def _texts(value: dict[object, object], where: str) -> dict[str, object]:
    for key in value:
        if not isinstance(key, str):
            raise CorpusError(f"{where}: {key!r} is not a text; put it in quotes if it is meant as one")
    found: dict[str, object] = {}
    last = ""
    for key, one in value.items():
        before = found.get(last)
        # Unquoted prose in a flow mapping: YAML reads the words after a comma as a key without a value.
        if one is None and " " in str(key) and isinstance(before, str):
            found[last] = f"{before}, {key}"
        else:
            last = str(key)
            found[last] = one
    return found


class _Loader(yaml.SafeLoader):
    """Loads plain data only, and refuses duplicate keys, of which YAML keeps the last."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, object]:
        seen: set[str] = set()
        for key, _ in node.value:
            if isinstance(key, yaml.ScalarNode):
                if key.value in seen:
                    raise yaml.constructor.ConstructorError(None, None, f"`{key.value}` is there twice", key.start_mark)
                seen.add(key.value)
        return super().construct_mapping(node, deep=deep)


def load(path: Path) -> Fields:
    """The fields of a corpus file."""
    try:
        if path.stat().st_size > MOST_BYTES:
            raise CorpusError(f"{path.name}: is larger than {MOST_BYTES:,} bytes")
        text = path.read_bytes().decode("utf-8")
        data = yaml.load(text, _Loader)
    except UnicodeDecodeError as problem:
        raise CorpusError(f"{path.name}: is not UTF-8 at byte {problem.start}") from problem
    except (yaml.YAMLError, ValueError, RecursionError) as problem:
        if isinstance(problem, CorpusError):
            raise
        raise CorpusError(f"{path.name}: is not YAML: {' '.join(str(problem).split())}") from problem
    except OSError as problem:
        raise CorpusError(f"{path.name}: cannot be read: {problem.strerror}") from problem
    if not isinstance(data, dict):
        raise CorpusError(f"{path.name}: holds no mapping")
    return Fields(_texts(data, path.name), path.name)
