"""The approval of a design on a terminal: ask why, add decisions and design again, write it or leave it."""

from __future__ import annotations

import shutil
import sys
from dataclasses import dataclass, field, replace
from pathlib import Path

from prejoin.cli.outcome import Line
from prejoin.cli.output import say, show, width_of
from prejoin.cli.progress import ProgressLine
from prejoin.cli.prompt.line import read_line
from prejoin.cli.text.design import besides_page, conflict_lines, design_page
from prejoin.cli.text.messages import messages, safe, with_code_style
from prejoin.design.explain import topics
from prejoin.design.explain.text import block_lines, sections
from prejoin.design.phrases import money
from prejoin.pipeline.design.decisions import read_decision
from prejoin.pipeline.design.design_document import changes
from prejoin.pipeline.design.design_table import (
    ContradictionError,
    DesignRequest,
    DesignResult,
    alternatives_of,
    solve_request,
    why,
    with_alternatives,
    without,
)
from prejoin.pipeline.errors import InvalidArgumentError
from prejoin.workload.grammar.lexer import Inexact
from prejoin.workload.grammar.statements import read_pin, write_pin
from prejoin.workload.lookup import suggest

_HELP = (
    ("y", "writes the design; n, ^C and ^D leave everything unchanged"),
    ("why Order", "explains an entity, an index, a copy or an access pattern; `why` alone explains all"),
    (
        "pin Order lives under User",
        "adds a decision, and designs again: `at most 1 GSIs`, `no copies`, `minimise money`,",
    ),
    ("", "Order has key `USER#{userId}` and `ORDER#{orderId}`: any sentence of the document's Decisions"),
    ("forbid copies for Order", "the same as `pin no copies for Order`; also GSIs, shards, buckets"),
    ("drop AP-006", "shows the design without that pattern; nothing is changed"),
    ("alternatives", "solves and prices other designs"),
    ("undo", "removes the last decision"),
    ("show", "shows the design again"),
)
_VERBS = ("yes", "no", "why", "pin", "forbid", "drop", "alternatives", "undo", "show", "help")


