"""Loops over the items of a list."""

from __future__ import annotations

from dataclasses import dataclass, field

from prejoin.render.python.statements import Iteration


@dataclass(slots=True)
class Loop:
    """The loop of a step on many items: over new objects, found ones, or parallel lists."""

    record: str = ""
    """The variable, if the loop is over objects."""
    over: str = ""
    entity: str = ""
    lists: dict[str, str] = field(default_factory=dict)
    """The variables of parallel lists, by parameter. They are added when their values are needed."""

    @property
    def iteration(self) -> Iteration:
        if self.record:
            return Iteration(self.record, self.over)
        if not self.lists:
            return Iteration("_", "range(1)")  # a key of constants, in a design with errors: there is one such item
        variables = ", ".join(self.lists.values())
        if len(self.lists) == 1:
            return Iteration(variables, next(iter(self.lists)))
        return Iteration(variables, f"zip({', '.join(self.lists)}, strict=True)")

    def iteration_of(self, value: str) -> Iteration:
        """The loop over the values: `for line in lines`, or of parallel lists the one with these values."""
        for parameter, variable in self.lists.items():
            if variable == value:
                return Iteration(variable, parameter)
        return self.iteration


class LoopValue(str):
    """The code of a value that differs in each round of a loop. A lambda with it needs a remark for linters."""

    __slots__ = ()
