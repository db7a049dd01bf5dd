"""The parts of a table-design document that are not the design: its status, and the text of its authors."""

from __future__ import annotations

from dataclasses import dataclass, field

from prejoin.design.model import Design
from prejoin.diagnostics import Diagnostic
from prejoin.workload.model import Model, Section, Status
from prejoin.workload.read_result import Places


class Validation(Model, frozen=True):
    """A check or proof and its result."""

    check: str
    result: str
    detail: str = ""


class Annotations(Model, frozen=True):
    """Everything that is kept when the design is written again."""

    title: str = ""
    status: Status | None = None
    source: str = ""
    """The document of the workload."""
    keeps: str = ""
    """The design in use that this one extends, as a path from its file. If it is there, these keys are kept, too."""
    header: dict[str, str] = {}  # noqa: RUF012 - a Struct copies it
    """Further header lines, such as `Reviewed by: …`."""
    settings: dict[str, str] = {}  # noqa: RUF012 - a Struct copies it
    """Rows of the configuration that prejoin does not know."""
    prose: dict[str, str] = {}  # noqa: RUF012 - a Struct copies it
    """Text in a known section, by section title; for an entity, `Keys/Order`."""
    cells: dict[str, dict[str, str]] = {}  # noqa: RUF012 - a Struct copies it
    """Cells in the authors' own columns, by section and row: `Reads/AP-001`."""
    sections: tuple[Section, ...] = ()
    validation: tuple[Validation, ...] = ()


@dataclass(frozen=True, slots=True)
class DesignReading:
    """The result of reading a design: its usable part, diagnostics and places."""

    design: Design
    diagnostics: tuple[Diagnostic, ...]
    places: Places
    """Places by the path to a part: `("items", 0, "facets", 1, "pk")`, `("operations", 3)`."""
    kept: Annotations = field(default_factory=Annotations)
