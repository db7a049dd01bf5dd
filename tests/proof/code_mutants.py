"""Mutants of generated code: each is one mistake that a renderer could make in a method."""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable, Iterator
from dataclasses import dataclass

_OPPOSITES: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Lt: ast.GtE,
    ast.GtE: ast.Lt,
    ast.Gt: ast.LtE,
    ast.LtE: ast.Gt,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
}
_NEIGHBOURS: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
}
_WRITERS = {"insert", "put", "update", "upsert", "delete", "put_many", "delete_many", "check", "check_absent"}


@dataclass(frozen=True, slots=True)
class Mutant:
    """A mistake in a method, as a change of the method's syntax tree."""

    text: str
    change: Callable[[ast.FunctionDef | ast.AsyncFunctionDef], None]


def mutated(source: str, method: str, mutant: Mutant) -> str:
    """The source of a module with a mistake in one of its methods."""
    tree = ast.parse(source)
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name == method:
            mutant.change(node)
    return ast.unparse(ast.fix_missing_locations(tree))


def mutants_of(source: str, method: str) -> list[Mutant]:
    """All mutants of a method. The same change fits the method of the other repository."""
    tree = ast.parse(source)
    function = next(
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name == method
    )
    return [*_comparisons(function), *_conditions(function), *_statements(function), *_arguments(function)]


def _nodes(function: ast.AST, kind: type[ast.AST]) -> list[ast.AST]:
    return [node for node in ast.walk(function) if isinstance(node, kind)]


def _at(kind: type[ast.AST], number: int, change: Callable[[ast.AST], None]) -> Callable[[ast.AST], None]:
    return lambda function: change(_nodes(function, kind)[number])


# --- Comparisons ----------------------------------------------------------------------------------------------------


def _comparisons(function: ast.AST) -> Iterator[Mutant]:
    """Comparisons that are negated, moved by one, or made with another value."""
    for number, node in enumerate(_nodes(function, ast.Compare)):
        assert isinstance(node, ast.Compare)
        text = ast.unparse(node)
        yield Mutant(f"`{text}` negated", _at(ast.Compare, number, _with_operator(_OPPOSITES)))
        if type(node.ops[0]) in _NEIGHBOURS:
            yield Mutant(f"`{text}` off by one", _at(ast.Compare, number, _with_operator(_NEIGHBOURS)))
    for number, node in enumerate(_nodes(function, ast.Constant)):
        assert isinstance(node, ast.Constant)
        if _is_compared(function, node):
            yield Mutant(f"{node.value!r} changed", _at(ast.Constant, number, _change_constant))


def _with_operator(operators: dict[type[ast.cmpop], type[ast.cmpop]]) -> Callable[[ast.AST], None]:
    def change(node: ast.AST) -> None:
        assert isinstance(node, ast.Compare)
        node.ops = [operators[type(node.ops[0])](), *node.ops[1:]]

    return change


def _is_compared(function: ast.AST, constant: ast.Constant) -> bool:
    """Whether a constant is a value that an item is compared with, or set to."""
    if isinstance(constant.value, bool) or not isinstance(constant.value, int | str):
        return False
    casts = [node for node in ast.walk(function) if isinstance(node, ast.Call) and ast.unparse(node.func) == "cast"]
    if any(cast.args[0] is constant for cast in casts):
        return False  # the name of a type
    holders = [node for node in ast.walk(function) if isinstance(node, ast.Lambda | ast.Assign | ast.AugAssign)]
    return any(node is constant for holder in holders for node in ast.walk(holder))


def _change_constant(node: ast.AST) -> None:
    assert isinstance(node, ast.Constant)
    value = node.value
    node.value = value + 1 if isinstance(value, int) else OTHER_TEXTS.get(str(value), str(value) + "x")


OTHER_TEXTS = {"OPEN": "DONE", "DONE": "OPEN", "CLOSED": "OPEN"}
"""For a member of an enum, another one."""


# --- Conditions -----------------------------------------------------------------------------------------------------


def _conditions(function: ast.FunctionDef | ast.AsyncFunctionDef) -> Iterator[Mutant]:
    """Conditions that are dropped: one of several, all of an item, or those compared before anything is sent."""
    hints = [argument.annotation for argument in ast.walk(function.args) if isinstance(argument, ast.arg)]
    annotations = {id(part) for hint in hints if hint is not None for part in ast.walk(hint)}
    for number, node in enumerate(_nodes(function, ast.BinOp)):
        assert isinstance(node, ast.BinOp)
        if isinstance(node.op, ast.BitAnd | ast.BitOr) and id(node) not in annotations:
            other = ast.BitOr if isinstance(node.op, ast.BitAnd) else ast.BitAnd
            yield Mutant(f"`{ast.unparse(node)}` with the other operator", _at(ast.BinOp, number, _joined_by(other)))
            for side in ("left", "right"):
                text = ast.unparse(getattr(node, side))
                yield Mutant(f"`{text}` dropped", _at(ast.BinOp, number, _keep_other(side)))
    for number, node in enumerate(_nodes(function, ast.Call)):
        assert isinstance(node, ast.Call)
        if isinstance(node.func, ast.Name) and node.func.id == "not_":
            yield Mutant(f"`{ast.unparse(node)}` without its not", _at(ast.Call, number, _without_not))
        for keyword in node.keywords:
            if keyword.arg in ("where", "or_absent"):
                text = f"{keyword.arg}={ast.unparse(keyword.value)}"
                yield Mutant(f"`{text}` dropped", _at(ast.Call, number, _without(keyword.arg)))
    for number, node in enumerate(_nodes(function, ast.If)):
        assert isinstance(node, ast.If)
        text = ast.unparse(node.test)
        yield Mutant(f"`if {text}` dropped", _at(ast.If, number, _never))


