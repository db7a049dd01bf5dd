"""The generated tests of a build, run before anything is written."""

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
class Ran:
    """What came of running generated tests."""

    passed: frozenset[str] = frozenset()
    """As pytest calls them: `tests/test_repository.py::test_order`."""
    failed: Mapping[str, str] | None = None
    """What was wrong, by test."""
    problem: str = ""
    """Why none could be run."""


def run_tests(files: Mapping[PurePosixPath, str], package: str) -> Ran:
    """Runs the tests among the files of a generated package, as they are in memory and not as they are on disk.

    They are functions without arguments on the embedded engine, so pytest need not run them: that is much quicker.
    """
    with tempfile.TemporaryDirectory() as folder:
        for path, text in files.items():
            if path.suffix == ".py":
                place = Path(folder) / path
                place.parent.mkdir(parents=True, exist_ok=True)
                place.write_text(text, encoding="utf-8")
        with _importing(folder, package):
            try:
                tests = _tests(Path(folder) / _TESTS)
            except ImportError as problem:
                return Ran(problem=str(problem))  # of what the tests need here: pytest, pydantic
            failed: dict[str, str] = {}
            for name, test in tests.items():
                try:
                    test()
                except Exception as problem:  # whatever is wrong with a test, the others are run
                    failed[f"{_TESTS}::{name}"] = f"{type(problem).__name__}: {problem}".rstrip(": ")
    return Ran(frozenset(f"{_TESTS}::{name}" for name in tests) - failed.keys(), failed)


def _tests(path: Path) -> dict[str, Callable[[], Any]]:
    spec = importlib.util.spec_from_file_location(_MODULE, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return {name: test for name, test in vars(module).items() if name.startswith("test_") and callable(test)}


@contextmanager
def _importing(folder: str, package: str) -> Iterator[None]:
    """Imports a package from a folder, whatever else of its name is imported already; and forgets it again."""
    own = {name: module for name, module in sys.modules.items() if name.partition(".")[0] == package}
    for name in own:
        del sys.modules[name]
    sys.path.insert(0, folder)
    bytecode, sys.dont_write_bytecode = sys.dont_write_bytecode, True
    try:
        importlib.invalidate_caches()
        yield
    finally:
        sys.dont_write_bytecode = bytecode
        sys.path.remove(folder)
        for name in [name for name in sys.modules if name.partition(".")[0] == package]:
            del sys.modules[name]
        sys.modules.update(own)
