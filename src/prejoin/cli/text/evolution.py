"""What it takes to change the table in use: the command that plans it, its indexes, deployments and backfill."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from prejoin.cli.invocation import invocation
from prejoin.cli.outcome import Line
from prejoin.cli.text.messages import with_code_style
from prejoin.design.files import design_beside
from prejoin.design.layout.growth import Growth
from prejoin.design.mapping.map_patterns import map_patterns
from prejoin.design.model import Design
from prejoin.design.phrases import listed
from prejoin.pipeline.document import DOCUMENT
from prejoin.pipeline.errors import InputError
from prejoin.pipeline.summary import quantity
from prejoin.workload.entity_names import has_former_names
from prejoin.workload.model import Workload

if TYPE_CHECKING:
    from prejoin.migrate.evolve.plan import EvolutionStep


def evolution_lines(
    old: Path | None, new: Path, workload: Workload, design: Design, growth: Growth, package: str
) -> Iterator[Line]:
    """The next step after a design that keeps another, with what it will take.

    `old` is the file of the design in use, if that is another one than `new`, where the design is written.
    """
    command = plan_command(old, new)
    if old is not None:
        takes = _takes(old, new, workload, design, is_grown=bool(growth))
        if not takes:
            return
        yield with_code_style(f"Next: `{command}` {takes}.")
    elif growth:
        folder = "OLD is a folder with the document and the design in use, such as an earlier commit"
        yield with_code_style(f"Next: `{command}` plans the change while the application runs; {folder}.")
    if growth.moved:
        return  # no repair moves items
    repairs = ["`db.add_indexes()`"] if growth.indexes else []
    if growth.backfills:
        repairs.append(f"`{invocation()} audit {package}.schema:SCHEMA --table {design.table} --repair`")
    if repairs:
        # A writer of the old code would go on to write items without the new keys.
        yield with_code_style(
            f"If nothing writes to the table meanwhile, {' and then '.join(repairs)} will do, with the new code."
        )


def needs_evolution(old: Path | None, new: Path, workload: Workload, design: Design, growth: Growth) -> bool:
    """Whether there is a change to plan between the design in use and a new one."""
    return bool(growth) or (old is not None and bool(_takes(old, new, workload, design, is_grown=False)))


def plan_command(old: Path | None, new: Path) -> str:
    """The command that plans a change. A design in use that is not in a file of its own is called OLD."""
    return f"{invocation()} evolve plan {_argument(old) if old else 'OLD'} {_argument(new)}"


def _takes(old: Path, new: Path, workload: Workload, design: Design, *, is_grown: bool) -> str:
    """What the plan says, in short; empty if the keys did not grow, and items and code of the old design stay right."""
    # Most designs are new, and load no migrations.
    from prejoin.migrate.evolve.plan import deletions_of, open_version, steps_of
    from prejoin.migrate.evolve.transition import CodeVersion, plan_transition, renames_between

    try:
        version = open_version(_name(old), old)
    except InputError:
        needs_plan = is_grown or has_former_names(workload)
        return (
            f"plans the change while the application runs, with the document of {old} beside it" if needs_plan else ""
        )
    try:
        after = CodeVersion(_name(new), workload, map_patterns(design, workload))
        transition = plan_transition(version, after)
    except InputError as problem:
        reasons = [diagnostic.message for source in problem.sources for diagnostic in source.diagnostics]
        more_reasons = f" and {quantity(len(reasons) - 1, 'more reason')}" if len(reasons) > 1 else ""
        return f"says what has to change first: {reasons[0]}{more_reasons}"
    steps = steps_of(transition)
    is_more_than_code = [step.kind for step in steps] != ["deploy", "clean"] or bool(deletions_of(transition))
    if not (is_grown or is_more_than_code or renames_between(version.workload, workload)):
        return ""
    return f"plans the change while the application runs: {_summary(steps, deletions_of(transition), after.name)}"


def _summary(steps: Sequence[EvolutionStep], deletions: Sequence[str], new: str) -> str:
    kinds = [step.kind for step in steps]
    deployments = [step.what for step in steps if step.kind == "deploy"]
    names = ["the new code" if name == new else f"`{name}`" for name in deployments]
    parts = [quantity(kinds.count("index"), "new index")] if "index" in kinds else []
    parts.append(f"{quantity(len(deployments), 'deployment')} ({', then '.join(names)})")
    parts.append("a backfill of existing items" if "backfill" in kinds else "no backfill")
    text = ", ".join(parts)
    indexes = [f"the index {step.what}" for step in steps if step.kind == "remove"]
    if indexes or deletions:
        text += f"; at the end `clean` deletes {listed([*indexes, *deletions])}"
    if "backfill" in kinds:
        text += (
            ". With the place of the table (`--db`, `--endpoint`, `--aws`) it says how long that takes, and the price"
        )
    return text


def _name(design: Path) -> str:
    """The argument of `evolve` for a design: its folder, if the design of that folder is this one."""
    return str(design.parent if design_beside(design.parent / DOCUMENT) == design else design)


def _argument(design: Path) -> str:
    return shlex.quote(_name(design))
