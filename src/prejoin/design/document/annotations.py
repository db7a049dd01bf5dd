"""What a table-design document holds beside the design: its status, and all that its authors wrote into it."""

from __future__ import annotations

from dataclasses import dataclass, field

from prejoin.design.model import Design
from prejoin.diagnostics import Diagnostic
from prejoin.workload.model import Model, Section, Status
from prejoin.workload.reading import Places


class Validation(Model, frozen=True):
    """One thing that was checked or proven, and what came of it."""

    check: str
    result: str
    detail: str = ""


class Annotations(Model, frozen=True):
    """What survives when the design is written again."""

    title: str = ""
    status: Status | None = None
    source: str = ""
    """The document that the design was made for."""
    header: dict[str, str] = {}  # noqa: RUF012 - a Struct copies it
    """Further lines below the title, `Reviewed by: …`."""
    settings: dict[str, str] = {}  # noqa: RUF012 - a Struct copies it
    """Rows of the configuration that are not ours, as they stand."""
    prose: dict[str, str] = {}  # noqa: RUF012 - a Struct copies it
    """Text in a known section, by its title; of an entity, `Keys/Order`."""
    cells: dict[str, dict[str, str]] = {}  # noqa: RUF012 - a Struct copies it
    """Cells in columns of the author's own, by section and row: `Reads/AP-001`."""
    sections: tuple[Section, ...] = ()
    validation: tuple[Validation, ...] = ()


@dataclass(frozen=True, slots=True)
class DesignReading:
    """What comes of reading a design: as much of it as can be used, and where each part stands."""

    design: Design
    diagnostics: tuple[Diagnostic, ...]
    places: Places
    """By the way to a part: `("items", 0, "facets", 1, "pk")`, `("operations", 3)`."""
    kept: Annotations = field(default_factory=Annotations)
