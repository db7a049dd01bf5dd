"""`prejoin evolve`: from one design of a table to the next, while the application runs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import click
import msgspec

from prejoin.cli.command import SETTINGS, command
from prejoin.cli.commands.migrate_options import TableTarget, table_options
from prejoin.cli.outcome import ExitStatus, Line, Outcome
from prejoin.cli.progress import ProgressSteps
from prejoin.cli.text.messages import safe
from prejoin.cli.text.tables import titled
from prejoin.migrate import codes
from prejoin.migrate.evolve.abort import PlannedChange, abort_change, planned_change, table_status
from prejoin.migrate.evolve.duplicates import DuplicateDecisions, DuplicateReport, find_duplicates, read_rule
from prejoin.migrate.evolve.function_work import check_functions
from prejoin.migrate.evolve.functions import read_functions
from prejoin.migrate.evolve.items import FOLDER, Evolution, StepResult, open_evolution
from prejoin.migrate.evolve.plan import (
    COMMANDS,
    BackfillEstimate,
    EvolutionStep,
    StepKind,
    clean_text,
    estimate_backfill,
    next_text,
    obstacle_to_way_back,
    open_version,
    step_folder,
    steps_of,
    way_back_text,
    write_steps,
)
from prejoin.migrate.evolve.transition import Transition, plan_transition
from prejoin.patterns.integrity.findings import Finding
from prejoin.pipeline import codes as pipeline_codes
from prejoin.pipeline.errors import RefusedError, Source
from prejoin.pipeline.summary import duration, quantity
from prejoin.render.infrastructure.languages import LANGUAGES

_SHOWN = 20
"""Findings that are printed; `--format json` has a thousand."""
_ACTIONS = {
    "index keys": "written with new index keys",
    "missing": "missing copies or guards written",
    "drifted": "copies or guards corrected",
    "orphaned": "copies or guards deleted that belong to no item",
    "miscounted": "counted again",
    "outdated": "brought up to date with what they follow",
    "default": "written with a default",
    "deleted": "copies or guards deleted that the new design does not have",
}
"""What was done, for the kinds of changes that are named by what was wrong."""
_KINDS: dict[str, StepKind] = {"indexes": "index", "backfill": "backfill", "clean": "clean"}
"""The kind of the steps that each command does."""


def _designs(function: Callable[..., Any]) -> Callable[..., Any]:
    for argument in (click.argument("new", type=click.Path()), click.argument("old", type=click.Path())):
        function = argument(function)
    return function


def _work(function: Callable[..., Any]) -> Callable[..., Any]:
    for option in (
        click.option("--state", type=click.Path(), default=FOLDER, show_default=True, help="The folder of the state."),
        click.option("--rate", type=click.FloatRange(min=0, min_open=True), help="The most write units a second."),
    ):
        function = option(function)
    return function


class _EvolveGroup(click.Group):
    """The commands in the order of the steps."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self.commands)


evolve = _EvolveGroup("evolve", context_settings=SETTINGS, no_args_is_help=True)
evolve.help = "Change a table in use from one design to the next: plan, indexes, backfill, clean; status, abort, log."


def _opened(old: str, new: str) -> Transition:
    """The transition between two folders, which messages name as the caller does."""
    for path in (old, new):
        if not Path(path).exists():
            raise click.UsageError(f"there is no folder or file `{safe(path)}`: OLD and NEW are folders, or designs")
    if Path(old).resolve() == Path(new).resolve():
        raise click.UsageError(f"OLD and NEW are both `{safe(old)}`: name the design in force, then the next one")
    return plan_transition(open_version(_name(old), old), open_version(_name(new), new))


def _name(path: str) -> str:
    return path.rstrip("/") or path


def _function_option(function: Callable[..., Any]) -> Callable[..., Any]:
    text = 'Compute new attributes by a function of yours, "Student=FILE.py:NAME", or items, "Customer to Address=…".'
    return click.option("--function", "functions", multiple=True, metavar="ENTITY=FILE:NAME", help=text)(function)


# --- Plan -----------------------------------------------------------------------------------------------------------


