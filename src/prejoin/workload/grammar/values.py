"""Values and comparisons: `>= now - 7 days`, `= PENDING`, `between 1 and 5`."""

from __future__ import annotations

import re

from prejoin.workload.grammar.lexer import WORD, CellTokens, TokenKind, quote, write_name
from prejoin.workload.grammar.quantities import SPANS, write_span
from prejoin.workload.model import Op, Value


class UnquotedText(str):
    """The text of a constant that the document has without quotes."""

    __slots__ = ()


class BareWord(UnquotedText):
    """A text without quotes that may be the name of an attribute: `write_out_names` decides."""

    __slots__ = ()


OP_FIX = "the operators are = <> < <= > >= between begins_with in contains exists and `not exists`"
SPAN_FIX = "write `7 days`, `12 hours` or `30 minutes`"
_WORDS = {
    "between": Op.BETWEEN,
    "begins_with": Op.BEGINS_WITH,
    "in": Op.IN,
    "contains": Op.CONTAINS,
    "exists": Op.EXISTS,
}
_PHRASES = {
    "begins with": Op.BEGINS_WITH,
    "starts with": Op.BEGINS_WITH,
    "not exists": Op.NOT_EXISTS,
}
_SIGNS = {op.value: op for op in (Op.EQ, Op.NE, Op.LT, Op.LE, Op.GT, Op.GE)}


def read_op(tokens: CellTokens) -> Op | None:
    """Take an operator, if one is next."""
    for phrase, op in _PHRASES.items():
        if tokens.words(phrase):
            return op
    if word := tokens.word(*_WORDS):
        return _WORDS[word]
    for sign, op in _SIGNS.items():
        if tokens.sign(sign):
            return op
    return None


def read_values(tokens: CellTokens, op: Op, inputs: frozenset[str]) -> tuple[Value, ...]:
    """The values of an operator; none if the caller gives them.

    A bare word is an input if it is one of `inputs`, otherwise a constant. `:word` is always an input, and text in
    quotes always a constant.
    """
    if op is Op.IN:
        return _read_list(tokens, inputs)
    if op.arity == 0 or not _value_is_next(tokens):
        return ()
    first = _value(tokens, inputs)
    if op is not Op.BETWEEN:
        return (first,)
    if not tokens.word("and"):
        raise tokens.inexact(
            "`between` has one bound", "write both, `between 1 and 5`, or neither: the caller gives them"
        )
    return (first, _value(tokens, inputs))


def _read_list(tokens: CellTokens, inputs: frozenset[str]) -> tuple[Value, ...]:
    if keeps_is_next(tokens) or not tokens.sign("("):
        return ()
    values = [_value(tokens, inputs)]
    while tokens.sign(",", "|"):
        values.append(_value(tokens, inputs))
    if not tokens.sign(")"):
        raise tokens.inexact("the list of values is not closed", "write `in (A, B)`")
    return tuple(values)


def keeps_is_next(tokens: CellTokens) -> bool:
    """Whether `(keeps 5%)` follows."""
    word, number, sign = (tokens.peek(ahead) for ahead in (1, 2, 3))
    kinds = word.kind is TokenKind.WORD and number.kind is TokenKind.NUMBER
    return tokens.next.text == "(" and kinds and word.text.lower() == "keeps" and sign.text == "%"


def read_keeps(tokens: CellTokens) -> float | None:
    """Take `(keeps 5%)`: the per cent of items that pass a condition."""
    if not keeps_is_next(tokens):
        return None
    tokens.take()
    tokens.take()
    number = tokens.take()
    tokens.take()
    if not tokens.sign(")") or not 0 < float(number.text) <= 100:
        raise tokens.inexact("that is not a part of the items", "write `(keeps 5%)`", number)
    return float(number.text)


def _value_is_next(tokens: CellTokens) -> bool:
    token = tokens.next
    if token.kind is TokenKind.WORD and token.text.lower() == "or":
        return False  # the caller gives the value, and another condition follows
    return token.kind in {TokenKind.STRING, TokenKind.NUMBER, TokenKind.WORD, TokenKind.NAME} or token.text in {
        ":",
        "-",
        "~",
    }


def _value(tokens: CellTokens, inputs: frozenset[str]) -> Value:
    """Take a value: `now - 7 days`, `:input`, `-5`, `"a text"`, or a word."""
    if tokens.word("now"):
        return Value(now=_offset(tokens))
    if tokens.sign(":"):
        return Value(param=tokens.name("the input's name"))
    is_negative = tokens.sign("-")
    token = tokens.take()
    if token.kind is TokenKind.NUMBER:
        digits = token.text.replace("_", "")
        return Value(const=_with_following_parts(tokens, f"-{digits}" if is_negative else digits))
    if is_negative:
        raise tokens.inexact("a number is missing after `-`", "write `-5`", token)
    if token.kind is TokenKind.STRING:
        return Value(const=token.text)
    if not token.named:
        fix = "write a constant, in quotes if it has spaces, or an input's name"
        raise tokens.inexact("a value is missing", fix, token)
    is_qualified = tokens.next.text == "." and _touches(tokens) and tokens.peek().named
    if token.text in inputs and not is_qualified:
        return Value(param=token.text)
    return Value(const=BareWord(_with_following_parts(tokens, token.text)))


