"""Discover: a document that `check` accepts, with all guesses marked, from a database and its statements."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import msgspec
import pytest

from prejoin import PipelineError, Severity, discover_database, parse_document
from prejoin.workload.model import (
    Absence,
    Combine,
    Comparison,
    Leaf,
    Op,
    Presence,
    Read,
    Result,
    Value,
    Verb,
    Write,
)
from tests.migrate.shop import QUERIES, create_shop


@pytest.fixture
def database(tmp_path: Path) -> str:
    return f"sqlite:///{create_shop(tmp_path / 'shop.db')}"


def discover(url: str, folder: Path, sql: str, **options: object):  # type: ignore[no-untyped-def]
    (folder / "app.sql").write_text(sql, encoding="utf-8")
    return discover_database(url, queries=[str(folder / "app.sql")], **options)  # type: ignore[arg-type]


@pytest.mark.slow
def test_document_has_no_errors(database: str, tmp_path: Path) -> None:
    found = discover(database, tmp_path, QUERIES)
    document = parse_document(found.document.encode())
    assert [d for d in document.diagnostics if d.severity is Severity.ERROR] == []
    assert document.workload == found.workload
    assert [e.name for e in found.workload.entities] == ["Product", "User", "Order", "OrderItem"]


@pytest.mark.slow
def test_unused_and_technical_tables_are_left_out_by_name(database: str, tmp_path: Path) -> None:
    found = discover(database, tmp_path, QUERIES)
    assert set(found.mapping.left_out) == {"audit_log", "alembic_version", "paid"}
    everything = discover(database, tmp_path, QUERIES, all_tables=True)
    assert set(everything.mapping.left_out) == {"alembic_version", "paid"}
    asked = discover(database, tmp_path, QUERIES, tables=["audit_log"])
    assert "AuditLog" in asked.mapping.entities


def test_without_statements_patterns_are_the_obvious_ones(database: str) -> None:
    found = discover_database(database)
    assert "--queries" in found.no_queries
    assert "User" in found.mapping.entities
    assert "AuditLog" in found.mapping.entities
    assert any(isinstance(p, Read) and p.result is Result.ONE for p in found.workload.reads)
    assert any("obvious" in note for note in found.review)


def test_columns_keys_and_relationships(database: str, tmp_path: Path) -> None:
    workload = discover(database, tmp_path, QUERIES).workload
    order, line = workload.entity("Order"), workload.entity("OrderItem")
    assert order is not None
    assert line is not None
    types = {a.name: str(a.type) for a in order.attributes}
    assert types["status"] == "PENDING | PAID | SHIPPED"
    assert types["placed_at"] == "datetime"
    assert types["total"] == "decimal"
    assert [a.name for a in order.id] == ["order_id"]
    assert [a.name for a in line.id] == ["order_id", "line"]
    assert line.id[0].references == "Order"
    email = workload.entity("User").attribute("email")  # type: ignore[union-attr]
    assert email is not None
    assert email.unique
    assert [c.count for c in line.cardinality if c.per == "Order"] == [4]
    assert "largest 4" in line.description


READS = [
    ("SELECT * FROM users WHERE id = 5", "user_id", Result.ONE),
    ("select name from users u where u.email = $1", "email", Result.ONE),
    ("SELECT * FROM orders WHERE user_id = :u AND status = 'PAID'", "user_id, status", Result.MANY),
    ("SELECT * FROM orders o WHERE o.user_id = %s AND o.placed_at > %(since)s", "user_id, placed_at", Result.MANY),
    ("SELECT count(*) FROM orders WHERE user_id = ?", "user_id", Result.COUNT),
    ("SELECT * FROM products WHERE sku IN (?, ?)", "sku", Result.MANY),
    ("SELECT o.* FROM orders o JOIN users u ON u.id = o.user_id WHERE u.id = ?", "user_id", Result.MANY),
    ("SELECT * FROM users WHERE is_active", "is_active", Result.MANY),
    ("SELECT * FROM products WHERE title LIKE 'The%'", "title", Result.MANY),
    ("SELECT max(placed_at) FROM orders WHERE user_id = ?", "user_id", Result.MANY),
    ("SELECT EXISTS (SELECT 1 FROM users WHERE email = ?)", "email", Result.ONE),
    ("SELECT * FROM users WHERE is_active IS TRUE", "is_active", Result.MANY),
    ("SELECT * FROM users WHERE 1 = 1 AND 5 = id", "user_id", Result.ONE),
]


@pytest.mark.parametrize(("sql", "inputs", "result"), READS, ids=[case[0] for case in READS])
def test_select_becomes_read(sql: str, inputs: str, result: Result, database: str, tmp_path: Path) -> None:
    found = discover(database, tmp_path, sql)
    assert found.misfits == ()
    (read,) = found.workload.reads
    assert ", ".join(i.attribute for i in read.inputs) == inputs
    assert read.result is result
    assert read.verbatim["SQL"].startswith("`SELECT")


MISFITS = [
    ("SELECT category, sum(price) FROM products GROUP BY category", "groups rows"),
    ("SELECT sum(total) FROM orders WHERE user_id = ?", "computes SUM"),
    ("SELECT * FROM products WHERE title LIKE '%x%'", "searches in"),
    (
        "SELECT o.* FROM orders o JOIN users u ON u.id = o.user_id WHERE u.email = ?",
        "`User.email`, which is on another",
    ),
    ("SELECT * FROM users WHERE lower(email) = ?", "compares"),
    ("SELECT * FROM orders WHERE user_id = ? OR total > 5", "alternatives (OR)"),
    ("SELECT DISTINCT category FROM products", "DISTINCT"),
    ("SELECT * FROM orders WHERE user_id IN (SELECT id FROM users)", "subquery"),
    ("SELECT * FROM users, products", "in a way that foreign keys do not say"),
    ("UPDATE orders SET status = 'PAID' WHERE user_id = ?", "writes every Order by `user_id`"),
    ("DELETE FROM order_items", "writes every OrderItem by nothing"),
    ("UPDATE orders SET id = ? WHERE id = ?", "changes the key"),
    ("INSERT INTO products SELECT * FROM products", "inserts the result of a query"),
    ("SELECT * FROM users WHERE name NOT LIKE 'a%'", "NOT LIKE"),
    ("SELECT * FROM users WHERE NOT (id = 5)", "NOT"),
    ("SELECT * FROM users WHERE id NOT IN (1, 2)", "NOT"),
    ("SELECT * FROM users WHERE CAST(created_at AS DATE) = ?", "computes"),
    ("SELECT * FROM users WHERE id = ? AND id = ?", "two conditions on `user_id`"),
    ("SELECT * FROM users ORDER BY random() LIMIT 1", "sorts by"),
    ("SELECT * FROM orders NATURAL JOIN users", "natural join"),
    ("SELECT * FROM nowhere WHERE id = 1", "not moved"),
    ("SELECT a.id FROM users a UNION SELECT b.id FROM orders b", "combines several queries"),
]


@pytest.mark.parametrize(("sql", "what"), MISFITS, ids=[case[0] for case in MISFITS])
def test_misfits_are_listed_with_advice(sql: str, what: str, database: str, tmp_path: Path) -> None:
    found = discover(database, tmp_path, f"{sql};\nSELECT * FROM users WHERE id = ?")
    (misfit,) = found.misfits
    assert what in misfit.what
    assert misfit.instead
    assert misfit.instead in found.document
    assert len(found.workload.patterns) == 1


@pytest.mark.parametrize(
    ("sql", "op"), [("note IS NOT NULL", Op.EXISTS), ("NOT note IS NULL", Op.EXISTS), ("note IS NULL", Op.NOT_EXISTS)]
)
def test_presence_of_an_attribute(sql: str, op: Op, database: str, tmp_path: Path) -> None:
    (read,) = discover(database, tmp_path, f"SELECT * FROM orders WHERE user_id = ? AND {sql}").workload.reads
    assert {i.attribute: i.op for i in read.inputs} == {"user_id": Op.EQ, "note": op}


@pytest.mark.parametrize("statement", ["UPDATE orders SET status = ?", "DELETE FROM orders"])
@pytest.mark.parametrize(
    ("condition", "check"),
    [
        ("note IS NULL", Absence(entity="Order", attribute="note")),
        ("note IS NOT NULL", Presence(entity="Order", attribute="note")),
        ("total > 5", Comparison(entity="Order", attribute="total", op=Op.GT, values=(Value(param="total_limit"),))),
    ],
)
def test_condition_of_a_write_is_a_check(
    statement: str, condition: str, check: Leaf, database: str, tmp_path: Path
) -> None:
    found = discover(database, tmp_path, f"{statement} WHERE id = ? AND {condition}")
    document = parse_document(found.document.encode())
    assert [d for d in document.diagnostics if d.severity is Severity.ERROR] == []
    (write,) = (*document.workload.writes, *document.workload.deletes)
    (parsed_check,) = write.checks
    assert msgspec.structs.replace(parsed_check, implied=False) == check


def test_document_is_accepted_even_if_nothing_fits(database: str, tmp_path: Path) -> None:
    found = discover(database, tmp_path, "SELECT status, count(*) FROM orders GROUP BY status")
    document = parse_document(found.document.encode())
    assert [d for d in document.diagnostics if d.severity is Severity.ERROR] == []
    assert len(found.misfits) == 1


def test_join_with_children_of_one_row_is_a_collection(database: str, tmp_path: Path) -> None:
    sql = "SELECT o.*, i.* FROM orders o LEFT JOIN order_items i ON i.order_id = o.id WHERE o.id = ?"
    (read,) = discover(database, tmp_path, sql).workload.reads
    assert (read.entities, read.combine) == (("Order", "OrderItem"), Combine.COLLECTION)


def test_join_with_parent_of_each_row_is_a_join(database: str, tmp_path: Path) -> None:
    sql = "SELECT i.*, p.title FROM order_items i JOIN products p ON p.sku = i.sku WHERE i.order_id = ?"
    read, second = discover(database, tmp_path, sql).workload.reads
    assert (second.entities, [i.attribute for i in second.inputs]) == (("Product",), ["sku"])
    assert (read.entities, read.combine, read.via) == (("OrderItem", "Product"), Combine.JOIN, "sku")


def test_offset_becomes_pages(database: str, tmp_path: Path) -> None:
    sql = "SELECT * FROM orders WHERE user_id = 3 ORDER BY placed_at DESC LIMIT 20 OFFSET 40"
    found = discover(database, tmp_path, sql)
    (read,) = found.workload.reads
    assert (read.paginated, read.page, read.limit) == (True, 20, None)
    assert any("cursor" in note for note in found.review)


def test_writes(database: str, tmp_path: Path) -> None:
    sql = """INSERT INTO users (email, name, is_active, created_at) VALUES (?, ?, ?, ?);
    INSERT INTO products VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT (sku) DO UPDATE SET title = excluded.title;
    UPDATE orders SET status = 'SHIPPED', note = NULL WHERE id = ? AND status = 'PAID';
    UPDATE products SET stock = stock - ? WHERE sku = ?;
    DELETE FROM order_items WHERE order_id = ? AND line = ?"""
    workload = discover(database, tmp_path, sql).workload
    create, put, ship, take = workload.writes
    assert [w.actions[0].verb for w in (create, put, ship, take)] == [Verb.CREATE, Verb.PUT, Verb.UPDATE, Verb.UPDATE]
    assert ship.checks[0].attribute == "status"
    assert ship.checks[0].values[0].const == "PAID"
    assert [str(c.op) for c in ship.actions[0].changes] == ["=", "remove"]
    assert str(take.actions[0].changes[0].op) == "-="
    assert isinstance(workload.deletes[0], Write)


def test_literals_and_placeholders_are_one_pattern_with_the_sum_of_rates(database: str, tmp_path: Path) -> None:
    lines = [f"SELECT * FROM users WHERE id = {n};" for n in range(60)]
    found = discover(database, tmp_path, "\n".join([*lines, "select * from users where id=?"]), period=61.0)
    (read,) = found.workload.reads
    assert found.statements == 61
    assert read.rate is not None
    assert read.rate.value == 1


def test_many_updates_of_an_orm_are_merged(database: str, tmp_path: Path) -> None:
    sets = ["name = ?", "email = ?", "name = ?, email = ?", "is_active = ?", "prefs = ?, name = ?"]
    sql = ";".join(f"UPDATE users SET {one} WHERE id = ?" for one in sets)
    (write,) = discover(database, tmp_path, sql).workload.writes
    assert {c.attribute for c in write.actions[0].changes} == {"name", "email", "is_active", "prefs"}


def test_statement_that_cannot_be_parsed_is_a_warning_with_its_line(database: str, tmp_path: Path) -> None:
    found = discover(database, tmp_path, "SELECT * FROM users WHERE id = 1;\nSELEC broken FROM;")
    (diagnostic,) = found.unread
    assert diagnostic.code == "PJ702"
    assert "app.sql:2" in diagnostic.message


def test_ninety_nine_tables_and_forty_queries_stay_readable(tmp_path: Path) -> None:
    with sqlite3.connect(tmp_path / "big.db") as db:
        for n in range(99):
            parent = f", parent_id INTEGER REFERENCES t{n - 1}(id)" if n % 10 else ""
            db.execute(f"CREATE TABLE t{n} (id INTEGER PRIMARY KEY, name TEXT{parent})")
    db.close()
    sql = ";".join(f"SELECT t{n}.id, t{n}.name FROM t{n} WHERE t{n}.id = ?" for n in range(20))
    sql += ";" + ";".join(f"SELECT * FROM t{n} WHERE parent_id = {n}" for n in range(1, 10))
    found = discover(f"sqlite:///{tmp_path / 'big.db'}", tmp_path, sql)
    assert len(found.workload.entities) == 20
    assert len(found.mapping.left_out) == 79
    assert len(found.workload.reads) == 29


def test_columns_with_odd_names_become_plain_attributes(tmp_path: Path) -> None:
    with sqlite3.connect(tmp_path / "odd.db") as db:
        db.execute('CREATE TABLE parts ("Serial No" INTEGER PRIMARY KEY, "at:once" TEXT, "a b" TEXT, a_b TEXT)')
    db.close()
    found = discover_database(f"sqlite:///{tmp_path / 'odd.db'}")
    attributes = found.mapping.entities["Part"].attributes
    assert attributes == {"Serial_No": "Serial No", "at_once": "at:once", "a b": "a b", "a_b": "a_b"}


def test_blobs_that_are_larger_than_an_item_are_contents(tmp_path: Path) -> None:
    with sqlite3.connect(tmp_path / "plans.db") as db:
        db.execute("CREATE TABLE plans (id INTEGER PRIMARY KEY, drawing BLOB NOT NULL)")
        db.execute("INSERT INTO plans VALUES (1, zeroblob(500000))")
    found = discover_database(f"sqlite:///{tmp_path / 'plans.db'}")
    assert parse_document(found.document.encode()).workload == found.workload
    plan = found.workload.entities[0]
    assert (str(plan.attributes[1].type), plan.attributes[1].size) == ("content", 500_000)
    assert plan.size is not None
    assert plan.size < 1000


def test_table_without_key_is_left_out_with_the_reason(tmp_path: Path) -> None:
    with sqlite3.connect(tmp_path / "a.db") as db:
        db.execute("CREATE TABLE events (text TEXT)")
        db.execute("CREATE TABLE codes (code TEXT NOT NULL UNIQUE, text TEXT)")
    db.close()
    found = discover_database(f"sqlite:///{tmp_path / 'a.db'}")
    assert "primary key" in found.mapping.left_out["events"]
    assert found.mapping.entities["Code"].key == ("code",)


@pytest.mark.parametrize(
    ("url", "code"),
    [("sqlite:///missing.db", "PJ700"), ("oracle://x", "PJ700"), ("nonsense", "PJ700"), ("", "PJ700")],
)
def test_wrong_url(url: str, code: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PREJOIN_SOURCE", raising=False)
    with pytest.raises(PipelineError) as caught:
        discover_database(url)
    assert caught.value.diagnostics[0].code == code


def test_password_is_never_shown() -> None:
    with pytest.raises(PipelineError) as caught:
        discover_database("postgresql://app:s3cret@127.0.0.1:9/shop")
    assert "s3cret" not in str(caught.value)
    assert caught.value.diagnostics[0].code == "PJ701"


def test_database_is_opened_read_only(database: str) -> None:
    from prejoin.migrate.source.connection import open_source

    with open_source(database) as source, source.snapshot() as snapshot:
        with pytest.raises(Exception, match="readonly"):
            snapshot.connection.exec_driver_sql("DELETE FROM users")
        assert snapshot.value("SELECT count(*) FROM users") == 20