@command("evolve plan", format_aware=True)
@_designs
@table_options
@click.option("--rate", type=click.FloatRange(min=0, min_open=True), help="Write units a second (default: 1000).")
@click.option("-o", "--output", type=click.Path(file_okay=False), help="Write the files of each deployment here.")
@click.option(
    "--infrastructure",
    type=click.Choice(sorted(LANGUAGES)),
    default="cloudformation",
    show_default=True,
    help="The language of the infrastructure files.",
)
@_function_option
def plan(
    old: str,
    new: str,
    target: TableTarget,
    rate: float | None,
    output: str | None,
    infrastructure: str,
    functions: tuple[str, ...],
    as_json: bool,
) -> Outcome:
    """Show the steps from the design OLD to NEW, and which code runs when.

    OLD and NEW are designs, or folders of projects. With the place of a table, the cost is estimated from its items.
    """
    planned = PlannedChange(_opened(old, new))
    if target.has_place:
        planned = planned_change(planned.transition, target.place, table=target.table)
    found, table_note = planned.transition, planned.note
    tries_items = target.has_place and planned.can_run
    if functions and not target.has_place:
        raise click.UsageError(
            "`--function` is tried on the items of a table: name it with `--db`, `--endpoint` or `--aws`"
        )
    loaded = read_functions(functions, found)
    steps = steps_of(found, loaded)
    estimate = None
    if tries_items:
        estimate = estimate_backfill(found, target.place, target.table, rate, has_functions=bool(loaded))
    duplicates = computed = None
    if tries_items:
        with ProgressSteps(silent=as_json) as progress:
            duplicates = find_duplicates(found, target.place, target.table, progress)
            computed = check_functions(found, loaded, target.place, target.table, progress) if loaded else None
    files = write_steps(found, output, infrastructure, loaded) if output else ()
    folders = [step_folder(found, number, step) if output else "" for number, step in enumerate(steps, 1)]
    lines = _step_lines(steps, folders)
    notes = [*found.notes]
    if estimate:
        notes.append(_estimated(estimate, any(step.kind == "backfill" for step in steps)))
        if estimate.undecided and not loaded:
            notes.append(safe(_reported(estimate)))
    elif found.needs_prepare and not target.has_place:
        notes.append("for cost and duration, name the table: `--db FILE`, `--endpoint URL` or `--aws`")
    if duplicates and duplicates.groups:
        lines += [("",), *((safe(f"same value: {group}"),) for group in duplicates.listed)]
        notes.append(_duplicated(duplicates))
    sources: tuple[Source, ...] = ()
    if computed:
        lines += [("",), *((safe(str(one)),) for one in computed.undecided[:_SHOWN])]
        names = " and ".join(f'`--function "{safe(text)}"`' for text in functions)
        notes.append(f"pass {names} to `prejoin evolve backfill` and `clean`, too")
    if computed and computed.undecided:
        count = computed.undecided_count
        message = f"a function cannot be used for {quantity(count, 'item')}"
        sources = (Source("", "", (codes.UNDECIDED.at(None, message, "correct the function, or the items"),)),)
    if files:
        notes.append(
            f"wrote {quantity(len(files), 'file')} to {output}: infrastructure and code, one folder for each step"
        )
    if table_note:
        notes.append(table_note)
    if planned.goes_back:
        notes += _way_back_notes(found)
    elif obstacle := obstacle_to_way_back(found):
        notes.append(f"`prejoin evolve abort` cannot turn this change round: {obstacle}")
    elif not table_note:
        notes.append(f"to go back at any step before `clean`: `prejoin evolve abort {found.old.name} {found.new.name}`")
    result = {
        "steps": [
            {**_step_json(step), "running": step.running, "folder": folder or None}
            for step, folder in zip(steps, folders, strict=True)
        ],
        "estimate": _estimate_json(estimate),
        "duplicates": msgspec.to_builtins(duplicates),
        "files": list(files),
        "computed": [_finding_json(one) for one in computed.undecided] if computed else None,
        "notes": [*found.notes, *([table_note] if table_note else [])],
    }
    status = ExitStatus.FAILED if sources else ExitStatus.FINE
    return Outcome(status, result=result, page=lines, sources=sources, notes=tuple(notes))


def _way_back_notes(way_back: Transition) -> list[str]:
    text = way_back_text(way_back)
    return [text] if text else []


