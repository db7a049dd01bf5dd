"""The search for the best selection of keys, in lexicographic order of goals.

The goals are those of `prejoin.design.cost.objective`: as few patterns not served as possible, weighted by their rates;
then the least complexity; then as few writes that read first; then the least bill. The search counts indexes upwards
and asks for the least complexity beside them, because a program with a fixed number of indexes is small.

Entities that no read asks for together are independent: each connected component has its own program. Indexes are
shared, so the table needs as many as the component that needs most. Everything else adds up. Where a decision limits
copies, `_limited` distributes them by dynamic programming over the components.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from decimal import Decimal

import msgspec

from prejoin.design.cost.objective import WEIGHTS, weight_of
from prejoin.design.model import Design
from prejoin.design.solver.alternatives import Alternatives
from prejoin.design.solver.constraints import DesignConstraints, constraints_of
from prejoin.design.solver.fixed_keys import fixed_keys
from prejoin.design.solver.needs import ReadNeeds, find_needs
from prejoin.design.solver.placement import Component, Problem, Selection
from prejoin.design.solver.program.component_search import ComponentSearch, MoreNeededError
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
    pins = constraints_of(workload)
    stay = fixed_keys(workload, pins.keys, kept)
    # A local index counts as an index for the solver, but not for a decision that limits GSIs.
    pins = msgspec.structs.replace(pins, indexes=pins.indexes + sum(slot.local for slot in stay.design.slots))
    asked = tuple(q for q in questions if q.read.id not in pins.aside)
    sought = tuple(f for f in find_needs(workload) if f.read.id not in pins.aside)
    return Problem(workload, asked, sought, pins, stay, told or _nobody, limit)


def _nobody(text: str) -> None:
    pass


def components(problem: Problem) -> list[Component]:
    """The connected components of a workload, in an order that does not depend on the document."""
    group = {e.name: e.name for e in problem.workload.entities}

    def head(name: str) -> str:
        while group[name] != name:
            name = group[name]
        return name

    linked = [question.ask.entities for question in problem.reads]
    linked += [(pin.entity, pin.parent) for pin in problem.constraints.under]
    linked += [tuple(placed.entity for placed in one) for one in problem.forbidden]
    for first, *others in linked:
        for other in others:
            group[head(other)] = head(first)
    found: dict[str, list[Entity]] = {}
    for entity in sorted(problem.workload.entities, key=lambda e: e.name):
        found.setdefault(head(entity.name), []).append(entity)
    asked = sorted(problem.reads, key=lambda q: q.read.id)
    return [
        Component(tuple(entities), tuple(q for q in asked if head(q.ask.entities[0]) == name))
        for name, entities in found.items()
    ]


class SearchCache:
    """The options and searches of the components, kept from one selection to the next.

    To price all keys takes time, and cuts do not change the prices.
    """

    def __init__(self) -> None:
        self._options: dict[Hashable, ComponentOptions] = {}
        self._searches: dict[Hashable, ComponentSearch] = {}

    def searches(self, problem: Problem) -> list[ComponentSearch]:
        """The search in each component. It is continued, unless there are new cuts."""
        found: dict[Hashable, ComponentSearch] = {}
        for component in components(problem):
            key = (self._key(problem, component), problem.forbidden, problem.rivals)
            found[key] = self._searches.get(key) or ComponentSearch(problem, self.options(problem, component))
        self._searches = found
        return list(found.values())

    def options(self, problem: Problem, component: Component) -> ComponentOptions:
        key = self._key(problem, component)
        if key not in self._options:
            self._options[key] = ComponentOptions(problem, component)
        return self._options[key]

    def alternatives(self, problem: Problem, component: Component) -> Alternatives:
        return Alternatives(self.options(problem, component))

    def _key(self, problem: Problem, component: Component) -> Hashable:
        names = tuple(entity.name for entity in component.entities)
        return names, tuple(question.read.id for question in problem.reads), problem.refused


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
    pieces = cache.searches(problem)
    rough |= problem.limit is not None and problem.limit.struck
    if limits.money:
        return _bounded(problem, _cheapest(pieces, limits) or _limited(problem, pieces))
    most = max([problem.fixed.indexes, *(piece.most_indexes for piece in pieces)])
    most = min(most, limits.indexes, limits.structures)
    totals, last = _complexities(problem, pieces, most)
    if not totals and not (problem.limit and problem.limit.struck):
        return _bounded(problem, _limited(problem, pieces))
    try:
        found = _simplest(pieces, totals, rough) if totals else None
    except MoreNeededError:
        return choose(problem, cache, rough)
    struck = problem.limit is not None and problem.limit.struck
    if struck or found is None:
        found = _quick(problem, pieces, most, found)
    ended = found.ended and all(piece.ended for piece in pieces) and not struck
    bound = min(totals.values()) if ended else _bound(problem, pieces, last)
    constant = sum(piece.constant for piece in pieces)
    return msgspec.structs.replace(found, ended=ended, least=Decimal(bound + constant) / 2)


def _complexities(problem: Problem, pieces: Sequence[ComponentSearch], most: int) -> tuple[dict[int, int], int]:
    """The least complexity in halves for each number of indexes that may be best, and the last number tried."""
    limits = problem.constraints
    totals: dict[int, int] = {}
    indexes = problem.fixed.indexes
    for indexes in range(problem.fixed.indexes, most + 1):
        if totals and (_index(indexes) > min(totals.values()) or _out_of_time(problem)):
            break
        known = f": a complexity of {min(totals.values()) / 2:g} is possible" if totals else ""
        if not all(piece.knows(indexes) for piece in pieces):
            problem.told(f"{_counted(indexes, 'index', 'indexes')}{known}")
        try:
            needed = [piece.needed(indexes) for piece in pieces]
        except OutOfTimeError:
            break
        further = [one for one in needed if one is not None]
        copies = sum(one.copies for one in further)
        if len(further) == len(needed) and copies <= min(limits.copies, limits.structures - indexes):
            totals[indexes] = _index(indexes) + sum(one.halves for one in further)
            if not any(piece.spares(indexes) for piece in pieces):
                break
    return totals, indexes


def _simplest(pieces: Sequence[ComponentSearch], totals: dict[int, int], rough: bool) -> Selection | None:
    """The best selection of the least complexity; None if the time is over before it is found."""
    least = min(totals.values())
    try:
        found = [
            _joined([piece.solve(at, rough=rough) for piece in pieces]) for at in sorted(totals) if totals[at] == least
        ]
    except OutOfTimeError:
        return None
    best, *others = sorted(found, key=lambda chosen: (chosen.reading, chosen.queries_each, chosen.money, chosen.copies))
    return msgspec.structs.replace(best, equals=tuple(others))


def _bound(problem: Problem, pieces: Sequence[ComponentSearch], last: int) -> int:
    """A lower bound of the complexity in halves, if the search was cut short at a number of indexes."""
    if not all(piece.knows_floor for piece in pieces):
        return 0
    tried = [_index(at) + sum(piece.least(at) for piece in pieces) for at in range(problem.fixed.indexes, last + 1)]
    return min([*tried, _index(last + 1)])


def _index(count: int) -> int:
    return count * int(2 * WEIGHTS["index"])


def _out_of_time(problem: Problem) -> bool:
    """Whether the time is over, so that the best selection so far is used."""
    if problem.limit is None or problem.limit.left > 0:
        return False
    problem.limit.struck = True
    return True


def _quick(problem: Problem, pieces: Sequence[ComponentSearch], most: int, found: Selection | None) -> Selection:
    """A selection with any number of indexes, if that is better than what a search found that was cut short.

    The search counts indexes upwards, so its first selections have more copies than an expert would accept.
    """
    limits = problem.constraints

    def measure(one: Selection) -> tuple[int, int]:
        return weight_of(problem.workload, one.unserved), one.total_halves

    for copies in (limits.copies, 0):
        try:
            other = _joined([piece.solve_within(most, max(copies, piece.kept)) for piece in pieces])
        except OutOfTimeError:
            if found is None:
                raise
            return found
        if other.copies <= limits.copies and other.indexes + other.copies <= limits.structures:
            return min(found, other, key=measure) if found else other
    if found is None:
        raise InfeasibleError
    return found


def _bounded(problem: Problem, chosen: Selection) -> Selection:
    """A selection of a search without a bound of its own: if the search was cut short, it claims nothing."""
    if problem.limit is None or not problem.limit.struck:
        return chosen
    return msgspec.structs.replace(chosen, ended=False, least=Decimal())


def _counted(number: int, one: str, many: str) -> str:
    return f"{number} {one if number == 1 else many}"


def _cheapest(pieces: Sequence[ComponentSearch], limits: DesignConstraints) -> Selection | None:
    """The selection of the least cost, with any number of structures; None if that exceeds a limit."""
    most = min(limits.indexes, limits.structures, max((piece.most_indexes for piece in pieces), default=0))
    found = msgspec.structs.replace(_joined([piece.solve(most, cheapest=True) for piece in pieces]), least=Decimal())
    fits = found.copies <= limits.copies and found.indexes + found.copies <= limits.structures
    return found if fits else None


def _limited(problem: Problem, pieces: Sequence[ComponentSearch]) -> Selection:
    """The best selection if limits leave patterns unserved: the components share the copies."""
    limits = problem.constraints
    most = min(limits.indexes, limits.structures, max((piece.most_indexes for piece in pieces), default=0))
    best: tuple[int, int, int, tuple[int, ...]] | None = None
    for indexes in range(problem.fixed.indexes, max(most, problem.fixed.indexes) + 1):
        if best is not None and _out_of_time(problem):
            break
        problem.told(f"not all can be served: {_counted(indexes, 'index', 'indexes')}")
        for copies, (lost, shares) in _shared(pieces, indexes, min(limits.copies, limits.structures - indexes)).items():
            halves = _index(indexes) + copies * int(2 * WEIGHTS["copy"])
            found = (lost, halves, indexes, shares)
            best = min(best or found, found)
    if best is None:
        raise InfeasibleError
    _, _, indexes, shares = best
    return _joined([piece.solve_within(indexes, share) for piece, share in zip(pieces, shares, strict=True)])


def _shared(pieces: Sequence[ComponentSearch], indexes: int, most: int) -> dict[int, tuple[int, tuple[int, ...]]]:
    """For each number of copies, the least that is not served and the copies of each component."""
    found: dict[int, tuple[int, tuple[int, ...]]] = {0: (0, ())} if most >= 0 else {}
    for piece in pieces:
        further: dict[int, tuple[int, tuple[int, ...]]] = {}
        for copies, (lost, shares) in found.items():
            for share, left in piece.left(indexes, most - copies):
                one = (lost + left, (*shares, share))
                further[copies + share] = min(further.get(copies + share, one), one)
        found = further
    return found


def _joined(found: Sequence[Selection]) -> Selection:
    indexes = max((chosen.indexes for chosen in found), default=0)
    copies = sum(chosen.copies for chosen in found)
    return Selection(
        tuple(sorted(one for chosen in found for one in chosen.placed)),
        tuple(sorted(one for chosen in found for one in chosen.together)),
        tuple(sorted({one for chosen in found for one in chosen.unserved})),
        indexes,
        copies,
        sum(chosen.money for chosen in found),
        all(chosen.ended for chosen in found),
        candidates=sum(chosen.candidates for chosen in found),
        reading=sum(chosen.reading for chosen in found),
        queries_each=sum(chosen.queries_each for chosen in found),
        halves=sum(chosen.halves for chosen in found),
    )
