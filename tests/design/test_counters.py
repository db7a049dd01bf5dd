"""Sharded counters in designs: numbers that are added to more often than one item can be written."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import Any

import pytest
from msgspec.structs import replace
from tests.design.claims import false_claims
from tests.solutions import solve

from prejoin import Embedded
from prejoin.design import codes
from prejoin.design.checks import check_design
from prejoin.design.counters import counters_of
from prejoin.design.document.read_document import read_document
from prejoin.design.document.write_document import write_document
from prejoin.design.explain.explanation import explain_design
from prejoin.design.layout.growth import growth, keeps
from prejoin.design.model import Call, Counter, Design, ItemName, Units
from prejoin.design.solver.program.integer_program import InfeasibleError
from prejoin.keys.counter import SHARD
from prejoin.patterns.aggregates.sharded_counter import BoundCounter
from prejoin.proof.prove import prove
from prejoin.render.python.package import render_package
from prejoin.workload.files import read_text
from prejoin.workload.grammar.statements import read_pin, write_pin
from prejoin.workload.model import CounterShards, Decision, Workload

ENTITIES = """# Videos

## Entities

### Video

- **Attributes**:
  - `videoId` (ulid, generated)
  - `channelId` (string, immutable)
  - `title` (string, mutable)
  - `views` (integer, mutable, default=0)
  - `likes` (integer, mutable, default=0)
- **Cardinality**: ~10M total
- **Size**: 500 B

### Like

- **Attributes**:
  - `videoId` (ulid, → Video, id)
  - `userId` (string, id)
- **Cardinality**: ~500 per Video
- **Size**: 120 B

## Access Patterns

### Reads

| ID | Entity | Input Parameters | Result | Sort | Paginated | Frequency | Consistency |
| --- | --- | --- | --- | --- | --- | --- | --- |
| AP-001 | Video | videoId | Single | - | No | 100/s | Strong |
| AP-002 | Video | channelId | Collection | - | Yes (20) | 10/s | Eventual |
| AP-003 | Video | channelId | Collection (videoId, title) | - | Yes (20) | 10/s | Eventual |
{reads}
### Writes

| ID | Entity | Input Parameters | Items Written | Transaction | Conditions | Frequency |
| --- | --- | --- | --- | --- | --- | --- |
| AP-100 | Video | videoId | update Video (views += 1) | No | - | 20000/s, hottest 20% |
| AP-101 | Video | videoId, title | update Video (title) | No | - | 1/s |
| AP-102 | Video | Video | create Video | No | - | 1/s |
{writes}
### Deletes