def _step_lines(steps: Sequence[EvolutionStep], folders: Sequence[str] = ()) -> list[Line]:
    """The steps as a table, with the folders of their files if these were written."""
    rows = []
    for number, step in enumerate(steps, 1):
        command = f"`prejoin evolve {COMMANDS[step.kind]}`" if step.kind in COMMANDS else "you"
        folder = folders[number - 1] if folders else ""
        # The long text is last: a narrow terminal breaks it, and no other column.
        rows.append((str(number), command, step.running, safe(f"{step.text} ({folder})" if folder else step.text)))
    return list(titled(("", "By", "Running code", "Step"), rows, ("bold", "", "dim", "")))


def _step_json(step: EvolutionStep) -> dict[str, Any]:
    return {"kind": step.kind, "what": step.what or None, "text": step.text}


def _estimated(found: BackfillEstimate, has_backfill: bool) -> str:
    units = [f"{found.writes:,.0f} write units for the backfill"] if has_backfill else []
    if not found.undecided:
        units.append(f"{found.clean_writes:,.0f} {'' if units else 'write units '}for clean")
    return (
        f"{found.items:,} items: at most {', '.join(units)}, and {found.reads:,.0f} read units: ${found.dollars} on "
        f"demand in us-east-1; {duration(found.seconds)} of writes (from a sample of {found.sampled})"
    )


def _reported(found: BackfillEstimate) -> str:
    verb = "needs" if found.undecided == 1 else "need"
    return (
        f"{quantity(found.undecided, 'item')} of the sample of {found.sampled} {verb} a decision: the backfill reports "
        f"all such items (PJ775), and you correct them. For example: {found.example}"
    )


def _duplicated(found: DuplicateReport) -> str:
    return (
        f"{found.items:,} of {found.read:,} items share {quantity(found.groups, 'value')} that the new design makes "
        "unique: correct them, or decide with `prejoin evolve backfill --duplicates`"
    )


def _estimate_json(found: BackfillEstimate | None) -> dict[str, Any] | None:
    if found is None:
        return None
    return {
        "items": found.items,
        "sampled": found.sampled,
        "write_units": found.writes,
        "clean_write_units": found.clean_writes,
        "read_units": found.reads,
        "dollars": str(found.dollars),
        "seconds": found.seconds,
        "undecided": found.undecided,
    }


# --- Steps ----------------------------------------------------------------------------------------------------------


def _duplicate_options(function: Callable[..., Any]) -> Callable[..., Any]:
    rule = "Which item has a unique value that several have: keep-first, keep-oldest:ATTRIBUTE, or a file of owners."
    report = "Write the items whose unique value another item has to this file, a line of JSON for each."
    function = click.option("--duplicates", metavar="RULE", help=rule)(function)
    return click.option("--duplicates-report", type=click.Path(dir_okay=False), metavar="FILE", help=report)(function)


def _step(name: str, summary: str, run: Callable[[Evolution], StepResult], confirmed: str = "") -> click.Command:
    """A command for a step. If it needs a confirmation, `confirmed` says what has to be true."""

    @_designs
    @table_options
    @_work
    @click.option("--yes", is_flag=True, help="Do not ask which code runs.")
    def work(
        old: str,
        new: str,
        target: TableTarget,
        rate: float | None,
        state: str,
        yes: bool,
        as_json: bool,
        duplicates: str | None = None,
        duplicates_report: str | None = None,
        functions: tuple[str, ...] = (),
        keeps_new: bool = False,
    ) -> Outcome:
        place = target.place
        found = _opened(old, new)
        rule = read_rule(duplicates, found) if duplicates else None
        decisions = DuplicateDecisions(rule, Path(duplicates_report) if duplicates_report else None)
        loaded = read_functions(functions, found)
        condition = confirmed.format(new=f"`{found.new.name}`", before=f"`{found.before_backfill.name}`")
        does = f" Then it will {clean_text(found)}." if name == "clean" else ""
        if condition and not yes and not _confirm(f"Is it true that {condition}?{does}"):
            fix = "deploy first, then answer y or pass `--yes`"
            raise RefusedError(pipeline_codes.WOULD_CHANGE, f"not confirmed: {condition}", fix)
        with (
            ProgressSteps(silent=as_json) as progress,
            open_evolution(found, place, table=target.table, state=state, rate=rate, progress=progress) as evolution,
        ):
            evolution.duplicates = decisions
            evolution.functions, evolution.keeps_new_values = loaded, keeps_new
            result = run(evolution)
        next_step = next_text(found, _KINDS[name], loaded)
        if result.is_left_to_clean:
            next_step = f"`prejoin evolve clean {found.old.name} {found.new.name}`"
        return _done(name, result, decisions, next_step)

    work.__doc__ = summary
    with_options: Callable[..., Outcome] = work
    if name in ("backfill", "clean"):
        with_options = _duplicate_options(with_options)
        keep = "If an item and the result of its function have both changed, keep the values of the item."
        with_options = click.option("--keep-new-values", "keeps_new", is_flag=True, help=keep)(with_options)
        with_options = _function_option(with_options)
    return command(f"evolve {name}", format_aware=True)(with_options)


