"""Check a parsed expression with the names and values of a request, before any item is read."""

from __future__ import annotations

from typing import NoReturn

from prejoin.protocol import limits
from prejoin.protocol.errors import invalid
from prejoin.protocol.expressions.nodes import (
    Action,
    AddAction,
    And,
    Arithmetic,
    Between,
    BoundValue,
    Compare,
    Condition,
    DeleteAction,
    DocumentPath,
    FunctionCall,
    In,
    Not,
    Operand,
    Or,
    Placeholder,
    ProjectionExpression,
    RemoveAction,
    SetAction,
    Update,
)
from prejoin.protocol.expressions.reader import path_clash
from prejoin.protocol.expressions.substitutions import Substitutions
from prejoin.protocol.values import ORDERABLE, Value, kind, ordered

_ARITY = {
    "attribute_exists": 1,
    "attribute_not_exists": 1,
    "attribute_type": 2,
    "begins_with": 2,
    "contains": 2,
    "size": 1,
    "if_not_exists": 2,
    "list_append": 2,
}
_TYPES = frozenset({"S", "N", "B", "NULL", "SS", "BOOL", "L", "BS", "NS", "M"})
_LONG_NAMES = {
    "S": "STRING",
    "N": "NUMBER",
    "B": "BINARY",
    "NULL": "NULL",
    "BOOL": "BOOLEAN",
    "L": "LIST",
    "M": "MAP",
}


