"""Actions and conditions of writes: `update Product (stock -= quantity)`, `Product.stock >= quantity`."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import assert_never

from prejoin.constructs.registry import CONSTRUCTS
from prejoin.workload.grammar.lexer import CellTokens, write_name
from prejoin.workload.grammar.values import read_op, read_values, write_comparison, write_value
from prejoin.workload.model import (
    Absence,
    Action,
    AllOf,
    AnyOf,
    Change,
    ChangeOp,
    Comparison,
    Condition,
    Leaf,
    Negation,
    Op,
    Presence,
    Test,
    Uniqueness,
    Value,
    Verb,
)

ACTION_FIX = (
    "write what happens to each item, separated by semicolons: `create Order`, `create OrderItem[]` (several), "
    "`put Session`, `update Product (stock -= quantity)`, `upsert Tally (votes += 1)`, "
    "`update User by followerId (count += 1)`, `delete Order`"
)
CHANGE_FIX = (
    "write `status`, `status = SHIPPED`, `stock -= quantity`, `orderCount += 1`, `remove note` or `append tags`"
)
COMPUTED_FIX = (
    "a value is a constant, an input, or for a new item another attribute: compute it in the application, and give it "
    "as an input"
)
CHECK_FIX = (
    "write conditions, separated by semicolons: `User exists`, `Order not exists`, `email unique`, "
    "`stock >= quantity`, `status = PENDING`, `status = FREE or heldUntil < now`, `not (status = SOLD)`"
)
_UNIQUE_FIX = "write it as a condition of its own, after a semicolon: `email unique`"
ARITHMETIC_FIX = (
    "keep the result as an attribute, such as `due`, which each write changes (`due -= amount`), and compare that: "
    "`due >= amount`"
)
_ARITHMETIC = frozenset({"+", "-", "*", "/"})
_CHANGE_SIGNS = {"=": ChangeOp.SET, "+=": ChangeOp.ADD, "-=": ChangeOp.SUBTRACT}


def read_actions(text: str, inputs: frozenset[str], verb_meant: Verb = Verb.CREATE) -> tuple[Action, ...]:
    """The actions of a pattern. `verb_meant` is the verb to suggest if none is given.

    >>> action = read_actions("create Order; update User (orderCount += 1)", frozenset())[1]
    >>> [(change.attribute, change.op.value) for change in action.changes]
    [('orderCount', '+=')]
    """
    tokens = CellTokens(text)
    actions = []
    tokens.separators()
    while not tokens.done:
        verb = _verb(tokens, verb_meant)
        entity = tokens.name("the entity")
        is_list = tokens.sign("[]")
        by = [tokens.name("the input that holds its id")] if tokens.word("by") else []
        while by and tokens.sign("+"):
            by.append(tokens.name("the input that holds its id"))
        changes = _changes(tokens, inputs) if tokens.sign("(") else ()
        actions.append(Action(verb, entity, is_list, changes, tuple(by)))
        if not tokens.separators() and not tokens.sign("+"):
            tokens.expect_end(ACTION_FIX)
    return tuple(actions)


def _verb(tokens: CellTokens, verb_meant: Verb) -> Verb:
    verb = tokens.word(*(verb.value for verb in Verb))
    if verb is not None:
        return Verb(verb)
    for construct in CONSTRUCTS:
        if word := tokens.word(*construct.functions):
            raise tokens.inexact(f"`{word}` is no verb of a write", construct.functions[word])
    message = f"`{tokens.text.strip()}` does not say what happens to which item"
    raise tokens.inexact(message, _suggestion(tokens.text, verb_meant) or ACTION_FIX)


_LOOSE = re.compile(r"(all\s+)?([A-Z]\w*?)(s?)(\s+updates?|\s+entries)?\s*\Z")


def _suggestion(text: str, verb: Verb) -> str:
    """The action that `1 (User)` or `Order + OrderCount update` probably means."""
    inside = re.fullmatch(r"\d+\s*\((.+)\)", text.strip())
    actions = []
    for part in re.split(r"\+|,|;|\band\b|<br\s*/?>", inside[1] if inside else text):
        match = _LOOSE.fullmatch(part.strip())
        if not match:
            return ""
        list_sign = "[]" if match[1] else ""
        name = match[2] if list_sign else match[2] + match[3]
        updates = bool(match[4] and "update" in match[4]) or verb is Verb.UPDATE
        actions.append(f"update {name}{list_sign} (…)" if updates else f"{verb} {name}{list_sign}")
    return f"write `{'; '.join(actions)}`, if that is what happens"


def _changes(tokens: CellTokens, inputs: frozenset[str]) -> tuple[Change, ...]:
    changes = [_change(tokens, inputs)]
    while tokens.sign(",", ";"):
        changes.append(_change(tokens, inputs))
    if not tokens.sign(")"):
        sign = tokens.next.raw
        is_computed = sign in {"+", "-", "*", "/"} and changes[-1].value is not None
        raise tokens.inexact(f"`{sign}` is not understood in a change", COMPUTED_FIX if is_computed else CHANGE_FIX)
    return tuple(changes)


def _change(tokens: CellTokens, inputs: frozenset[str]) -> Change:
    for op in (ChangeOp.REMOVE, ChangeOp.APPEND):
        if tokens.peek().named and tokens.word(op.value):
            attribute = tokens.name("an attribute")
            value = _value(tokens, inputs) if op is ChangeOp.APPEND and tokens.sign("=") else None
            return Change(attribute, op, value)
    attribute = tokens.name("an attribute")
    for sign, op in _CHANGE_SIGNS.items():
        if tokens.sign(sign):
            return Change(attribute, op, _value(tokens, inputs))
    return Change(attribute, optional=tokens.sign("?"))


def _value(tokens: CellTokens, inputs: frozenset[str]) -> Value:
    values = read_values(tokens, Op.EQ, inputs)
    if not values:
        raise tokens.inexact("a value is missing", CHANGE_FIX)
    return values[0]


def write_actions(actions: tuple[Action, ...], inputs: frozenset[str]) -> str:
    return "; ".join(_write_action(a, inputs) for a in actions)


def _write_action(action: Action, inputs: frozenset[str]) -> str:
    changes = ", ".join(_write_change(c, inputs) for c in action.changes)
    by = f" by {' + '.join(write_name(b) for b in action.by)}" if action.by else ""
    name = write_name(action.entity) + ("[]" if action.many else "")
    return f"{action.verb} {name}{by}" + (f" ({changes})" if changes else "")


def _write_change(change: Change, inputs: frozenset[str]) -> str:
    name = write_name(change.attribute)
    if name in {ChangeOp.REMOVE, ChangeOp.APPEND}:
        name = f"`{name}`"
    value = write_value(change.value, inputs) if change.value else ""
    match change.op:
        case ChangeOp.REMOVE | ChangeOp.APPEND:
            return f"{change.op} {name}" + (f" = {value}" if value else "")
        case ChangeOp.SET | ChangeOp.ADD | ChangeOp.SUBTRACT:
            return f"{name} {change.op} {value}" if value else f"{name}{'?' * change.optional}"
        case _:
            assert_never(change.op)


def read_checks(text: str, inputs: frozenset[str]) -> tuple[Condition, ...]:
    """The conditions of a write, all of which have to be true. `and` binds tighter than `or`, as in Python.

    >>> [type(one).__name__ for one in read_checks("User exists; stock >= quantity", frozenset({"quantity"}))]
    ['Presence', 'Comparison']
    >>> condition = read_checks("status = FREE or status = HELD and heldUntil < now", frozenset())[0]
    >>> write_checks((condition,), frozenset())
    'status = FREE or (status = HELD and heldUntil < now)'
    """
    tokens = CellTokens(text)
    checks: list[Condition] = []
    tokens.separators()
    while not tokens.done:
        checks += _alternatives(tokens, inputs)
        if not tokens.separators() and not tokens.word("and"):
            tokens.expect_end(CHECK_FIX)
    return tuple(checks)


def _alternatives(tokens: CellTokens, inputs: frozenset[str]) -> Sequence[Condition]:
    """Conditions with `or` between them. Without one, the conditions that have to be true together."""
    first = _conjunction(tokens, inputs)
    if tokens.next.text.lower() != "or":
        return first
    parts = [_all_of(tokens, first)]
    while tokens.word("or"):
        parts.append(_all_of(tokens, _conjunction(tokens, inputs)))
    return [AnyOf(tuple(parts))]


def _conjunction(tokens: CellTokens, inputs: frozenset[str]) -> list[Condition]:
    """Conditions with `and` between them."""
    conditions = [*_factor(tokens, inputs)]
    _refuse_arithmetic(tokens)
    while tokens.word("and"):
        conditions += _factor(tokens, inputs)
        _refuse_arithmetic(tokens)
    return conditions


def _factor(tokens: CellTokens, inputs: frozenset[str]) -> Sequence[Condition]:
    """One condition: in parentheses, after `not`, or without either."""
    is_presence = tokens.peek().text.lower() in ("exists", "exist")
    if not is_presence and tokens.word("not"):
        if tokens.next.text != "(":
            message = "`not` stands before a condition in parentheses"
            raise tokens.inexact(message, CHECK_FIX)
        return [Negation(_all_of(tokens, _factor(tokens, inputs)))]
    if not tokens.sign("("):
        return _check(tokens, inputs)
    inside = _alternatives(tokens, inputs)
    if not tokens.sign(")"):
        raise tokens.inexact("the parenthesis is not closed", "write `(a = 1 or b = 2)`")
    return inside


def _all_of(tokens: CellTokens, conditions: Sequence[Condition]) -> Test:
    """Conditions that have to be true together, as one."""
    tests: list[Test] = []
    for condition in conditions:
        if isinstance(condition, Uniqueness):
            raise tokens.inexact(f"`{condition.attribute} unique` cannot be a part of another condition", _UNIQUE_FIX)
        tests.append(condition)
    return tests[0] if len(tests) == 1 else AllOf(tuple(tests))


def _check(tokens: CellTokens, inputs: frozenset[str]) -> list[Condition]:
    """A condition without `or`, `and` and `not`: one for each name before it."""
    if is_there := _presence(tokens):
        return [is_there()]
    if tokens.peek().named and tokens.word("unique"):
        return [Uniqueness(*_split(tokens.name("an attribute")))]
    names = _names(tokens)
    _refuse_arithmetic(tokens)
    if is_there := _presence(tokens):
        places = [_split(name, is_item_name=True) for name in names]
        return [is_there(entity=entity, attribute=attribute) for entity, attribute in places]
    places = [_split(name) for name in names]
    if any(map(tokens.words, _UNIQUE_PHRASES)):
        return [Uniqueness(entity, attribute) for entity, attribute in places]
    op, values = _comparison(tokens, inputs)
    return [Comparison(entity=entity, attribute=attribute, op=op, values=values) for entity, attribute in places]


_UNIQUE_PHRASES = ("must be unique", "both unique", "is unique", "are unique", "unique")


def _comparison(tokens: CellTokens, inputs: frozenset[str]) -> tuple[Op, tuple[Value, ...]]:
    start = tokens.next
    must_be = tokens.words("must be")
    op = read_op(tokens) or (Op.EQ if must_be else None)
    values = read_values(tokens, op, inputs) if op else ()
    if op is None or not values:
        raise tokens.inexact(f"`{tokens.text.strip()}` is not an exact condition", CHECK_FIX, start)
    return op, values


def _refuse_arithmetic(tokens: CellTokens) -> None:
    """DynamoDB compares attributes and values in a condition, and cannot compute with them."""
    if tokens.next.text in _ARITHMETIC:
        message = f"a condition cannot compute: `{tokens.next.raw}` is not supported in `{tokens.text.strip()}`"
        raise tokens.inexact(message, ARITHMETIC_FIX)


def _presence(tokens: CellTokens) -> type[Presence | Absence] | None:
    """Takes `exists` or `not exists`."""
    for phrase in ("not exists", "must not exist", "does not exist"):
        if tokens.words(phrase):
            return Absence
    return Presence if tokens.words("exists") or tokens.words("must exist") else None


def _names(tokens: CellTokens) -> list[str]:
    """One name, or several that share a condition: `username and email unique`."""
    names = [tokens.name("an entity or an attribute")]
    while tokens.next.text.lower() == "and" and tokens.peek().named and tokens.peek(2).named:
        tokens.take()
        names.append(tokens.name("an entity or an attribute"))
    return names


def _split(name: str, is_item_name: bool = False) -> tuple[str, str]:
    """The entity and attribute of a name. A bare name is an attribute, unless it stands for a whole item."""
    entity, dot, attribute = name.partition(".")
    return (entity, attribute) if dot else (name, "") if is_item_name else ("", name)


def write_checks(checks: Sequence[Condition], inputs: frozenset[str]) -> str:
    """The conditions of a write as written, with semicolons between them."""
    return "; ".join(write_condition(check, inputs) for check in checks)


def write_condition(condition: Condition, inputs: frozenset[str]) -> str:
    """A condition as written. Parts that have parts themselves are in parentheses."""
    match condition:
        case Presence() | Absence() | Comparison():
            return _write_leaf(condition, inputs)
        case AnyOf():
            return " or ".join(_write_part(part, inputs) for part in condition.parts)
        case AllOf():
            return " and ".join(_write_part(part, inputs) for part in condition.parts)
        case Negation():
            return f"not ({write_condition(condition.part, inputs)})"
        case Uniqueness():
            parts = [part for part in (condition.entity, condition.attribute) if part]
            return f"{write_name('.'.join(parts))} unique"
        case _:
            assert_never(condition)


def _write_part(part: Test, inputs: frozenset[str]) -> str:
    text = write_condition(part, inputs)
    return f"({text})" if isinstance(part, AnyOf | AllOf) else text


def _write_leaf(leaf: Leaf, inputs: frozenset[str]) -> str:
    owner = "" if leaf.implied else leaf.by or leaf.entity
    parts = [part for part in (owner, leaf.attribute) if part]
    name = write_name(".".join(parts)) if parts else ""
    match leaf:
        case Presence():
            return f"{name} exists".strip()
        case Absence():
            return f"{name} not exists".strip()
        case Comparison():
            return f"{name} {write_comparison(leaf.op, leaf.values, inputs, leaf.by or leaf.entity)}"
        case _:
            assert_never(leaf)
