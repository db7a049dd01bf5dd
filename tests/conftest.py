"""Shared by all tests: the number of examples of a property, the tier of a test, and cleaning up a remote DynamoDB.

Properties have no deadlines, because machines are busy. In CI they see the same examples each time, elsewhere new ones.
"""

from __future__ import annotations

import gc
import os
import sys
from collections import Counter
from collections.abc import Generator, Iterator
from compileall import compile_dir
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from _pytest.assertion.rewrite import PYC_TAIL, _rewrite_test, _write_pyc, assertstate_key, get_cache_dir, try_makedirs
from _pytest.doctest import DoctestModule
from _pytest.runner import runtestprotocol
from hypothesis import settings
from hypothesis.internal import charmap
from hypothesis.internal.conjecture import providers
from hypothesis.internal.intervalsets import IntervalSet

from tests.place import examples, leave, tidy

TESTS = Path(__file__).parent

settings.register_profile("anywhere", deadline=None, print_blob=True, max_examples=examples(40))
settings.register_profile("ci", deadline=None, print_blob=True, max_examples=examples(40), derandomize=True)
settings.load_profile("ci" if os.environ.get("CI") else "anywhere")
if "PREJOIN_EXAMPLES" not in os.environ:
    # Hypothesis parses all modules for constants to draw, in each process. The few examples of every day draw hardly any.
    providers._get_local_constants = lambda: providers._local_constants
# In each process of a new clone it would encode every character to find which UTF-8 has: all but the surrogates.
UTF_8 = IntervalSet(((0, 0xD7FF), (0xE000, sys.maxunicode))), IntervalSet(())
_intervals = charmap.intervals_from_codec
charmap.intervals_from_codec = lambda codec: UTF_8 if codec == "utf-8" else _intervals(codec)

REPRESENTATIVE = frozenset(
    {"documents", "files", "groups", "organisation", "shop"}
    | {"aws_retail_cart", "aws_ski_resort", "debrie_session_store"}
)
"""The documents that the everyday tier designs, proves and renders.

Four more, which were among them, gave the everyday tests no line of `src` that the other tests do not reach.
"""
LONG = "ranges"
"""A document of tests/render/python that takes seconds to solve."""
BY_DOCUMENT = ("tests/design/", "tests/proof/", "tests/render/", "tests/workload/test_data.py")
"""Folders whose tests run with every document. Those with a document that is not representative are marked slow."""


def _documents() -> frozenset[str]:
    """The names of examples and published designs."""
    paths = (*TESTS.glob("corpus/*/access-patterns.md"), *TESTS.parent.glob("examples/*/access-patterns.md"))
    return frozenset(path.parent.name for path in paths)


def _names(*values: object) -> Iterator[str]:
    """Possible names of documents in parameters: a name, a path, or either within a tuple."""
    for value in values:
        if isinstance(value, tuple):
            yield from _names(*value)
        elif isinstance(value, Path):
            yield value.parent.name
        elif isinstance(value, str):
            yield value


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Marks tests as slow by their parameters, before `-m` selects."""
    documents = _documents()
    assert documents >= REPRESENTATIVE
    others = documents - REPRESENTATIVE | {LONG}
    seen: Counter[tuple[Path, str]] = Counter()
    for item in items:
        if not isinstance(item, pytest.Function) or not hasattr(item, "callspec"):
            continue
        if item.nodeid.startswith(BY_DOCUMENT) and not others.isdisjoint(_names(*item.callspec.params.values())):
            item.add_marker(pytest.mark.slow)
            continue
        if first := item.get_closest_marker("everyday"):
            seen[item.path, item.originalname] += 1
            if seen[item.path, item.originalname] > first.args[0]:
                item.add_marker(pytest.mark.slow)


class _Doctests:
    """Collects doctests only from files that contain some, because collecting takes longer than running them.

    It is a plugin, because a hook in this file would not apply to `src`.
    """

    @pytest.hookimpl(wrapper=True)
    def pytest_collect_file(self, file_path: Path) -> Generator[None, list[pytest.Collector], list[pytest.Collector]]:
        collectors = yield
        if b">>> " in file_path.read_bytes():
            return collectors
        return [collector for collector in collectors if not isinstance(collector, DoctestModule)]


SHARED = "PREJOIN_TEST_SOLUTIONS"
"""Names the folder in which the processes of a run keep solutions: `tests/solutions.py`."""


def pytest_configure(config: pytest.Config) -> None:
    config.pluginmanager.register(_Doctests())
    if SHARED not in os.environ:  # in the process that starts the others
        if config.getoption("numprocesses", None) and not sys.dont_write_bytecode:
            _compile(config)
        folder = TemporaryDirectory(prefix="prejoin-solutions-")
        os.environ[SHARED] = folder.name
        config.add_cleanup(lambda: (os.environ.pop(SHARED), folder.cleanup()))


def _compile(config: pytest.Config) -> None:
    """Compiles the package and the tests of a new clone once, and not in each process: it takes seconds."""
    compile_dir(TESTS.parent / "src", quiet=2)
    for path in TESTS.rglob("test_*.py"):
        compiled = get_cache_dir(path) / f"{path.stem}{PYC_TAIL}"
        if not compiled.exists() and try_makedirs(compiled.parent):
            digest, code = _rewrite_test(path, config)
            _write_pyc(config.stash[assertstate_key], code, digest, compiled)


gc.disable()


def pytest_collection_finish() -> None:
    """Enables garbage collection, without the ten thousand collected tests, and less often than Python's default.

    With the default, a collection after each 700 new objects, it took a tenth of the CPU time.
    """
    gc.freeze()
    gc.set_threshold(50_000, 20, 20)
    gc.enable()


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item, nextitem: pytest.Item | None) -> bool | None:
    """Runs a test in a process of xdist, and sends one report if it passes, instead of five messages.

    `--durations` shows setups and teardowns without xdist only.
    """
    if "PYTEST_XDIST_WORKER" not in os.environ:
        return None
    for report in runtestprotocol(item, log=False, nextitem=nextitem):
        if report.when == "call" or not report.passed:
            item.ihook.pytest_runtest_logreport(report=report)
    return True


def pytest_runtest_teardown() -> None:
    tidy()


def pytest_sessionfinish() -> None:
    leave()