def _joined_by(operator: type[ast.operator]) -> Callable[[ast.AST], None]:
    def change(node: ast.AST) -> None:
        assert isinstance(node, ast.BinOp)
        node.op = operator()

    return change


def _without_not(node: ast.AST) -> None:
    """Makes `not_(x)` a `not_(not_(x))`, because a call cannot be replaced by its argument in place."""
    assert isinstance(node, ast.Call)
    node.args = [ast.Call(ast.Name("not_", ast.Load()), node.args, [])]


def _keep_other(side: str) -> Callable[[ast.AST], None]:
    def change(node: ast.AST) -> None:
        # An operator cannot be replaced by its operand in place, so it becomes `x & x`.
        assert isinstance(node, ast.BinOp)
        other = node.right if side == "left" else node.left
        node.left, node.right = other, copy.deepcopy(other)

    return change


def _without(name: str) -> Callable[[ast.AST], None]:
    def change(node: ast.AST) -> None:
        assert isinstance(node, ast.Call)
        node.keywords = [keyword for keyword in node.keywords if keyword.arg != name]

    return change


def _never(node: ast.AST) -> None:
    assert isinstance(node, ast.If)
    node.test = ast.Constant(False)


# --- Statements -----------------------------------------------------------------------------------------------------


def _statements(function: ast.AST) -> Iterator[Mutant]:
    """Changes and calls that are dropped, sums with the wrong sign, and loops over too little or the wrong list."""
    for number, node in enumerate(_nodes(function, ast.AugAssign)):
        assert isinstance(node, ast.AugAssign)
        if isinstance(node.target, ast.Attribute):
            yield Mutant(f"`{ast.unparse(node)}` with the wrong sign", _at(ast.AugAssign, number, _flip_sign))
    for number, node in enumerate(_nodes(function, ast.Assign)):
        assert isinstance(node, ast.Assign)
        if isinstance(node.targets[0], ast.Attribute):
            yield Mutant(f"`{ast.unparse(node)}` dropped", _at(ast.Assign, number, _set_to_itself))
    for number, node in enumerate(_nodes(function, ast.For)):
        assert isinstance(node, ast.For)
        text = f"for {ast.unparse(node.target)} in {ast.unparse(node.iter)}"
        yield Mutant(f"`{text}` without the first", _at(ast.For, number, _skip_first))
    loops = [node for node in _nodes(function, ast.For) if isinstance(node, ast.For)]
    names = {ast.unparse(loop.iter) for loop in loops if isinstance(loop.iter, ast.Name)}
    for number, loop in enumerate(loops):
        for name in sorted(names - {ast.unparse(loop.iter)}):
            text = f"for {ast.unparse(loop.target)} in {ast.unparse(loop.iter)}"
            yield Mutant(f"`{text}` over {name}", _at(ast.For, number, _over(name)))
    for number, node in enumerate(_nodes(function, ast.Expr)):
        assert isinstance(node, ast.Expr)
        if _called(node.value) in _WRITERS:
            yield Mutant(f"`{ast.unparse(node)}` dropped", _at(ast.Expr, number, _do_nothing))


def _flip_sign(node: ast.AST) -> None:
    assert isinstance(node, ast.AugAssign)
    node.op = ast.Sub() if isinstance(node.op, ast.Add) else ast.Add()


def _set_to_itself(node: ast.AST) -> None:
    assert isinstance(node, ast.Assign)
    node.targets, node.value = [ast.Name("_", ast.Store())], ast.Constant(None)


def _skip_first(node: ast.AST) -> None:
    assert isinstance(node, ast.For)
    node.iter = ast.parse(f"list({ast.unparse(node.iter)})[1:]", mode="eval").body


def _over(name: str) -> Callable[[ast.AST], None]:
    def change(node: ast.AST) -> None:
        assert isinstance(node, ast.For)
        node.iter = ast.Name(name, ast.Load())

    return change


def _do_nothing(node: ast.AST) -> None:
    assert isinstance(node, ast.Expr)
    node.value = ast.Constant(None)


def _called(node: ast.AST) -> str:
    node = node.value if isinstance(node, ast.Await) else node
    return node.func.attr if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) else ""


# --- Arguments ------------------------------------------------------------------------------------------------------


def _arguments(function: ast.AST) -> Iterator[Mutant]:
    """Queries without one of their keys, writes without a value that is compared, and other kinds of writes."""
    for number, node in enumerate(_nodes(function, ast.Call)):
        assert isinstance(node, ast.Call)
        called = _called(node)
        for keyword in node.keywords if called in {"query", "get"} | _WRITERS else ():
            if keyword.arg not in (None, "where", "or_absent", "read", "consistent", "upsert"):
                text = f"{keyword.arg}={ast.unparse(keyword.value)}"
                yield Mutant(f"`{text}` of {called} dropped", _at(ast.Call, number, _without(str(keyword.arg))))
        others = {"insert": "put", "put": "insert", "update": "upsert", "upsert": "update"}
        if called in others:
            yield Mutant(f"`{called}` as {others[called]}", _at(ast.Call, number, _call_other(others[called])))


def _call_other(name: str) -> Callable[[ast.AST], None]:
    def change(node: ast.AST) -> None:
        assert isinstance(node, ast.Call)
        assert isinstance(node.func, ast.Attribute)
        node.func.attr = name

    return change
