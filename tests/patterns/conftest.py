"""What tests of patterns have in common: a clock that goes as they like."""

from __future__ import annotations

import pytest
from tests.patterns.hands import Hands


@pytest.fixture
def clock() -> Hands:
    return Hands()
