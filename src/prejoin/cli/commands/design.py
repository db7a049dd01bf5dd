"""`prejoin design`: the table for a document, explained, priced, checked, proven and written."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
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
from prejoin.cli.text.design import besides_page, conflict_lines, design_page, other_file_in_use, proof_line
from prejoin.cli.text.design_answers import Why, Without
from prejoin.cli.text.design_json import Questions, answers_json, conflicts_json, design_json
from prejoin.cli.text.evolution import needs_evolution, plan_command
from prejoin.cli.text.frontier import frontier_lines
from prejoin.cli.text.messages import safe, with_code_style
from prejoin.design.explain import as_text
from prejoin.design.files import design_beside
from prejoin.design.layout.growth import Growth
from prejoin.design.whatif.alternatives import MOST_ALTERNATIVES
from prejoin.design.whatif.frontier import FrontierPoint
from prejoin.pipeline.build.build_design import record_design
from prejoin.pipeline.design.decisions import add_decisions
from prejoin.pipeline.design.design_document import (
    DesignTarget,
    bound_design,
    changes,
    changes_lost_by,
    check_changes_by_hand,
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
from prejoin.pipeline.design.hand_changes import MOST_LISTED
from prejoin.pipeline.document import check_writable, read_document
from prejoin.pipeline.summary import quantity
from prejoin.workload.grammar.statements import write_pin
from prejoin.workload.model import Workload

_FEW_CHANGES = 12
"""Changes of the keys that are listed."""


@command("design", format_aware=True)
@click.argument("document", required=False, type=click.Path(allow_dash=True))
@click.option("-o", "--output", help="The file to write (default: table-design.md beside the document); `-` prints it.")
@click.option("--yes", is_flag=True, help="Write the design without asking.")
@click.option("--replace", "replaces", is_flag=True, help="With --yes: replace changes by hand in the design document.")
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
    replaces: bool,
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
    _refuse_contrary_options(keep, fresh, moves)
    document_file = load(file_or_default(document))
    document_file.require_no_errors("the document has errors; nothing was designed")
    pins = read_decisions(_decisions(sentences, limits, index_keys), document_file.workload)
    target = _target(output, Path(document_file.file))
    questions = Questions(explain, topics, alternatives, dropped, frontier)
    request = DesignRequest(
        document_file,
        pins,
        prove=not no_proof,
        alternatives=_alternative_count(questions, document_file.workload, yes),
        proposes=not questions,
        time_limit=time_limit,
        allow_unproven=allow_unproven,
    )
    request = _keep_design(request, keep, None if fresh else target, is_moving=bool(moves))
    try:
        with ProgressLine() as progress:
            result = _design_with_moves(request, moves, progress) if moves else solve_request(request, progress)
            omissions = tuple(_without_pattern(result, pattern, progress) for pattern in dropped)
            points = design_frontier(result, progress=progress) if frontier else ()
    except ContradictionError as problem:
        return _contradiction(problem, document_file.file)
    explanations = tuple(Why(topic, "\n".join(why(result, topic))) for topic in topics)
    answers = _Answers(questions, explanations, omissions, points)
    status = ExitStatus.FINE if result.fine else ExitStatus.FAILED
    if target is None:
        text = result_text(result, "md")
        data = {**_json_data(result, answers), "text": text}
        return Outcome(status, data, text, sources=(result.source(hints),))
    if not yes and not as_json and not questions and has_terminal():
        return _approve(result, target)
    data = _json_data(result, answers)
    notes: list[str] = []
    if result.unserved:
        notes.append(f"not served: {', '.join(operation.pattern for operation in result.unserved)}")
    if yes:
        notes += _write_files(result, target, remember, replaces, answers, data)
    elif not questions:
        notes += [*_change_notes(target, result), f"nothing was written; `--yes` writes {target.path}"]
    if questions:
        notes.append("".join(piece if isinstance(piece, str) else piece[0] for piece in proof_line(result)))
        page = _answer_lines(result, answers)
        return Outcome(status, data, page, sources=(result.source(hints),), notes=tuple(notes))
    data |= _change_data(result, target)
    source = result.source(hints or as_json)
    source = source if as_json else besides_page(source)
    return Outcome(status, data, design_page(result, target.path), sources=(source,), notes=tuple(notes))


@dataclass(frozen=True, slots=True)
class _Answers:
    """The questions that options ask about a design, and their answers."""

    questions: Questions
    explanations: tuple[Why, ...]
    omissions: tuple[Without, ...]
    points: tuple[FrontierPoint, ...]


def _refuse_contrary_options(keep: str | None, fresh: bool, moves: Sequence[str]) -> None:
    if keep and fresh:
        raise click.UsageError("`--fresh` keeps no design: leave out `--keep`")
    if moves and not keep:
        raise click.UsageError("`--move` changes a key of the design in use: name it with `--keep DESIGN`")


def _decisions(sentences: Sequence[str], limits: Sequence[str], index_keys: str | None) -> list[str]:
    """The decisions of the options, as a document writes them."""
    decisions = [*sentences, *(f"at most {limit}" for limit in limits)]
    if index_keys:
        decisions.append(f"{index_keys} index keys")
    return decisions


def _target(output: str | None, document: Path) -> DesignTarget | None:
    """The file to write; None if the design is printed."""
    if output == "-":
        return None
    return design_target(Path(output) if output else design_beside(document))


def _alternative_count(questions: Questions, workload: Workload, yes: bool) -> int:
    """How many other designs are solved. Each takes as long as the design; explanations of patterns name none."""
    if questions.alternatives:
        return MOST_ALTERNATIVES
    if questions.explain or questions.frontier or questions.drop or yes:
        return FEW
    asks_for_patterns = bool(questions.why) and all(workload.pattern(topic) for topic in questions.why)
    return 0 if asks_for_patterns else FEW


def _json_data(result: DesignResult, answers: _Answers) -> dict[str, Any]:
    if not answers.questions:
        return {**design_json(result), "dropped": [], "output": None}
    data: dict[str, Any] = msgspec.to_builtins(
        answers_json(result, answers.explanations, answers.omissions, answers.points, answers.questions)
    )
    return data


def _change_data(result: DesignResult, target: DesignTarget) -> dict[str, Any]:
    """What differs from the design in use, and the command that plans the way to the new one."""
    file, growth = other_file_in_use(result, target.path), result.growth or Growth()
    needs_plan = needs_evolution(file, target.path, result.workload, result.design, growth)
    return {
        "changes": changes(target.before, result.design) if target.before else [],
        "next": [plan_command(file, target.path)] if needs_plan else [],
    }


def _design_with_moves(request: DesignRequest, moves: Sequence[str], progress: ProgressLine) -> DesignResult:
    """The design in which entities have another key than in the kept one."""
    # Most designs move nothing, and load no migrations.
    from prejoin.migrate.evolve.move_design import design_moved, read_moves

    assert request.kept is not None
    return design_moved(request, read_moves(moves, request.workload, request.kept), progress)


def _keep_design(
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


def _without_pattern(result: DesignResult, pattern: str, progress: ProgressLine) -> Without:
    progress.begin(f"designing without {pattern}")
    omission = without(result, pattern)
    return Without(pattern, omission.text, omission.structures, omission.dollars, omission.unserved)


def _answer_lines(result: DesignResult, answers: _Answers) -> list[Line]:
    questions = answers.questions
    lines: list[Line] = []
    if questions.explain:
        lines += [with_code_style(line) for line in as_text(result.explanation)]
    for explanation in answers.explanations:
        lines += [(), *map(with_code_style, explanation.text.split("\n"))]
    if questions.alternatives and not questions.explain:
        lines += [(), *alternative_lines(result)]
    if questions.frontier:
        lines += [(), *frontier_lines(result, answers.points)]
    for omission in answers.omissions:
        lines += [(), with_code_style(f"{omission.text}.")]
    return lines if questions.explain or not lines else lines[1:]


# --- Writing --------------------------------------------------------------------------------------------------------


def _write_files(
    result: DesignResult,
    target: DesignTarget,
    remember: bool,
    replaces: bool,
    answers: _Answers,
    data: dict[str, Any],
) -> list[str]:
    """Writes the design and, if they are asked for, the chart and the decisions. Names the files in `data`."""
    document = Path(result.request.document.file)
    chart = chart_beside(target.path) if answers.questions.frontier else None
    documents = [document] if remember and result.request.pins else []
    check_writable(target.path, *([chart] if chart else []), *documents)  # all of them, before one is written
    if not replaces:
        check_changes_by_hand(result, target)
    notes = _change_notes(target, result)
    notes += [_write_design(result, target), *_remember_decisions(result, remember)]
    record_design(result, target.path)
    data["output"] = str(target.path)
    if chart is not None:
        write_frontier(result, answers.points, chart)
        data["chart"] = str(chart)
        notes.append(f"wrote {chart}")
    return notes


def _change_notes(target: DesignTarget, result: DesignResult) -> list[str]:
    """The changes from the design that the file has now."""
    differences = changes(target.before, result.design) if target.before else []
    if not differences:
        return []
    notes = [f"{target.path} has other keys. This design changes:"]
    notes += [f"  {difference}" for difference in differences[:_FEW_CHANGES]]
    if len(differences) > _FEW_CHANGES:
        notes.append(f"  … and {len(differences) - _FEW_CHANGES} more")
    if target.approved and result.request.kept is None:
        notes.append(f"{target.path} is APPROVED: `--keep {target.path}` keeps its keys and adds new parts")
    elif target.keeps and (result.request.kept is None or result.request.kept_file):
        options = "`--fresh`" if result.request.kept is None else "`--keep`"
        notes.append(f"without {options}, the keys of {target.path} stay, and new parts are added")
    return notes


def _write_design(result: DesignResult, target: DesignTarget) -> str:
    return f"wrote {target.path}" if write_design(result, target, replace=True) else f"{target.path} is up to date"


def _remember_decisions(result: DesignResult, remember: bool) -> list[str]:
    """Adds decisions that are not in the document to it, if `remember`; and says what was done."""
    pins, document = result.request.pins, result.request.document
    if not pins:
        return []
    file = document.file
    if not remember or file == "-":
        noun = quantity(len(pins), "decision")
        return [
            f"{noun} not in {file}, so the next design will not follow them; `--remember` adds them to the document"
        ]
    backup = add_decisions(document, pins)
    notes = [f"some text of {file} could not be carried over: the old text is in {backup}"] if backup else []
    return [*notes, f"added to the Decisions of {file}: {'; '.join(map(write_pin, pins))}"]


def _may_replace(result: DesignResult, target: DesignTarget) -> bool:
    """Lists the changes by hand that would be lost, and asks whether to replace them."""
    losses = changes_lost_by(result, target)
    for change in losses[:MOST_LISTED]:
        place = f"line {change.line}" if change.line else "deleted"
        say(*with_code_style(safe(f"{target.path}, {place}, in {change.section or 'the header'}: {change.text}")))
    return not losses or ask(f"Replace {quantity(len(losses), 'change')} by hand in {target.path}?")


def _approve(result: DesignResult, target: DesignTarget) -> Outcome:
    """Shows the design on the terminal, and writes it if the user approves."""
    check_writable(target.path)  # before the questions
    approval = Approval(result, target.path)
    for note in _change_notes(target, result):
        say(*with_code_style(note))
    is_approved = approval.talk(f"Write it to {target.path}?")
    result = approval.result
    if not is_approved:
        return Outcome(ExitStatus.FINE, design_json(result), notes=("nothing was written",))
    document = result.request.document
    pins = result.request.pins if document.file != "-" else ()
    remember = bool(pins) and ask(f"Add to the Decisions of {document.file}: {'; '.join(map(write_pin, pins))}?")
    check_writable(target.path, *([Path(document.file)] if remember else []))
    target = design_target(target.path)  # read again: it may have been edited meanwhile
    if not _may_replace(result, target):
        return Outcome(ExitStatus.FINE, design_json(result), notes=("nothing was written",))
    notes = [_write_design(result, target)]
    if document.file != "-" and read_document(document.file).text != document.text:
        notes.append(f"{document.file} has changed meanwhile, and the design does not follow it: run the command again")
    if remember:
        notes += _remember_decisions(result, remember)
    elif pins:
        notes.append(f"{document.file} is unchanged: the next design will not follow these decisions")
    record_design(result, target.path)
    return Outcome(ExitStatus.FINE if result.fine else ExitStatus.FAILED, design_json(result), notes=tuple(notes))
