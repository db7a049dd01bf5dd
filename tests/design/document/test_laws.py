"""Laws of the table-design document: what is written reads back, and no text whatever makes the reader fail."""

from __future__ import annotations

import random
from functools import cache
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace
from tests.design.document.strategies import HOSTILE, designs, kept, texts
from tests.shop import shop_design, shop_workload
from tests.solutions import solve
from tests.work import calls

from prejoin.design.document.annotations import Annotations
from prejoin.design.document.read_document import parse_document, read_document
from prejoin.design.document.write_document import rewrite_document, write_document
from prejoin.design.model import Design
from prejoin.diagnostics import has_errors
from prejoin.workload.files import read_file
from prejoin.workload.model import Workload

ROOT = Path(__file__).parents[3]
DOCUMENTS = sorted((*ROOT.glob("examples/*/access-patterns.md"), *ROOT.glob("tests/corpus/*/access-patterns.md")))
slow = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])


@cache
def solved(path: Path) -> tuple[Workload, Design]:
    workload = read_file(path).workload
    return workload, solve(workload).design


@slow
@given(designs())
def test_any_design_is_read_back_as_it_was(design: Design) -> None:
    text = write_document(design, Workload(title="T"))
    assert parse_document(text).design == design
    assert text.encode("utf-8")  # what was not valid Unicode is escaped


@slow
@given(designs(), kept)
def test_annotations_round_trip(design: Design, own: Annotations) -> None:
    text = write_document(design, Workload(title="T"), own)
    again = parse_document(text)
    assert (again.design, again.kept) == (design, own)
    assert write_document(again.design, Workload(title="T"), again.kept) == text


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda p: p.parent.name)
def test_solved_design_round_trips_without_diagnostics(path: Path) -> None:
    workload, design = solved(path)
    text = write_document(design, workload)
    reading = read_document(text, workload)
    assert reading.diagnostics == ()
    assert reading.design == design
    assert rewrite_document(text, design, workload) == text


@slow
@given(texts | st.lists(st.sampled_from(HOSTILE) | texts, max_size=20).map("".join))
def test_any_text_gives_messages_and_never_a_traceback(text: str) -> None:
    reading = read_document(text, shop_workload())
    assert has_errors(reading.diagnostics)
    assert all(d.code and d.message and d.fix for d in reading.diagnostics)


@pytest.mark.everyday(1)
@pytest.mark.parametrize("seed", range(6))
def test_a_document_with_random_edits_gives_messages_with_places_in_it(seed: int) -> None:
    workload = shop_workload()
    source = write_document(shop_design(), workload)
    chance = random.Random(seed)
    for _ in range(8):
        text = source
        for _ in range(chance.randint(1, 6)):
            at = chance.randrange(len(text))
            cut = chance.choice([0, 0, 1, 3, 40])
            text = text[:at] + chance.choice([*HOSTILE, ""]) + text[at + cut :]
        lines = text.replace("\r", "\n").count("\n") + 1
        reading = read_document(text, workload)
        assert all(0 <= d.line <= lines and d.column >= 0 and d.fix for d in reading.diagnostics)
        assert all(span.line <= lines for span in reading.places.spans.values())
        if has_errors(reading.diagnostics):
            continue
        # What can be used is used as it was read: written again, it is the same.
        again = read_document(write_document(reading.design, workload, reading.kept), workload)
        assert again.design == reading.design


def test_parts_for_people_can_be_removed() -> None:
    workload, design = shop_workload(), shop_design()
    lines = write_document(design, workload).split("\n")
    first = lines.index("## Item Collections")
    last = lines.index("## Design Decisions")
    for at in range(first, last, 5):
        reading = read_document("\n".join(lines[:at] + lines[at + 1 :]), workload)
        assert reading.design == design, lines[at]


@pytest.mark.slow
def test_removed_table_key_is_reported() -> None:
    workload = shop_workload()
    lines = write_document(shop_design(), workload).split("\n")
    keys = [at for at, line in enumerate(lines[: lines.index("## Item Collections")]) if line.startswith("| table ")]
    assert len(keys) == len(workload.entities)
    for at in keys:
        assert has_errors(read_document("\n".join(lines[:at] + lines[at + 1 :]), workload).diagnostics), lines[at]


@pytest.mark.parametrize(
    "piece", ["|" * 60, "> " * 50, "- " * 50, "`", "`a", "(" * 90, "**x**: ", "# x\n", "| a | b |\n", "{" * 9]
)
def test_work_grows_with_the_length_of_a_hostile_text(piece: str) -> None:
    start = "# T\n\n## Keys\n\n### E\n\n| Partition Key | Sort Key |\n| --- | --- |\n| "
    texts = (start + piece * (size // len(piece)) for size in (1_000, 4_000))
    short, long = (calls(read_document, text, shop_workload()) for text in texts)
    assert long < 5 * short, "a quadratic reader makes 16 times as many calls"


def test_the_same_design_gives_the_same_bytes() -> None:
    workload, design = shop_workload(), shop_design()
    assert write_document(design, workload) == write_document(replace(design), replace(workload))
