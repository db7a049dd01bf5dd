"""Every method of every generated repository: reads give what brute force gives, writes do what the pattern says."""

from __future__ import annotations

from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.proof.league import NOW
from tests.render.python.driving import NAMES, Driver, designed
from tests.render.python.workloads import random_workload

from prejoin.design.solve import solve
from prejoin.engine import Embedded
from prejoin.proof.run import prove
from prejoin.render.python import Options
from prejoin.render.python.entities import Style
from prejoin.render.python.package import repository_methods


@pytest.mark.parametrize("name", NAMES)
def test_every_method_of_a_document_is_right(name: str, tmp_path: Path) -> None:
    with Driver(*designed(name), tmp_path) as driver:
        assert driver.wrong() == []


@pytest.mark.parametrize("name", ["shop", "growing", "ranges", "together"])
def test_every_method_that_is_awaited_is_right(name: str, tmp_path: Path) -> None:
    with Driver(*designed(name), tmp_path, aio=True) as driver:
        assert driver.wrong() == []


@pytest.mark.parametrize(
    ("style", "name"),
    [
        ("msgspec", "blog"),
        ("msgspec", "growing"),
        ("msgspec", "ranges"),
        ("pydantic", "growing"),
        ("pydantic", "names"),
        ("pydantic", "together"),
    ],
)
def test_every_method_is_right_with_other_classes(style: Style, name: str, tmp_path: Path) -> None:
    pytest.importorskip(style)
    with Driver(*designed(name), tmp_path, Options(style=style)) as driver:
        assert driver.wrong() == []


@pytest.mark.parametrize("name", ["growing", "names", "odd", "ranges", "spread", "together"])
def test_every_pattern_of_a_document_of_ours_has_a_method(name: str) -> None:
    workload, design = designed(name)
    assert set(repository_methods(workload, design)) == {pattern.id for pattern in workload.patterns}


@pytest.mark.parametrize("name", ["growing", "names", "odd", "ranges", "spread", "together"])
def test_the_design_of_a_document_of_ours_is_proven(name: str) -> None:
    with Embedded() as engine:
        proof = prove(*designed(name), engine, now=NOW)
    assert [(a.pattern, a.wrong, a.problem) for a in proof.failed] == []
    assert proof.findings == ()


def test_who_comments_on_a_post_need_not_be_its_author(tmp_path: Path) -> None:
    with Driver(*designed("blog"), tmp_path) as driver:
        items = driver.bench.items
        post = next(p for p in items["Post"] if p["status"] == "PUBLISHED")
        other = next(u for u in items["User"] if u["userId"] != post["userId"])
        new = driver.bench.maker.another(
            driver.bench.entity("Comment"), {"postId": post["postId"], "userId": other["userId"]}
        )
        assert new is not None
        driver.repository.comment_on_post(driver.record("Comment", new))
        assert driver.repository.db.get(driver.entities.Post, post_id=post["postId"]).comment_count == (
            post["commentCount"] + 1
        )


@given(st.randoms(use_true_random=False), st.sampled_from(["dataclass", "msgspec"]), st.booleans(), st.booleans())
@settings(max_examples=min(settings().max_examples, 10), suppress_health_check=[HealthCheck.too_slow])
def test_every_method_of_a_random_workload_is_right(chance: Random, style: Style, aio: bool, harsh: bool) -> None:
    workload = random_workload(chance)
    design, options = solve(workload).design, Options(style=style)
    with TemporaryDirectory() as folder, Driver(workload, design, Path(folder), options, aio, harsh=harsh) as driver:
        assert driver.wrong() == []


@given(st.randoms(use_true_random=False))
@settings(max_examples=min(settings().max_examples, 6), suppress_health_check=[HealthCheck.too_slow])
def test_the_design_of_a_random_workload_is_proven(chance: Random) -> None:
    workload = random_workload(chance)
    design = solve(workload).design
    with Embedded() as engine:
        proof = prove(workload, design, engine, now=NOW)
    served = {operation.pattern for operation in design.operations if operation.served}
    assert [(a.pattern, a.wrong, a.problem) for a in proof.failed if a.pattern in served] == []
    assert proof.findings == ()
