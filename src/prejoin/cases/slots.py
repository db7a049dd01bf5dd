"""The items of a case, the variables of their values, and what the truth of a condition depends on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from prejoin.cases.case_variation import Place
from prejoin.cases.conditions import is_leaf_true
from prejoin.cases.constraints import Variable
from prejoin.cases.items import Values
from prejoin.workload.model import Action, Entity, Leaf, Test, Verb
from prejoin.workload.program.resolved_write import Step


@dataclass(eq=False, slots=True)
class Slot:
    """One item of a case."""

    place: Place
    step: Step
    checks: tuple[Test, ...] = ()
    is_checked: bool = False
    """Whether it is only checked, and not written."""
    is_stored: bool = False
    """Whether it exists before the call."""
    before: Values | None = None
    """The item before the call; of one that does not exist, the values by which it is named."""
    record: Values | None = None
    """The object that the caller gives."""
    replaces: Place | None = None
    """The item of a deleted list whose id a new item has: in `delete Slot[]; create Slot[]` it is replaced."""

    @property
    def entity(self) -> Entity:
        return self.step.entity

    @property
    def action(self) -> Action:
        return self.step.action

    @property
    def is_new(self) -> bool:
        return self.step.is_new and not self.is_checked

    @property
    def compares_new(self) -> bool:
        """Whether conditions are about the new item, and not about the stored one."""
        return self.action.verb is Verb.CREATE and not self.is_checked


@dataclass(frozen=True, slots=True)
class Equality:
    """Two variables that have the same value."""

    first: Variable
    second: Variable
    is_link: bool = False
    """Whether the code compares the stored value with the input."""
    is_agreement: bool = False
    """Whether the method refuses objects for which it does not hold."""

    @property
    def place(self) -> Place:
        """The item whose attribute it is about."""
        return self._attribute[1]  # type: ignore[no-any-return]

    @property
    def name(self) -> str:
        """The name of that attribute."""
        return self._attribute[2]  # type: ignore[no-any-return]

    @property
    def _attribute(self) -> Variable:
        """The variable that is no input: one of the two is an attribute of an item."""
        return self.second if self.first[0] == "input" else self.first


def stored_variable(place: Place, name: str) -> Variable:
    """The variable of an attribute before the write."""
    return ("stored", place, name)


def given_variable(place: Place, name: str) -> Variable:
    """The variable of an attribute of an object that the caller gives."""
    return ("given", place, name)


def input_variable(name: str, index: int | None = None) -> Variable:
    """The variable of an input, or of one element of an input that is a list."""
    return ("input", name) if index is None else ("input", name, index)


@dataclass(frozen=True, slots=True)
class Constant:
    """A value that a condition is compared with, which is no variable."""

    value: Any


@dataclass(frozen=True, slots=True)
class Term:
    """A part of a condition, with what its truth depends on."""

    leaf: Leaf
    own: Variable | None = None
    """The variable of the attribute; None for a whole item, and for an attribute of an absent one."""
    sources: tuple[Variable | Constant, ...] = ()
    """What it is compared with."""
    is_there: bool = False
    """Whether the item exists, for a part about the whole item."""

    @property
    def variables(self) -> list[Variable]:
        source_variables = [source for source in self.sources if not isinstance(source, Constant)]
        return source_variables if self.own is None else [self.own, *source_variables]

    @property
    def constants(self) -> list[Any]:
        return [source.value for source in self.sources if isinstance(source, Constant)]

    def operands(self, values: Sequence[Any]) -> list[Any]:
        """What it is compared with, by the values of the variables among its sources."""
        variable_values = iter(values)
        return [source.value if isinstance(source, Constant) else next(variable_values) for source in self.sources]

    def truth_of(self, *values: Any) -> bool:
        """Whether it is true for the values of its variables."""
        if self.own is None:
            return is_leaf_true(self.leaf, True if self.is_there else None, [])
        return is_leaf_true(self.leaf, values[0], self.operands(values[1:]))

    def truth(self, values: Mapping[Variable, Any]) -> bool:
        """Whether it is true for these values."""
        return self.truth_of(*(values[variable] for variable in self.variables))
