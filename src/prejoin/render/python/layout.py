"""Layout of generated Python: on one line if it fits, else one part per line, as formatters leave it."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
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
        inner = (", " if self.commas else " ").join(flat(item) for item in self.items)
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
    return sum(0 if combining(c) else 2 if east_asian_width(c) in "WF" else 1 for c in text)


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
    if isinstance(part, Noted):
        return [f"{line}  # {part.remark}"]
    noted = _has_comment(part)
    if isinstance(part, str) or not part.items or (wide(line) <= WIDTH and not noted):
        return [line]
    together = " ".join(map(flat, part.items))
    if not part.commas and not part.loose and not part.has_operators and isinstance(part.items[0], Group):
        # With a comma after its last part it stays on lines of its own, however wide the lines may be.
        first = part.items[0]
        made = [text for item in first.items for text in lay(item, indent + STEP * 2, ",")]
        rest = [f"{indent}{STEP}{flat(item)}" for item in part.items[1:]]
        lead = [f"{indent}{STEP}{first.head}", *made, f"{indent}{STEP}{first.tail}"]
        return [f"{indent}{part.head}", *lead, *rest, f"{indent}{part.tail}{suffix}"]
    if not part.commas and wide(indent + STEP + together) <= WIDTH and not noted:
        return [f"{indent}{part.head}", f"{indent}{STEP}{together}", f"{indent}{part.tail}{suffix}"]
    inner = [
        text for item in part.items for text in lay(item, indent + STEP, "," if part.commas and item != "/" else "")
    ]
    return [f"{indent}{part.head}", *inner, f"{indent}{part.tail}{suffix}"]


def call(head: str, *items: Part, tail: str = ")") -> Group:
    return Group(f"{head}(", items, tail)


def listing(items: Iterable[Part], head: str = "") -> Group:
    return Group(f"{head}[", tuple(items), "]")


def mapping(items: Iterable[tuple[str, Part]], head: str = "") -> Group:
    """A dictionary display."""
    return Group(f"{head}{{", tuple(prefixed(f"{key}: ", value) for key, value in items), "}")


def keyword(name: str, value: Part) -> Part:
    return prefixed(f"{name}=", value)


def prefixed(prefix: str, value: Part) -> Part:
    """A part with a text before it."""
    match value:
        case str():
            return prefix + value
        case Noted():
            return replace(value, code=prefix + value.code)
        case Group():
            return replace(value, head=prefix + value.head)


def string(text: str) -> str:
    """A string literal with double quotes.

    >>> print(string("a"), string('say "hi"'))
    "a" 'say "hi"'
    """
    return quoted(repr(text))


def quoted(plain: str) -> str:
    r"""A literal of text or bytes with the quotes of formatters: double ones, unless single ones need fewer escapes.

    >>> print(quoted(repr(b"ab")), quoted("'it\\'s \"'"), quoted("'\"'"))
    b"ab" "it's \"" '"'
    """
    prefix, mark = ("b", plain[1]) if plain[0] == "b" else ("", plain[0])
    body = plain[len(prefix) + 1 : -1].replace(f"\\{mark}", mark)
    used = "'" if body.count('"') > body.count("'") else '"'
    escaped = body.replace(used, f"\\{used}")
    return f"{prefix}{used}{escaped}{used}"


def docstring(summary: str, *paragraphs: str, indent: str = "") -> list[str]:
    """A docstring: a sentence, and further paragraphs."""
    first, *rest = [_sentence(text) for text in (summary, *paragraphs) if text.strip()] or ["."]
    width = WIDTH - len(indent)
    lines = textwrap.wrap(first, width - (3 if rest else 6), break_long_words=False)
    if not rest and len(lines) == 1:
        return [f'{indent}"""{first}"""']
    lines[0] = f'"""{lines[0]}'
    for text in rest:
        lines += ["", *textwrap.wrap(text, width, break_long_words=False)]
    return [f"{indent}{line}".rstrip() for line in [*lines, '"""']]


def comment(text: str, indent: str = "") -> list[str]:
    return [f"{indent}# {line}" for line in textwrap.wrap(_flowing(text), WIDTH - len(indent) - 2)]


def _flowing(text: str) -> str:
    """Text on one line, without quotes or characters that would end a docstring."""
    return re.sub(r"\s+", " ", "".join(c if c.isprintable() else " " for c in text)).strip()


def _sentence(text: str) -> str:
    found = _flowing(text).replace("\\", "\\\\").replace('"""', "'''")
    return found if found.endswith((".", "!", "?")) else f"{found}."


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
        found = ["from __future__ import annotations"]
        for section in range(3):
            plain = sorted(m for m in self._modules if _section(m.split()[0], own) == section)
            named = sorted(m for m in self._names if _section(m, own) == section)
            if plain or named:
                found += ["", *(f"import {m}" for m in plain)]
                found += [line for m in named for line in _from(m, self._names[m])]
        return found


def _section(module: str, own: str) -> int:
    if module.startswith(".") or (own and module.partition(".")[0] == own):
        return 2
    return 1 if module.partition(".")[0] in {"prejoin", "msgspec", "pydantic", "pytest"} else 0


def _from(module: str, names: Iterable[str]) -> Iterator[str]:
    ordered = tuple(sorted(names, key=_rank))
    line = f"from {module} import {', '.join(ordered)}"
    if wide(line) <= WIDTH:
        yield line
    else:
        yield from lay(Group(f"from {module} import (", ordered))


def _rank(name: str) -> tuple[int, list[tuple[int, int, str]], str]:
    """The sort key of isort: constants, classes, others; numbers by their value."""
    kind = 0 if name.isupper() and len(name) > 1 else 1 if name[:1].isupper() else 2
    parts = [(0, int(p), "") if p.isdecimal() else (1, 0, p) for p in re.split(r"(\d+)", name.lower()) if p]
    return kind, parts, name
