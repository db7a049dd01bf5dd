"""Parse statements and group those that differ only in their values.

Logs hold the same statement a thousand times with other literals, statistics hold it once with placeholders. Both
become one `Statement`, whose values are parameters (`:p1`), with the literals that were seen in each place.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Iterable
from dataclasses import dataclass, field

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

from prejoin.diagnostics import Diagnostic
from prejoin.migrate import codes
from prejoin.migrate.queries.log import LoggedStatement, QueryLog
from prejoin.workload.model import Per, Rate

DIALECTS = {"postgresql": "postgres", "mysql": "mysql", "sqlite": "sqlite"}
MOST_VALUES = 5
"""Different literals that are remembered for a parameter: one is a constant, more are an input."""
_EXCERPT = 60
"""Characters of a statement in a message."""

# Quoted parts are copied, comments are left out, and each placeholder is replaced. The digests of MySQL have `...` for
# a list, those of MariaDB `(unknown)` for a literal in bytes.
_PARTS = re.compile(
    r"""(?P<copy>'(?:[^'\\]|''|\\.)*'|"(?:[^"]|"")*"|`[^`]*`|::\w+)
    |(?P<comment>--[^\n]*|/\*.*?\*/|(?i:(?<!\w)_(?:binary|utf8mb[34]|utf8|latin1|ascii))\b)
    |(?P<named>%\((?P<percent>\w+)\)s|(?<![:\w]):(?P<colon>[A-Za-z_]\w*)|(?<![\w@])@(?P<at>[A-Za-z_]\w*))
    |(?P<place>\$\d+|\?\d*|%s|\(unknown\)|(?<!\.)\.\.\.(?!\.))""",
    re.VERBOSE | re.DOTALL,
)
_NOISE = re.compile(
    r"\s*(BEGIN|COMMIT|ROLLBACK|START|SET|SHOW|USE|SAVEPOINT|RELEASE|PRAGMA|EXPLAIN|ANALYZE|VACUUM|CREATE|ALTER|DROP|"
    r"TRUNCATE|GRANT|REVOKE|DISCARD|DEALLOCATE|FETCH|CLOSE|DECLARE|COPY|LOCK|CALL|DO|LISTEN|NOTIFY|RESET|DESCRIBE|"
    r"PREPARE|EXECUTE|FLUSH|KILL|CHECKPOINT|REFRESH|COMMENT|HANDLER|XA|END|ABORT)\b",
    re.IGNORECASE,
)
_TABLE = re.compile(r"\b(FROM|INTO|UPDATE|WITH|TABLE)\b", re.IGNORECASE)
_SYSTEM = re.compile(
    r"\b(information_schema|pg_catalog|performance_schema|sqlite_master|sqlite_schema|mysql\.|pg_\w+|prejoin_\w+)",
    re.IGNORECASE,
)
"""Statements about the database itself. Those of prejoin have names that begin with `prejoin_`, to tell them apart."""


@dataclass(slots=True)
class Statement:
    """Statements that differ only in their values."""

    tree: exp.Expr
    """With a placeholder for each value."""
    calls: float = 0
    rate: Rate | None = None
    literals: dict[str, list[str]] = field(default_factory=dict)
    """The literals that were seen for each parameter, as text; at most a few."""
    placeholders: set[str] = field(default_factory=set)
    """Parameters that were a placeholder at least once."""
    lists: frozenset[str] = frozenset()
    """Parameters for the list of an IN."""
    replaces: bool = False
    """Whether it is REPLACE INTO."""

    def constant(self, parameter: str) -> str | None:
        """The literal of a parameter that always had the same one."""
        literals = self.literals.get(parameter, [])
        return literals[0] if len(literals) == 1 and parameter not in self.placeholders else None


@dataclass(frozen=True, slots=True)
class Statements:
    statements: tuple[Statement, ...]
    unread: tuple[Diagnostic, ...]
    count: int
    """How many statements there were."""


def parse_statements(logs: Iterable[QueryLog], dialect: str) -> Statements:
    """The statements of logs, grouped, the most frequent first. Those about the session or the schema are left out."""
    logging.getLogger("sqlglot").setLevel(logging.ERROR)  # it logs what it cannot parse, which is reported here
    groups: dict[str, Statement] = {}
    unread: dict[str, Diagnostic] = {}
    count = 0
    for log in logs:
        parsed_texts: dict[str, tuple[str, Statement] | None] = {}  # logs repeat texts, and parsing is slow
        for entry in log.statements:
            if not _is_of_application(entry.sql):
                continue
            count += 1
            if entry.sql not in parsed_texts:
                try:
                    parsed_texts[entry.sql] = parse(entry.sql, dialect)
                except (SqlglotError, RecursionError) as problem:
                    parsed_texts[entry.sql] = None
                    unread.setdefault(entry.sql, _unread_statement(entry, log.origin, problem))
            fingerprint_and_statement = parsed_texts[entry.sql]
            if fingerprint_and_statement is not None:
                fingerprint, statement = fingerprint_and_statement
                _add(groups.setdefault(fingerprint, statement), statement, entry, log.seconds)
    statements = sorted(groups.values(), key=lambda statement: -statement.calls)
    return Statements(tuple(statements), tuple(unread.values()), count)


def _is_of_application(sql: str) -> bool:
    """Whether a statement reads or writes rows of the application: not the session, the schema or the statistics."""
    return not _NOISE.match(sql) and not _SYSTEM.search(sql) and _TABLE.search(sql) is not None


def _add(group: Statement, statement: Statement, entry: LoggedStatement, seconds: float | None) -> None:
    """Adds an entry of a log to the group of its statement."""
    group.calls += entry.calls
    rate = entry.rate or (Rate(value=entry.calls / seconds) if seconds else None)
    if rate is not None:
        group.rate = add_rates(group.rate, rate)
    group.placeholders |= statement.placeholders
    for name, values in statement.literals.items():
        literals = group.literals.setdefault(name, [])
        literals += [value for value in values if value not in literals][: MOST_VALUES - len(literals)]


def add_rates(first: Rate | None, second: Rate | None) -> Rate | None:
    """The sum of two rates; a level is kept, because it is no figure."""
    if first is None or second is None:
        return first or second
    if first.weight is not None and second.weight is not None:
        return Rate(weight=first.weight + second.weight)
    if first.value is None or second.value is None:
        return first
    return Rate(value=first.value / first.per.seconds + second.value / second.per.seconds)


def readable(rate: Rate | None) -> Rate | None:
    """A rate per second in a unit that gives a figure of at least one.

    >>> readable(Rate(value=0.0123456))
    Rate(level=None, value=44.0, per=<Per.HOUR: 'h'>, peak=None, weight=None, hottest=None, hottest_of='')
    """
    if rate is None or rate.value is None or rate.per is not Per.SECOND:
        return rate
    for per in Per:
        value = rate.value * per.seconds
        if value >= 1 or per is Per.MONTH:
            figure = float(f"{value:.2g}") if value < 100 else float(f"{value:.3g}")
            return Rate(value=max(figure, 1.0), per=per)
    return rate


def parse(sql: str, dialect: str) -> tuple[str, Statement]:
    """A statement, and the text that is the same for all that differ only in their values.

    >>> parse("SELECT * FROM a WHERE id = 5 AND b IN (1, 2)", "sqlite")[0]
    'SELECT * FROM a WHERE id = :p1 AND b IN (:p2)'
    >>> parse("select * from a where id=$1 and b in ($2)", "postgresql")[0]
    'SELECT * FROM a WHERE id = :p1 AND b IN (:p2)'
    """
    text, replaces = re.subn(r"^\s*REPLACE\s+INTO\b", "INSERT INTO", sql, count=1, flags=re.IGNORECASE)
    trees = [
        tree for tree in sqlglot.parse(_with_named_parameters(text), dialect=DIALECTS[dialect]) if tree is not None
    ]
    if len(trees) != 1 or isinstance(trees[0], exp.Command):
        raise SqlglotError("it is not one statement that can be parsed")
    statement = Statement(trees[0], replaces=bool(replaces))
    list_nodes = _collapse_lists(statement)
    _parametrise(statement, list_nodes)
    return sql_of(statement.tree, dialect), statement


def sql_of(tree: exp.Expr, dialect: str) -> str:
    """A statement as text, in one line, with parameters as `:name`."""
    copy = tree.copy()
    for node in list(copy.find_all(exp.Placeholder)):
        node.replace(exp.Var(this=f":{node.name}"))
    return copy.sql(dialect=DIALECTS[dialect], comments=False)


def quoted_sql(statement: Statement, dialect: str) -> str:
    """A statement as it is shown to people: with its constants, and `?` for other values."""
    copy = statement.tree.copy()
    for node in list(copy.find_all(exp.Placeholder)):
        node.replace(exp.Var(this=_constant_text(statement.constant(node.name))))
    return copy.sql(dialect=DIALECTS[dialect], comments=False)


def _constant_text(constant: str | None) -> str:
    """A constant as SQL: numbers as they are, everything else as a text."""
    if constant is None:
        return "?"
    if re.fullmatch(r"-?\d+(\.\d+)?", constant):
        return constant
    return "'" + constant.replace("'", "''") + "'"


def _with_named_parameters(sql: str) -> str:
    """A statement whose placeholders are all `:name`: sqlglot reads `$1 … $2` of PostgreSQL as a quoted text."""

    def rewrite(match: re.Match[str]) -> str:
        if match.group("copy"):
            return match.group()
        if match.group("comment"):
            return " "
        return ":given"

    return _PARTS.sub(rewrite, sql)


def _collapse_lists(statement: Statement) -> set[int]:
    """Leaves one value of each list and of several rows of VALUES, because their number says nothing.

    Returns the identities of the values that stand for a list.
    """
    list_nodes: set[int] = set()
    for node in statement.tree.find_all(exp.In):
        if node.expressions and all(_is_value(value) for value in node.expressions):
            first = node.expressions[0]
            literals = [value.this for value in node.expressions if isinstance(value, exp.Literal)]
            if len(literals) > 1:
                first.set("_members", literals)
            list_nodes.add(id(first))
            node.set("expressions", [first])
    for rows in statement.tree.find_all(exp.Values):
        rows.set("expressions", rows.expressions[:1])
    return list_nodes


def _is_value(node: exp.Expr) -> bool:
    if isinstance(node, exp.Neg):
        return isinstance(node.this, exp.Literal)
    return isinstance(node, exp.Literal | exp.Placeholder | exp.Parameter | exp.Boolean)


def _parametrise(statement: Statement, list_nodes: set[int]) -> None:
    """Replaces the values of a statement by parameters, `:p1` and so on, and remembers their literals."""
    # A list first, because the tree is changed below. The number in `-5` is a part of its value, and none itself.
    values = [
        node
        for node in statement.tree.walk(bfs=False)
        if _is_value(node) and not _is_part_of_type(node) and not isinstance(node.parent, exp.Neg)
    ]
    lists = set()
    for number, node in enumerate(values, 1):
        name = f"p{number}"
        if id(node) in list_nodes:
            lists.add(name)
        if isinstance(node, exp.Placeholder | exp.Parameter):
            statement.placeholders.add(name)
        else:
            members = node.args.get("_members")
            statement.literals[name] = [*members] if members else [_literal(node)]
        node.replace(exp.Placeholder(this=name))
    statement.lists = frozenset(lists)


def _is_part_of_type(node: exp.Expr) -> bool:
    return node.find_ancestor(exp.DataType, exp.Interval) is not None


def _literal(node: exp.Expr) -> str:
    if isinstance(node, exp.Neg):
        return f"-{node.this.this}"
    if isinstance(node, exp.Boolean):
        return "true" if node.this else "false"
    return str(node.this)


def _unread_statement(entry: LoggedStatement, origin: str, problem: Exception) -> Diagnostic:
    text = " ".join(entry.sql.split())
    excerpt = text if len(text) <= _EXCERPT else f"{text[: _EXCERPT - 1]}…"
    errors = getattr(problem, "errors", None)
    position = f" (line {errors[0]['line']}, column {errors[0]['col']} of the statement)" if errors else ""
    place = f"{origin}:{entry.line}: " if entry.line else ""
    message = f"{place}`{excerpt}` cannot be parsed{position}"
    return codes.QUERIES.at(None, message, "if the application needs it, add its pattern to the document by hand")