def _with_following_parts(tokens: CellTokens, text: str) -> str:
    """A constant without quotes that has several tokens: `2024-01-15`, `in-progress`, `Order.total`."""
    while _part_follows(tokens):
        text += tokens.take().raw + tokens.take().raw
    if tokens.next.text == "+" and _touches(tokens) and _TIME.match(text):
        message = f"the time `{text}` has an offset, and is not in quotes"
        raise tokens.inexact(message, f'write it in quotes, `"{text}+02:00"`')
    return text


def _part_follows(tokens: CellTokens) -> bool:
    is_joined = tokens.next.text in {"-", ":", "."} and _touches(tokens)
    return is_joined and tokens.peek().kind in {TokenKind.NUMBER, TokenKind.WORD}


def read_constant(tokens: CellTokens, fix: str) -> str:
    """Take a constant, as text."""
    token = tokens.next
    value = _value(tokens, frozenset())
    if value.const is None:
        raise tokens.inexact(f"`{token.raw}` is not a constant", fix, token)
    return value.const


def _touches(tokens: CellTokens) -> bool:
    """Whether there is no space between the next two tokens."""
    return tokens.peek().offset == tokens.next.offset + len(tokens.next.raw)


def _offset(tokens: CellTokens) -> int:
    for sign, factor in (("-", -1), ("+", 1)):
        if tokens.sign(sign):
            return factor * read_span(tokens)
    return 0


def read_span(tokens: CellTokens) -> int:
    count = tokens.take()
    unit = tokens.take()
    length = SPANS.get(unit.text.lower().removesuffix("s")) if unit.kind is TokenKind.WORD else None
    if count.kind is not TokenKind.NUMBER or not count.text.isdigit() or len(count.text) > 9 or length is None:
        raise tokens.inexact("that is not a span of time", SPAN_FIX, count)
    return int(count.text) * length


def read_retention(text: str) -> int:
    """How long an item is kept, in seconds.

    >>> read_retention("90 days")
    7776000
    """
    tokens = CellTokens(text)
    seconds = read_span(tokens)
    tokens.expect_end(SPAN_FIX)
    return seconds


def write_value(value: Value, inputs: frozenset[str], owner: str = "") -> str:
    """A value as written. `owner` is what an attribute of the same item is named after, if an input has its name."""
    if value.attribute is not None:
        return write_name(f"{owner}.{value.attribute}" if value.attribute in inputs and owner else value.attribute)
    if value.now is not None:
        if value.now == 0:
            return "now"
        return f"now {'-' if value.now < 0 else '+'} {write_span(abs(value.now))}"
    if value.param is not None:
        return value.param if value.param in inputs and WORD.match(value.param) else f":`{value.param}`"
    if isinstance(value.const, BareWord):
        return write_name(value.const)
    return write_constant(value.const or "", inputs)


def write_constant(const: str, inputs: frozenset[str] = frozenset()) -> str:
    """A constant as written, in quotes if it is more than a word or a number.

    >>> write_constant("en"), write_constant("not yet")
    ('en', '"not yet"')
    """
    bare = (WORD.match(const) or _plain_number(const)) and const not in inputs
    return const if bare and const.lower() not in _RESERVED_WORDS else quote(const)


def _plain_number(const: str) -> bool:
    integer, dot, fraction = const.removeprefix("-").partition(".")
    digits = integer.isascii() and integer.isdigit()
    return digits and (not dot or (fraction.isascii() and fraction.isdigit()))


def write_comparison(op: Op, values: tuple[Value, ...], inputs: frozenset[str], owner: str = "") -> str:
    """An operator with its values. `owner` is what attributes of the same item are named after.

    >>> write_comparison(Op.GE, (Value(now=-604_800),), frozenset())
    '>= now - 7 days'
    """
    operands = [write_value(v, inputs, owner) for v in values]
    if op is Op.IN:
        return f"in ({', '.join(operands)})" if operands else "in"
    if op is Op.BETWEEN:
        return f"between {' and '.join(operands)}" if operands else "between"
    return " ".join([op.value, *operands])


_TIME = re.compile(r"\d{4}-\d{2}-\d{2}T\d")
_RESERVED_WORDS = frozenset(
    {"now", "and", "filter", "last", "not", "exists", "unique", "as", "or", "via", "remove", "append"}
)
"""Keywords that need quotes as constants."""
