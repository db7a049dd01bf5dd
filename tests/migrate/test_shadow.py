"""Shadow reads: the application gets its own result, differences are reported, and nothing fails or waits."""

from __future__ import annotations

import threading
from decimal import Decimal
from typing import Any

import pytest

from prejoin import ShadowDifference, ShadowReads


def test_answers_are_compared_by_value() -> None:
    found: list[ShadowDifference] = []
    shadow = ShadowReads(found.append, settle=0)
    new = {1: {"total": Decimal("1.50"), "note": None}, 2: {"total": Decimal(2)}}

    @shadow.compare(lambda number: new[number])
    def order(number: int) -> dict[str, Any]:
        return {"total": Decimal("1.5")}

    assert order(1) == {"total": Decimal("1.5")}
    assert order(number=2) == {"total": Decimal("1.5")}
    assert shadow.wait()
    assert (shadow.counts.equal, shadow.counts.different) == (1, 1)
    assert [(d.name.rpartition(".")[2], d.named, d.old, d.new) for d in found] == [
        ("order", {"number": 2}, {"total": "1.5"}, {"total": "2"})
    ]


def test_forms_make_answers_comparable() -> None:
    shadow = ShadowReads(print, settle=0)

    @shadow.compare(lambda: ["a", "b"], old_form=lambda rows: [row[0] for row in rows], new_form=sorted)
    def names() -> list[tuple[str]]:
        return [("a",), ("b",)]

    names()
    assert shadow.wait()
    assert shadow.counts.equal == 1


def test_difference_that_settles_is_none() -> None:
    """The follower lags: the second comparison finds both equal."""
    answers = iter([1, 2, 2])
    shadow = ShadowReads(pytest.fail, settle=0)

    @shadow.compare(lambda: next(answers))
    def read() -> int:
        return 2

    read()
    assert shadow.wait()
    assert (shadow.counts.equal, shadow.counts.different) == (1, 0)


def test_failing_table_and_failing_report_do_not_reach_the_application() -> None:
    def report(found: ShadowDifference) -> None:
        assert isinstance(found.error, ZeroDivisionError)
        raise RuntimeError

    shadow = ShadowReads(report)

    @shadow.compare(lambda: 1 // 0)
    def read() -> int:
        return 1

    assert [read(), read()] == [1, 1]
    assert shadow.wait()
    assert shadow.counts.failed == 4  # the reads, and their reports


def test_slow_table_delays_nothing_and_drops_reads() -> None:
    gate = threading.Event()
    shadow = ShadowReads(print, most=2)

    @shadow.compare(lambda: gate.wait() and 1)
    def read() -> int:
        return 1

    assert [read() for _ in range(10)] == [1] * 10
    assert shadow.counts.dropped >= 7
    assert not shadow.wait(0)
    gate.set()
    assert shadow.wait()
    assert shadow.counts.equal + shadow.counts.dropped == 10


def test_share_of_calls() -> None:
    shadow = ShadowReads(print, share=0)

    @shadow.compare(lambda: pytest.fail("it is not called"))
    def read() -> int:
        return 1

    read()
    assert shadow.wait()
    assert shadow.counts.equal == 0


def test_coroutines_are_refused() -> None:
    async def read() -> int:
        return 1

    with pytest.raises(TypeError):
        ShadowReads(print).compare(lambda: 1)(read)
