"""Generated code and policies agree: the role of each pattern may send the requests of its method."""

from __future__ import annotations

import functools
import importlib
import inspect
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from prejoin import Call, Client
from prejoin.render.python.package import Options, render_python

from .documents import DOCUMENTS, designed, named
from .iam import allowed, iam_requests
from .test_policies import role

EXAMPLES = [path for path in DOCUMENTS if "examples" in path.parts]


class Watch:
    """Records the calls of each method, by its pattern."""

    def __init__(self, patterns: list[str]) -> None:
        self.patterns = patterns
        self.running = ""
        self.seen: list[tuple[str, Call]] = []

    def __call__(self, call: Call) -> None:
        if self.running:
            self.seen.append((self.running, call))

    def around(self, method: Callable[..., Any]) -> Callable[..., Any]:
        """The method with recording; its docstring names its pattern."""
        doc = inspect.getdoc(method) or ""
        (pattern,) = (one for one in self.patterns if f"\n{one}: " in doc)

        @functools.wraps(method)
        def watched(*arguments: Any, **named_: Any) -> Any:
            self.running = pattern
            try:
                return method(*arguments, **named_)
            finally:
                self.running = ""

        return watched


@pytest.mark.parametrize("path", EXAMPLES, ids=named)
def test_each_method_sends_what_the_role_of_its_pattern_may(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    workload, design = designed(path)
    package = f"permitted_{named(path)}"
    for file, text in render_python(workload, design, Options(package=package, asynchronous=False)).items():
        (tmp_path / file).parent.mkdir(exist_ok=True)
        (tmp_path / file).write_text(text, encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.syspath_prepend(str(tmp_path / "tests"))
    importlib.invalidate_caches()
    watch = Watch([pattern.id for pattern in workload.patterns])
    (tmp_path / "tests" / "test_repository.py").rename(tmp_path / "tests" / f"{package}_tests.py")
    tests = importlib.import_module(f"{package}_tests")
    _watch(importlib.import_module(f"{package}.repository"), watch, monkeypatch)
    monkeypatch.setattr(tests, "Client", functools.partial(Client, observe=watch))
    for name, test in inspect.getmembers(tests, inspect.isfunction):
        if name.startswith("test_"):
            test()
    pk = {"" if slot.name == "table" else slot.name: slot.pk[0].name for slot in design.slots}
    assert {pattern for pattern, _ in watch.seen} == {one.pattern for one in design.operations if one.requests}
    for pattern, call in watch.seen:
        policy = role(workload, design, pattern)
        for one in iam_requests(call.operation, call.request, pk):
            assert allowed(policy, one), (pattern, one)


def _watch(module: ModuleType, watch: Watch, monkeypatch: pytest.MonkeyPatch) -> None:
    for _, repository in inspect.getmembers(module, inspect.isclass):
        if repository.__module__ != module.__name__:
            continue
        for name, method in list(vars(repository).items()):
            if inspect.isfunction(method) and not name.startswith("_"):
                monkeypatch.setattr(repository, name, watch.around(method))
