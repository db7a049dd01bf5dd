from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from sqlalchemy.orm import Session, sessionmaker

from prejoin import TablePlace, design_table, design_target, discover_database, load_table, read_document, write_design
from prejoin.migrate.migration import Migration, open_migration
from tests.migrate.ledger import write_project
from tests.migrate.ledger_app import application_on, create_ledger
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


@pytest.fixture(scope="session")
def ledger_template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("ledger")
    write_project(folder)
    create_ledger(f"sqlite:///{folder / 'ledger.db'}")
    return folder


@pytest.fixture
def sessions(ledger_template: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[sessionmaker[Session]]:
    """The sessions of an application on a ledger with an outbox. Its project is the current folder."""
    shutil.copytree(ledger_template, tmp_path / "ledger")
    monkeypatch.chdir(tmp_path / "ledger")
    monkeypatch.setenv("PREJOIN_SOURCE", "sqlite:///ledger.db")
    made = application_on("sqlite:///ledger.db")
    yield made
    made.kw["bind"].dispose()


@pytest.fixture
def ledger(sessions: sessionmaker[Session]) -> Iterator[Migration]:
    """The migration of that ledger, loaded into `table.db`."""
    with open_migration() as found:
        load_table(found, TablePlace(db="table.db"), create=True, outbox=True)
        yield found
