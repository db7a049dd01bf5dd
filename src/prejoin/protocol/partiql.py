"""PartiQL: statements parsed into the trees that expressions have. There is no second evaluator.

DynamoDB understands a small part of PartiQL: SELECT, INSERT, UPDATE and DELETE on one table, without joins and
aggregates.
"""

from __future__ import annotations

import re
from typing import Any, NoReturn

import msgspec

from prejoin.protocol.errors import invalid
from prejoin.protocol.expressions.nodes import (
    Action,
    AddAction,
    And,
    Arithmetic,
    Between,
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
    RemoveAction,
    SetAction,
    Values,
)
from prejoin.protocol.values import Item, Value, canonical, kind

_BLANK = re.compile(r"\s++|--[^\n]*+|/\*[^*]*+(?:\*(?!/)[^*]*+)*\*/")
_TOKEN = re.compile(
    r"""
      (?P<text>'(?:[^']|'')*')
    | (?P<quoted>"(?:[^"]|"")*")
    | (?P<number>\d+(?:\.\d*)?(?:[eE][+-]?\d+)?|\.\d+(?:[eE][+-]?\d+)?)
    | (?P<word>[A-Za-z_$][A-Za-z0-9_$]*)
    | (?P<sign><<|>>|<=|>=|<>|!=|[=<>+\-*()\[\]{},:.?;])
    | (?P<end>$)
    """,
    re.VERBOSE,
)
_COMPARATORS = {"=": "=", "<>": "<>", "!=": "<>", "<": "<", "<=": "<=", ">": ">", ">=": ">="}
_CONDITIONS = {"BEGINS_WITH": "begins_with", "CONTAINS": "contains", "ATTRIBUTE_TYPE": "attribute_type"}
_CLAUSES = frozenset({"FROM", "WHERE", "SET", "REMOVE", "RETURNING", "ORDER", "AND", "OR", "NOT"})
_OPERATORS = frozenset({"+", "-", "*", *_COMPARATORS})
_MOST_LEVELS = 64


class Select(msgspec.Struct, frozen=True):
    table: str
    index: str | None
    columns: tuple[DocumentPath, ...] | None
    """None for all attributes."""
    where: Condition | None
    order: tuple[tuple[str, bool], ...] = ()
    """Attributes, each with whether its order is descending."""


class Insert(msgspec.Struct, frozen=True):
    table: str
    item: Item


class UpdateStatement(msgspec.Struct, frozen=True):
    table: str
    actions: tuple[Action, ...]
    where: Condition | None
    returning: str | None = None


class Delete(msgspec.Struct, frozen=True):
    table: str
    where: Condition | None
    returning: str | None = None


class Exists(msgspec.Struct, frozen=True):
    """A condition of a transaction: an item that satisfies it exists."""

    select: Select


Statement = Select | Insert | UpdateStatement | Delete | Exists


def parse_statement(text: str, parameters: list[Any]) -> tuple[Statement, Values]:
    """Parse a statement, and return it with the values of its literals and parameters.

    >>> statement, values = parse_statement("SELECT * FROM shop WHERE pk = ?", [{"S": "a"}])
    >>> statement.where, values
    (Compare(operator='=', left=DocumentPath(steps=('pk',)), right=Placeholder(name=':0')), {':0': {'S': 'a'}})
    """
    parser = _Parser(text, parameters)
    statement = parser.statement()
    return statement, parser.values