@dataclass(slots=True)
class Approval:
    """The conversation: the current design, and the design before each decision."""

    result: DesignResult
    output: Path
    """The file that the design is for."""
    earlier: list[DesignResult] = field(default_factory=list)

    def talk(self, question: str) -> bool:
        """Asks until there is a yes or a no. The end of the input is a no."""
        self._show()
        while True:
            try:
                text = read_line(f"{question} [y/n, why …, pin …, help] ", _choices(self.result))
            except EOFError:
                say()
                return False
            verb, _, argument = text.strip().partition(" ")
            verb, argument = verb.lower().rstrip("?") or "help", argument.strip()
            if verb in ("y", "yes"):
                return True
            if verb in ("n", "no", "q", "quit") and not argument:
                return False
            self._do(verb, argument, text.strip())

    def _do(self, verb: str, argument: str, text: str) -> None:
        match verb:
            case "why":
                self._why(argument)
            case "pin":
                self._pin(argument)
            case "forbid":
                self._pin(f"no {argument.removeprefix('any ').removeprefix('a ')}")
            case "drop":
                self._drop(argument)
            case "alternatives":
                self._alternatives()
            case "undo":
                self._undo()
            case "show":
                self._show()
            case "help" | "h" | "?":
                _help()
            case _ if read_pin(text):
                self._pin(text)
            case _:
                suggestion = suggest(verb, _VERBS)
                say(
                    *with_code_style(
                        f"`{safe(text)}` is not understood. " + (f"Did you mean `{suggestion}`? " if suggestion else "")
                    )
                )
                say(*with_code_style("`help` lists the commands."))

    def _show(self) -> None:
        show(design_page(self.result, self.output))
        lines = messages((besides_page(self.result.source(hints=False)),), width_of(sys.stderr))
        if lines:
            show([(), *lines], sys.stderr)

    def _why(self, topic: str) -> None:
        explanation = self.result.explanation
        width = min(shutil.get_terminal_size().columns, 100)
        if not topic:
            for title, blocks in sections(explanation):
                show(
                    [
                        ((title, "bold"),),
                        *(with_code_style(line) for block in blocks for line in block_lines(block, width)),
                        (),
                    ]
                )
            return
        try:
            show([with_code_style(line) for line in why(self.result, topic, width)])
        except InvalidArgumentError as problem:
            _say_problem(problem)

    def _pin(self, text: str) -> None:
        request = self.result.request
        try:
            pin = read_decision(text, request.workload)
        except Inexact as problem:
            say(("This is not a decision: ", "bold red"), *with_code_style(safe(problem.message)))
            say("  ", *with_code_style(f"fix: {problem.fix}"))
            return
        if self._again(replace(request, pins=(*request.pins, pin))):
            say(*with_code_style(f"Decided: {write_pin(pin)}. `undo` removes it."))

    def _again(self, request: DesignRequest) -> bool:
        """Designs again and shows the differences. A contradiction changes nothing."""
        try:
            with ProgressLine() as progress:
                new_result = solve_request(request, progress)
        except ContradictionError as problem:
            say(("This contradicts other statements, so nothing has changed.", "bold red"))
            contradictions = [
                statement for statements in problem.conflicts for statement in statements if len(statements) == 1
            ]
            show(
                [
                    *conflict_lines(problem.conflicts),
                    *(("  ", *with_code_style(f"On its own: {statement}")) for statement in contradictions),
                ],
                sys.stderr,
            )
            return False
        self.earlier.append(self.result)
        self.result, before = new_result, self.result
        self._differs(before)
        return True

    def _undo(self) -> None:
        if not self.earlier:
            say("There is no decision to remove.")
            return
        self.result, before = self.earlier.pop(), self.result
        self._differs(before)

    def _differs(self, before: DesignResult) -> None:
        now = self.result
        lines: list[Line] = [("  ", *with_code_style(text)) for text in changes(before.design, now.design)]
        if not lines:
            show([("The keys stay the same.",)])
            return
        difference = float(now.bill.total) - float(before.bill.total)
        price = (
            f", {money(abs(difference))} a month {'more' if difference > 0 else 'less'}" if round(difference, 2) else ""
        )
        already_unserved = {operation.pattern for operation in before.unserved}
        unserved = [operation.pattern for operation in now.unserved if operation.pattern not in already_unserved]
        missing = f"; no longer served: {', '.join(unserved)}" if unserved else ""
        show([(("Changes", "bold"), f"{price}{missing}:"), *lines])
        source, known_messages = now.source(hints=False), {diagnostic.message for diagnostic in before.diagnostics}
        new = replace(
            source,
            diagnostics=tuple(
                diagnostic for diagnostic in source.diagnostics if diagnostic.message not in known_messages
            ),
        )
        show(messages((new,), width_of(sys.stderr)), sys.stderr)

    def _drop(self, pattern: str) -> None:
        try:
            with ProgressLine() as progress:
                progress.begin(f"designing without {pattern}")
                omission = without(self.result, pattern)
        except InvalidArgumentError as problem:
            _say_problem(problem)
            return
        show([(*with_code_style(f"{omission.text}."),)])

    def _alternatives(self) -> None:
        with ProgressLine() as progress:
            progress.begin("pricing alternatives")
            self.result = with_alternatives(self.result)
        show(alternative_lines(self.result))


def alternative_lines(result: DesignResult) -> list[Line]:
    """Other designs, each with its subject."""
    alternatives = alternatives_of(result.explanation)
    if not alternatives:
        return [("There is no alternative that is better in some respect.",)]
    return [((f"{about}: ", "bold"), *with_code_style(f"{alternative.text}.")) for about, alternative in alternatives]


def _say_problem(problem: InvalidArgumentError) -> None:
    for diagnostic in problem.diagnostics:
        say(*with_code_style(safe(f"{diagnostic.message[:1].upper()}{diagnostic.message[1:]}: {diagnostic.fix}")))


def _help() -> None:
    width = max(len(command) for command, _ in _HELP) + 2
    for command, text in _HELP:
        say("  ", (command.ljust(width), "bold"), *with_code_style(text))


def _choices(result: DesignResult) -> list[str]:
    return [*_VERBS, *topics(result.explanation)]