class ExpressionBinder:
    """Binds the expressions of one parameter. Every error begins with `Invalid` and the parameter's name."""

    __slots__ = ("_parameter", "_substitutions")

    def __init__(self, substitutions: Substitutions, parameter: str) -> None:
        self._substitutions = substitutions
        self._parameter = parameter

    def condition(self, node: Condition) -> Condition:
        match node:
            case Compare(operator, left, right):
                bound = Compare(operator, self.operand(left), self.operand(right))
                self._distinct(operator, (bound.left, bound.right))
                if operator not in ("=", "<>"):
                    self._orderable(operator, bound.left, bound.right)
                return bound
            case Between(operand, low, high):
                between = Between(self.operand(operand), self.operand(low), self.operand(high))
                self._distinct("BETWEEN", (between.operand, between.low, between.high))
                self._orderable("BETWEEN", between.operand, between.low, between.high)
                self._bounds(between.low, between.high)
                return between
            case In(operand, options):
                if len(options) > limits.IN_OPERANDS:
                    self._refuse(
                        f"The IN operator is provided with too many operands; number of operands: {len(options)}"
                    )
                operand_value, options_bound = self.operand(operand), tuple(map(self.operand, options))
                self._distinct("IN", (operand_value, *options_bound))
                return In(operand_value, options_bound)
            case FunctionCall():
                return self._call(node)
            case And(parts):
                return And(tuple(map(self.condition, parts)))
            case Or(parts):
                return Or(tuple(map(self.condition, parts)))
            case Not(part):
                return Not(self.condition(part))

    def update(self, update: Update) -> Update:
        # DynamoDB first checks the paths, and then the operands from the last action to the first.
        clash = path_clash(list(map(self.path, update.paths)))
        if clash:
            self._refuse(clash)
        actions = [self._action(action) for action in reversed(update.actions)]
        return Update(tuple(reversed(actions)))

    def projection(self, projection: ProjectionExpression) -> ProjectionExpression:
        paths = tuple(map(self.path, projection.paths))
        clash = path_clash(list(paths))
        if clash:
            self._refuse(clash)
        return ProjectionExpression(paths)

    def operand(self, node: Operand) -> Operand:
        match node:
            case DocumentPath():
                return self.path(node)
            case Placeholder(name):
                return BoundValue(self._substitutions.value(name, self._parameter))
            case FunctionCall():
                return self._call(node)
            case Arithmetic(operator, left, right):
                bound = Arithmetic(operator, self.operand(left), self.operand(right))
                self._literal_types(operator, {"N"}, bound.left, bound.right)
                return bound
            case BoundValue():
                return node

    def path(self, path: DocumentPath) -> DocumentPath:
        resolve, parameter = self._substitutions.name, self._parameter
        steps = path.steps
        if len(steps) == 1:
            head = steps[0]
            return DocumentPath((resolve(head, parameter),)) if isinstance(head, str) and head[0] == "#" else path
        return DocumentPath(
            tuple(resolve(step, parameter) if isinstance(step, str) and step[0] == "#" else step for step in steps)
        )

    def _action(self, action: Action) -> Action:
        match action:
            case SetAction(path, operand):
                return SetAction(self.path(path), self.operand(operand))
            case RemoveAction(path):
                return RemoveAction(self.path(path))
            case AddAction(path, operand):
                add_bound = AddAction(self.path(path), self.operand(operand))
                self._operator_type("ADD", {"N", "SS", "NS", "BS"}, add_bound.operand)
                return add_bound
            case DeleteAction(path, operand):
                delete_bound = DeleteAction(self.path(path), self.operand(operand))
                self._operator_type("DELETE", {"SS", "NS", "BS"}, delete_bound.operand)
                return delete_bound

    def _call(self, call: FunctionCall) -> FunctionCall:
        name = call.function
        bound = FunctionCall(name, tuple(map(self.operand, call.arguments)))
        arguments = bound.arguments
        if len(arguments) != _ARITY[name]:
            self._refuse(
                "Incorrect number of operands for operator or function; "
                f"operator or function: {name}, number of operands: {len(arguments)}"
            )
        if name in ("begins_with", "contains", "attribute_type", "if_not_exists"):
            self._distinct(name, arguments)
        if name in ("attribute_exists", "attribute_not_exists", "if_not_exists"):
            if not isinstance(arguments[0], DocumentPath):
                self._refuse(f"Operator or function requires a document path; operator or function: {name}")
        elif name == "begins_with":
            self._literal_types(name, {"S", "B"}, *arguments)
        elif name == "size":
            self._literal_types(name, _TYPES - {"N", "BOOL", "NULL"}, *arguments)
        elif name == "list_append":
            self._literal_types(name, {"L"}, *arguments)
        elif name == "attribute_type":
            self._type_name(arguments[1])
        return bound

    def _type_name(self, operand: Operand) -> None:
        static = _static_type(operand)
        if static != "S":
            type_text = static or "{NS,SS,L,BS,N,M,B,BOOL,NULL,S}"
            self._refuse(_incorrect_type("attribute_type", type_text))
        if isinstance(operand, BoundValue) and operand.value["S"] not in _TYPES:
            self._refuse(
                f"Invalid attribute type name found; type: {operand.value['S']}, "
                "valid types: {B,NULL,SS,BOOL,L,BS,N,NS,S,M}"
            )

    def _distinct(self, operator: str, operands: tuple[Operand, ...]) -> None:
        if isinstance(operands[0], DocumentPath) and operands[0] in operands[1:]:
            self._refuse(
                "The first operand must be distinct from the remaining operands for this operator or "
                f"function; operator: {operator}, first operand: {operands[0]}"
            )

    def _literal_types(self, function: str, allowed_types: set[str] | frozenset[str], *operands: Operand) -> None:
        for operand in operands:
            static = _static_type(operand)
            if static is not None and static not in allowed_types:
                self._refuse(_incorrect_type(function, static))

    def _orderable(self, operator: str, *operands: Operand) -> None:
        for operand in operands:
            if isinstance(operand, BoundValue) and kind(operand.value) not in ORDERABLE:
                self._refuse(
                    "Incorrect operand type for operator or function; "
                    f"operator or function: {operator}, operand type: {kind(operand.value)}"
                )

    def _operator_type(self, operator: str, allowed_types: set[str], operand: Operand) -> None:
        static = _static_type(operand)
        if static is not None and static not in allowed_types:
            self._refuse(
                f"Incorrect operand type for operator or function; operator: {operator}, "
                f"operand type: {_LONG_NAMES[static]}, typeSet: ALLOWED_FOR_{operator}_OPERAND"
            )

    def _bounds(self, low: Operand, high: Operand) -> None:
        if not (isinstance(low, BoundValue) and isinstance(high, BoundValue)):
            return
        bounds_text = f"lower bound operand: {_show(low.value)}, upper bound operand: {_show(high.value)}"
        if kind(low.value) != kind(high.value):
            self._refuse(f"The BETWEEN operator requires same data type for lower and upper bounds; {bounds_text}")
        if ordered(low.value) > ordered(high.value):
            self._refuse(
                "The BETWEEN operator requires upper bound to be greater than or equal to lower bound; " + bounds_text
            )

    def _refuse(self, message: str) -> NoReturn:
        raise invalid(f"Invalid {self._parameter}: {message}")


def _static_type(operand: Operand) -> str | None:
    """The type that an operand has in any item; None if it depends on the item."""
    match operand:
        case BoundValue(value):
            return kind(value)
        case Arithmetic() | FunctionCall("size"):
            return "N"
        case FunctionCall("list_append"):
            return "L"
    return None


def _incorrect_type(function: str, type_text: str) -> str:
    return (
        f"Incorrect operand type for operator or function; operator or function: {function}, operand type: {type_text}"
    )


def _show(value: Value) -> str:
    name = kind(value)
    return f"AttributeValue: {{{name}:{value[name]}}}"
