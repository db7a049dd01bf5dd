"""Attribute lines: `` `email` (string, unique) - where the receipts go ``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from types import MappingProxyType

import msgspec

from prejoin import types
from prejoin.types import Type
from prejoin.workload.grammar.lexer import WORD, CellTokens, Inexact, Token, TokenKind, quote, write_name
from prejoin.workload.grammar.quantities import read_count, read_size, write_size, write_span
from prejoin.workload.grammar.values import read_constant, read_span, write_constant
from prejoin.workload.model import Attribute, Follows

LINE_FIX = "write `` `name` (type, flags) - text ``, for example `` `email` (string, unique) - for receipts ``"
FLAGS = ("id", "generated", "natural", "optional", "mutable", "immutable", "unique", "ttl")
FLAG_FIX = (
    f"the flags are {', '.join(f'`{f}`' for f in FLAGS)}, `default=…`, `→ Entity`, `copy of Entity.attribute`, "
    "`snapshot of Entity.attribute`, `follows Entity.attribute`, `renamed from name`, `min 1`, "
    "`max 9999` and a size: `50 B`"
)
DEFAULT_FIX = 'write a constant, in quotes if it has spaces: `default=en`, `default=0`, `default="not yet"`'
BOUND_FIX = "write a whole number: `max 9999`, `min 1, max 10K`, `min -50, max 50`"
_TYPES = {str(k): k for k in types.Kind if k is not types.Kind.ENUM}
TYPE_FIX = (
    f"the types are {', '.join(f'`{t}`' for t in _TYPES)}, `list of T`, `set of T`, or the members of an enum: `A | B`"
)
_OTHER_NAMES = {
    "str": "string", "text": "string", "varchar": "string", "char": "string", "email": "string", "url": "string",
    "int": "integer", "long": "integer", "bigint": "integer", "smallint": "integer", "float": "number",
    "double": "number", "numeric": "decimal", "money": "decimal", "currency": "decimal", "bool": "boolean",
    "bytes": "binary", "blob": "binary", "timestamp": "datetime", "time": "datetime", "guid": "uuid",
    "array": "list", "object": "map", "json": "map", "dict": "map", "ksuid": "string",
}  # fmt: skip


_PHRASES = {
    "copy of": ("copy_of", "the attribute it repeats, `Entity.attribute`"),
    "snapshot of": ("snapshot_of", "the attribute it was taken from, `Entity.attribute`"),
    "renamed from": ("renamed_from", "the name that it had before"),
}
"""Flags of several words with a name behind them: the field that holds it, and what it is."""
_FLAG_FIELDS: dict[str, dict[str, object]] = {
    "id": {"id": True},
    "generated": {"id": True, "generated": True},
    "natural": {"id": True, "generated": False},
    "mutable": {"mutable": True},
    "immutable": {"mutable": False},
    "optional": {"optional": True},
    "unique": {"unique": True},
    "ttl": {"ttl": True},
    "required": {},
}
"""Flags of one word, with the fields that they set."""


def read_attribute(text: str) -> Attribute:
    """Read one line of an attribute list.

    >>> read_attribute("`status` (PENDING | SHIPPED, mutable) - where it stands").type.values
    ('PENDING', 'SHIPPED')
    """
    head, opening, after_opening = text.partition("(")
    if not opening:
        name, dash, tail = text.partition(" - ")
        tokens = CellTokens(name, code=False)
        attribute = Attribute(tokens.name("the attribute's name"), text=tail.strip() if dash else "")
        tokens.expect_end(LINE_FIX)
        return attribute
    tokens = CellTokens(head, code=False)
    name = tokens.name("the attribute's name")
    tokens.expect_end(LINE_FIX)
    inside, tail = _split_at_closing(after_opening, len(head) + 1)
    shift = len(head) + 1
    try:
        attribute = _flags(name, CellTokens(inside))
    except Inexact as problem:
        raise Inexact(problem.message, problem.fix, problem.offset + shift, problem.text, problem.replacement) from None
    return msgspec.structs.replace(attribute, text=_read_text(tail))


def _split_at_closing(text: str, shift: int) -> tuple[str, str]:
    """The text before and after the closing parenthesis; parentheses in quotes do not count."""
    quote = ""
    position = 0
    while position < len(text):
        char = text[position]
        if quote and char == "\\":
            position += 1
        elif quote:
            quote = "" if char == quote else quote
        elif char in "\"'`":
            quote = char
        elif char == ")":
            return text[:position], text[position + 1 :]
        position += 1
    raise Inexact("the parenthesis is not closed", LINE_FIX, shift - 1, "(")


def _read_text(tail: str) -> str:
    text = tail.strip()
    for dash in ("- ", "– ", "— ", ": "):
        if text.startswith(dash):
            return text[len(dash) :].strip()
    if text in {"-", "–", "—", ":"}:
        return ""
    if text.startswith(("→", "->")):
        fix = f"put the reference into the parenthesis: `(string, {text})`"
        raise Inexact(f"`{text}` follows the parenthesis", fix)
    if text:
        raise Inexact(f"`{text}` follows the parenthesis", "put a dash before the text: `(string) - text`")
    return ""


def _flags(name: str, tokens: CellTokens) -> Attribute:
    former: dict[str, str] = {}
    fields: dict[str, object] = {"name": name, "type": read_type(tokens, former)}
    fields["renamed_members"] = tuple(former.items())
    while not tokens.done:
        if not tokens.separators():
            raise tokens.inexact(f"`{tokens.next.raw}` is not understood here", FLAG_FIX)
        if not tokens.done:
            fields |= _flag(tokens)
    return Attribute(**fields)  # type: ignore[arg-type]


def _flag(tokens: CellTokens) -> dict[str, object]:
    """Take a flag: the fields of the attribute that it sets."""
    token = tokens.next
    for read in (_read_reference, _read_phrase, _read_default, _read_bound, _read_size, _read_word):
        fields = read(tokens)
        if fields is not None:
            return fields
    near = next(iter(get_close_matches(token.text.lower(), (*FLAGS, "default"), 1)), "")
    fix = f"did you mean `{near}`? {FLAG_FIX}" if near else FLAG_FIX
    raise tokens.inexact(f"`{token.raw}` is not a flag", fix, token, near)


def _read_reference(tokens: CellTokens) -> dict[str, object] | None:
    """`→ User | Organization`"""
    if not tokens.sign("->"):
        return None
    reference = tokens.name("the entity whose id it holds")
    alternatives = []
    while tokens.sign("|"):
        alternatives.append(tokens.name("another entity whose id it may hold"))
    return {"references": reference, "references_or": tuple(alternatives)}


def _read_phrase(tokens: CellTokens) -> dict[str, object] | None:
    """`copy of User.name`, and others with a name behind some words."""
    for phrase, (field, noun) in _PHRASES.items():
        if tokens.words(phrase):
            return {field: tokens.name(noun)}
    return {"follows": _follows(tokens)} if tokens.word("follows") else None


def _read_default(tokens: CellTokens) -> dict[str, object] | None:
    token = tokens.next
    if not tokens.word("default"):
        return None
    tokens.sign("=")
    if tokens.next.raw in ("", ","):
        raise tokens.inexact("the default has no value", DEFAULT_FIX, token)
    return {"default": read_constant(tokens, DEFAULT_FIX)}


def _read_bound(tokens: CellTokens) -> dict[str, object] | None:
    word = tokens.word("min", "max")
    return {word: _bound(tokens)} if word else None


def _read_size(tokens: CellTokens) -> dict[str, object] | None:
    if tokens.next.kind is not TokenKind.NUMBER and tokens.next.text != "~":
        return None
    figure = [tokens.take().raw]
    while not tokens.done and tokens.next.text not in {",", ";"}:
        figure.append(tokens.take().raw)
    return {"size": read_size(" ".join(figure))}


def _read_word(tokens: CellTokens) -> dict[str, object] | None:
    word = tokens.word(*_FLAG_FIELDS)
    return _FLAG_FIELDS[word] if word else None


def _follows(tokens: CellTokens) -> Follows:
    """The source after `follows`: `User.name via authorId within 10 seconds`."""
    source = tokens.name("the attribute it is kept equal to, `Entity.attribute`")
    via = tokens.name("the attribute with the id of the other item") if tokens.word("via") else ""
    return Follows(source, via, read_span(tokens) if tokens.word("within") else None)


def _write_follows(follows: Follows) -> str:
    via = f" via {write_name(follows.via)}" if follows.via else ""
    within = f" within {write_span(follows.within)}" if follows.within is not None else ""
    return f"follows {write_name(follows.source)}{via}{within}"


def _bound(tokens: CellTokens) -> int:
    """The integer after `min` or `max`, with or without `=`."""
    tokens.sign("=")
    sign = -1 if tokens.sign("-") else 1
    token = tokens.take()
    try:
        bound = read_count(token.raw) if "." not in token.raw else None
    except Inexact:
        bound = None
    if bound is None:
        raise tokens.inexact(
            "the bound is not a whole number" if token.raw else "the bound is missing", BOUND_FIX, token
        )
    return sign * bound


def read_type(tokens: CellTokens, former: dict[str, str] | None = None) -> Type:
    """Read a type. `former` gets the members of an enum that had another name before, with that name."""
    token = tokens.next
    if token.text.lower() in _TYPES and tokens.peek().text == "renamed":
        fix = f"write a comma between them: `({token.text}, renamed from …)`"
        raise tokens.inexact(f"`renamed from` follows `{token.text}`", fix, token)
    if token.kind is TokenKind.STRING or tokens.peek().text in ("|", "renamed"):
        return _enum(tokens, former)
    if token.kind is not TokenKind.WORD:
        fix = f"write the type of the id before it: `(string, {token.raw} …)`" if token.text == "->" else TYPE_FIX
        raise tokens.inexact("the type is missing", fix, token)
    tokens.take()
    kind = _TYPES.get(token.text.lower())
    if kind is None:
        raise _unknown_type(tokens, token)
    if kind in {types.Kind.LIST, types.Kind.SET} and tokens.word("of"):
        return Type(kind, of=_element_type(tokens, kind, token))
    return Type(kind)


def _unknown_type(tokens: CellTokens, token: Token) -> Inexact:
    word = token.text.lower()
    suggestion = _OTHER_NAMES.get(word) or next(iter(get_close_matches(word, _TYPES, 1)), "")
    fix = f"write `{suggestion}`" if suggestion else TYPE_FIX
    return tokens.inexact(f"`{token.raw}` is not a type", fix, token, suggestion)


def _element_type(tokens: CellTokens, kind: types.Kind, token: Token) -> Type:
    """The type of the elements of a list or a set."""
    element = read_type(tokens)
    if element.kind is types.Kind.CONTENT:
        raise tokens.inexact(f"a {kind} cannot hold contents", "make each an item with a content of its own", token)
    # DynamoDB has sets of strings, numbers and binaries only.
    may_be_in_set = element.numeric or element.kind in {types.Kind.STRING, types.Kind.BINARY}
    if kind is types.Kind.SET and not may_be_in_set:
        raise tokens.inexact("a set holds strings, numbers or binaries", "use a list for anything else", token)
    return element


def _enum(tokens: CellTokens, former: dict[str, str] | None) -> Type:
    members: list[str] = []
    while True:
        token = tokens.next
        member = _member(tokens)
        if member in members:
            raise tokens.inexact(f"`{member}` is in the enum twice", "name each member once", token)
        members.append(member)
        if tokens.words("renamed from"):
            if former is None:
                message = "a member of an enum inside of a list cannot be renamed"
                raise tokens.inexact(message, "add the new member, and drop the old one in a later change", token)
            former[member] = _member(tokens)
        if not tokens.sign("|"):
            return Type(types.Kind.ENUM, values=tuple(members))


def _member(tokens: CellTokens) -> str:
    token = tokens.take()
    if token.kind not in {TokenKind.STRING, TokenKind.WORD, TokenKind.NAME, TokenKind.NUMBER}:
        raise tokens.inexact("a member of the enum is missing", "write `A | B | C`", token)
    member = token.text
    # Members like `in-progress` are words with a dash, which has no other meaning here.
    while token.kind is TokenKind.WORD and tokens.next.text == "-" and tokens.peek().kind is TokenKind.WORD:
        tokens.take()
        member = f"{member}-{tokens.take().text}"
    return member


def write_type(type_: Type, former: Mapping[str, str] = MappingProxyType({})) -> str:
    """The text of a type. `former` are the names that members of an enum had before.

    >>> write_type(Type(types.Kind.ENUM, values=("Resort Data",)))
    '"Resort Data"'
    >>> write_type(Type(types.Kind.ENUM, values=("OPEN", "PAID")), {"PAID": "DONE"})
    'OPEN | PAID renamed from DONE'
    """
    if type_.kind is types.Kind.ENUM:
        if len(type_.values) == 1 and not former:
            return quote(type_.values[0])
        return " | ".join(_write_member(value, former.get(value)) for value in type_.values)
    return f"{type_.kind} of {write_type(type_.of)}" if type_.of else str(type_.kind)


def _write_member(member: str, former: str | None) -> str:
    before = f" renamed from {_member_text(former)}" if former is not None else ""
    return f"{_member_text(member)}{before}"


def _member_text(member: str) -> str:
    return member if WORD.match(member) else quote(member)


def write_attribute(a: Attribute) -> str:
    """The line of an attribute.

    >>> write_attribute(Attribute("email", unique=True, size=50, text="for receipts"))
    '`email` (string, unique, 50 B) - for receipts'
    """
    text = f" - {a.text}" if a.text else ""
    return f"`{a.name}` ({', '.join(_flag_texts(a))}){text}"


def _flag_texts(a: Attribute) -> Iterator[str]:
    yield write_type(a.type, dict(a.renamed_members))
    if a.id:
        yield {None: "id", True: "generated", False: "natural"}[a.generated]
    for word, is_set in (("optional", a.optional), ("unique", a.unique), ("ttl", a.ttl)):
        if is_set:
            yield word
    if a.mutable is not None:
        yield "mutable" if a.mutable else "immutable"
    if a.default is not None:
        yield f"default={write_constant(a.default)}"
    for word, bound in (("min", a.min), ("max", a.max)):
        if bound is not None:
            yield f"{word} {bound}"
    yield from _origin_texts(a)
    if a.size is not None:
        yield write_size(a.size)


def _origin_texts(a: Attribute) -> Iterator[str]:
    """The flags with names: of what it refers to, what it repeats, and what it was called before."""
    if a.references:
        yield f"→ {' | '.join(map(write_name, (a.references, *a.references_or)))}"
    if a.copy_of:
        yield f"copy of {write_name(a.copy_of)}"
    if a.snapshot_of:
        yield f"snapshot of {write_name(a.snapshot_of)}"
    if a.follows:
        yield _write_follows(a.follows)
    if a.renamed_from:
        yield f"renamed from {write_name(a.renamed_from)}"
