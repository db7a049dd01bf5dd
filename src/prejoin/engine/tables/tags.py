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
_RESERVED_PREFIX = "aws:"


def check_tags(constraints: Constraints, tags: list[Tag] | None) -> None:
    """Check each tag on its own."""
    for number, tag in enumerate(tags or (), 1):
        member_path = f"tags.{number}.member"
        for member, text, minimum, maximum in (
            ("key", tag.key, 1, limits.TAG_KEY_LENGTH),
            ("value", tag.value, 0, limits.TAG_VALUE_LENGTH),
        ):
            constraints.require(f"{member_path}.{member}", text)
            if text is not None and not minimum <= len(text) <= maximum:
                bound = f"less than or equal to {maximum}" if text else f"greater than or equal to {minimum}"
                constraints.fail(f"{member_path}.{member}", text, f"Member must have length {bound}")


def with_tags(current: Tags, tags: list[Tag]) -> Tags:
    """The tags with some more. One with a key that is there already replaces its value."""
    new_tags = {str(tag.key): str(tag.value) for tag in tags}
    if len(new_tags) < len(tags):
        refuse(_INVALID + "Duplicate tag keys are not allowed")
    for key, value in new_tags.items():
        # Only AWS itself creates such tags.
        if key.lower().startswith(_RESERVED_PREFIX):
            refuse(_INVALID + f"Tag keys that start with {_RESERVED_PREFIX} are reserved: {key}")
        for text in (key, value):
            if not _TEXT.fullmatch(text):
                refuse(_INVALID + f"The tag contains characters that are not allowed: {text}")
    merged_tags = {**dict(current), **new_tags}
    if len(merged_tags) > limits.TAGS:
        refuse(_INVALID + f"Too many tags: tag limit is {limits.TAGS}")
    return tuple(merged_tags.items())


def without_tags(current: Tags, keys: Iterable[str]) -> Tags:
    removed_keys = set(keys)
    return tuple((key, value) for key, value in current if key not in removed_keys)
