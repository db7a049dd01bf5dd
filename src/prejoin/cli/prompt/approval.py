"""A design shown for approval on a terminal: ask why, decide and have it solved anew, write it or leave it."""

from __future__ import annotations

import shutil
import sys
from dataclasses import dataclass, field, replace
from enum import Enum

from prejoin.cli.outcome import Line
from prejoin.cli.output import say, show, width_of
from prejoin.cli.progress import Progress
from prejoin.cli.prompt.interview import read_line
from prejoin.cli.text.design import conflict_lines, page
from prejoin.cli.text.design_json import alternatives_of
from prejoin.cli.text.messages import coded, messages, safe
from prejoin.design.explain import UnknownTopicError, considered, topics, why, without
from prejoin.design.explain.phrases import money
from prejoin.design.explain.text import block_lines, sections
from prejoin.pipeline.decisions import read_decision
from prejoin.pipeline.design import MOST, ContradictionError, Made, Wanted, make
from prejoin.pipeline.design_document import changes
from prejoin.workload.grammar.lexer import Inexact
from prejoin.workload.grammar.statements import read_pin, write_pin
from prejoin.workload.lookup import suggest

_HELP = (
    ("y", "writes it; n leaves everything as it is, and so do ^C and ^D"),
    ("why Order", "why it is so: an entity, an index, a copy, an access pattern; `why` alone tells all"),
    (
        "pin Order lives under User",
        "decides, and designs anew: `at most 1 GSIs`, `no copies`, `minimise money`,",
    ),
    ("", "Order has key `USER#{userId}` and `ORDER#{orderId}`: any sentence of the document's Decisions"),
    ("forbid copies for Order", "the same as `pin no copies for Order`; also GSIs, shards, buckets"),
    ("drop AP-006", "what the table would be without that pattern; nothing is changed"),
    ("alternatives", "other designs, solved and priced"),
    ("undo", "takes back the last decision"),
    ("show", "the design again"),
)
_VERBS = ("yes", "no", "why", "pin", "forbid", "drop", "alternatives", "undo", "show", "help")


class Answer(Enum):
    YES = "yes"
    NO = "no"


@dataclass(slots=True)
class Approval:
    """The conversation: what was made, and what was made before each decision."""

    made: Made
    earlier: list[Made] = field(default_factory=list)

    def talk(self, question: str) -> Answer:
        """Asks until there is a yes or a no; the end of the input is a no."""
        self._show()
        while True:
            try:
                text = read_line(f"{question} [y/n, why …, pin …, help] ", _choices(self.made))
            except EOFError:
                say()
                return Answer.NO
            verb, _, rest = text.strip().partition(" ")
            verb, rest = verb.lower().rstrip("?") or "help", rest.strip()
            if verb in ("y", "yes"):
                return Answer.YES
            if verb in ("n", "no", "q", "quit") and not rest:
                return Answer.NO
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
                say(*coded("`help` tells what can be said here."))

    def _show(self) -> None:
        show(page(self.made))
        said = messages((self.made.source(hints=False, besides_page=True),), width_of(sys.stderr))
        if said:
            show([(), *said], sys.stderr)

    def _why(self, topic: str) -> None:
        explanation = self.made.explanation
        width = min(shutil.get_terminal_size().columns, 100)
        if not topic:
            for title, blocks in sections(explanation):
                show([((title, "bold"),), *(coded(line) for b in blocks for line in block_lines(b, width)), ()])
            return
        try:
            show([coded(line) for line in why(explanation, topic, width)])
        except UnknownTopicError as problem:
            say(*coded(safe(str(problem))))

    def _pin(self, text: str) -> None:
        wanted = self.made.wanted
        try:
            pin = read_decision(text, wanted.workload)
        except Inexact as problem:
            say(("That cannot be decided: ", "bold red"), *coded(safe(problem.message)))
            say("  ", *coded(f"fix: {problem.fix}"))
            return
        if self._again(replace(wanted, pins=(*wanted.pins, pin))):
            say(*coded(f"Decided: {write_pin(pin)}. `undo` takes it back."))

    def _again(self, wanted: Wanted) -> bool:
        """Designs anew and shows what is different; what cannot be changes nothing."""
        try:
            with Progress() as progress:
                made = make(wanted, progress)
        except ContradictionError as problem:
            say(("That cannot be, so nothing is changed.", "bold red"))
            alone = [one for statements in problem.sets for one in statements if len(statements) == 1]
            show([*conflict_lines(problem.sets), *(("  ", *coded(f"By itself: {one}")) for one in alone)], sys.stderr)
            return False
        self.earlier.append(self.made)
        self.made, before = made, self.made
        self._differs(before)
        return True

    def _undo(self) -> None:
        if not self.earlier:
            say("Nothing was decided that could be taken back.")
            return
        self.made, before = self.earlier.pop(), self.made
        self._differs(before)

    def _differs(self, before: Made) -> None:
        now = self.made
        found: list[Line] = [("  ", *coded(text)) for text in changes(before.design, now.design)]
        if not found:
            show([("The keys stay as they are.",)])
            return
        more = float(now.bill.total) - float(before.bill.total)
        paid = f", {money(abs(more))} a month {'more' if more > 0 else 'less'}" if round(more, 2) else ""
        lost = [o.pattern for o in now.unserved if o.pattern not in {u.pattern for u in before.unserved}]
        missing = f"; not served any more: {', '.join(lost)}" if lost else ""
        show([(("What changes", "bold"), f"{paid}{missing}:"), *found])
        source, known = now.source(hints=False), {d.message for d in before.diagnostics}
        new = replace(source, diagnostics=tuple(d for d in source.diagnostics if d.message not in known))
        show(messages((new,), width_of(sys.stderr)), sys.stderr)

    def _drop(self, pattern: str) -> None:
        w = self.made.workload
        if w.pattern(pattern) is None:
            meant = suggest(pattern, [p.id for p in w.patterns])
            say(*coded(f"There is no access pattern `{safe(pattern)}`." + (f" Did you mean {meant}?" if meant else "")))
            return
        with Progress() as progress:
            progress.begin(f"designing without {pattern}")
            found = without(w, pattern, self.made.solution, self.made.wanted.kept)
        show([(*coded(f"{found.text}."),)])

    def _alternatives(self) -> None:
        made = self.made
        with Progress() as progress:
            progress.begin("pricing other designs")
            explanation = considered(made.workload, made.solution, made.explanation, made.wanted.kept, MOST)
        self.made = replace(made, explanation=explanation)
        show(alternative_lines(self.made))


def alternative_lines(made: Made) -> list[Line]:
    """Other designs, with what they are about."""
    found = alternatives_of(made.explanation)
    if not found:
        return [("No other design was found that is worth a look.",)]
    return [((f"{about}: ", "bold"), *coded(f"{one.text}.")) for about, one in found]


def _help() -> None:
    width = max(len(what) for what, _ in _HELP) + 2
    for what, text in _HELP:
        say("  ", (what.ljust(width), "bold"), *coded(text))


def _choices(made: Made) -> list[str]:
    return [*_VERBS, *topics(made.explanation)]


def ask(question: str) -> bool:
    """Yes or no; no where there is no answer."""
    try:
        return read_line(f"{question} [y/n] ", ["yes", "no"]).strip().lower() in {"y", "yes"}
    except EOFError:
        say()
        return False
