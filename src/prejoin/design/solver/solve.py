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
from collections.abc import Callable, Iterator, Sequence
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
from prejoin.design.solver.local_search import has_narrow_reads, improve, narrower, natural
from prejoin.design.solver.needs import read_needs
from prejoin.design.solver.placement import Forbidden, Placement, Problem, Score, Selection
from prejoin.design.solver.program.integer_program import InfeasibleError, OutOfTimeError, TimeLimit
from prejoin.design.solver.repair import remove_unread_keys, repair
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
        return self.chosen.is_complete


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
    questions, reasons = read_needs(workload)
    problem = problem_of(workload, questions, kept, told, limit)
    search = _DesignSearch(problem, unserved_reads=set(reasons))
    # A rough selection takes a fraction of the time, and most cuts are found by it.
    selection = search.run(rough=any(len(question.needs) > 1 for question in questions))
    return Solution(*_finish(search.problem, selection, search.cache, kept))


class _DesignSearch:
    """The loop of `solve`: a selection, its design, and cuts for what the planner refuses."""

    def __init__(self, problem: Problem, unserved_reads: set[str]) -> None:
        self.problem = problem
        self.cache = SearchCache()
        self._unserved = unserved_reads
        """The reads that no key answers, and those that were given up."""
        self._incumbent: _Incumbent | None = None
        self._tries = 0

    def run(self, rough: bool) -> Selection:
        """The best selection: until the planner refuses nothing, or the time is over.

        The loop is one piece, because each outcome of a step decides what the next one begins with.
        """
        limit = self.problem.limit
        is_complete = True
        separations: list[_Separation] = []
        while self._incumbent is None or limit is None or not limit.struck:
            try:
                selection = choose(self.problem, self.cache, rough)
            except OutOfTimeError:
                if self._incumbent is None:
                    raise
                break
            except InfeasibleError:
                if not self.problem.key_cuts:
                    raise
                # No other keys are left, so it is not because of its neighbours that a read is refused.
                self._give_up({separation.read for separation in separations})
                continue
            design = self._design_of(selection)
            words = KeyWords(self.problem, selection, design.separator)
            separations = list(_find_separations(self.problem, selection, design, words))
            # If the time is over before there is nothing to cut off, this may be the best there is.
            self._compare(selection, design, separations)
            problem = _with_cuts(self.problem, separations, words)
            self._tries += 1
            if problem is not None:
                if self._tries < MOST_TRIES:
                    self.problem = problem
                    continue
                # Enough cuts: what is still refused gets indexes of its own.
                selection = repair(self.problem, selection, design, self.cache)
                design = self._design_of(selection)
            elif rough:
                rough = False
                continue
            refused_reads = _refused_reads(self.problem, design)
            is_complete &= not separations
            if refused_reads:
                # Keys for a read that is not served in the end are wasted.
                self._give_up(refused_reads)
                continue
            unserved_reads = tuple(sorted({*selection.unserved, *self._unserved}))
            return replace(selection, unserved=unserved_reads, is_complete=selection.is_complete and is_complete)
        return self._repaired_incumbent()

    def _design_of(self, selection: Selection) -> Design:
        return map_patterns(lay_out(self.problem, selection), self.problem.workload)

    def _compare(self, selection: Selection, design: Design, separations: Sequence[_Separation]) -> None:
        refused_reads = {separation.read for separation in separations}
        other = _Incumbent(selection, design, len(refused_reads))
        self._incumbent = _better_of(self.problem.workload, self._incumbent, other)

    def _give_up(self, reads: set[str]) -> None:
        """Begin again without some reads, and without the cuts that they may have caused."""
        questions = tuple(question for question in self.problem.reads if question.read.id not in reads)
        self.problem = replace(self.problem, reads=questions, key_cuts=(), place_cuts=(), refused_keys=frozenset())
        self._unserved |= reads
        self._incumbent = None
        self._tries = 0

    def _repaired_incumbent(self) -> Selection:
        """The best selection when the time is over, repaired."""
        assert self._incumbent is not None
        selection = repair(self.problem, self._incumbent.selection, self._incumbent.design, self.cache)
        design = self._design_of(selection)
        while (pruned_selection := remove_unread_keys(self.problem, selection, design)) != selection:
            # Without a key that nothing read, reads may take another index.
            selection, design = pruned_selection, self._design_of(pruned_selection)
        served_patterns = {operation.pattern for operation in design.operations if operation.served}
        unserved_patterns = {
            *selection.unserved,
            *self._unserved,
            *_refused_reads(self.problem, design),
        } - served_patterns
        return replace(selection, unserved=tuple(sorted(unserved_patterns)), is_complete=False)


def excess_complexity(workload: Workload, solution: Solution) -> Decimal:
    """How much more complex a design is than the least that the search found for its candidate keys.

    More than nothing means that partitions are hot because an index holds more than their reads want.
    """
    aside = constraints_of(workload).aside
    design = solution.design
    operations = tuple(operation for operation in design.operations if operation.pattern not in aside)
    comparable = replace(design, operations=operations, stores=())
    return complexity(workload, comparable) - solution.chosen.least