class _Parser:
    def __init__(self, text: str, parameters: list[Any]) -> None:
        self._text = text
        self._tokens, self._begins = _tokens(text)
        self._at = 0
        self._parameters = parameters
        self._used = 0
        self._levels = 0
        self.values: Values = {}

    def statement(self) -> Statement:
        statement: Statement
        match self._word():
            case "SELECT":
                statement = self._select()
            case "INSERT":
                statement = self._insert()
            case "UPDATE":
                statement = self._update()
            case "DELETE":
                statement = self._delete()
            case "EXISTS":
                self._expect("(")
                if self._word() != "SELECT":
                    self._refuse()
                statement = Exists(self._select())
                self._expect(")")
            case "CREATE" | "DROP" as verb:
                raise invalid(f"Unsupported operation: {verb.capitalize()}{(self._word() or '').capitalize()}")
            case _:
                self._refuse()
        self._take(";")
        if self._peek() != ("end", ""):
            self._refuse()
        if self._used < len(self._parameters):
            raise invalid("Number of parameters in request and statement don't match.")
        return statement

    # --- Statements --------------------------------------------------------------------------------------------------

    def _select(self) -> Select:
        if self._peek_word() == "DISTINCT":
            raise invalid("Unsupported token in expression: DISTINCT")
        columns = None if self._take("*") else self._list(self._column)
        self._keyword("FROM")
        table = self._name()
        index = self._name() if self._take(".") else None
        if self._peek() == ("sign", "."):
            raise invalid("A path may contain at most 2 components in the FROM clause")
        if self._peek() == ("sign", ",") or self._peek_word() == "JOIN":
            raise invalid("Only select from a single table or index is supported.")
        self._refuse_alias("WHERE", "ORDER", "GROUP", "LIMIT")
        where = self._where()
        order: tuple[tuple[str, bool], ...] = ()
        if self._take_word("ORDER"):
            if where is None:
                raise invalid("Must have WHERE clause in the statement when using ORDER BY clause.")
            self._keyword("BY")
            order = self._list(self._order_item)
        if self._take_word("GROUP"):
            raise invalid("Unsupported clause: GROUP BY")
        if self._take_word("LIMIT"):
            raise invalid(f"Unsupported clause: LIMIT at {self._place()}")
        return Select(table, index, columns, where, order)

    def _column(self) -> DocumentPath:
        parentheses = 0
        while self._take("("):
            parentheses += 1
        group, text = self._peek()
        is_call = group == "word" and self._peek(1) == ("sign", "(")  # COUNT(*) and others
        if is_call or group in ("text", "number") or (group == "sign" and text in ("?", "-", "[", "{")):
            raise invalid(f"Unexpected path component at {self._place()}")
        path = self._path()
        for _ in range(parentheses):
            self._expect(")")
        if self._peek()[0] == "sign" and self._peek()[1] in _OPERATORS:
            raise invalid(f"Unexpected path component at {self._place()}")
        self._refuse_alias("FROM")
        return path

    def _refuse_alias(self, *following: str) -> None:
        """Refuse another name for what was just read. These are the words that may follow it."""
        if self._peek()[0] == "quoted" or self._peek_word() not in (None, *following):
            raise invalid("Aliasing is not supported")

    def _place(self) -> str:
        """The line, column and length of the next token, as messages have them."""
        begin = self._begins[self._at]
        line = self._text.count("\n", 0, begin) + 1
        column = begin - self._text.rfind("\n", 0, begin)
        return f"{line}:{column}:{len(self._peek()[1])}"

    def _order_item(self) -> tuple[str, bool]:
        name = self._name()
        if self._take_word("DESC"):
            return name, True
        self._take_word("ASC")
        return name, False

    def _insert(self) -> Insert:
        self._keyword("INTO")
        table = self._name()
        if self._peek() == ("sign", "."):
            raise invalid("FROM clause may only contain a single table name in data manipulation statements")
        self._keyword("VALUE")
        if self._peek() != ("sign", "{"):
            raise invalid(
                "Unsupported format in item expression. Please use struct format {...} to express item values for "
                f"insert statement. at {self._place()}"
            )
        item = self._literal()["M"]
        if self._peek_word() == "RETURNING":
            raise invalid("RETURNING is not supported in INSERT")
        return Insert(table, item)

    def _update(self) -> UpdateStatement:
        table = self._written_table()
        actions: list[Action] = []
        while True:
            if self._take_word("SET"):
                actions += self._list(self._assignment)
            elif self._take_word("REMOVE"):
                actions += self._list(lambda: RemoveAction(self._path()))
            else:
                break
        if not actions:
            self._refuse()
        return UpdateStatement(table, tuple(actions), self._where(), self._returning())

    def _delete(self) -> Delete:
        self._keyword("FROM")
        return Delete(self._written_table(), self._where(), self._returning(deletes=True))

    def _written_table(self) -> str:
        table = self._name()
        if self._peek() == ("sign", "."):
            raise invalid("This operation is not supported on an index")
        return table

    def _where(self) -> Condition | None:
        return self._condition() if self._take_word("WHERE") else None

    def _returning(self, *, deletes: bool = False) -> str | None:
        """ALL_OLD, ALL_NEW, UPDATED_OLD or UPDATED_NEW."""
        if not self._take_word("RETURNING"):
            return None
        scope, version = self._word(), self._word()
        self._expect("*")
        if scope not in ("ALL", "MODIFIED") or version not in ("OLD", "NEW"):
            self._refuse()
        if deletes and (scope, version) != ("ALL", "OLD"):
            raise invalid(
                f"Invalid returning clause: RETURNING {scope} {version} *. "
                "Only RETURNING ALL OLD * is allowed in DELETE statements."
            )
        return f"{'ALL' if scope == 'ALL' else 'UPDATED'}_{version}"

    def _assignment(self) -> Action:
        path = self._path()
        self._expect("=")
        function = self._peek_word()
        if function in ("SET_ADD", "SET_DELETE") and self._peek(1) == ("sign", "("):
            self._at += 2
            self._path()
            self._expect(",")
            members = self._placeholder(self._literal())
            self._expect(")")
            if not {"SS", "NS", "BS"} & set(self._value_of(members)):
                raise invalid(f"{function.lower()} takes a set, as <<'a', 'b'>>")
            return AddAction(path, members) if function == "SET_ADD" else DeleteAction(path, members)
        return SetAction(path, self._sum())

    def _sum(self) -> Operand:
        left = self._new_value()
        for sign in ("+", "-"):
            if self._take(sign):
                return Arithmetic(sign, left, self._new_value())
        return left

    def _new_value(self) -> Operand:
        word = self._peek_word()
        if word in ("LIST_APPEND", "IF_NOT_EXISTS") and self._peek(1) == ("sign", "("):
            self._at += 2
            first = self._new_value() if word == "LIST_APPEND" else self._path()
            self._expect(",")
            second = self._new_value()
            self._expect(")")
            return FunctionCall(word.lower(), (first, second))
        operand = self._operand()
        if isinstance(operand, FunctionCall):
            self._refuse()
        return operand

    # --- Conditions --------------------------------------------------------------------------------------------------

    def _condition(self) -> Condition:
        self._levels += 1
        if self._levels > _MOST_LEVELS:
            raise invalid("Statement wasn't well formed, can't be processed: it is nested too deeply")
        parts = [self._conjunction()]
        while self._take_word("OR"):
            parts.append(self._conjunction())
        self._levels -= 1
        return parts[0] if len(parts) == 1 else Or(tuple(parts))

    def _conjunction(self) -> Condition:
        parts = [self._negation()]
        while self._take_word("AND"):
            parts.append(self._negation())
        return parts[0] if len(parts) == 1 else And(tuple(parts))

    def _negation(self) -> Condition:
        is_negated = False
        while self._take_word("NOT"):
            is_negated = not is_negated
        condition = self._predicate()
        return Not(condition) if is_negated else condition

    def _predicate(self) -> Condition:
        if self._take("("):
            inner = self._condition()
            self._expect(")")
            return inner
        function = _CONDITIONS.get(self._peek_word() or "")
        if function is not None and self._peek(1) == ("sign", "("):
            self._at += 2
            arguments = self._list(self._operand)
            self._expect(")")
            if len(arguments) != 2:
                self._refuse()
            if function == "attribute_type" and "S" not in self._value_of(arguments[1]):
                self._refuse()
            return FunctionCall(function, arguments)
        operand = self._operand()
        if self._take_word("IS"):
            is_negated = self._take_word("NOT")
            return self._state(operand, self._word(), is_negated=is_negated)
        is_negated = self._take_word("NOT")
        if self._take_word("BETWEEN"):
            low = self._operand()
            self._keyword("AND")
            condition: Condition = Between(operand, low, self._operand())
        elif self._take_word("IN"):
            close = {"[": "]", "(": ")"}[self._expect("[", "(")]
            condition = In(operand, self._list(self._operand))
            self._expect(close)
        else:
            operator = "like" if self._peek_word() == "LIKE" else self._peek()[1]
            if operator in ("like", "+", "-", "*"):
                raise invalid(f"Unsupported operator in Condition Expression. Operator: {operator}")
            sign = self._expect(*_COMPARATORS)
            if is_negated:
                self._refuse()
            return Compare(_COMPARATORS[sign], operand, self._operand())
        return Not(condition) if is_negated else condition

    def _state(self, operand: Operand, word: str | None, *, is_negated: bool) -> Condition:
        if word == "MISSING":
            return FunctionCall("attribute_exists" if is_negated else "attribute_not_exists", (operand,))
        if word != "NULL":
            self._refuse()
        is_null = FunctionCall("attribute_type", (operand, self._placeholder({"S": "NULL"})))
        return Not(is_null) if is_negated else is_null

    def _operand(self) -> Operand:
        group, text = self._peek()
        if group in ("text", "number") or (group == "sign" and text in ("?", "[", "{", "<<", "-")):
            return self._placeholder(self._literal())
        word = self._peek_word()
        if word in ("TRUE", "FALSE", "NULL"):
            return self._placeholder(self._literal())
        if word == "SIZE" and self._peek(1) == ("sign", "("):
            self._at += 2
            size_call = FunctionCall("size", (self._path(),))
            self._expect(")")
            return size_call
        return self._path()

    def _path(self) -> DocumentPath:
        steps: list[str | int] = [self._name()]
        while True:
            if self._take("."):
                steps.append(self._name())
            elif self._take("["):
                group, text = self._next()
                if group == "number" and text.isdecimal():
                    steps.append(int(text))
                elif group == "text":
                    steps.append(text[1:-1].replace("''", "'"))
                else:
                    self._refuse()
                self._expect("]")
            else:
                return DocumentPath(tuple(steps))

    # --- Values ------------------------------------------------------------------------------------------------------

    def _placeholder(self, value: Value) -> Placeholder:
        name = f":{len(self.values)}"
        self.values[name] = value
        return Placeholder(name)

    def _value_of(self, operand: Operand) -> Value:
        return self.values[operand.name] if isinstance(operand, Placeholder) else {}

    def _literal(self) -> Value:
        self._levels += 1
        if self._levels > _MOST_LEVELS:
            raise invalid("Statement wasn't well formed, can't be processed: it is nested too deeply")
        value = self._any_literal()
        self._levels -= 1
        return value

    def _any_literal(self) -> Value:
        group, text = self._next()
        if group == "text":
            return {"S": text[1:-1].replace("''", "'")}
        if group == "number":
            return canonical({"N": text})
        if group == "word" and text.upper() in ("TRUE", "FALSE"):
            return {"BOOL": text.upper() == "TRUE"}
        if group == "word" and text.upper() == "NULL":
            return {"NULL": True}
        if text == "-" and self._peek()[0] == "number":
            return canonical({"N": "-" + self._next()[1]})
        if text == "?":
            return self._parameter()
        if text == "[":
            return self._list_literal()
        if text == "{":
            return self._map_literal()
        if text == "<<":
            return self._set_literal()
        return self._refuse()

    def _list_literal(self) -> Value:
        members = () if self._peek() == ("sign", "]") else self._list(self._literal)
        self._expect("]")
        return {"L": list(members)}

    def _map_literal(self) -> Value:
        names: set[str] = set()
        pairs = () if self._peek() == ("sign", "}") else self._list(lambda: self._pair(names))
        self._expect("}")
        return canonical({"M": dict(pairs)}, 0)

    def _set_literal(self) -> Value:
        if self._peek() == ("sign", ">>"):
            self._at -= 1  # the message has the place of the opening sign
            raise invalid(f"Empty bags are not supported at {self._place()}")
        elements = self._list(self._literal)
        self._expect(">>")
        kinds = {kind(element) for element in elements}
        if len(kinds) != 1 or not kinds <= {"S", "N", "B"}:
            raise invalid("Unsupported data type in Bag. DynamoDB only supports either numbers or strings in bags")
        (name,) = kinds
        return canonical({f"{name}S": [element[name] for element in elements]})

    def _pair(self, earlier_names: set[str]) -> tuple[str, Value]:
        """A name and its value. `others` are the names before it."""
        place = self._place()
        group, text = self._next()
        if group not in ("text", "quoted"):
            self._refuse()
        quote = text[0]
        name = text[1:-1].replace(quote * 2, quote)
        if name in earlier_names:
            raise invalid(f"Duplicate keys in tuple. Key: {name} under root at {place}")
        earlier_names.add(name)
        self._expect(":")
        return name, self._literal()

    def _parameter(self) -> Value:
        if self._used >= len(self._parameters):
            raise invalid("Number of parameters in request and statement don't match.")
        self._used += 1
        return canonical(self._parameters[self._used - 1])

    # --- Tokens ------------------------------------------------------------------------------------------------------

    def _peek(self, ahead: int = 0) -> tuple[str, str]:
        return self._tokens[min(self._at + ahead, len(self._tokens) - 1)]

    def _next(self) -> tuple[str, str]:
        token = self._peek()
        self._at += 1
        return token

    def _peek_word(self) -> str | None:
        group, text = self._peek()
        return text.upper() if group == "word" else None

    def _word(self) -> str | None:
        word = self._peek_word()
        self._at += 1
        return word

    def _take_word(self, word: str) -> bool:
        is_next = self._peek_word() == word
        self._at += is_next
        return is_next

    def _keyword(self, word: str) -> None:
        if not self._take_word(word):
            self._refuse()

    def _take(self, sign: str) -> bool:
        is_next = self._peek() == ("sign", sign)
        self._at += is_next
        return is_next

    def _expect(self, *signs: str) -> str:
        group, text = self._next()
        if group != "sign" or text not in signs:
            self._refuse()
        return text

    def _name(self) -> str:
        group, text = self._next()
        if group == "quoted":
            return text[1:-1].replace('""', '"')
        if group != "word" or text.upper() in _CLAUSES:
            self._refuse()
        return text

    def _list(self, read: Any) -> tuple[Any, ...]:
        elements = [read()]
        while self._take(","):
            elements.append(read())
        return tuple(elements)

    def _refuse(self) -> NoReturn:
        raise invalid(f"Statement wasn't well formed, can't be processed: {self._text}")


def _tokens(text: str) -> tuple[list[tuple[str, str]], list[int]]:
    """The tokens of a statement, each with its kind, and where they begin."""
    tokens: list[tuple[str, str]] = []
    begins: list[int] = []
    position = 0
    while True:
        while blank := _BLANK.match(text, position):
            position = blank.end()
        match = _TOKEN.match(text, position)
        if match is None or match.lastgroup is None:
            raise invalid(f"Statement wasn't well formed, can't be processed: {text}")
        tokens.append((match.lastgroup, match.group(match.lastgroup)))
        begins.append(match.start(match.lastgroup))
        if match.lastgroup == "end":
            return tokens, begins
        position = match.end()
