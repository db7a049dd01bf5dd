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
_QUOTED = 60

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
    given: set[str] = field(default_factory=set)
    """Parameters that were a placeholder at least once."""
    many: frozenset[str] = frozenset()
    """Parameters for the list of an IN."""
    replaces: bool = False
    """Whether it is REPLACE INTO."""

    def constant(self, parameter: str) -> str | None:
        """The literal of a parameter that always had the same one."""
        seen = self.literals.get(parameter, [])
        return seen[0] if len(seen) == 1 and parameter not in self.given else None


@dataclass(frozen=True, slots=True)
class Statements:
    statements: tuple[Statement, ...]
    unread: tuple[Diagnostic, ...]
    logged: int
    """How many statements there were."""


def parse_statements(logs: Iterable[QueryLog], dialect: str) -> Statements:
    """The statements of logs, grouped, the most frequent first. Those about the session or the schema are left out."""
    logging.getLogger("sqlglot").setLevel(logging.ERROR)  # it logs what it cannot parse, which is reported here
    groups: dict[str, Statement] = {}
    unread: dict[str, Diagnostic] = {}
    seen = 0
    for log in logs:
        texts: dict[str, tuple[str, Statement] | None] = {}
        for one in log.statements:
            if _NOISE.match(one.sql) or _SYSTEM.search(one.sql) or not _TABLE.search(one.sql):
                continue
            seen += 1
            if one.sql not in texts:
                try:
                    texts[one.sql] = parse(one.sql, dialect)
                except (SqlglotError, RecursionError) as problem:
                    texts[one.sql] = None
                    unread.setdefault(one.sql, _unread(one, log.origin, problem))
            if (parsed := texts[one.sql]) is not None:
                fingerprint, statement = parsed
                _add(groups.setdefault(fingerprint, statement), statement, one, log.seconds)
    ordered = sorted(groups.values(), key=lambda s: -s.calls)
    return Statements(tuple(ordered), tuple(unread.values()), seen)


def _add(group: Statement, other: Statement, one: LoggedStatement, seconds: float | None) -> None:
    group.calls += one.calls
    rate = one.rate or (Rate(value=one.calls / seconds) if seconds else None)
    if rate is not None:
        group.rate = added(group.rate, rate)
    group.given |= other.given
    for name, values in other.literals.items():
        known = group.literals.setdefault(name, [])
        known += [v for v in values if v not in known][: MOST_VALUES - len(known)]


def added(one: Rate | None, other: Rate | None) -> Rate | None:
    """The sum of two rates; a level is kept, because it is no figure."""
    if one is None or other is None:
        return one or other
    if one.weight is not None and other.weight is not None:
        return Rate(weight=one.weight + other.weight)
    if one.value is None or other.value is None:
        return one
    return Rate(value=one.value / one.per.seconds + other.value / other.per.seconds)


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
    trees = [t for t in sqlglot.parse(_named(text), dialect=DIALECTS[dialect]) if t is not None]
    if len(trees) != 1 or isinstance(trees[0], exp.Command):
        raise SqlglotError("it is not one statement that can be parsed")
    statement = Statement(trees[0], replaces=bool(replaces))
    many = _collapse_lists(statement)
    _parametrise(statement, many)
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
        constant = statement.constant(node.name)
        number = constant is not None and re.fullmatch(r"-?\d+(\.\d+)?", constant)
        shown = "?" if constant is None else constant if number else "'" + constant.replace("'", "''") + "'"
        node.replace(exp.Var(this=shown))
    return copy.sql(dialect=DIALECTS[dialect], comments=False)


def _named(sql: str) -> str:
    """A statement whose placeholders are all `:name`: sqlglot reads `$1 … $2` of PostgreSQL as a quoted text."""

    def replaced(match: re.Match[str]) -> str:
        if match.group("copy"):
            return match.group()
        if match.group("comment"):
            return " "
        return ":given"

    return _PARTS.sub(replaced, sql)


def _collapse_lists(statement: Statement) -> set[int]:
    """Leaves one value of each list and of several rows of VALUES, because their number says nothing."""
    many: set[int] = set()
    for found in statement.tree.find_all(exp.In):
        if found.expressions and all(_is_value(one) for one in found.expressions):
            first = found.expressions[0]
            texts = [one.this for one in found.expressions if isinstance(one, exp.Literal)]
            if len(texts) > 1:
                first.set("_members", texts)
            many.add(id(first))
            found.set("expressions", [first])
    for values in statement.tree.find_all(exp.Values):
        values.set("expressions", values.expressions[:1])
    return many


def _is_value(node: exp.Expr) -> bool:
    if isinstance(node, exp.Neg):
        return isinstance(node.this, exp.Literal)
    return isinstance(node, exp.Literal | exp.Placeholder | exp.Parameter | exp.Boolean)


def _parametrise(statement: Statement, many: set[int]) -> None:
    found = [node for node in statement.tree.walk(bfs=False) if _is_value(node) and not _part_of_type(node)]
    lists = set()
    for number, node in enumerate((n for n in found if not isinstance(n.parent, exp.Neg)), 1):
        name = f"p{number}"
        if id(node) in many:
            lists.add(name)
        if isinstance(node, exp.Placeholder | exp.Parameter):
            statement.given.add(name)
        else:
            members = node.args.get("_members")
            statement.literals[name] = [*members] if members else [_literal(node)]
        node.replace(exp.Placeholder(this=name))
    statement.many = frozenset(lists)


def _part_of_type(node: exp.Expr) -> bool:
    return node.find_ancestor(exp.DataType, exp.Interval) is not None


def _literal(node: exp.Expr) -> str:
    if isinstance(node, exp.Neg):
        return f"-{node.this.this}"
    if isinstance(node, exp.Boolean):
        return "true" if node.this else "false"
    return str(node.this)


def _unread(one: LoggedStatement, origin: str, problem: Exception) -> Diagnostic:
    text = " ".join(one.sql.split())
    shown = text if len(text) <= _QUOTED else f"{text[: _QUOTED - 1]}…"
    errors = getattr(problem, "errors", None)
    at = f" (line {errors[0]['line']}, column {errors[0]['col']} of the statement)" if errors else ""
    place = f"{origin}:{one.line}: " if one.line else ""
    message = f"{place}`{shown}` cannot be parsed{at}"
    return codes.QUERIES.at(None, message, "if the application needs it, add its pattern to the document by hand")