class _Incumbent(msgspec.Struct, frozen=True):
    """A selection and its design, and the number of reads that the planner refuses although they counted as served."""

    selection: Selection
    design: Design
    refusals: int


def _better_of(workload: Workload, incumbent: _Incumbent | None, other: _Incumbent) -> _Incumbent:
    """The better selection after a repair, which takes an index for each read. The higher bound holds for both."""

    def measure(candidate: _Incumbent) -> tuple[int, int]:
        selection = candidate.selection
        # A refused read costs an index, because the repair gives it one of its own.
        repairs = int(2 * WEIGHTS["index"]) * candidate.refusals
        return weight_of(workload, selection.unserved), selection.total_halves + repairs

    if incumbent is None:
        return other
    better = incumbent if measure(incumbent) <= measure(other) else other
    highest_bound = max(incumbent.selection.least, other.selection.least)
    return replace(better, selection=replace(better.selection, least=highest_bound))


class _Separation(msgspec.Struct, frozen=True):
    """A read that is refused although it counted as served, and the keys of one partition that may cause it."""

    read: str
    keys: Forbidden

    @property
    def is_fixed(self) -> bool:
        """Whether all of these keys are fixed: no other selection would separate them."""
        return all(placement.candidate.fixed for placement in self.keys)


def _with_cuts(problem: Problem, separations: Sequence[_Separation], words: KeyWords) -> Problem | None:
    """The problem without the selection that the planner refuses; None if there is nothing new to cut off."""
    key_cuts: set[Forbidden] = set()
    refused_keys: set[tuple[str, Placement]] = set()
    for separation in separations:
        if separation.is_fixed:
            refused_keys |= {(separation.read, placement) for placement in separation.keys}
        else:
            key_cuts.add(separation.keys)
    refused_keys -= problem.refused_keys
    if refused_keys:
        return replace(problem, refused_keys=problem.refused_keys | refused_keys)
    if not key_cuts:
        return None
    # A cut of places excludes more selections than one of keys, so it comes first.
    if words.place_cuts:
        return replace(problem, place_cuts=tuple(dict.fromkeys((*problem.place_cuts, *words.place_cuts))))
    return replace(problem, key_cuts=(*problem.key_cuts, *sorted(key_cuts, key=sorted)))


def _find_separations(problem: Problem, selection: Selection, design: Design, words: KeyWords) -> Iterator[_Separation]:
    """Each read that is refused although it counted as served, with the keys of each partition that may cause it."""
    expected_reads = {question.read.id for question in problem.reads} - set(selection.unserved)
    for operation in design.operations:
        read = problem.workload.pattern(operation.pattern)
        if operation.requests or not isinstance(read, Read) or operation.pattern not in expected_reads:
            continue
        slots = {place.slot for place in selection.collections if place.read == operation.pattern}
        # The planner refuses a read if another type stands between its types. That can be only in a partition which has
        # all of them.
        for (slot, _), placements in words.rooms.items():
            has_all_types = {placement.entity for placement in placements}.issuperset(read.entities)
            if len(placements) > 1 and has_all_types and (slot in slots or not slots):
                yield _Separation(operation.pattern, frozenset(placements))


def _refused_reads(problem: Problem, design: Design) -> set[str]:
    """Reads that the search counted as served and the planner refuses."""
    return {question.read.id for question in problem.reads} & design.unserved


def _finish(
    problem: Problem, selection: Selection, cache: SearchCache, approved_design: Design | None
) -> tuple[Design, Selection]:
    """The design with the form of index keys and the projections that make it best, improved by its real bill."""
    workload = problem.workload

    def project(design: Design) -> Design:
        return with_projections(design, workload, approved_design)

    # The steps ask for the same selections again and again.
    @functools.cache
    def with_texts(selection: Selection) -> Design:
        return map_patterns(lay_out(problem, selection), workload)

    @functools.cache
    def with_projected_texts(selection: Selection) -> Design:
        return project(with_texts(selection))

    def finish(selection: Selection) -> Design:
        return project(with_index_keys(with_texts(selection), workload, problem.fixed.design, project))

    def improve_all(selection: Selection) -> tuple[Selection, Design]:
        # First with texts as keys, whose designs are made fast, then with the form that is printed.
        narrow, _ = improve(problem, selection, narrower, cache, with_projected_texts)
        return improve(problem, narrow, natural, cache, finish)

    # What indexes hold may make another number of them cheaper.
    other_selections = selection.equals if has_narrow_reads(problem) else ()
    results = [improve_all(replace(equal, equals=())) for equal in (selection, *other_selections)]
    best, design = results[0]
    if other_selections:
        best, design = min(results, key=lambda result: objective(workload, result[1]))
    best = replace(best, unserved=selection.unserved, is_complete=selection.is_complete, least=selection.least)
    return design, best
