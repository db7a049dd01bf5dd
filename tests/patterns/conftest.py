"""Fixtures of the tests of patterns."""

from __future__ import annotations

import pytest
from tests.patterns.manual_clock import ManualClock


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()
