"""The names of fields: what an attribute is called in Python.

The client names attributes by their fields, also where it stores them: the keys of large contents have this name.
"""

from __future__ import annotations

import builtins
import keyword
import re
import unicodedata
from collections.abc import Collection
from functools import lru_cache

from prejoin.workload.model import Entity

LONGEST = 48
"""The most characters of a name. A longer one is cut between words."""
RESERVED = frozenset(
    {*keyword.kwlist, *(name for name in dir(builtins) if not name.startswith("_")), "self", "cls", "of_tenant"}
)
"""Reserved names: a method `list` would change the meaning of `list[Order]` in the methods below it."""
_OPTIONS = frozenset(
    {"after", "consistent", "filter", "into", "limit", "now", "order", "progress", "read", "returning", "reverse"}
    | {"missing_ok", "roles", "upsert", "was", "where"}
)
"""Keywords of the client's methods. Attributes are given by keyword, too, and must not have these names."""
_TYPES = frozenset({"bool", "bytes", "dict", "dt", "int", "list", "set", "str"})
"""Names in annotations. A field with such a name would change their meaning."""
_MODELS = frozenset(
    {"construct", "copy", "dict", "fields", "from_orm", "json", "schema", "validate"}
    | {f"model_{name}" for name in ("computed_fields", "config", "construct", "copy", "dump", "dump_json", "extra")}
    | {f"model_{name}" for name in ("fields", "fields_set", "json_schema", "parametrized_name", "post_init")}
    | {f"model_{name}" for name in ("rebuild", "validate", "validate_json", "validate_strings")}
)
"""Attributes of every pydantic model."""
_FILLERS = frozenset({"a", "an", "the", "their", "its", "his", "her"})
_POSSESSIVE = re.compile(r"(?<=\w)['’](?:s\b)?")
_E_MAIL = re.compile(r"\b(e)-(?=mail)", re.IGNORECASE)
_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")


def field_names(entity: Entity) -> dict[str, str]:
    """The field of each attribute, in snake case.

    >>> from prejoin.workload.model import Attribute
    >>> names = ["flightNo", "flight_no", "class", "2nd", "limit"]
    >>> field_names(Entity("Flight", attributes=tuple(map(Attribute, names))))
    {'flightNo': 'flight_no', 'flight_no': 'flight_no_2', 'class': 'class_', '2nd': 'a_2nd', 'limit': 'limit_'}
    """
    names: dict[str, str] = {}
    for attribute in entity.attributes:
        names[attribute.name] = free(identifier(attribute.name, _TYPES | _MODELS | _OPTIONS), names.values())
    return names


def identifier(text: str, reserved: Collection[str] = RESERVED) -> str:
    """A valid Python name for any text."""
    name = snake(text)[:LONGEST].rstrip("_") or "value"
    if not name.isidentifier():
        name = f"a_{name}"
    return f"{name}_" if keyword.iskeyword(name) or name in reserved or name in {"self", "cls"} else name


def free(name: str, used_names: Collection[str]) -> str:
    """The name, with a number if it is taken."""
    number = 2
    candidate = name
    while candidate in used_names:
        candidate = f"{name.rstrip('_')}_{number}"
        number += 1
    return candidate


def snake(text: str) -> str:
    """A text in snake case; it may be a reserved name.

    >>> snake("orderItemId"), snake("HTTPStatus"), snake("e-mail"), snake("größe")
    ('order_item_id', 'http_status', 'email', 'größe')
    """
    return "_".join(split_words(text, fillers=True))


@lru_cache(maxsize=4096)  # each file of a package names the same things again
def split_words(text: str, fillers: bool = False) -> tuple[str, ...]:
    text = unicodedata.normalize("NFKC", text)
    text = _E_MAIL.sub(r"\1", _POSSESSIVE.sub("", text))
    words = tuple(word.lower() for word in re.split(r"[^\w]+|_+", _HUMP.sub("_", identifying(text))) if word)
    return tuple(word for word in words if fillers or word not in _FILLERS) or words


def identifying(text: str) -> str:
    """The text with spaces in place of invalid characters: some marks and numerals are letters only to `\\w`."""
    return "".join(char if f"a{char}".isidentifier() else " " for char in text)
