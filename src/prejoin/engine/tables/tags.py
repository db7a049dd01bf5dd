"""Tags of tables: their rules, and how a set of tags is changed."""

from __future__ import annotations

import re
from collections.abc import Iterable

from prejoin.engine.requests import Tag
from prejoin.engine.validation import Constraints
from prejoin.protocol import limits
from prejoin.protocol.errors import refuse

Tags = tuple[tuple[str, str], ...]

_INVALID = "One or more parameter values were invalid: "
_TEXT = re.compile(r"[\w\s+\-=.:/@]*")
"""Letters, digits and white space of any language, and `+ - = . _ : / @`."""
_RESERVED = "aws:"


def check_tags(constraints: Constraints, tags: list[Tag] | None) -> None:
    """Check each tag on its own."""
    for number, tag in enumerate(tags or (), 1):
        where = f"tags.{number}.member"
        for member, text, least, most in (
            ("key", tag.key, 1, limits.TAG_KEY_LENGTH),
            ("value", tag.value, 0, limits.TAG_VALUE_LENGTH),
        ):
            constraints.required(f"{where}.{member}", text)
            if text is not None and not least <= len(text) <= most:
                bound = f"less than or equal to {most}" if text else f"greater than or equal to {least}"
                constraints.fail(f"{where}.{member}", text, f"Member must have length {bound}")


def with_tags(current: Tags, tags: list[Tag]) -> Tags:
    """The tags with some more. One with a key that is there already replaces its value."""
    given = {str(tag.key): str(tag.value) for tag in tags}
    if len(given) < len(tags):
        refuse(_INVALID + "Duplicate tag keys are not allowed")
    for key, value in given.items():
        if key.lower().startswith(_RESERVED):
            refuse(_INVALID + f"Tag keys that start with {_RESERVED} are reserved: {key}")
        for text in (key, value):
            if not _TEXT.fullmatch(text):
                refuse(_INVALID + f"The tag contains characters that are not allowed: {text}")
    found = {**dict(current), **given}
    if len(found) > limits.TAGS:
        refuse(_INVALID + f"Too many tags: tag limit is {limits.TAGS}")
    return tuple(found.items())


def without_tags(current: Tags, keys: Iterable[str]) -> Tags:
    gone = set(keys)
    return tuple((key, value) for key, value in current if key not in gone)
