"""The search for the best selection of keys, in lexicographic order of goals.

The goals are those of `prejoin.design.cost.objective`: as few patterns not served as possible, weighted by their rates;
then the least complexity; then as few writes that read first; then the least bill. The search counts indexes upwards
and asks for the least complexity beside them, because a program with a fixed number of indexes is small.

Entities that no read asks for together are independent: each connected component has its own program. Indexes are
shared, so the table needs as many as the component that needs most. Everything else adds up. Where a decision limits
copies, `_best_within_limits` distributes them by dynamic programming over the components.

For example, one component needs two copies beside no index, one copy beside one index, and none beside two. Another one
needs a copy or an index. An index has a complexity of 1, a copy of 2:

    indexes   first   second   total, with the indexes
    0         4       2        6
    1         2       0        3
    2         0       0        2

The search ends at 2: three indexes alone are more complex.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from decimal import Decimal

import msgspec

from prejoin.design.cost.objective import WEIGHTS, weight_of
from prejoin.design.model import Design
from prejoin.design.solver.alternatives import Alternatives
from prejoin.design.solver.constraints import DesignConstraints, constraints_of
from prejoin.design.solver.fixed_keys import fixed_keys
from prejoin.design.solver.needs import ReadNeeds, find_needs
from prejoin.design.solver.placement import CollectionPlace, Component, Placement, Problem, Selection
from prejoin.design.solver.program.component_search import ComponentSearch, MoreNeededError, Supplement
from prejoin.design.solver.program.integer_program import InfeasibleError, OutOfTimeError, TimeLimit
from prejoin.design.solver.program.options import ComponentOptions
from prejoin.design.solver.violations import has_contradiction, violations
from prejoin.workload.model import Entity, Workload


def problem_of(
    workload: Workload,
    questions: Sequence[ReadNeeds],
    kept: Design | None = None,
    told: Callable[[str], None] | None = None,
    limit: TimeLimit | None = None,
) -> Problem:
    constraints = constraints_of(workload)
    fixed_part = fixed_keys(workload, constraints.keys, kept)
    # A local index counts as an index for the solver, but not for a decision that limits GSIs.
    local_indexes = sum(slot.local for slot in fixed_part.design.slots)
    constraints = msgspec.structs.replace(constraints, indexes=constraints.indexes + local_indexes)

    def in_scope(needs: Iterable[ReadNeeds]) -> tuple[ReadNeeds, ...]:
        return tuple([need for need in needs if need.read.id not in constraints.aside])

    reads, finds = in_scope(questions), in_scope(find_needs(workload))
    return Problem(workload, reads, finds, constraints, fixed_part, told or _ignore_progress, limit)


def _ignore_progress(text: str) -> None:
    pass


def components(problem: Problem) -> list[Component]:
    """The connected components of a workload, in an order that does not depend on the document."""
    parents = {entity.name: entity.name for entity in problem.workload.entities}

    def head(name: str) -> str:
        while parents[name] != name:
            name = parents[name]
        return name

    for first, *other_names in _linked_names(problem):
        for other in other_names:
            parents[head(other)] = head(first)
    groups: dict[str, list[Entity]] = {}
    for entity in sorted(problem.workload.entities, key=lambda entity: entity.name):
        groups.setdefault(head(entity.name), []).append(entity)
    reads: dict[str, list[ReadNeeds]] = {name: [] for name in groups}
    for question in sorted(problem.reads, key=lambda question: question.read.id):
        reads[head(question.ask.entities[0])].append(question)
    return [Component(tuple(entities), tuple(reads[name])) for name, entities in groups.items()]


def _linked_names(problem: Problem) -> Iterator[tuple[str, ...]]:
    """Names of entities that are in one component."""
    for question in problem.reads:
        yield question.ask.entities
    for pin in problem.constraints.under:
        yield pin.entity, pin.parent
    # A cut is about the keys of one partition, whose entities may not be read together.
    for cut in problem.key_cuts:
        yield tuple([placement.entity for placement in cut])


class SearchCache:
    """The options and searches of the components, kept from one selection to the next.

    To price all keys takes time, and cuts do not change the prices.
    """

    def __init__(self) -> None:
        self._options: dict[Hashable, ComponentOptions] = {}
        self._searches: dict[Hashable, ComponentSearch] = {}

    def searches(self, problem: Problem) -> list[ComponentSearch]:
        """The search in each component. It is continued, unless there are new cuts."""
        searches: dict[Hashable, ComponentSearch] = {}
        for component in components(problem):
            key = (self._key(problem, component), problem.key_cuts, problem.place_cuts)
            searches[key] = self._searches.get(key) or ComponentSearch(problem, self.options(problem, component))
        self._searches = searches
        return list(searches.values())

    def options(self, problem: Problem, component: Component) -> ComponentOptions:
        key = self._key(problem, component)
        if key not in self._options:
            self._options[key] = ComponentOptions(problem, component)
        return self._options[key]

    def alternatives(self, problem: Problem, component: Component) -> Alternatives:
        return Alternatives(self.options(problem, component))

    def _key(self, problem: Problem, component: Component) -> Hashable:
        names = tuple(entity.name for entity in component.entities)
        return names, tuple(question.read.id for question in problem.reads), problem.refused_keys


def choose(problem: Problem, cache: SearchCache | None = None, rough: bool = False) -> Selection:
    """The best selection: all that can be served is served, with the least complexity, at the least cost.

    If limits do not allow that, patterns of the lowest rate are not served. Raises InfeasibleError if an approved
    design exceeds a limit already. A `rough` selection has the least complexity, at any cost: that is enough to find
    cuts.
    """
    cache = cache or SearchCache()
    if has_contradiction(problem.workload) or any(violations(problem.fixed.design, problem.workload)):
        raise InfeasibleError
    limits = problem.constraints
    searches = cache.searches(problem)
    rough |= _has_struck(problem)
    if limits.money:
        return _without_bound(problem, _cheapest(searches, limits) or _best_within_limits(problem, searches))
    while True:
        try:
            return _simplest_selection(problem, searches, rough)
        except MoreNeededError:
            # A search has learned that it needs more. What it knows is kept, so this does not go on for ever.
            rough |= _has_struck(problem)


def _simplest_selection(problem: Problem, searches: Sequence[ComponentSearch], rough: bool) -> Selection:
    """The best selection of the least complexity, with the bound that was proven."""
    limits = problem.constraints
    # An index more than any component can use is never worth its complexity.
    most_indexes = max([problem.fixed.indexes, *(search.most_indexes for search in searches)])
    most_indexes = min(most_indexes, limits.indexes, limits.structures)
    totals, last = _complexities(problem, searches, most_indexes)
    if not totals and not _has_struck(problem):
        return _without_bound(problem, _best_within_limits(problem, searches))
    selection = _simplest(searches, totals, rough) if totals else None
    is_cut_short = _has_struck(problem)
    if is_cut_short or selection is None:
        selection = _quick_selection(problem, searches, most_indexes, selection)
    is_complete = selection.is_complete and all(search.is_proven for search in searches) and not is_cut_short
    bound = min(totals.values()) if is_complete else _lower_bound(problem, searches, last)
    constant = sum(search.constant for search in searches)
    return msgspec.structs.replace(selection, is_complete=is_complete, least=Decimal(bound + constant) / 2)


def _has_struck(problem: Problem) -> bool:
    """Whether the time limit has cut some search short."""
    return problem.limit is not None and problem.limit.struck


def _complexities(
    problem: Problem, searches: Sequence[ComponentSearch], most_indexes: int
) -> tuple[dict[int, int], int]:
    """The least complexity in halves for each number of indexes that may be best, and the last number tried."""
    limits = problem.constraints
    totals: dict[int, int] = {}
    indexes = problem.fixed.indexes
    for indexes in range(problem.fixed.indexes, most_indexes + 1):
        # The indexes alone are more complex than a selection with fewer of them.
        if totals and (_index_halves(indexes) > min(totals.values()) or _is_out_of_time(problem)):
            break
        _tell_progress(problem, searches, indexes, totals)
        try:
            supplement = _supplement(searches, indexes)
        except OutOfTimeError:
            break
        if supplement and supplement.copies <= min(limits.copies, limits.structures - indexes):
            totals[indexes] = _index_halves(indexes) + supplement.halves
            if not any(search.spares(indexes) for search in searches):
                break
    return totals, indexes


def _tell_progress(problem: Problem, searches: Sequence[ComponentSearch], indexes: int, totals: dict[int, int]) -> None:
    """Call `on_progress` before a number of indexes is tried, unless it was tried already."""
    if not all(search.knows(indexes) for search in searches):
        best = f": a complexity of {min(totals.values()) / 2:g} is possible" if totals else ""
        problem.on_progress(f"{_count_text(indexes, 'index', 'indexes')}{best}")


def _supplement(searches: Sequence[ComponentSearch], indexes: int) -> Supplement | None:
    """What all components together need beside a number of indexes; None if one of them cannot do with these."""
    halves = copies = 0
    is_possible = True
    # Every search is asked, also after one that cannot: its bound and its proof count for the whole.
    for search in searches:
        supplement = search.supplement(indexes)
        if supplement is None:
            is_possible = False
        else:
            halves += supplement.halves
            copies += supplement.copies
    return Supplement(halves, copies) if is_possible else None


def _simplest(searches: Sequence[ComponentSearch], totals: dict[int, int], rough: bool) -> Selection | None:
    """The best selection of the least complexity; None if the time is over before it is found."""
    least_halves = min(totals.values())
    simplest = [indexes for indexes in sorted(totals) if totals[indexes] == least_halves]
    selections: list[Selection] = []
    try:
        for indexes in simplest:
            parts = [search.solve(indexes, rough=rough) for search in searches]
            selections.append(_merge(parts))
    except OutOfTimeError:
        return None
    # Equal in complexity, but an index may hold less in one of them: the bill of the finished design decides.
    best, *other_selections = sorted(selections, key=lambda s: (s.reading, s.queries_each, s.money, s.copies))
    return msgspec.structs.replace(best, equals=tuple(other_selections))


def _lower_bound(problem: Problem, searches: Sequence[ComponentSearch], last: int) -> int:
    """A lower bound of the complexity in halves, if the search was cut short at a number of indexes."""
    if not all(search.knows_floor for search in searches):
        return 0

    def bound(indexes: int) -> int:
        return _index_halves(indexes) + sum(search.lower_bound(indexes) for search in searches)

    return min(_index_halves(last + 1), *map(bound, range(problem.fixed.indexes, last + 1)))


def _index_halves(count: int) -> int:
    """The complexity in halves of a number of indexes."""
    return count * int(2 * WEIGHTS["index"])


def _is_out_of_time(problem: Problem) -> bool:
    """Whether the time is over, so that the best selection so far is used."""
    if problem.limit is None or problem.limit.left > 0:
        return False
    problem.limit.struck = True
    return True


def _quick_selection(
    problem: Problem, searches: Sequence[ComponentSearch], most_indexes: int, selection: Selection | None
) -> Selection:
    """A selection with any number of indexes, if that is better than what a search found that was cut short.

    The search counts indexes upwards, so its first selections have more copies than an expert would accept.
    """
    limits = problem.constraints

    def measure(selection: Selection) -> tuple[int, int]:
        return weight_of(problem.workload, selection.unserved), selection.total_halves

    for copies in (limits.copies, 0):
        try:
            other = _merge([search.solve_within(most_indexes, max(copies, search.fixed_copies)) for search in searches])
        except OutOfTimeError:
            if selection is None:
                raise
            return selection
        if other.copies <= limits.copies and other.indexes + other.copies <= limits.structures:
            return min(selection, other, key=measure) if selection else other
    if selection is None:
        raise InfeasibleError
    return selection


def _without_bound(problem: Problem, selection: Selection) -> Selection:
    """A selection of a search without a bound of its own: if the search was cut short, it claims nothing."""
    if not _has_struck(problem):
        return selection
    return msgspec.structs.replace(selection, is_complete=False, least=Decimal())


def _count_text(number: int, singular: str, plural: str) -> str:
    return f"{number} {singular if number == 1 else plural}"


def _cheapest(searches: Sequence[ComponentSearch], limits: DesignConstraints) -> Selection | None:
    """The selection of the least cost, with any number of structures; None if that exceeds a limit."""
    indexes = _most_indexes(searches, limits)
    selection = _merge([search.solve(indexes, cheapest=True) for search in searches])
    selection = msgspec.structs.replace(selection, least=Decimal())
    fits = selection.copies <= limits.copies and selection.indexes + selection.copies <= limits.structures
    return selection if fits else None


def _most_indexes(searches: Sequence[ComponentSearch], limits: DesignConstraints) -> int:
    """The highest number of indexes that limits allow and that is of use."""
    return min(limits.indexes, limits.structures, max((search.most_indexes for search in searches), default=0))


def _best_within_limits(problem: Problem, searches: Sequence[ComponentSearch]) -> Selection:
    """The best selection if limits leave patterns unserved: the components share the copies."""
    limits = problem.constraints
    most_indexes = _most_indexes(searches, limits)
    best: tuple[int, int, int, tuple[int, ...]] | None = None
    for indexes in range(problem.fixed.indexes, max(most_indexes, problem.fixed.indexes) + 1):
        if best is not None and _is_out_of_time(problem):
            break
        problem.on_progress(f"not all can be served: {_count_text(indexes, 'index', 'indexes')}")
        most_copies = min(limits.copies, limits.structures - indexes)
        # Served first, then the complexity. The fewest indexes come first among equals.
        for copies, (loss, shares) in _distribute_copies(searches, indexes, most_copies).items():
            halves = _index_halves(indexes) + copies * int(2 * WEIGHTS["copy"])
            division = (loss, halves, indexes, shares)
            best = min(best or division, division)
    if best is None:
        raise InfeasibleError
    _, _, indexes, shares = best
    return _merge([search.solve_within(indexes, share) for search, share in zip(searches, shares, strict=True)])


Division = tuple[int, tuple[int, ...]]
"""The weight of what is not served, and the number of copies of each component."""


def _distribute_copies(searches: Sequence[ComponentSearch], indexes: int, most_copies: int) -> dict[int, Division]:
    """For each number of copies, the least that is not served and the copies of each component.

    Dynamic programming over the components, as for a knapsack. If the first component loses a weight of 5 without
    copies and 0 with one, and the second 3 and 0, the result is `{0: (8, (0, 0)), 1: (3, (1, 0)), 2: (0, (1, 1))}`.
    """
    divisions: dict[int, Division] = {0: (0, ())} if most_copies >= 0 else {}
    for search in searches:
        extended_divisions: dict[int, Division] = {}
        for copies, (loss, shares) in divisions.items():
            for share, own_loss in search.losses(indexes, most_copies - copies):
                division = (loss + own_loss, (*shares, share))
                extended_divisions[copies + share] = min(extended_divisions.get(copies + share, division), division)
        divisions = extended_divisions
    return divisions


def _merge(selections: Sequence[Selection]) -> Selection:
    """One selection of those of the components, which share the indexes."""
    placements: list[Placement] = []
    collections: list[CollectionPlace] = []
    unserved_patterns: set[str] = set()
    for selection in selections:
        placements += selection.placed
        collections += selection.collections
        unserved_patterns.update(selection.unserved)
    return Selection(
        tuple(sorted(placements)),
        tuple(sorted(collections)),
        tuple(sorted(unserved_patterns)),
        indexes=max((selection.indexes for selection in selections), default=0),
        copies=sum(selection.copies for selection in selections),
        money=sum(selection.money for selection in selections),
        is_complete=all(selection.is_complete for selection in selections),
        candidates=sum(selection.candidates for selection in selections),
        reading=sum(selection.reading for selection in selections),
        queries_each=sum(selection.queries_each for selection in selections),
        halves=sum(selection.halves for selection in selections),
    )
