"""A small shop in SQLite, the statements of its application, and a project folder with document, design and mapping."""

from __future__ import annotations

import random
import sqlite3
from pathlib import Path

SCHEMA = """
CREATE TABLE users (
    id INTEGER PRIMARY KEY, email VARCHAR(200) NOT NULL UNIQUE, name TEXT NOT NULL,
    is_active BOOLEAN NOT NULL, created_at DATETIME NOT NULL, prefs JSON);
CREATE TABLE products (
    sku VARCHAR(20) PRIMARY KEY, title TEXT NOT NULL, price NUMERIC(10,2) NOT NULL, stock INTEGER NOT NULL,
    category TEXT NOT NULL, photo BLOB);
CREATE TABLE orders (
    id INTEGER PRIMARY KEY, user_id INTEGER NOT NULL REFERENCES users(id),
    status TEXT NOT NULL CHECK (status IN ('PENDING', 'PAID', 'SHIPPED')),
    total NUMERIC(10,2) NOT NULL, placed_at TEXT NOT NULL, note TEXT);
CREATE TABLE order_items (
    order_id INTEGER NOT NULL REFERENCES orders(id), line INTEGER NOT NULL,
    sku VARCHAR(20) NOT NULL REFERENCES products(sku), quantity INTEGER NOT NULL, unit_price NUMERIC(10,2) NOT NULL,
    PRIMARY KEY (order_id, line));
CREATE TABLE audit_log (id INTEGER PRIMARY KEY, text TEXT);
CREATE TABLE alembic_version (version_num VARCHAR(32) NOT NULL);
CREATE VIEW paid AS SELECT * FROM orders WHERE status = 'PAID';
"""

QUERIES = """
-- 50/s
SELECT * FROM users WHERE id = ?;
-- 5/s
SELECT id, email, name FROM users WHERE email = 'a@b.c';
-- 30/s
SELECT * FROM orders WHERE user_id = ? ORDER BY placed_at DESC LIMIT 20 OFFSET 40;
-- 2/s
SELECT * FROM orders WHERE status = 'PENDING' ORDER BY placed_at LIMIT 50;
-- 20/s
SELECT o.*, i.* FROM orders o LEFT JOIN order_items i ON i.order_id = o.id WHERE o.id = ?;
SELECT * FROM orders WHERE user_id = ? AND placed_at >= ? AND placed_at < ? ORDER BY placed_at;
SELECT count(*) FROM orders WHERE user_id = ?;
SELECT * FROM products WHERE sku IN (?, ?, ?);
SELECT category, sum(price) FROM products GROUP BY category;
INSERT INTO orders (user_id, status, total, placed_at) VALUES (?,?,?,?);
UPDATE orders SET status = 'SHIPPED' WHERE id = ? AND status = 'PAID';
UPDATE products SET stock = stock - 1 WHERE sku = ? AND stock >= 1;
DELETE FROM order_items WHERE order_id = ? AND line = ?;
"""


def create_shop(path: Path, orders: int = 60) -> Path:
    """A database file with users, products, orders and their items."""
    chance = random.Random(1)
    with sqlite3.connect(path) as db:
        db.executescript(SCHEMA)
        users = [
            (n, f"u{n}@x.org", f"User {n}", n % 3 > 0, f"2024-01-{n:02} 10:00:00", '{"tax": 7.5}' if n % 2 else None)
            for n in range(1, 21)
        ]
        db.executemany("INSERT INTO users VALUES (?, ?, ?, ?, ?, ?)", users)
        products = [
            (
                f"SKU-{n}",
                f"Product {n}",
                chance.randint(100, 9999) / 100,
                n,
                "book" if n % 2 else "toy",
                b"\0\1" * (n % 2),
            )
            for n in range(10)
        ]
        db.executemany("INSERT INTO products VALUES (?, ?, ?, ?, ?, ?)", products)
        for n in range(1, orders + 1):
            status = ("PENDING", "PAID", "SHIPPED")[n % 3]
            placed = f"2025-{n % 12 + 1:02}-{n % 28 + 1:02}T12:00:{n % 60:02}"
            order = (
                n,
                chance.randint(1, 20),
                status,
                chance.randint(1, 99999) / 100,
                placed,
                "gift" if n % 3 else None,
            )
            db.execute("INSERT INTO orders VALUES (?, ?, ?, ?, ?, ?)", order)
            lines = [(n, line, f"SKU-{chance.randint(0, 9)}", line, 9.99) for line in range(1, n % 4 + 2)]
            db.executemany("INSERT INTO order_items VALUES (?, ?, ?, ?, ?)", lines)
        db.execute("INSERT INTO alembic_version VALUES ('abc')")
    db.close()
    return path
