"""`prejoin design`: the table for a document, explained, priced, checked, proven and written."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import click
import msgspec

from prejoin.cli.command import command, has_terminal
from prejoin.cli.documents import file_or_default, load
from prejoin.cli.outcome import ExitStatus, Line, Outcome, outcome_of
from prejoin.cli.output import say
from prejoin.cli.progress import ProgressLine
from prejoin.cli.prompt.approval import Approval, alternative_lines
from prejoin.cli.prompt.line import ask
from prejoin.cli.text.design import besides_page, conflict_lines, design_page, other_file_in_use
from prejoin.cli.text.design_answers import Why, Without
from prejoin.cli.text.design_json import Questions, answers_json, conflicts_json, design_json
from prejoin.cli.text.evolution import needs_evolution, plan_command
from prejoin.cli.text.frontier import frontier_lines
from prejoin.cli.text.messages import coded
from prejoin.design.explain import as_text
from prejoin.design.files import design_beside
from prejoin.design.frontier import FrontierPoint
from prejoin.design.layout.growth import Growth
from prejoin.pipeline.build.build_design import record_design
from prejoin.pipeline.design.decisions import add_decisions
from prejoin.pipeline.design.design_document import (
    DesignTarget,
    bound_design,
    changes,
    design_of_table,
    design_target,
    is_same_file,
    moved_entities,
    result_text,
    write_design,
)
from prejoin.pipeline.design.design_file import design_in_use
from prejoin.pipeline.design.design_table import (
    FEW,
    MOST,
    TIME_LIMIT,
    ContradictionError,
    DesignRequest,
    DesignResult,
    read_decisions,
    solve_request,
    why,
    without,
)
from prejoin.pipeline.design.frontier import chart_beside, design_frontier, write_frontier
from prejoin.pipeline.document import check_writable, read_document
from prejoin.pipeline.summary import quantity
from prejoin.workload.grammar.statements import write_pin

_FEW_CHANGES = 12
"""Changes of the keys that are listed."""


@command("design", format_aware=True)
@click.argument("document", required=False, type=click.Path(allow_dash=True))
@click.option("-o", "--output", help="The file to write (default: table-design.md beside the document); `-` prints it.")
@click.option("--yes", is_flag=True, help="Write the design without asking.")
@click.option(
    "--decide", "sentences", multiple=True, help='A decision that the document lacks: "Order lives under User".'
)
@click.option("--at-most", "limits", multiple=True, help='A limit: "1 GSIs", "0 copies", "2 structures".')
@click.option(
    "--index-keys",
    type=click.Choice(["natural", "composite"]),
    help="The form of index keys: the attributes themselves, or templates (default: the better one for each index).",
)
@click.option("--remember", is_flag=True, help="Add these decisions to the document.")
@click.option(
    "--keep",
    metavar="DESIGN",
    help="A design in use: its keys stay, and new parts are added. Later designs and builds keep them, too.",
)
@click.option(
    "--move",
    "moves",
    multiple=True,
    metavar="ENTITY[ to KEY]",
    help='With --keep: give an entity another key in the table, "Order to USER#{userId} / ORDER#{orderId}".',
)
@click.option("--fresh", is_flag=True, help="Design all keys again, even if the design was made with --keep.")
@click.option("--explain", is_flag=True, help="Explain every key, index and copy, and its cost.")
@click.option("--why", "topics", multiple=True, help="Explain one entity, index, copy or access pattern.")
@click.option("--alternatives", is_flag=True, help="Solve and price other designs, too.")
@click.option("--frontier", is_flag=True, help="Solve simpler and cheaper designs; with --yes, draw them, too.")
@click.option("--drop", "dropped", multiple=True, help="Show the design without an access pattern.")
@click.option("--hints/--no-hints", default=False, help="Whether to show all messages of the checks.")
@click.option(
    "--time-limit",
    type=click.FloatRange(min=0, min_open=True),
    metavar="SECONDS",
    default=TIME_LIMIT,
    show_default=True,
    help="Use the best design found in this time. If it is reached, another run may find another.",
)
@click.option("--allow-unproven", is_flag=True, help="Accept patterns that the proof cannot run, marked as not proven.")
@click.option("--no-proof", is_flag=True, help="Do not prove the design by running it.")
def design(
    document: str | None,
    output: str | None,
    yes: bool,
    sentences: tuple[str, ...],
    limits: tuple[str, ...],
    index_keys: str | None,
    remember: bool,
    keep: str | None,
    moves: tuple[str, ...],
    fresh: bool,
    explain: bool,
    topics: tuple[str, ...],
    alternatives: bool,
    frontier: bool,
    dropped: tuple[str, ...],
    hints: bool,
    time_limit: float,
    allow_unproven: bool,
    no_proof: bool,
    as_json: bool,
) -> Outcome:
    """Design the table for the access patterns in DOCUMENT (access-patterns.md).

    On a terminal the design is shown for approval: ask why, add a decision and design again. Otherwise it is printed,
    and written with --yes. The exit status is 1 if a pattern is not served or a check fails.
    """
    if keep and fresh:
        raise click.UsageError("`--fresh` keeps no design: leave out `--keep`")
    if moves and not keep:
        raise click.UsageError("`--move` changes a key of the design in use: name it with `--keep DESIGN`")
    read = load(file_or_default(document))
    read.require_no_errors("the document has errors; nothing was designed")
    form = [f"{index_keys} index keys"] if index_keys else []
    pins = read_decisions((*sentences, *(f"at most {limit}" for limit in limits), *form), read.workload)
    target = None if output == "-" else design_target(Path(output) if output else design_beside(Path(read.file)))
    questions = Questions(explain, topics, alternatives, dropped, frontier)
    most = MOST if alternatives else FEW
    request = DesignRequest(read, pins, None, not no_proof, most, time_limit, allow_unproven)
    request = _keeping(request, keep, None if fresh else target, is_moving=bool(moves))
    try:
        with ProgressLine() as progress:
            found = _moved(request, moves, progress) if moves else solve_request(request, progress)
            dropping = tuple(_without(found, pattern, progress) for pattern in dropped)
            points = design_frontier(found, progress=progress) if frontier else ()
    except ContradictionError as problem:
        return _contradiction(problem, read.file)
    explained = tuple(Why(topic, "\n".join(why(found, topic))) for topic in topics)
    data: dict[str, Any] = {**design_json(found), "dropped": [], "output": None}
    if questions:
        data = msgspec.to_builtins(answers_json(found, explained, dropping, points, questions))
    status = ExitStatus.FINE if found.fine else ExitStatus.FAILED
    if target is None:
        text = result_text(found, "md")
        return Outcome(status, {**data, "text": text}, text, sources=(found.source(hints),))
    if not yes and not as_json and not questions and has_terminal():
        return _approve(found, target)
    notes: list[str] = []
    if found.unserved:
        notes.append(f"not served: {', '.join(operation.pattern for operation in found.unserved)}")
    if yes:
        charts = [chart_beside(target.path)] if frontier else []
        check_writable(target.path, *charts, *([Path(read.file)] if remember and pins else []))
        notes += [*_announced(target, found), _written(found, target), *_remembered(found, remember)]
        record_design(found, target.path)
        data["output"] = str(target.path)
        if frontier:
            chart = chart_beside(target.path)
            write_frontier(found, points, chart)
            data["chart"] = str(chart)
            notes.append(f"wrote {chart}")
    elif not questions:
        notes += [*_announced(target, found), f"nothing was written; `--yes` writes {target.path}"]
    page: list[Line] = _answers(found, questions, explained, dropping, points)
    source = found.source(hints or (as_json and not questions))
    if not questions:
        data["changes"] = changes(target.before, found.design) if target.before else []
        file, grown = other_file_in_use(found, target.path), found.growth or Growth()
        is_change = needs_evolution(file, target.path, found.workload, found.design, grown)
        data["next"] = [plan_command(file, target.path)] if is_change else []
        page = design_page(found, target.path)
        source = source if as_json else besides_page(source)
    return Outcome(status, data, page, sources=(source,), notes=tuple(notes))


def _moved(request: DesignRequest, moves: Sequence[str], progress: ProgressLine) -> DesignResult:
    """The design in which entities have another key than in the kept one."""
    # Most designs move nothing, and load no migrations.
    from prejoin.migrate.evolve.move_design import design_moved, read_moves

    assert request.kept is not None
    return design_moved(request, read_moves(moves, request.workload, request.kept), progress)


def _keeping(
    request: DesignRequest, keep: str | None, target: DesignTarget | None, *, is_moving: bool = False
) -> DesignRequest:
    """The request with the design that it keeps: the given one, or else that of the file, if it was made to keep one.

    An approved design that keeps no other is kept only if it is given. A file that was made from the given design, and
    moves entities of it, is kept, too: the same command without `--move` does not move them back.
    """
    workload = request.document.workload
    if keep and not is_moving and target and target.kept_path and is_same_file(target.kept_path, Path(keep)):
        in_use = design_in_use(keep, workload, f"{keep} cannot be kept; nothing was designed")
        if target.before and moved_entities(in_use, target.before):
            keep = None
    if keep:
        kept = design_in_use(keep, workload, f"{keep} cannot be kept; nothing was designed")
        return replace(request, kept=kept, kept_file=keep)
    if target is None or not target.keeps:
        return request
    kept = bound_design(target, workload, "nothing was designed")
    file = str(target.kept_path) if target.kept_path else ""
    return replace(request, kept=kept, in_use=design_of_table(target, workload), in_use_file=file)


def _contradiction(problem: ContradictionError, file: str) -> Outcome:
    sets = problem.conflicts
    outcome = outcome_of(problem, {"document": file, "conflicts": conflicts_json(sets)})
    return replace(outcome, page=list(conflict_lines(sets)) if len(sets) > 1 else "")


# --- Questions ------------------------------------------------------------------------------------------------------


def _without(found: DesignResult, pattern: str, progress: ProgressLine) -> Without:
    progress.begin(f"designing without {pattern}")
    one = without(found, pattern)
    return Without(pattern, one.text, one.structures, one.dollars, one.unserved)


def _answers(
    found: DesignResult,
    questions: Questions,
    explained: Sequence[Why],
    dropping: Sequence[Without],
    points: Sequence[FrontierPoint],
) -> list[Line]:
    lines: list[Line] = []
    if questions.explain:
        lines += [coded(line) for line in as_text(found.explanation)]
    for topic in explained:
        lines += [(), *map(coded, topic.text.split("\n"))]
    if questions.alternatives and not questions.explain:
        lines += [(), *alternative_lines(found)]
    if questions.frontier:
        lines += [(), *frontier_lines(found, points)]
    for one in dropping:
        lines += [(), coded(f"{one.text}.")]
    return lines if questions.explain or not lines else lines[1:]


# --- Writing --------------------------------------------------------------------------------------------------------


def _announced(target: DesignTarget, found: DesignResult) -> list[str]:
    """The changes from the design that the file has now."""
    differences = changes(target.before, found.design) if target.before else []
    if not differences:
        return []
    more = len(differences) - _FEW_CHANGES
    notes = [f"{target.path} has other keys. This design changes:", *(f"  {one}" for one in differences[:_FEW_CHANGES])]
    notes += [f"  … and {more} more"] if more > 0 else []
    if target.approved and found.request.kept is None:
        notes.append(f"{target.path} is APPROVED: `--keep {target.path}` keeps its keys and adds new parts")
    elif target.keeps and (found.request.kept is None or found.request.kept_file):
        options = "`--fresh`" if found.request.kept is None else "`--keep`"
        notes.append(f"without {options}, the keys of {target.path} stay, and new parts are added")
    return notes


def _written(found: DesignResult, target: DesignTarget) -> str:
    return f"wrote {target.path}" if write_design(found, target) else f"{target.path} is up to date"


def _remembered(found: DesignResult, remember: bool) -> list[str]:
    """Notes about decisions that are not in the document."""
    pins, document = found.request.pins, found.request.document
    if not pins:
        return []
    file = document.file
    if not remember or file == "-":
        noun = quantity(len(pins), "decision")
        return [
            f"{noun} not in {file}, so the next design will not follow them; `--remember` adds them to the document"
        ]
    aside = add_decisions(document, pins)
    saved = (f"some text of {file} could not be carried over: the old text is in {aside}",) if aside else ()
    return [*saved, f"added to the Decisions of {file}: {'; '.join(map(write_pin, pins))}"]


def _approve(found: DesignResult, target: DesignTarget) -> Outcome:
    """Shows the design on the terminal, and writes it if the user approves."""
    check_writable(target.path)  # before the questions
    approval = Approval(found, target.path)
    for note in _announced(target, found):
        say(*coded(note))
    approved = approval.talk(f"Write it to {target.path}?")
    found = approval.result
    if not approved:
        return Outcome(ExitStatus.FINE, design_json(found), notes=("nothing was written",))
    document = found.request.document
    pins = found.request.pins if document.file != "-" else ()
    remember = bool(pins) and ask(f"Add to the Decisions of {document.file}: {'; '.join(map(write_pin, pins))}?")
    check_writable(target.path, *([Path(document.file)] if remember else []))
    notes = [_written(found, design_target(target.path))]  # read again: it may have been edited meanwhile
    if document.file != "-" and read_document(document.file).text != document.text:
        notes.append(f"{document.file} has changed meanwhile, and the design does not follow it: run the command again")
    if remember:
        notes += _remembered(found, remember)
    elif pins:
        notes.append(f"{document.file} is unchanged: the next design will not follow these decisions")
    record_design(found, target.path)
    return Outcome(ExitStatus.FINE if found.fine else ExitStatus.FAILED, design_json(found), notes=tuple(notes))
