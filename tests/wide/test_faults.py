"""The whole fault matrix: every fault, operation, driver and kind of connection. See `tests/attack/faults.py`."""

from __future__ import annotations

import pytest
from tests.attack.faults import DRIVERS, SCHEMES, Matrix, broken, cells
from tests.attack.proxy import FAULTS, has_openssl

pytestmark = [
    pytest.mark.wide,
    pytest.mark.skipif(not has_openssl(), reason="needs the openssl command"),
]


def test_matrix_has_enough_faults() -> None:
    assert len(FAULTS) >= 17


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("driver", DRIVERS)
def test_no_fault_breaks_the_law(driver: str, scheme: str) -> None:
    with Matrix() as matrix:
        found = matrix.check(cells(drivers=[driver], schemes=[scheme]))
        tally = matrix.tally
    assert not found, broken(found)
    # Each fault and each kind of outcome occurred, so the test did not pass by doing nothing.
    assert {name for name, count in tally.injected.items() if count} == FAULTS.keys()
    assert {"ok", "OutcomeUnknown", "ConnectionFailed", "AnswerLost", "DynamoDBError"} <= tally.outcomes.keys()
