"""Inputs of a pattern: `userId, status?, createdAt between, filter category = BOOKS or price < 5`."""

from __future__ import annotations

from msgspec.structs import replace

from prejoin.workload.grammar.lexer import CellTokens, write_name
from prejoin.workload.grammar.quantities import plain_number
from prejoin.workload.grammar.values import OP_FIX, read_keeps, read_op, read_span, read_values, write_comparison
from prejoin.workload.lookup import alternatives
from prejoin.workload.model import Input, Op, Value

INPUT_FIX = (
    "write attributes, separated by commas: `userId`, `status?` (optional), `orderId[]` (a list of ids), "
    "`status = PENDING` (a constant), `createdAt between`, `createdAt last 7 days`, `filter category`, "
    "`filter status = OPEN or priority = HIGH`"
)
_NO_INPUTS: frozenset[str] = frozenset()


def read_inputs(text: str) -> tuple[Input, ...]:
    """Read the inputs of a pattern.

    >>> one = read_inputs("status = PENDING, createdAt last 7 days")[1]
    >>> one.attribute, one.op.value, one.values[0].now
    ('createdAt', '>=', -604800)
    """
    tokens = CellTokens(text)
    inputs = []
    tokens.separators()
    while not tokens.done:
        inputs += _alternatives(tokens)
        if not tokens.separators() and not tokens.done:
            near = f"`{tokens.next.raw}` is not understood after `{inputs[-1].attribute}`"
            raise tokens.inexact(near, f"{OP_FIX}; {INPUT_FIX}")
    return tuple(inputs)


def _alternatives(tokens: CellTokens) -> list[Input]:
    """An input, or several with `or` between them, which are filters. Constants of one attribute are one `in`.

    >>> write_inputs(tuple(_alternatives(CellTokens("state = OPEN or state = WAITING"))))
    'state in (OPEN, WAITING)'
    """
    inputs = [_input(tokens)]
    while tokens.word("or"):
        inputs.append(_input(tokens))
    if len(inputs) == 1:
        return inputs
    if is_membership(inputs):
        values = tuple(dict.fromkeys(value for input_ in inputs for value in input_.values))
        return [replace(inputs[0], op=Op.IN, values=values)]
    *filters, last_filter = (replace(one, filter=True) for one in inputs)
    return [*(replace(filter_, either=True) for filter_ in filters), last_filter]


def is_membership(group: list[Input]) -> bool:
    """Whether alternatives only say that one attribute has one of some constants."""
    are_constants = all(
        input_.op.is_equality and input_.values and not (input_.many or input_.optional) for input_ in group
    )
    return (
        are_constants
        and all(input_.keeps is None for input_ in group)
        and len({input_.attribute for input_ in group}) == 1
    )


def _input(tokens: CellTokens) -> Input:
    is_filter = bool(tokens.word("filter")) if tokens.peek().named else False
    attribute = tokens.names("an attribute")
    is_list = tokens.sign("[]")
    optional = tokens.sign("?")
    op: Op | None = Op.GE
    if tokens.word("last"):
        values: tuple[Value, ...] = (Value(now=-read_span(tokens)),)
    else:
        op = read_op(tokens)
        # In a read, a word after an operator is a constant: the caller's value has no name of its own.
        values = read_values(tokens, op, _NO_INPUTS) if op else ()
    return Input(attribute, op or Op.EQ, values, optional, is_list, is_filter, read_keeps(tokens))


def write_inputs(inputs: tuple[Input, ...], names: frozenset[str] = frozenset()) -> str:
    """The inputs as written. Constants that are among `names` are in quotes."""
    groups = [[_write(input_, names) for input_ in _with_one_filter_word(group)] for group in alternatives(inputs)]
    return ", ".join(" or ".join(group) for group in groups)


def _with_one_filter_word(group: tuple[Input, ...]) -> list[Input]:
    """Alternatives with `filter` before the first only."""
    return [group[0], *(replace(input_, filter=False) for input_ in group[1:])]


def _write(i: Input, names: frozenset[str]) -> str:
    keeps = f" (keeps {plain_number(i.keeps)}%)" if i.keeps is not None else ""
    return _condition(i, names) + keeps


def _condition(i: Input, names: frozenset[str]) -> str:
    name = ("filter " if i.filter else "") + _name(i.attribute) + ("[]" if i.many else "") + ("?" if i.optional else "")
    if i.op is Op.EQ and not i.values:
        return name
    if i.op is Op.GE and len(i.values) == 1 and (ago := i.values[0].now) is not None and ago < 0:
        return f"{name} last {write_comparison(i.op, i.values, _NO_INPUTS).removeprefix('>= now - ')}"
    return f"{name} {write_comparison(i.op, i.values, names)}"


def _name(attribute: str) -> str:
    """`filter` is a keyword, so an attribute of that name is written in backticks."""
    return f"`{attribute}`" if attribute.lower() == "filter" else write_name(attribute)
