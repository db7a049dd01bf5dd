"""The search for the best selection of keys, in lexicographic order of goals.

The goals: as few patterns not served as possible, weighted by their rates; then as few indexes and copies; then as few
copies; then as few writes that read first; then the least cost. The search counts indexes upwards and asks for the
fewest copies with each number, because a program with a fixed number of indexes is small.

Entities that no read asks for together are independent: each connected component has its own program. Indexes are
shared, so the table needs as many as the component that needs most. Copies add up. Where a decision limits copies,
`_limited` distributes them by dynamic programming over the components.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from zlib import crc32

import msgspec

from prejoin.design.model import Design
from prejoin.design.solver.constraints import UNLIMITED, DesignConstraints, constraints_of
from prejoin.design.solver.fixed_keys import fixed_keys
from prejoin.design.solver.formulation import ComponentProgram, Formulation
from prejoin.design.solver.integer_program import InfeasibleError, TimeLimit
from prejoin.design.solver.needs import ReadNeeds, find_needs
from prejoin.design.solver.placement import MOST_COPIES, CollectionPlace, Component, Placement, Problem, Selection
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


def choose(problem: Problem) -> Selection:
    """The best selection: all that can be served is served, with the fewest structures, at the least cost.

    If limits do not allow that, patterns of the lowest rate are not served. Raises InfeasibleError if an approved
    design exceeds a limit already.
    """
    if has_contradiction(problem.workload) or any(violations(problem.fixed.design, problem.workload)):
        raise InfeasibleError
    limits = problem.constraints
    pieces = [_Search(problem, component) for component in components(problem)]
    if limits.money:
        return _bounded(problem, _cheapest(pieces, limits) or _limited(problem, pieces))
    already = problem.fixed.indexes
    fewest: int | None = None
    counts: dict[int, int] = {}
    untried = UNLIMITED
    """The smallest number of indexes that was not tried, because the time was over."""
    for indexes in range(already, limits.indexes + 1):
        if fewest is not None and indexes > fewest:
            break
        if fewest is not None and _out_of_time(problem):
            untried = indexes
            break
        known = f": with {_counted(fewest, 'structure', 'structures')} it can be done" if fewest is not None else ""
        problem.told(f"{_counted(indexes, 'index', 'indexes')}{known}")
        room = min(limits.copies, (limits.structures if fewest is None else fewest) - indexes)
        copies = _copies(pieces, indexes, room) if room >= 0 else None
        if copies is not None:
            counts[indexes] = indexes + copies
            fewest = indexes + copies
        if copies == 0:
            break
    if fewest is None:
        return _bounded(problem, _limited(problem, pieces))
    # Of the same number of structures, the most indexes leave the fewest copies.
    found = _joined([piece.solve(max(at for at, count in counts.items() if count == fewest)) for piece in pieces])
    least = min(at + sum(piece.least.get(at, piece.copies(at, UNLIMITED) or 0) for piece in pieces) for at in counts)
    ended = found.ended and all(piece.ended for piece in pieces) and not (problem.limit and problem.limit.struck)
    return msgspec.structs.replace(found, ended=ended, least=fewest if ended else min(least, fewest, untried))


def _out_of_time(problem: Problem) -> bool:
    """Whether the time is over, so that the best selection so far is used."""
    if problem.limit is None or problem.limit.left > 0:
        return False
    problem.limit.struck = True
    return True


def _bounded(problem: Problem, chosen: Selection) -> Selection:
    """A selection of a search without a bound of its own: if the search was cut short, it claims nothing."""
    if problem.limit is None or not problem.limit.struck:
        return chosen
    return msgspec.structs.replace(chosen, ended=False, least=0)


def _counted(number: int, one: str, many: str) -> str:
    return f"{number} {one if number == 1 else many}"


def _copies(pieces: Sequence[_Search], indexes: int, room: int) -> int | None:
    """The number of copies that all components need with this many indexes; None if that exceeds `room`."""
    total = 0
    for piece in pieces:
        needed = piece.copies(indexes, room - total)
        if needed is None:
            return None
        total += needed
    return total


def _cheapest(pieces: Sequence[_Search], limits: DesignConstraints) -> Selection | None:
    """The selection of the least cost, with any number of structures; None if that exceeds a limit."""
    most = min(limits.indexes, limits.structures, max((piece.most_indexes for piece in pieces), default=0))
    found = msgspec.structs.replace(_joined([piece.solve(most, cheapest=True) for piece in pieces]), least=0)
    fits = found.copies <= limits.copies and found.indexes + found.copies <= limits.structures
    return found if fits else None


def _limited(problem: Problem, pieces: Sequence[_Search]) -> Selection:
    """The best selection if limits leave patterns unserved: the components share the copies."""
    limits = problem.constraints
    most = min(limits.indexes, limits.structures, max((piece.most_indexes for piece in pieces), default=0))
    best: tuple[int, int, int, tuple[int, ...]] | None = None
    for indexes in range(problem.fixed.indexes, max(most, problem.fixed.indexes) + 1):
        problem.told(f"not all can be served: {_counted(indexes, 'index', 'indexes')}")
        for copies, (lost, shares) in _shared(pieces, indexes, min(limits.copies, limits.structures - indexes)).items():
            found = (lost, indexes + copies, copies, shares)
            best = min(best or found, found)
    if best is None:
        raise InfeasibleError
    _, structures, copies, shares = best
    return _joined(
        [piece.solve_within(structures - copies, share) for piece, share in zip(pieces, shares, strict=True)]
    )


def _shared(pieces: Sequence[_Search], indexes: int, most: int) -> dict[int, tuple[int, tuple[int, ...]]]:
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
        indexes + copies,
        sum(chosen.candidates for chosen in found),
    )


class _Search:
    """The search in one component, by the number of indexes."""

    def __init__(self, problem: Problem, component: Component) -> None:
        self._problem = problem
        self._component = component
        self._formulation = Formulation(problem, component)
        self._kept = self._formulation.kept
        self._copies: dict[int, int] = {}
        self._left: dict[tuple[int, int], int] = {}
        self.most_indexes = self._formulation.most_indexes
        self.ended = True
        """Whether every answer so far is proven."""
        self.least: dict[int, int] = {}
        """A lower bound of the copies, by the number of indexes."""

    @cached_property
    def _floor(self) -> int:
        """The weight of patterns that no key can serve. Enough copies, or indexes if copies are not allowed, serve
        the rest.
        """
        barred = self._problem.constraints.without_copies & {e.name for e in self._component.entities}
        most = min(self.most_indexes, self._problem.constraints.indexes) if barred else 0
        model = self._formulation.model(max(self._problem.fixed.indexes, most), len(self._component.reads))
        return model.program.minimise(self._formulation.lost(model))

    def copies(self, indexes: int, most: int) -> int | None:
        """The fewest copies that serve all that can be served with this many indexes; None if that exceeds `most`."""
        if self._copies.get(indexes - 1) == self._kept:
            self._copies[indexes] = self._kept
        if indexes not in self._copies:
            model = self._formulation.model(indexes, min(most, MOST_COPIES))
            model.program.at_most(self._floor, self._formulation.lost(model))
            model.program.at_most(most - self._kept, dict.fromkeys(model.copies, 1))
            try:
                self._copies[indexes] = self._kept + model.program.minimise(dict.fromkeys(model.copies, 1))
            except InfeasibleError:
                self.ended &= model.program.exact
                return None
            self.ended &= model.program.exact
            self.least[indexes] = self._kept + model.program.bound
        return self._copies[indexes]

    def solve(self, indexes: int, cheapest: bool = False) -> Selection:
        """The cheapest selection with the fewest copies; or the cheapest of all."""
        fewest = self.copies(indexes, UNLIMITED)
        assert fewest is not None
        model = self._formulation.model(indexes, MOST_COPIES if cheapest else fewest)
        model.program.at_most(self._floor, self._formulation.lost(model))
        if not cheapest:
            model.program.at_most(fewest - self._kept, dict.fromkeys(model.copies, 1))
        return self._finished(model, cheapest)

    def left(self, indexes: int, most: int) -> Iterator[tuple[int, int]]:
        """For each number of copies up to `most`, while more copies help: the weight of what is not served."""
        for copies in range(self._kept, most + 1):
            if (indexes, copies) not in self._left:
                model = self._formulation.model(indexes, copies)
                model.program.at_most(copies - self._kept, dict.fromkeys(model.copies, 1))
                try:
                    self._left[indexes, copies] = model.program.minimise(self._formulation.lost(model))
                except InfeasibleError:
                    return
            yield copies, self._left[indexes, copies]
            if self._left[indexes, copies] <= self._floor or copies == self._kept + MOST_COPIES:
                return

    def solve_within(self, indexes: int, copies: int) -> Selection:
        """The selection that serves most with this many indexes and copies."""
        model = self._formulation.model(indexes, min(copies, MOST_COPIES))
        model.program.at_most(copies - self._kept, dict.fromkeys(model.copies, 1))
        model.program.minimise(self._formulation.lost(model))
        model.program.minimise(dict.fromkeys((*model.copies, *model.used), 1))
        return self._finished(model)

    def _finished(self, model: ComponentProgram, cheapest: bool = False) -> Selection:
        program = model.program
        price = self._formulation.price(model)
        money = program.minimise(price) if cheapest else 0
        # An index that exists in any case is better than one partition for all items of an entity.
        program.minimise(dict.fromkeys((*model.used, *self._formulation.everything(model)), 1))
        program.minimise(dict.fromkeys(model.copies, 1))
        if self._problem.fixed.facets:  # least change: as few new keys as possible
            program.minimise({at: 1 for place, at in model.places.items() if not place.candidate.fixed})
        program.minimise(dict.fromkeys(model.twice.values(), 1))
        money = program.minimise(price)
        program.minimise(self._formulation.taste(model))
        # What is equal by all goals so far is decided by a fixed draw, so the path of the solver does not matter.
        program.minimise(
            {at: _draw(_placement_text(one)) for one, at in model.places.items()}
            | {at: _draw(_collection_text(one)) for one, at in model.together.items()}
        )
        chosen = program.chosen
        return Selection(
            tuple(place for place, at in sorted(model.places.items()) if at in chosen),
            tuple(way for way, at in sorted(model.together.items()) if at in chosen),
            tuple(name for name, at in sorted(model.unserved.items()) if at in chosen),
            sum(at in chosen for at in model.used),
            self._kept + sum(at in chosen for at in model.copies),
            money,
            program.exact,
            candidates=self._formulation.candidates,
        )


# The canonical tie-break. Designs that are equal by every goal are common: two orders of the same attributes in a sort
# key, two indexes with the same load. Which of them HiGHS returns depends on its seed and on the order of variables,
# so a last goal gives each variable a weight from a checksum of its own description, and the sum of these weights is
# minimised. The description names entities, attributes and slots only: it does not depend on the order of the
# document. The texts below are frozen. Another spelling would draw other weights and so change the keys of documents
# that have a design already.


def _draw(text: str) -> int:
    return 1 + crc32(text.encode()) % 100_000


def _placement_text(placement: Placement) -> str:
    key = placement.candidate
    sort = [f"Tail(attribute={one.attribute!r}, descending={one.descending})" for one in key.sk]
    sk = f"({', '.join(sort)}{',' * (len(sort) == 1)})"
    candidate = (
        f"Candidate(entity={key.entity!r}, pk={key.pk!r}, sk={sk}, when={key.when!r}, mingled={key.type_position}, "
        f"fixed={key.fixed})"
    )
    return f"Placed(entity={placement.entity!r}, item={placement.item}, slot={placement.slot}, candidate={candidate})"


def _collection_text(place: CollectionPlace) -> str:
    return f"Together(read={place.read!r}, slot={place.slot}, names={place.names!r}, rest={place.rest!r})"
