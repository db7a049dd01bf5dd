"""The recipes work as documented, also with concurrent callers, for the stated units."""

from __future__ import annotations

import importlib.util
import random
import sys
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from tests.patterns.faults import in_threads
from tests.place import fresh

from prejoin import Call, Client

RECIPES = Path(__file__).parents[2] / "examples" / "recipes"
NAMES = ("job_queue", "rate_limit", "sessions", "leaderboard", "nearby", "search")


def recipe(name: str) -> Any:
    """The module of a recipe."""
    spec = importlib.util.spec_from_file_location(f"recipe_{name}", RECIPES / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module: ModuleType = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def table(module: Any, calls: list[Call] | None = None) -> Client:
    observe = calls.append if calls is not None else None
    db = Client(module.SCHEMA, "recipes", fresh(), observe=observe)
    db.create_table()
    return db


def test_every_recipe_is_in_the_table_and_tested() -> None:
    assert {path.stem for path in RECIPES.glob("*.py")} == set(NAMES) == set(COSTS)
    readme = (RECIPES / "README.md").read_text(encoding="utf-8")
    assert [name for name in NAMES if f"| [{name}.py]({name}.py) |" not in readme] == []


# --- Behaviour --------------------------------------------------------------------------------------------------------


def test_queue_gives_each_job_to_one_worker() -> None:
    queue = recipe("job_queue")
    db = table(queue)
    bodies = {queue.add(db, "mail", str(number)).body for number in range(8)}
    queue.add(db, "mail", "later", delay=timedelta(hours=1))
    queue.add(db, "other", "else")

    def work(number: int) -> list[str]:
        done = []
        while (job := queue.take(db, "mail")) is not None:
            assert queue.finish(db, job)
            done.append(job.body)
        return done

    done = [body for bodies_of in in_threads(4, work) for body in bodies_of]
    assert sorted(done) == sorted(bodies)


def test_queue_gives_a_job_again_after_its_lease() -> None:
    queue = recipe("job_queue")
    db = table(queue)
    queue.add(db, "mail", "a")
    lost = queue.take(db, "mail", lease=timedelta(seconds=-1))
    again = queue.take(db, "mail")
    assert (lost.attempts, again.attempts) == (1, 2)
    assert not queue.finish(db, lost)
    longer = queue.extend(db, again, timedelta(hours=1))
    assert not queue.finish(db, again)
    assert queue.finish(db, longer)
    assert not queue.finish(db, longer)
    assert queue.take(db, "mail") is None


def test_rate_limit_is_exact_with_concurrent_callers() -> None:
    limits = recipe("rate_limit")
    db = table(limits)
    now, minute = datetime.now(UTC), timedelta(minutes=1)
    allowed = in_threads(4, lambda _: [limits.allow(db, "ann", 10, minute, now) for _ in range(5)])
    assert sum(map(sum, allowed)) == 10
    assert limits.allow(db, "bob", 10, minute, now)
    assert limits.allow(db, "ann", 10, minute, now + minute)


def test_sessions_end_by_time_and_all_at_once() -> None:
    sessions = recipe("sessions")
    db = table(sessions)
    tokens = [sessions.sign_in(db, "ann") for _ in range(3)]
    old, other = sessions.sign_in(db, "ann", timedelta(seconds=-1)), sessions.sign_in(db, "bob")
    assert [sessions.user_of(db, token) for token in (*tokens, old, other)] == [*["ann"] * 3, None, "bob"]
    sessions.sign_out(db, tokens[0])
    sessions.sign_out(db, tokens[0])
    assert sessions.sign_out_everywhere(db, "ann") == 2
    assert [sessions.user_of(db, token) for token in (*tokens, other)] == [*[None] * 3, "bob"]
    assert not any(token in str(db.call("Scan", {})) for token in (*tokens, other))


def test_leaderboard_has_all_points() -> None:
    board = recipe("leaderboard")
    db = table(board)
    in_threads(4, lambda number: [board.win(db, "go", f"p{at}", at + number) for at in range(5)])
    board.win(db, "chess", "p9", 99)
    found = board.top(db, "go", 3)
    assert [(one.player, one.points) for one in found] == [("p4", 22), ("p3", 18), ("p2", 14)]
    assert [board.rank(db, one) for one in found] == [1, 2, 3]


@pytest.mark.parametrize("centre", [(0.0, 0.0), (46.5, 179.99), (-89.9, 12.0), (51.48, -0.01)])
def test_nearby_finds_what_brute_force_finds(centre: tuple[float, float]) -> None:
    places = recipe("nearby")
    db = table(places)
    chance = random.Random(7)
    there = []
    for number in range(60):
        latitude = max(-90.0, min(90.0, centre[0] + chance.uniform(-0.06, 0.06)))
        longitude = (centre[1] + chance.uniform(-0.06, 0.06) + 180) % 360 - 180
        there.append(places.add(db, str(number), "x", latitude, longitude))
    metres = 3_000 if abs(centre[0]) < 60 else 2
    far = {one.place_id: places.distance(*centre, one.latitude, one.longitude) for one in there}
    expected = sorted((id_ for id_ in far if far[id_] <= metres), key=lambda id_: far[id_])
    assert [one.place_id for one in places.nearby(db, *centre, metres)] == expected
    with pytest.raises(ValueError, match="more than a cell"):
        places.nearby(db, *centre, 6_000)


def test_search_finds_words_and_their_beginnings() -> None:
    notes = recipe("search")
    db = table(notes)
    notes.save(db, "1", "A red car, and a blue one")
    notes.save(db, "2", "Red carpets")
    assert notes.search(db, "RED car") == {"1", "2"}
    assert notes.search(db, "carpet") == {"2"}
    assert notes.search(db, "green") == notes.search(db, "") == set()
    notes.save(db, "1", "A green car")
    assert notes.search(db, "red") == {"2"}
    assert notes.search(db, "green car") == {"1"}
    with pytest.raises(ValueError, match="more than 98"):
        notes.save(db, "3", " ".join(f"word{number}" for number in range(99)))


# --- Cost -------------------------------------------------------------------------------------------------------------

Steps = list[tuple[str, Callable[[Client], Any]]]


def _queue(module: Any) -> Steps:
    jobs: list[Any] = []
    return [
        ("add", lambda db: module.add(db, "mail", "a")),
        ("take", lambda db: jobs.append(module.take(db, "mail"))),
        ("extend", lambda db: jobs.append(module.extend(db, jobs[-1]))),
        ("finish", lambda db: module.finish(db, jobs[-1])),
    ]


def _rate_limit(module: Any) -> Steps:
    minute, now = timedelta(minutes=1), datetime.now(UTC)
    return [("allow", lambda db: module.allow(db, "ann", 1, minute, now))]


def _sessions(module: Any) -> Steps:
    tokens: list[str] = []
    return [
        ("sign in", lambda db: tokens.append(module.sign_in(db, "ann"))),
        ("look up", lambda db: module.user_of(db, tokens[0])),
        ("sign out everywhere", lambda db: module.sign_out_everywhere(db, "ann")),
    ]


def _leaderboard(module: Any) -> Steps:
    return [
        ("", lambda db: module.win(db, "go", "ann", 1)),
        ("win", lambda db: module.win(db, "go", "ann", 1)),
        ("top", lambda db: module.top(db, "go")),
        ("rank", lambda db: module.rank(db, module.Score("go", "ann", 2))),
    ]


def _nearby(module: Any) -> Steps:
    return [
        ("add", lambda db: module.add(db, "1", "x", 0.0, 0.0)),
        ("search", lambda db: module.nearby(db, 0.0, 0.0, 100)),
    ]


def _search(module: Any) -> Steps:
    return [
        ("save", lambda db: module.save(db, "1", "one two three")),
        ("search", lambda db: module.search(db, "one two")),
    ]


COSTS: dict[str, Callable[[Any], Steps]] = {
    "job_queue": _queue,
    "rate_limit": _rate_limit,
    "sessions": _sessions,
    "leaderboard": _leaderboard,
    "nearby": _nearby,
    "search": _search,
}


@pytest.mark.parametrize("name", NAMES)
def test_units_are_those_of_the_table(name: str) -> None:
    module = recipe(name)
    calls: list[Call] = []
    db = table(module, calls)
    found = []
    for word, step in COSTS[name](module):
        calls.clear()
        step(db)
        found.append(f"{word} {sum(call.units for call in calls):g}")
    said = ", ".join(text for text in found if not text.startswith(" "))
    row = next(
        line for line in (RECIPES / "README.md").read_text(encoding="utf-8").splitlines() if f"({name}.py)" in line
    )
    assert row.endswith(f"| {said} |"), said
