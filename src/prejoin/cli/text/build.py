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
from prejoin.cli.text.messages import coded
from prejoin.cli.text.tables import table
from prejoin.design.codes import NEW_ATTRIBUTE, NOT_BACKFILLED
from prejoin.design.layout.growth import Growth
from prejoin.diagnostics import Code, Severity
from prejoin.pipeline import codes
from prejoin.pipeline.build.build_plan import BuildPlan, PlannedFile, Product, is_stamped
from prejoin.pipeline.build.record import read_record
from prejoin.pipeline.build.settings import FILE, Overrides, set_keys, settings_text
from prejoin.pipeline.document import DOCUMENT
from prejoin.pipeline.errors import Source
from prejoin.pipeline.summary import proven_summary, quantity, tally
from prejoin.render.python.package import Options, package_name

_FEW_CHANGES = 12
"""Changes of the keys that are listed."""
_SAID = {"new": "new", "changed": "changed", "conflict": "left alone", "left": "left over", "deleted": "deleted"}
_DONE = {**_SAID, "new": "written", "changed": "rewritten"}
_STYLES = {"left alone": "bold red", "left over": "yellow", "deleted": "yellow"}

_OF_THE_PROOF = frozenset({codes.ACCEPTED_UNPROVEN.id, codes.FALSE_CLAIM.id})
"""Diagnostics that `prejoin check` does not show, because it neither solves nor proves."""
_SAID_ONCE = frozenset({NEW_ATTRIBUTE.id, NOT_BACKFILLED.id, *_OF_THE_PROOF})


@dataclass(frozen=True, slots=True)
class BuildFlags:
    """The options for the plan of a build."""

    check: bool = False
    diffs: bool = False
    prune: bool = False


def build_outcome(plan: BuildPlan, flags: BuildFlags, written: bool, shown: bool) -> Outcome:
    """The outcome; with the page, unless it was shown before."""
    notes = list(_notes(plan, flags, written))
    lines = [] if shown else build_page(plan, flags, written)
    if flags.diffs:
        lines += [line for one in plan.files if one.merged.state != "same" for line in _diff(one)]
    sources = tuple(_sources(plan, flags))
    disagree = bool(sources)
    if flags.check and disagree:
        notes += _overruled(plan)
        notes.append("document, design and code do not match: run `prejoin build`")
    if written and plan.writable and not disagree:
        first = all(one.merged.state == "new" for one in plan.files)
        steps = _next(plan.product) if first else [_test(plan.product)]
        notes += [f"next: `{do}` {what}" for do, what in steps]
    status = ExitStatus.FAILED if disagree else ExitStatus.FINE
    return Outcome(status, build_json(plan, flags, written), lines, sources, tuple(notes))


def _overruled(plan: BuildPlan) -> Iterator[str]:
    """Options of the last build that prejoin.toml overrides: the likely reason for a difference."""
    remembered = read_record(plan.product.folder).options
    if remembered is None:
        return
    names = set_keys(settings_text(plan.product.folder))
    lost = {name: value for name, value in remembered.given.items() if name.replace("_", "-") in names}
    if any(getattr(plan.product.settings, name) != value for name, value in lost.items()):
        yield f"the last build had `{Overrides(**lost)}`, and {FILE} overrides it: change it there"


def _notes(plan: BuildPlan, flags: BuildFlags, written: bool) -> Iterator[str]:
    product = plan.product
    diagnostics = (*product.read.diagnostics, *product.designed.diagnostics)
    warnings = [d for d in diagnostics if d.severity is Severity.WARNING and d.code not in _OF_THE_PROOF]
    if warnings:
        places = f"{product.read.file} {product.folder / product.own}"
        yield f"{tally(warnings)}: `prejoin check {places}` shows them"
    # Once the design is written it has these attributes, and a check does not report them any more.
    yield from (f"{d.code}: {d.message}; {d.fix}" for d in product.designed.diagnostics if d.code in _SAID_ONCE)
    if plan.left and not flags.check:
        kept = [one for one in plan.left if not one.pristine]
        if kept and flags.prune:
            names = ", ".join(str(one.path) for one in kept)
            yield f"not deleted, because it was changed by hand: {names}"
        if not flags.prune:
            names = ", ".join(str(one.path) for one in plan.left)
            yield f"not generated any more: {names}; `--prune` deletes files that were not changed by hand"
    if plan.stuck:
        yield "nothing was written: the code would not match the keys of this design"
    elif not written and not flags.check and (plan.writable or (flags.prune and plan.deletable)):
        yield "nothing was written; `--yes` writes"


def _sources(plan: BuildPlan, flags: BuildFlags) -> Iterator[Source]:
    """A message for each file that is in conflict or, with `--check`, differs."""
    document = plan.product.read.file
    for one in plan.conflicts:
        if one.path == plan.product.own:
            file = plan.product.folder / one.path
            fix = f"keep it with the status APPROVED, or with `prejoin design {document} --keep {file}`; or delete it"
        elif is_stamped(one.merged.text):
            fix = "move the change below the generated lines or into a file of your own, and delete this one"
        else:
            fix = "delete it if it has nothing of yours, and build again; otherwise move it away"
        yield _said(plan, one.path, codes.BY_HAND, f"not written: {one.merged.reason}", fix)
    if not flags.check:
        return
    for one in plan.writable:
        if one.merged.state == "new":
            yield _said(plan, one.path, codes.MISSING, "it is missing", "`prejoin build --yes` writes it")
        else:
            fix = "`prejoin build --diff` shows what changes, `--yes` writes it"
            yield _said(plan, one.path, codes.STALE, f"it does not match {document}", fix)
    for other in plan.left:
        fix = "`prejoin build --prune --yes` deletes it" if other.pristine else "delete it, or move it away"
        yield _said(plan, other.path, codes.LEFT_OVER, "it is not generated any more", fix)


