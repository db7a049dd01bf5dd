"""The search in one component: `ComponentSearch`, the programs of a component by the number of indexes.

A program has several goals, one after the other (`_finished`). The last one is the canonical tie-break.
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


class Needed(msgspec.Struct, frozen=True):
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
        self.kept = self._formulation.kept
        self._needed: dict[int, Needed | None] = {}
        self._split: set[int] = set()
        """The numbers of indexes over which keys cannot be distributed afterwards: the program does it."""
        self._bounds: dict[int, int] = {}
        self._models: dict[int, ComponentProgram] = {}
        """Programs with a selection of the least complexity."""
        self._left: dict[tuple[int, int], int] = {}
        self.most_indexes = self._formulation.most_indexes
        self.constant = self._formulation.constant
        self.ended = True
        """Whether every answer so far is proven."""
        self.knows_floor = False
        """Whether it is proven how much can be served at all."""

    @cached_property
    def _floor(self) -> int:
        """The weight of patterns that no key can serve, with as many structures as may be."""
        most = max(self._problem.fixed.indexes, min(self.most_indexes, self._problem.constraints.indexes))
        model = self._formulation.model(most)
        model.program.suggest(self._formulation.nothing(model))
        found = model.program.minimise(self._formulation.lost(model))
        self.ended &= model.program.exact
        self.knows_floor = model.program.exact
        return found

    @cached_property
    def _least(self) -> int:
        """The complexity of what no number of indexes replaces."""
        model = self._served(self.most_indexes)
        return model.program.minimise(self._formulation.complexity(model, indexes=False))

    def _served(self, indexes: int, split: bool = False) -> ComponentProgram:
        """The program in which all that can be served is served."""
        model = self._formulation.model(indexes, split=split)
        model.program.at_most(self._floor, self._formulation.lost(model))
        return model

    def spares(self, indexes: int) -> bool:
        """Whether more indexes than these could spare something else."""
        needed = self.needed(indexes)
        return indexes < self.most_indexes and (needed is None or (needed.halves > 0 and needed.halves > self._least))

    def knows(self, indexes: int) -> bool:
        """Whether it was found out already what this many indexes need."""
        return indexes in self._needed

    def least(self, indexes: int) -> int:
        """A lower bound of the complexity in halves beside a number of indexes; huge if these cannot serve as much."""
        return self._bounds.get(indexes, 0)

    def needed(self, indexes: int) -> Needed | None:
        """What serving all that can be served needs with this many indexes; None if it is impossible."""
        if indexes not in self._needed:
            before = self._needed.get(indexes - 1)
            if before is not None and not self.spares(indexes - 1):
                self._needed[indexes] = before
                self._bounds[indexes] = self._bounds[indexes - 1]
                return before
            model = self._served(indexes, indexes in self._split)
            try:
                halves = model.program.minimise(self._formulation.complexity(model, indexes=False))
                chosen = model.program.chosen
                self._needed[indexes] = Needed(halves, self.kept + sum(at in chosen for at in model.copies))
                self._bounds[indexes] = model.program.bound
                self._models[indexes] = model
            except InfeasibleError:
                self._needed[indexes] = None
                self._bounds[indexes] = _IMPOSSIBLE if model.program.exact else 0
            self.ended &= model.program.exact
        return self._needed[indexes]

    def solve(self, indexes: int, cheapest: bool = False, rough: bool = False) -> Selection:
        """The best selection with the least complexity; or the cheapest of all; or a rough one."""
        needed = None if cheapest else self.needed(indexes)
        if rough and indexes in self._models and (found := self._selection(self._models[indexes])):
            return found
        for split in (False, True):
            if split and needed is not None and indexes not in self._split:
                self._split.add(indexes)
                del self._needed[indexes]
                self._models.pop(indexes, None)
                if self.needed(indexes) != needed:
                    raise MoreNeededError
            model = self._served(indexes, split)
            if needed is not None:
                model.program.at_most(needed.halves, self._formulation.complexity(model, indexes=False))
            found = self._finished(model, cheapest, rough)
            if found is not None:
                return found
        raise AssertionError("a program that numbers its indexes needs no numbers")

    def left(self, indexes: int, most: int) -> Iterator[tuple[int, int]]:
        """For each number of copies up to `most`, while more copies help: the weight of what is not served."""
        for copies in range(self.kept, most + 1):
            if (indexes, copies) not in self._left:
                model = self._formulation.model(indexes)
                model.program.at_most(copies - self.kept, dict.fromkeys(model.copies, 1))
                try:
                    self._left[indexes, copies] = model.program.minimise(self._formulation.lost(model))
                except InfeasibleError:
                    return
                self.ended &= model.program.exact
            yield copies, self._left[indexes, copies]
            if self._left[indexes, copies] <= self._floor:
                return

    def solve_within(self, indexes: int, copies: int) -> Selection:
        """The selection that serves most with this many indexes and copies."""
        for split in (False, True):
            model = self._formulation.model(indexes, split=split)
            model.program.at_most(copies - self.kept, dict.fromkeys(model.copies, 1))
            model.program.suggest(self._formulation.nothing(model))
            model.program.minimise(self._formulation.lost(model))
            model.program.minimise(self._formulation.complexity(model))
            found = self._finished(model, rough=self._problem.limit is not None and self._problem.limit.struck)
            if found is not None:
                return found
        raise AssertionError("a program that numbers its indexes needs no numbers")

    def _finished(self, model: ComponentProgram, cheapest: bool = False, rough: bool = False) -> Selection | None:
        """The best selection by the remaining goals; None if its keys cannot be distributed over the indexes."""
        program, formulation = model.program, self._formulation
        if rough:
            if not program.chosen:
                program.minimise({})
            return self._selection(model)
        money, half_a_cent = formulation.money(model)
        if cheapest:
            program.minimise(formulation.hot(model))  # a partition that is throttled is no saving
            program.minimise(money, slack=half_a_cent)
            program.minimise(formulation.complexity(model))
        if self._problem.fixed.facets:  # least change: as few new keys as possible
            program.minimise({at: 1 for place, at in model.places.items() if not place.candidate.fixed})
        reading = program.minimise(formulation.reading(model))
        each = formulation.queries_each(model)
        queries_each = program.minimise(each) if each else 0
        program.minimise(money)
        program.minimise(formulation.taste(model))
        # What is equal by all goals so far is decided by a fixed draw, so the path of the solver does not matter.
        program.minimise(
            {at: _draw(placement_text(formulation.unnumbered(one))) for one, at in model.places.items()}
            | {at: _draw(collection_text(formulation.unnumbered(one))) for one, at in model.together.items()}
        )
        return self._selection(model, reading, queries_each)

    def _selection(self, model: ComponentProgram, reading: int = 0, queries_each: int = 0) -> Selection | None:
        """The selection of a solved program; None if its keys cannot be distributed over the indexes."""
        formulation, chosen = self._formulation, model.program.chosen
        found = formulation.numbered(model)
        if found is None:
            return None
        placed, together = found
        dollars, halves = formulation.dollars(model), formulation.complexity(model, indexes=False)
        return Selection(
            placed,
            together,
            tuple(name for name, at in sorted(model.unserved.items()) if at in chosen),
            max([self._problem.fixed.indexes, *(one.slot for one in placed)]),
            self.kept + sum(at in chosen for at in model.copies),
            round(100 * sum(dollars[at] for at in chosen if at in dollars)),
            model.program.exact,
            candidates=formulation.candidates,
            reading=reading,
            queries_each=queries_each,
            halves=sum(halves[at] for at in chosen if at in halves),
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
    sort = [f"Tail(attribute={one.attribute!r}, descending={one.descending})" for one in key.sk]
    sk = f"({', '.join(sort)}{',' * (len(sort) == 1)})"
    candidate = (
        f"Candidate(entity={key.entity!r}, pk={key.pk!r}, sk={sk}, when={key.when!r}, mingled={key.type_position}, "
        f"fixed={key.fixed}{', whole=True' if key.whole else ''})"
    )
    return f"Placed(entity={placement.entity!r}, item={placement.item}, slot={placement.slot}, candidate={candidate})"


def collection_text(place: CollectionPlace) -> str:
    return f"Together(read={place.read!r}, slot={place.slot}, names={place.names!r}, rest={place.rest!r})"
