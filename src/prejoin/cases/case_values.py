"""The values of a case's variables: those of its constraints by a search, others drawn when they are needed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from prejoin.cases.amounts import has_bounds
from prejoin.cases.constraints import Constraint, ContradictionError, Part, Unknown, Variable
from prejoin.cases.search import solve
from prejoin.cases.slots import input_variable
from prejoin.cases.write_model import WriteModel
from prejoin.constructs.registry import initial_values
from prejoin.workload.bounds import is_within
from prejoin.workload.lookup import target
from prejoin.workload.model import Attribute, Entity


class CaseValues:
    """The values of the variables. Variables that are equal share one: that of their root."""

    def __init__(self, model: WriteModel) -> None:
        self.model = model
        self.generator = model.sample.generator
        self.by_root: dict[Variable, Any] = {}
        self._equal: dict[Variable, Variable] = {}
        """For a variable, another one that has the same value, nearer to the root."""
        # A union-find without ranks: a write has some ten variables.
        for equality in model.equalities:
            self._equal[self.root(equality.first)] = self.root(equality.second)
        self._members = self._variables_by_root()
        self._draws = 0
        self._present: set[str] | None = None
        """All values of the data, as texts; None until they are needed."""

    def _variables_by_root(self) -> dict[Variable, list[Variable]]:
        variables = [*self.model.attributes, *self._equal, *self._equal.values()]
        for constraint in self.model.constraints:
            variables += constraint.variables
        members: dict[Variable, list[Variable]] = {}
        for variable in dict.fromkeys(variables):
            members.setdefault(self.root(variable), []).append(variable)
        return members

    def root(self, variable: Variable) -> Variable:
        """The variable that stands for all that have the same value as this one."""
        while (nearer := self._equal.get(variable, variable)) != variable:
            variable = nearer
        return variable

    def value(self, variable: Variable) -> Any:
        return self.by_root.get(self.root(variable))

    def has_value(self, variable: Variable) -> bool:
        """Whether the value is decided; it may be None, that of an absent attribute."""
        return self.root(variable) in self.by_root

    def set_default(self, variable: Variable, value: Any) -> None:
        """Decides a value that is not decided yet."""
        self.by_root.setdefault(self.root(variable), value)

    def has_equal_variables(self, variable: Variable) -> bool:
        """Whether other variables have the same value."""
        return len(self._members.get(self.root(variable), ())) > 1

    @property
    def input_names(self) -> list[str]:
        """The inputs among the variables."""
        variables = [variable for members in self._members.values() for variable in members]
        return [variable[1] for variable in variables if variable[0] == "input"]

    # --- The search -------------------------------------------------------------------------------------------------

    def solve(self) -> None:
        """Decides the variables that the constraints are about. It raises `ContradictionError` if none fit."""
        constraints: list[Constraint] = []
        unknowns: dict[Variable, Unknown] = {}
        for constraint in self.model.constraints:
            roots = tuple(map(self.root, constraint.variables))
            parts = tuple(Part(tuple(map(self.root, part.variables)), part.test) for part in constraint.parts)
            constraints.append(replace(constraint, variables=roots, parts=parts))
            for root in roots:
                if root not in unknowns:
                    unknowns[root] = self._unknown(root)
        from_last = self.model.variation.is_other
        self.by_root |= solve(constraints, unknowns, self.draw, self.generator.bounds, from_last)

    def _unknown(self, root: Variable) -> Unknown:
        unknown = Unknown()
        members = self._members[root]
        for variable in members:
            unknown.attributes += self.model.attributes_of(variable)
            unknown.usual += self._usual_values(variable)
            # One member of a group may have no choice; then none of them has.
            only_value = self._only_value(variable)
            if only_value is not None:
                unknown.only_values = (only_value,)
        for only_value in unknown.only_values or ():
            self._require_storable(members, only_value)
        if not unknown.attributes:
            raise ContradictionError(f"nothing says which type {root} has")
        may_be_absent = all(attribute.optional for attribute in unknown.attributes)
        unknown.is_optional = may_be_absent and all(self._is_of_item(variable) for variable in members)
        list_inputs = map(input_variable, self.model.resolved_write.list_inputs)
        unknown.is_list = not set(members).isdisjoint(list_inputs)
        return unknown

    def _usual_values(self, variable: Variable) -> list[Any]:
        if variable[0] not in ("stored", "given"):
            return []
        entity = self.model.slot(variable[1]).entity
        attribute = entity.attribute(variable[2])
        return self.generator.usual_values(entity, attribute) if attribute else []

    def _only_value(self, variable: Variable) -> Any:
        """The value beyond its bounds that the variation wants, or the version of an item; None for other variables."""
        if variable in self.model.values_beyond_bounds:
            return self.model.values_beyond_bounds[variable]
        if variable[0] != "stored":
            return None
        entity = self.model.slot(variable[1]).entity
        # A stored item was written once. The only item of its entity stays from case to case, and was written before.
        return None if entity.singleton else initial_values(entity).get(variable[2])

    def _require_storable(self, members: Sequence[Variable], value: Any) -> None:
        """Refuses a value beyond the bounds of an attribute of a stored item: no write could have stored it."""
        for variable in members:
            for attribute in self.model.attributes_of(variable) if variable[0] == "stored" else ():
                if has_bounds(attribute) and not is_within(attribute, value):
                    raise ContradictionError("an item with a value beyond its bounds is not stored")

    def _is_of_item(self, variable: Variable) -> bool:
        """Whether a variable is an attribute of an item.

        So is an input that the method takes from an object, unless others are compared with it or changed by it: then
        it has a value.
        """
        if variable[0] == "input":
            # An optional attribute of the caller's object is an optional input.
            is_used = variable[1] in self.model.inputs_with_parameter or variable[1] in self.model.used_params()
            return not is_used and self._is_of_object(variable[1])
        return variable[0] in ("stored", "given")

    def _is_of_object(self, name: str) -> bool:
        return any(slot.is_new and slot.entity.attribute(name) for slot in self.model.slots)

    # --- Values that no constraint decides --------------------------------------------------------------------------

    def choose(self, variable: Variable) -> Any:
        """The value of an input. It is decided now if nothing has decided it before."""
        root = self.root(variable)
        if root not in self.by_root:
            attributes: list[Attribute] = []
            for member in self._members.get(root, [variable]):
                attributes += self.model.attributes_of(member)
            if attributes:
                # A number is most often an amount or a count, and 1 is within the bounds of most.
                self.by_root[root] = 1 if attributes[0].type.numeric else self.draw(attributes[0])
        return self.by_root.get(root)

    def draw(self, attribute: Attribute) -> Any:
        """A value of an attribute; for a reference, the id of an item of the data."""
        target_key = None if attribute.id else target(self.model.sample.workload, attribute)
        ids = self._present_ids(*target_key) if target_key is not None else []
        if ids:
            self._draws += 1
            return ids[self._draws % len(ids)]
        if attribute.id or attribute.unique:
            return self._unused_value(attribute)
        return self.generator.value(attribute)

    def _present_ids(self, entity: Entity, part: Attribute) -> list[Any]:
        return [item[part.name] for item in self.model.sample.items.get(entity.name, [])]

    def _unused_value(self, attribute: Attribute) -> Any:
        """A value that no item of the data has, and that was not drawn before."""
        if self._present is None:
            self._present = set()
            for item in self.model.sample.all_items:
                self._present.update(map(repr, item.values()))
        value = self.generator.unused_value(attribute, self._present)
        self._present.add(repr(value))
        return value