def _said(plan: BuildPlan, path: PurePosixPath, code: Code, message: str, fix: str) -> Source:
    return Source(str(plan.product.folder / path), "", (code.at(None, message, fix),))


def _states(plan: BuildPlan, flags: BuildFlags) -> list[tuple[str, str, str]]:
    """Path, state and reason of each file."""
    found = [(str(one.path), one.merged.state, one.merged.reason) for one in plan.files]
    gone = "deleted" if flags.prune else "left"
    return found + [(str(one.path), gone if one.pristine else "left", "") for one in plan.left]


def build_json(plan: BuildPlan, flags: BuildFlags, written: bool) -> dict[str, Any]:
    designed = plan.product.designed
    return {
        "document": plan.product.read.file,
        "files": [{"path": p, "state": state, "reason": reason} for p, state, reason in _states(plan, flags)],
        "keys": list(designed.keys),
        "growth": msgspec.to_builtins(designed.growth, str_keys=True) if designed.growth else None,
        "served": designed.served,
        "proven": not designed.unproven,  # a pattern that is neither proven nor accepted has stopped the build
        "unproven": [{"pattern": pattern, "reason": reason} for pattern, reason in designed.unproven.items()],
        "written": written,
        "next": [do for do, _ in _next(plan.product)] if written else [],
    }


def build_page(plan: BuildPlan, flags: BuildFlags, written: bool) -> list[Line]:
    """The design in a sentence, and what happens to each file."""
    product = plan.product
    design, workload = product.designed.design, product.read.workload
    copies = f" and {quantity(len(design.copies), 'copy')}" if design.copies else ""
    head = f", from {product.read.file}: {quantity(len(design.indexes), 'index')}{copies}; "
    head += f"{product.designed.served} of {quantity(len(design.operations), 'pattern')} served"
    unproven = list(product.designed.unproven)
    head += f"; {proven_summary(product.designed.served, unproven)}." if unproven else " and proven."
    words = _DONE if written else _SAID
    rows = [(path, words[state]) for path, state, _ in _states(plan, flags) if state != "same"]
    lines: list[Line] = [((workload.title, "bold"), head)]
    if rows and not flags.check:  # then each has its message
        lines += [(), *(_painted(line) for line in table(rows, ("bold", "green")))]
    same = sum(one.merged.state == "same" for one in plan.files)
    if same:
        lines += [(), (f"{quantity(same, 'file')} up to date",)]
    if product.designed.keys:
        more = len(product.designed.keys) - _FEW_CHANGES
        lines += [(), (("Changes of the keys", "bold"), ":")]
        lines += [("  ", *coded(text)) for text in product.designed.keys[:_FEW_CHANGES]]
        lines += [(f"  … and {more} more",)] if more > 0 else []
    if product.designed.kept and rows and not flags.check:
        lines += [(), *_in_use(product)]
    return lines


def _in_use(product: Product) -> Iterator[Line]:
    """Changes to the table in use, and the status of its design."""
    grown, page = product.designed.growth or Growth(), product.folder / product.own
    package = package_name(product.read.workload, Options(product.settings.package))
    if product.designed.was_approved and not product.designed.approved:
        yield coded(f"{page} was APPROVED and is a DRAFT again: a decision changes keys.")
        return
    yield from growth_lines(grown)
    file = product.designed.target.kept_path if product.designed.target else None
    yield from evolution_lines(file, page, product.read.workload, product.designed.design, grown, package)
    if grown and product.designed.approved:
        yield coded(f"{page} stays APPROVED, because its keys stay; it lists what is new and not reviewed.")


def _painted(row: Line) -> Line:
    path, state = ((piece, "") if isinstance(piece, str) else piece for piece in row)
    return (path, (state[0], _STYLES.get(state[0], state[1])))


def _diff(one: PlannedFile) -> list[Line]:
    """The differences in a file; of a picture, only that it changes."""
    if one.path.suffix == ".svg":
        return [((f"{one.path}: ", "bold"), "a new picture" if one.before is None else "the picture changes")]
    return [_coloured(line) for line in one.diff.splitlines()]


def _coloured(line: str) -> Line:
    style = {"+": "green", "-": "red", "@": "cyan"}.get(line[:1], "")
    return ((line, style),)


def _next(product: Product) -> Iterator[tuple[str, str]]:
    """The next commands, and what they do."""
    folder, design = product.folder, product.designed.design
    served = {operation.pattern for operation in design.operations if operation.served}
    first = next((read.id for read in product.read.workload.reads if read.id in served), None)
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
    there = "" if product.folder == Path() else f"cd {product.folder} && "
    return f"{there}python -m pytest", "runs the tests"
