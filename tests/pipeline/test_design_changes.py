"""The sentences about what a new design changes."""

from __future__ import annotations

from msgspec.structs import replace

from prejoin.design.model import Projection, ProjectionKind
from prejoin.pipeline.design.design_document import changes
from tests.render.designed import WITH_COPY, designed


def test_changed_projection_names_the_attributes() -> None:
    _, design = designed(WITH_COPY)
    table, first, *others = design.slots

    def holding(*names: str) -> Projection:
        return Projection(ProjectionKind.INCLUDE, names)

    before, after = (
        replace(design, slots=(table, replace(first, projection=one), *others))
        for one in (holding("total"), holding("total", "status"))
    )
    assert changes(before, after) == ["`gsi1` holds the keys, total, status instead of the keys, total"]
    assert changes(before, design) == ["`gsi1` holds ALL instead of the keys, total"]
    assert changes(design, design) == []
