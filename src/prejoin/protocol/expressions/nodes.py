"""The syntax trees of expressions: frozen data. Parsed trees hold placeholders, bound trees literals."""

from __future__ import annotations

from dataclasses import dataclass

from prejoin.protocol.values import Value

Steps = tuple[str | int, ...]
"""A document path: attribute names and list positions. In a parsed tree a name may be a `#placeholder`."""


@dataclass(frozen=True, slots=True)
class Path:
    steps: Steps

    def __str__(self) -> str:
        return "[" + ", ".join(f"[{step}]" if isinstance(step, int) else step for step in self.steps) + "]"


@dataclass(frozen=True, slots=True)
class Placeholder:
    """A `:value` of a parsed expression."""

    name: str


@dataclass(frozen=True, slots=True)
class Literal:
    """A value of a bound expression."""

    value: Value


@dataclass(frozen=True, slots=True)
class Call:
    """A function: of a condition, as `size(tags)`, or of an update, as `if_not_exists(n, :zero)`."""

    function: str
    arguments: tuple[Operand, ...]


@dataclass(frozen=True, slots=True)
class Arithmetic:
    """`left + right` or `left - right` in SET."""

    operator: str
    left: Operand
    right: Operand


Operand = Path | Placeholder | Literal | Call | Arithmetic


@dataclass(frozen=True, slots=True)
class Compare:
    operator: str
    left: Operand
    right: Operand


@dataclass(frozen=True, slots=True)
class Between:
    operand: Operand
    low: Operand
    high: Operand


@dataclass(frozen=True, slots=True)
class In:
    operand: Operand
    options: tuple[Operand, ...]


@dataclass(frozen=True, slots=True)
class And:
    parts: tuple[Condition, ...]


@dataclass(frozen=True, slots=True)
class Or:
    parts: tuple[Condition, ...]


@dataclass(frozen=True, slots=True)
class Not:
    part: Condition


Condition = Compare | Between | In | Call | And | Or | Not


@dataclass(frozen=True, slots=True)
class SetAction:
    path: Path
    operand: Operand


@dataclass(frozen=True, slots=True)
class RemoveAction:
    path: Path


@dataclass(frozen=True, slots=True)
class AddAction:
    path: Path
    operand: Operand


@dataclass(frozen=True, slots=True)
class DeleteAction:
    path: Path
    operand: Operand


Action = SetAction | RemoveAction | AddAction | DeleteAction


@dataclass(frozen=True, slots=True)
class Update:
    """The actions of an UpdateExpression, in the order written."""

    actions: tuple[Action, ...]

    @property
    def paths(self) -> tuple[Path, ...]:
        return tuple(action.path for action in self.actions)


@dataclass(frozen=True, slots=True)
class Projection:
    paths: tuple[Path, ...]


def document_paths(tree: Condition | Operand) -> list[Path]:
    """Every path that a bound condition reads, in the order written. Iterative: a tree may be deep."""
    found: list[Path] = []
    waiting: list[Condition | Operand] = [tree]
    while waiting:
        node = waiting.pop()
        match node:
            case Path():
                found.append(node)
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
            case Call(_, arguments):
                waiting += reversed(arguments)
    return found
