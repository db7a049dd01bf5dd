"""HCL, the language of Terraform and OpenTofu, in the format of `terraform fmt`."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

_WORDS = frozenset({"for", "null", "true", "false"})
"""Keywords, which cannot be plain keys of an object."""
_PLAIN_KEY = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*")
_LIST_WIDTH = 80
_TEMPLATE = re.compile(r"(?<![$%])([$%]++)\{")
_ESCAPES = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\r": "\\r", "\t": "\\t"}


class HclRaw:
    """An expression: `var.table_name`."""

    def __init__(self, text: str) -> None:
        self.text = text


class HclCall:
    """A call with one argument: `jsonencode({ … })`."""

    def __init__(self, name: str, argument: Any) -> None:
        self.name = name
        self.argument = argument


class HclBlock:
    """A block: its type and labels, attributes by name, then blocks."""

    def __init__(
        self,
        *header: str,
        attributes: Mapping[str, Any] | None = None,
        blocks: Sequence[HclBlock] = (),
        comment: str = "",
    ) -> None:
        self.header = header
        self.attributes = attributes or {}
        self.blocks = blocks
        self.comment = comment


def file_text(blocks: Sequence[HclBlock], notice: str = "") -> str:
    """A file of blocks, with a blank line between them.

    >>> attributes = {"type": HclRaw("string"), "default": "a${b}"}
    >>> print(file_text([HclBlock("variable", "name", attributes=attributes)]), end="")
    variable "name" {
      type    = string
      default = "a$${b}"
    }
    """
    texts = [f"# {notice}"] if notice else []
    texts += map("\n".join, map(_block, blocks))
    return "\n\n".join(texts) + "\n"


def _block(block: HclBlock) -> list[str]:
    kind, *labels = block.header
    head = " ".join((kind, *map(string_literal, labels)))
    inside = _align_pairs([(name, _value(value)) for name, value in block.attributes.items()])
    for inner in block.blocks:
        # `terraform fmt` keeps a blank line before a block, except at the beginning of another one.
        if inside:
            inside.append("")
        inside += _block(inner)
    comment = [f"# {block.comment}"] if block.comment else []
    if not inside:
        return [*comment, f"{head} {{}}"]
    return [*comment, f"{head} {{", *_indent(inside), "}"]


def _value(value: Any) -> list[str]:
    """A value as lines."""
    match value:
        case HclRaw():
            return [value.text]
        case HclCall():
            first, *other_lines = _value(value.argument)
            lines = [f"{value.name}({first}", *other_lines]
            return [*lines[:-1], f"{lines[-1]})"]
        case bool():
            return ["true" if value else "false"]
        case int():
            return [str(value)]
        case str():
            return [string_literal(value)]
        case Mapping():
            pairs = [(_key(name), _value(member)) for name, member in value.items()]
            return ["{", *_indent(_align_pairs(pairs)), "}"] if pairs else ["{}"]
        case _:
            return _list(list(map(_value, value)))


def _key(name: str) -> str:
    return name if _PLAIN_KEY.fullmatch(name) and name not in _WORDS else string_literal(name)


def _list(items: list[list[str]]) -> list[str]:
    first_lines = [lines[0] for lines in items]
    one_line = f"[{', '.join(first_lines)}]"
    # Brackets and commas take two characters for each item.
    is_short = len(items) <= 1 or len(one_line) < _LIST_WIDTH
    if is_short and max(map(len, items), default=1) == 1:
        return [one_line]
    item_lines: list[str] = []
    for item in items:
        item_lines += [*item[:-1], f"{item[-1]},"]
    return ["[", *_indent(item_lines), "]"]


def _align_pairs(pairs: Sequence[tuple[str, list[str]]]) -> list[str]:
    """Attributes with aligned equals signs. One of several lines is not aligned."""
    lines_of_pairs: list[str] = []
    one_line_pairs: list[tuple[str, str]] = []

    def align_one_line_pairs() -> None:
        width = max((len(name) for name, _ in one_line_pairs), default=0)
        for name, text in one_line_pairs:
            lines_of_pairs.append(f"{name.ljust(width)} = {text}")
        one_line_pairs.clear()

    for name, lines in pairs:
        if len(lines) == 1:
            one_line_pairs.append((name, lines[0]))
        else:
            align_one_line_pairs()
            lines_of_pairs += [f"{name} = {lines[0]}", *lines[1:]]
    align_one_line_pairs()
    return lines_of_pairs


def string_literal(text: str) -> str:
    r"""A string literal. `${` and `%{` would begin a template there.

    >>> print(string_literal("a${b}"), string_literal("$${b}"), string_literal("a\fb"))
    "a$${b}" "\u0024\u0024{b}" "a\u000cb"
    """
    escaped_text = "".join(map(_escape_character, text))
    return f'"{_TEMPLATE.sub(_without_template, escaped_text)}"'


def _escape_character(char: str) -> str:
    """A character of a string literal. HCL knows fewer escapes than JSON: no `\\b` and no `\\f`."""
    if char in _ESCAPES:
        return _ESCAPES[char]
    if char.isprintable():
        return char
    return f"\\u{ord(char):04x}" if ord(char) < 0x10000 else f"\\U{ord(char):08x}"


def _without_template(match: re.Match[str]) -> str:
    signs = match[1]
    # `$$${` can be read as `$` and an escaped `${`, or as an escaped `$$` and a template. Code points are clear.
    return f"{signs * 2}{{" if len(signs) == 1 else "".join(f"\\u{ord(sign):04x}" for sign in signs) + "{"


def _indent(lines: Sequence[str]) -> list[str]:
    return [f"  {line}" if line else line for line in lines]
