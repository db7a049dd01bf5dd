"""What it takes to change the table in use: the command that plans it, its indexes, deployments and backfill."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from prejoin.cli.invocation import invocation
from prejoin.cli.outcome import Line
from prejoin.cli.text.messages import coded
from prejoin.design.files import design_beside
from prejoin.design.layout.growth import Growth
from prejoin.design.mapping.map_patterns import map_patterns
from prejoin.design.model import Design
from prejoin.pipeline.document import DOCUMENT
from prejoin.pipeline.errors import InputError
from prejoin.pipeline.summary import quantity
from prejoin.workload.entity_names import has_former_names
from prejoin.workload.model import Workload

if TYPE_CHECKING:
    from prejoin.migrate.evolve.plan import EvolutionStep


def evolution_lines(
    old: Path | None, new: Path, workload: Workload, design: Design, grown: Growth, package: str
) -> Iterator[Line]:
    """The next step after a design that keeps another, with what it will take.

    `old` is the file of the design in use, if that is another one than `new`, where the design is written.
    """
    if not grown and not (old and _has_renames(old, workload)):
        return
    command = plan_command(old, new)
    if old is None:
        folder = "OLD is a folder with the document and the design in use, such as an earlier commit"
        yield coded(f"Next: `{command}` plans the change while the application runs; {folder}.")
    else:
        yield coded(f"Next: `{command}` {_takes(old, new, workload, design)}.")
    if grown.moved:
        return  # no repair moves items
    repairs = ["`db.add_indexes()`"] if grown.indexes else []
    if grown.backfills:
        repairs.append(f"`{invocation()} audit {package}.schema:SCHEMA --table {design.table} --repair`")
    if repairs:
        # A writer of the old code would go on to write items without the new keys.
        yield coded(
            f"If nothing writes to the table meanwhile, {' and then '.join(repairs)} will do, with the new code."
        )


def _has_renames(old: Path, workload: Workload) -> bool:
    """Whether a document gives other names to what the design in use has."""
    if not has_former_names(workload):
        return False
    from prejoin.migrate.evolve.plan import open_version
    from prejoin.migrate.evolve.transition import renames_between

    try:
        return renames_between(open_version(_name(old), old).workload, workload)
    except InputError:
        return True


def plan_command(old: Path | None, new: Path) -> str:
    """The command that plans a change. A design in use that is not in a file of its own is called OLD."""
    return f"{invocation()} evolve plan {_argument(old) if old else 'OLD'} {_argument(new)}"


def _takes(old: Path, new: Path, workload: Workload, design: Design) -> str:
    """What the plan says, in short."""
    # Most designs are new, and load no migrations.
    from prejoin.migrate.evolve.plan import open_version, steps_of
    from prejoin.migrate.evolve.transition import CodeVersion, plan_transition

    try:
        version = open_version(_name(old), old)
    except InputError:
        return f"plans the change while the application runs, with the document of {old} beside it"
    try:
        after = CodeVersion(_name(new), workload, map_patterns(design, workload))
        steps = steps_of(plan_transition(version, after))
    except InputError as problem:
        reasons = [diagnostic.message for source in problem.sources for diagnostic in source.diagnostics]
        more = f" and {quantity(len(reasons) - 1, 'more reason')}" if len(reasons) > 1 else ""
        return f"says what has to change first: {reasons[0]}{more}"
    return f"plans the change while the application runs: {_summary(steps, after.name)}"


def _summary(steps: Sequence[EvolutionStep], new: str) -> str:
    kinds = [step.kind for step in steps]
    deployed = [step.what for step in steps if step.kind == "deploy"]
    named = ["the new code" if name == new else f"`{name}`" for name in deployed]
    parts = [quantity(kinds.count("index"), "new index")] if "index" in kinds else []
    parts.append(f"{quantity(len(deployed), 'deployment')} ({', then '.join(named)})")
    parts.append("a backfill of existing items" if "backfill" in kinds else "no backfill")
    return ", ".join(parts)


def _name(design: Path) -> str:
    """The argument of `evolve` for a design: its folder, if the design of that folder is this one."""
    return str(design.parent if design_beside(design.parent / DOCUMENT) == design else design)


def _argument(design: Path) -> str:
    return shlex.quote(_name(design))
