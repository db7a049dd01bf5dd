"""NoSQL Workbench models: a design as a model, and a model recognised in a file."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path, PurePosixPath

from prejoin.design.model import Design
from prejoin.design.workbench.read_model import is_model
from prejoin.pipeline.document import report_unwritable, text_of
from prejoin.render.workbench import render_workbench
from prejoin.workload.model import Workload


def is_workbench(file: str) -> bool:
    """Whether a file holds a model that NoSQL Workbench exported."""
    path = Path(file)
    return path.suffix.lower() == ".json" and path.is_file() and is_model(text_of(path))


def workbench_model(workload: Workload, design: Design, file: str) -> Mapping[PurePosixPath, str]:
    """The model of a design, by its file name.

    Raises a `PipelineError` about `file` if its tables cannot be written into the model's description.
    """
    with report_unwritable(file, "change that text"):
        return render_workbench(workload, design)
