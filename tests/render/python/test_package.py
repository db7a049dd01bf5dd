"""Generated packages as files: formatted, linted, type-checked, stable; and the schema is the one that was proven."""

from __future__ import annotations

import importlib
import subprocess
import sys
from collections.abc import Mapping
from itertools import count
from pathlib import Path, PurePosixPath
from random import Random

import pytest
from tests.render.python.driving import DOCUMENTS, NAMES, ROOT, designed, written
from tests.render.python.workloads import random_workload

from prejoin import keys
from prejoin.design.solver.solve import solve
from prejoin.proof.schema import schema_of
from prejoin.render.python import Options, render_python
from prejoin.render.python.entities import Style
from prejoin.render.python.names import names_of
from prejoin.render.python.package import repository_methods
from prejoin.workload.files import read_file

RULES = "E,F,W,I,B,UP,SIM,C4,PIE,PT,RUF,RET,PERF,N,A,TID,S"
# Samples of tokens are no secrets, prose may be long, and in some scripts there are no lower-case letters.
IGNORED = "S101,S105,S106,E501,RUF001,RUF002,RUF003,N802,N803,N806"
RUFF = ("--isolated", "--target-version", "py311")
STYLES: list[Style] = ["dataclass", "msgspec", "pydantic"]
STYLED = ["shop", "growing", "names", "together"]
"""Written with other classes, too."""
RANDOM = 8
_numbers = count(1)


def run(*command: str, folder: Path) -> str:
    """What a tool has to complain about."""
    done = subprocess.run([sys.executable, "-m", *command], cwd=folder, capture_output=True, text=True)
    return "" if done.returncode == 0 else done.stdout + done.stderr


def random_package(seed: int) -> dict[str, Mapping[PurePosixPath, str]]:
    """The package of a random workload, by its name."""
    workload = random_workload(Random(seed))
    options = Options(f"random_{seed}", STYLES[seed % 3], asynchronous=seed % 2 == 0)
    return {options.package: render_python(workload, solve(workload).design, options)}


def faults(packages: Mapping[str, Mapping[PurePosixPath, str]], folder: Path) -> list[str]:
    """What linter, formatter and type checker have to say about packages, which lie side by side in a folder then."""
    for package, files in packages.items():
        written(files, folder, package)
    (folder / "mypy.ini").write_text(f"[mypy]\nstrict = True\nwarn_unreachable = True\nmypy_path = {ROOT / 'src'}\n")
    typed = [part for package in packages for part in ("-p", package)]
    said = [
        run("ruff", "check", *RUFF, "--select", RULES, "--ignore", IGNORED, ".", folder=folder),
        run("ruff", "format", *RUFF, "--check", ".", folder=folder),
        run("mypy", "--cache-dir", str(folder / "cache"), *typed, folder=folder),
    ]
    return [text for text in said if text]


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
    # Where lines may be longer nothing is drawn together again; long conditions apart, in which there are no commas.
    usual = [f"{name}_dataclass" for name, path in DOCUMENTS.items() if path.parent.name != "documents"]
    assert run("ruff", "format", *RUFF, "--line-length", "120", "--check", *usual, folder=tmp_path) == ""


@pytest.mark.parametrize("name", NAMES)
def test_the_generated_schema_is_the_one_that_is_proven(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    workload, design = designed(name)
    package = f"schema_{next(_numbers)}"
    written(render_python(workload, design, Options(package)), tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    ours = importlib.import_module(f"{package}.schema").SCHEMA
    theirs = schema_of(design, workload).schema
    names = names_of(workload)
    back = {e: {field: a for a, field in fields.items()} for e, fields in names.fields.items()}
    tags = {item.tag: item.entity for item in design.items if not item.copy}
    python = {e: schema_of(design, workload).names[e] for e in names.fields}

    def shown(facet: keys.Facet) -> tuple[object, ...]:
        renamed = {field: python[tags[facet.entity]][a] for field, a in back[tags[facet.entity]].items()}
        texts = [keys.renamed(form.text, renamed) if form else None for form in (facet.pk, facet.sk)]
        when = {(renamed[w.attribute], w.values) for w in facet.when}
        holds = frozenset(renamed[n] for n in facet.holds) if facet.holds is not None else None
        return facet.entity, facet.slot, *texts, when, facet.copy, holds

    assert [shown(f) for f in ours.facets if f.entity in tags] == [
        (
            f.entity,
            f.slot,
            *(form.text if form else None for form in (f.pk, f.sk)),
            {(w.attribute, w.values) for w in f.when},
            f.copy,
            f.holds,
        )
        for f in theirs.facets
        if f.entity in tags
    ]
    assert ours.key_types == theirs.key_types
    assert (ours.indexes, ours.type_attribute) == (theirs.indexes, theirs.type_attribute) or {
        i: ours.keys(i) for i in ours.indexes
    } == {i: theirs.keys(i) for i in theirs.indexes}


@pytest.mark.parametrize("name", NAMES)
def test_the_generated_tests_pass(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    workload, design = designed(name)
    package = f"tested_{next(_numbers)}"
    written(render_python(workload, design, Options(package)), tmp_path, package)
    monkeypatch.syspath_prepend(str(tmp_path))
    module = importlib.import_module(f"{package}.test_repository")
    tests = [getattr(module, one) for one in dir(module) if one.startswith("test_")]
    methods = repository_methods(workload, design).values()
    assert len(tests) == len(methods) + sum(bool(method.refusals) for method in methods)
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
