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
from prejoin.cli.text.messages import coded, messages, safe
from prejoin.design.explain import topics
from prejoin.design.explain.phrases import money
from prejoin.design.explain.text import block_lines, sections
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
            verb, _, rest = text.strip().partition(" ")
            verb, rest = verb.lower().rstrip("?") or "help", rest.strip()
            if verb in ("y", "yes"):
                return True
            if verb in ("n", "no", "q", "quit") and not rest:
                return False
            self._do(verb, rest, text.strip())

    def _do(self, verb: str, rest: str, text: str) -> None:
        match verb:
            case "why":
                self._why(rest)
            case "pin":
                self._pin(rest)
            case "forbid":
                self._pin(f"no {rest.removeprefix('any ').removeprefix('a ')}")
            case "drop":
                self._drop(rest)
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
                meant = suggest(verb, _VERBS)
                say(*coded(f"`{safe(text)}` is not understood. " + (f"Did you mean `{meant}`? " if meant else "")))
                say(*coded("`help` lists the commands."))

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
                show([((title, "bold"),), *(coded(line) for b in blocks for line in block_lines(b, width)), ()])
            return
        try:
            show([coded(line) for line in why(self.result, topic, width)])
        except InvalidArgumentError as problem:
            _say_problem(problem)

    def _pin(self, text: str) -> None:
        request = self.result.request
        try:
            pin = read_decision(text, request.workload)
        except Inexact as problem:
            say(("This is not a decision: ", "bold red"), *coded(safe(problem.message)))
            say("  ", *coded(f"fix: {problem.fix}"))
            return
        if self._again(replace(request, pins=(*request.pins, pin))):
            say(*coded(f"Decided: {write_pin(pin)}. `undo` removes it."))

    def _again(self, request: DesignRequest) -> bool:
        """Designs again and shows the differences. A contradiction changes nothing."""
        try:
            with ProgressLine() as progress:
                found = solve_request(request, progress)
        except ContradictionError as problem:
            say(("This contradicts other statements, so nothing has changed.", "bold red"))
            alone = [one for statements in problem.conflicts for one in statements if len(statements) == 1]
            show(
                [*conflict_lines(problem.conflicts), *(("  ", *coded(f"On its own: {one}")) for one in alone)],
                sys.stderr,
            )
            return False
        self.earlier.append(self.result)
        self.result, before = found, self.result
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
        found: list[Line] = [("  ", *coded(text)) for text in changes(before.design, now.design)]
        if not found:
            show([("The keys stay the same.",)])
            return
        more = float(now.bill.total) - float(before.bill.total)
        paid = f", {money(abs(more))} a month {'more' if more > 0 else 'less'}" if round(more, 2) else ""
        lost = [o.pattern for o in now.unserved if o.pattern not in {u.pattern for u in before.unserved}]
        missing = f"; no longer served: {', '.join(lost)}" if lost else ""
        show([(("Changes", "bold"), f"{paid}{missing}:"), *found])
        source, known = now.source(hints=False), {d.message for d in before.diagnostics}
        new = replace(source, diagnostics=tuple(d for d in source.diagnostics if d.message not in known))
        show(messages((new,), width_of(sys.stderr)), sys.stderr)

    def _drop(self, pattern: str) -> None:
        try:
            with ProgressLine() as progress:
                progress.begin(f"designing without {pattern}")
                found = without(self.result, pattern)
        except InvalidArgumentError as problem:
            _say_problem(problem)
            return
        show([(*coded(f"{found.text}."),)])

    def _alternatives(self) -> None:
        with ProgressLine() as progress:
            progress.begin("pricing alternatives")
            self.result = with_alternatives(self.result)
        show(alternative_lines(self.result))


def alternative_lines(result: DesignResult) -> list[Line]:
    """Other designs, each with its subject."""
    found = alternatives_of(result.explanation)
    if not found:
        return [("There is no alternative that is better in some respect.",)]
    return [((f"{about}: ", "bold"), *coded(f"{one.text}.")) for about, one in found]


def _say_problem(problem: InvalidArgumentError) -> None:
    for d in problem.diagnostics:
        say(*coded(safe(f"{d.message[:1].upper()}{d.message[1:]}: {d.fix}")))


def _help() -> None:
    width = max(len(what) for what, _ in _HELP) + 2
    for what, text in _HELP:
        say("  ", (what.ljust(width), "bold"), *coded(text))


def _choices(result: DesignResult) -> list[str]:
    return [*_VERBS, *topics(result.explanation)]
