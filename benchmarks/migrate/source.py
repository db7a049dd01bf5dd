"""The source database: users, and ten times as many orders."""

from __future__ import annotations

from pathlib import Path

import sqlalchemy as sa

from prejoin import design_table, design_target, discover_database, read_document, write_design

_SCHEMA = """
DROP TABLE IF EXISTS orders, users;
CREATE TABLE users (
    id BIGINT PRIMARY KEY, email TEXT NOT NULL, name TEXT NOT NULL, is_active BOOLEAN NOT NULL,
    created_at TIMESTAMPTZ NOT NULL);
CREATE TABLE orders (
    id BIGINT PRIMARY KEY, user_id BIGINT NOT NULL REFERENCES users(id), status TEXT NOT NULL,
    total NUMERIC(12,2) NOT NULL, items INT NOT NULL, placed_at TIMESTAMPTZ NOT NULL, note TEXT);
"""
_USERS = """
INSERT INTO users SELECT n, 'user' || n || '@example.org', 'Name ' || n, n % 3 > 0,
    TIMESTAMPTZ '2024-01-01 00:00:00Z' + n * INTERVAL '1 minute' FROM generate_series(1, :users) n
"""
_ORDERS = """
INSERT INTO orders SELECT n, 1 + n % :users, (ARRAY['OPEN', 'PAID', 'SENT'])[1 + n % 3], (n % 100000) / 100.0, n % 7,
    TIMESTAMPTZ '2025-01-01 00:00:00Z' + n * INTERVAL '1 second', CASE WHEN n % 2 = 0 THEN 'note ' || n END
FROM generate_series(1, :orders) n
"""
_QUERIES = """
-- 100/s
SELECT * FROM users WHERE id = ?;
-- 100/s
SELECT * FROM orders WHERE id = ?;
-- 100/s
SELECT * FROM orders WHERE user_id = ? ORDER BY placed_at;
"""


def fill(url: str, rows: int) -> None:
    """Fills the database with `rows` rows in total."""
    users = max(1, rows // 11)
    engine = sa.create_engine(url)
    with engine.begin() as connection:
        for statement in _SCHEMA.split(";")[:-1]:
            connection.execute(sa.text(statement))
        connection.execute(sa.text(_USERS), {"users": users})
        connection.execute(sa.text(_ORDERS), {"users": users, "orders": rows - users})
        connection.execute(sa.text("ANALYZE"))
    engine.dispose()


def project(url: str, folder: Path) -> None:
    """The document, the design and the mapping of the database, in a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "app.sql").write_text(_QUERIES, encoding="utf-8")
    found = discover_database(url, queries=[str(folder / "app.sql")])
    (folder / "access-patterns.md").write_text(found.document, encoding="utf-8")
    (folder / "mapping.toml").write_text(found.mapping_text, encoding="utf-8")
    designed = design_table(read_document(folder / "access-patterns.md"), prove=False, alternatives=0)
    write_design(designed, design_target(folder / "table-design.md"))
