"""Layout of generated Python: on one line if it fits, else one part per line, as formatters leave it."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import assert_never
from unicodedata import combining, east_asian_width

WIDTH = 88
"""The default width of formatters. They leave code for this width as it is if theirs is larger."""
STEP = "    "


@dataclass(frozen=True, slots=True)
class Group:
    """Parts between brackets: `head` opens, `tail` closes."""

    head: str
    items: tuple[Part, ...]
    tail: str = ")"
    commas: bool = True
    """Whether there are commas between the parts; a comprehension has none."""
    loose: bool = False
    """Whether the brackets are needed only on several lines."""
    has_operators: bool = False
    """Whether the parts are operands, each but the first with its operator before it."""

    @property
    def flat(self) -> str:
        inner = (", " if self.commas else " ").join(map(flat, self.items))
        return f"{self.head[:-1]}{inner}{self.tail[1:]}" if self.loose else f"{self.head}{inner}{self.tail}"


@dataclass(frozen=True, slots=True)
class Noted:
    """Code with a comment at the end of its line. It is kept apart from the code because a string may hold a `#`."""

    code: str
    remark: str


Part = str | Group | Noted


def flat(part: Part) -> str:
    """The code of a part on one line, without comments."""
    match part:
        case str():
            return part
        case Noted():
            return part.code
        case Group():
            return part.flat
        case _:
            assert_never(part)


def _has_comment(part: Part) -> bool:
    """Whether a part has a comment, and so has to end its line."""
    return isinstance(part, Noted) or (isinstance(part, Group) and any(map(_has_comment, part.items)))


def wide(text: str) -> int:
    """The width of a text as formatters count it: some characters are two columns wide, and some none.

    >>> wide("name"), wide("名前"), wide("n\u0303")
    (4, 4, 1)
    """
    if text.isascii():
        return len(text)
    columns = 0
    for char in text:
        if not combining(char):
            columns += 2 if east_asian_width(char) in "WF" else 1
    return columns


def lay(part: Part, indent: str = "", suffix: str = "") -> list[str]:
    """The lines of a part.

    >>> lay(Group("f(", ("one", "two")))
    ['f(one, two)']
    >>> print(*lay(Group("f(", ("o" * 50, Group("two=[", ("t" * 30, "2"), "]")))), sep="\\n")
    f(
        oooooooooooooooooooooooooooooooooooooooooooooooooo,
        two=[tttttttttttttttttttttttttttttt, 2],
    )
    """
    line = f"{indent}{flat(part)}{suffix}"
    match part:
        case str():
            return [line]
        case Noted():
            return [f"{line}  # {part.remark}"]
        case Group():
            fits = wide(line) <= WIDTH and not _has_comment(part)
            return [line] if fits or not part.items else _lay_group(part, indent, suffix)
        case _:
            assert_never(part)


def _lay_group(group: Group, indent: str, suffix: str) -> list[str]:
    """The lines of a group that does not fit on one."""
    inner = indent + STEP
    first = group.items[0]
    is_comprehension = not group.commas and not group.loose and not group.has_operators
    all_items = " ".join(map(flat, group.items))
    if is_comprehension and isinstance(first, Group):
        lines = [f"{inner}{first.head}"]
        # With a comma after its last part it stays on lines of its own, however wide the lines may be.
        for item in first.items:
            lines += lay(item, inner + STEP, ",")
        lines.append(f"{inner}{first.tail}")
        lines += [f"{inner}{flat(clause)}" for clause in group.items[1:]]
    elif not group.commas and wide(inner + all_items) <= WIDTH and not _has_comment(group):
        lines = [f"{inner}{all_items}"]
    else:
        lines = []
        for item in group.items:
            lines += lay(item, inner, "," if group.commas and item != "/" else "")
    return [f"{indent}{group.head}", *lines, f"{indent}{group.tail}{suffix}"]


def call(head: str, *items: Part) -> Group:
    return Group(f"{head}(", items)


def listing(items: Iterable[Part], head: str = "") -> Group:
    return Group(f"{head}[", tuple(items), "]")


def mapping(items: Iterable[tuple[str, Part]]) -> Group:
    """A dictionary display."""
    return Group("{", tuple(with_prefix(f"{key}: ", value) for key, value in items), "}")


def keyword(name: str, value: Part) -> Part:
    return with_prefix(f"{name}=", value)


def with_prefix(prefix: str, value: Part) -> Part:
    """A part with a text before it."""
    match value:
        case str():
            return prefix + value
        case Noted():
            return replace(value, code=prefix + value.code)
        case Group():
            return replace(value, head=prefix + value.head)
        case _:
            assert_never(value)


def with_suffix(value: Part, suffix: str) -> Part:
    """A part with a text after it."""
    match value:
        case str():
            return value + suffix
        case Noted():
            return replace(value, code=value.code + suffix)
        case Group():
            return replace(value, tail=value.tail + suffix)
        case _:
            assert_never(value)


def comprehension(element: Part, clause: object, *conditions: str, head: str = "[", tail: str = "]") -> Group:
    """A comprehension: `[one.name for one in page]`."""
    return Group(head, (element, str(clause), *conditions), tail, commas=False)


def in_parentheses(*operands: Part) -> Group:
    """Operands, each but the first with its operator before it, in parentheses if they need several lines."""
    return Group("(", operands, ")", commas=False, loose=True)


def string(text: str) -> str:
    """A string literal with double quotes.

    >>> print(string("a"), string('say "hi"'))
    "a" 'say "hi"'
    """
    return quote(repr(text))


def quote(plain: str) -> str:
    r"""A literal of text or bytes with the quotes of formatters: double ones, unless single ones need fewer escapes.

    >>> print(quote(repr(b"ab")), quote("'it\\'s \"'"), quote("'\"'"))
    b"ab" "it's \"" '"'
    """
    prefix, mark = ("b", plain[1]) if plain[0] == "b" else ("", plain[0])
    # `repr` escapes its own quotation mark only; the other one may stand in the text.
    body = plain[len(prefix) + 1 : -1].replace(f"\\{mark}", mark)
    outer = "'" if body.count('"') > body.count("'") else '"'
    quoted_body = body.replace(outer, f"\\{outer}")
    return f"{prefix}{outer}{quoted_body}{outer}"


def docstring(summary: str, *paragraphs: str, indent: str = "") -> list[str]:
    """A docstring: a sentence, and further paragraphs."""
    first, *further = [_sentence(text) for text in (summary, *paragraphs) if text.strip()] or ["."]
    width = WIDTH - len(indent)
    # The quotation marks take three columns, or six if both stand on the only line.
    lines = textwrap.wrap(first, width - (3 if further else 6), break_long_words=False)
    if not further and len(lines) == 1:
        return [f'{indent}"""{first}"""']
    lines[0] = f'"""{lines[0]}'
    for text in further:
        lines += ["", *textwrap.wrap(text, width, break_long_words=False)]
    return [f"{indent}{line}".rstrip() for line in [*lines, '"""']]


