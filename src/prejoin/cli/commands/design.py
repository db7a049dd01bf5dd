"""`prejoin design`: from the access patterns to the table: solved, explained, checked, proven, and written down."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

import click
import msgspec
from msgspec.structs import replace

from prejoin.cli.command import command
from prejoin.cli.design_answers import Why, Without
from prejoin.cli.outcome import CommandError, Line, Outcome, Source
from prejoin.cli.output import say
from prejoin.cli.progress import Progress
from prejoin.cli.prompt.approval import Answer, Approval, alternative_lines, ask
from prejoin.cli.status import Status
from prejoin.cli.text.design import conflict_lines, page
from prejoin.cli.text.design_json import Questions, answers, conflict_sets, result
from prejoin.cli.text.messages import coded, counted
from prejoin.design.explain import UnknownTopicError, as_text, why, without
from prejoin.design.files import design_beside
from prejoin.design.solver.integer_program import OutOfTimeError
from prejoin.diagnostics import Severity, has_errors
from prejoin.pipeline import codes
from prejoin.pipeline.decisions import decided, read_decision, record
from prejoin.pipeline.design import FEW, MOST, ContradictionError, Made, Wanted, make
from prejoin.pipeline.design_document import Target, changes, document_text, save, target
from prejoin.pipeline.design_file import kept_design, places_of
from prejoin.pipeline.document import Document, files_or_default, load
from prejoin.pipeline.document_file import check_writable
from prejoin.workload.grammar.lexer import Inexact
from prejoin.workload.grammar.statements import write_pin
from prejoin.workload.lookup import suggest
from prejoin.workload.model import Pin, Workload

_FEW_CHANGES = 12
"""Changes of the keys that are told one by one."""


@command("design")
@click.argument("document", required=False, type=click.Path(allow_dash=True))
@click.option("-o", "--output", help="Where to write it: table-design.md beside the document, if not said; `-` prints.")
@click.option("--yes", is_flag=True, help="Write it without asking.")
@click.option(
    "--decide", "sentences", multiple=True, help='A decision beside those of the document: "Order lives under User".'
)
@click.option("--at-most", "limits", multiple=True, help='A limit: "1 GSIs", "0 copies", "2 structures".')
@click.option("--remember", is_flag=True, help="Add what --decide and --at-most say to the document's Decisions.")
@click.option("--keep", metavar="DESIGN", help="A design that is in use: it stays as it is, and what is new is added.")
@click.option("--explain", is_flag=True, help="Tell all: why each key, index and copy is there, and what it costs.")
@click.option("--why", "topics", multiple=True, help="Tell about an entity, an index, a copy or an access pattern.")
@click.option("--alternatives", is_flag=True, help="Solve and price other designs, too.")
@click.option("--drop", "dropped", multiple=True, help="Tell what the table would be without an access pattern.")
@click.option("--hints/--no-hints", default=False, help="Whether to show all that the checks have to say.")
@click.option(
    "--time-limit",
    type=click.FloatRange(min=0, min_open=True),
    metavar="SECONDS",
    help="Take the best design found in this time; another run may find another. No limit if not said.",
)
@click.option("--no-proof", is_flag=True, help="Do not run it.")
def design(
    document: str | None,
    output: str | None,
    yes: bool,
    sentences: tuple[str, ...],
    limits: tuple[str, ...],
    remember: bool,
    keep: str | None,
    explain: bool,
    topics: tuple[str, ...],
    alternatives: bool,
    dropped: tuple[str, ...],
    hints: bool,
    time_limit: float | None,
    no_proof: bool,
    as_json: bool,
) -> Outcome:
    """Design the table for the access patterns in DOCUMENT (access-patterns.md).

    On a terminal the design is shown for approval: ask why, decide something, have it solved anew. Otherwise it is
    printed, and written with --yes. The exit status is 1 when a pattern is not served or a check fails.
    """
    read = load(files_or_default((document,) if document else ())[0])
    if has_errors(read.reading.diagnostics):
        note = "the document has errors; nothing was designed"
        serious = frozenset({Severity.ERROR, Severity.WARNING})
        return Outcome(Status.FAILED, sources=(read.source(serious),), notes=(note,))
    texts = (*sentences, *(f"at most {limit}" for limit in limits))
    pins = _pins(texts, read.workload)
    kept = None
    if keep is not None:
        kept, said = kept_design(keep, read.workload)
        if kept is None:
            return Outcome(Status.FAILED, sources=(said,), notes=(f"{keep} cannot be kept; nothing was designed",))
    where = None if output == "-" else target(Path(output) if output else design_beside(Path(read.file)))
    asked = Questions(explain, topics, alternatives, dropped)
    # Who only asks about it is answered from the keys; what is written down or approved is run before.
    proven = not no_proof and (yes or where is None or not asked)
    wanted = Wanted(read, pins, kept, proven, MOST if alternatives else FEW, time_limit)
    try:
        with Progress() as progress:
            made = make(wanted, progress)
            dropping = _dropped(made, dropped, progress)
    except ContradictionError as problem:
        return contradiction(problem, read, "without `--keep`")
    except OutOfTimeError:
        message = f"no design was found in {time_limit:g} s"
        fix = "give it longer with `--time-limit`, or leave that out"
        code = replace(codes.TIME_LIMIT, severity=Severity.ERROR)
        raise CommandError(code, message, fix, Status.FAILED, read.file) from None
    why_each = tuple(Why(topic, "\n".join(_why(made, topic))) for topic in topics)
    lines = _answer_lines(made, asked, why_each, dropping)
    if asked:
        data = msgspec.to_builtins(answers(made, why_each, dropping, asked))
    else:
        data = {**result(made), "dropped": [], "output": None}
    status = Status.FINE if made.fine else Status.FAILED
    if where is None:
        text = document_text(made, "md")
        return Outcome(status, {**data, "text": text}, text, sources=(made.source(hints),))
    if not yes and not as_json and not asked and sys.stdin.isatty() and sys.stdout.isatty():
        return _approved(made, where)
    notes: list[str] = []
    if made.unserved:
        notes.append(f"not served: {', '.join(operation.pattern for operation in made.unserved)}")
    if yes:
        check_writable(where.path, *([Path(read.file)] if remember and pins else []))
        notes += _announced(where, made)
        notes.append(save(made, where))
        data["output"] = str(where.path)
        notes += _remembered(made, remember)
    elif not asked:
        notes += _announced(where, made)
        notes.append(f"`--yes` writes it to {where.path}; nothing was written")
    if not asked:
        data["changes"] = changes(where.before, made.design) if where.before else []
    said = made.source(hints or (as_json and not asked), besides_page=not asked and not as_json)
    return Outcome(status, data, lines if asked else page(made), sources=(said,), notes=tuple(notes))


def _pins(texts: Sequence[str], workload: Workload) -> tuple[Pin, ...]:
    pins: tuple[Pin, ...] = ()
    for text in texts:
        try:
            pins = (*pins, read_decision(text, decided(workload, pins)))
        except Inexact as problem:
            raise CommandError(codes.FLAG, problem.message, problem.fix, Status.MISUSED) from None
    return pins


def contradiction(problem: ContradictionError, read: Document, anew: str) -> Outcome:
    """Nothing can be designed: the statements that cannot all hold, as messages and as data.

    `anew` says how all would be designed anew, if a design that is kept is a part of it.
    """
    at = places_of(read)
    said = []
    for statements in problem.sets:
        spans = (at(one.name, "") for one in statements if one.kind != "kept")
        message, fix = f"this cannot hold: {statements[0]}", "change it, or leave it out"
        if len(statements) > 1:
            message = f"these cannot all hold: {'; '.join(map(str, statements))}"
            fix = "change or leave out any one of them"
        if any(one.kind == "kept" for one in statements):
            fix = f"change or leave out what the document says; {anew} all is designed anew, and what is kept goes"
        said.append(codes.CONTRADICTION.at(next(filter(None, spans), None), message, fix))
    if not said:
        message = "what is decided leaves no design"
        said.append(codes.CONTRADICTION.at(None, message, "leave out decisions, one after the other, to find which"))
    return Outcome(
        Status.FAILED,
        {"document": read.file, "conflicts": conflict_sets(problem.sets)},
        list(conflict_lines(problem.sets)) if len(problem.sets) > 1 else "",
        sources=(Source(read.file, read.text, tuple(said)),),
        notes=("nothing was designed",),
    )


# --- Questions ------------------------------------------------------------------------------------------------------


def _dropped(made: Made, patterns: Sequence[str], progress: Progress) -> tuple[Without, ...]:
    found = []
    for pattern in patterns:
        if made.workload.pattern(pattern) is None:
            meant = suggest(pattern, [one.id for one in made.workload.patterns])
            fix = f"did you mean {meant}?" if meant else "name one of the document"
            raise CommandError(codes.NO_TOPIC, f"there is no access pattern `{pattern}`", fix, Status.MISUSED)
        progress.begin(f"designing without {pattern}")
        one = without(made.workload, pattern, made.solution, made.wanted.kept)
        found.append(Without(pattern, one.text, one.structures, one.dollars, one.unserved))
    return tuple(found)


def _why(made: Made, topic: str) -> list[str]:
    try:
        return why(made.explanation, topic)
    except UnknownTopicError as problem:
        known = ", ".join(problem.known)
        fix = f"did you mean `{problem.meant}`?" if problem.meant else f"ask about one of {known}"
        raise CommandError(codes.NO_TOPIC, f"there is nothing named `{topic}`", fix, Status.MISUSED) from None


def _answer_lines(made: Made, asked: Questions, topics: Sequence[Why], dropping: Sequence[Without]) -> list[Line]:
    lines: list[Line] = []
    if asked.explain:
        lines += [coded(line) for line in as_text(made.explanation)]
    for topic in topics:
        lines += [(), *map(coded, topic.text.split("\n"))]
    if asked.alternatives and not asked.explain:
        lines += [(), *alternative_lines(made)]
    for one in dropping:
        lines += [(), coded(f"{one.text}.")]
    return lines if asked.explain or not lines else lines[1:]


# --- Writing --------------------------------------------------------------------------------------------------------


def _announced(where: Target, made: Made) -> list[str]:
    """What would be different from the design that is there."""
    if where.before is None:
        return []
    found = changes(where.before, made.design)
    if not found:
        return []
    more = len(found) - _FEW_CHANGES
    head = f"{where.path} has other keys; with this design:"
    notes = [head, *(f"  {text}" for text in found[:_FEW_CHANGES]), *([f"  … and {more} more"] if more > 0 else [])]
    if where.approved and made.wanted.kept is None:
        notes.append(
            f"{where.path} is APPROVED: `--keep {where.path}` adds what is new and leaves its keys as they are"
        )
    return notes


def _remembered(made: Made, remember: bool) -> list[str]:
    """What became of the decisions that are not in the document."""
    wanted = made.wanted
    if not wanted.pins:
        return []
    file = wanted.document.file
    if not remember or file == "-":
        noun = counted(len(wanted.pins), "decision")
        return [f"{noun} not in {file}: the next design will not know of it; `--remember` adds it to its Decisions"]
    aside = record(wanted.document, wanted.pins)
    kept = (f"not all of {file} could be carried over: the text as it was is in {aside}",) if aside else ()
    return [*kept, f"added to the Decisions of {file}: {'; '.join(map(write_pin, wanted.pins))}"]


def _approved(made: Made, where: Target) -> Outcome:
    """Shows it on the terminal, and writes it if that is wanted."""
    check_writable(where.path)  # before anybody answers questions for nothing
    approval = Approval(made)
    for note in _announced(where, made):
        say(*coded(note))
    answer = approval.talk(f"Write it to {where.path}?")
    made = approval.made
    status = Status.FINE if made.fine else Status.FAILED
    if answer is Answer.NO:
        return Outcome(Status.FINE, result(made), notes=("nothing was written",))
    document = made.wanted.document
    decided = made.wanted.pins if document.file != "-" else ()
    sentences = "; ".join(map(write_pin, decided))
    remember = bool(decided) and ask(f"Add to the Decisions of {document.file}: {sentences}?")
    check_writable(where.path, *([Path(document.file)] if remember else []))
    notes = [save(made, target(where.path))]  # as it is now: somebody may have edited it meanwhile
    if document.file != "-" and load(document.file).text != document.text:
        notes.append(f"{document.file} was changed meanwhile, and the design does not know of it: run it again")
    if remember:
        notes += _remembered(made, remember)
    elif decided:
        notes.append(f"{document.file} is as it was: the next design does not know what you decided")
    return Outcome(status, result(made), notes=tuple(notes))
