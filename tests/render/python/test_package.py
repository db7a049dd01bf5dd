"""Generated packages as files: formatted, linted, type-checked, stable; and the schema is the one that was proven."""

from __future__ import annotations

import importlib
import subprocess
import sys
from itertools import count
from pathlib import Path, PurePosixPath

import pytest
from tests.render.python.driving import DOCUMENTS, ROOT, Driver, designed, league

from prejoin import keys
from prejoin.design.model import Design
from prejoin.design.solve import solve
from prejoin.proof.schema import schema_of
from prejoin.render.python import Options, render_python
from prejoin.render.python.entities import Style
from prejoin.render.python.names import names_of
from prejoin.render.python.package import repository_methods
from prejoin.workload.files import read_file
from prejoin.workload.model import Read, Workload

ODD = Path(__file__).with_name("odd.md")
RULES = "E,F,W,I,B,UP,SIM,C4,PIE,PT,RUF,RET,PERF,N,A,TID,S"
_numbers = count(1)


def everything() -> dict[str, tuple[Workload, Design]]:
    """All documents there are, by the names of their packages."""
    found = {path.parent.name: designed(path) for path in DOCUMENTS}
    return {**found, "league": league(), "odd": designed(ODD)}


def written(folder: Path, options: Options, only: tuple[str, ...] = ()) -> list[str]:
    """The packages of all documents in a folder; their names."""
    names = []
    for name, (workload, design) in everything().items():
        if only and name not in only:
            continue
        # Packages of several documents lie side by side, and so do their tests.
        for path, text in render_python(workload, design, Options(name, options.style)).items():
            place = folder / (path if path.parts[0] == name else PurePosixPath(name) / path.name)
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_text(text, encoding="utf-8")
        names.append(name)
    return names


def run(*command: str, folder: Path) -> str:
    """What a tool has to complain about."""
    done = subprocess.run([sys.executable, "-m", *command], cwd=folder, capture_output=True, text=True)
    return "" if done.returncode == 0 else done.stdout + done.stderr


STYLES: list[Style] = ["dataclass", "msgspec", "pydantic"]


@pytest.mark.parametrize("style", STYLES)
def test_generated_code_is_linted_formatted_and_typed(style: Style, tmp_path: Path) -> None:
    names = written(tmp_path, Options(style=style), () if style == "dataclass" else ("shop", "blog", "odd"))
    # Samples of tokens are no secrets, and prose may be long.
    ignored = "S101,S105,S106,E501,RUF001,RUF002,RUF003"
    chosen = ("--isolated", "--target-version", "py311", "--select", RULES, "--ignore", ignored, ".")
    assert run("ruff", "check", *chosen, folder=tmp_path) == ""
    assert run("ruff", "format", "--isolated", "--target-version", "py311", "--check", ".", folder=tmp_path) == ""
    assert (
        run("ruff", "format", "--isolated", "--line-length", "120", "--check", "--exclude", "odd", ".", folder=tmp_path)
        == ""
    )
    if style == "pydantic":
        pytest.importorskip("pydantic")
    (tmp_path / "mypy.ini").write_text(f"[mypy]\nstrict = True\nwarn_unreachable = True\nmypy_path = {ROOT / 'src'}\n")
    packages = [part for name in names for part in ("-p", name)]
    assert run("mypy", "--cache-dir", str(tmp_path / "cache"), *packages, folder=tmp_path) == ""


@pytest.mark.parametrize("name", sorted(everything()))
def test_the_generated_schema_is_the_one_that_is_proven(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    workload, design = everything()[name]
    package = f"schema_{next(_numbers)}"
    for path, text in render_python(workload, design, Options(package)).items():
        (tmp_path / path).parent.mkdir(exist_ok=True)
        (tmp_path / path).write_text(text, encoding="utf-8")
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


@pytest.mark.parametrize("name", sorted(everything()))
def test_the_generated_tests_pass(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    workload, design = everything()[name]
    package = f"tested_{next(_numbers)}"
    for path, text in render_python(workload, design, Options(package)).items():
        place = tmp_path / (path if path.parts[0] == package else PurePosixPath(package) / path.name)
        place.parent.mkdir(exist_ok=True)
        place.write_text(text, encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    module = importlib.import_module(f"{package}.test_repository")
    tests = [getattr(module, one) for one in dir(module) if one.startswith("test_")]
    assert len(tests) == len(repository_methods(workload, design))
    for test in tests:
        test()
    seed = importlib.import_module(f"{package}.seed")
    repository = module.ready()
    seed.fill(repository.db)
    stored = [e for e in workload.entities if design.item(e.name)]
    assert sum(len(page) for page in repository.db.everything()) == len(stored)


def test_the_same_design_gives_the_same_bytes() -> None:
    path = next(p for p in DOCUMENTS if p.parent.name == "shop")
    first = render_python(*designed(path))
    workload = read_file(path).workload
    assert render_python(workload, solve(workload).design) == first
    assert [str(p) for p in first][:2] == ["shop/__init__.py", "shop/async_repository.py"]


def test_odd_names_are_valid_and_noted(tmp_path: Path) -> None:
    workload, design = designed(ODD)
    names = names_of(workload)
    assert names.fields["class"] == {
        "class": "class_", "limit": "limit_", "Größe": "größe", "str": "str_", "order": "order_", "date": "date",
    }  # fmt: skip
    assert list(names.fields["Page"].values())[:4] == ["page_id", "page_id_2", "page_id_3", "class_"]
    assert names.methods["AP-001"] == "import_"
    assert names.methods["AP-006"] != "import_"
    text = render_python(workload, design)[PurePosixPath("odd_names/entities.py")]
    assert "# 'class' has another meaning in Python" in text
    driver = Driver(workload, design, tmp_path, Options())
    with driver.engine:
        for pattern in workload.patterns:
            if pattern.id in driver.methods:
                assert (driver.read(pattern) if isinstance(pattern, Read) else driver.write(pattern)) == ""
    assert set(driver.methods) == {p.id for p in workload.patterns}


def test_without_an_async_repository_there_is_none() -> None:
    path = next(p for p in DOCUMENTS if p.parent.name == "shop")
    assert not any("async" in str(p) for p in render_python(*designed(path), Options(asynchronous=False)))


def test_the_guide_names_the_files() -> None:
    path = next(p for p in DOCUMENTS if p.parent.name == "shop")
    guide = (ROOT / "docs" / "guides" / "generated-code.md").read_text(encoding="utf-8")
    files = {str(p) for p in render_python(*designed(path)) if p.name != "__init__.py"}
    assert {file for file in files if f"| `{file}` |" not in guide} == set()
    assert guide.count(".py` |") == len(files)
