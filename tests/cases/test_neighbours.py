"""Values beside another one, which the search for cases tries."""

from __future__ import annotations

import pytest

from prejoin.cases import constraints
from prejoin.types import Kind
from prejoin.workload.samples import SampleContent


@pytest.mark.parametrize("kind", [bytes, SampleContent])
def test_bytes_beside_a_content_are_a_content(kind: type[bytes]) -> None:
    neighbours = constraints._neighbours(kind(b"ash"), Kind.BINARY, 3)
    assert neighbours
    assert {type(value) for value in neighbours} == {kind}
