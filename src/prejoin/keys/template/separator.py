"""The separator of a table's keys, and how text is written between two of them.

Escaping the separator alone would keep keys apart but not in order: ("a", "z") is less than ("a b", "a"), yet
"a#z" is greater than "a b#a". So everything that sorts at or below the separator is escaped, with the
character that follows the separator (and sorts below all that stays as it is).
"""

from __future__ import annotations

import re
from functools import cached_property

import msgspec

from prejoin.keys.errors import KeyValueError, TemplateError

SEPARATORS = "!\"#$%&'()*+,/:;<=>?@[\\]^_`|"
_LAST_LOW = ","


class Separator(msgspec.Struct, frozen=True, dict=True):
    """A separator. One that sorts below letters, digits and hyphen (`#`, its neighbours) keeps text in order.

    >>> hash_ = Separator()
    >>> hash_.quote("a#b"), hash_.quote("Smith & Son"), hash_.quote("b7-0.x_Y:é/@")
    ('a$23b', 'Smith$20&$20Son', 'b7-0.x_Y:é/@')
    >>> hash_.unquote("a$23b")
    'a#b'

    With one that sorts higher, text is kept apart but not in order; then no range over text is served:

    >>> Separator("|").quote("a|b c"), Separator("|").ordered
    ('a$7Cb c', False)
    """

    char: str = "#"

    def __post_init__(self) -> None:
        if len(self.char) != 1 or self.char not in SEPARATORS:
            raise TemplateError(f"{self.char!r} cannot separate the parts of a key: choose one of {SEPARATORS}")

    @property
    def ordered(self) -> bool:
        """Whether escaped text sorts as the text itself, with other parts following."""
        return self.char <= _LAST_LOW

    @cached_property
    def escape(self) -> str:
        """The character that starts an escape. It may not stand in a template's own text."""
        return chr(ord(self.char) + 1) if self.ordered else "$"

    @cached_property
    def _special(self) -> re.Pattern[str]:
        low = f"\\x00-{re.escape(self.escape)}" if self.ordered else re.escape(self.char + self.escape)
        return re.compile(f"[{low}]")

    @cached_property
    def _escaped(self) -> re.Pattern[str]:
        return re.compile(re.escape(self.escape) + "([0-9A-F]{2})")

    def quote(self, text: str) -> str:
        if not text.isascii():
            try:
                text.encode()
            except UnicodeEncodeError:
                raise KeyValueError(f"{text!r} is not valid Unicode text and cannot stand in a key") from None
        if not self._special.search(text):
            return text
        return self._special.sub(lambda found: f"{self.escape}{ord(found[0]):02X}", text)

    def unquote(self, text: str) -> str:
        return self._escaped.sub(lambda found: chr(int(found[1], 16)), text)
