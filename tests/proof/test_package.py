"""Generated packages loaded in memory: mistakes in their code are found, and they leave nothing behind."""

from __future__ import annotations

import asyncio
import gc
import sys
from dataclasses import replace

import pytest
from tests.render.python.driving import designed, proven

from prejoin import Client
from prejoin.design.model import Design
from prejoin.engine import Embedded
from prejoin.proof import package
from prejoin.proof.package import load_package
from prejoin.proof.result import Proof
from prejoin.render.python.package import Options, RenderedPackage
from prejoin.workload.model import Workload


@pytest.fixture(autouse=True)
def _collect_only_what_a_test_makes() -> None:
    """A collection looks at all objects of the process otherwise, and takes longer the more tests have run."""
    gc.freeze()


def loaded() -> set[str]:
    gc.collect()
    return {name for name in sys.modules if name.startswith("_prejoin_generated")}


def test_package_is_unloaded_with_its_schema() -> None:
    before = loaded()
    found = load_package(*designed("shop"))
    assert len(loaded() - before) == 1
    schema = found.schema
    del found
    assert len(loaded() - before) == 1
    del schema
    assert loaded() == before


def test_package_that_cannot_be_loaded_is_unloaded(monkeypatch: pytest.MonkeyPatch) -> None:
    before = loaded()
    _change(monkeypatch, "schema", "SCHEMA = Schema(", "SCHEMA = Schema(1 / 0,")
    with pytest.raises(ZeroDivisionError):
        load_package(*designed("shop"))
    assert loaded() == before


def test_async_repository_is_optional() -> None:
    options = Options(asynchronous=False)
    assert load_package(*designed("shop"), options).async_repository is None
    assert proven(*designed("shop"), options).right


def _change(monkeypatch: pytest.MonkeyPatch, module: str, old: str, new: str) -> None:
    """Changes the text of a generated module before it is loaded."""
    render = package.render_package

    def changed(workload: Workload, design: Design, options: Options | None = None) -> RenderedPackage:
        rendered = render(workload, design, options)
        assert old in rendered.modules[module]
        text = rendered.modules[module].replace(old, new)
        return replace(rendered, modules={**rendered.modules, module: text})

    monkeypatch.setattr(package, "render_package", changed)


@pytest.mark.parametrize(
    ("module", "old", "new", "wrong"),
    [
        ("repository", 'order="-published_at"', 'order="published_at"', "order"),
        ("repository", "return self.db.get(User, user_id=user_id)", "return self.db.nothing", "AttributeError"),
        ("repository", "return self.db.get(User, user_id=user_id)", "return None", "0 items instead of 1"),
        ("async_repository", "return await self.db.get(User, user_id=user_id)", "return None", "async"),
        ("async_repository", "await self.db.insert(user)", "await self.db.put(user)", "guard of unique email"),
        ("repository", "user.post_count += 1", "user.post_count += 2", "postCount"),
        ("repository", "self.db.insert(user)", "self.db.put(user)", "guard of unique email"),
        ("entities", "avatar_url: str | None = None", "avatar_url: int | None = None", ""),
        ("schema", 'patterns=[Unique("email")]', "patterns=[]", "email"),
    ],
)
def test_mistakes_in_generated_code_are_found(
    monkeypatch: pytest.MonkeyPatch, module: str, old: str, new: str, wrong: str
) -> None:
    _change(monkeypatch, module, old, new)
    found = proven(*designed("blog"))
    assert not found.right
    assert any(wrong in text for one in found.failed for text in (one.wrong, one.problem) if text)


def test_proof_runs_beside_a_running_event_loop() -> None:
    async def run() -> Proof:
        return proven(*designed("shop"))

    assert asyncio.run(run()).right


def test_clients_of_a_schema_outlive_the_package() -> None:
    workload, design = designed("blog")
    found = load_package(workload, design)
    post = found.classes["Post"]
    with Embedded() as engine:
        db = Client(found.schema, design.table, engine)
        db.create_table()
        del found
        assert list(db.query(post, user_id="9b810e76-6ec9-4286-a3ca-828dd5f4b3b2", order="-created_at", limit=1)) == []
