"""Alternative designs for the same workload, solved and priced on demand; and the cost of one access pattern."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from msgspec.structs import replace

from prejoin.design.explain.costs import total
from prejoin.design.explain.document_changes import structures_of, unserved_of
from prejoin.design.explain.model import Alternative, Explanation
from prejoin.design.explain.phrases import count, listed, money, natural_order
from prejoin.design.explain.relaxations import fewer_structures, instead_of_unserved
from prejoin.design.explain.simplifications import simplifications
from prejoin.design.explain.workarounds import dearest
from prejoin.design.layout.key_words import KeyWords, upper
from prejoin.design.layout.lay_out import guards_of
from prejoin.design.model import Design, Operation
from prejoin.design.solver.candidates import Candidate, base_candidates
from prejoin.design.solver.needs import read_needs
from prejoin.design.solver.placement import BASE, OWN, Placement, placement_answers
from prejoin.design.solver.program.integer_program import InfeasibleError
from prejoin.design.solver.search import problem_of
from prejoin.design.solver.solve import Solution, solve
from prejoin.design.solver.taste import Taste
from prejoin.workload.model import (
    AtMost,
    Decision,
    FixedKey,
    Minimise,
    Pin,
    Under,
    Without,
    Workload,
)

MOST_SOLVED = 8
"""The most designs solved for one explanation."""


def without(
    workload: Workload, pattern: str, solution: Solution | None = None, kept: Design | None = None
) -> Alternative:
    """The table without an access pattern: the difference is the pattern's total cost.

    An approved design is kept in both.
    """
    if workload.pattern(pattern) is None:
        raise LookupError(f"there is no access pattern {pattern}")
    before = solution or solve(workload, kept)
    rest = _dropped(workload, pattern)
    after = solve(rest, kept)
    return _compared(
        f"without {pattern}", before, after, total(workload, before.design), total(rest, after.design), {pattern}
    )


def _dropped(workload: Workload, pattern: str) -> Workload:
    def kept(of: Iterable[object]) -> tuple[object, ...]:
        return tuple(one for one in of if getattr(one, "id", "") != pattern)

    decisions = tuple(d for d in workload.decisions if getattr(d.pin, "pattern", "") != pattern)
    return replace(
        workload,
        reads=kept(workload.reads),
        writes=kept(workload.writes),
        deletes=kept(workload.deletes),
        decisions=decisions,
    )


def add_alternatives(
    workload: Workload,
    solution: Solution,
    explanation: Explanation,
    kept: Design | None = None,
    most: int = MOST_SOLVED,
) -> Explanation:
    """The explanation with alternatives for the whole, for copies and for the entities' keys, in that order.

    At most `most` designs are solved. All of them keep an approved design.
    """
    tries = _Tries(workload, solution, kept, most)
    whole: dict[object, Alternative] = {}
    for one in _as_a_whole(tries):
        whole.setdefault((one.structures, one.dollars, one.unserved), one)  # equal designs are listed once
    staying = {item.entity for item in kept.copies} if kept else set()
    copies = tuple(
        replace(about, alternatives=tuple(tries.tried(f"no copy of {about.entity}", Without("copies", about.entity))))
        if about.entity not in staying
        else about
        for about in explanation.copies
    )
    entities = tuple(
        replace(about, alternatives=tuple(_other_keys(tries, about.entity))) for about in explanation.entities
    )
    served = {about.pattern for about in explanation.patterns if about.served or about.outside}
    unserved = [read for read in workload.reads if read.id not in served]
    instead = instead_of_unserved(workload, solution, unserved, kept)
    most_paid = dearest(workload, solution.design)
    patterns = tuple(
        replace(about, alternatives=(*better, *(one for one in about.alternatives if one.dollars <= most_paid)))
        if (better := instead.get(about.pattern))
        else about
        for about in explanation.patterns
    )
    relaxed = (*fewer_structures(workload, solution, kept), *simplifications(workload, solution, kept))
    return replace(
        explanation,
        entities=entities,
        copies=copies,
        patterns=patterns,
        alternatives=tuple(whole.values()),
        relaxations=relaxed,
    )


class _Tries:
    """Solves alternative designs until the limit is reached."""

    def __init__(self, workload: Workload, solution: Solution, kept: Design | None, most: int) -> None:
        self.workload = workload
        self.solution = solution
        self.kept = kept
        self._left = most
        self._paid = total(workload, solution.design)

    def tried(self, what: str, pin: Pin) -> Iterator[Alternative]:
        """The design with one more decision, if it differs."""
        if self._left <= 0:
            return
        self._left -= 1
        pinned = replace(self.workload, decisions=(*self.workload.decisions, Decision(pin)))
        try:
            after = solve(pinned, self.kept)
        except InfeasibleError:
            decided = bool(self.workload.decisions) or self.kept is not None
            yield Alternative(f"{what}: {'the decisions do not allow it' if decided else 'no design was found'}")
            return
        if _keys(after.design) != _keys(self.solution.design):
            yield _compared(what, self.solution, after, self._paid, total(self.workload, after.design))


def _as_a_whole(tries: _Tries) -> Iterator[Alternative]:
    """One index fewer, no copies, least money. An approved design is not reduced."""
    design, kept = tries.solution.design, tries.kept or Design("")
    if len(design.indexes) > len(kept.indexes):
        most = sum(not slot.local for slot in design.indexes) - 1
        yield from tries.tried(f"at most {count(most, 'GSI')}", AtMost("GSIs", most))
    if design.copies and not kept.copies:
        yield from tries.tried("no copies", AtMost("copies", 0))
    goal = Minimise("money")
    if goal not in [d.pin for d in tries.workload.decisions]:
        tried = tries.tried("the lowest cost, with any number of structures", goal)
        yield from (one for one in tried if round(one.dollars, 2) < 0)


def _other_keys(tries: _Tries, name: str) -> Iterator[Alternative]:
    """The next best key of an entity in the table: the one that serves most of its reads."""
    workload, solution = tries.workload, tries.solution
    entity = workload.entity(name)
    assert entity is not None
    if any(isinstance(d.pin, FixedKey | Under) and d.pin.entity == name for d in workload.decisions):
        return  # the document decided that
    asked, _ = read_needs(workload)
    lost = unserved_of(solution.design)  # no key serves these
    needs = [need for question in asked for need in question.needs if need.entity == name and need.read not in lost]
    chosen = next(p.candidate for p in solution.chosen.placed if (p.entity, p.item, p.slot) == (name, OWN, BASE))

    def served(candidate: Candidate) -> list[str]:
        return natural_order(n.read for n in needs if placement_answers(Placement(name, OWN, BASE, candidate), n))

    now = served(chosen)
    others = [(reads, c) for c in base_candidates(workload, entity, needs) if (reads := served(c)) and reads != now]
    if others and not chosen.fixed:
        taste = Taste(workload)
        reads, other = min(
            others, key=lambda one: (-len(one[0]), taste(Placement(name, OWN, BASE, one[1])), len(one[1].sk), one[1])
        )
        words = KeyWords(problem_of(workload, asked, tries.kept), solution.chosen, solution.design.separator)
        sk = solution.design.separator.join([upper(name), *(f"{{{one.attribute}}}" for one in other.sk)])
        pin = FixedKey(name, words.partition(Placement(name, OWN, BASE, other)), sk)
        ids = {a.name for a in entity.id}
        twice = any(ids == {*guard.attributes} for guard in guards_of(workload, entity, other))
        for one in tries.tried(f"the key `{pin.pk}` / `{pin.sk}`, which serves {listed(reads)}", pin):
            # A decided key has no guard.
            loss = f", and two {name} items of the same {listed([a.name for a in entity.id])} could exist"
            yield replace(one, text=one.text + loss) if twice else one


def _keys(design: Design) -> object:
    return [(item.entity, item.copy, item.facets) for item in design.items]


def _compared(
    what: str, before: Solution, after: Solution, paid: float, then: float, aside: Iterable[str] = ()
) -> Alternative:
    structures = structures_of(after.design) - structures_of(before.design)
    lost = tuple(natural_order(unserved_of(after.design) - unserved_of(before.design) - set(aside)))
    now = [f"{count(len(after.design.indexes), 'GSI')} and {count(len(after.design.copies), 'copy', 'copies')}"]
    now.append(_difference(structures, then - paid))
    first = natural_order(
        one.pattern
        for one in after.design.operations
        if _reads_first(one) > _reads_first(before.design.operation(one.pattern))
    )
    if first:
        now.append(f"{listed(first)} would read more before writing")
    if lost:
        now.append(f"{listed(lost)} not served")
    if gained := natural_order(unserved_of(before.design) - unserved_of(after.design) - set(aside)):
        now.append(f"{listed(gained)} served")
    return Alternative(f"{what}: {', '.join(now)}", structures, then - paid, lost)


def _reads_first(operation: Operation | None) -> int:
    """The reads of a write, before it writes."""
    requests = operation.requests if operation else ()
    return sum(not one.actions for one in requests) if any(one.actions for one in requests) else 0


def _difference(structures: int, dollars: float) -> str:
    counted = f"{count(abs(structures), 'structure')} {'more' if structures > 0 else 'fewer'}" if structures else ""
    paid = f"{money(abs(dollars))} a month {'more' if dollars > 0 else 'less'}" if round(dollars, 2) else ""
    return " and ".join(part for part in (counted, paid) if part) or "the same price"
