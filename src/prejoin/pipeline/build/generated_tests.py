"""The tests of a generated package, run before anything is written."""

from __future__ import annotations

import importlib
import importlib.util
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

_TESTS = PurePosixPath("tests/test_repository.py")
_MODULE = "prejoin_generated_tests"


@dataclass(frozen=True, slots=True)
class TestRun:
    """The results of the generated tests."""

    __test__ = False  # pytest would collect it by its name

    passed: frozenset[str] = frozenset()
    """As pytest names them: `tests/test_repository.py::test_order`."""
    failed: Mapping[str, str] | None = None
    """The error of each test that failed."""
    problem: str = ""
    """Why no test could be run."""


def run_tests(files: Mapping[PurePosixPath, str], package: str) -> TestRun:
    """Runs the tests of a generated package before it is written.

    They are functions without arguments on the embedded engine, so pytest need not run them: this is much quicker.
    """
    with _import_package(files, package) as folder:
        try:
            tests = _tests(folder / _TESTS)
        except ImportError as problem:
            return TestRun(problem=str(problem))  # pytest or pydantic is not installed
        errors_by_test: dict[str, str] = {}
        for name, test in tests.items():
            try:
                test()
            except (KeyboardInterrupt, SystemExit):
                raise
            except BaseException as problem:  # whatever a test raises, the others are run; pytest's are no `Exception`
                errors_by_test[f"{_TESTS}::{name}"] = f"{type(problem).__name__}: {problem}".rstrip(": ")
    return TestRun(frozenset(f"{_TESTS}::{name}" for name in tests) - errors_by_test.keys(), errors_by_test)


def _tests(path: Path) -> dict[str, Callable[[], Any]]:
    spec = importlib.util.spec_from_file_location(_MODULE, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return {name: test for name, test in vars(module).items() if name.startswith("test_") and callable(test)}


@contextmanager
def _import_package(files: Mapping[PurePosixPath, str], package: str) -> Iterator[Path]:
    """Makes a package importable from a temporary folder, and forgets it again.

    Another package of the same name that is imported already is set aside meanwhile.
    """
    modules_of_package = {name: module for name, module in sys.modules.items() if name.partition(".")[0] == package}
    for name in modules_of_package:
        del sys.modules[name]
    with tempfile.TemporaryDirectory() as folder:
        for path, text in files.items():
            if path.suffix == ".py":
                place = Path(folder) / path
                place.parent.mkdir(parents=True, exist_ok=True)
                place.write_text(text, encoding="utf-8")
        sys.path.insert(0, folder)
        bytecode, sys.dont_write_bytecode = sys.dont_write_bytecode, True
        try:
            importlib.invalidate_caches()
            yield Path(folder)
        finally:
            sys.dont_write_bytecode = bytecode
            sys.path.remove(folder)
            for name in [name for name in sys.modules if name.partition(".")[0] == package]:
                del sys.modules[name]
            sys.modules.update(modules_of_package)
