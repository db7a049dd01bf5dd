"""The project: import rules, a light base install, and pages that match the code."""

from __future__ import annotations

import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from runpy import run_path

import pytest

ROOT = Path(__file__).parents[1]
HEAVY = ("click", "rich", "yaml", "markdown_it", "highspy", "numpy", "botocore", "boto3")


def python(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, *arguments], capture_output=True, text=True, cwd=ROOT, timeout=120)


def test_imports_point_one_way() -> None:
    result = subprocess.run([Path(sys.executable).parent / "lint-imports"], capture_output=True, text=True, cwd=ROOT)
    assert result.returncode == 0, result.stdout


@pytest.mark.parametrize(
    "module", ["table", "engine", "keys", "transport", "protocol", "workload.model", "design.model"]
)
def test_application_code_needs_only_the_base_install(module: str) -> None:
    assert all(map(find_spec, HEAVY))
    result = python("-c", f"import sys, prejoin.{module}; print(*(set({HEAVY!r}) & set(sys.modules)))")
    assert (result.stdout.strip(), result.stderr) == ("", "")


FIRST_ANSWER = """
import sys, msgspec
before = set(sys.modules)
from prejoin import Client, Entity, Key, Schema
from prejoin.transport import AWS, Endpoint

class User(msgspec.Struct):
    user_id: str

class Answering:
    def send(self, operation, body):
        return b'{"Item": {"entityType": {"S": "User"}, "user_id": {"S": "42"}}}'

schema = Schema(Entity(User, Key("USER#{user_id}", "PROFILE")))
assert Client(schema, "shop", Answering()).get(User, user_id="42") == User("42")
print(*(set(sys.modules) - before))
"""
SLOW = (
    {
        "asyncio",
        "base64",
        "concurrent",
        "dataclasses",
        "difflib",
        "email",
        "hashlib",
        "httptools",
        "inspect",
        "ipaddress",
    }
    | {"json", "logging", "random", "selectors", "socket", "ssl", "subprocess", "threading", "urllib", "uuid"}
    | {
        f"prejoin.table.{name}"
        for name in (
            "admin.drift",
            "client.async_client",
            "condition.evaluate",
            "condition.record",
            "read.arguments",
            "read.batch_get",
            "read.cursor",
            "read.execute",
            "read.page",
            "read.query",
            "schema.visibility",
            "update.draft",
            "write.actions",
            "write.batch",
            "write.execute",
            "write.expand",
            "write.model",
        )
    }
    | {
        "prejoin.engine",
        "prejoin.patterns",
        "prejoin.transport.connection.aio",
        "prejoin.transport.connection.sync",
        "prejoin.transport.connection.tls",
    }
)


def test_cold_get_loads_no_modules_for_writes_queries_or_asyncio() -> None:
    assert [name for name in SLOW if find_spec(name) is None] == []
    result = python("-c", FIRST_ANSWER)
    assert (set(result.stdout.split()) & SLOW, result.stderr) == (set(), "")


def test_reference_pages_match_the_code() -> None:
    for path, text in run_path(str(ROOT / "scripts" / "reference.py"))["pages"]().items():
        assert (ROOT / "docs" / path).read_text("utf-8") == text, f"{path}: run scripts/reference.py"


def test_the_python_in_the_readme_runs() -> None:
    blocks = re.findall(r"^```python\n(.*?)^```$", (ROOT / "README.md").read_text(), re.MULTILINE | re.DOTALL)
    client, testing, generated = blocks
    check = "assert db.get(User, email='a@b.com') == User('42', 'a@b.com', 'Alice')"
    counted = "assert {one.order_id for one in page} == {order.order_id, seed.order().order_id}"
    runs = [f"{client}\n{check}", f"{testing}\ntest_with_boto3_and_no_server()", f"{_SHOP}{generated}\n{counted}"]
    for code in runs:
        assert python("-c", code).stderr == ""


_SHOP = """
import sys
from dataclasses import replace
sys.path.insert(0, "examples/shop")
from prejoin.engine import Embedded
from prejoin import Client, ulid
from shop import seed
from shop.repository import ShopRepository
from shop.schema import SCHEMA, TABLE
here = Embedded()
AWS = lambda: here
db = Client(SCHEMA, TABLE, here)
db.create_table()
seed.fill(db)
order = replace(seed.order(), order_id=ulid())
items = [replace(seed.order_item(), order_id=order.order_id, quantity=1)]
user_id = order.user_id
"""
"""The setup that the README's last lines need: the generated package, and a product."""


def test_links_between_pages_exist() -> None:
    pages = [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("examples/*.md")]
    dead = [
        f"{page.relative_to(ROOT)}: {link}"
        for page in pages
        for link in re.findall(r"\]\(([^)#:]+?)(?:#[^)]*)?\)", page.read_text(encoding="utf-8"))
        if not (page.parent / link).exists()
    ]
    assert dead == []


def test_contributing_map_shows_every_package() -> None:
    guide = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    shown = guide.partition("\n## Map\n")[2].partition("\n## ")[0]
    lines = {line.split("/")[0]: line for line in shown.splitlines() if re.match(r"\w+/ ", line)}
    packages = [path.parent for path in (ROOT / "src/prejoin").glob("*/__init__.py")]
    assert len(packages) > 10
    assert {path.name for path in packages} <= lines.keys()
    within = [(path.name, one.parent.name) for path in packages for one in path.glob("*/__init__.py")]
    assert [pair for pair in within if f"{pair[1]}/" not in lines[pair[0]]] == []


def test_files_that_contributing_names_exist() -> None:
    guide = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    named = set(re.findall(r"`([\w./-]+\.(?:py|md|toml))`", guide))
    assert len(named) > 50
    listed = subprocess.run(["git", "ls-files"], capture_output=True, text=True, cwd=ROOT).stdout.split()
    assert {name for name in named if not any(f"/{path}".endswith(f"/{name}") for path in listed)} == set()


def test_no_file_refers_to_paths_outside_the_project() -> None:
    listed = subprocess.run(["git", "ls-files"], capture_output=True, text=True, cwd=ROOT).stdout.split()
    files = [f for f in listed if (ROOT / f).is_file()]
    outside = re.compile(r"\.\./shared|/work/|/root/|pypi\.org|registry\.npmjs|files\.pythonhosted|\"resolved\"")
    own = {"tests/test_project.py"}
    found = [
        f for f in files if f not in own and outside.search((ROOT / f).read_text(encoding="utf-8", errors="replace"))
    ]
    assert found == []
