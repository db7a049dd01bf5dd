"""The search in one component: `ComponentSearch`, the programs of a component by the number of indexes.

A program has several goals, one after the other (`_best`). The last one is the canonical tie-break.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from zlib import crc32

import msgspec

from prejoin.design.solver.placement import CollectionPlace, Placement, Problem, Selection
from prejoin.design.solver.program.formulation import ComponentProgram, Formulation
from prejoin.design.solver.program.integer_program import InfeasibleError
from prejoin.design.solver.program.options import ComponentOptions


class Supplement(msgspec.Struct, frozen=True):
    """What one component needs beside a number of indexes, to serve all that can be served."""

    halves: int
    """The complexity of its copies, guards and fan-out reads."""
    copies: int


_IMPOSSIBLE = 10**6
"""A complexity that no design has."""


class MoreNeededError(Exception):
    """Keys cannot be distributed over a number of indexes, so that it needs more beside them than was known."""


class ComponentSearch:
    """The search in one component, by the number of indexes."""

    def __init__(self, problem: Problem, options: ComponentOptions) -> None:
        self._problem = problem
        self._formulation = Formulation(problem, options)
        self.fixed_copies = self._formulation.fixed_copies
        self._supplements: dict[int, Supplement | None] = {}
        self._split: set[int] = set()
        """The numbers of indexes over which keys cannot be distributed afterwards: the program does it."""
        self._bounds: dict[int, int] = {}
        self._programs: dict[int, ComponentProgram] = {}
        """Programs with a selection of the least complexity."""
        self._losses: dict[tuple[int, int], int] = {}
        """The weight of what is not served, by the numbers of indexes and copies."""
        self.most_indexes = self._formulation.most_indexes
        self.constant = self._formulation.constant
        self.is_proven = True
        """Whether every answer so far is proven."""
        self.knows_floor = False
        """Whether it is proven how much can be served at all."""

    @cached_property
    def _floor(self) -> int:
        """The weight of patterns that no key can serve, with as many structures as may be."""
        indexes = max(self._problem.fixed.indexes, min(self.most_indexes, self._problem.constraints.indexes))
        model = self._formulation.model(indexes)
        model.program.suggest(self._formulation.nothing(model))
        floor = model.program.minimise(self._formulation.lost(model))
        self.is_proven &= model.program.exact
        self.knows_floor = model.program.exact
        return floor

    @cached_property
    def _least_halves(self) -> int:
        """The complexity of what no number of indexes replaces."""
        model = self._program(self.most_indexes)
        return model.program.minimise(self._formulation.complexity(model, indexes=False))

    def _program(self, indexes: int, is_split: bool = False) -> ComponentProgram:
        """The program in which all that can be served is served."""
        model = self._formulation.model(indexes, is_split=is_split)
        model.program.at_most(self._floor, self._formulation.lost(model))
        return model

    def spares(self, indexes: int) -> bool:
        """Whether more indexes than these could spare something else."""
        supplement = self.supplement(indexes)
        if indexes >= self.most_indexes:
            return False
        return supplement is None or (supplement.halves > 0 and supplement.halves > self._least_halves)

    def knows(self, indexes: int) -> bool:
        """Whether it was found out already what this many indexes need."""
        return indexes in self._supplements

    def lower_bound(self, indexes: int) -> int:
        """A lower bound of the complexity in halves beside a number of indexes; huge if these cannot serve as much."""
        return self._bounds.get(indexes, 0)

    def supplement(self, indexes: int) -> Supplement | None:
        """What serving all that can be served needs with this many indexes; None if it is impossible."""
        if indexes in self._supplements:
            return self._supplements[indexes]
        previous = self._supplements.get(indexes - 1)
        # More indexes never need more beside them, so what is of no use now stays of no use.
        if previous is not None and not self.spares(indexes - 1):
            # One more index is of no use, so no program has to be solved.
            self._supplements[indexes] = previous
            self._bounds[indexes] = self._bounds[indexes - 1]
            return previous
        model = self._program(indexes, indexes in self._split)
        try:
            halves = model.program.minimise(self._formulation.complexity(model, indexes=False))
            copies = self._count_copies(model)
            self._supplements[indexes] = Supplement(halves, copies)
            self._bounds[indexes] = model.program.bound
            self._programs[indexes] = model
        except InfeasibleError:
            self._supplements[indexes] = None
            self._bounds[indexes] = _IMPOSSIBLE if model.program.exact else 0
        self.is_proven &= model.program.exact
        return self._supplements[indexes]

    def _count_copies(self, model: ComponentProgram) -> int:
        return self.fixed_copies + sum(variable in model.program.chosen for variable in model.copies)

    def solve(self, indexes: int, cheapest: bool = False, rough: bool = False) -> Selection:
        """The best selection with the least complexity; or the cheapest of all; or a rough one."""
        supplement = None if cheapest else self.supplement(indexes)
        if rough and indexes in self._programs:
            selection = self._selection(self._programs[indexes])
            if selection is not None:
                return selection
        for is_split in (False, True):
            # The supplement was found for indexes that are alike. With numbers the keys may need more beside them.
            if is_split and supplement is not None and indexes not in self._split:
                self._forget(indexes)
                if self.supplement(indexes) != supplement:
                    raise MoreNeededError
            model = self._program(indexes, is_split)
            if supplement is not None:
                model.program.at_most(supplement.halves, self._formulation.complexity(model, indexes=False))
            selection = self._best(model, cheapest, rough)
            if selection is not None:
                return selection
        raise AssertionError("a program that numbers its indexes needs no numbers")

    def _forget(self, indexes: int) -> None:
        """Forget what a number of indexes needs: it was found without distributing the keys over them."""
        self._split.add(indexes)
        del self._supplements[indexes]
        self._programs.pop(indexes, None)

    def losses(self, indexes: int, most_copies: int) -> Iterator[tuple[int, int]]:
        """For each number of copies up to `most_copies`, while more copies help: the weight of what is not served."""
        for copies in range(self.fixed_copies, most_copies + 1):
            if (indexes, copies) not in self._losses:
                model = self._formulation.model(indexes)
                model.program.at_most(copies - self.fixed_copies, dict.fromkeys(model.copies, 1))
                try:
                    self._losses[indexes, copies] = model.program.minimise(self._formulation.lost(model))
                except InfeasibleError:
                    return
                self.is_proven &= model.program.exact
            yield copies, self._losses[indexes, copies]
            if self._losses[indexes, copies] <= self._floor:
                return

    def solve_within(self, indexes: int, copies: int) -> Selection:
        """The selection that serves most with this many indexes and copies."""
        for is_split in (False, True):
            model = self._formulation.model(indexes, is_split=is_split)
            model.program.at_most(copies - self.fixed_copies, dict.fromkeys(model.copies, 1))
            model.program.suggest(self._formulation.nothing(model))
            model.program.minimise(self._formulation.lost(model))
            model.program.minimise(self._formulation.complexity(model))
            is_out_of_time = self._problem.limit is not None and self._problem.limit.struck
            selection = self._best(model, rough=is_out_of_time)
            if selection is not None:
                return selection
        raise AssertionError("a program that numbers its indexes needs no numbers")

    def _best(self, model: ComponentProgram, cheapest: bool = False, rough: bool = False) -> Selection | None:
        """The best selection by the remaining goals; None if its keys cannot be distributed over the indexes."""
        program, formulation = model.program, self._formulation
        if rough:
            if not program.chosen:
                program.minimise({})
            return self._selection(model)
        # Each goal is minimised under the results of those before it: a lexicographic order.
        money, half_a_cent = formulation.money(model)
        if cheapest:
            program.minimise(formulation.hot(model))  # a partition that is throttled is no saving
            program.minimise(money, slack=half_a_cent)
            program.minimise(formulation.complexity(model))
        if self._problem.fixed.facets:  # least change: as few new keys as possible
            new_keys = [v for placement, v in model.placements.items() if not placement.candidate.fixed]
            program.minimise(dict.fromkeys(new_keys, 1))
        reading = program.minimise(formulation.reading(model))
        queries = formulation.queries_each(model)
        queries_each = program.minimise(queries) if queries else 0
        program.minimise(money)
        program.minimise(formulation.taste(model))
        # What is equal by all goals so far is decided by a fixed draw, so the path of the solver does not matter.
        draws: dict[int, int] = {}
        for placement, variable in model.placements.items():
            draws[variable] = _draw(placement_text(formulation.in_any_index(placement)))
        for place, variable in model.collections.items():
            draws[variable] = _draw(collection_text(formulation.in_any_index(place)))
        program.minimise(draws)
        return self._selection(model, reading, queries_each)

    def _selection(self, model: ComponentProgram, reading: int = 0, queries_each: int = 0) -> Selection | None:
        """The selection of a solved program; None if its keys cannot be distributed over the indexes."""
        formulation, chosen_variables = self._formulation, model.program.chosen
        keys = formulation.number_indexes(model)
        if keys is None:
            return None
        placements, collections = keys
        dollars, halves = formulation.dollars(model), formulation.complexity(model, indexes=False)
        return Selection(
            placements,
            collections,
            tuple(name for name, variable in sorted(model.losses.items()) if variable in chosen_variables),
            indexes=max([self._problem.fixed.indexes, *(placement.slot for placement in placements)]),
            copies=self._count_copies(model),
            money=round(100 * sum(dollars[variable] for variable in chosen_variables if variable in dollars)),
            is_complete=model.program.exact,
            candidates=formulation.candidates,
            reading=reading,
            queries_each=queries_each,
            halves=sum(halves[variable] for variable in chosen_variables if variable in halves),
        )


# The canonical tie-break. Designs that are equal by every goal are common: two orders of the same attributes in a sort
# key, two indexes with the same load. Which of them HiGHS returns depends on its seed and on the order of variables,
# so a last goal gives each variable a weight from a checksum of its own description, and the sum of these weights is
# minimised. The description names entities, attributes and slots only: it does not depend on the order of the
# document. The texts below are frozen. Another spelling would draw other weights and so change the keys of documents
# that have a design already.


def _draw(text: str) -> int:
    return 1 + crc32(text.encode()) % 100_000


def placement_text(placement: Placement) -> str:
    key = placement.candidate
    sort = [f"Tail(attribute={part.attribute!r}, descending={part.descending})" for part in key.sk]
    sk = f"({', '.join(sort)}{',' * (len(sort) == 1)})"
    candidate = (
        f"Candidate(entity={key.entity!r}, pk={key.pk!r}, sk={sk}, when={key.when!r}, mingled={key.type_position}, "
        f"fixed={key.fixed}{', whole=True' if key.whole else ''})"
    )
    return f"Placed(entity={placement.entity!r}, item={placement.item}, slot={placement.slot}, candidate={candidate})"


def collection_text(place: CollectionPlace) -> str:
    return f"Together(read={place.read!r}, slot={place.slot}, names={place.names!r}, rest={place.prefix!r})"
