"""Files that are generated again: code below the generated lines is kept, and changed files are not overwritten."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from prejoin.render.stamp import add_stamp, difference, merge

OLD = add_stamp("import os\n\nx = 1\n")
NEW = add_stamp("import os\n\nx = 2\ny = 3\n")


def test_a_file_that_is_not_there_is_new() -> None:
    merged = merge(None, NEW)
    assert (merged.state, merged.text, merged.writable) == ("new", NEW, True)


def test_the_same_again_is_not_written() -> None:
    assert merge(OLD, OLD).state == "same"
    assert not merge(OLD + "\nz = 9\n", OLD).writable
    assert difference(OLD, merge(OLD, OLD), "a.py") == ""


def test_code_below_the_generated_lines_is_kept() -> None:
    merged = merge(f"{OLD}\n\ndef mine() -> int:\n    return x\n", NEW)
    assert merged.state == "changed"
    assert merged.text == f"{NEW}\n\ndef mine() -> int:\n    return x\n"
    assert merge(merged.text, OLD).text == f"{OLD}\n\ndef mine() -> int:\n    return x\n"


def test_lines_changed_by_hand_are_a_conflict() -> None:
    for changed in (OLD.replace("x = 1", "x = 7"), OLD.replace("x = 1\n", ""), OLD.replace("x = 1", "z = 0\nx = 1")):
        merged = merge(changed, NEW)
        assert (merged.state, merged.writable) == ("conflict", False)
        assert "changed by hand" in merged.reason


def test_foreign_file_is_a_conflict() -> None:
    merged = merge("x = 1\n", NEW)
    assert merged.state == "conflict"
    assert "not generated" in merged.reason


def test_a_checkout_with_other_line_ends_is_not_a_change_by_hand() -> None:
    assert merge(OLD.replace("\n", "\r\n"), NEW).state == "changed"


def test_the_difference_is_shown_before_anything_is_written() -> None:
    shown = difference(OLD, merge(OLD, NEW), "a.py")
    assert shown.splitlines()[:2] == ["--- a.py", "+++ a.py (generated)"]
    assert "-x = 1" in shown
    assert "+y = 3" in shown


texts = st.text(alphabet="ab\n\x0c\u2028#", max_size=30)


@given(texts, texts, texts)
def test_additions_survive_any_regeneration(first: str, second: str, own: str) -> None:
    old, new = add_stamp(first + "\n"), add_stamp(second + "\n")
    assert merge(old + own, new).text == new + own
