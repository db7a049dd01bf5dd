"""Statements in files: SQL files, and the logs of PostgreSQL, MySQL, MariaDB, Django and SQLAlchemy.

The form of a file is recognised by its lines. Statements that no application runs by itself (SET, BEGIN, SHOW) are left
out later, when they are parsed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

from prejoin.workload.grammar.lexer import Inexact
from prejoin.workload.grammar.quantities import read_rate
from prejoin.workload.model import Rate


@dataclass(frozen=True, slots=True)
class LoggedStatement:
    """A statement as it was found."""

    sql: str
    calls: float = 1
    rate: Rate | None = None
    """Its rate, if the file states it."""
    line: int = 0


@dataclass(frozen=True, slots=True)
class QueryLog:
    """Statements with their counts, and the time that they were counted over."""

    origin: str
    statements: tuple[LoggedStatement, ...]
    seconds: float | None = None


_TIME = re.compile(r"(\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d+)?|\d{6}\s+\d{1,2}:\d\d:\d\d)")
_POSTGRES = re.compile(r"\bLOG:\s+(?:duration: [\d.]+ ms\s+)?(?:statement|execute [^:]+): (.*)", re.DOTALL)
_POSTGRES_CSV = re.compile(
    r',LOG,\d+,"(?:duration: [\d.]+ ms  )?(?:statement|execute [^:]+): ((?:[^"]|"")*)"', re.DOTALL
)
_GENERAL = re.compile(
    r"^(?:\S++(?: {1,4}\d\S*+)?)?\s++\d++\s(Query|Execute|Prepare|[A-Z][a-z]++(?: [A-Z][a-z]++)?)\t?(.*)", re.DOTALL
)
_DJANGO = re.compile(r"\(\d+\.\d+\) (.*?)(?:; args=.*)?$", re.DOTALL)
_SQLALCHEMY = re.compile(r"sqlalchemy\.engine\.\w+(?: base)?:? (?!\[)(.*)", re.DOTALL)
_VERB = re.compile(
    r"(?:\s|/\*[^*]*+(?:\*(?!/)[^*]*+)*\*/)*(SELECT|INSERT|UPDATE|DELETE|REPLACE|WITH)\b", re.IGNORECASE | re.DOTALL
)


def read_log(text: str, origin: str) -> QueryLog:
    """The statements of a file.

    >>> log = read_log("-- 5/s\\nSELECT * FROM a WHERE id = 1;\\nSELECT 2;", "app.sql")
    >>> [(one.sql, one.line) for one in log.statements]
    [('SELECT * FROM a WHERE id = 1', 2), ('SELECT 2', 3)]
    """
    head = text[:200_000]
    if _POSTGRES_CSV.search(head):
        found = [
            LoggedStatement(m.group(1).replace('""', '"'), line=_line(text, m.start()))
            for m in _POSTGRES_CSV.finditer(text)
        ]
    elif re.search(r"^# (?:Time|User@Host|Query_time):", head, re.MULTILINE):
        found = list(_slow_log(text))
    else:
        found = []
        for pattern in (_POSTGRES, _GENERAL, _SQLALCHEMY, _DJANGO):
            found = list(_entries(text, pattern))
            if found:
                break
        else:
            return QueryLog(origin, tuple(_statements(text)))
    return QueryLog(origin, tuple(found), _seconds(text))


def _entries(text: str, pattern: re.Pattern[str]) -> Iterator[LoggedStatement]:
    """The entries of a log; lines that match nothing and carry no time continue the entry before them."""
    current: list[str] = []
    begun = 0
    for number, line in enumerate(text.splitlines(), 1):
        matched = pattern.search(line) if pattern is not _GENERAL else pattern.match(line)
        starts = bool(matched) or bool(_TIME.match(line)) or line.startswith("[")
        if starts:
            yield from _entry(current, begun)
            current = []
        if matched:
            if pattern is _GENERAL and matched.group(1) not in ("Query", "Execute"):
                continue
            current, begun = [matched.group(matched.lastindex or 1)], number
        elif current:
            current.append(line)
    yield from _entry(current, begun)


def _entry(lines: Sequence[str], line: int) -> Iterator[LoggedStatement]:
    sql = "\n".join(lines).strip().rstrip(";")
    if _VERB.match(sql):
        yield LoggedStatement(sql, line=line)


def _slow_log(text: str) -> Iterator[LoggedStatement]:
    current: list[str] = []
    begun = 0
    for number, line in enumerate([*text.splitlines(), "#"], 1):
        if line.startswith("#"):
            body = re.sub(
                r"^(?:\s|use [^\s;]++;|SET timestamp=\d++;)+", "", "\n".join(current).strip(), flags=re.IGNORECASE
            )
            yield from _entry([body], begun)
            current, begun = [], number + 1
        else:
            current.append(line)


def _statements(text: str) -> Iterator[LoggedStatement]:
    """The statements of a SQL file, separated by semicolons. A comment with a rate belongs to the next statement."""
    rate: Rate | None = None
    for sql, comments, line in split_statements(text):
        for comment in comments:
            rate = _rate(comment) or rate
        if sql:
            yield LoggedStatement(sql, rate=rate, line=line)
            rate = None


def _rate(comment: str) -> Rate | None:
    try:
        return read_rate(comment.strip())
    except Inexact:
        return None


def split_statements(text: str) -> Iterator[tuple[str, list[str], int]]:
    """Statements, the comments before or in each, and the line that each begins in."""
    parts = re.compile(r"'(?:[^']|'')*'|\"[^\"]*\"|`[^`]*`|--[^\n]*|/\*.*?\*/|;|[^'\"`;\-/]+|.", re.DOTALL)
    sql: list[str] = []
    comments: list[str] = []
    start = 0
    for match in parts.finditer(text):
        part = match.group()
        if part.startswith("--") and len(part) > 1:
            comments.append(part[2:])
        elif part.startswith("/*"):
            comments.append(part[2:-2])
        elif part == ";":
            yield "".join(sql).strip(), comments, start
            sql, comments, start = [], [], 0
        else:
            if not start and part.strip():
                start = _line(text, match.start() + len(part) - len(part.lstrip()))
            sql.append(part)
    if "".join(sql).strip():
        yield "".join(sql).strip(), comments, start


def _line(text: str, position: int) -> int:
    return text.count("\n", 0, position) + 1


def _seconds(text: str) -> float | None:
    """The time between the first and the last entry of a log."""
    times = [moment for found in (_TIME.search(text), _last(text)) if found and (moment := _moment(found))]
    if len(times) < 2:
        return None
    passed = abs((times[1] - times[0]).total_seconds())
    return passed or None


def _last(text: str) -> re.Match[str] | None:
    return next(reversed(list(_TIME.finditer(text, max(0, len(text) - 20_000)))), None)


def _moment(found: re.Match[str]) -> datetime | None:
    text = found.group(1).replace(",", ".")
    try:
        if text[:6].isdigit():
            return datetime.strptime(re.sub(r"\s+", " ", text), "%y%m%d %H:%M:%S")
        return datetime.fromisoformat(text)
    except ValueError:
        return None
