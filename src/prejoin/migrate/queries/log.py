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
_SLOW_LOG_PREFIX = re.compile(r"^(?:\s|use [^\s;]++;|SET timestamp=\d++;)+", re.IGNORECASE)
"""What the slow log writes before each statement."""
_DJANGO = re.compile(r"\(\d+\.\d+\) (.*?)(?:; args=.*)?$", re.DOTALL)
_SQLALCHEMY = re.compile(r"sqlalchemy\.engine\.\w+(?: base)?:? (?!\[)(.*)", re.DOTALL)
_VERB = re.compile(
    r"(?:\s|/\*[^*]*+(?:\*(?!/)[^*]*+)*\*/)*(SELECT|INSERT|UPDATE|DELETE|REPLACE|WITH)\b", re.IGNORECASE | re.DOTALL
)

_HEAD = 200_000
"""Characters that the form of a file is recognised by."""


def read_log(text: str, origin: str) -> QueryLog:
    """The statements of a file.

    >>> log = read_log("-- 5/s\\nSELECT * FROM a WHERE id = 1;\\nSELECT 2;", "app.sql")
    >>> [(statement.sql, statement.line) for statement in log.statements]
    [('SELECT * FROM a WHERE id = 1', 2), ('SELECT 2', 3)]
    """
    entries = _log_entries(text)
    if entries is None:
        return QueryLog(origin, tuple(_statements(text)))
    return QueryLog(origin, tuple(entries), _duration(text))


def _log_entries(text: str) -> list[LoggedStatement] | None:
    """The statements of a log, by the first form that fits; None if the text is no log, and so SQL."""
    head = text[:_HEAD]
    if _POSTGRES_CSV.search(head):
        return [
            LoggedStatement(match.group(1).replace('""', '"'), line=_line(text, match.start()))
            for match in _POSTGRES_CSV.finditer(text)
        ]
    if re.search(r"^# (?:Time|User@Host|Query_time):", head, re.MULTILINE):
        return list(_slow_log(text))
    for pattern in (_POSTGRES, _GENERAL, _SQLALCHEMY, _DJANGO):
        entries = list(_entries(text, pattern))
        if entries:
            return entries
    return None


def _entries(text: str, pattern: re.Pattern[str]) -> Iterator[LoggedStatement]:
    """The entries of a log; lines that match nothing and carry no time continue the entry before them."""
    lines: list[str] = []
    first_number = 0
    for number, line in enumerate(text.splitlines(), 1):
        match = pattern.search(line) if pattern is not _GENERAL else pattern.match(line)
        if match or _TIME.match(line) or line.startswith("["):
            yield from _entry(lines, first_number)
            lines = []
        if match:
            # The general log of MySQL has a command before each text; `Connect` and `Quit` are no statements.
            if pattern is _GENERAL and match.group(1) not in ("Query", "Execute"):
                continue
            lines, first_number = [match.group(match.lastindex or 1)], number
        elif lines:
            lines.append(line)
    yield from _entry(lines, first_number)


def _entry(lines: Sequence[str], line: int) -> Iterator[LoggedStatement]:
    sql = "\n".join(lines).strip().rstrip(";")
    if _VERB.match(sql):
        yield LoggedStatement(sql, line=line)


def _slow_log(text: str) -> Iterator[LoggedStatement]:
    """The entries of MySQL's slow log: statements between lines of figures, which begin with `#`."""
    lines: list[str] = []
    first_number = 0
    for number, line in enumerate([*text.splitlines(), "#"], 1):  # the last `#` ends the last statement
        if line.startswith("#"):
            yield from _entry([_SLOW_LOG_PREFIX.sub("", "\n".join(lines).strip())], first_number)
            lines, first_number = [], number + 1
        else:
            lines.append(line)


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


def _duration(text: str) -> float | None:
    """The seconds between the first and the last entry of a log."""
    matches = (_TIME.search(text), _last_time(text))
    times = [_read_time(match) for match in matches if match is not None]
    first, last = times if len(times) == 2 else (None, None)
    if first is None or last is None:
        return None
    return abs((last - first).total_seconds()) or None


def _last_time(text: str) -> re.Match[str] | None:
    last = None
    for match in _TIME.finditer(text, max(0, len(text) - 20_000)):
        last = match
    return last


def _read_time(match: re.Match[str]) -> datetime | None:
    text = match.group(1).replace(",", ".")
    try:
        if text[:6].isdigit():  # 240131 10:15:00, of MySQL before 5.7
            return datetime.strptime(re.sub(r"\s+", " ", text), "%y%m%d %H:%M:%S")
        return datetime.fromisoformat(text)
    except ValueError:
        return None