| ID | Entity | Input Parameters | Items Deleted | Transaction | Conditions | Frequency |
| --- | --- | --- | --- | --- | --- | --- |
| AP-200 | Video | videoId | delete Video | No | - | 1/s |
"""
LIKES = "| AP-103 | Like, Video | videoId, userId | create Like; update Video (likes += 1) | Yes | - | 4000/s, hottest 20% |"
MIXED = "| AP-104 | Video | videoId, title | update Video (title, views -= 2) | No | - | 1/s |"


def workload(reads: str = "", writes: str = "", *decisions: str, text: str = ENTITIES) -> Workload:
    found = read_text(text.replace("{reads}", reads).replace("{writes}", writes), "md")
    assert not [one.message for one in found.diagnostics if one.severity == "error"]
    pins = tuple(Decision(read_pin(said)) for said in decisions)
    return replace(found.workload, decisions=pins)


def hot(design: Design, of: Workload) -> list[str]:
    return [one.fix for one in check_design(design, of) if one.code == codes.HOT.id]


def test_number_of_shards_follows_from_the_rate_of_the_busiest_item() -> None:
    videos = workload()
    design = solve(videos).design
    assert design.counters == (Counter("Video", ("views",), 4),)
    assert hot(design, videos) == []


def test_transaction_needs_twice_the_shards() -> None:
    assert counters_of(workload(writes=LIKES.replace("4000/s", "20000/s"))) == (
        Counter("Video", ("views", "likes"), 8),
    )


@pytest.mark.parametrize(
    ("rate", "shards"),
    [
        ("20000/s", 0),  # spread over ten million videos
        ("5000/s, hottest 20%", 0),
        ("5010/s, hottest 20%", 2),
        ("1/s, peak 99000/s, hottest 10%", 10),
        ("1M/s, hottest 50%", 99),
    ],
)
def test_one_item_takes_a_thousand_units(rate: str, shards: int) -> None:
    found = counters_of(workload(text=ENTITIES.replace("20000/s, hottest 20%", rate)))
    assert [one.shards for one in found] == ([shards] if shards else [])


def test_large_item_is_hot_at_a_lower_rate() -> None:
    text = ENTITIES.replace("500 B", "3 KB").replace("20000/s, hottest 20%", "2000/s, hottest 20%")
    assert counters_of(workload(text=text)) == (Counter("Video", ("views",), 2),)


def test_requests_units_and_bill() -> None:
    videos = workload(writes=LIKES + "\n" + MIXED)
    found = solve(videos)
    design = found.design
    assert false_claims(videos, found, explain_design(videos, design)) == []

    def units(pattern: str) -> Units | None:
        operation = design.operation(pattern)
        assert operation is not None
        return operation.units

    assert units("AP-001") == Units(read=1 + 4)
    assert units("AP-002") == Units(read=1.5 + 20 * 4 * 0.5)
    assert units("AP-003") == Units(read=1.5)  # it does not return the number
    assert units("AP-100") == Units(write=1)  # no index entry is written either
    assert units("AP-103") == Units(write=4)
    assert units("AP-104") == Units(write=2 + 2 + 1)
    assert units("AP-200") == Units(write=2 * (1 + 4) + 1)
    read = design.operation("AP-002")
    assert read is not None
    assert [(one.call, one.counter, one.shards) for one in read.requests] == [
        (Call.QUERY, None, 1),
        (Call.BATCH_GET, ItemName("Video", counter=("views", "likes")), 4),
    ]


def test_document_of_the_design_is_read_as_it_was_written() -> None:
    videos = workload(writes=LIKES)
    design = solve(videos).design
    text = write_document(design, videos)
    assert "`VIDEO#{videoId}#COUNTER#{shard}`" in text
    assert read_document(text, videos).design.counters == design.counters


def test_explanation_has_the_arithmetic() -> None:
    videos = workload()
    said = " ".join(explain_design(videos, solve(videos).design).entities[0].text)
    assert "the busiest item gets 4,000 write units a second of additions, and one item takes 1,000" in said
    assert "one of 4 items at random, `VIDEO#{videoId}#COUNTER#{shard}`" in said
    assert "sums them: 2 more read units" in said


# --- Where it cannot be -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("reads", "writes", "said"),
    [
        (
            "| AP-004 | Video | channelId | Collection | views DESC | Yes (20) | 1/s | Eventual |",
            "",
            "AP-004 asks for `views`",
        ),
        (
            "| AP-004 | Video | channelId, filter views > | Collection | - | Yes (20) | 1/s | Eventual |",
            "",
            "copy it to",
        ),
        ("| AP-004 | Video | channelId | Collection (title, views) | - | No | 1/s | Eventual |", "", "without the id"),
        ("| AP-004 | Video | videoId | Single | - | No | 1/s | Transactional |", "", "reads in a transaction"),
        ("", "| AP-104 | Video | videoId, views | update Video (views) | No | - | 1/s |", "AP-104 sets `views`"),
        (
            "",
            "| AP-104 | Video | videoId | update Video (likes += 1) | No | views < 10 | 1/s |",
            "condition on `views`",
        ),
        ("", "| AP-104 | Video | Video | put Video | No | - | 1/s |", "AP-104 may replace or create the Video"),
    ],
)
def test_obstacle_is_reported_with_what_to_do(reads: str, writes: str, said: str) -> None:
    videos = workload(reads, writes)
    design = solve(videos).design
    assert design.counters == ()
    (fix,) = [one for one in hot(design, videos) if "cannot be a sharded counter" in one]
    assert said in fix


def test_condition_that_the_item_exists_would_write_the_item() -> None:
    text = ENTITIES.replace("update Video (views += 1) | No | - |", "update Video (views += 1) | No | Video exists |")
    videos = workload(text=text)
    assert counters_of(videos) == ()
    assert hot(solve(videos).design, videos)


def test_expiring_item_has_no_shards() -> None:
    text = ENTITIES.replace("  - `title`", "  - `endsAt` (integer, ttl)\n  - `title`")
    assert counters_of(workload(text=text)) == ()


BOUNDS = ("min 0", "min 5", "max 1000", "min 0, max 1000")
ADDITIONS = {
    "views += 1": True,
    "views += 5": True,
    "views += -1": False,
    "views += n": False,
    "views += count": True,
    "views += shift": False,
    "views -= 1": False,
}
"""Changes of a counter, and whether the number only grows: `count` has a least value of 0, `shift` one of -5."""


def test_number_that_may_leave_its_bounds_has_no_shards() -> None:
    for bounds, (change, grows) in product(BOUNDS, ADDITIONS.items()):
        text = ENTITIES.replace("`views` (integer, mutable, default=0", f"`views` (integer, mutable, {bounds}")
        more = "\n  - `count` (integer, min 0)\n  - `shift` (integer, min -5)"
        text = text.replace("  - `userId` (string, id)", f"  - `userId` (string, id){more}")
        given = change.split()[-1] if change.split()[-1].isalpha() else ""
        inputs = f"videoId, {given}" if given else "videoId"
        row = f"| AP-104 | Video, Like | {inputs} | update Video ({change}) | No | - | 1/s |"
        videos = workload("", row, "Video.views in 4 shards", text=text)
        fits = grows and "max" not in bounds
        assert counters_of(videos) == ((Counter("Video", ("views",), 4),) if fits else ()), (bounds, change)


def test_number_that_may_leave_its_bounds_is_reported_with_what_to_do() -> None:
    text = ENTITIES.replace("`views` (integer, mutable", "`views` (integer, mutable, max 9999")
    for decisions in ((), ("Video.views in 4 shards",)):
        videos = workload("", "", *decisions, text=text)
        found = check_design(solve(videos).design, videos)
        said = "`views` has bounds, which AP-100 may leave, and no item knows the sum: take the bounds away"
        assert any(said in f"{one.message} {one.fix}" for one in found)


# --- Decisions --------------------------------------------------------------------------------------------------------


def test_decision_is_written_as_it_is_read() -> None:
    pin = CounterShards("Video", "views", 8)
    assert read_pin("Video.views in 8 shards") == pin
    assert read_pin(write_pin(pin)) == pin


@pytest.mark.parametrize(
    ("decision", "shards"),
    [
        ("Video.views in 8 shards", 8),
        ("Video.views in 2 shards", 2),
        ("no shards for Video", 0),
        ("no shards", 0),
        ("at most 3 shards", 3),
    ],
)
def test_decisions_demand_and_refuse(decision: str, shards: int) -> None:
    videos = workload("", "", decision)
    design = solve(videos).design
    assert [one.shards for one in design.counters] == ([shards] if shards else [])
    assert bool(hot(design, videos)) == (shards < 4)
    if shards < 4:  # none, or too few
        assert any("`Video.views in 4 shards`" in fix for fix in hot(design, videos))


def test_counter_that_needs_none_can_be_demanded() -> None:
    cold = workload("", "", "Video.likes in 3 shards", text=ENTITIES.replace("20000/s, hottest 20%", "1/s"))
    assert solve(cold).design.counters == (Counter("Video", ("likes",), 3),)


def test_demand_that_cannot_be_met_is_reported() -> None:
    videos = workload(
        "", "| AP-104 | Video | videoId, views | update Video (views) | No | - | 1/s |", "Video.views in 4 shards"
    )
    said = [one.message for one in check_design(solve(videos).design, videos)]
    assert any("AP-104 sets `views`" in message for message in said)


UNCHECKED = {
    "videoId | update Video (views += 1) | Yes | Video.title = Moon": "has a condition on the Video",
    "videoId | update Video (views += 1) | No | Video exists": "has a condition on the Video",
    "channelId | update Video[] (views += 1) | Yes | Video.title = Moon": "has a condition on the Video",
    "videoId, userId | delete Like; update Video (views += 1) | Yes | title <> Moon": "has a condition on the Video",
    "videoId, channelId | update Video (views += 1) | No | -": "compares `channelId` of the Video",
    "channelId, videoId[] | update Video[] (views += 1) | No | -": "compares `channelId` of the Video",
    "videoId, title? | update Video (views += 1, title) | No | -": "writes the Video only if `title` is given",
}
"""Rows that add to a number alone, with what an addition to a shard would not check."""
CHECKED = (
    "videoId, title | update Video (views += 1, title) | Yes | Video.title = Moon",
    "videoId, channelId, title | update Video (views += 1, title) | No | -",
    "channelId | update Video[] (views += 1) | No | -",
    "videoId | update Video (views += 1, title = Sun) | No | Video.channelId = Moon",
    "videoId, userId | update Video (views += 1) | Yes | Like exists",
)
"""Rows whose conditions are about another item, or that write the item as well."""


@pytest.mark.parametrize("row", UNCHECKED)
def test_number_of_which_a_shard_would_lose_a_check_has_no_shards(row: str) -> None:
    entities = "Video, Like" if "Like" in row else "Video"
    for decisions in ((), ("Video.views in 4 shards",)):
        videos = workload("", f"| AP-104 | {entities} | {row} | 1/s |", *decisions)
        assert counters_of(videos) == ()
        found = check_design(solve(videos).design, videos)
        code = codes.NO_EFFECT if decisions else codes.HOT
        (said,) = [f"{one.message} {one.fix}" for one in found if one.code == code.id]
        assert f"AP-104 {UNCHECKED[row]}" in said
        assert "leave that out" in said


@pytest.mark.parametrize("row", CHECKED)
def test_number_whose_rows_check_the_item_elsewhere_has_shards(row: str) -> None:
    entities = "Video, Like" if "Like" in row else "Video"
    videos = workload("", f"| AP-104 | {entities} | {row} | 1/s |")
    design = solve(videos).design
    assert [counter.attributes for counter in design.counters] == [("views",)]
    assert [(one.pattern, one.wrong, one.problem) for one in prove(videos, design, Embedded()).failed] == []


def test_demand_and_refusal_contradict() -> None:
    with pytest.raises(InfeasibleError):
        solve(workload("", "", "Video.views in 4 shards", "no shards for Video"))


# --- A table in use ---------------------------------------------------------------------------------------------------


def test_counter_in_use_never_loses_shards() -> None:
    before = solve(workload()).design
    calm = workload(text=ENTITIES.replace("20000/s", "1/s"))
    assert solve(calm).design.counters == ()
    kept = solve(calm, before).design
    assert kept.counters == before.counters
    assert not keeps(before, solve(calm).design)
    busier = workload(text=ENTITIES.replace("20000/s", "40000/s"))
    grown = solve(busier, before).design
    assert grown.counters == (Counter("Video", ("views",), 8),)
    assert keeps(before, grown)
    assert growth(before, grown, busier).counters == grown.counters
    assert growth(before, grown, busier).backfills == ()


# --- Proof and code ---------------------------------------------------------------------------------------------------


def test_counters_are_proven_against_brute_force() -> None:
    videos = workload(writes=LIKES + "\n" + MIXED)
    found = prove(videos, solve(videos).design, Embedded())
    assert [(one.pattern, one.wrong, one.problem) for one in found.failed] == []
    assert found.right
    assert {one.pattern: one.units for one in found.patterns} == {one.pattern: one.predicted for one in found.patterns}


def _no_sums(entity: Any, counter: Any, one: Any, sums: Any) -> Any:
    return one


def _no_shards(counter: BoundCounter, *_: Any) -> Iterator[Any]:
    return iter(())


def _first_shard(counter: BoundCounter, schema: Any, values: Any, shard: int) -> Any:
    return schema.facet_key(counter.facet, {**values, SHARD: shard // 2})


@pytest.mark.parametrize(
    ("name", "broken"),
    [
        ("_with_sums", _no_sums),
        ("BoundCounter.expand", _no_shards),
        ("BoundCounter.key", _first_shard),
    ],
)
def test_broken_counters_are_found_out(name: str, broken: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    videos = workload()
    monkeypatch.setattr(f"prejoin.patterns.aggregates.sharded_counter.{name}", broken)
    assert not prove(videos, solve(videos).design, Embedded()).right


def test_generated_schema_declares_the_counter() -> None:
    videos = workload()
    rendered = render_package(videos, solve(videos).design)
    assert 'patterns=[ShardedCounter("views", shards=4)]' in rendered.modules["schema"]
    assert "with_counts(" in rendered.modules["repository"]
