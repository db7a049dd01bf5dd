"""The separator between the parts of a key, and the escaping of text between two separators.

Two properties must hold. Different values must give different keys (injective), and in a sort key the keys must sort as
the values do, part by part (order-preserving). Escaping only the separator gives the first but not the second: ("a",
"z") is less than ("a b", "a"), yet "a#z" is greater than "a b#a", because a space sorts below `#`.

So every character at or below the separator is escaped, as the escape character and two hex digits. The escape
character is the one after the separator, and is escaped too. It sorts below all characters that stay as they are. Hence
a separator sorts below everything that can follow inside a part, as the end of a shorter value must, and escaped
characters keep their order among themselves and below the others. Letters, digits, `-`, `.`, `_`, `:` stay readable.
FoundationDB's tuple layer and CockroachDB's key encoding solve the same problem with a terminating byte.

A separator above `,` would be too high for that: only it and `$` are escaped, keys are still injective, and the planner
serves no range over text.
"""

from __future__ import annotations

import re
from functools import cached_property

import msgspec

from prejoin.keys.errors import KeyValueError, TemplateError

SEPARATORS = "!\"#$%&'()*+,/:;<=>?@[\\]^_`|"
_LAST_LOW = ","


class Separator(msgspec.Struct, frozen=True, dict=True):
    """A separator. If it sorts below letters, digits and hyphen, as `#` does, escaped text keeps its order.

    >>> hash_ = Separator()
    >>> hash_.quote("a#b"), hash_.quote("Smith & Son"), hash_.quote("b7-0.x_Y:é/@")
    ('a$23b', 'Smith$20&$20Son', 'b7-0.x_Y:é/@')
    >>> hash_.unquote("a$23b")
    'a#b'

    With a higher separator, keys stay distinct but unordered, so no range over text is served:

    >>> Separator("|").quote("a|b c"), Separator("|").ordered
    ('a$7Cb c', False)
    """

    char: str = "#"

    def __post_init__(self) -> None:
        if len(self.char) != 1 or self.char not in SEPARATORS:
            raise TemplateError(f"{self.char!r} cannot separate the parts of a key: choose one of {SEPARATORS}")

    @property
    def ordered(self) -> bool:
        """Whether escaped text sorts like the text itself, even if other parts follow."""
        return self.char <= _LAST_LOW

    @cached_property
    def escape(self) -> str:
        """The character that starts an escape. It must not occur in a template's own text."""
        return chr(ord(self.char) + 1) if self.ordered else "$"

    @cached_property
    def _special_pattern(self) -> re.Pattern[str]:
        low = f"\\x00-{re.escape(self.escape)}" if self.ordered else re.escape(self.char + self.escape)
        return re.compile(f"[{low}]")

    @cached_property
    def _escape_pattern(self) -> re.Pattern[str]:
        return re.compile(re.escape(self.escape) + "([0-9A-F]{2})")

    def quote(self, text: str) -> str:
        if not text.isascii():
            try:
                text.encode()
            except UnicodeEncodeError:
                raise KeyValueError(f"{text!r} is not valid Unicode text and cannot be part of a key") from None
        if not self._special_pattern.search(text):
            return text
        return self._special_pattern.sub(lambda match: f"{self.escape}{ord(match[0]):02X}", text)

    def unquote(self, text: str) -> str:
        return self._escape_pattern.sub(lambda match: chr(int(match[1], 16)), text)
