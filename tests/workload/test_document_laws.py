"""Laws of the document: written documents are read back, and no text makes the reader fail."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from prejoin.workload.document.read_document import read_document
from prejoin.workload.document.write_document import UnwritableError, write_document
from prejoin.workload.files import read_text, write_text
from prejoin.workload.model import Workload
from prejoin.workload.shorthand import write_out
from tests.work import calls
from tests.workload.strategies import workloads

EXAMPLES = sorted(Path(__file__).parents[2].joinpath("examples").glob("*/access-patterns.md"))
MARKS = [
    "|",
    "#",
    "`",
    "(",
    ")",
    "\\",
    "\n",
    "- ",
    "**",
    "→",
    "\t",
    "é",
    "|---|",
    "> ",
    "\u2028",
    '"',
    "\ud7ff",
    "<br>",
    "[]",
    "?",
]
slow = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])


@slow
@given(workloads())
def test_workload_round_trips_through_a_document(workload: Workload) -> None:
    document = write_document(workload)
    assert read_document(document).workload == workload
    assert write_document(read_document(document).workload) == document


@slow
@given(workloads(), st.sampled_from(["yaml", "json"]))
def test_workload_round_trips_through_data(workload: Workload, form: str) -> None:
    assert read_text(write_text(workload, form), form).workload == write_out(workload)  # type: ignore[arg-type]


@slow
@given(
    st.text() | st.lists(st.sampled_from(MARKS) | st.text(max_size=5)).map("".join),
    st.sampled_from(["md", "yaml", "json"]),
)
def test_any_text_gives_messages_and_never_a_traceback(text: str, form: str) -> None:
    reading = read_text(text, form)  # type: ignore[arg-type]
    assert all(d.code and d.message and d.fix for d in reading.diagnostics)


@pytest.mark.slow
@pytest.mark.parametrize("path", EXAMPLES, ids=lambda p: p.parent.name)
def test_an_example_with_random_edits_gives_messages_and_loses_no_pattern_silently(path: Path) -> None:
    source = path.read_text()
    chance = random.Random(7)
    for _ in range(40):
        text = source
        for _ in range(chance.randint(1, 6)):
            at = chance.randrange(len(text))
            cut = chance.choice([0, 0, 1, 3, 40])
            text = text[:at] + chance.choice([*MARKS, ""]) + text[at + cut :]
        lines = text.count("\n") + 1
        reading = read_text(text, "md")
        assert all(0 <= d.line <= lines and d.column >= 0 for d in reading.diagnostics)
        try:
            again = read_text(write_document(reading.workload), "md").workload
        except UnwritableError:
            continue  # reported, and nothing was written
        assert again == reading.workload


@pytest.mark.parametrize(
    "piece", ["|" * 60, "> " * 50, "- " * 50, "`", "(" * 90, "[" * 90, "**x**: ", "# x\n", "| a | b |\n", "* a\n  " * 3]
)
def test_work_grows_with_the_length_of_a_hostile_text(piece: str) -> None:
    start = "# T\n\n## Entities\n\n### E\n\n"
    short, long = (calls(read_text, start + piece * (size // len(piece)), "md") for size in (1_000, 4_000))
    assert long < 5 * short, "a quadratic reader makes 16 times as many calls"


@pytest.mark.parametrize(
    "text", ["[" * 200_000, "{a: " * 100_000, "&a [*a]", "- " * 100_000, "a: !!python/object:os.system x", "? " * 9999]
)
def test_nested_or_self_referring_data_is_refused(text: str) -> None:
    assert read_text(text, "yaml").diagnostics[0].code == "PJ140"


def test_work_grows_with_the_number_of_mistakes() -> None:
    row = "| AP-{0} | Entty{0} | x | idd{0} | Collecton | n{0} DESC | No | Hot | Eventual | No |\n"
    header = "| ID | Entity | Description | Input Parameters | Result | Sort | Paginated | Frequency | Consistency | Multi-Entity |\n"

    def text(number: int) -> str:
        entities = "".join(f"### Entity{n}\n\n- **Attributes**:\n  - `id{n}` (strng, id)\n\n" for n in range(number))
        table = header + "| --- " * 10 + "|\n" + "".join(row.format(n) for n in range(number))
        return f"# T\n\n## Entities\n\n{entities}## Access Patterns\n\n### Reads\n\n{table}"

    few, many = (calls(read_text, text(number), "md") for number in (25, 100))
    # Each misspelt name is compared with all names for the fix; everything else is linear.
    assert many < 8 * few, "a quadratic reader makes 16 times as many calls"
    reading = read_text(text(100), "md")
    assert len(reading.workload.reads) == 100
    assert 0 < len(reading.diagnostics) <= 1_000
