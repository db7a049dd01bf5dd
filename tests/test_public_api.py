"""The public API: `import prejoin` exports the documented names lazily, and our pages import nothing else."""

from __future__ import annotations

import ast
import inspect
import pickle
import re
import subprocess
import sys
from pathlib import Path

import pytest

import prejoin
from prejoin._exports import HOMES

ROOT = Path(__file__).parents[1]
PAGES = [
    ROOT / "README.md",
    *ROOT.glob("docs/guides/**/*.md"),
    *ROOT.glob("docs/tutorial*"),
    *ROOT.glob("examples/**/*.md"),
]
PYTHON = [*ROOT.glob("docs/tutorial/**/*.py"), *ROOT.glob("examples/**/*.py")]
PUBLIC_MODULES = {"prejoin", "prejoin.testing"}


def public_errors() -> list[type[BaseException]]:
    found = [getattr(prejoin, name) for name in prejoin.__all__]
    return [one for one in found if inspect.isclass(one) and issubclass(one, BaseException)]


def test_import_loads_no_other_module() -> None:
    code = "import sys, prejoin; print(*sorted(name for name in sys.modules if name.startswith('prejoin.')))"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout.split() == ["prejoin._exports", "prejoin._version"]


def test_every_exported_name_exists() -> None:
    assert len(prejoin.__all__) > 100
    assert [name for name in prejoin.__all__ if not hasattr(prejoin, name)] == []


def test_unknown_name_raises_attribute_error() -> None:
    with pytest.raises(AttributeError, match="has no attribute 'Cleint'"):
        prejoin.Cleint  # type: ignore[attr-defined]  # noqa: B018


def test_type_checkers_see_the_exported_names() -> None:
    tree = ast.parse(Path(prejoin.__file__).read_text(encoding="utf-8"))
    block = next(node for node in tree.body if isinstance(node, ast.If))
    imports = [node for node in block.body if isinstance(node, ast.ImportFrom)]
    assert {alias.name: node.module for node in imports for alias in node.names} == HOMES
    assert all(alias.asname == alias.name for node in imports for alias in node.names), "`X as X` marks a re-export"


def test_public_names_are_documented() -> None:
    found = {name: getattr(prejoin, name) for name in HOMES}
    documented = {name: one for name, one in found.items() if inspect.isclass(one) or inspect.isfunction(one)}
    assert [name for name, one in documented.items() if not (one.__doc__ or "").strip()] == []


def test_public_errors_print_under_their_public_names() -> None:
    for error in public_errors():
        assert f"{error.__module__}.{error.__qualname__}" == f"prejoin.{error.__name__}"
        assert issubclass(error, prejoin.PrejoinError)


def test_public_error_can_be_pickled() -> None:
    assert isinstance(pickle.loads(pickle.dumps(prejoin.CursorError("damaged"))), prejoin.CursorError)


def imported_modules(page: Path) -> set[str]:
    pattern = r"^[ \t]*(?:>>> |\.\.\. )?(?:from|import) (prejoin[\w.]*)"
    return set(re.findall(pattern, page.read_text(encoding="utf-8"), re.MULTILINE))


def test_pages_and_examples_import_public_names_only() -> None:
    pages = [page for page in (*PAGES, *PYTHON) if page.is_file()]
    assert len(pages) > 100
    assert [page for page in pages if not imported_modules(page) <= PUBLIC_MODULES] == []


def test_module_runs_as_the_command() -> None:
    result = subprocess.run([sys.executable, "-m", "prejoin", "--version"], capture_output=True, text=True, check=True)
    assert result.stdout == f"prejoin {prejoin.__version__}\n"