def _confirm(question: str) -> bool:
    try:
        return click.confirm(question, err=True)
    except click.Abort:  # no terminal
        return False


def _done(name: str, result: StepResult, duplicates: DuplicateDecisions, next_step: str) -> Outcome:
    written = ", ".join(f"{n:,} {_ACTIONS.get(what, what)}" for what, n in sorted(result.written.items()))
    note = f"{result.read:,} items read; {written or 'nothing was written'}; {result.units:,.0f} write units"
    if result.indexes:
        note = f"{'removed' if name == 'clean' else 'added'} {', '.join(result.indexes)}" + (
            f"; {note}" if result.read else ""
        )
    elif result.is_left_to_clean:
        note = (
            "nothing was done: `clean` of this change has begun, or is finished, and carries over what is written later"
        )
    elif name == "indexes":
        note = "the table has all indexes"
    lines: list[Line] = [(safe(str(one)),) for one in result.undecided[:_SHOWN]]
    if result.undecided_count > _SHOWN:
        lines.append((f"… and {result.undecided_count - _SHOWN:,} more: `--format json` has the first 1,000",))
    sources: tuple[Source, ...] = ()
    notes = [note]
    if result.kept:
        listed = f"; {duplicates.report} lists them" if duplicates.report else ""
        notes.append(f"{quantity(result.kept, 'item')} without a guard, because another has the same value{listed}")
        lines += [(safe(str(one)),) for one in duplicates.listed[:_SHOWN]]
    if result.undecided:
        count = result.undecided_count
        message = f"{quantity(count, 'item')} {'needs' if count == 1 else 'need'} a decision"
        fix = "correct them, and run the command again"
        if any(one.kind == "taken" for one in result.undecided):
            fix += ", or decide with `--duplicates`"
        sources = (Source("", "", (codes.UNDECIDED.at(None, message, fix),)),)
    else:
        notes.append(f"next: {next_step}" if name != "clean" else next_step)
    return Outcome(
        ExitStatus.FAILED if result.undecided else ExitStatus.FINE,
        result={
            "read": result.read,
            "written": dict(result.written),
            "units": result.units,
            "indexes": list(result.indexes),
            "undecided": [_finding_json(one) for one in result.undecided],
            "undecided_count": result.undecided_count,
            "kept": result.kept,
            "left_to_clean": result.is_left_to_clean,
        },
        page=lines,
        sources=sources,
        notes=tuple(notes),
    )


def _finding_json(finding: Finding) -> dict[str, Any]:
    """A finding; `by` and `holder` are the keys of two items with the same unique value."""
    return {
        "kind": finding.kind,
        "entity": finding.entity,
        "key": finding.key,
        "by": finding.by or None,
        "holder": finding.holder or None,
        "fix": finding.fix,
        "reason": finding.reason or None,
    }


# --- The state of the table -----------------------------------------------------------------------------------------


