"""Generated packages as files: formatted, linted, type-checked, stable, with the keys of the design."""

from __future__ import annotations

import importlib
import subprocess
import sys
from collections.abc import Mapping
from itertools import count
from pathlib import Path, PurePosixPath
from random import Random

import pytest
from tests.proof.facets import design_facets, schema_facets
from tests.render.python.driving import DOCUMENTS, NAMES, ROOT, designed, written
from tests.render.python.workloads import random_workload
from tests.solutions import solve

from prejoin.render.python import Options, render_python
from prejoin.render.python.entities import Style
from prejoin.render.python.names import names_of
from prejoin.render.python.package import repository_tests
from prejoin.workload.contents import contents_of
from prejoin.workload.files import read_file

RULES = "E,F,W,I,B,UP,SIM,C4,PIE,PT,RUF,RET,PERF,N,A,TID,S"
# Samples of tokens are not secrets, prose may be long, and some scripts have no lower-case letters.
IGNORED = "S101,S105,S106,E501,RUF001,RUF002,RUF003,N802,N803,N806"
RUFF = ("--isolated", "--target-version", "py311")
STYLES: list[Style] = ["dataclass", "msgspec", "pydantic"]
STYLED = ["shop", "growing", "names", "together"]
"""Documents that are also rendered with other styles of classes."""
RANDOM = 8
_numbers = count(1)


def run(*command: str, folder: Path) -> str:
    """The complaints of a tool."""
    done = subprocess.run([sys.executable, "-m", *command], cwd=folder, capture_output=True, text=True)
    return "" if done.returncode == 0 else done.stdout + done.stderr


def random_package(seed: int) -> dict[str, Mapping[PurePosixPath, str]]:
    """The package of a random workload, by its name."""
    workload = random_workload(Random(seed))
    options = Options(f"random_{seed}", STYLES[seed % 3], asynchronous=seed % 2 == 0)
    return {options.package: render_python(workload, solve(workload).design, options)}


def faults(packages: Mapping[str, Mapping[PurePosixPath, str]], folder: Path) -> list[str]:
    """The complaints of linter, formatter and type checker about packages, which are written into one folder."""
    for package, files in packages.items():
        written(files, folder, package)
    (folder / "mypy.ini").write_text(f"[mypy]\nstrict = True\nwarn_unreachable = True\nmypy_path = {ROOT / 'src'}\n")
    typed = [part for package in packages for part in ("-p", package)]
    outputs = [
        run("ruff", "check", *RUFF, "--select", RULES, "--ignore", IGNORED, ".", folder=folder),
        run("ruff", "format", *RUFF, "--check", ".", folder=folder),
        run("mypy", "--cache-dir", str(folder / "cache"), *typed, folder=folder),
    ]
    return [text for text in outputs if text]


@pytest.mark.slow
def test_generated_code_is_linted_formatted_and_typed(tmp_path: Path) -> None:
    packages: dict[str, Mapping[PurePosixPath, str]] = {}
    for name in NAMES:
        for style in STYLES if name in STYLED else STYLES[:1]:
            options = Options(f"{name}_{style}", style, asynchronous=style == "dataclass")
            packages[options.package] = render_python(*designed(name), options)
    for seed in range(RANDOM):
        packages |= random_package(seed)
    assert faults(packages, tmp_path) == []
    # With longer lines nothing is joined, except for long conditions, which have no commas, as in the market.
    others = ("documents", "proof")
    usual = [f"{name}_dataclass" for name, path in DOCUMENTS.items() if path.parent.name not in others]
    assert run("ruff", "format", *RUFF, "--line-length", "120", "--check", *usual, folder=tmp_path) == ""


@pytest.mark.parametrize("name", NAMES)
def test_the_schema_has_the_facets_of_the_design(name: str) -> None:
    assert schema_facets(*designed(name)) == design_facets(*designed(name))


@pytest.mark.everyday(8)
@pytest.mark.parametrize("name", NAMES)
def test_the_generated_tests_pass(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    workload, design = designed(name)
    package = f"tested_{next(_numbers)}"
    written(render_python(workload, design, Options(package)), tmp_path, package)
    monkeypatch.syspath_prepend(str(tmp_path))
    module = importlib.import_module(f"{package}.test_repository")
    tests = [getattr(module, one) for one in dir(module) if one.startswith("test_")]
    planned = repository_tests(workload, design, Options(package)).values()
    contents = [one for entity in workload.entities for one in contents_of(entity)]
    assert all(one.names for one in planned)
    assert len(tests) == sum(len(one.names) for one in planned) + len(contents)
    for test in tests:
        test()
    seed = importlib.import_module(f"{package}.seed")
    repository = module.ready()
    seed.fill(repository.db)
    stored = [e for e in workload.entities if design.item(e.name)]
    assert sum(len(page) for page in repository.db.everything()) == len(stored)


def test_the_same_design_gives_the_same_bytes() -> None:
    first = render_python(*designed("shop"))
    workload = read_file(DOCUMENTS["shop"]).workload
    assert render_python(workload, solve(workload).design) == first
    assert [str(p) for p in first][:2] == ["shop/__init__.py", "shop/async_repository.py"]


def test_odd_names_are_valid_and_noted() -> None:
    workload, design = designed("odd")
    names = names_of(workload)
    assert names.fields["class"] == {
        "class": "class_", "limit": "limit_", "Größe": "größe", "str": "str_", "order": "order_", "date": "date",
    }  # fmt: skip
    assert list(names.fields["Page"].values())[:4] == ["page_id", "page_id_2", "page_id_3", "class_"]
    assert names.methods["AP-001"] == "import_"
    assert names.methods["AP-006"] != "import_"
    text = render_python(workload, design)[PurePosixPath("odd_names/entities.py")]
    assert "# 'class' has another meaning in Python" in text


def test_without_an_async_repository_there_is_none() -> None:
    assert not any("async" in str(p) for p in render_python(*designed("shop"), Options(asynchronous=False)))


def test_the_guide_names_the_files() -> None:
    guide = (ROOT / "docs" / "guides" / "generated-code.md").read_text(encoding="utf-8")
    files = {str(p) for p in render_python(*designed("shop")) if p.name != "__init__.py"}
    assert {file for file in files if f"| `{file}` |" not in guide} == set()
    assert guide.count(".py` |") == len(files)
