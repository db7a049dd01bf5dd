"""The designer: `solve(workload)` returns the best design. The same input gives the same design.

It repeats three steps. The search selects keys (`search`), the layout gives them literal words and an order (`layout`),
and the planner maps every pattern to the result (`mapping`). If the planner refuses a read that the search counted as
served, its types are not neighbours in their partition. Then the search gets a cut that forbids this selection, and
runs again; see `formulation`. If the time is over before there is nothing to cut, the best selection is repaired
(`repair`). Last, indexes get their form and their projections, and the selection is improved by the
real bill (`local_search`).
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator
from decimal import Decimal

import msgspec
from msgspec.structs import replace

from prejoin.design.cost.objective import WEIGHTS, complexity, objective, weight_of
from prejoin.design.layout.index_keys import with_index_keys
from prejoin.design.layout.key_words import KeyWords
from prejoin.design.layout.lay_out import lay_out
from prejoin.design.layout.projection import with_projections
from prejoin.design.mapping.map_patterns import map_patterns
from prejoin.design.model import Design
from prejoin.design.solver.constraints import constraints_of
from prejoin.design.solver.local_search import has_narrow_reads, improved, narrower, natural
from prejoin.design.solver.needs import read_needs
from prejoin.design.solver.placement import Forbidden, Placement, Problem, Score, Selection
from prejoin.design.solver.program.integer_program import InfeasibleError, OutOfTimeError, TimeLimit
from prejoin.design.solver.repair import repaired, without_unread
from prejoin.design.solver.search import SearchCache, choose, problem_of
from prejoin.workload.model import Read, Workload

MOST_TRIES = 30
"""How often keys are selected again, because types that are read together cannot be neighbours."""


class Solution(msgspec.Struct, frozen=True):
    """A design and its quality."""

    design: Design
    chosen: Selection
    """The selected keys, before they get words."""

    @property
    def score(self) -> Score:
        return self.chosen.score

    @property
    def exact(self) -> bool:
        """Whether no design at all serves as much with less complexity.

        That is known only if everything is served without any structure: keys beyond the candidates might save one.
        """
        return not self.chosen.unserved and not self.design.indexes and not self.design.copies

    @property
    def ended(self) -> bool:
        """Whether all combinations of the candidates were compared; if not, the search reached its limit."""
        return self.chosen.ended


def solve(
    workload: Workload,
    kept: Design | None = None,
    told: Callable[[str], None] | None = None,
    limit: TimeLimit | None = None,
) -> Solution:
    """Return the best design that combines candidate keys, by the objective (`prejoin.design.cost.objective`).

    The decisions of the document are obeyed; InfeasibleError if they contradict each other. The approved design `kept`
    stays as it is, and new keys are added to it. `told` is called with the progress. With a `limit` the result is the
    best design found in that time; OutOfTimeError if there is none.
    """
    asked, hopeless = read_needs(workload)
    problem = problem_of(workload, asked, kept, told, limit)
    cache = SearchCache()
    tries = 0
    unserved: set[str] = set(hopeless)
    ended = True
    # A rough selection takes a fraction of the time, and most cuts are found by it.
    rough = any(len(question.needs) > 1 for question in asked)
    best: _Incumbent | None = None
    found: list[tuple[str, Forbidden]] = []
    while best is None or limit is None or not limit.struck:
        try:
            chosen = choose(problem, cache, rough)
        except OutOfTimeError:
            if best is None:
                raise
            break
        except InfeasibleError:
            if not problem.forbidden:
                raise
            # No other keys are left, so it is not because of its neighbours that a read is refused.
            lost = {read for read, _ in found}
            problem, tries, unserved, best = _without(problem, lost), 0, unserved | lost, None
            continue
        design = map_patterns(lay_out(problem, chosen), workload)
        words = KeyWords(problem, chosen, design.separator)
        found = list(_apart(problem, chosen, design, words))
        best = _better(workload, best, _Incumbent(chosen, design, len({read for read, _ in found})))
        apart = frozenset(there for _, there in found if not _stay(there))
        refused = {(read, placed) for read, there in found if _stay(there) for placed in there} - problem.refused
        tries += 1
        if apart or refused:
            if tries < MOST_TRIES:
                problem = _with_cuts(problem, refused, words, apart)
                continue
            chosen = repaired(problem, chosen, design, cache)
            design = map_patterns(lay_out(problem, chosen), workload)
        elif rough:
            rough = False
            continue
        lost = _refused(problem, design)
        if lost:  # keys for a read that is not served in the end are wasted
            problem, tries, unserved, best = _without(problem, lost), 0, unserved | lost, None
            ended &= not found
            continue
        missing = tuple(sorted({*chosen.unserved, *unserved}))
        chosen = replace(chosen, unserved=missing, ended=chosen.ended and ended and not found)
        return Solution(*_finished(problem, chosen, cache, kept))
    return Solution(*_finished(problem, _cut_short(problem, best, unserved, cache), cache, kept))


def excess_complexity(workload: Workload, solution: Solution) -> Decimal:
    """How much more complex a design is than the least that the search found for its candidate keys.

    More than nothing means that partitions are hot because an index holds more than their reads want.
    """
    aside = constraints_of(workload).aside
    design = solution.design
    compared = replace(design, operations=tuple(o for o in design.operations if o.pattern not in aside), stores=())
    return complexity(workload, compared) - solution.chosen.least


def _without(problem: Problem, lost: set[str]) -> Problem:
    """The problem without some reads, and without the cuts that they may have caused."""
    rest = tuple(question for question in problem.reads if question.read.id not in lost)
    return replace(problem, reads=rest, forbidden=(), rivals=(), refused=frozenset())


class _Incumbent(msgspec.Struct, frozen=True):
    """A selection and its design, and the number of reads that the planner refuses although they counted as served."""

    chosen: Selection
    design: Design
    refused: int


def _better(workload: Workload, one: _Incumbent | None, other: _Incumbent) -> _Incumbent:
    """The better selection after a repair, which takes an index for each read. The higher bound holds for both."""

    def measure(of: _Incumbent) -> tuple[int, int]:
        return weight_of(workload, of.chosen.unserved), of.chosen.total_halves + int(2 * WEIGHTS["index"]) * of.refused

    if one is None:
        return other
    better = one if measure(one) <= measure(other) else other
    least = max(one.chosen.least, other.chosen.least)
    return replace(better, chosen=replace(better.chosen, least=least))


def _with_cuts(
    problem: Problem, refused: set[tuple[str, Placement]], words: KeyWords, apart: Iterable[Forbidden]
) -> Problem:
    """The problem without the selection that the planner refuses."""
    if refused:
        return replace(problem, refused=problem.refused | refused)
    if words.apart:
        return replace(problem, rivals=tuple(dict.fromkeys((*problem.rivals, *words.apart))))
    return replace(problem, forbidden=(*problem.forbidden, *sorted(apart, key=sorted)))


def _cut_short(problem: Problem, best: _Incumbent, unserved: set[str], cache: SearchCache) -> Selection:
    """The best selection when the time is over, repaired."""
    chosen = repaired(problem, best.chosen, best.design, cache)
    design = map_patterns(lay_out(problem, chosen), problem.workload)
    while (rest := without_unread(problem, chosen, design)) != chosen:
        # Without a key that nothing read, reads may take another index.
        chosen, design = rest, map_patterns(lay_out(problem, rest), problem.workload)
    served = {operation.pattern for operation in design.operations if operation.served}
    missing = {*chosen.unserved, *unserved, *_refused(problem, design)} - served
    return replace(chosen, unserved=tuple(sorted(missing)), ended=False)


def _finished(problem: Problem, chosen: Selection, cache: SearchCache, kept: Design | None) -> tuple[Design, Selection]:
    """The design with the form of index keys and the projections that make it best, improved by its real bill."""
    workload = problem.workload

    def projected(mapped: Design) -> Design:
        return with_projections(mapped, workload, kept)

    @functools.cache
    def texts(selection: Selection) -> Design:
        return map_patterns(lay_out(problem, selection), workload)

    @functools.cache
    def with_texts(selection: Selection) -> Design:
        return projected(texts(selection))

    def finished(selection: Selection) -> Design:
        return projected(with_index_keys(texts(selection), workload, problem.fixed.design, projected))

    def best(selection: Selection) -> tuple[Selection, Design]:
        narrow, _ = improved(problem, selection, narrower, cache, with_texts)
        return improved(problem, narrow, natural, cache, finished)

    # What indexes hold may make another number of them cheaper.
    others = chosen.equals if has_narrow_reads(problem) else ()
    unserved, ended, least = chosen.unserved, chosen.ended, chosen.least
    found = [best(replace(one, equals=())) for one in (chosen, *others)]
    chosen, design = min(found, key=lambda one: objective(workload, one[1])) if others else found[0]
    return design, replace(chosen, unserved=unserved, ended=ended, least=least)


def _refused(problem: Problem, design: Design) -> set[str]:
    """Reads that the search counted as served and the planner refuses."""
    asked = {question.read.id for question in problem.reads}
    return {operation.pattern for operation in design.operations if not operation.served} & asked


def _stay(there: Forbidden) -> bool:
    """Whether all of these keys are fixed: no other selection would separate them."""
    return all(placed.candidate.fixed for placed in there)


def _apart(problem: Problem, chosen: Selection, design: Design, words: KeyWords) -> Iterator[tuple[str, Forbidden]]:
    """Each read that is refused although it counted as served, with the keys of one partition that cause it."""
    rooms = words.rooms
    meant = {question.read.id for question in problem.reads} - set(chosen.unserved)
    for operation in design.operations:
        read = problem.workload.pattern(operation.pattern)
        if operation.requests or not isinstance(read, Read) or operation.pattern not in meant:
            continue
        ways = [way for way in chosen.together if way.read == operation.pattern]
        for (slot, _), there in rooms.items():
            others = set(read.entities) - {placed.entity for placed in there}
            if len(there) > 1 and not others and (slot in {way.slot for way in ways} or not ways):
                yield operation.pattern, frozenset(there)