@command("evolve abort", format_aware=True)
@_designs
@table_options
@click.option("--state", type=click.Path(), default=FOLDER, show_default=True, help="The folder of the state.")
@click.option("--yes", is_flag=True, help="Do not ask.")
def abort(old: str, new: str, target: TableTarget, state: str, yes: bool, as_json: bool) -> Outcome:
    """Turn a change round, at any step before `clean`: from then on the table goes back from NEW to OLD.

    Nothing is deleted by this command. If the change has written nothing yet, it is forgotten.
    """
    found = _opened(old, new)
    question = f"Does the table go back from `{found.new.name}` to `{found.old.name}`?"
    if not yes and not _confirm(question):
        fix = "answer y or pass `--yes`"
        raise RefusedError(pipeline_codes.WOULD_CHANGE, "not confirmed", fix)
    way_back = abort_change(found, target.place, table=target.table, state=state)
    if way_back is None:
        note = (
            "no step has written anything: the change is forgotten, and the table has the design of "
            f"`{found.old.name}`; deploy its code wherever `{found.new.name}` runs"
        )
        return Outcome(result={"forgotten": True, "steps": []}, notes=(note,))
    steps = steps_of(way_back)
    names = f"{found.new.name} {found.old.name}"
    notes = (
        f"the table goes back now: `prejoin evolve plan {names} -o FOLDER`, with the place of the table, writes the "
        "code of each deployment",
        *_way_back_notes(way_back),
        f"next: {next_text(way_back, None)}",
    )
    result = {"forgotten": False, "steps": [_step_json(step) for step in steps]}
    return Outcome(result=result, page=_step_lines(steps), notes=notes)


def _state_options(function: Callable[..., Any]) -> Callable[..., Any]:
    help_ = "The folder of the state, for tables that cannot hold it."
    function = click.option("--state", type=click.Path(), default=FOLDER, show_default=True, help=help_)(function)
    function = table_options(function)
    return click.argument("design", type=click.Path(), default=".")(function)


@command("evolve status", format_aware=True)
@_state_options
def status(design: str, target: TableTarget, state: str, as_json: bool) -> Outcome:
    """Show the design of a table, and the change that is under way.

    DESIGN is any design of the table, or its folder.
    """
    found = table_status(open_version(_name(design), design), target.place, table=target.table, state=state)
    change = found.record.change
    rows: list[tuple[str, str]] = [("design", found.record.design_name or "not recorded: no change was made yet")]
    if change:
        rows += [("change", change.text), ("since", change.began), ("done", ", ".join(change.done) or "-")]
        if change.step.name and found.holder:
            rows.append(("now", f"{change.step.name}: {found.progress or 'in the first page'}"))
        elif change.step.name:
            share = f"at {found.progress.share:.0%}" if found.progress else "in the first page"
            rows.append(("stopped", f"{change.step.name}: {share}; the same command continues"))
        rows.append(("held by", found.holder or "nobody"))
    lines: list[Line] = list(titled(("", ""), [(name, safe(text)) for name, text in rows], ("bold", "")))
    notes = () if change else ("no change is under way",)
    result = {**msgspec.to_builtins(found.record), "progress": msgspec.to_builtins(found.progress)}
    return Outcome(result=result, page=lines, notes=notes)


@command("evolve log", format_aware=True)
@_state_options
def log(design: str, target: TableTarget, state: str, as_json: bool) -> Outcome:
    """List the changes that were made of a table."""
    found = table_status(open_version(_name(design), design), target.place, table=target.table, state=state)
    rows = [(one.ended, one.source_name, one.target_name, one.result) for one in found.record.log]
    lines: list[Line] = list(titled(("Ended", "From", "To", "Result"), rows, ("", "", "", "dim"))) if rows else []
    notes = () if rows else ("no change was made yet",)
    return Outcome(result={"log": msgspec.to_builtins(found.record.log)}, page=lines, notes=notes)


_ADD = """Add the indexes that NEW has more, one after the other.

On AWS, deploy the infrastructure that `evolve plan -o` writes instead, if a template owns the table.
"""
_BACKFILL = """Write what NEW reads into all items, and verify it, while the application runs.

Run it when `prepare` runs everywhere. After an interruption, the same command continues.
"""
_CLEAN = """Remove indexes, keys and items that NEW does not have. Run it when NEW runs everywhere."""

for _title, _command in {
    "plan": plan,
    "indexes": _step("indexes", _ADD, Evolution.add_indexes),
    "backfill": _step("backfill", _BACKFILL, Evolution.backfill, "{before} runs everywhere, and no older code"),
    "clean": _step("clean", _CLEAN, Evolution.clean, "{new} runs everywhere, and no older code"),
    "abort": abort,
    "status": status,
    "log": log,
}.items():
    evolve.add_command(_command, _title)
