"""Units: what a size costs to read and to write."""

from __future__ import annotations

import pytest

from prejoin.protocol.prices import EVENTUAL, STRONG, TRANSACTIONAL, read_units, write_units


@pytest.mark.parametrize(
    ("size", "factor", "units"),
    [
        (1, EVENTUAL, 0.5),
        (4096, EVENTUAL, 0.5),
        (4097, EVENTUAL, 1.0),
        (4096, STRONG, 1.0),
        (4097, TRANSACTIONAL, 4.0),
        (0, STRONG, 1.0),
    ],
)
def test_reading_is_charged_in_4_kb_rounded_up(size: int, factor: float, units: float) -> None:
    assert read_units(size, factor) == units


@pytest.mark.parametrize(
    ("size", "transactional", "units"), [(0, False, 1), (1024, False, 1), (1025, False, 2), (1025, True, 4)]
)
def test_writing_is_charged_in_1_kb_rounded_up(size: int, transactional: bool, units: float) -> None:
    assert write_units(size, transactional=transactional) == units
