"""Every method of every generated repository: reads give what brute force gives, writes do what the pattern says."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import HealthCheck, given, settings
from tests.render.python.driving import DOCUMENTS, Driver, designed, league
from tests.render.python.strategies import workloads

from prejoin.design.solve import solve
from prejoin.render.python import Options
from prejoin.render.python.entities import Style
from prejoin.workload.model import Read, Workload


def wrong(driver: Driver) -> list[str]:
    """What is wrong with the methods of a repository."""
    with driver.engine:
        found = [
            driver.read(pattern) if isinstance(pattern, Read) else driver.write(pattern)
            for pattern in driver.workload.patterns
            if pattern.id in driver.methods
        ]
    assert found
    return [text for text in found if text]


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda p: p.parent.name)
def test_every_method_of_a_document_is_right(path: Path, tmp_path: Path) -> None:
    assert wrong(Driver(*designed(path), tmp_path, Options())) == []


def test_every_method_of_the_league_is_right(tmp_path: Path) -> None:
    assert wrong(Driver(*league(), tmp_path, Options())) == []


@pytest.mark.parametrize("name", ["shop", "blog", "teams"])
def test_every_method_that_is_awaited_is_right(name: str, tmp_path: Path) -> None:
    path = next(p for p in DOCUMENTS if p.parent.name == name)
    assert wrong(Driver(*designed(path), tmp_path, Options(), aio=True)) == []


@pytest.mark.parametrize("style", ["msgspec", "pydantic"])
def test_every_method_is_right_with_other_classes(style: Style, tmp_path: Path) -> None:
    pytest.importorskip(style)
    path = next(p for p in DOCUMENTS if p.parent.name == "blog")
    assert wrong(Driver(*designed(path), tmp_path, Options(style=style))) == []


def test_who_comments_on_a_post_need_not_be_its_author(tmp_path: Path) -> None:
    path = next(p for p in DOCUMENTS if p.parent.name == "blog")
    driver = Driver(*designed(path), tmp_path, Options())
    with driver.engine:
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


@given(workloads())
@settings(max_examples=min(settings().max_examples, 15), suppress_health_check=[HealthCheck.too_slow])
def test_every_method_of_a_random_workload_is_right(workload: Workload) -> None:
    with TemporaryDirectory() as folder:
        driver = Driver(workload, solve(workload).design, Path(folder), Options(asynchronous=False))
        assert wrong(driver) == []
