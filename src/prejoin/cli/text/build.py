"""What `prejoin build` says: the page of what becomes of each file, messages, and what to do next."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import Any

import msgspec

from prejoin.cli.invocation import invocation
from prejoin.cli.outcome import Line, Outcome, Source
from prejoin.cli.output import table
from prejoin.cli.status import Status
from prejoin.cli.text.design import growth_lines
from prejoin.cli.text.messages import coded, counted, tally
from prejoin.design.codes import NEW_ATTRIBUTE, NOT_BACKFILLED
from prejoin.design.layout.growth import Growth
from prejoin.diagnostics import Code, Severity
from prejoin.pipeline import codes
from prejoin.pipeline.build_files import Planned, is_stamped
from prejoin.pipeline.build_plan import Asked, Plan, Product
from prejoin.pipeline.document import DEFAULT
from prejoin.pipeline.record import read_record
from prejoin.pipeline.settings import FILE, Overrides, set_keys, settings_text
from prejoin.render.python.package import Options, package_name

_FEW_CHANGES = 12
"""Changes of the keys that are told one by one."""
_SAID = {"new": "new", "changed": "changed", "conflict": "left alone", "left": "left over", "deleted": "deleted"}
_DONE = {**_SAID, "new": "written", "changed": "rewritten"}
_STYLES = {"left alone": "bold red", "left over": "yellow", "deleted": "yellow"}

_SAID_ONCE = frozenset({NEW_ATTRIBUTE.id, NOT_BACKFILLED.id})


def outcome(plan: Plan, asked: Asked, written: bool, shown: bool) -> Outcome:
    """What came of it; the page only if it was not shown before."""
    notes = list(_notes(plan, asked, written))
    lines = [] if shown else page(plan, asked, written)
    if asked.diffs:
        lines += [line for one in plan.found if one.merged.state != "same" for line in _diff(one)]
    sources = tuple(_sources(plan, asked))
    disagree = bool(sources)
    if asked.check and disagree:
        notes += _overruled(plan)
        notes.append("document, design and code disagree: `prejoin build` makes them agree")
    if written and plan.writable and not disagree:
        first = all(one.merged.state == "new" for one in plan.found)
        steps = _next(plan.product) if first else [_test(plan.product)]
        notes += [f"next: `{do}` {what}" for do, what in steps]
    status = Status.FAILED if disagree else Status.FINE
    return Outcome(status, result(plan, asked, written), lines, sources, tuple(notes))


def _overruled(plan: Plan) -> Iterator[str]:
    """Options of the last build that prejoin.toml overrules: the likely reason for a difference."""
    remembered = read_record(plan.product.folder).options
    if remembered is None:
        return
    names = set_keys(settings_text(plan.product.folder))
    lost = {name: value for name, value in remembered.given.items() if name in names}
    if any(getattr(plan.product.settings, name) != value for name, value in lost.items()):
        yield f"the last build was given `{Overrides(**lost)}`, and {FILE} says otherwise: change it there"


def _notes(plan: Plan, asked: Asked, written: bool) -> Iterator[str]:
    product = plan.product
    warnings = [
        d for d in (*product.read.reading.diagnostics, *product.designed.diagnostics) if d.severity is Severity.WARNING
    ]
    if warnings:
        places = f"{product.read.file} {product.folder / product.own}"
        yield f"{tally(warnings)}: `prejoin check {places}` shows them"
    # Once the design is written it knows these attributes, and a check says nothing of them.
    yield from (f"{d.code}: {d.message}; {d.fix}" for d in product.designed.diagnostics if d.code in _SAID_ONCE)
    if plan.left and not asked.check:
        kept = [one for one in plan.left if not one.pristine]
        if kept and asked.prune:
            names = ", ".join(str(one.path) for one in kept)
            yield f"not deleted, for somebody has written into it: {names}"
        if not asked.prune:
            names = ", ".join(str(one.path) for one in plan.left)
            yield f"left over, nothing asks for it any more: {names}; `--prune` deletes what nobody has changed"
    if plan.stuck:
        yield "nothing was written: code for other keys would not be that of this design"
    elif not written and not asked.check and (plan.writable or (asked.prune and plan.deletable)):
        yield "`--yes` does it; nothing was written"


def _sources(plan: Plan, asked: Asked) -> Iterator[Source]:
    """What is not as it should be, a message for each file."""
    document = plan.product.read.file
    for one in plan.conflicts:
        if one.path == plan.product.own:
            fix = f"decide it in {document}, or set its status to APPROVED to keep it, or delete it"
        elif is_stamped(one.merged.text):
            fix = "move the change below the generated lines or into a file of your own, and delete this one"
        else:
            fix = "if there is nothing of yours in it, delete it, and it is made anew; else move it away"
        yield _said(plan, one.path, codes.BY_HAND, f"it is left alone: {one.merged.reason}", fix)
    if not asked.check:
        return
    for one in plan.writable:
        if one.merged.state == "new":
            yield _said(plan, one.path, codes.MISSING, "it is missing", "`prejoin build --yes` writes it")
        else:
            fix = "`prejoin build --diff` shows what changes, `--yes` writes it"
            yield _said(plan, one.path, codes.STALE, f"it is not as {document} wants it", fix)
    for other in plan.left:
        fix = (
            "`prejoin build --prune` says what it would delete" if other.pristine else "delete it, or keep it elsewhere"
        )
        yield _said(plan, other.path, codes.LEFT_OVER, "it is left over: nothing asks for it any more", fix)


def _said(plan: Plan, path: PurePosixPath, code: Code, message: str, fix: str) -> Source:
    return Source(str(plan.product.folder / path), "", (code.at(None, message, fix),))


def _states(plan: Plan, asked: Asked) -> list[tuple[str, str, str]]:
    """Path, state and reason of each file."""
    found = [(str(one.path), one.merged.state, one.merged.reason) for one in plan.found]
    gone = "deleted" if asked.prune else "left"
    return found + [(str(one.path), gone if one.pristine else "left", "") for one in plan.left]


def result(plan: Plan, asked: Asked, written: bool) -> dict[str, Any]:
    designed = plan.product.designed
    return {
        "document": plan.product.read.file,
        "files": [{"path": p, "state": state, "reason": reason} for p, state, reason in _states(plan, asked)],
        "keys": list(designed.keys),
        "growth": msgspec.to_builtins(designed.growth, str_keys=True) if designed.growth else None,
        "served": designed.served,
        "proven": True,  # what is not, has not come this far
        "written": written,
        "next": [do for do, _ in _next(plan.product)] if written else [],
    }


def page(plan: Plan, asked: Asked, written: bool) -> list[Line]:
    """What there is, and what becomes of it."""
    product = plan.product
    design, workload = product.designed.design, product.read.workload
    copies = f" and {counted(len(design.copies), 'copy')}" if design.copies else ""
    head = f", from {product.read.file}: {counted(len(design.indexes), 'index')}{copies}; "
    head += f"{product.designed.served} of {counted(len(design.operations), 'pattern')} served and proven."
    words = _DONE if written else _SAID
    rows = [(path, words[state]) for path, state, _ in _states(plan, asked) if state != "same"]
    lines: list[Line] = [((workload.title, "bold"), head)]
    if rows and not asked.check:  # then each has its message
        lines += [(), *(_painted(line) for line in table(rows, ("bold", "green")))]
    same = sum(one.merged.state == "same" for one in plan.found)
    if same:
        lines += [(), (f"{counted(same, 'file')}, {'all ' * (not rows)}as {product.read.file} wants them",)]
    if product.designed.keys:
        more = len(product.designed.keys) - _FEW_CHANGES
        lines += [(), (("What changes in the keys", "bold"), ":")]
        lines += [("  ", *coded(text)) for text in product.designed.keys[:_FEW_CHANGES]]
        lines += [(f"  … and {more} more",)] if more > 0 else []
    if product.designed.kept and rows and not asked.check:
        lines += [(), *_in_use(product)]
    return lines


def _in_use(product: Product) -> Iterator[Line]:
    """What becomes of a table of the design that was approved, and of that design."""
    grown, page = product.designed.growth or Growth(), product.folder / product.own
    package = package_name(product.read.workload, Options(product.settings.package))
    if not product.designed.approved:
        yield coded(f"{page} was APPROVED and is a DRAFT again: a decision gives keys to what had others.")
        return
    yield from growth_lines(grown, product.designed.design.table, package)
    if grown:
        yield coded(f"{page} stays APPROVED, as all its keys stay; what is new nobody has reviewed, and it says so.")


def _painted(row: Line) -> Line:
    path, state = ((piece, "") if isinstance(piece, str) else piece for piece in row)
    return (path, (state[0], _STYLES.get(state[0], state[1])))


def _diff(one: Planned) -> list[Line]:
    """What changes in a file; of a picture, that it does: nobody sees it in the text."""
    if one.path.suffix == ".svg":
        return [((f"{one.path}: ", "bold"), "a new picture" if one.before is None else "the picture is another one")]
    return [_coloured(line) for line in one.diff.splitlines()]


def _coloured(line: str) -> Line:
    style = {"+": "green", "-": "red", "@": "cyan"}.get(line[:1], "")
    return ((line, style),)


def _next(product: Product) -> Iterator[tuple[str, str]]:
    """What to do now, and what it does."""
    folder, design = product.folder, product.designed.design
    served = {operation.pattern for operation in design.operations if operation.served}
    first = next((read.id for read in product.read.workload.reads if read.id in served), None)
    if first:
        place = "" if product.read.file == DEFAULT else f" --for {product.read.file}"
        yield f"{invocation()} query {first}{place}", "asks the first question, on made-up data"
    yield _test(product)
    if "cloudformation" in product.settings.infrastructure:
        name = design.table
        template = folder / "template.yaml"
        yield (
            f"aws cloudformation deploy --stack-name {name} --template-file {template} --capabilities CAPABILITY_IAM",
            "makes the table",
        )
    elif "terraform" in product.settings.infrastructure:
        yield f"terraform -chdir={folder / 'terraform'} init", "begins to make the table"


def _test(product: Product) -> tuple[str, str]:
    there = "" if product.folder == Path() else f"cd {product.folder} && "
    return f"{there}python -m pytest", "runs the tests"
