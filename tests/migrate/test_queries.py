"""Statements from files: SQL with rates, and the logs of servers and frameworks."""

from __future__ import annotations

from pathlib import Path

import pytest

from prejoin import discover_database
from prejoin.migrate.queries.log import read_log
from prejoin.migrate.queries.statement import parse
from tests.migrate.shop import create_shop

POSTGRES = """\
2026-01-01 10:00:00.000 UTC [7] LOG:  statement: SELECT * FROM users
\tWHERE id = 5
2026-01-01 10:00:00.100 UTC [7] LOG:  execute <unnamed>: SELECT * FROM users WHERE id = $1
2026-01-01 10:00:00.100 UTC [7] DETAIL:  parameters: $1 = '42'
2026-01-01 10:00:01.000 UTC [7] LOG:  duration: 0.1 ms  statement: BEGIN
2026-01-01 10:01:40.000 UTC [7] LOG:  duration: 0.1 ms  execute S_1: SELECT * FROM users WHERE email = $1
"""
POSTGRES_CSV = """\
2026-01-01 10:00:00.000 UTC,"app","shop",7,"[local]",1,1,"SELECT",2026-01-01,3/4,0,LOG,00000,"statement: SELECT * FROM users WHERE id = 5 AND ""name"" <> 'x'",,,,,,,,,"psql"
2026-01-01 10:00:50.000 UTC,"app","shop",7,"[local]",2,2,"SELECT",2026-01-01,3/4,0,LOG,00000,"execute a: SELECT * FROM users
WHERE email = $1",,,,,,,,,"psql"
"""
GENERAL = """\
/usr/sbin/mariadbd, Version: 10.11.6-MariaDB (Debian 12). started with:
Tcp port: 3306  Unix socket: /run/mysqld/mysqld.sock
Time\t\t    Id Command\tArgument
260101 10:00:00\t     5 Connect\tapp@localhost on shop using TCP/IP
\t\t     5 Query\tSET NAMES utf8mb4
\t\t     5 Query\tSELECT * FROM users
WHERE id = 5
260101 10:00:50\t     5 Execute\tSELECT * FROM users WHERE email = 'a@b.c'
\t\t     5 Quit\t
"""
MYSQL_GENERAL = """\
2026-01-01T10:00:00.000000Z\t   12 Query\tSELECT * FROM users WHERE id = 5
2026-01-01T10:00:50.000000Z\t   12 Query\tSELECT * FROM users WHERE email = 'a@b.c'
"""
SLOW = """\
# Time: 2026-01-01T10:00:00.000000Z
# User@Host: app[app] @ localhost []  Id:    12
# Query_time: 0.000105  Lock_time: 0.000001 Rows_sent: 1  Rows_examined: 1
use shop;
SET timestamp=1767261600;
SELECT * FROM users
WHERE id = 5;
# Time: 2026-01-01T10:00:50.000000Z
# User@Host: app[app] @ localhost []  Id:    12
# Query_time: 0.000105  Lock_time: 0.000001 Rows_sent: 1  Rows_examined: 1
SET timestamp=1767261650;
SELECT * FROM users WHERE email = 'a@b.c';
"""
DJANGO = """\
DEBUG 2026-01-01 10:00:00,000 utils (0.001) SELECT "users"."id" FROM "users" WHERE "users"."id" = 5 LIMIT 21; args=(5,); alias=default
DEBUG 2026-01-01 10:00:50,000 utils (0.001) SELECT "users"."id" FROM "users" WHERE "users"."email" = 'a'; args=('a',); alias=default
"""
SQLALCHEMY = """\
2026-01-01 10:00:00,000 INFO sqlalchemy.engine.Engine BEGIN (implicit)
2026-01-01 10:00:00,001 INFO sqlalchemy.engine.Engine SELECT users.id AS users_id, users.email AS users_email
FROM users
WHERE users.id = ?
2026-01-01 10:00:00,001 INFO sqlalchemy.engine.Engine [generated in 0.00011s] (5,)
2026-01-01 10:00:50,000 INFO sqlalchemy.engine.Engine SELECT users.id AS users_id FROM users WHERE users.email = ?
2026-01-01 10:00:50,001 INFO sqlalchemy.engine.Engine [cached since 0.1s ago] ('a',)
"""
LOGS = {
    "postgres": (POSTGRES, 100),
    "postgres-csv": (POSTGRES_CSV, 50),
    "mariadb-general": (GENERAL, 50),
    "mysql-general": (MYSQL_GENERAL, 50),
    "slow": (SLOW, 50),
    "django": (DJANGO, 50),
    "sqlalchemy": (SQLALCHEMY, 50),
}


@pytest.mark.parametrize("name", LOGS)
def test_log_is_recognised(name: str) -> None:
    text, seconds = LOGS[name]
    log = read_log(text, name)
    found = [" ".join(one.sql.split()) for one in log.statements if "users" in one.sql]
    assert len(found) == (3 if name == "postgres" else 2), found
    assert all(one.startswith("SELECT") for one in found)
    assert not any("args=" in one or "LOG" in one or "timestamp" in one for one in found)
    assert log.seconds is not None
    assert abs(log.seconds - seconds) < 1


@pytest.mark.parametrize("name", LOGS)
def test_patterns_of_a_log(name: str, tmp_path: Path) -> None:
    (tmp_path / "app.log").write_text(LOGS[name][0], encoding="utf-8")
    database = create_shop(tmp_path / "shop.db", orders=2)
    found = discover_database(f"sqlite:///{database}", queries=[str(tmp_path / "app.log")])
    assert {i.attribute for r in found.workload.reads for i in r.inputs} >= {"user_id", "email"}
    assert all(r.rate and r.rate.value for r in found.workload.reads)


def test_semicolons_and_comments_in_texts_do_not_split() -> None:
    log = read_log("SELECT ';', '--x' FROM a; /* 3/s */ SELECT \"a;b\" FROM c -- 2/s\n;", "a.sql")
    assert [one.sql for one in log.statements] == ["SELECT ';', '--x' FROM a", 'SELECT "a;b" FROM c']
    assert log.statements[1].rate is not None


SAME = [
    ("postgresql", "SELECT * FROM a WHERE x = $1 AND y IN ($2, $3) LIMIT $4"),
    ("postgresql", "SELECT * FROM a WHERE x = 5 AND y IN (1, 2, 3) LIMIT 10"),
    ("postgresql", "SELECT * FROM a WHERE x = %(x)s AND y IN (%s) LIMIT 10"),
    ("mysql", "SELECT * FROM `a` WHERE `x` = ? AND `y` IN (...) LIMIT ?"),
    ("mysql", "SELECT * FROM a WHERE x = 'it''s' AND y IN (1) LIMIT 5 /* app:web */"),
    ("sqlite", "select * from a where x=?1 and y in (?2,?3) limit ?4"),
    ("sqlite", "SELECT * FROM a WHERE x = :x AND y IN (:y) LIMIT -1"),
]


def test_literals_and_all_kinds_of_placeholders_are_unified() -> None:
    texts = {parse(sql, dialect)[0].replace("`", "") for dialect, sql in SAME}
    assert len(texts) == 1, texts


def test_constant_is_a_literal_that_never_changes() -> None:
    _, statement = parse("SELECT * FROM a WHERE x = 'OPEN' AND y = ?", "sqlite")
    assert (statement.constant("p1"), statement.constant("p2")) == ("OPEN", None)