def comment(text: str, indent: str = "") -> list[str]:
    return [f"{indent}# {line}" for line in textwrap.wrap(_flowing(text), WIDTH - len(indent) - 2)]


def _flowing(text: str) -> str:
    """Text on one line, without quotes or characters that would end a docstring."""
    # A document may hold invisible characters, such as those that turn the direction of text around.
    printable_text = "".join(char if char.isprintable() else " " for char in text)
    return re.sub(r"\s+", " ", printable_text).strip()


def _sentence(text: str) -> str:
    sentence = _flowing(text).replace("\\", "\\\\").replace('"""', "'''")
    return sentence if sentence.endswith((".", "!", "?")) else f"{sentence}."


class Imports:
    """The imports of a module, collected while it is rendered."""

    def __init__(self) -> None:
        self._names: dict[str, set[str]] = {}
        self._modules: set[str] = set()

    def name(self, module: str, *names: str) -> None:
        self._names.setdefault(module, set()).update(names)

    def module(self, text: str) -> None:
        """Imports a module: `datetime as dt`."""
        self._modules.add(text)

    def lines(self, own: str = "") -> list[str]:
        """The import lines in the order of isort: standard library, third party, own and relative modules."""
        lines = ["from __future__ import annotations"]
        for section in range(3):
            plain = sorted(text for text in self._modules if _section(text.split()[0], own) == section)
            modules = sorted(module for module in self._names if _section(module, own) == section)
            if plain or modules:
                lines.append("")
            lines += [f"import {text}" for text in plain]
            for module in modules:
                lines += _from(module, self._names[module])
        return lines


def _section(module: str, own: str) -> int:
    if module.startswith(".") or (own and module.partition(".")[0] == own):
        return 2
    return 1 if module.partition(".")[0] in {"prejoin", "msgspec", "pydantic", "pytest"} else 0


def _from(module: str, names: Iterable[str]) -> Iterator[str]:
    sorted_names = tuple(sorted(names, key=_rank))
    line = f"from {module} import {', '.join(sorted_names)}"
    if wide(line) <= WIDTH:
        yield line
    else:
        yield from lay(Group(f"from {module} import (", sorted_names))


def _rank(name: str) -> tuple[int, list[tuple[int, int, str]], str]:
    """The sort key of isort: constants, classes, others; numbers by their value."""
    is_constant = name.isupper() and len(name) > 1
    kind = 0 if is_constant else 2 - name[:1].isupper()
    parts = [_rank_part(part) for part in re.split(r"(\d+)", name.lower()) if part]
    return kind, parts, name


def _rank_part(part: str) -> tuple[int, int, str]:
    return (0, int(part), "") if part.isdecimal() else (1, 0, part)
