"""The outcome of `prejoin build`: what happens to each file, messages, and the next steps."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

import msgspec

from prejoin.cli.invocation import invocation
from prejoin.cli.outcome import ExitStatus, Line, Outcome
from prejoin.cli.text.design import growth_lines
from prejoin.cli.text.evolution import evolution_lines
from prejoin.cli.text.messages import with_code_style
from prejoin.cli.text.tables import table
from prejoin.design.codes import NEW_ATTRIBUTE, NOT_BACKFILLED
from prejoin.design.layout.growth import Growth
from prejoin.diagnostics import Code, Severity
from prejoin.pipeline import codes
from prejoin.pipeline.build.build_plan import BuildPlan, PlannedFile, Product, is_stamped
from prejoin.pipeline.build.record import read_record
from prejoin.pipeline.build.settings import FILE, Overrides, set_keys, settings_text
from prejoin.pipeline.design.hand_changes import hand_change_diagnostics
from prejoin.pipeline.document import DOCUMENT, output_form
from prejoin.pipeline.errors import Source
from prejoin.pipeline.summary import proven_summary, quantity, tally
from prejoin.render.python.package import Options, package_name

_FEW_CHANGES = 12
"""Changes of the keys that are listed."""
_STATE_WORDS = {"new": "new", "changed": "changed", "conflict": "left alone", "left": "left over", "deleted": "deleted"}
_WRITTEN_WORDS = {**_STATE_WORDS, "new": "written", "changed": "rewritten"}
_STYLES = {"left alone": "bold red", "left over": "yellow", "deleted": "yellow"}

_ONLY_NOW = frozenset({NEW_ATTRIBUTE.id, NOT_BACKFILLED.id, codes.ACCEPTED_UNPROVEN.id})


@dataclass(frozen=True, slots=True)
class BuildFlags:
    """The options for the plan of a build."""

    check: bool = False
    diffs: bool = False
    prune: bool = False


def build_outcome(plan: BuildPlan, flags: BuildFlags, is_written: bool, is_shown: bool) -> Outcome:
    """The outcome; with the page, unless it was shown before."""
    notes = list(_notes(plan, flags, is_written))
    lines = [] if is_shown else build_page(plan, flags, is_written)
    if flags.diffs:
        lines += [line for file in plan.files if file.merged.state != "same" for line in _diff(file)]
    sources = tuple(_sources(plan, flags))
    differs = bool(sources)
    if flags.check and differs:
        notes += _overridden_options(plan)
        notes.append("document, design and code do not match: run `prejoin build`")
    if is_written and plan.writable and not differs:
        is_first_build = all(file.merged.state == "new" for file in plan.files)
        steps = _next(plan.product) if is_first_build else [_test(plan.product)]
        notes += [f"next: `{step}` {effect}" for step, effect in steps]
    status = ExitStatus.FAILED if differs else ExitStatus.FINE
    return Outcome(status, build_json(plan, flags, is_written), lines, sources, tuple(notes))


def _overridden_options(plan: BuildPlan) -> Iterator[str]:
    """Options of the last build that prejoin.toml overrides: the likely reason for a difference."""
    options = read_record(plan.product.folder).options
    if options is None:
        return
    names = set_keys(settings_text(plan.product.folder))
    overridden = {name: value for name, value in options.given.items() if name.replace("_", "-") in names}
    if any(getattr(plan.product.settings, name) != value for name, value in overridden.items()):
        yield f"the last build had `{Overrides(**overridden)}`, and {FILE} overrides it: change it there"


def _notes(plan: BuildPlan, flags: BuildFlags, is_written: bool) -> Iterator[str]:
    yield from _message_notes(plan.product)
    if plan.left and not flags.check:
        yield from _orphan_notes(plan, flags)
    if plan.stuck:
        yield "nothing was written: the code would not match this design"
    elif not is_written and not flags.check and (plan.writable or (flags.prune and plan.deletable)):
        yield "nothing was written; `--yes` writes"


def _message_notes(product: Product) -> Iterator[str]:
    """The number of warnings, and the messages that only this build can show."""
    diagnostics = (*product.read.diagnostics, *product.designed.diagnostics)
    warnings = [
        diagnostic
        for diagnostic in diagnostics
        if diagnostic.severity is Severity.WARNING and diagnostic.code != codes.ACCEPTED_UNPROVEN.id
    ]
    if warnings:
        places = f"{product.read.file} {product.folder / product.own}"
        yield f"{tally(warnings)}: `prejoin check {places}` shows them"
    # Once the design is written it has these attributes, and a check does not report them any more.
    for diagnostic in product.designed.diagnostics:
        if diagnostic.code in _ONLY_NOW:
            yield f"{diagnostic.code}: {diagnostic.message}; {diagnostic.fix}"


def _orphan_notes(plan: BuildPlan, flags: BuildFlags) -> Iterator[str]:
    """Files of an earlier build that this one does not generate."""
    if not flags.prune:
        names = ", ".join(str(file.path) for file in plan.left)
        yield f"not generated any more: {names}; `--prune` deletes files that were not changed by hand"
        return
    edited_names = [str(file.path) for file in plan.left if not file.pristine]
    if edited_names:
        yield f"not deleted, because it was changed by hand: {', '.join(edited_names)}"


def _sources(plan: BuildPlan, flags: BuildFlags) -> Iterator[Source]:
    """A message for each file that is in conflict or, with `--check`, differs."""
    document = plan.product.read.file
    for conflict in plan.conflicts:
        if conflict.losses:
            file, form = plan.product.folder / conflict.path, output_form(Path(conflict.path))
            diagnostics = hand_change_diagnostics(conflict.losses, f"prejoin build {document} --yes --replace", form)
            yield Source(str(file), conflict.before or "", diagnostics)
            continue
        if conflict.path == plan.product.own:
            file = plan.product.folder / conflict.path
            keep = f"keep it with the status APPROVED, or with `prejoin design {document} --keep {file}`"
            fix = f"{keep}; or delete it, or pass `--replace`"
        elif is_stamped(conflict.merged.text):
            fix = "move the change below the generated lines or into a file of your own, and delete this one"
        else:
            fix = "delete it if it has nothing of yours, and build again; otherwise move it away"
        yield _file_message(plan, conflict.path, codes.BY_HAND, f"not written: {conflict.merged.reason}", fix)
    if not flags.check:
        return
    for planned_file in plan.writable:
        if planned_file.merged.state == "new":
            yield _file_message(
                plan, planned_file.path, codes.MISSING, "it is missing", "`prejoin build --yes` writes it"
            )
        else:
            fix = "`prejoin build --diff` shows what changes, `--yes` writes it"
            yield _file_message(plan, planned_file.path, codes.STALE, f"it does not match {document}", fix)
    for orphan in plan.left:
        fix = "`prejoin build --prune --yes` deletes it" if orphan.pristine else "delete it, or move it away"
        yield _file_message(plan, orphan.path, codes.LEFT_OVER, "it is not generated any more", fix)


def _file_message(plan: BuildPlan, path: PurePosixPath, code: Code, message: str, fix: str) -> Source:
    return Source(str(plan.product.folder / path), "", (code.at(None, message, fix),))


def _states(plan: BuildPlan, flags: BuildFlags) -> list[tuple[str, str, str]]:
    """Path, state and reason of each file."""
    states = [(str(file.path), file.merged.state, file.merged.reason) for file in plan.files]
    orphan_state = "deleted" if flags.prune else "left"
    return states + [(str(file.path), orphan_state if file.pristine else "left", "") for file in plan.left]


def build_json(plan: BuildPlan, flags: BuildFlags, is_written: bool) -> dict[str, Any]:
    design_step = plan.product.designed
    return {
        "document": plan.product.read.file,
        "files": [{"path": path, "state": state, "reason": reason} for path, state, reason in _states(plan, flags)],
        "keys": list(design_step.keys),
        "growth": msgspec.to_builtins(design_step.growth, str_keys=True) if design_step.growth else None,
        "served": design_step.served,
        "proven": not design_step.unproven,  # a pattern that is neither proven nor accepted has stopped the build
        "unproven": [{"pattern": pattern, "reason": reason} for pattern, reason in design_step.unproven.items()],
        "written": is_written,
        "next": [step for step, _ in _next(plan.product)] if is_written else [],
    }


def build_page(plan: BuildPlan, flags: BuildFlags, is_written: bool) -> list[Line]:
    """The design in a sentence, and what happens to each file."""
    product = plan.product
    words = _WRITTEN_WORDS if is_written else _STATE_WORDS
    rows = [(path, words[state]) for path, state, _ in _states(plan, flags) if state != "same"]
    lines: list[Line] = [((product.read.workload.title, "bold"), _summary(product))]
    if rows and not flags.check:  # then each has its message
        lines += [(), *(_with_state_style(line) for line in table(rows, ("bold", "green")))]
    unchanged_count = sum(file.merged.state == "same" for file in plan.files)
    if unchanged_count:
        lines += [(), (f"{quantity(unchanged_count, 'file')} up to date",)]
    lines += _key_changes(product)
    if product.designed.kept and rows and not flags.check:
        lines += [(), *_in_use(product)]
    return lines


def _summary(product: Product) -> str:
    """The design in a sentence, after its title."""
    design, served_count = product.designed.design, product.designed.served
    copies = f" and {quantity(len(design.copies), 'copy')}" if design.copies else ""
    unproven = list(product.designed.unproven)
    proof = f"; {proven_summary(served_count, unproven)}." if unproven else " and proven."
    return (
        f", from {product.read.file}: {quantity(len(design.indexes), 'index')}{copies}; "
        f"{served_count} of {quantity(len(design.operations), 'pattern')} served{proof}"
    )


def _key_changes(product: Product) -> Iterator[Line]:
    keys = product.designed.keys
    if not keys:
        return
    yield ()
    yield (("Changes of the keys", "bold"), ":")
    for text in keys[:_FEW_CHANGES]:
        yield ("  ", *with_code_style(text))
    if len(keys) > _FEW_CHANGES:
        yield (f"  … and {len(keys) - _FEW_CHANGES} more",)


def _in_use(product: Product) -> Iterator[Line]:
    """Changes to the table in use, and the status of its design."""
    growth, page = product.designed.growth or Growth(), product.folder / product.own
    package = package_name(product.read.workload, Options(product.settings.package))
    if product.designed.was_approved and not product.designed.approved:
        yield with_code_style(f"{page} was APPROVED and is a DRAFT again: a decision changes keys.")
        return
    yield from growth_lines(growth)
    file = product.designed.target.kept_path if product.designed.target else None
    yield from evolution_lines(file, page, product.read.workload, product.designed.design, growth, package)
    if growth and product.designed.approved:
        yield with_code_style(f"{page} stays APPROVED, because its keys stay; it lists what is new and not reviewed.")


def _with_state_style(row: Line) -> Line:
    path, state = ((piece, "") if isinstance(piece, str) else piece for piece in row)
    return (path, (state[0], _STYLES.get(state[0], state[1])))


def _diff(file: PlannedFile) -> list[Line]:
    """The differences in a file; of a picture, only that it changes."""
    if file.path.suffix == ".svg":
        return [((f"{file.path}: ", "bold"), "a new picture" if file.before is None else "the picture changes")]
    return [_with_diff_style(line) for line in file.diff.splitlines()]


def _with_diff_style(line: str) -> Line:
    style = {"+": "green", "-": "red", "@": "cyan"}.get(line[:1], "")
    return ((line, style),)


def _next(product: Product) -> Iterator[tuple[str, str]]:
    """The next commands, and what they do."""
    folder, design = product.folder, product.designed.design
    served_ids = {operation.pattern for operation in design.operations if operation.served}
    first = next((read.id for read in product.read.workload.reads if read.id in served_ids), None)
    if first:
        place = "" if product.read.file == DOCUMENT else f" --for {product.read.file}"
        yield f"{invocation()} query {first}{place}", "runs the first pattern, on sample data"
    yield _test(product)
    if "cloudformation" in product.settings.infrastructure:
        name = design.table
        template = folder / "template.yaml"
        yield (
            f"aws cloudformation deploy --stack-name {name} --template-file {template} --capabilities CAPABILITY_IAM",
            "creates the table",
        )
    elif "terraform" in product.settings.infrastructure:
        yield f"terraform -chdir={folder / 'terraform'} init", "prepares to create the table"


def _test(product: Product) -> tuple[str, str]:
    prefix = "" if product.folder == Path() else f"cd {product.folder} && "
    return f"{prefix}python -m pytest", "runs the tests"
