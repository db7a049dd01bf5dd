from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from prejoin import design_table, design_target, discover_database, read_document, write_design
from prejoin.migrate.migration import Migration, open_migration
from tests.migrate.shop import QUERIES, create_shop


@pytest.fixture(scope="session")
def shop_template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project that was discovered and designed once for all tests."""
    folder = tmp_path_factory.mktemp("shop")
    create_shop(folder / "shop.db")
    (folder / "app.sql").write_text(QUERIES, encoding="utf-8")
    found = discover_database(f"sqlite:///{folder / 'shop.db'}", queries=[str(folder / "app.sql")])
    (folder / "access-patterns.md").write_text(found.document, encoding="utf-8")
    # The file of the database is given to each test, so that the mapping names none.
    (folder / "mapping.toml").write_text('zone = "UTC"\n' + _without_source(found.mapping_text), encoding="utf-8")
    designed = design_table(read_document(folder / "access-patterns.md"), prove=False, alternatives=0)
    assert designed.fine
    write_design(designed, design_target(folder / "table-design.md"))
    return folder


def _without_source(text: str) -> str:
    return "\n".join(line for line in text.splitlines() if not line.startswith("source = ")) + "\n"


@pytest.fixture
def shop(shop_template: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a shop, its document, design and mapping. It is the current folder."""
    shutil.copytree(shop_template, tmp_path / "shop")
    monkeypatch.chdir(tmp_path / "shop")
    monkeypatch.setenv("PREJOIN_SOURCE", f"sqlite:///{tmp_path / 'shop' / 'shop.db'}")
    return tmp_path / "shop"


@pytest.fixture
def opened(shop: Path, request: pytest.FixtureRequest) -> Callable[[], Migration]:
    """Opens the migration of the shop, with the files as they are then."""

    def open_it() -> Migration:
        context = open_migration()
        migration = context.__enter__()
        request.addfinalizer(lambda: context.__exit__(None, None, None))
        return migration

    return open_it
