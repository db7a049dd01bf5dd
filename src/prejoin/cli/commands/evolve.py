"""`prejoin evolve`: from one design of a table to the next, while the application runs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click
import msgspec

from prejoin.cli.command import SETTINGS, command
from prejoin.cli.commands.migrate_options import TableTarget, table_options
from prejoin.cli.outcome import ExitStatus, Line, Outcome
from prejoin.cli.progress import ProgressSteps
from prejoin.cli.text.messages import safe
from prejoin.cli.text.tables import table_with_titles
from prejoin.migrate import codes
from prejoin.migrate.evolve.abort import PlannedChange, abort_change, planned_change, table_status
from prejoin.migrate.evolve.duplicates import DuplicateDecisions, DuplicateReport, find_duplicates, read_rule
from prejoin.migrate.evolve.function_work import check_functions
from prejoin.migrate.evolve.functions import EntityFunction, read_functions
from prejoin.migrate.evolve.items import FOLDER, Evolution, StepResult, open_evolution
from prejoin.migrate.evolve.passes import PassOutcome
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

_FINDINGS_SHOWN = 20
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


def _open_transition(old: str, new: str) -> Transition:
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
    change = PlannedChange(_open_transition(old, new))
    if target.has_place:
        change = planned_change(change.transition, target.place, table=target.table)
    transition = change.transition
    if functions and not target.has_place:
        raise click.UsageError(
            "`--function` is tried on the items of a table: name it with `--db`, `--endpoint` or `--aws`"
        )
    item_functions = read_functions(functions, transition)
    steps = steps_of(transition, item_functions)
    findings = _Findings()
    if target.has_place and change.can_run:
        findings = _read_items(transition, target, rate, item_functions, as_json)
    function_results = findings.computed
    files = write_steps(transition, output, infrastructure, item_functions) if output else ()
    folders = [step_folder(transition, number, step) if output else "" for number, step in enumerate(steps, 1)]
    lines = _step_lines(steps, folders)
    if findings.duplicates and findings.duplicates.groups:
        lines += [("",), *((safe(f"same value: {group}"),) for group in findings.duplicates.listed)]
    if function_results:
        lines += [("",), *((safe(str(finding)),) for finding in function_results.undecided[:_FINDINGS_SHOWN])]
    notes = [*transition.notes, *_finding_notes(findings, steps, functions)]
    if findings.estimate is None and transition.needs_prepare and not target.has_place:
        notes.append("for cost and duration, name the table: `--db FILE`, `--endpoint URL` or `--aws`")
    if files:
        notes.append(
            f"wrote {quantity(len(files), 'file')} to {output}: infrastructure and code, one folder for each step"
        )
    notes += [*([change.note] if change.note else []), *_abort_notes(change)]
    sources = (
        _undecided_functions(function_results.undecided_count)
        if function_results and function_results.undecided
        else ()
    )
    result = {
        "steps": [
            {**_step_json(step), "running": step.running, "folder": folder or None}
            for step, folder in zip(steps, folders, strict=True)
        ],
        "estimate": _estimate_json(findings.estimate),
        "duplicates": msgspec.to_builtins(findings.duplicates),
        "files": list(files),
        "computed": [_finding_json(finding) for finding in function_results.undecided] if function_results else None,
        "notes": [*transition.notes, *([change.note] if change.note else [])],
    }
    status = ExitStatus.FAILED if sources else ExitStatus.FINE
    return Outcome(status, result=result, page=lines, sources=sources, notes=tuple(notes))


@dataclass(frozen=True, slots=True)
class _Findings:
    """What the items of a table say about a change; nothing if they are not read."""

    estimate: BackfillEstimate | None = None
    duplicates: DuplicateReport | None = None
    computed: PassOutcome | None = None
    """The results of functions, if there are any."""
    has_functions: bool = False


def _read_items(
    transition: Transition, target: TableTarget, rate: float | None, functions: Sequence[EntityFunction], as_json: bool
) -> _Findings:
    estimate = estimate_backfill(transition, target.place, target.table, rate, has_functions=bool(functions))
    with ProgressSteps(silent=as_json) as progress:
        duplicates = find_duplicates(transition, target.place, target.table, progress)
        function_results = None
        if functions:
            function_results = check_functions(transition, functions, target.place, target.table, progress)
    return _Findings(estimate, duplicates, function_results, bool(functions))


def _finding_notes(findings: _Findings, steps: Sequence[EvolutionStep], functions: Sequence[str]) -> Iterator[str]:
    estimate = findings.estimate
    if estimate:
        yield _estimate_note(estimate, any(step.kind == "backfill" for step in steps))
        if estimate.undecided and not findings.has_functions:
            yield safe(_undecided_note(estimate))
    if findings.duplicates and findings.duplicates.groups:
        yield _duplicates_note(findings.duplicates)
    if findings.computed:
        options = " and ".join(f'`--function "{safe(text)}"`' for text in functions)
        yield f"pass {options} to `prejoin evolve backfill` and `clean`, too"


def _undecided_functions(count: int) -> tuple[Source, ...]:
    message = f"a function cannot be used for {quantity(count, 'item')}"
    return (Source("", "", (codes.UNDECIDED.at(None, message, "correct the function, or the items"),)),)


def _abort_notes(change: PlannedChange) -> list[str]:
    """How to go back, or why it is not possible."""
    transition = change.transition
    if change.goes_back:
        return _way_back_notes(transition)
    obstacle = obstacle_to_way_back(transition)
    if obstacle:
        return [f"`prejoin evolve abort` cannot turn this change round: {obstacle}"]
    if change.note:  # the table is in this change, or in another design: the note says what to do
        return []
    names = f"{transition.old.name} {transition.new.name}"
    return [f"to go back at any step before `clean`: `prejoin evolve abort {names}`"]


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
    return list(table_with_titles(("", "By", "Running code", "Step"), rows, ("bold", "", "dim", "")))


def _step_json(step: EvolutionStep) -> dict[str, Any]:
    return {"kind": step.kind, "what": step.what or None, "text": step.text}


def _estimate_note(estimate: BackfillEstimate, has_backfill: bool) -> str:
    units = [f"{estimate.writes:,.0f} write units for the backfill"] if has_backfill else []
    if not estimate.undecided:
        units.append(f"{estimate.clean_writes:,.0f} {'' if units else 'write units '}for clean")
    work = f"at most {', '.join(units)}, and {estimate.reads:,.0f} read units"
    price = f"${estimate.dollars} on demand in us-east-1"
    return (
        f"{estimate.items:,} items: {work}: {price}; {duration(estimate.seconds)} of writes "
        f"(from a sample of {estimate.sampled})"
    )


def _undecided_note(estimate: BackfillEstimate) -> str:
    verb = "needs" if estimate.undecided == 1 else "need"
    return (
        f"{quantity(estimate.undecided, 'item')} of the sample of {estimate.sampled} {verb} a decision: the backfill "
        f"reports all such items (PJ775), and you correct them. For example: {estimate.example}"
    )


def _duplicates_note(report: DuplicateReport) -> str:
    return (
        f"{report.items:,} of {report.read:,} items share {quantity(report.groups, 'value')} that the new design makes "
        "unique: correct them, or decide with `prejoin evolve backfill --duplicates`"
    )


def _estimate_json(estimate: BackfillEstimate | None) -> dict[str, Any] | None:
    if estimate is None:
        return None
    return {
        "items": estimate.items,
        "sampled": estimate.sampled,
        "write_units": estimate.writes,
        "clean_write_units": estimate.clean_writes,
        "read_units": estimate.reads,
        "dollars": str(estimate.dollars),
        "seconds": estimate.seconds,
        "undecided": estimate.undecided,
    }


# --- Steps ----------------------------------------------------------------------------------------------------------


def _duplicate_options(function: Callable[..., Any]) -> Callable[..., Any]:
    rule = "Which item has a unique value that several have: keep-first, keep-oldest:ATTRIBUTE, or a file of owners."
    report = "Write the items whose unique value another item has to this file, a line of JSON for each."
    function = click.option("--duplicates", metavar="RULE", help=rule)(function)
    return click.option("--duplicates-report", type=click.Path(dir_okay=False), metavar="FILE", help=report)(function)


def _step(name: str, summary: str, run: Callable[[Evolution], StepResult], condition_text: str = "") -> click.Command:
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
        transition = _open_transition(old, new)
        rule = read_rule(duplicates, transition) if duplicates else None
        decisions = DuplicateDecisions(rule, Path(duplicates_report) if duplicates_report else None)
        computed_functions = read_functions(functions, transition)
        condition = condition_text.format(new=f"`{transition.new.name}`", before=f"`{transition.before_backfill.name}`")
        does = f" Then it will {clean_text(transition)}." if name == "clean" else ""
        if condition and not yes and not _confirm(f"Is it true that {condition}?{does}"):
            fix = "deploy first, then answer y or pass `--yes`"
            raise RefusedError(pipeline_codes.WOULD_CHANGE, f"not confirmed: {condition}", fix)
        with (
            ProgressSteps(silent=as_json) as progress,
            open_evolution(
                transition, place, table=target.table, state=state, rate=rate, progress=progress
            ) as evolution,
        ):
            evolution.duplicates = decisions
            evolution.functions, evolution.keeps_new_values = computed_functions, keeps_new
            result = run(evolution)
        next_step = next_text(transition, _KINDS[name], computed_functions)
        if result.is_left_to_clean:
            next_step = f"`prejoin evolve clean {transition.old.name} {transition.new.name}`"
        return _step_outcome(name, result, decisions, next_step)

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


def _step_outcome(name: str, result: StepResult, duplicates: DuplicateDecisions, next_step: str) -> Outcome:
    lines: list[Line] = [(safe(str(finding)),) for finding in result.undecided[:_FINDINGS_SHOWN]]
    if result.undecided_count > _FINDINGS_SHOWN:
        more_findings = result.undecided_count - _FINDINGS_SHOWN
        lines.append((f"… and {more_findings:,} more: `--format json` has the first 1,000",))
    notes = [_work_note(name, result)]
    if result.kept:
        place = f"; {duplicates.report} lists them" if duplicates.report else ""
        notes.append(f"{quantity(result.kept, 'item')} without a guard, because another has the same value{place}")
        lines += [(safe(str(finding)),) for finding in duplicates.listed[:_FINDINGS_SHOWN]]
    if not result.undecided:
        notes.append(f"next: {next_step}" if name != "clean" else next_step)
    return Outcome(
        ExitStatus.FAILED if result.undecided else ExitStatus.FINE,
        result={
            "read": result.read,
            "written": dict(result.written),
            "units": result.units,
            "indexes": list(result.indexes),
            "undecided": [_finding_json(finding) for finding in result.undecided],
            "undecided_count": result.undecided_count,
            "kept": result.kept,
            "left_to_clean": result.is_left_to_clean,
        },
        page=lines,
        sources=_undecided_items(result),
        notes=tuple(notes),
    )


def _work_note(name: str, result: StepResult) -> str:
    """What a step did."""
    if result.is_left_to_clean and not result.indexes:
        return (
            "nothing was done: `clean` of this change has begun, or is finished, and carries over what is written later"
        )
    if name == "indexes" and not result.indexes:
        return "the table has all indexes"
    counts = [f"{count:,} {_ACTIONS.get(kind, kind)}" for kind, count in sorted(result.written.items())]
    work = f"{result.read:,} items read; {', '.join(counts) or 'nothing was written'}; {result.units:,.0f} write units"
    if not result.indexes:
        return work
    indexes = f"{'removed' if name == 'clean' else 'added'} {', '.join(result.indexes)}"
    return f"{indexes}; {work}" if result.read else indexes


def _undecided_items(result: StepResult) -> tuple[Source, ...]:
    if not result.undecided:
        return ()
    count = result.undecided_count
    message = f"{quantity(count, 'item')} {'needs' if count == 1 else 'need'} a decision"
    fix = "correct them, and run the command again"
    if any(finding.kind == "taken" for finding in result.undecided):
        fix += ", or decide with `--duplicates`"
    return (Source("", "", (codes.UNDECIDED.at(None, message, fix),)),)


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
    transition = _open_transition(old, new)
    question = f"Does the table go back from `{transition.new.name}` to `{transition.old.name}`?"
    if not yes and not _confirm(question):
        fix = "answer y or pass `--yes`"
        raise RefusedError(pipeline_codes.WOULD_CHANGE, "not confirmed", fix)
    way_back = abort_change(transition, target.place, table=target.table, state=state)
    if way_back is None:
        note = (
            "no step has written anything: the change is forgotten, and the table has the design of "
            f"`{transition.old.name}`; deploy its code wherever `{transition.new.name}` runs"
        )
        return Outcome(result={"forgotten": True, "steps": []}, notes=(note,))
    steps = steps_of(way_back)
    names = f"{transition.new.name} {transition.old.name}"
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
    table_state = table_status(open_version(_name(design), design), target.place, table=target.table, state=state)
    change = table_state.record.change
    rows: list[tuple[str, str]] = [("design", table_state.record.design_name or "not recorded: no change was made yet")]
    if change:
        rows += [("change", change.text), ("since", change.began), ("done", ", ".join(change.done) or "-")]
        if change.step.name and table_state.holder:
            rows.append(("now", f"{change.step.name}: {table_state.progress or 'in the first page'}"))
        elif change.step.name:
            share = f"at {table_state.progress.share:.0%}" if table_state.progress else "in the first page"
            rows.append(("stopped", f"{change.step.name}: {share}; the same command continues"))
        rows.append(("held by", table_state.holder or "nobody"))
    lines: list[Line] = list(table_with_titles(("", ""), [(name, safe(text)) for name, text in rows], ("bold", "")))
    notes = () if change else ("no change is under way",)
    result = {**msgspec.to_builtins(table_state.record), "progress": msgspec.to_builtins(table_state.progress)}
    return Outcome(result=result, page=lines, notes=notes)


@command("evolve log", format_aware=True)
@_state_options
def log(design: str, target: TableTarget, state: str, as_json: bool) -> Outcome:
    """List the changes that were made of a table."""
    table_state = table_status(open_version(_name(design), design), target.place, table=target.table, state=state)
    rows = [(entry.ended, entry.source_name, entry.target_name, entry.result) for entry in table_state.record.log]
    lines: list[Line] = (
        list(table_with_titles(("Ended", "From", "To", "Result"), rows, ("", "", "", "dim"))) if rows else []
    )
    notes = () if rows else ("no change was made yet",)
    return Outcome(result={"log": msgspec.to_builtins(table_state.record.log)}, page=lines, notes=notes)


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
