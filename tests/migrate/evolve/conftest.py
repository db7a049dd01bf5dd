"""Commands that change a table load the generated package of each version, in each of their calls. Tests load it once."""

from __future__ import annotations

from typing import Any

import pytest

from prejoin.design.model import Design
from prejoin.migrate.evolve import transition
from prejoin.proof.package import LoadedPackage, load_package
from prejoin.workload.model import Workload

_LOADED: dict[str, LoadedPackage] = {}


@pytest.fixture(autouse=True)
def packages_loaded_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """A package is a function of its document, design and options, and no test changes one."""

    def load(workload: Workload, design: Design, *options: Any) -> LoadedPackage:
        key = repr((workload, design, options))
        if key not in _LOADED:
            _LOADED[key] = load_package(workload, design, *options)
        return _LOADED[key]

    monkeypatch.setattr(transition, "load_package", load)
