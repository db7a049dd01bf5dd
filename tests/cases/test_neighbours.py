"""Values beside another one, which the search for cases tries."""

from __future__ import annotations

import pytest

from prejoin.cases.neighbours import neighbours
from prejoin.types import Kind
from prejoin.workload.samples import SampleContent


@pytest.mark.parametrize("kind", [bytes, SampleContent])
def test_bytes_beside_a_content_are_a_content(kind: type[bytes]) -> None:
    values = neighbours(kind(b"ash"), Kind.BINARY, 3)
    assert values
    assert {type(value) for value in values} == {kind}
