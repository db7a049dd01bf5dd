"""Half-broken documents: an example with a few mistakes, as somebody makes them who writes or changes a document."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Sequence

_WORD = re.compile(r"\b[A-Za-z][A-Za-z]{2,}\b")
_JUNK = (
    "", " ", "-", "|", "`", "``", "#", "{", "}", "[]", "()", "(", ")", "?", "=", "<", "+= 1", ";", ",", "→", "~", "~0", "0", "-1", "1e999", "99999999999999999999",
    "é", "\u202e", "\x00", "null", "now", "id", "exists", "not (", "or", "Nothing", "nothing", "Order[]", "all", "x" * 300,
)  # fmt: skip


def half_broken(text: str, chance: random.Random) -> str:
    """The text with one to four mistakes."""
    lines = text.split("\n")
    for _ in range(chance.choice([1, 1, 1, 2, 4])):
        lines = chance.choice(MISTAKES)(lines, chance) or [""]
    return "\n".join(lines)


def _some_line(lines: Sequence[str], chance: random.Random, part: str = "") -> int | None:
    """The number of a line that contains the part."""
    numbers = [number for number, line in enumerate(lines) if part in line and line.strip()]
    return chance.choice(numbers) if numbers else None


def _changed(lines: list[str], number: int | None, new: Callable[[str], str]) -> list[str]:
    if number is None:
        return lines
    return [*lines[:number], new(lines[number]), *lines[number + 1 :]]


def remove_line(lines: list[str], chance: random.Random) -> list[str]:
    """Without an attribute, a pattern, a heading or a sentence."""
    number = _some_line(lines, chance, chance.choice(["", "  - `", "| AP-", "#", "**"]))
    return lines if number is None else [*lines[:number], *lines[number + 1 :]]


def remove_section(lines: list[str], chance: random.Random) -> list[str]:
    """Without an entity, all reads, all writes, the context or the decisions."""
    number = _some_line(lines, chance, "##")
    if number is None:
        return lines
    depth = len(lines[number]) - len(lines[number].lstrip("#"))
    end = number + 1
    while end < len(lines) and not re.match(rf"#{{1,{depth}}} ", lines[end]):
        end += 1
    return [*lines[:number], *lines[end:]]


def repeat_line(lines: list[str], chance: random.Random) -> list[str]:
    number = _some_line(lines, chance, chance.choice(["  - `", "| AP-", "###"]))
    return lines if number is None else [*lines[:number], lines[number], *lines[number:]]


def rename_word(lines: list[str], chance: random.Random) -> list[str]:
    """A name that is written differently in one place, or in all."""
    number = _some_line(lines, chance, "`")
    words = _WORD.findall(lines[number]) if number is not None else []
    if not words:
        return lines
    word = chance.choice(words)
    other = chance.choice([f"{word}s", word.lower(), word.upper(), word[:-1], "unknown", "type", "pk", "class"])
    if chance.random() < 0.5:
        return [re.sub(rf"\b{word}\b", other, line) for line in lines]
    return _changed(lines, number, lambda line: line.replace(word, other, 1))


def break_cell(lines: list[str], chance: random.Random) -> list[str]:
    """Junk in a cell of a table, or the cell of another row, or one cell too many or too few."""
    number = _some_line(lines, chance, "| AP-")
    if number is None:
        return lines
    cells = lines[number].split("|")
    at = chance.randrange(1, max(2, len(cells) - 1))
    way = chance.randrange(5)
    if way == 0:
        cells[at] = f" {chance.choice(_JUNK)} "
    elif way == 1:
        other = lines[_some_line(lines, chance, "| AP-") or number].split("|")
        cells[at] = other[min(at, len(other) - 1)]
    elif way == 2:
        del cells[at]
    elif way == 3:
        cells.insert(at, f" {chance.choice(_JUNK)} ")
    else:
        words = cells[at].split(" ")
        words.insert(chance.randrange(len(words) + 1), chance.choice(_JUNK))
        cells[at] = " ".join(words)
    return _changed(lines, number, lambda _: "|".join(cells))


def rename_column(lines: list[str], chance: random.Random) -> list[str]:
    number = _some_line(lines, chance, "| ID |")
    if number is None:
        return lines
    cells = lines[number].split("|")
    at = chance.randrange(1, max(2, len(cells) - 1))
    cells[at] = f" {chance.choice(['Id', 'Inputs', 'Result', 'Sort', 'Entity', 'Conditions', '', 'Whatever'])} "
    return _changed(lines, number, lambda _: "|".join(cells))


def break_attribute(lines: list[str], chance: random.Random) -> list[str]:
    """Another type or other words behind an attribute."""
    words = ["integer", "string", "decimal", "boolean", "date", "datetime", "list of string", "set of integer", "map", "content", "binary",
             "A | B", "uuid", "ulid", "generated", "id", "natural", "unique", "optional", "immutable", "mutable", "ttl", "→ Nothing",
             "follows X.y", "copy of User.name", "default=0", "max 5", "derived", "counter", "in 4 shards", *_JUNK]  # fmt: skip
    number = _some_line(lines, chance, "  - `")

    def other(line: str) -> str:
        parts = re.split(r"([(),])", line)
        parts[chance.randrange(1, max(2, len(parts)))] = chance.choice(["(", ", ", ""]) + chance.choice(words)
        return "".join(parts)

    return _changed(lines, number, lambda line: other(line) if "(" in line else f"{line} ({chance.choice(words)})")


def remove_attribute_everywhere(lines: list[str], chance: random.Random) -> list[str]:
    """An input, change or condition that names an attribute, without it."""
    number = _some_line(lines, chance, "| AP-")
    words = _WORD.findall(lines[number]) if number is not None else []
    return _changed(lines, number, lambda line: line.replace(chance.choice(words), "", 1)) if words else lines


def cut_off(lines: list[str], chance: random.Random) -> list[str]:
    """The text ends in the middle, as after a crash of an editor."""
    if chance.random() < 0.7 or not lines:
        return lines
    number = chance.randrange(len(lines))
    return [*lines[:number], lines[number][: chance.randrange(len(lines[number]) + 1)]]


MISTAKES = (
    remove_line, remove_section, repeat_line, rename_word, break_cell, break_cell, rename_column, break_attribute, break_attribute,
    remove_attribute_everywhere, cut_off,
)  # fmt: skip
