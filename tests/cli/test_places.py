"""Tables and files that commands cannot use: errors name the place and the fix."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest

from prejoin.engine import Embedded
from prejoin.engine.http import Server
from tests.cli.conftest import Prejoin

SCHEMA = """
from dataclasses import dataclass
from prejoin import Entity, Key, Schema

@dataclass
class User:
    user_id: str
    age: int = 0

schema = Schema(Entity(User, Key("USER#{user_id}", "PROFILE")))
"""
DOCUMENT = """# Club

## Entities

### User

- **Attributes**:
  - `userId` (string, id)

## Access Patterns

### Reads

| ID | Entity | Description | Input Parameters | Result |
| --- | --- | --- | --- | --- |
| AP-001 | User | Get a user | userId | Single |
"""
PAGE = b"<html><head><title>Welcome to nginx</title></head><body>It works</body></html>"


@pytest.fixture
def app(here: Path) -> Path:
    (here / "club_schema.py").write_text(SCHEMA, "utf-8")
    (here / "access-patterns.md").write_text(DOCUMENT, "utf-8")
    return here


@contextmanager
def _web_server(status: int) -> Iterator[str]:
    """A server that answers every request with a web page."""

    class Page(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers.get("Content-Length", 0)))
            self.send_response(status)
            self.send_header("Content-Type", "text/html")
            self.send_header("Content-Length", str(len(PAGE)))
            self.end_headers()
            self.wfile.write(PAGE)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002
            pass

    with HTTPServer(("127.0.0.1", 0), Page) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join(10)


AUDIT = ("audit", "club_schema:schema", "--table", "club")
QUERY = ("query", "AP-001", "user_id=7")


@pytest.mark.parametrize("command", [AUDIT, QUERY], ids=["audit", "query"])
def test_missing_table_error_lists_existing_tables(app: Path, prejoin: Prejoin, command: tuple[str, ...]) -> None:
    with Embedded(app / "shop.db") as engine:
        engine.send("CreateTable", _table("orders"))
        with Server(engine, port=0) as url:
            for place in (("--endpoint", url), ("--db", "shop.db")):
                ran = prejoin(*command, *place)
                assert ran.status == 1
                assert f"error PJ021: there is no table `club` in {place[1]}" in ran.err
                assert "it has `orders`: name one with `--table`" in ran.err
                assert "create_table()" in ran.err


def _table(name: str) -> bytes:
    return (
        b'{"TableName":"%s","BillingMode":"PAY_PER_REQUEST","AttributeDefinitions":[{"AttributeName":"pk",'
        b'"AttributeType":"S"}],"KeySchema":[{"AttributeName":"pk","KeyType":"HASH"}]}' % name.encode()
    )


@pytest.mark.parametrize("command", [AUDIT, QUERY], ids=["audit", "query"])
def test_missing_table_in_an_empty_place_says_how_to_create_it(
    app: Path, prejoin: Prejoin, command: tuple[str, ...]
) -> None:
    Embedded(app / "shop.db").close()
    ran = prejoin(*command, "--db", "shop.db")
    assert (ran.status, ran.out) == (1, "")
    assert "there is no table `club` in shop.db" in ran.err
    assert "it has no tables: create it with `create_table()`" in ran.err


@pytest.mark.parametrize("status", [404, 403, 405])
@pytest.mark.parametrize("command", [AUDIT, QUERY], ids=["audit", "query"])
def test_endpoint_that_is_no_dynamodb_is_named_without_its_page(
    app: Path, prejoin: Prejoin, command: tuple[str, ...], status: int
) -> None:
    with _web_server(status) as url:
        ran = prejoin(*command, "--endpoint", url)
    assert ran.status == 1
    assert f"error PJ021: {url} is not a DynamoDB: it returned {status} (text/html)" in ran.err
    assert "`prejoin serve` prints" in ran.err
    assert "<html>" not in ran.err


def test_endpoint_without_a_server_raises_with_a_hint(app: Path, prejoin: Prejoin) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{free.getsockname()[1]}"
    ran = prejoin(*AUDIT, "--endpoint", url)
    assert ran.status == 1
    assert url in ran.err
    assert "fix: check `--endpoint`" in ran.err


@pytest.mark.parametrize("command", [AUDIT, QUERY], ids=["audit", "query"])
@pytest.mark.parametrize(
    ("db", "content", "message"),
    [
        ("folder", None, "folder"),
        ("missing.db", None, "missing.db"),
        ("text.db", b"# not a database, and longer than a header of SQLite's would be " * 40, "text.db"),
    ],
)
def test_file_that_holds_no_tables_is_named(
    app: Path, prejoin: Prejoin, command: tuple[str, ...], db: str, content: bytes | None, message: str
) -> None:
    (app / "folder").mkdir()
    if content is not None:
        (app / db).write_bytes(content)
    ran = prejoin(*command, "--db", db)
    assert ran.status in (1, 2)
    assert "error PJ0" in ran.err
    assert message in ran.err
    assert content is None or (app / db).read_bytes() == content


@pytest.mark.parametrize("db", ["", ":memory:"])
def test_serve_in_memory_needs_no_file(app: Path, prejoin: Prejoin, db: str) -> None:
    ran = prejoin("serve", "--port", "0", "--db", db)
    assert ran.status == 2
    assert "`--db` takes a file; without it, tables are in memory" in ran.err


@pytest.mark.parametrize(
    ("db", "message"),
    [("no/such/shop.db", "there is no folder"), ("text.db", "not a prejoin file"), ("a.md/x.db", "x.db")],
)
def test_serve_names_a_file_that_it_cannot_use_once(app: Path, prejoin: Prejoin, db: str, message: str) -> None:
    (app / "text.db").write_bytes(b"something else " * 100)
    (app / "a.md").write_text("", "utf-8")
    ran = prejoin("serve", "--port", "0", "--db", db)
    first = ran.err.splitlines()[0]
    assert ran.status == 1
    assert "error PJ004" in first
    assert message in first
    assert "Traceback" not in ran.err


def test_audit_reports_unreadable_items(app: Path, prejoin: Prejoin) -> None:
    from prejoin import Client

    with Embedded(app / "shop.db") as engine:
        namespace: dict[str, object] = {}
        exec(SCHEMA, namespace)
        Client(namespace["schema"], "club", engine).create_table()  # type: ignore[arg-type]
        body = b'{"TableName":"club","Item":{"pk":{"S":"USER#1"},"sk":{"S":"PROFILE"},"user_id":{"S":"1"},"age":{"S":"x"}}}'
        engine.send("PutItem", body)
    ran = prejoin(*AUDIT, "--db", "shop.db")
    assert ran.status == 1
    assert "PJ008" not in ran.err
