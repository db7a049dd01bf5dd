"""The syntax trees of expressions, as frozen data. Trees contain placeholders; only the binder puts in values."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property

import msgspec

from prejoin.protocol.values import Value

Steps = tuple[str | int, ...]
"""A document path: attribute names and list positions. In a parsed tree a name may be a `#placeholder`."""


Values = dict[str, Value]
"""The values of the `:placeholders` in one request."""


CONDITION_FUNCTIONS = frozenset(
    {"attribute_exists", "attribute_not_exists", "attribute_type", "begins_with", "contains", "size"}
)
UPDATE_FUNCTIONS = frozenset({"if_not_exists", "list_append"})


class DocumentPath(msgspec.Struct, frozen=True):
    """A document path such as `address.lines[0]`."""

    steps: Steps

    def __str__(self) -> str:
        return "[" + ", ".join(f"[{step}]" if isinstance(step, int) else step for step in self.steps) + "]"


class Placeholder(msgspec.Struct, frozen=True):
    """A `:value` of a parsed expression."""

    name: str


class BoundValue(msgspec.Struct, frozen=True):
    """A value of a bound expression."""

    value: Value


class FunctionCall(msgspec.Struct, frozen=True):
    """A function of a condition, as `size(tags)`, or of an update, as `if_not_exists(n, :zero)`."""

    function: str
    arguments: tuple[Operand, ...]


class Arithmetic(msgspec.Struct, frozen=True):
    """`left + right` or `left - right` in SET."""

    operator: str
    left: Operand
    right: Operand


Operand = DocumentPath | Placeholder | BoundValue | FunctionCall | Arithmetic


class Compare(msgspec.Struct, frozen=True):
    operator: str
    left: Operand
    right: Operand


class Between(msgspec.Struct, frozen=True):
    operand: Operand
    low: Operand
    high: Operand


class In(msgspec.Struct, frozen=True):
    operand: Operand
    options: tuple[Operand, ...]


class And(msgspec.Struct, frozen=True):
    parts: tuple[Condition, ...]


class Or(msgspec.Struct, frozen=True):
    parts: tuple[Condition, ...]


class Not(msgspec.Struct, frozen=True):
    part: Condition


Condition = Compare | Between | In | FunctionCall | And | Or | Not


class SetAction(msgspec.Struct, frozen=True):
    path: DocumentPath
    operand: Operand


class RemoveAction(msgspec.Struct, frozen=True):
    path: DocumentPath


class AddAction(msgspec.Struct, frozen=True):
    path: DocumentPath
    operand: Operand


class DeleteAction(msgspec.Struct, frozen=True):
    path: DocumentPath
    operand: Operand


Action = SetAction | RemoveAction | AddAction | DeleteAction


class Update(msgspec.Struct, frozen=True, dict=True):
    """The actions of an UpdateExpression, in the order written."""

    actions: tuple[Action, ...]

    @cached_property
    def paths(self) -> tuple[DocumentPath, ...]:
        return tuple(action.path for action in self.actions)

    @cached_property
    def heads(self) -> frozenset[str]:
        """The attributes that it changes, in whole or in part."""
        return frozenset(str(action.path.steps[0]) for action in self.actions)

    @cached_property
    def only_removes(self) -> bool:
        """Whether it consists of REMOVE and DELETE only, and so does not create an item."""
        return all(isinstance(action, RemoveAction | DeleteAction) for action in self.actions)

    @cached_property
    def operands(self) -> tuple[Operand, ...]:
        """The operands of the SET actions."""
        return tuple(action.operand for action in self.actions if isinstance(action, SetAction))


class ProjectionExpression(msgspec.Struct, frozen=True):
    """The paths of a ProjectionExpression."""

    paths: tuple[DocumentPath, ...]


def operator_count(trees: Iterable[Condition | Operand]) -> int:
    """The number of operators and functions, as DynamoDB's limit counts them."""
    count = 0
    waiting: list[Condition | Operand] = list(trees)
    while waiting:
        node = waiting.pop()
        count += 1
        match node:
            case And(parts) | Or(parts):
                count += len(parts) - 2
                waiting += parts
            case Not(part):
                waiting.append(part)
            case FunctionCall(_, arguments):
                waiting += arguments
            case Compare(_, left, right) | Arithmetic(_, left, right):
                waiting += (left, right)
            case Between(operand, low, high):
                waiting += (operand, low, high)
            case In(operand, options):
                waiting += (operand, *options)
            case _:
                count -= 1
    return count


def document_paths(tree: Condition | Operand) -> list[DocumentPath]:
    """Every path that a bound condition reads, in the order written. Iterative, because a tree may be deep."""
    paths: list[DocumentPath] = []
    waiting: list[Condition | Operand] = [tree]
    while waiting:
        node = waiting.pop()
        match node:
            case DocumentPath():
                paths.append(node)
            case Compare(_, left, right) | Arithmetic(_, left, right):
                waiting += (right, left)
            case Between(operand, low, high):
                waiting += (high, low, operand)
            case In(operand, options):
                waiting += (*reversed(options), operand)
            case And(parts) | Or(parts):
                waiting += reversed(parts)
            case Not(part):
                waiting.append(part)
            case FunctionCall(_, arguments):
                waiting += reversed(arguments)
    return paths
